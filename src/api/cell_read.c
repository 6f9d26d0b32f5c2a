/* Reading what is at a cell. */

#include <string.h>

#include "api/cell.h"
#include "api/handle.h"
#include "api/memory.h"
#include "api/node.h"
#include "value/array.h"
#include "value/object.h"

struct reading {
    enum read_kind kind;
    unsigned flags;
};

static const struct reading whole = {READ_DEEP, READ_FOR_BOTH};
static const struct reading sampled = {READ_DEEP, READ_NOT_FOR_SCHEDULING};
static const struct reading shape = {READ_SHAPE, READ_FOR_BOTH};

/* What is there, new. */
static enum err read_at(hd_cell *cell,
                        const struct reading *how,
                        struct value *out,
                        struct err_detail *detail)
{
    *out = VALUE_NONE;
    const enum err err = cell_check(cell, "cell", detail);
    return err != ERR_OK ? err
                         : cell_look(cell->object.runtime,
                                     cell->place,
                                     how->kind,
                                     how->flags,
                                     out,
                                     detail);
}

static hd_status get(hd_cell *cell,
                     const struct reading *how,
                     hd_value **value,
                     hd_error *error)
{
    if (value == NULL) {
        return error_null(error, "value");
    }
    *value = NULL;
    struct err_detail detail;
    err_clear(&detail);
    struct value found;
    const enum err err = read_at(cell, how, &found, &detail);
    if (err == ERR_OK) {
        *value = handle_new_adopt(found);
    }
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_get(hd_cell *cell, hd_value **value, hd_error *error)
{
    return get(cell, &whole, value, error);
}

hd_status hd_cell_sample(hd_cell *cell, hd_value **value, hd_error *error)
{
    return get(cell, &sampled, value, error);
}

/* -- Of one type --------------------------------------------------------- */

static enum err wrong_type(struct value found,
                           const char *wanted,
                           struct err_detail *detail)
{
    return err_set(detail,
                   ERR_TYPE,
                   "the value has the type %s, expected %s",
                   value_kind_name(value_kind(found)),
                   wanted);
}

hd_status hd_cell_get_bool(hd_cell *cell, bool *boolean, hd_error *error)
{
    if (boolean == NULL) {
        return error_null(error, "boolean");
    }
    *boolean = false;
    struct err_detail detail;
    err_clear(&detail);
    struct value found;
    enum err err = read_at(cell, &whole, &found, &detail);
    if (err == ERR_OK && value_kind(found) != VALUE_BOOL) {
        err = wrong_type(found, "a boolean", &detail);
    } else if (err == ERR_OK) {
        *boolean = value_boolean(found);
    }
    value_unref(found);
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_get_int(hd_cell *cell, int64_t *integer, hd_error *error)
{
    if (integer == NULL) {
        return error_null(error, "integer");
    }
    *integer = 0;
    struct err_detail detail;
    err_clear(&detail);
    struct value found;
    enum err err = read_at(cell, &whole, &found, &detail);
    if (err == ERR_OK && value_kind(found) != VALUE_INT) {
        err = wrong_type(found, "an integer", &detail);
    } else if (err == ERR_OK) {
        *integer = value_integer(found);
    }
    value_unref(found);
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_get_double(hd_cell *cell, double *number, hd_error *error)
{
    if (number == NULL) {
        return error_null(error, "number");
    }
    *number = 0;
    struct err_detail detail;
    err_clear(&detail);
    struct value found;
    enum err err = read_at(cell, &whole, &found, &detail);
    if (err == ERR_OK && !value_is_number(found)) {
        err = wrong_type(found, "a number", &detail);
    } else if (err == ERR_OK) {
        *number = value_real(found);
    }
    value_unref(found);
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_get_text(hd_cell *cell,
                           char **text,
                           size_t *length,
                           hd_error *error)
{
    if (length != NULL) {
        *length = 0;
    }
    if (text == NULL) {
        return error_null(error, "text");
    }
    *text = NULL;
    struct err_detail detail;
    err_clear(&detail);
    struct value found;
    enum err err = read_at(cell, &whole, &found, &detail);
    if (err == ERR_OK && value_kind(found) != VALUE_STRING) {
        err = wrong_type(found, "a string", &detail);
    } else if (err == ERR_OK) {
        *text = text_of_string(found, length);
    }
    value_unref(found);
    return cell_report(error, err, &detail, cell);
}

/* -- The shape ----------------------------------------------------------- */

static struct value keys_of(struct value object)
{
    struct value keys = value_empty_array();
    struct object_iter entries = object_iter(object);
    struct value key;
    struct value item;
    while (object_next(&entries, &key, &item)) {
        keys = array_push_adopt(keys, value_ref(key));
    }
    return keys;
}

hd_status hd_cell_keys(hd_cell *cell, hd_value **keys, hd_error *error)
{
    if (keys == NULL) {
        return error_null(error, "keys");
    }
    *keys = NULL;
    struct err_detail detail;
    err_clear(&detail);
    struct value found;
    enum err err = read_at(cell, &shape, &found, &detail);
    if (err == ERR_OK && !value_is_object(found)) {
        err = wrong_type(found, "an object", &detail);
    } else if (err == ERR_OK) {
        *keys = handle_new_adopt(keys_of(found));
    }
    value_unref(found);
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_count(hd_cell *cell, size_t *count, hd_error *error)
{
    if (count == NULL) {
        return error_null(error, "count");
    }
    *count = 0;
    struct err_detail detail;
    err_clear(&detail);
    struct value found;
    enum err err = read_at(cell, &shape, &found, &detail);
    if (err == ERR_OK && value_is_array(found)) {
        *count = array_count(found);
    } else if (err == ERR_OK && value_is_object(found)) {
        *count = object_count(found);
    } else if (err == ERR_OK) {
        err = wrong_type(found, "an array or an object", &detail);
    }
    value_unref(found);
    return cell_report(error, err, &detail, cell);
}

/* -- Up to date ---------------------------------------------------------- */

hd_status hd_cell_pull(hd_cell *cell, hd_value **value, hd_error *error)
{
    if (value == NULL) {
        return error_null(error, "value");
    }
    *value = NULL;
    struct err_detail detail;
    err_clear(&detail);
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        err = runtime_check_ground(cell->object.runtime, &detail);
    }
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    hd_runtime *runtime = cell->object.runtime;
    struct value found = VALUE_NONE;
    err = node_pull(runtime, cell->place, &found, &detail);
    if (err == ERR_OK) {
        *value = handle_new_adopt(found);
    }
    return cell_report(error, err, &detail, cell);
}
