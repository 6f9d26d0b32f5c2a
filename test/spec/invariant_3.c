/* I3, value-gated execution: a node that has run runs again only if a value
 * that it read is another one now. */

#include "lib/sched_draw.h"
#include "lib/test.h"

/* Who is due, by the rule and nothing else, before a step; and who ran. */
PROPERTY(i3_effects_run_if_and_only_if_something_they_read_has_changed, 300)
{
    struct world_tally tally = {0};
    struct world world;
    world_open(&world, &tally);
    for (; world.count < 12; world.count++) {
        struct world_slot *slot = &world.slots[world.count];
        model_random_program(random, 0, BODY_EFFECT, &slot->program);
        slot->program.slot = (uint16_t)world.count;
        slot->world = &world;
        world_register(&world, world.count, 0, 0);
    }
    EXPECT(model_world_step(&world));
    for (unsigned i = 0; i < 12; i++) {
        bool due[MODEL_SLOTS];
        draw_inputs(random, &world);
        for (size_t j = 0; j < world.count; j++) {
            due[j] = world.slots[j].due;
        }
        EXPECT(model_world_step(&world));
        for (size_t j = 0; j < world.count; j++) {
            EXPECT_EQ(world.slots[j].step_runs, due[j]);
        }
    }
    world_close(&world);
}

/* The corollary: what comes out the same goes no further. */
PROPERTY(i3_an_output_that_stays_the_same_wakes_nobody, 300)
{
    struct world_tally tally = {0};
    struct world world;
    world_open(&world, &tally);
    struct world_slot *source = &world.slots[0];
    struct world_slot *effect = &world.slots[1];
    model_random_program(random, 0, BODY_NUMBER, &source->program);
    model_random_program(random, 1, BODY_EFFECT, &effect->program);
    source->program.modulus = 1; /* always 0 */
    effect->program.count = 1;
    effect->program.steps[0] = (struct model_step){
        .places = {{.document = MODEL_FIRST_OUTPUT, .path = PATH_PAYLOAD}},
    };
    world.count = 2;
    world_register(&world, 0, 0, 0);
    world_register(&world, 1, 0, 0);
    EXPECT(model_world_step(&world));
    const bool failed = source->failed || effect->failed;
    for (unsigned i = 0; i < 12 && !failed; i++) {
        draw_inputs(random, &world);
        EXPECT(model_world_step(&world));
        EXPECT(effect->step_runs == 0 || source->failed);
    }
    world_close(&world);
}
