/* Functions of p:map that declare: fn(item) is called once per element, while
 * the element is built (runtime/element.h), and uses the `p` that it has
 * captured.
 *
 *   elements-1  A function declares if it has captured the `p` of its pattern,
 *               itself or through functions that it has captured.
 *   elements-2  While it runs, that `p` declares below the element. Nothing can
 *               be read, as in the function of a pattern.
 *   elements-3  What it returns is what the list has for the element: a cell, a
 *               stream or the result of a child as a link, a table with such
 *               fields, or a value. */

#ifndef SCRIPT_ELEMENTS_H
#define SCRIPT_ELEMENTS_H

#include "runtime/list.h"
#include "script/building.h"

/* elements-1, for the function at `index`. */
bool elements_declares(lua_State *L, const struct builder_object *p, int index);

/* The body with it, which is the builder's to release. */
struct element_body elements_new(lua_State *L,
                                 struct builder_object *p,
                                 int index);

#endif
