/* Following links, and access to the place behind them. */

#include "runtime/cell.h"

#include "replica/overlay.h"
#include "runtime/piece_parts.h"
#include "runtime/piece_schemas.h"
#include "runtime/schemas.h"
#include "sched/evaluation.h"
#include "sched/labels.h"
#include "sched/scopes.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"

/* -- One place ----------------------------------------------------------- */

/* While a transaction is open nothing can arrive. */
void cell_fetch(const struct runtime *runtime, struct entity *entity)
{
    if (UNLIKELY(!entity_is_available(entity)) && runtime->fetch != NULL &&
        runtime->replica.open == 0 && !runtime->replica.delivering) {
        runtime->fetch(runtime->fetch_ctx, entity);
    }
}

/* The value there, new, with the result of transaction_read. */
static enum err look(const struct cell_access *access,
                     struct place *place,
                     enum read_kind kind,
                     unsigned flags,
                     struct value *out)
{
    if (access->run != NULL) {
        return run_read(access->run, place, kind, flags, out);
    }
    if (access->transaction != NULL) {
        const enum err err = evaluation_for_look(access->runtime->sched,
                                                 access->transaction,
                                                 place,
                                                 kind);
        if (err != ERR_OK) {
            *out = VALUE_NONE;
            return err;
        }
        return transaction_read(access->transaction, place, kind, flags, out);
    }
    cell_fetch(access->runtime, place->entity);
    return entity_state_at(&place->entity->visible, place->path, out);
}

/* Whether a read has to stop: the value is unknown now, or not cleared to be
 * read. */
static bool is_over(const struct cell_access *access,
                    enum err err,
                    struct err_detail *detail)
{
    if (err == ERR_CLEARANCE && access->run != NULL && detail != NULL) {
        *detail = access->run->detail;
    }
    if (err == ERR_GIVEN_UP && detail != NULL) {
        *detail = access->runtime->sched->evaluation.error;
    }
    return err == ERR_STALE || err == ERR_CLEARANCE || err == ERR_GIVEN_UP;
}

/* The first `length` segments of its path; new. */
static struct place *above(const struct place *place, uint32_t length)
{
    struct path *path = path_prefix(place->path, length);
    struct place *found = place_of(place->entity, path);
    path_unref(path);
    return found;
}

/* -- Links --------------------------------------------------------------- */

static enum err bad_link(struct err_detail *detail,
                         const struct place *place,
                         const char *why)
{
    const struct text id = value_text(&place->entity->id);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "a link in %.*s %s",
                   (int)id.length,
                   id.at,
                   why);
}

static enum err target_entity(const struct cell_access *access,
                              const struct place *holder,
                              const struct doc_link *link,
                              struct entity **out,
                              struct err_detail *detail)
{
    const struct entity *from = holder->entity;
    struct space *space = from->space;
    enum scope scope = value_is_absent(link->id) ? from->scope : SCOPE_SPACE;
    struct err_detail why = {0};
    if (!value_is_absent(link->space) &&
        runtime_need_space(access->runtime, link->space, false, &space, &why) !=
            ERR_OK) {
        struct buf sentence = {0};
        buf_printf(&sentence, "points to another space: %s", why.text);
        const enum err err = bad_link(detail, holder, buf_text(&sentence));
        buf_release(&sentence);
        return err;
    }
    if (!value_is_absent(link->scope) && !scope_read(link->scope, &scope)) {
        return bad_link(detail, holder, "has an unknown scope");
    }
    const struct value id = value_is_absent(link->id) ? from->id : link->id;
    return entity_of(space, scope, id, out, detail);
}

/* The target of a link, extended by the path of `place` behind `used` segments;
 * new. */
static enum err target_of(const struct cell_access *access,
                          const struct place *place,
                          struct value value,
                          uint32_t used,
                          struct place **out,
                          struct err_detail *detail)
{
    const struct doc_link link = doc_link_of(value);
    struct entity *entity;
    enum err err = target_entity(access, place, &link, &entity, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct place *at;
    if (value_is_absent(link.path)) {
        at = place_payload(entity);
    } else {
        struct path *path;
        err = path_of_array(&access->runtime->replica.paths,
                            link.path,
                            &path,
                            detail);
        if (err != ERR_OK) {
            return err;
        }
        at = place_of(entity, path);
        path_unref(path);
    }
    err = path_check(at->path->length + place->path->length - used, detail);
    if (err != ERR_OK) {
        place_unref(at);
        return err;
    }
    for (uint32_t i = used; i < place->path->length; i++) {
        struct place *child = place_child(at, place->path->at[i].key);
        place_unref(at);
        at = child;
    }
    *out = at;
    return ERR_OK;
}

enum err cell_link_target(const struct cell_access *access,
                          const struct place *holder,
                          struct value link,
                          struct place **out,
                          struct err_detail *detail)
{
    return target_of(access, holder, link, holder->path->length, out, detail);
}

/* Whether there is a link. Untracked: a write is not a read. */
static bool holds_link(const struct cell_access *access, struct place *place)
{
    const struct entity *entity = place->entity;
    const struct transaction *transaction = access->transaction;
    if (LIKELY(transaction != NULL && transaction->unwritten &&
               place == entity->payload && entity->loaded)) {
        return value_tag(entity->visible.payload) == TAG_LINK;
    }
    const struct cell_access loose = {access->runtime,
                                      NULL,
                                      access->transaction};
    struct value value;
    (void)look(&loose, place, READ_DEEP, READ_UNTRACKED, &value);
    const bool link = value_kind(value) == VALUE_LINK;
    value_unref(value);
    return link;
}

/* The length of the part of the path at which a link stands in the way; 0:
 * none. */
static uint32_t find_link(const struct cell_access *access,
                          const struct place *place)
{
    const struct entity *entity = place->entity;
    const struct transaction *transaction = access->transaction;
    if (LIKELY(entity->loaded &&
               (transaction == NULL || transaction->unwritten))) {
        return entity_state_link(&entity->visible, place->path);
    }
    for (uint32_t i = 1; i < place->path->length; i++) {
        struct place *part = above(place, i);
        const bool found = holds_link(access, part);
        place_unref(part);
        if (found) {
            return i;
        }
    }
    return 0;
}

/* One step: *at becomes what the link means that is on the way or, with
 * `value`, at the end; *moved says whether there was one. */
static enum err hop(const struct cell_access *access,
                    struct place **at,
                    unsigned flags,
                    bool *moved,
                    struct err_detail *detail)
{
    const uint32_t length = find_link(access, *at);
    *moved = length > 0;
    if (length == 0) {
        return ERR_OK;
    }
    struct place *part = above(*at, length);
    struct value link;
    enum err err = look(access, part, READ_DEEP, flags, &link);
    place_unref(part);
    if (is_over(access, err, detail)) {
        return err;
    }
    struct place *next = NULL;
    if (value_kind(link) != VALUE_LINK) { /* it was, a moment ago */
        *moved = false;
        value_unref(link);
        return ERR_OK;
    }
    err = target_of(access, *at, link, length, &next, detail);
    value_unref(link);
    if (err == ERR_OK) {
        place_unref(*at);
        *at = next;
    }
    return err;
}

static enum err too_many(const struct place *place, struct err_detail *detail)
{
    return bad_link(detail,
                    place,
                    "leads through too many other links: is "
                    "there a cycle?");
}

/* -- Reading ------------------------------------------------------------- */

/* The value at the place itself: follows a link there, or ends. */
static enum err read_end(const struct cell_access *access,
                         struct place **at,
                         enum read_kind kind,
                         unsigned flags,
                         struct value *out,
                         bool *moved,
                         struct err_detail *detail)
{
    const enum err err = look(access, *at, kind, flags, out);
    *moved = false;
    if (is_over(access, err, detail)) {
        return err;
    }
    if (err == ERR_TYPE) { /* through a leaf, which may be a link */
        return hop(access, at, flags, moved, detail);
    }
    if (value_kind(*out) != VALUE_LINK) {
        return ERR_OK;
    }
    struct place *next = NULL;
    const enum err found =
        target_of(access, *at, *out, (*at)->path->length, &next, detail);
    value_unref(*out);
    *out = VALUE_NONE;
    if (found == ERR_OK) {
        place_unref(*at);
        *at = next;
        *moved = true;
    }
    return found;
}

enum err cell_read(const struct cell_access *access,
                   struct place *place,
                   enum read_kind kind,
                   unsigned flags,
                   struct value *out,
                   struct place **at,
                   struct err_detail *detail)
{
    struct place *here = place_ref(place);
    *out = VALUE_NONE;
    enum err err = ERR_OK;
    bool moved = true;
    for (unsigned hops = 0; moved && err == ERR_OK; hops++) {
        err = hops > CELL_HOPS
                  ? too_many(place, detail)
                  : read_end(access, &here, kind, flags, out, &moved, detail);
    }
    if (err == ERR_OK && at != NULL) {
        *at = here;
        return ERR_OK;
    }
    place_unref(here);
    return err;
}

/* cell_follow. With `writes`, each document on the way has to be available, or
 * it is not known where the links lead: *out is then NULL, and the transaction
 * awaits the first that is not. */
static enum err follow(const struct cell_access *access,
                       struct place *place,
                       unsigned flags,
                       bool last,
                       bool writes,
                       struct place **out,
                       struct err_detail *detail)
{
    struct place *here = place_ref(place);
    enum err err = ERR_OK;
    bool moved = true;
    *out = NULL;
    for (unsigned hops = 0; moved && err == ERR_OK; hops++) {
        if (hops > CELL_HOPS) {
            err = too_many(place, detail);
            break;
        }
        if (writes && !transaction_knows(access->transaction, here->entity)) {
            transaction_await(access->transaction, here->entity);
            place_unref(here);
            return ERR_OK;
        }
        err = hop(access, &here, flags, &moved, detail);
        if (err != ERR_OK || moved || !last) {
            continue;
        }
        if (holds_link(access, here)) {
            struct value value;
            err = read_end(access,
                           &here,
                           READ_DEEP,
                           flags,
                           &value,
                           &moved,
                           detail);
            value_unref(err == ERR_OK && !moved ? value : VALUE_NONE);
        }
    }
    if (err != ERR_OK) {
        place_unref(here);
        return err;
    }
    *out = here;
    return ERR_OK;
}

enum err cell_follow(const struct cell_access *access,
                     struct place *place,
                     unsigned flags,
                     bool last,
                     struct place **out,
                     struct err_detail *detail)
{
    return follow(access, place, flags, last, false, out, detail);
}

enum err cell_follow_to_write(const struct cell_access *access,
                              struct place *place,
                              bool last,
                              struct place **out,
                              struct err_detail *detail)
{
    return follow(access, place, READ_FOR_BOTH, last, true, out, detail);
}

/* Which streams a pattern makes is known when the piece is built, after the
 * commit that launches it. */
static bool is_launched_here(const struct cell_access *access,
                             const struct entity *entity)
{
    return access->transaction != NULL &&
           transaction_sets(access->transaction, entity);
}

enum err cell_stream(const struct cell_access *access,
                     struct place *place,
                     struct stream **out,
                     struct err_detail *detail)
{
    struct place *at;
    enum err err = cell_follow(access, place, READ_FOR_BOTH, true, &at, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct entity *entity = at->entity;
    if (UNLIKELY(is_launched_here(access, entity))) {
        place_unref(at);
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the piece is launched by this handler and has no "
                       "streams before the commit: send from a later handler, "
                       "or pass arguments to the launch");
    }
    (void)piece_schemas_are_known(access, entity); /* or awaited */
    *out = events_stream(access->runtime->sched, at);
    if (!entity->loaded && !events_is_handled(*out)) {
        struct value unseen = VALUE_NONE;
        (void)look(access, at, READ_SHAPE, READ_FOR_BOTH, &unseen);
        value_unref(unseen);
        space_want(entity->space, entity);
        err = err_set(detail,
                      ERR_STALE,
                      "a document is not loaded yet: return this status, and "
                      "the function is called again");
    }
    place_unref(at);
    return err;
}

/* -- Writing ------------------------------------------------------------- */

struct cell_write {
    enum write_kind kind;
    struct value value;
};

/* Of an element that is a value its list has a copy (list-3 of runtime/list.h):
 * a write there would be lost. */
COLD static enum err refuse_copy(const struct cell_write *write,
                                 struct err_detail *detail)
{
    return err_set(detail,
                   ERR_ARGUMENT,
                   cell_sets_link(write->kind, write->value)
                       ? "a link in a list cannot be replaced here: write to "
                         "the list"
                       : "an element that is not a link cannot be written "
                         "here: write to the list");
}

/* cell-8. */
COLD static enum err write_row(const struct cell_access *access,
                               struct place *at,
                               const struct cell_write *write,
                               struct err_detail *detail)
{
    const struct collection_access row = {access->transaction, access->run};
    return collection_write(
        collections_of_row(&access->runtime->collections, at->entity),
        &row,
        at,
        write->kind,
        write->value,
        detail);
}

/* At the place behind all links. */
static enum err write_at(const struct cell_access *access,
                         struct place *at,
                         const struct cell_write *write,
                         struct err_detail *detail)
{
    struct transaction *transaction = access->transaction;
    if (UNLIKELY(at->entity->copies)) {
        return refuse_copy(write, detail);
    }
    if (!piece_schemas_are_known(access, at->entity)) {
        return ERR_OK; /* it is awaited: transaction-9 of
                          replica/transaction.h */
    }
    if (UNLIKELY(at->entity->guarded)) {
        const enum err refused = part_check_write(access, at, detail);
        if (refused != ERR_OK) {
            return refused;
        }
    }
    if (UNLIKELY(at->entity->row)) {
        return write_row(access, at, write, detail);
    }
    struct value value = value_ref(write->value);
    if (UNLIKELY(access->runtime->schemas != NULL)) {
        const enum err err = schemas_judge(access->runtime,
                                           transaction,
                                           at,
                                           write->kind,
                                           &value,
                                           detail);
        if (err != ERR_OK) {
            value_unref(value);
            return err;
        }
    }
    switch (write->kind) {
    case WRITE_PUT:
        return transaction_put_adopt(transaction, at, value, detail);
    case WRITE_DELETE:
        return transaction_delete(transaction, at, detail);
    case WRITE_APPEND:
    case WRITE_ADD_UNIQUE:
    case WRITE_REMOVE_VALUE:
    case WRITE_INCREMENT:
        break;
    }
    return transaction_merge_adopt(transaction, at, write->kind, value, detail);
}

/* cell-5. For any part of the document that the write violated. */
COLD static void log_failed(const struct cell_access *access,
                            const struct place *at)
{
    struct place *payload = place_payload(at->entity);
    struct value unseen;
    const enum err err = transaction_read(access->transaction,
                                          payload,
                                          READ_DEEP,
                                          READ_FOR_BOTH,
                                          &unseen);
    (void)err; /* that there is nothing is an answer */
    value_unref(unseen);
    place_unref(payload);
}

/* The outermost place on the way to `place` at which there is nothing, from the
 * document's payload on; new, or NULL. */
static struct place *first_absent(const struct cell_access *access,
                                  const struct place *place)
{
    for (uint32_t i = 1; i < place->path->length; i++) {
        struct place *part = above(place, i);
        struct value value;
        const enum err err = transaction_read(access->transaction,
                                              part,
                                              READ_DEEP,
                                              READ_UNTRACKED,
                                              &value);
        const bool is_absent = value_is_absent(value) && err != ERR_TYPE;
        value_unref(value);
        if (is_absent) {
            return part;
        }
        place_unref(part);
    }
    return NULL;
}

/* What is created above a number may be an array or an object. */
static enum err ambiguous_parent(const struct place *place,
                                 uint32_t at,
                                 struct err_detail *detail)
{
    const struct value *above =
        at > 1 ? &place->path->at[at - 1].key : &place->entity->id;
    const struct text parent = value_text(above);
    const struct text key = value_text(&place->path->at[at].key);
    return err_set(detail,
                   ERR_NOT_FOUND,
                   "'%.*s' does not exist, and '%.*s' below it can be a "
                   "position or a key: set it to an array or an object first",
                   (int)parent.length,
                   parent.at,
                   (int)key.length,
                   key.at);
}

/* cell-6: writes the value inside new objects, at the first absent place on the
 * way. The absence is a read of the commit: an object that another transaction
 * creates there meanwhile is not replaced. */
COLD static enum err write_with_parents(const struct cell_access *access,
                                        struct place *at,
                                        const struct cell_write *write,
                                        struct err_detail *detail)
{
    struct place *first = first_absent(access, at);
    if (first == NULL) {
        return ERR_NOT_FOUND; /* as it was said before */
    }
    struct value value = value_ref(write->value);
    for (uint32_t i = at->path->length; i > first->path->length; i--) {
        const struct path_segment *key = &at->path->at[i - 1];
        if (key->index != PATH_NOT_INDEX) {
            value_unref(value);
            place_unref(first);
            return ambiguous_parent(at, i - 1, detail);
        }
        value =
            object_set_adopt(value_empty_object(), value_ref(key->key), value);
    }
    struct value nothing;
    const enum err looked = transaction_read(access->transaction,
                                             first,
                                             READ_DEEP,
                                             READ_NOT_FOR_SCHEDULING,
                                             &nothing);
    (void)looked; /* that there is nothing is an answer */
    value_unref(nothing);
    const struct cell_write whole = {WRITE_PUT, value};
    const enum err err = write_at(access, first, &whole, detail);
    value_unref(value);
    place_unref(first);
    return err;
}

/* cell-7. */
static bool is_own_output(const struct cell_access *access,
                          const struct place *place)
{
    const struct run *run = access->run;
    const struct value payload = place->entity->visible.payload;
    if (LIKELY(value_tag(payload) != TAG_LINK) || !scopes_is_link(payload) ||
        run == NULL || run->node->kind != NODE_COMPUTATION ||
        place != place->entity->payload) {
        return false;
    }
    CHAIN_FOREACH(&place->writers, link)
    {
        if (CONTAINER_OF(link, struct write_link, in_place)->node ==
            run->node) {
            return true;
        }
    }
    return false;
}

static enum err write_in(const struct cell_access *access,
                         struct place *place,
                         const struct cell_write *write,
                         struct err_detail *detail)
{
    struct place *at;
    const bool through = !cell_sets_link(write->kind, write->value);
    enum err err = ERR_OK;
    if (UNLIKELY(is_own_output(access, place))) {
        at = place_ref(place);
    } else {
        err = cell_follow_to_write(access, place, through, &at, detail);
    }
    if (err != ERR_OK || at == NULL) {
        return err;
    }
    err = write_at(access, at, write, detail);
    if (UNLIKELY(err == ERR_NOT_FOUND) && write->kind == WRITE_PUT) {
        err = write_with_parents(access, at, write, detail);
    }
    if (UNLIKELY(err != ERR_OK)) {
        log_failed(access, at);
    }
    place_unref(at);
    return err;
}

void cell_bring(struct runtime *runtime, struct place *place)
{
    const struct cell_access toplevel = {.runtime = runtime};
    struct place *at = NULL;
    if (cell_follow(&toplevel, place, READ_UNTRACKED, true, &at, NULL) ==
        ERR_OK) {
        cell_fetch(runtime, at->entity);
        (void)piece_schemas_are_known(&toplevel, at->entity);
        place_unref(at);
    }
}

/* cell-2: a separate transaction. */
static enum err write_alone(const struct cell_access *access,
                            struct place *place,
                            const struct cell_write *write,
                            struct err_detail *detail)
{
    enum err err = ERR_STALE;
    for (unsigned i = 0; i < CELL_ATTEMPTS && err == ERR_STALE; i++) {
        cell_bring(access->runtime, place);
        struct transaction *transaction =
            transaction_begin(&access->runtime->replica, NULL);
        const struct cell_access alone = {access->runtime, NULL, transaction};
        err = write_in(&alone, place, write, detail);
        if (err == ERR_OK) {
            err = labels_apply(access->runtime->sched, transaction, detail);
        }
        if (err == ERR_OK) {
            err = transaction_finish(transaction, detail);
        } else {
            transaction_release(transaction);
        }
    }
    return err;
}

static enum err write_adopt(const struct cell_access *access,
                            struct place *place,
                            struct cell_write write,
                            struct err_detail *detail)
{
    const enum err err = access->transaction != NULL
                             ? write_in(access, place, &write, detail)
                             : write_alone(access, place, &write, detail);
    value_unref(write.value);
    return err;
}

enum err cell_put_adopt(const struct cell_access *access,
                        struct place *place,
                        struct value value,
                        struct err_detail *detail)
{
    return write_adopt(access,
                       place,
                       (struct cell_write){WRITE_PUT, value},
                       detail);
}

enum err cell_merge_adopt(const struct cell_access *access,
                          struct place *place,
                          enum write_kind kind,
                          struct value value,
                          struct err_detail *detail)
{
    return write_adopt(access, place, (struct cell_write){kind, value}, detail);
}

enum err cell_delete(const struct cell_access *access,
                     struct place *place,
                     struct err_detail *detail)
{
    return write_adopt(access,
                       place,
                       (struct cell_write){WRITE_DELETE, VALUE_NONE},
                       detail);
}

struct value cell_link(const struct place *place, const struct space *from)
{
    const struct entity *entity = place->entity;
    struct value path = value_empty_array();
    for (uint32_t i = 0; i < place->path->length; i++) {
        path = array_push_adopt(path, value_ref(place->path->at[i].key));
    }
    const struct doc_link fields = {
        .id = entity->id,
        .path = path,
        .space = entity->space == from ? VALUE_NONE : entity->space->id,
        .scope = entity->scope == SCOPE_SPACE
                     ? VALUE_NONE
                     : value_text_new(scope_name(entity->scope)),
    };
    const struct value link = doc_link_new(&fields);
    value_unref(path);
    value_unref(fields.scope);
    return link;
}
