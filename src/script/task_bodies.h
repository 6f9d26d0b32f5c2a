/* p:task: what its tasks do (runtime/task.h).
 *
 *   p:task(name, inputs, { kind = "http", ... })   one call of a kind
 *   p:task(name, inputs, { run = fn, ... })        fn(input, task), a coroutine
 *                                                  that waits for calls
 *
 *   body-1  A body runs outside of runs, in stretches with a budget each
 *           (script/task.h). It has its input and nothing else: no cell can be
 *           read or written, and no event sent.
 *   body-2  What it returns is the value of the task. An error that it raises
 *           fails the attempt, which is repeated if the task has retries left.
 *   body-3  A call that failed returns nil and the error, a table with code and
 *           text; it raises nothing.
 *   body-4  If the input changes, the call under way is cancelled, and what the
 *           body holds in variables with <close> is closed. */

#ifndef SCRIPT_TASK_BODIES_H
#define SCRIPT_TASK_BODIES_H

#include "script/lua_runtime.h"

/* The method of `p`. */
int task_bodies_declare(lua_State *L);

#endif
