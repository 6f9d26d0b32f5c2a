/* The registry: registration and removal of nodes.
 *
 *   node-registry-1  Registering runs nothing and reads nothing: it costs one
 *                    insertion per declared read and per output. A node that is
 *                    an effect, or whose output a live node reads, is queued.
 *   node-registry-2  A node that is registered inside a run is a child of the
 *                    running node. A computation then has provisional demand if
 *                    its parent is live, or runs inside the read of a live
 *                    node. A node that names its parent is a child of that
 *                    parent, wherever it is registered, and runs on demand. A
 *                    node that is registered as parentless is no child.
 *   node-registry-3  A node that is removed while it runs is freed when the run
 *                    ends, and its run does not count. */

#ifndef SCHED_NODE_REGISTRY_H
#define SCHED_NODE_REGISTRY_H

#include "sched/core.h"

struct node *node_registry_add(struct sched *sched,
                               const struct node_spec *spec);
void node_registry_remove(struct sched *sched, struct node *node);

/* The node with that ordinal, or NULL: it was removed, or belongs to a handler.
 * Walks all nodes: for introspection. */
struct node *node_registry_node(const struct sched *sched, uint32_t ordinal);

/* Turns a computation into an effect. */
void node_registry_promote(struct sched *sched, struct node *node);

/* The last step of a removal, after its run. */
void node_registry_free(struct sched *sched, struct node *node);

#endif
