/* Records become rows. Nothing is decided here: a record is applied as it is,
 * and the caches follow. */

#include <string.h>

#include "store/commit_record.h"
#include "store/recent.h"
#include "store/session_rows.h"
#include "store/waiting.h"
#include "value/json.h"

/* -- One write ----------------------------------------------------------- */

static void put_json(struct query *query,
                     int parameter,
                     struct value value,
                     struct buf *text)
{
    if (value_is_absent(value)) {
        query_null(query, parameter);
        return;
    }
    json_write(text, value, JSON_CANONICAL, 0);
    query_text(query, parameter, buf_text(text), text->length);
}

/* The same for a string, which must live until the query has ended. */
static void put_string(struct query *query,
                       int parameter,
                       const struct value *string)
{
    if (value_is_absent(*string)) {
        query_null(query, parameter);
    } else {
        query_kept(query, parameter, string);
    }
}

static enum err insert_revision(struct engine *engine,
                                const struct commit_record *commit_record,
                                size_t index,
                                struct err_detail *detail)
{
    const struct record_write *write = &commit_record->writes.at[index];
    struct buf trace = {0};
    struct query query =
        query_begin(&engine->database, STATEMENT_REVISION_INSERT);
    const char *op = commit_op_name(write->op);
    query_int(&query, 1, write->document->number);
    query_int(&query, 2, commit_record->seq);
    query_int(&query, 3, write->index);
    query_text(&query, 4, op, strlen(op));
    put_string(&query, 5, &write->data_text);
    put_json(&query, 6, write->trace, &trace);
    (void)query_step(&query);
    const enum err err = query_end(&query, detail);
    buf_release(&trace);
    return err;
}

/* The numbers of a document's row, from the third parameter on. */
static void put_row(struct query *query, int from, const struct document *row)
{
    const char *op = commit_op_name(row->op);
    query_int(query, from, row->head_seq);
    query_int(query, from + 1, row->head_index);
    query_text(query, from + 2, op, strlen(op));
    query_int(query, from + 3, row->base_seq);
    query_int(query, from + 4, row->tail_count);
    query_int(query, from + 5, row->tail_bytes);
    query_int(query, from + 6, row->base_bytes);
}

static enum err insert_document(struct engine *engine,
                                struct document *document,
                                struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_DOCUMENT_INSERT);
    query_int(&query, 1, document->branch->number);
    query_kept(&query, 2, &document->scope_key);
    query_kept(&query, 3, &document->id);
    put_row(&query, 4, document);
    (void)query_step(&query);
    document->number = query_inserted(&query);
    return query_end(&query, detail);
}

enum err document_update(struct engine *engine,
                         const struct document *document,
                         struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_DOCUMENT_UPDATE);
    query_int(&query, 1, document->number);
    put_row(&query, 2, document);
    (void)query_step(&query);
    return query_end(&query, detail);
}

static void move_head(struct document *document,
                      const struct record_write *write,
                      uint64_t seq)
{
    document->op = write->op;
    document->head_seq = seq;
    document->head_index = write->index;
    value_unref(document->head);
    document->head = value_ref(write->result);
    document->head_bytes = write->result_bytes;
    document->head_known = write->result_known;
}

static void count_tail(struct document *document,
                       const struct record_write *write)
{
    const uint64_t bytes = value_is_absent(write->data_text)
                               ? 0
                               : value_text(&write->data_text).length;
    if (write->op == COMMIT_PATCH) {
        document->tail_count++;
        document->tail_bytes += bytes;
    } else {
        document->base_seq = document->head_seq;
        document->base_bytes = bytes;
        document->tail_count = 0;
        document->tail_bytes = 0;
    }
}

/* -- Snapshots ----------------------------------------------------------- */

static enum err prune_snapshots(struct engine *engine,
                                const struct document *document,
                                struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_SNAPSHOT_PRUNE);
    query_int(&query, 1, document->number);
    query_int(&query, 2, engine->options.snapshots_kept);
    (void)query_step(&query);
    return query_end(&query, detail);
}

static enum err insert_snapshot(struct engine *engine,
                                struct document *document,
                                struct err_detail *detail)
{
    struct value head = VALUE_NONE;
    enum err err = document_head(engine, document, &head, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct buf text = {0};
    struct query query =
        query_begin(&engine->database, STATEMENT_SNAPSHOT_INSERT);
    query_int(&query, 1, document->number);
    query_int(&query, 2, document->head_seq);
    put_json(&query, 3, head, &text);
    (void)query_step(&query);
    err = query_end(&query, detail);
    document->base_bytes = text.length;
    document->tail_count = 0;
    document->tail_bytes = 0;
    engine->counters.snapshots++;
    buf_release(&text);
    return err == ERR_OK ? prune_snapshots(engine, document, detail) : err;
}

/* Bounds the cost of reading: true when there are many patches after the last
 * whole value, or more bytes of them than it has. */
static bool snapshot_is_due(const struct engine *engine,
                            const struct document *document)
{
    return document->op == COMMIT_PATCH &&
           (document->tail_count >= engine->options.snapshot_patches ||
            (document->tail_bytes >= engine->options.snapshot_bytes &&
             document->tail_bytes >= document->base_bytes));
}

/* -- Commits ------------------------------------------------------------- */

static enum err apply_write(struct engine *engine,
                            const struct commit_record *commit_record,
                            uint64_t session,
                            size_t index,
                            struct err_detail *detail)
{
    const struct record_write *write = &commit_record->writes.at[index];
    struct document *document = write->document;
    move_head(document, write, commit_record->seq);
    count_tail(document, write);
    enum err err = document->number == 0
                       ? insert_document(engine, document, detail)
                       : document_update(engine, document, detail);
    recent_add_write(document,
                     session,
                     commit_record->local_seq,
                     commit_record->seq);
    if (err == ERR_OK) {
        err = insert_revision(engine, commit_record, index, detail);
    }
    return err == ERR_OK ? waiting_apply(engine, document, detail) : err;
}

/* After all writes: a snapshot is the document after the whole commit, which
 * may have several operations on it. */
static enum err apply_snapshots(struct engine *engine,
                                const struct commit_record *commit_record,
                                struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < commit_record->writes.count; i++) {
        struct document *document = commit_record->writes.at[i].document;
        if (!snapshot_is_due(engine, document)) {
            continue;
        }
        err = insert_snapshot(engine, document, detail);
        if (err == ERR_OK) {
            err = document_update(engine, document, detail);
        }
    }
    return err;
}

/* In digits: this is part of every commit, where printf shows. */
static void put_number(struct buf *to, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    buf_append(to, digits + at, sizeof digits - at);
}

/* The document of each operation, by number: so a commit's changes are found
 * without an index over all revisions. null is an elided operation. */
static void write_documents(struct buf *to,
                            const struct commit_record *commit_record)
{
    uint32_t next = 0;
    buf_append_char(to, '[');
    for (size_t i = 0; i < commit_record->writes.count; i++) {
        const struct record_write *write = &commit_record->writes.at[i];
        for (; next < write->index; next++) {
            buf_append_text(to, next > 0 ? ",null" : "null");
        }
        if (next > 0) {
            buf_append_char(to, ',');
        }
        put_number(to, write->document->number);
        next++;
    }
    buf_append_char(to, ']');
}

static void write_resolution(struct buf *to,
                             const struct commit_record *commit_record)
{
    for (size_t i = 0; i < commit_record->resolved.count; i++) {
        buf_append(to, i == 0 ? "[[" : ",[", 2);
        put_number(to, commit_record->resolved.at[i].local_seq);
        buf_append_char(to, ',');
        put_number(to, commit_record->resolved.at[i].seq);
        buf_append_char(to, ']');
    }
    if (to->length > 0) {
        buf_append_char(to, ']');
    }
}

static enum err insert_commit(struct engine *engine,
                              const struct commit_record *commit_record,
                              uint64_t session,
                              const struct digest *chain,
                              struct err_detail *detail)
{
    struct buf resolution = {0};
    struct buf documents = {0};
    struct query query =
        query_begin(&engine->database, STATEMENT_COMMIT_INSERT);
    query_int(&query, 1, commit_record->seq);
    query_int(&query, 2, commit_record->record);
    query_int(&query, 3, engine_branch(engine, commit_record->branch)->number);
    query_int(&query, 4, session);
    query_int(&query, 5, commit_record->local_seq);
    query_bytes(&query, 6, commit_record->digest, sizeof commit_record->digest);
    query_int(&query, 7, commit_record->at_ms);
    put_string(&query, 8, &commit_record->context_text);
    write_resolution(&resolution, commit_record);
    if (resolution.length > 0) {
        query_text(&query, 9, buf_text(&resolution), resolution.length);
    } else {
        query_null(&query, 9);
    }
    write_documents(&documents, commit_record);
    query_text(&query, 10, buf_text(&documents), documents.length);
    query_bytes(&query, 11, chain->bytes, sizeof chain->bytes);
    (void)query_step(&query);
    const enum err err = query_end(&query, detail);
    buf_release(&resolution);
    buf_release(&documents);
    return err;
}

static enum err apply_commit(struct engine *engine,
                             const struct commit_record *commit_record,
                             const struct digest *chain,
                             struct err_detail *detail)
{
    uint64_t session = 0;
    enum err err =
        engine_session(engine, commit_record->session, true, &session, detail);
    for (size_t i = 0; err == ERR_OK && i < commit_record->writes.count; i++) {
        err = apply_write(engine, commit_record, session, i, detail);
    }
    if (err == ERR_OK) {
        err = apply_snapshots(engine, commit_record, detail);
    }
    if (err == ERR_OK) {
        err = insert_commit(engine, commit_record, session, chain, detail);
    }
    if (err == ERR_OK) {
        session_rows_landed(engine,
                            commit_record->session,
                            commit_record->local_seq);
        recent_add_commit(engine,
                          session,
                          commit_record->local_seq,
                          commit_record->seq);
        if (engine->author != session) {
            engine->author = session;
            engine->author_since = engine->seq;
        }
        engine->seq = commit_record->seq;
        engine_branch(engine, commit_record->branch)->head_seq =
            commit_record->seq;
    }
    return err;
}

/* -- Branches ------------------------------------------------------------ */

static enum err apply_fork(struct engine *engine,
                           const struct commit_record *commit_record,
                           const struct digest *chain,
                           struct err_detail *detail)
{
    struct branch *parent = engine_branch(engine, commit_record->parent);
    const uint64_t number = engine->branches.count;
    struct query query =
        query_begin(&engine->database, STATEMENT_BRANCH_INSERT);
    query_int(&query, 1, number);
    query_string(&query, 2, commit_record->branch);
    query_int(&query, 3, parent->number);
    query_int(&query, 4, commit_record->fork_seq);
    query_int(&query, 5, commit_record->record);
    query_bytes(&query, 6, chain->bytes, sizeof chain->bytes);
    (void)query_step(&query);
    const enum err err = query_end(&query, detail);
    if (err == ERR_OK) {
        struct branch *branch = mem_alloc_zero(sizeof *branch);
        *branch = (struct branch){
            .number = number,
            .name = value_ref(commit_record->branch),
            .parent = parent,
            .fork_seq = commit_record->fork_seq,
            .active = true,
            .head_seq = commit_record->fork_seq,
        };
        vec_push(&engine->branches, branch);
    }
    return err;
}

static enum err apply_close(struct engine *engine,
                            const struct commit_record *commit_record,
                            const struct digest *chain,
                            struct err_detail *detail)
{
    struct branch *branch = engine_branch(engine, commit_record->branch);
    struct query query =
        query_begin(&engine->database, STATEMENT_BRANCH_DELETE);
    query_int(&query, 1, branch->number);
    query_int(&query, 2, commit_record->record);
    query_bytes(&query, 3, chain->bytes, sizeof chain->bytes);
    (void)query_step(&query);
    const enum err err = query_end(&query, detail);
    if (err == ERR_OK) {
        branch->active = false;
    }
    return err;
}

enum err commit_record_apply(struct engine *engine,
                             const struct commit_record *commit_record,
                             struct err_detail *detail)
{
    CHECK(commit_record->record == engine->record + 1);
    const struct digest chain =
        commit_record_chain(engine->chain, commit_record);
    enum err err = ERR_OK;
    switch (commit_record->kind) {
    case RECORD_COMMIT:
        err = apply_commit(engine, commit_record, &chain, detail);
        break;
    case RECORD_FORK:
        err = apply_fork(engine, commit_record, &chain, detail);
        break;
    case RECORD_CLOSE:
        err = apply_close(engine, commit_record, &chain, detail);
        break;
    }
    if (err == ERR_OK) {
        engine->record = commit_record->record;
        engine->chain = chain;
        if (engine->options.on_commit_record != NULL) {
            vec_push(&engine->landed, commit_record_copy(commit_record));
        }
    }
    return err;
}
