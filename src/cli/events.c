/* heddle events: the events that wait in the store, and what each waits for. */

#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/look.h"
#include "cli/report.h"
#include "cli/timers.h"
#include "inspect/graph_json.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    PAYLOAD_SHOWN = 60, /* characters */
};

static void append_state(struct buf *to, struct value event)
{
    const struct value piece = object_field(event, "piece");
    const struct value user = object_field(event, "user");
    if (value_is_text(object_field(event, "state"), "sender-at-work")) {
        buf_append_text(to, "the process that sent it");
        return;
    }
    buf_append_text(to, "a process that runs ");
    if (value_is_absent(piece)) {
        buf_append_text(to, "its handler");
    } else {
        look_append(to, piece);
    }
    if (!value_is_absent(user)) {
        buf_append_text(to, " for the user ");
        look_append(to, user);
    }
}

static void add_row(struct look_table *table, struct value event)
{
    struct look_row *row = look_row(table);
    const struct value at = object_field(event, "at");
    const struct value from = object_field(event, "from");
    timers_append_stream(&row->cells[0], event);
    look_append_json(&row->cells[1],
                     object_field(event, "payload"),
                     PAYLOAD_SHOWN);
    if (value_kind(at) == VALUE_INT && value_integer(at) > 0) {
        look_append_time(&row->cells[2], (uint64_t)value_integer(at));
    }
    if (!value_is_absent(from)) {
        timers_append_stream(&row->cells[3], from);
    }
    append_state(&row->cells[4], event);
    look_append(&row->cells[5], object_field(event, "id"));
    row->colours[0] = LOOK_STRONG;
    row->colours[5] = LOOK_FAINT;
}

static void print_events(struct value events)
{
    const struct value list = object_field(events, "events");
    if (array_count(list) == 0) {
        (void)fprintf(stderr, "heddle: no events are waiting\n");
        return;
    }
    struct look_table table = {
        .columns = 6,
        .headings = {"EVENT", "PAYLOAD", "SENT", "BY", "WAITS FOR", "ID"},
        .least = 5,
    };
    struct array_iter iter = array_iter(list);
    struct value event;
    while (array_next(&iter, &event)) {
        add_row(&table, event);
    }
    look_table_end(&table, 0);
}

static enum err find_events(struct offline_graph *graph,
                            const struct options *options,
                            const char *piece,
                            struct value *out,
                            struct err_detail *detail)
{
    return graph_json_events(graph, look_folder(options), piece, out, detail);
}

int events_run(const struct options *options)
{
    return timers_list(options,
                       &(struct timers_kind){
                           .name = "event",
                           .find = find_events,
                           .print = print_events,
                       });
}
