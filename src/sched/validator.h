/* The idempotency validator: a computation that runs again on its own results
 * must change nothing.
 *
 * Opt-in, for tests: node functions are called more often than otherwise.
 *
 *   validator-1  After the run of a computation and its commit, the function
 *                runs once more on the state after the commit, in a transaction
 *                that is thrown away. Any write that would change something is
 *                a violation.
 *   validator-2  It is none if another author has changed something that the
 *                first run read. Changes by its own commit do not excuse it: a
 *                computation that increments itself is a violation.
 *   validator-3  Not checked: effects, nodes that have created others, and runs
 *                that failed.
 *   validator-4  Each node is reported once (struct sched_hooks).
 *   validator-5  Nothing of such a run remains: no read, no write, no
 *                registered node, no statistics. */

#ifndef SCHED_VALIDATOR_H
#define SCHED_VALIDATOR_H

#include "sched/runner.h"

/* Enables or disables it. */
void validator_enable(struct sched *sched, bool on);

/* Checks all computations, live or not, on the present state: the function runs
 * twice in one transaction that is thrown away, and the second time must change
 * nothing. Returns the number of violations, reported before or not. No run may
 * be in progress. */
size_t validator_check_all(struct sched *sched);

/* -- For the runner ------------------------------------------------------ */

/* validator-1, after the commit of a run whose transaction is not released
 * yet. */
void validator_look(const struct run *first);

#endif
