/* Tasks: declaring one, and the handle of each piece of work that was begun.
 *
 *   api-task-1  A handle holds its task until the program ends it, once. That
 *               also works if the outcome is obsolete, or the runtime closed.
 *   api-task-2  An end is written from the top level, or while a task is begun,
 *               which is no part of any run. Elsewhere it is refused, and
 *               nothing happens. */

#include "runtime/task.h"
#include "api/build.h"
#include "api/edge.h"
#include "api/handle.h"
#include "api/memory.h"
#include "value/utf8.h"

struct hd_task {
    struct object object;
    struct task *inside; /* NULL: has ended (api-task-1) */
    bool unwanted;       /* it was cancelled */
    struct value key;
    void *user;
};

/* -- Calling the program ------------------------------------------------- */

static void start(void *ctx, struct task *inside, struct value input)
{
    const struct callback *callback = ctx;
    hd_runtime *runtime = callback->runtime;
    hd_task *task = object_new(runtime, OBJECT_TASK, sizeof *task, NULL);
    task->inside = inside;
    task->key = value_ref(task_key(inside));
    task_set_user(inside, task);
    hd_value *given = handle_new_adopt(value_ref(input));
    const unsigned starting = runtime->starting;
    runtime->starting = ++runtime->busy;
    callback->start(task, given, callback->context);
    runtime->busy--;
    runtime->starting = starting;
    hd_value_unref(given);
}

/* The call may come from the run of a node. */
static void cancelled(void *ctx, struct task *inside)
{
    const struct callback *callback = ctx;
    hd_runtime *runtime = callback->runtime;
    hd_task *task = task_user(inside);
    task->unwanted = true;
    if (callback->cancelled != NULL) {
        struct hd_run *run = runtime->run;
        runtime->run = NULL;
        runtime->busy++;
        callback->cancelled(task, callback->context);
        runtime->busy--;
        runtime->run = run;
    }
}

/* -- Declaring ----------------------------------------------------------- */

hd_status hd_build_task(hd_builder *builder,
                        const char *name,
                        const hd_task_options *options,
                        hd_cell **output,
                        hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, output);
    declaration_check_name(&d, "name");
    DECLARATION_GIVE(&d, options, start);
    if (d.err == ERR_OK && options->retries > TASK_RETRIES_MAX) {
        d.err = err_set(&d.detail,
                        ERR_ARGUMENT,
                        "'retries' is %u; the limit is %d",
                        (unsigned)options->retries,
                        TASK_RETRIES_MAX);
    }
    struct place *input =
        declaration_check_cell(&d,
                               options != NULL ? options->input : NULL,
                               "input");
    if (d.err == ERR_OK) {
        struct callback *callback = declaration_doer(&d);
        callback->start = options->start;
        callback->cancelled = options->cancelled;
        const struct builder_task task = {
            .name = d.key,
            .input = input,
            .start = start,
            .cancelled = cancelled,
            .ctx = callback,
            .release = callback_gone,
            .fingerprint = declaration_fingerprint(&d),
            .retries = options->retries,
            .backoff = options->backoff_ms,
            .backoff_max = options->backoff_max_ms,
        };
        d.err = builder_task(builder->inside, &task, &d.place, &d.detail);
    }
    return declaration_end(&d, error);
}

/* -- The end ------------------------------------------------------------- */

/* Whether the task can be ended now: api-task-2. An obsolete outcome is
 * dropped. */
static bool may_end(const hd_task *task)
{
    const hd_runtime *runtime = task->object.runtime;
    return task->unwanted ||
           (runtime->run == NULL && runtime->busy == runtime->starting);
}

static enum err check_end(const hd_task *task, struct err_detail *detail)
{
    const enum err err = object_check_open(task, OBJECT_TASK, "task", detail);
    if (err != ERR_OK) {
        return err;
    }
    if (task->inside == NULL) {
        return err_set(detail, ERR_CLOSED, "the task has ended");
    }
    return may_end(task) ? ERR_OK
                         : err_set(detail,
                                   ERR_MISUSE,
                                   "a task cannot end inside a run, an edit "
                                   "or a callback of the runtime");
}

/* Of a handle that was checked; the value is adopted. */
static void finish(hd_task *task, struct value value)
{
    hd_runtime *runtime = task->object.runtime;
    struct task *inside = task->inside;
    task->inside = NULL; /* before anybody is called */
    runtime->busy++;
    task_finish_adopt(inside, value);
    runtime->busy--;
}

static void fail(hd_task *task, const struct err_detail *why)
{
    hd_runtime *runtime = task->object.runtime;
    struct task *inside = task->inside;
    task->inside = NULL;
    runtime->busy++;
    task_fail(inside, why);
    runtime->busy--;
}

hd_status hd_task_finish(hd_task *task, const hd_value *value, hd_error *error)
{
    struct err_detail detail = {0};
    const enum err err = check_end(task, &detail);
    if (err == ERR_OK) {
        finish(task, value != NULL ? value_ref(value->value) : value_null());
    }
    return error_report(error, err, &detail);
}

static bool is_status(hd_status status)
{
    static const hd_status all[] = {
#define X(name, number, class, text) HD_##name,
        ERR_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (all[i] == status) {
            return true;
        }
    }
    return false;
}

/* The sentence, as it will be stored. */
static enum err check_failure(hd_status status,
                              const char *text,
                              struct err_detail *why,
                              struct err_detail *detail)
{
    if (status == HD_OK || !is_status(status)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a failure needs a status other than HD_OK");
    }
    (void)err_set(why,
                  (enum err)status,
                  "%s",
                  text != NULL ? text : hd_status_text(status));
    return utf8_is_valid(why->text, strlen(why->text))
               ? ERR_OK
               : err_set(detail, ERR_SYNTAX, "'text' is not UTF-8");
}

hd_status hd_task_fail(hd_task *task,
                       hd_status status,
                       const char *text,
                       hd_error *error)
{
    struct err_detail detail = {0};
    struct err_detail why = {0};
    enum err err = check_end(task, &detail);
    if (err == ERR_OK) {
        err = check_failure(status, text, &why, &detail);
    }
    if (err == ERR_OK) {
        fail(task, &why);
    }
    return error_report(error, err, &detail);
}

hd_status hd_task_retry(hd_task *task,
                        hd_status status,
                        const char *text,
                        uint32_t after_ms,
                        hd_error *error)
{
    struct err_detail detail = {0};
    struct err_detail why = {0};
    enum err err = check_end(task, &detail);
    if (err == ERR_OK) {
        err = check_failure(status, text, &why, &detail);
    }
    if (err == ERR_OK) {
        hd_runtime *runtime = task->object.runtime;
        struct task *inside = task->inside;
        task->inside = NULL;
        runtime->busy++;
        task_retry_adopt(inside,
                         task_error_new(err_name(why.err), why.text),
                         after_ms);
        runtime->busy--;
    }
    return error_report(error, err, &detail);
}

/* -- The handle ---------------------------------------------------------- */

hd_status hd_task_key(hd_task *task, char **key)
{
    if (key == NULL) {
        return HD_ARGUMENT;
    }
    *key = NULL;
    const enum err err = object_check(task, OBJECT_TASK, "task", NULL);
    if (err == ERR_OK) {
        *key = text_of_string(task->key, NULL);
    }
    return status_of(err);
}

hd_status hd_task_set_user(hd_task *task, void *user)
{
    const enum err err = object_check(task, OBJECT_TASK, "task", NULL);
    if (err == ERR_OK) {
        task->user = user;
    }
    return status_of(err);
}

hd_status hd_task_user(hd_task *task, void **user)
{
    if (user == NULL) {
        return HD_ARGUMENT;
    }
    *user = NULL;
    const enum err err = object_check(task, OBJECT_TASK, "task", NULL);
    if (err == ERR_OK) {
        *user = task->user;
    }
    return status_of(err);
}

void hd_task_free(hd_task *task)
{
    if (!object_may_go(task, OBJECT_TASK) ||
        (task->inside != NULL && !may_end(task))) {
        return;
    }
    if (task->inside != NULL) {
        struct err_detail why;
        (void)err_set(&why,
                      ERR_GIVEN_UP,
                      "the task was released before it "
                      "finished");
        fail(task, &why);
    }
    value_unref(task->key);
    object_free(&task->object, sizeof *task);
}
