/* The scheduler: what the layers above see of it.
 *
 *   struct sched *sched = scheduler_new(&replica, NULL);
 *   struct node *sum = scheduler_register(sched, &spec);
 *   scheduler_step(sched, now);       runs what has to run at `now`
 *   scheduler_next_wake(sched)        when to step again
 *
 * A computation runs when an effect looks at its outputs, directly or through
 * others, and when something that it read has changed; never otherwise. Each
 * run is one transaction. For one change from outside, every node that is not
 * in a cycle runs at most once, after everything it reads from; an effect never
 * sees a value that was not there to stay.
 *
 * sched/node.h says what a node is and sched/runner.h what its function may
 * do. The files behind, from the bottom: graph (who reads and writes what),
 * order (heights), liveness (demand), gates (time), queue (who waits),
 * invalidation (from a change to its readers), refresh and runner (one run),
 * settle (the pass), registry; and those that only look on: settling (no
 * rest), introspection (why), trace, validator. None of them includes this
 * one. */

#ifndef SCHED_SCHEDULER_H
#define SCHED_SCHEDULER_H

#include "sched/core.h"
#include "sched/introspection.h"
#include "sched/runner.h"
#include "sched/settling.h"
#include "sched/trace.h"
#include "sched/validator.h"

struct scheduler_options {
    struct host *host; /* tells how long runs take; NULL: nobody knows */
    struct sched_hooks hooks;
    bool immediate; /* T4 of sched/gates.h: no debounce or throttle applies */
    sched_interrupted_fn *interrupted; /* P6 of sched/settle.h; NULL: never */
    void *interrupted_ctx;
};

/* `options` may be NULL. The replica outlives the scheduler. */
struct sched *scheduler_new(struct replica *replica,
                            const struct scheduler_options *options);

/* All nodes are removed, and nothing wakes it any more; it is idle from then
 * on. Not from inside a run. */
void scheduler_dispose(struct sched *sched);

/* The same, and its end. The store's answers to commits in flight are ignored
 * then. */
void scheduler_free(struct sched *sched);

/* -- Nodes --------------------------------------------------------------- */

/* Y1 to Y3 of sched/registry.h. The node belongs to the scheduler. */
struct node *scheduler_register(struct sched *sched,
                                const struct node_spec *spec);
void scheduler_remove(struct sched *sched, struct node *node);

/* The same for its children, too, which go first. */
void scheduler_remove_all(struct sched *sched, struct node *node);

/* A computation becomes an effect; an effect stays one. */
void scheduler_promote(struct sched *sched, struct node *node);

/* 0: none. */
void scheduler_set_debounce(struct sched *sched,
                            struct node *node,
                            mono_ms window);
void scheduler_set_throttle(struct sched *sched,
                            struct node *node,
                            mono_ms window);

/* The node has to run, whatever it read. */
void scheduler_invalidate(struct sched *sched, struct node *node);

/* -- Time ---------------------------------------------------------------- */

/* Runs what can run at `now`. Returns when there is nothing more to do then. */
void scheduler_step(struct sched *sched, mono_ms now);

/* The same at the host's time, which nobody is asked for if there is nothing
 * to do, now or later. Only with a host. */
void scheduler_step_now(struct sched *sched);

/* The same, one pass: at most one event of each lane. False if there was
 * nothing to do. */
bool scheduler_pass(struct sched *sched, mono_ms now);

/* The instant at which it wants to be stepped again: now, if something can
 * run; MONO_NEVER if only a change from outside makes work. */
mono_ms scheduler_next_wake(const struct sched *sched);

/* Nothing runs, nothing can run, and nothing that waits for its time is worth
 * waiting for. An event that waits is; commits that have no answer yet do not
 * count (sched->flights). */
bool scheduler_is_idle(const struct sched *sched);

/* Whether something live did not settle, and is backed off: it is idle because
 * it is not worth waiting for, and not because everything is up to date. */
bool scheduler_is_backing_off(const struct sched *sched);

/* Idle, every commit has its answer, and everything that waited for one was
 * done. */
bool scheduler_is_settled(const struct sched *sched);

/* After somebody has waited for idle: what did not settle before has another
 * chance to be waited for. */
void scheduler_idle_over(struct sched *sched);

/* Brings what is at a place up to date, and reads it, new. It is what an
 * effect that is registered for the moment would see. */
enum err scheduler_pull(struct sched *sched,
                        struct place *place,
                        mono_ms now,
                        struct value *out);

/* -- Checks -------------------------------------------------------------- */

/* Everything that the files promise, compared with its definition. Walks all
 * nodes. */
bool scheduler_check(struct sched *sched);

#endif
