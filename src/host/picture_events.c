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
    uint64_t now;      /* of timers */
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

static void put_timer(const struct events_list *list,
                      struct value *object,
                      struct value id,
                      const struct event_timer *timer)
{
    if (!value_is_absent(timer->id)) {
        object_put_adopt(object, "id", value_ref(timer->id));
    }
    object_put_adopt(object, "document", value_ref(id));
    object_put_adopt(object, "due", value_int((int64_t)timer->due));
    if (timer->due <= list->now) {
        object_put_adopt(object,
                         "late",
                         value_int((int64_t)(list->now - timer->due)));
    }
    if (timer->every > 0) {
        object_put_adopt(object, "every", value_int((int64_t)timer->every));
    }
    put_given(object, "cron", timer->cron);
    put_given(object, "zone", timer->zone);
    if (timer->missed != MISSED_ONE) {
        object_put_adopt(object,
                         "missed",
                         value_text_new(timer_missed_name(timer->missed)));
    }
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
    if (stored->is_timer) {
        put_timer(list, &object, id, &stored->timer);
    } else {
        if (stored->queued) {
            object_put_adopt(&object, "queued", value_bool(true));
        }
        object_put_adopt(&object,
                         "state",
                         value_text_new(state_of(list, stored)));
    }
    put_given(&object, "space", stored->space);
    put_given(&object, "user", stored->user);
    return object;
}

bool picture_is_of(struct value object, const char *address)
{
    const struct value piece = object_field(object, "piece");
    const struct value handler = object_field(object, "handler");
    if (!value_is_string(piece) || !value_is_string(handler)) {
        return false;
    }
    const size_t length = strlen(address);
    struct buf full = {0};
    const struct text parts[] = {value_text(&piece), value_text(&handler)};
    buf_append(&full, parts[0].at, parts[0].length);
    buf_append_char(&full, '/');
    buf_append(&full, parts[1].at, parts[1].length);
    const bool is = full.length >= length &&
                    memcmp(full.at, address, length) == 0 &&
                    (full.length == length || full.at[length] == '/');
    buf_release(&full);
    return is;
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
    if (list->piece == NULL || picture_is_of(object, list->piece)) {
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

enum err picture_timers(struct survey *survey,
                        const char *piece,
                        uint64_t now,
                        struct value *out,
                        struct err_detail *detail)
{
    struct events_list list = {
        .survey = survey,
        .piece = piece,
        .now = now,
        .events = value_empty_array(),
    };
    const enum err err = engine_timers(&survey->engine,
                                       survey->branch,
                                       (struct timer_mark){0},
                                       INT64_MAX,
                                       INT64_MAX,
                                       add_event,
                                       &list,
                                       detail);
    *out = value_empty_object();
    object_put_adopt(out, "timers", list.events);
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}

/* -- How many ------------------------------------------------------------ */

struct waiting_counts {
    const struct survey *survey;
    struct path_table *paths;
    struct value pieces; /* by name */
};

static int64_t count_of(struct value counts, const char *name)
{
    const struct value count = object_field(counts, name);
    return value_kind(count) == VALUE_INT ? value_integer(count) : 0;
}

static void count_stored(struct value *counts,
                         const struct stored_event *stored)
{
    const char *name = stored->is_timer ? "timers" : "events";
    const int64_t next = count_of(*counts, "next");
    const int64_t due = (int64_t)stored->timer.due;
    object_put_adopt(counts, name, value_int(count_of(*counts, name) + 1));
    if (stored->is_timer && (next == 0 || due < next)) {
        object_put_adopt(counts, "next", value_int(due));
    }
}

static void count_event(void *ctx, const struct waiting_event *event)
{
    struct waiting_counts *all = ctx;
    struct stored_event stored;
    if (stored_event_read(event->document, all->paths, &stored, NULL) !=
        ERR_OK) {
        return;
    }
    struct value stream = value_empty_object();
    author_put_stream(all->survey, stored.stream, &stream);
    const struct value piece = object_field(stream, "piece");
    if (value_is_string(piece)) {
        struct value counts = value_ref(object_get(all->pieces, piece));
        if (value_is_absent(counts)) {
            counts = value_empty_object();
        }
        count_stored(&counts, &stored);
        all->pieces = object_set_adopt(all->pieces, value_ref(piece), counts);
    }
    value_unref(stream);
    stored_event_release(&stored);
}

enum err picture_waiting(struct survey *survey,
                         struct value *out,
                         struct err_detail *detail)
{
    struct waiting_counts all = {
        .survey = survey,
        .paths = &survey->engine.paths,
        .pieces = value_empty_object(),
    };
    enum err err = engine_waiting(&survey->engine,
                                  survey->branch,
                                  0,
                                  INT64_MAX,
                                  count_event,
                                  &all,
                                  detail);
    if (err == ERR_OK) {
        err = engine_timers(&survey->engine,
                            survey->branch,
                            (struct timer_mark){0},
                            INT64_MAX,
                            INT64_MAX,
                            count_event,
                            &all,
                            detail);
    }
    *out = all.pieces;
    return err;
}
