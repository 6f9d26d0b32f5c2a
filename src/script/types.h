/* Type declarations of everything that code can call, for the Lua language
 * server. `heddle new` writes them beside a pattern.
 *
 *   types-1  A method of a class of C objects (script/object.h) that code can
 *            get hold of has a declaration, "function class:method(", and the
 *            reverse; so has each function of the module "heddle".
 * test/unit/script/test_types.c compares them with what is registered. */

#ifndef SCRIPT_TYPES_H
#define SCRIPT_TYPES_H

#include <stdbool.h>
#include <stddef.h>

struct script_type_file {
    const char *name;         /* from the folder of the pattern; NULL ends */
    const char *const *lines; /* NULL ends */
    bool replaced;            /* an old file is: people do not edit it */
};

extern const struct script_type_file script_type_files[];

#endif
