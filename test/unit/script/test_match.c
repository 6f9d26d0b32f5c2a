/* match: the patterns of the manual, beside Lua's own matcher, and a bound on
 * the work that Lua's has not. */

#include "script/match.h"

#include <lualib.h>

#include "unit/script/kit.h"

/* -- Beside Lua's own ---------------------------------------------------- */

/* Calls string.NAME of a plain state; the results as one text. */
static void run_stock(lua_State *L, const char *code, struct buf *to)
{
    buf_clear(to);
    lua_settop(L, 0);
    const bool failed = luaL_dostring(L, code) != 0;
    buf_append_text(to, failed ? "error" : "");
    for (int i = 1; !failed && i <= lua_gettop(L); i++) {
        size_t length = 0;
        const char *text = luaL_tolstring(L, i, &length);
        buf_append_text(to, i > 1 ? " " : "");
        buf_append(to, text, length);
        lua_pop(L, 1);
    }
}

static void add_random_item(struct random *random, struct buf *to, int depth)
{
    static const char *const items[] = {
        "a",  "b",  "c",    ".",     "%a",    "%d",    "%w",  "%s",   "%S",
        "%A", "%.", "[ab]", "[^ab]", "[a-c]", "[%d_]", "[]]", "[^]]", "[%]a]",
        "%p", "%x", "%u",   "%l",    "[-a]",  "[a-]",  "%c",  "%g",   "$",
    };
    static const char *const quantifiers[] = {"", "", "", "*", "+", "-", "?"};
    const uint64_t kind = random_below(random, 12);
    if (kind == 0 && depth < 2) {
        buf_append_char(to, '(');
        const uint64_t count = random_below(random, 3);
        for (uint64_t i = 0; i < count; i++) {
            add_random_item(random, to, depth + 1);
        }
        buf_append_char(to, ')');
    } else if (kind == 1) {
        buf_append_text(to, "%b()");
    } else if (kind == 2) {
        buf_append_text(to, "%f[%w]");
    } else if (kind == 3) {
        buf_append_text(to, random_below(random, 2) == 0 ? "()" : "%1");
    } else {
        buf_append_text(to, items[random_below(random, COUNT_OF(items))]);
        buf_append_text(
            to,
            quantifiers[random_below(random, COUNT_OF(quantifiers))]);
    }
}

/* False: it may be malformed. */
static bool add_random_pattern(struct random *random, struct buf *to)
{
    if (random_below(random, 5) == 0) {
        buf_append_char(to, '^');
    }
    const uint64_t count = random_below(random, 5);
    for (uint64_t i = 0; i < count; i++) {
        add_random_item(random, to, 0);
    }
    if (random_below(random, 5) == 0) {
        buf_append_char(to, '$');
    }
    if (random_below(random, 20) != 0) {
        return true;
    }
    buf_append_char(to, "%[()"[random_below(random, 4)]);
    return false;
}

static void add_random_subject(struct random *random, struct buf *to)
{
    const uint64_t length = random_below(random, 14);
    for (uint64_t i = 0; i < length; i++) {
        buf_append_char(to, "aabbc1 _().]-A"[random_below(random, 14)]);
    }
}

PROPERTY(patterns_match_as_those_of_lua_do, 3000)
{
    static const char *const calls[] = {
        "return string.find([==[%s]==], [==[%s]==])",
        "return string.match([==[%s]==], [==[%s]==])",
        "return string.match([==[%s]==], [==[%s]==], 3)",
        "return string.find([==[%s]==], [==[%s]==], -3)",
        "return string.gsub([==[%s]==], [==[%s]==], '<%%0>')",
        "return string.gsub([==[%s]==], [==[%s]==], '%%1%%%%', 2)",
        "return string.gsub([==[%s]==], [==[%s]==], "
        "{a = 1, b = 'x', [1] = 'p'})",
        "return string.gsub([==[%s]==], [==[%s]==], function(...) "
        "return select('#', ...) end)",
        "local r = '' for a, b in string.gmatch([==[%s]==], [==[%s]==]) do "
        "r = r .. tostring(a) .. '|' .. tostring(b) .. ',' end return r",
        "local r = '' for a in string.gmatch([==[%s]==], [==[%s]==], 2) do "
        "r = r .. tostring(a) .. ',' end return r",
    };
    struct buf pattern = {0};
    struct buf subject = {0};
    struct buf code = {0};
    struct buf stock = {0};
    const bool is_good = add_random_pattern(random, &pattern);
    add_random_subject(random, &subject);
    struct kit kit;
    kit_init(&kit, NULL);
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        buf_clear(&code);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        buf_printf(&code, calls[i], buf_text(&subject), buf_text(&pattern));
#pragma GCC diagnostic pop
        run_stock(L, buf_text(&code), &stock);
        const char *ours = kit_run(&kit, buf_text(&code));
        if (strncmp(ours, "error: ", 7) == 0) {
            ours = "error";
            /* Lua's own complains only about what it comes to use. */
            if (!is_good) {
                continue;
            }
        }
        if (!EXPECT_TEXT(ours, buf_text(&stock))) {
            (void)test_fail(__FILE__, __LINE__, "%s", buf_text(&code));
        }
    }
    lua_close(L);
    kit_release(&kit);
    buf_release(&pattern);
    buf_release(&subject);
    buf_release(&code);
    buf_release(&stock);
}

/* -- Faults -------------------------------------------------------------- */

TEST(malformed_patterns_say_what_is_wrong)
{
    static const struct {
        const char *pattern;
        const char *want;
    } rows[] = {
        {"a%", "malformed pattern (ends with '%')"},
        {"[a", "malformed pattern (missing ']')"},
        {"[", "malformed pattern (missing ']')"},
        {"[^", "malformed pattern (missing ']')"},
        {"[a%", "malformed pattern (missing ']')"},
        {"[a%]", "malformed pattern (missing ']')"},
        {"%b", "malformed pattern (missing arguments to '%b')"},
        {"%b(", "malformed pattern (missing arguments to '%b')"},
        {"%f", "missing '[' after '%f' in pattern"},
        {"%fa", "missing '[' after '%f' in pattern"},
        {"%1", "invalid capture index in pattern"},
        {"(%1)", "invalid capture index in pattern"},
        {"%0", "invalid capture index in pattern"},
        {"(a", "unfinished capture"},
        {"a)", "invalid pattern capture"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *subject = "aaa";
        const char *pattern = rows[i].pattern;
        struct match match = {.subject = subject,
                              .subject_end = subject + 3,
                              .pattern = pattern,
                              .pattern_end = pattern + strlen(pattern),
                              .steps_left = 1000};
        EXPECT(match_at(&match, subject) == NULL);
        EXPECT_TEXT(match_fault_text(match.fault), rows[i].want);
    }
}

TEST(a_match_takes_no_more_steps_than_it_is_given)
{
    const char *subject = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const char *pattern = "a-a-a-a-a-a-a-a-a-a-a-a-b";
    for (uint64_t steps = 0; steps < 100000; steps = steps * 3 + 1) {
        struct match match = {.subject = subject,
                              .subject_end = subject + strlen(subject),
                              .pattern = pattern,
                              .pattern_end = pattern + strlen(pattern),
                              .steps_left = steps};
        EXPECT(match_at(&match, subject) == NULL);
        EXPECT_EQ(match.fault, MATCH_OUT_OF_STEPS);
        EXPECT_EQ(match.steps_left, 0);
    }
}

TEST(classes_are_those_of_ascii)
{
    expect_run("local n = 0 for c = 128, 255 do for _, p in ipairs{'%a', '%d', "
               "'%l', '%u', '%w', '%s', '%p', '%c', '%x', '%g'} do if "
               "string.char(c):find(p) then n = n + 1 end end end return n",
               "0");
    expect_run("local t = {} for _, p in ipairs{'%a', '%d', '%l', '%u', '%w', "
               "'%s', '%p', '%c', '%x', '%g'} do local n = 0 for c = 0, 255 do "
               "if string.char(c):find(p) then n = n + 1 end end t[#t + 1] = n "
               "end return table.concat(t, ' ')",
               "52 10 26 26 62 6 32 33 22 94");
}

TEST(replacements_say_what_is_wrong)
{
    expect_run("return ('a'):gsub('a', '%2')",
               "error: test.lua:1: invalid capture index %2");
    expect_run("return ('a'):gsub('a', '%x')",
               "error: test.lua:1: invalid use of '%' in replacement string");
    expect_run("return ('a'):gsub('a', function() return {} end)",
               "error: test.lua:1: invalid replacement value (a table)");
    expect_run("return ('a'):gsub('a', true)",
               "error: test.lua:1: bad argument #2 to 'gsub' "
               "(string/function/table expected, got boolean)");
    expect_run("return ('abc'):gsub('%w', 1)", "111 3");
}

TEST(zero_bytes_are_characters)
{
    expect_run(
        "return ('a\\0b\\0'):find('\\0', 3), ('a\\0b'):find('%z'), "
        "#('a\\0b'):gsub('[\\0]', 'xy'), ('a\\0b'):find('\\0b', 1, true)",
        "4 nil 4 2 3");
}
