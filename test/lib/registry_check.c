/* Rows against documents (lib/registry_check.h). */

#include "lib/registry_check.h"

#include <string.h>

#include "lib/test.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

static const char thread_rows[] =
    "SELECT 'thread:' || id, json_remove(json_object('status', status, 'since',"
    " since, 'environment', environment, 'parent', parent, 'run', run,"
    " 'archived', json(iif(archived_at IS NULL, 'false', 'true')),"
    " 'deleted', json(iif(deleted_at IS NULL, 'false', 'true')),"
    " 'attentionAt', attention_at, 'queued',"
    " (SELECT count(*) FROM message WHERE thread = thread.id)),"
    " iif(parent IS NULL, '$.parent', '$.x'), iif(run IS NULL, '$.run',"
    " '$.x')) FROM thread";

static const char environment_rows[] =
    "SELECT 'environment:' || id, json_remove(json_object('status', status,"
    " 'since', since, 'managed', json(iif(managed, 'true', 'false')),"
    " 'workspace', workspace, 'attempt', attempt),"
    " iif(workspace IS NULL, '$.workspace', '$.x'),"
    " iif(attempt IS NULL, '$.attempt', '$.x')) FROM environment";

static const char count_rows[] =
    "SELECT 'lifecycle:counts', json_object("
    " 'thread', (SELECT json_group_object(s.column1, (SELECT count(*)"
    "   FROM thread WHERE status = s.column1)) FROM (VALUES('idle'),"
    "   ('starting'), ('active'), ('stopping'), ('error')) s),"
    " 'environment', (SELECT json_group_object(s.column1, (SELECT count(*)"
    "   FROM environment WHERE status = s.column1)) FROM (VALUES"
    "   ('provisioning'), ('ready'), ('retiring'), ('error'),"
    "   ('destroying'), ('destroyed')) s))";

static struct value parse(const char *text, size_t length)
{
    struct value value = VALUE_NONE;
    CHECK(json_read(text, length, NULL, &value, NULL) == ERR_OK);
    return value;
}

static bool check_document(struct registry *registry,
                           const char *id,
                           const char *json)
{
    const struct engine_address address = {
        .branch = value_text_new(""),
        .scope_key = value_text_new("space"),
        .id = value_text_new(id),
    };
    struct value document = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = engine_read(registry->engine,
                                     &address,
                                     ENGINE_HEAD,
                                     &document,
                                     &detail);
    struct value want = parse(json, strlen(json));
    const bool held = err == ERR_OK && value_is_object(document) &&
                      value_equal(object_field(document, "value"), want);
    if (!held) {
        struct buf got = {0};
        if (!value_is_absent(document)) {
            json_write(&got, document, JSON_CANONICAL, 0);
        }
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s\n  the row is      %s\n  the document is %s",
                        id,
                        json,
                        buf_text(&got));
        buf_release(&got);
    }
    value_unref(want);
    value_unref(document);
    value_unref(address.id);
    return held;
}

/* How many documents were compared, or -1. */
static int check_rows(struct registry *registry, const char *sql)
{
    sqlite3 *db = registry->engine->database.db;
    sqlite3_stmt *stmt = NULL;
    int count = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", sqlite3_errmsg(db));
        return -1;
    }
    /* A read of the engine is a transaction: the rows are copied first. */
    struct buf rows = {0};
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < 2; i++) {
            buf_append_text(&rows, (const char *)sqlite3_column_text(stmt, i));
            buf_append_char(&rows, '\n');
        }
        count++;
    }
    (void)sqlite3_finalize(stmt);
    bool held = true;
    char *at = rows.at;
    for (int i = 0; i < count; i++) {
        char *json = strchr(at, '\n') + 1;
        char *next = strchr(json, '\n') + 1;
        json[-1] = '\0';
        next[-1] = '\0';
        held = check_document(registry, at, json) && held;
        at = next;
    }
    buf_release(&rows);
    return held ? count : -1;
}

static int count_documents(struct registry *registry)
{
    sqlite3 *db = registry->engine->database.db;
    sqlite3_stmt *stmt = NULL;
    CHECK(sqlite3_prepare_v2(db,
                             "SELECT count(*) FROM document WHERE op <>"
                             " 'delete' AND (id GLOB 'thread:*' OR id GLOB"
                             " 'environment:*')",
                             -1,
                             &stmt,
                             NULL) == SQLITE_OK);
    CHECK(sqlite3_step(stmt) == SQLITE_ROW);
    const int count = sqlite3_column_int(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return count;
}

bool registry_check(struct registry *registry)
{
    const int threads = check_rows(registry, thread_rows);
    const int environments = check_rows(registry, environment_rows);
    const int counts = check_rows(registry, count_rows);
    bool held = threads >= 0 && environments >= 0 && counts == 1;
    if (held && count_documents(registry) != threads + environments) {
        held = test_fail(__FILE__, __LINE__, "a document has no row");
    }
    return held;
}

/* -- The log ------------------------------------------------------------- */

static void record(void *ctx, enum log_level level, const char *line)
{
    struct recorder *recorder = ctx;
    buf_printf(&recorder->text, "%s: %s\n", log_level_name(level), line);
    recorder->lines++;
    if (strstr(line, " not applied: ") != NULL) {
        recorder->not_applied++;
    }
}

void recorder_init(struct recorder *recorder)
{
    *recorder = (struct recorder){
        .log = {.fn = record, .ctx = recorder, .level = LOG_LEVEL_DEBUG},
    };
}

void recorder_release(struct recorder *recorder)
{
    buf_release(&recorder->text);
}

void recorder_clear(struct recorder *recorder)
{
    buf_clear(&recorder->text);
    recorder->lines = 0;
    recorder->not_applied = 0;
}
