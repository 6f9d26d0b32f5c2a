/* Nodes of Lua code: registering them, running them, asking them. */

#include "script/nodes.h"
#include "script/building.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/piece.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "script/bodies.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/reads.h"
#include "script/transactions.h"
#include "value/array.h"
#include "value/label.h"
#include "value/object.h"

/* Held by the scheduler, as long as the node is there, and by Lua. */
struct lua_runtime_node {
    uint32_t refs;
    struct script *script;
    struct lua_runtime *lua; /* NULL: the node is gone, or was never there */
    struct node *node;       /* likewise */
    struct script_function function;
    struct place *sink; /* of rt:sink: what it reads; or NULL */
    struct recorded recorded;
    uint64_t runs;             /* when it went, */
    enum node_status ended_as; /* and its status */
};

/* One of these: a node of Lua code, or a part of a piece by its name. */
struct node_object {
    struct lua_runtime_node *node;
    struct binding binding; /* of the piece */
    struct piece *piece;
    struct value name;
    uint32_t ordinal; /* when it was last there, */
    bool found;       /* if it ever was, */
    uint64_t runs;    /* when this was last asked */
};

static void node_unref(struct lua_runtime_node *node)
{
    if (--node->refs == 0) {
        script_function_release(node->script, &node->function);
        mem_free(node, sizeof *node);
    }
}

/* The scheduler lets go of it. */
static void node_gone(void *ctx)
{
    struct lua_runtime_node *node = ctx;
    node->runs = lua_runtime_runs(node->lua, node->node->ordinal);
    node->ended_as = node->node->status;
    script_function_release(node->script, &node->function);
    if (node->sink != NULL) {
        place_unref(node->sink);
        node->sink = NULL;
    }
    node->node = NULL;
    node->lua = NULL;
    node_unref(node);
}

static void object_cut(struct binding *binding)
{
    struct node_object *object =
        CONTAINER_OF(binding, struct node_object, binding);
    if (object->piece != NULL) {
        piece_unref(object->piece);
        object->piece = NULL;
    }
}

static void object_release(void *ctx)
{
    struct node_object *object = ctx;
    if (object->node != NULL) {
        node_unref(object->node);
        object->node = NULL;
    }
    binding_untie(&object->binding);
    object_cut(&object->binding);
    value_unref(object->name);
    object->name = VALUE_NONE;
}

/* The node that is meant, or NULL: it is gone. */
static struct node *node_at(struct node_object *object)
{
    if (object->node != NULL) {
        return object->node->node;
    }
    struct node *node = object->piece != NULL && object->piece->runtime != NULL
                            ? piece_node(object->piece, object->name)
                            : NULL;
    if (node != NULL) {
        object->ordinal = node->ordinal;
        object->found = true;
    }
    return node;
}

static struct lua_runtime *lua_runtime_at(const struct node_object *object)
{
    return object->node != NULL ? object->node->lua : object->binding.lua;
}

static uint64_t runs_at(struct node_object *object)
{
    const struct node *node = node_at(object);
    const struct lua_runtime *lua = lua_runtime_at(object);
    if (object->node != NULL) {
        return lua != NULL ? lua_runtime_runs(lua, node->ordinal)
                           : object->node->runs;
    }
    if (lua != NULL && object->found) {
        object->runs = lua_runtime_runs(lua, object->ordinal);
    }
    return object->runs;
}

/* -- Running ------------------------------------------------------------- */

static int push_value(lua_State *L, struct body_call *call)
{
    struct frame *frame = call->frame;
    struct err_detail detail = {0};
    const enum err err =
        reads_look(frame, call->node->sink, view_hold(&frame->views), &detail);
    reads_raise(L, err, &detail);
    view_push_held(L, &frame->views);
    return 1;
}

static enum run_result run_node(struct run *run, void *ctx)
{
    struct lua_runtime_node *node = ctx;
    struct body_call call = {
        .lua = node->lua,
        .function = node->function,
        .recorded = &node->recorded,
        .node = node,
        .push = node->sink != NULL ? push_value : bodies_push_tx,
    };
    node->refs++;
    const enum run_result result = bodies_call(run, NULL, &call);
    node_unref(node);
    return result;
}

/* -- Registering --------------------------------------------------------- */

/* The place of the cell at `index` in `places`; raises if it is none. */
static void add_place(lua_State *L,
                      const struct lua_runtime *lua,
                      int index,
                      const char *name,
                      struct buf *places)
{
    struct lua_runtime *of = NULL;
    struct place *place = cells_test(L, index, &of);
    if (place == NULL || of != lua) {
        (void)luaL_error(L, "%s must be a list of cells of this runtime", name);
    }
    buf_append(places, (const void *)&place, sizeof(struct place *));
}

size_t nodes_check_places(lua_State *L,
                          const struct lua_runtime *lua,
                          int index,
                          const char *name,
                          struct place *const **out)
{
    struct buf *places = script_buffer_push(L);
    const int type = lua_getfield(L, index, name);
    if (type == LUA_TUSERDATA) {
        add_place(L, lua, -1, name, places);
    } else if (type == LUA_TTABLE) {
        const lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= count; i++) {
            (void)lua_rawgeti(L, -1, i);
            add_place(L, lua, -1, name, places);
            lua_pop(L, 1);
        }
    } else if (type != LUA_TNIL) {
        (void)luaL_error(L, "%s must be a list of cells", name);
    }
    lua_pop(L, 1);
    *out = (struct place *const *)(const void *)places->at;
    return places->length / sizeof(struct place *);
}

static mono_ms check_ms(lua_State *L, int index, const char *name)
{
    const lua_Integer ms = luaL_checkinteger(L, index);
    if (ms < 0 || ms > INT32_MAX) {
        (void)luaL_error(L, "%s must be a number of milliseconds", name);
    }
    return (mono_ms)ms;
}

mono_ms nodes_field_ms(lua_State *L, int index, const char *name)
{
    mono_ms ms = 0;
    if (lua_getfield(L, index, name) != LUA_TNIL) {
        if (!lua_isinteger(L, -1)) {
            (void)luaL_error(L, "%s must be a number of milliseconds", name);
        }
        ms = check_ms(L, -1, name);
    }
    lua_pop(L, 1);
    return ms;
}

bool nodes_field_flag(lua_State *L, int index, const char *name)
{
    (void)lua_getfield(L, index, name);
    const bool flag = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    return flag;
}

struct value nodes_field_clearance(lua_State *L, int index, struct value *held)
{
    if (lua_getfield(L, index, "clearance") != LUA_TNIL) {
        *held = convert_check(L, -1, "clearance");
        bool is_list = value_is_array(*held);
        for (uint32_t i = 0; is_list && i < array_count(*held); i++) {
            is_list = label_is_valid(array_at(*held, i));
        }
        if (!is_list && !lua_isboolean(L, -1)) {
            (void)luaL_error(L, "clearance must be a list of labels, or true");
        }
    }
    const bool any = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    return any ? *held : VALUE_NONE;
}

/* Pushes the key of a name in the table of names; a run has names of its
 * own. */
static void push_name_key(lua_State *L, const struct lua_runtime *lua, int name)
{
    const struct lua_runtime_node *parent = lua->frame->node;
    lua_pushfstring(L,
                    "%I/%s",
                    parent != NULL ? (lua_Integer)parent->node->ordinal + 1
                                   : (lua_Integer)0,
                    lua_tostring(L, name));
}

/* The node of the name at `name`, whose object is pushed, or NULL. */
static struct lua_runtime_node *find_named(lua_State *L,
                                           struct lua_runtime *lua,
                                           int name)
{
    (void)lua_getiuservalue(L, 1, 1);
    push_name_key(L, lua, name);
    (void)lua_rawget(L, -2);
    lua_remove(L, -2);
    const struct node_object *found =
        script_object_test(L, -1, &lua_runtime_node_class);
    if (found != NULL && found->node->node != NULL &&
        found->node->node->registered) {
        return found->node;
    }
    lua_pop(L, 1);
    return NULL;
}

/* The object on top is known under that name. */
static void keep_name(lua_State *L, const struct lua_runtime *lua, int name)
{
    (void)lua_getiuservalue(L, 1, 1);
    push_name_key(L, lua, name);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Pushes an object for a new node with the function at `function`. */
static struct lua_runtime_node *push_node(lua_State *L, int function)
{
    struct node_object *object =
        script_object_push(L, &lua_runtime_node_class, sizeof *object);
    object->node = mem_alloc_zero(sizeof *object->node);
    object->node->refs = 1;
    object->node->script = script_of(L);
    object->node->function = script_function_keep(L, function);
    return object->node;
}

static void refuse_handlers(lua_State *L, const struct lua_runtime *lua)
{
    if (lua->frame->call.handling != NULL) {
        (void)luaL_error(L, "a handler cannot register nodes");
    }
}

/* nodes-2: the one that is there. */
static int use_child(lua_State *L,
                     struct lua_runtime *lua,
                     struct lua_runtime_node *known)
{
    if (lua->frame->node == NULL) {
        return luaL_error(L, "a node with this name already exists");
    }
    const struct script_function function = script_function_keep(L, 3);
    script_function_release(script_of(L), &known->function);
    known->function = function;
    return 1;
}

/* The rest of the table at 2; what it pushes stays until the registration. */
static void check_spec(lua_State *L,
                       struct lua_runtime *lua,
                       struct node_spec *spec)
{
    spec->read_count = nodes_check_places(L, lua, 2, "reads", &spec->reads);
    spec->output_count =
        nodes_check_places(L, lua, 2, "writes", &spec->outputs);
    spec->envelope_count =
        nodes_check_places(L, lua, 2, "envelope", &spec->envelopes);
    if (spec->kind == NODE_EFFECT) { /* has no surface */
        spec->output_count = 0;
        spec->envelope_count = 0;
    }
    spec->debounce = nodes_field_ms(L, 2, "debounce");
    spec->debounce_max = nodes_field_ms(L, 2, "debounce_max");
    spec->throttle = nodes_field_ms(L, 2, "throttle");
    spec->no_auto_debounce = nodes_field_flag(L, 2, "no_auto_debounce");
    /* Held by the top level until the registration. */
    spec->clearance =
        nodes_field_clearance(L, 2, &view_hold(&lua->toplevel.views)->value);
    if (lua_getfield(L, 2, "group") != LUA_TNIL) {
        if (lua_type(L, -1) != LUA_TSTRING) {
            (void)luaL_error(L, "group must be a string");
        }
        const struct value group = convert_check(L, -1, "group");
        spec->group = lua_runtime_group(lua, group);
        value_unref(group);
    }
    lua_pop(L, 1);
}

/* Who has a name is somebody after a restart, unless it comes from a run (then
 * that one has to run again for it to be there) or has no fingerprint. */
static bool find_identity(struct lua_runtime *lua,
                          const struct lua_runtime_node *node,
                          struct value name,
                          struct node_identity *identity)
{
    if (lua->forget || value_is_absent(name) || lua->frame->node != NULL) {
        return false;
    }
    identity->space = lua->runtime->spaces.at[0];
    identity->piece = value_text_new(NODES_BY_HAND);
    identity->generation = NODES_GENERATION;
    identity->action = digest_of_name("heddle lua node 1", name);
    return bodies_fingerprint(lua,
                              node->function,
                              name,
                              &identity->implementation);
}

/* A node that registers others is nobody after a restart
 * (sched/persistence.h). */
static void note_parent(struct lua_runtime *lua)
{
    const struct lua_runtime_node *parent = lua->frame->node;
    if (parent != NULL && parent->node != NULL &&
        node_persisted(parent->node) != NULL) {
        persistence_forget(lua_runtime_sched(lua), parent->node);
    }
}

int nodes_register(lua_State *L, struct lua_runtime *lua, enum node_kind kind)
{
    static const char *const names[] = {"name",
                                        "fn",
                                        "reads",
                                        "writes",
                                        "envelope",
                                        "debounce",
                                        "debounce_max",
                                        "throttle",
                                        "no_auto_debounce",
                                        "group",
                                        "clearance"};
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    builders_check_options(L, 2, names, COUNT_OF(names));
    refuse_handlers(L, lua);
    if (lua_getfield(L, 2, "fn") != LUA_TFUNCTION) { /* at 3 */
        return luaL_error(L, "fn is missing: give the function of the node");
    }
    const int type = lua_getfield(L, 2, "name"); /* at 4 */
    if (type != LUA_TSTRING && type != LUA_TNIL) {
        return luaL_error(L, "name must be a string");
    }
    if (type == LUA_TSTRING) {
        value_unref(convert_check(L, 4, "the name")); /* before all else */
    }
    struct lua_runtime_node *known =
        type == LUA_TSTRING ? find_named(L, lua, 4) : NULL;
    if (known != NULL) {
        return use_child(L, lua, known);
    }
    struct node_spec spec = {.kind = kind, .run = run_node};
    check_spec(L, lua, &spec);
    struct lua_runtime_node *node = push_node(L, 3);
    if (type == LUA_TSTRING) {
        keep_name(L, lua, 4);
        spec.name = convert_check(L, 4, "name");
    }
    node->refs++;
    node->lua = lua;
    spec.ctx = node;
    spec.release = node_gone;
    struct node_identity identity = {0};
    if (find_identity(lua, node, spec.name, &identity)) {
        spec.identity = &identity;
    }
    note_parent(lua);
    lua->registered++;
    node->node = sched_register(lua_runtime_sched(lua), &spec);
    value_unref(identity.piece);
    value_unref(spec.name);
    return 1;
}

int nodes_sink(lua_State *L, struct lua_runtime *lua)
{
    struct lua_runtime *of = NULL;
    struct place *place = cells_check(L, 2, &of);
    luaL_argcheck(L, of == lua, 2, "the cell belongs to another runtime");
    luaL_checktype(L, 3, LUA_TFUNCTION);
    refuse_handlers(L, lua);
    struct lua_runtime_node *node = push_node(L, 3);
    node->lua = lua;
    node->sink = place_ref(place);
    node->refs++;
    struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_node,
        .ctx = node,
        .release = node_gone,
        .name = value_text_new("sink"),
        .reads = &place,
        .read_count = 1,
    };
    node->node = sched_register(lua_runtime_sched(lua), &spec);
    value_unref(spec.name);
    return 1;
}

/* -- Asking -------------------------------------------------------------- */

static struct node_object *check_object(lua_State *L, int argument)
{
    return script_object_check(L, argument, &lua_runtime_node_class);
}

struct node *nodes_check(lua_State *L,
                         int argument,
                         const struct lua_runtime *lua)
{
    struct node_object *object = check_object(L, argument);
    struct node *node = node_at(object);
    if (node == NULL) {
        (void)luaL_error(L, "the node was cancelled");
    }
    if (lua_runtime_at(object) != lua) {
        (void)luaL_error(L, "the node belongs to another runtime");
    }
    return node;
}

static int node_runs(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)runs_at(check_object(L, 1)));
    return 1;
}

static int node_status_method(lua_State *L)
{
    struct node_object *object = check_object(L, 1);
    const struct node *node = node_at(object);
    lua_pushstring(L,
                   introspection_status(node != NULL ? node->status
                                        : object->node != NULL
                                            ? object->node->ended_as
                                            : NODE_NEVER_RAN));
    return 1;
}

static int node_live(lua_State *L)
{
    const struct node *node = node_at(check_object(L, 1));
    lua_pushboolean(L, node != NULL && node_is_live(node));
    return 1;
}

static int node_height(lua_State *L)
{
    const struct node *node = node_at(check_object(L, 1));
    lua_pushinteger(L, node != NULL ? node->height : 0);
    return 1;
}

/* Pushes a list that it adopts; it is held by the top level meanwhile. */
static int push_list(lua_State *L, struct lua_runtime *lua, struct value list)
{
    view_hold(&lua->toplevel.views)->value = list;
    convert_push(L, list);
    return 1;
}

static struct value causes_of(const struct node *node)
{
    struct value list = value_empty_array();
    VEC_FOREACH (&node->causes, cause) {
        list = array_push_adopt(list, lua_runtime_place_value(cause->place));
    }
    return list;
}

static struct value reads_of(const struct node *node)
{
    struct value list = value_empty_array();
    VEC_FOREACH (&node->reads, read) {
        if (reads_is_probe(read->place)) {
            continue;
        }
        struct value place = lua_runtime_place_value(read->place);
        if (read->kind == READ_SHAPE) {
            object_put_adopt(&place, "shallow", value_bool(true));
        }
        list = array_push_adopt(list, place);
    }
    return list;
}

static struct value writes_of(const struct node *node)
{
    struct value list = value_empty_array();
    for (uint32_t i = 0; i < node->write_count; i++) {
        const struct write_link *write = &node->writes[i];
        struct value place = lua_runtime_place_value(write->place);
        if (graph_is_envelope(write)) {
            object_put_adopt(&place, "envelope", value_bool(true));
        }
        list = array_push_adopt(list, place);
    }
    return list;
}

static int push_places(lua_State *L,
                       struct value (*list_of)(const struct node *node))
{
    struct node_object *object = check_object(L, 1);
    const struct node *node = node_at(object);
    if (node == NULL) {
        lua_newtable(L);
        return 1;
    }
    return push_list(L, lua_runtime_at(object), list_of(node));
}

static int node_causes(lua_State *L)
{
    return push_places(L, causes_of);
}

static int node_reads(lua_State *L)
{
    return push_places(L, reads_of);
}

static int node_writes(lua_State *L)
{
    return push_places(L, writes_of);
}

/* What keeps it from running, and for how long; nil if nothing does. */
static int node_gate(lua_State *L)
{
    struct node_object *object = check_object(L, 1);
    const struct node *node = node_at(object);
    const mono_ms now =
        node != NULL ? lua_runtime_now(lua_runtime_at(object)) : 0;
    const char *reason = node != NULL ? gates_reason(node, now) : NULL;
    if (reason == NULL) {
        lua_pushnil(L);
        return 1;
    }
    const mono_ms at = gates_eligible_at(node);
    lua_pushstring(L, reason);
    lua_pushinteger(L, at > now ? (lua_Integer)(at - now) : 0);
    return 2;
}

static int node_cancel(lua_State *L)
{
    struct node_object *object = check_object(L, 1);
    struct node *node = node_at(object);
    if (node != NULL && object->node == NULL) {
        return luaL_error(L,
                          "the nodes of a piece end with the piece: call "
                          "piece:stop()");
    }
    if (node != NULL && node->registered) {
        sched_remove_all(lua_runtime_sched(lua_runtime_at(object)), node);
    }
    return 0;
}

static int node_debounce(lua_State *L)
{
    struct node_object *object = check_object(L, 1);
    struct node *node = node_at(object);
    const mono_ms ms = lua_isnoneornil(L, 2) ? 0 : check_ms(L, 2, "a debounce");
    if (node != NULL) {
        sched_set_debounce(lua_runtime_sched(lua_runtime_at(object)), node, ms);
    }
    return 0;
}

static int node_throttle(lua_State *L)
{
    struct node_object *object = check_object(L, 1);
    struct node *node = node_at(object);
    const mono_ms ms = lua_isnoneornil(L, 2) ? 0 : check_ms(L, 2, "a throttle");
    if (node != NULL) {
        sched_set_throttle(lua_runtime_sched(lua_runtime_at(object)), node, ms);
    }
    return 0;
}

static const luaL_Reg node_methods[] = {
    {"runs", node_runs},
    {"status", node_status_method},
    {"live", node_live},
    {"causes", node_causes},
    {"height", node_height},
    {"reads", node_reads},
    {"writes", node_writes},
    {"gate", node_gate},
    {"cancel", node_cancel},
    {"debounce", node_debounce},
    {"throttle", node_throttle},
    {NULL, NULL},
};

/* By its name alone: the node of the next process is the same one. */
static struct value node_identity_value(void *ctx)
{
    struct node_object *object = ctx;
    const struct node *node = node_at(object);
    return object->node == NULL ? value_ref(object->name)
           : node != NULL       ? value_ref(node_name(node))
                                : value_null();
}

const struct script_class lua_runtime_node_class = {
    .name = "node",
    .methods = node_methods,
    .release = object_release,
    .identity = node_identity_value,
};

bool nodes_push_part(lua_State *L,
                     struct lua_runtime *lua,
                     struct piece *piece,
                     struct value name)
{
    struct node_object *object =
        script_object_push(L, &lua_runtime_node_class, sizeof *object);
    object->piece = piece_ref(piece);
    object->name = value_ref(name);
    binding_tie(&object->binding, lua, object_cut);
    return node_at(object) != NULL;
}
