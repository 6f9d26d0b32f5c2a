/* Objects of C in a Lua state: userdata with a class.
 *
 * A class is a constant of the program. Its metatable is made once a state and
 * found by the class's address, so asking what an object is allocates nothing
 * and raises nothing. Lua code can neither read nor replace a metatable.
 *
 *   script-object-1  Every userdata that Lua code can get hold of is an object.
 *   script-object-2  An object is all zero until its maker has filled it, and
 *                    `release` is called exactly once, also for one that is
 *                    still all zero. */

#ifndef SCRIPT_OBJECT_H
#define SCRIPT_OBJECT_H

#include <lauxlib.h>
#include <lua.h>

#include "base/buf.h"
#include "base/err.h"
#include "value/value.h"

struct script_class {
    const char *name; /* for messages and type errors: "view" */

    /* NULL, or ended by an entry of NULL. Methods are found with object:name();
     * a class with an __index among its metamethods has none of its own. */
    const luaL_Reg *methods;
    const luaL_Reg *metamethods;
    const luaL_Reg *more_metamethods; /* that other classes have, too */

    /* It stands for data, whose fields are reached with :key(name): for the
     * message about a field that is read or assigned as if it were one of the
     * object's own. */
    bool has_keys;

    void (*release)(void *object);

    /* What the object is as JSON (script/convert.h): a new reference. NULL: it
     * cannot be part of a value. Raises nothing. */
    enum err (*value)(void *object,
                      struct value *out,
                      struct err_detail *detail);

    /* What distinguishes it in a fingerprint (script/fingerprint.h): a new
     * reference, the same in every process. NULL: it has no identity. */
    struct value (*identity)(void *object);
};

/* Pushes a new object of `size` bytes, all zero. May raise. */
void *script_object_push(lua_State *L,
                         const struct script_class *class,
                         size_t size);

/* The object at `index` and its class; NULL if there is no object. */
void *script_object_at(lua_State *L,
                       int index,
                       const struct script_class **class);

/* The object at `index` if it is of that class, or NULL. */
void *script_object_test(lua_State *L,
                         int index,
                         const struct script_class *class);

/* The same for an argument of a C function: raises if it is another. */
void *script_object_check(lua_State *L,
                          int argument,
                          const struct script_class *class);

/* The methods of the object at `index`, ended by an entry of NULL; or NULL. */
const luaL_Reg *script_object_methods(lua_State *L, int index);

/* Pushes an object that holds a string builder, which is released when Lua
 * collects it: for C functions that build text and call what may raise. */
struct buf *script_buffer_push(lua_State *L);

/* Replaces the table on top by an object that reads from it and refuses to be
 * changed: for what several environments share. `name` is for messages and
 * fingerprints. May raise. */
void script_lock(lua_State *L, const char *name);

#endif
