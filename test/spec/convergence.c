/* CONV: work that does not converge is bounded, reported and tried again
 * (bound-1 to bound-3 of docs/spec/scheduler.md).
 *
 * Each member of a cycle runs once per sweep, so ten times per pass. Only nodes
 * that a sweep has picked are backed off: never a dormant node, nor one that a
 * gate delays already. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "sched/gates.h"

/* -- Time spent ---------------------------------------------------------- */

/* Takes k milliseconds. */
static enum run_result be_slow(struct run *run, struct kit_node *node)
{
    struct sim_host *sim = &node->kit->sim;
    sim_host_advance(sim, sim->now + (mono_ms)node->k);
    return kit_fn_see(run, node);
}

TEST(conv_02_runs_and_time_are_added_up)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *e = kit_effect(&kit, "E", "s", be_slow, 7);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->node->runs, 2);
    EXPECT_EQ(e->node->busy_ms, 14);
    kit_end(&kit);
}

/* -- Cycles -------------------------------------------------------------- */

TEST(conv_04_a_cycle_is_bounded_and_blocks_nobody)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "us", "7");
    struct kit_node *a = kit_sum(&kit, "A", "b -> a", 1);
    struct kit_node *b = kit_sum(&kit, "B", "a -> b", 1);
    (void)kit_see(&kit, "E", "b");
    (void)kit_computation(&kit, "U", "us -> uo", kit_fn_times, 10);
    struct kit_node *unrelated = kit_see(&kit, "F", "uo");
    const mono_ms begin = kit.sim.now;
    kit_step(&kit);
    EXPECT_SEEN(unrelated, "70");
    EXPECT(a->runs <= SCHED_RUNS_MAX);
    EXPECT(b->runs <= SCHED_RUNS_MAX);
    EXPECT_IDLE(&kit);
    EXPECT(a->runs <= 30);
    EXPECT(b->runs <= 30);
    EXPECT_EQ(kit.sim.now - begin, 750); /* 250 and 500 later */
    EXPECT_SEEN(unrelated, "70");
    EXPECT_EQ(unrelated->runs, 1);
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sim.now + 1000);
    /* It goes on, ever more slowly, and what is new does not wait for it. */
    const uint64_t runs = a->runs;
    kit_tick(&kit, 1000);
    EXPECT(a->runs > runs);
    kit_set(&kit, "us", "8");
    kit_step(&kit);
    EXPECT_SEEN(unrelated, "70 80");
    kit_end(&kit);
}

/* Says that it has to run again, k times. */
static enum run_result invalidate_itself(struct run *run, struct kit_node *node)
{
    if (node->runs < (uint64_t)node->k) {
        sched_invalidate(run->sched, node->node);
    }
    for (size_t i = 0; i < node->write_count; i++) {
        kit_output_adopt(run, node, i, value_int((int64_t)node->runs));
    }
    return RUN_DONE;
}

TEST(conv_06_one_pass_runs_a_node_ten_times)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *e = kit_effect(&kit, "E", "", invalidate_itself, 25);
    kit_step(&kit);
    EXPECT_EQ(e->runs, SCHED_RUNS_MAX);
    EXPECT(node_is_stale(e->node));
    EXPECT_EQ(kit.sched->counters.passes, 1);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 25);
    kit_end(&kit);
}

/* One more than the input, up to k. */
static enum run_result count_up_to(struct run *run, struct kit_node *node)
{
    const int64_t input = kit_number(run, node, 0);
    kit_output_adopt(run,
                     node,
                     0,
                     value_int(input < node->k ? input + 1 : input));
    return RUN_DONE;
}

TEST(conv_08_a_cycle_of_four_that_ends)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=0 b=0 c=0 d=0");
    (void)kit_computation(&kit, "A", "-d -> a", count_up_to, 4);
    (void)kit_computation(&kit, "B", "-a -> b", count_up_to, 4);
    (void)kit_computation(&kit, "C", "-b -> c", count_up_to, 4);
    (void)kit_computation(&kit, "D", "-c -> d", count_up_to, 4);
    struct kit_node *e = kit_see(&kit, "E", "d");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "d", "4");
    EXPECT_GET(&kit, "a", "4");
    EXPECT(kit.sched->counters.runs < 100);
    EXPECT_EQ(kit.sched->counters.not_settling, 0);
    EXPECT(!node_is_stale(e->node));
    kit_end(&kit);
}

TEST(conv_09_a_node_that_reads_its_own_output)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "x", "0");
    struct kit_node *c = kit_computation(&kit, "C", "x -> x", count_up_to, 5);
    for (unsigned i = 0; i < 20; i++) {
        (void)kit_pull(&kit, "x");
        EXPECT_IDLE(&kit);
    }
    EXPECT_EQ(c->runs, 1); /* its own commit is no cause */
    EXPECT_GET(&kit, "x", "1");
    kit_end(&kit);
}

TEST(conv_10_what_is_acyclic_is_right_beside_a_cycle)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    (void)kit_sum(&kit, "A", "b -> a", 1);
    (void)kit_sum(&kit, "B", "a -> b", 1);
    (void)kit_sum(&kit, "C", "s -> c", 1);
    struct kit_node *e = kit_see(&kit, "E", "c a");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "c", "2");
    EXPECT(e->runs > 0);
    EXPECT(kit.sched->counters.runs < 200);
    kit_end(&kit);
}

/* -- Gates --------------------------------------------------------------- */

TEST(conv_11_the_backoff_doubles)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *e = kit_effect(&kit, "E", "", invalidate_itself, 1000);
    const mono_ms waits[] = {250, 500, 1000, 2000, 2000};
    kit_step(&kit);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const struct gate *gate = e->node->gate;
        EXPECT_EQ(gate->backoff_streak, i + 1);
        EXPECT_EQ(gate->backoff_until, kit.sim.now + waits[i]);
        EXPECT_EQ(sched_next_wake(kit.sched), gate->backoff_until);
        const uint64_t runs = e->runs;
        kit_tick(&kit, waits[i] - 1);
        EXPECT_EQ(e->runs, runs);
        kit_tick(&kit, 1);
        EXPECT_EQ(e->runs, runs + SCHED_RUNS_MAX);
    }
    kit_end(&kit);
}

TEST(conv_12_what_does_not_run_is_not_put_behind_a_gate)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *dormant = kit_sum(&kit, "D", "s -> d", 0);
    const struct kit_spec spec = {
        .surface = "s",
        .effect = true,
        .fn = kit_fn_see,
        .debounce = 5000,
    };
    struct kit_node *quiet = kit_add(&kit, "Q", &spec);
    struct kit_node *loop =
        kit_effect(&kit, "L", "", invalidate_itself, 1000000);
    kit_step(&kit);
    kit_tick(&kit, 100); /* others are stepped while it waits */
    EXPECT(dormant->node->gate == NULL);
    EXPECT_EQ(quiet->node->gate->backoff_streak, 0);
    EXPECT_EQ(quiet->node->gate->hold_passes, 0);
    EXPECT_EQ(loop->node->gate->backoff_streak, 1);
    EXPECT_TEXT(buf_text(&kit.unsettled), "L");
    kit_end(&kit);
}

TEST(conv_13_what_has_settled_forgets_its_backoff)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *e =
        kit_effect(&kit, "E", "", invalidate_itself, SCHED_RUNS_MAX + 1);
    kit_step(&kit);
    EXPECT_EQ(e->node->gate->backoff_streak, 1);
    kit_tick(&kit, 250);
    EXPECT_EQ(e->runs, SCHED_RUNS_MAX + 1);
    const struct gate *gate = e->node->gate;
    EXPECT_EQ(gate->backoff_until, 0);
    EXPECT_EQ(gate->backoff_streak, 0);
    EXPECT_EQ(gate->hold_passes, 0);
    EXPECT_EQ(sched_next_wake(kit.sched), MONO_NEVER);
    kit_end(&kit);
}

/* -- Long waves ---------------------------------------------------------- */

static struct kit_node *build_chain(struct sched_kit *kit, unsigned depth)
{
    kit->unchecked = depth > 1000;
    char surface[40];
    kit_set(kit, "d0", "0");
    for (unsigned i = 1; i <= depth; i++) {
        (void)snprintf(surface, sizeof surface, "d%u -> d%u", i - 1, i);
        (void)kit_sum(kit, "N", surface, 1);
    }
    (void)snprintf(surface, sizeof surface, "d%u", depth);
    return kit_see(kit, "E", surface);
}

TEST(conv_15_a_chain_of_any_depth_takes_one_sweep)
{
    const unsigned depths[] = {12, 50, 1000, 20000};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct sched_kit kit;
        kit_begin(&kit);
        struct kit_node *e = build_chain(&kit, depths[i]);
        EXPECT_IDLE(&kit);
        const struct sched_counters before = kit.sched->counters;
        EXPECT_EQ(before.passes, 1);
        EXPECT_EQ(before.sweeps, 1);
        kit_set(&kit, "d0", "5");
        EXPECT_IDLE(&kit);
        const struct sched_counters *after = &kit.sched->counters;
        EXPECT_EQ(after->runs - before.runs, depths[i] + 1);
        EXPECT_EQ(after->passes - before.passes, 1);
        EXPECT_EQ(after->sweeps - before.sweeps, 1);
        EXPECT_EQ(after->not_settling, 0);
        EXPECT_EQ(e->runs, 2);
        char want[40];
        (void)snprintf(want, sizeof want, "%u %u", depths[i], depths[i] + 5);
        EXPECT_SEEN(e, want);
        kit_end(&kit);
    }
}

/* -- Idle ---------------------------------------------------------------- */

static struct kit_node *build_relays(struct sched_kit *kit, int64_t limit)
{
    (void)kit_computation(kit, "H", "-> r0", invalidate_itself, limit);
    (void)kit_sum(kit, "R1", "r0 -> r1", 0);
    (void)kit_sum(kit, "R2", "r1 -> r2", 0);
    (void)kit_sum(kit, "R3", "r2 -> r3", 0);
    return kit_effect(kit, "E", "r3 -> last", kit_fn_copy, 0);
}

TEST(conv_16_idle_waits_for_what_still_settles)
{
    struct sched_kit kit;
    kit_begin(&kit);
    (void)build_relays(&kit, 25);
    const mono_ms begin = kit.sim.now;
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "last", "25");
    EXPECT(kit.unsettled_count >= 1);
    EXPECT_TEXT(buf_text(&kit.unsettled), "H");
    EXPECT(kit.sim.now - begin <= 5000);
    kit_end(&kit);
}

TEST(conv_17_idle_does_not_wait_for_ever)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *e = build_relays(&kit, 1000000);
    const mono_ms begin = kit.sim.now;
    EXPECT_IDLE(&kit);
    EXPECT(kit.sim.now - begin <= 6000);
    EXPECT(e->runs > 0);
    EXPECT_TEXT(buf_text(&kit.unsettled), "H");
    EXPECT_EQ(kit.unsettled_count, 1); /* said once, and counted */
    EXPECT_EQ(kit.sched->counters.not_settling, SCHED_HOLD_PASSES);
    /* Who asks again waits again. */
    const mono_ms again = kit.sim.now;
    EXPECT_IDLE(&kit);
    EXPECT(kit.sim.now > again);
    EXPECT(kit.sim.now - again <= 6000);
    kit_end(&kit);
}

TEST(conv_18_two_that_wake_each_other_share_the_budget)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *a = kit_sum(&kit, "A", "b -> a", 1);
    struct kit_node *b = kit_sum(&kit, "B", "a -> b", 1);
    (void)kit_see(&kit, "E", "a");
    kit_step(&kit);
    EXPECT(a->runs <= SCHED_RUNS_MAX);
    EXPECT(b->runs <= SCHED_RUNS_MAX);
    EXPECT(a->runs + b->runs >= SCHED_RUNS_MAX);
    EXPECT(kit.sched->counters.backoffs >= 1);
    EXPECT(a->node->gate != NULL || b->node->gate != NULL);
    kit_end(&kit);
}

TEST(conv_20_one_that_is_worth_waiting_for_holds_idle)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *x = kit_sum(&kit, "X", "s -> x", 0);
    struct kit_node *y = kit_sum(&kit, "Y", "s -> y", 0);
    (void)kit_see(&kit, "E", "x y");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "s", "2");
    for (unsigned i = 0; i < SCHED_HOLD_PASSES; i++) {
        gates_back_off(kit.sched, x->node);
    }
    gates_back_off(kit.sched, y->node);
    EXPECT(!sched_is_idle(kit.sched));
    EXPECT(sched_next_wake(kit.sched) > kit.sim.now); /* none can run */
    for (unsigned i = 1; i < SCHED_HOLD_PASSES; i++) {
        gates_back_off(kit.sched, y->node);
    }
    EXPECT(sched_is_idle(kit.sched));
    kit_end(&kit);
}
