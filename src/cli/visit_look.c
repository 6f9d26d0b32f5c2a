/* What a visit sees of a piece, and how operands name it. */

#include <stdio.h>
#include <string.h>

#include "cli/input.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/visit.h"
#include "runtime/cell.h"
#include "runtime/resolve.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

/* -- Looking ------------------------------------------------------------- */

static enum run_result run_look(struct run *run, void *ctx)
{
    struct visit_look *look = ctx;
    const struct cell_access access = {live_runtime(look->visit->live),
                                       run,
                                       run->transaction};
    struct value seen = VALUE_NONE;
    struct err_detail fault = {0};
    const enum err err = resolve_read(&access, look->place, &seen, &fault);
    if (err == ERR_STALE) {
        return RUN_AGAIN;
    }
    if (run_is_waiting(run)) {
        value_unref(seen);
        return RUN_WAITING;
    }
    const bool same = look->has_seen && err == look->fault.err &&
                      value_is_absent(seen) == value_is_absent(look->seen) &&
                      (value_is_absent(seen) || value_equal(seen, look->seen));
    value_unref(look->seen);
    look->seen = seen;
    look->has_seen = true;
    look->changed = look->changed || !same;
    look->fault = fault;
    look->fault.err = err;
    return RUN_DONE;
}

void visit_look_begin(struct visit *visit,
                      struct visit_look *look,
                      struct place *place)
{
    *look = (struct visit_look){
        .visit = visit,
        .place = place_ref(place),
    };
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_look,
        .ctx = look,
        .no_auto_debounce = true,
    };
    look->node = sched_register(live_runtime(visit->live)->sched, &spec);
}

void visit_look_end(struct visit_look *look)
{
    if (look->node != NULL) {
        sched_remove(live_runtime(look->visit->live)->sched, look->node);
        place_unref(look->place);
    }
    value_unref(look->seen);
    *look = (struct visit_look){0};
}

/* -- Operands ------------------------------------------------------------ */

/* That was told when it began. What fails because of it fails with the same
 * sentence, which is not told again. */
static struct err_detail trouble_told;

void visit_tell_trouble(const struct visit *visit,
                        const struct err_detail *trouble)
{
    trouble_told = (struct err_detail){0};
    if (trouble != NULL) {
        (void)visit_report(visit->options, visit->folder, trouble);
        trouble_told = *trouble;
    } else {
        (void)fprintf(stderr, "heddle: the problem is resolved\n");
    }
}

/* Whether that is the trouble that was told. The public code has the same
 * number. */
static bool read_detail(const struct err_detail *detail, hd_error *error)
{
    *error = report_read(detail);
    return detail->err != ERR_OK && detail->err == trouble_told.err &&
           strcmp(detail->text, trouble_told.text) == 0;
}

int visit_report(const struct options *options,
                 const char *source,
                 const struct err_detail *detail)
{
    hd_error error;
    return read_detail(detail, &error) ? report_code(error.status)
                                       : report_error(options, source, &error);
}

int visit_report_node(const struct options *options,
                      const char *name,
                      const struct err_detail *detail)
{
    hd_error error;
    return read_detail(detail, &error) ? report_code(error.status)
                                       : report_node(options, name, &error);
}

/* One key of a path; ~1 is '/' and ~0 is '~', as in JSON pointers. False if
 * it has another '~'. */
static bool read_key(const char *at, size_t length, struct buf *key)
{
    for (size_t i = 0; i < length; i++) {
        if (at[i] != '~') {
            buf_append_char(key, at[i]);
        } else if (i + 1 < length && (at[i + 1] == '0' || at[i + 1] == '1')) {
            buf_append_char(key, (char)(at[++i] == '0' ? '~' : '/'));
        } else {
            return false;
        }
    }
    return true;
}

int visit_read_path(const struct options *options,
                    const char *text,
                    struct value *out)
{
    const char separator = (char)(strchr(text, '/') != NULL ? '/' : '.');
    const char *at = text[0] == '/' ? text + 1 : text;
    *out = value_empty_array();
    if (text[0] == '\0' || strcmp(text, "/") == 0) {
        return CODE_OK;
    }
    bool fine = true;
    while (fine && at != NULL) {
        const char *next = strchr(at, separator);
        const size_t length = next != NULL ? (size_t)(next - at) : strlen(at);
        struct buf key = {0};
        fine = read_key(at, length, &key);
        struct value name = value_string_new(buf_text(&key), key.length);
        fine = fine && !value_is_absent(name);
        *out =
            array_push_adopt(*out, value_is_absent(name) ? value_null() : name);
        buf_release(&key);
        at = next != NULL ? next + 1 : NULL;
    }
    if (!fine) {
        value_unref(*out);
        *out = VALUE_NONE;
        return report_usage(options,
                            "'%s' is not a path: a path looks like "
                            "/items/0/price",
                            text);
    }
    struct err_detail detail = {0};
    if (path_check((size_t)array_count(*out) + 1, &detail) != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
        return visit_report(options, NULL, &detail);
    }
    return CODE_OK;
}

static int parse(const struct options *options,
                 const char *name,
                 const char *text,
                 size_t length,
                 struct value *out)
{
    struct json_fault fault = {0};
    const enum err err = json_read(text, length, NULL, out, &fault);
    if (err == ERR_OK) {
        return CODE_OK;
    }
    hd_error error = {
        .status = (hd_status)err,
        .class_of = hd_status_class((hd_status)err),
        .line = fault.line,
        .column = fault.column,
    };
    (void)snprintf(error.text, sizeof error.text, "%s", fault.text);
    return report_error(options, name, &error);
}

int visit_read_text(const struct options *options,
                    const char *name,
                    const char *text,
                    struct value *out)
{
    return parse(options, name, text, strlen(text), out);
}

int visit_read_json(const struct options *options,
                    size_t index,
                    struct value *out)
{
    const struct operand *operand = &options->operands[index];
    if (operand->is_text || strcmp(operand->word, "-") != 0) {
        return visit_read_text(options, "JSON", operand->word, out);
    }
    struct buf text = {0};
    int code = input_text(options, index, &text);
    if (code == CODE_OK) {
        code =
            parse(options, "standard input", buf_text(&text), text.length, out);
    }
    buf_release(&text);
    return code;
}

/* -- Places -------------------------------------------------------------- */

/* The document of a name that the pattern has declared and not returned, or
 * NULL: a state of its own can be looked at and set, too. */
static struct entity *declared(struct entity *document, struct value name)
{
    const struct value rest = document->visible.rest;
    const struct value about = object_field(rest, "piece");
    const struct value cells = object_field(about, "cells");
    const struct value result = document->visible.payload;
    if (!value_is_object(cells) || value_is_absent(object_get(cells, name)) ||
        (value_is_object(result) &&
         !value_is_absent(object_get(result, name)))) {
        return NULL;
    }
    const struct text whole = value_text(&document->id);
    const size_t front = strlen("piece:");
    const struct value piece =
        value_string_new(whole.at + front, whole.length - front);
    const struct value full = piece_part_document(piece, about, name);
    value_unref(piece);
    struct entity *found = NULL;
    struct err_detail detail = {0};
    const enum err err =
        entity_of(document->space, SCOPE_SPACE, full, &found, &detail);
    value_unref(full);
    return err == ERR_OK ? found : NULL;
}

/* Its payload, new, or NULL. A started piece knows the scope of its parts. */
static struct place *declared_place(const struct visit *visit,
                                    struct entity *document,
                                    struct value name)
{
    struct entity *own = declared(document, name);
    const struct part *part = own != NULL && visit->piece != NULL &&
                                      visit->piece->document == document
                                  ? piece_part(visit->piece, name)
                                  : NULL;
    if (part != NULL && part->place != NULL) {
        return place_ref(part->place);
    }
    return own != NULL ? place_payload(own) : NULL;
}

struct place *visit_place_at(const struct visit *visit,
                             struct entity *document,
                             struct value path)
{
    struct place *own = array_count(path) > 0
                            ? declared_place(visit, document, array_at(path, 0))
                            : NULL;
    struct place *at = own != NULL ? own : place_payload(document);
    for (uint32_t i = own != NULL ? 1 : 0; i < array_count(path); i++) {
        struct place *child = place_child(at, array_at(path, i));
        place_unref(at);
        at = child;
    }
    return at;
}

/* A field of the result that links to a cell of the piece stands for it. */
static enum err enter_field(const struct cell_access *access,
                            const struct entity *document,
                            struct place **at,
                            struct err_detail *detail)
{
    struct value field = VALUE_NONE;
    struct place *cell = NULL;
    enum err err = ERR_OK;
    if ((*at)->entity == document &&
        entity_state_at(&document->visible, (*at)->path, &field) == ERR_OK &&
        value_kind(field) == VALUE_LINK) {
        err = cell_link_target(access, *at, field, &cell, detail);
        if (err == ERR_OK) {
            place_unref(*at);
            *at = cell;
        }
    }
    value_unref(field);
    return err;
}

enum err visit_place(struct visit *visit,
                     struct entity *document,
                     struct value path,
                     bool through,
                     struct place **out,
                     struct err_detail *detail)
{
    const struct cell_access access = {.runtime = live_runtime(visit->live)};
    bool was_here = false;
    *out = visit_place_at(visit, document, path);
    enum err err =
        through ? ERR_OK : enter_field(&access, document, out, detail);
    /* A link can be seen only when the document that it is in has come. */
    for (unsigned hops = 0; err == ERR_OK && !was_here && hops < CELL_HOPS;
         hops++) {
        struct place *next = NULL;
        err = cell_follow(&access, *out, READ_FOR_BOTH, through, &next, detail);
        if (err == ERR_OK) {
            place_unref(*out);
            *out = next;
            was_here = next->entity->loaded;
            err = live_load(visit->live, next->entity, detail);
        }
    }
    if (err != ERR_OK) {
        place_unref(*out);
        *out = NULL;
    }
    return err;
}

void visit_print(const struct options *options, struct value value)
{
    if (option_is_given(options, OPTION_RAW) && value_is_string(value)) {
        const struct text raw = value_text(&value);
        output_bytes(raw.at, raw.length);
    } else {
        look_print_adopt(options, value_ref(value));
    }
    (void)fflush(stdout);
}
