/* The conflict matcher: which revisions since then touch what was read. */

#include "store/conflict.h"

#include "store/effects.h"

static bool is_excluded(const struct conflict_query *query,
                        uint64_t session,
                        uint64_t local_seq)
{
    if (query->layers == NULL || session != query->session) {
        return false;
    }
    for (size_t i = 0; i < query->layers->at.count; i++) {
        if (query->layers->at.at[i] == local_seq) {
            return true;
        }
    }
    return false;
}

/* The newest set or delete of one row in (after, to]. */
static enum err find_base_change(struct engine *engine,
                                 const struct conflict_query *query,
                                 const struct document *document,
                                 uint64_t to,
                                 uint64_t *seq,
                                 struct err_detail *detail)
{
    if (document->base_seq <= query->after_seq) {
        return ERR_OK; /* the last one is known: no need to look */
    }
    struct query rows =
        query_begin(&engine->database, STATEMENT_REVISION_BASES_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, query->after_seq);
    query_int(&rows, 3, to);
    while (*seq == 0 && query_step(&rows)) {
        engine->counters.rows++;
        if (!is_excluded(query,
                         query_get_int(&rows, 1),
                         query_get_int(&rows, 2))) {
            *seq = query_get_int(&rows, 0);
        }
    }
    return query_end(&rows, detail);
}

static bool touch_is_seen(const struct conflict_query *query,
                          const struct patch_touch *touch)
{
    if (query->kind == READ_SHAPE) {
        return path_is_prefix(touch->path, query->path);
    }
    return touch->kind == PATCH_TOUCH_VALUE &&
           path_overlaps(touch->path, query->path);
}

static bool op_is_seen(const struct conflict_query *query,
                       const struct patch_op *op,
                       const struct patch_trace *trace)
{
    struct patch_touch touches[PATCH_TOUCH_MAX];
    const size_t count = patch_touches(op, trace, touches);
    bool seen = false;
    for (size_t i = 0; i < count; i++) {
        seen = seen || touch_is_seen(query, &touches[i]);
        path_unref(touches[i].path);
    }
    return seen;
}

/* Whether the patch in a row touches what was read. */
static enum err row_is_seen(struct engine *engine,
                            const struct conflict_query *query,
                            const struct document *document,
                            struct query *rows,
                            bool *seen,
                            struct err_detail *detail)
{
    struct value list = VALUE_NONE;
    struct patch patch = {0};
    trace_list traces = {0};
    enum err err = document_decode(engine,
                                   document,
                                   query_get_text(rows, 2),
                                   &list,
                                   detail);
    if (err == ERR_OK) {
        err = patch_read(list, &engine->paths, &patch, detail);
        value_unref(list);
    }
    if (err == ERR_OK) {
        err = traces_decode(query_get_text(rows, 3),
                            patch.ops.count,
                            &traces,
                            detail);
    }
    for (size_t i = 0; err == ERR_OK && !*seen && i < patch.ops.count; i++) {
        *seen = op_is_seen(query, &patch.ops.at[i], &traces.at[i]);
    }
    patch_release(&patch);
    vec_release(&traces);
    return err;
}

static enum err find_patch_change(struct engine *engine,
                                  const struct conflict_query *query,
                                  const struct document *document,
                                  uint64_t to,
                                  uint64_t *seq,
                                  struct err_detail *detail)
{
    struct query rows =
        query_begin(&engine->database, STATEMENT_REVISION_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, query->after_seq);
    query_int(&rows, 3, to);
    enum err err = ERR_OK;
    while (err == ERR_OK && *seq == 0 && query_step(&rows)) {
        engine->counters.rows++;
        enum commit_op_kind op = COMMIT_SET;
        const bool known = document_op_read(query_get_text(&rows, 1), &op);
        if (is_excluded(query,
                        query_get_int(&rows, 4),
                        query_get_int(&rows, 5))) {
            continue;
        }
        bool seen = !known || op != COMMIT_PATCH;
        if (!seen) {
            err = row_is_seen(engine, query, document, &rows, &seen, detail);
        }
        if (err == ERR_OK && seen) {
            *seq = query_get_int(&rows, 0);
        }
    }
    const enum err ended = query_end(&rows, detail);
    return err != ERR_OK ? err : ended;
}

/* Changes in one row of documents, up to `to`. */
static enum err find_in_row(struct engine *engine,
                            const struct conflict_query *query,
                            const struct document *document,
                            uint64_t to,
                            uint64_t *seq,
                            struct err_detail *detail)
{
    if (document->number == 0 || document->head_seq <= query->after_seq) {
        return ERR_OK;
    }
    const enum err err =
        find_base_change(engine, query, document, to, seq, detail);
    if (err != ERR_OK || *seq != 0) {
        return err;
    }
    return find_patch_change(engine, query, document, to, seq, detail);
}

enum err conflict_find(struct engine *engine,
                       const struct conflict_query *query,
                       uint64_t *seq,
                       struct err_detail *detail)
{
    struct document *document = query->document;
    uint64_t to = INT64_MAX;
    *seq = 0;
    for (;;) {
        enum err err = find_in_row(engine, query, document, to, seq, detail);
        struct branch *parent = document->branch->parent;
        if (err != ERR_OK || *seq != 0 || parent == NULL) {
            return err;
        }
        if (to > document->branch->fork_seq) {
            to = document->branch->fork_seq;
        }
        if (to <= query->after_seq) {
            return ERR_OK;
        }
        err = document_find(engine,
                            parent,
                            document->scope_key,
                            document->id,
                            &document,
                            detail);
        if (err != ERR_OK) {
            return err;
        }
    }
}
