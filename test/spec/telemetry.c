/* TEL: what is told to people, and that telling changes nothing (D15, D18). */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "sched/settle.h"
#include "value/json.h"

/* A run takes `k` milliseconds on the host's clock. */
static enum run_result slow(struct run *run, struct kit_node *node)
{
    node->kit->sim.now += (mono_ms)node->k;
    return kit_fn_see(run, node);
}

static struct kit_node *begin(struct sched_kit *kit, int64_t busy_ms)
{
    kit_begin(kit);
    kit_set_all(kit, "s=0");
    const struct kit_spec spec = {
        .surface = "s",
        .effect = true,
        .fn = slow,
        .k = busy_ms,
        .no_auto_debounce = true,
    };
    return kit_add(kit, "E", &spec);
}

TEST(tel_01_told_once_an_episode)
{
    struct sched_kit kit;
    begin(&kit, 6000);
    kit_step(&kit);
    EXPECT_EQ(kit.unsettled_count, 1);
    EXPECT_TEXT(buf_text(&kit.unsettled), "E");
    kit_end(&kit);

    begin(&kit, 100);
    kit_step(&kit);
    EXPECT_EQ(kit.unsettled_count, 0);
    kit_end(&kit);
}

/* Passes at 0, 300, ... ms that take `busy` each, while an effect's debounce
 * keeps the scheduler from rest. */
static void keep_busy(struct sched_kit *kit, int64_t busy)
{
    begin(kit, busy);
    const struct kit_spec spec = {
        .surface = "t",
        .effect = true,
        .fn = kit_fn_see,
        .debounce = 60000,
    };
    kit_add(kit, "W", &spec);
    for (int i = 0; i < 60; i++) {
        const mono_ms next = kit->sim.now + 300;
        kit_set_number(kit, "s", i);
        kit_step(kit);
        kit->sim.now = next;
    }
}

TEST(tel_02_busy_for_three_tenths_of_the_time)
{
    struct sched_kit kit;
    keep_busy(&kit, 80);
    EXPECT_EQ(kit.unsettled_count, 0);
    /* What is long ago is forgotten. */
    EXPECT(convergence_look(kit.sched, kit.sim.now).window <=
           SCHED_EPISODE_SLIDE_MS + 300);
    kit_end(&kit);
    keep_busy(&kit, 120);
    EXPECT_EQ(kit.unsettled_count, 1);
    EXPECT_TEXT(buf_text(&kit.unsettled), "E");
    kit_end(&kit);
}

static enum run_result take_long(struct run *run, struct kit_node *node)
{
    node->kit->sim.now += 6000;
    return kit_fn_see(run, node);
}

/* The pass under way counts. */
TEST(tel_03_one_long_run_counts)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0");
    kit_effect(&kit, "E", "s", take_long, 0);
    EXPECT_EQ(kit.unsettled_count, 0);
    kit_step(&kit);
    kit_step(&kit);
    EXPECT_EQ(kit.unsettled_count, 1);
    const struct convergence look = convergence_look(kit.sched, kit.sim.now);
    EXPECT_EQ(look.window, 0); /* at rest */
    kit_end(&kit);
}

/* What does not settle is named at once, once an episode; every pass is
 * counted. */
TEST(tel_04_who_does_not_settle)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "x=0 y=0 on=1");
    kit_sum(&kit, "A", "y -> x", 1);
    struct kit_node *b =
        kit_computation(&kit, "B", "on x y -> y", kit_fn_select, 0);
    kit_see(&kit, "E", "x");
    EXPECT(kit_idle(&kit));
    EXPECT_EQ(kit.unsettled_count, 1);
    EXPECT(kit.unsettled.length > 0);
    const uint64_t passes = kit.sched->counters.not_settling;
    EXPECT(passes >= 3);
    kit_tick(&kit, 5000); /* another episode: somebody has waited for idle */
    EXPECT_EQ(kit.unsettled_count, 2);
    kit_tick(&kit, 5000);
    kit_tick(&kit, 5000);
    EXPECT_EQ(kit.unsettled_count, 2);
    EXPECT_EQ(kit.sched->counters.not_settling, passes + 3);
    kit_set(&kit, "on", "0"); /* it settles when its time comes, */
    kit_tick(&kit, 5000);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->backing_off, 0);
    EXPECT(!kit.sched->episode_reported);
    kit_set(&kit, "on", "1"); /* and does not again */
    kit_step(&kit);
    EXPECT_EQ(kit.unsettled_count, 3);
    kit_remove(b); /* who goes keeps nobody from rest */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->backing_off, 0);
    kit_end(&kit);
}

/* A node that is backed off and goes in the same pass is not named. This one
 * is never done, so that everybody who reads from it runs it again. */
static enum run_result never_done(struct run *run, struct kit_node *node)
{
    sched_invalidate(run->sched, node->node);
    kit_output_adopt(run, node, 0, value_int(1));
    return RUN_DONE;
}

static enum run_result remove_who_backs_off(struct run *run,
                                            struct kit_node *node)
{
    (void)kit_number(run, node, 0);
    const struct node *other = node->kids->node;
    if (other != NULL && other->gate != NULL) {
        kit_remove(node->kids);
        node->k++;
    } else if (other != NULL) {
        sched_invalidate(run->sched, node->node); /* look again */
    }
    return RUN_DONE;
}

TEST(tel_05_who_is_gone_is_not_named)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "m=0");
    struct kit_node *c = kit_computation(&kit, "C", "-> m", never_done, 0);
    for (int i = 0; i < SCHED_RUNS_MAX; i++) {
        kit_see(&kit, "E", "-m");
    }
    struct kit_node *z = kit_effect(&kit, "Z", "m", remove_who_backs_off, 0);
    z->kids = c;
    kit_step(&kit);
    EXPECT_EQ(z->k, 1);
    EXPECT_EQ(kit.sched->counters.backoffs, 1);
    EXPECT_EQ(kit.sched->pass, 1);
    EXPECT(c->node == NULL);
    EXPECT_EQ(kit.unsettled_count, 0);
    EXPECT_EQ(kit.sched->backing_off, 0);
    EXPECT_IDLE(&kit);
    kit_end(&kit);
}

TEST(tel_08_what_was_run_and_what_was_filtered)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=0");
    kit_sum(&kit, "C", "a -> b", 0);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    EXPECT(kit.sched->counters.runs > 0);
    EXPECT_EQ(kit.sched->counters.filtered, 0);
    introspection_reset_counters(kit.sched);
    EXPECT_EQ(kit.sched->counters.runs, 0);
    EXPECT_EQ(kit.sched->counters.filtered, 0);
    const struct value counters = introspection_counters(kit.sched);
    struct buf text = {0};
    json_write(&text, counters, JSON_AS_GIVEN, 0);
    EXPECT_CONTAINS(buf_text(&text), "\"runs\":0");
    EXPECT_CONTAINS(buf_text(&text), "\"filtered\":0");
    value_unref(counters);
    buf_release(&text);
    kit_end(&kit);
}
