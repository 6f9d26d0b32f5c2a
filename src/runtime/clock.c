/* One computation per clock, which is invalid when an interval has ended. */

#include "runtime/clock.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "replica/place.h"
#include "runtime/runtime.h"
#include "runtime/timer.h"
#include "value/clock_id.h"

struct clock {
    const struct runtime *runtime;
    struct place *place; /* a reference */
    struct node *node;
    uint64_t length;
    uint64_t start; /* of the current interval */
    mono_ms due;    /* the wall clock is read then */
};

static bool has_clocks(const struct runtime *runtime)
{
    return runtime->stored_events.source.wall != NULL &&
           !runtime->without_clocks;
}

/* Whether a new interval has begun. */
static bool look_at_time(struct clock *clock, mono_ms now)
{
    const struct stored_events_source *source =
        &clock->runtime->stored_events.source;
    const uint64_t wall = source->wall(source->ctx);
    const uint64_t before = clock->start;
    clock->start = wall - wall % clock->length;
    const uint64_t left = clock->start + clock->length - wall;
    const bool is_far = source->trusted > 0 && left > source->trusted;
    clock->due = now + (is_far ? source->trusted : left);
    return clock->start != before;
}

static enum run_result run_clock(struct run *run, void *ctx)
{
    const struct clock *clock = ctx;
    struct err_detail detail = {0};
    const enum err err = transaction_put_adopt(run->transaction,
                                               clock->place,
                                               value_int((int64_t)clock->start),
                                               &detail);
    return err == ERR_OK ? RUN_DONE : run_fail(run, &detail);
}

static struct clock *add(struct runtime *runtime, struct entity *entity)
{
    struct clock *clock = mem_alloc_zero(sizeof *clock);
    clock->runtime = runtime;
    clock->place = place_payload(entity);
    clock->length = (uint64_t)clock_id_read(entity->id);
    (void)look_at_time(clock, runtime->sched->now);
    const struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = run_clock,
        .ctx = clock,
        .name = entity->id,
        .outputs = &clock->place,
        .output_count = 1,
        .parentless = true,
    };
    clock->node = sched_register(runtime->sched, &spec);
    vec_push(&runtime->clocks, clock);
    return clock;
}

/* clock-4. */
static void add_new(struct runtime *runtime)
{
    while (runtime->clocks.count < runtime->replica.clocks.count) {
        (void)add(runtime, runtime->replica.clocks.at[runtime->clocks.count]);
    }
}

enum err clock_place(struct runtime *runtime,
                     struct space *space,
                     int64_t ms,
                     struct place **out,
                     struct err_detail *detail)
{
    struct entity *entity = NULL;
    if (!has_clocks(runtime)) {
        return err_set(detail, ERR_ARGUMENT, "this runtime has no wall clock");
    }
    if (ms < CLOCK_LEAST_MS || ms > (int64_t)TIMER_TIME_MOST) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the interval of a clock must be a number of "
                       "milliseconds from %d on, not %" PRId64,
                       CLOCK_LEAST_MS,
                       ms);
    }
    const struct value id = clock_id_new(ms);
    const enum err err = entity_of(space, SCOPE_SPACE, id, &entity, detail);
    value_unref(id);
    if (err != ERR_OK) {
        return err;
    }
    add_new(runtime);
    VEC_FOREACH (&runtime->clocks, clock) {
        if ((*clock)->place->entity == entity) {
            *out = (*clock)->place;
        }
    }
    return ERR_OK;
}

/* clock-5. */
static bool is_behind(const struct clock *clock)
{
    const struct value shown = clock->place->entity->visible.payload;
    return value_kind(shown) == VALUE_INT &&
           value_integer(shown) < (int64_t)clock->start;
}

void clocks_step(struct runtime *runtime, mono_ms now)
{
    if (LIKELY(runtime->replica.clocks.count == 0) || !has_clocks(runtime)) {
        return;
    }
    add_new(runtime);
    VEC_FOREACH (&runtime->clocks, at) {
        struct clock *clock = *at;
        const bool is_other = clock->due <= now && look_at_time(clock, now);
        if (clock->node->status == NODE_CLEAN &&
            (is_other || is_behind(clock))) {
            sched_invalidate(runtime->sched, clock->node);
        }
    }
}

mono_ms clocks_next_wake(const struct runtime *runtime)
{
    mono_ms wake = MONO_NEVER;
    if (UNLIKELY(runtime->clocks.count < runtime->replica.clocks.count) &&
        has_clocks(runtime)) {
        return runtime->sched->now;
    }
    VEC_FOREACH (&runtime->clocks, at) {
        const struct clock *clock = *at;
        if (node_is_live(clock->node) && clock->due < wake) {
            wake = clock->due;
        }
    }
    return wake;
}

void clocks_release(struct runtime *runtime)
{
    VEC_FOREACH (&runtime->clocks, clock) {
        place_unref((*clock)->place);
        mem_free(*clock, sizeof **clock);
    }
    vec_release(&runtime->clocks);
}
