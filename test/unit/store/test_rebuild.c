/* Rebuilding: whatever follows from the history can be had again from it, and
 * from a history that does not hold nothing is. */

#include "store/rebuild.h"

#include <string.h>

#include "lib/observe_kit.h"
#include "lib/test.h"
#include "store/maintain.h"

/* Sets, patches, deletes, snapshots, a branch, scopes, several operations on
 * one document in a commit, and an action that was dirtied. */
static void fill(struct store_kit *kit, const struct engine_options *options)
{
    kit_open_file(kit, options);
    kit->principal = "Alice";
    EXPECT_LANDED(kit, 1, "s1 1 | set A {'x':1} | set B 2 | set U~user 1");
    observe_alone(kit, 9, "p/a1 deep A.x out C");
    EXPECT_LANDED(kit, 2, "s1 2 | conf A @1 | replace A.x 2");
    EXPECT_LANDED(kit, 3, "s1 3 | replace A.x 3 | replace A.y 4");
    EXPECT_LANDED(kit, 4, "s2 1 | delete B");
    EXPECT_INT(kit_fork(kit, "b", "", 3), ERR_OK);
    EXPECT_LANDED(kit, 5, "s2 2 | branch b | replace A.x 9");
    EXPECT_LANDED(kit, 6, "s1 4 | set D {} | replace D.x 1 | replace D.y 2");
}

static const struct engine_options often = {.snapshot_patches = 2};

static struct rebuild_counts rebuild(struct store_kit *kit)
{
    struct rebuild_counts counts;
    struct err_detail detail = {0};
    EXPECT_INT(engine_rebuild(&kit->engine, &counts, &detail), ERR_OK);
    EXPECT_TEXT(detail.text, "");
    return counts;
}

TEST(a_sound_space_is_left_alone)
{
    struct store_kit kit;
    fill(&kit, &often);
    struct buf before = kit_dump(&kit);
    const struct rebuild_counts counts = rebuild(&kit);
    EXPECT_EQ(counts.documents + counts.snapshots, 0);
    EXPECT(!counts.indexes);
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}

TEST(a_row_that_the_history_contradicts_is_rebuilt_to_what_it_was)
{
    static const char *const damages[] = {
        "UPDATE document SET head_seq = 2 WHERE id = 'A' AND branch = 0",
        "UPDATE document SET head_seq = 99 WHERE id = 'A' AND branch = 0",
        "UPDATE document SET head_index = 7 WHERE id = 'A'",
        "UPDATE document SET op = 'set' WHERE id = 'A' AND branch = 0",
        "UPDATE document SET op = 'nonsense' WHERE id = 'B'",
        "UPDATE document SET op = 'set' WHERE id = 'B'",
        "UPDATE document SET base_seq = 3 WHERE id = 'A' AND branch = 0",
        "UPDATE document SET base_seq = 0, head_seq = 0 WHERE id = 'U'",
        "UPDATE document SET head_seq = 1",
        "UPDATE document SET head_seq = 1, tail_count = 0 WHERE branch = 1",
        ("INSERT INTO document"
         " VALUES(77, 0, 'space', 'Z', 3, 0, 'set', 3, 0, 0, 0)"),
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct store_kit kit;
        fill(&kit, NULL);
        struct buf before = kit_dump(&kit);
        kit_run(&kit, damages[i]);
        EXPECT(strcmp(observe_check(&kit), "") != 0);
        const struct rebuild_counts counts = rebuild(&kit);
        EXPECT(counts.documents > 0);
        EXPECT_TEXT(observe_check(&kit), "");
        struct buf after = kit_dump(&kit);
        /* D has a set and patches in one commit: how long its tail is counts
         * for nothing but when the next snapshot is due. */
        if (strstr(damages[i], "SET head_seq = 1") == NULL) {
            EXPECT_TEXT(buf_text(&after), buf_text(&before));
        }
        buf_release(&before);
        buf_release(&after);
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':3,'y':4}}");
        EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
        EXPECT_TEXT(kit_read(&kit, "b/A"), "{'value':{'x':9,'y':4}}");
        EXPECT_TEXT(kit_read(&kit, "D"), "{'value':{'x':1,'y':2}}");
        EXPECT_TEXT(kit_read(&kit, "U~user:Alice"), "{'value':1}");
        EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
        EXPECT_LANDED(&kit, 7, "s3 1 | conf A @3 | replace A.x 5");
        EXPECT_TEXT(observe_check(&kit), "");
        kit_close(&kit);
    }
}

TEST(snapshots_that_the_history_contradicts_go)
{
    static const char *const damages[] = {
        "UPDATE snapshot SET value = '{\"value\":{\"x\":0}}'",
        "UPDATE snapshot SET value = 'nonsense'",
        "UPDATE snapshot SET seq = 2",
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct store_kit kit;
        fill(&kit, &often);
        kit_run(&kit, damages[i]);
        EXPECT(strcmp(observe_check(&kit), "") != 0);
        const struct rebuild_counts counts = rebuild(&kit);
        EXPECT(counts.snapshots > 0);
        EXPECT_EQ(counts.documents, 0);
        EXPECT_TEXT(observe_check(&kit), "");
        EXPECT_TEXT(kit_sql(&kit,
                            "SELECT tail_count, base_seq FROM document"
                            " WHERE id = 'A' AND branch = 0"),
                    "3|1;");
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':3,'y':4}}");
        EXPECT_LANDED(&kit, 7, "s3 1 | replace A.x 5"); /* and come again */
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':5,'y':4}}");
        EXPECT_TEXT(kit_sql(&kit, "SELECT max(seq) FROM snapshot"), "7;");
        EXPECT_TEXT(observe_check(&kit), "");
        kit_close(&kit);
    }
}

/* Otherwise it would be rebuilt to something that never was. */
TEST(nothing_is_rebuilt_from_a_history_that_does_not_hold)
{
    static const char *const damages[] = {
        "DELETE FROM revision WHERE seq = 3",
        ("UPDATE revision SET data = '{\"value\":{\"x\":7}}' WHERE seq = 1 AND"
         " op_index = 0"),
        "UPDATE \"commit\" SET chain = zeroblob(32) WHERE seq = 3",
        "DELETE FROM \"commit\" WHERE seq = 2",
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct store_kit kit;
        fill(&kit, &often);
        kit_run(&kit, damages[i]);
        kit_run(&kit, "UPDATE document SET base_seq = 7 WHERE id = 'D'");
        struct buf before = kit_dump(&kit);
        const struct rebuild_counts counts = rebuild(&kit);
        EXPECT_EQ(counts.documents + counts.snapshots, 0);
        struct buf after = kit_dump(&kit);
        EXPECT_TEXT(buf_text(&after), buf_text(&before));
        EXPECT(strcmp(observe_check(&kit), "") != 0);
        buf_release(&before);
        buf_release(&after);
        kit_close(&kit);
    }
}

/* Below the horizon the folded revision is what there is. */
TEST(a_compacted_space_is_rebuilt_as_well)
{
    struct store_kit kit;
    kit_open_memory(&kit, &often);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1} | set B 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | delete B");
    EXPECT_LANDED(&kit, 4, "s1 4 | replace A.x 4");
    struct compact_counts folded;
    EXPECT_INT(
        engine_compact(&kit.engine, ENGINE_HEAD, NULL, NULL, &folded, NULL),
        ERR_OK);
    EXPECT_LANDED(&kit, 5, "s1 5 | replace A.x 5");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_run(&kit, "UPDATE document SET head_seq = 3, base_seq = 1");
    EXPECT_EQ(rebuild(&kit).documents, 2);
    EXPECT_TEXT(observe_check(&kit), "");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':5}}");
    EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
    kit_close(&kit);
}

/* An index that has lost a row: what it should find is not found. */
TEST(indexes_are_made_anew)
{
    struct store_kit kit;
    fill(&kit, NULL);
    kit_run_unseen(&kit,
                   "PRAGMA writable_schema = ON;"
                   "UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX"
                   " document_by_id ON document(branch, scope, id) WHERE"
                   " id <> ''A''' WHERE name = 'document_by_id';"
                   "PRAGMA writable_schema = RESET;"
                   "REINDEX document_by_id;"
                   "PRAGMA writable_schema = ON;"
                   "UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX"
                   " document_by_id ON document(branch, scope, id)'"
                   " WHERE name = 'document_by_id';"
                   "PRAGMA writable_schema = RESET");
    engine_forget(&kit.engine);
    EXPECT_CONTAINS(observe_check(&kit), "integrity: ");
    const struct rebuild_counts counts = rebuild(&kit);
    EXPECT(counts.indexes);
    EXPECT_TEXT(observe_check(&kit), "");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':3,'y':4}}");
    kit_close(&kit);
}
