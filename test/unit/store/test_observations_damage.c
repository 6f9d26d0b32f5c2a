/* Rows of observations that somebody has changed: none of them looks clean,
 * none stops anybody, and what can be removed is. */

#include <string.h>

#include "lib/observe_kit.h"
#include "lib/test.h"

TEST(rows_that_were_changed_or_are_missing_never_look_clean)
{
    static const struct {
        const char *sql;
        const char *want; /* of a1; a2 is always clean */
        const char *check;
    } rows[] = {
        {"DELETE FROM edge WHERE action = 1 AND edge = 4",
         "a1=unknown",
         "rows"},
        {"UPDATE edge SET edge = 404 WHERE action = 1 AND edge = 4",
         "a1=unknown",
         "rows"},
        {"DELETE FROM place WHERE id = 'A'", "a1=unknown", "rows"},
        {"UPDATE place SET id = 'Z' WHERE id = 'A'", "a1=unknown", "rows"},
        {"UPDATE place SET path = 'x' WHERE id = 'A'", "a1=unknown", "rows"},
        {"UPDATE run SET seq = 1 WHERE action = 1", "a1=unknown", "rows"},
        {"UPDATE run SET seq = 99 WHERE action = 1", "a1=unknown", "rows"},
        {"UPDATE run SET error = x'00' WHERE action = 1", "a1=unknown", "rows"},
        {"UPDATE run SET elsewhere = '[' WHERE action = 1",
         "a1=unknown",
         "rows"},
        {"DELETE FROM run WHERE action = 1", "a1=unknown", "no run"},
        {"DELETE FROM action WHERE action = 1", "", "no action"},
        {"UPDATE action SET sets = zeroblob(64) WHERE action = 1",
         "a1=unknown",
         "rows"},
        {"UPDATE action SET kind = 2 WHERE action = 1", "a1=unknown", "rows"},
        {"UPDATE action SET fingerprint = 77 WHERE action = 1",
         "a1=unknown",
         "rows"},
        {"UPDATE action SET name = x'11' WHERE action = 1", NULL, "rows"},
        {"UPDATE action SET gates = '1 2' WHERE action = 1",
         "a1=unknown",
         "rows"},
        {"UPDATE fingerprint SET runtime = x'11' WHERE fingerprint = 1",
         NULL,
         "rows"},
        {"UPDATE action SET sum = 5 WHERE action = 1", "a1=unknown", "rows"},
        {"DELETE FROM piece WHERE id = 'p'", "", "no piece"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
        EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
        observe_alone(&kit, 3, "p/a1 deep A out B");
        observe_alone(&kit, 4, "q/a2 deep C out D impl=other");
        kit_run(&kit, rows[i].sql);
        if (rows[i].want != NULL) {
            EXPECT_TEXT(observe_resume(&kit, "p"), rows[i].want);
        } else {
            EXPECT(strstr(observe_resume(&kit, "p"), "clean") == NULL);
        }
        EXPECT_TEXT(observe_resume(&kit, "q"), "a2=clean");
        EXPECT_CONTAINS(observe_check(&kit), rows[i].check);
        uint64_t removed = 0;
        EXPECT_INT(engine_repair_observations(&kit.engine, &removed, NULL),
                   ERR_OK);
        EXPECT(removed > 0);
        EXPECT_TEXT(observe_check(&kit), "");
        EXPECT_TEXT(observe_resume(&kit, "p"), "");
        EXPECT_TEXT(observe_resume(&kit, "q"), "a2=clean");
        observe_alone(&kit, 5, "p/a1 deep A out B");
        EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
        EXPECT_TEXT(observe_check(&kit), "");
        kit_close(&kit);
    }
}

TEST(the_same_set_over_damaged_rows_is_not_taken)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B");
    kit_run(&kit, "DELETE FROM edge WHERE edge = 4");
    observe_alone(&kit, 3, "p/a1 same deep A out B");
    EXPECT_TEXT(observe_verdict(&kit), "1 dropped 0=set-unknown");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown");
    observe_alone(&kit, 4, "p/a1 deep A out B");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

/* What is remembered is never a reason to refuse what is to be remembered, or
 * the commit that it came with. */
TEST(rows_that_are_in_the_way_stop_nobody)
{
    static const struct {
        const char *sql;
        const char *rest; /* of q, which has nothing to do with it */
    } rows[] = {
        {"UPDATE place SET place = 0 WHERE id = 'A'", "a2=clean"},
        {"UPDATE action SET action = 3 WHERE action = 1", "a2=clean"},
        {"UPDATE action SET action = 0 WHERE action = 1", "a2=clean"},
        /* Nothing helps here but to forget everything. */
        {"CREATE TRIGGER never BEFORE INSERT ON place WHEN EXISTS(SELECT 1"
         " FROM place WHERE id = 'C') BEGIN SELECT RAISE(ABORT, 'no'); END",
         ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
        observe_alone(&kit, 2, "p/a1 deep A out B");
        observe_alone(&kit, 3, "q/a2 deep C out D impl=other");
        kit_run(&kit, rows[i].sql);
        observe_commit(&kit, "s1 4 | set X 1", "p/a3 deep A deep E");
        EXPECT_TEXT(observe_verdict(&kit), "2");
        observe_alone(&kit, 5, "p/a1 deep A");
        EXPECT_TEXT(observe_verdict(&kit), "2");
        EXPECT_TEXT(observe_resume(&kit, "q"), rows[i].rest);
        EXPECT_CONTAINS(observe_resume(&kit, "p"), "a1=clean");
        EXPECT_CONTAINS(observe_resume(&kit, "p"), "a3=clean");
        EXPECT_TEXT(kit_read(&kit, "X"), "{'value':1}");
        EXPECT_TEXT(observe_check(&kit), "");
        kit_close(&kit);
    }
}
