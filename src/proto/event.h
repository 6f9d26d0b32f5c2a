/* An event that the store keeps until it is handled, as a document.
 *
 * As a rule the document has the id of the event's receipt. It holds the event
 * as long as the event waits, and the receipt from the commit of its handling
 * on: one document, two states, and that commit changes one into the other.
 *
 *   {"event":{"stream":"piece:cart/add","path":["value"],"space":"other",
 *             "payload":{"n":1},"time":1794917775647,
 *             "instance":"s1","origin":7,"counter":0,"caller":"evt:caller:...",
 *             "hops":1,"queued":true,"from":"piece:cart/start",
 *             "user":"ana","label":["salary"]}}
 *
 * `space` is left out if the stream is in the space of the document. Such an
 * event and its receipt are in different spaces: the document is the outbox of
 * the event, and becomes a note that it was delivered. The same holds for an
 * event that a handler sends with a caller's id, because its receipt may exist
 * already. `from` is the stream whose handler sent the event. Fields without a
 * value are left out.
 *
 *   event-1  A document holds a waiting event iff its id begins with
 *            EVENT_ID_PREFIX, it is of the scope of the space, and it has the
 *            key "event".
 *   event-2  stored_event_read trusts nothing: PROTOCOL, with the name of the
 *            field. */

#ifndef PROTO_EVENT_H
#define PROTO_EVENT_H

#include "base/err.h"
#include "value/path.h"
#include "value/value.h"

#define EVENT_ID_PREFIX "receipt:"

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
    bool queued;        /* it was left to any runtime, not only to its own */
    struct value from;  /* string, or absent */
    struct value user;  /* string, or absent */
    struct value label; /* an array of strings, or absent */
};

void stored_event_release(struct stored_event *event);

/* Whether a document of that id may hold an event. */
bool event_is_document_id(struct value id);

/* event-1, of a document whose id may: its value, or absent. */
bool event_is_waiting(struct value document);

/* The document, new. */
struct value stored_event_write(const struct stored_event *event);

/* From a document that holds one. On an error *out is empty. */
MUST_CHECK enum err stored_event_read(struct value document,
                                      struct path_table *paths,
                                      struct stored_event *out,
                                      struct err_detail *detail);

#endif
