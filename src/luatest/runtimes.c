/* The methods of rt, and what makes one. */

#include "luatest/runtimes.h"
#include "script/building.h"

#include <string.h>

#include "runtime/own_write.h"
#include "runtime/piece.h"
#include "runtime/timer.h"

#include "luatest/checks.h"
#include "luatest/queries.h"
#include "luatest/rejections.h"
#include "luatest/test_tasks.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/nodes.h"
#include "script/patterns.h"
#include "script/pieces.h"
#include "script/reads.h"
#include "script/streams.h"
#include "script/transactions.h"
#include "value/array.h"

enum {
    ADVANCE_TIMERS_MAX = 1000000, /* of rt:advance: then it gives up */
    CLUSTER_MAX = 64,
    ROUNDS_MAX = 1000, /* of cluster:settled() */
    PULLS_MAX = 100,   /* of rt:pull(), while documents arrive */
    LOADS_MAX = 100,   /* of rt:run() */
};

/* Its user value is the table of its nodes by name. */
struct runtime_object {
    struct binding binding;
};

struct engine_object {
    struct test_case *test_case;
    struct world_store *store; /* of a test case that may be over */
    uint64_t number;           /* of that test case */
};

static const struct script_class runtime_class;
static const struct script_class engine_class = {.name = "engine"};

static void object_cut(struct binding *binding)
{
    (void)binding;
}

static void object_release(void *object)
{
    struct runtime_object *handle = object;
    binding_untie(&handle->binding);
}

/* Of one test, any runtime is as good as another: which one code has captured
 * says nothing about what it does. */
static struct value object_identity(void *object)
{
    (void)object;
    return value_text_new("rt");
}

static struct test_runtime *check_runtime(lua_State *L, int argument)
{
    const struct runtime_object *handle =
        script_object_check(L, argument, &runtime_class);
    if (handle->binding.lua == NULL) {
        (void)luaL_error(L, "this runtime has ended");
    }
    return test_runtime_of(handle->binding.lua);
}

/* For what cannot be done while a node of the runtime runs. */
static struct test_runtime *check_toplevel(lua_State *L, const char *method)
{
    struct test_runtime *rt = check_runtime(L, 1);
    if (!frame_is_toplevel(rt->lua.frame)) {
        (void)luaL_error(L, "%s() cannot be called inside a run", method);
    }
    return rt;
}

/* Pushes the object of a new runtime with these options. */
static struct test_runtime *push_runtime(
    lua_State *L,
    struct test_case *test_case,
    const struct test_runtime_options *options)
{
    struct runtime_object *handle =
        script_object_push(L, &runtime_class, sizeof *handle);
    lua_newtable(L);
    (void)lua_setiuservalue(L, -2, 1);
    struct test_runtime *rt = NULL;
    struct err_detail detail = {0};
    const enum err err = test_runtime_new(test_case, options, &rt, &detail);
    if (err == ERR_OK) {
        binding_tie(&handle->binding, &rt->lua, object_cut);
    }
    reads_raise(L, err, &detail);
    return rt;
}

/* -- Making them --------------------------------------------------------- */

static struct engine_object *push_engine(lua_State *L,
                                         struct test_case *test_case,
                                         const char *folder)
{
    struct engine_object *engine =
        script_object_push(L, &engine_class, sizeof *engine);
    struct err_detail detail = {0};
    const enum err err =
        world_store_new(test_case->world, folder, &engine->store, &detail);
    engine->test_case = test_case;
    engine->number = test_case->number;
    reads_raise(L, err, &detail);
    return engine;
}

int runtimes_engine(lua_State *L, struct test_case *test_case)
{
    if (lua_isnoneornil(L, 2)) {
        (void)push_engine(L, test_case, NULL);
        return 1;
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    if (lua_getfield(L, 2, "file") == LUA_TNIL) {
        (void)push_engine(L, test_case, NULL);
        return 1;
    }
    if (lua_type(L, -1) != LUA_TSTRING) {
        return luaL_error(L,
                          "file must be the name of a directory for the "
                          "engine");
    }
    const char *name = lua_tostring(L, -1);
    if (name[0] == '\0' || name[0] == '.' || strpbrk(name, "/\\") != NULL) {
        return luaL_error(L,
                          "file must be a name without slashes: the directory "
                          "is created for the test and removed after it");
    }
    name = lua_pushfstring(L, "%I-%s", (lua_Integer)test_case->number, name);
    struct buf *path = script_buffer_push(L);
    if (test_case->folder == NULL ||
        !test_case->folder(test_case->folder_ctx, name, path)) {
        return luaL_error(L, "engines on files are not available here");
    }
    (void)push_engine(L, test_case, buf_text(path));
    return 1;
}

/* Pushes the engine of the options at `index`, or a new one. */
static struct engine_object *push_engine_of(lua_State *L,
                                            struct test_case *test_case,
                                            int index)
{
    if (lua_isnoneornil(L, index) ||
        lua_getfield(L, index, "engine") == LUA_TNIL) {
        return push_engine(L, test_case, NULL);
    }
    struct engine_object *engine = script_object_test(L, -1, &engine_class);
    if (engine == NULL) {
        (void)luaL_error(L, "engine must be the result of t:engine()");
    } else if (engine->test_case != test_case ||
               engine->number != test_case->number) {
        (void)luaL_error(L, "the engine belongs to another test");
    }
    return engine;
}

static bool field_is(lua_State *L, int index, const char *name, bool otherwise)
{
    const bool is_given = lua_getfield(L, index, name) != LUA_TNIL;
    const bool flag = is_given ? lua_toboolean(L, -1) != 0 : otherwise;
    lua_pop(L, 1);
    return flag;
}

/* Options in the hands of Lua: their values go with it. */
struct options_object {
    struct test_runtime_options options;
};

static void options_release(void *object)
{
    struct options_object *held = object;
    value_unref(held->options.spaces);
    value_unref(held->options.user);
    *held = (struct options_object){0};
}

static const struct script_class options_class = {
    .name = "options",
    .release = options_release,
};

static void check_spaces(lua_State *L,
                         int index,
                         struct test_runtime_options *options)
{
    if (lua_getfield(L, index, "spaces") != LUA_TNIL) {
        options->spaces = convert_check(L, -1, "spaces");
        bool is_list =
            value_is_array(options->spaces) && array_count(options->spaces) > 0;
        for (uint32_t i = 0; is_list && i < array_count(options->spaces); i++) {
            is_list = value_is_string(array_at(options->spaces, i));
        }
        if (!is_list) {
            (void)luaL_error(L, "spaces must be a list of names");
        }
    }
    lua_pop(L, 1);
}

static void check_lanes(lua_State *L,
                        int index,
                        struct test_runtime_options *options)
{
    static const char *const lanes[] = {"one", "space", NULL};
    if (lua_getfield(L, index, "lanes") != LUA_TNIL) {
        const char *word = lua_tostring(L, -1);
        if (word == NULL ||
            (strcmp(word, lanes[0]) != 0 && strcmp(word, lanes[1]) != 0)) {
            (void)luaL_error(L, "lanes must be \"one\" or \"space\"");
        } else if (strcmp(word, lanes[1]) == 0) {
            options->lanes = LANES_SPACE;
        }
    }
    lua_pop(L, 1);
}

static void check_hops(lua_State *L,
                       int index,
                       struct test_runtime_options *options)
{
    if (lua_getfield(L, index, "hops") != LUA_TNIL) {
        const lua_Integer number = lua_tointeger(L, -1);
        if (number <= 0 || number > INT32_MAX) {
            (void)luaL_error(L, "hops must be a number of events");
        }
        options->hops = (uint32_t)number;
    }
    lua_pop(L, 1);
}

/* Pushes the options of the table at `index`, or the default. */
static struct test_runtime_options *push_options(lua_State *L,
                                                 struct test_case *test_case,
                                                 int index)
{
    struct options_object *held =
        script_object_push(L, &options_class, sizeof *held);
    struct test_runtime_options *options = &held->options;
    static const char *const names[] = {"engine",
                                        "spaces",
                                        "user",
                                        "persist",
                                        "lanes",
                                        "hops",
                                        "idempotency_check",
                                        "trace"};
    builders_check_options(L, index, names, COUNT_OF(names));
    if (!lua_isnoneornil(L, index)) {
        check_spaces(L, index, options);
        check_lanes(L, index, options);
        check_hops(L, index, options);
        if (lua_getfield(L, index, "user") != LUA_TNIL) {
            (void)luaL_checkstring(L, -1);
            options->user = convert_check(L, -1, "user");
        }
        lua_pop(L, 1);
        options->no_idempotency_check =
            !field_is(L, index, "idempotency_check", true);
        options->no_persistence = !field_is(L, index, "persist", true);
        options->trace = field_is(L, index, "trace", false);
    }
    const struct engine_object *engine = push_engine_of(L, test_case, index);
    CHECK(engine != NULL);
    options->store = engine->store;
    return options;
}

int runtimes_new(lua_State *L, struct test_case *test_case)
{
    lua_settop(L, 2);
    (void)push_runtime(L, test_case, push_options(L, test_case, 2));
    return 1;
}

/* -- Stepping ------------------------------------------------------------ */

static int rt_step(lua_State *L)
{
    struct test_runtime *rt = check_toplevel(L, "step");
    const bool again = own_writes_try_again(&rt->one->runtime);
    lua_pushboolean(L, world_step(rt->one) || again);
    script_pass_stop(L);
    return 1;
}

static enum world_rest rest(struct test_runtime *rt, bool settled)
{
    enum world_rest rest = WORLD_AT_REST;
    do {
        rest = world_idle(rt->one, settled);
    } while (rest != WORLD_NOT_CONVERGED &&
             own_writes_try_again(&rt->one->runtime));
    return rest;
}

static int push_rest(lua_State *L, enum world_rest rest)
{
    script_pass_stop(L);
    if (rest == WORLD_AT_REST) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, rest == WORLD_HELD ? "held" : "not-converged");
    return 2;
}

static int rt_idle(lua_State *L)
{
    return push_rest(L, rest(check_toplevel(L, "idle"), false));
}

static int rt_settled(lua_State *L)
{
    return push_rest(L, rest(check_toplevel(L, "settled"), true));
}

static int rt_now(lua_State *L)
{
    const struct test_runtime *rt = check_runtime(L, 1);
    lua_pushinteger(L, (lua_Integer)world_now(rt->test_case->world));
    return 1;
}

/* The next timer of any runtime of the test; *any: there are timers. */
static mono_ms next_timer(const struct test_case *test_case, bool *any)
{
    mono_ms next = MONO_NEVER;
    LIST_FOREACH (&test_case->runtimes, at) {
        const struct test_runtime *rt =
            CONTAINER_OF(at, struct test_runtime, node);
        const struct runtime *runtime = &rt->one->runtime;
        const mono_ms wake = stored_events_next_timer(runtime);
        *any = *any || stored_events_have_timers(runtime);
        next = wake < next ? wake : next;
    }
    return next;
}

/* Moves the clock up to each timer that is due until `target`, and lets the
 * runtimes do what can be done at that time. */
static void run_timers(struct test_runtime *rt, mono_ms target)
{
    struct world *world = rt->test_case->world;
    bool any = false;
    mono_ms wake = next_timer(rt->test_case, &any);
    for (unsigned i = 0; any && i < ADVANCE_TIMERS_MAX; i++) {
        LIST_FOREACH (&rt->test_case->runtimes, at) {
            test_runtime_settle(CONTAINER_OF(at, struct test_runtime, node));
        }
        const mono_ms before = wake;
        wake = next_timer(rt->test_case, &any);
        if (wake > target || (wake <= world_now(world) && wake == before)) {
            return;
        }
        world_advance(world,
                      wake > world_now(world) ? wake - world_now(world) : 0);
    }
}

static int rt_advance(lua_State *L)
{
    struct test_runtime *rt = check_runtime(L, 1);
    const lua_Integer ms = luaL_checkinteger(L, 2);
    luaL_argcheck(L,
                  ms >= 0 && ms <= (lua_Integer)TIMER_TIME_MOST,
                  2,
                  "expected a number of milliseconds");
    struct world *world = rt->test_case->world;
    const mono_ms target = world_now(world) + (mono_ms)ms;
    if (frame_is_toplevel(rt->lua.frame)) {
        run_timers(rt, target);
        script_pass_stop(L);
    }
    if (target > world_now(world)) {
        world_advance(world, target - world_now(world));
    }
    return 0;
}

static int rt_hold(lua_State *L)
{
    struct test_runtime *rt = check_runtime(L, 1);
    luaL_checktype(L, 2, LUA_TBOOLEAN);
    world_hold(rt->one, lua_toboolean(L, 2) != 0);
    return 0;
}

/* One place, and *next if there is a link: where that leads, new. */
static enum err pull_one(struct test_runtime *rt,
                         struct place *place,
                         struct value *out,
                         struct place **next,
                         struct err_detail *detail)
{
    const struct cell_access *access = &rt->lua.frame->call.access;
    struct place *at = NULL;
    enum err err =
        cell_follow(access, place, READ_FOR_BOTH, false, &at, detail);
    if (err != ERR_OK) {
        return err;
    }
    unsigned left = PULLS_MAX;
    do { /* a node that waits for a document runs when it has come */
        value_unref(*out);
        *out = VALUE_NONE;
        err = sched_pull(test_runtime_sched(rt),
                         at,
                         world_now(rt->test_case->world),
                         out);
        world_exchange(rt->one);
    } while (test_runtime_sched(rt)->waiting.count > 0 && --left > 0);
    if (err == ERR_OK && value_kind(*out) == VALUE_LINK) {
        err = cell_link_target(access, at, *out, next, detail);
        value_unref(*out);
        *out = VALUE_NONE;
    }
    place_unref(at);
    return err;
}

/* A link may be computed, too: it is pulled before it is followed. */
static enum err pull(struct test_runtime *rt,
                     struct place *place,
                     struct value *out,
                     struct err_detail *detail)
{
    struct place *at = place_ref(place);
    enum err err = ERR_OK;
    for (unsigned hops = 0; at != NULL && err == ERR_OK; hops++) {
        struct place *next = NULL;
        err = hops > CELL_HOPS
                  ? err_set(detail, ERR_ARGUMENT, "the links form a cycle")
                  : pull_one(rt, at, out, &next, detail);
        place_unref(at);
        at = next;
    }
    /* Nothing is there. */
    return err == ERR_NOT_FOUND || err == ERR_TYPE ? ERR_OK : err;
}

static int rt_pull(lua_State *L)
{
    struct test_runtime *rt = check_toplevel(L, "pull");
    struct lua_runtime *of = NULL;
    struct place *place = cells_check(L, 2, &of);
    luaL_argcheck(L, of == &rt->lua, 2, "the cell belongs to another runtime");
    struct err_detail detail = {0};
    struct view_found *held = view_hold(&rt->lua.frame->views);
    (void)world_step(rt->one);
    const enum err err = pull(rt, place, &held->value, &detail);
    (void)world_step(rt->one);
    script_pass_stop(L);
    reads_raise(L, err, &detail);
    convert_push(L, held->value);
    return 1;
}

/* The same on the same engine, after a crash. */
static int rt_restart(lua_State *L)
{
    struct test_runtime *rt = check_toplevel(L, "restart");
    struct test_case *test_case = rt->test_case;
    struct options_object *held =
        script_object_push(L, &options_class, sizeof *held);
    held->options = rt->options;
    held->options.spaces = value_ref(rt->options.spaces);
    held->options.user = value_ref(rt->options.user);
    checks_note_faults(test_case, rt);
    test_runtime_end(rt);
    (void)push_runtime(L, test_case, &held->options);
    return 1;
}

/* -- Pieces and restarts ------------------------------------------------- */

/* What stores know of the nodes by hand, while rt:resume registers them. */
struct resuming {
    struct test_runtime *rt;
    struct resume_set set;
    bool has_set;
    bool is_open;       /* a phase of registrations */
    struct value piece; /* of the phase */
    struct resume_counts counts;
};

static void resuming_open(struct resuming *resuming)
{
    struct runtime *runtime = &resuming->rt->one->runtime;
    const struct value piece = value_text_new(NODES_BY_HAND);
    struct err_detail detail = {0};
    if (resuming->has_set) {
        const struct resume_options options =
            resume_set_options(&resuming->set,
                               runtime->spaces.at[0],
                               piece,
                               NODES_GENERATION);
        resuming->is_open =
            persistence_resume_begin(runtime->sched, &options, &detail) ==
            ERR_OK;
        if (resuming->is_open) {
            resuming->piece = piece; /* borrowed by the phase */
            return;
        }
    }
    value_unref(piece);
}

static void add_counts(struct resume_counts *to,
                       const struct resume_counts *counts)
{
    to->restored += counts->restored;
    to->dirty += counts->dirty;
    to->unknown += counts->unknown;
}

static void resuming_close(struct resuming *resuming)
{
    if (resuming->is_open) {
        const struct resume_counts counts =
            persistence_resume_end(test_runtime_sched(resuming->rt));
        add_counts(&resuming->counts, &counts);
        resuming->is_open = false;
        value_unref(resuming->piece);
        resuming->piece = VALUE_NONE;
    }
}

static void resuming_release(void *object)
{
    struct resuming *resuming = object;
    if (resuming->rt != NULL) {
        resuming_close(resuming);
        resume_set_release(&resuming->set);
        resuming->rt->resuming = NULL;
        resuming->rt = NULL;
    }
}

static const struct script_class resuming_class = {
    .name = "resuming",
    .release = resuming_release,
};

static void put_count(lua_State *L, const char *name, uint64_t count)
{
    lua_pushinteger(L, (lua_Integer)count);
    lua_setfield(L, -2, name);
}

/* rt:resume(fn). What is registered and neither restored nor dirty is unknown,
 * whatever the reason. */
static int rt_resume(lua_State *L)
{
    struct test_runtime *rt = check_toplevel(L, "resume");
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    if (rt->resuming != NULL) {
        return luaL_error(L, "resume() is under way");
    }
    struct resuming *resuming =
        script_object_push(L, &resuming_class, sizeof *resuming);
    struct runtime *runtime = &rt->one->runtime;
    const struct value piece = value_text_new(NODES_BY_HAND);
    struct err_detail detail = {0};
    resuming->rt = rt;
    rt->resuming = resuming;
    resuming->has_set =
        !rt->lua.forget && runtime->resume(runtime->resume_ctx,
                                           runtime->spaces.at[0],
                                           piece,
                                           &resuming->set,
                                           &detail) == ERR_OK;
    value_unref(piece);
    const uint64_t before = rt->lua.registered;
    resuming_open(resuming);
    lua_pushvalue(L, 2);
    const int status = lua_pcall(L, 0, 0, 0);
    resuming_close(resuming);
    const struct resume_counts counts = resuming->counts;
    const uint64_t all = rt->lua.registered - before;
    resuming_release(resuming);
    script_pass_stop(L);
    if (status != LUA_OK) {
        return lua_error(L);
    }
    const uint64_t known = counts.restored + counts.dirty;
    lua_createtable(L, 0, 3);
    put_count(L, "restored", counts.restored);
    put_count(L, "dirty", counts.dirty);
    put_count(L, "unknown", all > known ? all - known : 0);
    return 1;
}

/* The name in the options at 4, or one of the pattern that is free. Held by
 * the frame. */
static struct value check_piece_name(lua_State *L,
                                     struct test_runtime *rt,
                                     const struct pattern *pattern)
{
    static const char *const names[] = {"name", "replace"};
    struct view_found *held = view_hold(&rt->lua.frame->views);
    builders_check_options(L, 4, names, COUNT_OF(names));
    if (!lua_isnoneornil(L, 4)) {
        const int type = lua_getfield(L, 4, "name");
        if (type != LUA_TNIL) {
            if (type != LUA_TSTRING) {
                (void)luaL_error(L, "name must be a string");
            }
            held->value = convert_check(L, -1, "name");
            return held->value;
        }
    }
    held->value = value_ref(pattern->name);
    const struct text text = value_text(&pattern->name);
    for (unsigned i = 2;
         piece_find(&rt->one->runtime, NULL, held->value) != NULL;
         i++) {
        struct buf name = {0};
        buf_printf(&name, "%.*s-%u", (int)text.length, text.at, i);
        value_unref(held->value);
        held->value = value_string_new(buf_text(&name), name.length);
        buf_release(&name);
    }
    return held->value;
}

/* `replace` in the options at 4. */
static bool check_replace(lua_State *L)
{
    bool replace = false;
    if (!lua_isnoneornil(L, 4)) {
        lua_getfield(L, 4, "replace");
        replace = lua_toboolean(L, -1) != 0;
        lua_pop(L, 1);
    }
    return replace;
}

/* Until it is there, or nothing more comes. Nothing runs. */
static void load_piece(struct test_runtime *rt, const struct piece *piece)
{
    for (unsigned i = 0; i < LOADS_MAX && piece->state == PIECE_LOADING; i++) {
        world_exchange(rt->one);
        (void)pieces_step(&rt->one->runtime);
    }
}

static int rt_run(lua_State *L)
{
    struct test_runtime *rt = check_toplevel(L, "run");
    lua_settop(L, 4);
    struct pattern *pattern = patterns_check(L, 2);
    struct options_object *arguments =
        script_object_push(L, &options_class, sizeof *arguments);
    arguments->options.user = patterns_check_arguments(L, 3);
    const struct piece_options options = {
        .name = check_piece_name(L, rt, pattern),
        .pattern = pattern,
        .arguments = arguments->options.user,
        .fresh = rt->lua.forget,
        .replace = check_replace(L),
    };
    struct resuming *resuming = rt->resuming;
    if (resuming != NULL) { /* a piece has a phase of its own */
        resuming_close(resuming);
    }
    const uint64_t before = rt->lua.registered;
    struct piece *piece = NULL;
    struct err_detail detail = {0};
    const enum err err =
        piece_start(&rt->one->runtime, &options, &piece, &detail);
    reads_raise(L, err, &detail);
    pieces_push(L, &rt->lua, piece);
    load_piece(rt, piece);
    if (resuming != NULL) {
        rt->lua.registered = before + piece->counts.restored +
                             piece->counts.dirty + piece->counts.unknown;
        add_counts(&resuming->counts, &piece->counts);
        resuming_open(resuming);
    }
    script_pass_stop(L);
    if (piece->state == PIECE_FAILED) {
        detail = piece->error;
        piece_stop(piece);
        return luaL_error(L, "%s", detail.text);
    }
    return 1;
}

/* -- What other files do ------------------------------------------------- */

#define METHOD(name, function)                   \
    static int name(lua_State *L)                \
    {                                            \
        return function(L, check_runtime(L, 1)); \
    }

#define RUNTIME_METHOD(name, function)                 \
    static int name(lua_State *L)                      \
    {                                                  \
        return function(L, &check_runtime(L, 1)->lua); \
    }

RUNTIME_METHOD(rt_doc, cells_doc)
RUNTIME_METHOD(rt_sink, nodes_sink)
RUNTIME_METHOD(rt_stream, streams_new)
RUNTIME_METHOD(rt_on, streams_on)
RUNTIME_METHOD(rt_edit, transactions_edit)
METHOD(rt_reject_next, rejections_add)
METHOD(rt_errors, queries_errors)
METHOD(rt_calls, queries_calls)
METHOD(rt_events, queries_events)
METHOD(rt_tasks, test_tasks_answer)
METHOD(rt_timers, queries_timers)
METHOD(rt_violations, queries_violations)
METHOD(rt_stats, queries_stats)
METHOD(rt_trace, queries_trace)
METHOD(rt_graph, queries_graph)
METHOD(rt_why, queries_why)
METHOD(rt_why_not, queries_why_not)

static int rt_computation(lua_State *L)
{
    return nodes_register(L, &check_runtime(L, 1)->lua, NODE_COMPUTATION);
}

static int rt_effect(lua_State *L)
{
    return nodes_register(L, &check_runtime(L, 1)->lua, NODE_EFFECT);
}

static const luaL_Reg runtime_methods[] = {
    {"doc", rt_doc},
    {"computation", rt_computation},
    {"effect", rt_effect},
    {"sink", rt_sink},
    {"pull", rt_pull},
    {"stream", rt_stream},
    {"on", rt_on},
    {"edit", rt_edit},
    {"step", rt_step},
    {"idle", rt_idle},
    {"settled", rt_settled},
    {"now", rt_now},
    {"advance", rt_advance},
    {"hold", rt_hold},
    {"reject_next", rt_reject_next},
    {"restart", rt_restart},
    {"resume", rt_resume},
    {"run", rt_run},
    {"errors", rt_errors},
    {"calls", rt_calls},
    {"events", rt_events},
    {"tasks", rt_tasks},
    {"timers", rt_timers},
    {"violations", rt_violations},
    {"stats", rt_stats},
    {"trace", rt_trace},
    {"graph", rt_graph},
    {"why", rt_why},
    {"why_not", rt_why_not},
    {NULL, NULL},
};

static const struct script_class runtime_class = {
    .name = "runtime",
    .methods = runtime_methods,
    .release = object_release,
    .identity = object_identity,
};

/* -- Clusters ------------------------------------------------------------ */

/* Whether all are idle after one round in which no runtime got a change. */
/* How far a runtime has come: what is visible, and what the stores have told.
 * A commit that lands changes only the second, and the others have to see it.
 */
static uint64_t progress_of(const struct test_runtime *rt)
{
    const struct runtime *runtime = &rt->one->runtime;
    uint64_t progress = runtime->replica.version;
    VEC_FOREACH (&runtime->spaces, space) {
        progress += (*space)->seq;
    }
    return progress;
}

static enum world_rest settle_all(lua_State *L, int count, bool *moved)
{
    enum world_rest worst = WORLD_AT_REST;
    *moved = false;
    for (int i = 1; i <= count; i++) {
        (void)lua_rawgeti(L, 1, i);
        struct test_runtime *rt = check_runtime(L, -1);
        const uint64_t progress = progress_of(rt);
        const enum world_rest one = rest(rt, true);
        worst = one > worst ? one : worst;
        *moved = *moved || progress_of(rt) != progress;
        lua_pop(L, 1);
    }
    return worst;
}

static int cluster_settled(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    const int count = (int)lua_rawlen(L, 1);
    for (int i = 1; i <= count; i++) {
        (void)lua_rawgeti(L, 1, i);
        if (!frame_is_toplevel(check_runtime(L, -1)->lua.frame)) {
            return luaL_error(L, "settled() cannot be called inside a run");
        }
        lua_pop(L, 1);
    }
    enum world_rest worst = WORLD_AT_REST;
    bool moved = true;
    for (unsigned i = 0; moved && i < ROUNDS_MAX; i++) {
        worst = settle_all(L, count, &moved);
    }
    return push_rest(L, moved ? WORLD_NOT_CONVERGED : worst);
}

int runtimes_cluster(lua_State *L, struct test_case *test_case)
{
    const lua_Integer count = luaL_checkinteger(L, 2);
    luaL_argcheck(L,
                  count >= 1 && count <= CLUSTER_MAX,
                  2,
                  "a cluster must have 1 to 64 runtimes");
    lua_settop(L, 3);
    const struct test_runtime_options *options = push_options(L, test_case, 3);
    lua_newtable(L);
    for (lua_Integer i = 1; i <= count; i++) {
        (void)push_runtime(L, test_case, options);
        lua_rawseti(L, -2, i);
    }
    lua_pushcfunction(L, cluster_settled);
    lua_setfield(L, -2, "settled");
    return 1;
}
