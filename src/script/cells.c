/* Cells, and writes of their own. */

#include "script/cells.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "runtime/own_write.h"
#include "script/convert.h"
#include "script/items.h"
#include "script/reads.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

struct cell {
    struct binding binding;
    struct place *place; /* a reference while it is bound */
};

static void cell_cut(struct binding *binding)
{
    struct cell *cell = CONTAINER_OF(binding, struct cell, binding);
    place_unref(cell->place);
    cell->place = NULL;
}

void cells_release(void *object)
{
    struct cell *cell = object;
    if (cell->binding.lua != NULL) {
        binding_untie(&cell->binding);
        cell_cut(&cell->binding);
    }
}

void cells_push_as(lua_State *L,
                   const struct script_class *class,
                   struct lua_runtime *lua,
                   struct place *place)
{
    struct cell *cell = script_object_push(L, class, sizeof *cell);
    cell->place = place_ref(place);
    binding_tie(&cell->binding, lua, cell_cut);
}

void cells_push(lua_State *L, struct lua_runtime *lua, struct place *place)
{
    cells_push_as(L, &cell_class, lua, place);
}

struct place *cells_push_document(lua_State *L,
                                  struct lua_runtime *lua,
                                  struct entity *entity)
{
    struct cell *cell = script_object_push(L, &cell_class, sizeof *cell);
    cell->place = place_payload(entity);
    binding_tie(&cell->binding, lua, cell_cut);
    return cell->place;
}

/* The cell or item at `index`, or NULL. */
static struct cell *cell_at(lua_State *L, int index)
{
    const struct script_class *class = NULL;
    void *object = script_object_at(L, index, &class);
    return object != NULL && (class == &cell_class || class == &item_class ||
                              class == &row_class)
               ? object
               : NULL;
}

struct place *cells_of(void *object, struct lua_runtime **lua)
{
    const struct cell *cell = object;
    *lua = cell->binding.lua;
    return cell->binding.lua != NULL ? cell->place : NULL;
}

struct place *cells_test(lua_State *L, int index, struct lua_runtime **lua)
{
    struct cell *cell = cell_at(L, index);
    return cell != NULL ? cells_of(cell, lua) : NULL;
}

struct place *cells_check(lua_State *L, int argument, struct lua_runtime **lua)
{
    struct cell *cell = cell_at(L, argument);
    if (cell == NULL) {
        (void)luaL_typeerror(L, argument, cell_class.name);
    }
    CHECK(cell != NULL); /* that does not return */
    if (cell->binding.lua == NULL) {
        (void)luaL_error(L, "the runtime of this cell has ended");
    }
    *lua = cell->binding.lua;
    return cell->place;
}

/* -- Reading ------------------------------------------------------------- */

void cells_push_read(lua_State *L, struct lua_runtime *lua, struct place *place)
{
    struct frame *frame = lua->frame;
    struct err_detail detail = {0};
    const enum err err =
        reads_look(frame, place, view_hold(&frame->views), &detail);
    reads_raise(L, err, &detail);
    view_push_held(L, &frame->views);
}

static int cell_get(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = cells_check(L, 1, &lua);
    cells_push_read(L, lua, place);
    return 1;
}

/* Reads into what the frame holds, so that nothing is lost if this raises. */
static struct value hold_whole(lua_State *L,
                               enum read_kind kind,
                               unsigned flags)
{
    struct lua_runtime *lua;
    struct place *place = cells_check(L, 1, &lua);
    struct view_found *held = view_hold(&lua->frame->views);
    struct err_detail detail = {0};
    const enum err err =
        reads_whole(lua->frame, place, kind, flags, &held->value, &detail);
    reads_raise(L, err, &detail);
    return held->value;
}

static int cell_value(lua_State *L)
{
    convert_push(L, hold_whole(L, READ_DEEP, READ_FOR_BOTH));
    return 1;
}

static int cell_sample(lua_State *L)
{
    convert_push(L, hold_whole(L, READ_DEEP, READ_NOT_FOR_SCHEDULING));
    return 1;
}

static int cell_keys(lua_State *L)
{
    const struct value value = hold_whole(L, READ_SHAPE, READ_FOR_BOTH);
    if (value_is_absent(value)) {
        lua_pushnil(L);
    } else if (value_is_array(value)) {
        lua_pushinteger(L, array_count(value));
    } else if (value_is_object(value)) {
        struct lua_runtime *lua;
        (void)cells_check(L, 1, &lua);
        struct value keys = value_empty_array();
        struct object_iter entries = object_iter(value);
        struct value key;
        struct value item;
        while (object_next(&entries, &key, &item)) {
            keys = array_push_adopt(keys, value_ref(key));
        }
        view_hold(&lua->frame->views)->value = keys;
        convert_push(L, keys);
    } else {
        return luaL_error(L,
                          "keys() needs an object or an array; the value has "
                          "the type %s",
                          value_kind_name(value_kind(value)));
    }
    return 1;
}

/* The segment that an argument of key() is, new. */
static struct value check_segment(lua_State *L, int argument)
{
    if (lua_isinteger(L, argument)) {
        const lua_Integer position = lua_tointeger(L, argument);
        luaL_argcheck(L,
                      position >= 1 && position <= LIMIT_ARRAY_ELEMENTS,
                      argument,
                      "a position begins with 1");
        const struct path_segment segment =
            path_segment_of_index((uint32_t)(position - 1));
        return segment.key;
    }
    if (lua_type(L, argument) != LUA_TSTRING) {
        (void)luaL_typeerror(L, argument, "string or position");
    }
    return convert_check(L, argument, "a key");
}

struct place *cells_push_below(lua_State *L,
                               const struct script_class *class,
                               struct lua_runtime *lua,
                               struct place *place,
                               int argument)
{
    struct cell *cell = script_object_push(L, class, sizeof *cell);
    const struct value key = check_segment(L, argument);
    struct err_detail detail = {0};
    if (path_check(place->path->length + 1, &detail) != ERR_OK) {
        value_unref(key);
        (void)luaL_argerror(L, argument, detail.text);
    }
    cell->place = place_child(place, key);
    value_unref(key);
    binding_tie(&cell->binding, lua, cell_cut);
    return cell->place;
}

static int cell_key(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = cells_check(L, 1, &lua);
    const int count = lua_gettop(L);
    luaL_argcheck(L, count >= 2, 2, "a key or a position is missing");
    for (int i = 2; i <= count; i++) {
        /* The cell of each step keeps its place. */
        place = cells_push_below(L, &cell_class, lua, place, i);
    }
    return 1;
}

/* -- Writing ------------------------------------------------------------- */

enum {
    WRITE_STEPS = 100, /* what the host does for one, in instructions */
    WRITE_BYTES = 64,  /* what it keeps until the call ends, */
    PLACE_BYTES = 448, /* and for a place that nothing else holds */
};

/* How many elements a write that looks at all of them looks at. */
static uint64_t elements_at(const struct frame *frame, struct place *place)
{
    struct value there = VALUE_NONE;
    const enum err err = transaction_read(frame->call.access.transaction,
                                          place,
                                          READ_DEEP,
                                          READ_UNTRACKED,
                                          &there);
    const uint64_t count =
        err == ERR_OK && value_is_array(there) ? array_count(there) : 0;
    value_unref(there);
    return count;
}

/* The place of the cell at 1, which will be written: the host's work and what
 * it keeps are paid for before anything is done. May raise. */
static struct place *check_written(lua_State *L,
                                   int cell,
                                   enum write_kind kind,
                                   struct lua_runtime **lua)
{
    struct place *place = cells_check(L, cell, lua);
    const struct frame *frame = (*lua)->frame;
    script_charge(L, WRITE_STEPS);
    if (frame->call.access.transaction != NULL) {
        script_hold(L, WRITE_BYTES + (place->refs > 1 ? 0 : PLACE_BYTES));
        if (kind == WRITE_ADD_UNIQUE || kind == WRITE_REMOVE_VALUE) {
            script_charge(L, elements_at(frame, place));
        }
    }
    return place;
}

/* The value that convert_read made last is kept, too. */
static void hold_converted(lua_State *L, const struct lua_runtime *lua)
{
    struct script *script = script_of(L);
    if (lua->frame->call.access.transaction != NULL) {
        script->host_bytes += script->converted;
    }
}

/* Adopts the value. */
static enum err write_adopt(struct lua_runtime *lua,
                            struct place *place,
                            struct cell_writing writing,
                            struct err_detail *detail)
{
    struct frame *frame = lua->frame;
    if (frame->call.kind == FRAME_BUILD) {
        value_unref(writing.value);
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a pattern is built, not run: write in a function that "
                       "is given to p:computed, p:effect or p:handler");
    }
    if (frame->call.kind == FRAME_TASK) {
        value_unref(writing.value);
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a task cannot write cells: return its value, and write "
                       "in a handler or an effect");
    }
    const enum err err =
        call_frame_write_adopt(&frame->call, place, writing, detail);
    /* At the top level no run is made again: it cannot be done now. */
    return err == ERR_STALE && frame_is_toplevel(frame) ? ERR_BUSY : err;
}

static int write_and_raise(lua_State *L,
                           struct lua_runtime *lua,
                           struct place *place,
                           enum write_kind kind,
                           struct value value)
{
    struct err_detail detail = {0};
    const struct cell_writing writing = {.kind = kind, .value = value};
    const enum err err = write_adopt(lua, place, writing, &detail);
    reads_raise(L, err, &detail);
    return 0;
}

void cells_set(lua_State *L, int cell, int value)
{
    struct lua_runtime *lua;
    struct place *place = check_written(L, cell, WRITE_PUT, &lua);
    if (lua_isnoneornil(L, value)) {
        (void)luaL_argerror(L,
                            value,
                            "a value is missing: use heddle.null for null, or "
                            "delete() to remove it");
    }
    const struct value given = convert_check(L, value, "the value");
    hold_converted(L, lua);
    (void)write_and_raise(L, lua, place, WRITE_PUT, given);
}

static int cell_set(lua_State *L)
{
    cells_set(L, 1, 2);
    return 0;
}

/* append and add_unique take several values. */
static int write_all(lua_State *L, enum write_kind kind)
{
    struct lua_runtime *lua;
    struct place *place = check_written(L, 1, kind, &lua);
    luaL_argcheck(L, lua_gettop(L) >= 2, 2, "a value is missing");
    struct value all = value_empty_array();
    struct err_detail detail = {0};
    enum err err = ERR_OK;
    for (int i = 2; i <= lua_gettop(L) && err == ERR_OK; i++) {
        struct value item = VALUE_NONE;
        err = convert_read(L, i, "the value", NULL, &item, &detail);
        hold_converted(L, lua);
        if (err == ERR_OK && value_is_absent(item)) {
            err = err_set(&detail,
                          ERR_TYPE,
                          "the value is nil, which cannot be stored");
        }
        if (err == ERR_OK) {
            all = array_push_adopt(all, item);
        }
    }
    if (err != ERR_OK) {
        value_unref(all);
        reads_raise(L, err, &detail);
    }
    return write_and_raise(L, lua, place, kind, all);
}

static int cell_append(lua_State *L)
{
    return write_all(L, WRITE_APPEND);
}

static int cell_add_unique(lua_State *L)
{
    return write_all(L, WRITE_ADD_UNIQUE);
}

static int cell_remove(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = check_written(L, 1, WRITE_REMOVE_VALUE, &lua);
    luaL_argcheck(L, !lua_isnoneornil(L, 2), 2, "a value is missing");
    return write_and_raise(L,
                           lua,
                           place,
                           WRITE_REMOVE_VALUE,
                           convert_check(L, 2, "the value"));
}

static int cell_increment(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = check_written(L, 1, WRITE_INCREMENT, &lua);
    struct value by = value_int(1);
    if (!lua_isnoneornil(L, 2)) {
        (void)luaL_checknumber(L, 2);
        by = convert_check(L, 2, "the number");
    }
    return write_and_raise(L, lua, place, WRITE_INCREMENT, by);
}

/* Of a document, all of it; behind links. */
static int cell_delete_method(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = check_written(L, 1, WRITE_DELETE, &lua);
    struct err_detail detail = {0};
    struct place *at = NULL;
    enum err err = call_frame_follow(&lua->frame->call, place, &at, &detail);
    if (err == ERR_OK) {
        struct place *whole =
            at == at->entity->payload ? place_root(at->entity) : place_ref(at);
        const struct cell_writing writing = {.kind = WRITE_DELETE};
        err = write_adopt(lua, whole, writing, &detail);
        place_unref(whole);
        place_unref(at);
    }
    reads_raise(L, err, &detail);
    return 0;
}

/* -- The rest ------------------------------------------------------------ */

static enum err cell_as_value(void *object,
                              struct value *out,
                              struct err_detail *detail)
{
    const struct cell *cell = object;
    if (cell->binding.lua == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the runtime of this cell has ended");
    }
    *out = cell_link(cell->place, NULL);
    return ERR_OK;
}

static int cell_link_method(lua_State *L)
{
    struct lua_runtime *lua;
    struct place *place = cells_check(L, 1, &lua);
    struct view_found *held = view_hold(&lua->frame->views);
    held->value = cell_link(place, NULL);
    convert_push(L, held->value);
    return 1;
}

struct value cells_identity(void *object)
{
    const struct cell *cell = object;
    return cell->binding.lua != NULL ? lua_runtime_place_value(cell->place)
                                     : value_null();
}

static int cell_tostring(lua_State *L)
{
    struct lua_runtime *lua;
    const struct place *place = cells_check(L, 1, &lua);
    struct buf *text = script_buffer_push(L);
    introspection_write_place(text, place);
    lua_pushlstring(L, buf_text(text), text->length);
    return 1;
}

static int cell_eq(lua_State *L)
{
    struct lua_runtime *lua;
    const struct place *a = cells_test(L, 1, &lua);
    const struct place *b = cells_test(L, 2, &lua);
    lua_pushboolean(L, a != NULL && a == b);
    return 1;
}

static const luaL_Reg cell_methods[] = {
    {"get", cell_get},
    {"value", cell_value},
    {"sample", cell_sample},
    {"keys", cell_keys},
    {"key", cell_key},
    {"set", cell_set},
    {"append", cell_append},
    {"add_unique", cell_add_unique},
    {"remove", cell_remove},
    {"increment", cell_increment},
    {"delete", cell_delete_method},
    {"link", cell_link_method},
    {NULL, NULL},
};

static const luaL_Reg cell_metamethods[] = {
    {"__tostring", cell_tostring},
    {"__eq", cell_eq},
    {NULL, NULL},
};

const struct script_class cell_class = {
    .name = "cell",
    .methods = cell_methods,
    .metamethods = cell_metamethods,
    .release = cells_release,
    .has_keys = true,
    .value = cell_as_value,
    .identity = cells_identity,
    .more_metamethods = items_operators,
};

lua_CFunction cells_method(const char *name)
{
    for (const luaL_Reg *method = cell_methods; method->name != NULL;
         method++) {
        if (strcmp(method->name, name) == 0) {
            return method->func;
        }
    }
    return NULL;
}

/* -- Documents ----------------------------------------------------------- */

enum err cells_place(struct lua_runtime *lua,
                     struct value id,
                     struct value space_name,
                     struct value scope_name,
                     struct place **out,
                     struct err_detail *detail)
{
    const struct runtime *runtime = lua->runtime;
    struct space *space = value_is_absent(space_name)
                              ? runtime->spaces.at[0]
                              : runtime_space(runtime, space_name);
    if (space == NULL) {
        return err_set(detail, ERR_ARGUMENT, "the runtime has no such space");
    }
    enum scope scope = SCOPE_SPACE;
    if (!value_is_absent(scope_name) && !scope_read(scope_name, &scope)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the scope must be \"space\", \"user\" or \"session\"");
    }
    struct entity *entity;
    const enum err err = entity_of(space, scope, id, &entity, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (frame_is_toplevel(lua->frame)) {
        lua_runtime_load(lua, entity);
    }
    *out = place_payload(entity);
    return ERR_OK;
}

/* Pushes a field of the table of options at `options`, a string or nil. */
static void push_option(lua_State *L, int options, const char *field)
{
    if (lua_isnoneornil(L, options)) {
        lua_pushnil(L);
        return;
    }
    luaL_checktype(L, options, LUA_TTABLE);
    const int type = lua_getfield(L, options, field);
    if (type != LUA_TNIL && type != LUA_TSTRING) {
        (void)luaL_error(L, "%s must be a string", field);
    }
}

struct place *cells_push_named(lua_State *L,
                               struct lua_runtime *lua,
                               int id,
                               int options)
{
    (void)luaL_checkstring(L, id);
    struct cell *cell = script_object_push(L, &cell_class, sizeof *cell);
    push_option(L, options, "space");
    push_option(L, options, "scope");
    struct value names[3] = {VALUE_NONE, VALUE_NONE, VALUE_NONE};
    struct err_detail detail = {0};
    enum err err = convert_read(L, id, "the id", NULL, &names[0], &detail);
    for (int i = 1; i < 3 && err == ERR_OK; i++) {
        err = convert_read(L, i - 3, "the name", NULL, &names[i], &detail);
    }
    if (err == ERR_OK) {
        err = cells_place(lua,
                          names[0],
                          names[1],
                          names[2],
                          &cell->place,
                          &detail);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        value_unref(names[i]);
    }
    if (err == ERR_OK) {
        binding_tie(&cell->binding, lua, cell_cut);
    }
    reads_raise(L, err, &detail);
    lua_pop(L, 2);
    return cell->place;
}

int cells_doc(lua_State *L, struct lua_runtime *lua)
{
    lua_settop(L, 4);
    struct place *place = cells_push_named(L, lua, 2, 4);
    if (lua_isnil(L, 3)) {
        return 1;
    }
    struct err_detail detail = {0};
    const struct cell_writing writing = {
        .kind = WRITE_PUT,
        .initial = true,
        .value = convert_check(L, 3, "the initial value"),
    };
    const enum err err = write_adopt(lua, place, writing, &detail);
    reads_raise(L, err, &detail);
    return 1;
}
