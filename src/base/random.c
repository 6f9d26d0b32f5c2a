/* xoshiro256** (Blackman and Vigna), seeded by splitmix64. */

#include "base/random.h"

#include "base/check.h"

static uint64_t splitmix64(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15U;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

void random_init(struct random *random, uint64_t seed)
{
    for (size_t i = 0; i < COUNT_OF(random->state); i++) {
        random->state[i] = splitmix64(&seed);
    }
}

uint64_t random_u64(struct random *random)
{
    uint64_t *s = random->state;
    const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    CHECK(bound > 0);

    /* Numbers past the last whole multiple of `bound` would favour the small
     * results; draw again instead. */
    const uint64_t excess = (UINT64_MAX % bound + 1) % bound;
    uint64_t drawn = random_u64(random);
    while (drawn > UINT64_MAX - excess) {
        drawn = random_u64(random);
    }
    return drawn % bound;
}

int64_t random_between(struct random *random, int64_t low, int64_t high)
{
    CHECK(low <= high);
    const uint64_t span = (uint64_t)high - (uint64_t)low;
    const uint64_t step = span == UINT64_MAX ? random_u64(random)
                                             : random_below(random, span + 1);
    return (int64_t)((uint64_t)low + step);
}

bool random_one_in(struct random *random, uint64_t in)
{
    return random_below(random, in) == 0;
}

double random_unit(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1.0p-53;
}
