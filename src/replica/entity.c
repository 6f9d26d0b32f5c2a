/* Entities: interning, and documents in two parts. */

#include "replica/entity.h"
#include "value/clock_id.h"

#include <string.h>

#include "base/mem.h"
#include "replica/overlay.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "value/clock_id.h"
#include "value/compare.h"
#include "value/object.h"

/* -- The state of a document --------------------------------------------- */

#define PAYLOAD_KEY "value"

struct entity_state entity_state_of(struct value document)
{
    if (value_is_absent(document)) {
        return (struct entity_state){VALUE_NONE, VALUE_NONE};
    }
    CHECK(value_is_object(document));
    const struct value payload = object_field(document, PAYLOAD_KEY);
    if (value_is_absent(payload)) {
        return (struct entity_state){VALUE_NONE, value_ref(document)};
    }
    if (object_count(document) == 1) {
        return (struct entity_state){value_ref(payload), value_empty_object()};
    }
    /* An object that could become an envelope without its payload (value-4) is
     * not split. */
    if (value_is_near_envelope(document)) {
        return (struct entity_state){VALUE_NONE, value_ref(document)};
    }
    const struct value key = value_text_new(PAYLOAD_KEY);
    return (struct entity_state){value_ref(payload),
                                 object_remove_adopt(value_ref(document), key)};
}

struct value entity_state_document(const struct entity_state *state)
{
    if (!entity_state_exists(state)) {
        return VALUE_NONE;
    }
    if (value_is_absent(state->payload)) {
        return value_ref(state->rest);
    }
    struct value document;
    if (object_count(state->rest) == 0) {
        const struct value pair[2] = {value_text_new(PAYLOAD_KEY),
                                      value_ref(state->payload)};
        document = object_new_adopt(pair, 1);
    } else {
        document = value_ref(state->rest);
        object_put_adopt(&document, PAYLOAD_KEY, value_ref(state->payload));
    }
    return document;
}

bool entity_state_equal(const struct entity_state *a,
                        const struct entity_state *b)
{
    return value_equal(a->payload, b->payload) && value_equal(a->rest, b->rest);
}

/* From `value`, which is at the first `from` segments of `path`. */
static enum err walk(struct value value,
                     const struct path *path,
                     uint32_t from,
                     struct value *out)
{
    for (uint32_t i = from; i < path->length; i++) {
        if (!value_is_container(value)) {
            return value_is_absent(value) ? ERR_NOT_FOUND : ERR_TYPE;
        }
        value = value_child_or_virtual(value, &path->at[i]);
    }
    *out = value_ref(value);
    return ERR_OK;
}

enum err entity_state_at(const struct entity_state *state,
                         const struct path *path,
                         struct value *out)
{
    *out = VALUE_NONE;
    if (path->length == 0) {
        *out = entity_state_document(state);
        return ERR_OK;
    }
    if (!entity_state_exists(state)) {
        return ERR_NOT_FOUND;
    }
    return !value_is_absent(state->payload) &&
                   entity_is_payload_key(path->at[0].key)
               ? walk(state->payload, path, 1, out)
               : walk(state->rest, path, 0, out);
}

uint32_t entity_state_link(const struct entity_state *state,
                           const struct path *path)
{
    if (path->length < 2 || !entity_state_exists(state)) {
        return 0;
    }
    const bool inside = !value_is_absent(state->payload) &&
                        entity_is_payload_key(path->at[0].key);
    struct value value =
        inside ? state->payload
               : value_child_or_virtual(state->rest, &path->at[0]);
    for (uint32_t i = 1; i < path->length; i++) {
        if (value_tag(value) == TAG_LINK) {
            return i;
        }
        if (!value_is_container(value)) {
            return 0;
        }
        value = value_child_or_virtual(value, &path->at[i]);
    }
    return 0;
}

/* -- Entities ------------------------------------------------------------ */

struct entity_key {
    enum scope scope;
    struct value id;
};

static bool is_entity(const void *item, const void *key)
{
    const struct entity *entity = item;
    const struct entity_key *want = key;
    return entity->scope == want->scope && key_equal(entity->id, want->id);
}

/* For a short id, its two words: the map itself spreads their bits. */
static inline uint64_t entity_hash(enum scope scope, struct value id)
{
    if (UNLIKELY(value_is_heap(id))) {
        return value_hash(id) + (uint64_t)scope;
    }
    const uint64_t odd = UINT64_C(0xD6E8FEB86659FD93);
    const uint64_t first = id.word[0] * odd;
    return (first ^ first >> 32 ^ id.word[1]) * odd + (uint64_t)scope;
}

struct entity *entity_find(struct space *space,
                           enum scope scope,
                           struct value id)
{
    return map_find(&space->entities,
                    entity_hash(scope, id),
                    is_entity,
                    &(struct entity_key){scope, id});
}

/* What follows from the id of a new entity: whether the document is immutable,
 * and whether it is a clock. */
static void note_kind(struct entity *entity)
{
    const struct value id = entity->id;
    if (LIKELY((id.word[0] & UINT8_MAX) != 'c' &&
               (id.word[0] & UINT8_MAX) != 'd' && !value_is_heap(id))) {
        return; /* short, and of another kind */
    }
    entity->pinned =
        value_begins_with(id, "cid:") || value_begins_with(id, "data:");
    if (UNLIKELY(entity->scope == SCOPE_SPACE && clock_id_read(id) > 0)) {
        vec_push(&entity->space->replica->clocks, entity);
    }
}

enum err entity_of(struct space *space,
                   enum scope scope,
                   struct value id,
                   struct entity **out,
                   struct err_detail *detail)
{
    const uint64_t hash = entity_hash(scope, id);
    struct map_slot *slot = map_seek(&space->entities,
                                     hash,
                                     is_entity,
                                     &(struct entity_key){scope, id});
    *out = slot->item;
    if (*out != NULL) {
        return ERR_OK;
    }
    const enum err err = document_id_check(id, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct entity *entity =
        pool_new(&space->replica->entity_pool, sizeof *entity);
    entity->space = space;
    entity->id = value_ref(id);
    entity->scope = scope;
    entity_set_loaded(entity, space->session == NULL);
    note_kind(entity);
    map_fill(&space->entities, slot, hash, entity);
    *out = entity;
    return ERR_OK;
}

void entity_forget(struct entity *entity)
{
    if (entity->payload != NULL || entity->root != NULL ||
        entity->overlay != NULL || entity->draft != NULL ||
        !space_unwant(entity->space, entity)) {
        return;
    }
    (void)map_remove(&entity->space->entities,
                     entity_hash(entity->scope, entity->id),
                     is_entity,
                     &(struct entity_key){entity->scope, entity->id});
    entity_free(entity);
}

void entity_free(struct entity *entity)
{
    CHECK(entity->payload == NULL && entity->root == NULL);
    overlay_forget(entity);
    value_unref(entity->id);
    pool_free(&entity->space->replica->entity_pool, entity, sizeof *entity);
}
