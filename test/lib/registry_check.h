/* Whether the documents of a registry say what its rows say, and what it has
 * written to its log. For tests of the writer and of the service. */

#ifndef TEST_LIB_REGISTRY_CHECK_H
#define TEST_LIB_REGISTRY_CHECK_H

#include "base/buf.h"
#include "base/log.h"
#include "store/registry.h"

/* Every row has its document, every document its row, and the counts are
 * right: all of it by SQL of its own. A failure of the test if not. */
bool registry_check(struct registry *registry);

/* A log that keeps what it is told, a line each. */
struct recorder {
    struct log log;
    struct buf text;
    uint64_t lines;
    uint64_t not_applied; /* lines that explain an event */
};

/* `log` points into the recorder: it stays where it is. */
void recorder_init(struct recorder *recorder);
void recorder_release(struct recorder *recorder);
void recorder_clear(struct recorder *recorder);

#endif
