/* Counts of live readers per node, and which nodes are live. */

#include "sched/liveness.h"

#include "base/mem.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/invalidation.h"
#include "sched/order.h"
#include "sched/queue.h"

/* Whether the component has a reason to be live outside itself. */
static bool is_supported(const struct component *component)
{
    VEC_FOREACH (&component->members, member) {
        if (node_is_root(*member)) {
            return true;
        }
        struct reader_walk walk = graph_readers(*member);
        for (const struct read_link *read = graph_next_reader(&walk);
             read != NULL;
             read = graph_next_reader(&walk)) {
            if (read->node->component != component && read->node->counted) {
                return true;
            }
        }
    }
    return false;
}

/* -- Waking -------------------------------------------------------------- */

/* Puts what leads to `top` and is not live into sched->waking, writers before
 * their readers. On the stack, a NULL is above each node that is being left. */
static void collect_sleepers(struct sched *sched, struct node *top)
{
    const uint64_t stamp = ++sched->visits;
    const size_t base = sched->stack.count;
    vec_push(&sched->stack, top);
    while (sched->stack.count > base) {
        struct node *node = vec_pop(&sched->stack);
        if (node == NULL) {
            node = vec_pop(&sched->stack);
            vec_push(&sched->waking, node);
            continue;
        }
        if (node->visit == stamp) {
            continue;
        }
        node->visit = stamp;
        vec_push(&sched->stack, node);
        vec_push(&sched->stack, NULL);
        for (size_t i = node->reads.count; i > 0; i--) { /* the first on top */
            struct writer_walk walk = graph_writers(&node->reads.at[i - 1]);
            for (struct node *writer = graph_next_writer(&walk); writer != NULL;
                 writer = graph_next_writer(&walk)) {
                if (writer->registered && !writer->counted &&
                    writer->visit != stamp) {
                    vec_push(&sched->stack, writer);
                }
            }
        }
    }
}

/* A node becomes live, and with it everything that it reads from. First they
 * are attached, from below: so each gets its height once, however long the
 * chain is. Then their reads are counted. */
static void wake(struct sched *sched, struct node *top)
{
    const size_t base = sched->waking.count;
    if (top->reads.count > 0) {
        collect_sleepers(sched, top);
    } else { /* nothing leads to it */
        vec_push(&sched->waking, top);
    }
    for (size_t i = base; i < sched->waking.count; i++) {
        struct node *node = sched->waking.at[i];
        if (!node->attached) {
            invalidation_rebuild_causes(sched, node);
            graph_attach(sched, node);
        }
    }
    for (size_t i = base; i < sched->waking.count; i++) {
        struct node *node = sched->waking.at[i];
        sched->counters.liveness_work++;
        node->counted = true;
        VEC_FOREACH (&node->reads, read) {
            struct writer_walk walk = graph_writers(read);
            for (struct node *writer = graph_next_writer(&walk); writer != NULL;
                 writer = graph_next_writer(&walk)) {
                writer->live_refs++;
            }
        }
        queue_consider(sched, node);
    }
    sched->waking.count = base;
}

void liveness_grant(struct sched *sched, struct node *writer)
{
    writer->live_refs++;
    sched->counters.liveness_work++;
    if (writer->registered && !writer->counted) {
        wake(sched, writer);
    }
}

/* The same for a new node without declared reads: nothing leads to it. */
static void wake_new(struct sched *sched, struct node *node)
{
    graph_attach(sched, node);
    sched->counters.liveness_work++;
    node->counted = true;
    queue_consider(sched, node);
}

void liveness_root_gained(struct sched *sched, struct node *node)
{
    if (!node->registered || node->counted) {
        return;
    }
    if (LIKELY(node->reads.count == 0 && node->status == NODE_NEVER_RAN)) {
        wake_new(sched, node);
    } else {
        wake(sched, node);
    }
}

/* -- Becoming dormant ---------------------------------------------------- */

/* The node is not live any more: its reads do not count. Their writers are
 * pushed, to be examined. */
static void stop_counting(struct sched *sched, struct node *node)
{
    if (!node->counted) {
        return;
    }
    node->counted = false;
    sched->counters.liveness_work++;
    VEC_FOREACH (&node->reads, read) {
        struct writer_walk walk = graph_writers(read);
        for (struct node *writer = graph_next_writer(&walk); writer != NULL;
             writer = graph_next_writer(&walk)) {
            CHECK(writer->live_refs > 0);
            writer->live_refs--;
            vec_push(&sched->stack, writer);
        }
    }
}

static void put_to_sleep(struct sched *sched, struct node *node)
{
    stop_counting(sched, node);
    if (node->again) {
        return;
    }
    queue_remove(sched, node);
    gates_on_sleep(node);
    vec_push(&sched->waking, node);
}

/* graph-1. Comes last, because it may dissolve a component. */
static void detach_stale(struct sched *sched, size_t base)
{
    while (sched->waking.count > base) {
        struct node *node = vec_pop(&sched->waking);
        if (node_is_stale(node) && !node->counted) {
            graph_detach(sched, node);
        }
    }
}

static void sleep_all(struct sched *sched, size_t base)
{
    const size_t asleep = sched->waking.count;
    while (sched->stack.count > base) {
        struct node *node = vec_pop(&sched->stack);
        if (!node->counted) {
            continue;
        }
        if (node->component == NULL) {
            if (!node_is_live(node)) {
                put_to_sleep(sched, node);
            }
        } else if (!is_supported(node->component)) {
            VEC_FOREACH (&node->component->members, member) {
                put_to_sleep(sched, *member);
            }
        }
    }
    detach_stale(sched, asleep);
}

void liveness_reconsider(struct sched *sched, struct node *node)
{
    const size_t base = sched->stack.count;
    vec_push(&sched->stack, node);
    sleep_all(sched, base);
}

void liveness_withdraw(struct sched *sched, struct node *writer)
{
    CHECK(writer->live_refs > 0);
    writer->live_refs--;
    sched->counters.liveness_work++;
    liveness_reconsider(sched, writer);
}

void liveness_root_lost(struct sched *sched, struct node *node)
{
    liveness_reconsider(sched, node);
}

/* -- The definition ------------------------------------------------------ */

/* Marks everything that is live, from the roots. */
static void mark_live(struct sched *sched)
{
    const uint64_t stamp = ++sched->visits;
    const size_t base = sched->stack.count;
    LIST_FOREACH (&sched->nodes, at) {
        struct node *node = CONTAINER_OF(at, struct node, all);
        if (node_is_root(node)) {
            node->visit = stamp;
            vec_push(&sched->stack, node);
        }
    }
    while (sched->stack.count > base) {
        const struct node *node = vec_pop(&sched->stack);
        VEC_FOREACH (&node->reads, read) {
            struct writer_walk walk = graph_writers(read);
            for (struct node *writer = graph_next_writer(&walk); writer != NULL;
                 writer = graph_next_writer(&walk)) {
                if (writer->registered && writer->visit != stamp) {
                    writer->visit = stamp;
                    vec_push(&sched->stack, writer);
                }
            }
        }
    }
}

bool liveness_check(struct sched *sched)
{
    mark_live(sched);
    bool holds = true;
    LIST_FOREACH (&sched->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        const bool live = node->visit == sched->visits;
        uint32_t refs = 0;
        struct reader_walk walk = graph_readers(node);
        for (const struct read_link *read = graph_next_reader(&walk);
             read != NULL;
             read = graph_next_reader(&walk)) {
            refs += read->node->visit == sched->visits;
        }
        holds = holds && node->counted == live && node_is_live(node) == live &&
                node->live_refs == refs;
    }
    return holds;
}
