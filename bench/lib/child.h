/* A program beside this one that answers lines with lines: a peer in another
 * language, or one that must not share this process. */

#ifndef BENCH_LIB_CHILD_H
#define BENCH_LIB_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* All zero is none. */
struct child {
    pid_t pid;
    FILE *to;
    FILE *from;
};

/* `arguments` ends with NULL; the first is the program, sought in PATH. False
 * if it cannot be started. */
bool child_start(struct child *child, char *const *arguments);

/* Sends a line and waits for the number in the answer. False if there is no
 * child (any more), or the answer is none. */
__attribute__((format(printf, 3, 4))) bool child_ask(struct child *child,
                                                     double *answer,
                                                     const char *format,
                                                     ...);

/* Closes its input and waits for its end. Harmless without a child. */
void child_stop(struct child *child);

#endif
