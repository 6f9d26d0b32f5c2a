/* Runtimes: hold cells, run computations, and store both on disk. Part of
 * heddle/heddle.h, which is the header to include.
 *
 *   hd_runtime *runtime = NULL;
 *   hd_runtime_options options = HD_INIT;
 *   options.directory = "data";
 *   hd_runtime_open(&options, &runtime, &error);
 *   ... cells, computations, handlers ...
 *   for (;;) {
 *       hd_runtime_wait(runtime, HD_NEVER, &error);
 *   }
 *   hd_runtime_close(runtime, HD_NEVER, &error);
 *   hd_runtime_free(runtime);
 *
 * A runtime has no threads and no timers of its own: it works only inside
 * calls. A change creates work; hd_runtime_step does the work and never blocks.
 * A program with its own event loop uses hd_runtime_fd and hd_runtime_timeout
 * to learn when to step. A program without one calls hd_runtime_wait,
 * hd_runtime_idle or hd_runtime_settled, which step and wait until a deadline.
 *
 * Signals: the first runtime with a directory installs a SIGBUS handler, unless
 * the program already has one. The handler acts only on memory that this
 * library shares with other processes, so that truncating a file of the
 * directory does not kill the process. Any other fault ends the process as it
 * would without the handler. To prevent it, install a handler before the first
 * hd_runtime_open. The library uses no other signal. */

#ifndef HEDDLE_RUNTIME_H
#define HEDDLE_RUNTIME_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- Runtimes ------------------------------------------------------------- */

/* Release with hd_runtime_free. */
typedef struct hd_runtime hd_runtime;

/* A time, in milliseconds on the runtime's clock, which is monotonic and
 * unrelated to the date. */
#define HD_NOW   ((uint64_t)0) /* read the clock */
#define HD_NEVER UINT64_MAX

typedef enum hd_durability {
    HD_DURABLE_FULL = 0,   /* confirmed commits survive a power loss */
    HD_DURABLE_NORMAL = 1, /* they survive a crash of the process */
    HD_DURABLE_NONE = 2    /* no file: nothing survives */
} hd_durability;

typedef enum hd_log_level {
    HD_LOG_NONE = 0, /* only as a threshold */
    HD_LOG_ERROR = 1,
    HD_LOG_WARNING = 2,
    HD_LOG_INFO = 3,
    HD_LOG_DEBUG = 4
} hd_log_level;

/* The progress of a long call. */
typedef struct hd_progress {
    uint64_t passes;        /* scheduler passes */
    uint64_t runs;          /* runs of computations and effects in them */
    uint64_t actions;       /* of a piece being resumed: nodes read so far */
    uint64_t actions_total; /* and in total */
} hd_progress;

/* Every field may be zero: none, or the default. Everything is copied except
 * the contexts, which must outlive the runtime.
 *
 * The library calls the hooks during its own calls, in the calling thread. A
 * hook must not call the runtime, except for hd_interrupt. */
typedef struct hd_runtime_options {
    /* Holds one file per space and small files about running processes
     * (docs/live.md); created if missing. NULL: in memory without a store;
     * commits are confirmed at once.
     *
     * Or the address of a server, ws://HOST:PORT or wss://HOST:PORT (http and
     * https mean the same): the spaces are there (docs/server.md). A server
     * that cannot be reached is reported once; commits wait and are sent again
     * when it is back. Such a runtime has one thread for its connection, so an
     * hd_allocator must be safe for threads. */
    const char *directory;
    const char *const *spaces; /* names; the first is the default space */
    size_t space_count;        /* 0: one space, "main" */
    const char *user;          /* the owner of documents of HD_SCOPE_USER */

    /* The session under which the runtime commits; NULL: a new, unique name.
     * Only one runtime per directory and user can use a name at a time; the
     * next one is refused with HD_SESSION_IN_USE. */
    const char *session;
    hd_durability durability;

    /* The clock, in milliseconds: never 0, never backwards. `wait` blocks
     * until a time on that clock, or less long; it is used only together with
     * `now`. Without it, the runtime waits in system time. */
    uint64_t (*now)(void *context);
    void (*wait)(void *context, uint64_t until);
    void *clock_context;

    /* Returns 64 unpredictable bits. */
    uint64_t (*random)(void *context);
    void *random_context;

    /* Receives one complete line per call, without a newline. */
    void (*log)(void *context, hd_log_level level, const char *line);
    void *log_context;
    hd_log_level log_level; /* the most verbose level to log */

    /* Receives failures that no call can return: of a run, or of a write that
     * the store refused later. error->address names the node or the path.
     * HD_NOT_SETTLED, once per cycle: computations or effects form a cycle
     * that does not settle. */
    void (*report)(void *context, const hd_error *error);
    void *report_context;

    /* Called at intervals during long work; returning false ends the call with
     * HD_INTERRUPTED. */
    bool (*progress)(void *context, const hd_progress *progress);
    void *progress_context;

    /* The largest number of events that may wait for one stream; 0: 10000. The
     * next one is refused with HD_BACKLOG, unless the handler of the stream
     * sets `collapses`. */
    uint32_t backlog;
    bool lane_a_space; /* one event queue per space: events of different
                          spaces do not wait for each other */

    /* Opens an existing directory and its spaces without changing them. Cells
     * can be read; sinks and effects see what other runtimes commit. Writes,
     * events, computations, handlers and starting a piece are refused with
     * HD_READ_ONLY. */
    bool read_only;

    /* The longest chain of events in which each event was caused by the
     * handler of the one before: sent by it, or by an effect that ran because
     * of its writes; 0: 10000. The handler or effect that sends one more fails
     * with HD_LIMIT_HOPS, which is reported. So nodes that send to each other
     * do not run forever. */
    uint32_t hops;

    /* The identity of a runtime on a server: a JSON Web Token, or the file of a
     * key ('heddle key'). Without either, `user` is its name, which only a
     * server without authentication believes. */
    const char *token;
    const char *key_file;
} hd_runtime_options;

/* Opens a new runtime and its spaces. The runtime belongs to the calling
 * thread. `options` may be NULL. Runtimes in the same directory, in this
 * process or others, share its spaces. Errors:
 *
 *   HD_ARGUMENT   a name is invalid, or occurs twice
 *   HD_IO, ...    a file cannot be opened
 *   HD_BUSY       a file must be created, and another process holds its lock
 *                 for too long
 *   HD_NOT_FOUND  with `read_only`: the file does not exist
 *   HD_UNREACHABLE, HD_UNAUTHENTICATED, HD_ACCESS  of a server
 *
 * Any thread. */
HD_API hd_status hd_runtime_open(const hd_runtime_options *options,
                                 hd_runtime **runtime,
                                 hd_error *error);

/* Closes a runtime. Until the deadline it sends outstanding commits to their
 * store; HD_NOW does not wait. Afterwards every handle of the runtime returns
 * HD_CLOSED; release the handles as usual. HD_TIMEOUT: the deadline passed
 * first, and error->may_have_happened is set; the runtime is closed
 * nevertheless. HD_MISUSE: called from inside a run or a callback; the runtime
 * stays open. */
HD_API hd_status hd_runtime_close(hd_runtime *runtime,
                                  uint64_t deadline,
                                  hd_error *error);

/* Releases the handle. A runtime that is open is closed as with HD_NOW. Other
 * handles of the runtime may be released before or after. NULL is allowed. Does
 * nothing when called from another thread or from inside a run. */
HD_API void hd_runtime_free(hd_runtime *runtime);

/* Moves the runtime, all its handles and all values that came from it to the
 * calling thread. The previous thread must have returned from its last call and
 * must not call again. HD_MISUSE from inside a run. Any thread. */
HD_API hd_status hd_runtime_move(hd_runtime *runtime);

/* Opens another space, which stays open as long as the runtime. HD_ARGUMENT if
 * it is already open, possibly because a link or a child led there
 * (hd_build_piece_in). */
HD_API hd_status hd_runtime_open_space(hd_runtime *runtime,
                                       const char *space,
                                       hd_error *error);

/* -- Event loops ---------------------------------------------------------- */

/* Runs everything that can run at time `now` (HD_NOW: read the clock), sends
 * commits and receives changes. Returns when there is nothing left to do at
 * `now`, or with HD_INTERRUPTED. A `now` before that of an earlier step counts
 * as that earlier time. Never blocks: if another process holds the write lock
 * of a space, a later step sends the commits; hd_runtime_fd and
 * hd_runtime_next_wake say when. */
HD_API hd_status hd_runtime_step(hd_runtime *runtime,
                                 uint64_t now,
                                 hd_error *error);

/* Returns the time at which the runtime must be stepped again, regardless of
 * other events. HD_NOW or a past time: at once. HD_NEVER: not needed. */
HD_API hd_status hd_runtime_next_wake(hd_runtime *runtime, uint64_t *wake);

/* Returns the same as a timeout for poll(): milliseconds from now, rounded up;
 * 0: at once, -1: never. */
HD_API hd_status hd_runtime_timeout(hd_runtime *runtime, int *timeout);

/* Returns a descriptor that becomes readable when the runtime should be stepped
 * earlier: another runtime has committed, or hd_interrupt was called. Pass it
 * to poll() or a similar function; do not read from it. It belongs to the
 * runtime, until that is closed. */
HD_API hd_status hd_runtime_fd(hd_runtime *runtime, int *descriptor);

HD_API hd_status hd_runtime_now(hd_runtime *runtime, uint64_t *now);

/* -- Waiting -------------------------------------------------------------- */

/* Waits until there is work, and steps. HD_TIMEOUT: there was none before the
 * deadline. HD_INTERRUPTED: hd_interrupt was called. */
HD_API hd_status hd_runtime_wait(hd_runtime *runtime,
                                 uint64_t deadline,
                                 hd_error *error);

/* Steps until nothing can run and no event waits. It waits for effects that a
 * debounce or throttle delays, and for computations that have not settled. It
 * does not wait for a delayed computation that has run before: its output may
 * be stale (hd_cell_pull reads it up to date). HD_TIMEOUT, HD_INTERRUPTED. */
HD_API hd_status hd_runtime_idle(hd_runtime *runtime,
                                 uint64_t deadline,
                                 hd_error *error);

/* Like hd_runtime_idle, and also waits until the store has answered every
 * commit. Successful writes are then on disk. */
HD_API hd_status hd_runtime_settled(hd_runtime *runtime,
                                    uint64_t deadline,
                                    hd_error *error);

/* Makes the current call of hd_runtime_step, _wait, _idle, _settled or _close
 * return HD_INTERRUPTED between two runs; if there is no such call, the next
 * one. No work is lost. The runtime must not be freed at the same time. Any
 * thread, and signal handlers. */
HD_API hd_status hd_interrupt(hd_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif
