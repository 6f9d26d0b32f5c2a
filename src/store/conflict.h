/* Has what was read changed since?
 *
 * A set or a delete changes everything in its document. A patch changes what
 * its operations touch (value/patch.h): a deep read sees a touched value above
 * or below its path; a shape read sees one at or above it, and the keys of its
 * container. Disjoint keys of one document never conflict.
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

/* A read, and the newest change that it sees. */
struct newest_change {
    const struct path *path;
    enum read_kind kind;
    uint64_t seq; /* result; 0: none above the given seq */
};

/* The same for several reads of one document: the newest change above
 * `after_seq` for each, in one pass over the revisions. */
MUST_CHECK enum err conflict_newest(struct engine *engine,
                                    struct document *document,
                                    uint64_t after_seq,
                                    struct newest_change *reads,
                                    size_t count,
                                    struct err_detail *detail);

/* Every change in (after_seq, to] that one read sees: the seqs, newest first,
 * each once. */
typedef VEC(uint64_t) seq_list;
MUST_CHECK enum err conflict_changes(struct engine *engine,
                                     const struct conflict_query *query,
                                     uint64_t to,
                                     seq_list *out,
                                     struct err_detail *detail);

#endif
