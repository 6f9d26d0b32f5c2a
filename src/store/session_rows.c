/* The cache of sessions over their rows. */

#include "store/session_rows.h"

#include "value/compare.h"
#include "value/object.h"

struct session_row {
    struct value key;
    uint64_t number;
    uint64_t next_local_seq; /* above every one that has landed */
    bool leased;             /* by this engine (leases.h) */
};

static bool is_session(const void *item, const void *key)
{
    const struct session_row *row = item;
    return key_equal(row->key, *(const struct value *)key);
}

static struct session_row *peek(struct engine *engine, struct value key)
{
    return map_find(&engine->sessions, value_hash(key), is_session, &key);
}

void session_rows_forget(struct engine *engine)
{
    MAP_FOREACH (&engine->sessions, slot) {
        struct session_row *row = slot->item;
        value_unref(row->key);
        mem_free(row, sizeof *row);
    }
    map_clear(&engine->sessions);
}

/* The row as the file has it; its number is 0 if there is none. */
static enum err load_row(struct engine *engine,
                         struct session_row *row,
                         struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_SESSION_FIND);
    query_string(&query, 1, row->key);
    if (query_step(&query)) {
        row->number = query_get_int(&query, 0);
        row->next_local_seq =
            query_is_null(&query, 1) ? 0 : query_get_int(&query, 1) + 1;
    }
    return query_end(&query, detail);
}

static enum err insert_row(struct engine *engine,
                           struct session_row *row,
                           struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_SESSION_INSERT);
    query_string(&query, 1, row->key);
    (void)query_step(&query);
    row->number = query_inserted(&query);
    return query_end(&query, detail);
}

enum err engine_session(struct engine *engine,
                        struct value key,
                        bool create,
                        uint64_t *out,
                        struct err_detail *detail)
{
    const struct session_row *known = peek(engine, key);
    *out = known != NULL ? known->number : 0;
    if (known != NULL) {
        return ERR_OK;
    }
    struct session_row found = {.key = key};
    enum err err = load_row(engine, &found, detail);
    if (err == ERR_OK && found.number == 0 && create) {
        err = insert_row(engine, &found, detail);
    }
    if (err == ERR_OK && found.number != 0) {
        struct session_row *row = mem_alloc(sizeof *row);
        *row = found;
        (void)value_ref(row->key);
        map_insert(&engine->sessions, value_hash(key), row);
        *out = found.number;
    }
    return err;
}

/* As admission derives it from a commit's author. */
static enum err session_key_new(struct identity identity,
                                struct value *out,
                                struct err_detail *detail)
{
    if (value_is_absent(identity.principal)) {
        *out = value_ref(identity.session);
        return ERR_OK;
    }
    return scope_key_new(SCOPE_SESSION, identity, out, detail);
}

enum err engine_session_next(struct engine *engine,
                             struct identity identity,
                             uint64_t *next,
                             struct err_detail *detail)
{
    struct value key = VALUE_NONE;
    uint64_t number = 0;
    *next = 1;
    enum err err = session_key_new(identity, &key, detail);
    if (err == ERR_OK) {
        err = engine_read_begin(engine, detail);
    }
    if (err == ERR_OK) {
        err = engine_session(engine, key, false, &number, detail);
        const struct session_row *row = peek(engine, key);
        if (row != NULL && row->next_local_seq > 1) {
            *next = row->next_local_seq;
        }
        engine_read_end(engine);
    }
    value_unref(key);
    return err;
}

bool session_rows_are_ahead(struct engine *engine,
                            struct value key,
                            uint64_t local_seq)
{
    const struct session_row *row = peek(engine, key);
    return row != NULL && local_seq >= row->next_local_seq;
}

void session_rows_landed(struct engine *engine,
                         struct value key,
                         uint64_t local_seq)
{
    struct session_row *row = peek(engine, key);
    CHECK(row != NULL);
    if (UNLIKELY(!row->leased)) {
        leases_take(&engine->database.leases,
                    engine->database.lock.fd,
                    row->number);
        row->leased = true;
    }
    if (local_seq >= row->next_local_seq) {
        row->next_local_seq = local_seq + 1;
    }
}
