/* I2, dormancy: a node that is never live never runs, and registering,
 * invalidating and removing it reads nothing. */

#include "lib/sched_draw.h"
#include "lib/test.h"

static void must_not_run(struct world_slot *slot, const struct run *run)
{
    (void)slot;
    (void)run;
    EXPECT(false);
}

/* Effects and materializers become plain computations: there is no demand. */
static void take_demand_away(struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        struct model_program *program = &world->slots[i].program;
        if (program->body == BODY_EFFECT ||
            program->body == BODY_MATERIALIZER) {
            program->body = BODY_NUMBER;
        }
    }
}

PROPERTY(i2_without_demand_nothing_runs_and_nothing_is_read, 300)
{
    struct world_tally tally = {0};
    struct world world;
    world_open(&world, &tally);
    world.on_run = must_not_run;
    draw_graph(random, &world);
    take_demand_away(&world);
    uint64_t written = world.replica.epoch; /* transactions so far */
    draw_population(random, &world);
    EXPECT_EQ(world.replica.epoch, written);
    for (unsigned i = 0; i < 10; i++) {
        draw_inputs(random, &world);
        written++;
        const size_t slot = random_below(random, world.count);
        if (world.slots[slot].node != NULL) {
            if (random_one_in(random, 2)) {
                world.slots[slot].forced = true;
                sched_invalidate(world.sched, world.slots[slot].node);
            } else {
                world_remove(&world, slot);
            }
        }
        EXPECT(world_settle(&world));
    }
    EXPECT_EQ(world.sched->counters.runs, 0);
    EXPECT_EQ(world.sched->counters.passes, 0);
    EXPECT_EQ(world.replica.epoch, written);
    world_close(&world);
}
