/* heddle timers, the options that set one, and cancelling. */

#include "cli/timers.h"

#include <stdio.h>
#include <string.h>

#include "cli/look.h"
#include "cli/report.h"
#include "host/system.h"
#include "runtime/own_write.h"
#include "runtime/timer.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    PAYLOAD_SHOWN = 60, /* characters */
};

/* -- Options ------------------------------------------------------------- */

bool timers_are_given(const struct options *options)
{
    return (options->given & OPTIONS_TIMER) != 0;
}

/* Cron fields have spaces between them. */
static bool is_cron(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == ' ' || *text == '\t') {
            return true;
        }
    }
    return false;
}

static int read_times(const struct options *options,
                      struct timer_request *request)
{
    const struct option_values *values = &options->values;
    request->has_after = values->after != NULL;
    request->has_at = values->at != NULL;
    if (request->has_after &&
        !timer_read_duration(values->after, &request->after)) {
        return report_usage(options,
                            "--after takes a time such as 500ms, 30s, 5m, 2h "
                            "or 1d, not '%s'",
                            values->after);
    }
    if (request->has_at && !timer_read_time(values->at, &request->at)) {
        return report_usage(options,
                            "--at takes a time such as 2026-11-18T09:00:00Z "
                            "or 2026-11-18T10:00:00+01:00, not '%s'",
                            values->at);
    }
    if (values->every != NULL && is_cron(values->every)) {
        request->cron = value_text_new(values->every);
    } else if (values->every != NULL &&
               (!timer_read_duration(values->every, &request->every) ||
                request->every == 0)) {
        return report_usage(options,
                            "--every takes a time such as 30s or 1h, or five "
                            "cron fields such as '0 9 * * 1-5', not '%s'",
                            values->every);
    }
    return CODE_OK;
}

static struct value given(const char *text)
{
    return text != NULL ? value_text_new(text) : VALUE_NONE;
}

int timers_read(struct visit *visit, struct event_timer *out)
{
    const struct options *options = visit->options;
    const struct option_values *values = &options->values;
    struct timer_request request = {0};
    struct err_detail detail = {0};
    int code = read_times(options, &request);
    if (code == CODE_OK) {
        request.zone = given(values->zone);
        request.missed = given(values->missed);
        request.id = given(values->id);
        if (timer_plan(live_runtime(visit->live),
                       &request,
                       system_wall_ms(),
                       out,
                       &detail) != ERR_OK) {
            code = report_usage(options, "%s", detail.text);
        }
    }
    value_unref(request.cron);
    value_unref(request.zone);
    value_unref(request.missed);
    value_unref(request.id);
    return code;
}

/* -- Cancelling ---------------------------------------------------------- */

/* It outlives the visit: a write without an answer ends with it. */
struct cancelling {
    bool ended;
    bool was;
    struct err_detail said;
};

static void on_cancelled(void *ctx, bool was, const struct err_detail *said)
{
    struct cancelling *cancelling = ctx;
    cancelling->ended = true;
    cancelling->was = was;
    cancelling->said = *said;
}

static int wait_for_answer(struct visit *visit,
                           const struct cancelling *cancelling)
{
    const mono_ms deadline = live_now(visit->live) + visit->timeout;
    while (!cancelling->ended) {
        (void)live_step(visit->live);
        if (cancelling->ended) {
            break;
        }
        if (visit_was_stopped() || live_now(visit->live) >= deadline) {
            return visit_report_wait(visit, "the answer");
        }
        if (!own_writes_try_again(live_runtime(visit->live))) {
            (void)live_wait(visit->live, deadline);
        }
    }
    return CODE_OK;
}

/* What --cancel is about. */
struct chosen {
    struct buf address; /* of a piece, a child or a stream; empty: of what was
                           given, which need not have any timer */
    bool is_stream;
};

/* The piece of what was chosen may be one that has gone. */
static int cancel(struct visit *visit,
                  struct cancelling *cancelling,
                  const char *what,
                  const struct chosen *chosen)
{
    const struct options *options = visit->options;
    const char *piece = options->operands[0].word;
    const char *name = options->values.cancel;
    struct err_detail detail = {0};
    const struct timer_cancelling asked = {on_cancelled, cancelling};
    struct entity *document = NULL;
    int code = CODE_OK;
    if (chosen->address.length == 0) {
        code = visit_find(visit, piece, &document);
    }
    if (code != CODE_OK) {
        return code;
    }
    struct buf id = {0};
    buf_printf(&id,
               "piece:%s",
               chosen->address.length > 0 ? buf_text(&chosen->address) : piece);
    const struct value address = value_text_new(buf_text(&id));
    const struct timer_target target = {
        .space = live_runtime(visit->live)->spaces.at[0],
        .stream = chosen->is_stream ? address : VALUE_NONE,
        .owner = address,
        .name = value_text_new(name),
    };
    buf_release(&id);
    const enum err err =
        timer_cancel(live_runtime(visit->live), &target, &asked, NULL, &detail);
    value_unref(target.name);
    value_unref(address);
    if (err != ERR_OK) {
        return visit_report(options, piece, &detail);
    }
    code = wait_for_answer(visit, cancelling);
    if (code != CODE_OK) {
        return code;
    }
    if (cancelling->said.err != ERR_OK) {
        return visit_report(options, piece, &cancelling->said);
    }
    if (!cancelling->was) {
        (void)err_set(&detail,
                      ERR_NOT_FOUND,
                      "%s has no pending %s '%s': it was handled or cancelled "
                      "already, or has another id ('heddle %ss %s')",
                      piece,
                      what,
                      name,
                      what,
                      piece);
        return visit_report(options, NULL, &detail);
    }
    return CODE_OK;
}

/* The address of a timer's stream: "kanban/cards/3/card1/remind"; or, without
 * the last part, of the child that has it. */
static void append_address(struct buf *to, struct value timer, bool is_stream)
{
    const struct value handler = object_field(timer, "handler");
    const struct text name =
        value_is_string(handler) ? value_text(&handler) : (struct text){"", 0};
    size_t length = name.length;
    while (!is_stream && length > 0 && name.at[length - 1] != '/') {
        length--;
    }
    look_append(to, object_field(timer, "piece"));
    if (length > 0) {
        buf_append_char(to, '/');
        buf_append(to, name.at, is_stream ? length : length - 1);
    }
}

static bool is_at(struct value timer, const char *address, bool is_stream)
{
    struct buf own = {0};
    append_address(&own, timer, is_stream);
    const bool is = strcmp(buf_text(&own), address) == 0;
    buf_release(&own);
    return is;
}

/* Whether the address is that of the timer's stream or piece; then it is
 * chosen. */
static bool choose_given(struct value timer,
                         const char *address,
                         struct chosen *out)
{
    out->is_stream = is_at(timer, address, true);
    if (!out->is_stream && !is_at(timer, address, false)) {
        return false;
    }
    buf_clear(&out->address);
    buf_append_text(&out->address, address);
    return true;
}

static int refuse_several(const struct options *options, struct value owners)
{
    struct buf names = {0};
    struct object_iter iter = object_iter(owners);
    struct value name;
    struct value unused;
    while (object_next(&iter, &name, &unused)) {
        buf_append_text(&names, names.length > 0 ? ", " : "");
        look_append(&names, name);
    }
    struct err_detail detail = {0};
    (void)err_set(&detail,
                  ERR_ARGUMENT,
                  "several children of %s have a timer '%s': give one of %s",
                  options->operands[0].word,
                  options->values.cancel,
                  buf_text(&names));
    buf_release(&names);
    return visit_report(options, NULL, &detail);
}

/* Where the timers of that id are: at the address itself, or in the only child
 * below it that has any. */
static int choose(const struct options *options,
                  struct value timers,
                  struct chosen *out)
{
    struct array_iter iter = array_iter(timers);
    struct value owners = value_empty_object();
    struct value timer;
    bool is_given = false;
    while (!is_given && array_next(&iter, &timer)) {
        if (!value_is_text(object_field(timer, "id"), options->values.cancel)) {
            continue;
        }
        is_given = choose_given(timer, options->operands[0].word, out);
        if (!is_given) {
            buf_clear(&out->address);
            append_address(&out->address, timer, false);
            object_put_adopt(&owners, buf_text(&out->address), value_null());
        }
    }
    const int code = !is_given && object_count(owners) > 1
                         ? refuse_several(options, owners)
                         : CODE_OK;
    value_unref(owners);
    return code;
}

/* With what is overdue now. */
static struct value timers_question(const struct options *options)
{
    struct value question = look_question_of(options, "timers");
    object_put_number(&question, "now", system_wall_ms());
    return question;
}

static int find_timer(const struct options *options, struct chosen *out)
{
    struct value timers = VALUE_NONE;
    struct value question = timers_question(options);
    object_put_adopt(&question, "unchecked", value_bool(true));
    int code = look_ask(options, question, &timers);
    if (code == CODE_OK) {
        code = choose(options, look_list(timers, "timers"), out);
    }
    value_unref(timers);
    return code;
}

int timers_cancel_one(const struct options *options, const char *what)
{
    if (options->operand_count != 1) {
        return report_usage(options, "--cancel ID also needs the piece");
    }
    struct chosen chosen = {0};
    int code = find_timer(options, &chosen);
    if (code == CODE_OK) {
        struct visit visit = {.immediate = true};
        struct cancelling cancelling = {0};
        code = visit_open(&visit, options, DATA_DIR_EXISTING);
        code = visit_close(&visit,
                           code == CODE_OK
                               ? cancel(&visit, &cancelling, what, &chosen)
                               : code);
    }
    buf_release(&chosen.address);
    return code;
}

/* -- Listing ------------------------------------------------------------- */

void timers_append_stream(struct buf *to, struct value stream)
{
    const struct value handler = object_field(stream, "handler");
    if (value_is_absent(handler)) {
        look_append(to, object_field(stream, "stream"));
        return;
    }
    look_append(to, handler);
    buf_append_text(to, " of ");
    look_append(to, object_field(stream, "piece"));
}

/* "every 30s": in the largest unit of which it is a multiple. */
static void append_interval(struct buf *to, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"d", 86400000},
                 {"h", 3600000},
                 {"m", 60000},
                 {"s", 1000},
                 {"ms", 1}};
    size_t i = 0;
    while (ms % units[i].ms != 0) {
        i++;
    }
    buf_printf(to,
               "every %lld%s",
               (long long)(ms / units[i].ms),
               units[i].name);
}

/* "every 30s", "0 9 * * 1-5 Europe/Berlin, missed all". */
static void append_repetition(struct buf *to, struct value timer)
{
    const struct value every = object_field(timer, "every");
    const struct value cron = object_field(timer, "cron");
    const struct value zone = object_field(timer, "zone");
    const struct value missed = object_field(timer, "missed");
    if (value_kind(every) == VALUE_INT) {
        append_interval(to, value_integer(every));
    }
    if (value_is_string(cron)) {
        look_append(to, cron);
        buf_append_text(to, " ");
        if (value_is_string(zone)) {
            look_append(to, zone);
        } else {
            buf_append_text(to, "UTC");
        }
    }
    if (value_is_string(missed)) {
        buf_append_text(to, ", missed ");
        look_append(to, missed);
    }
}

static void add_row(struct look_table *table, struct value timer)
{
    struct look_row *row = look_row(table);
    const struct value late = object_field(timer, "late");
    look_append_time(&row->cells[0], object_number(timer, "due"));
    if (value_kind(late) == VALUE_INT) {
        buf_append_text(&row->cells[0], " (overdue)");
    }
    timers_append_stream(&row->cells[1], timer);
    if (value_is_string(object_field(timer, "user"))) {
        buf_append_text(&row->cells[1], " for the user ");
        look_append(&row->cells[1], object_field(timer, "user"));
    }
    look_append_json(&row->cells[2],
                     object_field(timer, "payload"),
                     PAYLOAD_SHOWN);
    append_repetition(&row->cells[3], timer);
    look_append(&row->cells[4], object_field(timer, "id"));
    row->colours[1] = LOOK_STRONG;
}

static void print_timers(struct value timers)
{
    const struct value list = look_list(timers, "timers");
    if (array_count(list) == 0) {
        (void)fprintf(stderr, "heddle: no timers are set\n");
        return;
    }
    struct look_table table = {
        .columns = 5,
        .headings = {"DUE", "EVENT", "PAYLOAD", "REPEATS", "ID"},
        .least = 4,
    };
    struct array_iter iter = array_iter(list);
    struct value timer;
    while (array_next(&iter, &timer)) {
        add_row(&table, timer);
    }
    look_table_end(&table, 0);
}

int timers_list(const struct options *options, const struct timers_kind *kind)
{
    struct value found = VALUE_NONE;
    if (options->operand_count > 1) {
        return report_usage(options, "give at most one piece");
    }
    if (option_is_given(options, OPTION_CANCEL)) {
        return timers_cancel_one(options, kind->name);
    }
    const int code = look_ask(options, kind->question(options), &found);
    if (code == CODE_OK && option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(found));
    } else if (code == CODE_OK) {
        kind->print(found);
    }
    value_unref(found);
    return code;
}

int timers_run(const struct options *options)
{
    return timers_list(options,
                       &(struct timers_kind){
                           .name = "timer",
                           .question = timers_question,
                           .print = print_timers,
                       });
}
