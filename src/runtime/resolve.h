/* Reading a value with everything that it links to, for people and for programs
 * that do not know links: the result of a piece, a document that is printed.
 *
 *   resolve-1  Links inside the value are replaced by their targets,
 *              recursively. Each is read like a cell (runtime/cell.h): inside a
 *              run it is a read, and up to date.
 *   resolve-2  A field with an absent target, a stream for example, is omitted;
 *              in an array it is null.
 *   resolve-4  A collection becomes the number of its rows and the first
 *              RESOLVE_ROWS of them in the order of their keys: {"count": 2,
 *              "rows": [...]}.
 *   resolve-3  A link that is nested too deep, in a cycle for example, stays a
 *              link. So does a link that cannot be followed. */

#ifndef RUNTIME_RESOLVE_H
#define RUNTIME_RESOLVE_H

#include "runtime/cell.h"

enum {
    RESOLVE_DEPTH = 32, /* nested containers with links in them */
    RESOLVE_ROWS = 100, /* resolve-4 */
};

/* The value at a place, new; absent if there is none. Errors as in cell_read.
 */
MUST_CHECK enum err resolve_read(const struct cell_access *access,
                                 struct place *place,
                                 struct value *out,
                                 struct err_detail *detail);

#endif
