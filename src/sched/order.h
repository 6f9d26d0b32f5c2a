/* The order of nodes: heights.
 *
 *   order-1  A node is higher than each node that it reads from, unless both
 *            are in one cycle.
 *   order-2  The members of a cycle share a component (a maximal strongly
 *            connected subgraph). They have different heights: the creating
 *            parent before its child, then in order of registration; where that
 *            leaves a choice, along the edges.
 *   order-3  A node outside a cycle that reads from a member is higher than all
 *            members.
 *
 * So running nodes by height runs writers before readers, and a cycle before
 * its dependents. Heights change when edges appear, never because of data; a
 * height that is larger than needed is harmless. */

#ifndef SCHED_ORDER_H
#define SCHED_ORDER_H

#include "sched/core.h"

struct component {
    VEC(struct node *) members;
    uint32_t top; /* the greatest height */
    bool loose;   /* its members have to be ordered again */
};

/* Called after a read link was attached, or outputs that it overlaps were
 * added: first order_join for all new edges, then order_raise for all. A height
 * must not propagate along an edge before it is known whether the edge closes a
 * cycle: it would never stop. */
void order_join(struct sched *sched, struct node *writer, struct node *reader);
void order_raise(struct sched *sched, struct node *writer, struct node *reader);

/* Called after an edge between two members was removed: splits the component
 * into its strongly connected parts, perhaps single nodes, and frees it. */
void order_split(struct sched *sched, struct component *component);

/* The height that a reader of this node must exceed. */
uint32_t order_top(const struct node *writer);

/* Checks order-1 to order-3 for one node. */
bool order_check(const struct node *node);

#endif
