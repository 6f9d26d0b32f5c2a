/* PULL: demand and values decide what runs (I1 to I3).
 *
 * Reads that were not declared are brought up to date inside the read (D2), so
 * they cost no extra run. Following a link is the runtime's business: here a
 * string that names a document stands for a link. */

#include <string.h>

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

static bool is_stale(const struct kit_node *node)
{
    return node_is_stale(node->node);
}

TEST(pull_01_what_nobody_looks_at_stays_invalid)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> r", kit_fn_times, 10);
    EXPECT_TEXT(kit_pull(&kit, "r"), "10");
    EXPECT(!is_stale(c));
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT(is_stale(c));
    EXPECT_EQ(c->runs, 1);
    EXPECT_TEXT(kit_pull(&kit, "r"), "20");
    EXPECT_EQ(c->runs, 2);
    kit_end(&kit);
}

/* pr := cr + 1, and the writer of cr is created in the first run. */
static enum run_result create_then_sum(struct run *run, struct kit_node *node)
{
    if (node->kids == NULL) {
        node->kids =
            kit_computation(node->kit, "K", "s -> cr", kit_fn_times, 10);
    }
    return kit_fn_sum(run, node);
}

TEST(pull_04_a_child_that_writes_what_its_parent_sampled)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "2");
    struct kit_node *p =
        kit_computation(&kit, "P", "cr -> pr", create_then_sum, 1);
    struct kit_node *e = kit_effect(&kit, "E", "pr -> er", kit_fn_copy, 0);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "er", "21");
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT_EQ(p->runs, 2);
    /* The effect comes after both: it never saw the value in between. */
    EXPECT_SEEN(e, "21");
    EXPECT_TEXT(kit_ran(&kit), "P K P E");
    kit_end(&kit);
}

TEST(pull_05_an_equal_result_wakes_nobody)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> d", kit_fn_modulo, 2);
    struct kit_node *e = kit_see(&kit, "E", "d");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "s", "3");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_EQ(e->runs, 1);
    kit_set(&kit, "s", "4");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 3);
    EXPECT_SEEN(e, "1 0");
    kit_end(&kit);
}

TEST(pull_06_a_commit_is_told_of_before_it_returns)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> m", kit_fn_times, 10);
    struct kit_node *e = kit_see(&kit, "E", "m");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "s", "2");
    EXPECT(is_stale(c));
    EXPECT(kit_is_reader(e, c));
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "10 20");
    kit_end(&kit);
}

TEST(pull_07_only_the_value_makes_a_reader_run)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> d", kit_fn_times, 10);
    struct kit_node *e = kit_effect(&kit, "E", "d -> r", kit_fn_sum, 5);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "s", "2");
    EXPECT(!is_stale(e)); /* not before C has run */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_EQ(e->runs, 2);
    EXPECT_GET(&kit, "r", "25");
    sched_invalidate(kit.sched, c->node);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 3);
    EXPECT_EQ(e->runs, 2);
    kit_end(&kit);
}

TEST(pull_08_a_declared_read_is_demand_at_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_computation(&kit, "C", "s -> d", kit_fn_copy, 0);
    EXPECT(!node_is_live(c->node));
    (void)kit_see(&kit, "E", "d");
    EXPECT(node_is_live(c->node));
    EXPECT_EQ(c->runs, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    EXPECT_GET(&kit, "d", "1");
    kit_end(&kit);
}

/* Creates a node that writes without having said so. */
static enum run_result create_silent_writer(struct run *run,
                                            struct kit_node *node)
{
    if (node->kids == NULL) {
        const struct kit_spec spec = {
            .surface = "s",
            .writes = "cr",
            .fn = kit_fn_times,
            .k = 10,
        };
        node->kids = kit_add(node->kit, "K", &spec);
    }
    return kit_fn_sum(run, node);
}

TEST(pull_09_an_undeclared_write_propagates_by_value)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *p =
        kit_computation(&kit, "P", "s -> pr", create_silent_writer, 0);
    struct kit_node *e = kit_effect(&kit, "E", "pr cr -> r", kit_fn_sum, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(p->runs, 1);
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT(e->runs >= 1);
    EXPECT_GET(&kit, "r", "11");
    EXPECT_EQ(kit.sched->counters.surface_violations, 1);
    kit_end(&kit);
}

TEST(pull_13_a_chain_runs_once_a_change)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c1 = kit_sum(&kit, "C1", "s -> m1", 1);
    struct kit_node *c2 =
        kit_computation(&kit, "C2", "m1 -> m2", kit_fn_times, 2);
    struct kit_node *e = kit_effect(&kit, "E", "m2 -> r", kit_fn_sum, -3);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "1");
    kit_set(&kit, "s", "5");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "9");
    EXPECT_EQ(c1->runs, 2);
    EXPECT_EQ(c2->runs, 2);
    EXPECT_EQ(e->runs, 2);
    EXPECT_TEXT(kit_ran(&kit), "C1 C2 E C1 C2 E");
    kit_end(&kit);
}

TEST(pull_14_a_branch_that_is_not_taken_is_not_read)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "sel=false sA=2 sB=7");
    struct kit_node *c =
        kit_computation(&kit, "C", "sel sB sA -> m", kit_fn_select, 0);
    struct kit_node *e = kit_effect(&kit, "E", "m -> r", kit_fn_times, 10);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "20");
    kit_set(&kit, "sel", "true");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "70");
    kit_set(&kit, "sA", "999");
    EXPECT(!is_stale(c));
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "70");
    EXPECT_EQ(e->runs, 2);
    kit_set(&kit, "sB", "6");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "60");
    EXPECT_EQ(e->runs, 3);
    kit_end(&kit);
}

TEST(pull_16_nothing_transitive_becomes_invalid)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *a = kit_sum(&kit, "A", "s -> m", 0);
    struct kit_node *b = kit_sum(&kit, "B", "m -> o", 0);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "s", "2");
    EXPECT(is_stale(a));
    EXPECT(!is_stale(b));
    EXPECT(!is_stale(e));
    kit_end(&kit);
}

static enum run_result write_one_child(struct run *run, struct kit_node *node)
{
    const struct value input = kit_input(run, node, 0);
    kit_output_adopt(run, node, 0, array_new_adopt(&input, 1));
    return RUN_DONE;
}

TEST(pull_17_a_shape_read_of_what_has_yet_to_be_written)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 o={'children':[]}");
    struct kit_node *c =
        kit_computation(&kit, "C", "s -> o.children", write_one_child, 0);
    struct kit_node *e = kit_see(&kit, "E", "^o.children");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    EXPECT_EQ(e->runs, 1);
    EXPECT(!is_stale(c));
    EXPECT(!is_stale(e));
    kit_set(&kit, "s", "2"); /* another child, the same shape */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_EQ(e->runs, 1);
    kit_end(&kit);
}

TEST(pull_18_a_constant_ends_the_wave)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *a =
        kit_computation(&kit, "A", "s -> st", kit_fn_constant, 1);
    struct kit_node *b = kit_sum(&kit, "B", "st -> o", 0);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    (void)kit_ran(&kit);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "A");
    EXPECT(!is_stale(a));
    EXPECT(!is_stale(b));
    EXPECT(!is_stale(e));
    kit_end(&kit);
}

TEST(pull_20_only_the_branch_taken_invalidates)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "sel=0 sA=1 sB=10");
    struct kit_node *c =
        kit_computation(&kit, "C", "sel sB sA -> m", kit_fn_select, 0);
    (void)kit_see(&kit, "E", "m");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "sel", "1");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "sA", "2");
    EXPECT(!is_stale(c));
    kit_set(&kit, "sB", "11");
    EXPECT(is_stale(c));
    kit_end(&kit);
}

TEST(pull_21_a_dormant_choice)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "cond=true l=10 r=20");
    struct kit_node *c =
        kit_computation(&kit, "C", "cond l r -> o", kit_fn_select, 0);
    EXPECT_TEXT(kit_pull(&kit, "o"), "10");
    kit_set(&kit, "cond", "false");
    EXPECT_TEXT(kit_pull(&kit, "o"), "20");
    kit_set(&kit, "l", "11");
    EXPECT_TEXT(kit_pull(&kit, "o"), "20");
    EXPECT_EQ(c->runs, 2);
    kit_set(&kit, "r", "21");
    EXPECT_TEXT(kit_pull(&kit, "o"), "21");
    EXPECT_EQ(c->runs, 3);
    kit_end(&kit);
}

/* Samples its input; the first run creates who writes it. */
static enum run_result sample_and_create(struct run *run, struct kit_node *node)
{
    const enum run_result result = kit_fn_see(run, node);
    if (node->kids == NULL) {
        node->kids =
            kit_computation(node->kit, "K", "-> i", kit_fn_constant, 2);
    }
    return result;
}

TEST(pull_22_a_child_overwrites_what_its_parent_sampled)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "i", "1");
    struct kit_node *p = kit_effect(&kit, "P", "i", sample_and_create, 0);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(p, "1 2");
    EXPECT_EQ(p->kids->runs, 1);
    EXPECT_TEXT(kit_ran(&kit), "P K P");
    EXPECT_EQ(kit.sched->counters.passes, 1);
    EXPECT(kit.sched->counters.sweeps <= 2);
    kit_end(&kit);
}

TEST(pull_23_a_coarse_value_hides_small_changes)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "0");
    struct kit_node *c =
        kit_computation(&kit, "C", "s -> o", kit_fn_divide, 10);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    for (int64_t i = 1; i < 4; i++) {
        kit_set_number(&kit, "s", i);
        EXPECT_IDLE(&kit);
    }
    EXPECT_EQ(c->runs, 4);
    EXPECT_EQ(e->runs, 1);
    EXPECT_GET(&kit, "o", "0");
    kit_end(&kit);
}

TEST(pull_25_a_writer_whose_time_has_not_come_leaves_its_reader_clean)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_sum(&kit, "C", "s -> o", 0);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    sched_set_throttle(kit.sched, c->node, 30000);
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    EXPECT(is_stale(c));
    EXPECT(!is_stale(e));
    EXPECT_EQ(e->runs, 1);
    kit_tick(&kit, 30000);
    EXPECT_SEEN(e, "1 2");
    kit_end(&kit);
}

TEST(pull_26_a_registration_reads_and_runs_nothing)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *c = kit_sum(&kit, "C", "s -> o", 0);
    for (int64_t i = 0; i < 2; i++) {
        EXPECT_IDLE(&kit);
        const struct node *node = c->node;
        EXPECT_EQ(node->status, NODE_NEVER_RAN);
        EXPECT_EQ(node->reads.count, 1);
        EXPECT_INT(node->reads.at[0].unread, LINK_DECLARED);
        EXPECT_EQ(node->causes.count, 0);
        kit_set(&kit, "s", "2");
    }
    EXPECT_EQ(c->runs, 0);
    EXPECT_EQ(kit.sched->counters.passes, 0);
    kit_end(&kit);
}

TEST(pull_27_a_change_below_a_dormant_node_runs_nothing)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 o=7");
    struct kit_node *c = kit_sum(&kit, "C", "s -> o", 0);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 0);
    EXPECT_GET(&kit, "o", "7");
    kit_end(&kit);
}

/* -- Links --------------------------------------------------------------- */

/* What the document that the first input names holds, or "default". */
static enum run_result follow(struct run *run, struct kit_node *node)
{
    const struct value link = kit_input(run, node, 0);
    struct value value = VALUE_NONE;
    if (value_is_string(link)) {
        char name[40] = "";
        const struct text text = value_text(&link);
        memcpy(name, text.at, text.length);
        value = kit_look(run, node, name);
    }
    value_unref(link);
    if (node->write_count == 0) {
        kit_note(node, value);
        value_unref(value);
        return RUN_DONE;
    }
    if (value_is_absent(value)) {
        value = value_text_new("default");
    }
    kit_output_adopt(run, node, 0, value);
    return RUN_DONE;
}

TEST(pull_28_a_value_that_is_reached_through_a_link)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=[] oi='io'");
    struct kit_node *i =
        kit_computation(&kit, "I", "s.0 -> io", kit_fn_copy, 0);
    struct kit_node *o = kit_computation(&kit, "O", "oi -> oo", follow, 0);
    struct kit_node *e = kit_see(&kit, "E", "oo");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(i->runs, 1);
    EXPECT_EQ(o->runs, 1);
    kit_set(&kit, "s", "['apple']");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(i->runs, 2);
    EXPECT_EQ(o->runs, 2);
    EXPECT_SEEN(e, "'default' 'apple'");
    kit_end(&kit);
}

TEST(pull_29_the_target_of_a_link_comes_to_be)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "src", "{'profile':'t.name'}");
    struct kit_node *e = kit_effect(&kit, "E", "src.profile", follow, 0);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "()");
    kit_set(&kit, "t", "{'name':'Ada'}");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "() 'Ada'");
    kit_end(&kit);
}

TEST(pull_30_the_target_of_a_link_changes)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "src", "{'profile':'t.name'}");
    kit_set(&kit, "t", "{'name':'Ada'}");
    struct kit_node *e = kit_effect(&kit, "E", "src.profile", follow, 0);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "t.name", "'Grace'");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "'Ada' 'Grace'");
    kit_end(&kit);
}

/* -- Arrays -------------------------------------------------------------- */

TEST(pull_32_the_snapshot_tells_shape_reads_apart)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "arr", "[1,2]");
    (void)kit_sum(&kit, "C", "arr.0 -> sum", 0);
    (void)kit_see(&kit, "E", "^arr sum");
    EXPECT_IDLE(&kit);
    const struct value graph = introspection_graph(kit.sched);
    struct buf text = {0};
    json_write(&text, graph, JSON_AS_GIVEN, 0);
    EXPECT_CONTAINS(buf_text(&text), "\"shapeReads\":[\"space/arr#/value\"]");
    EXPECT_CONTAINS(buf_text(&text), "\"reads\":[\"space/sum#/value\"]");
    EXPECT_CONTAINS(buf_text(&text),
                    "{\"from\":\"n0\",\"to\":\"n1\",\"documents\":"
                    "[\"space/sum\"]}");
    buf_release(&text);
    value_unref(graph);
    kit_end(&kit);
}

static enum run_result count_items(struct run *run, struct kit_node *node)
{
    const struct value array = kit_input(run, node, 0);
    const int64_t count = value_is_array(array) ? array_count(array) : 0;
    value_unref(array);
    kit_note(node, value_int(count));
    if (node->write_count > 0) {
        kit_output_adopt(run, node, 0, value_int(count));
    }
    return RUN_DONE;
}

TEST(pull_33_the_length_of_an_array)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "arr", "[1,2,3]");
    struct kit_node *e = kit_effect(&kit, "E", "^arr", count_items, 0);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "arr", "[1,2,3,4,5]");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "3 5");
    kit_set(&kit, "arr", "[5,4,3,2,1]");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "3 5");
    kit_end(&kit);
}

/* The names of the items that are not hidden. */
static enum run_result filter_items(struct run *run, struct kit_node *node)
{
    const struct value array = kit_input(run, node, 0);
    struct value shown = value_empty_array();
    struct array_iter iter = array_iter(array);
    struct value item;
    while (array_next(&iter, &item)) {
        if (value_is_absent(object_field(item, "hidden"))) {
            shown =
                array_push_adopt(shown, value_ref(object_field(item, "name")));
        }
    }
    value_unref(array);
    kit_output_adopt(run, node, 0, shown);
    return RUN_DONE;
}

TEST(pull_34_a_filter)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "list", "[{'name':'item1'},{'name':'item2','hidden':1}]");
    struct kit_node *c =
        kit_computation(&kit, "C", "list -> out", filter_items, 0);
    EXPECT_TEXT(kit_pull(&kit, "out"), "['item1']");
    kit_set(&kit, "list.2", "{'name':'item3'}");
    EXPECT_TEXT(kit_pull(&kit, "out"), "['item1','item3']");
    EXPECT_EQ(c->runs, 2);
    kit_end(&kit);
}

TEST(pull_35_a_map_with_a_standing_reader)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "list", "[{'name':'A'},{'name':'B'}]");
    (void)kit_computation(&kit, "C", "list -> out", filter_items, 0);
    struct kit_node *e = kit_see(&kit, "E", "out");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "list.2", "{'name':'C'}");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "['A','B'] ['A','B','C']");
    kit_end(&kit);
}

TEST(pull_36_a_count_that_grows)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "list", "[{}]");
    (void)kit_computation(&kit, "C", "list -> n", count_items, 0);
    struct kit_node *e = kit_see(&kit, "E", "n");
    EXPECT_IDLE(&kit);
    for (int64_t i = 1; i < 4; i++) {
        char name[12] = "list.";
        name[5] = (char)('0' + i);
        kit_set(&kit, name, "{}");
        EXPECT_IDLE(&kit);
    }
    EXPECT_SEEN(e, "1 2 3 4");
    kit_end(&kit);
}

TEST(pull_38_what_is_registered_again_sees_what_was_missed)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "list", "[{'name':'x'}]");
    struct kit_node *c =
        kit_computation(&kit, "C", "list -> out", filter_items, 0);
    struct kit_node *e = kit_see(&kit, "E", "out");
    EXPECT_IDLE(&kit);
    kit_remove(e);
    kit_remove(c);
    kit_set(&kit, "list.1", "{'name':'y'}");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "out", "['x']");
    (void)kit_computation(&kit, "C", "list -> out", filter_items, 0);
    e = kit_see(&kit, "E", "out");
    EXPECT_TEXT(kit_pull(&kit, "out"), "['x','y']");
    EXPECT_SEEN(e, "['x','y']");
    kit_end(&kit);
}

TEST(pull_39_another_node_takes_the_document_over)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "list", "[{'name':'x'}]");
    struct kit_node *c =
        kit_computation(&kit, "C", "list -> out", filter_items, 0);
    struct kit_node *e = kit_see(&kit, "E", "out");
    EXPECT_IDLE(&kit);
    kit_remove(c);
    kit_set(&kit, "list.1", "{'name':'y'}");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "['x']");
    (void)kit_computation(&kit, "D", "list -> out", filter_items, 0);
    EXPECT_IDLE(&kit); /* without a pull */
    EXPECT_SEEN(e, "['x'] ['x','y']");
    kit_end(&kit);
}
