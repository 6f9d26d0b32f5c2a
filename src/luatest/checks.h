/* The object `t` of a test: what it makes, and what it asserts.
 *
 *   t:eq(a, b [, what])  deep equality (luatest/equal.h)
 *   t:ok(v [, what])     truth
 *   t:fails(fn [, pattern])  an error is expected; gives its message
 *   t:seeds(n, fn)       fn(seed, random) for n seeds; the seed of a failure is
 *                        in its message. Runtimes that a round has made end
 *                        with it.
 *
 *   checks-1  A computation that was found not to be idempotent fails its test
 *       at the end, unless the test has read rt:violations(). A write outside
 *       of a surface is reported then, and fails nothing.
 *   checks-2  An error that a run, an effect, a handler or a write of the test
 *       reported fails the test at the end, unless the test has asked for it:
 *       with rt:errors() after it, with ticket:error() of its event, or before
 *       it with rt:reject_next. tx:abort() is no error: the code asked for
 *       it. */

#ifndef LUATEST_CHECKS_H
#define LUATEST_CHECKS_H

#include "luatest/test_runtime.h"

/* Pushes the `t` of a test case. May raise. */
void checks_push(lua_State *L, struct test_case *test_case);

/* The test case is over: its `t` is of no use any more. */
void checks_end(struct test_case *test_case);

/* What a runtime that is about to end did wrong goes into `faults` (checks-1,
 * checks-2). */
void checks_note_faults(struct test_case *test_case,
                        const struct test_runtime *rt);

/* Ends the runtimes behind the first `keep`, and notes what they did wrong. */
void checks_end_runtimes(struct test_case *test_case, size_t keep);

#endif
