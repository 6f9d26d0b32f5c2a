/* The check of a space: it finds nothing in a sound one, and every kind of
 * damage in one that was edited behind the engine's back. */

#include "lib/store_kit.h"
#include "lib/test.h"
#include "store/verify.h"

struct findings {
    struct buf text;
    uint64_t stop_after; /* 0: never */
    uint64_t calls;
};

static void note_difference(void *ctx, const char *sentence)
{
    struct findings *findings = ctx;
    buf_append_text(&findings->text, sentence);
    buf_append_char(&findings->text, ';');
}

static bool note_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct findings *findings = ctx;
    EXPECT(done <= total);
    findings->calls++;
    return findings->stop_after == 0 || findings->calls < findings->stop_after;
}

static struct verify_counts verify(struct store_kit *kit,
                                   struct findings *findings)
{
    const struct verify_options options = {
        .difference = note_difference,
        .progress = note_progress,
        .ctx = findings,
    };
    struct verify_counts counts;
    struct err_detail detail = {0};
    EXPECT_EQ(engine_verify(&kit->engine, &options, &counts, &detail), ERR_OK);
    return counts;
}

/* Sets, patches, deletes, a snapshot, branches, scopes, several operations. */
static void fill(struct store_kit *kit)
{
    const struct engine_options options = {.snapshot_patches = 2};
    kit_open_memory(kit, &options);
    kit->principal = "Alice";
    EXPECT_LANDED(kit, 1, "s1 1 | set A {'x':1} | set B 2 | set U~user 1");
    EXPECT_LANDED(kit, 2, "s1 2 | conf A @1 | replace A.x 2");
    EXPECT_LANDED(kit, 3, "s1 3 | replace A.x 3 | replace A.y 4");
    EXPECT_LANDED(kit, 4, "s2 1 | delete B");
    EXPECT_EQ(kit_fork(kit, "b", "", 3), ERR_OK);
    EXPECT_LANDED(kit, 5, "s2 2 | branch b | replace A.x 9");
    EXPECT_EQ(kit_branch_delete(kit, "b"), ERR_OK);
    EXPECT_LANDED(kit, 6, "s1 4 | pend A.x [2,3] b=1 | replace A.x 5");
}

TEST(a_sound_space_has_no_differences)
{
    struct store_kit kit;
    struct findings findings = {0};
    fill(&kit);
    const struct verify_counts counts = verify(&kit, &findings);
    EXPECT_TEXT(buf_text(&findings.text), "");
    EXPECT_EQ(counts.differences, 0);
    EXPECT_EQ(counts.commits, 6);
    EXPECT_EQ(counts.revisions, 9);
    EXPECT_EQ(counts.documents, 4);
    EXPECT(counts.snapshots > 0);
    buf_release(&findings.text);
    kit_close(&kit);
}

TEST(every_kind_of_damage_is_found_and_named)
{
    static const struct {
        const char *sql;
        const char *sentence;
    } rows[] = {
        {"UPDATE revision SET data = '{\"value\":{\"x\":7}}' WHERE seq = 1 AND "
         "op_index = 0",
         "the digest chain breaks at record 1"},
        {"UPDATE \"commit\" SET chain = zeroblob(32) WHERE seq = 3",
         "the digest chain breaks at record 3"},
        {"UPDATE \"commit\" SET local_seq = 77 WHERE seq = 2",
         "the digest chain breaks at record 2"},
        {"DELETE FROM \"commit\" WHERE seq = 2", "commit 3 follows commit 1"},
        {"DELETE FROM revision WHERE seq = 4",
         "commit 4: a revision is missing"},
        {"UPDATE document SET head_seq = 2 WHERE id = 'A' AND branch = 0",
         "A: its row does not match its last revision"},
        {"UPDATE document SET base_seq = 2 WHERE id = 'A' AND branch = 0",
         "A: its row refers to the wrong base"},
        {"UPDATE snapshot SET value = '{\"value\":{\"x\":0}}'",
         "A: a snapshot at seq 3 does not match its revisions"},
        {"UPDATE snapshot SET value = 'nonsense'", "a snapshot is damaged"},
        {"UPDATE revision SET data = '[1' WHERE seq = 6", "commit 6"},
        {"INSERT INTO revision VALUES(1, 5, 9, 'patch', '[]', NULL)",
         "revisions, but commits name"},
        {"UPDATE \"commit\" SET context = NULL WHERE seq = 2",
         "the digest chain breaks at record 2"},
        {"UPDATE branch SET fork_seq = 2 WHERE branch = 1",
         "the digest chain breaks at record 5"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct store_kit kit;
        struct findings findings = {0};
        fill(&kit);
        kit_run(&kit, rows[i].sql);
        const struct verify_counts counts = verify(&kit, &findings);
        EXPECT(counts.differences > 0);
        EXPECT_CONTAINS(buf_text(&findings.text), rows[i].sentence);
        buf_release(&findings.text);
        kit_close(&kit);
    }
}

TEST(the_check_can_be_stopped)
{
    struct store_kit kit;
    struct findings findings = {.stop_after = 1};
    kit_open_memory(&kit, NULL);
    for (unsigned i = 1; i <= 200; i++) {
        struct buf line = {0};
        buf_printf(&line, "s1 %u | set A%u %u", i, i, i);
        EXPECT_LANDED(&kit, i, buf_text(&line));
        buf_release(&line);
    }
    const struct verify_counts counts = verify(&kit, &findings);
    EXPECT(counts.stopped);
    EXPECT(counts.commits < 200);
    EXPECT_EQ(counts.differences, 0);
    buf_release(&findings.text);
    kit_close(&kit);
}
