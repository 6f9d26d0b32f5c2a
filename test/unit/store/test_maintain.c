/* Compaction and backup: the present never changes, the past goes where it was
 * told to, and a copy is whole or not there. */

#include "store/maintain.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/fault_vfs.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "store/verify.h"

static struct compact_counts compact(struct store_kit *kit, uint64_t keep_from)
{
    struct compact_counts counts;
    struct err_detail detail = {0};
    const enum err err =
        engine_compact(&kit->engine, keep_from, NULL, NULL, &counts, &detail);
    EXPECT_EQ(err, ERR_OK);
    return counts;
}

static void expect_sound(struct store_kit *kit)
{
    const struct verify_options options = {.difference = NULL};
    struct verify_counts counts;
    EXPECT_EQ(engine_verify(&kit->engine, &options, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.differences, 0);
}

static void fill(struct store_kit *kit)
{
    EXPECT_LANDED(kit, 1, "s1 1 | set A {'x':1} | set B 1 | set C 1");
    EXPECT_LANDED(kit, 2, "s1 2 | replace A.x 2 | set B 2");
    EXPECT_LANDED(kit, 3, "s1 3 | replace A.x 3 | delete C");
    EXPECT_LANDED(kit, 4, "s1 4 | replace A.y 4");
    EXPECT_LANDED(kit, 5, "s1 5 | replace A.x 5 | set B 5");
}

TEST(compaction_keeps_the_present_and_what_is_above_the_horizon)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    fill(&kit);
    const struct compact_counts counts = compact(&kit, 3);
    EXPECT_EQ(counts.horizon, 3);
    EXPECT(counts.revisions >= 4);
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':5,'y':4}}");
    EXPECT_TEXT(kit_read_at(&kit, "A", 4), "{'value':{'x':3,'y':4}}");
    EXPECT_TEXT(kit_read_at(&kit, "A", 3), "{'value':{'x':3}}");
    EXPECT_TEXT(kit_read_at(&kit, "B", 3), "{'value':2}");
    EXPECT_TEXT(kit_read_at(&kit, "C", 4), "(absent)");
    EXPECT_TEXT(kit_read_at(&kit, "A", 2), "SEQUENCE");
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT seq, revision.op FROM revision JOIN document "
                        "USING(document) WHERE id = 'A' ORDER BY seq"),
                "3|set;4|patch;5|patch;");
    expect_sound(&kit);
    kit_close(&kit);
}

TEST(compaction_survives_a_restart_and_goes_on)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    fill(&kit);
    (void)compact(&kit, 2);
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read_at(&kit, "A", 1), "SEQUENCE");
    EXPECT_TEXT(kit_read_at(&kit, "A", 2), "{'value':{'x':2}}");
    EXPECT_EQ(compact(&kit, ENGINE_HEAD).horizon, 5);
    EXPECT_EQ(compact(&kit, 1).horizon, 5); /* it never goes back */
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM revision"), "3;");
    EXPECT_LANDED(&kit, 6, "s1 6 | replace A.x 6");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':6,'y':4}}");
    expect_sound(&kit);
    kit_close(&kit);
}

TEST(a_replay_from_before_the_horizon_gets_its_answer)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    fill(&kit);
    (void)compact(&kit, ENGINE_HEAD);
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2 | set B 2");
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_REFUSED(&kit, ERR_RECEIPT_EXISTS, "C", "s2 1 | absent C | set C 1");
    kit_close(&kit);
}

TEST(a_read_from_before_the_horizon_is_judged_strictly)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1} | set B 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 2 | replace A.y 2");
    (void)compact(&kit, ENGINE_HEAD);
    /* Which keys of A changed is forgotten; that B did not is known. */
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "A", "s1 3 | conf A.z @1 | set D 1");
    EXPECT_LANDED(&kit, 4, "s1 4 | conf B @1 | set D 1");
    /* The foreign change is folded into the session's own revision. */
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "A",
                   "s1 5 | pend A.x [2] b=1 | set D 2");
    kit_close(&kit);
}

TEST(the_horizon_does_not_pass_a_fork)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    fill(&kit);
    EXPECT_EQ(kit_fork(&kit, "b", "", 2), ERR_OK);
    EXPECT_EQ(compact(&kit, ENGINE_HEAD).horizon, 2);
    EXPECT_TEXT(kit_read(&kit, "b/A"), "{'value':{'x':2}}");
    EXPECT_LANDED(&kit, 6, "s9 1 | branch b | replace A.x 7");
    EXPECT_TEXT(kit_read(&kit, "b/A"), "{'value':{'x':7}}");
    EXPECT_EQ(kit_fork(&kit, "c", "", 1), ERR_SEQUENCE);
    expect_sound(&kit);
    kit_close(&kit);
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
    unsigned *calls = ctx;
    EXPECT(done <= total);
    ++*calls;
    return false;
}

TEST(compaction_can_be_stopped_between_two_steps_and_goes_on_later)
{
    struct store_kit kit;
    unsigned calls = 0;
    struct compact_counts counts;
    kit_open_memory(&kit, NULL);
    for (unsigned i = 1; i <= 300; i++) {
        struct buf line = {0};
        buf_printf(&line, "s1 %u | set A%u %u", i, i % 150, i);
        EXPECT_LANDED(&kit, i, buf_text(&line));
        buf_release(&line);
    }
    EXPECT_EQ(engine_compact(&kit.engine,
                             ENGINE_HEAD,
                             stop_at_once,
                             &calls,
                             &counts,
                             NULL),
              ERR_OK);
    EXPECT(counts.stopped);
    EXPECT_EQ(calls, 1);
    EXPECT(counts.documents < 150);
    expect_sound(&kit);
    EXPECT_EQ(compact(&kit, ENGINE_HEAD).documents, 150);
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM revision"), "150;");
    expect_sound(&kit);
    kit_close(&kit);
}

/* The same history with and without compaction reads the same. */
PROPERTY(compaction_never_changes_what_can_still_be_read, 40)
{
    struct store_kit plain;
    struct store_kit folded;
    const struct engine_options options = {
        .snapshot_patches = (uint32_t)random_between(random, 1, 6)};
    kit_open_memory(&plain, &options);
    kit_open_memory(&folded, &options);
    uint64_t horizon = 0;
    for (unsigned i = 1; i <= 30; i++) {
        struct buf line = {0};
        buf_printf(&line, "s1 %u | ", i);
        const int doc = (int)random_below(random, 3);
        const int n = (int)random_below(random, 4);
        switch (random_below(random, 8)) {
        case 0:
            buf_printf(&line, "set D%d {'x':%d}", doc, n);
            break;
        case 1:
            buf_printf(&line, "delete D%d", doc);
            break;
        default:
            buf_printf(&line, "add D%d.k%d %u", doc, n, i);
            break;
        }
        kit_commit(&plain, buf_text(&line));
        kit_commit(&folded, buf_text(&line));
        EXPECT_EQ(plain.verdicts[0].err, folded.verdicts[0].err);
        buf_release(&line);
        if (random_one_in(random, 6)) {
            horizon =
                compact(&folded, random_below(random, folded.engine.seq + 1))
                    .horizon;
        }
    }
    for (uint64_t seq = horizon; seq <= plain.engine.seq; seq++) {
        for (int doc = 0; doc < 3; doc++) {
            char name[16];
            (void)snprintf(name, sizeof name, "D%d", doc);
            EXPECT_TEXT(kit_read_at(&folded, name, seq),
                        kit_read_at(&plain, name, seq));
        }
    }
    expect_sound(&folded);
    kit_close(&plain);
    kit_close(&folded);
}

/* -- Backup -------------------------------------------------------------- */

TEST(a_backup_is_a_space_of_its_own)
{
    struct store_kit kit;
    struct store_kit copy;
    struct buf path = {0};
    struct err_detail detail = {0};
    kit_open_file(&kit, NULL);
    fill(&kit);
    buf_printf(&path, "%s/copy.db", kit.folder);
    EXPECT_EQ(engine_backup(&kit.engine, buf_text(&path), NULL, NULL, &detail),
              ERR_OK);
    EXPECT_LANDED(&kit, 6, "s1 6 | set A 6"); /* after the copy */

    const struct engine_options options = {.path = buf_text(&path)};
    copy = (struct store_kit){.options = options};
    EXPECT_EQ(engine_open(&copy.engine, &options, &detail), ERR_OK);
    EXPECT_TEXT(kit_read(&copy, "A"), "{'value':{'x':5,'y':4}}");
    EXPECT_EQ(copy.engine.seq, 5);
    expect_sound(&copy);
    engine_close(&copy.engine);
    for (unsigned i = 0; i < KIT_TEXTS; i++) {
        buf_release(&copy.texts[i]);
    }

    /* It never takes the place of another file. */
    EXPECT_EQ(engine_backup(&kit.engine, buf_text(&path), NULL, NULL, &detail),
              ERR_ARGUMENT);
    EXPECT_CONTAINS(detail.text, "copy.db");
    buf_release(&path);
    kit_close(&kit);
}

/* How many files a folder has whose name contains `part`. */
static unsigned count_files(const char *folder, const char *part)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    const struct dirent *entry = readdir(dir);
    while (entry != NULL) {
        count += strstr(entry->d_name, part) != NULL ? 1 : 0;
        entry = readdir(dir);
    }
    (void)closedir(dir);
    return count;
}

static bool watch_folder(void *ctx, uint64_t done, uint64_t total)
{
    const struct store_kit *kit = ctx;
    EXPECT(done <= total);
    EXPECT(count_files(kit->folder, "copy.db.part-") > 0);
    EXPECT_EQ(count_files(kit->folder, "copy.db"),
              count_files(kit->folder, "copy.db.part-"));
    return true;
}

static void fill_pages(struct store_kit *kit, unsigned documents)
{
    for (unsigned i = 1; i <= documents; i++) {
        struct buf line = {0};
        buf_printf(&line, "s1 %u | set A%u '%0*d'", i, i, 40000, 7);
        kit_commit(kit, buf_text(&line));
        EXPECT_EQ(kit->verdicts[0].err, ERR_OK);
        buf_release(&line);
    }
}

static void expect_sound_copy(const char *path, uint64_t seq)
{
    struct store_kit copy = {.options = {.path = path}};
    EXPECT_EQ(engine_open(&copy.engine, &copy.options, NULL), ERR_OK);
    EXPECT_EQ(copy.engine.seq, seq);
    expect_sound(&copy);
    engine_close(&copy.engine);
}

TEST(a_backup_has_no_name_before_it_is_whole)
{
    struct store_kit kit;
    struct buf path = {0};
    kit_open_file(&kit, NULL);
    fill_pages(&kit, 100);
    buf_printf(&path, "%s/copy.db", kit.folder);
    EXPECT_EQ(
        engine_backup(&kit.engine, buf_text(&path), watch_folder, &kit, NULL),
        ERR_OK);
    EXPECT_EQ(count_files(kit.folder, "copy.db"), 1);
    expect_sound_copy(buf_text(&path), 100);
    buf_release(&path);
    kit_close(&kit);
}

/* Somebody else takes the name while the copy is made. */
static bool take_the_name(void *ctx, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    FILE *file = fopen(ctx, "w");
    CHECK(file != NULL);
    (void)fputs("mine", file);
    (void)fclose(file);
    return true;
}

TEST(a_backup_does_not_replace_a_file_that_came_meanwhile)
{
    struct store_kit kit;
    struct buf path = {0};
    struct err_detail detail = {0};
    char left[8] = {0};
    kit_open_file(&kit, NULL);
    fill_pages(&kit, 100);
    buf_printf(&path, "%s/copy.db", kit.folder);
    EXPECT_EQ(engine_backup(&kit.engine,
                            buf_text(&path),
                            take_the_name,
                            path.at,
                            &detail),
              ERR_ARGUMENT);
    EXPECT_CONTAINS(detail.text, "exists");
    FILE *file = fopen(buf_text(&path), "r");
    CHECK(file != NULL);
    EXPECT_EQ(fread(left, 1, sizeof left, file), 4);
    EXPECT_TEXT(left, "mine");
    (void)fclose(file);
    EXPECT_EQ(count_files(kit.folder, "part"), 0);
    buf_release(&path);
    kit_close(&kit);
}

/* The k-th call of a kind fails while a copy is made. True if there was one.
 * The copy is whole, or not there with nothing left of it; and the space goes
 * on. */
static bool backup_with_fault(struct store_kit *kit,
                              struct fault_plan plan,
                              unsigned *failed)
{
    struct err_detail detail = {0};
    struct buf path = {0};
    buf_printf(&path, "%s/copy.db", kit->folder);
    fault_vfs_plan(plan);
    const enum err err =
        engine_backup(&kit->engine, buf_text(&path), NULL, NULL, &detail);
    const bool reached = fault_vfs_failures() > 0;
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
    EXPECT_EQ(count_files(kit->folder, "part"), 0);
    if (err == ERR_OK) {
        EXPECT_EQ(count_files(kit->folder, "copy.db"), 1);
        expect_sound_copy(buf_text(&path), kit->engine.seq);
        kit_folder_sweep(kit->folder, "copy.db");
    } else {
        ++*failed;
        EXPECT_EQ(err_class_of(err), ERR_CLASS_FAULT);
        EXPECT(detail.text[0] != '\0');
        EXPECT_EQ(count_files(kit->folder, "copy.db"), 0);
    }
    EXPECT_CONTAINS(kit_read(kit, "A1"), "000007");
    buf_release(&path);
    return reached;
}

TEST(a_backup_on_a_failing_disk_is_whole_or_not_there)
{
    static const struct {
        enum fault_kind kind;
        unsigned failed; /* at least */
    } rows[] = {
        {FAULT_OPEN, 1},
        {FAULT_READ, 1},
        {FAULT_WRITE, 10},
        {FAULT_FULL, 10},
        {FAULT_SYNC, 1},
        {FAULT_SIZE, 1},
        {FAULT_TRUNCATE, 0},
        {FAULT_REMOVE, 1},
        {FAULT_ACCESS, 0},
        {FAULT_LOCK, 1},
    };
    struct store_kit kit;
    fault_vfs_use_real();
    const struct engine_options options = {.vfs = FAULT_REAL_VFS};
    kit_open_file(&kit, &options);
    fill_pages(&kit, 4);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unsigned failed = 0;
        bool reached = true;
        for (uint64_t k = 1; reached; k++) {
            const struct fault_plan plan = {rows[i].kind, k, k % 2 == 0};
            reached = backup_with_fault(&kit, plan, &failed);
        }
        if (!EXPECT(failed >= rows[i].failed)) {
            (void)printf("# %s\n", fault_kind_name(rows[i].kind));
        }
    }
    kit_close(&kit);
}

TEST(a_backup_that_is_stopped_or_cannot_be_made_leaves_nothing)
{
    struct store_kit kit;
    struct buf path = {0};
    struct err_detail detail = {0};
    unsigned calls = 0;
    kit_open_file(&kit, NULL);
    fill_pages(&kit, 40);
    buf_printf(&path, "%s/copy.db", kit.folder);
    EXPECT_EQ(engine_backup(&kit.engine,
                            buf_text(&path),
                            stop_at_once,
                            &calls,
                            &detail),
              ERR_BUSY);
    EXPECT(access(buf_text(&path), F_OK) != 0);
    EXPECT_EQ(count_files(kit.folder, "part"), 0);
    buf_clear(&path);
    buf_printf(&path, "%s/no/such/folder/copy.db", kit.folder);
    EXPECT_EQ(engine_backup(&kit.engine, buf_text(&path), NULL, NULL, &detail),
              ERR_IO);
    buf_release(&path);
    kit_close(&kit);
}
