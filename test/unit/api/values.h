/* Helpers for tests of the public header: values from and to text. A helper
 * that meets what it must not is a failure of the test that called it. */

#ifndef TEST_UNIT_API_VALUES_H
#define TEST_UNIT_API_VALUES_H

#include <string.h>

#include "heddle/heddle.h"
#include "lib/test.h"

/* The value of a text that is right. New. */
static inline hd_value *value_of(const char *json)
{
    hd_value *value = NULL;
    hd_error error;
    if (hd_value_parse(json, HD_TERMINATED, &value, &error) != HD_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", json, error.text);
    }
    return value;
}

/* Whether `value`, which is released, has the text `want`. */
static inline bool is_text_of(const char *file,
                              int line,
                              const char *expr,
                              hd_value *value,
                              const char *want)
{
    char *text = NULL;
    size_t length = 0;
    const hd_status status =
        hd_value_write(value, HD_AS_GIVEN, 0, &text, &length);
    const bool same = test_eq_i64(file, line, expr, status, HD_OK) &&
                      test_eq_text(file, line, expr, text, want) &&
                      test_eq_u64(file, line, expr, length, strlen(want));
    hd_text_free(text);
    hd_value_unref(value);
    return same;
}

#define EXPECT_JSON(value, want) \
    is_text_of(__FILE__, __LINE__, #value, (value), (want))

#endif
