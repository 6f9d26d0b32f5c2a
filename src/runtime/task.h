/* Tasks: work that the host does outside the runtime, and that ends later.
 *
 *   builder_task(builder, &(struct builder_task){name, input, start, ...}, ...)
 *
 * A task is a computation that does not block its readers. When its output is
 * read and its input is present, the host is asked to start. When the host ends
 * the task, the outcome is written in a separate transaction. The output is
 *
 *   {"state": "idle"}     while the input is absent
 *   {"state": "running", "input": <digest of the input>}
 *   {"state": "done",    "input": ..., "value": ..., "attempts": 1}
 *   {"state": "failed",  "input": ..., "error": {"code": ..., "text": ...},
 *    "attempts": 3}
 *
 *   task-1  The host is asked after "running" has landed, from a step and never
 *           inside a run. If it does not land, the work does not start.
 *   task-2  If the input changes, or the node is removed, the work in progress
 *           is cancelled: the host is told once, and its outcome is dropped.
 *   task-3  A task that is done or failed stays so while its input is the same,
 *           also after a restart. Work that was running when the process ended
 *           starts again, so it is done at least once.
 *   task-4  An outcome counts only if the output still waits for it. If another
 *           runtime was faster, or the store refuses it, it is dropped. After a
 *           conflict, it is written again.
 *   task-5  One runtime at a time does the work: it claims the key of the task
 *           first (struct task_claims). The others leave the output running,
 *           and retry the claim every TASK_CLAIM_MS.
 *   task-6  A runtime that only reads or sends (piece-6 of runtime/piece.h)
 *           writes "running" and starts nothing.
 *   task-7  A failed attempt that may be repeated (task_retry_adopt) starts
 *           again after a backoff that doubles each time, at most `retries`
 *           times. The backoff is derived from the key and the attempt. The
 *           claim is kept meanwhile.
 *   task-8  A claim is released after the outcome has landed. A runtime that
 *           gets a claim first applies all landed commits, and starts only if
 *           the output is still running, for this input. So the work is done
 *           once, unless a runtime ends before its outcome has landed.
 *   task-9  The input is a value: links in it are replaced by their targets
 *           (runtime/resolve.h), and each is a read of the node. So the work
 *           starts again if any of them changes.
 *
 * The key of a task is derived from its space, its output document and the
 * digest of its input. The same work has the same key in each process and after
 * each restart, so that the other side can recognise a repetition. */

#ifndef RUNTIME_TASK_H
#define RUNTIME_TASK_H

#include "runtime/builder.h"

enum {
    TASK_CLAIM_MS = 500,         /* task-5 */
    TASK_BACKOFF_MS = 500,       /* task-7: the first pause, */
    TASK_BACKOFF_MAX_MS = 30000, /* the longest, */
    TASK_KEY_BYTES = 256,        /* of a key that a pattern chooses */
    TASK_RETRIES = 3,            /* by default, for a kind without a number of
                                    its own, */
    TASK_RETRIES_MAX = 100,      /* and at most */
};

struct task;

/* Starts the work. `input` is borrowed, and has no links (task-9). The host
 * owns the task until it ends the attempt, once, by one of the functions below.
 * It may do so at any time, also after a cancellation and also from in here,
 * but not inside a run. */
typedef void task_start_fn(void *ctx, struct task *task, struct value input);

/* The outcome is no longer wanted (task-2). The host must still end the task.
 */
typedef void task_cancelled_fn(void *ctx, struct task *task);

/* A zero field means none or the default. */
struct builder_task {
    struct value name;
    struct place *input;
    task_start_fn *start;
    task_cancelled_fn *cancelled;
    void *ctx;
    void (*release)(void *ctx);       /* after the last possible call */
    const struct digest *fingerprint; /* of the work; NULL: none (builder-5) */
    uint32_t retries;                 /* task-7 */
    mono_ms backoff;
    mono_ms backoff_max;
};

MUST_CHECK enum err builder_task(struct builder *builder,
                                 const struct builder_task *task,
                                 struct place **out,
                                 struct err_detail *detail);

/* -- For hosts ----------------------------------------------------------- */

/* Ends a task and frees it. */
void task_finish_adopt(struct task *task, struct value value);
void task_fail(struct task *task, const struct err_detail *detail);

/* The same with an error of the host: an object with "code" and "text", and
 * anything else that is useful. */
void task_fail_adopt(struct task *task, struct value error);

/* The attempt failed, and another one may succeed. It starts after at least
 * `at_least` ms; if this was the last attempt, the task has failed (task-7). */
void task_retry_adopt(struct task *task, struct value error, mono_ms at_least);

/* Ends it without an outcome. If it was wanted, it stays running, and the next
 * start of its piece starts it again. */
void task_leave(struct task *task);

/* {"code": ..., "text": ...}, new. */
struct value task_error_new(const char *code, const char *text);

/* Calls `woken` in a step after so many ms, unless the task is cancelled or
 * ended before. One at a time. */
void task_wake_after(struct task *task,
                     mono_ms ms,
                     void (*woken)(void *ctx, struct task *task));

/* Data of the host, NULL at first. */
void task_set_user(struct task *task, void *user);
void *task_user(const struct task *task);

/* Borrowed: its key, a text of 43 letters, digits, '-' and '_'; its name; its
 * piece (NULL: the outcome is no longer wanted). And the number of the attempt,
 * from 1. */
struct value task_key(const struct task *task);
struct value task_name(const struct task *task);
struct piece *task_piece(const struct task *task);
uint32_t task_attempt(const struct task *task);

/* Whether its outcome is still wanted. */
bool task_is_wanted(const struct task *task);

/* -- For the runtime ----------------------------------------------------- */

/* Starts attempts that are due. Whether there were any. */
bool tasks_step(struct runtime *runtime, mono_ms now);
mono_ms tasks_next_wake(const struct runtime *runtime);

/* How many are wanted and have no outcome yet, here or in another runtime that
 * has claimed them; without those of task-6. */
size_t tasks_under_way(const struct runtime *runtime);

/* The last step: attempts that have not started never do, and work in progress
 * ends without an outcome. */
void tasks_release(struct runtime *runtime);

#endif
