/* The records behind events: for the files of this folder.
 *
 * events.c writes streams, handlers, lanes, and an event from its sending to
 * its end; handling.c what belongs to an attempt; lineage.c the list of events
 * per origin. */

#ifndef SCHED_EVENT_H
#define SCHED_EVENT_H

#include "sched/events.h"
#include "sched/handling.h"
#include "sched/lineage.h"
#include "sched/preflight.h"
#include "sched/timers.h"

struct lane {
    struct space *space; /* NULL: all of them */
    struct list events;  /* waiting, by number */
    uint64_t pass;       /* the last that handled one */
    struct lent_nodes lent;
};

struct stream {
    struct place *place; /* a reference */
    struct lane *lane;
    struct handler *handler;     /* or NULL */
    struct value receipts;       /* prefix of receipt ids; absent: not needed
                                    yet (event_id.c) */
    uint32_t waiting;            /* events in the lane */
    struct schema *schema;       /* of payloads, or NULL; a reference */
    bool fills;                  /* with the schema's defaults */
    bool collapses;              /* events-7; from its handler */
    bool asked;                  /* a starter was asked to start the owner, */
    bool starting;               /* and is doing so */
    struct err_detail *no_owner; /* why it could not, at the last try; or
                                    NULL */
    bool is_none; /* not a stream, and never will be (events_no_owner) */
};

struct handler {
    struct node node; /* the source of its transactions; names it in run
                         records */
    struct node_label label;
    struct stream *stream; /* NULL: cancelled */
    handler_fn *run;
    void *ctx;
    void (*release)(void *ctx);
    enum err (*declare)(void *ctx,
                        struct value payload,
                        struct closure *closure,
                        struct err_detail *detail);
    struct closure declared;
    struct closure last;    /* pure: the reads of its last attempt */
    struct closure awaited; /* outputs of that attempt whose documents were not
                               here */
    bool pure;
    bool several_spaces;
    uint32_t refs; /* by the stream and by events that it has begun */
};

struct event_listener {
    event_done_fn *done;
    void *ctx;
};

enum event_state {
    EVENT_WAITS,            /* in its lane */
    EVENT_RUNS,             /* an attempt is in progress */
    EVENT_IN_FLIGHT,        /* committed, without a verdict */
    EVENT_FETCHING_RECEIPT, /* refused: fetching the receipt of the first
                               handling */
    EVENT_STORED, /* a timer, until the transaction that sets it has landed */
    EVENT_OVER,
};

enum event_park {
    PARK_NONE,   /* ready */
    PARK_TIME,   /* until `not_before` */
    PARK_LOAD,   /* until a document arrives */
    PARK_ORIGIN, /* until its origin is confirmed */
    PARK_OWNER,  /* until there is a handler */
};

struct event {
    struct list_node node; /* in the lane; or in one of the other lists */
    struct list_node in_origin;
    struct events *events; /* NULL: disposed of, while the commit was in
                              flight */
    struct stream *stream;
    struct handler *handler; /* once it has begun; a reference */
    enum event_state state;
    uint64_t number; /* order of sending, and in the lane */

    struct value payload;
    const struct label_set *label; /* of its sender, at that time; or NULL */
    uint64_t time;
    struct lineage *origin;  /* or NULL; a reference */
    struct handler *sender;  /* whose attempt sent it; a reference, or NULL */
    struct place *stored;    /* the document that holds it (sched/durable.h); a
                                reference, or NULL: not stored */
    struct value taken_from; /* the runtime that sent it, if another one did
                                (durable-4); or absent */
    uint64_t origin_number;  /* for the id, */
    uint32_t counter;        /* also for the id */
    uint32_t hops;           /* events before it in its chain */
    struct value caller;     /* the id derived from the caller's; or absent */
    struct value digest;     /* of the caller's payload, as sent: a string
                                (events-6); or absent */
    struct event_timed *timed; /* when it is due (sched/timers.h); or NULL */
    bool is_queued;            /* to be stored, not handled here */
    bool no_retry;
    bool refused; /* the store has refused an attempt */
    bool known;
    VEC(struct event_listener) listeners;

    mono_ms retry_at; /* not before, in any case */
    enum event_park park;
    mono_ms not_before;         /* parked: by time */
    const struct entity *loads; /* parked: on this load; it is watched */
    uint64_t change_epoch;      /* at parking */
    uint32_t attempts;
    uint32_t holds;   /* backoffs that it has waited for */
    uint32_t parks;   /* all waits for time, and discarded attempts */
    mono_ms deadline; /* for conflicts; 0: none so far */

    /* Of the last attempt. */
    struct lineage *launched; /* a reference, or NULL */
    struct value result;
    struct place *receipt; /* or NULL; a reference */
    uint32_t expected;     /* verdicts; 0: not known yet */
    uint32_t answers;
    struct verdict *refusal; /* the first refusal, or NULL */
};

struct spent_receipt {
    struct place *place; /* a reference */
    bool is_new;         /* the event was handled, not repeated */
};

struct ended_event {
    struct place *stored;  /* a reference */
    struct value document; /* what replaces it */
    bool is_timer;         /* then it must be this timer (timer-3): */
    struct digest digest;
};

struct events {
    struct sched *sched;
    struct events_policy policy;
    struct value instance;
    struct value user; /* string, or absent */
    struct random random;
    struct map streams; /* struct stream by place */
    VEC(struct lane *) lanes;
    uint64_t numbers;    /* of events, */
    uint64_t origins;    /* and of their senders */
    size_t waiting;      /* total, in all lanes */
    uint64_t registered; /* handlers, including removed ones */
    struct list flying;
    struct list looking; /* fetching a receipt */
    struct list idle;
    struct list timers; /* that are not set yet */
    struct map groups;  /* struct timer_group: of those, by their names */
    uint64_t earliest;  /* of those that were set, since the runtime asked */
    bool is_moving;     /* the next tick of one is on its way */
    struct handling handling; /* there is one at a time */
    uint64_t last_version;    /* of the last handling that changed something, */
    uint32_t last_hops;       /* and the hops of its event */
    struct closure closure;   /* of the event being looked at */
    struct buf text;          /* scratch for an id */
    VEC(struct outbox_lane *) outboxes;
    VEC(struct spent_receipt) spent; /* of events that have ended */
    VEC(struct entity *)
    kept;          /* the last of those in spaces without a store (events-9) */
    size_t oldest; /* index of the oldest, once the limit is reached */
    struct map stored; /* struct event by the document that holds it */
    VEC(struct ended_event) ended;   /* stored events (sched/durable.c) */
    void (*first_stored)(void *ctx); /* NULL: called already, or not set */
    void *first_stored_ctx;
    bool (*missing)(void *ctx, struct stream *stream);
    void *missing_ctx;
    void (*notice)(void *ctx, const struct event_notice *notice);
    void *notice_ctx;
    struct events_counters counters;
};

#define EVENT_OF(list_node) CONTAINER_OF((list_node), struct event, node)

/* The events of a scheduler, created by the first call. */
struct events *events_of(struct sched *sched);

/* From handling.c: the watch of its commits calls it with each verdict. */
void event_answered(void *ctx, const struct verdict *verdict);

/* -- From events.c ------------------------------------------------------- */

/* A new event for that stream, to be filled in; then into its lane. */
struct event *event_new(struct events *events, struct stream *stream);
void event_enter(struct event *event);

/* SCHEMA: the stream does not accept the payload, with its defaults; absent is
 * null. An event that is stored before its turn is checked when it is sent, and
 * so is one that replaces a waiting event. Any other event is checked at its
 * turn: one that was handled before has its receipt, whatever the schema is
 * now. (lanes.c) */
MUST_CHECK enum err event_check_payload(const struct stream *stream,
                                        struct value payload,
                                        struct err_detail *detail);

/* The only way in which an event ends (events-2). */
void event_end(struct event *event,
               enum event_outcome outcome,
               const struct err_detail *why);

/* Ends it because its origin has failed. */
void event_end_orphan(struct event *event);

/* From handling.c: calls the error hook on behalf of that handler (NULL: no
 * report). */
void event_report(const struct event *event,
                  const struct handler *handler,
                  const struct err_detail *why);

/* From handling.c: ends it as failed, and reports it. */
void event_fail(struct event *event, const struct err_detail *why);

/* From handling.c: ends it because it was handled before. Its receipt has
 * arrived, or never will (events-6). */
void event_end_duplicate(struct event *event, const struct err_detail *why);

/* It has ended, or was not sent after all. `is_new`: it was handled just
 * now. */
void event_release(struct event *event, bool is_new);

/* Removes it from its lane, to be handled; and puts it back in its place
 * (events-1). */
void event_leave_lane(struct event *event);
void event_put_back(struct event *event);

/* The last verdict on a commit in flight when its scheduler ended. */
void event_free_in_flight(struct event *event);

/* The place of its receipt, kept by the event. NULL: it has none. */
struct place *event_receipt(struct event *event);

void event_tell(struct events *events, const struct event_notice *notice);

/* From handling.c: whether the attempt in progress sends it. */
bool event_is_of_handling(const struct events *events,
                          const struct event_spec *spec);

/* From event_id.c: the id derived from a caller's id, new (events-3). */
struct value event_caller_id(const struct stream *stream,
                             struct value id,
                             struct value session,
                             struct value user);

/* The name of the runtime that sent it, borrowed. */
struct value event_instance(const struct event *event);

/* The id of its receipt if no caller gave an id; new. */
struct value event_own_receipt_id(const struct event *event);

/* The digest of a caller's payload for the receipt, new (events-6). */
struct value event_payload_digest(struct value payload);

/* Drops the places of a closure. */
void closure_clear(struct closure *closure);

void handler_unref(struct handler *handler);

#endif
