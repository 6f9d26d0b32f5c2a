/* vm: calls, references, errors with their place, budgets that hold. */

#include "script/vm.h"

#include "unit/script/kit.h"

TEST(a_call_gives_its_results)
{
    expect_run("return 1 + 1, 'two', nil, true", "2 two nil true");
    expect_run("return 7 // 2, 7 / 2, 2^53, 1e300 * 1e10",
               "3 3.5 9.007199254741e+15 inf");
}

TEST(arguments_are_pushed_inside_of_the_call)
{
    struct kit kit;
    kit_init(&kit, NULL);
    EXPECT_TEXT(kit_run(&kit, "return ..."), "");
    kit_release(&kit);
}

static int push_three(lua_State *L, void *ctx)
{
    (void)ctx;
    lua_pushinteger(L, 1);
    lua_pushliteral(L, "b");
    lua_pushboolean(L, 1);
    return 3;
}

static int push_and_raise(lua_State *L, void *ctx)
{
    (void)ctx;
    lua_pushinteger(L, 1);
    return luaL_error(L, "no argument today");
}

static void take_and_raise(lua_State *L, int count, void *ctx)
{
    (void)ctx;
    (void)luaL_error(L, "%d results are not wanted", count);
}

TEST(callbacks_give_arguments_and_may_raise)
{
    struct kit kit;
    kit_init(&kit, NULL);
    struct script_function function;
    EXPECT(kit_load(&kit, "return select('#', ...), ...", &function));
    struct script_call call = {.function = function,
                               .push = push_three,
                               .take = kit_take,
                               .ctx = &kit};
    EXPECT_EQ(script_call(kit.script, &call, &kit.error), SCRIPT_FINE);
    EXPECT_TEXT(buf_text(&kit.result), "3 1 b true");

    call.push = push_and_raise;
    EXPECT_EQ(script_call(kit.script, &call, &kit.error), SCRIPT_ERROR);
    EXPECT_TEXT(buf_text(&kit.error.message), "no argument today");

    call.push = push_three;
    call.take = take_and_raise;
    EXPECT_EQ(script_call(kit.script, &call, NULL), SCRIPT_ERROR);
    script_function_release(kit.script, &function);
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_function_that_is_kept_can_be_called_again_and_again)
{
    struct kit kit;
    kit_init(&kit, NULL);
    struct script_function function;
    EXPECT(kit_load(&kit, "n = (n or 0) + 1 return n", &function));
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(kit_call(&kit, function), SCRIPT_FINE);
    }
    EXPECT_TEXT(buf_text(&kit.result), "3");
    script_function_release(kit.script, &function);
    EXPECT_INT(function.reference, 0);
    script_function_release(kit.script, &function);
    kit_release(&kit);
}

/* -- Errors -------------------------------------------------------------- */

TEST(an_error_has_a_sentence_a_place_and_a_way_to_it)
{
    struct kit kit;
    kit_init(&kit, NULL);
    EXPECT_TEXT(kit_run(&kit,
                        "local function f(x)\n"
                        "  return x.y.z\n"
                        "end\n"
                        "local r = f({})\n"
                        "return r"),
                "error: test.lua:2: attempt to index a nil value (field 'y')");
    EXPECT_TEXT(buf_text(&kit.error.message),
                "attempt to index a nil value (field 'y')");
    EXPECT_TEXT(buf_text(&kit.error.file), "test.lua");
    EXPECT_EQ(kit.error.line, 2);
    EXPECT_CONTAINS(buf_text(&kit.error.traceback),
                    "test.lua:4: in main chunk");
    kit_release(&kit);
}

TEST(the_place_of_an_error_is_the_one_that_its_level_says)
{
    expect_run("local function check()\n"
               "  error('not so', 2)\n"
               "end\n"
               "\n"
               "check() return 1",
               "error: test.lua:5: not so");
    expect_run("local s = ('x'):rep('many')",
               "error: test.lua:1: bad argument #1 to 'rep' (number expected, "
               "got string)");
}

TEST(syntax_errors_have_a_place)
{
    expect_run("local x = 1\nlocal = 2",
               "syntax: test.lua:2: <name> expected near '='");
    expect_run("return (((",
               "syntax: test.lua:1: unexpected symbol near <eof>");
}

TEST(the_whole_name_of_a_file_is_in_an_error)
{
    struct kit kit;
    kit_init(&kit, NULL);
    const char *name =
        "patterns/of-a-long-folder-name/and-another-one/and-more/"
        "shopping.lua";
    const char *texts[] = {"error('x')", "x ="};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct script_chunk chunk = {name, texts[i], strlen(texts[i])};
        struct script_function function;
        enum script_cause cause = script_load(kit.script,
                                              kit.environment,
                                              &chunk,
                                              &function,
                                              &kit.error);
        if (cause == SCRIPT_FINE) {
            cause = kit_call(&kit, function);
        }
        script_function_release(kit.script, &function);
        EXPECT_EQ(cause, i == 0 ? SCRIPT_ERROR : SCRIPT_SYNTAX);
        EXPECT_TEXT(buf_text(&kit.error.file), name);
        EXPECT_EQ(kit.error.line, 1);
        EXPECT_TEXT(buf_text(&kit.error.message),
                    i == 0 ? "x" : "unexpected symbol near <eof>");
    }
    kit_release(&kit);
}

TEST(error_objects_may_be_anything)
{
    static const struct {
        const char *code;
        const char *want;
    } rows[] = {
        {"error(nil)", "error: test.lua:1: an error object of type nil"},
        {"error()", "error: test.lua:1: an error object of type nil"},
        {"error(42)", "error: test.lua:1: 42"},
        {"error(4.5)", "error: test.lua:1: 4.5"},
        {"error(true)", "error: test.lua:1: an error object of type boolean"},
        {"error({})", "error: test.lua:1: an error object of type table"},
        {"error({message = 'told'})", "error: test.lua:1: told"},
        {"error({message = 'told', list = {1, 2}})",
         "error: test.lua:1: told {\"list\":[1,2],\"message\":\"told\"}"},
        {"error({code = 5})", "error: test.lua:1: {\"code\":5}"},
        {"error({code = print})",
         "error: test.lua:1: an error object of type table"},
        {"error({code = print, message = 'told'})", "error: test.lua:1: told"},
        {"error(print)", "error: test.lua:1: an error object of type function"},
        {"error(setmetatable({}, {__tostring = function() return 'own' end}))",
         "error: test.lua:1: own"},
        {"error(setmetatable({}, {__tostring = function() return {} end}))",
         "error: test.lua:1: an error object of type table"},
        {"error(setmetatable({}, {__tostring = function() error({}) end}))",
         "error: test.lua:1: an error object without a message"},
        {"error(setmetatable({}, {__tostring = function() while true do end "
         "end}))",
         "error: test.lua:1: an error object without a message"},
        {"error(coroutine.create(print))",
         "error: test.lua:1: an error object of type thread"},
    };
    struct kit kit;
    kit_init(&kit, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_TEXT(kit_run(&kit, rows[i].code), rows[i].want);
        kit_expect_health(&kit);
    }
    kit_release(&kit);
}

TEST(a_long_message_is_cut)
{
    struct kit kit;
    kit_init(&kit, NULL);
    (void)kit_run(&kit, "error(('ä'):rep(100000))");
    EXPECT(kit.error.message.length <= 4096);
    kit_release(&kit);
}

/* -- Budgets ------------------------------------------------------------- */

TEST(the_budget_of_steps_ends_a_loop)
{
    struct kit kit;
    kit_init(&kit, &(struct script_config){.steps = 100000});
    EXPECT_TEXT(kit_run(&kit, "\nwhile true do end"),
                "steps: test.lua:2: the step budget is used up");
    EXPECT_CONTAINS(buf_text(&kit.error.traceback), "test.lua:2");
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_call_may_have_a_budget_of_its_own)
{
    struct kit kit;
    kit_init(&kit, &(struct script_config){.steps = 1000000});
    struct script_function function;
    EXPECT(kit_load(&kit, "for i = 1, 20000 do end", &function));
    struct script_call call = {.function = function};
    EXPECT_EQ(script_call(kit.script, &call, &kit.error), SCRIPT_FINE);
    call.steps = 10000;
    EXPECT_EQ(script_call(kit.script, &call, &kit.error), SCRIPT_STEPS_OUT);
    call.steps = 50000;
    EXPECT_EQ(script_call(kit.script, &call, &kit.error), SCRIPT_FINE);
    script_function_release(kit.script, &function);
    kit_release(&kit);
}

TEST(the_same_code_takes_the_same_steps)
{
    int64_t left[2];
    for (int i = 0; i < 2; i++) {
        struct kit kit;
        kit_init(&kit, NULL);
        struct script_function function;
        EXPECT(kit_load(&kit,
                        "local t = {} for i = 1, 5000 do t['k' .. i] = i end "
                        "local s = '' for k in pairs(t) do s = s .. k end "
                        "t = nil",
                        &function));
        const struct script_budget outer = script_budget_begin(kit.script, 0);
        script_function_push(kit.script->main, function);
        EXPECT_INT(lua_pcall(kit.script->main, 0, 0, 0), LUA_OK);
        left[i] = kit.script->steps_left;
        script_budget_end(kit.script, outer);
        script_function_release(kit.script, &function);
        kit_release(&kit);
    }
    EXPECT_INT(left[0], left[1]);
}

TEST(the_memory_budget_ends_a_call)
{
    struct kit kit;
    kit_init(&kit, &(struct script_config){.memory_bytes = 4 << 20});
    EXPECT_TEXT(kit_run(&kit, "local t = {} for i = 1, 1e9 do t[i] = {i} end"),
                "memory: test.lua: the memory budget of 4194304 bytes is used "
                "up");
    EXPECT(kit.script->memory_used < 1 << 20);
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_request_that_can_never_be_met_has_a_place)
{
    expect_run("\n\nlocal s = ('x'):rep(1e15)",
               "memory: test.lua:3: 1000000000000000 bytes are more than the "
               "memory budget of 67108864 bytes");
}

TEST(the_host_can_interrupt)
{
    struct kit kit;
    kit_init(&kit, NULL);
    kit.interrupt_at = 10;
    EXPECT_TEXT(kit_run(&kit, "while true do pcall(function() end) end"),
                "interrupted: test.lua:1: interrupted by the host");
    EXPECT_EQ(kit.asked, 10);
    kit_expect_health(&kit);
    kit_release(&kit);
}

/* How often the host is asked while a loop compares two strings of `bytes`
 * bytes, which differ in the last one. */
static uint64_t asked_while_comparing(unsigned bytes)
{
    struct kit kit;
    char code[300];
    kit_init(&kit, NULL);
    (void)snprintf(code,
                   sizeof code,
                   "local a, b = ('x'):rep(%u) .. 'y', ('x'):rep(%u) .. 'z'; "
                   "local n = 0; for i = 1, 5000 do if a == b then n = n + 1 "
                   "end end return n",
                   bytes,
                   bytes);
    EXPECT_TEXT(kit_run(&kit, code), "0");
    const uint64_t asked = kit.asked;
    kit_expect_health(&kit);
    kit_release(&kit);
    return asked;
}

/* To compare long strings is one instruction, and takes as long as thousands:
 * so the host is asked after fewer of them. */
TEST(the_host_is_asked_more_often_while_there_are_long_strings)
{
    const uint64_t few = asked_while_comparing(100);
    const uint64_t more = asked_while_comparing(200 * 1024);
    const uint64_t many = asked_while_comparing(800 * 1024);
    EXPECT(few > 0 && few < 40);
    EXPECT(more >= 2 * few);
    EXPECT(many >= 3 * more);
}

TEST(a_long_string_that_is_gone_is_forgotten)
{
    struct kit kit;
    kit_init(&kit, NULL);
    EXPECT_TEXT(kit_run(&kit,
                        "local a, b = ('x'):rep(2^20), ('y'):rep(2^20) "
                        "local c = coroutine.wrap(function() "
                        "coroutine.yield(a == b) end) return tostring(c())"),
                "false");
    EXPECT(kit.script->tick < SCRIPT_TICK);
    (void)lua_gc(kit.script->main, LUA_GCCOLLECT);
    EXPECT_EQ(kit.script->long_bytes, 0);
    EXPECT_EQ(kit.script->tick, SCRIPT_TICK);
    kit_expect_health(&kit);
    kit_release(&kit);
}

/* -- Stops and calls inside of calls ------------------------------------- */

static int stop_for_host(lua_State *L)
{
    return script_stop(L, SCRIPT_STOPPED, 7, "the run is %s", "discarded");
}

static int add_stop(lua_State *L)
{
    struct kit *kit = lua_touserdata(L, 1);
    script_function_push(L, kit->environment);
    lua_pushcfunction(L, stop_for_host);
    lua_setfield(L, -2, "stop");
    return 0;
}

TEST(a_stop_of_the_host_cannot_be_caught)
{
    struct kit kit;
    kit_init(&kit, NULL);
    EXPECT_EQ(script_protect(kit.script, add_stop, &kit, 0, &kit.error),
              SCRIPT_FINE);
    static const char *const codes[] = {
        "\npcall(stop) return 'caught'",
        "\nxpcall(stop, function(e) return e end) return 'caught'",
        "\ncoroutine.resume(coroutine.create(stop)) return 'caught'",
        "\npcall(coroutine.wrap(stop)) return 'caught'",
        "\npcall(string.gsub, 'x', 'x', stop) return 'caught'",
        "\npcall(table.sort, {2, 1}, stop) return 'caught'",
        "\npcall(load, stop) return 'caught'",
        "\nlocal x <close> = setmetatable({}, {__close = stop})",
    };
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        (void)kit_run(&kit, codes[i]);
        EXPECT_EQ(kit.error.cause, SCRIPT_STOPPED);
        EXPECT_INT(kit.error.code, 7);
        EXPECT_TEXT(buf_text(&kit.error.message), "the run is discarded");
        kit_expect_health(&kit);
    }
    EXPECT_TEXT(kit_run(&kit, "\n\npcall(function() stop() end)"),
                "stopped: test.lua:3: the run is discarded");
    kit_release(&kit);
}

static int run_inner(lua_State *L)
{
    struct script *script = script_of(L);
    struct script_function function = script_function_keep(L, 1);
    struct script_error error = {0};
    const struct script_call call = {.function = function, .steps = 5000};
    const enum script_cause cause = script_call(script, &call, &error);
    script_error_release(&error);
    script_function_release(script, &function);
    lua_pushstring(L, script_cause_name(cause));
    return 1;
}

static int add_inner(lua_State *L)
{
    struct kit *kit = lua_touserdata(L, 1);
    script_function_push(L, kit->environment);
    lua_pushcfunction(L, run_inner);
    lua_setfield(L, -2, "inner");
    return 0;
}

TEST(a_call_inside_of_a_call_fails_alone)
{
    struct kit kit;
    kit_init(&kit, &(struct script_config){.memory_bytes = 4 << 20});
    EXPECT_EQ(script_protect(kit.script, add_inner, &kit, 0, &kit.error),
              SCRIPT_FINE);
    EXPECT_TEXT(
        kit_run(&kit,
                "local a = inner(function() while true do end end)\n"
                "local b = inner(function() error({}) end)\n"
                "local c = inner(function() return 1 end)\n"
                "local d = inner(function() return ('x'):rep(2^40) end)\n"
                "local e = coroutine.wrap(function()\n"
                "  return inner(function() coroutine.yield() end)\n"
                "end)()\n"
                "return a, b, c, d, e"),
        "steps error fine memory error");
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(calls_inside_of_calls_end_before_the_stack_does)
{
    struct kit kit;
    kit_init(&kit, NULL);
    EXPECT_EQ(script_protect(kit.script, add_inner, &kit, 0, &kit.error),
              SCRIPT_FINE);
    EXPECT_TEXT(kit_run(&kit,
                        "local deep = 0\n"
                        "local function f() deep = deep + 1 inner(f) end\n"
                        "f()\n"
                        "return deep > 20 and deep < 250"),
                "true");
    kit_expect_health(&kit);
    kit_release(&kit);
}
