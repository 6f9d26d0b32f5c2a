/* path: pointers and back (C23), one copy of each, what is an index, and who
 * is a prefix of whom. */

#include "value/path.h"

#include <string.h>

#include "base/limits.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/object.h"

static struct path_table table_new(void)
{
    struct path_table table;
    path_table_init(&table);
    return table;
}

/* -- Pointers ------------------------------------------------------------ */

TEST(c23_a_pointer_is_read_into_segments_and_written_back)
{
    static const struct {
        const char *pointer;
        const char *segments; /* as a JSON array */
    } rows[] = {
        {"", "[]"},
        {"/", "['']"},
        {"//", "['','']"},
        {"/a", "['a']"},
        {"/a/b", "['a','b']"},
        {"/a/", "['a','']"},
        {"/a~1b", "['a/b']"},
        {"/m~0n", "['m~n']"},
        {"/~01", "['~1']"},
        {"/~0~1~00", "['~/~0']"},
        {"/0/01/-", "['0','01','-']"},
        {"/ /%25/\"", "[' ','%25','\\u0022']"},
        {"/\xC3\xA4/\xF0\x9F\x98\x80", "['\xC3\xA4','\xF0\x9F\x98\x80']"},
        {"/a segment of many bytes", "['a segment of many bytes']"},
    };
    struct path_table table = table_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct path *path = from_pointer(&table, rows[i].pointer);
        struct value array = from_quoted(rows[i].segments);
        struct path *same = NULL;
        EXPECT_EQ(path_of_array(&table, array, &same, NULL), ERR_OK);
        EXPECT(path == same);
        EXPECT_EQ(path->length, array_count(array));
        struct buf text = {0};
        path_write(&text, path);
        EXPECT_TEXT(buf_text(&text), rows[i].pointer);
        buf_release(&text);
        value_unref(array);
        path_unref(path);
        path_unref(same);
    }
    path_table_release(&table);
}

TEST(c23_what_is_no_pointer_is_refused)
{
    static const struct {
        const char *pointer;
        const char *sentence;
    } rows[] = {
        {"a", "begin with '/'"},
        {" /a", "begin with '/'"},
        {"~1a", "begin with '/'"},
        {"/a~", "'~0' or '~1'"},
        {"/~", "'~0' or '~1'"},
        {"/~2", "'~0' or '~1'"},
        {"/a~/b", "'~0' or '~1'"},
        {"/\xC3", "UTF-8"},
        {"/\xED\xA0\x80", "UTF-8"},
    };
    struct path_table table = table_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err_detail detail = {0};
        struct path *path = NULL;
        EXPECT_EQ(path_read(&table,
                            rows[i].pointer,
                            strlen(rows[i].pointer),
                            &path,
                            &detail),
                  ERR_SYNTAX);
        EXPECT(path == NULL);
        EXPECT_EQ(detail.err, ERR_SYNTAX);
        EXPECT_CONTAINS(detail.text, rows[i].sentence);
    }
    path_table_release(&table);
}

TEST(c23_a_segment_may_hold_a_zero_byte)
{
    struct path_table table = table_new();
    struct path *path = NULL;
    EXPECT_EQ(path_read(&table, "/a\0b", 4, &path, NULL), ERR_OK);
    EXPECT_EQ(path->length, 1);
    EXPECT_EQ(value_text(&path->at[0].key).length, 3);
    struct buf text = {0};
    path_write(&text, path);
    EXPECT_EQ(text.length, 4);
    EXPECT(memcmp(text.at, "/a\0b", 4) == 0);
    buf_release(&text);
    path_unref(path);
    path_table_release(&table);
}

PROPERTY(c23_any_path_survives_its_text, 500)
{
    struct path_table table = table_new();
    struct path_segment segments[8];
    const size_t length = random_below(random, 9);
    for (size_t i = 0; i < length; i++) {
        struct value key = gen_string(random, 30);
        segments[i] = path_segment(key);
        value_unref(key);
    }
    struct path *path = path_new(&table, segments, length);
    struct buf text = {0};
    path_write(&text, path);
    struct path *back = NULL;
    EXPECT_EQ(path_read(&table, buf_text(&text), text.length, &back, NULL),
              ERR_OK);
    EXPECT(back == path);
    for (size_t i = 0; i < length; i++) {
        EXPECT(key_equal(path->at[i].key, segments[i].key));
        EXPECT_EQ(path->at[i].index, path_index(segments[i].key));
        path_segment_release(&segments[i]);
    }
    buf_release(&text);
    path_unref(back);
    path_unref(path);
    path_table_release(&table);
}

TEST(a_path_from_an_array_must_be_strings)
{
    static const char *const bad[] =
        {"1", "'/a'", "{}", "[1]", "['a',null]", "[['a']]"};
    struct path_table table = table_new();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct value array = from_quoted(bad[i]);
        struct path *path = NULL;
        struct err_detail detail = {0};
        EXPECT_EQ(path_of_array(&table, array, &path, &detail), ERR_TYPE);
        EXPECT(path == NULL);
        EXPECT_CONTAINS(detail.text, "array of strings");
        value_unref(array);
    }
    path_table_release(&table);
}

/* -- Limits -------------------------------------------------------------- */

TEST(a_path_has_at_most_a_thousand_segments)
{
    struct path_table table = table_new();
    struct buf text = {0};
    for (int i = 0; i < LIMIT_PATH_SEGMENTS; i++) {
        buf_append_text(&text, "/a");
    }
    struct path *path = NULL;
    struct err_detail detail = {0};
    EXPECT_EQ(path_read(&table, text.at, text.length, &path, NULL), ERR_OK);
    EXPECT_EQ(path->length, LIMIT_PATH_SEGMENTS);
    path_unref(path);
    buf_append_text(&text, "/a");
    EXPECT_EQ(path_read(&table, text.at, text.length, &path, &detail),
              ERR_LIMIT_PATH);
    EXPECT_CONTAINS(detail.text, "1000 segments");

    struct value array = value_empty_array();
    for (int i = 0; i <= LIMIT_PATH_SEGMENTS; i++) {
        array = array_push_adopt(array, value_text_new("a"));
    }
    EXPECT_EQ(path_of_array(&table, array, &path, &detail), ERR_LIMIT_PATH);
    array = array_splice_adopt(array, 0, 1, NULL, 0);
    EXPECT_EQ(path_of_array(&table, array, &path, &detail), ERR_OK);
    path_unref(path);
    value_unref(array);
    buf_release(&text);
    path_table_release(&table);
}

TEST(a_pointer_has_at_most_64_kib)
{
    struct path_table table = table_new();
    struct buf text = {0};
    buf_append_char(&text, '/');
    while (text.length < LIMIT_POINTER_BYTES) {
        buf_append_char(&text, 'x');
    }
    struct path *path = NULL;
    struct err_detail detail = {0};
    EXPECT_EQ(path_read(&table, text.at, text.length, &path, NULL), ERR_OK);
    path_unref(path);
    buf_append_char(&text, 'x');
    EXPECT_EQ(path_read(&table, text.at, text.length, &path, &detail),
              ERR_LIMIT_PATH);
    EXPECT_CONTAINS(detail.text, "65536 bytes");
    buf_release(&text);
    path_table_release(&table);
}

/* -- Indices ------------------------------------------------------------- */

TEST(an_index_is_decimal_without_a_leading_zero)
{
    static const struct {
        const char *key;
        uint32_t index;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"9", 9},
        {"10", 10},
        {"4294967294", 4294967294},
        {"4294967295", PATH_NOT_INDEX},
        {"4294967296", PATH_NOT_INDEX},
        {"9999999999", PATH_NOT_INDEX},
        {"10000000000", PATH_NOT_INDEX},
        {"99999999999999999999999999", PATH_NOT_INDEX},
        {"", PATH_NOT_INDEX},
        {"-", PATH_NOT_INDEX},
        {"-1", PATH_NOT_INDEX},
        {"+1", PATH_NOT_INDEX},
        {"00", PATH_NOT_INDEX},
        {"01", PATH_NOT_INDEX},
        {"1.0", PATH_NOT_INDEX},
        {"1e0", PATH_NOT_INDEX},
        {" 1", PATH_NOT_INDEX},
        {"1 ", PATH_NOT_INDEX},
        {"0x1", PATH_NOT_INDEX},
        {"\xD9\xA1", PATH_NOT_INDEX}, /* a digit, but not ours */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value key = value_text_new(rows[i].key);
        struct path_segment segment = path_segment(key);
        EXPECT_EQ(path_index(key), rows[i].index);
        EXPECT_EQ(segment.index, rows[i].index);
        path_segment_release(&segment);
        EXPECT(value_is_absent(segment.key));
        value_unref(key);
    }
    EXPECT_EQ(path_index(value_string_new("1\0", 2)), PATH_NOT_INDEX);
}

TEST(the_segment_of_an_index_is_that_of_its_text)
{
    static const uint32_t indices[] = {0, 7, 10, 4294967294};
    for (size_t i = 0; i < COUNT_OF(indices); i++) {
        struct path_segment segment = path_segment_of_index(indices[i]);
        EXPECT_EQ(segment.index, indices[i]);
        EXPECT_EQ(path_index(segment.key), indices[i]);
        path_segment_release(&segment);
    }
}

/* -- Interning ----------------------------------------------------------- */

TEST(equal_paths_are_one_path)
{
    struct path_table table = table_new();
    struct path *a = from_pointer(&table, "/a/a key of many bytes/0");
    struct path *b = from_pointer(&table, "/a/a key of many bytes/0");
    struct path *c = from_pointer(&table, "/a/a key of many bytes");
    struct path *d = from_pointer(&table, "/a~1a key of many bytes/0");
    EXPECT(a == b);
    EXPECT(a != c);
    EXPECT(a != d);
    EXPECT_EQ(a->refs, 2);

    struct path_segment last = path_segment_of_index(0);
    struct path *child = path_child(c, last.key);
    struct path *prefix = path_prefix(a, 2);
    struct path *root = path_prefix(a, 0);
    EXPECT(child == a);
    EXPECT(prefix == c);
    EXPECT_EQ(root->length, 0);
    EXPECT(path_prefix(a, 3) == a);
    path_unref(a);
    path_segment_release(&last);
    path_unref(a);
    path_unref(b);
    path_unref(c);
    path_unref(d);
    path_unref(child);
    path_unref(prefix);
    path_unref(root);
    path_unref(NULL);
    path_table_release(&table);
}

TEST(a_path_lives_as_long_as_somebody_holds_it)
{
    struct path_table table = table_new();
    struct path *path = from_pointer(&table, "/a/b");
    (void)path_ref(path);
    path_unref(path);
    EXPECT_EQ(path->length, 2);
    const uint64_t before = test_blocks_alive();
    path_unref(path);
    EXPECT_EQ(test_blocks_alive(), before - 1);
    path = from_pointer(&table, "/a/b"); /* made again */
    EXPECT_EQ(path->refs, 1);
    path_unref(path);
    path_table_release(&table);
}

TEST(many_paths_are_all_found_again)
{
    struct path_table table = table_new();
    VEC(struct path *) all = {0};
    for (uint32_t i = 0; i < 5000; i++) {
        struct path_segment segments[2] = {path_segment_of_index(i % 50),
                                           path_segment_of_index(i)};
        vec_push(&all, path_new(&table, segments, 2));
    }
    for (uint32_t i = 0; i < 5000; i++) {
        struct path_segment segments[2] = {path_segment_of_index(i % 50),
                                           path_segment_of_index(i)};
        struct path *again = path_new(&table, segments, 2);
        EXPECT(again == all.at[i]);
        path_unref(again);
    }
    VEC_FOREACH (&all, path) {
        path_unref(*path);
    }
    vec_release(&all);
    path_table_release(&table);
}

/* -- Relations ----------------------------------------------------------- */

/* In order, each with the ones that it is a prefix of. */
static const char *const family[] = {
    "",
    "/",
    "//",
    "/0",
    "/10",
    "/10/a",
    "/2",
    "/a",
    "/a/",
    "/a/b",
    "/a/b/c",
    "/a/bb",
    "/a/c",
    "/a/many bytes in one segment",
    "/ab",
    "/b",
    "/\xC3\xA4",
};

static bool is_text_prefix(const char *prefix, const char *pointer)
{
    const size_t length = strlen(prefix);
    return strncmp(prefix, pointer, length) == 0 &&
           (pointer[length] == '\0' || pointer[length] == '/');
}

TEST(paths_are_ordered_by_segments_as_strings_and_prefixes_come_first)
{
    struct path_table table = table_new();
    for (size_t i = 0; i < COUNT_OF(family); i++) {
        for (size_t j = 0; j < COUNT_OF(family); j++) {
            struct path *a = from_pointer(&table, family[i]);
            struct path *b = from_pointer(&table, family[j]);
            const int order = path_compare(a, b);
            EXPECT_INT((order > 0) - (order < 0), (i > j) - (i < j));
            const bool a_of_b = is_text_prefix(family[i], family[j]);
            const bool b_of_a = is_text_prefix(family[j], family[i]);
            EXPECT_EQ(path_is_prefix(a, b), a_of_b);
            EXPECT_EQ(path_overlaps(a, b), a_of_b || b_of_a);
            EXPECT_EQ(path_overlaps(b, a), a_of_b || b_of_a);
            path_unref(a);
            path_unref(b);
        }
    }
    path_table_release(&table);
}

TEST(a_value_is_found_at_its_path)
{
    static const struct {
        const char *pointer;
        const char *want; /* NULL: nothing */
    } rows[] = {
        {"",
         "{'a':[1,{'b':2}],'0':3,'':4,'s':'text',"
         "'l':{'/':{'link@1':{'id':'x'}}}}"},
        {"/a", "[1,{'b':2}]"},
        {"/a/0", "1"},
        {"/a/1/b", "2"},
        {"/0", "3"},
        {"/", "4"},
        {"/s", "'text'"},
        {"/a/2", NULL},
        {"/a/01", NULL},
        {"/a/-", NULL},
        {"/a/b", NULL},
        {"/a/4294967294", NULL},
        {"/a/4294967295", NULL},
        {"/b", NULL},
        {"/b/c", NULL},
        {"/s/0", NULL},
        {"/s/length", NULL},
        {"/l/~1", NULL},
        {"/l/~1/link@1/id", NULL},
        {"/a/0/x", NULL},
    };
    struct path_table table = table_new();
    struct value document = from_quoted(rows[0].want);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct path *path = from_pointer(&table, rows[i].pointer);
        const struct value got = value_at(document, path);
        if (rows[i].want == NULL) {
            EXPECT(value_is_absent(got));
        } else {
            EXPECT_QUOTED(got, rows[i].want);
        }
        EXPECT(value_is_absent(value_at(VALUE_NONE, path)));
        path_unref(path);
    }
    value_unref(document);
    path_table_release(&table);
}

TEST(a_child_is_looked_up_by_key_or_index)
{
    struct value object = from_quoted("{'0':1,'a':2}");
    struct value array = from_quoted("[7,8]");
    struct path_segment zero = path_segment_of_index(0);
    struct path_segment a = path_segment(value_text_new("a"));
    EXPECT_QUOTED(value_child(object, &zero), "1");
    EXPECT_QUOTED(value_child(object, &a), "2");
    EXPECT_QUOTED(value_child(array, &zero), "7");
    EXPECT(value_is_absent(value_child(array, &a)));
    EXPECT(value_is_absent(value_child(value_int(1), &zero)));
    EXPECT(value_is_absent(value_child(VALUE_NONE, &zero)));
    value_unref(object);
    value_unref(array);
}
