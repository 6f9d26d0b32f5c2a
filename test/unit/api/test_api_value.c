/* Values through the public header: what each function does with arguments
 * that are right. Wrong ones are in test_api_arguments.c. */

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "unit/api/values.h"

static hd_kind kind_of(const hd_value *value)
{
    hd_kind kind = HD_NULL;
    EXPECT_INT(hd_value_kind(value, &kind), HD_OK);
    return kind;
}

static bool are_equal(const hd_value *a, const hd_value *b)
{
    bool equal = false;
    EXPECT_INT(hd_value_equal(a, b, &equal), HD_OK);
    return equal;
}

static bool texts_are_equal(const char *a, const char *b)
{
    hd_value *x = value_of(a);
    hd_value *y = value_of(b);
    const bool equal = are_equal(x, y);
    hd_value_unref(x);
    hd_value_unref(y);
    return equal;
}

/* -- Making -------------------------------------------------------------- */

TEST(a_text_has_the_kind_of_its_value)
{
    static const struct {
        const char *json;
        hd_kind kind;
    } rows[] = {
        {"null", HD_NULL},
        {" true ", HD_BOOL},
        {"-9223372036854775808", HD_INT},
        {"1.0", HD_INT},
        {"1.5", HD_DOUBLE},
        {"1e300", HD_DOUBLE},
        {"{\"/\":{\"number@1\":\"NaN\"}}", HD_DOUBLE},
        {"\"\"", HD_STRING},
        {"[]", HD_ARRAY},
        {"{}", HD_OBJECT},
        {"{\"/\":{\"link@1\":{\"id\":\"of:x\"}}}", HD_LINK},
        {"{\"/\":{\"date@1\":17}}", HD_TAGGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *value = value_of(rows[i].json);
        EXPECT_INT(kind_of(value), rows[i].kind);
        hd_value_unref(value);
    }
}

TEST(a_text_that_is_refused_has_a_place)
{
    static const struct {
        const char *json;
        hd_status status;
        size_t line, column, offset;
    } rows[] = {
        {"", HD_SYNTAX, 1, 1, 0},
        {"[1,\n  2,,]", HD_SYNTAX, 2, 5, 8},
        {"\"\xC3\xA9\xC3\xA9\" x", HD_SYNTAX, 1, 6, 7},
        {"[1e999]", HD_RANGE, 1, 2, 1},
        {"nul", HD_SYNTAX, 1, 1, 0},
        {"\xEF\xBB\xBF[]", HD_SYNTAX, 1, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *value = NULL;
        hd_error error;
        EXPECT_INT(hd_value_parse(rows[i].json, HD_TERMINATED, &value, &error),
                   rows[i].status);
        EXPECT(value == NULL);
        EXPECT_EQ(error.line, rows[i].line);
        EXPECT_EQ(error.column, rows[i].column);
        EXPECT_EQ(error.offset, rows[i].offset);
        char place[64];
        (void)snprintf(place,
                       sizeof place,
                       "line %zu, column %zu: ",
                       error.line,
                       error.column);
        EXPECT(strncmp(error.text, place, strlen(place)) == 0);
    }
}

TEST(a_text_may_have_a_length_and_hold_zero_bytes)
{
    hd_value *value = NULL;
    EXPECT_INT(hd_value_parse("12345", 2, &value, NULL), HD_OK);
    EXPECT_JSON(value, "12");
    EXPECT_INT(hd_value_parse("12\0", 3, &value, NULL), HD_SYNTAX);

    const char *bytes = NULL;
    size_t length = 0;
    EXPECT_INT(hd_value_new_string("a\0b", 3, &value), HD_OK);
    EXPECT_INT(hd_value_get_string(value, &bytes, &length), HD_OK);
    EXPECT_EQ(length, 3);
    EXPECT(memcmp(bytes, "a\0b", 4) == 0);
    EXPECT_JSON(value, "\"a\\u0000b\"");
}

TEST(values_are_made_from_the_types_of_c)
{
    hd_value *value = NULL;
    EXPECT_INT(hd_value_new_null(&value), HD_OK);
    EXPECT_JSON(value, "null");
    EXPECT_INT(hd_value_new_bool(true, &value), HD_OK);
    EXPECT_JSON(value, "true");
    EXPECT_INT(hd_value_new_int(INT64_MIN, &value), HD_OK);
    EXPECT_JSON(value, "-9223372036854775808");
    EXPECT_INT(hd_value_new_double(0.1, &value), HD_OK);
    EXPECT_JSON(value, "0.1");
    EXPECT_INT(hd_value_new_string("", 0, &value), HD_OK);
    EXPECT_JSON(value, "\"\"");
    EXPECT_INT(hd_value_new_array(&value), HD_OK);
    EXPECT_JSON(value, "[]");
    EXPECT_INT(hd_value_new_object(&value), HD_OK);
    EXPECT_JSON(value, "{}");
}

/* -- Asking -------------------------------------------------------------- */

TEST(numbers_are_read_as_what_they_are)
{
    hd_value *value = NULL;
    int64_t integer = 0;
    double number = 0;
    EXPECT_INT(hd_value_new_double(-3.0, &value), HD_OK);
    EXPECT_INT(hd_value_get_int(value, &integer), HD_OK);
    EXPECT_INT(integer, -3);
    EXPECT_INT(hd_value_get_double(value, &number), HD_OK);
    EXPECT_INT(number, -3);
    hd_value_unref(value);

    EXPECT_INT(hd_value_new_double(2.5, &value), HD_OK);
    EXPECT_INT(hd_value_get_int(value, &integer), HD_TYPE);
    EXPECT_INT(hd_value_get_double(value, &number), HD_OK);
    EXPECT_INT(number * 2, 5);
    hd_value_unref(value);

    EXPECT_INT(hd_value_new_int(INT64_MAX, &value), HD_OK);
    EXPECT_INT(hd_value_get_double(value, &number), HD_OK);
    EXPECT(number >= 0x1p63);
    hd_value_unref(value);

    EXPECT_INT(hd_value_new_double((double)NAN, &value), HD_OK);
    EXPECT_INT(hd_value_get_double(value, &number), HD_OK);
    EXPECT(isnan(number));
    EXPECT(are_equal(value, value));
    hd_value_unref(value);
}

TEST(a_boolean_is_what_it_was)
{
    for (int i = 0; i < 2; i++) {
        hd_value *value = value_of(i == 0 ? "false" : "true");
        bool boolean = i == 0;
        EXPECT_INT(hd_value_get_bool(value, &boolean), HD_OK);
        EXPECT(boolean == (i == 1));
        hd_value_unref(value);
    }
}

TEST(containers_are_counted_and_elements_found)
{
    hd_value *array = value_of("[10,[],\"x\"]");
    hd_value *object = value_of("{\"a\":1,\"b\":2,\"a\":3}");
    hd_value *element = NULL;
    size_t count = 0;
    EXPECT_INT(hd_value_count(array, &count), HD_OK);
    EXPECT_EQ(count, 3);
    EXPECT_INT(hd_value_count(object, &count), HD_OK);
    EXPECT_EQ(count, 2);
    EXPECT_INT(hd_value_at(array, 2, &element), HD_OK);
    EXPECT_JSON(element, "\"x\"");
    EXPECT_INT(hd_value_at(array, 0, &element), HD_OK);
    EXPECT_JSON(element, "10");
    hd_value_unref(array);
    hd_value_unref(object);
}

/* {"k0":0,"k1":1,...} without the keys that a row of a test removes. */
static hd_value *object_with_holes(unsigned keys, unsigned keep_every)
{
    hd_value *object = NULL;
    hd_value *patch = NULL;
    hd_value *result = NULL;
    struct buf json = {0};
    buf_append_text(&json, "{");
    for (unsigned i = 0; i < keys; i++) {
        buf_printf(&json, "%s\"k%u\":%u", i > 0 ? "," : "", i, i);
    }
    buf_append_text(&json, "}");
    object = value_of(buf_text(&json));

    bool any = false;
    buf_clear(&json);
    buf_append_text(&json, "[");
    for (unsigned i = 0; i < keys; i++) {
        if (i % keep_every != 0) {
            buf_printf(&json,
                       "%s{\"op\":\"remove\",\"path\":\"/k%u\"}",
                       any ? "," : "",
                       i);
            any = true;
        }
    }
    buf_append_text(&json, "]");
    patch = value_of(buf_text(&json));
    EXPECT_INT(hd_value_patch(object, patch, &result, NULL), HD_OK);
    buf_release(&json);
    hd_value_unref(object);
    hd_value_unref(patch);
    return result;
}

TEST(a_walk_gives_each_entry_once_in_the_order_of_the_keys)
{
    static const struct {
        unsigned keys, keep_every;
    } rows[] = {{0, 1}, {1, 1}, {32, 1}, {33, 1}, {500, 1}, {500, 2}, {90, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *object = object_with_holes(rows[i].keys, rows[i].keep_every);
        hd_value *key = NULL;
        hd_value *item = NULL;
        size_t cursor = 0;
        unsigned expected = 0;
        while (hd_value_next(object, &cursor, &key, &item) == HD_OK) {
            char text[16];
            (void)snprintf(text, sizeof text, "\"k%u\"", expected);
            EXPECT_JSON(key, text);
            (void)snprintf(text, sizeof text, "%u", expected);
            EXPECT_JSON(item, text);
            expected += rows[i].keep_every;
        }
        EXPECT(expected >= rows[i].keys);
        EXPECT(expected < rows[i].keys + rows[i].keep_every);
        EXPECT_INT(hd_value_next(object, &cursor, &key, &item), HD_NOT_FOUND);
        EXPECT(key == NULL);
        EXPECT(item == NULL);
        hd_value_unref(object);
    }
}

TEST(a_walk_may_want_only_keys_or_only_items_or_neither)
{
    hd_value *object = value_of("{\"a\":1,\"b\":2,\"c\":3}");
    hd_value *part = NULL;
    size_t cursor = 0;
    EXPECT_INT(hd_value_next(object, &cursor, &part, NULL), HD_OK);
    EXPECT_JSON(part, "\"a\"");
    EXPECT_INT(hd_value_next(object, &cursor, NULL, &part), HD_OK);
    EXPECT_JSON(part, "2");
    EXPECT_INT(hd_value_next(object, &cursor, NULL, NULL), HD_OK);
    EXPECT_INT(hd_value_next(object, &cursor, NULL, NULL), HD_NOT_FOUND);
    hd_value_unref(object);
}

TEST(get_finds_what_is_at_a_pointer)
{
    static const struct {
        const char *pointer;
        const char *json; /* NULL: nothing is there */
        const char *sentence;
    } rows[] = {
        {"", "{\"a\":[1,{\"b/c\":2}],\"\":3,\"m~n\":4}", NULL},
        {"/a/1/b~1c", "2", NULL},
        {"/", "3", NULL},
        {"/m~0n", "4", NULL},
        {"/x", NULL, "the value has no key 'x'"},
        {"/a/2", NULL, "/a has only 2 elements"},
        {"/a/-", NULL, "/a is an array, and '-' is not an index"},
        {"/a/01", NULL, "/a is an array, and '01' is not an index"},
        {"/a/0/z", NULL, "/a/0 is neither an array nor an object"},
    };
    hd_value *value = value_of(rows[0].json);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *found = NULL;
        hd_error error;
        const hd_status status =
            hd_value_get(value, rows[i].pointer, HD_TERMINATED, &found, &error);
        if (rows[i].json != NULL) {
            EXPECT_INT(status, HD_OK);
            EXPECT_JSON(found, rows[i].json);
        } else {
            EXPECT_INT(status, HD_NOT_FOUND);
            EXPECT(found == NULL);
            EXPECT_CONTAINS(error.text, rows[i].pointer);
            EXPECT_CONTAINS(error.text, rows[i].sentence);
        }
    }
    hd_value_unref(value);
}

TEST(a_sentence_about_a_long_key_is_cut_between_characters)
{
    struct buf pointer = {0};
    buf_append_text(&pointer, "/x");
    for (int i = 0; i < 1000; i++) {
        buf_append_text(&pointer, "\xE2\x82\xAC");
    }
    hd_value *value = value_of("{}");
    hd_value *found = NULL;
    hd_value *sentence = NULL;
    hd_error error;
    EXPECT_INT(
        hd_value_get(value, buf_text(&pointer), pointer.length, &found, &error),
        HD_NOT_FOUND);
    EXPECT_CONTAINS(error.text, "...");
    EXPECT_INT(hd_value_new_string(error.text, HD_TERMINATED, &sentence),
               HD_OK);
    hd_value_unref(sentence);
    hd_value_unref(value);
    buf_release(&pointer);
}

TEST(equality_is_by_content)
{
    EXPECT(texts_are_equal("{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}"));
    EXPECT(!texts_are_equal("0", "-0.0"));
    EXPECT(!texts_are_equal("[1,2]", "[2,1]"));
    EXPECT(!texts_are_equal("1", "\"1\""));
}

/* -- Writing ------------------------------------------------------------- */

TEST(a_text_has_two_forms_and_an_indent)
{
    static const struct {
        hd_form form;
        unsigned indent;
        const char *text;
    } rows[] = {
        {HD_AS_GIVEN, 0, "{\"b\":[1,{}],\"a\":\"\xC3\xA9\"}"},
        {HD_CANONICAL, 0, "{\"a\":\"\xC3\xA9\",\"b\":[1,{}]}"},
        {HD_CANONICAL,
         2,
         "{\n  \"a\": \"\xC3\xA9\",\n  \"b\": [\n    1,\n    {}\n  ]\n}"},
    };
    hd_value *value = value_of(rows[0].text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = NULL;
        size_t length = 0;
        EXPECT_INT(
            hd_value_write(value, rows[i].form, rows[i].indent, &text, &length),
            HD_OK);
        EXPECT_TEXT(text, rows[i].text);
        EXPECT_EQ(length, strlen(rows[i].text));
        hd_text_free(text);
    }
    hd_value_unref(value);
}

/* [[[...]]], `depth` of them around `core`. */
static hd_value *nested(unsigned depth, const char *core)
{
    struct buf json = {0};
    for (unsigned i = 0; i < depth; i++) {
        buf_append_char(&json, '[');
    }
    buf_append_text(&json, core);
    for (unsigned i = 0; i < depth; i++) {
        buf_append_char(&json, ']');
    }
    hd_value *value = value_of(buf_text(&json));
    buf_release(&json);
    return value;
}

/* [part,part,...]: the text is `count` times as long, the memory is not. */
static hd_value *repeated(const hd_value *part, unsigned count)
{
    hd_value *list = value_of("[]");
    for (unsigned i = 0; i < count; i++) {
        hd_value *longer = NULL;
        EXPECT_INT(hd_value_set(list, "/-", 2, part, &longer, NULL), HD_OK);
        hd_value_unref(list);
        list = longer;
    }
    return list;
}

TEST(a_text_is_never_longer_than_what_can_be_read)
{
    struct buf bytes = {0};
    memset(buf_reserve(&bytes, LIMIT_STRING_BYTES), 'x', LIMIT_STRING_BYTES);
    buf_advance(&bytes, LIMIT_STRING_BYTES);
    hd_value *part = NULL;
    EXPECT_INT(hd_value_new_string(bytes.at, bytes.length, &part), HD_OK);
    hd_value *value = repeated(part, LIMIT_TEXT_BYTES / LIMIT_STRING_BYTES);
    char digest[HD_DIGEST_LENGTH + 1] = "left";
    char *text = NULL;
    size_t length = 7;
    hd_value *id = NULL;
    EXPECT_INT(hd_value_write(value, HD_AS_GIVEN, 0, &text, &length),
               HD_LIMIT_SIZE);
    EXPECT(text == NULL);
    EXPECT_EQ(length, 0);
    EXPECT_INT(hd_value_write(value, HD_CANONICAL, 4, &text, &length),
               HD_LIMIT_SIZE);
    EXPECT_INT(hd_value_digest(value, digest), HD_LIMIT_SIZE);
    EXPECT_TEXT(digest, "");
    EXPECT_INT(hd_value_id("of:", value, &id), HD_LIMIT_SIZE);
    EXPECT(id == NULL);
    hd_value_unref(value);
    hd_value_unref(part);
    buf_release(&bytes);
}

TEST(indentation_counts_towards_the_limit)
{
    /* 1000 levels, each line with up to 16000 blanks, 12 times. */
    hd_value *deep = nested(999, "1");
    hd_value *list = repeated(deep, 12);
    char *text = NULL;
    size_t length = 0;
    EXPECT_INT(hd_value_write(list, HD_AS_GIVEN, 0, &text, &length), HD_OK);
    EXPECT(length < 25000);
    hd_text_free(text);
    EXPECT_INT(hd_value_write(list, HD_AS_GIVEN, 16, &text, &length),
               HD_LIMIT_SIZE);
    EXPECT(text == NULL);
    hd_value_unref(deep);
    hd_value_unref(list);
}

/* -- Changing ------------------------------------------------------------ */

TEST(set_creates_keys_inserts_elements_and_leaves_the_old_value_alone)
{
    static const struct {
        const char *pointer;
        const char *changed; /* NULL: refused */
        hd_status status;
    } rows[] = {
        {"", "9", HD_OK},
        {"/a", "{\"a\":9,\"l\":[1]}", HD_OK},
        {"/x/y", "{\"a\":0,\"l\":[1],\"x\":{\"y\":9}}", HD_OK},
        {"/l/0", "{\"a\":0,\"l\":[9,1]}", HD_OK},
        {"/l/-", "{\"a\":0,\"l\":[1,9]}", HD_OK},
        {"/l/2", NULL, HD_PATCH_MISSING},
        {"/l/x", NULL, HD_PATCH_INDEX},
        {"/a/x", NULL, HD_PATCH_TRAVERSAL},
    };
    hd_value *value = value_of("{\"a\":0,\"l\":[1]}");
    hd_value *item = value_of("9");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *changed = NULL;
        hd_error error;
        EXPECT_INT(hd_value_set(value,
                                rows[i].pointer,
                                HD_TERMINATED,
                                item,
                                &changed,
                                &error),
                   rows[i].status);
        if (rows[i].changed != NULL) {
            EXPECT_JSON(changed, rows[i].changed);
        } else {
            /* The caller wrote no operation and reads of none. */
            EXPECT(strstr(error.text, "operation") == NULL);
            EXPECT_CONTAINS(error.text, rows[i].pointer);
        }
    }
    hd_value_unref(item);
    EXPECT_JSON(value, "{\"a\":0,\"l\":[1]}");
}

TEST(no_value_gets_deeper_than_the_limit)
{
    hd_value *value = nested(LIMIT_DEPTH - 1, "");
    hd_value *list = value_of("[]");
    hd_value *full = NULL;
    hd_value *changed = NULL;
    hd_error error;
    EXPECT_INT(hd_value_set(list, "/0", 2, value, &full, &error), HD_OK);
    EXPECT_INT(hd_value_set(list, "/0", 2, full, &changed, &error),
               HD_LIMIT_DEPTH);
    EXPECT(changed == NULL);
    EXPECT_INT(error.status, HD_LIMIT_DEPTH);
    hd_value_unref(value);
    hd_value_unref(list);
    hd_value_unref(full);
}

TEST(a_patch_is_applied_whole_or_not_at_all)
{
    static const struct {
        const char *patch;
        const char *patched;
        hd_status status;
    } rows[] = {
        {"[]", "{\"n\":1,\"l\":[1,2,1]}", HD_OK},
        {"[{\"op\":\"replace\",\"path\":\"/n\",\"value\":2},"
         "{\"op\":\"remove\",\"path\":\"/l\"}]",
         "{\"n\":2}",
         HD_OK},
        {"[{\"op\":\"move\",\"from\":\"/n\",\"path\":\"/l/0\"}]",
         "{\"l\":[1,1,2,1]}",
         HD_OK},
        {"[{\"op\":\"splice\",\"path\":\"/l\",\"index\":1,\"remove\":9,"
         "\"add\":[7]}]",
         "{\"n\":1,\"l\":[1,7]}",
         HD_OK},
        {"[{\"op\":\"append\",\"path\":\"/l\",\"values\":[3]},"
         "{\"op\":\"add-unique\",\"path\":\"/l\",\"values\":[3,4]},"
         "{\"op\":\"remove-by-value\",\"path\":\"/l\",\"value\":1}]",
         "{\"n\":1,\"l\":[2,3,4]}",
         HD_OK},
        {"[{\"op\":\"increment\",\"path\":\"/n\",\"by\":1.5}]",
         "{\"n\":2.5,\"l\":[1,2,1]}",
         HD_OK},
        {"[{\"op\":\"remove\",\"path\":\"/n\"},"
         "{\"op\":\"remove\",\"path\":\"/n\"}]",
         "operation 1 (remove)",
         HD_PATCH_MISSING},
        {"[{\"op\":\"add\",\"path\":\"/n/x\",\"value\":1}]",
         "/n/x",
         HD_PATCH_TRAVERSAL},
        {"[{\"op\":\"append\",\"path\":\"/n\",\"values\":[]}]",
         "/n",
         HD_PATCH_TARGET},
        {"[{\"op\":\"fly\",\"path\":\"\"}]", "'fly'", HD_PATCH_MALFORMED},
        {"[{\"op\":\"add\",\"path\":\"x\",\"value\":1}]",
         "operation 0",
         HD_SYNTAX},
        {"{}", "array of operations", HD_PATCH_MALFORMED},
    };
    hd_value *value = value_of(rows[0].patched);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *patch = value_of(rows[i].patch);
        hd_value *patched = NULL;
        hd_error error;
        EXPECT_INT(hd_value_patch(value, patch, &patched, &error),
                   rows[i].status);
        if (rows[i].status == HD_OK) {
            EXPECT_JSON(patched, rows[i].patched);
        } else {
            EXPECT(patched == NULL);
            EXPECT_CONTAINS(error.text, rows[i].patched);
        }
        hd_value_unref(patch);
    }
    EXPECT_JSON(value, rows[0].patched);
}

/* -- Differences --------------------------------------------------------- */

/* The patch from `before` to `after`, after having seen that it is one. */
static hd_value *checked_diff(const hd_value *before, const hd_value *after)
{
    hd_value *patch = NULL;
    hd_value *patched = NULL;
    hd_error error;
    EXPECT_INT(hd_value_diff(before, after, &patch), HD_OK);
    if (EXPECT_INT(hd_value_patch(before, patch, &patched, &error), HD_OK)) {
        EXPECT(are_equal(patched, after));
    }
    hd_value_unref(patched);
    return patch;
}

TEST(a_diff_applied_to_the_one_gives_the_other)
{
    static const char *const texts[] = {
        "null",
        "{}",
        "[]",
        "{\"a\":{\"b\":[1,2,3]},\"c\":\"x\"}",
        "{\"c\":\"y\",\"a\":{\"b\":[1,3],\"d\":null}}",
        "[1,[2,{\"a\":[]}],3]",
        "[1,[2,{\"a\":[4]}],3,5]",
        "{\"/\":{\"link@1\":{\"id\":\"x\"}}}",
        "{\"/\":{\"link@1\":{\"id\":\"x\"},\"b\":1}}",
    };
    const size_t count = sizeof texts / sizeof texts[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            hd_value *before = value_of(texts[i]);
            hd_value *after = value_of(texts[j]);
            hd_value *patch = checked_diff(before, after);
            size_t operations = 0;
            EXPECT_INT(hd_value_count(patch, &operations), HD_OK);
            EXPECT((operations == 0) == (i == j));
            hd_value_unref(patch);
            hd_value_unref(before);
            hd_value_unref(after);
        }
    }
}

/* [digit,digit,...] */
static hd_value *list_of(char digit, unsigned count)
{
    struct buf json = {0};
    for (unsigned i = 0; i < count; i++) {
        buf_append_char(&json, i == 0 ? '[' : ',');
        buf_append_char(&json, digit);
    }
    buf_append_char(&json, ']');
    hd_value *list = value_of(buf_text(&json));
    buf_release(&json);
    return list;
}

TEST(a_difference_that_no_patch_can_say_replaces_the_whole)
{
    hd_value *before = list_of('1', LIMIT_PATCH_OPERATIONS + 1);
    hd_value *after = list_of('2', LIMIT_PATCH_OPERATIONS + 1);
    hd_value *patch = checked_diff(before, after);
    size_t operations = 0;
    EXPECT_INT(hd_value_count(patch, &operations), HD_OK);
    EXPECT_EQ(operations, 1);
    hd_value_unref(patch);
    hd_value_unref(before);
    hd_value_unref(after);
}

TEST(a_difference_at_a_place_that_no_pointer_can_name_replaces_the_whole)
{
    struct buf json = {0};
    buf_append_text(&json, "{\"a\":1,\"");
    for (int i = 0; i < LIMIT_POINTER_BYTES; i++) {
        buf_append_char(&json, 'k');
    }
    buf_append_text(&json, "\":[1]}");
    hd_value *before = value_of(buf_text(&json));
    json.at[json.length - 3] = '2';
    hd_value *after = value_of(buf_text(&json));
    hd_value *patch = checked_diff(before, after);
    hd_value *path = NULL;
    EXPECT_INT(hd_value_get(patch, "/0/path", HD_TERMINATED, &path, NULL),
               HD_OK);
    EXPECT_JSON(path, "\"\"");
    hd_value_unref(patch);
    hd_value_unref(before);
    hd_value_unref(after);
    buf_release(&json);
}

TEST(a_value_too_deep_for_a_patch_is_refused)
{
    hd_value *flat = value_of("1");
    hd_value *deep = nested(LIMIT_DEPTH - 2, "");
    hd_value *deeper = nested(LIMIT_DEPTH - 1, "");
    hd_value *patch = NULL;
    EXPECT_INT(hd_value_diff(flat, deep, &patch), HD_OK);
    hd_value_unref(patch);
    EXPECT_INT(hd_value_diff(flat, deeper, &patch), HD_LIMIT_DEPTH);
    EXPECT(patch == NULL);
    hd_value_unref(flat);
    hd_value_unref(deep);
    hd_value_unref(deeper);
}

TEST(changed_paths_are_sorted_pointers)
{
    static const struct {
        const char *before; /* NULL: nothing */
        const char *after;
        const char *pointers;
    } rows[] = {
        {"{\"a\":1}", "{\"a\":1.0}", "[]"},
        {"{\"b\":1,\"a\":{\"x\":1}}",
         "{\"a\":{\"x\":2,\"y\":1}}",
         "[\"/a/x\",\"/a/y\",\"/b\"]"},
        {"[1,2,3]", "[1,9]", "[\"\",\"/1\"]"},
        {"{\"a/b\":1,\"m~n\":1}", "{}", "[\"/a~1b\",\"/m~0n\"]"},
        {NULL, "{\"a\":1}", "[\"\"]"},
        {"{\"a\":1}", NULL, "[\"\"]"},
        {NULL, NULL, "[]"},
        {"{\"a\":{\"b\":1},\"a-\":1}",
         "{\"a\":{\"b\":2},\"a-\":2}",
         "[\"/a-\",\"/a/b\"]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *before =
            rows[i].before != NULL ? value_of(rows[i].before) : NULL;
        hd_value *after =
            rows[i].after != NULL ? value_of(rows[i].after) : NULL;
        hd_value *pointers = NULL;
        EXPECT_INT(hd_value_changed_paths(before, after, &pointers), HD_OK);
        EXPECT_JSON(pointers, rows[i].pointers);
        hd_value_unref(before);
        hd_value_unref(after);
    }
}

TEST(pointers_that_are_too_many_together_are_refused)
{
    /* 900 levels above 40000 differences: 72 million bytes of pointers. */
    struct buf json = {0};
    for (unsigned i = 0; i < 40000; i++) {
        buf_append_text(&json, i == 0 ? "1" : ",1");
    }
    hd_value *before = nested(900, buf_text(&json));
    for (char *at = json.at; *at != '\0'; at++) {
        if (*at == '1') {
            *at = '2';
        }
    }
    hd_value *after = nested(900, buf_text(&json));
    hd_value *pointers = before;
    EXPECT_INT(hd_value_changed_paths(before, after, &pointers), HD_LIMIT_SIZE);
    EXPECT(pointers == NULL);
    hd_value_unref(checked_diff(before, after));
    hd_value_unref(before);
    hd_value_unref(after);
    buf_release(&json);
}

/* -- Names --------------------------------------------------------------- */

TEST(a_digest_is_of_the_content_and_never_changes)
{
    static const struct {
        const char *json;
        const char *digest;
    } rows[] = {
        {"{\"b\":2,\"a\":1}", "6f_MxupBw1pnnzeTwwmimtZsMlYJTtbybiUp0uUIlC0"},
        {"{\"a\":1.0,\"b\":2}", "6f_MxupBw1pnnzeTwwmimtZsMlYJTtbybiUp0uUIlC0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *value = value_of(rows[i].json);
        char digest[HD_DIGEST_LENGTH + 1];
        EXPECT_INT(hd_value_digest(value, digest), HD_OK);
        EXPECT_TEXT(digest, rows[i].digest);
        hd_value_unref(value);
    }
}

TEST(an_id_is_its_prefix_and_a_digest_of_both)
{
    hd_value *cause = value_of("[\"order\",17]");
    hd_value *id = NULL;
    EXPECT_INT(hd_value_id("of:", cause, &id), HD_OK);
    EXPECT_JSON(id, "\"of:NV_Rs1CuxFL_QThaRlNqtNm3D89ufjWQSkF_JWfuRQI\"");

    hd_value *other = NULL;
    const char *text = NULL;
    EXPECT_INT(hd_value_id("abcdefghijklmnop", cause, &other), HD_OK);
    EXPECT_INT(hd_value_get_string(other, &text, NULL), HD_OK);
    EXPECT(strncmp(text, "abcdefghijklmnop", 16) == 0);
    EXPECT_EQ(strlen(text), 16 + HD_DIGEST_LENGTH);
    EXPECT(strstr(text, "NV_Rs1Cux") == NULL);
    hd_value_unref(other);
    hd_value_unref(cause);
}
