/* BP: under contention an event is tried again, later and later, at its place
 * in the lane, inside a window; then its sender is told. */

#include <stdio.h>

#include "lib/event_kit.h"
#include "lib/test.h"

static struct events_policy quick(void)
{
    struct events_policy policy = events_policy();
    policy.delay_us = 1000;
    policy.delay_max = 4;
    policy.jitter_percent = 0;
    return policy;
}

static struct scene_handler *begin(struct scene *on,
                                   const struct events_policy *policy,
                                   enum scene_where where)
{
    scene_begin(on, where);
    scene_policy(on, policy);
    kit_set_all(&on->kit, "total=0 list=[]");
    scene_pump(on);
    return scene_on(on, "H", "s", "-> total", handle_count, 0);
}

TEST(bp_01_eight_conflicts_and_then_it_lands)
{
    struct scene on;
    const struct events_policy policy = quick();
    struct scene_handler *h = begin(&on, &policy, AT_STORE);
    scene_refuse(&on, ERR_CONFLICT, 8);
    const mono_ms began = on.kit.sim.now;
    struct scene_sent *sent = scene_send(&on, "s", "3");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_stored(&on, "total"), "{'value':3}");
    EXPECT_EQ(scene_counters(&on)->refusals[ERR_CLASS_RETRY], 8);
    EXPECT_EQ(scene_counters(&on)->retries, 8);
    EXPECT_EQ(h->runs, 9);
    EXPECT_EQ(sent->attempts, 9);
    EXPECT_END(sent, "done");
    EXPECT_EQ(on.kit.error_count, 0);
    /* 1, 2, and then the longest one. */
    EXPECT_EQ(on.kit.sim.now - began, 1 + 2 + 6 * 4);
    scene_end(&on);
}

/* BP-03 to 05 of the taxonomy are rej_04. */
TEST(bp_06_the_window_ends)
{
    struct scene on;
    struct events_policy policy = quick();
    policy.window = 40;
    struct scene_handler *h = begin(&on, &policy, AT_STORE);
    scene_refuse(&on, ERR_CONFLICT, 1000);
    const mono_ms began = on.kit.sim.now;
    struct scene_sent *sent = scene_send(&on, "s", "3");
    EXPECT_SETTLED(&on);
    EXPECT_END(sent, "failed NOT_CONVERGED");
    EXPECT(sent->attempts > 1 && sent->attempts < 500);
    EXPECT_EQ(h->runs, sent->attempts);
    EXPECT(on.kit.sim.now - began <= 40 + 4);
    EXPECT_TEXT(scene_stored(&on, "total"), "{'value':0}");
    EXPECT_GET(&on.kit, "total", "0");
    EXPECT_EQ(on.kit.error_count, 1);
    EXPECT_CONTAINS(kit_errors(&on.kit), "H NOT_CONVERGED");
    scene_end(&on);
}

/* It says where, who was faster, and how often. */
TEST(bp_06_what_is_said_then)
{
    struct scene on;
    struct events_policy policy = quick();
    policy.window = 5;
    begin(&on, &policy, AT_STORE_HELD);
    struct scene_sent *sent = scene_send(&on, "s", "3");
    for (unsigned i = 0; i < 100 && sent->ended == 0; i++) {
        kit_tick(&on.kit, 1);
        scene_elsewhere(&on, i % 2 == 0 ? "set total 10" : "set total 20");
        scene_pump(&on);
    }
    EXPECT_END(sent, "failed NOT_CONVERGED");
    char attempts[32];
    (void)snprintf(attempts, sizeof attempts, "%u attempts", sent->attempts);
    EXPECT_CONTAINS(sent->error.text, attempts);
    EXPECT_CONTAINS(sent->error.text, "total/value (by session ");
    scene_end(&on);
}

TEST(bp_07_a_window_of_nothing)
{
    struct scene on;
    struct events_policy policy = quick();
    policy.window = 0;
    struct scene_handler *h = begin(&on, &policy, AT_STORE);
    scene_refuse(&on, ERR_CONFLICT, 1);
    struct scene_sent *sent = scene_send(&on, "s", "3");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 1);
    EXPECT_EQ(sent->attempts, 1);
    EXPECT_END(sent, "failed NOT_CONVERGED");
    scene_end(&on);
}

static void expect_in_order(enum scene_where where)
{
    struct scene on;
    const struct events_policy policy = quick();
    begin(&on, &policy, where);
    scene_on(&on, "L", "l", "-> list", handle_append_whole, 0);
    scene_refuse(&on, ERR_CONFLICT, 8);
    scene_send(&on, "l", "1");
    scene_send(&on, "l", "2");
    scene_send(&on, "l", "3");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[1,2,3]}");
    EXPECT_TEXT(scene_ended(&on), "1 done; 2 done; 3 done;");
    scene_end(&on);
}

TEST(bp_08_in_the_order_in_which_they_were_sent)
{
    expect_in_order(AT_STORE);
}

/* All three are on their way when the first one is refused, and the others
 * with it, because they read what it wrote. */
TEST(bp_08_also_if_they_are_refused_together)
{
    expect_in_order(AT_STORE_HELD);
}

static uint64_t delay_ms(uint32_t attempt)
{
    const struct events_policy policy = events_policy();
    return (events_delay_us(&policy, attempt) + 500) / 1000;
}

TEST(bp_09_the_curve)
{
    const struct events_policy policy = events_policy();
    for (uint32_t i = 1; i <= 3; i++) {
        EXPECT(events_delay_us(&policy, i) < 5000);
    }
    EXPECT_EQ(events_delay_us(&policy, 1), EVENTS_DELAY_US);
    EXPECT_EQ(delay_ms(6), 25);
    EXPECT_EQ(delay_ms(7), 50);
    EXPECT_EQ(delay_ms(8), 100);
    EXPECT_EQ(delay_ms(20), 1000);
    EXPECT_EQ(delay_ms(64), 1000);
    EXPECT_EQ(delay_ms(UINT32_MAX), 1000);
}

/* Less a random part of it: who was refused together comes back apart. */
TEST(bp_09_jitter)
{
    bool early = false;
    bool late = false;
    for (uint64_t seed = 1; seed <= 32; seed++) {
        struct scene on;
        struct events_policy policy = events_policy();
        policy.delay_us = 100000;
        policy.seed = seed;
        begin(&on, &policy, AT_STORE);
        scene_refuse(&on, ERR_CONFLICT, 1);
        scene_send(&on, "s", "1");
        kit_step(&on.kit);
        const mono_ms delay = sched_next_wake(on.kit.sched) - on.kit.sim.now;
        EXPECT(delay >= 50 && delay <= 100);
        early = early || delay < 75;
        late = late || delay > 75;
        EXPECT_SETTLED(&on);
        scene_end(&on);
    }
    EXPECT(early && late);
}
