/* Nodes: the units of scheduling.
 *
 * A node is a function and everything that the scheduler knows about it, in one
 * record. A computation reads, writes its outputs, and runs when a live node
 * reads them. An effect is always live.
 *
 * Each part of the record has one writer, named beside it. Questions about more
 * than one node go to the file that owns the structure. */

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
struct inflight_commit;
struct node;
struct node_identity;
struct persisted;
struct run;
struct sched;

/* -- What a node does ---------------------------------------------------- */

enum run_result {
    RUN_DONE,
    RUN_FAILED,  /* nothing of it remains; run_fail has the reason */
    RUN_AGAIN,   /* not possible now, as run_read said: run again */
    RUN_WAITING, /* it read a document that has not arrived (run_is_waiting):
                    nothing of it remains, and it runs again when the document
                    is here */
};

typedef enum run_result node_fn(struct run *run, void *ctx);

enum node_kind {
    NODE_COMPUTATION,
    NODE_EFFECT,
    NODE_HANDLER, /* never registered: represents a handler in its runs */
};

enum node_status {
    NODE_NEVER_RAN,
    NODE_CLEAN,
    NODE_INVALID, /* something that it read has changed */
};

/* For the registration. A zero field means none or the default; all is
 * borrowed for the call. */
struct node_spec {
    enum node_kind kind;
    node_fn *run;
    void *ctx;
    void (*release)(void *ctx); /* called when the node is freed; or NULL */
    struct value name;          /* string, for people; or absent */
    const void *group;          /* commits of this group do not wake it */
    struct node *parent; /* NULL: the running node. A child that names its
                            parent gets no provisional demand (node-registry-2
                            of sched/node_registry.h) */
    bool parentless;     /* no parent, even if registered in a run */

    struct place *const *outputs; /* what it writes; computations only */
    size_t output_count;
    struct place *const *envelopes; /* where else it may write: having one makes
                                       it a materializer */
    size_t envelope_count;
    struct place *const *reads; /* what it will read, to order the first run */
    size_t read_count;

    struct value clearance; /* of an effect, for labels (sched/labels.h): an
                               array of labels, true for all, absent for none */

    mono_ms debounce;     /* sched/gates.h */
    mono_ms debounce_max; /* likewise: the longest wait */
    mono_ms throttle;
    bool no_auto_debounce;
    bool coordinates; /* it registers other nodes, and its function can be
                         evaluated without them (sched/evaluation.h) */
    bool unshared;    /* it acts on this process: no run of another runtime
                         replaces one of this node (sched/persistence.h,
                         persistence-8) */
    bool immediate; /* an effect that answers a question: debounce and throttle
                       do not delay what it reads (sched/gates.h, gates-4) */

    /* Its identity in the store, so that its runs survive the process
     * (sched/persistence.h); or NULL. */
    const struct node_identity *identity;
};

/* -- Links to places ----------------------------------------------------- */

/* The reads of a node are links of replica/transaction.h. They are in the
 * readers of their places while the node is attached (sched/graph.h). */

/* One output or envelope. In the writers of its place while the node is
 * registered. */
struct write_link {
    struct chain_link in_place;
    struct node *node;
    struct place *place; /* a reference */
};

_Static_assert(offsetof(struct write_link, in_place) == 0,
               "a link of a place is the write link");

/* -- Time gates ---------------------------------------------------------- */

/* Only for nodes that ever had one; see sched/gates.h. */
struct gate {
    mono_ms debounce;        /* the window; 0: none */
    mono_ms debounce_max;    /* the maximum wait; 0: the default */
    mono_ms throttle;        /* likewise */
    mono_ms debounce_ready;  /* the end of the window; 0: not armed */
    mono_ms debounce_latest; /* and the latest time that it can move to */
    mono_ms throttle_ready;
    mono_ms backoff_until;
    mono_ms peer_until;  /* a peer may run it, or what it reads from:
                            persistence; 0: no wait */
    uint32_t heap_index; /* 1 + index among the gated; 0: none: queue */
    uint32_t backoff_streak;
    uint32_t hold_passes; /* backoffs in this idle episode */
    bool no_auto_debounce;
    bool immediate; /* gates-4 */
    bool rearm;     /* invalidated since the clock was last read */
    bool peer;      /* peer_until is its own, not inherited: persistence */
};

/* -- Rare options -------------------------------------------------------- */

/* Options of the registration, if there were any. */
struct node_label {
    struct value name;
    const void *group;
    void (*release)(void *ctx);
    struct persisted *persisted; /* persistence; or NULL */
    struct value clearance;      /* labels; or absent */
};

/* -- The record ---------------------------------------------------------- */

/* What a run touches comes first. There are many nodes: mind the size. */
struct node {
    /* Its function: registry. */
    node_fn *run;
    void *ctx;

    /* What it reads and writes: graph. */
    VEC_SMALL(struct read_link) reads;
    struct write_link *writes; /* outputs, then envelopes */
    uint32_t write_count;

    /* The order: order. */
    uint32_t height;

    /* Why it has to run: invalidation and runner. */
    VEC_SMALL(struct cause) causes;

    /* Its state: invalidation and runner, unless another file is named. */
    union {
        struct {
            enum node_status status : 8;
            bool registered; /* registry */
            bool running;
            bool counted;  /* liveness: its reads are included in the live_refs
                              of its writers */
            bool attached; /* graph: the reads are in their places */
            bool again;    /* queued again because of a refusal, live or not */
            bool delayed;  /* has a gate, is a materializer, unloaded or behind
                              another node: it may have to wait */
            uint8_t place_in_queue; /* enum queue_place; queue and settle */
        };
        uint64_t state; /* all of the above, compared at once (node_at_rest) */
    };
    bool asked;        /* invalid without a cause: a caller wants it to run */
    uint8_t pass_runs; /* its runs in `pass`: settle */
    enum node_kind kind : 6; /* registry */
    bool coordinator : 1;    /* likewise: node_spec.coordinates */
    bool has_envelopes : 1;  /* graph: among its writes */
    bool materializer : 1;   /* likewise */
    bool unshared : 1;       /* likewise */
    bool violation : 1;      /* reported: validator */
    bool reads_changed : 1;  /* since persistence saw them: graph */
    bool waiting : 1;        /* for a document: runner and fetching */
    bool awaits_all : 1;     /* for all requested documents: runner */
    bool unloaded : 1;       /* its documents may not be here: fetching */
    bool behind : 1;   /* reads from a node that waits for some: likewise */
    uint32_t pass;     /* the last in which it ran, the low 32 bits:
                          likewise */
    uint64_t verified; /* sched->stale_epoch when the node and everything that
                          it needs were last up to date */
    struct gate *gate; /* gates; or NULL */
    struct node_label *label; /* registry; or NULL */

    union {
        struct {
            uint32_t provisional; /* the mark of the pass that granted demand,
                                     or 0: liveness */

            /* Retries: runner. */
            uint16_t attempts;  /* failed commits in a row, other than
                                   conflicts */
            uint16_t conflicts; /* conflicts in a row, saturating */
        };
        uint64_t exceptions; /* all of it, nearly always 0 */
    };
    uint32_t born_in; /* the mark of the run that created it; 0: none;
                         registry */
    uint32_t demands; /* from outside: pulls, events; liveness */

    struct read_link only_read; /* inline storage while it has read one place
                                   since its first run: graph */
    struct cause only_cause;    /* inline storage while it never had more than
                                   one cause at a time: invalidation */

    /* Statistics: runner. */
    uint64_t runs;
    mono_ms ended_at;
    uint32_t busy_ms; /* total; UINT32_MAX: that or more */
    uint32_t last_ms; /* the last run */

    /* Where it comes from: registry. */
    struct node *parent; /* the node that created it, or NULL */
    uint32_t ordinal;    /* order of registration */

    /* Demand: liveness. */
    uint32_t live_refs; /* links of live readers to its outputs */

    /* The queue: queue and settle. */
    struct bucket_item item; /* its links also among idle materializers */

    /* The order: order. */
    struct component *component; /* the cycle that it is part of, or NULL */
    uint64_t visit;              /* stamp of the last walk */

    struct chain inflight; /* struct inflight_commit: commits without a verdict;
                              runner */

    /* Its children, and its siblings: registry. */
    struct chain children;
    struct chain_link sibling;
    struct list_node all; /* in the registry */
    struct chain_link
        asleep; /* in the sleepers, if it is not attached: graph */
};

/* The low half of the number of a pass or a run, enough to distinguish recent
 * ones; never 0. */
static inline uint32_t node_mark(uint64_t number)
{
    return (uint32_t)(number << 1) | 1;
}

/* A string, for people; or absent. */
static inline struct value node_name(const struct node *node)
{
    return node->label != NULL ? node->label->name : VALUE_NONE;
}

/* Commits of this group do not wake it; or NULL. */
static inline const void *node_group(const struct node *node)
{
    return UNLIKELY(node->label != NULL) ? node->label->group : NULL;
}

/* What is kept for a restart; or NULL. */
static inline struct persisted *node_persisted(const struct node *node)
{
    return UNLIKELY(node->label != NULL) ? node->label->persisted : NULL;
}

_Static_assert(offsetof(struct node, place_in_queue) ==
                   offsetof(struct node, state) + 7,
               "the state is eight bytes");

/* Whether it has used up its runs of a pass. */
static inline bool node_is_exhausted(const struct node *node,
                                     uint64_t pass,
                                     uint8_t most)
{
    return node->pass == (uint32_t)pass && node->pass_runs >= most;
}

/* Counts a run in this pass. */
static inline void node_count_run(struct node *node, uint64_t pass)
{
    if (node->pass != (uint32_t)pass) {
        node->pass = (uint32_t)pass;
        node->pass_runs = 0;
    }
    node->pass_runs++;
}

static inline void node_add_busy(struct node *node, uint64_t more)
{
    const uint64_t all = node->busy_ms + more;
    node->busy_ms = LIKELY(all < UINT32_MAX) ? (uint32_t)all : UINT32_MAX;
}

static inline void node_set_status(struct node *node, enum node_status status)
{
    node->status = status;
}

/* The state of nearly every idle node: live, attached, in no queue, and clean
 * or just taken out of one. */
static ALWAYS_INLINE uint64_t node_at_rest(enum node_status status)
{
    const struct node node = {
        .status = status,
        .registered = true,
        .counted = true,
        .attached = true,
    };
    return node.state;
}

/* Sets its queue as a part of the whole word: reading the word soon after
 * writing one byte of it would stall. */
static inline void node_set_place(struct node *node, uint8_t place)
{
    const unsigned shift = 56; /* the last byte */
    node->state = (node->state & ~((uint64_t)UINT8_MAX << shift)) |
                  (uint64_t)place << shift;
}

/* Whether it is at rest, except that it is invalid and in a queue. */
static inline bool node_waits(const struct node *node)
{
    const unsigned unused = 8; /* bits of the last byte, which is shifted out */
    return node->state << unused == node_at_rest(NODE_INVALID) << unused;
}

/* The state of a node while it runs: clean (runner-1 of sched/runner.h). */
static ALWAYS_INLINE uint64_t node_at_work(void)
{
    const struct node node = {
        .status = NODE_CLEAN,
        .registered = true,
        .running = true,
        .counted = true,
        .attached = true,
    };
    return node.state;
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

/* Whether it has to run before its outputs are current. */
static inline bool node_is_stale(const struct node *node)
{
    return node->status != NODE_CLEAN;
}

#endif
