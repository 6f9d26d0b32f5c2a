/* The leaves of JSON that Lua has no type for: null, links and tagged leaves.
 *
 * A link has its fields (id, path, space, scope, schema) to read, another leaf
 * `type` and `state`. Leaves are equal if their values are; tostring gives
 * their JSON. */

#ifndef SCRIPT_LEAF_H
#define SCRIPT_LEAF_H

#include "script/object.h"

extern const struct script_class leaf_class;

/* Pushes an object that holds `value`, which is no container; takes a reference
 * of its own. May raise. */
void leaf_push(lua_State *L, struct value value);

/* What the leaf at `index` holds, borrowed from it; absent if there is none. */
struct value leaf_at(lua_State *L, int index);

#endif
