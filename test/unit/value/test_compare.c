/* compare: equality and hash see the content and nothing else (compare-1,
 * compare-2), and a comparison costs what differs. */

#include "value/compare.h"

#include <math.h>
#include <string.h>

#include "lib/gen.h"
#include "lib/model.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/node.h"
#include "value/object.h"

static struct value reread(struct value value)
{
    struct buf text = {0};
    json_write(&text, value, JSON_CANONICAL, 0);
    struct value read = from_json(buf_text(&text));
    buf_release(&text);
    return read;
}

/* -- compare-2 ----------------------------------------------------------- */

TEST(c2_special_numbers_and_absence_compare_by_content)
{
    const struct value nan = value_double((double)NAN);
    const struct value minus = value_double(-0.0);
    EXPECT(value_equal(nan, value_double(-(double)NAN)));
    EXPECT(!value_equal(minus, value_int(0)));
    EXPECT(value_equal(minus, value_double(-0.0)));
    EXPECT(value_equal(value_double(1.0), value_int(1)));
    EXPECT(value_equal(VALUE_NONE, VALUE_NONE));
    EXPECT(!value_equal(VALUE_NONE, value_null()));
    EXPECT(!value_equal(VALUE_NONE, value_int(0)));
    EXPECT(!value_equal(value_empty_array(), VALUE_NONE));
}

TEST(values_that_differ_are_not_equal)
{
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "0.5",
        "''",
        "'0'",
        "'a string of many bytes'",
        "'a string of many bytez'",
        "'a string of many bytes.'",
        "[]",
        "{}",
        "[0]",
        "[0,0]",
        "[0,1]",
        "[1,0]",
        "[[0]]",
        "[[]]",
        "[{}]",
        "{'a':0}",
        "{'b':0}",
        "{'a':1}",
        "{'a':0,'b':1}",
        "{'a':1,'b':0}",
        "{'a':{'b':0}}",
        "{'/':{'x@1':0}}",
        "{'/':{'x@1':1}}",
        "{'/':{'x@2':0}}",
        "{'/':{'link@1':{}}}",
        "{'/':{'link@1':{'id':'a'}}}",
        "{'/':{'number@1':'NaN'}}",
        "{'/':{'number@1':'Infinity'}}",
        "{'/':{'number@1':'-Infinity'}}",
        "{'/':{'number@1':'other'}}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value a = from_quoted(texts[i]);
        for (size_t j = 0; j < COUNT_OF(texts); j++) {
            struct value b = from_quoted(texts[j]);
            if (value_equal(a, b) != (i == j)) {
                (void)test_fail(__FILE__,
                                __LINE__,
                                "%s and %s",
                                texts[i],
                                texts[j]);
            }
            /* Not demanded, but a hash that fails here is no good. */
            EXPECT_EQ(value_hash(a) == value_hash(b), i == j);
            EXPECT_EQ(value_equal(a, b), i == j); /* with known hashes */
            value_unref(b);
        }
        value_unref(a);
    }
}

/* -- compare-1 ----------------------------------------------------------- */

TEST(c1_the_order_of_keys_is_not_seen)
{
    static const uint32_t sizes[] = {2, 31, 32, 33, 100, 3000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct value up = value_empty_object();
        struct value down = value_empty_object();
        for (uint32_t j = 0; j < sizes[i]; j++) {
            const uint32_t k = sizes[i] - 1 - j;
            up = object_set_adopt(up, numbered("key ", j), value_int(j));
            down = object_set_adopt(down, numbered("key ", k), value_int(k));
        }
        EXPECT(value_equal(up, down));
        EXPECT_EQ(value_hash(up), value_hash(down));
        EXPECT(value_equal(up, down));
        up = object_set_adopt(up, numbered("key ", 1), value_int(-1));
        EXPECT(!value_equal(up, down));
        EXPECT(value_hash(up) != value_hash(down));
        value_unref(up);
        value_unref(down);
    }
}

TEST(c1_a_flat_and_a_large_object_of_one_content_are_equal)
{
    struct value shrunk = value_empty_object();
    struct value grown = value_empty_object();
    for (uint32_t i = 0; i < 40; i++) {
        shrunk = object_set_adopt(shrunk, numbered("k", i), value_int(i));
    }
    for (uint32_t i = 20; i < 40; i++) {
        shrunk = object_remove_adopt(shrunk, numbered("k", i));
    }
    for (uint32_t i = 0; i < 20; i++) {
        grown = object_set_adopt(grown, numbered("k", i), value_int(i));
    }
    EXPECT(object_is_large(value_heap(shrunk)));
    EXPECT(!object_is_large(value_heap(grown)));
    EXPECT(value_equal(shrunk, grown));
    EXPECT(value_equal(grown, shrunk));
    EXPECT_EQ(value_hash(shrunk), value_hash(grown));
    value_unref(shrunk);
    value_unref(grown);
}

PROPERTY(c1_the_route_by_which_a_value_was_built_is_not_seen, 250)
{
    const struct gen gen = {random, 4, 40, GEN_SPECIALS};
    struct value value = gen_value(&gen);
    struct value rebuilt = gen_rebuild(&gen, value);
    struct value read = reread(value);
    EXPECT_VALUE(rebuilt, value);
    EXPECT_VALUE(read, value);
    EXPECT_EQ(value_hash(rebuilt), value_hash(value));
    EXPECT_EQ(value_hash(read), value_hash(value));
    EXPECT(value_equal(rebuilt, read));
    EXPECT_EQ(value_depth(rebuilt), value_depth(value));
    EXPECT_CHECK(rebuilt);
    value_unref(value);
    value_unref(rebuilt);
    value_unref(read);
}

PROPERTY(c1_large_containers_too, 12)
{
    const struct gen gen = {random, 2, 3000, 0};
    struct value value = gen_value(&gen);
    struct value rebuilt = gen_rebuild(&gen, value);
    EXPECT_VALUE(rebuilt, value);
    EXPECT_EQ(value_hash(rebuilt), value_hash(value));
    EXPECT_CHECK(rebuilt);
    value_unref(value);
    value_unref(rebuilt);
}

PROPERTY(c1_the_hash_after_a_change_is_the_one_from_scratch, 200)
{
    const struct gen gen = {random, 3, 70, GEN_SPECIALS | GEN_ENVELOPES};
    struct value value = gen_value(&gen);
    for (int step = 0; step < 8; step++) {
        (void)value_hash(value); /* so that something is known */
        (void)value_depth(value);
        value = gen_edit_adopt(&gen, value);
        struct value scratch = reread(value);
        EXPECT_EQ(value_hash(value), value_hash(scratch));
        EXPECT_EQ(value_depth(value), value_depth(scratch));
        value_unref(scratch);
    }
    value_unref(value);
}

PROPERTY(equality_is_that_of_the_model, 400)
{
    const struct gen gen = {random, 3, 5, GEN_SPECIALS | GEN_ENVELOPES};
    struct value a = gen_value(&gen);
    struct value b = gen_edit_adopt(&gen, value_ref(a));
    struct model *x = model_of(a);
    struct model *y = model_of(b);
    const bool want = model_equal(x, y);
    EXPECT_EQ(value_equal(a, b), want);
    EXPECT_EQ(value_equal(b, a), want);
    EXPECT_EQ(value_hash(a) == value_hash(b), want);
    EXPECT_EQ(value_equal(a, b), want);
    model_free(x);
    model_free(y);
    value_unref(a);
    value_unref(b);
}

/* What a trail says is true: each pair differs, and each is within the one
 * before it. */
PROPERTY(a_trail_leads_to_a_difference, 400)
{
    const struct gen gen = {random, 4, 5, GEN_SPECIALS | GEN_ENVELOPES};
    struct value a = gen_value(&gen);
    struct value b = gen_edit_adopt(&gen, value_ref(a));
    value_trail trail = {0};
    const bool equal = value_equal_or_trail(a, b, &trail);
    EXPECT_EQ(equal, value_equal(a, b));
    EXPECT_EQ(trail.count == 0, equal);
    for (size_t i = 0; i < trail.count; i++) {
        EXPECT(!value_equal(trail.at[i].a, trail.at[i].b));
        EXPECT(i > 0 || (value_is_same(trail.at[0].a, a) &&
                         value_is_same(trail.at[0].b, b)));
        EXPECT(i == 0 ||
               value_depth(trail.at[i].a) < value_depth(trail.at[i - 1].a) ||
               !value_is_container(trail.at[i - 1].a));
    }
    EXPECT(value_equal_or_trail(a, a, &trail));
    EXPECT_EQ(trail.count, 0);
    vec_release(&trail);
    value_unref(a);
    value_unref(b);
}

/* Equal hashes are never taken for equality: forge them. */
TEST(equal_hashes_alone_do_not_make_values_equal)
{
    struct value a = from_quoted("[1,2,3]");
    struct value b = from_quoted("[1,2,4]");
    (void)value_hash(a);
    (void)value_hash(b);
    value_heap(b)->hash = value_heap(a)->hash;
    EXPECT_EQ(value_hash(a), value_hash(b));
    EXPECT(!value_equal(a, b));
    value_unref(a);
    value_unref(b);

    a = value_text_new("a string of many bytes");
    b = value_text_new("a string of many bytez");
    (void)value_hash(a);
    (void)value_hash(b);
    value_heap(b)->hash = value_heap(a)->hash;
    EXPECT(!value_equal(a, b));
    value_unref(a);
    value_unref(b);
}

/* -- Strings ------------------------------------------------------------- */

TEST(strings_are_ordered_by_their_bytes)
{
    static const char *const ordered[] = {
        "",
        "\x01",
        "10",
        "2",
        "A",
        "a",
        "a ",
        "a string of many bytes",
        "a string of many bytes.",
        "aa",
        "b",
        "\xC3\xA4",         /* U+00E4 */
        "\xEF\xBF\xBD",     /* U+FFFD, before the larger ones */
        "\xF0\x90\x80\x80", /* U+10000: UTF-16 would have it first */
    };
    for (size_t i = 0; i < COUNT_OF(ordered); i++) {
        for (size_t j = 0; j < COUNT_OF(ordered); j++) {
            struct value a = value_text_new(ordered[i]);
            struct value b = value_text_new(ordered[j]);
            const int order = value_compare_strings(a, b);
            EXPECT_INT((order > 0) - (order < 0), (i > j) - (i < j));
            value_unref(a);
            value_unref(b);
        }
    }
    const struct value zero = value_string_new("a\0", 2);
    EXPECT(value_compare_strings(value_text_new("a"), zero) < 0);
    EXPECT(value_compare_strings(zero, value_text_new("a\x01")) < 0);
}

/* Byte by byte; where one ends, it comes first. */
static int naive_order(struct text a, struct text b)
{
    for (size_t i = 0; i < a.length && i < b.length; i++) {
        const unsigned char x = (unsigned char)a.at[i];
        const unsigned char y = (unsigned char)b.at[i];
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return (a.length > b.length) - (a.length < b.length);
}

PROPERTY(the_order_of_strings_is_that_of_a_naive_walk, 3000)
{
    /* Two that differ at most at one place, with zero bytes and large ones. */
    static const char alphabet[] = {'\0', 'a', 'b', '\x7F'};
    char bytes[2][20];
    for (size_t i = 0; i < sizeof bytes[0]; i++) {
        bytes[0][i] = alphabet[random_below(random, sizeof alphabet)];
        bytes[1][i] = bytes[0][i];
    }
    const size_t lengths[2] = {random_below(random, 21),
                               random_below(random, 21)};
    bytes[1][random_below(random, 20)] =
        alphabet[random_below(random, sizeof alphabet)];
    struct value a = value_string_new(bytes[0], lengths[0]);
    struct value b =
        value_string_new(bytes[1],
                         random_one_in(random, 2) ? lengths[0] : lengths[1]);
    const int order = value_compare_strings(a, b);
    EXPECT_INT((order > 0) - (order < 0),
               naive_order(value_text(&a), value_text(&b)));
    value_unref(a);
    value_unref(b);
}

/* -- What is not looked at ----------------------------------------------- */

static struct value numbers(uint32_t count)
{
    struct value array = value_empty_array();
    for (uint32_t i = 0; i < count; i++) {
        array = array_push_adopt(array, value_int(i));
    }
    return array;
}

static struct value number_object(uint32_t count)
{
    struct value object = value_empty_object();
    for (uint32_t i = 0; i < count; i++) {
        object = object_set_adopt(object, numbered("k", i), value_int(i));
    }
    return object;
}

TEST(comparing_with_a_copy_changed_at_one_place_looks_at_one_path)
{
    struct value old = numbers(100000);
    struct value new = array_set_adopt(value_ref(old), 54321, value_int(-1));
    struct value back =
        array_set_adopt(value_ref(new), 54321, value_int(54321));
    EXPECT(values_hide_shared(old, new) > 3000);
    EXPECT(!value_equal(old, new));
    values_show(old);
    EXPECT(values_hide_shared(old, back) > 3000);
    EXPECT(value_equal(old, back));
    values_show(old);
    value_unref(old);
    value_unref(new);
    value_unref(back);
}

TEST(comparing_objects_changed_at_one_key_looks_at_one_path)
{
    struct value old = number_object(50000);
    struct value key = value_text_new("k12345");
    struct value new = object_set_adopt(value_ref(old), key, value_int(-1));
    struct value back = object_set_adopt(value_ref(new), key, value_int(12345));
    EXPECT(values_hide_shared(old, new) > 3000);
    EXPECT(!value_equal(old, new));
    values_show(old);
    EXPECT(values_hide_shared(old, back) > 3000);
    EXPECT(value_equal(old, back));
    values_show(old);
    value_unref(old);
    value_unref(new);
    value_unref(back);
}

TEST(hashing_after_a_change_looks_at_one_path)
{
    struct value old = numbers(100000);
    const uint64_t before = value_hash(old);
    struct value new = array_set_adopt(value_ref(old), 54321, value_int(-1));
    EXPECT(values_hide_shared(old, new) > 3000);
    EXPECT(value_hash(new) != before);
    EXPECT_EQ(value_depth(value_null()), 0);
    values_show(old);
    new = array_set_adopt(new, 54321, value_int(54321));
    EXPECT_EQ(value_hash(new), before);
    value_unref(old);
    value_unref(new);
}

TEST(known_hashes_tell_large_values_apart_without_a_look_inside)
{
    struct value a = numbers(10000);
    struct value b = numbers(10000);
    b = array_set_adopt(b, 9999, value_int(-1));
    (void)value_hash(a);
    (void)value_hash(b);
    (void)values_hide_shared(a, a);
    (void)values_hide_shared(b, b);
    EXPECT(!value_equal(a, b));
    values_show(a);
    values_show(b);
    value_unref(a);
    value_unref(b);
}

TEST(comparing_allocates_nothing_up_to_an_ordinary_depth)
{
    const struct value leaf = from_quoted("[1,{'a':[2,{'b':[3,4]}]}]");
    struct value a = leaf;
    struct value b = reread(leaf);
    const uint64_t before = test_allocations();
    EXPECT(value_equal(a, b));
    EXPECT_EQ(value_hash(a), value_hash(b));
    EXPECT_EQ(value_depth(a), 5);
    EXPECT_EQ(test_allocations(), before);
    value_unref(a);
    value_unref(b);
}
