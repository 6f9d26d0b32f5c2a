/* Overlays: the layers of one entity that wait for the store.
 *
 * A layer is one operation of a commit that has no verdict yet, or whose
 * verdict has not been caught up with. What is visible is the confirmed state
 * with all layers replayed on it, in local order: operations are replayed,
 * values are never merged. A layer that cannot be applied to what is below it
 * is skipped, and may well apply again when that changes.
 *
 *   O1  Layers are in ascending order of local sequence numbers; a commit has
 *       at most one for an entity. */

#ifndef REPLICA_OVERLAY_H
#define REPLICA_OVERLAY_H

#include "proto/commit.h"
#include "replica/entity.h"

struct layer {
    uint64_t local_seq;
    const struct commit_op *op; /* of the pending commit, which outlives it */
};

struct overlay {
    struct entity_state confirmed;
    VEC(struct layer) layers;
};

/* A new layer on top. The entity's visible state is already what it makes;
 * `below` is what it was before. */
void overlay_push(struct entity *entity,
                  const struct entity_state *below,
                  uint64_t local_seq,
                  const struct commit_op *op);

/* Takes a layer out: it did not land. The visible state is folded anew. */
void overlay_drop(struct entity *entity, uint64_t local_seq);

/* Takes a layer out: it landed at `seq`. Unless the confirmed state is at
 * least that new, the layer becomes part of it. Unless the store has `told`
 * what happened before, it keeps its seq all the same: who reads it has not
 * seen what others did up to `seq`, and must not say so. */
void overlay_promote(struct entity *entity,
                     uint64_t local_seq,
                     uint64_t seq,
                     bool told);

/* The store says what the document is at `seq`. Older than what is confirmed:
 * ignored, false. */
bool overlay_confirm(struct entity *entity,
                     uint64_t seq,
                     struct value document);

/* No layers, nothing confirmed: the document is absent. */
void overlay_forget(struct entity *entity);

/* The confirmed state, borrowed. */
static inline const struct entity_state *overlay_confirmed(
    const struct entity *entity)
{
    return entity->overlay != NULL ? &entity->overlay->confirmed
                                   : &entity->visible;
}

/* Whether what is visible does not depend on the confirmed state: a pending
 * commit sets or deletes the document as a whole. */
bool overlay_replaces_document(const struct entity *entity);

/* Whether the state of the document is known here: the store has sent it, or
 * this replica's own pending commits determine it. */
static inline bool entity_is_available(const struct entity *entity)
{
    return LIKELY(entity->loaded) || overlay_replaces_document(entity);
}

/* N3 and O1. */
bool overlay_check(const struct entity *entity);

void overlay_free(struct overlay *overlay);

#endif
