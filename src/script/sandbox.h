/* What Lua code sees of the world: environments, libraries, modules.
 *
 * An environment is a table of globals with libraries of its own, so that what
 * one pattern does to `string` or to a global reaches no other. It has no io,
 * os, debug or package, no dofile, loadfile and warn, no bytecode in or out, no
 * clock and no chance: those come from modules that the layers above register.
 *
 *   sandbox-1  The same code with the same inputs does the same in every
 *              process. Lua hashes strings with a seed that no one can choose,
 *              and other keys by their address, so `pairs` and `next` here go
 *              in an order of their own: integers, other numbers, strings by
 *              their bytes, false, true, and then what has no order (tables and
 *              functions as keys). tostring and %s show no addresses, sort is
 *              stable and draws no pivot.
 *   sandbox-2  Each library function costs steps for what it does in C,
 *              patterns of string.find and its like included (script/match.h).
 *   sandbox-3  What environments share cannot be changed by their code: the
 *              functions, the metatable of strings, registered modules.
 *
 * Modules: `require` looks among those that were registered, then asks the
 * host (struct script_host) for a text, which runs once in the environment that
 * asked for it. */

#ifndef SCRIPT_SANDBOX_H
#define SCRIPT_SANDBOX_H

#include "script/vm.h"

/* For script_new: fills a new state. May raise. */
void sandbox_open(lua_State *L);

/* What happens to globals that do not exist (script/globals.c). */
enum script_globals {
    GLOBALS_FIXED,    /* reading and assigning them are errors: files */
    GLOBALS_DECLARED, /* reading them is an error: lines of a conversation */
    GLOBALS_OPEN,     /* as in Lua: tests of the sandbox */
};

/* For push_environment: the environment is on top. May raise. */
void sandbox_protect_globals(lua_State *L, enum script_globals globals);

/* A new environment, kept like a function; release it so. */
MUST_CHECK enum script_cause script_environment_new(
    struct script *script,
    enum script_globals globals,
    struct script_function *environment,
    struct script_error *error);

/* Pushes the module and returns; may raise. `ctx` is that of the registration.
 * Called at the first require of the state. */
typedef void script_module_fn(lua_State *L, void *ctx);

/* Makes require(name) give what `open` pushes: script_lock it, if it is a
 * table. The name is borrowed for the script's life. */
MUST_CHECK enum script_cause script_module_register(struct script *script,
                                                    const char *name,
                                                    script_module_fn *open,
                                                    void *ctx,
                                                    struct script_error *error);

struct script_chunk {
    const char *file; /* for messages: "shopping.lua" */
    const char *text; /* source; bytecode is refused */
    size_t length;
};

/* The function that runs the chunk in `environment`. */
MUST_CHECK enum script_cause script_load(struct script *script,
                                         struct script_function environment,
                                         const struct script_chunk *chunk,
                                         struct script_function *function,
                                         struct script_error *error);

/* -- For fingerprints ---------------------------------------------------- */

/* Whether the table at `index` is an environment. */
bool sandbox_is_environment(lua_State *L, int index);

/* The name of a library function, "string.rep", borrowed from the state; NULL
 * if the value at `index` is none. Raises nothing. */
const char *sandbox_function_name(lua_State *L, int index);

/* pairs(table) as a C function, without its metamethod. */
int sandbox_raw_pairs(lua_State *L);

/* -- The parts, each in a file of its own; all may raise ------------------ */

/* Adds functions to the table on top. */
void sandbox_add_basic(lua_State *L);      /* basic.c */
void sandbox_add_coroutines(lua_State *L); /* coroutine.c */
void sandbox_add_strings(lua_State *L);    /* strings.c; to the stock library */
void sandbox_add_tables(lua_State *L);     /* tables.c */
void sandbox_add_order(lua_State *L);      /* order.c: pairs, next */

/* Pushes the value at `index` as text, without addresses. */
const char *sandbox_push_text(lua_State *L, int index, size_t *length);

#endif
