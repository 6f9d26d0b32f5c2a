/* Code that wants to stay, to grow or to get out: each piece ends with an
 * error, and the state it ran in is as good as new. */

#include "unit/script/kit.h"

struct row {
    const char *code;
    const char *want; /* the beginning of what kit_run gives */
};

static void expect_rows(const struct row *rows, size_t count)
{
    struct kit kit;
    kit_init(
        &kit,
        &(struct script_config){.memory_bytes = 8 << 20, .steps = 1000 * 1000});
    for (size_t i = 0; i < count; i++) {
        const char *got = kit_run(&kit, rows[i].code);
        if (strncmp(got, rows[i].want, strlen(rows[i].want)) != 0) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s\n# gave: %s\n# not: %s",
                            rows[i].code,
                            got,
                            rows[i].want);
        }
        kit_expect_health(&kit);
    }
    kit_release(&kit);
}

TEST(loops_end)
{
    static const struct row rows[] = {
        {"while true do end", "steps: "},
        {"repeat until false", "steps: "},
        {"::again:: goto again", "steps: "},
        {"for i = 1, math.huge do end", "steps: "},
        {"local function f() return f() end f()", "steps: "},
        {"local t = setmetatable({}, {__index = function(t, k) return t[k + 1] "
         "end}) return t[1]",
         "error: "},
        {"local t = {} for i = 1, 1e18 do t[1] = i end", "steps: "},
        {"while true do coroutine.wrap(function() end)() end", "steps: "},
        {"while true do coroutine.create(function() end) end", "steps: "},
        {"for w in (' '):rep(1000):gmatch('') do while true do end end",
         "steps: "},
        {"load(function() while true do end end)", "steps: "},
        {"load(function() return ' ' end)", "steps: "},
        {"while true do load('return 1')() end", "steps: "},
        {"print(setmetatable({}, {__tostring = function() while true do end "
         "end}))",
         "steps: "},
        {"table.sort({3, 2, 1}, function() while true do end end)", "steps: "},
        {"return setmetatable({}, {__len = function() while true do end end}) "
         ".. #setmetatable({}, {__len = function() while true do end end})",
         "steps: "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(loops_in_c_end)
{
    static const struct row rows[] = {
        {"return #(''):rep(math.maxinteger)", "0"},
        {"table.move({}, 1, math.maxinteger - 1, 2)", "steps: "},
        {"table.move({}, 1, math.maxinteger - 1, 1, {})", "steps: "},
        {"table.insert(setmetatable({}, {__len = function() return 2^53 end}), "
         "1, 0)",
         "steps: "},
        {"table.remove(setmetatable({}, {__len = function() return 2^53 end}), "
         "1)",
         "steps: "},
        {"table.concat(setmetatable({}, {__index = function() return '' end}), "
         "'', 1, math.maxinteger)",
         "steps: "},
        {"table.concat(setmetatable({}, {__index = tostring}), '', 1, 2^53)",
         "memory: "},
        {"table.sort(setmetatable({}, {__len = function() return 2^31 - 2 "
         "end}), rawequal)",
         "steps: "},
        {"table.sort(setmetatable({}, {__len = function() return 2^62 end}))",
         "error: test.lua:1: bad argument #1 to 'sort' (array too big)"},
        {"table.unpack({}, 1, 1e7)",
         "error: test.lua:1: too many results to unpack"},
        {"table.unpack({}, math.mininteger, math.maxinteger)",
         "error: test.lua:1: too many results to unpack"},
        {"local s = ('x'):rep(1e6) while true do utf8.len(s) end", "steps: "},
        {"local s = ('1'):rep(1e6) while true do tonumber(s) end", "steps: "},
        {"local s = ('x'):rep(1e6) while true do s:find('y', 1, true) end",
         "steps: "},
        {"local s = ('x'):rep(1e6) while true do s:upper() end", "steps: "},
        {"local t = {} for i = 1, 1e5 do t[i] = i end "
         "while true do pairs(t) end",
         "steps: "},
        {"local t = {} for i = 1, 1e5 do t[i] = i end "
         "while true do next(t) end",
         "steps: "},
        {"local s = ('%s'):rep(1e5) while true do pcall(string.format, s) end",
         "steps: "},
        {"while true do print(('x'):rep(1e6)) end", "steps: "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(catastrophic_patterns_end)
{
    static const struct row rows[] = {
        {"return ('a'):rep(50000):find(('a-'):rep(30) .. 'b')", "steps: "},
        {"return ('a'):rep(50000):match(('.-'):rep(50) .. 'b')", "steps: "},
        {"return ('a'):rep(50000):gsub(('a*'):rep(50) .. 'b', '')", "steps: "},
        {"for _ in ('a'):rep(50000):gmatch(('a?'):rep(50) .. 'b') do end",
         "steps: "},
        {"return ('a'):rep(200000):find('.-b')", "steps: "},
        {"return ('('):rep(200000):find('%b()')", "steps: "},
        {"return ('x'):rep(1000):find(('x?'):rep(1000))",
         "error: test.lua:1: pattern too complex"},
        {"return ('x'):rep(300):find(('(x)'):rep(33))",
         "error: test.lua:1: too many captures"},
        {"return pcall(string.find, ('a'):rep(50000), ('a-'):rep(30) .. 'b')",
         "steps: "},
        {"return (('a'):rep(3000) .. 'b'):find('^(a+)%1b') ", "1 3001 "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(memory_bombs_end)
{
    static const struct row rows[] = {
        {"local s = 'x' while true do s = s .. s end", "memory: "},
        {"local t = {} while true do t[#t + 1] = {} end", "memory: "},
        {"local t = {} for i = 1, 1e9 do t[i] = i end", "memory: "},
        {"return ('x'):rep(1e9)", "memory: "},
        {"return ('x'):rep(2^62, 'yy')", "memory: "},
        {"local t = {} for i = 1, 20 do t[i] = ('x'):rep(1e6) end "
         "return table.concat(t)",
         "steps: "},
        {"local s = ('x'):rep(1e6) return table.concat({s, s, s, s, s, s, s, "
         "s, s})",
         "memory: "},
        {"local s = ('x'):rep(1e6) return ('%s'):rep(9):format(s, s, s, s, s, "
         "s, s, s, s)",
         "memory: "},
        {"local s = ('x'):rep(1e6) return s:gsub('x', s)", "memory: "},
        {"local s = ('x'):rep(1e6) return s:gsub('', s)", "memory: "},
        {"return string.pack('c8000000', '') .. string.pack('c8000000', '')",
         "memory: "},
        {"local t = {} while true do t[#t + 1] = coroutine.create(print) end",
         "steps: "},
        {"local function f(...) f(1, ...) end f()", "memory: "},
        {"return load('return ' .. ('{'):rep(1e5))", "nil "},
        {"return load('local a = ' .. ('1 + '):rep(1e5) .. '1')", ""},
        {"local t = {} while true do pcall(function() t[#t + 1] = {} end) end",
         "steps: "},
        {"local keep = {} local ok, err = pcall(function() while true do "
         "keep[#keep + 1] = ('x'):rep(1e5) .. #keep end end) return 'caught'",
         "steps: "},
        {"coroutine.wrap(function() local t = {} while true do t[#t + 1] = {} "
         "end end)()",
         "memory: "},
        {"local s = ('x'):rep(3e6) while true do local t = {} end", "steps: "},
        {"local s = ('x'):rep(3e6) while true do local t = ('y'):rep(2e6) end",
         "steps: "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(recursion_ends)
{
    static const struct row rows[] = {
        {"local function f() return 1 + f() end f()", "memory: "},
        {"local function f() f() end f()", "memory: "},
        {"local t = setmetatable({}, {}) getmetatable(t).__index = function(t, "
         "k) return t[k] end return t.x",
         "error: "},
        {"local function f() return coroutine.wrap(f)() end f()", "error: "},
        {"local function f() return pcall(f) end return f()", ""},
        {"local function f() return (('x'):gsub('x', f)) end f()", "error: "},
        {"local function f() table.sort({1, 2}, f) end f()", "error: "},
        {"local t = {} for i = 1, 10000 do t = setmetatable({}, {__index = t}) "
         "end return t.x",
         "error: "},
        {"local s = 'return ' .. ('('):rep(5000) .. '1' .. (')'):rep(5000) "
         "return load(s)",
         "nil "},
        {"return load(('a.'):rep(100000) .. 'a()')", ""},
        {"local function f() return tostring(setmetatable({}, {__tostring = "
         "f})) end return f()",
         "error: "},
        {"return xpcall(error, function(e) error(e) end)", "false "},
        {"local function h(e) return h(e) .. 'x' end return xpcall(error, h)",
         "memory: "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(with_more_memory_the_stack_has_a_limit_of_its_own)
{
    struct kit kit;
    kit_init(&kit, &(struct script_config){.memory_bytes = 256 << 20});
    EXPECT_CONTAINS(kit_run(&kit, "local function f() return 1 + f() end f()"),
                    "error: test.lua:1: stack overflow");
    EXPECT_TEXT(kit_run(&kit,
                        "local function f() return 1 + f() end\n"
                        "local ok, why = pcall(f) return ok, #why < 500"),
                "false true");
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_stop_is_never_caught)
{
    static const struct row rows[] = {
        {"while true do pcall(function() while true do end end) end",
         "steps: "},
        {"local function loop() while true do end end "
         "for i = 1, 10 do pcall(loop) end return 'free'",
         "steps: "},
        {"pcall(pcall, pcall, function() while true do end end) return 'free'",
         "steps: "},
        {"xpcall(function() while true do end end, function(e) while true do "
         "end end) return 'free'",
         "steps: "},
        {"xpcall(function() while true do end end, print) return 'free'",
         "steps: "},
        {"coroutine.resume(coroutine.create(function() while true do end end)) "
         "return 'free'",
         "steps: "},
        {"local co = coroutine.wrap(function() pcall(function() while true do "
         "end end) coroutine.yield(1) end) pcall(co) return 'free'",
         "steps: "},
        {"local x <close> = setmetatable({}, {__close = function() while true "
         "do end end}) while true do end",
         "steps: "},
        {"local co = coroutine.wrap(function() local x <close> = "
         "setmetatable({}, {__close = function() while true do end end}) while "
         "true do end end) pcall(co) return 'free'",
         "steps: "},
        {"co = coroutine.create(function() local x <close> = setmetatable({}, "
         "{__close = function() while true do end end}) while true do end end) "
         "coroutine.resume(co)",
         "steps: "},
        /* The one before is dead, with something left to close. */
        {"return coroutine.close(co)", "true"},
        {"local co = coroutine.create(function() local x <close> = "
         "setmetatable({}, {__close = function() while true do end end}) "
         "coroutine.yield() end) coroutine.resume(co) coroutine.close(co)",
         "steps: "},
        {"for _ in (function() while true do end end), nil, nil, "
         "setmetatable({}, {__close = function() return 'free' end}) do end",
         "steps: "},
        {"local t = {} local function f(n) local x <close> = setmetatable({}, "
         "{__close = function() t[#t + 1] = n end}) if n > 0 then f(n - 1) end "
         "while true do end end pcall(f, 100) return #t",
         "steps: "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(nothing_of_the_stopped_code_runs_on)
{
    struct kit kit;
    kit_init(&kit, &(struct script_config){.steps = 100000});
    EXPECT_CONTAINS(
        kit_run(&kit,
                "closed = 0\n"
                "local function f(n)\n"
                "  local x <close> = setmetatable({}, {__close = function()\n"
                "    closed = closed + 1\n"
                "  end})\n"
                "  if n > 0 then f(n - 1) else while true do end end\n"
                "end\n"
                "f(100)"),
        "steps: ");
    EXPECT_TEXT(kit_run(&kit, "return closed"), "0");
    kit_release(&kit);
}

TEST(closing_coroutines_inside_each_other_ends)
{
    static const struct row rows[] = {
        {"local co = coroutine.create(print)\n"
         "for i = 1, 500 do\n"
         "  local inner = co\n"
         "  co = coroutine.create(function()\n"
         "    local x <close> = setmetatable({}, {__close = function()\n"
         "      assert(coroutine.close(inner))\n"
         "    end})\n"
         "    coroutine.yield()\n"
         "  end)\n"
         "  coroutine.resume(co)\n"
         "end\n"
         "return coroutine.close(co)",
         "false "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(finalizers_and_weak_tables_are_refused)
{
    static const struct row rows[] = {
        {"setmetatable({}, {__gc = function() while true do end end})",
         "error: test.lua:1: __gc is not allowed here"},
        {"setmetatable({}, {__gc = true})", "error: "},
        {"setmetatable({}, {__mode = 'k'})",
         "error: test.lua:1: __mode is not allowed here"},
        /* Added later, a finalizer does not count. */
        {"for i = 1, 1000 do local mt = {} local t = setmetatable({}, mt) "
         "mt.__gc = function() while true do end end end return 'fine'",
         "fine"},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(yields_in_odd_places_are_errors)
{
    static const struct row rows[] = {
        {"coroutine.yield()",
         "error: test.lua:1: attempt to yield from outside "
         "a coroutine"},
        {"return coroutine.wrap(function() return pcall(coroutine.yield, 1) "
         "end)()",
         "1"},
        {"local co = coroutine.wrap(function() return pcall(coroutine.yield, "
         "1) end) co() return co(2, 3)",
         "true 2 3"},
        {"return pcall(coroutine.wrap(function() table.sort({2, 1}, "
         "coroutine.yield) end))",
         "false "},
        {"return pcall(coroutine.wrap(function() ('x'):gsub('x', "
         "coroutine.yield) end))",
         "false "},
        {"return pcall(coroutine.wrap(function() load(coroutine.yield) end))",
         "false "},
        {"local co co = coroutine.create(function() return "
         "coroutine.resume(co) end) return coroutine.resume(co)",
         "true false cannot resume non-suspended coroutine"},
        {"return coroutine.resume((coroutine.running()))",
         "false cannot resume non-suspended coroutine"},
        {"return pcall(coroutine.close, (coroutine.running()))", "false "},
        {"local co = coroutine.wrap(function() local x <close> = "
         "setmetatable({}, {__close = function() coroutine.yield('in close') "
         "end}) end) return co()",
         "in close"},
        {"local co = coroutine.create(function() local x <close> = "
         "setmetatable({}, {__close = function() coroutine.yield() end}) "
         "coroutine.yield() end) coroutine.resume(co) return "
         "coroutine.close(co)",
         "false "},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(there_is_no_way_out)
{
    static const struct row rows[] = {
        {"return io, os, debug, package, dofile, loadfile, warn, loadstring",
         "nil nil nil nil nil nil nil nil"},
        {"return math.random, math.randomseed, string.dump", "nil nil nil"},
        {"return getmetatable('')", "false"},
        {"return pcall(setmetatable, '', {})", "false "},
        {"return load('\\27Lua', 'x', 'b')", "nil only text can be loaded"},
        {"return load('\\27LuaT')", "nil "},
        {"return load('return io or os or debug')()", "nil"},
        {"return load('return x', 'n', 't', {x = 1})()", "1"},
        {"return _G == _ENV and _G._G == _G", "true"},
        {"collectgarbage('stop')", "error: "},
        {"collectgarbage()", "error: "},
        {"return collectgarbage('count') > 10", "true"},
        {"require('../secret')", "error: "},
        {"require('/etc/passwd')", "error: "},
        {"require('a..b')", "error: "},
        {"require('io')", "error: test.lua:1: module 'io' not found"},
        {"string.rep = nil return ('x'):rep(2)", "xx"},
    };
    expect_rows(rows, COUNT_OF(rows));
}

TEST(code_cannot_raise_its_own_stop)
{
    static const struct row rows[] = {
        {"return (pcall(error, 'the step budget is used up'))", "false"},
    };
    expect_rows(rows, COUNT_OF(rows));
}
