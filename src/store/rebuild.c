/* Finds what disagrees with the history, and rewrites it. */

#include "store/rebuild.h"

#include "store/documents.h"
#include "store/repair_text.h"
#include "store/verify.h"
#include "store/waiting.h"

/* The row of a document, or one of its snapshots. */
struct wrong_row {
    uint64_t document;
    uint64_t snapshot; /* 0: the row */
};

struct findings {
    VEC(struct wrong_row) rows;
};

static void note_wrong(void *ctx, uint64_t document, uint64_t snapshot)
{
    struct findings *findings = ctx;
    const struct wrong_row row = {document, snapshot};
    vec_push(&findings->rows, row);
}

static enum err look(struct engine *engine,
                     struct findings *findings,
                     struct verify_counts *counts,
                     struct err_detail *detail)
{
    const struct verify_options options = {
        .ctx = findings,
        .wrong = note_wrong,
    };
    vec_clear(&findings->rows);
    engine_forget(engine); /* only the file counts */
    return engine_verify(engine, &options, counts, detail);
}

/* Duplicate rows cannot be indexed: then the indexes stay as they are. */
static enum err remake_indexes(struct engine *engine, struct err_detail *detail)
{
    enum err err = engine_write_begin(engine, detail);
    if (err == ERR_OK) {
        err = database_run(&engine->database, "REINDEX", detail);
        err = engine_write_end(engine, err, detail);
    }
    return err;
}

static enum err run(struct engine *engine,
                    enum statement statement,
                    const struct wrong_row *row,
                    uint64_t *count,
                    struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    query_int(&query, 1, row->document);
    if (statement == STATEMENT_SNAPSHOT_REMOVE) {
        query_int(&query, 2, row->snapshot);
    }
    (void)query_step(&query);
    const enum err err = query_end(&query, detail);
    *count += (uint64_t)sqlite3_changes64(engine->database.db);
    return err;
}

/* Snapshots first: the tail is what follows the last one. */
static enum err write_rows(struct engine *engine,
                           const struct findings *findings,
                           struct rebuild_counts *counts,
                           struct err_detail *detail)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&findings->rows, row) {
        if (err == ERR_OK && row->snapshot != 0) {
            err = run(engine,
                      STATEMENT_SNAPSHOT_REMOVE,
                      row,
                      &counts->snapshots,
                      detail);
        }
    }
    VEC_FOREACH (&findings->rows, row) {
        uint64_t follows = 0; /* its tail is longer now; nothing was wrong */
        uint64_t *count = row->snapshot == 0 ? &counts->documents : &follows;
        if (err == ERR_OK) {
            err = run(engine, STATEMENT_DOCUMENT_REBUILD, row, count, detail);
        }
        if (err == ERR_OK) {
            err = run(engine, STATEMENT_DOCUMENT_REMOVE, row, count, detail);
        }
    }
    documents_forget(engine);
    VEC_FOREACH (&findings->rows, row) {
        if (err == ERR_OK) {
            err = waiting_rebuild(engine, row->document, detail);
        }
    }
    return err;
}

static enum err rebuild(struct engine *engine,
                        struct findings *findings,
                        struct rebuild_counts *counts,
                        struct err_detail *detail)
{
    struct verify_counts found = {0};
    enum err err = engine_repair_text(engine, &counts->texts, detail);
    if (err == ERR_OK) {
        err = look(engine, findings, &found, detail);
    }
    if (err == ERR_OK && found.damaged &&
        remake_indexes(engine, &(struct err_detail){0}) == ERR_OK) {
        counts->indexes = true;
        err = look(engine, findings, &found, detail);
    }
    if (err != ERR_OK || !found.holds || findings->rows.count == 0) {
        return err;
    }
    err = engine_write_begin(engine, detail);
    if (err == ERR_OK) {
        err = write_rows(engine, findings, counts, detail);
        err = engine_write_end(engine, err, detail);
    }
    return err;
}

enum err engine_rebuild(struct engine *engine,
                        struct rebuild_counts *counts,
                        struct err_detail *detail)
{
    struct findings findings = {0};
    struct err_detail why = {0};
    *counts = (struct rebuild_counts){0};
    const enum err err = rebuild(engine, &findings, counts, &why);
    vec_release(&findings.rows);
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}
