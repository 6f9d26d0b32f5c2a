/* The space that a history takes on a disk. */

#ifndef BENCH_DURABLE_SPACE_H
#define BENCH_DURABLE_SPACE_H

#include "lib/bench.h"

/* Many commits that replace one field of a document each: the files of the
 * store after it was closed beside those of the floor, which has the same rows.
 * `folder` is for the files, and empty afterwards. */
void bench_space(struct bench *bench, const char *folder);

#endif
