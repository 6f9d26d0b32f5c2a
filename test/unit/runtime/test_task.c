/* Tasks, rule by rule (runtime/task.h). The host of these tests keeps what it
 * was asked to do in a list, and does it when the test says so. */

#include "runtime/task.h"

#include "host/world.h"
#include "lib/test.h"
#include "lib/values.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/object.h"

enum {
    TASKS_MAX = 8
};

struct desk {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct pattern *pattern;
    struct piece *piece;
    struct place *question;
    struct place *answer;
    struct digest digest;
    bool blind;
    bool at_once; /* the host ends it from inside the start */
    struct task *tasks[TASKS_MAX];
    struct value inputs[TASKS_MAX];
    bool cancelled[TASKS_MAX];
    unsigned count;
    unsigned released;
    uint32_t retries;
    unsigned looks;
    struct value seen;
};

/* -- The host ------------------------------------------------------------ */

static void start_work(void *ctx, struct task *task, struct value input)
{
    struct desk *desk = ctx;
    if (!EXPECT(desk->count < TASKS_MAX)) {
        return;
    }
    EXPECT(desk->one->runtime.sched->run == NULL);
    desk->tasks[desk->count] = task;
    desk->inputs[desk->count] = value_ref(input);
    task_set_user(task, &desk->cancelled[desk->count]);
    desk->count++;
    if (desk->at_once) {
        desk->tasks[desk->count - 1] = NULL;
        task_finish_adopt(task, value_ref(input));
    }
}

static void cancel_work(void *ctx, struct task *task)
{
    (void)ctx;
    bool *cancelled = task_user(task);
    EXPECT(!*cancelled);
    *cancelled = true;
}

static void release_work(void *ctx)
{
    struct desk *desk = ctx;
    desk->released++;
}

static enum run_result look(struct run *run, void *ctx, struct value *result)
{
    struct desk *desk = ctx;
    (void)result;
    struct value value;
    if (run_read(run, desk->answer, READ_DEEP, READ_FOR_BOTH, &value) ==
        ERR_STALE) {
        return RUN_AGAIN;
    }
    value_unref(desk->seen);
    desk->seen = value;
    desk->looks++;
    return RUN_DONE;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    struct desk *desk = ctx;
    const struct builder_cell cell = {.name = value_text_new("question")};
    enum err err = builder_state(builder, &cell, &desk->question, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct builder_task task = {
        .name = value_text_new("answer"),
        .input = desk->question,
        .start = start_work,
        .cancelled = cancel_work,
        .ctx = desk,
        .release = release_work,
        .fingerprint = &desk->digest,
        .retries = desk->retries,
    };
    err = builder_task(builder, &task, &desk->answer, detail);
    if (err == ERR_OK && !desk->blind) {
        const struct builder_node node = {
            .name = value_text_new("look"),
            .body = {look, desk, NULL, &desk->digest},
        };
        err = builder_effect(builder, &node, detail);
    }
    return err;
}

/* -- Its life ------------------------------------------------------------ */

static void open_runtime(struct desk *desk)
{
    struct err_detail detail = {0};
    const struct world_runtime_options options = {0};
    EXPECT(world_runtime_new(desk->store, &options, &desk->one, &detail) ==
           ERR_OK);
}

static void idle(struct desk *desk)
{
    EXPECT(world_idle(desk->one, true) == WORLD_AT_REST);
    EXPECT(sched_check(desk->one->runtime.sched));
}

static void start(struct desk *desk)
{
    const struct piece_options options = {.name = value_text_new("p"),
                                          .pattern = desk->pattern};
    struct err_detail detail = {0};
    EXPECT(piece_start(&desk->one->runtime, &options, &desk->piece, &detail) ==
           ERR_OK);
    idle(desk);
}

static void open_desk(struct desk *desk)
{
    struct err_detail detail = {0};
    *desk = (struct desk){0};
    desk->world = world_new(1);
    EXPECT(world_store_new(desk->world, NULL, &desk->store, &detail) == ERR_OK);
    open_runtime(desk);
    desk->digest = digest_of_bytes("test", "task", 4);
    desk->pattern =
        pattern_new(&(struct pattern_spec){.name = value_text_new("desk"),
                                           .build = build,
                                           .ctx = desk});
}

static void close_desk(struct desk *desk)
{
    world_free(desk->world);
    pattern_unref(desk->pattern);
    value_unref(desk->seen);
    for (unsigned i = 0; i < desk->count; i++) {
        value_unref(desk->inputs[i]);
        if (desk->tasks[i] != NULL) { /* the host was not done with it */
            task_finish_adopt(desk->tasks[i], value_null());
        }
    }
}

static void ask(struct desk *desk, const char *json)
{
    struct err_detail detail = {0};
    struct transaction *transaction =
        transaction_begin(&desk->one->runtime.replica, NULL);
    EXPECT(json[0] == '\0'
               ? transaction_delete(transaction, desk->question, &detail) ==
                     ERR_OK
               : transaction_put_adopt(transaction,
                                       desk->question,
                                       from_quoted(json),
                                       &detail) == ERR_OK);
    EXPECT(transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
    idle(desk);
}

static void finish(struct desk *desk, unsigned which, const char *json)
{
    struct task *task = desk->tasks[which];
    desk->tasks[which] = NULL;
    task_finish_adopt(task, from_quoted(json));
    idle(desk);
}

static bool expect_state(const struct desk *desk, const char *state)
{
    const struct value now = desk->answer->entity->visible.payload;
    const struct value want = from_quoted(state);
    const bool held = EXPECT_VALUE(
        value_is_object(now) ? object_field(now, "state") : VALUE_NONE,
        want);
    value_unref(want);
    return held;
}

static struct value answer_of(const struct desk *desk, const char *field)
{
    const struct value now = desk->answer->entity->visible.payload;
    return value_is_object(now) ? object_field(now, field) : VALUE_NONE;
}

/* -- Tests --------------------------------------------------------------- */

TEST(a_task_begins_is_running_and_ends)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    EXPECT_EQ(desk.count, 0); /* there is no input */
    expect_state(&desk, "'idle'");
    ask(&desk, "{'n':1}");
    EXPECT_EQ(desk.count, 1);
    EXPECT_QUOTED(desk.inputs[0], "{'n':1}");
    expect_state(&desk, "'running'");
    finish(&desk, 0, "[42]");
    expect_state(&desk, "'done'");
    EXPECT_QUOTED(answer_of(&desk, "value"), "[42]");
    EXPECT_VALUE(desk.seen, desk.answer->entity->visible.payload);
    EXPECT_EQ(desk.one->runtime.sched->counters.surface_violations, 0);
    close_desk(&desk);
    EXPECT_EQ(desk.released, 1);
}

TEST(a_task_can_fail)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    ask(&desk, "1");
    struct err_detail detail = {0};
    (void)err_set(&detail, ERR_NOT_FOUND, "there is no such page");
    struct task *task = desk.tasks[0];
    desk.tasks[0] = NULL;
    task_fail(task, &detail);
    idle(&desk);
    expect_state(&desk, "'failed'");
    const struct value error = answer_of(&desk, "error");
    EXPECT_QUOTED(object_field(error, "text"), "'there is no such page'");
    ask(&desk, "2"); /* another input is another chance */
    EXPECT_EQ(desk.count, 2);
    expect_state(&desk, "'running'");
    finish(&desk, 1, "3");
    expect_state(&desk, "'done'");
    close_desk(&desk);
}

TEST(a_task_may_end_while_it_begins)
{
    struct desk desk;
    open_desk(&desk);
    desk.at_once = true;
    start(&desk);
    ask(&desk, "'x'");
    expect_state(&desk, "'done'");
    EXPECT_QUOTED(answer_of(&desk, "value"), "'x'");
    close_desk(&desk);
}

TEST(k1_what_nobody_looks_at_is_not_begun)
{
    struct desk desk;
    open_desk(&desk);
    desk.blind = true;
    start(&desk);
    ask(&desk, "1");
    EXPECT_EQ(desk.count, 0);
    close_desk(&desk);
}

/* The store has not said yes yet. */
TEST(k1_the_host_is_asked_after_the_landing)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    world_hold(desk.one, true);
    struct err_detail detail = {0};
    struct transaction *transaction =
        transaction_begin(&desk.one->runtime.replica, NULL);
    EXPECT(transaction_put_adopt(transaction,
                                 desk.question,
                                 value_int(1),
                                 &detail) == ERR_OK);
    EXPECT(transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
    (void)world_idle(desk.one, false);
    expect_state(&desk, "'running'");
    EXPECT_EQ(desk.count, 0);
    world_hold(desk.one, false);
    idle(&desk);
    EXPECT_EQ(desk.count, 1);
    close_desk(&desk);
}

TEST(k2_another_input_cancels_and_what_comes_late_is_dropped)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    ask(&desk, "1");
    EXPECT(!desk.cancelled[0]);
    ask(&desk, "2");
    EXPECT(desk.cancelled[0]);
    EXPECT_EQ(desk.count, 2);
    finish(&desk, 0, "'late'");
    expect_state(&desk, "'running'");
    finish(&desk, 1, "'right'");
    EXPECT_QUOTED(answer_of(&desk, "value"), "'right'");
    ask(&desk, "3");
    ask(&desk, "");
    EXPECT(desk.cancelled[2]);
    expect_state(&desk, "'idle'");
    close_desk(&desk);
}

TEST(k2_a_node_that_goes_cancels)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    ask(&desk, "1");
    piece_stop(desk.piece);
    EXPECT(desk.cancelled[0]);
    EXPECT_EQ(desk.released, 1);
    finish(&desk, 0, "'late'");
    close_desk(&desk);
}

TEST(k3_what_is_done_stays_done_after_a_restart)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    ask(&desk, "1");
    finish(&desk, 0, "'right'");
    world_runtime_end(desk.one);
    open_runtime(&desk);
    start(&desk);
    EXPECT_EQ(desk.count, 1);
    EXPECT_EQ(desk.one->runtime.sched->counters.runs, 0);
    /* Also if it has to run, because nothing is known of it. */
    world_runtime_end(desk.one);
    desk.digest = digest_of_bytes("test", "other", 5);
    open_runtime(&desk);
    start(&desk);
    EXPECT(desk.one->runtime.sched->counters.runs > 0);
    EXPECT_EQ(desk.count, 1);
    ask(&desk, "2");
    EXPECT_EQ(desk.count, 2);
    ask(&desk, "1");
    EXPECT_EQ(desk.count, 3); /* only the last one is kept */
    close_desk(&desk);
}

TEST(k3_what_was_running_is_begun_again_after_a_restart)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    ask(&desk, "{'n':1}");
    world_runtime_end(desk.one);
    EXPECT(desk.cancelled[0]);
    open_runtime(&desk);
    start(&desk);
    EXPECT_EQ(desk.count, 2);
    EXPECT_QUOTED(desk.inputs[1], "{'n':1}");
    finish(&desk, 0, "'of another life'");
    expect_state(&desk, "'running'");
    finish(&desk, 1, "'right'");
    EXPECT_QUOTED(answer_of(&desk, "value"), "'right'");
    close_desk(&desk);
}

/* A second runtime on the same store, with the same piece. */
static struct world_runtime *join(struct desk *other, struct desk *desk)
{
    struct world_runtime *own = other->one;
    struct err_detail detail = {0};
    const struct world_runtime_options options = {0};
    EXPECT(world_runtime_new(desk->store, &options, &other->one, &detail) ==
           ERR_OK);
    start(other);
    ask(desk, "1");
    idle(other);
    EXPECT_EQ(desk->count, 1);
    return own;
}

static void leave(struct desk *other, struct world_runtime *own)
{
    world_runtime_end(other->one);
    other->one = own;
    close_desk(other);
}

/* task-5. */
TEST(k4_what_another_runtime_has_begun_is_not_begun_again)
{
    struct desk desk;
    struct desk other;
    open_desk(&desk);
    open_desk(&other);
    start(&desk);
    struct world_runtime *own = join(&other, &desk);
    EXPECT_EQ(other.count, 0);
    finish(&desk, 0, "'first'");
    idle(&other);
    EXPECT_QUOTED(answer_of(&other, "value"), "'first'");
    leave(&other, own);
    close_desk(&desk);
}

/* task-5: the claim is to be had after the end, and the end is not known here
 * yet. */
TEST(k5_what_another_runtime_has_done_is_not_done_again)
{
    struct desk desk;
    struct desk other;
    open_desk(&desk);
    open_desk(&other);
    start(&desk);
    struct world_runtime *own = join(&other, &desk);
    EXPECT_EQ(tasks_under_way(&other.one->runtime), 1);
    finish(&desk, 0, "'first'");
    world_advance(other.one->world, TASK_CLAIM_MS);
    (void)runtime_pass(&other.one->runtime, world_now(other.one->world));
    EXPECT_EQ(other.count, 0);
    EXPECT_EQ(tasks_under_way(&other.one->runtime), 0);
    idle(&other);
    EXPECT_EQ(other.count, 0);
    EXPECT_QUOTED(answer_of(&other, "value"), "'first'");
    leave(&other, own);
    close_desk(&desk);
}

/* Runtimes that cannot claim may both do it; then the first outcome counts. */
TEST(k4_who_is_slower_is_dropped)
{
    struct desk desk;
    struct desk other;
    open_desk(&desk);
    open_desk(&other);
    other.digest = digest_of_bytes("test", "other", 5);
    desk.one->runtime.task_claims = (struct task_claims){0};
    start(&desk);
    struct world_runtime *own = join(&other, &desk);
    if (EXPECT_EQ(other.count, 1)) {
        finish(&desk, 0, "'first'");
        finish(&other, 0, "'second'");
        idle(&desk);
        EXPECT_QUOTED(answer_of(&desk, "value"), "'first'");
        EXPECT_QUOTED(answer_of(&other, "value"), "'first'");
    }
    leave(&other, own);
    close_desk(&desk);
}

/* task-5: the claim ends with the runtime. */
TEST(k5_another_runtime_takes_over)
{
    struct desk desk;
    struct desk other;
    open_desk(&desk);
    open_desk(&other);
    start(&desk);
    struct world_runtime *own = join(&other, &desk);
    EXPECT_EQ(other.count, 0);
    world_runtime_end(desk.one);
    world_advance(other.one->world, TASK_CLAIM_MS);
    idle(&other);
    if (EXPECT_EQ(other.count, 1)) {
        finish(&other, 0, "'second'");
        EXPECT_QUOTED(answer_of(&other, "value"), "'second'");
    }
    leave(&other, own);
    close_desk(&desk);
}

/* What cannot be stored does not leave the task running for ever. */
TEST(k4_an_outcome_that_cannot_be_stored_is_a_failure)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    ask(&desk, "1");
    struct value deep = value_null();
    for (unsigned i = 0; i < LIMIT_DEPTH + 10; i++) {
        deep = array_push_adopt(value_empty_array(), deep);
    }
    struct task *task = desk.tasks[0];
    desk.tasks[0] = NULL;
    task_finish_adopt(task, deep);
    idle(&desk);
    EXPECT(expect_state(&desk, "'failed'"));
    close_desk(&desk);
}

static void retry(struct desk *desk, unsigned which)
{
    struct task *task = desk->tasks[which];
    desk->tasks[which] = NULL;
    task_retry_adopt(task, task_error_new("IO", "no route"), 0);
    idle(desk);
}

/* task-7. */
TEST(k7_an_attempt_is_repeated)
{
    struct desk desk;
    open_desk(&desk);
    desk.retries = 1;
    start(&desk);
    ask(&desk, "1");
    retry(&desk, 0);
    EXPECT_EQ(desk.count, 1);
    EXPECT(expect_state(&desk, "'running'"));
    world_advance(desk.world, TASK_BACKOFF_MS);
    idle(&desk);
    if (EXPECT_EQ(desk.count, 2)) {
        EXPECT_EQ(task_attempt(desk.tasks[1]), 2);
        retry(&desk, 1);
    }
    EXPECT(expect_state(&desk, "'failed'"));
    EXPECT_QUOTED(answer_of(&desk, "attempts"), "2");
    EXPECT_QUOTED(answer_of(&desk, "error"), "{'code':'IO','text':'no route'}");
    close_desk(&desk);
}

static enum err judge(void *ctx,
                      const struct commit *commit,
                      struct err_detail *detail)
{
    (void)commit;
    unsigned *left = ctx;
    if (*left == 0) {
        return ERR_OK;
    }
    --*left;
    return err_set(detail, ERR_CONFLICT, "the world has moved on");
}

/* A result that the store does not take at first is written again; and so is
 * "running", whose work is not begun before that. */
TEST(k4_a_conflict_is_tried_again)
{
    struct desk desk;
    open_desk(&desk);
    start(&desk);
    ask(&desk, "1");
    unsigned left = 2;
    desk.one->judge = judge;
    desk.one->judge_ctx = &left;
    finish(&desk, 0, "'right'");
    EXPECT_EQ(left, 0);
    EXPECT_QUOTED(answer_of(&desk, "value"), "'right'");
    desk.one->judge = NULL;
    close_desk(&desk);
}

/* A runtime that ends with work under way, before it has begun, and with an
 * answer on its way: nothing is left behind, and the host can still end it. */
TEST(a_runtime_may_end_at_any_moment)
{
    for (unsigned moment = 0; moment < 3; moment++) {
        struct desk desk;
        open_desk(&desk);
        start(&desk);
        if (moment != 1) {
            ask(&desk, "1");
        }
        world_hold(desk.one, true);
        if (moment == 1) {
            struct err_detail detail = {0};
            struct transaction *transaction =
                transaction_begin(&desk.one->runtime.replica, NULL);
            EXPECT(transaction_put_adopt(transaction,
                                         desk.question,
                                         value_int(1),
                                         &detail) == ERR_OK);
            EXPECT(transaction_commit(transaction, &detail) == ERR_OK);
            transaction_release(transaction);
            (void)world_idle(desk.one, false);
        } else if (moment == 2) {
            struct task *task = desk.tasks[0];
            desk.tasks[0] = NULL;
            task_finish_adopt(task, value_int(1));
        }
        close_desk(&desk);
    }
}
