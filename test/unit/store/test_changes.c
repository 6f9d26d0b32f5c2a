/* What landed above a seq, by document, and documents with the seq of their
 * last revision: what a feed of changes is made of. */

#include <string.h>

#include "lib/store_kit.h"
#include "lib/test.h"
#include "store/maintain.h"

static void note_change(void *ctx, const struct engine_change *change)
{
    struct buf *to = ctx;
    const struct text branch = value_text(&change->address.branch);
    const struct text scope = value_text(&change->address.scope_key);
    const struct text id = value_text(&change->address.id);
    buf_printf(to,
               "%s%llu %.*s/%.*s",
               to->length > 0 ? "; " : "",
               (unsigned long long)change->seq,
               (int)branch.length,
               branch.at,
               (int)id.length,
               id.at);
    if (strcmp(scope.at, "space") != 0) {
        buf_printf(to, "~%.*s", (int)scope.length, scope.at);
    }
}

static void expect_changes(struct store_kit *kit,
                           uint64_t after,
                           uint64_t to,
                           const char *want)
{
    struct buf got = {0};
    EXPECT_INT(engine_read_begin(&kit->engine, &kit->detail), ERR_OK);
    EXPECT_INT(engine_changes(&kit->engine,
                              after,
                              to,
                              note_change,
                              &got,
                              &kit->detail),
               ERR_OK);
    engine_read_end(&kit->engine);
    EXPECT_TEXT(buf_text(&got), want);
    buf_release(&got);
}

TEST(changes_are_told_in_the_order_in_which_they_landed)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    expect_changes(&kit, 0, ENGINE_HEAD, "");
    EXPECT_LANDED(&kit, 1, "s1 1 | set B 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set cid:x 1");
    EXPECT_LANDED(&kit, 3, "s1 3 | set cid:x 1 | delete A");
    EXPECT_LANDED(&kit, 4, "s1 4 | absent Z");
    EXPECT_INT(kit_fork(&kit, "f", "", 3), ERR_OK);
    EXPECT_LANDED(&kit, 5, "s1 5 | branch f | increment B 1");
    kit.principal = "alice";
    EXPECT_LANDED(&kit, 6, "s1 6 | set A~user 1");
    expect_changes(&kit,
                   0,
                   ENGINE_HEAD,
                   "1 /B; 1 /A; 2 /cid:x; 3 /A; 5 f/B; 6 /A~user:alice");
    expect_changes(&kit, 1, 3, "2 /cid:x; 3 /A");
    expect_changes(&kit, 3, 4, "");
    expect_changes(&kit, 6, ENGINE_HEAD, "");
    expect_changes(&kit, ENGINE_HEAD, ENGINE_HEAD, "");
    /* Folding old history takes nothing away from them. */
    struct compact_counts counts;
    EXPECT_INT(engine_compact(&kit.engine,
                              ENGINE_HEAD,
                              NULL,
                              NULL,
                              &counts,
                              &kit.detail),
               ERR_OK);
    expect_changes(&kit, 1, 3, "2 /cid:x; 3 /A");
    kit_close(&kit);
}

/* The statement that is used, as SQLite plans it. */
static struct buf plan_of(struct store_kit *kit, enum statement statement)
{
    struct buf sql = {0};
    buf_append_text(&sql, "EXPLAIN QUERY PLAN ");
    buf_append_text(&sql,
                    sqlite3_sql(kit->engine.database.statement[statement]));
    struct buf plan = {0};
    sqlite3_stmt *stmt = NULL;
    CHECK(sqlite3_prepare_v2(kit->engine.database.db,
                             buf_text(&sql),
                             -1,
                             &stmt,
                             NULL) == SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        buf_append_text(&plan, (const char *)sqlite3_column_text(stmt, 3));
        buf_append_text(&plan, "; ");
    }
    (void)sqlite3_finalize(stmt);
    buf_release(&sql);
    return plan;
}

TEST(changes_are_found_by_index)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    expect_changes(&kit, 0, ENGINE_HEAD, "");
    struct buf plan = plan_of(&kit, STATEMENT_COMMIT_CHANGES);
    EXPECT_CONTAINS(buf_text(&plan),
                    "SEARCH c USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    EXPECT_CONTAINS(buf_text(&plan),
                    "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)");
    EXPECT(strstr(buf_text(&plan), "TEMP") == NULL); /* nothing is sorted */
    buf_release(&plan);
    kit_close(&kit);
}

static void expect_head(struct store_kit *kit,
                        const char *branch,
                        const char *id,
                        uint64_t seq,
                        bool present)
{
    struct value branch_name = value_text_new(branch);
    struct value scope = value_text_new("space");
    struct value name = value_text_new(id);
    const struct engine_address address = {branch_name, scope, name};
    struct value document = VALUE_NONE;
    uint64_t got = 0;
    EXPECT_INT(engine_read_begin(&kit->engine, &kit->detail), ERR_OK);
    EXPECT_INT(
        engine_head(&kit->engine, &address, &document, &got, &kit->detail),
        ERR_OK);
    engine_read_end(&kit->engine);
    EXPECT_EQ(got, seq);
    EXPECT_EQ(!value_is_absent(document), present);
    value_unref(document);
}

TEST(a_head_has_the_seq_of_its_last_revision)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1 | set B 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | increment A 1");
    EXPECT_LANDED(&kit, 3, "s1 3 | delete B");
    EXPECT_INT(kit_fork(&kit, "f", "", 2), ERR_OK);
    EXPECT_INT(kit_fork(&kit, "g", "f", 2), ERR_OK);
    EXPECT_LANDED(&kit, 4, "s1 4 | set A 9");
    EXPECT_LANDED(&kit, 5, "s1 5 | branch f | set C 9");
    for (size_t i = 0; i < 2; i++) {
        expect_head(&kit, "", "A", 4, true);
        expect_head(&kit, "", "B", 3, false);
        expect_head(&kit, "", "C", 0, false);
        /* What a branch sees of its parents, as it was at the forks. */
        expect_head(&kit, "f", "A", 2, true);
        expect_head(&kit, "f", "B", 1, true);
        expect_head(&kit, "f", "C", 5, true);
        expect_head(&kit, "g", "A", 2, true);
        expect_head(&kit, "g", "C", 0, false);
        kit_reopen(&kit);
    }
    kit_close(&kit);
}

TEST(a_head_on_an_unknown_branch_is_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    struct value branch = value_text_new("none");
    struct value scope = value_text_new("space");
    const struct engine_address address = {branch, scope, scope};
    struct value document = VALUE_NONE;
    uint64_t seq = 7;
    EXPECT_INT(engine_read_begin(&kit.engine, &kit.detail), ERR_OK);
    EXPECT_INT(engine_head(&kit.engine, &address, &document, &seq, &kit.detail),
               ERR_BRANCH_UNKNOWN);
    engine_read_end(&kit.engine);
    EXPECT_EQ(seq, 0);
    kit_close(&kit);
}

/* A row that names a branch of which there is none is damage, and said so. */
TEST(a_change_on_a_branch_that_is_not_there_is_damage)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    kit_run(&kit, "UPDATE document SET branch = 5");
    struct buf got = {0};
    EXPECT_INT(engine_read_begin(&kit.engine, &kit.detail), ERR_OK);
    EXPECT_INT(engine_changes(&kit.engine,
                              0,
                              ENGINE_HEAD,
                              note_change,
                              &got,
                              &kit.detail),
               ERR_CORRUPT);
    engine_read_end(&kit.engine);
    EXPECT_TEXT(buf_text(&got), "");
    buf_release(&got);
    kit_close(&kit);
}
