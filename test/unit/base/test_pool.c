/* pool: records do not overlap, are zero, and are used again. */

#include "base/pool.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/vec.h"
#include "lib/test.h"

struct record {
    uint64_t words[5];
};

TEST(a_zeroed_pool_is_empty_and_owns_nothing)
{
    const uint64_t before = test_allocations();
    struct pool pool = {0};
    pool_release(&pool);
    EXPECT_EQ(test_allocations(), before);
}

static bool is_zero(const struct record *record)
{
    static const struct record zero;
    return memcmp(record, &zero, sizeof zero) == 0;
}

/* What is in use keeps what was written into it, whatever comes and goes. */
PROPERTY(records_are_zero_at_first_and_their_own_afterwards, 50)
{
    struct pool pool = {0};
    VEC(struct record *) in_use = {0};
    VEC(uint64_t) marks = {0};
    for (uint64_t step = 0; step < 500; step++) {
        if (in_use.count > 0 && random_below(random, 3) == 0) {
            const size_t at = (size_t)random_below(random, in_use.count);
            for (size_t i = 0; i < 5; i++) {
                EXPECT_EQ(in_use.at[at]->words[i], marks.at[at] + i);
            }
            pool_free(&pool, in_use.at[at], sizeof(struct record));
            in_use.at[at] = vec_pop(&in_use);
            marks.at[at] = vec_pop(&marks);
            continue;
        }
        struct record *record = pool_new(&pool, sizeof *record);
        EXPECT(is_zero(record));
        for (size_t i = 0; i < 5; i++) {
            record->words[i] = step * 1000 + i;
        }
        vec_push(&in_use, record);
        vec_push(&marks, step * 1000);
    }
    EXPECT_EQ(pool.count, in_use.count);
    VEC_FOREACH (&in_use, record) {
        pool_free(&pool, *record, sizeof **record);
    }
    pool_release(&pool);
    vec_release(&in_use);
    vec_release(&marks);
}
