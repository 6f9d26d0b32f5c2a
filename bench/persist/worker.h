/* A process at work, for measuring: a scheduler on one space, whose commits go
 * to a store in a file. Several workers may share a store.
 *
 * A worker has nodes that are numbered: number i reads the document i and the
 * one beside it in the list that was given, and writes its own. */

#ifndef BENCH_PERSIST_WORKER_H
#define BENCH_PERSIST_WORKER_H

#include "host/hub_link.h"
#include "replica/space.h"
#include "sched/persistence.h"
#include "sched/sched.h"
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
struct worker_node {
    struct place *from[2]; /* the second may be NULL */
    struct place *to;      /* or NULL: it only looks */
};

struct worker {
    struct store *store;
    struct hub_link link;
    struct replica replica;
    struct space *space;
    struct sched *sched;
    mono_ms now;
    bool known; /* its nodes have identities */
    struct value piece;
    struct worker_node *nodes;
    size_t count;
    size_t capacity;
};

/* `session` is its name; `known`: its nodes' runs are told to the store. Room
 * for `capacity` nodes. */
void worker_open(struct worker *worker,
                 struct store *store,
                 const char *session,
                 bool known,
                 size_t capacity);
void worker_close(struct worker *worker);

/* A new reference: the payload of document number `number`, of that kind. */
struct place *worker_place(struct worker *worker, char kind, uint64_t number);

/* Takes the places over. A computation, if there is a `to`; else an effect. */
void worker_add(struct worker *worker,
                struct place *first,
                struct place *second,
                struct place *to,
                const struct digest *action);

/* A number into a document, as somebody at this worker would. */
void worker_put(struct worker *worker, struct place *place, uint64_t number);

/* Runs what has to run, sends it in one group, and takes the answers. */
void worker_work(struct worker *worker);

/* Until nothing is to be done and everything was answered. */
void worker_settle(struct worker *worker);

/* Who the node of that number is. */
struct digest worker_action(uint64_t number);

void stop(const char *why);

#endif
