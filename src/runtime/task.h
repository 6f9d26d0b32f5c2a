/* Tasks: work that a host does outside, and that ends later.
 *
 *   builder_task(builder, &(struct builder_task){name, input, start, ...}, ...)
 *
 * A task is a computation that nothing waits for. When its output is read and
 * its input is there, the host is asked to begin. The outcome is written in a
 * transaction of its own when the host ends the task. The output is
 *
 *   {"state": "idle"}     as long as the input is nothing
 *   {"state": "running", "input": <digest of the input>}
 *   {"state": "done",    "input": ..., "value": ..., "attempts": 1}
 *   {"state": "failed",  "input": ..., "error": {"code": ..., "text": ...},
 *    "attempts": 3}
 *
 *   task-1  The host is asked after "running" has landed, from a step and never
 *           inside a run. What does not land is not begun.
 *   task-2  If the input changes, or the node goes, what is under way is
 *           cancelled: the host is told once, and its outcome is dropped.
 *   task-3  What is done, or has failed, stays so for as long as the input is
 *           that one; also after a restart. What was running when the process
 *           ended is begun again, so the work is done at least once.
 *   task-4  An outcome counts only if the output still waits for it. If another
 *           runtime was faster, or the store refuses it, it is dropped; after a
 *           conflict, it is written again.
 *   task-5  One runtime at a time does the work: it claims the key of the task
 *           first (struct task_claims). The others leave the output running,
 *           and ask again every TASK_CLAIM_MS.
 *   task-6  A runtime that only asks or sends (R6 of runtime/piece.h) says
 *           "running" and begins nothing.
 *   task-7  An attempt that failed and may be repeated (task_retry_adopt) is
 *           begun again after a pause that doubles each time, at most `retries`
 *           times. The pause follows from the key and the attempt. The claim is
 *           kept meanwhile.
 *   task-8  A claim is given back after the outcome has landed, and a runtime
 *           that gets one first takes in what has landed. It begins only if
 *           the output is still running, for this input: so the work is done
 *           once, unless a runtime ends before its outcome has landed.
 *   task-9  The input is a value: links in it are replaced by what is behind
 *           them (runtime/resolve.h), and each is a read of the node. So the
 *           work is begun again if any of that changes.
 *
 * The key of a task follows from its space, its output document and the digest
 * of its input: the same work has the same key in each process and after each
 * restart, so that the other side can recognise a repetition. */

#ifndef RUNTIME_TASK_H
#define RUNTIME_TASK_H

#include "runtime/builder.h"

enum {
    TASK_CLAIM_MS = 500,         /* task-5 */
    TASK_BACKOFF_MS = 500,       /* task-7: the first pause, */
    TASK_BACKOFF_MAX_MS = 30000, /* the longest, */
    TASK_KEY_BYTES = 256,        /* of a key that a pattern chooses */
    TASK_RETRIES = 3,            /* how many of them by default, of a kind that
                                    says no other number, */
    TASK_RETRIES_MAX = 100,      /* and at most */
};

struct task;

/* Begins the work. `input` is borrowed, and has no links (task-9). The task is
 * the host's until it ends the attempt, once, by one of the functions below:
 * also after it was cancelled, at any time, also from in here; but not inside a
 * run.
 */
typedef void task_start_fn(void *ctx, struct task *task, struct value input);

/* Its outcome is not wanted any more (task-2). The host still has to end it. */
typedef void task_cancelled_fn(void *ctx, struct task *task);

/* A zero field means none or the default. */
struct builder_task {
    struct value name;
    struct place *input;
    task_start_fn *start;
    task_cancelled_fn *cancelled;
    void *ctx;
    void (*release)(void *ctx);       /* when nothing calls it any more */
    const struct digest *fingerprint; /* of what is done; NULL: none (B5) */
    uint32_t retries;                 /* task-7 */
    mono_ms backoff;
    mono_ms backoff_max;
};

MUST_CHECK enum err builder_task(struct builder *builder,
                                 const struct builder_task *task,
                                 struct place **out,
                                 struct err_detail *detail);

/* -- For hosts ----------------------------------------------------------- */

/* The end of a task; it is gone afterwards. */
void task_finish_adopt(struct task *task, struct value value);
void task_fail(struct task *task, const struct err_detail *detail);

/* The same with an error of the host's own: an object with "code" and "text",
 * and whatever else is of use. */
void task_fail_adopt(struct task *task, struct value error);

/* The attempt failed, and another one may succeed: it is begun again, after
 * `at_least` ms or more; or the task has failed, if it was the last (task-7).
 */
void task_retry_adopt(struct task *task, struct value error, mono_ms at_least);

/* Ends it without an outcome: if it was wanted, it stays running, and is begun
 * by the next start of its piece. */
void task_leave(struct task *task);

/* {"code": ..., "text": ...}, new. */
struct value task_error_new(const char *code, const char *text);

/* Calls `woken` in a step after so many ms, unless the task is cancelled or
 * ended before. One at a time. */
void task_wake_after(struct task *task,
                     mono_ms ms,
                     void (*woken)(void *ctx, struct task *task));

/* Something of the host's, NULL at first. */
void task_set_user(struct task *task, void *user);
void *task_user(const struct task *task);

/* Borrowed: its key, a text of 43 letters, digits, '-' and '_'; its name, its
 * piece (NULL: it is not wanted any more). And the number of the attempt, from
 * 1. */
struct value task_key(const struct task *task);
struct value task_name(const struct task *task);
struct piece *task_piece(const struct task *task);
uint32_t task_attempt(const struct task *task);

/* Whether its outcome is still wanted. */
bool task_is_wanted(const struct task *task);

/* -- For the runtime ----------------------------------------------------- */

/* Begins attempts whose time has come. Whether there were any. */
bool tasks_step(struct runtime *runtime, mono_ms now);
mono_ms tasks_next_wake(const struct runtime *runtime);

/* How many are wanted and have no outcome yet, here or in another runtime that
 * has claimed them; not those of task-6. */
size_t tasks_under_way(const struct runtime *runtime);

/* Its last step: what has not been begun is not, and what is under way ends
 * without an outcome. */
void tasks_release(struct runtime *runtime);

#endif
