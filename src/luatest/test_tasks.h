/* Tasks in tests: a host that does no task by itself.
 *
 * In `heddle test`, each kind of task stands for a list of calls that wait.
 * piece:task(name) is the call under way of a task, and the test ends it; or
 * the function that the test has given to rt:tasks(kind, fn) does. */

#ifndef LUATEST_TEST_TASKS_H
#define LUATEST_TEST_TASKS_H

#include "luatest/test_runtime.h"
#include "runtime/task_kind.h"

/* Before the first piece of the runtime is started, and after its end. */
void test_tasks_begin(struct test_runtime *rt);
void test_tasks_end(struct test_runtime *rt);

/* rt:tasks(kind, fn). */
int test_tasks_answer(lua_State *L, struct test_runtime *rt);

/* Pushes the call under way of the task of that name, or nil. */
void test_tasks_push(lua_State *L,
                     struct test_runtime *rt,
                     const struct piece *piece,
                     struct value name);

#endif
