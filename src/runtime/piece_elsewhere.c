/* Children in other spaces.
 *
 * A commit is of one space. So the description of such a child is written with
 * its parent, under "launched", by "SPACE/NAME":
 *
 *   {"space": "team", "piece": "board~clock", "pattern": "clock",
 *    "arguments": {...}, "part": "clock"}
 *
 * "part" is the name of a child that the pattern declares. It becomes "former"
 * when the pattern no longer declares it: then the child is not started, and is
 * removed with its parent. The child is created from this entry, in its own
 * space (piece-8 of runtime/piece.h); its document names the parent:
 *
 *   "child": {"space": "main", "piece": "board"} */

#include "base/text.h"
#include "runtime/building.h"
#include "runtime/cell.h"
#include "runtime/relink.h"
#include "value/compare.h"
#include "value/object.h"

static void append(struct buf *to, struct value string)
{
    const struct text text = value_text(&string);
    buf_append(to, text.at, text.length);
}

/* -- Names --------------------------------------------------------------- */

/* "board~clock"; of a child in a child "board~one~clock". New. */
static struct value name_of(const struct piece *piece, struct value part)
{
    struct buf name = {0};
    append(&name, piece->name);
    buf_append_char(&name, '~');
    append(&name, part);
    for (size_t i = 0; i < name.length; i++) {
        name.at[i] = name.at[i] == '/' ? '~' : name.at[i];
    }
    const struct value made = value_string_new(name.at, name.length);
    buf_release(&name);
    return made;
}

/* No name of a space has a '/'. New. */
static struct value key_of(struct value space, struct value name)
{
    struct buf key = {0};
    append(&key, space);
    buf_append_char(&key, '/');
    append(&key, name);
    const struct value made = value_string_new(key.at, key.length);
    buf_release(&key);
    return made;
}

/* -- Records ------------------------------------------------------------- */

/* The line of the parent; new. */
static struct value entry_of(struct value space,
                             struct value name,
                             const struct pattern *pattern,
                             struct value arguments)
{
    struct value entry = value_empty_object();
    object_put_adopt(&entry, "space", value_ref(space));
    object_put_adopt(&entry, "piece", value_ref(name));
    object_put_adopt(&entry, "pattern", value_ref(pattern->name));
    object_put_adopt(&entry,
                     "arguments",
                     value_is_object(arguments) ? value_ref(arguments)
                                                : value_empty_object());
    return entry;
}

/* What the child begins with; new. */
static struct value origin_of(const struct piece *parent, struct value entry)
{
    struct value child = value_empty_object();
    object_put_adopt(&child, "space", value_ref(parent->space->id));
    object_put_adopt(&child, "piece", value_ref(parent->name));
    struct value origin = value_empty_object();
    object_put_adopt(&origin,
                     "pattern",
                     value_ref(object_field(entry, "pattern")));
    object_put_adopt(&origin, "child", child);
    object_put_adopt(&origin,
                     "arguments",
                     value_ref(object_field(entry, "arguments")));
    const struct value note = value_is_absent(parent->note)
                                  ? object_field(parent->about, "note")
                                  : parent->note;
    if (!value_is_absent(note)) { /* where its pattern is, too */
        object_put_adopt(&origin, "note", value_ref(note));
    }
    return origin;
}

static bool is_entry(struct value entry)
{
    return value_is_object(entry) &&
           value_is_string(object_field(entry, "space")) &&
           value_is_string(object_field(entry, "piece"));
}

enum err elsewhere_check_parent(const struct piece *piece,
                                struct err_detail *detail)
{
    const struct value wanted = object_field(piece->origin, "child");
    if (value_equal(object_field(piece->about, "child"), wanted)) {
        return ERR_OK;
    }
    const struct text space = value_text(&piece->space->id);
    const struct text name = value_text(&piece->name);
    const struct value parent = object_field(wanted, "piece");
    const struct text of = value_text(&parent);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the space '%.*s' has a piece '%.*s' that is not the child "
                   "of '%.*s': give the child another name",
                   text_shown(space.at, space.length, 60),
                   space.at,
                   text_shown(name.at, name.length, 80),
                   name.at,
                   text_shown(of.at, of.length, 80),
                   of.at);
}

void elsewhere_report(const struct runtime *runtime,
                      struct value name,
                      const struct err_detail *why)
{
    if (runtime->not_started != NULL) {
        runtime->not_started(runtime->not_started_ctx, name, why);
    }
}

/* -- Making -------------------------------------------------------------- */

/* A branch is of one space. */
static enum err check_branch(const struct piece *piece,
                             struct err_detail *detail)
{
    const struct text branch = value_text(&piece->space->branch);
    return branch.length == 0
               ? ERR_OK
               : err_set(detail,
                         ERR_ARGUMENT,
                         "a piece cannot have children in another space on the "
                         "branch '%.*s': a branch is of one space; use the "
                         "branch 'main'",
                         text_shown(branch.at, branch.length, 60),
                         branch.at);
}

/* The document of the child there, and the line of the parent; new. */
static enum err prepare(struct piece *piece,
                        struct value space_name,
                        struct value name,
                        const struct pattern *pattern,
                        struct value arguments,
                        struct entity **document,
                        struct value *entry,
                        struct err_detail *detail)
{
    struct space *space = NULL;
    enum err err = piece_check_name(name, detail);
    if (err == ERR_OK) {
        err = check_branch(piece, detail);
    }
    if (err == ERR_OK) {
        err = runtime_need_space(piece->runtime,
                                 space_name,
                                 true,
                                 &space,
                                 detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    const struct value id = piece_document_id(name, VALUE_NONE);
    err = entity_of(space, SCOPE_SPACE, id, document, detail);
    value_unref(id);
    if (err == ERR_OK) {
        const struct value given =
            relink_adopt(value_ref(arguments), piece->document, *document);
        *entry = entry_of(space_name, name, pattern, given);
        value_unref(given);
    }
    return err;
}

static struct value link_to(struct entity *document, const struct space *from)
{
    struct place *result = place_payload(document);
    const struct value link = cell_link(result, from);
    place_unref(result);
    return link;
}

enum err elsewhere_declare(struct builder *builder,
                           const struct builder_child *child,
                           const struct part *part,
                           struct value *out,
                           struct err_detail *detail)
{
    struct piece *piece = builder->piece;
    if (piece->whole != NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a child in another space cannot be declared per "
                       "element of a list: launch it in a handler");
    }
    struct entity *document;
    const struct value name = name_of(piece, part->name);
    struct value entry = VALUE_NONE;
    const enum err err = prepare(piece,
                                 child->space,
                                 name,
                                 child->pattern,
                                 child->arguments,
                                 &document,
                                 &entry,
                                 detail);
    if (err == ERR_OK) {
        object_put_adopt(&entry, "part", value_ref(part->name));
        const struct piece_elsewhere declared = {
            .key = key_of(child->space, name),
            .entry = entry,
            .pattern = pattern_ref(child->pattern),
        };
        vec_push(&piece->elsewhere, declared);
        *out = link_to(document, piece->space);
    }
    value_unref(name);
    return err;
}

static enum err refuse_taken(struct value space,
                             struct value name,
                             struct err_detail *detail)
{
    const struct text there = value_text(&space);
    const struct text text = value_text(&name);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "a piece named '%.*s' already exists in the space '%.*s': "
                   "launch it with another name",
                   text_shown(text.at, text.length, 80),
                   text.at,
                   text_shown(there.at, there.length, 60),
                   there.at);
}

/* Whether a piece has that name there, or will have it because of this parent.
 * The first can be otherwise when the child is made: then that fails, and is
 * reported. */
static enum err check_free(const struct piece *piece,
                           struct transaction *transaction,
                           struct entity *document,
                           struct value key,
                           struct value entry,
                           struct err_detail *detail)
{
    if (!transaction_knows(transaction, document)) {
        transaction_await(transaction, document);
        return err_set(detail, ERR_STALE, "a document is not loaded yet");
    }
    struct place *line = piece_launched_at(piece, key);
    struct value before = VALUE_NONE;
    (void)
        transaction_read(transaction, line, READ_DEEP, READ_FOR_BOTH, &before);
    place_unref(line);
    struct place *root = place_root(document);
    struct value whole = VALUE_NONE;
    (void)
        transaction_read(transaction, root, READ_DEEP, READ_UNTRACKED, &whole);
    place_unref(root);
    const struct value about =
        value_is_object(whole) ? object_field(whole, "piece") : VALUE_NONE;
    const bool is_taken = !value_is_absent(before) ||
                          (value_is_object(about) &&
                           value_is_absent(object_field(about, "removed")));
    value_unref(whole);
    value_unref(before);
    return is_taken ? refuse_taken(object_field(entry, "space"),
                                   object_field(entry, "piece"),
                                   detail)
                    : ERR_OK;
}

enum err elsewhere_launch(struct piece *piece,
                          struct transaction *transaction,
                          const struct piece_launch_options *options,
                          struct value name,
                          struct value *link,
                          struct err_detail *detail)
{
    struct entity *document;
    struct value entry = VALUE_NONE;
    enum err err = prepare(piece,
                           options->space,
                           name,
                           options->pattern,
                           options->arguments,
                           &document,
                           &entry,
                           detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct value key = key_of(options->space, name);
    if (!value_is_absent(options->name)) {
        err = check_free(piece, transaction, document, key, entry, detail);
    }
    if (err == ERR_OK) {
        err = piece_note_launched(piece,
                                  transaction,
                                  key,
                                  value_ref(entry),
                                  detail);
    }
    if (err == ERR_OK) {
        const struct piece_launching launching = {
            .space = document->space,
            .name = name,
            .pattern = options->pattern,
            .origin = origin_of(piece, entry),
        };
        piece_launch_later(piece, transaction, &launching);
        value_unref(launching.origin);
        *link = link_to(document, piece->space);
    }
    value_unref(key);
    value_unref(entry);
    return err;
}

/* -- The build of the parent --------------------------------------------- */

static const struct piece_elsewhere *find(const struct piece *piece,
                                          struct value key)
{
    VEC_FOREACH (&piece->elsewhere, declared) {
        if (key_equal(declared->key, key)) {
            return declared;
        }
    }
    return NULL;
}

struct value elsewhere_launched(const struct piece *piece)
{
    const struct value before = object_field(piece->about, "launched");
    struct value made = value_empty_object();
    struct object_iter iter =
        object_iter(value_is_object(before) ? before : value_empty_object());
    struct value key;
    struct value line;
    while (object_next(&iter, &key, &line)) {
        struct value entry = value_ref(line);
        if (is_entry(entry) && !value_is_absent(object_field(entry, "part"))) {
            object_put_adopt(&entry, "former", value_bool(true));
        }
        made = object_set_adopt(made, value_ref(key), entry);
    }
    VEC_FOREACH (&piece->elsewhere, declared) {
        made = object_set_adopt(made,
                                value_ref(declared->key),
                                value_ref(declared->entry));
    }
    return made;
}

/* Whether the parent's document says of the child what it says now. */
static bool is_known(const struct piece *piece,
                     const struct piece_elsewhere *declared)
{
    const struct value before = object_field(piece->about, "launched");
    const struct value line = value_is_object(before)
                                  ? object_get(before, declared->key)
                                  : VALUE_NONE;
    return !value_is_absent(line) && value_equal(line, declared->entry);
}

bool elsewhere_has_new(const struct piece *piece)
{
    bool any = false;
    VEC_FOREACH (&piece->elsewhere, declared) {
        any = any || !is_known(piece, declared);
    }
    return any;
}

void elsewhere_undo(struct piece *piece)
{
    VEC_FOREACH (&piece->elsewhere, declared) {
        value_unref(declared->key);
        value_unref(declared->entry);
        pattern_unref(declared->pattern);
    }
    vec_release(&piece->elsewhere);
}

/* -- Starting and ending ------------------------------------------------- */

bool elsewhere_start(struct piece *piece, struct value key, struct value entry)
{
    if (!is_entry(entry)) {
        return false;
    }
    struct runtime *runtime = piece->runtime;
    const struct value name = object_field(entry, "piece");
    const struct piece_elsewhere *declared = find(piece, key);
    struct space *space;
    struct err_detail detail = {0};
    if (!value_is_absent(object_field(entry, "part")) && declared == NULL) {
        return true; /* "former" */
    }
    if (runtime_need_space(runtime,
                           object_field(entry, "space"),
                           true,
                           &space,
                           &detail) != ERR_OK) {
        elsewhere_report(runtime, name, &detail);
        return true;
    }
    if (piece_is_launching(runtime, space, name)) {
        return true; /* the parent's commit has not landed */
    }
    const struct value origin = origin_of(piece, entry);
    const struct piece_options options = {
        .name = name,
        .pattern = declared != NULL ? declared->pattern : NULL,
        .space = space,
        .origin = origin,
        .arguments = object_field(origin, "arguments"),
        .note = object_field(origin, "note"),
        .taken_up = piece->taken_up,
    };
    piece_start_as(runtime, &options);
    value_unref(origin);
    return true;
}

void elsewhere_stop(const struct piece *piece)
{
    VEC_FOREACH (&piece->elsewhere, declared) {
        const struct space *space =
            runtime_space(piece->runtime,
                          object_field(declared->entry, "space"));
        struct piece *child =
            space == NULL ? NULL
                          : piece_find(piece->runtime,
                                       space,
                                       object_field(declared->entry, "piece"));
        if (child != NULL && child->state != PIECE_REMOVING) {
            piece_stop(child);
        }
    }
}

/* -- Removing ------------------------------------------------------------ */

/* Whether the child of an entry has gone for good. */
static bool is_removed(struct piece *piece, struct value entry)
{
    struct space *space;
    struct runtime *runtime = piece->runtime;
    const struct value name = object_field(entry, "piece");
    if (runtime_need_space(runtime,
                           object_field(entry, "space"),
                           false,
                           &space,
                           NULL) != ERR_OK) {
        return true; /* where there is no space, there is no child */
    }
    struct piece *child = piece_find(runtime, space, name);
    if (child != NULL) {
        runtime->pieces_asked |= child->state != PIECE_REMOVING;
        piece_remove(child);
        return false;
    }
    const struct value id = piece_document_id(name, VALUE_NONE);
    const struct entity *document = entity_find(space, SCOPE_SPACE, id);
    value_unref(id);
    const struct value rest = document != NULL && document->loaded
                                  ? document->visible.rest
                                  : VALUE_NONE;
    const struct value about =
        value_is_object(rest) ? object_field(rest, "piece") : VALUE_NONE;
    const struct value origin = origin_of(piece, entry);
    const bool is_there =
        document == NULL || !document->loaded ||
        (value_is_object(about) && value_equal(object_field(about, "child"),
                                               object_field(origin, "child")));
    bool removed = !is_there && space_outstanding(space) == 0;
    if (is_there) {
        const struct piece_options options = {
            .name = name,
            .space = space,
            .origin = origin,
        };
        removed = piece_remove_stored(runtime, &options, NULL) != ERR_OK;
        runtime->pieces_asked = true;
    }
    value_unref(origin);
    return removed;
}

bool elsewhere_are_removed(struct piece *piece)
{
    bool removed = true;
    const struct value launched =
        value_ref(object_field(piece->about, "launched"));
    struct object_iter iter = object_iter(
        value_is_object(launched) ? launched : value_empty_object());
    struct value key;
    struct value entry;
    while (object_next(&iter, &key, &entry)) {
        removed = (!is_entry(entry) || is_removed(piece, entry)) && removed;
    }
    value_unref(launched);
    return removed;
}
