/* The walk over two values. It recurses, one level per level of nesting, and
 * a limit on that ends a walk through tables that contain themselves. */

#include "luatest/equal.h"

#include <lauxlib.h>

#include "base/limits.h"
#include "script/convert.h"

/* What a table or a key takes of the Lua stack at one level. */
enum {
    LEVEL_SLOTS = 12,
};

struct walk {
    lua_State *L;
    struct buf *where;
    unsigned depth;
};

/* A value in the hands of Lua. */
struct held {
    struct value value;
};

static void held_release(void *object)
{
    struct held *held = object;
    value_unref(held->value);
    held->value = VALUE_NONE;
}

static const struct script_class held_class = {
    .name = "value",
    .release = held_release,
};

/* Pushes what stands at `index`: of an object that has a value, that value. */
static void push_plain(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TUSERDATA) {
        lua_pushvalue(L, index);
        return;
    }
    struct held *held = script_object_push(L, &held_class, sizeof *held);
    struct err_detail detail = {0};
    if (convert_read(L, index, "it", NULL, &held->value, &detail) == ERR_OK) {
        convert_push(L, held->value);
    } else {
        lua_pushvalue(L, index);
    }
    lua_remove(L, -2);
}

static bool is_same(lua_State *L, int left, int right)
{
    if (lua_rawequal(L, left, right) != 0 ||
        lua_compare(L, left, right, LUA_OPEQ) != 0) {
        return true;
    }
    return lua_type(L, left) == LUA_TNUMBER &&
           lua_type(L, right) == LUA_TNUMBER &&
           lua_compare(L, left, left, LUA_OPEQ) == 0 &&
           lua_compare(L, right, right, LUA_OPEQ) == 0;
}

/* Appends the key on top to the place: ["x"] is written "x", which is shorter
 * and not mistaken for a position. */
static void note_key(struct walk *walk, int key)
{
    lua_State *L = walk->L;
    lua_pushvalue(L, key); /* conversion would change the key itself */
    size_t length = 0;
    const bool is_text = lua_type(L, -1) == LUA_TSTRING;
    const char *text = luaL_tolstring(L, -1, &length);
    buf_append_char(walk->where, (char)(is_text ? '"' : '['));
    buf_append(walk->where, text, length);
    buf_append_char(walk->where, (char)(is_text ? '"' : ']'));
    lua_pop(L, 2);
}

static bool is_empty(lua_State *L, int table)
{
    lua_pushnil(L);
    if (lua_next(L, table) == 0) {
        return true;
    }
    lua_pop(L, 2);
    return false;
}

/* Both empty: whether their kinds agree, as far as they are known. */
static bool kinds_agree(lua_State *L, int left, int right)
{
    const enum convert_kind one = convert_kind(L, left);
    const enum convert_kind other = convert_kind(L, right);
    return one == other || one == CONVERT_UNTAGGED || other == CONVERT_UNTAGGED;
}

/* NOLINTBEGIN(misc-no-recursion): equal_at counts its depth */

static bool equal_at(struct walk *walk, int left, int right);

/* Whether what `left` has under its keys is there in `right`, too. Leaves the
 * two values that differ on top. */
static bool equal_fields(struct walk *walk, int left, int right)
{
    lua_State *L = walk->L;
    lua_pushnil(L);
    while (lua_next(L, left) != 0) {
        const int value = lua_gettop(L);
        const size_t length = walk->where->length;
        note_key(walk, value - 1);
        lua_pushvalue(L, value - 1);
        (void)lua_rawget(L, right);
        if (!equal_at(walk, value, value + 1)) {
            return false;
        }
        walk->where->length = length;
        lua_settop(L, value - 1);
    }
    return true;
}

/* Whether `right` has no key that `left` has not. */
static bool has_no_more(struct walk *walk, int left, int right)
{
    lua_State *L = walk->L;
    lua_pushnil(L);
    while (lua_next(L, right) != 0) {
        const int value = lua_gettop(L);
        lua_pushvalue(L, value - 1);
        if (lua_rawget(L, left) == LUA_TNIL) {
            note_key(walk, value - 1);
            lua_insert(L, -2); /* nil, and what `right` has */
            return false;
        }
        lua_settop(L, value - 1);
    }
    return true;
}

static bool equal_tables(struct walk *walk, int left, int right)
{
    lua_State *L = walk->L;
    if (is_empty(L, left) && is_empty(L, right)) {
        return kinds_agree(L, left, right);
    }
    return equal_fields(walk, left, right) && has_no_more(walk, left, right);
}

/* If they differ, the two that do are on top. */
static bool equal_at(struct walk *walk, int left, int right)
{
    lua_State *L = walk->L;
    luaL_checkstack(L, LEVEL_SLOTS, "the values are nested too deeply");
    push_plain(L, left);
    push_plain(L, right);
    const int other = lua_gettop(L);
    const int one = other - 1;
    if (is_same(L, one, other)) {
        return true;
    }
    if (lua_type(L, one) != LUA_TTABLE || lua_type(L, other) != LUA_TTABLE) {
        return false;
    }
    if (walk->depth >= LIMIT_DEPTH) {
        (void)luaL_error(L,
                         "the tables are nested too deeply to be compared, or "
                         "one contains itself");
    }
    walk->depth++;
    const bool same = equal_tables(walk, one, other);
    walk->depth--;
    return same;
}

/* NOLINTEND(misc-no-recursion) */

bool equal_deep(lua_State *L, int left, int right, struct buf *where)
{
    struct walk walk = {.L = L, .where = where};
    const int top = lua_gettop(L);
    const bool same =
        equal_at(&walk, lua_absindex(L, left), lua_absindex(L, right));
    if (same) {
        lua_settop(L, top);
    }
    return same;
}
