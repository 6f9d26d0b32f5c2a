/* Lists: what runs when elements are edited, moved, added, removed, and what
 * comes out; rule by rule (runtime/list.h). */

#include "runtime/list.h"

#include "lib/list_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/object.h"

static void begin(struct list_kit *kit,
                  enum list_kit_what what,
                  const char *json)
{
    list_kit_begin(kit, what);
    list_kit_start(kit);
    list_kit_set(kit, json);
    (void)list_kit_runs(kit);
}

/* -- Map: list-1, list-2 ------------------------------------------------- */

TEST(a_map_has_one_child_an_element)
{
    struct list_kit kit;
    list_kit_begin(&kit, LIST_KIT_MAP);
    list_kit_start(&kit);
    EXPECT_SHOWN(&kit, "[]");
    EXPECT_EQ(list_kit_nodes(&kit), 2);
    list_kit_set(&kit, "[1,'b',{'n':3},null]");
    EXPECT_SHOWN(&kit, "[[1],['b'],[{'n':3}],[null]]");
    EXPECT_EQ(list_kit_runs(&kit), 4);
    EXPECT_EQ(list_kit_nodes(&kit), 6);
    EXPECT_EQ(kit.one->runtime.sched->counters.surface_violations, 0);
    list_kit_end(&kit);
}

TEST(l2_an_edit_runs_one_child)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3,{'n':4}]");
    list_kit_put(&kit, "piece:p/items", "/1", "20");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[1],[20],[3],[{'n':4}]]");
    list_kit_put(&kit, "piece:p/items", "/3/n", "5");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[1],[20],[3],[{'n':5}]]");
    list_kit_end(&kit);
}

/* The links stay: the outputs of the others and the list are left alone. */
TEST(l4_an_edit_changes_one_output_and_nothing_else)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    const struct value before = list_kit_document(&kit, "piece:p/out");
    list_kit_put(&kit, "piece:p/items", "/1", "20");
    const struct value after = list_kit_document(&kit, "piece:p/out");
    EXPECT(value_is_same(before, after));
    const struct value output = list_kit_document(&kit, "piece:p/out/1");
    EXPECT_QUOTED(output, "[20]");
    value_unref(before);
    value_unref(after);
    value_unref(output);
    list_kit_end(&kit);
}

TEST(l2_moves_run_nothing)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3,{'n':4},5]");
    list_kit_set(&kit, "[5,2,3,{'n':4},1]"); /* a swap */
    EXPECT_SHOWN(&kit, "[[5],[2],[3],[{'n':4}],[1]]");
    list_kit_set(&kit, "[{'n':4},1,5,2,3]"); /* a rotation */
    EXPECT_SHOWN(&kit, "[[{'n':4}],[1],[5],[2],[3]]");
    list_kit_set(&kit, "[1,2,3,{'n':4},5]"); /* sorted */
    EXPECT_SHOWN(&kit, "[[1],[2],[3],[{'n':4}],[5]]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    EXPECT_EQ(list_kit_nodes(&kit), 7);
    list_kit_end(&kit);
}

TEST(l2_an_insertion_runs_what_is_new)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    list_kit_set(&kit, "[0,1,2,3]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[0],[1],[2],[3]]");
    list_kit_set(&kit, "[0,1,7,8,2,3,9]");
    EXPECT_EQ(list_kit_runs(&kit), 3);
    EXPECT_SHOWN(&kit, "[[0],[1],[7],[8],[2],[3],[9]]");
    list_kit_end(&kit);
}

TEST(l2_a_deletion_takes_the_child_and_its_output_away)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    list_kit_set(&kit, "[1,3]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    EXPECT_EQ(list_kit_nodes(&kit), 4);
    EXPECT_SHOWN(&kit, "[[1],[3]]");
    struct value gone = list_kit_document(&kit, "piece:p/out/1");
    EXPECT(value_is_absent(gone));
    const struct value elements =
        list_kit_document(&kit, "piece:p/out/elements");
    EXPECT_QUOTED(elements, "{'0':1,'2':3}");
    value_unref(elements);
    EXPECT_EQ(kit.one->runtime.sched->counters.surface_violations, 0);
    list_kit_set(&kit, "");
    EXPECT_SHOWN(&kit, "[]");
    EXPECT_EQ(list_kit_nodes(&kit), 2);
    gone = list_kit_document(&kit, "piece:p/out/0");
    EXPECT(value_is_absent(gone));
    list_kit_end(&kit);
}

/* keyed-list-1 of runtime/keyed_list.h. */
TEST(s1_a_key_is_used_again)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    list_kit_set(&kit, "[1,3]");
    list_kit_set(&kit, "[1,3,4,5]");
    EXPECT_EQ(list_kit_runs(&kit), 2);
    EXPECT_SHOWN(&kit, "[[1],[3],[4],[5]]");
    const struct value elements =
        list_kit_document(&kit, "piece:p/out/elements");
    EXPECT_EQ(object_count(elements), 4);
    const struct value four = object_field(elements, "1");
    EXPECT_INT(value_integer(four), 4);
    value_unref(elements);
    list_kit_end(&kit);
}

TEST(l1_equal_elements_have_a_child_each)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[7,7,7]");
    EXPECT_EQ(list_kit_nodes(&kit), 5);
    list_kit_put(&kit, "piece:p/items", "/1", "8");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[7],[8],[7]]");
    list_kit_set(&kit, "[7,7,8]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    list_kit_set(&kit, "[7,7,8,7]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[7],[7],[8],[7]]");
    list_kit_end(&kit);
}

/* Moved and edited in one transaction: the others are known by their values,
 * and what is left is the one that was edited. */
TEST(l1_what_is_left_over_is_an_edit)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3,4]");
    struct value before = list_kit_document(&kit, "piece:p/out");
    list_kit_set(&kit, "[4,1,30,2]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[4],[1],[30],[2]]");
    struct value after = list_kit_document(&kit, "piece:p/out");
    EXPECT_VALUE(array_at(after, 2), array_at(before, 2));
    value_unref(before);
    before = after;
    /* One is deleted, the last is edited: it keeps its child. */
    list_kit_set(&kit, "[1,30,20]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[1],[30],[20]]");
    after = list_kit_document(&kit, "piece:p/out");
    EXPECT_VALUE(array_at(after, 2), array_at(before, 3));
    value_unref(before);
    value_unref(after);
    list_kit_end(&kit);
}

/* -- Links --------------------------------------------------------------- */

#define LINK_A "{'/':{'link@1':{'id':'doc:a'}}}"
#define LINK_B "{'/':{'link@1':{'id':'doc:b'}}}"

TEST(l1_links_are_known_by_their_targets)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[]");
    list_kit_put(&kit, "doc:a", "", "{'n':1}");
    list_kit_put(&kit, "doc:b", "", "{'n':1}");
    list_kit_set(&kit, "[" LINK_A "," LINK_B "]");
    EXPECT_EQ(list_kit_runs(&kit), 2);
    EXPECT_SHOWN(&kit, "[[{'n':1}],[{'n':1}]]");
    list_kit_put(&kit, "doc:b", "/n", "2"); /* the list does not change */
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[{'n':1}],[{'n':2}]]");
    list_kit_set(&kit, "[" LINK_B "," LINK_A "]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    EXPECT_SHOWN(&kit, "[[{'n':2}],[{'n':1}]]");
    list_kit_set(&kit, "[" LINK_B "]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    list_kit_put(&kit, "doc:a", "/n", "3"); /* nobody is there any more */
    EXPECT_EQ(list_kit_runs(&kit), 0);
    list_kit_end(&kit);
}

/* A link that does not say in which document it points means the one that it
 * is in; the copy of an element must mean the same. */
TEST(l3_a_link_into_its_own_document_means_that_document)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[]");
    list_kit_put(&kit,
                 "doc:a",
                 "",
                 "{'list':[{'/':{'link@1':"
                 "{'path':['value','x']}}}],'x':5}");
    list_kit_set(&kit,
                 "{'/':{'link@1':{'id':'doc:a',"
                 "'path':['value','list']}}}");
    EXPECT_SHOWN(&kit, "[[5]]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    list_kit_put(&kit, "doc:a", "/x", "6");
    EXPECT_SHOWN(&kit, "[[6]]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    list_kit_end(&kit);
}

/* The place of the list leads to another list: by their values, the elements
 * are the same. */
TEST(l1_another_list_behind_the_same_link)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[]");
    list_kit_put(&kit, "doc:a", "", "[1,2]");
    list_kit_put(&kit, "doc:b", "", "[2,1,3]");
    list_kit_set(&kit, LINK_A);
    EXPECT_EQ(list_kit_runs(&kit), 2);
    list_kit_set(&kit, LINK_B);
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[2],[1],[3]]");
    list_kit_put(&kit, "doc:a", "/0", "9");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    list_kit_end(&kit);
}

/* -- list-3, list-5, list-7 ---------------------------------------------- */

TEST(l3_a_child_sees_what_it_has_read_of_its_element)
{
    struct list_kit kit;
    list_kit_begin(&kit, LIST_KIT_MAP);
    kit.partial = true;
    list_kit_start(&kit);
    list_kit_set(&kit, "[{'n':1,'m':1},{'n':2}]");
    EXPECT_SHOWN(&kit, "[[1],[2]]");
    (void)list_kit_runs(&kit);
    list_kit_put(&kit, "piece:p/items", "/0/m", "2");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    list_kit_put(&kit, "piece:p/items", "/0/n", "5");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[5],[2]]");
    list_kit_end(&kit);
}

TEST(l5_nothing_runs_without_somebody_who_looks)
{
    struct list_kit kit;
    list_kit_begin(&kit, LIST_KIT_MAP);
    kit.blind = true;
    list_kit_start(&kit);
    list_kit_set(&kit, "[1,2,3]");
    EXPECT_EQ(kit.one->runtime.sched->counters.runs, 0);
    /* Who wants to know how many there are wants no more. */
    struct value value;
    EXPECT(sched_pull(kit.one->runtime.sched,
                      kit.out,
                      world_now(kit.world),
                      &value) == ERR_OK);
    EXPECT_EQ(array_count(value), 3);
    EXPECT_EQ(list_kit_runs(&kit), 0);
    value_unref(value);
    /* And who wants one wants one. */
    struct entity *entity;
    const struct value id = value_text_new("piece:p/out/1");
    EXPECT(entity_of(kit.one->runtime.spaces.at[0],
                     SCOPE_SPACE,
                     id,
                     &entity,
                     NULL) == ERR_OK);
    value_unref(id);
    struct place *output = place_payload(entity);
    EXPECT(sched_pull(kit.one->runtime.sched,
                      output,
                      world_now(kit.world),
                      &value) == ERR_OK);
    EXPECT_QUOTED(value, "[2]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    value_unref(value);
    /* What has moved since is still what it was: the coordinator comes first,
     * and there is nothing to run. */
    list_kit_set(&kit, "[3,2,1]");
    EXPECT(sched_pull(kit.one->runtime.sched,
                      output,
                      world_now(kit.world),
                      &value) == ERR_OK);
    EXPECT_QUOTED(value, "[2]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    value_unref(value);
    place_unref(output);
    list_kit_end(&kit);
}

TEST(l7_nothing_is_an_empty_list_and_what_is_no_list_is_an_error)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2]");
    list_kit_set(&kit, "null");
    EXPECT_SHOWN(&kit, "[]");
    EXPECT_EQ(kit.errors, 0);
    list_kit_set(&kit, "[1]");
    list_kit_set(&kit, "{'a':1}");
    EXPECT_EQ(kit.errors, 1);
    EXPECT_SHOWN(&kit, "[[1]]"); /* as it was */
    list_kit_set(&kit, "[1,4]");
    EXPECT_SHOWN(&kit, "[[1],[4]]");
    list_kit_end(&kit);
}

/* CORE-28: a window of five over twenty elements moves, again and again. */
TEST(core_28_children_of_a_window_that_moves_are_not_kept)
{
    static const char *const windows[2] = {"[0,1,2,3,4]", "[5,6,7,8,9]"};
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, windows[0]);
    list_kit_set(&kit, windows[1]);
    list_kit_set(&kit, windows[0]);
    const size_t nodes = list_kit_nodes(&kit);
    EXPECT_EQ(nodes, 7);
    for (unsigned i = 1; i <= 8; i++) {
        list_kit_set(&kit, windows[i % 2]);
        EXPECT_EQ(list_kit_nodes(&kit), nodes);
    }
    EXPECT_SHOWN(&kit, "[[0],[1],[2],[3],[4]]");
    list_kit_end(&kit);
}

/* -- Filter, flat map, reduce -------------------------------------------- */

TEST(a_filter_gives_the_elements_that_were_accepted)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_FILTER, "[1,2,3,{'n':5,'x':1},4]");
    EXPECT_SHOWN(&kit, "[1,3,{'n':5,'x':1}]");
    const uint64_t looks = kit.looks;
    list_kit_put(&kit, "piece:p/items", "/3/x", "2");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[1,3,{'n':5,'x':2}]"); /* through the link */
    list_kit_put(&kit, "piece:p/items", "/1", "7");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[1,7,3,{'n':5,'x':2}]");
    list_kit_set(&kit, "[4,3,7,1]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    EXPECT_SHOWN(&kit, "[3,7,1]");
    EXPECT(kit.looks > looks);
    list_kit_end(&kit);
}

/* PULL-34 and PULL-35, with a child an element: what is appended runs, and
 * nothing else. */
TEST(pull_34_a_filter_sees_what_is_appended)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_FILTER, "[{'n':1},{'n':2}]");
    EXPECT_SHOWN(&kit, "[{'n':1}]");
    list_kit_set(&kit, "[{'n':1},{'n':2},{'n':3}]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[{'n':1},{'n':3}]");
    list_kit_end(&kit);
}

TEST(pull_35_a_map_sees_what_is_appended)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "['a','b']");
    const uint64_t looks = kit.looks;
    list_kit_set(&kit, "['a','b','c']");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_EQ(kit.looks, looks + 1);
    EXPECT_SHOWN(&kit, "[['a'],['b'],['c']]");
    list_kit_end(&kit);
}

/* One that stays rejected, or accepted, runs nobody but its child. */
TEST(a_filter_does_not_go_over_the_list_for_an_edit_that_changes_no_answer)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_FILTER, "[1,2,3]");
    const uint64_t runs = kit.one->runtime.sched->counters.runs;
    list_kit_put(&kit, "piece:p/items", "/1", "4");
    EXPECT_EQ(kit.one->runtime.sched->counters.runs - runs, 2);
    list_kit_end(&kit);
}

TEST(a_flat_map_is_the_arrays_one_after_the_other)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_FLAT_MAP, "[1,2,3]");
    EXPECT_SHOWN(&kit, "[1,2,2,3]");
    list_kit_put(&kit, "piece:p/items", "/0", "4");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[4,4,2,2,3]");
    list_kit_set(&kit, "[3,4]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    EXPECT_SHOWN(&kit, "[3,4,4]");
    list_kit_end(&kit);
}

TEST(a_reduction_goes_over_the_list)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_REDUCE, "[1,2,3]");
    EXPECT_SHOWN(&kit, "4");
    list_kit_put(&kit, "doc:a", "", "{'n':11}");
    list_kit_set(&kit, "[1,2,3," LINK_A "]");
    EXPECT_SHOWN(&kit, "15");
    list_kit_put(&kit, "doc:a", "/n", "13");
    EXPECT_SHOWN(&kit, "17");
    list_kit_set(&kit, "7");
    EXPECT_EQ(kit.errors, 1);
    list_kit_set(&kit, "");
    EXPECT_SHOWN(&kit, "0");
    list_kit_end(&kit);
}

/* -- The piece ----------------------------------------------------------- */

TEST(a_piece_that_is_stopped_has_no_children_left)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_FILTER, "[1,2,3]");
    piece_stop(kit.piece);
    EXPECT_EQ(list_kit_nodes(&kit), 0);
    list_kit_set(&kit, "[5]");
    EXPECT_EQ(list_kit_runs(&kit), 0);
    list_kit_end(&kit);
}

TEST(a_piece_that_is_removed_takes_the_documents_of_its_children_with_it)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    list_kit_crash(&kit);
    list_kit_start(&kit);
    piece_remove(kit.piece);
    list_kit_idle(&kit);
    const char *const ids[] = {"piece:p/out",
                               "piece:p/out/elements",
                               "piece:p/out/0",
                               "piece:p/out/2"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const struct value left = list_kit_document(&kit, ids[i]);
        EXPECT(value_is_absent(left));
        value_unref(left);
    }
    list_kit_end(&kit);
}
