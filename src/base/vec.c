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
