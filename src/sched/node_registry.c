/* Registration and removal of nodes. */

#include "sched/node_registry.h"

#include "base/mem.h"
#include "sched/evaluation.h"
#include "sched/events.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/invalidation.h"
#include "sched/liveness.h"
#include "sched/persistence.h"
#include "sched/queue.h"
#include "sched/runner.h"

static void count(struct sched *sched, const struct node *node, int by)
{
    size_t *kind =
        node->kind == NODE_EFFECT ? &sched->effects : &sched->computations;
    *kind += (size_t)by;
}

/* Whether a live node needs the run: its own node is live, or a live one is
 * reading its outputs, and is not linked as a reader yet. */
static bool is_wanted(const struct run *run)
{
    while (run != NULL && !node_is_live(run->node)) {
        run = run->outer;
    }
    return run != NULL;
}

/* node-registry-2. */
static void adopt_child(struct sched *sched,
                        struct node *node,
                        struct node *named)
{
    struct run *run = sched->run;
    if (run != NULL && run->handling != NULL) {
        run = NULL; /* what a handler starts is bound to its commit instead */
    }
    struct node *parent = named != NULL || run == NULL ? named : run->node;
    if (parent == NULL) {
        return;
    }
    node->parent = parent;
    node->born_in = run != NULL ? node_mark(run->number) : 0;
    node->height = parent->height + 1; /* until its reads say more */
    chain_push(&parent->children, &node->sibling);
    if (named == NULL && node->kind == NODE_COMPUTATION && is_wanted(run)) {
        node->provisional = node_mark(sched->pass);
        vec_push(&sched->provisional, node);
    }
}

static void set_gates(struct sched *sched,
                      struct node *node,
                      const struct node_spec *spec)
{
    sched->immediates += spec->immediate;
    if (spec->debounce > 0 || spec->debounce_max > 0 || spec->throttle > 0 ||
        spec->no_auto_debounce || spec->immediate) {
        node->gate = mem_alloc_zero(sizeof *node->gate);
        node->delayed = true;
        node->gate->debounce = spec->debounce;
        node->gate->debounce_max = spec->debounce_max;
        node->gate->throttle = spec->throttle;
        node->gate->no_auto_debounce = spec->no_auto_debounce;
        node->gate->immediate = spec->immediate;
    }
}

static void set_label(struct node *node, const struct node_spec *spec)
{
    if (!value_is_absent(spec->name) || spec->group != NULL ||
        spec->release != NULL || spec->identity != NULL ||
        !value_is_absent(spec->clearance)) {
        node->label = mem_alloc(sizeof *node->label);
        node->label->persisted = NULL;
        node->label->name = value_ref(spec->name);
        node->label->group = spec->group;
        node->label->clearance = value_ref(spec->clearance);
        node->label->release = spec->release;
    }
}

struct node *node_registry_add(struct sched *sched,
                               const struct node_spec *spec)
{
    CHECK(spec->kind == NODE_COMPUTATION || spec->output_count == 0);
    struct node *node = pool_new(&sched->node_pool, sizeof *node);
    node->run = spec->run;
    node->ctx = spec->ctx;
    node->ordinal = sched->ordinals++;
    node->kind = spec->kind;
    node->coordinator = spec->coordinates;
    node->unshared = spec->unshared;
    node->materializer = spec->envelope_count > 0;
    node->delayed = node->materializer;
    node_set_status(node, NODE_NEVER_RAN);
    sched->stale_epoch++;
    list_node_init(&node->all);
    set_label(node, spec);
    set_gates(sched, node, spec);
    if (!spec->parentless) {
        adopt_child(sched, node, spec->parent);
    }
    const bool restored = UNLIKELY(spec->identity != NULL) &&
                          persistence_register(sched, node, spec);
    if (!restored) {
        graph_declare_reads(node, spec->reads, spec->read_count);
    }

    node->registered = true;
    chain_push(&sched->sleepers, &node->asleep);
    list_push_back(&sched->nodes, &node->all);
    count(sched, node, 1);
    if (UNLIKELY(node->status == NODE_CLEAN)) {
        graph_attach(sched, node); /* graph-1 of graph.h */
    }
    graph_add_writes(sched, node, spec);
    if (LIKELY(node->status != NODE_CLEAN)) {
        gates_on_invalid(sched, node);
    }
    if (node_is_root(node)) {
        liveness_root_gained(sched, node);
    }
    return node;
}

void node_registry_promote(struct sched *sched, struct node *node)
{
    if (node->kind == NODE_EFFECT) {
        return;
    }
    count(sched, node, -1);
    node->kind = NODE_EFFECT;
    count(sched, node, 1);
    liveness_root_gained(sched, node);
}

/* Removes a pointer to the node from a work list. */
#define FORGET_IN(vec, node)             \
    do {                                 \
        VEC_FOREACH ((vec), forgotten) { \
            if (*forgotten == (node)) {  \
                *forgotten = NULL;       \
            }                            \
        }                                \
    } while (0)

void node_registry_free(struct sched *sched, struct node *node)
{
    CHECK(!node->registered && !node->running);
    invalidation_release_causes(node);
    gates_free(sched, node);
    if (node->label != NULL) {
        if (node->label->release != NULL) {
            node->label->release(node->ctx);
        }
        value_unref(node->label->name);
        value_unref(node->label->clearance);
        mem_free(node->label, sizeof *node->label);
    }
    pool_free(&sched->node_pool, node, sizeof *node);
}

void node_registry_remove(struct sched *sched, struct node *node)
{
    CHECK(node->registered);
    queue_remove(sched, node);
    sched->immediates -= node->gate != NULL && node->gate->immediate;
    FORGET_IN(&sched->rearming, node);
    FORGET_IN(&sched->provisional, node);
    FORGET_IN(&sched->recovering, node);
    FORGET_IN(&sched->unsettled, node);
    FORGET_IN(&sched->failed_in_cycle, node);
    VEC_FOREACH (&sched->frames, frame) {
        frame->node = frame->node == node ? NULL : frame->node;
    }
    evaluation_forget(sched, node);
    events_forget_node(sched, node);
    runner_forget(sched, node);
    persistence_let_go(sched, node);
    if (node_persisted(node) != NULL) {
        persistence_forget(sched, node);
    }
    graph_remove_reads(sched, node);
    node->counted = false;
    node->registered = false;
    graph_remove_writes(sched, node);
    CHECK(node->component == NULL);
    list_remove(&node->all);
    count(sched, node, -1);
    chain_remove(&node->sibling);
    node->parent = NULL; /* which may be freed before a run of this one ends */
    CHAIN_FOREACH(&node->children, link)
    {
        struct node *child = CONTAINER_OF(link, struct node, sibling);
        chain_remove(link);
        child->parent = NULL;
    }
    if (!node->running) {
        node_registry_free(sched, node);
    }
}

struct node *node_registry_node(const struct sched *sched, uint32_t ordinal)
{
    LIST_FOREACH (&sched->nodes, at) {
        struct node *node = CONTAINER_OF(at, struct node, all);
        if (node->ordinal == ordinal) {
            return node;
        }
    }
    return NULL;
}
