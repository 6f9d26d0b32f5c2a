/* JSON values to Lua and back.
 *
 *   null                heddle.null
 *   true, 12, 0.5, "s"  the same; integers stay integers
 *   [..]                a table with 1 .. n, tagged as an array
 *   {..}                a table with string keys; an empty one remembers that
 *                       it was an object, see convert_kind
 *   links, other leaves objects that can be read, compared and stored again
 *
 * A table is an array if it is tagged as one (heddle.array) or, untagged, if
 * #t > 0; otherwise it is an object: an untagged empty table is {}. Metatables
 * of the code's own are not asked: what is stored is what the table holds.
 * Objects of C say themselves what they are (struct script_class), so a view is
 * its value.
 *
 *   convert-1  convert_read(convert_push(v)) equals v, for every v within the
 *              limits.
 *   convert-2  What cannot be a value is refused with a sentence that names the
 *              place as one would write it in Lua: "items[3].price is a
 *              function". Nothing is half converted.
 *   convert-3  Keys of a table come sorted by their bytes: a Lua table has no
 *              order that would be the same everywhere.
 *   convert-4  Reading raises nothing; pushing may, and owns nothing then. */

#ifndef SCRIPT_CONVERT_H
#define SCRIPT_CONVERT_H

#include "base/err.h"
#include "script/object.h"
#include "value/value.h"

/* A field that is 0 means the number in base/limits.h. */
struct convert_limits {
    size_t depth;
    /* Of the whole: its strings, and 16 bytes for each value and key. */
    size_t bytes;
};

/* Pushes `value`; nil if it is absent. May raise. */
void convert_push(lua_State *L, struct value value);

/* The value at `index`: a new reference in *out. `name` is what sentences call
 * it: "items". nil is absent at the top, and refused below. Errors: TYPE,
 * SYNTAX (text that is not UTF-8), LIMIT_*, and what a class says. */
MUST_CHECK enum err convert_read(lua_State *L,
                                 int index,
                                 const char *name,
                                 const struct convert_limits *limits,
                                 struct value *out,
                                 struct err_detail *detail);

/* For C functions: raises with the sentence. The reference must not be held
 * over a call that may raise (vm-5). */
struct value convert_check(lua_State *L, int index, const char *name);

/* -- Tags and null ------------------------------------------------------- */

/* What is known of a table's kind without a look at its keys. A table that
 * convert_push made of an empty object is known to be one, and is still stored
 * as what it holds then: code may fill it like any other. */
enum convert_kind {
    CONVERT_UNTAGGED,
    CONVERT_ARRAY,
    CONVERT_OBJECT,
};

/* Of the table at `index`. Raises nothing. */
enum convert_kind convert_kind(lua_State *L, int index);

/* Tag the table at `index`. False if it has a metatable of its own. May
 * raise. */
bool convert_tag_array(lua_State *L, int index);
bool convert_tag_object(lua_State *L, int index);

/* Pushes heddle.null, one object a state. May raise. */
void convert_push_null(lua_State *L);

/* Adds array, object and null to the table on top, which becomes a module. May
 * raise. */
void convert_add_functions(lua_State *L);

#endif
