/* Arrays: persistent sequences.
 *
 * Reading an element is O(log n) with a base of 16; so is replacing one, and
 * inserting or removing any run of them. Nothing is ever copied beyond the
 * path to the change, and not even that when the caller holds the only
 * reference (value-5).
 *
 * Unless a function says otherwise, `array` is an array and an index is in
 * range: the caller has validated external input. */

#ifndef VALUE_ARRAY_H
#define VALUE_ARRAY_H

#include "value/value.h"

/* Adopts the items, none of them absent. */
struct value array_new_adopt(const struct value *items, size_t count);

uint32_t array_count(struct value array);

/* Absent if `index` is out of range. */
struct value array_at(struct value array, uint32_t index);

/* The items from `index` on that lie side by side in memory: *run of them, at
 * least one if `index` is in range. Borrowed like array_at. */
const struct value *array_chunk(struct value array,
                                uint32_t index,
                                uint32_t *run);

/* Iteration in order: array_next returns one element after the other, borrowed,
 * and false at the end. */
struct array_iter {
    struct value array;
    const struct value *at;
    uint32_t run;  /* elements left at `at` */
    uint32_t next; /* the element after those */
};

static inline struct array_iter array_iter(struct value array)
{
    return (struct array_iter){.array = array};
}

static inline bool array_next(struct array_iter *iter, struct value *item)
{
    if (iter->run == 0) {
        iter->at = array_chunk(iter->array, iter->next, &iter->run);
        if (iter->at == NULL) {
            return false;
        }
        iter->next += iter->run;
    }
    iter->run--;
    *item = *iter->at++;
    return true;
}

/* How many elements from `index` on are the same in `a` and `b`, as far as that
 * is cheap to see: shared nodes, or the same handles in a leaf. 0 says nothing.
 */
uint32_t array_shared_run(struct value a, struct value b, uint32_t index);

struct value array_set_adopt(struct value array,
                             uint32_t index,
                             struct value item);
struct value array_push_adopt(struct value array, struct value item);

/* Removes `removed` elements at `index` and inserts `count` items there. */
struct value array_splice_adopt(struct value array,
                                uint32_t index,
                                uint32_t removed,
                                const struct value *items,
                                size_t count);

/* The slot of an element, to be changed in place: *array is made unshared
 * first. Borrowed until the next change of *array. The caller leaves a value
 * there that is not absent. */
struct value *array_own_slot(struct value *array, uint32_t index);

#endif
