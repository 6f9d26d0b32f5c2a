/* How fast a piece is there again. Its nodes are chains: each reads what the
 * one before it has written; at the end of a chain somebody looks. They have
 * run once, in another process. Then, from a warm file: the pages are asked
 * for, the nodes are registered with places that are found by name, and a step
 * finds nothing to do. */

#include <stdio.h>

#include "base/mem.h"
#include "lib/count.h"
#include "persist/rows.h"
#include "persist/worker.h"

enum {
    NODES = 100 * 1000,
    CHAIN = 100, /* links, and one who looks at the last */
};

struct resuming {
    struct bench *bench;
    struct store store;
    struct worker worker;
    struct digest *actions;
    size_t nodes;
    uint64_t lives;
    uint64_t dirty; /* expected */
    bool loads;     /* the documents come, and what is dirty runs */
};

static void add_nodes(struct resuming *resuming)
{
    struct worker *worker = &resuming->worker;
    for (uint64_t i = 0; i < resuming->nodes; i++) {
        const bool first = i % CHAIN == 0;
        const bool looks = i % CHAIN == CHAIN - 1;
        worker_add(worker,
                   first ? worker_place(worker, 's', 0)
                         : worker_place(worker, 'n', i - 1),
                   NULL,
                   looks ? NULL : worker_place(worker, 'n', i),
                   &resuming->actions[i]);
    }
}

static void open_desk(struct resuming *resuming)
{
    char session[24];
    (void)snprintf(session,
                   sizeof session,
                   "life %llu",
                   (unsigned long long)++resuming->lives);
    store_open(&resuming->store, NULL, NULL, DURABILITY_NORMAL);
    worker_open(&resuming->worker,
                &resuming->store,
                session,
                true,
                resuming->nodes);
}

static void close_desk(struct resuming *resuming)
{
    worker_close(&resuming->worker);
    store_close(&resuming->store);
}

/* The first life. */
static void fill(struct resuming *resuming, const char *folder)
{
    (void)snprintf(resuming->store.path,
                   sizeof resuming->store.path,
                   "%s/resume",
                   folder);
    open_desk(resuming);
    struct place *source = worker_place(&resuming->worker, 's', 0);
    worker_put(&resuming->worker, source, 1);
    place_unref(source);
    add_nodes(resuming);
    worker_settle(&resuming->worker);
    close_desk(resuming);
}

static struct resume_counts take_up(struct resuming *resuming)
{
    struct worker *worker = &resuming->worker;
    const struct resume_query query = {
        .branch = value_text_new(""),
        .piece = worker->piece,
    };
    struct resume_page page;
    struct err_detail detail = {0};
    if (engine_resume(&resuming->store.engine, &query, &page, &detail) !=
        ERR_OK) {
        stop(detail.text);
    }
    const struct resume_page *pages[] = {&page};
    const struct resume_options options = {
        .space = worker->space,
        .piece = worker->piece,
        .pages = pages,
        .page_count = 1,
    };
    if (persistence_resume_begin(worker->sched, &options, &detail) != ERR_OK) {
        stop(detail.text);
    }
    add_nodes(resuming);
    const struct resume_counts counts = persistence_resume_end(worker->sched);
    resume_page_release(&page);
    if (resuming->loads) {
        worker_settle(worker);
    } else if (resuming->dirty == 0) {
        sched_step(worker->sched, ++worker->now);
    }
    return counts;
}

static void check_life(struct resuming *resuming,
                       const struct resume_counts *counts)
{
    if (counts->restored != resuming->nodes - resuming->dirty ||
        counts->dirty != resuming->dirty || counts->unknown != 0) {
        bench_wrong(resuming->bench,
                    "%llu clean, %llu dirty and %llu unknown nodes",
                    (unsigned long long)counts->restored,
                    (unsigned long long)counts->dirty,
                    (unsigned long long)counts->unknown);
    }
}

/* Somebody else writes what the first of them all read. */
static void edit(struct resuming *resuming)
{
    open_desk(resuming);
    struct place *source = worker_place(&resuming->worker, 'n', 0);
    worker_put(&resuming->worker, source, 1000 + resuming->lives);
    worker_settle(&resuming->worker);
    place_unref(source);
    close_desk(resuming);
}

static void resume(void *ctx, uint64_t times)
{
    struct resuming *resuming = ctx;
    for (uint64_t i = 0; i < times; i++) {
        bench_pause();
        if (resuming->loads) {
            edit(resuming); /* what was dirty has run in the life before */
        }
        open_desk(resuming);
        bench_resume();
        const struct resume_counts counts = take_up(resuming);
        bench_pause();
        check_life(resuming, &counts);
        close_desk(resuming);
        bench_resume();
    }
}

/* What a resumed piece takes, and what it took meanwhile. */
static void measure_memory(struct resuming *resuming)
{
    struct bench *bench = resuming->bench;
    const struct bench_bar none = {BENCH_NO_BAR, 0};
    const double nodes = (double)resuming->nodes;
    count_begin();
    open_desk(resuming);
    const struct count before = count_now();
    (void)take_up(resuming);
    const struct count after = count_now();
    bench_figure(bench,
                 "resumed piece, bytes a node",
                 "bytes",
                 (double)(after.usable - before.usable) / nodes,
                 0,
                 none);
    bench_figure(bench,
                 "resumed piece, bytes a node at its height",
                 "bytes",
                 (double)(after.peak - before.usable) / nodes,
                 0,
                 none);
    close_desk(resuming);
    count_end();
}

/* The sizes of the design's own workloads B30 and B31. */
static bool is_known_shape(const struct resuming *resuming)
{
    return resuming->nodes <= 1000;
}

/* With one node that has to run; the run is not part of it. */
static void bench_dirty(struct resuming *resuming, struct bench_case *work)
{
    char name[64];
    (void)snprintf(name,
                   sizeof name,
                   "%sresume into the scheduler, 1 of %zu dirty, per node",
                   is_known_shape(resuming) ? "B31 " : "",
                   resuming->nodes);
    edit(resuming);
    resuming->dirty = 1;
    work->name = name;
    (void)bench_run(resuming->bench, work);
}

/* As many nodes a round, whatever their pieces are. */
static size_t times_of(const struct resuming *resuming)
{
    const size_t nodes = resuming->bench->quick ? NODES / 10 : NODES;
    return nodes > resuming->nodes ? nodes / resuming->nodes : 1;
}

static void bench_piece(struct resuming *resuming, const char *folder)
{
    char name[64];
    (void)snprintf(name,
                   sizeof name,
                   "%sresume into the scheduler, %zu clean, per node",
                   is_known_shape(resuming) ? "B30 " : "",
                   resuming->nodes);
    if (!bench_wants(resuming->bench, name)) {
        return;
    }
    const size_t size =
        mem_array_size(resuming->nodes, sizeof *resuming->actions);
    resuming->actions = mem_alloc(size);
    for (uint64_t i = 0; i < resuming->nodes; i++) {
        resuming->actions[i] = worker_action(i);
    }
    resuming->lives = 0;
    resuming->dirty = 0;
    fill(resuming, folder);
    struct bench_case work = {
        .name = name,
        .ours = resume,
        .ctx = resuming,
        .units = resuming->nodes,
        .times = times_of(resuming),
    };
    if (resuming->nodes >= 1000) { /* 500,000 a second */
        work.bar = (struct bench_bar){BENCH_AT_MOST, 2000};
    }
    (void)bench_run(resuming->bench, &work);
    if (resuming->nodes == NODES) {
        measure_memory(resuming);
    }
    if (resuming->nodes == NODES || is_known_shape(resuming)) {
        bench_dirty(resuming, &work);
    }
    if (resuming->nodes == NODES) {
        work.name = "the same with all documents and the run";
        work.bar = (struct bench_bar){BENCH_NO_BAR, 0};
        resuming->loads = true;
        (void)bench_run(resuming->bench, &work);
    }
    store_remove(&resuming->store);
    mem_free(resuming->actions, size);
}

/* A quick run does without the largest one. */
void bench_resuming(struct bench *bench, const char *folder)
{
    static const size_t sizes[] = {NODES, 10 * 1000, 1000, 100};
    for (size_t i = bench->quick ? 1 : 0; i < COUNT_OF(sizes); i++) {
        static struct resuming resuming;
        resuming = (struct resuming){.bench = bench, .nodes = sizes[i]};
        bench_piece(&resuming, folder);
    }
}
