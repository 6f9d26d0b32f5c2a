/* Deep equality of two values of Lua, for t:eq.
 *
 *   - Views, items and other objects count as the values that they stand for.
 *   - Tables are equal if they have equal values under the same keys, whatever
 *     the keys are; their metamethods are not asked, except __eq.
 *   - An empty array differs from an empty object where the kind is known: by
 *     a tag, or because the table came out of a document. An untagged `{}` in
 *     the code equals both.
 *   - Anything else is equal if Lua says so; NaN equals itself. */

#ifndef LUATEST_EQUAL_H
#define LUATEST_EQUAL_H

#include <stdbool.h>

#include <lua.h>

#include "base/buf.h"

/* Compares the values at two indexes of the stack. If they differ, two values
 * that differ and are no tables with a difference below are pushed, that of
 * `left` first, and `where` is their place as Lua code would write it: empty
 * at the top. May raise. */
bool equal_deep(lua_State *L, int left, int right, struct buf *where);

#endif
