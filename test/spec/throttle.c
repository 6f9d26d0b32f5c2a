/* THR: throttle, the distance between runs (docs/spec/scheduler.md). */

#include "lib/sched_kit.h"
#include "lib/test.h"

static struct kit_node *doubling_effect(struct sched_kit *kit)
{
    return kit_effect(kit, "E", "s -> r", kit_fn_times, 2);
}

static struct kit_node *doubler(struct sched_kit *kit)
{
    return kit_computation(kit, "C", "s -> r", kit_fn_times, 2);
}

TEST(thr_02_the_first_run_is_not_held)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = doubler(&kit);
    sched_set_throttle(kit.sched, c->node, 1000);
    EXPECT_TEXT(kit_pull(&kit, "r"), "2");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(thr_03_asked_again_too_early)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = doubler(&kit);
    (void)kit_pull(&kit, "r");
    sched_set_throttle(kit.sched, c->node, 500);
    sched_invalidate(kit.sched, c->node);
    (void)kit_pull(&kit, "r");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(thr_04_and_late_enough)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = doubler(&kit);
    sched_set_throttle(kit.sched, c->node, 50);
    (void)kit_pull(&kit, "r");
    sched_invalidate(kit.sched, c->node);
    (void)kit_pull(&kit, "r");
    EXPECT_EQ(c->runs, 1);
    kit_tick(&kit, 100);
    (void)kit_pull(&kit, "r");
    EXPECT_EQ(c->runs, 2);
    kit_end(&kit);
}

TEST(thr_05_stays_invalid_meanwhile)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = doubler(&kit);
    (void)kit_pull(&kit, "r");
    sched_set_throttle(kit.sched, c->node, 500);
    kit_set(&kit, "s", "2");
    EXPECT_TEXT(kit_pull(&kit, "r"), "2");
    EXPECT_EQ(c->runs, 1);
    EXPECT_EQ(c->node->status, NODE_INVALID);
    kit_end(&kit);
}

TEST(thr_06_an_effect_runs_when_it_is_time)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *e = doubling_effect(&kit);
    sched_set_throttle(kit.sched, e->node, 500);
    kit_step(&kit);
    kit_set(&kit, "s", "5");
    kit_tick(&kit, 80);
    EXPECT_EQ(e->runs, 1);
    EXPECT_GET(&kit, "r", "2");
    kit_tick(&kit, 700);
    EXPECT_EQ(e->runs, 2);
    EXPECT_GET(&kit, "r", "10");
    kit_set(&kit, "s", "10");
    kit_tick(&kit, 500);
    EXPECT_EQ(e->runs, 3);
    EXPECT_GET(&kit, "r", "20");
    kit_end(&kit);
}

TEST(thr_07_waiting_costs_no_looks)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *e = doubling_effect(&kit);
    sched_set_throttle(kit.sched, e->node, 500);
    kit_step(&kit);
    kit_set(&kit, "s", "5");
    introspection_reset_counters(kit.sched);
    for (int i = 0; i < 40; i++) {
        kit_tick(&kit, 10);
    }
    EXPECT_EQ(e->runs, 1);
    EXPECT_EQ(kit.sched->counters.filtered, 0);
    EXPECT_EQ(kit.sched->counters.pops, 0);
    EXPECT_EQ(kit.sched->counters.passes, 0);
    kit_end(&kit);
}

TEST(thr_08_a_throttle_that_is_taken_away)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = kit_see(&kit, "E", "s");
    sched_set_throttle(kit.sched, e->node, 30000);
    kit_step(&kit);
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    EXPECT_EQ(e->runs, 1);
    EXPECT(!sched_is_idle(kit.sched));
    sched_set_throttle(kit.sched, e->node, 0);
    const mono_ms now = kit.sim.now;
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sim.now, now);
    EXPECT_SEEN(e, "1 2");
    kit_end(&kit);
}

TEST(thr_09_the_time_of_the_last_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = doubler(&kit);
    EXPECT_EQ(c->node->ended_at, 0);
    (void)kit_pull(&kit, "r");
    EXPECT(c->node->ended_at > 0);
    kit_end(&kit);
}

/* The distance is from the end of a run, not its beginning. */
static enum run_result slow(struct run *run, struct kit_node *node)
{
    node->kit->sim.now += 30;
    return kit_fn_see(run, node);
}

TEST(thr_10_counted_from_the_end)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = kit_effect(&kit, "E", "s", slow, 0);
    sched_set_throttle(kit.sched, e->node, 100);
    const mono_ms start = kit.sim.now;
    kit_step(&kit);
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    EXPECT_EQ(sched_next_wake(kit.sched), start + 130);
    EXPECT_EQ(e->runs, 1);
    kit_end(&kit);
}
