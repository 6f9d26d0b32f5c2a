/* Documents from the store, applied under the pending layers. */

#include "proto/message.h"
#include "replica/observe.h"
#include "replica/pending.h"
#include "replica/session.h"
#include "replica/space.h"
#include "replica/space_selector.h"
#include "value/patch.h"

/* The document is here from now on. */
static void load(struct space *space, struct entity *entity)
{
    entity_set_loaded(entity, true);
    entity->answered = true;
    space->unloaded -= entity->unloaded;
    entity->unloaded = false;
    entity->ambiguous_base = false;
}

/* A document that arrives together with its state when it was known here: first
 * it gets that state. This is no news for nodes that rely on it, and then they
 * see the change as if the document had been here all the time. True if there
 * was such a state. */
static bool take_before(struct space *space, const struct upsert *upsert)
{
    struct entity *entity =
        entity_find(space, upsert->target.scope, upsert->target.id);
    if (!upsert->has_before || entity == NULL || entity->loaded ||
        entity->ambiguous_base || entity->known == 0 ||
        upsert->seq <= entity->known) {
        return false;
    }
    change_list_touch(&space->replica->changes, entity);
    load(space, entity);
    (void)overlay_confirm(entity, entity->known, upsert->before);
    return true;
}

static void take_befores(struct space *space, const struct message *message)
{
    bool any = false;
    VEC_FOREACH (&message->upserts, upsert) {
        any = take_before(space, upsert) || any;
    }
    if (UNLIKELY(any)) {
        struct notification notification = {
            .kind = NOTIFY_PULL,
            .space = space,
        };
        channel_publish(space->replica,
                        &space->replica->changes,
                        &notification);
    }
}

/* -- Deltas -------------------------------------------------------------- */

/* What is here already, or is not wanted, or will come whole with the answer to
 * a watch. */
static bool is_superseded(const struct entity *entity,
                          const struct upsert *upsert)
{
    return entity == NULL || entity->seq >= upsert->seq ||
           (!entity->loaded && !(entity->watched && entity->answered));
}

/* Makes a delta whole. False: it does not apply to what is here. */
static bool resolve_delta(struct space *space, struct upsert *upsert)
{
    const struct entity *entity =
        entity_find(space, upsert->target.scope, upsert->target.id);
    if (is_superseded(entity, upsert)) {
        return true;
    }
    struct patch patch;
    if (!entity->loaded || entity->seq != upsert->from ||
        patch_read(upsert->patch, &space->replica->paths, &patch, NULL) !=
            ERR_OK) {
        return false;
    }
    const struct value base = entity_state_document(overlay_confirmed(entity));
    const enum err err = patch_apply(&patch,
                                     base,
                                     PATCH_ROOT_DOCUMENT,
                                     &upsert->document,
                                     NULL,
                                     NULL);
    value_unref(base);
    patch_release(&patch);
    upsert->from = 0;
    return err == ERR_OK;
}

/* All of them before anything changes. One that is superseded stays as it is.
 */
static bool resolve_deltas(struct space *space, struct message *message)
{
    VEC_FOREACH (&message->upserts, upsert) {
        if (upsert->from > 0 && !resolve_delta(space, upsert)) {
            return false;
        }
    }
    return true;
}

/* -- Syncs --------------------------------------------------------------- */

/* True if this is the first state received of the document. `reached`: a
 * selector brought it. */
static bool take_upsert(struct space *space,
                        const struct upsert *upsert,
                        bool reached)
{
    if (upsert->from > 0) {
        return false; /* superseded */
    }
    struct entity *entity =
        reached ? space_selector_push(space, &upsert->target)
                : entity_find(space, upsert->target.scope, upsert->target.id);
    if (entity == NULL) {
        return false; /* not known here */
    }
    const bool first = !entity->loaded;
    change_list_touch(&space->replica->changes, entity);
    space->replica->counters.documents++;
    /* A document that is also wanted by name is still to be answered. */
    const bool answered = !reached || entity->pushed || entity->answered;
    load(space, entity);
    entity->answered = answered;
    if (overlay_confirm(entity, upsert->seq, upsert->document)) {
        pending_absorb(entity);
    }
    return first;
}

void space_remove(struct space *space, struct entity *entity)
{
    change_list_touch(&space->replica->changes, entity);
    entity->seq = 0;
    entity->watched = false;
    entity->pushed = false;
    entity->reach_lost = false;
    entity_set_loaded(entity, false);
    space->unloaded -= entity->unloaded;
    entity->unloaded = false;
    (void)overlay_confirm(entity, 0, VALUE_NONE);
}

/* The document left the watch, unless it is being asked for by name. */
static void take_remove(struct space *space, const struct target *target)
{
    struct entity *entity = entity_find(space, target->scope, target->id);
    if (entity != NULL &&
        (entity->pushed || !entity->watched || entity->answered)) {
        space_remove(space, entity);
    }
}

bool space_take_sync(struct space *space, struct message *message)
{
    if (!resolve_deltas(space, message)) {
        return false;
    }
    bool pull = message->pull;
    take_befores(space, message);
    for (size_t i = 0; i < message->upserts.count; i++) {
        const bool reached = i + message->reached >= message->upserts.count;
        /* After a resume, the answer to a watch comes like any other sync. */
        pull = take_upsert(space, &message->upserts.at[i], reached) || pull;
    }
    VEC_FOREACH (&message->targets, target) {
        take_remove(space, target);
    }
    pull = space_selectors_take(space, message) || pull;
    if (message->to_seq > space->seq) {
        space->seq = message->to_seq;
    }
    if (message->caught_up > space->caught_up) {
        space->caught_up = message->caught_up;
    }
    pending_promote_until(space, space->caught_up);
    struct notification notification = {
        .kind = pull ? NOTIFY_PULL : NOTIFY_INTEGRATE,
        .space = space,
    };
    channel_publish(space->replica, &space->replica->changes, &notification);
    if (UNLIKELY(message->told.count > 0)) {
        observe_told(space, message);
    }
    pending_settle_promoted(space);
    pending_drop_until(space, space->caught_up);
    return true;
}

void space_settle_parked(struct space *space)
{
    pending_confirm_landed(space);
    pending_drop_until(space, UINT64_MAX);
}

void space_step(struct space *space, mono_ms now)
{
    const struct replica *replica = space->replica;
    if (replica->open == 0 && !replica->delivering) {
        pending_drop_overdue(space, now); /* transaction-4 */
    }
    if (space->session != NULL) {
        session_step(space->session, now);
    }
}

mono_ms space_next_wake(const struct space *space)
{
    mono_ms wake =
        space->session != NULL ? session_next_wake(space->session) : MONO_NEVER;
    LIST_FOREACH (&space->pending, node) {
        const struct pending *pending =
            CONTAINER_OF(node, struct pending, node);
        if (pending->state == PENDING_REFUSED && pending->deadline < wake) {
            wake = pending->deadline;
        }
    }
    return wake;
}

void space_watch_again(struct space *space, bool answered)
{
    VEC_FOREACH (&space->wanted, entity) {
        (*entity)->queued = false;
    }
    vec_clear(&space->wanted);
    MAP_FOREACH (&space->entities, slot) {
        struct entity *entity = slot->item;
        if (entity->watched && !entity->pushed &&
            (answered || !entity->answered)) {
            space_watch(space, entity);
            if (!entity->loaded && !entity->unloaded) {
                vec_push(&space->loading, entity);
            }
        }
    }
}

void space_reset(struct space *space)
{
    pending_fail_all(space, ERR_SESSION_LOST, "the replica was reset");
    space->caught_up = 0;
    space->seq = 0;
    /* Every document has changed, and there is no list. */
    const uint64_t version = ++space->replica->version;
    MAP_FOREACH (&space->entities, slot) {
        struct entity *entity = slot->item;
        overlay_forget(entity);
        entity->version = version;
        entity_set_loaded(entity, space->session == NULL);
        entity->unloaded = false;
    }
    space->unloaded = 0;
    space_selectors_reset(space);
    space_watch_again(space, true);
    if (space->session != NULL) {
        session_restart(space->session);
    }
    struct notification notification = {
        .kind = NOTIFY_RESET,
        .space = space,
    };
    channel_publish(space->replica, &space->replica->changes, &notification);
}
