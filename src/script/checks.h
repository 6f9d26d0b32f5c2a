/* The object `t` of a test: what it makes, and what it asserts.
 *
 *   t:eq(a, b [, what])  deep equality (script/equal.h)
 *   t:ok(v [, what])     truth
 *   t:fails(fn [, pattern])  an error is expected; gives its message
 *   t:seeds(n, fn)       fn(seed, random) for n seeds; the seed of a failure is
 *                        in its message. Runtimes that a round has made end
 *                        with it.
 *
 *   H1  A computation that was found not to be idempotent fails its test at
 *       the end, unless the test has looked at rt:violations(). A write outside
 *       of a surface is told of then, and fails nothing.
 *   H2  An error that a run, an effect, a handler or a write of the test
 *       reported fails the test at the end, unless the test has asked for it:
 *       with rt:errors() after it, with ticket:error() of its event, or before
 *       it with rt:reject_next. tx:abort() is no error: the code asked for
 *       it. */

#ifndef SCRIPT_CHECKS_H
#define SCRIPT_CHECKS_H

#include "script/rig.h"

/* Pushes the `t` of a trial. May raise. */
void checks_push(lua_State *L, struct trial *trial);

/* The trial is over: its `t` is of no use any more. */
void checks_end(struct trial *trial);

/* What a rig that is about to end did wrong goes into `faults` (H1, H2). */
void checks_note_faults(struct trial *trial, const struct rig *rig);

/* Ends the rigs behind the first `keep`, and notes what they did wrong. */
void checks_end_rigs(struct trial *trial, size_t keep);

#endif
