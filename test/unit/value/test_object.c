/* object: maps that keep their order, against a plain list of entries; growth
 * and shrinking, keys whose hashes collide, and what a change costs. */

#include "value/object.h"

#include <string.h>

#include "base/vec.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/node.h"

/* Entries in order, found by looking at all of them. */
typedef VEC(struct entry) plain;

static size_t plain_find(const plain *list, struct value key)
{
    size_t i = 0;
    while (i < list->count && !value_equal(list->at[i].key, key)) {
        i++;
    }
    return i;
}

static void plain_set(plain *list, struct value key, struct value item)
{
    const size_t at = plain_find(list, key);
    if (at < list->count) {
        value_unref(list->at[at].item);
        list->at[at].item = value_ref(item);
    } else {
        vec_push(list, ((struct entry){value_ref(key), value_ref(item)}));
    }
}

static void plain_remove(plain *list, struct value key)
{
    const size_t at = plain_find(list, key);
    if (at < list->count) {
        value_unref(list->at[at].key);
        value_unref(list->at[at].item);
        memmove(&list->at[at],
                &list->at[at + 1],
                (list->count - at - 1) * sizeof list->at[0]);
        list->count--;
    }
}

static void plain_copy(plain *to, const plain *from)
{
    for (size_t i = 0; i < from->count; i++) {
        vec_push(to,
                 ((struct entry){value_ref(from->at[i].key),
                                 value_ref(from->at[i].item)}));
    }
}

static void plain_release(plain *list)
{
    VEC_FOREACH (list, entry) {
        value_unref(entry->key);
        value_unref(entry->item);
    }
    vec_release(list);
}

/* Positions in an index; object-2 wants as many as there are entries. */
static size_t positions_in(struct heap *index)
{
    const unsigned branches = index_branches_from(index);
    size_t positions = branches;
    for (unsigned i = branches; i < index->width; i++) {
        positions += positions_in(index_node(index)->at[i].branch);
    }
    return positions;
}

/* The same entries in the same order, by walking and by asking. */
static bool same_as(struct value object, const plain *list)
{
    if (!EXPECT_EQ(object_count(object), list->count)) {
        return false;
    }
    struct object_iter iter = object_iter(object);
    struct value key;
    struct value item;
    size_t i = 0;
    while (object_next(&iter, &key, &item)) {
        if (!EXPECT(i < list->count) ||
            !EXPECT(key_equal(key, list->at[i].key)) ||
            !EXPECT(value_is_same(item, list->at[i].item)) ||
            !EXPECT(value_is_same(object_get(object, list->at[i].key), item))) {
            return false;
        }
        i++;
    }
    if (value_tag(object) == TAG_OBJECT &&
        object_is_large(value_heap(object))) {
        EXPECT_EQ(positions_in(large_node(value_heap(object))->index),
                  list->count);
    }
    return EXPECT_EQ(i, list->count);
}

static struct value object_of_numbers(const char *name, uint32_t count)
{
    VEC(struct value) pairs = {0};
    for (uint32_t i = 0; i < count; i++) {
        vec_push(&pairs, numbered(name, i));
        vec_push(&pairs, value_int(i));
    }
    struct value object = object_new_adopt(pairs.at, count);
    vec_release(&pairs);
    return object;
}

static struct value remove_text(struct value object, const char *text)
{
    struct value key = value_text_new(text);
    object = object_remove_adopt(object, key);
    value_unref(key);
    return object;
}

static bool is_large(struct value object)
{
    return value_tag(object) == TAG_OBJECT &&
           object_is_large(value_heap(object));
}

/* -- One by one ---------------------------------------------------------- */

TEST(an_empty_object_has_nothing_and_needs_no_memory)
{
    const uint64_t before = test_allocations();
    struct value empty = object_new_adopt(NULL, 0);
    struct value key = value_text_new("a");
    uint32_t run = 7;
    EXPECT(value_is_same(empty, value_empty_object()));
    EXPECT_EQ(object_count(empty), 0);
    EXPECT_EQ(object_slots(empty), 0);
    EXPECT(value_is_absent(object_get(empty, key)));
    EXPECT(object_own_slot(&empty, key) == NULL);
    EXPECT(object_chunk(empty, 0, &run) == NULL);
    EXPECT_EQ(run, 0);
    EXPECT_EQ(object_shared_run(empty, empty, 0), 0);
    struct object_iter iter = object_iter(empty);
    EXPECT(!object_next(&iter, &key, &key));
    empty = remove_text(empty, "a");
    EXPECT(value_is_same(empty, value_empty_object()));
    EXPECT_EQ(test_allocations(), before);
}

TEST(keys_keep_the_order_in_which_they_came)
{
    struct value object = from_quoted("{'b':1,'a':2,'c':3}");
    EXPECT_QUOTED(object, "{'b':1,'a':2,'c':3}");
    object = object_set_adopt(object, value_text_new("a"), value_int(9));
    EXPECT_QUOTED(object, "{'b':1,'a':9,'c':3}");
    object = remove_text(object, "b");
    EXPECT_QUOTED(object, "{'a':9,'c':3}");
    object = object_set_adopt(object, value_text_new("b"), value_int(1));
    EXPECT_QUOTED(object, "{'a':9,'c':3,'b':1}");
    value_unref(object);
}

TEST(of_equal_keys_the_first_gives_the_place_and_the_last_the_item)
{
    struct value object = from_quoted("{'b':1,'a':2,'b':[3],'a':4}");
    EXPECT_QUOTED(object, "{'b':[3],'a':4}");
    EXPECT_EQ(object_count(object), 2);
    value_unref(object);

    object = from_quoted("{'a key of many bytes':1,'a key of many bytes':2}");
    EXPECT_QUOTED(object, "{'a key of many bytes':2}");
    value_unref(object);

    /* The same where there is an index. */
    VEC(struct value) pairs = {0};
    for (uint32_t i = 0; i < 200; i++) {
        vec_push(&pairs, numbered("key number ", i % 100));
        vec_push(&pairs, numbered("item number ", i));
    }
    object = object_new_adopt(pairs.at, 200);
    vec_release(&pairs);
    EXPECT_EQ(object_count(object), 100);
    struct object_iter iter = object_iter(object);
    struct value key;
    struct value item;
    for (uint32_t i = 0; object_next(&iter, &key, &item); i++) {
        struct value want_key = numbered("key number ", i);
        struct value want = numbered("item number ", 100 + i);
        EXPECT_VALUE(key, want_key);
        EXPECT_VALUE(item, want);
        value_unref(want_key);
        value_unref(want);
    }
    EXPECT_CHECK(object);
    value_unref(object);
}

TEST(many_equal_keys_do_not_make_an_object_large)
{
    VEC(struct value) pairs = {0};
    for (uint32_t i = 0; i < 500; i++) {
        vec_push(&pairs, numbered("k", i % 16));
        vec_push(&pairs, value_int(i));
    }
    struct value object = object_new_adopt(pairs.at, 500);
    vec_release(&pairs);
    EXPECT_EQ(object_count(object), 16);
    EXPECT(!is_large(object));
    EXPECT_CHECK(object);
    value_unref(object);
}

TEST(keys_of_every_length_are_found_and_told_apart)
{
    char bytes[40];
    memset(bytes, 'k', sizeof bytes);
    struct value object = value_empty_object();
    for (size_t length = 0; length <= sizeof bytes; length++) {
        struct value key = value_string_new(bytes, length);
        object = object_set_adopt(object, key, value_int((int64_t)length));
    }
    EXPECT_EQ(object_count(object), sizeof bytes + 1);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        const struct value item = object_get_text(object, bytes, length);
        EXPECT_INT(value_integer(item), length);
    }
    bytes[7] = 'x';
    EXPECT(value_is_absent(object_get_text(object, bytes, 20)));
    EXPECT(value_is_absent(object_get_text(object, bytes, 8)));
    EXPECT_CHECK(object);
    value_unref(object);
}

TEST(a_key_may_be_given_as_text)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "a", value_int(1));
    object_put_adopt(&object, "a key of many bytes", from_quoted("[2]"));
    object_put_adopt(&object, "a", value_int(3));
    EXPECT_QUOTED(object, "{'a':3,'a key of many bytes':[2]}");
    EXPECT_QUOTED(object_field(object, "a"), "3");
    EXPECT_QUOTED(object_field(object, "a key of many bytes"), "[2]");
    EXPECT(value_is_absent(object_field(object, "a key of many bytez")));
    EXPECT(value_is_absent(object_field(object, "")));
    EXPECT_QUOTED(object_get_text(object, "a key", 1), "3");
    value_unref(object);
}

TEST(equal_keys_are_equal_strings)
{
    struct value a = value_text_new("a key of many bytes");
    struct value b = value_text_new("a key of many bytes");
    struct value c = value_text_new("a key of many bytez");
    struct value d = value_text_new("a");
    EXPECT(key_equal(a, a));
    EXPECT(key_equal(a, b));
    EXPECT(!key_equal(a, c));
    EXPECT(!key_equal(a, d));
    EXPECT(key_equal(d, value_text_new("a")));
    EXPECT(!key_equal(d, value_text_new("b")));
    value_unref(a);
    value_unref(b);
    value_unref(c);
}

TEST(removing_a_missing_key_gives_the_very_same_object)
{
    struct value small = from_quoted("{'a':1}");
    struct value large = object_of_numbers("k", 100);
    const struct value before[2] = {small, large};
    (void)value_ref(small);
    (void)value_ref(large);
    const uint64_t allocations = test_allocations();
    EXPECT(value_is_same(remove_text(small, "b"), before[0]));
    EXPECT(value_is_same(remove_text(large, "b"), before[1]));
    EXPECT_EQ(test_allocations(), allocations);
    value_unref(small);
    value_unref(small);
    value_unref(large);
    value_unref(large);
}

TEST(the_last_key_gone_leaves_the_empty_object)
{
    struct value object = from_quoted("{'a':1}");
    struct value old = value_ref(object);
    object = remove_text(object, "a");
    EXPECT(value_is_same(object, value_empty_object()));
    EXPECT_QUOTED(old, "{'a':1}");
    value_unref(old);
}

TEST(an_item_can_be_changed_in_its_own_slot)
{
    static const uint32_t sizes[] = {1, 32, 33, 200};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct value object = object_of_numbers("k", sizes[i]);
        struct value old = value_ref(object);
        struct value key = numbered("k", sizes[i] / 2);
        struct value *slot = object_own_slot(&object, key);
        if (EXPECT(slot != NULL)) {
            EXPECT_INT(value_integer(*slot), sizes[i] / 2);
            *slot = value_int(-1);
        }
        EXPECT_INT(value_integer(object_get(object, key)), -1);
        EXPECT_INT(value_integer(object_get(old, key)), sizes[i] / 2);
        EXPECT(!value_equal(object, old));

        struct value before = value_ref(old);
        EXPECT(object_own_slot(&before, value_text_new("no")) == NULL);
        EXPECT(value_is_same(before, old));
        value_unref(before);
        EXPECT_CHECK(object);
        value_unref(object);
        value_unref(old);
    }
}

TEST(an_object_grows_large_at_33_keys_and_flat_again_at_16)
{
    struct value object = value_empty_object();
    for (uint32_t i = 0; i < 100; i++) {
        object = object_set_adopt(object, numbered("k", i), value_int(i));
        EXPECT_EQ(is_large(object), i + 1 > OBJECT_FLAT_MAX);
        EXPECT_CHECK(object);
    }
    for (uint32_t i = 100; i-- > 0;) {
        object = object_remove_adopt(object, numbered("k", i));
        EXPECT_EQ(object_count(object), i);
        EXPECT_EQ(is_large(object), i > OBJECT_FLAT_MAX / 2);
        EXPECT_CHECK(object);
    }
    EXPECT(value_is_same(object, value_empty_object()));
}

TEST(holes_never_outnumber_the_entries)
{
    struct value object = object_of_numbers("k", 1000);
    for (uint32_t i = 0; i < 983; i++) {
        object = object_remove_adopt(object, numbered("k", i));
        EXPECT(object_slots(object) <= 4 * object_count(object));
    }
    EXPECT_CHECK(object);
    struct object_iter iter = object_iter(object);
    struct value key;
    struct value item;
    for (uint32_t i = 983; object_next(&iter, &key, &item); i++) {
        EXPECT_INT(value_integer(item), i);
    }
    value_unref(object);
}

TEST(replacing_the_same_keys_for_ever_does_not_grow)
{
    struct value object = object_of_numbers("k", 100);
    for (uint32_t i = 0; i < 3000; i++) {
        struct value key = numbered("k", i % 100);
        object = object_remove_adopt(object, key);
        object = object_set_adopt(object, key, value_int(i));
        EXPECT(object_slots(object) <= 4 * object_count(object) + 2);
    }
    EXPECT_EQ(object_count(object), 100);
    EXPECT_CHECK(object);
    value_unref(object);
}

TEST(value_check_finds_a_broken_object)
{
    struct value object = from_quoted("{'a':1,'b':2,'c':3}");
    struct entry *entries = flat_node(value_heap(object))->at;
    EXPECT_CHECK(object);
    value_heap(object)->count++;
    EXPECT(!value_check(object));
    value_heap(object)->count--;

    const struct entry second = entries[1];
    entries[1].item = VALUE_NONE;
    EXPECT(!value_check(object));
    entries[1] = second;
    entries[1].key = value_int(1);
    EXPECT(!value_check(object));
    entries[1].key = entries[0].key; /* twice */
    EXPECT(!value_check(object));
    entries[1] = second;
    EXPECT_CHECK(object);
    value_unref(object);

    /* A large one whose index knows less than its entries. */
    object = object_of_numbers("k", 100);
    struct index_node *index =
        index_node(large_node(value_heap(object))->index);
    const uint32_t branches = index->branches;
    index->branches = branches & (branches - 1);
    EXPECT(!value_check(object));
    index->branches = branches;
    EXPECT_CHECK(object);
    value_unref(object);
}

/* -- Against a plain list ------------------------------------------------ */

struct version {
    struct value object;
    plain want;
};

/* What tests know about the hash of a long key: it is kept in the node, and a
 * forged one is believed. So keys can be made to collide in all 64 bits, or in
 * the first so many of them, which no search could find. */
static struct value forged_key(uint64_t number, uint64_t hash)
{
    struct value key = numbered("a key with a forged hash ", number);
    value_heap(key)->hash = hash;
    value_heap(key)->cached = CACHED_HASH;
    return key;
}

static struct value ordinary_key(uint64_t number)
{
    return number % 3 == 0 ? numbered("a long key with a number ", number)
                           : numbered("k", number);
}

/* All the same, or the same up to the last bits, or in the lowest 60 bits. */
static struct value colliding_key(uint64_t number)
{
    static const uint64_t hashes[] = {
        0,
        UINT64_C(0x0800000000000000),
        UINT64_C(0x8000000000000000),
        UINT64_C(0xF000000000000000),
        UINT64_MAX,
        31,
    };
    return forged_key(number, hashes[number % COUNT_OF(hashes)]);
}

static void random_step(struct random *random,
                        struct value (*key_of)(uint64_t number),
                        uint64_t keys,
                        struct value *object,
                        plain *want)
{
    struct value key = key_of(random_below(random, keys));
    struct value item = random_one_in(random, 2)
                            ? numbered("an item of many bytes ", keys)
                            : value_int((int64_t)random_below(random, 100));
    if (random_one_in(random, 3)) {
        plain_remove(want, key);
        *object = object_remove_adopt(*object, key);
        value_unref(item);
    } else if (random_one_in(random, 4)) {
        struct value *slot = object_own_slot(object, key);
        EXPECT_EQ(slot != NULL, plain_find(want, key) < want->count);
        if (slot != NULL) {
            plain_set(want, key, item);
            value_unref(*slot);
            *slot = item;
        } else {
            value_unref(item);
        }
    } else {
        plain_set(want, key, item);
        *object = object_set_adopt(*object, value_ref(key), item);
    }
    struct value other = key_of(random_below(random, keys));
    const size_t at = plain_find(want, other);
    EXPECT(value_is_same(object_get(*object, other),
                         at < want->count ? want->at[at].item : VALUE_NONE));
    value_unref(other);
    value_unref(key);
}

static void run_against_plain(struct random *random,
                              struct value (*key_of)(uint64_t number),
                              uint64_t keys,
                              int steps)
{
    struct version versions[4] = {{VALUE_NONE, {0}}};
    size_t kept = 0;
    plain want = {0};
    struct value object = value_empty_object();
    const uint64_t start = random_below(random, keys);
    for (uint64_t i = 0; i < start; i++) {
        struct value key = key_of(i);
        plain_set(&want, key, value_int((int64_t)i));
        object = object_set_adopt(object, key, value_int((int64_t)i));
    }
    for (int step = 0; step < steps; step++) {
        if (kept < COUNT_OF(versions) && random_one_in(random, 15)) {
            versions[kept].object = value_ref(object);
            plain_copy(&versions[kept].want, &want);
            kept++;
        }
        random_step(random, key_of, keys, &object, &want);
        if ((keys < 200 || step % 10 == 0) &&
            (!same_as(object, &want) || !EXPECT_CHECK(object))) {
            break;
        }
    }
    (void)same_as(object, &want);
    for (size_t i = 0; i < kept; i++) {
        (void)same_as(versions[i].object, &versions[i].want);
        EXPECT_CHECK(versions[i].object);
        value_unref(versions[i].object);
        plain_release(&versions[i].want);
    }
    value_unref(object);
    plain_release(&want);
}

PROPERTY(any_run_of_changes_is_that_of_a_plain_list, 150)
{
    run_against_plain(random, ordinary_key, 1 + gen_size(random, 90), 80);
}

PROPERTY(large_objects_behave_like_small_ones, 5)
{
    run_against_plain(random, ordinary_key, 1500, 150);
}

PROPERTY(keys_with_equal_hashes_are_all_there, 150)
{
    run_against_plain(random, colliding_key, 1 + gen_size(random, 120), 80);
}

TEST(keys_with_one_hash_are_added_found_and_removed)
{
    struct value object = value_empty_object();
    for (uint64_t i = 0; i < 100; i++) {
        object = object_set_adopt(object,
                                  forged_key(i, UINT64_C(0x123456789ABCDEF0)),
                                  value_int((int64_t)i));
    }
    EXPECT_EQ(object_count(object), 100);
    struct value old = value_ref(object);
    for (uint64_t i = 0; i < 100; i++) {
        struct value key = forged_key(i, UINT64_C(0x123456789ABCDEF0));
        EXPECT_INT(value_integer(object_get(object, key)), i);
        object = object_remove_adopt(object, key);
        EXPECT(value_is_absent(object_get(object, key)));
        EXPECT_INT(value_integer(object_get(old, key)), i);
        EXPECT_CHECK(object);
        value_unref(key);
    }
    EXPECT(value_is_same(object, value_empty_object()));
    EXPECT_CHECK(old);
    value_unref(old);
}

/* -- Sharing and cost ---------------------------------------------------- */

PROPERTY(a_shared_run_is_the_same_on_both_sides, 40)
{
    struct value a = object_of_numbers("key ", gen_size(random, 1500) + 30);
    struct value b = value_ref(a);
    for (int i = 0; i < 3; i++) {
        struct value key = numbered("key ", random_below(random, 1600));
        b = random_one_in(random, 2)
                ? object_set_adopt(b, value_ref(key), value_null())
                : object_remove_adopt(b, key);
        value_unref(key);
    }
    uint32_t run_a = 0;
    uint32_t run_b = 0;
    for (uint32_t slot = 0; slot < object_slots(a); slot += 2) {
        const uint32_t shared = object_shared_run(a, b, slot);
        EXPECT_EQ(shared % 2, 0);
        for (uint32_t i = 0; i<shared; i += shared> 64 ? 64 : 2) {
            const struct value *x = object_chunk(a, slot + i, &run_a);
            const struct value *y = object_chunk(b, slot + i, &run_b);
            EXPECT(value_is_same(x[0], y[0]) && value_is_same(x[1], y[1]));
        }
    }
    value_unref(a);
    value_unref(b);
}

TEST(a_hundred_thousand_keys_are_found_and_changed_by_paths)
{
    struct value object = object_of_numbers("key ", 100000);
    EXPECT_EQ(object_count(object), 100000);
    for (uint32_t i = 0; i < 100000; i += 7) {
        struct value key = numbered("key ", i);
        EXPECT_INT(value_integer(object_get(object, key)), i);
    }
    EXPECT(value_is_absent(object_get_text(object, "key 100000", 10)));

    uint64_t before = test_allocations();
    struct value key = value_text_new("key 77777");
    struct value new = object_set_adopt(value_ref(object), key, value_null());
    EXPECT(test_allocations() - before <= 8);
    before = test_allocations();
    new = object_set_adopt(new, key, value_bool(true));
    EXPECT_EQ(test_allocations() - before, 0);

    before = test_allocations();
    struct value less = object_remove_adopt(value_ref(object), key);
    EXPECT(test_allocations() - before <= 16);
    EXPECT_EQ(object_count(less), 99999);
    EXPECT(value_is_absent(object_get(less, key)));

    before = test_allocations();
    struct value more = object_set_adopt(value_ref(object),
                                         value_text_new("new"),
                                         value_null());
    EXPECT(test_allocations() - before <= 16);
    EXPECT_EQ(object_count(more), 100001);
    EXPECT_EQ(object_count(object), 100000);
    EXPECT_INT(value_integer(object_get(object, key)), 77777);
    value_unref(new);
    value_unref(less);
    value_unref(more);
    value_unref(object);
}

TEST(setting_a_key_of_an_unshared_small_object_allocates_nothing)
{
    struct value object = from_quoted("{'a':1,'b':2}");
    const uint64_t before = test_allocations();
    object = object_set_adopt(object, value_text_new("a"), value_int(5));
    object = remove_text(object, "b");
    object = object_set_adopt(object, value_text_new("b"), value_int(6));
    EXPECT_EQ(test_allocations(), before);
    EXPECT_QUOTED(object, "{'a':5,'b':6}");
    value_unref(object);
}

TEST(objects_inside_objects_share_what_did_not_change)
{
    struct value old = from_quoted("{'a':{'b':[1]},'c':{'d':[2]}}");
    struct value new =
        object_set_adopt(value_ref(old), value_text_new("a"), value_null());
    EXPECT(value_is_same(object_get_text(old, "c", 1),
                         object_get_text(new, "c", 1)));
    EXPECT_QUOTED(old, "{'a':{'b':[1]},'c':{'d':[2]}}");
    EXPECT_QUOTED(new, "{'a':null,'c':{'d':[2]}}");
    value_unref(old);
    value_unref(new);
}
