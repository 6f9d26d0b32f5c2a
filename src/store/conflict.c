/* The conflict matcher: which revisions since then touch what was read.
 *
 * Revisions are looked at from the newest to the oldest. That matters for a
 * pending read: a layer that the reader had in view is no conflict, but if it
 * moved something to where the reader looked, an older change of the source
 * is one, because it came along. */

#include "store/conflict.h"

#include "store/effects.h"

/* One search. */
struct scan {
    struct engine *engine;
    const struct conflict_query *query;
    path_list moved; /* the sources of moves in layers seen so far */
    struct err_detail *detail;
};

/* What the reader had in view does not count. Up to the horizon a revision
 * stands for all that were folded into it, so there it does. */
static bool is_excluded(const struct engine *engine,
                        const struct conflict_query *query,
                        uint64_t seq,
                        uint64_t session,
                        uint64_t local_seq)
{
    if (query->layers == NULL || session != query->session ||
        seq <= engine->horizon) {
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
static enum err find_base_change(struct scan *scan,
                                 const struct document *document,
                                 uint64_t to,
                                 uint64_t *seq)
{
    const struct conflict_query *query = scan->query;
    if (document->base_seq <= query->after_seq) {
        return ERR_OK; /* the last one is known: no need to look */
    }
    struct query rows =
        query_begin(&scan->engine->database, STATEMENT_REVISION_BASES_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, query->after_seq);
    query_int(&rows, 3, to);
    while (*seq == 0 && query_step(&rows)) {
        scan->engine->counters.rows++;
        if (!is_excluded(scan->engine,
                         query,
                         query_get_int(&rows, 0),
                         query_get_int(&rows, 1),
                         query_get_int(&rows, 2))) {
            *seq = query_get_int(&rows, 0);
        }
    }
    return query_end(&rows, scan->detail);
}

/* -- Patches ------------------------------------------------------------- */

static bool moved_is_touched(const struct scan *scan,
                             const struct path *touched)
{
    for (size_t i = 0; i < scan->moved.count; i++) {
        if (path_overlaps(touched, scan->moved.at[i])) {
            return true;
        }
    }
    return false;
}

static bool touch_is_seen(const struct scan *scan,
                          const struct patch_touch *touch)
{
    const struct conflict_query *query = scan->query;
    if (touch->kind == PATCH_TOUCH_KEYS) {
        return query->kind == READ_SHAPE &&
               touch->path->length == query->path->length &&
               path_is_prefix(touch->path, query->path);
    }
    return (query->kind == READ_SHAPE
                ? path_is_prefix(touch->path, query->path)
                : path_overlaps(touch->path, query->path)) ||
           moved_is_touched(scan, touch->path);
}

static bool op_is_seen(const struct scan *scan,
                       const struct patch_op *op,
                       const struct patch_trace *trace)
{
    struct patch_touch touches[PATCH_TOUCH_MAX];
    const size_t count = patch_touches(op, trace, touches);
    bool seen = false;
    for (size_t i = 0; i < count; i++) {
        seen = seen || touch_is_seen(scan, &touches[i]);
        path_unref(touches[i].path);
    }
    return seen;
}

/* The patch in a row. */
static enum err read_row(struct scan *scan,
                         const struct document *document,
                         struct query *rows,
                         struct patch *patch)
{
    struct value list = VALUE_NONE;
    struct err_detail why = {0};
    *patch = (struct patch){0};
    enum err err = document_decode(scan->engine,
                                   document,
                                   query_get_text(rows, 2),
                                   &list,
                                   scan->detail);
    if (err == ERR_OK) {
        if (patch_read(list, &scan->engine->paths, patch, &why) != ERR_OK) {
            err = err_set(scan->detail, ERR_CORRUPT, "a patch: %s", why.text);
        }
        value_unref(list);
    }
    return err;
}

/* Whether the patch in a row touches what was read. */
static enum err row_is_seen(struct scan *scan,
                            const struct document *document,
                            struct query *rows,
                            bool *seen)
{
    struct patch patch;
    trace_list traces = {0};
    enum err err = read_row(scan, document, rows, &patch);
    if (err == ERR_OK) {
        err = traces_decode(query_get_text(rows, 3),
                            patch.ops.count,
                            &traces,
                            scan->detail);
    }
    for (size_t i = 0; err == ERR_OK && !*seen && i < patch.ops.count; i++) {
        *seen = op_is_seen(scan, &patch.ops.at[i], &traces.at[i]);
    }
    patch_release(&patch);
    vec_release(&traces);
    return err;
}

/* What the layer in a row moved, and from where. */
static enum err note_moves(struct scan *scan,
                           const struct document *document,
                           struct query *rows)
{
    struct patch patch;
    const enum err err = read_row(scan, document, rows, &patch);
    for (size_t i = 0; i < patch.ops.count; i++) {
        if (patch.ops.at[i].kind == PATCH_MOVE) {
            vec_push(&scan->moved, path_ref(patch.ops.at[i].from));
        }
    }
    patch_release(&patch);
    return err;
}

static enum err find_patch_change(struct scan *scan,
                                  const struct document *document,
                                  uint64_t to,
                                  uint64_t *seq)
{
    const struct conflict_query *query = scan->query;
    struct query rows =
        query_begin(&scan->engine->database, STATEMENT_REVISION_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, query->after_seq);
    query_int(&rows, 3, to);
    enum err err = ERR_OK;
    while (err == ERR_OK && *seq == 0 && query_step(&rows)) {
        scan->engine->counters.rows++;
        enum commit_op_kind op = COMMIT_SET;
        const bool known = document_op_read(query_get_text(&rows, 1), &op);
        const bool patch = known && op == COMMIT_PATCH;
        const bool excluded = is_excluded(scan->engine,
                                          query,
                                          query_get_int(&rows, 0),
                                          query_get_int(&rows, 4),
                                          query_get_int(&rows, 5));
        bool seen = !patch && !excluded;
        if (patch) {
            err = excluded ? note_moves(scan, document, &rows)
                           : row_is_seen(scan, document, &rows, &seen);
        }
        if (err == ERR_OK && seen) {
            *seq = query_get_int(&rows, 0);
        }
    }
    const enum err ended = query_end(&rows, scan->detail);
    return err != ERR_OK ? err : ended;
}

/* -- Rows and branches --------------------------------------------------- */

/* Changes in one row of documents, up to `to`. */
static enum err find_in_row(struct scan *scan,
                            const struct document *document,
                            uint64_t to,
                            uint64_t *seq)
{
    if (document->number == 0 || document->head_seq <= scan->query->after_seq) {
        return ERR_OK;
    }
    const enum err err = find_base_change(scan, document, to, seq);
    if (err != ERR_OK || *seq != 0) {
        return err;
    }
    return find_patch_change(scan, document, to, seq);
}

/* From the read's own branch to the main one, each up to the fork. */
static enum err find_in_branches(struct scan *scan, uint64_t *seq)
{
    struct document *document = scan->query->document;
    uint64_t to = INT64_MAX;
    for (;;) {
        enum err err = find_in_row(scan, document, to, seq);
        struct branch *parent = document->branch->parent;
        if (err != ERR_OK || *seq != 0 || parent == NULL) {
            return err;
        }
        if (to > document->branch->fork_seq) {
            to = document->branch->fork_seq;
        }
        if (to <= scan->query->after_seq) {
            return ERR_OK;
        }
        err = document_find(scan->engine,
                            parent,
                            document->scope_key,
                            document->id,
                            &document,
                            scan->detail);
        if (err != ERR_OK) {
            return err;
        }
    }
}

enum err conflict_find(struct engine *engine,
                       const struct conflict_query *query,
                       uint64_t *seq,
                       struct err_detail *detail)
{
    struct scan scan = {
        .engine = engine,
        .query = query,
        .detail = detail,
    };
    *seq = 0;
    const enum err err = find_in_branches(&scan, seq);
    path_list_release(&scan.moved);
    return err;
}
