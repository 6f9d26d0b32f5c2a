/* From rows back to records. */

#include "store/history.h"

#include <string.h>

#include "value/array.h"
#include "value/json.h"

/* -- Branch changes ------------------------------------------------------ */

/* A fork or a close, with its number in the history. */
struct branch_record {
    struct commit_record commit_record;
    struct digest chain;
};

typedef VEC(struct branch_record) branch_records;

static void release_branch_records(branch_records *list)
{
    VEC_FOREACH (list, record) {
        commit_record_release(&record->commit_record);
    }
    vec_release(list);
}

static struct digest digest_of(struct text bytes)
{
    struct digest digest = {{0}};
    if (bytes.length == sizeof digest.bytes) {
        memcpy(digest.bytes, bytes.at, sizeof digest.bytes);
    }
    return digest;
}

static enum err load_branch_records(struct engine *engine,
                                    branch_records *out,
                                    struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_BRANCH_RECORDS);
    while (query_step(&query)) {
        const uint64_t number = query_get_int(&query, 1);
        const bool closes = query_get_int(&query, 3) != 0;
        if (!query_expects(&query,
                           number < engine->branches.count &&
                               (number > 0 || closes))) {
            break;
        }
        const struct branch *branch = engine_branch_by_number(engine, number);
        struct branch_record record = {
            .commit_record =
                {
                    .kind = closes ? RECORD_CLOSE : RECORD_FORK,
                    .record = query_get_int(&query, 0),
                    .branch = value_ref(branch->name),
                    .parent =
                        closes ? VALUE_NONE : value_ref(branch->parent->name),
                    .fork_seq = closes ? 0 : branch->fork_seq,
                },
            .chain = digest_of(query_get_text(&query, 2)),
        };
        vec_push(out, record);
    }
    return query_end(&query, detail);
}

/* -- Commits ------------------------------------------------------------- */

static enum err damaged(uint64_t seq,
                        const char *what,
                        struct err_detail *detail)
{
    return err_set(detail,
                   ERR_CORRUPT,
                   "commit %llu: %s",
                   (unsigned long long)seq,
                   what);
}

/* A column of JSON; absent if it is NULL. */
static bool read_json(const struct engine *engine,
                      struct text text,
                      struct value *out)
{
    *out = VALUE_NONE;
    return text.length == 0 || stored_read(engine, text, out, NULL) == ERR_OK;
}

/* If texts may have any bytes, the chain is over the text of the row itself. */
static struct value chained_text(const struct engine *engine, struct text text)
{
    return engine->any_bytes && text.length > 0
               ? value_string_new(text.at, text.length)
               : VALUE_NONE;
}

static enum err load_write(struct engine *engine,
                           uint64_t document,
                           uint64_t seq,
                           uint32_t index,
                           struct record_write *out,
                           struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_REVISION_GET);
    query_int(&query, 1, document);
    query_int(&query, 2, seq);
    query_int(&query, 3, index);
    bool valid = false;
    out->index = index;
    if (query_step(&query)) {
        const struct text id = query_get_text(&query, 0);
        const struct text scope = query_get_text(&query, 1);
        out->id = value_string_new(id.at, id.length);
        out->scope_key = value_string_new(scope.at, scope.length);
        out->data_text = chained_text(engine, query_get_text(&query, 3));
        valid = document_op_read(query_get_text(&query, 2), &out->op) &&
                read_json(engine, query_get_text(&query, 3), &out->data) &&
                read_json(engine, query_get_text(&query, 4), &out->trace);
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK) {
        return err;
    }
    return valid ? ERR_OK : damaged(seq, "a revision is missing", detail);
}

static enum err load_writes(struct engine *engine,
                            struct value documents,
                            struct commit_record *out,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (uint32_t i = 0; err == ERR_OK && i < array_count(documents); i++) {
        const struct value number = array_at(documents, i);
        if (value_kind(number) != VALUE_INT) {
            continue; /* elided */
        }
        const struct record_write empty = {0};
        vec_push(&out->writes, empty);
        err = load_write(engine,
                         (uint64_t)value_integer(number),
                         out->seq,
                         i,
                         vec_last(&out->writes),
                         detail);
    }
    return err;
}

static enum err load_resolved(const struct engine *engine,
                              struct text text,
                              struct commit_record *out,
                              struct err_detail *detail)
{
    struct value list = VALUE_NONE;
    if (text.length == 0) {
        return ERR_OK;
    }
    if (!read_json(engine, text, &list) || !value_is_array(list)) {
        value_unref(list);
        return damaged(out->seq, "its resolution is damaged", detail);
    }
    const bool valid = resolved_read(list, out);
    value_unref(list);
    return valid ? ERR_OK
                 : damaged(out->seq, "its resolution is damaged", detail);
}

/* The current row, without its writes. */
static enum err load_commit(const struct engine *engine,
                            struct query *query,
                            struct commit_record *out,
                            struct value *documents,
                            struct err_detail *detail)
{
    const struct text branch = query_get_text(query, 2);
    const struct text session = query_get_text(query, 3);
    const struct text digest = query_get_text(query, 5);
    out->kind = RECORD_COMMIT;
    out->seq = query_get_int(query, 0);
    out->record = query_get_int(query, 1);
    out->branch = value_string_new(branch.at, branch.length);
    out->session = value_string_new(session.at, session.length);
    out->local_seq = query_get_int(query, 4);
    out->at_ms = query_get_int(query, 6);
    if (out->seq > INT64_MAX || out->record > INT64_MAX ||
        out->local_seq > INT64_MAX || out->at_ms > INT64_MAX) {
        return damaged(out->seq, "its numbers are damaged", detail);
    }
    if (digest.length != sizeof out->digest) {
        return damaged(out->seq, "its digest is damaged", detail);
    }
    memcpy(out->digest, digest.at, sizeof out->digest);
    out->context_text = chained_text(engine, query_get_text(query, 7));
    if (!read_json(engine, query_get_text(query, 7), &out->context)) {
        return damaged(out->seq, "its context is damaged", detail);
    }
    if (!read_json(engine, query_get_text(query, 9), documents) ||
        !value_is_array(*documents)) {
        return damaged(out->seq, "its list of documents is damaged", detail);
    }
    return load_resolved(engine, query_get_text(query, 8), out, detail);
}

/* -- The walk ------------------------------------------------------------ */

struct walk {
    struct engine *engine;
    uint64_t after;
    history_fn *visit;
    void *ctx;
    struct err_detail *detail;
    branch_records branches;
    size_t next_branch;
};

static enum err visit_record(struct walk *walk,
                             struct commit_record *commit_record,
                             const struct digest *chain)
{
    commit_record_complete(commit_record);
    struct history_record record = {
        .commit_record = commit_record,
        .record = record_write(commit_record),
        .chain = *chain,
    };
    const enum err err = walk->visit(walk->ctx, &record);
    value_unref(record.record);
    return err;
}

/* The branch changes that come before record `before`. */
static enum err visit_branches(struct walk *walk, uint64_t before)
{
    enum err err = ERR_OK;
    while (err == ERR_OK && walk->next_branch < walk->branches.count) {
        struct branch_record *record = &walk->branches.at[walk->next_branch];
        if (record->commit_record.record >= before) {
            break;
        }
        walk->next_branch++;
        if (record->commit_record.record > walk->after) {
            err = visit_record(walk, &record->commit_record, &record->chain);
        }
    }
    return err;
}

static enum err visit_commit(struct walk *walk, struct query *query)
{
    struct commit_record commit_record = {0};
    struct value documents = VALUE_NONE;
    const struct digest chain = digest_of(query_get_text(query, 10));
    enum err err = load_commit(walk->engine,
                               query,
                               &commit_record,
                               &documents,
                               walk->detail);
    if (err == ERR_OK) {
        err = visit_branches(walk, commit_record.record);
    }
    if (err == ERR_OK && commit_record.record > walk->after) {
        err =
            load_writes(walk->engine, documents, &commit_record, walk->detail);
        if (err == ERR_OK) {
            err = visit_record(walk, &commit_record, &chain);
        }
    }
    value_unref(documents);
    commit_record_release(&commit_record);
    return err;
}

static enum err visit_commits(struct walk *walk)
{
    struct query query =
        query_begin(&walk->engine->database, STATEMENT_COMMIT_LIST);
    query_int(&query, 1, walk->engine->horizon);
    enum err err = ERR_OK;
    while (err == ERR_OK && query_step(&query)) {
        err = visit_commit(walk, &query);
    }
    const enum err ended = query_end(&query, walk->detail);
    return err != ERR_OK ? err : ended;
}

enum err history_walk(struct engine *engine,
                      uint64_t after,
                      history_fn *visit,
                      void *ctx,
                      struct err_detail *detail)
{
    struct walk walk = {
        .engine = engine,
        .after = after,
        .visit = visit,
        .ctx = ctx,
        .detail = detail,
    };
    enum err err = load_branch_records(engine, &walk.branches, detail);
    if (err == ERR_OK) {
        err = visit_commits(&walk);
    }
    if (err == ERR_OK) {
        err = visit_branches(&walk, UINT64_MAX);
    }
    release_branch_records(&walk.branches);
    return err;
}
