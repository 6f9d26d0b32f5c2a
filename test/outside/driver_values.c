/* Values of commands, taken apart and put together: driver_values.h. */

#include "outside/driver_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void stop(const char *text)
{
    (void)fprintf(stderr, "outside_driver: %s\n", text);
    exit(EXIT_FAILURE);
}

void *allocate(size_t size)
{
    void *block = calloc(1, size);
    if (block == NULL) {
        stop("no memory");
    }
    return block;
}

/* ---- reading commands ---- */

/* What is at a key, borrowed by a handle that lives as long as the process:
 * commands are small, and few. NULL if there is nothing. */
hd_value *field(const hd_value *object, const char *key)
{
    char pointer[PATH_BYTES];
    hd_value *found = NULL;
    (void)snprintf(pointer, sizeof pointer, "/%s", key);
    if (hd_value_get(object, pointer, HD_TERMINATED, &found, NULL) != HD_OK) {
        return NULL;
    }
    return found;
}

hd_value *element(const hd_value *array, size_t index)
{
    hd_value *found = NULL;
    return hd_value_at(array, index, &found) == HD_OK ? found : NULL;
}

size_t count_of(const hd_value *array)
{
    size_t count = 0;
    return array != NULL && hd_value_count(array, &count) == HD_OK ? count : 0;
}

/* A string, or NULL if it is none. */
const char *text_of(const hd_value *value)
{
    const char *text = NULL;
    if (value == NULL || hd_value_get_string(value, &text, NULL) != HD_OK) {
        return NULL;
    }
    return text;
}

const char *text_at(const hd_value *object, const char *key)
{
    return text_of(field(object, key));
}

int64_t int_at(const hd_value *object, const char *key)
{
    int64_t found = 0;
    hd_value *value = field(object, key);
    if (value != NULL) {
        (void)hd_value_get_int(value, &found);
        hd_value_unref(value);
    }
    return found;
}

hd_kind kind_of(const hd_value *value)
{
    hd_kind kind = HD_NULL;
    (void)hd_value_kind(value, &kind);
    return kind;
}

hd_value *int_value(int64_t number)
{
    hd_value *value = NULL;
    (void)hd_value_new_int(number, &value);
    return value;
}

hd_value *text_value(const char *text)
{
    hd_value *value = NULL;
    if (hd_value_new_string(text, HD_TERMINATED, &value) != HD_OK) {
        (void)hd_value_new_string("?", HD_TERMINATED, &value);
    }
    return value;
}

hd_value *null_value(void)
{
    hd_value *value = NULL;
    (void)hd_value_new_null(&value);
    return value;
}

/* Replaces *object by one with the item at the key; takes the item. */
void put(hd_value **object, const char *key, hd_value *item)
{
    char pointer[PATH_BYTES];
    hd_value *changed = NULL;
    (void)snprintf(pointer, sizeof pointer, "/%s", key);
    if (hd_value_set(*object, pointer, HD_TERMINATED, item, &changed, NULL) !=
        HD_OK) {
        stop("a value cannot be put together");
    }
    hd_value_unref(item);
    hd_value_unref(*object);
    *object = changed;
}
