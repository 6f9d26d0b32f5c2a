/* MAT: computations that may write anywhere inside an envelope. They are always
 * live, and wait for all other nodes unless one of those reads what they may
 * write (pass-4 of docs/spec/scheduler.md). */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

/* Reads `s`, and writes `target` inside of `envelope`. */
static struct kit_node *materializer(struct sched_kit *kit,
                                     const char *target,
                                     const char *envelope)
{
    const struct kit_spec spec = {
        .surface = "s",
        .writes = target,
        .envelopes = envelope,
        .fn = kit_fn_sum,
    };
    return kit_add(kit, "M", &spec);
}

TEST(mat_01_follows_what_it_reads)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 t=0");
    struct kit_node *m = materializer(&kit, "t", "t");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(m->runs, 1);
    EXPECT_GET(&kit, "t", "1");
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(m->runs, 2);
    EXPECT_GET(&kit, "t", "2");
    kit_end(&kit);
}

TEST(mat_02_everybody_else_goes_first)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0 u=0 o=0 side=0");
    const struct kit_spec spec = {
        .surface = "s -> o",
        .writes = "o side",
        .envelopes = "side",
        .fn = kit_fn_sum,
    };
    struct kit_node *m = kit_add(&kit, "M", &spec);
    struct kit_node *o = kit_see(&kit, "O", "o");
    struct kit_node *u = kit_see(&kit, "U", "u");
    EXPECT_IDLE(&kit);
    (void)kit_ran(&kit);
    o->seen.length = 0;
    struct trace *trace = trace_new(kit.sched, TRACE_PASSES);
    kit_set_all(&kit, "s=1 u=1");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "U M O");
    EXPECT_SEEN(o, "1");
    EXPECT_EQ(trace_pass_count(trace), 1);
    EXPECT_EQ(trace_pass_at(trace, 0)->busy_sweeps, 2);
    EXPECT_EQ(trace_pass_at(trace, 0)->runs, 3);
    EXPECT_EQ(m->runs + u->runs, 4);
    EXPECT_GET(&kit, "side", "1");
    trace_free(trace);
    kit_end(&kit);
}

TEST(mat_05_wakes_only_who_reads_what_it_changed)
{
    enum {
        KEYS = 12
    };
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0 t={'k7':0}");
    struct kit_node *effects[KEYS];
    for (unsigned i = 0; i < KEYS; i++) {
        char name[16];
        char place[16];
        (void)snprintf(name, sizeof name, "E%u", i);
        (void)snprintf(place, sizeof place, "t.k%u", i);
        kit_set_number(&kit, place, 0);
        effects[i] = kit_see(&kit, name, place);
    }
    struct kit_node *m = materializer(&kit, "t.k7", "t");
    EXPECT_IDLE(&kit);
    uint64_t before[KEYS];
    for (unsigned i = 0; i < KEYS; i++) {
        before[i] = effects[i]->runs;
    }
    const uint64_t runs = m->runs;
    kit_set(&kit, "s", "1");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(m->runs, runs + 1);
    for (unsigned i = 0; i < KEYS; i++) {
        EXPECT_EQ(effects[i]->runs, before[i] + (i == 7));
    }
    kit_end(&kit);
}

TEST(mat_06_runs_before_who_reads_what_it_may_write)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 trigger=1 t=0");
    struct kit_node *m = materializer(&kit, "t", "t");
    struct kit_node *e = kit_see(&kit, "E", "trigger t");
    EXPECT_IDLE(&kit);
    const uint64_t runs = e->runs;
    e->seen.length = 0;
    kit_set_all(&kit, "s=2 trigger=2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, runs + 1);
    EXPECT_SEEN(e, "2,2");
    EXPECT_EQ(m->runs, 2);
    kit_end(&kit);
}

TEST(mat_08_runs_without_any_reader)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 t={}");
    struct kit_node *m = materializer(&kit, "t.x", "t");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(m->runs, 1);
    EXPECT_EQ(kit.sched->effects, 0);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(m->runs, 2);
    EXPECT_GET(&kit, "t", "{'x':2}");
    kit_end(&kit);
}

TEST(mat_09_waits_for_an_effect_that_never_ran)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 t=0 u=1");
    materializer(&kit, "t", "t");
    kit_see(&kit, "E", "u");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "E M");
    kit_end(&kit);
}

/* Invalidations coalesce, a debounce applies, and idle waits. */
TEST(mat_10_a_debounce_holds_it_and_idle)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 t=0");
    struct kit_node *m = materializer(&kit, "t", "t");
    EXPECT_IDLE(&kit);
    sched_set_debounce(kit.sched, m->node, 50);
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    kit_set(&kit, "s", "3");
    kit_step(&kit);
    EXPECT_EQ(m->runs, 1);
    EXPECT(!sched_is_idle(kit.sched));
    EXPECT_IDLE(&kit);
    EXPECT_EQ(m->runs, 2);
    EXPECT_GET(&kit, "t", "3");
    kit_end(&kit);
}
