/* Transactions in the hands of Lua code: `tx`, rt:edit() and what becomes of a
 * commit.
 *
 *   tx:set(cell, v)   writes in it, as cell:set(v) does
 *   tx:abort()        gives the attempt up; nothing after it runs
 *   tx:log()          what was read and written so far
 *
 * A `tx` is of use as long as its frame lives. */

#ifndef SCRIPT_ATTEMPTS_H
#define SCRIPT_ATTEMPTS_H

#include "script/stage.h"

enum {
    ATTEMPT_ABORTED = 1, /* the code of the stop that tx:abort() is */
};

/* Pushes the `tx` of a frame. May raise. */
void attempts_push(lua_State *L, struct frame *frame);

/* For script/stage.c. */
void attempts_frame_ends(struct frame *frame);

/* rt:edit(fn [, {group=}]) */
int attempts_edit(lua_State *L, struct stage *stage);

/* Pushes an error as {name=, message=, precondition=}; nil if there is none.
 * May raise. */
void attempts_push_error(lua_State *L, const struct err_detail *detail);

/* Raises what a call of Lua code inside of a call ended with; releases it. */
int attempts_raise(lua_State *L, struct script_error *error);

#endif
