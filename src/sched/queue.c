/* Where nodes wait, and which one is next. */

#include "sched/queue.h"

#include "base/heap.h"
#include "sched/gates.h"

#define NODE_OF(bucket) CONTAINER_OF((bucket), struct node, item)

static struct bucket_queue *this_sweep(struct sched *sched)
{
    return &sched->queues[sched->current];
}

/* The queue that a node is in, if it is in one of the two. */
static struct bucket_queue *sweep_of(struct sched *sched,
                                     const struct node *node)
{
    const bool in = node->place_in_queue == QUEUE_SWEEP ||
                    node->place_in_queue == QUEUE_OTHER_SWEEP;
    return in ? &sched->queues[node->place_in_queue - QUEUE_SWEEP] : NULL;
}

/* -- The heap of nodes that are not eligible yet ------------------------- */

static void put_gated(struct node **nodes, size_t at, struct node *node)
{
    nodes[at] = node;
    node->gate->heap_index = (uint32_t)at + 1;
}

static bool is_sooner(const void *items, size_t a, size_t b)
{
    struct node *const *nodes = items;
    const mono_ms x = gates_eligible_at(nodes[a]);
    const mono_ms y = gates_eligible_at(nodes[b]);
    return x < y || (x == y && nodes[a]->ordinal < nodes[b]->ordinal);
}

static void swap_gated(void *items, size_t a, size_t b)
{
    struct node **nodes = items;
    struct node *moved = nodes[a];
    put_gated(nodes, a, nodes[b]);
    put_gated(nodes, b, moved);
}

static void push_gated(struct sched *sched, struct node *node)
{
    vec_push(&sched->gated, node);
    put_gated(sched->gated.at, sched->gated.count - 1, node);
    heap_up(sched->gated.at, sched->gated.count - 1, is_sooner, swap_gated);
}

static void remove_gated(struct sched *sched, struct node *node)
{
    const size_t at = node->gate->heap_index - 1;
    struct node *last = vec_pop(&sched->gated);
    node->gate->heap_index = 0;
    if (last != node) {
        put_gated(sched->gated.at, at, last);
        heap_up(sched->gated.at, at, is_sooner, swap_gated);
        heap_down(sched->gated.at,
                  sched->gated.count,
                  last->gate->heap_index - 1,
                  is_sooner,
                  swap_gated);
    }
}

/* -- In and out ---------------------------------------------------------- */

void queue_take_out(struct sched *sched, struct node *node)
{
    switch ((enum queue_place)node->place_in_queue) {
    case QUEUE_NONE:
        return;
    case QUEUE_SWEEP:
    case QUEUE_OTHER_SWEEP:
        bucket_queue_remove(sweep_of(sched, node), &node->item);
        break;
    case QUEUE_IDLE:
        list_remove(&node->item.links);
        break;
    case QUEUE_GATED:
        remove_gated(sched, node);
        break;
    case QUEUE_SINGLE:
        sched->single = NULL;
        break;
    }
    node_set_place(node, QUEUE_NONE);
}

static inline void push(struct sched *sched, struct node *node, unsigned queue)
{
    bucket_queue_push(&sched->queues[queue], &node->item, node->height);
    node_set_place(node, (uint8_t)(QUEUE_SWEEP + queue));
}

void queue_push(struct sched *sched, struct node *node)
{
    if (UNLIKELY(sched->single != NULL)) {
        push(sched, sched->single, sched->current);
        sched->single = NULL;
    }
    push(sched, node, sched->current);
}

static void note_deferred(struct sched *sched)
{
    sched->has_deferred = true;
    sched->clean_below = 0;
}

void queue_look_later(struct sched *sched)
{
    sched->clean_below = 0;
    sched->has_deferred =
        !bucket_queue_is_empty(&sched->queues[1 - sched->current]) ||
        !list_is_empty(&sched->idle_materializers);
}

/* The queue for a node that may run. What the sweep has passed already waits
 * for the next one. */
static void put(struct sched *sched, struct node *node)
{
    if (UNLIKELY(sched->in_pass && node->height < sched->sweep_floor)) {
        push(sched, node, 1 - sched->current);
        note_deferred(sched);
    } else {
        queue_put(sched, node);
    }
}

void queue_put_deferred(struct sched *sched, struct node *node)
{
    if (node->gate != NULL) {
        queue_remove(sched, node);
        if (node->gate->rearm || gates_eligible_at(node) > sched->now) {
            push_gated(sched, node);
            node_set_place(node, QUEUE_GATED);
            return;
        }
    } else if (node->place_in_queue != QUEUE_NONE) {
        return;
    }
    if (node->materializer) {
        list_node_init(&node->item.links);
        list_push_back(&sched->idle_materializers, &node->item.links);
        note_deferred(sched);
        node_set_place(node, QUEUE_IDLE);
        return;
    }
    put(sched, node);
}

void queue_promote(struct sched *sched, struct node *node)
{
    if (node->place_in_queue == QUEUE_IDLE) {
        list_remove(&node->item.links);
        put(sched, node);
    }
}

void queue_height_changed(struct sched *sched, struct node *node)
{
    struct bucket_queue *queue = sweep_of(sched, node);
    if (queue != NULL) {
        bucket_queue_move(queue, &node->item, node->height);
    }
}

void queue_release_due(struct sched *sched)
{
    while (sched->gated.count > 0) {
        struct node *node = sched->gated.at[0];
        if (node->gate->rearm || gates_eligible_at(node) > sched->now) {
            return;
        }
        remove_gated(sched, node);
        node_set_place(node, QUEUE_NONE);
        queue_consider(sched, node);
    }
}

/* -- The sweep ----------------------------------------------------------- */

void queue_empty_sweep(struct sched *sched, struct node_list *out)
{
    struct bucket_queue *queue = this_sweep(sched);
    if (sched->single != NULL) {
        struct node *alone = sched->single;
        queue_take_out(sched, alone);
        vec_push(&out->at, alone);
    }
    while (!bucket_queue_is_empty(queue)) {
        struct node *node = NODE_OF(bucket_queue_pop_from(queue, 0));
        node_set_place(node, QUEUE_NONE);
        vec_push(&out->at, node);
    }
}

bool queue_next_sweep(struct sched *sched)
{
    /* Nodes that were lowered below the cursor are still in this sweep's
     * queue. */
    if (sched->single == NULL && bucket_queue_is_empty(this_sweep(sched))) {
        sched->current = 1 - sched->current;
    }
    sched->cursor = 0;
    sched->sweep_floor = 0;
    queue_look_later(sched);
    return sched->single != NULL || !bucket_queue_is_empty(this_sweep(sched));
}

bool queue_admit_materializers(struct sched *sched)
{
    struct list_node *first = list_pop_front(&sched->idle_materializers);
    const bool any = first != NULL;
    while (first != NULL) {
        put(sched, CONTAINER_OF(first, struct node, item.links));
        first = list_pop_front(&sched->idle_materializers);
    }
    queue_look_later(sched);
    return any;
}

mono_ms queue_next_wake(const struct sched *sched)
{
    return sched->gated.count > 0 ? gates_eligible_at(sched->gated.at[0])
                                  : MONO_NEVER;
}
