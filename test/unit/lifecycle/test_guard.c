/* guard: a pair of kind and id is held at most once, and kinds do not know
 * each other. */

#include "lifecycle/guard.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"

TEST(a_claim_is_held_until_it_is_given_back)
{
    struct guard guard = {0};
    EXPECT(!guard_is_held(&guard, GUARD_THREAD_STOP, "thr_1"));
    EXPECT(guard_claim(&guard, GUARD_THREAD_STOP, "thr_1"));
    EXPECT(guard_is_held(&guard, GUARD_THREAD_STOP, "thr_1"));
    EXPECT(!guard_claim(&guard, GUARD_THREAD_STOP, "thr_1"));
    EXPECT_EQ(guard_count(&guard), 1);
    EXPECT(guard_release(&guard, GUARD_THREAD_STOP, "thr_1"));
    EXPECT(!guard_is_held(&guard, GUARD_THREAD_STOP, "thr_1"));
    EXPECT(!guard_release(&guard, GUARD_THREAD_STOP, "thr_1"));
    EXPECT(guard_claim(&guard, GUARD_THREAD_STOP, "thr_1"));
    guard_release_all(&guard);
    EXPECT_EQ(guard_count(&guard), 0);
    EXPECT(!guard_is_held(&guard, GUARD_THREAD_STOP, "thr_1"));
}

TEST(kinds_and_ids_do_not_know_each_other)
{
    struct guard guard = {0};
    EXPECT(guard_claim(&guard, GUARD_THREAD_START, "a"));
    EXPECT(guard_claim(&guard, GUARD_THREAD_STOP, "a"));
    EXPECT(guard_claim(&guard, GUARD_THREAD_START, "b"));
    EXPECT(guard_claim(&guard, GUARD_THREAD_START, ""));
    EXPECT(guard_release(&guard, GUARD_THREAD_START, "a"));
    EXPECT(guard_is_held(&guard, GUARD_THREAD_STOP, "a"));
    EXPECT(guard_is_held(&guard, GUARD_THREAD_START, "b"));
    guard_release_all(&guard);
}

TEST(the_id_of_a_claim_is_its_own_copy)
{
    struct guard guard = {0};
    char id[] = "thr_1";
    EXPECT(guard_claim(&guard, GUARD_THREAD_SEND, id));
    id[4] = '2';
    EXPECT(guard_is_held(&guard, GUARD_THREAD_SEND, "thr_1"));
    EXPECT(!guard_is_held(&guard, GUARD_THREAD_SEND, id));
    guard_release_all(&guard);
}

TEST(every_kind_has_a_name_of_its_own)
{
    for (unsigned i = 0; i < GUARD_KIND_COUNT; i++) {
        const char *name = guard_kind_name((enum guard_kind)i);
        EXPECT(strchr(name, '.') != NULL);
        for (unsigned j = 0; j < i; j++) {
            EXPECT(strcmp(name, guard_kind_name((enum guard_kind)j)) != 0);
        }
    }
}

PROPERTY(a_guard_agrees_with_a_table_of_booleans, 100)
{
    enum {
        IDS = 40
    };
    struct guard guard = {0};
    bool held[GUARD_KIND_COUNT][IDS] = {{false}};
    size_t count = 0;
    for (int step = 0; step < 500; step++) {
        const enum guard_kind kind =
            (enum guard_kind)random_below(random, GUARD_KIND_COUNT);
        const uint64_t number = random_below(random, IDS);
        bool *model = &held[kind][number];
        char id[16];
        (void)snprintf(id, sizeof id, "thr_%u", (unsigned)number);
        EXPECT(guard_is_held(&guard, kind, id) == *model);
        if (random_below(random, 2) == 0) {
            EXPECT(guard_claim(&guard, kind, id) == !*model);
            count += *model ? 0 : 1;
            *model = true;
        } else {
            EXPECT(guard_release(&guard, kind, id) == *model);
            count -= *model ? 1 : 0;
            *model = false;
        }
        EXPECT_EQ(guard_count(&guard), count);
    }
    guard_release_all(&guard);
}
