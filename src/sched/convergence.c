/* Reports that the scheduler does not converge. */

#include "sched/convergence.h"

#include "sched/cycle.h"

enum {
    NAMED_RECORDS = 64, /* the last runs, whose nodes are named */
};

struct convergence convergence_look(const struct sched *sched, mono_ms now)
{
    struct convergence look = {0};
    if (sched->episode_began == 0 || now < sched->episode_began) {
        return look;
    }
    look.window = now - sched->episode_began;
    look.busy = sched->episode_busy;
    look.told = sched->episode_reported;
    if (sched->pass_began != 0) {
        look.busy += now - sched->pass_began;
    }
    return look;
}

bool convergence_is_too_slow(const struct convergence *convergence)
{
    return convergence->window > SCHED_EPISODE_MS &&
           convergence->busy > SCHED_EPISODE_BUSY_MS &&
           convergence->busy * 10 > convergence->window * 3;
}

void convergence_reset(struct sched *sched)
{
    sched->episode_began = 0;
    sched->episode_busy = 0;
    sched->episode_reported = false;
}

/* -- Which nodes --------------------------------------------------------- */

/* The nodes that ran last, each once, most recent first, into `unsettled`,
 * which is empty. The nodes are walked once: there may be very many of them. */
static void collect_runners(struct sched *sched)
{
    struct node *nodes[NAMED_RECORDS] = {0};
    const struct run_record *records[NAMED_RECORDS];
    size_t count = 0;
    for (uint64_t back = 0; back < NAMED_RECORDS && back < sched->run_number;
         back++) {
        const uint64_t number = sched->run_number - back;
        records[count] = &sched->records[number % SCHED_RECORDS];
        count += records[count]->number == number;
    }
    LIST_FOREACH (&sched->nodes, at) {
        struct node *node = CONTAINER_OF(at, struct node, all);
        for (size_t i = 0; i < count; i++) {
            if (records[i]->ordinal == node->ordinal) {
                nodes[i] = node;
                break;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] != NULL) {
            vec_push(&sched->unsettled, nodes[i]);
        }
    }
}

static void drop_removed(struct sched *sched)
{
    size_t kept = 0;
    VEC_FOREACH (&sched->unsettled, node) {
        if (*node != NULL) {
            sched->unsettled.at[kept++] = *node;
        }
    }
    sched->unsettled.count = kept;
}

/* convergence-1. */
static void tell(struct sched *sched)
{
    if (sched->episode_reported) {
        return;
    }
    sched->episode_reported = true;
    if (sched->hooks.not_settling != NULL) {
        sched->hooks.not_settling(
            sched->hooks.ctx,
            (const struct node *const *)sched->unsettled.at,
            sched->unsettled.count);
    }
}

/* convergence-4: a cycle is reported once, whichever of its nodes it was found
 * from. */
static void report_cycle(struct sched *sched, const struct cycle *cycle)
{
    const uint32_t ordinal = cycle_ordinal(cycle);
    VEC_FOREACH (&sched->reported_cycles, told) {
        if (*told == ordinal) {
            return;
        }
    }
    vec_push(&sched->reported_cycles, ordinal);
    sched->hooks.cycle(sched->hooks.ctx, cycle);
}

static void look_for_cycle(struct sched *sched, struct node *node, bool empty)
{
    if (sched->hooks.cycle == NULL) {
        return;
    }
    struct cycle cycle;
    cycle_find(sched, node, &cycle);
    if (cycle.steps.count > 0 && (!empty || cycle_is_empty(&cycle))) {
        report_cycle(sched, &cycle);
    }
    cycle_release(&cycle);
}

/* Not at once: the walks of runs in progress use the same marks, and a
 * diagnosis must not change what runs. */
void convergence_run_failed(struct sched *sched, struct node *node)
{
    if (sched->hooks.cycle != NULL) {
        vec_push(&sched->failed_in_cycle, node);
    }
}

static void look_for_circles(struct sched *sched)
{
    VEC_FOREACH (&sched->unsettled, node) {
        if ((*node)->gate->backoff_streak >= SCHED_HOLD_PASSES) {
            look_for_cycle(sched, *node, false);
        }
    }
    VEC_FOREACH (&sched->failed_in_cycle, node) {
        if (*node != NULL) {
            look_for_cycle(sched, *node, true);
        }
    }
    vec_clear(&sched->failed_in_cycle);
}

/* The pass has taken time, or was not the first. */
static void look_back(struct sched *sched, mono_ms now)
{
    sched->episode_busy += now - sched->pass_began;
    sched->pass_began = 0;
    const struct convergence look = convergence_look(sched, now);
    if (sched->unsettled.count == 0 && !look.told &&
        convergence_is_too_slow(&look)) {
        collect_runners(sched);
        tell(sched);
        vec_clear(&sched->unsettled);
    }
    if (look.window > SCHED_EPISODE_SLIDE_MS) { /* convergence-3 */
        sched->episode_began += look.window / 2;
        sched->episode_busy /= 2;
    }
}

void convergence_end_pass(struct sched *sched)
{
    if (LIKELY(sched->host != NULL)) {
        const mono_ms now = sched_time(sched);
        if (now != sched->episode_began) {
            look_back(sched, now);
        }
        sched->pass_began = 0;
    }
    drop_removed(sched);
    look_for_circles(sched);
    if (sched->unsettled.count > 0) {
        sched->counters.not_settling++; /* convergence-2 */
        tell(sched);
        vec_clear(&sched->unsettled);
    }
}
