/* Tasks in tests: a host that does no task by itself.
 *
 * In `heddle test`, each kind of task stands for a list of calls that wait.
 * piece:task(name) is the call under way of a task, and the test ends it; or
 * the function that the test has given to rt:tasks(kind, fn) does. */

#ifndef SCRIPT_TEST_TASKS_H
#define SCRIPT_TEST_TASKS_H

#include "runtime/task_kind.h"
#include "script/rig.h"

/* Before the first piece of the rig is started, and after its runtime. */
void test_tasks_begin(struct rig *rig);
void test_tasks_end(struct rig *rig);

/* rt:tasks(kind, fn). */
int test_tasks_answer(lua_State *L, struct rig *rig);

/* Pushes the call under way of the task of that name, or nil. */
void test_tasks_push(lua_State *L,
                     struct rig *rig,
                     const struct piece *piece,
                     struct value name);

#endif
