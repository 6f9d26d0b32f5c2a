/* EFF: effects, registration and removal. A node is registered once; its parent
 * is the node that runs at that moment. */

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "value/json.h"

static void expect_counts(const struct sched_kit *kit,
                          size_t computations,
                          size_t effects)
{
    EXPECT_EQ(kit->sched->computations, computations);
    EXPECT_EQ(kit->sched->effects, effects);
}

TEST(eff_01_a_computation_is_counted_as_one)
{
    struct sched_kit kit;
    kit_begin(&kit);
    (void)kit_sum(&kit, "C", "a -> b", 0);
    expect_counts(&kit, 1, 0);
    kit_end(&kit);
}

TEST(eff_02_an_effect_is_counted_as_one)
{
    struct sched_kit kit;
    kit_begin(&kit);
    (void)kit_see(&kit, "E", "a");
    expect_counts(&kit, 0, 1);
    kit_end(&kit);
}

TEST(eff_03_counts_go_down_again)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 0);
    struct kit_node *e = kit_see(&kit, "E", "b");
    expect_counts(&kit, 1, 1);
    kit_remove(c);
    expect_counts(&kit, 0, 1);
    kit_remove(e);
    expect_counts(&kit, 0, 0);
    kit_end(&kit);
}

TEST(eff_04_an_effect_sees_what_is_there)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "a", "42");
    struct kit_node *e = kit_see(&kit, "E", "a");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "42");
    expect_counts(&kit, 0, 1);
    kit_end(&kit);
}

static enum run_result create_an_effect(struct run *run, struct kit_node *node)
{
    (void)run;
    if (node->kids == NULL) {
        node->kids = kit_see(node->kit, "K", "s");
    }
    return RUN_DONE;
}

TEST(eff_05_the_snapshot_shows_who_created_what)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *p = kit_effect(&kit, "P", "", create_an_effect, 0);
    EXPECT_IDLE(&kit);
    EXPECT(p->kids->node->parent == p->node);
    EXPECT(p->node->children.first == &p->kids->node->sibling);
    const struct value graph = introspection_graph(kit.sched);
    struct buf text = {0};
    json_write(&text, graph, JSON_AS_GIVEN, 0);
    EXPECT_CONTAINS(buf_text(&text), "\"name\":\"K\"");
    EXPECT_CONTAINS(buf_text(&text), "\"parent\":\"n0\"");
    buf_release(&text);
    value_unref(graph);
    kit_end(&kit);
}

TEST(eff_06_a_reader_of_an_output_depends_on_its_writer)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *a = kit_sum(&kit, "A", "s -> m", 0);
    struct kit_node *b = kit_sum(&kit, "B", "m -> o", 0);
    (void)kit_see(&kit, "E", "o");
    EXPECT(kit_is_reader(b, a));
    EXPECT(!kit_is_reader(a, b));
    kit_end(&kit);
}

TEST(eff_07_a_computation_becomes_an_effect)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "a", "1");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 0);
    expect_counts(&kit, 1, 0);
    sched_promote(kit.sched, c->node);
    EXPECT(kit_check(&kit));
    expect_counts(&kit, 0, 1);
    EXPECT_EQ(c->node->kind, NODE_EFFECT);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "b", "1");
    sched_promote(kit.sched, c->node); /* it is one already */
    expect_counts(&kit, 0, 1);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(eff_09_who_is_registered_outside_of_a_run_has_no_parent)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *p = kit_effect(&kit, "P", "", create_an_effect, 0);
    EXPECT(p->node->parent == NULL);
    EXPECT_IDLE(&kit);
    struct kit_node *later = kit_see(&kit, "L", "s");
    EXPECT(later->node->parent == NULL);
    EXPECT(p->kids->node->parent == p->node);
    kit_remove(p);
    EXPECT(p->kids->node->parent == NULL); /* it outlives its parent */
    kit_set(&kit, "s", "1");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(p->kids, "() 1");
    kit_end(&kit);
}

static enum run_result toggle_child(struct run *run, struct kit_node *node)
{
    const struct value toggle = kit_input(run, node, 0);
    const bool on = value_is_same(toggle, value_bool(true));
    value_unref(toggle);
    if (on && node->kids == NULL) {
        node->kids = kit_see(node->kit, "K", "s");
    } else if (!on && node->kids != NULL) {
        kit_remove(node->kids);
        node->kids = NULL;
    }
    return RUN_DONE;
}

TEST(eff_10_a_child_that_its_parent_cancels_does_not_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "toggle=true s=1");
    (void)kit_effect(&kit, "P", "toggle", toggle_child, 0);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "P K");
    kit_set_all(&kit, "toggle=false s=2"); /* K is invalid, too */
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "P");
    kit_end(&kit);
}

TEST(eff_11_children_stop_with_their_cancellation)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "toggle=true s=1");
    struct kit_node *p = kit_effect(&kit, "P", "toggle", toggle_child, 0);
    EXPECT_IDLE(&kit);
    struct kit_node *k = p->kids;
    EXPECT_EQ(k->runs, 1);
    kit_remove(k);
    kit_remove(p);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(k->runs, 1);
    kit_end(&kit);
}

static enum run_result remove_itself(struct run *run, struct kit_node *node)
{
    const enum run_result result = kit_fn_copy(run, node);
    kit_remove(node);
    return result;
}

TEST(eff_a_node_may_remove_itself_in_its_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *e = kit_effect(&kit, "E", "-s -> x", remove_itself, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    EXPECT_GET(&kit, "x", "()"); /* its run does not count */
    expect_counts(&kit, 0, 0);
    kit_end(&kit);
}
