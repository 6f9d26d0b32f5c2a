/* The consistency gate: whether what a handler is going to read is up to date.
 *
 *   W1  The closure of an event is what its handler declares, and if it is
 *       pure, what it read the last time.
 *   W2  The gate is open if no node that is stale, and none that has read a
 *       document which has not come yet, leads to what is in the closure, and
 *       every document of the closure has come.
 *   W3  This is found from both ends at once, a step here and a step there:
 *       from the nodes that are stale along their readers, and from the
 *       writers of the closure along what they read. It costs as much as the
 *       smaller of both, and nothing if nothing is stale.
 *   W4  A closed gate opens by work: demand is lent to the writers of the
 *       closure until the end of the pass. Or by time, or by a load: then it
 *       says by which. */

#ifndef SCHED_PREFLIGHT_H
#define SCHED_PREFLIGHT_H

#include "sched/events.h"

enum gate_state {
    GATE_OPEN,
    GATE_WORK, /* there is something that can run now */
    GATE_TIME, /* until `until` */
    GATE_LOAD, /* a document has to come */
    GATE_LOST, /* it will never come: the session has ended */
};

struct gate_look {
    enum gate_state state;
    mono_ms until;
    bool backoff;        /* time: because it does not converge */
    struct node *waits;  /* for which node; or NULL */
    struct place *loads; /* or for which document */
    uint64_t visits;
};

/* Looks at the gate in front of `closure`. `self` is the handler's own node,
 * which is nobody's reader or writer. */
struct gate_look preflight_look(struct sched *sched,
                                struct node *self,
                                const struct closure *closure);

/* A stale node that leads to what a node has read, or NULL: the node is out of
 * date when that one has run, perhaps. For those who ask; it visits everything
 * that leads there. */
struct node *preflight_stale_source(struct sched *sched,
                                    const struct node *node);

/* Lends demand to the writers of the closure, and hurries materializers that
 * stand before it; each lent node is pushed to `lent`. */
struct lent_nodes {
    VEC(struct node *) at;
};
void preflight_lend(struct sched *sched,
                    struct node *self,
                    const struct closure *closure,
                    struct lent_nodes *lent);
void preflight_return(struct sched *sched, struct lent_nodes *lent);

#endif
