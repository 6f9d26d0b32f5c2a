/* Observations on their way to the store (proto/observation.h).
 *
 * A run that writes sends its observation with its commit; one that does not
 * sends it in a batch of such, in the order of the commits. Nothing here is on
 * the way of a transaction without one.
 *
 *   transaction_observe(transaction, space, observation);
 *   err = transaction_commit(transaction, &detail);
 *   struct observation *left = transaction_take_observation(transaction);
 *   if (left != NULL && err == ERR_OK) {
 *       space_observe(space, transaction, left);   the run changed nothing
 *   } else {
 *       observation_unref(left);                   it failed, or has gone
 *   }
 *
 * What comes back is told to the space's observer (replica/space.h). */

#ifndef REPLICA_OBSERVE_H
#define REPLICA_OBSERVE_H

#include "replica/space.h"

/* A new one, or one that has done its service: after a while, observations of
 * the same shape are made without an allocation. And one that is not needed
 * any more, back; NULL is harmless. */
struct observation *observe_take(struct replica *replica);
void observe_put(struct replica *replica, struct observation *observation);

/* What the run behind the transaction has seen, for the store of `space`, the
 * owner of the action. Adopts the reference, which must be the only one. It
 * goes with the transaction's commit to that space; a space without a store
 * takes none. Once a transaction, while it is open. */
void transaction_observe(struct transaction *transaction,
                         struct space *space,
                         struct observation *observation);

/* After the end: the observation, if it did not go with a commit; or NULL. */
struct observation *transaction_take_observation(
    struct transaction *transaction);

/* For the observation of a run without effect: adopts the reference, which must
 * be the only one, fills in its basis from what the transaction has read and
 * from what it wrote without effect (which may be there because of an own
 * commit that has not landed), and queues it. The transaction has ended and is
 * not released yet. Without a store it is forgotten. */
void space_observe(struct space *space,
                   const struct transaction *transaction,
                   struct observation *observation);

/* -- For the space ------------------------------------------------------- */

/* The transaction's observation goes with this commit, if it is for it. */
void observe_attach(struct pending *pending, struct transaction *transaction);

/* The commit is over: what it carried can be used again. */
void observe_end(struct pending *pending);

/* The observer is told of what a sync brought, or a verdict dropped. */
void observe_told(struct space *space, const struct message *message);
void observe_dropped(const struct pending *pending);

#endif
