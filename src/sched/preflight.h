/* The consistency gate: whether what a handler will read is up to date.
 *
 *   preflight-1  The closure of an event is what its handler declares, and for
 *                a pure handler also what it read the last time.
 *   preflight-2  The gate is open if every document of the closure is here, and
 *                no node that is stale or that waits for a document leads to
 *                anything in the closure.
 *   preflight-3  The search goes from both ends, in alternating steps: from
 *                stale nodes along their readers, and from the writers of the
 *                closure along their reads. It costs as much as the smaller
 *                side, and nothing if nothing is stale.
 *   preflight-4  Work opens a closed gate: demand is lent to the writers of the
 *                closure until the end of the pass. Or it opens at a time, or
 *                when a document arrives; the result says which. */

#ifndef SCHED_PREFLIGHT_H
#define SCHED_PREFLIGHT_H

#include "sched/events.h"

enum gate_state {
    GATE_OPEN,
    GATE_WORK, /* something can run now */
    GATE_TIME, /* until `until` */
    GATE_LOAD, /* until a document arrives */
    GATE_LOST, /* never: the session has ended */
};

struct gate_look {
    enum gate_state state;
    mono_ms until;
    bool backoff;        /* time: because of a node that does not converge */
    struct node *waits;  /* the node that it waits for; or NULL */
    struct place *loads; /* or the document */
    uint64_t visits;
};

/* Looks at the gate in front of `closure`. `self` is the handler's own node,
 * which counts neither as a reader nor as a writer. */
struct gate_look preflight_look(struct sched *sched,
                                struct node *self,
                                const struct closure *closure);

/* A stale node that leads to what a node has read, or NULL: when it has run,
 * the node may be invalid. For introspection: visits everything upstream. */
struct node *preflight_stale_source(struct sched *sched,
                                    const struct node *node);

/* Lends demand to the writers of the closure, and promotes materializers that
 * write into it; each node is pushed to `lent`. */
struct lent_nodes {
    VEC(struct node *) at;
};
void preflight_lend(struct sched *sched,
                    struct node *self,
                    const struct closure *closure,
                    struct lent_nodes *lent);
void preflight_return(struct sched *sched, struct lent_nodes *lent);

#endif
