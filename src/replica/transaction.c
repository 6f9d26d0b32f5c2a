/* The life of a transaction. */

#include "replica/transaction.h"

#include <math.h>

#include "base/mem.h"
#include "replica/draft.h"
#include "replica/quick.h"
#include "replica/replica.h"
#include "replica/session.h"
#include "replica/space.h"
#include "value/compare.h"

/* -- Begin and end ------------------------------------------------------- */

struct transaction *transaction_begin(struct replica *replica,
                                      const struct transaction_options *options)
{
    struct transaction *transaction = replica->idle_transactions.count > 0
                                          ? vec_pop(&replica->idle_transactions)
                                          : mem_alloc_zero(sizeof *transaction);
    transaction->replica = replica;
    transaction->epoch = ++replica->epoch;
    transaction->state = TRANSACTION_OPEN;
    if (options != NULL) {
        transaction->source = options->source;
        transaction->group = options->group;
        transaction->attempt = options->attempt;
        transaction->several_spaces = options->several_spaces;
        transaction->watch = options->watch;
        transaction->causes = options->causes;
        transaction->cause_count = options->cause_count;
    }
    replica->open++;
    return transaction;
}

/* What waited for the end of the last open transaction. */
static void close_transaction(struct transaction *transaction,
                              enum transaction_state state)
{
    struct replica *replica = transaction->replica;
    transaction->state = state;
    CHECK(replica->open > 0);
    replica->open--;
    if (replica->restless) {
        replica_settle(replica);
    }
}

void transaction_abort(struct transaction *transaction)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    close_transaction(transaction, TRANSACTION_ABORTED);
}

/* What it has logged and collected, gone; the room stays. */
void transaction_empty(struct transaction *transaction)
{
    struct read_entry *read = transaction->reads.at;
    for (size_t left = transaction->reads.count; left > 0; left--, read++) {
        value_unref(read->seen);
        place_unref(read->place);
    }
    transaction->reads.count = 0;
    if (transaction->quick.count > 0) {
        quick_clear(transaction);
    }
    while (transaction->drafts_used > 0) {
        draft_clear(transaction->drafts.at[--transaction->drafts_used]);
    }
    transaction->create_only.count = 0;
    transaction->origins.count = 0;
    transaction->unloaded = 0;
    transaction->local_seq = 0;
}

void transaction_again(struct transaction *transaction)
{
    struct replica *replica = transaction->replica;
    CHECK(transaction->state != TRANSACTION_OPEN);
    CHECK(transaction->reads.count == 0);
    transaction->epoch = ++replica->epoch;
    transaction->state = TRANSACTION_OPEN;
    replica->open++;
}

/* Empty, with all the room that it had. */
static void transaction_clear(struct transaction *transaction)
{
    transaction_empty(transaction);
    transaction->source = NULL;
    transaction->group = NULL;
    transaction->attempt = 0;
    transaction->several_spaces = false;
    transaction->watch = (struct commit_watch){0};
    transaction->causes = NULL;
    transaction->cause_count = 0;
}

void transaction_release(struct transaction *transaction)
{
    if (transaction->state == TRANSACTION_OPEN) {
        transaction_abort(transaction);
    }
    transaction_clear(transaction);
    vec_push(&transaction->replica->idle_transactions, transaction);
}

void transaction_free(struct transaction *transaction)
{
    VEC_FOREACH (&transaction->drafts, draft) {
        draft_free(*draft);
    }
    vec_release(&transaction->drafts);
    vec_release(&transaction->reads);
    vec_release(&transaction->quick);
    vec_release(&transaction->create_only);
    vec_release(&transaction->origins);
    mem_free(transaction, sizeof *transaction);
}

/* -- Reading ------------------------------------------------------------- */

static enum err look(const struct entity_state *state,
                     const struct place *place,
                     struct value *out)
{
    if (place == place->entity->payload && !value_is_absent(state->payload)) {
        *out = value_ref(state->payload);
        return ERR_OK;
    }
    return entity_state_at(state, place->path, out);
}

static void log_read(struct transaction *transaction,
                     struct place *place,
                     enum read_kind kind,
                     unsigned flags,
                     struct value seen)
{
    transaction_log_read(transaction, place, kind, flags, seen);
    const struct draft *draft = draft_find(transaction, place->entity);
    vec_last(&transaction->reads)->own =
        draft != NULL && draft_covers(draft, place->path);
}

/* A read of what was elsewhere in an array before this transaction's own
 * writes is one of the whole array: its place says nothing. */
static bool log_moved(struct transaction *transaction,
                      const struct draft *draft,
                      unsigned flags,
                      const struct place *place)
{
    struct path *array = draft_moved(draft, place->path);
    if (array == NULL) {
        return false;
    }
    struct place *around = place_of(place->entity, array);
    if (flags != READ_FOR_BOTH ||
        !transaction_has_logged(transaction, around, READ_DEEP)) {
        struct value seen;
        (void)look(&place->entity->visible, around, &seen);
        log_read(transaction, around, READ_DEEP, flags, seen);
        value_unref(seen);
    }
    place_unref(around);
    return true;
}

enum err transaction_read_any(struct transaction *transaction,
                              struct place *place,
                              enum read_kind kind,
                              unsigned flags,
                              struct value *out)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    struct entity *entity = place->entity;
    if (UNLIKELY(!entity->loaded)) {
        transaction->unloaded++;
        space_want(entity->space, entity);
    }
    const enum err err = look(&entity->visible, place, out);
    const struct draft *draft = NULL;
    if (UNLIKELY(transaction->quick.count > 0) &&
        quick_has(transaction, entity)) {
        quick_expand(transaction);
    }
    if (UNLIKELY(transaction->drafts_used > 0)) {
        draft = draft_find(transaction, entity);
    }
    if (flags != READ_UNTRACKED &&
        (draft == NULL || !log_moved(transaction, draft, flags, place)) &&
        (flags != READ_FOR_BOTH ||
         !transaction_has_logged(transaction, place, kind))) {
        log_read(transaction, place, kind, flags, *out);
    }
    if (LIKELY(draft == NULL)) {
        return err;
    }
    value_unref(*out);
    return look(&draft->work, place, out);
}

/* -- Writing ------------------------------------------------------------- */

static enum err check_space(const struct transaction *transaction,
                            const struct space *space,
                            struct err_detail *detail)
{
    if (transaction->several_spaces || transaction->drafts_used == 0 ||
        transaction->drafts.at[0]->entity->space == space) {
        return ERR_OK;
    }
    return err_set(detail,
                   ERR_ARGUMENT,
                   "a transaction writes to one space unless it says that it "
                   "will write to several");
}

static enum err write_adopt(struct transaction *transaction,
                            enum write_kind kind,
                            struct place *place,
                            struct value value,
                            struct err_detail *detail)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    struct entity *entity = place->entity;
    quick_expand(transaction);
    const enum err err = check_space(transaction, entity->space, detail);
    if (err != ERR_OK) {
        value_unref(value);
        return err;
    }
    if (UNLIKELY(!entity->loaded)) {
        space_want(entity->space, entity);
    }
    return draft_write_adopt(draft_of(transaction, entity),
                             kind,
                             place,
                             value,
                             detail);
}

enum err transaction_put_adopt(struct transaction *transaction,
                               struct place *place,
                               struct value value,
                               struct err_detail *detail)
{
    if (value_is_absent(value)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "nothing cannot be written: delete it instead");
    }
    CHECK(transaction->state == TRANSACTION_OPEN);
    if (LIKELY(quick_put_adopt(transaction, place, value))) {
        return ERR_OK;
    }
    return write_adopt(transaction, WRITE_PUT, place, value, detail);
}

enum err transaction_delete(struct transaction *transaction,
                            struct place *place,
                            struct err_detail *detail)
{
    return write_adopt(transaction, WRITE_DELETE, place, VALUE_NONE, detail);
}

enum err transaction_merge_adopt(struct transaction *transaction,
                                 struct place *place,
                                 enum write_kind kind,
                                 struct value value,
                                 struct err_detail *detail)
{
    CHECK(kind > WRITE_DELETE);
    const bool list = kind == WRITE_APPEND || kind == WRITE_ADD_UNIQUE;
    const bool number = value_is_number(value) && isfinite(value_real(value));
    const bool fits = list                      ? value_is_array(value)
                      : kind == WRITE_INCREMENT ? number
                                                : !value_is_absent(value);
    if (kind == WRITE_INCREMENT && fits &&
        fpclassify(value_real(value)) == FP_ZERO) {
        return ERR_OK; /* there is no such operation */
    }
    if (!fits) {
        const char *got = value_kind_name(value_kind(value));
        value_unref(value);
        return err_set(detail,
                       ERR_TYPE,
                       list ? "what is added must be an array, not %s"
                       : kind == WRITE_INCREMENT
                           ? "what is added must be a finite number, not %s"
                           : "what is removed must be a value, not %s",
                       got);
    }
    return write_adopt(transaction, kind, place, value, detail);
}

/* -- Conditions ---------------------------------------------------------- */

void transaction_create_only(struct transaction *transaction,
                             struct entity *entity)
{
    vec_push(&transaction->create_only, entity);
}

void transaction_needs(struct transaction *transaction,
                       struct space *space,
                       uint64_t local_seq)
{
    const struct origin origin = {space, local_seq};
    vec_push(&transaction->origins, origin);
}

/* -- Committing ---------------------------------------------------------- */

/* T2: whether what was read is what it was. */
static enum err validate(const struct transaction *transaction,
                         struct err_detail *detail)
{
    VEC_FOREACH (&transaction->reads, read) {
        const struct entity *entity = read->place->entity;
        if (LIKELY(entity->version == read->version) || read->own ||
            (read->flags & READ_NOT_FOR_COMMIT) != 0) {
            continue;
        }
        struct value now;
        (void)entity_state_at(&entity->visible, read->place->path, &now);
        const bool same = read->kind == READ_DEEP
                              ? value_equal(now, read->seen)
                              : value_shape_equal(now, read->seen);
        value_unref(now);
        if (!same) {
            const struct text id = value_text(&entity->id);
            return err_set(detail,
                           ERR_STALE,
                           "%.*s was changed by another transaction since it "
                           "was read",
                           (int)id.length,
                           id.at);
        }
    }
    return ERR_OK;
}

/* Finishes the drafts, and drops those without effect to the end. */
static enum err finish_drafts(struct transaction *transaction,
                              size_t *effective,
                              struct err_detail *detail)
{
    *effective = 0;
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        struct draft *draft = transaction->drafts.at[i];
        if (UNLIKELY(draft->version != draft->entity->version)) {
            const enum err err = draft_rebase(draft, detail);
            if (err != ERR_OK) {
                return err;
            }
        }
        draft->effective = draft_finish(draft);
        *effective += draft->effective;
    }
    return ERR_OK;
}

/* Whether an earlier draft has an effect in that space. */
static bool is_applied(const struct transaction *transaction, size_t before)
{
    const struct space *space = transaction->drafts.at[before]->entity->space;
    for (size_t i = 0; i < before; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        if (draft->effective && draft->entity->space == space) {
            return true;
        }
    }
    return false;
}

/* The same for quick writes. False if they are drafts now. */
static bool apply_quickly(struct transaction *transaction,
                          struct err_detail *detail,
                          enum err *err)
{
    size_t effective;
    if (transaction->create_only.count > 0) {
        quick_expand(transaction);
        return false;
    }
    if (!quick_finish(transaction, &effective)) {
        return false;
    }
    *err = ERR_OK;
    if (effective > 0) {
        *err = validate(transaction, detail);
        if (*err == ERR_OK) {
            quick_apply(transaction);
        }
    }
    return true;
}

static enum err apply(struct transaction *transaction,
                      struct err_detail *detail)
{
    size_t effective;
    enum err quick;
    if (LIKELY(transaction->quick.count > 0) &&
        apply_quickly(transaction, detail, &quick)) {
        return quick;
    }
    enum err err = finish_drafts(transaction, &effective, detail);
    if (err != ERR_OK || effective == 0) {
        return err; /* T3 */
    }
    err = validate(transaction, detail);
    for (size_t i = 0; i < transaction->drafts_used && err == ERR_OK; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        if (draft->effective && !is_applied(transaction, i)) {
            err = space_apply(draft->entity->space, transaction, detail);
        }
    }
    return err;
}

enum err transaction_commit(struct transaction *transaction,
                            struct err_detail *detail)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    struct replica *replica = transaction->replica;
    if (replica->telling) {
        transaction_abort(transaction);
        return err_set(detail,
                       ERR_ARGUMENT,
                       "who is told of a change cannot commit one");
    }
    const enum err err = apply(transaction, detail);
    close_transaction(transaction,
                      err == ERR_OK ? TRANSACTION_COMMITTED
                                    : TRANSACTION_ABORTED);
    return err;
}

/* -- Its log ------------------------------------------------------------- */

const struct write_entry *transaction_next_write(
    const struct transaction *transaction,
    size_t *draft,
    size_t *write)
{
    if (*draft == 0 && transaction->drafts_used == 0) {
        return *write < transaction->quick.count
                   ? &transaction->quick.at[(*write)++]
                   : NULL;
    }
    while (*draft < transaction->drafts_used) {
        const struct draft *at = transaction->drafts.at[*draft];
        if (*write < at->writes.count) {
            return &at->writes.at[(*write)++];
        }
        ++*draft;
        *write = 0;
    }
    return NULL;
}
