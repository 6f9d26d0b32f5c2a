/* Layers over a confirmed state. */

#include "replica/overlay.h"

#include <string.h>

#include "base/mem.h"
#include "replica/replica.h"
#include "replica/space.h"

static struct replica *replica_of(const struct entity *entity)
{
    return entity->space->replica;
}

/* -- One layer ----------------------------------------------------------- */

/* Most patches replace the payload, and need no object for it. */
static bool is_payload_step(const struct commit_op *op,
                            const struct entity_state *state,
                            const struct path *payload_path)
{
    return op->kind == COMMIT_PATCH && op->patch.ops.count == 1 &&
           op->patch.ops.at[0].kind == PATCH_REPLACE &&
           op->patch.ops.at[0].path == payload_path &&
           !value_is_absent(state->payload);
}

/* Applies one operation to the state, in place. False, with nothing changed, if
 * it does not apply. */
static bool apply_operation(struct entity_state *state,
                            const struct commit_op *op,
                            const struct path *payload_path)
{
    if (is_payload_step(op, state, payload_path)) {
        const struct value payload = value_ref(op->patch.ops.at[0].value);
        value_unref(state->payload);
        state->payload = payload;
        return true;
    }
    struct value document = VALUE_NONE;
    switch (op->kind) {
    case COMMIT_SET:
        document = value_ref(op->document);
        break;
    case COMMIT_DELETE:
        break;
    case COMMIT_PATCH: {
        const struct value base = entity_state_document(state);
        const enum err err = patch_apply(&op->patch,
                                         base,
                                         PATCH_ROOT_DOCUMENT,
                                         &document,
                                         NULL,
                                         NULL);
        value_unref(base);
        if (err != ERR_OK) {
            return false;
        }
        break;
    }
    }
    const struct entity_state after = entity_state_of(document);
    value_unref(document);
    entity_state_release(state);
    *state = after;
    return true;
}

/* entity-3: computes the visible state from the confirmed one. */
static void fold(struct entity *entity)
{
    const struct overlay *overlay = entity->overlay;
    struct replica *replica = replica_of(entity);
    replica->counters.folds++;
    struct entity_state state = entity_state_ref(&overlay->confirmed);
    VEC_FOREACH (&overlay->layers, layer) {
        if (!apply_operation(&state, layer->op, replica->payload_path)) {
            replica->counters.layers_skipped++;
        }
    }
    entity_state_release(&entity->visible);
    entity->visible = state;
}

/* -- The stack ----------------------------------------------------------- */

void overlay_free(struct overlay *overlay)
{
    vec_release(&overlay->layers);
    mem_free(overlay, sizeof *overlay);
}

/* Ends the overlay; the confirmed state is visible. */
static void overlay_end(struct entity *entity)
{
    struct overlay *overlay = entity->overlay;
    CHECK(overlay->layers.count == 0);
    entity_state_release(&entity->visible);
    entity->visible = overlay->confirmed;
    overlay->confirmed = (struct entity_state){VALUE_NONE, VALUE_NONE};
    entity->overlay = NULL;
    vec_push(&replica_of(entity)->idle_overlays, overlay);
}

static struct overlay *overlay_begin(struct entity *entity,
                                     const struct entity_state *confirmed)
{
    struct replica *replica = replica_of(entity);
    struct overlay *overlay = replica->idle_overlays.count > 0
                                  ? vec_pop(&replica->idle_overlays)
                                  : mem_alloc_zero(sizeof *overlay);
    overlay->confirmed = entity_state_ref(confirmed);
    entity->overlay = overlay;
    return overlay;
}

void overlay_push(struct entity *entity,
                  const struct entity_state *below,
                  uint64_t local_seq,
                  const struct commit_op *op)
{
    struct overlay *overlay = entity->overlay;
    if (overlay == NULL) {
        overlay = overlay_begin(entity, below);
    }
    CHECK(overlay->layers.count == 0 ||
          vec_last(&overlay->layers)->local_seq < local_seq);
    const struct layer layer = {.local_seq = local_seq, .op = op};
    vec_push(&overlay->layers, layer);
}

/* The index of a layer in the stack, or the stack's size if it is not there. */
static size_t position_of(const struct overlay *overlay, uint64_t local_seq)
{
    size_t at = 0;
    while (at < overlay->layers.count &&
           overlay->layers.at[at].local_seq != local_seq) {
        at++;
    }
    return at;
}

static void take_out(struct overlay *overlay, size_t at)
{
    overlay->layers.count--;
    memmove(&overlay->layers.at[at],
            &overlay->layers.at[at + 1],
            (overlay->layers.count - at) * sizeof overlay->layers.at[0]);
}

/* After a change of the confirmed state or of the layers. */
static void settle(struct entity *entity)
{
    if (entity->overlay->layers.count == 0) {
        overlay_end(entity);
    } else {
        fold(entity);
    }
}

void overlay_drop(struct entity *entity, uint64_t local_seq)
{
    struct overlay *overlay = entity->overlay;
    const size_t at = overlay != NULL ? position_of(overlay, local_seq) : 0;
    if (overlay == NULL || at == overlay->layers.count) {
        return;
    }
    take_out(overlay, at);
    settle(entity);
}

void overlay_promote(struct entity *entity,
                     uint64_t local_seq,
                     uint64_t seq,
                     bool told)
{
    struct overlay *overlay = entity->overlay;
    const size_t at = overlay != NULL ? position_of(overlay, local_seq) : 0;
    if (overlay == NULL || at == overlay->layers.count) {
        return;
    }
    struct replica *replica = replica_of(entity);
    const struct commit_op *op = overlay->layers.at[at].op;
    const bool newer = entity->seq < seq;
    if (newer) {
        if (!apply_operation(&overlay->confirmed, op, replica->payload_path)) {
            replica->counters.layers_skipped++;
        }
        entity->seq = told ? seq : entity->seq;
    }
    take_out(overlay, at);
    /* Promoting the lowest layer leaves the fold unchanged. */
    if (newer && at == 0 && overlay->layers.count > 0) {
        return;
    }
    settle(entity);
}

bool overlay_confirm(struct entity *entity, uint64_t seq, struct value document)
{
    if (seq < entity->seq) {
        return false;
    }
    const struct entity_state state = entity_state_of(document);
    entity->seq = seq;
    if (entity->overlay == NULL) {
        entity_state_release(&entity->visible);
        entity->visible = state;
        return true;
    }
    entity_state_release(&entity->overlay->confirmed);
    entity->overlay->confirmed = state;
    fold(entity);
    return true;
}

void overlay_forget(struct entity *entity)
{
    entity->seq = 0;
    if (entity->overlay != NULL) {
        vec_clear(&entity->overlay->layers);
        overlay_end(entity);
    }
    entity_state_release(&entity->visible);
    entity->visible = (struct entity_state){VALUE_NONE, VALUE_NONE};
}

bool overlay_replaces_document(const struct entity *entity)
{
    if (entity->overlay == NULL) {
        return false;
    }
    VEC_FOREACH (&entity->overlay->layers, layer) {
        if (layer->op->kind != COMMIT_PATCH) {
            return true;
        }
    }
    return false;
}

bool overlay_check(const struct entity *entity)
{
    const struct overlay *overlay = entity->overlay;
    if (overlay == NULL) {
        return true;
    }
    if (overlay->layers.count == 0) {
        return false;
    }
    uint64_t last = 0;
    struct entity_state state = entity_state_ref(&overlay->confirmed);
    bool holds = true;
    VEC_FOREACH (&overlay->layers, layer) {
        holds = holds && layer->local_seq > last;
        last = layer->local_seq;
        (void)apply_operation(&state,
                              layer->op,
                              replica_of(entity)->payload_path);
    }
    holds = holds && entity_state_equal(&state, &entity->visible);
    entity_state_release(&state);
    return holds;
}
