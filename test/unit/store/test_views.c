/* Views: a commit that claims that all that has landed was in view (the store's
 * state at a seq, and a number of own commits above it). A refused commit
 * leaves no trace: EXPECT_REFUSED looks at every table. */

#include "lib/store_kit.h"
#include "lib/test.h"

TEST(a_view_of_the_head_holds)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | json 'view':{'seq':0} | set A 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | json 'view':{'seq':1} | set B 1");
    EXPECT_LANDED(&kit, 3, "s1 2 | json 'view':{'seq':2} | set A 2");
    kit_close(&kit);
}

TEST(a_view_does_not_hold_if_others_have_committed)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale view: computed values that were read are from seq 1 "
                   "and 0 own commits, and the head is 2",
                   "s1 2 | json 'view':{'seq':1} | set C 1");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'error':{'by':'s2','class':'retry','conflictSeq':2,"
                "'message':'stale view: computed values that were read are "
                "from seq 1 and 0 own commits, and the head is 2',"
                "'name':'CONFLICT','readSeq':1,'retryAfterSeq':2}}");
    /* As many, and not all of them own. */
    EXPECT_LANDED(&kit, 3, "s1 2 | set A 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale view",
                   "s1 3 | json 'view':{'seq':1,'commits':2} | set C 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale view",
                   "s1 3 | json 'view':{'seq':1,'commits':1} | set C 1");
    EXPECT_LANDED(&kit,
                  4,
                  "s1 3 | json 'view':{'seq':2,'commits':1} | set C 1");
    kit_close(&kit);
}

TEST(a_view_does_not_hold_if_an_own_commit_in_it_was_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "", "s1 3 | conf A @1 | set A 3");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale view",
                   "s1 4 | json 'view':{'seq':1,'commits':2} | set B 1");
    EXPECT_LANDED(&kit,
                  3,
                  "s1 5 | json 'view':{'seq':1,'commits':1} | set B 1");
    kit_close(&kit);
}

TEST(a_view_holds_over_the_own_commits_of_its_group)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    static const char *const lines[] = {
        "s1 1 | set A 1",
        "s1 2 | json 'view':{'seq':0,'commits':1} | set B 1",
        "s1 3 | json 'view':{'seq':0,'commits':2} | set C 1",
    };
    kit_group(&kit, lines, COUNT_OF(lines));
    EXPECT_TEXT(kit_read(&kit, "C"), "{'value':1}");
    kit_close(&kit);
}

TEST(a_view_beyond_the_head_is_no_view)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_REFUSED(&kit,
                   ERR_PROTOCOL,
                   "view.seq 1 is beyond the head 0",
                   "s1 1 | json 'view':{'seq':1} | set A 1");
    kit_close(&kit);
}

TEST(a_view_holds_over_commits_of_others_that_its_author_does_not_watch)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set B 1");
    EXPECT_LANDED(&kit, 3, "s1 2 | set A 2");
    EXPECT_LANDED(&kit, 4, "s2 2 | set B 2");
    kit.unchanged_seq = 3; /* and what landed then is not known */
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale view",
                   "s1 3 | json 'view':{'seq':1,'commits':1} | set C 1");
    kit.unchanged_seq = 4;
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale view",
                   "s1 3 | json 'view':{'seq':1,'commits':2} | set C 1");
    EXPECT_LANDED(&kit,
                  5,
                  "s1 3 | json 'view':{'seq':1,'commits':1} | set C 1");
    kit_close(&kit);
}

TEST(what_another_engine_commits_is_of_others)
{
    struct store_kit a;
    struct store_kit b;
    kit_open_file(&a, NULL);
    kit_open_beside(&b, &a);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&b, 2, "s2 1 | json 'view':{'seq':1} | set B 1");
    EXPECT_REFUSED(&a,
                   ERR_CONFLICT,
                   "stale view",
                   "s1 2 | json 'view':{'seq':1} | set A 2");
    EXPECT_LANDED(&a, 3, "s1 2 | json 'view':{'seq':2} | set A 2");
    EXPECT_LANDED(&a, 4, "s1 3 | json 'view':{'seq':2,'commits':1} | set A 3");
    kit_close(&b);
    kit_close(&a);
}

TEST(the_same_commit_with_another_view_is_another_one)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | json 'view':{'seq':0} | set A 1");
    EXPECT_REFUSED(&kit,
                   ERR_REPLAY_MISMATCH,
                   "",
                   "s1 1 | json 'view':{'seq':1} | set A 1");
    EXPECT_REFUSED(&kit, ERR_REPLAY_MISMATCH, "", "s1 1 | set A 1");
    kit_close(&kit);
}
