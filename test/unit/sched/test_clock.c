/* src/sched: the host's clock. How long runs take is asked of its tick, what
 * time it is of the clock itself, and neither if there is nothing to do. */

#include "lib/test.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "sched/scheduler.h"

/* A host that counts who asks. Its tick is behind the clock. */
struct counted {
    struct host host;
    mono_ms time;
    mono_ms behind;
    unsigned nows;
    unsigned ticks;
};

static mono_ms now(struct host *host)
{
    struct counted *counted = (struct counted *)(void *)host;
    counted->nows++;
    return counted->time;
}

static mono_ms tick(struct host *host)
{
    struct counted *counted = (struct counted *)(void *)host;
    counted->ticks++;
    return counted->time - counted->behind;
}

/* A document, and an effect that reads it. */
struct stage {
    struct counted clock;
    struct replica replica;
    struct sched *sched;
    struct place *a;
    mono_ms takes; /* a run */
    unsigned runs;
};

static void set(struct stage *stage, int64_t number)
{
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&stage->replica, NULL);
    EXPECT_EQ(transaction_put_adopt(transaction,
                                    stage->a,
                                    value_int(number),
                                    &detail),
              ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, &detail), ERR_OK);
    transaction_release(transaction);
}

static enum run_result look_for_long(struct run *run, void *ctx)
{
    struct stage *stage = ctx;
    struct value value;
    (void)run_read(run, stage->a, READ_DEEP, READ_FOR_BOTH, &value);
    value_unref(value);
    stage->clock.time += stage->takes;
    stage->runs++;
    return RUN_DONE;
}

static struct node *stage_begin(struct stage *stage, bool has_tick)
{
    *stage = (struct stage){.clock = {.time = 1000, .behind = 3}};
    stage->clock.host.now = now;
    stage->clock.host.tick = has_tick ? tick : NULL;
    struct err_detail detail;
    struct space *space;
    struct entity *entity;
    replica_init(&stage->replica, NULL);
    const struct space_options options = {.id = value_text_new("space")};
    EXPECT_EQ(space_open(&stage->replica, &options, &space, &detail), ERR_OK);
    EXPECT_EQ(
        entity_of(space, SCOPE_SPACE, value_text_new("of:a"), &entity, &detail),
        ERR_OK);
    stage->a = place_payload(entity);
    set(stage, 1);
    stage->sched =
        scheduler_new(&stage->replica,
                      &(struct scheduler_options){.host = &stage->clock.host});
    return scheduler_register(stage->sched,
                              &(struct node_spec){
                                  .kind = NODE_EFFECT,
                                  .run = look_for_long,
                                  .ctx = stage,
                                  .no_auto_debounce = true,
                              });
}

static void stage_end(struct stage *stage)
{
    scheduler_free(stage->sched);
    place_unref(stage->a);
    replica_release(&stage->replica);
}

TEST(a_step_now_is_one_at_the_time_of_the_host)
{
    struct stage stage;
    const struct node *node = stage_begin(&stage, false);
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 1);
    EXPECT_EQ(stage.sched->now, 1000);
    EXPECT_EQ(node->ended_at, 1000);
    stage.clock.time = 1500;
    set(&stage, 2);
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 2);
    EXPECT_EQ(node->ended_at, 1500);
    stage_end(&stage);
}

TEST(a_step_now_with_nothing_to_do_asks_nobody_for_the_time)
{
    struct stage stage;
    (void)stage_begin(&stage, true);
    scheduler_step_now(stage.sched);
    stage.clock.nows = 0;
    stage.clock.ticks = 0;
    stage.clock.time += 10;
    scheduler_step_now(stage.sched);
    set(&stage, 1); /* as it was */
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 1);
    EXPECT_EQ(stage.clock.nows, 0);
    EXPECT_EQ(stage.clock.ticks, 0);
    stage_end(&stage);
}

TEST(a_step_now_sees_to_what_waits_for_its_time)
{
    struct stage stage;
    struct node *node = stage_begin(&stage, false);
    scheduler_set_throttle(stage.sched, node, 100);
    scheduler_step_now(stage.sched);
    set(&stage, 2);
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 1);
    stage.clock.time += 99;
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 1);
    stage.clock.time += 1;
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 2);
    stage_end(&stage);
}

/* The look at the clock before a step is the one at the beginning of its first
 * run, and the look after a run the one at the end of its pass. */
TEST(a_step_now_with_one_run_looks_at_the_clock_twice)
{
    struct stage stage;
    (void)stage_begin(&stage, false);
    scheduler_step_now(stage.sched);
    stage.clock.nows = 0;
    set(&stage, 2);
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 2);
    EXPECT_EQ(stage.clock.nows, 2);
    stage_end(&stage);
}

/* Who steps says what time it is, and may have looked at the clock long ago:
 * that does not make a run a long one. */
TEST(how_old_the_time_of_a_step_is_does_not_count_as_time_of_a_run)
{
    struct stage stage;
    const struct node *node = stage_begin(&stage, false);
    stage.clock.time = 5000;
    stage.takes = 7;
    scheduler_step(stage.sched, 1000);
    EXPECT_EQ(node->last_ms, 7);
    set(&stage, 2);
    stage.clock.time += 500;
    scheduler_step(stage.sched, 1000);
    EXPECT_EQ(node->last_ms, 7);
    EXPECT_EQ(node->busy_ms, 14);
    stage_end(&stage);
}

TEST(how_long_runs_take_is_asked_of_the_tick)
{
    struct stage stage;
    const struct node *node = stage_begin(&stage, true);
    stage.takes = 7;
    scheduler_step_now(stage.sched);
    set(&stage, 2);
    scheduler_step_now(stage.sched);
    EXPECT_EQ(stage.runs, 2);
    EXPECT_EQ(stage.clock.nows, 2); /* one a step */
    EXPECT(stage.clock.ticks >= 4);
    EXPECT_EQ(node->last_ms, 7);
    EXPECT_EQ(node->busy_ms, 14);
    EXPECT_EQ(node->ended_at, 1014); /* by the clock: the tick is at 1011 */
    stage_end(&stage);
}
