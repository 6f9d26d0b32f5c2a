/* value: handles, numbers, strings, counting, tagged leaves, and the one form
 * of an envelope however it came to be (value-1 to value-5). */

#include "value/value.h"

#include <math.h>
#include <string.h>

#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/node.h"
#include "value/object.h"

/* -- Kinds --------------------------------------------------------------- */

TEST(every_kind_is_told_apart_and_has_a_name)
{
    static const struct {
        const char *json;
        enum value_kind kind;
        const char *name;
    } rows[] = {
        {"null", VALUE_NULL, "null"},
        {"true", VALUE_BOOL, "boolean"},
        {"7", VALUE_INT, "integer"},
        {"7.5", VALUE_DOUBLE, "number"},
        {"'short'", VALUE_STRING, "string"},
        {"'a string that is longer'", VALUE_STRING, "string"},
        {"[]", VALUE_ARRAY, "array"},
        {"[1]", VALUE_ARRAY, "array"},
        {"{}", VALUE_OBJECT, "object"},
        {"{'a':1}", VALUE_OBJECT, "object"},
        {"{'/':{'link@1':{}}}", VALUE_LINK, "link"},
        {"{'/':{'bytes@1':''}}", VALUE_TAGGED, "tagged value"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = from_quoted(rows[i].json);
        EXPECT_EQ(value_kind(value), rows[i].kind);
        EXPECT_TEXT(value_kind_name(value_kind(value)), rows[i].name);
        EXPECT_EQ(value_is_string(value), rows[i].kind == VALUE_STRING);
        EXPECT_EQ(value_is_array(value), rows[i].kind == VALUE_ARRAY);
        EXPECT_EQ(value_is_object(value), rows[i].kind == VALUE_OBJECT);
        EXPECT_EQ(value_is_container(value),
                  rows[i].kind == VALUE_ARRAY || rows[i].kind == VALUE_OBJECT);
        EXPECT_EQ(value_is_number(value),
                  rows[i].kind == VALUE_INT || rows[i].kind == VALUE_DOUBLE);
        EXPECT(!value_is_absent(value));
        EXPECT_CHECK(value);
        value_unref(value);
    }
}

TEST(absent_is_all_zero_and_no_value)
{
    const struct value zeroed = VALUE_NONE;
    EXPECT(value_is_absent(zeroed));
    EXPECT_EQ(value_kind(zeroed), VALUE_ABSENT);
    EXPECT_EQ(zeroed.word[0], 0);
    EXPECT_EQ(zeroed.word[1], 0);
    EXPECT_TEXT(value_kind_name(VALUE_ABSENT), "nothing");
    EXPECT(!value_is_heap(zeroed));
}

TEST(booleans_null_and_empty_containers_have_one_handle_each)
{
    EXPECT(value_boolean(value_bool(true)));
    EXPECT(!value_boolean(value_bool(false)));
    EXPECT(value_is_same(value_null(), value_null()));
    EXPECT(!value_is_same(value_bool(true), value_bool(false)));
    EXPECT(!value_is_same(value_null(), value_bool(false)));
    EXPECT(!value_is_same(value_null(), value_int(0)));
    EXPECT(!value_is_same(value_bool(false), value_int(0)));
    EXPECT(!value_is_same(value_empty_array(), value_empty_object()));
    struct value array = from_quoted("[ ]");
    struct value object = from_quoted("{ }");
    EXPECT(value_is_same(array, value_empty_array()));
    EXPECT(value_is_same(object, value_empty_object()));
    EXPECT(!value_is_heap(array));
    EXPECT(!value_is_heap(object));
}

/* -- Numbers (value-2) --------------------------------------------------- */

TEST(v2_a_double_that_is_integral_and_fits_is_an_integer)
{
    static const struct {
        double real;
        int64_t integer;
    } rows[] = {
        {0.0, 0},
        {1.0, 1},
        {-1.0, -1},
        {1e15, INT64_C(1000000000000000)},
        {0x1p53, INT64_C(9007199254740992)},
        {0x1p62, INT64_C(4611686018427387904)},
        {0x1.fffffffffffffp62, INT64_C(9223372036854774784)},
        {-0x1p63, INT64_MIN},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct value value = value_double(rows[i].real);
        if (EXPECT_EQ(value_kind(value), VALUE_INT)) {
            EXPECT_INT(value_integer(value), rows[i].integer);
        }
        EXPECT(value_is_same(value, value_int(rows[i].integer)));
    }
}

TEST(v2_other_doubles_stay_doubles)
{
    const double rows[] = {
        0.5,
        -0.0,
        0x1p63,
        -0x1.0000000000001p63,
        1e300,
        5e-324,
        (double)INFINITY,
        -(double)INFINITY,
        (double)NAN,
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct value value = value_double(rows[i]);
        EXPECT_EQ(value_kind(value), VALUE_DOUBLE);
        EXPECT_CHECK(value);
        const double back = value_real(value);
        EXPECT(isnan(back) ? isnan(rows[i]) != 0
                           : memcmp(&back, &rows[i], sizeof back) == 0);
    }
}

TEST(v2_one_is_one_however_it_is_written)
{
    static const char *const texts[] = {"1", "1.0", "1e0", "10e-1", "0.1E1"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value value = from_quoted(texts[i]);
        EXPECT(value_is_same(value, value_int(1)));
    }
}

TEST(v2_the_edges_of_64_bits_are_exact)
{
    static const struct {
        const char *text;
        bool is_int;
        const char *back;
    } rows[] = {
        {"9223372036854775807", true, "9223372036854775807"},
        {"9223372036854775808", false, "9223372036854776000"},
        {"-9223372036854775808", true, "-9223372036854775808"},
        {"-9223372036854775809", true, "-9223372036854775808"},
        {"9007199254740993", true, "9007199254740993"},
        {"9007199254740993.0", true, "9007199254740992"},
        {"18446744073709551616", false, "18446744073709552000"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = from_quoted(rows[i].text);
        EXPECT_EQ(value_kind(value) == VALUE_INT, rows[i].is_int);
        EXPECT_QUOTED(value, rows[i].back);
        EXPECT_CHECK(value);
    }
}

TEST(v2_minus_zero_is_not_zero)
{
    const struct value minus = value_double(-0.0);
    EXPECT_EQ(value_kind(minus), VALUE_DOUBLE);
    EXPECT(signbit(value_real(minus)) != 0);
    EXPECT(!value_is_same(minus, value_int(0)));
    EXPECT(!value_equal(minus, value_int(0)));
    EXPECT_QUOTED(minus, "-0");
    struct value read = from_quoted("[-0,-0.0,-0e5,0]");
    EXPECT_QUOTED(read, "[-0,-0,-0,0]");
    value_unref(read);
}

TEST(v2_there_is_one_nan_and_it_equals_itself)
{
    const struct value quiet = value_double((double)NAN);
    uint64_t bits = UINT64_C(0xFFF8000000001234);
    double other;
    memcpy(&other, &bits, sizeof other);
    EXPECT(isnan(other) != 0);
    const struct value strange = value_double(other);
    EXPECT(value_is_same(quiet, strange));
    EXPECT(value_equal(quiet, strange));
    EXPECT_EQ(value_hash(quiet), value_hash(strange));
    EXPECT_CHECK(strange);
}

TEST(the_real_of_an_integer_is_the_nearest_double)
{
    EXPECT(value_real(value_int(3)) > 2.9);
    const double nearest = value_real(value_int(INT64_C(9007199254740993)));
    const double want = 9007199254740992.0;
    EXPECT(memcmp(&nearest, &want, sizeof want) == 0);
}

/* -- Strings (value-1, value-3) ------------------------------------------ */

TEST(v1_up_to_15_bytes_a_string_is_in_its_handle)
{
    char bytes[64];
    memset(bytes, 'x', sizeof bytes);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        const uint64_t before = test_allocations();
        struct value string = value_string_new(bytes, length);
        const bool in_handle = length <= VALUE_INLINE_MAX;
        EXPECT_EQ(value_is_heap(string), !in_handle);
        EXPECT_EQ(test_allocations() - before, in_handle ? 0 : 1);
        const struct text text = value_text(&string);
        EXPECT_EQ(text.length, length);
        EXPECT(memcmp(text.at, bytes, length) == 0);
        if (length != VALUE_INLINE_MAX) {
            EXPECT_EQ(text.at[length], 0);
        }
        EXPECT_EQ(value_kind(string), VALUE_STRING);
        EXPECT_CHECK(string);

        struct value again = value_string_new(bytes, length);
        EXPECT_EQ(value_is_same(string, again), in_handle);
        EXPECT(value_equal(string, again));
        EXPECT_EQ(value_hash(string), value_hash(again));
        value_unref(again);
        value_unref(string);
    }
}

TEST(v3_a_string_may_hold_zero_bytes)
{
    struct value a = value_string_new("a\0b", 3);
    struct value b = value_string_new("a\0c", 3);
    struct value c = value_text_new("a");
    EXPECT_EQ(value_text(&a).length, 3);
    EXPECT(!value_equal(a, b));
    EXPECT(!value_equal(a, c));
    EXPECT_QUOTED(a, "'a\\u0000b'");
    struct value zeros = value_string_new("\0\0", 2);
    struct value one = value_string_new("\0", 1);
    EXPECT(!value_is_same(zeros, one));
    EXPECT(!value_is_same(one, value_text_new("")));
    EXPECT_CHECK(zeros);
}

TEST(a_string_is_compared_with_a_text)
{
    struct value string = value_text_new("a string of many bytes");
    EXPECT(value_is_text(string, "a string of many bytes"));
    EXPECT(!value_is_text(string, "a string of many byte"));
    EXPECT(!value_is_text(string, "a string of many bytez"));
    EXPECT(value_is_text(value_text_new(""), ""));
    EXPECT(!value_is_text(value_string_new("a\0", 2), "a"));
    EXPECT(!value_is_text(value_null(), ""));
    EXPECT(!value_is_text(VALUE_NONE, ""));
    value_unref(string);
}

TEST(a_text_ends_at_its_zero_byte)
{
    struct value text = value_text_new("ends here\0not here");
    EXPECT_EQ(value_text(&text).length, 9);
    value_unref(text);
}

TEST(value_check_finds_broken_handles_and_nodes)
{
    struct value twice = value_double(0.5);
    const double two = 2.0; /* would be an INT */
    memcpy(&twice.word[0], &two, sizeof two);
    EXPECT(!value_check(twice));

    struct value not_text = value_string_new("\xC3", 1);
    EXPECT(!value_check(not_text));

    struct value array = from_quoted("[1,2,3]");
    value_heap(array)->count++;
    EXPECT(!value_check(array));
    value_heap(array)->count--;
    EXPECT_CHECK(array);
    value_unref(array);

    /* value-4: an envelope by force. */
    struct value object = from_quoted("{'/':{'x@2':1,'b':2}}");
    struct value *body = object_own_slot(&object, value_text_new("/"));
    *body = object_remove_adopt(*body, value_text_new("b"));
    EXPECT(!value_check(object));
    EXPECT(value_is_envelope(object));
    object = value_normalise_adopt(object);
    EXPECT_CHECK(object);
    EXPECT_EQ(value_kind(object), VALUE_TAGGED);
    value_unref(object);
}

/* -- Counting (value-5) -------------------------------------------------- */

TEST(v5_references_are_counted_and_the_last_releases)
{
    const uint64_t before = test_blocks_alive();
    struct value value = from_quoted("['a string of many bytes',[1],{'a':2}]");
    const uint64_t with = test_blocks_alive();
    EXPECT_EQ(with - before, 4);
    struct value second = value_ref(value);
    EXPECT(value_is_same(value, second));
    value_unref(value);
    EXPECT_EQ(test_blocks_alive(), with);
    struct value part = value_ref(array_at(second, 0));
    value_unref(second);
    EXPECT_EQ(test_blocks_alive(), before + 1);
    EXPECT_QUOTED(part, "'a string of many bytes'");
    value_unref(part);
    EXPECT_EQ(test_blocks_alive(), before);
}

TEST(v5_what_is_not_on_the_heap_needs_no_counting)
{
    const uint64_t before = test_allocations();
    struct value value = value_ref(value_int(5));
    value_unref(value);
    value_unref(value);
    value_unref(VALUE_NONE);
    EXPECT_EQ(test_allocations(), before);
}

TEST(v5_a_shared_value_is_copied_and_an_own_one_is_not)
{
    struct value old = from_quoted("[1,[2],{'k':3}]");
    struct value new = array_set_adopt(value_ref(old), 0, value_int(9));
    EXPECT_QUOTED(old, "[1,[2],{'k':3}]");
    EXPECT_QUOTED(new, "[9,[2],{'k':3}]");
    EXPECT(value_is_same(array_at(old, 1), array_at(new, 1)));
    EXPECT(value_is_same(array_at(old, 2), array_at(new, 2)));
    value_unref(old);

    const uint64_t before = test_allocations();
    const struct heap *where = value_heap(new);
    new = array_set_adopt(new, 0, value_int(10));
    EXPECT(value_heap(new) == where);
    EXPECT_EQ(test_allocations(), before);
    value_unref(new);
}

/* -- Depth --------------------------------------------------------------- */

static struct value nested(unsigned depth, bool objects)
{
    struct value value = value_int(1);
    for (unsigned i = 0; i < depth; i++) {
        if (objects && i % 2 == 0) {
            const struct value pair[2] = {value_text_new("a"), value};
            value = object_new_adopt(pair, 1);
        } else {
            value = array_new_adopt(&value, 1);
        }
    }
    return value;
}

TEST(a_value_nested_a_million_deep_is_released_without_recursion)
{
    struct value deep = nested(1000000, true);
    EXPECT_EQ(value_depth(deep), CACHED_DEPTH);
    value_unref(deep);
}

TEST(no_walk_over_a_deep_value_uses_recursion)
{
    struct value deep = nested(100000, true);
    struct value same = nested(100000, true);
    EXPECT(value_equal(deep, same));
    EXPECT_EQ(value_hash(deep), value_hash(same));
    value_unref(same);
    EXPECT(value_check(deep));
    struct buf text = {0};
    json_write(&text, deep, JSON_CANONICAL, 0);
    EXPECT_EQ(text.length, 50000 * strlen("{'a':}") + 50000 * 2 + 1);
    buf_release(&text);
    value_unref(deep);
}

TEST(tagged_leaves_nested_deep_are_released_without_recursion)
{
    struct value deep = value_null();
    for (unsigned i = 0; i < 100000; i++) {
        deep = value_tagged_adopt(value_text_new("box@1"), deep);
    }
    EXPECT_EQ(value_depth(deep), CACHED_DEPTH);
    (void)value_hash(deep);
    value_unref(deep);
}

TEST(depth_counts_the_containers_on_the_longest_way_down)
{
    static const struct {
        const char *json;
        unsigned depth;
    } rows[] = {
        {"1", 0},
        {"'a string of many bytes'", 0},
        {"[]", 1},
        {"{}", 1},
        {"[1]", 1},
        {"[[]]", 2},
        {"[1,{'a':[]},[2]]", 3},
        {"{'/':{'x@1':1}}", 2},
        {"{'/':{'number@1':'NaN'}}", 2},
        {"[{'/':{'number@1':'Infinity'}}]", 3},
        {"{'/':{'x@1':[1]}}", 3},
        {"{'/':{'link@1':{'path':[]}}}", 4},
        {"[{'/':{'x@1':{}}}]", 4},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = from_quoted(rows[i].json);
        EXPECT_EQ(value_depth(value), rows[i].depth);
        value_unref(value);
    }
    struct value inner = nested(20, true);
    struct value wide = array_new_adopt(&inner, 1);
    for (unsigned i = 0; i < 2000; i++) {
        wide = array_push_adopt(wide, value_int(i));
    }
    EXPECT_EQ(value_depth(wide), 21);
    wide = array_set_adopt(wide, 0, value_null());
    EXPECT_EQ(value_depth(wide), 1);
    value_unref(wide);
}

/* -- Tagged leaves ------------------------------------------------------- */

TEST(a_type_name_is_a_name_an_at_and_a_version)
{
    static const char *const good[] = {
        "x@1",
        "link@1",
        "a-b-c@10",
        "a1@99999999999999999999",
        "a--@1",
    };
    static const char *const bad[] = {
        "",
        "x",
        "@1",
        "x@",
        "x@0",
        "x@01",
        "X@1",
        "1x@1",
        "-x@1",
        "x@1a",
        "x@@1",
        "x@-1",
        "x y@1",
        "x@1@1",
        "x@1 ",
        "/",
        "xX@1",
        "\xC3\xA4@1",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct value name = value_text_new(good[i]);
        EXPECT(value_is_type_name(name));
        value_unref(name);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct value name = value_text_new(bad[i]);
        if (value_is_type_name(name)) {
            (void)test_fail(__FILE__, __LINE__, "accepted %s", bad[i]);
        }
        value_unref(name);
    }
    EXPECT(!value_is_type_name(value_int(1)));
    EXPECT(!value_is_type_name(value_string_new("x@1\0", 4)));
}

TEST(numbers_that_json_lacks_are_doubles_in_an_envelope)
{
    struct value nan = from_quoted("{'/':{'number@1':'NaN'}}");
    struct value up = from_quoted("{'/':{'number@1':'Infinity'}}");
    struct value down = from_quoted("{'/':{'number@1':'-Infinity'}}");
    EXPECT(value_is_same(nan, value_double((double)NAN)));
    EXPECT(value_is_same(up, value_double((double)INFINITY)));
    EXPECT(value_is_same(down, value_double(-(double)INFINITY)));
    EXPECT_QUOTED(nan, "{'/':{'number@1':'NaN'}}");
    EXPECT_QUOTED(up, "{'/':{'number@1':'Infinity'}}");
    EXPECT_QUOTED(down, "{'/':{'number@1':'-Infinity'}}");

    static const char *const others[] = {
        "{'/':{'number@1':'nan'}}",
        "{'/':{'number@1':'+Infinity'}}",
        "{'/':{'number@1':1}}",
        "{'/':{'number@2':'NaN'}}",
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct value other = from_quoted(others[i]);
        EXPECT_EQ(value_kind(other), VALUE_TAGGED);
        EXPECT_QUOTED(other, others[i]);
        value_unref(other);
    }
}

TEST(a_tagged_leaf_gives_back_its_type_and_state)
{
    struct value leaf = from_quoted("{'/':{'bytes@1':['AQI',2]}}");
    const struct value type = value_tagged_type(leaf);
    EXPECT_TEXT(value_text(&type).at, "bytes@1");
    EXPECT_QUOTED(value_tagged_state(leaf), "['AQI',2]");
    EXPECT(!value_is_container(leaf));
    EXPECT_CHECK(leaf);
    value_unref(leaf);
}

TEST(what_only_looks_like_an_envelope_stays_an_object)
{
    static const char *const texts[] = {
        "{'/':{}}",
        "{'/':1}",
        "{'/':[1]}",
        "{'/':{'x':1}}",
        "{'/':{'x@0':1}}",
        "{'/':{'x@1':1,'y@1':2}}",
        "{'/':{'x@1':1},'a':2}",
        "{'//':{'x@1':1}}",
        "{'x@1':{'/':1}}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value value = from_quoted(texts[i]);
        EXPECT_EQ(value_kind(value), VALUE_OBJECT);
        EXPECT_QUOTED(value, texts[i]);
        EXPECT_CHECK(value);
        value_unref(value);
    }
}

/* -- Envelopes by every route (value-4) ---------------------------------- */

static struct value key_slash(void)
{
    return value_text_new("/");
}

/* {"/": body}, normalised by whoever made it. */
static struct value by_building(void)
{
    const struct value inner[2] = {value_text_new("x@1"), value_int(5)};
    const struct value outer[2] = {key_slash(), object_new_adopt(inner, 1)};
    return object_new_adopt(outer, 1);
}

static struct value by_setting_the_body(void)
{
    struct value body = object_set_adopt(value_empty_object(),
                                         value_text_new("x@1"),
                                         value_int(5));
    return object_set_adopt(value_empty_object(), key_slash(), body);
}

static struct value by_replacing_the_body(void)
{
    struct value object = from_quoted("{'/':7}");
    return object_set_adopt(object, key_slash(), from_quoted("{'x@1':5}"));
}

static struct value by_removing_outside(void)
{
    struct value object = from_quoted("{'a':1,'/':{'x@1':5}}");
    return object_remove_adopt(object, value_text_new("a"));
}

static struct value by_removing_inside(void)
{
    struct value object = from_quoted("{'/':{'x@1':5,'b':1}}");
    struct value *slot = object_own_slot(&object, key_slash());
    *slot = object_remove_adopt(*slot, value_text_new("b"));
    return value_normalise_adopt(object);
}

static struct value by_shrinking_a_large_object(void)
{
    struct value object = from_quoted("{'/':{'x@1':5},'k':0}");
    for (unsigned i = 0; i < 60; i++) {
        object = object_set_adopt(object, numbered("k", i), value_int(i));
    }
    for (unsigned i = 0; i < 60; i++) {
        object = object_remove_adopt(object, numbered("k", i));
        EXPECT_EQ(value_kind(object), VALUE_OBJECT);
    }
    return object_remove_adopt(object, value_text_new("k"));
}

static struct value by_equal_keys(void)
{
    VEC(struct value) pairs = {0};
    for (int i = 0; i < 40; i++) {
        vec_push(&pairs, key_slash());
        vec_push(&pairs, i < 39 ? value_int(i) : from_quoted("{'x@1':5}"));
    }
    struct value object = object_new_adopt(pairs.at, pairs.count / 2);
    vec_release(&pairs);
    return object;
}

static struct value by_parsing(void)
{
    return from_quoted(" { '\\u002f' : { 'x@1' : 4, 'x\\u00401' : 5.0 } }");
}

static struct value by_a_patch(void)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value list = from_quoted("[{'op':'add','path':'/a','value':1},"
                                    "{'op':'add','path':'/~1/b','value':1},"
                                    "{'op':'add','path':'/~1/x@1','value':5},"
                                    "{'op':'remove','path':'/a'},"
                                    "{'op':'remove','path':'/~1/b'}]");
    struct patch patch;
    struct value out = VALUE_NONE;
    EXPECT_EQ(patch_read(list, &paths, &patch, NULL), ERR_OK);
    EXPECT_EQ(patch_apply(&patch, VALUE_NONE, PATCH_ROOT_ANY, &out, NULL, NULL),
              ERR_OK);
    value_unref(list);
    patch_release(&patch);
    path_table_release(&paths);
    return out;
}

static struct value by_making_the_leaf(void)
{
    return value_tagged_adopt(value_text_new("x@1"), value_int(5));
}

TEST(v4_an_envelope_is_a_leaf_by_every_route)
{
    static struct value (*const routes[])(void) = {
        by_making_the_leaf,
        by_building,
        by_setting_the_body,
        by_replacing_the_body,
        by_removing_outside,
        by_removing_inside,
        by_shrinking_a_large_object,
        by_equal_keys,
        by_parsing,
        by_a_patch,
    };
    struct value want = from_quoted("{'/':{'x@1':5}}");
    EXPECT_EQ(value_kind(want), VALUE_TAGGED);
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        struct value got = routes[i]();
        if (!EXPECT_EQ(value_kind(got), VALUE_TAGGED)) {
            (void)test_fail(__FILE__, __LINE__, "by route %zu", i);
        }
        EXPECT_VALUE(got, want);
        EXPECT_EQ(value_hash(got), value_hash(want));
        EXPECT_CHECK(got);
        value_unref(got);
    }
    value_unref(want);
}

TEST(v4_an_envelope_inside_an_envelope_is_a_leaf_in_a_leaf)
{
    struct value value = from_quoted("{'/':{'x@1':{'/':{'number@1':'NaN'}}}}");
    EXPECT_EQ(value_kind(value), VALUE_TAGGED);
    EXPECT(value_is_same(value_tagged_state(value), value_double((double)NAN)));
    value_unref(value);

    /* A body that is a leaf itself is not the body of an envelope. */
    value = from_quoted("{'/':{'/':{'x@1':1}}}");
    EXPECT_EQ(value_kind(value), VALUE_OBJECT);
    EXPECT_EQ(value_kind(object_get_text(value, "/", 1)), VALUE_TAGGED);
    EXPECT_CHECK(value);
    value_unref(value);
}

TEST(v4_what_is_near_an_envelope_has_its_key)
{
    static const struct {
        const char *json;
        bool near;
    } rows[] = {
        {"{'/':1}", true},
        {"{'/':{}}", true},
        {"{'/':{'x@1':1},'a':2}", true},
        {"{'a':{'/':1}}", false},
        {"{'/':{'x@1':1}}", false},
        {"{}", false},
        {"['/']", false},
        {"'/'", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = from_quoted(rows[i].json);
        EXPECT_EQ(value_is_near_envelope(value), rows[i].near);
        EXPECT(!value_is_envelope(value)); /* value-4: there is none */
        value_unref(value);
    }
}

TEST(v4_normalising_leaves_everything_else_alone)
{
    static const char *const texts[] = {"1",
                                        "[]",
                                        "{}",
                                        "{'/':1}",
                                        "[{'/':{'x@1':1}}]"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value value = from_quoted(texts[i]);
        const struct value before = value;
        value = value_normalise_adopt(value);
        EXPECT(value_is_same(before, value));
        value_unref(value);
    }
}

PROPERTY(v4_no_random_construction_leaves_an_envelope, 300)
{
    const struct gen gen = {random, 4, 3, GEN_ENVELOPES | GEN_SPECIALS};
    struct value value = gen_value(&gen);
    EXPECT_CHECK(value);
    for (int i = 0; i < 10; i++) {
        value = gen_edit_adopt(&gen, value);
        if (!EXPECT_CHECK(value)) {
            break;
        }
    }
    value_unref(value);
}
