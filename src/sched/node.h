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
struct node_identity;
struct persisted;
struct run;
struct sched;

/* -- What a node does ---------------------------------------------------- */

enum run_result {
    RUN_DONE,
    RUN_FAILED,  /* nothing of it stays; run_fail has said why */
    RUN_AGAIN,   /* could not be done now, as run_read said: run again */
    RUN_WAITING, /* it has read what has not come yet (run_is_waiting): nothing
                    of it stays, and it runs again when that has come */
};

typedef enum run_result node_fn(struct run *run, void *ctx);

enum node_kind {
    NODE_COMPUTATION,
    NODE_EFFECT,
    NODE_HANDLER, /* never registered: the face of a handler to its runs */
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
    struct node *parent; /* who it comes from; NULL: whoever runs. A child that
                            names its parent is lent no demand (Y2 of
                            sched/registry.h) */
    bool parentless;     /* it has none, also if it is registered in a run */

    struct place *const *outputs; /* what it writes; a computation's only */
    size_t output_count;
    struct place *const *envelopes; /* where else it may write: with one, it
                                       is a materializer */
    size_t envelope_count;
    struct place *const *reads; /* what it will read, for the order of the
                                   first run */
    size_t read_count;

    struct value clearance; /* of an effect, for labels (sched/labels.h): an
                               array of them, true for all, absent for none */

    mono_ms debounce;     /* sched/gates.h */
    mono_ms debounce_max; /* likewise: the longest wait */
    mono_ms throttle;
    bool no_auto_debounce;
    bool coordinates; /* it registers others, and its function can be evaluated
                         without them (sched/evaluation.h) */
    bool unshared;  /* it does something here: no run of another runtime stands
                       for one of this node (sched/persistence.h, P8) */
    bool immediate; /* an effect that answers a question: what it reads does not
                       wait for a debounce or a throttle (sched/gates.h, T4) */

    /* Who it is for the store, so that its runs outlive the process
     * (sched/persistence.h); or NULL. */
    const struct node_identity *identity;
};

/* -- Links to places ----------------------------------------------------- */

/* The reads of a node are links of replica/transaction.h. They are in their
 * places' readers while the node is attached (sched/graph.h). */

/* One output or envelope. In the place's writers as long as the node is
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
    mono_ms debounce_max;    /* the longest wait; 0: the default */
    mono_ms throttle;        /* likewise */
    mono_ms debounce_ready;  /* the end of the window; 0: not armed */
    mono_ms debounce_latest; /* and the last moment to which it can move */
    mono_ms throttle_ready;
    mono_ms backoff_until;
    mono_ms peer_until;  /* somebody else may run it, or what it reads from:
                            persistence; 0: nobody */
    uint32_t heap_index; /* 1 and the place among the gated; 0: none: queue */
    uint32_t backoff_streak;
    uint32_t hold_passes; /* backoffs in this idle episode */
    bool no_auto_debounce;
    bool immediate; /* T4 */
    bool rearm;     /* invalidated since the last look at the clock */
    bool peer;      /* peer_until is its own: persistence */
};

/* -- What few nodes have ------------------------------------------------- */

/* What was said of it at the registration, if anything was. */
struct node_label {
    struct value name;
    const void *group;
    void (*release)(void *ctx);
    struct persisted *persisted; /* persistence; or NULL */
    struct value clearance;      /* labels; or absent */
};

/* -- The record ---------------------------------------------------------- */

/* What a run touches comes first, and there are many nodes: mind the size. */
struct node {
    /* What it does: registry. */
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

    /* Its state: invalidation and runner; but for those of which another is
     * named. */
    union {
        struct {
            enum node_status status : 8;
            bool registered; /* registry */
            bool running;
            bool counted;  /* liveness: its own reads are among the live_refs
                              of its writers */
            bool attached; /* graph: the reads are in their places */
            bool again;    /* queued again because of a rejection, whoever is
                              live */
            bool delayed;  /* has a gate, is a materializer, hollow or behind
                              somebody: it may have to wait for something */
            uint8_t place_in_queue; /* enum queue_place; queue and settle */
        };
        uint64_t state; /* all of it, to be compared at once (node_at_rest) */
    };
    bool asked;        /* invalid without a cause: somebody wants it to run */
    uint8_t pass_runs; /* how often it ran in `pass`: settle */
    enum node_kind kind : 6;  /* registry */
    bool coordinator : 1;     /* likewise: struct node_spec */
    bool has_envelopes : 1;   /* graph: among its writes */
    bool materializer : 1;    /* likewise */
    bool unshared : 1;        /* likewise */
    bool violation : 1;       /* was reported: validator */
    bool reads_changed : 1;   /* since persistence looked at them: graph */
    bool waiting : 1;         /* for a document: runner and fetching */
    bool awaits_all : 1;      /* for all that were asked for: runner */
    bool hollow : 1;          /* its documents may not be here: fetching */
    bool behind : 1;          /* reads from who waits for some: likewise */
    uint32_t pass;            /* the last in which it ran, or what 32 bits
                                 hold of its number: likewise */
    uint64_t verified;        /* what sched->staled was when it was up to
                                 date, with everything that it needs */
    struct gate *gate;        /* gates; or NULL */
    struct node_label *label; /* registry; or NULL */

    union {
        struct {
            uint32_t provisional; /* the mark of the pass that granted demand,
                                     or 0: liveness */

            /* Retries: runner. */
            uint16_t attempts;  /* failed commits in a row, other than
                                   conflicts */
            uint16_t conflicts; /* likewise, conflicts, as far as this counts */
        };
        uint64_t exceptions; /* all of it, nearly always 0 */
    };
    uint32_t born_in; /* the mark of the run that created it; 0: none;
                         registry */
    uint32_t demands; /* from outside: pulls, events; liveness */

    struct read_link only_read; /* the room of one that has read one place since
                                   its first run: graph */
    struct cause only_cause;    /* the room of one that had one cause at a time
                                   so far: invalidation */

    /* Statistics: runner. */
    uint64_t runs;
    mono_ms ended_at;
    uint32_t busy_ms; /* all of them; UINT32_MAX: as long, or longer */
    uint32_t last_ms; /* the last run */

    /* Where it comes from: registry. */
    struct node *parent; /* who created it, or NULL */
    uint32_t ordinal;    /* order of registration */

    /* Demand: liveness. */
    uint32_t live_refs; /* links of live readers to its outputs */

    /* The queue: queue and settle. */
    struct bucket_item item; /* its links also among idle materializers */

    /* The order: order. */
    struct component *component; /* the cycle that it is part of, or NULL */
    uint64_t visit;              /* stamp of the last walk */

    struct chain flights; /* struct flight: commits without a verdict; runner */

    /* Who comes from it, and with it: registry. */
    struct chain children;
    struct chain_link sibling;
    struct list_node all; /* in the registry */
    struct chain_link
        asleep; /* in the sleepers, if it is not attached: graph */
};

/* A pass or a run by half of its number, which is enough to tell it from those
 * before and after it; never 0. */
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

/* Whether it ran in a pass as often as it may. */
static inline bool node_is_exhausted(const struct node *node,
                                     uint64_t pass,
                                     uint8_t most)
{
    return node->pass == (uint32_t)pass && node->pass_runs >= most;
}

/* It runs once more in this one. */
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

/* The state of nearly every node that nothing is happening to: live, attached,
 * in no queue, and clean or just taken out of one. */
static WITHIN uint64_t node_at_rest(enum node_status status)
{
    const struct node node = {
        .status = status,
        .registered = true,
        .counted = true,
        .attached = true,
    };
    return node.state;
}

/* Writes its place in the queues, as a part of the whole word: who looks at the
 * word soon after a byte of it was written has to wait for that. */
static inline void node_set_place(struct node *node, uint8_t place)
{
    const unsigned shift = 56; /* the last byte */
    node->state = (node->state & ~((uint64_t)UINT8_MAX << shift)) |
                  (uint64_t)place << shift;
}

/* Whether the same holds but for the queue that it is in, and it is invalid. */
static inline bool node_waits(const struct node *node)
{
    const unsigned unused = 8; /* bits of the last byte, which is shifted out */
    return node->state << unused == node_at_rest(NODE_INVALID) << unused;
}

/* The same while it runs: clean (R1 of sched/runner.h). */
static WITHIN uint64_t node_at_work(void)
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

/* Whether it has to run before its outputs are right. */
static inline bool node_is_stale(const struct node *node)
{
    return node->status != NODE_CLEAN;
}

#endif
