/* I1, live consistency: at rest, every live node's last run observed inputs
 * equal to what is there now. */

#include "lib/sched_draw.h"
#include "lib/test.h"
#include "sched/gates.h"

PROPERTY(i1_at_rest_every_live_node_has_seen_what_is_there, 300)
{
    struct world_tally tally = {0};
    struct world world;
    world_open(&world, &tally);
    draw_graph(random, &world);
    draw_population(random, &world);
    for (unsigned i = 0; i < 6; i++) {
        draw_happening(random, &world);
    }
    if (EXPECT(world_settle(&world))) {
        for (size_t i = 0; i < world.count; i++) {
            const struct node *node = world.slots[i].node;
            /* A cycle that does not converge never rests: who waits for its
             * time in it, or behind it, is excepted; who does not is not. */
            if (node != NULL && node_is_live(node) &&
                gates_reason(node, world.sched->now) == NULL) {
                EXPECT(node->status == NODE_CLEAN);
                EXPECT(world_is_consistent(&world, i));
            }
        }
    }
    world_close(&world);
}
