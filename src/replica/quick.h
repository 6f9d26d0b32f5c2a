/* Quick writes: the way of the most frequent transaction.
 *
 * Nearly every run gives one or a few documents of a space without a store
 * another payload, and writes nothing else. Such writes need no drafts: they
 * are a short list of places and values, and applying them is an exchange of
 * payloads.
 *
 *   Q1  All quick writes of a transaction are puts to the payloads of
 *       different documents of one local space, and it has no drafts.
 *   Q2  Whatever goes beyond this (another kind of write, a read of what was
 *       written, a condition) first turns them into drafts, and then finds
 *       what it would have found without them. */

#ifndef REPLICA_QUICK_H
#define REPLICA_QUICK_H

#include "replica/transaction.h"

enum {
    QUICK_MAX = 8
};

/* Notes a put if it can be a quick one; adopts `value` then. */
bool quick_put_adopt(struct transaction *transaction,
                     struct place *place,
                     struct value value);

/* Q2. */
void quick_expand(struct transaction *transaction);

/* Whether the transaction has written to this entity so far, quickly. */
static inline bool quick_has(const struct transaction *transaction,
                             const struct entity *entity)
{
    for (size_t i = 0; i < transaction->quick.count; i++) {
        if (transaction->quick.at[i].place->entity == entity) {
            return true;
        }
    }
    return false;
}

/* Marks the writes that change something, and tells how many do. False, and
 * they were turned into drafts, if they cannot be applied quickly any more. */
bool quick_finish(struct transaction *transaction, size_t *effective);

/* Applies them and tells. */
void quick_apply(struct transaction *transaction);

void quick_clear(struct transaction *transaction);

#endif
