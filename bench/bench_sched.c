/* The scheduler beside signal libraries, and on shapes of its own.
 *
 *   signals   47 workloads (signals/signals.h), each with the checksum and the
 *             number of runs that it must give, beside a floor in C and, with
 *             --peers, alien-signals under node: in rounds that alternate, in
 *             one run, each in a process of its own, node in one a workload
 *   demand    what sleepers, long chains and memory cost
 *   sizes     a write in deeper and deeper, larger and larger documents
 *   shapes    the design's own workloads (shapes/shapes.h), where counters are
 *             what is checked
 *
 * Times are a node run, as many as the workload has to have; ratios are our
 * time over the peer's. */

#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/child.h"
#include "lib/count.h"
#include "lib/peer.h"
#include "shapes/shapes.h"
#include "signals/signals.h"

enum {
    ROUNDS = 9,
    ROUNDS_FEW = 4,    /* quick, or a workload that takes seconds */
    WORKLOADS_MAX = 64 /* a bound for the lists of ratios */
};

#define ROUND_NS       2e7
#define ROUND_QUICK_NS 2e6

struct comparison {
    struct child floor;
    struct child library;
    double of_floor[WORKLOADS_MAX]; /* our time over theirs */
    double of_library[WORKLOADS_MAX];
    unsigned floor_count;
    unsigned library_count;
    double allocations; /* of one iteration of all that make no lists, */
    unsigned counted;   /* which are so many */
};

/* -- The peers ----------------------------------------------------------- */

static void start_floor(struct comparison *with, const char *program)
{
    char path[512];
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%s", program);
    (void)snprintf(path, sizeof path, "%s/floor_signals", dirname(copy));
    char *floor[] = {path, NULL};
    if (!child_start(&with->floor, floor)) {
        (void)fprintf(stderr, "sched: there is no %s\n", path);
    }
}

/* -- What is counted ----------------------------------------------------- */

static void check_counts(struct bench *bench,
                         const struct workload *workload,
                         double checksum)
{
    if (fabs(checksum - workload->checksum) > 0) {
        bench_wrong(bench,
                    "%s: checksum %.17g instead of %.17g",
                    workload->name,
                    checksum,
                    workload->checksum);
    }
    const uint64_t allowed = workload->computed_allowed > 0
                                 ? workload->computed_allowed
                                 : workload->computed;
    if (computed_runs > allowed || effect_runs > workload->effects) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " and %" PRIu64 " runs instead of %" PRIu64
                    " and %" PRIu64,
                    workload->name,
                    computed_runs,
                    effect_runs,
                    allowed,
                    workload->effects);
    }
}

/* Checks a workload and counts: runs beside expected ones, and
 * allocations of one iteration of updates. */
static void count_workload(struct bench *bench,
                           struct comparison *with,
                           const struct workload *workload,
                           struct bench_row *row)
{
    count_begin();
    const double checksum = workload_begin(workload);
    check_counts(bench, workload, checksum);
    row->counts = (struct bench_counts){
        .has_runs = true,
        .runs = computed_runs + effect_runs,
        .expected = workload->computed + workload->effects,
    };
    if (workload->updates > 0) {
        const uint64_t before = count_now().calls;
        (void)workload->iterate(workload);
        const uint64_t calls = count_now().calls - before;
        with->allocations += workload->lists ? 0 : (double)calls;
        with->counted += workload->lists ? 0 : 1;
        row->counts.has_allocations = true;
        row->counts.allocations = calls;
    }
    workload_end(workload);
    count_end();
}

/* -- What is timed ------------------------------------------------------- */

struct rounds {
    double ours[ROUNDS];
    double of_floor[ROUNDS];
    double of_library[ROUNDS];
};

static bool takes_seconds(const struct workload *workload)
{
    return workload->warm > 2;
}

/* A quick run does without what takes seconds, unless it is asked for. */
static bool is_left_out(const struct bench *bench,
                        const struct workload *workload)
{
    return bench->quick && bench->filter == NULL && takes_seconds(workload);
}

static void time_workload(struct bench *bench,
                          struct comparison *with,
                          const struct workload *workload,
                          struct bench_row *row)
{
    const bool long_one = takes_seconds(workload);
    const unsigned rounds = bench->quick || long_one ? ROUNDS_FEW : ROUNDS;
    const double round_ns = bench->quick ? ROUND_QUICK_NS : ROUND_NS;
    struct rounds all;
    peer_start(bench, &with->library, "alien-signals");
    bool floor = peer_begin(bench,
                            &with->floor,
                            "the floor",
                            workload->name,
                            workload->checksum);
    bool library = peer_begin(bench,
                              &with->library,
                              "alien-signals",
                              workload->name,
                              workload->checksum);
    check_counts(bench, workload, workload_begin(workload));
    for (unsigned i = 0; i < rounds; i++) {
        double ns = 0;
        all.ours[i] = workload_round(workload, round_ns);
        floor = floor && child_ask(&with->floor, &ns, "round %g", round_ns);
        all.of_floor[i] = all.ours[i] / ns;
        library =
            library && child_ask(&with->library, &ns, "round %g", round_ns);
        all.of_library[i] = all.ours[i] / ns;
    }
    workload_end(workload);
    double ignored;
    (void)child_ask(&with->floor, &ignored, "end");
    child_stop(&with->library);

    row->apart = bench_apart(library ? all.of_library
                             : floor ? all.of_floor
                                     : all.ours,
                             rounds);
    row->ours =
        bench_quantile(all.ours, rounds, 0.5) / workload_units(workload);
    row->spread = bench_spread(all.ours, rounds);
    if (floor) {
        const double ratio = bench_quantile(all.of_floor, rounds, 0.5);
        row->other = row->ours / ratio;
        with->of_floor[with->floor_count++] = ratio;
    }
    if (library) {
        const double ratio = bench_quantile(all.of_library, rounds, 0.5);
        row->peer = row->ours / ratio;
        row->spread = bench_spread(all.of_library, rounds);
        with->of_library[with->library_count++] = ratio;
    }
}

static void bench_workloads(struct bench *bench, struct comparison *with)
{
    for (size_t i = 0; workload_at(i) != NULL; i++) {
        const struct workload *workload = workload_at(i);
        if (!bench_wants(bench, workload->name) ||
            is_left_out(bench, workload)) {
            continue;
        }
        (void)fprintf(stderr, "sched: %s\n", workload->name);
        struct bench_row row = {
            .unit = "ns",
            .bar = {BENCH_TIMES, 3},
        };
        (void)snprintf(row.name, sizeof row.name, "%s", workload->name);
        count_workload(bench, with, workload, &row);
        time_workload(bench, with, workload, &row);
        bench_add(bench, &row);
    }
}

static double geometric_mean(const double *ratios, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += log(ratios[i]);
    }
    return exp(sum / count);
}

static double worst(const double *ratios, unsigned count)
{
    double most = 0;
    for (unsigned i = 0; i < count; i++) {
        most = ratios[i] > most ? ratios[i] : most;
    }
    return most;
}

static void bench_mean(struct bench *bench,
                       const char *name,
                       const double *ratios,
                       unsigned count,
                       double bar)
{
    struct bench_row row = {
        .unit = "times",
        .ours = geometric_mean(ratios, count),
        .bar = {BENCH_AT_MOST, bar},
    };
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    (void)snprintf(row.note, sizeof row.note, "of %u workloads", count);
    bench_add(bench, &row);
}

static void bench_means(struct bench *bench, const struct comparison *with)
{
    const bool whole = bench->filter == NULL;
    if (with->counted > 0) {
        bench_figure(bench,
                     "allocations of all updates of numbers",
                     "calls",
                     with->allocations,
                     0,
                     (struct bench_bar){BENCH_AT_MOST, 0});
    }
    if (with->floor_count > 0) {
        bench_mean(bench,
                   "geometric mean over the floor",
                   with->of_floor,
                   with->floor_count,
                   3);
    }
    if (with->library_count > 0) {
        bench_mean(bench,
                   "geometric mean over alien-signals",
                   with->of_library,
                   with->library_count,
                   1);
        bench_figure(bench,
                     "worst over alien-signals",
                     "times",
                     worst(with->of_library, with->library_count),
                     0,
                     (struct bench_bar){BENCH_AT_MOST, 3});
    }
    if (whole && with->floor_count == 0) {
        bench_wrong(bench, "there was no floor to compare with");
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "sched", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "alien";
    bench.other_name = "floor";
    struct comparison with = {0};
    start_floor(&with, argv[0]);
    bench_workloads(&bench, &with);
    bench_means(&bench, &with);
    child_stop(&with.floor);
    bench_demand(&bench);
    bench_sizes(&bench);
    bench_shapes(&bench);
    bench_matching(&bench);
    return bench_end(&bench);
}
