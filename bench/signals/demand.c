/* What matters where only what is looked at runs: sleepers, large batches,
 * and writes that change nothing. */

#include "base/check.h"
#include "signals/bodies.h"

enum {
    SLEEPERS = 10000,
    BATCH = 1000
};

static struct signal *sources[BATCH];
static struct signal *sum_of_sources;

/* Computeds that somebody looked at once. */
static void build_dormant(const struct workload *workload)
{
    (void)workload;
    struct signal *source = signal_new(0);
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        (void)signal_peek(computed_new(add_number, i, 1, &source));
    }
    struct signal *awake = computed_new(times_number, 2, 1, &source);
    effect_new(look, 0, 1, &awake);
    head_and_out(source, awake);
    graph_settle();
}

static void build_batch(const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 0; i < BATCH; i++) {
        sources[i] = signal_new(0);
    }
    sum_of_sources = computed_new(sum_all, 0, BATCH, sources);
    effect_new(look, 0, 1, &sum_of_sources);
    graph_settle();
}

static double iterate_batch(const struct workload *workload)
{
    double sum = 0;
    for (uint32_t i = 1; i <= workload->updates; i++) {
        batch_begin();
        for (uint32_t j = 0; j < BATCH; j++) {
            signal_set(sources[j], i + j);
        }
        batch_end();
        sum += signal_peek(sum_of_sources);
    }
    return sum;
}

static void build_equal(const struct workload *workload)
{
    (void)workload;
    sources[0] = signal_new(7);
    sum_of_sources = computed_new(times_number, 2, 1, sources);
    effect_new(look, 0, 1, &sum_of_sources);
    graph_settle();
}

static double iterate_equal(const struct workload *workload)
{
    double sum = 0;
    for (uint32_t i = 0; i < workload->updates; i++) {
        batch_begin();
        signal_set(sources[0], 7);
        batch_end();
        sum += signal_peek(sum_of_sources);
    }
    return sum;
}

static const struct workload demand[] = {
    {"dormant10k",
     .build = build_dormant,
     .iterate = iterate_head,
     .updates = 101,
     .warm = 2,
     .checksum = 9902,
     .computed = 101,
     .effects = 101},
    {"batch1000",
     .build = build_batch,
     .iterate = iterate_batch,
     .updates = 20,
     .warm = 2,
     .checksum = 10200000,
     .computed = 20,
     .effects = 20},
    {"equal-write",
     .build = build_equal,
     .iterate = iterate_equal,
     .updates = 10000,
     .warm = 2,
     .checksum = 140000},
};

const struct workload_family demand_family = {demand, COUNT_OF(demand)};
