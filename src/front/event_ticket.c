/* Sending an event with a ticket, and the end of the ticket. */

#include "front/event_ticket.h"

#include "sched/event.h"

static void end(struct event_ticket *ticket)
{
    ticket->ended = true;
    list_remove(&ticket->node);
    ticket->on_end(ticket);
}

static void on_done(void *ctx, const struct event_result *result)
{
    struct event_ticket *ticket = ctx;
    ticket->outcome = result->outcome;
    ticket->error = result->error;
    ticket->attempts = result->attempts;
    ticket->id = event_id(result->event);
    ticket->receipt = value_ref(result->receipt);
    end(ticket);
}

enum err event_ticket_send(struct event_ticket *ticket,
                           struct list *waiting,
                           const struct call_frame *frame,
                           struct stream *stream,
                           struct event_spec *spec,
                           struct err_detail *detail)
{
    spec->done = on_done;
    spec->ctx = ticket;
    list_node_init(&ticket->node);
    list_push_back(waiting, &ticket->node);
    const enum err err = call_frame_send(frame, stream, spec, detail);
    if (err != ERR_OK) {
        list_remove(&ticket->node);
    }
    return err;
}

void event_tickets_end(struct list *waiting)
{
    while (!list_is_empty(waiting)) {
        struct event_ticket *ticket =
            CONTAINER_OF(list_first(waiting), struct event_ticket, node);
        ticket->outcome = EVENT_FAILED;
        (void)err_set(&ticket->error,
                      ERR_CLOSED,
                      "the runtime was closed before the event was handled");
        end(ticket);
    }
}

void event_ticket_release(struct event_ticket *ticket)
{
    value_unref(ticket->id);
    value_unref(ticket->receipt);
    ticket->id = VALUE_NONE;
    ticket->receipt = VALUE_NONE;
}
