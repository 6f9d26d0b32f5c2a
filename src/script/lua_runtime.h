/* A Lua runtime: one runtime, and everything of Lua that refers into it.
 *
 * A script (script/vm.h) may have several Lua runtimes, each for a runtime:
 * those of a test, or the one of a process that runs pieces. What Lua code
 * reads, writes and registers goes through a Lua runtime; the Lua runtime knows
 * the host only by the few functions below, so the same code runs on the clock
 * of a test and on that of the world.
 *
 *   struct lua_runtime lua;
 *   lua_runtime_set_up(&lua, &options);
 *   ... cells (script/cells.h), nodes (script/nodes.h), patterns ...
 *   lua_runtime_cut(&lua);
 *   ... the end of the runtime ...
 *   lua_runtime_clear_away(&lua);
 *
 *   lua-runtime-1  Objects of Lua may outlive the runtime. Each that holds
 *                  something there is bound, and its binding is cut before the
 *                  runtime ends: it lets go of what it holds, and every use of
 *                  it afterwards is an error.
 *   lua-runtime-2  A frame is what Lua code of a Lua runtime runs in: a run,
 *                  the handling of an event, an edit, the building of a
 *                  pattern, or none of these (the top level). Cells work on
 *                  behalf of the innermost frame of their Lua runtime.
 *   lua-runtime-3  A Lua runtime is cut only when the top level is its one
 *                  frame.
 *   lua-runtime-4  heddle.now() and heddle.random() are values of the frame: an
 *                  attempt that is made again sees what the first one saw.
 *                  While a pattern is built there is neither (pattern-1 of
 *                  runtime/pattern.h).
 *
 * Not here: what the objects are and do (script/cells.h and its like). */

#ifndef SCRIPT_LUA_RUNTIME_H
#define SCRIPT_LUA_RUNTIME_H

#include "base/random.h"
#include "front/frame.h"
#include "script/heddle.h"
#include "script/view.h"
#include "script/vm.h"

struct attempt;
struct piece;
struct lua_runtime;
struct lua_runtime_node;

/* What the code needs of who drives the runtime. All but `now` may be NULL. */
struct lua_runtime_host {
    void *ctx;

    /* The time: what runtime_step is called with. */
    mono_ms (*now)(void *ctx);

    /* The time for people and for events, in milliseconds; NULL: `now`. */
    uint64_t (*wall)(void *ctx);

    /* What went wrong and has nobody to be raised to. `source` is a name or
     * absent, `place` may be NULL; all borrowed. */
    void (*report)(void *ctx,
                   struct value source,
                   const struct place *place,
                   const char *message);

    /* A host function was called for an effect that has landed: after the
     * function itself (script/deferred_calls.h). */
    void (*called)(void *ctx, const char *name, struct value arguments);

    /* A sentence for people, which is no error. */
    void (*notice)(void *ctx, const char *text);

    /* Brings a document here, for code at the top level that is about to look
     * at it. */
    void (*load)(void *ctx, struct entity *entity);

    /* Pushes the call under way of a task, or nil: for tests
     * (luatest/test_tasks.h). */
    void (*push_task)(lua_State *L,
                      void *ctx,
                      const struct piece *piece,
                      struct value name);

    /* Goes on until nothing can be done at this time: what is demanded has run
     * then. For reads at the top level that want what is up to date. */
    void (*settle)(void *ctx);
};

/* -- Frames -------------------------------------------------------------- */

/* Time and chance of a run, kept so that a repetition sees the same
 * (lua-runtime-4). */
struct recorded {
    uint64_t now;
    uint64_t seed;
    uint64_t count; /* of draws */
    bool drawn;
    bool again; /* the attempt was given up: the next one is the same run */
};

struct frame {
    struct frame *outer; /* of the same Lua runtime; NULL: this is the top
                            level */
    struct frame *below; /* the innermost of all before it */
    struct lua_runtime *lua;
    struct call_frame call;
    struct lua_runtime_node *node; /* whose run it is; or NULL */
    struct attempt *attempt; /* its `tx`, or NULL: script/transactions.h */
    struct view_source source;
    struct view_run views;
    uint64_t now;         /* for heddle.now() */
    struct random random; /* for heddle.random() */
    bool aborted;         /* tx:abort() */
};

/* The frame stays where it is until its end; they end in reverse order. */
void frame_begin(struct frame *frame,
                 struct lua_runtime *lua,
                 enum frame_kind kind,
                 struct transaction *transaction);
void frame_begin_run(struct frame *frame,
                     struct lua_runtime *lua,
                     struct run *run,
                     struct handling *handling);
void frame_end(struct frame *frame);

/* Time and chance of a run of the node, drawn or as they were recorded
 * (lua-runtime-4). */
void frame_draw(struct frame *frame,
                const struct run *run,
                struct recorded *recorded);

/* The same for the handling of an event: those of the event. */
void frame_draw_event(struct frame *frame);

static inline bool frame_is_toplevel(const struct frame *frame)
{
    return frame->outer == NULL;
}

/* -- Lua runtimes -------------------------------------------------------- */

/* Something that has to go before its runtime; in the Lua runtime's
 * `bindings`. */
struct binding {
    struct list_node node;
    struct lua_runtime *lua; /* NULL: was cut, or never bound */
    void (*cut)(struct binding *binding);
};

void binding_tie(struct binding *binding,
                 struct lua_runtime *lua,
                 void (*cut)(struct binding *binding));
void binding_untie(struct binding *binding); /* harmless if it was cut */

/* All of it is borrowed as long as the Lua runtime is there. */
struct lua_runtime_options {
    struct heddle *heddle; /* the module of the script */
    struct runtime *runtime;
    const struct lua_runtime_host *host;
    uint64_t seed; /* of heddle.random() */
    bool forget;   /* nodes are fresh at every start: no fingerprints */
};

/* What is known of a node. */
struct lua_runtime_count {
    uint64_t runs; /* that were committed */
    bool is_lua;   /* code of Lua has run in it */
};

/* Runs inside reads. Lua allows two hundred calls of C inside each other, and
 * a run takes four to six of them. */
enum {
    LUA_RUNTIME_NESTING = 24
};

struct lua_runtime {
    struct list_node node; /* in the module's Lua runtimes */
    struct heddle *heddle;
    struct script *script;
    struct runtime *runtime;
    const struct lua_runtime_host *host;
    uint64_t seed;
    bool forget;
    struct list bindings;
    struct list tickets;        /* struct ticket: events that have not ended */
    VEC(struct value *) groups; /* names */
    VEC(struct lua_runtime_count) counts; /* by the ordinal of a node */
    struct frame toplevel;
    struct frame *frame; /* the innermost */
    uint64_t registered; /* nodes by hand */
    uint64_t reads;      /* of data, by runs and handlers */
    uint64_t glances;    /* runs that only looked, for piece:get(): nobody's */
    bool told;           /* that a node has no fingerprint */
};

/* A new one; it stays where it is. Patterns of the script that are known are
 * made known to the runtime. */
void lua_runtime_set_up(struct lua_runtime *lua,
                        const struct lua_runtime_options *options);

/* Before the end of the runtime (lua-runtime-1), and after it. */
void lua_runtime_cut(struct lua_runtime *lua);
void lua_runtime_clear_away(struct lua_runtime *lua);

static inline struct sched *lua_runtime_sched(const struct lua_runtime *lua)
{
    return lua->runtime->sched;
}

static inline mono_ms lua_runtime_now(const struct lua_runtime *lua)
{
    return lua->host->now(lua->host->ctx);
}

static inline void lua_runtime_load(const struct lua_runtime *lua,
                                    struct entity *entity)
{
    if (lua->host->load != NULL) {
        lua->host->load(lua->host->ctx, entity);
    }
}

uint64_t lua_runtime_wall(const struct lua_runtime *lua);

/* Reports to the host what a person has to know. */
void lua_runtime_report(struct lua_runtime *lua,
                        struct value source,
                        const struct place *place,
                        const char *message);

/* A run of the node was committed: for the hooks of the runtime's host. */
void lua_runtime_note_run(struct lua_runtime *lua, const struct node *node);

/* How many of those there were, by the ordinal of the node; and whether it is
 * code of Lua, or a node of the library. */
uint64_t lua_runtime_runs(const struct lua_runtime *lua, uint32_t ordinal);
bool lua_runtime_is_lua(const struct lua_runtime *lua, uint32_t ordinal);

/* A place for Lua: {doc=, space=, path=}, new. Paths begin at the payload; one
 * outside of it begins with "..". A scope other than the space's own is said,
 * too. */
struct value lua_runtime_place_value(const struct place *place);

/* What the name of a change group is to the scheduler: the same for the same
 * name; borrowed from the Lua runtime. */
const void *lua_runtime_group(struct lua_runtime *lua, struct value name);

#endif
