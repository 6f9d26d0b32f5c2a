/* From a run back to the handling that caused it. */

#include "sched/hops.h"

#include "sched/event.h"
#include "sched/introspection.h"

enum {
    STEPS_MAX = 64, /* records visited */
};

struct search {
    const struct sched *sched;
    uint32_t steps; /* that are left */
};

/* For a run whose record has left the ring. */
static uint32_t hops_unrecorded(const struct sched *sched)
{
    const struct events *events = sched->events;
    return events->last_version > sched->outside_version ? events->last_hops + 1
                                                         : 0;
}

static uint32_t hops_of_causes(struct search *search,
                               const struct cause *causes,
                               size_t count);

/* The hops of what such a run sends. */
static uint32_t hops_of_record(struct search *search,
                               const struct run_record *record)
{
    return record->kind == NODE_HANDLER
               ? record->hops + 1
               : hops_of_causes(search,
                                record->causes,
                                introspection_kept_causes(record->cause_count));
}

static uint32_t hops_of_version(struct search *search, uint64_t version)
{
    const struct sched *sched = search->sched;
    const struct change_record *change = introspection_change(sched, version);
    if (change != NULL && change->source == 0) {
        return 0;
    }
    const struct run_record *run =
        change != NULL && search->steps > 0
            ? introspection_run_of_change(sched, change)
            : NULL;
    if (run == NULL) {
        return hops_unrecorded(sched);
    }
    search->steps--;
    return hops_of_record(search, run);
}

/* The longest chain. Versions only decrease, so it ends. */
static uint32_t hops_of_causes(struct search *search,
                               const struct cause *causes,
                               size_t count)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t hops = hops_of_version(search, causes[i].version);
        most = hops > most ? hops : most;
    }
    return most;
}

/* A first run follows from the cause of the run that created the node. */
static uint32_t hops_of_first(struct search *search, const struct node *node)
{
    const struct node *parent = node->parent;
    const struct run_record *record =
        parent != NULL ? introspection_last_run(search->sched, parent) : NULL;
    return record != NULL ? hops_of_record(search, record) : 0;
}

/* The run of the transaction, or NULL: an edit, the end of a task. */
static const struct run *run_of(const struct sched *sched,
                                const struct transaction *transaction)
{
    const struct run *run = sched->run;
    while (run != NULL && run->transaction != transaction) {
        run = run->outer;
    }
    return run;
}

uint32_t hops_after_run(struct sched *sched, struct transaction *transaction)
{
    const struct run *run = run_of(sched, transaction);
    if (run == NULL) {
        return 0;
    }
    struct lineage *lineage = lineage_of(sched, transaction);
    if (!lineage->has_hops) {
        struct search search = {sched, STEPS_MAX};
        lineage->has_hops = true;
        lineage->hops =
            run->was == NODE_NEVER_RAN
                ? hops_of_first(&search, run->node)
                : hops_of_causes(&search, run->causes.at, run->causes.count);
    }
    return lineage->hops;
}

void hops_write_sender(const struct sched *sched,
                       const struct transaction *transaction,
                       struct buf *to)
{
    const struct run *run = run_of(sched, transaction);
    CHECK(run != NULL);
    const struct node *node = run->node;
    buf_append_text(to,
                    node->kind == NODE_HANDLER  ? "the handler "
                    : node->kind == NODE_EFFECT ? "the effect "
                                                : "the computation ");
    introspection_write_name(to, node_name(node), node->ordinal);
}
