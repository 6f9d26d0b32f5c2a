/* The record behind hd_runtime.
 *
 *   api-runtime-1  `api_host` is there as long as the runtime is open.
 *   api-runtime-2  The record is there as long as the handle of the runtime or
 *                  one of its objects is.
 *   api-runtime-3  `run` is the innermost run, handling or edit that calls a
 *                  function of the program; NULL: this is the top level, where
 *                  everything is allowed.
 *   api-runtime-4  `busy` counts the calls of this library that are under way
 *                  and may call back: nothing of the runtime may be stepped or
 *                  closed inside. */

#ifndef API_RUNTIME_H
#define API_RUNTIME_H

#include <threads.h>

#include "api/api_host.h"
#include "api/object.h"
#include "base/vec.h"
#include "front/frame.h"

struct hd_builder;
struct hd_run;

struct hd_runtime {
    struct object object;      /* not in its own objects */
    struct api_host *api_host; /* api-runtime-1 */
    thrd_t thread;
    size_t keepers; /* api-runtime-2 */
    struct list objects;
    struct object_shelf shelves[OBJECT_SHELVES];
    struct hd_run *run;                /* api-runtime-3 */
    struct call_frame toplevel;        /* where there is none */
    VEC(struct hd_run *) frames;       /* by depth, to be used again */
    size_t depth;                      /* of them, in use */
    VEC(struct hd_builder *) builders; /* likewise, of build functions */
    size_t building;
    unsigned busy;       /* api-runtime-4 */
    unsigned starting;   /* `busy` when a task is begun; 0: none is */
    struct list tickets; /* of events that have not ended: api/event.h */
    struct list wraps;   /* api/pattern.h */
    uint32_t backlog;    /* of a stream */
    bool read_only;

    /* Of the call under way. */
    struct hd_progress progress;
    uint64_t runs_before;

    /* Hooks of the program. */
    void (*report)(void *context, const hd_error *error);
    void *report_context;
    bool (*on_progress)(void *context, const hd_progress *progress);
    void *progress_context;
};

bool runtime_is_mine(const hd_runtime *runtime);
void runtime_keep(hd_runtime *runtime);
void runtime_let_go(hd_runtime *runtime);

/* The runtime inside, of an open one. */
static inline struct runtime *runtime_core(const hd_runtime *runtime)
{
    return api_host_runtime(runtime->api_host);
}

static inline struct sched *runtime_sched(const hd_runtime *runtime)
{
    return runtime_core(runtime)->sched;
}

/* Open, in its thread, and nothing of the program is called from it: OK,
 * ARGUMENT, MISUSE, CLOSED. */
MUST_CHECK enum err runtime_check_toplevel(const hd_runtime *runtime,
                                           struct err_detail *detail);

/* Whether something may be written, registered or removed now: in a frame, or
 * at the top level, but not from another callback (MISUSE). */
MUST_CHECK enum err runtime_check_writing(const hd_runtime *runtime,
                                          struct err_detail *detail);

/* Whether anything that others see may be changed: READ_ONLY. `what` would
 * have done so: "a write". */
MUST_CHECK enum err runtime_check_changing(const hd_runtime *runtime,
                                           const char *what,
                                           struct err_detail *detail);

/* The space of that name, or the first if it is NULL: NOT_FOUND. */
MUST_CHECK enum err runtime_check_space(const hd_runtime *runtime,
                                        const char *name,
                                        struct space **out,
                                        struct err_detail *detail);

/* A terminated string from outside, as a value, new. LIMIT_ID, SYNTAX (it is
 * not UTF-8), ARGUMENT (NULL or empty). */
MUST_CHECK enum err edge_name(const char *text,
                              const char *parameter,
                              struct value *out,
                              struct err_detail *detail);

/* Reports to the program a failure that no call waits for. */
void runtime_report(const hd_runtime *runtime,
                    struct value name,
                    const struct place *place,
                    const struct err_detail *detail);

/* Whether the program lets a long call go on. */
bool runtime_goes_on(hd_runtime *runtime);

#endif
