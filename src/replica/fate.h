/* The fate of a commit: accepted, refused, and what follows from it.
 *
 * Everything that happens to a pending commit after it was applied happens
 * here (space.h has the rules S1 to S3). */

#ifndef REPLICA_FATE_H
#define REPLICA_FATE_H

#include "replica/space.h"

/* From the pool, for what `transaction` writes to `space`. */
struct pending *pending_new(struct space *space,
                            const struct transaction *transaction);

/* Back into the pool. It is in no list any more. */
void pending_end(struct pending *pending);

/* A new commit that read from a layer which is dead already is dead, too. */
void fate_inherit(struct pending *pending);

/* The store has decided. Takes the verdict's content over. */
void fate_take_verdict(struct space *space,
                       uint64_t local_seq,
                       struct verdict *verdict);

/* Parked commits up to the marker become confirmed. Their entities join the
 * change list of the replica; they are told of, with what else is in the
 * list, by the caller, who then calls fate_settle_promoted. */
void fate_promote_until(struct space *space, uint64_t marker);
void fate_settle_promoted(struct space *space);

/* What the store has told of the entity holds parked commits already: their
 * layers on top of it would hide what others did after them, and who reads
 * through them would say that he has seen it. */
void fate_absorb(struct entity *entity);

/* Refused commits up to the marker are dropped, with all that read from
 * them. UINT64_MAX: there will be no marker, and all of them are. */
void fate_drop_until(struct space *space, uint64_t marker);

/* Likewise those that have waited for a marker until `now`. */
void fate_drop_overdue(struct space *space, mono_ms now);

/* Everything that has landed becomes confirmed, in order (one after the other
 * from the top would show states that never were), though there will be no
 * marker for it. */
void fate_confirm_landed(struct space *space);

/* Everything outstanding settles: what has landed as that, the rest with `err`,
 * newest first, each with a revert. */
void fate_fail_all(struct space *space, enum err err, const char *why);

#endif
