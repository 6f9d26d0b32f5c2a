/* fingerprint: what changes it, and what does not. */

#include "script/fingerprint.h"

#include "script/bytecode.h"
#include "script/convert.h"
#include "unit/script/kit.h"

static void open_heddle(lua_State *L, void *ctx)
{
    (void)ctx;
    lua_newtable(L);
    convert_add_functions(L);
    script_lock(L, "heddle");
}

static void take_function(lua_State *L, int count, void *ctx)
{
    struct script_function *function = ctx;
    EXPECT(count >= 1);
    *function = script_function_keep(L, 1);
}

static void init(struct kit *kit, const struct script_config *config)
{
    kit_init(kit, config);
    EXPECT_EQ(script_module_register(kit->script,
                                     "heddle",
                                     open_heddle,
                                     NULL,
                                     &kit->error),
              SCRIPT_FINE);
}

/* The fingerprint of the function that the code returns, as a text; or the
 * sentence that refuses it. Borrowed until the next call. */
static const char *fingerprint_in(struct kit *kit, const char *code)
{
    struct script_function chunk;
    struct script_function function = {0};
    if (!kit_load(kit, code, &chunk)) {
        return buf_text(&kit->result);
    }
    const struct script_call call = {.function = chunk,
                                     .take = take_function,
                                     .ctx = &function};
    EXPECT_EQ(script_call(kit->script, &call, &kit->error), SCRIPT_FINE);
    struct digest digest;
    struct err_detail detail = {0};
    const enum err err =
        script_fingerprint(kit->script, function, &digest, &detail);
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest, text);
    buf_clear(&kit->result);
    buf_append_text(&kit->result, err == ERR_OK ? text : detail.text);
    EXPECT_EQ(err, detail.err);
    script_function_release(kit->script, &function);
    script_function_release(kit->script, &chunk);
    return buf_text(&kit->result);
}

/* In a state of its own, so that nothing but the code can count. */
static void fingerprint(const char *code, struct buf *to)
{
    struct kit kit;
    init(&kit, NULL);
    buf_append_text(to, fingerprint_in(&kit, code));
    kit_release(&kit);
}

static void expect_pair(const char *a, const char *b, bool want_same)
{
    struct buf first = {0};
    struct buf second = {0};
    fingerprint(a, &first);
    fingerprint(b, &second);
    EXPECT_EQ(first.length, DIGEST_TEXT_LENGTH);
    EXPECT_EQ(second.length, DIGEST_TEXT_LENGTH);
    const bool same = strcmp(buf_text(&first), buf_text(&second)) == 0;
    if (same != want_same) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s\n# and\n# %s\n# are %s",
                        a,
                        b,
                        same ? "the same" : "different");
    }
    buf_release(&first);
    buf_release(&second);
}

TEST(moving_a_function_changes_nothing)
{
    static const char *const pairs[][2] = {
        {"return function(x) return x + 1 end",
         "\n\n\n-- a comment\nreturn function(x)\n\n  return x + 1 end"},
        {"return function(x) return x + 1 end",
         "return function(other) return other + 1 end"},
        /* Other locals before it move the registers of what it captures. */
        {"local k = 3 return function() return k end",
         "local a, b, c = 1, 2, 4 local k = 3 return function() return k end"},
        {"local function g() return 1 end return function() return g() end",
         "local unused = 1\nlocal function h() return 1 end\n"
         "return function() return h() end"},
        {"return function() return function() return 1 end end",
         "\n\nreturn function()\n return function()\n return 1\n end\n end"},
        {"return function() return print, string.rep end",
         "string.extra = 1 global = 2 return function() return print, "
         "string.rep end"},
        {"local t = {b = 1, a = 2} return function() return t end",
         "local t = {a = 2} t.b = 1 return function() return t end"},
        {"local h = require 'heddle' return function() return h.array{} end",
         "local x = 1 local heddle = require 'heddle' return function() return "
         "heddle.array{} end"},
        {"local i = table.insert return function() i({}, 1) end",
         "\nlocal insert = table.insert return function() insert({}, 1) end"},
        {"local function f() return f() end return f",
         "\nlocal function again() return again() end return again"},
        {"return print", "local p = print return p"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        expect_pair(pairs[i][0], pairs[i][1], true);
    }
}

TEST(editing_a_function_changes_it)
{
    static const char *const pairs[][2] = {
        {"return function(x) return x + 1 end",
         "return function(x) return x + 2 end"},
        {"return function(x) return x + 1 end",
         "return function(x) return x - 1 end"},
        {"return function(x) return x.a end",
         "return function(x) return x.b end"},
        {"return function(x) return 'a' end",
         "return function(x) return 'b' end"},
        {"return function(x) end", "return function(x, y) end"},
        {"return function(x) end", "return function(...) end"},
        {"return function() return function() return 1 end end",
         "return function() return function() return 2 end end"},
        {"return print", "return type"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        expect_pair(pairs[i][0], pairs[i][1], false);
    }
}

TEST(what_is_captured_counts)
{
    static const char *const pairs[][2] = {
        {"local k = 3 return function() return k end",
         "local k = 4 return function() return k end"},
        {"local k = 3 return function() return k end",
         "local k = 3.0 return function() return k end"},
        {"local k = 3 return function() return k end",
         "local k = '3' return function() return k end"},
        {"local k = true return function() return k end",
         "local k = false return function() return k end"},
        {"local k return function() return k end",
         "local k = false return function() return k end"},
        {"local function g() return 1 end return function() return g() end",
         "local function g() return 2 end return function() return g() end"},
        {"local t = {1, 2} return function() return t end",
         "local t = {2, 1} return function() return t end"},
        {"local t = {a = {b = 1}} return function() return t end",
         "local t = {a = {b = 2}} return function() return t end"},
        {"local t = {} return function() return t end",
         "local t = setmetatable({}, {__index = print}) return function() "
         "return t end"},
        {"local i = table.insert return function() i({}, 1) end",
         "local i = table.remove return function() i({}, 1) end"},
        {"local a, b = 'x', 'yz' return function() return a, b end",
         "local a, b = 'xy', 'z' return function() return a, b end"},
        {"local n = require 'heddle'.null return function() return n end",
         "local n = require 'heddle' return function() return n end"},
        {"local a = {} local b = a return function() return a, b end",
         "local a = {} local b = {} return function() return a, b end"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        expect_pair(pairs[i][0], pairs[i][1], false);
    }
}

TEST(cycles_have_a_fingerprint)
{
    expect_pair(
        "local a, b function a() return b end function b() return a end "
        "return a",
        "local x = 1 local a, b function b() return a end function a() "
        "return b end return a",
        true);
    expect_pair("local t = {} t.t = t return function() return t end",
                "local t = {} t.t = {t = t} return function() return t end",
                false);
    expect_pair("local t = {} t.f = function() return t end return t.f",
                "local t = {} t.f = function() return t end return t.f",
                true);
}

TEST(what_has_no_identity_is_refused)
{
    static const struct {
        const char *code;
        const char *sentence;
    } rows[] = {
        {"local co = coroutine.create(print) return function() return co end",
         "'co' is a thread, which has no identity"},
        {"local next_one = coroutine.wrap(print) return function() return "
         "next_one end",
         "'next_one' is a function of C"},
        {"local t = {x = coroutine.create(print)} return function() return t "
         "end",
         "'x' is a thread, which has no identity"},
        {"local t = {[{}] = 1} return function() return t end",
         "a captured table has a table as a key, which has no order"},
        {"return 5", "this is not a function"},
        {"local t = {} for i = 1, 100001 do t[i] = {} end return function() "
         "return t end",
         "the function captures too much"},
        {"local s = ('x'):rep(17000000) return function() return s end",
         "the function captures too much"},
    };
    struct kit kit;
    init(&kit, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_TEXT(fingerprint_in(&kit, rows[i].code), rows[i].sentence);
    }
    kit_expect_health(&kit);
    kit_release(&kit);
}

TEST(a_fingerprint_runs_no_code_and_keeps_to_the_budgets)
{
    struct kit kit;
    init(&kit, &(struct script_config){.steps = 200000});
    EXPECT_EQ(strlen(fingerprint_in(
                  &kit,
                  "local t = setmetatable({}, {__pairs = error, __index = "
                  "error, __len = error}) return function() return t end")),
              DIGEST_TEXT_LENGTH);
    EXPECT_TEXT(fingerprint_in(&kit,
                               "local t = {} for i = 1, 20000 do t[i] = {} end "
                               "return function() return t end"),
                "the step budget is used up");
    kit_expect_health(&kit);
    kit_release(&kit);
}

/* Stored with a node: a change here runs everything again after an update. */
TEST(fingerprints_are_frozen)
{
    struct buf text = {0};
    fingerprint("local rate = 0.2 return function(x) return x * (1 + rate) end",
                &text);
    EXPECT_TEXT(buf_text(&text), "7OkwwCBqPP1TuckMzBRZYahEyjBRdR9R_RQ4zvNOHAw");
    buf_release(&text);
}

/* -- Bytecode ------------------------------------------------------------ */

static int write_all(lua_State *L, const void *bytes, size_t size, void *ctx)
{
    (void)L;
    buf_append(ctx, bytes, size);
    return 0;
}

TEST(a_damaged_dump_is_refused_and_read_no_further)
{
    struct buf dump = {0};
    struct buf reduced = {0};
    lua_State *L = luaL_newstate();
    EXPECT_INT(luaL_loadstring(L,
                               "local a = ... return function() return a, 1, "
                               "1.5, 'text', function() return a end end"),
               LUA_OK);
    EXPECT_INT(lua_dump(L, write_all, &dump, 1), 0);
    lua_close(L);
    EXPECT(bytecode_reduce(dump.at, dump.length, &reduced));
    for (size_t length = 0; length < dump.length; length++) {
        struct buf exact = {0};
        struct buf to = {0};
        buf_append(&exact, dump.at, length);
        EXPECT(!bytecode_reduce(buf_text(&exact), length, &to));
        buf_release(&to);
        buf_release(&exact);
    }
    for (size_t i = 0; i < dump.length; i++) {
        struct buf to = {0};
        dump.at[i] = (char)(dump.at[i] ^ 0x81);
        (void)bytecode_reduce(dump.at, dump.length, &to);
        dump.at[i] = (char)(dump.at[i] ^ 0x81);
        buf_release(&to);
    }
    buf_release(&dump);
    buf_release(&reduced);
}
