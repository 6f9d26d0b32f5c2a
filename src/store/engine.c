/* The engine: opening, caches, groups of commits, reading and branches. */

#include "store/engine.h"

#include <sodium.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "store/admit.h"
#include "store/images.h"
#include "store/observations.h"
#include "store/recent.h"
#include "store/schema.h"
#include "store/sequence.h"
#include "store/session_rows.h"
#include "store/touch_tree.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/utf8.h"

/* -- Caches -------------------------------------------------------------- */

static void forget_branches(struct engine *engine)
{
    VEC_FOREACH (&engine->branches, branch) {
        value_unref((*branch)->name);
        mem_free(*branch, sizeof **branch);
    }
    vec_clear(&engine->branches);
}

void engine_forget(struct engine *engine)
{
    observations_forget(engine);
    documents_forget(engine); /* they point at branches */
    forget_branches(engine);
    session_rows_forget(engine);
    recent_forget_commits(engine);
    touch_tree_forget(engine);
    engine->version = -1;
    engine->changes = 0;
}

/* -- Branches in memory -------------------------------------------------- */

struct branch *engine_branch(struct engine *engine, struct value name)
{
    VEC_FOREACH (&engine->branches, branch) {
        if (key_equal((*branch)->name, name)) {
            return *branch;
        }
    }
    return NULL;
}

enum err engine_unknown_branch(struct value name, struct err_detail *detail)
{
    const struct text text = value_text(&name);
    return err_set(detail,
                   ERR_BRANCH_UNKNOWN,
                   "unknown branch: %.*s",
                   text_shown(text.at, text.length, 100),
                   text.at);
}

struct branch *engine_branch_by_number(struct engine *engine, uint64_t number)
{
    CHECK(number < engine->branches.count);
    return engine->branches.at[number];
}

static enum err load_branch_head(struct engine *engine,
                                 struct branch *branch,
                                 struct err_detail *detail)
{
    struct query query = query_begin(
        &engine->database,
        branch->number == 0 ? STATEMENT_MAIN_HEAD : STATEMENT_BRANCH_HEAD);
    if (branch->number > 0) {
        query_int(&query, 1, branch->number);
    }
    branch->head_seq = branch->fork_seq;
    if (query_step(&query) && !query_is_null(&query, 0)) {
        branch->head_seq = query_get_int(&query, 0);
    }
    return query_end(&query, detail);
}

static enum err load_branches(struct engine *engine, struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_BRANCH_ALL);
    bool valid = true;
    while (valid && query_step(&query)) {
        /* Numbered from 0 on, each after its parent. */
        const uint64_t next = engine->branches.count;
        valid = query_get_int(&query, 0) == next &&
                query_is_null(&query, 2) == (next == 0) &&
                (next == 0 || query_get_int(&query, 2) < next);
        if (!valid) {
            break;
        }
        const struct text name = query_get_text(&query, 1);
        const struct text status = query_get_text(&query, 4);
        struct branch *branch = mem_alloc_zero(sizeof *branch);
        branch->number = query_get_int(&query, 0);
        branch->name = value_string_new(name.at, name.length);
        branch->fork_seq = query_get_int(&query, 3);
        branch->active = status.length == strlen("active");
        if (!query_is_null(&query, 2)) {
            branch->parent =
                engine_branch_by_number(engine, query_get_int(&query, 2));
        }
        vec_push(&engine->branches, branch);
    }
    enum err err = query_end(&query, detail);
    if (err == ERR_OK && (!valid || engine->branches.count == 0)) {
        err = err_set(detail, ERR_CORRUPT, "the rows of branches are damaged");
    }
    VEC_FOREACH (&engine->branches, branch) {
        if (err == ERR_OK) {
            err = load_branch_head(engine, *branch, detail);
        }
    }
    return err;
}

/* Where the history ends. */
static enum err load_last(struct engine *engine,
                          enum statement statement,
                          int first_column,
                          struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    bool valid = true;
    if (query_step(&query)) {
        if (first_column == 1) {
            engine->seq = query_get_int(&query, 0);
        }
        const uint64_t record = query_get_int(&query, first_column);
        const struct text chain = query_get_text(&query, first_column + 1);
        valid = chain.length == DIGEST_BYTES;
        if (valid && record >= engine->record) {
            engine->record = record;
            memcpy(engine->chain.bytes, chain.at, DIGEST_BYTES);
        }
    }
    const enum err err = query_end(&query, detail);
    return err != ERR_OK || valid
               ? err
               : err_set(detail, ERR_CORRUPT, "the last record is damaged");
}

static enum err load_horizon(struct engine *engine, struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_HORIZON_GET);
    engine->horizon = query_step(&query) ? query_get_int(&query, 0) : 0;
    return query_end(&query, detail);
}

enum err engine_refresh(struct engine *engine, struct err_detail *detail)
{
    int64_t version = 0;
    enum err err = database_version(&engine->database, &version, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (version == engine->version) {
        documents_trim(engine);
        observations_trim(engine);
        return ERR_OK;
    }
    engine_forget(engine);
    engine->seq = 0;
    engine->author = 0;
    engine->record = 0;
    engine->chain = (struct digest){{0}};
    err = load_branches(engine, detail);
    if (err == ERR_OK) {
        err = load_horizon(engine, detail);
    }
    if (err == ERR_OK) {
        err = load_last(engine, STATEMENT_BRANCH_LAST_RECORD, 0, detail);
    }
    if (err == ERR_OK) {
        err = load_last(engine, STATEMENT_COMMIT_LAST, 1, detail);
    }
    if (err == ERR_OK) {
        engine->version = version;
    } else {
        engine_forget(engine);
    }
    return err;
}

/* -- Open and close ------------------------------------------------------ */

static uint32_t number_or(uint32_t number, uint32_t fallback)
{
    return number != 0 ? number : fallback;
}

enum err engine_open(struct engine *engine,
                     const struct engine_options *options,
                     struct err_detail *detail)
{
    *engine = (struct engine){.options = *options, .version = -1};
    struct engine_options *set = &engine->options;
    set->snapshot_patches = number_or(set->snapshot_patches, 100);
    set->snapshot_bytes = number_or(set->snapshot_bytes, 4096);
    set->snapshots_kept = number_or(set->snapshots_kept, 2);
    set->documents_cached = number_or(set->documents_cached, 10000);
    set->document_bytes = number_or(set->document_bytes, LIMIT_TEXT_BYTES);
    if (set->path == NULL) {
        set->durability = DURABILITY_MEMORY;
    }
    /* Picks the BLAKE2b of this processor; without it, a slow one is used. */
    if (sodium_init() < 0) {
        return err_set(detail, ERR_STORE, "libsodium cannot be used");
    }
    path_table_init(&engine->paths);
    const struct database_options file = {
        .path = set->path,
        .vfs = set->vfs,
        .durability = set->durability,
        .read_only = set->read_only,
        .interrupted = set->interrupted,
        .ctx = set->interrupted_ctx,
    };
    enum err err = database_open(&engine->database, &file, detail);
    if (err == ERR_OK) {
        err = schema_open(&engine->database, detail);
        if (err == ERR_OK) {
            err = engine_refresh(engine, detail);
        }
        if (err != ERR_OK) {
            engine_close(engine);
        }
    }
    return err;
}

void engine_close(struct engine *engine)
{
    images_write_noted(engine);
    engine_forget(engine);
    recent_release(engine);
    vec_release(&engine->branches);
    vec_release(&engine->landed);
    map_release(&engine->documents);
    map_release(&engine->sessions);
    database_close(&engine->database);
    path_table_release(&engine->paths);
}

void engine_leave(struct engine *engine)
{
    database_leave(&engine->database);
}

/* -- Transactions -------------------------------------------------------- */

/* Calls on_commit_record for what has landed, or drops it. */
static void tell_landed(struct engine *engine, bool committed)
{
    VEC_FOREACH (&engine->landed, commit_record) {
        if (committed) {
            engine->options.on_commit_record(engine->options.ctx,
                                             *commit_record);
        }
        commit_record_release(*commit_record);
        mem_free(*commit_record, sizeof **commit_record);
    }
    vec_clear(&engine->landed);
}

/* The end of a transaction with records. Returns the outcome; after a failure
 * the caches may reflect the rolled back transaction. */
static enum err end_records(struct engine *engine,
                            enum err err,
                            struct err_detail *detail)
{
    err = database_end(&engine->database, err, detail);
    if (err == ERR_OK) {
        engine->changes = database_changes_of_end(&engine->database);
    } else {
        engine_forget(engine);
    }
    tell_landed(engine, err == ERR_OK);
    return err;
}

/* -- Committing ---------------------------------------------------------- */

/* Stores the observation of a commit that has landed. */
static enum err take_observation(struct engine *engine,
                                 struct engine_request *request,
                                 struct err_detail *detail)
{
    enum observation_outcome outcome = OBSERVATION_KEPT;
    if (UNLIKELY(request->verdict.dropped.count > 0)) {
        return observations_lose(engine,
                                 request->commit,
                                 request->principal,
                                 detail);
    }
    const enum err err = observations_take(engine,
                                           request->commit,
                                           request->principal,
                                           request->verdict.seq,
                                           &outcome,
                                           detail);
    if (err == ERR_OK && outcome != OBSERVATION_KEPT) {
        const struct dropped_observation dropped = {0, outcome};
        vec_push(&request->verdict.dropped, dropped);
    }
    return err;
}

static enum err commit_one(struct engine *engine,
                           struct engine_request *request,
                           struct err_detail *detail)
{
    bool done = false;
    enum err err = ERR_OK;
    if (commit_is_batch(request->commit)) {
        return admit_batch(engine,
                           request->commit,
                           request->principal,
                           &request->verdict,
                           detail);
    }
    while (err == ERR_OK && !done) {
        struct commit_record commit_record;
        verdict_release(&request->verdict);
        err = admit_commit(engine, request, &commit_record, detail);
        done = err != ERR_OK || request->verdict.err != ERR_OK ||
               request->verdict.replayed;
        if (!done) {
            /* Not landed: another server was first, so decide again. */
            err = sequence_land(engine, &commit_record, &done, detail);
            if (err == ERR_OK && done && request->commit->observation != NULL) {
                err = take_observation(engine, request, detail);
            }
        }
        commit_record_release(&commit_record);
    }
    return err;
}

static void fail_all(struct engine_request *requests,
                     size_t count,
                     const struct err_detail *why)
{
    for (size_t i = 0; i < count; i++) {
        verdict_release(&requests[i].verdict);
        requests[i].verdict.err = why->err;
        requests[i].verdict.detail = *why;
    }
}

enum err engine_commit(struct engine *engine,
                       struct engine_request *requests,
                       size_t count,
                       struct err_detail *detail)
{
    struct err_detail why = {0};
    for (size_t i = 0; i < count; i++) {
        requests[i].verdict = (struct verdict){0};
    }
    enum err err = database_begin(&engine->database, &why);
    if (err == ERR_OK) {
        err = engine_refresh(engine, &why);
        if (err == ERR_OK) {
            err = sequence_catch_up(engine, &why);
        }
        for (size_t i = 0; err == ERR_OK && i < count; i++) {
            err = commit_one(engine, &requests[i], &why);
        }
        err = end_records(engine, err, &why);
    }
    if (err != ERR_OK) {
        fail_all(requests, count, &why);
        if (detail != NULL) {
            *detail = why;
        }
    }
    return err;
}

enum err engine_write_begin(struct engine *engine, struct err_detail *detail)
{
    enum err err = database_begin(&engine->database, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = engine_refresh(engine, detail);
    if (err == ERR_OK) {
        err = sequence_catch_up(engine, detail);
    }
    return err == ERR_OK ? ERR_OK : engine_write_end(engine, err, detail);
}

enum err engine_write_commit(struct engine *engine,
                             struct engine_request *request,
                             struct err_detail *detail)
{
    request->verdict = (struct verdict){0};
    return commit_one(engine, request, detail);
}

enum err engine_write_end(struct engine *engine,
                          enum err err,
                          struct err_detail *detail)
{
    return end_records(engine, err, detail);
}

/* -- Reading ------------------------------------------------------------- */

static enum err check_seq(const struct engine *engine,
                          const struct branch *branch,
                          uint64_t seq,
                          struct err_detail *detail)
{
    uint64_t first = branch->parent != NULL ? branch->fork_seq : 0;
    if (first < engine->horizon) {
        first = engine->horizon;
    }
    if (seq != ENGINE_HEAD && (seq > branch->head_seq || seq < first)) {
        return err_set(detail,
                       ERR_SEQUENCE,
                       "seq %llu is out of range: this branch has %llu to "
                       "%llu",
                       (unsigned long long)seq,
                       (unsigned long long)first,
                       (unsigned long long)branch->head_seq);
    }
    return ERR_OK;
}

static enum err read_document(struct engine *engine,
                              const struct engine_address *address,
                              uint64_t seq,
                              struct value *out,
                              struct err_detail *detail)
{
    struct branch *branch = engine_branch(engine, address->branch);
    struct document *document = NULL;
    if (branch == NULL) {
        return engine_unknown_branch(address->branch, detail);
    }
    enum err err = check_seq(engine, branch, seq, detail);
    if (err == ERR_OK) {
        err = document_find(engine,
                            branch,
                            address->scope_key,
                            address->id,
                            &document,
                            detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    if (seq != ENGINE_HEAD && seq < document->head_seq) {
        return document_at(engine, document, seq, FOLD_FAST, out, detail);
    }
    struct value head = VALUE_NONE;
    err = document_head(engine, document, &head, detail);
    *out = value_ref(head);
    return err;
}

/* Reads see one state of the file: a transaction around the statements. */
enum err engine_read_begin(struct engine *engine, struct err_detail *detail)
{
    const uint64_t changes = database_changes(&engine->database);
    const enum err err = database_read_begin(&engine->database, detail);
    if (err != ERR_OK) {
        return err;
    }
    const enum err refreshed = engine_refresh(engine, detail);
    if (refreshed == ERR_OK) {
        engine->changes = changes; /* as old as what was read, or older */
    }
    if (refreshed != ERR_OK) {
        database_read_end(&engine->database);
    }
    return refreshed;
}

void engine_read_end(struct engine *engine)
{
    database_read_end(&engine->database);
}

/* A document whose value is known, if nothing was written: a pointer. */
static bool read_hot(struct engine *engine,
                     const struct engine_address *address,
                     struct value *out)
{
    const uint64_t changes = database_changes(&engine->database);
    if (changes == 0 || changes != engine->changes) {
        return false;
    }
    struct branch *branch = engine_branch(engine, address->branch);
    const struct document *document =
        branch != NULL
            ? document_peek(engine, branch, address->scope_key, address->id)
            : NULL;
    if (document == NULL || !document->head_known) {
        return false;
    }
    *out = value_ref(document->head);
    return true;
}

enum err engine_read(struct engine *engine,
                     const struct engine_address *address,
                     uint64_t seq,
                     struct value *out,
                     struct err_detail *detail)
{
    *out = VALUE_NONE;
    if (seq == ENGINE_HEAD && read_hot(engine, address, out)) {
        return ERR_OK;
    }
    enum err err = engine_read_begin(engine, detail);
    if (err == ERR_OK) {
        err = read_document(engine, address, seq, out, detail);
        database_read_end(&engine->database);
    }
    return err;
}

bool engine_has_history(struct engine *engine,
                        struct value branch,
                        uint64_t seq)
{
    const struct branch *found = engine_branch(engine, branch);
    return found != NULL && seq >= found->fork_seq && seq >= engine->horizon &&
           seq <= engine->seq;
}

enum err engine_before(struct engine *engine,
                       const struct engine_address *address,
                       uint64_t seq,
                       struct value *out,
                       struct err_detail *detail)
{
    *out = VALUE_NONE;
    const struct branch *branch = engine_branch(engine, address->branch);
    const bool past = branch != NULL && seq < branch->head_seq;
    return read_document(engine,
                         address,
                         past ? seq : ENGINE_HEAD,
                         out,
                         detail);
}

enum err engine_documents(struct engine *engine,
                          const char *from,
                          const char *to,
                          engine_document_fn *visit,
                          void *ctx,
                          struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_DOCUMENT_RANGE);
    query_text(&query, 1, from, strlen(from));
    query_text(&query, 2, to, strlen(to));
    while (query_step(&query)) {
        const struct text scope = query_get_text(&query, 0);
        const struct text text = query_get_text(&query, 1);
        const struct value scope_key = value_string_new(scope.at, scope.length);
        const struct value id = value_string_new(text.at, text.length);
        visit(ctx, scope_key, id);
        value_unref(scope_key);
        value_unref(id);
    }
    return query_end(&query, detail);
}

enum err engine_head(struct engine *engine,
                     const struct engine_address *address,
                     struct value *out,
                     uint64_t *seq,
                     struct err_detail *detail)
{
    *out = VALUE_NONE;
    *seq = 0;
    struct branch *branch = engine_branch(engine, address->branch);
    if (branch == NULL) {
        return engine_unknown_branch(address->branch, detail);
    }
    struct document *document = NULL;
    struct value head = VALUE_NONE;
    enum err err = document_find(engine,
                                 branch,
                                 address->scope_key,
                                 address->id,
                                 &document,
                                 detail);
    if (err == ERR_OK) {
        err = document_head(engine, document, &head, detail);
    }
    if (err == ERR_OK) {
        *seq = document->head_seq;
        if (*seq == 0 && branch->parent != NULL) {
            err = document_last_seq(engine, document, seq, detail);
        }
    }
    if (err == ERR_OK) {
        *out = value_ref(head);
    }
    return err;
}

/* The name of a branch in a row, borrowed; absent if there is none, which is
 * damage. */
static struct value branch_name(const struct engine *engine, uint64_t number)
{
    return number < engine->branches.count ? engine->branches.at[number]->name
                                           : VALUE_NONE;
}

enum err engine_changes(struct engine *engine,
                        uint64_t after,
                        uint64_t to,
                        engine_change_fn *change,
                        void *ctx,
                        struct err_detail *detail)
{
    /* Below the horizon commits may have no rows any more (retention.h). */
    struct query query =
        query_begin(&engine->database,
                    after < engine->horizon ? STATEMENT_FOLDED_CHANGES
                                            : STATEMENT_COMMIT_CHANGES);
    query_int(&query, 1, after < INT64_MAX ? after : INT64_MAX);
    query_int(&query, 2, to < INT64_MAX ? to : INT64_MAX);
    bool valid = true;
    while (valid && query_step(&query)) {
        engine->counters.rows++;
        const struct text scope = query_get_text(&query, 2);
        const struct text id = query_get_text(&query, 3);
        const struct engine_change one = {
            .seq = query_get_int(&query, 0),
            .address =
                {
                    .branch = branch_name(engine, query_get_int(&query, 1)),
                    .scope_key = value_string_new(scope.at, scope.length),
                    .id = value_string_new(id.at, id.length),
                },
        };
        valid = !value_is_absent(one.address.branch);
        if (valid) {
            change(ctx, &one);
        }
        value_unref(one.address.scope_key);
        value_unref(one.address.id);
    }
    const enum err err = query_end(&query, detail);
    return err != ERR_OK || valid
               ? err
               : err_set(detail, ERR_CORRUPT, "a row names an unknown branch");
}

static enum err list_ids(struct engine *engine,
                         const struct branch *branch,
                         const struct engine_page *page,
                         struct value *out,
                         struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_DOCUMENT_LIST);
    query_int(&query, 1, branch->number);
    query_string(&query, 2, page->scope_key);
    query_string(&query,
                 3,
                 value_is_absent(page->after) ? value_string_new("", 0)
                                              : page->after);
    query_int(&query,
              4,
              page->limit < ENGINE_PAGE_MAX ? page->limit : ENGINE_PAGE_MAX);
    *out = value_empty_array();
    struct value last = value_is_absent(page->after) ? VALUE_NONE : page->after;
    while (query_step(&query)) {
        const struct text id = query_get_text(&query, 0);
        const struct value next = value_string_new(id.at, id.length);
        (void)query_expects(&query,
                            value_is_absent(last) ||
                                value_compare_strings(next, last) > 0);
        *out = array_push_adopt(*out, next);
        last = next;
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}

enum err engine_list(struct engine *engine,
                     const struct engine_page *page,
                     struct value *out,
                     struct err_detail *detail)
{
    *out = VALUE_NONE;
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct branch *branch = engine_branch(engine, page->branch);
    if (branch == NULL) {
        err = engine_unknown_branch(page->branch, detail);
    } else if (page->limit == 0) {
        err = err_set(detail, ERR_ARGUMENT, "a page must have at least one id");
    } else if (page->seq != 0 && page->seq != engine->seq) {
        err = err_set(detail,
                      ERR_LISTING_MOVED,
                      "the listing began at seq %llu, the head is now %llu",
                      (unsigned long long)page->seq,
                      (unsigned long long)engine->seq);
    } else {
        err = list_ids(engine, branch, page, out, detail);
    }
    database_read_end(&engine->database);
    return err;
}

/* -- Branches ------------------------------------------------------------ */

enum err engine_check_fork(struct engine *engine,
                           struct value name,
                           const struct branch *parent,
                           uint64_t fork_seq,
                           struct err_detail *detail)
{
    const struct text text = value_text(&name);
    if (text.length == 0 || text.length > 1024 ||
        !utf8_is_valid(text.at, text.length)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the name of a branch must have 1 to 1024 bytes of "
                       "UTF-8");
    }
    const struct branch *taken = engine_branch(engine, name);
    if (taken != NULL && !taken->active) {
        return err_set(detail,
                       ERR_BRANCH_CLOSED,
                       "the name of a deleted branch cannot be reused: %s",
                       "choose another");
    }
    if (taken != NULL &&
        (taken->parent != parent || taken->fork_seq != fork_seq)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a branch with this name and another origin already "
                       "exists");
    }
    if (taken == NULL && !parent->active) {
        const struct text of = value_text(&parent->name);
        return err_set(detail,
                       ERR_BRANCH_CLOSED,
                       "a deleted branch cannot be forked: %.*s",
                       text_shown(of.at, of.length, 100),
                       of.at);
    }
    return check_seq(engine, parent, fork_seq, detail);
}

/* A branch change: `build` examines the present branches and fills in the
 * record, or leaves it without a branch if there is nothing to do. */
struct branch_change {
    struct value name;
    struct value parent;
    uint64_t fork_seq;
    enum err (*build)(struct engine *engine,
                      const struct branch_change *change,
                      struct commit_record *commit_record,
                      struct err_detail *detail);
};

static enum err land_branch_change(struct engine *engine,
                                   const struct branch_change *change,
                                   struct err_detail *detail)
{
    bool done = false;
    enum err err = ERR_OK;
    while (err == ERR_OK && !done) {
        struct commit_record commit_record = {.record = engine->record + 1};
        err = change->build(engine, change, &commit_record, detail);
        done = err != ERR_OK || value_is_absent(commit_record.branch);
        if (!done) {
            err = sequence_land(engine, &commit_record, &done, detail);
        }
        commit_record_release(&commit_record);
    }
    return err;
}

static enum err change_branch(struct engine *engine,
                              const struct branch_change *change,
                              struct err_detail *detail)
{
    struct err_detail why = {0};
    enum err err = engine_write_begin(engine, &why);
    if (err == ERR_OK) {
        err = land_branch_change(engine, change, &why);
        err = engine_write_end(engine, err, &why);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

static enum err build_fork(struct engine *engine,
                           const struct branch_change *change,
                           struct commit_record *commit_record,
                           struct err_detail *detail)
{
    const struct branch *parent = engine_branch(engine, change->parent);
    if (parent == NULL) {
        return engine_unknown_branch(change->parent, detail);
    }
    const struct branch *same = engine_branch(engine, change->name);
    uint64_t fork_seq = change->fork_seq;
    if (fork_seq == ENGINE_HEAD) {
        /* The same call again means the same branch, though the parent has
         * advanced. */
        fork_seq = same != NULL && same->parent == parent ? same->fork_seq
                                                          : parent->head_seq;
    }
    const enum err err =
        engine_check_fork(engine, change->name, parent, fork_seq, detail);
    if (err == ERR_OK && same == NULL) {
        commit_record->kind = RECORD_FORK;
        commit_record->branch = value_ref(change->name);
        commit_record->parent = value_ref(parent->name);
        commit_record->fork_seq = fork_seq;
    }
    return err;
}

static enum err build_close(struct engine *engine,
                            const struct branch_change *change,
                            struct commit_record *commit_record,
                            struct err_detail *detail)
{
    const struct branch *branch = engine_branch(engine, change->name);
    if (branch == NULL) {
        return engine_unknown_branch(change->name, detail);
    }
    if (branch->number == 0) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the main branch cannot be deleted");
    }
    if (branch->active) {
        commit_record->kind = RECORD_CLOSE;
        commit_record->branch = value_ref(change->name);
    }
    return ERR_OK;
}

enum err engine_fork(struct engine *engine,
                     struct value name,
                     struct value parent,
                     uint64_t fork_seq,
                     struct err_detail *detail)
{
    const struct branch_change change = {name, parent, fork_seq, build_fork};
    return change_branch(engine, &change, detail);
}

enum err engine_branch_delete(struct engine *engine,
                              struct value name,
                              struct err_detail *detail)
{
    const struct branch_change change = {name, VALUE_NONE, 0, build_close};
    return change_branch(engine, &change, detail);
}

static struct value describe_branch(const struct branch *branch)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "name", value_ref(branch->name));
    if (branch->parent != NULL) {
        object_put_adopt(&object, "parent", value_ref(branch->parent->name));
        object_put_number(&object, "forkSeq", branch->fork_seq);
    }
    object_put_number(&object, "headSeq", branch->head_seq);
    object_put_adopt(&object, "active", value_bool(branch->active));
    return object;
}

enum err engine_branch_list(struct engine *engine,
                            struct value *out,
                            struct err_detail *detail)
{
    *out = VALUE_NONE;
    const enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    *out = value_empty_array();
    VEC_FOREACH (&engine->branches, branch) {
        *out = array_push_adopt(*out, describe_branch(*branch));
    }
    database_read_end(&engine->database);
    return ERR_OK;
}

/* -- Records ------------------------------------------------------------- */

enum err engine_apply(struct engine *engine,
                      struct value record,
                      struct err_detail *detail)
{
    struct commit_record commit_record;
    enum err err = commit_record_read(record, &commit_record, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = database_begin(&engine->database, detail);
    if (err == ERR_OK) {
        err = engine_refresh(engine, detail);
        if (err == ERR_OK) {
            err = sequence_bind(engine, &commit_record, detail);
        }
        if (err == ERR_OK) {
            err = commit_record_apply(engine, &commit_record, detail);
        }
        err = end_records(engine, err, detail);
    }
    commit_record_release(&commit_record);
    return err;
}
