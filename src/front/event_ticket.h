/* Event tickets: an event that was sent, and what has become of it.
 *
 *   event-ticket-1  A ticket ends exactly once: with its event, or with its
 *                   runtime (CLOSED), if the event had not ended then.
 *   event-ticket-2  It may outlive its runtime, and still says what it knows.
 *
 * A ticket is part of a record of its sender, who frees that. */

#ifndef FRONT_EVENT_TICKET_H
#define FRONT_EVENT_TICKET_H

#include "base/list.h"
#include "front/frame.h"

struct event_ticket {
    struct list_node node; /* in a list of its sender, until it has ended */
    bool ended;
    enum event_outcome outcome;
    uint32_t attempts;
    struct err_detail error;
    struct value id;      /* of the event; absent: none was given to it */
    struct value receipt; /* or absent */

    /* Told of the end; may free the record. */
    void (*on_end)(struct event_ticket *ticket);
};

/* Sends on behalf of the frame (frame-3). The ticket is all zero, but for
 * `on_end`, and stays in `waiting` until its end. An error: nothing was sent,
 * and it is as it was. */
MUST_CHECK enum err event_ticket_send(struct event_ticket *ticket,
                                      struct list *waiting,
                                      const struct call_frame *frame,
                                      struct stream *stream,
                                      struct event_spec *spec,
                                      struct err_detail *detail);

/* The runtime has ended: event-ticket-1, for all that wait. */
void event_tickets_end(struct list *waiting);

/* What it holds; not the record. */
void event_ticket_release(struct event_ticket *ticket);

#endif
