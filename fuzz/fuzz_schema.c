/* Schemas from anywhere: compiled or refused, and whatever is checked with one
 * ends in a verdict, without memory. The input is text: a schema, a zero byte,
 * and a value.
 *
 *   - What is refused has a place and a sentence.
 *   - A compiled schema compiles again, with the same digest.
 *   - Filling twice is filling once, and a value that is compared with itself
 *     has not changed for the worse. */

#include <string.h>

#include "fuzz.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/schema.h"

static void check_fault(const struct schema_fault *fault, enum err err)
{
    CHECK(fault->err == err);
    CHECK(memchr(fault->pointer, '\0', sizeof fault->pointer) != NULL);
    CHECK(memchr(fault->text, '\0', sizeof fault->text) != NULL);
    CHECK(fault->text[0] != '\0');
    CHECK(fault->pointer[0] == '\0' || fault->pointer[0] == '/' ||
          strncmp(fault->pointer, "...", 3) == 0);
}

static void check_value(const struct schema *schema, struct value value)
{
    struct schema_fault fault = {0};
    const enum err err = schema_check(schema, value, &fault);
    if (err != ERR_OK) {
        CHECK(err == ERR_SCHEMA);
        check_fault(&fault, err);
    }
    CHECK(schema_check_change(schema, VALUE_NONE, value, NULL) == err);
    if (!value_is_same(value, VALUE_NONE) && err == ERR_OK) {
        CHECK(schema_check_change(schema, value, value, NULL) == ERR_OK);
    }
    const struct value filled = schema_fill_adopt(schema, value_ref(value));
    CHECK(value_check(filled));
    const struct value again = schema_fill_adopt(schema, value_ref(filled));
    CHECK(value_equal(again, filled));
    CHECK(schema_check_change(schema, value, filled, NULL) == ERR_OK ||
          schema_check(schema, filled, NULL) != ERR_OK);
    value_unref(again);
    value_unref(filled);
}

static void check_schema(struct value source, struct value value)
{
    struct schema *schema;
    struct schema_fault fault = {0};
    const enum err err = schema_new(source, &schema, &fault);
    if (err != ERR_OK) {
        CHECK(schema == NULL);
        CHECK(err == ERR_SCHEMA_MALFORMED || err == ERR_LIMIT_SCHEMA);
        check_fault(&fault, err);
        return;
    }
    struct schema *twin;
    CHECK(schema_new(schema_source(schema), &twin, NULL) == ERR_OK);
    const struct digest a = schema_digest(schema);
    const struct digest b = schema_digest(twin);
    CHECK(digest_equal(&a, &b));
    if (!value_is_absent(value)) {
        check_value(schema, value);
    }
    schema_unref(twin);
    schema_unref(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    const char *zero = size > 0 ? memchr(text, '\0', size) : NULL;
    const size_t length = zero != NULL ? (size_t)(zero - text) : size;
    struct value source;
    struct value value = VALUE_NONE;
    if (json_read(text, length, NULL, &source, NULL) == ERR_OK) {
        if (zero != NULL &&
            json_read(zero + 1, size - length - 1, NULL, &value, NULL) !=
                ERR_OK) {
            value = VALUE_NONE;
        }
        check_schema(source, value);
        value_unref(value);
        value_unref(source);
    }
    fuzz_end(&memory);
    return 0;
}
