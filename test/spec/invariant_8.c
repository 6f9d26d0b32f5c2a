/* I8, provenance: every transaction of the scheduler names the node that runs,
 * and the reads whose changes made it run. */

#include "lib/sched_draw.h"
#include "lib/test.h"
#include "value/compare.h"

static bool is_cause(const struct run *run, const struct place *place)
{
    VEC_FOREACH (&run->causes, cause) {
        if (cause->place == place) {
            return true;
        }
    }
    return false;
}

static bool has_read(struct world_slot *slot, const struct place *place)
{
    VEC_FOREACH (&slot->reads, read) {
        if (world_place(slot->world, read) == place) {
            return true;
        }
    }
    return false;
}

/* Something is there that was not when the node ran last. */
static bool differs(struct world *world, const struct seen_read *seen)
{
    const struct place *place = world_place(world, &seen->place);
    struct value now;
    (void)entity_state_at(&place->entity->visible, place->path, &now);
    const bool same = seen->place.kind == READ_SHAPE
                          ? value_shape_equal(now, seen->value)
                          : value_equal(now, seen->value);
    value_unref(now);
    return !same;
}

static void check_causes(struct world_slot *slot, const struct run *run)
{
    EXPECT(run->transaction->source == slot->node);
    EXPECT_EQ(run->transaction->cause_count, run->causes.count);
    if (!slot->ran) {
        return;
    }
    EXPECT(run->causes.count > 0 || slot->forced || slot->unsure ||
           run->transaction->attempt > 0);
    VEC_FOREACH (&run->causes, cause) {
        EXPECT(has_read(slot, cause->place));
        EXPECT(cause->version <= slot->world->replica.version);
    }
    VEC_FOREACH (&slot->seen, seen) {
        EXPECT(!differs(slot->world, seen) ||
               is_cause(run, world_place(slot->world, &seen->place)));
    }
}

/* The channel says the same. */
static enum channel_answer on_commit(void *ctx, const struct notification *what)
{
    const struct world *world = ctx;
    const struct run *run = world->sched->run;
    if (what->source == NULL) {
        EXPECT(run == NULL && world->sched->committing == NULL);
    } else {
        EXPECT(what->source == world->sched->committing);
    }
    return CHANNEL_MORE;
}

PROPERTY(i8_every_run_knows_what_made_it_run, 300)
{
    struct world_tally tally = {0};
    struct world world;
    world_open(&world, &tally);
    world.on_run = check_causes;
    struct subscriber subscriber = {.fn = on_commit, .ctx = &world};
    channel_subscribe(&world.replica, &subscriber);
    draw_graph(random, &world);
    draw_population(random, &world);
    bool good = true;
    for (unsigned i = 0; i < 8 && good; i++) {
        draw_happening(random, &world);
        good = EXPECT(world_settle(&world));
    }
    channel_unsubscribe(&subscriber);
    world_close(&world);
}
