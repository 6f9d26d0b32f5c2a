/* Assertions, and rounds with seeds. */

#include "luatest/checks.h"

#include <inttypes.h>

#include "luatest/equal.h"
#include "luatest/runtimes.h"
#include "script/convert.h"
#include "script/heddle.h"
#include "script/sandbox.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    SHOWN_BYTES = 1000, /* of a value in a message */
    SHOWN_ERRORS = 5,   /* of one runtime that a test did not ask for */
    SEEDS_MAX = 1000 * 1000,
};

struct checks {
    struct test_case *test_case; /* NULL: is over */
};

static void checks_release(void *object)
{
    struct checks *checks = object;
    if (checks->test_case != NULL) {
        checks->test_case->checks = NULL;
        checks->test_case = NULL;
    }
}

void checks_end(struct test_case *test_case)
{
    if (test_case->checks != NULL) {
        checks_release(test_case->checks);
    }
}

static const struct script_class checks_class;

static const struct checks *check_t(lua_State *L)
{
    const struct checks *checks = script_object_check(L, 1, &checks_class);
    if (checks->test_case == NULL) {
        (void)luaL_error(L, "this test is over");
    }
    return checks;
}

/* -- Making -------------------------------------------------------------- */

static int t_runtime(lua_State *L)
{
    return runtimes_new(L, check_t(L)->test_case);
}

static int t_engine(lua_State *L)
{
    return runtimes_engine(L, check_t(L)->test_case);
}

static int t_cluster(lua_State *L)
{
    return runtimes_cluster(L, check_t(L)->test_case);
}

/* -- Asserting ----------------------------------------------------------- */

/* A value in the hands of Lua. */
struct shown {
    struct value value;
};

static void shown_release(void *object)
{
    struct shown *shown = object;
    value_unref(shown->value);
    shown->value = VALUE_NONE;
}

static const struct script_class shown_class = {
    .name = "value",
    .release = shown_release,
};

/* Whether the value at `index` can be shown as JSON, or as a word. */
static bool is_plain(lua_State *L, int index)
{
    struct shown *shown = script_object_push(L, &shown_class, sizeof *shown);
    struct err_detail detail = {0};
    const enum err err =
        convert_read(L, index, "it", NULL, &shown->value, &detail);
    lua_pop(L, 1);
    return err == ERR_OK || lua_type(L, index) != LUA_TTABLE;
}

/* What a message shows of the value at `index`. */
static void show(lua_State *L, struct buf *text, int index)
{
    struct shown *shown = script_object_push(L, &shown_class, sizeof *shown);
    struct err_detail detail = {0};
    const enum err err =
        convert_read(L, index, "it", NULL, &shown->value, &detail);
    const struct value value = shown->value;
    const size_t length = text->length;
    if (err != ERR_OK || value_is_absent(value)) {
        size_t count = 0;
        const char *words = sandbox_push_text(L, index, &count);
        buf_append(text, words, count);
        lua_pop(L, 1);
    } else if (!json_write_within(text,
                                  value,
                                  JSON_CANONICAL,
                                  0,
                                  length + SHOWN_BYTES)) {
        text->length = length;
        buf_append_text(text, value_kind_name(value_kind(value)));
        buf_append_text(text, " that is too long to be shown");
    }
    lua_pop(L, 1);
}

/* Appends ": what", the argument `index` if there is one. */
static void show_what(lua_State *L, struct buf *text, int index)
{
    if (!lua_isnoneornil(L, index)) {
        size_t length = 0;
        const char *words = sandbox_push_text(L, index, &length);
        buf_append(text, words, length);
        buf_append_text(text, ": ");
        lua_pop(L, 1);
    }
}

static int t_eq(lua_State *L)
{
    (void)check_t(L);
    lua_settop(L, 4);
    struct buf *where = script_buffer_push(L);
    if (equal_deep(L, 2, 3, where)) {
        return 0;
    }
    /* Whole values, where they can be shown; otherwise what differs. */
    const bool is_whole = is_plain(L, 2) && is_plain(L, 3);
    const int is = is_whole ? 2 : lua_absindex(L, -2);
    const int expected = is_whole ? 3 : lua_absindex(L, -1);
    struct buf *text = script_buffer_push(L);
    show_what(L, text, 4);
    if (!is_whole && where->length > 0) {
        buf_printf(text, "at %s: ", buf_text(where));
    }
    buf_append_text(text, "is ");
    show(L, text, is);
    buf_append_text(text, ", expected ");
    show(L, text, expected);
    return luaL_error(L, "%s", buf_text(text));
}

static int t_ok(lua_State *L)
{
    (void)check_t(L);
    lua_settop(L, 3);
    if (lua_toboolean(L, 2) != 0) {
        return 0;
    }
    struct buf *text = script_buffer_push(L);
    show_what(L, text, 3);
    buf_append_text(text, lua_isnil(L, 2) ? "is nil" : "is false");
    buf_append_text(text, ", expected a true value");
    return luaL_error(L, "%s", buf_text(text));
}

/* Whether the text at `text` has the pattern at `pattern`, or those very
 * characters. */
static bool has_pattern(lua_State *L, int text, int pattern)
{
    bool found = false;
    for (int plain = 0; plain < 2 && !found; plain++) {
        (void)lua_getfield(L, text, "find");
        lua_pushvalue(L, text);
        lua_pushvalue(L, pattern);
        lua_pushinteger(L, 1);
        lua_pushboolean(L, 1 - plain);
        lua_call(L, 4, 1);
        found = !lua_isnil(L, -1);
        lua_pop(L, 1);
    }
    return found;
}

static int t_fails(lua_State *L)
{
    (void)check_t(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 3);
    if (!lua_isnil(L, 3)) {
        (void)luaL_checkstring(L, 3);
    }
    lua_pushvalue(L, 2);
    if (lua_pcall(L, 0, 0, 0) == LUA_OK) {
        return luaL_error(L, "expected an error, but there was none");
    }
    script_pass_stop(L);
    (void)sandbox_push_text(L, 4, NULL); /* at 5 */
    if (!lua_isnil(L, 3) && !has_pattern(L, 5, 3)) {
        return luaL_error(L,
                          "the error is \"%s\", expected one with \"%s\"",
                          lua_tostring(L, 5),
                          lua_tostring(L, 3));
    }
    return 1;
}

/* -- Seeds --------------------------------------------------------------- */

/* random(...) with the source as the upvalue. */
static int draw(lua_State *L)
{
    return heddle_push_random(L, lua_touserdata(L, lua_upvalueindex(1)), 1);
}

static const struct script_class random_class = {.name = "random"};

static size_t runtime_count(const struct test_case *test_case)
{
    size_t count = 0;
    LIST_FOREACH (&test_case->runtimes, at) {
        count++;
    }
    return count;
}

static int t_seeds(lua_State *L)
{
    struct test_case *test_case = check_t(L)->test_case;
    const lua_Integer count = luaL_checkinteger(L, 2);
    luaL_argcheck(L,
                  count >= 1 && count <= SEEDS_MAX,
                  2,
                  "the number of rounds must be from 1 to 1000000");
    luaL_checktype(L, 3, LUA_TFUNCTION);
    if (test_case->heddle->frame != NULL) {
        return luaL_error(L, "seeds() cannot be called inside a run");
    }
    const size_t runtimes = runtime_count(test_case);
    for (lua_Integer i = 0; i < count; i++) {
        const uint64_t seed = test_case->seed + (uint64_t)i;
        lua_settop(L, 3);
        lua_pushvalue(L, 3);
        lua_pushinteger(L, (lua_Integer)seed);
        struct random *random =
            script_object_push(L, &random_class, sizeof *random);
        random_init(random, seed);
        lua_pushcclosure(L, draw, 1);
        const int status = lua_pcall(L, 2, 0, 0);
        script_pass_stop(L);
        if (status == LUA_OK) {
            checks_end_runtimes(test_case, runtimes);
        }
        if (status != LUA_OK || test_case->faults.length > 0) {
            const char *words = status != LUA_OK
                                    ? sandbox_push_text(L, -1, NULL)
                                    : buf_text(&test_case->faults);
            lua_pushfstring(L, "seed %I: %s", (lua_Integer)seed, words);
            buf_clear(&test_case->faults);
            return lua_error(L);
        }
    }
    return 0;
}

/* -- Faults -------------------------------------------------------------- */

/* Who did it, what, and where. */
static void write_offence(struct buf *out,
                          struct value violation,
                          const char *what)
{
    const struct value source = object_field(violation, "source");
    const struct value doc = object_field(violation, "doc");
    if (value_is_string(source)) {
        const struct text name = value_text(&source);
        buf_append(out, name.at, name.length);
    } else {
        buf_append_text(out, "a computation without a name");
    }
    const struct text id = value_text(&doc);
    buf_printf(out, " %s: at %.*s", what, (int)id.length, id.at);
    const struct value path = object_field(violation, "path");
    for (uint32_t i = 0; i < array_count(path); i++) {
        const struct value key = array_at(path, i);
        const struct text text = value_text(&key);
        buf_printf(out, "/%.*s", (int)text.length, text.at);
    }
}

static void write_difference(struct buf *out, struct value violation)
{
    static const char *const fields[] = {"before", "after"};
    write_offence(out, violation, "is not idempotent");
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct value value = object_field(violation, fields[i]);
        buf_append_text(out, i == 0 ? " a run left " : " and a second one ");
        if (value_is_absent(value)) {
            buf_append_text(out, "nothing");
        } else if (!json_write_within(out,
                                      value,
                                      JSON_CANONICAL,
                                      0,
                                      out->length + SHOWN_BYTES)) {
            buf_append_text(out, "...");
        }
    }
    buf_append_char(out, '\n');
}

static void note_violations(struct test_case *test_case,
                            const struct test_runtime *rt)
{
    for (uint32_t i = 0;
         !rt->violations_were_read && i < array_count(rt->violations);
         i++) {
        const struct value violation = array_at(rt->violations, i);
        if (value_is_text(object_field(violation, "kind"), "not-idempotent")) {
            write_difference(&test_case->faults, violation);
        } else {
            write_offence(&test_case->notes,
                          violation,
                          "writes outside its declared surface");
            buf_append_char(&test_case->notes, '\n');
        }
    }
}

/* checks-2. */
static void note_errors(struct test_case *test_case,
                        const struct test_runtime *rt)
{
    struct buf *out = &test_case->faults;
    const uint32_t count = array_count(rt->unasked);
    for (uint32_t i = 0; i < count; i++) {
        if (i == SHOWN_ERRORS) {
            buf_printf(out, "and %u more\n", (unsigned)(count - i));
            break;
        }
        const struct value error = array_at(rt->unasked, i);
        const struct value source = object_field(error, "source");
        const struct value message = object_field(error, "message");
        const struct text text = value_text(&message);
        if (value_is_string(source)) {
            const struct text name = value_text(&source);
            buf_append(out, name.at, name.length);
        } else {
            buf_append_text(out, "the runtime");
        }
        buf_printf(out,
                   " reported an error: %.*s\n",
                   (int)text.length,
                   text.at);
    }
    if (count > 0) {
        buf_append_text(out,
                        "if the test expects this, call rt:errors() after "
                        "it\n");
    }
}

void checks_note_faults(struct test_case *test_case,
                        const struct test_runtime *rt)
{
    note_errors(test_case, rt);
    note_violations(test_case, rt);
}

void checks_end_runtimes(struct test_case *test_case, size_t keep)
{
    size_t count = runtime_count(test_case);
    while (count > keep) {
        struct list_node *last = list_last(&test_case->runtimes);
        CHECK(last != NULL);
        struct test_runtime *rt = CONTAINER_OF(last, struct test_runtime, node);
        checks_note_faults(test_case, rt);
        test_runtime_end(rt);
        count--;
    }
}

/* -- The class ----------------------------------------------------------- */

static const luaL_Reg checks_methods[] = {
    {"runtime", t_runtime},
    {"engine", t_engine},
    {"cluster", t_cluster},
    {"eq", t_eq},
    {"ok", t_ok},
    {"fails", t_fails},
    {"seeds", t_seeds},
    {NULL, NULL},
};

/* There is one. */
static struct value checks_identity(void *object)
{
    (void)object;
    return value_text_new("t");
}

static const struct script_class checks_class = {
    .name = "test",
    .methods = checks_methods,
    .release = checks_release,
    .identity = checks_identity,
};

void checks_push(lua_State *L, struct test_case *test_case)
{
    struct checks *checks =
        script_object_push(L, &checks_class, sizeof *checks);
    checks->test_case = test_case;
    test_case->checks = checks;
}
