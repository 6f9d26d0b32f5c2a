/* When a node may run. */

#include "sched/gates.h"

#include "base/mem.h"
#include "sched/graph.h"
#include "sched/queue.h"

static mono_ms later(mono_ms a, mono_ms b)
{
    return a > b ? a : b;
}

mono_ms gates_needed_at(const struct node *node)
{
    const struct gate *gate = node->gate;
    return gate == NULL
               ? 0
               : later(later(gate->debounce_ready, gate->throttle_ready),
                       gate->backoff_until);
}

mono_ms gates_eligible_at(const struct node *node)
{
    const struct gate *gate = node->gate;
    return gate == NULL ? 0 : later(gates_needed_at(node), gate->peer_until);
}

static struct gate *gate_of(struct node *node)
{
    if (node->gate == NULL) {
        node->gate = mem_alloc_zero(sizeof *node->gate);
        node->delayed = true;
    }
    return node->gate;
}

void gates_free(struct sched *sched, struct node *node)
{
    gates_settled(sched, node);
    mem_free(node->gate, sizeof *node->gate);
    node->gate = NULL;
}

/* -- Immediate effects --------------------------------------------------- */

/* Whether the node is immediate, or an immediate node reads from it, directly
 * or through others. */
static bool is_immediate(struct sched *sched, struct node *top)
{
    if (sched->immediate) {
        return true;
    }
    const uint64_t stamp = ++sched->visits;
    const size_t base = sched->stack.count;
    bool found = false;
    top->visit = stamp;
    vec_push(&sched->stack, top);
    while (sched->stack.count > base && !found) {
        const struct node *node = vec_pop(&sched->stack);
        found = node->gate != NULL && node->gate->immediate;
        struct reader_walk walk = graph_readers(node);
        for (struct read_link *read = graph_next_reader(&walk); read != NULL;
             read = graph_next_reader(&walk)) {
            if (read->node->visit != stamp) {
                read->node->visit = stamp;
                vec_push(&sched->stack, read->node);
            }
        }
    }
    sched->stack.count = base;
    return found;
}

/* -- Debounce ------------------------------------------------------------ */

/* The first run of a computation is not delayed, unless a running parent has
 * just created it. */
static bool is_debounced(const struct node *node)
{
    return node->kind == NODE_EFFECT || node->status != NODE_NEVER_RAN ||
           node->provisional != 0;
}

/* Measured from the first of several changes. */
static mono_ms longest_wait(const struct gate *gate)
{
    const mono_ms stretched = gate->debounce * SCHED_DEBOUNCE_STRETCH;
    if (gate->debounce_max > 0) {
        return gate->debounce_max;
    }
    return stretched > SCHED_DEBOUNCE_LONG_MS ? stretched
                                              : SCHED_DEBOUNCE_LONG_MS;
}

/* Moves the end of the window, as far as it may. */
static void move_end(const struct sched *sched, struct gate *gate)
{
    if (gate->debounce_ready == 0) {
        gate->debounce_latest = sched->now + longest_wait(gate);
    }
    gate->debounce_ready = sched->now + gate->debounce;
    if (gate->debounce_ready > gate->debounce_latest) {
        gate->debounce_ready = gate->debounce_latest;
    }
}

static void end_windows(struct gate *gate)
{
    gate->rearm = false;
    gate->debounce_ready = 0;
    gate->throttle_ready = 0;
}

void gates_on_invalid(struct sched *sched, struct node *node)
{
    struct gate *gate = node->gate;
    if (gate == NULL || !node_is_live(node)) {
        return;
    }
    if (UNLIKELY(sched->immediates > 0) && is_immediate(sched, node)) {
        end_windows(gate);
        return;
    }
    if (gate->debounce == 0 || gate->rearm || !is_debounced(node)) {
        return;
    }
    /* In a pass the time is known: a node that has waited long enough runs in
     * its turn, not after its readers. The end of a run in progress would
     * discard it. */
    if (sched->stepping && !node->running) {
        move_end(sched, gate);
        return;
    }
    gate->rearm = true;
    vec_push(&sched->rearming, node);
}

void gates_on_sleep(struct node *node)
{
    if (node->gate != NULL) {
        node->gate->rearm = false;
        node->gate->debounce_ready = 0;
    }
}

void gates_open(struct sched *sched, struct node *node)
{
    queue_remove(sched, node);
    end_windows(node->gate);
    queue_consider(sched, node);
}

/* An opened node may leave the heap: the same index is examined again. */
void gates_open_needed(struct sched *sched)
{
    size_t at = 0;
    while (at < sched->gated.count) {
        struct node *node = sched->gated.at[at];
        const struct gate *gate = node->gate;
        const bool waits = gate->rearm || gate->debounce_ready > sched->now ||
                           gate->throttle_ready > sched->now;
        if (waits && is_immediate(sched, node)) {
            gates_open(sched, node);
            at = 0;
        } else {
            at++;
        }
    }
}

static void arm(struct sched *sched, struct node *node)
{
    struct gate *gate = node->gate;
    queue_remove(sched, node);
    gate->rearm = false;
    if (gate->debounce > 0) {
        move_end(sched, gate);
    }
    queue_consider(sched, node);
}

void gates_rearm(struct sched *sched)
{
    while (sched->rearming.count > 0) {
        struct node *node = vec_pop(&sched->rearming);
        /* NULL: removed meanwhile. Not set: clean again without a run. */
        if (node != NULL && node->gate->rearm) {
            arm(sched, node);
        }
    }
}

void gates_disarm(struct node *node)
{
    if (node->gate != NULL) {
        node->gate->rearm = false;
    }
}

/* -- Runs and passes ----------------------------------------------------- */

/* An effect that is slow on average gets a debounce. */
static void consider_auto_debounce(struct node *node)
{
    if (node->kind != NODE_EFFECT || node->runs < SCHED_AUTO_RUNS ||
        node->busy_ms < node->runs * SCHED_AUTO_MS) {
        return;
    }
    if (node->gate != NULL &&
        (node->gate->no_auto_debounce || node->gate->debounce > 0)) {
        return;
    }
    gate_of(node)->debounce = SCHED_AUTO_DEBOUNCE_MS;
}

void gates_end_run(struct node *node)
{
    consider_auto_debounce(node);
    struct gate *gate = node->gate;
    if (gate == NULL) {
        return;
    }
    gate->debounce_ready = 0;
    if (gate->throttle > 0) {
        gate->throttle_ready = node->ended_at + gate->throttle;
    }
}

void gates_back_off(struct sched *sched, struct node *node)
{
    struct gate *gate = gate_of(node);
    queue_remove(sched, node);
    mono_ms delay = SCHED_BACKOFF_MAX_MS;
    if (gate->backoff_streak < 3) {
        delay = (mono_ms)SCHED_BACKOFF_MS << gate->backoff_streak;
    }
    gate->backoff_until = sched->now + delay;
    sched->backing_off += gate->backoff_streak == 0;
    gate->backoff_streak++;
    gate->hold_passes++;
    sched->counters.backoffs++;
    queue_consider(sched, node);
}

void gates_settled(struct sched *sched, struct node *node)
{
    if (node->gate != NULL) {
        sched->backing_off -= node->gate->backoff_streak > 0;
        node->gate->backoff_until = 0;
        node->gate->backoff_streak = 0;
        node->gate->hold_passes = 0;
    }
}

/* -- Peers --------------------------------------------------------------- */

void gates_wait_for_peer(struct sched *sched, struct node *node, mono_ms until)
{
    struct gate *gate = gate_of(node);
    if (gate->peer_until == 0) {
        queue_remove(sched, node);
        gate->peer_until = until;
        queue_consider(sched, node);
    }
}

void gates_end_peer(struct sched *sched, struct node *node)
{
    queue_remove(sched, node);
    node->gate->peer_until = 0;
    queue_consider(sched, node);
}

/* -- Queries ------------------------------------------------------------- */

const char *gates_reason(const struct node *node, mono_ms now)
{
    const struct gate *gate = node->gate;
    if (gate == NULL) {
        return NULL;
    }
    if (gate->backoff_until > now) {
        return "backoff";
    }
    if (gate->throttle_ready > now) {
        return "throttle";
    }
    if (gate->rearm || gate->debounce_ready > now) {
        return "debounce";
    }
    return gate->peer_until > now ? "peer" : NULL;
}

bool gates_holds_idle(const struct node *node, mono_ms now)
{
    const struct gate *gate = node->gate;
    if (gate == NULL || gate->hold_passes >= SCHED_HOLD_PASSES) {
        return false;
    }
    if (node->kind == NODE_EFFECT || node->materializer) {
        return true;
    }
    if (node->provisional != 0 && node->status == NODE_NEVER_RAN) {
        return true;
    }
    return node->counted &&
           (gate->backoff_until > now || gate->peer_until > now);
}

/* -- Setting ------------------------------------------------------------- */

void gates_set_debounce(struct sched *sched, struct node *node, mono_ms window)
{
    queue_remove(sched, node);
    struct gate *gate = gate_of(node);
    gate->debounce = window;
    if (window == 0) {
        gate->debounce_ready = 0;
    } else if (node_is_stale(node)) {
        gates_on_invalid(sched, node);
    }
    queue_consider(sched, node);
}

void gates_set_throttle(struct sched *sched, struct node *node, mono_ms window)
{
    queue_remove(sched, node);
    struct gate *gate = gate_of(node);
    gate->throttle = window;
    gate->throttle_ready =
        window > 0 && node->runs > 0 ? node->ended_at + window : 0;
    queue_consider(sched, node);
}

void gates_clear(struct sched *sched, struct node *node)
{
    if (node->gate == NULL) {
        return;
    }
    queue_remove(sched, node);
    node->gate->debounce_ready = 0;
    node->gate->throttle_ready = 0;
    node->gate->backoff_until = 0;
    node->gate->peer_until = 0;
    queue_consider(sched, node);
}
