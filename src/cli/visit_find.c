/* Pieces, patterns and fields by the names that people give, and what is said
 * about names that do not exist. */

#include <string.h>

#include "cli/report.h"
#include "cli/visit.h"
#include "value/object.h"

enum {
    NAMES_SHOWN = 8, /* of pieces, in a sentence */
};

static void offer_keys(struct nearest *nearest, struct value object)
{
    if (!value_is_object(object)) {
        return;
    }
    struct object_iter iter = object_iter(object);
    struct value name;
    struct value item;
    while (object_next(&iter, &name, &item)) {
        const struct text text = value_text(&name);
        nearest_offer(nearest, text.at, text.length);
    }
}

const char *visit_hint_field(const struct entity *document,
                             const char *path,
                             struct nearest *nearest)
{
    path += path[0] == '/';
    nearest_begin(nearest, path, strcspn(path, "/."));
    offer_keys(nearest, document->visible.payload);
    const struct value rest = document->visible.rest;
    const struct value about = object_field(rest, "piece");
    if (value_is_object(about)) {
        offer_keys(nearest, object_field(about, "cells"));
    }
    return nearest_hint(nearest);
}

/* For the end of a sentence: the nearest piece to the name, or those that there
 * are. */
static void write_names(struct visit *visit, const char *wanted, struct buf *to)
{
    struct entity *index = NULL;
    struct err_detail detail = {0};
    struct space *space = live_runtime(visit->live)->spaces.at[0];
    if (piece_index(space, &index, &detail) != ERR_OK ||
        live_load(visit->live, index, &detail) != ERR_OK ||
        !value_is_object(index->visible.payload) ||
        object_count(index->visible.payload) == 0) {
        buf_append_text(to,
                        "; there are no pieces yet: create one with "
                        "'heddle run FILE'");
        return;
    }
    struct nearest nearest;
    nearest_begin(&nearest, wanted, strlen(wanted));
    offer_keys(&nearest, index->visible.payload);
    buf_append_text(to, nearest_hint(&nearest));
    if (to->length > 0) {
        return;
    }
    struct object_iter iter = object_iter(index->visible.payload);
    struct value name;
    struct value line;
    unsigned count = 0;
    buf_append_text(to, "; there are ");
    while (object_next(&iter, &name, &line) && count < NAMES_SHOWN) {
        buf_append_text(to, count++ > 0 ? ", " : "");
        visit_append(to, name);
    }
    if (object_count(index->visible.payload) > NAMES_SHOWN) {
        buf_append_text(to, ", ...");
    }
}

/* The document of a name, and whether it is that of a piece. */
static enum err load_piece(struct visit *visit,
                           const char *name,
                           struct entity **document,
                           bool *is_piece,
                           struct err_detail *detail)
{
    struct space *space = live_runtime(visit->live)->spaces.at[0];
    const struct value text = value_text_new(name);
    const struct value id = piece_document_id(text, VALUE_NONE);
    enum err err = entity_of(space, SCOPE_SPACE, id, document, detail);
    if (err == ERR_OK) {
        err = live_load(visit->live, *document, detail);
    }
    value_unref(id);
    value_unref(text);
    const struct value rest =
        err == ERR_OK ? (*document)->visible.rest : VALUE_NONE;
    const struct value about = object_field(rest, "piece");
    *is_piece = value_is_object(about) &&
                value_is_absent(object_field(about, "removed"));
    return err;
}

int visit_choose(struct visit *visit, const char *name, struct pattern **out)
{
    const char *wanted = visit->options->values.pattern;
    const struct program *program = visit->program;
    struct entity *document = NULL;
    struct err_detail detail = {0};
    bool is_there = false;
    *out = wanted != NULL ? program_returned(program, wanted)
                          : program_pattern(program);
    if (*out != NULL) {
        return CODE_OK;
    }
    if (wanted == NULL &&
        load_piece(visit, name, &document, &is_there, &detail) != ERR_OK) {
        return visit_report(visit->options, NULL, &detail);
    }
    if (is_there) { /* a piece that is there has its pattern */
        const struct value about =
            object_field(document->visible.rest, "piece");
        struct buf known = {0};
        visit_append(&known, object_field(about, "pattern"));
        *out = program_returned(program, buf_text(&known));
        buf_release(&known);
    }
    if (*out != NULL) {
        return CODE_OK;
    }
    struct buf sentence = {0};
    if (wanted != NULL) {
        buf_printf(&sentence,
                   "%s returns no pattern %s: there are ",
                   buf_text(&visit->file),
                   wanted);
        program_write_returned(program, &sentence);
    } else {
        buf_printf(&sentence,
                   "%s returns several patterns: choose one with --pattern "
                   "NAME, of ",
                   buf_text(&visit->file));
        program_write_returned(program, &sentence);
    }
    const int code = report_name(visit->options, buf_text(&sentence));
    buf_release(&sentence);
    return code;
}

int visit_find(struct visit *visit, const char *name, struct entity **document)
{
    struct err_detail detail = {0};
    bool is_piece = false;
    const char *slash = strchr(name, '/');
    if (slash != NULL) {
        struct buf whole = {0};
        buf_append(&whole, name, (size_t)(slash - name));
        const int code = visit_find(visit, buf_text(&whole), document);
        buf_release(&whole);
        return code == CODE_OK ? visit_find_child(visit, name, document) : code;
    }
    if (load_piece(visit, name, document, &is_piece, &detail) != ERR_OK) {
        return visit_report(visit->options, NULL, &detail);
    }
    if (is_piece) {
        return CODE_OK;
    }
    struct buf names = {0};
    write_names(visit, name, &names);
    (void)err_set(&detail,
                  ERR_NOT_FOUND,
                  "there is no piece %s in %s%s",
                  name,
                  visit->folder,
                  buf_text(&names));
    buf_release(&names);
    return visit_report(visit->options, NULL, &detail);
}
