/* Observations on their way to the store (proto/observation.h).
 *
 * A run that writes sends its observation with its commit; one that does not
 * sends it in a batch, in the order of the commits. Transactions without an
 * observation never get here.
 *
 *   transaction_observe(transaction, space, observation);
 *   err = transaction_commit(transaction, &detail);
 *   struct observation *left = transaction_take_observation(transaction);
 *   if (left != NULL && err == ERR_OK) {
 *       space_observe(space, transaction, left);   the run changed nothing
 *   } else {
 *       observation_unref(left);                   failed, or sent already
 *   }
 *
 * The space's observer (replica/space.h) is told the answers. */

#ifndef REPLICA_OBSERVE_H
#define REPLICA_OBSERVE_H

#include "replica/space.h"

/* A new or recycled observation: after a while, observations of the same shape
 * need no allocation. And recycles one; NULL is harmless. */
struct observation *observe_take(struct replica *replica);
void observe_put(struct replica *replica, struct observation *observation);

/* The observation of the run behind the transaction, for the store of `space`,
 * the owner of the action. Adopts the reference, which must be the only one. It
 * is sent with the transaction's commit to that space; a space without a store
 * takes none. Once per transaction, while it is open. */
void transaction_observe(struct transaction *transaction,
                         struct space *space,
                         struct observation *observation);

/* After the end: the observation, if it was not sent with a commit; or NULL. */
struct observation *transaction_take_observation(
    struct transaction *transaction);

/* Queues the observation of a run that changed nothing: adopts the reference,
 * which must be the only one, and fills in its basis from the reads of the
 * transaction and from its writes without effect (whose values may come from an
 * own commit that has not landed). The transaction has ended and is not
 * released yet. Without a store it is dropped. */
void space_observe(struct space *space,
                   const struct transaction *transaction,
                   struct observation *observation);

/* -- For the space ------------------------------------------------------- */

/* Attaches the transaction's observation to this commit, if it belongs to
 * it. */
void observe_attach(struct pending *pending, struct transaction *transaction);

/* The commit has ended: recycles what it carried. */
void observe_end(struct pending *pending);

/* Tells the observer what a sync brought, or a verdict dropped. */
void observe_told(struct space *space, const struct message *message);
void observe_dropped(const struct pending *pending);

#endif
