/* convert: every value survives the way to Lua and back, and what is no value
 * is refused with its place. */

#include "script/convert.h"

#include "base/limits.h"
#include "lib/gen.h"
#include "lib/values.h"
#include "unit/script/kit.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"

static void open_heddle(lua_State *L, void *ctx)
{
    (void)ctx;
    lua_newtable(L);
    convert_add_functions(L);
    script_lock(L, "heddle");
}

static void init(struct kit *kit)
{
    kit_init(kit, NULL);
    EXPECT_EQ(script_module_register(kit->script,
                                     "heddle",
                                     open_heddle,
                                     NULL,
                                     &kit->error),
              SCRIPT_FINE);
    (void)kit_run(kit, "heddle = require 'heddle'");
}

/* What a call took, or why it could not. */
struct taken {
    struct convert_limits limits;
    enum err err;
    struct value value;
    struct err_detail detail;
};

static void take_value(lua_State *L, int count, void *ctx)
{
    struct taken *taken = ctx;
    EXPECT(count <= 1);
    const int top = lua_gettop(L);
    taken->err =
        convert_read(L, 1, "v", &taken->limits, &taken->value, &taken->detail);
    EXPECT_INT(lua_gettop(L), top);
}

static struct taken take(struct kit *kit,
                         const char *code,
                         struct convert_limits limits)
{
    struct taken taken = {.limits = limits};
    struct script_function function;
    if (kit_load(kit, code, &function)) {
        const struct script_call call = {.function = function,
                                         .take = take_value,
                                         .ctx = &taken};
        EXPECT_EQ(script_call(kit->script, &call, &kit->error), SCRIPT_FINE);
        script_function_release(kit->script, &function);
    }
    return taken;
}

static void expect_json(struct kit *kit, const char *code, const char *json)
{
    struct taken taken = take(kit, code, (struct convert_limits){0});
    EXPECT_EQ(taken.err, ERR_OK);
    EXPECT_TEXT(taken.detail.text, "");
    struct buf text = {0};
    if (value_is_absent(taken.value)) {
        buf_append_text(&text, "(absent)");
    } else {
        EXPECT(value_check(taken.value));
        json_write(&text, taken.value, JSON_AS_GIVEN, 0);
    }
    EXPECT_TEXT(buf_text(&text), json);
    buf_release(&text);
    value_unref(taken.value);
}

static void expect_refused(struct kit *kit,
                           const char *code,
                           enum err err,
                           const char *sentence)
{
    struct taken taken = take(kit, code, (struct convert_limits){0});
    EXPECT_EQ(taken.err, err);
    EXPECT_TEXT(taken.detail.text, sentence);
    EXPECT(value_is_absent(taken.value));
}

TEST(tables_and_scalars_become_json)
{
    static const struct {
        const char *code;
        const char *json;
    } rows[] = {
        {"return nil", "(absent)"},
        {"return true", "true"},
        {"return 42", "42"},
        {"return 42.0", "42"},
        {"return -0.0", "-0"},
        {"return 0.1", "0.1"},
        {"return math.maxinteger", "9223372036854775807"},
        {"return math.mininteger", "-9223372036854775808"},
        {"return 0/0", "{\"/\":{\"number@1\":\"NaN\"}}"},
        {"return -(0/0)", "{\"/\":{\"number@1\":\"NaN\"}}"},
        {"return math.huge", "{\"/\":{\"number@1\":\"Infinity\"}}"},
        {"return -math.huge", "{\"/\":{\"number@1\":\"-Infinity\"}}"},
        {"return 'text \\u{e4}'", "\"text \303\244\""},
        {"return 'a\\0b'", "\"a\\u0000b\""},
        {"return {}", "{}"},
        {"return heddle.array{}", "[]"},
        {"return heddle.array()", "[]"},
        {"return heddle.object{}", "{}"},
        {"return heddle.object(heddle.array{})", "{}"},
        {"return heddle.null", "null"},
        {"return {heddle.null, {}, heddle.array{}}", "[null,{},[]]"},
        {"return {1, 2, {3}}", "[1,2,[3]]"},
        {"return {b = 1, a = {c = true}, ['1'] = 'x'}",
         "{\"1\":\"x\",\"a\":{\"c\":true},\"b\":1}"},
        {"return setmetatable({x = 1}, {__index = {y = 2}})", "{\"x\":1}"},
        {"return setmetatable({}, {__index = error, __len = error, __pairs = "
         "error})",
         "{}"},
        {"local s = {1} return {s, s}", "[[1],[1]]"},
        {"return {['/'] = {['link@1'] = {id = 'of:x'}}}",
         "{\"/\":{\"link@1\":{\"id\":\"of:x\"}}}"},
    };
    struct kit kit;
    init(&kit);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_json(&kit, rows[i].code, rows[i].json);
    }
    kit_release(&kit);
}

TEST(what_is_no_value_is_refused_with_its_place)
{
    static const struct {
        const char *code;
        enum err err;
        const char *sentence;
    } rows[] = {
        {"return print", ERR_TYPE, "v is a function, which cannot be stored"},
        {"return {items = {1, 2, {price = print}}}",
         ERR_TYPE,
         "v.items[3].price is a function, which cannot be stored"},
        {"return {['two words'] = coroutine.create(print)}",
         ERR_TYPE,
         "v[\"two words\"] is a thread, which cannot be stored"},
        {"return {heddle}",
         ERR_TYPE,
         "v[1] is a module, which cannot be stored"},
        {"return {1, nil, 3}",
         ERR_TYPE,
         "v[2] is missing: an array has no holes, use heddle.null"},
        {"return {nil, 2}",
         ERR_TYPE,
         "v[1] is missing: an array has no holes, use heddle.null"},
        {"return {a = {[5] = 1}}",
         ERR_TYPE,
         "v.a[5] has a non-string key in a table that is not an array"},
        {"return {[1.5] = 1}",
         ERR_TYPE,
         "v[1.5] has a non-string key in a table that is not an array"},
        {"return {[true] = 1}",
         ERR_TYPE,
         "v[true] has a non-string key in a table that is not an array"},
        {"return {[{}] = 1}",
         ERR_TYPE,
         "v[a table] has a non-string key in a table that is not an array"},
        {"return {1, 2, x = 3}",
         ERR_TYPE,
         "v.x is a key in a table that is an array"},
        {"return heddle.array{x = 3}",
         ERR_TYPE,
         "v.x is a key in a table that is an array"},
        {"return heddle.array{[7] = 3}",
         ERR_TYPE,
         "v[7] is beyond the end of an array with holes"},
        {"return heddle.object{1, 2}",
         ERR_TYPE,
         "v[1] has a non-string key in a table that is not an array"},
    };
    struct kit kit;
    init(&kit);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_refused(&kit, rows[i].code, rows[i].err, rows[i].sentence);
    }
    kit_release(&kit);
}

TEST(cycles_and_bad_text_are_refused_with_their_place)
{
    static const struct {
        const char *code;
        enum err err;
        const char *sentence;
    } rows[] = {
        {"local t = {} t.self = t return t",
         ERR_TYPE,
         "v.self contains itself"},
        {"local t = {x = {}} t.x.y = t return t",
         ERR_TYPE,
         "v.x.y contains itself"},
        {"local t = {{{}}} t[1][1][1] = t[1] return t",
         ERR_TYPE,
         "v[1][1][1] contains itself"},
        {"return {'\\xff'}", ERR_SYNTAX, "v[1] is a string that is not UTF-8"},
        {"return {['\\xff'] = 1}",
         ERR_SYNTAX,
         "v[\"\xff\"] is a string that is not UTF-8"},
        {"return ('x'):rep(17 * 1024 * 1024)",
         ERR_LIMIT_STRING,
         "v is a string that is too long"},
    };
    struct kit kit;
    init(&kit);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_refused(&kit, rows[i].code, rows[i].err, rows[i].sentence);
    }
    kit_release(&kit);
}

TEST(a_long_cycle_is_found)
{
    struct kit kit;
    init(&kit);
    struct taken taken = take(&kit,
                              "local first = {} local t = first\n"
                              "for i = 1, 300 do t.a = {} t = t.a end\n"
                              "t.a = first return first",
                              (struct convert_limits){0});
    EXPECT_EQ(taken.err, ERR_TYPE);
    EXPECT_CONTAINS(taken.detail.text, "contains itself");
    kit_release(&kit);
}

TEST(limits_hold)
{
    struct kit kit;
    init(&kit);
    const char *deep = "local t = {} for i = 1, 998 do t = {t} end return t";
    struct taken taken = take(&kit, deep, (struct convert_limits){0});
    EXPECT_EQ(taken.err, ERR_OK);
    EXPECT_EQ(value_depth(taken.value), 999);
    value_unref(taken.value);
    taken = take(&kit,
                 "local t = {} for i = 1, 1000 do t = {t} end return t",
                 (struct convert_limits){0});
    EXPECT_EQ(taken.err, ERR_LIMIT_DEPTH);
    EXPECT_CONTAINS(taken.detail.text, "v...[1][1]");

    taken = take(&kit, "return {{{1}}}", (struct convert_limits){.depth = 3});
    EXPECT_EQ(taken.err, ERR_OK);
    value_unref(taken.value);
    taken = take(&kit, "return {{{1}}}", (struct convert_limits){.depth = 2});
    EXPECT_EQ(taken.err, ERR_LIMIT_DEPTH);
    EXPECT_TEXT(taken.detail.text, "v[1][1] is nested too deeply");
    taken = take(&kit,
                 "return {'1234567890', 2, 3}",
                 (struct convert_limits){.bytes = 60});
    EXPECT_EQ(taken.err, ERR_LIMIT_SIZE);
    EXPECT_TEXT(taken.detail.text, "v[3] makes the value too large");
    /* A table of tables that are the same a million times over. */
    taken = take(&kit,
                 "local t = {1} for i = 1, 40 do t = {t, t} end return t",
                 (struct convert_limits){.bytes = 1 << 20});
    EXPECT_EQ(taken.err, ERR_LIMIT_SIZE);
    kit_release(&kit);
}

TEST(null_and_leaves_can_be_told_apart)
{
    struct kit kit;
    init(&kit);
    EXPECT_TEXT(
        kit_run(&kit,
                "return heddle.null == heddle.null, heddle.null == nil, "
                "tostring(heddle.null), type(heddle.null)"),
        "true false null userdata");
    EXPECT_CONTAINS(kit_run(&kit, "heddle.null.x = 1"), "is immutable");
    EXPECT_TEXT(kit_run(&kit, "return heddle.null.x"), "nil");
    EXPECT_TEXT(kit_run(&kit, "return getmetatable(heddle.array{})"), "false");
    EXPECT_CONTAINS(kit_run(&kit, "heddle.array(setmetatable({}, {}))"),
                    "the table has a metatable of its own");
    EXPECT_CONTAINS(kit_run(&kit, "heddle.array(1)"), "table expected");
    kit_release(&kit);
}

/* -- There and back ------------------------------------------------------ */

static int push_value(lua_State *L, void *ctx)
{
    const struct value *value = ctx;
    convert_push(L, *value);
    return 1;
}

struct trip {
    struct value value;
    struct taken taken;
};

static int push_trip(lua_State *L, void *ctx)
{
    struct trip *trip = ctx;
    return push_value(L, &trip->value);
}

static void take_trip(lua_State *L, int count, void *ctx)
{
    struct trip *trip = ctx;
    take_value(L, count, &trip->taken);
}

/* Through `code`, which gets the value as its argument. */
static struct value travel(struct kit *kit,
                           const char *code,
                           struct value value)
{
    struct trip trip = {.value = value};
    struct script_function function;
    EXPECT(kit_load(kit, code, &function));
    const struct script_call call = {.function = function,
                                     .push = push_trip,
                                     .take = take_trip,
                                     .ctx = &trip};
    EXPECT_EQ(script_call(kit->script, &call, &kit->error), SCRIPT_FINE);
    EXPECT_EQ(trip.taken.err, ERR_OK);
    EXPECT_TEXT(trip.taken.detail.text, "");
    script_function_release(kit->script, &function);
    return trip.taken.value;
}

PROPERTY(a_value_is_the_same_after_a_way_through_lua, 300)
{
    const struct gen gen = {.random = random,
                            .depth = 5,
                            .width = 40,
                            .flags = GEN_SPECIALS | GEN_ENVELOPES};
    struct kit kit;
    init(&kit);
    struct value value = gen_value(&gen);
    struct value back = travel(&kit, "return ...", value);
    EXPECT_VALUE(back, value);
    value_unref(back);
    /* And copied by Lua code, element by element. */
    back = travel(&kit,
                  "local function copy(v)\n"
                  "  if type(v) ~= 'table' then return v end\n"
                  "  local t = #v > 0 and {} or\n"
                  "    tostring(v) == 'array' and heddle.array{} or {}\n"
                  "  for k, item in pairs(v) do t[k] = copy(item) end\n"
                  "  return t\n"
                  "end\n"
                  "return copy(...)",
                  value);
    EXPECT_VALUE(back, value);
    value_unref(back);
    value_unref(value);
    kit_release(&kit);
}

TEST(integers_stay_integers_and_deep_values_arrive)
{
    struct kit kit;
    init(&kit);
    struct value value = from_quoted("[9007199254740993,1,1.5]");
    struct value back = travel(&kit,
                               "local t = ... return {math.type(t[1]), "
                               "math.type(t[2]), math.type(t[3])}",
                               value);
    struct value want = from_quoted("['integer','integer','float']");
    EXPECT_VALUE(back, want);
    value_unref(value);
    value_unref(back);
    value_unref(want);

    value = value_empty_array();
    for (int i = 0; i < LIMIT_DEPTH - 1; i++) {
        value = array_new_adopt(&value, 1);
    }
    back = travel(&kit, "return ...", value);
    EXPECT(value_equal(back, value));
    value_unref(value);
    value_unref(back);
    kit_release(&kit);
}

TEST(links_can_be_read_and_compared)
{
    struct kit kit;
    init(&kit);
    struct value value =
        from_quoted("[{'/':{'link@1':{'id':'of:x','path':['a','0']}}},"
                    "{'/':{'link@1':{'path':['a','0'],'id':'of:x'}}},"
                    "{'/':{'bytes@1':'aGk='}}]");
    struct value back = travel(&kit,
                               "local t = ... return {t[1].id, t[1].path, "
                               "t[1] == t[2], t[1] == t[3], t[3].type, "
                               "t[3].state, tostring(t[3])}",
                               value);
    struct value want = from_quoted(
        "['of:x',['a','0'],true,false,'bytes@1','aGk=',"
        "'{\\u0022/\\u0022:{\\u0022bytes@1\\u0022:\\u0022aGk=\\u0022}}']");
    EXPECT_VALUE(back, want);
    value_unref(value);
    value_unref(back);
    value_unref(want);
    kit_release(&kit);
}

TEST(pushing_without_memory_is_an_error_that_leaks_nothing)
{
    struct kit kit;
    kit_init(&kit, &(struct script_config){.memory_bytes = 1 << 20});
    struct value items[100];
    struct value value = value_text_new("a string that is somewhat long");
    for (int depth = 0; depth < 3; depth++) {
        for (size_t i = 0; i < COUNT_OF(items); i++) {
            items[i] = value_ref(value);
        }
        value_unref(value);
        value = array_new_adopt(items, COUNT_OF(items));
    }
    struct script_function function;
    EXPECT(kit_load(&kit, "return 1", &function));
    const struct script_call call = {.function = function,
                                     .push = push_value,
                                     .ctx = &value};
    EXPECT_EQ(script_call(kit.script, &call, &kit.error), SCRIPT_MEMORY_OUT);
    script_function_release(kit.script, &function);
    value_unref(value);
    kit_expect_health(&kit);
    kit_release(&kit);
}
