/* The life cycle of pieces: start, load, stop, remove, find. */

#include "runtime/piece.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "runtime/building.h"
#include "runtime/cell.h"
#include "runtime/change.h"
#include "runtime/keyed_list.h"
#include "runtime/migration.h"
#include "runtime/owner.h"
#include "sched/scopes.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"

/* -- Names --------------------------------------------------------------- */

static void append(struct buf *to, struct value string)
{
    const struct text text = value_text(&string);
    buf_append(to, text.at, text.length);
}

struct value piece_document_id(struct value piece, struct value name)
{
    struct buf id = {0};
    buf_append_text(&id, "piece:");
    append(&id, piece);
    if (!value_is_absent(name)) {
        buf_append_char(&id, '/');
        append(&id, name);
    }
    const struct value made = value_string_new(id.at, id.length);
    buf_release(&id);
    return made;
}

enum err piece_index(struct space *space,
                     struct entity **out,
                     struct err_detail *detail)
{
    const struct value id = value_text_new("pieces");
    const enum err err = entity_of(space, SCOPE_SPACE, id, out, detail);
    value_unref(id);
    return err;
}

enum err piece_check_name(struct value name, struct err_detail *detail)
{
    if (!value_is_string(name)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the name of a piece must be a "
                       "string");
    }
    const struct text text = value_text(&name);
    if (text.length == 0 || text.length > PIECE_NAME_BYTES_MAX) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the name of a piece must have 1 to %d bytes",
                       (int)PIECE_NAME_BYTES_MAX);
    }
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c == '/' || c < 0x20 || c == 0x7f) {
            return err_set(detail,
                           ERR_ARGUMENT,
                           "the name of a piece must not contain '/' or "
                           "control characters");
        }
    }
    return ERR_OK;
}

/* -- Records ------------------------------------------------------------- */

struct piece *piece_ref(struct piece *piece)
{
    piece->refs++;
    return piece;
}

void piece_unref(struct piece *piece)
{
    if (--piece->refs > 0) {
        return;
    }
    value_unref(piece->name);
    value_unref(piece->arguments);
    value_unref(piece->note);
    value_unref(piece->about);
    value_unref(piece->checked);
    value_unref(piece->front);
    value_unref(piece->result);
    value_unref(piece->origin);
    if (piece->whole != NULL) {
        piece_unref(piece->whole);
    }
    vec_release(&piece->needs);
    buf_release(&piece->migrated);
    pattern_unref(piece->pattern);
    mem_free(piece, sizeof *piece);
}

static struct piece *piece_new(struct runtime *runtime,
                               struct space *space,
                               const struct piece_options *options)
{
    struct piece *piece = mem_alloc_zero(sizeof *piece);
    piece->refs = 1;
    piece->runtime = runtime;
    piece->space = space;
    piece->name = value_ref(options->name);
    piece->pattern =
        options->pattern != NULL ? pattern_ref(options->pattern) : NULL;
    piece->state = PIECE_LOADING;
    piece->arguments = value_ref(options->arguments);
    piece->note = value_ref(options->note);
    piece->origin = value_ref(options->origin);
    piece->must_exist = options->must_exist;
    piece->fresh = options->fresh;
    piece->taken_up = options->taken_up;
    piece->replace = options->replace;
    list_node_init(&piece->node);
    list_push_back(&runtime->pieces, &piece->node);
    return piece;
}

/* The runtime drops it; holders of references keep the record. */
static void let_go(struct piece *piece)
{
    builder_undo(piece);
    list_remove(&piece->node);
    piece->state = PIECE_STOPPED;
    piece->runtime = NULL;
    piece_unref(piece);
}

void piece_fail(struct piece *piece, const struct err_detail *detail)
{
    builder_undo(piece);
    piece->state = PIECE_FAILED;
    piece->error = *detail;
    if (!value_is_absent(piece->origin)) {
        elsewhere_report(piece->runtime, piece->name, detail);
    }
}

/* -- Loading ------------------------------------------------------------- */

/* Whether a document is here; if not, it is asked for. */
static bool is_here(const struct piece *piece, struct entity *entity)
{
    if (!entity->loaded) {
        piece->runtime->pieces_asked |= !entity->watched || entity->unloaded;
        space_want(entity->space, entity);
    }
    return entity->loaded;
}

static bool is_kind(struct value kind, enum part_kind wanted)
{
    const struct value name = value_text_new(part_kind_name(wanted));
    const bool is = value_is_string(kind) && key_equal(kind, name);
    value_unref(name);
    return is;
}

typedef VEC(struct entity *) entity_list;

/* The instances of a document that scope links lead to, as far as they are
 * here; the last one. */
static struct entity *find_instances(struct entity *entity, entity_list *out)
{
    vec_push(out, entity);
    struct entity *instance = scopes_instance(entity);
    if (instance != entity) {
        vec_push(out, instance);
    }
    return instance;
}

/* The instances of this user and this session, of a document that states have;
 * those of other users are theirs. */
static void find_own(const struct piece *piece,
                     struct value id,
                     entity_list *out)
{
    for (unsigned i = SCOPE_USER; i <= SCOPE_SESSION; i++) {
        struct entity *entity;
        if (scopes_of_about(piece->about, (enum scope)i) &&
            entity_of(piece->space, (enum scope)i, id, &entity, NULL) ==
                ERR_OK) {
            vec_push(out, entity);
        }
    }
}

static void find_documents(const struct piece *piece,
                           struct value name,
                           entity_list *out);

/* The documents of an element that is a piece (runtime/element.h), as far as
 * its own is here. */
static void find_element(const struct piece *piece,
                         const struct entity *document,
                         entity_list *out)
{
    const struct value rest = document->visible.rest;
    const struct value about = object_field(rest, "piece");
    const struct value cells = object_field(about, "cells");
    if (!value_is_object(cells)) {
        return;
    }
    const struct text id = value_text(&document->id);
    const size_t front = sizeof "piece:" - 1;
    const struct piece element = {
        .space = piece->space,
        .name = value_string_new(id.at + front, id.length - front),
        .about = about,
    };
    struct object_iter iter = object_iter(cells);
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        find_documents(&element, name, out);
    }
    value_unref(element.name);
}

/* The documents of the children of a list. */
static void find_children(const struct piece *piece,
                          struct value order,
                          enum scope scope,
                          entity_list *out)
{
    if (!value_is_array(order)) {
        return;
    }
    struct array_iter iter = array_iter(order);
    struct value link;
    struct entity *entity;
    while (array_next(&iter, &link)) {
        if (value_kind(link) == VALUE_LINK && entity_of(piece->space,
                                                        scope,
                                                        doc_link_of(link).id,
                                                        &entity,
                                                        NULL) == ERR_OK) {
            vec_push(out, entity);
            find_element(piece, entity, out);
        }
    }
}

static void add_row(void *ctx, struct entity *document)
{
    vec_push((entity_list *)ctx, document);
}

/* The pages and rows of a collection, as far as they are here. */
static void find_rows(struct entity *root, entity_list *out)
{
    struct place *payload = place_payload(root);
    (void)collection_visit(payload, add_row, out);
    place_unref(payload);
}

/* The documents of a name as that kind: its own, and those of the children of a
 * list, as far as the list is here. */
static void find_as(const struct piece *piece,
                    struct value name,
                    struct value kind,
                    bool with_children,
                    entity_list *out)
{
    const struct value id =
        change_document_id(piece->name, piece->about, name, kind);
    struct entity *entity;
    const enum err err =
        entity_of(piece->space, SCOPE_SPACE, id, &entity, NULL);
    if (err == ERR_OK) {
        const struct entity *instance = find_instances(entity, out);
        if (with_children && is_kind(kind, PART_LIST)) {
            find_children(piece,
                          instance->visible.payload,
                          instance->scope,
                          out);
        }
        if (with_children && is_kind(kind, PART_COLLECTION)) {
            find_rows(entity, out);
        }
        if (change_is_data(kind)) {
            find_own(piece, id, out);
        }
    }
    value_unref(id);
}

/* All that a name has or had. */
static void find_documents(const struct piece *piece,
                           struct value name,
                           entity_list *out)
{
    const struct value kinds = change_kinds_of(piece->about, name);
    struct array_iter iter = array_iter(kinds);
    struct value kind;
    while (array_next(&iter, &kind)) {
        find_as(piece, name, kind, true, out);
    }
    value_unref(kinds);
}

/* Asks for the documents of the parts that are preloaded, or of all; whether
 * all are here. */
static bool are_here(struct piece *piece, bool all)
{
    const struct value cells = object_field(piece->about, "cells");
    if (!value_is_object(cells)) {
        return true;
    }
    bool here = true;
    struct object_iter iter = object_iter(cells);
    struct value name;
    struct value kind;
    entity_list documents = {0};
    if (all) {
        find_own(piece, piece->document->id, &documents);
    }
    while (object_next(&iter, &name, &kind)) {
        if (all) {
            find_documents(piece, name, &documents);
        } else if (is_kind(kind, PART_PRELOADED) || is_kind(kind, PART_LIST) ||
                   is_kind(kind, PART_COLLECTION)) {
            find_as(piece, name, kind, false, &documents);
        }
    }
    VEC_FOREACH (&documents, entity) {
        here = is_here(piece, *entity) && here;
    }
    vec_release(&documents);
    return here;
}

/* What the document says of the piece; `about` is an object then. */
static void take_about(struct piece *piece)
{
    const struct value rest = piece->document->visible.rest;
    const struct value about = object_field(rest, "piece");
    const struct value kept =
        value_is_object(about) ? value_ref(about) : value_empty_object();
    value_unref(piece->about);
    piece->about = kept;
}

/* Whether the records of this user's states are loaded (piece_scopes.c). */
static bool records_are_here(const struct piece *piece)
{
    bool here = true;
    entity_list records = {0};
    find_own(piece, piece->document->id, &records);
    VEC_FOREACH (&records, record) {
        here = is_here(piece, *record) && here;
    }
    vec_release(&records);
    return here;
}

static bool is_loaded(struct piece *piece)
{
    struct entity *index;
    struct err_detail detail = {0};
    if (piece_index(piece->space, &index, &detail) != ERR_OK) {
        return false;
    }
    const bool here = is_here(piece, index);
    if (!is_here(piece, piece->document) || !here) {
        return false;
    }
    take_about(piece);
    const bool records = records_are_here(piece);
    bool all = are_here(piece, false) && records;
    VEC_FOREACH (&piece->needs, entity) {
        all = is_here(piece, *entity) && all;
    }
    return all;
}

/* -- Starting ------------------------------------------------------------ */

/* Continues as far as possible now; whether anything was done. */
static bool advance(struct piece *piece)
{
    if (piece->landing || !is_loaded(piece)) {
        return false;
    }
    piece->again = false;
    vec_clear(&piece->needs);
    piece_ref(piece); /* a build can stop it */
    piece_build(piece);
    if (piece->state == PIECE_RUNNING) {
        piece_start_launched(piece);
    }
    piece_unref(piece);
    return true;
}

enum err piece_start(struct runtime *runtime,
                     const struct piece_options *options,
                     struct piece **out,
                     struct err_detail *detail)
{
    enum err err = piece_check_name(options->name, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (!value_is_absent(options->arguments) &&
        !value_is_object(options->arguments)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the arguments of a piece must be an object");
    }
    if (options->space == NULL && runtime->spaces.count == 0) {
        return err_set(detail, ERR_ARGUMENT, "there is no space");
    }
    struct space *space =
        options->space != NULL ? options->space : runtime->spaces.at[0];
    struct piece *there = piece_find(runtime, space, options->name);
    if (there != NULL && there->taken_up) {
        piece_stop(there);
    } else if (there != NULL) {
        const struct text text = value_text(&options->name);
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the piece %.*s is already running",
                       (int)text.length,
                       text.at);
    }
    const struct value id = piece_document_id(options->name, VALUE_NONE);
    struct entity *document;
    err = entity_of(space, SCOPE_SPACE, id, &document, detail);
    value_unref(id);
    if (err == ERR_OK) {
        *out = piece_new(runtime, space, options);
        (*out)->document = document;
        (void)advance(*out);
    }
    return err;
}

/* -- Ending -------------------------------------------------------------- */

void piece_stop(struct piece *piece)
{
    if (piece->runtime != NULL) {
        elsewhere_stop(piece);
        let_go(piece);
    }
}

/* Those that a piece has launched and that are started. */
static void remove_launched(const struct piece *piece)
{
    const struct value launched = object_field(piece->about, "launched");
    if (!value_is_object(launched)) {
        return;
    }
    struct object_iter iter = object_iter(launched);
    struct value name;
    struct value item;
    while (object_next(&iter, &name, &item)) {
        struct piece *found =
            value_is_object(item)
                ? NULL /* of another space, and gone by now */
                : piece_find(piece->runtime, piece->space, name);
        if (found != NULL) {
            piece_remove(found);
        }
    }
}

void piece_remove(struct piece *piece)
{
    if (piece->runtime == NULL || piece->state == PIECE_REMOVING) {
        return;
    }
    builder_undo(piece);
    piece->state = PIECE_REMOVING;
    piece->attempts = 0;
}

static enum err delete_documents(struct piece *piece,
                                 struct transaction *transaction,
                                 struct err_detail *detail)
{
    const struct value cells = object_field(piece->about, "cells");
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    enum err err = ERR_OK;
    struct value name;
    struct value kind;
    entity_list documents = {0};
    while (object_next(&iter, &name, &kind)) {
        find_documents(piece, name, &documents);
    }
    find_own(piece, piece->document->id, &documents);
    VEC_FOREACH (&documents, entity) {
        struct place *root = place_root(*entity);
        if (err == ERR_OK) {
            err = transaction_delete(transaction, root, detail);
        }
        place_unref(root);
    }
    vec_release(&documents);
    return err;
}

/* The name is out of the list, and the document keeps the generation. */
static enum err leave_generation(struct piece *piece,
                                 struct transaction *transaction,
                                 struct err_detail *detail)
{
    const struct value generation = object_field(piece->about, "generation");
    struct value about = value_empty_object();
    object_put_adopt(&about, "removed", value_bool(true));
    object_put_adopt(&about,
                     "generation",
                     value_is_absent(generation) ? value_int(1)
                                                 : value_ref(generation));
    struct value document = value_empty_object();
    object_put_adopt(&document, "piece", about);
    struct place *root = place_root(piece->document);
    enum err err = transaction_put_adopt(transaction, root, document, detail);
    place_unref(root);
    struct entity *index = NULL;
    if (err == ERR_OK) {
        err = piece_index(piece->space, &index, detail);
    }
    if (err == ERR_OK && value_is_object(index->visible.payload)) {
        struct place *payload = place_payload(index);
        struct place *entry = place_child(payload, piece->name);
        err = transaction_delete(transaction, entry, detail);
        place_unref(entry);
        place_unref(payload);
    }
    return err;
}

/* A removal that is on its way to the store. */
struct removal {
    struct runtime *runtime;
    struct space *space;
    struct value name;
};

static void removal_free(struct removal *removal)
{
    value_unref(removal->name);
    mem_free(removal, sizeof *removal);
}

static void removal_settled(void *ctx, const struct verdict *verdict)
{
    struct removal *removal = ctx;
    const struct runtime *runtime = removal->runtime;
    if (verdict->err == ERR_OK && runtime->forget != NULL) {
        runtime->forget(runtime->resume_ctx, removal->space, removal->name);
    }
    removal_free(removal);
}

static struct removal *removal_new(const struct piece *piece)
{
    struct removal *removal = mem_alloc(sizeof *removal);
    *removal = (struct removal){
        piece->runtime,
        piece->space,
        value_ref(piece->name),
    };
    return removal;
}

/* For a removal by its parent: whether it is the parent's, and exists. */
static bool has_to_be_removed(const struct piece *piece)
{
    return value_is_absent(piece->origin) ||
           (object_count(piece->about) > 0 &&
            elsewhere_check_parent(piece, NULL) == ERR_OK);
}

enum err piece_remove_stored(struct runtime *runtime,
                             const struct piece_options *options,
                             struct err_detail *detail)
{
    const struct value id = piece_document_id(options->name, VALUE_NONE);
    struct entity *document;
    const enum err err =
        entity_of(options->space, SCOPE_SPACE, id, &document, detail);
    value_unref(id);
    if (err == ERR_OK) {
        struct piece *piece = piece_new(runtime, options->space, options);
        piece->document = document;
        piece->state = PIECE_REMOVING;
    }
    return err;
}

static bool advance_removal(struct piece *piece)
{
    if (!is_loaded(piece) || !are_here(piece, true)) {
        return false;
    }
    if (!has_to_be_removed(piece)) {
        let_go(piece);
        return true;
    }
    if (!elsewhere_are_removed(piece)) {
        return false;
    }
    remove_launched(piece);
    struct removal *removal = removal_new(piece);
    const struct transaction_options options = {
        .watch = {.settled = removal_settled, .ctx = removal},
    };
    struct transaction *transaction =
        transaction_begin(&piece->runtime->replica, &options);
    struct err_detail detail = {0};
    enum err err = delete_documents(piece, transaction, &detail);
    if (err == ERR_OK) {
        err = leave_generation(piece, transaction, &detail);
    }
    if (err == ERR_OK) {
        err = transaction_commit(transaction, &detail);
    }
    if (err != ERR_OK || transaction->applied == 0) {
        removal_free(removal); /* no callback */
    }
    transaction_release(transaction);
    if (err_class_of(err) == ERR_CLASS_RETRY &&
        ++piece->attempts < CELL_ATTEMPTS) {
        return true;
    }
    if (err != ERR_OK) {
        piece_fail(piece, &detail);
        return true;
    }
    let_go(piece);
    return true;
}

/* -- All of them --------------------------------------------------------- */

static bool has_to_go_on(const struct piece *piece)
{
    return piece->again || piece->state == PIECE_LOADING ||
           piece->state == PIECE_REMOVING;
}

bool pieces_step(struct runtime *runtime)
{
    runtime->pieces_asked = false;
    bool did = owners_step(runtime);
    /* What one does can stop another, so the walk begins again after it. */
    bool moved = true;
    while (moved) {
        moved = false;
        LIST_FOREACH (&runtime->pieces, node) {
            struct piece *piece = CONTAINER_OF(node, struct piece, node);
            if (piece->state == PIECE_RUNNING && !piece->again) {
                migration_check_running(piece);
            }
            if (piece->again && piece->state == PIECE_RUNNING) {
                builder_undo(piece);
                piece->state = PIECE_LOADING;
            }
            if (has_to_go_on(piece) &&
                (piece->state == PIECE_REMOVING ? advance_removal(piece)
                                                : advance(piece))) {
                moved = true;
                did = true;
                break;
            }
        }
    }
    return did || runtime->pieces_asked;
}

bool pieces_are_idle(const struct runtime *runtime)
{
    LIST_FOREACH (&runtime->pieces, node) {
        if (has_to_go_on(CONTAINER_OF(node, struct piece, node))) {
            return false;
        }
    }
    return true;
}

void pieces_release(struct runtime *runtime)
{
    while (!list_is_empty(&runtime->pieces)) {
        let_go(CONTAINER_OF(list_first(&runtime->pieces), struct piece, node));
    }
    launches_release(runtime);
    keyed_lists_release(runtime);
}

/* -- Asking -------------------------------------------------------------- */

struct piece *piece_find(const struct runtime *runtime,
                         const struct space *space,
                         struct value name)
{
    LIST_FOREACH (&runtime->pieces, node) {
        struct piece *piece = CONTAINER_OF(node, struct piece, node);
        if (piece->space == (space != NULL ? space : runtime->spaces.at[0]) &&
            key_equal(piece->name, name)) {
            return piece;
        }
    }
    return NULL;
}

const struct part *piece_part(const struct piece *piece, struct value name)
{
    const struct part *found = NULL;
    VEC_FOREACH (&piece->parts, part) {
        if (key_equal(part->name, name)) {
            return part;
        }
        if (found == NULL && part->list != NULL) {
            found = keyed_list_part(part->list, name);
        }
    }
    return found;
}

const char *piece_no_stream(const struct piece *piece, struct value name)
{
    if (value_text(&name).length == 0) {
        return "this is the address of the piece itself";
    }
    VEC_FOREACH (&piece->parts, part) {
        if (key_equal(part->name, name)) {
            return part->kind == PART_HANDLER ? NULL : "it is not a handler";
        }
        const char *why =
            part->list != NULL ? keyed_list_no_stream(part->list, name) : NULL;
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

struct node *piece_node(const struct piece *piece, struct value name)
{
    const struct part *part = piece_part(piece, name);
    return part != NULL ? part->node : NULL;
}

struct place *piece_result(const struct piece *piece)
{
    return place_payload(piece->document);
}

enum err piece_place(const struct piece *piece,
                     struct value path,
                     struct place **out,
                     struct err_detail *detail)
{
    if (piece->runtime == NULL) {
        return err_set(detail, ERR_CLOSED, "the piece was stopped");
    }
    struct place *at = piece_result(piece);
    enum err err = path_check(at->path->length + array_count(path), detail);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(path); i++) {
        struct place *child = place_child(at, array_at(path, i));
        place_unref(at);
        at = child;
    }
    const struct cell_access access = {.runtime = piece->runtime};
    if (err == ERR_OK) {
        err = cell_follow(&access, at, READ_FOR_BOTH, true, out, detail);
    }
    place_unref(at);
    return err;
}

static enum err refuse_stream(const struct piece *piece,
                              struct value name,
                              struct err_detail *detail)
{
    const struct text text = value_text(&name);
    struct nearest nearest;
    nearest_begin(&nearest, text.at, text.length);
    VEC_FOREACH (&piece->parts, part) {
        if (part->handler != NULL) {
            const struct text known = value_text(&part->name);
            nearest_offer(&nearest, known.at, known.length);
        }
    }
    return err_set(detail,
                   ERR_NOT_FOUND,
                   "the piece has no stream '%.*s'%s",
                   (int)text.length,
                   text.at,
                   nearest_hint(&nearest));
}

enum err piece_stream(const struct piece *piece,
                      struct value name,
                      struct stream **out,
                      struct err_detail *detail)
{
    struct place *place = NULL;
    const struct part *part = piece_part(piece, name);
    if (part != NULL && part->handler != NULL) {
        place = place_ref(part->place);
    } else {
        struct value path =
            array_push_adopt(value_empty_array(), value_ref(name));
        const enum err err = piece_place(piece, path, &place, detail);
        value_unref(path);
        if (err != ERR_OK) {
            return err;
        }
        if (place->entity == piece->document) { /* not behind a link */
            place_unref(place);
            return refuse_stream(piece, name, detail);
        }
    }
    *out = events_stream(piece->runtime->sched, place);
    place_unref(place);
    return ERR_OK;
}

/* What a part of the piece has in front of its name, for the child of that
 * document: "cards/3/". New. */
static struct value front_of(const struct piece *piece,
                             const struct entity *document)
{
    const struct text whole = value_text(&piece->document->id);
    const struct text id = value_text(&document->id);
    struct buf front = {0};
    if (id.length > whole.length) {
        buf_append(&front,
                   id.at + whole.length + 1,
                   id.length - whole.length - 1);
        buf_append_char(&front, '/');
    }
    const struct value made = value_string_new(front.at, front.length);
    buf_release(&front);
    return made;
}

static enum err refuse_child_stream(const struct place *place,
                                    struct value name,
                                    struct err_detail *detail)
{
    const struct text text = value_text(&name);
    const struct value fields = place->entity->visible.payload;
    struct nearest nearest;
    nearest_begin(&nearest, text.at, text.length);
    struct object_iter iter =
        object_iter(value_is_object(fields) ? fields : value_empty_object());
    struct value field;
    struct value value;
    while (object_next(&iter, &field, &value)) {
        const struct text known = value_text(&field);
        nearest_offer(&nearest, known.at, known.length);
    }
    return err_set(detail,
                   ERR_NOT_FOUND,
                   "the piece has no stream '%.*s'%s",
                   (int)text.length,
                   text.at,
                   nearest_hint(&nearest));
}

/* A field of a child's result, behind all links. */
static enum err field_of_child(const struct piece *piece,
                               struct entity *document,
                               struct value name,
                               struct place **out,
                               struct err_detail *detail)
{
    struct place *payload = place_payload(document);
    struct place *field = place_child(payload, name);
    const struct cell_access access = {.runtime = piece->runtime};
    enum err err =
        cell_follow(&access, field, READ_FOR_BOTH, true, out, detail);
    place_unref(field);
    place_unref(payload);
    if (err == ERR_OK && *out != (*out)->entity->payload) {
        err = refuse_child_stream(*out, name, detail);
        place_unref(*out);
    }
    return err;
}

enum err piece_stream_at(const struct piece *piece,
                         struct entity *document,
                         struct value name,
                         struct stream **out,
                         struct err_detail *detail)
{
    if (document == piece->document) {
        return piece_stream(piece, name, out, detail);
    }
    const struct value front = front_of(piece, document);
    const struct value full = keyed_joined(front, name);
    const struct part *part = piece_part(piece, full);
    value_unref(full);
    value_unref(front);
    struct place *place = NULL;
    if (part != NULL && part->handler != NULL) {
        place = place_ref(part->place);
    } else {
        const enum err err =
            field_of_child(piece, document, name, &place, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    *out = events_stream(piece->runtime->sched, place);
    place_unref(place);
    return ERR_OK;
}
