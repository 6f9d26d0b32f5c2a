/* The records behind events: for the files of this folder.
 *
 * Who writes what: events.c the streams, handlers and lanes, and an event from
 * its sending to its end; handling.c what belongs to an attempt; lineage.c the
 * list of those that an origin has sent. */

#ifndef SCHED_EVENT_H
#define SCHED_EVENT_H

#include "sched/events.h"
#include "sched/handling.h"
#include "sched/lineage.h"
#include "sched/preflight.h"
#include "sched/timers.h"

struct lane {
    struct space *space; /* NULL: all of them */
    struct list events;  /* by number: what waits */
    uint64_t pass;       /* the last in which one was handled */
    struct lent_nodes lent;
};

struct stream {
    struct place *place; /* a reference */
    struct lane *lane;
    struct handler *handler;     /* or NULL */
    struct value receipts;       /* how the ids of receipts begin; absent: not
                                    needed yet (event_id.c) */
    uint32_t waiting;            /* events in the lane */
    struct schema *schema;       /* of payloads, or NULL; a reference */
    bool fills;                  /* with its defaults */
    bool collapses;              /* V7; as its handler says */
    bool asked;                  /* somebody was asked to start its owner, */
    bool starting;               /* and does */
    struct err_detail *no_owner; /* why it does not, of the last try; or NULL */
    bool is_none; /* it is no stream, and will be none (events_no_owner) */
};

struct handler {
    struct node node; /* the source of its transactions; what a record of
                         a run says of it */
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
    struct closure last;    /* pure: what it read in its last attempt */
    struct closure awaited; /* what that attempt could not write to, because the
                               document was not here */
    bool pure;
    bool several_spaces;
    uint32_t refs; /* the stream, and events that it has begun */
};

struct event_listener {
    event_done_fn *done;
    void *ctx;
};

enum event_state {
    EVENT_WAITS,  /* in its lane */
    EVENT_RUNS,   /* an attempt is under way */
    EVENT_FLIES,  /* committed, without an answer */
    EVENT_LOOKS,  /* refused: for the receipt of the first one */
    EVENT_STORED, /* a timer: until the transaction that sets it has landed */
    EVENT_OVER,
};

enum event_park {
    PARK_NONE,   /* can be looked at */
    PARK_TIME,   /* until `not_before` */
    PARK_LOAD,   /* until something comes */
    PARK_ORIGIN, /* until its origin is confirmed */
    PARK_OWNER,  /* until there is a handler */
};

struct event {
    struct list_node node; /* in the lane; or among those that fly, look or are
                              idle */
    struct list_node in_origin;
    struct events *events; /* NULL: gone, while it flew */
    struct stream *stream;
    struct handler *handler; /* once it has begun; a reference */
    enum event_state state;
    uint64_t number; /* the order of sending, and in the lane */

    struct value payload;
    const struct label_set *label; /* of who sent it, then; or NULL */
    uint64_t time;
    struct lineage *origin;  /* or NULL; a reference */
    struct handler *sender;  /* whose attempt sent it; a reference, or NULL */
    struct place *stored;    /* the document that holds it (sched/durable.h); a
                                reference, or NULL: the store has not got it */
    struct value taken_from; /* the runtime that sent it, if that is another
                                one (durable-4); or absent */
    uint64_t origin_number;  /* for the id, */
    uint32_t counter;        /* likewise; */
    uint32_t hops;           /* events before it in its chain */
    struct value caller;     /* or what was made of the caller's; absent */
    struct value digest;     /* of a caller's payload, as it was sent: a string
                                (V6); absent */
    struct event_timed *timed; /* when it is due (sched/timers.h); or NULL */
    bool is_queued;            /* to be stored, not to be handled here */
    bool no_retry;
    bool refused; /* the store has refused an attempt */
    bool known;
    VEC(struct event_listener) listeners;

    mono_ms retry_at; /* not before, whatever happens */
    enum event_park park;
    mono_ms not_before;         /* parked: by time */
    const struct entity *loads; /* parked: by its load; it is watched */
    uint64_t world;             /* when it was parked */
    uint32_t attempts;
    uint32_t holds;   /* backoffs that it has waited for */
    uint32_t parks;   /* and all waits for time, and discarded attempts */
    mono_ms deadline; /* for conflicts; 0: there was none yet */

    /* Of the last attempt. */
    struct lineage *launched; /* a reference, or NULL */
    struct value result;
    struct place *receipt; /* or NULL; a reference */
    uint32_t expected;     /* answers; 0: not known yet */
    uint32_t answers;
    struct verdict *refusal; /* the first of them that is one, or NULL */
};

struct spent_receipt {
    struct place *place; /* a reference */
    bool is_new;         /* its event was handled, and not a repetition */
};

struct ended_event {
    struct place *stored;  /* a reference */
    struct value document; /* what it becomes */
    bool is_timer;         /* then it must be this one (timer-3): */
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
    uint64_t origins;    /* and of what sends them */
    size_t waiting;      /* in all lanes */
    uint64_t registered; /* handlers, those that are gone included */
    struct list flying;
    struct list looking; /* for a receipt */
    struct list idle;
    struct list timers; /* that are not set yet */
    struct map groups;  /* struct timer_group: of those, by their names */
    uint64_t earliest;  /* of those that were set, since the runtime asked */
    bool is_moving;     /* the next tick of one is on its way */
    struct handling handling; /* there is one at a time */
    uint64_t last_version;    /* of the last handling that changed something, */
    uint32_t last_hops;       /* and those before its event */
    struct closure closure;   /* of the event being looked at */
    struct buf text;          /* of an id that is being made */
    VEC(struct outbox_lane *) outboxes;
    VEC(struct spent_receipt) spent; /* of events that are over */
    VEC(struct entity *)
    kept;              /* of those, in spaces without a store: the last (V9) */
    size_t oldest;     /* of them, once they are as many as there may be */
    struct map stored; /* struct event by the document that holds it */
    VEC(struct ended_event) ended;   /* stored events (sched/durable.c) */
    void (*first_stored)(void *ctx); /* NULL: was told, or nothing asks */
    void *first_stored_ctx;
    bool (*missing)(void *ctx, struct stream *stream);
    void *missing_ctx;
    void (*notice)(void *ctx, const struct event_notice *notice);
    void *notice_ctx;
    struct events_counters counters;
};

#define EVENT_OF(list_node) CONTAINER_OF((list_node), struct event, node)

/* The events of a scheduler, made at the first call. */
struct events *events_of(struct sched *sched);

/* From handling.c: the answers of the store to its commits, for their watch. */
void event_answered(void *ctx, const struct verdict *verdict);

/* -- From events.c ------------------------------------------------------- */

/* A new one for that stream, to be filled in; and into its lane with it. */
struct event *event_new(struct events *events, struct stream *stream);
void event_enter(struct event *event);

/* SCHEMA: a stream does not take the payload, with its defaults; absent is
 * null. What is stored before its turn comes has to fit when it is sent, and so
 * has what takes the place of an event that waits. Any other event is looked at
 * when its turn comes: one that was handled before has its receipt, whatever
 * the schema says now. (lanes.c) */
MUST_CHECK enum err event_check_payload(const struct stream *stream,
                                        struct value payload,
                                        struct err_detail *detail);

/* The one way in which an event ends (V2). */
void event_end(struct event *event,
               enum event_outcome outcome,
               const struct err_detail *why);

/* The same, because its origin has failed. */
void event_end_orphan(struct event *event);

/* From handling.c: tells the error hook, as of that handler (or NULL: nobody is
 * told). */
void event_report(const struct event *event,
                  const struct handler *handler,
                  const struct err_detail *why);

/* From handling.c: the same as failed, which is reported, too. */
void event_fail(struct event *event, const struct err_detail *why);

/* From handling.c: the same, because it was handled before. Its receipt has
 * come, or never will (V6). */
void event_end_duplicate(struct event *event, const struct err_detail *why);

/* It is over, or was not sent, after all. `is_new`: it was handled just now. */
void event_release(struct event *event, bool is_new);

/* Out of its lane, to be handled; and back to its place there (V1). */
void event_leave_lane(struct event *event);
void event_put_back(struct event *event);

/* The last answer to one that flew when its scheduler ended. */
void event_free_in_flight(struct event *event);

/* The place of its receipt, kept by the event. NULL: there are none. */
struct place *event_receipt(struct event *event);

void event_tell(struct events *events, const struct event_notice *notice);

/* From handling.c: whether the attempt that is under way sends it. */
bool event_is_of_handling(const struct events *events,
                          const struct event_spec *spec);

/* From event_id.c: what a caller's id becomes, new (V3). */
struct value event_caller_id(const struct stream *stream,
                             struct value id,
                             struct value session,
                             struct value user);

/* The name of the runtime that sent it, borrowed. */
struct value event_instance(const struct event *event);

/* The id that its receipt has if no caller has given it one; new. */
struct value event_own_receipt_id(const struct event *event);

/* What its receipt says of a caller's payload, new (V6). */
struct value event_payload_digest(struct value payload);

/* Forgets the places of a closure. */
void closure_clear(struct closure *closure);

void handler_unref(struct handler *handler);

#endif
