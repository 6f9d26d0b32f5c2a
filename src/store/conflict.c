/* The conflict matcher: which later revisions touch what was read.
 *
 * Revisions are visited from the newest to the oldest. That matters for a
 * pending read. A layer that the reader had in view is no conflict. But if it
 * moved something to where the reader looked (from another key, or another
 * index of an array), an older change of that is one; and if it appended to an
 * array, an older change of the array's length is one, because the appended
 * elements are now elsewhere. */

#include "store/conflict.h"

#include "store/recent.h"
#include "store/touch_tree.h"

/* One search. */
struct scan {
    struct engine *engine;
    const struct conflict_query *query;
    path_list carried;  /* from where, by layers visited so far */
    path_list appended; /* the arrays that such layers extended */
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
        return ERR_OK; /* the last one is known: no query needed */
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

/* Whether the patch touches what was read, what layers have moved there, or the
 * length of what they appended to. */
static bool patch_is_seen(const struct scan *scan,
                          const struct touches *touches)
{
    const struct conflict_query *query = scan->query;
    bool seen = query->kind == READ_SHAPE
                    ? touch_tree_cover(touches, query->path) ||
                          touch_tree_keys(touches, query->path)
                    : touch_tree_overlap(touches, query->path);
    for (size_t i = 0; !seen && i < scan->carried.count; i++) {
        seen = touch_tree_overlap(touches, scan->carried.at[i]);
    }
    for (size_t i = 0; !seen && i < scan->appended.count; i++) {
        seen = touch_tree_keys(touches, scan->appended.at[i]);
    }
    return seen;
}

/* Whether the read covers the path, or something was moved from there. */
static bool is_looked_at(const struct scan *scan, const struct path *path)
{
    bool seen = path_overlaps(path, scan->query->path);
    for (size_t i = 0; !seen && i < scan->carried.count; i++) {
        seen = path_overlaps(path, scan->carried.at[i]);
    }
    return seen;
}

/* Everything that such an operation touched, if the read can see any of it. The
 * index of an appended element depends only on the length: an edited element
 * does not matter. */
static void note_carrier(struct scan *scan,
                         const struct touch_tree_carrier *carrier)
{
    bool seen = false;
    for (size_t i = 0; !seen && i < carrier->count; i++) {
        seen = is_looked_at(scan, carrier->paths[i]);
    }
    path_list *list = carrier->append ? &scan->appended : &scan->carried;
    for (size_t i = 0; seen && i < carrier->count; i++) {
        vec_push(list, path_ref(carrier->paths[i]));
    }
}

/* From the last operation to the first, like the rows. */
static void note_carriers(struct scan *scan, const struct touches *touches)
{
    size_t count = 0;
    const struct touch_tree_carrier *carriers =
        touch_tree_carriers(touches, &count);
    for (size_t i = count; i-- > 0;) {
        note_carrier(scan, &carriers[i]);
    }
}

/* The revision of a row of REVISION_AFTER. */
struct revision {
    uint64_t seq;
    uint64_t op_index;
    uint64_t session;
    uint64_t local_seq;
    bool is_patch;
};

static struct query revisions_after(struct scan *scan,
                                    const struct document *document,
                                    uint64_t after_seq,
                                    uint64_t to)
{
    struct query rows =
        query_begin(&scan->engine->database, STATEMENT_REVISION_AFTER);
    query_int(&rows, 1, document->number);
    query_int(&rows, 2, after_seq);
    query_int(&rows, 3, to);
    return rows;
}

static bool revision_next(struct scan *scan,
                          struct query *rows,
                          struct revision *out)
{
    if (!query_step(rows)) {
        return false;
    }
    enum commit_op_kind op = COMMIT_SET;
    const bool known = document_op_read(query_get_text(rows, 1), &op);
    scan->engine->counters.rows++;
    *out = (struct revision){
        .seq = query_get_int(rows, 0),
        .op_index = query_get_int(rows, 2),
        .session = query_get_int(rows, 3),
        .local_seq = query_get_int(rows, 4),
        .is_patch = known && op == COMMIT_PATCH,
    };
    return true;
}

/* Whether the revision changes what was read. One that the reader had in view
 * does not, and its moves are recorded. */
static enum err look_at(struct scan *scan,
                        const struct document *document,
                        const struct revision *revision,
                        bool excluded,
                        bool *seen)
{
    *seen = !revision->is_patch && !excluded;
    if (!revision->is_patch) {
        return ERR_OK;
    }
    const struct touches *touches;
    const enum err err = touch_tree_find(scan->engine,
                                         document,
                                         revision->seq,
                                         revision->op_index,
                                         &touches,
                                         scan->detail);
    if (err == ERR_OK && excluded) {
        note_carriers(scan, touches);
    } else if (err == ERR_OK) {
        *seen = patch_is_seen(scan, touches);
    }
    return err;
}

static enum err find_patch_change(struct scan *scan,
                                  const struct document *document,
                                  uint64_t to,
                                  uint64_t *seq)
{
    const struct conflict_query *query = scan->query;
    struct query rows = revisions_after(scan, document, query->after_seq, to);
    struct revision revision;
    enum err err = ERR_OK;
    while (err == ERR_OK && *seq == 0 &&
           revision_next(scan, &rows, &revision)) {
        const bool excluded = is_excluded(scan->engine,
                                          query,
                                          revision.seq,
                                          revision.session,
                                          revision.local_seq);
        bool seen = false;
        err = look_at(scan, document, &revision, excluded, &seen);
        if (err == ERR_OK && seen) {
            *seq = revision.seq;
        }
    }
    const enum err ended = query_end(&rows, scan->detail);
    return err != ERR_OK ? err : ended;
}

/* -- Rows and branches --------------------------------------------------- */

/* Whether everything newer than the read was in view. On a branch the rows are
 * visited all the same: what they moved matters for the parent's. */
static enum err is_all_in_view(const struct scan *scan,
                               struct document *document,
                               bool *all)
{
    const struct conflict_query *query = scan->query;
    *all = false;
    return query->layers != NULL && document->branch->parent == NULL
               ? recent_are_all_of(scan->engine,
                                   document,
                                   query->after_seq,
                                   query->session,
                                   query->layers,
                                   all,
                                   scan->detail)
               : ERR_OK;
}

/* Changes in one row of documents, up to `to`. */
static enum err find_in_row(struct scan *scan,
                            struct document *document,
                            uint64_t to,
                            uint64_t *seq)
{
    if (document->number == 0 || document->head_seq <= scan->query->after_seq) {
        return ERR_OK;
    }
    bool all = false;
    enum err err = is_all_in_view(scan, document, &all);
    if (err != ERR_OK || all) {
        return err;
    }
    err = find_base_change(scan, document, to, seq);
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

/* One revision, for all reads without an answer; returns how many are left.
 * `touches` is NULL for a set or a delete. */
static size_t answer_reads(struct scan *scan,
                           const struct touches *touches,
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
        if (touches == NULL || patch_is_seen(scan, touches)) {
            reads[i].seq = seq;
        } else {
            left++;
        }
        scan->query = NULL;
    }
    return left;
}

/* The revisions of one row, newest first. */
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
    struct query rows = revisions_after(scan, document, after_seq, to);
    struct revision revision;
    enum err err = ERR_OK;
    while (err == ERR_OK && *left > 0 &&
           revision_next(scan, &rows, &revision)) {
        const struct touches *touches = NULL;
        if (revision.is_patch) {
            err = touch_tree_find(scan->engine,
                                  document,
                                  revision.seq,
                                  revision.op_index,
                                  &touches,
                                  scan->detail);
        }
        if (err == ERR_OK) {
            *left = answer_reads(scan, touches, revision.seq, reads, count);
        }
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
    struct query rows = revisions_after(scan, document, after_seq, to);
    struct revision revision;
    enum err err = ERR_OK;
    while (err == ERR_OK && revision_next(scan, &rows, &revision)) {
        bool seen = false;
        err = look_at(scan, document, &revision, false, &seen);
        if (err == ERR_OK && seen &&
            (out->count == 0 || *vec_last(out) != revision.seq)) {
            vec_push(out, revision.seq);
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
