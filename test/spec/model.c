/* The scheduler against a naive model, over random graphs (lib/sched_world.h
 * says what is compared). */

#include <stdio.h>

#include "lib/sched_draw.h"
#include "lib/test.h"

static struct world_tally tally;
static uint64_t worlds;

enum {
    HAPPENINGS = 12,
    WORLDS = 5000,
};

PROPERTY(at_rest_everything_is_as_if_it_were_computed_anew, WORLDS)
{
    struct world world;
    world_open(&world, &tally);
    worlds++;
    for (unsigned i = 0; i < 4; i++) {
        draw_inputs(random, &world);
    }
    draw_graph(random, &world);
    draw_population(random, &world);
    bool good = model_world_step(&world);
    for (unsigned i = 0; i < HAPPENINGS && good; i++) {
        draw_happening(random, &world);
        good = EXPECT(sched_check(world.sched));
        if (good && !random_one_in(random, 5)) {
            good = model_world_step(&world);
        }
    }
    if (good) {
        (void)world_settle(&world);
    }
    world_close(&world);
}

/* Runs last: the tests of a file run in their order. */
TEST(all_of_it_happened_often_enough)
{
    static const struct {
        const char *what;
        const uint64_t *count;
        uint64_t floor; /* for each 1000 worlds */
    } rows[] = {
        {"runs", &tally.runs, 12000},
        {"nested", &tally.nested, 3500},
        {"failed", &tally.failed, 140},
        {"checks", &tally.checks, 5500},
        {"computed anew", &tally.scratches, 4000},
        {"children born", &tally.born, 250},
        {"children buried", &tally.buried, 70},
        {"asleep and out of date", &tally.dormant_dues, 500},
        {"ran once", &tally.once, 7000},
        {"with somebody gated", &tally.gated, 1500},
        {"pulls", &tally.pulls, 300},
        {"promoted", &tally.promoted, 40},
        {"runs of materializers", &tally.materialized, 450},
        {"runs in cycles", &tally.in_cycles, 1700},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)printf("#   %-26s %" PRIu64 "\n", rows[i].what, *rows[i].count);
        if (worlds >= 1000 &&
            *rows[i].count < rows[i].floor * (worlds / 1000)) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s: %" PRIu64 " of %" PRIu64,
                            rows[i].what,
                            *rows[i].count,
                            rows[i].floor * (worlds / 1000));
        }
    }
}
