/* The scheduler beside other signal libraries: twelve of the workloads of
 * bench_sched, one process of node a library and workload, in rounds that
 * alternate with ours. The bars are those over alien-signals (bench_sched);
 * here nothing has one.
 *
 * A library that cannot do a workload has no row for it. */

#include <math.h>
#include <stdio.h>

#include "lib/bench.h"
#include "lib/peer.h"
#include "signals/signals.h"

enum {
    ROUNDS = 5,
    QUICK = 1 /* workloads of a quick run */
};

#define ROUND_NS       2e7
#define ROUND_QUICK_NS 2e6

static const char *const libraries[] = {
    "preact",
    "solid",
    "vue",
    "mobx",
    "s-js",
    "reactively",
};

static const char *const workloads[] = {
    "deep1000",
    "broad1000",
    "update-1to1",
    "diamond1000",
    "mux100",
    "unstable",
    "prop-100x10",
    "cellx1000",
    "create-1to1",
    "update-1000to1",
    "batch1000",
    "equal-write",
};

/* Our time over theirs; 0 if they cannot do it. */
static double measure(struct bench *bench,
                      const char *library,
                      const struct workload *workload)
{
    struct child child;
    const double round_ns = bench->quick ? ROUND_QUICK_NS : ROUND_NS;
    double ours[ROUNDS];
    double ratios[ROUNDS];
    peer_start(bench, &child, library);
    bool can =
        peer_begin(bench, &child, library, workload->name, workload->checksum);
    if (!can) {
        child_stop(&child);
        return 0;
    }
    (void)workload_begin(workload);
    for (unsigned i = 0; i < ROUNDS; i++) {
        double ns = 0;
        ours[i] = workload_round(workload, round_ns);
        can = can && child_ask(&child, &ns, "round %g", round_ns);
        ratios[i] = can ? ours[i] / ns : 0;
    }
    workload_end(workload);
    child_stop(&child);
    if (!can) {
        return 0;
    }
    struct bench_row row = {
        .unit = "ns",
        .bar = {BENCH_AS_TIMES, 0},
        .apart = bench_apart(ratios, ROUNDS),
        .spread = bench_spread(ratios, ROUNDS),
    };
    const double ratio = bench_quantile(ratios, ROUNDS, 0.5);
    row.ours = bench_quantile(ours, ROUNDS, 0.5) / workload_units(workload);
    row.peer = row.ours / ratio;
    (void)
        snprintf(row.name, sizeof row.name, "%s, %s", library, workload->name);
    bench_add(bench, &row);
    return ratio;
}

static void bench_library(struct bench *bench, const char *library)
{
    const size_t count = bench->quick ? QUICK : COUNT_OF(workloads);
    double sum = 0;
    unsigned done = 0;
    for (size_t i = 0; i < count && bench->peers; i++) {
        const struct workload *workload = workload_find(workloads[i]);
        char name[64];
        (void)snprintf(name, sizeof name, "%s, %s", library, workloads[i]);
        if (!bench_wants(bench, name)) {
            continue;
        }
        (void)fprintf(stderr, "libraries: %s\n", name);
        const double ratio = measure(bench, library, workload);
        sum += ratio > 0 ? log(ratio) : 0;
        done += ratio > 0;
    }
    if (done > 1) {
        struct bench_row row = {
            .unit = "times",
            .ours = exp(sum / done),
        };
        (void)snprintf(row.name,
                       sizeof row.name,
                       "geometric mean over %s",
                       library);
        (void)snprintf(row.note, sizeof row.note, "of %u workloads", done);
        bench_add(bench, &row);
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "libraries", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "library";
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        bench_library(&bench, libraries[i]);
    }
    return bench_end(&bench);
}
