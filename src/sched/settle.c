/* The pass: sweeps until nothing is left. */

#include "sched/settle.h"

#include "sched/convergence.h"
#include "sched/events.h"
#include "sched/fast_run.h"
#include "sched/fetching.h"
#include "sched/gates.h"
#include "sched/liveness.h"
#include "sched/persistence.h"
#include "sched/queue.h"
#include "sched/runner.h"

/* settle-2; and fetching-1 of fetching.h. */
static inline bool is_runnable(struct sched *sched, struct node *node)
{
    if (LIKELY(node->state == node_at_rest(NODE_INVALID))) {
        return true;
    }
    return node->registered && node_is_stale(node) && !node->running &&
           (node->counted || node->again) &&
           !(UNLIKELY(node->unloaded || node->behind) &&
             fetching_holds(sched, node, true));
}

static bool is_exhausted(const struct sched *sched, const struct node *node)
{
    return node_is_exhausted(node, sched->pass, SCHED_RUNS_MAX);
}

static void defer(struct sched *sched, struct node *node)
{
    gates_back_off(sched, node);
    vec_push(&sched->unsettled, node);
}

void settle_pause(struct sched *sched)
{
    sched->paused = true;
    sched->cursor = 0;
    sched->sweep_floor = 0;
    sched->clean_below = 0;
}

static void sweep(struct sched *sched)
{
    sched->counters.sweeps++;
    for (struct node *node = fast_run_sweep(sched); node != NULL;
         node = fast_run_sweep(sched)) {
        if (!is_runnable(sched, node)) {
            sched->counters.filtered++;
            continue;
        }
        if (UNLIKELY(is_exhausted(sched, node))) {
            sched->counters.filtered++;
            defer(sched, node);
            continue;
        }
        runner_run(sched, node);
        if (UNLIKELY(sched->paused)) {
            return;
        }
        if (UNLIKELY(settle_must_pause(sched))) {
            settle_pause(sched);
            return;
        }
    }
}

/* settle-4: what the sweeps have left. */
static void defer_rest(struct sched *sched)
{
    do {
        for (struct node *node = queue_pop(sched); node != NULL;
             node = queue_pop(sched)) {
            if (is_runnable(sched, node)) {
                defer(sched, node);
            }
        }
    } while (queue_next_sweep(sched));
}

/* -- The end of a pass --------------------------------------------------- */

/* Demand that was lent to nodes which this pass created (demand-3). A node that
 * has not run yet, because it is not eligible, keeps it. */
COLD static void end_provisional(struct sched *sched)
{
    for (size_t i = 0; i < sched->provisional.count; i++) {
        struct node *node = sched->provisional.at[i];
        if (node != NULL && node->status != NODE_NEVER_RAN &&
            node->provisional == node_mark(sched->pass)) {
            node->provisional = 0;
            liveness_root_lost(sched, node);
        }
    }
    vec_clear(&sched->provisional);
}

COLD static void end_backoffs(struct sched *sched)
{
    VEC_FOREACH (&sched->recovering, node) {
        if (*node != NULL && (*node)->status == NODE_CLEAN) {
            gates_settled(sched, *node);
        }
    }
    vec_clear(&sched->recovering);
}

COLD static void tell(struct sched *sched, enum pass_moment moment)
{
    sched->hooks.pass(sched->hooks.ctx, sched, moment);
    sched->clock_is_right = false;
}

/* settle-3: whether there is something for another sweep. */
static bool find_more(struct sched *sched)
{
    if (queue_next_sweep(sched)) {
        return true;
    }
    if (UNLIKELY(events_wait(sched))) {
        const enum events_look look = events_look(sched);
        if (look == EVENTS_NEED) {
            return true;
        }
        if (!queue_has_no_sweep(sched)) {
            return false; /* what it has made to run: the next pass */
        }
    }
    return queue_admit_materializers(sched);
}

void settle_pass(struct sched *sched)
{
    sched->paused = false;
    sched->burst_from = sched->inflight;
    if (!sched->in_pass) { /* else it goes on after a run that took long */
        sched->in_pass = true;
        sched->pass++;
        sched->sweep = 0;
        sched->cursor = 0;
        sched->sweep_floor = 0;
        queue_look_later(sched);
        fast_run_begin_pass(sched);
        sched->counters.passes++;
        convergence_pass_begins(sched);
        if (UNLIKELY(sched->hooks.pass != NULL)) {
            tell(sched, PASS_BEGINS);
        }
    }
    bool more = true;
    while (more && sched->sweep < SCHED_SWEEPS_MAX) {
        if (UNLIKELY(sched->integrated)) {
            persistence_wait(sched);
        }
        sweep(sched);
        if (sched->paused) {
            return;
        }
        sched->sweep++;
        more = !LIKELY(queue_is_empty(sched) &&
                       (sched->events == NULL || !events_wait(sched))) &&
               find_more(sched);
    }
    if (more) {
        defer_rest(sched);
    }
    sched->in_pass = false;
    sched->clean_below = 0;
    if (UNLIKELY(sched->events != NULL)) {
        events_pass_ends(sched);
    }
    if (sched->provisional.count > 0) {
        end_provisional(sched);
    }
    if (sched->recovering.count > 0) {
        end_backoffs(sched);
    }
    if (UNLIKELY(sched->hooks.pass != NULL)) {
        tell(sched,
             sched->unsettled.count == 0 ? PASS_SETTLED : PASS_BACKED_OFF);
    }
    convergence_pass_ends(sched);
}
