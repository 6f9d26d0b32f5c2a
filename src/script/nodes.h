/* Nodes whose functions are Lua: rt:computation, rt:effect, rt:sink.
 *
 *   nodes-1  A function runs in a frame of its run. An error of it is the run's
 *            failure; tx:abort() gives the attempt up, and it is run again.
 *   nodes-2  A name is used once a parent: inside a run, the same name is the
 *            same child, which from then on has the new function; outside, it
 *            is an error as long as the node is there.
 *   nodes-3  A node object outlives its node: counts stay, and it is not live.
 *   nodes-4  heddle.random() gives a run that is repeated the same numbers. */

#ifndef SCRIPT_NODES_H
#define SCRIPT_NODES_H

#include "script/lua_runtime.h"

/* What nodes by hand are for the store: actions of this piece of the runtime's
 * first space. */
#define NODES_BY_HAND "by-hand"
enum {
    NODES_GENERATION = 1
};

extern const struct script_class lua_runtime_node_class;

/* rt:computation{...}, rt:effect{...}; the runtime is at 1, and the table of
 * its names of nodes is the user value of that. */
int nodes_register(lua_State *L, struct lua_runtime *lua, enum node_kind kind);

/* rt:sink(cell, fn) */
int nodes_sink(lua_State *L, struct lua_runtime *lua);

/* The node of the object at an argument; raises if it is none, or gone. */
struct node *nodes_check(lua_State *L,
                         int argument,
                         const struct lua_runtime *lua);

/* Pushes an object for the node of that name of a piece. False if there is no
 * such node now. May raise. */
bool nodes_push_part(lua_State *L,
                     struct lua_runtime *lua,
                     struct piece *piece,
                     struct value name);

/* Collects the places of a cell or of a list of cells, the field `name` of the
 * table at `index`, into a buffer that it pushes; how many. */
size_t nodes_check_places(lua_State *L,
                          const struct lua_runtime *lua,
                          int index,
                          const char *name,
                          struct place *const **out);

/* Fields of the table at `index`: milliseconds, 0 if there are none; truth. */
mono_ms nodes_field_ms(lua_State *L, int index, const char *name);
bool nodes_field_flag(lua_State *L, int index, const char *name);

/* `clearance` of the table at `index`, a list of labels or true for all, in
 * the room at `held`; absent if there is none. */
struct value nodes_field_clearance(lua_State *L, int index, struct value *held);

#endif
