/* The ids of events, of their receipts, and of documents that handlers create.
 *
 * An id is a text. One that was made here names the runtime, the origin, a
 * counter and the stream's document, so that people can read it. One from a
 * caller is a digest over everything that identifies the caller's event, each
 * part separately: no colon can make two callers look the same.
 *
 * The id of a receipt follows from that of its event. For a caller's event it
 * is a digest of that id. For one that was made here it is a digest of the
 * runtime and the stream, computed once per stream, and the two numbers. Each
 * number is preceded by a letter for the count of its digits, so that ids sort
 * in the order of creation: consecutive insertions are then adjacent in the
 * store's index, while digests would each touch another page. */

#include <string.h>

#include "base/buf.h"
#include "proto/event.h"
#include "replica/space.h"
#include "sched/event.h"
#include "value/array.h"
#include "value/id.h"

static struct value path_value(const struct path *path)
{
    struct value array = value_empty_array();
    for (uint32_t i = 0; i < path->length; i++) {
        array = array_push_adopt(array, value_ref(path->at[i].key));
    }
    return array;
}

struct value event_caller_id(const struct stream *stream,
                             struct value id,
                             struct value session,
                             struct value user)
{
    const struct entity *entity = stream->place->entity;
    struct value cause = value_empty_array();
    cause = array_push_adopt(cause, value_ref(id));
    cause = array_push_adopt(cause, value_ref(session));
    cause = array_push_adopt(cause, value_ref(entity->space->id));
    cause = array_push_adopt(cause, value_text_new(scope_name(entity->scope)));
    cause = array_push_adopt(cause, value_ref(entity->id));
    cause = array_push_adopt(cause, path_value(stream->place->path));
    if (!value_is_absent(user)) {
        cause = array_push_adopt(cause, value_ref(user));
    }
    const struct value made = id_of_cause("evt:caller:", cause);
    value_unref(cause);
    return made;
}

struct value event_payload_digest(struct value payload)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(payload), text);
    return value_string_new(text, DIGEST_TEXT_LENGTH);
}

/* An id is made for every event: printf would be a third of its cost. */
static void append_number(struct buf *to, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    buf_append(to, digits + at, sizeof digits - at);
}

/* The digits, preceded by a letter for their count: such numbers sort in
 * numeric order. */
static void append_sorted(struct buf *to, uint64_t number)
{
    const size_t at = to->length;
    buf_append_char(to, 'a');
    append_number(to, number);
    to->at[at] = (char)('a' + (to->length - at - 2));
}

struct value event_instance(const struct event *event)
{
    return value_is_absent(event->taken_from) ? event->events->instance
                                              : event->taken_from;
}

struct value event_id(const struct event *event)
{
    if (!value_is_absent(event->caller)) {
        return value_ref(event->caller);
    }
    const struct value name = event_instance(event);
    const struct text instance = value_text(&name);
    const struct text stream = value_text(&event->stream->place->entity->id);
    struct buf *text = &event->events->text;
    buf_clear(text);
    buf_append(text, "evt:", 4);
    buf_append(text, instance.at, instance.length);
    buf_append_char(text, '.');
    append_number(text, event->origin_number);
    buf_append_char(text, ':');
    append_number(text, event->counter);
    buf_append_char(text, ':');
    buf_append(text, stream.at, stream.length);
    if (UNLIKELY(event->timed != NULL)) { /* each tick has its own */
        buf_append_char(text, ':');
        append_number(text, event->timed->plan.due);
    }
    return value_string_new(text->at, text->length);
}

/* A longer digest than needed to tell streams apart. */
enum {
    RECEIPTS_DIGITS = 24, /* 144 bits */
};

/* The prefix of the receipt ids of a runtime and a stream, new. */
static struct value receipts_begin(struct value instance,
                                   const struct stream *stream)
{
    struct value cause = value_empty_array();
    cause = array_push_adopt(cause, value_ref(instance));
    cause = array_push_adopt(cause, value_ref(stream->place->entity->id));
    const struct value whole = id_of_cause(EVENT_ID_PREFIX, cause);
    const struct value begin =
        value_string_new(value_text(&whole).at,
                         strlen(EVENT_ID_PREFIX) + RECEIPTS_DIGITS);
    value_unref(whole);
    value_unref(cause);
    return begin;
}

/* The same for an event, new. */
static struct value receipts_of(const struct event *event)
{
    struct stream *stream = event->stream;
    if (UNLIKELY(!value_is_absent(event->taken_from))) {
        return receipts_begin(event->taken_from, stream);
    }
    if (UNLIKELY(value_is_absent(stream->receipts))) {
        stream->receipts = receipts_begin(event->events->instance, stream);
    }
    return value_ref(stream->receipts);
}

struct value event_own_receipt_id(const struct event *event)
{
    const struct value begin = receipts_of(event);
    const struct text prefix = value_text(&begin);
    struct buf *text = &event->events->text;
    buf_clear(text);
    buf_append(text, prefix.at, prefix.length);
    buf_append_char(text, ':');
    append_sorted(text, event->origin_number);
    buf_append_char(text, ':');
    append_sorted(text, event->counter);
    value_unref(begin);
    return value_string_new(text->at, text->length);
}

struct value event_receipt_id(const struct event *event)
{
    if (UNLIKELY(event->timed != NULL)) {
        const struct place *place =
            event->stored != NULL ? event->stored : event->receipt;
        return value_ref(place->entity->id);
    }
    return value_is_absent(event->caller)
               ? event_own_receipt_id(event)
               : id_of_cause(EVENT_ID_PREFIX, event->caller);
}

struct value handling_new_id(struct handling *handling)
{
    struct value cause = value_empty_array();
    cause = array_push_adopt(cause, event_id(handling->event));
    cause = array_push_adopt(cause, value_int(handling->documents++));
    const struct value id = id_of_cause("of:", cause);
    value_unref(cause);
    return id;
}
