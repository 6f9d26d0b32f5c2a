/* A vector of any type: pointer, count and capacity, and macros that grow it.
 *
 *   VEC(struct value) stack = {0};
 *   vec_push(&stack, value);
 *   VEC_FOREACH (&stack, value) { ... *value ... }
 *   vec_release(&stack);
 *
 * All zero is an empty vector that owns nothing. A pointer into it is borrowed
 * until the next push or reserve. */

#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/mem.h"

#define VEC(type)        \
    struct {             \
        type *at;        \
        size_t count;    \
        size_t capacity; \
    }

/* The same in 16 bytes, for records of which there are many. */
#define VEC_SMALL(type)    \
    struct {               \
        type *at;          \
        uint32_t count;    \
        uint32_t capacity; \
    }

/* At least `need` items, and at least half as many again as before. */
COLD void *vec_grow(void *at, size_t *capacity, size_t need, size_t item_size);
COLD void *vec_grow_small(void *at,
                          uint32_t *capacity,
                          size_t need,
                          size_t item_size);

#define vec_reserve(vec, need)                                       \
    ((need) <= (vec)->capacity                                       \
         ? (void)0                                                   \
         : (void)((vec)->at = _Generic((vec)->capacity, uint32_t     \
                                       : vec_grow_small, default     \
                                       : vec_grow)((vec)->at,        \
                                                   &(vec)->capacity, \
                                                   (need),           \
                                                   sizeof *(vec)->at)))

/* The same for a caller that knows that there is too little room and is on a
 * hot path: after vec_reserve the compiler would treat the rest as cold. */
void *vec_room(void *at, size_t *capacity, size_t need, size_t item_size);

#define vec_make_room(vec, need)                   \
    ((void)((vec)->at = vec_room((vec)->at,        \
                                 &(vec)->capacity, \
                                 (need),           \
                                 sizeof *(vec)->at)))

#define vec_push(vec, item)                   \
    do {                                      \
        vec_reserve((vec), (vec)->count + 1); \
        (vec)->at[(vec)->count] = (item);     \
        (vec)->count++;                       \
    } while (0)

/* A new last item, uninitialised: for items that are filled field by field,
 * which a large struct on the stack and its copy would slow down. */
#define vec_add(vec) \
    (vec_reserve((vec), (vec)->count + 1), &(vec)->at[(vec)->count++])

#define vec_pop(vec) (CHECK((vec)->count > 0), (vec)->at[--(vec)->count])

#define vec_last(vec) (CHECK((vec)->count > 0), &(vec)->at[(vec)->count - 1])

#define vec_clear(vec) ((void)((vec)->count = 0))

#define vec_release(vec)                                          \
    do {                                                          \
        mem_free((vec)->at, (vec)->capacity * sizeof *(vec)->at); \
        (vec)->at = NULL;                                         \
        (vec)->count = (vec)->capacity = 0;                       \
    } while (0)

/* The type is that of a sum, which is never const, because the vector itself
 * may be const. */
#define VEC_FOREACH(vec, item)                                \
    for (__typeof__((vec)->at + 0)(item) = (vec)->at;         \
         (item) != NULL && (item) < (vec)->at + (vec)->count; \
         (item)++)

#endif
