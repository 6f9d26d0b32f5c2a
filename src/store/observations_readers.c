/* The readers of a place, running or not; the pieces to wake; and what has
 * changed for readers in other spaces. */

#include "base/mem.h"
#include "store/conflict.h"
#include "store/observed.h"
#include "store/observed_page.h"
#include "value/compare.h"
#include "value/object.h"

/* A place of the document in question. */
struct candidate {
    uint64_t number;
    struct path *path;
    bool seen[2]; /* by kind of read */
    uint64_t changed[2];
};

struct search {
    struct engine *engine;
    observed_reader_fn *reader;
    void *ctx;
    struct err_detail *detail;
    const struct branch *only;   /* readers on this branch, or NULL for all */
    bool dirty_only;             /* with a watermark below the change */
    struct number_table told;    /* actions */
    struct number_table mirrors; /* likewise, by a hash of their names */
    VEC(struct candidate) candidates;
};

static void search_release(struct search *search)
{
    VEC_FOREACH (&search->candidates, candidate) {
        path_unref(candidate->path);
    }
    vec_release(&search->candidates);
    number_table_release(&search->told);
    number_table_release(&search->mirrors);
}

/* True the first time. */
static bool is_first(struct number_table *table, uint64_t number)
{
    struct number_slot *slot = number_table_slot(table, number);
    if (slot->number != 0) {
        return false;
    }
    slot->number = number;
    table->count++;
    return true;
}

/* -- Places -------------------------------------------------------------- */

/* The places of a document that have readers. One whose path cannot be read
 * sees every change. */
static enum err find_candidates(struct search *search,
                                struct value scope_key,
                                struct value id)
{
    VEC_FOREACH (&search->candidates, candidate) {
        path_unref(candidate->path);
    }
    vec_clear(&search->candidates);
    struct query query =
        query_begin(&search->engine->database, STATEMENT_PLACE_OF_DOCUMENT);
    query_string(&query, 1, scope_key);
    query_string(&query, 2, id);
    while (query_step(&query)) {
        struct candidate one = {.number = query_get_int(&query, 0)};
        const struct text path = query_get_text(&query, 1);
        if (path_read_stored(&search->engine->paths,
                             path.at,
                             path.length,
                             &one.path,
                             NULL) != ERR_OK) {
            one.path = path_new(&search->engine->paths, NULL, 0);
        }
        vec_push(&search->candidates, one);
    }
    return query_end(&query, search->detail);
}

/* -- Readers ------------------------------------------------------------- */

/* An action of the piece's generation that has the edge. */
static void tell_action(struct search *search,
                        struct query *query,
                        uint64_t changed)
{
    const uint64_t number = query_get_int(query, 0);
    const uint64_t action = query_get_int(query, 2);
    const struct text piece = query_get_text(query, 1);
    const struct text name = query_get_text(query, 3);
    const struct text scope = query_get_text(query, 4);
    const bool known = !query_is_null(query, 5);
    if (number >= search->engine->branches.count) {
        return;
    }
    const struct branch *branch = search->engine->branches.at[number];
    /* What the store knows nothing about is as good as dirty. */
    if (!branch->active || (search->only != NULL && search->only != branch) ||
        (search->dirty_only && known && query_get_int(query, 5) >= changed) ||
        !is_first(&search->told, action)) {
        return;
    }
    struct observed_reader reader = {
        .branch = branch->name,
        .piece = value_string_new(piece.at, piece.length),
        .action = action,
        .scope = value_string_new(scope.at, scope.length),
        .watermark = known ? query_get_int(query, 5) : 0,
    };
    if (name.length == sizeof reader.name.bytes) {
        memcpy(reader.name.bytes, name.at, name.length);
    }
    search->reader(search->ctx, &reader);
    value_unref(reader.piece);
    value_unref(reader.scope);
}

static void tell_mirror(struct search *search,
                        struct query *query,
                        uint64_t changed)
{
    const struct text space = query_get_text(query, 0);
    const struct text branch = query_get_text(query, 1);
    const struct text piece = query_get_text(query, 2);
    const uint64_t here = query_get_int(query, 3);
    const uint64_t seq = query_get_int(query, 4);
    uint64_t hash = observed_text_sum(1, space);
    hash = observed_text_sum(hash, branch);
    hash = observed_text_sum(hash, piece);
    if ((search->only != NULL && search->only->number != here) ||
        (search->dirty_only && seq >= changed) ||
        !is_first(&search->mirrors, hash)) {
        return;
    }
    const struct observed_reader reader = {
        .space = value_string_new(space.at, space.length),
        .branch = value_string_new(branch.at, branch.length),
        .piece = value_string_new(piece.at, piece.length),
        .watermark = seq,
    };
    search->reader(search->ctx, &reader);
    value_unref(reader.space);
    value_unref(reader.branch);
    value_unref(reader.piece);
}

static enum err tell_edge(struct search *search,
                          uint64_t edge,
                          uint64_t changed)
{
    static const enum statement statements[] = {STATEMENT_EDGE_READERS,
                                                STATEMENT_MIRROR_READERS};
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(statements); i++) {
        struct query query =
            query_begin(&search->engine->database, statements[i]);
        query_int(&query, 1, edge);
        while (query_step(&query)) {
            if (i == 0) {
                tell_action(search, &query, changed);
            } else {
                tell_mirror(search, &query, changed);
            }
        }
        err = query_end(&query, search->detail);
    }
    return err;
}

static enum err tell_candidates(struct search *search)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&search->candidates, candidate) {
        for (unsigned kind = PLACE_DEEP; kind <= PLACE_SHAPE; kind++) {
            if (err == ERR_OK && candidate->seen[kind]) {
                err = tell_edge(search,
                                candidate->number * PLACE_KINDS + kind,
                                candidate->changed[kind]);
            }
        }
    }
    return err;
}

/* A change of the value at `path`, without further details: a container may get
 * or lose the key that leads to it. */
static void see_path(struct search *search, const struct path *path)
{
    VEC_FOREACH (&search->candidates, candidate) {
        const struct path *read = candidate->path;
        candidate->seen[READ_DEEP] = path_overlaps(read, path);
        candidate->seen[READ_SHAPE] =
            path_is_prefix(path, read) ||
            (path_is_prefix(read, path) && path->length <= read->length + 1);
    }
}

enum err engine_readers_of(struct engine *engine,
                           const struct engine_address *address,
                           const struct path *path,
                           observed_reader_fn *reader,
                           void *ctx,
                           struct err_detail *detail)
{
    struct search search = {
        .engine = engine,
        .reader = reader,
        .ctx = ctx,
        .detail = detail,
    };
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    search.only = engine_branch(engine, address->branch);
    if (search.only == NULL) {
        err = engine_unknown_branch(address->branch, detail);
    }
    if (err == ERR_OK) {
        err = find_candidates(&search, address->scope_key, address->id);
    }
    if (err == ERR_OK) {
        struct path *own = path_new(&engine->paths, path->at, path->length);
        see_path(&search, own);
        path_unref(own);
        err = tell_candidates(&search);
    }
    engine_read_end(engine);
    search_release(&search);
    return err;
}

/* -- Waking -------------------------------------------------------------- */

/* A document that was written. */
struct written {
    struct value scope_key;
    struct value id;
};

struct wake {
    struct search search;
    struct branch *branch;
    uint64_t after;
    struct map seen; /* struct written */
    VEC(struct written *) written;
};

static bool is_written(const void *item, const void *key)
{
    const struct written *written = item;
    const struct written *wanted = key;
    return key_equal(written->id, wanted->id) &&
           key_equal(written->scope_key, wanted->scope_key);
}

static void note_written(void *ctx, const struct engine_change *change)
{
    struct wake *wake = ctx;
    const struct written key = {change->address.scope_key, change->address.id};
    const uint64_t hash = value_hash(key.id) + value_hash(key.scope_key);
    if (!key_equal(change->address.branch, wake->branch->name) ||
        map_find(&wake->seen, hash, is_written, &key) != NULL) {
        return;
    }
    struct written *written = mem_alloc(sizeof *written);
    *written = (struct written){value_ref(key.scope_key), value_ref(key.id)};
    map_insert(&wake->seen, hash, written);
    vec_push(&wake->written, written);
}

/* Both kinds of read of every place, above `after`. */
static enum err see_changes(struct wake *wake, struct document *document)
{
    struct search *search = &wake->search;
    VEC(struct newest_change) reads = {0};
    VEC_FOREACH (&search->candidates, candidate) {
        for (unsigned kind = READ_DEEP; kind <= READ_SHAPE; kind++) {
            const struct newest_change one = {
                .path = candidate->path,
                .kind = (enum read_kind)kind,
            };
            vec_push(&reads, one);
        }
    }
    const enum err err = conflict_newest(search->engine,
                                         document,
                                         wake->after,
                                         reads.at,
                                         reads.count,
                                         search->detail);
    for (size_t i = 0; i < reads.count; i++) {
        struct candidate *candidate = &search->candidates.at[i / 2];
        candidate->changed[i % 2] = reads.at[i].seq;
        candidate->seen[i % 2] = reads.at[i].seq != 0;
    }
    vec_release(&reads);
    return err;
}

static enum err wake_readers(struct wake *wake, const struct written *written)
{
    struct search *search = &wake->search;
    struct document *document = NULL;
    enum err err = find_candidates(search, written->scope_key, written->id);
    if (err != ERR_OK || search->candidates.count == 0) {
        return err;
    }
    err = document_find(search->engine,
                        wake->branch,
                        written->scope_key,
                        written->id,
                        &document,
                        search->detail);
    if (err == ERR_OK) {
        err = see_changes(wake, document);
    }
    return err == ERR_OK ? tell_candidates(search) : err;
}

static void wake_release(struct wake *wake)
{
    VEC_FOREACH (&wake->written, written) {
        value_unref((*written)->scope_key);
        value_unref((*written)->id);
        mem_free(*written, sizeof **written);
    }
    vec_release(&wake->written);
    map_release(&wake->seen);
    search_release(&wake->search);
}

enum err engine_pieces_to_wake(struct engine *engine,
                               struct value branch,
                               uint64_t after,
                               observed_reader_fn *reader,
                               void *ctx,
                               struct err_detail *detail)
{
    struct wake wake = {
        .search =
            {
                .engine = engine,
                .reader = reader,
                .ctx = ctx,
                .detail = detail,
                .dirty_only = true,
            },
        .after = after,
    };
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    wake.branch = engine_branch(engine, branch);
    wake.search.only = wake.branch;
    if (wake.branch == NULL) {
        err = engine_unknown_branch(branch, detail);
    } else {
        err = engine_changes(engine,
                             after,
                             engine->seq,
                             note_written,
                             &wake,
                             detail);
    }
    VEC_FOREACH (&wake.written, written) {
        if (err == ERR_OK) {
            err = wake_readers(&wake, *written);
        }
    }
    engine_read_end(engine);
    wake_release(&wake);
    return err;
}

/* -- Readers in other spaces --------------------------------------------- */

static enum err find_changes(struct engine *engine,
                             struct branch *branch,
                             uint64_t seq,
                             struct changed_read *reads,
                             size_t count,
                             struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        struct document *document = NULL;
        /* The matcher compares segments, which may be of any table. */
        struct newest_change one = {
            .path = reads[i].path,
            .kind = reads[i].kind,
        };
        err = document_find(engine,
                            branch,
                            reads[i].scope_key,
                            reads[i].id,
                            &document,
                            detail);
        if (err == ERR_OK) {
            err = conflict_newest(engine, document, seq, &one, 1, detail);
        }
        reads[i].changed = one.seq;
    }
    return err;
}

enum err engine_changed_above(struct engine *engine,
                              struct value branch,
                              uint64_t seq,
                              struct changed_read *reads,
                              size_t count,
                              struct err_detail *detail)
{
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct branch *of = engine_branch(engine, branch);
    if (of == NULL) {
        err = engine_unknown_branch(branch, detail);
    } else if (seq > engine->seq) {
        err = err_set(detail,
                      ERR_SEQUENCE,
                      "seq %llu is beyond the head %llu",
                      (unsigned long long)seq,
                      (unsigned long long)engine->seq);
    } else {
        err = find_changes(engine, of, seq, reads, count, detail);
    }
    engine_read_end(engine);
    return err;
}

/* -- Mirrors ------------------------------------------------------------- */

struct mirror_row {
    uint64_t number; /* 0: none */
    uint64_t seq;
};

static enum err find_mirror(struct engine *engine,
                            const struct mirror *mirror,
                            struct mirror_row *out,
                            struct err_detail *detail)
{
    *out = (struct mirror_row){0};
    struct query query = query_begin(&engine->database, STATEMENT_MIRROR_FIND);
    query_string(&query, 1, mirror->space);
    query_string(&query, 2, mirror->branch);
    query_string(&query, 3, mirror->piece);
    if (query_step(&query)) {
        out->number = query_get_int(&query, 0);
        out->seq = query_get_int(&query, 1);
    }
    return query_end(&query, detail);
}

static enum err run_with(struct engine *engine,
                         enum statement statement,
                         uint64_t first,
                         uint64_t second,
                         struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    query_int(&query, 1, first);
    if (statement == STATEMENT_MIRROR_EDGE_INSERT) {
        query_int(&query, 2, second);
    }
    (void)query_step(&query);
    return query_end(&query, detail);
}

static enum err write_mirror(struct engine *engine,
                             const struct mirror *mirror,
                             uint64_t here,
                             struct mirror_row *row,
                             struct err_detail *detail)
{
    struct query query = query_begin(
        &engine->database,
        row->number != 0 ? STATEMENT_MIRROR_UPDATE : STATEMENT_MIRROR_INSERT);
    if (row->number != 0) {
        query_int(&query, 1, row->number);
        query_int(&query, 2, here);
        query_int(&query, 3, mirror->seq);
        (void)query_step(&query);
    } else {
        query_string(&query, 1, mirror->space);
        query_string(&query, 2, mirror->branch);
        query_string(&query, 3, mirror->piece);
        query_int(&query, 4, here);
        query_int(&query, 5, mirror->seq);
        (void)query_step(&query);
        row->number = query_inserted(&query);
    }
    return query_end(&query, detail);
}

static enum err write_mirror_edges(struct engine *engine,
                                   uint64_t mirror,
                                   const struct changed_read *reads,
                                   size_t count,
                                   struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        struct observed_address *address = NULL;
        err = observed_address_number(engine,
                                      value_string_new("", 0),
                                      reads[i].scope_key,
                                      reads[i].id,
                                      reads[i].path,
                                      &address,
                                      detail);
        if (err == ERR_OK) {
            err = run_with(engine,
                           STATEMENT_MIRROR_EDGE_INSERT,
                           mirror,
                           address->number * PLACE_KINDS +
                               (uint64_t)reads[i].kind,
                           detail);
        }
    }
    return err;
}

static enum err put_mirror(struct engine *engine,
                           const struct mirror *mirror,
                           const struct changed_read *reads,
                           size_t count,
                           struct err_detail *detail)
{
    const struct branch *here = engine_branch(engine, mirror->here);
    struct mirror_row row;
    if (here == NULL) {
        return engine_unknown_branch(mirror->here, detail);
    }
    if (mirror->seq > engine->seq) {
        return err_set(detail,
                       ERR_SEQUENCE,
                       "seq %llu is beyond the head %llu",
                       (unsigned long long)mirror->seq,
                       (unsigned long long)engine->seq);
    }
    enum err err = find_mirror(engine, mirror, &row, detail);
    if (err != ERR_OK || (row.number != 0 && row.seq > mirror->seq)) {
        return err;
    }
    if (row.number != 0) {
        err = run_with(engine,
                       STATEMENT_MIRROR_EDGES_REMOVE,
                       row.number,
                       0,
                       detail);
    }
    if (err == ERR_OK && count == 0) {
        return row.number != 0 ? run_with(engine,
                                          STATEMENT_MIRROR_REMOVE,
                                          row.number,
                                          0,
                                          detail)
                               : ERR_OK;
    }
    if (err == ERR_OK) {
        err = write_mirror(engine, mirror, here->number, &row, detail);
    }
    return err == ERR_OK
               ? write_mirror_edges(engine, row.number, reads, count, detail)
               : err;
}

enum err engine_mirror_put(struct engine *engine,
                           const struct mirror *mirror,
                           const struct changed_read *reads,
                           size_t count,
                           struct err_detail *detail)
{
    struct err_detail why = {0};
    enum err err = space_id_check(mirror->space, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = engine_write_begin(engine, &why);
    if (err == ERR_OK) {
        err = put_mirror(engine, mirror, reads, count, &why);
        err = engine_write_end(engine, err, &why);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

enum err engine_mirror_list(struct engine *engine,
                            mirror_fn *mirror,
                            void *ctx,
                            struct err_detail *detail)
{
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct query query = query_begin(&engine->database, STATEMENT_MIRROR_LIST);
    while (query_step(&query)) {
        const struct text space = query_get_text(&query, 0);
        const struct text branch = query_get_text(&query, 1);
        const struct text piece = query_get_text(&query, 2);
        const uint64_t here = query_get_int(&query, 3);
        if (here >= engine->branches.count) {
            continue;
        }
        const struct mirror one = {
            .space = value_string_new(space.at, space.length),
            .branch = value_string_new(branch.at, branch.length),
            .piece = value_string_new(piece.at, piece.length),
            .here = engine->branches.at[here]->name,
            .seq = query_get_int(&query, 4),
        };
        mirror(ctx, &one);
        value_unref(one.space);
        value_unref(one.branch);
        value_unref(one.piece);
    }
    err = query_end(&query, detail);
    engine_read_end(engine);
    return err;
}
