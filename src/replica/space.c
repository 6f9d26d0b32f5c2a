/* Opening a space, and applying a transaction to it. */

#include "replica/space.h"
#include "proto/event.h"

#include "base/mem.h"
#include "proto/verdict.h"
#include "replica/commit_reads.h"
#include "replica/draft.h"
#include "replica/observe.h"
#include "replica/pending.h"
#include "replica/session.h"
#include "replica/space_selector.h"

/* -- Open and close ------------------------------------------------------ */

enum err space_open(struct replica *replica,
                    const struct space_options *options,
                    struct space **out,
                    struct err_detail *detail)
{
    *out = NULL;
    const enum err err = space_id_check(options->id, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct space *space = mem_alloc_zero(sizeof *space);
    list_node_init(&space->node);
    space->replica = replica;
    space->id = value_ref(options->id);
    space->branch = value_is_absent(options->branch)
                        ? value_text_new("")
                        : value_ref(options->branch);
    space->batch = options->batch;
    space->observer = options->observer;
    space->local_seq =
        options->first_local_seq > 0 ? options->first_local_seq - 1 : 0;
    list_init(&space->pending);
    list_init(&space->selectors);
    if (options->transport != NULL) {
        space->session = session_new(space, options);
    }
    list_push_back(&replica->spaces, &space->node);
    *out = space;
    return ERR_OK;
}

void space_close(struct space *space)
{
    CHECK(space->replica->open == 0);
    if (space->session != NULL) {
        session_close(space->session);
    }
    pending_fail_all(space, ERR_CLOSED, "the space was closed");
    if (space->session != NULL) {
        session_free(space->session);
    }
    space_selectors_free(space);
    MAP_FOREACH (&space->entities, slot) {
        entity_free(slot->item);
    }
    map_release(&space->entities);
    vec_release(&space->wanted);
    space_forget_unwanted(space);
    vec_release(&space->unwanted);
    vec_release(&space->loading);
    list_remove(&space->node);
    value_unref(space->id);
    value_unref(space->branch);
    mem_free(space, sizeof *space);
}

size_t space_outstanding(const struct space *space)
{
    size_t count = 0;
    LIST_FOREACH (&space->pending, node) {
        count++;
    }
    return count;
}

void space_flush(struct space *space)
{
    if (space->session != NULL) {
        session_flush(space->session);
        replica_pump(space->replica);
    }
}

bool space_flush_group(struct space *space)
{
    struct session *session = space->session;
    if (session == NULL) {
        return false;
    }
    const uint64_t sent = session->counters.sent_commits;
    const size_t wanted = space->wanted.count;
    session_flush_group(session);
    replica_pump(space->replica);
    return (session->counters.sent_commits != sent ||
            space->wanted.count < wanted) &&
           (space->wanted.count > 0 || space_has_commits(space));
}

bool space_has_commits(const struct space *space)
{
    return space->session != NULL && session_has_commits(space->session);
}

void space_watch(struct space *space, struct entity *entity)
{
    entity->watched = true;
    entity->answered = false;
    if (!entity->queued) {
        entity->queued = true;
        vec_push(&space->wanted, entity);
    }
    space->replica->needs_step = true;
}

void space_want(struct space *space, struct entity *entity)
{
    if ((entity->watched && !entity->unloaded) || space->session == NULL) {
        return;
    }
    space->unloaded -= entity->unloaded;
    entity->unloaded = false;
    space_watch(space, entity);
    if (!entity->loaded) {
        vec_push(&space->loading, entity);
    }
}

void space_follow(struct space *space, struct entity *entity, uint64_t seq)
{
    if (entity->loaded || space->session == NULL ||
        (entity->watched && entity->known == seq)) {
        return;
    }
    if (entity->watched || seq == 0) {
        entity->ambiguous_base = true;
        space_want(space, entity);
        return;
    }
    entity->unloaded = true;
    entity->known = seq;
    space->unloaded++;
    space_watch(space, entity);
}

bool space_unwant(struct space *space, struct entity *entity)
{
    if (!entity->watched) {
        return true;
    }
    if (!entity->loaded || !entity->answered || entity->queued ||
        entity->unloaded || entity->pushed) {
        return false;
    }
    const struct target target = {value_ref(entity->id), entity->scope};
    vec_push(&space->unwanted, target);
    entity->watched = false;
    (void)space_is_loading(space); /* drops what has arrived */
    return true;
}

void space_forget_unwanted(struct space *space)
{
    VEC_FOREACH (&space->unwanted, target) {
        value_unref(target->id);
    }
    vec_clear(&space->unwanted);
}

bool space_fill(struct space *space)
{
    if (LIKELY(space->unloaded == 0)) {
        return false;
    }
    MAP_FOREACH (&space->entities, slot) {
        struct entity *entity = slot->item;
        if (entity->unloaded) {
            space_want(space, entity);
        }
    }
    return true;
}

bool space_is_loading(struct space *space)
{
    size_t kept = 0;
    VEC_FOREACH (&space->loading, entity) {
        if (!(*entity)->loaded && (*entity)->watched) {
            space->loading.at[kept++] = *entity;
        }
    }
    space->loading.count = kept;
    return kept > 0;
}

/* -- Without a store ----------------------------------------------------- */

/* The drafts of the transaction that change something here become visible. */
static void show_drafts(struct space *space,
                        const struct transaction *transaction)
{
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        struct entity *entity = draft->entity;
        if (!draft->effective || entity->space != space) {
            continue;
        }
        change_list_touch(&space->replica->changes, entity);
        const struct entity_state work = entity_state_ref(&draft->work);
        entity_state_release(&entity->visible);
        entity->visible = work;
        if (space->session == NULL) {
            entity->seq = space->seq;
        }
    }
}

static void tell_commit(struct space *space,
                        const struct transaction *transaction,
                        uint64_t local_seq)
{
    space->replica->counters.commits++;
    struct notification notification = {
        .kind = NOTIFY_COMMIT,
        .space = space,
        .local_seq = local_seq,
        .source = transaction->source,
        .group = transaction->group,
    };
    channel_publish(space->replica, &space->replica->changes, &notification);
}

/* A document that must be new, and is not. */
static enum err check_create_only(const struct space *space,
                                  const struct transaction *transaction,
                                  struct err_detail *detail)
{
    VEC_FOREACH (&transaction->conditions, condition) {
        const struct entity *entity = condition->entity;
        if (condition->kind == PRECONDITION_ENTITY_ABSENT &&
            entity->space == space && entity->seq > 0 &&
            !event_is_given_up(entity->visible.rest)) {
            const struct text id = value_text(&entity->id);
            return err_set(detail,
                           ERR_RECEIPT_EXISTS,
                           "%.*s already exists",
                           (int)id.length,
                           id.at);
        }
    }
    return ERR_OK;
}

void space_settle_local(const struct space *space,
                        const struct transaction *transaction)
{
    const struct commit_watch *watch = &transaction->watch;
    if (LIKELY(watch->verdict == NULL && watch->settled == NULL)) {
        return;
    }
    const struct verdict verdict = {.seq = space->seq};
    if (watch->verdict != NULL) {
        watch->verdict(watch->ctx, &verdict);
    }
    if (watch->settled != NULL) {
        watch->settled(watch->ctx, &verdict);
    }
}

static enum err apply_at_once(struct space *space,
                              struct transaction *transaction,
                              struct err_detail *detail)
{
    const enum err err = check_create_only(space, transaction, detail);
    if (err != ERR_OK) {
        return err;
    }
    space->seq++;
    transaction->applied++;
    show_drafts(space, transaction);
    tell_commit(space, transaction, 0);
    space_settle_local(space, transaction);
    return ERR_OK;
}

/* -- With a store -------------------------------------------------------- */

/* Builds the commit for the store; nothing is applied yet. */
static void build_commit(struct pending *pending,
                         const struct space *space,
                         struct transaction *transaction)
{
    struct commit *commit = &pending->commit;
    /* The store may still have to choose the name: it is set again when the
     * commit is sent. */
    const struct text name = value_text(&space->session->id);
    commit->session = name.length > 0 ? value_ref(space->session->id)
                                      : value_text_new("unnamed");
    commit->local_seq = space->local_seq + 1;
    commit->branch = value_ref(space->branch);
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        struct draft *draft = transaction->drafts.at[i];
        if (draft->effective && draft->entity->space == space) {
            draft_operation(draft, commit_add_op(commit));
            vec_push(&pending->entities, draft->entity);
        } else if (draft->entity->space == space) {
            draft_claim(draft);
        }
    }
    commit_reads_add(commit, space, transaction);
    if (transaction->claims_view) {
        commit->view = (struct commit_view){true, space->seq, space->ahead};
    }
    if (UNLIKELY(transaction->observation != NULL)) {
        observe_attach(pending, transaction);
    }
}

/* Each operation becomes a layer. The states before are in the change list, in
 * the same order. */
static void push_layers(struct pending *pending)
{
    const struct change_list *changes = &pending->space->replica->changes;
    CHECK(changes->at.count == pending->entities.count);
    for (size_t i = 0; i < pending->entities.count; i++) {
        overlay_push(pending->entities.at[i],
                     &changes->at.at[i].before,
                     pending->commit.local_seq,
                     &pending->commit.ops.at[i]);
    }
}

static enum err apply_and_queue(struct space *space,
                                struct transaction *transaction,
                                struct err_detail *detail)
{
    enum err err = session_check(space->session, detail);
    if (err == ERR_OK) {
        err = check_create_only(space, transaction, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    struct pending *pending = pending_new(space, transaction);
    build_commit(pending, space, transaction);
    err = commit_check(&pending->commit, detail);
    if (err != ERR_OK) {
        pending_end(pending);
        return err;
    }
    space->local_seq++;
    transaction->local_seq = space->local_seq;
    const struct origin here = {space, space->local_seq};
    vec_push(&transaction->commits, here);
    transaction->applied++;
    transaction->has_more = true;
    show_drafts(space, transaction);
    push_layers(pending);
    list_push_back(&space->pending, &pending->node);
    space->ahead++;
    pending_inherit(pending);
    tell_commit(space, transaction, space->local_seq);
    space->replica->needs_step = true;
    return ERR_OK;
}

enum err space_apply(struct space *space,
                     struct transaction *transaction,
                     struct err_detail *detail)
{
    return space->session == NULL ? apply_at_once(space, transaction, detail)
                                  : apply_and_queue(space, transaction, detail);
}
