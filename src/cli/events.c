/* heddle events: the events that wait in the store, and what each waits for. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/look.h"
#include "cli/report.h"
#include "cli/timers.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    PAYLOAD_SHOWN = 60, /* characters */
    FAILED_SHOWN = 100, /* events, unless --limit says otherwise */
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
    const struct value list = look_list(events, "events");
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

static struct value events_question(const struct options *options)
{
    return look_question_of(options, "events");
}

static void add_failed(struct look_table *table, struct value event)
{
    struct look_row *row = look_row(table);
    timers_append_stream(&row->cells[0], event);
    look_append_json(&row->cells[1],
                     object_field(event, "payload"),
                     PAYLOAD_SHOWN);
    look_append_time(&row->cells[2], object_number(event, "at"));
    look_append(&row->cells[3], object_field(event, "message"));
    look_append(&row->cells[4], object_field(event, "id"));
    row->colours[0] = LOOK_STRONG;
    row->colours[4] = LOOK_FAINT;
}

static void print_failed(struct value events)
{
    const struct value list = look_list(events, "failed");
    if (array_count(list) == 0) {
        (void)fprintf(stderr, "heddle: no event has failed\n");
        return;
    }
    struct look_table table = {
        .columns = 5,
        .headings = {"EVENT", "PAYLOAD", "FAILED", "REASON", "ID"},
        .least = 5,
    };
    struct array_iter iter = array_iter(list);
    struct value event;
    while (array_next(&iter, &event)) {
        add_failed(&table, event);
    }
    look_table_end(&table, 0);
}

static int read_limit(const struct options *options, uint64_t *out)
{
    return look_number(options,
                       "--limit",
                       options->values.limit,
                       FAILED_SHOWN,
                       out);
}

static struct value failed_question(const struct options *options)
{
    struct value question = look_question_of(options, "failed");
    uint64_t limit;
    CHECK(read_limit(options, &limit) == CODE_OK); /* it was looked at */
    object_put_number(&question, "limit", limit);
    return question;
}

/* -- One by its id ------------------------------------------------------- */

/* What did not become of it, as an error. */
static int report_end(const struct options *options, struct value event)
{
    const bool failed = value_is_text(object_field(event, "state"), "failed");
    const struct value message = object_field(event, "message");
    const struct text why =
        failed && value_is_string(message)
            ? value_text(&message)
            : (struct text){"it was cancelled", strlen("it was cancelled")};
    struct buf stream = {0};
    struct err_detail detail = {0};
    timers_append_stream(&stream, event);
    (void)err_set(&detail,
                  failed ? ERR_GIVEN_UP : ERR_NOT_FOUND,
                  "the event for %s was not handled: %.*s",
                  buf_text(&stream),
                  text_shown(why.at, why.length, 400),
                  why.at);
    buf_release(&stream);
    (void)look_report(options, &detail);
    return CODE_NO; /* the answer, not a failure of this command */
}

static int print_event(const struct options *options, struct value event)
{
    const struct value state = object_field(event, "state");
    const bool has_ended_well = value_is_text(state, "done");
    if (option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(event));
        return has_ended_well || value_is_text(state, "waiting") ? CODE_OK
                                                                 : CODE_NO;
    }
    if (has_ended_well) {
        const struct value receipt = object_field(event, "receipt");
        look_print_adopt(options,
                         value_is_absent(receipt) ? value_null()
                                                  : value_ref(receipt));
        return CODE_OK;
    }
    if (value_is_text(state, "waiting")) {
        (void)fprintf(stderr, "heddle: the event is stored and waits\n");
        return CODE_OK;
    }
    return report_end(options, event);
}

static int show_one(const struct options *options)
{
    struct value answer = VALUE_NONE;
    struct value question = look_question(options, "event");
    object_put_text(&question, "event", options->values.id);
    int code = look_ask(options, question, &answer);
    if (code == CODE_OK) {
        code = print_event(options, object_field(answer, "event"));
    }
    value_unref(answer);
    return code;
}

/* The id as `heddle send --queue` prints it is JSON, with its quotes. */
static const char *plain_id(const char *id, struct buf *room)
{
    const size_t length = id != NULL ? strlen(id) : 0;
    if (length < 2 || id[0] != '"' || id[length - 1] != '"') {
        return id;
    }
    buf_append(room, id + 1, length - 2);
    return buf_text(room);
}

static int run(const struct options *options)
{
    const bool failed = option_is_given(options, OPTION_FAILED);
    const bool one = option_is_given(options, OPTION_ID);
    if (failed + one + option_is_given(options, OPTION_CANCEL) > 1) {
        return report_usage(options, "give one of --failed, --id and --cancel");
    }
    if (option_is_given(options, OPTION_LIMIT) && !failed) {
        return report_usage(options, "--limit also needs --failed");
    }
    if (one) {
        return show_one(options);
    }
    uint64_t limit;
    const int code = read_limit(options, &limit);
    if (code != CODE_OK) {
        return code;
    }
    return timers_list(
        options,
        &(struct timers_kind){
            .name = "event",
            .question = failed ? failed_question : events_question,
            .print = failed ? print_failed : print_events,
        });
}

int events_run(const struct options *options)
{
    struct options plain = *options;
    struct buf id = {0};
    struct buf cancelled = {0};
    plain.values.id = plain_id(plain.values.id, &id);
    plain.values.cancel = plain_id(plain.values.cancel, &cancelled);
    const int code = run(&plain);
    buf_release(&cancelled);
    buf_release(&id);
    return code;
}
