/* A process at work, for measuring: a scheduler on one space, whose commits go
 * to a store in a file. Several desks may share a store.
 *
 * A desk has nodes that are numbered: number i reads the document i and the
 * one beside it in the list that was given, and writes its own. */

#ifndef BENCH_PERSIST_DESK_H
#define BENCH_PERSIST_DESK_H

#include "host/link.h"
#include "replica/space.h"
#include "sched/persistence.h"
#include "sched/scheduler.h"
#include "store/observations.h"

struct store {
    char path[300];
    struct engine engine;
    struct hub hub;
};

void store_open(struct store *store,
                const char *folder,
                const char *name,
                enum durability durability);
void store_close(struct store *store);
void store_remove(const struct store *store);

/* What a node does: puts the sum of what it reads into its output. */
struct desk_node {
    struct place *from[2]; /* the second may be NULL */
    struct place *to;      /* or NULL: it only looks */
};

struct desk {
    struct store *store;
    struct link link;
    struct replica replica;
    struct space *space;
    struct sched *sched;
    mono_ms now;
    bool known; /* its nodes have identities */
    struct value piece;
    struct desk_node *nodes;
    size_t count;
    size_t capacity;
};

/* `session` is its name; `known`: its nodes' runs are told to the store. Room
 * for `capacity` nodes. */
void desk_open(struct desk *desk,
               struct store *store,
               const char *session,
               bool known,
               size_t capacity);
void desk_close(struct desk *desk);

/* A new reference: the payload of document number `number`, of that kind. */
struct place *desk_place(struct desk *desk, char kind, uint64_t number);

/* Takes the places over. A computation, if there is a `to`; else an effect. */
void desk_add(struct desk *desk,
              struct place *first,
              struct place *second,
              struct place *to,
              const struct digest *action);

/* A number into a document, as somebody at this desk would. */
void desk_put(struct desk *desk, struct place *place, uint64_t number);

/* Runs what has to run, sends it in one group, and takes the answers. */
void desk_work(struct desk *desk);

/* Until nothing is to be done and everything was answered. */
void desk_settle(struct desk *desk);

/* Who the node of that number is. */
struct digest desk_action(uint64_t number);

void stop(const char *why);

#endif
