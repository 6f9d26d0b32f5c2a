/* Pieces that handlers start.
 *
 * The handler's commit creates the document of the new piece, which describes
 * it, and names it in the document of the launching piece. When the commit has
 * landed, and at every later start of the launching piece, the new piece is
 * started as an existing one. So it is created exactly once, with the event. */

#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/piece.h"
#include "sched/lineage.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* Between the handler and the answer of the store; in the runtime's
 * launches. */
struct launch {
    struct list_node node;
    struct runtime *runtime;
    struct space *space;
    struct value name;
    struct pattern *pattern;
    struct value origin; /* or absent */
    bool taken_up;
};

static void launch_free(struct launch *launch)
{
    list_remove(&launch->node);
    value_unref(launch->name);
    value_unref(launch->origin);
    pattern_unref(launch->pattern);
    mem_free(launch, sizeof *launch);
}

void launches_release(struct runtime *runtime)
{
    while (!list_is_empty(&runtime->launches)) {
        launch_free(
            CONTAINER_OF(list_first(&runtime->launches), struct launch, node));
    }
}

bool piece_is_launching(const struct runtime *runtime,
                        const struct space *space,
                        struct value name)
{
    LIST_FOREACH (&runtime->launches, at) {
        const struct launch *launch = CONTAINER_OF(at, struct launch, node);
        if (launch->space == space && key_equal(launch->name, name)) {
            return true;
        }
    }
    return false;
}

void piece_start_as(struct runtime *runtime, const struct piece_options *given)
{
    struct piece *there = piece_find(runtime, given->space, given->name);
    if (there != NULL && there->state == PIECE_FAILED) {
        piece_stop(there); /* there was none of that name, perhaps */
    } else if (there != NULL && (given->taken_up || !there->taken_up)) {
        if (value_is_absent(given->arguments) ||
            there->state != PIECE_RUNNING ||
            value_equal(given->arguments,
                        object_field(there->about, "arguments"))) {
            return;
        }
        piece_stop(there);
    }
    struct piece *piece;
    struct err_detail detail = {0};
    const enum err err = piece_start(runtime, given, &piece, &detail);
    (void)err; /* a piece that cannot be started says so itself */
}

static void on_landed(void *ctx)
{
    struct launch *launch = ctx;
    const struct value origin = launch->origin;
    const bool is_elsewhere = !value_is_absent(origin);
    const struct piece_options options = {
        .name = launch->name,
        .pattern = launch->pattern,
        .space = launch->space,
        .origin = origin,
        .arguments =
            is_elsewhere ? object_field(origin, "arguments") : VALUE_NONE,
        .note = is_elsewhere ? object_field(origin, "note") : VALUE_NONE,
        .must_exist = !is_elsewhere,
        .taken_up = launch->taken_up,
    };
    piece_start_as(launch->runtime, &options);
    launch_free(launch);
}

static void on_failed(void *ctx)
{
    launch_free(ctx);
}

void piece_start_launched(struct piece *piece)
{
    const struct value launched =
        value_ref(object_field(piece->about, "launched"));
    if (value_is_object(launched)) {
        struct runtime *runtime = piece->runtime;
        struct space *space = piece->space;
        struct object_iter iter = object_iter(launched);
        struct value name;
        struct value item;
        const struct value note = value_ref(object_field(piece->about, "note"));
        const bool taken_up = piece->taken_up;
        while (object_next(&iter, &name, &item)) {
            if (!elsewhere_start(piece, name, item)) {
                const struct piece_options options = {
                    .name = name,
                    .space = space,
                    .note = note,
                    .must_exist = true,
                    .taken_up = taken_up,
                };
                piece_start_as(runtime, &options);
            }
        }
        value_unref(note);
    }
    value_unref(launched);
}

/* The name: of the piece and the event. New. */
static struct value name_of(const struct piece *piece,
                            struct handling *handling)
{
    const struct value id = handling_new_id(handling);
    const struct text digest = value_text(&id);
    const struct text owner = value_text(&piece->name);
    const size_t skipped = 3; /* "of:" */
    struct buf name = {0};
    buf_append(&name, owner.at, owner.length < 128 ? owner.length : 128);
    buf_append_char(&name, '~');
    buf_append(&name, digest.at + skipped, digest.length - skipped);
    const struct value made = value_string_new(name.at, name.length);
    buf_release(&name);
    value_unref(id);
    return made;
}

/* Whether the name is free, on which the commit depends. *generation is that of
 * a removed piece that had the name, or 0. STALE: the document has to be loaded
 * first. */
static enum err check_free(struct transaction *transaction,
                           struct entity *document,
                           struct value name,
                           int64_t *generation,
                           struct err_detail *detail)
{
    if (!transaction_knows(transaction, document)) {
        transaction_await(transaction, document);
        return err_set(detail, ERR_STALE, "a document is not loaded yet");
    }
    struct place *root = place_root(document);
    struct value whole = VALUE_NONE;
    (void)transaction_read(transaction, root, READ_DEEP, READ_FOR_BOTH, &whole);
    place_unref(root);
    const struct value about = object_field(whole, "piece");
    enum err err = ERR_OK;
    if (value_is_object(about) &&
        value_is_absent(object_field(about, "removed"))) {
        const struct text text = value_text(&name);
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "a piece named '%.*s' already exists: launch it with "
                      "another name",
                      (int)text.length,
                      text.at);
    } else if (value_is_object(about)) {
        const struct value number = object_field(about, "generation");
        *generation =
            value_kind(number) == VALUE_INT ? value_integer(number) : 0;
    }
    value_unref(whole);
    return err;
}

/* What the new piece is to be, new. `child` names the piece that launched it,
 * which has it among its `launched`. */
static struct value about_of(const struct piece *piece,
                             const struct pattern *pattern,
                             struct value arguments,
                             int64_t generation)
{
    struct value about = value_empty_object();
    object_put_adopt(&about, "pattern", value_ref(pattern->name));
    if (generation > 0) { /* distinguishes it from the removed piece */
        object_put_adopt(&about, "generation", value_int(generation + 1));
    }
    object_put_adopt(&about, "child", value_ref(piece->name));
    object_put_adopt(&about,
                     "arguments",
                     value_is_object(arguments) ? value_ref(arguments)
                                                : value_empty_object());
    const struct value note = object_field(piece->about, "note");
    if (!value_is_absent(note)) { /* where its pattern is, too */
        object_put_adopt(&about, "note", value_ref(note));
    }
    return about;
}

struct place *piece_launched_at(const struct piece *piece, struct value key)
{
    const struct value keys[] = {
        value_text_new("piece"),
        value_text_new("launched"),
        value_ref(key),
    };
    struct place *at = place_root(piece->document);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct place *child = place_child(at, keys[i]);
        value_unref(keys[i]);
        place_unref(at);
        at = child;
    }
    return at;
}

enum err piece_note_launched(const struct piece *piece,
                             struct transaction *transaction,
                             struct value key,
                             struct value line,
                             struct err_detail *detail)
{
    struct place *at = piece_launched_at(piece, key);
    const enum err err = transaction_put_adopt(transaction, at, line, detail);
    place_unref(at);
    return err;
}

/* The document of the new piece, and the line in that of the old one. */
static enum err write_both(struct piece *piece,
                           struct transaction *transaction,
                           struct entity *document,
                           struct value about,
                           struct value name,
                           struct err_detail *detail)
{
    struct value whole = value_empty_object();
    object_put_adopt(&whole, "piece", value_ref(about));
    struct place *root = place_root(document);
    enum err err = transaction_put_adopt(transaction, root, whole, detail);
    place_unref(root);
    if (err == ERR_OK) {
        err = piece_note_launched(piece,
                                  transaction,
                                  name,
                                  value_ref(object_field(about, "pattern")),
                                  detail);
    }
    return err;
}

void piece_launch_later(const struct piece *by,
                        struct transaction *transaction,
                        const struct piece_launching *launching)
{
    struct launch *launch = mem_alloc_zero(sizeof *launch);
    launch->runtime = by->runtime;
    launch->space = launching->space;
    launch->name = value_ref(launching->name);
    launch->pattern = pattern_ref(launching->pattern);
    launch->origin = value_ref(launching->origin);
    launch->taken_up = !value_is_absent(launch->origin) && by->taken_up;
    list_node_init(&launch->node);
    list_push_back(&by->runtime->launches, &launch->node);
    struct sched *sched = by->runtime->sched;
    lineage_stop_unless_landed(sched, transaction, on_failed, launch);
    lineage_after_landing(sched, transaction, on_landed, launch);
}

/* In the space of the piece. */
static enum err launch_here(struct piece *piece,
                            struct transaction *transaction,
                            const struct piece_launch_options *options,
                            struct value name,
                            struct value *link,
                            struct err_detail *detail)
{
    const struct value id = piece_document_id(name, VALUE_NONE);
    struct entity *document;
    int64_t generation = 0;
    enum err err = entity_of(piece->space, SCOPE_SPACE, id, &document, detail);
    if (err == ERR_OK && !value_is_absent(options->name)) {
        err = check_free(transaction, document, name, &generation, detail);
    }
    if (err == ERR_OK) {
        const struct value about =
            about_of(piece, options->pattern, options->arguments, generation);
        err = write_both(piece, transaction, document, about, name, detail);
        value_unref(about);
    }
    if (err == ERR_OK) {
        const struct piece_launching launching = {
            .space = piece->space,
            .name = name,
            .pattern = options->pattern,
        };
        piece_launch_later(piece, transaction, &launching);
        struct place *result = place_payload(document);
        *link = cell_link(result, piece->space);
        place_unref(result);
    }
    value_unref(id);
    return err;
}

enum err piece_launch(struct piece *piece,
                      struct handling *handling,
                      const struct piece_launch_options *options,
                      struct value *link,
                      struct err_detail *detail)
{
    const bool is_named = !value_is_absent(options->name);
    if (piece->runtime == NULL) {
        return err_set(detail, ERR_CLOSED, "the piece was stopped");
    }
    enum err err = is_named ? piece_check_name(options->name, detail) : ERR_OK;
    if (err != ERR_OK) {
        return err;
    }
    struct transaction *transaction = handling_transaction(handling);
    const struct value name =
        is_named ? value_ref(options->name) : name_of(piece, handling);
    const bool is_here = value_is_absent(options->space) ||
                         (value_is_string(options->space) &&
                          key_equal(options->space, piece->space->id));
    err =
        is_here
            ? launch_here(piece, transaction, options, name, link, detail)
            : elsewhere_launch(piece, transaction, options, name, link, detail);
    value_unref(name);
    return err;
}
