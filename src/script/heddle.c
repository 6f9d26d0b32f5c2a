/* The module "heddle": values, the time and the chance of a run, patterns. */

#include "script/heddle.h"

#include <lauxlib.h>

#include "runtime/clock.h"
#include "runtime/pattern.h"
#include "runtime/piece.h"
#include "sched/runner.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/deferred_calls.h"
#include "script/lua_runtime.h"
#include "script/patterns.h"
#include "script/program.h"
#include "script/reads.h"
#include "script/streams.h"
#include "value/array.h"

/* The key of the module in the registry; only the address counts. */
static const char module_key = 0;

struct heddle *heddle_of(lua_State *L)
{
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, &module_key);
    struct heddle *heddle = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return heddle;
}

struct lua_runtime *heddle_lua_runtime(const struct heddle *heddle,
                                       const struct runtime *runtime)
{
    LIST_FOREACH (&heddle->lua_runtimes, at) {
        struct lua_runtime *lua = CONTAINER_OF(at, struct lua_runtime, node);
        if (lua->runtime == runtime) {
            return lua;
        }
    }
    return NULL;
}

/* -- Time and chance ----------------------------------------------------- */

int heddle_push_random(lua_State *L, struct random *random, int first)
{
    const int count = lua_gettop(L) - first + 1;
    if (count <= 0) {
        lua_pushnumber(L, random_unit(random));
        return 1;
    }
    const lua_Integer low = count == 1 ? 1 : luaL_checkinteger(L, first);
    const int last = count == 1 ? first : first + 1;
    const lua_Integer high = luaL_checkinteger(L, last);
    luaL_argcheck(L, low <= high, last, "the interval is empty");
    lua_pushinteger(L, random_between(random, low, high));
    return 1;
}

/* The source of chance that counts here; raises if there is none. */
static struct random *check_random(lua_State *L, const char *what)
{
    const struct heddle *heddle = heddle_of(L);
    if (heddle->frame != NULL) {
        if (heddle->frame->call.kind == FRAME_BUILD) {
            (void)luaL_error(L,
                             "%s is not available while a pattern is built: a "
                             "pattern must declare the same each time",
                             what);
        }
        return &heddle->frame->random;
    }
    struct random *random = heddle->source.random != NULL
                                ? heddle->source.random(heddle->source.ctx)
                                : NULL;
    if (random == NULL) {
        (void)luaL_error(L,
                         "%s is not available outside a test or a "
                         "run",
                         what);
    }
    return random;
}

static int do_random(lua_State *L)
{
    return heddle_push_random(L, check_random(L, "heddle.random()"), 1);
}

static int do_now(lua_State *L)
{
    (void)check_random(L, "heddle.now()");
    const struct heddle *heddle = heddle_of(L);
    lua_pushinteger(L,
                    heddle->frame != NULL
                        ? (lua_Integer)heddle->frame->now
                        : (lua_Integer)heddle->source.now(heddle->source.ctx));
    return 1;
}

/* The runtime that is meant: that of the code that runs or, in a test, the only
 * one. Raises if there is none. */
static struct lua_runtime *check_lua_runtime(lua_State *L)
{
    const struct heddle *heddle = heddle_of(L);
    if (heddle->frame != NULL) {
        return heddle->frame->lua;
    }
    struct list_node *first = list_first(&heddle->lua_runtimes);
    if (list_is_empty(&heddle->lua_runtimes) ||
        list_last(&heddle->lua_runtimes) != first) {
        (void)luaL_error(L,
                         "heddle.clock is for patterns, computations, effects "
                         "and handlers: call it there");
    }
    return CONTAINER_OF(first, struct lua_runtime, node);
}

static int do_clock(lua_State *L)
{
    struct lua_runtime *lua = check_lua_runtime(L);
    const struct piece *piece = lua->frame->call.piece;
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err =
        clock_place(lua->runtime,
                    piece != NULL ? piece->space : lua->runtime->spaces.at[0],
                    luaL_checkinteger(L, 1),
                    &place,
                    &detail);
    reads_raise(L, err, &detail);
    cells_push(L, lua, place);
    return 1;
}

/* -- Functions of the host ----------------------------------------------- */

/* What is not to be lost if code raises. */
struct asked {
    struct value arguments;
    struct value result;
};

static void asked_release(void *object)
{
    struct asked *asked = object;
    value_unref(asked->arguments);
    value_unref(asked->result);
    *asked = (struct asked){0};
}

static const struct script_class asked_class = {
    .name = "call",
    .release = asked_release,
};

/* Only effects reach the world: a computation must give the same again, and a
 * handler may be called more than once. */
static void check_effect(lua_State *L, const char *name)
{
    const struct frame *frame = heddle_of(L)->frame;
    const struct run *run = frame != NULL ? frame->call.access.run : NULL;
    if (run == NULL || run->node->kind != NODE_EFFECT) {
        (void)luaL_error(L, "heddle.%s is only for effects", name);
    }
}

static int call_function(lua_State *L)
{
    const struct program_function *function =
        lua_touserdata(L, lua_upvalueindex(1));
    check_effect(L, function->name);
    const int count = lua_gettop(L);
    struct asked *asked = script_object_push(L, &asked_class, sizeof *asked);
    asked->arguments = value_empty_array();
    for (int i = 1; i <= count; i++) {
        const struct value value = convert_check(L, i, "the argument");
        asked->arguments =
            array_push_adopt(asked->arguments,
                             value_is_absent(value) ? value_null() : value);
    }
    if (function->after != NULL) {
        struct heddle *heddle = heddle_of(L);
        const struct value arguments = asked->arguments;
        asked->arguments = VALUE_NONE;
        deferred_calls_note_adopt(heddle, function, heddle->frame, arguments);
        return 0;
    }
    struct err_detail detail = {0};
    const enum err err = function->call(function->ctx,
                                        asked->arguments,
                                        &asked->result,
                                        &detail);
    reads_raise(L, err, &detail);
    convert_push(L, asked->result);
    return 1;
}

static void add_host_functions(lua_State *L, const struct heddle *heddle)
{
    for (const struct program_function *function = heddle->functions;
         function != NULL && function->name != NULL;
         function++) {
        lua_pushlightuserdata(L, (void *)(uintptr_t)function);
        lua_pushcclosure(L, call_function, 1);
        lua_setfield(L, -2, function->name);
    }
}

/* -- The module ---------------------------------------------------------- */

static void open_heddle(lua_State *L, void *ctx)
{
    static const luaL_Reg functions[] = {
        {"now", do_now},
        {"random", do_random},
        {"clock", do_clock},
        {"send", streams_follow_up},
        {"cancel", streams_cancel},
        {"pattern", patterns_new},
        {"launch", patterns_launch},
        {NULL, NULL},
    };
    lua_newtable(L);
    convert_add_functions(L);
    luaL_setfuncs(L, functions, 0);
    add_host_functions(L, ctx);
    script_lock(L, "heddle");
}

static int keep_module(lua_State *L)
{
    lua_rawsetp(L, LUA_REGISTRYINDEX, &module_key); /* the context */
    return 0;
}

enum script_cause heddle_begin(struct heddle *heddle,
                               struct script *script,
                               const struct heddle_source *source,
                               struct script_error *error)
{
    *heddle = (struct heddle){.script = script};
    if (source != NULL) {
        heddle->source = *source;
    }
    list_init(&heddle->lua_runtimes);
    list_init(&heddle->calls);
    const enum script_cause cause =
        script_protect(script, keep_module, heddle, 0, error);
    return cause != SCRIPT_FINE ? cause
                                : script_module_register(script,
                                                         "heddle",
                                                         open_heddle,
                                                         heddle,
                                                         error);
}

void heddle_end(struct heddle *heddle)
{
    CHECK(list_is_empty(&heddle->lua_runtimes));
    deferred_calls_end(heddle);
    VEC_FOREACH (&heddle->patterns, pattern) {
        pattern_unref(*pattern);
    }
    vec_release(&heddle->patterns);
    script_function_release(heddle->script, &heddle->memory);
}

static int make_memory(lua_State *L)
{
    struct heddle *heddle = lua_touserdata(L, 1);
    lua_newtable(L);
    const struct script_function memory = script_function_keep(L, -1);
    script_function_release(heddle->script, &heddle->memory);
    heddle->memory = memory;
    return 0;
}

enum script_cause heddle_remember(struct heddle *heddle,
                                  struct script_error *error)
{
    return script_protect(heddle->script, make_memory, heddle, 0, error);
}
