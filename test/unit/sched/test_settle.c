/* Passes: many materializers, and nodes that go in the middle of one. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

TEST(more_materializers_than_sweeps_settle_in_one_step)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *nodes[5 * SCHED_SWEEPS_MAX];
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        char wide[20];
        (void)snprintf(wide, sizeof wide, "m%zu", i);
        const struct kit_spec spec = {
            .surface = "s",
            .writes = wide,
            .envelopes = wide,
            .fn = kit_fn_copy,
        };
        nodes[i] = kit_add(&kit, "M", &spec);
    }
    for (int64_t round = 1; round < 4; round++) {
        kit_set_number(&kit, "s", round);
        kit_step(&kit);
        for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
            EXPECT_EQ(nodes[i]->runs, (uint64_t)round);
        }
        EXPECT_EQ(kit.sched->counters.not_settling, 0);
        EXPECT_EQ(kit.sched->counters.backoffs, 0);
        EXPECT(sched_is_idle(kit.sched));
    }
    kit_end(&kit);
}

static enum run_result invalidate_itself(struct run *run, struct kit_node *node)
{
    sched_invalidate(run->sched, node->node);
    return RUN_DONE;
}

/* Removes the node in ctx in its last run of the pass. */
static enum run_result remove_the_loop(struct run *run, struct kit_node *node)
{
    struct kit_node *loop = node->ctx;
    sched_invalidate(run->sched, node->node);
    if (node->runs == SCHED_RUNS_MAX && loop->node != NULL) {
        kit_remove(loop);
    }
    return RUN_DONE;
}

TEST(what_did_not_settle_may_be_gone_when_it_is_told)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *loop = kit_effect(&kit, "L", "", invalidate_itself, 1000);
    const struct kit_spec spec = {
        .effect = true,
        .fn = remove_the_loop,
        .ctx = loop,
    };
    struct kit_node *e = kit_add(&kit, "E", &spec);
    kit_step(&kit);
    EXPECT(loop->node == NULL);
    EXPECT_TEXT(buf_text(&kit.unsettled), "E");
    kit_remove(e);
    EXPECT_IDLE(&kit);
    kit_end(&kit);
}

/* -- Large cycles -------------------------------------------------------- */

/* All read the whole document, and each writes a key of it. */
TEST(a_board_that_everybody_reads_and_writes)
{
    struct sched_kit kit;
    kit_begin(&kit);
    enum {
        WRITERS = 60
    };
    kit.unchecked = true;
    kit_set(&kit, "board", "{}");
    for (unsigned i = 0; i < WRITERS; i++) {
        char surface[40];
        (void)snprintf(surface, sizeof surface, "board -> board.k%u", i);
        (void)kit_computation(&kit, "W", surface, kit_fn_constant, 1);
    }
    (void)kit_see(&kit, "E", "board");
    EXPECT_IDLE(&kit);
    EXPECT(kit_check(&kit));
    const uint64_t before = kit.sched->counters.height_work;
    kit_set(&kit, "board.extra", "1");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->counters.height_work, before);
    kit_end(&kit);
}

TEST(a_long_cycle)
{
    struct sched_kit kit;
    kit_begin(&kit);
    const unsigned length = test_is_slow() ? 2000 : 10000;
    kit.unchecked = true;
    for (unsigned i = 0; i < length; i++) {
        char surface[40];
        (void)snprintf(surface,
                       sizeof surface,
                       "d%u -> d%u",
                       i,
                       (i + 1) % length);
        (void)kit_computation(&kit, "N", surface, kit_fn_constant, 1);
    }
    struct kit_node *e = kit_see(&kit, "E", "d0");
    EXPECT_IDLE(&kit);
    EXPECT(kit_check(&kit));
    EXPECT(kit.sched->counters.runs <= 2 * (uint64_t)length + 2);
    kit_remove(e);
    EXPECT(kit_check(&kit));
    kit_end(&kit);
}
