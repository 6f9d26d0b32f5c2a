/* The scheduler: its interface to higher layers.
 *
 *   struct sched *sched = scheduler_new(&replica, NULL);
 *   struct node *sum = scheduler_register(sched, &spec);
 *   scheduler_step(sched, now);       runs what has to run at `now`
 *   scheduler_next_wake(sched)        when to step again
 *
 * A computation runs if an effect depends on it, directly or through others,
 * and something that it read has changed; never otherwise. Each run is one
 * transaction. For one external change, every node outside cycles runs at most
 * once, after everything that it reads from; an effect never sees an
 * intermediate value (I9, ordering-3).
 *
 * sched/node.h defines nodes, sched/runner.h what their functions may do. The
 * files behind, from the bottom: graph (reads and writes), order (heights),
 * liveness (demand), gates (time), queue (waiting nodes), invalidation (from a
 * change to its readers), refresh and runner (one run), settle (the pass),
 * registry; and those that only observe: settling (convergence), introspection
 * (why), trace, validator. None of them includes this one. */

#ifndef SCHED_SCHEDULER_H
#define SCHED_SCHEDULER_H

#include "sched/core.h"
#include "sched/introspection.h"
#include "sched/runner.h"
#include "sched/settling.h"
#include "sched/trace.h"
#include "sched/validator.h"

struct scheduler_options {
    struct host *host; /* measures runs; NULL: no durations */
    struct sched_hooks hooks;
    bool immediate; /* T4 of sched/gates.h: no debounce or throttle applies */
    sched_interrupted_fn *interrupted; /* P6 of sched/settle.h; NULL: never */
    void *interrupted_ctx;
};

/* `options` may be NULL. The replica outlives the scheduler. */
struct sched *scheduler_new(struct replica *replica,
                            const struct scheduler_options *options);

/* Removes all nodes; nothing wakes the scheduler afterwards, and it is idle.
 * Not from inside a run. */
void scheduler_dispose(struct sched *sched);

/* The same, and frees it. Later verdicts on commits in flight are ignored. */
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

/* Runs what can run at `now`. Returns when nothing more can run then. */
void scheduler_step(struct sched *sched, mono_ms now);

/* The same at the host's time; the clock is not read if there is nothing to do,
 * now or later. Only with a host. */
void scheduler_step_now(struct sched *sched);

/* The same for one pass: at most one event per lane. False if there was nothing
 * to do. */
bool scheduler_pass(struct sched *sched, mono_ms now);

/* When to step again: now, if something can run; MONO_NEVER if only an external
 * change makes work. */
mono_ms scheduler_next_wake(const struct sched *sched);

/* Nothing runs, nothing can run, and no gated node delays idle. A waiting event
 * does; commits without a verdict do not (sched->flights). */
bool scheduler_is_idle(const struct sched *sched);

/* Whether a live node did not converge and is backed off: the scheduler is idle
 * because that is not worth waiting for, not because everything is up to
 * date. */
bool scheduler_is_backing_off(const struct sched *sched);

/* Idle, every commit has its verdict, and everything that waited for a verdict
 * is done. */
bool scheduler_is_settled(const struct sched *sched);

/* After a caller has waited for idle: nodes that did not converge before are
 * waited for again. */
void scheduler_idle_over(struct sched *sched);

/* Brings a place up to date, and reads it, new: what an effect that is
 * registered for a moment would see. */
enum err scheduler_pull(struct sched *sched,
                        struct place *place,
                        mono_ms now,
                        struct value *out);

/* -- Checks -------------------------------------------------------------- */

/* Compares all structures with their definitions. Walks all nodes. */
bool scheduler_check(struct sched *sched);

#endif
