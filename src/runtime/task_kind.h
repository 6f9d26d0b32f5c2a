/* Kinds of tasks: what a host can do for tasks that name it ("http", "exec").
 *
 * A kind does calls. A task of that kind is one call per attempt; a task with a
 * body of its own (script/task_bodies.h) makes any number of them.
 *
 *   kind-1  A call that was started ends once, by task_call_finish_adopt or
 *           task_call_fail, perhaps inside `start`, and never inside a run; or
 *           it is cancelled, and does not end any more.
 *   kind-2  A call belongs to its caller, who releases it after its end, or
 *           after it was cancelled. The kind keeps nothing of it then. */

#ifndef RUNTIME_TASK_KIND_H
#define RUNTIME_TASK_KIND_H

#include "runtime/task.h"

struct task_call;

struct task_kind {
    const char *name; /* NULL: it stands for each kind that has no other */
    void (*start)(void *ctx, struct task_call *call);
    void (*cancel)(void *ctx, struct task_call *call);
    void *ctx;
    uint32_t retries; /* unless the task says otherwise */
};

/* How a call ended. */
struct task_end {
    struct value value; /* or absent */
    struct value error; /* absent: it did not fail */
    bool may_retry;     /* another attempt may succeed, and does no harm */
    mono_ms at_least;   /* the other side asks for such a pause */
};

struct task_call {
    const struct task_kind *kind;
    const struct task *task; /* the one that it is for */
    struct value name;       /* of the kind, as the caller wrote it */
    struct value request;
    struct value key; /* the idempotency key of the call: it is the same when
                         the call is made again, also by another process */
    struct value options; /* an object, or absent: for what the request does not
                             say */
    void *user;           /* of the kind */

    /* Of the caller. What is in `end` is the caller's from then on. */
    void (*ended)(struct task_call *call, struct task_end end);
};

/* The kind becomes known to the runtime; it outlives it. */
void task_kinds_add(struct runtime *runtime, const struct task_kind *kind);

/* Or NULL. */
const struct task_kind *task_kind_find(const struct runtime *runtime,
                                       struct value name);

/* The names, "exec, http", or nothing. */
void task_kinds_write(const struct runtime *runtime, struct buf *to);

/* -- For kinds ----------------------------------------------------------- */

/* A field of the request, or of the options if the request has none; borrowed.
 */
struct value task_call_field(const struct task_call *call, const char *name);

/* The same as a number between two others; the default if there is none. False:
 * it is something else, and the call has ended with ARGUMENT. */
bool task_call_number(struct task_call *call,
                      const char *name,
                      int64_t low,
                      int64_t high,
                      int64_t *number);

void task_call_finish_adopt(struct task_call *call, struct value value);

/* Whether another attempt may succeed, in how many ms at the earliest, and what
 * else belongs into the error: an object, adopted, or absent. */
struct task_failure {
    const char *code;
    bool may_retry;
    mono_ms at_least;
    struct value more;
};

__attribute__((format(printf, 3, 4))) void task_call_fail(
    struct task_call *call,
    struct task_failure failure,
    const char *format,
    ...);

#endif
