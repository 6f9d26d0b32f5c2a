/* The state that the files of the scheduler share, each its own part. Who
 * includes this is a part of the scheduler; everybody else includes
 * sched/scheduler.h. */

#ifndef SCHED_CORE_H
#define SCHED_CORE_H

#include "replica/replica.h"
#include "sched/node.h"
#include "value/compare.h"

enum {
    SCHED_SWEEPS_MAX = 10,  /* a pass */
    SCHED_RUNS_MAX = 10,    /* of one node a pass */
    SCHED_NESTING_MAX = 64, /* runs inside reads */
    SCHED_BURST_MAX = 1000, /* commits before the pass pauses for the store */
    SCHED_BURST_SHARE = 4,  /* and at least this part of a run's reads */
    SCHED_GLANCE = 256,     /* steps of a long loop between two looks for an
                               interrupt */
    SCHED_ATTEMPTS_MAX = 10,
    SCHED_BACKOFF_MS = 250, /* doubled up to */
    SCHED_BACKOFF_MAX_MS = 2000,
    SCHED_HOLD_PASSES = 3, /* backoffs for which idle waits */
    SCHED_AUTO_RUNS = 3,   /* an effect with as many runs that took */
    SCHED_AUTO_MS = 50,    /* so long on average is given a debounce of */
    SCHED_AUTO_DEBOUNCE_MS = 100,
    SCHED_DEBOUNCE_STRETCH = 10,   /* windows: the longest wait, */
    SCHED_DEBOUNCE_LONG_MS = 1000, /* but not less than this */
    SCHED_RECORDS = 1024,          /* runs that are remembered */
    SCHED_RESTLESS_MS = 5000,      /* without rest for longer than this, */
    SCHED_RESTLESS_BUSY_MS = 1000, /* and busy for longer than this: told */
    SCHED_RESTLESS_SLIDE_MS = 10000,
};

/* A place and what was and is there, still to be compared. */
struct change_pair {
    struct place *place;
    struct value before;
    struct value after;
};

struct node_list {
    VEC(struct node *) at;
};

/* A node of which the reads are being seen to (sched/refresh.h). */
struct refresh_frame {
    struct node *node; /* NULL: is gone */
    uint32_t read;     /* the next one */
};

/* How a run ended. */
enum run_outcome {
    OUTCOME_COMMITTED, /* whether or not that changed anything */
    OUTCOME_REFUSED,   /* its commit was, before it was applied */
    OUTCOME_FAILED,
    OUTCOME_GIVEN_UP, /* to be run again */
    OUTCOME_DROPPED,  /* its node had been removed */
    OUTCOME_WAITED,   /* for a document: it counts for nothing */
};

/* A run that is remembered (sched/introspection.h). */
struct run_record {
    uint64_t number;
    uint64_t version; /* of its own commit; 0: nothing was changed */
    uint64_t pass;
    uint32_t sweep;
    uint32_t height;
    uint32_t ordinal;
    uint32_t parent; /* 1 and its ordinal; 0: none */
    mono_ms at;
    mono_ms busy_ms;
    struct value name;
    uint32_t cause_count; /* all of them; the first ones follow */
    enum node_kind kind : 8;
    enum run_outcome outcome : 8;
    bool first;     /* it had never run */
    uint64_t event; /* of a handler, and only there: which one, by number, */
    uint32_t hops;  /* and how many were before it in its chain */
    struct cause causes[4];
};

/* A notification that is remembered, for the causes. */
struct change_record {
    uint64_t version;
    uint64_t local_seq;
    enum notification_kind kind;
    uint32_t source; /* 1 and the ordinal of the node; 0: somebody else */
};

/* Of a pass, for those who are told. */
enum pass_moment {
    PASS_BEGINS,
    PASS_SETTLED,
    PASS_BACKED_OFF, /* ended with work that did not settle */
};

/* A write that should not have been one. All borrowed. */
struct violation {
    const struct node *node;
    const struct place *place;
    struct value before; /* what its run has left there */
    struct value after;  /* what the same run would leave there now */
};

struct circle;

/* What somebody outside wants to know. Any may be NULL. */
/* Whether the caller of the pass wants it back: asked after each run. */
typedef bool sched_interrupted_fn(void *ctx);

struct sched_hooks {
    void *ctx;
    /* A run failed, or its commit did for good. */
    void (*error)(void *ctx,
                  const struct node *node,
                  const struct err_detail *detail);
    /* It does not come to rest: the nodes that keep it busy, which may be many
     * that each run once. Once per episode (sched/settling.h). */
    void (*not_settling)(void *ctx,
                         const struct node *const *nodes,
                         size_t count);
    /* A circle does not settle, or has no value to begin with. Once a circle;
     * borrowed (sched/circle.h). */
    void (*circle)(void *ctx, const struct circle *circle);
    /* A node is not idempotent (sched/validator.h). Once a node. */
    void (*not_idempotent)(void *ctx, const struct violation *violation);
    /* For traces (sched/trace.h): a run has ended, a pass begins or has
     * ended, and a read was looked at because of a change, before anything
     * comes of it. */
    void (*run)(void *ctx,
                const struct run *run,
                const struct run_record *record);
    void (*pass)(void *ctx, const struct sched *sched, enum pass_moment moment);
    void (*trigger)(void *ctx,
                    const struct node *node,
                    const struct notification *notification,
                    const struct place *place,
                    const char *decision);
};

struct sched_counters {
    uint64_t runs;
    uint64_t nested_runs;
    uint64_t discarded_runs; /* given up to run again in order */
    uint64_t looks;          /* at nodes that a read needs (refresh.h) */
    uint64_t failed_runs;
    uint64_t passes;
    uint64_t sweeps;
    uint64_t pops;     /* nodes taken from the queue, */
    uint64_t filtered; /* of those, not to be run after all */
    uint64_t visits;   /* read links and places looked at by changes, */
    uint64_t compared; /* and values there, before and after */
    uint64_t invalidations;
    uint64_t liveness_work; /* nodes whose count was changed */
    uint64_t height_work;   /* nodes whose height was looked at */
    uint64_t delta_links;   /* read links added or removed */
    uint64_t surface_violations;
    uint64_t backoffs;
    uint64_t not_settling; /* passes */
    uint64_t validations;
    uint64_t violations;
    uint64_t observed; /* runs of which the store is told (persistence.h) */
    uint64_t adopted;  /* runs of others that were as good as own ones */
    uint64_t waits;    /* for such a run, */
    uint64_t vain;     /* and it did not come in time */
    uint64_t held;     /* nodes, until their documents were here (fetching.h) */
};

/* Nodes that wait, by why (sched/queue.h). */
enum queue_place {
    QUEUE_NONE,
    QUEUE_SWEEP, /* in queues[0]; and 1 more: in queues[1] */
    QUEUE_OTHER_SWEEP,
    QUEUE_IDLE,  /* materializers without hurry */
    QUEUE_GATED, /* until a time */
    QUEUE_ALONE, /* the only one of this sweep: in no queue */
};

enum {
    EVALUATION_RESTARTS = 100000, /* of one read, from what was too deep */
};

/* A computation that could not be evaluated on a view, and why: GIVEN_UP with
 * the reason, or STALE. */
struct evaluation_failure {
    const struct node *node;
    struct err_detail why;
};

/* What was evaluated on the view of a transaction (sched/evaluation.h). */
struct evaluation {
    uint64_t epoch;          /* of the scratch that holds it */
    VEC(struct node *) done; /* computations that were evaluated in it, */
    VEC(struct evaluation_failure) failed; /* and those that could not be */
    struct node *deep;       /* needed too deep inside of others; or NULL */
    struct err_detail error; /* why the last read could not be evaluated */
};

struct sched {
    struct replica *replica;
    struct host *host;                  /* for durations; or NULL */
    mono_ms (*tick)(struct host *host); /* how it is asked */
    struct subscriber subscriber;
    struct sched_hooks hooks;
    sched_interrupted_fn *interrupted; /* or NULL */
    void *interrupted_ctx;
    mono_ms now;
    mono_ms clock;       /* what the host said last, */
    bool clock_is_right; /* and nobody else has been called since */
    bool disposed;

    /* registry */
    uint32_t ordinals;
    size_t computations;
    size_t effects;
    struct list nodes; /* all that are registered, in their order */
    struct pool node_pool;
    struct pool write_pool; /* the writes of nodes that have one output */

    struct events *events;           /* or NULL: nobody has a stream */
    struct persistence *persistence; /* or NULL: nobody has an identity */
    bool integrated;       /* something has come from elsewhere: persistence */
    bool resuming;         /* a piece is being taken up: nothing runs */
    struct labels *labels; /* or NULL: nothing that was seen has one */
    struct chain sleepers; /* dormant and stale: not attached (G1) */

    /* walks over the graph */
    uint64_t visits;
    VEC(struct node *) stack;
    VEC(struct node *) found;
    VEC(struct node *) waking;       /* about to be live, writers first */
    VEC(struct read_link *) readers; /* who is to be told of a change */
    VEC(struct change_pair) pairs;   /* what is to be compared */
    value_trail trail;               /* what is known to differ, */
    uint32_t trail_from;             /* from this length of a path on */
    VEC(struct refresh_frame) frames;
    VEC_SMALL(struct read_link) links; /* of a read delta, being put together */

    /* queue */
    struct bucket_queue queues[2]; /* this sweep and the next, in turns */
    struct node *alone; /* of this sweep, while its queue is empty; or NULL */
    unsigned current;
    struct list idle_materializers;
    VEC(struct node *) gated; /* a heap by the time of eligibility */
    VEC(struct node *) rearming;
    bool immediate;    /* T4 of sched/gates.h, */
    size_t immediates; /* with its nodes, of which it is one if it is */

    /* settle */
    uint64_t pass; /* number of the last one */
    bool in_pass;
    bool paused;       /* the pass under way, until the next call */
    size_t burst_from; /* commits without a verdict when it began or went on */
    bool stepping;     /* inside a step: `now` is the time */
    uint32_t sweep;
    uint32_t cursor; /* the height that the sweep has reached */
    uint32_t floor;  /* what is lower waits for the next one */
    uint32_t passed; /* what is lower and live has been run, for sure */
    bool late;       /* or perhaps not: somebody waits for later */
    VEC(struct node *) provisional; /* granted in this pass */
    VEC(struct node *) unsettled;   /* backed off in this pass */
    VEC(struct node *) recovering;  /* ran in this pass after a backoff */

    /* runner */
    struct run *run;         /* the innermost run, or NULL */
    bool swift;              /* runs can go the swift way: sched/swift.h */
    struct node *committing; /* whose changes are being told, or NULL */
    uint64_t own_version;    /* of the last of those; 0: none yet */
    uint32_t own_commits;    /* how many there were, one a space */
    uint64_t run_number;
    uint32_t nesting; /* runs inside reads, at most: SCHED_NESTING_MAX, or less
                         where the language of the nodes cannot go so deep */
    uint64_t world;   /* grows with every change that a node could see */
    uint64_t staled;  /* grows when a node may have to run that had not to */
    uint32_t glances; /* settle_glance */
    bool unwinding;   /* too deep: runs are given up, to be run in order */
    struct list idle_flights;
    VEC(struct run *) runs;     /* by depth of nesting, to be used again */
    struct list lost_flights;   /* of nodes that have gone */
    size_t flights;             /* commits without a verdict */
    VEC(struct node *) waiting; /* for documents that they have read */

    struct evaluation evaluation;

    /* fetching */
    uint64_t fetch_pass; /* the last in which somebody was held; 0: none */
    uint32_t fetch_span; /* and how far ahead it was looked then */
    VEC(struct node *) behind; /* who waits with others */

    /* settling */
    mono_ms restless_since;     /* the episode; 0: at rest */
    mono_ms restless_busy;      /* of it, in passes */
    mono_ms pass_began;         /* the pass under way; 0: none, or no clock */
    size_t backing_off;         /* nodes that did not settle yet */
    VEC(uint32_t) told_circles; /* E4: their ordinals, */
    VEC(struct node *) failed_in_circle; /* and nodes to be looked at */
    bool restless_told;

    /* validator */
    bool validating;

    /* introspection */
    struct sched_counters counters;
    uint64_t outside_version;      /* of the last change that no run made */
    struct run_record *records;    /* a ring of SCHED_RECORDS, and one more
                                      that is never used */
    struct change_record *changes; /* likewise, by version */
};

/* The time by the host, of which there is one. Between two calls of somebody
 * else's functions it stands still. */
static inline mono_ms sched_time(struct sched *sched)
{
    if (!sched->clock_is_right) {
        sched->clock = sched->tick(sched->host);
        sched->clock_is_right = true;
    }
    return sched->clock;
}

#endif
