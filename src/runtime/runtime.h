/* A runtime: a replica and a scheduler that work as one.
 *
 *   struct runtime runtime;
 *   runtime_init(&runtime, &options);
 *   runtime_open(&runtime, &space_options, &space, &detail);
 *   ... cells (runtime/cell.h), nodes and events (sched/sched.h) ...
 *   runtime_step(&runtime, now);
 *   runtime_next_wake(&runtime)
 *   runtime_release(&runtime);
 *
 *   runtime-1  Between two steps nothing happens except in calls. A step sends
 *              pending messages, processes received ones, and runs what can run
 *              at `now`.
 *   runtime-2  A runtime does no I/O and reads no clock: spaces reach their
 *              stores through a transport of the host, and time is an argument.
 *   runtime-3  A runtime belongs to one thread. */

#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "collection/collection.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "runtime/resume_set.h"
#include "runtime/stored_events.h"
#include "sched/events.h"
#include "sched/sched.h"

struct clock;
struct piece;
struct schemas;
struct followed_pieces;

/* Loads a document that nodes rely on without having it (entity-4 of
 * replica/entity.h), if possible now: for reads outside runs. */
typedef void runtime_fetch_fn(void *ctx, struct entity *entity);

/* Applies what other sessions have committed up to now, as far as possible
 * without waiting. */
typedef void runtime_refresh_fn(void *ctx);

/* Opens a space of this runtime's stores that is not open. `create`: it is
 * created if it does not exist; otherwise that is NOT_FOUND. ARGUMENT: the
 * name. May be called inside a run. */
typedef enum err runtime_open_space_fn(void *ctx,
                                       struct value name,
                                       bool create,
                                       struct space **out,
                                       struct err_detail *detail);

/* A child of a parent in another space (runtime/piece_elsewhere.c) could not be
 * started. `name` is that of the child. */
typedef void runtime_not_started_fn(void *ctx,
                                    struct value name,
                                    const struct err_detail *why);

/* Finds the pattern of a piece that is started without one, from the content of
 * its document (runtime/piece.h). NULL: *detail says why. Borrowed. */
typedef struct pattern *runtime_pattern_fn(void *ctx,
                                           struct value about,
                                           struct err_detail *detail);

/* A sentence for people about a piece: it is started with a changed pattern
 * (runtime/change.h, runtime/migration.h), or an event that waited for it was
 * dropped (stored-7 of runtime/stored_events.h). */
typedef void runtime_notice_fn(void *ctx,
                               const struct piece *piece,
                               const char *sentence);

/* Transactions outside runs that have not ended: runtime/own_write.h. */
struct own_writes {
    struct list list; /* struct own_write */
    /* A write to a cell was refused permanently; or NULL. */
    void (*report)(void *ctx,
                   const struct place *place,
                   const struct err_detail *said);
    void *report_ctx;
};

/* Decides which of the runtimes on the same stores does a task (task-5 of
 * runtime/task.h). All NULL: this one does. */
struct task_claims {
    /* Claims the work with that key, until the claim is given back; NULL:
     * another runtime has it. */
    void *(*take)(void *ctx, struct value key);
    void (*give_back)(void *ctx, void *claim);
    void *ctx;
};

struct runtime {
    struct replica replica;
    struct sched *sched;
    struct schemas *schemas; /* runtime/schemas.h; or NULL: there are none */
    struct followed_pieces *followed; /* runtime/piece_schemas.h; or NULL */
    struct collections collections;
    VEC(struct space *)
    spaces;                    /* in the order of their opening; the first is
                                  the default */
    runtime_resume_fn *resume; /* what stores know of a piece; or NULL */
    runtime_forget_fn *forget; /* and that it is useless now; or NULL */
    runtime_forget_nodes_fn *forget_nodes; /* likewise */
    void *resume_ctx;                      /* of both */
    runtime_fetch_fn *fetch;               /* or NULL */
    runtime_refresh_fn *refresh;           /* or NULL */
    runtime_open_space_fn *open_space;     /* or NULL */
    void *fetch_ctx;                       /* of the three */
    VEC(struct pattern *) patterns;        /* runtime/pattern.h */
    struct list pieces;                    /* struct piece: runtime/piece.h */
    struct list launches;                  /* likewise: piece_launch.c */
    struct list owners;                    /* struct owner: runtime/owner.c */
    runtime_pattern_fn *pattern_of;        /* or NULL */
    void *pattern_ctx;
    runtime_notice_fn *notice; /* or NULL */
    void *notice_ctx;
    runtime_not_started_fn *not_started; /* or NULL */
    void *not_started_ctx;
    struct own_writes own_writes;
    struct stored_events stored_events;
    VEC(struct clock *) clocks; /* runtime/clock.h */
    struct list tasks;          /* struct task: runtime/task.c */
    mono_ms tasks_due;          /* when the first of them is due */
    struct task_claims task_claims;
    VEC(const struct task_kind *) task_kinds; /* runtime/task_kind.h */
    struct list forgettings; /* struct forgetting: keyed_list_children.c */
    struct digest version; /* of this runtime, for the runs that stores know */
    bool pieces_asked;     /* for documents, since the last look: piece.c */
    bool without_effects;  /* piece-6 of runtime/piece.h; to be set before
                              pieces are started */
    bool leaves_events;    /* takes up no stored events; likewise */
    bool without_clocks;   /* they show what is stored: for reading only */
};

/* A zero field means none or the default. */
struct runtime_options {
    const struct log *log;
    struct host *host; /* measures runs */
    struct sched_hooks hooks;
    bool immediate; /* no debounce or throttle applies (sched/gates.h,
                       gates-4) */
    const struct events_policy *policy; /* NULL: the default */
    struct value instance;              /* sched/events.h; borrowed */
    struct value user;         /* of the runtime: a string, or absent */
    runtime_resume_fn *resume; /* NULL: every piece starts fresh */
    runtime_forget_fn *forget; /* NULL: nothing is forgotten */
    runtime_forget_nodes_fn *forget_nodes; /* likewise */
    void *resume_ctx;
    runtime_fetch_fn *fetch;     /* NULL: unloaded documents are absent */
    runtime_refresh_fn *refresh; /* NULL: other commits arrive by themselves */
    runtime_open_space_fn *open_space;         /* NULL: there are no others */
    void *fetch_ctx;                           /* of the three */
    struct stored_events_source stored_events; /* all NULL: none are taken up */
    struct task_claims task_claims;
    sched_interrupted_fn *interrupted; /* settle-6 of sched/settle.h; NULL:
                                          never */
    void *interrupted_ctx;
};

void runtime_init(struct runtime *runtime,
                  const struct runtime_options *options);

/* Ends everything at once, as in a crash: the verdicts of pending commits are
 * dropped. */
void runtime_release(struct runtime *runtime);

/* Opens another space; borrowed. */
MUST_CHECK enum err runtime_open(struct runtime *runtime,
                                 const struct space_options *options,
                                 struct space **out,
                                 struct err_detail *detail);

/* The space of that name, or NULL. */
struct space *runtime_space(const struct runtime *runtime, struct value name);

/* The same; opens the space if it is not open (runtime_open_space_fn). */
MUST_CHECK enum err runtime_need_space(struct runtime *runtime,
                                       struct value name,
                                       bool create,
                                       struct space **out,
                                       struct err_detail *detail);

/* runtime-1. The first function runs one pass (sched/sched.h) and returns
 * whether there was any work; the second runs passes while there is. */
bool runtime_pass(struct runtime *runtime, mono_ms now);
void runtime_step(struct runtime *runtime, mono_ms now);
mono_ms runtime_next_wake(const struct runtime *runtime);

/* Nothing runs, can run, or is worth waiting for (sched_is_idle), and all
 * pieces have been started. */
bool runtime_is_idle(const struct runtime *runtime);

#endif
