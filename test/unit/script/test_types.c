/* types: the declarations for the language server say what is
 * registered. */

#include "script/types.h"

#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "lib/test.h"
#include "luatest/testing.h"
#include "script/vm.h"

/* Makes an object of each class, and prints the functions of the module. */
static const char code[] =
    "local heddle = require 'heddle'\n"
    "local test = require 'heddle.test'\n"
    "test('all', function(t)\n"
    "  for name, is in pairs(heddle) do\n"
    "    if type(is) == 'function' then print('heddle.' .. name) end\n"
    "  end\n"
    "  local rt = t:runtime{ engine = t:engine() }\n"
    "  local doc = rt:doc('doc', 1)\n"
    "  rt:effect{ name = 'e', fn = function(tx) doc:get() end }\n"
    "  local stream = rt:stream('s')\n"
    "  rt:on(stream, function(event, tx) return 1 end)\n"
    "  stream:send(1)\n"
    "  rt:edit(function(tx) tx:set(doc, 2) end)\n"
    "  rt:idle()\n"
    "  local function pattern(version)\n"
    "    return heddle.pattern('p', function(p)\n"
    "      local n = p:state('n', 1)\n"
    "      p:collection('c', { key = 'id' })\n"
    "      if version > 1 then p:migrate(version, function(old) end) end\n"
    "      local x = p:task('x', n, {\n"
    "        run = function(_, task) task:http(1) end })\n"
    "      local m = p:map({ 1 }, function(item) return 1 end)\n"
    "      return { n = n, m = m, x = x }\n"
    "    end)\n"
    "  end\n"
    "  local piece = rt:run(pattern(1))\n"
    "  piece:get()\n"
    "  rt:sink(piece:cell('x'), function() end)\n"
    "  rt:settled()\n"
    "  t:ok(piece:task('x'):kind())\n"
    "  rt = rt:restart()\n"
    "  rt:run(pattern(2)):get()\n"
    "end)\n";

struct names {
    VEC(struct buf) at;
    struct buf failed;
};

static void add(struct names *names, const char *name, size_t length)
{
    struct buf copy = {0};
    buf_append(&copy, name, length);
    vec_push(&names->at, copy);
}

static int compare(const void *a, const void *b)
{
    return strcmp(buf_text(a), buf_text(b));
}

/* Sorted, one per line; releases them. */
static void join(struct names *names, struct buf *to)
{
    if (names->at.count > 0) {
        qsort(names->at.at, names->at.count, sizeof *names->at.at, compare);
    }
    VEC_FOREACH (&names->at, name) {
        buf_append_text(to, buf_text(name));
        buf_append_char(to, '\n');
        buf_release(name);
    }
    vec_release(&names->at);
    buf_release(&names->failed);
}

/* -- What is registered -------------------------------------------------- */

static void on_print(void *ctx, const char *line, size_t length)
{
    add(ctx, line, length);
}

static void on_report(void *ctx, const struct testing_result *result)
{
    struct names *names = ctx;
    if (!result->passed) {
        buf_append_text(&names->failed, result->message);
    }
}

/* The methods of the class whose metatable is on top. */
static void add_class(lua_State *L, struct names *names)
{
    lua_pushliteral(L, "__name");
    (void)lua_rawget(L, -2);
    lua_pushliteral(L, "__index");
    (void)lua_rawget(L, -3);
    if (lua_type(L, -2) == LUA_TSTRING && lua_istable(L, -1)) {
        const char *class = lua_tostring(L, -2);
        lua_pushnil(L);
        while (lua_next(L, -2) != 0) {
            struct buf name = {0};
            buf_append(&name, class, strcspn(class, " "));
            buf_append_char(&name, ':');
            buf_append_text(&name, lua_tostring(L, -2));
            add(names, buf_text(&name), name.length);
            buf_release(&name);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 2);
}

/* Metatables are in the registry, by the addresses of their classes. */
static void on_ended(void *ctx, struct script *script)
{
    lua_State *L = script->main;
    lua_pushnil(L);
    while (lua_next(L, LUA_REGISTRYINDEX) != 0) {
        if (lua_islightuserdata(L, -2) && lua_istable(L, -1)) {
            add_class(L, ctx);
        }
        lua_pop(L, 1);
    }
}

/* -- What has a declaration ---------------------------------------------- */

static void add_declared(struct names *names)
{
    static const char start[] = "function ";
    const struct script_type_file *file = script_type_files;
    for (; file->name != NULL; file++) {
        for (const char *const *line = file->lines; *line != NULL; line++) {
            if (strncmp(*line, start, strlen(start)) == 0) {
                const char *name = *line + strlen(start);
                add(names, name, strcspn(name, "("));
            }
        }
    }
}

TEST(what_is_registered_has_a_declaration_and_the_reverse)
{
    struct names registered = {0};
    struct names declared = {0};
    struct testing_counts counts = {0};
    const struct testing_options options = {
        .ctx = &registered,
        .report = on_report,
        .print = on_print,
        .ended = on_ended,
    };
    struct buf text = {0};
    struct buf fault = {0};
    buf_append_text(&text, code);
    EXPECT(testing_run("all.lua", &text, &options, &counts, &fault));
    EXPECT_TEXT(buf_text(&fault), "");
    EXPECT_TEXT(buf_text(&registered.failed), "");
    EXPECT_INT(counts.passed, 1);
    add_declared(&declared);
    struct buf got = {0};
    struct buf want = {0};
    join(&declared, &got);
    join(&registered, &want);
    EXPECT_CONTAINS(buf_text(&want), "cell:add_unique\n");
    EXPECT_CONTAINS(buf_text(&want), "old:version\n");
    EXPECT_CONTAINS(buf_text(&want), "heddle.array\n");
    EXPECT_TEXT(buf_text(&got), buf_text(&want));
    buf_release(&got);
    buf_release(&want);
    buf_release(&fault);
    buf_release(&text);
}
