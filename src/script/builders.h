/* `p`: what the function of a pattern declares its graph with.
 *
 *   p:state(name, initial [, { scope= }])  p:arg(name, default)
 *   p:collection(name, { key=, index=, schema= })
 *   p:computed(name, fn [, opts])  p:effect(name, fn [, opts])
 *   p:handler(name, fn [, { reads= }])
 *   p:map(list, fn)  p:filter(list, fn)  p:flat_map(list, fn)
 *   p:reduce(list, initial, fn)  p:if_else(cond, a, b)  p:when(cond, a)
 *   p:piece(pattern, args [, { name= }])
 *
 * A `p` is of use as long as its pattern is built. */

#ifndef SCRIPT_BUILDERS_H
#define SCRIPT_BUILDERS_H

#include "runtime/builder.h"
#include "script/lua_runtime.h"

struct builder_object;

/* One building, from its beginning to its end. */
struct building_state {
    struct builder *builder;
    struct builder_object *object; /* its `p`, or NULL */
    struct value held[4];          /* what is not to be lost if code raises */
    enum err failed;               /* what the builder said last */
};

/* Pushes the `p`. May raise. */
void builders_push(lua_State *L,
                   struct lua_runtime *lua,
                   struct building_state *state);

/* Its end: what is held is let go. */
void builders_end(struct building_state *state);

/* Room for a value that is held until the next one comes there. */
struct value *builders_hold(struct building_state *state, size_t index);

/* Raises what the builder said, unless it is OK. */
void builders_raise(lua_State *L,
                    struct building_state *state,
                    enum err err,
                    const struct err_detail *detail);

#endif
