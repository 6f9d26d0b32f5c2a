/* IDLE: when there is nothing worth waiting for. A caller that waits asks
 * sched_is_idle, and calls sched_idle_over when it has waited. */

#include "lib/sched_kit.h"
#include "lib/test.h"

TEST(idle_03_after_the_end)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = kit_see(&kit, "E", "s");
    EXPECT(!sched_is_idle(kit.sched));
    sched_dispose(kit.sched);
    EXPECT(sched_is_idle(kit.sched));
    kit_set(&kit, "s", "2"); /* nobody listens */
    kit_step(&kit);
    EXPECT_EQ(e->runs, 0);
    EXPECT(sched_is_idle(kit.sched));
    sched_dispose(kit.sched); /* harmless */
    kit_end(&kit);
}

TEST(idle_06_everything_ends_after_the_scheduler)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit_set_all(&kit, "s=1 r=0");
    kit_sum(&kit, "C", "s -> r", 1);
    kit_see(&kit, "E", "r");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->inflight, 1);
    sched_dispose(kit.sched);
    sched_free(kit.sched);                     /* with a commit on its way */
    kit.sched = sched_new(&kit.replica, NULL); /* which ends as usual */
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "r"), "{'value':2}");
    kit_end(&kit);
}

TEST(idle_07_no_wait_for_what_nobody_demands)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *c = kit_sum(&kit, "C", "s -> r", 0);
    (void)kit_pull(&kit, "r");
    sched_set_debounce(kit.sched, c->node, 30000);
    kit_set(&kit, "s", "2");
    const mono_ms now = kit.sim.now;
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sim.now, now);
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(idle_09_a_failure_is_an_end)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    kit_effect(&kit, "E", "s", kit_fn_fail, 0);
    kit_step(&kit);
    EXPECT(sched_is_idle(kit.sched));
    EXPECT_EQ(kit.error_count, 1);
    kit_end(&kit);
}

/* A live computation that has run before and is throttled holds nobody up. */
static struct kit_node *throttled(struct sched_kit *kit)
{
    kit_begin(kit);
    kit_set_all(kit, "s=1 r=0");
    struct kit_node *c = kit_sum(kit, "C", "s -> r", 0);
    kit_see(kit, "E", "r");
    EXPECT_IDLE(kit);
    sched_set_throttle(kit->sched, c->node, 1000);
    kit_set(kit, "s", "2");
    kit_step(kit);
    return c;
}

TEST(idle_11_a_wake_that_nobody_waits_for)
{
    struct sched_kit kit;
    struct kit_node *c = throttled(&kit);
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sim.now + 1000);
    EXPECT(sched_is_idle(kit.sched));
    c->node->gate->hold_passes = 2;
    sched_idle_over(kit.sched);
    EXPECT_EQ(c->node->gate->hold_passes, 0);
    kit_tick(&kit, 1000);
    EXPECT_EQ(c->runs, 2);
    kit_end(&kit);
}

TEST(idle_12_a_wake_without_work)
{
    struct sched_kit kit;
    struct kit_node *c = throttled(&kit);
    kit_remove(c);
    EXPECT(sched_is_idle(kit.sched));
    EXPECT_EQ(sched_next_wake(kit.sched), MONO_NEVER);
    kit_end(&kit);
}

TEST(idle_13_the_time_is_the_one_that_is_given)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = kit_see(&kit, "E", "s");
    sched_set_debounce(kit.sched, e->node, 100);
    kit_step(&kit);
    const mono_ms due = kit.sim.now + 100;
    kit.sim.now = due + 100; /* what the host says does not count */
    sched_step(kit.sched, due - 1);
    EXPECT_EQ(e->runs, 0);
    EXPECT(!sched_is_idle(kit.sched));
    sched_step(kit.sched, due);
    EXPECT_EQ(e->runs, 1);
    kit_end(&kit);
}

TEST(idle_14_who_is_worth_waiting_for)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0 t=0");

    /* An effect, and a materializer: can run now. */
    struct kit_node *e = kit_see(&kit, "E", "s");
    EXPECT(!sched_is_idle(kit.sched));
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sched->now);
    kit_remove(e);
    const struct kit_spec spec = {
        .surface = "s",
        .writes = "t",
        .envelopes = "t",
        .fn = kit_fn_sum,
    };
    struct kit_node *m = kit_add(&kit, "M", &spec);
    EXPECT(!sched_is_idle(kit.sched));
    kit_remove(m);

    /* A computation: if it is demanded. */
    struct kit_node *c = kit_sum(&kit, "C", "s -> r", 0);
    EXPECT(sched_is_idle(kit.sched));
    EXPECT_EQ(sched_next_wake(kit.sched), MONO_NEVER);
    e = kit_see(&kit, "E", "r");
    EXPECT(!sched_is_idle(kit.sched));
    EXPECT(c->node->place_in_queue != QUEUE_NONE);
    kit_remove(e);
    EXPECT(sched_is_idle(kit.sched)); /* taken back */
    kit_remove(c);
    EXPECT(sched_is_idle(kit.sched)); /* not registered */

    /* An effect whose time comes later. */
    const struct kit_spec late = {
        .surface = "s",
        .effect = true,
        .fn = kit_fn_see,
        .debounce = 30000,
    };
    e = kit_add(&kit, "E", &late);
    kit_step(&kit);
    EXPECT_EQ(e->runs, 0);
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sim.now + 30000);
    EXPECT(!sched_is_idle(kit.sched));
    kit_end(&kit);
}

/* bound-2: two computations that wake each other for ever. What backs off holds
 * idle three times; the retries go on. */
TEST(idle_15_a_cycle_that_never_settles)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "x=0 y=0");
    struct kit_node *a = kit_sum(&kit, "A", "y -> x", 1);
    struct kit_node *b = kit_sum(&kit, "B", "x -> y", 1);
    kit_see(&kit, "E", "x");
    const mono_ms start = kit.sim.now;
    EXPECT_IDLE(&kit);
    EXPECT(kit.sim.now - start <= 250 + 250 + 500);
    EXPECT(kit.sched->counters.passes <= 4);
    EXPECT(a->runs <= kit.sched->counters.passes * SCHED_RUNS_MAX);
    EXPECT(b->runs <= kit.sched->counters.passes * SCHED_RUNS_MAX);
    EXPECT(kit.sched->backing_off > 0);
    const mono_ms wake = sched_next_wake(kit.sched);
    EXPECT(wake > kit.sim.now && wake <= kit.sim.now + SCHED_BACKOFF_MAX_MS);
    const uint64_t runs = a->runs;
    EXPECT_IDLE(&kit); /* which is waited for anew */
    EXPECT(a->runs > runs);
    kit_end(&kit);
}
