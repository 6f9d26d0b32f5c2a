/* Tasks: the node that wants the work, and the record of each piece of it.
 *
 * A record is held by whoever may still call: the commit of "pending" until it
 * has landed or not, then the host until the end, then the commit of the end.
 * The node knows the one that is current, and nobody else knows the node: a
 * record that is not current any more has no owner. */

#include "runtime/task.h"

#include "base/mem.h"
#include "runtime/building.h"
#include "runtime/cell.h"
#include "runtime/spread.h"
#include "sched/lineage.h"
#include "sched/scopes.h"
#include "value/compare.h"
#include "value/object.h"

/* The node. */
struct work {
    struct runtime *runtime;
    struct node *node;
    struct place *input;
    struct place *output;
    task_start_fn *start;
    task_cancelled_fn *cancelled;
    void *ctx;
    void (*release)(void *ctx);
    struct task *current; /* or NULL */
    uint32_t refs;        /* the node, and calls under way */
};

struct task {
    struct list_node node;   /* in the runtime's */
    struct runtime *runtime; /* NULL: has ended */
    struct work *owner;      /* NULL: nobody wants it */
    struct value input;
    struct value digest;  /* of the input, as text */
    struct value outcome; /* what is to be written in the end */
    void *user;
    uint32_t attempts;
    bool started;
    bool finished;
};

/* -- Records ------------------------------------------------------------- */

static void task_free(struct task *task)
{
    if (task->owner != NULL && task->owner->current == task) {
        task->owner->current = NULL;
    }
    if (task->runtime != NULL) {
        list_remove(&task->node);
    }
    value_unref(task->input);
    value_unref(task->digest);
    value_unref(task->outcome);
    mem_free(task, sizeof *task);
}

void task_set_user(struct task *task, void *user)
{
    task->user = user;
}

void *task_user(const struct task *task)
{
    return task->user;
}

static void work_unref(struct work *work)
{
    if (--work->refs > 0) {
        return;
    }
    if (work->release != NULL) {
        work->release(work->ctx);
    }
    place_unref(work->input);
    if (work->output != NULL) {
        place_unref(work->output);
    }
    mem_free(work, sizeof *work);
}

/* K2. */
static void cancel(struct work *work)
{
    struct task *task = work->current;
    if (task == NULL) {
        return;
    }
    work->current = NULL;
    task->owner = NULL;
    if (task->started && !task->finished && work->cancelled != NULL) {
        work->cancelled(work->ctx, task);
    }
}

static void work_release(void *ctx)
{
    struct work *work = ctx;
    cancel(work);
    work_unref(work);
}

void tasks_release(struct runtime *runtime)
{
    while (!list_is_empty(&runtime->tasks)) {
        struct task *task =
            CONTAINER_OF(list_first(&runtime->tasks), struct task, node);
        if (task->started && !task->finished) {
            list_remove(&task->node); /* the host has it */
            task->runtime = NULL;
        } else {
            task_free(task);
        }
    }
}

/* -- What is written ----------------------------------------------------- */

/* Whether an output is about that input. */
static bool is_about(struct value output, struct value digest)
{
    if (!value_is_object(output)) {
        return false;
    }
    const struct value input = object_field(output, "input");
    return value_is_string(input) && key_equal(input, digest);
}

static bool is_pending(struct value output)
{
    return value_is_object(output) &&
           value_is_text(object_field(output, "state"), "pending");
}

static struct value output_of(const char *state, struct value digest)
{
    struct value output = value_empty_object();
    object_put_adopt(&output, "state", value_text_new(state));
    object_put_adopt(&output, "input", value_ref(digest));
    return output;
}

/* -- The end ------------------------------------------------------------- */

static void write_outcome(struct task *task);

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct task *task = ctx;
    if (err_class_of(verdict->err) == ERR_CLASS_RETRY && task->owner != NULL &&
        ++task->attempts < CELL_ATTEMPTS) {
        write_outcome(task);
        return;
    }
    task_free(task);
}

/* Writes it, if it is still waited for: K4. */
static enum err try_to_write(struct task *task,
                             struct transaction *transaction,
                             struct err_detail *detail)
{
    struct place *output =
        place_payload(scopes_instance(task->owner->output->entity));
    struct value now;
    const enum err read =
        transaction_read(transaction, output, READ_DEEP, READ_FOR_BOTH, &now);
    (void)read; /* nothing is an answer */
    const bool wanted = is_pending(now) && is_about(now, task->digest);
    value_unref(now);
    const enum err err =
        wanted ? transaction_put_adopt(transaction,
                                       output,
                                       value_ref(task->outcome),
                                       detail)
               : err_set(detail, ERR_GIVEN_UP, "nobody waits for it any more");
    place_unref(output);
    return err == ERR_OK ? transaction_commit(transaction, detail) : err;
}

/* The record is gone at the end, or its commit is on its way. */
static void write_outcome(struct task *task)
{
    enum err err = ERR_STALE;
    while (err == ERR_STALE && task->attempts++ < CELL_ATTEMPTS) {
        const struct transaction_options options = {
            .source = task->owner->node,
            .watch = {.settled = on_settled, .ctx = task},
        };
        struct err_detail detail = {0};
        struct transaction *transaction =
            transaction_begin(&task->runtime->replica, &options);
        err = try_to_write(task, transaction, &detail);
        const bool told = err == ERR_OK && transaction->applied > 0;
        transaction_release(transaction);
        if (told) {
            return; /* perhaps already */
        }
    }
    task_free(task);
}

/* Adopts the outcome. */
static void complete(struct task *task, struct value outcome)
{
    CHECK(task->started && !task->finished);
    task->finished = true;
    task->outcome = outcome;
    if (task->owner == NULL || task->runtime == NULL) {
        task->owner = NULL;
        task_free(task);
        return;
    }
    write_outcome(task);
}

void task_finish_adopt(struct task *task, struct value value)
{
    struct value output = output_of("done", task->digest);
    object_put_adopt(&output,
                     "value",
                     value_is_absent(value) ? value_null() : value);
    complete(task, output);
}

void task_fail(struct task *task, const struct err_detail *detail)
{
    struct value error = value_empty_object();
    object_put_adopt(&error, "code", value_text_new(err_name(detail->err)));
    object_put_adopt(&error, "text", value_text_new(detail->text));
    struct value output = output_of("failed", task->digest);
    object_put_adopt(&output, "error", error);
    complete(task, output);
}

/* -- The beginning ------------------------------------------------------- */

/* "pending" has landed: K1. */
static void on_landed(void *ctx)
{
    struct task *task = ctx;
    struct work *work = task->owner;
    if (work == NULL) {
        task_free(task);
        return;
    }
    task->started = true;
    work->refs++; /* it may end in there, and the node may go */
    const struct value input = value_ref(task->input);
    work->start(work->ctx, task, input);
    value_unref(input);
    work_unref(work);
}

static void on_not_landed(void *ctx)
{
    task_free(ctx);
}

static void begin(struct run *run,
                  struct work *work,
                  struct value input,
                  struct value digest)
{
    struct task *task = mem_alloc_zero(sizeof *task);
    task->runtime = work->runtime;
    task->owner = work;
    task->input = value_ref(input);
    task->digest = value_ref(digest);
    list_node_init(&task->node);
    list_push_back(&work->runtime->tasks, &task->node);
    work->current = task;
    lineage_stop_unless_landed(run->sched,
                               run->transaction,
                               on_not_landed,
                               task);
    lineage_after_landing(run->sched, run->transaction, on_landed, task);
}

static struct value digest_text(struct value input)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(input), text);
    return value_text_new(text);
}

/* What the output has to be for that input; new. */
static struct value see_to(struct run *run,
                           struct work *work,
                           struct value input,
                           struct value before)
{
    if (value_is_absent(input)) {
        cancel(work);
        return VALUE_NONE;
    }
    const struct value digest = digest_text(input);
    struct value output = VALUE_NONE;
    const bool current =
        work->current != NULL && key_equal(work->current->digest, digest);
    if (is_about(before, digest) && (current || !is_pending(before))) {
        output = value_ref(before); /* under way, or at its end: K3 */
        if (!is_pending(before) && !(current && work->current->finished)) {
            cancel(work); /* somebody else was faster */
        }
    } else if (current && !work->current->finished) {
        output = output_of("pending", digest); /* it was taken back */
    } else {
        cancel(work);
        if (!run_is_thrown_away(run)) {
            begin(run, work, input, digest);
        }
        output = output_of("pending", digest);
    }
    value_unref(digest);
    return output;
}

/* What the last run, or the end of a task, has left: in the instance of the
 * output that belongs to the scope of the input (sched/scopes.h). */
static enum err read_before(struct run *run,
                            const struct work *work,
                            struct value *out)
{
    struct place *output = NULL;
    enum err err = ERR_OK;
    *out = VALUE_NONE;
    if (run->view != NULL) { /* it sees what is there */
        output = place_payload(scopes_instance(work->output->entity));
    } else {
        err = scopes_own(run->transaction, work->output->entity, &output, NULL);
    }
    if (err == ERR_OK) {
        err = run_read(run, output, READ_DEEP, READ_NOT_FOR_SCHEDULING, out);
        place_unref(output);
    }
    return err;
}

static enum run_result run_work(struct run *run,
                                void *ctx,
                                struct value *result)
{
    struct work *work = ctx;
    const struct cell_access access = {work->runtime, run, run->transaction};
    struct err_detail detail = {0};
    struct value input;
    const enum err err = cell_read(&access,
                                   work->input,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &input,
                                   NULL,
                                   &detail);
    if (err != ERR_OK) {
        return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &detail);
    }
    struct value before = VALUE_NONE;
    const enum err own = read_before(run, work, &before);
    if (own != ERR_STALE && !run_is_waiting(run) && run->node->registered) {
        *result = see_to(run, work, input, before);
    }
    value_unref(input);
    value_unref(before);
    return own == ERR_STALE ? RUN_AGAIN : RUN_DONE;
}

/* -- Declaring it -------------------------------------------------------- */

enum err builder_task(struct builder *builder,
                      const struct builder_task *task,
                      struct place **out,
                      struct err_detail *detail)
{
    struct work *work = mem_alloc_zero(sizeof *work);
    work->refs = 1;
    work->runtime = builder_runtime(builder);
    work->input = place_ref(task->input);
    work->start = task->start;
    work->cancelled = task->cancelled;
    work->ctx = task->ctx;
    work->release = task->release;
    const bool kept = task->fingerprint != NULL;
    const struct digest fingerprint =
        spread_fingerprint("heddle task 1", &task->input, 1, task->fingerprint);
    const struct builder_node node = {
        .name = task->name,
        .body = {run_work, work, work_release, kept ? &fingerprint : NULL},
        .reads = &task->input,
        .read_count = 1,
        .preload = true,
    };
    const enum err err = builder_computed(builder, &node, out, detail);
    if (err != ERR_OK) {
        return err;
    }
    work->output = place_ref(*out);
    work->node = vec_last(&builder->piece->parts)->node;
    if (is_pending(scopes_instance((*out)->entity)->visible.payload)) {
        scheduler_invalidate(work->runtime->sched, work->node); /* K3 */
    }
    return ERR_OK;
}
