/* The module "heddle": what every file of Lua requires.
 *
 *   null, array, object     values (script/convert.h)
 *   now(), random()         of the run: a run that is repeated sees the same
 *   send(stream, payload)   inside a handler: a follow-up event
 *   pattern(name, fn)       a pattern (script/patterns.h)
 *   launch(pattern, args)   returned by a handler: a piece comes to be with it
 *   NAME(...)               a function of the host, for effects
 *
 * One script has one module. It knows the Lua runtimes of the script
 * (script/lua_runtime.h) and the patterns that its files have made, by name:
 * the last of a name counts, for Lua runtimes that are there and for those that
 * come. */

#ifndef SCRIPT_HEDDLE_H
#define SCRIPT_HEDDLE_H

#include "base/host.h"
#include "base/list.h"
#include "base/random.h"
#include "base/vec.h"
#include "script/sandbox.h"

struct frame;
struct pattern;
struct program_function;
struct runtime;
struct lua_runtime;

/* Where time and chance come from outside of every frame, and what a test is
 * told of. */
struct heddle_source {
    /* NULL: there is neither now. */
    struct random *(*random)(void *ctx);
    mono_ms (*now)(void *ctx);
    void *ctx;

    /* The code has looked at the error of an event; NULL: it does not matter
     * here. */
    void (*asked)(void *ctx, const char *message);
};

struct heddle {
    struct script *script;
    struct heddle_source source;
    struct frame *frame;      /* the innermost of all Lua runtimes, or NULL */
    struct list lua_runtimes; /* struct lua_runtime */
    VEC(struct pattern *) patterns;
    const struct program_function *functions; /* script/program.h; or NULL.
                                                 Before the first require */

    struct list calls; /* of those: script/deferred_calls.h */

    /* What captured variables and tables were when they were first looked at:
     * script/fingerprint.h. None: they are looked at each time. */
    struct script_function memory;
};

/* Makes require "heddle" work. The module stays where it is as long as the
 * script; without functions, the source has neither time nor chance. */
MUST_CHECK enum script_cause heddle_begin(struct heddle *heddle,
                                          struct script *script,
                                          const struct heddle_source *source,
                                          struct script_error *error);

/* Before the end of the script, and after that of its Lua runtimes. */
void heddle_end(struct heddle *heddle);

/* The module of the script that runs in this state. */
struct heddle *heddle_of(lua_State *L);

/* The Lua runtime of a runtime, or NULL. */
struct lua_runtime *heddle_lua_runtime(const struct heddle *heddle,
                                       const struct runtime *runtime);

/* From now on, captured variables and tables are what they were when they were
 * first looked at, until this is called again: for tests, where a function
 * counts its calls in a variable and is still the same function. */
MUST_CHECK enum script_cause heddle_remember(struct heddle *heddle,
                                             struct script_error *error);

/* The arguments from `first` on as random numbers are asked for: none gives
 * [0, 1), n gives 1 to n, m and n give m to n. Pushes the number. */
int heddle_push_random(lua_State *L, struct random *random, int first);

#endif
