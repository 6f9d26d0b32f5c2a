/* A runtime on a data directory: its spaces are files, its clock is the
 * system's, and other processes may use the same files.
 *
 *   struct live *live;
 *   err = live_open(&options, &live, &detail);
 *   ... nodes and events on live_runtime(live) ...
 *   while (!done) {
 *       live_step(live);
 *       live_wait(live, MONO_NEVER);
 *   }
 *   err = live_stop(live, live_now(live) + 5000, &detail);
 *
 *   live-1  Nothing happens between two calls. A step takes in commits of other
 *           processes, runs what can run, and hands this runtime's commits to
 *           the stores at the end of each pass: per space as one group, in one
 *           SQL transaction. A group has at most SESSION_BATCH_MAX commits: a
 *           longer backlog, as after waiting for the write lock, becomes
 *           several, and a kill leaves a prefix of it. A confirmed commit is as
 *           durable as the options ask for.
 *   live-2  A waiting or stepping process sees a commit of another process at
 *           most LIVE_POLL_MS after it has landed. Waiting costs nothing: the
 *           system reports writes to the lock file, which follow each commit
 *           (store/write_lock.h). Where it does not, waiting polls one word of
 *           shared memory every LIVE_POLL_MS. The last commit of a process that
 *           was killed right after it is seen after LIVE_QUIET_MS.
 *   live-3  A failing or full disk is a *trouble*: it is reported once, and
 *           once more when it is over. Nothing is lost while the process lives:
 *           commits stay visible here, unconfirmed, and are retried at least
 *           once per LIVE_RETRY_MS. Loading waits likewise. A damaged file
 *           (ERR_CORRUPT) is a trouble, too; waiting does not repair it, so a
 *           host should exit.
 *   live-4  A session belongs to one runtime at a time. The default is a
 *           globally unique name. A given name is claimed
 *           (host/session_lock.h), and its session continues where it was:
 *           SESSION_IN_USE while another runtime has it. A read-only runtime
 *           claims nothing.
 *   live-5  A live host belongs to one thread, except for live_interrupt.
 *           Several of them may use one directory, also in one process.
 *   live-6  A space that pieces of another space read keeps rows about them, so
 *           that a commit there finds the pieces to wake (host/mirrors.h). They
 *           are written at the end of a step that has nothing more to do.
 *   live-8  No call waits for the write lock of a space. A step asks for it. If
 *           another process has it, the commits wait in the queue of the lock
 *           file, and the host is woken when it is their turn. Reading needs no
 *           lock. If the lock is unavailable for LIVE_BUSY_MS, or its holder
 *           was stopped by a signal, that is a trouble (live-3) that names the
 *           process. Only the creation of a space waits for other processes, in
 *           live_open and live-10.
 *   live-9  A commit that was refused because of a conflict is run again and
 *           committed before any other process commits, unless that takes
 *           longer than the others wait (store/write_lock.h, lock-3, lock-4).
 *   live-7  Without a folder there is no store: no other process could see it,
 *           and it would not survive. A space then decides about its own
 *           commits; they are confirmed at once and leave no history.
 *   live-10  A space is opened when a link or a stored event refers to it, and
 *            created when a piece declares or launches a child there (piece-8
 *            of runtime/piece.h); on its main branch. It stays open.
 *
 *   live-11  The spaces may be on a server (host/remote.h) instead of a folder.
 *            Then opening a space, loading and questions wait for answers, at
 *            most until the deadline of the caller or `connect_ms`; everything
 *            else goes on. A server that cannot be reached is a trouble
 *            (live-3) after LIVE_BUSY_MS; commits wait, and are sent again when
 *            it is back. The user is the one that the server knows.
 *
 * For your own event loop, instead of live_wait: wait until live_fd is readable
 * or live_next_wake has come, then step. */

#ifndef HOST_LIVE_H
#define HOST_LIVE_H

#include "base/host.h"
#include "base/log.h"
#include "host/data_dir.h"
#include "runtime/runtime.h"
#include "store/database.h"

struct engine;
struct live;
struct remote;
struct wake_outside;

enum {
    LIVE_POLL_MS = 20,       /* live-2 */
    LIVE_QUIET_MS = 1000,    /* between polls for unreported commits */
    LIVE_RETRY_MS = 1000,    /* live-3; plus up to a fifth */
    LIVE_STEP_MS = 200,      /* a step with more to do returns after this */
    LIVE_BUSY_MS = 1000,     /* live-8 */
    LIVE_CONNECT_MS = 10000, /* live-11 */
    LIVE_ANSWER_MS = 10000,  /* likewise, of a server that is there */
    LIVE_ATTEMPT_MS = 100,   /* between attempts to reach a server, of a caller
                                that waits for it */
};

/* A zero field means none or the default. Everything is borrowed for the call,
 * except the log, the policy and the functions with a `ctx`. */
struct live_options {
    const char *folder;          /* NULL: private, in memory */
    struct remote *remote;       /* a server instead (live-11). Taken over, also
                                    if the call fails */
    mono_ms connect_ms;          /* default LIVE_CONNECT_MS */
    enum data_dir_access access; /* default DATA_DIR_CREATE */
    const char *user;            /* NULL: anonymous */
    const char *session;         /* NULL: a new one (live-4) */
    enum durability durability;
    const char *const *spaces; /* names; the first is the default one */
    size_t space_count;        /* 0: one, "main" */
    const char *branch;        /* of the first space; NULL: the main one */
    struct sched_hooks hooks;
    bool immediate; /* no debounce or throttle applies (gates-4) */
    const struct events_policy *policy;
    const struct log *log;

    /* live-3. A trouble of a space has begun; or is over, then `trouble` is
     * NULL. Called at the end of a step. */
    void (*on_trouble)(void *ctx,
                       struct space *space,
                       const struct err_detail *trouble);

    /* Of runtime->resume: struct resume_pages_source. */
    bool (*on_progress)(void *ctx, uint64_t actions, uint64_t total);

    /* Polled while live_open waits (live-8); true: it ends with BUSY. */
    bool (*interrupted)(void *ctx);
    void *ctx;

    /* Work outside the runtime (host/wake.h), which each step does first, until
     * live_flush or the end. */
    const struct wake_outside *outside;

    /* For tests. */
    struct host *host; /* replaces the system's clock and randomness */
    const char *vfs;   /* of SQLite */
};

/* Errors: those of data_dir.h, ARGUMENT for names, SESSION_IN_USE, faults.
 * Nothing stays open then. A directory that was created stays. */
MUST_CHECK enum err live_open(const struct live_options *options,
                              struct live **out,
                              struct err_detail *detail);

/* Opens another space, or returns it if it is open. */
MUST_CHECK enum err live_open_space(struct live *live,
                                    const char *name,
                                    struct space **out,
                                    struct err_detail *detail);

struct runtime *live_runtime(struct live *live);

/* The names of this session and of its user (or absent); borrowed. */
struct value live_session(const struct live *live);
struct value live_user(const struct live *live);

mono_ms live_now(const struct live *live);

/* Other processes see this one from now on (host/presence.h), until it ends;
 * `about` as there. An error says why they do not; all else works. */
MUST_CHECK enum err live_begin_presence(struct live *live,
                                        struct value about,
                                        struct err_detail *detail);

/* Asks the server of this host about its first space (host/questions.h); the
 * answer is new. ARGUMENT: it has no server. */
MUST_CHECK enum err live_ask(struct live *live,
                             struct value question,
                             struct value *answer,
                             struct err_detail *detail);

/* The engine of an open space, for queries that only it can answer (history,
 * listings), or NULL: it has none (live-7, live-11). Commits go through the
 * runtime. */
struct engine *live_engine(struct live *live, struct value space);

/* -- Running ------------------------------------------------------------- */

/* live-1. Whether anything ran. */
bool live_step(struct live *live);

/* When to step again, if nothing else happens. */
mono_ms live_next_wake(const struct live *live);

/* Readable when a step has work, or after an interrupt. */
int live_fd(struct live *live);

enum live_woken {
    LIVE_WORK,        /* there may be work: step */
    LIVE_DEADLINE,    /* the deadline has come */
    LIVE_INTERRUPTED, /* by live_interrupt, which is cleared */
};

/* Sleeps until there is work, or a signal has been handled. */
enum live_woken live_wait(struct live *live, mono_ms deadline);

/* From now on, a step after the deadline ends after the current run;
 * MONO_NEVER: no deadline. And whether it has passed, or an interrupt is
 * pending: for long runs. */
void live_set_deadline(struct live *live, mono_ms deadline);
bool live_is_due(const struct live *live);

/* Ends a wait, and shortens the current or the next step. From a signal handler
 * or another thread. */
void live_interrupt(struct live *live);

/* Whether an interrupt is pending; clears it. */
bool live_take_interrupt(struct live *live);

enum live_rest {
    LIVE_AT_REST,
    LIVE_NOT_IN_TIME, /* live_trouble may say why */
    LIVE_STOPPED,     /* interrupted */
};

/* Steps and waits until it is idle, all requested documents are loaded, and
 * every commit is confirmed or refused. */
enum live_rest live_settle(struct live *live, mono_ms deadline);

/* Takes in what other processes have committed up to now. */
void live_refresh(struct live *live);

/* Loads a document, unless it is loaded. Returns the trouble, if there is one.
 */
MUST_CHECK enum err live_load(struct live *live,
                              struct entity *entity,
                              struct err_detail *detail);

/* The same for all requested documents. */
MUST_CHECK enum err live_load_requested(struct live *live,
                                        struct err_detail *detail);

/* The trouble of any space (live-3), with its name, or NULL. */
const struct err_detail *live_trouble(const struct live *live);

/* Commits without a verdict. */
size_t live_outstanding(const struct live *live);

/* -- Ending -------------------------------------------------------------- */

/* Waits until every commit has its verdict. Nothing runs meanwhile, so it ends
 * even if the graph never becomes idle. */
enum live_rest live_flush(struct live *live, mono_ms deadline);

/* Flushes, and ends the host in any case. OK: every commit had its verdict.
 * Otherwise some are lost, and the message says how many and why. */
MUST_CHECK enum err live_stop(struct live *live,
                              mono_ms deadline,
                              struct err_detail *detail);

/* Ends it at once, as a crash would: unconfirmed commits are lost. May be NULL.
 */
void live_drop(struct live *live);

/* Whether all work is done and confirmed. */
bool live_is_at_rest(const struct live *live);

#endif
