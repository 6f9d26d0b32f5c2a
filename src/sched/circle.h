/* Circles: nodes that read what others of them write, so that each run of one
 * makes another one run. One that reaches a fixed point is as good as any other
 * graph; of one that does not, people are told (sched/settling.h, E4). */

#ifndef SCHED_CIRCLE_H
#define SCHED_CIRCLE_H

#include "base/buf.h"
#include "sched/core.h"

/* The node reads the place, which the node of the next step writes; the first
 * step comes after the last. */
struct circle_step {
    const struct node *node;
    const struct place *place;
};

struct circle {
    VEC(struct circle_step) steps;
};

/* The shortest circle through a node, or one without steps: it is in none. Ends
 * with circle_release. Nothing may be linked or unlinked meanwhile.
 *
 * A circle of computations is found along what they read and write. An effect
 * can write anywhere: a circle through effects is found along their last runs,
 * each of which was caused by what the one before has written. */
void circle_find(struct sched *sched, struct node *node, struct circle *circle);
void circle_release(struct circle *circle);

/* The least ordinal of its nodes: the same whichever node it was found from. */
uint32_t circle_ordinal(const struct circle *circle);

/* Whether nothing is at one of its places: there is no value to begin with. */
bool circle_is_empty(const struct circle *circle);

/* Which nodes, which documents, and how to break it. */
void circle_write(const struct circle *circle, struct buf *to);

#endif
