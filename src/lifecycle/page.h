/* The page docs/lifecycles.md: every machine as a table and as a diagram, with
 * the meaning of its names. Printed from the tables; `./dev docs` writes the
 * file, and a test fails if it differs. */

#ifndef LIFECYCLE_PAGE_H
#define LIFECYCLE_PAGE_H

#include "base/buf.h"

/* Appends the whole page, in Markdown. */
void lifecycle_page(struct buf *out);

#endif
