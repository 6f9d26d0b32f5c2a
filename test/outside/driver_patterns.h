/* Patterns as data, interpreted through the public header: the same data that
 * program.py prints as Lua and model.py gives a meaning. */

#ifndef TEST_OUTSIDE_DRIVER_PATTERNS_H
#define TEST_OUTSIDE_DRIVER_PATTERNS_H

#include <heddle/heddle.h>

/* A build function; its context is the pattern, a hd_value that outlives the
 * runtime. */
hd_status build_pattern(hd_builder *builder, void *context);

/* One value operation by its name: set, delete, append, add_unique, remove,
 * increment. */
hd_status write_cell(hd_cell *cell,
                     const char *operation,
                     const hd_value *operand,
                     hd_error *error);

#endif
