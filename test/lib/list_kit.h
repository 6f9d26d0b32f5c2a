/* A piece with a list and something that is made of it, for tests: a world with
 * one store, a state "items", a list "out" of it, and perhaps somebody who
 * looks. Bodies count their runs.
 *
 *   list_kit_begin(&kit, LIST_KIT_MAP);
 *   list_kit_start(&kit);
 *   list_kit_set(&kit, "items", "[1,2,3]");
 *   EXPECT_EQ(list_kit_runs(&kit), 3);      since the last time
 *   EXPECT_SHOWN(&kit, "[[1],[2],[3]]");
 *   list_kit_end(&kit); */

#ifndef TEST_LIB_LIST_KIT_H
#define TEST_LIB_LIST_KIT_H

#include "host/world.h"
#include "runtime/list.h"
#include "runtime/piece.h"

enum list_kit_what {
    LIST_KIT_MAP,      /* x becomes [x] */
    LIST_KIT_FILTER,   /* those that are odd, or have an odd "n" */
    LIST_KIT_FLAT_MAP, /* x becomes [x] if it is odd, else [x, x] */
    LIST_KIT_REDUCE,   /* the sum of what is odd or has an odd "n" */
};

struct list_kit {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct pattern *pattern;
    struct piece *piece;
    enum list_kit_what what;
    bool blind;   /* nobody looks */
    bool forgets; /* bodies have no fingerprint */
    bool partial; /* bodies read nothing but the "n" of their element */
    struct place *items;
    struct place *out;
    struct place *factor; /* a state that the body reads, too, if it is there */
    struct digest digest;
    uint64_t runs; /* of bodies */
    uint64_t taken;
    uint64_t looks;
    uint64_t errors;
    struct value shown; /* what was seen last, links followed */
};

void list_kit_begin(struct list_kit *kit, enum list_kit_what what);
void list_kit_end(struct list_kit *kit);

/* Starts the piece "p", and waits until it is at rest. */
void list_kit_start(struct list_kit *kit);

/* The process ends, and another one comes; the piece is not started. */
void list_kit_crash(struct list_kit *kit);

/* At rest, with everything confirmed. */
void list_kit_idle(struct list_kit *kit);

/* Writes to a place, by id and pointer from the payload on, and waits. With an
 * apostrophe for each quote; "" deletes. */
void list_kit_put(struct list_kit *kit,
                  const char *id,
                  const char *pointer,
                  const char *json);
void list_kit_put_adopt(struct list_kit *kit,
                        const char *id,
                        const char *pointer,
                        struct value value);

/* The list itself: the payload of "piece:p/items". */
void list_kit_set(struct list_kit *kit, const char *json);

/* Body runs since the last call. */
uint64_t list_kit_runs(struct list_kit *kit);

/* What is at a place of the runtime, links followed as far as the first
 * level; new. */
struct value list_kit_read(const struct list_kit *kit,
                           struct run *run,
                           struct place *place,
                           bool *stale);

/* A document of the runtime, as it is visible; new, absent if there is none. */
struct value list_kit_document(struct list_kit *kit, const char *id);

/* How many nodes there are. */
size_t list_kit_nodes(const struct list_kit *kit);

bool list_kit_expect_shown(const char *file,
                           int line,
                           const struct list_kit *kit,
                           const char *json);
#define EXPECT_SHOWN(kit, json) \
    list_kit_expect_shown(__FILE__, __LINE__, (kit), (json))

#endif
