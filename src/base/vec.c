/* How a vector grows; the rest is macros in the header. */

#include "base/vec.h"

enum {
    VEC_CAPACITY_MIN = 8
};

void *vec_grow(void *at, size_t *capacity, size_t need, size_t item_size)
{
    size_t grown = *capacity + *capacity / 2;
    if (grown < need) {
        grown = need;
    }
    if (grown < VEC_CAPACITY_MIN) {
        grown = VEC_CAPACITY_MIN;
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
