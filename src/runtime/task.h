/* Tasks: work that a host does outside, and that ends later.
 *
 *   builder_task(builder, &(struct builder_task){name, input, start, ...}, ...)
 *
 * A task is a computation that nobody waits for. When somebody looks at its
 * output and its input is there, the host is asked to begin; what comes of it
 * is written when the host says so, in a transaction of its own. The output is
 *
 *   {"state": "pending", "input": <digest of the input>}
 *   {"state": "done",    "input": ..., "value": <what the host has given>}
 *   {"state": "failed",  "input": ..., "error": {"code": ..., "text": ...}}
 *
 * or nothing, as long as the input is nothing.
 *
 *   K1  The host is asked after "pending" has landed, from a step and never
 *       inside a run. What does not land is not begun.
 *   K2  If the input changes, or the node goes, what is under way is cancelled:
 *       the host is told once, and what it still gives is dropped.
 *   K3  What is done, or has failed, stays so for as long as the input is that
 *       one; also after a restart. What was pending when the process ended is
 *       begun again, so the work is done at least once.
 *   K4  A result counts only if the output still waits for it. If another
 *       runtime has been faster, or the store refuses it, it is dropped; if
 *       only the world moved on, it is written again. */

#ifndef RUNTIME_TASK_H
#define RUNTIME_TASK_H

#include "runtime/builder.h"

struct task;

/* Begins the work. `input` is borrowed, with links as they are. The task is the
 * host's until it calls task_finish_adopt or task_fail: once, also after it was
 * cancelled, at any time, also from in here; but not inside a run. */
typedef void task_start_fn(void *ctx, struct task *task, struct value input);

/* Nobody wants it any more (K2). To end it is still the host's business. */
typedef void task_cancelled_fn(void *ctx, struct task *task);

struct builder_task {
    struct value name;
    struct place *input;
    task_start_fn *start;
    task_cancelled_fn *cancelled; /* or NULL */
    void *ctx;
    void (*release)(void *ctx); /* when nothing calls it any more; or NULL */
    const struct digest *fingerprint; /* of what is done; NULL: none (B5) */
};

MUST_CHECK enum err builder_task(struct builder *builder,
                                 const struct builder_task *task,
                                 struct place **out,
                                 struct err_detail *detail);

/* -- For hosts ----------------------------------------------------------- */

/* The end of a task; it is gone afterwards. */
void task_finish_adopt(struct task *task, struct value value);
void task_fail(struct task *task, const struct err_detail *detail);

/* Something of the host's, NULL at first. */
void task_set_user(struct task *task, void *user);
void *task_user(const struct task *task);

/* -- For the runtime ----------------------------------------------------- */

/* Its last step: what has not been begun is not, and what is under way ends for
 * nobody. */
void tasks_release(struct runtime *runtime);

#endif
