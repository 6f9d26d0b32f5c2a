/* The prepared statements of a connection: binding, stepping, columns. */

#include "store/database.h"

static const char *const statement_sql[STATEMENT_COUNT] = {
#define X(name, sql) [STATEMENT_##name] = (sql),
#include "store/statements.h"
#undef X
};

struct query query_begin(struct database *database, enum statement statement)
{
    struct query query = {.database = database, .code = SQLITE_OK};
    if (database->statement[statement] == NULL) {
        query.code = sqlite3_prepare_v3(database->db,
                                        statement_sql[statement],
                                        -1,
                                        SQLITE_PREPARE_PERSISTENT,
                                        &database->statement[statement],
                                        NULL);
    }
    query.stmt = database->statement[statement];
    return query;
}

static void note(struct query *query, int code)
{
    if (query->code == SQLITE_OK) {
        query->code = code;
    }
}

void query_int(struct query *query, int parameter, uint64_t number)
{
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_int64(query->stmt, parameter, (int64_t)number));
    }
}

void query_null(struct query *query, int parameter)
{
    if (query->code == SQLITE_OK) {
        note(query, sqlite3_bind_null(query->stmt, parameter));
    }
}

void query_text(struct query *query,
                int parameter,
                const char *text,
                size_t length)
{
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_text64(query->stmt,
                                 parameter,
                                 text,
                                 length,
                                 SQLITE_STATIC,
                                 SQLITE_UTF8));
    }
}

void query_string(struct query *query, int parameter, struct value string)
{
    /* A short string is inside this handle, which ends before the query does:
     * SQLite makes a copy. */
    const struct text text = value_text(&string);
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_text64(query->stmt,
                                 parameter,
                                 text.at,
                                 text.length,
                                 SQLITE_TRANSIENT,
                                 SQLITE_UTF8));
    }
}

void query_kept(struct query *query, int parameter, const struct value *string)
{
    const struct text text = value_text(string);
    query_text(query, parameter, text.at, text.length);
}

void query_bytes(struct query *query,
                 int parameter,
                 const void *bytes,
                 size_t size)
{
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_blob64(query->stmt,
                                 parameter,
                                 bytes,
                                 size,
                                 SQLITE_STATIC));
    }
}

bool query_step(struct query *query)
{
    if (query->code != SQLITE_OK) {
        return false;
    }
    const int code = sqlite3_step(query->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        note(query, code);
    }
    return code == SQLITE_ROW;
}

bool query_expects(struct query *query, bool holds)
{
    if (UNLIKELY(!holds)) {
        note(query, SQLITE_CORRUPT);
    }
    return holds;
}

uint64_t query_get_int(struct query *query, int column)
{
    return (uint64_t)sqlite3_column_int64(query->stmt, column);
}

uint64_t query_inserted(struct query *query)
{
    return query->code == SQLITE_OK
               ? (uint64_t)sqlite3_last_insert_rowid(query->database->db)
               : 0;
}

bool query_changed(struct query *query)
{
    return query->code == SQLITE_OK && sqlite3_changes(query->database->db) > 0;
}

bool query_is_null(struct query *query, int column)
{
    return sqlite3_column_type(query->stmt, column) == SQLITE_NULL;
}

struct text query_get_text(struct query *query, int column)
{
    /* One access to the row instead of two. A connection belongs to one thread,
     * so its values need no protection. */
    sqlite3_value *value = sqlite3_column_value(query->stmt, column);
    const void *at = sqlite3_value_blob(value);
    const int size = sqlite3_value_bytes(value);
    return (struct text){at != NULL ? at : "", (size_t)size};
}

enum err query_end(struct query *query, struct err_detail *detail)
{
    const enum err err = query_end_unseen(query, detail);
    return err == ERR_OK ? database_check_shm(query->database, detail) : err;
}

enum err query_end_unseen(struct query *query, struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (query->code != SQLITE_OK) {
        err = database_error(query->database, query->code, detail);
    }
    if (query->stmt != NULL) {
        /* The bindings stay: each use of a statement binds all of them. */
        (void)sqlite3_reset(query->stmt);
    }
    return err;
}
