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
    RUN_PENDING, /* goes on later: run_finish (sched/runner.h) */
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

    /* Who it is for the store, so that its runs outlive the process
     * (sched/persistence.h); or NULL. */
    const struct node_identity *identity;
};

/* -- Links to places ----------------------------------------------------- */

/* What the last run here has to do with a link. */
enum link_unread {
    LINK_READ,     /* it made it */
    LINK_DECLARED, /* not read yet: for the order only */
    LINK_RESTORED, /* a run made it of which only the store knows: `version` is
                      the seq of the space up to which all is known */
};

/* One read of a node. In the place's readers while the node is attached
 * (sched/graph.h). */
struct read_link {
    struct chain_link in_place;
    struct node *node;
    struct place *place; /* a reference */
    uint64_t version;    /* of the entity when it was read */
    uint32_t mark;       /* of the read delta that looked at it last */
    uint8_t kind;        /* enum read_kind */
    uint8_t unread;      /* enum link_unread */
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
    mono_ms debounce_max;    /* the longest wait; 0: the default */
    mono_ms throttle;        /* likewise */
    mono_ms debounce_ready;  /* the end of the window; 0: not armed */
    mono_ms debounce_latest; /* and the last moment to which it can move */
    mono_ms throttle_ready;
    mono_ms backoff_until;
    mono_ms peer_until; /* somebody else may run it, or what it reads from:
                           persistence; 0: nobody */
    uint32_t backoff_streak;
    uint32_t hold_passes; /* backoffs in this idle episode */
    bool no_auto_debounce;
    bool rearm; /* invalidated since the last look at the clock */
    bool peer;  /* peer_until is its own: persistence */
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
    struct write_link *writes;
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
            bool delayed;  /* has a gate, or is a materializer: it may have to
                              wait for something */
            uint8_t place_in_queue; /* enum queue_place; queue and settle */
        };
        uint64_t state; /* all of it, to be compared at once (node_at_rest) */
    };
    bool asked;        /* invalid without a cause: somebody wants it to run */
    bool materializer; /* registry */
    enum node_kind kind : 8;  /* likewise */
    bool asynchronous : 1;    /* a run of it has gone on later */
    bool violation : 1;       /* was reported: validator */
    bool reads_changed : 1;   /* since persistence looked at them: graph */
    bool waiting : 1;         /* for a document: runner */
    uint32_t pass_runs;       /* how often it ran in `pass`: settle */
    uint64_t pass;            /* the last in which it ran: likewise */
    uint64_t verified;        /* what sched->staled was when it was up to
                                 date, with everything that it needs */
    struct gate *gate;        /* gates; or NULL */
    struct node_label *label; /* registry; or NULL */

    uint32_t provisional; /* the mark of the pass that granted demand, or 0:
                             liveness */
    uint32_t born_in;     /* the mark of the run that created it; 0: none;
                             registry */

    /* Retries: runner. */
    uint16_t attempts;  /* failed commits in a row, other than conflicts */
    uint16_t conflicts; /* likewise, conflicts, as far as this counts */

    uint32_t demands; /* from outside: pulls, events; liveness */

    struct read_link only_read; /* the room of one that has read one place since
                                   its first run: graph */

    /* Statistics: runner. */
    uint64_t runs;
    uint64_t busy_ms; /* all of them */
    mono_ms ended_at;
    uint32_t last_ms; /* the last run */

    /* Where it comes from: registry. */
    uint32_t ordinal;    /* order of registration */
    struct node *parent; /* who created it, or NULL */

    /* The queue: queue and settle. */
    struct bucket_item item; /* its links also among idle materializers */
    uint32_t heap_index;     /* 1 and the place among the gated; 0: none */

    /* Demand: liveness. */
    uint32_t live_refs; /* links of live readers to its outputs */

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
