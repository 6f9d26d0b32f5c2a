/* Runtimes: what holds cells, runs computations and keeps it all on disk.
 * Part of heddle/heddle.h, which is the header to include.
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
 * Nothing happens by itself: there is no thread and no timer. What changes
 * makes work, and the work is done by hd_runtime_step, which never waits for
 * anything. A program with a loop of its own asks hd_runtime_next_wake and
 * hd_runtime_fd when to step; one without calls hd_runtime_wait, _idle or
 * _settled, which step and wait until a deadline.
 *
 * Signals: the first runtime with a directory installs a handler of SIGBUS, if
 * the program has none then, and never replaces one. It acts only on memory
 * that this library shares with other processes, so that a file of the
 * directory which is cut short does not kill the process; any other fault ends
 * the process as without it. To have none of it, install a handler before the
 * first hd_runtime_open. No other signal is touched. */

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

/* An instant, in milliseconds on the clock of the runtime, which is monotonic
 * and says nothing about the date. */
#define HD_NOW   ((uint64_t)0) /* ask the clock */
#define HD_NEVER UINT64_MAX

typedef enum hd_durability {
    HD_DURABLE_FULL = 0,   /* what was confirmed survives a power loss */
    HD_DURABLE_NORMAL = 1, /* it survives a crash of the process */
    HD_DURABLE_NONE = 2    /* nothing survives: no file */
} hd_durability;

typedef enum hd_log_level {
    HD_LOG_NONE = 0, /* a threshold only: no line has it */
    HD_LOG_ERROR = 1,
    HD_LOG_WARNING = 2,
    HD_LOG_INFO = 3,
    HD_LOG_DEBUG = 4
} hd_log_level;

/* What a long call has done so far. */
typedef struct hd_progress {
    uint64_t passes;  /* over everything that had to run, */
    uint64_t runs;    /* and runs of computations and effects in them */
    uint64_t actions; /* of a piece that is taken up again, read so far, */
    uint64_t actions_total; /* and how many it has */
} hd_progress;

/* Every field may be zero: none, or the default. All is copied, but for the
 * contexts, which outlive the runtime.
 *
 * The hooks are called from inside calls of this library, in the thread that
 * made the call. They may not call the runtime, except hd_interrupt. */
typedef struct hd_runtime_options {
    const char *directory;     /* one file per space, and small files about
                                  processes at work (docs/live.md); made if
                                  it is missing. NULL: in memory, without a
                                  store; what is committed is confirmed at
                                  once */
    const char *const *spaces; /* names; the first is the default one */
    size_t space_count;        /* 0: one, "main" */
    const char *user;          /* whose documents those of HD_SCOPE_USER are */
    /* The name under which it commits; NULL: a new, unique one. At most one
     * runtime per directory and user has a name at a time; the next one is
     * refused with HD_SESSION_IN_USE. */
    const char *session;
    hd_durability durability;

    /* The clock, in milliseconds, never 0 and never backwards; and how to wait
     * until an instant on it, or less long. `wait` is of use only together
     * with `now`: without it the time of the system is waited for. */
    uint64_t (*now)(void *context);
    void (*wait)(void *context, uint64_t until);
    void *clock_context;

    /* 64 bits that nobody can guess. */
    uint64_t (*random)(void *context);
    void *random_context;

    /* One complete line a call, without a newline. */
    void (*log)(void *context, hd_log_level level, const char *line);
    void *log_context;
    hd_log_level log_level; /* the last that is wanted */

    /* What failed while nobody waited for it: a run, or a write that the store
     * refused later. error->address says whose. HD_NOT_SETTLED: computations
     * or effects form a cycle that does not settle; once per cycle. */
    void (*report)(void *context, const hd_error *error);
    void *report_context;

    /* Asked between two parts of long work; false ends the call with
     * HD_INTERRUPTED. */
    bool (*progress)(void *context, const hd_progress *progress);
    void *progress_context;

    /* Events: at most so many wait for one stream; 0: 10000. The next one is
     * refused with HD_BACKLOG, unless the handler of the stream has
     * `collapses`. */
    uint32_t backlog;
    bool lane_a_space; /* events of different spaces do not wait for each
                          other */

    /* Of a directory that is there, with its spaces: cells are read, sinks and
     * effects see what others commit, and nothing is written or created.
     * Writes, events, computations, handlers and the start of a piece are
     * refused with HD_READ_ONLY. */
    bool read_only;

    /* At most so many events in a chain of which each was caused by the handler
     * of the one before: sent by it, or by an effect that what it wrote made
     * run; 0: 10000. The handler or effect that sends the next one fails with
     * HD_LIMIT_HOPS, which is reported: nodes that send to each other do not
     * run for ever. */
    uint32_t hops;
} hd_runtime_options;

/* A new runtime, with its spaces open. It belongs to the calling thread.
 * `options` may be NULL. HD_ARGUMENT: a name is not usable, or comes twice;
 * HD_IO and its like: a file cannot be had; HD_BUSY: it is to be made, and
 * another process holds it for too long; HD_NOT_FOUND: it is not there, and
 * `read_only` makes none. Runtimes in the same directory, of this process or
 * others, share its spaces. Any thread. */
HD_API hd_status hd_runtime_open(const hd_runtime_options *options,
                                 hd_runtime **runtime,
                                 hd_error *error);

/* Ends everything that runs. First, until the deadline, what was done is
 * brought to its store; HD_NOW does not wait. HD_TIMEOUT: it was not enough,
 * and error->may_have_happened; the runtime is closed in this case, too.
 * HD_MISUSE from inside a run or a callback: it stays open. Every handle of it
 * answers HD_CLOSED from now on; the handles are released as before. */
HD_API hd_status hd_runtime_close(hd_runtime *runtime,
                                  uint64_t deadline,
                                  hd_error *error);

/* Releases the handle. One that is open is closed as by HD_NOW. Other handles
 * of the runtime may be released before or after. NULL is harmless. From
 * another thread, or from inside a run, it does nothing. */
HD_API void hd_runtime_free(hd_runtime *runtime);

/* The calling thread is the one that the runtime belongs to from now on, with
 * all its handles and with all values that came from it. The thread before it
 * must have ended its last call, and must not begin another. HD_MISUSE from
 * inside a run.
 * Any thread. */
HD_API hd_status hd_runtime_move(hd_runtime *runtime);

/* Another space, that is open as long as the runtime is. HD_ARGUMENT if it is
 * open already, which may also be because a link or a child led there
 * (hd_build_piece_in). */
HD_API hd_status hd_runtime_open_space(hd_runtime *runtime,
                                       const char *space,
                                       hd_error *error);

/* -- A loop of one's own --------------------------------------------------- */

/* Runs what can run at `now` (HD_NOW: ask the clock), sends what is to be sent
 * and takes what has come. Returns when there is nothing to do at `now`, or
 * with HD_INTERRUPTED. An earlier `now` than before counts as the one
 * before. Never waits: if another process holds the write lock of a space, what
 * was committed is sent by a later step, for which the descriptor and the next
 * wake ask. */
HD_API hd_status hd_runtime_step(hd_runtime *runtime,
                                 uint64_t now,
                                 hd_error *error);

/* The instant at which it wants to be stepped again, whatever comes: HD_NOW
 * or a past one means at once, HD_NEVER not at all. */
HD_API hd_status hd_runtime_next_wake(hd_runtime *runtime, uint64_t *wake);

/* The same as a number of milliseconds from now, rounded up, as poll() takes
 * it: 0 at once, -1 never. */
HD_API hd_status hd_runtime_timeout(hd_runtime *runtime, int *timeout);

/* A descriptor that is readable when the runtime should be stepped earlier:
 * another runtime has committed, or hd_interrupt was called. For poll() and
 * its like; nobody reads from it. It is the runtime's, as long as that is
 * open. */
HD_API hd_status hd_runtime_fd(hd_runtime *runtime, int *descriptor);

HD_API hd_status hd_runtime_now(hd_runtime *runtime, uint64_t *now);

/* -- Waiting --------------------------------------------------------------- */

/* Waits until there is something to do, and steps. HD_TIMEOUT: nothing came
 * before the deadline. HD_INTERRUPTED: hd_interrupt. */
HD_API hd_status hd_runtime_wait(hd_runtime *runtime,
                                 uint64_t deadline,
                                 hd_error *error);

/* Steps until nothing can run, and no event waits. Effects, and computations
 * that did not settle, are waited for if they wait for their time. A
 * computation that has run before and waits for its debounce or throttle is
 * not: what it writes may be stale then (hd_cell_pull reads it up to date).
 * HD_TIMEOUT, HD_INTERRUPTED. */
HD_API hd_status hd_runtime_idle(hd_runtime *runtime,
                                 uint64_t deadline,
                                 hd_error *error);

/* The same, until also every commit has its answer from its store: what
 * succeeded is on disk then. */
HD_API hd_status hd_runtime_settled(hd_runtime *runtime,
                                    uint64_t deadline,
                                    hd_error *error);

/* Ends a call of hd_runtime_step, _wait, _idle, _settled or _close that is
 * under way with HD_INTERRUPTED, between two runs; if none is, the next one of
 * them. Nothing is lost by it. The runtime must not be freed at the same time.
 * Any thread, and signal handlers. */
HD_API hd_status hd_interrupt(hd_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif
