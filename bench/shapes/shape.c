/* One shape: built, checked by its counters, then measured. */

#include "shapes/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS = 4 /* in which the counters are checked */
};

struct fixture {
    struct kit kit;
    const struct shape *shape;
};

static void act_often(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    for (uint64_t i = 0; i < times; i++) {
        fixture->shape->act(&fixture->kit, fixture->shape->size);
    }
}

static void check_counters(struct bench *bench,
                           struct fixture *fixture,
                           const char *name)
{
    const struct sched_counters before = fixture->kit.sched->counters;
    act_often(fixture, ROUNDS);
    const struct sched_counters after = fixture->kit.sched->counters;
    const uint64_t runs = after.runs - before.runs;
    const uint64_t sweeps = after.sweeps - before.sweeps;
    if (runs != ROUNDS * fixture->shape->runs ||
        sweeps > ROUNDS * fixture->shape->sweeps ||
        after.failed_runs != before.failed_runs) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " runs and %" PRIu64 " sweeps in %d rounds",
                    name,
                    runs,
                    sweeps,
                    ROUNDS);
    }
}

void bench_shape(struct bench *bench, const struct shape *shape, bool store)
{
    char name[64];
    (void)snprintf(name,
                   sizeof name,
                   "%s%s",
                   shape->name,
                   store ? ", each run to a store" : "");
    if (!bench_wants(bench, name)) {
        return;
    }
    struct fixture *fixture = malloc(sizeof *fixture);
    CHECK(fixture != NULL);
    fixture->shape = shape;
    kit_open(&fixture->kit, store);
    shape->build(&fixture->kit, shape->size);
    kit_idle(&fixture->kit);
    act_often(fixture, 2);
    check_counters(bench, fixture, name);
    const double bar = store ? shape->other_ms * 1e6 / 100 : 0;
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = act_often,
                        .ctx = fixture,
                        .bar = {bar > 0 ? BENCH_AT_MOST : BENCH_NO_BAR, bar},
                    });
    kit_close(&fixture->kit);
    free(fixture);
}
