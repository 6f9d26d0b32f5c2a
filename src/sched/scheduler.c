/* The facade: what the layers above call. */

#include "sched/scheduler.h"

#include "base/mem.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/invalidation.h"
#include "sched/liveness.h"
#include "sched/order.h"
#include "sched/queue.h"
#include "sched/registry.h"
#include "sched/settle.h"
#include "sched/settling.h"

struct sched *scheduler_new(struct replica *replica,
                            const struct scheduler_options *options)
{
    struct sched *sched = mem_alloc_zero(sizeof *sched);
    sched->replica = replica;
    if (options != NULL) {
        sched->host = options->host;
        sched->hooks = options->hooks;
    }
    list_init(&sched->nodes);
    list_init(&sched->idle_materializers);
    list_init(&sched->idle_flights);
    list_init(&sched->lost_flights);
    introspection_begin(sched);
    invalidation_begin(sched);
    return sched;
}

void scheduler_dispose(struct sched *sched)
{
    CHECK(sched->run == NULL);
    if (sched->disposed) {
        return;
    }
    sched->disposed = true;
    sched->in_pass = false;
    invalidation_end(sched);
    while (!list_is_empty(&sched->nodes)) {
        registry_remove(
            sched,
            CONTAINER_OF(list_first(&sched->nodes), struct node, all));
    }
}

void scheduler_free(struct sched *sched)
{
    scheduler_dispose(sched);
    CHECK(sched->pending == NULL);
    introspection_end(sched);
    runner_release(sched);
    bucket_queue_release(&sched->queues[0]);
    bucket_queue_release(&sched->queues[1]);
    vec_release(&sched->stack);
    vec_release(&sched->found);
    vec_release(&sched->waking);
    vec_release(&sched->readers);
    vec_release(&sched->pairs);
    vec_release(&sched->frames);
    vec_release(&sched->links);
    vec_release(&sched->gated);
    vec_release(&sched->rearming);
    vec_release(&sched->provisional);
    vec_release(&sched->unsettled);
    vec_release(&sched->recovering);
    mem_free(sched, sizeof *sched);
}

/* -- Nodes --------------------------------------------------------------- */

struct node *scheduler_register(struct sched *sched,
                                const struct node_spec *spec)
{
    CHECK(!sched->disposed);
    return registry_add(sched, spec);
}

void scheduler_remove(struct sched *sched, struct node *node)
{
    registry_remove(sched, node);
}

void scheduler_promote(struct sched *sched, struct node *node)
{
    registry_promote(sched, node);
}

void scheduler_set_debounce(struct sched *sched,
                            struct node *node,
                            mono_ms window)
{
    gates_set_debounce(sched, node, window);
}

void scheduler_set_throttle(struct sched *sched,
                            struct node *node,
                            mono_ms window)
{
    gates_set_throttle(sched, node, window);
}

void scheduler_invalidate(struct sched *sched, struct node *node)
{
    invalidation_mark(sched, node, NULL, 0);
}

/* -- Time ---------------------------------------------------------------- */

void scheduler_step(struct sched *sched, mono_ms now)
{
    CHECK(sched->run == NULL);
    sched->staled += now != sched->now; /* a gate may have opened */
    sched->now = now;
    do {
        gates_rearm(sched);
        queue_release_due(sched);
        if (sched->pending != NULL) {
            return;
        }
        if (queue_is_empty(sched) && !sched->in_pass) {
            break;
        }
        sched->stepping = true;
        settle_pass(sched);
        sched->stepping = false;
    } while (sched->pending == NULL);
    if (sched->backing_off == 0 && scheduler_is_idle(sched)) {
        settling_rests(sched);
    }
}

mono_ms scheduler_next_wake(const struct sched *sched)
{
    if (sched->pending != NULL) {
        return MONO_NEVER;
    }
    return !queue_is_empty(sched) || sched->rearming.count > 0 || sched->in_pass
               ? sched->now
               : queue_next_wake(sched);
}

bool scheduler_is_idle(const struct sched *sched)
{
    if (sched->pending != NULL || sched->in_pass || !queue_is_empty(sched) ||
        sched->rearming.count > 0) {
        return false;
    }
    VEC_FOREACH (&sched->gated, node) {
        if (gates_holds_idle(*node, sched->now)) {
            return false;
        }
    }
    return true;
}

void scheduler_idle_over(struct sched *sched)
{
    VEC_FOREACH (&sched->gated, node) {
        (*node)->gate->hold_passes = 0;
    }
    settling_rests(sched);
}

/* -- Pulling ------------------------------------------------------------- */

static enum run_result look_at(struct run *run, void *ctx)
{
    struct value value;
    (void)run_read(run, ctx, READ_DEEP, READ_FOR_BOTH, &value);
    value_unref(value);
    return run->sched->unwinding ? RUN_AGAIN : RUN_DONE;
}

enum err scheduler_pull(struct sched *sched,
                        struct place *place,
                        mono_ms now,
                        struct value *out)
{
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = look_at,
        .ctx = place,
        .no_auto_debounce = true,
    };
    struct node *effect = registry_add(sched, &spec);
    scheduler_step(sched, now);
    registry_remove(sched, effect);
    return entity_state_at(&place->entity->visible, place->path, out);
}

/* -- Checks -------------------------------------------------------------- */

bool scheduler_check(struct sched *sched)
{
    bool holds = liveness_check(sched);
    LIST_FOREACH (&sched->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        holds = holds && graph_check(node) && order_check(node);
        /* K1: what has to run waits somewhere. */
        const bool waits = node->place_in_queue != QUEUE_NONE || node->running;
        holds = holds && (!node_is_stale(node) || !node->counted || waits ||
                          sched->in_pass);
    }
    return holds && bucket_queue_check(&sched->queues[0]) &&
           bucket_queue_check(&sched->queues[1]);
}
