/* An event that the store keeps until it is handled, as a document.
 *
 * Usually the document has the id of the event's receipt. It holds the event
 * while the event waits, and the receipt from the commit of its handling on:
 * one document, two states, and that commit changes one into the other.
 *
 *   {"event":{"stream":"piece:cart/add","path":["value"],"space":"other",
 *             "payload":{"n":1},"time":1794917775647,
 *             "instance":"s1","origin":7,"counter":0,"caller":"evt:caller:...",
 *             "hops":1,"queued":true,"from":"piece:cart/start",
 *             "user":"ana","label":["salary"]}}
 *
 * `space` is left out if the stream is in the space of the document. Otherwise
 * the event and its receipt are in different spaces: the document is the outbox
 * of the event, and becomes a note that it was delivered. The same holds for an
 * event that a handler sends with a caller's id, because its receipt may
 * already exist. `from` is the stream whose handler sent the event. Fields
 * without a value are left out.
 *
 * A timer is an event with a due time. Its document has an id of its own
 * (EVENT_TIMER_PREFIX): made of the stream and the name of the timer, if it has
 * a name, so that the next one with that name takes its place. The commit that
 * handles a repeating timer replaces the event by the next one, beside what a
 * receipt has:
 *
 *   {"event":{...,"due":1794917780000,"timer":"remind","every":5000,
 *             "missed":"all"},"stream":"piece:cart/remind","value":{}}
 *   {"event":{...,"due":1794917780000,"cron":"0 9 * * 1-5",
 *             "zone":"Europe/Berlin"}}
 *
 *   event-1  A document holds a waiting event iff its id begins with
 *            EVENT_ID_PREFIX, it is of the scope of the space, and it has the
 *            key "event".
 *   event-2  stored_event_read trusts nothing: PROTOCOL, with the name of the
 *            field.
 *   event-3  An event has a due time iff its document's id begins with
 *            EVENT_TIMER_PREFIX. */

#ifndef PROTO_EVENT_H
#define PROTO_EVENT_H

#include "base/err.h"
#include "value/path.h"
#include "value/value.h"

#define EVENT_ID_PREFIX    "receipt:"
#define EVENT_TIMER_PREFIX "receipt:timer:"

/* What happens to ticks of a repeating timer that were not handled in time
 * (runtime/timer.h). */
enum timer_missed {
    MISSED_ONE, /* one is handled for all of them */
    MISSED_ALL,
    MISSED_NONE,
};

/* When an event is due. All references are owned. */
struct event_timer {
    uint64_t due;      /* wall clock, in ms */
    struct value id;   /* its name on the stream, a string; or absent */
    uint64_t every;    /* ms; 0: not by this */
    struct value cron; /* five fields (base/cron.h), a string; or absent */
    struct value zone; /* of the cron fields, a string; absent: UTC */
    enum timer_missed missed;
};

void event_timer_release(struct event_timer *timer);

/* With its own references. */
struct event_timer event_timer_copy(const struct event_timer *timer);

bool event_timer_repeats(const struct event_timer *timer);

const char *timer_missed_name(enum timer_missed missed);

/* Whether there is a policy of that name. */
bool timer_missed_find(struct value name, enum timer_missed *out);

/* All references are owned. */
struct stored_event {
    struct value stream; /* the id of its document */
    struct path *path;   /* inside it */
    struct value space;  /* of the stream; absent: that of the document */
    struct value payload;
    uint64_t time;
    struct value instance; /* these three identify it, */
    uint64_t origin;
    uint64_t counter;
    struct value caller; /* or this does, a string; or absent */
    uint64_t hops;
    bool queued;        /* for any runtime, not only the one that sent it */
    struct value from;  /* string, or absent */
    struct value user;  /* string, or absent */
    struct value label; /* an array of strings, or absent */
    bool is_timer;
    struct event_timer timer;
};

void stored_event_release(struct stored_event *event);

/* Whether a document of that id may hold an event. */
bool event_is_document_id(struct value id);

/* Whether such a document holds a timer (event-3). */
bool event_is_timer_id(struct value id);

/* The piece, or child of one, that has a stream: the id of the stream's
 * document without its last part, "piece:kanban/cards/3" of
 * "piece:kanban/cards/3/remind"; new. The empty text for a stream that is of no
 * piece: all of those are together. */
struct value event_timer_owner(struct value stream);

/* The id of the document of a timer, new: of a name on a stream, or of the id
 * that the event's receipt would have. */
struct value event_timer_id(struct value stream, struct value name);
struct value event_timer_id_unnamed(struct value receipt);

/* How the ids of the timers of one name begin, on all streams of such a piece;
 * new. */
struct value event_timer_group(struct value owner, struct value name);

/* When the event of a document that holds a timer is due. False: the document
 * has no such time. */
bool event_timer_due(struct value document, uint64_t *out);

/* event-1, for a document with such an id: its value, or absent. */
bool event_is_waiting(struct value document);

/* Whether a document with such an id says that the event will never be handled:
 * its handler failed, or it was cancelled. The id can be used again. */
bool event_is_given_up(struct value document);

/* Whether a document with such an id says that an event was handled: it is a
 * receipt, or a repeating timer has its next tick. */
bool event_is_receipt(struct value document);

/* The document, new. */
struct value stored_event_write(const struct stored_event *event);

/* From a document that holds one. On an error *out is empty. */
MUST_CHECK enum err stored_event_read(struct value document,
                                      struct path_table *paths,
                                      struct stored_event *out,
                                      struct err_detail *detail);

#endif
