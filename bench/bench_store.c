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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable/commits.h"
#include "durable/space.h"
#include "lib/bench.h"
#include "lib/raw_store.h"
#include "store/engine.h"
#include "value/json.h"

enum {
    GROUP_MAX = 1000
};

/* Both sides, on files of their own in one temporary folder. */
struct stores {
    const char *folder;
    bool durable;
    unsigned group;
    char path[2][256];
    struct engine engine;
    uint64_t local_seq;
    struct raw_store floor;
};

static void stop(const char *why)
{
    (void)fprintf(stderr, "bench_store: %s\n", why);
    exit(1);
}

/* -- Ours ---------------------------------------------------------------- */

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
            commit_make_set(&commits[j], number, number % RAW_DOCUMENTS);
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

static void run_floor(void *ctx, uint64_t times)
{
    struct stores *stores = ctx;
    for (uint64_t i = 0; i < times; i++) {
        raw_store_group(&stores->floor, stores->group);
    }
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
    raw_store_open(&stores->floor,
                   &stores->engine,
                   durable ? stores->path[1] : NULL);
}

static void close_both(struct stores *stores)
{
    raw_store_close(&stores->floor);
    engine_close(&stores->engine);
    raw_store_remove(stores->path[0]);
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
    sqlite3_stmt *stmt = raw_store_prepare(
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
                   "%s %s against %s (%s)",
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
        commit_make_set(&commits[0], ++history->local_seq, ++history->document);
        land(history, commits, 1, 1);
    }
    const struct history_cost before = spent(history);
    for (size_t i = 0; i < count; i++) {
        if (history->patches) {
            commit_make_patch(&commits[i],
                              ++history->local_seq,
                              history->document,
                              &history->engine.paths);
        } else {
            const uint64_t number = ++history->local_seq;
            commit_make_set(&commits[i], number, number % SPREAD);
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
    commit_make_set(&first, ++history->local_seq, history->document);
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
            raw_store_remove(all[i].path);
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
    bench.peer_name = "SQLite";
    char folder[] = "build/bench-store-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        stop("cannot make a folder below build");
    }
    struct stores stores = {.folder = folder};
    bench_commits(&bench, &stores);
    bench_reads(&bench, &stores);
    bench_histories(&bench, folder);
    bench_space(&bench, folder);
    (void)rmdir(folder);
    return bench_end(&bench);
}
