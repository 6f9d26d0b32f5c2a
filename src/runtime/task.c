/* Tasks: the node that demands the work, and one record per piece of work.
 *
 * The owner of a record is its next caller: the commit of "running" until its
 * verdict, then the host until the end of the attempt, or this file until the
 * next attempt, then the commit of the outcome. The node knows the current
 * record; a record that is no longer current has no owner. */

#include "runtime/task.h"

#include "base/mem.h"
#include "base/random.h"
#include "runtime/building.h"
#include "runtime/cell.h"
#include "runtime/keyed_list.h"
#include "runtime/resolve.h"
#include "sched/lineage.h"
#include "sched/scopes.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* The node. */
struct work {
    struct runtime *runtime;
    struct piece *piece;
    struct value name; /* from the piece on */
    struct node *node;
    struct place *input;
    struct place *output;
    task_start_fn *start;
    task_cancelled_fn *cancelled;
    void *ctx;
    void (*release)(void *ctx);
    uint32_t retries;
    mono_ms backoff;
    mono_ms backoff_max;
    bool passive;         /* task-6 */
    struct task *current; /* or NULL */
    uint32_t refs;        /* the node, and calls under way */
};

struct task {
    struct list_node node;   /* in the runtime's */
    struct runtime *runtime; /* NULL: has ended */
    struct work *owner;      /* NULL: it is not wanted */
    struct value input;
    struct value digest;  /* of the input, as text */
    struct value key;     /* likewise */
    struct value outcome; /* what is to be written in the end */
    void *user;
    void *claim;                                 /* of the host; NULL: none */
    void (*woken)(void *ctx, struct task *task); /* at `due`; or NULL */
    mono_ms pause;     /* from the next step on, until */
    mono_ms due;       /* the next attempt, or `woken`; 0: not known yet */
    uint32_t attempt;  /* the number of the last one */
    uint32_t attempts; /* to write the outcome */
    bool waits;        /* for the next attempt */
    bool started;      /* the host has it */
    bool finished;
    bool refused; /* its first outcome was, by the store */
};

/* -- Records ------------------------------------------------------------- */

static void give_back_claim(struct task *task)
{
    const struct task_claims *claims = &task->runtime->task_claims;
    if (task->claim != NULL) {
        claims->give_back(claims->ctx, task->claim);
        task->claim = NULL;
    }
}

static void task_free(struct task *task)
{
    if (task->owner != NULL && task->owner->current == task) {
        task->owner->current = NULL;
    }
    if (task->runtime != NULL) {
        give_back_claim(task);
        list_remove(&task->node);
    }
    value_unref(task->input);
    value_unref(task->digest);
    value_unref(task->key);
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

struct value task_key(const struct task *task)
{
    return task->key;
}

struct value task_name(const struct task *task)
{
    return task->owner != NULL ? task->owner->name : VALUE_NONE;
}

struct piece *task_piece(const struct task *task)
{
    return task->owner != NULL ? task->owner->piece : NULL;
}

uint32_t task_attempt(const struct task *task)
{
    return task->attempt;
}

bool task_is_wanted(const struct task *task)
{
    return task->owner != NULL && task->runtime != NULL;
}

static void work_unref(struct work *work)
{
    if (--work->refs > 0) {
        return;
    }
    if (work->release != NULL) {
        work->release(work->ctx);
    }
    value_unref(work->name);
    place_unref(work->input);
    if (work->output != NULL) {
        place_unref(work->output);
    }
    mem_free(work, sizeof *work);
}

/* task-2. */
static void cancel(struct work *work)
{
    struct task *task = work->current;
    if (task == NULL) {
        return;
    }
    work->current = NULL;
    task->owner = NULL;
    task->woken = NULL;
    if (task->waits) {
        task_free(task);
    } else if (task->started && !task->finished && work->cancelled != NULL) {
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
        if (task->started && !task->finished) { /* the host has it */
            give_back_claim(task);
            list_remove(&task->node);
            task->runtime = NULL;
        } else {
            task_free(task);
        }
    }
}

size_t tasks_under_way(const struct runtime *runtime)
{
    size_t count = 0;
    LIST_FOREACH (&runtime->tasks, at) {
        count += CONTAINER_OF(at, struct task, node)->owner != NULL;
    }
    return count;
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

static bool is_running(struct value output)
{
    return value_is_object(output) &&
           value_is_text(object_field(output, "state"), "running");
}

static struct value output_of(const char *state, struct value digest)
{
    struct value output = value_empty_object();
    object_put_adopt(&output, "state", value_text_new(state));
    if (!value_is_absent(digest)) {
        object_put_adopt(&output, "input", value_ref(digest));
    }
    return output;
}

struct value task_error_new(const char *code, const char *text)
{
    struct value error = value_empty_object();
    object_put_adopt(&error, "code", value_text_new(code));
    object_put_adopt(&error, "text", value_text_new(text));
    return error;
}

/* -- The end ------------------------------------------------------------- */

static void write_outcome(struct task *task);

/* An outcome that cannot be stored, because it is too large, is a failure. */
static void write_refusal(struct task *task, const struct err_detail *why)
{
    if (task->owner == NULL || task->refused) {
        task_free(task);
        return;
    }
    struct value output = output_of("failed", task->digest);
    object_put_adopt(&output,
                     "error",
                     task_error_new(err_name(why->err), why->text));
    object_put_adopt(&output, "attempts", value_int(task->attempt));
    value_unref(task->outcome);
    task->outcome = output;
    task->refused = true;
    task->attempts = 0;
    write_outcome(task);
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct task *task = ctx;
    const enum err_class class = err_class_of(verdict->err);
    if (class == ERR_CLASS_RETRY && task->owner != NULL &&
        ++task->attempts < CELL_ATTEMPTS) {
        write_outcome(task);
    } else if (class == ERR_CLASS_TERMINAL) {
        write_refusal(task, &verdict->detail);
    } else {
        task_free(task);
    }
}

/* Writes it, if it is still waited for: task-4. */
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
    const bool wanted = is_running(now) && is_about(now, task->digest);
    value_unref(now);
    const enum err err =
        wanted ? transaction_put_adopt(transaction,
                                       output,
                                       value_ref(task->outcome),
                                       detail)
               : err_set(detail, ERR_GIVEN_UP, "the outcome is obsolete");
    place_unref(output);
    return err == ERR_OK ? transaction_commit(transaction, detail) : err;
}

/* The record is gone at the end, or its commit is on its way. */
static void write_outcome(struct task *task)
{
    enum err err = ERR_STALE;
    struct err_detail detail = {0};
    while (err == ERR_STALE && task->attempts++ < CELL_ATTEMPTS) {
        const struct transaction_options options = {
            .source = task->owner->node,
            .watch = {.settled = on_settled, .ctx = task},
        };
        struct transaction *transaction =
            transaction_begin(&task->runtime->replica, &options);
        err = try_to_write(task, transaction, &detail);
        const bool told = err == ERR_OK && transaction->applied > 0;
        transaction_release(transaction);
        if (told) {
            return; /* perhaps already */
        }
    }
    if (err_class_of(err) == ERR_CLASS_TERMINAL && err != ERR_GIVEN_UP) {
        write_refusal(task, &detail);
    } else {
        task_free(task);
    }
}

/* Adopts the outcome. */
static void complete(struct task *task, struct value outcome)
{
    CHECK(task->started && !task->finished);
    task->finished = true;
    task->woken = NULL;
    object_put_adopt(&outcome, "attempts", value_int(task->attempt));
    task->outcome = outcome;
    if (!task_is_wanted(task)) {
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

void task_fail_adopt(struct task *task, struct value error)
{
    struct value output = output_of("failed", task->digest);
    object_put_adopt(&output, "error", error);
    complete(task, output);
}

void task_fail(struct task *task, const struct err_detail *detail)
{
    task_fail_adopt(task, task_error_new(err_name(detail->err), detail->text));
}

void task_leave(struct task *task)
{
    CHECK(task->started && !task->finished);
    task->finished = true;
    task_free(task);
}

/* -- Time ---------------------------------------------------------------- */

/* Only a step knows the time. */
static void set_pause(struct task *task, mono_ms pause)
{
    task->pause = pause > 0 ? pause : 1;
    task->due = 0;
    task->runtime->tasks_due = 0;
}

void task_wake_after(struct task *task,
                     mono_ms ms,
                     void (*woken)(void *ctx, struct task *task))
{
    CHECK(task->started && task_is_wanted(task));
    task->woken = woken;
    set_pause(task, ms);
}

/* task-7: it doubles, and a part of up to a half of it follows from the key, so
 * that many tasks that failed together do not come back together. */
static mono_ms pause_after(const struct task *task)
{
    const struct work *work = task->owner;
    const uint32_t doublings = task->attempt < 32 ? task->attempt - 1 : 31;
    mono_ms pause = work->backoff << doublings;
    pause = pause < work->backoff_max ? pause : work->backoff_max;
    struct random random;
    random_init(&random, value_hash(task->key) ^ task->attempt);
    return pause - random_below(&random, pause / 2 + 1);
}

void task_retry_adopt(struct task *task, struct value error, mono_ms at_least)
{
    CHECK(task->started && !task->finished);
    if (!task_is_wanted(task) || task->attempt > task->owner->retries) {
        task_fail_adopt(task, error);
        return;
    }
    value_unref(error);
    const mono_ms pause = pause_after(task);
    task->started = false;
    task->woken = NULL;
    task->waits = true;
    set_pause(task, pause > at_least ? pause : at_least);
}

/* -- The beginning ------------------------------------------------------- */

/* task-5. */
static bool claim(struct task *task)
{
    const struct task_claims *claims = &task->runtime->task_claims;
    if (claims->take == NULL || task->claim != NULL) {
        return true;
    }
    task->claim = claims->take(claims->ctx, task->key);
    return task->claim != NULL;
}

/* task-8: what landed before the claim was to be had is visible here first. */
static bool is_still_running(const struct task *task)
{
    const struct runtime *runtime = task->runtime;
    if (runtime->refresh != NULL) {
        runtime->refresh(runtime->fetch_ctx);
    }
    if (task->owner == NULL) {
        return false;
    }
    const struct value output =
        scopes_instance(task->owner->output->entity)->visible.payload;
    return is_running(output) && is_about(output, task->digest);
}

/* The record goes, and the node decides by what the output is now. */
static void decide_again(struct task *task)
{
    const struct work *work = task->owner;
    task_free(task);
    if (work != NULL) {
        sched_invalidate(work->runtime->sched, work->node);
    }
}

static void begin_attempt(struct task *task)
{
    struct work *work = task->owner;
    const bool had_claim = task->claim != NULL;
    if (!claim(task)) {
        task->waits = true;
        set_pause(task, TASK_CLAIM_MS);
        return;
    }
    task->waits = false; /* from here on a cancellation leaves the record */
    if (task->claim != NULL && !had_claim && !is_still_running(task)) {
        decide_again(task);
        return;
    }
    task->started = true;
    task->attempt++;
    work->refs++; /* it may end in there, and the node may go */
    const struct value input = value_ref(task->input);
    work->start(work->ctx, task, input);
    value_unref(input);
    work_unref(work);
}

/* "running" has landed: task-1. */
static void on_landed(void *ctx)
{
    struct task *task = ctx;
    if (task->owner == NULL) {
        task_free(task);
    } else {
        begin_attempt(task);
    }
}

static void on_not_landed(void *ctx)
{
    task_free(ctx);
}

/* One whose time has come, or NULL; *next is when the first of the others is
 * due. */
static struct task *find_due(const struct runtime *runtime,
                             mono_ms now,
                             mono_ms *next)
{
    *next = MONO_NEVER;
    LIST_FOREACH (&runtime->tasks, at) {
        struct task *task = CONTAINER_OF(at, struct task, node);
        if (!task->waits && task->woken == NULL) {
            continue;
        }
        if (task->due == 0) {
            task->due = now + task->pause;
        } else if (task->due <= now) {
            return task;
        }
        *next = task->due < *next ? task->due : *next;
    }
    return NULL;
}

bool tasks_step(struct runtime *runtime, mono_ms now)
{
    if (LIKELY(now < runtime->tasks_due)) {
        return false;
    }
    bool any = false;
    mono_ms next = MONO_NEVER;
    for (struct task *task = find_due(runtime, now, &next); task != NULL;
         task = find_due(runtime, now, &next)) {
        any = true;
        if (task->waits) {
            begin_attempt(task);
        } else {
            void (*woken)(void *ctx, struct task *task) = task->woken;
            task->woken = NULL;
            woken(task->owner->ctx, task);
        }
    }
    runtime->tasks_due = next;
    return any;
}

mono_ms tasks_next_wake(const struct runtime *runtime)
{
    return runtime->tasks_due;
}

static struct value digest_text(struct value input)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(input), text);
    return value_text_new(text);
}

/* Of a user's own output the user is a part of it. */
static struct value key_of(const struct work *work, struct value digest)
{
    const struct entity *entity = scopes_instance(work->output->entity);
    const struct value user = events_user(work->runtime->sched);
    struct value cause = value_empty_array();
    cause = array_push_adopt(cause, value_text_new("heddle task"));
    cause = array_push_adopt(cause, value_ref(entity->space->id));
    cause = array_push_adopt(cause, value_ref(entity->id));
    cause = array_push_adopt(cause, value_ref(digest));
    if (entity->scope != SCOPE_SPACE && !value_is_absent(user)) {
        cause = array_push_adopt(cause, value_ref(user));
    }
    const struct value key = digest_text(cause);
    value_unref(cause);
    return key;
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
    task->key = key_of(work, digest);
    list_node_init(&task->node);
    list_push_back(&work->runtime->tasks, &task->node);
    work->current = task;
    lineage_stop_unless_landed(run->sched,
                               run->transaction,
                               on_not_landed,
                               task);
    lineage_after_landing(run->sched, run->transaction, on_landed, task);
}

/* What the output has to be for that input; new. */
static struct value see_to(struct run *run,
                           struct work *work,
                           struct value input,
                           struct value before)
{
    if (value_is_absent(input)) {
        cancel(work);
        return output_of("idle", VALUE_NONE);
    }
    const struct value digest = digest_text(input);
    struct value output = VALUE_NONE;
    const bool current =
        work->current != NULL && key_equal(work->current->digest, digest);
    if (is_about(before, digest) && (current || !is_running(before))) {
        output = value_ref(before); /* under way, or at its end: task-3 */
        if (!is_running(before) && !(current && work->current->finished)) {
            cancel(work); /* another runtime was faster */
        }
    } else if (current && !work->current->finished) {
        output = output_of("running", digest); /* it was taken back */
    } else {
        cancel(work);
        if (!work->passive && !run_is_thrown_away(run)) {
            begin(run, work, input, digest);
        }
        output = output_of("running", digest);
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
    const enum err err = resolve_read(&access, work->input, &input, &detail);
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

/* task-3. The output is loaded before the piece is built, but for an element of
 * a list: it is awaited while the whole starts, and later a run looks at it. */
static void resume_work(struct builder *builder, const struct work *work)
{
    struct piece *whole = piece_whole(builder->piece);
    struct entity *output = scopes_instance(work->output->entity);
    const struct piece *element = builder->piece;
    const bool is_unknown = element != whole && !output->loaded &&
                            (element->resumed || element->assumed);
    if (is_unknown && whole->state == PIECE_LOADING) {
        vec_push(&whole->needs, output);
    } else if (is_unknown || is_running(output->visible.payload)) {
        sched_invalidate(work->runtime->sched, work->node);
    }
}

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
    work->retries = task->retries;
    work->backoff = task->backoff > 0 ? task->backoff : TASK_BACKOFF_MS;
    work->backoff_max =
        task->backoff_max > 0 ? task->backoff_max : TASK_BACKOFF_MAX_MS;
    work->piece = builder->piece;
    work->passive =
        work->runtime->without_effects || piece_whole(work->piece)->taken_up;
    const bool kept = task->fingerprint != NULL;
    const struct digest fingerprint = keyed_list_fingerprint("heddle task 1",
                                                             &task->input,
                                                             1,
                                                             task->fingerprint);
    const struct builder_node node = {
        .name = task->name,
        .body = {run_work, work, work_release, kept ? &fingerprint : NULL},
        .reads = &task->input,
        .read_count = 1,
        .preload = true,
        .unshared = true,
    };
    const enum err err = builder_computed(builder, &node, out, detail);
    if (err != ERR_OK) {
        return err;
    }
    work->output = place_ref(*out);
    const struct part *part = vec_last(&builder->piece->parts);
    work->name = value_ref(part->name);
    work->node = part->node;
    if (!work->passive) {
        resume_work(builder, work);
    }
    return ERR_OK;
}
