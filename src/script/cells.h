/* Cells: documents, and places in them, as Lua code reads and writes them.
 *
 *   cell:get() :value() :sample() :keys()     reads (script/reads.h)
 *   cell:key(k, ...)                          the cell below
 *   cell:set(v) :append(v, ...) :add_unique(v, ...) :remove(v)
 *   cell:increment(n) :delete()               writes
 *   cell:link()                               a link to it; a cell in a value
 *                                             is stored as its link
 *
 *   cells-1  Inside a frame that has a transaction, all of it is in that one.
 *   cells-2  At the top level a write is a transaction of its own. If the store
 *            refuses it because the world has moved on, it is tried again at
 *            the next step, in order (runtime/own_write.h); any other refusal
 *            of the store is among the errors of the Lua runtime. */

#ifndef SCRIPT_CELLS_H
#define SCRIPT_CELLS_H

#include "script/lua_runtime.h"

extern const struct script_class cell_class;

/* Pushes a cell at the place; takes a reference of its own. May raise. */
void cells_push(lua_State *L, struct lua_runtime *lua, struct place *place);

/* Pushes the cell of a whole document; its place, borrowed. May raise. */
struct place *cells_push_document(lua_State *L,
                                  struct lua_runtime *lua,
                                  struct entity *entity);

/* The same as another class of cells (script/items.h); and the cell below a
 * place, by the key or position that an argument is, its place borrowed. */
void cells_push_as(lua_State *L,
                   const struct script_class *class,
                   struct lua_runtime *lua,
                   struct place *place);
struct place *cells_push_below(lua_State *L,
                               const struct script_class *class,
                               struct lua_runtime *lua,
                               struct place *place,
                               int argument);

/* For C functions: the place of the cell at an argument, borrowed from it, and
 * its Lua runtime. Raises if it is none, or if its runtime has ended. */
struct place *cells_check(lua_State *L, int argument, struct lua_runtime **lua);

/* The same without raising; NULL. */
struct place *cells_test(lua_State *L, int index, struct lua_runtime **lua);

/* Pushes what is at the place, as cell:get() gives it. May raise. */
void cells_push_read(lua_State *L,
                     struct lua_runtime *lua,
                     struct place *place);

/* For script/items.c: of an object of a class of cells, its place, or NULL if
 * its runtime has ended; its identity and its end; a method by its name, or
 * NULL. */
struct place *cells_of(void *object, struct lua_runtime **lua);
struct value cells_identity(void *object);
void cells_release(void *object);
lua_CFunction cells_method(const char *name);

/* tx:set(cell, v): the value at index `value`. */
void cells_set(lua_State *L, int cell, int value);

/* The place of the document `id`, new, or NULL and a sentence. */
MUST_CHECK enum err cells_place(struct lua_runtime *lua,
                                struct value id,
                                struct value space,
                                struct value scope,
                                struct place **out,
                                struct err_detail *detail);

/* rt:doc(id [, initial [, opts]]); and the cell alone, from the index of an id
 * and that of a table of options or nil: pushed, its place borrowed from it. */
int cells_doc(lua_State *L, struct lua_runtime *lua);
struct place *cells_push_named(lua_State *L,
                               struct lua_runtime *lua,
                               int id,
                               int options);

#endif
