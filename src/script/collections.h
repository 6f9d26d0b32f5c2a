/* Collections (collection/collection.h) as Lua code uses them.
 *
 *   p:collection(name, { key=, index=, schema= })
 *   c:insert(row) :put(row) :update(key, fields) :remove(key)
 *   c:get(key) :row(key)
 *   c:range{ index=, from=, to=, after=, limit=, reverse= }
 *   c:count{ index=, from=, to= }
 *
 *   script-collection-1  A row of a range is read as a whole: the reader runs
 *                        again when anything of it changes. In Lua it is a row
 *                        (script/items.h).
 *   script-collection-2  A range asks for all rows that are not here before its
 *                        run is given up.
 *   script-collection-3  At the top level, a write is a transaction of its own
 *                        (cells-2 of script/cells.h). */

#ifndef SCRIPT_COLLECTIONS_H
#define SCRIPT_COLLECTIONS_H

#include "script/lua_runtime.h"

extern const struct script_class collection_class;

/* The method of `p`. */
int collections_declare(lua_State *L);

#endif
