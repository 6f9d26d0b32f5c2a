/* Writes to one entity, and the operation that they amount to. */

#include "replica/draft.h"

#include "base/mem.h"
#include "replica/payload_write.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "value/array.h"
#include "value/compare.h"

/* -- Finding a draft ----------------------------------------------------- */

struct draft *draft_find(const struct transaction *transaction,
                         const struct entity *entity)
{
    struct draft *draft = entity->draft;
    while (draft != NULL && draft->transaction != transaction) {
        draft = draft->beneath;
    }
    return draft;
}

/* An entity before the first write of the transaction: its visible state or,
 * for a scratch, what the transaction under it has made of that. */
static const struct entity_state *state_under(
    const struct transaction *transaction,
    const struct entity *entity)
{
    struct transaction *under = transaction->under;
    const struct draft *draft = NULL;
    if (UNLIKELY(under != NULL)) {
        payload_write_expand(under);
        draft = draft_find(under, entity);
    }
    return draft != NULL ? &draft->work : &entity->visible;
}

struct draft *draft_of(struct transaction *transaction, struct entity *entity)
{
    struct draft *draft = draft_find(transaction, entity);
    if (draft != NULL) {
        return draft;
    }
    if (transaction->drafts_used == transaction->drafts.count) {
        draft = mem_alloc_zero(sizeof *draft);
        draft->transaction = transaction;
        vec_push(&transaction->drafts, draft);
    }
    draft = transaction->drafts.at[transaction->drafts_used++];
    transaction->has_more = true;
    draft->entity = entity;
    const struct entity_state *state = state_under(transaction, entity);
    draft->base = entity_state_ref(state);
    draft->work = entity_state_ref(state);
    draft->version = entity->version;
    draft->beneath = entity->draft;
    entity->draft = draft;
    return draft;
}

static void forget_index(struct draft *draft);

void draft_clear(struct draft *draft)
{
    forget_index(draft);
    struct draft **link = &draft->entity->draft;
    while (*link != draft) {
        link = &(*link)->beneath;
    }
    *link = draft->beneath;
    draft->entity = NULL;
    entity_state_release(&draft->base);
    entity_state_release(&draft->work);
    VEC_FOREACH (&draft->writes, write) {
        value_unref(write->value);
        path_unref(write->step);
        place_unref(write->place);
    }
    vec_clear(&draft->writes);
    draft_drop_claims(draft);
}

void draft_drop_claims(struct draft *draft)
{
    VEC_FOREACH (&draft->claims, path) {
        path_unref(*path);
    }
    draft->claims.count = 0;
}

void draft_free(struct draft *draft)
{
    vec_release(&draft->writes);
    vec_release(&draft->claims);
    mem_free(draft, sizeof *draft);
}

/* -- Writing ------------------------------------------------------------- */

static const struct replica *replica_of(const struct draft *draft)
{
    return draft->transaction->replica;
}

static struct value look(const struct entity_state *state,
                         const struct path *path)
{
    struct value value;
    (void)entity_state_at(state, path, &value);
    return value;
}

enum patch_kind draft_patch_kind(enum write_kind kind)
{
    switch (kind) {
    case WRITE_PUT:
        return PATCH_REPLACE;
    case WRITE_DELETE:
        return PATCH_REMOVE;
    case WRITE_APPEND:
        return PATCH_APPEND;
    case WRITE_ADD_UNIQUE:
        return PATCH_ADD_UNIQUE;
    case WRITE_REMOVE_VALUE:
        return PATCH_REMOVE_BY_VALUE;
    case WRITE_INCREMENT:
        return PATCH_INCREMENT;
    }
    UNREACHABLE("all kinds are above");
}

/* Translates the error of a patch to that of a write. */
static enum err err_of_write(enum err err)
{
    if (err == ERR_PATCH_MISSING) {
        return ERR_NOT_FOUND;
    }
    if (err == ERR_PATCH_TRAVERSAL || err == ERR_PATCH_TARGET) {
        return ERR_TYPE;
    }
    return err == ERR_PATCH_INDEX ? ERR_RANGE : err;
}

/* Applies the write as a patch of one step on the whole document. */
static enum err apply_as_patch(struct entity_state *state,
                               struct patch_op *op,
                               struct patch_trace *trace,
                               struct err_detail *detail)
{
    struct patch patch = {0};
    patch.ops.at = op;
    patch.ops.count = 1;
    const struct value base = entity_state_document(state);
    struct value document;
    const enum err err = patch_apply(&patch,
                                     base,
                                     PATCH_ROOT_DOCUMENT,
                                     &document,
                                     trace,
                                     detail);
    value_unref(base);
    if (err != ERR_OK) {
        if (detail != NULL) {
            detail->err = err_of_write(err);
        }
        return err_of_write(err);
    }
    entity_state_release(state);
    *state = entity_state_of(document);
    value_unref(document);
    return ERR_OK;
}

/* Writes the document as a whole. */
static enum err write_root(struct entity_state *state,
                           const struct write_entry *write,
                           struct err_detail *detail)
{
    if (write->kind > WRITE_DELETE) {
        return err_set(detail,
                       ERR_TYPE,
                       "a document is an object: merges apply to values inside "
                       "it");
    }
    if (write->kind == WRITE_PUT && !value_is_object(write->value)) {
        return err_set(detail,
                       ERR_PATCH_ROOT,
                       "a document must be an object, not %s",
                       value_kind_name(value_kind(write->value)));
    }
    entity_state_release(state);
    *state = entity_state_of(write->value);
    return ERR_OK;
}

/* The array that contains the element at `path`, if any. Owned. */
static struct value array_around(const struct entity_state *state,
                                 struct path *path,
                                 struct path **parent)
{
    *parent = path_prefix(path, path->length - 1);
    struct value value = look(state, *parent);
    if (!value_is_array(value)) {
        value_unref(value);
        value = VALUE_NONE;
    }
    return value;
}

static void step_up(struct write_entry *write, size_t length)
{
    if (length < write->step->length) {
        struct path *up = path_prefix(write->step, length);
        path_unref(write->step);
        write->step = up;
    }
}

/* Where else than at its path a write that was just applied shows: at a
 * container that became a leaf (value-4), below which no difference can be
 * found any more; at an array that has a new element (draft-3); at the first
 * container that it had to create. */
static void place_step(const struct entity_state *state,
                       const struct patch_trace *trace,
                       struct write_entry *write)
{
    struct path *path = write->place->path;
    if (trace->created_length > 0) {
        struct path *around = path_prefix(path, trace->created_length - 1);
        const struct value container = look(state, around);
        const bool in_array = value_is_array(container);
        value_unref(container);
        path_unref(around);
        write->creates = !in_array && trace->created_length < path->length;
        step_up(write, trace->created_length - in_array);
    }
    if (trace->collapsed > 0 && trace->collapsed - 1 < write->step->length) {
        write->creates = false;
        step_up(write, trace->collapsed - 1);
    }
}

/* A put or a delete below the root; for writes that merge, their own operation
 * is enough. Sets write->step. */
static enum err write_below(struct entity_state *state,
                            struct write_entry *write,
                            struct err_detail *detail)
{
    struct path *path = write->place->path;
    struct patch_op op = {
        .kind = draft_patch_kind(write->kind),
        .path = path,
        .value = write->value,
    };
    const struct value old = look(state, path);
    struct path *parent;
    const struct value array = array_around(state, path, &parent);
    const bool in_array = !value_is_absent(array);
    write->vacant = value_is_absent(old);
    const bool behind =
        in_array && path->at[path->length - 1].index == array_count(array);
    bool nothing = false;
    bool resizes = false;
    if (write->kind == WRITE_PUT) {
        op.kind = behind ? PATCH_ADD : PATCH_REPLACE;
        resizes = behind;
    } else if (write->kind == WRITE_DELETE) {
        nothing = value_is_absent(old);
        resizes = in_array;
    }
    const bool beyond =
        write->kind == WRITE_PUT && in_array && !behind && value_is_absent(old);
    write->step = path_ref(resizes ? parent : path);
    path_unref(parent);
    value_unref(array);
    value_unref(old);
    if (beyond) {
        return err_set(detail,
                       ERR_RANGE,
                       "the index is beyond the end of the array");
    }
    if (nothing) {
        return ERR_OK;
    }
    struct patch_trace trace = {0};
    const enum err err = apply_as_patch(state, &op, &trace, detail);
    if (err == ERR_OK) {
        place_step(state, &trace, write);
    }
    return err;
}

static enum err apply_write(const struct replica *replica,
                            struct entity_state *state,
                            struct write_entry *write,
                            struct err_detail *detail)
{
    struct path *path = write->place->path;
    if (write->kind == WRITE_PUT && path == replica->payload_path &&
        (!value_is_absent(state->payload) || !entity_state_exists(state))) {
        /* Nearly every write. A document may begin with it. */
        write->vacant = value_is_absent(state->payload);
        value_unref(state->payload);
        state->payload = value_ref(write->value);
        if (!entity_state_exists(state)) {
            state->rest = value_empty_object();
        }
        write->step = path_ref(path);
        return ERR_OK;
    }
    if (path->length == 0) {
        write->step = path_ref(path);
        return write_root(state, write, detail);
    }
    if (!entity_state_exists(state) && write->kind == WRITE_PUT &&
        path != replica->payload_path) {
        return err_set(detail, ERR_NOT_FOUND, "document not found");
    }
    return write_below(state, write, detail);
}

enum err draft_write_adopt(struct draft *draft,
                           enum write_kind kind,
                           struct place *place,
                           struct value value,
                           struct err_detail *detail)
{
    if (kind == WRITE_PUT && value_is_container(value)) {
        const struct value old = look(&draft->work, place->path);
        if (value_is_container(old)) {
            value = value_reuse_adopt(old, value);
        }
        value_unref(old);
    }
    struct write_entry *write = vec_add(&draft->writes);
    write->place = place_ref(place);
    write->step = NULL;
    write->value = value;
    write->kind = kind;
    write->creates = false;
    write->vacant = false;
    write->changed = false;
    const enum err err =
        apply_write(replica_of(draft), &draft->work, write, detail);
    if (UNLIKELY(err != ERR_OK)) {
        draft->writes.count--;
        path_unref(write->step);
        value_unref(value);
        place_unref(place);
    }
    return err;
}

enum err draft_preview(struct transaction *transaction,
                       enum write_kind kind,
                       struct place *place,
                       struct value value,
                       struct entity_state *out,
                       struct err_detail *detail)
{
    const struct entity *entity = place->entity;
    if (payload_write_has(transaction, entity)) {
        payload_write_expand(transaction);
    }
    const struct draft *draft = draft_find(transaction, entity);
    struct entity_state state = entity_state_ref(
        draft != NULL ? &draft->work : state_under(transaction, entity));
    struct write_entry write = {.place = place, .kind = kind};
    const struct value old = look(&state, place->path);
    write.value = value_ref(value);
    if (kind == WRITE_PUT && value_is_container(value) &&
        value_is_container(old)) {
        write.value = value_reuse_adopt(old, write.value);
    }
    value_unref(old);
    const enum err err =
        apply_write(transaction->replica, &state, &write, detail);
    path_unref(write.step);
    value_unref(write.value);
    if (err != ERR_OK) {
        entity_state_release(&state);
        return err;
    }
    *out = state;
    return ERR_OK;
}

enum err draft_rebase(struct draft *draft, struct err_detail *detail)
{
    const struct entity *entity = draft->entity;
    struct entity_state work = entity_state_ref(&entity->visible);
    forget_index(draft);
    VEC_FOREACH (&draft->writes, write) {
        path_unref(write->step);
        write->step = NULL;
        write->creates = false;
        const enum err err =
            apply_write(replica_of(draft), &work, write, detail);
        if (err != ERR_OK) {
            entity_state_release(&work);
            return err_set(detail,
                           ERR_STALE,
                           "another transaction changed the document, and the "
                           "write no longer applies");
        }
    }
    entity_state_release(&draft->base);
    entity_state_release(&draft->work);
    draft->base = entity_state_ref(&entity->visible);
    draft->work = work;
    draft->version = entity->version;
    return ERR_OK;
}

/* -- Queries by reads ---------------------------------------------------- */

enum {
    FEW_WRITES = 16
};

static bool covers(const struct write_entry *write)
{
    return write->kind <= WRITE_DELETE;
}

static bool moves(const struct write_entry *write)
{
    return write->kind == WRITE_REMOVE_VALUE ||
           (write->kind == WRITE_DELETE && write->step != write->place->path);
}

static void forget_index(struct draft *draft)
{
    if (UNLIKELY(draft->indexed > 0)) {
        path_set_release(&draft->covering);
        vec_release(&draft->moving);
        draft->indexed = 0;
    }
}

static void add_moving(struct draft *draft, struct path *step)
{
    VEC_FOREACH (&draft->moving, known) {
        draft->looked_at++;
        if (*known == step) {
            return;
        }
    }
    vec_push(&draft->moving, step);
}

/* Indexes each write once, however often writes and reads alternate. */
static void complete_index(struct draft *draft)
{
    for (; draft->indexed < draft->writes.count; draft->indexed++) {
        const struct write_entry *write = &draft->writes.at[draft->indexed];
        draft->looked_at++;
        if (covers(write)) {
            path_set_add(&draft->covering, write->place->path);
        }
        if (moves(write)) {
            add_moving(draft, write->step);
        }
    }
}

bool draft_covers(struct draft *draft, const struct path *path)
{
    if (draft->writes.count > FEW_WRITES) {
        complete_index(draft);
        return path_set_covers(&draft->covering, path);
    }
    VEC_FOREACH (&draft->writes, write) {
        if (covers(write) && path_is_prefix(write->place->path, path)) {
            return true;
        }
    }
    return false;
}

/* The shorter one of two arrays above `path`, one of which may be NULL. */
static struct path *outer_array(struct path *found,
                                struct path *step,
                                const struct path *path)
{
    return step->length < path->length && path_is_prefix(step, path) &&
                   (found == NULL || step->length < found->length)
               ? step
               : found;
}

struct path *draft_moved(struct draft *draft, const struct path *path)
{
    struct path *found = NULL;
    if (draft->writes.count > FEW_WRITES) {
        complete_index(draft);
        VEC_FOREACH (&draft->moving, step) {
            draft->looked_at++;
            found = outer_array(found, *step, path);
        }
        return found;
    }
    VEC_FOREACH (&draft->writes, write) {
        if (moves(write)) {
            found = outer_array(found, write->step, path);
        }
    }
    return found;
}

bool draft_finish(struct draft *draft)
{
    if (draft->writes.count == 1 &&
        draft->writes.at[0].place->path == replica_of(draft)->payload_path) {
        return draft->writes.at[0].changed =
                   !entity_state_equal(&draft->base, &draft->work);
    }
    if (draft->writes.count == 1 && !entity_state_exists(&draft->base)) {
        /* A document that is new as a whole: usually a receipt. */
        return draft->writes.at[0].changed = entity_state_exists(&draft->work);
    }
    bool changed = false;
    VEC_FOREACH (&draft->writes, write) {
        const struct value before = look(&draft->base, write->step);
        const struct value after = look(&draft->work, write->step);
        write->changed = !value_equal(before, after);
        changed = changed || write->changed;
        value_unref(before);
        value_unref(after);
    }
    return changed || !entity_state_equal(&draft->base, &draft->work);
}
