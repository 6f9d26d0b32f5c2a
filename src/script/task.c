/* Tasks: a thread, kept from the collector, and what it waits for. */

#include "script/task.h"

#include <lauxlib.h>

#include "base/check.h"
#include "base/mem.h"

struct script_task {
    struct script *script;
    lua_State *thread;
    struct script_function kept; /* the thread */
    struct script_call call;
    struct script_task *outer; /* while it runs: the one that ran before */

    /* Of the resumption. */
    int (*push)(lua_State *L, void *ctx);
    void *push_ctx;
    const char *sentence; /* an error to raise; NULL: none */
};

bool script_task_is(const struct script *script, const lua_State *thread)
{
    return script->task != NULL && script->task->thread == thread;
}

static void task_free(struct script_task *task)
{
    script_function_release(task->script, &task->kept);
    mem_free(task, sizeof *task);
}

/* -- Inside the thread --------------------------------------------------- */

static int after_call(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    const struct script_task *task = (const struct script_task *)context;
    script_pass_stop(L);
    if (task->call.take != NULL) {
        task->call.take(L, lua_gettop(L), task->call.ctx);
    }
    return 0;
}

static int run_task(lua_State *L)
{
    const struct script_task *task = lua_touserdata(L, 1);
    const struct script_call *call = &task->call;
    lua_settop(L, 0);
    script_function_push(L, call->function);
    const int count = call->push != NULL ? call->push(L, call->ctx) : 0;
    CHECK(lua_gettop(L) == count + 1);
    lua_callk(L, count, LUA_MULTRET, (lua_KContext)task, after_call);
    return after_call(L, LUA_OK, (lua_KContext)task);
}

static int after_wait(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    const struct script_task *task = script_of(L)->task;
    CHECK(task != NULL && task->thread == L);
    lua_settop(L, 0);
    if (task->sentence != NULL) {
        return luaL_error(L, "%s", task->sentence);
    }
    return task->push != NULL ? task->push(L, task->push_ctx) : 0;
}

int script_wait(lua_State *L)
{
    const struct script *script = script_of(L);
    if (script->task == NULL) {
        return luaL_error(L, "only a task can wait here");
    }
    if (!script_task_is(script, L)) {
        return luaL_error(L,
                          "a coroutine cannot wait: only the task itself can");
    }
    return lua_yieldk(L, 0, 0, after_wait);
}

/* -- Outside ------------------------------------------------------------- */

static int run_locate(lua_State *L)
{
    const struct script_task *task = lua_touserdata(L, 1);
    struct script *script = script_of(L);
    lua_pushvalue(task->thread, -1);
    lua_xmove(task->thread, L, 1);
    script_error_clear(&script->caught);
    script_error_locate(&script->caught, L, task->thread, -1);
    return 0;
}

/* A thread has no message handler: its stack is still there, and is looked at
 * afterwards. */
static void locate(struct script_task *task)
{
    struct script *script = task->script;
    lua_State *L = script->running;
    if (script->stop != SCRIPT_FINE || lua_checkstack(L, 2) == 0 ||
        lua_checkstack(task->thread, 1) == 0) {
        return;
    }
    lua_pushcfunction(L, run_locate);
    lua_pushlightuserdata(L, task);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        lua_pop(L, 1);
    }
}

/* Runs the thread with `count` arguments on its stack. */
static enum script_cause run(struct script_task *task,
                             int count,
                             struct script_error *error)
{
    struct script *script = task->script;
    const struct script_budget outer =
        script_budget_begin(script, task->call.steps);
    task->outer = script->task;
    script->task = task;
    int results = 0;
    const int status = script_resume(script, task->thread, count, &results);
    script->task = task->outer;

    enum script_cause cause = SCRIPT_PENDING;
    if (status == LUA_YIELD) {
        lua_pop(task->thread, results);
    } else if (status == LUA_OK) {
        cause = SCRIPT_FINE;
    } else {
        locate(task);
        cause = script_failed(script, task->thread, status, error);
        (void)script_close_thread(script, task->thread);
    }
    if (error != NULL && (status == LUA_YIELD || status == LUA_OK)) {
        script_error_clear(error);
    }
    if (cause != SCRIPT_PENDING) {
        task_free(task);
    }
    script_budget_end(script, outer);
    return cause;
}

static int run_make(lua_State *L)
{
    struct script_task *task = lua_touserdata(L, 1);
    task->thread = lua_newthread(L);
    task->kept = script_function_keep(L, -1);
    return 0;
}

enum script_cause script_task_start(struct script *script,
                                    const struct script_call *call,
                                    struct script_task **task,
                                    struct script_error *error)
{
    *task = NULL;
    struct script_task *made = mem_alloc_zero(sizeof *made);
    made->script = script;
    made->call = *call;
    enum script_cause cause = script_protect(script, run_make, made, 0, error);
    if (cause != SCRIPT_FINE) {
        mem_free(made, sizeof *made);
        return cause;
    }
    lua_pushcfunction(made->thread, run_task);
    lua_pushlightuserdata(made->thread, made);
    cause = run(made, 1, error);
    if (cause == SCRIPT_PENDING) {
        *task = made;
    }
    return cause;
}

enum script_cause script_task_resume(struct script_task *task,
                                     int (*push)(lua_State *L, void *ctx),
                                     void *ctx,
                                     struct script_error *error)
{
    task->push = push;
    task->push_ctx = ctx;
    task->sentence = NULL;
    return run(task, 0, error);
}

enum script_cause script_task_fail(struct script_task *task,
                                   const char *sentence,
                                   struct script_error *error)
{
    task->push = NULL;
    task->sentence = sentence;
    return run(task, 0, error);
}

void script_task_cancel(struct script_task *task)
{
    struct script *script = task->script;
    const struct script_budget outer =
        script_budget_begin(script, task->call.steps);
    task->outer = script->task;
    script->task = task;
    (void)script_close_thread(script, task->thread);
    script->task = task->outer;
    task_free(task);
    script_budget_end(script, outer);
}
