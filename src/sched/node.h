/* Nodes: what is scheduled.
 *
 * A node is a function and everything the scheduler knows about it, in one
 * record. A computation reads and writes its outputs, and runs when somebody
 * looks at them; an effect is somebody who looks.
 *
 * Each part of the record has one writer, named beside it. Who asks for more
 * than the state of one node asks the file that owns the structure. */

#ifndef SCHED_NODE_H
#define SCHED_NODE_H

#include "base/bucket_queue.h"
#include "base/chain.h"
#include "base/err.h"
#include "base/host.h"
#include "base/list.h"
#include "base/vec.h"
#include "replica/transaction.h"

struct component;
struct flight;
struct node;
struct run;
struct sched;

/* -- What a node does ---------------------------------------------------- */

enum run_result {
    RUN_DONE,
    RUN_PENDING, /* goes on later: run_finish (sched/runner.h) */
    RUN_FAILED,  /* nothing of it stays; run_fail has said why */
    RUN_AGAIN,   /* could not be done now, as run_read said: run again */
};

typedef enum run_result node_fn(struct run *run, void *ctx);

enum node_kind {
    NODE_COMPUTATION,
    NODE_EFFECT,
};

enum node_status {
    NODE_NEVER_RAN,
    NODE_CLEAN,
    NODE_INVALID, /* something that it read is different now */
};

/* For the registration. A zero field means none or the default; all is
 * borrowed for the call. */
struct node_spec {
    enum node_kind kind;
    node_fn *run;
    void *ctx;
    void (*release)(void *ctx); /* when the node is gone; or NULL */
    struct value name;          /* string, for people; or absent */
    const void *group;          /* commits of this group do not wake it */

    struct place *const *outputs; /* what it writes; a computation's only */
    size_t output_count;
    struct place *const *envelopes; /* where else it may write: with one, it
                                       is a materializer */
    size_t envelope_count;
    struct place *const *reads; /* what it will read, for the order of the
                                   first run */
    size_t read_count;

    mono_ms debounce; /* sched/gates.h */
    mono_ms throttle;
    bool no_auto_debounce;
};

/* -- Links to places ----------------------------------------------------- */

/* One read of a node. In the place's readers while the node is attached
 * (sched/graph.h). */
struct read_link {
    struct chain_link in_place;
    struct node *node;
    struct place *place; /* a reference */
    uint64_t version;    /* of the entity when it was read */
    uint32_t mark;       /* of the read delta that looked at it last */
    uint8_t kind;        /* enum read_kind */
    bool declared;       /* not read yet: for the order only */
    bool caused;         /* is among the causes */
};

/* One output or envelope. In the place's writers as long as the node is
 * registered. */
struct write_link {
    struct chain_link in_place;
    struct node *node;
    struct place *place; /* a reference */
    bool envelope;       /* for the order only */
};

_Static_assert(offsetof(struct write_link, in_place) == 0,
               "a link of a place is the write link");

/* -- Time gates ---------------------------------------------------------- */

/* Only for nodes that ever had one; see sched/gates.h. */
struct gate {
    mono_ms debounce;        /* the window; 0: none */
    mono_ms throttle;        /* likewise */
    mono_ms debounce_ready;  /* the end of the window; 0: not armed */
    mono_ms debounce_latest; /* and the last moment to which it can move */
    mono_ms throttle_ready;
    mono_ms backoff_until;
    uint32_t backoff_streak;
    uint32_t hold_passes; /* backoffs in this idle episode */
    bool no_auto_debounce;
    bool rearm; /* invalidated since the last look at the clock */
};

/* -- The record ---------------------------------------------------------- */

struct node {
    /* Fixed by the registration: registry. */
    node_fn *run;
    void *ctx;
    void (*release)(void *ctx);
    struct value name;
    const void *group;
    uint32_t ordinal; /* order of registration */
    enum node_kind kind : 8;
    bool registered;
    bool materializer;
    struct node *parent; /* who created it, or NULL; registry */
    struct chain children;
    struct chain_link sibling;
    uint64_t born_in;     /* the run that created it; 0: none */
    struct list_node all; /* in the registry */

    /* What it reads and writes: graph. */
    VEC(struct read_link) reads;
    struct write_link *writes;
    uint32_t write_count;
    bool attached; /* the reads are in their places */

    /* The order: order. */
    uint32_t height;
    struct component *component; /* the cycle that it is part of, or NULL */
    uint64_t visit;              /* stamp of the last walk */

    /* Demand: liveness. */
    uint32_t live_refs;   /* links of live readers to its outputs */
    bool counted;         /* its own reads are among such of its writers */
    uint32_t demands;     /* from outside: pulls, events */
    uint64_t provisional; /* the pass that granted it and 1, or 0 */

    /* Its state: invalidation and runner. */
    enum node_status status : 8;
    bool running;
    bool again; /* queued again because of a rejection, whoever is live */
    bool asked; /* invalid without a cause: somebody wants it to run */
    VEC(struct cause) causes;
    uint64_t verified; /* what sched->staled was when it was up to date, with
                          everything that it needs */

    /* The queue: queue and settle. */
    struct bucket_item item;
    uint8_t place_in_queue; /* enum queue_place */
    struct list_node waiting;
    uint32_t heap_index; /* 1 and the place among the gated; 0: none */
    uint64_t pass;       /* the last in which it ran, */
    uint32_t pass_runs;  /* and how often in it */

    struct gate *gate; /* gates; or NULL */

    /* Retries: runner. */
    uint32_t attempts;   /* failed commits in a row, other than conflicts */
    uint32_t conflicts;  /* likewise, conflicts */
    struct list flights; /* struct flight: commits without a verdict */

    /* Statistics: runner. */
    uint64_t runs;
    uint64_t busy_ms; /* all of them */
    mono_ms last_ms;  /* the last run */
    mono_ms ended_at;
    bool asynchronous; /* a run of it has gone on later */
    bool violation;    /* was reported: validator */
};

static inline void node_set_status(struct node *node, enum node_status status)
{
    node->status = status;
}

static inline bool node_is_root(const struct node *node)
{
    return node->registered &&
           (node->kind == NODE_EFFECT || node->materializer ||
            node->provisional != 0 || node->demands > 0);
}

static inline bool node_is_live(const struct node *node)
{
    return node->registered && (node->live_refs > 0 || node_is_root(node));
}

/* Whether it has to run before its outputs are right. */
static inline bool node_is_stale(const struct node *node)
{
    return node->status != NODE_CLEAN;
}

#endif
