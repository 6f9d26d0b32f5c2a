/* array: persistent sequences against plain C arrays, sharing, and what a
 * change costs. */

#include "value/array.h"

#include <string.h>

#include "base/vec.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"
#include "value/node.h"

typedef VEC(struct value) plain;

static void plain_release(plain *list)
{
    VEC_FOREACH (list, item) {
        value_unref(*item);
    }
    vec_release(list);
}

static void plain_splice(plain *list,
                         size_t index,
                         size_t removed,
                         const struct value *items,
                         size_t count)
{
    for (size_t i = 0; i < removed; i++) {
        value_unref(list->at[index + i]);
    }
    const size_t behind = list->count - index - removed;
    vec_reserve(list, list->count + count);
    if (behind > 0) {
        memmove(&list->at[index + count],
                &list->at[index + removed],
                behind * sizeof list->at[0]);
    }
    for (size_t i = 0; i < count; i++) {
        list->at[index + i] = value_ref(items[i]);
    }
    list->count = list->count + count - removed;
}

/* An item that tells where it is from; every fourth is on the heap. */
static struct value item_of(uint64_t number)
{
    return number % 4 == 0 ? numbered("a string with the number ", number)
                           : value_int((int64_t)number);
}

static struct value array_of_numbers(uint32_t count)
{
    plain items = {0};
    for (uint32_t i = 0; i < count; i++) {
        vec_push(&items, item_of(i));
    }
    struct value array = array_new_adopt(items.at, items.count);
    vec_release(&items);
    return array;
}

/* Element by element the same handles, through every way of reading. */
static bool same_as(struct value array, const plain *list)
{
    if (!EXPECT_EQ(array_count(array), list->count)) {
        return false;
    }
    uint32_t run = 0;
    for (uint32_t i = 0; i < list->count; i += run) {
        const struct value *chunk = array_chunk(array, i, &run);
        if (!EXPECT(chunk != NULL) || !EXPECT(run > 0) ||
            !EXPECT(i + run <= list->count)) {
            return false;
        }
        for (uint32_t j = 0; j < run; j++) {
            if (!EXPECT(value_is_same(chunk[j], list->at[i + j]))) {
                return false;
            }
        }
        if (!EXPECT(value_is_same(array_at(array, i), list->at[i]))) {
            return false;
        }
    }
    EXPECT(value_is_absent(array_at(array, (uint32_t)list->count)));
    return true;
}

/* -- One by one ---------------------------------------------------------- */

TEST(an_empty_array_has_nothing_and_needs_no_memory)
{
    const uint64_t before = test_allocations();
    struct value empty = array_new_adopt(NULL, 0);
    uint32_t run = 7;
    EXPECT(value_is_same(empty, value_empty_array()));
    EXPECT_EQ(array_count(empty), 0);
    EXPECT(value_is_absent(array_at(empty, 0)));
    EXPECT(array_chunk(empty, 0, &run) == NULL);
    EXPECT_EQ(run, 0);
    EXPECT_EQ(array_shared_run(empty, empty, 0), 0);
    empty = array_splice_adopt(empty, 0, 0, NULL, 0);
    EXPECT(value_is_same(empty, value_empty_array()));
    EXPECT_EQ(test_allocations(), before);
}

TEST(an_index_beyond_the_end_has_nothing)
{
    struct value array = from_quoted("[1,2,3]");
    uint32_t run = 7;
    EXPECT(value_is_absent(array_at(array, 3)));
    EXPECT(value_is_absent(array_at(array, UINT32_MAX)));
    EXPECT(array_chunk(array, 3, &run) == NULL);
    EXPECT_EQ(run, 0);
    EXPECT_EQ(array_shared_run(array, array, 3), 0);
    value_unref(array);
}

TEST(an_array_of_any_size_holds_what_it_was_made_of)
{
    static const uint32_t sizes[] = {
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        65,
        511,
        512,
        513,
        544,
        8191,
        8192,
        8193,
        20000,
    };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        plain want = {0};
        struct value array = array_of_numbers(sizes[i]);
        for (uint32_t j = 0; j < sizes[i]; j++) {
            vec_push(&want, array_at(array, j));
            struct value item = item_of(j);
            EXPECT(value_equal(want.at[j], item));
            value_unref(item);
        }
        (void)same_as(array, &want);
        EXPECT_CHECK(array);
        vec_release(&want);
        value_unref(array);
    }
}

TEST(a_walk_gives_every_element_in_order)
{
    static const uint32_t sizes[] = {0, 1, 32, 33, 1000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct value array = array_of_numbers(sizes[i]);
        struct array_iter iter = array_iter(array);
        struct value item;
        uint32_t seen = 0;
        while (array_next(&iter, &item)) {
            EXPECT(value_is_same(item, array_at(array, seen)));
            seen++;
        }
        EXPECT_EQ(seen, sizes[i]);
        EXPECT(!array_next(&iter, &item)); /* and stays at the end */
        value_unref(array);
    }
}

TEST(pushing_gives_the_same_as_making_at_once)
{
    struct value pushed = value_empty_array();
    for (uint32_t i = 0; i < 3000; i++) {
        pushed = array_push_adopt(pushed, item_of(i));
        if (i < 70 || i % 500 < 34) {
            struct value made = array_of_numbers(i + 1);
            EXPECT_VALUE(pushed, made);
            EXPECT_CHECK(pushed);
            value_unref(made);
        }
    }
    value_unref(pushed);
}

TEST(every_element_can_be_replaced)
{
    static const uint32_t sizes[] = {1, 32, 33, 600};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct value array = array_of_numbers(sizes[i]);
        struct value old = value_ref(array);
        for (uint32_t j = 0; j < sizes[i]; j++) {
            array = array_set_adopt(array, j, value_int(-1 - (int64_t)j));
        }
        for (uint32_t j = 0; j < sizes[i]; j++) {
            EXPECT_INT(value_integer(array_at(array, j)), -1 - (int64_t)j);
        }
        struct value again = array_of_numbers(sizes[i]);
        EXPECT_VALUE(old, again);
        EXPECT_CHECK(array);
        value_unref(again);
        value_unref(old);
        value_unref(array);
    }
}

TEST(a_splice_can_do_anything_to_a_run)
{
    static const struct {
        uint32_t index;
        uint32_t removed;
        const char *add;
        const char *want;
    } rows[] = {
        {0, 0, "[]", "[0,1,2,3]"},
        {0, 0, "[7]", "[7,0,1,2,3]"},
        {4, 0, "[7]", "[0,1,2,3,7]"},
        {2, 0, "[7,8]", "[0,1,7,8,2,3]"},
        {1, 2, "[]", "[0,3]"},
        {1, 2, "[7]", "[0,7,3]"},
        {0, 4, "[7]", "[7]"},
        {0, 4, "[]", "[]"},
        {3, 1, "[]", "[0,1,2]"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value array = from_quoted("[0,1,2,3]");
        struct value add = from_quoted(rows[i].add);
        plain items = {0};
        for (uint32_t j = 0; j < array_count(add); j++) {
            vec_push(&items, value_ref(array_at(add, j)));
        }
        array = array_splice_adopt(array,
                                   rows[i].index,
                                   rows[i].removed,
                                   items.at,
                                   items.count);
        EXPECT_QUOTED(array, rows[i].want);
        EXPECT_CHECK(array);
        vec_release(&items);
        value_unref(add);
        value_unref(array);
    }
}

TEST(removing_everything_in_halves_leaves_the_empty_array)
{
    struct value array = array_of_numbers(5000);
    while (array_count(array) > 0) {
        const uint32_t count = array_count(array);
        const uint32_t half = (count + 1) / 2;
        array = array_splice_adopt(array, (count - half) / 2, half, NULL, 0);
        EXPECT_CHECK(array);
    }
    EXPECT(value_is_same(array, value_empty_array()));
}

TEST(a_slot_of_ones_own_is_changed_in_place)
{
    struct value array = array_of_numbers(1000);
    struct value old = value_ref(array);
    struct value *slot = array_own_slot(&array, 501);
    EXPECT_INT(value_integer(*slot), 501);
    *slot = value_int(-1);
    EXPECT_INT(value_integer(array_at(old, 501)), 501);
    EXPECT_INT(value_integer(array_at(array, 501)), -1);
    EXPECT(!value_equal(array, old));
    value_unref(old);

    const uint64_t before = test_allocations();
    (void)value_hash(array);
    slot = array_own_slot(&array, 501);
    *slot = value_int(501);
    EXPECT_EQ(test_allocations(), before);
    struct value again = array_of_numbers(1000);
    EXPECT_VALUE(array, again);
    EXPECT_EQ(value_hash(array), value_hash(again));
    value_unref(again);
    value_unref(array);
}

/* array-1 and array-2: one wrong number anywhere in a tree of three levels. */
TEST(value_check_finds_a_broken_tree)
{
    struct value array = array_of_numbers(2000);
    struct inner_node *root = inner_node(value_heap(array));
    struct inner_node *middle = inner_node(root->child[root->heap.width - 1]);
    struct heap *leaf = middle->child[middle->heap.width - 1];
    EXPECT_EQ(root->heap.height, 2);
    EXPECT_CHECK(array);

    root->below[0]++;
    EXPECT(!value_check(array));
    root->below[1]--; /* the sum is right again */
    EXPECT(!value_check(array));
    root->below[0]--;
    root->below[1]++;

    root->heap.count++;
    EXPECT(!value_check(array));
    root->heap.count--;

    middle->below[1]--;
    EXPECT(!value_check(array));
    middle->below[1]++;

    leaf->height = 1;
    EXPECT(!value_check(array));
    leaf->height = 0;

    leaf->tag = TAG_ENTRIES;
    EXPECT(!value_check(array));
    leaf->tag = TAG_ARRAY;

    leaf->count--; /* and all that is above */
    middle->below[middle->heap.width - 1]--;
    middle->heap.count--;
    root->below[root->heap.width - 1]--;
    root->heap.count--;
    EXPECT(!value_check(array));
    leaf->count++;
    middle->below[middle->heap.width - 1]++;
    middle->heap.count++;
    root->below[root->heap.width - 1]++;
    root->heap.count++;
    EXPECT_CHECK(array);
    value_unref(array);
}

/* -- Against plain arrays ------------------------------------------------ */

/* A version that was kept, and what must still be in it. */
struct version {
    struct value array;
    plain want;
};

static void random_items(struct random *random, plain *items, uint64_t most)
{
    const uint64_t count = random_below(random, most + 1);
    for (uint64_t i = 0; i < count; i++) {
        vec_push(items, item_of(random_below(random, 1000000)));
    }
}

static void random_splice(struct random *random,
                          struct value *array,
                          plain *want)
{
    plain items = {0};
    random_items(random, &items, random_one_in(random, 6) ? 700 : 3);
    const uint64_t count = want->count;
    const uint64_t index = random_below(random, count + 1);
    const uint64_t most = random_one_in(random, 6) ? count : 4;
    const uint64_t behind = count - index;
    const uint64_t removed =
        random_below(random, (behind < most ? behind : most) + 1);
    plain_splice(want, index, removed, items.at, items.count);
    *array = array_splice_adopt(*array,
                                (uint32_t)index,
                                (uint32_t)removed,
                                items.at,
                                items.count);
    vec_release(&items);
}

static void random_step(struct random *random, struct value *array, plain *want)
{
    struct value item = item_of(random_below(random, 1000000));
    const uint64_t kind = random_below(random, 5);
    if (want->count == 0 || kind == 0) {
        vec_push(want, value_ref(item));
        *array = array_push_adopt(*array, item);
        return;
    }
    const size_t at = random_below(random, want->count);
    if (kind == 1) {
        plain_splice(want, at, 1, &item, 1);
        *array = array_set_adopt(*array, (uint32_t)at, item);
    } else if (kind == 2) {
        plain_splice(want, at, 1, &item, 1);
        struct value *slot = array_own_slot(array, (uint32_t)at);
        value_unref(*slot);
        *slot = item;
    } else {
        value_unref(item);
        random_splice(random, array, want);
    }
}

PROPERTY(any_run_of_changes_is_that_of_a_plain_array, 60)
{
    struct version versions[4] = {{VALUE_NONE, {0}}};
    size_t kept = 0;
    plain want = {0};
    random_items(random, &want, gen_size(random, 5000));
    struct value array = value_empty_array();
    VEC_FOREACH (&want, item) {
        array = array_push_adopt(array, value_ref(*item));
    }
    for (int step = 0; step < 60; step++) {
        if (kept < COUNT_OF(versions) && random_one_in(random, 12)) {
            versions[kept].array = value_ref(array);
            plain_splice(&versions[kept].want, 0, 0, want.at, want.count);
            kept++;
        }
        random_step(random, &array, &want);
        if (!same_as(array, &want) || !EXPECT_CHECK(array)) {
            break;
        }
    }
    for (size_t i = 0; i < kept; i++) {
        (void)same_as(versions[i].array, &versions[i].want);
        EXPECT_CHECK(versions[i].array);
        value_unref(versions[i].array);
        plain_release(&versions[i].want);
    }
    value_unref(array);
    plain_release(&want);
}

/* -- Sharing ------------------------------------------------------------- */

PROPERTY(a_shared_run_is_the_same_on_both_sides, 100)
{
    plain want = {0};
    random_items(random, &want, gen_size(random, 3000));
    struct value a = array_new_adopt(want.at, want.count);
    for (size_t i = 0; i < want.count; i++) {
        (void)value_ref(want.at[i]);
    }
    struct value b = value_ref(a);
    for (int step = 0; step < 5; step++) {
        random_step(random, &b, &want);
    }
    const uint32_t count =
        array_count(a) < array_count(b) ? array_count(a) : array_count(b);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t run = array_shared_run(a, b, i);
        EXPECT_EQ(run, array_shared_run(b, a, i));
        EXPECT(i + run <= count);
        for (uint32_t j = i; j < i + run; j += 1 + (run > 40 ? run / 20 : 0)) {
            EXPECT(value_is_same(array_at(a, j), array_at(b, j)));
        }
    }
    value_unref(a);
    value_unref(b);
    plain_release(&want);
}

TEST(an_array_shares_all_of_itself_with_itself)
{
    struct value array = array_of_numbers(1000);
    for (uint32_t i = 0; i < 1000; i += 37) {
        EXPECT_EQ(array_shared_run(array, array, i), 1000 - i);
    }
    struct value apart = array_of_numbers(1000); /* the same handles */
    EXPECT(array_shared_run(array, apart, 1) > 0);
    value_unref(apart);
    value_unref(array);
}

TEST(few_shared_runs_cover_all_but_the_changed_leaf)
{
    struct value old = array_of_numbers(100000);
    struct value new = array_set_adopt(value_ref(old), 50001, value_null());
    uint32_t runs = 0;
    uint32_t apart = 0;
    for (uint32_t i = 0; i < 100000;) {
        const uint32_t run = array_shared_run(old, new, i);
        runs += run > 0 ? 1 : 0;
        apart += run > 0 ? 0 : 1;
        i += run > 0 ? run : 1;
    }
    EXPECT_EQ(apart, 1);
    EXPECT(runs <= 2 * 4); /* before and behind it, at each level */
    value_unref(old);
    value_unref(new);
}

/* -- What a change costs ------------------------------------------------- */

TEST(changing_one_of_100000_elements_allocates_one_path)
{
    struct value old = array_of_numbers(100000);
    const unsigned levels = values_height(old) + 1;
    EXPECT_EQ(levels, 4);

    uint64_t before = test_allocations();
    struct value new = array_set_adopt(value_ref(old), 77777, value_null());
    EXPECT_EQ(test_allocations() - before, levels);

    before = test_allocations();
    new = array_set_adopt(new, 77777, value_bool(true));
    new = array_set_adopt(new, 77778, value_bool(true));
    EXPECT_EQ(test_allocations() - before, 0);

    before = test_allocations();
    struct value pushed = array_push_adopt(value_ref(old), value_null());
    EXPECT(test_allocations() - before <= 2U * levels + 1);
    value_unref(pushed);

    before = test_allocations();
    struct value item = value_null();
    struct value wider = array_splice_adopt(value_ref(old), 500, 0, &item, 1);
    EXPECT(test_allocations() - before <= 64);
    EXPECT_EQ(array_count(wider), 100001);
    value_unref(wider);

    before = test_allocations();
    struct value shorter =
        array_splice_adopt(value_ref(old), 1000, 90000, NULL, 0);
    EXPECT(test_allocations() - before <= 64);
    EXPECT_EQ(array_count(shorter), 10000);
    value_unref(shorter);
    value_unref(new);
    value_unref(old);
}

TEST(an_unshared_array_is_changed_without_memory)
{
    struct value array = array_of_numbers(100000);
    const uint64_t before = test_allocations();
    for (uint32_t i = 1; i < 100000; i += 997) {
        array = array_set_adopt(array, i, value_int(-1));
    }
    EXPECT_EQ(test_allocations(), before);
    value_unref(array);
}

TEST(pushing_to_an_unshared_array_allocates_less_than_once_a_leaf)
{
    struct value array = value_empty_array();
    const uint64_t before = test_allocations();
    for (uint32_t i = 0; i < 32000; i++) {
        array = array_push_adopt(array, value_int(i));
    }
    EXPECT(test_allocations() - before < 32000 / 16);
    EXPECT_EQ(values_nodes(array) < 32000 / 24, 1);
    value_unref(array);
}

/* array-3, by the number of nodes that hold what is left. */
TEST(t3_removing_most_elements_one_by_one_leaves_no_thin_nodes)
{
    struct value array = array_of_numbers(6400);
    for (uint32_t leaf = 0; leaf < 200; leaf++) {
        for (uint32_t i = 0; i < 31; i++) {
            array = array_splice_adopt(array, leaf, 1, NULL, 0);
        }
    }
    EXPECT_EQ(array_count(array), 200);
    EXPECT_CHECK(array);
    EXPECT(values_nodes(array) <= 200 / 8);
    value_unref(array);
}

/* Cuts and joins at random places, small and large, must not pile up levels:
 * a full tree of this size has three. */
PROPERTY(t3_no_run_of_splices_makes_a_tree_high_or_thin, 2)
{
    struct value array = array_of_numbers(6000);
    for (int step = 0; step < 250; step++) {
        const uint32_t count = array_count(array);
        const uint32_t at = (uint32_t)random_below(random, count);
        const uint64_t most = random_one_in(random, 3) ? count / 4 : 3;
        const uint64_t behind = count - at;
        const uint32_t gone =
            (uint32_t)random_below(random, (behind < most ? behind : most) + 1);
        struct value taken[1] = {value_int(step)};
        array = array_splice_adopt(array, at, gone, taken, 1);
        while (array_count(array) < 6000) {
            plain items = {0};
            random_items(random, &items, random_one_in(random, 2) ? 2 : 900);
            const uint32_t to =
                (uint32_t)random_below(random,
                                       (uint64_t)array_count(array) + 1);
            array = array_splice_adopt(array, to, 0, items.at, items.count);
            vec_release(&items);
        }
    }
    EXPECT(values_height(array) <= 3);
    EXPECT(values_nodes(array) <= array_count(array) / 12);
    value_unref(array);
}
