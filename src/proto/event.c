/* Stored events, as documents: writing and reading them. */

#include "proto/event.h"

#include "proto/fields.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

void stored_event_release(struct stored_event *event)
{
    value_unref(event->stream);
    path_unref(event->path);
    value_unref(event->space);
    value_unref(event->payload);
    value_unref(event->instance);
    value_unref(event->caller);
    value_unref(event->from);
    value_unref(event->user);
    value_unref(event->label);
    *event = (struct stored_event){0};
}

bool event_is_document_id(struct value id)
{
    return value_begins_with(id, EVENT_ID_PREFIX);
}

bool event_is_waiting(struct value document)
{
    return value_is_object(document) &&
           !value_is_absent(object_field(document, "event"));
}

/* -- Writing ------------------------------------------------------------- */

static void put_given(struct value *object,
                      const char *name,
                      struct value value)
{
    if (!value_is_absent(value)) {
        object_put_adopt(object, name, value_ref(value));
    }
}

struct value stored_event_write(const struct stored_event *event)
{
    struct value object = value_empty_object();
    put_given(&object, "stream", event->stream);
    put_path(&object, event->path);
    put_given(&object, "space", event->space);
    put_given(&object, "payload", event->payload);
    put_number(&object, "time", event->time);
    put_given(&object, "instance", event->instance);
    put_number(&object, "origin", event->origin);
    put_number(&object, "counter", event->counter);
    put_given(&object, "caller", event->caller);
    put_number(&object, "hops", event->hops);
    if (event->queued) {
        object_put_adopt(&object, "queued", value_bool(true));
    }
    put_given(&object, "from", event->from);
    put_given(&object, "user", event->user);
    put_given(&object, "label", event->label);
    struct value document = value_empty_object();
    object_put_adopt(&document, "event", object);
    return document;
}

/* -- Reading ------------------------------------------------------------- */

/* A string that may be left out. */
static enum err read_optional(const struct fields *fields,
                              struct value object,
                              const char *field,
                              struct value *out)
{
    return value_is_absent(object_field(object, field))
               ? ERR_OK
               : field_name(fields, object, field, NULL, out);
}

static enum err read_identity(const struct fields *fields,
                              struct value object,
                              struct stored_event *out)
{
    enum err err = field_name(fields, object, "instance", NULL, &out->instance);
    if (err == ERR_OK) {
        err = field_number(fields, object, "origin", &out->origin);
    }
    if (err == ERR_OK) {
        err = field_number(fields, object, "counter", &out->counter);
    }
    return err == ERR_OK ? read_optional(fields, object, "caller", &out->caller)
                         : err;
}

static enum err read_label(const struct fields *fields,
                           struct value object,
                           struct stored_event *out)
{
    const struct value label = object_field(object, "label");
    if (!value_is_absent(label) && !value_is_array(label)) {
        return fields_bad(fields, "label", "must be an array of labels");
    }
    out->label = value_ref(label);
    return ERR_OK;
}

static enum err read_fields(const struct fields *fields,
                            struct value object,
                            struct stored_event *out)
{
    enum err err = field_name(fields, object, "stream", NULL, &out->stream);
    if (err == ERR_OK) {
        err = field_path(fields, object, &out->path);
    }
    if (err == ERR_OK) {
        err = read_optional(fields, object, "space", &out->space);
    }
    if (err == ERR_OK) {
        err = field_number(fields, object, "time", &out->time);
    }
    if (err == ERR_OK) {
        err = field_number(fields, object, "hops", &out->hops);
    }
    if (err == ERR_OK) {
        err = read_identity(fields, object, out);
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "queued", &out->queued);
    }
    if (err == ERR_OK) {
        err = read_optional(fields, object, "from", &out->from);
    }
    if (err == ERR_OK) {
        err = read_optional(fields, object, "user", &out->user);
    }
    const struct value payload = object_field(object, "payload");
    if (err == ERR_OK && value_is_absent(payload)) {
        err = fields_bad(fields, "payload", "is missing");
    }
    out->payload = value_ref(payload);
    return err == ERR_OK ? read_label(fields, object, out) : err;
}

enum err stored_event_read(struct value document,
                           struct path_table *paths,
                           struct stored_event *out,
                           struct err_detail *detail)
{
    struct err_detail ignored = {0};
    struct fields fields = {
        .paths = paths,
        .detail = detail != NULL ? detail : &ignored,
    };
    *out = (struct stored_event){0};
    fields_enter(&fields, "%s", "");
    const struct value object = value_is_object(document)
                                    ? object_field(document, "event")
                                    : VALUE_NONE;
    if (!value_is_object(object)) {
        return fields_bad(&fields, "event", "must be an object");
    }
    fields_enter(&fields, "event.");
    const enum err err = read_fields(&fields, object, out);
    if (err != ERR_OK) {
        stored_event_release(out);
    }
    return err;
}
