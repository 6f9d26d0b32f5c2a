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

enum {
    OF_BOOL = 1u << VALUE_BOOL,
    OF_INT = 1u << VALUE_INT,
    OF_NUMBER = OF_INT | 1u << VALUE_DOUBLE,
    OF_STRING = 1u << VALUE_STRING,
    OF_OBJECT = 1u << VALUE_OBJECT,
    OF_CONTAINER = OF_OBJECT | 1u << VALUE_ARRAY,
};

/* What is there, new, if it is of one of the kinds; otherwise absent. `wanted`
 * says which in the error. */
static hd_status read_as(hd_cell *cell,
                         const struct reading *how,
                         unsigned kinds,
                         const char *wanted,
                         struct value *out,
                         hd_error *error)
{
    struct err_detail detail;
    err_clear(&detail);
    enum err err = read_at(cell, how, out, &detail);
    if (err == ERR_OK && (1u << value_kind(*out) & kinds) == 0) {
        err = err_set(&detail,
                      ERR_TYPE,
                      "the value has the type %s, expected %s",
                      value_kind_name(value_kind(*out)),
                      wanted);
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_get_bool(hd_cell *cell, bool *boolean, hd_error *error)
{
    if (boolean == NULL) {
        return error_null(error, "boolean");
    }
    struct value found;
    const hd_status status =
        read_as(cell, &whole, OF_BOOL, "a boolean", &found, error);
    *boolean = status == HD_OK && value_boolean(found);
    return status;
}

hd_status hd_cell_get_int(hd_cell *cell, int64_t *integer, hd_error *error)
{
    if (integer == NULL) {
        return error_null(error, "integer");
    }
    struct value found;
    const hd_status status =
        read_as(cell, &whole, OF_INT, "an integer", &found, error);
    *integer = status == HD_OK ? value_integer(found) : 0;
    return status;
}

hd_status hd_cell_get_double(hd_cell *cell, double *number, hd_error *error)
{
    if (number == NULL) {
        return error_null(error, "number");
    }
    struct value found;
    const hd_status status =
        read_as(cell, &whole, OF_NUMBER, "a number", &found, error);
    *number = status == HD_OK ? value_real(found) : 0;
    return status;
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
    struct value found;
    const hd_status status =
        read_as(cell, &whole, OF_STRING, "a string", &found, error);
    *text = status == HD_OK ? text_of_string(found, length) : NULL;
    value_unref(found);
    return status;
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
    struct value found;
    const hd_status status =
        read_as(cell, &shape, OF_OBJECT, "an object", &found, error);
    *keys = status == HD_OK ? handle_new_adopt(keys_of(found)) : NULL;
    value_unref(found);
    return status;
}

hd_status hd_cell_count(hd_cell *cell, size_t *count, hd_error *error)
{
    if (count == NULL) {
        return error_null(error, "count");
    }
    struct value found;
    const hd_status status = read_as(cell,
                                     &shape,
                                     OF_CONTAINER,
                                     "an array or an object",
                                     &found,
                                     error);
    *count = status != HD_OK         ? 0
             : value_is_array(found) ? array_count(found)
                                     : object_count(found);
    value_unref(found);
    return status;
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
        err = runtime_check_toplevel(cell->object.runtime, &detail);
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
