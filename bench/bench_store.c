/* The store beside hand-written C on raw SQLite.
 *
 * The floor inserts the same rows into the same tables with the same
 * durability and the same grouping, from texts that were prepared before: no
 * admission, no conflicts, no replay check, no chain. What is between it and
 * ours is the price of those, as both have the same cache of pages.
 *
 * With a disk in the way, what counts is the time that passes, not the time on
 * a CPU: the durable rows are measured by the wall clock.
 *
 * The other question is whether a commit costs the same whatever came before
 * it. Stores with histories of different lengths are built first, and then
 * measured in turn, so that a busy machine disturbs all of them. */

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bench.h"
#include "store/engine.h"
#include "value/json.h"

enum {
    DOCUMENTS = 1000,
    GROUP_MAX = 1000,
    TEXT_SIZE = 256
};

/* Both sides, on files of their own in one temporary folder. */
struct stores {
    const char *folder;
    bool durable;
    unsigned group;
    char path[2][256];
    struct engine engine;
    uint64_t local_seq;
    sqlite3 *floor;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *insert[3]; /* commit, revision, document */
    uint64_t floor_seq;
};

static void stop(const char *why)
{
    (void)fprintf(stderr, "bench_store: %s\n", why);
    exit(1);
}

/* -- Ours ---------------------------------------------------------------- */

static size_t document_text(char *to, uint64_t number)
{
    const int length =
        snprintf(to,
                 TEXT_SIZE,
                 "{\"value\":{\"done\":false,\"note\":\"lorem ipsum dolor sit "
                 "amet\",\"rank\":%d,\"title\":\"item number %llu\"}}",
                 (int)(number % 17),
                 (unsigned long long)number);
    return (size_t)length;
}

static size_t document_id(char *to, uint64_t document)
{
    const int length = snprintf(to, TEXT_SIZE, "of:document-%d", (int)document);
    return (size_t)length;
}

/* The commit with that local seq, which sets one document. */
static void make_set(uint64_t number, uint64_t document, struct commit *commit)
{
    char text[TEXT_SIZE];
    struct commit_op op = {.kind = COMMIT_SET};
    op.target.id = value_string_new(text, document_id(text, document));
    if (json_read(text,
                  document_text(text, number),
                  NULL,
                  &op.document,
                  NULL) != ERR_OK) {
        stop("the document is not JSON");
    }
    *commit = (struct commit){
        .session = value_text_new("bench"),
        .local_seq = number,
        .branch = value_string_new("", 0),
    };
    vec_push(&commit->ops, op);
}

static void run_ours(void *ctx, uint64_t times)
{
    struct stores *stores = ctx;
    static struct commit commits[GROUP_MAX];
    static struct engine_request requests[GROUP_MAX];
    struct err_detail detail;
    for (uint64_t i = 0; i < times; i++) {
        bench_pause();
        for (unsigned j = 0; j < stores->group; j++) {
            const uint64_t number = ++stores->local_seq;
            make_set(number, number % DOCUMENTS, &commits[j]);
            requests[j] = (struct engine_request){.commit = &commits[j]};
        }
        bench_resume();
        if (engine_commit(&stores->engine, requests, stores->group, &detail) !=
            ERR_OK) {
            stop(detail.text);
        }
        bench_pause();
        for (unsigned j = 0; j < stores->group; j++) {
            if (requests[j].verdict.err != ERR_OK) {
                stop(requests[j].verdict.detail.text);
            }
            verdict_release(&requests[j].verdict);
            commit_release(&commits[j]);
        }
        bench_resume();
    }
}

/* -- The floor ----------------------------------------------------------- */

static void step(sqlite3_stmt *stmt)
{
    const int code = sqlite3_step(stmt);
    if (code != SQLITE_DONE && code != SQLITE_ROW) {
        stop(sqlite3_errmsg(sqlite3_db_handle(stmt)));
    }
    (void)sqlite3_reset(stmt);
}

static void floor_insert(struct stores *stores)
{
    static const unsigned char zeros[32];
    char text[TEXT_SIZE];
    char id[TEXT_SIZE];
    const sqlite3_int64 seq = (sqlite3_int64)++stores->floor_seq;
    const int length = (int)document_text(text, stores->floor_seq);
    const int id_length = (int)document_id(id, stores->floor_seq % DOCUMENTS);
    sqlite3_stmt *const *insert = stores->insert;
    (void)sqlite3_bind_int64(insert[0], 1, seq);
    (void)sqlite3_bind_blob(insert[0], 2, zeros, 16, SQLITE_STATIC);
    (void)sqlite3_bind_blob(insert[0], 3, zeros, 32, SQLITE_STATIC);
    step(insert[0]);
    (void)sqlite3_bind_int64(insert[1], 1, 1 + seq % DOCUMENTS);
    (void)sqlite3_bind_int64(insert[1], 2, seq);
    (void)sqlite3_bind_text(insert[1], 3, text, length, SQLITE_STATIC);
    step(insert[1]);
    (void)sqlite3_bind_int64(insert[2], 1, seq);
    (void)sqlite3_bind_text(insert[2], 2, id, id_length, SQLITE_STATIC);
    (void)sqlite3_bind_int64(insert[2], 3, length);
    step(insert[2]);
}

static void run_floor(void *ctx, uint64_t times)
{
    struct stores *stores = ctx;
    for (uint64_t i = 0; i < times; i++) {
        step(stores->begin);
        for (unsigned j = 0; j < stores->group; j++) {
            floor_insert(stores);
        }
        step(stores->commit);
    }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
        stop(sqlite3_errmsg(db));
    }
    return stmt;
}

/* The same tables as ours: a copy of our empty file. */
static void open_floor(struct stores *stores)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(stores->durable ? stores->path[1] : ":memory:", &db) !=
        SQLITE_OK) {
        stop("cannot open the floor");
    }
    sqlite3_backup *copy =
        sqlite3_backup_init(db, "main", stores->engine.database.db, "main");
    (void)sqlite3_backup_step(copy, -1);
    (void)sqlite3_backup_finish(copy);
    (void)sqlite3_exec(db,
                       stores->durable
                           ? "PRAGMA cache_size = -65536;"
                             "PRAGMA journal_mode = WAL; PRAGMA synchronous = "
                             "FULL; PRAGMA wal_autocheckpoint = 2000"
                           : "PRAGMA journal_mode = MEMORY; PRAGMA synchronous "
                             "= OFF",
                       NULL,
                       NULL,
                       NULL);
    stores->floor = db;
    stores->begin = prepare(db, "BEGIN IMMEDIATE");
    stores->commit = prepare(db, "COMMIT");
    stores->insert[0] =
        prepare(db,
                "INSERT INTO \"commit\"(seq, record, branch, session,"
                " local_seq, digest, at, documents, chain)"
                " VALUES(?1, ?1, 0, 1, ?1, ?2, 0, '[1]', ?3)");
    stores->insert[1] =
        prepare(db,
                "INSERT INTO revision(document, seq, op_index, op, data)"
                " VALUES(?1, ?2, 0, 'set', ?3)");
    stores->insert[2] = prepare(
        db,
        "INSERT INTO document(branch, scope, id, head_seq, head_index, op,"
        " base_seq, tail_count, tail_bytes, base_bytes)"
        " VALUES(0, 'space', ?2, ?1, 0, 'set', ?1, 0, 0, ?3)"
        " ON CONFLICT(branch, scope, id) DO UPDATE SET head_seq = ?1,"
        " base_seq = ?1, base_bytes = ?3");
}

/* -- Both ---------------------------------------------------------------- */

static void open_both(struct stores *stores, unsigned group, bool durable)
{
    *stores = (struct stores){.folder = stores->folder,
                              .durable = durable,
                              .group = group};
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(stores->path[i],
                       sizeof stores->path[i],
                       "%s/%s-%u.db",
                       stores->folder,
                       i == 0 ? "ours" : "floor",
                       group);
    }
    const struct engine_options options = {
        .path = durable ? stores->path[0] : NULL,
    };
    struct err_detail detail;
    if (engine_open(&stores->engine, &options, &detail) != ERR_OK) {
        stop(detail.text);
    }
    open_floor(stores);
}

static void remove_files(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        char name[300];
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        (void)unlink(name);
    }
}

static void close_both(struct stores *stores)
{
    (void)sqlite3_finalize(stores->begin);
    (void)sqlite3_finalize(stores->commit);
    for (size_t i = 0; i < COUNT_OF(stores->insert); i++) {
        (void)sqlite3_finalize(stores->insert[i]);
    }
    (void)sqlite3_close(stores->floor);
    engine_close(&stores->engine);
    remove_files(stores->path[0]);
    remove_files(stores->path[1]);
}

static void bench_commits(struct bench *bench, struct stores *stores)
{
    static const struct {
        const char *name;
        unsigned group;
        bool durable;
        double bar; /* of the floor's speed */
    } rows[] = {
        {"commit, in memory", 1, false, 0},
        {"commit, groups of 100, in memory", 100, false, 0},
        {"commit, full", 1, true, 0.7},
        {"commit, groups of 100, full", 100, true, 0.7},
        {"commit, groups of 1000, full", 1000, true, 0.7},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!bench_wants(bench, rows[i].name)) {
            continue;
        }
        open_both(stores, rows[i].group, rows[i].durable);
        (void)bench_run(
            bench,
            &(struct bench_case){
                .name = rows[i].name,
                .ours = run_ours,
                .peer = run_floor,
                .ctx = stores,
                .units = rows[i].group,
                .wall = rows[i].durable,
                .bar = {rows[i].bar > 0 ? BENCH_FASTER : BENCH_NO_BAR,
                        rows[i].bar},
            });
        close_both(stores);
    }
}

/* -- Reading ------------------------------------------------------------- */

static void run_read(void *ctx, uint64_t times)
{
    struct stores *stores = ctx;
    const struct engine_address address = {
        value_string_new("", 0),
        value_text_new("space"),
        value_text_new("of:document-7"),
    };
    struct err_detail detail;
    for (uint64_t i = 0; i < times; i++) {
        struct value value = VALUE_NONE;
        if (engine_read(&stores->engine,
                        &address,
                        ENGINE_HEAD,
                        &value,
                        &detail) != ERR_OK ||
            value_is_absent(value)) {
            stop("nothing to read");
        }
        bench_keep(value.word[0]);
        value_unref(value);
    }
}

/* The query and the parse that somebody would write. */
static void run_raw_read(void *ctx, uint64_t times)
{
    struct stores *stores = ctx;
    sqlite3_stmt *stmt = prepare(
        stores->engine.database.db,
        "SELECT r.data FROM document d JOIN revision r ON r.document ="
        " d.document AND r.seq = d.head_seq AND r.op_index = d.head_index"
        " WHERE d.branch = 0 AND d.scope = 'space' AND d.id = ?1");
    for (uint64_t i = 0; i < times; i++) {
        struct value value = VALUE_NONE;
        (void)sqlite3_bind_text(stmt, 1, "of:document-7", -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) != SQLITE_ROW ||
            json_read((const char *)sqlite3_column_text(stmt, 0),
                      (size_t)sqlite3_column_bytes(stmt, 0),
                      NULL,
                      &value,
                      NULL) != ERR_OK) {
            stop("nothing to read");
        }
        bench_keep(value.word[0]);
        value_unref(value);
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt);
}

static void bench_reads(struct bench *bench, struct stores *stores)
{
    if (!bench_wants(bench, "read of a hot document")) {
        return;
    }
    open_both(stores, 100, true);
    run_ours(stores, 10);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = "read of a hot document",
                        .ours = run_read,
                        .peer = run_raw_read,
                        .ctx = stores,
                        .bar = {BENCH_FASTER, 10},
                    });
    close_both(stores);
}

/* -- Growing histories --------------------------------------------------- */

enum {
    SPREAD = 100, /* documents that are set in turn */
    WINDOW = 100, /* commits a round: as many as patches between snapshots */
    MARKS = 4,
    QUICK_MARK = 100000, /* the last one with --quick */
    NAME_SIZE = 64
};

/* How much longer a commit may take at the last mark than at the first. A
 * commit of its own changes the same five pages in any history, but SQLite
 * finds them in trees: what is in proportion to the logarithm takes twice as
 * long among 1,000,000 as among 1,000. (Counted, it is an eighth more
 * instructions among 100,000; the rest are misses of the processor's cache.)
 * The patches of one document all go to the same end of the same trees. */
static const double flat_commits = 2;
static const double flat_patches = 1.5;

/* Counted, not timed. */
struct history_cost {
    uint64_t commits;
    uint64_t asked;     /* rows looked at, texts parsed, commits looked for */
    uint64_t snapshots; /* written */
    uint64_t steps;     /* of SQLite's machine */
};

struct history {
    bool patches;   /* all on one document, instead of sets of many */
    bool renewed;   /* a new document each round: the first patches */
    char path[256]; /* "": in memory */
    struct engine engine;
    uint64_t mark; /* how many commits, or patches, there are */
    uint64_t local_seq;
    uint64_t document;
    struct history_cost cost; /* of the rounds */
};

/* A workload: histories up to some marks, each beside the first one. */
struct growth {
    const char *what;
    const char *where;
    bool patches;
    bool durable; /* at normal, in a file */
    struct mark {
        uint64_t number;
        const char *text;
    } marks[MARKS];
};

static void mark_name(char to[NAME_SIZE],
                      const struct growth *growth,
                      size_t mark)
{
    (void)snprintf(to,
                   NAME_SIZE,
                   "%s %s beside %s (%s)",
                   growth->what,
                   growth->marks[mark].text,
                   growth->marks[0].text,
                   growth->where);
}

/* Two histories that are measured in turn. */
struct histories {
    struct history *late;
    struct history *early;
};

static struct history_cost spent(const struct history *history)
{
    const struct engine *engine = &history->engine;
    const struct engine_counters *counters = &engine->counters;
    struct history_cost cost = {
        .commits = engine->seq,
        .asked = counters->rows + counters->decodes + counters->lookups,
        .snapshots = counters->snapshots,
    };
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        if (engine->database.statement[i] != NULL) {
            cost.steps +=
                (uint64_t)sqlite3_stmt_status(engine->database.statement[i],
                                              SQLITE_STMTSTATUS_VM_STEP,
                                              0);
        }
    }
    return cost;
}

static void add_cost(struct history *history, struct history_cost before)
{
    const struct history_cost after = spent(history);
    struct history_cost *cost = &history->cost;
    cost->commits += after.commits - before.commits;
    cost->asked += after.asked - before.asked;
    cost->snapshots += after.snapshots - before.snapshots;
    cost->steps += after.steps - before.steps;
}

/* A commit that replaces one field of the document. */
static void make_patch(struct history *history, struct commit *commit)
{
    char text[TEXT_SIZE];
    struct value list = VALUE_NONE;
    make_set(++history->local_seq, history->document, commit);
    struct commit_op *op = &commit->ops.at[0];
    value_unref(op->document);
    op->document = VALUE_NONE;
    op->kind = COMMIT_PATCH;
    const int length =
        snprintf(text,
                 sizeof text,
                 "[{\"op\":\"replace\",\"path\":\"/value/rank\",\"value\":%d}]",
                 (int)(history->local_seq % 10));
    if (json_read(text, (size_t)length, NULL, &list, NULL) != ERR_OK ||
        patch_read(list, &history->engine.paths, &op->patch, NULL) != ERR_OK) {
        stop("the patch is none");
    }
    value_unref(list);
}

/* `count` commits in groups; the clock stands but for the engine. */
static void land(struct history *history,
                 struct commit *commits,
                 size_t count,
                 size_t group)
{
    static struct engine_request requests[GROUP_MAX];
    struct err_detail detail;
    for (size_t i = 0; i < count; i++) {
        requests[i] = (struct engine_request){.commit = &commits[i]};
    }
    bench_resume();
    for (size_t i = 0; i < count; i += group) {
        if (engine_commit(&history->engine, requests + i, group, &detail) !=
            ERR_OK) {
            stop(detail.text);
        }
    }
    bench_pause();
    for (size_t i = 0; i < count; i++) {
        if (requests[i].verdict.err != ERR_OK) {
            stop(requests[i].verdict.detail.text);
        }
        verdict_release(&requests[i].verdict);
        commit_release(&commits[i]);
    }
}

static void run_history(struct history *history, size_t count, size_t group)
{
    static struct commit commits[GROUP_MAX];
    bench_pause();
    if (history->renewed) {
        make_set(++history->local_seq, ++history->document, &commits[0]);
        land(history, commits, 1, 1);
    }
    const struct history_cost before = spent(history);
    for (size_t i = 0; i < count; i++) {
        if (history->patches) {
            make_patch(history, &commits[i]);
        } else {
            const uint64_t number = ++history->local_seq;
            make_set(number, number % SPREAD, &commits[i]);
        }
    }
    land(history, commits, count, group);
    add_cost(history, before);
    bench_resume();
}

static void run_late(void *ctx, uint64_t times)
{
    run_history(((struct histories *)ctx)->late, (size_t)times, 1);
}

static void run_early(void *ctx, uint64_t times)
{
    run_history(((struct histories *)ctx)->early, (size_t)times, 1);
}

static void open_history(struct history *history)
{
    const struct engine_options options = {
        .path = history->path[0] != '\0' ? history->path : NULL,
        .durability = DURABILITY_NORMAL,
        .snapshot_patches = WINDOW,
        .snapshot_bytes = UINT32_MAX, /* so that each round has one */
    };
    struct err_detail detail;
    if (engine_open(&history->engine, &options, &detail) != ERR_OK) {
        stop(detail.text);
    }
    static struct commit first;
    make_set(++history->local_seq, history->document, &first);
    land(history, &first, 1, 1);
    for (uint64_t done = 1; !history->renewed && done < history->mark;) {
        const uint64_t left = history->mark - done;
        const size_t count = left < GROUP_MAX ? (size_t)left : GROUP_MAX;
        run_history(history, count, count);
        done += count;
    }
    history->cost = (struct history_cost){0};
}

static double per_commit(uint64_t figure, const struct history *history)
{
    return (double)figure / (double)history->cost.commits;
}

static void report_counts(struct bench *bench,
                          const char *name,
                          const struct histories *pair)
{
    char title[2 * NAME_SIZE];
    const struct history *late = pair->late;
    const struct history *early = pair->early;
    (void)snprintf(title, sizeof title, "steps, %s", name);
    /* The first snapshots of a document have none before them to prune. */
    bench_figure(bench,
                 title,
                 "steps",
                 per_commit(late->cost.steps, late),
                 per_commit(early->cost.steps, early),
                 (struct bench_bar){BENCH_SHARE, late->patches ? 1.1 : 1});
    (void)snprintf(title, sizeof title, "rows, parses, lookups, %s", name);
    bench_figure(bench,
                 title,
                 "",
                 per_commit(late->cost.asked, late),
                 0,
                 (struct bench_bar){BENCH_AT_MOST, 0});
    if (late->patches) {
        (void)snprintf(title, sizeof title, "snapshots, %s", name);
        bench_figure(bench,
                     title,
                     "",
                     per_commit(late->cost.snapshots, late),
                     per_commit(early->cost.snapshots, early),
                     (struct bench_bar){BENCH_SHARE, 1});
    }
}

/* Measures each mark in turn with the first one. */
static void measure(struct bench *bench,
                    const struct growth *growth,
                    struct history *all,
                    size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct histories pair = {.late = &all[i], .early = &all[0]};
        char name[NAME_SIZE];
        mark_name(name, growth, i);
        all[0].cost = (struct history_cost){0};
        (void)bench_run(
            bench,
            &(struct bench_case){
                .name = name,
                .ours = run_late,
                .peer = run_early,
                .ctx = &pair,
                .times = WINDOW,
                .bar = {BENCH_SHARE,
                        growth->patches ? flat_patches : flat_commits},
            });
        if (i + 1 == count && all[i].cost.commits > 0) {
            report_counts(bench, name, &pair);
        }
    }
}

static void bench_growth(struct bench *bench,
                         const struct growth *growth,
                         const char *folder)
{
    static struct history all[MARKS];
    size_t count = 0;
    bool wanted = false;
    for (; count < MARKS; count++) {
        char name[NAME_SIZE];
        if (bench->quick && growth->marks[count].number > QUICK_MARK) {
            break;
        }
        mark_name(name, growth, count);
        wanted = wanted || (count > 0 && bench_wants(bench, name));
    }
    for (size_t i = 0; wanted && i < count; i++) {
        all[i] = (struct history){
            .patches = growth->patches,
            .renewed = growth->marks[i].number == 1,
            .mark = growth->marks[i].number,
        };
        if (growth->durable) {
            (void)snprintf(all[i].path,
                           sizeof all[i].path,
                           "%s/%zu.db",
                           folder,
                           i);
        }
        open_history(&all[i]);
    }
    if (wanted) {
        measure(bench, growth, all, count);
    }
    for (size_t i = 0; wanted && i < count; i++) {
        engine_close(&all[i].engine);
        if (growth->durable) {
            remove_files(all[i].path);
        }
    }
}

static void bench_histories(struct bench *bench, const char *folder)
{
    static const struct growth growths[] = {
        {.what = "commit",
         .where = "memory",
         .marks = {{1000, "1,000"},
                   {10000, "10,000"},
                   {100000, "100,000"},
                   {1000000, "1,000,000"}}},
        {.what = "commit",
         .where = "normal",
         .durable = true,
         .marks = {{1000, "1,000"},
                   {10000, "10,000"},
                   {100000, "100,000"},
                   {1000000, "1,000,000"}}},
        {.what = "patch",
         .where = "memory",
         .patches = true,
         .marks = {{1, "1"},
                   {1000, "1,000"},
                   {10000, "10,000"},
                   {100000, "100,000"}}},
    };
    for (size_t i = 0; i < COUNT_OF(growths); i++) {
        bench_growth(bench, &growths[i], folder);
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "store", argc, argv, &exit_code)) {
        return exit_code;
    }
    char folder[] = "build/bench-store-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        stop("cannot make a folder below build");
    }
    struct stores stores = {.folder = folder};
    bench_commits(&bench, &stores);
    bench_reads(&bench, &stores);
    bench_histories(&bench, folder);
    (void)rmdir(folder);
    return bench_end(&bench);
}
