/* A program that is run to its end, as somebody at a prompt would: how long
 * that takes. */

#ifndef BENCH_LIB_COMMAND_H
#define BENCH_LIB_COMMAND_H

#include <stdbool.h>

enum {
    COMMAND_WORDS = 15,
};

/* What a run has cost, in nanoseconds. */
struct command_cost {
    double wall;   /* from before its start until its end was noticed */
    double on_cpu; /* its own and the system's on its behalf */
    double memory; /* at its height, in bytes: not nanoseconds */
};

/* Runs it, with nothing at its standard input and its output thrown away, on
 * any CPU. `arguments` ends with NULL, after COMMAND_WORDS at most; the first
 * is the program. False if its exit code is not 0. */
bool command_run(const char *const *arguments, struct command_cost *cost);

#endif
