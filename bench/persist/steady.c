/* What it costs to remember every run, as a runtime sees it: nodes run because
 * of an edit, their commits go to a file in groups, and are answered. On one
 * side the store is also told what each run saw. Both get the same edits, in
 * turn. */

#include <stdio.h>
#include <sys/stat.h>

#include "persist/rows.h"
#include "persist/worker.h"

enum {
    NODES_MAX = 1000,
    SOURCES = 10,
};

struct half {
    struct store store;
    struct worker worker;
    struct place *sources[SOURCES];
};

struct steady {
    struct half with;
    struct half without;
    size_t nodes;
    uint64_t edits;
};

/* Each node reads two of the sources and writes a document of its own, and
 * somebody looks at that. */
static void half_open(struct half *half,
                      const struct steady *steady,
                      const char *folder,
                      enum durability durability,
                      bool known)
{
    store_open(&half->store, folder, known ? "a" : "b", durability);
    struct worker *worker = &half->worker;
    worker_open(worker, &half->store, "bench", known, 2 * steady->nodes);
    for (uint64_t i = 0; i < SOURCES; i++) {
        half->sources[i] = worker_place(worker, 's', i);
        worker_put(worker, half->sources[i], i);
    }
    for (uint64_t i = 0; i < steady->nodes; i++) {
        struct digest action = worker_action(i);
        worker_add(worker,
                   place_ref(half->sources[i % SOURCES]),
                   place_ref(half->sources[(i + 1) % SOURCES]),
                   worker_place(worker, 'n', i),
                   &action);
    }
    worker->known = false; /* who only looks has nothing to do with it */
    for (uint64_t i = 0; i < steady->nodes; i++) {
        const struct digest nobody = {0};
        worker_add(worker, worker_place(worker, 'n', i), NULL, NULL, &nobody);
    }
    worker_settle(worker);
}

static void half_close(struct half *half)
{
    for (uint64_t i = 0; i < SOURCES; i++) {
        place_unref(half->sources[i]);
    }
    worker_close(&half->worker);
    store_close(&half->store);
    store_remove(&half->store);
}

/* One edit of all sources, and all nodes run. */
static void half_run(struct half *half, uint64_t number)
{
    for (uint64_t i = 0; i < SOURCES; i++) {
        worker_put(&half->worker, half->sources[i], number);
    }
    worker_work(&half->worker);
}

static void run_with(void *ctx, uint64_t times)
{
    struct steady *steady = ctx;
    for (uint64_t i = 0; i < times; i++) {
        half_run(&steady->with, ++steady->edits);
    }
}

static void run_without(void *ctx, uint64_t times)
{
    struct steady *steady = ctx;
    for (uint64_t i = 0; i < times; i++) {
        half_run(&steady->without, ++steady->edits);
    }
}

/* Every run was one commit, and all have landed. */
static void check_half(struct bench *bench, struct half *half)
{
    worker_settle(&half->worker);
    const struct sched_counters *counters = &half->worker.sched->counters;
    if (space_outstanding(half->worker.space) != 0 ||
        counters->failed_runs != 0 ||
        half->worker.replica.counters.commits * 2 < counters->runs) {
        bench_wrong(bench, "not every run has landed");
    }
}

/* A WAL that was moved into the file is written from its beginning again, and
 * does not grow until it is as long as before: so it must be empty. */
static void empty_wal(struct half *half)
{
    struct err_detail detail = {0};
    if (database_checkpoint(&half->store.engine.database, true, &detail) !=
            ERR_OK ||
        sqlite3_exec(half->store.engine.database.db,
                     "PRAGMA wal_checkpoint(TRUNCATE)",
                     NULL,
                     NULL,
                     NULL) != SQLITE_OK) {
        stop("the WAL cannot be emptied");
    }
}

static double wal_growth(const struct steady *steady, struct half *half)
{
    enum {
        TIMES = 20
    };
    char path[320];
    struct stat before = {0};
    struct stat after = {0};
    (void)snprintf(path, sizeof path, "%s-wal", half->store.path);
    half->store.engine.database.wal_bytes_max = UINT64_MAX;
    empty_wal(half);
    if (stat(path, &before) != 0) {
        stop("there is no WAL");
    }
    for (uint64_t i = 0; i < TIMES; i++) {
        half_run(half, 1000000 + i);
    }
    if (stat(path, &after) != 0) {
        stop("there is no WAL");
    }
    return (double)(after.st_size - before.st_size) /
           ((double)TIMES * (double)steady->nodes);
}

/* Two new files with the same history: where the pages of revisions happen to
 * split depends on how much there is, and is many times what a run leaves. */
static void bench_bytes(struct bench *bench,
                        const char *folder,
                        const char *name,
                        size_t nodes)
{
    static struct steady steady;
    steady = (struct steady){.nodes = nodes};
    half_open(&steady.with, &steady, folder, DURABILITY_NORMAL, true);
    half_open(&steady.without, &steady, folder, DURABILITY_NORMAL, false);
    const double more = wal_growth(&steady, &steady.with) -
                        wal_growth(&steady, &steady.without);
    bench_figure(bench,
                 name,
                 "bytes",
                 more,
                 0,
                 (struct bench_bar){BENCH_AT_MOST, 120});
    half_close(&steady.with);
    half_close(&steady.without);
}

void bench_steady(struct bench *bench, const char *folder)
{
    static const struct {
        const char *name;
        const char *bytes;
        enum durability durability;
        size_t nodes;
        bool wall;
    } rows[] = {
        {"scheduler, runs in groups of 1000, normal",
         "scheduler, additional WAL bytes per run, 1000",
         DURABILITY_NORMAL,
         1000,
         false},
        {"scheduler, runs in groups of 100, normal",
         "scheduler, additional WAL bytes per run, 100",
         DURABILITY_NORMAL,
         100,
         false},
        {"scheduler, runs in groups of 1000, full",
         NULL,
         DURABILITY_FULL,
         1000,
         true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        static struct steady steady;
        if (!bench_wants(bench, rows[i].name)) {
            continue;
        }
        steady = (struct steady){.nodes = rows[i].nodes};
        half_open(&steady.with, &steady, folder, rows[i].durability, true);
        half_open(&steady.without, &steady, folder, rows[i].durability, false);
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = rows[i].name,
                            .ours = run_with,
                            .peer = run_without,
                            .ctx = &steady,
                            .units = rows[i].nodes,
                            .times = NODES_MAX * 5 / rows[i].nodes,
                            .wall = rows[i].wall,
                            /* at least 0.85 of the throughput */
                            .bar = {BENCH_TIMES, 1 / 0.85},
                        });
        check_half(bench, &steady.with);
        check_half(bench, &steady.without);
        half_close(&steady.with);
        half_close(&steady.without);
        if (rows[i].bytes != NULL) {
            bench_bytes(bench, folder, rows[i].bytes, rows[i].nodes);
        }
    }
}
