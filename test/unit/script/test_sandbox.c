/* sandbox: environments, modules, print, and the same result everywhere. */

#include "script/sandbox.h"

#include "script/object.h"
#include "unit/script/kit.h"

TEST(environments_do_not_see_each_other)
{
    struct kit kit;
    kit_init(&kit, NULL);
    (void)kit_run(&kit, "shared = 1 string.rep = 2 table.extra = 3 print = 4");
    EXPECT_TEXT(kit_run(&kit, "return shared, string.rep, table.extra, print"),
                "1 2 3 4");
    struct script_function first = kit.environment;
    EXPECT_EQ(script_environment_new(kit.script,
                                     GLOBALS_OPEN,
                                     &kit.environment,
                                     &kit.error),
              SCRIPT_FINE);
    EXPECT_TEXT(kit_run(&kit,
                        "return shared, type(string.rep), table.extra, "
                        "type(print), load('return shared')()"),
                "nil function nil function nil");
    script_function_release(kit.script, &first);
    kit_release(&kit);
}

TEST(print_goes_to_the_host)
{
    struct kit kit;
    kit_init(&kit, NULL);
    (void)kit_run(&kit,
                  "print() print('a', 1, nil, true, {}, print) print(1.5)");
    EXPECT_TEXT(buf_text(&kit.printed),
                "\na\t1\tnil\ttrue\ttable\tfunction\n1.5\n");
    kit_release(&kit);
}

/* -- The same everywhere ------------------------------------------------- */

TEST(pairs_has_an_order_of_its_own)
{
    expect_run("local t = {z = 1, [3] = 1, a = 1, [1] = 1, b = 1, [2.5] = 1, "
               "[true] = 1, [-4] = 1, [false] = 1, aa = 1, [''] = 1}\n"
               "local s = {}\n"
               "for k, v in pairs(t) do s[#s + 1] = tostring(k) end\n"
               "return table.concat(s, ',')",
               "-4,1,3,2.5,,a,aa,b,z,false,true");
}

TEST(next_has_the_same_order)
{
    expect_run("local f = function() end\n"
               "local t = {z = 1, [3] = 1, a = 1, [1] = 1, [2.5] = 1, [f] = 1,"
               "[true] = 1, [-4] = 1, [false] = 1, ['a\\1b'] = 1}\n"
               "local s, k = {}, nil\n"
               "repeat k = next(t, k) s[#s + 1] = tostring(k) until k == nil\n"
               "return #table.concat(s, ','), table.concat(s, ','):gsub('\\1', "
               "'0')",
               "42 -4,1,3,2.5,a,a0b,z,false,true,function,nil 1");
    expect_run("return next({})", "nil");
    expect_run("return next({}, 3)", "nil");
    expect_run("return next({10})", "1 10");
}

TEST(keys_without_an_order_are_all_visited)
{
    expect_run("local t, n = {}, 0\n"
               "for i = 1, 50 do t[{}] = i t[function() return i end] = i end\n"
               "for k, v in pairs(t) do n = n + v end\n"
               "local k, v = next(t)\n"
               "while k ~= nil do n = n + v k, v = next(t, k) end\n"
               "return n",
               "5100");
}

TEST(a_loop_may_change_the_table_it_goes_over)
{
    expect_run("local t, s = {a = 1, b = 2, c = 3, d = 4}, ''\n"
               "for k in pairs(t) do\n"
               "  s = s .. k t[k] = nil t.c = nil t['new' .. k] = 1\n"
               "end\n"
               "return s",
               "abd");
}

TEST(pairs_respects_its_metamethod)
{
    expect_run(
        "local t = setmetatable({}, {__pairs = function(t)\n"
        "  return function(_, k) if not k then return 1, 2 end end, t, nil\n"
        "end})\n"
        "for k, v in pairs(t) do return k, v end",
        "1 2");
}

TEST(pairs_agrees_in_every_state)
{
    const char *code =
        "local t = {} for i = 1, 200 do t['key' .. i * 7919 % 1000] = i end\n"
        "local s = {} for k, v in pairs(t) do s[#s + 1] = k end\n"
        "return table.concat(s, ' ')";
    struct buf first = {0};
    for (int i = 0; i < 3; i++) {
        struct kit kit;
        kit_init(&kit, NULL);
        const char *got = kit_run(&kit, code);
        if (i == 0) {
            buf_append_text(&first, got);
        }
        EXPECT_TEXT(got, buf_text(&first));
        kit_release(&kit);
    }
    buf_release(&first);
}

TEST(no_text_shows_an_address)
{
    expect_run("return tostring({}), tostring(print), ('%s'):format({}), "
               "('%5s|%-6s|'):format(true, {}), "
               "tostring(coroutine.create(print))",
               "table function table  true|table | thread");
    expect_run("return ('%p'):format({})",
               "error: test.lua:1: %p is not available: it shows an address");
    expect_run("return ('%d %%s %s %q %5.1f'):format(3, 'x', 'y', 2.25)",
               "3 %s x \"y\"   2.2");
    expect_run("return tostring(setmetatable({}, {__name = 'point'}))",
               "point");
}

TEST(sort_is_stable_and_complete)
{
    expect_run(
        "local t = {} for i = 1, 300 do t[i] = {k = i * 7 % 5, i = i} end\n"
        "table.sort(t, function(a, b) return a.k < b.k end)\n"
        "for i = 2, 300 do\n"
        "  local a, b = t[i - 1], t[i]\n"
        "  if a.k > b.k or a.k == b.k and a.i > b.i then return i end\n"
        "end\n"
        "return 'sorted'",
        "sorted");
    expect_run("local t = {5, 2, 8, 1, 9, 3} table.sort(t) "
               "return table.concat(t, ' ')",
               "1 2 3 5 8 9");
    expect_run("local t = {'b', 'a'} table.sort(t, function(a, b) return a > b "
               "end) return table.concat(t)",
               "ba");
    expect_run("table.sort({1, 'x'})",
               "error: test.lua:1: attempt to compare string with number");
    expect_run("local t = {3, 1, 2} table.sort(t, function() return true end) "
               "return #t",
               "3");
}

TEST(tables_work_as_in_the_manual)
{
    expect_run("local t = {1, 2, 3} table.insert(t, 4) table.insert(t, 1, 0) "
               "return table.concat(t, ',')",
               "0,1,2,3,4");
    expect_run("local t = {1, 2, 3} local a, b = table.remove(t), "
               "table.remove(t, 1) return a, b, #t, table.remove({})",
               "3 1 1 nil");
    expect_run("return table.unpack(table.move({1, 2, 3}, 1, 3, 2))",
               "1 1 2 3");
    expect_run("return table.unpack(table.move({1, 2, 3}, 2, 3, 1))", "2 3 3");
    expect_run("return #table.move({1, 2, 3}, 1, 3, 1, {})", "3");
    expect_run("return table.pack(1, nil, 3).n", "3");
    expect_run("return table.unpack({1, 2, 3}, 2)", "2 3");
    expect_run("return table.concat({1, 2, 3}, '-', 2, 3)", "2-3");
    expect_run(
        "return pcall(table.insert, {1}, 5, 0)",
        "false bad argument #2 to 'table.insert' (position out of bounds)");
    expect_run("return pcall(table.insert, {}, 1, 2, 3)",
               "false wrong number of arguments to 'insert'");
    expect_run(
        "return pcall(table.remove, {1}, 7)",
        "false bad argument #2 to 'table.remove' (position out of bounds)");
    expect_run(
        "return pcall(table.concat, {{}})",
        "false invalid value (a table) at index 1 in table for 'concat'");
    expect_run(
        "return pcall(table.move, {}, 1, 2, math.maxinteger)",
        "false bad argument #4 to 'table.move' (destination wrap around)");
    expect_run(
        "return pcall(table.insert, 1, 1)",
        "false bad argument #1 to 'table.insert' (table expected, got number)");
}

TEST(coroutines_work_as_in_the_manual)
{
    expect_run("local co = coroutine.create(function(a, b)\n"
               "  local c = coroutine.yield(a + b)\n"
               "  local d, e = coroutine.yield(c * 2)\n"
               "  return d + e\n"
               "end)\n"
               "local _, x = coroutine.resume(co, 1, 2)\n"
               "local _, y = coroutine.resume(co, 10)\n"
               "local _, z = coroutine.resume(co, 3, 4)\n"
               "return x, y, z, coroutine.status(co), coroutine.resume(co)",
               "3 20 7 dead false cannot resume dead coroutine");
    expect_run("local s = '' for c in coroutine.wrap(function() for _, c in "
               "ipairs{'a', 'b'} do coroutine.yield(c) end end) do s = s .. c "
               "end return s",
               "ab");
    expect_run("return pcall(coroutine.wrap(function() error('x') end))",
               "false test.lua:1: x");
    expect_run(
        "local log = '' local co = coroutine.wrap(function() local x "
        "<close> = setmetatable({}, {__close = function() log = 'closed' "
        "end}) error('x') end) pcall(co) return log",
        "closed");
    expect_run("local _, main = coroutine.running() return main, "
               "coroutine.isyieldable(), coroutine.wrap(function() return "
               "coroutine.isyieldable() end)()",
               "true false true");
    expect_run("local co = coroutine.create(function() local x <close> = "
               "setmetatable({}, {__close = function() error('in close') end}) "
               "coroutine.yield() end) coroutine.resume(co) "
               "return coroutine.close(co)",
               "false test.lua:1: in close");
}

TEST(protected_calls_work_as_in_the_manual)
{
    expect_run(
        "return pcall(function(...) return select('#', ...), ... end, 1, "
        "nil)",
        "true 2 1 nil");
    expect_run(
        "return xpcall(function(a) error(a) end, function(e) return 'h:' "
        ".. e end, 'x')",
        "false h:test.lua:1: x");
    expect_run("return xpcall(function(a) return a end, print, 'x')", "true x");
    expect_run("local ok, e = pcall(error, {1}) return ok, e[1]", "false 1");
    expect_run("return select(2, pcall(setmetatable, setmetatable({}, "
               "{__metatable = 1}), {}))",
               "cannot change a protected metatable");
}

/* -- Modules ------------------------------------------------------------- */

struct counter {
    int opened;
};

static int answer(lua_State *L)
{
    lua_pushinteger(L, 42 + luaL_optinteger(L, 1, 0));
    return 1;
}

static void open_module(lua_State *L, void *ctx)
{
    struct counter *counter = ctx;
    counter->opened++;
    lua_newtable(L);
    lua_pushcfunction(L, answer);
    lua_setfield(L, -2, "answer");
    lua_pushcfunction(L, answer);
    lua_setfield(L, -2, "__call");
    script_lock(L, "heddle");
}

TEST(registered_modules_are_opened_once_and_cannot_be_changed)
{
    struct kit kit;
    struct counter counter = {0};
    kit_init(&kit, NULL);
    EXPECT_EQ(script_module_register(kit.script,
                                     "heddle",
                                     open_module,
                                     &counter,
                                     &kit.error),
              SCRIPT_FINE);
    EXPECT_TEXT(kit_run(&kit,
                        "local h = require 'heddle'\n"
                        "return h.answer(), h(1), h == require 'heddle', "
                        "select(2, pcall(function() return h.answr end)), "
                        "tostring(h), getmetatable(h)"),
                "42 43 true test.lua:2: 'heddle' has no 'answr'; did you mean "
                "'answer'? heddle false");
    EXPECT_INT(counter.opened, 1);
    EXPECT_TEXT(kit_run(&kit, "require 'heddle'.answer = 1"),
                "error: test.lua:1: 'heddle' is shared by all code and cannot "
                "be changed");
    EXPECT_CONTAINS(kit_run(&kit, "rawset(require 'heddle', 'a', 1)"),
                    "table expected");
    EXPECT_CONTAINS(kit_run(&kit, "setmetatable(require 'heddle', {})"),
                    "table expected");
    EXPECT_TEXT(kit_run(&kit,
                        "local s = '' for k, v in pairs(require 'heddle') do s "
                        "= s .. k .. type(v) .. ' ' end return s"),
                "__callfunction answerfunction ");
    EXPECT_TEXT(kit_run(&kit,
                        "local f, t = pairs(require 'heddle') t.answer = nil "
                        "return require 'heddle'.answer()"),
                "42");
    kit_release(&kit);
}

TEST(other_modules_come_from_the_host)
{
    struct kit kit;
    kit_init(&kit, NULL);
    const char *const modules[] = {"helper",
                                   "count = (count or 0) + 1 return {name = "
                                   "..., twice = function(x) return 2 * x end}",
                                   "util.loop",
                                   "return require 'util.loop'",
                                   "bad",
                                   "\nlocal x = nil + 1",
                                   NULL};
    memcpy(kit.modules, modules, sizeof modules);
    EXPECT_TEXT(kit_run(&kit,
                        "local h = require 'helper' require 'helper'\n"
                        "return h.twice(4), h.name, count"),
                "8 helper 1");
    EXPECT_TEXT(
        kit_run(&kit, "require 'util.loop'"),
        "error: util.loop.lua:1: the module 'util.loop' requires itself, or "
        "failed to load");
    EXPECT_TEXT(
        kit_run(&kit, "require 'bad'"),
        "error: bad.lua:2: attempt to perform arithmetic on a nil value");
    EXPECT_TEXT(kit_run(&kit, "require 'missing'"),
                "error: test.lua:1: module 'missing' not found");
    EXPECT_TEXT(kit_run(&kit, "require 'broken'"),
                "error: test.lua:1: the module 'broken' cannot be loaded: the "
                "disk has a hole");
    kit_release(&kit);
}

TEST(a_module_runs_again_in_another_environment)
{
    struct kit kit;
    kit_init(&kit, NULL);
    const char *const modules[] = {"helper", "return {}", NULL};
    memcpy(kit.modules, modules, sizeof modules);
    (void)kit_run(&kit, "require 'helper'.mark = 1");
    EXPECT_TEXT(kit_run(&kit, "return require 'helper'.mark"), "1");
    script_function_release(kit.script, &kit.environment);
    EXPECT_EQ(script_environment_new(kit.script,
                                     GLOBALS_OPEN,
                                     &kit.environment,
                                     &kit.error),
              SCRIPT_FINE);
    EXPECT_TEXT(kit_run(&kit, "return require 'helper'.mark"), "nil");
    kit_release(&kit);
}

TEST(load_reads_pieces_and_texts)
{
    expect_run("local t = {'return ', '1 + ', '1'} local i = 0 return "
               "load(function() i = i + 1 return t[i] end)()",
               "2");
    expect_run("return load('return 1 +')",
               "nil [string \"return 1 +\"]:1: unexpected symbol near <eof>");
    expect_run("return load('x = 1', '=name')", "function");
    expect_run("return pcall(load, function() return {} end)",
               "false reader function must return a string");
}
