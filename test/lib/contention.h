/* Sixteen runtimes on one store, all of them busy with the same document.
 *
 * Each has a handler for a stream of its own events and sends a number of them,
 * a few at a time; a round trip to the store takes a round of a millisecond,
 * and the order in which the store hears them is drawn anew in each. When all
 * senders have been told, what was done and what failed must be what was sent,
 * and the document must hold what was done and nothing else. */

#ifndef TEST_LIB_CONTENTION_H
#define TEST_LIB_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

/* What a handler does. */
enum contention_kind {
    CONTEND_INCREMENT, /* one counter, by an operation that merges */
    CONTEND_APPEND,    /* one list, likewise */
    CONTEND_COUNT,     /* one counter, read and written */
    CONTEND_LIST,      /* one list, read and written whole */
    CONTEND_KEYS,      /* a key a runtime, read and written */
    CONTEND_KINDS
};

enum {
    CONTENTION_RUNTIMES = 16,
};

struct contention_report {
    uint64_t sent;
    uint64_t done;
    uint64_t failed; /* explicitly */
    uint64_t attempts;
    uint64_t most_attempts; /* of one event */
    uint64_t first_ms;      /* when the first runtime was ready, */
    uint64_t last_ms;       /* and the last one */
    uint64_t longest_ms;    /* of one event, from its sending to its end */
};

const char *contention_name(enum contention_kind kind);

/* False after a failure of the test, which has said what and with which
 * seed. */
bool contention_run(enum contention_kind kind,
                    unsigned each,
                    uint64_t seed,
                    struct contention_report *report);

/* Whether anything may fail, or be tried again, at all. */
bool contention_is_free(enum contention_kind kind);

/* One line for people. */
void contention_print(enum contention_kind kind,
                      const struct contention_report *report);

#endif
