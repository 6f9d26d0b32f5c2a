/* Differences between branches, and merging.
 *
 * A merge compares three states of each document: the base (where the two
 * branches parted), ours (the target) and theirs (the source). What only they
 * changed is taken, what both changed alike is left, and what both changed
 * differently is a conflict, reported by document and path. Paths are those of
 * value/difference.h: keys of objects and elements of arrays of one length are
 * merged one by one; an array whose length changed is one unit. So is anything
 * that one side deleted or replaced: a change of the other side inside it is a
 * conflict.
 *
 *   merge-1  Documents are merged one by one, with one exception:
 *   merge-2  A collection (value/collection_id.h) consists of several
 *            consistent documents: its rows, the pages of its orderings and its
 *            root. If both sides changed the root or a page, or one changed its
 *            definition and the other changed anything of it, that is a
 *            conflict of the collection, with the id of its root. What remains
 *            are fields of rows that no ordering uses: these are merged like
 *            any other.
 *
 * A merge without conflicts is an ordinary commit on the target, with reads of
 * both branches as they were: if either changes before it lands, it is refused
 * as stale, like any other. */

#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "store/engine.h"

struct merge_request {
    struct value source; /* branch names */
    struct value target;
    struct value session; /* of the commit */
    uint64_t local_seq;

    /* Whether a document is left out, because it is derived from others and
     * will be computed on the target. Must not call the engine. NULL: none
     * is. */
    bool (*is_derived)(void *ctx, struct value id);
    void *ctx;
};

/* Builds the commit. *conflicts is an array, new, of {"id","scope","path"};
 * only if it is empty has *commit any content. A commit without operations
 * means that there is nothing to merge. Only documents of space scope are
 * merged: those of a user or a session stay on their branch. Errors:
 * BRANCH_UNKNOWN, faults. */
MUST_CHECK enum err engine_merge(struct engine *engine,
                                 const struct merge_request *request,
                                 struct commit *commit,
                                 struct value *conflicts,
                                 struct err_detail *detail);

/* The differences between two branches: an array, new, of {"id","patch"} from
 * the first to the second, or {"id","before":null} / {"id","after":null} for
 * documents that one of them lacks. Space scope, ordered by id. */
MUST_CHECK enum err engine_branch_diff(struct engine *engine,
                                       struct value from,
                                       struct value to,
                                       struct value *out,
                                       struct err_detail *detail);

#endif
