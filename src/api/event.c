/* Handlers, sending, and what becomes of what was sent. */

#include "api/event.h"

#include "api/handle.h"
#include "api/memory.h"
#include "front/event_ticket.h"
#include "runtime/timer.h"
#include "sched/timers.h"

/* -- Handlers ------------------------------------------------------------ */

static enum run_result run_handler(struct handling *handling, void *ctx)
{
    struct value result = VALUE_NONE;
    const struct call_context call_context = {
        .run = handling->run,
        .handling = handling,
        .result = &result,
    };
    const enum run_result done = callback_call(ctx, &call_context);
    if (!value_is_absent(result)) {
        handling_return_adopt(handling, result);
    }
    return done;
}

static enum err handle(hd_cell *stream,
                       const hd_handler_options *options,
                       struct value name,
                       struct callback *callback,
                       struct err_detail *detail)
{
    hd_runtime *runtime = stream->object.runtime;
    struct sched *sched = runtime_sched(runtime);
    struct cell_reads reads;
    enum err err = cell_reads(runtime,
                              options->reads,
                              options->read_count,
                              &reads,
                              detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct handler_spec spec = {
        .run = run_handler,
        .ctx = callback,
        .release = callback_gone,
        .name = name,
        .reads = reads.at,
        .read_count = reads.count,
        .pure = options->pure,
        .several_spaces = options->several_spaces,
        .replace = options->replace,
        .collapses = options->collapses,
    };
    err = events_handle(sched,
                        events_stream(sched, stream->place),
                        &spec,
                        &callback->handler,
                        detail);
    cell_want(stream->place);
    cell_reads_release(&reads);
    return err;
}

/* What can be said about the arguments before anything is made. */
static enum err check_handler(const hd_cell *stream,
                              const hd_handler_options *options,
                              struct value *name,
                              struct err_detail *detail)
{
    *name = VALUE_NONE;
    enum err err = cell_check(stream, "stream", detail);
    if (err != ERR_OK) {
        return err;
    }
    if (options == NULL || options->run == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'%s' must not be NULL",
                       options == NULL ? "options" : "run");
    }
    if (stream->object.runtime->run != NULL) {
        return err_set(detail,
                       ERR_MISUSE,
                       "a handler cannot be registered from inside a run");
    }
    err = runtime_check_writing(stream->object.runtime, detail);
    if (err == ERR_OK) {
        err =
            runtime_check_changing(stream->object.runtime, "a handler", detail);
    }
    return err != ERR_OK || options->name == NULL
               ? err
               : edge_name(options->name, "name", name, detail);
}

hd_status hd_handler_new(hd_cell *stream,
                         const hd_handler_options *options,
                         hd_node **node,
                         hd_error *error)
{
    if (node != NULL) {
        *node = NULL;
    }
    struct err_detail detail = {0};
    struct value name;
    enum err err = check_handler(stream, options, &name, &detail);
    if (err != ERR_OK) {
        if (options != NULL && options->release != NULL) {
            options->release(options->context);
        }
        return error_report(error, err, &detail);
    }
    hd_runtime *runtime = stream->object.runtime;
    struct callback *callback =
        callback_new(runtime, options->run, options->context, options->release);
    err = handle(stream, options, name, callback, &detail);
    value_unref(name);
    if (err != ERR_OK) {
        callback_gone(callback);
    } else if (node != NULL) {
        *node = node_handle(runtime, callback);
    }
    return cell_report(error, err, &detail, stream);
}

void handler_remove(struct sched *sched, struct callback *callback)
{
    struct handler *handler = callback->handler;
    callback->handler = NULL;
    events_cancel(sched, handler);
}

/* -- Tickets ------------------------------------------------------------- */

/* There as long as its event has not ended, or the program owns it. */
struct hd_ticket {
    struct object object;
    struct event_ticket inside;
    bool owned;  /* by the program; released: answers nothing more */
    bool seen;   /* by it, ever */
    bool called; /* `done` is: the record stays until it returns */
    void (*done)(void *context, hd_ticket *ticket);
    void *context;
};

static void free_if_over(hd_ticket *ticket)
{
    if (!ticket->inside.ended || ticket->owned || ticket->called) {
        return;
    }
    event_ticket_release(&ticket->inside);
    ticket->object.kind = OBJECT_TICKET; /* the end that follows is its own */
    if (ticket->seen) {
        object_free(&ticket->object, sizeof *ticket);
    } else {
        object_drop(&ticket->object, sizeof *ticket);
    }
}

/* The ticket is lent to the program for the call, if that does not own it: its
 * end follows. A runtime that is closed calls no function. */
static void on_end(struct event_ticket *inside)
{
    hd_ticket *ticket = CONTAINER_OF(inside, hd_ticket, inside);
    hd_runtime *runtime = ticket->object.runtime;
    if (ticket->done != NULL && runtime->api_host != NULL) {
        ticket->called = true;
        ticket->object.kind = OBJECT_TICKET;
        runtime->busy++;
        ticket->done(ticket->context, ticket);
        runtime->busy--;
        ticket->called = false;
    }
    free_if_over(ticket);
}

void hd_ticket_free(hd_ticket *ticket)
{
    if (object_may_go(ticket, OBJECT_TICKET) && ticket->owned) {
        ticket->owned = false;
        ticket->object.kind = OBJECT_RELEASED;
        free_if_over(ticket);
    }
}

/* A ticket says what it knows also when its runtime is closed. */
static hd_status check_ticket(const hd_ticket *ticket)
{
    return status_of(object_check(ticket, OBJECT_TICKET, "ticket", NULL));
}

static hd_outcome outcome_of(const struct event_ticket *ticket)
{
    static const hd_outcome outcomes[] = {
        [EVENT_DONE] = HD_DONE,
        [EVENT_DROPPED] = HD_DROPPED,
        [EVENT_FAILED] = HD_FAILED,
        [EVENT_QUEUED] = HD_QUEUED,
    };
    return ticket->ended ? outcomes[ticket->outcome] : HD_WAITING;
}

hd_status hd_ticket_outcome(hd_ticket *ticket, hd_outcome *outcome)
{
    if (outcome == NULL) {
        return HD_ARGUMENT;
    }
    *outcome = HD_WAITING;
    const hd_status status = check_ticket(ticket);
    if (status == HD_OK) {
        *outcome = outcome_of(&ticket->inside);
    }
    return status;
}

hd_status hd_ticket_id(hd_ticket *ticket, char **id)
{
    if (id == NULL) {
        return HD_ARGUMENT;
    }
    *id = NULL;
    const hd_status status = check_ticket(ticket);
    if (status != HD_OK) {
        return status;
    }
    if (!value_is_string(ticket->inside.id)) {
        return HD_NOT_FOUND;
    }
    *id = text_of_string(ticket->inside.id, NULL);
    return HD_OK;
}

hd_status hd_ticket_receipt(hd_ticket *ticket, hd_value **receipt)
{
    if (receipt == NULL) {
        return HD_ARGUMENT;
    }
    *receipt = NULL;
    const hd_status status = check_ticket(ticket);
    if (status != HD_OK) {
        return status;
    }
    if (value_is_absent(ticket->inside.receipt)) {
        return HD_NOT_FOUND;
    }
    *receipt = handle_new_adopt(value_ref(ticket->inside.receipt));
    return HD_OK;
}

hd_status hd_ticket_error(hd_ticket *ticket, hd_error *error)
{
    if (error == NULL) {
        return HD_ARGUMENT;
    }
    *error = (hd_error){.status = HD_OK};
    const hd_status status = check_ticket(ticket);
    if (status == HD_OK) {
        const struct event_ticket *inside = &ticket->inside;
        (void)error_report(error, inside->error.err, &inside->error);
        error->attempts = inside->attempts;
        error->may_have_happened = inside->error.err == ERR_CLOSED ||
                                   inside->error.err == ERR_SESSION_LOST;
    }
    return status;
}

/* -- Sending ------------------------------------------------------------- */

/* Both or none. New. */
static enum err check_letter(const hd_send_options *options,
                             struct event_spec *spec,
                             struct err_detail *detail)
{
    if (options == NULL || (options->id == NULL && options->session == NULL)) {
        return ERR_OK;
    }
    if (options->timer != NULL) {
        return options->session == NULL
                   ? ERR_OK
                   : err_set(detail,
                             ERR_ARGUMENT,
                             "the id of a timer is its name in the piece: "
                             "leave out 'session'");
    }
    if (options->id == NULL || options->session == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'id' and 'session' must be given together");
    }
    const enum err err = edge_name(options->id, "id", &spec->id, detail);
    return err != ERR_OK
               ? err
               : edge_name(options->session, "session", &spec->session, detail);
}

/* A string that may be left out; new. */
static enum err optional_name(const char *text,
                              const char *argument,
                              struct value *out,
                              struct err_detail *detail)
{
    return text == NULL ? ERR_OK : edge_name(text, argument, out, detail);
}

/* When the timer is due; its references are new. */
static enum err plan_timer(hd_runtime *runtime,
                           const hd_send_options *options,
                           struct event_timer *out,
                           struct err_detail *detail)
{
    static const char *const names[] = {
        [HD_MISSED_ONE] = "one",
        [HD_MISSED_ALL] = "all",
        [HD_MISSED_NONE] = "none",
    };
    const hd_timer_options *timer = options->timer;
    struct runtime *inside = runtime_core(runtime);
    const struct stored_events_source *source = &inside->stored_events.source;
    if (timer->missed > HD_MISSED_NONE) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'missed' is not a valid "
                       "hd_missed");
    }
    struct timer_request request = {
        .has_after = timer->at_ms == 0 &&
                     (timer->after_ms > 0 ||
                      (timer->every_ms == 0 && timer->cron == NULL)),
        .after = timer->after_ms,
        .has_at = timer->at_ms > 0,
        .at = timer->at_ms,
        .every = timer->every_ms,
    };
    enum err err = optional_name(options->id, "id", &request.id, detail);
    if (err == ERR_OK) {
        err = optional_name(timer->cron, "cron", &request.cron, detail);
    }
    if (err == ERR_OK) {
        err = optional_name(timer->zone, "zone", &request.zone, detail);
    }
    if (timer->missed != HD_MISSED_ONE) {
        request.missed = value_text_new(names[timer->missed]);
    }
    if (err == ERR_OK) {
        err = timer_plan(inside,
                         &request,
                         source->wall(source->ctx),
                         out,
                         detail);
    }
    value_unref(request.id);
    value_unref(request.cron);
    value_unref(request.zone);
    value_unref(request.missed);
    return err;
}

enum err event_send(hd_runtime *runtime,
                    struct stream *stream,
                    const hd_value *payload,
                    const hd_send_options *options,
                    hd_ticket **ticket,
                    struct err_detail *detail)
{
    struct event_spec spec = {
        .payload = payload != NULL ? payload->value : value_null(),
        .no_retry = options != NULL && options->once,
        .queue = options != NULL && options->queue,
        .known = options != NULL && options->id != NULL,
    };
    enum err err = runtime_check_changing(runtime, "an event", detail);
    struct event_timer timer = {0};
    if (err == ERR_OK) {
        err = check_letter(options, &spec, detail);
    }
    if (err == ERR_OK && options != NULL && options->timer != NULL) {
        err = plan_timer(runtime, options, &timer, detail);
        spec.timer = &timer;
    }
    if (err == ERR_OK) {
        hd_ticket *made =
            object_new(runtime, OBJECT_TICKET, sizeof *made, NULL);
        made->owned = ticket != NULL;
        made->done = options != NULL ? options->done : NULL;
        made->context = options != NULL ? options->context : NULL;
        made->seen = made->owned || made->done != NULL;
        made->inside.on_end = on_end;
        err = event_ticket_send(&made->inside,
                                &runtime->tickets,
                                frame_now(runtime),
                                stream,
                                &spec,
                                detail);
        if (err != ERR_OK) {
            object_drop(&made->object, sizeof *made);
        } else if (ticket != NULL) {
            *ticket = made;
        }
    }
    value_unref(spec.id);
    value_unref(spec.session);
    event_timer_release(&timer);
    return err;
}

void event_report_limit(const hd_runtime *runtime, hd_error *error)
{
    if (error != NULL && error->status == HD_BACKLOG) {
        error->limit = runtime->backlog;
    }
}

/* The stream behind the links at a place. In a run, documents on the way are
 * waited for by the run itself; outside of one they are loaded now. */
static enum err find_target(hd_runtime *runtime,
                            struct place *place,
                            struct stream **out,
                            struct err_detail *detail)
{
    struct call_frame *frame = frame_now(runtime);
    if (frame->access.run != NULL) {
        return call_frame_note(frame,
                               cell_stream(&frame->access, place, out, detail));
    }
    struct place *target;
    const enum err err = cell_target(runtime, place, &target, detail);
    if (err == ERR_OK) {
        *out = events_stream(runtime_sched(runtime), target);
        place_unref(target);
    }
    return err;
}

hd_status hd_cell_send(hd_cell *stream,
                       const hd_value *payload,
                       const hd_send_options *options,
                       hd_ticket **ticket,
                       hd_error *error)
{
    if (ticket != NULL) {
        *ticket = NULL;
    }
    struct err_detail detail = {0};
    enum err err = cell_check(stream, "stream", &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    hd_runtime *runtime = stream->object.runtime;
    struct stream *target;
    err = find_target(runtime, stream->place, &target, &detail);
    if (err == ERR_OK) {
        err = event_send(runtime, target, payload, options, ticket, &detail);
    }
    const hd_status status = cell_report(error, err, &detail, stream);
    event_report_limit(runtime, error);
    return status;
}

/* -- Cancelling timers --------------------------------------------------- */

/* In the transaction of a handler or an edit, or in one of its own. */
static enum err cancel_timer(hd_runtime *runtime,
                             const struct entity *stream,
                             struct value name,
                             bool *was,
                             struct err_detail *detail)
{
    struct call_frame *frame = frame_now(runtime);
    const struct timer_target target = {.space = stream->space,
                                        .stream = stream->id,
                                        .name = name};
    enum err err = ERR_OK;
    if (frame->kind == FRAME_TOPLEVEL) {
        const struct timer_cancelling asked = {0};
        err = timer_cancel(runtime_core(runtime), &target, &asked, was, detail);
    } else if (frame->kind != FRAME_HANDLER && frame->kind != FRAME_EDIT) {
        err = err_set(detail,
                      ERR_MISUSE,
                      "only a handler or an edit can cancel a timer");
    } else {
        err = call_frame_check_cancel(frame, stream->space, detail);
        if (err == ERR_OK) {
            err = timer_cancel_in(runtime_core(runtime),
                                  frame->access.transaction,
                                  &target,
                                  was,
                                  detail);
        }
        (void)call_frame_note(frame, err);
    }
    return err;
}

hd_status hd_cell_cancel(hd_cell *stream,
                         const char *id,
                         bool *cancelled,
                         hd_error *error)
{
    bool was = false;
    struct value name = VALUE_NONE;
    struct err_detail detail = {0};
    if (cancelled != NULL) {
        *cancelled = false;
    }
    enum err err = cell_check(stream, "stream", &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    hd_runtime *runtime = stream->object.runtime;
    struct stream *target = NULL;
    err = runtime_check_changing(runtime, "a timer", &detail);
    if (err == ERR_OK) {
        err = edge_name(id, "id", &name, &detail);
    }
    if (err == ERR_OK) {
        err = timer_check_name(name, &detail);
    }
    if (err == ERR_OK) {
        err = find_target(runtime, stream->place, &target, &detail);
    }
    if (err == ERR_OK) {
        err = cancel_timer(runtime,
                           events_place(target)->entity,
                           name,
                           &was,
                           &detail);
    }
    if (err == ERR_OK && cancelled != NULL) {
        *cancelled = was;
    }
    value_unref(name);
    return cell_report(error, err, &detail, stream);
}
