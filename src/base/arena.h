/* A bump arena: many small allocations that are freed together.
 *
 * An allocation moves a pointer through a chunk of memory. Nothing is freed
 * alone: arena_rewind goes back to a mark, arena_reset to the start, and both
 * keep the memory, so that a round of work that needs no more than the previous
 * one allocates nothing.
 *
 *   arena-1  The chunks form a chain: `chunk` is being filled, those before it
 *            hold older allocations, those behind it are empty and wait for
 *            reuse. A `chunk` of NULL means that all of them are empty.
 *   arena-2  `next` is where the next allocation may start, and `room` bytes
 *            from there on are free; both are zero while `chunk` is NULL.
 *   arena-3  Every chunk starts on, and is a multiple of, ARENA_ALIGNMENT_MAX.
 *            So what fits into a chain of chunks fits into one chunk of the
 *            same total, at any address.
 *
 * All zero is an empty arena that owns nothing. Under AddressSanitizer, memory
 * that was not allocated since the last rewind is poisoned.
 *
 * Not here: destructors. What an object in an arena owns elsewhere must be
 * released before the arena drops the object. */

#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

/* gcc says it with a macro, clang with a feature. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_UNDER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_UNDER_ASAN
#endif
#endif

#ifdef ARENA_UNDER_ASAN
#include <sanitizer/asan_interface.h>
#define ARENA_POISON(at, size)   ASAN_POISON_MEMORY_REGION((at), (size))
#define ARENA_UNPOISON(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#else
#define ARENA_POISON(at, size)   ((void)(at), (void)(size))
#define ARENA_UNPOISON(at, size) ((void)(at), (void)(size))
#endif

enum {
    ARENA_ALIGNMENT_MAX = 64, /* a cache line */
    ARENA_RETAIN_MAX = 1024 * 1024,
};

struct arena_chunk {
    _Alignas(max_align_t) struct arena_chunk *next;
    size_t size; /* bytes for allocations: arena-3 */
};

struct arena {
    /* Configuration: the most that a reset keeps; 0 is ARENA_RETAIN_MAX. */
    size_t retain_max;

    /* State. */
    struct arena_chunk *first;
    struct arena_chunk *chunk; /* arena-1 */
    char *next;                /* arena-2 */
    size_t room;               /* arena-2 */
    size_t capacity;           /* the sizes of all chunks together */
};

/* A point in the life of an arena. Valid until the arena is reset, released,
 * or rewound to an earlier mark. */
struct arena_mark {
    struct arena_chunk *chunk;
    char *next;
};

/* Releases all memory; the configuration stays. */
void arena_release(struct arena *arena);

/* Drops every allocation. Several chunks become one of their total size, up to
 * the retention maximum; the rest goes back to the allocator. */
void arena_reset(struct arena *arena);

struct arena_mark arena_mark(const struct arena *arena);

/* Drops every allocation since `mark`, and keeps all memory. */
void arena_rewind(struct arena *arena, struct arena_mark mark);

/* `size` bytes behind `padding`; there is room for both. */
static inline void *arena_take(struct arena *arena, size_t padding, size_t size)
{
    char *memory = arena->next + padding;
    arena->next = memory + size;
    arena->room -= padding + size;
    ARENA_UNPOISON(memory, size);
    return memory;
}

/* The rest of arena_alloc_aligned, for when `chunk` has no room. */
void *arena_take_from_next_chunk(struct arena *arena, size_t size);

/* Memory that is not cleared, never NULL, and distinct from any other even if
 * `size` is 0. `alignment` is a power of two up to ARENA_ALIGNMENT_MAX. */
static inline void *arena_alloc_aligned(struct arena *arena,
                                        size_t size,
                                        size_t alignment)
{
    CHECK(alignment - 1 < ARENA_ALIGNMENT_MAX);
    CHECK((alignment & (alignment - 1)) == 0);
    size += size == 0;
    const size_t padding = -(uintptr_t)arena->next & (alignment - 1);
    if (UNLIKELY(size > arena->room || padding > arena->room - size)) {
        return arena_take_from_next_chunk(arena, size);
    }
    return arena_take(arena, padding, size);
}

/* For an object of any type. */
static inline void *arena_alloc(struct arena *arena, size_t size)
{
    return arena_alloc_aligned(arena, size, _Alignof(max_align_t));
}

/* A copy of `count` bytes, for an object of any type. */
void *arena_copy(struct arena *arena, const void *bytes, size_t count);

/* True if arena-1 to arena-3 hold. Walks the chunks. */
bool arena_check(const struct arena *arena);

#endif
