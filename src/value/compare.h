/* Equality and hash by content, and the depth of a value.
 *
 * Equality compares pointers first, then cached hashes, then the structure;
 * shared parts cost nothing, so comparing a value with a changed copy costs as
 * much as the change. Equal hashes never count as equality.
 *
 *   compare-1  value_equal(a, b) implies value_hash(a) == value_hash(b),
 *              whatever the internal shapes and the key order of the two.
 *   compare-2  NaN equals NaN, -0 differs from 0, absent equals only absent. */

#ifndef VALUE_COMPARE_H
#define VALUE_COMPARE_H

#include "base/vec.h"
#include "value/value.h"

/* The rest of value_equal, for two values on the heap. */
bool value_equal_heap(struct value a, struct value b);

/* Values that are not on the heap are equal iff they are the same (value-1),
 * and never equal to a heap value. */
static inline bool value_equal(struct value a, struct value b)
{
    if (value_is_same(a, b)) {
        return true;
    }
    return value_is_heap(a) && value_is_heap(b) && value_equal_heap(a, b);
}

/* Two values that were found to differ; borrowed. */
struct value_pair {
    struct value a;
    struct value b;
};

typedef VEC(struct value_pair) value_trail;

/* value_equal; if they differ, also the path to the first difference: the two
 * values, then the differing values within them, and so on down. A caller that
 * follows the trail need not compare again. The trail is overwritten, and empty
 * if they are equal. */
bool value_equal_or_trail(struct value a, struct value b, value_trail *trail);

/* A hash of the content for use in this process: never stored, because another
 * build may compute another one. Cached in the nodes; after a change only the
 * path to it is hashed again. */
uint64_t value_hash(struct value value);

/* The number of containers on the longest path: 0 for a leaf, 1 for [] and [1].
 * The envelope of a link or a tagged leaf counts as in its text. Cached in the
 * nodes; saturates at CACHED_DEPTH. */
unsigned value_depth(struct value value);

/* How many elements of two arrays are equal at the beginning, and how many of
 * the rest at the end. */
struct array_ends {
    uint32_t start;
    uint32_t end;
};
struct array_ends array_common_ends(struct value a, struct value b);

/* Strings in the order of their bytes, which is the order of their code
 * points: negative, zero or positive. */
int value_compare_strings(struct value a, struct value b);

#endif
