/* The table library. Lua's own works through ranges that metamethods or
 * arguments name, in loops that no hook sees; here each element costs a step.
 * sort is a merge sort: stable, and the same whatever the clock says. */

#include <lauxlib.h>

#include "script/sandbox.h"

/* A table, or what behaves like one. */
static void check_list(lua_State *L, int argument)
{
    if (lua_type(L, argument) == LUA_TTABLE) {
        return;
    }
    if (luaL_getmetafield(L, argument, "__index") == LUA_TNIL) {
        (void)luaL_typeerror(L, argument, "table");
    }
    lua_pop(L, 1);
}

static lua_Integer check_length(lua_State *L, int argument)
{
    check_list(L, argument);
    return luaL_len(L, argument);
}

static void copy_element(lua_State *L,
                         int from,
                         lua_Integer from_at,
                         int to,
                         lua_Integer to_at)
{
    script_charge(L, 1);
    (void)lua_geti(L, from, from_at);
    lua_seti(L, to, to_at);
}

static int do_insert(lua_State *L)
{
    const lua_Integer after =
        (lua_Integer)((lua_Unsigned)check_length(L, 1) + 1);
    lua_Integer position = after;
    const int count = lua_gettop(L);
    if (count == 3) {
        position = luaL_checkinteger(L, 2);
        luaL_argcheck(L,
                      (lua_Unsigned)position - 1 < (lua_Unsigned)after,
                      2,
                      "position out of bounds");
        for (lua_Integer i = after; i > position; i--) {
            copy_element(L, 1, i - 1, 1, i);
        }
    } else if (count != 2) {
        return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    lua_seti(L, 1, position);
    return 0;
}

static int do_remove(lua_State *L)
{
    const lua_Integer length = check_length(L, 1);
    lua_Integer position = luaL_optinteger(L, 2, length);
    if (lua_gettop(L) > 1) {
        luaL_argcheck(L,
                      (lua_Unsigned)length + 1 - (lua_Unsigned)position <=
                          (lua_Unsigned)length,
                      2,
                      "position out of bounds");
    }
    (void)lua_geti(L, 1, position);
    for (; position < length; position++) {
        copy_element(L, 1, position + 1, 1, position);
    }
    lua_pushnil(L);
    lua_seti(L, 1, position);
    return 1;
}

static int do_move(lua_State *L)
{
    const lua_Integer first = luaL_checkinteger(L, 2);
    const lua_Integer last = luaL_checkinteger(L, 3);
    const lua_Integer target = luaL_checkinteger(L, 4);
    const int to = lua_isnoneornil(L, 5) ? 1 : 5;
    check_list(L, 1);
    check_list(L, to);
    if (last >= first) {
        luaL_argcheck(L,
                      first > 0 || last < LUA_MAXINTEGER + first,
                      3,
                      "too many elements to move");
        const lua_Integer count = last - first + 1;
        luaL_argcheck(L,
                      target <= LUA_MAXINTEGER - count + 1,
                      4,
                      "destination wrap around");
        /* Backwards where the target would overwrite what comes later. */
        const bool is_apart = target > last || target <= first ||
                              (to != 1 && lua_rawequal(L, 1, to) == 0);
        for (lua_Integer i = 0; i < count; i++) {
            const lua_Integer offset = is_apart ? i : count - 1 - i;
            copy_element(L, 1, first + offset, to, target + offset);
        }
    }
    lua_pushvalue(L, to);
    return 1;
}

static int do_concat(lua_State *L)
{
    const lua_Integer length = check_length(L, 1);
    size_t between_length = 0;
    const char *between = luaL_optlstring(L, 2, "", &between_length);
    const lua_Integer first = luaL_optinteger(L, 3, 1);
    const lua_Integer last = luaL_optinteger(L, 4, length);
    size_t expected = 65536;
    luaL_Buffer to;
    luaL_buffinit(L, &to);
    for (lua_Integer i = first; i <= last; i++) {
        script_charge(L, 1);
        script_expect_growth(L, &expected, luaL_bufflen(&to));
        (void)lua_geti(L, 1, i);
        if (lua_isstring(L, -1) == 0) {
            return luaL_error(L,
                              "invalid value (a %s) at index %d in table for "
                              "'concat'",
                              luaL_typename(L, -1),
                              (int)i);
        }
        luaL_addvalue(&to);
        if (i == last) {
            break; /* i + 1 may not exist */
        }
        luaL_addlstring(&to, between, between_length);
    }
    luaL_pushresult(&to);
    return 1;
}

static int do_pack(lua_State *L)
{
    const int count = lua_gettop(L);
    lua_createtable(L, count, 1);
    lua_insert(L, 1);
    for (int i = count; i >= 1; i--) {
        lua_seti(L, 1, i);
    }
    lua_pushinteger(L, count);
    lua_setfield(L, 1, "n");
    return 1;
}

static int do_unpack(lua_State *L)
{
    const lua_Integer first = luaL_optinteger(L, 2, 1);
    const lua_Integer last =
        lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
    if (first > last) {
        return 0;
    }
    const lua_Unsigned more = (lua_Unsigned)last - (lua_Unsigned)first;
    /* Newer versions of Lua allocate before they find that it is too much. */
    if (more >= LUAI_MAXSTACK || lua_checkstack(L, (int)more + 1) == 0) {
        return luaL_error(L, "too many results to unpack");
    }
    script_charge(L, more);
    for (lua_Unsigned i = 0; i <= more; i++) {
        (void)lua_geti(L, 1, (lua_Integer)((lua_Unsigned)first + i));
    }
    return (int)more + 1;
}

/* -- sort ---------------------------------------------------------------- */

/* The stack of a sort: the list, the comparison or nil, and two arrays of our
 * own between which the runs are merged. */
enum {
    SORT_LIST = 1,
    SORT_LESS,
    SORT_FROM,
    SORT_TO,
};

/* Whether the value on top is before the one below it. */
static bool top_is_less(lua_State *L)
{
    script_charge(L, 1);
    if (lua_isnil(L, SORT_LESS)) {
        return lua_compare(L, -1, -2, LUA_OPLT) != 0;
    }
    lua_pushvalue(L, SORT_LESS);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -4);
    lua_call(L, 2, 1);
    const bool is_less = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    return is_less;
}

/* Merges from[first .. middle) and from[middle .. end) into `to`; of equal
 * elements the left comes first. */
static void merge(lua_State *L,
                  int from,
                  int to,
                  lua_Integer first,
                  lua_Integer middle,
                  lua_Integer end)
{
    lua_Integer left = first;
    lua_Integer right = middle;
    for (lua_Integer at = first; at < end; at++) {
        bool take_right = left == middle;
        if (left < middle && right < end) {
            (void)lua_rawgeti(L, from, left);
            (void)lua_rawgeti(L, from, right);
            take_right = top_is_less(L);
            lua_pop(L, 2);
        }
        script_charge(L, 1);
        (void)lua_rawgeti(L, from, take_right ? right++ : left++);
        lua_rawseti(L, to, at);
    }
}

static int do_sort(lua_State *L)
{
    const lua_Integer length = check_length(L, SORT_LIST);
    luaL_argcheck(L, length < INT32_MAX, 1, "array too big");
    if (!lua_isnoneornil(L, SORT_LESS)) {
        luaL_checktype(L, SORT_LESS, LUA_TFUNCTION);
    }
    lua_settop(L, SORT_LESS);
    if (length < 2) {
        return 0;
    }
    script_charge(L, (uint64_t)length);
    script_expect_memory(L, (uint64_t)length * 32);
    lua_createtable(L, (int)length, 0);
    lua_createtable(L, (int)length, 0);
    for (lua_Integer i = 1; i <= length; i++) {
        (void)lua_geti(L, SORT_LIST, i);
        lua_rawseti(L, SORT_FROM, i);
    }
    int from = SORT_FROM;
    int to = SORT_TO;
    for (lua_Integer run = 1; run < length; run *= 2) {
        for (lua_Integer first = 1; first <= length; first += 2 * run) {
            const lua_Integer middle =
                first + run <= length ? first + run : length + 1;
            const lua_Integer end =
                middle + run <= length ? middle + run : length + 1;
            merge(L, from, to, first, middle, end);
        }
        from = from == SORT_FROM ? SORT_TO : SORT_FROM;
        to = to == SORT_FROM ? SORT_TO : SORT_FROM;
    }
    for (lua_Integer i = 1; i <= length; i++) {
        (void)lua_rawgeti(L, from, i);
        lua_seti(L, SORT_LIST, i);
    }
    return 0;
}

void sandbox_add_tables(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"concat", do_concat},
        {"insert", do_insert},
        {"move", do_move},
        {"pack", do_pack},
        {"remove", do_remove},
        {"sort", do_sort},
        {"unpack", do_unpack},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
