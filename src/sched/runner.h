/* The runner: one run is one transaction.
 *
 *   runner-1  A node is clean from the moment its run begins: a change of
 *             something that the run has already read makes it invalid again.
 *   runner-2  A read is up to date. If a writer of the place, or something that
 *             the writer needs, has to run, it runs first, inside the read, in
 *             a transaction of its own. Exceptions: it is not eligible yet; it
 *             is running already; this very run has created it. Beyond
 *             SCHED_NESTING_MAX levels, the runs are abandoned, and run again
 *             in order.
 *   runner-3  A run that fails leaves nothing but its reads: they wake the node
 *             again, together with those of the run before.
 *   runner-4  A commit that is refused because of a conflict is tried again,
 *             with its causes, as often as it takes; another failure at most
 *             SCHED_ATTEMPTS_MAX times, and a permanent one never.
 *   runner-5  At most one run is in progress, apart from the nesting of
 *             runner-2, and it ends before its function returns: longer work is
 *             a task (runtime/task.h).
 *
 * A node's function may call the functions below. */

#ifndef SCHED_RUNNER_H
#define SCHED_RUNNER_H

#include "sched/core.h"

enum {
    RUN_FEW_CAUSES = 16 /* copied; a larger array is exchanged instead */
};

struct run {
    struct sched *sched;
    struct node *node;
    struct transaction *transaction;
    struct run *outer; /* the run whose read this run is nested in, or NULL */
    uint64_t number;
    uint64_t change_epoch; /* sched->change_epoch at the beginning, */
    uint64_t stale_epoch;  /* and sched->stale_epoch */
    uint32_t depth;
    enum node_status was; /* the node's status before */
    mono_ms began;
    uint64_t version;          /* of its commit; 0: none */
    struct handling *handling; /* of an event; or NULL */
    uint32_t vouched;          /* writes beside its surface: run_vouch */
    bool dry; /* of the validator: reads what is there, and is thrown away */
    struct transaction *view; /* the view that it is evaluated on
                                 (sched/evaluation.h): thrown away, too; or
                                 NULL */
    struct run *viewer;       /* then: the handler's run; or NULL */
    struct inflight_commit *inflight;
    VEC_SMALL(struct cause)
    causes;                   /* taken from the node; always has room for
                                 RUN_FEW_CAUSES */
    uint32_t kept_causes;     /* of those, moved to the record */
    bool exchanged;           /* the array is the node's, which has ours */
    struct err_detail detail; /* of run_fail */
};

/* -- For the functions of nodes ------------------------------------------ */

/* Whether the pass itself guarantees that the node is up to date: everything
 * live below it has run, and no node is deferred. */
static inline bool run_has_passed(const struct sched *sched,
                                  const struct node *node)
{
    return sched->in_pass && node->counted && node->height <= sched->cursor &&
           bucket_queue_is_empty(&sched->queues[1 - sched->current]) &&
           list_is_empty(&sched->idle_materializers);
}

/* Whether the only writer of a place is up to date: it is clean, and by the
 * order of the pass so is everything that it needs. False if that is not known
 * at once. */
static inline bool run_writer_is_fresh(const struct sched *sched,
                                       const struct chain_link *link)
{
    const struct node *writer =
        ((const struct write_link *)(const void *)link)->node;
    return link->next == NULL && writer->status == NODE_CLEAN &&
           ((writer->counted && writer->height < sched->clean_below) ||
            writer->verified == sched->stale_epoch);
}

/* The slow path of run_read. */
COLD enum err run_read_slow(struct run *run,
                            struct place *place,
                            enum read_kind kind,
                            unsigned flags,
                            struct value *out);

/* Reads a place (runner-2), new. OK, NOT_FOUND or TYPE, like transaction_read.
 * STALE: not known now; return RUN_AGAIN. CLEARANCE: not cleared to read it
 * (sched/labels.h); the run fails, whatever it returns. GIVEN_UP: the value
 * cannot be computed with a handler's own writes (sched/evaluation.h). */
static inline enum err run_read(struct run *run,
                                struct place *place,
                                enum read_kind kind,
                                unsigned flags,
                                struct value *out)
{
    /* A payload whose document has no other writer than one, which is up to
     * date, or none: nearly always. */
    const struct chain_link *writer = place->writers.first;
    if (UNLIKELY(place != place->entity->payload || place->writers_below > 0 ||
                 place->entity->root != NULL || run->sched->unwinding ||
                 (writer != NULL && (!run_writer_is_fresh(run->sched, writer) ||
                                     !run->transaction->unwritten)))) {
        return run_read_slow(run, place, kind, flags, out);
    }
    return transaction_read(run->transaction, place, kind, flags, out);
}

/* Writes: transaction_put_adopt and similar functions on run->transaction. */

/* The slow path of run_is_waiting (waiting.c). */
bool run_reads_from_waiting(const struct run *run);

/* Whether a document that it has read is on its way from the store, or is the
 * output of a node that waits for one. A function that cannot use the empty or
 * old value that it read returns RUN_WAITING. */
static inline bool run_is_waiting(const struct run *run)
{
    return !run->dry && (run->transaction->unloaded > 0 ||
                         (UNLIKELY(run->sched->waiting.count > 0) &&
                          run_reads_from_waiting(run)));
}

/* Allows one write outside its surface: the document of a removed child. */
static inline void run_vouch(struct run *run)
{
    run->vouched++;
}

/* Allows all writes: the run starts what it registers. */
static inline void run_vouch_all(struct run *run)
{
    run->vouched = UINT32_MAX / 2;
}

/* Whether the run is thrown away: it must not do anything irrevocable. */
static inline bool run_is_thrown_away(const struct run *run)
{
    return run->dry || run->view != NULL;
}

/* Ends the run as RUN_FAILED with this error. */
enum run_result run_fail(struct run *run, const struct err_detail *detail);

/* The result of a run that has launched something, if its function returned
 * `result`: with an event that could not be sent it fails, even if its code
 * ignored that (events-7, events-8 of sched/events.h). */
COLD enum run_result run_judge_unsent(struct run *run, enum run_result result);

/* -- For the pass and the validator -------------------------------------- */

/* A new run of the node, nested in the innermost one; and its last step. */
struct run *run_take(struct sched *sched, struct node *node, uint32_t depth);
void run_put(struct run *run);

/* Creates the outermost run, once. */
COLD void runner_prepare(struct sched *sched);

/* Runs a node now. */
void runner_run(struct sched *sched, struct node *node);

/* The function has returned: the rest of runner_run. */
void runner_end(struct run *run, enum run_result result);

/* What is left to do for a node that is not at rest and clean after its run. */
void runner_rest(const struct run *run);

/* Prefetches what the run needs later (reader_mark_prefetch): what it writes,
 * and the places in the record that will be overwritten next. */
static inline void runner_prefetch(const struct run_record *next,
                                   const struct node *node)
{
    __builtin_prefetch(next->causes[0].place, 1);
    if (node->write_count > 0) {
        __builtin_prefetch(node->writes->place, 1);
    }
}

/* Forgets a node that is removed. */
void runner_forget(struct sched *sched, struct node *node);

void runner_release(struct sched *sched);

#endif
