/* The methods of `p`: documents, nodes, handlers, children. */

#include "script/builders.h"

#include <string.h>

#include "base/nearest.h"
#include "runtime/piece.h"
#include "script/bodies.h"
#include "script/building.h"
#include "script/cells.h"
#include "script/collections.h"
#include "script/convert.h"
#include "script/items.h"
#include "script/migrations.h"
#include "script/nodes.h"
#include "script/patterns.h"
#include "script/reads.h"
#include "script/streams.h"
#include "script/task_bodies.h"
#include "value/array.h"

enum {
    /* A declaration costs memory that no budget of Lua counts. */
    DECLARATION_STEPS = 1000,
};

/* -- Life ---------------------------------------------------------------- */

static void object_release(void *ctx)
{
    struct builder_object *object = ctx;
    if (object->state != NULL) {
        object->state->object = NULL;
        object->state = NULL;
    }
}

void builders_end(struct building_state *state)
{
    if (state->object != NULL) {
        object_release(state->object);
    }
    for (size_t i = 0; i < COUNT_OF(state->held); i++) {
        value_unref(state->held[i]);
        state->held[i] = VALUE_NONE;
    }
}

struct value *builders_hold(struct building_state *state, size_t index)
{
    CHECK(index < COUNT_OF(state->held));
    value_unref(state->held[index]);
    state->held[index] = VALUE_NONE;
    return &state->held[index];
}

void builders_raise(lua_State *L,
                    struct building_state *state,
                    enum err err,
                    const struct err_detail *detail)
{
    state->failed = err;
    reads_raise(L, err, detail);
}

static const struct script_class builder_class;

struct builder_object *builders_check(lua_State *L)
{
    struct builder_object *object = script_object_check(L, 1, &builder_class);
    if (object->state == NULL) {
        (void)luaL_error(L,
                         "the pattern is already built: declare everything in "
                         "its function");
    }
    script_charge(L, DECLARATION_STEPS);
    if (object->lua->frame->node != NULL ||
        object->lua->frame->call.kind != FRAME_BUILD) {
        (void)luaL_error(L, "nothing can be declared inside a run");
    }
    return object;
}

/* -- Options ------------------------------------------------------------- */

struct value *builders_check_name(lua_State *L,
                                  struct building_state *state,
                                  int argument)
{
    luaL_checktype(L, argument, LUA_TSTRING);
    struct value *name = builders_hold(state, 0);
    *name = convert_check(L, argument, "the name");
    return name;
}

/* Refuses what is not among the names: a word that is wrong has no effect, and
 * nobody would notice. */
void builders_check_options(lua_State *L,
                            int index,
                            const char *const *names,
                            size_t count)
{
    if (lua_isnoneornil(L, index)) {
        return;
    }
    luaL_checktype(L, index, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        bool is_known = false;
        const char *key =
            lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        struct nearest nearest;
        nearest_begin(&nearest, key, strlen(key));
        for (size_t i = 0; i < count && !is_known; i++) {
            is_known = strcmp(key, names[i]) == 0;
            nearest_offer_text(&nearest, names[i]);
        }
        if (!is_known) {
            (void)luaL_error(L,
                             "unknown option '%s'%s",
                             key,
                             nearest_hint(&nearest));
        }
        lua_pop(L, 1);
    }
}

/* The name in the options at `index`, or absent. */
/* A string in the options at `index`, held there; or absent. */
static struct value text_option(lua_State *L,
                                struct value *held,
                                int index,
                                const char *field)
{
    if (!lua_isnoneornil(L, index)) {
        const int type = lua_getfield(L, index, field);
        if (type == LUA_TSTRING) {
            *held = convert_check(L, -1, field);
        } else if (type != LUA_TNIL) {
            (void)luaL_error(L, "%s must be a string", field);
        }
        lua_pop(L, 1);
    }
    return *held;
}

struct value builders_name_option(lua_State *L,
                                  struct building_state *state,
                                  int index,
                                  const char *field)
{
    return text_option(L, builders_hold(state, 1), index, field);
}

/* -- Documents ----------------------------------------------------------- */

/* The schema in the options at `index`, if there is one, of what is about to be
 * declared under the name. */
static void declare_schema(lua_State *L,
                           struct building_state *state,
                           struct value name,
                           int index)
{
    if (lua_isnoneornil(L, index)) {
        return;
    }
    if (lua_getfield(L, index, "schema") != LUA_TNIL) {
        struct value *held = builders_hold(state, 3);
        *held = convert_check(L, -1, "schema");
        struct err_detail detail = {0};
        const enum err err =
            builder_schema(state->builder, name, *held, &detail);
        builders_raise(L, state, err, &detail);
    }
    lua_pop(L, 1);
}

static enum scope scope_option(lua_State *L,
                               struct building_state *state,
                               int index)
{
    static const char *const names[] = {"scope", "schema"};
    builders_check_options(L, index, names, COUNT_OF(names));
    const struct value name = builders_name_option(L, state, index, "scope");
    enum scope scope = SCOPE_SPACE;
    if (!value_is_absent(name) && !scope_read(name, &scope)) {
        (void)luaL_error(L,
                         "the scope must be \"space\", \"user\" or "
                         "\"session\"");
    }
    return scope;
}

typedef enum err declare_fn(struct builder *builder,
                            const struct builder_cell *cell,
                            struct place **out,
                            struct err_detail *detail);

static int declare_cell(lua_State *L, declare_fn *declare)
{
    lua_settop(L, 4);
    const struct builder_object *p = builders_check(L);
    struct building_state *state = p->state;
    const struct value *name = builders_check_name(L, state, 2);
    const enum scope scope = scope_option(L, state, 4);
    struct value *initial = builders_hold(state, 2);
    *initial = convert_check(L, 3, "the initial value");
    const struct builder_cell cell = {
        .name = *name,
        .initial = *initial,
        .scope = scope,
    };
    declare_schema(L, state, *name, 4);
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err = declare(state->builder, &cell, &place, &detail);
    builders_raise(L, state, err, &detail);
    cells_push(L, p->lua, place);
    return 1;
}

static int p_state(lua_State *L)
{
    return declare_cell(L, builder_state);
}

static int p_arg(lua_State *L)
{
    return declare_cell(L, builder_argument);
}

/* -- Nodes --------------------------------------------------------------- */

/* The options at 4. */
static void check_node_options(lua_State *L,
                               const struct builder_object *p,
                               enum node_kind kind,
                               struct builder_node *node)
{
    const int index = 4;
    const struct lua_runtime *lua = p->lua;
    static const char *const names[] = {"reads",
                                        "writes",
                                        "envelope",
                                        "debounce",
                                        "debounce_max",
                                        "throttle",
                                        "no_auto_debounce",
                                        "label",
                                        "clearance"};
    const size_t known = COUNT_OF(names);
    builders_check_options(L,
                           index,
                           names,
                           kind == NODE_EFFECT ? known : known - 1);
    if (lua_isnoneornil(L, index)) {
        return;
    }
    if (kind == NODE_EFFECT) {
        node->clearance =
            nodes_field_clearance(L, index, builders_hold(p->state, 3));
    }
    node->read_count = nodes_check_places(L, lua, index, "reads", &node->reads);
    node->write_count =
        nodes_check_places(L, lua, index, "writes", &node->writes);
    node->envelope_count =
        nodes_check_places(L, lua, index, "envelope", &node->envelopes);
    node->debounce = nodes_field_ms(L, index, "debounce");
    node->debounce_max = nodes_field_ms(L, index, "debounce_max");
    node->throttle = nodes_field_ms(L, index, "throttle");
    node->no_auto_debounce = nodes_field_flag(L, index, "no_auto_debounce");
}

/* The name at 2, the function at 3, options at 4. What is pushed stays until
 * the declaration. */
static struct builder_node check_node(lua_State *L,
                                      const struct builder_object *p,
                                      enum node_kind kind)
{
    lua_settop(L, 4);
    struct building_state *state = p->state;
    struct builder_node node = {.name = *builders_check_name(L, state, 2)};
    luaL_checktype(L, 3, LUA_TFUNCTION);
    check_node_options(L, p, kind, &node);
    node.body =
        bodies_new(L, p->lua, builder_piece_of(state->builder), 3, node.name);
    return node;
}

/* The label in the options at 4, a word or a list of words: an array, held; or
 * absent. */
static struct value check_label(lua_State *L, const struct builder_object *p)
{
    struct value *held = builders_hold(p->state, 3);
    if (lua_isnoneornil(L, 4) || lua_getfield(L, 4, "label") == LUA_TNIL) {
        return VALUE_NONE;
    }
    *held = convert_check(L, -1, "label");
    if (value_is_string(*held)) {
        *held = array_push_adopt(value_empty_array(), *held);
    }
    bool is_list = value_is_array(*held);
    for (uint32_t i = 0; is_list && i < array_count(*held); i++) {
        is_list = value_is_string(array_at(*held, i));
    }
    if (!is_list) {
        (void)luaL_error(L, "label must be a string or a list of strings");
    }
    lua_pop(L, 1);
    return *held;
}

static int p_computed(lua_State *L)
{
    const struct builder_object *p = builders_check(L);
    lua_settop(L, 4);
    if (!lua_isnil(L, 4)) {
        luaL_checktype(L, 4, LUA_TTABLE);
    }
    const struct value label = check_label(L, p);
    const struct builder_node node = check_node(L, p, NODE_COMPUTATION);
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err =
        builder_computed(p->state->builder, &node, &place, &detail);
    builders_raise(L, p->state, err, &detail);
    if (!value_is_absent(label)) {
        bodies_set_label(&node.body, label, place);
    }
    cells_push(L, p->lua, place);
    return 1;
}

static int p_effect(lua_State *L)
{
    const struct builder_object *p = builders_check(L);
    const struct builder_node node = check_node(L, p, NODE_EFFECT);
    struct err_detail detail = {0};
    const enum err err = builder_effect(p->state->builder, &node, &detail);
    builders_raise(L, p->state, err, &detail);
    return 0;
}

static int p_handler(lua_State *L)
{
    static const char *const names[] = {"reads", "collapse", "schema"};
    lua_settop(L, 4);
    const struct builder_object *p = builders_check(L);
    struct building_state *state = p->state;
    const struct value *name = builders_check_name(L, state, 2);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    builders_check_options(L, 4, names, COUNT_OF(names));
    struct builder_handler handler = {
        .name = *name,
        .pure = true,
        .several_spaces = true,
    };
    handler.read_count = streams_check_reads(L, p->lua, &handler.reads);
    handler.collapses = streams_check_collapse(L);
    declare_schema(L, state, *name, 4);
    handler.body =
        bodies_new(L, p->lua, builder_piece_of(state->builder), 3, *name);
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err =
        builder_handler(state->builder, &handler, &place, &detail);
    builders_raise(L, state, err, &detail);
    streams_push(L, p->lua, place);
    return 1;
}

/* -- Pieces -------------------------------------------------------------- */

static int p_piece(lua_State *L)
{
    static const char *const names[] = {"name", "space"};
    lua_settop(L, 4);
    const struct builder_object *p = builders_check(L);
    struct building_state *state = p->state;
    struct pattern *pattern = patterns_check(L, 2);
    builders_check_options(L, 4, names, COUNT_OF(names));
    struct value *arguments = builders_hold(state, 2);
    *arguments = patterns_check_arguments(L, 3);
    const struct builder_child child = {
        .name = builders_name_option(L, state, 4, "name"),
        .pattern = pattern,
        .arguments = *arguments,
        .space = text_option(L, builders_hold(state, 3), 4, "space"),
    };
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err = builder_piece(state->builder, &child, &place, &detail);
    script_pass_stop(L);
    builders_raise(L, state, err, &detail);
    items_push(L, p->lua, place);
    return 1;
}

/* -- The class ----------------------------------------------------------- */

static const luaL_Reg builder_methods[] = {
    {"state", p_state},
    {"arg", p_arg},
    {"collection", collections_declare},
    {"computed", p_computed},
    {"effect", p_effect},
    {"handler", p_handler},
    {"migrate", migrations_declare},
    {"piece", p_piece},
    {"task", task_bodies_declare},
    {"map", builders_map},
    {"filter", builders_filter},
    {"flat_map", builders_flat_map},
    {"reduce", builders_reduce},
    {"if_else", builders_if_else},
    {"when", builders_when},
    {NULL, NULL},
};

/* Which one code has captured says nothing about what it does. */
static struct value object_identity(void *object)
{
    (void)object;
    return value_text_new("p");
}

static const struct script_class builder_class = {
    .name = "builder",
    .methods = builder_methods,
    .release = object_release,
    .identity = object_identity,
};

void builders_push(lua_State *L,
                   struct lua_runtime *lua,
                   struct building_state *state)
{
    struct builder_object *object =
        script_object_push(L, &builder_class, sizeof *object);
    object->lua = lua;
    object->state = state;
    state->object = object;
}
