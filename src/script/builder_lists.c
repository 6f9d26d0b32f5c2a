/* p:map, p:filter, p:flat_map, p:reduce, p:if_else, p:when.
 *
 * Where a cell is expected, a function stands for a computation of that
 * function, and any other value for itself. */

#include "base/mem.h"
#include "runtime/choice.h"
#include "runtime/list.h"
#include "runtime/piece.h"
#include "script/bodies.h"
#include "script/building.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/elements.h"
#include "script/streams.h"
#include "value/json.h"

enum {
    HELD_NAME = 0,
    HELD_OPTION = 1,
    HELD_VALUE = 2,
    HELD_PART = 3, /* the name of what stands for an argument */
};

/* -- Values that stand for cells ----------------------------------------- */

struct constant {
    struct value value;
    struct digest fingerprint;
};

static enum run_result run_constant(struct run *run,
                                    void *ctx,
                                    struct value *result)
{
    (void)run;
    *result = value_ref(((const struct constant *)ctx)->value);
    return RUN_DONE;
}

static void constant_release(void *ctx)
{
    struct constant *constant = ctx;
    value_unref(constant->value);
    mem_free(constant, sizeof *constant);
}

/* Adopts the value. */
static struct body constant_body(struct value value)
{
    struct constant *constant = mem_alloc_zero(sizeof *constant);
    struct buf text = {0};
    if (!value_is_absent(value)) {
        json_write(&text, value, JSON_CANONICAL, 0);
    }
    constant->value = value;
    constant->fingerprint =
        digest_of_bytes("heddle constant 1", buf_text(&text), text.length);
    buf_release(&text);
    return (struct body){
        .run = run_constant,
        .ctx = constant,
        .release = constant_release,
        .fingerprint = &constant->fingerprint,
    };
}

/* The place of the argument, borrowed from its cell or from the piece. */
struct place *builders_check_place(lua_State *L,
                                   const struct builder_object *p,
                                   int argument,
                                   const char *stem)
{
    struct building_state *state = p->state;
    struct lua_runtime *lua = NULL;
    struct place *place = cells_test(L, argument, &lua);
    if (place == NULL) {
        place = streams_test(L, argument, &lua);
    }
    if (place != NULL) {
        luaL_argcheck(L,
                      lua == p->lua,
                      argument,
                      "the cell belongs to another runtime");
        return place;
    }
    struct value *name = builders_hold(state, HELD_PART);
    *name = builder_number(state->builder, stem);
    const struct builder_node node = {
        .name = *name,
        .body = lua_isfunction(L, argument)
                    ? bodies_new(L,
                                 p->lua,
                                 builder_piece_of(state->builder),
                                 argument,
                                 *name)
                    : constant_body(convert_check(L, argument, "the value")),
    };
    struct err_detail detail = {0};
    const enum err err =
        builder_computed(state->builder, &node, &place, &detail);
    builders_raise(L, state, err, &detail);
    return place;
}

/* The name in the options at an index, or one with a number. */
static struct value own_name(lua_State *L,
                             const struct builder_object *p,
                             int options,
                             const char *stem)
{
    struct building_state *state = p->state;
    const struct value given = builders_name_option(L, state, options, "name");
    struct value *name = builders_hold(state, HELD_NAME);
    *name = value_is_absent(given) ? builder_number(state->builder, stem)
                                   : value_ref(given);
    return *name;
}

static struct value check_own_name(lua_State *L,
                                   const struct builder_object *p,
                                   int options,
                                   const char *stem)
{
    static const char *const names[] = {"name"};
    builders_check_options(L, options, names, COUNT_OF(names));
    return own_name(L, p, options, stem);
}

static int push_cell(lua_State *L,
                     const struct builder_object *p,
                     enum err err,
                     struct place *place,
                     const struct err_detail *detail)
{
    builders_raise(L, p->state, err, detail);
    cells_push(L, p->lua, place);
    return 1;
}

/* -- Lists --------------------------------------------------------------- */

typedef enum err list_fn(struct builder *builder,
                         const struct builder_list *list,
                         struct place **out,
                         struct err_detail *detail);

/* The options of a list are at 4. */
static struct value check_list_name(lua_State *L,
                                    const struct builder_object *p,
                                    const char *stem)
{
    static const char *const names[] = {"name", "key"};
    builders_check_options(L, 4, names, COUNT_OF(names));
    return own_name(L, p, 4, stem);
}

static const struct value *check_key(lua_State *L,
                                     const struct builder_object *p)
{
    struct value *key = builders_hold(p->state, HELD_VALUE);
    *key = value_ref(builders_name_option(L, p->state, 4, "key"));
    return key;
}

static int declare_list(lua_State *L, list_fn *declare, const char *stem)
{
    lua_settop(L, 4);
    struct builder_object *p = builders_check(L);
    luaL_argcheck(L, !lua_isnil(L, 2), 2, "a list is missing");
    luaL_checktype(L, 3, LUA_TFUNCTION);
    const bool declares = elements_declares(L, p, 3);
    if (declares && declare != builder_map) {
        return luaL_error(L,
                          "the function of p:%s returns a value and cannot use "
                          "p: only the function of p:map can declare pieces",
                          stem);
    }
    struct builder_list list = {
        .name = check_list_name(L, p, stem),
        .key = *check_key(L, p),
    };
    list.list = builders_check_place(L, p, 2, "list");
    list.body = declares
                    ? elements_new(L, p, 3)
                    : bodies_new_element(L,
                                         p->lua,
                                         builder_piece_of(p->state->builder),
                                         3,
                                         list.name);
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err = declare(p->state->builder, &list, &place, &detail);
    return push_cell(L, p, err, place, &detail);
}

int builders_map(lua_State *L)
{
    return declare_list(L, builder_map, "map");
}

int builders_filter(lua_State *L)
{
    return declare_list(L, builder_filter, "filter");
}

int builders_flat_map(lua_State *L)
{
    return declare_list(L, builder_flat_map, "flat_map");
}

/* p:reduce(list, initial, fn) or p:reduce(list, fn, initial). */
int builders_reduce(lua_State *L)
{
    lua_settop(L, 5);
    const struct builder_object *p = builders_check(L);
    luaL_argcheck(L, !lua_isnil(L, 2), 2, "a list is missing");
    const int function = lua_isfunction(L, 3) ? 3 : 4;
    luaL_checktype(L, function, LUA_TFUNCTION);
    struct value *initial = builders_hold(p->state, HELD_VALUE);
    *initial = convert_check(L, 7 - function, "the initial value");
    luaL_argcheck(L,
                  !value_is_absent(*initial),
                  7 - function,
                  "an initial value is missing");
    struct builder_reduce reduce = {
        .name = check_own_name(L, p, 5, "reduce"),
        .initial = *initial,
    };
    reduce.list = builders_check_place(L, p, 2, "list");
    bodies_new_reduce(L,
                      p->lua,
                      builder_piece_of(p->state->builder),
                      function,
                      &reduce);
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err =
        builder_reduce(p->state->builder, &reduce, &place, &detail);
    return push_cell(L, p, err, place, &detail);
}

/* -- Choices ------------------------------------------------------------- */

int builders_if_else(lua_State *L)
{
    lua_settop(L, 5);
    const struct builder_object *p = builders_check(L);
    struct builder_choice choice = {.name = check_own_name(L, p, 5, "if")};
    choice.condition = builders_check_place(L, p, 2, "condition");
    choice.then = builders_check_place(L, p, 3, "then");
    choice.otherwise = builders_check_place(L, p, 4, "else");
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err =
        builder_if_else(p->state->builder, &choice, &place, &detail);
    return push_cell(L, p, err, place, &detail);
}

int builders_when(lua_State *L)
{
    lua_settop(L, 4);
    const struct builder_object *p = builders_check(L);
    struct builder_choice choice = {.name = check_own_name(L, p, 4, "when")};
    choice.condition = builders_check_place(L, p, 2, "condition");
    choice.then = builders_check_place(L, p, 3, "then");
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err =
        builder_when(p->state->builder, &choice, &place, &detail);
    return push_cell(L, p, err, place, &detail);
}
