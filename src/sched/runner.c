/* One run from its beginning to its end. */

#include "sched/runner.h"

#include "base/mem.h"
#include "replica/draft.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/introspection.h"
#include "sched/invalidation.h"
#include "sched/liveness.h"
#include "sched/queue.h"
#include "sched/refresh.h"
#include "sched/registry.h"
#include "sched/validator.h"
#include "value/compare.h"

/* -- Commits on their way ------------------------------------------------ */

/* What has to be known when the store's answer comes. */
struct flight {
    struct list_node node; /* in the node's flights, or idle */
    struct sched *sched;   /* NULL: likewise */
    struct node *owner;    /* NULL: is gone */
    uint32_t expected;     /* answers, one a space; 0: not known yet */
    uint32_t answers;
    VEC(struct cause) causes;
};

static void release_causes(struct cause *causes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        place_unref(causes[i].place);
    }
}

static void flight_end(struct flight *flight)
{
    struct sched *sched = flight->sched;
    release_causes(flight->causes.at, flight->causes.count);
    vec_clear(&flight->causes);
    flight->owner = NULL;
    flight->expected = 0;
    flight->answers = 0;
    list_move_back(&sched->idle_flights, &flight->node);
    sched->flights--;
}

static void restore_causes(struct sched *sched,
                           struct node *node,
                           const struct cause *causes,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        invalidation_mark(sched, node, causes[i].place, causes[i].version);
    }
}

static void report(struct sched *sched,
                   const struct node *node,
                   const struct err_detail *detail)
{
    sched->counters.failed_runs++;
    if (sched->hooks.error != NULL) {
        sched->hooks.error(sched->hooks.ctx, node, detail);
    }
}

/* R4. */
static void take_refusal(struct sched *sched,
                         struct node *node,
                         const struct err_detail *detail,
                         const struct cause *causes,
                         size_t count)
{
    switch (err_class_of(detail->err)) {
    case ERR_CLASS_NONE:
        node->attempts = 0;
        node->conflicts = 0;
        return;
    case ERR_CLASS_RETRY:
        node->conflicts++;
        break;
    case ERR_CLASS_FAULT:
        if (++node->attempts >= SCHED_ATTEMPTS_MAX) {
            node->attempts = 0; /* for the next change */
            report(sched, node, detail);
            return;
        }
        break;
    case ERR_CLASS_PERMANENT:
    case ERR_CLASS_TERMINAL:
        node->attempts = 0;
        node->conflicts = 0;
        report(sched, node, detail);
        return;
    }
    restore_causes(sched, node, causes, count);
    invalidation_mark_again(sched, node);
}

static void flight_free(struct flight *flight)
{
    vec_release(&flight->causes);
    mem_free(flight, sizeof *flight);
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct flight *flight = ctx;
    struct node *node = flight->owner;
    const bool last = ++flight->answers == flight->expected;
    if (UNLIKELY(flight->sched == NULL)) {
        if (last) {
            flight_free(flight);
        }
        return;
    }
    if (node != NULL && node->registered) {
        struct err_detail detail = verdict->detail;
        detail.err = verdict->err;
        take_refusal(flight->sched,
                     node,
                     &detail,
                     flight->causes.at,
                     flight->causes.count);
    }
    if (last) {
        flight_end(flight);
    }
}

static struct flight *flight_begin(struct sched *sched, struct run *run)
{
    struct list_node *idle = list_pop_front(&sched->idle_flights);
    struct flight *flight;
    if (idle != NULL) {
        flight = CONTAINER_OF(idle, struct flight, node);
    } else {
        flight = mem_alloc_zero(sizeof *flight);
        list_node_init(&flight->node);
        flight->sched = sched;
    }
    flight->owner = run->node;
    list_push_back(&run->node->flights, &flight->node);
    sched->flights++;
    VEC_FOREACH (&run->causes, cause) {
        struct cause copy = {place_ref(cause->place), cause->version};
        vec_push(&flight->causes, copy);
    }
    return flight;
}

void runner_forget(struct sched *sched, struct node *node)
{
    LIST_FOREACH (&node->flights, at) {
        CONTAINER_OF(at, struct flight, node)->owner = NULL;
    }
    list_splice_back(&sched->lost_flights, &node->flights);
}

void runner_release(struct sched *sched)
{
    for (struct list_node *at = list_pop_front(&sched->idle_flights);
         at != NULL;
         at = list_pop_front(&sched->idle_flights)) {
        flight_free(CONTAINER_OF(at, struct flight, node));
    }
    /* The store's answer is still to come for these. */
    for (struct list_node *at = list_pop_front(&sched->lost_flights);
         at != NULL;
         at = list_pop_front(&sched->lost_flights)) {
        struct flight *flight = CONTAINER_OF(at, struct flight, node);
        release_causes(flight->causes.at, flight->causes.count);
        vec_clear(&flight->causes);
        flight->sched = NULL;
    }
    VEC_FOREACH (&sched->runs, run) {
        transaction_release((*run)->transaction);
        vec_release(&(*run)->causes);
        mem_free(*run, sizeof **run);
    }
    vec_release(&sched->runs);
}

/* -- Reading ------------------------------------------------------------- */

enum err run_read_any(struct run *run,
                      struct place *place,
                      enum read_kind kind,
                      unsigned flags,
                      struct value *out)
{
    struct sched *sched = run->sched;
    if (LIKELY(!run->dry)) {
        refresh_for_read(run, place, kind);
    }
    const enum err err =
        transaction_read(run->transaction, place, kind, flags, out);
    if (LIKELY(!sched->unwinding)) {
        return err;
    }
    value_unref(*out);
    *out = VALUE_NONE;
    return ERR_STALE;
}

enum run_result run_fail(struct run *run, const struct err_detail *detail)
{
    run->detail = *detail;
    return RUN_FAILED;
}

/* -- Begin --------------------------------------------------------------- */

/* The run takes the causes, and leaves the room that it had for its own. */
static void exchange_causes(struct run *run, struct node *node)
{
    struct cause *at = run->causes.at;
    const size_t capacity = run->causes.capacity;
    run->causes.at = node->causes.at;
    run->causes.count = node->causes.count;
    run->causes.capacity = node->causes.capacity;
    node->causes.at = at;
    node->causes.count = 0;
    node->causes.capacity = capacity;
}

/* The run of that depth; there is at most one at a time. */
static struct run *run_of_depth(struct sched *sched, uint32_t depth)
{
    while (UNLIKELY(depth >= sched->runs.count)) {
        struct run *run = mem_alloc_zero(sizeof *run);
        run->sched = sched;
        run->depth = (uint32_t)sched->runs.count;
        run->transaction = transaction_begin(sched->replica, NULL);
        run->transaction->several_spaces = true;
        transaction_abort(run->transaction);
        vec_push(&sched->runs, run);
    }
    return sched->runs.at[depth];
}

struct run *run_take(struct sched *sched, struct node *node, uint32_t depth)
{
    struct run *run = run_of_depth(sched, depth);
    run->node = node;
    run->outer = sched->run;
    run->number = ++sched->run_number;
    run->version = 0;
    run->dry = false;
    return run;
}

void run_put(struct run *run)
{
    struct node *node = run->node;
    if (run->transaction->state == TRANSACTION_OPEN) {
        transaction_abort(run->transaction);
    }
    transaction_empty(run->transaction);
    release_causes(run->causes.at, run->causes.count);
    run->causes.count = 0;
    /* A node that has many causes at each change needs the room again. */
    if (node->causes.capacity < run->causes.capacity &&
        node->causes.count == 0) {
        exchange_causes(run, node);
    }
}

static struct run *run_begin(struct sched *sched, struct node *node)
{
    struct run *run =
        run_take(sched, node, sched->run != NULL ? sched->run->depth + 1 : 0);
    run->was = node->status;
    run->began = sched->host != NULL ? sched->host->now(sched->host) : 0;
    sched->counters.runs++;
    sched->counters.nested_runs += run->depth > 0;
    sched->run = run;

    if (!node->attached) {
        invalidation_rebuild_causes(sched, node);
    }
    exchange_causes(run, node);
    node_set_status(node, NODE_CLEAN); /* R1 */
    node->again = false;
    node->asked = false;
    node->running = true;
    run->world = sched->world;
    run->staled = sched->staled;
    if (node->pass != sched->pass) {
        node->pass = sched->pass;
        node->pass_runs = 0;
    }
    node->pass_runs++;
    if (UNLIKELY(node->gate != NULL && node->gate->backoff_streak > 0)) {
        vec_push(&sched->recovering, node);
    }
    return run;
}

static void open_transaction(struct run *run)
{
    struct sched *sched = run->sched;
    struct transaction *transaction = run->transaction;
    transaction_again(transaction);
    transaction->source = run->node;
    transaction->group = run->node->group;
    transaction->attempt = run->node->attempts + run->node->conflicts;
    transaction->causes = run->causes.at;
    transaction->cause_count = run->causes.count;
    if (UNLIKELY(sched->replica->sessions > 0)) {
        run->flight = flight_begin(sched, run);
        transaction->watch.settled = on_settled;
        transaction->watch.ctx = run->flight;
    } else {
        transaction->watch.settled = NULL;
    }
}

/* -- End ----------------------------------------------------------------- */

/* Whether a place that was written is one that the node said it writes. */
static bool is_declared(const struct node *node, const struct place *place)
{
    for (uint32_t i = 0; i < node->write_count; i++) {
        const struct place *output = node->writes[i].place;
        if (output == place || (output->entity == place->entity &&
                                path_is_prefix(output->path, place->path))) {
            return true;
        }
    }
    return place->entity->scope != SCOPE_SPACE;
}

static void check_surface(struct run *run)
{
    const struct node *node = run->node;
    const struct transaction *transaction = run->transaction;
    if (node->kind == NODE_EFFECT || node->materializer ||
        (transaction->quick.count == 1 && node->write_count > 0 &&
         transaction->quick.at[0].place == node->writes[0].place)) {
        return;
    }
    size_t draft = 0;
    size_t write = 0;
    for (const struct write_entry *entry =
             transaction_next_write(run->transaction, &draft, &write);
         entry != NULL;
         entry = transaction_next_write(run->transaction, &draft, &write)) {
        if (entry->changed && !is_declared(node, entry->place)) {
            run->sched->counters.surface_violations++;
        }
    }
}

static enum run_outcome commit(struct run *run)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    struct flight *flight = run->flight;
    run->flight = NULL;
    struct err_detail detail; /* not cleared: it is large, and rarely used */
    detail.err = ERR_OK;
    detail.text[0] = '\0';
    sched->committing = node;
    sched->own_version = 0;
    sched->own_commits = 0;
    const enum err err = transaction_commit(run->transaction, &detail);
    sched->committing = NULL;
    run->version = sched->own_version;
    if (err != ERR_OK) {
        take_refusal(sched, node, &detail, run->causes.at, run->causes.count);
    } else {
        check_surface(run);
        if (flight == NULL || sched->own_commits == 0) { /* no answer */
            node->attempts = 0;
            node->conflicts = 0;
        }
    }
    if (flight != NULL) {
        flight->expected = sched->own_commits;
        if (flight->answers >= flight->expected) {
            flight_end(flight);
        }
    }
    return err == ERR_OK ? OUTCOME_COMMITTED : OUTCOME_REFUSED;
}

/* The run is given up: everything is as before, but for the reads. */
static void give_up(struct run *run)
{
    struct node *node = run->node;
    run->sched->counters.discarded_runs++;
    transaction_abort(run->transaction);
    if (node->status == NODE_CLEAN) {
        node_set_status(node, run->was);
        run->sched->staled++;
    }
    for (size_t i = 0; i < run->causes.count; i++) {
        invalidation_mark(run->sched,
                          node,
                          run->causes.at[i].place,
                          run->causes.at[i].version);
    }
}

/* What was read for the first time had no link yet to be told by. */
static void find_unseen(struct run *run)
{
    VEC_FOREACH (&run->transaction->reads, entry) {
        struct place *place = entry->place;
        if (entry->version == place->entity->version || entry->own ||
            (entry->flags & READ_NOT_FOR_SCHEDULING) != 0) {
            continue;
        }
        struct value now;
        (void)entity_state_at(&place->entity->visible, place->path, &now);
        if (entry->kind == READ_DEEP ? !value_equal(now, entry->seen)
                                     : !value_shape_equal(now, entry->seen)) {
            invalidation_mark(run->sched,
                              run->node,
                              place,
                              place->entity->version);
        }
        value_unref(now);
    }
}

/* R1. Only runs inside of this one, and a world that went on while it waited,
 * change anything. A change group's own changes do not count, which only the
 * links know. */
static void look_at_meanwhile(struct run *run)
{
    struct node *node = run->node;
    if (UNLIKELY(node->causes.count > 0)) {
        invalidation_drop_seen(node);
    }
    if (UNLIKELY(run->world != run->sched->world) && node->group == NULL) {
        find_unseen(run);
    }
}

/* Nothing comes of it until something changes. */
static void spend_attempts(struct sched *sched, struct node *node)
{
    struct err_detail detail = {0};
    (void)err_set(&detail,
                  ERR_STALE,
                  "could not be run in %d attempts",
                  SCHED_ATTEMPTS_MAX);
    invalidation_clear_causes(node);
    node->attempts = 0;
    node->pass_runs = 0;
    node_set_status(node, NODE_CLEAN);
    report(sched, node, &detail);
}

static enum run_outcome end_by_result(struct run *run, enum run_result result)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    if (UNLIKELY(!node->registered)) { /* Y3 of registry.h */
        transaction_abort(run->transaction);
        return OUTCOME_DROPPED;
    }
    if (sched->unwinding || result == RUN_AGAIN) {
        graph_apply_reads(sched, node, run->transaction, READS_KEPT_ALL);
        give_up(run);
        node->pass_runs -= sched->unwinding; /* no fault of its own */
        if (!sched->unwinding && ++node->attempts >= SCHED_ATTEMPTS_MAX) {
            spend_attempts(sched, node);
        }
        return OUTCOME_GIVEN_UP;
    }
    if (result == RUN_FAILED) {
        graph_apply_reads(sched, node, run->transaction, READS_KEPT_READ);
        look_at_meanwhile(run);
        transaction_abort(run->transaction);
        report(sched, node, &run->detail); /* R3 */
        return OUTCOME_FAILED;
    }
    graph_apply_reads(sched, node, run->transaction, READS_KEPT_NONE);
    look_at_meanwhile(run);
    return commit(run);
}

/* A grant that has served its purpose (seed 5.3). */
static void expire_provisional(struct sched *sched, struct node *node)
{
    if (node->provisional != 0 && node->provisional - 1 != sched->pass) {
        node->provisional = 0;
        liveness_root_lost(sched, node);
    }
}

static void end_gates(const struct run *run)
{
    const struct sched *sched = run->sched;
    const mono_ms ended =
        sched->host != NULL ? sched->host->now(sched->host) : run->began;
    gates_on_run(run->sched, run->node, ended - run->began);
}

static void run_end(struct run *run, enum run_result result)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    sched->run = run->outer;
    const enum run_outcome outcome = end_by_result(run, result);
    if (run->flight != NULL) { /* not committed */
        flight_end(run->flight);
        run->flight = NULL;
    }
    node->running = false;
    node->runs++;
    node->ended_at = sched->now;
    if (UNLIKELY(sched->host != NULL || node->gate != NULL)) {
        end_gates(run);
    }
    introspection_note_run(sched, run, outcome);
    if (UNLIKELY(sched->validating) && outcome == OUTCOME_COMMITTED) {
        validator_look(run);
    }
    sched->unwinding = sched->unwinding && run->outer != NULL;
    run_put(run);
    if (UNLIKELY(node->running)) {
        return; /* the validator is not done with it */
    }
    if (!node->registered) {
        registry_free(sched, node); /* it was removed while it ran */
        return;
    }
    if (UNLIKELY(!node->attached)) {
        graph_attach(sched, node);
    }
    expire_provisional(sched, node);
    if (node->status == NODE_CLEAN && run->staled == sched->staled) {
        node->verified = sched->staled; /* all that it read was up to date */
    }
    queue_consider(sched, node);
}

void runner_run(struct sched *sched, struct node *node)
{
    queue_remove(sched, node);
    struct run *run = run_begin(sched, node);
    open_transaction(run);
    const enum run_result result = node->run(run, node->ctx);
    if (result == RUN_PENDING) {
        CHECK(sched->pending == NULL);
        node->asynchronous = true;
        sched->pending = run;
        sched->run = run->outer;
        return;
    }
    run_end(run, result);
}

void run_finish(struct run *run, enum run_result result)
{
    struct sched *sched = run->sched;
    CHECK(sched->pending == run);
    CHECK(result != RUN_PENDING);
    sched->pending = NULL;
    run->outer = NULL; /* it has gone on without this one */
    if (UNLIKELY(run->dry)) {
        validator_end(run);
        return;
    }
    run_end(run, result);
}
