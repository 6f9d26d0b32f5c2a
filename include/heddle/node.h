/* Nodes and events: computations, effects, handlers. Part of heddle/heddle.h,
 * which is the header to include.
 *
 *   static hd_status compute_twice(hd_run *run, void *context)
 *   {
 *       int64_t count = 0;
 *       hd_status status = hd_cell_get_int(count_cell, &count, NULL);
 *       return status ? status : hd_cell_set_int(twice_cell, 2 * count, NULL);
 *   }
 *
 *   hd_node_options options = HD_INIT;
 *   options.name = "twice";
 *   options.run = compute_twice;
 *   options.writes = &twice_cell;
 *   options.write_count = 1;
 *   hd_computation_new(runtime, &options, NULL, &error);
 *   hd_sink_new(twice_cell, show, NULL, NULL, &error);   creates the demand
 *
 * Kinds of nodes:
 *
 *   computation  derives values from what it reads. It runs only if its output
 *                is in demand and something that it read has changed.
 *   effect       creates demand. It runs when something that it read has
 *                changed, after every computation that it depends on.
 *   handler      handles the events that are sent to a stream, one at a time.
 *                Its writes commit once per event, or never; its function may
 *                be called more than once. docs/promises.md ("What happens
 *                once") states the guarantees.
 *
 * Each run is one transaction. Per change from outside, each node that is not
 * in a cycle runs at most once, and an effect never sees an intermediate value.
 */

#ifndef HEDDLE_NODE_H
#define HEDDLE_NODE_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- Runs ----------------------------------------------------------------- */

/* A run of a node, or one attempt to handle an event. Borrowed: valid until the
 * function returns. Later uses return HD_MISUSE, until the runtime is freed. */
typedef struct hd_run hd_run;

/* The function of a node. It reads and writes cells and returns HD_OK. Any
 * other result is a failure: the writes of the run are discarded, the `report`
 * hook is called, and the node runs again when something that it read changes.
 */
typedef hd_status hd_run_fn(hd_run *run, void *context);

/* Sets the reason why the run fails; `text` is a sentence, or NULL. Returns
 * `status`, so that the function can return it. HD_ARGUMENT if `status` is
 * HD_OK. */
HD_API hd_status hd_run_fail(hd_run *run, hd_status status, const char *text);

/* Sets the result: the value of an event's receipt, or the output of a
 * computation that a pattern has built. The last call counts. HD_MISUSE for
 * other runs. */
HD_API hd_status hd_run_return(hd_run *run, const hd_value *value);

/* Return the payload of the event, new, and the number of the attempt, from 1.
 * Handlers only; HD_MISUSE otherwise. */
HD_API hd_status hd_run_payload(hd_run *run, hd_value **payload);
HD_API hd_status hd_run_attempt(hd_run *run, uint32_t *attempt);

/* Returns a name for a document that the handler creates; new (hd_text_free).
 * The n-th name is the same in every attempt. Handlers only. */
HD_API hd_status hd_run_new_document(hd_run *run, char **document);

/* -- Nodes ---------------------------------------------------------------- */

/* A node. Release the handle with hd_node_free; the node remains until it is
 * removed or the runtime ends. */
typedef struct hd_node hd_node;

/* Every field except `run` may be zero. Everything is copied. */
typedef struct hd_node_options {
    const char *name; /* for messages and inspection */
    hd_run_fn *run;
    void *context;
    void (*release)(void *context); /* called when `run` can no longer be
                                       called, also if creation fails */
    hd_cell *const *reads;          /* expected reads: order the first run */
    size_t read_count;
    hd_cell *const *writes; /* computations: all cells that it writes */
    size_t write_count;
    uint32_t debounce_ms;      /* runs after this long without a change, while
                                  an effect demands it */
    uint32_t debounce_max_ms;  /* the longest such delay */
    uint32_t throttle_ms;      /* the least time between two runs */
    bool no_auto_debounce;     /* do not debounce the node if it is slow */
    const hd_value *clearance; /* effects: the labels that it may read, an
                                  array of words; true: all; NULL: none */
} hd_node_options;

/* Create a node; it first runs in a later step. A node that is created inside a
 * run is a child of the running node and is removed with it. Inside a handler:
 * HD_MISUSE. `node` may be NULL. A computation needs `writes`, and an effect
 * must have none (HD_ARGUMENT). */
HD_API hd_status hd_computation_new(hd_runtime *runtime,
                                    const hd_node_options *options,
                                    hd_node **node,
                                    hd_error *error);
HD_API hd_status hd_effect_new(hd_runtime *runtime,
                               const hd_node_options *options,
                               hd_node **node,
                               hd_error *error);

/* Receives the value of a cell, borrowed. NULL: there is none. */
typedef void hd_sink_fn(void *context, const hd_value *value);

/* Creates an effect that reads one cell. `sink` is called in the next step, and
 * after that whenever the value has changed. `node` may be NULL. */
HD_API hd_status hd_sink_new(hd_cell *cell,
                             hd_sink_fn *sink,
                             void *context,
                             hd_node **node,
                             hd_error *error);

/* Every field except `sink` may be zero. Everything is copied. */
typedef struct hd_sink_options {
    const char *name; /* NULL: "sink" */
    hd_sink_fn *sink;
    void *context;
    void (*release)(void *context); /* as in hd_node_options */
    const hd_value *clearance;      /* likewise */
} hd_sink_options;

/* Like hd_sink_new, with options. */
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
    HD_INVALID = 3, /* something that it read has changed */
    HD_REMOVED = 4
} hd_node_state;

typedef struct hd_node_info {
    hd_node_kind kind;
    hd_node_state state; /* a handler is clean or removed */
    bool live;           /* an effect, or in demand by one */
    uint64_t runs;       /* successful runs here; of a handler: attempts */
} hd_node_info;

HD_API hd_status hd_node_look(hd_node *node, hd_node_info *info);

/* Makes the node run again, whether or not what it read has changed. HD_MISUSE
 * for a handler. */
HD_API hd_status hd_node_invalidate(hd_node *node);

/* Set the debounce or the throttle; 0: none. HD_MISUSE for a handler. */
HD_API hd_status hd_node_set_debounce(hd_node *node, uint32_t milliseconds);
HD_API hd_status hd_node_set_throttle(hd_node *node, uint32_t milliseconds);

/* Removes the node: it no longer runs, and its commits remain. Events that wait
 * for a handler are dropped, unless the stream gets another handler in time.
 * HD_CLOSED if the node is already removed. HD_MISUSE from inside its own run.
 */
HD_API hd_status hd_node_remove(hd_node *node);

/* Releases the handle, not the node. NULL is allowed. Does nothing when called
 * from another thread. */
HD_API void hd_node_free(hd_node *node);

/* -- Handlers ------------------------------------------------------------- */

/* Every field except `run` may be zero. Everything is copied. */
typedef struct hd_handler_options {
    const char *name; /* for messages and inspection */
    hd_run_fn *run;
    void *context;
    void (*release)(void *context); /* as in hd_node_options */
    hd_cell *const *reads;          /* brought up to date before it is called;
                                       the event waits for that */
    size_t read_count;

    /* The function does nothing except read, write and send through cells.
     * Then everything that it reads is up to date, and an attempt can be
     * discarded. */
    bool pure;
    bool several_spaces; /* may write to several spaces; only the writes to
                            the space of the stream commit exactly once */
    bool replace;        /* replaces the current handler of the stream */

    /* For streams where only the latest event matters, such as pointer
     * positions. When the backlog is full, the next event replaces the payload
     * of the last waiting one, if the same commit sent both or both came from
     * outside, and neither has an id. Both senders get the same outcome.
     * Otherwise, and without this option, the event is refused with
     * HD_BACKLOG. */
    bool collapses;
} hd_handler_options;

/* Creates the handler of the stream at a cell. A stream has one handler
 * (HD_HANDLER_EXISTS). An event is handled when everything in `reads` is up to
 * date, and, for a pure handler, everything that it read the last time. `node`
 * may be NULL. */
HD_API hd_status hd_handler_new(hd_cell *stream,
                                const hd_handler_options *options,
                                hd_node **node,
                                hd_error *error);

/* -- Events --------------------------------------------------------------- */

typedef enum hd_outcome {
    HD_WAITING = 0, /* not handled yet */
    HD_DONE = 1,    /* handled, and the commit is on disk */
    HD_DROPPED = 2, /* will not be handled, by design: it was handled before,
                       its sender failed, or there is no handler */
    HD_FAILED = 3,  /* the handler failed, a rule was broken, or it did not
                       finish in time */
    HD_QUEUED = 4   /* on disk, to be handled later (`queue`) */
} hd_outcome;

/* The outcome of an event. Release with hd_ticket_free. */
typedef struct hd_ticket hd_ticket;

/* What happens to the ticks of a timer that no process handled when they were
 * due. */
typedef enum hd_missed {
    HD_MISSED_ONE, /* one of them is handled */
    HD_MISSED_ALL,
    HD_MISSED_NONE,
} hd_missed;

/* When a timer is due, by the wall clock. If every field is zero: at once. */
typedef struct hd_timer_options {
    uint64_t after_ms; /* this long from now, */
    uint64_t at_ms;    /* or at this time, in milliseconds since 1970 */

    /* The timer repeats: every `every_ms` milliseconds, at least 100; or at the
     * times of `cron`, five fields such as "0 9 * * 1-5", in a zone of the tz
     * database (NULL: UTC). Without after_ms and at_ms, the first tick is one
     * interval from now. */
    uint64_t every_ms;
    const char *cron;
    const char *zone;
    hd_missed missed;
} hd_timer_options;

/* Every field may be zero. */
typedef struct hd_send_options {
    /* An idempotency key: the caller's name for the event, in a session that
     * the caller chooses. Set both or neither. Resending it with an equal
     * payload does not handle it again and returns the first receipt; with
     * another payload it fails with HD_IDEMPOTENCY_MISMATCH. Any number of
     * processes may use one session here. A runtime without a directory
     * remembers the last 50,000 ids. */
    const char *id;
    const char *session;
    bool once; /* do not retry */

    /* Stores the event. Its ticket ends with HD_QUEUED as soon as the event is
     * on disk. This runtime handles it if it has the handler; otherwise the
     * next runtime that does, in this process or another. No effect inside a
     * handler: the handler's commit always stores what it sends. HD_MISUSE for
     * a runtime in memory. */
    bool queue;

    /* Called once when the event has ended, unless the runtime ends first. The
     * ticket is borrowed. The function may send events, but must not step. */
    void (*done)(void *context, hd_ticket *ticket);
    void *context;

    /* Makes the event a timer; NULL: none. The event is stored, its ticket ends
     * with HD_QUEUED, and it is handled when due, by this runtime or another
     * that then has the handler. `id` without `session` names the timer within
     * the piece that owns the stream; the next timer with that name replaces
     * it. In a handler or an edit, the commit sets the timer. HD_MISUSE for a
     * runtime in memory, and in other functions. */
    const hd_timer_options *timer;
} hd_send_options;

/* Sends an event to the stream at a cell. In a handler or an edit, the event is
 * sent only if that transaction commits. `payload` may be NULL, which means
 * null; `options` and `ticket` may be NULL. HD_BACKLOG: the backlog of the
 * stream is full. A handler that gets HD_BACKLOG fails, even if it returns
 * HD_OK.
 *
 *   hd_send_options options = HD_INIT;
 *   options.session = "shop";
 *   options.id = "order-17";       safe to send again
 *   hd_cell_send(stream, payload, &options, &ticket, &error);
 *   hd_runtime_settled(runtime, HD_NEVER, &error);
 *   hd_ticket_receipt(ticket, &receipt);
 *   hd_ticket_free(ticket); */
HD_API hd_status hd_cell_send(hd_cell *stream,
                              const hd_value *payload,
                              const hd_send_options *options,
                              hd_ticket **ticket,
                              hd_error *error);

/* Cancels the timer named `id` of the piece that owns the stream at a cell.
 * `cancelled` says whether there was one; it may be NULL. In a handler or an
 * edit, this is part of the commit; if it returns HD_STALE, return that, and
 * the function is called again. Elsewhere it is a write of its own, like
 * hd_cell_set, and `cancelled` reflects the state visible here. */
HD_API hd_status hd_cell_cancel(hd_cell *stream,
                                const char *id,
                                bool *cancelled,
                                hd_error *error);

HD_API hd_status hd_ticket_outcome(hd_ticket *ticket, hd_outcome *outcome);

/* Return the id of the event, new (hd_text_free), and its receipt: what its
 * first handling returned, new. Both return HD_NOT_FOUND while the event waits,
 * and if the answer is not known. */
HD_API hd_status hd_ticket_id(hd_ticket *ticket, char **id);
HD_API hd_status hd_ticket_receipt(hd_ticket *ticket, hd_value **receipt);

/* Returns why the event was dropped or failed, with the number of attempts;
 * cleared otherwise. */
HD_API hd_status hd_ticket_error(hd_ticket *ticket, hd_error *error);

/* Releases the ticket; the event continues. NULL is allowed. Does nothing when
 * called from another thread. */
HD_API void hd_ticket_free(hd_ticket *ticket);

#ifdef __cplusplus
}
#endif

#endif
