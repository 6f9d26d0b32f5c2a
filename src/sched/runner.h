/* The runner: one run is one transaction.
 *
 *   R1  A node is clean from the moment its run begins: what changes meanwhile,
 *       after the run has read it, makes it invalid again.
 *   R2  A read is up to date. If a writer of what is read has to run, or
 *       something that this writer needs, it runs first, inside the read, in a
 *       transaction of its own. Exceptions: its time has not come; it is
 *       running itself; this very run has created it. Too deep
 *       (SCHED_NESTING_MAX), the runs are given up, and run again in order.
 *   R3  A run that fails leaves nothing but its reads: they wake it again,
 *       together with those of the run before.
 *   R4  A commit that is refused because the world moved on is tried again,
 *       with its causes, as often as it takes; another failure at most
 *       SCHED_ATTEMPTS_MAX times, and what is permanent never.
 *   R5  At most one run is under way, apart from the nesting of R2, and it ends
 *       before its function returns: work that takes longer is a task
 *       (runtime/task.h).
 *
 * The functions below are what a node's function may call. */

#ifndef SCHED_RUNNER_H
#define SCHED_RUNNER_H

#include "sched/core.h"

enum {
    RUN_FEW_CAUSES = 16 /* that are copied: more go with their room */
};

struct run {
    struct sched *sched;
    struct node *node;
    struct transaction *transaction;
    struct run *outer; /* the run inside of whose read it is, or NULL */
    uint64_t number;
    uint64_t world;  /* the state of it at the beginning, */
    uint64_t staled; /* and how much was stale */
    uint32_t depth;
    enum node_status was; /* its status before */
    mono_ms began;
    uint64_t version;          /* that its commit made; 0: none */
    struct handling *handling; /* of an event; or NULL */
    uint32_t vouched;          /* writes beside its surface: run_vouch */
    bool dry; /* of the validator: reads what is there, and is thrown
                 away */
    struct transaction *view; /* on which it is evaluated (sched/evaluation.h):
                                 thrown away, too; or NULL */
    struct run *viewer;       /* then: the handler's; or NULL */
    struct flight *flight;
    VEC_SMALL(struct cause)
    causes;                   /* taken from the node; there is always
                                 room for RUN_FEW_CAUSES */
    uint32_t kept_causes;     /* of those, the record has taken over */
    bool exchanged;           /* the room is the node's, which has ours */
    struct err_detail detail; /* of run_fail */
};

/* -- For the functions of nodes ------------------------------------------ */

/* Whether the pass itself guarantees that the node is up to date: everything
 * live that is lower has been run, and nobody waits for later. */
static inline bool run_has_passed(const struct sched *sched,
                                  const struct node *node)
{
    return sched->in_pass && node->counted && node->height <= sched->cursor &&
           bucket_queue_is_empty(&sched->queues[1 - sched->current]) &&
           list_is_empty(&sched->idle_materializers);
}

/* Whether the only writer of a place is up to date: it is clean, and so is, by
 * the order of the pass, everything that it needs. False if that is not known
 * at once. */
static inline bool run_writer_is_fresh(const struct sched *sched,
                                       const struct chain_link *link)
{
    const struct node *writer =
        ((const struct write_link *)(const void *)link)->node;
    return link->next == NULL && writer->status == NODE_CLEAN &&
           ((writer->counted && writer->height < sched->passed) ||
            writer->verified == sched->staled);
}

/* The rest of run_read. */
COLD enum err run_read_any(struct run *run,
                           struct place *place,
                           enum read_kind kind,
                           unsigned flags,
                           struct value *out);

/* What is at a place (R2), new. OK, NOT_FOUND or TYPE, as transaction_read
 * says. STALE: this cannot be known now; return RUN_AGAIN. CLEARANCE: it must
 * not be known here (sched/labels.h); the run fails, whatever it returns.
 * GIVEN_UP: what is there cannot be computed with what a handler has written
 * (sched/evaluation.h). */
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
        return run_read_any(run, place, kind, flags, out);
    }
    return transaction_read(run->transaction, place, kind, flags, out);
}

/* Writes: transaction_put_adopt and its like on run->transaction. */

/* The rest of run_is_waiting (waiting.c). */
bool run_reads_from_waiting(const struct run *run);

/* Whether a document that it has read is on its way from the store, or is the
 * output of somebody who waits for one. Who cannot do with what it has seen
 * instead, nothing or something old, returns RUN_WAITING. */
static inline bool run_is_waiting(const struct run *run)
{
    return !run->dry && (run->transaction->unloaded > 0 ||
                         (UNLIKELY(run->sched->waiting.count > 0) &&
                          run_reads_from_waiting(run)));
}

/* One write more than its surface has is meant to be: the document of a child
 * that is taken away. */
static inline void run_vouch(struct run *run)
{
    run->vouched++;
}

/* The same of all that it writes: it brings up what it registers. */
static inline void run_vouch_all(struct run *run)
{
    run->vouched = UINT32_MAX / 2;
}

/* Whether nothing of it will stay: what cannot be taken back is not done. */
static inline bool run_is_thrown_away(const struct run *run)
{
    return run->dry || run->view != NULL;
}

/* The run ends as RUN_FAILED, because of this. */
enum run_result run_fail(struct run *run, const struct err_detail *detail);

/* What a run that has launched something ends as, if its function returned
 * `result`: with an event that could not be sent it fails, also if its code has
 * ignored that (V7, V8 of sched/events.h). */
COLD enum run_result run_judge_unsent(struct run *run, enum run_result result);

/* -- For the pass and the validator -------------------------------------- */

/* A run of the node inside the innermost one, with nothing done yet; and its
 * last step. */
struct run *run_take(struct sched *sched, struct node *node, uint32_t depth);
void run_put(struct run *run);

/* Makes the outermost run, once. */
COLD void runner_prepare(struct sched *sched);

/* Runs a node now. */
void runner_run(struct sched *sched, struct node *node);

/* Its function has returned: what is left of runner_run. */
void runner_end(struct run *run, enum run_result result);

/* What is left to do for a node that is not at rest after its run, and clean.
 */
void runner_rest(const struct run *run);

/* Asks for what the run will need later than the rest (seeing_bring_near): what
 * it will write, and what the record after its own holds, whose turn it is
 * next. */
static inline void runner_bring_near(const struct run_record *next,
                                     const struct node *node)
{
    __builtin_prefetch(next->causes[0].place, 1);
    if (node->write_count > 0) {
        __builtin_prefetch(node->writes->place, 1);
    }
}

/* What is to be forgotten when a node goes. */
void runner_forget(struct sched *sched, struct node *node);

void runner_release(struct sched *sched);

#endif
