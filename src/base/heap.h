/* A binary heap over the positions 0 to count - 1 of whatever the caller has
 * there: the item at a position comes before those at 2 * position + 1 and + 2.
 * Sorting is a heap that is taken apart.
 *
 * `is_before` says whether the item at one position comes before that at
 * another, and `swap` exchanges the two. */

#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

typedef bool heap_order(const void *items, size_t a, size_t b);
typedef void heap_swap(void *items, size_t a, size_t b);

/* The item at a position may come before those above it. */
static inline void heap_up(void *items,
                           size_t at,
                           heap_order *is_before,
                           heap_swap *swap)
{
    while (at > 0 && is_before(items, at, (at - 1) / 2)) {
        swap(items, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/* The item at a position may come behind those below it. */
static inline void heap_down(void *items,
                             size_t count,
                             size_t at,
                             heap_order *is_before,
                             heap_swap *swap)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < count && is_before(items, child + 1, child)) {
            child++;
        }
        if (child >= count || !is_before(items, child, at)) {
            return;
        }
        swap(items, at, child);
        at = child;
    }
}

/* In place; the last in the order of `is_before` comes first afterwards. */
static inline void heap_sort(void *items,
                             size_t count,
                             heap_order *is_before,
                             heap_swap *swap)
{
    for (size_t root = count / 2; root > 0; root--) {
        heap_down(items, count, root - 1, is_before, swap);
    }
    for (size_t last = count; last > 1; last--) {
        swap(items, 0, last - 1);
        heap_down(items, last - 1, 0, is_before, swap);
    }
}

#endif
