/* key_range: keys of virtual children, bounds, digests, and paths through them.
 */

#include "value/key_range.h"

#include <stdio.h>
#include <string.h>

#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/difference.h"
#include "value/object.h"
#include "value/path.h"

static struct key_range closed(const char *from, const char *to)
{
    return (struct key_range){{from, strlen(from)}, {to, strlen(to)}, false};
}

static struct key_range open_ended(const char *from)
{
    return (struct key_range){{from, strlen(from)}, {"", 0}, true};
}

TEST(a_range_is_read_back_from_its_key)
{
    const struct key_range ranges[] = {
        closed("", ""),
        closed("a", "b"),
        closed("10,;", "\x1frange1,x"),
        open_ended(""),
        open_ended("a key that is longer than a handle has room for"),
    };
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        const struct value key = key_range_to_key(&ranges[i]);
        struct key_range back;
        EXPECT(key_is_virtual(key));
        EXPECT(key_range_of_key(&key, &back));
        EXPECT_EQ(back.from.length, ranges[i].from.length);
        EXPECT_EQ(back.to.length, ranges[i].to.length);
        EXPECT(memcmp(back.from.at, ranges[i].from.at, back.from.length) == 0);
        EXPECT(memcmp(back.to.at, ranges[i].to.at, back.to.length) == 0);
        EXPECT_EQ(back.open, ranges[i].open);
        value_unref(key);
    }
}

TEST(what_is_no_key_of_a_range_is_an_ordinary_key)
{
    static const char *const keys[] = {
        "",
        "a",
        "range1,a",
        PATH_KIND,
        "\x1frange",
        "\x1frange,",
        "\x1frange1",
        "\x1frange1,",
        "\x1frange2;a",
        "\x1frange1:ab",
        "\x1frange-1,ab",
        "\x1frange99999999999999999999999999,ab",
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct value key = value_text_new(keys[i]);
        struct key_range range;
        EXPECT(!key_range_of_key(&key, &range));
        value_unref(key);
    }
}

TEST(both_bounds_are_inside_and_keys_are_compared_by_bytes)
{
    static const struct {
        const char *from;
        const char *to; /* NULL: none */
        const char *key;
        bool inside;
    } rows[] = {
        {"b", "d", "b", true},
        {"b", "d", "d", true},
        {"b", "d", "c", true},
        {"b", "d", "bb", true},
        {"b", "d", "da", false},
        {"b", "d", "a", false},
        {"b", "d", "", false},
        {"", "", "", true},
        {"", "", "a", false},
        {"", NULL, "", true},
        {"b", NULL, "zz", true},
        {"b", NULL, "azz", false},
        {"d", "b", "c", false},
        {"z", NULL, "\xc3\xa9", true}, /* bytes above 127 come last */
        {"10", "9", "2", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct key_range range = rows[i].to != NULL
                                           ? closed(rows[i].from, rows[i].to)
                                           : open_ended(rows[i].from);
        const struct value key = value_text_new(rows[i].key);
        EXPECT_EQ(key_range_has(&range, key), rows[i].inside);
        value_unref(key);
    }
}

/* Two objects over ten keys: the digests are equal iff the entries inside are,
 * whatever order they were put in. */
TEST(a_digest_depends_on_the_entries_inside_and_on_nothing_else)
{
    unsigned differing = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct random random;
        random_init(&random, seed);
        const char from[] = {(char)('0' + random_below(&random, 10)), 0};
        const char to[] = {(char)('0' + random_below(&random, 10)), 0};
        const struct key_range range =
            random_below(&random, 4) > 0 ? closed(from, to) : open_ended(from);
        int values[2][10];
        struct value objects[2] = {value_empty_object(), value_empty_object()};
        bool equal = true;
        for (int k = 0; k < 10; k++) {
            values[0][k] = (int)random_below(&random, 3);
            values[1][k] = random_below(&random, 6) > 0
                               ? values[0][k]
                               : (int)random_below(&random, 3);
            equal = equal &&
                    ('0' + k < from[0] || (!range.open && '0' + k > to[0]) ||
                     values[0][k] == values[1][k]);
        }
        for (int k = 0; k < 10; k++) { /* 0: the key is not there */
            const char first[] = {(char)('0' + k), 0};
            const char last[] = {(char)('9' - k), 0};
            if (values[0][k] > 0) {
                object_put_adopt(&objects[0], first, value_int(values[0][k]));
            }
            if (values[1][9 - k] > 0) {
                object_put_adopt(&objects[1],
                                 last,
                                 value_int(values[1][9 - k]));
            }
        }
        const bool same = value_is_same(key_range_digest(&range, objects[0]),
                                        key_range_digest(&range, objects[1]));
        if (!EXPECT_EQ(same, equal)) {
            printf("# seed %llu\n", (unsigned long long)seed);
        }
        differing += !equal;
        value_unref(objects[0]);
        value_unref(objects[1]);
    }
    EXPECT(differing > 300 && differing < 1700);
}

TEST(a_range_of_anything_but_an_object_is_absent)
{
    static const char *const values[] = {"1", "null", "'text'", "[1,2]", "[]"};
    const struct key_range range = open_ended("");
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        const struct value value = from_quoted(values[i]);
        EXPECT(value_is_absent(key_range_digest(&range, value)));
        value_unref(value);
    }
}

/* -- Paths --------------------------------------------------------------- */

static struct path *path_from(struct path_table *table, const char *pointer)
{
    struct path *path = NULL;
    EXPECT_EQ(path_read(table, pointer, strlen(pointer), &path, NULL), ERR_OK);
    return path;
}

TEST(a_path_to_a_range_overlaps_what_is_inside_above_and_below)
{
    static const struct {
        const char *a;
        const char *b;
        bool overlap;
    } rows[] = {
        {"/o/\x1frange1,bd", "/o", true},
        {"/o/\x1frange1,bd", "", true},
        {"/o/\x1frange1,bd", "/o/b", true},
        {"/o/\x1frange1,bd", "/o/c/deep/er", true},
        {"/o/\x1frange1,bd", "/o/e", false},
        {"/o/\x1frange1,bd", "/o/a/b", false},
        {"/o/\x1frange1,bd", "/p/c", false},
        {"/o/\x1frange1,bd", "/p/o/c", false},
        {"/o/\x1frange1;b", "/o/zz", true},
        {"/\x1frange1,bd", "/c", true},
    };
    struct path_table table;
    path_table_init(&table);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct path *a = path_from(&table, rows[i].a);
        struct path *b = path_from(&table, rows[i].b);
        EXPECT_EQ(path_overlaps(a, b), rows[i].overlap);
        EXPECT_EQ(path_overlaps(b, a), rows[i].overlap);
        path_unref(a);
        path_unref(b);
    }
    path_table_release(&table);
}

TEST(a_difference_is_seen_at_a_range_if_it_is_inside)
{
    static const struct {
        const char *before;
        const char *after;
        bool seen;
    } rows[] = {
        {"{'o':{'a':1,'c':1}}", "{'o':{'a':2,'c':1}}", false},
        {"{'o':{'a':1,'c':1}}", "{'o':{'c':1,'e':1}}", false},
        {"{'o':{'a':1,'c':1}}", "{'o':{'a':1,'c':2}}", true},
        {"{'o':{'a':1,'c':1}}", "{'o':{'a':1,'c':1,'d':1}}", true},
        {"{'o':{'a':1,'c':1}}", "{'o':{'a':1}}", true},
        {"{'o':{'a':1}}", "{'o':[1]}", true},
        {"{'o':{'a':1}}", "{'o':1}", true},
        {"{'o':1}", "{'o':2}", false},
    };
    struct path_table table;
    path_table_init(&table);
    struct path *path = path_from(&table, "/o/\x1frange1,bd");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct value before = from_quoted(rows[i].before);
        const struct value after = from_quoted(rows[i].after);
        EXPECT_EQ(difference_is_seen(before, after, path, READ_DEEP),
                  rows[i].seen);
        value_unref(before);
        value_unref(after);
    }
    path_unref(path);
    path_table_release(&table);
}
