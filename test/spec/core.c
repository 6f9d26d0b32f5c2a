/* CORE: what a node is, what it reads and writes, and what wakes it
 * (docs/spec/scheduler.md).
 *
 * Effects may write, but declare no outputs: what they write reaches its
 * readers by value only. */

#include "lib/sched_kit.h"
#include "lib/test.h"

TEST(core_02_dormant_until_pulled)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=2 c=0");
    struct kit_node *c = kit_sum(&kit, "C", "a b -> c", 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 0);
    EXPECT_GET(&kit, "c", "0");
    kit_set(&kit, "a", "2");
    EXPECT_TEXT(kit_pull(&kit, "c"), "4");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(core_04_a_change_during_a_run_is_not_lost)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "0");
    struct kit_node *e = kit_effect(&kit, "E", "s", kit_fn_meanwhile, 0);
    EXPECT_IDLE(&kit);
    e->meanwhile = "s=2";
    kit_set(&kit, "s", "1");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "0 1 2");
    EXPECT_EQ(e->runs, 3);
    kit_end(&kit);
}

TEST(core_04_a_change_under_a_writer_runs_it_again)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "0");
    struct kit_node *c =
        kit_computation(&kit, "C", "s -> o", kit_fn_meanwhile, 0);
    struct kit_node *e = kit_see(&kit, "E", "o");
    c->meanwhile = "s=5"; /* its commit is stale: s is not what it was */
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "o", "5");
    EXPECT_SEEN(e, "5");
    kit_end(&kit);
}

TEST(core_05_the_trigger_trace_names_nodes_and_writers)
{
    struct sched_kit kit;
    kit_begin(&kit);
    const char group = 0;
    kit_set(&kit, "a", "1");
    const struct kit_spec spec = {
        .surface = "a -> b",
        .fn = kit_fn_sum,
        .k = 1,
        .group = &group,
    };
    (void)kit_add(&kit, "C", &spec);
    (void)kit_effect(&kit, "E", "b -> c", kit_fn_copy, 0);
    EXPECT_TEXT(kit_pull(&kit, "c"), "2");
    kit_trace(&kit, true);
    kit_set(&kit, "a", "2");
    EXPECT_TEXT(kit_pull(&kit, "c"), "3");
    const char *triggers = kit_triggers(&kit);
    EXPECT_CONTAINS(triggers, "mark-invalid C a by (nobody);");
    EXPECT_CONTAINS(triggers, "mark-invalid E b by C;");
    kit_end(&kit);
}

TEST(core_07_the_run_trace_names_kind_and_effect)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "a", "1");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    struct kit_node *e = kit_effect(&kit, "E", "b -> c", kit_fn_copy, 0);
    EXPECT_TEXT(kit_pull(&kit, "c"), "2");
    EXPECT_EQ(c->node->write_count, 1);
    EXPECT_EQ(e->node->write_count, 0);
    kit_trace(&kit, true);
    kit_set(&kit, "a", "2");
    kit_step(&kit);
    EXPECT_TEXT(kit_records(&kit),
                "C computation causes=1 changed; E effect causes=1 changed;");
    kit_end(&kit);
}

TEST(core_09_what_is_removed_does_not_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=2");
    struct kit_node *c = kit_sum(&kit, "C", "a b -> c", 0);
    kit_set(&kit, "a", "2");
    EXPECT_TEXT(kit_pull(&kit, "c"), "4");
    kit_remove(c);
    kit_set(&kit, "a", "3");
    EXPECT_TEXT(kit_pull(&kit, "c"), "4");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(core_10_effects_run_in_the_order_of_their_data)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=2 d=1");
    (void)kit_effect(&kit, "E1", "a b -> c", kit_fn_sum, 0);
    (void)kit_pull(&kit, "e");
    (void)kit_effect(&kit, "E2", "c d -> e", kit_fn_sum, 0);
    EXPECT_TEXT(kit_pull(&kit, "e"), "4");
    kit_set(&kit, "d", "2");
    EXPECT_TEXT(kit_pull(&kit, "e"), "5");
    EXPECT_GET(&kit, "c", "3");
    kit_set(&kit, "a", "2");
    EXPECT_TEXT(kit_pull(&kit, "e"), "6");
    EXPECT_GET(&kit, "c", "4");
    EXPECT_TEXT(kit_ran(&kit), "E1 E2 E2 E1 E2");
    kit_end(&kit);
}

/* The sum, as long as it has not run more than k times. */
static enum run_result sum_for_a_while(struct run *run, struct kit_node *node)
{
    const int64_t sum = kit_number(run, node, 0) + kit_number(run, node, 1);
    if (node->runs <= (uint64_t)node->k) {
        kit_output_adopt(run, node, 0, value_int(sum));
    }
    return RUN_DONE;
}

TEST(core_11_a_cycle_of_effects_goes_on_over_several_passes)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=2 d=1");
    (void)kit_effect(&kit, "E1", "a b -> c", kit_fn_sum, 0);
    (void)kit_pull(&kit, "e");
    (void)kit_effect(&kit, "E2", "c d -> e", kit_fn_sum, 0);
    (void)kit_pull(&kit, "e");
    struct kit_node *e3 =
        kit_effect(&kit, "E3", "e b -> c", sum_for_a_while, SCHED_RUNS_MAX + 1);
    (void)kit_pull(&kit, "e");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e3->runs, SCHED_RUNS_MAX + 2);
    EXPECT_TEXT(kit_errors(&kit), "");
    kit_end(&kit);
}

TEST(core_12_an_effect_that_writes_what_it_reads_does_not_wake_itself)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "counter=0 by=1");
    (void)kit_effect(&kit, "E", "counter by -> counter", kit_fn_sum, 0);
    EXPECT_TEXT(kit_pull(&kit, "counter"), "1");
    EXPECT_TEXT(kit_pull(&kit, "counter"), "1");
    kit_set(&kit, "by", "2");
    EXPECT_TEXT(kit_pull(&kit, "counter"), "3");
    EXPECT_TEXT(kit_errors(&kit), "");
    kit_end(&kit);
}

TEST(core_14_an_effect_without_reads_runs_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *e = kit_effect(&kit, "E", "", kit_fn_constant, 1);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "1");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    kit_end(&kit);
}

TEST(core_15_a_read_that_is_not_for_scheduling_wakes_nobody)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *e = kit_effect(&kit, "E", "?s -> r", kit_fn_copy, 0);
    EXPECT_TEXT(kit_pull(&kit, "r"), "1");
    for (int64_t i = 2; i < 4; i++) {
        kit_set_number(&kit, "s", i);
        EXPECT_TEXT(kit_pull(&kit, "r"), "1");
        EXPECT_EQ(e->runs, 1);
    }
    kit_end(&kit);
}

TEST(core_16_what_is_beside_the_payload_is_read_like_it)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    kit_set(&kit, "s!.label", "'old'");
    struct kit_node *e = kit_effect(&kit, "E", "s!.label -> r", kit_fn_copy, 0);
    EXPECT_TEXT(kit_pull(&kit, "r"), "'old'");
    kit_set(&kit, "s!.label", "'new'");
    EXPECT_TEXT(kit_pull(&kit, "r"), "'new'");
    EXPECT_EQ(e->runs, 2);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    kit_end(&kit);
}

TEST(core_17_a_deep_read_beside_the_payload_sees_what_is_below)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "1");
    kit_set(&kit, "d!.cfc", "{'labels':{'a':1}}");
    struct kit_node *e = kit_see(&kit, "E", "d!.cfc");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d!.cfc.labels.a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "{'labels':{'a':1}} {'labels':{'a':2}}");
    kit_end(&kit);
}

TEST(core_18_only_what_differs_inside_a_write_is_a_change)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "{'nested':{'x':1,'y':'hello'}}");
    struct kit_node *x = kit_see(&kit, "X", "d.nested.x");
    struct kit_node *y = kit_see(&kit, "Y", "d.nested.y");
    EXPECT_IDLE(&kit);
    kit_trace(&kit, true);
    kit_set(&kit, "d.nested", "{'x':1,'y':'world'}");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(x->runs, 1);
    EXPECT_SEEN(y, "'hello' 'world'");
    EXPECT_TEXT(kit_triggers(&kit), "mark-invalid Y d by (nobody);");
    kit_end(&kit);
}

TEST(core_21_a_key_beside_the_payload_is_read_deep)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "1");
    kit_set(&kit, "d!.slug", "'x'");
    struct kit_node *e = kit_see(&kit, "E", "d!.slug");
    EXPECT_IDLE(&kit);
    const struct node *node = e->node;
    EXPECT_EQ(node->reads.count, 1);
    EXPECT_EQ(node->reads.at[0].kind, READ_DEEP);
    EXPECT_EQ(node->reads.at[0].place->path->length, 1);
    kit_end(&kit);
}

TEST(core_26_nothing_is_left_of_what_was_removed)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *x = kit_sum(&kit, "X", "a -> b", 0);
    kit_remove(x);
    struct kit_node *y = kit_see(&kit, "Y", "a");
    kit_remove(y);
    EXPECT_EQ(kit.sched->computations, 0);
    EXPECT_EQ(kit.sched->effects, 0);
    EXPECT(list_is_empty(&kit.sched->nodes));
    EXPECT(kit.sched->gated.count == 0);
    EXPECT_EQ(sched_next_wake(kit.sched), MONO_NEVER);
    kit_end(&kit);
}

/* -- Children ------------------------------------------------------------ */

static size_t children_of(const struct kit_node *node)
{
    size_t count = 0;
    CHAIN_FOREACH(&node->node->children, link)
    {
        count++;
    }
    return count;
}

static enum run_result make_a_child(struct run *run, struct kit_node *node)
{
    (void)run;
    node->kids = kit_effect(node->kit, "K", "s", kit_fn_see, 0);
    return RUN_DONE;
}

TEST(core_27_a_child_that_was_removed_is_forgotten_by_its_parent)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *p = kit_effect(&kit, "P", "", make_a_child, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(children_of(p), 1);
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT(p->kids->node->parent == p->node);
    kit_remove(p->kids);
    EXPECT_EQ(children_of(p), 0);
    kit_end(&kit);
}

enum {
    ITEMS = 20,
    WINDOW = 5,
};

/* One child for each element of the window that begins at the input. */
static enum run_result move_window(struct run *run, struct kit_node *node)
{
    struct kit_node **children = node->ctx;
    const int64_t from = kit_number(run, node, 0);
    for (int64_t i = 0; i < ITEMS; i++) {
        const bool in = i >= from && i < from + WINDOW;
        if (in && children[i] == NULL) {
            struct buf surface = {0};
            buf_printf(&surface, "i%d -> o%d", (int)i, (int)i);
            children[i] = kit_sum(node->kit, "K", buf_text(&surface), 0);
            buf_release(&surface);
        } else if (!in && children[i] != NULL) {
            kit_remove(children[i]);
            children[i] = NULL;
        }
    }
    return RUN_DONE;
}

TEST(core_28_a_moving_window_keeps_as_many_children_as_it_shows)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *children[ITEMS] = {0};
    const struct kit_spec spec = {
        .surface = "from",
        .effect = true,
        .fn = move_window,
        .ctx = children,
    };
    kit_set(&kit, "from", "0");
    struct kit_node *p = kit_add(&kit, "P", &spec);
    struct kit_node *reader = kit_see(&kit, "R", "o0 o5 o7");
    EXPECT_IDLE(&kit);
    for (unsigned i = 0; i < 10; i++) {
        kit_set_number(&kit, "from", i % 2 == 0 ? 5 : 0);
        EXPECT_IDLE(&kit);
        EXPECT_EQ(children_of(p), WINDOW);
        EXPECT_EQ(kit.sched->computations, WINDOW);
    }
    EXPECT(reader->runs > 0);
    kit_end(&kit);
}

/* -- The kit itself ------------------------------------------------------ */

TEST(a_space_with_a_store_is_scheduled_like_one_without)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit_set_all(&kit, "a=1");
    struct kit_node *c = kit_sum(&kit, "C", "a -> c", 1);
    struct kit_node *e = kit_see(&kit, "E", "c");
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_stored(&kit, "c"), "{'value':2}");
    kit_elsewhere(&kit, "set a 5");
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "2 6");
    EXPECT_EQ(c->runs, 2);
    kit_end(&kit);
}
