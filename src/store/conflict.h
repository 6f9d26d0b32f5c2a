/* Has what was read changed since?
 *
 * A set or a delete changes everything in its document. A patch changes what
 * its operations touch (value/patch.h): a deep read sees a touched value above
 * or below its path, a shape read sees one at or above it, and the keys of the
 * container it looked at. Disjoint keys of one document never meet.
 *
 * A read on a branch also saw the parent up to the fork, so revisions there
 * count as well. The answer may be too strict, never too lax. */

#ifndef STORE_CONFLICT_H
#define STORE_CONFLICT_H

#include "store/documents.h"

struct conflict_query {
    struct document *document;
    const struct path *path;
    enum read_kind kind;
    uint64_t after_seq; /* the state that the reader saw */

    /* Revisions of these commits of this session do not count: the reader had
     * them in view. NULL: all count. */
    uint64_t session;
    const struct layer_list *layers;
};

/* *seq is that of the newest change, or 0. */
MUST_CHECK enum err conflict_find(struct engine *engine,
                                  const struct conflict_query *query,
                                  uint64_t *seq,
                                  struct err_detail *detail);

#endif
