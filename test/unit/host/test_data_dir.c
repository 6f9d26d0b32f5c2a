/* Data directories: those that cannot be used, those that can only be read, and
 * those on a disk that fails. */

#include "host/data_dir.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/fault_vfs.h"
#include "lib/live_kit.h"
#include "lib/store_kit.h"
#include "lib/test.h"

/* -- Directories that cannot be used ------------------------------------- */

static void expect_refused(const struct live_options *options,
                           enum err err,
                           const char *part)
{
    struct live *live;
    struct err_detail detail = {0};
    EXPECT_EQ(live_open(options, &live, &detail), err);
    EXPECT_CONTAINS(detail.text, part);
    EXPECT(live == NULL);
}

TEST(a_directory_that_is_not_there_is_made_only_if_asked_for)
{
    struct site site;
    site_begin(&site);
    char path[300];
    struct live_options options = site_options(&site);
    options.folder = path;
    (void)snprintf(path, sizeof path, "%s/data", site.folder);
    options.access = DATA_DIR_EXISTING;
    expect_refused(&options, ERR_NOT_FOUND, "check the path");
    options.access = DATA_DIR_READ_ONLY;
    expect_refused(&options, ERR_NOT_FOUND, "check the path");
    EXPECT(access(path, F_OK) != 0);
    options.access = DATA_DIR_CREATE;
    site_leave(site_enter_with(&options));
    (void)snprintf(path, sizeof path, "%s/no/data", site.folder);
    expect_refused(&options, ERR_NOT_FOUND, "create that first");
    (void)snprintf(path, sizeof path, "%s/data/main.db", site.folder);
    expect_refused(&options, ERR_ARGUMENT, "this is a file");
    path[0] = '\0';
    expect_refused(&options, ERR_ARGUMENT, "must have a name");
    (void)snprintf(path, sizeof path, "%s/data", site.folder);
    kit_folder_remove(path);
    site_end(&site);
}

TEST(a_directory_without_the_space_is_told_from_one_without_any)
{
    struct site site;
    site_begin(&site);
    struct live_options options = site_options(&site);
    static const char *const names[] = {"other"};
    options.access = DATA_DIR_EXISTING;
    expect_refused(&options, ERR_NOT_FOUND, "not a data directory");
    site_leave(site_enter(&site));
    site_leave(site_enter_with(&options));
    options.spaces = names;
    options.space_count = 1;
    expect_refused(&options, ERR_NOT_FOUND, "there is no space 'other'");
    site_end(&site);
}

static void run_sql(const char *folder, const char *sql)
{
    char path[300];
    sqlite3 *db;
    (void)snprintf(path, sizeof path, "%s/main.db", folder);
    EXPECT_INT(sqlite3_open(path, &db), SQLITE_OK);
    EXPECT_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

TEST(files_of_others_and_of_later_versions_are_left_alone)
{
    struct site site;
    site_begin(&site);
    const struct live_options options = site_options(&site);
    struct live_options reading = options;
    reading.access = DATA_DIR_READ_ONLY;
    site_leave(site_enter(&site));
    run_sql(site.folder, "PRAGMA user_version = 1000");
    expect_refused(&options, ERR_STORE, "use a newer program");
    expect_refused(&reading, ERR_STORE, "use a newer program");
    run_sql(site.folder, "PRAGMA user_version = 2");
    expect_refused(&reading, ERR_READ_ONLY, "open it once with write access");
    run_sql(site.folder, "PRAGMA application_id = 12345");
    expect_refused(&options, ERR_CORRUPT, "another program");
    site_end(&site);
}

/* -- Reading only -------------------------------------------------------- */

static void on_verdict(void *ctx, const struct verdict *verdict)
{
    *(enum err *)ctx = verdict->err;
}

TEST(reading_only_sees_what_others_write_and_writes_nothing)
{
    struct site site;
    site_begin(&site);
    struct live_options options = site_options(&site);
    struct live *one = site_enter(&site);
    site_put(one, "a", 1);
    site_settle(one);
    options.access = DATA_DIR_READ_ONLY;
    struct live *two = site_enter_with(&options);
    EXPECT_EQ(site_number(two, "a"), 1);
    site_put(one, "a", 2);
    site_settle(one);
    (void)live_step(two);
    EXPECT_EQ(site_number(two, "a"), 2);
    enum err err = ERR_OK;
    const struct transaction_options watched = {
        .watch = {.verdict = on_verdict, .ctx = &err},
    };
    struct place *place = site_at(two, "a");
    struct transaction *transaction =
        transaction_begin(&live_runtime(two)->replica, &watched);
    EXPECT_EQ(transaction_put_adopt(transaction, place, value_int(3), NULL),
              ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, NULL), ERR_OK);
    transaction_release(transaction);
    place_unref(place);
    site_settle(two);
    EXPECT_EQ(err, ERR_READ_ONLY);
    EXPECT_EQ(site_number(two, "a"), 2);
    EXPECT(live_trouble(two) == NULL);
    site_leave(one);
    site_leave(two);
    site_end(&site);
}

/* Runs `body` in a process that owns nothing, and may write nothing of ours:
 * the exit code is how many expectations failed. */
static int run_as_nobody(struct site *site, int (*body)(struct site *site))
{
    const pid_t child = fork();
    if (child == 0) {
        enum {
            NOBODY = 65534
        };
        if (getuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
            _exit(100);
        }
        _exit(body(site));
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int look_without_permission(struct site *site)
{
    int failed = 0;
    struct live_options options = site_options(site);
    struct live *live;
    struct err_detail detail = {0};
    failed += !EXPECT_EQ(live_open(&options, &live, &detail), ERR_IO);
    failed += !EXPECT_CONTAINS(detail.text, "open it read-only");
    options.access = DATA_DIR_READ_ONLY;
    live = site_enter_with(&options);
    failed += !EXPECT_EQ(site_number(live, "a"), 5);
    site_leave(live);
    return failed;
}

TEST(a_directory_in_which_nothing_can_be_written_can_be_read)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "a", 5);
    site_leave(live); /* the last one: there is no WAL */
    CHECK(chmod(site.folder, 0555) == 0);
    EXPECT_INT(run_as_nobody(&site, look_without_permission), 0);
    CHECK(chmod(site.folder, 0755) == 0);
    site_end(&site);
}

/* It reads; then somebody writes; then it reads again. */
static int look_twice(struct site *site)
{
    int failed = 0;
    struct live_options options = site_options(site);
    options.access = DATA_DIR_READ_ONLY;
    struct live *live = site_enter_with(&options);
    char byte;
    failed += !EXPECT_EQ(site_number(live, "a"), 5);
    failed += !EXPECT_EQ(write((int)site->runs, "!", 1), 1);
    failed += !EXPECT_EQ(read((int)site->progress, &byte, 1), 1);
    site->sim.now += LIVE_QUIET_MS;
    (void)live_step(live);
    failed += !EXPECT_EQ(site_number(live, "a"), 6);
    live_drop(live);
    return failed;
}

TEST(a_reader_that_took_the_file_for_frozen_sees_who_begins_to_write)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "a", 5);
    site_leave(live);
    CHECK(chmod(site.folder, 0755) == 0);
    int there[2];
    int back[2];
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    site.runs = (uint64_t)there[1];
    site.progress = (uint64_t)back[0];
    const pid_t writer = fork();
    if (writer == 0) {
        char byte;
        (void)close(there[1]);
        const bool told = read(there[0], &byte, 1) == 1;
        live = site_enter(&site);
        site_put(live, "a", 6);
        site_settle(live);
        const bool answered = write(back[1], "!", 1) == 1;
        const bool gone = read(there[0], &byte, 1) == 0; /* the reader */
        live_drop(live);
        _exit(told && answered && gone ? 0 : 1);
    }
    EXPECT_INT(run_as_nobody(&site, look_twice), 0);
    for (int i = 0; i < 2; i++) {
        (void)close(there[i]);
        (void)close(back[i]);
    }
    int status = -1;
    CHECK(waitpid(writer, &status, 0) == writer);
    EXPECT_INT(status, 0);
    site_end(&site);
}

/* -- A bad disk ---------------------------------------------------------- */

/* Moves the clock to where the host wants to be woken, and steps, until all is
 * confirmed. */
static bool comes_to_rest(struct site *site, struct live *live)
{
    for (unsigned i = 0; i < 100 && live_outstanding(live) > 0; i++) {
        const mono_ms wake = live_next_wake(live);
        site->sim.now = wake > site->sim.now ? wake : site->sim.now;
        (void)live_step(live);
    }
    return live_outstanding(live) == 0;
}

TEST(l3_a_disk_that_fails_is_reported_and_nothing_is_lost)
{
    static const struct {
        enum fault_kind kind;
        const char *told;
    } rows[] = {
        {FAULT_FULL, "FULL, over, "},
        {FAULT_WRITE, "IO, over, "},
        {FAULT_SYNC, "IO, over, "},
    };
    fault_vfs_use_real();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct site site;
        site_begin(&site);
        struct live_options options = site_options(&site);
        options.vfs = FAULT_REAL_VFS;
        struct live *live = site_enter_with(&options);
        site_put(live, "a", 1);
        site_settle(live);
        fault_vfs_plan((struct fault_plan){rows[i].kind, 1, true});
        site_put(live, "a", 2);
        EXPECT_EQ(live_settle(live, live_now(live)), LIVE_NOT_IN_TIME);
        EXPECT(live_trouble(live) != NULL);
        EXPECT_EQ(site_number(live, "a"), 2); /* here, for now */
        EXPECT_EQ(live_outstanding(live), 1);
        for (int64_t step = 0; step < 20; step++) {
            site.sim.now += LIVE_RETRY_MS + LIVE_RETRY_MS / 5;
            (void)live_step(live);
        }
        EXPECT_EQ(live_outstanding(live), 1);
        const mono_ms wait = live_next_wake(live) - site.sim.now;
        EXPECT(wait <= LIVE_RETRY_MS + LIVE_RETRY_MS / 5);
        fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
        EXPECT(comes_to_rest(&site, live));
        EXPECT(live_trouble(live) == NULL);
        EXPECT_TEXT(buf_text(&site.troubles), rows[i].told);
        site_leave(live);
        live = site_enter(&site);
        EXPECT_EQ(site_number(live, "a"), 2);
        site_leave(live);
        site_end(&site);
    }
}

TEST(l3_who_leaves_a_full_disk_is_told_what_is_lost)
{
    struct site site;
    site_begin(&site);
    fault_vfs_use_real();
    struct live_options options = site_options(&site);
    options.vfs = FAULT_REAL_VFS;
    struct live *live = site_enter_with(&options);
    site_put(live, "a", 1);
    site_settle(live);
    fault_vfs_plan((struct fault_plan){FAULT_FULL, 1, true});
    site_put(live, "a", 2);
    site_put(live, "b", 2);
    struct err_detail detail = {0};
    EXPECT_EQ(live_stop(live, live_now(live), &detail), ERR_FULL);
    EXPECT_CONTAINS(detail.text, "lost unconfirmed commits: 2");
    EXPECT_CONTAINS(detail.text, "the disk is full");
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
    live = site_enter(&site);
    EXPECT_EQ(site_number(live, "a"), 1);
    site_leave(live);
    site_end(&site);
}

TEST(l3_a_document_that_cannot_be_read_is_loaded_later)
{
    struct site site;
    site_begin(&site);
    fault_vfs_use_real();
    struct live *live = site_enter(&site);
    site_put(live, "a", 1);
    site_leave(live);
    struct live_options options = site_options(&site);
    options.vfs = FAULT_REAL_VFS;
    live = site_enter_with(&options);
    struct entity *entity;
    struct err_detail detail = {0};
    struct value name = value_text_new("a");
    EXPECT_EQ(entity_of(live_runtime(live)->spaces.at[0],
                        SCOPE_SPACE,
                        name,
                        &entity,
                        NULL),
              ERR_OK);
    fault_vfs_plan((struct fault_plan){FAULT_READ, 1, true});
    EXPECT_EQ(live_load(live, entity, &detail), ERR_IO);
    EXPECT_CONTAINS(detail.text, "the space 'main'");
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
    while (!entity->loaded && site.sim.now < 100000) {
        site.sim.now = live_next_wake(live);
        (void)live_step(live);
    }
    EXPECT_EQ(site_number(live, "a"), 1);
    EXPECT(live_trouble(live) == NULL);
    value_unref(name);
    site_leave(live);
    site_end(&site);
}

TEST(a_disk_that_is_full_when_the_directory_is_opened_says_what_to_do)
{
    struct site site;
    site_begin(&site);
    fault_vfs_use_real();
    struct live_options options = site_options(&site);
    options.vfs = FAULT_REAL_VFS;
    fault_vfs_plan((struct fault_plan){FAULT_FULL, 1, true});
    expect_refused(&options, ERR_FULL, "free some space on the disk and retry");
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
    site_leave(site_enter_with(&options));
    site_end(&site);
}
