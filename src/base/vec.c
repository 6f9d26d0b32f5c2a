/* How a vector grows; the rest is macros in the header. */

#include "base/vec.h"

enum {
    VEC_CAPACITY_MIN = 8,
    VEC_BYTES_MIN = 128, /* of items so large that 8 are more: most lists of
                            those have one */
};

static size_t least_capacity(size_t item_size)
{
    const size_t fit = item_size > 0 ? VEC_BYTES_MIN / item_size : 0;
    return fit >= VEC_CAPACITY_MIN ? VEC_CAPACITY_MIN : fit > 0 ? fit : 1;
}

void *vec_grow(void *at, size_t *capacity, size_t need, size_t item_size)
{
    size_t grown = *capacity + *capacity / 2;
    if (grown < need) {
        grown = need;
    }
    if (grown < least_capacity(item_size)) {
        grown = least_capacity(item_size);
    }
    at = mem_resize(at,
                    mem_array_size(*capacity, item_size),
                    mem_array_size(grown, item_size));
    *capacity = grown;
    return at;
}

void *vec_room(void *at, size_t *capacity, size_t need, size_t item_size)
{
    return need <= *capacity ? at : vec_grow(at, capacity, need, item_size);
}

void *vec_grow_small(void *at,
                     uint32_t *capacity,
                     size_t need,
                     size_t item_size)
{
    size_t grown = *capacity;
    at = vec_grow(at, &grown, need, item_size);
    CHECK(grown <= UINT32_MAX);
    *capacity = (uint32_t)grown;
    return at;
}
