/* One Lua state that cannot hurt its process.
 *
 * A `struct script` owns a state, its memory and its budgets. Code that runs in
 * it is not trusted: whatever it does, a call ends, with results or with an
 * error, and the state can be called again.
 *
 *   vm-1  Nothing of Lua runs, allocates or raises outside of a protected call:
 *         script_protect is the one door, script_call and the loaders go
 *         through it. The panic handler is never reached.
 *   vm-2  Every call has a budget of steps. An instruction of Lua is a step;
 *         what a C function does in a loop, bytes that are allocated and
 *         collections that the memory budget enforces cost steps as well. The
 *         same code with the same arguments takes the same steps, give or take
 *         SCRIPT_TICK.
 *   vm-3  Memory is counted over the whole state. What is beyond the budget is
 *         refused, and the call ends; afterwards garbage is collected.
 *   vm-4  A stop (steps, memory, interrupt, script_stop) cannot be caught by
 *         Lua code: pcall, xpcall and coroutines pass it on, and what __close
 *         would run dies at its first instruction.
 *   vm-5  Lua raises errors with longjmp. A C function of ours owns nothing
 *         that needs to be released while it calls what may raise; what must
 *         survive that is in an object of the state (script/object.h) or in the
 *         script.
 *   vm-6  Finalizers of Lua code do not exist: the collector switches hooks off
 *         while it runs one, so no budget would hold. setmetatable refuses
 *         __gc, and one that is added later has no effect.
 *
 * What the host keeps for a call until it ends, values that it writes above
 * all, counts as memory, too (script_hold).
 *
 * Not every cost can be counted: comparing two long strings, or reading a table
 * whose keys were chosen to collide, is one instruction each. `interrupted` is
 * the host's net for those; it is asked every SCRIPT_TICK steps, and more often
 * while there are long strings: the more bytes of them, the fewer instructions.
 *
 * Not here: which functions Lua code sees (script/sandbox.h), calls that wait
 * (script/task.h). A script belongs to one thread at a time. */

#ifndef SCRIPT_VM_H
#define SCRIPT_VM_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "script/error.h"

enum {
    SCRIPT_TICK = 1000,  /* instructions between two looks at the budget, */
    SCRIPT_TICK_MIN = 2, /* and while there are long strings */
    SCRIPT_LONG_BYTES = 64 * 1024, /* of a string: to compare two of those
                                      takes longer than a thousand others */
    SCRIPT_MEMORY_BYTES = 64 * 1024 * 1024,
    SCRIPT_MEMORY_BYTES_MIN = 256 * 1024, /* for the libraries */
    SCRIPT_STEPS = 100 * 1000 * 1000,
    SCRIPT_BUILD_STEPS = 1000 * 1000 * 1000, /* of a pattern that builds a
                                                piece */
};

/* What the code may reach of the world, all of it optional. None of these may
 * raise an error of Lua. */
struct script_host {
    void *ctx;

    /* One line that print made, without its newline; borrowed. */
    void (*print)(void *ctx, const char *line, size_t length);

    /* True ends the running call. Asked often: it should cost little. */
    bool (*interrupted)(void *ctx);

    /* The text of a module that nobody registered, and the name of its file for
     * messages. Names are words joined by dots, never a path. An error other
     * than NOT_FOUND is shown with its sentence. */
    enum err (*module)(void *ctx,
                       const char *name,
                       struct buf *text,
                       struct buf *file,
                       struct err_detail *detail);
};

/* A field that is 0 means the number above. */
struct script_config {
    struct script_host host;
    size_t memory_bytes;
    uint64_t steps; /* of a call that names no budget of its own */
};

struct script_task;

struct script {
    struct script_config config;

    /* State. */
    lua_State *main;
    lua_State *running;       /* the thread whose C function or code runs */
    struct script_task *task; /* the task that runs, or NULL */
    size_t memory_used;
    size_t host_bytes; /* that the host keeps for the calls under way */
    size_t converted;  /* bytes of the value that convert_read made last */
    struct map long_strings;   /* by address */
    size_t long_bytes;         /* of all of them */
    int tick;                  /* instructions between two looks, now */
    bool is_unlimited;         /* while the libraries are opened, garbage is
                                  collected because of script_hold, and at
                                  the end */
    const void *refused_block; /* the last request that was refused */
    size_t refused_size;
    unsigned closing; /* coroutines that are being closed inside each other */

    /* Of the innermost protected call. */
    int64_t steps_left;
    enum script_cause stop; /* why it has to end; SCRIPT_FINE: it need not */
    struct script_error caught; /* what is known of its error so far */
};

/* Never NULL. The state has the libraries of script/sandbox.h. */
struct script *script_new(const struct script_config *config);

/* No call and no task is under way. NULL is harmless. */
void script_free(struct script *script);

static inline struct script *script_of(lua_State *L)
{
    return *(struct script **)lua_getextraspace(L);
}

/* -- Calls --------------------------------------------------------------- */

/* Runs `body` with `ctx` as a light userdata at index 1, protected and with a
 * budget of its own: `steps`, or the script's if that is 0. A call inside of a
 * call does not use up the outer one's budget. SCRIPT_FINE, or the cause, and
 * `error`, which may be NULL, is filled. */
MUST_CHECK enum script_cause script_protect(struct script *script,
                                            lua_CFunction body,
                                            void *ctx,
                                            uint64_t steps,
                                            struct script_error *error);

/* A value that Lua code gave us, kept until it is released. All zero is none.
 */
struct script_function {
    int reference;
};

/* Keeps the value at `index`, whatever its type. May raise. */
struct script_function script_function_keep(lua_State *L, int index);
void script_function_release(struct script *script,
                             struct script_function *function);

/* Pushes what was kept; raises nothing, but needs a free slot. */
void script_function_push(lua_State *L, struct script_function function);

/* What a call needs of its caller. The callbacks run inside the protected
 * call and may raise (vm-5). */
struct script_call {
    struct script_function function;
    int (*push)(lua_State *L, void *ctx); /* arguments; returns how many */
    /* The results are at 1 .. count. */
    void (*take)(lua_State *L, int count, void *ctx);
    void *ctx;
    uint64_t steps; /* 0: the script's */
};

MUST_CHECK enum script_cause script_call(struct script *script,
                                         const struct script_call *call,
                                         struct script_error *error);

/* -- For C functions that Lua code calls: all of these may raise ---------- */

/* Ends the call for good (vm-4). `code` is for SCRIPT_STOPPED, the host's own
 * reasons; it comes out in the error. Does not return; typed so that one can
 * write `return script_stop(...)`. */
__attribute__((format(printf, 4, 5))) int script_stop(lua_State *L,
                                                      enum script_cause cause,
                                                      int code,
                                                      const char *format,
                                                      ...);

/* Whether the call has to end; raises nothing. */
bool script_is_stopped(lua_State *L);

/* Raises again if the call has to end: for who caught an error of Lua. */
void script_pass_stop(lua_State *L);

/* The work of `steps` instructions was or will be done. */
static inline void script_charge(lua_State *L, uint64_t steps);
int script_out_of_steps(lua_State *L);

/* `bytes` are about to be asked for. More than the whole budget ends the call,
 * with the place in the code, which a refusal by the allocator does not know;
 * more than is free collects garbage, which Lua does not do for its string
 * buffers. */
void script_expect_memory(lua_State *L, uint64_t bytes);

/* The host keeps `bytes` for this call until it ends. More than the memory
 * budget has left ends the call. */
void script_hold(lua_State *L, size_t bytes);

/* The same for a buffer that has grown to `length` bytes and goes on: asks
 * again when it has doubled. *expected begins with 0. */
static inline void script_expect_growth(lua_State *L,
                                        size_t *expected,
                                        size_t length)
{
    if (length > *expected) {
        *expected = length * 2 + 65536;
        script_expect_memory(L, (uint64_t)*expected * 2);
    }
}

static inline void script_charge(lua_State *L, uint64_t steps)
{
    struct script *script = script_of(L);
    if (steps > INT64_MAX || (int64_t)steps > script->steps_left) {
        (void)script_out_of_steps(L);
    }
    script->steps_left -= (int64_t)steps;
}

/* The cost of looking at `bytes` bytes. */
static inline void script_charge_bytes(lua_State *L, uint64_t bytes)
{
    script_charge(L, bytes / 64);
}

/* -- For script/task.h and the coroutines of script/coroutine.c ----------- */

/* lua_resume from the running thread; `thread` is the running one meanwhile. */
int script_resume(struct script *script,
                  lua_State *thread,
                  int arguments,
                  int *results);

/* Closes what a dead or suspended thread left open. LUA_OK, or the status of
 * an error whose object is on top of `thread`. A thread that was stopped is
 * left as it is: hooks are off in it, so its code could not be ended. */
int script_close_thread(struct script *script, lua_State *thread);

/* A budget of its own for what follows, until script_budget_end. */
struct script_budget {
    int64_t steps_left;
    enum script_cause stop;
    size_t host_bytes;
};
struct script_budget script_budget_begin(struct script *script, uint64_t steps);
void script_budget_end(struct script *script, struct script_budget outer);

/* The cause of a call that ended with `status` and has its error object on top
 * of `thread`, which it pops. Moves what is known into `error`. */
enum script_cause script_failed(struct script *script,
                                lua_State *thread,
                                int status,
                                struct script_error *error);

#endif
