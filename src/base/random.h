/* A seeded source of random numbers: the same seed gives the same numbers on
 * every machine, for ever, because a seed in a bug report must stay a test.
 *
 * xoshiro256** with its state filled by splitmix64. Not for secrets: what must
 * not be guessed comes from the host (base/host.h). */

#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

void random_init(struct random *random, uint64_t seed);
uint64_t random_u64(struct random *random);

/* Uniform in [0, bound); `bound` is at least 1. */
uint64_t random_below(struct random *random, uint64_t bound);

/* Uniform in [low, high], both included. */
int64_t random_between(struct random *random, int64_t low, int64_t high);

/* True once in `in` calls on average. */
bool random_one_in(struct random *random, uint64_t in);

/* Uniform in [0, 1), with 53 bits. */
double random_unit(struct random *random);

#endif
