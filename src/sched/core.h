/* The state that the files of the scheduler share; each file owns its part.
 * Only files of the scheduler include this; others include
 * sched/sched.h. */

#ifndef SCHED_CORE_H
#define SCHED_CORE_H

#include "replica/replica.h"
#include "sched/node.h"
#include "value/compare.h"

enum {
    SCHED_SWEEPS_MAX = 10,  /* per pass */
    SCHED_RUNS_MAX = 10,    /* per node and pass */
    SCHED_NESTING_MAX = 64, /* nested runs inside reads */
    SCHED_BURST_MAX = 1000, /* commits before the pass pauses for the store */
    SCHED_BURST_SHARE = 4,  /* and at least this fraction of a run's reads */
    SCHED_GLANCE = 256,     /* steps of a long loop between two checks for an
                               interrupt */
    SCHED_ATTEMPTS_MAX = 10,
    SCHED_BACKOFF_MS = 250, /* doubled up to */
    SCHED_BACKOFF_MAX_MS = 2000,
    SCHED_HOLD_PASSES = 3, /* backoffs for which idle waits */
    SCHED_AUTO_RUNS = 3,   /* an effect with this many runs that take */
    SCHED_AUTO_MS = 50,    /* this long on average gets a debounce of */
    SCHED_AUTO_DEBOUNCE_MS = 100,
    SCHED_DEBOUNCE_STRETCH = 10,   /* windows: the longest wait, */
    SCHED_DEBOUNCE_LONG_MS = 1000, /* but not less than this */
    SCHED_RECORDS = 1024,          /* runs kept in the ring */
    SCHED_EPISODE_MS = 5000,       /* busy for longer than this without rest, */
    SCHED_EPISODE_BUSY_MS = 1000,  /* of which this much in passes: reported */
    SCHED_EPISODE_SLIDE_MS = 10000,
};

/* A place with its value before and after, still to be compared. */
struct change_pair {
    struct place *place;
    struct value before;
    struct value after;
};

struct node_list {
    VEC(struct node *) at;
};

/* A node whose reads are being refreshed (sched/refresh.h). */
struct refresh_frame {
    struct node *node; /* NULL: removed */
    uint32_t read;     /* the next read to look at */
};

/* How a run ended. */
enum run_outcome {
    OUTCOME_COMMITTED, /* with or without changes */
    OUTCOME_REFUSED,   /* the commit was refused before it was applied */
    OUTCOME_FAILED,
    OUTCOME_GIVEN_UP, /* abandoned, to run again */
    OUTCOME_DROPPED,  /* the node was removed meanwhile */
    OUTCOME_WAITED,   /* for a document: does not count as a run */
};

/* One recorded run (sched/introspection.h). */
struct run_record {
    uint64_t number;
    uint64_t version; /* of its own commit; 0: changed nothing */
    uint64_t pass;
    uint32_t sweep;
    uint32_t height;
    uint32_t ordinal;
    uint32_t parent; /* 1 + ordinal; 0: none */
    mono_ms at;
    mono_ms busy_ms;
    struct value name;
    uint32_t cause_count; /* all of them; only the first ones follow */
    enum node_kind kind : 8;
    enum run_outcome outcome : 8;
    bool first;     /* the node had never run */
    uint64_t event; /* handlers only: number of the event, */
    uint32_t hops;  /* and of the events before it in its chain */
    struct cause causes[4];
};

/* One recorded notification, to explain causes. */
struct change_record {
    uint64_t version;
    uint64_t local_seq;
    enum notification_kind kind;
    uint32_t source; /* 1 + ordinal of the node; 0: no node */
};

/* Moments of a pass that hooks are told of. */
enum pass_moment {
    PASS_BEGINS,
    PASS_SETTLED,
    PASS_BACKED_OFF, /* ended with nodes that did not converge */
};

/* A write that shows a node is not idempotent. All borrowed. */
struct violation {
    const struct node *node;
    const struct place *place;
    struct value before; /* what its run left there */
    struct value after;  /* what the same run would leave there now */
};

struct cycle;

/* Hooks for an observer outside. Any may be NULL. */
/* Whether the caller wants the pass to stop: asked after each run. */
typedef bool sched_interrupted_fn(void *ctx);

struct sched_hooks {
    void *ctx;
    /* A run failed, or its commit failed permanently. */
    void (*error)(void *ctx,
                  const struct node *node,
                  const struct err_detail *detail);
    /* The scheduler does not converge: the nodes that keep it busy, which may
     * be many that each run once. Once per episode (sched/convergence.h). */
    void (*not_settling)(void *ctx,
                         const struct node *const *nodes,
                         size_t count);
    /* A cycle does not converge, or has no initial value. Once per cycle;
     * borrowed (sched/cycle.h). */
    void (*cycle)(void *ctx, const struct cycle *cycle);
    /* A node is not idempotent (sched/validator.h). Once per node. */
    void (*not_idempotent)(void *ctx, const struct violation *violation);
    /* For traces (sched/trace.h): a run has ended; a pass begins or has ended;
     * a read was compared because of a change, before the node is marked. */
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
    uint64_t discarded_runs; /* abandoned, to run again in order */
    uint64_t looks;          /* nodes examined by refreshes (refresh.h) */
    uint64_t failed_runs;
    uint64_t passes;
    uint64_t sweeps;
    uint64_t pops;     /* nodes taken from the queue, */
    uint64_t filtered; /* of those, not runnable any more */
    uint64_t visits;   /* read links and places visited by changes, */
    uint64_t compared; /* and values compared there */
    uint64_t invalidations;
    uint64_t liveness_work; /* nodes whose live count changed */
    uint64_t height_work;   /* nodes whose height was examined */
    uint64_t delta_links;   /* read links added or removed */
    uint64_t surface_violations;
    uint64_t backoffs;
    uint64_t not_settling; /* passes */
    uint64_t validations;
    uint64_t violations;
    uint64_t observed; /* runs reported to the store (persistence.h) */
    uint64_t adopted;  /* runs of peers adopted instead of own ones */
    uint64_t waits;    /* for a peer's run, */
    uint64_t vain;     /* and those that ended without one */
    uint64_t held; /* nodes held until their documents arrived (fetching.h) */
};

/* Why a node is queued (sched/queue.h). */
enum queue_place {
    QUEUE_NONE,
    QUEUE_SWEEP, /* in queues[0]; this + 1: in queues[1] */
    QUEUE_OTHER_SWEEP,
    QUEUE_IDLE,   /* materializers that can wait */
    QUEUE_GATED,  /* until a time */
    QUEUE_SINGLE, /* the only node of this sweep: in no queue */
};

enum {
    EVALUATION_RESTARTS = 100000, /* per read, after nesting too deep */
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
    struct node *deep;       /* needed at too deep a nesting level; or NULL */
    struct err_detail error; /* why the last read could not be evaluated */
};

struct sched {
    struct replica *replica;
    struct host *host;                  /* measures durations; or NULL */
    mono_ms (*tick)(struct host *host); /* reads its clock */
    struct subscriber subscriber;
    struct sched_hooks hooks;
    sched_interrupted_fn *interrupted; /* or NULL */
    void *interrupted_ctx;
    mono_ms now;
    mono_ms clock;       /* the host's last answer, */
    bool clock_is_right; /* and no foreign code has run since */
    bool disposed;

    /* registry */
    uint32_t ordinals;
    size_t computations;
    size_t effects;
    struct list nodes; /* all registered nodes, in order */
    struct pool node_pool;
    struct pool write_pool; /* for the writes of nodes with one output */

    struct events *events;           /* or NULL: there is no stream */
    struct persistence *persistence; /* or NULL: no node has an identity */
    bool integrated;       /* a remote change has arrived: persistence */
    bool resuming;         /* a piece is resuming: nothing runs */
    struct labels *labels; /* or NULL: no label was seen yet */
    struct chain sleepers; /* dormant and stale: not attached (graph-1) */

    /* for walks over the graph */
    uint64_t visits;
    VEC(struct node *) stack;
    VEC(struct node *) found;
    VEC(struct node *) waking;       /* about to become live, writers first */
    VEC(struct read_link *) readers; /* to be notified of a change */
    VEC(struct change_pair) pairs;   /* still to be compared */
    value_trail trail;               /* the known difference, */
    uint32_t trail_from;             /* from this path length on */
    VEC(struct refresh_frame) frames;
    VEC_SMALL(struct read_link) links; /* scratch for a read delta */

    /* queue */
    struct bucket_queue queues[2]; /* this sweep and the next, alternating */
    struct node *single; /* the only node of this sweep, if its queue is empty;
                           or NULL */
    unsigned current;
    struct list idle_materializers;
    VEC(struct node *) gated; /* a heap by eligible_at */
    VEC(struct node *) rearming;
    bool immediate;    /* gates-4 of sched/gates.h, */
    size_t immediates; /* how many, the scheduler included if it is one */

    /* settle */
    uint64_t pass; /* number of the last one */
    bool in_pass;
    bool paused;       /* the pass in progress, until the next call */
    size_t burst_from; /* commits without a verdict when it began or resumed */
    bool stepping;     /* inside a step: `now` is valid */
    uint32_t sweep;
    uint32_t cursor;      /* the height that the sweep has reached */
    uint32_t sweep_floor; /* lower nodes wait for the next sweep */
    uint32_t clean_below; /* every live node that is lower is up to date, */
    bool has_deferred;    /* unless this says that some are deferred */
    VEC(struct node *) provisional; /* granted in this pass */
    VEC(struct node *) unsettled;   /* backed off in this pass */
    VEC(struct node *) recovering;  /* ran in this pass after a backoff */

    /* runner */
    struct run *run;   /* the innermost run, or NULL */
    bool can_run_fast; /* runs may take the fast path of sched/fast_run.h */
    struct node *committing; /* the node whose changes are being delivered, or
                                NULL */
    uint64_t own_version;    /* of the last of those; 0: none yet */
    uint32_t own_commits;    /* how many there were, one per space */
    uint64_t run_number;
    uint32_t nesting; /* limit of nested runs: SCHED_NESTING_MAX, or less if the
                         language of the nodes allows fewer */
    uint64_t change_epoch; /* grows with every change that a node could see */
    uint64_t stale_epoch;  /* grows when a node that was up to date may have to
                              run */
    uint32_t glances;      /* settle_glance */
    bool unwinding;        /* too deep: runs are abandoned, to run in order */
    struct list idle_inflight;
    VEC(struct run *) runs;     /* by nesting depth, reused */
    struct list lost_inflight;  /* of removed nodes */
    size_t inflight;            /* commits without a verdict */
    VEC(struct node *) waiting; /* for documents that they have read */

    struct evaluation evaluation;

    /* fetching */
    uint64_t fetch_pass;       /* the last in which a node was held; 0: none */
    uint32_t fetch_span;       /* and how many nodes it looked ahead */
    VEC(struct node *) behind; /* nodes that wait for waiting nodes */

    /* convergence */
    mono_ms episode_began; /* start of the episode; 0: at rest */
    mono_ms episode_busy;  /* of that, in passes */
    mono_ms pass_began;    /* the pass in progress; 0: none, or no clock */
    size_t backing_off;    /* nodes that have not converged yet */
    VEC(uint32_t)
    reported_cycles;                    /* convergence-4: ordinals of reported
                                           cycles, */
    VEC(struct node *) failed_in_cycle; /* and nodes still to be examined */
    bool episode_reported;

    /* validator */
    bool validating;

    /* introspection */
    struct sched_counters counters;
    uint64_t outside_version;      /* of the last change that no run made */
    struct run_record *records;    /* a ring of SCHED_RECORDS, and one more that
                                      is never used */
    struct change_record *changes; /* likewise, by version */
};

/* The host's time; there must be a host. It stands still between two calls of
 * foreign functions. */
static inline mono_ms sched_time(struct sched *sched)
{
    if (!sched->clock_is_right) {
        sched->clock = sched->tick(sched->host);
        sched->clock_is_right = true;
    }
    return sched->clock;
}

#endif
