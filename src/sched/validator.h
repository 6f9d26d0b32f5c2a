/* The idempotency validator: a computation that runs again on what it has
 * itself left behind must change nothing.
 *
 * Opt-in, for tests: node functions are called more often than they would be.
 *
 *   V1  After the run of a computation and its commit, the function runs once
 *       more, in a transaction that is thrown away, on the state after the
 *       commit. Any write that would change something is a violation.
 *   V2  It is none if something that the first run read has been changed by
 *       somebody else since. What its own commit changed is its own affair: a
 *       computation that counts itself up is one.
 *   V3  Left out are effects, nodes that have created others, and runs that
 *       failed.
 *   V4  Each node is reported once (struct sched_hooks).
 *   V5  Nothing of such a run stays: no read, no write, no node that it has
 *       registered, no statistics. */

#ifndef SCHED_VALIDATOR_H
#define SCHED_VALIDATOR_H

#include "sched/runner.h"

/* From now on, or no longer. */
void validator_enable(struct sched *sched, bool on);

/* All computations, whether anybody looks at them or not, on what is there
 * now: the function runs twice in one transaction that is thrown away, and the
 * second time must change nothing that the first has left. Returns how many
 * violations there are, reported before or not. No run is under way. */
size_t validator_check_all(struct sched *sched);

/* -- For the runner ------------------------------------------------------ */

/* V1, after the commit of a run whose transaction is not released yet. */
void validator_look(const struct run *first);

#endif
