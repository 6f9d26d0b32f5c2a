/* err: one table, and sentences that fit. */

#include "base/err.h"

#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "lib/test.h"

static const struct {
    enum err err;
    int number;
    const char *name;
} rows[] = {
#define X(name, number, class, text) {ERR_##name, number, #name},
    ERR_TABLE(X)
#undef X
};

TEST(every_error_has_a_class_and_only_ok_has_none)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const bool is_error = rows[i].err != ERR_OK;
        EXPECT((err_class_of(rows[i].err) != ERR_CLASS_NONE) == is_error);
        EXPECT(err_class_of(rows[i].err) <= ERR_CLASS_FAULT);
    }
}

TEST(every_error_has_a_sentence_in_our_style)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *text = err_text(rows[i].err);
        const size_t length = strlen(text);
        EXPECT(length > 0 && length < ERR_TEXT_SIZE);
        EXPECT(strchr(text, ' ') != NULL || rows[i].err == ERR_INTERRUPTED);
        EXPECT(text[0] >= 'a' && text[0] <= 'z');
        EXPECT(length > 0 && text[length - 1] != '.');
    }
}

TEST(names_numbers_and_sentences_are_unique)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_TEXT(err_name(rows[i].err), rows[i].name);
        EXPECT_INT(rows[i].err, rows[i].number);
        for (size_t j = 0; j < i; j++) {
            EXPECT(rows[i].number != rows[j].number);
            EXPECT(strcmp(rows[i].name, rows[j].name) != 0);
            EXPECT(strcmp(err_text(rows[i].err), err_text(rows[j].err)) != 0);
        }
    }
}

TEST(zero_is_success)
{
    EXPECT_INT(ERR_OK, 0);
    EXPECT_TEXT(err_name(ERR_OK), "OK");
    EXPECT_INT(err_class_of(ERR_OK), ERR_CLASS_NONE);
}

TEST(a_number_of_a_newer_version_is_a_fault)
{
    const enum err newer = (enum err)9999;
    EXPECT_INT(err_class_of(newer), ERR_CLASS_FAULT);
    EXPECT_TEXT(err_name(newer), "unknown");
    EXPECT(strlen(err_text(newer)) > 0);
}

TEST(setting_fills_the_detail_and_returns_the_error)
{
    struct err_detail detail = {0};
    EXPECT_INT(err_set(&detail, ERR_TYPE, "%s is %d", "/a", 7), ERR_TYPE);
    EXPECT_INT(detail.err, ERR_TYPE);
    EXPECT_TEXT(detail.text, "/a is 7");

    EXPECT_INT(err_set(&detail, ERR_RANGE, "again"), ERR_RANGE);
    EXPECT_INT(detail.err, ERR_RANGE);
    EXPECT_TEXT(detail.text, "again");
}

TEST(a_detail_that_nobody_wants_may_be_null)
{
    EXPECT_INT(err_set(NULL, ERR_IO, "%d", 1), ERR_IO);
}

TEST(a_sentence_that_fits_exactly_is_whole)
{
    struct err_detail detail;
    (void)err_set(&detail, ERR_IO, "%*s|", ERR_TEXT_SIZE - 2, "x");
    EXPECT_EQ(strlen(detail.text), ERR_TEXT_SIZE - 1);
    EXPECT(strcmp(detail.text + ERR_TEXT_SIZE - 3, "x|") == 0);

    (void)err_set(&detail, ERR_IO, "%*s|", ERR_TEXT_SIZE - 1, "x");
    EXPECT_EQ(strlen(detail.text), ERR_TEXT_SIZE - 1);
    EXPECT(detail.text[ERR_TEXT_SIZE - 2] == 'x');
}

TEST(a_long_sentence_is_cut_at_a_character)
{
    static const char *const characters[] = {
        "z",
        "\xC3\xA9",
        "\xE2\x82\xAC",
        "\xF0\x9F\xA7\xB5",
    };
    for (size_t i = 0; i < COUNT_OF(characters); i++) {
        const size_t size = i + 1;
        for (size_t lead = 0; lead < size; lead++) {
            struct buf text = {0};
            buf_append(&text, "abc", lead);
            while (text.length < ERR_TEXT_SIZE) {
                buf_append_text(&text, characters[i]);
            }
            struct err_detail detail;
            (void)err_set(&detail, ERR_IO, "%s", buf_text(&text));

            /* As many whole characters as there is room for. */
            const size_t room = ERR_TEXT_SIZE - 1 - lead;
            const size_t length = strlen(detail.text);
            EXPECT_EQ(length, lead + room / size * size);
            EXPECT(strncmp(detail.text, buf_text(&text), length) == 0);
            buf_release(&text);
        }
    }
}
