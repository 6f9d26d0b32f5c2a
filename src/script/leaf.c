/* The leaves of JSON that Lua has no type for: null, links and tagged leaves,
 * each an object that holds its value. */

#include "script/leaf.h"

#include <string.h>

#include "base/check.h"
#include "script/convert.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

/* null is the leaf whose value is null. */
struct leaf {
    struct value value;
};

static void leaf_release(void *object)
{
    struct leaf *leaf = object;
    value_unref(leaf->value);
    leaf->value = VALUE_NONE;
}

static enum err leaf_value(void *object,
                           struct value *out,
                           struct err_detail *detail)
{
    (void)detail;
    const struct leaf *leaf = object;
    *out = value_ref(leaf->value);
    return ERR_OK;
}

static struct value leaf_identity(void *object)
{
    const struct leaf *leaf = object;
    return value_ref(leaf->value);
}

static int leaf_eq(lua_State *L)
{
    const struct leaf *a = script_object_test(L, 1, &leaf_class);
    const struct leaf *b = script_object_test(L, 2, &leaf_class);
    lua_pushboolean(L,
                    a != NULL && b != NULL && value_equal(a->value, b->value));
    return 1;
}

static int leaf_tostring(lua_State *L)
{
    const struct leaf *leaf = script_object_check(L, 1, &leaf_class);
    struct buf *text = script_buffer_push(L);
    json_write(text, leaf->value, JSON_AS_GIVEN, 0);
    lua_pushlstring(L, buf_text(text), text->length);
    return 1;
}

/* The fields of a link, and the `type` and `state` of another leaf. */
static struct value leaf_field(struct value value, const char *name)
{
    if (value_kind(value) == VALUE_LINK) {
        return object_field(value_tagged_state(value), name);
    }
    if (value_kind(value) == VALUE_TAGGED && strcmp(name, "type") == 0) {
        return value_tagged_type(value);
    }
    if (value_kind(value) == VALUE_TAGGED && strcmp(name, "state") == 0) {
        return value_tagged_state(value);
    }
    return VALUE_NONE;
}

static int leaf_index(lua_State *L)
{
    const struct leaf *leaf = script_object_check(L, 1, &leaf_class);
    if (lua_type(L, 2) == LUA_TSTRING) {
        convert_push(L, leaf_field(leaf->value, lua_tostring(L, 2)));
    } else {
        lua_pushnil(L);
    }
    return 1;
}

static int leaf_newindex(lua_State *L)
{
    return luaL_error(L, "this value is immutable: create a new one");
}

static const luaL_Reg leaf_metamethods[] = {
    {"__index", leaf_index},
    {"__newindex", leaf_newindex},
    {"__eq", leaf_eq},
    {"__tostring", leaf_tostring},
    {NULL, NULL},
};

const struct script_class leaf_class = {
    .name = "leaf",
    .metamethods = leaf_metamethods,
    .release = leaf_release,
    .value = leaf_value,
    .identity = leaf_identity,
};

void leaf_push(lua_State *L, struct value value)
{
    CHECK(!value_is_container(value));
    struct leaf *leaf = script_object_push(L, &leaf_class, sizeof *leaf);
    leaf->value = value_ref(value);
}

struct value leaf_at(lua_State *L, int index)
{
    const struct leaf *leaf = script_object_test(L, index, &leaf_class);
    return leaf != NULL ? leaf->value : VALUE_NONE;
}
