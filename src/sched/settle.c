/* The pass: sweep after sweep, until it is quiet. */

#include "sched/settle.h"

#include "sched/gates.h"
#include "sched/liveness.h"
#include "sched/queue.h"
#include "sched/runner.h"
#include "sched/settling.h"

/* P2. */
static bool is_runnable(const struct node *node)
{
    return node->registered && node_is_stale(node) && !node->running &&
           (node->counted || node->again);
}

static bool is_exhausted(const struct sched *sched, const struct node *node)
{
    return node->pass == sched->pass && node->pass_runs >= SCHED_RUNS_MAX;
}

static void defer(struct sched *sched, struct node *node)
{
    gates_back_off(sched, node);
    vec_push(&sched->unsettled, node);
}

static void sweep(struct sched *sched)
{
    sched->counters.sweeps++;
    for (struct node *node = queue_pop(sched); node != NULL;
         node = queue_pop(sched)) {
        if (!is_runnable(node)) {
            sched->counters.filtered++;
            continue;
        }
        if (UNLIKELY(is_exhausted(sched, node))) {
            sched->counters.filtered++;
            defer(sched, node);
            continue;
        }
        runner_run(sched, node);
        if (UNLIKELY(sched->pending != NULL)) {
            return;
        }
    }
}

/* P4: what the sweeps have left. */
static void defer_rest(struct sched *sched)
{
    do {
        for (struct node *node = queue_pop(sched); node != NULL;
             node = queue_pop(sched)) {
            if (is_runnable(node)) {
                defer(sched, node);
            }
        }
    } while (queue_next_sweep(sched));
}

/* -- The end of a pass --------------------------------------------------- */

/* Demand that was lent to nodes which this pass created (seed 5.3). One that
 * has not run yet, because its time has not come, keeps it. */
static void end_provisional(struct sched *sched)
{
    for (size_t i = 0; i < sched->provisional.count; i++) {
        struct node *node = sched->provisional.at[i];
        if (node != NULL && node->status != NODE_NEVER_RAN &&
            node->provisional == sched->pass + 1) {
            node->provisional = 0;
            liveness_root_lost(sched, node);
        }
    }
    vec_clear(&sched->provisional);
}

static void end_backoffs(struct sched *sched)
{
    VEC_FOREACH (&sched->recovering, node) {
        if (*node != NULL && (*node)->status == NODE_CLEAN) {
            gates_settled(sched, *node);
        }
    }
    vec_clear(&sched->recovering);
}

static void tell(const struct sched *sched, enum pass_moment moment)
{
    if (UNLIKELY(sched->hooks.pass != NULL)) {
        sched->hooks.pass(sched->hooks.ctx, sched, moment);
    }
}

void settle_pass(struct sched *sched)
{
    if (!sched->in_pass) { /* else it goes on after a run that took long */
        sched->in_pass = true;
        sched->pass++;
        sched->sweep = 0;
        sched->cursor = 0;
        sched->floor = 0;
        sched->counters.passes++;
        settling_pass_begins(sched);
        tell(sched, PASS_BEGINS);
    }
    while (sched->sweep < SCHED_SWEEPS_MAX) {
        sweep(sched);
        if (sched->pending != NULL) {
            return;
        }
        sched->sweep++;
        if (!queue_next_sweep(sched) && !queue_admit_materializers(sched)) {
            break;
        }
    }
    if (sched->sweep == SCHED_SWEEPS_MAX) {
        defer_rest(sched);
    }
    sched->in_pass = false;
    end_provisional(sched);
    end_backoffs(sched);
    tell(sched, sched->unsettled.count == 0 ? PASS_SETTLED : PASS_BACKED_OFF);
    settling_pass_ends(sched);
}
