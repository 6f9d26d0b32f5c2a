/* What a revision touched, as a tree for lookups by path.
 *
 * A commit whose reads are older than the head is compared with the revisions
 * in between. Many commits are compared with the same revision: each child of a
 * list reads one key of a document that one patch has filled. So the patch is
 * parsed once into a tree of the paths that it touched: a lookup costs the
 * length of the path, whatever the length of the patch.
 *
 *   touches-1  The trees are cached per engine, by document, seq and operation,
 *              and dropped with the other caches (engine_forget): a revision
 *              never changes, but may be rolled back.
 *   touches-2  The cache holds at most TOUCH_TREE_KEPT nodes; the tree of a
 *              single revision may exceed that, and is then the only one. */

#ifndef STORE_TOUCH_TREE_H
#define STORE_TOUCH_TREE_H

#include "store/engine.h"

enum {
    TOUCH_TREE_KEPT = 200000
};

struct touches;

/* The tree of one revision, which is a patch; borrowed until the next call for
 * this engine. Errors: CORRUPT, faults. */
MUST_CHECK enum err touch_tree_find(struct engine *engine,
                                    const struct document *document,
                                    uint64_t seq,
                                    uint64_t op_index,
                                    const struct touches **out,
                                    struct err_detail *detail);

/* Whether a value was touched at, above or below the path; at or above it; and
 * whether the keys of the container at the path were. */
bool touch_tree_overlap(const struct touches *touches, const struct path *path);
bool touch_tree_cover(const struct touches *touches, const struct path *path);
bool touch_tree_keys(const struct touches *touches, const struct path *path);

/* An operation that moves values, or writes to places that depend on the values
 * that were there. */
struct touch_tree_carrier {
    bool append; /* the place depends on the length of an array only */
    uint32_t count;
    struct path *paths[PATCH_TOUCH_MAX]; /* the array; or all values touched */
};

/* The carriers of the revision, in order. */
const struct touch_tree_carrier *touch_tree_carriers(
    const struct touches *touches,
    size_t *count);

void touch_tree_forget(struct engine *engine);

#endif
