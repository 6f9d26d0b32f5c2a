/* Both directions without recursion over data: what is open is on a stack of
 * frames. Pushing keeps its frames in an object of the state, because it may
 * raise; reading may not, and keeps them here. */

#include "script/convert.h"

#include <string.h>

#include "base/check.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/stack.h"
#include "base/text.h"
#include "base/vec.h"
#include "script/leaf.h"
#include "script/vm.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    VALUE_BYTES = 16, /* that a value counts for, beside its text */
};

/* Keys of the registry; only their addresses count. The metatables that tag,
 * and null. */
static const char array_key = 0;
static const char object_key = 0;
static const char empty_key = 0; /* was an empty object: convert_kind */
static const char null_key = 0;

/* -- Tags ---------------------------------------------------------------- */

/* Pushes the metatable that tags. */
static void push_tag(lua_State *L, const char *key)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) {
        return;
    }
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushstring(L, key == &array_key ? "array" : "object");
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

/* Whether the table at `index` has this tag. Raises nothing. */
static bool has_tag(lua_State *L, int index, const char *key)
{
    if (lua_getmetatable(L, index) == 0) {
        return false;
    }
    (void)lua_rawgetp(L, LUA_REGISTRYINDEX, key);
    const bool same = lua_rawequal(L, -1, -2) != 0;
    lua_pop(L, 2);
    return same;
}

static bool tag(lua_State *L, int index, const char *key)
{
    index = lua_absindex(L, index);
    luaL_checkstack(L, 3, "no room for a tag");
    if (lua_getmetatable(L, index) != 0) {
        lua_pop(L, 1);
        if (!has_tag(L, index, &array_key) && !has_tag(L, index, &object_key) &&
            !has_tag(L, index, &empty_key)) {
            return false;
        }
    }
    push_tag(L, key);
    (void)lua_setmetatable(L, index);
    return true;
}

enum convert_kind convert_kind(lua_State *L, int index)
{
    if (has_tag(L, index, &array_key)) {
        return CONVERT_ARRAY;
    }
    return has_tag(L, index, &object_key) || has_tag(L, index, &empty_key)
               ? CONVERT_OBJECT
               : CONVERT_UNTAGGED;
}

bool convert_tag_array(lua_State *L, int index)
{
    return tag(L, index, &array_key);
}

bool convert_tag_object(lua_State *L, int index)
{
    return tag(L, index, &object_key);
}

void convert_push_null(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key) == LUA_TUSERDATA) {
        return;
    }
    lua_pop(L, 1);
    leaf_push(L, value_null());
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &null_key);
}

static int do_tag(lua_State *L, const char *key)
{
    if (lua_gettop(L) == 0) {
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    if (!tag(L, 1, key)) {
        return luaL_error(L, "the table has a metatable of its own");
    }
    return 1;
}

static int do_array(lua_State *L)
{
    return do_tag(L, &array_key);
}

static int do_object(lua_State *L)
{
    return do_tag(L, &object_key);
}

void convert_add_functions(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"array", do_array},
        {"object", do_object},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
    convert_push_null(L);
    lua_setfield(L, -2, "null");
}

/* -- To Lua -------------------------------------------------------------- */

struct push_frame {
    bool is_array;
    lua_Integer next; /* of an array: the position to fill */
    struct array_iter items;
    struct object_iter entries;
};

static void push_leaf(lua_State *L, struct value value)
{
    switch (value_kind(value)) {
    case VALUE_ABSENT:
        lua_pushnil(L);
        break;
    case VALUE_NULL:
        convert_push_null(L);
        break;
    case VALUE_BOOL:
        lua_pushboolean(L, value_boolean(value));
        break;
    case VALUE_INT:
        lua_pushinteger(L, value_integer(value));
        break;
    case VALUE_DOUBLE:
        lua_pushnumber(L, value_real(value));
        break;
    case VALUE_STRING: {
        const struct text text = value_text(&value);
        lua_pushlstring(L, text.at, text.length);
        break;
    }
    case VALUE_LINK:
    case VALUE_TAGGED:
        leaf_push(L, value);
        break;
    case VALUE_ARRAY:
    case VALUE_OBJECT:
        UNREACHABLE("a container is no leaf");
    }
}

/* Pushes an empty table for a container, and opens it. */
static struct push_frame open_container(lua_State *L, struct value value)
{
    struct push_frame frame = {.is_array = value_is_array(value)};
    if (frame.is_array) {
        lua_createtable(L, (int)array_count(value), 0);
        push_tag(L, &array_key);
        (void)lua_setmetatable(L, -2);
        frame.items = array_iter(value);
    } else {
        lua_createtable(L, 0, (int)object_count(value));
        if (object_count(value) == 0) {
            push_tag(L, &empty_key);
            (void)lua_setmetatable(L, -2);
        }
        frame.entries = object_iter(value);
    }
    return frame;
}

/* The next item of the container whose table is on top; of an object its key
 * is pushed. False at the end. */
static bool next_item(lua_State *L,
                      struct push_frame *frame,
                      struct value *item)
{
    if (frame->is_array) {
        frame->next++;
        return array_next(&frame->items, item);
    }
    struct value key;
    if (!object_next(&frame->entries, &key, item)) {
        return false;
    }
    push_leaf(L, key);
    return true;
}

/* Puts the value on top into the table of `frame` below it. */
static void put_item(lua_State *L, const struct push_frame *frame)
{
    if (frame->is_array) {
        lua_rawseti(L, -2, frame->next);
    } else {
        lua_rawset(L, -3);
    }
}

void convert_push(lua_State *L, struct value value)
{
    luaL_checkstack(L, 8, "no room for a value");
    if (!value_is_container(value)) {
        push_leaf(L, value);
        return;
    }
    /* A table and a key for each level. */
    const unsigned depth = value_depth(value);
    luaL_checkstack(L, (int)depth * 2 + 8, "the value is nested too deeply");
    struct push_frame local[8];
    struct push_frame *frames = local;
    const int base = lua_gettop(L);
    if (depth > COUNT_OF(local)) {
        frames = lua_newuserdatauv(L, depth * sizeof *frames, 0);
    }
    size_t open = 1;
    frames[0] = open_container(L, value);
    while (open > 0) {
        struct push_frame *frame = &frames[open - 1];
        struct value item;
        if (!next_item(L, frame, &item)) {
            open--;
            if (open > 0) {
                put_item(L, &frames[open - 1]);
            }
        } else if (value_is_container(item)) {
            CHECK(open < depth);
            frames[open++] = open_container(L, item);
        } else {
            push_leaf(L, item);
            put_item(L, frame);
        }
    }
    if (frames != local) {
        lua_remove(L, base + 1);
    }
}

/* -- From Lua ------------------------------------------------------------ */

/* A container that is being read. Its table is on the Lua stack at `table`, an
 * object's current key right above it. */
struct read_frame {
    bool is_array;
    int table;
    const void *identity;
    uint32_t count; /* elements of an array */
    uint32_t next;  /* the element that is read, 1-based */
    size_t start;   /* where its items begin in `done` */
};

struct reader {
    lua_State *L;
    const char *name;
    size_t depth_max;
    size_t bytes_left;
    struct err_detail *detail;
    STACK(struct read_frame, 8) open;
    VEC(struct value) done; /* finished items, of an object with their keys */
};

/* -- The place of a fault, as Lua would write it -- */

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const bool is_letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9')) {
            return false;
        }
    }
    return length > 0;
}

static void write_key(struct buf *to, lua_State *L, int index)
{
    size_t length = 0;
    switch (lua_type(L, index)) {
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, index, &length);
        const int shown = text_shown(text, length, 40);
        if (is_name(text, length)) {
            buf_printf(to, ".%.*s", shown, text);
        } else {
            buf_printf(to, "[\"%.*s\"]", shown, text);
        }
        break;
    }
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) {
            buf_printf(to, "[%lld]", lua_tointeger(L, index));
        } else {
            buf_printf(to, "[%.14g]", lua_tonumber(L, index));
        }
        break;
    case LUA_TBOOLEAN:
        buf_append_text(to,
                        lua_toboolean(L, index) != 0 ? "[true]" : "[false]");
        break;
    default:
        buf_printf(to, "[a %s]", lua_typename(L, lua_type(L, index)));
        break;
    }
}

/* The place of the item that is being read; a long way is shown by its end. */
static void write_place(struct buf *to, const struct reader *reader)
{
    enum {
        SHOWN_MAX = 12
    };
    const size_t depth = reader->open.count;
    buf_append_text(to, reader->name);
    if (depth > SHOWN_MAX) {
        buf_append_text(to, "...");
    }
    for (size_t i = depth > SHOWN_MAX ? depth - SHOWN_MAX : 0; i < depth; i++) {
        const struct read_frame *frame = &reader->open.at[i];
        if (frame->is_array) {
            buf_printf(to, "[%u]", frame->next);
        } else {
            write_key(to, reader->L, frame->table + 1);
        }
    }
}

__attribute__((format(printf, 3, 4))) static enum err refuse(
    const struct reader *reader,
    enum err err,
    const char *format,
    ...)
{
    char why[ERR_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    struct buf place = {0};
    write_place(&place, reader);
    (void)err_set(reader->detail, err, "%s %s", buf_text(&place), why);
    buf_release(&place);
    return err;
}

static enum err count_bytes(struct reader *reader, size_t bytes)
{
    if (bytes > reader->bytes_left) {
        return refuse(reader, ERR_LIMIT_SIZE, "makes the value too large");
    }
    reader->bytes_left -= bytes;
    return ERR_OK;
}

/* -- Leaves -- */

static enum err read_string(struct reader *reader, int index, struct value *out)
{
    size_t length = 0;
    const char *text = lua_tolstring(reader->L, index, &length);
    if (length > LIMIT_STRING_BYTES) {
        return refuse(reader, ERR_LIMIT_STRING, "is a string that is too long");
    }
    if (!utf8_is_valid(text, length)) {
        return refuse(reader, ERR_SYNTAX, "is a string that is not UTF-8");
    }
    const enum err err = count_bytes(reader, length);
    if (err == ERR_OK) {
        *out = value_string_new(text, length);
    }
    return err;
}

static enum err read_object(struct reader *reader, int index, struct value *out)
{
    const struct script_class *class = NULL;
    void *object = script_object_at(reader->L, index, &class);
    if (object == NULL || class->value == NULL) {
        return refuse(reader,
                      ERR_TYPE,
                      "is a %s, which cannot be stored",
                      object != NULL ? class->name : "userdata");
    }
    struct err_detail detail = {0};
    const enum err err = class->value(object, out, &detail);
    if (err != ERR_OK) {
        return refuse(reader, err, "cannot be read: %s", detail.text);
    }
    if (value_is_absent(*out) && reader->open.count > 0) {
        return refuse(reader,
                      ERR_NOT_FOUND,
                      "shows data that was removed: copy what you need before "
                      "you remove it");
    }
    if (value_depth(*out) + reader->open.count > reader->depth_max) {
        value_unref(*out);
        *out = VALUE_NONE;
        return refuse(reader, ERR_LIMIT_DEPTH, "is nested too deeply");
    }
    return ERR_OK;
}

static enum err read_leaf(struct reader *reader, int index, struct value *out)
{
    lua_State *L = reader->L;
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
        *out = value_bool(lua_toboolean(L, index) != 0);
        return ERR_OK;
    case LUA_TNUMBER:
        *out = lua_isinteger(L, index) ? value_int(lua_tointeger(L, index))
                                       : value_double(lua_tonumber(L, index));
        return ERR_OK;
    case LUA_TSTRING:
        return read_string(reader, index, out);
    case LUA_TUSERDATA:
        return read_object(reader, index, out);
    default:
        return refuse(reader,
                      ERR_TYPE,
                      "is a %s, which cannot be stored",
                      lua_typename(L, lua_type(L, index)));
    }
}

/* -- Tables -- */

/* The tables that are open are the way down. The outermost are compared with
 * each new one; of those below, only the one at the last power of two, which
 * finds any cycle before it has gone round twice. */
static bool is_cycle(const struct reader *reader, const void *identity)
{
    enum {
        COMPARED = 16
    };
    const size_t depth = reader->open.count;
    for (size_t i = 0; i < depth && i < COMPARED; i++) {
        if (reader->open.at[i].identity == identity) {
            return true;
        }
    }
    if (depth <= COMPARED) {
        return false;
    }
    const size_t anchor = (size_t)1 << (63 - (unsigned)__builtin_clzll(depth));
    return reader->open.at[anchor - 1].identity == identity;
}

/* All keys of an array are 1 .. count. Says which one is not, and puts it on
 * top as the place. */
static enum err check_positions(struct reader *reader, struct read_frame *frame)
{
    lua_State *L = reader->L;
    uint64_t found = 0;
    lua_pushnil(L);
    while (lua_next(L, frame->table) != 0) {
        lua_pop(L, 1);
        const bool is_integer = lua_isinteger(L, -1) != 0;
        const lua_Integer key = is_integer ? lua_tointeger(L, -1) : 0;
        if (!is_integer || key < 1 || key > frame->count) {
            /* Its key is the place, as it is in an object. */
            frame->is_array = false;
            stack_push(&reader->open, *frame);
            const char *why = lua_type(L, -1) == LUA_TSTRING
                                  ? "is a key in a table that is an array"
                                  : "is beyond the end of an array with holes";
            return refuse(reader, ERR_TYPE, "%s", why);
        }
        found++;
    }
    if (found == frame->count) {
        return ERR_OK;
    }
    frame->next = 1;
    while (lua_rawgeti(L, frame->table, frame->next) != LUA_TNIL) {
        lua_pop(L, 1);
        frame->next++;
    }
    stack_push(&reader->open, *frame);
    return refuse(reader,
                  ERR_TYPE,
                  "is missing: an array has no holes, use heddle.null");
}

/* Opens the table on top of the stack. */
static enum err open_table(struct reader *reader)
{
    lua_State *L = reader->L;
    struct read_frame frame = {.table = lua_gettop(L),
                               .identity = lua_topointer(L, -1),
                               .start = reader->done.count};
    if (is_cycle(reader, frame.identity)) {
        return refuse(reader, ERR_TYPE, "contains itself");
    }
    if (reader->open.count >= reader->depth_max || lua_checkstack(L, 8) == 0) {
        return refuse(reader, ERR_LIMIT_DEPTH, "is nested too deeply");
    }
    const lua_Unsigned length = lua_rawlen(L, -1);
    frame.is_array = has_tag(L, frame.table, &array_key) ||
                     (length > 0 && !has_tag(L, frame.table, &object_key));
    if (frame.is_array) {
        if (length > LIMIT_ARRAY_ELEMENTS) {
            return refuse(reader, ERR_LIMIT_ELEMENTS, "has too many elements");
        }
        frame.count = (uint32_t)length;
        const enum err err = check_positions(reader, &frame);
        if (err != ERR_OK) {
            return err;
        }
    } else {
        lua_pushnil(L); /* the first key of lua_next */
    }
    stack_push(&reader->open, frame);
    return ERR_OK;
}

/* Pushes the next item of the innermost table, an object's above its key;
 * false at its end. The key becomes the first of the pair in `done`. */
static enum err next_field(struct reader *reader, bool *found)
{
    lua_State *L = reader->L;
    struct read_frame *frame = stack_top(&reader->open);
    if (frame->is_array) {
        *found = frame->next < frame->count;
        if (*found) {
            frame->next++;
            (void)lua_rawgeti(L, frame->table, frame->next);
        }
        return ERR_OK;
    }
    *found = lua_next(L, frame->table) != 0;
    if (!*found) {
        return ERR_OK;
    }
    if (lua_type(L, -2) != LUA_TSTRING) {
        return refuse(reader,
                      ERR_TYPE,
                      "has a non-string key in a table that is not an array");
    }
    struct value key = VALUE_NONE;
    enum err err = count_bytes(reader, VALUE_BYTES);
    if (err == ERR_OK) {
        err = read_string(reader, -2, &key);
    }
    if (err == ERR_OK) {
        vec_push(&reader->done, key);
    }
    return err;
}

/* -- Closing -- */

/* Pairs of key and item. */
static bool is_behind(const void *items, size_t a, size_t b)
{
    const struct value *pairs = items;
    return value_compare_strings(pairs[b * 2], pairs[a * 2]) < 0;
}

static void swap_pairs(void *items, size_t a, size_t b)
{
    struct value *pairs = items;
    for (size_t i = 0; i < 2; i++) {
        const struct value moved = pairs[a * 2 + i];
        pairs[a * 2 + i] = pairs[b * 2 + i];
        pairs[b * 2 + i] = moved;
    }
}

/* The innermost table is complete: its items become one. */
static enum err close_table(struct reader *reader, struct value *out)
{
    const struct read_frame frame = *stack_top(&reader->open);
    const size_t count = reader->done.count - frame.start;
    struct value *items = count > 0 ? reader->done.at + frame.start : NULL;
    if (!frame.is_array && count / 2 > LIMIT_OBJECT_KEYS) {
        reader->open.count--;
        return refuse(reader, ERR_LIMIT_KEYS, "has too many keys");
    }
    if (count == 0) {
        *out = frame.is_array ? value_empty_array() : value_empty_object();
    } else if (frame.is_array) {
        *out = array_new_adopt(items, count);
    } else {
        heap_sort(items, count / 2, is_behind, swap_pairs);
        *out = object_new_adopt(items, count / 2);
    }
    reader->done.count = frame.start;
    reader->open.count--;
    lua_settop(reader->L, frame.table - 1);
    return ERR_OK;
}

/* Takes the value on top: a leaf is finished, a table is opened. */
static enum err take_item(struct reader *reader)
{
    lua_State *L = reader->L;
    enum err err = count_bytes(reader, VALUE_BYTES);
    if (err != ERR_OK) {
        return err;
    }
    if (lua_type(L, -1) == LUA_TTABLE) {
        return open_table(reader);
    }
    struct value item = VALUE_NONE;
    err = read_leaf(reader, -1, &item);
    if (err == ERR_OK) {
        lua_pop(L, 1);
        vec_push(&reader->done, item);
    }
    return err;
}

static enum err read_all(struct reader *reader)
{
    enum err err = take_item(reader);
    while (err == ERR_OK && reader->open.count > 0) {
        bool found = false;
        err = next_field(reader, &found);
        if (err != ERR_OK) {
            break;
        }
        if (found) {
            err = take_item(reader);
            continue;
        }
        struct value closed = VALUE_NONE;
        err = close_table(reader, &closed);
        if (err == ERR_OK) {
            vec_push(&reader->done, closed);
        }
    }
    return err;
}

enum err convert_read(lua_State *L,
                      int index,
                      const char *name,
                      const struct convert_limits *limits,
                      struct value *out,
                      struct err_detail *detail)
{
    *out = VALUE_NONE;
    if (lua_isnoneornil(L, index)) {
        return ERR_OK;
    }
    const int top = lua_gettop(L);
    struct reader reader = {.L = L, .name = name, .detail = detail};
    const bool has_limits = limits != NULL;
    reader.depth_max =
        has_limits && limits->depth > 0 ? limits->depth : LIMIT_DEPTH;
    const size_t most =
        has_limits && limits->bytes > 0 ? limits->bytes : LIMIT_TEXT_BYTES;
    reader.bytes_left = most;
    stack_init(&reader.open);
    enum err err = ERR_OK;
    if (lua_checkstack(L, 8) == 0) {
        err = refuse(&reader, ERR_LIMIT_DEPTH, "has no room on the stack");
    } else {
        lua_pushvalue(L, index);
        err = read_all(&reader);
    }
    if (err == ERR_OK) {
        CHECK(reader.done.count == 1);
        *out = vec_pop(&reader.done);
    }
    VEC_FOREACH (&reader.done, item) {
        value_unref(*item);
    }
    vec_release(&reader.done);
    stack_release(&reader.open);
    lua_settop(L, top);
    /* Paid without raising: the caller owns the value. */
    struct script *script = script_of(L);
    script->converted = most - reader.bytes_left;
    script->steps_left -= (int64_t)(script->converted / VALUE_BYTES);
    return err;
}

struct value convert_check(lua_State *L, int index, const char *name)
{
    struct value value;
    struct err_detail detail = {0};
    if (convert_read(L, index, name, NULL, &value, &detail) != ERR_OK) {
        (void)luaL_error(L, "%s", detail.text);
    }
    return value;
}
