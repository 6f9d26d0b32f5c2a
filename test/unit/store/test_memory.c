/* A store whose SQLite runs out of memory: the same life, with one allocation
 * failing that is drawn from all of them. Each outcome is a fault, nothing is
 * lost, and the engine goes on. What is ours cannot fail (base/mem.h). */

#include <sqlite3.h>

#include "lib/fault_vfs.h"
#include "lib/store_workload.h"
#include "lib/test.h"

/* -- SQLite's memory ----------------------------------------------------- */

/* SQLite's own allocator, and which of its calls fails. */
static struct {
    sqlite3_mem_methods own;
    uint64_t calls;
    uint64_t first; /* 0: none */
    uint64_t last;
    uint64_t failures;
} memory;

static bool fails(void)
{
    memory.calls++;
    const bool hit =
        memory.calls >= memory.first && memory.calls <= memory.last;
    memory.failures += hit ? 1 : 0;
    return hit;
}

static void *take(int size)
{
    return fails() ? NULL : memory.own.xMalloc(size);
}

static void *resize(void *block, int size)
{
    return fails() ? NULL : memory.own.xRealloc(block, size);
}

/* From now on, calls number `first` to `last` fail. */
static void plan(uint64_t first, uint64_t last)
{
    memory.calls = 0;
    memory.first = first;
    memory.last = last;
    memory.failures = 0;
}

static void heal(void)
{
    memory.first = 0;
    memory.last = 0;
}

/* Before anything of SQLite is used. Without lookaside every small block is
 * asked for, too. */
static void replace_memory(void)
{
    static bool replaced;
    if (!replaced) {
        CHECK(sqlite3_shutdown() == SQLITE_OK);
        CHECK(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory.own) ==
              SQLITE_OK);
        sqlite3_mem_methods methods = memory.own;
        methods.xMalloc = take;
        methods.xRealloc = resize;
        CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK);
        CHECK(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK);
        CHECK(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
        CHECK(sqlite3_initialize() == SQLITE_OK);
        replaced = true;
    }
}

/* -- A life -------------------------------------------------------------- */

struct trial {
    uint64_t first;
    uint64_t last;
    bool reopens; /* after a fault, instead of going on */
    struct disk disk;
    struct workload workload;
    uint64_t reported;
};

static bool complain(const struct trial *trial,
                     size_t step,
                     const char *what,
                     const char *why)
{
    return test_fail(__FILE__,
                     __LINE__,
                     "%s: %s\n  allocations %" PRIu64 " to %" PRIu64
                     ", %s, step %zu",
                     what,
                     why,
                     trial->first,
                     trial->last,
                     trial->reopens ? "reopening" : "going on",
                     step);
}

static bool is_at(struct trial *trial, size_t step)
{
    struct buf why = {0};
    const bool equal =
        workload_look(&trial->workload, step, &why) == WORKLOAD_EQUAL;
    if (!equal) {
        (void)complain(trial, step, "wrong documents", buf_text(&why));
    }
    buf_release(&why);
    return equal;
}

static bool is_reported_well(const struct trial *trial, size_t step)
{
    const struct err_detail *detail = &trial->workload.kit.detail;
    if (err_class_of(detail->err) != ERR_CLASS_FAULT ||
        detail->err == ERR_CORRUPT || detail->text[0] == '\0') {
        return complain(trial, step, err_name(detail->err), detail->text);
    }
    return true;
}

static bool take_step(struct trial *trial, size_t step)
{
    struct workload *workload = &trial->workload;
    if (workload_run(workload, step) == ERR_OK) {
        return true;
    }
    trial->reported++;
    heal();
    if (!is_reported_well(trial, step)) {
        return false;
    }
    if (trial->reopens) {
        workload_close(workload);
    }
    if (workload_open(workload) != ERR_OK) {
        return complain(trial, step, "not opened", workload->kit.detail.text);
    }
    if (!is_at(trial, step)) {
        return false;
    }
    return workload_run(workload, step) == ERR_OK ||
           complain(trial, step, "not again", workload->kit.detail.text);
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
        heal();
        held = is_at(trial, done);
    }
    buf_release(&why);
    return held;
}

static bool live(struct trial *trial)
{
    struct workload *workload = &trial->workload;
    bool held = true;
    plan(trial->first, trial->last);
    if (workload_open(workload) != ERR_OK) {
        trial->reported++;
        heal();
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
    heal();
    bool held = is_at(trial, all) && workload_verify(workload);
    workload_close(workload);
    if (held && workload_open(workload) != ERR_OK) {
        held = complain(trial, all, "not opened", workload->kit.detail.text);
    }
    return held && is_at(trial, all) && workload_verify(workload);
}

/* *calls is how many allocations this life made until it was well again. */
static bool run_trial(struct trial *trial, uint64_t seed, uint64_t *calls)
{
    replace_memory();
    trial->disk.forgetful = true;
    fault_vfs_use(&trial->disk);
    workload_init(&trial->workload, seed, 14, DURABILITY_FULL);
    bool held = live(trial);
    *calls = memory.calls;
    held = held && end_well(trial);
    heal();
    workload_release(&trial->workload);
    fault_vfs_use(NULL);
    disk_release(&trial->disk);
    if (held && sqlite3_memory_used() != 0) {
        held = complain(trial, 0, "SQLite", "memory is still in use");
    }
    return held;
}

/* Lives in which an allocation was to fail, and those that reported it. */
static struct {
    uint64_t lives;
    uint64_t heard;
} seen;

enum {
    LIVES_A_ROUND = 4
};

/* A life without a fault says how many allocations there are; then some lives
 * of the same plan in which one of them fails, and `more` after it. */
static void fail_somewhere(struct random *random, uint64_t more)
{
    const uint64_t seed = 1 + random_below(random, UINT32_MAX);
    struct trial sound = {0};
    uint64_t calls = 0;
    bool held = EXPECT(run_trial(&sound, seed, &calls));
    held = EXPECT(calls > 1000) && held;
    for (unsigned i = 0; held && i < LIVES_A_ROUND; i++) {
        uint64_t ignored = 0;
        const uint64_t first = 1 + random_below(random, calls);
        struct trial trial = {
            .first = first,
            .last = first + more,
            .reopens = i % 2 == 1,
        };
        held = run_trial(&trial, seed, &ignored);
        seen.lives++;
        seen.heard += trial.reported > 0 ? 1 : 0;
    }
}

PROPERTY(one_allocation_of_sqlite_fails, 30)
{
    fail_somewhere(random, 0);
}

PROPERTY(some_allocations_of_sqlite_fail, 30)
{
    fail_somewhere(random, random_below(random, 20));
}

PROPERTY(all_allocations_of_sqlite_fail_from_some_moment_on, 30)
{
    fail_somewhere(random, UINT32_MAX);
}

/* SQLite does without some of them. */
TEST(most_of_it_was_heard_of)
{
    EXPECT(seen.heard * 2 >= seen.lives);
}

TEST(no_memory_is_called_that)
{
    struct trial trial = {.disk = {.forgetful = true}};
    replace_memory();
    fault_vfs_use(&trial.disk);
    workload_init(&trial.workload, 1, 14, DURABILITY_FULL);
    EXPECT_INT(workload_open(&trial.workload), ERR_OK);
    plan(1, UINT64_MAX);
    EXPECT_TEXT(err_name(workload_run(&trial.workload, 0)), "NO_MEMORY");
    EXPECT_CONTAINS(trial.workload.kit.detail.text, "memory");
    heal();
    EXPECT_INT(workload_run(&trial.workload, 0), ERR_OK);
    workload_release(&trial.workload);
    fault_vfs_use(NULL);
    disk_release(&trial.disk);
}
