/* What changed between two values, and which reads see it.
 *
 * Both questions are answered from the values alone, before and after; the
 * writes need not be observed. Shared parts are skipped, so the cost is that of
 * the difference.
 *
 * Changed paths (docs/spec/values-and-conflicts.md), from the root down:
 *   difference-1  equal parts: nothing;
 *   difference-2  one side absent: the path itself, so a document that appears
 *                 or disappears is one change at the root, and a key that does
 *                 is reported at the key, not at its parent;
 *   difference-3  two arrays: if their lengths differ, the array's own path;
 *                 then every index that both have, recursively;
 *   difference-4  two objects: every key that both have, recursively;
 *   difference-5  anything else that is not equal: the path. Links and tagged
 *                 leaves have no inside. */

#ifndef VALUE_DIFFERENCE_H
#define VALUE_DIFFERENCE_H

#include "base/vec.h"
#include "value/path.h"

/* One difference: the path, and the values before and after (or absent). All
 * borrowed for the call. */
struct difference {
    const struct path_segment *path;
    size_t length;
    struct value before;
    struct value after;
};

typedef void difference_fn(void *ctx, const struct difference *difference);

/* What the differences are for. */
enum difference_how {
    DIFFERENCE_BY_PATH, /* to notify readers: difference-1 to difference-5 */
    /* To repeat them one by one, as a patch: arrays of different length are
     * reported at their own path only, and so are objects that a single step
     * could turn into an envelope (value_is_near_envelope). */
    DIFFERENCE_BY_STEPS,
    /* Of the children only: each that is not the same handle in both, without a
     * comparison of contents. They may still be equal. */
    DIFFERENCE_OF_CHILDREN,
};

/* Calls `report` for each difference, in the order of the walk. */
void difference_walk(struct value before,
                     struct value after,
                     enum difference_how how,
                     difference_fn *report,
                     void *ctx);

typedef VEC(struct path *) path_list;

/* The changed paths, sorted (path_compare), without duplicates. Release with
 * path_list_release. */
void difference_paths(struct value before,
                      struct value after,
                      struct path_table *paths,
                      path_list *out);
void path_list_release(path_list *list);

/* -- Which reads see a change -------------------------------------------- */

enum read_kind {
    READ_DEEP,  /* the value and everything below it */
    READ_SHAPE, /* keys, length, kind; of a leaf or a link, its value */
};

/* Whether a read of `path` would return something else after the change
 * (reading-1 to reading-3). The depth that the path reaches counts as well: a
 * missing parent is not the same as a missing key. */
bool difference_is_seen(struct value before,
                        struct value after,
                        const struct path *path,
                        enum read_kind kind);

/* Equal as far as a shape read sees. */
bool value_shape_equal(struct value a, struct value b);

/* -- Overwriting --------------------------------------------------------- */

/* A value equal to `after` that shares with `before` every equal part; `before`
 * itself if all is equal. Keys that stay keep their position in `before`.
 * Adopts `after`. */
struct value value_reuse_adopt(struct value before, struct value after);

#endif
