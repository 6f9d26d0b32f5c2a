/* One run from its beginning to its end. */

#include "sched/runner.h"

#include "base/mem.h"
#include "replica/draft.h"
#include "replica/payload_write.h"
#include "sched/convergence.h"
#include "sched/evaluation.h"
#include "sched/fetching.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/handling.h"
#include "sched/introspection.h"
#include "sched/invalidation.h"
#include "sched/labels.h"
#include "sched/lineage.h"
#include "sched/liveness.h"
#include "sched/node_registry.h"
#include "sched/persistence.h"
#include "sched/queue.h"
#include "sched/reader_mark.h"
#include "sched/refresh.h"
#include "sched/scopes.h"
#include "sched/validator.h"
#include "sched/waiting.h"
#include "value/compare.h"

/* -- Commits in flight --------------------------------------------------- */

/* What must be known when the verdict arrives. */
struct inflight_commit {
    struct chain_link of_node; /* in its list of commits in flight */
    struct list_node node;     /* idle, or lost */
    struct sched *sched;       /* NULL: disposed of */
    struct node *owner;        /* NULL: removed */
    uint32_t expected;         /* verdicts, one per space; 0: not known yet */
    uint32_t answers;
    struct lineage *lineage; /* what it has launched, or NULL */
    VEC(struct cause) causes;
};

static void release_causes(struct cause *causes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        place_unref(causes[i].place);
    }
}

static void inflight_end(struct inflight_commit *inflight)
{
    struct sched *sched = inflight->sched;
    release_causes(inflight->causes.at, inflight->causes.count);
    vec_clear(&inflight->causes);
    lineage_unref(inflight->lineage);
    inflight->lineage = NULL;
    inflight->owner = NULL;
    inflight->expected = 0;
    inflight->answers = 0;
    chain_remove(&inflight->of_node);
    list_move_back(&sched->idle_inflight, &inflight->node);
    sched->inflight--;
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

/* runner-4. */
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
        if (node->conflicts < UINT16_MAX) {
            node->conflicts++;
        }
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

static void inflight_free(struct inflight_commit *inflight)
{
    lineage_unref(inflight->lineage);
    vec_release(&inflight->causes);
    mem_free(inflight, sizeof *inflight);
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct inflight_commit *inflight = ctx;
    struct node *node = inflight->owner;
    const bool last = ++inflight->answers == inflight->expected;
    if (UNLIKELY(inflight->lineage != NULL)) {
        lineage_answer(inflight->lineage, verdict->err);
    }
    if (UNLIKELY(inflight->sched == NULL)) {
        if (last) {
            inflight_free(inflight);
        }
        return;
    }
    if (node != NULL && node->registered) {
        struct err_detail detail = verdict->detail;
        detail.err = verdict->err;
        if (UNLIKELY(verdict->err != ERR_OK && node_persisted(node) != NULL)) {
            persistence_refused(node);
        }
        take_refusal(inflight->sched,
                     node,
                     &detail,
                     inflight->causes.at,
                     inflight->causes.count);
    }
    if (last) {
        persistence_answered(inflight->sched);
        inflight_end(inflight);
    }
}

static struct inflight_commit *inflight_begin(struct sched *sched,
                                              struct run *run)
{
    struct list_node *idle = list_pop_front(&sched->idle_inflight);
    struct inflight_commit *inflight;
    if (idle != NULL) {
        inflight = CONTAINER_OF(idle, struct inflight_commit, node);
    } else {
        inflight = mem_alloc_zero(sizeof *inflight);
        list_node_init(&inflight->node);
        inflight->sched = sched;
    }
    inflight->owner = run->node;
    chain_push(&run->node->inflight, &inflight->of_node);
    sched->inflight++;
    VEC_FOREACH (&run->causes, cause) {
        struct cause copy = {place_ref(cause->place), cause->version};
        vec_push(&inflight->causes, copy);
    }
    return inflight;
}

/* -- Removal of nodes ---------------------------------------------------- */

void runner_forget(struct sched *sched, struct node *node)
{
    struct transaction *follower = sched->replica->follower;
    if (UNLIKELY(follower != NULL) && node->running) {
        transaction_unfollow(follower); /* whose reads are removed now */
    }
    if (UNLIKELY(sched->waiting.count > 0)) {
        waiting_forget(sched, node);
        fetching_forget(sched, node);
    }
    CHAIN_FOREACH(&node->inflight, link)
    {
        struct inflight_commit *inflight =
            CONTAINER_OF(link, struct inflight_commit, of_node);
        inflight->owner = NULL;
        chain_remove(link);
        list_push_back(&sched->lost_inflight, &inflight->node);
    }
}

void runner_release(struct sched *sched)
{
    vec_release(&sched->waiting);
    for (struct list_node *at = list_pop_front(&sched->idle_inflight);
         at != NULL;
         at = list_pop_front(&sched->idle_inflight)) {
        inflight_free(CONTAINER_OF(at, struct inflight_commit, node));
    }
    /* Their verdicts are still to come. */
    for (struct list_node *at = list_pop_front(&sched->lost_inflight);
         at != NULL;
         at = list_pop_front(&sched->lost_inflight)) {
        struct inflight_commit *inflight =
            CONTAINER_OF(at, struct inflight_commit, node);
        release_causes(inflight->causes.at, inflight->causes.count);
        vec_clear(&inflight->causes);
        inflight->sched = NULL;
    }
    VEC_FOREACH (&sched->runs, run) {
        transaction_release((*run)->transaction);
        vec_release(&(*run)->causes);
        mem_free(*run, sizeof **run);
    }
    vec_release(&sched->runs);
}

/* -- Reading ------------------------------------------------------------- */

enum err run_read_slow(struct run *run,
                       struct place *place,
                       enum read_kind kind,
                       unsigned flags,
                       struct value *out)
{
    struct sched *sched = run->sched;
    if (LIKELY(!run->dry && (run->view == NULL || run->viewer != NULL))) {
        refresh_for_read(run, place, kind);
    }
    if (UNLIKELY(evaluation_is_due(run)) && !sched->unwinding) {
        const enum err unknown = evaluation_for_read(run, place, kind);
        if (unknown != ERR_OK) {
            *out = VALUE_NONE;
            return unknown;
        }
    }
    struct run *reader = run->view != NULL ? run->viewer : run;
    if (UNLIKELY(sched->labels != NULL && !run->dry && !sched->unwinding &&
                 reader != NULL)) { /* an edit is labelled by its reads */
        const enum err refused = labels_read(reader, place, kind, flags);
        if (refused != ERR_OK) {
            *out = VALUE_NONE;
            return refused;
        }
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

/* If the code failed because of it, its own error says where. */
enum run_result run_judge_unsent(struct run *run, enum run_result result)
{
    const struct lineage *launched = run->transaction->launched;
    const struct err_detail *unsent = launched->unsent;
    if (unsent == NULL || result == RUN_AGAIN || result == RUN_WAITING) {
        return result;
    }
    if (result == RUN_FAILED && strstr(run->detail.text, unsent->text)) {
        run->detail.err = unsent->err;
        return RUN_FAILED;
    }
    return run_fail(run, unsent);
}

/* -- Begin --------------------------------------------------------------- */

/* Swaps causes, and their memory. */
static void exchange_causes(struct run *run, struct node *node)
{
    struct cause *at = run->causes.at;
    const uint32_t count = run->causes.count;
    const uint32_t capacity = run->causes.capacity;
    run->causes.at = node->causes.at;
    run->causes.count = node->causes.count;
    run->causes.capacity = node->causes.capacity;
    node->causes.at = at;
    node->causes.count = count;
    node->causes.capacity = capacity;
}

/* The run takes the causes; if they are many, with their memory. */
static inline void take_causes(struct run *run, struct node *node)
{
    const uint32_t count = node->causes.count;
    if (UNLIKELY(count > run->causes.capacity)) {
        exchange_causes(run, node);
        run->exchanged = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        run->causes.at[i] = node->causes.at[i];
    }
    run->causes.count = count;
    node->causes.count = 0;
}

/* The run at that depth; there is at most one at a time. */
COLD static struct run *run_new(struct sched *sched, uint32_t depth)
{
    while (depth >= sched->runs.count) {
        struct run *run = mem_alloc_zero(sizeof *run);
        run->sched = sched;
        run->depth = (uint32_t)sched->runs.count;
        run->transaction = transaction_begin(
            sched->replica,
            &(struct transaction_options){.several_spaces = true});
        transaction_abort(run->transaction);
        vec_reserve(&run->causes, RUN_FEW_CAUSES);
        vec_push(&sched->runs, run);
    }
    return sched->runs.at[depth];
}

void runner_prepare(struct sched *sched)
{
    (void)run_new(sched, 0);
}

static ALWAYS_INLINE struct run *take(struct sched *sched,
                                      struct node *node,
                                      uint32_t depth)
{
    struct run *run = LIKELY(depth < sched->runs.count) ? sched->runs.at[depth]
                                                        : run_new(sched, depth);
    run->node = node;
    run->outer = sched->run;
    run->number = ++sched->run_number;
    run->version = 0;
    run->handling = NULL;
    run->vouched = 0;
    run->dry = false;
    return run;
}

struct run *run_take(struct sched *sched, struct node *node, uint32_t depth)
{
    return take(sched, node, depth);
}

static ALWAYS_INLINE void put_back(struct run *run)
{
    struct node *node = run->node;
    if (UNLIKELY(run->transaction->state == TRANSACTION_OPEN)) {
        transaction_abort(run->transaction);
    }
    if (UNLIKELY(run->transaction->launched != NULL)) { /* not committed */
        lineage_committed(lineage_take(run->transaction),
                          run->transaction,
                          ERR_GIVEN_UP);
    }
    transaction_empty(run->transaction);
    if (UNLIKELY(run->causes.count > run->kept_causes)) {
        release_causes(run->causes.at + run->kept_causes,
                       run->causes.count - run->kept_causes);
    }
    run->causes.count = 0;
    run->kept_causes = 0;
    /* A node that has many causes at each change needs the memory again. */
    if (UNLIKELY(run->exchanged)) {
        run->exchanged = false;
        if (node->causes.count == 0) {
            exchange_causes(run, node);
        }
    }
}

void run_put(struct run *run)
{
    put_back(run);
}

static ALWAYS_INLINE struct run *run_begin(struct sched *sched,
                                           struct node *node)
{
    struct run *run =
        take(sched, node, sched->run != NULL ? sched->run->depth + 1 : 0);
    run->was = node->status;
    run->began = sched->host != NULL ? sched_time(sched) : 0;
    sched->counters.runs++;
    if (UNLIKELY(run->outer != NULL)) {
        sched->counters.nested_runs++;
    }
    sched->run = run;

    if (!node->attached) {
        invalidation_rebuild_causes(sched, node);
    }
    if (UNLIKELY(run->was == NODE_NEVER_RAN) && node->causes.count > 0) {
        invalidation_clear_causes(node); /* of a first run that had to wait */
    }
    take_causes(run, node);
    node_set_status(node, NODE_CLEAN); /* runner-1 */
    node->again = false;
    node->asked = false;
    node->running = true;
    run->change_epoch = sched->change_epoch;
    run->stale_epoch = sched->stale_epoch;
    node_count_run(node, sched->pass);
    if (UNLIKELY(gates_is_backing_off(node))) {
        vec_push(&sched->recovering, node);
    }
    return run;
}

/* Watches for the verdict. */
static void watch_verdict(struct run *run)
{
    run->inflight = inflight_begin(run->sched, run);
    run->transaction->watch.settled = on_settled;
    run->transaction->watch.ctx = run->inflight;
}

static inline void open_transaction(struct run *run)
{
    struct sched *sched = run->sched;
    struct transaction *transaction = run->transaction;
    transaction_again(transaction);
    transaction->source = run->node;
    transaction->group = node_group(run->node);
    transaction->attempt = run->node->attempts + run->node->conflicts;
    transaction->causes = run->causes.at;
    transaction->cause_count = run->causes.count;
    transaction->watch.settled = NULL;
    if (UNLIKELY(sched->replica->sessions > 0)) {
        watch_verdict(run);
    }
}

/* -- End ----------------------------------------------------------------- */

/* Whether a place that was written is in the node's declared outputs. */
static bool is_declared(const struct node *node, const struct place *place)
{
    for (uint32_t i = 0; i < node->write_count; i++) {
        const struct place *output = node->writes[i].place;
        if (output == place || (output->entity == place->entity &&
                                path_is_prefix(output->path, place->path))) {
            return true;
        }
    }
    return place->entity->scope != SCOPE_SPACE || labels_is_home(place);
}

/* An effect, a materializer, or a node that has written its first output. */
static inline bool is_within_surface(const struct run *run)
{
    const struct node *node = run->node;
    const struct transaction *transaction = run->transaction;
    return node->kind == NODE_EFFECT || node->materializer ||
           (transaction->payload_writes.count == 1 && node->write_count > 0 &&
            transaction->payload_writes.at[0].place->writers.first ==
                &node->writes->in_place);
}

COLD static void check_surface(struct run *run)
{
    const struct node *node = run->node;
    uint32_t beside = 0;
    size_t draft = 0;
    size_t write = 0;
    for (const struct write_entry *entry =
             transaction_next_write(run->transaction, &draft, &write);
         entry != NULL;
         entry = transaction_next_write(run->transaction, &draft, &write)) {
        beside += entry->changed && !is_declared(node, entry->place);
    }
    if (beside > run->vouched) {
        run->sched->counters.surface_violations += beside - run->vouched;
    }
}

/* The verdicts are still to come, or have arrived already. */
COLD static void leave_inflight(struct run *run)
{
    struct inflight_commit *inflight = run->inflight;
    run->inflight = NULL;
    inflight->expected = run->sched->own_commits;
    if (inflight->answers >= inflight->expected) {
        inflight_end(inflight);
    }
}

/* Its transaction has ended without effect: it runs again when what it has read
 * or written is here. */
static enum run_outcome wait(struct run *run)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    if (!node->waiting) {
        vec_push(&sched->waiting, node);
        node->waiting = true;
        sched->can_run_fast = false;
    }
    for (size_t i = 0; i < run->causes.count; i++) {
        invalidation_keep_cause(node,
                                run->causes.at[i].place,
                                run->causes.at[i].version);
    }
    if (run->transaction->unloaded > 0 && waiting_has_documents(sched, node)) {
        node->awaits_all = true; /* a read that is not for scheduling */
    }
    if (!waiting_has_documents(sched, node)) {
        fetching_mark(sched, node);
    }
    sched->counters.runs--; /* it did nothing */
    return OUTCOME_WAITED;
}

/* The document that it would overwrite has to be here first: otherwise readers
 * could not see the difference, and other parts of it would be lost. */
COLD static enum run_outcome wait_to_write(struct run *run)
{
    evaluation_ahead(run);
    transaction_abort(run->transaction);
    run->node->awaits_all = true;
    return wait(run);
}

static enum run_outcome commit_slow(struct run *run)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    if (transaction_is_awaiting(run->transaction)) {
        return wait_to_write(run);
    }
    struct err_detail *detail = &run->detail; /* it has not failed */
    detail->err = ERR_OK;
    detail->text[0] = '\0';
    sched->committing = node;
    sched->own_version = 0;
    sched->own_commits = 0;
    if (UNLIKELY(sched->replica->sessions > 0 && run->inflight == NULL)) {
        watch_verdict(run); /* the first store was opened while it ran */
    }
    struct lineage *lineage = NULL;
    if (UNLIKELY(run->transaction->launched != NULL)) {
        lineage = lineage_take(run->transaction);
        if (run->inflight != NULL) {
            run->inflight->lineage = lineage_ref(lineage);
        }
    }
    const bool persistent = UNLIKELY(node_persisted(node) != NULL);
    if (persistent) {
        persistence_observe(run);
    }
    enum err err = ERR_OK;
    if (UNLIKELY(sched->labels != NULL)) {
        err = labels_finish(run, detail);
    }
    if (LIKELY(err == ERR_OK)) {
        err = transaction_commit(run->transaction, detail);
    } else {
        transaction_abort(run->transaction);
    }
    sched->committing = NULL;
    if (persistent) {
        persistence_committed(run, err);
    }
    if (UNLIKELY(lineage != NULL)) {
        lineage_committed(lineage, run->transaction, err);
    }
    run->version = sched->own_version;
    if (UNLIKELY(err != ERR_OK)) {
        take_refusal(sched, node, detail, run->causes.at, run->causes.count);
    } else {
        if (UNLIKELY(!is_within_surface(run))) {
            check_surface(run);
        }
        if (run->inflight == NULL || sched->own_commits == 0) { /* no verdict */
            node->attempts = 0;
            node->conflicts = 0;
        }
    }
    if (UNLIKELY(run->inflight != NULL)) {
        leave_inflight(run);
    }
    return err == ERR_OK ? OUTCOME_COMMITTED : OUTCOME_REFUSED;
}

/* Whether no subscriber could tell if there was a notification, and no verdict
 * is to be awaited. */
static inline bool is_direct(const struct run *run)
{
    const struct sched *sched = run->sched;
    const struct node *node = run->node;
    return payload_write_is_direct(run->transaction, &sched->subscriber) &&
           node_group(node) == NULL && sched->hooks.trigger == NULL &&
           is_within_surface(run);
}

static ALWAYS_INLINE enum run_outcome commit(struct run *run)
{
    struct node *node = run->node;
    struct transaction *transaction = run->transaction;
    if (LIKELY(is_direct(run))) {
        struct place *place = transaction->payload_writes.at[0].place;
        if (payload_write_commit(transaction)) {
            run->version = place->entity->version;
            reader_mark_write(run->sched, node, place, run->version);
        }
    } else if (transaction->payload_writes.count == 0 &&
               !transaction->has_more && LIKELY(node_persisted(node) == NULL)) {
        transaction_close(transaction, TRANSACTION_COMMITTED); /* an effect */
    } else {
        return commit_slow(run);
    }
    node->attempts = 0;
    node->conflicts = 0;
    return OUTCOME_COMMITTED;
}

/* Abandons the run: everything is as before, except the reads. */
static void give_up(struct run *run)
{
    struct node *node = run->node;
    run->sched->counters.discarded_runs++;
    transaction_abort(run->transaction);
    if (node->status == NODE_CLEAN) {
        node_set_status(node, run->was);
        run->sched->stale_epoch++;
    }
    for (size_t i = 0; i < run->causes.count; i++) {
        invalidation_mark(run->sched,
                          node,
                          run->causes.at[i].place,
                          run->causes.at[i].version);
    }
}

/* Places that were read for the first time had no link yet to mark. */
COLD static void find_unseen(struct run *run)
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

/* runner-1. Only nested runs, and changes while the run was suspended, can
 * change anything. Changes of its own change group do not count, which only the
 * links know. */
static inline void look_at_meanwhile(struct run *run)
{
    struct node *node = run->node;
    if (UNLIKELY(node->causes.count > 0)) {
        invalidation_drop_seen(node);
    }
    if (UNLIKELY(run->change_epoch != run->sched->change_epoch) &&
        node_group(node) == NULL) {
        find_unseen(run);
    }
}

/* No more attempts until something changes. */
static void spend_attempts(struct sched *sched, struct node *node)
{
    struct err_detail detail = {0};
    (void)err_set(&detail,
                  ERR_STALE,
                  "could not run in %d attempts",
                  SCHED_ATTEMPTS_MAX);
    invalidation_clear_causes(node);
    node->attempts = 0;
    node->pass_runs = 0;
    node_set_status(node, NODE_CLEAN);
    report(sched, node, &detail);
}

COLD static enum run_outcome end_by_result(struct run *run,
                                           enum run_result result)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    if (UNLIKELY(!node->registered)) { /* node-registry-3 of node_registry.h */
        transaction_abort(run->transaction);
        return OUTCOME_DROPPED;
    }
    if (sched->unwinding || result == RUN_AGAIN) {
        graph_apply_reads(sched, node, run->transaction, READS_KEPT_ALL);
        give_up(run);
        if (sched->unwinding) {
            node->pass_runs--; /* not its fault */
        }
        if (!sched->unwinding && ++node->attempts >= SCHED_ATTEMPTS_MAX) {
            spend_attempts(sched, node);
        }
        return OUTCOME_GIVEN_UP;
    }
    graph_apply_reads(sched, node, run->transaction, READS_KEPT_READ);
    look_at_meanwhile(run);
    if (transaction_is_awaiting(run->transaction)) {
        return wait_to_write(run); /* that may be why it failed */
    }
    if (result == RUN_WAITING) {
        evaluation_ahead(run);
    }
    transaction_abort(run->transaction);
    if (result == RUN_WAITING) {
        return wait(run);
    }
    if (UNLIKELY(node_persisted(node) != NULL)) {
        persistence_failed(run);
    }
    report(sched, node, &run->detail); /* runner-3 */
    if (node->component != NULL) {
        convergence_run_failed(sched, node);
    }
    return OUTCOME_FAILED;
}

/* A grant that has served its purpose (demand-3). */
COLD static void expire_provisional(struct sched *sched, struct node *node)
{
    if (node->provisional != 0 && node->provisional != node_mark(sched->pass)) {
        node->provisional = 0;
        liveness_root_lost(sched, node);
    }
}

static inline void end_gates(const struct run *run)
{
    struct sched *sched = run->sched;
    const mono_ms ended = sched->host != NULL ? sched_time(sched) : run->began;
    gates_on_run(sched, run->node, ended - run->began);
}

void runner_rest(const struct run *run)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    if (node->running) {
        return; /* the validator still needs it */
    }
    if (!node->registered) {
        node_registry_free(sched, node); /* it was removed while it ran */
        return;
    }
    if (!node->attached) {
        graph_attach(sched, node);
    }
    if (node->provisional != 0) {
        expire_provisional(sched, node);
    }
    if (node->status == NODE_CLEAN && run->stale_epoch == sched->stale_epoch) {
        node->verified = sched->stale_epoch;
    }
    queue_consider(sched, node);
}

static void run_end(struct run *run, enum run_result result)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    sched->run = run->outer;
    if (UNLIKELY(run->transaction->scope != SCOPE_SPACE) &&
        result == RUN_DONE && node->kind == NODE_COMPUTATION) {
        result = scopes_flow(run);
    }
    if (UNLIKELY(run->transaction->launched != NULL)) {
        result = run_judge_unsent(run, result);
    }
    enum run_outcome outcome;
    if (LIKELY(result == RUN_DONE && node->registered && !sched->unwinding)) {
        graph_apply_reads(sched, node, run->transaction, READS_KEPT_NONE);
        look_at_meanwhile(run);
        outcome = commit(run);
    } else {
        outcome = end_by_result(run, result);
    }
    if (run->inflight != NULL) { /* not committed */
        inflight_end(run->inflight);
        run->inflight = NULL;
    }
    node->running = false;
    if (LIKELY(outcome != OUTCOME_WAITED)) {
        node->runs++;
        node->ended_at = sched->now;
        if (UNLIKELY(sched->host != NULL || node->gate != NULL)) {
            end_gates(run);
        }
        run->kept_causes = introspection_note_run(sched, run, outcome);
    } else {
        run->kept_causes = 0; /* nothing worth explaining */
    }
    if (UNLIKELY(sched->validating) && outcome == OUTCOME_COMMITTED) {
        validator_look(run);
        sched->clock_is_right = false;
    }
    if (UNLIKELY(sched->unwinding)) {
        sched->unwinding = run->outer != NULL;
    }
    put_back(run);
    if (LIKELY(node->state == node_at_rest(NODE_CLEAN) &&
               node->provisional == 0)) {
        if (run->stale_epoch == sched->stale_epoch) {
            node->verified = sched->stale_epoch; /* what it read was up to
                                                    date */
        }
        return;
    }
    runner_rest(run);
}

void runner_run(struct sched *sched, struct node *node)
{
    queue_remove(sched, node);
    runner_prefetch(&sched->records[(sched->run_number + 2) % SCHED_RECORDS],
                    node);
    if (UNLIKELY(node->waiting)) {
        waiting_forget(sched, node); /* unless it has to wait again */
    }
    struct run *run = run_begin(sched, node);
    open_transaction(run);
    if (UNLIKELY(sched->labels != NULL) && !labels_begin(run)) {
        run_end(run, RUN_FAILED);
        return;
    }
    const enum run_result result = node->run(run, node->ctx);
    sched->clock_is_right = false;
    run_end(run, result);
}

void runner_end(struct run *run, enum run_result result)
{
    transaction_unfollow(run->transaction);
    run_end(run, result);
}
