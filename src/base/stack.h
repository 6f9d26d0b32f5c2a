/* An explicit stack for walks over external data, where recursion is not
 * allowed: the first frames are in the structure itself, on the caller's
 * stack, so a walk of ordinary depth allocates nothing.
 *
 *   STACK(struct frame, 16) stack;
 *   stack_init(&stack);
 *   stack_push(&stack, frame);
 *   ...
 *   stack_release(&stack); */

#ifndef BASE_STACK_H
#define BASE_STACK_H

#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

#define STACK(type, inline_count) \
    struct {                      \
        type *at;                 \
        size_t count;             \
        size_t capacity;          \
        type local[inline_count]; \
    }

#define stack_init(stack)                          \
    ((stack)->at = (stack)->local,                 \
     (stack)->capacity = COUNT_OF((stack)->local), \
     (void)((stack)->count = 0))

/* Twice the room; `local` is what must be copied instead of resized. */
static inline void *stack_grow(void *at,
                               const void *local,
                               size_t *capacity,
                               size_t item_size)
{
    const size_t old_size = mem_array_size(*capacity, item_size);
    const size_t new_size = mem_array_size(old_size, 2);
    *capacity *= 2;
    if (at != local) {
        return mem_resize(at, old_size, new_size);
    }
    void *moved = mem_alloc(new_size);
    memcpy(moved, at, old_size);
    return moved;
}

#define stack_push(stack, item)                            \
    do {                                                   \
        if ((stack)->count == (stack)->capacity) {         \
            (stack)->at = stack_grow((stack)->at,          \
                                     (stack)->local,       \
                                     &(stack)->capacity,   \
                                     sizeof *(stack)->at); \
        }                                                  \
        (stack)->at[(stack)->count++] = (item);            \
    } while (0)

#define stack_top(stack) (&(stack)->at[(stack)->count - 1])

#define stack_release(stack)       \
    ((stack)->at == (stack)->local \
         ? (void)0                 \
         : mem_free((stack)->at, (stack)->capacity * sizeof *(stack)->at))

#endif
