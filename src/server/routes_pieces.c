/* Pieces: which there are, and their results, as they are stored. */

#include "base/text.h"
#include "inspect/read_at.h"
#include "runtime/piece.h"
#include "server/routes_internal.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

static enum err read_document(struct route_space *space,
                              struct value id,
                              struct value *out,
                              struct err_detail *detail)
{
    struct value branch = value_text_new("");
    struct value scope = value_text_new("space");
    const struct engine_address address = {branch, scope, id};
    uint64_t seq;
    const enum err err =
        engine_head(space->engine, &address, out, &seq, detail);
    value_unref(scope);
    value_unref(branch);
    return err;
}

/* -- The list ------------------------------------------------------------ */

/* Names of streams that the piece declares, new. */
static struct value streams_of(struct value about)
{
    const struct value cells = object_field(about, "cells");
    struct value streams = value_empty_array();
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        if (value_is_text(kind, "handler")) {
            streams = array_push_adopt(streams, value_ref(name));
        }
    }
    return streams;
}

static enum err describe_piece(struct route_space *space,
                               struct value name,
                               struct value *out,
                               struct err_detail *detail)
{
    const struct value id = piece_document_id(name, VALUE_NONE);
    struct value document = VALUE_NONE;
    const enum err err = read_document(space, id, &document, detail);
    const struct value about = object_field(document, "piece");
    const struct value pattern = object_field(about, "pattern");
    *out = value_empty_object();
    object_put_adopt(out, "piece", value_ref(name));
    if (!value_is_absent(pattern)) {
        object_put_adopt(out, "pattern", value_ref(pattern));
    }
    object_put_adopt(out, "streams", streams_of(about));
    value_unref(document);
    value_unref(id);
    return err;
}

/* The smallest name of an object above `after`; absent: none. */
static struct value next_name(struct value names, struct value after)
{
    struct object_iter iter = object_iter(names);
    struct value best = VALUE_NONE;
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if ((value_is_absent(after) || value_compare_strings(key, after) > 0) &&
            (value_is_absent(best) || value_compare_strings(key, best) < 0)) {
            best = key;
        }
    }
    return best;
}

/* A page of the pieces in `names`; inside a read transaction. */
static enum err list_page(struct route_call *call,
                          struct value names,
                          struct value *out)
{
    struct route_space *space = call_space(call);
    struct value after = call->texts[PARAMETER_AFTER_NAME];
    struct value pieces = value_empty_array();
    const uint64_t limit = call->numbers[PARAMETER_LIMIT];
    enum err err = ERR_OK;
    *out = value_empty_object();
    object_put_number(out, "seq", space->engine->seq);
    struct value next = next_name(names, after);
    while (err == ERR_OK && !value_is_absent(next) &&
           array_count(pieces) < limit) {
        struct value piece;
        err = describe_piece(space, next, &piece, &call->detail);
        pieces = array_push_adopt(pieces, piece);
        after = next;
        next = next_name(names, after);
    }
    object_put_adopt(out, "pieces", pieces);
    if (!value_is_absent(next) && array_count(pieces) > 0) {
        object_put_adopt(out, "next", value_ref(after));
    }
    return err;
}

enum err route_pieces(struct route_call *call)
{
    struct route_space *space = call_space(call);
    const struct value id = value_text_new("pieces");
    struct value document = VALUE_NONE;
    struct value page = VALUE_NONE;
    enum err err = engine_read_begin(space->engine, &call->detail);
    if (err == ERR_OK) {
        err = read_document(space, id, &document, &call->detail);
        if (err == ERR_OK) {
            const struct value names = object_field(document, "value");
            err =
                list_page(call,
                          value_is_object(names) ? names : value_empty_object(),
                          &page);
        }
        engine_read_end(space->engine);
    }
    if (err == ERR_OK) {
        answer_json_adopt(call->answer, page);
    } else {
        value_unref(page);
    }
    value_unref(document);
    value_unref(id);
    return err;
}

/* -- A result ------------------------------------------------------------ */

static struct value keys_of(const struct path *path)
{
    struct value keys = value_empty_array();
    for (uint32_t i = 0; i < path->length; i++) {
        keys = array_push_adopt(keys, value_ref(path->at[i].key));
    }
    return keys;
}

static enum err refuse_piece(struct route_call *call)
{
    const struct text name = value_text(&call->names[NAME_FIRST]);
    return err_set(&call->detail,
                   ERR_NOT_FOUND,
                   "the piece '%.*s' has no value there, or there is no such "
                   "piece",
                   text_shown(name.at, name.length, 80),
                   name.at);
}

enum err route_piece(struct route_call *call)
{
    struct route_space *space = call_space(call);
    const struct read_at_bounds bounds = {.documents_max = ROUTE_RESOLVED_MAX};
    struct path *path = NULL;
    struct value found = VALUE_NONE;
    uint64_t seq = 0;
    enum err err = call_read_path(call, &space->paths, &path);
    if (err != ERR_OK) {
        return err;
    }
    const struct value keys = keys_of(path);
    err = engine_read_begin(space->engine, &call->detail);
    if (err == ERR_OK) {
        seq = call_has(call, PARAMETER_AT) ? call->numbers[PARAMETER_AT]
                                           : space->engine->seq;
        err = read_at_within(space->engine,
                             call->names[NAME_FIRST],
                             keys,
                             seq,
                             &bounds,
                             &found,
                             &call->detail);
        engine_read_end(space->engine);
    }
    if (err == ERR_OK && value_is_absent(found)) {
        err = refuse_piece(call);
    }
    if (err == ERR_OK) {
        answer_json_adopt(call->answer, found);
        answer_header(call->answer,
                      "heddle-seq:",
                      "%llu",
                      (unsigned long long)seq);
    }
    value_unref(keys);
    path_unref(path);
    return err;
}
