/* pairs and next in an order that is the same in every process (sandbox-1).
 *
 * pairs takes the keys of a table at its beginning and sorts them: a loop may
 * change the table as it likes, what is gone when its turn comes is left out,
 * what is new is not visited. next has nothing to remember, so each step looks
 * at all keys for the one that follows: fine to ask whether a table is empty,
 * slow for a loop. */

#include <lauxlib.h>
#include <string.h>

#include "base/check.h"
#include "base/heap.h"
#include "script/sandbox.h"

enum key_class {
    KEY_INTEGER,
    KEY_FLOAT,
    KEY_STRING,
    KEY_FALSE,
    KEY_TRUE,
    KEY_OTHER, /* without an order: as Lua has them */
};

/* A key as far as its order goes. A string is borrowed from the table. */
struct key {
    enum key_class class;
    uint32_t position; /* in which Lua gave it */
    union {
        lua_Integer integer;
        lua_Number real;
        struct {
            const char *at;
            size_t length;
        } text;
    };
};

static struct key key_at(lua_State *L, int index)
{
    struct key key = {.class = KEY_OTHER};
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) {
            key.class = KEY_INTEGER;
            key.integer = lua_tointeger(L, index);
        } else {
            key.class = KEY_FLOAT;
            key.real = lua_tonumber(L, index);
        }
        break;
    case LUA_TSTRING:
        key.class = KEY_STRING;
        key.text.at = lua_tolstring(L, index, &key.text.length);
        break;
    case LUA_TBOOLEAN:
        key.class = lua_toboolean(L, index) != 0 ? KEY_TRUE : KEY_FALSE;
        break;
    default:
        break;
    }
    return key;
}

static int text_compare(const struct key *a, const struct key *b)
{
    const bool a_is_shorter = a->text.length < b->text.length;
    const size_t shared = a_is_shorter ? a->text.length : b->text.length;
    const int order = memcmp(a->text.at, b->text.at, shared);
    if (order != 0 || a->text.length == b->text.length) {
        return order;
    }
    return a_is_shorter ? -1 : 1;
}

/* Keys of one table are never equal, so neither are two keys here, unless they
 * have no order. */
static bool key_is_before(const struct key *a, const struct key *b)
{
    if (a->class != b->class) {
        return a->class < b->class;
    }
    switch (a->class) {
    case KEY_INTEGER:
        return a->integer < b->integer;
    case KEY_FLOAT:
        return a->real < b->real;
    case KEY_STRING:
        return text_compare(a, b) < 0;
    case KEY_FALSE:
    case KEY_TRUE:
        return false;
    case KEY_OTHER:
        return a->position < b->position;
    }
    return false;
}

/* -- Sorting ------------------------------------------------------------- */

static bool is_behind(const void *items, size_t a, size_t b)
{
    const struct key *keys = items;
    return key_is_before(&keys[b], &keys[a]);
}

static void swap_keys(void *items, size_t a, size_t b)
{
    struct key *keys = items;
    const struct key moved = keys[a];
    keys[a] = keys[b];
    keys[b] = moved;
}

/* In place: the order is total, so any sort gives the same. Most tables come
 * sorted: lists do. */
static void sort(struct key *keys, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && key_is_before(&keys[sorted - 1], &keys[sorted])) {
        sorted++;
    }
    if (sorted >= count) {
        return;
    }
    heap_sort(keys, count, is_behind, swap_keys);
}

static uint64_t log2_of(uint64_t count)
{
    return count > 1 ? 64 - (uint64_t)__builtin_clzll(count) : 1;
}

/* -- pairs --------------------------------------------------------------- */

/* Counts the entries of the table at index 1, and charges for sorting them. */
static uint32_t count_entries(lua_State *L)
{
    uint64_t count = 0;
    uint64_t bytes = 0;
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        count++;
        if (lua_type(L, -1) == LUA_TSTRING) {
            bytes += lua_rawlen(L, -1);
        }
    }
    script_charge(L, count * log2_of(count) / 4 + 1);
    script_charge_bytes(L, bytes * log2_of(count));
    CHECK(count < UINT32_MAX);
    return (uint32_t)count;
}

/* The upvalues of an iterator: the sorted order, a table that holds the keys in
 * the order of Lua, and how many were visited. */
enum {
    ITERATOR_ORDER = 1,
    ITERATOR_KEYS,
    ITERATOR_VISITED,
};

static int pairs_next(lua_State *L)
{
    const int order_at = lua_upvalueindex(ITERATOR_ORDER);
    const struct key *order = lua_touserdata(L, order_at);
    const size_t count = lua_rawlen(L, order_at) / sizeof *order;
    size_t visited =
        (size_t)lua_tointeger(L, lua_upvalueindex(ITERATOR_VISITED));
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    while (visited < count) {
        (void)lua_rawgeti(L,
                          lua_upvalueindex(ITERATOR_KEYS),
                          (lua_Integer)order[visited].position + 1);
        visited++;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 1) != LUA_TNIL) {
            lua_pushinteger(L, (lua_Integer)visited);
            lua_replace(L, lua_upvalueindex(ITERATOR_VISITED));
            return 2;
        }
        lua_pop(L, 2);
    }
    lua_pushinteger(L, (lua_Integer)visited);
    lua_replace(L, lua_upvalueindex(ITERATOR_VISITED));
    lua_pushnil(L);
    return 1;
}

int sandbox_raw_pairs(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    const uint32_t count = count_entries(L);
    struct key *order = lua_newuserdatauv(L, count * sizeof *order, 0);
    lua_createtable(L, (int)count, 0);
    uint32_t position = 0;
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        order[position] = key_at(L, -1);
        order[position].position = position;
        position++;
        lua_pushvalue(L, -1);
        lua_rawseti(L, 3, (lua_Integer)position);
    }
    CHECK(position == count);
    sort(order, count);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, pairs_next, 3);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

static int do_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") == LUA_TNIL) {
        return sandbox_raw_pairs(L);
    }
    lua_pushvalue(L, 1);
    lua_call(L, 1, 3);
    return 3;
}

/* -- next ---------------------------------------------------------------- */

/* The least key of the table at index 1 that is after `floor`, which may be
 * NULL; pushes it. False, and pushes nothing, if there is none. */
static bool push_least(lua_State *L, const struct key *floor)
{
    struct key least;
    uint64_t looked = 0;
    bool found = false;
    lua_pushnil(L); /* the place of the result */
    const int result = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        looked++;
        const struct key key = key_at(L, -1);
        if (key.class == KEY_OTHER ||
            (floor != NULL && !key_is_before(floor, &key))) {
            continue;
        }
        if (!found || key_is_before(&key, &least)) {
            least = key;
            found = true;
            lua_pushvalue(L, -1);
            lua_replace(L, result);
        }
    }
    if (!found) {
        lua_pop(L, 1);
    }
    script_charge(L, looked / 4 + 1);
    return found;
}

/* The first key without an order after the one on top, which it replaces. */
static bool push_other(lua_State *L)
{
    uint64_t looked = 0;
    bool found = false;
    while (!found && lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        looked++;
        found = key_at(L, -1).class == KEY_OTHER;
    }
    script_charge(L, looked / 4 + 1);
    return found;
}

static int do_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    bool found = false;
    if (lua_isnil(L, 2)) {
        found = push_least(L, NULL);
    } else {
        const struct key floor = key_at(L, 2);
        if (floor.class == KEY_OTHER) {
            found = push_other(L);
        } else {
            found = push_least(L, &floor);
        }
    }
    if (!found && (lua_isnil(L, 2) || key_at(L, 2).class != KEY_OTHER)) {
        lua_settop(L, 2);
        lua_pushnil(L);
        found = push_other(L);
    }
    if (!found) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushvalue(L, -1);
    (void)lua_rawget(L, 1);
    return 2;
}

void sandbox_add_order(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"next", do_next},
        {"pairs", do_pairs},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
