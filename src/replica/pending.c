/* Commits after they were applied: verdicts, markers and reverts. */

#include "replica/pending.h"

#include "base/mem.h"
#include "replica/observe.h"
#include "replica/session.h"

#define PENDING_OF(list_node) CONTAINER_OF((list_node), struct pending, node)

/* -- The record of a commit ---------------------------------------------- */

struct pending *pending_new(struct space *space,
                            const struct transaction *transaction)
{
    struct replica *replica = space->replica;
    struct pending *pending = replica->idle_pendings.count > 0
                                  ? vec_pop(&replica->idle_pendings)
                                  : mem_alloc_zero(sizeof *pending);
    list_node_init(&pending->node);
    pending->space = space;
    pending->state = PENDING_QUEUED;
    pending->doomed = false;
    pending->promoted = false;
    pending->unsure = false;
    pending->deadline = MONO_NEVER;
    pending->source = transaction->source;
    pending->group = transaction->group;
    pending->watch = transaction->watch;
    return pending;
}

void pending_end(struct pending *pending)
{
    CHECK(!list_node_is_linked(&pending->node));
    observe_end(pending);
    commit_clear(&pending->commit);
    vec_clear(&pending->entities);
    verdict_release(&pending->verdict);
    pending->verdict = (struct verdict){0};
    vec_push(&pending->space->replica->idle_pendings, pending);
}

void pending_free(struct pending *pending)
{
    commit_release(&pending->commit);
    vec_release(&pending->entities);
    mem_free(pending, sizeof *pending);
}

/* Verdicts mostly come in order: searches from the last one found. */
static struct pending *find(struct space *space, uint64_t local_seq)
{
    const struct pending *last = space->last_found;
    struct list_node *node = last != NULL && last->commit.local_seq <= local_seq
                                 ? &space->last_found->node
                                 : space->pending.head.next;
    for (; node != &space->pending.head; node = node->next) {
        struct pending *pending = PENDING_OF(node);
        if (pending->commit.local_seq == local_seq) {
            space->last_found = pending;
            return pending;
        }
        if (pending->commit.local_seq > local_seq) { /* space-2 */
            break;
        }
    }
    return NULL;
}

/* Whether the commit read through the layers of another one. */
static bool names(const struct pending *pending, uint64_t local_seq)
{
    VEC_FOREACH (&pending->commit.reads, read) {
        VEC_FOREACH (&read->layers.at, layer) {
            if (*layer == local_seq) {
                return true;
            }
        }
    }
    return false;
}

static bool is_dead(const struct pending *pending)
{
    return pending->state == PENDING_REFUSED || pending->doomed;
}

/* Whether it is counted as ahead of the confirmed state. */
static bool is_ahead(const struct pending *pending)
{
    return !pending->promoted && !commit_is_batch(&pending->commit);
}

/* -- Callbacks ----------------------------------------------------------- */

static void tell_verdict(const struct pending *pending)
{
    if (UNLIKELY(pending->verdict.dropped.count > 0)) {
        observe_dropped(pending);
    }
    if (pending->watch.verdict != NULL) {
        pending->watch.verdict(pending->watch.ctx, &pending->verdict);
    }
}

/* The last step of a commit. */
static void settle(struct pending *pending)
{
    pending->space->dead -= is_dead(pending);
    pending->space->ahead -= is_ahead(pending);
    if (pending->space->last_found == pending) {
        pending->space->last_found = NULL;
    }
    list_remove(&pending->node);
    const struct commit_watch watch = pending->watch;
    if (watch.settled != NULL) {
        watch.settled(watch.ctx, &pending->verdict);
    }
    pending_end(pending);
}

/* -- Refused ------------------------------------------------------------- */

/* Removes the layers of one commit and notifies. Commits that read from them
 * are not examined. */
static void drop_one(struct pending *pending)
{
    struct space *space = pending->space;
    struct change_list *changes = &space->replica->changes;
    VEC_FOREACH (&pending->entities, entity) {
        change_list_touch(changes, *entity);
        overlay_drop(*entity, pending->commit.local_seq);
    }
    struct notification notification = {
        .kind = NOTIFY_REVERT,
        .space = space,
        .local_seq = pending->commit.local_seq,
        .source = pending->source,
        .group = pending->group,
        .reason = &pending->verdict,
    };
    channel_publish(space->replica, changes, &notification);
    settle(pending);
}

static void refuse_locally(struct pending *pending, uint64_t dependency)
{
    verdict_release(&pending->verdict);
    pending->verdict = (struct verdict){
        .err = ERR_CONFLICT,
        .head_seq = pending->space->seq,
    };
    (void)err_set(&pending->verdict.detail,
                  ERR_CONFLICT,
                  "pending dependency dropped locally: localSeq=%llu",
                  (unsigned long long)dependency);
    if (!pending->doomed) {
        pending->doomed = true;
        pending->space->dead++;
    }
}

/* Whether a layer that it read from is dead and not dropped yet. */
static bool waits_for_another(const struct pending *pending)
{
    LIST_FOREACH (&pending->space->pending, node) {
        const struct pending *other = PENDING_OF(node);
        if (other->commit.local_seq >= pending->commit.local_seq) {
            return false;
        }
        if (is_dead(other) && names(pending, other->commit.local_seq)) {
            return true;
        }
    }
    return false;
}

/* The first commit that is doomed and waits for nothing. */
static struct pending *next_victim(const struct space *space)
{
    LIST_FOREACH (&space->pending, node) {
        struct pending *pending = PENDING_OF(node);
        if (pending->doomed && pending->state != PENDING_REFUSED &&
            !waits_for_another(pending)) {
            return pending;
        }
    }
    return NULL;
}

/* The newest dead commit that it read from, or 0. */
static uint64_t dead_dependency(const struct pending *pending)
{
    uint64_t newest = 0;
    LIST_FOREACH (&pending->space->pending, node) {
        const struct pending *other = PENDING_OF(node);
        if (other->commit.local_seq >= pending->commit.local_seq) {
            break;
        }
        if (is_dead(other) && names(pending, other->commit.local_seq)) {
            newest = other->commit.local_seq;
        }
    }
    return newest;
}

/* A commit that read from a dead layer is dead from this moment on, though it
 * is dropped only after that layer: it must not be sent in between (space-3).
 * One pass is enough, because a commit reads from earlier ones only. Commits
 * with a verdict follow that instead. */
static void doom_readers(struct space *space)
{
    LIST_FOREACH (&space->pending, node) {
        struct pending *pending = PENDING_OF(node);
        if (pending->state == PENDING_QUEUED ||
            pending->state == PENDING_SENT) {
            const uint64_t dependency = dead_dependency(pending);
            if (dependency > 0) {
                refuse_locally(pending, dependency);
            }
        }
    }
}

/* Drops a commit and, one by one, everything that depends on it. */
static void drop(struct pending *pending)
{
    struct space *space = pending->space;
    drop_one(pending);
    while ((pending = next_victim(space)) != NULL) {
        tell_verdict(pending);
        drop_one(pending);
    }
}

void pending_inherit(struct pending *pending)
{
    if (LIKELY(pending->space->dead == 0)) {
        return;
    }
    const uint64_t dependency = dead_dependency(pending);
    if (dependency > 0) {
        refuse_locally(pending, dependency);
    }
}

/* Whether the store has sent everything up to what the verdict refers to. A
 * marker alone does not prove that: it may be from before the commit was
 * resent, about a verdict that was lost. */
static bool is_caught_up(const struct pending *pending, uint64_t marker)
{
    const struct verdict *verdict = &pending->verdict;
    return pending->commit.local_seq <= marker &&
           pending->space->seq >=
               (verdict->err == ERR_OK ? verdict->seq : verdict->conflict_seq);
}

static void take_refusal(struct pending *pending)
{
    struct space *space = pending->space;
    pending->state = PENDING_REFUSED;
    space->dead++;
    doom_readers(space);
    tell_verdict(pending);
    if (pending->verdict.err == ERR_CONFLICT && space->markers &&
        !is_caught_up(pending, space->caught_up)) {
        pending->deadline = space->session->now + SPACE_REPAIR_MS;
        return;
    }
    drop(pending);
}

void pending_drop_until(struct space *space, uint64_t marker)
{
    for (;;) {
        struct pending *refused = NULL;
        LIST_FOREACH (&space->pending, node) {
            struct pending *pending = PENDING_OF(node);
            if (refused == NULL && pending->state == PENDING_REFUSED &&
                (marker == UINT64_MAX || is_caught_up(pending, marker))) {
                refused = pending;
            }
        }
        if (refused == NULL) {
            return;
        }
        drop(refused);
    }
}

void pending_drop_overdue(struct space *space, mono_ms now)
{
    for (;;) {
        struct pending *overdue = NULL;
        LIST_FOREACH (&space->pending, node) {
            if (overdue == NULL && PENDING_OF(node)->state == PENDING_REFUSED &&
                PENDING_OF(node)->deadline <= now) {
                overdue = PENDING_OF(node);
            }
        }
        if (overdue == NULL) {
            return;
        }
        drop(overdue);
    }
}

/* -- Accepted ------------------------------------------------------------ */

/* `told`: the store has sent what happened before it (overlay_promote). */
static void promote(struct pending *pending, bool told)
{
    struct change_list *changes = &pending->space->replica->changes;
    VEC_FOREACH (&pending->entities, entity) {
        change_list_touch(changes, *entity);
        overlay_promote(*entity,
                        pending->commit.local_seq,
                        pending->verdict.seq,
                        told);
    }
    pending->space->ahead -= is_ahead(pending);
    pending->promoted = true;
}

static void promote_until(struct space *space, uint64_t marker, bool told)
{
    LIST_FOREACH (&space->pending, node) {
        struct pending *pending = PENDING_OF(node);
        if (pending->commit.local_seq > marker) {
            return;
        }
        if (pending->state == PENDING_ACCEPTED && !pending->promoted &&
            (!told || is_caught_up(pending, marker))) {
            promote(pending, told);
        }
    }
}

void pending_promote_until(struct space *space, uint64_t marker)
{
    promote_until(space, marker, true);
}

static bool is_contained(const struct pending *pending,
                         const struct entity *entity)
{
    return pending != NULL && pending->state == PENDING_ACCEPTED &&
           pending->verdict.seq <= entity->seq;
}

/* Whether no layer from there on is contained: for deep checks; unused in other
 * builds. */
__attribute__((unused)) static bool is_all_open(const struct entity *entity,
                                                size_t from)
{
    const struct overlay *overlay = entity->overlay;
    for (size_t i = from; i < overlay->layers.count; i++) {
        if (is_contained(find(entity->space, overlay->layers.at[i].local_seq),
                         entity)) {
            return false;
        }
    }
    return true;
}

/* The store decides in the order of sending, and its verdicts come in that
 * order: behind a layer without a verdict no layer is contained. So the cost is
 * what is settled, not what is in flight. A layer that landed later than one
 * behind it was refused first, because its patch did not apply, and landed when
 * it was resent. */
void pending_absorb(struct entity *entity)
{
    for (size_t i = 0;
         entity->overlay != NULL && i < entity->overlay->layers.count;) {
        const uint64_t local_seq = entity->overlay->layers.at[i].local_seq;
        const struct pending *pending = find(entity->space, local_seq);
        if (is_contained(pending, entity)) {
            overlay_promote(entity, local_seq, pending->verdict.seq, true);
        } else if (pending == NULL || is_dead(pending) ||
                   pending->state == PENDING_ACCEPTED) {
            i++;
        } else {
            CHECK_DEEP(is_all_open(entity, i));
            return;
        }
    }
}

void pending_settle_promoted(struct space *space)
{
    LIST_FOREACH (&space->pending, node) {
        if (PENDING_OF(node)->promoted) {
            settle(PENDING_OF(node));
        }
    }
}

static void take_acceptance(struct pending *pending)
{
    struct space *space = pending->space;
    pending->state = PENDING_ACCEPTED;
    tell_verdict(pending);
    if (space->markers && !is_caught_up(pending, space->caught_up)) {
        return; /* parked */
    }
    promote(pending, true);
    struct notification notification = {
        .kind = NOTIFY_INTEGRATE,
        .space = space,
    };
    channel_publish(space->replica, &space->replica->changes, &notification);
    pending_settle_promoted(space);
}

/* A patch that applied here and does not apply at the store: the document has
 * changed. That is a conflict, and can be retried on the present state. */
static void take_as_conflict(struct verdict *verdict)
{
    switch ((int)verdict->err) {
    case ERR_PATCH_MISSING:
    case ERR_PATCH_TRAVERSAL:
    case ERR_PATCH_INDEX:
    case ERR_PATCH_TARGET:
    case ERR_PATCH_ROOT:
        verdict->err = ERR_CONFLICT;
        verdict->detail.err = ERR_CONFLICT;
        verdict->conflict_seq = verdict->head_seq;
        break;
    default:
        break;
    }
}

void pending_take_verdict(struct space *space,
                          uint64_t local_seq,
                          struct verdict *verdict)
{
    struct pending *pending = find(space, local_seq);
    if (pending == NULL || is_dead(pending) ||
        pending->state == PENDING_ACCEPTED) {
        /* Its outcome was known already: refused here because of what it read,
         * it is refused at the store for the same reason. */
        if (verdict->err == ERR_OK && pending != NULL && pending->doomed) {
            log_write(space->replica->log,
                      LOG_LEVEL_WARNING,
                      "the store accepted commit %llu, which was dropped here",
                      (unsigned long long)local_seq);
        }
        verdict_release(verdict);
        *verdict = (struct verdict){0};
        return;
    }
    verdict_release(&pending->verdict);
    pending->verdict = *verdict;
    *verdict = (struct verdict){0};
    take_as_conflict(&pending->verdict);
    if (pending->verdict.err == ERR_OK) {
        take_acceptance(pending);
    } else {
        take_refusal(pending);
    }
}

/* -- Settling everything ------------------------------------------------- */

void pending_confirm_landed(struct space *space)
{
    promote_until(space, UINT64_MAX, false);
    struct notification notification = {
        .kind = NOTIFY_INTEGRATE,
        .space = space,
    };
    channel_publish(space->replica, &space->replica->changes, &notification);
    pending_settle_promoted(space);
}

void pending_fail_all(struct space *space, enum err err, const char *why)
{
    /* Commits made by the callbacks are not sent: they fail, too. */
    struct replica *replica = space->replica;
    const bool pumping = replica->pumping;
    replica->pumping = true;
    pending_confirm_landed(space);
    while (!list_is_empty(&space->pending)) {
        struct pending *pending = PENDING_OF(list_last(&space->pending));
        if (pending->state != PENDING_REFUSED) {
            verdict_release(&pending->verdict);
            pending->verdict = (struct verdict){.err = err};
            (void)err_set(&pending->verdict.detail, err, "%s", why);
            tell_verdict(pending);
        }
        drop_one(pending);
    }
    replica->pumping = pumping;
}
