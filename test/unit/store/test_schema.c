/* The file: its tables, its version, and files that are not ours (scenarios
 * A01 and what they leave open). */

#include "store/schema.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/observe_kit.h"
#include "lib/test.h"
#include "store/waiting.h"

TEST(a01_a_new_file_has_the_tables_of_this_version_and_no_others)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_TEXT(
        kit_sql(&kit,
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
                " AND name NOT LIKE 'sqlite%' ORDER BY name"),
        "action;branch;commit;document;edge;environment;fingerprint;"
        "image;message;mirror;mirror_edge;piece;place;revision;run;schedule;"
        "session;snapshot;space;thread;timer;waiting;");
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA application_id"), "1214541925;");
    struct buf version = {0};
    buf_printf(&version, "%d;", SCHEMA_VERSION);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), buf_text(&version));
    buf_release(&version);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA page_size"), "4096;");
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA journal_mode"), "wal;");
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA integrity_check"), "ok;");
    EXPECT_TEXT(kit_branches(&kit), "[{'active':true,'headSeq':0,'name':''}]");
    kit_close(&kit);
}

TEST(durability_is_a_pragma)
{
    static const struct {
        enum durability durability;
        const char *synchronous;
    } rows[] = {
        {DURABILITY_FULL, "2;"},
        {DURABILITY_NORMAL, "1;"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct engine_options options = {.durability =
                                                   rows[i].durability};
        struct store_kit kit;
        kit_open_file(&kit, &options);
        EXPECT_TEXT(kit_sql(&kit, "PRAGMA synchronous"), rows[i].synchronous);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
        kit_reopen(&kit);
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':1}");
        kit_close(&kit);
    }
}

TEST(memory_leaves_no_file_even_where_a_path_is_given)
{
    char folder[256];
    char path[300];
    kit_folder_new(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/space.db", folder);
    const struct engine_options options = {.path = path,
                                           .durability = DURABILITY_MEMORY};
    struct engine engine;
    EXPECT_INT(engine_open(&engine, &options, NULL), ERR_OK);
    engine_close(&engine);
    EXPECT_INT(access(path, F_OK), -1);
    kit_folder_remove(folder);
}

TEST(a02_opening_again_changes_nothing)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | set A {} | add A.x 1");
    struct buf before = kit_dump(&kit);
    const struct digest chain = kit.engine.chain;
    kit_reopen(&kit);
    kit_reopen(&kit);
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    EXPECT(memcmp(&chain, &kit.engine.chain, sizeof chain) == 0);
    EXPECT_EQ(kit.engine.seq, 2);
    EXPECT_EQ(kit.engine.record, 3);
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}

#define DROP_VERSION_9              \
    "DROP INDEX waiting_by_number;" \
    "ALTER TABLE waiting DROP COLUMN number;"
#define DROP_VERSION_7 DROP_VERSION_9 "DROP TABLE timer;"
#define DROP_VERSION_6 DROP_VERSION_7 "DROP TABLE waiting;"
#define DROP_VERSION_5 DROP_VERSION_6 "DROP TABLE image;"
#define DROP_VERSION_3                                             \
    DROP_VERSION_5                                                 \
    "DROP TABLE fingerprint; DROP TABLE piece; DROP TABLE action;" \
    "DROP TABLE run; DROP TABLE place; DROP TABLE edge;"           \
    "DROP TABLE mirror; DROP TABLE mirror_edge;"

TEST(r28_a_file_of_the_second_version_gets_empty_tables_of_observations)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    struct buf before = kit_dump(&kit);
    kit_run(&kit, DROP_VERSION_3 "PRAGMA user_version = 2");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), "9;");
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    kit_reopen(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}

TEST(a_file_of_an_earlier_version_forgets_its_observations_and_gets_images)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B debounce=5");
    observe_alone(&kit, 3, "p/a2 deep B out C");
    EXPECT_LANDED(&kit, 2, "s1 4 | set B 1");
    kit_run(&kit, DROP_VERSION_5 "PRAGMA user_version = 4");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), "9;");
    EXPECT_TEXT(observe_resume(&kit, "p"), "");
    observe_alone(&kit, 5, "p/a1 deep A out B debounce=5");
    observe_alone(&kit, 6, "p/a2 deep B out C");
    EXPECT_LANDED(&kit, 3, "s1 7 | set B 2");
    struct collect_counts counts;
    EXPECT_INT(engine_collect(&kit.engine, NULL, NULL, &counts, NULL), ERR_OK);
    EXPECT_TEXT(kit_sql(&kit, "SELECT piece, first, last FROM image"),
                "1|1|4;");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a2=dirty");
    kit_close(&kit);
}

TEST(a_file_of_the_first_version_gets_the_registry_and_keeps_what_it_has)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    struct buf before = kit_dump(&kit);
    kit_run(&kit,
            "DROP TABLE schedule; DROP TABLE message; DROP TABLE thread;"
            "DROP TABLE environment;" DROP_VERSION_3 "PRAGMA user_version = 1");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), "9;");
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT count(*) FROM thread JOIN environment"
                        " JOIN message JOIN schedule"),
                "0;");
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}

TEST(a_file_of_the_sixth_version_keeps_its_events_and_gets_timers)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | put receipt:x {'event':{'n':1}}");
    kit_run(&kit, DROP_VERSION_7 "PRAGMA user_version = 6");
    /* Read as it is. */
    struct engine reading;
    const struct engine_options options = {.path = kit.path, .read_only = true};
    EXPECT_INT(engine_open(&reading, &options, NULL), ERR_OK);
    engine_close(&reading);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), "6;");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), "9;");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM waiting"), "1;");
    EXPECT_LANDED(&kit, 2, "s1 2 | put receipt:timer:a {'event':{'due':5}}");
    EXPECT_TEXT(kit_sql(&kit, "SELECT due FROM timer"), "5;");
    kit_close(&kit);
}

TEST(a_file_of_the_seventh_version_is_read_without_its_observations)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B");
    kit_run(&kit, DROP_VERSION_9 "PRAGMA user_version = 7");
    struct engine own = kit.engine;
    const struct engine_options options = {.path = kit.path, .read_only = true};
    EXPECT_INT(engine_open(&kit.engine, &options, NULL), ERR_OK);
    EXPECT_TEXT(observe_resume(&kit, "p"), "");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':1}");
    engine_close(&kit.engine);
    kit.engine = own;
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    kit_close(&kit);
}

/* -- Files that are refused ---------------------------------------------- */

/* A file in a folder of its own, and how it answers to being opened. */
struct file {
    char folder[256];
    char path[300];
    struct err_detail detail;
};

static void file_new(struct file *file)
{
    *file = (struct file){0};
    kit_folder_new(file->folder, sizeof file->folder);
    (void)snprintf(file->path, sizeof file->path, "%s/space.db", file->folder);
}

static void file_write(struct file *file, const void *bytes, size_t size)
{
    FILE *to = fopen(file->path, "wb");
    CHECK(to != NULL);
    CHECK(fwrite(bytes, 1, size, to) == size);
    CHECK(fclose(to) == 0);
}

static void file_sql(struct file *file, const char *sql)
{
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(file->path, &db) == SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
    }
    CHECK(sqlite3_close(db) == SQLITE_OK);
}

static enum err file_open(struct file *file)
{
    const struct engine_options options = {.path = file->path};
    struct engine engine;
    const enum err err = engine_open(&engine, &options, &file->detail);
    if (err == ERR_OK) {
        engine_close(&engine);
    }
    return err;
}

static void file_expect_unchanged(struct file *file, enum err err)
{
    size_t size = 0;
    char *before = test_read_file(file->path, &size);
    EXPECT_INT(file_open(file), err);
    size_t size_after = 0;
    char *after = test_read_file(file->path, &size_after);
    if (before != NULL && after != NULL) {
        EXPECT_EQ(size_after, size);
        EXPECT(size == size_after && memcmp(before, after, size) == 0);
    }
    test_release_file(before, size);
    test_release_file(after, size_after);
}

static void append_id(void *ctx, const struct waiting_event *event)
{
    const struct text id = value_text(&event->id);
    buf_printf(ctx, "%.*s ", (int)id.length, id.at);
}

static void expect_order(struct engine *engine, const char *want)
{
    struct buf ids = {0};
    struct value main = value_text_new("");
    EXPECT_INT(engine_read_begin(engine, NULL), ERR_OK);
    EXPECT_INT(engine_waiting(engine, main, 0, 10, append_id, &ids, NULL),
               ERR_OK);
    engine_read_end(engine);
    EXPECT_TEXT(buf_text(&ids), want);
    value_unref(main);
    buf_release(&ids);
}

TEST(a_file_of_the_eighth_version_lists_its_events_in_the_order_of_sending)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | put receipt:x {'event':{'n':1}}");
    EXPECT_LANDED(&kit, 2, "s1 2 | put receipt:x {'failed':{}}");
    EXPECT_LANDED(&kit, 3, "s1 3 | put receipt:y {'event':{'n':2}}");
    EXPECT_LANDED(&kit, 4, "s1 4 | put receipt:x {'event':{'n':3}}");
    kit_run(&kit, DROP_VERSION_9 "PRAGMA user_version = 8");
    /* Read as it is. */
    struct engine reading;
    const struct engine_options options = {.path = kit.path, .read_only = true};
    EXPECT_INT(engine_open(&reading, &options, NULL), ERR_OK);
    expect_order(&reading, "receipt:y receipt:x ");
    engine_close(&reading);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), "8;");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA user_version"), "9;");
    expect_order(&kit.engine, "receipt:y receipt:x ");
    kit_close(&kit);
}

TEST(a_file_of_a_newer_version_is_refused_and_not_touched)
{
    struct file file;
    file_new(&file);
    EXPECT_INT(file_open(&file), ERR_OK);
    file_sql(&file, "PRAGMA user_version = 1000");
    file_expect_unchanged(&file, ERR_STORE);
    EXPECT_CONTAINS(file.detail.text, "schema version 1000");
    file_sql(&file, "PRAGMA user_version = -5");
    file_expect_unchanged(&file, ERR_STORE);
    kit_folder_remove(file.folder);
}

TEST(a_database_of_another_program_is_refused_and_not_touched)
{
    struct file file;
    file_new(&file);
    file_sql(&file, "CREATE TABLE mine(x); INSERT INTO mine VALUES(1)");
    file_expect_unchanged(&file, ERR_CORRUPT);
    EXPECT_CONTAINS(file.detail.text, "database of another program");
    file_sql(&file, "PRAGMA application_id = 77");
    file_expect_unchanged(&file, ERR_CORRUPT);
    kit_folder_remove(file.folder);
}

TEST(an_empty_file_becomes_a_store)
{
    struct file file;
    file_new(&file);
    file_write(&file, "", 0);
    EXPECT_INT(file_open(&file), ERR_OK);
    kit_folder_remove(file.folder);
}

TEST(a_file_that_is_no_database_is_refused_and_not_touched)
{
    static const char text[] = "This is a letter, and it is long enough to be "
                               "taken for a header of a database, which has "
                               "a hundred bytes.";
    struct file file;
    file_new(&file);
    file_write(&file, text, sizeof text);
    file_expect_unchanged(&file, ERR_CORRUPT);
    file_write(&file, "xy", 2); /* one byte is nothing to SQLite */
    file_expect_unchanged(&file, ERR_CORRUPT);
    kit_folder_remove(file.folder);
}

TEST(paths_that_cannot_be_opened_give_a_status)
{
    struct file file;
    file_new(&file);
    struct engine engine;
    struct engine_options options = {.path = file.path};
    CHECK(mkdir(file.path, 0700) == 0);
    EXPECT_INT(engine_open(&engine, &options, &file.detail), ERR_IO);
    CHECK(rmdir(file.path) == 0);
    char deep[320];
    (void)snprintf(deep, sizeof deep, "%s/no/such.db", file.folder);
    options.path = deep;
    EXPECT_INT(engine_open(&engine, &options, &file.detail), ERR_IO);
    EXPECT_CONTAINS(file.detail.text, "No such file");
    options.path = "";
    EXPECT_INT(engine_open(&engine, &options, &file.detail), ERR_ARGUMENT);
    EXPECT_INT(access("-lock", F_OK), -1);
    EXPECT_INT(engine_open(&engine, &options, NULL), ERR_ARGUMENT);
    kit_folder_remove(file.folder);
}

/* Opens and looks at all of what may be left of a store; nothing of it may
 * stop the program. Returns whether everything was found. */
static bool look_at_all(struct file *file)
{
    struct store_kit kit = {.options = {.path = file->path}};
    if (engine_open(&kit.engine, &kit.options, &kit.detail) != ERR_OK) {
        return false;
    }
    bool whole = strcmp(kit_read(&kit, "A"), "{'value':{'x':2}}") == 0;
    whole = strlen(kit_branches(&kit)) > 20 && whole;
    whole = kit_list(&kit, "", "space", NULL, 9, 0)[0] == '[' && whole;
    kit_commit(&kit, "s9 1 | conf A @1 | replace A.x 3");
    whole = kit.fault == ERR_OK && whole;
    kit_close(&kit);
    return whole;
}

TEST(a_truncated_file_gives_a_status_and_no_wrong_answer)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    engine_close(&kit.engine);
    size_t size = 0;
    char *whole = test_read_file(kit.path, &size);
    EXPECT(whole != NULL && size >= (size_t)8 * 4096);
    struct file file;
    file_new(&file);
    for (size_t length = 1; whole != NULL && length < size;
         length += length < 4096 ? 455 : 4096) {
        file_write(&file, whole, length);
        EXPECT(!look_at_all(&file));
        (void)unlink(file.path);
    }
    file_write(&file, whole, size);
    EXPECT(look_at_all(&file));
    test_release_file(whole, size);
    kit_folder_remove(file.folder);
    CHECK(engine_open(&kit.engine, &kit.options, NULL) == ERR_OK);
    kit_close(&kit);
}

TEST(damaged_rows_of_branches_and_commits_give_a_status)
{
    static const char *const rows[] = {
        "INSERT INTO branch(branch, name, parent, fork_seq, status, record,"
        " chain) VALUES(1, 'b', 99, 0, 'active', 2, zeroblob(32))",
        "INSERT INTO branch(branch, name, parent, fork_seq, status, record,"
        " chain) VALUES(1, 'b', 1, 0, 'active', 2, zeroblob(32))",
        "INSERT INTO branch(branch, name, parent, fork_seq, status, record,"
        " chain) VALUES(7, 'b', 0, 0, 'active', 2, zeroblob(32))",
        "INSERT INTO branch(branch, name, parent, fork_seq, status, record,"
        " chain) VALUES(-1, 'b', 0, 0, 'active', 2, zeroblob(32))",
        "DELETE FROM branch",
        "UPDATE \"commit\" SET chain = x'00'",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct file file;
        file_new(&file);
        const struct engine_options options = {.path = file.path};
        struct store_kit kit = {.options = options};
        CHECK(engine_open(&kit.engine, &kit.options, NULL) == ERR_OK);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
        kit_close(&kit);
        file_sql(&file, rows[i]);
        if (!EXPECT_INT(file_open(&file), ERR_CORRUPT)) {
            (void)test_fail(__FILE__, __LINE__, "%s", rows[i]);
        }
        kit_folder_remove(file.folder);
    }
}

/* -- Statements ---------------------------------------------------------- */

static const char *const sql_of[STATEMENT_COUNT] = {
#define X(name, sql) [STATEMENT_##name] = (sql),
#include "store/statements.h"
#undef X
};

TEST(no_statement_of_a_commit_or_a_read_walks_a_table)
{
    static const enum statement statements[] = {
        STATEMENT_BRANCH_HEAD,
        STATEMENT_SESSION_FIND,
        STATEMENT_COMMIT_FIND,
        STATEMENT_DOCUMENT_FIND,
        STATEMENT_DOCUMENT_UPDATE,
        STATEMENT_DOCUMENT_LIST,
        STATEMENT_REVISION_LAST,
        STATEMENT_REVISION_BASE,
        STATEMENT_REVISION_PATCHES,
        STATEMENT_REVISION_AFTER,
        STATEMENT_SNAPSHOT_LAST,
        STATEMENT_SNAPSHOT_PRUNE,
        STATEMENT_REVISION_BASES_AFTER,
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        const char *sql = sql_of[statements[i]];
        struct buf text = {0};
        buf_printf(&text, "EXPLAIN QUERY PLAN %s", sql);
        const char *plan = kit_sql(&kit, buf_text(&text));
        buf_release(&text);
        EXPECT_CONTAINS(plan, "SEARCH");
        if (strstr(plan, "SCAN") != NULL || strstr(plan, "TEMP") != NULL) {
            (void)test_fail(__FILE__, __LINE__, "%s: %s", sql, plan);
        }
    }
    kit_close(&kit);
}
