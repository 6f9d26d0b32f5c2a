/* Operators of cells, and items. */

#include "script/items.h"

#include "script/cells.h"
#include "script/convert.h"
#include "script/reads.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Operators ----------------------------------------------------------- */

/* Pushes what is at the cell at `index`; anything else as it is. */
static void push_operand(lua_State *L, int index)
{
    struct lua_runtime *lua;
    struct place *place = cells_test(L, index, &lua);
    if (place == NULL) {
        lua_pushvalue(L, index);
    } else {
        cells_push_read(L, lua, place);
    }
}

static int arith(lua_State *L, int operation, int operands)
{
    lua_settop(L, 2);
    for (int i = 1; i <= operands; i++) {
        push_operand(L, i);
    }
    lua_arith(L, operation);
    return 1;
}

#define BINARY(name, operation)          \
    static int name(lua_State *L)        \
    {                                    \
        return arith(L, (operation), 2); \
    }

#define UNARY(name, operation)           \
    static int name(lua_State *L)        \
    {                                    \
        return arith(L, (operation), 1); \
    }

BINARY(cell_add, LUA_OPADD)
BINARY(cell_sub, LUA_OPSUB)
BINARY(cell_mul, LUA_OPMUL)
BINARY(cell_div, LUA_OPDIV)
BINARY(cell_mod, LUA_OPMOD)
BINARY(cell_pow, LUA_OPPOW)
BINARY(cell_idiv, LUA_OPIDIV)
BINARY(cell_band, LUA_OPBAND)
BINARY(cell_bor, LUA_OPBOR)
BINARY(cell_bxor, LUA_OPBXOR)
BINARY(cell_shl, LUA_OPSHL)
BINARY(cell_shr, LUA_OPSHR)
UNARY(cell_unm, LUA_OPUNM)
UNARY(cell_bnot, LUA_OPBNOT)

static int cell_concat(lua_State *L)
{
    lua_settop(L, 2);
    push_operand(L, 1);
    push_operand(L, 2);
    lua_concat(L, 2);
    return 1;
}

static int compare(lua_State *L, int operation)
{
    lua_settop(L, 2);
    push_operand(L, 1);
    push_operand(L, 2);
    lua_pushboolean(L, lua_compare(L, 3, 4, operation));
    return 1;
}

static int cell_lt(lua_State *L)
{
    return compare(L, LUA_OPLT);
}

static int cell_le(lua_State *L)
{
    return compare(L, LUA_OPLE);
}

static int cell_len(lua_State *L)
{
    lua_settop(L, 1);
    push_operand(L, 1);
    lua_len(L, 2);
    return 1;
}

static int loop(lua_State *L, const char *metamethod)
{
    lua_settop(L, 1);
    push_operand(L, 1);
    if (luaL_getmetafield(L, 2, metamethod) == LUA_TNIL) {
        return luaL_error(L,
                          "a loop needs an object or an array; the value has "
                          "the type %s",
                          luaL_typename(L, 2));
    }
    lua_insert(L, 2);
    lua_call(L, 1, 3);
    return 3;
}

static int cell_pairs(lua_State *L)
{
    return loop(L, "__pairs");
}

static int cell_ipairs(lua_State *L)
{
    return loop(L, "__ipairs");
}

#define OPERATORS                                                              \
    {"__add", cell_add}, {"__sub", cell_sub}, {"__mul", cell_mul},             \
        {"__div", cell_div}, {"__mod", cell_mod}, {"__pow", cell_pow},         \
        {"__idiv", cell_idiv}, {"__band", cell_band}, {"__bor", cell_bor},     \
        {"__bxor", cell_bxor}, {"__shl", cell_shl}, {"__shr", cell_shr},       \
        {"__unm", cell_unm}, {"__bnot", cell_bnot}, {"__concat", cell_concat}, \
        {"__lt", cell_lt}, {"__le", cell_le}, {"__len", cell_len},             \
        {"__pairs", cell_pairs},                                               \
    {                                                                          \
        "__ipairs", cell_ipairs                                                \
    }

const luaL_Reg items_operators[] = {OPERATORS, {NULL, NULL}};

/* -- Items --------------------------------------------------------------- */

void items_push(lua_State *L, struct lua_runtime *lua, struct place *place)
{
    cells_push_as(L, &item_class, lua, place);
}

void items_push_row(lua_State *L, struct lua_runtime *lua, struct place *place)
{
    cells_push_as(L, &row_class, lua, place);
}

/* Whether the data has a field of that name; nothing is noted. */
static bool has_field(struct lua_runtime *lua,
                      struct place *place,
                      const char *name,
                      size_t length)
{
    struct value whole = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = reads_whole(lua->frame,
                                     place,
                                     READ_SHAPE,
                                     READ_UNTRACKED,
                                     &whole,
                                     &detail);
    bool has = false;
    if (err == ERR_OK && value_is_object(whole)) {
        const struct value key = value_string_new(name, length);
        has = !value_is_absent(object_get(whole, key));
        value_unref(key);
    }
    value_unref(whole);
    return has;
}

/* items-1: pushes the method of that name if it is one and the data has no such
 * field. */
static bool push_method(lua_State *L,
                        struct lua_runtime *lua,
                        struct place *place)
{
    size_t length = 0;
    if (lua_type(L, 2) != LUA_TSTRING) {
        return false;
    }
    const char *name = lua_tolstring(L, 2, &length);
    const lua_CFunction method = cells_method(name);
    if (method == NULL || (lua->frame->call.kind != FRAME_BUILD &&
                           has_field(lua, place, name, length))) {
        return false;
    }
    lua_pushcfunction(L, method);
    return true;
}

static int item_index(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = cells_check(L, 1, &lua);
    if (push_method(L, lua, place)) {
        return 1;
    }
    if (lua->frame->call.kind == FRAME_BUILD) {
        (void)cells_push_below(L, &item_class, lua, place, 2); /* items-4 */
        return 1;
    }
    cells_push_read(L, lua, place);
    if (view_is(L, -1)) {
        lua_pushvalue(L, 2);
        (void)lua_gettable(L, -2);
    } else if (!lua_isnil(L, -1)) {
        const char *type = luaL_typename(L, -1);
        return luaL_error(L,
                          "the element is a %s and has no field %s",
                          type,
                          luaL_tolstring(L, 2, NULL));
    }
    return 1;
}

static int item_newindex(lua_State *L)
{
    return luaL_error(L,
                      "an element is written with its methods: use "
                      "item:key(\"%s\"):set(value)",
                      luaL_tolstring(L, 2, NULL));
}

static enum err item_value(void *object,
                           struct value *out,
                           struct err_detail *detail)
{
    struct lua_runtime *lua;
    struct place *place = cells_of(object, &lua);
    if (place == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the runtime of this cell has ended");
    }
    if (lua->frame->call.kind == FRAME_BUILD) {
        *out = cell_link(place, NULL);
        return ERR_OK;
    }
    return reads_whole(lua->frame,
                       place,
                       READ_DEEP,
                       READ_FOR_BOTH,
                       out,
                       detail);
}

/* Two values in the hands of Lua. */
struct operands {
    struct value at[2];
};

static void operands_release(void *object)
{
    struct operands *operands = object;
    value_unref(operands->at[0]);
    value_unref(operands->at[1]);
    *operands = (struct operands){0};
}

static const struct script_class operands_class = {
    .name = "operands",
    .release = operands_release,
};

static int item_eq(lua_State *L)
{
    struct lua_runtime *lua_runtimes[2];
    const struct place *a = cells_test(L, 1, &lua_runtimes[0]);
    const struct place *b = cells_test(L, 2, &lua_runtimes[1]);
    if (a == NULL || b == NULL || a == b) {
        lua_pushboolean(L, a != NULL && a == b);
        return 1;
    }
    struct operands *operands =
        script_object_push(L, &operands_class, sizeof *operands);
    for (int i = 0; i < 2; i++) {
        struct err_detail detail = {0};
        const enum err err =
            item_value(lua_touserdata(L, i + 1), &operands->at[i], &detail);
        reads_raise(L, err, &detail);
    }
    lua_pushboolean(L,
                    !value_is_absent(operands->at[0]) &&
                        value_equal(operands->at[0], operands->at[1]));
    return 1;
}

static int item_tostring(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = cells_check(L, 1, &lua);
    if (lua->frame->call.kind == FRAME_BUILD) {
        lua_pushstring(L, "item");
        return 1;
    }
    cells_push_read(L, lua, place);
    (void)luaL_tolstring(L, -1, NULL);
    return 1;
}

static const luaL_Reg item_metamethods[] = {
    OPERATORS,
    {"__index", item_index},
    {"__newindex", item_newindex},
    {"__eq", item_eq},
    {"__tostring", item_tostring},
    {NULL, NULL},
};

const struct script_class item_class = {
    .name = "item",
    .metamethods = item_metamethods,
    .release = cells_release,
    .value = item_value,
    .identity = cells_identity,
};

static enum err row_value(void *object,
                          struct value *out,
                          struct err_detail *detail)
{
    struct lua_runtime *lua;
    struct place *place = cells_of(object, &lua);
    const struct run *run = place != NULL ? lua->frame->call.access.run : NULL;
    if (run == NULL || run->handling != NULL ||
        run->node->kind != NODE_COMPUTATION) {
        return item_value(object, out, detail);
    }
    *out = cell_link(place, NULL);
    return ERR_OK;
}

const struct script_class row_class = {
    .name = "row",
    .metamethods = item_metamethods,
    .release = cells_release,
    .value = row_value,
    .identity = cells_identity,
};
