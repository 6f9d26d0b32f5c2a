/* Classes, the tables behind them, and two objects for all files. */

#include "script/object.h"

#include <string.h>

#include "base/check.h"
#include "base/nearest.h"

/* The key of the class in its metatable; only the address counts. */
static const char class_key = 0;

static int collect(lua_State *L)
{
    const struct script_class *class = NULL;
    void *object = script_object_at(L, 1, &class);
    if (object != NULL && class->release != NULL) {
        class->release(object);
    }
    return 0;
}

static void add_functions(lua_State *L, const luaL_Reg *functions)
{
    if (functions != NULL) {
        luaL_setfuncs(L, functions, 0);
    }
}

/* -- Fields that do not exist -------------------------------------------- */

static const char *article_of(const char *name)
{
    return strchr("aeiou", name[0]) != NULL ? "an" : "a";
}

/* The key at 2 as Lua would write it, for messages, pushed. */
static const char *push_key(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TSTRING) {
        lua_pushfstring(L, "\"%s\"", lua_tostring(L, 2));
    } else {
        (void)luaL_tolstring(L, 2, NULL);
    }
    return lua_tostring(L, -1);
}

/* The __index of the methods of a class, so that a method that exists is found
 * without a call. The class is the first upvalue. */
static int unknown_field(lua_State *L)
{
    const struct script_class *class = lua_touserdata(L, lua_upvalueindex(1));
    const char *key = push_key(L);
    struct nearest nearest;
    nearest_begin(&nearest, "", 0);
    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t length = 0;
        const char *name = lua_tolstring(L, 2, &length);
        nearest_begin(&nearest, name, length);
    }
    for (const luaL_Reg *at = class->methods; at->name != NULL; at++) {
        nearest_offer_text(&nearest, at->name);
    }
    if (!class->has_keys) {
        return luaL_error(L,
                          "%s %s has no method %s%s",
                          article_of(class->name),
                          class->name,
                          key,
                          nearest_hint(&nearest));
    }
    return luaL_error(L,
                      "a %s has no field %s: use :key(%s) for the cell there, "
                      "or :get() for the value%s",
                      class->name,
                      key,
                      key,
                      nearest_hint(&nearest));
}

static int unknown_assignment(lua_State *L)
{
    const struct script_class *class = lua_touserdata(L, lua_upvalueindex(1));
    const char *key = push_key(L);
    if (!class->has_keys) {
        return luaL_error(L,
                          "%s %s has no fields: %s cannot be assigned",
                          article_of(class->name),
                          class->name,
                          key);
    }
    return luaL_error(L,
                      "cannot assign %s of a %s: use :key(%s):set(value)",
                      key,
                      class->name,
                      key);
}

/* -- Classes ------------------------------------------------------------- */

/* Sets a field of the table on top to a function of the class. */
static void set_class_function(lua_State *L,
                               const struct script_class *class,
                               const char *name,
                               lua_CFunction function)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t) class);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

static void push_methods(lua_State *L, const struct script_class *class)
{
    lua_newtable(L);
    add_functions(L, class->methods);
    lua_createtable(L, 0, 1);
    set_class_function(L, class, "__index", unknown_field);
    (void)lua_setmetatable(L, -2);
}

static void push_new_metatable(lua_State *L, const struct script_class *class)
{
    lua_newtable(L);
    lua_pushlightuserdata(L, (void *)(uintptr_t) class);
    lua_rawsetp(L, -2, &class_key);
    lua_pushstring(L, class->name);
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    if (class->methods != NULL) {
        push_methods(L, class);
        lua_setfield(L, -2, "__index");
        set_class_function(L, class, "__newindex", unknown_assignment);
    }
    add_functions(L, class->more_metamethods);
    add_functions(L, class->metamethods);
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
}

static void push_metatable(lua_State *L, const struct script_class *class)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, class) == LUA_TTABLE) {
        return;
    }
    lua_pop(L, 1);
    push_new_metatable(L, class);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, class);
}

void *script_object_push(lua_State *L,
                         const struct script_class *class,
                         size_t size)
{
    luaL_checkstack(L, 4, "no room for an object");
    push_metatable(L, class);
    void *object = lua_newuserdatauv(L, size, 1);
    memset(object, 0, size);
    lua_insert(L, -2);
    (void)lua_setmetatable(L, -2);
    return object;
}

void *script_object_at(lua_State *L,
                       int index,
                       const struct script_class **class)
{
    if (lua_type(L, index) != LUA_TUSERDATA || lua_checkstack(L, 2) == 0 ||
        lua_getmetatable(L, index) == 0) {
        return NULL;
    }
    (void)lua_rawgetp(L, -1, &class_key);
    *class = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return *class != NULL ? lua_touserdata(L, index) : NULL;
}

void *script_object_test(lua_State *L,
                         int index,
                         const struct script_class *class)
{
    const struct script_class *found = NULL;
    void *object = script_object_at(L, index, &found);
    return found == class ? object : NULL;
}

void *script_object_check(lua_State *L,
                          int argument,
                          const struct script_class *class)
{
    void *object = script_object_test(L, argument, class);
    if (object == NULL) {
        (void)luaL_typeerror(L, argument, class->name);
    }
    return object;
}

const luaL_Reg *script_object_methods(lua_State *L, int index)
{
    const struct script_class *class = NULL;
    return script_object_at(L, index, &class) != NULL ? class->methods : NULL;
}

/* -- Buffers ------------------------------------------------------------- */

static void buffer_release(void *object)
{
    buf_release(object);
}

static const struct script_class buffer_class = {
    .name = "buffer",
    .release = buffer_release,
};

struct buf *script_buffer_push(lua_State *L)
{
    return script_object_push(L, &buffer_class, sizeof(struct buf));
}

/* -- Locked tables ------------------------------------------------------- */

/* The table is the object's user value. */
struct locked {
    char name[48];
};

static int locked_index(lua_State *L)
{
    (void)lua_getiuservalue(L, 1, 1);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, 3) != LUA_TNIL || lua_type(L, 2) != LUA_TSTRING) {
        return 1;
    }
    const struct locked *locked = lua_touserdata(L, 1);
    size_t length = 0;
    const char *name = lua_tolstring(L, 2, &length);
    struct nearest nearest;
    nearest_begin(&nearest, name, length);
    lua_pushnil(L);
    while (lua_next(L, 3) != 0) {
        lua_pop(L, 1);
        nearest_offer_text(&nearest, luaL_checkstring(L, -1));
    }
    return luaL_error(L,
                      "'%s' has no '%s'%s",
                      locked->name,
                      name,
                      nearest_hint(&nearest));
}

static int locked_newindex(lua_State *L)
{
    const struct locked *locked = lua_touserdata(L, 1);
    return luaL_error(L,
                      "'%s' is shared by all code and cannot be changed",
                      locked->name);
}

static int locked_pairs(lua_State *L)
{
    if (lua_getglobal(L, "pairs") != LUA_TFUNCTION) {
        return luaL_error(L, "there is no pairs");
    }
    (void)lua_getiuservalue(L, 1, 1);
    /* The caller gets a copy: what it is given could be written to. */
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, -3) != 0) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_remove(L, -2);
    lua_call(L, 1, 3);
    return 3;
}

/* A module that can be called, heddle.test for one, keeps the function under
 * the name "__call". */
static int locked_call(lua_State *L)
{
    const struct locked *locked = lua_touserdata(L, 1);
    (void)lua_getiuservalue(L, 1, 1);
    if (lua_getfield(L, -1, "__call") != LUA_TFUNCTION) {
        return luaL_error(L, "'%s' is not a function", locked->name);
    }
    lua_replace(L, 1); /* instead of the module */
    lua_pop(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static int locked_tostring(lua_State *L)
{
    const struct locked *locked = lua_touserdata(L, 1);
    lua_pushstring(L, locked->name);
    return 1;
}

static struct value locked_identity(void *object)
{
    const struct locked *locked = object;
    return value_text_new(locked->name);
}

static const luaL_Reg locked_metamethods[] = {
    {"__index", locked_index},
    {"__newindex", locked_newindex},
    {"__pairs", locked_pairs},
    {"__call", locked_call},
    {"__tostring", locked_tostring},
    {NULL, NULL},
};

static const struct script_class locked_class = {
    .name = "module",
    .metamethods = locked_metamethods,
    .identity = locked_identity,
};

void script_lock(lua_State *L, const char *name)
{
    luaL_checktype(L, -1, LUA_TTABLE);
    struct locked *locked =
        script_object_push(L, &locked_class, sizeof *locked);
    (void)snprintf(locked->name, sizeof locked->name, "%s", name);
    lua_insert(L, -2);
    (void)lua_setiuservalue(L, -2, 1);
}
