/* Whose row an observation is: everybody's, a user's or a session's (R23 to
 * R25 and PERS-30 of the specification). */

#include <stdio.h>

#include "lib/observe_kit.h"
#include "lib/test.h"

/* R24 and R25: who has rows of his own is decided by what is read, and a user's
 * documents are his. */
TEST(r24_r25_what_reads_a_users_documents_is_that_users)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A~user 1");
    observe_alone(&kit, 2, "p/a1 deep A~user");
    observe_alone(&kit, 3, "p/a2 deep B");
    kit.principal = "bob";
    EXPECT_TEXT(observe_resume(&kit, "p"), "a2=clean");
    EXPECT_LANDED(&kit, 2, "s1 1 | set A~user 1");
    observe_alone(&kit, 2, "p/a1 deep A~user");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a2=clean a1=clean");
    EXPECT_LANDED(&kit, 3, "s1 3 | set A~user 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a2=clean a1=dirty");
    kit.principal = "alice";
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a2=clean");
    kit.principal = NULL;
    observe_alone(&kit, 9, "p/a1 deep A~user");
    EXPECT_CONTAINS(observe_verdict(&kit), "PROTOCOL");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

/* Alice's write is of nobody else's concern, and what makes hers clean again
 * leaves Bob's as it is. */
TEST(r25_a_users_write_dirties_that_users_row_only_and_so_does_clearing)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    static const char *const users[] = {"alice", "bob"};
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        kit.principal = users[i];
        EXPECT_LANDED(&kit, 1 + i, "s1 1 | set A~user {'x':1,'y':1}");
        observe_alone(&kit, 2, "p/a1 deep A~user.x out B~user");
    }
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A~user.x 2"); /* bob */
    kit.principal = "alice";
    EXPECT_LANDED(&kit, 4, "s1 3 | replace A~user.y 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    EXPECT_LANDED(&kit, 5, "s1 4 | replace A~user.x 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    EXPECT_LANDED(&kit, 6, "s1 5 | set A {'x':9}"); /* of the space: another */
    observe_commit(&kit,
                   "s1 6 | conf A~user.x @5 | set B~user 1",
                   "p/a1 same deep A~user.x out B~user");
    EXPECT_TEXT(observe_verdict(&kit), "7");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    kit.principal = "bob";
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    kit.principal = NULL; /* nobody sees either */
    EXPECT_TEXT(observe_resume(&kit, "p"), "");
    kit_close(&kit);
}

static const char scopes_sql[] =
    "SELECT scope FROM action ORDER BY scope COLLATE BINARY";

/* Who shares a row is decided by the places alone: what is everybody's gives
 * one row, whoever ran it; a user's own, a row a user; a session's own, a row a
 * session. A run that reads more narrowly makes a row of its own, and removes
 * none: of several, the one of the last run counts (sched/persistence.h). */
TEST(r24_a_row_is_as_narrow_as_the_places_and_takes_nobody_elses_away)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    static const char *const users[] = {"alice", "bob"};
    static const char *const sessions[] = {"s1", "s9"};
    const char *line = "p/a1 deep A out B";
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        kit.principal = users[i];
        for (size_t j = 0; j < COUNT_OF(sessions); j++) {
            observe_batch(&kit, sessions[j], 2, &line, 1);
        }
    }
    EXPECT_TEXT(kit_sql(&kit, scopes_sql), "space;");
    line = "p/a1 deep A deep U~user out B"; /* bob's sees more */
    observe_batch(&kit, "s1", 3, &line, 1);
    EXPECT_TEXT(kit_sql(&kit, scopes_sql), "space;user:bob;");
    kit.principal = "alice";
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean"); /* still the space's */
    observe_batch(&kit, "s1", 3, &line, 1);
    line = "p/a1 deep A deep U~user deep S~session out B";
    for (size_t j = 0; j < COUNT_OF(sessions); j++) {
        observe_batch(&kit, sessions[j], 4, &line, 1);
    }
    EXPECT_TEXT(kit_sql(&kit, scopes_sql),
                "session:alice:s1;session:alice:s9;space;user:alice;"
                "user:bob;");
    /* And narrow rows are no reason to take the others': bob again. */
    kit.principal = "bob";
    EXPECT_LANDED(&kit, 2, "s1 5 | set U~user 1");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a1=dirty");
    line = "p/a1 deep A deep U~user out B";
    observe_batch(&kit, "s1", 6, &line, 1);
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a1=clean");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM action"), "5;");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(r23_pers30_of_many_sessions_the_last_32_are_kept)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "alice";
    for (int i = 0; i < 35; i++) {
        char session[16];
        char commit[40];
        (void)snprintf(session, sizeof session, "t%02d", i);
        (void)snprintf(commit, sizeof commit, "%s 1 | set A %d", session, i);
        kit_commit(&kit, commit);
        const char *const line = "p/a1 deep A~session";
        observe_batch(&kit, session, 2, &line, 1);
    }
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT count(*), min(scope), (SELECT count(*) FROM"
                        " run), (SELECT count(*) FROM edge) FROM action"),
                "32|session:alice:t03|32|32;");
    /* The same again of one that went is kept, as it was. */
    const char *const line = "p/a1 deep A~session";
    observe_batch(&kit, "t00", 2, &line, 1);
    EXPECT_TEXT(observe_verdict(&kit), "35");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM action"), "32;");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}
