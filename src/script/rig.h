/* A rig: one runtime of a test.
 *
 * A trial is one test that runs: a world (host/world.h) and the rigs in it. A
 * rig is a stage (script/stage.h) on a runtime of that world, with what a test
 * wants to know: what was reported, what was done wrong, how often. It is
 * dropped by rt:restart() or with its trial. */

#ifndef SCRIPT_RIG_H
#define SCRIPT_RIG_H

#include "host/world.h"
#include "script/stage.h"

struct checks;
struct task_kind;

/* One test that runs. */
struct trial {
    struct heddle *heddle;
    struct world *world;
    uint64_t seed;
    uint64_t number;       /* no other trial of this process has it */
    struct list rigs;      /* struct rig */
    struct checks *checks; /* its `t`, or NULL: script/checks.h */
    struct buf faults;     /* what fails it at its end, a line each; */
    struct buf notes;      /* and what is only told */

    /* The path of a folder of that name for an engine on files, made if there
     * is none: false if it cannot be had. NULL: there are none here. */
    bool (*folder)(void *ctx, const char *name, struct buf *path);
    void *folder_ctx;
};

/* -- Rigs ---------------------------------------------------------------- */

struct rig_options {
    struct world_store *store;
    struct value spaces; /* an array of strings; absent: one */
    struct value user;   /* string or absent */
    enum events_lanes lanes;
    uint32_t hops; /* 0: the default */
    bool no_idempotency_check;
    bool no_persistence;
    bool trace;
};

struct rig {
    struct list_node node; /* in the trial's rigs */
    struct stage stage;
    struct stage_host host;
    struct trial *trial;
    struct world_runtime *one;
    struct rig_options options; /* with references of its own */
    struct list rejections;
    struct trace *trace;       /* or NULL */
    struct resuming *resuming; /* script/runtimes.c; or NULL */
    struct subscriber subscriber;

    /* What was reported: arrays of objects. */
    struct value errors;
    struct value violations;
    struct value unasked; /* of the errors: script/checks.h, H2 */
    bool violations_were_read;

    struct value calls; /* of host functions: an array of objects */

    struct test_tasks *tasks; /* script/test_tasks.c */

    uint64_t reverted; /* commits, */
    uint64_t loads;    /* and answers with documents that were asked for */
};

/* A new one in the trial. The options are borrowed. */
MUST_CHECK enum err rig_new(struct trial *trial,
                            const struct rig_options *options,
                            struct rig **out,
                            struct err_detail *detail);

/* The test has asked for errors with this message; NULL: for all. */
void rig_asked(struct rig *rig, const char *message);

/* Everything that can be done at this time. */
void rig_settle(const struct rig *rig);

/* The end of its runtime, as in a crash, and its own. */
void rig_end(struct rig *rig);

static inline struct rig *rig_of(struct stage *stage)
{
    return CONTAINER_OF(stage, struct rig, stage);
}

static inline struct sched *rig_sched(const struct rig *rig)
{
    return rig->one->runtime.sched;
}

#endif
