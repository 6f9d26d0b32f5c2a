/* JSON from anywhere: the reader accepts or refuses, and what it accepts
 * survives every way of being written. The input is the text. */

#include <string.h>

#include "base/limits.h"
#include "fuzz.h"
#include "value/compare.h"
#include "value/json.h"

/* Refused: nothing comes out, and the place is inside of the text. */
static void check_refused(enum err err,
                          struct value value,
                          const struct json_fault *fault,
                          size_t size)
{
    CHECK(value_is_absent(value));
    CHECK(fault->err == err);
    CHECK(fault->offset <= size);
    CHECK(fault->line >= 1);
    CHECK(fault->column >= 1);
    CHECK(fault->line + fault->column <= fault->offset + 2);
    CHECK(memchr(fault->text, '\0', sizeof fault->text) != NULL);
    CHECK(strncmp(fault->text, "line ", 5) == 0);
}

/* The text of `value` reads as an equal value with an equal hash, and that
 * one has the same text again. */
static void check_form(struct value value, enum json_form form, unsigned indent)
{
    struct buf text = {0};
    struct buf again = {0};
    struct value copy;
    json_write(&text, value, form, indent);
    CHECK(json_read(text.at, text.length, NULL, &copy, NULL) == ERR_OK);
    CHECK(value_equal(value, copy));
    CHECK(value_equal(copy, value));
    CHECK(value_hash(value) == value_hash(copy));
    CHECK(value_depth(value) == value_depth(copy));
    json_write(&again, copy, form, indent);
    CHECK(text.length == again.length);
    CHECK(memcmp(text.at, again.at, text.length) == 0);
    value_unref(copy);
    buf_release(&text);
    buf_release(&again);
}

static bool is_limit(enum err err)
{
    return err == ERR_LIMIT_SIZE || err == ERR_LIMIT_STRING ||
           err == ERR_LIMIT_DEPTH || err == ERR_LIMIT_KEYS ||
           err == ERR_LIMIT_ELEMENTS;
}

/* Tighter limits refuse with a status of their own, or change nothing. */
static void check_limits(const char *text, size_t size, struct value value)
{
    static const struct json_limits tight = {
        .text_bytes = 2000,
        .string_bytes = 20,
        .depth = 4,
        .keys = 4,
        .elements = 8,
    };
    struct value limited;
    struct json_fault fault = {0};
    const enum err err = json_read(text, size, &tight, &limited, &fault);
    if (err == ERR_OK) {
        CHECK(value_equal(value, limited));
        CHECK(value_depth(limited) <= tight.depth);
    } else {
        /* Well formed text stays so. */
        CHECK(is_limit(err) || value_is_absent(value));
        check_refused(err, limited, &fault, size);
    }
    value_unref(limited);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct value value;
    struct json_fault fault = {0};
    const enum err err = json_read(text, size, NULL, &value, &fault);
    check_limits(text, size, value);
    if (err == ERR_OK) {
        CHECK(value_check(value));
        CHECK(value_depth(value) <= LIMIT_DEPTH);
        check_form(value, JSON_AS_GIVEN, 0);
        check_form(value, JSON_CANONICAL, 0);
        check_form(value, JSON_AS_GIVEN, 2);
        CHECK(value_check(value));
        value_unref(value);
    } else {
        check_refused(err, value, &fault, size);
    }
    fuzz_end(&memory);
    return 0;
}
