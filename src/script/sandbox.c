/* Environments, the loading of text, and modules, registered or asked for. */

#include "script/sandbox.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "base/check.h"
#include "script/object.h"

enum {
    MODULE_NAME_MAX = 200,
    CHUNK_NAME_MAX = 1000,
};

/* Keys of the registry; only their addresses count. */
static const char template_key = 0;     /* the globals to copy */
static const char names_key = 0;        /* library function to its name */
static const char environments_key = 0; /* the set of environments, weak */
static const char modules_key = 0; /* name to an opened module, or opener */

/* The tables among the globals. */
static const char *const libraries[] = {"coroutine",
                                        "math",
                                        "string",
                                        "table",
                                        "utf8"};

/* -- The libraries ------------------------------------------------------- */

/* Takes a stock library and leaves it on top. */
static void push_stock(lua_State *L, const char *name, lua_CFunction open)
{
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
}

static void remove_fields(lua_State *L, const char *const *names)
{
    for (; *names != NULL; names++) {
        lua_pushnil(L);
        lua_setfield(L, -2, *names);
    }
}

/* A stock function whose first argument is a string that it walks through, and
 * copies perhaps. */
static int walk_string(lua_State *L)
{
    size_t length = 0;
    if (lua_type(L, 1) == LUA_TSTRING) {
        (void)lua_tolstring(L, 1, &length);
    }
    script_charge_bytes(L, length * 8);
    script_expect_memory(L, length * 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static void charge_for_walk(lua_State *L, const char *name)
{
    (void)lua_getfield(L, -1, name);
    lua_pushcclosure(L, walk_string, 1);
    lua_setfield(L, -2, name);
}

static void add_libraries(lua_State *L)
{
    static const char *const not_math[] = {"random", "randomseed", NULL};
    push_stock(L, "math", luaopen_math);
    remove_fields(L, not_math);
    lua_setfield(L, -2, "math");

    push_stock(L, "utf8", luaopen_utf8);
    charge_for_walk(L, "len");
    charge_for_walk(L, "offset");
    lua_setfield(L, -2, "utf8");

    static const char *const not_string[] = {"dump", NULL};
    push_stock(L, "string", luaopen_string);
    remove_fields(L, not_string);
    charge_for_walk(L, "lower");
    charge_for_walk(L, "reverse");
    charge_for_walk(L, "upper");
    sandbox_add_strings(L);
    lua_setfield(L, -2, "string");

    lua_newtable(L);
    sandbox_add_tables(L);
    lua_setfield(L, -2, "table");

    lua_newtable(L);
    sandbox_add_coroutines(L);
    lua_setfield(L, -2, "coroutine");
}

/* The stock library has made a metatable for strings, whose __index is the
 * table that sandbox_add_strings has changed. */
static void lock_strings(lua_State *L)
{
    lua_pushliteral(L, "");
    CHECK(lua_getmetatable(L, -1) != 0);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

/* Where luaL_traceback and bad arguments look for the names of functions. */
static void add_to_loaded(lua_State *L)
{
    (void)luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        (void)lua_getfield(L, -2, libraries[i]);
        lua_setfield(L, -2, libraries[i]);
    }
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "_G");
    lua_pop(L, 1);
}

/* -- Names --------------------------------------------------------------- */

/* names[function] = prefix .. key for the functions of the table on top. */
static void name_functions(lua_State *L, const char *prefix)
{
    const int table = lua_gettop(L);
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
        if (lua_type(L, -1) == LUA_TFUNCTION) {
            lua_pushfstring(L, "%s%s", prefix, lua_tostring(L, -2));
            lua_rawset(L, table + 1);
        } else {
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

/* Those of the globals on top, and of the libraries among them. */
static void name_all_functions(lua_State *L)
{
    name_functions(L, "");
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        lua_pushfstring(L, "%s.", libraries[i]);
        (void)lua_getfield(L, -2, libraries[i]);
        name_functions(L, lua_tostring(L, -2));
        lua_pop(L, 2);
    }
}

const char *sandbox_function_name(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    if (lua_checkstack(L, 2) == 0) {
        return NULL;
    }
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
    lua_pushvalue(L, index);
    const bool found = lua_rawget(L, -2) == LUA_TSTRING;
    const char *name = found ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 2);
    return name; /* the table holds it */
}

/* -- Loading ------------------------------------------------------------- */

/* Loads text and gives it the environment at index `environment`. Pushes the
 * function or the message. */
static int load_text(lua_State *L,
                     const struct script_chunk *chunk,
                     const char *chunk_name,
                     int environment)
{
    /* Parsing is not counted by the hook. */
    script_charge(L, chunk->length);
    const int status =
        luaL_loadbufferx(L, chunk->text, chunk->length, chunk_name, "t");
    script_pass_stop(L);
    if (status == LUA_OK) {
        lua_pushvalue(L, environment);
        if (lua_setupvalue(L, -2, 1) == NULL) {
            lua_pop(L, 1);
        }
    }
    return status;
}

/* The pieces that a function gives, as one string on top. */
static void collect_pieces(lua_State *L, int function)
{
    luaL_Buffer pieces;
    luaL_buffinit(L, &pieces);
    for (;;) {
        script_charge(L, 1);
        lua_pushvalue(L, function);
        lua_call(L, 0, 1);
        size_t length = 0;
        const char *piece = lua_tolstring(L, -1, &length);
        if (piece == NULL && !lua_isnil(L, -1)) {
            (void)luaL_error(L, "reader function must return a string");
        }
        if (length == 0) {
            lua_pop(L, 1);
            break;
        }
        luaL_addvalue(&pieces);
    }
    luaL_pushresult(&pieces);
}

/* load(chunk [, name [, mode [, environment]]]); the environment is the first
 * upvalue where none is given. */
static int do_load(lua_State *L)
{
    const bool has_environment = !lua_isnone(L, 4);
    lua_settop(L, 4);
    if (!has_environment) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_replace(L, 4);
    }
    const char *mode = luaL_optstring(L, 3, "bt");
    if (lua_type(L, 1) != LUA_TSTRING) {
        luaL_checktype(L, 1, LUA_TFUNCTION);
        collect_pieces(L, 1);
    } else {
        lua_pushvalue(L, 1);
    }
    struct script_chunk chunk = {0};
    chunk.text = lua_tolstring(L, 5, &chunk.length);
    const bool is_text = lua_type(L, 1) == LUA_TSTRING;
    size_t name_length = 0;
    const char *name =
        luaL_optlstring(L, 2, is_text ? chunk.text : "=(load)", &name_length);
    if (name_length > CHUNK_NAME_MAX) {
        /* It is kept by the function, and a text may be its own name. */
        lua_pushlstring(L, name, CHUNK_NAME_MAX);
        name = lua_tostring(L, -1);
    }
    if (strchr(mode, 't') == NULL) {
        lua_pushnil(L);
        lua_pushliteral(L, "only text can be loaded here, not bytecode");
        return 2;
    }
    if (load_text(L, &chunk, name, 4) != LUA_OK) {
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    return 1;
}

/* -- Modules ------------------------------------------------------------- */

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Words joined by single dots: no way to another folder. */
static bool is_module_name(const char *name, size_t length)
{
    bool in_word = false;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '.' ? !in_word : !is_word_byte(name[i])) {
            return false;
        }
        in_word = name[i] != '.';
    }
    return in_word && length <= MODULE_NAME_MAX;
}

struct opener {
    script_module_fn *open;
    void *ctx;
};

static const struct script_class opener_class = {.name = "opener"};

/* Pushes a registered module, opened if it is not yet; false, and pushes
 * nothing, if there is none. */
static bool push_registered(lua_State *L, int name)
{
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &modules_key);
    lua_pushvalue(L, name);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 2);
        return false;
    }
    const struct opener *opener = script_object_test(L, -1, &opener_class);
    if (opener != NULL) {
        lua_pop(L, 1);
        const int top = lua_gettop(L);
        opener->open(L, opener->ctx);
        CHECK(lua_gettop(L) == top + 1);
        lua_pushvalue(L, name);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
    }
    lua_remove(L, -2);
    return true;
}

/* Pushes the function of a module whose text the host has. */
static void push_host_module(lua_State *L, const char *name, int environment)
{
    const struct script_host *host = &script_of(L)->config.host;
    struct buf *text = script_buffer_push(L);
    struct buf *file = script_buffer_push(L);
    struct err_detail detail = {0};
    const enum err err =
        host->module == NULL
            ? ERR_NOT_FOUND
            : host->module(host->ctx, name, text, file, &detail);
    if (err == ERR_NOT_FOUND) {
        (void)luaL_error(L, "module '%s' not found", name);
    } else if (err != ERR_OK) {
        const bool is_said = detail.text[0] != '\0';
        (void)luaL_error(L,
                         "the module '%s' cannot be loaded: %s",
                         name,
                         is_said ? detail.text : err_text(err));
    }
    const struct script_chunk chunk = {buf_text(file),
                                       buf_text(text),
                                       text->length};
    lua_pushfstring(L, "@%s", chunk.file);
    if (load_text(L, &chunk, lua_tostring(L, -1), environment) != LUA_OK) {
        (void)lua_error(L);
    }
}

/* require(name): upvalues are the environment and its table of modules, in
 * which a light userdata stands for one that is being loaded. */
static int do_require(lua_State *L)
{
    size_t length = 0;
    const char *name = luaL_checklstring(L, 1, &length);
    luaL_argcheck(L,
                  is_module_name(name, length),
                  1,
                  "a module name must be words joined by dots");
    lua_settop(L, 1);
    if (push_registered(L, 1)) {
        return 1;
    }
    lua_pushvalue(L, 1);
    const int loaded = lua_rawget(L, lua_upvalueindex(2));
    if (loaded == LUA_TLIGHTUSERDATA) {
        return luaL_error(L,
                          "the module '%s' requires itself, or failed to load",
                          name);
    }
    if (loaded != LUA_TNIL) {
        return 1;
    }
    push_host_module(L, name, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushlightuserdata(L, (void *)(uintptr_t)&modules_key);
    lua_rawset(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    if (lua_isnil(L, -1)) {
        lua_pushboolean(L, 1);
        lua_replace(L, -2);
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(2));
    return 1;
}

/* -- Environments -------------------------------------------------------- */

/* Pushes a copy of the table at `index`. */
static void push_copy(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
}

static void push_environment(lua_State *L)
{
    luaL_checkstack(L, 8, "no room for an environment");
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &template_key);
    push_copy(L, -1);
    lua_replace(L, -2);
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        (void)lua_getfield(L, -1, libraries[i]);
        push_copy(L, -1);
        lua_setfield(L, -3, libraries[i]);
        lua_pop(L, 1);
    }

    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "_G");
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, do_load, 1);
    lua_setfield(L, -2, "load");
    lua_pushvalue(L, -1);
    lua_newtable(L);
    lua_pushcclosure(L, do_require, 2);
    lua_setfield(L, -2, "require");

    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &environments_key);
    lua_pushvalue(L, -2);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    /* Each environment has a load and a require of its own, for which one
     * name will do. */
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
    static const char *const own[] = {"load", "require"};
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        (void)lua_getfield(L, -2, own[i]);
        lua_pushstring(L, own[i]);
        lua_rawset(L, -3);
    }
    lua_pop(L, 1);
}

bool sandbox_is_environment(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    if (lua_checkstack(L, 2) == 0) {
        return false;
    }
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &environments_key);
    lua_pushvalue(L, index);
    const bool found = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 2);
    return found;
}

/* registry[key] = a new table whose keys do not keep what they name alive. */
static void add_weak_table(lua_State *L, const void *key)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    (void)lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void sandbox_open(lua_State *L)
{
    add_weak_table(L, &names_key);
    add_weak_table(L, &environments_key);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &modules_key);

    lua_newtable(L);
    sandbox_add_basic(L);
    sandbox_add_order(L);
    add_libraries(L);
    lock_strings(L);
    name_all_functions(L);
    add_to_loaded(L);
    /* C functions of ours find pairs among the globals of the state, which no
     * code can reach. */
    lua_pushglobaltable(L);
    (void)lua_getfield(L, -2, "pairs");
    lua_setfield(L, -2, "pairs");
    lua_pop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &template_key);
}

/* -- The C side ---------------------------------------------------------- */

struct environment_making {
    enum script_globals globals;
    struct script_function *environment;
};

static int run_environment_new(lua_State *L)
{
    const struct environment_making *making = lua_touserdata(L, 1);
    push_environment(L);
    sandbox_protect_globals(L, making->globals);
    *making->environment = script_function_keep(L, -1);
    return 0;
}

enum script_cause script_environment_new(struct script *script,
                                         enum script_globals globals,
                                         struct script_function *environment,
                                         struct script_error *error)
{
    *environment = (struct script_function){0};
    struct environment_making making = {globals, environment};
    return script_protect(script, run_environment_new, &making, 0, error);
}

struct registration {
    const char *name;
    struct opener opener;
};

static int run_register(lua_State *L)
{
    const struct registration *registration = lua_touserdata(L, 1);
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &modules_key);
    struct opener *opener =
        script_object_push(L, &opener_class, sizeof *opener);
    *opener = registration->opener;
    lua_setfield(L, -2, registration->name);
    return 0;
}

enum script_cause script_module_register(struct script *script,
                                         const char *name,
                                         script_module_fn *open,
                                         void *ctx,
                                         struct script_error *error)
{
    CHECK(is_module_name(name, strlen(name)));
    struct registration registration = {name, {open, ctx}};
    return script_protect(script, run_register, &registration, 0, error);
}

struct loading {
    struct script_function environment;
    const struct script_chunk *chunk;
    struct script_function *function;
    bool is_syntax;
};

static int run_load(lua_State *L)
{
    struct loading *loading = lua_touserdata(L, 1);
    script_function_push(L, loading->environment);
    lua_pushfstring(L, "@%s", loading->chunk->file);
    const int status = load_text(L, loading->chunk, lua_tostring(L, -1), 2);
    if (status != LUA_OK) {
        loading->is_syntax = status == LUA_ERRSYNTAX;
        return lua_error(L);
    }
    *loading->function = script_function_keep(L, -1);
    return 0;
}

enum script_cause script_load(struct script *script,
                              struct script_function environment,
                              const struct script_chunk *chunk,
                              struct script_function *function,
                              struct script_error *error)
{
    *function = (struct script_function){0};
    struct loading loading = {environment, chunk, function, false};
    enum script_cause cause =
        script_protect(script, run_load, &loading, 0, error);
    if (cause == SCRIPT_ERROR && loading.is_syntax) {
        cause = SCRIPT_SYNTAX;
        if (error != NULL) {
            error->cause = cause;
            script_error_split(error, chunk->file);
        }
    }
    return cause;
}
