/* Quick writes: the fast path of the most frequent transactions.
 *
 * Nearly every transaction only replaces the payloads of documents, or writes
 * their first ones, in a space without a store. Such writes need no drafts:
 * they are a list of places and values, and applying them exchanges payloads.
 *
 *   payload-write-1  All payload writes of a transaction are puts to the
 *                    payloads of different documents of one local space, and it
 *                    has no drafts.
 *   payload-write-2  Anything else (another kind of write, a read of what was
 *                    written, a condition) first turns them into drafts, and
 *                    then finds what it would have found without them.
 *   payload-write-3  `written` of an entity is the latest epoch of the
 *                    transactions that wrote its payload, or its low 32 bits.
 *                    An earlier epoch means that this transaction has not; for
 *                    any other, the list is searched. */

#ifndef REPLICA_PAYLOAD_WRITE_H
#define REPLICA_PAYLOAD_WRITE_H

#include "replica/space.h"
#include "replica/transaction.h"
#include "value/compare.h"

/* Whether the payload of an entity can be exchanged, or be its first: the
 * document has no other keys that matter. */
static inline bool payload_write_can_exchange(const struct entity *entity)
{
    return !value_is_absent(entity->visible.payload) ||
           !entity_state_exists(&entity->visible);
}

/* payload-write-2. */
void payload_write_expand(struct transaction *transaction);

static inline bool payload_write_is_earlier(
    const struct entity *entity,
    const struct transaction *transaction)
{
    return (int32_t)(entity->written - (uint32_t)transaction->epoch) < 0;
}

/* The slow path of payload_write_has. */
COLD bool payload_write_has_slow(const struct transaction *transaction,
                                 const struct entity *entity);

/* Whether the transaction has made a quick write to this entity
 * (payload-write-3). */
static inline bool payload_write_has(const struct transaction *transaction,
                                     const struct entity *entity)
{
    return UNLIKELY(!payload_write_is_earlier(entity, transaction)) &&
           payload_write_has_slow(transaction, entity);
}

/* Whether a put to the place can be a payload write (payload-write-1), as the
 * first write. */
static inline bool payload_write_takes_first(const struct place *place)
{
    const struct entity *entity = place->entity;
    return place == entity->payload && payload_write_can_exchange(entity) &&
           entity->space->session == NULL;
}

/* The same after other payload writes, for a document to which neither this
 * transaction nor a later one has made a quick write. */
static inline bool payload_write_takes_next(
    const struct transaction *transaction,
    const struct place *place)
{
    const struct entity *entity = place->entity;
    return transaction->payload_writes.count > 0 && place == entity->payload &&
           payload_write_can_exchange(entity) &&
           payload_write_is_earlier(entity, transaction) &&
           transaction->payload_writes.at[0].place->entity->space ==
               entity->space;
}

/* Whether a put to the place can be a payload write. */
static inline bool payload_write_takes(const struct transaction *transaction,
                                       const struct place *place)
{
    const struct entity *entity = place->entity;
    if (place != entity->payload || transaction->drafts_used > 0 ||
        transaction->scratch != NULL || transaction->under != NULL ||
        !payload_write_can_exchange(entity) ||
        payload_write_has(transaction, entity)) {
        return false;
    }
    return transaction->payload_writes.count == 0
               ? entity->space->session == NULL
               : transaction->payload_writes.at[0].place->entity->space ==
                     entity->space;
}

/* Records a put that can be a payload write, and for which there is room.
 * Adopts `value`. */
static inline void payload_write_put_adopt(struct transaction *transaction,
                                           struct place *place,
                                           struct value value)
{
    struct entity *entity = place->entity;
    if (LIKELY(payload_write_is_earlier(entity, transaction)) ||
        transaction->replica->open == 1) {
        entity->written = (uint32_t)transaction->epoch;
    }
    transaction->unwritten = false;
    struct write_entry *write =
        &transaction->payload_writes.at[transaction->payload_writes.count];
    transaction->payload_writes.count++;
    write->place = place_ref(place);
    write->step = NULL;
    value_store(&write->value, value);
    write->kind = WRITE_PUT;
    write->changed = false;
}

/* -- Commits without a notification -------------------------------------- */

/* The part of payload_write_is_direct that depends on the writes and the
 * listeners. */
static inline bool payload_write_is_single(
    const struct transaction *transaction,
    const struct subscriber *listener)
{
    const struct replica *replica = transaction->replica;
    const struct list_node *head = &replica->subscribers.head;
    if (transaction->payload_writes.count != 1 || replica->delivering ||
        head->next != &listener->node || head->prev != &listener->node) {
        return false;
    }
    const struct place *payload = transaction->payload_writes.at[0].place;
    const struct entity *entity = payload->entity;
    return ((uintptr_t)entity->root | payload->child_count |
            (uintptr_t)payload->readers[READ_SHAPE].first) == 0 &&
           !value_is_absent(entity->visible.payload);
}

/* Whether a commit needs no notification: it is one payload write to a document
 * that holds a value already, and its readers read exactly that value; nothing
 * has changed since the transaction began; nothing waits for its verdict; and
 * `listener`, the caller, is the only subscriber. */
static inline bool payload_write_is_direct(
    const struct transaction *transaction,
    const struct subscriber *listener)
{
    return !transaction->has_more &&
           transaction->began == transaction->replica->version &&
           transaction->watch.settled == NULL &&
           transaction->watch.verdict == NULL &&
           payload_write_is_single(transaction, listener);
}

/* Applies its write, which changes something. */
static inline void payload_write_exchange(struct transaction *transaction)
{
    struct replica *replica = transaction->replica;
    const struct write_entry *write = transaction->payload_writes.at;
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
static inline bool payload_write_commit(struct transaction *transaction)
{
    struct write_entry *write = transaction->payload_writes.at;
    write->changed =
        !value_equal(value_load(&write->place->entity->visible.payload),
                     value_load(&write->value));
    if (write->changed) {
        payload_write_exchange(transaction);
    }
    transaction_close(transaction, TRANSACTION_COMMITTED);
    return write->changed;
}

/* -- Several writes ------------------------------------------------------ */

/* Marks the writes that change something, and counts them. False if they cannot
 * be applied as payload writes any more; they are drafts then. */
bool payload_write_finish(struct transaction *transaction, size_t *effective);

/* Applies the marked writes, of which there is at least one, and notifies. */
void payload_write_apply(struct transaction *transaction);

/* The same for a transaction whose only write changes something. It still
 * applies: nothing has changed since it was recorded. */
void payload_write_apply_one(struct transaction *transaction);

#endif
