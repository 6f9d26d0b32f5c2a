/* I4, the part of it that the scheduler has to keep for events: before
 * something is read on demand, every invalid node upstream of it has been run,
 * live or not, and nothing else has. */

#include "lib/sched_draw.h"
#include "lib/test.h"

struct upstream {
    bool of[MODEL_SLOTS];
};

/* All from which the marked ones read. */
static void close_upwards(const struct world *world, struct upstream *marked)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < world->count; i++) {
            for (size_t j = 0; marked->of[i] && j < world->count; j++) {
                if (i != j && !marked->of[j] && world->slots[j].node != NULL &&
                    world_reads_from(world, i, j)) {
                    marked->of[j] = true;
                    more = true;
                }
            }
        }
    }
}

static void add_computations(struct random *random, struct world *world)
{
    static const enum model_body bodies[] = {BODY_NUMBER,
                                             BODY_NESTED,
                                             BODY_TWO};
    for (; world->count < 16; world->count++) {
        struct world_slot *slot = &world->slots[world->count];
        model_random_program(random,
                             (uint16_t)world->count,
                             bodies[random_below(random, COUNT_OF(bodies))],
                             &slot->program);
        /* What failed looks at what it had read before as well, and runs
         * again if that changes later. */
        slot->program.fails_at = MODEL_NEVER_FAILS;
        slot->world = world;
        world_register(world, world->count, 0, 0);
    }
}

PROPERTY(i4_what_is_pulled_is_up_to_date_and_so_is_all_behind_it, 300)
{
    struct world_tally tally = {0};
    struct world world;
    world_open(&world, &tally);
    add_computations(random, &world);
    for (unsigned i = 0; i < 12; i++) {
        draw_inputs(random, &world);
        const size_t wanted = random_below(random, world.count);
        const struct model_place place = {
            .document = (uint16_t)(MODEL_FIRST_OUTPUT + 2 * wanted),
            .path = PATH_PAYLOAD,
        };
        const uint64_t runs = tally.runs;
        for (size_t j = 0; j < world.count; j++) {
            world.slots[j].step_runs = 0;
        }
        struct value value;
        (void)scheduler_pull(world.sched,
                             world_place(&world, &place),
                             world.now,
                             &value);
        value_unref(value);
        struct upstream needed = {0};
        needed.of[wanted] = true;
        close_upwards(&world, &needed);
        uint64_t once = 0;
        for (size_t j = 0; j < world.count; j++) {
            EXPECT(!needed.of[j] || !node_is_stale(world.slots[j].node));
            EXPECT(!needed.of[j] || world_is_consistent(&world, j));
            EXPECT(needed.of[j] || world.slots[j].step_runs == 0);
            once += world.slots[j].step_runs > 0;
        }
        EXPECT_EQ(tally.runs - runs, once);
        EXPECT(world_step(&world)); /* nobody looks any more */
    }
    EXPECT_EQ(world.sched->counters.not_settling, 0);
    world_close(&world);
}
