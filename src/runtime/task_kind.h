/* Kinds of tasks: what a host can do for tasks that name it ("http", "exec").
 *
 * A kind performs calls. A task of that kind makes one call per attempt; a task
 * with its own body (script/task_bodies.h) makes any number of them.
 *
 *   kind-1  A started call ends once, by task_call_finish_adopt or
 *           task_call_fail, possibly inside `start`, and never inside a run. Or
 *           it is cancelled, and then does not end.
 *   kind-2  The caller owns a call, and releases it after its end or its
 *           cancellation. The kind keeps no reference to it then. */

#ifndef RUNTIME_TASK_KIND_H
#define RUNTIME_TASK_KIND_H

#include "runtime/task.h"

struct task_call;

struct task_kind {
    const char *name; /* NULL: for every kind that is not registered */
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
    mono_ms at_least;   /* the pause that the other side asks for */
};

struct task_call {
    const struct task_kind *kind;
    const struct task *task; /* of the call */
    struct value name;       /* of the kind, as the caller wrote it */
    struct value request;
    struct value key;     /* the idempotency key: the same when the call is
                             repeated, also by another process */
    struct value options; /* an object, or absent: for what the request does not
                             say */
    void *user;           /* of the kind */

    /* Of the caller, which owns the contents of `end` from then on. */
    void (*ended)(struct task_call *call, struct task_end end);
};

/* Registers a kind, which outlives the runtime. */
void task_kinds_add(struct runtime *runtime, const struct task_kind *kind);

/* Or NULL. */
const struct task_kind *task_kind_find(const struct runtime *runtime,
                                       struct value name);

/* The names, "exec, http", or an empty text. */
void task_kinds_write(const struct runtime *runtime, struct buf *to);

/* -- For kinds ----------------------------------------------------------- */

/* A field of the request, or of the options if the request has none; borrowed.
 */
struct value task_call_field(const struct task_call *call, const char *name);

/* The same as a number within limits; the default if it is absent. False: it is
 * anything else, and the call has ended with ARGUMENT. */
bool task_call_number(struct task_call *call,
                      const char *name,
                      int64_t low,
                      int64_t high,
                      int64_t *number);

void task_call_finish_adopt(struct task_call *call, struct value value);

/* Whether another attempt may succeed, after how many ms at the earliest, and
 * what else belongs in the error: an object, adopted, or absent. */
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
