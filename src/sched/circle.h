/* Circles: nodes that read each other's outputs, so that each run invalidates
 * the next node. A circle that reaches a fixed point is as good as any other
 * graph; one that does not is reported (sched/settling.h, E4). */

#ifndef SCHED_CIRCLE_H
#define SCHED_CIRCLE_H

#include "base/buf.h"
#include "sched/core.h"

/* `node` reads `place`, which the node of the next step writes. The first step
 * follows the last. */
struct circle_step {
    const struct node *node;
    const struct place *place;
};

struct circle {
    VEC(struct circle_step) steps;
};

/* The shortest circle through a node; without steps if the node is in none.
 * Ends with circle_release. Links must not change meanwhile.
 *
 * A circle of computations is found along their reads and outputs. An effect
 * can write anywhere, so a circle through effects is found along their last
 * runs, each caused by what the previous one wrote. */
void circle_find(struct sched *sched, struct node *node, struct circle *circle);
void circle_release(struct circle *circle);

/* The least ordinal of its nodes: the same whichever node the search began
 * with. */
uint32_t circle_ordinal(const struct circle *circle);

/* Whether one of its places is empty: there is no initial value. */
bool circle_is_empty(const struct circle *circle);

/* Writes the nodes, the documents, and how to break the circle. */
void circle_write(const struct circle *circle, struct buf *to);

#endif
