/* Another payload, and nothing else. */

#include "replica/quick.h"

#include "replica/draft.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "value/compare.h"
#include "value/difference.h"

/* Whether the payload of an entity can be exchanged. */
static bool can_exchange(const struct entity *entity)
{
    return !value_is_absent(entity->visible.payload);
}

bool quick_put_adopt(struct transaction *transaction,
                     struct place *place,
                     struct value value)
{
    const struct entity *entity = place->entity;
    const size_t count = transaction->quick.count;
    if (place != entity->payload || transaction->drafts_used > 0 ||
        entity->space->session != NULL || count == QUICK_MAX ||
        !can_exchange(entity) || quick_has(transaction, entity) ||
        (count > 0 &&
         transaction->quick.at[0].place->entity->space != entity->space)) {
        return false;
    }
    if (value_is_container(value) &&
        value_is_container(entity->visible.payload)) {
        value = value_reuse_adopt(entity->visible.payload, value);
    }
    struct write_entry *write = vec_add(&transaction->quick);
    write->place = place_ref(place);
    write->step = NULL;
    value_store(&write->value, value);
    write->kind = WRITE_PUT;
    write->changed = false;
    return true;
}

void quick_expand(struct transaction *transaction)
{
    const size_t count = transaction->quick.count;
    transaction->quick.count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct write_entry write = transaction->quick.at[i];
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

bool quick_finish(struct transaction *transaction, size_t *effective)
{
    *effective = 0;
    VEC_FOREACH (&transaction->quick, write) {
        const struct entity *entity = write->place->entity;
        if (UNLIKELY(!can_exchange(entity))) {
            quick_expand(transaction);
            return false;
        }
        write->changed = !value_equal(entity->visible.payload, write->value);
        *effective += write->changed;
    }
    return true;
}

/* Exchanges the payload; `change` takes over what was there. */
static void exchange(const struct write_entry *write,
                     uint64_t version,
                     struct change *change)
{
    struct entity *entity = write->place->entity;
    change->entity = entity;
    value_store(&change->before.payload, entity->visible.payload);
    value_store(&change->before.rest, value_ref(entity->visible.rest));
    value_store(&change->after.payload, value_ref(write->value));
    value_store(&change->after.rest, value_ref(entity->visible.rest));
    value_store(&entity->visible.payload, value_ref(write->value));
    entity->version = version;
    entity->seq = entity->space->seq;
}

void quick_apply(struct transaction *transaction)
{
    struct replica *replica = transaction->replica;
    struct space *space = transaction->quick.at[0].place->entity->space;
    struct change changes[QUICK_MAX];
    size_t count = 0;
    space->seq++;
    replica->version++;
    for (size_t i = 0; i < transaction->quick.count; i++) {
        if (transaction->quick.at[i].changed) {
            exchange(&transaction->quick.at[i],
                     replica->version,
                     &changes[count++]);
        }
    }
    channel_tell_commit(replica, space, transaction, changes, count);
    for (size_t i = 0; i < count; i++) {
        entity_state_release(&changes[i].before);
        entity_state_release(&changes[i].after);
    }
    space_settle_local(space, transaction);
}

void quick_clear(struct transaction *transaction)
{
    VEC_FOREACH (&transaction->quick, write) {
        value_unref(write->value);
        place_unref(write->place);
    }
    vec_clear(&transaction->quick);
}
