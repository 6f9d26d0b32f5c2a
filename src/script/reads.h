/* Reads of Lua code, on behalf of a frame (script/lua_runtime.h).
 *
 *   reads-1  A leaf, and that there is nothing, is a deep read of its place.
 *   reads-2  Of a container that is only passed, its being one is noted, and
 *            nothing below (PATH_KIND of value/path.h). It looks different
 *            exactly when
 * there is no container any more, one of the other kind, or another way to it.
 *   reads-3  Links are followed, and each is a read.
 *   reads-4  Who writes below a container that is only passed does not run for
 *            it.
 *   reads-5  A read that fails is a read of every place that it looked at,
 *            including the one at which it failed: a change of any of them
 *            wakes the node.
 *
 * Nothing here raises an error of Lua but reads_raise. */

#ifndef SCRIPT_READS_H
#define SCRIPT_READS_H

#include "script/lua_runtime.h"

/* Whether it is a place that only says of which kind a container is
 * (reads-2). */
bool reads_is_probe(const struct place *place);

/* The functions by which views of a frame read. */
void reads_source(struct view_source *source);

/* What is at a place (reads-1, reads-2); a container with where it is. */
MUST_CHECK enum err reads_look(struct frame *frame,
                               struct place *place,
                               struct view_found *out,
                               struct err_detail *detail);

/* All of it, new, by a read of that kind and with flags of transaction_read. */
MUST_CHECK enum err reads_whole(struct frame *frame,
                                struct place *place,
                                enum read_kind kind,
                                unsigned flags,
                                struct value *out,
                                struct err_detail *detail);

/* view_raise. */
void reads_raise(lua_State *L, enum err err, const struct err_detail *detail);

#endif
