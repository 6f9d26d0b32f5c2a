/* Verdicts as values, and back. */

#include "proto/verdict.h"

#include <string.h>

#include "proto/fields.h"
#include "value/array.h"
#include "value/object.h"

void verdict_release(struct verdict *verdict)
{
    vec_release(&verdict->resolved);
    vec_release(&verdict->elided);
    vec_release(&verdict->dropped);
    value_unref(verdict->id);
    value_unref(verdict->path);
    value_unref(verdict->by);
    *verdict = (struct verdict){0};
}

/* -- Writing ------------------------------------------------------------- */

static void put_dropped(struct value *object, const struct verdict *verdict)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < verdict->dropped.count; i++) {
        const struct dropped_observation *one = &verdict->dropped.at[i];
        const struct value pair[2] = {
            value_int(one->index),
            value_text_new(observation_outcome_name(one->outcome)),
        };
        list = array_push_adopt(list, array_new_adopt(pair, 2));
    }
    if (array_count(list) > 0) {
        object_put_adopt(object, "droppedObservations", list);
    }
}

static struct value write_landed(const struct verdict *verdict)
{
    struct value object = value_empty_object();
    put_number(&object, "seq", verdict->seq);
    struct value layers = value_empty_array();
    for (size_t i = 0; i < verdict->resolved.count; i++) {
        struct value layer = value_empty_object();
        put_number(&layer, "localSeq", verdict->resolved.at[i].local_seq);
        put_number(&layer, "seq", verdict->resolved.at[i].seq);
        layers = array_push_adopt(layers, layer);
    }
    if (array_count(layers) > 0) {
        object_put_adopt(&object, "resolvedPendingReads", layers);
    }
    struct value elided = value_empty_array();
    for (size_t i = 0; i < verdict->elided.count; i++) {
        elided = array_push_adopt(elided, value_int(verdict->elided.at[i]));
    }
    if (array_count(elided) > 0) {
        object_put_adopt(&object, "elidedOpIndexes", elided);
    }
    if (verdict->replayed) {
        object_put_adopt(&object, "replayed", value_bool(true));
    }
    put_dropped(&object, verdict);
    return object;
}

static void put_text(struct value *object, const char *name, struct value text)
{
    if (!value_is_absent(text)) {
        object_put_adopt(object, name, value_ref(text));
    }
}

struct value verdict_write(const struct verdict *verdict)
{
    if (verdict->err == ERR_OK) {
        return write_landed(verdict);
    }
    struct value error = value_empty_object();
    object_put_adopt(&error, "name", value_text_new(err_name(verdict->err)));
    object_put_adopt(
        &error,
        "class",
        value_text_new(err_class_name(err_class_of(verdict->err))));
    object_put_adopt(&error, "message", value_text_new(verdict->detail.text));
    put_text(&error, "id", verdict->id);
    if (verdict->err == ERR_CONFLICT) {
        put_number(&error, "readSeq", verdict->read_seq);
        put_number(&error, "conflictSeq", verdict->conflict_seq);
        put_text(&error, "path", verdict->path);
        put_text(&error, "by", verdict->by);
        put_number(&error, "retryAfterSeq", verdict->head_seq);
    }
    struct value object = value_empty_object();
    object_put_adopt(&object, "error", error);
    return object;
}

/* -- Reading ------------------------------------------------------------- */

static enum err bad(struct err_detail *detail, const char *field)
{
    return err_set(detail,
                   ERR_PROTOCOL,
                   "%s is missing or has the wrong type",
                   field);
}

/* A string, or nothing. */
static enum err read_text(struct value object,
                          const char *field,
                          struct value *out,
                          struct err_detail *detail)
{
    const struct value text = object_field(object, field);
    if (!value_is_absent(text) && !value_is_string(text)) {
        return bad(detail, field);
    }
    *out = value_ref(text);
    return ERR_OK;
}

static enum err read_number(struct value object,
                            const char *field,
                            uint64_t *out,
                            struct err_detail *detail)
{
    const struct value number = object_field(object, field);
    if (value_kind(number) != VALUE_INT || value_integer(number) < 0) {
        return bad(detail, field);
    }
    *out = (uint64_t)value_integer(number);
    return ERR_OK;
}

static enum err read_resolved(struct value list,
                              struct verdict *out,
                              struct err_detail *detail)
{
    if (value_is_absent(list)) {
        return ERR_OK;
    }
    if (!value_is_array(list)) {
        return bad(detail, "resolvedPendingReads");
    }
    enum err err = ERR_OK;
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value layer = array_at(list, i);
        struct resolved_layer one = {0};
        if (!value_is_object(layer)) {
            return bad(detail, "resolvedPendingReads");
        }
        err = read_number(layer, "localSeq", &one.local_seq, detail);
        if (err == ERR_OK) {
            err = read_number(layer, "seq", &one.seq, detail);
        }
        vec_push(&out->resolved, one);
    }
    return err;
}

static enum err read_elided(struct value list,
                            struct verdict *out,
                            struct err_detail *detail)
{
    if (value_is_absent(list)) {
        return ERR_OK;
    }
    if (!value_is_array(list)) {
        return bad(detail, "elidedOpIndexes");
    }
    for (uint32_t i = 0; i < array_count(list); i++) {
        const struct value index = array_at(list, i);
        if (value_kind(index) != VALUE_INT || value_integer(index) < 0 ||
            value_integer(index) > UINT32_MAX) {
            return bad(detail, "elidedOpIndexes");
        }
        vec_push(&out->elided, (uint32_t)value_integer(index));
    }
    return ERR_OK;
}

static enum err read_dropped(struct value list,
                             struct verdict *out,
                             struct err_detail *detail)
{
    static const char field[] = "droppedObservations";
    if (value_is_absent(list)) {
        return ERR_OK;
    }
    if (!value_is_array(list)) {
        return bad(detail, field);
    }
    for (uint32_t i = 0; i < array_count(list); i++) {
        const struct value pair = array_at(list, i);
        struct dropped_observation one = {0};
        if (!value_is_array(pair) || array_count(pair) != 2 ||
            value_kind(array_at(pair, 0)) != VALUE_INT ||
            value_integer(array_at(pair, 0)) < 0 ||
            value_integer(array_at(pair, 0)) > UINT32_MAX ||
            !observation_outcome_read(array_at(pair, 1), &one.outcome)) {
            return bad(detail, field);
        }
        one.index = (uint32_t)value_integer(array_at(pair, 0));
        vec_push(&out->dropped, one);
    }
    return ERR_OK;
}

static enum err read_landed(struct value value,
                            struct verdict *out,
                            struct err_detail *detail)
{
    const struct value replayed = object_field(value, "replayed");
    if (!value_is_absent(replayed) && value_kind(replayed) != VALUE_BOOL) {
        return bad(detail, "replayed");
    }
    out->replayed = !value_is_absent(replayed) && value_boolean(replayed);
    enum err err = read_number(value, "seq", &out->seq, detail);
    if (err == ERR_OK) {
        err = read_resolved(object_field(value, "resolvedPendingReads"),
                            out,
                            detail);
    }
    if (err == ERR_OK) {
        err = read_elided(object_field(value, "elidedOpIndexes"), out, detail);
    }
    if (err == ERR_OK) {
        err = read_dropped(object_field(value, "droppedObservations"),
                           out,
                           detail);
    }
    return err;
}

static enum err read_refused(struct value error,
                             struct verdict *out,
                             struct err_detail *detail)
{
    const struct value name = object_field(error, "name");
    const struct value message = object_field(error, "message");
    const struct value id = object_field(error, "id");
    if (!value_is_string(name)) {
        return bad(detail, "error.name");
    }
    if (!value_is_string(message)) {
        return bad(detail, "error.message");
    }
    if (!value_is_absent(id) && !value_is_string(id)) {
        return bad(detail, "error.id");
    }
    const struct text text = value_text(&name);
    const struct text sentence = value_text(&message);
    out->err = err_of_name(text.at, text.length);
    if (out->err == ERR_OK) {
        return bad(detail, "error.name");
    }
    (void)err_set(&out->detail,
                  out->err,
                  "%.*s",
                  (int)(sentence.length < ERR_TEXT_SIZE ? sentence.length
                                                        : ERR_TEXT_SIZE),
                  sentence.at);
    out->id = value_ref(id);
    if (out->err != ERR_CONFLICT) {
        return ERR_OK;
    }
    enum err err = read_number(error, "readSeq", &out->read_seq, detail);
    if (err == ERR_OK) {
        err = read_text(error, "path", &out->path, detail);
    }
    if (err == ERR_OK) {
        err = read_text(error, "by", &out->by, detail);
    }
    if (err == ERR_OK) {
        err = read_number(error, "conflictSeq", &out->conflict_seq, detail);
    }
    if (err == ERR_OK) {
        err = read_number(error, "retryAfterSeq", &out->head_seq, detail);
    }
    return err;
}

enum err verdict_read(struct value value,
                      struct verdict *out,
                      struct err_detail *detail)
{
    *out = (struct verdict){0};
    if (!value_is_object(value)) {
        return bad(detail, "a verdict");
    }
    const struct value error = object_field(value, "error");
    enum err err = ERR_OK;
    if (value_is_absent(error)) {
        err = read_landed(value, out, detail);
    } else if (value_is_object(error)) {
        err = read_refused(error, out, detail);
    } else {
        err = bad(detail, "error");
    }
    if (err != ERR_OK) {
        verdict_release(out);
    }
    return err;
}
