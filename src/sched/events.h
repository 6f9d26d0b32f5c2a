/* Events: what is sent to streams, and how it ends.
 *
 * A stream is a place with a handler. An event waits in a lane until everything
 * that the handler reads is up to date, is handled, and ends in exactly one
 * way, which its sender is told.
 *
 *   struct stream *stream = events_stream(sched, place);
 *   events_handle(sched, stream, &handler_spec, &handler, &detail);
 *   events_send(sched, stream, &event_spec, &detail);
 *   sched_step(sched, now);
 *
 *   events-1  A lane is first in, first out, including retries. There is one
 *             lane, or optionally one per space. A pass handles at most one
 *             event per lane, when nothing else can run.
 *   events-2  An event ends once, in one of four ways (enum event_outcome), and
 *             `done` is called exactly once.
 *   events-3  An event gets its id when it is sent: made of the transaction
 *             that sent it, a counter and the stream; or of the caller's id and
 *             the stream. Retries do not change it.
 *   events-4  At most one commit lands per id, anywhere and ever: every
 *             handling creates the receipt, a document whose id follows from
 *             that of the event, and which must not exist (I11).
 *   events-5  An event sent inside a transaction shares the outcome of its
 *             commit (sched/lineage.h).
 *   events-6  A caller's id stands for one payload: the receipt has a digest of
 *             it, and an event with the same id and another payload fails with
 *             IDEMPOTENCY_MISMATCH. Receipts of older versions have no digest;
 *             they match any payload.
 *   events-7  At most `backlog` events wait for a stream. The next one is
 *             refused with BACKLOG; a handling with a refused event fails as a
 *             whole, even if its code ignores the error. If the stream's
 *             handler asks for it (`collapses`), the payload of the next event
 *             replaces that of the last waiting one instead, provided that both
 *             have the same origin and no caller's id; both senders are told
 *             how it ends.
 *   events-8  At most `hops` events form a chain in which each causes the next:
 *             its handler sends it, or a run that follows from what its handler
 *             wrote (sched/hops.h). The next one is refused with LIMIT_HOPS,
 *             and the run that sends it fails as a whole.
 *   events-9  An event with a caller's id that is sent again is recognised by
 *             the receipt of the first one: as long as the store keeps it, and
 *             without a store while it is among the last `receipts` of the
 *             runtime.
 *
 * sched/preflight.h is the gate before the handler; sched/handling.h is the
 * handling itself. */

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
    EVENTS_BACKLOG = 10000,     /* waiting, per stream */
    EVENTS_HOPS = 10000,        /* in a chain (events-8) */
    EVENTS_RECEIPTS = 50000,    /* without a store (events-9) */
    EVENTS_WINDOW_MS = 30000,   /* for retries after the first conflict */
    EVENTS_DELAY_US = 781,      /* 25/32 ms before the second attempt, */
    EVENTS_DELAY_MAX_MS = 1000, /* doubled up to this, */
    EVENTS_JITTER_PERCENT = 50, /* less a random part of it */
    EVENTS_HOLDS = 3,           /* backoffs that an event waits for */
    EVENTS_PARKS = 32,          /* and other waits, in total */
    EVENTS_WRITES_NAMED = 25,   /* per handling, in a trace */
};

enum events_lanes {
    LANES_ONE,
    LANES_SPACE, /* one per space */
};

/* events_policy returns the defaults; every field can be set. */
struct events_policy {
    enum events_lanes lanes;
    uint32_t backlog;
    uint32_t hops;
    uint32_t receipts;
    mono_ms window; /* 0: no retry after a conflict */
    uint64_t delay_us;
    mono_ms delay_max;
    uint32_t jitter_percent;
    uint32_t holds;
    uint32_t parks;
    bool no_receipts;
    uint64_t seed; /* of the jitter */
};

struct events_policy events_policy(void);

/* Sets the policy, for events sent from now on. `instance` is a string that no
 * other runtime has or ever had: event ids begin with it. Before the first
 * stream; without it the instance is "local". */
void events_configure(struct sched *sched,
                      const struct events_policy *policy,
                      struct value instance);

/* The user of this runtime, a string or absent: two users may give their events
 * the same ids. Before the first event. */
void events_set_user(struct sched *sched, struct value user);

/* The delay before attempt `attempt` + 1, without jitter; the first attempt is
 * 1. */
uint64_t events_delay_us(const struct events_policy *policy, uint32_t attempt);

/* -- Streams and handlers ------------------------------------------------ */

/* The stream at a place, interned; borrowed for the life of the scheduler. */
struct stream *events_stream(struct sched *sched, struct place *place);

/* The schema of payloads (value/schema.h); NULL: any payload. With `fills`,
 * defaults are filled in first. An event is checked at its turn, before any
 * code of the handler runs: a payload that does not match ends the event as
 * failed with SCHEMA and leaves no receipt, so its id can be used again. An
 * event that a handler sends, or that is queued, is refused with SCHEMA by
 * events_send, and nothing is stored. Takes its own reference. */
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
    VEC(struct declared_read) at; /* holds a reference per place */
};
void closure_add(struct closure *closure,
                 struct place *place,
                 enum read_kind kind);

/* A zero field means none or the default; all is borrowed for the call. */
struct handler_spec {
    handler_fn *run;
    void *ctx;
    void (*release)(void *ctx); /* when it cannot be called any more */
    struct value name;          /* string, for people; or absent */
    const void *group;

    const struct declared_read *reads; /* what it always reads */
    size_t read_count;
    /* What it will read for this payload. An error ends the event as failed.
     * Must not write, send or register. */
    enum err (*declare)(void *ctx,
                        struct value payload,
                        struct closure *closure,
                        struct err_detail *detail);

    bool pure;           /* an attempt can be discarded: it only reads, writes,
                            sends and launches through the handling */
    bool several_spaces; /* may write to several spaces; only the commit to the
                            stream's own space is exactly once */
    bool replace;        /* replaces the existing handler */
    bool collapses; /* its stream keeps the last of several events (events-7) */
};

/* HANDLER_EXISTS unless it replaces one. *out is borrowed until it is
 * cancelled. */
MUST_CHECK enum err events_handle(struct sched *sched,
                                  struct stream *stream,
                                  const struct handler_spec *spec,
                                  struct handler **out,
                                  struct err_detail *detail);

/* The handler is not called again, except for an event that it has begun.
 * Waiting events are dropped unless a new handler comes first. */
void events_cancel(struct sched *sched, struct handler *handler);

/* Sets the function that starts the owner of a stream when an event arrives for
 * it. It is called once, for the first event that finds no handler. True: the
 * owner is starting, and the event waits, with its lane behind it, until there
 * is a handler or events_no_owner is called. */
void events_on_missing(struct sched *sched,
                       bool (*missing)(void *ctx, struct stream *stream),
                       void *ctx);

/* The owner will not start; `why` becomes part of the events' error, and may be
 * NULL. `is_none`: the place is not a stream, and no owner can ever make it
 * one; events stored for it end (durable-3 of sched/durable.h). */
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

/* How often events_handle has succeeded, plus the number of queued events. */
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
    EVENT_DROPPED, /* it will never be handled, rightly: it was handled before,
                      its origin failed, or there is no handler */
    EVENT_FAILED,  /* the handler failed, a rule was broken, or it did not
                      converge in time */
    EVENT_QUEUED,  /* stored, to be handled later (`queue`) */
};

/* All borrowed for the call. */
struct event_result {
    enum event_outcome outcome;
    struct err_detail error; /* OK if it is done */
    uint32_t attempts;
    const struct event *event;
    struct value receipt_id; /* absent: it has no receipt */
    struct value receipt;    /* what the first handling returned; absent if
                                unknown */
};

/* May send again, but not step. */
typedef void event_done_fn(void *ctx, const struct event_result *result);

/* A zero field means none or the default. */
struct event_spec {
    struct value payload;       /* borrowed; absent: null */
    struct transaction *origin; /* the open transaction that sends it; NULL:
                                   from outside */
    struct value id;            /* the caller's id, a string, */
    struct value session;       /* and the caller's session: both or none */
    uint64_t time;              /* of its creation; 0: that of its origin */
    bool no_retry;              /* one attempt */
    const struct event_timer *timer; /* due later (sched/timers.h); ends
                                        when it is stored; no caller's id.
                                        NULL: due now */
    bool queue; /* from outside: it ends when it is stored, for any runtime to
                   handle */
    bool known; /* if its receipt is here already, it is not handled again only
                   to find that out */
    event_done_fn *done;
    void *ctx;
};

/* OK: the event will end, and `done` is called after this returns, never
 * before. BACKLOG, ARGUMENT: it was not sent, and `done` is not called. */
MUST_CHECK enum err events_send(struct sched *sched,
                                struct stream *stream,
                                const struct event_spec *spec,
                                struct err_detail *detail);

/* -- Observers ----------------------------------------------------------- */

struct events_counters {
    uint64_t sent;
    uint64_t collapsed;
    uint64_t refused; /* over the backlog */
    uint64_t attempts;
    uint64_t done;
    uint64_t dropped;
    uint64_t failed;
    uint64_t queued;
    uint64_t timers;     /* of those sent: with a due time */
    uint64_t retries;    /* after a conflict */
    uint64_t discarded;  /* attempts that read stale values */
    uint64_t duplicates; /* of those dropped: handled before */
    uint64_t orphans;    /* of those dropped: their origin failed */
    uint64_t replaced;   /* handlers */
    uint64_t parked_time;
    uint64_t parked_load;
    uint64_t parked_origin;
    uint64_t preflights;
    uint64_t preflight_visits;              /* nodes examined by gates */
    uint64_t refusals[ERR_CLASS_FAULT + 1]; /* of commits, by class */
};

enum event_moment {
    EVENT_SENT,
    EVENT_LOOKED_AT, /* the gate was evaluated */
    EVENT_HANDLED,   /* an attempt has ended, committed or not */
    EVENT_ENDED,
};

/* What an observer is told; borrowed. */
struct event_notice {
    enum event_moment moment;
    const struct event *event;
    const struct transaction *transaction; /* handled: of the attempt */
    const struct place *named[EVENTS_WRITES_NAMED];
    size_t named_count;
    size_t writes;                     /* total, without the receipt */
    const struct event_result *result; /* ended */
    uint64_t visits;                   /* looked at */
};
void events_listen(struct sched *sched,
                   void (*notice)(void *ctx, const struct event_notice *notice),
                   void *ctx);

const struct events_counters *events_counters(const struct sched *sched);

/* The id of an event as text, new; the id of its receipt; and its payload. */
struct value event_id(const struct event *event);
struct value event_receipt_id(const struct event *event);
struct value event_payload(const struct event *event); /* borrowed */
uint64_t event_time(const struct event *event);
struct value event_handler_name(const struct event *event); /* borrowed */

/* -- For the facade ------------------------------------------------------ */

/* Whether an event waits in a lane; whether one is in flight, or an external
 * call waits for a verdict (sched/outbox.h). */
bool events_wait(const struct sched *sched);
size_t events_waiting(const struct sched *sched); /* how many */
/* Of those, the ones that the store keeps (sched/durable.h). */
size_t events_waiting_stored(const struct sched *sched);
bool events_in_flight(const struct sched *sched);

/* The events whose handling is committed and not confirmed, oldest first:
 * `after` NULL returns the first one, NULL is the end. */
const struct event *events_next_unconfirmed(const struct sched *sched,
                                            const struct event *after);

/* How many of them the store keeps until then (sched/durable.h). */
size_t events_unconfirmed_stored(const struct sched *sched);

/* When the head of a lane is ready; now, if one can be looked at. */
mono_ms events_next_wake(const struct sched *sched);

/* -- Internal to this directory ------------------------------------------ */

enum events_look {
    EVENTS_NOTHING, /* no head can be handled now */
    EVENTS_NEED,    /* what a head needs was queued: keep sweeping */
    EVENTS_DID,     /* an event was handled, or ended */
};

/* Looks at the head of each lane, and handles it if possible (events-1). Inside
 * a pass, with nothing left to sweep. */
enum events_look events_look(struct sched *sched);

/* Demand lent to what the heads need ends with the pass. */
void events_pass_ends(struct sched *sched);

/* Drops the receipts of events that have ended. Not while the replica delivers
 * a notification. */
void events_cleanup(struct sched *sched);

/* A node is removed: demand lent to it ends. */
void events_forget_node(struct sched *sched, struct node *node);

/* Ends all waiting events as CLOSED, and frees the state. */
void events_dispose(struct sched *sched);
void events_free(struct sched *sched);

#endif
