/* The object of a collection, and its methods. */

#include "script/collections.h"

#include "base/mem.h"
#include "runtime/own_write.h"
#include "script/building.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/items.h"
#include "script/reads.h"
#include "value/array.h"
#include "value/object.h"

enum {
    WRITE_STEPS = 1000, /* what the host does for a row, in instructions, */
    READ_STEPS = 100,
    ROW_BYTES = 1024, /* and what it keeps of a write until the call ends */
};

struct collection_object {
    struct binding binding;
    struct collection *collection; /* the runtime's */
    struct value name;             /* a reference */
};

static void object_cut(struct binding *binding)
{
    struct collection_object *object =
        CONTAINER_OF(binding, struct collection_object, binding);
    object->collection = NULL;
}

static void object_release(void *ctx)
{
    struct collection_object *object = ctx;
    if (object->binding.lua != NULL) {
        binding_untie(&object->binding);
    }
    object->collection = NULL;
    value_unref(object->name);
    object->name = VALUE_NONE;
}

static struct collection_object *check_object(lua_State *L)
{
    struct collection_object *object =
        script_object_check(L, 1, &collection_class);
    if (object->collection == NULL) {
        (void)luaL_error(L, "the runtime of this collection has ended");
    }
    return object;
}

static enum err refuse_frame(const struct frame *frame,
                             struct err_detail *detail)
{
    if (frame->call.kind == FRAME_BUILD) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a pattern is built, not run: use the collection in a "
                       "function that is given to p:computed, p:effect or "
                       "p:handler");
    }
    if (frame->call.kind == FRAME_TASK) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a task cannot use a collection: put what it needs into "
                       "its inputs");
    }
    return ERR_OK;
}

static void check_frame(lua_State *L, const struct lua_runtime *lua)
{
    struct err_detail detail = {0};
    const enum err err = refuse_frame(lua->frame, &detail);
    reads_raise(L, err, &detail);
}

/* Values in the hands of Lua, while code may raise. */
struct held_values {
    struct value at[4];
    struct pages_found found;
};

static void held_release(void *object)
{
    struct held_values *held = object;
    for (size_t i = 0; i < COUNT_OF(held->at); i++) {
        value_unref(held->at[i]);
    }
    pages_found_release(&held->found);
    *held = (struct held_values){0};
}

static const struct script_class held_class = {
    .name = "values",
    .release = held_release,
};

static struct held_values *push_held(lua_State *L)
{
    return script_object_push(L, &held_class, sizeof(struct held_values));
}

/* -- Writing ------------------------------------------------------------- */

enum collection_call {
    CALL_INSERT,
    CALL_PUT,
    CALL_UPDATE,
    CALL_REMOVE,
};

/* One write; as a transaction of its own it lives until that has ended. */
struct collection_writing {
    uint32_t refs;
    struct runtime *runtime;
    struct collection *collection;
    enum collection_call call;
    struct value key;   /* or absent */
    struct value value; /* row or fields; or absent */
    bool existed;
};

static enum err write_in(struct collection_writing *writing,
                         const struct collection_access *access,
                         struct err_detail *detail)
{
    switch (writing->call) {
    case CALL_INSERT:
        return collection_insert(writing->collection,
                                 access,
                                 writing->value,
                                 detail);
    case CALL_PUT:
        return collection_put(writing->collection,
                              access,
                              writing->value,
                              detail);
    case CALL_UPDATE:
        return collection_update(writing->collection,
                                 access,
                                 writing->key,
                                 writing->value,
                                 detail);
    case CALL_REMOVE:
        break;
    }
    return collection_remove(writing->collection,
                             access,
                             writing->key,
                             &writing->existed,
                             detail);
}

static enum err write_alone(void *ctx,
                            struct transaction *transaction,
                            struct err_detail *detail)
{
    const struct collection_access access = {.transaction = transaction};
    return write_in(ctx, &access, detail);
}

static void writing_unref(struct collection_writing *writing)
{
    if (--writing->refs == 0) {
        value_unref(writing->key);
        value_unref(writing->value);
        mem_free(writing, sizeof *writing);
    }
}

static void alone_ended(void *ctx, const struct err_detail *said)
{
    (void)said; /* it was reported */
    writing_unref(ctx);
}

/* script-collection-3. */
static enum err make_alone(struct collection_writing *writing,
                           struct err_detail *detail)
{
    struct collection_writing *own = mem_alloc(sizeof *own);
    *own = *writing;
    own->refs = 2; /* of the transaction, and of this call */
    (void)value_ref(own->key);
    (void)value_ref(own->value);
    const struct own_write_spec spec = {
        .write = write_alone,
        .ended = alone_ended,
        .ctx = own,
        .reported = true,
        .place = own->collection->root,
    };
    const enum err err = own_write_make(own->runtime, &spec, detail);
    if (err != ERR_OK) {
        writing_unref(own);
    }
    writing->existed = own->existed;
    writing_unref(own);
    return err == ERR_STALE ? ERR_BUSY : err;
}

static enum err write_any(struct lua_runtime *lua,
                          struct collection_writing *writing,
                          struct err_detail *detail)
{
    struct frame *frame = lua->frame;
    writing->runtime = lua->runtime;
    if (frame->call.access.transaction == NULL) {
        return make_alone(writing, detail);
    }
    const struct collection_access access = {frame->call.access.transaction,
                                             frame->call.access.run};
    return call_frame_note(&frame->call, write_in(writing, &access, detail));
}

/* The write of a call whose values are held; raises what is wrong. */
static bool write_and_raise(lua_State *L,
                            const struct collection_object *object,
                            enum collection_call call,
                            const struct held_values *held)
{
    struct lua_runtime *lua = object->binding.lua;
    struct collection_writing writing = {
        .collection = object->collection,
        .call = call,
        .key = held->at[0],
        .value = held->at[1],
    };
    struct err_detail detail = {0};
    check_frame(L, lua);
    script_charge(L, WRITE_STEPS);
    if (lua->frame->call.access.transaction != NULL) {
        script_hold(L, ROW_BYTES + script_of(L)->converted);
    }
    const enum err err = write_any(lua, &writing, &detail);
    reads_raise(L, err, &detail);
    return writing.existed;
}

static void check_key(lua_State *L, struct held_values *held)
{
    if (lua_isnoneornil(L, 2)) {
        (void)luaL_argerror(L, 2, "the key of a row is missing");
    }
    held->at[0] = convert_check(L, 2, "the key");
}

/* Pushes the cell of the row with the key. */
static void push_row_cell(lua_State *L,
                          const struct collection_object *object,
                          struct value key)
{
    struct entity *row;
    struct err_detail detail = {0};
    const enum err err = collection_row(object->collection, key, &row, &detail);
    reads_raise(L, err, &detail);
    (void)cells_push_document(L, object->binding.lua, row);
}

static int store_row(lua_State *L, enum collection_call call)
{
    lua_settop(L, 2);
    const struct collection_object *object = check_object(L);
    check_frame(L, object->binding.lua);
    if (lua_isnil(L, 2)) {
        (void)luaL_argerror(L, 2, "the row is missing");
    }
    struct held_values *held = push_held(L);
    held->at[1] = convert_check(L, 2, "the row");
    (void)write_and_raise(L, object, call, held);
    push_row_cell(L, object, object_get(held->at[1], object->collection->key));
    return 1;
}

static int collection_insert_method(lua_State *L)
{
    return store_row(L, CALL_INSERT);
}

static int collection_put_method(lua_State *L)
{
    return store_row(L, CALL_PUT);
}

static int collection_update_method(lua_State *L)
{
    lua_settop(L, 3);
    const struct collection_object *object = check_object(L);
    check_frame(L, object->binding.lua);
    luaL_checktype(L, 3, LUA_TTABLE);
    struct held_values *held = push_held(L);
    check_key(L, held);
    held->at[1] = convert_check(L, 3, "the fields");
    (void)write_and_raise(L, object, CALL_UPDATE, held);
    return 0;
}

static int collection_remove_method(lua_State *L)
{
    lua_settop(L, 2);
    const struct collection_object *object = check_object(L);
    check_frame(L, object->binding.lua);
    struct held_values *held = push_held(L);
    check_key(L, held);
    lua_pushboolean(L, write_and_raise(L, object, CALL_REMOVE, held) ? 1 : 0);
    return 1;
}

/* -- Single rows --------------------------------------------------------- */

static int collection_row_method(lua_State *L)
{
    lua_settop(L, 2);
    const struct collection_object *object = check_object(L);
    struct held_values *held = push_held(L);
    check_key(L, held);
    push_row_cell(L, object, held->at[0]);
    return 1;
}

static int collection_get_method(lua_State *L)
{
    const struct collection_object *object = check_object(L);
    check_frame(L, object->binding.lua);
    (void)collection_row_method(L);
    struct lua_runtime *lua;
    struct place *place = cells_check(L, -1, &lua);
    cells_push_read(L, lua, place);
    return 1;
}

/* -- Ranges -------------------------------------------------------------- */

typedef enum err look_fn(const struct collection_object *object,
                         const struct collection_access *access,
                         void *ctx,
                         struct err_detail *detail);

/* Looks on behalf of the frame; at the top level, at what is visible, after
 * what is needed has come. */
static enum err look_at(const struct collection_object *object,
                        look_fn *look,
                        void *ctx,
                        struct err_detail *detail)
{
    struct lua_runtime *lua = object->binding.lua;
    struct frame *frame = lua->frame;
    if (frame->call.access.transaction != NULL) {
        const struct collection_access access = {frame->call.access.transaction,
                                                 frame->call.access.run};
        return look(object, &access, ctx, detail);
    }
    enum err err = ERR_STALE;
    bool more = true;
    while (err == ERR_STALE && more) {
        struct transaction *transaction =
            transaction_begin(&lua->runtime->replica, NULL);
        const struct collection_access access = {.transaction = transaction};
        err_clear(detail);
        err = look(object, &access, ctx, detail);
        transaction_release(transaction);
        more = runtime_is_loading(lua->runtime) &&
               runtime_fetch_requested(lua->runtime);
    }
    return err;
}

/* What cannot be known now ends the run. */
static void raise_look(lua_State *L,
                       const struct collection_object *object,
                       enum err err,
                       const struct err_detail *detail)
{
    reads_raise(L,
                call_frame_note(&object->binding.lua->frame->call, err),
                detail);
}

struct finding {
    struct collection_range range;
    struct pages_found *found;
};

static enum err find_rows(const struct collection_object *object,
                          const struct collection_access *access,
                          void *ctx,
                          struct err_detail *detail)
{
    const struct finding *finding = ctx;
    pages_found_release(finding->found);
    *finding->found = (struct pages_found){0};
    return collection_find(object->collection,
                           access,
                           &finding->range,
                           finding->found,
                           detail);
}

struct positioning {
    struct value index;
    struct value row;
    struct value *out;
};

static enum err find_position(const struct collection_object *object,
                              const struct collection_access *access,
                              void *ctx,
                              struct err_detail *detail)
{
    const struct positioning *positioning = ctx;
    value_unref(*positioning->out);
    return collection_position(object->collection,
                               access,
                               positioning->index,
                               positioning->row,
                               positioning->out,
                               detail);
}

static enum err count_rows(const struct collection_object *object,
                           const struct collection_access *access,
                           void *ctx,
                           struct err_detail *detail)
{
    return collection_count(object->collection, access, ctx, detail);
}

enum {
    HELD_INDEX,
    HELD_FROM,
    HELD_TO,
    HELD_AFTER,
};

/* A bound in the options at 2: a list, or one value, which is a list of one. A
 * row, of which the fields count, only where it says so. */
static struct value check_bound(lua_State *L,
                                const struct collection_object *object,
                                struct held_values *held,
                                unsigned which,
                                const char *name)
{
    if (lua_isnil(L, 2) || lua_getfield(L, 2, name) == LUA_TNIL) {
        lua_settop(L, 3);
        return VALUE_NONE;
    }
    struct lua_runtime *lua;
    struct place *place = cells_test(L, -1, &lua);
    if (place != NULL) { /* a row of an earlier range, or another cell */
        cells_push_read(L, lua, place);
        if (lua_isnil(L, -1)) {
            (void)luaL_error(L,
                             "'%s' of a range is a row or a field that does "
                             "not exist: give the values of its fields, as a "
                             "list",
                             name);
        }
    }
    held->at[which] = convert_check(L, -1, name);
    const struct value bound = held->at[which];
    lua_settop(L, 3);
    if (value_is_object(bound) && which == HELD_AFTER) {
        struct value position = VALUE_NONE;
        struct positioning positioning = {
            .index = held->at[HELD_INDEX],
            .row = bound,
            .out = &position,
        };
        struct err_detail detail = {0};
        const enum err err =
            look_at(object, find_position, &positioning, &detail);
        value_unref(held->at[which]);
        held->at[which] = position;
        raise_look(L, object, err, &detail);
    } else if (!value_is_array(bound)) {
        held->at[which] = array_push_adopt(value_empty_array(), bound);
    }
    return held->at[which];
}

static uint64_t check_limit(lua_State *L)
{
    lua_Integer limit = 0;
    if (!lua_isnil(L, 2) && lua_getfield(L, 2, "limit") != LUA_TNIL) {
        int is_integer = 0;
        limit = lua_tointegerx(L, -1, &is_integer);
        if (lua_type(L, -1) != LUA_TNUMBER || is_integer == 0 || limit < 1) {
            (void)luaL_error(L, "limit must be an integer from 1 on");
        }
    }
    lua_settop(L, 3);
    return (uint64_t)limit;
}

static bool check_reverse(lua_State *L)
{
    bool reverse = false;
    if (!lua_isnil(L, 2) && lua_getfield(L, 2, "reverse") != LUA_TNIL) {
        if (!lua_isboolean(L, -1)) {
            (void)luaL_error(L,
                             "'reverse' of a range must be true or false, not "
                             "a %s",
                             luaL_typename(L, -1));
        }
        reverse = lua_toboolean(L, -1) != 0;
    }
    lua_settop(L, 3);
    return reverse;
}

static struct value check_index(lua_State *L, struct held_values *held)
{
    if (!lua_isnil(L, 2) && lua_getfield(L, 2, "index") != LUA_TNIL) {
        if (lua_type(L, -1) != LUA_TSTRING) {
            (void)luaL_error(L,
                             "'index' of a range must be the name of an index, "
                             "not a %s",
                             luaL_typename(L, -1));
        }
        held->at[HELD_INDEX] = convert_check(L, -1, "index");
    }
    lua_settop(L, 3);
    return held->at[HELD_INDEX];
}

/* The options at 2, or none; what they are is held at 3. */
static struct finding check_range(lua_State *L,
                                  const struct collection_object *object,
                                  const char *const *names,
                                  size_t count)
{
    builders_check_options(L, 2, names, count);
    struct held_values *held = push_held(L);
    struct finding finding = {.found = &held->found};
    struct collection_range *range = &finding.range;
    range->index = check_index(L, held);
    range->from = check_bound(L, object, held, HELD_FROM, "from");
    range->to = check_bound(L, object, held, HELD_TO, "to");
    range->after = check_bound(L, object, held, HELD_AFTER, "after");
    range->limit = check_limit(L);
    range->reverse = check_reverse(L);
    return finding;
}

/* script-collection-1: the row is read as a whole. False: it is not there, or
 * has not come. */
static bool read_row(const struct collection_object *object,
                     struct value key,
                     struct entity **row,
                     enum err *err,
                     struct err_detail *detail)
{
    struct value whole = VALUE_NONE;
    enum err one = collection_row(object->collection, key, row, detail);
    if (one == ERR_OK) {
        struct place *place = place_payload(*row);
        one = reads_whole(object->binding.lua->frame,
                          place,
                          READ_DEEP,
                          READ_FOR_BOTH,
                          &whole,
                          detail);
        place_unref(place);
    }
    const bool is_there = one == ERR_OK && !value_is_absent(whole);
    value_unref(whole);
    *err = *err == ERR_OK ? one : *err;
    return is_there;
}

/* Pushes the list of the rows that were found. script-collection-2: all are
 * read before what is missing is raised. */
static void push_rows(lua_State *L,
                      const struct collection_object *object,
                      const struct pages_found *found,
                      enum err err)
{
    struct lua_runtime *lua = object->binding.lua;
    struct err_detail detail = {0};
    lua_createtable(L, (int)(found->count < 1000 ? found->count : 1000), 0);
    (void)convert_tag_array(L, lua_gettop(L));
    lua_Integer next = 1;
    VEC_FOREACH (&found->row_keys, key) {
        struct entity *row = NULL;
        if (read_row(object, *key, &row, &err, &detail)) {
            struct place *place = place_payload(row);
            items_push_row(L, lua, place);
            place_unref(place);
            lua_rawseti(L, -2, next++);
        }
    }
    raise_look(L, object, err, &detail);
}

static int collection_range_method(lua_State *L)
{
    static const char *const names[] =
        {"index", "from", "to", "after", "limit", "reverse"};
    lua_settop(L, 2);
    const struct collection_object *object = check_object(L);
    check_frame(L, object->binding.lua);
    struct finding finding = check_range(L, object, names, COUNT_OF(names));
    struct err_detail detail = {0};
    const enum err err = look_at(object, find_rows, &finding, &detail);
    if (err != ERR_OK && err != ERR_STALE) {
        raise_look(L, object, err, &detail);
    }
    script_charge(L, READ_STEPS * (1 + finding.found->count));
    push_rows(L, object, finding.found, err);
    return 1;
}

static int collection_count_method(lua_State *L)
{
    static const char *const names[] = {"index", "from", "to"};
    lua_settop(L, 2);
    const struct collection_object *object = check_object(L);
    check_frame(L, object->binding.lua);
    struct finding finding = check_range(L, object, names, COUNT_OF(names));
    struct err_detail detail = {0};
    uint64_t count = 0;
    const bool is_whole = value_is_absent(finding.range.index) &&
                          value_is_absent(finding.range.from) &&
                          value_is_absent(finding.range.to);
    finding.range.count_only = true;
    const enum err err = is_whole
                             ? look_at(object, count_rows, &count, &detail)
                             : look_at(object, find_rows, &finding, &detail);
    raise_look(L, object, err, &detail);
    count = is_whole ? count : finding.found->count;
    script_charge(L, READ_STEPS + (is_whole ? 0 : count));
    lua_pushinteger(L, (lua_Integer)count);
    return 1;
}

/* -- The class ----------------------------------------------------------- */

static const luaL_Reg collection_methods[] = {
    {"insert", collection_insert_method},
    {"put", collection_put_method},
    {"update", collection_update_method},
    {"remove", collection_remove_method},
    {"get", collection_get_method},
    {"row", collection_row_method},
    {"range", collection_range_method},
    {"count", collection_count_method},
    {NULL, NULL},
};

static enum err object_value(void *ctx,
                             struct value *out,
                             struct err_detail *detail)
{
    const struct collection_object *object = ctx;
    if (object->collection == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the runtime of this collection has ended");
    }
    *out = cell_link(object->collection->root, NULL);
    return ERR_OK;
}

static struct value object_identity(void *ctx)
{
    const struct collection_object *object = ctx;
    return object->collection != NULL
               ? lua_runtime_place_value(object->collection->root)
               : value_null();
}

static int object_tostring(lua_State *L)
{
    const struct collection_object *object = check_object(L);
    const struct text name = value_text(&object->name);
    lua_pushliteral(L, "collection ");
    lua_pushlstring(L, name.at, name.length);
    lua_concat(L, 2);
    return 1;
}

static const luaL_Reg collection_metamethods[] = {
    {"__tostring", object_tostring},
    {NULL, NULL},
};

const struct script_class collection_class = {
    .name = "collection",
    .methods = collection_methods,
    .metamethods = collection_metamethods,
    .release = object_release,
    .value = object_value,
    .identity = object_identity,
};

/* -- Declaring ----------------------------------------------------------- */

/* The options at 3 as a definition, held. */
static struct value check_definition(lua_State *L, struct building_state *state)
{
    static const char *const names[] = {"key", "index", "schema"};
    luaL_checktype(L, 3, LUA_TTABLE);
    builders_check_options(L, 3, names, COUNT_OF(names));
    struct value *held = builders_hold(state, 2);
    *held = convert_check(L, 3, "the options");
    const struct value index = object_field(*held, "index");
    if (value_is_object(index) && object_count(index) == 0) {
        const struct value key = value_text_new("index");
        *held = object_remove_adopt(*held, key);
    }
    return *held;
}

int collections_declare(lua_State *L)
{
    lua_settop(L, 3);
    const struct builder_object *p = builders_check(L);
    struct building_state *state = p->state;
    const struct value *name = builders_check_name(L, state, 2);
    const struct builder_collection given = {
        .name = *name,
        .definition = check_definition(L, state),
    };
    struct collection_object *object =
        script_object_push(L, &collection_class, sizeof *object);
    struct collection *collection = NULL;
    struct err_detail detail = {0};
    const enum err err =
        builder_collection(state->builder, &given, &collection, &detail);
    builders_raise(L, state, err, &detail);
    object->collection = collection;
    object->name = value_ref(*name);
    binding_tie(&object->binding, p->lua, object_cut);
    return 1;
}
