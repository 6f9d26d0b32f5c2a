/* Replicas and a store under faults: a sample of what `./dev sim replica` does
 * at length (test/sim/replica.c). */

#include "lib/replica_sim.h"
#include "lib/test.h"

/* A round that fails names its own seed for `./dev sim replica 1 SEED`. */
PROPERTY(replicas_agree_with_the_store_whatever_happens_between_them, 300)
{
    struct replica_sim_counts counts = {0};
    uint64_t digest;
    EXPECT(replica_sim_run(random_u64(random) >> 32, &counts, &digest));
}

TEST(deltas_are_part_of_it)
{
    struct replica_sim_counts counts = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t digest;
        EXPECT(replica_sim_run(seed, &counts, &digest));
    }
    EXPECT(counts.deltas > 100);
}

TEST(the_same_seed_is_the_same_run)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct replica_sim_counts counts = {0};
        uint64_t first;
        uint64_t second;
        EXPECT(replica_sim_run(seed, &counts, &first));
        EXPECT(replica_sim_run(seed, &counts, &second));
        EXPECT_EQ(first, second);
    }
}
