/* Writing to a cell, and links to one. */

#include "api/cell.h"
#include "api/edge.h"
#include "api/edit.h"
#include "api/handle.h"
#include "base/limits.h"
#include "value/array.h"
#include "value/utf8.h"

/* The value is adopted, also on an error. */
static hd_status write_adopt(hd_cell *cell,
                             enum write_kind kind,
                             struct value value,
                             hd_error *error)
{
    struct err_detail detail;
    err_clear(&detail);
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        err = runtime_check_writing(cell->object.runtime, &detail);
    }
    if (err != ERR_OK) {
        value_unref(value);
        return error_report(error, err, &detail);
    }
    const struct cell_writing writing = {.kind = kind, .value = value};
    err = edit_write_adopt(cell->object.runtime, cell->place, writing, &detail);
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_set(hd_cell *cell, const hd_value *value, hd_error *error)
{
    return value == NULL
               ? error_null(error, "value")
               : write_adopt(cell, WRITE_PUT, value_ref(value->value), error);
}

hd_status hd_cell_set_bool(hd_cell *cell, bool boolean, hd_error *error)
{
    return write_adopt(cell, WRITE_PUT, value_bool(boolean), error);
}

hd_status hd_cell_set_int(hd_cell *cell, int64_t integer, hd_error *error)
{
    return write_adopt(cell, WRITE_PUT, value_int(integer), error);
}

hd_status hd_cell_set_double(hd_cell *cell, double number, hd_error *error)
{
    return write_adopt(cell, WRITE_PUT, value_double(number), error);
}

hd_status hd_cell_set_text(hd_cell *cell,
                           const char *text,
                           size_t length,
                           hd_error *error)
{
    if (text == NULL) {
        return error_null(error, "text");
    }
    struct err_detail detail;
    err_clear(&detail);
    length = edge_length(text, length, LIMIT_STRING_BYTES);
    if (length > LIMIT_STRING_BYTES) {
        return error_report(error, ERR_LIMIT_STRING, &detail);
    }
    if (!utf8_is_valid(text, length)) {
        const enum err err =
            err_set(&detail, ERR_SYNTAX, "the text is not UTF-8");
        return error_report(error, err, &detail);
    }
    const struct value string = value_string_new(text, length);
    return write_adopt(cell, WRITE_PUT, string, error);
}

hd_status hd_cell_delete(hd_cell *cell, hd_error *error)
{
    return write_adopt(cell, WRITE_DELETE, VALUE_NONE, error);
}

/* -- Merging ------------------------------------------------------------- */

/* An array of one. */
static struct value only(const hd_value *value)
{
    return array_push_adopt(value_empty_array(), value_ref(value->value));
}

hd_status hd_cell_append(hd_cell *cell, const hd_value *value, hd_error *error)
{
    return value == NULL ? error_null(error, "value")
                         : write_adopt(cell, WRITE_APPEND, only(value), error);
}

hd_status hd_cell_add_unique(hd_cell *cell,
                             const hd_value *value,
                             hd_error *error)
{
    return value == NULL
               ? error_null(error, "value")
               : write_adopt(cell, WRITE_ADD_UNIQUE, only(value), error);
}

hd_status hd_cell_remove(hd_cell *cell, const hd_value *value, hd_error *error)
{
    return value == NULL ? error_null(error, "value")
                         : write_adopt(cell,
                                       WRITE_REMOVE_VALUE,
                                       value_ref(value->value),
                                       error);
}

hd_status hd_cell_increment(hd_cell *cell, int64_t by, hd_error *error)
{
    return write_adopt(cell, WRITE_INCREMENT, value_int(by), error);
}

hd_status hd_cell_increment_double(hd_cell *cell, double by, hd_error *error)
{
    return write_adopt(cell, WRITE_INCREMENT, value_double(by), error);
}

/* -- Links --------------------------------------------------------------- */

hd_status hd_cell_link(hd_cell *target, hd_value **link, hd_error *error)
{
    if (link == NULL) {
        return error_null(error, "link");
    }
    *link = NULL;
    struct err_detail detail;
    err_clear(&detail);
    const enum err err = cell_check(target, "target", &detail);
    if (err == ERR_OK) {
        *link = handle_new_adopt(cell_link(target->place, NULL));
    }
    return error_report(error, err, &detail);
}

hd_status hd_cell_set_link(hd_cell *cell, hd_cell *target, hd_error *error)
{
    struct err_detail detail;
    err_clear(&detail);
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        err = cell_check(target, "target", &detail);
    }
    if (err == ERR_OK && target->object.runtime != cell->object.runtime) {
        err = err_set(&detail,
                      ERR_MISUSE,
                      "'target' is a cell of another runtime");
    }
    if (err == ERR_OK) {
        err = runtime_check_writing(cell->object.runtime, &detail);
    }
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    const struct cell_writing writing = {
        .kind = WRITE_PUT,
        .value = cell_link(target->place, cell->place->entity->space),
    };
    err = edit_write_adopt(cell->object.runtime, cell->place, writing, &detail);
    return cell_report(error, err, &detail, cell);
}
