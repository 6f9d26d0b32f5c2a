/* Runs a function twice, and compares the writes. */

#include "sched/validator.h"

#include "replica/draft.h"
#include "replica/payload_write.h"
#include "sched/introspection.h"
#include "sched/node_registry.h"
#include "sched/queue.h"
#include "sched/scopes.h"

void validator_enable(struct sched *sched, bool on)
{
    sched->validating = on;
    sched->can_run_fast = false;
}

/* validator-3. */
static bool is_checkable(const struct node *node)
{
    return node->registered && node->kind == NODE_COMPUTATION &&
           node->children.first == NULL;
}

/* validator-2. The record names the last author; a commit to several spaces has
 * several versions. */
static bool is_moved(const struct run *first)
{
    VEC_FOREACH (&first->transaction->reads, read) {
        const uint64_t version = read->place->entity->version;
        if (version == read->version) {
            continue;
        }
        const struct change_record *change =
            introspection_change(first->sched, version);
        if (change == NULL || change->source != first->node->ordinal + 1) {
            return true;
        }
    }
    return false;
}

/* -- A run that is thrown away ------------------------------------------- */

static struct run *dry_begin(struct sched *sched,
                             struct node *node,
                             uint32_t depth)
{
    struct run *run = run_take(sched, node, depth);
    run->dry = true;
    transaction_again(run->transaction);
    run->transaction->source = node;
    run->transaction->group = node_group(node);
    run->transaction->causes = NULL;
    run->transaction->cause_count = 0;
    run->transaction->watch.settled = NULL;
    node->running = true;
    sched->run = run;
    return run;
}

/* validator-5: removes the nodes that the run has registered. */
static void remove_children(const struct run *run)
{
    struct sched *sched = run->sched;
    struct list_node *last = list_last(&sched->nodes);
    while (last != NULL) { /* they are the youngest */
        struct node *node = CONTAINER_OF(last, struct node, all);
        if (node->born_in != node_mark(run->number)) {
            return;
        }
        node_registry_remove(sched, node);
        last = list_last(&sched->nodes);
    }
}

static void dry_end(struct run *run)
{
    struct node *node = run->node;
    remove_children(run);
    node->running = false;
    run_put(run);
}

/* -- What it would change ------------------------------------------------ */

/* validator-4. The two states are of one document. */
static void report(const struct run *run,
                   const struct place *place,
                   const struct entity_state *before,
                   const struct entity_state *after)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    if (node->violation) {
        return;
    }
    node->violation = true;
    sched->counters.violations++;
    if (sched->hooks.not_idempotent == NULL) {
        return;
    }
    struct violation violation = {.node = node, .place = place};
    (void)entity_state_at(before, place->path, &violation.before);
    (void)entity_state_at(after, place->path, &violation.after);
    sched->hooks.not_idempotent(sched->hooks.ctx, &violation);
    value_unref(violation.before);
    value_unref(violation.after);
}

static void report_changes(struct run *run)
{
    struct transaction *transaction = run->transaction;
    payload_write_expand(transaction);
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        struct draft *draft = transaction->drafts.at[i];
        if (!draft_finish(draft)) {
            continue;
        }
        VEC_FOREACH (&draft->writes, write) {
            if (write->changed) {
                report(run, write->place, &draft->base, &draft->work);
                return;
            }
        }
    }
}

void validator_look(const struct run *first)
{
    struct sched *sched = first->sched;
    struct node *node = first->node;
    if (!is_checkable(node) || node->status != NODE_CLEAN || is_moved(first)) {
        return;
    }
    sched->counters.validations++;
    struct run *run = dry_begin(sched, node, first->depth + 1);
    const enum run_result result = node->run(run, node->ctx);
    sched->run = run->outer;
    if (result == RUN_DONE && scopes_flow(run) == RUN_DONE) {
        report_changes(run);
    }
    dry_end(run);
}

static void twice_end(struct run *run)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    dry_end(run);
    if (!node->registered) {
        node_registry_free(sched, node);
    } else {
        queue_consider(sched, node);
    }
}

/* -- All computations ---------------------------------------------------- */

typedef VEC(struct entity_state) state_vec;

/* The states of the drafts. */
static void remember(struct transaction *transaction, state_vec *states)
{
    payload_write_expand(transaction);
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        vec_push(states, entity_state_ref(&transaction->drafts.at[i]->work));
    }
}

static void forget(state_vec *states)
{
    VEC_FOREACH (states, state) {
        entity_state_release(state);
    }
    vec_clear(states);
}

/* Whether the drafts have changed since. */
static bool has_changed(const struct run *run, const state_vec *states)
{
    const struct transaction *transaction = run->transaction;
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        const struct entity_state *before =
            i < states->count ? &states->at[i] : &draft->base;
        if (!entity_state_equal(before, &draft->work)) {
            report(run, vec_last(&draft->writes)->place, before, &draft->work);
            return true;
        }
    }
    return false;
}

static void check_twice(struct sched *sched,
                        struct node *node,
                        state_vec *states,
                        size_t *violations)
{
    sched->counters.validations++;
    struct run *run = dry_begin(sched, node, 0);
    enum run_result result = node->run(run, node->ctx);
    if (result == RUN_DONE) {
        remember(run->transaction, states);
        result = node->run(run, node->ctx);
        payload_write_expand(run->transaction);
    }
    sched->run = run->outer;
    *violations += result == RUN_DONE && has_changed(run, states);
    twice_end(run);
    forget(states);
}

/* The node after one that existed, in the order of registration: the function
 * may have removed any. */
static struct node *next_node(const struct sched *sched, uint32_t ordinal)
{
    LIST_FOREACH (&sched->nodes, at) {
        struct node *node = CONTAINER_OF(at, struct node, all);
        if (node->ordinal > ordinal) {
            return node;
        }
    }
    return NULL;
}

size_t validator_check_all(struct sched *sched)
{
    CHECK(sched->run == NULL);
    if (list_is_empty(&sched->nodes)) {
        return 0;
    }
    state_vec states = {0};
    size_t violations = 0;
    struct node *node =
        CONTAINER_OF(list_first(&sched->nodes), struct node, all);
    while (node != NULL) {
        const uint32_t ordinal = node->ordinal;
        if (is_checkable(node)) {
            check_twice(sched, node, &states, &violations);
        }
        node = next_node(sched, ordinal);
    }
    vec_release(&states);
    return violations;
}
