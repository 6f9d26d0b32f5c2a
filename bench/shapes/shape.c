/* One shape: built, checked by its counters, then measured. */

#include "shapes/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS = 4 /* in which the counters are checked */
};

struct stage {
    struct kit kit;
    const struct shape *shape;
};

static void act_often(void *ctx, uint64_t times)
{
    struct stage *stage = ctx;
    for (uint64_t i = 0; i < times; i++) {
        stage->shape->act(&stage->kit, stage->shape->size);
    }
}

static void check_counters(struct bench *bench,
                           struct stage *stage,
                           const char *name)
{
    const struct sched_counters before = stage->kit.sched->counters;
    act_often(stage, ROUNDS);
    const struct sched_counters after = stage->kit.sched->counters;
    const uint64_t runs = after.runs - before.runs;
    const uint64_t sweeps = after.sweeps - before.sweeps;
    if (runs != ROUNDS * stage->shape->runs ||
        sweeps > ROUNDS * stage->shape->sweeps ||
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
    struct stage *stage = malloc(sizeof *stage);
    CHECK(stage != NULL);
    stage->shape = shape;
    kit_open(&stage->kit, store);
    shape->build(&stage->kit, shape->size);
    kit_idle(&stage->kit);
    act_often(stage, 2);
    check_counters(bench, stage, name);
    const double bar = store ? shape->other_ms * 1e6 / 100 : 0;
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = act_often,
                        .ctx = stage,
                        .bar = {bar > 0 ? BENCH_AT_MOST : BENCH_NO_BAR, bar},
                    });
    kit_close(&stage->kit);
    free(stage);
}
