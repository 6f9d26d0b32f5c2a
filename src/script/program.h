/* A program: a file of patterns, and the pieces of it that run on a runtime.
 * For every host but tests; no header of Lua is included here.
 *
 *   struct program *program = program_new(&options);
 *   program_attach(program, &runtime);
 *   if (program_load(program, &source, &detail) == ERR_OK) {
 *       options.pattern = program_pattern(program);
 *       err = piece_start(&runtime, &options, &piece, &detail);
 *   }
 *   ... runtime_step as ever; the code runs inside of it ...
 *   program_detach(program);        before
 *   runtime_release(&runtime);      the end of the runtime,
 *   program_free(program);          and after it
 *
 * On a host with files (host/live.h) that is: live_settle, program_detach,
 * live_stop, program_free.
 *
 *   program-1  A program is one state of Lua with its budgets (script/vm.h).
 *              Whatever its code does, a call ends, and what went wrong is a
 *              sentence with the file and the line.
 *   program-2  Files of a program have environments of their own and share its
 *              patterns: a name means the pattern that was made last. Loading a
 *              file again is how it is reloaded; pieces that run keep what they
 *              have until they are started again.
 *   program-3  Nothing here reads a clock, a file or chance, or prints: `host`
 *              does.
 *   program-4  Errors of runs are told by the runtime (struct sched_hooks),
 *              with their places; `report` has the rest. */

#ifndef SCRIPT_PROGRAM_H
#define SCRIPT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "value/value.h"

struct entity;
struct node;
struct pattern;
struct piece;
struct place;
struct program;
struct runtime;

/* A function of the host, which effects call as heddle.NAME(...). The arguments
 * are an array, borrowed; *result is new, absent at first. */
struct program_function {
    const char *name; /* ends a list: NULL */
    enum err (*call)(void *ctx,
                     struct value arguments,
                     struct value *result,
                     struct err_detail *detail);
    void *ctx;
    /* Instead of `call`: it is done once the run of the effect has landed, and
     * gives nothing back (script/deferred_calls.h). */
    void (*after)(void *ctx, struct value arguments);
};

/* What the code may reach of the world. All but `now` may be NULL. */
struct program_host {
    void *ctx;
    mono_ms (*now)(void *ctx);   /* what runtime_step is called with */
    uint64_t (*wall)(void *ctx); /* heddle.now(), in ms; NULL: `now` */
    void (*print)(void *ctx, const char *line, size_t length);
    void (*report)(void *ctx, const char *message); /* what went wrong */
    void (*notice)(void *ctx, const char *text);    /* what did not */
    bool (*interrupted)(void *ctx); /* script/vm.h: asked often */

    /* The text of a module that a file requires: script/vm.h. */
    enum err (*module)(void *ctx,
                       const char *name,
                       struct buf *text,
                       struct buf *file,
                       struct err_detail *detail);

    /* Goes on until nothing can be done at this time; for program_read. And
     * brings a document here, for lines that look at it. */
    void (*settle)(void *ctx);
    void (*load)(void *ctx, struct entity *entity);
};

/* A field that is zero means none or the default. */
struct program_options {
    struct program_host host;
    const struct program_function *functions; /* borrowed */
    uint64_t seed;                            /* of heddle.random() */
    size_t memory_bytes;
    uint64_t steps; /* of a call */
};

/* Never NULL. */
struct program *program_new(const struct program_options *options);
void program_free(struct program *program); /* NULL is fine */

/* One runtime at a time. Patterns of the program become known to it; to detach
 * stops the pieces that are of any pattern in Lua. */
void program_attach(struct program *program, struct runtime *runtime);
void program_detach(struct program *program);

struct program_source {
    const char *file; /* for messages */
    const char *text;
    size_t length;
};

/* Runs a file, which returns a pattern or a table of patterns. SYNTAX: the text
 * is not Lua, ARGUMENT: it failed, or returned something else; nothing has
 * changed then but for patterns that it made before. */
MUST_CHECK enum err program_load(struct program *program,
                                 const struct program_source *source,
                                 struct err_detail *detail);

/* What the last file has returned, borrowed: the only one, or NULL; the one of
 * a name, or NULL; and the names of all, "cart, order". And any pattern that
 * was made, by its name, or NULL. */
struct pattern *program_pattern(const struct program *program);
struct pattern *program_returned(const struct program *program,
                                 const char *name);
void program_write_returned(const struct program *program, struct buf *to);
struct pattern *program_pattern_named(const struct program *program,
                                      const char *name);

/* Calls `offer` with each name that can follow in a line of Lua, of which
 * `line` is the beginning: variables, or, after "name:" or "name.", methods and
 * fields of that variable. Runs no code. */
void program_complete(struct program *program,
                      const char *line,
                      size_t length,
                      void (*offer)(void *ctx, const char *name),
                      void *ctx);

/* Runs a line of Lua at the top level, an expression or statements, in an
 * environment that the lines of a program share, and appends what it gives, as
 * JSON where it can be, one result a line. In that environment `doc(id)` is a
 * cell and `piece(name)` a started piece. */
MUST_CHECK enum err program_eval(struct program *program,
                                 const struct program_source *source,
                                 struct buf *shown,
                                 struct err_detail *detail);

/* What is at a place with everything that it links to, up to date, new. */
MUST_CHECK enum err program_read(struct program *program,
                                 struct place *place,
                                 struct value *out,
                                 struct err_detail *detail);

/* A run of the node was committed: for sched_hooks.run. How many there were in
 * this process. */
void program_note_run(struct program *program, const struct node *node);
uint64_t program_runs(const struct program *program, const struct node *node);

/* The release of Lua that is used: "5.4.4". */
const char *program_lua_release(void);

#endif
