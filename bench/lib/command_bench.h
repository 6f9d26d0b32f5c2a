/* The command of the release and data directories for it, both of this
 * run, for benchmarks that measure what a person at a prompt does. */

#ifndef BENCH_LIB_COMMAND_BENCH_H
#define BENCH_LIB_COMMAND_BENCH_H

#include "lib/bench.h"
#include "lib/command.h"

enum {
    COMMAND_PATH = 300,
};

struct command_bench {
    struct bench *bench;
    char heddle[COMMAND_PATH]; /* the command */
    char folder[64];           /* of this run */
    char data[COMMAND_PATH]; /* of the piece that command_bench_begin started */
    char file[COMMAND_PATH]; /* its pattern */
};

/* The command is the one beside the directory of this program, `self`:
 * build/gcc-release/heddle. */
void command_bench_open(struct command_bench *commands,
                        struct bench *bench,
                        const char *self);
void command_bench_close(struct command_bench *commands);

/* A piece NAME of that pattern, in a data directory of its own; what its start
 * costs. */
struct command_cost command_bench_begin(struct command_bench *commands,
                                        const char *name,
                                        const char *lua);
void command_bench_end(struct command_bench *commands); /* removes both */

/* Runs the command to its end, or ends the benchmark with a message. */
struct command_cost command_bench_run(const struct command_bench *commands,
                                      const char *const *arguments);

/* Ends the benchmark. */
_Noreturn void command_bench_stop(const struct command_bench *commands,
                                  const char *why);

#endif
