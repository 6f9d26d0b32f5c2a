/* TXID: the author of a change is known by identity, never by name (I5, I8). */

#include "lib/sched_kit.h"
#include "lib/test.h"

TEST(txid_02_two_pulls_at_once_see_the_same)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> o", kit_fn_times, 10);
    kit_set(&kit, "s", "2");
    struct kit_node *first = kit_see(&kit, "pull", "-o");
    struct kit_node *second = kit_see(&kit, "pull", "-o");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(first, "20");
    EXPECT_SEEN(second, "20");
    EXPECT_EQ(c->runs, 1);
    EXPECT_TEXT(kit_pull(&kit, "o"), "20");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(txid_02_suppression_is_by_node_and_not_by_name)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "x=0 by=1");
    /* Both read what the first one writes. */
    struct kit_node *first =
        kit_effect(&kit, "same", "by -> x", kit_fn_copy, 0);
    struct kit_node *second = kit_see(&kit, "same", "x");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "by", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(first->runs, 2);
    EXPECT_SEEN(second, "1 2");
    kit_end(&kit);
}

TEST(txid_03_a_change_group_does_not_hear_itself)
{
    struct sched_kit kit;
    kit_begin(&kit);
    const char group = 0;
    const char other = 0;
    kit_set(&kit, "v", "0");
    const struct kit_spec spec = {
        .surface = "v",
        .effect = true,
        .fn = kit_fn_see,
        .group = &group,
    };
    struct kit_node *e = kit_add(&kit, "E", &spec);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "0");
    kit_set_in_group(&kit, "v", "1", &group);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "0");
    EXPECT_EQ(e->node->causes.count, 0);
    kit_set(&kit, "v", "2");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "0 2");
    kit_set_in_group(&kit, "v", "3", &other);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "0 2 3");
    kit_end(&kit);
}

TEST(txid_04_an_own_commit_is_no_cause)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "d=0 by=1");
    struct kit_node *e = kit_effect(&kit, "E", "d by -> d", kit_fn_sum, 0);
    kit_trace(&kit, true);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "by", "2");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "d", "3");
    EXPECT_EQ(e->node->causes.count, 0);
    EXPECT_EQ(e->node->status, NODE_CLEAN);
    EXPECT_CONTAINS(kit_triggers(&kit), "skip-own-commit-source E d by E;");
    kit_end(&kit);
}

TEST(txid_06_a_neutral_change_is_one_cause)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "{'x':1}");
    struct kit_node *e = kit_see(&kit, "E", "d.x");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d.x", "2");
    const struct node *node = e->node;
    EXPECT_EQ(node->status, NODE_INVALID);
    EXPECT_EQ(node->causes.count, 1);
    struct place *place = kit_place(&kit, "d.x");
    EXPECT(node->causes.at[0].place == place);
    EXPECT_EQ(node->causes.at[0].version, place->entity->version);
    place_unref(place);
    kit_end(&kit);
}

TEST(txid_07_causes_are_kept_once_by_scope_and_path)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "{'a':{'b':1},'a/b':1}");
    kit_set(&kit, "d~user", "{'a':{'b':1}}");
    struct kit_node *e = kit_see(&kit, "E", "d.a.b d.a~1b d~user.a.b");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1,1,1");
    for (int64_t i = 2; i < 4; i++) {
        kit_set_number(&kit, "d.a.b", i);
        kit_set_number(&kit, "d.a~1b", i);
        kit_set_number(&kit, "d~user.a.b", i);
    }
    EXPECT_EQ(e->node->causes.count, 3);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1,1,1 3,3,3");
    EXPECT_EQ(e->node->causes.count, 0);
    kit_end(&kit);
}

TEST(txid_08_causes_go_with_their_node)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "1");
    struct kit_node *e = kit_see(&kit, "E", "d");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d", "2");
    EXPECT_EQ(e->node->causes.count, 1);
    kit_remove(e); /* the ledger of the tests would see what is left */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    kit_end(&kit);
}

/* I8: the transaction of a run says who runs, and why. */
static enum run_result look_at_the_stamp(struct run *run, struct kit_node *node)
{
    value_unref(kit_input(run, node, 0));
    EXPECT(run->transaction->source == node->node);
    EXPECT_EQ(run->transaction->cause_count, node->runs == 1 ? 0 : 1);
    if (node->runs > 1) {
        EXPECT(run->transaction->causes[0].place == node->reads[0].place);
    }
    return RUN_DONE;
}

TEST(txid_a_run_is_stamped_with_its_node_and_its_causes)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "1");
    struct kit_node *e = kit_effect(&kit, "E", "d", look_at_the_stamp, 0);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    kit_end(&kit);
}

/* Why a node runs that slept through several changes: all of them. */
static enum run_result count_triggers(struct run *run, struct kit_node *node)
{
    (void)kit_fn_sum(run, node);
    node->ctx = (void *)(uintptr_t)run->transaction->cause_count;
    return RUN_DONE;
}

TEST(txid_the_causes_of_a_sleeper_are_complete_when_it_wakes)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=1 c=1");
    struct kit_node *c =
        kit_computation(&kit, "C", "a b c -> o", count_triggers, 0);
    EXPECT_TEXT(kit_pull(&kit, "o"), "3");
    kit_set(&kit, "a", "2");
    kit_set(&kit, "b", "2");
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_EQ(c->node->causes.count, 2);
    EXPECT_IDLE(&kit);
    EXPECT_EQ((uintptr_t)c->ctx, 2);
    kit_remove(e);
    kit_set(&kit, "b", "3");
    kit_set(&kit, "c", "3");
    EXPECT_TEXT(kit_pull(&kit, "o"), "8"); /* inside the read of the pull */
    EXPECT_EQ((uintptr_t)c->ctx, 2);
    kit_end(&kit);
}
