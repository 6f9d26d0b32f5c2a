/* Finds rows with such texts, and rewrites them. */

#include "store/repair_text.h"

#include <string.h>

#include "store/history.h"
#include "store/verify.h"
#include "value/json.h"
#include "value/utf8.h"

/* -- Texts --------------------------------------------------------------- */

/* The role of a text in a row. */
enum text_kind {
    TEXT_PLAIN,
    TEXT_JSON,
    TEXT_SCOPE, /* a scope's or session's key: its bytes are percent-encoded as
                   well (value/address.h) */
};

static const char *const function_names[] = {
    [TEXT_PLAIN] = "mended",
    [TEXT_JSON] = "mended_json",
    [TEXT_SCOPE] = "mended_scope",
};

void repair_json_text(struct buf *to, struct text text)
{
    const char *at = text.at;
    const char *const end = text.at + text.length;
    while (at < end) {
        const unsigned sequence = utf8_sequence(at, end);
        const size_t length = sequence == 0 ? 1 : sequence;
        buf_append_text(to, sequence == 0 ? "\\" : "");
        utf8_escape(to, at, length);
        at += length;
    }
}

/* Serialised again, because canonical order depends on the keys. */
static bool repair_json(struct buf *to, struct text text)
{
    static const struct json_limits limits = JSON_LIMITS_STORED;
    struct buf escaped = {0};
    struct value value = VALUE_NONE;
    repair_json_text(&escaped, text);
    const bool valid =
        json_read(buf_text(&escaped), escaped.length, &limits, &value, NULL) ==
        ERR_OK;
    if (valid) {
        json_write(to, value, JSON_CANONICAL, 0);
    }
    value_unref(value);
    buf_release(&escaped);
    return valid;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte encoded as %NN at `at`, or -1. */
static int percent_byte(const char *at, const char *end)
{
    if (end - at < 3 || *at != '%' || hex_digit(at[1]) < 0 ||
        hex_digit(at[2]) < 0) {
        return -1;
    }
    return hex_digit(at[1]) * 16 + hex_digit(at[2]);
}

static bool repair_scope(struct buf *to, struct text text)
{
    bool mended = false;
    const char *at = text.at;
    const char *const end = text.at + text.length;
    while (at < end) {
        char bytes[4];
        size_t count = 0;
        while (count < sizeof bytes && percent_byte(at + 3 * count, end) >= 0) {
            bytes[count] = (char)percent_byte(at + 3 * count, end);
            count++;
        }
        const unsigned sequence =
            count == 0 ? 0 : utf8_sequence(bytes, bytes + count);
        if (count > 0 && sequence == 0) {
            mended = true;
            buf_printf(to, "%%5Cx%02x", (unsigned)(unsigned char)bytes[0]);
            at += 3;
        } else {
            const size_t length = count == 0 ? 1 : (size_t)3 * sequence;
            buf_append(to, at, length);
            at += length;
        }
    }
    return mended;
}

/* SQL: mended(text) is the repaired text; NULL if nothing is wrong with it, or
 * it cannot be repaired. */
static void mended(sqlite3_context *context, int count, sqlite3_value **values)
{
    const enum text_kind kind =
        *(const enum text_kind *)sqlite3_user_data(context);
    const char *at = (const char *)sqlite3_value_text(values[0]);
    (void)count;
    if (at == NULL) {
        return;
    }
    const struct text text = {at, (size_t)sqlite3_value_bytes(values[0])};
    const bool is_text = utf8_is_valid(text.at, text.length);
    struct buf to = {0};
    bool found = !is_text;
    if (!is_text && kind == TEXT_JSON) {
        found = repair_json(&to, text);
    } else if (!is_text) {
        utf8_escape(&to, text.at, text.length);
    } else if (kind == TEXT_SCOPE) {
        found = repair_scope(&to, text);
    }
    if (found) {
        sqlite3_result_text64(context,
                              buf_text(&to),
                              to.length,
                              SQLITE_TRANSIENT,
                              SQLITE_UTF8);
    }
    buf_release(&to);
}

static enum err add_functions(struct engine *engine, struct err_detail *detail)
{
    static enum text_kind kinds[] = {TEXT_PLAIN, TEXT_JSON, TEXT_SCOPE};
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < COUNT_OF(kinds); i++) {
        code = sqlite3_create_function(engine->database.db,
                                       function_names[kinds[i]],
                                       1,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                       &kinds[i],
                                       mended,
                                       NULL,
                                       NULL);
    }
    return code == SQLITE_OK ? ERR_OK
                             : database_error(&engine->database, code, detail);
}

/* -- Rows ---------------------------------------------------------------- */

/* Every column that holds a user's text. */
static const struct text_column {
    const char *table;
    const char *name;
    enum text_kind kind;
} columns[] = {
    {"branch", "name", TEXT_PLAIN},
    {"session", "key", TEXT_SCOPE},
    {"\"commit\"", "context", TEXT_JSON},
    {"document", "scope", TEXT_SCOPE},
    {"document", "id", TEXT_PLAIN},
    {"revision", "data", TEXT_JSON},
    {"snapshot", "value", TEXT_JSON},
    {"piece", "id", TEXT_PLAIN},
    {"action", "scope", TEXT_SCOPE},
    {"run", "elsewhere", TEXT_JSON},
    {"place", "space", TEXT_PLAIN},
    {"place", "scope", TEXT_SCOPE},
    {"place", "id", TEXT_PLAIN},
    {"place", "path", TEXT_PLAIN},
    {"mirror", "space", TEXT_PLAIN},
    {"mirror", "branch", TEXT_PLAIN},
    {"mirror", "piece", TEXT_PLAIN},
};

static enum err count_rows(struct engine *engine,
                           const struct text_column *column,
                           uint64_t *count,
                           struct err_detail *detail)
{
    char sql[160];
    (void)sqlite3_snprintf((int)sizeof sql,
                           sql,
                           "SELECT count(*) FROM %s WHERE %s(%s) IS NOT NULL",
                           column->table,
                           function_names[column->kind],
                           column->name);
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(engine->database.db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
    }
    if (code == SQLITE_ROW) {
        *count += (uint64_t)sqlite3_column_int64(stmt, 0);
    }
    (void)sqlite3_finalize(stmt);
    return code == SQLITE_ROW ? ERR_OK
                              : database_error(&engine->database, code, detail);
}

static enum err repair_rows(struct engine *engine,
                            const struct text_column *column,
                            uint64_t *count,
                            struct err_detail *detail)
{
    char sql[200];
    const char *function = function_names[column->kind];
    (void)sqlite3_snprintf((int)sizeof sql,
                           sql,
                           "UPDATE %s SET %s = %s(%s) WHERE %s(%s) IS NOT NULL",
                           column->table,
                           column->name,
                           function,
                           column->name,
                           function,
                           column->name);
    const enum err err = database_run(&engine->database, sql, detail);
    *count += (uint64_t)sqlite3_changes64(engine->database.db);
    return err;
}

enum err engine_count_invalid_text(struct engine *engine,
                                   uint64_t *out,
                                   struct err_detail *detail)
{
    *out = 0;
    enum err err = add_functions(engine, detail);
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(columns); i++) {
        err = count_rows(engine, &columns[i], out, detail);
    }
    return err;
}

/* -- The chain ----------------------------------------------------------- */

struct new_chain {
    enum commit_record_kind kind;
    uint64_t number; /* the seq of a commit, or the record */
    struct digest chain;
};

struct chaining {
    struct digest chain;
    VEC(struct new_chain) changed;
};

static enum err chain_record(void *ctx, const struct history_record *record)
{
    struct chaining *chaining = ctx;
    chaining->chain =
        commit_record_chain(chaining->chain, record->commit_record);
    if (memcmp(chaining->chain.bytes, record->chain.bytes, DIGEST_BYTES) != 0) {
        const struct commit_record *commit_record = record->commit_record;
        const struct new_chain changed = {
            commit_record->kind,
            commit_record->kind == RECORD_COMMIT ? commit_record->seq
                                                 : commit_record->record,
            chaining->chain,
        };
        vec_push(&chaining->changed, changed);
    }
    return ERR_OK;
}

/* Where the remaining records begin (maintain.h). */
static enum err begin_chain(struct engine *engine,
                            struct digest *chain,
                            uint64_t *record,
                            struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_COMMIT_AT);
    query_int(&query, 1, engine->horizon);
    if (query_step(&query)) {
        const struct text text = query_get_text(&query, 1);
        *record = query_get_int(&query, 0);
        if (text.length == DIGEST_BYTES) {
            memcpy(chain->bytes, text.at, DIGEST_BYTES);
        }
    }
    return query_end(&query, detail);
}

static enum err write_chain(struct engine *engine,
                            const struct new_chain *changed,
                            struct err_detail *detail)
{
    static const enum statement statements[] = {
        [RECORD_COMMIT] = STATEMENT_COMMIT_CHAIN,
        [RECORD_FORK] = STATEMENT_BRANCH_CHAIN,
        [RECORD_CLOSE] = STATEMENT_BRANCH_CLOSED_CHAIN,
    };
    struct query query =
        query_begin(&engine->database, statements[changed->kind]);
    query_int(&query, 1, changed->number);
    query_bytes(&query, 2, changed->chain.bytes, DIGEST_BYTES);
    (void)query_step(&query);
    return query_end(&query, detail);
}

static enum err chain_anew(struct engine *engine, struct err_detail *detail)
{
    struct chaining chaining = {.chain = {{0}}};
    uint64_t record = 0;
    enum err err = begin_chain(engine, &chaining.chain, &record, detail);
    if (err == ERR_OK) {
        err = history_walk(engine, record, chain_record, &chaining, detail);
    }
    VEC_FOREACH (&chaining.changed, changed) {
        if (err == ERR_OK) {
            err = write_chain(engine, changed, detail);
        }
    }
    vec_release(&chaining.changed);
    return err;
}

/* -- The whole repair ---------------------------------------------------- */

/* With the bytes as they are. */
static enum err check_history(struct engine *engine,
                              bool *holds,
                              struct err_detail *detail)
{
    const struct verify_options options = {0};
    struct verify_counts counts = {0};
    engine_forget(engine);
    engine->any_bytes = true;
    const enum err err = engine_verify(engine, &options, &counts, detail);
    engine->any_bytes = false;
    engine_forget(engine);
    *holds = counts.holds;
    return err;
}

/* Images are copies of other rows, and are written again. */
static enum err write_rows(struct engine *engine,
                           uint64_t *count,
                           struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(columns); i++) {
        err = repair_rows(engine, &columns[i], count, detail);
    }
    if (err == ERR_OK) {
        err = database_run(&engine->database, "DELETE FROM image", detail);
    }
    engine_forget(engine);
    if (err == ERR_OK) {
        err = engine_refresh(engine, detail);
    }
    return err == ERR_OK ? chain_anew(engine, detail) : err;
}

enum err engine_repair_text(struct engine *engine,
                            uint64_t *out,
                            struct err_detail *detail)
{
    uint64_t mangled = 0;
    bool holds = false;
    *out = 0;
    enum err err = engine_count_invalid_text(engine, &mangled, detail);
    if (err == ERR_OK && mangled > 0) {
        err = check_history(engine, &holds, detail);
    }
    if (err != ERR_OK || !holds) {
        return err;
    }
    err = engine_write_begin(engine, detail);
    if (err == ERR_OK) {
        err = write_rows(engine, out, detail);
        err = engine_write_end(engine, err, detail);
    }
    engine_forget(engine);
    return err;
}
