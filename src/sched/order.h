/* The order of nodes: heights.
 *
 *   H1  A node is higher than each node that it reads from, unless the two are
 *       in one cycle.
 *   H2  The members of a cycle share a component (a strongly connected part of
 *       the graph, with all of its members). They have different heights: the
 *       creating parent before its child, then by registration; along the
 *       edges where that leaves a choice.
 *   H3  A node outside of a cycle that reads from a member is higher than all
 *       members.
 *
 * So whoever runs nodes by height runs writers before readers, and a cycle
 * before what depends on it. Heights change when edges appear, never because
 * of data; a height that is higher than it needs to be does no harm. */

#ifndef SCHED_ORDER_H
#define SCHED_ORDER_H

#include "sched/core.h"

struct component {
    VEC(struct node *) members;
    uint32_t top; /* the greatest height */
    bool loose;   /* its members are to be arranged anew */
};

/* After a read link was attached, or outputs were added that it overlaps: for
 * each of the new edges first the one, then for each the other. A height must
 * not be carried along an edge of which nobody knows yet that it closes a
 * cycle: it would go round for ever. */
void order_join(struct sched *sched, struct node *writer, struct node *reader);
void order_raise(struct sched *sched, struct node *writer, struct node *reader);

/* After an edge between two members was taken away: the component falls into
 * what is still strongly connected, perhaps into single nodes. It is gone
 * afterwards. */
void order_split(struct sched *sched, struct component *component);

/* The height that a reader of this node must exceed. */
uint32_t order_top(const struct node *writer);

/* H1 to H3 at one node. */
bool order_check(const struct node *node);

#endif
