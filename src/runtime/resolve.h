/* Reading a value with everything that it links to, for people and for who
 * knows nothing of links: the result of a piece, a document that is printed.
 *
 *   E1  Links inside the value are replaced by what is behind them, in turn
 *       with everything that it links to. Each is read as a cell is
 *       (runtime/cell.h): inside a run it is a read, and up to date.
 *   E2  A field with nothing behind it, a stream for example, is left out; in
 *       an array it is null.
 *   E4  A collection is the number of its rows, and the first RESOLVE_ROWS of
 *       them in the order of their keys: {"count": 2, "rows": [...]}.
 *   E3  What is nested too deep, a circle for one, stays the link that it is.
 *       So does one that cannot be followed. */

#ifndef RUNTIME_RESOLVE_H
#define RUNTIME_RESOLVE_H

#include "runtime/cell.h"

enum {
    RESOLVE_DEPTH = 32, /* containers with links in them, in each other */
    RESOLVE_ROWS = 100, /* E4 */
};

/* What is at a place, new; absent if there is nothing. Errors are those of
 * cell_read. */
MUST_CHECK enum err resolve_read(const struct cell_access *access,
                                 struct place *place,
                                 struct value *out,
                                 struct err_detail *detail);

#endif
