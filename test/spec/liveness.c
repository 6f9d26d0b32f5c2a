/* LIVE: which nodes are live (demand-1 of docs/spec/scheduler.md).
 *
 * In builds with deep checks every step below compares counts and heights with
 * a rebuild from scratch. */

#include <stdio.h>
#include <string.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

static struct kit_node *materializer(struct sched_kit *kit,
                                     const char *name,
                                     const char *surface)
{
    const struct kit_spec spec = {
        .surface = surface,
        .envelopes = "elsewhere",
        .fn = kit_fn_constant,
        .k = 1,
    };
    return kit_add(kit, name, &spec);
}

static void expect_refs(const struct kit_node *node, uint32_t refs, bool live)
{
    EXPECT_EQ(node->node->live_refs, refs);
    EXPECT_EQ(node_is_live(node->node), live);
    EXPECT_EQ(node->node->counted, live);
}

TEST(live_02_a_dormant_reader_is_no_demand)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *writer = kit_sum(&kit, "W", "s -> w", 0);
    (void)kit_sum(&kit, "R", "w -> r", 0);
    expect_refs(writer, 0, false);
    kit_end(&kit);
}

TEST(live_04_a_root_that_is_read_and_no_longer)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *w = materializer(&kit, "W", "s -> w");
    struct kit_node *r = kit_see(&kit, "R", "w");
    expect_refs(w, 1, true);
    kit_remove(r);
    expect_refs(w, 0, true);
    kit_end(&kit);
}

TEST(live_05_two_readers_are_two_references)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *w = kit_sum(&kit, "W", "s -> w", 0);
    struct kit_node *first = kit_see(&kit, "E", "w");
    (void)kit_see(&kit, "F", "w");
    expect_refs(w, 2, true);
    EXPECT_IDLE(&kit);
    kit_remove(first);
    expect_refs(w, 1, true);
    kit_end(&kit);
}

TEST(live_06_a_reader_that_becomes_a_root)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *source = kit_sum(&kit, "S", "s -> m", 0);
    struct kit_node *m = kit_sum(&kit, "M", "m -> o", 0);
    expect_refs(source, 0, false);
    sched_promote(kit.sched, m->node);
    expect_refs(source, 1, true);
    EXPECT_IDLE(&kit);
    kit_remove(m);
    expect_refs(source, 0, false);
    kit_end(&kit);
}

/* Creates K, which reads b and writes a, while somebody reads a and writes b:
 * a cycle whose only reason to live is the demand that is lent to K. */
static enum run_result create_half_a_cycle(struct run *run,
                                           struct kit_node *node)
{
    (void)run;
    node->kids = kit_computation(node->kit, "K", "b -> a", kit_fn_constant, 1);
    return RUN_DONE;
}

TEST(live_07_a_cycle_does_not_outlive_its_root)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *other =
        kit_computation(&kit, "B", "a -> b", kit_fn_constant, 1);
    struct kit_node *p = kit_effect(&kit, "P", "", create_half_a_cycle, 0);
    EXPECT_IDLE(&kit);
    struct kit_node *k = p->kids;
    EXPECT(k->runs > 0);
    EXPECT(other->runs > 0); /* K demanded it for a moment */
    expect_refs(k, 0, false);
    expect_refs(other, 0, false);
    kit_end(&kit);
}

TEST(live_08_a_writer_that_comes_late_is_demanded_at_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *first = kit_sum(&kit, "A", "s -> a", 0);
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    expect_refs(first, 0, false);
    struct kit_node *writer = kit_sum(&kit, "B", "a -> b", 0);
    expect_refs(writer, 1, true);
    expect_refs(first, 1, true); /* and on upstream */
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "() 1");
    kit_end(&kit);
}

TEST(live_09_a_cycle_that_is_not_looked_at_any_more)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *a =
        kit_computation(&kit, "A", "b -> a", kit_fn_constant, 1);
    struct kit_node *b =
        kit_computation(&kit, "B", "a -> b", kit_fn_constant, 1);
    struct kit_node *e = kit_see(&kit, "E", "a");
    expect_refs(a, 2, true);
    expect_refs(b, 1, true);
    EXPECT_IDLE(&kit);
    kit_remove(e);
    expect_refs(a, 0, false);
    expect_refs(b, 0, false);
    kit_end(&kit);
}

/* Reads one of two documents, as the selector says, or none of them. */
static enum run_result read_as_told(struct run *run, struct kit_node *node)
{
    const int64_t mask = kit_number(run, node, 0);
    for (size_t i = 1; i < node->read_count; i++) {
        if (((mask >> (i - 1)) & 1) != 0) {
            value_unref(kit_input(run, node, i));
        }
    }
    for (size_t i = 0; i < node->write_count; i++) {
        kit_output_adopt(run, node, i, value_int(1));
    }
    return RUN_DONE;
}

TEST(live_10_a_diamond_counts_both_arms)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "maskL=1 maskR=1");
    struct kit_node *w = kit_sum(&kit, "W", "s -> w", 0);
    (void)kit_computation(&kit, "L", "maskL -w -> l", read_as_told, 0);
    (void)kit_computation(&kit, "R", "maskR -w -> r", read_as_told, 0);
    (void)kit_sum(&kit, "M", "l r -> m", 0);
    (void)kit_see(&kit, "E", "m");
    EXPECT_IDLE(&kit);
    expect_refs(w, 2, true);
    kit_set(&kit, "maskL", "0");
    EXPECT_IDLE(&kit);
    expect_refs(w, 1, true);
    kit_set(&kit, "maskR", "0");
    EXPECT_IDLE(&kit);
    expect_refs(w, 0, false);
    kit_end(&kit);
}

TEST(live_11_nobody_is_a_reader_of_himself)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "x", "1");
    struct kit_node *x = kit_sum(&kit, "X", "x -> x", 1);
    EXPECT(!kit_is_reader(x, x));
    struct kit_node *e = kit_see(&kit, "E", "x");
    expect_refs(x, 1, true);
    EXPECT(x->node->component == NULL);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "2");
    kit_remove(e);
    expect_refs(x, 0, false);
    kit_end(&kit);
}

TEST(live_12_a_writer_that_goes_takes_its_demand_along)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *source = kit_sum(&kit, "S", "s -> a", 0);
    struct kit_node *w = kit_sum(&kit, "W", "a -> b", 0);
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    expect_refs(source, 1, true);
    kit_remove(w);
    expect_refs(source, 0, false);
    EXPECT(node_is_live(e->node));
    EXPECT_IDLE(&kit);
    kit_end(&kit);
}

/* -- Demand that is lent ------------------------------------------------- */

static enum run_result create_pair(struct run *run, struct kit_node *node)
{
    (void)run;
    if (node->kids == NULL) {
        node->kids =
            kit_computation(node->kit, "K", "cs -> co", kit_fn_times, 10);
        node->ctx = kit_see(node->kit, "R", "co");
    }
    return RUN_DONE;
}

TEST(live_15_a_child_with_a_reader_stays_live)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "cs", "1");
    struct kit_node *p = kit_effect(&kit, "P", "", create_pair, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(p->kids->runs, 1);
    kit_set(&kit, "cs", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(p->kids->runs, 2);
    const struct kit_node *reader = p->ctx;
    EXPECT_SEEN(reader, "10 20");
    kit_end(&kit);
}

static enum run_result create_child(struct run *run, struct kit_node *node)
{
    (void)run;
    const struct kit_spec spec = {
        .surface = "s -> o",
        .fn = kit_fn_times,
        .debounce = (mono_ms)node->k,
        .k = 10,
    };
    node->kids = kit_add(node->kit, "K", &spec);
    return RUN_DONE;
}

TEST(live_16_a_gated_child_keeps_its_demand_until_it_has_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "3");
    struct kit_node *p = kit_effect(&kit, "P", "", create_child, 200);
    const mono_ms begin = kit.sim.now;
    kit_step(&kit);
    EXPECT_EQ(p->kids->runs, 0);
    EXPECT(node_is_live(p->kids->node));
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sim.now - begin, 200);
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT_GET(&kit, "o", "30");
    expect_refs(p->kids, 0, false);
    kit_end(&kit);
}

TEST(live_17_a_child_without_a_reader_runs_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "3");
    struct kit_node *p = kit_effect(&kit, "P", "", create_child, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT_GET(&kit, "o", "30");
    kit_set(&kit, "s", "4");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT_GET(&kit, "o", "30");
    EXPECT(node_is_stale(p->kids->node));
    kit_end(&kit);
}

/* -- Sleepers ------------------------------------------------------------ */

/* Those who ran once and are clean are told once, and then leave. */
TEST(new_12_sleepers_that_have_run_cost_one_look)
{
    struct sched_kit kit;
    kit_begin(&kit);
    enum {
        FEW = 300
    };
    kit_set(&kit, "s", "1");
    for (unsigned i = 0; i < FEW; i++) {
        char surface[30];
        (void)snprintf(surface, sizeof surface, "s -> out%u", i);
        (void)kit_sum(&kit, "C", surface, 0);
        (void)snprintf(surface, sizeof surface, "out%u", i);
        (void)kit_pull(&kit, surface);
    }
    const uint64_t before = kit.sched->counters.visits;
    kit_set(&kit, "s", "2");
    EXPECT_EQ(kit.sched->counters.visits - before, FEW);
    kit_set(&kit, "s", "3");
    EXPECT_EQ(kit.sched->counters.visits - before, FEW);
    EXPECT_TEXT(kit_pull(&kit, "out7"), "3");
    kit_end(&kit);
}

/* -- Random graphs ------------------------------------------------------- */

enum {
    NODES = 10,
};

/* Node i writes document d<i> and reads those that document m<i> tells. Roots
 * are effects on single documents, and, in some rounds, materializers. */
struct world {
    struct sched_kit kit;
    struct kit_node *nodes[NODES];
    struct kit_node *effects[NODES];
    uint32_t masks[NODES];
    bool materializers; /* may be among the nodes */
    bool watched;       /* effects are added and removed */
};

static void set_mask(struct world *world, unsigned index)
{
    char name[8];
    (void)snprintf(name, sizeof name, "m%u", index);
    kit_set_number(&world->kit, name, world->masks[index]);
}

static void add_node(struct world *world, unsigned index, bool root)
{
    struct buf surface = {0};
    buf_printf(&surface, "m%u", index);
    for (unsigned i = 0; i < NODES; i++) {
        buf_printf(&surface, " -d%u", i);
    }
    buf_printf(&surface, " -> d%u", index);
    char name[8];
    (void)snprintf(name, sizeof name, "N%u", index);
    const struct kit_spec spec = {
        .surface = buf_text(&surface),
        .envelopes = root ? "elsewhere" : NULL,
        .fn = read_as_told,
    };
    world->nodes[index] = kit_add(&world->kit, name, &spec);
    buf_release(&surface);
}

static void toggle_effect(struct world *world, unsigned index)
{
    if (world->effects[index] != NULL) {
        kit_remove(world->effects[index]);
        world->effects[index] = NULL;
        return;
    }
    char name[8];
    (void)snprintf(name, sizeof name, "d%u", index);
    world->effects[index] = kit_see(&world->kit, "E", name);
}

/* Away with it, or back, perhaps as another kind of node. */
static void toggle_node(struct world *world, struct random *random, unsigned i)
{
    if (world->nodes[i] != NULL) {
        kit_remove(world->nodes[i]);
        world->nodes[i] = NULL;
    } else {
        add_node(world,
                 i,
                 world->materializers && random_below(random, 3) == 0);
    }
}

static void mutate(struct world *world, struct random *random)
{
    const uint64_t what = random_below(random, 100);
    const unsigned i = (unsigned)random_below(random, NODES);
    const uint32_t bit = UINT32_C(1) << random_below(random, NODES);
    if (what < 40) {
        world->masks[i] |= bit;
        set_mask(world, i);
    } else if (what < 75) {
        world->masks[i] &= ~bit;
        set_mask(world, i);
    } else if (what < 90 && world->watched) {
        toggle_effect(world, i);
    } else {
        toggle_node(world, random, i);
    }
}

static void walk_randomly(struct random *random,
                          unsigned steps,
                          bool materializers,
                          bool effects)
{
    struct world world = {
        .materializers = materializers,
        .watched = effects,
    };
    kit_begin(&world.kit);
    for (unsigned i = 0; i < NODES; i++) {
        if (random_below(random, 4) > 0) {
            add_node(&world, i, materializers && i % 4 == 0);
        }
    }
    for (unsigned step = 0; step < steps; step++) {
        mutate(&world, random);
        if (random_below(random, 3) > 0) {
            EXPECT_IDLE(&world.kit);
        }
        EXPECT(kit_check(&world.kit));
    }
    kit_end(&world.kit);
}

PROPERTY(live_13_counts_and_heights_after_every_mutation, 20)
{
    walk_randomly(random, 300, false, true);
    walk_randomly(random, 300, true, true);
    walk_randomly(random, 300, true, false);
}

/* One effect, and writers that come after those who read from them. */
PROPERTY(live_14_edges_that_are_there_before_their_writers, 20)
{
    struct world world = {.masks = {0}};
    kit_begin(&world.kit);
    toggle_effect(&world, 0);
    for (unsigned step = 0; step < 200; step++) {
        const unsigned i = (unsigned)random_below(random, NODES);
        if (random_below(random, 2) == 0) {
            world.masks[i] = (uint32_t)random_below(random, 1U << NODES);
            set_mask(&world, i);
        } else {
            toggle_node(&world, random, i);
        }
        EXPECT_IDLE(&world.kit);
        EXPECT(kit_check(&world.kit));
    }
    kit_end(&world.kit);
}
