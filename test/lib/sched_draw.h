/* Random graphs for a world, and random things that happen to it. */

#ifndef TEST_LIB_SCHED_DRAW_H
#define TEST_LIB_SCHED_DRAW_H

#include "lib/sched_world.h"

/* Programs for 4 to 60 slots: computations, effects, materializers, cycles,
 * parents with children. Nothing is registered yet. */
void draw_graph(struct random *random, struct world *world);

/* A node for nearly every slot, in any order, some of them gated. */
void draw_population(struct random *random, struct world *world);

/* One transaction from outside that writes to several inputs. */
void draw_inputs(struct random *random, struct world *world);

/* That, or a node comes or goes, somebody pulls or asks for a run, or time
 * passes. */
void draw_happening(struct random *random, struct world *world);

#endif
