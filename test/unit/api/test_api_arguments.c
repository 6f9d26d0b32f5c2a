/* Wrong arguments: every function, every parameter. The answer is a status,
 * results are set to nothing, and nothing is leaked or changed. */

#include "base/limits.h"
#include "unit/api/values.h"

/* A handle that no result may still be: a function that forgets to clear its
 * result leaves this. */
static hd_value *stale(void)
{
    static char somewhere;
    return (hd_value *)(void *)&somewhere;
}

static hd_error stale_error(void)
{
    return (hd_error){
        .status = HD_IO,
        .class_of = HD_CLASS_FAULT,
        .line = 7,
        .column = 7,
        .offset = 7,
        .text = "left from before",
    };
}

static void expect_error(const hd_error *error, hd_status status)
{
    EXPECT_INT(error->status, status);
    EXPECT_INT(error->class_of, hd_status_class(status));
    EXPECT(strlen(error->text) > 0);
    EXPECT(strcmp(error->text, "left from before") != 0);
}

static void expect_cleared(const hd_error *error)
{
    EXPECT_INT(error->status, HD_OK);
    EXPECT_INT(error->class_of, HD_CLASS_NONE);
    EXPECT_EQ(error->line, 0);
    EXPECT_EQ(error->column, 0);
    EXPECT_EQ(error->offset, 0);
    EXPECT_TEXT(error->text, "");
}

/* -- Making -------------------------------------------------------------- */

TEST(parse_refuses_missing_arguments)
{
    hd_value *value = stale();
    hd_error error = stale_error();
    EXPECT_INT(hd_value_parse(NULL, 0, &value, &error), HD_ARGUMENT);
    EXPECT(value == NULL);
    expect_error(&error, HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'text'");
    EXPECT_EQ(error.line, 0);

    error = stale_error();
    EXPECT_INT(hd_value_parse("1", 1, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'value'");
    EXPECT_INT(hd_value_parse(NULL, HD_TERMINATED, NULL, NULL), HD_ARGUMENT);
}

TEST(parse_refuses_a_length_beyond_the_limit_without_looking)
{
    hd_value *value = stale();
    hd_error error = stale_error();
    EXPECT_INT(hd_value_parse("1", LIMIT_TEXT_BYTES + 1, &value, &error),
               HD_LIMIT_SIZE);
    EXPECT(value == NULL);
    expect_error(&error, HD_LIMIT_SIZE);
    EXPECT_EQ(error.line, 0);
    EXPECT_INT(hd_value_parse("1", HD_TERMINATED - 1, &value, &error),
               HD_LIMIT_SIZE);
    EXPECT_INT(hd_value_parse("1", SIZE_MAX / 2, &value, NULL), HD_LIMIT_SIZE);
}

TEST(a_maker_needs_a_place_for_its_result)
{
    EXPECT_INT(hd_value_new_null(NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_new_bool(true, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_new_int(1, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_new_double(1.5, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_new_string("a", 1, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_new_array(NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_new_object(NULL), HD_ARGUMENT);
}

TEST(a_string_is_utf_8_and_bounded)
{
    static const char *const bad[] = {
        "\xFF",
        "a\xC3",             /* cut */
        "\xC0\x80",          /* overlong */
        "\xED\xA0\x80",      /* a surrogate */
        "\xF4\x90\x80\x80",  /* above U+10FFFF */
        "fifteen bytes \x80" /* continues nothing */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hd_value *value = stale();
        EXPECT_INT(hd_value_new_string(bad[i], HD_TERMINATED, &value),
                   HD_SYNTAX);
        EXPECT(value == NULL);
    }
    hd_value *value = stale();
    EXPECT_INT(hd_value_new_string(NULL, 0, &value), HD_ARGUMENT);
    EXPECT(value == NULL);
    value = stale();
    EXPECT_INT(hd_value_new_string("a", LIMIT_STRING_BYTES + 1, &value),
               HD_LIMIT_STRING);
    EXPECT(value == NULL);
    EXPECT_INT(hd_value_new_string("a", HD_TERMINATED - 1, &value),
               HD_LIMIT_STRING);
}

/* -- Asking -------------------------------------------------------------- */

TEST(questions_about_nothing_are_refused)
{
    hd_kind kind = HD_TAGGED;
    bool boolean = true;
    int64_t integer = 7;
    double number = 7;
    size_t count = 7;
    const char *bytes = "left";
    EXPECT_INT(hd_value_kind(NULL, &kind), HD_ARGUMENT);
    EXPECT_INT(kind, 0);
    EXPECT_INT(hd_value_get_bool(NULL, &boolean), HD_ARGUMENT);
    EXPECT(!boolean);
    EXPECT_INT(hd_value_get_int(NULL, &integer), HD_ARGUMENT);
    EXPECT_INT(integer, 0);
    EXPECT_INT(hd_value_get_double(NULL, &number), HD_ARGUMENT);
    EXPECT(number < 1);
    EXPECT_INT(hd_value_get_string(NULL, &bytes, &count), HD_ARGUMENT);
    EXPECT(bytes == NULL);
    EXPECT_EQ(count, 0);
    count = 7;
    EXPECT_INT(hd_value_count(NULL, &count), HD_ARGUMENT);
    EXPECT_EQ(count, 0);
}

TEST(answers_need_a_place)
{
    hd_value *value = value_of("[1]");
    EXPECT_INT(hd_value_kind(value, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_get_bool(value, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_get_int(value, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_get_double(value, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_count(value, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_at(value, 0, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_equal(value, value, NULL), HD_ARGUMENT);
    size_t length = 7;
    EXPECT_INT(hd_value_get_string(value, NULL, &length), HD_ARGUMENT);
    EXPECT_EQ(length, 0);
    hd_value_unref(value);
}

TEST(a_value_of_another_kind_is_of_the_wrong_type)
{
    hd_value *value = value_of("null");
    bool boolean = true;
    int64_t integer = 7;
    double number = 7;
    size_t count = 7;
    const char *bytes = "left";
    hd_value *part = stale();
    EXPECT_INT(hd_value_get_bool(value, &boolean), HD_TYPE);
    EXPECT(!boolean);
    EXPECT_INT(hd_value_get_int(value, &integer), HD_TYPE);
    EXPECT_INT(integer, 0);
    EXPECT_INT(hd_value_get_double(value, &number), HD_TYPE);
    EXPECT(number < 1);
    EXPECT_INT(hd_value_count(value, &count), HD_TYPE);
    EXPECT_EQ(count, 0);
    count = 7;
    EXPECT_INT(hd_value_get_string(value, &bytes, &count), HD_TYPE);
    EXPECT(bytes == NULL);
    EXPECT_EQ(count, 0);
    EXPECT_INT(hd_value_at(value, 0, &part), HD_TYPE);
    EXPECT(part == NULL);
    EXPECT_INT(hd_value_next(value, &count, &part, NULL), HD_TYPE);
    hd_value_unref(value);
}

TEST(an_index_past_the_end_is_not_found)
{
    static const size_t wrong[] = {3, 4, UINT32_MAX, SIZE_MAX};
    hd_value *array = value_of("[1,2,3]");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hd_value *element = stale();
        EXPECT_INT(hd_value_at(array, wrong[i], &element), HD_NOT_FOUND);
        EXPECT(element == NULL);
    }
    hd_value *element = stale();
    EXPECT_INT(hd_value_at(NULL, 0, &element), HD_ARGUMENT);
    EXPECT(element == NULL);
    hd_value_unref(array);
}

TEST(a_walk_refuses_what_cannot_be_its_cursor)
{
    hd_value *object = value_of("{\"a\":1,\"b\":2}");
    hd_value *key = stale();
    hd_value *item = stale();
    size_t cursor = 1; /* between a key and its item */
    EXPECT_INT(hd_value_next(object, &cursor, &key, &item), HD_ARGUMENT);
    EXPECT(key == NULL);
    EXPECT(item == NULL);
    EXPECT_EQ(cursor, 1);

    cursor = SIZE_MAX - 1;
    EXPECT_INT(hd_value_next(object, &cursor, &key, &item), HD_NOT_FOUND);
    EXPECT_EQ(cursor, SIZE_MAX - 1);
    EXPECT_INT(hd_value_next(object, NULL, &key, &item), HD_ARGUMENT);
    cursor = 0;
    EXPECT_INT(hd_value_next(NULL, &cursor, &key, &item), HD_ARGUMENT);
    EXPECT_INT(hd_value_next(object, &cursor, &key, &key), HD_ARGUMENT);
    EXPECT_EQ(cursor, 0);
    hd_value_unref(object);
}

TEST(get_refuses_missing_arguments_and_bad_pointers)
{
    hd_value *value = value_of("{\"a\":1}");
    hd_value *found = stale();
    hd_error error = stale_error();
    EXPECT_INT(hd_value_get(NULL, "", 0, &found, &error), HD_ARGUMENT);
    EXPECT(found == NULL);
    EXPECT_CONTAINS(error.text, "'value'");
    EXPECT_INT(hd_value_get(value, NULL, 0, &found, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'pointer'");
    EXPECT_INT(hd_value_get(value, "", 0, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'found'");

    static const char *const bad[] = {"a", "/a~", "/a~2", "/\xFF", " /a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        found = stale();
        error = stale_error();
        EXPECT_INT(hd_value_get(value, bad[i], HD_TERMINATED, &found, &error),
                   HD_SYNTAX);
        EXPECT(found == NULL);
        expect_error(&error, HD_SYNTAX);
    }
    found = stale();
    error = stale_error();
    EXPECT_INT(
        hd_value_get(value, "/a", LIMIT_POINTER_BYTES + 1, &found, &error),
        HD_LIMIT_PATH);
    EXPECT(found == NULL);
    expect_error(&error, HD_LIMIT_PATH);
    EXPECT_INT(hd_value_get(value, "/", HD_TERMINATED - 1, &found, NULL),
               HD_LIMIT_PATH);
    hd_value_unref(value);
}

TEST(equal_refuses_missing_arguments)
{
    hd_value *value = value_of("1");
    bool equal = true;
    EXPECT_INT(hd_value_equal(NULL, value, &equal), HD_ARGUMENT);
    EXPECT(!equal);
    equal = true;
    EXPECT_INT(hd_value_equal(value, NULL, &equal), HD_ARGUMENT);
    EXPECT(!equal);
    EXPECT_INT(hd_value_equal(NULL, NULL, &equal), HD_ARGUMENT);
    hd_value_unref(value);
}

/* -- Writing ------------------------------------------------------------- */

static void expect_no_text(const hd_value *value, hd_form form, unsigned indent)
{
    char left = 'x';
    char *text = &left;
    size_t length = 7;
    EXPECT_INT(hd_value_write(value, form, indent, &text, &length),
               HD_ARGUMENT);
    EXPECT(text == NULL);
    EXPECT_EQ(length, 0);
}

TEST(write_refuses_unknown_forms_and_indents)
{
    hd_value *value = value_of("[1]");
    expect_no_text(NULL, HD_AS_GIVEN, 0);
    expect_no_text(value, (hd_form)2, 0);
    expect_no_text(value, (hd_form)-1, 0);
    expect_no_text(value, (hd_form)1000, 0);
    expect_no_text(value, HD_AS_GIVEN, 17);
    expect_no_text(value, HD_CANONICAL, (unsigned)-1);
    size_t length = 7;
    EXPECT_INT(hd_value_write(value, HD_AS_GIVEN, 0, NULL, &length),
               HD_ARGUMENT);
    EXPECT_EQ(length, 0);

    char *text = NULL;
    EXPECT_INT(hd_value_write(value, HD_AS_GIVEN, 16, &text, NULL), HD_OK);
    EXPECT_TEXT(text, "[\n                1\n]");
    hd_text_free(text);
    hd_value_unref(value);
}

/* -- Changing ------------------------------------------------------------ */

TEST(set_refuses_missing_arguments_and_bad_pointers)
{
    hd_value *value = value_of("{\"a\":1}");
    hd_value *changed = stale();
    hd_error error = stale_error();
    EXPECT_INT(hd_value_set(NULL, "/a", 2, value, &changed, &error),
               HD_ARGUMENT);
    EXPECT(changed == NULL);
    EXPECT_CONTAINS(error.text, "'value'");
    EXPECT_INT(hd_value_set(value, NULL, 0, value, &changed, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'pointer'");
    EXPECT_INT(hd_value_set(value, "/a", 2, NULL, &changed, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'item'");
    EXPECT_INT(hd_value_set(value, "/a", 2, value, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'changed'");

    changed = stale();
    error = stale_error();
    EXPECT_INT(hd_value_set(value, "a", 1, value, &changed, &error), HD_SYNTAX);
    EXPECT(changed == NULL);
    expect_error(&error, HD_SYNTAX);
    EXPECT_INT(hd_value_set(value, "/\xC3", 2, value, &changed, &error),
               HD_SYNTAX);
    EXPECT_INT(
        hd_value_set(value, "/a", HD_TERMINATED - 1, value, &changed, &error),
        HD_LIMIT_PATH);
    expect_error(&error, HD_LIMIT_PATH);
    EXPECT_JSON(value, "{\"a\":1}");
}

TEST(patch_refuses_missing_arguments)
{
    hd_value *value = value_of("[]");
    hd_value *patched = stale();
    hd_error error = stale_error();
    EXPECT_INT(hd_value_patch(NULL, value, &patched, &error), HD_ARGUMENT);
    EXPECT(patched == NULL);
    EXPECT_CONTAINS(error.text, "'value'");
    EXPECT_INT(hd_value_patch(value, NULL, &patched, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'patch'");
    EXPECT_INT(hd_value_patch(value, value, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'patched'");
    EXPECT_INT(hd_value_patch(NULL, NULL, NULL, NULL), HD_ARGUMENT);
    hd_value_unref(value);
}

TEST(differences_need_both_values_and_a_place)
{
    hd_value *value = value_of("1");
    hd_value *patch = stale();
    EXPECT_INT(hd_value_diff(NULL, value, &patch), HD_ARGUMENT);
    EXPECT(patch == NULL);
    patch = stale();
    EXPECT_INT(hd_value_diff(value, NULL, &patch), HD_ARGUMENT);
    EXPECT(patch == NULL);
    EXPECT_INT(hd_value_diff(value, value, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_value_changed_paths(value, value, NULL), HD_ARGUMENT);
    hd_value_unref(value);
}

/* -- Names --------------------------------------------------------------- */

TEST(digest_refuses_missing_arguments)
{
    hd_value *value = value_of("1");
    char digest[HD_DIGEST_LENGTH + 1] = "left";
    EXPECT_INT(hd_value_digest(NULL, digest), HD_ARGUMENT);
    EXPECT_TEXT(digest, "");
    EXPECT_INT(hd_value_digest(value, NULL), HD_ARGUMENT);
    hd_value_unref(value);
}

TEST(the_prefix_of_an_id_is_1_to_16_letters_digits_and_colons)
{
    static const struct {
        const char *prefix;
        hd_status status;
    } rows[] = {
        {"", HD_ARGUMENT},
        {"of-", HD_ARGUMENT},
        {"a b", HD_ARGUMENT},
        {"\xC3\xA9", HD_ARGUMENT},
        {"a/", HD_ARGUMENT},
        {"abcdefghijklmnopq", HD_LIMIT_ID},
        {"a", HD_OK},
        {"Zz09:", HD_OK},
        {"abcdefghijklmnop", HD_OK},
    };
    hd_value *cause = value_of("1");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *id = stale();
        EXPECT_INT(hd_value_id(rows[i].prefix, cause, &id), rows[i].status);
        EXPECT((id != NULL) == (rows[i].status == HD_OK));
        hd_value_unref(id);
    }
    hd_value *id = stale();
    EXPECT_INT(hd_value_id(NULL, cause, &id), HD_ARGUMENT);
    EXPECT(id == NULL);
    EXPECT_INT(hd_value_id("a", NULL, &id), HD_ARGUMENT);
    EXPECT_INT(hd_value_id("a", cause, NULL), HD_ARGUMENT);
    hd_value_unref(cause);
}

/* -- The error ----------------------------------------------------------- */

TEST(success_clears_the_error)
{
    hd_value *value = NULL;
    hd_value *result = NULL;
    hd_value *patch = value_of("[]");
    hd_error error = stale_error();
    EXPECT_INT(hd_value_parse("{}", 2, &value, &error), HD_OK);
    expect_cleared(&error);

    error = stale_error();
    EXPECT_INT(hd_value_get(value, "", 0, &result, &error), HD_OK);
    expect_cleared(&error);
    hd_value_unref(result);

    error = stale_error();
    EXPECT_INT(hd_value_set(value, "/a", 2, value, &result, &error), HD_OK);
    expect_cleared(&error);
    hd_value_unref(result);

    error = stale_error();
    EXPECT_INT(hd_value_patch(value, patch, &result, &error), HD_OK);
    expect_cleared(&error);
    hd_value_unref(result);
    hd_value_unref(patch);
    hd_value_unref(value);
}

TEST(nobody_has_to_ask_for_the_error)
{
    hd_value *value = value_of("{}");
    hd_value *result = NULL;
    EXPECT_INT(hd_value_parse("{", 1, &result, NULL), HD_SYNTAX);
    EXPECT_INT(hd_value_get(value, "/a", 2, &result, NULL), HD_NOT_FOUND);
    EXPECT_INT(hd_value_set(value, "a", 1, value, &result, NULL), HD_SYNTAX);
    EXPECT_INT(hd_value_patch(value, value, &result, NULL), HD_PATCH_MALFORMED);
    hd_value_unref(value);
}
