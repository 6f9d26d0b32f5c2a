/* The registry: nodes come and go.
 *
 *   Y1  Registering runs nothing and reads nothing: it costs an insert for
 *       each read that is declared and each output. A node that is an effect,
 *       or whose output somebody live reads, is queued.
 *   Y2  A node that is registered inside a run is a child of the node that
 *       runs; a computation has provisional demand then, if its parent is
 *       live, or runs inside the read of somebody who is. One that names its
 *       parent is a child of that one, wherever it is registered, and runs
 *       when somebody looks. A node that is registered as parentless is no
 *       child of any.
 *   Y3  A node that is removed while it runs goes when the run ends, and its
 *       run does not count. */

#ifndef SCHED_REGISTRY_H
#define SCHED_REGISTRY_H

#include "sched/core.h"

struct node *registry_add(struct sched *sched, const struct node_spec *spec);
void registry_remove(struct sched *sched, struct node *node);

/* The node with that number, or NULL: it was removed, or is a handler's. It
 * looks at all of them: for people. */
struct node *registry_node(const struct sched *sched, uint32_t ordinal);

/* A computation becomes an effect. */
void registry_promote(struct sched *sched, struct node *node);

/* The last step of a removal, after its run. */
void registry_free(struct sched *sched, struct node *node);

#endif
