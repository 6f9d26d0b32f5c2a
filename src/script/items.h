/* Cells that can be used like the value that is there.
 *
 * Every cell has arithmetic, comparison, .., #, pairs and ipairs: each is a
 * tracked read (script/reads.h), as if get() had been called.
 *
 * An *item* is a cell for code that wants the value mostly: the element that
 * p:map gives to its function, or the result of a child piece.
 *
 *   items-1  item.name reads the field. A field of the data wins over a method:
 *            an element with a field "get" is read with item.get, and the
 *            method is not there.
 *   items-2  Items are equal if they are at one place, or if their values are.
 *   items-3  Inside a value, and as a result, an item is its value; a cell is
 *            its link. A *row* of a range (script/collections.h) is an item,
 *            but its link in what a computation makes of it.
 *   items-4  While a pattern is built nothing can be read: item.name is the
 *            item below then. */

#ifndef SCRIPT_ITEMS_H
#define SCRIPT_ITEMS_H

#include "script/lua_runtime.h"

extern const struct script_class item_class;
extern const struct script_class row_class;

/* The metamethods that all cells have; ended by NULL. */
extern const luaL_Reg items_operators[];

/* Pushes an item at the place; takes a reference of its own. May raise. */
void items_push(lua_State *L, struct lua_runtime *lua, struct place *place);
void items_push_row(lua_State *L, struct lua_runtime *lua, struct place *place);

#endif
