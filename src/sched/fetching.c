/* Requests what restored nodes need. */

#include "sched/fetching.h"

#include "replica/space.h"
#include "sched/graph.h"
#include "sched/runner.h"
#include "sched/waiting.h"

void fetching_note(struct node *node)
{
    node->unloaded = true;
    node->delayed = true; /* it may have to wait: the fast paths do not check */
}

static void set_delayed(struct node *node)
{
    node->delayed = node->gate != NULL || node->materializer ||
                    node->unloaded || node->behind;
}

struct place *fetching_missing(const struct node *node)
{
    VEC_FOREACH (&node->reads, read) {
        if (!read->place->entity->loaded) {
            return read->place;
        }
    }
    for (uint32_t i = 0; i < node->write_count; i++) {
        if (!node->writes[i].place->entity->loaded) {
            return node->writes[i].place;
        }
    }
    return NULL;
}

/* -- Requests ------------------------------------------------------------ */

static void want(const struct place *place)
{
    struct entity *entity = place->entity;
    if (!entity->loaded) {
        space_want(entity->space, entity);
    }
}

static void ask(const struct node *node)
{
    VEC_FOREACH (&node->reads, read) {
        want(read->place);
    }
    for (uint32_t i = 0; i < node->write_count; i++) {
        want(node->writes[i].place);
    }
}

/* fetching-3: how far ahead. Consecutive passes mostly belong to one change. */
static uint32_t next_span(struct sched *sched)
{
    const bool again =
        sched->fetch_pass > 0 && sched->pass <= sched->fetch_pass + 1;
    const bool same = again && sched->pass == sched->fetch_pass;
    if (!again) {
        sched->fetch_span = FETCHING_AHEAD;
    } else if (!same && sched->fetch_span <= UINT32_MAX / 2) {
        sched->fetch_span *= 2;
    }
    sched->fetch_pass = sched->pass;
    return sched->fetch_span;
}

static void reach_readers(struct sched *sched,
                          const struct node *node,
                          uint64_t stamp)
{
    struct reader_walk walk = graph_readers(node);
    for (const struct read_link *read = graph_next_reader(&walk); read != NULL;
         read = graph_next_reader(&walk)) {
        struct node *reader = read->node;
        if (reader->visit != stamp && reader->counted) {
            reader->visit = stamp;
            vec_push(&sched->stack, reader);
        }
    }
}

static void ask_ahead(struct sched *sched, struct node *node)
{
    const uint64_t stamp = ++sched->visits;
    const size_t base = sched->stack.count;
    uint32_t left = next_span(sched);
    node->visit = stamp;
    vec_push(&sched->stack, node);
    for (size_t i = base; i < sched->stack.count && left > 0; i++, left--) {
        const struct node *next = sched->stack.at[i];
        if (next->unloaded) {
            ask(next);
        }
        reach_readers(sched, next, stamp);
    }
    sched->stack.count = base;
}

/* -- Behind -------------------------------------------------------------- */

/* The readers of a node, except those that wait for their own documents, whose
 * readers are marked separately. */
static void mark_readers(struct sched *sched, const struct node *node)
{
    struct reader_walk walk = graph_readers(node);
    for (const struct read_link *read = graph_next_reader(&walk); read != NULL;
         read = graph_next_reader(&walk)) {
        struct node *reader = read->node;
        if (!reader->behind &&
            !(reader->waiting && !waiting_has_documents(sched, reader))) {
            reader->behind = true;
            reader->delayed = true;
            vec_push(&sched->behind, reader);
        }
    }
}

void fetching_mark(struct sched *sched, const struct node *node)
{
    size_t next = sched->behind.count;
    mark_readers(sched, node);
    while (next < sched->behind.count) {
        mark_readers(sched, sched->behind.at[next++]);
    }
}

void fetching_unmark_all(struct sched *sched)
{
    VEC_FOREACH (&sched->behind, node) {
        (*node)->behind = false;
        set_delayed(*node);
    }
    vec_clear(&sched->behind);
}

void fetching_forget(struct sched *sched, struct node *node)
{
    size_t kept = 0;
    for (size_t i = 0; node->behind && i < sched->behind.count; i++) {
        if (sched->behind.at[i] != node) {
            sched->behind.at[kept++] = sched->behind.at[i];
        }
    }
    if (node->behind) {
        sched->behind.count = kept;
        node->behind = false;
    }
}

/* -- Holding ------------------------------------------------------------- */

static void hold(struct sched *sched, struct node *node, bool ahead)
{
    node->waiting = true;
    sched->can_run_fast = false;
    vec_push(&sched->waiting, node);
    sched->counters.held++;
    if (!node->unloaded || fetching_missing(node) == NULL) {
        return; /* it only waits for other nodes */
    }
    if (ahead) {
        ask_ahead(sched, node);
    } else {
        ask(node);
    }
    fetching_mark(sched, node);
}

bool fetching_holds(struct sched *sched, struct node *node, bool ahead)
{
    const bool here = !node->unloaded || fetching_missing(node) == NULL;
    if (here && waiting_has_come(sched, node)) {
        node->unloaded = false;
        set_delayed(node);
        return false;
    }
    if (!node->waiting) {
        hold(sched, node, ahead);
    }
    return true;
}
