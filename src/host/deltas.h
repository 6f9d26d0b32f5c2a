/* Deltas: patches instead of documents, for sessions that hold the state that
 * they are for. Part of the fan-out (fanout-5 to fanout-7 of host/fanout.h).
 *
 * The patches are those of the commits themselves, so they cost no comparison
 * of documents. What did not come through this hub, or was not a patch, has
 * none: then the document is sent. */

#ifndef HOST_DELTAS_H
#define HOST_DELTAS_H

#include "host/fanout.h"

/* A revision of the document landed: the next step (fanout-6), or the end of
 * the steps, because it cannot be sent as a patch or is not `wanted`. `op` is
 * NULL if it is unknown. */
void deltas_add_step(struct hub_document *document,
                     uint64_t seq,
                     const struct commit_op *op,
                     bool wanted);
void deltas_forget_steps(struct hub_document *document);

/* What the replica has (fanout-7). What was sent is taken to have arrived,
 * because what follows on the connection arrives behind it. */
uint64_t deltas_held(struct hub_watch *watch);

/* Adds the document, which was read, as a delta. False: it must be sent
 * whole. */
bool deltas_add(struct hub_watch *watch, struct message *message);

/* Forgets the patches of this flush; and everything. */
void deltas_forget(struct hub_document *document);
void deltas_release(struct hub_document *document);

#endif
