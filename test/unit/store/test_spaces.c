/* Folders with spaces in them, and with everything else. */

#include "store/spaces.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/store_kit.h"
#include "lib/test.h"

struct folder {
    char path[256];
    struct buf shown;
};

static void folder_new(struct folder *folder)
{
    *folder = (struct folder){0};
    kit_folder_new(folder->path, sizeof folder->path);
}

static void folder_release(struct folder *folder)
{
    kit_folder_remove(folder->path);
    buf_release(&folder->shown);
}

static void put_name(char *to,
                     size_t size,
                     const struct folder *folder,
                     const char *name)
{
    (void)snprintf(to, size, "%s/%s", folder->path, name);
}

static void put_file(const struct folder *folder,
                     const char *name,
                     const char *content)
{
    char path[400];
    put_name(path, sizeof path, folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    (void)fputs(content, file);
    (void)fclose(file);
}

/* A store with one document, closed; changed at that second. */
static void put_store(const struct folder *folder,
                      const char *name,
                      time_t seconds)
{
    char path[400];
    struct engine engine;
    put_name(path, sizeof path, folder, name);
    const struct engine_options options = {.path = path};
    EXPECT_INT(engine_open(&engine, &options, NULL), ERR_OK);
    engine_close(&engine);
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static void put_database(const struct folder *folder, const char *name)
{
    char path[400];
    sqlite3 *db = NULL;
    put_name(path, sizeof path, folder, name);
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_close(db) == SQLITE_OK);
}

/* "name;" of each space in order, then "name: why;" of each other. */
static const char *list(struct folder *folder)
{
    space_files files;
    struct err_detail detail = {0};
    buf_clear(&folder->shown);
    EXPECT_INT(spaces_list(folder->path, &files, &detail), ERR_OK);
    for (unsigned pass = 0; pass < 2; pass++) {
        VEC_FOREACH (&files, file) {
            if (pass == 0 && file->why_not == NULL) {
                buf_printf(&folder->shown, "%s;", buf_text(&file->name));
                EXPECT(file->bytes > 0);
            } else if (pass == 1 && file->why_not != NULL) {
                buf_printf(&folder->shown,
                           "%s: %s;",
                           buf_text(&file->name),
                           file->why_not);
            }
        }
    }
    space_files_release(&files);
    return buf_text(&folder->shown);
}

TEST(a09_spaces_are_listed_the_latest_changed_first)
{
    struct folder folder;
    folder_new(&folder);
    EXPECT_TEXT(list(&folder), "");
    put_store(&folder, "b.db", 2000);
    put_store(&folder, "c", 1000);
    put_store(&folder, "a.db", 1000);
    put_store(&folder, ".hidden", 3000);
    EXPECT_TEXT(list(&folder), ".hidden;b.db;a.db;c;");
    char path[400];
    put_name(path, sizeof path, &folder, ".hidden");
    (void)unlink(path);
    put_name(path, sizeof path, &folder, ".hidden-lock");
    (void)unlink(path);
    folder_release(&folder);
}

TEST(a09_what_is_no_space_is_named_and_harms_no_other)
{
    static const struct {
        const char *name;
        const char *content;
        const char *why;
    } rows[] = {
        {"letter", "Dear reader", "it is not a database"},
        {"short", "S", "it is not a database"},
        {"empty", "", "it is empty"},
        {"space.db.part-00", "SQLite format 3", "an unfinished copy"},
        {"lost-wal", "x", "it is not a database"},
        {"\xFF\n", "x", "it is not a database"},
    };
    struct folder folder;
    folder_new(&folder);
    put_store(&folder, "space.db", 1000);
    put_database(&folder, "other.db");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_file(&folder, rows[i].name, rows[i].content);
    }
    const char *shown = list(&folder);
    EXPECT(strncmp(shown, "space.db;", 9) == 0);
    EXPECT_CONTAINS(shown, "other.db: a database of another program;");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char want[100];
        (void)snprintf(want, sizeof want, "%s: %s;", rows[i].name, rows[i].why);
        EXPECT_CONTAINS(shown, want);
    }
    EXPECT(strstr(shown, "space.db-lock") == NULL);
    folder_release(&folder);
}

TEST(a09_what_is_no_file_is_not_opened)
{
    struct folder folder;
    char path[400];
    char link[400];
    folder_new(&folder);
    put_name(path, sizeof path, &folder, "pipe"); /* opening it would wait */
    CHECK(mkfifo(path, 0600) == 0);
    put_name(link, sizeof link, &folder, "nowhere");
    CHECK(symlink("not-there", link) == 0);
    put_name(link, sizeof link, &folder, "inner");
    CHECK(mkdir(link, 0700) == 0);
    EXPECT_TEXT(list(&folder),
                "nowhere: it is not a file;pipe: it is not a "
                "file;");
    CHECK(rmdir(link) == 0);
    folder_release(&folder);
}

/* Its tables are in the WAL, and the file itself is a page without them. */
TEST(a09_a_space_that_is_open_and_new_is_listed)
{
    struct store_kit kit;
    struct folder folder = {0};
    space_files files;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    (void)snprintf(folder.path, sizeof folder.path, "%s", kit.folder);
    EXPECT_CONTAINS(list(&folder), "space.db;");
    EXPECT(strstr(list(&folder), ":") == NULL);
    EXPECT_INT(spaces_list(kit.folder, &files, NULL), ERR_OK);
    EXPECT_EQ(files.count, 1);
    EXPECT(files.at[0].bytes > 8192); /* with the WAL */
    space_files_release(&files);
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    buf_release(&folder.shown);
    kit_close(&kit);
}

TEST(a09_a_listing_changes_nothing)
{
    struct folder folder;
    char path[400];
    folder_new(&folder);
    put_store(&folder, "space.db", 1000);
    put_database(&folder, "other.db");
    size_t before_size = 0;
    size_t after_size = 0;
    put_name(path, sizeof path, &folder, "other.db");
    char *before = test_read_file(path, &before_size);
    (void)list(&folder);
    char *after = test_read_file(path, &after_size);
    EXPECT(before_size == after_size &&
           memcmp(before, after, before_size) == 0);
    test_release_file(before, before_size);
    test_release_file(after, after_size);
    put_name(path, sizeof path, &folder, "other.db-lock");
    EXPECT(access(path, F_OK) != 0);
    put_name(path, sizeof path, &folder, "space.db-wal");
    EXPECT(access(path, F_OK) != 0);
    folder_release(&folder);
}

TEST(a09_a_folder_that_cannot_be_read_is_a_fault)
{
    struct folder folder;
    char path[400];
    space_files files;
    struct err_detail detail = {0};
    folder_new(&folder);
    put_file(&folder, "file", "x");
    put_name(path, sizeof path, &folder, "file");
    EXPECT_INT(spaces_list(path, &files, &detail), ERR_IO);
    EXPECT_CONTAINS(detail.text, "cannot read the directory");
    put_name(path, sizeof path, &folder, "nope");
    EXPECT_INT(spaces_list(path, &files, NULL), ERR_IO);
    folder_release(&folder);
}
