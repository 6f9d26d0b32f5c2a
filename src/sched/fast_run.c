/* The fast path of a run, from beginning to end. */

#include "sched/fast_run.h"

#include "replica/payload_write.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/introspection.h"
#include "sched/queue.h"
#include "sched/reader_mark.h"

/* fast-run-1. The node was just taken from the queue of a sweep. */
static ALWAYS_INLINE bool takes(const struct sched *sched,
                                const struct node *node,
                                enum node_status status)
{
    return node->state == node_at_rest(status) && node->exceptions == 0 &&
           node->causes.count <= RUN_FEW_CAUSES &&
           !node_is_exhausted(node, sched->pass, SCHED_RUNS_MAX) &&
           node_group(node) == NULL && node_persisted(node) == NULL &&
           sched->can_run_fast;
}

/* The same for its first run: it has no declared reads. */
static ALWAYS_INLINE bool takes_first(const struct sched *sched,
                                      const struct node *node)
{
    return takes(sched, node, NODE_NEVER_RAN) && node->causes.count == 0 &&
           node->reads.capacity == 0;
}

/* -- Begin --------------------------------------------------------------- */

/* Nearly always one. */
static ALWAYS_INLINE void take_causes(struct run *run, struct node *node)
{
    const uint32_t count = node->causes.count;
    const struct cause *from = node->causes.at;
    struct cause *to = run->causes.at;
    run->causes.count = count;
    node->causes.count = 0;
    for (uint32_t left = count; left > 0; left--, from++, to++) {
        to->place = from->place;
        to->version = from->version;
    }
}

static ALWAYS_INLINE void begin(struct sched *sched,
                                struct run *run,
                                struct node *node,
                                enum node_status was)
{
    run->node = node;
    run->outer = NULL;
    run->number = ++sched->run_number;
    run->version = 0;
    run->handling = NULL;
    run->vouched = 0;
    run->dry = false;
    run->was = was;
    run->began = sched->host != NULL ? sched_time(sched) : 0;
    run->change_epoch = sched->change_epoch;
    run->stale_epoch = sched->stale_epoch;
    sched->counters.runs++;
    sched->run = run;
    take_causes(run, node);
    node->state = node_at_work();
    node->asked = false;
    node_count_run(node, sched->pass);
}

static ALWAYS_INLINE void open_transaction(const struct run *run)
{
    struct transaction *transaction = run->transaction;
    const struct node *node = run->node;
    transaction_again(transaction);
    transaction->source = node;
    transaction->group = NULL;
    transaction->attempt = 0;
    transaction->causes = run->causes.at;
    transaction->cause_count = run->causes.count;
    transaction->watch.settled = NULL;
}

/* -- End ----------------------------------------------------------------- */

/* fast-run-2: whether there were only reads and writes of payloads. */
static ALWAYS_INLINE bool is_usual(const struct sched *sched,
                                   const struct run *run,
                                   const struct node *node)
{
    return node->state == node_at_work() &&
           run->change_epoch == sched->change_epoch && sched->can_run_fast &&
           !run->transaction->has_more;
}

/* Whether the only write is to the node's output, whose readers can be marked
 * without the channel. */
static ALWAYS_INLINE bool is_direct(const struct sched *sched,
                                    const struct transaction *transaction,
                                    const struct node *node)
{
    return node->write_count > 0 &&
           payload_write_is_single(transaction, &sched->subscriber) &&
           transaction->payload_writes.at[0].place->writers.first ==
               &node->writes->in_place;
}

static ALWAYS_INLINE void take_time(struct sched *sched,
                                    const struct run *run,
                                    struct node *node)
{
    node->runs++;
    const mono_ms ended = sched->host != NULL ? sched_time(sched) : run->began;
    const mono_ms busy = ended - run->began;
    if (UNLIKELY(busy != 0 || node->busy_ms >= SCHED_AUTO_MS)) {
        gates_on_run(sched, node, busy);
    } else {
        node->last_ms = 0;
        node->ended_at = sched->now;
    }
}

/* Whether it has written nothing, or only what can be applied here. */
static ALWAYS_INLINE bool can_commit(const struct sched *sched,
                                     const struct run *run,
                                     const struct node *node)
{
    return run->transaction->payload_writes.count == 0 ||
           LIKELY(is_direct(sched, run->transaction, node));
}

static ALWAYS_INLINE void commit(struct sched *sched,
                                 struct run *run,
                                 const struct node *node)
{
    struct transaction *transaction = run->transaction;
    if (transaction->payload_writes.count == 0) {
        transaction_close(transaction, TRANSACTION_COMMITTED);
        return;
    }
    struct place *place = transaction->payload_writes.at[0].place;
    if (payload_write_commit(transaction)) {
        run->version = place->entity->version;
        reader_mark_write(sched, node, place, run->version);
    }
    value_unref(transaction->payload_writes.at[0].value);
    place_unref(place);
    transaction->payload_writes.count = 0;
}

/* The node is not at rest, or its state has changed. */
COLD static void end_unusually(const struct run *run)
{
    run->node->running = false;
    runner_rest(run);
}

/* What comes after the commit. */
static ALWAYS_INLINE void end(struct sched *sched,
                              struct run *run,
                              struct node *node,
                              struct run_record *record)
{
    sched->run = NULL;
    take_time(sched, run, node);
    const uint32_t kept = introspection_fill(record, run, OUTCOME_COMMITTED);
    for (uint32_t i = kept; UNLIKELY(i < run->causes.count); i++) {
        place_unref(run->causes.at[i].place);
    }
    run->causes.count = 0;
    if (UNLIKELY(node->state != node_at_work())) {
        end_unusually(run);
        return;
    }
    node->state = node_at_rest(NODE_CLEAN);
    if (run->stale_epoch == sched->stale_epoch) {
        node->verified = sched->stale_epoch;
    }
}

static ALWAYS_INLINE void run_node(struct sched *sched,
                                   struct run *run,
                                   struct node *node)
{
    struct run_record *record =
        &sched->records[(sched->run_number + 1) % SCHED_RECORDS];
    runner_prefetch(record + 1, node);
    begin(sched, run, node, NODE_INVALID);
    open_transaction(run);
    transaction_follow(run->transaction, node->reads.at, node->reads.count);
    const enum run_result result = node->run(run, node->ctx);
    sched->clock_is_right = false;
    if (UNLIKELY(result != RUN_DONE || !is_usual(sched, run, node) ||
                 !transaction_has_followed(run->transaction) ||
                 !can_commit(sched, run, node))) {
        runner_end(run, result);
        return;
    }
    transaction_end_following(run->transaction);
    commit(sched, run, node);
    end(sched, run, node, record);
}

/* There is no expectation: what it has read becomes its reads. */
NOINLINE static void run_first(struct sched *sched,
                               struct run *run,
                               struct node *node)
{
    struct run_record *record =
        &sched->records[(sched->run_number + 1) % SCHED_RECORDS];
    begin(sched, run, node, NODE_NEVER_RAN);
    open_transaction(run);
    const enum run_result result = node->run(run, node->ctx);
    sched->clock_is_right = false;
    if (UNLIKELY(result != RUN_DONE || !is_usual(sched, run, node) ||
                 run->transaction->epoch != sched->replica->epoch ||
                 !can_commit(sched, run, node) ||
                 !graph_take_first_reads(sched, node, run->transaction))) {
        runner_end(run, result);
        return;
    }
    commit(sched, run, node);
    transaction_empty(run->transaction);
    end(sched, run, node, record);
}

struct node *fast_run_sweep(struct sched *sched)
{
    struct node *node = queue_pop(sched);
    if (UNLIKELY(!sched->can_run_fast)) {
        return node;
    }
    struct run *run = sched->runs.at[0];
    while (node != NULL) {
        if (LIKELY(takes(sched, node, NODE_INVALID))) {
            run_node(sched, run, node);
        } else if (takes_first(sched, node)) {
            run_first(sched, run, node);
        } else {
            return node;
        }
        node = queue_pop(sched);
    }
    return NULL;
}
