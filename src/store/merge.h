/* What changed on a branch, and bringing it to another one.
 *
 * A merge compares three states of each document: the base (where the two
 * branches parted), ours (the target) and theirs (the source). What only they
 * changed is taken, what both changed alike is left, and what both changed
 * differently is a conflict, reported by document and path. Paths are those of
 * value/difference.h: keys of objects and elements of arrays of one length are
 * merged one by one, an array whose length changed is one thing. So is anything
 * that one side took away or made something else of: a change of the other side
 * inside it is a conflict.
 *
 *   merge-1  Documents are merged one by one, with one exception:
 *   merge-2  A collection (value/collection_id.h) is several documents that
 *            agree with each other: its rows, the pages of its orderings and
 *            its root. If both sides changed the root or a page, or one gave
 *            it another definition and the other changed anything of it, that
 *            is a conflict of the collection, with the id of its root. What is
 *            left are fields of rows that no ordering uses: these are merged
 *            like any other.
 *
 * A merge without conflicts is an ordinary commit on the target, with reads of
 * both branches as they were: if either moves on before it lands, it is
 * refused as stale, like any other. */

#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "store/engine.h"

struct merge_request {
    struct value source; /* branch names */
    struct value target;
    struct value session; /* of the commit */
    uint64_t local_seq;

    /* Whether a document is left out: it follows from others, and is made anew
     * on the target. Asks the engine nothing. NULL: none is. */
    bool (*is_derived)(void *ctx, struct value id);
    void *ctx;
};

/* Builds the commit. *conflicts is an array, new, of {"id","scope","path"},
 * empty if there are none; only then has *commit anything in it. A commit
 * without operations means that there is nothing to merge. Only documents of
 * the space's scope are merged: what belongs to a user or a session stays on
 * its branch. Errors: BRANCH_UNKNOWN, faults. */
MUST_CHECK enum err engine_merge(struct engine *engine,
                                 const struct merge_request *request,
                                 struct commit *commit,
                                 struct value *conflicts,
                                 struct err_detail *detail);

/* What differs between two branches: an array, new, of {"id","patch"} from the
 * first to the second, or {"id","before":null} / {"id","after":null} for
 * documents that one of them lacks. Space scope, ordered by id. */
MUST_CHECK enum err engine_branch_diff(struct engine *engine,
                                       struct value from,
                                       struct value to,
                                       struct value *out,
                                       struct err_detail *detail);

#endif
