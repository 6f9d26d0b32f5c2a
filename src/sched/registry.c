/* Nodes come and go: one place for both. */

#include "sched/registry.h"

#include "base/mem.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/invalidation.h"
#include "sched/liveness.h"
#include "sched/queue.h"
#include "sched/runner.h"

static void count(struct sched *sched, const struct node *node, int by)
{
    size_t *kind =
        node->kind == NODE_EFFECT ? &sched->effects : &sched->computations;
    *kind += (size_t)by;
}

/* Y2. */
static void adopt_child(struct sched *sched, struct node *node)
{
    if (sched->run == NULL) {
        return;
    }
    struct node *parent = sched->run->node;
    node->parent = parent;
    node->born_in = sched->run->number;
    node->height = parent->height + 1; /* before its data says more */
    chain_push(&parent->children, &node->sibling);
    if (node->kind == NODE_COMPUTATION && node_is_live(parent)) {
        node->provisional = sched->pass + 1;
        vec_push(&sched->provisional, node);
    }
}

static void set_gates(struct node *node, const struct node_spec *spec)
{
    if (spec->debounce > 0 || spec->throttle > 0 || spec->no_auto_debounce) {
        node->gate = mem_alloc_zero(sizeof *node->gate);
        node->gate->debounce = spec->debounce;
        node->gate->throttle = spec->throttle;
        node->gate->no_auto_debounce = spec->no_auto_debounce;
    }
}

struct node *registry_add(struct sched *sched, const struct node_spec *spec)
{
    CHECK(spec->kind == NODE_COMPUTATION || spec->output_count == 0);
    struct node *node = mem_alloc_zero(sizeof *node);
    node->run = spec->run;
    node->ctx = spec->ctx;
    node->release = spec->release;
    node->name = value_ref(spec->name);
    node->group = spec->group;
    node->ordinal = sched->ordinals++;
    node->kind = spec->kind;
    node->materializer = spec->envelope_count > 0;
    node_set_status(node, NODE_NEVER_RAN);
    sched->staled++;
    list_node_init(&node->all);
    list_node_init(&node->waiting);
    list_init(&node->flights);
    set_gates(node, spec);
    adopt_child(sched, node);
    graph_declare_reads(node, spec->reads, spec->read_count);

    node->registered = true;
    list_push_back(&sched->nodes, &node->all);
    count(sched, node, 1);
    graph_add_writes(sched, node, spec);
    gates_on_invalid(sched, node);
    if (node_is_root(node)) {
        liveness_root_gained(sched, node);
    }
    return node;
}

void registry_promote(struct sched *sched, struct node *node)
{
    if (node->kind == NODE_EFFECT) {
        return;
    }
    count(sched, node, -1);
    node->kind = NODE_EFFECT;
    count(sched, node, 1);
    liveness_root_gained(sched, node);
}

/* Takes a pointer to the node out of a list of things to do. */
#define FORGET_IN(vec, node)             \
    do {                                 \
        VEC_FOREACH ((vec), forgotten) { \
            if (*forgotten == (node)) {  \
                *forgotten = NULL;       \
            }                            \
        }                                \
    } while (0)

void registry_free(struct sched *sched, struct node *node)
{
    (void)sched;
    CHECK(!node->registered && !node->running);
    invalidation_clear_causes(node);
    vec_release(&node->causes);
    gates_free(sched, node);
    if (node->release != NULL) {
        node->release(node->ctx);
    }
    value_unref(node->name);
    mem_free(node, sizeof *node);
}

void registry_remove(struct sched *sched, struct node *node)
{
    CHECK(node->registered);
    queue_remove(sched, node);
    FORGET_IN(&sched->rearming, node);
    FORGET_IN(&sched->provisional, node);
    FORGET_IN(&sched->recovering, node);
    FORGET_IN(&sched->unsettled, node);
    VEC_FOREACH (&sched->frames, frame) {
        frame->node = frame->node == node ? NULL : frame->node;
    }
    runner_forget(sched, node);
    graph_remove_reads(sched, node);
    node->counted = false;
    node->registered = false;
    graph_remove_writes(sched, node);
    CHECK(node->component == NULL);
    list_remove(&node->all);
    count(sched, node, -1);
    chain_remove(&node->sibling);
    CHAIN_FOREACH(&node->children, link)
    {
        struct node *child = CONTAINER_OF(link, struct node, sibling);
        chain_remove(link);
        child->parent = NULL;
    }
    if (!node->running) {
        registry_free(sched, node);
    }
}
