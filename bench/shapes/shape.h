/* A shape: a graph that is built once, and what is done to it again and again.
 * How many runs and sweeps one act takes is known, and checked before anything
 * is measured. */

#ifndef BENCH_SHAPES_SHAPE_H
#define BENCH_SHAPES_SHAPE_H

#include "lib/bench.h"
#include "shapes/kit.h"

struct shape {
    const char *name;
    void (*build)(struct kit *kit, uint32_t size);
    void (*act)(struct kit *kit, uint32_t size);
    uint32_t size;
    uint64_t runs;   /* of one act */
    uint64_t sweeps; /* at most, likewise */
    double other_ms; /* what the known implementation takes for one act, with
                        each run a commit to a store; 0: not known */
};

/* In a space that is its own authority, or with each run to a store. */
void bench_shape(struct bench *bench, const struct shape *shape, bool store);

#endif
