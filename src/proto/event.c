/* Stored events, as documents: writing and reading them. */

#include "proto/event.h"

#include "base/buf.h"
#include "proto/fields.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/id.h"
#include "value/object.h"

/* -- Timers -------------------------------------------------------------- */

void event_timer_release(struct event_timer *timer)
{
    value_unref(timer->id);
    value_unref(timer->cron);
    value_unref(timer->zone);
    *timer = (struct event_timer){0};
}

struct event_timer event_timer_copy(const struct event_timer *timer)
{
    struct event_timer copy = *timer;
    copy.id = value_ref(timer->id);
    copy.cron = value_ref(timer->cron);
    copy.zone = value_ref(timer->zone);
    return copy;
}

bool event_timer_repeats(const struct event_timer *timer)
{
    return timer->every > 0 || !value_is_absent(timer->cron);
}

static const char *const missed_names[] = {
    [MISSED_ONE] = "one",
    [MISSED_ALL] = "all",
    [MISSED_NONE] = "none",
};

const char *timer_missed_name(enum timer_missed missed)
{
    return missed_names[missed];
}

bool timer_missed_find(struct value name, enum timer_missed *out)
{
    for (unsigned i = 0; i < COUNT_OF(missed_names); i++) {
        if (value_is_text(name, missed_names[i])) {
            *out = (enum timer_missed)i;
            return true;
        }
    }
    return false;
}

bool event_is_timer_id(struct value id)
{
    return value_begins_with(id, EVENT_TIMER_PREFIX);
}

struct value event_timer_owner(struct value stream)
{
    const struct text id = value_text(&stream);
    size_t length = id.length;
    while (length > 0 && id.at[length - 1] != '/') {
        length--;
    }
    return value_begins_with(stream, "piece:") && length > 0
               ? value_string_new(id.at, length - 1)
               : value_text_new("");
}

/* "receipt:timer:DIGEST:", which ids of timers without a name do not have. */
static void append_group(struct buf *to, struct value owner, struct value name)
{
    struct value cause = value_empty_array();
    cause = array_push_adopt(cause, value_ref(owner));
    cause = array_push_adopt(cause, value_ref(name));
    const struct value id = id_of_cause(EVENT_TIMER_PREFIX, cause);
    const struct text text = value_text(&id);
    buf_append(to, text.at, text.length);
    buf_append_char(to, ':');
    value_unref(id);
    value_unref(cause);
}

struct value event_timer_group(struct value owner, struct value name)
{
    struct buf id = {0};
    append_group(&id, owner, name);
    const struct value made = value_string_new(buf_text(&id), id.length);
    buf_release(&id);
    return made;
}

struct value event_timer_id(struct value stream, struct value name)
{
    char digest[DIGEST_TEXT_LENGTH + 1];
    struct buf id = {0};
    const struct value owner = event_timer_owner(stream);
    append_group(&id, owner, name);
    digest_write(value_digest(stream), digest);
    buf_append_text(&id, digest);
    const struct value made = value_string_new(buf_text(&id), id.length);
    buf_release(&id);
    value_unref(owner);
    return made;
}

struct value event_timer_id_unnamed(struct value receipt)
{
    return id_of_cause(EVENT_TIMER_PREFIX, receipt);
}

bool event_timer_due(struct value document, uint64_t *out)
{
    const struct value event = object_field(document, "event");
    const struct value due = object_field(event, "due");
    const bool is_time =
        value_kind(due) == VALUE_INT && value_integer(due) >= 0;
    *out = is_time ? (uint64_t)value_integer(due) : 0;
    return is_time;
}

/* -- Events -------------------------------------------------------------- */

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
    event_timer_release(&event->timer);
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

bool event_is_given_up(struct value document)
{
    return value_is_object(document) && !event_is_waiting(document) &&
           (!value_is_absent(object_field(document, "failed")) ||
            !value_is_absent(object_field(document, "cancelled")));
}

bool event_is_receipt(struct value document)
{
    if (!value_is_object(document)) {
        return true;
    }
    return !event_is_given_up(document) &&
           (!event_is_waiting(document) ||
            !value_is_absent(object_field(document, "value")));
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

static void put_timer(struct value *object, const struct event_timer *timer)
{
    put_number(object, "due", timer->due);
    put_given(object, "timer", timer->id);
    if (timer->every > 0) {
        put_number(object, "every", timer->every);
    }
    put_given(object, "cron", timer->cron);
    put_given(object, "zone", timer->zone);
    if (timer->missed != MISSED_ONE) {
        object_put_adopt(object,
                         "missed",
                         value_text_new(timer_missed_name(timer->missed)));
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
    if (event->is_timer) {
        put_timer(&object, &event->timer);
    }
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

static enum err read_repetition(const struct fields *fields,
                                struct value object,
                                struct event_timer *out)
{
    const struct value missed = object_field(object, "missed");
    enum err err = value_is_absent(object_field(object, "every"))
                       ? ERR_OK
                       : field_number(fields, object, "every", &out->every);
    if (err == ERR_OK) {
        err = read_optional(fields, object, "cron", &out->cron);
    }
    if (err == ERR_OK) {
        err = read_optional(fields, object, "zone", &out->zone);
    }
    if (err == ERR_OK && !value_is_absent(missed) &&
        !timer_missed_find(missed, &out->missed)) {
        err = fields_bad(fields, "missed", "must be one, all or none");
    }
    return err;
}

static enum err read_timer(const struct fields *fields,
                           struct value object,
                           struct stored_event *out)
{
    out->is_timer = !value_is_absent(object_field(object, "due"));
    if (!out->is_timer) {
        return ERR_OK;
    }
    enum err err = field_number(fields, object, "due", &out->timer.due);
    if (err == ERR_OK) {
        err = read_optional(fields, object, "timer", &out->timer.id);
    }
    return err == ERR_OK ? read_repetition(fields, object, &out->timer) : err;
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
    if (err == ERR_OK) {
        err = read_timer(fields, object, out);
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
    fields_enter(&fields, "");
    const struct value object = object_field(document, "event");
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
