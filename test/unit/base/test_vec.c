/* vec: an array that grows, of any type. */

#include "base/vec.h"

#include "base/random.h"
#include "lib/test.h"

struct pair {
    uint64_t a;
    char b;
};

TEST(a_zeroed_vector_is_empty_and_owns_nothing)
{
    const uint64_t before = test_allocations();
    VEC(int) vec = {0};
    size_t visits = 0;
    VEC_FOREACH (&vec, item) {
        visits++;
    }
    EXPECT_EQ(visits, 0);
    vec_clear(&vec);
    vec_reserve(&vec, visits);
    vec_release(&vec);
    EXPECT_EQ(test_allocations(), before);
}

TEST(items_are_pushed_and_popped_at_the_end)
{
    VEC(struct pair) vec = {0};
    for (uint64_t i = 0; i < 50; i++) {
        vec_push(&vec, ((struct pair){.a = i, .b = (char)i}));
        EXPECT_EQ(vec_last(&vec)->a, i);
        EXPECT_EQ(vec.count, i + 1);
    }
    for (uint64_t i = 50; i-- > 0;) {
        const struct pair popped = vec_pop(&vec);
        EXPECT_EQ(popped.a, i);
        EXPECT_EQ(popped.b, i);
    }
    EXPECT_EQ(vec.count, 0);
    vec_release(&vec);
    EXPECT(vec.at == NULL);
    EXPECT_EQ(vec.capacity, 0);
}

TEST(the_pushed_item_may_depend_on_the_vector)
{
    VEC(size_t) vec = {0};
    for (size_t i = 0; i < 100; i++) {
        vec_push(&vec, vec.count + (vec.count > 0 ? vec.at[0] : 0));
    }
    for (size_t i = 0; i < 100; i++) {
        EXPECT_EQ(vec.at[i], i);
    }
    vec_release(&vec);
}

TEST(a_walk_visits_the_items_in_order_and_may_change_them)
{
    VEC(unsigned) vec = {0};
    for (unsigned i = 0; i < 20; i++) {
        vec_push(&vec, i);
    }
    VEC_FOREACH (&vec, item) {
        *item *= 2;
    }
    unsigned want = 0;
    VEC_FOREACH (&vec, item) {
        EXPECT_EQ(*item, want);
        want += 2;
    }
    EXPECT_EQ(want, 40);
    vec_release(&vec);
}

TEST(the_last_item_can_be_changed_in_place)
{
    VEC(int) vec = {0};
    vec_push(&vec, 1);
    vec_push(&vec, 2);
    *vec_last(&vec) = 7;
    EXPECT_INT(vec_pop(&vec), 7);
    EXPECT_INT(vec_pop(&vec), 1);
    vec_release(&vec);
}

TEST(capacity_grows_by_half_from_a_minimum)
{
    static const size_t capacities[] = {8, 12, 18, 27, 40, 60};
    VEC(char) vec = {0};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        const uint64_t before = test_allocations();
        vec_push(&vec, 'x');
        EXPECT_EQ(test_allocations(), before + 1);
        EXPECT_EQ(vec.capacity, capacities[i]);
        while (vec.count < vec.capacity) {
            vec_push(&vec, 'x');
        }
        EXPECT_EQ(test_allocations(), before + 1);
    }
    vec_release(&vec);
}

TEST(a_small_vector_grows_like_any_other)
{
    VEC_SMALL(int) vec = {0};
    EXPECT_EQ(sizeof vec, sizeof(void *) + 8);
    for (int i = 0; i < 100; i++) {
        vec_push(&vec, i);
    }
    EXPECT_EQ(vec.count, 100);
    EXPECT_EQ(vec.capacity, 135);
    int sum = 0;
    VEC_FOREACH (&vec, item) {
        sum += *item;
    }
    EXPECT_EQ(sum, 4950);
    EXPECT_EQ(vec_pop(&vec), 99);
    vec_release(&vec);
    EXPECT_EQ(vec.capacity, 0);
}

TEST(a_reserve_is_enough_and_keeps_the_items)
{
    VEC(int) vec = {0};
    vec_push(&vec, 5);
    vec_reserve(&vec, 1000);
    EXPECT_EQ(vec.capacity, 1000);
    EXPECT_INT(vec.at[0], 5);

    const uint64_t before = test_allocations();
    vec_reserve(&vec, 1000);
    while (vec.count < 1000) {
        vec_push(&vec, 6);
    }
    EXPECT_EQ(test_allocations(), before);
    vec_reserve(&vec, 1001); /* and half as many again */
    EXPECT_EQ(vec.capacity, 1500);
    vec_release(&vec);
}

TEST(a_cleared_vector_allocates_nothing_for_the_same_again)
{
    VEC(struct pair) vec = {0};
    uint64_t before = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            vec_push(&vec, ((struct pair){.a = i}));
        }
        if (round == 0) {
            before = test_allocations();
        }
        vec_clear(&vec);
    }
    EXPECT_EQ(test_allocations(), before);
    vec_release(&vec);
}

enum {
    MODEL_SIZE = 512
};

PROPERTY(a_vector_agrees_with_an_array, 40)
{
    VEC(uint64_t) vec = {0};
    uint64_t model[MODEL_SIZE] = {0};
    size_t count = 0;
    for (unsigned i = 0; i < 400; i++) {
        if (count == MODEL_SIZE || random_one_in(random, 100)) {
            vec_clear(&vec);
            count = 0;
        }
        if (count > 0 && random_one_in(random, 3)) {
            EXPECT_EQ(vec_pop(&vec), model[--count]);
        } else if (random_one_in(random, 20)) {
            vec_reserve(&vec, count + random_below(random, 64));
        } else {
            model[count] = random_u64(random);
            vec_push(&vec, model[count]);
            count++;
        }
        EXPECT_EQ(vec.count, count);
        EXPECT(vec.count <= vec.capacity);
        size_t at = 0;
        VEC_FOREACH (&vec, item) {
            EXPECT_EQ(*item, model[at++]);
        }
        EXPECT_EQ(at, count);
    }
    vec_release(&vec);
}
