/* json: what is read and refused, where and why; that what is written reads
 * back (json-1), and that canonical texts decide equality (json-2).
 *
 * Oracles: the public parsing set in test/data/json-parsing, and jansson in
 * test_json_peer.c. */

#include "value/json.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* Reads a copy of exactly that size, so that a look beyond it is found. */
static enum err read_exact(const char *text,
                           size_t length,
                           const struct json_limits *limits,
                           struct value *out,
                           struct json_fault *fault)
{
    char *copy = mem_alloc(length);
    if (length > 0) {
        memcpy(copy, text, length);
    }
    const enum err err = json_read(copy, length, limits, out, fault);
    EXPECT_EQ(value_is_absent(*out), err != ERR_OK);
    mem_free(copy, length);
    return err;
}

static enum err read_text(const char *text, struct json_fault *fault)
{
    struct value value;
    const enum err err = read_exact(text, strlen(text), NULL, &value, fault);
    value_unref(value);
    return err;
}

/* -- The public set ------------------------------------------------------ */

struct set_counts {
    size_t accepted;
    size_t refused;
    size_t either;
};

static void run_file(const char *name, struct set_counts *counts)
{
    char relative[300];
    size_t length = 0;
    (void)snprintf(relative, sizeof relative, "json-parsing/%.200s", name);
    char *text = test_read_file(test_data_path(relative), &length);
    if (text == NULL) {
        return;
    }
    struct value value;
    struct json_fault fault = {0};
    const enum err err = read_exact(text, length, NULL, &value, &fault);
    if (name[0] == 'y' && err != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", name, fault.text);
    }
    if (name[0] == 'n' && err == ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s was accepted", name);
    }
    if (err == ERR_OK) {
        EXPECT_CHECK(value);
    } else {
        EXPECT_EQ(fault.err, err);
        EXPECT_CONTAINS(fault.text, "line ");
        EXPECT(fault.offset <= length);
    }
    counts->accepted += name[0] == 'y' ? 1 : 0;
    counts->refused += name[0] == 'n' ? 1 : 0;
    counts->either += name[0] == 'i' ? 1 : 0;
    value_unref(value);
    test_release_file(text, length);
}

TEST(the_public_parsing_set_is_answered_as_it_demands)
{
    struct set_counts counts = {0};
    DIR *folder = opendir(test_data_path("json-parsing"));
    if (!EXPECT(folder != NULL)) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        if (strstr(entry->d_name, ".json") != NULL) {
            run_file(entry->d_name, &counts);
        }
    }
    (void)closedir(folder);
    (void)printf("# %zu accepted, %zu refused, %zu either way\n",
                 counts.accepted,
                 counts.refused,
                 counts.either);
    EXPECT_EQ(counts.accepted, 95);
    EXPECT_EQ(counts.refused, 188);
    EXPECT_EQ(counts.either, 35);
}

/* -- Faults -------------------------------------------------------------- */

static const struct {
    const char *text;
    enum err err;
    size_t offset;
    size_t line;
    size_t column;
    const char *sentence;
} faults[] = {
    {"", ERR_SYNTAX, 0, 1, 1, "expected a value, found the end of the text"},
    {" \n ", ERR_SYNTAX, 3, 2, 2, "expected a value, found the end"},
    {"nul", ERR_SYNTAX, 0, 1, 1, "expected a value, found 'n'"},
    {"[1,]", ERR_SYNTAX, 3, 1, 4, "expected a value, found ']'"},
    {"[1 2]", ERR_SYNTAX, 3, 1, 4, "expected ',' or ']', found '2'"},
    {"[1", ERR_SYNTAX, 2, 1, 3, "expected ',' or ']', found the end"},
    {"{\"a\":1", ERR_SYNTAX, 6, 1, 7, "expected ',' or '}', found the end"},
    {"{\"a\":1]", ERR_SYNTAX, 6, 1, 7, "expected ',' or '}', found ']'"},
    {"{a:1}", ERR_SYNTAX, 1, 1, 2, "expected a key in quotes, found 'a'"},
    {"{\"a\":1,}", ERR_SYNTAX, 7, 1, 8, "expected a key in quotes"},
    {"{\"a\" 1}", ERR_SYNTAX, 5, 1, 6, "expected ':' after a key"},
    {"[1] x", ERR_SYNTAX, 4, 1, 5, "expected the end of the text"},
    {"[1]\n\n]", ERR_SYNTAX, 5, 3, 1, "expected the end of the text"},
    {"[\n 1,\n  x]", ERR_SYNTAX, 8, 3, 3, "expected a value, found 'x'"},
    {"[\"\xC3\xA4\xF0\x9F\x98\x80\",x]", ERR_SYNTAX, 10, 1, 7, "found 'x'"},
    {"\xEF\xBB\xBF[]", ERR_SYNTAX, 0, 1, 1, "found the byte 0xEF"},
    {"[-]", ERR_SYNTAX, 2, 1, 3, "expected a digit, found ']'"},
    {"[01]", ERR_SYNTAX, 2, 1, 3, "expected a digit"},
    {"[1.]", ERR_SYNTAX, 3, 1, 4, "expected a digit, found ']'"},
    {"[1e+]", ERR_SYNTAX, 4, 1, 5, "expected a digit, found ']'"},
    {"[1e400]", ERR_RANGE, 1, 1, 2, "beyond the range of a double"},
    {"\"ab", ERR_SYNTAX, 3, 1, 4, "expected the closing quote"},
    {"\"a\tb\"", ERR_SYNTAX, 2, 1, 3, "an escape for a control character"},
    {"\"\\x\"", ERR_SYNTAX, 2, 1, 3, "after a backslash, found 'x'"},
    {"\"\\", ERR_SYNTAX, 2, 1, 3, "after a backslash, found the end"},
    {"\"\\u12g4\"", ERR_SYNTAX, 5, 1, 6, "four hexadecimal digits"},
    {"\"\\u12\"",
     ERR_SYNTAX,
     5,
     1,
     6,
     "hexadecimal digits after \\u, "
     "found '\"'"},
    {"\"\\ud800\"", ERR_SYNTAX, 1, 1, 2, "unpaired surrogate"},
    {"\"a\\udc00\"", ERR_SYNTAX, 2, 1, 3, "unpaired surrogate"},
    {"\"\xFF\"", ERR_SYNTAX, 1, 1, 2, "expected UTF-8, found the byte 0xFF"},
};

TEST(a_fault_says_where_and_what_was_expected)
{
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        struct json_fault fault = {0};
        EXPECT_EQ(read_text(faults[i].text, &fault), faults[i].err);
        EXPECT_EQ(fault.err, faults[i].err);
        if (!EXPECT_CONTAINS(fault.text, faults[i].sentence) ||
            !EXPECT_EQ(fault.offset, faults[i].offset) ||
            !EXPECT_EQ(fault.line, faults[i].line) ||
            !EXPECT_EQ(fault.column, faults[i].column)) {
            (void)test_fail(__FILE__, __LINE__, "for %s", faults[i].text);
        }
        char place[64];
        (void)snprintf(place,
                       sizeof place,
                       "line %zu, column %zu: ",
                       faults[i].line,
                       faults[i].column);
        EXPECT(strncmp(fault.text, place, strlen(place)) == 0);
        EXPECT_EQ(read_text(faults[i].text, NULL), faults[i].err);
    }
}

TEST(a_zero_byte_is_no_end)
{
    struct value value;
    struct json_fault fault;
    EXPECT_EQ(read_exact("[1]\0", 4, NULL, &value, &fault), ERR_SYNTAX);
    EXPECT_EQ(fault.offset, 3);
    EXPECT_CONTAINS(fault.text, "found the byte 0x00");
    EXPECT_EQ(read_exact("\"a\0b\"", 5, NULL, &value, &fault), ERR_SYNTAX);
    EXPECT_EQ(fault.offset, 2);
    EXPECT_EQ(read_exact("\"\\\0\"", 4, NULL, &value, &fault), ERR_SYNTAX);
    EXPECT_EQ(fault.offset, 2);
}

/* -- Limits -------------------------------------------------------------- */

TEST(each_limit_has_its_own_code_and_allows_itself)
{
    static const struct {
        struct json_limits limits;
        const char *good;
        const char *bad;
        enum err err;
        const char *sentence;
    } rows[] = {
        {{.text_bytes = 5}, "[1,2]", "[1,22]", ERR_LIMIT_SIZE, "more than 5 "},
        {{.string_bytes = 3}, "\"abc\"", "\"abcd\"", ERR_LIMIT_STRING, "3 byt"},
        {{.string_bytes = 3},
         "{\"\\u0041bc\":1}",
         "{\"\\u0041bcd\":1}",
         ERR_LIMIT_STRING,
         "more than 3 bytes"},
        {{.depth = 2}, "[[1],[]]", "[[1,{}]]", ERR_LIMIT_DEPTH, "2 levels"},
        {{.keys = 2},
         "{\"a\":1,\"b\":2}",
         "{\"a\":1,\"b\":2,\"c\":3}",
         ERR_LIMIT_KEYS,
         "more than 2 keys"},
        {{.elements = 2}, "[1,2]", "[1,2,3]", ERR_LIMIT_ELEMENTS, "2 elements"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value;
        struct json_fault fault = {0};
        EXPECT_EQ(read_exact(rows[i].good,
                             strlen(rows[i].good),
                             &rows[i].limits,
                             &value,
                             &fault),
                  ERR_OK);
        value_unref(value);
        EXPECT_EQ(read_exact(rows[i].bad,
                             strlen(rows[i].bad),
                             &rows[i].limits,
                             &value,
                             &fault),
                  rows[i].err);
        EXPECT_EQ(fault.err, rows[i].err);
        EXPECT_CONTAINS(fault.text, rows[i].sentence);
    }
}

TEST(a_length_beyond_all_bounds_is_refused_before_it_is_used)
{
    struct value value;
    struct json_fault fault = {0};
    EXPECT_EQ(json_read("[]", SIZE_MAX, NULL, &value, &fault), ERR_LIMIT_SIZE);
    EXPECT_EQ(fault.offset, 0);
    EXPECT_EQ(json_read("[]", LIMIT_TEXT_BYTES + 1U, NULL, &value, &fault),
              ERR_LIMIT_SIZE);
    EXPECT(value_is_absent(value));
}

static enum err read_brackets(size_t depth, bool closed, bool objects)
{
    struct buf text = {0};
    for (size_t i = 0; i < depth; i++) {
        buf_append_text(&text, objects ? "{\"a\":" : "[");
    }
    if (closed) {
        buf_append_text(&text, objects ? "1" : "");
        for (size_t i = 0; i < depth; i++) {
            buf_append_char(&text, objects ? '}' : ']');
        }
    }
    struct value value;
    const enum err err =
        json_read(buf_text(&text), text.length, NULL, &value, NULL);
    if (err == ERR_OK) {
        EXPECT_EQ(value_depth(value), depth);
    }
    value_unref(value);
    buf_release(&text);
    return err;
}

TEST(j3_a_thousand_levels_are_read_and_one_more_is_refused)
{
    for (int objects = 0; objects < 2; objects++) {
        EXPECT_EQ(read_brackets(1000, true, objects == 1), ERR_OK);
        EXPECT_EQ(read_brackets(1001, true, objects == 1), ERR_LIMIT_DEPTH);
        EXPECT_EQ(read_brackets(1000, false, objects == 1), ERR_SYNTAX);
        EXPECT_EQ(read_brackets(100000, true, objects == 1), ERR_LIMIT_DEPTH);
        EXPECT_EQ(read_brackets(100000, false, objects == 1), ERR_LIMIT_DEPTH);
    }
}

TEST(j3_the_depth_is_bounded_by_the_limit_alone)
{
    const struct json_limits limits = {.depth = 100000};
    struct buf text = {0};
    for (size_t i = 0; i < 100000; i++) {
        buf_append_char(&text, '[');
    }
    for (size_t i = 0; i < 100000; i++) {
        buf_append_char(&text, ']');
    }
    struct value value;
    EXPECT_EQ(json_read(buf_text(&text), text.length, &limits, &value, NULL),
              ERR_OK);
    struct buf back = {0};
    json_write(&back, value, JSON_AS_GIVEN, 0);
    EXPECT(back.length == text.length);
    EXPECT(memcmp(back.at, text.at, text.length) == 0);
    buf_release(&back);
    buf_release(&text);
    value_unref(value);
}

/* -- Strings ------------------------------------------------------------- */

TEST(every_escape_is_read)
{
    static const struct {
        const char *text;
        const char *want;
        size_t length;
    } rows[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u0041\\u00e4\\u20AC\"", "A\xC3\xA4\xE2\x82\xAC", 6},
        {"\"\\u0000\"", "\0", 1},
        {"\"\\u0000\\u0000x\"", "\0\0x", 3},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80", 4},
        {"\"\\uD834\\uDD1E\"", "\xF0\x9D\x84\x9E", 4},
        {"\"\\uDBFF\\uDFFF\"", "\xF4\x8F\xBF\xBF", 4},
        {"\"\\ud800\\udc00\"", "\xF0\x90\x80\x80", 4},
        {"\"\\uFFFF\\uFFFE\"", "\xEF\xBF\xBF\xEF\xBF\xBE", 6},
        {"\"\xF0\x9F\x98\x80\x7F\"", "\xF0\x9F\x98\x80\x7F", 5},
        {"\"\"", "", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = from_json(rows[i].text);
        const struct text text = value_text(&value);
        EXPECT_EQ(text.length, rows[i].length);
        EXPECT(text.length == rows[i].length &&
               memcmp(text.at, rows[i].want, text.length) == 0);
        EXPECT_CHECK(value);
        value_unref(value);
    }
}

TEST(broken_escapes_are_refused)
{
    static const char *const texts[] = {
        "\"\\\"",
        "\"\\a\"",
        "\"\\U0041\"",
        "\"\\u\"",
        "\"\\u004\"",
        "\"\\u004g\"",
        "\"\\u 041\"",
        "\"\\u+041\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800\\ud800\"",
        "\"\\ud800x\"",
        "\"\\ud800\\n\"",
        "\"\\ud800\\u\"",
        "\"\\ud800\\udc0\"",
        "\"\\udc00\\ud800\"",
        "\"\\ud800",
        "\"\\ud800\\udc00",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (read_text(texts[i], NULL) != ERR_SYNTAX) {
            (void)test_fail(__FILE__, __LINE__, "accepted %s", texts[i]);
        }
    }
}

TEST(only_strict_utf8_is_text)
{
    static const char *const bad[] = {
        "\x80",
        "\xBF",
        "\xC0\xAF",
        "\xC1\xBF",
        "\xC3",
        "\xC3\x28",
        "\xE0\x80\xAF",
        "\xE0\x9F\xBF",
        "\xE2\x82",
        "\xE2\x28\xA1",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x80\x80\xAF",
        "\xF0\x8F\xBF\xBF",
        "\xF0\x9F\x98",
        "\xF0\x9F\x28\x80",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
    };
    static const char *const good[] = {
        "\x7F",
        "\xC2\x80",
        "\xDF\xBF",
        "\xE0\xA0\x80",
        "\xED\x9F\xBF",
        "\xEE\x80\x80",
        "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF",
    };
    for (size_t pad = 0; pad < 10; pad++) {
        char text[64];
        for (size_t i = 0; i < COUNT_OF(bad); i++) {
            (void)snprintf(text,
                           sizeof text,
                           "\"%.*s%s\"",
                           (int)pad,
                           "0123456789",
                           bad[i]);
            EXPECT_EQ(read_text(text, NULL), ERR_SYNTAX);
        }
        for (size_t i = 0; i < COUNT_OF(good); i++) {
            (void)snprintf(text,
                           sizeof text,
                           "\"%.*s%s\"",
                           (int)pad,
                           "0123456789",
                           good[i]);
            EXPECT_EQ(read_text(text, NULL), ERR_OK);
        }
    }
}

/* One special byte at every place of a string of every length: the reader and
 * the writer go by eight bytes at a time. */
TEST(a_special_character_is_seen_at_every_place)
{
    static const char specials[] = "\"\\\n\x01\x1F\x7F/";
    for (size_t length = 1; length <= 40; length++) {
        for (size_t at = 0; at < length; at++) {
            char bytes[40];
            memset(bytes, 'x', sizeof bytes);
            bytes[at] = specials[(length + at) % (sizeof specials - 1)];
            struct value want = value_string_new(bytes, length);
            struct buf text = {0};
            json_write(&text, want, JSON_AS_GIVEN, 0);
            struct value got;
            EXPECT_EQ(read_exact(text.at, text.length, NULL, &got, NULL),
                      ERR_OK);
            EXPECT_VALUE(got, want);
            value_unref(got);
            value_unref(want);
            buf_release(&text);
        }
    }
}

TEST(a_written_string_escapes_what_it_must_and_no_more)
{
    struct buf text = {0};
    char all[0x81];
    for (size_t i = 0; i < sizeof all - 1; i++) {
        all[i] = (char)i;
    }
    json_write_string(&text, (struct text){all, sizeof all - 1});
    EXPECT_TEXT(buf_text(&text),
                "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007"
                "\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011\\u0012"
                "\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a"
                "\\u001b\\u001c\\u001d\\u001e\\u001f !\\\"#$%&'()*+,-./"
                "0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`"
                "abcdefghijklmnopqrstuvwxyz{|}~\x7F\"");
    buf_clear(&text);
    json_write_string(&text, (struct text){"\xC3\xA4\xF0\x9F\x98\x80", 6});
    EXPECT_TEXT(buf_text(&text), "\"\xC3\xA4\xF0\x9F\x98\x80\"");
    buf_release(&text);
}

TEST(keys_of_every_length_are_read_and_equal_ones_share_their_bytes)
{
    struct buf text = {0};
    buf_append_char(&text, '[');
    for (int row = 0; row < 3; row++) {
        buf_append_text(&text, row > 0 ? ",{" : "{");
        for (int length = 0; length < 70; length++) {
            buf_printf(&text,
                       "%s\"%.*s\":%d",
                       length > 0 ? "," : "",
                       length,
                       "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
                       "abcdefghijklmnopqrst",
                       length);
        }
        buf_append_char(&text, '}');
    }
    buf_append_char(&text, ']');
    struct value list = from_json(buf_text(&text));
    EXPECT_JSON(list, buf_text(&text));
    EXPECT_EQ(object_count(array_at(list, 0)), 70);
    struct object_iter first = object_iter(array_at(list, 0));
    struct object_iter second = object_iter(array_at(list, 1));
    struct value a;
    struct value b;
    struct value item;
    size_t shared = 0;
    while (object_next(&first, &a, &item) && object_next(&second, &b, &item)) {
        shared += value_is_same(a, b) ? 1 : 0;
    }
    EXPECT(shared > 16);
    EXPECT_CHECK(list);
    value_unref(list);
    buf_release(&text);
}

/* -- Whole documents ----------------------------------------------------- */

TEST(blanks_may_stand_between_any_two_tokens)
{
    struct value value = from_json(
        "\t\r\n { \"a\"\n:\t[ 1 ,\r2 , { } , [ ] ] , \"b\" : null }\n");
    EXPECT_JSON(value, "{\"a\":[1,2,{},[]],\"b\":null}");
    value_unref(value);
    EXPECT_EQ(read_text("[\f1]", NULL), ERR_SYNTAX);
    EXPECT_EQ(read_text("[\v1]", NULL), ERR_SYNTAX);
    EXPECT_EQ(read_text("[\xC2\xA0"
                        "1]",
                        NULL),
              ERR_SYNTAX);
    EXPECT_EQ(read_text("[1,/* c */2]", NULL), ERR_SYNTAX);
}

TEST(indented_text_has_one_item_a_line)
{
    struct value value = from_json(
        "{\"a\":[1,[],{}],\"b\":{\"c\":\"d\"},\"e\":{\"/\":{\"x@1\":[1]}}}");
    struct buf text = {0};
    json_write(&text, value, JSON_AS_GIVEN, 2);
    EXPECT_TEXT(buf_text(&text),
                "{\n"
                "  \"a\": [\n"
                "    1,\n"
                "    [],\n"
                "    {}\n"
                "  ],\n"
                "  \"b\": {\n"
                "    \"c\": \"d\"\n"
                "  },\n"
                "  \"e\": {\"/\":{\"x@1\":[\n"
                "      1\n"
                "    ]}}\n"
                "}");
    struct value back = from_json(buf_text(&text));
    EXPECT_VALUE(back, value);
    value_unref(back);
    buf_release(&text);
    value_unref(value);
}

TEST(j2_the_canonical_text_is_sorted_and_short)
{
    static const struct {
        const char *text;
        const char *canonical;
    } rows[] = {
        {"{\"b\":1, \"a\":{\"d\":1,\"c\":2}}",
         "{\"a\":{\"c\":2,\"d\":1},\"b\":1}"},
        {"{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}"},
        {"{\"\\ud800\\udc00\":1,\"\\uffff\":2}",
         "{\"\xEF\xBF\xBF\":2,\"\xF0\x90\x80\x80\":1}"},
        {"[1.0, 1e2, 1E-2, 0.1000]", "[1,100,0.01,0.1]"},
        {"[1e21, 1e20, 1e-7, 123456789012345680000]",
         "[1e+21,100000000000000000000,1e-7,123456789012345680000]"},
        {"[-0, 0, -0.0]", "[-0,0,-0]"},
        {"\"\\u0041\\/\\u00e4\"", "\"A/\xC3\xA4\""},
        {"{\"/\":{\"link@1\":{\"path\":[],\"id\":\"a\"}}}",
         "{\"/\":{\"link@1\":{\"id\":\"a\",\"path\":[]}}}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = from_json(rows[i].text);
        struct buf text = {0};
        json_write(&text, value, JSON_CANONICAL, 0);
        EXPECT_TEXT(buf_text(&text), rows[i].canonical);
        buf_release(&text);
        value_unref(value);
    }
}

TEST(writing_appends_to_what_is_there)
{
    struct buf text = {0};
    buf_append_text(&text, "value: ");
    json_write(&text, value_bool(true), JSON_AS_GIVEN, 4);
    EXPECT_TEXT(buf_text(&text), "value: true");
    buf_release(&text);
}

TEST(writing_gives_up_beyond_the_given_length)
{
    struct value value = from_json("{\"b\":[1,2,{\"c\":\"text\"}],\"a\":null}");
    struct buf whole = {0};
    json_write(&whole, value, JSON_CANONICAL, 2);
    for (size_t most = 0; most <= whole.length + 2; most++) {
        struct buf text = {0};
        buf_append_text(&text, "before");
        const bool fits =
            json_write_within(&text, value, JSON_CANONICAL, 2, most);
        EXPECT_EQ(fits, most >= whole.length);
        if (fits) {
            EXPECT_TEXT(buf_text(&text) + 6, buf_text(&whole));
        }
        buf_release(&text);
    }
    buf_release(&whole);
    value_unref(value);

    /* Given up soon: a large value is not written to its end. */
    struct value large = value_empty_array();
    for (int i = 0; i < 100000; i++) {
        large = array_push_adopt(large, value_int(i));
    }
    struct buf text = {0};
    EXPECT(!json_write_within(&text, large, JSON_AS_GIVEN, 0, 1000));
    EXPECT(text.length < 2000);
    buf_release(&text);
    value_unref(large);
}

PROPERTY(j1_what_is_written_reads_back, 250)
{
    const struct gen gen = {random, 5, 40, GEN_SPECIALS | GEN_ENVELOPES};
    struct value value = gen_value(&gen);
    for (unsigned form = 0; form < 4; form++) {
        struct buf text = {0};
        json_write(&text,
                   value,
                   form < 2 ? JSON_AS_GIVEN : JSON_CANONICAL,
                   form % 2 * 3);
        struct value back;
        struct json_fault fault;
        if (EXPECT_EQ(read_exact(text.at, text.length, NULL, &back, &fault),
                      ERR_OK)) {
            EXPECT_VALUE(back, value);
        } else {
            (void)test_fail(__FILE__, __LINE__, "%s", fault.text);
        }
        if (form == 0) { /* even the order of the keys */
            EXPECT_JSON(back, buf_text(&text));
        }
        value_unref(back);
        buf_release(&text);
    }
    value_unref(value);
}

PROPERTY(j2_canonical_texts_are_equal_iff_the_values_are, 300)
{
    const struct gen gen = {random, 3, 6, GEN_SPECIALS | GEN_ENVELOPES};
    struct value a = gen_value(&gen);
    struct value b = random_one_in(random, 3)
                         ? gen_rebuild(&gen, a)
                         : gen_edit_adopt(&gen, value_ref(a));
    struct buf x = {0};
    struct buf y = {0};
    json_write(&x, a, JSON_CANONICAL, 0);
    json_write(&y, b, JSON_CANONICAL, 0);
    const bool same = x.length == y.length && memcmp(x.at, y.at, x.length) == 0;
    EXPECT_EQ(same, value_equal(a, b));
    buf_release(&x);
    buf_release(&y);
    value_unref(a);
    value_unref(b);
}

PROPERTY(a_text_cut_anywhere_is_refused, 12)
{
    const struct gen gen = {random, 4, 8, GEN_SPECIALS};
    struct value value = value_empty_array();
    for (int i = 0; i < 4; i++) {
        value = array_push_adopt(value, gen_value(&gen));
    }
    struct buf text = {0};
    json_write(&text, value, JSON_AS_GIVEN, random_one_in(random, 2) ? 1 : 0);
    const size_t step = 1 + text.length / 500;
    for (size_t cut = 0; cut < text.length; cut += step) {
        struct value got;
        struct json_fault fault = {0};
        EXPECT_EQ(read_exact(text.at, cut, NULL, &got, &fault), ERR_SYNTAX);
        EXPECT(fault.offset <= cut);
    }
    buf_release(&text);
    value_unref(value);
}

TEST(a_fixed_text_cut_at_every_byte_is_refused)
{
    static const char text[] =
        "{\"a\":[true,false,null,-1.5e+10,\"\\u00e4\\ud83d\\ude00\\n\"],"
        "\"a key of many bytes\":{\"\xC3\xA4\xF0\x9F\x98\x80\":{}},"
        "\"/\":{\"/\":{\"link@1\":{\"path\":[\"a\"]}}}}";
    for (size_t cut = 0; cut < sizeof text - 1; cut++) {
        struct value got;
        EXPECT_EQ(read_exact(text, cut, NULL, &got, NULL), ERR_SYNTAX);
    }
    EXPECT_EQ(read_text(text, NULL), ERR_OK);
}

PROPERTY(no_random_bytes_crash_the_reader, 2000)
{
    static const char alphabet[] =
        "[]{}\",:0123456789.eE+-\\/bfnrtu \ntruefalsn\x80\xC3\xF0\xFF\x01";
    char text[48];
    const size_t length = random_below(random, sizeof text + 1);
    for (size_t i = 0; i < length; i++) {
        text[i] = alphabet[random_below(random, sizeof alphabet)];
    }
    struct value value;
    struct json_fault fault = {0};
    const enum err err = read_exact(text, length, NULL, &value, &fault);
    if (err == ERR_OK) {
        EXPECT_CHECK(value);
    } else {
        EXPECT_EQ(fault.err, err);
    }
    value_unref(value);
}
