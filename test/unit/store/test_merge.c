/* Merging branches: three states of each document, one ordinary commit. */

#include "store/merge.h"

#include <stdio.h>

#include "lib/store_kit.h"
#include "lib/test.h"
#include "value/array.h"
#include "value/json.h"

/* The conflicts of a merge, as JSON with ' for "; "" if it landed. */
static const char *merge(struct store_kit *kit,
                         const char *source,
                         const char *target,
                         uint64_t local_seq)
{
    static char text[512];
    const struct merge_request request = {
        .source = value_text_new(source),
        .target = value_text_new(target),
        .session = value_text_new("merger"),
        .local_seq = local_seq,
    };
    struct commit commit;
    struct value conflicts = VALUE_NONE;
    struct err_detail detail = {0};
    struct buf out = {0};
    const enum err err =
        engine_merge(&kit->engine, &request, &commit, &conflicts, &detail);
    if (err != ERR_OK) {
        buf_append_text(&out, err_name(err));
    } else if (array_count(conflicts) > 0) {
        json_write(&out, conflicts, JSON_CANONICAL, 0);
    } else if (commit.ops.count == 0) {
        buf_append_text(&out, "nothing");
    } else {
        struct engine_request land = {.commit = &commit};
        EXPECT_EQ(engine_commit(&kit->engine, &land, 1, &detail), ERR_OK);
        buf_append_text(
            &out,
            land.verdict.err == ERR_OK ? "" : err_name(land.verdict.err));
        verdict_release(&land.verdict);
    }
    (void)snprintf(text, sizeof text, "%s", buf_text(&out));
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '"') {
            *at = '\'';
        }
    }
    value_unref(conflicts);
    commit_release(&commit);
    buf_release(&out);
    return text;
}

static void fork_with_base(struct store_kit *kit)
{
    kit_open_memory(kit, NULL);
    EXPECT_LANDED(kit,
                  1,
                  "s1 1 | set A {'x':1,'y':1,'l':[1,2]} | set B 1 | set C 1");
    EXPECT_EQ(kit_fork(kit, "b", "", ENGINE_HEAD), ERR_OK);
}

TEST(disjoint_changes_of_one_document_are_both_kept)
{
    struct store_kit kit;
    fork_with_base(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | replace A.x 2 | add A.z 9");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.y 3 | append A.l [3]");
    EXPECT_TEXT(merge(&kit, "b", "", 1), "");
    EXPECT_TEXT(kit_read(&kit, "A"),
                "{'value':{'l':[1,2,3],'x':2,'y':3,'z':9}}");
    EXPECT_TEXT(kit_read(&kit, "b/A"),
                "{'value':{'l':[1,2],'x':2,'y':1,'z':9}}");
    kit_close(&kit);
}

TEST(documents_are_created_deleted_and_left_alone)
{
    struct store_kit kit;
    fork_with_base(&kit);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit,
                  2,
                  "s1 2 | branch b | set D 4 | delete B | set C 2"
                  " | set E~user 1");
    EXPECT_TEXT(merge(&kit, "b", "", 1), "");
    EXPECT_TEXT(kit_read(&kit, "D"), "{'value':4}");
    EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
    EXPECT_TEXT(kit_read(&kit, "C"), "{'value':2}");
    EXPECT_TEXT(kit_read(&kit, "E~user:Alice"), "(absent)");
    kit_close(&kit);
}

TEST(different_changes_of_one_place_are_a_conflict_and_nothing_lands)
{
    struct store_kit kit;
    fork_with_base(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | replace A.x 2 | delete B");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.x 3 | set B 5");
    EXPECT_TEXT(merge(&kit, "b", "", 1),
                "[{'id':'A','path':'/value/x'},{'id':'B','path':''}]");
    EXPECT_EQ(kit.engine.seq, 3);
    kit_close(&kit);
}

TEST(the_same_change_on_both_sides_is_no_conflict_and_merging_again_is_nothing)
{
    struct store_kit kit;
    fork_with_base(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | replace A.x 2 | delete B");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.x 2 | replace A.y 7");
    EXPECT_TEXT(merge(&kit, "b", "", 1), "");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'l':[1,2],'x':2,'y':7}}");
    EXPECT_TEXT(merge(&kit, "b", "", 2), "nothing");
    kit_close(&kit);
}

/* Elements are compared by index only while both sides have as many as the
 * base: otherwise the one meant is somewhere else. */
TEST(a_change_in_an_array_whose_length_the_other_side_changed_is_a_conflict)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'l':[1,1],'m':[1,2]}");
    EXPECT_EQ(kit_fork(&kit, "b", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | replace A.l.1 5");
    EXPECT_LANDED(&kit, 3, "s1 3 | add A.l.0 0");
    EXPECT_TEXT(merge(&kit, "b", "", 1), "[{'id':'A','path':'/value/l/1'}]");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'l':[0,1,1],'m':[1,2]}}");
    EXPECT_EQ(kit_fork(&kit, "c", "", 1), ERR_OK);
    EXPECT_LANDED(&kit, 4, "s1 4 | branch c | replace A.m.0 5");
    EXPECT_LANDED(&kit, 5, "s1 5 | replace A.m.1 6");
    EXPECT_TEXT(merge(&kit, "c", "", 2), "");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'l':[0,1,1],'m':[5,6]}}");
    kit_close(&kit);
}

TEST(a_change_inside_what_the_other_side_took_away_is_a_conflict)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'p':{'z':1},'q':{},'r':{'k':1}}");
    EXPECT_EQ(kit_fork(&kit, "b", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit,
                  2,
                  "s1 2 | branch b | add A.p.y 1 | add A.q.z 1 | remove A.r.k");
    EXPECT_LANDED(&kit, 3, "s1 3 | remove A.p | replace A.q 5 | remove A.r");
    EXPECT_TEXT(merge(&kit, "b", "", 1),
                "[{'id':'A','path':'/value/p/y'},"
                "{'id':'A','path':'/value/q/z'},"
                "{'id':'A','path':'/value/r/k'}]");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'q':5}}");
    kit_close(&kit);
}

TEST(a_branch_takes_what_its_parent_did_since)
{
    struct store_kit kit;
    fork_with_base(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.y 3 | set N 1");
    EXPECT_TEXT(merge(&kit, "", "b", 1), "");
    EXPECT_TEXT(kit_read(&kit, "b/A"), "{'value':{'l':[1,2],'x':2,'y':3}}");
    EXPECT_TEXT(kit_read(&kit, "b/N"), "{'value':1}");
    kit_close(&kit);
}

TEST(siblings_meet_where_both_saw_the_parent)
{
    struct store_kit kit;
    fork_with_base(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.y 2");
    EXPECT_EQ(kit_fork(&kit, "c", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 3, "s1 3 | branch b | replace A.x 3");
    EXPECT_LANDED(&kit, 4, "s1 4 | branch c | append A.l [4]");
    EXPECT_TEXT(merge(&kit, "b", "c", 1), "");
    EXPECT_TEXT(kit_read(&kit, "c/A"), "{'value':{'l':[1,2,4],'x':3,'y':2}}");
    kit_close(&kit);
}

/* The commit rests on both branches: it is stale if one of them moves. */
TEST(a_merge_that_is_overtaken_is_refused_as_stale)
{
    for (unsigned side = 0; side < 2; side++) {
        struct store_kit kit;
        fork_with_base(&kit);
        EXPECT_LANDED(&kit, 2, "s1 2 | branch b | replace A.x 2");
        const struct merge_request request = {
            .source = value_text_new("b"),
            .target = value_text_new(""),
            .session = value_text_new("merger"),
            .local_seq = 1,
        };
        struct commit commit;
        struct value conflicts = VALUE_NONE;
        struct err_detail detail = {0};
        EXPECT_EQ(
            engine_merge(&kit.engine, &request, &commit, &conflicts, &detail),
            ERR_OK);
        EXPECT_LANDED(&kit,
                      3,
                      side == 0 ? "s1 3 | replace A.y 5"
                                : "s1 3 | branch b | replace A.y 5");
        struct engine_request land = {.commit = &commit};
        EXPECT_EQ(engine_commit(&kit.engine, &land, 1, &detail), ERR_OK);
        EXPECT_EQ(land.verdict.err, ERR_CONFLICT);
        verdict_release(&land.verdict);
        value_unref(conflicts);
        commit_release(&commit);
        kit_close(&kit);
    }
}

TEST(an_unknown_branch_is_named)
{
    struct store_kit kit;
    fork_with_base(&kit);
    EXPECT_TEXT(merge(&kit, "nope", "", 1), "BRANCH_UNKNOWN");
    EXPECT_TEXT(merge(&kit, "", "nope", 1), "BRANCH_UNKNOWN");
    kit_close(&kit);
}

static void expect_diff(struct store_kit *kit,
                        const char *from,
                        const char *to,
                        const char *want)
{
    struct value out = VALUE_NONE;
    struct err_detail detail = {0};
    struct buf text = {0};
    EXPECT_EQ(engine_branch_diff(&kit->engine,
                                 value_text_new(from),
                                 value_text_new(to),
                                 &out,
                                 &detail),
              ERR_OK);
    json_write(&text, out, JSON_CANONICAL, 0);
    EXPECT_TEXT(buf_text(&text), want);
    buf_release(&text);
    value_unref(out);
}

TEST(the_difference_of_two_branches_is_a_list_of_patches)
{
    struct store_kit kit;
    fork_with_base(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | set D 1 | delete B | set C 2");
    expect_diff(&kit,
                "",
                "b",
                "[{\"after\":null,\"id\":\"B\"},"
                "{\"id\":\"C\",\"patch\":[{\"op\":\"replace\",\"path\":"
                "\"/value\",\"value\":2}]},"
                "{\"before\":null,\"id\":\"D\"}]");
    expect_diff(&kit, "b", "b", "[]");
    kit_close(&kit);
}
