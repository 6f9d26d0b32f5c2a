/* map: found is what was inserted and not removed, whatever the hashes. */

#include "base/map.h"

#include "base/check.h"
#include "base/random.h"
#include "lib/test.h"

struct item {
    uint64_t key;
};

static bool has_key(const void *item, const void *key)
{
    return ((const struct item *)item)->key == *(const uint64_t *)key;
}

/* Hash functions from good to worst. */
static uint64_t hash_mixed(uint64_t key)
{
    struct random random;
    random_init(&random, key);
    return random_u64(&random);
}

static uint64_t hash_identity(uint64_t key)
{
    return key;
}

static uint64_t hash_high_bits(uint64_t key)
{
    return key << 56;
}

static uint64_t hash_few(uint64_t key)
{
    return key % 3;
}

static uint64_t hash_constant(uint64_t key)
{
    (void)key;
    return 0;
}

typedef uint64_t hash_fn(uint64_t key);

static hash_fn *const hash_functions[] = {
    hash_mixed,
    hash_identity,
    hash_high_bits,
    hash_few,
    hash_constant,
};

static void *find(const struct map *map, hash_fn *hash, uint64_t key)
{
    return map_find(map, hash(key), has_key, &key);
}

static void *take(struct map *map, hash_fn *hash, uint64_t key)
{
    return map_remove(map, hash(key), has_key, &key);
}

static void insert(struct map *map, hash_fn *hash, struct item *item)
{
    map_insert(map, hash(item->key), item);
}

static void init_items(struct item items[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        items[i].key = i;
    }
}

TEST(a_zeroed_map_is_empty_and_owns_nothing)
{
    const uint64_t before = test_allocations();
    struct map map = {0};
    EXPECT(map_check(&map));
    EXPECT(find(&map, hash_mixed, 1) == NULL);
    EXPECT(take(&map, hash_mixed, 1) == NULL);
    EXPECT(map_next(&map, NULL) == NULL);
    map_clear(&map);
    map_reserve(&map, 0);
    map_release(&map);
    EXPECT_EQ(test_allocations(), before);
}

TEST(what_was_inserted_is_found_until_it_is_removed)
{
    struct item items[100];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        EXPECT(find(&map, hash_mixed, i) == NULL);
        insert(&map, hash_mixed, &items[i]);
        EXPECT(find(&map, hash_mixed, i) == &items[i]);
    }
    EXPECT_EQ(map.count, 100);
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        EXPECT(take(&map, hash_mixed, i) == &items[i]);
        EXPECT(find(&map, hash_mixed, i) == NULL);
        EXPECT(take(&map, hash_mixed, i) == NULL);
    }
    EXPECT_EQ(map.count, 0);
    EXPECT(map_check(&map));
    map_release(&map);
}

TEST(a_slot_can_be_given_another_item_with_the_same_key)
{
    struct item old = {.key = 7};
    struct item new = {.key = 7};
    struct map map = {0};
    insert(&map, hash_mixed, &old);

    struct map_slot *slot =
        map_find_slot(&map, hash_mixed(7), has_key, &old.key);
    CHECK(slot != NULL);
    slot->item = &new;
    EXPECT(find(&map, hash_mixed, 7) == &new);
    EXPECT_EQ(map.count, 1);
    map_release(&map);
}

TEST(what_is_sought_is_found_or_gets_the_slot)
{
    struct item items[100];
    struct map map = {0};
    init_items(items, COUNT_OF(items));
    for (size_t f = 0; f < COUNT_OF(hash_functions); f++) {
        for (size_t i = 0; i < 2 * COUNT_OF(items); i++) {
            struct item *item = &items[i % COUNT_OF(items)];
            const uint64_t hash = hash_functions[f](item->key);
            struct map_slot *slot = map_seek(&map, hash, has_key, &item->key);
            if (i < COUNT_OF(items)) {
                CHECK(slot->item == NULL);
                map_fill(&map, slot, hash, item);
            }
            EXPECT(slot->item == item);
        }
        EXPECT_EQ(map.count, COUNT_OF(items));
        EXPECT(map_check(&map));
        map_clear(&map);
    }
    map_release(&map);
}

TEST(items_can_be_their_own_keys)
{
    struct item items[2] = {{.key = 1}, {.key = 1}};
    struct map map = {0};
    insert(&map, hash_identity, &items[0]);
    EXPECT(map_find(&map, 1, map_same, &items[0]) == &items[0]);
    EXPECT(map_find(&map, 1, map_same, &items[1]) == NULL);
    insert(&map, hash_identity, &items[1]);
    EXPECT(map_remove(&map, 1, map_same, &items[0]) == &items[0]);
    EXPECT(map_find(&map, 1, map_same, &items[1]) == &items[1]);
    map_release(&map);
}

TEST(m1_the_load_is_at_most_three_quarters)
{
    struct item items[400];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    size_t capacity = 8;
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        if (i == capacity / 4 * 3) {
            EXPECT_EQ(map_capacity(&map), capacity);
            capacity *= 2;
        }
        const uint64_t before = test_allocations();
        const bool grows = map_capacity(&map) != capacity;
        insert(&map, hash_mixed, &items[i]);
        EXPECT_EQ(map_capacity(&map), capacity);
        EXPECT_EQ(test_allocations() - before, grows ? 1 : 0);
    }
    map_release(&map);
}

TEST(a_reserve_is_enough_and_no_more_than_needed)
{
    struct item items[100];
    init_items(items, COUNT_OF(items));
    for (size_t count = 1; count <= COUNT_OF(items); count++) {
        struct map map = {0};
        map_reserve(&map, count);
        const size_t capacity = map_capacity(&map);
        EXPECT(capacity == 8 || capacity / 2 / 4 * 3 < count);

        const uint64_t before = test_allocations();
        for (size_t i = 0; i < count; i++) {
            insert(&map, hash_mixed, &items[i]);
        }
        map_reserve(&map, count);
        EXPECT_EQ(test_allocations(), before);
        EXPECT_EQ(map_capacity(&map), capacity);
        map_release(&map);
    }
}

TEST(a_full_map_that_changes_its_items_allocates_nothing)
{
    struct item items[96 * 2];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    for (size_t i = 0; i < 96; i++) {
        insert(&map, hash_mixed, &items[i]);
    }
    EXPECT_EQ(map_capacity(&map), 128); /* 96 is its most */

    const uint64_t before = test_allocations();
    for (size_t i = 0; i < 5000; i++) {
        EXPECT(take(&map, hash_mixed, i % COUNT_OF(items)) != NULL);
        insert(&map, hash_mixed, &items[(i + 96) % COUNT_OF(items)]);
    }
    map_clear(&map);
    for (size_t i = 0; i < 96; i++) {
        insert(&map, hash_mixed, &items[i]);
    }
    EXPECT_EQ(test_allocations(), before);
    map_release(&map);
}

TEST(a_cleared_map_is_empty_and_keeps_its_memory)
{
    struct item items[20];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        insert(&map, hash_mixed, &items[i]);
    }
    const size_t capacity = map_capacity(&map);
    map_clear(&map);
    EXPECT_EQ(map.count, 0);
    EXPECT_EQ(map_capacity(&map), capacity);
    EXPECT(find(&map, hash_mixed, 3) == NULL);
    EXPECT(map_check(&map));
    map_release(&map);
}

TEST(equal_hashes_are_told_apart_by_the_comparison)
{
    struct item items[200];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        insert(&map, hash_constant, &items[i]);
    }
    EXPECT(map_check(&map));
    for (size_t i = 0; i < COUNT_OF(items); i += 2) {
        EXPECT(take(&map, hash_constant, i) == &items[i]);
    }
    EXPECT(map_check(&map));
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        void *want = i % 2 == 1 ? &items[i] : NULL;
        EXPECT(find(&map, hash_constant, i) == want);
    }
    map_release(&map);
}

/* Counts its calls in the key. */
static bool count_calls(const void *item, const void *key)
{
    (void)item;
    (**(unsigned *const *)key)++;
    return false;
}

TEST(an_item_is_compared_only_if_its_hash_agrees)
{
    struct item items[100];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        insert(&map, hash_mixed, &items[i]);
    }
    unsigned calls = 0;
    unsigned *key = &calls;
    for (uint64_t i = 0; i < 200; i++) {
        EXPECT(map_find(&map, hash_mixed(i), count_calls, &key) == NULL);
    }
    EXPECT_EQ(calls, COUNT_OF(items)); /* one for each that is there */
    map_release(&map);
}

/* The n-th hash whose home is slot `home` of a map of 8. */
static uint64_t hash_at_home(const struct map *map, size_t home, unsigned n)
{
    for (uint64_t hash = 0;; hash++) {
        if (map_home(map, hash) == home && n-- == 0) {
            return hash;
        }
    }
}

TEST(m3_a_run_across_the_end_of_the_table_closes_its_gaps)
{
    for (size_t removed = 0; removed < 5; removed++) {
        struct item items[5];
        uint64_t hashes[5];
        struct map map = {0};
        map_reserve(&map, 6);
        EXPECT_EQ(map_capacity(&map), 8);
        init_items(items, COUNT_OF(items));
        for (size_t i = 0; i < COUNT_OF(items); i++) {
            /* Homes 6 7 6 0 7 give the slots 6 7 0 1 2. */
            static const size_t homes[] = {6, 7, 6, 0, 7};
            hashes[i] = hash_at_home(&map, homes[i], (unsigned)i);
            map_insert(&map, hashes[i], &items[i]);
        }
        EXPECT(map.slots[2].item == &items[4]);

        const uint64_t key = removed;
        EXPECT(map_remove(&map, hashes[removed], has_key, &key) ==
               &items[removed]);
        EXPECT(map_check(&map));
        for (size_t i = 0; i < COUNT_OF(items); i++) {
            void *want = i != removed ? &items[i] : NULL;
            EXPECT(map_find(&map, hashes[i], has_key, &items[i].key) == want);
        }
        map_release(&map);
    }
}

TEST(numbers_are_good_enough_as_hashes)
{
    /* Multiples of 4096 would all start at slot 0 of a table that takes the
     * low bits. Most items should be at home, or near. */
    enum {
        COUNT = 1000
    };
    static struct item items[COUNT];
    struct map map = {0};
    for (size_t i = 0; i < COUNT; i++) {
        items[i].key = i * 4096;
        insert(&map, hash_identity, &items[i]);
    }
    const size_t mask = map_capacity(&map) - 1;
    size_t steps = 0;
    MAP_FOREACH (&map, slot) {
        const size_t at = (size_t)(slot - map.slots);
        steps += (at - map_home(&map, slot->hash)) & mask;
    }
    EXPECT(steps < COUNT);
    map_release(&map);
}

TEST(a_walk_visits_each_item_once)
{
    struct item items[50];
    bool seen[50] = {false};
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        insert(&map, hash_few, &items[i]);
    }
    size_t visits = 0;
    MAP_FOREACH (&map, slot) {
        const struct item *item = slot->item;
        EXPECT_EQ(slot->hash, hash_few(item->key));
        EXPECT(!seen[item->key]);
        seen[item->key] = true;
        visits++;
    }
    EXPECT_EQ(visits, COUNT_OF(items));
    map_release(&map);
}

TEST(the_check_sees_a_gap_behind_a_run)
{
    static const size_t homes[] = {1, 2, 3, 3, 3};
    struct item items[5];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    map_reserve(&map, 6);
    for (size_t i = 0; i < COUNT_OF(homes); i++) {
        map_insert(&map, hash_at_home(&map, homes[i], 0), &items[i]);
    }
    EXPECT(map_check(&map));

    EXPECT(map.slots[4].item == &items[3]);
    map.slots[4].item = NULL;
    map.count--;
    EXPECT(!map_check(&map)); /* slot 5 is not reached from 3 */
    map_release(&map);
}

TEST(the_check_sees_what_is_broken)
{
    struct item items[4];
    init_items(items, COUNT_OF(items));
    struct map map = {0};
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        insert(&map, hash_constant, &items[i]);
    }
    EXPECT(map_check(&map));

    map.count++; /* an item too few */
    EXPECT(!map_check(&map));
    map.count--;

    /* A gap on the way to the last: homes are slot 0. */
    map.slots[1].item = NULL;
    map.count--;
    EXPECT(!map_check(&map));
    map.slots[1].item = &items[1];
    map.count++;
    EXPECT(map_check(&map));
    map_release(&map);
}

/* ---- against an array ---- */

enum {
    KEY_COUNT = 64
};

static void step(struct map *map,
                 hash_fn *hash,
                 struct item items[KEY_COUNT],
                 bool present[KEY_COUNT],
                 struct random *random)
{
    const uint64_t key = random_below(random, KEY_COUNT);
    void *want = present[key] ? &items[key] : NULL;
    EXPECT(find(map, hash, key) == want);

    if (random_one_in(random, 500)) {
        map_clear(map);
        for (size_t i = 0; i < KEY_COUNT; i++) {
            present[i] = false;
        }
    } else if (random_one_in(random, 100)) {
        map_reserve(map, random_below(random, KEY_COUNT + KEY_COUNT));
    } else if (!present[key]) {
        insert(map, hash, &items[key]);
        present[key] = true;
    } else {
        EXPECT(take(map, hash, key) == want);
        present[key] = false;
    }
}

static bool matches(const struct map *map,
                    hash_fn *hash,
                    struct item items[KEY_COUNT],
                    const bool present[KEY_COUNT])
{
    size_t count = 0;
    for (uint64_t key = 0; key < KEY_COUNT; key++) {
        if (find(map, hash, key) != (present[key] ? &items[key] : NULL)) {
            return false;
        }
        count += present[key];
    }
    return count == map->count && map_check(map);
}

PROPERTY(a_map_agrees_with_an_array_for_every_hash, 25)
{
    for (size_t i = 0; i < COUNT_OF(hash_functions); i++) {
        struct item items[KEY_COUNT];
        bool present[KEY_COUNT] = {false};
        init_items(items, KEY_COUNT);
        struct map map = {0};
        for (unsigned n = 0; n < 250; n++) {
            step(&map, hash_functions[i], items, present, random);
            if (!EXPECT(matches(&map, hash_functions[i], items, present))) {
                break;
            }
        }
        map_release(&map);
    }
}
