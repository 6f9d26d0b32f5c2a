/* A desk: the command of the release and data directories for it, both of this
 * run, for benchmarks that measure what a person at a prompt does. */

#ifndef BENCH_DESK_H
#define BENCH_DESK_H

#include "lib/bench.h"
#include "lib/command.h"

enum {
    DESK_PATH = 300,
};

struct desk {
    struct bench *bench;
    char heddle[DESK_PATH]; /* the command */
    char folder[64];        /* of this run */
    char data[DESK_PATH];   /* of the piece that desk_begin started */
    char file[DESK_PATH];   /* its pattern */
};

/* The command is the one beside the directory of this program, `self`:
 * build/gcc-release/heddle. */
void desk_open(struct desk *desk, struct bench *bench, const char *self);
void desk_close(struct desk *desk);

/* A piece NAME of that pattern, in a data directory of its own; what its start
 * costs. */
struct command_cost desk_begin(struct desk *desk,
                               const char *name,
                               const char *lua);
void desk_end(struct desk *desk); /* removes both */

/* Runs the command to its end, or ends the benchmark with a message. */
struct command_cost desk_run(const struct desk *desk,
                             const char *const *arguments);

/* Ends the benchmark. */
_Noreturn void desk_stop(const struct desk *desk, const char *why);

#endif
