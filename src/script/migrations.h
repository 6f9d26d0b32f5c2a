/* Migrations whose functions are Lua: p:migrate(version, function(old) end),
 * and `old`, what the piece was (runtime/migration.h).
 *
 *   migrations-1  The function runs with the states and arguments of the piece
 *                 alone: it reads and writes their cells, and asks `old` for
 *                 those that the pattern no longer declares. It sends nothing,
 *                 and launches nothing.
 *   migrations-2  It may be called again if another process was faster: like a
 *                 handler, it has to give the same for the same data. */

#ifndef SCRIPT_MIGRATIONS_H
#define SCRIPT_MIGRATIONS_H

#include "script/lua_runtime.h"

/* The method of the builder. */
int migrations_declare(lua_State *L);

#endif
