/* I9, ordering within a pass: of two nodes that both run, and of which the one
 * reads what the other writes, the writer goes first. */

#include "lib/sched_draw.h"
#include "lib/test.h"

/* When the last run of each slot ended, in this step. */
struct ends {
    const struct world *world;
    uint64_t of[MODEL_SLOTS];
    uint64_t passes[MODEL_SLOTS];
    uint64_t count;
};

static void note_end(void *ctx,
                     const struct run *run,
                     const struct run_record *record)
{
    (void)run;
    struct ends *ends = ctx;
    for (size_t i = 0; i < ends->world->count; i++) {
        const struct node *node = ends->world->slots[i].node;
        if (node != NULL && node->ordinal == record->ordinal) {
            ends->of[i] = ++ends->count;
            ends->passes[i] = record->pass;
        }
    }
}

static void check_order(const struct world *world, const struct ends *ends)
{
    for (size_t i = 0; i < world->count; i++) {
        for (size_t j = 0; j < world->count; j++) {
            if (i != j && ends->of[i] > 0 && ends->of[j] > 0 &&
                ends->passes[i] == ends->passes[j] &&
                world_reads_from(world, i, j)) {
                EXPECT(ends->of[j] < ends->of[i]);
            }
        }
    }
}

/* Everything but cycles and families. */
static void draw_plain(struct random *random, struct world *world)
{
    static const enum model_body bodies[] = {BODY_NUMBER,
                                             BODY_NESTED,
                                             BODY_TWO,
                                             BODY_EFFECT};
    for (; world->count < 24; world->count++) {
        struct world_slot *slot = &world->slots[world->count];
        model_random_program(random,
                             (uint16_t)world->count,
                             bodies[random_below(random, COUNT_OF(bodies))],
                             &slot->program);
        slot->world = world;
    }
}

PROPERTY(i9_a_writer_runs_before_its_readers, 300)
{
    struct world_tally tally = {0};
    struct world world;
    struct ends ends = {.world = &world};
    world_open(&world, &tally);
    world.sched->hooks.ctx = &ends;
    world.sched->hooks.run = note_end;
    draw_plain(random, &world);
    draw_population(random, &world);
    for (unsigned i = 0; i < 12; i++) {
        for (size_t j = 0; j < world.count; j++) {
            ends.of[j] = 0;
        }
        if (!EXPECT(model_world_step(&world))) {
            break;
        }
        check_order(&world, &ends);
        draw_inputs(random, &world);
        world.now += random_below(random, 30);
    }
    EXPECT(ends.count > 0 || tally.runs == 0 || tally.failed > 0);
    world_close(&world);
}
