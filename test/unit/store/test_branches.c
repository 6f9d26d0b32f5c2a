/* Branches (scenarios E): what is seen through the parent, what is refused,
 * and the list of them. */

#include <stdio.h>

#include "lib/store_kit.h"
#include "lib/test.h"

TEST(e01_a_fork_sees_its_parent_and_forking_again_is_the_same_branch)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "feature", "", ENGINE_HEAD), ERR_OK);
    EXPECT_TEXT(kit_read(&kit, "feature/A"), "{'value':1}");
    struct buf before = kit_dump(&kit);
    EXPECT_INT(kit_fork(&kit, "feature", "", ENGINE_HEAD), ERR_OK);
    EXPECT_INT(kit_fork(&kit, "feature", "", 1), ERR_OK);
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    /* The parent moves on; the same call still means the same branch. */
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    EXPECT_INT(kit_fork(&kit, "feature", "", ENGINE_HEAD), ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_branches(&kit),
                    "[{'active':true,'headSeq':2,'name':''},"
                    "{'active':true,'forkSeq':1,'headSeq':1,"
                    "'name':'feature','parent':''}]");
        EXPECT_TEXT(kit_read(&kit, "feature/A"), "{'value':1}");
        kit_reopen(&kit);
    }
    kit_close(&kit);
}

TEST(e02_branches_have_values_of_their_own_and_share_the_numbers)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "feature", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | branch feature | set A 10");
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':2}");
        EXPECT_TEXT(kit_read(&kit, "feature/A"), "{'value':10}");
        EXPECT_TEXT(kit_read_at(&kit, "feature/A", 1), "{'value':1}");
        EXPECT_TEXT(kit_read_at(&kit, "feature/A", 2), "{'value':1}");
        EXPECT_TEXT(kit_read_at(&kit, "A", 1), "{'value':1}");
        EXPECT_TEXT(kit_branches(&kit),
                    "[{'active':true,'headSeq':2,'name':''},"
                    "{'active':true,'forkSeq':1,'headSeq':3,"
                    "'name':'feature','parent':''}]");
        kit_reopen(&kit);
    }
    /* Neither sees the other's writes as conflicts. */
    EXPECT_LANDED(&kit, 4, "s1 4 | conf A @2 | set A 3");
    EXPECT_LANDED(&kit, 5, "s1 5 | branch feature | conf A @3 | set A 11");
    kit_close(&kit);
}

TEST(e04_a_branch_has_no_state_before_its_fork)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    EXPECT_INT(kit_fork(&kit, "feature", "", 2), ERR_OK);
    EXPECT_TEXT(kit_read_at(&kit, "feature/A", 0), "SEQUENCE");
    EXPECT_TEXT(kit_read_at(&kit, "feature/A", 1), "SEQUENCE");
    EXPECT_TEXT(kit_read_at(&kit, "feature/A", 2), "{'value':2}");
    EXPECT_TEXT(kit_read_at(&kit, "feature/A", 3), "SEQUENCE");
    kit_close(&kit);
}

/* D6: the scan looks at the parent as well. */
TEST(e06_a_read_on_a_child_sees_what_the_parent_wrote_before_the_fork)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    EXPECT_INT(kit_fork(&kit, "feature", "", 2), ERR_OK);
    EXPECT_LANDED(&kit, 3, "s2 2 | replace A.y 3");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "A at seq 1 conflicted with seq 2",
                   "s1 2 | branch feature | conf A.x @1 | set B 1");
    EXPECT_LANDED(&kit, 4, "s1 2 | branch feature | conf A.y @1 | set B 1");
    EXPECT_LANDED(&kit, 5, "s1 3 | branch feature | conf A.x @2 | set B 2");
    /* Also when the child has changed the document itself. */
    EXPECT_LANDED(&kit, 6, "s2 3 | branch feature | replace A.z 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "A at seq 1 conflicted with seq 2",
                   "s1 4 | branch feature | conf A.x @1 | set B 3");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "A at seq 2 conflicted with seq 6",
                   "s1 4 | branch feature | conf A @2 | set B 3");
    kit_close(&kit);
}

TEST(defect_3_reads_of_every_kind_see_every_ancestor_up_to_its_fork)
{
    static const char *const reads[] = {"conf A.x @1",
                                        "shape conf A.x @1",
                                        "pend A.x [1] b=1",
                                        "shape pend A.x [1] b=1"};
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    EXPECT_INT(kit_fork(&kit, "child", "", 2), ERR_OK);
    EXPECT_LANDED(&kit, 3, "s2 2 | branch child | replace A.z 3");
    EXPECT_INT(kit_fork(&kit, "grand", "child", 2), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        struct buf line = {0};
        buf_printf(&line, "s1 9 | branch grand | %s | set B 1", reads[i]);
        EXPECT_REFUSED(&kit, ERR_CONFLICT, "with seq 2", buf_text(&line));
        buf_release(&line);
    }
    /* What the child wrote behind the fork was not seen, and does not count. */
    EXPECT_LANDED(&kit, 4, "s1 9 | branch grand | conf A @2 | set B 1");
    kit_close(&kit);
}

TEST(e07_a_grandchild_sees_the_root_and_nothing_after_a_fork)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set ROOT 1");
    EXPECT_INT(kit_fork(&kit, "child", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch child | set OLD 1");
    EXPECT_INT(kit_fork(&kit, "grand", "child", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 3, "s1 3 | branch child | set NEW 1 | set OLD 2");
    EXPECT_LANDED(&kit, 4, "s1 4 | set ROOT 2 | set MAIN 1");
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_read(&kit, "grand/ROOT"), "{'value':1}");
        EXPECT_TEXT(kit_read(&kit, "grand/OLD"), "{'value':1}");
        EXPECT_TEXT(kit_read(&kit, "grand/NEW"), "(absent)");
        EXPECT_TEXT(kit_read(&kit, "grand/MAIN"), "(absent)");
        EXPECT_TEXT(kit_read(&kit, "child/ROOT"), "{'value':1}");
        EXPECT_TEXT(kit_read(&kit, "child/OLD"), "{'value':2}");
        kit_reopen(&kit);
    }
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "OLD at seq 1 conflicted with seq 2",
                   "s1 5 | branch grand | conf OLD @1 | set X 1");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "ROOT",
                   "s1 5 | branch grand | absent ROOT | set X 1");
    EXPECT_LANDED(&kit, 5, "s1 5 | branch grand | conf ROOT @1 | absent NEW");
    kit_close(&kit);
}

TEST(e08_a_read_may_be_of_another_branch)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "feature", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch feature | set A 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | conf A @1 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 4 | conf A @1 on feature | set B 1");
    EXPECT_LANDED(&kit, 4, "s1 4 | conf A @2 on feature | set B 2");
    EXPECT_LANDED(&kit, 5, "s1 5 | branch feature | conf B @4 on  | set C 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 4",
                   "s1 6 | branch feature | conf B @3 on  | set C 1");
    kit_close(&kit);
}

/* -- Patches through the parent ------------------------------------------ */

TEST(defect_1_a_patch_on_a_fork_continues_the_document_of_the_parent)
{
    const struct engine_options options[] = {
        {.snapshot_patches = 1000},
        {.snapshot_patches = 1},
        {.snapshot_patches = 2},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        struct store_kit kit;
        kit_open_file(&kit, &options[i]);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
        EXPECT_LANDED(&kit, 2, "s1 2 | add A.y 1");
        EXPECT_INT(kit_fork(&kit, "b", "", ENGINE_HEAD), ERR_OK);
        EXPECT_LANDED(&kit, 3, "s1 3 | replace A.x 9");
        EXPECT_LANDED(&kit, 4, "s1 4 | branch b | increment A.x 1");
        EXPECT_LANDED(&kit, 5, "s1 5 | branch b | add A.z 1");
        EXPECT_INT(kit_fork(&kit, "c", "b", 4), ERR_OK);
        EXPECT_LANDED(&kit, 6, "s1 6 | branch c | add A.w 1");
        for (unsigned j = 0; j < 2; j++) {
            EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':9,'y':1}}");
            EXPECT_TEXT(kit_read(&kit, "b/A"), "{'value':{'x':2,'y':1,'z':1}}");
            EXPECT_TEXT(kit_read_at(&kit, "b/A", 2), "{'value':{'x':1,'y':1}}");
            EXPECT_TEXT(kit_read_at(&kit, "b/A", 4), "{'value':{'x':2,'y':1}}");
            EXPECT_TEXT(kit_read(&kit, "c/A"), "{'value':{'w':1,'x':2,'y':1}}");
            kit_reopen(&kit);
        }
        kit_close(&kit);
    }
}

TEST(a_delete_on_a_fork_hides_the_document_of_the_parent)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_INT(kit_fork(&kit, "b", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | delete A");
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_read(&kit, "b/A"), "(absent)");
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':1}}");
        kit_reopen(&kit);
    }
    EXPECT_LANDED(&kit, 3, "s1 3 | branch b | add A.y 1");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read(&kit, "b/A"), "{'value':{'y':1}}");
    kit_close(&kit);
}

TEST(a_fork_at_an_old_seq_sees_that_state)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_INT(kit_fork(&kit, "empty", "", 0), ERR_OK);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.x 3");
    EXPECT_INT(kit_fork(&kit, "old", "", 2), ERR_OK);
    EXPECT_TEXT(kit_read(&kit, "old/A"), "{'value':{'x':2}}");
    EXPECT_TEXT(kit_read(&kit, "empty/A"), "(absent)");
    EXPECT_LANDED(&kit, 4, "s1 4 | branch old | increment A.x 10");
    EXPECT_TEXT(kit_read(&kit, "old/A"), "{'value':{'x':12}}");
    EXPECT_LANDED(&kit, 5, "s1 5 | branch empty | absent A | set A 0");
    kit_close(&kit);
}

/* -- What is refused ----------------------------------------------------- */

TEST(defect_5_a_deleted_name_and_a_seq_to_come_are_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    EXPECT_INT(kit_fork(&kit, "c", "", 2), ERR_SEQUENCE);
    EXPECT_INT(kit_fork(&kit, "c", "", ENGINE_HEAD - 1), ERR_SEQUENCE);
    EXPECT_INT(kit_fork(&kit, "c", "b", 0), ERR_SEQUENCE);
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_BRANCH_CLOSED);
    EXPECT_INT(kit_fork(&kit, "b", "", ENGINE_HEAD), ERR_BRANCH_CLOSED);
    EXPECT_TEXT(kit_branches(&kit),
                "[{'active':true,'headSeq':1,'name':''},"
                "{'active':false,'forkSeq':1,'headSeq':1,'name':'b',"
                "'parent':''}]");
    kit_close(&kit);
}

TEST(a_deleted_branch_cannot_be_forked)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | set A 2");
    EXPECT_INT(kit_fork(&kit, "c", "b", 2), ERR_OK);
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct buf before = kit_dump(&kit);
        EXPECT_INT(kit_fork(&kit, "d", "b", ENGINE_HEAD), ERR_BRANCH_CLOSED);
        EXPECT_CONTAINS(kit.detail.text, "cannot be forked: b");
        EXPECT_INT(kit_fork(&kit, "d", "b", 1), ERR_BRANCH_CLOSED);
        /* What was forked before is there, and the same again is the same. */
        EXPECT_INT(kit_fork(&kit, "c", "b", 2), ERR_OK);
        EXPECT_TEXT(kit_read(&kit, "c/A"), "{'value':2}");
        EXPECT_TEXT(kit_read_at(&kit, "b/A", 1), "{'value':1}");
        struct buf after = kit_dump(&kit);
        EXPECT_TEXT(buf_text(&after), buf_text(&before));
        buf_release(&before);
        buf_release(&after);
        kit_reopen(&kit);
    }
    EXPECT_LANDED(&kit, 3, "s1 3 | branch c | set A 3");
    kit_close(&kit);
}

TEST(a_deleted_branch_can_be_read_and_not_written)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_INT(kit_fork(&kit, "b", "", 0), ERR_OK);
    EXPECT_LANDED(&kit, 1, "s1 1 | branch b | set A 1");
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_read(&kit, "b/A"), "{'value':1}");
        EXPECT_REFUSED(&kit,
                       ERR_BRANCH_CLOSED,
                       "branch is not active: b",
                       "s1 2 | branch b | set A 2");
        kit_reopen(&kit);
    }
    EXPECT_LANDED(&kit, 2, "s1 2 | conf A @1 on b | set B 1");
    kit_close(&kit);
}

TEST(defect_12_branch_and_range_errors_have_codes_of_their_own)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_REFUSED(&kit,
                   ERR_BRANCH_UNKNOWN,
                   "unknown branch: nope",
                   "s1 1 | branch nope | set A 1");
    EXPECT_TEXT(kit_read(&kit, "nope/A"), "BRANCH_UNKNOWN");
    EXPECT_TEXT(kit_read_at(&kit, "A", 1), "SEQUENCE");
    EXPECT_INT(kit_fork(&kit, "b", "nope", 0), ERR_BRANCH_UNKNOWN);
    EXPECT_CONTAINS(kit.detail.text, "nope");
    EXPECT_INT(kit_branch_delete(&kit, "nope"), ERR_BRANCH_UNKNOWN);
    EXPECT_INT(kit_branch_delete(&kit, ""), ERR_ARGUMENT);
    EXPECT_INT(kit_fork(&kit, "", "", 0), ERR_ARGUMENT);
    char name[1100];
    for (size_t i = 0; i + 1 < sizeof name; i++) {
        name[i] = 'x';
    }
    name[1025] = '\0';
    EXPECT_INT(kit_fork(&kit, name, "", 0), ERR_ARGUMENT);
    name[1024] = '\0';
    EXPECT_INT(kit_fork(&kit, name, "", 0), ERR_OK);
    EXPECT_INT(kit_fork(&kit, "b", "", 0), ERR_OK);
    EXPECT_INT(kit_fork(&kit, "b", name, 0), ERR_ARGUMENT);
    EXPECT_CONTAINS(kit.detail.text, "another origin");
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_ARGUMENT);
    kit_close(&kit);
}

TEST(a_refused_branch_change_leaves_the_store_as_it_was)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    struct buf before = kit_dump(&kit);
    EXPECT_INT(kit_fork(&kit, "b", "nope", 0), ERR_BRANCH_UNKNOWN);
    EXPECT_INT(kit_fork(&kit, "b", "", 7), ERR_SEQUENCE);
    EXPECT_INT(kit_branch_delete(&kit, ""), ERR_ARGUMENT);
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    EXPECT_LANDED(&kit, 2, "s1 2 | conf A @1 | set A 2");
    EXPECT_EQ(kit.engine.record, 2);
    kit_close(&kit);
}

TEST(a_chain_of_many_forks_is_read_through_to_the_root)
{
    enum {
        FORKS = 60
    };
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'n':0}");
    char parent[8] = "";
    for (unsigned i = 1; i <= FORKS; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "b%u", i);
        EXPECT_INT(kit_fork(&kit, name, parent, ENGINE_HEAD), ERR_OK);
        char commit[64];
        (void)snprintf(commit,
                       sizeof commit,
                       "s1 %u | branch %s | increment A.n 1",
                       i + 1,
                       name);
        EXPECT_LANDED(&kit, i + 1, commit);
        (void)snprintf(parent, sizeof parent, "%s", name);
    }
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read(&kit, "b60/A"), "{'value':{'n':60}}");
    EXPECT_TEXT(kit_read(&kit, "b30/A"), "{'value':{'n':30}}");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'n':0}}");
    kit_close(&kit);
}
