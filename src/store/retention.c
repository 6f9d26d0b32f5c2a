/* Which rows are removed, and their removal in small transactions. */

#include "store/retention.h"

#include "store/documents.h"

enum {
    COMMITS_STEP = 1000, /* rows examined per transaction, */
    NUMBERS_STEP = 2000, /* rows of documents or sessions, */
    RECEIPTS_STEP = 500, /* and receipts removed */
    AGE_MARK_EVERY = 1024,
};

struct retention retention_default(uint64_t now_ms)
{
    return (struct retention){
        .now_ms = now_ms,
        .receipts_ms = RETENTION_RECEIPTS_MS,
        .commits = RETENTION_COMMITS,
        .session_commits = RETENTION_SESSION_COMMITS,
    };
}

/* -- The plan ------------------------------------------------------------ */

/* For a session whose process is alive: commits from this one on stay. */
struct session_floor {
    uint64_t session;
    uint64_t local_seq;
};

struct plan {
    struct engine *engine;
    const struct retention *retention;
    struct err_detail *detail;
    uint64_t commits;  /* up to this seq commits may be removed, */
    uint64_t receipts; /* and receipts of events with an id */
    uint64_t last_document;
    uint64_t last_session;
    VEC(struct session_floor) alive;
    VEC(uint64_t) pinned; /* retention-4 */
};

static void plan_release(struct plan *plan)
{
    vec_release(&plan->alive);
    vec_release(&plan->pinned);
}

static enum err ask_number(const struct plan *plan,
                           enum statement statement,
                           uint64_t *out)
{
    struct query query = query_begin(&plan->engine->database, statement);
    *out = query_step(&query) ? query_get_int(&query, 0) : 0;
    return query_end(&query, plan->detail);
}

/* The last row up to `seq`: its own seq, or 0. */
static enum err row_below(const struct plan *plan,
                          uint64_t seq,
                          uint64_t *found,
                          uint64_t *at_ms)
{
    struct query query =
        query_begin(&plan->engine->database, STATEMENT_COMMIT_TIME);
    query_int(&query, 1, seq);
    *found = 0;
    *at_ms = 0;
    if (query_step(&query)) {
        *found = query_get_int(&query, 0);
        *at_ms = query_get_int(&query, 1);
        (void)query_expects(&query, *found <= seq);
    }
    return query_end(&query, plan->detail);
}

/* retention-3. Commits are in the order of their times, unless a clock was set
 * back; then the search ends at one of those points. What is below a commit
 * that is old enough is older. */
static enum err find_old_receipts(struct plan *plan)
{
    const uint64_t now = plan->retention->now_ms;
    const uint64_t age = plan->retention->receipts_ms;
    const uint64_t before = now > age ? now - age : 0;
    uint64_t low = 0;
    uint64_t high = plan->commits;
    enum err err = ERR_OK;
    while (err == ERR_OK && low < high) {
        const uint64_t middle = high - (high - low) / 2;
        uint64_t seq = 0;
        uint64_t at_ms = 0;
        err = row_below(plan, middle, &seq, &at_ms);
        if (seq <= low) {
            low = middle; /* there is none in between */
        } else if (at_ms <= before) {
            low = middle;
            plan->receipts = seq;
        } else {
            high = seq - 1;
        }
    }
    return err;
}

/* retention-2. */
static enum err find_floor(struct plan *plan, uint64_t session)
{
    struct session_floor one = {.session = session};
    struct query query =
        query_begin(&plan->engine->database, STATEMENT_COMMIT_NTH);
    query_int(&query, 1, session);
    query_int(&query, 2, plan->retention->session_commits);
    if (query_step(&query)) {
        one.local_seq = query_get_int(&query, 0) + 1;
    }
    vec_push(&plan->alive, one);
    return query_end(&query, plan->detail);
}

/* Queried after a transaction has fixed the rows: a session that has one of
 * them, and is alive, has its lease (lease-1). */
static enum err find_alive(struct plan *plan)
{
    const struct database *database = &plan->engine->database;
    lease_list numbers = {0};
    enum err err = ERR_OK;
    leases_list(&database->leases,
                database->lock.fd,
                plan->last_session,
                &numbers);
    VEC_FOREACH (&numbers, number) {
        if (err == ERR_OK) {
            err = find_floor(plan, *number);
        }
    }
    vec_release(&numbers);
    return err;
}

/* With the horizon at `horizon`. */
static enum err make_plan(struct plan *plan, uint64_t horizon)
{
    const struct engine *engine = plan->engine;
    const uint64_t kept = plan->retention->commits;
    const uint64_t most = engine->seq > kept ? engine->seq - kept : 0;
    plan->commits = most < horizon ? most : horizon;
    vec_push(&plan->pinned, horizon);
    vec_push(&plan->pinned, engine->seq);
    VEC_FOREACH (&engine->branches, branch) {
        vec_push(&plan->pinned, (*branch)->head_seq);
    }
    enum err err = find_old_receipts(plan);
    if (err == ERR_OK) {
        err = ask_number(plan, STATEMENT_DOCUMENT_LAST, &plan->last_document);
    }
    if (err == ERR_OK) {
        err = ask_number(plan, STATEMENT_SESSION_LAST, &plan->last_session);
    }
    return err == ERR_OK ? find_alive(plan) : err;
}

/* retention-2. */
static bool is_in_use(const struct plan *plan,
                      uint64_t session,
                      uint64_t local_seq)
{
    VEC_FOREACH (&plan->alive, one) {
        if (one->session == session && local_seq >= one->local_seq) {
            return true;
        }
    }
    return false;
}

static bool is_pinned(const struct plan *plan, uint64_t seq)
{
    if (seq % AGE_MARK_EVERY == 0 && seq > plan->receipts) {
        return true;
    }
    VEC_FOREACH (&plan->pinned, one) {
        if (*one == seq) {
            return true;
        }
    }
    return false;
}

/* -- Passes -------------------------------------------------------------- */

/* A pass over rows, in the order of their numbers. */
struct pass {
    const struct plan *plan;
    struct retire_counts *counts;
    uint64_t at; /* examined up to this number */
    bool more;
    VEC(uint64_t) rows; /* to be removed */
};

/* Runs a statement about one row; adds the number of changed rows to *count. */
static enum err change_row(const struct pass *pass,
                           enum statement statement,
                           uint64_t number,
                           uint64_t *count)
{
    struct database *database = &pass->plan->engine->database;
    struct query query = query_begin(database, statement);
    query_int(&query, 1, number);
    (void)query_step(&query);
    const enum err err = query_end(&query, pass->plan->detail);
    if (err == ERR_OK && count != NULL) {
        *count += (uint64_t)sqlite3_changes64(database->db);
    }
    return err;
}

static struct query begin_pass(const struct pass *pass,
                               enum statement statement,
                               uint64_t to)
{
    struct query query = query_begin(&pass->plan->engine->database, statement);
    query_int(&query, 1, pass->at);
    query_int(&query, 2, to);
    return query;
}

/* Whether the commit at `seq` has a row that its session may still need. */
static enum err is_commit_in_use(const struct plan *plan,
                                 uint64_t seq,
                                 bool *in_use)
{
    struct query query =
        query_begin(&plan->engine->database, STATEMENT_COMMIT_NUMBER);
    query_int(&query, 1, seq);
    *in_use =
        query_step(&query) &&
        is_in_use(plan, query_get_int(&query, 0), query_get_int(&query, 1));
    return query_end(&query, plan->detail);
}

/* The numbers up to `to` have been examined, or up to `at` if that many
 * receipts were found there. */
static enum err find_receipts(struct pass *pass, uint64_t to)
{
    const struct plan *plan = pass->plan;
    struct query query = begin_pass(pass, STATEMENT_RECEIPT_RANGE, to);
    query_int(&query, 3, plan->commits);
    enum err err = ERR_OK;
    while (err == ERR_OK && pass->rows.count < RECEIPTS_STEP &&
           query_step(&query)) {
        const uint64_t document = query_get_int(&query, 0);
        const uint64_t seq = query_get_int(&query, 1);
        const bool named = query_get_int(&query, 2) != 0;
        bool stays = named && seq > plan->receipts;
        if (!query_expects(&query, document > pass->at)) {
            break;
        }
        if (!stays) {
            err = is_commit_in_use(plan, seq, &stays);
        }
        if (err == ERR_OK && !stays) {
            vec_push(&pass->rows, document);
        }
        pass->at = document;
    }
    const enum err ended = query_end(&query, plan->detail);
    return err != ERR_OK ? err : ended;
}

/* The number of the row that ends a step, at most `last`. It is queried,
 * because numbers of a damaged file can be far apart. */
static enum err find_end(const struct pass *pass,
                         enum statement statement,
                         uint64_t last,
                         uint64_t *to)
{
    struct query query = begin_pass(pass, statement, NUMBERS_STEP);
    *to = query_step(&query) ? query_get_int(&query, 0) : 0;
    if (*to <= pass->at || *to > last) {
        *to = last;
    }
    return query_end(&query, pass->plan->detail);
}

static enum err retire_receipts(struct pass *pass)
{
    const uint64_t last = pass->plan->last_document;
    uint64_t to = last;
    enum err err = find_end(pass, STATEMENT_DOCUMENT_STEP, last, &to);
    if (err == ERR_OK) {
        err = find_receipts(pass, to);
    }
    if (pass->rows.count < RECEIPTS_STEP) {
        pass->at = to;
    }
    pass->more = pass->at < last;
    VEC_FOREACH (&pass->rows, row) {
        if (err == ERR_OK) {
            err = change_row(pass, STATEMENT_REVISION_REMOVE, *row, NULL);
        }
        if (err == ERR_OK) {
            err = change_row(pass, STATEMENT_SNAPSHOT_CLEAR, *row, NULL);
        }
        if (err == ERR_OK) {
            err = change_row(pass,
                             STATEMENT_DOCUMENT_REMOVE,
                             *row,
                             &pass->counts->receipts);
        }
    }
    return err;
}

static enum err retire_commits(struct pass *pass)
{
    const struct plan *plan = pass->plan;
    struct query query =
        begin_pass(pass, STATEMENT_COMMIT_RANGE, plan->commits);
    query_int(&query, 3, COMMITS_STEP);
    uint64_t rows = 0;
    while (query_step(&query)) {
        const uint64_t seq = query_get_int(&query, 0);
        if (!query_expects(&query, seq > pass->at)) {
            break;
        }
        rows++;
        pass->at = seq;
        if (!is_pinned(plan, seq) && !is_in_use(plan,
                                                query_get_int(&query, 1),
                                                query_get_int(&query, 2))) {
            vec_push(&pass->rows, seq);
        }
    }
    enum err err = query_end(&query, plan->detail);
    pass->more = rows == COMMITS_STEP;
    VEC_FOREACH (&pass->rows, row) {
        if (err == ERR_OK) {
            err = change_row(pass,
                             STATEMENT_COMMIT_REMOVE,
                             *row,
                             &pass->counts->commits);
        }
    }
    return err;
}

static enum err retire_sessions(struct pass *pass)
{
    const uint64_t last = pass->plan->last_session;
    uint64_t to = last;
    enum err err = find_end(pass, STATEMENT_SESSION_STEP, last, &to);
    if (err != ERR_OK) {
        return err;
    }
    struct query query = begin_pass(pass, STATEMENT_SESSION_REMOVE, to);
    (void)query_step(&query);
    err = query_end(&query, pass->plan->detail);
    if (err == ERR_OK) {
        pass->counts->sessions +=
            (uint64_t)sqlite3_changes64(pass->plan->engine->database.db);
    }
    pass->at = to;
    pass->more = to < last;
    return err;
}

/* -- All passes ---------------------------------------------------------- */

typedef enum err pass_fn(struct pass *pass);

/* One step in its own transaction. Drops the caches of the removed rows. */
static enum err pass_step(struct pass *pass, pass_fn *step)
{
    struct engine *engine = pass->plan->engine;
    struct err_detail *detail = pass->plan->detail;
    const struct retire_counts before = *pass->counts;
    enum err err = database_begin(&engine->database, detail);
    if (err != ERR_OK) {
        return err;
    }
    vec_clear(&pass->rows);
    err = engine_refresh(engine, detail);
    if (err == ERR_OK) {
        err = step(pass);
    }
    err = database_end(&engine->database, err, detail);
    engine_forget(engine);
    if (err != ERR_OK) {
        *pass->counts = before;
    }
    return err;
}

/* Receipts first: their age is found from the rows of commits. */
static enum err run_passes(const struct plan *plan,
                           maintain_progress_fn *progress,
                           void *ctx,
                           struct retire_counts *counts)
{
    const struct {
        pass_fn *step;
        uint64_t total;
    } passes[] = {
        {retire_receipts, plan->last_document},
        {retire_commits, plan->commits},
        {retire_sessions, plan->last_session},
    };
    const uint64_t total =
        plan->last_document + plan->commits + plan->last_session;
    struct pass pass = {.plan = plan, .counts = counts};
    uint64_t done = 0;
    enum err err = ERR_OK;
    for (size_t i = 0; i < COUNT_OF(passes); i++) {
        pass.at = 0;
        pass.more = true;
        while (err == ERR_OK && pass.more && !counts->stopped) {
            err = pass_step(&pass, passes[i].step);
            counts->stopped = err == ERR_OK && progress != NULL &&
                              !progress(ctx, done + pass.at, total);
        }
        done += passes[i].total;
    }
    vec_release(&pass.rows);
    return err;
}

enum err engine_retire(struct engine *engine,
                       const struct retention *retention,
                       maintain_progress_fn *progress,
                       void *ctx,
                       struct retire_counts *counts,
                       struct err_detail *detail)
{
    struct err_detail why = {0};
    struct plan plan = {
        .engine = engine,
        .retention = retention,
        .detail = &why,
    };
    *counts = (struct retire_counts){0};
    enum err err = engine_read_begin(engine, &why);
    if (err == ERR_OK) {
        err = make_plan(&plan, engine->horizon);
        engine_read_end(engine);
    }
    if (err == ERR_OK) {
        err = run_passes(&plan, progress, ctx, counts);
    }
    plan_release(&plan);
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

/* -- Estimates ----------------------------------------------------------- */

/* Where a compaction would put the horizon: not beyond a fork. */
static uint64_t horizon_to_come(const struct engine *engine)
{
    uint64_t horizon = engine->seq;
    VEC_FOREACH (&engine->branches, branch) {
        if ((*branch)->parent != NULL && (*branch)->fork_seq < horizon) {
            horizon = (*branch)->fork_seq;
        }
    }
    return horizon > engine->horizon ? horizon : engine->horizon;
}

/* The count and the average size of rows, from a statement with both. */
static enum err estimate(const struct plan *plan,
                         enum statement statement,
                         const uint64_t *numbers,
                         size_t count,
                         uint64_t *rows,
                         uint64_t *bytes)
{
    struct query query = query_begin(&plan->engine->database, statement);
    for (size_t i = 0; i < count; i++) {
        query_int(&query, (int)i + 1, numbers[i]);
    }
    if (query_step(&query)) {
        *rows = query_get_int(&query, 0);
        *bytes += *rows * query_get_int(&query, 1);
    }
    return query_end(&query, plan->detail);
}

static enum err estimate_all(const struct plan *plan, struct reclaimable *out)
{
    const uint64_t bounds[] = {plan->commits, plan->receipts, AGE_MARK_EVERY};
    const struct {
        enum statement statement;
        size_t bound_count;
        uint64_t *rows;
    } all[] = {
        {STATEMENT_RECLAIM_COMMITS, 3, &out->commits},
        {STATEMENT_RECLAIM_RECEIPTS, 2, &out->receipts},
        {STATEMENT_RECLAIM_REVISIONS, 0, &out->revisions},
        {STATEMENT_RECLAIM_SESSIONS, 3, &out->sessions},
    };
    enum err err = ERR_OK;
    for (size_t i = 0; i < COUNT_OF(all) && err == ERR_OK; i++) {
        err = estimate(plan,
                       all[i].statement,
                       bounds,
                       all[i].bound_count,
                       all[i].rows,
                       &out->row_bytes);
    }
    return err == ERR_OK
               ? ask_number(plan, STATEMENT_FREE_BYTES, &out->free_bytes)
               : err;
}

enum err engine_reclaimable(struct engine *engine,
                            const struct retention *retention,
                            struct reclaimable *out,
                            struct err_detail *detail)
{
    struct err_detail why = {0};
    struct plan plan = {
        .engine = engine,
        .retention = retention,
        .detail = &why,
    };
    *out = (struct reclaimable){0};
    enum err err = make_plan(&plan, horizon_to_come(engine));
    if (err == ERR_OK) {
        err = estimate_all(&plan, out);
    }
    plan_release(&plan);
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}
