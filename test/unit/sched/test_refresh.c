/* Runs inside reads: what they may do to those who wait for them. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

/* -- Nodes that go while others are looked at ---------------------------- */

/* Removes the nodes in ctx, up to a NULL, and copies. */
static enum run_result remove_others(struct run *run, struct kit_node *node)
{
    struct kit_node **others = node->ctx;
    for (; others != NULL && *others != NULL; others++) {
        if ((*others)->node != NULL) {
            kit_remove(*others);
        }
    }
    return kit_fn_copy(run, node);
}

TEST(what_is_being_looked_at_may_be_removed_by_what_runs_for_it)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 z=1");
    struct kit_node *gone[] = {NULL, NULL, NULL};
    const struct kit_spec spec = {.surface = "s -> c", .fn = remove_others};
    struct kit_node *c = kit_add(&kit, "C", &spec);
    struct kit_node *b = kit_sum(&kit, "B", "c -> b", 0);
    struct kit_node *a = kit_sum(&kit, "A", "b -> a", 0);
    EXPECT_TEXT(kit_pull(&kit, "a"), "1"); /* A and B are clean from now on */
    c->ctx = gone;
    gone[0] = a;
    gone[1] = b;
    kit_set(&kit, "s", "2");
    struct kit_node *e = kit_see(&kit, "E", "z -a");
    EXPECT_IDLE(&kit);
    EXPECT(a->node == NULL);
    EXPECT(b->node == NULL);
    EXPECT_SEEN(e, "1,1");
    EXPECT_GET(&kit, "c", "2");
    kit_end(&kit);
}

TEST(who_reads_may_be_removed_by_what_runs_for_it)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *gone[] = {NULL, NULL};
    const struct kit_spec spec = {
        .surface = "s -> c",
        .fn = remove_others,
        .ctx = gone,
    };
    struct kit_node *c = kit_add(&kit, "C", &spec);
    struct kit_node *e = kit_effect(&kit, "E", "-c -> x", kit_fn_copy, 0);
    gone[0] = e;
    EXPECT_IDLE(&kit);
    EXPECT(e->node == NULL);
    EXPECT_EQ(e->runs, 1);
    EXPECT_EQ(c->runs, 1);
    EXPECT_GET(&kit, "x", "()");
    kit_end(&kit);
}

/* -- Nodes that come ----------------------------------------------------- */

/* Creates k writers of w0, w1, ... inside a nested run. */
static enum run_result create_writers(struct run *run, struct kit_node *node)
{
    for (int64_t i = 0; i < node->k && node->runs == 1; i++) {
        char surface[30];
        (void)snprintf(surface, sizeof surface, "s -> w%d", (int)i);
        (void)kit_sum(node->kit, "W", surface, 0);
    }
    return kit_fn_copy(run, node);
}

TEST(what_a_nested_run_creates_is_there_for_those_outside)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "3");
    (void)kit_computation(&kit, "C", "s -> c", create_writers, 20);
    struct kit_node *e = kit_see(&kit, "E", "-c -w0 -w19");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "3,3,3");
    EXPECT_EQ(e->runs, 1);
    kit_end(&kit);
}

/* -- Cycles through reads that nobody knew ------------------------------- */

TEST(a_cycle_of_undeclared_reads_comes_to_rest)
{
    for (unsigned length = 2; length < 100; length += 13) {
        struct sched_kit kit;
        kit_begin(&kit);
        for (unsigned i = 0; i < length; i++) {
            char surface[40];
            (void)snprintf(surface,
                           sizeof surface,
                           "-d%u -> d%u",
                           (i + 1) % length,
                           i);
            (void)kit_computation(&kit, "N", surface, kit_fn_constant, 1);
        }
        struct kit_node *e = kit_see(&kit, "E", "-d0");
        EXPECT_IDLE(&kit);
        EXPECT(!node_is_stale(e->node));
        EXPECT_EQ(kit.sched->counters.not_settling, 0);
        kit_end(&kit);
    }
}
