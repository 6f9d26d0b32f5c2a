/* Unknown globals are errors with the file and the line.
 *
 * A misspelt name would be nil, or a variable that no other run sees. Code
 * keeps its state in cells and in locals, so it needs no globals of its own:
 * the lines of a conversation do (heddle repl), which end with it. What exists
 * is found without a call, as ever. */

#include <lauxlib.h>
#include <string.h>

#include "base/nearest.h"
#include "script/sandbox.h"

/* The names of the locals and the captured variables of the function that was
 * running: most unknown globals are locals that were misspelt. */
static void offer_variables(lua_State *L, struct nearest *nearest)
{
    lua_Debug at;
    if (lua_getstack(L, 1, &at) == 0 || lua_getinfo(L, "f", &at) == 0) {
        return;
    }
    const char *name = NULL;
    for (int i = 1; (name = lua_getlocal(L, &at, i)) != NULL; i++) {
        lua_pop(L, 1);
        if (name[0] != '(') { /* a temporary value */
            nearest_offer_text(nearest, name);
        }
    }
    for (int i = 1; (name = lua_getupvalue(L, -1, i)) != NULL; i++) {
        lua_pop(L, 1);
        nearest_offer_text(nearest, name);
    }
    lua_pop(L, 1);
}

static void offer_keys(lua_State *L, int table, struct nearest *nearest)
{
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING) {
            nearest_offer_text(nearest, lua_tostring(L, -1));
        }
    }
}

/* The environment is at 1, the name at 2. */
static const char *hint_of(lua_State *L, struct nearest *nearest)
{
    size_t length = 0;
    const char *name = lua_tolstring(L, 2, &length);
    luaL_checkstack(L, 4, "no room for a name");
    nearest_begin(nearest, name, length);
    offer_variables(L, nearest);
    offer_keys(L, 1, nearest);
    return nearest_hint(nearest);
}

static int unknown_read(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) {
        lua_pushnil(L);
        return 1;
    }
    struct nearest nearest;
    return luaL_error(L,
                      "unknown global '%s'%s",
                      lua_tostring(L, 2),
                      hint_of(L, &nearest));
}

static int unknown_write(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) {
        return luaL_error(L, "globals cannot be changed");
    }
    struct nearest nearest;
    return luaL_error(L,
                      "assignment to unknown global '%s': declare it with "
                      "'local'%s",
                      lua_tostring(L, 2),
                      hint_of(L, &nearest));
}

void sandbox_protect_globals(lua_State *L, enum script_globals globals)
{
    if (globals == GLOBALS_OPEN) {
        return;
    }
    lua_createtable(L, 0, 3);
    lua_pushcfunction(L, unknown_read);
    lua_setfield(L, -2, "__index");
    if (globals == GLOBALS_FIXED) {
        lua_pushcfunction(L, unknown_write);
        lua_setfield(L, -2, "__newindex");
    }
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    (void)lua_setmetatable(L, -2);
}
