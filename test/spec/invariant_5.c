/* I5, self-stability: what a run commits does not invalidate its own node; and
 * a run that writes what is there already causes no activity at all. */

#include "lib/sched_kit.h"
#include "lib/test.h"

/* Counts its own runs in its own output: run again because of that, it would
 * never stop. */
static enum run_result count_up(struct run *run, struct kit_node *node)
{
    (void)kit_number(run, node, 0);
    const int64_t so_far = kit_number(run, node, 1);
    kit_output_adopt(run, node, 0, value_int(so_far + 1));
    return RUN_DONE;
}

PROPERTY(i5_a_node_that_reads_its_own_output_runs_once_a_change, 200)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "x", "0");
    struct kit_node *counter =
        kit_computation(&kit, "C", "x -c -> c", count_up, 0);
    struct kit_node *effect = kit_see(&kit, "E", "c");
    EXPECT_IDLE(&kit);
    int64_t x = 0;
    uint64_t changes = 1;
    for (unsigned i = 0; i < 20; i++) {
        const int64_t next = random_between(random, 0, 3);
        kit_set_number(&kit, "x", next);
        changes += next != x;
        x = next;
        EXPECT_IDLE(&kit);
        EXPECT_EQ(counter->runs, changes);
        EXPECT_EQ(effect->runs, changes);
        EXPECT_INT(kit_get_number(&kit, "c"), (int64_t)changes);
        EXPECT(counter->node->status == NODE_CLEAN);
    }
    kit_end(&kit);
}

PROPERTY(i5_a_run_that_changes_nothing_causes_nothing, 200)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "x", "0");
    struct kit_node *constant =
        kit_computation(&kit, "C", "x -> c", kit_fn_constant, 7);
    struct kit_node *effect = kit_see(&kit, "E", "c");
    EXPECT_IDLE(&kit);
    for (int64_t i = 1; i <= 20; i++) {
        kit_set_number(&kit, "x", i + random_between(random, 0, 1) * 100);
        const struct sched_counters before = kit.sched->counters;
        const uint64_t version = kit.replica.version;
        EXPECT_IDLE(&kit);
        const struct sched_counters *after = &kit.sched->counters;
        EXPECT_EQ(after->runs - before.runs, 1);
        EXPECT_EQ(after->visits, before.visits);
        EXPECT_EQ(after->invalidations, before.invalidations);
        EXPECT_EQ(kit.replica.version, version);
    }
    EXPECT_EQ(constant->runs, 21);
    EXPECT_EQ(effect->runs, 1);
    kit_end(&kit);
}
