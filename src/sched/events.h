/* Events: what is sent to streams, and what becomes of it.
 *
 * A stream is a place with a handler. What is sent to it waits in a lane, is
 * handled when everything that the handler reads is up to date, and ends in
 * exactly one way, which its sender is told.
 *
 *   struct stream *stream = events_stream(sched, place);
 *   events_handle(sched, stream, &handler_spec, &handler, &detail);
 *   events_send(sched, stream, &event_spec, &detail);
 *   scheduler_step(sched, now);
 *
 *   V1  A lane is first in, first out: an event is not handled before those
 *       that were sent to its lane earlier, also if it has to be tried again.
 *       There is one lane, or by option one a space; at most one event of a
 *       lane is handled a pass, when nothing else can run.
 *   V2  An event ends once, in one of four ways (enum event_outcome), and
 *       `done` is called once then, whatever happened to it on the way.
 *   V3  It has an id, made when it is sent: of the transaction that sent it,
 *       a counter and the stream; or of what the caller gave and the stream.
 *       Trying it again does not change the id.
 *   V4  At most one commit lands for an id, anywhere and ever: the receipt, a
 *       document whose id follows from that of the event, is created by each
 *       handling and must not exist (I11).
 *   V5  An event that was sent inside a transaction lives and dies with the
 *       commit of it (sched/lineage.h).
 *   V6  The id of a caller stands for one payload: the receipt has a digest of
 *       it, and an event with the id and another payload fails with
 *       IDEMPOTENCY_MISMATCH. Receipts of older versions have no digest; they
 *       answer any payload.
 *   V7  At most `backlog` events wait for a stream. The next one is refused
 * with BACKLOG; a handling with a refused event fails as a whole, whatever its
 *       code does then. Only a stream whose handler asks for it (`collapses`)
 *       gives the payload of the next one to the last that waits, if both have
 *       the same origin and no caller's id; both senders are told its end.
 *   V8  At most `hops` events are in a chain, of which each is caused by the
 *       one before: sent by its handler, or by a run that follows from what its
 *       handler has written (sched/hops.h). The next one is refused with
 *       LIMIT_HOPS, and the run that sends it fails as a whole.
 *   V9  An event with a caller's id that is sent again is known by the receipt
 *       of the first one: for as long as the store has it, and without a store
 *       while it is among the last `receipts` of the runtime.
 *
 * The gate before the handler is sched/preflight.h, the handling itself is
 * sched/handling.h. */

#ifndef SCHED_EVENTS_H
#define SCHED_EVENTS_H

#include "base/map.h"
#include "base/random.h"
#include "proto/event.h"
#include "sched/core.h"

struct event;
struct handler;
struct handling;
struct lineage;
struct schema;
struct stream;

/* -- Policy -------------------------------------------------------------- */

enum {
    EVENTS_BACKLOG = 10000,     /* that wait for one stream */
    EVENTS_HOPS = 10000,        /* in a chain (V8) */
    EVENTS_RECEIPTS = 50000,    /* without a store (V9) */
    EVENTS_WINDOW_MS = 30000,   /* to try again after the first conflict */
    EVENTS_DELAY_US = 781,      /* 25/32 ms before the second attempt, */
    EVENTS_DELAY_MAX_MS = 1000, /* doubled up to this, */
    EVENTS_JITTER_PERCENT = 50, /* less a random part of it */
    EVENTS_HOLDS = 3,           /* backoffs that an event waits for */
    EVENTS_PARKS = 32,          /* and other gates, all in all */
    EVENTS_WRITES_NAMED = 25,   /* of a handling, in a trace */
};

enum events_lanes {
    LANES_ONE,
    LANES_SPACE, /* one a space */
};

/* events_policy gives the defaults; all of it can be set. */
struct events_policy {
    enum events_lanes lanes;
    uint32_t backlog;
    uint32_t hops;
    uint32_t receipts;
    mono_ms window; /* 0: the first conflict is the last */
    uint64_t delay_us;
    mono_ms delay_max;
    uint32_t jitter_percent;
    uint32_t holds;
    uint32_t parks;
    bool no_receipts;
    uint64_t seed; /* of the jitter */
};

struct events_policy events_policy(void);

/* Sets it, for what is sent from now on. `instance` is a string that no other
 * runtime has or ever had: event ids begin with it. Before the first stream;
 * without it the instance is "local". */
void events_configure(struct sched *sched,
                      const struct events_policy *policy,
                      struct value instance);

/* Whose runtime this is, a string or absent: two users may give their events
 * the same names. Before the first event. */
void events_set_user(struct sched *sched, struct value user);

/* The delay before attempt `attempt` + 1, without jitter; attempts are counted
 * from 1. */
uint64_t events_delay_us(const struct events_policy *policy, uint32_t attempt);

/* -- Streams and handlers ------------------------------------------------ */

/* The stream at a place, interned; borrowed, as long as the scheduler is
 * there. */
struct stream *events_stream(struct sched *sched, struct place *place);

/* What payloads have to look like (value/schema.h); NULL: anything. With
 * `fills`, what they lack is filled in before. It is looked at when the turn of
 * an event has come, before anything of the handler is called: a payload that
 * does not fit ends the event as failed with SCHEMA, as a handler that fails
 * does, and leaves no receipt, so that its id is not spent. An event that a
 * handler sends, or that is queued, is refused with SCHEMA by events_send:
 * nothing of it is stored. Takes a reference of its own. */
void events_set_schema(struct stream *stream,
                       struct schema *schema,
                       bool fills);

typedef enum run_result handler_fn(struct handling *handling, void *ctx);

struct declared_read {
    struct place *place;
    enum read_kind kind;
};

/* What a handler will read, collected for one event. */
struct closure {
    VEC(struct declared_read) at; /* each place is a reference */
};
void closure_add(struct closure *closure,
                 struct place *place,
                 enum read_kind kind);

/* A zero field means none or the default; all is borrowed for the call. */
struct handler_spec {
    handler_fn *run;
    void *ctx;
    void (*release)(void *ctx); /* when nothing can call it any more */
    struct value name;          /* string, for people; or absent */
    const void *group;

    const struct declared_read *reads; /* what it will read, whatever comes */
    size_t read_count;
    /* What it will read because of this payload; what it returns other than
     * OK ends the event as failed. Must not write, send or register. */
    enum err (*declare)(void *ctx,
                        struct value payload,
                        struct closure *closure,
                        struct err_detail *detail);

    bool pure;           /* an attempt can be thrown away: it does nothing but
                            read, write, send and launch through the handling */
    bool several_spaces; /* may write to more than one; only what it writes to
                            the stream's own is committed once */
    bool replace;        /* takes the place of the one that is there */
    bool collapses;      /* its stream keeps the last of many (V7) */
};

/* HANDLER_EXISTS unless it replaces. *out is borrowed until it is cancelled. */
MUST_CHECK enum err events_handle(struct sched *sched,
                                  struct stream *stream,
                                  const struct handler_spec *spec,
                                  struct handler **out,
                                  struct err_detail *detail);

/* It is not called any more, but for an event that it has begun already. What
 * waits is dropped, unless another one comes first. */
void events_cancel(struct sched *sched, struct handler *handler);

/* For who starts the owner of a stream when an event comes for it: asked once
 * for the first event that finds no handler. True: it is being started, and the
 * event waits, with its lane behind it, until there is a handler or
 * events_no_owner is called. */
void events_on_missing(struct sched *sched,
                       bool (*missing)(void *ctx, struct stream *stream),
                       void *ctx);

/* The owner will not come; `why` is part of what is said of the events then,
 * and may be NULL. `is_none`: the place is no stream, and no owner can ever
 * make it one; events that are stored for it end (durable-3 of
 * sched/durable.h). */
void events_no_owner(struct sched *sched,
                     struct stream *stream,
                     const struct err_detail *why,
                     bool is_none);

/* What waits for a stream without a handler waits for another one from now on:
 * the place of the first one holds a link to the second. */
void events_move(struct stream *from, struct stream *to);

/* The stream at a place, or NULL: events_stream was not called for it. */
struct stream *events_find(const struct sched *sched,
                           const struct place *place);

/* How often events_handle has succeeded, and how many events were queued. */
uint64_t events_registered(const struct sched *sched);
uint64_t events_queued(const struct sched *sched);

/* The name of this runtime, and its user or absent; borrowed. */
struct value events_instance(const struct sched *sched);
struct value events_user(const struct sched *sched);

/* Its place, borrowed. */
struct place *events_place(const struct stream *stream);

/* Whether the stream has a handler here. */
bool events_is_handled(const struct stream *stream);

/* -- Sending ------------------------------------------------------------- */

enum event_outcome {
    EVENT_DONE,    /* handled, and its commit has landed */
    EVENT_DROPPED, /* it will never be handled, as it should be: it was handled
                      before, its origin failed, nobody is there to do it */
    EVENT_FAILED,  /* the handler failed, a rule was broken, or it did not come
                      to an end in its time */
    EVENT_QUEUED,  /* it is stored, to be handled later (`queue`) */
};

/* All borrowed for the call. */
struct event_result {
    enum event_outcome outcome;
    struct err_detail error; /* OK if it was done */
    uint32_t attempts;
    const struct event *event;
    struct value receipt_id; /* absent: there are no receipts */
    struct value receipt;    /* what the first handling returned; absent if it
                                is not known */
};

/* May send again, but not step. */
typedef void event_done_fn(void *ctx, const struct event_result *result);

/* A zero field means none or the default. */
struct event_spec {
    struct value payload;       /* borrowed; absent: null */
    struct transaction *origin; /* open: that sends it; NULL: the world */
    struct value id;            /* the caller's own, a string, */
    struct value session;       /* in his own session: both or none */
    uint64_t time;              /* when it came to be; 0: with its origin */
    bool no_retry;              /* one attempt */
    const struct event_timer *timer; /* it is due later (sched/timers.h), and
                                   ends when it is stored; without a caller's
                                   id. NULL: now */
    bool queue; /* from the world: it ends when it is stored,
                   for any runtime to handle it */
    bool known; /* if its receipt is here already, it is not
                   handled again only to find that out */
    event_done_fn *done;
    void *ctx;
};

/* OK: it will end, and `done` be called, perhaps after this returns, never
 * before. BACKLOG, ARGUMENT: it was not sent, and `done` is not called. */
MUST_CHECK enum err events_send(struct sched *sched,
                                struct stream *stream,
                                const struct event_spec *spec,
                                struct err_detail *detail);

/* -- Looking on ---------------------------------------------------------- */

struct events_counters {
    uint64_t sent;
    uint64_t collapsed;
    uint64_t refused; /* at the backlog's limit */
    uint64_t attempts;
    uint64_t done;
    uint64_t dropped;
    uint64_t failed;
    uint64_t queued;
    uint64_t timers;     /* of those sent: with a due time */
    uint64_t retries;    /* put back after a conflict */
    uint64_t discarded;  /* attempts that had read what was not up to date */
    uint64_t duplicates; /* of those dropped: handled before */
    uint64_t orphans;    /* of those dropped: their origin failed */
    uint64_t replaced;   /* handlers */
    uint64_t parked_time;
    uint64_t parked_load;
    uint64_t parked_origin;
    uint64_t preflights;
    uint64_t preflight_visits;              /* nodes that they looked at */
    uint64_t refusals[ERR_CLASS_FAULT + 1]; /* of commits, by class */
};

enum event_moment {
    EVENT_SENT,
    EVENT_LOOKED_AT, /* the gate has been asked */
    EVENT_HANDLED,   /* an attempt has ended, committed or not */
    EVENT_ENDED,
};

/* What somebody who looks on is told; borrowed. */
struct event_notice {
    enum event_moment moment;
    const struct event *event;
    const struct transaction *transaction; /* handled: of the attempt */
    const struct place *named[EVENTS_WRITES_NAMED];
    size_t named_count;
    size_t writes;                     /* all of them, apart from the receipt */
    const struct event_result *result; /* ended */
    uint64_t visits;                   /* looked at */
};
void events_listen(struct sched *sched,
                   void (*notice)(void *ctx, const struct event_notice *notice),
                   void *ctx);

const struct events_counters *events_counters(const struct sched *sched);

/* The id of an event as text, new; that of its receipt; and what it carries. */
struct value event_id(const struct event *event);
struct value event_receipt_id(const struct event *event);
struct value event_payload(const struct event *event); /* borrowed */
uint64_t event_time(const struct event *event);
struct value event_handler_name(const struct event *event); /* borrowed */

/* -- For the facade ------------------------------------------------------ */

/* Whether one waits in a lane; whether one is on its way, or something waits
 * for the answer to one (sched/outbox.h). */
bool events_wait(const struct sched *sched);
size_t events_waiting(const struct sched *sched); /* how many */
/* Of them, those that the store keeps (sched/durable.h). */
size_t events_waiting_stored(const struct sched *sched);
bool events_in_flight(const struct sched *sched);

/* The events whose handling is committed and not confirmed, oldest first:
 * `after` NULL gives the first one, NULL is the end. */
const struct event *events_next_unconfirmed(const struct sched *sched,
                                            const struct event *after);

/* How many of them the store keeps until they are (sched/durable.h). */
size_t events_unconfirmed_stored(const struct sched *sched);

/* When a head's time comes; now, if one could be looked at. */
mono_ms events_next_wake(const struct sched *sched);

/* -- For the files of this folder ---------------------------------------- */

enum events_look {
    EVENTS_NOTHING, /* no head can be handled now */
    EVENTS_NEED,    /* what a head needs has been queued: sweep on */
    EVENTS_DID,     /* one was handled, or ended */
};

/* Looks at the head of each lane, and handles it if it can be (V1). Inside a
 * pass, with nothing to sweep. */
enum events_look events_look(struct sched *sched);

/* Demand that was lent to what the heads need ends with the pass. */
void events_pass_ends(struct sched *sched);

/* Forgets the receipts of events that are over. Not while the replica tells of
 * something. */
void events_tidy(struct sched *sched);

/* A node goes: nothing is lent to it any more. */
void events_forget_node(struct sched *sched, struct node *node);

/* Ends everything that waits, as CLOSED; and its end. */
void events_dispose(struct sched *sched);
void events_free(struct sched *sched);

#endif
