/* Exports: writing them, and reading them again. */

#include <inttypes.h>
#include <string.h>

#include "host/system.h"
#include "host/transfer_internal.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    EXPORT_VERSION = 1,
};

static const char format_name[] = "heddle-export";

/* -- Writing ------------------------------------------------------------- */

static void write_line(struct buf *to, struct value value)
{
    json_write(to, value, JSON_AS_GIVEN, 0);
    buf_append_char(to, '\n');
    value_unref(value);
}

static void write_set(const struct transfer *transfer,
                      const struct moved_set *set,
                      struct buf *to)
{
    const bool is_piece = set->names.count > 0;
    struct value names = value_empty_array();
    VEC_FOREACH (&set->names, name) {
        names = array_push_adopt(names, value_ref(*name));
    }
    struct value header = value_empty_object();
    object_put_text(&header, "format", format_name);
    object_put_adopt(&header, "version", value_int(EXPORT_VERSION));
    object_put_text(&header, "kind", is_piece ? "piece" : "space");
    object_put_text(&header, "space", transfer->name);
    object_put_adopt(&header, "pieces", names);
    object_put_number(&header, "seq", transfer->engine.seq);
    object_put_number(&header, "at", system_wall_ms());
    write_line(to, header);
    VEC_FOREACH (&set->documents, one) {
        struct value line = value_empty_object();
        object_put_adopt(&line, "scope", value_ref(one->scope_key));
        object_put_adopt(&line, "id", value_ref(one->id));
        object_put_adopt(&line, "document", value_ref(one->document));
        write_line(to, line);
    }
    struct value end = value_empty_object();
    object_put_number(&end, "documents", set->documents.count);
    write_line(to, end);
}

enum err transfer_export(struct transfer *transfer,
                         const char *name,
                         struct buf *to,
                         struct transfer_counts *counts,
                         struct err_detail *detail)
{
    struct moved_set set = {0};
    enum err err = engine_read_begin(&transfer->engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = transfer_gather(transfer, name, &set, detail);
    if (err == ERR_OK && name != NULL) {
        err = transfer_refuse_elsewhere(transfer, &set, "exported", detail);
    }
    if (err == ERR_OK) {
        write_set(transfer, &set, to);
    }
    engine_read_end(&transfer->engine);
    *counts = (struct transfer_counts){
        .pieces = set.names.count,
        .documents = set.documents.count,
    };
    moved_set_release(&set);
    return err;
}

/* -- Reading ------------------------------------------------------------- */

struct reading {
    const char *at;
    const char *end;
    size_t line;
    struct err_detail *detail;
};

static enum err refuse(const struct reading *reading, const char *why)
{
    return err_set(reading->detail,
                   ERR_SYNTAX,
                   "line %zu: %s",
                   reading->line,
                   why);
}

/* The next line, new. */
static enum err read_line(struct reading *reading, struct value *out)
{
    *out = VALUE_NONE;
    reading->line++;
    if (reading->at == reading->end) {
        return refuse(reading, "the file is truncated");
    }
    const char *stop =
        memchr(reading->at, '\n', (size_t)(reading->end - reading->at));
    const size_t length =
        (size_t)((stop != NULL ? stop : reading->end) - reading->at);
    const enum err err = json_read(reading->at, length, NULL, out, NULL);
    reading->at = stop != NULL ? stop + 1 : reading->end;
    if (err != ERR_OK || !value_is_object(*out)) {
        value_unref(*out);
        *out = VALUE_NONE;
        return refuse(reading, "this is not a line of an export");
    }
    return ERR_OK;
}

static enum err read_header(struct reading *reading, struct moved_set *set)
{
    struct value header;
    enum err err = read_line(reading, &header);
    if (err != ERR_OK) {
        return err;
    }
    const struct value version = object_field(header, "version");
    const struct value names = object_field(header, "pieces");
    const struct value space = object_field(header, "space");
    set->space =
        value_is_string(space) ? value_ref(space) : value_text_new("main");
    if (!value_is_text(object_field(header, "format"), format_name) ||
        !value_is_array(names)) {
        err = refuse(reading, "this is not a heddle export");
    } else if (!value_is_same(version, value_int(EXPORT_VERSION))) {
        err = refuse(reading, "unknown version of the export format");
    }
    for (uint32_t i = 0; err == ERR_OK && i < array_count(names); i++) {
        const struct value name = array_at(names, i);
        err = piece_check_name(name, reading->detail);
        if (err == ERR_OK) {
            vec_push(&set->names, value_ref(name));
        }
    }
    value_unref(header);
    return err;
}

/* One document; or the end, *over. */
static enum err read_document(struct reading *reading,
                              struct moved_set *set,
                              bool *over)
{
    struct value line;
    struct err_detail why = {0};
    enum err err = read_line(reading, &line);
    if (err != ERR_OK) {
        return err;
    }
    const struct value count = object_field(line, "documents");
    const struct value scope_key = object_field(line, "scope");
    const struct value id = object_field(line, "id");
    const struct value document = object_field(line, "document");
    *over = !value_is_absent(count);
    if (*over) {
        if (!value_is_same(count, value_int((int64_t)set->documents.count)) ||
            reading->at != reading->end) {
            err = refuse(reading,
                         "the number of documents does not match the "
                         "header");
        }
    } else if (!value_is_string(scope_key) || !value_is_string(id) ||
               !value_is_object(document) ||
               (!value_is_text(scope_key, "space") &&
                !value_begins_with(scope_key, "user:"))) {
        err = refuse(reading, "this is not a document of an export");
    } else if (moved_check_event(id, document, &why) != ERR_OK) {
        struct buf text = {0};
        buf_printf(&text, "document.%s", why.text);
        err = refuse(reading, buf_text(&text));
        buf_release(&text);
    } else {
        const struct moved_document one = {
            .scope_key = value_ref(scope_key),
            .id = value_ref(id),
            .document = value_ref(document),
        };
        vec_push(&set->documents, one);
    }
    value_unref(line);
    return err;
}

static enum err read_all(const struct transfer_import *import,
                         struct moved_set *set,
                         struct err_detail *detail)
{
    struct reading reading = {
        .at = import->text,
        .end = import->text + import->length,
        .detail = detail,
    };
    bool over = false;
    enum err err = read_header(&reading, set);
    while (err == ERR_OK && !over) {
        err = read_document(&reading, set, &over);
    }
    return err;
}

/* -- Importing ----------------------------------------------------------- */

static bool equals(const struct moved_document *a,
                   struct value scope_key,
                   struct value id)
{
    return key_equal(a->id, id) && key_equal(a->scope_key, scope_key);
}

/* Deletes what is there and does not come. Both are sorted alike within a
 * piece, so the search is short. */
static enum err delete_old(struct moved_writer *writer,
                           const struct moved_names *names,
                           const struct moved_set *old,
                           struct err_detail *detail)
{
    enum err err = ERR_OK;
    size_t hint = 0;
    const size_t count = names->set->documents.count;
    VEC_FOREACH (&old->documents, one) {
        bool comes = false;
        for (size_t i = 0; i < count && !comes; i++) {
            const struct moved_document *candidate =
                &names->set->documents.at[(hint + i) % count];
            const struct value id = moved_id(names, candidate->id);
            comes = equals(one, candidate->scope_key, id);
            value_unref(id);
            hint = comes ? (hint + i + 1) % count : hint;
        }
        if (err == ERR_OK && !comes) {
            err = moved_write(writer,
                              one->scope_key,
                              one->id,
                              VALUE_NONE,
                              detail);
        }
    }
    return err;
}

static enum err write_new(struct moved_writer *writer,
                          const struct moved_names *names,
                          struct err_detail *detail)
{
    enum err err = ERR_OK;
    struct value result = VALUE_NONE;
    VEC_FOREACH (&names->set->documents, one) {
        const bool is_piece =
            names->set->names.count > 0 && moved_is_piece(one->id);
        const struct value id = moved_id(names, one->id);
        const struct value document = is_piece
                                          ? moved_result(names, one->document)
                                          : moved_value(names, one->document);
        if (err == ERR_OK) {
            err = moved_write(writer, one->scope_key, id, document, detail);
        }
        if (is_piece && value_is_absent(result)) {
            result = one->document;
        }
        value_unref(document);
        value_unref(id);
    }
    if (err == ERR_OK && !value_is_absent(result)) {
        const struct value name = value_text_new(names->to);
        err = moved_write_index(writer, VALUE_NONE, name, result, detail);
        value_unref(name);
    }
    return err;
}

static bool has_name(const struct moved_set *set, struct value wanted)
{
    VEC_FOREACH (&set->names, name) {
        if (key_equal(*name, wanted)) {
            return true;
        }
    }
    return false;
}

/* Pieces that were launched keep the names that their handlers gave them; such
 * a name may be that of a piece which is not replaced. */
static enum err check_launched(struct transfer *transfer,
                               const struct moved_names *names,
                               const struct moved_set *old,
                               struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 1; err == ERR_OK && i < names->set->names.count; i++) {
        const struct value name = moved_name(names, names->set->names.at[i]);
        const struct value id = piece_document_id(name, VALUE_NONE);
        struct value document = VALUE_NONE;
        err = transfer_read(transfer, transfer->space, id, &document, detail);
        if (err == ERR_OK && !has_name(old, name) &&
            !value_is_absent(transfer_about(document))) {
            const struct text text = value_text(&name);
            err = err_set(detail,
                          ERR_ARGUMENT,
                          "a piece %.*s already exists",
                          (int)text.length,
                          text.at);
        }
        value_unref(document);
        value_unref(id);
        value_unref(name);
    }
    return err;
}

static enum err import_in(struct transfer *transfer,
                          struct moved_names *names,
                          bool replace,
                          struct err_detail *detail)
{
    struct moved_set old = {0};
    struct moved_writer writer = {.transfer = transfer};
    const bool is_piece = names->set->names.count > 0;
    enum err err = ERR_OK;
    if (is_piece) {
        err = moved_read_generation(transfer, names, replace, detail);
    }
    if (err == ERR_OK) {
        err = transfer_gather(transfer,
                              is_piece ? names->to : NULL,
                              &old,
                              detail);
        err = err == ERR_NOT_FOUND && is_piece ? ERR_OK : err;
    }
    if (err == ERR_OK && !is_piece && !replace && old.documents.count > 0) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the space is not empty: --replace removes its data");
    }
    if (err == ERR_OK && is_piece && old.names.count > 0) {
        err = transfer_refuse_elsewhere(transfer, &old, "replaced", detail);
    }
    if (err == ERR_OK && is_piece) {
        err = check_launched(transfer, names, &old, detail);
    }
    if (err == ERR_OK) {
        err = delete_old(&writer, names, &old, detail);
    }
    if (err == ERR_OK) {
        err = write_new(&writer, names, detail);
    }
    err = moved_write_end(&writer, err, detail);
    moved_set_release(&old);
    return err;
}

/* The transaction, and what is forgotten after it. */
static enum err import_set(struct transfer *transfer,
                           struct moved_names *names,
                           bool replace,
                           struct err_detail *detail)
{
    enum err err = engine_write_begin(&transfer->engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = import_in(transfer, names, replace, detail);
    err = engine_write_end(&transfer->engine, err, detail);
    struct moved_set forgotten = {0};
    VEC_FOREACH (&names->set->names, name) {
        vec_push(&forgotten.names, moved_name(names, *name));
    }
    if (err == ERR_OK) {
        err = transfer_forget(transfer, &forgotten, detail);
    }
    moved_set_release(&forgotten);
    return err;
}

static enum err check_import(const struct transfer *transfer,
                             const struct transfer_import *import,
                             const struct moved_set *set,
                             struct buf *imported,
                             struct err_detail *detail)
{
    if (set->names.count == 0) {
        return import->name == NULL
                   ? ERR_OK
                   : err_set(detail,
                             ERR_ARGUMENT,
                             "--name applies to pieces, not to a space");
    }
    const struct text text = value_text(&set->names.at[0]);
    if (import->name != NULL) {
        buf_append_text(imported, import->name);
    } else {
        buf_append(imported, text.at, text.length);
    }
    const struct value name =
        value_string_new(buf_text(imported), imported->length);
    enum err err = piece_check_name(name, detail);
    value_unref(name);
    return err == ERR_OK
               ? transfer_check_stopped(transfer, buf_text(imported), detail)
               : err;
}

enum err transfer_import(struct transfer *transfer,
                         const struct transfer_import *import,
                         struct buf *imported,
                         struct transfer_counts *counts,
                         struct err_detail *detail)
{
    struct moved_set set = {0};
    enum err err = read_all(import, &set, detail);
    if (err == ERR_OK) {
        err = check_import(transfer, import, &set, imported, detail);
    }
    if (err == ERR_OK) {
        struct buf from = {0};
        if (set.names.count > 0) {
            const struct text text = value_text(&set.names.at[0]);
            buf_append(&from, text.at, text.length);
        }
        struct moved_names names = {
            .set = &set,
            .space = set.space,
            .to_space = value_text_new(transfer->name),
            .from = buf_text(&from),
            .to = buf_text(imported),
        };
        err = import_set(transfer, &names, import->replace, detail);
        value_unref(names.to_space);
        buf_release(&from);
    }
    *counts = (struct transfer_counts){
        .pieces = set.names.count,
        .documents = set.documents.count,
    };
    moved_set_release(&set);
    return err;
}
