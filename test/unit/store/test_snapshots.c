/* Reading at any seq, and snapshots: they change the cost, never the answer
 * (scenarios D, A14 and the engine's engine-2). */

#include <stdio.h>
#include <string.h>

#include "lib/gen.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/json.h"

TEST(d01_a_document_can_be_read_at_every_seq)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | delete A");
    EXPECT_LANDED(&kit, 4, "s1 4 | set A 4");
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_read_at(&kit, "A", 0), "(absent)");
        EXPECT_TEXT(kit_read_at(&kit, "A", 1), "{'value':{'x':1}}");
        EXPECT_TEXT(kit_read_at(&kit, "A", 2), "{'value':{'x':2}}");
        EXPECT_TEXT(kit_read_at(&kit, "A", 3), "(absent)");
        EXPECT_TEXT(kit_read_at(&kit, "A", 4), "{'value':4}");
        kit_reopen(&kit);
    }
    kit_close(&kit);
}

TEST(d02_a_snapshot_replaces_the_revisions_before_it)
{
    const struct engine_options options = {.snapshot_patches = 2};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.y 3");
    EXPECT_TEXT(kit_sql(&kit, "SELECT * FROM snapshot"),
                "1|3|{'value':{'x':2,'y':3}};");
    EXPECT_LANDED(&kit, 4, "s1 4 | replace A.z 4");
    kit_run(&kit, "DELETE FROM revision WHERE seq = 2");
    EXPECT_TEXT(kit_read_at(&kit, "A", 3), "{'value':{'x':2,'y':3}}");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':2,'y':3,'z':4}}");
    kit_close(&kit);
}

TEST(d03_old_snapshots_go_and_old_seqs_stay_readable)
{
    const struct engine_options options = {.snapshot_patches = 1,
                                           .snapshots_kept = 2};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.x 3");
    EXPECT_LANDED(&kit, 4, "s1 4 | replace A.x 4");
    EXPECT_TEXT(kit_sql(&kit, "SELECT seq FROM snapshot"), "3;4;");
    EXPECT_EQ(kit.engine.counters.snapshots, 3);
    EXPECT_TEXT(kit_read_at(&kit, "A", 2), "{'value':{'x':2}}");
    kit_run(&kit, "DELETE FROM snapshot");
    EXPECT_TEXT(kit_read_at(&kit, "A", 3), "{'value':{'x':3}}");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':4}}");
    kit_close(&kit);
}

TEST(d04_a_seq_beyond_the_head_of_the_branch_is_out_of_range)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_TEXT(kit_read_at(&kit, "A", 1), "SEQUENCE");
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_TEXT(kit_read_at(&kit, "A", 1), "{'value':1}");
    EXPECT_TEXT(kit_read_at(&kit, "A", 2), "SEQUENCE");
    EXPECT_CONTAINS(kit.detail.text, "seq 2 is out of range");
    EXPECT_TEXT(kit_read_at(&kit, "A", ENGINE_HEAD - 1), "SEQUENCE");
    EXPECT_TEXT(kit_read_at(&kit, "A", (uint64_t)INT64_MAX + 1), "SEQUENCE");
    kit_close(&kit);
}

TEST(a_set_needs_no_snapshot_and_begins_a_new_tail)
{
    const struct engine_options options = {.snapshot_patches = 2};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | add A.x 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set A {'x':2}");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.x 3");
    EXPECT_LANDED(&kit, 4, "s1 4 | delete A");
    EXPECT_LANDED(&kit, 5, "s1 5 | replace A!.x 5");
    EXPECT_LANDED(&kit, 6, "s1 6 | replace A!.x 6");
    /* A patch of nothing is a set, too. */
    EXPECT_TEXT(kit_sql(&kit, "SELECT op FROM revision"),
                "set;set;patch;delete;set;patch;");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM snapshot"), "0;");
    EXPECT_LANDED(&kit, 7, "s1 7 | replace A!.x 7");
    EXPECT_TEXT(kit_sql(&kit, "SELECT * FROM snapshot"), "1|7|{'x':7};");
    EXPECT_LANDED(&kit, 8, "s1 8 | replace A!.x 8");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM snapshot"), "1;");
    kit_close(&kit);
}

TEST(a_tail_larger_than_its_document_makes_a_snapshot)
{
    const struct engine_options options = {.snapshot_patches = 1000,
                                           .snapshot_bytes = 300};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0}");
    uint64_t seq = 1;
    while (kit.engine.counters.snapshots == 0 && seq < 20) {
        struct buf commit = {0};
        seq++;
        buf_printf(&commit, "s1 %u | replace A.x 1", (unsigned)seq);
        EXPECT_LANDED(&kit, seq, buf_text(&commit));
        buf_release(&commit);
    }
    /* 47 bytes a patch. */
    EXPECT_EQ(seq, 8);
    EXPECT_TEXT(kit_sql(&kit, "SELECT tail_count, tail_bytes FROM document"),
                "0|0;");
    kit_close(&kit);
}

/* -- Several operations on one document in one commit -------------------- */

/* Each list of operations, with every interval that could fall inside it. */
static void expect_fold(const char *ops, const char *want)
{
    for (uint32_t interval = 1; interval <= 4; interval++) {
        const struct engine_options options = {.snapshot_patches = interval};
        struct store_kit kit;
        kit_open_file(&kit, &options);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0}");
        struct buf commit = {0};
        buf_printf(&commit, "s1 2 | %s", ops);
        EXPECT_LANDED(&kit, 2, buf_text(&commit));
        buf_release(&commit);
        EXPECT_TEXT(kit_read(&kit, "A"), want);
        EXPECT_LANDED(&kit, 3, "s1 3 | set B 1");
        kit_reopen(&kit);
        if (!EXPECT_TEXT(kit_read(&kit, "A"), want) ||
            !EXPECT_TEXT(kit_read_at(&kit, "A", 2), want)) {
            (void)test_fail(__FILE__, __LINE__, "%s by %u", ops, interval);
        }
        EXPECT_TEXT(kit_read_at(&kit, "A", 1), "{'value':{'x':0}}");
        EXPECT_LANDED(&kit, 4, "s1 4 | add A!.end 1");
        kit_reopen(&kit);
        EXPECT_TEXT(kit_read_at(&kit, "A", 3), want);
        kit_close(&kit);
    }
}

TEST(d07_the_last_of_several_operations_on_one_id_is_the_head)
{
    expect_fold("add A.x 1 | set A {'y':1} | add A.z 2",
                "{'value':{'y':1,'z':2}}");
    expect_fold("add A.a 1 | add A.b 2 | add A.c 3",
                "{'value':{'a':1,'b':2,'c':3,'x':0}}");
    expect_fold("add A.a 1 | add A.b 2 | set A {'s':1}", "{'value':{'s':1}}");
    expect_fold("add A.a 1 | add A.b 2 | delete A", "(absent)");
    expect_fold("add A.a 1 | delete A | add A.b 2 | add A.c 3",
                "{'value':{'b':2,'c':3}}");
    expect_fold("delete A | set A 1 | set A 2", "{'value':2}");
}

/* -- The cost ------------------------------------------------------------ */

static void patch_many(struct store_kit *kit, unsigned commits)
{
    static char lines[KIT_GROUP_MAX][64];
    const char *group[KIT_GROUP_MAX];
    unsigned done = 0;
    while (done < commits) {
        unsigned count = 0;
        while (count < KIT_GROUP_MAX && done < commits) {
            (void)snprintf(lines[count],
                           sizeof lines[count],
                           "s2 %u | replace A.x %u",
                           done,
                           done);
            group[count] = lines[count];
            count++;
            done++;
        }
        kit_group(kit, group, count);
        CHECK(kit->fault == ERR_OK && kit->verdicts[count - 1].err == ERR_OK);
    }
}

/* Steps of SQLite's machine that a statement has made since the last time. */
static int steps_of(struct store_kit *kit, enum statement statement)
{
    sqlite3_stmt *stmt = kit->engine.database.statement[statement];
    return stmt != NULL
               ? sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1)
               : 0;
}

/* What a commit with a stale view and nothing in the cache makes SQLite do to
 * find the latest base, and whole writes behind a read. */
static int steps_behind(unsigned patches)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0,'y':0}");
    patch_many(&kit, patches);
    engine_forget(&kit.engine);
    (void)steps_of(&kit, STATEMENT_REVISION_BASE);
    (void)steps_of(&kit, STATEMENT_REVISION_BASES_AFTER);
    kit_commit(&kit, "s1 2 | shape conf A.x.z @1 | replace A.y 1");
    (void)kit_read_at(&kit, "A", patches);
    const int steps = steps_of(&kit, STATEMENT_REVISION_BASE) +
                      steps_of(&kit, STATEMENT_REVISION_BASES_AFTER);
    EXPECT(steps_of(&kit, STATEMENT_REVISION_BASE) == 0);
    kit_close(&kit);
    return steps;
}

TEST(defect_4_the_latest_base_is_found_without_walking_the_patches)
{
    const int few = steps_behind(20);
    EXPECT(few > 0);
    EXPECT_EQ(steps_behind(2000), few);
}

TEST(a14_the_work_for_one_more_patch_does_not_grow_with_the_history)
{
    enum {
        INTERVAL = 50,
        SOME = 8,
        PATCHES = 10000
    };
    const struct engine_options options = {.snapshot_patches = INTERVAL,
                                           .snapshot_bytes = UINT32_MAX};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0}");
    patch_many(&kit, PATCHES + INTERVAL / 2);
    const uint64_t head = 1 + PATCHES + INTERVAL / 2;
    /* Nothing is known but the file. */
    engine_forget(&kit.engine);
    struct engine_counters before = kit.engine.counters;
    struct buf commit = {0};
    buf_printf(&commit, "s1 2 | conf A.x @%u | replace A.x 1", (unsigned)head);
    EXPECT_LANDED(&kit, head + 1, buf_text(&commit));
    buf_release(&commit);
    EXPECT(kit.engine.counters.rows - before.rows <= INTERVAL + SOME);
    EXPECT(kit.engine.counters.decodes - before.decodes <= INTERVAL + SOME);
    /* With the head in the cache it is nothing at all. */
    before = kit.engine.counters;
    EXPECT_LANDED(&kit, head + 2, "s1 3 | replace A.x 2");
    EXPECT_EQ(kit.engine.counters.rows, before.rows);
    EXPECT_EQ(kit.engine.counters.decodes, before.decodes);
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM snapshot"), "2;");
    kit_close(&kit);
}

TEST(a_hot_document_is_read_without_a_row)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0}");
    EXPECT_LANDED(&kit, 2, "s1 2 | add A.y 0");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':0,'y':0}}");
    const struct engine_counters before = kit.engine.counters;
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':0,'y':0}}");
    EXPECT_EQ(kit.engine.counters.rows, before.rows);
    EXPECT_EQ(kit.engine.counters.decodes, before.decodes);
    kit_close(&kit);
}

TEST(a_cache_of_one_document_gives_the_same_answers)
{
    const struct engine_options options = {.documents_cached = 1};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0} | set B 1 | set C 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | conf B @1 | add A.y 1 | set C 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | conf C @2 | conf A @2 | add A.z 1");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':0,'y':1,'z':1}}");
    EXPECT_TEXT(kit_read(&kit, "B"), "{'value':1}");
    EXPECT_TEXT(kit_read(&kit, "C"), "{'value':2}");
    EXPECT(kit.engine.documents.count <= 3);
    kit_close(&kit);
}

TEST(a_document_of_many_patches_stays_cached_beside_many_that_are_set_once)
{
    const struct engine_options options = {.documents_cached = 4};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0}");
    EXPECT_LANDED(&kit, 2, "s1 2 | add A.y 1");
    EXPECT_LANDED(&kit, 3, "s1 3 | set B 1 | set C 1 | set D 1 | set E 1");
    EXPECT_LANDED(&kit, 4, "s1 4 | set F 1");
    const struct engine_counters before = kit.engine.counters;
    EXPECT_LANDED(&kit, 5, "s1 5 | add A.z 1");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':0,'y':1,'z':1}}");
    EXPECT_EQ(kit.engine.counters.decodes, before.decodes);
    EXPECT(kit.engine.documents.count <= 6);
    kit_close(&kit);
}

/* -- Any history --------------------------------------------------------- */

enum {
    ENGINES = 4,
    STEPS = 24,
};

/* One random operation on A or B, as a part of a commit. */
static void put_step(struct buf *to, struct random *random, unsigned step)
{
    const char *id = random_one_in(random, 4) ? "B" : "A";
    const unsigned key = (unsigned)random_below(random, 4);
    switch (random_below(random, 12)) {
    case 0:
        buf_printf(to, " | set %s {'k0':%u,'list':[%u]}", id, step, step);
        break;
    case 1:
        buf_printf(to, " | delete %s", id);
        break;
    case 2:
    case 3:
        buf_printf(to, " | append %s.more [%u]", id, step);
        break;
    case 4:
        buf_printf(to, " | increment %s.count %u", id, key + 1);
        break;
    case 5:
        buf_printf(to, " | remove %s.k%u", id, key); /* may be refused */
        break;
    default:
        buf_printf(to, " | add %s.k%u {'n':%u}", id, key, step);
        break;
    }
}

static void expect_same_reads(struct store_kit kits[ENGINES], uint64_t seq)
{
    static const char *const names[] = {"A", "B", "b/A", "b/B"};
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        struct buf want = {0};
        buf_append_text(&want, kit_read_at(&kits[0], names[n], seq));
        for (size_t i = 1; i < ENGINES; i++) {
            EXPECT_TEXT(kit_read_at(&kits[i], names[n], seq), buf_text(&want));
        }
        buf_release(&want);
    }
}

PROPERTY(snapshots_change_the_cost_and_never_the_answer, 12)
{
    static const struct engine_options options[ENGINES] = {
        {.snapshot_patches = UINT32_MAX, .snapshot_bytes = UINT32_MAX},
        {.snapshot_patches = 1, .documents_cached = 1},
        {.snapshot_patches = 3, .snapshots_kept = 1},
        {.snapshot_patches = 100, .snapshot_bytes = 60},
    };
    struct store_kit kits[ENGINES];
    for (size_t i = 0; i < ENGINES; i++) {
        kit_open_memory(&kits[i], &options[i]);
    }
    for (unsigned step = 1; step <= STEPS; step++) {
        struct buf commit = {0};
        buf_printf(&commit, "s1 %u", step);
        const bool branched = step > STEPS / 3 && random_one_in(random, 2);
        buf_append_text(&commit, branched ? " | branch b" : "");
        for (uint64_t n = 1 + random_below(random, 4); n > 0; n--) {
            put_step(&commit, random, step);
        }
        for (size_t i = 0; i < ENGINES; i++) {
            if (step == STEPS / 3) {
                EXPECT_INT(kit_fork(&kits[i], "b", "", ENGINE_HEAD), ERR_OK);
            }
            kit_commit(&kits[i], buf_text(&commit));
            EXPECT_INT(kits[i].fault, ERR_OK);
            EXPECT_INT(kits[i].verdicts[0].err, kits[0].verdicts[0].err);
        }
        buf_release(&commit);
    }
    for (size_t i = 0; i < ENGINES; i++) {
        engine_forget(&kits[i].engine);
    }
    for (uint64_t seq = 0; seq <= kits[0].engine.seq; seq++) {
        expect_same_reads(kits, seq);
    }
    expect_same_reads(kits, ENGINE_HEAD);
    for (size_t i = 0; i < ENGINES; i++) {
        kit_close(&kits[i]);
    }
}

/* -- What is looked for -------------------------------------------------- */

/* How often this engine has looked for a snapshot. */
static int searches(const struct store_kit *kit)
{
    sqlite3_stmt *stmt =
        kit->engine.database.statement[STATEMENT_SNAPSHOT_LAST];
    return stmt != NULL ? sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_RUN, 0)
                        : 0;
}

/* To look for one that is not there costs as much as the longest one that is:
 * SQLite reads what is beside it. */
TEST(a_snapshot_is_looked_for_only_where_there_can_be_one)
{
    const struct engine_options options = {.snapshot_patches = 3};
    struct store_kit kit;
    kit_open_file(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | set B {'x':1}");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace B.x 2");
    EXPECT_LANDED(&kit, 4, "s1 4 | set C {'x':1}");
    EXPECT_LANDED(&kit, 5, "s1 5 | replace C.x 2");
    EXPECT_LANDED(&kit, 6, "s1 6 | replace C.x 3");
    EXPECT_LANDED(&kit, 7, "s1 7 | replace C.x 4");
    EXPECT_EQ(kit.engine.counters.snapshots, 1);
    for (int patched = 0; patched < 3; patched++) {
        kit_reopen(&kit);
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':1}}");
        EXPECT_TEXT(kit_read(&kit, "B"), "{'value':{'x':2}}");
        EXPECT_EQ(searches(&kit), 0);
        char want[32];
        (void)snprintf(want, sizeof want, "{'value':{'x':%d}}", 4 + patched);
        EXPECT_TEXT(kit_read(&kit, "C"), want);
        EXPECT_EQ(searches(&kit), 1);
        char line[64];
        (void)snprintf(line,
                       sizeof line,
                       "s1 %d | replace C.x %d",
                       8 + patched,
                       5 + patched);
        EXPECT_LANDED(&kit, (uint64_t)(8 + patched), line);
    }
    kit_close(&kit);
}
