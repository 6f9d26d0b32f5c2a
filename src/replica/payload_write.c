/* Quick writes: the fast path for replacing payloads. */

#include "replica/payload_write.h"

#include "replica/channel_deliver.h"
#include "replica/draft.h"
#include "value/compare.h"

bool payload_write_has_slow(const struct transaction *transaction,
                            const struct entity *entity)
{
    VEC_FOREACH (&transaction->payload_writes, write) {
        if (write->place->entity == entity) {
            return true;
        }
    }
    return false;
}

void payload_write_expand(struct transaction *transaction)
{
    const size_t count = transaction->payload_writes.count;
    transaction->payload_writes.count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct write_entry write = transaction->payload_writes.at[i];
        /* A put to a payload cannot fail: the document may begin with it. */
        const enum err err =
            draft_write_adopt(draft_of(transaction, write.place->entity),
                              WRITE_PUT,
                              write.place,
                              write.value,
                              NULL);
        CHECK(err == ERR_OK);
        place_unref(write.place);
    }
}

bool payload_write_finish(struct transaction *transaction, size_t *effective)
{
    size_t changed = 0;
    struct write_entry *write = transaction->payload_writes.at;
    for (size_t left = transaction->payload_writes.count; left > 0;
         left--, write++) {
        const struct entity *entity = write->place->entity;
        if (UNLIKELY(!payload_write_can_exchange(entity))) {
            payload_write_expand(transaction);
            return false;
        }
        write->changed = !value_equal(value_load(&entity->visible.payload),
                                      value_load(&write->value));
        changed += write->changed;
    }
    *effective = changed;
    return true;
}

/* Exchanges the payload. The change takes over the old value; the rest of it is
 * borrowed from the entity, which cannot change during the notification. */
static inline void exchange(const struct write_entry *write,
                            uint64_t version,
                            struct change *change)
{
    struct entity *entity = write->place->entity;
    change->entity = entity;
    value_store(&change->before.payload, entity->visible.payload);
    value_store(&change->before.rest, entity->visible.rest);
    if (UNLIKELY(!entity_state_exists(&entity->visible))) {
        value_store(&entity->visible.rest, value_empty_object());
    }
    value_store(&change->after.payload, write->value);
    value_store(&change->after.rest, entity->visible.rest);
    value_store(&entity->visible.payload, value_ref(value_load(&write->value)));
    entity->version = version;
    entity->seq = entity->space->seq;
}

/* Publishes a commit, and does what follows. */
static inline void tell(struct space *space,
                        const struct transaction *transaction,
                        const struct change *changes,
                        size_t count)
{
    struct replica *replica = transaction->replica;
    replica->counters.commits++;
    const struct notification notification = {
        .kind = NOTIFY_COMMIT,
        .space = space,
        .changes = changes,
        .count = count,
        .version = replica->version,
        .source = transaction->source,
        .group = transaction->group,
    };
    channel_deliver_all(replica, &notification);
    for (size_t i = 0; i < count; i++) {
        value_unref(changes[i].before.payload);
    }
    if (UNLIKELY(transaction->watch.verdict != NULL ||
                 transaction->watch.settled != NULL)) {
        space_settle_local(space, transaction);
    }
}

void payload_write_apply(struct transaction *transaction)
{
    struct replica *replica = transaction->replica;
    struct space *space =
        transaction->payload_writes.at[0].place->entity->space;
    struct change_list *changes = &replica->changes;
    CHECK(changes->at.count == 0);
    space->seq++;
    transaction->applied++;
    replica->version++;
    vec_reserve(&changes->at, transaction->payload_writes.count);
    struct change *change = changes->at.at;
    const struct write_entry *write = transaction->payload_writes.at;
    for (size_t left = transaction->payload_writes.count; left > 0;
         left--, write++) {
        if (LIKELY(write->changed)) {
            exchange(write, replica->version, change++);
        }
    }
    tell(space, transaction, changes->at.at, (size_t)(change - changes->at.at));
}

void payload_write_apply_one(struct transaction *transaction)
{
    const struct write_entry *write = transaction->payload_writes.at;
    struct change change;
    struct space *space = write->place->entity->space;
    transaction->applied++;
    space->seq++;
    exchange(write, ++transaction->replica->version, &change);
    tell(space, transaction, &change, 1);
}
