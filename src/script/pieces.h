/* Pieces in the hands of Lua code: what rt:run gives.
 *
 *   piece:get([path])   the result, or what is at a path of it, up to date and
 *                       with everything that it links to as plain tables
 *   piece:cell([path])  the cell there
 *   piece:send(stream, payload [, { id=, session= }])  a ticket
 *   piece:node(name)    a node (script/nodes.h); nil if there is none
 *   piece:state()       "loading", "running", "failed" or "stopped"
 *   piece:name()        its name
 *   piece:stop()        its nodes and handlers go, what they wrote stays
 *   piece:remove()      and its documents go, too
 *
 * A path is a list of keys and positions from 1, as in cell:key; a text with
 * dots, "items.1.price", likewise; or a text with slashes, "items/0/price",
 * with positions from 0, as in JSON pointers. */

#ifndef SCRIPT_PIECES_H
#define SCRIPT_PIECES_H

#include "script/lua_runtime.h"

/* Pushes the object of a piece; takes a reference of its own. May raise. */
void pieces_push(lua_State *L, struct lua_runtime *lua, struct piece *piece);

/* The value at a place with everything that it links to, new: inside a run a
 * read of that run, at the top level by somebody who looks for a moment, so
 * that it is up to date. Raises nothing. */
MUST_CHECK enum err pieces_read(struct lua_runtime *lua,
                                struct place *place,
                                struct value *out,
                                struct err_detail *detail);

#endif
