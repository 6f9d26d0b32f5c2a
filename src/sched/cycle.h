/* Cycles: nodes that read each other's outputs, so that each run invalidates
 * the next node. A cycle that reaches a fixed point is as good as any other
 * graph; one that does not is reported (sched/convergence.h, convergence-4). */

#ifndef SCHED_CYCLE_H
#define SCHED_CYCLE_H

#include "base/buf.h"
#include "sched/core.h"

/* `node` reads `place`, which the node of the next step writes. The first step
 * follows the last. */
struct cycle_step {
    const struct node *node;
    const struct place *place;
};

struct cycle {
    VEC(struct cycle_step) steps;
};

/* The shortest cycle through a node; without steps if the node is in none.
 * Ends with cycle_release. Links must not change meanwhile.
 *
 * A cycle of computations is found along their reads and outputs. An effect
 * can write anywhere, so a cycle through effects is found along their last
 * runs, each caused by what the previous one wrote. */
void cycle_find(struct sched *sched, struct node *node, struct cycle *cycle);
void cycle_release(struct cycle *cycle);

/* The least ordinal of its nodes: the same whichever node the search began
 * with. */
uint32_t cycle_ordinal(const struct cycle *cycle);

/* Whether one of its places is empty: there is no initial value. */
bool cycle_is_empty(const struct cycle *cycle);

/* Writes the nodes, the documents, and how to break the cycle. */
void cycle_write(const struct cycle *cycle, struct buf *to);

#endif
