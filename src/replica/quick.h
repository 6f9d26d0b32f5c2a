/* Quick writes: the way of the most frequent transactions.
 *
 * Nearly every transaction gives documents of a space without a store another
 * payload, or their first one, and writes nothing else. Such writes need no
 * drafts: they are a list of places and values, and applying them is an
 * exchange of payloads.
 *
 *   Q1  All quick writes of a transaction are puts to the payloads of
 *       different documents of one local space, and it has no drafts.
 *   Q2  Whatever goes beyond this (another kind of write, a read of what was
 *       written, a condition) first turns them into drafts, and then finds
 *       what it would have found without them.
 *   Q3  `written` of an entity is the latest epoch of the transactions that
 *       wrote to it quickly, or what 32 bits hold of it: an earlier one says
 *       that this transaction has not, any other that the list has to be
 *       asked. */

#ifndef REPLICA_QUICK_H
#define REPLICA_QUICK_H

#include "replica/space.h"
#include "replica/transaction.h"
#include "value/compare.h"

/* Whether the payload of an entity can be exchanged, or be its first: nothing
 * is beside it that could make more of it. */
static inline bool quick_can_exchange(const struct entity *entity)
{
    return !value_is_absent(entity->visible.payload) ||
           !entity_state_exists(&entity->visible);
}

/* Q2. */
void quick_expand(struct transaction *transaction);

static inline bool quick_is_earlier(const struct entity *entity,
                                    const struct transaction *transaction)
{
    return (int32_t)(entity->written - (uint32_t)transaction->epoch) < 0;
}

/* The rest of quick_has. */
COLD bool quick_has_among(const struct transaction *transaction,
                          const struct entity *entity);

/* Whether the transaction has written to this entity so far, quickly (Q3). */
static inline bool quick_has(const struct transaction *transaction,
                             const struct entity *entity)
{
    return UNLIKELY(!quick_is_earlier(entity, transaction)) &&
           quick_has_among(transaction, entity);
}

/* Whether a put to the place can be quick (Q1), if nothing else was written. */
static inline bool quick_takes_first(const struct place *place)
{
    const struct entity *entity = place->entity;
    return place == entity->payload && quick_can_exchange(entity) &&
           entity->space->session == NULL;
}

/* The same after others that were, and to a document that nobody else has
 * written to so quickly. */
static inline bool quick_takes_next(const struct transaction *transaction,
                                    const struct place *place)
{
    const struct entity *entity = place->entity;
    return transaction->quick.count > 0 && place == entity->payload &&
           quick_can_exchange(entity) &&
           quick_is_earlier(entity, transaction) &&
           transaction->quick.at[0].place->entity->space == entity->space;
}

/* Whether a put to the place can be a quick one. */
static inline bool quick_takes(const struct transaction *transaction,
                               const struct place *place)
{
    const struct entity *entity = place->entity;
    if (place != entity->payload || transaction->drafts_used > 0 ||
        transaction->scratch != NULL || transaction->under != NULL ||
        !quick_can_exchange(entity) || quick_has(transaction, entity)) {
        return false;
    }
    return transaction->quick.count == 0
               ? entity->space->session == NULL
               : transaction->quick.at[0].place->entity->space == entity->space;
}

/* Notes a put that can be one, and for which there is room. Adopts `value`. */
static inline void quick_put_adopt(struct transaction *transaction,
                                   struct place *place,
                                   struct value value)
{
    struct entity *entity = place->entity;
    if (LIKELY(quick_is_earlier(entity, transaction)) ||
        transaction->replica->open == 1) {
        entity->written = (uint32_t)transaction->epoch;
    }
    transaction->unwritten = false;
    struct write_entry *write =
        &transaction->quick.at[transaction->quick.count];
    transaction->quick.count++;
    write->place = place_ref(place);
    write->step = NULL;
    value_store(&write->value, value);
    write->kind = WRITE_PUT;
    write->changed = false;
}

/* -- The straight way ---------------------------------------------------- */

/* The part of the following that the writes and the listeners decide. */
static inline bool quick_is_simple(const struct transaction *transaction,
                                   const struct subscriber *listener)
{
    const struct replica *replica = transaction->replica;
    const struct list_node *head = &replica->subscribers.head;
    if (transaction->quick.count != 1 || replica->telling ||
        head->next != &listener->node || head->prev != &listener->node) {
        return false;
    }
    const struct place *payload = transaction->quick.at[0].place;
    const struct entity *entity = payload->entity;
    return ((uintptr_t)entity->root | payload->child_count |
            (uintptr_t)payload->readers[READ_SHAPE].first) == 0 &&
           !value_is_absent(entity->visible.payload);
}

/* Whether a commit can be made without being told of: it is one quick write to
 * a document that holds a value already, of which nobody has read more or less
 * than that value; nothing has changed since the transaction began; nobody
 * waits for an answer; and nobody listens but `listener`, who asks. */
static inline bool quick_is_straight(const struct transaction *transaction,
                                     const struct subscriber *listener)
{
    return !transaction->has_more &&
           transaction->began == transaction->replica->version &&
           transaction->watch.settled == NULL &&
           transaction->watch.verdict == NULL &&
           quick_is_simple(transaction, listener);
}

/* Applies its write, which changes something. */
static inline void quick_exchange(struct transaction *transaction)
{
    struct replica *replica = transaction->replica;
    const struct write_entry *write = transaction->quick.at;
    struct entity *entity = write->place->entity;
    const struct value before = value_load(&entity->visible.payload);
    value_store(&entity->visible.payload, value_ref(value_load(&write->value)));
    entity->version = ++replica->version;
    entity->seq = ++entity->space->seq;
    replica->counters.commits++;
    replica->counters.notifications++;
    value_unref(before);
}

/* Commits it, and tells nobody: the listener knows. False if it changes
 * nothing. */
static inline bool quick_commit_straight(struct transaction *transaction)
{
    struct write_entry *write = transaction->quick.at;
    write->changed =
        !value_equal(value_load(&write->place->entity->visible.payload),
                     value_load(&write->value));
    if (write->changed) {
        quick_exchange(transaction);
    }
    transaction_close(transaction, TRANSACTION_COMMITTED);
    return write->changed;
}

/* -- Any number ---------------------------------------------------------- */

/* Marks the writes that change something, and tells how many do. False, and
 * they were turned into drafts, if they cannot be applied quickly any more. */
bool quick_finish(struct transaction *transaction, size_t *effective);

/* Applies those that do, of which there is one, and tells. */
void quick_apply(struct transaction *transaction);

/* The same for a transaction with one write that changes something. It can be
 * applied: nothing has changed since it was taken. */
void quick_apply_one(struct transaction *transaction);

#endif
