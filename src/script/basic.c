/* The basic functions: those of Lua that are harmless as they are, and ours
 * for those that are not: what catches errors must not catch a stop (vm-4),
 * what sets metatables must not bring finalizers (vm-6), and no text shows an
 * address (sandbox-1). */

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "base/check.h"
#include "script/sandbox.h"

/* -- Text ---------------------------------------------------------------- */

const char *sandbox_push_text(lua_State *L, int index, size_t *length)
{
    index = lua_absindex(L, index);
    luaL_checkstack(L, 3, "no room for a text");
    if (luaL_callmeta(L, index, "__tostring") != 0) {
        if (lua_type(L, -1) != LUA_TSTRING) {
            (void)luaL_error(L, "'__tostring' must return a string");
        }
        return lua_tolstring(L, -1, length);
    }
    switch (lua_type(L, index)) {
    case LUA_TNIL:
    case LUA_TBOOLEAN:
    case LUA_TNUMBER:
    case LUA_TSTRING:
        return luaL_tolstring(L, index, length);
    default:
        break;
    }
    if (luaL_getmetafield(L, index, "__name") != LUA_TSTRING) {
        lua_pushstring(L, luaL_typename(L, index));
    }
    return lua_tolstring(L, -1, length);
}

static int do_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    (void)sandbox_push_text(L, 1, NULL);
    return 1;
}

static int do_tonumber(lua_State *L)
{
    size_t length = 0;
    if (lua_type(L, 1) == LUA_TSTRING) {
        (void)lua_tolstring(L, 1, &length);
    }
    script_charge_bytes(L, length * 8);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

static int do_print(lua_State *L)
{
    const struct script_host *host = &script_of(L)->config.host;
    const int count = lua_gettop(L);
    size_t expected = 65536;
    luaL_Buffer line;
    luaL_buffinit(L, &line);
    for (int i = 1; i <= count; i++) {
        script_expect_growth(L, &expected, luaL_bufflen(&line));
        if (i > 1) {
            luaL_addchar(&line, '\t');
        }
        (void)sandbox_push_text(L, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    size_t length = 0;
    const char *text = lua_tolstring(L, -1, &length);
    script_charge(L, length);
    if (host->print != NULL) {
        host->print(host->ctx, text, length);
    }
    return 0;
}

/* -- Errors -------------------------------------------------------------- */

/* `extra` values on the stack are not results. */
static int finish_pcall(lua_State *L, int status, lua_KContext extra)
{
    script_pass_stop(L);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_pushboolean(L, 0);
        lua_pushvalue(L, -2);
        return 2;
    }
    return lua_gettop(L) - (int)extra;
}

static int do_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1); /* the first result if there is no error */
    lua_insert(L, 1);
    const int status =
        lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
    return finish_pcall(L, status, 0);
}

/* Stands before the handler of the code: a stop comes out of a hook, in which
 * hooks are off, so the handler could not be ended. */
static int call_handler(lua_State *L)
{
    if (!script_is_stopped(L)) {
        lua_settop(L, 1);
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, 1, 1);
    }
    return 1;
}

static int do_xpcall(lua_State *L)
{
    const int count = lua_gettop(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, call_handler, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); /* below the arguments */
    const int status =
        lua_pcallk(L, count - 2, LUA_MULTRET, 2, 2, finish_pcall);
    return finish_pcall(L, status, 2);
}

/* -- Tables -------------------------------------------------------------- */

static void refuse_field(lua_State *L, const char *name, const char *why)
{
    lua_pushstring(L, name);
    if (lua_rawget(L, 2) != LUA_TNIL) {
        (void)luaL_error(L, "%s is not allowed here: %s", name, why);
    }
    lua_pop(L, 1);
}

static int do_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    const int type = lua_type(L, 2);
    if (type != LUA_TNIL && type != LUA_TTABLE) {
        return luaL_typeerror(L, 2, "nil or table");
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
        return luaL_error(L, "cannot change a protected metatable");
    }
    lua_settop(L, 2);
    if (type == LUA_TTABLE) {
        refuse_field(L, "__gc", "finalizers would run outside of the budget");
        refuse_field(L,
                     "__mode",
                     "results must not depend on the garbage "
                     "collector");
    }
    (void)lua_setmetatable(L, 1);
    return 1;
}

static int ipairs_next(lua_State *L)
{
    const lua_Integer next =
        (lua_Integer)((lua_Unsigned)luaL_checkinteger(L, 2) + 1);
    lua_pushinteger(L, next);
    return lua_geti(L, 1, next) == LUA_TNIL ? 1 : 2;
}

/* Objects that are lists say so with __ipairs: a list that is a view is asked
 * for its length, and not for what is behind its end. */
static int do_ipairs(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__ipairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    lua_pushcfunction(L, ipairs_next);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

static int do_collectgarbage(lua_State *L)
{
    const char *what = luaL_optstring(L, 1, "collect");
    if (strcmp(what, "count") != 0) {
        return luaL_error(L,
                          "only collectgarbage(\"count\") is available "
                          "here");
    }
    lua_pushnumber(L, (lua_Number)script_of(L)->memory_used / 1024);
    return 1;
}

/* -- Together ------------------------------------------------------------ */

/* Moves what is good of the stock library from the globals of the state into
 * the table on top, and the rest away. */
static void take_stock(lua_State *L)
{
    static const char *const good[] = {
        "assert",
        "error",
        "getmetatable",
        "rawequal",
        "rawget",
        "rawlen",
        "rawset",
        "select",
        "tonumber",
        "type",
        "_VERSION",
    };
    const int to = lua_gettop(L);
    lua_pushcfunction(L, luaopen_base);
    lua_call(L, 0, 1);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        (void)lua_getfield(L, -1, good[i]);
        lua_setfield(L, to, good[i]);
    }
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_pop(L, 1);
}

void sandbox_add_basic(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"collectgarbage", do_collectgarbage},
        {"ipairs", do_ipairs},
        {"pcall", do_pcall},
        {"print", do_print},
        {"setmetatable", do_setmetatable},
        {"tostring", do_tostring},
        {"xpcall", do_xpcall},
        {NULL, NULL},
    };
    take_stock(L);
    luaL_setfuncs(L, functions, 0);
    (void)lua_getfield(L, -1, "tonumber");
    lua_pushcclosure(L, do_tonumber, 1);
    lua_setfield(L, -2, "tonumber");
}
