/* The rows of `./dev bench persist` that go through the scheduler. Each is
 * given a folder for its files, and leaves it empty. */

#ifndef BENCH_PERSIST_ROWS_H
#define BENCH_PERSIST_ROWS_H

#include "lib/bench.h"

/* A piece is taken up again, with everything that this takes: the pages of the
 * store, and the registration of its nodes. */
void bench_resuming(struct bench *bench, const char *folder);

/* Runs whose commits go to a file, with and without what they saw. */
void bench_steady(struct bench *bench, const char *folder);

/* Several runtimes with the same piece on one store. */
void bench_adoption(struct bench *bench, const char *folder);

#endif
