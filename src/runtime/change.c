/* Names whose kind has changed. */

#include "runtime/change.h"

#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    NAMES_TOLD = 8, /* in one sentence */
};

/* -- Kinds --------------------------------------------------------------- */

static struct value field_of(struct value about,
                             const char *field,
                             struct value name)
{
    const struct value all =
        value_is_object(about) ? object_field(about, field) : VALUE_NONE;
    return value_is_object(all) ? object_get(all, name) : VALUE_NONE;
}

bool change_is_data(struct value kind)
{
    return value_is_text(kind, "state") || value_is_text(kind, "argument") ||
           value_is_text(kind, "collection");
}

struct value change_kinds_of(struct value about, struct value name)
{
    const struct value several = field_of(about, "kinds", name);
    if (value_is_array(several)) {
        return value_ref(several);
    }
    const struct value kind = field_of(about, "cells", name);
    return value_is_absent(kind)
               ? value_empty_array()
               : array_push_adopt(value_empty_array(), value_ref(kind));
}

/* The kind of the plain document; absent if there is none. Borrowed. */
static struct value owner_of(struct value about, struct value name)
{
    const struct value several = field_of(about, "kinds", name);
    return value_is_array(several) ? array_at(several, 0)
                                   : field_of(about, "cells", name);
}

static bool contains(struct value kinds, struct value kind)
{
    struct array_iter iter = array_iter(kinds);
    struct value one;
    while (array_next(&iter, &one)) {
        if (value_equal(one, kind)) {
            return true;
        }
    }
    return false;
}

bool change_had(struct value about, struct value name, enum part_kind kind)
{
    const struct value several = field_of(about, "kinds", name);
    if (!value_is_array(several)) {
        return value_is_text(field_of(about, "cells", name),
                             part_kind_name(kind));
    }
    const struct value wanted = value_text_new(part_kind_name(kind));
    const bool had = contains(several, wanted);
    value_unref(wanted);
    return had;
}

bool change_takes_over(struct value about, struct value name)
{
    const struct value owner = owner_of(about, name);
    return !value_is_absent(owner) && !change_is_data(owner);
}

struct value change_document_id(struct value piece,
                                struct value about,
                                struct value name,
                                struct value kind)
{
    const struct value owner = owner_of(about, name);
    if (!change_is_data(owner) || value_equal(owner, kind)) {
        return piece_document_id(piece, name);
    }
    const struct text text = value_text(&name);
    const struct text suffix = value_text(&kind);
    struct buf full = {0};
    buf_append(&full, text.at, text.length);
    buf_append_text(&full, "//");
    buf_append(&full, suffix.at, suffix.length);
    const struct value other = value_string_new(full.at, full.length);
    const struct value id = piece_document_id(piece, other);
    value_unref(other);
    buf_release(&full);
    return id;
}

struct value piece_part_document(struct value piece,
                                 struct value about,
                                 struct value name)
{
    const struct value kind = field_of(about, "cells", name);
    return value_is_absent(kind) ? VALUE_NONE
                                 : change_document_id(piece, about, name, kind);
}

/* -- Stored kinds -------------------------------------------------------- */

/* The kinds of a name that is declared as `kind` now; new. */
static struct value kinds_now(struct value about,
                              struct value name,
                              struct value kind)
{
    struct value kinds = change_kinds_of(about, name);
    if (array_count(kinds) == 0 || !change_is_data(array_at(kinds, 0))) {
        value_unref(kinds); /* change-2 */
        kinds = value_empty_array();
    }
    return contains(kinds, kind) ? kinds
                                 : array_push_adopt(kinds, value_ref(kind));
}

static bool has_several(struct value about, struct value name)
{
    return value_is_array(field_of(about, "kinds", name));
}

struct value change_kinds(const struct piece *piece,
                          const struct builder *builder)
{
    struct value all = value_empty_object();
    struct object_iter iter = object_iter(builder->cells);
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        const struct value owner = owner_of(piece->about, name);
        if (!change_is_data(owner) ||
            (value_equal(owner, kind) && !has_several(piece->about, name))) {
            continue; /* nearly always */
        }
        const struct value kinds = kinds_now(piece->about, name, kind);
        if (array_count(kinds) > 1) {
            all = object_set_adopt(all, value_ref(name), kinds);
        } else {
            value_unref(kinds);
        }
    }
    return all;
}

/* The kind of a name among what the build has declared. */
static struct value declared(const struct builder *builder, struct value name)
{
    return object_get(builder->declared, name);
}

struct value change_former(const struct piece *piece,
                           const struct builder *builder)
{
    struct value all = value_empty_object();
    const struct value cells = object_field(piece->about, "cells");
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        const bool is_listed =
            change_is_data(kind) ||
            value_is_text(kind, part_kind_name(PART_HANDLER));
        if (is_listed && value_is_absent(declared(builder, name)) &&
            !value_is_absent(object_get(builder->cells, name))) {
            all = object_set_adopt(all, value_ref(name), value_ref(kind));
        }
    }
    return all;
}

/* -- Notices ------------------------------------------------------------- */

static const char *in_words(struct value kind)
{
    static const struct {
        const char *kind;
        const char *words;
    } all[] = {
        {"state", "a state"},
        {"argument", "an argument"},
        {"collection", "a collection"},
        {"effect", "an effect"},
        {"handler", "a stream"},
        {"piece", "a child piece"},
        {"list", "a list"},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (value_is_text(kind, all[i].kind)) {
            return all[i].words;
        }
    }
    return "a computation";
}

static void tell(struct piece *piece, const struct buf *sentence)
{
    const struct runtime *runtime = piece->runtime;
    if (runtime->notice != NULL) {
        runtime->notice(runtime->notice_ctx, piece, buf_text(sentence));
    }
}

static void append_value(struct buf *to, struct value string)
{
    const struct text text = value_text(&string);
    buf_append(to, text.at, text.length);
}

static void append_name(struct buf *to, struct value name)
{
    buf_append_char(to, '\'');
    append_value(to, name);
    buf_append_char(to, '\'');
}

/* Data that is no longer declared. */
static void tell_hidden(struct piece *piece,
                        const struct builder *builder,
                        struct value name,
                        struct value kind)
{
    if (!value_is_absent(field_of(piece->about, "former", name)) ||
        builder->migrated ||
        value_is_absent(object_get(builder->cells, name))) {
        return;
    }
    struct buf text = {0};
    buf_append_text(&text, "the pattern no longer declares the ");
    append_value(&text, kind);
    buf_append_char(&text, ' ');
    append_name(&text, name);
    buf_append_text(&text, ": its data is kept but hidden; declare it again");
    if (!value_is_text(kind, "collection")) {
        buf_append_text(&text, ", or move the data with p:migrate (old:get(\"");
        append_value(&text, name);
        buf_append_text(&text, "\"))");
    }
    tell(piece, &text);
    buf_release(&text);
}

static void tell_other_kind(struct piece *piece,
                            struct value name,
                            struct value was,
                            struct value is)
{
    struct buf text = {0};
    append_name(&text, name);
    buf_printf(&text,
               " was %s and is %s now: its ",
               in_words(was),
               in_words(is));
    buf_append_text(&text, "data is kept, and visible again when ");
    append_name(&text, name);
    buf_printf(&text, " is %s again; p:migrate can read it", in_words(was));
    tell(piece, &text);
    buf_release(&text);
}

static void tell_back(struct piece *piece, struct value name, struct value is)
{
    struct buf text = {0};
    append_name(&text, name);
    buf_printf(&text, " is %s again, with its previous data", in_words(is));
    tell(piece, &text);
    buf_release(&text);
}

void change_tell(struct piece *piece, const struct builder *builder)
{
    const struct value cells = object_field(piece->about, "cells");
    if (!value_is_object(cells) || piece->runtime->notice == NULL) {
        return;
    }
    struct object_iter iter = object_iter(cells);
    struct value name;
    struct value was;
    while (object_next(&iter, &name, &was)) {
        const struct value is = declared(builder, name);
        const bool former =
            !value_is_absent(field_of(piece->about, "former", name));
        if (value_is_absent(is)) {
            if (change_is_data(was)) {
                tell_hidden(piece, builder, name, was);
            }
            continue;
        }
        if (!value_equal(was, is) && change_is_data(was)) {
            tell_other_kind(piece, name, was, is);
        }
        if (change_is_data(is) && (former || !value_equal(was, is))) {
            const struct value kinds = change_kinds_of(piece->about, name);
            if (contains(kinds, is)) {
                tell_back(piece, name, is);
            }
            value_unref(kinds);
        }
    }
}

/* -- Another pattern ----------------------------------------------------- */

/* The data that would be hidden; and how much would stay. */
static void count_data(const struct piece *piece,
                       const struct builder *builder,
                       struct buf *hidden,
                       unsigned *gone,
                       unsigned *kept)
{
    const struct value cells = object_field(piece->about, "cells");
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        if (!change_is_data(kind) ||
            !value_is_absent(field_of(piece->about, "former", name))) {
            continue;
        }
        if (!value_is_absent(declared(builder, name))) {
            *kept += 1;
            continue;
        }
        if (*gone < NAMES_TOLD) {
            buf_append_text(hidden, *gone > 0 ? ", " : "");
            append_value(hidden, name);
        }
        *gone += 1;
    }
}

enum err change_check_pattern(const struct piece *piece,
                              struct builder *builder,
                              struct err_detail *detail)
{
    const struct value before = object_field(piece->about, "note");
    const bool is_child = !value_is_absent(object_field(piece->about, "child"));
    const bool has_note = !is_child && !value_is_absent(piece->note);
    if (!piece->resumed || (has_note && !value_is_absent(before) &&
                            value_equal(before, piece->note))) {
        return ERR_OK;
    }
    const struct value was = object_field(piece->about, "pattern");
    struct buf hidden = {0};
    unsigned gone = 0;
    unsigned kept = 0;
    count_data(piece, builder, &hidden, &gone, &kept);
    enum err err = ERR_OK;
    const bool same =
        !value_is_string(was) || key_equal(was, piece->pattern->name);
    builder->other = !same && kept == 0;
    if (!piece->replace && (!same || (has_note && gone > 0 && kept == 0))) {
        const struct text name = value_text(&piece->name);
        const struct text one = value_text(&was);
        const struct text other = value_text(&piece->pattern->name);
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the piece %.*s is of the pattern %.*s, not of %s%.*s: "
                      "choose another name, or replace it (--replace)%s%s",
                      (int)name.length,
                      name.at,
                      (int)one.length,
                      one.at,
                      same ? "this other one, " : "",
                      (int)other.length,
                      other.at,
                      gone > 0 ? ", which hides " : "",
                      buf_text(&hidden));
    }
    buf_release(&hidden);
    return err;
}
