/* Overlays: the pending layers of one entity.
 *
 * A layer is one operation of a commit that has no verdict yet, or whose
 * verdict has not been caught up with. The visible state is the confirmed state
 * with all layers replayed on it, in local order: operations are replayed,
 * values are never merged. A layer that cannot be applied to the state below it
 * is skipped, and may apply again when that state changes.
 *
 *   overlay-1  Layers are in ascending order of local sequence numbers; a
 *              commit has at most one per entity. */

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

/* A new layer on top. The entity's visible state includes it already; `below`
 * is the state before. */
void overlay_push(struct entity *entity,
                  const struct entity_state *below,
                  uint64_t local_seq,
                  const struct commit_op *op);

/* Removes a layer that did not land, and folds the visible state again. */
void overlay_drop(struct entity *entity, uint64_t local_seq);

/* Removes a layer that landed at `seq`. It becomes part of the confirmed state,
 * unless that is at least as new. If the store has not `told` what happened
 * before, the confirmed state keeps its seq: a reader has not seen the commits
 * of others up to `seq`, and must not claim so. */
void overlay_promote(struct entity *entity,
                     uint64_t local_seq,
                     uint64_t seq,
                     bool told);

/* The state of the document at `seq`, from the store. False: ignored, because
 * the confirmed state is newer. */
bool overlay_confirm(struct entity *entity,
                     uint64_t seq,
                     struct value document);

/* Drops all layers and the confirmed state: the document is absent. */
void overlay_forget(struct entity *entity);

/* The confirmed state, borrowed. */
static inline const struct entity_state *overlay_confirmed(
    const struct entity *entity)
{
    return entity->overlay != NULL ? &entity->overlay->confirmed
                                   : &entity->visible;
}

/* Whether the visible state does not depend on the confirmed one: a pending
 * commit sets or deletes the whole document. */
bool overlay_replaces_document(const struct entity *entity);

/* Whether the state of the document is known here: the store has sent it, or
 * pending local commits determine it. */
static inline bool entity_is_available(const struct entity *entity)
{
    return LIKELY(entity->loaded) || overlay_replaces_document(entity);
}

/* entity-3 and overlay-1. */
bool overlay_check(const struct entity *entity);

void overlay_free(struct overlay *overlay);

#endif
