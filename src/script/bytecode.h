/* A function's code without what says where it stands.
 *
 * lua_dump without debug information still has two things in it that change
 * when a function is moved: the lines of its beginning and end, and those of
 * the functions in it; and which registers of the enclosing function its own
 * upvalues were taken from. This drops both, and keeps all else. */

#ifndef SCRIPT_BYTECODE_H
#define SCRIPT_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends what is left of `dump` to `to`. False if it is no dump of Lua 5.4, as
 * lua_dump makes it with `strip`. */
bool bytecode_reduce(const char *dump, size_t length, struct buf *to);

#endif
