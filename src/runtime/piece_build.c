/* Building a piece: one transaction, one phase of registrations.
 *
 * A build can be repeated: a concurrent change is detected when the transaction
 * is committed here, or by the verdict of the store. Then everything is undone,
 * and the document is read again. */

#include "runtime/building.h"
#include "runtime/cell.h"
#include "runtime/change.h"
#include "runtime/migration.h"
#include "runtime/piece_schemas.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    BUILD_ATTEMPTS = 10
};

/* -- The pattern --------------------------------------------------------- */

static bool is_removed(const struct piece *piece)
{
    return !value_is_absent(object_field(piece->about, "removed"));
}

/* Of those that were launched, or are children of another space; or absent. */
static struct value child_of(const struct piece *piece)
{
    return value_is_absent(piece->origin)
               ? object_field(piece->about, "child")
               : object_field(piece->origin, "child");
}

static bool exists(const struct piece *piece)
{
    return object_count(piece->about) > 0 && !is_removed(piece);
}

/* By the name in the document, if it was not given. */
static enum err find_pattern(struct piece *piece, struct err_detail *detail)
{
    const struct text name = value_text(&piece->name);
    const bool has_origin = !value_is_absent(piece->origin);
    if (exists(piece) && has_origin) {
        const enum err err = elsewhere_check_parent(piece, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    if (!exists(piece) && !has_origin &&
        (piece->must_exist || piece->pattern == NULL)) {
        return err_set(detail,
                       ERR_NOT_FOUND,
                       "there is no piece %.*s",
                       (int)name.length,
                       name.at);
    }
    if (piece->pattern != NULL) {
        return ERR_OK;
    }
    struct runtime *runtime = piece->runtime;
    const struct value about = has_origin ? piece->origin : piece->about;
    const struct value wanted = object_field(about, "pattern");
    struct pattern *pattern = NULL;
    if (runtime->pattern_of != NULL) {
        pattern = runtime->pattern_of(runtime->pattern_ctx, about, detail);
        if (pattern == NULL && piece->taken_up) {
            return detail->err; /* a different piece of that name */
        }
    }
    if (pattern == NULL && value_is_string(wanted)) {
        pattern = runtime_pattern(runtime, wanted);
    }
    if (pattern == NULL) {
        const struct text text = value_is_string(wanted)
                                     ? value_text(&wanted)
                                     : (struct text){"?", 1};
        return err_set(detail,
                       ERR_NOT_FOUND,
                       "the pattern %.*s of the piece %.*s is not registered "
                       "in this process",
                       (int)text.length,
                       text.at,
                       (int)name.length,
                       name.at);
    }
    piece->pattern = pattern_ref(pattern);
    return ERR_OK;
}

/* A piece that is created after a removal gets a new generation. */
static uint64_t generation_of(const struct piece *piece)
{
    const struct value generation = object_field(piece->about, "generation");
    const int64_t number =
        value_kind(generation) == VALUE_INT ? value_integer(generation) : 0;
    if (number <= 0) {
        return 1;
    }
    return (uint64_t)number + (exists(piece) ? 0 : 1);
}

/* -- The documents of the piece itself ----------------------------------- */

static void put_unless_empty(struct value *about,
                             const char *key,
                             struct value object)
{
    if (object_count(object) > 0) {
        object_put_adopt(about, key, object);
    } else {
        value_unref(object);
    }
}

/* The names of the scopes that states have beside that of the space; new. */
static struct value scopes_now(const struct builder *builder)
{
    struct value names = value_empty_array();
    for (unsigned i = SCOPE_USER; i <= SCOPE_SESSION; i++) {
        if ((builder->scopes & 1U << i) != 0) {
            names = array_push_adopt(names,
                                     value_text_new(scope_name((enum scope)i)));
        }
    }
    return names;
}

/* The new content of "piece"; new. */
static struct value about_now(const struct piece *piece,
                              const struct builder *builder)
{
    struct value about = value_empty_object();
    object_put_adopt(&about, "pattern", value_ref(piece->pattern->name));
    object_put_adopt(&about,
                     "generation",
                     value_int((int64_t)piece->generation));
    struct value arguments = value_is_absent(piece->arguments)
                                 ? object_field(piece->about, "arguments")
                                 : piece->arguments;
    object_put_adopt(&about,
                     "arguments",
                     value_is_object(arguments) ? value_ref(arguments)
                                                : value_empty_object());
    object_put_adopt(&about, "cells", value_ref(builder->cells));
    put_unless_empty(&about, "schemas", piece_schemas_stored(builder));
    put_unless_empty(&about, "kinds", change_kinds(piece, builder));
    put_unless_empty(&about, "former", change_former(piece, builder));
    put_unless_empty(&about, "versions", value_ref(builder->versions));
    put_unless_empty(&about, "replaced", migrations_replaced(piece, builder));
    object_put_adopt(&about, "children", value_ref(builder->children));
    if (builder->scopes != 0) {
        object_put_adopt(&about, "scopes", scopes_now(builder));
    }
    object_put_adopt(&about, "launched", elsewhere_launched(piece));
    if (!value_is_absent(child_of(piece))) {
        object_put_adopt(&about, "child", value_ref(child_of(piece)));
    }
    const struct value note = value_is_absent(piece->note)
                                  ? object_field(piece->about, "note")
                                  : piece->note;
    if (!value_is_absent(note)) {
        object_put_adopt(&about, "note", value_ref(note));
    }
    return about;
}

/* Former declarations stay recorded: their documents exist, and a pattern that
 * declares them again finds them. */
void building_keep_former(const struct piece *piece, struct builder *builder)
{
    const struct value cells = object_field(piece->about, "cells");
    if (!value_is_object(cells)) {
        return;
    }
    struct object_iter iter = object_iter(cells);
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        if (value_is_absent(object_get(builder->cells, name)) &&
            value_is_absent(object_get(builder->dropped, name))) {
            builder->cells = object_set_adopt(builder->cells,
                                              value_ref(name),
                                              value_ref(kind));
        }
    }
}

static enum err put(struct transaction *transaction,
                    struct entity *document,
                    const char *key,
                    struct value value,
                    struct err_detail *detail)
{
    struct place *root = place_root(document);
    const struct value name = value_text_new(key);
    struct place *place = place_child(root, name);
    const enum err err =
        transaction_put_adopt(transaction, place, value, detail);
    place_unref(place);
    value_unref(name);
    place_unref(root);
    return err;
}

/* Writes the whole document, or the parts of it that differ. */
enum err building_write_document(struct piece *piece,
                                 const struct builder *builder,
                                 struct value about,
                                 struct err_detail *detail)
{
    if (!exists(piece)) {
        struct value document = value_empty_object();
        object_put_adopt(&document, "value", value_ref(builder->result));
        object_put_adopt(&document, "piece", value_ref(about));
        struct place *root = place_root(piece->document);
        const enum err err =
            transaction_put_adopt(builder->transaction, root, document, detail);
        place_unref(root);
        return err;
    }
    enum err err = ERR_OK;
    const struct value result = piece->document->visible.payload;
    if (value_is_absent(result) || !value_equal(result, builder->result)) {
        err = put(builder->transaction,
                  piece->document,
                  "value",
                  value_ref(builder->result),
                  detail);
    }
    if (err == ERR_OK && !value_equal(piece->about, about)) {
        err = put(builder->transaction,
                  piece->document,
                  "piece",
                  value_ref(about),
                  detail);
    }
    return err;
}

/* The entry in the list of pieces; a piece launched in its space has none. */
static enum err write_index(const struct piece *piece,
                            const struct builder *builder,
                            struct value about,
                            struct err_detail *detail)
{
    struct entity *index;
    enum err err = piece_index(piece->space, &index, detail);
    const struct value child = child_of(piece);
    if (err != ERR_OK || (!value_is_absent(child) && !value_is_object(child))) {
        return err;
    }
    struct value line = value_empty_object();
    object_put_adopt(&line, "pattern", value_ref(piece->pattern->name));
    const struct value note = object_field(about, "note");
    if (!value_is_absent(note)) {
        object_put_adopt(&line, "note", value_ref(note));
    }
    const struct value all = index->visible.payload;
    const struct value known =
        value_is_object(all) ? object_get(all, piece->name) : VALUE_NONE;
    if (!value_is_absent(known) && value_equal(known, line)) {
        value_unref(line);
        return ERR_OK;
    }
    struct place *payload = place_payload(index);
    if (value_is_object(all)) {
        struct place *entry = place_child(payload, piece->name);
        err = transaction_put_adopt(builder->transaction, entry, line, detail);
        place_unref(entry);
    } else {
        const struct value lines = object_set_adopt(value_empty_object(),
                                                    value_ref(piece->name),
                                                    line);
        err =
            transaction_put_adopt(builder->transaction, payload, lines, detail);
    }
    place_unref(payload);
    return err;
}

/* -- The registrations --------------------------------------------------- */

/* Calls the pattern, in a phase of resuming if there is something to resume. */
static enum err declare_all(struct piece *piece,
                            struct builder *builder,
                            struct err_detail *detail)
{
    struct runtime *runtime = piece->runtime;
    struct resume_set set = {0};
    bool phase = false;
    if (exists(piece) && !piece->fresh && runtime->resume != NULL &&
        piece->space->session != NULL) {
        struct err_detail why = {0}; /* then all of it is fresh */
        phase = runtime->resume(runtime->resume_ctx,
                                piece->space,
                                piece->name,
                                &set,
                                &why) == ERR_OK;
    }
    if (phase) {
        const struct resume_options options =
            resume_set_options(&set,
                               piece->space,
                               piece->name,
                               piece->generation);
        struct err_detail why = {0};
        phase =
            persistence_resume_begin(runtime->sched, &options, &why) == ERR_OK;
    }
    const enum err err =
        piece->pattern->build(builder, piece->pattern->ctx, detail);
    piece->counts = (struct resume_counts){0};
    if (phase) {
        piece->counts = persistence_resume_end(runtime->sched);
    }
    resume_set_release(&set);
    return err;
}

/* -- The transaction ----------------------------------------------------- */

/* The store has judged what a start has written. */
static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct piece *piece = ctx;
    const bool is_built = piece->state == PIECE_RUNNING || piece->landing;
    piece->landing = false;
    if (piece->runtime != NULL && verdict->err != ERR_OK && is_built) {
        piece->made = false;
        if (err_class_of(verdict->err) == ERR_CLASS_RETRY &&
            ++piece->attempts < BUILD_ATTEMPTS) {
            piece->again = true;
        } else {
            piece_fail(piece, &verdict->detail);
        }
    }
    if (piece->runtime != NULL && verdict->err == ERR_OK &&
        piece->migrated.length > 0 && piece->runtime->notice != NULL) {
        piece->runtime->notice(piece->runtime->notice_ctx,
                               piece,
                               buf_text(&piece->migrated));
    }
    piece_unref(piece);
}

/* Records the notice to give when the commit has landed. */
static void note_migration(struct piece *piece, const struct builder *builder)
{
    buf_clear(&piece->migrated);
    if (!builder->migrated) {
        return;
    }
    struct object_iter iter = object_iter(builder->versions);
    struct value prefix;
    struct value version;
    while (object_next(&iter, &prefix, &version)) {
        const uint32_t before =
            migration_version_in(builder->before_versions, prefix);
        const uint32_t after = (uint32_t)value_integer(version);
        if (after > before) {
            buf_append_text(&piece->migrated,
                            piece->migrated.length > 0 ? "; " : "");
            const struct text child = value_text(&prefix);
            buf_append(&piece->migrated, child.at, child.length);
            buf_append_text(&piece->migrated, child.length > 0 ? " " : "");
            buf_printf(&piece->migrated,
                       "migrated from version %u to %u",
                       (unsigned)before,
                       (unsigned)after);
        }
    }
}

/* Everything but the commit. */
static enum err build_in(struct piece *piece,
                         struct builder *builder,
                         struct value *about,
                         struct err_detail *detail)
{
    /* What was there, or was not, is what the commit depends on (piece-2). */
    struct place *root = place_root(piece->document);
    struct value seen = VALUE_NONE;
    const enum err read = transaction_read(builder->transaction,
                                           root,
                                           READ_DEEP,
                                           READ_FOR_BOTH,
                                           &seen);
    (void)read; /* that there is nothing is an answer */
    value_unref(seen);
    place_unref(root);
    enum err err = declare_all(piece, builder, detail);
    builder->declared = value_ref(builder->cells);
    if (err == ERR_OK) {
        err = building_check_arguments(builder,
                                       piece->arguments,
                                       piece->pattern,
                                       detail);
    }
    if (err == ERR_OK) {
        err = change_check_pattern(piece, builder, detail);
    }
    if (err == ERR_OK && piece->needs.count > 0) {
        err = ERR_STALE; /* states of the user have to be here */
    }
    if (err == ERR_OK) {
        err = piece_schemas_check(builder, detail);
    }
    if (err == ERR_OK) {
        piece_schemas_apply(piece, builder);
        err = migrations_run(piece, builder, detail);
    }
    if (err == ERR_OK) {
        building_keep_former(piece, builder);
        *about = about_now(piece, builder);
        if (piece->attempts == 0) {
            change_tell(piece, builder);
            piece_schemas_tell(builder);
        }
        note_migration(piece, builder);
        err = building_write_document(piece, builder, *about, detail);
    }
    if (err == ERR_OK) {
        err = building_write_records(builder, detail);
    }
    return err == ERR_OK ? write_index(piece, builder, *about, detail) : err;
}

/* The watch of the commit holds a reference to the piece; it is released here
 * if no verdict will come. */
static enum err commit(struct piece *piece,
                       struct transaction *transaction,
                       struct err_detail *detail)
{
    if (transaction->unwritten) {
        transaction_abort(transaction);
        piece_unref(piece);
        return ERR_OK;
    }
    piece->landing = elsewhere_has_new(piece);
    const enum err err = transaction_commit(transaction, detail);
    if (err != ERR_OK || transaction->applied == 0) {
        piece->landing = false;
        piece_unref(piece);
    }
    return err;
}

void building_release(struct builder *builder)
{
    value_unref(builder->prefix);
    value_unref(builder->result);
    value_unref(builder->cells);
    value_unref(builder->children);
    piece_schemas_release(builder);
    value_unref(builder->declared);
    value_unref(builder->dropped);
    value_unref(builder->versions);
    migrations_release(builder);
    for (unsigned i = SCOPE_USER; i <= SCOPE_SESSION; i++) {
        value_unref(builder->made[i]);
    }
}

/* Of a child whose parent is in another space: events that the parent sent to
 * it wait there. */
static void open_parent(const struct piece *piece)
{
    const struct value child = child_of(piece);
    const struct value space =
        value_is_object(child) ? object_field(child, "space") : VALUE_NONE;
    struct space *opened;
    if (value_is_string(space)) {
        const enum err err =
            runtime_need_space(piece->runtime, space, false, &opened, NULL);
        (void)err; /* then none of them can be seen */
    }
}

void piece_build(struct piece *piece)
{
    struct err_detail detail = {0};
    enum err err = find_pattern(piece, &detail);
    if (err != ERR_OK) {
        piece_fail(piece, &detail);
        return;
    }
    piece->generation = generation_of(piece);
    piece->resumed = exists(piece);
    open_parent(piece);
    const struct transaction_options options = {
        .watch = {.settled = on_settled, .ctx = piece_ref(piece)},
    };
    struct builder builder = {
        .piece = piece,
        .transaction = transaction_begin(&piece->runtime->replica, &options),
        .prefix = value_text_new(""),
        .arguments = value_is_absent(piece->arguments)
                         ? object_field(piece->about, "arguments")
                         : piece->arguments,
        .before = piece->resumed ? object_field(piece->about, "arguments")
                                 : VALUE_NONE,
        .result = value_empty_object(),
        .cells = value_empty_object(),
        .children = value_empty_object(),
        .dropped = value_empty_object(),
        .versions = value_empty_object(),
    };
    if (!piece->resumed) { /* nothing that a removed one had counts */
        value_unref(piece->about);
        piece->about = value_empty_object();
    }
    struct value about = VALUE_NONE;
    err = build_in(piece, &builder, &about, &detail);
    if (err == ERR_OK) {
        err = commit(piece, builder.transaction, &detail);
    } else {
        piece_unref(piece);
    }
    transaction_release(builder.transaction);
    building_release(&builder);
    if (err == ERR_OK) {
        value_unref(piece->about);
        piece->about = about;
        piece->made = piece->made || !piece->resumed;
        if (piece->landing) { /* piece-8: it is built again then */
            builder_undo(piece);
            piece->state = PIECE_LOADING;
        } else {
            piece->state = PIECE_RUNNING;
        }
        return;
    }
    value_unref(about);
    const bool waits = piece->needs.count > 0; /* which is no attempt */
    if (err_class_of(err) == ERR_CLASS_RETRY &&
        (waits || ++piece->attempts < BUILD_ATTEMPTS)) {
        builder_undo(piece);
        piece->state = PIECE_LOADING;
        return;
    }
    piece_fail(piece, &detail);
}
