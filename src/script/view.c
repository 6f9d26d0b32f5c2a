/* Views and the cursors of loops over them. */

#include "script/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "script/convert.h"
#include "script/vm.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    TEXT_BYTES_MAX = 64 * 1024, /* of tostring(view) */
};

struct view {
    struct list_node node; /* in run->views while `run` is set */
    struct view_run *run;  /* NULL: dead, or not filled yet */
    struct view_place place;
    bool is_array;
};

/* -- Life ---------------------------------------------------------------- */

static void view_die(struct view *view)
{
    if (view->run != NULL) {
        list_remove(&view->node);
        path_unref(view->place.path);
        view->run = NULL;
    }
}

static void view_release(void *object)
{
    view_die(object);
}

static void found_release(struct view_found *found)
{
    value_unref(found->value);
    path_unref(found->place.path);
    *found = (struct view_found){0};
}

void view_run_begin(struct view_run *run, struct view_source *source)
{
    *run = (struct view_run){.source = source};
    list_init(&run->views);
}

void view_run_end(struct view_run *run)
{
    while (!list_is_empty(&run->views)) {
        view_die(CONTAINER_OF(list_first(&run->views), struct view, node));
    }
    found_release(&run->held);
}

/* -- Reading ------------------------------------------------------------- */

static struct view *check_view(lua_State *L, int argument)
{
    struct view *view = script_object_check(L, argument, &view_class);
    if (view->run == NULL) {
        (void)luaL_error(L,
                         "this value was read in a run that has ended: "
                         "read it again with get()");
    }
    return view;
}

void view_raise(lua_State *L, enum err err, const struct err_detail *detail)
{
    if (err == ERR_OK) {
        return;
    }
    const bool is_said = detail->text[0] != '\0';
    const char *text = is_said ? detail->text : err_text(err);
    if (err == ERR_STALE) {
        (void)script_stop(L, SCRIPT_STOPPED, 0, "%s", text);
    }
    (void)luaL_error(L, "%s", text);
}

struct view_found *view_hold(struct view_run *run)
{
    found_release(&run->held);
    return &run->held;
}

void view_push_held(lua_State *L, struct view_run *run)
{
    struct view_found *held = &run->held;
    if (!value_is_container(held->value)) {
        convert_push(L, held->value);
        found_release(held);
        return;
    }
    struct view *view = script_object_push(L, &view_class, sizeof *view);
    list_node_init(&view->node);
    list_insert_before(&view->node, &run->views.head);
    view->run = run;
    view->place = held->place;
    view->is_array = value_is_array(held->value);
    held->place.path = NULL; /* the view's now */
    found_release(held);
}

/* Reads one step below a view and pushes it; nil for nothing. Releases the
 * step. */
static void push_child(lua_State *L,
                       const struct view *view,
                       struct path_segment step)
{
    struct view_run *run = view->run;
    struct view_source *source = run->source;
    struct err_detail detail = {0};
    const enum err err =
        source->child(source, &view->place, &step, view_hold(run), &detail);
    path_segment_release(&step);
    view_raise(L, err, &detail);
    view_push_held(L, run);
}

/* The step that the key at `index` of the Lua stack is; false if nothing can
 * be there. Raises nothing. */
static bool step_of_key(lua_State *L,
                        int index,
                        bool is_array,
                        struct path_segment *step)
{
    if (is_array) {
        int is_integer = 0;
        const lua_Integer key = lua_type(L, index) == LUA_TNUMBER
                                    ? lua_tointegerx(L, index, &is_integer)
                                    : 0;
        if (is_integer == 0 || key < 1 || key > LIMIT_ARRAY_ELEMENTS) {
            return false;
        }
        *step = path_segment_of_index((uint32_t)(key - 1));
        return true;
    }
    if (lua_type(L, index) != LUA_TSTRING) {
        return false;
    }
    size_t length = 0;
    const char *text = lua_tolstring(L, index, &length);
    if (length > LIMIT_STRING_BYTES || !utf8_is_valid(text, length)) {
        return false;
    }
    const struct value key = value_string_new(text, length);
    *step = path_segment(key);
    value_unref(key);
    return true;
}

static int view_index(lua_State *L)
{
    const struct view *view = check_view(L, 1);
    struct path_segment step;
    if (step_of_key(L, 2, view->is_array, &step)) {
        push_child(L, view, step);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

/* The length of an array, after a shape read; of an object 0. */
static uint32_t read_length(lua_State *L, const struct view *view)
{
    struct view_source *source = view->run->source;
    struct value shape = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = source->shape(source, &view->place, &shape, &detail);
    const uint32_t length = value_is_array(shape) ? array_count(shape) : 0;
    value_unref(shape);
    view_raise(L, err, &detail);
    return length;
}

static int view_len(lua_State *L)
{
    lua_pushinteger(L, read_length(L, check_view(L, 1)));
    return 1;
}

static int view_eq(lua_State *L)
{
    const struct view *a = script_object_test(L, 1, &view_class);
    const struct view *b = script_object_test(L, 2, &view_class);
    lua_pushboolean(L,
                    a != NULL && b != NULL && a->run != NULL &&
                        a->run == b->run &&
                        a->place.document == b->place.document &&
                        a->place.path == b->place.path);
    return 1;
}

/* -- Loops --------------------------------------------------------------- */

/* The keys of an object as they were at the beginning of a loop. */
struct cursor {
    struct value *keys;
    size_t count;
    size_t next;
};

static void cursor_release(void *object)
{
    struct cursor *cursor = object;
    for (size_t i = 0; i < cursor->count; i++) {
        value_unref(cursor->keys[i]);
    }
    mem_free(cursor->keys, cursor->count * sizeof *cursor->keys);
    *cursor = (struct cursor){0};
}

static const struct script_class cursor_class = {
    .name = "cursor",
    .release = cursor_release,
};

static int compare_keys(const void *a, const void *b)
{
    return value_compare_strings(*(const struct value *)a,
                                 *(const struct value *)b);
}

static void cursor_fill(struct cursor *cursor, struct value object)
{
    const uint32_t count = object_count(object);
    if (count == 0) {
        return;
    }
    cursor->keys = mem_alloc(mem_array_size(count, sizeof *cursor->keys));
    struct object_iter entries = object_iter(object);
    struct value key;
    struct value item;
    while (object_next(&entries, &key, &item)) {
        cursor->keys[cursor->count++] = value_ref(key);
    }
    CHECK(cursor->count == count);
    qsort(cursor->keys, count, sizeof *cursor->keys, compare_keys);
}

/* next(view, key) with the cursor as the upvalue. What is gone is left out. */
static int object_step(lua_State *L)
{
    struct cursor *cursor = lua_touserdata(L, lua_upvalueindex(1));
    const struct view *view = check_view(L, 1);
    while (cursor->next < cursor->count) {
        const struct value key = cursor->keys[cursor->next++];
        lua_settop(L, 1);
        convert_push(L, key);
        push_child(L, view, path_segment(key));
        if (!lua_isnil(L, -1)) {
            return 2;
        }
    }
    lua_pushnil(L);
    return 1;
}

/* next(view, position) with the length as the upvalue. */
static int array_step(lua_State *L)
{
    const struct view *view = check_view(L, 1);
    const lua_Integer next =
        (lua_Integer)((lua_Unsigned)luaL_checkinteger(L, 2) + 1);
    const lua_Integer length = lua_tointeger(L, lua_upvalueindex(1));
    if (next < 1 || next > length) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, next);
    push_child(L, view, path_segment_of_index((uint32_t)(next - 1)));
    if (lua_isnil(L, -1)) {
        return 1; /* it has become shorter */
    }
    return 2;
}

static int loop_over_array(lua_State *L, const struct view *view)
{
    lua_pushinteger(L, read_length(L, view));
    lua_pushcclosure(L, array_step, 1);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

static int view_ipairs(lua_State *L)
{
    return loop_over_array(L, check_view(L, 1));
}

static int view_pairs(lua_State *L)
{
    const struct view *view = check_view(L, 1);
    if (view->is_array) {
        return loop_over_array(L, view);
    }
    struct cursor *cursor =
        script_object_push(L, &cursor_class, sizeof *cursor);
    struct view_source *source = view->run->source;
    struct value shape = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = source->shape(source, &view->place, &shape, &detail);
    if (value_is_object(shape)) {
        cursor_fill(cursor, shape);
    }
    value_unref(shape);
    view_raise(L, err, &detail);
    script_charge(L, cursor->count);
    lua_pushcclosure(L, object_step, 1);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* -- The rest ------------------------------------------------------------ */

static int view_newindex(lua_State *L)
{
    (void)script_object_check(L, 1, &view_class);
    size_t length = 0;
    const char *text = NULL;
    if (lua_isinteger(L, 2)) {
        return luaL_error(L,
                          "the value of get() is read-only: use "
                          "cell:key(%I):set(value) or cell:append(value)",
                          lua_tointeger(L, 2));
    }
    if (lua_type(L, 2) == LUA_TSTRING) {
        text = lua_tolstring(L, 2, &length);
        lua_pushlstring(L, text, (size_t)text_shown(text, length, 40));
        return luaL_error(L,
                          "the value of get() is read-only: use "
                          "cell:key(\"%s\"):set(value)",
                          lua_tostring(L, -1));
    }
    return luaL_error(L,
                      "the value of get() is read-only: use "
                      "cell:key(...):set(value)");
}

static enum err view_value(void *object,
                           struct value *out,
                           struct err_detail *detail)
{
    const struct view *view = object;
    if (view->run == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "it was read in a run that has ended");
    }
    struct view_source *source = view->run->source;
    return source->deep(source, &view->place, out, detail);
}

static int view_tostring(lua_State *L)
{
    struct view *view = check_view(L, 1);
    struct buf *text = script_buffer_push(L);
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = view_value(view, &value, &detail);
    if (err == ERR_OK && !value_is_absent(value) &&
        !json_write_within(text, value, JSON_AS_GIVEN, 0, TEXT_BYTES_MAX)) {
        buf_clear(text);
        buf_append_text(text, value_kind_name(value_kind(value)));
        buf_append_text(text, " of more than 64 KiB");
    }
    value_unref(value);
    view_raise(L, err, &detail);
    lua_pushlstring(L, buf_text(text), text->length);
    return 1;
}

static const luaL_Reg view_metamethods[] = {
    {"__index", view_index},
    {"__newindex", view_newindex},
    {"__len", view_len},
    {"__eq", view_eq},
    {"__pairs", view_pairs},
    {"__ipairs", view_ipairs},
    {"__tostring", view_tostring},
    {NULL, NULL},
};

const struct script_class view_class = {
    .name = "view",
    .metamethods = view_metamethods,
    .release = view_release,
    .value = view_value,
};

bool view_is(lua_State *L, int index)
{
    return script_object_test(L, index, &view_class) != NULL;
}
