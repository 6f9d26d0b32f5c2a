/* Events of Lua code: rt:stream, rt:on, stream:send, heddle.send, tickets,
 * timers.
 *
 *   A1  A handler runs in a frame of its handling, and is pure: an attempt that
 *       read what was not up to date is thrown away and made again.
 *   A2  What it returns is kept in the receipt.
 *   A3  A ticket ends once, as its event does; it outlives its runtime. */

#ifndef SCRIPT_STREAMS_H
#define SCRIPT_STREAMS_H

#include "script/stage.h"

/* rt:stream(id [, {space=, scope=}]) and rt:on(stream, fn [, {reads=}]). */
int streams_new(lua_State *L, struct stage *stage);
int streams_on(lua_State *L, struct stage *stage);

/* Pushes the stream at a place; the place of the one at an index, borrowed, or
 * NULL. */
void streams_push(lua_State *L, struct stage *stage, struct place *place);
struct place *streams_test(lua_State *L, int index, struct stage **stage);

/* Sends the payload at 2 with the options at 3, and pushes the ticket: on the
 * ground from the world, otherwise from the transaction of the frame. */
int streams_send_to(lua_State *L, struct stage *stage, struct stream *stream);

/* The field `reads` of the options at 4, in a buffer that it pushes; how
 * many. */
size_t streams_check_reads(lua_State *L,
                           const struct stage *stage,
                           const struct declared_read **out);

/* Whether they ask for the collapse of events (V7 of sched/events.h). */
bool streams_check_collapse(lua_State *L);

/* heddle.send(stream, payload): inside a handler. */
int streams_follow_up(lua_State *L);

/* heddle.cancel(id): inside a handler, of its piece. */
int streams_cancel(lua_State *L);

/* Cancels the timer whose id is at `argument`, of a piece
 * (event_timer_owner), which is adopted, and pushes whether there was one. */
int streams_cancel_at(lua_State *L,
                      struct stage *stage,
                      struct space *space,
                      struct value owner,
                      int argument);

#endif
