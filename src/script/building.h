/* What the files share that are the methods of `p` (script/builders.h). */

#ifndef SCRIPT_BUILDING_H
#define SCRIPT_BUILDING_H

#include "script/builders.h"

struct builder_object {
    struct building_state *state; /* NULL: is over */
    struct lua_runtime *lua;
};

/* The `p` at 1; raises if its pattern has been built, or if this is code of a
 * run. */
struct builder_object *builders_check(lua_State *L);

/* The name at an argument, held as number 0. */
struct value *builders_check_name(lua_State *L,
                                  struct building_state *state,
                                  int argument);

/* Options in the table at `index`, or none: refuses what is not among the
 * names; and the string of a field, held as number 1, or absent. */
void builders_check_options(lua_State *L,
                            int index,
                            const char *const *names,
                            size_t count);
struct value builders_name_option(lua_State *L,
                                  struct building_state *state,
                                  int index,
                                  const char *field);

/* The place of the cell at an argument, or of a computation that stands for it
 * there: of a function, or of any other value. `stem` is for its name. Borrowed
 * (builder_lists.c). */
struct place *builders_check_place(lua_State *L,
                                   const struct builder_object *p,
                                   int argument,
                                   const char *stem);

/* p:map and its like (builder_lists.c). */
int builders_map(lua_State *L);
int builders_filter(lua_State *L);
int builders_flat_map(lua_State *L);
int builders_reduce(lua_State *L);
int builders_if_else(lua_State *L);
int builders_when(lua_State *L);

#endif
