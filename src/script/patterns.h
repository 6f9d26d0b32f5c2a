/* Patterns of Lua: heddle.pattern, heddle.launch, and the building.
 *
 *   heddle.pattern(name, function(p) ... return { fields } end)
 *
 * gives a pattern value, and makes it known by its name (script/heddle.h). When
 * a piece of it is built (runtime/piece.h), the function is called with a
 * builder `p` (script/builders.h) and its result becomes the fields of the
 * piece's result: a cell or a stream as a link, anything else as it is.
 *
 *   patterns-1  While it is built nothing can be read or written, and there is
 *               neither time nor chance. An error of the code, or a result that
 *               is none, fails the start of the piece with a sentence that has
 *               the file and the line.
 *   patterns-2  heddle.launch(pattern, args) launches a piece with the commit
 *               of the handler that calls it. What it gives is a link to the
 *               result of that piece wherever it is stored, sent or
 *               returned. */

#ifndef SCRIPT_PATTERNS_H
#define SCRIPT_PATTERNS_H

#include "runtime/pattern.h"
#include "script/builders.h"
#include "script/lua_runtime.h"

extern const struct script_class pattern_class;

/* The functions of the module. */
int patterns_new(lua_State *L);
int patterns_launch(lua_State *L);

/* The pattern at an index, borrowed from its object; NULL or an error if there
 * is none. */
struct pattern *patterns_test(lua_State *L, int index);
struct pattern *patterns_check(lua_State *L, int argument);

/* Whether it is one of Lua. */
bool patterns_is_lua(const struct pattern *pattern);

/* The arguments of a piece at an index, an object of values and links, new;
 * absent for nil. Raises. */
struct value patterns_check_arguments(lua_State *L, int index);

/* For functions that declare: what such a call may cost; and its end, which
 * releases the error. */
uint64_t patterns_build_steps(const struct script *script);
MUST_CHECK enum err patterns_build_end(const struct building_state *state,
                                       enum script_cause cause,
                                       struct script_error *error,
                                       struct err_detail *detail);

#endif
