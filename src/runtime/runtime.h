/* A runtime: a replica and a scheduler that work as one.
 *
 *   struct runtime runtime;
 *   runtime_init(&runtime, &options);
 *   runtime_open(&runtime, &space_options, &space, &detail);
 *   ... cells (runtime/cell.h), nodes and events (sched/scheduler.h) ...
 *   runtime_step(&runtime, now);
 *   runtime_next_wake(&runtime)
 *   runtime_release(&runtime);
 *
 *   U1  Between two steps nothing happens but what is called. A step sends what
 *       is to be sent, takes what has come, and runs what can run at `now`.
 *   U2  It does no I/O and reads no clock: spaces reach their stores through a
 *       transport that the host gives, and time is an argument.
 *   U3  One runtime belongs to one thread. */

#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "collection/collection.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "runtime/resume_set.h"
#include "runtime/stored_events.h"
#include "sched/events.h"
#include "sched/scheduler.h"

struct clock;
struct piece;
struct schemas;
struct followed_pieces;

/* Brings a document here that nodes rely on without having it (N4 of
 * replica/entity.h), if that can be done now: for who looks from outside. */
typedef void runtime_fetch_fn(void *ctx, struct entity *entity);

/* Takes in what other sessions have committed up to now, as far as that can be
 * done at once. */
typedef void runtime_refresh_fn(void *ctx);

/* Opens a space of this runtime's stores that is not open. `create`: it is made
 * if it is not there; otherwise that is NOT_FOUND. ARGUMENT: the name. May be
 * called inside of a run. */
typedef enum err runtime_open_space_fn(void *ctx,
                                       struct value name,
                                       bool create,
                                       struct space **out,
                                       struct err_detail *detail);

/* A piece that was started because of its parent in another space
 * (runtime/piece_elsewhere.c) could not be. `name` is its own. */
typedef void runtime_not_started_fn(void *ctx,
                                    struct value name,
                                    const struct err_detail *why);

/* Finds the pattern of a piece that is started without one, by what its
 * document says of it (runtime/piece.h). NULL: *detail says why. Borrowed. */
typedef struct pattern *runtime_pattern_fn(void *ctx,
                                           struct value about,
                                           struct err_detail *detail);

/* A sentence for people about a piece: it is started with a pattern that has
 * changed (runtime/change.h, runtime/migration.h), or what waited for it was
 * dropped (stored-7 of runtime/stored_events.h). */
typedef void runtime_notice_fn(void *ctx,
                               const struct piece *piece,
                               const char *sentence);

/* Transactions from outside of runs that have not ended: runtime/own_write.h.
 */
struct own_writes {
    struct list list; /* struct own_write */
    /* A write to a cell was refused for good; or NULL. */
    void (*report)(void *ctx,
                   const struct place *place,
                   const struct err_detail *said);
    void *report_ctx;
};

/* Which of the runtimes on the same stores does a task (runtime/task.h,
 * task-5). All NULL: this one does. */
struct task_claims {
    /* The claim to the work with that key, until it is given back; NULL:
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
    runtime_forget_fn *forget; /* and that nobody wants to know; or NULL */
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
    mono_ms tasks_due;          /* when the first of them wants to be seen to */
    struct task_claims task_claims;
    VEC(const struct task_kind *) task_kinds; /* runtime/task_kind.h */
    struct list forgettings; /* struct forgetting: spread_children.c */
    struct digest
        version;          /* what this runtime is to what stores know of runs */
    bool pieces_asked;    /* for documents, since the last look: piece.c */
    bool without_effects; /* R6 of runtime/piece.h; to be set before pieces
                             are started */
    bool leaves_events;   /* takes up no stored events; likewise */
    bool without_clocks;  /* they show what is stored: for reading only */
};

/* A zero field means none or the default. */
struct runtime_options {
    const struct log *log;
    struct host *host; /* tells how long runs take */
    struct sched_hooks hooks;
    bool immediate; /* no debounce or throttle applies (sched/gates.h, T4) */
    const struct events_policy *policy; /* NULL: the default */
    struct value instance;              /* sched/events.h; borrowed */
    struct value user;         /* whose runtime it is: a string, or absent */
    runtime_resume_fn *resume; /* NULL: every piece begins anew */
    runtime_forget_fn *forget; /* NULL: nothing is forgotten */
    runtime_forget_nodes_fn *forget_nodes; /* likewise */
    void *resume_ctx;
    runtime_fetch_fn *fetch;     /* NULL: what has not come is not there */
    runtime_refresh_fn *refresh; /* NULL: what others did comes by itself */
    runtime_open_space_fn *open_space;         /* NULL: there are no others */
    void *fetch_ctx;                           /* of the three */
    struct stored_events_source stored_events; /* all NULL: none are taken up */
    struct task_claims task_claims;
    sched_interrupted_fn *interrupted; /* P6 of sched/settle.h; NULL: never */
    void *interrupted_ctx;
};

void runtime_init(struct runtime *runtime,
                  const struct runtime_options *options);

/* Everything ends at once, as in a crash: what is outstanding is nobody's any
 * more. */
void runtime_release(struct runtime *runtime);

/* Another space; borrowed. */
MUST_CHECK enum err runtime_open(struct runtime *runtime,
                                 const struct space_options *options,
                                 struct space **out,
                                 struct err_detail *detail);

/* The space of that name, or NULL. */
struct space *runtime_space(const struct runtime *runtime, struct value name);

/* The same; one that is not open is opened (runtime_open_space_fn). */
MUST_CHECK enum err runtime_need_space(struct runtime *runtime,
                                       struct value name,
                                       bool create,
                                       struct space **out,
                                       struct err_detail *detail);

/* U1. The first one runs one pass (sched/scheduler.h) and says whether there
 * was anything to do; the second as many as there is work for. */
bool runtime_pass(struct runtime *runtime, mono_ms now);
void runtime_step(struct runtime *runtime, mono_ms now);
mono_ms runtime_next_wake(const struct runtime *runtime);

/* Nothing runs, can run, or is waited for that is worth it (scheduler_is_idle),
 * and all pieces have been started. */
bool runtime_is_idle(const struct runtime *runtime);

#endif
