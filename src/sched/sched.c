/* The facade that higher layers call. */

#include "sched/sched.h"

#include "base/mem.h"
#include "sched/convergence.h"
#include "sched/durable.h"
#include "sched/events.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/handling.h"
#include "sched/invalidation.h"
#include "sched/labels.h"
#include "sched/liveness.h"
#include "sched/node_registry.h"
#include "sched/order.h"
#include "sched/outbox.h"
#include "sched/persistence.h"
#include "sched/queue.h"
#include "sched/settle.h"
#include "sched/waiting.h"

struct sched *sched_new(struct replica *replica,
                        const struct sched_options *options)
{
    struct sched *sched = mem_alloc_zero(sizeof *sched);
    sched->replica = replica;
    sched->nesting = SCHED_NESTING_MAX;
    if (options != NULL) {
        sched->host = options->host;
        sched->tick = options->host == NULL         ? NULL
                      : options->host->tick != NULL ? options->host->tick
                                                    : options->host->now;
        sched->hooks = options->hooks;
        sched->immediate = options->immediate;
        sched->immediates = options->immediate;
        sched->interrupted = options->interrupted;
        sched->interrupted_ctx = options->interrupted_ctx;
    }
    list_init(&sched->nodes);
    list_init(&sched->idle_materializers);
    list_init(&sched->idle_inflight);
    list_init(&sched->lost_inflight);
    introspection_begin(sched);
    invalidation_begin(sched);
    return sched;
}

void sched_dispose(struct sched *sched)
{
    CHECK(sched->run == NULL);
    if (sched->disposed) {
        return;
    }
    sched->disposed = true;
    sched->in_pass = false;
    sched->clean_below = 0;
    invalidation_end(sched);
    events_dispose(sched);
    while (!list_is_empty(&sched->nodes)) {
        node_registry_remove(
            sched,
            CONTAINER_OF(list_first(&sched->nodes), struct node, all));
    }
}

void sched_free(struct sched *sched)
{
    sched_dispose(sched);
    persistence_free(sched);
    introspection_end(sched);
    events_free(sched);
    runner_release(sched);
    labels_free(sched);
    pool_release(&sched->node_pool);
    pool_release(&sched->write_pool);
    bucket_queue_release(&sched->queues[0]);
    bucket_queue_release(&sched->queues[1]);
    vec_release(&sched->stack);
    vec_release(&sched->found);
    vec_release(&sched->waking);
    vec_release(&sched->readers);
    vec_release(&sched->pairs);
    vec_release(&sched->trail);
    vec_release(&sched->frames);
    vec_release(&sched->links);
    vec_release(&sched->gated);
    vec_release(&sched->rearming);
    vec_release(&sched->provisional);
    vec_release(&sched->unsettled);
    vec_release(&sched->reported_cycles);
    vec_release(&sched->failed_in_cycle);
    vec_release(&sched->recovering);
    vec_release(&sched->behind);
    vec_release(&sched->evaluation.done);
    vec_release(&sched->evaluation.failed);
    mem_free(sched, sizeof *sched);
}

/* -- Nodes --------------------------------------------------------------- */

struct node *sched_register(struct sched *sched, const struct node_spec *spec)
{
    CHECK(!sched->disposed);
    return node_registry_add(sched, spec);
}

void sched_remove(struct sched *sched, struct node *node)
{
    node_registry_remove(sched, node);
}

void sched_remove_all(struct sched *sched, struct node *node)
{
    struct node *leaf = NULL;
    while (leaf != node) {
        leaf = node;
        while (leaf->children.first != NULL) {
            leaf = CONTAINER_OF(leaf->children.first, struct node, sibling);
        }
        node_registry_remove(sched, leaf);
    }
}

void sched_promote(struct sched *sched, struct node *node)
{
    node_registry_promote(sched, node);
}

void sched_set_debounce(struct sched *sched, struct node *node, mono_ms window)
{
    gates_set_debounce(sched, node, window);
}

void sched_set_throttle(struct sched *sched, struct node *node, mono_ms window)
{
    gates_set_throttle(sched, node, window);
}

void sched_invalidate(struct sched *sched, struct node *node)
{
    invalidation_mark(sched, node, NULL, 0);
}

/* -- Time ---------------------------------------------------------------- */

/* Everything that is not a pass: receipts, calls that waited for a commit. */
static void see_to_events(struct sched *sched)
{
    if (LIKELY(sched->events == NULL)) {
        return;
    }
    handling_look_for_receipts(sched);
    durable_flush(sched);
    events_cleanup(sched);
    (void)outbox_flush(sched);
}

static inline bool has_work(const struct sched *sched)
{
    return !queue_is_empty(sched) || sched->in_pass ||
           (UNLIKELY(sched->events != NULL) &&
            events_next_wake(sched) <= sched->now);
}

/* Whether there is nothing to do beside the queue. */
static inline bool is_plain(const struct sched *sched)
{
    return ((uintptr_t)sched->persistence | (uintptr_t)sched->events |
            sched->rearming.count | sched->gated.count |
            sched->waiting.count) == 0;
}

/* Prepares a pass. False: none is possible now. */
COLD static bool prepare(struct sched *sched)
{
    if (sched->rearming.count > 0) {
        gates_rearm(sched);
    }
    if (sched->gated.count > 0) {
        if (sched->immediates > 0) {
            gates_open_needed(sched);
        }
        queue_release_due(sched);
    }
    if (sched->persistence != NULL) {
        if (sched->resuming) {
            return false;
        }
        persistence_catch_up(sched);
    }
    if (sched->waiting.count > 0) {
        waiting_wake(sched);
    }
    see_to_events(sched);
    return true;
}

static inline bool pass(struct sched *sched, mono_ms now)
{
    CHECK(sched->run == NULL);
    sched->stale_epoch += now != sched->now; /* a gate may have opened */
    sched->now = now;
    if (UNLIKELY(!is_plain(sched))) {
        sched->clock_is_right = false; /* foreign code runs between passes */
        if (!prepare(sched)) {
            return false;
        }
    }
    if (!has_work(sched)) {
        return false;
    }
    sched->stepping = true;
    settle_pass(sched);
    sched->stepping = false;
    if (UNLIKELY(sched->waiting.count > 0)) {
        replica_pump(sched->replica); /* requested documents may arrive now */
    }
    if (!sched->paused) {
        see_to_events(sched);
    }
    return true;
}

bool sched_pass(struct sched *sched, mono_ms now)
{
    sched->clock_is_right = false;
    return pass(sched, now);
}

/* Whether it is idle, after a pass that found nothing to do. */
static inline bool rests(const struct sched *sched)
{
    return LIKELY(is_plain(sched)) || sched_is_idle(sched);
}

/* Whether there is nothing to do, now or later, nor to record. Many words, one
 * test: a step that finds nothing is a large part of a write that changes
 * nothing. */
static inline bool is_quiet(const struct sched *sched)
{
    const uint64_t waits = (uintptr_t)sched->single | sched->queues[0].count |
                           sched->queues[1].count | sched->episode_began |
                           sched->episode_reported | sched->in_pass;
    return waits == 0 && is_plain(sched) &&
           list_is_empty(&sched->idle_materializers);
}

NOINLINE static void step(struct sched *sched, mono_ms now)
{
    while (pass(sched, now)) {
    }
    if ((sched->episode_began != 0 || sched->episode_reported) &&
        sched->backing_off == 0 && rests(sched)) {
        convergence_reset(sched);
    }
}

void sched_step(struct sched *sched, mono_ms now)
{
    CHECK(sched->run == NULL);
    if (sched->now != now || !is_quiet(sched)) {
        sched->clock_is_right = false;
        step(sched, now);
    }
}

NOINLINE static void step_now(struct sched *sched)
{
    const mono_ms now = sched->host->now(sched->host);
    sched->clock = now;
    sched->clock_is_right = sched->host->tick == NULL;
    step(sched, now);
}

void sched_step_now(struct sched *sched)
{
    CHECK(sched->run == NULL);
    CHECK(sched->host != NULL);
    if (!is_quiet(sched)) {
        step_now(sched);
    }
}

mono_ms sched_next_wake(const struct sched *sched)
{
    if (sched->resuming) {
        return MONO_NEVER;
    }
    if (!queue_is_empty(sched) || sched->rearming.count > 0 || sched->in_pass ||
        waiting_can_wake(sched)) {
        return sched->now;
    }
    const mono_ms node = queue_next_wake(sched);
    const mono_ms event = events_next_wake(sched);
    return node < event ? node : event;
}

bool sched_is_idle(const struct sched *sched)
{
    if (sched->in_pass || !queue_is_empty(sched) || sched->rearming.count > 0 ||
        waiting_can_wake(sched) || events_wait(sched) ||
        events_next_wake(sched) <= sched->now) {
        return false;
    }
    if (LIKELY(sched->gated.count == 0)) {
        return true;
    }
    VEC_FOREACH (&sched->gated, node) {
        if (gates_holds_idle(*node, sched->now)) {
            return false;
        }
    }
    return true;
}

bool sched_is_backing_off(const struct sched *sched)
{
    if (sched->backing_off == 0) {
        return false;
    }
    VEC_FOREACH (&sched->gated, node) {
        if (gates_is_backing_off(*node)) {
            return true;
        }
    }
    return false;
}

bool sched_is_settled(const struct sched *sched)
{
    return sched_is_idle(sched) && sched->inflight == 0 &&
           !events_in_flight(sched);
}

void sched_idle_over(struct sched *sched)
{
    VEC_FOREACH (&sched->gated, node) {
        (*node)->gate->hold_passes = 0;
    }
    convergence_reset(sched);
}

/* -- Pulling ------------------------------------------------------------- */

static enum run_result look_at(struct run *run, void *ctx)
{
    struct value value;
    (void)run_read(run, ctx, READ_DEEP, READ_FOR_BOTH, &value);
    value_unref(value);
    return run->sched->unwinding ? RUN_AGAIN : RUN_DONE;
}

enum err sched_pull(struct sched *sched,
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
    struct node *effect = node_registry_add(sched, &spec);
    sched_step(sched, now);
    node_registry_remove(sched, effect);
    return entity_state_at(&place->entity->visible, place->path, out);
}

/* -- Checks -------------------------------------------------------------- */

bool sched_check(struct sched *sched)
{
    bool holds = liveness_check(sched);
    LIST_FOREACH (&sched->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        holds = holds && graph_check(node) && order_check(node);
        /* queue-1: what has to run is in a queue. */
        const bool waits = node->place_in_queue != QUEUE_NONE ||
                           node->running || node->waiting;
        holds = holds && (!node_is_stale(node) || !node->counted || waits ||
                          sched->in_pass);
    }
    return holds && bucket_queue_check(&sched->queues[0]) &&
           bucket_queue_check(&sched->queues[1]);
}
