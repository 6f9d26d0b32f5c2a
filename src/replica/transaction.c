/* The life of a transaction. */

#include "replica/transaction.h"

#include <math.h>

#include "base/mem.h"
#include "replica/draft.h"
#include "replica/observe.h"
#include "replica/overlay.h"
#include "replica/payload_write.h"
#include "replica/prefetch.h"
#include "replica/replica.h"
#include "replica/session.h"
#include "replica/space.h"
#include "value/compare.h"
#include "value/difference.h"

/* -- Begin and end ------------------------------------------------------- */

COLD static struct transaction *transaction_new(struct replica *replica)
{
    struct transaction *transaction = mem_alloc_zero(sizeof *transaction);
    transaction->replica = replica;
    transaction->state = TRANSACTION_ABORTED;
    return transaction;
}

NOINLINE static void give(struct transaction *transaction,
                          const struct transaction_options *options)
{
    transaction->given = true;
    transaction->source = options->source;
    transaction->group = options->group;
    transaction->attempt = options->attempt;
    transaction->refused = options->refused;
    transaction->several_spaces = options->several_spaces;
    transaction->watch = options->watch;
    transaction->causes = options->causes;
    transaction->cause_count = options->cause_count;
}

/* Clears the options. */
COLD static void take_back(struct transaction *transaction)
{
    give(transaction, &(struct transaction_options){0});
    transaction->given = false;
    if (transaction->observation != NULL) {
        observation_unref(transaction_take_observation(transaction));
    }
}

struct transaction *transaction_begin(struct replica *replica,
                                      const struct transaction_options *options)
{
    struct transaction *transaction = replica->idle_transactions;
    if (LIKELY(transaction != NULL)) {
        replica->idle_transactions = transaction->next_idle;
    } else {
        transaction = transaction_new(replica);
    }
    transaction_again(transaction);
    CHECK_DEEP(
        transaction->source == NULL && transaction->group == NULL &&
        transaction->attempt == 0 && !transaction->refused &&
        !transaction->several_spaces && transaction->watch.verdict == NULL &&
        transaction->watch.settled == NULL && transaction->cause_count == 0 &&
        transaction->observation == NULL);
    if (options != NULL) {
        give(transaction, options);
    }
    return transaction;
}

void transaction_abort(struct transaction *transaction)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    if (UNLIKELY(transaction->has_more) &&
        (transaction->unloaded > 0 || transaction_is_awaiting(transaction))) {
        prefetch_request(transaction);
    }
    transaction_drop_scratch(transaction);
    transaction_close(transaction, TRANSACTION_ABORTED);
}

/* Empties everything beside reads and payload writes; the memory stays. */
void transaction_empty_rest(struct transaction *transaction)
{
    CHECK(transaction->scratch == NULL); /* transaction-8 */
    while (transaction->drafts_used > 0) {
        draft_clear(transaction->drafts.at[--transaction->drafts_used]);
    }
    transaction->conditions.count = 0;
    transaction->origins.count = 0;
    transaction->inputs.count = 0;
    transaction->claims_view = false;
    transaction->scope = SCOPE_SPACE;
    transaction->unloaded = 0;
    transaction->awaited.count = 0;
    transaction->local_seq = 0;
    transaction->commits.count = 0;
    transaction->has_more = false;
}

/* Returns it to the pool: empty, with all its memory. */
static inline void give_back(struct transaction *transaction)
{
    transaction->next_idle = transaction->replica->idle_transactions;
    transaction->replica->idle_transactions = transaction;
}

void transaction_release(struct transaction *transaction)
{
    if (UNLIKELY(transaction->state == TRANSACTION_OPEN)) {
        transaction_abort(transaction);
    }
    transaction_empty(transaction);
    if (UNLIKELY(transaction->given)) {
        take_back(transaction);
    }
    give_back(transaction);
}

void transaction_free(struct transaction *transaction)
{
    VEC_FOREACH (&transaction->drafts, draft) {
        draft_free(*draft);
    }
    vec_release(&transaction->drafts);
    vec_release(&transaction->reads);
    vec_release(&transaction->payload_writes);
    vec_release(&transaction->conditions);
    vec_release(&transaction->origins);
    vec_release(&transaction->inputs);
    vec_release(&transaction->commits);
    vec_release(&transaction->awaited);
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

/* Nothing that was read can have changed: that would have taken another
 * transaction. */
void transaction_unfollow_slow(struct transaction *transaction)
{
    const struct read_link *link = transaction->followed;
    const struct read_link *end = transaction->next;
    transaction_end_following(transaction);
    vec_reserve(&transaction->reads, (size_t)(end - link));
    for (; link < end; link++) {
        const struct entity *entity = link->place->entity;
        CHECK(entity->version == link->version);
        transaction_log_read(transaction,
                             link->place,
                             READ_DEEP,
                             READ_FOR_BOTH,
                             entity->visible.payload);
    }
}

void transaction_log_more(struct transaction *transaction,
                          struct place *place,
                          enum read_kind kind,
                          unsigned flags,
                          struct value seen)
{
    transaction_unfollow(transaction);
    vec_reserve(&transaction->reads, transaction->reads.count + 1);
    transaction_log_read(transaction, place, kind, flags, seen);
}

/* Whether a read at the place sees only writes of the transaction and of its
 * scratch. */
static bool is_own(const struct transaction *transaction,
                   const struct place *place)
{
    for (; transaction != NULL; transaction = transaction->scratch) {
        struct draft *draft = draft_find(transaction, place->entity);
        if (draft != NULL && draft_covers(draft, place->path)) {
            return true;
        }
    }
    return false;
}

static void log_read(struct transaction *transaction,
                     struct place *place,
                     enum read_kind kind,
                     unsigned flags,
                     struct value seen)
{
    transaction_log_more(transaction, place, kind, flags, seen);
    vec_last(&transaction->reads)->own = is_own(transaction, place);
}

/* A read of an element that the transaction's own writes have moved counts as a
 * read of the whole array: its index means nothing to others. */
static bool log_moved(struct transaction *transaction,
                      struct draft *draft,
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

/* The draft that determines what the transaction sees of an entity; or NULL:
 * the visible state. */
static struct draft *draft_seen(struct transaction *transaction,
                                const struct entity *entity)
{
    if (UNLIKELY(transaction->scratch != NULL)) {
        struct draft *draft = draft_find(transaction->scratch, entity);
        if (draft != NULL) {
            return draft;
        }
    }
    if (UNLIKELY(transaction->payload_writes.count > 0) &&
        payload_write_has(transaction, entity)) {
        payload_write_expand(transaction);
    }
    return transaction->drafts_used > 0 ? draft_find(transaction, entity)
                                        : NULL;
}

enum err transaction_read_slow(struct transaction *transaction,
                               struct place *place,
                               enum read_kind kind,
                               unsigned flags,
                               struct value *out)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    struct entity *entity = place->entity;
    if (UNLIKELY(transaction->under != NULL)) { /* transaction-8 */
        transaction->unloaded += !entity_is_available(entity);
        transaction = transaction->under;
    }
    if (flags != READ_UNTRACKED) {
        transaction_unfollow(transaction);
    }
    if (UNLIKELY(entity->scope > transaction->scope)) { /* transaction-7 */
        transaction->scope = entity->scope;
        transaction->has_more = true;
    }
    if (UNLIKELY(!entity_is_available(entity))) {
        transaction->unloaded++;
        transaction->has_more = true;
        space_want(entity->space, entity);
    }
    const enum err err = look(&entity->visible, place, out);
    struct draft *draft = draft_seen(transaction, entity);
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

/* -- Scratch ------------------------------------------------------------ */

struct transaction *transaction_scratch(struct transaction *transaction)
{
    CHECK(transaction->state == TRANSACTION_OPEN && transaction->under == NULL);
    if (transaction->scratch == NULL) {
        struct transaction *scratch = transaction_begin(
            transaction->replica,
            &(struct transaction_options){.several_spaces = true});
        scratch->under = transaction;
        scratch->has_more = true;
        scratch->unwritten = false; /* no fast path may bypass the scratch */
        transaction->scratch = scratch;
        transaction->has_more = true;
        transaction->unwritten = false;
    }
    return transaction->scratch;
}

void transaction_drop_scratch(struct transaction *transaction)
{
    struct transaction *scratch = transaction->scratch;
    if (UNLIKELY(scratch != NULL)) {
        transaction->scratch = NULL;
        scratch->under = NULL;
        transaction_release(scratch);
    }
}

bool transaction_differs(struct transaction *transaction,
                         const struct place *place,
                         enum read_kind kind)
{
    struct draft *draft = draft_seen(transaction, place->entity);
    if (draft == NULL) {
        return false;
    }
    if (UNLIKELY(!entity_is_available(place->entity))) {
        return true;
    }
    struct value visible;
    struct value seen;
    /* The error codes count as well. */
    bool same = look(&place->entity->visible, place, &visible) ==
                look(&draft->work, place, &seen);
    same = same && (kind == READ_DEEP ? value_equal(visible, seen)
                                      : value_shape_equal(visible, seen));
    value_unref(visible);
    value_unref(seen);
    return !same;
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
                   "this transaction can write to one space only: declare it "
                   "as one that writes to several");
}

/* Whether the document must be new: then there is nothing to load. */
/* From the last on: a document is usually written right after its condition was
 * added, and there may be many (events that a handler sends). */
static bool must_be_new(const struct transaction *transaction,
                        const struct entity *entity)
{
    for (size_t i = transaction->conditions.count; i-- > 0;) {
        const struct document_condition *condition =
            &transaction->conditions.at[i];
        if (condition->entity == entity &&
            condition->kind == PRECONDITION_ENTITY_ABSENT) {
            return true;
        }
    }
    return false;
}

bool transaction_sets(const struct transaction *transaction,
                      const struct entity *entity)
{
    const struct draft *draft = draft_find(transaction, entity);
    if (draft == NULL) {
        return false;
    }
    VEC_FOREACH (&draft->writes, write) {
        if (write->kind == WRITE_PUT && write->place->path->length == 0) {
            return true;
        }
    }
    return false;
}

bool transaction_knows(const struct transaction *transaction,
                       const struct entity *entity)
{
    return entity_is_available(entity) || must_be_new(transaction, entity) ||
           transaction_sets(transaction, entity);
}

void transaction_await(struct transaction *transaction, struct entity *entity)
{
    VEC_FOREACH (&transaction->awaited, item) {
        if (*item == entity) {
            return;
        }
    }
    vec_push(&transaction->awaited, entity);
    transaction->has_more = true;
    transaction->unwritten = false;
    space_want(entity->space, entity);
}

/* Whether the write is right whatever the document holds, and changes it even
 * if there is none. A document that nodes here rely on (entity-4) has to be
 * loaded all the same, to find the difference. */
static bool is_independent(enum write_kind kind, const struct place *place)
{
    return place->entity->known == 0 &&
           (kind == WRITE_APPEND || kind == WRITE_ADD_UNIQUE ||
            kind == WRITE_INCREMENT ||
            (kind == WRITE_PUT && place->path->length <= 1));
}

/* Whether the write deletes a document that the transaction has set and that is
 * not available here: nothing seems to change then, though the store may have
 * one. */
static bool takes_back(const struct transaction *transaction,
                       enum write_kind kind,
                       const struct place *place)
{
    return kind == WRITE_DELETE && place->path->length == 0 &&
           !entity_is_available(place->entity) &&
           !must_be_new(transaction, place->entity);
}

COLD static enum err write_adopt(struct transaction *transaction,
                                 enum write_kind kind,
                                 struct place *place,
                                 struct value value,
                                 struct err_detail *detail)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    struct entity *entity = place->entity;
    transaction->unwritten = false;
    transaction_drop_scratch(transaction);
    payload_write_expand(transaction);
    const enum err err = check_space(transaction, entity->space, detail);
    if (err != ERR_OK) {
        value_unref(value);
        return err;
    }
    if (UNLIKELY(transaction->under == NULL &&
                 (!transaction_knows(transaction, entity) ||
                  takes_back(transaction, kind, place)))) {
        if (!is_independent(kind, place)) {
            transaction_await(transaction, entity);
            value_unref(value);
            return ERR_OK; /* transaction-9 */
        }
        space_want(entity->space, entity);
    }
    return draft_write_adopt(draft_of(transaction, entity),
                             kind,
                             place,
                             value,
                             detail);
}

NOINLINE static enum err put_slow_adopt(struct transaction *transaction,
                                        struct place *place,
                                        struct value value,
                                        struct err_detail *detail)
{
    if (value_is_absent(value)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "an absent value cannot be written: delete it instead");
    }
    CHECK(transaction->state == TRANSACTION_OPEN);
    if (payload_write_takes(transaction, place)) {
        vec_reserve(&transaction->payload_writes,
                    transaction->payload_writes.count + 1);
        if (value_is_container(value) &&
            value_is_container(place->entity->visible.payload)) {
            value = value_reuse_adopt(place->entity->visible.payload, value);
        }
        payload_write_put_adopt(transaction, place, value);
        return ERR_OK;
    }
    return write_adopt(transaction, WRITE_PUT, place, value, detail);
}

enum err transaction_put_adopt(struct transaction *transaction,
                               struct place *place,
                               struct value value,
                               struct err_detail *detail)
{
    /* Nearly always a number, the first write or one of many, with room for
     * it. */
    if (LIKELY(!value_is_heap(value) && !value_is_absent(value) &&
               transaction->payload_writes.count <
                   transaction->payload_writes.capacity &&
               (transaction->unwritten
                    ? payload_write_takes_first(place)
                    : payload_write_takes_next(transaction, place)))) {
        payload_write_put_adopt(transaction, place, value);
        return ERR_OK;
    }
    return put_slow_adopt(transaction, place, value, detail);
}

enum err transaction_delete(struct transaction *transaction,
                            struct place *place,
                            struct err_detail *detail)
{
    return write_adopt(transaction, WRITE_DELETE, place, VALUE_NONE, detail);
}

/* An increment by 0, which is not a patch operation: it creates a 0 where
 * nothing is, like any other increment, and leaves a number unchanged. */
static enum err increment_by_zero(struct transaction *transaction,
                                  struct place *place,
                                  struct err_detail *detail)
{
    struct value there;
    (void)
        transaction_read(transaction, place, READ_DEEP, READ_UNTRACKED, &there);
    const bool is_number = value_is_number(there);
    value_unref(there);
    if (is_number) {
        return ERR_OK;
    }
    const enum err err =
        write_adopt(transaction, WRITE_INCREMENT, place, value_int(1), detail);
    return err != ERR_OK ? err
                         : write_adopt(transaction,
                                       WRITE_INCREMENT,
                                       place,
                                       value_int(-1),
                                       detail);
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
        return increment_by_zero(transaction, place, detail);
    }
    if (!fits) {
        const char *got = value_kind_name(value_kind(value));
        value_unref(value);
        return err_set(detail,
                       ERR_TYPE,
                       list ? "appended elements must be an array, not %s"
                       : kind == WRITE_INCREMENT
                           ? "the increment must be a finite number, not %s"
                           : "the value to remove must be present, not %s",
                       got);
    }
    return write_adopt(transaction, kind, place, value, detail);
}

struct value transaction_withdraw(struct transaction *transaction,
                                  struct entity *entity)
{
    payload_write_expand(transaction);
    struct draft *draft = draft_find(transaction, entity);
    CHECK(draft != NULL);
    const struct value payload = value_ref(draft->work.payload);
    struct draft **drafts = transaction->drafts.at;
    const size_t last = --transaction->drafts_used;
    size_t index = 0;
    while (drafts[index] != draft) {
        index++;
    }
    drafts[index] = drafts[last];
    drafts[last] = draft;
    draft_clear(draft);
    return payload;
}

/* -- Conditions ---------------------------------------------------------- */

static void add_condition(struct transaction *transaction,
                          struct entity *entity,
                          enum precondition_kind kind)
{
    const struct document_condition condition = {.entity = entity,
                                                 .kind = kind};
    vec_push(&transaction->conditions, condition);
    transaction->has_more = true;
}

void transaction_create_only(struct transaction *transaction,
                             struct entity *entity)
{
    add_condition(transaction, entity, PRECONDITION_ENTITY_ABSENT);
}

void transaction_handles_event(struct transaction *transaction,
                               struct entity *entity)
{
    add_condition(transaction, entity, PRECONDITION_EVENT_WAITING);
}

void transaction_handles_timer(struct transaction *transaction,
                               struct entity *entity,
                               struct digest digest)
{
    const struct document_condition condition = {
        .entity = entity,
        .kind = PRECONDITION_EVENT_WAITING,
        .has_digest = true,
        .digest = digest,
    };
    vec_push(&transaction->conditions, condition);
    transaction->has_more = true;
}

void transaction_needs(struct transaction *transaction,
                       struct space *space,
                       uint64_t local_seq)
{
    const struct origin origin = {space, local_seq};
    vec_push(&transaction->origins, origin);
    transaction->has_more = true;
}

void transaction_claim_view(struct transaction *transaction)
{
    transaction->claims_view = true;
    transaction->has_more = true;
}

void transaction_claim_input(struct transaction *transaction,
                             struct place *place,
                             enum read_kind kind)
{
    struct read_entry *input = vec_add(&transaction->inputs);
    *input = (struct read_entry){
        .place = place,
        .kind = kind,
        .version = place->entity->version,
    };
    transaction->has_more = true;
}

/* -- Committing ---------------------------------------------------------- */

/* transaction-2: whether what was read is unchanged. */
static enum err validate_reads(const struct transaction *transaction,
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
                           "another transaction changed %.*s since it was read",
                           (int)id.length,
                           id.at);
        }
    }
    return ERR_OK;
}

/* Nearly always, nothing at all has changed since it began. */
static inline enum err validate(const struct transaction *transaction,
                                struct err_detail *detail)
{
    return LIKELY(transaction->began == transaction->replica->version)
               ? ERR_OK
               : validate_reads(transaction, detail);
}

/* Finishes the drafts, and moves those without effect to the end. */
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
        /* Creating a document is sent even if it is here already: the one that
         * is here may not land. */
        draft->effective =
            draft_finish(draft) || must_be_new(transaction, draft->entity);
        *effective += draft->effective;
    }
    return ERR_OK;
}

/* Applies to one space, once. */
static enum err apply_to(struct transaction *transaction,
                         struct space *space,
                         struct err_detail *detail)
{
    if (space->applied == transaction->epoch) {
        return ERR_OK;
    }
    const enum err err = space_apply(space, transaction, detail);
    if (err == ERR_OK) {
        space->applied = transaction->epoch;
    }
    return err;
}

/* The same for payload writes. False if they are drafts now. */
static bool apply_payload_writes(struct transaction *transaction,
                                 struct err_detail *detail,
                                 enum err *err)
{
    size_t effective;
    if (transaction->conditions.count > 0) {
        payload_write_expand(transaction);
        return false;
    }
    if (!payload_write_finish(transaction, &effective)) {
        return false;
    }
    *err = ERR_OK;
    if (effective > 0) {
        *err = validate(transaction, detail);
        if (*err == ERR_OK) {
            payload_write_apply(transaction);
        }
    }
    return true;
}

COLD static enum err apply(struct transaction *transaction,
                           struct err_detail *detail)
{
    size_t effective;
    enum err quick;
    if (transaction_is_awaiting(transaction)) {
        const struct text id = value_text(&transaction->awaited.at[0]->id);
        return err_set(detail,
                       ERR_STALE,
                       "%.*s is not loaded yet",
                       (int)id.length,
                       id.at);
    }
    if (transaction->payload_writes.count > 0 &&
        apply_payload_writes(transaction, detail, &quick)) {
        return quick;
    }
    enum err err = finish_drafts(transaction, &effective, detail);
    if (err != ERR_OK ||
        (effective == 0 && transaction->conditions.count == 0 &&
         transaction->origins.count == 0)) {
        return err; /* transaction-3 */
    }
    err = validate(transaction, detail);
    for (size_t i = 0; i < transaction->conditions.count && err == ERR_OK;
         i++) {
        err = apply_to(transaction,
                       transaction->conditions.at[i].entity->space,
                       detail);
    }
    for (size_t i = 0; i < transaction->drafts_used && err == ERR_OK; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        if (draft->effective) {
            err = apply_to(transaction, draft->entity->space, detail);
        }
    }
    for (size_t i = 0; i < transaction->origins.count && err == ERR_OK; i++) {
        err = apply_to(transaction, transaction->origins.at[i].space, detail);
    }
    return err;
}

/* With more than one write, or after something has changed. */
COLD static enum err commit_slow(struct transaction *transaction,
                                 struct err_detail *detail)
{
    if (transaction->replica->delivering) {
        transaction_abort(transaction);
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a subscriber cannot commit while it is notified");
    }
    transaction_drop_scratch(transaction);
    const enum err err = apply(transaction, detail);
    transaction_close(transaction,
                      err == ERR_OK ? TRANSACTION_COMMITTED
                                    : TRANSACTION_ABORTED);
    return err;
}

/* The only subscriber, if the one write can be delivered to it as a leaf
 * (replica/channel.h); or NULL. */
static inline const struct subscriber *leaf_listener(
    const struct transaction *transaction)
{
    const struct replica *replica = transaction->replica;
    const struct list_node *head = &replica->subscribers.head;
    struct list_node *first = head->next;
    if (transaction->given || replica->sessions > 0 || first == head) {
        return NULL;
    }
    const struct subscriber *only =
        CONTAINER_OF(first, struct subscriber, node);
    return payload_write_is_single(transaction, only) && only->leaf != NULL
               ? only
               : NULL;
}

NOINLINE static enum err commit_one(struct transaction *transaction)
{
    const struct subscriber *listener = leaf_listener(transaction);
    if (LIKELY(listener != NULL)) {
        transaction->applied++;
        payload_write_exchange(transaction);
        listener->leaf(listener->ctx,
                       transaction->payload_writes.at[0].place,
                       transaction->replica->version);
    } else {
        payload_write_apply_one(transaction);
    }
    transaction_close(transaction, TRANSACTION_COMMITTED);
    return ERR_OK;
}

enum err transaction_commit(struct transaction *transaction,
                            struct err_detail *detail)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    transaction->applied = 0;
    if (UNLIKELY(transaction->replica->delivering || transaction->has_more ||
                 transaction->payload_writes.count > 1 ||
                 transaction->began != transaction->replica->version)) {
        return commit_slow(transaction, detail);
    }
    if (transaction->payload_writes.count > 0) {
        struct write_entry *write = transaction->payload_writes.at;
        write->changed =
            !value_equal(value_load(&write->place->entity->visible.payload),
                         value_load(&write->value));
        if (write->changed) {
            return commit_one(transaction);
        }
    }
    transaction_close(transaction, TRANSACTION_COMMITTED);
    return ERR_OK;
}

/* The slow path of transaction_finish. */
COLD static enum err finish_slow(struct transaction *transaction,
                                 struct err_detail *detail)
{
    const enum err err = transaction_commit(transaction, detail);
    transaction_release(transaction);
    return err;
}

/* Nearly always: one payload was put and nothing else. */
enum err transaction_finish(struct transaction *transaction,
                            struct err_detail *detail)
{
    const struct replica *replica = transaction->replica;
    CHECK(transaction->state == TRANSACTION_OPEN);
    if (UNLIKELY(replica->delivering || transaction->has_more ||
                 transaction->given || transaction->payload_writes.count != 1 ||
                 transaction->reads.count > 0 ||
                 transaction->began != replica->version)) {
        return finish_slow(transaction, detail);
    }
    const struct write_entry *write = transaction->payload_writes.at;
    struct place *place = write->place;
    const struct value value = value_load(&write->value);
    if (value_equal(value_load(&place->entity->visible.payload), value)) {
        transaction_close(transaction, TRANSACTION_COMMITTED);
    } else {
        (void)commit_one(transaction); /* it can be applied */
    }
    transaction->payload_writes.count = 0;
    value_unref(value);
    place_unref(place);
    give_back(transaction);
    return ERR_OK;
}

/* -- Its log ------------------------------------------------------------- */

const struct write_entry *transaction_next_write(
    const struct transaction *transaction,
    size_t *draft,
    size_t *write)
{
    if (*draft == 0 && transaction->drafts_used == 0) {
        return *write < transaction->payload_writes.count
                   ? &transaction->payload_writes.at[(*write)++]
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
