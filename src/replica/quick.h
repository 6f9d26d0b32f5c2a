/* Quick writes: the fast path of the most frequent transactions.
 *
 * Nearly every transaction only replaces the payloads of documents, or writes
 * their first ones, in a space without a store. Such writes need no drafts:
 * they are a list of places and values, and applying them exchanges payloads.
 *
 *   Q1  All quick writes of a transaction are puts to the payloads of different
 *       documents of one local space, and it has no drafts.
 *   Q2  Anything else (another kind of write, a read of what was written, a
 *       condition) first turns them into drafts, and then finds what it would
 *       have found without them.
 *   Q3  `written` of an entity is the latest epoch of the transactions that
 *       wrote to it quickly, or its low 32 bits. An earlier epoch means that
 *       this transaction has not; for any other, the list is searched. */

#ifndef REPLICA_QUICK_H
#define REPLICA_QUICK_H

#include "replica/space.h"
#include "replica/transaction.h"
#include "value/compare.h"

/* Whether the payload of an entity can be exchanged, or be its first: the
 * document has no other keys that matter. */
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

/* The slow path of quick_has. */
COLD bool quick_has_among(const struct transaction *transaction,
                          const struct entity *entity);

/* Whether the transaction has made a quick write to this entity (Q3). */
static inline bool quick_has(const struct transaction *transaction,
                             const struct entity *entity)
{
    return UNLIKELY(!quick_is_earlier(entity, transaction)) &&
           quick_has_among(transaction, entity);
}

/* Whether a put to the place can be quick (Q1), as the first write. */
static inline bool quick_takes_first(const struct place *place)
{
    const struct entity *entity = place->entity;
    return place == entity->payload && quick_can_exchange(entity) &&
           entity->space->session == NULL;
}

/* The same after other quick writes, for a document to which neither this
 * transaction nor a later one has made a quick write. */
static inline bool quick_takes_next(const struct transaction *transaction,
                                    const struct place *place)
{
    const struct entity *entity = place->entity;
    return transaction->quick.count > 0 && place == entity->payload &&
           quick_can_exchange(entity) &&
           quick_is_earlier(entity, transaction) &&
           transaction->quick.at[0].place->entity->space == entity->space;
}

/* Whether a put to the place can be quick. */
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

/* Records a put that can be quick, and for which there is room. Adopts
 * `value`. */
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

/* -- Commits without a notification -------------------------------------- */

/* The part of quick_is_straight that depends on the writes and the
 * listeners. */
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

/* Whether a commit needs no notification: it is one quick write to a document
 * that holds a value already, and its readers read exactly that value; nothing
 * has changed since the transaction began; nothing waits for its verdict; and
 * `listener`, the caller, is the only subscriber. */
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

/* Commits it without a notification. False if it changes nothing. */
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

/* -- Several writes ------------------------------------------------------ */

/* Marks the writes that change something, and counts them. False if they cannot
 * be applied quickly any more; they are drafts then. */
bool quick_finish(struct transaction *transaction, size_t *effective);

/* Applies the marked writes, of which there is at least one, and notifies. */
void quick_apply(struct transaction *transaction);

/* The same for a transaction whose only write changes something. It still
 * applies: nothing has changed since it was recorded. */
void quick_apply_one(struct transaction *transaction);

#endif
