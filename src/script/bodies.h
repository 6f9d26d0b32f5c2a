/* Bodies: functions of Lua as what the nodes and handlers of a pattern do
 * (struct body of runtime/builder.h).
 *
 *   bodies-1  A body runs in a frame of its own. An error of its code is the
 *             failure of the run; what it returns is the result: the output of
 *             a computation, the receipt of a handler.
 *   bodies-2  The fingerprint of the function is that of the body. A function
 *             that has none makes a node that is fresh at every start; the host
 *             is told of the first one.
 *   bodies-3  Time and chance are recorded with the body (lua-runtime-4 of
 *             script/lua_runtime.h). */

#ifndef SCRIPT_BODIES_H
#define SCRIPT_BODIES_H

#include "runtime/list.h"
#include "script/lua_runtime.h"

/* A body with the function at `index` of Lua's stack, which is checked: fn(tx)
 * for a node, fn(event, tx) for a handler.
 * It is the builder's to release. Raises before there is anything to be
 * released. `name` is for people, borrowed. */
struct body bodies_new(lua_State *L,
                       struct lua_runtime *lua,
                       struct piece *piece,
                       int index,
                       struct value name);

/* What a computation gives has these labels (sched/labels.h), an array, from
 * its next run on; the place is that of its output. Takes references of its
 * own. */
void bodies_set_label(const struct body *body,
                      struct value labels,
                      struct place *output);

/* Like bodies_new, for the elements of a list: fn(item), where an item is as
 * script/items.h says; and for builder_reduce: fn(accumulator, element), both
 * as plain values, into the fields of *reduce. */
struct element_body bodies_new_element(lua_State *L,
                                       struct lua_runtime *lua,
                                       struct piece *piece,
                                       int index,
                                       struct value name);
void bodies_new_reduce(lua_State *L,
                       struct lua_runtime *lua,
                       struct piece *piece,
                       int index,
                       struct builder_reduce *reduce);

/* The fingerprint of a function, as the Lua runtime wants it; false if it has
 * none or is not to have one. */
bool bodies_fingerprint(struct lua_runtime *lua,
                        struct script_function function,
                        struct value name,
                        struct digest *out);

/* Whether this is what an event says whose handler called tx:abort(). */
bool bodies_has_aborted(const char *message);

/* One call of a function for a run, in a frame of its own. */
struct body_call {
    struct lua_runtime *lua;
    struct script_function function;
    struct recorded *recorded;     /* bodies-3; of a handler: NULL */
    struct piece *piece;           /* whose code it is; or NULL */
    struct lua_runtime_node *node; /* or NULL */

    /* Pushes the arguments; how many. May raise. */
    int (*push)(lua_State *L, struct body_call *call);
    struct value *result; /* where it goes, absent before; NULL: nowhere */
    struct frame *frame;  /* of bodies_call */
};

enum run_result bodies_call(struct run *run,
                            struct handling *handling,
                            struct body_call *call);

/* `push` of fn(tx), and of fn(event, tx). */
int bodies_push_tx(lua_State *L, struct body_call *call);
int bodies_push_event(lua_State *L, struct body_call *call);

#endif
