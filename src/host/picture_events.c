/* The stored events of a survey. */

#include "host/author.h"
#include "host/event_source.h"
#include "host/picture.h"
#include "proto/event.h"
#include "store/waiting.h"
#include "value/array.h"
#include "value/object.h"

struct events_list {
    struct survey *survey;
    const char *folder;
    const char *piece; /* or NULL */
    struct value events;
};

static void put_given(struct value *object,
                      const char *name,
                      struct value value)
{
    if (!value_is_absent(value)) {
        object_put_adopt(object, name, value_ref(value));
    }
}

static const char *state_of(const struct events_list *list,
                            const struct stored_event *stored)
{
    return !stored->queued &&
                   event_source_is_at_work(list->folder, stored->instance)
               ? "sender-at-work"
               : "waiting";
}

static struct value describe(const struct events_list *list,
                             struct value id,
                             const struct stored_event *stored)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "id", value_ref(id));
    author_put_stream(list->survey, stored->stream, &object);
    put_given(&object, "payload", stored->payload);
    object_put_adopt(&object, "at", value_int((int64_t)stored->time));
    if (!value_is_absent(stored->from)) {
        struct value from = value_empty_object();
        author_put_stream(list->survey, stored->from, &from);
        object_put_adopt(&object, "from", from);
    }
    if (stored->queued) {
        object_put_adopt(&object, "queued", value_bool(true));
    }
    object_put_adopt(&object, "state", value_text_new(state_of(list, stored)));
    put_given(&object, "space", stored->space);
    put_given(&object, "user", stored->user);
    return object;
}

static void add_event(void *ctx, const struct waiting_event *event)
{
    struct events_list *list = ctx;
    struct stored_event stored;
    if (stored_event_read(event->document,
                          &list->survey->engine.paths,
                          &stored,
                          NULL) != ERR_OK) {
        return; /* nothing that a runtime has stored */
    }
    struct value object = describe(list, event->id, &stored);
    const struct value piece = object_field(object, "piece");
    if (list->piece == NULL || value_is_text(piece, list->piece)) {
        list->events = array_push_adopt(list->events, value_ref(object));
    }
    value_unref(object);
    stored_event_release(&stored);
}

enum err picture_events(struct survey *survey,
                        const char *folder,
                        const char *piece,
                        struct value *out,
                        struct err_detail *detail)
{
    struct events_list list = {
        .survey = survey,
        .folder = folder,
        .piece = piece,
        .events = value_empty_array(),
    };
    const enum err err = engine_waiting(&survey->engine,
                                        survey->branch,
                                        0,
                                        INT64_MAX,
                                        add_event,
                                        &list,
                                        detail);
    *out = value_empty_object();
    object_put_adopt(out, "events", list.events);
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}
