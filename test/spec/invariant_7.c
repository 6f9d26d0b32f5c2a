/* I7, as far as it goes without what is kept for a restart: nodes that are
 * registered anew are never taken for clean. Whatever happened while nobody was
 * there, everything ends as if the nodes had been there all the time. */

#include "lib/sched_draw.h"
#include "lib/test.h"

static void count_run(struct world_slot *slot, const struct run *run)
{
    bool *ran = slot->world->ctx;
    (void)run;
    ran[slot - slot->world->slots] = true;
}

PROPERTY(i7_nodes_that_are_registered_anew_are_not_taken_for_clean, 300)
{
    struct world_tally tally = {0};
    struct world world;
    bool ran[MODEL_SLOTS] = {false};
    world_open(&world, &tally);
    draw_graph(random, &world);
    draw_population(random, &world);
    draw_inputs(random, &world);
    EXPECT(world_settle(&world));

    world_restart(&world);
    if (random_one_in(random, 2)) {
        draw_inputs(random, &world); /* while it was down */
    }
    world.on_run = count_run;
    world.ctx = ran;
    draw_population(random, &world);
    EXPECT(world_settle(&world)); /* compares with everything computed anew */
    for (size_t i = 0; i < world.count; i++) {
        const struct node *node = world.slots[i].node;
        EXPECT(node == NULL || !node_is_live(node) || ran[i] ||
               node->place_in_queue == QUEUE_GATED);
    }
    world_close(&world);
}
