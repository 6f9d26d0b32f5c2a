/* Values from text and from the types of C. */

#include <stdio.h>
#include <string.h>

#include "api/edge.h"
#include "api/error.h"
#include "api/handle.h"
#include "base/limits.h"
#include "value/json.h"
#include "value/utf8.h"

static hd_status report_fault(hd_error *error,
                              enum err err,
                              const struct json_fault *fault)
{
    struct err_detail detail;
    (void)err_set(&detail, err, "%s", fault->text);
    const hd_status status = error_report(error, err, &detail);
    if (error != NULL) {
        error->line = fault->line;
        error->column = fault->column;
        error->offset = fault->offset;
    }
    return status;
}

hd_status hd_value_parse(const char *text,
                         size_t length,
                         hd_value **value,
                         hd_error *error)
{
    if (value == NULL) {
        return error_null(error, "value");
    }
    *value = NULL;
    if (text == NULL) {
        return error_null(error, "text");
    }
    length = edge_length(text, length, LIMIT_TEXT_BYTES);
    struct err_detail detail = {0};
    if (length > LIMIT_TEXT_BYTES) {
        /* The size as a whole is wrong, so no place is given. */
        (void)err_set(&detail,
                      ERR_LIMIT_SIZE,
                      "the text has more than %d bytes",
                      LIMIT_TEXT_BYTES);
        return error_report(error, ERR_LIMIT_SIZE, &detail);
    }
    struct json_fault fault;
    struct value read;
    const enum err err = json_read(text, length, NULL, &read, &fault);
    if (err != ERR_OK) {
        return report_fault(error, err, &fault);
    }
    *value = handle_new_adopt(read);
    return error_report(error, ERR_OK, &detail);
}

/* A handle for a value that owns nothing, so that none is lost if the caller
 * gives no place for it. */
static hd_status give(struct value leaf, hd_value **value)
{
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    *value = handle_new_adopt(leaf);
    return HD_OK;
}

hd_status hd_value_new_null(hd_value **value)
{
    return give(value_null(), value);
}

hd_status hd_value_new_bool(bool boolean, hd_value **value)
{
    return give(value_bool(boolean), value);
}

hd_status hd_value_new_int(int64_t integer, hd_value **value)
{
    return give(value_int(integer), value);
}

hd_status hd_value_new_double(double number, hd_value **value)
{
    return give(value_double(number), value);
}

hd_status hd_value_new_array(hd_value **value)
{
    return give(value_empty_array(), value);
}

hd_status hd_value_new_object(hd_value **value)
{
    return give(value_empty_object(), value);
}

hd_status hd_value_new_string(const char *bytes,
                              size_t length,
                              hd_value **value)
{
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    *value = NULL;
    if (bytes == NULL) {
        return HD_ARGUMENT;
    }
    length = edge_length(bytes, length, LIMIT_STRING_BYTES);
    if (length > LIMIT_STRING_BYTES) {
        return HD_LIMIT_STRING;
    }
    if (!utf8_is_valid(bytes, length)) {
        return HD_SYNTAX;
    }
    *value = handle_new_adopt(value_string_new(bytes, length));
    return HD_OK;
}
