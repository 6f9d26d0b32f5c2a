/* All objects that can be reached are numbered in the order in which they are
 * met, and described one after the other; a description names others by their
 * numbers. No recursion, and the text is the same wherever it is made. */

#include "script/fingerprint.h"

#include <lauxlib.h>
#include <string.h>

#include "base/check.h"
#include "script/bytecode.h"
#include "script/object.h"
#include "script/sandbox.h"
#include "value/json.h"

/* The stack of the walk. */
enum {
    WALK_CONTEXT = 1,
    WALK_NUMBERS, /* object to number */
    WALK_OBJECTS, /* number to object */
    WALK_TEXT,    /* the description, a buffer */
    WALK_DUMP,    /* a function's code, a buffer */
    WALK_MEMORY,  /* what was seen first, a table; or nil */
};

struct walk {
    lua_State *L;
    struct script *script;
    struct script_function function; /* or a table */
    struct script_function memory;   /* or none */
    struct buf *text;
    struct buf *dump;
    lua_Integer count; /* of objects met */
    enum err err;
    struct digest digest;
    struct err_detail *detail;
};

__attribute__((format(printf, 3, 4))) static void refuse(struct walk *walk,
                                                         enum err err,
                                                         const char *format,
                                                         ...)
{
    char sentence[ERR_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (walk->err == ERR_OK) {
        walk->err = err_set(walk->detail, err, "%s", sentence);
    }
}

static void write_bytes(struct walk *walk, const void *bytes, size_t length)
{
    if (length > FINGERPRINT_BYTES_MAX ||
        walk->text->length > FINGERPRINT_BYTES_MAX - length) {
        refuse(walk, ERR_LIMIT_SIZE, "the function captures too much");
        return;
    }
    buf_append(walk->text, bytes, length);
}

/* A mark and a length in front: no two descriptions can run together. */
static void write_text(struct walk *walk,
                       char mark,
                       const char *at,
                       size_t size)
{
    char head[32];
    const int length = snprintf(head, sizeof head, "%c%zu:", mark, size);
    write_bytes(walk, head, (size_t)length);
    write_bytes(walk, at, size);
}

static void write_number(struct walk *walk, char mark, lua_Integer number)
{
    char head[32];
    const int length = snprintf(head, sizeof head, "%c%lld:", mark, number);
    write_bytes(walk, head, (size_t)length);
}

/* -- Objects ------------------------------------------------------------- */

/* The number of the table or function at `index`: a new one is described
 * later. */
static void write_reference(struct walk *walk, int index)
{
    lua_State *L = walk->L;
    index = lua_absindex(L, index);
    lua_pushvalue(L, index);
    if (lua_rawget(L, WALK_NUMBERS) == LUA_TNIL) {
        if (walk->count == FINGERPRINT_OBJECTS_MAX) {
            refuse(walk, ERR_LIMIT_SIZE, "the function captures too much");
        }
        walk->count++;
        lua_pushvalue(L, index);
        lua_pushinteger(L, walk->count);
        lua_rawset(L, WALK_NUMBERS);
        lua_pushvalue(L, index);
        lua_rawseti(L, WALK_OBJECTS, walk->count);
        write_number(walk, '@', walk->count);
    } else {
        write_number(walk, '@', lua_tointeger(L, -1));
    }
    lua_pop(L, 1);
}

/* An object of C by what its class says. Nothing here raises. */
static void write_object(struct walk *walk, int index, const char *name)
{
    const struct script_class *class = NULL;
    void *object = script_object_at(walk->L, index, &class);
    if (object == NULL || class->identity == NULL) {
        refuse(walk,
               ERR_TYPE,
               "'%s' is a %s, which has no identity",
               name,
               object != NULL ? class->name : "userdata");
        return;
    }
    const struct value identity = class->identity(object);
    struct buf text = {0};
    if (!value_is_absent(identity)) {
        json_write(&text, identity, JSON_CANONICAL, 0);
    }
    write_text(walk, 'o', class->name, strlen(class->name));
    write_text(walk, 'v', buf_text(&text), text.length);
    value_unref(identity);
    buf_release(&text);
}

/* The value at `index`, which a sentence calls `name`. */
static void write_value(struct walk *walk, int index, const char *name)
{
    lua_State *L = walk->L;
    size_t length = 0;
    const char *text = NULL;
    switch (lua_type(L, index)) {
    case LUA_TNIL:
        write_bytes(walk, "n", 1);
        break;
    case LUA_TBOOLEAN:
        write_bytes(walk, lua_toboolean(L, index) != 0 ? "t" : "f", 1);
        break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) {
            write_number(walk, 'i', lua_tointeger(L, index));
        } else {
            const lua_Number real = lua_tonumber(L, index);
            write_text(walk, 'd', (const char *)&real, sizeof real);
        }
        break;
    case LUA_TSTRING:
        text = lua_tolstring(L, index, &length);
        write_text(walk, 's', text, length);
        break;
    case LUA_TUSERDATA:
        write_object(walk, index, name);
        break;
    case LUA_TTABLE:
        if (sandbox_is_environment(L, index)) {
            write_bytes(walk, "E", 1);
        } else {
            write_reference(walk, index);
        }
        break;
    case LUA_TFUNCTION:
        text = sandbox_function_name(L, index);
        if (text != NULL) {
            write_text(walk, 'l', text, strlen(text));
        } else if (lua_iscfunction(L, index) != 0) {
            refuse(walk, ERR_TYPE, "'%s' is a function of C", name);
        } else {
            write_reference(walk, index);
        }
        break;
    default:
        refuse(walk,
               ERR_TYPE,
               "'%s' is a %s, which has no identity",
               name,
               luaL_typename(L, index));
        break;
    }
}

/* -- Descriptions -------------------------------------------------------- */

static int write_dump(lua_State *L, const void *bytes, size_t size, void *ctx)
{
    (void)L;
    struct buf *dump = ctx;
    if (dump->length + size > FINGERPRINT_BYTES_MAX) {
        return 1;
    }
    buf_append(dump, bytes, size);
    return 0;
}

/* -- What was seen first ------------------------------------------------- */

/* Describes the captured table on top by what it held when it was first seen.
 * A walk of its own, that remembers nothing: no recursion. */
static void write_first_content(struct walk *walk)
{
    lua_State *L = walk->L;
    lua_pushvalue(L, -1);
    if (lua_rawget(L, WALK_MEMORY) != LUA_TSTRING) {
        lua_pop(L, 1);
        struct script_function table = script_function_keep(L, -1);
        struct digest digest;
        const enum err err =
            script_fingerprint(walk->script, table, &digest, walk->detail);
        script_function_release(walk->script, &table);
        if (err != ERR_OK) {
            walk->err = walk->err == ERR_OK ? err : walk->err;
            lua_pushnil(L);
        } else {
            lua_pushlstring(L, (const char *)digest.bytes, sizeof digest.bytes);
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, WALK_MEMORY);
        }
    }
    size_t length = 0;
    const char *text = lua_tolstring(L, -1, &length);
    if (text != NULL) {
        write_text(walk, 'T', text, length);
    }
    lua_pop(L, 1);
}

/* The same for a plain value in a captured variable. */
static void write_first_value(struct walk *walk, int function, int upvalue)
{
    lua_State *L = walk->L;
    const void *variable = lua_upvalueid(L, function, upvalue);
    if (lua_rawgetp(L, WALK_MEMORY, variable) != LUA_TSTRING) {
        lua_pop(L, 1);
        const size_t start = walk->text->length;
        write_value(walk, -1, "a variable");
        lua_pushlstring(L,
                        buf_text(walk->text) + start,
                        walk->text->length - start);
        walk->text->length = start;
        lua_pushvalue(L, -1);
        lua_rawsetp(L, WALK_MEMORY, variable);
        lua_pushvalue(L, function); /* as long as it lives, the variable does */
        lua_pushboolean(L, 1);
        lua_rawset(L, WALK_MEMORY);
    }
    size_t length = 0;
    const char *text = lua_tolstring(L, -1, &length);
    write_bytes(walk, text, length);
    lua_pop(L, 1);
}

/* The value of the variable is on top. */
static void write_captured(struct walk *walk,
                           int function,
                           int upvalue,
                           const char *name)
{
    lua_State *L = walk->L;
    const int type = lua_type(L, -1);
    if (lua_isnil(L, WALK_MEMORY)) {
        write_value(walk, -1, name);
        return;
    }
    const bool is_known =
        lua_rawgetp(L, WALK_MEMORY, lua_upvalueid(L, function, upvalue)) ==
        LUA_TSTRING;
    lua_pop(L, 1);
    if (is_known || type == LUA_TNIL || type == LUA_TBOOLEAN ||
        type == LUA_TNUMBER || type == LUA_TSTRING) {
        write_first_value(walk, function, upvalue);
    } else if (type == LUA_TTABLE && !sandbox_is_environment(L, -1)) {
        write_first_content(walk);
    } else {
        write_value(walk, -1, name);
    }
}

/* The function on top: its code, and its upvalues in their order. */
static void describe_function(struct walk *walk)
{
    lua_State *L = walk->L;
    const int function = lua_gettop(L);
    buf_clear(walk->dump);
    if (lua_dump(L, write_dump, walk->dump, 1) != 0) {
        refuse(walk, ERR_LIMIT_SIZE, "the function is too large");
        return;
    }
    script_charge_bytes(L, walk->dump->length * 8);
    /* What is left has no mark at its end; its own structure has. */
    write_bytes(walk, "F", 1);
    if (!bytecode_reduce(walk->dump->at, walk->dump->length, walk->text)) {
        refuse(walk, ERR_TYPE, "the function's code has an unknown form");
        return;
    }
    const char *name = NULL;
    for (int i = 1; (name = lua_getupvalue(L, function, i)) != NULL; i++) {
        write_captured(walk, function, i, name);
        lua_pop(L, 1);
    }
}

/* The table on top: its entries in an order of their own, its metatable. */
static void describe_table(struct walk *walk)
{
    lua_State *L = walk->L;
    const int table = lua_gettop(L);
    write_bytes(walk, "T", 1);
    lua_pushcfunction(L, sandbox_raw_pairs);
    lua_pushvalue(L, table);
    lua_call(L, 1, 3);
    for (;;) {
        /* iterator, table, key */
        lua_pushvalue(L, -3);
        lua_pushvalue(L, -3);
        lua_pushvalue(L, -3);
        lua_call(L, 2, 2);
        if (lua_isnil(L, -2) || walk->err != ERR_OK) {
            break;
        }
        const int type = lua_type(L, -2);
        if (type == LUA_TTABLE || type == LUA_TFUNCTION ||
            type == LUA_TUSERDATA || type == LUA_TTHREAD) {
            refuse(walk,
                   ERR_TYPE,
                   "a captured table has a %s as a key, which has no order",
                   lua_typename(L, type));
            break;
        }
        write_value(walk, -2, "a key");
        const char *name =
            type == LUA_TSTRING ? lua_tostring(L, -2) : "an element";
        write_value(walk, -1, name);
        lua_pop(L, 1);
        lua_replace(L, -2);
    }
    lua_settop(L, table);
    if (lua_getmetatable(L, table) != 0) {
        write_bytes(walk, "M", 1);
        write_value(walk, -1, "a metatable");
    }
}

static int run_fingerprint(lua_State *L)
{
    struct walk *walk = lua_touserdata(L, WALK_CONTEXT);
    walk->L = L;
    luaL_checkstack(L, 20, "no room for a fingerprint");
    lua_newtable(L);
    lua_newtable(L);
    walk->text = script_buffer_push(L);
    walk->dump = script_buffer_push(L);
    if (walk->memory.reference > 0) {
        script_function_push(L, walk->memory);
    } else {
        lua_pushnil(L);
    }
    script_function_push(L, walk->function);
    if (!lua_isfunction(L, -1) && !lua_istable(L, -1)) {
        refuse(walk, ERR_TYPE, "this is not a function");
    } else {
        write_value(walk, -1, "the function");
    }
    for (lua_Integer at = 1; at <= walk->count && walk->err == ERR_OK; at++) {
        script_charge(L, 10);
        lua_settop(L, WALK_MEMORY);
        if (lua_rawgeti(L, WALK_OBJECTS, at) == LUA_TFUNCTION) {
            describe_function(walk);
        } else {
            describe_table(walk);
        }
    }
    if (walk->err == ERR_OK) {
        walk->digest = digest_of_bytes("heddle lua function 1",
                                       buf_text(walk->text),
                                       walk->text->length);
    }
    return 0;
}

enum err script_fingerprint(struct script *script,
                            struct script_function function,
                            struct digest *out,
                            struct err_detail *detail)
{
    const struct script_function none = {0};
    return script_fingerprint_first(script, function, none, out, detail);
}

enum err script_fingerprint_first(struct script *script,
                                  struct script_function function,
                                  struct script_function memory,
                                  struct digest *out,
                                  struct err_detail *detail)
{
    struct walk walk = {
        .script = script,
        .function = function,
        .memory = memory,
        .detail = detail,
    };
    struct script_error error = {0};
    *out = (struct digest){0};
    if (script_protect(script, run_fingerprint, &walk, 0, &error) !=
        SCRIPT_FINE) {
        walk.err =
            err_set(detail, ERR_NO_MEMORY, "%s", buf_text(&error.message));
    }
    script_error_release(&error);
    if (walk.err == ERR_OK) {
        *out = walk.digest;
    }
    return walk.err;
}
