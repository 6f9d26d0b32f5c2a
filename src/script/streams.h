/* Events of Lua code: rt:stream, rt:on, stream:send, heddle.send, tickets,
 * timers.
 *
 *   streams-1  A handler runs in a frame of its handling, and is pure: an
 *              attempt that read what was not up to date is thrown away and
 *              made again.
 *   streams-2  What it returns is kept in the receipt.
 *   streams-3  A ticket ends once, as its event does; it outlives its
 *              runtime. */

#ifndef SCRIPT_STREAMS_H
#define SCRIPT_STREAMS_H

#include "runtime/timer.h"
#include "script/lua_runtime.h"

/* rt:stream(id [, {space=, scope=}]) and rt:on(stream, fn [, {reads=}]). */
int streams_new(lua_State *L, struct lua_runtime *lua);
int streams_on(lua_State *L, struct lua_runtime *lua);

/* Pushes the stream at a place; the place of the one at an index, borrowed, or
 * NULL. */
void streams_push(lua_State *L, struct lua_runtime *lua, struct place *place);
struct place *streams_test(lua_State *L, int index, struct lua_runtime **lua);

/* Sends the payload at 2 with the options at 3, and pushes the ticket: at the
 * top level from the world, otherwise from the transaction of the frame. */
int streams_send_to(lua_State *L,
                    struct lua_runtime *lua,
                    struct stream *stream);

/* The field `reads` of the options at 4, in a buffer that it pushes; how
 * many. */
size_t streams_check_reads(lua_State *L,
                           const struct lua_runtime *lua,
                           const struct declared_read **out);

/* Whether they ask for the collapse of events (events-7 of sched/events.h). */
bool streams_check_collapse(lua_State *L);

/* heddle.send(stream, payload): inside a handler. */
int streams_follow_up(lua_State *L);

/* heddle.cancel(id [, stream]): inside a handler, on all streams of its piece,
 * or on that one. */
int streams_cancel(lua_State *L);

/* Cancels what the target says (runtime/timer.h), whose owner is adopted, with
 * the id at `argument`, and pushes whether there was one. */
int streams_cancel_at(lua_State *L,
                      struct lua_runtime *lua,
                      struct timer_target target,
                      int argument);

#endif
