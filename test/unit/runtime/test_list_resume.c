/* Lists and restarts: list-6 of runtime/list.h. */

#include "lib/list_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "runtime/list.h"
#include "value/array.h"

static void begin(struct list_kit *kit,
                  enum list_kit_what what,
                  const char *json)
{
    list_kit_begin(kit, what);
    list_kit_start(kit);
    list_kit_set(kit, json);
    (void)list_kit_runs(kit);
}

/* Another process changes something while the piece is nobody's. */
static void meanwhile(struct list_kit *kit,
                      const char *id,
                      const char *pointer,
                      const char *json)
{
    list_kit_crash(kit);
    list_kit_put(kit, id, pointer, json);
    list_kit_crash(kit);
}

TEST(l6_a_clean_list_runs_nothing_after_a_restart)
{
    for (int what = LIST_KIT_MAP; what <= LIST_KIT_REDUCE; what++) {
        struct list_kit kit;
        begin(&kit, (enum list_kit_what)what, "[1,2,{'n':3},1]");
        const size_t nodes = list_kit_nodes(&kit);
        list_kit_crash(&kit);
        list_kit_start(&kit);
        EXPECT_EQ(kit.one->runtime.sched->counters.runs, 0);
        EXPECT_EQ(kit.piece->counts.restored, nodes);
        EXPECT_EQ(kit.piece->counts.unknown, 0);
        EXPECT_EQ(list_kit_nodes(&kit), nodes);
        /* And goes on. */
        list_kit_put(&kit, "piece:p/items", "/1", "5");
        EXPECT_EQ(list_kit_runs(&kit), what == LIST_KIT_REDUCE ? 4 : 1);
        list_kit_end(&kit);
    }
}

/* After moves, additions and deletions, too: the keys are in no order then. */
TEST(l6_a_list_with_a_past_runs_nothing_after_a_restart)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3,4]");
    list_kit_set(&kit, "[0,4,1,2,3]");
    list_kit_set(&kit, "[4,3,0,{'n':1}]");
    list_kit_set(&kit, "[9,8,4,{'n':1},3,0]");
    (void)list_kit_runs(&kit);
    list_kit_crash(&kit);
    list_kit_start(&kit);
    EXPECT_EQ(kit.one->runtime.sched->counters.runs, 0);
    EXPECT_EQ(list_kit_nodes(&kit), 8);
    list_kit_set(&kit, "[0,9,8,4,3,{'n':2}]");
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[0],[9],[8],[4],[3],[{'n':2}]]");
    list_kit_end(&kit);
}

/* A coordinator finds its rows in its documents, so it need not run for them to
 * be there; it runs when the list has changed. */
TEST(r35_pers_11_the_rows_of_a_collection_resume_and_follow_it)
{
    for (int down = 0; down < 2; down++) { /* the append comes meanwhile */
        struct list_kit kit;
        begin(&kit, LIST_KIT_MAP, "[{'n':1},{'n':2},{'n':3}]");
        EXPECT_EQ(list_kit_nodes(&kit), 5); /* with who looks */
        if (down == 1) {
            meanwhile(&kit, "piece:p/items", "/3", "{'n':4}");
        } else {
            list_kit_crash(&kit);
        }
        list_kit_start(&kit);
        const uint64_t *runs = &kit.one->runtime.sched->counters.runs;
        EXPECT_EQ(kit.piece->counts.restored, down == 1 ? 4 : 5);
        EXPECT_EQ(kit.piece->counts.dirty, down);
        EXPECT_EQ(kit.piece->counts.unknown, 0);
        if (down == 0) {
            EXPECT_EQ(*runs, 0);
            EXPECT_EQ(list_kit_nodes(&kit), 5);
            const uint64_t before = *runs;
            list_kit_put(&kit, "piece:p/items", "/1/n", "20");
            EXPECT_EQ(list_kit_runs(&kit), 1); /* one row, */
            EXPECT(*runs - before <= 3);       /* who looks, the coordinator */
            list_kit_put(&kit, "piece:p/items", "/1/n", "2");
            EXPECT_EQ(list_kit_runs(&kit), 1);
            list_kit_put(&kit, "piece:p/items", "/3", "{'n':4}");
        }
        EXPECT_EQ(list_kit_runs(&kit), 1); /* the new row only */
        EXPECT_EQ(list_kit_nodes(&kit), 6);
        EXPECT_SHOWN(&kit, "[[{'n':1}],[{'n':2}],[{'n':3}],[{'n':4}]]");
        list_kit_crash(&kit); /* and the new one is a row like the others */
        list_kit_start(&kit);
        EXPECT_EQ(kit.one->runtime.sched->counters.runs, 0);
        EXPECT_EQ(kit.piece->counts.restored, 6);
        list_kit_set(&kit, "[{'n':4}]");
        EXPECT_EQ(list_kit_runs(&kit), 0);
        EXPECT_EQ(list_kit_nodes(&kit), 3);
        EXPECT_SHOWN(&kit, "[[{'n':4}]]");
        list_kit_end(&kit);
    }
}

/* A child whose element was edited where it does not look is clean. */
TEST(l6_a_child_is_dirty_only_because_of_what_it_read)
{
    struct list_kit kit;
    list_kit_begin(&kit, LIST_KIT_MAP);
    kit.partial = true;
    list_kit_start(&kit);
    list_kit_set(&kit, "[{'n':1,'m':1},{'n':2}]");
    list_kit_put(&kit, "piece:p/items", "/0/m", "2");
    (void)list_kit_runs(&kit);
    list_kit_crash(&kit);
    list_kit_start(&kit);
    EXPECT_EQ(kit.one->runtime.sched->counters.runs, 0);
    list_kit_end(&kit);
}

TEST(l6_what_was_edited_meanwhile_runs_one_child)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    meanwhile(&kit, "piece:p/items", "/2", "30");
    list_kit_start(&kit);
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[1],[2],[30]]");
    list_kit_end(&kit);
}

/* list-1 holds across the restart: nothing was remembered but the documents. */
TEST(l6_what_was_moved_meanwhile_runs_nothing)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3,{'n':4},5]");
    meanwhile(&kit, "piece:p/items", "", "[5,0,{'n':4},2,1]");
    list_kit_start(&kit);
    EXPECT_EQ(list_kit_runs(&kit), 1);
    EXPECT_SHOWN(&kit, "[[5],[0],[{'n':4}],[2],[1]]");
    EXPECT_EQ(list_kit_nodes(&kit), 7);
    list_kit_end(&kit);
}

/* The output of a child of which nothing was looked at since the restart. */
TEST(l6_what_was_deleted_meanwhile_goes_with_its_output)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_FILTER, "[1,2,3]");
    meanwhile(&kit, "piece:p/items", "", "[2,3]");
    list_kit_start(&kit);
    EXPECT_EQ(list_kit_runs(&kit), 0);
    EXPECT_SHOWN(&kit, "[3]");
    list_kit_crash(&kit);
    const struct value gone = list_kit_document(&kit, "piece:p/out/0");
    EXPECT(value_is_absent(gone));
    value_unref(gone);
    list_kit_end(&kit);
}

/* Nobody has looked at the output of that child since the restart: it is not
 * here, and has to come before it can be deleted. */
TEST(l6_an_output_that_is_not_here_is_deleted_when_it_has_come)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    list_kit_crash(&kit);
    kit.blind = true;
    list_kit_start(&kit);
    list_kit_set(&kit, "[2,3]");
    for (int i = 0; i < 3; i++) { /* the first look asks for it */
        struct value value;
        (void)sched_pull(kit.one->runtime.sched,
                         kit.out,
                         world_now(kit.world),
                         &value);
        value_unref(value);
        list_kit_idle(&kit);
    }
    const struct value order = list_kit_document(&kit, "piece:p/out");
    EXPECT_EQ(array_count(order), 2);
    value_unref(order);
    list_kit_crash(&kit);
    const struct value gone = list_kit_document(&kit, "piece:p/out/0");
    EXPECT(value_is_absent(gone));
    value_unref(gone);
    list_kit_end(&kit);
}

TEST(l6_other_code_runs_all_children_and_no_more)
{
    struct list_kit kit;
    begin(&kit, LIST_KIT_MAP, "[1,2,3]");
    list_kit_crash(&kit);
    kit.digest = digest_of_bytes("test", "other", 5);
    list_kit_start(&kit);
    EXPECT_EQ(list_kit_runs(&kit), 3);
    EXPECT_EQ(kit.piece->counts.restored, 1); /* the coordinator */
    list_kit_end(&kit);
}

TEST(l6_without_a_fingerprint_children_run_again)
{
    struct list_kit kit;
    list_kit_begin(&kit, LIST_KIT_MAP);
    kit.forgets = true;
    list_kit_start(&kit);
    list_kit_set(&kit, "[1,2,3]");
    (void)list_kit_runs(&kit);
    list_kit_crash(&kit);
    list_kit_start(&kit);
    EXPECT_EQ(list_kit_runs(&kit), 3);
    EXPECT_SHOWN(&kit, "[[1],[2],[3]]");
    list_kit_end(&kit);
}

/* A process that ends between the commit of the list and the runs. */
TEST(l6_a_crash_in_the_middle_loses_nothing)
{
    for (int held = 0; held < 2; held++) {
        struct list_kit kit;
        begin(&kit, LIST_KIT_MAP, "[1,2,3]");
        for (unsigned steps = 0; steps < 6; steps++) {
            struct err_detail detail = {0};
            struct transaction *transaction =
                transaction_begin(&kit.one->runtime.replica, NULL);
            struct value list = from_quoted("[4,3,9]");
            list = array_push_adopt(list, value_int((int64_t)steps));
            EXPECT(
                transaction_put_adopt(transaction, kit.items, list, &detail) ==
                ERR_OK);
            EXPECT(transaction_commit(transaction, &detail) == ERR_OK);
            transaction_release(transaction);
            world_hold(kit.one, held == 1);
            for (unsigned i = 0; i < steps; i++) {
                (void)world_step(kit.one);
            }
            list_kit_crash(&kit);
            list_kit_start(&kit);
            const struct value items = list_kit_document(&kit, "piece:p/items");
            bool stale = false;
            const struct value shown =
                list_kit_read(&kit, NULL, kit.out, &stale);
            EXPECT_EQ(array_count(shown), array_count(items));
            for (uint32_t j = 0; j < array_count(items); j++) {
                EXPECT_VALUE(array_at(array_at(shown, j), 0),
                             array_at(items, j));
            }
            EXPECT_EQ(list_kit_nodes(&kit), 2 + array_count(items));
            value_unref(items);
            value_unref(shown);
        }
        list_kit_end(&kit);
    }
}

/* Somebody has broken the documents of the coordinator: it makes them anew. */
TEST(s2_documents_that_make_no_sense_are_made_anew)
{
    static const char *const broken[][3] = {
        {"piece:p/out", "", "[1,2,3]"},
        {"piece:p/out", "", "'nothing'"},
        {"piece:p/out/elements", "", "[]"},
        {"piece:p/out/elements", "/1", ""},
        {"piece:p/out", "/0", "{'/':{'link@1':{'id':'piece:p/out/1'}}}"},
        {"piece:p/out", "/0", "{'/':{'link@1':{'id':'piece:p/out/x'}}}"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct list_kit kit;
        begin(&kit, LIST_KIT_MAP, "[1,2,3]");
        if (i % 2 == 0) {
            meanwhile(&kit, broken[i][0], broken[i][1], broken[i][2]);
            list_kit_start(&kit);
        } else {
            list_kit_put(&kit, broken[i][0], broken[i][1], broken[i][2]);
        }
        list_kit_set(&kit, "[3,2,1,0]");
        EXPECT_SHOWN(&kit, "[[3],[2],[1],[0]]");
        EXPECT_EQ(list_kit_nodes(&kit), 6);
        list_kit_end(&kit);
    }
}

/* Two runtimes with the same piece: both have the children, and the same
 * documents. */
TEST(s4_two_runtimes_agree)
{
    struct list_kit kit;
    struct list_kit other;
    begin(&kit, LIST_KIT_MAP, "[1,2]");
    list_kit_begin(&other, LIST_KIT_MAP);
    struct world_runtime *own = other.one;
    struct err_detail detail = {0};
    const struct world_runtime_options options = {0};
    EXPECT(world_runtime_new(kit.store, &options, &other.one, &detail) ==
           ERR_OK);
    list_kit_start(&other);
    list_kit_set(&kit, "[2,3,1]");
    list_kit_idle(&other);
    list_kit_idle(&kit);
    list_kit_idle(&other);
    EXPECT_EQ(list_kit_nodes(&other), 5);
    EXPECT_SHOWN(&other, "[[2],[3],[1]]");
    list_kit_put(&other, "piece:p/items", "/1", "30");
    list_kit_idle(&kit);
    list_kit_idle(&other);
    EXPECT_SHOWN(&kit, "[[2],[30],[1]]");
    EXPECT_SHOWN(&other, "[[2],[30],[1]]");
    EXPECT_EQ(list_kit_nodes(&kit), 5);
    world_runtime_end(other.one);
    other.one = own;
    list_kit_end(&other);
    list_kit_end(&kit);
}
