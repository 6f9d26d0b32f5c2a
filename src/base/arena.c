/* The arena's chunks: how they are made, kept and joined. */

#include "base/arena.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum {
    /* The first chunk, with what is in front of it, is a page. */
    CHUNK_SIZE_MIN = 4096 - ARENA_ALIGNMENT_MAX,
    /* Each chunk doubles the arena up to here; from here on the waste at the
     * end matters more than the number of chunks. */
    CHUNK_SIZE_MAX = 1024 * 1024,
};
static_assert(CHUNK_SIZE_MIN % ARENA_ALIGNMENT_MAX == 0, "A3");
static_assert(CHUNK_SIZE_MAX % ARENA_ALIGNMENT_MAX == 0, "A3");

/* A block is the chunk's record, then padding, then the aligned bytes. With
 * the allocator's own alignment, record and padding never exceed this. */
enum {
    CHUNK_OVERHEAD = ARENA_ALIGNMENT_MAX
};
static_assert(sizeof(struct arena_chunk) <= CHUNK_OVERHEAD, "no room");
static_assert(sizeof(struct arena_chunk) % _Alignof(max_align_t) == 0,
              "the padding would not fit into the overhead");

static char *chunk_start(const struct arena_chunk *chunk)
{
    char *behind = (char *)(uintptr_t)(chunk + 1);
    return behind + (-(uintptr_t)behind & (ARENA_ALIGNMENT_MAX - 1));
}

/* A new chunk in the chain, directly behind the one being filled. */
static struct arena_chunk *chunk_insert(struct arena *arena, size_t size)
{
    CHECK(size % ARENA_ALIGNMENT_MAX == 0);
    struct arena_chunk *chunk = mem_alloc(CHUNK_OVERHEAD + size);
    CHECK((uintptr_t)chunk % _Alignof(max_align_t) == 0);

    struct arena_chunk **link =
        arena->chunk != NULL ? &arena->chunk->next : &arena->first;
    *chunk = (struct arena_chunk){.next = *link, .size = size};
    *link = chunk;
    arena->capacity += size;
    ARENA_POISON(chunk_start(chunk), size);
    return chunk;
}

/* Releases the chain from *link to its end. */
static void release_chunks(struct arena *arena, struct arena_chunk **link)
{
    struct arena_chunk *chunk = *link;
    *link = NULL;
    while (chunk != NULL) {
        struct arena_chunk *next = chunk->next;
        const size_t size = chunk->size;
        arena->capacity -= size;
        ARENA_UNPOISON(chunk_start(chunk), size); /* it is the allocator's */
        mem_free(chunk, CHUNK_OVERHEAD + size);
        chunk = next;
    }
}

void arena_release(struct arena *arena)
{
    release_chunks(arena, &arena->first);
    *arena = (struct arena){.retain_max = arena->retain_max};
}

struct arena_mark arena_mark(const struct arena *arena)
{
    return (struct arena_mark){.chunk = arena->chunk, .next = arena->next};
}

/* The bytes of `chunk` from `at` on. */
static size_t room_behind(const struct arena_chunk *chunk, const char *at)
{
    const size_t used = (size_t)(at - chunk_start(chunk));
    CHECK(used <= chunk->size);
    return chunk->size - used;
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
    struct arena_chunk *empty = arena->first;
    arena->chunk = mark.chunk;
    arena->next = mark.next;
    arena->room = 0;
    if (mark.chunk != NULL) {
        arena->room = room_behind(mark.chunk, mark.next);
        ARENA_POISON(arena->next, arena->room);
        empty = mark.chunk->next;
    }
    for (; empty != NULL; empty = empty->next) {
        ARENA_POISON(chunk_start(empty), empty->size);
    }
    CHECK_DEEP(arena_check(arena));
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void arena_reset(struct arena *arena)
{
    arena_rewind(arena, (struct arena_mark){0});

    size_t keep = arena->retain_max > 0 ? arena->retain_max : ARENA_RETAIN_MAX;
    keep -= keep % ARENA_ALIGNMENT_MAX;
    keep = smaller(keep, arena->capacity);
    if (arena->first == NULL) {
        return;
    }
    if (arena->first->size == keep) {
        release_chunks(arena, &arena->first->next);
        return;
    }
    release_chunks(arena, &arena->first);
    if (keep > 0) {
        (void)chunk_insert(arena, keep);
    }
}

/* What a new chunk for `size` bytes should have: as much as all before it
 * within the bounds, and at least enough. */
static size_t chunk_size_for(const struct arena *arena, size_t size)
{
    CHECK(size < SIZE_MAX / 2);
    const size_t excess = size % ARENA_ALIGNMENT_MAX;
    const size_t enough =
        excess > 0 ? size - excess + ARENA_ALIGNMENT_MAX : size;
    size_t wanted = smaller(arena->capacity, CHUNK_SIZE_MAX);
    if (wanted < CHUNK_SIZE_MIN) {
        wanted = CHUNK_SIZE_MIN;
    }
    return enough > wanted ? enough : wanted;
}

void *arena_take_from_next_chunk(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk =
        arena->chunk != NULL ? arena->chunk->next : arena->first;
    if (chunk == NULL || chunk->size < size) {
        chunk = chunk_insert(arena, chunk_size_for(arena, size));
    }
    arena->chunk = chunk;
    arena->next = chunk_start(chunk);
    arena->room = chunk->size;
    return arena_take(arena, 0, size); /* aligned for anybody: arena-3 */
}

void *arena_copy(struct arena *arena, const void *bytes, size_t count)
{
    void *copy = arena_alloc(arena, count);
    if (count > 0) {
        memcpy(copy, bytes, count);
    }
    return copy;
}

bool arena_check(const struct arena *arena)
{
    size_t capacity = 0;
    bool found = arena->chunk == NULL;
    const struct arena_chunk *chunk = arena->first;
    for (; chunk != NULL; chunk = chunk->next) {
        if (chunk->size % ARENA_ALIGNMENT_MAX != 0) {
            return false;
        }
        capacity += chunk->size;
        found |= chunk == arena->chunk;
    }
    if (!found || capacity != arena->capacity) {
        return false;
    }
    if (arena->chunk == NULL) {
        return arena->next == NULL && arena->room == 0;
    }
    return arena->next + arena->room ==
           chunk_start(arena->chunk) + arena->chunk->size;
}
