/* The cache of sessions over their rows. */

#include "store/sessions.h"

#include "value/compare.h"
#include "value/object.h"

struct session_row {
    struct value key;
    uint64_t number;
    uint64_t next_local_seq; /* above every one that has landed */
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

void sessions_forget(struct engine *engine)
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

bool session_is_ahead(struct engine *engine,
                      struct value key,
                      uint64_t local_seq)
{
    const struct session_row *row = peek(engine, key);
    return row != NULL && local_seq >= row->next_local_seq;
}

void session_landed(struct engine *engine, struct value key, uint64_t local_seq)
{
    struct session_row *row = peek(engine, key);
    CHECK(row != NULL);
    if (local_seq >= row->next_local_seq) {
        row->next_local_seq = local_seq + 1;
    }
}
