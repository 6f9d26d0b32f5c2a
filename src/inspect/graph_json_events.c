/* The stored events of a graph. */

#include "host/event_source.h"
#include "inspect/author.h"
#include "inspect/graph_json.h"
#include "proto/event.h"
#include "store/waiting.h"
#include "value/array.h"
#include "value/object.h"

struct events_list {
    struct offline_graph *graph;
    const char *folder; /* NULL: the state of the sender does not matter */
    const char *piece;  /* or NULL */
    uint64_t now;       /* of timers */
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
    return !stored->queued && list->folder != NULL &&
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
    object_put_number(object, "due", timer->due);
    if (timer->due <= list->now) {
        object_put_number(object, "late", list->now - timer->due);
    }
    if (timer->every > 0) {
        object_put_number(object, "every", timer->every);
    }
    put_given(object, "cron", timer->cron);
    put_given(object, "zone", timer->zone);
    if (timer->missed != MISSED_ONE) {
        object_put_text(object, "missed", timer_missed_name(timer->missed));
    }
}

static struct value describe(const struct events_list *list,
                             struct value id,
                             const struct stored_event *stored)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "id", value_ref(id));
    author_put_stream(list->graph, stored->stream, &object);
    put_given(&object, "payload", stored->payload);
    object_put_number(&object, "at", stored->time);
    if (!value_is_absent(stored->from)) {
        struct value from = value_empty_object();
        author_put_stream(list->graph, stored->from, &from);
        object_put_adopt(&object, "from", from);
    }
    if (stored->is_timer) {
        put_timer(list, &object, id, &stored->timer);
    } else {
        if (stored->queued) {
            object_put_adopt(&object, "queued", value_bool(true));
        }
        object_put_text(&object, "state", state_of(list, stored));
    }
    put_given(&object, "space", stored->space);
    put_given(&object, "user", stored->user);
    return object;
}

bool graph_json_is_of(struct value object, const char *address)
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

/* An event on its way to another space also belongs to the piece that sent it:
 * the list of the other space does not have it yet. */
static bool is_listed(struct value object, const char *piece)
{
    return piece == NULL || graph_json_is_of(object, piece) ||
           (!value_is_absent(object_field(object, "space")) &&
            graph_json_is_of(object_field(object, "from"), piece));
}

static void add_event(void *ctx, const struct waiting_event *event)
{
    struct events_list *list = ctx;
    struct stored_event stored;
    if (stored_event_read(event->document,
                          &list->graph->engine.paths,
                          &stored,
                          NULL) != ERR_OK) {
        return; /* nothing that a runtime has stored */
    }
    struct value object = describe(list, event->id, &stored);
    if (is_listed(object, list->piece)) {
        list->events = array_push_adopt(list->events, value_ref(object));
    }
    value_unref(object);
    stored_event_release(&stored);
}

static enum err collect(struct events_list *list,
                        bool timers,
                        struct err_detail *detail)
{
    struct engine *engine = &list->graph->engine;
    list->events = value_empty_array();
    return timers ? engine_timers(engine,
                                  list->graph->branch,
                                  (struct timer_mark){0},
                                  INT64_MAX,
                                  INT64_MAX,
                                  add_event,
                                  list,
                                  detail)
                  : engine_waiting(engine,
                                   list->graph->branch,
                                   0,
                                   INT64_MAX,
                                   add_event,
                                   list,
                                   detail);
}

static enum err answer(struct events_list *list,
                       bool timers,
                       struct value *out,
                       struct err_detail *detail)
{
    const enum err err = collect(list, timers, detail);
    *out = VALUE_NONE;
    if (err == ERR_OK) {
        *out = value_empty_object();
        object_put_adopt(out,
                         timers ? "timers" : "events",
                         value_ref(list->events));
    }
    value_unref(list->events);
    return err;
}

enum err graph_json_events(struct offline_graph *graph,
                           const char *folder,
                           const char *piece,
                           struct value *out,
                           struct err_detail *detail)
{
    struct events_list list = {
        .graph = graph,
        .folder = folder,
        .piece = piece,
    };
    return answer(&list, false, out, detail);
}

enum err graph_json_timers(struct offline_graph *graph,
                           const char *piece,
                           uint64_t now,
                           struct value *out,
                           struct err_detail *detail)
{
    struct events_list list = {.graph = graph, .piece = piece, .now = now};
    return answer(&list, true, out, detail);
}

/* -- How many ------------------------------------------------------------ */

static void count_event(struct value *pieces,
                        struct value event,
                        const char *name)
{
    const struct value piece = object_field(event, "piece");
    const uint64_t due = object_number(event, "due");
    if (!value_is_string(piece)) {
        return;
    }
    struct value counts = value_ref(object_get(*pieces, piece));
    if (value_is_absent(counts)) {
        counts = value_empty_object();
    }
    object_put_number(&counts, name, object_number(counts, name) + 1);
    const uint64_t next = object_number(counts, "next");
    if (due > 0 && (next == 0 || due < next)) {
        object_put_number(&counts, "next", due);
    }
    *pieces = object_set_adopt(*pieces, value_ref(piece), counts);
}

enum err graph_json_waiting(struct offline_graph *graph,
                            struct value *out,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    *out = value_empty_object();
    for (unsigned timers = 0; timers < 2 && err == ERR_OK; timers++) {
        struct events_list list = {.graph = graph};
        err = collect(&list, timers == 1, detail);
        struct array_iter iter = array_iter(list.events);
        struct value event;
        while (array_next(&iter, &event)) {
            count_event(out, event, timers == 1 ? "timers" : "events");
        }
        value_unref(list.events);
    }
    return err;
}
