/* Coroutines: Lua's own, with three differences. A stop passes through resume,
 * wrap and close (vm-4); a new coroutine is charged for, because its hook
 * counts from zero; and a task's own thread cannot be yielded by Lua code,
 * because nobody would resume it (script/task.h). */

#include <lauxlib.h>

#include "script/sandbox.h"
#include "script/task.h"

static lua_State *check_thread(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTHREAD);
    return lua_tothread(L, 1);
}

enum co_status {
    CO_RUNNING,
    CO_NORMAL,
    CO_SUSPENDED,
    CO_DEAD,
};

static enum co_status co_status(lua_State *L, lua_State *thread)
{
    if (L == thread) {
        return CO_RUNNING;
    }
    lua_Debug frame;
    switch (lua_status(thread)) {
    case LUA_YIELD:
        return CO_SUSPENDED;
    case LUA_OK:
        if (lua_getstack(thread, 0, &frame) != 0) {
            return CO_NORMAL;
        }
        return lua_gettop(thread) > 0 ? CO_SUSPENDED : CO_DEAD;
    default:
        return CO_DEAD;
    }
}

static const char *co_status_name(enum co_status status)
{
    static const char *const names[] = {"running",
                                        "normal",
                                        "suspended",
                                        "dead"};
    return names[status];
}

/* The threads that are not coroutines: the state's and the running task's. A
 * task that waits cannot be named by Lua code (do_running). */
static bool is_own(const struct script *script, const lua_State *thread)
{
    return thread == script->main || script_task_is(script, thread);
}

/* Resumes with the `count` values on top of `L`, which it takes. Returns how
 * many results it pushed, or -1 and one error object. */
static int resume(lua_State *L, lua_State *thread, int count)
{
    const enum co_status status = co_status(L, thread);
    if (status != CO_SUSPENDED || is_own(script_of(L), thread)) {
        lua_pop(L, count);
        lua_pushfstring(L,
                        "cannot resume %s coroutine",
                        status == CO_DEAD ? "dead" : "non-suspended");
        return -1;
    }
    if (lua_checkstack(thread, count) == 0) {
        lua_pop(L, count);
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, thread, count);
    int results = 0;
    const int ended = script_resume(script_of(L), thread, count, &results);
    script_pass_stop(L);
    if (ended != LUA_OK && ended != LUA_YIELD) {
        lua_xmove(thread, L, 1);
        return -1;
    }
    if (lua_checkstack(L, results + 1) == 0) {
        lua_pop(thread, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(thread, L, results);
    return results;
}

static int do_create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    script_charge(L, SCRIPT_TICK);
    lua_State *thread = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, thread, 1);
    return 1;
}

static int do_resume(lua_State *L)
{
    lua_State *thread = check_thread(L);
    script_charge(L, 1);
    const int results = resume(L, thread, lua_gettop(L) - 1);
    if (results < 0) {
        lua_pushboolean(L, 0);
        lua_insert(L, -2);
        return 2;
    }
    lua_pushboolean(L, 1);
    lua_insert(L, -(results + 1));
    return results + 1;
}

static int call_wrapped(lua_State *L)
{
    lua_State *thread = lua_tothread(L, lua_upvalueindex(1));
    script_charge(L, 1);
    const int results = resume(L, thread, lua_gettop(L));
    if (results >= 0) {
        return results;
    }
    const int status = lua_status(thread);
    if (status != LUA_OK && status != LUA_YIELD) {
        /* It died: close what it left open, whose errors replace its own. */
        if (script_close_thread(script_of(L), thread) != LUA_OK) {
            lua_xmove(thread, L, 1);
        }
        script_pass_stop(L);
    }
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int do_wrap(lua_State *L)
{
    (void)do_create(L);
    lua_pushcclosure(L, call_wrapped, 1);
    return 1;
}

static int do_yield(lua_State *L)
{
    if (script_task_is(script_of(L), L)) {
        return luaL_error(L, "attempt to yield from outside a coroutine");
    }
    return lua_yield(L, lua_gettop(L));
}

static int do_status(lua_State *L)
{
    lua_pushstring(L, co_status_name(co_status(L, check_thread(L))));
    return 1;
}

static int do_isyieldable(lua_State *L)
{
    lua_State *thread = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
    lua_pushboolean(L,
                    lua_isyieldable(thread) != 0 &&
                        !is_own(script_of(L), thread));
    return 1;
}

/* A task's thread stays unnamed: the state's stands for it. */
static int do_running(lua_State *L)
{
    struct script *script = script_of(L);
    const bool is_main = is_own(script, L);
    if (!is_main || L == script->main) {
        (void)lua_pushthread(L);
    } else {
        luaL_argcheck(L, lua_checkstack(script->main, 1) != 0, 1, "no room");
        (void)lua_pushthread(script->main);
        lua_xmove(script->main, L, 1);
    }
    lua_pushboolean(L, is_main);
    return 2;
}

static int do_close(lua_State *L)
{
    lua_State *thread = check_thread(L);
    const enum co_status status = co_status(L, thread);
    if ((status != CO_DEAD && status != CO_SUSPENDED) ||
        is_own(script_of(L), thread)) {
        return luaL_error(L,
                          "cannot close a %s coroutine",
                          co_status_name(status));
    }
    const int closed = script_close_thread(script_of(L), thread);
    script_pass_stop(L);
    if (closed == LUA_OK) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushboolean(L, 0);
    lua_xmove(thread, L, 1);
    return 2;
}

void sandbox_add_coroutines(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"close", do_close},
        {"create", do_create},
        {"isyieldable", do_isyieldable},
        {"resume", do_resume},
        {"running", do_running},
        {"status", do_status},
        {"wrap", do_wrap},
        {"yield", do_yield},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
