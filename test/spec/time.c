/* TIME: debounce, and what makes an effect slow (timing-1 to timing-4 of
 * docs/spec/scheduler.md). */

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "sched/gates.h"

/* A run takes `k` milliseconds on the clock of the host. */
static enum run_result slow(struct run *run, struct kit_node *node)
{
    node->kit->sim.now += (mono_ms)node->k;
    return kit_fn_see(run, node);
}

static struct kit_node *debounced(struct sched_kit *kit,
                                  const char *surface,
                                  mono_ms window)
{
    const struct kit_spec spec = {
        .surface = surface,
        .fn = kit_fn_times,
        .k = 10,
        .debounce = window,
    };
    return kit_add(kit, "C", &spec);
}

static struct kit_node *debounced_effect(struct sched_kit *kit, mono_ms window)
{
    const struct kit_spec spec = {
        .surface = "s",
        .effect = true,
        .fn = kit_fn_see,
        .debounce = window,
    };
    return kit_add(kit, "E", &spec);
}

TEST(time_02_no_run_without_demand)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 x=0");
    struct kit_node *c = debounced(&kit, "s -> x", 50);
    kit_tick(&kit, 100);
    EXPECT_EQ(c->runs, 0);
    EXPECT_TEXT(kit_pull(&kit, "x"), "10");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(time_03_registered_again_and_again)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 x=0");
    struct kit_node *c = NULL;
    uint64_t runs = 0;
    for (int i = 0; i < 5; i++) {
        if (c != NULL) {
            runs += c->runs;
            kit_remove(c);
        }
        c = debounced(&kit, "s -> x", 50);
        kit_tick(&kit, 10);
    }
    kit_tick(&kit, 100);
    EXPECT_EQ(runs + c->runs, 0);
    EXPECT_TEXT(kit_pull(&kit, "x"), "10");
    EXPECT_EQ(runs + c->runs, 1);
    kit_end(&kit);
}

TEST(time_04_the_window_can_be_read_back)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 x=0");
    struct kit_node *c = debounced(&kit, "s -> x", 50);
    EXPECT_EQ(c->node->gate->debounce, 50);
    kit_step(&kit);
    EXPECT_EQ(c->runs, 0);
    (void)kit_pull(&kit, "x");
    EXPECT_EQ(c->runs, 1);
    sched_set_debounce(kit.sched, c->node, 70);
    EXPECT_EQ(c->node->gate->debounce, 70);
    kit_end(&kit);
}

/* Once without an observer between the pulls, and once with an effect that
 * looks all the time. */
TEST(time_05_each_change_restarts_the_window)
{
    for (int looked_at = 0; looked_at < 2; looked_at++) {
        struct sched_kit kit;
        kit_begin(&kit);
        kit_set_all(&kit, "s=1 r=0");
        struct kit_node *c = debounced(&kit, "s -> r", 50);
        struct kit_node *e = looked_at ? kit_see(&kit, "E", "r") : NULL;
        EXPECT_TEXT(kit_pull(&kit, "r"), "10"); /* the first is not delayed */
        EXPECT_EQ(c->runs, 1);
        kit_set(&kit, "s", "2");
        kit_step(&kit);
        kit_tick(&kit, 25);
        kit_set(&kit, "s", "3");
        kit_step(&kit);
        kit_tick(&kit, 30);
        EXPECT_EQ(c->runs, 1);
        kit_tick(&kit, 40);
        EXPECT_IDLE(&kit);
        EXPECT_TEXT(kit_pull(&kit, "r"), "30");
        EXPECT_EQ(c->runs, 2);
        if (e != NULL) {
            EXPECT_SEEN(e, "10 30");
        }
        kit_end(&kit);
    }
}

TEST(time_06_removed_in_time)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = debounced_effect(&kit, 100);
    kit_step(&kit);
    kit_remove(e);
    kit_tick(&kit, 150);
    EXPECT_EQ(e->runs, 0);
    EXPECT_EQ(sched_next_wake(kit.sched), MONO_NEVER);
    kit_end(&kit);
}

TEST(time_07_a_removal_ends_the_wait_for_idle)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = debounced_effect(&kit, 30000);
    kit_tick(&kit, 20);
    EXPECT(!sched_is_idle(kit.sched));
    kit_remove(e);
    EXPECT(sched_is_idle(kit.sched));
    EXPECT_EQ(e->runs, 0);
    kit_end(&kit);
}

TEST(time_08_disposed_in_time)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = debounced_effect(&kit, 50);
    kit_step(&kit);
    sched_dispose(kit.sched);
    EXPECT(sched_is_idle(kit.sched));
    kit_tick(&kit, 100);
    EXPECT_EQ(e->runs, 0);
    kit_end(&kit);
}

TEST(time_10_a_slow_effect_gets_a_window)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0");
    struct kit_node *e = kit_effect(&kit, "E", "s", slow, 60);
    for (int i = 1; i <= 3; i++) {
        EXPECT(e->node->gate == NULL);
        EXPECT_IDLE(&kit);
        kit_set_number(&kit, "s", i);
    }
    EXPECT_EQ(e->runs, 3);
    EXPECT(e->node->gate != NULL && e->node->gate->debounce == 100);
    kit_step(&kit);
    EXPECT_EQ(e->runs, 3);
    kit_tick(&kit, 99);
    EXPECT_EQ(e->runs, 3);
    kit_tick(&kit, 1);
    EXPECT_EQ(e->runs, 4);
    kit_end(&kit);
}

TEST(time_11_who_does_not_want_one_gets_none)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0 c=0");
    const struct kit_spec spec = {
        .surface = "s",
        .effect = true,
        .fn = slow,
        .k = 60,
        .no_auto_debounce = true,
    };
    struct kit_node *e = kit_add(&kit, "E", &spec);
    for (int i = 1; i <= 6; i++) {
        EXPECT_IDLE(&kit);
        kit_set_number(&kit, "s", i);
    }
    EXPECT_EQ(e->node->gate->debounce, 0);
    kit_end(&kit);
}

TEST(time_12_a_fast_effect_gets_none)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0");
    struct kit_node *e = kit_effect(&kit, "E", "s", slow, 49);
    for (int i = 1; i <= 6; i++) {
        EXPECT_IDLE(&kit);
        kit_set_number(&kit, "s", i);
    }
    EXPECT_EQ(e->runs, 6);
    EXPECT(e->node->gate == NULL);
    kit_end(&kit);
}

TEST(time_13_the_first_run_of_an_effect_is_delayed)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=2");
    struct kit_node *e = debounced_effect(&kit, 50);
    kit_step(&kit);
    EXPECT_EQ(e->runs, 0);
    kit_tick(&kit, 49);
    EXPECT_EQ(e->runs, 0);
    kit_tick(&kit, 51);
    EXPECT_EQ(e->runs, 1);
    EXPECT_SEEN(e, "2");
    kit_end(&kit);
}

TEST(time_20_asking_arms_nothing)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = debounced(&kit, "s -> r", 50);
    kit_see(&kit, "E", "r");
    EXPECT_IDLE(&kit);
    kit_tick(&kit, 10);
    EXPECT(gates_reason(c->node, kit.sim.now) == NULL);
    EXPECT_EQ(gates_eligible_at(c->node), 0);
    EXPECT_EQ(sched_next_wake(kit.sched), MONO_NEVER);
    EXPECT(gates_reason(c->node, kit.sim.now) == NULL);
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    EXPECT_TEXT(gates_reason(c->node, kit.sim.now), "debounce");
    EXPECT_EQ(gates_eligible_at(c->node), kit.sim.now + 50);
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sim.now + 50);
    kit_end(&kit);
}

/* timing-1: a child that its parent has just created waits for its window even
 * the first time, and idle for it. */
static enum run_result parent(struct run *run, struct kit_node *node)
{
    if (node->kids == NULL) {
        node->kids = debounced(node->kit, "s -> x", 50);
    }
    return kit_fn_see(run, node);
}

TEST(time_21_the_first_run_of_a_child_is_delayed)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 x=0 p=1");
    struct kit_node *p = kit_effect(&kit, "P", "p", parent, 0);
    kit_step(&kit);
    EXPECT_EQ(p->runs, 1);
    EXPECT_EQ(p->kids->runs, 0);
    EXPECT(!sched_is_idle(kit.sched));
    EXPECT_IDLE(&kit);
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT_GET(&kit, "x", "10");
    EXPECT_EQ(p->kids->node->provisional, 0);
    kit_end(&kit);
}

/* A window that is set, shortened or taken away. */
TEST(time_22_windows_change_while_they_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = debounced_effect(&kit, 30000);
    kit_step(&kit);
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sim.now + 30000);
    sched_set_debounce(kit.sched, e->node, 50);
    kit_step(&kit);
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sim.now + 50);
    kit_tick(&kit, 50);
    EXPECT_EQ(e->runs, 1);
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    EXPECT_EQ(e->runs, 1);
    sched_set_debounce(kit.sched, e->node, 0);
    kit_step(&kit);
    EXPECT_EQ(e->runs, 2);
    kit_end(&kit);
}

/* A change that the run itself has seen arms nothing, not even later. */
TEST(time_23_what_a_run_has_seen_opens_no_window)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 u=1 t=0");
    const struct kit_spec materializer = {
        .surface = "u",
        .writes = "t",
        .envelopes = "t",
        .fn = kit_fn_sum,
        .debounce = 50,
    };
    kit_add(&kit, "M", &materializer);
    const struct kit_spec spec = {
        .surface = "s t",
        .effect = true,
        .fn = kit_fn_see,
        .debounce = 50,
    };
    struct kit_node *e = kit_add(&kit, "E", &spec);
    EXPECT_IDLE(&kit);
    const uint64_t runs = e->runs;
    (void)kit_ran(&kit);
    kit_set_all(&kit, "s=2 u=2");
    kit_step(&kit);
    kit_tick(&kit, 50);
    EXPECT_TEXT(kit_ran(&kit), "E M"); /* M inside of E, which was told */
    EXPECT_EQ(e->runs, runs + 1);
    kit_step(&kit);
    EXPECT_EQ(gates_eligible_at(e->node), 0);
    EXPECT_EQ(kit.sched->rearming.count, 0);
    kit_end(&kit);
}

/* D29: a debounce counts changes while the node is live. */
TEST(time_24_a_dormant_node_that_is_demanded_runs_at_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = debounced(&kit, "s -> r", 50);
    EXPECT_TEXT(kit_pull(&kit, "r"), "10");
    kit_set(&kit, "s", "2");
    EXPECT_TEXT(kit_pull(&kit, "r"), "20");
    EXPECT_EQ(c->runs, 2);

    /* A window that was open when the last reader left counts no more. */
    struct kit_node *e = kit_see(&kit, "E", "r");
    kit_step(&kit);
    kit_set(&kit, "s", "3");
    kit_step(&kit);
    EXPECT_TEXT(gates_reason(c->node, kit.sim.now), "debounce");
    kit_remove(e);
    e = kit_see(&kit, "F", "r");
    kit_step(&kit);
    EXPECT_SEEN(e, "30");

    /* While it is live, a change is debounced as before. */
    kit_set(&kit, "s", "4");
    kit_step(&kit);
    EXPECT_SEEN(e, "30");
    kit_tick(&kit, 50);
    EXPECT_SEEN(e, "30 40");
    kit_end(&kit);
}

/* gates-4 of sched/gates.h: an effect that answers a question waits for
 * nobody's window, and leaves those alone that it does not need. */
TEST(time_25_an_immediate_effect_does_not_wait)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 a=0 b=0 c=0 other=0");
    (void)kit_sum(&kit, "A", "s -> a", 0);
    struct kit_node *b = debounced(&kit, "a -> b", 50);
    struct kit_node *c = kit_sum(&kit, "C", "b -> c", 0);
    struct kit_node *other = debounced(&kit, "s -> other", 50);
    (void)kit_see(&kit, "E", "c");
    (void)kit_see(&kit, "F", "other");
    EXPECT_IDLE(&kit);
    sched_set_throttle(kit.sched, c->node, 1000);
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    EXPECT_GET(&kit, "c", "10");

    const struct kit_spec question = {
        .surface = "c",
        .effect = true,
        .fn = kit_fn_see,
        .immediate = true,
    };
    struct kit_node *q = kit_add(&kit, "Q", &question);
    kit_step(&kit);
    EXPECT_SEEN(q, "20");
    EXPECT_EQ(b->runs, 2);
    EXPECT_EQ(other->runs, 1);

    /* As long as it is there. */
    kit_set(&kit, "s", "3");
    kit_step(&kit);
    EXPECT_SEEN(q, "20 30");
    EXPECT_EQ(other->runs, 1);
    kit_remove(q);
    kit_set(&kit, "s", "4");
    kit_step(&kit);
    EXPECT_GET(&kit, "c", "30");
    kit_end(&kit);
}

TEST(time_26_an_immediate_effect_behind_a_cycle_ends)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=0 b=0");
    const struct kit_spec first = {
        .surface = "b -> a",
        .fn = kit_fn_sum,
        .k = 1,
        .debounce = 50,
    };
    (void)kit_add(&kit, "A", &first);
    (void)kit_sum(&kit, "B", "a -> b", 1);
    const struct kit_spec question = {
        .surface = "a",
        .effect = true,
        .fn = kit_fn_see,
        .immediate = true,
    };
    (void)kit_add(&kit, "Q", &question);
    kit_step(&kit);
    EXPECT(kit.sched->counters.runs <= 3 * SCHED_RUNS_MAX);
    EXPECT(kit.sched->backing_off > 0);
    kit_end(&kit);
}
