/* Counting allocators, around the C library's. */

#include "count.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

static void count_add(struct count *count, void *memory, size_t asked)
{
    CHECK(memory != NULL);
    count->calls++;
    count->asked += asked;
    count->usable += malloc_usable_size(memory);
    if (count->usable > count->peak) {
        count->peak = count->usable;
    }
}

static void count_remove(struct count *count, void *memory, size_t asked)
{
    count->asked -= asked;
    count->usable -= malloc_usable_size(memory);
}

/* -- Ours ---------------------------------------------------------------- */

static struct count ours;

static void *ours_alloc(void *ctx, size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);
    count_add(ctx, memory, size);
    return memory;
}

static void *ours_resize(void *ctx,
                         void *memory,
                         size_t old_size,
                         size_t new_size)
{
    if (memory != NULL) {
        count_remove(ctx, memory, old_size);
    }
    void *moved = realloc(memory, new_size > 0 ? new_size : 1);
    count_add(ctx, moved, new_size);
    return moved;
}

static void ours_free(void *ctx, void *memory, size_t size)
{
    if (memory != NULL) {
        count_remove(ctx, memory, size);
        free(memory);
    }
}

void count_begin(void)
{
    ours = (struct count){0};
    mem_set_hooks(&(struct mem_hooks){
        .ctx = &ours,
        .alloc = ours_alloc,
        .resize = ours_resize,
        .free = ours_free,
    });
}

struct count count_now(void)
{
    return ours;
}

void count_end(void)
{
    mem_set_hooks(NULL);
}

/* -- jansson ------------------------------------------------------------- */

enum {
    HEADER = 16 /* keeps the alignment of malloc */
};

static struct count peer;

static void *peer_alloc(size_t size)
{
    void *memory = malloc(size);
    count_add(&peer, memory, size);
    return memory;
}

static void peer_free(void *memory)
{
    if (memory != NULL) {
        count_remove(&peer, memory, 0);
        free(memory);
    }
}

static void *peer_alloc_sized(size_t size)
{
    char *memory = malloc(size + HEADER);
    count_add(&peer, memory, size);
    *(size_t *)(void *)memory = size;
    return memory + HEADER;
}

static void peer_free_sized(void *memory)
{
    if (memory != NULL) {
        char *const block = (char *)memory - HEADER;
        count_remove(&peer, block, *(size_t *)(void *)block);
        free(block);
    }
}

void count_peer_begin(enum count_peer what)
{
    peer = (struct count){0};
    if (what == COUNT_PEER_ASKED) {
        json_set_alloc_funcs(peer_alloc_sized, peer_free_sized);
    } else {
        json_set_alloc_funcs(peer_alloc, peer_free);
    }
}

struct count count_peer_now(void)
{
    return peer;
}

void count_peer_end(void)
{
    json_set_alloc_funcs(malloc, free);
}
