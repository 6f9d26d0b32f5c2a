/* Reports that the scheduler does not converge. */

#include "sched/settling.h"

#include "sched/circle.h"

enum {
    NAMED_RECORDS = 64, /* the last runs, whose nodes are named */
};

struct restlessness settling_look(const struct sched *sched, mono_ms now)
{
    struct restlessness look = {0};
    if (sched->restless_since == 0 || now < sched->restless_since) {
        return look;
    }
    look.window = now - sched->restless_since;
    look.busy = sched->restless_busy;
    look.told = sched->restless_told;
    if (sched->pass_began != 0) {
        look.busy += now - sched->pass_began;
    }
    return look;
}

bool settling_is_too_long(const struct restlessness *restlessness)
{
    return restlessness->window > SCHED_RESTLESS_MS &&
           restlessness->busy > SCHED_RESTLESS_BUSY_MS &&
           restlessness->busy * 10 > restlessness->window * 3;
}

void settling_rests(struct sched *sched)
{
    sched->restless_since = 0;
    sched->restless_busy = 0;
    sched->restless_told = false;
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

/* E1. */
static void tell(struct sched *sched)
{
    if (sched->restless_told) {
        return;
    }
    sched->restless_told = true;
    if (sched->hooks.not_settling != NULL) {
        sched->hooks.not_settling(
            sched->hooks.ctx,
            (const struct node *const *)sched->unsettled.at,
            sched->unsettled.count);
    }
}

/* E4: a circle is reported once, whichever of its nodes it was found from. */
static void tell_circle(struct sched *sched, const struct circle *circle)
{
    const uint32_t ordinal = circle_ordinal(circle);
    VEC_FOREACH (&sched->told_circles, told) {
        if (*told == ordinal) {
            return;
        }
    }
    vec_push(&sched->told_circles, ordinal);
    sched->hooks.circle(sched->hooks.ctx, circle);
}

static void look_for_circle(struct sched *sched, struct node *node, bool empty)
{
    if (sched->hooks.circle == NULL) {
        return;
    }
    struct circle circle;
    circle_find(sched, node, &circle);
    if (circle.steps.count > 0 && (!empty || circle_is_empty(&circle))) {
        tell_circle(sched, &circle);
    }
    circle_release(&circle);
}

/* Not at once: the walks of runs in progress use the same marks, and a
 * diagnosis must not change what runs. */
void settling_run_failed(struct sched *sched, struct node *node)
{
    if (sched->hooks.circle != NULL) {
        vec_push(&sched->failed_in_circle, node);
    }
}

static void look_for_circles(struct sched *sched)
{
    VEC_FOREACH (&sched->unsettled, node) {
        if ((*node)->gate->backoff_streak >= SCHED_HOLD_PASSES) {
            look_for_circle(sched, *node, false);
        }
    }
    VEC_FOREACH (&sched->failed_in_circle, node) {
        if (*node != NULL) {
            look_for_circle(sched, *node, true);
        }
    }
    vec_clear(&sched->failed_in_circle);
}

/* The pass has taken time, or was not the first. */
static void look_back(struct sched *sched, mono_ms now)
{
    sched->restless_busy += now - sched->pass_began;
    sched->pass_began = 0;
    const struct restlessness look = settling_look(sched, now);
    if (sched->unsettled.count == 0 && !look.told &&
        settling_is_too_long(&look)) {
        collect_runners(sched);
        tell(sched);
        vec_clear(&sched->unsettled);
    }
    if (look.window > SCHED_RESTLESS_SLIDE_MS) { /* E3 */
        sched->restless_since += look.window / 2;
        sched->restless_busy /= 2;
    }
}

void settling_end_pass(struct sched *sched)
{
    if (LIKELY(sched->host != NULL)) {
        const mono_ms now = sched_time(sched);
        if (now != sched->restless_since) {
            look_back(sched, now);
        }
        sched->pass_began = 0;
    }
    drop_removed(sched);
    look_for_circles(sched);
    if (sched->unsettled.count > 0) {
        sched->counters.not_settling++; /* E2 */
        tell(sched);
        vec_clear(&sched->unsettled);
    }
}
