/* Nodes: computations, effects and handlers; and the events for these.
 * Part of heddle/heddle.h, which is the header to include.
 *
 *   computation  writes what follows from what it reads. It runs when somebody
 *                looks at what it writes, and something that it read has
 *                changed; never otherwise.
 *   effect       is somebody who looks. It runs when what it read has changed,
 *                after everything that computes it.
 *   handler      handles the events that are sent to a stream, one after the
 *                other. What it writes is committed once per event, or never;
 *                its function may be called more often. docs/promises.md
 *                ("What happens once") says exactly what holds.
 *
 * A run is one transaction. For one change from outside every node that is not
 * in a cycle runs at most once, and an effect never sees a value that was not
 * there to stay. */

#ifndef HEDDLE_NODE_H
#define HEDDLE_NODE_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- Runs -------------------------------------------------------------------
 */

/* A run of a node, or the handling of an event. Borrowed: it is over when the
 * function returns, and every use of it after that is HD_MISUSE, until the
 * runtime is freed. */
typedef struct hd_run hd_run;

/* What a node does: reads and writes cells, and returns HD_OK. Anything else
 * is a failure: nothing of the run stays, `report` is called, and it runs again
 * when something that it read changes. */
typedef hd_status hd_run_fn(hd_run *run, void *context);

/* Says why the run fails; `text` is a sentence, or NULL. Returns `status`, to
 * be returned. HD_ARGUMENT if that is HD_OK. */
HD_API hd_status hd_run_fail(hd_run *run, hd_status status, const char *text);

/* The result: what the receipt of an event will hold, or the output of a
 * computation that a pattern has built. The last call counts. HD_MISUSE for any
 * other run. */
HD_API hd_status hd_run_return(hd_run *run, const hd_value *value);

/* Handlers only, HD_MISUSE otherwise. What was sent, new; and the number of
 * the attempt, from 1. */
HD_API hd_status hd_run_payload(hd_run *run, hd_value **payload);
HD_API hd_status hd_run_attempt(hd_run *run, uint32_t *attempt);

/* Handlers only: the name for a document that this handling creates; new
 * (hd_text_free). The n-th is the same at every attempt. */
HD_API hd_status hd_run_new_document(hd_run *run, char **document);

/* -- Nodes ------------------------------------------------------------------
 */

/* Release with hd_node_free. The node is there without its handle, too, until
 * it is removed or the runtime ends. */
typedef struct hd_node hd_node;

/* Every field but `run` may be zero. All is copied. */
typedef struct hd_node_options {
    const char *name; /* for people */
    hd_run_fn *run;
    void *context;
    void (*release)(void *context); /* when nothing can call it any more; also
                                       if the registration fails */
    hd_cell *const *reads; /* that it will read: for the order of the first
                              run */
    size_t read_count;
    hd_cell *const *writes; /* computations: what it writes, and nothing
                               else */
    size_t write_count;
    uint32_t debounce_ms;      /* runs after so long without a change, counted
                                  while an effect needs it, */
    uint32_t debounce_max_ms;  /* but waits no longer than this */
    uint32_t throttle_ms;      /* at least so long between two runs */
    bool no_auto_debounce;     /* slow ones are debounced by themselves */
    const hd_value *clearance; /* effects: the labels that it may see, an array
                                  of words, or true: all; NULL: none */
} hd_node_options;

/* Nothing runs yet. Inside a run the node is a child of that node, and goes
 * with it; inside a handler HD_MISUSE. `node` may be NULL. A computation
 * without `writes` is HD_ARGUMENT, as is an effect with some. */
HD_API hd_status hd_computation_new(hd_runtime *runtime,
                                    const hd_node_options *options,
                                    hd_node **node,
                                    hd_error *error);
HD_API hd_status hd_effect_new(hd_runtime *runtime,
                               const hd_node_options *options,
                               hd_node **node,
                               hd_error *error);

/* Called with what is at a cell; NULL: there is nothing. Borrowed. */
typedef void hd_sink_fn(void *context, const hd_value *value);

/* An effect that reads one cell: `sink` is called at the next step, and
 * whenever there is something else. `node` may be NULL. */
HD_API hd_status hd_sink_new(hd_cell *cell,
                             hd_sink_fn *sink,
                             void *context,
                             hd_node **node,
                             hd_error *error);

/* Every field but `sink` may be zero. All is copied. */
typedef struct hd_sink_options {
    const char *name; /* for people; NULL: "sink" */
    hd_sink_fn *sink;
    void *context;
    void (*release)(void *context); /* as for nodes */
    const hd_value *clearance;      /* likewise */
} hd_sink_options;

/* The same, with more to say about it. */
HD_API hd_status hd_sink_new_with(hd_cell *cell,
                                  const hd_sink_options *options,
                                  hd_node **node,
                                  hd_error *error);

typedef enum hd_node_kind {
    HD_COMPUTATION = 1,
    HD_EFFECT = 2,
    HD_HANDLER = 3
} hd_node_kind;

typedef enum hd_node_state {
    HD_NEVER_RAN = 1,
    HD_CLEAN = 2,
    HD_INVALID = 3, /* something that it read is different now */
    HD_REMOVED = 4
} hd_node_state;

typedef struct hd_node_info {
    hd_node_kind kind;
    hd_node_state state; /* of a handler: clean or removed */
    bool live;           /* somebody looks, or it is somebody */
    uint64_t runs;       /* that ended well, here; attempts of a handler */
} hd_node_info;

HD_API hd_status hd_node_look(hd_node *node, hd_node_info *info);

/* It has to run, whatever it read. HD_MISUSE for a handler. */
HD_API hd_status hd_node_invalidate(hd_node *node);

/* 0: none. HD_MISUSE for a handler. */
HD_API hd_status hd_node_set_debounce(hd_node *node, uint32_t milliseconds);
HD_API hd_status hd_node_set_throttle(hd_node *node, uint32_t milliseconds);

/* It does not run any more; what it has committed stays. What waits for a
 * handler is dropped, unless there is another one in time. HD_CLOSED if it was
 * removed before. HD_MISUSE from inside its own run. */
HD_API hd_status hd_node_remove(hd_node *node);

/* The handle, not the node. NULL is harmless. From another thread it does
 * nothing. */
HD_API void hd_node_free(hd_node *node);

/* -- Handlers ---------------------------------------------------------------
 */

/* Every field but `run` may be zero. All is copied. */
typedef struct hd_handler_options {
    const char *name; /* for people */
    hd_run_fn *run;
    void *context;
    void (*release)(void *context); /* as for nodes */
    hd_cell *const *reads; /* are up to date when it is called; an event waits
                              until they can be */
    size_t read_count;
    bool pure;           /* it does nothing but read, write and send through
                            cells: everything that it reads is up to date, and
                            an attempt can be thrown away */
    bool several_spaces; /* may write to more than one; only what it writes to
                            the space of the stream is committed once */
    bool replace;        /* takes the place of the one that is there */

    /* For streams where only the latest counts, such as pointer positions: when
     * as many events wait as the runtime's `backlog` allows, the next one gives
     * its payload to the last that waits, if both were sent by the same commit
     * or both from outside, and neither has an id. Both senders are told the
     * same outcome. Otherwise, and without this, it is refused with
     * HD_BACKLOG. */
    bool collapses;
} hd_handler_options;

/* The handler of the stream at a cell. There is one (HD_HANDLER_EXISTS). An
 * event is handled when everything that the handler declares to read, or is
 * known to, is up to date. `node` may be NULL. */
HD_API hd_status hd_handler_new(hd_cell *stream,
                                const hd_handler_options *options,
                                hd_node **node,
                                hd_error *error);

/* -- Events -----------------------------------------------------------------
 */

typedef enum hd_outcome {
    HD_WAITING = 0, /* it will end */
    HD_DONE = 1,    /* handled, and that is on disk */
    HD_DROPPED = 2, /* it will never be handled, as it should be: it was handled
                       before, what sent it failed, nobody is there to do it */
    HD_FAILED = 3,  /* the handler failed, a rule was broken, or it did not come
                       to an end in its time */
    HD_QUEUED = 4   /* it is on disk, to be handled later (`queue`) */
} hd_outcome;

/* What becomes of an event. Release with hd_ticket_free. */
typedef struct hd_ticket hd_ticket;

/* What becomes of the ticks of a timer that no process handled in their
 * time. */
typedef enum hd_missed {
    HD_MISSED_ONE, /* one of them is handled */
    HD_MISSED_ALL,
    HD_MISSED_NONE,
} hd_missed;

/* When a timer is due, by the wall clock. If every field is zero, at once. */
typedef struct hd_timer_options {
    uint64_t after_ms; /* from now on, */
    uint64_t at_ms;    /* or then: milliseconds since 1970 */

    /* It repeats: at least 100 ms apart, or at the times that five cron fields
     * name, such as "0 9 * * 1-5", in a zone of the tz database (NULL: UTC).
     * Without after_ms and at_ms, the first tick is one interval from now. */
    uint64_t every_ms;
    const char *cron;
    const char *zone;
    hd_missed missed;
} hd_timer_options;

/* Every field may be zero. */
typedef struct hd_send_options {
    /* The caller's own name for the event, in a session of the caller's. The
     * same again, with an equal payload, is not handled again and gets the same
     * receipt; with another payload it fails with HD_IDEMPOTENCY_MISMATCH. Any
     * number of processes may use one session here. A runtime without a
     * directory knows the last 50,000 of them. Both or none. */
    const char *id;
    const char *session;
    bool once; /* one attempt */

    /* The event is stored, and its ticket ends with HD_QUEUED as soon as it is
     * on disk. It is handled by this runtime if it has the handler, otherwise
     * by the next runtime that has, in this process or another. Without effect
     * in a handler: what a handler sends is always stored, by the handler's own
     * commit. HD_MISUSE for a runtime in memory. */
    bool queue;

    /* Called once, when it has ended, unless the runtime ends before. The
     * ticket is borrowed. It may send, but not step. */
    void (*done)(void *context, hd_ticket *ticket);
    void *context;

    /* The event is a timer: it is stored, its ticket ends with HD_QUEUED, and
     * it is handled when it is due, by this runtime or any other that has the
     * handler then. `id` without `session` is its name on the stream: the
     * next timer of the stream with that name takes its place. In a handler
     * or an edit it is set by the commit of that. HD_MISUSE for a runtime in
     * memory, and in other functions. NULL: no timer. */
    const hd_timer_options *timer;
} hd_send_options;

/* Sends to the stream at a cell. In a handler or an edit the event lives and
 * dies with the commit of that. `payload` may be NULL, which is null; `options`
 * and `ticket` may be. HD_BACKLOG: as many events wait for the stream as may; a
 * handler to which that happens fails, also if it returns HD_OK. */
HD_API hd_status hd_cell_send(hd_cell *stream,
                              const hd_value *payload,
                              const hd_send_options *options,
                              hd_ticket **ticket,
                              hd_error *error);

/* Cancels the timer with that id on the stream at a cell, or the stored event
 * with that id. A timer with the same id on another stream stays.
 * `cancelled` tells whether there was one; it may be NULL. In a handler or an
 * edit this is part of the commit; HD_STALE: return it, and the function is
 * called again. Elsewhere it is a write of its own, as hd_cell_set, and
 * `cancelled` is about what is visible here. */
HD_API hd_status hd_cell_cancel(hd_cell *stream,
                                const char *id,
                                bool *cancelled,
                                hd_error *error);

HD_API hd_status hd_ticket_outcome(hd_ticket *ticket, hd_outcome *outcome);

/* The id of the event, new (hd_text_free); what the first handling of it
 * returned, new: both HD_NOT_FOUND as long as it waits, and if it is not
 * known. */
HD_API hd_status hd_ticket_id(hd_ticket *ticket, char **id);
HD_API hd_status hd_ticket_receipt(hd_ticket *ticket, hd_value **receipt);

/* Why it was dropped or has failed, with the attempts; cleared if neither. */
HD_API hd_status hd_ticket_error(hd_ticket *ticket, hd_error *error);

/* The event goes on. NULL is harmless. From another thread it does nothing. */
HD_API void hd_ticket_free(hd_ticket *ticket);

#ifdef __cplusplus
}
#endif

#endif
