/* Heights of nodes, and the cycles among them. */

#include "sched/order.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sched/graph.h"
#include "sched/queue.h"

uint32_t order_top(const struct node *writer)
{
    return writer->component != NULL ? writer->component->top : writer->height;
}

static bool is_same_component(const struct node *a, const struct node *b)
{
    return a->component != NULL && a->component == b->component;
}

/* -- Raising ------------------------------------------------------------- */

static void set_height(struct sched *sched, struct node *node, uint32_t height)
{
    CHECK(height <= BUCKET_KEY_MAX);
    sched->counters.height_work++;
    node->height = height;
    queue_height_changed(sched, node);
}

/* Lifts a node, or its whole component, and pushes what was lifted, so that its
 * readers are examined. */
static void lift(struct sched *sched, struct node *node, uint32_t height)
{
    struct component *component = node->component;
    if (component == NULL) {
        set_height(sched, node, height);
        vec_push(&sched->stack, node);
        return;
    }
    const uint32_t by = height - node->height;
    component->top += by;
    VEC_FOREACH (&component->members, member) {
        set_height(sched, *member, (*member)->height + by);
        vec_push(&sched->stack, *member);
    }
}

/* order-1 and order-3 for the readers of everything above `base` on the
 * stack. */
static void lift_readers(struct sched *sched, size_t base)
{
    while (sched->stack.count > base) {
        const struct node *node = vec_pop(&sched->stack);
        struct reader_walk walk = graph_readers(node);
        for (struct read_link *read = graph_next_reader(&walk); read != NULL;
             read = graph_next_reader(&walk)) {
            struct node *reader = read->node;
            const uint32_t top = order_top(node);
            if (!is_same_component(node, reader) && reader->height <= top) {
                lift(sched, reader, top + 1);
            }
        }
    }
}

static void raise_above(struct sched *sched,
                        const struct node *writer,
                        struct node *reader)
{
    const uint32_t top = order_top(writer);
    if (reader->height <= top && !is_same_component(writer, reader)) {
        const size_t base = sched->stack.count;
        lift(sched, reader, top + 1);
        lift_readers(sched, base);
    }
}

/* -- Finding a cycle ----------------------------------------------------- */

/* All nodes that `from` leads to and that can lead to `to`, as far as heights
 * tell: stamped, and in sched->found. Returns whether `to` is among them. What
 * is beyond `to` does not matter, and edges there may be new and not yet
 * processed. */
static bool walk_forward(struct sched *sched,
                         struct node *from,
                         const struct node *to,
                         uint64_t stamp)
{
    const uint32_t limit = order_top(to);
    const size_t base = sched->stack.count;
    bool reached = false;
    vec_clear(&sched->found);
    from->visit = stamp;
    vec_push(&sched->stack, from);
    while (sched->stack.count > base) {
        struct node *node = vec_pop(&sched->stack);
        sched->counters.height_work++;
        vec_push(&sched->found, node);
        reached = reached || node == to;
        if (node == to && from != to) {
            continue;
        }
        struct reader_walk walk = graph_readers(node);
        for (struct read_link *read = graph_next_reader(&walk); read != NULL;
             read = graph_next_reader(&walk)) {
            struct node *reader = read->node;
            if (reader->visit != stamp &&
                (reader->height <= limit || is_same_component(reader, to))) {
                reader->visit = stamp;
                vec_push(&sched->stack, reader);
            }
        }
    }
    return reached;
}

/* Of the nodes with `stamp`, those that lead from `from` to `to`: stamped with
 * the next number, and alone in sched->found. What is before `from` does not
 * matter, likewise. */
static void walk_backward(struct sched *sched,
                          const struct node *from,
                          struct node *to,
                          uint64_t stamp)
{
    const size_t base = sched->stack.count;
    vec_clear(&sched->found);
    to->visit = stamp + 1;
    vec_push(&sched->stack, to);
    while (sched->stack.count > base) {
        struct node *node = vec_pop(&sched->stack);
        vec_push(&sched->found, node);
        if (node == from && from != to) {
            continue;
        }
        VEC_FOREACH (&node->reads, read) {
            if (!chain_link_is_in(&read->in_place)) {
                continue; /* not an edge yet */
            }
            struct writer_walk walk = graph_writers(read);
            for (struct node *writer = graph_next_writer(&walk); writer != NULL;
                 writer = graph_next_writer(&walk)) {
                if (writer->visit == stamp) {
                    writer->visit = stamp + 1;
                    vec_push(&sched->stack, writer);
                }
            }
        }
    }
}

/* -- The order inside a component ---------------------------------------- */

static int compare_ordinals(const void *a, const void *b)
{
    const struct node *left = *(struct node *const *)a;
    const struct node *right = *(struct node *const *)b;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

/* While members are being placed, `visit` of a waiting member is 1 plus the
 * number of edges from other waiting members; of a placed one it is 0. */
static bool waits(const struct node *node, const struct component *component)
{
    return node->component == component && node->visit != 0;
}

static void count_waiting_writers(struct node *node)
{
    node->visit = 1;
    VEC_FOREACH (&node->reads, read) {
        if (!chain_link_is_in(&read->in_place)) {
            continue; /* not an edge yet */
        }
        struct writer_walk walk = graph_writers(read);
        for (const struct node *writer = graph_next_writer(&walk);
             writer != NULL;
             writer = graph_next_writer(&walk)) {
            node->visit += writer->component == node->component;
        }
    }
}

/* A heap of members by registration, above `base` on the stack. */
static bool is_before(const struct sched *sched, size_t a, size_t b)
{
    return sched->stack.at[a]->ordinal < sched->stack.at[b]->ordinal;
}

static void swap_ready(struct sched *sched, size_t a, size_t b)
{
    struct node *node = sched->stack.at[a];
    sched->stack.at[a] = sched->stack.at[b];
    sched->stack.at[b] = node;
}

static void push_ready(struct sched *sched, size_t base, struct node *node)
{
    vec_push(&sched->stack, node);
    size_t at = sched->stack.count - base;
    for (; at > 1 && is_before(sched, base + at - 1, base + at / 2 - 1);
         at /= 2) {
        swap_ready(sched, base + at - 1, base + at / 2 - 1);
    }
}

static struct node *pop_ready(struct sched *sched, size_t base)
{
    swap_ready(sched, base, sched->stack.count - 1);
    struct node *first = vec_pop(&sched->stack);
    const size_t count = sched->stack.count - base;
    for (size_t at = 1, child = 2; child <= count; at = child, child *= 2) {
        if (child < count && is_before(sched, base + child, base + child - 1)) {
            child++;
        }
        if (!is_before(sched, base + child - 1, base + at - 1)) {
            break;
        }
        swap_ready(sched, base + child - 1, base + at - 1);
    }
    return first;
}

/* No member is ready: takes the first by registration, which is never a child
 * before its parent. *from is where waiting members begin. */
static struct node *break_cycle(const struct component *component, size_t *from)
{
    while (!waits(component->members.at[*from], component)) {
        (*from)++;
    }
    return component->members.at[*from];
}

/* A member has its place: members that only waited for it are ready. */
static void release_readers(struct sched *sched, size_t base, struct node *node)
{
    node->visit = 0;
    struct reader_walk walk = graph_readers(node);
    for (struct read_link *read = graph_next_reader(&walk); read != NULL;
         read = graph_next_reader(&walk)) {
        struct node *reader = read->node;
        if (waits(reader, node->component) && --reader->visit == 1) {
            push_ready(sched, base, reader);
        }
    }
}

/* The least height that the writers outside allow. */
static uint32_t floor_of(const struct node *node)
{
    uint32_t height = 0;
    VEC_FOREACH (&node->reads, read) {
        struct writer_walk walk = graph_writers(read);
        for (const struct node *writer = graph_next_writer(&walk);
             writer != NULL;
             writer = graph_next_writer(&walk)) {
            if (writer->component != node->component &&
                order_top(writer) >= height) {
                height = order_top(writer) + 1;
            }
        }
    }
    return height;
}

/* Gives the members their heights, one above the other (order-2): a member that
 * reads from no waiting one goes first, in order of registration. */
static void arrange(struct sched *sched, struct component *component)
{
    qsort(component->members.at,
          component->members.count,
          sizeof *component->members.at,
          compare_ordinals);
    uint32_t height = 0;
    VEC_FOREACH (&component->members, member) {
        count_waiting_writers(*member);
        const uint32_t floor = floor_of(*member);
        height = floor > height ? floor : height;
    }
    const size_t ready = sched->stack.count;
    size_t from = 0;
    for (size_t i = 0; i < component->members.count; i++) {
        struct node *next = sched->stack.count > ready
                                ? pop_ready(sched, ready)
                                : break_cycle(component, &from);
        release_readers(sched, ready, next);
        set_height(sched, next, height++);
    }
    component->top = height - 1;
    component->loose = false;
    VEC_FOREACH (&component->members, member) {
        vec_push(&sched->stack, *member);
    }
    lift_readers(sched, ready);
}

/* -- Making and splitting components ------------------------------------- */

static void component_free(struct component *component)
{
    vec_release(&component->members);
    mem_free(component, sizeof *component);
}

/* Makes one component of what is in sched->found; components that are parts of
 * it are freed. */
static void join_found(struct sched *sched)
{
    struct component *joined = mem_alloc_zero(sizeof *joined);
    VEC_FOREACH (&sched->found, at) {
        struct node *node = *at;
        struct component *old = node->component;
        if (old == joined) {
            continue;
        }
        if (old == NULL) {
            node->component = joined;
            joined->top =
                node->height > joined->top ? node->height : joined->top;
            vec_push(&joined->members, node);
            continue;
        }
        joined->top = old->top > joined->top ? old->top : joined->top;
        VEC_FOREACH (&old->members, member) {
            (*member)->component = joined;
            vec_push(&joined->members, *member);
        }
        component_free(old);
    }
    joined->loose = true;
}

void order_join(struct sched *sched, struct node *writer, struct node *reader)
{
    if (UNLIKELY(is_same_component(writer, reader))) {
        writer->component->loose = true;
        return;
    }
    if (LIKELY(reader->height > order_top(writer))) {
        return; /* a cycle would have lifted the writer as well */
    }
    const uint64_t stamp = sched->visits + 1;
    sched->visits += 2;
    if (walk_forward(sched, reader, writer, stamp)) {
        walk_backward(sched, reader, writer, stamp);
        join_found(sched);
    }
}

void order_raise(struct sched *sched, struct node *writer, struct node *reader)
{
    if (UNLIKELY(is_same_component(writer, reader))) {
        if (writer->component->loose) {
            arrange(sched, writer->component);
        }
        return;
    }
    raise_above(sched, writer, reader);
}

/* Finds what is strongly connected with `node`, into sched->found. */
static void find_part(struct sched *sched, struct node *node)
{
    const uint64_t stamp = sched->visits + 1;
    sched->visits += 2;
    (void)walk_forward(sched, node, node, stamp);
    walk_backward(sched, node, node, stamp);
}

/* order-1 for what a node reads. */
static void raise_above_writers(struct sched *sched, struct node *node)
{
    if (!node->attached) {
        return;
    }
    VEC_FOREACH (&node->reads, read) {
        struct writer_walk walk = graph_writers(read);
        for (const struct node *writer = graph_next_writer(&walk);
             writer != NULL;
             writer = graph_next_writer(&walk)) {
            raise_above(sched, writer, node);
        }
    }
}

void order_split(struct sched *sched, struct component *component)
{
    VEC(struct node *) members = {0};
    VEC_FOREACH (&component->members, member) {
        vec_push(&members, *member);
    }
    VEC_FOREACH (&members, at) {
        struct node *node = *at;
        if (node->component != component) {
            continue; /* is in a part already */
        }
        find_part(sched, node);
        if (sched->found.count == 1) {
            node->component = NULL;
            continue;
        }
        struct component *part = mem_alloc_zero(sizeof *part);
        part->top = component->top;
        VEC_FOREACH (&sched->found, found) {
            (*found)->component = part;
            vec_push(&part->members, *found);
        }
    }
    component_free(component);
    /* Edges that went against the order inside are ordinary edges now. */
    VEC_FOREACH (&members, at) {
        if ((*at)->component != NULL &&
            (*at)->component->members.at[0] == *at) {
            arrange(sched, (*at)->component);
        }
    }
    VEC_FOREACH (&members, at) {
        raise_above_writers(sched, *at);
    }
    vec_release(&members);
}

/* -- Check --------------------------------------------------------------- */

bool order_check(const struct node *node)
{
    if (!node->registered || !node->attached) {
        return true;
    }
    VEC_FOREACH (&node->reads, read) {
        struct writer_walk walk = graph_writers(read);
        for (const struct node *writer = graph_next_writer(&walk);
             writer != NULL;
             writer = graph_next_writer(&walk)) {
            if (!is_same_component(writer, node) &&
                node->height <= order_top(writer)) {
                return false;
            }
        }
    }
    return true;
}
