/* Brings writers up to date before a read returns. */

#include "sched/refresh.h"

#include "sched/fetching.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/runner.h"
#include "sched/settle.h"

#define WRITE_OF(link) CONTAINER_OF((link), struct write_link, in_place)

/* Whether a run in progress has created it. */
static bool is_newborn(const struct run *run, const struct node *node)
{
    if (node->born_in == 0 || node->status != NODE_NEVER_RAN) {
        return false;
    }
    for (; run != NULL; run = run->outer) {
        if (node_mark(run->number) == node->born_in) {
            return true;
        }
    }
    return false;
}

static bool can_run(const struct run *run, struct node *node)
{
    const struct sched *sched = run->sched;
    return node->registered && !node->running &&
           (node->gate == NULL ||
            (!node->gate->rearm && gates_needed_at(node) <= sched->now)) &&
           !node_is_exhausted(node, sched->pass, SCHED_RUNS_MAX) &&
           !is_newborn(run, node) &&
           !(UNLIKELY(node->unloaded || node->behind) &&
             fetching_holds(run->sched, node, false));
}

/* No walk has this stamp: every node is examined. */
#define NO_STAMP UINT64_MAX

static bool needs_look(const struct sched *sched,
                       const struct node *node,
                       uint64_t stamp)
{
    if (LIKELY(node->status == NODE_CLEAN)) {
        return node->verified != sched->stale_epoch &&
               !run_has_passed(sched, node) && !node->running &&
               node->visit != stamp;
    }
    return !node->running && node->visit != stamp;
}

/* A writer of what `frame` reads that has to be examined, or NULL. */
static struct node *next_needed(const struct sched *sched,
                                struct refresh_frame *frame,
                                uint64_t stamp)
{
    const struct node *node = frame->node;
    while (frame->read < node->reads.count) {
        struct writer_walk walk = graph_writers(&node->reads.at[frame->read]);
        walk.envelopes = true;
        for (struct node *writer = graph_next_writer(&walk); writer != NULL;
             writer = graph_next_writer(&walk)) {
            if (needs_look(sched, writer, stamp)) {
                return writer;
            }
        }
        frame->read++;
    }
    return NULL;
}

/* settle-6 of settle.h. A handler and a view on a transaction are not abandoned
 * for that: they have no turn that would come again by itself. What the
 * outermost run has read is read again, so the limit is a fraction of that:
 * otherwise a long list would take quadratic time. */
static bool can_pause(const struct run *run)
{
    const struct sched *sched = run->sched;
    const struct run *outermost = run;
    for (; run != NULL; run = run->outer) {
        if (run->handling != NULL || run_is_thrown_away(run)) {
            return false;
        }
        outermost = run;
    }
    return outermost->transaction->reads.count / SCHED_BURST_SHARE <=
               sched->inflight - sched->burst_from ||
           settle_is_interrupted(sched);
}

static void unwind(struct sched *sched)
{
    sched->unwinding = true;
    sched->can_run_fast = false;
    sched->cursor = 0;
    sched->sweep_floor = 0;
    sched->clean_below = 0;
}

/* Runs a node inside the read. If that would be too deep, or the pass has to
 * pause, all runs in progress are abandoned, and the sweep begins again at the
 * bottom: what was needed is known now, and comes first. But in a cycle one
 * node has to begin: there, what is too deep is read as it is, and its change
 * invalidates the reader later. */
static void run_inside(struct run *run, struct node *node)
{
    struct sched *sched = run->sched;
    const bool deep = run->depth + 1 >= sched->nesting;
    if (!deep) {
        runner_run(sched, node);
    } else if (node->component != NULL &&
               node->component == run->node->component) {
        return;
    }
    if (UNLIKELY(settle_must_pause(sched)) && sched->in_pass &&
        can_pause(run)) {
        settle_pause(sched);
    }
    if (deep || sched->paused) {
        unwind(sched);
    }
}

bool settle_gives_way(struct run *run)
{
    struct sched *sched = run->sched;
    if (!settle_glance(sched) || !sched->in_pass || !can_pause(run)) {
        return false;
    }
    settle_pause(sched);
    unwind(sched);
    return true;
}

/* Runs the writer, after everything that it needs. */
static void refresh(struct run *run, struct node *writer, uint64_t stamp)
{
    struct sched *sched = run->sched;
    const size_t base = sched->frames.count;
    const struct refresh_frame first = {writer, 0};
    writer->visit = stamp;
    vec_push(&sched->frames, first);
    while (sched->frames.count > base && !sched->unwinding) {
        struct refresh_frame *top = vec_last(&sched->frames);
        struct node *node = top->node;
        sched->counters.looks++;
        if (node == NULL) { /* its parent has run, and removed it */
            sched->frames.count--;
            continue;
        }
        if (node_is_stale(node)) {
            sched->frames.count--;
            if (can_run(run, node)) {
                run_inside(run, node); /* its reads see to what it needs */
            }
            continue;
        }
        struct node *needed = next_needed(sched, top, stamp);
        if (needed == NULL) {
            node->verified = sched->stale_epoch;
            sched->frames.count--;
            continue;
        }
        const struct refresh_frame next = {needed, 0};
        needed->visit = stamp;
        vec_push(&sched->frames, next);
    }
    sched->frames.count = base;
}

/* The first writer of the read that has to be examined, or NULL. */
static struct node *stale_writer(const struct sched *sched,
                                 const struct read_link *read,
                                 uint64_t stamp)
{
    struct writer_walk walk = graph_writers(read);
    walk.envelopes = true;
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        if (needs_look(sched, writer, stamp)) {
            return writer;
        }
    }
    return NULL;
}

/* Whether one of the writers at the place itself has to be examined. */
static bool has_stale_writer(const struct run *run, const struct place *place)
{
    const struct sched *sched = run->sched;
    for (struct chain_link *link = place->writers.first; link != NULL;
         link = link->next) {
        const struct node *writer = WRITE_OF(link)->node;
        if (writer != run->node && needs_look(sched, writer, NO_STAMP)) {
            return true;
        }
    }
    return false;
}

void refresh_for_read(struct run *run, struct place *place, enum read_kind kind)
{
    struct sched *sched = run->sched;
    /* Nearly always a payload, with writers nowhere else in its document. */
    if (LIKELY(place == place->entity->payload && place->writers_below == 0 &&
               place->entity->root == NULL && !has_stale_writer(run, place))) {
        return;
    }
    const struct read_link read = {
        .node = run->node,
        .place = place,
        .kind = (uint8_t)kind,
    };
    struct node *writer = stale_writer(sched, &read, NO_STAMP);
    if (LIKELY(writer == NULL)) {
        return;
    }
    const uint64_t stamp = ++sched->visits;
    while (writer != NULL && !sched->unwinding) {
        refresh(run, writer, stamp);
        writer = stale_writer(sched, &read, stamp);
    }
}
