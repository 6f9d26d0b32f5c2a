/* Schemas by place, and the validation of writes. */

#include "runtime/schemas.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "replica/draft.h"
#include "runtime/runtime.h"

struct guard {
    struct place *place;   /* a reference */
    struct schema *schema; /* likewise */
    bool fills;
};

/* The guards of one document. */
struct guarded {
    const struct entity *entity; /* kept by the places */
    VEC(struct guard) guards;
};

struct schemas {
    struct map documents; /* struct guarded by entity */
};

static uint64_t entity_hash(const struct entity *entity)
{
    return (uint64_t)(uintptr_t)entity;
}

static bool is_guarded(const void *item, const void *key)
{
    const struct guarded *guarded = item;
    return guarded->entity == key;
}

static struct guarded *find(const struct schemas *schemas,
                            const struct entity *entity)
{
    return schemas == NULL ? NULL
                           : map_find(&schemas->documents,
                                      entity_hash(entity),
                                      is_guarded,
                                      entity);
}

static struct guard *guard_of(struct guarded *guarded,
                              const struct place *place)
{
    for (size_t i = 0; guarded != NULL && i < guarded->guards.count; i++) {
        if (guarded->guards.at[i].place == place) {
            return &guarded->guards.at[i];
        }
    }
    return NULL;
}

/* -- Setting ------------------------------------------------------------- */

static void guard_release(struct guard *guard)
{
    place_unref(guard->place);
    schema_unref(guard->schema);
}

static void guarded_free(struct guarded *guarded)
{
    VEC_FOREACH (&guarded->guards, guard) {
        guard_release(guard);
    }
    vec_release(&guarded->guards);
    mem_free(guarded, sizeof *guarded);
}

static void remove_guard(struct schemas *schemas,
                         struct guarded *guarded,
                         struct guard *guard)
{
    guard_release(guard);
    *guard = vec_pop(&guarded->guards);
    if (guarded->guards.count > 0) {
        return;
    }
    (void)map_remove(&schemas->documents,
                     entity_hash(guarded->entity),
                     is_guarded,
                     guarded->entity);
    guarded_free(guarded);
}

static struct guarded *add_document(struct runtime *runtime,
                                    const struct entity *entity)
{
    if (runtime->schemas == NULL) {
        runtime->schemas = mem_alloc_zero(sizeof *runtime->schemas);
    }
    struct guarded *guarded = mem_alloc_zero(sizeof *guarded);
    guarded->entity = entity;
    map_insert(&runtime->schemas->documents, entity_hash(entity), guarded);
    return guarded;
}

void schemas_set(struct runtime *runtime, const struct schemas_option *option)
{
    const struct entity *entity = option->place->entity;
    struct guarded *guarded = find(runtime->schemas, entity);
    struct guard *guard = guard_of(guarded, option->place);
    if (option->schema == NULL) {
        if (guard != NULL) {
            remove_guard(runtime->schemas, guarded, guard);
        }
        return;
    }
    const struct guard wanted = {
        .place = place_ref(option->place),
        .schema = schema_ref(option->schema),
        .fills = option->fills,
    };
    if (guard != NULL) {
        guard_release(guard);
        *guard = wanted;
        return;
    }
    if (guarded == NULL) {
        guarded = add_document(runtime, entity);
    }
    vec_push(&guarded->guards, wanted);
}

struct schema *schemas_at(const struct runtime *runtime,
                          const struct place *place)
{
    const struct guard *guard =
        guard_of(find(runtime->schemas, place->entity), place);
    return guard != NULL ? guard->schema : NULL;
}

void schemas_free(struct runtime *runtime)
{
    if (runtime->schemas == NULL) {
        return;
    }
    MAP_FOREACH (&runtime->schemas->documents, slot) {
        guarded_free(slot->item);
    }
    map_release(&runtime->schemas->documents);
    mem_free(runtime->schemas, sizeof *runtime->schemas);
    runtime->schemas = NULL;
}

/* -- Judging ------------------------------------------------------------- */

/* Where in the document, from its payload on, and what is wrong there. */
static enum err tell(const struct guard *guard,
                     const struct schema_fault *fault,
                     struct err_detail *detail)
{
    const struct text id = value_text(&guard->place->entity->id);
    const struct path *path = guard->place->path;
    const size_t above = path->length > 0 ? 1 : 0;
    struct buf pointer = {0};
    path_write_segments(&pointer, path->at + above, path->length - above);
    buf_append_text(&pointer, fault->pointer);
    const enum err err = err_set(detail,
                                 fault->err,
                                 "%.*s does not match its schema%s%s: %s",
                                 (int)(id.length < 80 ? id.length : 80),
                                 id.at,
                                 pointer.length > 0 ? " at " : "",
                                 buf_text(&pointer),
                                 fault->text);
    buf_release(&pointer);
    return err;
}

/* What is at the place of the guard, in the state that the transaction sees and
 * in the one that would be. */
static enum err judge_one(struct transaction *transaction,
                          const struct guard *guard,
                          const struct entity_state *state,
                          struct err_detail *detail)
{
    struct value before;
    struct value after;
    (void)transaction_read(transaction,
                           guard->place,
                           READ_DEEP,
                           READ_UNTRACKED,
                           &before);
    (void)entity_state_at(state, guard->place->path, &after);
    struct schema_fault fault = {0};
    enum err err = ERR_OK;
    if (!value_is_absent(after)) { /* schemas-3 */
        err = schema_check_change(guard->schema, before, after, &fault);
    }
    value_unref(before);
    value_unref(after);
    return err == ERR_OK ? ERR_OK : tell(guard, &fault, detail);
}

/* Whether the write is one at all; if not, it will say so itself. */
static bool is_write(enum write_kind kind, struct value value)
{
    switch (kind) {
    case WRITE_DELETE:
        return true;
    case WRITE_PUT:
    case WRITE_REMOVE_VALUE:
        return !value_is_absent(value);
    case WRITE_APPEND:
    case WRITE_ADD_UNIQUE:
        return value_is_array(value);
    case WRITE_INCREMENT:
        return value_is_number(value) && isfinite(value_real(value)) &&
               fpclassify(value_real(value)) != FP_ZERO;
    }
    UNREACHABLE("all kinds are above");
}

enum err schemas_judge(struct runtime *runtime,
                       struct transaction *transaction,
                       struct place *place,
                       enum write_kind kind,
                       struct value *value,
                       struct err_detail *detail)
{
    struct guarded *guarded = find(runtime->schemas, place->entity);
    if (guarded == NULL || !is_write(kind, *value)) {
        return ERR_OK;
    }
    const struct guard *here = guard_of(guarded, place);
    if (here != NULL && here->fills && kind == WRITE_PUT) {
        *value = schema_fill_adopt(here->schema, *value); /* schemas-4 */
    }
    struct entity_state state;
    if (draft_preview(transaction, kind, place, *value, &state, NULL) !=
        ERR_OK) {
        return ERR_OK; /* the write itself will say why */
    }
    enum err err = ERR_OK;
    for (size_t i = 0; i < guarded->guards.count && err == ERR_OK; i++) {
        const struct guard *guard = &guarded->guards.at[i];
        if (path_overlaps(guard->place->path, place->path)) {
            err = judge_one(transaction, guard, &state, detail);
        }
    }
    entity_state_release(&state);
    return err;
}
