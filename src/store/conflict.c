/* The conflict matcher: which revisions since then touch what was read.
 *
 * Revisions are looked at from the newest to the oldest. That matters for a
 * pending read: a layer that the reader had in view is no conflict, but if it
 * carried something to where the reader looked (from another key, or from
 * another index of an array), an older change of it is one; and if it appended
 * to an array, an older change of the array's length is one, because what it
 * appended is now elsewhere. */

#include "store/conflict.h"

#include "store/effects.h"
#include "store/recent.h"

/* One search. */
struct scan {
    struct engine *engine;
    const struct conflict_query *query;
    path_list carried;  /* from where, by layers seen so far */
    path_list appended; /* the arrays that such layers made longer */
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

/* Whether the keys of `path` decide where a layer's elements are. */
static bool is_appended(const struct scan *scan, const struct path *path)
{
    for (size_t i = 0; i < scan->appended.count; i++) {
        if (path_compare(scan->appended.at[i], path) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_carried(const struct scan *scan, const struct path *path)
{
    for (size_t i = 0; i < scan->carried.count; i++) {
        if (path_overlaps(path, scan->carried.at[i])) {
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
        return (query->kind == READ_SHAPE &&
                touch->path->length == query->path->length &&
                path_is_prefix(touch->path, query->path)) ||
               is_appended(scan, touch->path);
    }
    return (query->kind == READ_SHAPE
                ? path_is_prefix(touch->path, query->path)
                : path_overlaps(touch->path, query->path)) ||
           is_carried(scan, touch->path);
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

/* The patch in a row, and what applying it met. */
struct row {
    struct patch patch;
    trace_list traces;
};

static void row_release(struct row *row)
{
    patch_release(&row->patch);
    vec_release(&row->traces);
}

static enum err row_read(struct scan *scan,
                         const struct document *document,
                         struct query *rows,
                         struct row *row)
{
    struct value list = VALUE_NONE;
    *row = (struct row){0};
    enum err err = document_decode(scan->engine,
                                   document,
                                   query_get_text(rows, 2),
                                   &list,
                                   scan->detail);
    if (err == ERR_OK) {
        struct err_detail why = {0};
        if (patch_read(list, &scan->engine->paths, &row->patch, &why) !=
            ERR_OK) {
            err = err_set(scan->detail, ERR_CORRUPT, "a patch: %s", why.text);
        }
        value_unref(list);
    }
    return err == ERR_OK ? traces_decode(query_get_text(rows, 3),
                                         row->patch.ops.count,
                                         &row->traces,
                                         scan->detail)
                         : err;
}

/* Whether the patch touches what was read. */
static bool row_is_seen(const struct scan *scan, const struct row *row)
{
    for (size_t i = 0; i < row->patch.ops.count; i++) {
        if (op_is_seen(scan, &row->patch.ops.at[i], &row->traces.at[i])) {
            return true;
        }
    }
    return false;
}

/* Whether an operation brings values to other places than they had, or to
 * places that depend on the values that were there. */
static bool op_carries(const struct patch_op *op,
                       const struct patch_trace *trace)
{
    const bool shifts = op->kind == PATCH_ADD || op->kind == PATCH_REMOVE;
    return op->kind == PATCH_MOVE || op->kind == PATCH_SPLICE ||
           op->kind == PATCH_REMOVE_BY_VALUE || op->kind == PATCH_ADD_UNIQUE ||
           (shifts && trace->path_in_array);
}

/* Everything that such an operation touched, if any of it can be seen. */
static void note_carried(struct scan *scan,
                         const struct patch_op *op,
                         const struct patch_trace *trace)
{
    struct patch_touch touches[PATCH_TOUCH_MAX];
    const size_t count = patch_touches(op, trace, touches);
    bool seen = false;
    for (size_t i = 0; i < count; i++) {
        seen = seen || (touches[i].kind == PATCH_TOUCH_VALUE &&
                        (path_overlaps(touches[i].path, scan->query->path) ||
                         is_carried(scan, touches[i].path)));
    }
    for (size_t i = 0; i < count; i++) {
        if (seen && touches[i].kind == PATCH_TOUCH_VALUE) {
            vec_push(&scan->carried, path_ref(touches[i].path));
        }
        path_unref(touches[i].path);
    }
}

/* Where the elements of an append are depends on the length, and on nothing
 * else: an element that somebody edited is not its business. */
static void note_appended(struct scan *scan, const struct patch_op *op)
{
    if (path_overlaps(op->path, scan->query->path) ||
        is_carried(scan, op->path)) {
        vec_push(&scan->appended, path_ref(op->path));
    }
}

/* From the last operation to the first, like the rows. */
static void row_note_carried(struct scan *scan, const struct row *row)
{
    for (size_t i = row->patch.ops.count; i-- > 0;) {
        const struct patch_op *op = &row->patch.ops.at[i];
        const struct patch_trace *trace = &row->traces.at[i];
        if (op_carries(op, trace)) {
            note_carried(scan, op, trace);
        } else if (op->kind == PATCH_APPEND) {
            note_appended(scan, op);
        }
    }
}

/* A patch in a row that the reader had in view, or had not. */
static enum err look_at_row(struct scan *scan,
                            const struct document *document,
                            struct query *rows,
                            bool excluded,
                            bool *seen)
{
    struct row row;
    const enum err err = row_read(scan, document, rows, &row);
    if (err == ERR_OK && excluded) {
        row_note_carried(scan, &row);
    } else if (err == ERR_OK) {
        *seen = row_is_seen(scan, &row);
    }
    row_release(&row);
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
            err = look_at_row(scan, document, &rows, excluded, &seen);
        }
        if (err == ERR_OK && seen) {
            *seq = query_get_int(&rows, 0);
        }
    }
    const enum err ended = query_end(&rows, scan->detail);
    return err != ERR_OK ? err : ended;
}

/* -- Rows and branches --------------------------------------------------- */

/* Whether all that is above what was read was in view. On a branch the rows
 * are looked at all the same: what they carried matters for the parent's. */
static bool is_all_in_view(const struct scan *scan, struct document *document)
{
    const struct conflict_query *query = scan->query;
    return query->layers != NULL && document->branch->parent == NULL &&
           recent_are_all_of(scan->engine,
                             document,
                             query->after_seq,
                             query->session,
                             query->layers);
}

/* Changes in one row of documents, up to `to`. */
static enum err find_in_row(struct scan *scan,
                            struct document *document,
                            uint64_t to,
                            uint64_t *seq)
{
    if (document->number == 0 || document->head_seq <= scan->query->after_seq ||
        is_all_in_view(scan, document)) {
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
    path_list_release(&scan.carried);
    path_list_release(&scan.appended);
    return err;
}

/* -- Many reads ---------------------------------------------------------- */

/* One revision, for all reads that have no answer yet; how many of them are
 * left. `patch` is NULL for a set or a delete. */
static size_t answer_reads(struct scan *scan,
                           const struct row *patch,
                           uint64_t seq,
                           struct newest_change *reads,
                           size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        const struct conflict_query query = {
            .path = reads[i].path,
            .kind = reads[i].kind,
        };
        if (reads[i].seq != 0) {
            continue;
        }
        scan->query = &query;
        if (patch == NULL || row_is_seen(scan, patch)) {
            reads[i].seq = seq;
        } else {
            left++;
        }
        scan->query = NULL;
    }
    return left;
}

/* The revisions of one row, from the newest on. */
static enum err answer_in_row(struct scan *scan,
                              const struct document *document,
                              uint64_t after_seq,
                              uint64_t to,
                              struct newest_change *reads,
                              size_t count,
                              size_t *left)
{
    if (document->number == 0 || document->head_seq <= after_seq) {
        return ERR_OK;
    }
    struct query rows =
        query_begin(&scan->engine->database, STATEMENT_REVISION_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, after_seq);
    query_int(&rows, 3, to);
    enum err err = ERR_OK;
    while (err == ERR_OK && *left > 0 && query_step(&rows)) {
        scan->engine->counters.rows++;
        enum commit_op_kind op = COMMIT_SET;
        const uint64_t seq = query_get_int(&rows, 0);
        if (!document_op_read(query_get_text(&rows, 1), &op) ||
            op != COMMIT_PATCH) {
            *left = answer_reads(scan, NULL, seq, reads, count);
            continue;
        }
        struct row row;
        err = row_read(scan, document, &rows, &row);
        if (err == ERR_OK) {
            *left = answer_reads(scan, &row, seq, reads, count);
        }
        row_release(&row);
    }
    const enum err ended = query_end(&rows, scan->detail);
    return err != ERR_OK ? err : ended;
}

enum err conflict_newest(struct engine *engine,
                         struct document *document,
                         uint64_t after_seq,
                         struct newest_change *reads,
                         size_t count,
                         struct err_detail *detail)
{
    struct scan scan = {.engine = engine, .detail = detail};
    uint64_t to = INT64_MAX;
    size_t left = count;
    for (;;) {
        enum err err =
            answer_in_row(&scan, document, after_seq, to, reads, count, &left);
        struct branch *parent = document->branch->parent;
        if (err != ERR_OK || left == 0 || parent == NULL) {
            return err;
        }
        if (to > document->branch->fork_seq) {
            to = document->branch->fork_seq;
        }
        if (to <= after_seq) {
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

/* -- All changes of one read --------------------------------------------- */

static enum err list_in_row(struct scan *scan,
                            const struct document *document,
                            uint64_t to,
                            seq_list *out)
{
    const uint64_t after_seq = scan->query->after_seq;
    if (document->number == 0 || document->head_seq <= after_seq) {
        return ERR_OK;
    }
    struct query rows =
        query_begin(&scan->engine->database, STATEMENT_REVISION_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, after_seq);
    query_int(&rows, 3, to);
    enum err err = ERR_OK;
    while (err == ERR_OK && query_step(&rows)) {
        scan->engine->counters.rows++;
        const uint64_t seq = query_get_int(&rows, 0);
        enum commit_op_kind op = COMMIT_SET;
        bool seen = true;
        if (document_op_read(query_get_text(&rows, 1), &op) &&
            op == COMMIT_PATCH) {
            err = look_at_row(scan, document, &rows, false, &seen);
        }
        if (err == ERR_OK && seen &&
            (out->count == 0 || *vec_last(out) != seq)) {
            vec_push(out, seq);
        }
    }
    const enum err ended = query_end(&rows, scan->detail);
    return err != ERR_OK ? err : ended;
}

enum err conflict_changes(struct engine *engine,
                          const struct conflict_query *query,
                          uint64_t to,
                          seq_list *out,
                          struct err_detail *detail)
{
    struct scan scan = {.engine = engine, .query = query, .detail = detail};
    struct document *document = query->document;
    for (;;) {
        enum err err = list_in_row(&scan, document, to, out);
        struct branch *parent = document->branch->parent;
        if (err != ERR_OK || parent == NULL) {
            return err;
        }
        to = to < document->branch->fork_seq ? to : document->branch->fork_seq;
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
