/* Sleepers, long chains, and memory. */

#include <inttypes.h>
#include <stdio.h>

#include "lib/count.h"
#include "shapes/shapes.h"
#include "signals/bodies.h"

/* -- Sleepers ------------------------------------------------------------ */

static void write_often(void *ctx, uint64_t times)
{
    struct signal *source = ctx;
    static double number;
    for (uint64_t i = 0; i < times; i++) {
        batch_begin();
        signal_set(source, ++number);
        batch_end();
    }
}

static void bench_sleepers(struct bench *bench, uint32_t sleepers, double bar)
{
    char name[64];
    (void)snprintf(name, sizeof name, "write, %u dormant readers", sleepers);
    if (!bench_wants(bench, name)) {
        return;
    }
    graph_open();
    struct signal *source = signal_new(0);
    for (uint32_t i = 0; i < sleepers; i++) {
        (void)signal_peek(computed_new(add_number, i, 1, &source));
    }
    graph_settle();
    write_often(source, 1); /* they notice, and leave */
    const uint64_t visits = ours_sched()->counters.visits;
    write_often(source, 10);
    if (ours_sched()->counters.visits - visits > 10) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " visits for 10 writes",
                    name,
                    (ours_sched()->counters.visits - visits));
    }
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = write_often,
                        .ctx = source,
                        .bar = {bar > 0 ? BENCH_AT_MOST : BENCH_NO_BAR, bar},
                    });
    graph_close();
}

/* -- Chains -------------------------------------------------------------- */

/* Nanoseconds a node for an update of a whole chain. */
static void bench_chain(struct bench *bench, uint32_t length)
{
    char name[64];
    (void)snprintf(name, sizeof name, "update of a chain of %u", length);
    if (!bench_wants(bench, name)) {
        return;
    }
    graph_open();
    struct signal *source = signal_new(0);
    struct signal *last = source;
    for (uint32_t i = 0; i < length; i++) {
        last = computed_new(add_number, 1, 1, &last);
    }
    effect_new(look, 0, 1, &last);
    graph_settle();
    const struct sched_counters before = ours_sched()->counters;
    computed_runs = 0;
    write_often(source, 1);
    const struct sched_counters after = ours_sched()->counters;
    if (computed_runs != length || after.sweeps - before.sweeps != 1 ||
        after.nested_runs != before.nested_runs) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " runs, %" PRIu64 " sweeps",
                    name,
                    computed_runs,
                    (after.sweeps - before.sweeps));
    }
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = write_often,
                        .ctx = source,
                        .units = length + 1,
                    });
    graph_close();
}

/* -- The first time ------------------------------------------------------ */

static void build_and_drop(void *ctx, uint64_t times)
{
    const struct workload *workload = ctx;
    for (uint64_t i = 0; i < times; i++) {
        graph_open();
        workload->build(workload);
        graph_close();
    }
}

/* A lattice of layers of four, with an effect on each node, from nothing to
 * settled: how it grows says whether what is clean is looked at again and
 * again. */
static void bench_first_time(struct bench *bench, uint32_t layers)
{
    char name[64];
    (void)snprintf(name, sizeof name, "first pass over %u layers", layers);
    const struct workload *cellx = workload_find("cellx1000");
    CHECK(cellx != NULL);
    struct workload lattice = *cellx;
    lattice.size[0] = layers;
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = build_and_drop,
                        .ctx = &lattice,
                        .units = (uint64_t)layers * 8,
                    });
}

/* -- Memory -------------------------------------------------------------- */

enum {
    MEMBERS = 10000
};

static struct signal *made[MEMBERS];

static void bench_bytes(struct bench *bench)
{
    count_begin();
    graph_open();
    const uint64_t empty = count_now().usable;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        made[i] = signal_new(i);
        graph_settle(); /* one at a time: no large transaction is kept */
    }
    const uint64_t documents = count_now().usable;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        struct signal *next = computed_new(add_number, 1, 1, &made[i]);
        effect_new(look, 0, 1, &next);
    }
    graph_settle();
    const uint64_t nodes = count_now().usable;
    graph_close();
    count_end();
    bench_figure(bench,
                 "memory: source, computation, effect, two edges",
                 "bytes",
                 (double)(nodes - empty) / MEMBERS,
                 0,
                 (struct bench_bar){BENCH_AT_MOST, 1200});
    bench_figure(bench,
                 "memory: source alone",
                 "bytes",
                 (double)(documents - empty) / MEMBERS,
                 0,
                 (struct bench_bar){BENCH_NO_BAR, 0});
}

/* A computation that ran once, reads one document and writes one. */
static void bench_dormant_bytes(struct bench *bench)
{
    count_begin();
    graph_open();
    struct signal *source = signal_new(0);
    (void)signal_peek(computed_new(add_number, 1, 1, &source));
    const uint64_t before = count_now().usable;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        (void)signal_peek(computed_new(add_number, 1, 1, &source));
    }
    const uint64_t after = count_now().usable;
    graph_close();
    count_end();
    bench_figure(bench,
                 "memory: dormant computation and its output",
                 "bytes",
                 (double)(after - before) / MEMBERS,
                 0,
                 (struct bench_bar){BENCH_NO_BAR, 0});
}

void bench_demand(struct bench *bench)
{
    bench_sleepers(bench, 0, 0);
    bench_sleepers(bench, 100, 0);
    bench_sleepers(bench, 1000, 0);
    bench_sleepers(bench, 10000, 200);
    bench_chain(bench, 10);
    bench_chain(bench, 100);
    bench_chain(bench, 1000);
    bench_chain(bench, 10000);
    bench_chain(bench, 100000);
    bench_first_time(bench, 125);
    bench_first_time(bench, 250);
    bench_first_time(bench, 500);
    if (bench_wants(bench, "memory")) {
        bench_bytes(bench);
        bench_dormant_bytes(bench);
    }
}
