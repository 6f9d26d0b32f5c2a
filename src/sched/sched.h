/* The scheduler: its interface to higher layers.
 *
 *   struct sched *sched = sched_new(&replica, NULL);
 *   struct node *sum = sched_register(sched, &spec);
 *   sched_step(sched, now);       runs what has to run at `now`
 *   sched_next_wake(sched)        when to step again
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
 * registry; and those that only observe: convergence, introspection
 * (why), trace, validator. None of them includes this one. */

#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "sched/convergence.h"
#include "sched/core.h"
#include "sched/introspection.h"
#include "sched/runner.h"
#include "sched/trace.h"
#include "sched/validator.h"

struct sched_options {
    struct host *host; /* measures runs; NULL: no durations */
    struct sched_hooks hooks;
    bool immediate; /* gates-4 of sched/gates.h: no debounce or throttle
                       applies */
    sched_interrupted_fn *interrupted; /* settle-6 of sched/settle.h; NULL:
                                          never */
    void *interrupted_ctx;
};

/* `options` may be NULL. The replica outlives the scheduler. */
struct sched *sched_new(struct replica *replica,
                        const struct sched_options *options);

/* Removes all nodes; nothing wakes the scheduler afterwards, and it is idle.
 * Not from inside a run. */
void sched_dispose(struct sched *sched);

/* The same, and frees it. Later verdicts on commits in flight are ignored. */
void sched_free(struct sched *sched);

/* -- Nodes --------------------------------------------------------------- */

/* node-registry-1 to node-registry-3 of sched/node_registry.h. The node belongs
 * to the scheduler. */
struct node *sched_register(struct sched *sched, const struct node_spec *spec);
void sched_remove(struct sched *sched, struct node *node);

/* The same for its children, too, which go first. */
void sched_remove_all(struct sched *sched, struct node *node);

/* A computation becomes an effect; an effect stays one. */
void sched_promote(struct sched *sched, struct node *node);

/* 0: none. */
void sched_set_debounce(struct sched *sched, struct node *node, mono_ms window);
void sched_set_throttle(struct sched *sched, struct node *node, mono_ms window);

/* The node has to run, whatever it read. */
void sched_invalidate(struct sched *sched, struct node *node);

/* -- Time ---------------------------------------------------------------- */

/* Runs what can run at `now`. Returns when nothing more can run then. */
void sched_step(struct sched *sched, mono_ms now);

/* The same at the host's time; the clock is not read if there is nothing to do,
 * now or later. Only with a host. */
void sched_step_now(struct sched *sched);

/* The same for one pass: at most one event per lane. False if there was nothing
 * to do. */
bool sched_pass(struct sched *sched, mono_ms now);

/* When to step again: now, if something can run; MONO_NEVER if only an external
 * change makes work. */
mono_ms sched_next_wake(const struct sched *sched);

/* Nothing runs, nothing can run, and no gated node delays idle. A waiting event
 * does; commits without a verdict do not (sched->inflight). */
bool sched_is_idle(const struct sched *sched);

/* Whether a live node did not converge and is backed off: the scheduler is idle
 * because that is not worth waiting for, not because everything is up to
 * date. */
bool sched_is_backing_off(const struct sched *sched);

/* Idle, every commit has its verdict, and everything that waited for a verdict
 * is done. */
bool sched_is_settled(const struct sched *sched);

/* After a caller has waited for idle: nodes that did not converge before are
 * waited for again. */
void sched_idle_over(struct sched *sched);

/* Brings a place up to date, and reads it, new: what an effect that is
 * registered for a moment would see. */
enum err sched_pull(struct sched *sched,
                    struct place *place,
                    mono_ms now,
                    struct value *out);

/* -- Checks -------------------------------------------------------------- */

/* Compares all structures with their definitions. Walks all nodes. */
bool sched_check(struct sched *sched);

#endif
