/* Calls that may wait: a function of Lua in a thread of its own.
 *
 * A C function that has to wait for the world returns script_wait(L): the task
 * is then pending, and stays so until the host resumes it with values or with
 * an error, which is raised where the code waits.
 *
 *   script-task-1  Only the task's own thread can wait. In a coroutine that the
 *                  code made itself, waiting is an error: the one that resumed
 *                  it would see it.
 *   script-task-2  Each stretch of a task, from its start or a resumption to
 *                  the next wait or its end, has a budget of its own.
 *   script-task-3  A task that has ended, failed or been cancelled is gone: its
 *                  pointer is not valid any more. */

#ifndef SCRIPT_TASK_H
#define SCRIPT_TASK_H

#include "script/vm.h"

/* Runs the call until it waits or ends. SCRIPT_PENDING: it waits, as *task.
 * Otherwise there is no task: SCRIPT_FINE, and the results were taken, or the
 * cause of its end. `call` itself is borrowed for this function only; its ctx
 * must live as long as the task. */
MUST_CHECK enum script_cause script_task_start(struct script *script,
                                               const struct script_call *call,
                                               struct script_task **task,
                                               struct script_error *error);

/* Goes on with what `push` pushes as the results of the wait. The result is
 * that of script_task_start. */
MUST_CHECK enum script_cause script_task_resume(struct script_task *task,
                                                int (*push)(lua_State *L,
                                                            void *ctx),
                                                void *ctx,
                                                struct script_error *error);

/* Goes on with an error, raised where the code waits. */
MUST_CHECK enum script_cause script_task_fail(struct script_task *task,
                                              const char *sentence,
                                              struct script_error *error);

/* Ends a task that waits: what its code holds in variables with <close> is
 * closed, within a budget. */
void script_task_cancel(struct script_task *task);

/* For a C function, as its return: waits. Its results are what the task is
 * resumed with. Raises if nobody can wait here (script-task-1). */
int script_wait(lua_State *L);

/* Whether `thread` is the own thread of the task that runs. */
bool script_task_is(const struct script *script, const lua_State *thread);

#endif
