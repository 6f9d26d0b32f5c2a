/* A runtime for real: its spaces are files in a data directory, its clock is
 * the system's, and other processes may be at work on the same files.
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
 *   L1  Nothing happens between two calls. A step takes what others have
 *       committed, runs what can run, and hands what this runtime has committed
 *       to the stores: for each space as one group, in one SQL transaction, at
 *       the end of each pass. What is confirmed is as durable as was asked for.
 *   L2  A commit of another process is seen LIVE_POLL_MS after it has landed,
 *       or earlier, if this one waits or steps. Who waits does so at no cost:
 *       the system tells of writes to the lock file, which follow each commit
 *       (store/write_lock.h). Where it does not, the waiting looks every
 *       LIVE_POLL_MS, which compares one word of shared memory. The last commit
 *       of a process that was killed at once is seen after LIVE_QUIET_MS.
 *   L3  A disk that fails, or is full, is a *trouble*: reported once, and once
 *       when it is over. Nothing is lost meanwhile, as long as the process
 *       lives: what is committed stays visible here, unconfirmed, and is tried
 *       again at least once in LIVE_RETRY_MS. Loading waits likewise. A
 *       damaged file (ERR_CORRUPT) is a trouble, too; waiting does not mend it,
 *       and a host should end.
 *   L4  A session belongs to one runtime at a time. The default is a name that
 *       no other has or ever had. A name that is given is claimed
 *       (host/claim.h) and continues where it was: SESSION_IN_USE while
 *       another runtime has it. A runtime that only reads claims nothing.
 *   L5  One live host belongs to one thread, live_interrupt excepted. Several
 *       of them may be on one directory, also in one process.
 *   L6  A space that is read by pieces of another one knows them, so that what
 *       lands there finds whom to wake (host/mirrors.h): it is told at the end
 *       of a step that has nothing more to do.
 *   L8  No call waits for the write lock of a space. A step asks for it, and if
 *       another process has it, the commits wait here, in the queue of the lock
 *       file, and the host is woken when it is their turn. Reading needs no
 *       lock. When the lock is not to be had for LIVE_BUSY_MS, or its holder
 *       was stopped by a signal, that is a trouble (L3), with the process. Only
 *       the creation of a space waits for other processes, in live_open and
 *       L10.
 *   L9  A commit that was refused because of a conflict is run again and
 *       committed before any other process commits, unless that takes longer
 *       than the others wait (store/write_lock.h, lock-3, lock-4).
 *   L7  Without a folder there is no store either: nobody else could see it
 *       and nothing of it survives. A space is its own authority then; what
 *       is committed is confirmed at once, and leaves no history.
 *   L10 A space is opened when a link or a stored event leads there, and made
 *       when a piece is to have a child there (R8 of runtime/piece.h); on its
 *       main branch. It stays open.
 *
 * For a loop of one's own, instead of live_wait: wait until live_fd is readable
 * or live_next_wake has come, then step. */

#ifndef HOST_LIVE_H
#define HOST_LIVE_H

#include "base/host.h"
#include "base/log.h"
#include "host/folder.h"
#include "runtime/runtime.h"
#include "store/database.h"

struct engine;
struct live;
struct wake_outside;

enum {
    LIVE_POLL_MS = 20,    /* L2 */
    LIVE_QUIET_MS = 1000, /* how often it is looked for what nobody tells */
    LIVE_RETRY_MS = 1000, /* L3; plus up to a fifth */
    LIVE_STEP_MS = 200,   /* a step that has more to do returns after this */
    LIVE_BUSY_MS = 1000,  /* L8 */
};

/* A zero field means none or the default. Everything is borrowed for the call,
 * but for the log, the policy and those with a `ctx`. */
struct live_options {
    const char *folder;        /* NULL: in memory, and nobody else sees it */
    enum folder_access access; /* default FOLDER_CREATE */
    const char *user;          /* NULL: nobody in particular */
    const char *session;       /* NULL: a new one (L4) */
    enum durability durability;
    const char *const *spaces; /* names; the first is the default one */
    size_t space_count;        /* 0: one, "main" */
    const char *branch;        /* of the first space; NULL: the main one */
    struct sched_hooks hooks;
    bool immediate; /* no debounce or throttle applies (sched/gates.h, T4) */
    const struct events_policy *policy;
    const struct log *log;

    /* L3. A trouble of a space has begun; or is over, then `trouble` is NULL.
     * Called at the end of a step. */
    void (*on_trouble)(void *ctx,
                       struct space *space,
                       const struct err_detail *trouble);

    /* Of runtime->resume: struct pages_source. */
    bool (*on_progress)(void *ctx, uint64_t actions, uint64_t total);

    /* Asked while live_open waits (L8); true: it ends with BUSY. */
    bool (*interrupted)(void *ctx);
    void *ctx;

    /* Work outside (host/wake.h), which each step does first, until live_flush
     * or the end. */
    const struct wake_outside *outside;

    /* For tests. */
    struct host *host; /* instead of the system: its clock and randomness */
    const char *vfs;   /* SQLite's way to the disk */
};

/* Errors: what folder.h says, ARGUMENT for names, SESSION_IN_USE, faults.
 * Nothing stays open then. A directory that was made stays. */
MUST_CHECK enum err live_open(const struct live_options *options,
                              struct live **out,
                              struct err_detail *detail);

/* Another space; the one that is there if it is open. */
MUST_CHECK enum err live_open_space(struct live *live,
                                    const char *name,
                                    struct space **out,
                                    struct err_detail *detail);

struct runtime *live_runtime(struct live *live);

/* The names of this session and of its user (or absent); borrowed. */
struct value live_session(const struct live *live);
struct value live_user(const struct live *live);

mono_ms live_now(const struct live *live);

/* The engine of an open space, for questions that only it can answer
 * (history, listings), or NULL: it has none (L7). Commits go through the
 * runtime. */
struct engine *live_engine(struct live *live, struct value space);

/* -- Running ------------------------------------------------------------- */

/* L1. Whether anything ran. */
bool live_step(struct live *live);

/* When it wants to be stepped again, if nothing else happens. */
mono_ms live_next_wake(const struct live *live);

/* Readable when there is something to step for, or it was interrupted. */
int live_fd(struct live *live);

enum live_woken {
    LIVE_WORK,        /* there may be something to do: step */
    LIVE_DEADLINE,    /* the deadline has come */
    LIVE_INTERRUPTED, /* by live_interrupt, which is done with now */
};

/* Sleeps until there is something to do, or a signal has been handled. */
enum live_woken live_wait(struct live *live, mono_ms deadline);

/* From now on steps end after the run at hand when it is later than that;
 * MONO_NEVER: they do not. And whether that is so, or an interrupt waits: for
 * runs that take long. */
void live_set_deadline(struct live *live, mono_ms deadline);
bool live_is_due(const struct live *live);

/* Ends what waits, and shortens a step: the one that is under way, or the
 * next. From a signal handler or another thread. */
void live_interrupt(struct live *live);

/* Whether it was; that is done with now. */
bool live_take_interrupt(struct live *live);

enum live_rest {
    LIVE_AT_REST,
    LIVE_NOT_IN_TIME, /* live_trouble may say why */
    LIVE_STOPPED,     /* interrupted */
};

/* Steps and waits until it is idle, everything that was asked for is here, and
 * every commit is confirmed or refused. */
enum live_rest live_settle(struct live *live, mono_ms deadline);

/* Takes in what other processes have committed up to now. */
void live_refresh(struct live *live);

/* Brings a document here, if it is not. What the trouble is, if there is
 * one. */
MUST_CHECK enum err live_load(struct live *live,
                              struct entity *entity,
                              struct err_detail *detail);

/* The same for all documents that were requested. */
MUST_CHECK enum err live_load_requested(struct live *live,
                                        struct err_detail *detail);

/* The trouble of any space (L3), with its name, or NULL. */
const struct err_detail *live_trouble(const struct live *live);

/* Commits that have no answer. */
size_t live_outstanding(const struct live *live);

/* -- Leaving ------------------------------------------------------------- */

/* Waits until every commit has its answer; nothing runs any more meanwhile, so
 * it ends also where nothing ever comes to rest. */
enum live_rest live_flush(struct live *live, mono_ms deadline);

/* Flushes, and ends it in any case. OK: every commit had its answer. Otherwise
 * some are lost, and the sentence says how many and why. */
MUST_CHECK enum err live_stop(struct live *live,
                              mono_ms deadline,
                              struct err_detail *detail);

/* Ends it at once, as a crash would: what was not confirmed is lost. May be
 * NULL. */
void live_drop(struct live *live);

/* Whether all that was to be done is done, and confirmed. */
bool live_is_at_rest(const struct live *live);

#endif
