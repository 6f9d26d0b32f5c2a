/* SW: what a node writes is declared when it is registered, and does not change
 * (model-8 of docs/spec/model.md). A write outside of it makes no reader of any
 * node. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "sched/graph.h"

TEST(sw_01_a_late_reader_wakes_the_writer)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> o", kit_fn_times, 10);
    kit_set(&kit, "s", "3");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 0);
    struct kit_node *e = kit_see(&kit, "E", "-o");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "30");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

/* The writer of what is read is clean, and what it reads from is not: no
 * value changes to wake anybody, demand alone must. */
TEST(sw_02_demand_that_comes_back_through_a_clean_writer)
{
    for (unsigned declared = 0; declared < 2; declared++) {
        const char *const surface = declared == 1 ? "o" : "-o";
        struct sched_kit kit;
        kit_begin(&kit);
        kit_set(&kit, "s", "1");
        struct kit_node *a =
            kit_computation(&kit, "A", "s -> m", kit_fn_times, 10);
        struct kit_node *b =
            kit_computation(&kit, "B", "m -> o", kit_fn_copy, 0);
        struct kit_node *e = kit_see(&kit, "E", surface);
        EXPECT_IDLE(&kit);
        EXPECT_SEEN(e, "10");
        kit_remove(e);
        kit_set(&kit, "s", "2");
        EXPECT_IDLE(&kit);
        EXPECT_EQ(a->runs, 1);
        EXPECT_EQ(b->runs, 1);
        EXPECT_GET(&kit, "o", "10");
        e = kit_see(&kit, "E", surface);
        EXPECT_IDLE(&kit);
        EXPECT_SEEN(e, "20");
        EXPECT_EQ(a->runs, 2);
        EXPECT_EQ(b->runs, 2);
        kit_end(&kit);
    }
}

TEST(sw_03_an_effect_that_comes_back)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *a = kit_computation(&kit, "A", "s -> o", kit_fn_times, 10);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    kit_remove(e);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(a->runs, 1);
    e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(a->runs, 2);
    EXPECT_SEEN(e, "20");
    kit_end(&kit);
}

TEST(sw_04_a_computation_that_becomes_an_effect_is_still_invalid)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> o", kit_fn_times, 10);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    kit_remove(e);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT(node_is_stale(c->node));
    EXPECT_EQ(c->runs, 1);
    sched_promote(kit.sched, c->node);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_GET(&kit, "o", "20");
    kit_set(&kit, "s", "3");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 3);
    EXPECT_GET(&kit, "o", "30");
    kit_end(&kit);
}

TEST(sw_06_a_write_outside_the_surface_is_counted_and_happens)
{
    struct sched_kit kit;
    kit_begin(&kit);
    const struct kit_spec spec = {
        .surface = "s -> d",
        .writes = "u",
        .fn = kit_fn_copy,
    };
    struct kit_node *c = kit_add(&kit, "C", &spec);
    (void)kit_see(&kit, "E", "d");
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    EXPECT_GET(&kit, "u", "2");
    EXPECT_EQ(kit.sched->counters.surface_violations, 1);
    /* A run that writes what is there already violates nothing. */
    sched_invalidate(kit.sched, c->node);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_EQ(kit.sched->counters.surface_violations, 1);
    kit_end(&kit);
}

TEST(sw_07_a_scoped_write_is_exempt)
{
    struct sched_kit kit;
    kit_begin(&kit);
    const struct kit_spec spec = {
        .surface = "s -> d",
        .writes = "u~session",
        .fn = kit_fn_copy,
    };
    (void)kit_add(&kit, "C", &spec);
    (void)kit_see(&kit, "E", "d");
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "u~session", "2");
    EXPECT_EQ(kit.sched->counters.surface_violations, 0);
    kit_end(&kit);
}

TEST(sw_08_the_surface_is_known_before_any_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *c = kit_sum(&kit, "C", "s -> x", 0);
    struct place *x = kit_place(&kit, "x");
    EXPECT_EQ(c->node->write_count, 1);
    EXPECT(c->node->writes[0].place == x);
    EXPECT_EQ(c->runs, 0);
    place_unref(x);
    kit_end(&kit);
}

TEST(sw_09_a_run_does_not_change_the_surface)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    const struct kit_spec spec = {
        .surface = "s -> x",
        .writes = "y",
        .fn = kit_fn_copy,
    };
    struct kit_node *c = kit_add(&kit, "C", &spec);
    struct kit_node *e = kit_see(&kit, "E", "x y");
    EXPECT_IDLE(&kit);
    struct place *x = kit_place(&kit, "x");
    EXPECT_EQ(c->node->write_count, 1);
    EXPECT(c->node->writes[0].place == x);
    EXPECT_SEEN(e, "(),1");
    place_unref(x);
    kit_end(&kit);
}

TEST(sw_13_a_writer_that_comes_after_its_reader)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 d={'foo':0}");
    struct kit_node *e = kit_see(&kit, "E", "d.foo");
    EXPECT_IDLE(&kit);
    struct kit_node *c = kit_sum(&kit, "C", "s -> d.foo", 0);
    EXPECT(kit_is_reader(e, c));
    EXPECT_EQ(c->node->live_refs, 1);
    EXPECT(e->node->height > c->node->height);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "0 1");
    kit_end(&kit);
}

TEST(sw_14_what_a_run_writes_besides_makes_no_reader)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 d={'foo':0,'bar':0}");
    struct kit_node *e = kit_see(&kit, "E", "d.bar");
    const struct kit_spec spec = {
        .surface = "s -> d.foo",
        .writes = "d.foo d.bar",
        .fn = kit_fn_sum,
    };
    struct kit_node *c = kit_add(&kit, "C", &spec);
    EXPECT(!kit_is_reader(e, c));
    (void)kit_see(&kit, "F", "d.foo");
    EXPECT_IDLE(&kit);
    EXPECT(!kit_is_reader(e, c));
    EXPECT_GET(&kit, "d.bar", "1");
    EXPECT(e->runs >= 1);
    EXPECT_EQ(kit.sched->counters.surface_violations, 1);
    kit_end(&kit);
}

TEST(sw_17_an_attempt_to_write_is_no_surface)
{
    struct sched_kit kit;
    kit_begin(&kit);
    const struct kit_spec spec = {
        .surface = "s ->",
        .writes = "o",
        .fn = kit_fn_sum,
    };
    struct kit_node *c = kit_add(&kit, "C", &spec);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT(!kit_is_reader(e, c));
    EXPECT(!node_is_live(c->node));
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 0);
    kit_end(&kit);
}

TEST(sw_18_an_effect_makes_the_writer_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *c = kit_sum(&kit, "C", "s -> t", 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 0);
    (void)kit_see(&kit, "E", "t");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(sw_19_the_walk_over_writers_can_end_early)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *a = kit_sum(&kit, "A", "-> x", 1);
    struct kit_node *b = kit_sum(&kit, "B", "-> x", 1);
    struct place *x = kit_place(&kit, "x");
    for (unsigned kind = 0; kind < 2; kind++) {
        const struct read_link read = {
            .place = x,
            .kind = kind == 0 ? READ_DEEP : READ_SHAPE,
        };
        struct writer_walk walk = graph_writers(&read);
        const struct node *first = graph_next_writer(&walk);
        const struct node *second = graph_next_writer(&walk);
        EXPECT(first == a->node || first == b->node);
        EXPECT(second == a->node || second == b->node);
        EXPECT(first != second);
        EXPECT(graph_next_writer(&walk) == NULL);
    }
    place_unref(x);
    kit_end(&kit);
}

/* -- Long graphs --------------------------------------------------------- */

enum {
    CHAIN = 20001
};

static struct kit_node *add_link(struct sched_kit *kit,
                                 const char *also,
                                 unsigned from,
                                 unsigned to)
{
    char surface[60];
    (void)snprintf(surface, sizeof surface, "%s d%u -> d%u", also, from, to);
    return kit_computation(kit, "N", surface, kit_fn_copy, 0);
}

TEST(sw_20_a_long_chain_is_ordered_without_recursion)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit.unchecked = true;
    kit_set(&kit, "d0", "1");
    /* From the end, so that every new node is below all others. */
    struct kit_node *last = NULL;
    struct kit_node *first = NULL;
    for (unsigned i = CHAIN; i > 0; i--) {
        first = add_link(&kit, "", i - 1, i);
        last = last == NULL ? first : last;
    }
    char surface[20];
    (void)snprintf(surface, sizeof surface, "d%u", (unsigned)CHAIN);
    struct kit_node *e = kit_see(&kit, "E", surface);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1");
    /* Each node is lifted once, though the chain woke from its end. */
    EXPECT(kit.sched->counters.height_work <= 3 * CHAIN);
    EXPECT_EQ(first->runs, 1);
    EXPECT_EQ(last->runs, 1);
    EXPECT(last->node->height > first->node->height);
    kit_set(&kit, "d0", "2");
    const uint64_t sweeps = kit.sched->counters.sweeps;
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1 2");
    EXPECT_EQ(kit.sched->counters.sweeps, sweeps + 1);
    EXPECT(kit_check(&kit));
    kit_end(&kit);
}

/* A place that is declared twice is read once. */
TEST(surf_declared_twice)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=2 c=0");
    struct kit_node *c = kit_sum(&kit, "C", "a b a a -> c", 0);
    EXPECT_EQ(c->node->reads.count, 2);
    kit_see(&kit, "E", "c");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "c", "5");
    EXPECT_EQ(c->node->reads.count, 2);
    kit_remove(c);
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    kit_end(&kit);
}
