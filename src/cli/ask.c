/* heddle get, set, send, watch: a piece from outside, one question each.
 *
 * They need no process that runs the piece: each takes it up itself, as far as
 * it has to, and leaves again. Whoever runs it sees what they have done. */

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/timers.h"
#include "cli/visit.h"
#include "host/system.h"
#include "runtime/own_write.h"
#include "value/array.h"
#include "value/object.h"

static const char *operand(const struct options *options, size_t index)
{
    return index < options->operand_count ? options->operands[index].word : "";
}

/* Too many operands is an error that only the command can see. */
static int check_count(const struct options *options, size_t most)
{
    return options->operand_count <= most
               ? CODE_OK
               : report_usage(options,
                              "'%s' takes %s",
                              options->name,
                              options->command->operands);
}

/* -- get and watch ------------------------------------------------------- */

/* The place that is asked for: of a piece that runs here, or of its stored
 * documents. */
static int find_place(struct visit *visit, struct place **out)
{
    const struct options *options = visit->options;
    struct entity *document = NULL;
    struct value path = VALUE_NONE;
    int code = visit_read_path(options, operand(options, 1), &path);
    if (code == CODE_OK) {
        code = option_is_given(options, OPTION_STORED)
                   ? visit_find(visit, operand(options, 0), &document)
                   : visit_resume_at(visit, operand(options, 0), &document);
    }
    if (code == CODE_OK) {
        *out = visit_place_at(visit, document, path);
    }
    value_unref(path);
    return code;
}

/* What was seen, or that there is nothing. */
static int print_seen(const struct visit_look *look)
{
    const struct options *options = look->visit->options;
    if (!value_is_absent(look->seen)) {
        visit_print(options, look->seen);
        return CODE_OK;
    }
    struct err_detail detail = look->fault;
    if (detail.err == ERR_OK || detail.text[0] == '\0') {
        struct nearest nearest;
        (void)err_set(&detail,
                      ERR_NOT_FOUND,
                      "no value at '%s' of %s%s",
                      operand(options, 1),
                      operand(options, 0),
                      visit_hint_field(look->place->entity,
                                       operand(options, 1),
                                       &nearest));
    }
    return visit_report(options, NULL, &detail);
}

static int get(struct visit *visit)
{
    struct place *place = NULL;
    int code = find_place(visit, &place);
    if (code != CODE_OK) {
        return code;
    }
    struct visit_look look;
    visit_look_begin(visit, &look, place);
    place_unref(place);
    code = visit_settle(visit);
    if (code == CODE_OK) {
        code = print_seen(&look);
    } else if (code == CODE_UNSETTLED) {
        (void)print_seen(&look);
    }
    if (visit_tell_faults(visit) && code == CODE_OK) {
        code = CODE_NO; /* it is not up to date */
    }
    visit_look_end(&look);
    return code;
}

int get_run(const struct options *options)
{
    int code = check_count(options, 2);
    if (code != CODE_OK) {
        return code;
    }
    struct visit visit = {.immediate = true};
    code =
        visit_open(&visit,
                   options,
                   option_is_given(options, OPTION_STORED) ? DATA_DIR_READ_ONLY
                                                           : DATA_DIR_EXISTING);
    return visit_close(&visit, code == CODE_OK ? get(&visit) : code);
}

static int follow(struct visit *visit)
{
    struct place *place = NULL;
    int code = find_place(visit, &place);
    if (code != CODE_OK) {
        return code;
    }
    struct visit_look look;
    visit_look_begin(visit, &look, place);
    place_unref(place);
    while (code == CODE_OK && !visit_was_stopped()) {
        (void)live_step(visit->live);
        if (look.changed) {
            look.changed = false;
            visit_print(visit->options,
                        value_is_absent(look.seen) ? value_null() : look.seen);
        }
        (void)visit_tell_faults(visit);
        code = output_is_open() ? CODE_OK : CODE_IO;
        if (!visit_was_stopped() && code == CODE_OK) {
            visit_wait(visit, MONO_NEVER);
        }
    }
    visit_look_end(&look);
    return code;
}

int watch_run(const struct options *options)
{
    int code = check_count(options, 2);
    if (code != CODE_OK) {
        return code;
    }
    struct visit visit = {0};
    code =
        visit_open(&visit,
                   options,
                   option_is_given(options, OPTION_STORED) ? DATA_DIR_READ_ONLY
                                                           : DATA_DIR_EXISTING);
    return visit_close(&visit, code == CODE_OK ? follow(&visit) : code);
}

/* -- set ----------------------------------------------------------------- */

static const struct set_way {
    option_set option;
    enum write_kind kind;
    bool takes_list; /* of what is to be added */
} set_ways[] = {
    {OPTION_APPEND, WRITE_APPEND, true},
    {OPTION_ADD_UNIQUE, WRITE_ADD_UNIQUE, true},
    {OPTION_REMOVE, WRITE_REMOVE_VALUE, false},
    {OPTION_INCREMENT, WRITE_INCREMENT, false},
};

#define SET_WAYS                                                            \
    (OPTION_APPEND | OPTION_ADD_UNIQUE | OPTION_REMOVE | OPTION_INCREMENT | \
     OPTION_DELETE)

static int check_set(const struct options *options)
{
    const option_set ways = options->given & SET_WAYS;
    if ((ways & (ways - 1)) != 0) {
        return report_usage(options,
                            "--append, --add-unique, --remove, --increment and "
                            "--delete exclude each other");
    }
    const size_t count = option_is_given(options, OPTION_DELETE) ? 2 : 3;
    return options->operand_count == count
               ? CODE_OK
               : report_usage(options,
                              count == 2 ? "--delete takes PIECE PATH"
                                         : "'set' takes PIECE PATH JSON");
}

/* It outlives the visit: a write without an answer ends with it. */
struct setting {
    struct runtime *runtime;
    struct entity *child; /* whose state it is; or NULL: of a piece */
    struct place *place;  /* owned, like the value, until it has ended */
    struct cell_writing writing;
    bool ended;
    struct err_detail said;
};

/* A child may go meanwhile: nothing is written for one that is not there. */
static enum err depend_on(struct transaction *transaction,
                          struct entity *document,
                          struct err_detail *detail)
{
    struct place *payload = place_payload(document);
    struct value seen = VALUE_NONE;
    (void)transaction_read(transaction,
                           payload,
                           READ_SHAPE,
                           READ_FOR_BOTH,
                           &seen);
    const bool is_there = !value_is_absent(seen);
    value_unref(seen);
    place_unref(payload);
    return is_there ? ERR_OK
                    : err_set(detail,
                              ERR_NOT_FOUND,
                              "the child was removed: its element is no longer "
                              "in the list");
}

static enum err write_setting(void *ctx,
                              struct transaction *transaction,
                              struct err_detail *detail)
{
    const struct setting *setting = ctx;
    const struct cell_access access = {setting->runtime, NULL, transaction};
    if (setting->child != NULL) {
        const enum err err = depend_on(transaction, setting->child, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    return own_write_in(&access, setting->place, &setting->writing, detail);
}

static void on_set(void *ctx, const struct err_detail *said)
{
    struct setting *setting = ctx;
    setting->ended = true;
    setting->said = *said;
    place_unref(setting->place);
    value_unref(setting->writing.value);
}

/* What is to be done with the value, which is adopted. */
static struct cell_writing writing_of(const struct options *options,
                                      struct value value)
{
    if (option_is_given(options, OPTION_DELETE)) {
        return (struct cell_writing){.kind = WRITE_DELETE};
    }
    for (size_t i = 0; i < COUNT_OF(set_ways); i++) {
        if (option_is_given(options, set_ways[i].option)) {
            return (struct cell_writing){
                .kind = set_ways[i].kind,
                .value = set_ways[i].takes_list
                             ? array_push_adopt(value_empty_array(), value)
                             : value,
            };
        }
    }
    return (struct cell_writing){.kind = WRITE_PUT, .value = value};
}

static int wait_for_write(struct visit *visit, const struct setting *setting)
{
    const mono_ms deadline = live_now(visit->live) + visit->timeout;
    while (!setting->ended) {
        live_set_deadline(visit->live, deadline);
        (void)live_step(visit->live);
        live_set_deadline(visit->live, MONO_NEVER);
        if (setting->ended) {
            break;
        }
        if (visit_was_stopped() || live_now(visit->live) >= deadline) {
            return visit_report_wait(visit, "the write");
        }
        if (!own_writes_try_again(setting->runtime)) {
            (void)live_wait(visit->live, deadline);
        }
    }
    return CODE_OK;
}

/* Writes, and waits for what the store says: it may refuse what could be
 * written here. */
static int write_and_wait(struct visit *visit, struct setting *setting)
{
    const struct options *options = visit->options;
    const struct own_write_spec spec = {
        .write = write_setting,
        .ended = on_set,
        .ctx = setting,
    };
    struct err_detail detail = {0};
    setting->runtime = live_runtime(visit->live);
    if (own_write_make(setting->runtime, &spec, &detail) != ERR_OK) {
        on_set(setting, &detail);
        return visit_report(options, operand(options, 1), &detail);
    }
    const int code = wait_for_write(visit, setting);
    if (code == CODE_OK && setting->said.err != ERR_OK) {
        return visit_report(options, operand(options, 1), &setting->said);
    }
    return code == CODE_OK ? visit_settle(visit) : code;
}

static int set(struct visit *visit, struct setting *setting)
{
    const struct options *options = visit->options;
    struct value value = VALUE_NONE;
    struct value path = VALUE_NONE;
    struct entity *document = NULL;
    struct place *place = NULL;
    int code = visit_read_path(options, operand(options, 1), &path);
    if (code == CODE_OK && !option_is_given(options, OPTION_DELETE)) {
        code = visit_read_json(options, 2, &value);
    }
    if (code == CODE_OK) {
        code = visit_find(visit, operand(options, 0), &document);
    }
    if (code == CODE_OK) {
        code = visit_start_for_user(visit, document);
    }
    struct err_detail detail = {0};
    enum err err = ERR_OK;
    if (code == CODE_OK) {
        err = visit_place(visit,
                          document,
                          path,
                          value_kind(value) != VALUE_LINK,
                          &place,
                          &detail);
    }
    visit_stop_piece(visit); /* the write makes nothing run here */
    if (code == CODE_OK && err == ERR_OK) {
        err = visit_check_set(visit,
                              document,
                              place,
                              operand(options, 1),
                              &detail);
    }
    if (err != ERR_OK) {
        code = visit_report(options, NULL, &detail);
    }
    if (code == CODE_OK) {
        setting->place = place_ref(place);
        setting->child =
            strchr(operand(options, 0), '/') != NULL ? document : NULL;
        setting->writing = writing_of(options, value_ref(value));
        code = write_and_wait(visit, setting);
    }
    if (place != NULL) {
        place_unref(place);
    }
    value_unref(value);
    value_unref(path);
    return code;
}

int set_run(const struct options *options)
{
    int code = check_set(options);
    if (code != CODE_OK) {
        return code;
    }
    struct visit visit = {.immediate = true};
    struct setting setting = {0};
    code = visit_open(&visit, options, DATA_DIR_EXISTING);
    return visit_close(&visit, code == CODE_OK ? set(&visit, &setting) : code);
}

/* -- send ---------------------------------------------------------------- */

/* It outlives the visit: an event without an answer ends with it. */
struct sending {
    bool ended;
    enum event_outcome outcome;
    struct err_detail error;
    struct value receipt;
    struct value id; /* of the receipt */
};

static void on_done(void *ctx, const struct event_result *result)
{
    struct sending *sending = ctx;
    sending->ended = true;
    sending->outcome = result->outcome;
    sending->error = result->error;
    sending->receipt = value_ref(result->receipt);
    sending->id = value_ref(result->receipt_id);
}

static int check_send(const struct options *options)
{
    const struct option_values *values = &options->values;
    if (timers_are_given(options)) {
        return values->session == NULL
                   ? CODE_OK
                   : report_usage(options,
                                  "the id of a timer is its name in the "
                                  "piece: leave out --session");
    }
    if ((values->id == NULL) != (values->session == NULL)) {
        return report_usage(options,
                            "--id requires --session, and --session requires "
                            "--id: an id is unique within its session");
    }
    if (values->id != NULL &&
        (values->id[0] == '\0' || values->session[0] == '\0')) {
        return report_usage(options,
                            "--id and --session must not be empty: events with "
                            "the same id are one event");
    }
    return CODE_OK;
}

/* Until the event has ended. */
static int wait_for_end(struct visit *visit, const struct sending *sending)
{
    const mono_ms deadline = live_now(visit->live) + visit->timeout;
    while (!sending->ended) {
        live_set_deadline(visit->live, deadline);
        (void)live_step(visit->live);
        live_set_deadline(visit->live, MONO_NEVER);
        const bool over =
            visit_was_stopped() || live_now(visit->live) >= deadline;
        if (sending->ended && (!over || sending->outcome == EVENT_DONE ||
                               sending->outcome == EVENT_QUEUED)) {
            break;
        }
        if (over) { /* it may have been the deadline that ended the handler */
            return visit_report_wait(visit, "the event");
        }
        (void)live_wait(visit->live, deadline);
    }
    return CODE_OK;
}

/* With the piece and the handler that were meant: an exit code. */
static int report_sending(const struct options *options,
                          const struct err_detail *detail)
{
    struct buf source = {0};
    buf_printf(&source, "%s/%s", operand(options, 0), operand(options, 1));
    const int code = visit_report_node(options, buf_text(&source), detail);
    buf_release(&source);
    return code;
}

static int send_event(struct visit *visit,
                      struct stream *stream,
                      struct value payload,
                      struct sending *sending)
{
    const struct options *options = visit->options;
    const struct option_values *values = &options->values;
    const bool is_timer = timers_are_given(options);
    struct value id = VALUE_NONE;
    struct value session = VALUE_NONE;
    struct event_timer timer = {0};
    if (is_timer) {
        const int read = timers_read(visit, &timer);
        if (read != CODE_OK) {
            return read;
        }
    } else if (values->id != NULL) {
        id = value_text_new(values->id);
        session = value_text_new(values->session);
    }
    const struct event_spec spec = {
        .payload = payload,
        .id = id,
        .session = session,
        .time = system_wall_ms(),
        .known = true,
        .timer = is_timer ? &timer : NULL,
        .queue = option_is_given(options, OPTION_QUEUE),
        .done = on_done,
        .ctx = sending,
    };
    struct err_detail detail = {0};
    const enum err err =
        events_send(live_runtime(visit->live)->sched, stream, &spec, &detail);
    value_unref(id);
    value_unref(session);
    event_timer_release(&timer);
    if (err != ERR_OK) {
        return report_sending(options, &detail);
    }
    const int code = wait_for_end(visit, sending);
    return code == CODE_OK ? visit_settle(visit) : code;
}

/* The id under which it waits: of a timer with a name, that. */
static void print_stored(const struct options *options,
                         const struct sending *sending)
{
    if (!timers_are_given(options) || options->values.id == NULL) {
        visit_print(options, sending->id);
        return;
    }
    const struct value id = value_text_new(options->values.id);
    visit_print(options, id);
    value_unref(id);
}

/* What is known of the event's end; the exit code. */
static int print_end(struct visit *visit,
                     const struct sending *sending,
                     int code)
{
    const struct options *options = visit->options;
    const bool failed = code != CODE_OK && code != CODE_UNSETTLED;
    if (sending->outcome == EVENT_QUEUED ||
        (option_is_given(options, OPTION_QUEUE) &&
         sending->error.err == ERR_RECEIPT_EXISTS &&
         value_is_absent(sending->receipt))) {
        print_stored(options, sending);
        return code;
    }
    if (sending->outcome == EVENT_DONE ||
        sending->error.err == ERR_RECEIPT_EXISTS) {
        visit_print(options,
                    value_is_absent(sending->receipt) ? value_null()
                                                      : sending->receipt);
        if (failed) {
            (void)fprintf(stderr,
                          "heddle: the event was handled and committed: do not "
                          "send it again\n");
        }
        return code;
    }
    (void)report_sending(options, &sending->error);
    visit_forget_fault(visit, &sending->error);
    if (failed) {
        return code;
    }
    if (sending->error.err == ERR_SCHEMA) {
        return CODE_BAD; /* the payload: what a handler raises is no SCHEMA */
    }
    return sending->error.err == ERR_NOT_SETTLED ? CODE_UNSETTLED : CODE_NO;
}

static int send(struct visit *visit,
                struct value payload,
                struct sending *sending)
{
    const struct options *options = visit->options;
    struct entity *document = NULL;
    int code = visit_resume_at(visit, operand(options, 0), &document);
    if (code != CODE_OK) {
        return code;
    }
    const struct value name = value_text_new(operand(options, 1));
    struct stream *stream = NULL;
    struct err_detail detail = {0};
    const enum err err =
        piece_stream_at(visit->piece, document, name, &stream, &detail);
    value_unref(name);
    if (err != ERR_OK) {
        return visit_report(options, operand(options, 0), &detail);
    }
    code = send_event(visit, stream, payload, sending);
    if (code != CODE_OK && code != CODE_UNSETTLED) {
        code = visit_flush(visit, code); /* the event may end now */
    }
    if (sending->ended) {
        code = print_end(visit, sending, code);
    }
    /* What was sent on by the handler, and could not be handled. Computations
     * that fail are told, too, but the event was handled. */
    (void)visit_tell_faults(visit);
    return visit->events_failed && code == CODE_OK ? CODE_NO : code;
}

int send_run(const struct options *options)
{
    int code = check_count(options, 3);
    struct value payload = VALUE_NONE;
    if (code == CODE_OK) {
        code = check_send(options);
    }
    if (code == CODE_OK && options->operand_count == 3) {
        code = visit_read_json(options, 2, &payload);
    }
    if (code != CODE_OK) {
        return code;
    }
    struct visit visit = {
        .immediate = true,
        .handles_events = !option_is_given(options, OPTION_QUEUE) &&
                          !timers_are_given(options),
    };
    struct sending sending = {0};
    code = visit_open(&visit, options, DATA_DIR_EXISTING);
    code =
        visit_close(&visit,
                    code == CODE_OK ? send(&visit, payload, &sending) : code);
    value_unref(sending.receipt);
    value_unref(sending.id);
    value_unref(payload);
    return code;
}
