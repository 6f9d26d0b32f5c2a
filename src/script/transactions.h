/* Transactions in the hands of Lua code: `tx`, rt:edit() and what becomes of a
 * commit.
 *
 *   tx:set(cell, v)   writes in it, as cell:set(v) does
 *   tx:abort()        gives the attempt up; nothing after it runs
 *   tx:log()          what was read and written so far
 *
 * A `tx` is of use as long as its frame lives. */

#ifndef SCRIPT_TRANSACTIONS_H
#define SCRIPT_TRANSACTIONS_H

#include "script/lua_runtime.h"

enum {
    ATTEMPT_ABORTED = 1, /* the code of the stop that tx:abort() is */
};

/* Pushes the `tx` of a frame. May raise. */
void transactions_push(lua_State *L, struct frame *frame);

/* For script/lua_runtime.c. */
void transactions_frame_ends(struct frame *frame);

/* rt:edit(fn [, {group=}]) */
int transactions_edit(lua_State *L, struct lua_runtime *lua);

/* Pushes an error as {name=, message=, precondition=}; nil if there is none.
 * May raise. */
void transactions_push_error(lua_State *L, const struct err_detail *detail);

/* Raises what a call of Lua code inside of a call ended with; releases it. */
int transactions_raise(lua_State *L, struct script_error *error);

#endif
