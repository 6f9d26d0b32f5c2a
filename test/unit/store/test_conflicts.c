/* Reads and conflicts: what a confirmed read notices (scenarios F), and what a
 * pending one does (G). A refused commit leaves no trace: EXPECT_REFUSED looks
 * at every table. */

#include "store/conflict.h"

#include "lib/store_kit.h"
#include "lib/test.h"

/* -- Confirmed reads ----------------------------------------------------- */

TEST(f01_disjoint_keys_do_not_conflict)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit,
                  1,
                  "s1 1 | set A {'profile':{'name':'a'},"
                  "'settings':{'theme':'dark'}}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.settings.theme 'light'");
    EXPECT_LANDED(&kit,
                  3,
                  "s1 2 | conf A.profile.name @1 | replace A.profile.age 3");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale confirmed read",
                   "s1 3 | conf A.settings @1 | set B 1");
    EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
    EXPECT_TEXT(kit_read(&kit, "A"),
                "{'value':{'profile':{'age':3,'name':'a'},"
                "'settings':{'theme':'light'}}}");
    kit_close(&kit);
}

TEST(f02_a_conflict_says_what_was_read_and_what_overwrote_it)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set A 2");
    EXPECT_LANDED(&kit, 3, "s2 2 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale confirmed read: A at seq 1 conflicted with seq 2",
                   "s1 2 | conf A @1 | set A 3");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'error':{'by':'s2','class':'retry','conflictSeq':2,'id':'A',"
                "'message':'stale confirmed read: A at seq 1 conflicted with "
                "seq 2','name':'CONFLICT','path':'/value','readSeq':1,"
                "'retryAfterSeq':3}}");
    kit_close(&kit);
}

TEST(f04_a_shape_read_sees_keys_and_not_values)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s2 1 | add A.y 1");
    EXPECT_LANDED(&kit, 3, "s2 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 4, "s1 2 | shape conf A @2 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 3",
                   "s1 3 | conf A @2 | set B 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 3 | shape conf A @1 | set B 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 3",
                   "s1 3 | shape conf A.x @2 | set B 2");
    kit_close(&kit);
}

TEST(a_read_of_a_range_sees_the_entries_inside_and_no_others)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'o':{'a':1,'c':1,'e':1}}");
    EXPECT_LANDED(&kit, 2, "s2 1 | add A.o.aa 1 | remove A.o.e");
    EXPECT_LANDED(&kit, 3, "s1 2 | conf A.o.\\u001frange1,bd @1 | set B 1");
    EXPECT_LANDED(&kit, 4, "s2 2 | add A.o.d 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 4",
                   "s1 3 | conf A.o.\\u001frange1,bd @1 | set B 2");
    EXPECT_LANDED(&kit, 5, "s1 3 | conf A.o.\\u001frange1,be @4 | set B 2");
    EXPECT_LANDED(&kit, 6, "s2 3 | remove A.o.c");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 6",
                   "s1 4 | conf A.o.\\u001frange1;b @4 | set B 3");
    EXPECT_LANDED(&kit, 7, "s1 4 | conf A.o.\\u001frange1;d @4 | set B 3");
    EXPECT_LANDED(&kit, 8, "s2 4 | replace A.o {'z':1}");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 8",
                   "s1 5 | conf A.o.\\u001frange1,xy @7 | set B 4");
    kit_close(&kit);
}

TEST(a_replace_that_creates_a_key_is_seen_by_a_shape_read)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.y 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 2 | shape conf A @1 | set B 2");
    EXPECT_LANDED(&kit, 3, "s2 2 | append A.list [1]");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 3",
                   "s1 2 | shape conf A @2 | set B 2");
    EXPECT_LANDED(&kit, 4, "s2 3 | append A.list [2]");
    EXPECT_LANDED(&kit, 5, "s1 2 | shape conf A @3 | set B 2");
    kit_close(&kit);
}

TEST(f05_a_move_or_a_splice_in_an_array_is_seen_by_shape_reads_of_it)
{
    static const char *const changes[] = {
        "s2 1 | patch A [{'op':'move','from':'/value/list/0',"
        "'path':'/value/list/2'}]",
        "s2 1 | patch A [{'op':'splice','path':'/value/list','index':0,"
        "'remove':1,'add':[]}]",
        "s2 1 | add A.list.0 9",
        "s2 1 | remove A.list.1",
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A {'list':[1,2,3],'x':0}");
        EXPECT_LANDED(&kit, 2, changes[i]);
        EXPECT_REFUSED(&kit,
                       ERR_CONFLICT,
                       "conflicted with seq 2",
                       "s1 2 | shape conf A.list @1 | set B 1");
        EXPECT_REFUSED(&kit,
                       ERR_CONFLICT,
                       "conflicted with seq 2",
                       "s1 2 | conf A @1 | set B 1");
        EXPECT_LANDED(&kit, 3, "s1 2 | conf A.x @1 | set B 1");
        kit_close(&kit);
    }
}

/* A write that read nothing but the shape of its parent. */
static void blind_write(struct store_kit *kit, const char *change)
{
    kit_open_memory(kit, NULL);
    EXPECT_LANDED(kit, 1, "s1 1 | set A {'a':{'b':1}}");
    EXPECT_LANDED(kit, 2, change);
}

TEST(f09_a_blind_leaf_write_needs_its_parent_and_not_its_leaf)
{
    static const char *const write =
        "s1 2 | shape conf A.a @1 | replace A.a.b 7";
    struct store_kit kit;
    blind_write(&kit, "s2 1 | replace A.a 5");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "conflicted with seq 2", write);
    /* With the read at the root nothing stale was read: the patch itself does
     * not apply, which no retry would mend. */
    EXPECT_REFUSED(&kit,
                   ERR_PATCH_TRAVERSAL,
                   "",
                   "s1 2 | shape conf A! @1 | replace A.a.b 7");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'a':5}}");
    kit_close(&kit);

    blind_write(&kit, "s2 1 | replace A.a.b 5");
    EXPECT_LANDED(&kit, 3, write);
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'a':{'b':7}}}");
    kit_close(&kit);
}

TEST(f10_a_read_on_an_unknown_branch_is_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_REFUSED(&kit,
                   ERR_BRANCH_UNKNOWN,
                   "unknown branch in a read: nope",
                   "s1 1 | conf A @0 on nope | set A 1");
    kit_close(&kit);
}

TEST(f12_a_read_below_an_array_index_sees_a_splice_of_the_array)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'rows':[{'n':1},{'n':2},{'n':3}]}");
    EXPECT_LANDED(&kit,
                  2,
                  "s2 1 | patch A [{'op':'splice','path':'/value/rows',"
                  "'index':0,'remove':1,'add':[]}]");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 2 | conf A.rows.1.n @1 | set B 1");
    /* Elements behind an index that was removed have moved, too. */
    EXPECT_LANDED(&kit, 3, "s2 2 | remove A.rows.0");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 3",
                   "s1 2 | conf A.rows.1.n @2 | set B 1");
    kit_close(&kit);
}

TEST(a_set_or_a_delete_is_seen_by_every_read_of_its_document)
{
    static const char *const changes[] = {"s2 1 | set A {'x':1,'y':2}",
                                          "s2 1 | delete A"};
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':2} | set C 1");
        EXPECT_LANDED(&kit, 2, changes[i]);
        EXPECT_REFUSED(&kit,
                       ERR_CONFLICT,
                       "",
                       "s1 2 | conf A.nowhere @1 | set B 1");
        EXPECT_REFUSED(&kit,
                       ERR_CONFLICT,
                       "",
                       "s1 2 | shape conf A.x @1 | set B 1");
        EXPECT_LANDED(&kit, 3, "s1 2 | conf C @1 | conf A @2 | set B 1");
        kit_close(&kit);
    }
}

TEST(a_read_of_nothing_conflicts_with_the_document_that_came)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | conf A @0 | set A 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "A at seq 0 conflicted with seq 1",
                   "s2 1 | conf A @0 | set A 2");
    EXPECT_LANDED(&kit, 2, "s1 2 | add N.x 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "N at seq 0 conflicted with seq 2",
                   "s2 1 | conf N.x.y @0 | set A 2");
    kit_close(&kit);
}

TEST(own_commits_are_not_special_for_confirmed_reads)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 3 | conf A.x @1 | replace A.x 3");
    kit_close(&kit);
}

TEST(a_read_beyond_the_head_is_a_protocol_error)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_REFUSED(&kit,
                   ERR_PROTOCOL,
                   "seq 2 is beyond the head 1",
                   "s1 2 | conf A @2 | set A 2");
    EXPECT_REFUSED(&kit,
                   ERR_PROTOCOL,
                   "is beyond the head 1",
                   "s1 2 | conf A @9223372036854775807 | set A 2");
    kit_close(&kit);
}

/* -- Pending reads ------------------------------------------------------- */

TEST(g01_a_pending_read_lands_and_tells_where_its_layers_did)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'foo':0,'bar':0}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.foo 1");
    EXPECT_LANDED(&kit, 3, "s1 3 | pend A.foo [2] b=1 | set B 1");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'resolvedPendingReads':[{'localSeq':2,'seq':2}],'seq':3}");
    EXPECT_TEXT(kit_sql(&kit, "SELECT resolution FROM 'commit' WHERE seq = 3"),
                "[[2,2]];");
    kit_close(&kit);
}

TEST(resolved_layers_are_told_once_and_in_order)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 3 | set B {'x':0}");
    EXPECT_LANDED(&kit, 2, "s1 4 | set C {'x':0}");
    EXPECT_LANDED(&kit, 3, "s1 5 | set A {'x':0}");
    EXPECT_LANDED(&kit,
                  4,
                  "s1 6 | pend A.x [5] b=0 | pend B.x [3] b=0 | "
                  "pend C.x [3,4,5] b=0 | set D 1");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'resolvedPendingReads':[{'localSeq':3,'seq':1},"
                "{'localSeq':4,'seq':2},{'localSeq':5,'seq':3}],'seq':4}");
    kit_close(&kit);
}

TEST(layers_that_landed_in_another_order_are_not_what_the_reader_saw)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 2 | set A {'x':2}");
    EXPECT_LANDED(&kit, 2, "s1 1 | set A {'x':1}");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale pending read",
                   "s1 3 | pend A.x [1,2] b=0 | set B 1");
    EXPECT_LANDED(&kit, 3, "s1 3 | conf A.x @2 | set B 1");
    kit_close(&kit);
}

TEST(g02_a_pending_read_conflicts_with_what_its_layers_did_not_see)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'foo':0,'bar':0}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.foo 1");
    EXPECT_LANDED(&kit, 3, "s1 3 | pend A.foo [2] b=1 | set B 1");
    EXPECT_LANDED(&kit, 4, "s2 1 | replace A.bar 9");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale pending read: A via localSeq 2 conflicted with "
                   "seq 4",
                   "s1 4 | pend A.bar [2] b=1 | set B 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "pending dependency not resolved: 99",
                   "s1 5 | pend A [99] b=1 | set B 2");
    kit_close(&kit);
}

TEST(g03_a_pending_read_without_a_basis_is_a_protocol_error)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_REFUSED(&kit,
                   ERR_PROTOCOL,
                   "reads.pending[0].basisSeq",
                   "s1 2 | json 'reads':{'pending':[{'id':'A','path':[],"
                   "'localSeq':[1]}]} | set B 1");
    kit_close(&kit);
}

TEST(g04_layers_are_a_list_of_whole_numbers_that_is_not_empty)
{
    static const char *const layers[] =
        {"[]", "[1.5]", "1", "null", "['1']", "[-1]", "[2,1]", "[1,1]", "{}"};
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    for (size_t i = 0; i < COUNT_OF(layers); i++) {
        struct buf commit = {0};
        buf_printf(&commit, "s1 3 | pend A %s b=0 | set B 1", layers[i]);
        EXPECT_REFUSED(&kit,
                       ERR_PROTOCOL,
                       "reads.pending[0].localSeq",
                       buf_text(&commit));
        buf_release(&commit);
    }
    kit_close(&kit);
}

TEST(g05_a_rejected_layer_is_never_resolved)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'list':[],'x':0}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "",
                   "s1 10 | conf A.x @1 | append A.list [10]");
    EXPECT_LANDED(&kit, 3, "s1 11 | append A.list [11]");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "pending dependency not resolved: 10",
                   "s1 12 | pend A.list [10,11] b=2 | set B 1");
    /* A reader that knows of the rejection names only what is in its view. */
    EXPECT_LANDED(&kit, 4, "s1 13 | pend A.list [11] b=2 | set B 1");
    kit_close(&kit);
}

/* Own x=1, foreign x=2, own y=9. */
static void open_g06(struct store_kit *kit)
{
    kit_open_memory(kit, NULL);
    EXPECT_LANDED(kit, 1, "s1 1 | set A {'x':1,'y':0}");
    EXPECT_LANDED(kit, 2, "s2 1 | replace A.x 2");
    EXPECT_LANDED(kit, 3, "s1 2 | replace A.y 9");
}

TEST(g06_a_foreign_write_between_own_layers_is_not_missed)
{
    struct store_kit kit;
    open_g06(&kit);
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 3 | pend A.x [1,2] b=0 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 3 | conf A.x @1 | set B 1");
    kit_close(&kit);
}

TEST(g07_own_named_layers_do_not_conflict_with_their_reader)
{
    struct store_kit kit;
    open_g06(&kit);
    EXPECT_LANDED(&kit, 4, "s1 3 | pend A.y [1,2] b=0 | set B 1");
    EXPECT_LANDED(&kit, 5, "s1 4 | pend A.x [1,2] b=2 | set B 2");
    kit_close(&kit);
}

TEST(g08_an_own_write_that_is_not_named_counts_as_foreign)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 10 | replace A.x 10");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 5 | pend A.x [1] b=0 | set B 1");
    kit_close(&kit);
}

TEST(a_named_number_of_another_session_is_not_excluded)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s2 2 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 2 | pend A.x [1] b=0 | set C 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "pending dependency not resolved: 2",
                   "s1 3 | pend A.x [2] b=0 | set C 1");
    kit_close(&kit);
}

TEST(g09_a_basis_is_a_seq_that_the_store_has)
{
    static const struct {
        const char *basis;
        const char *part;
    } rows[] = {
        {"-1", "basisSeq"},
        {"1.5", "basisSeq"},
        {"'1'", "basisSeq"},
        {"null", "basisSeq"},
        {"2", "basisSeq 2 is beyond the head 1"},
        {"9223372036854775807", "is beyond the head 1"},
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf commit = {0};
        buf_printf(&commit, "s1 2 | pend A [1] b=%s | set B 1", rows[i].basis);
        EXPECT_REFUSED(&kit, ERR_PROTOCOL, rows[i].part, buf_text(&commit));
        buf_release(&commit);
    }
    EXPECT_LANDED(&kit, 2, "s1 2 | pend A [1] b=1 | set B 1");
    kit_close(&kit);
}

TEST(a_pending_shape_read_follows_the_same_rules)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 2 | shape pend A [1] b=0 | set B 1");
    EXPECT_LANDED(&kit, 4, "s2 2 | add A.y 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale pending read",
                   "s1 3 | shape pend A [1] b=0 | set B 2");
    kit_close(&kit);
}

/* What the layer appended is at another index when somebody else made the list
 * longer before it landed; an element that was only edited moves nothing. */
TEST(a_pending_read_behind_an_append_conflicts_with_another_length)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'list':['a','b']}");
    EXPECT_LANDED(&kit, 2, "s2 1 | increment A.list.2 1");
    EXPECT_LANDED(&kit, 3, "s1 2 | append A.list ['x','y']");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale pending read: A via localSeq 2 conflicted with "
                   "seq 2",
                   "s1 3 | pend A.list.4 [2] b=1 | set B 1");
    EXPECT_LANDED(&kit, 4, "s2 2 | replace A.list.0 'c'");
    EXPECT_LANDED(&kit, 5, "s1 4 | append A.list ['z']");
    EXPECT_LANDED(&kit, 6, "s1 5 | pend A.list.5 [4] b=3 | set B 1");
    kit_close(&kit);
}

TEST(a_pending_read_behind_an_add_unique_conflicts_with_an_equal_value)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'list':['a','b']}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.list.0 'x'");
    EXPECT_LANDED(&kit, 3, "s1 2 | add-unique A.list ['x']");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale pending read: A via localSeq 2 conflicted with "
                   "seq 2",
                   "s1 3 | pend A.list.2 [2] b=1 | set B 1");
    kit_close(&kit);
}

TEST(the_first_stale_read_in_the_order_of_the_commit_is_reported)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1 | set B 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set B 2");
    EXPECT_LANDED(&kit, 3, "s2 2 | set A 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale confirmed read: B",
                   "s1 2 | conf B @1 | conf A @1 | set C 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale confirmed read: A",
                   "s1 2 | pend B [1] b=0 | conf A @1 | set C 1");
    kit_close(&kit);
}
