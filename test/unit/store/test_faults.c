/* A store on a disk that fails: what is reported, what is kept, and that it
 * works again when the disk does. The same life is lived with the first call
 * of a kind failing, the second, and so on, until it ends before that call. */

#include <sqlite3.h>

#include "lib/fault_vfs.h"
#include "lib/store_workload.h"
#include "lib/test.h"

/* How it goes on when a step has failed and the disk is well again. */
enum aftermath {
    GO_ON,  /* with the same engine */
    REOPEN, /* with a new one */
    DIE,    /* with a new one, and the old one had no time to close */
    AFTERMATH_COUNT,
};

struct trial {
    struct fault_plan plan;
    enum aftermath aftermath;
    struct disk disk;
    struct workload workload;
    uint64_t reported; /* faults that came out of a step */
    uint64_t failures; /* calls that failed */
};

static bool complain(const struct trial *trial,
                     size_t step,
                     const char *what,
                     const char *why)
{
    return test_fail(__FILE__,
                     __LINE__,
                     "%s %s: %s\n  %s %" PRIu64 "%s, aftermath %d, step %zu",
                     what,
                     trial->workload.is_open ? "(open)" : "(closed)",
                     why,
                     fault_kind_name(trial->plan.kind),
                     trial->plan.first,
                     trial->plan.lasting ? " and on" : "",
                     (int)trial->aftermath,
                     step);
}

static void heal(struct trial *trial)
{
    trial->failures += fault_vfs_failures();
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
}

static bool is_reported_well(const struct trial *trial, size_t step)
{
    const struct err_detail *detail = &trial->workload.kit.detail;
    const enum err_class class = err_class_of(detail->err);
    if (detail->text[0] == '\0') {
        return complain(trial, step, "a fault", "no sentence");
    }
    if (class != ERR_CLASS_FAULT || detail->err == ERR_CORRUPT) {
        return complain(trial, step, "not the right error", detail->text);
    }
    return true;
}

/* -- After a fault ------------------------------------------------------- */

/* The process ended without another word; its files stayed as they were. */
static void die(struct trial *trial)
{
    struct disk left;
    disk_copy(&left, &trial->disk);
    workload_close(&trial->workload);
    fault_vfs_use(NULL);
    disk_release(&trial->disk);
    trial->disk = left;
    trial->disk.forgetful = true;
    fault_vfs_use(&trial->disk);
}

static bool is_at(struct trial *trial, size_t step, bool or_after)
{
    struct buf why = {0};
    bool equal = workload_look(&trial->workload, step, &why) == WORKLOAD_EQUAL;
    if (!equal && or_after) {
        equal =
            workload_look(&trial->workload, step + 1, &why) == WORKLOAD_EQUAL;
    }
    if (!equal) {
        (void)complain(trial, step, "wrong documents", buf_text(&why));
    }
    buf_release(&why);
    return equal;
}

/* Nothing has changed, or, if nobody was there to take it back, all of it; and
 * the step lands now. */
static bool recover(struct trial *trial, size_t step)
{
    struct workload *workload = &trial->workload;
    if (trial->aftermath == DIE) {
        die(trial);
    } else if (trial->aftermath == REOPEN) {
        workload_close(workload);
    }
    if (workload_open(workload) != ERR_OK) {
        return complain(trial, step, "not opened", workload->kit.detail.text);
    }
    if (!is_at(trial, step, trial->aftermath == DIE)) {
        return false;
    }
    if (workload_run(workload, step) != ERR_OK) {
        return complain(trial, step, "not again", workload->kit.detail.text);
    }
    return true;
}

static bool take_step(struct trial *trial, size_t step)
{
    if (workload_run(&trial->workload, step) == ERR_OK) {
        return true;
    }
    trial->reported++;
    heal(trial);
    return is_reported_well(trial, step) && recover(trial, step);
}

/* Reads may fail as well, but never give another document. */
static bool look(struct trial *trial, size_t done)
{
    struct buf why = {0};
    const enum workload_sight sight =
        workload_look(&trial->workload, done, &why);
    bool held = true;
    if (sight == WORKLOAD_DIFFERENT) {
        held = complain(trial, done, "wrong documents", buf_text(&why));
    } else if (sight == WORKLOAD_UNREADABLE) {
        trial->reported++;
        heal(trial);
        held = is_at(trial, done, false);
    }
    buf_release(&why);
    return held;
}

/* -- A life -------------------------------------------------------------- */

static bool live(struct trial *trial)
{
    struct workload *workload = &trial->workload;
    fault_vfs_plan(trial->plan);
    bool held = true;
    if (workload_open(workload) != ERR_OK) {
        trial->reported++;
        heal(trial);
        held = is_reported_well(trial, 0);
    }
    for (size_t i = 0; held && i < workload->steps.count; i++) {
        held = take_step(trial, i) && look(trial, i + 1);
    }
    return held;
}

static bool end_well(struct trial *trial)
{
    struct workload *workload = &trial->workload;
    const size_t all = workload->steps.count;
    heal(trial);
    bool held = is_at(trial, all, false) && workload_verify(workload);
    workload_close(workload);
    if (held && workload_open(workload) != ERR_OK) {
        held = complain(trial, all, "not opened", workload->kit.detail.text);
    }
    return held && is_at(trial, all, false) && workload_verify(workload);
}

static bool run_trial(struct trial *trial, uint64_t seed)
{
    trial->disk.forgetful = true;
    fault_vfs_use(&trial->disk);
    workload_init(&trial->workload, seed, 14, DURABILITY_FULL);
    bool held = live(trial) && end_well(trial);
    workload_release(&trial->workload);
    fault_vfs_use(NULL);
    disk_release(&trial->disk);
    if (held && sqlite3_memory_used() != 0) {
        held = complain(trial, 0, "SQLite", "memory is still in use");
    }
    return held;
}

/* Valgrind is slow: there, one call in seven will do. */
static uint64_t stride(void)
{
    return test_is_slow() ? 7 : 1;
}

/* Each call in turn, until one is not reached: at least `calls` of them, and
 * at least `reported` that somebody hears about. The aftermath goes round. */
static void fail_each(enum fault_kind kind, uint64_t calls, uint64_t reported)
{
    bool held = true;
    bool reached = true;
    uint64_t heard = 0;
    uint64_t k = 1;
    while (held && reached) {
        struct trial trial = {
            .plan = {kind, k, k / AFTERMATH_COUNT % 2 == 1},
            .aftermath = (enum aftermath)(k % AFTERMATH_COUNT),
        };
        held = run_trial(&trial, 1);
        reached = trial.failures > 0;
        heard += trial.reported > 0 ? 1 : 0;
        k += stride();
    }
    EXPECT(k > calls);
    EXPECT(heard * stride() >= reported);
}

TEST(each_open_fails)
{
    fail_each(FAULT_OPEN, 4, 4);
}

TEST(each_read_fails)
{
    fail_each(FAULT_READ, 40, 35);
}

TEST(each_write_fails)
{
    fail_each(FAULT_WRITE, 25, 20);
}

TEST(each_write_finds_the_disk_full)
{
    fail_each(FAULT_FULL, 25, 20);
}

TEST(each_truncation_fails)
{
    fail_each(FAULT_TRUNCATE, 1, 0);
}

TEST(each_sync_fails)
{
    fail_each(FAULT_SYNC, 18, 16);
}

TEST(each_question_for_a_size_fails)
{
    fail_each(FAULT_SIZE, 20, 20);
}

TEST(each_removal_fails)
{
    fail_each(FAULT_REMOVE, 1, 0);
}

TEST(each_question_for_a_file_fails)
{
    fail_each(FAULT_ACCESS, 10, 10);
}

TEST(each_lock_fails)
{
    fail_each(FAULT_LOCK, 8, 8);
}

TEST(each_mapping_of_shared_memory_fails)
{
    fail_each(FAULT_SHARED_MAP, 3, 3);
}

TEST(each_lock_of_shared_memory_fails)
{
    fail_each(FAULT_SHARED_LOCK, 150, 150);
}

/* -- Names of faults ----------------------------------------------------- */

TEST(a_full_disk_is_called_that)
{
    struct trial trial = {
        .plan = {FAULT_FULL, 60, true},
        .disk = {.forgetful = true},
    };
    fault_vfs_use(&trial.disk);
    workload_init(&trial.workload, 1, 14, DURABILITY_FULL);
    fault_vfs_plan(trial.plan);
    enum err err = workload_open(&trial.workload);
    for (size_t i = 0; err == ERR_OK && i < trial.workload.steps.count; i++) {
        err = workload_run(&trial.workload, i);
    }
    EXPECT_TEXT(err_name(err), "FULL");
    EXPECT_CONTAINS(trial.workload.kit.detail.text, "full");
    workload_release(&trial.workload);
    fault_vfs_use(NULL);
    disk_release(&trial.disk);
}

/* -- A sync that failed -------------------------------------------------- */

static void open_on(struct store_kit *kit,
                    struct disk *disk,
                    enum durability durability)
{
    const struct engine_options options = {
        .vfs = FAULT_VFS,
        .durability = durability,
    };
    *disk = (struct disk){.forgetful = true};
    fault_vfs_use(disk);
    kit_open_file(kit, &options);
}

static void close_on(struct store_kit *kit, struct disk *disk)
{
    kit_close(kit);
    fault_vfs_use(NULL);
    disk_release(disk);
}

TEST(b3_at_normal_nothing_is_written_behind_a_wal_that_could_not_be_synced)
{
    struct store_kit kit;
    struct disk disk;
    open_on(&kit, &disk, DURABILITY_NORMAL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    fault_vfs_plan((struct fault_plan){FAULT_SYNC, 1, true});
    EXPECT_INT(database_checkpoint(&kit.engine.database, true, &kit.detail),
               ERR_IO);
    /* For this engine, and for the next one. */
    for (unsigned i = 0; i < 2; i++) {
        kit_commit(&kit, "s1 3 | set A 3");
        EXPECT_TEXT(err_name(kit.fault), "IO");
        EXPECT_CONTAINS(kit.detail.text, "a sync of the WAL failed");
        EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_IO);
        EXPECT_INT(database_checkpoint(&kit.engine.database, true, NULL),
                   ERR_IO);
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':2}");
        kit_reopen(&kit);
    }
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
    EXPECT_LANDED(&kit, 3, "s1 3 | set A 3");
    EXPECT_INT(database_checkpoint(&kit.engine.database, true, NULL), ERR_OK);
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read_at(&kit, "A", 2), "{'value':2}");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':3}");
    close_on(&kit, &disk);
}

TEST(b3_a_single_sync_that_failed_is_made_good_by_writing_the_wal_again)
{
    struct store_kit kit;
    struct disk disk;
    open_on(&kit, &disk, DURABILITY_NORMAL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(database_checkpoint(&kit.engine.database, true, NULL), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    fault_vfs_plan((struct fault_plan){FAULT_SYNC, 1, false});
    EXPECT_INT(database_checkpoint(&kit.engine.database, true, NULL), ERR_IO);
    fault_vfs_plan((struct fault_plan){FAULT_WRITE, 1, false});
    kit_commit(&kit, "s1 3 | set A 3"); /* writing it again fails */
    EXPECT_TEXT(err_name(kit.fault), "IO");
    EXPECT_EQ(fault_vfs_failures(), 1);
    EXPECT_LANDED(&kit, 3, "s1 3 | set A 3");
    close_on(&kit, &disk);
}

TEST(b3_at_full_a_commit_whose_sync_failed_harms_none_that_was_acknowledged)
{
    struct store_kit kit;
    struct disk disk;
    open_on(&kit, &disk, DURABILITY_FULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    fault_vfs_plan((struct fault_plan){FAULT_SYNC, 1, true});
    for (unsigned i = 0; i < 3; i++) {
        kit_commit(&kit, "s1 2 | set A 2");
        EXPECT_TEXT(err_name(kit.fault), "IO");
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':1}");
        EXPECT_INT(database_checkpoint(&kit.engine.database, true, NULL),
                   ERR_IO);
    }
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read_at(&kit, "A", 1), "{'value':1}");
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    close_on(&kit, &disk);
}

/* -- System calls -------------------------------------------------------- */

/* On a real disk, in the workload's own folder. */
static void live_with_calls(enum fault_calls calls)
{
    struct workload workload;
    struct buf why = {0};
    workload_init(&workload, 2, 30, DURABILITY_NORMAL);
    workload.kit.options.vfs = NULL;
    fault_calls_set(calls);
    for (size_t i = 0; i < workload.steps.count; i++) {
        EXPECT_TEXT(err_name(workload_run(&workload, i)), "OK");
        EXPECT_EQ(workload_look(&workload, i + 1, &why), WORKLOAD_EQUAL);
    }
    EXPECT(workload_verify(&workload));
    EXPECT(fault_calls_count() > 100);
    workload_close(&workload);
    fault_calls_set(CALLS_PLAIN);
    EXPECT_TEXT(buf_text(&why), "");
    workload_release(&workload);
    buf_release(&why);
}

TEST(calls_that_do_a_part_are_not_noticed)
{
    live_with_calls(CALLS_SHORT);
}

TEST(calls_that_are_interrupted_are_not_noticed)
{
    live_with_calls(CALLS_INTERRUPTED);
}
