/* Pattern values, and the call that builds. */

#include "script/patterns.h"

#include "base/mem.h"
#include "runtime/piece.h"
#include "script/builders.h"
#include "script/building.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/reads.h"
#include "script/streams.h"
#include "value/object.h"

/* Behind a struct pattern. */
struct lua_pattern {
    struct heddle *heddle;
    struct script_function function;
};

struct pattern_object {
    struct pattern *pattern;
};

/* -- Building ------------------------------------------------------------ */

struct building {
    struct frame frame;
    struct builder *builder;
    struct building_state state;
};

static int push_builder(lua_State *L, void *ctx)
{
    struct building *building = ctx;
    builders_push(L, building->frame.lua, &building->state);
    return 1;
}

/* The field on top, under the key below it. */
static void take_field(lua_State *L, struct building *building)
{
    if (lua_type(L, -2) != LUA_TSTRING) {
        (void)luaL_error(L, "the fields of a result must have names");
    }
    struct value *key = builders_hold(&building->state, 0);
    *key = convert_check(L, -2, "the name of a field");
    struct lua_runtime *lua = NULL;
    struct place *place = cells_test(L, -1, &lua);
    if (place == NULL) {
        place = streams_test(L, -1, &lua);
    }
    struct err_detail detail = {0};
    enum err err;
    if (place != NULL) {
        err = builder_result(building->builder, *key, place, &detail);
    } else {
        struct value *value = builders_hold(&building->state, 1);
        *value = convert_check(L, -1, lua_tostring(L, -2));
        err = builder_result_value(building->builder, *key, *value, &detail);
    }
    builders_raise(L, &building->state, err, &detail);
}

static void take_result(lua_State *L, int count, void *ctx)
{
    if (count == 0 || lua_isnil(L, 1)) {
        return;
    }
    if (lua_type(L, 1) != LUA_TTABLE) {
        (void)luaL_error(L,
                         "a pattern must return a table with the fields of its "
                         "result, not a %s",
                         luaL_typename(L, 1));
    }
    lua_settop(L, 1);
    /* In an order of its own: the same result is the same document. */
    lua_pushcfunction(L, sandbox_raw_pairs);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 3);
    for (;;) {
        lua_pushvalue(L, -3);
        lua_pushvalue(L, -3);
        lua_pushvalue(L, -3);
        lua_call(L, 2, 2);
        if (lua_isnil(L, -2)) {
            return;
        }
        take_field(L, ctx);
        lua_pop(L, 1);
        lua_replace(L, -2);
    }
}

/* A piece may have a hundred thousand nodes, and all are declared in one call.
 * A host that has set a budget of its own gives ten times as much for that. */
uint64_t patterns_build_steps(const struct script *script)
{
    const uint64_t steps = script->config.steps;
    return steps < UINT64_MAX / (SCRIPT_BUILD_STEPS / SCRIPT_STEPS)
               ? steps * (SCRIPT_BUILD_STEPS / SCRIPT_STEPS)
               : steps;
}

enum err patterns_build_end(const struct building_state *state,
                            enum script_cause cause,
                            struct script_error *error,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (cause != SCRIPT_FINE) {
        struct buf text = {0};
        script_error_write(&text, error);
        err = state->failed != ERR_OK ? state->failed : ERR_ARGUMENT;
        err = err_set(detail, err, "%s", buf_text(&text));
        buf_release(&text);
    }
    script_error_release(error);
    return err;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    const struct lua_pattern *pattern = ctx;
    struct lua_runtime *lua =
        heddle_lua_runtime(pattern->heddle, builder_runtime(builder));
    if (lua == NULL) {
        return err_set(detail, ERR_ARGUMENT, "this runtime does not run Lua");
    }
    struct building building = {.builder = builder};
    frame_begin(&building.frame, lua, FRAME_BUILD, NULL);
    building.state.builder = builder;
    const struct script_call call = {
        .function = pattern->function,
        .push = push_builder,
        .take = take_result,
        .ctx = &building,
        .steps = patterns_build_steps(lua->script),
    };
    struct script_error error = {0};
    const enum script_cause cause = script_call(lua->script, &call, &error);
    builders_end(&building.state);
    frame_end(&building.frame);
    return patterns_build_end(&building.state, cause, &error, detail);
}

/* -- Patterns ------------------------------------------------------------ */

static void pattern_gone(void *ctx)
{
    struct lua_pattern *pattern = ctx;
    script_function_release(pattern->heddle->script, &pattern->function);
    mem_free(pattern, sizeof *pattern);
}

static void object_release(void *object)
{
    struct pattern_object *handle = object;
    pattern_unref(handle->pattern);
    handle->pattern = NULL;
}

static void make_known(struct heddle *heddle, struct pattern *pattern)
{
    bool is_known = false;
    VEC_FOREACH (&heddle->patterns, known) {
        if (key_equal((*known)->name, pattern->name)) {
            struct pattern *before = *known;
            *known = pattern_ref(pattern);
            pattern_unref(before);
            is_known = true;
            break;
        }
    }
    if (!is_known) {
        vec_push(&heddle->patterns, pattern_ref(pattern));
    }
    LIST_FOREACH (&heddle->lua_runtimes, at) {
        runtime_add_pattern(CONTAINER_OF(at, struct lua_runtime, node)->runtime,
                            pattern);
    }
}

int patterns_new(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TSTRING);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    struct heddle *heddle = heddle_of(L);
    struct pattern_object *handle =
        script_object_push(L, &pattern_class, sizeof *handle);
    const struct script_function function = script_function_keep(L, 2);
    struct value name = VALUE_NONE;
    struct err_detail detail = {0};
    enum err err = convert_read(L, 1, "the name", NULL, &name, &detail);
    if (err == ERR_OK && value_text(&name).length == 0) {
        err = err_set(&detail, ERR_ARGUMENT, "a pattern must have a name");
    }
    struct lua_pattern *pattern = mem_alloc_zero(sizeof *pattern);
    pattern->heddle = heddle;
    pattern->function = function;
    if (err != ERR_OK) {
        value_unref(name);
        pattern_gone(pattern);
        reads_raise(L, err, &detail);
    }
    const struct pattern_spec spec = {
        .name = name,
        .build = build,
        .ctx = pattern,
        .release = pattern_gone,
    };
    handle->pattern = pattern_new(&spec);
    value_unref(name);
    make_known(heddle, handle->pattern);
    return 1;
}

struct pattern *patterns_test(lua_State *L, int index)
{
    const struct pattern_object *handle =
        script_object_test(L, index, &pattern_class);
    return handle != NULL ? handle->pattern : NULL;
}

struct pattern *patterns_check(lua_State *L, int argument)
{
    (void)script_object_check(L, argument, &pattern_class);
    return patterns_test(L, argument);
}

bool patterns_is_lua(const struct pattern *pattern)
{
    return pattern->build == build;
}

struct value patterns_check_arguments(lua_State *L, int index)
{
    if (lua_isnoneornil(L, index)) {
        return VALUE_NONE;
    }
    luaL_checktype(L, index, LUA_TTABLE);
    const struct value arguments = convert_check(L, index, "args");
    if (!value_is_object(arguments)) {
        value_unref(arguments);
        (void)luaL_argerror(L,
                            index,
                            "the arguments of a piece must have "
                            "names");
    }
    return arguments;
}

static struct value object_identity(void *object)
{
    const struct pattern_object *handle = object;
    return handle->pattern != NULL ? value_ref(handle->pattern->name)
                                   : value_null();
}

static int object_tostring(lua_State *L)
{
    const struct pattern *pattern = patterns_check(L, 1);
    const struct text name = value_text(&pattern->name);
    lua_pushliteral(L, "pattern ");
    lua_pushlstring(L, name.at, name.length);
    lua_concat(L, 2);
    return 1;
}

static const luaL_Reg object_metamethods[] = {
    {"__tostring", object_tostring},
    {NULL, NULL},
};

const struct script_class pattern_class = {
    .name = "pattern",
    .metamethods = object_metamethods,
    .release = object_release,
    .identity = object_identity,
};

/* -- Launching ----------------------------------------------------------- */

struct launch_object {
    struct value arguments;
    struct value name;
    struct value space; /* or absent */
    struct value link;  /* to the result of the piece */
};

static void launch_release(void *object)
{
    struct launch_object *launch = object;
    value_unref(launch->arguments);
    value_unref(launch->name);
    value_unref(launch->space);
    value_unref(launch->link);
    *launch = (struct launch_object){0};
}

/* patterns-2. */
static enum err launch_value(void *object,
                             struct value *out,
                             struct err_detail *detail)
{
    const struct launch_object *launch = object;
    (void)detail;
    *out = value_ref(launch->link);
    return ERR_OK;
}

static const struct script_class launch_class = {
    .name = "launch",
    .release = launch_release,
    .value = launch_value,
};

/* A string in the options at 3, new; or absent. */
static struct value check_launch_option(lua_State *L, const char *field)
{
    struct value text = VALUE_NONE;
    if (!lua_isnil(L, 3) && lua_getfield(L, 3, field) != LUA_TNIL) {
        if (lua_type(L, -1) != LUA_TSTRING) {
            (void)luaL_error(L, "%s must be a string", field);
        }
        text = convert_check(L, -1, field);
    }
    lua_settop(L, 4);
    return text;
}

int patterns_launch(lua_State *L)
{
    static const char *const names[] = {"name", "space"};
    lua_settop(L, 3);
    struct pattern *pattern = patterns_check(L, 1);
    struct frame *frame = heddle_of(L)->frame;
    if (frame == NULL || frame->call.handling == NULL) {
        return luaL_error(L, "heddle.launch is only for handlers");
    }
    if (frame->call.piece == NULL) {
        return luaL_error(L,
                          "heddle.launch works only in a piece's handler: that "
                          "of rt:on has no piece; declare it with p:handler");
    }
    struct launch_object *launch =
        script_object_push(L, &launch_class, sizeof *launch);
    launch->arguments = patterns_check_arguments(L, 2);
    builders_check_options(L, 3, names, COUNT_OF(names));
    launch->name = check_launch_option(L, "name");
    launch->space = check_launch_option(L, "space");
    const struct piece_launch_options options = {
        .pattern = pattern,
        .arguments = launch->arguments,
        .name = launch->name,
        .space = launch->space,
    };
    struct err_detail detail = {0};
    const enum err err = piece_launch(frame->call.piece,
                                      frame->call.handling,
                                      &options,
                                      &launch->link,
                                      &detail);
    reads_raise(L, call_frame_note(&frame->call, err), &detail);
    return 1;
}
