/* How a call of Lua code ended, for programs and for people.
 *
 * The message is the sentence alone; where it happened is in `file` and `line`.
 * The place is that of the pattern's code: what error(message, level) says, or
 * the innermost function of Lua.
 *
 * All zero is "no error" and owns nothing. */

#ifndef SCRIPT_ERROR_H
#define SCRIPT_ERROR_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum script_cause {
    SCRIPT_FINE,
    SCRIPT_PENDING,     /* a task waits: no error */
    SCRIPT_ERROR,       /* the code raised an error */
    SCRIPT_SYNTAX,      /* the text is not Lua */
    SCRIPT_STEPS_OUT,   /* a stop: the budget of steps is used up */
    SCRIPT_MEMORY_OUT,  /* a stop: so is the memory */
    SCRIPT_INTERRUPTED, /* a stop: the host wanted it to end */
    SCRIPT_STOPPED,     /* a stop for a reason of the host: script_stop */
};

struct script_error {
    enum script_cause cause;
    int code; /* of SCRIPT_STOPPED */
    struct buf message;
    struct buf file; /* empty if not known */
    uint32_t line;   /* 0 if not known */
    struct buf traceback;
};

void script_error_release(struct script_error *error);

/* Forgets the content and keeps the memory. */
void script_error_clear(struct script_error *error);

/* "file:12: message", as far as it is known. */
void script_error_write(struct buf *to, const struct script_error *error);

const char *script_cause_name(enum script_cause cause);

/* -- Filling, for vm.c and task.c ---------------------------------------- */

/* The place and the traceback of an error that was just raised in `thread`,
 * whose object is at `index` of `L`. Pushes on `L`, pops it again; may raise
 * for want of memory, and holds nothing then. */
void script_error_locate(struct script_error *error,
                         lua_State *L,
                         lua_State *thread,
                         int index);

/* The message from an object that is a string or a number; raises nothing.
 * False for any other object. */
bool script_error_take_text(struct script_error *error,
                            lua_State *L,
                            int index);

/* A message of the form "name:12: sentence" about the file `file`: splits it.
 */
void script_error_split(struct script_error *error, const char *file);

#endif
