/* The ids of events, of their receipts, and of what handlers create.
 *
 * An id is a text. One that was made here names the runtime, the origin, a
 * counter and the stream's document, so that people can read it; one that came
 * with a caller is a digest over everything that makes it his, each part by
 * itself: no two callers can be taken for each other because of a colon. */

#include "base/buf.h"
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
                             struct value session)
{
    const struct entity *entity = stream->place->entity;
    struct value cause = value_empty_array();
    cause = array_push_adopt(cause, value_ref(id));
    cause = array_push_adopt(cause, value_ref(session));
    cause = array_push_adopt(cause, value_ref(entity->space->id));
    cause = array_push_adopt(cause, value_text_new(scope_name(entity->scope)));
    cause = array_push_adopt(cause, value_ref(entity->id));
    cause = array_push_adopt(cause, path_value(stream->place->path));
    const struct value made = id_of_cause("evt:caller:", cause);
    value_unref(cause);
    return made;
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

struct value event_id(const struct event *event)
{
    if (!value_is_absent(event->caller)) {
        return value_ref(event->caller);
    }
    const struct text instance = value_text(&event->events->instance);
    const struct text stream = value_text(&event->stream->place->entity->id);
    struct buf text = {0};
    buf_append_text(&text, "evt:");
    buf_append(&text, instance.at, instance.length);
    buf_append_char(&text, '.');
    append_number(&text, event->origin_number);
    buf_append_char(&text, ':');
    append_number(&text, event->counter);
    buf_append_char(&text, ':');
    buf_append(&text, stream.at, stream.length);
    const struct value id = value_string_new(text.at, text.length);
    buf_release(&text);
    return id;
}

struct value event_receipt_id(const struct event *event)
{
    const struct value id = event_id(event);
    const struct value receipt = id_of_cause("receipt:", id);
    value_unref(id);
    return receipt;
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
