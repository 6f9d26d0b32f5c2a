/* Verdicts: a commit is accepted or refused, and what follows from it.
 *
 * Everything that happens to a pending commit after it was applied happens here
 * (space.h has the rules space-1 to space-3). */

#ifndef REPLICA_PENDING_H
#define REPLICA_PENDING_H

#include "replica/space.h"

/* From the pool, for the writes of `transaction` to `space`. */
struct pending *pending_new(struct space *space,
                            const struct transaction *transaction);

/* Back to the pool. It is in no list. */
void pending_end(struct pending *pending);

/* A new commit that read from a dead layer is dead, too. */
void pending_inherit(struct pending *pending);

/* The store has decided. Takes over the content of the verdict. */
void pending_take_verdict(struct space *space,
                          uint64_t local_seq,
                          struct verdict *verdict);

/* Parked commits up to the marker become confirmed. Their entities join the
 * change list of the replica; the caller publishes the list, and then calls
 * pending_settle_promoted. */
void pending_promote_until(struct space *space, uint64_t marker);
void pending_settle_promoted(struct space *space);

/* The state that the store sent includes parked commits already. Their layers
 * on top of it would hide later commits of other sessions, and a reader through
 * them would claim to have seen those. */
void pending_absorb(struct entity *entity);

/* Drops refused commits up to the marker, with all that read from them.
 * UINT64_MAX: there will be no marker; drops all of them. */
void pending_drop_until(struct space *space, uint64_t marker);

/* Likewise those that have waited for a marker until `now`. */
void pending_drop_overdue(struct space *space, mono_ms now);

/* Everything that has landed becomes confirmed without a marker, in order: from
 * the top down it would show states that never existed. */
void pending_confirm_landed(struct space *space);

/* Settles everything outstanding: what has landed as landed, the rest with
 * `err`, newest first, each with a revert. */
void pending_fail_all(struct space *space, enum err err, const char *why);

#endif
