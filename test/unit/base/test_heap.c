/* The binary heap: what is sorted is in order, and the first is the least. */

#include "base/heap.h"

#include "base/random.h"
#include "lib/test.h"

enum {
    MOST = 40,
};

static bool is_less(const void *items, size_t a, size_t b)
{
    const uint64_t *numbers = items;
    return numbers[a] < numbers[b];
}

static bool is_more(const void *items, size_t a, size_t b)
{
    return is_less(items, b, a);
}

static void swap(void *items, size_t a, size_t b)
{
    uint64_t *numbers = items;
    const uint64_t moved = numbers[a];
    numbers[a] = numbers[b];
    numbers[b] = moved;
}

PROPERTY(what_is_sorted_is_in_order_and_has_the_same_items, 200)
{
    uint64_t numbers[MOST];
    uint64_t sum = 0;
    const size_t count = random_below(random, MOST + 1);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = random_below(random, MOST / 2);
        sum += numbers[i] * numbers[i];
    }
    heap_sort(numbers, count, is_more, swap);
    for (size_t i = 0; i < count; i++) {
        EXPECT(i == 0 || numbers[i - 1] <= numbers[i]);
        sum -= numbers[i] * numbers[i];
    }
    EXPECT_EQ(sum, 0);
}

PROPERTY(the_first_of_a_heap_is_the_least_whatever_comes_and_goes, 100)
{
    uint64_t heap[MOST];
    size_t count = 0;
    for (unsigned step = 0; step < 200; step++) {
        if (count < MOST && (count == 0 || random_below(random, 2) == 0)) {
            heap[count++] = random_below(random, 100);
            heap_up(heap, count - 1, is_less, swap);
        } else {
            const size_t at = random_below(random, count);
            heap[at] = heap[--count];
            if (at < count) {
                heap_up(heap, at, is_less, swap);
                heap_down(heap, count, at, is_less, swap);
            }
        }
        for (size_t i = 1; i < count; i++) {
            EXPECT(heap[0] <= heap[i]);
        }
    }
}
