/* The one door to the allocator, and what happens when it is shut. */

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static void *libc_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void *libc_resize(void *ctx, void *memory, size_t old, size_t size)
{
    (void)ctx;
    (void)old;
    return realloc(memory, size);
}

static void libc_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)size;
    free(memory);
}

static const struct mem_hooks libc_hooks = {.alloc = libc_alloc,
                                            .resize = libc_resize,
                                            .free = libc_free};

static struct mem_hooks hooks = {.alloc = libc_alloc,
                                 .resize = libc_resize,
                                 .free = libc_free};

void mem_set_hooks(const struct mem_hooks *new_hooks)
{
    hooks = new_hooks != NULL ? *new_hooks : libc_hooks;
}

struct mem_hooks mem_get_hooks(void)
{
    return hooks;
}

/* Allocators may answer NULL to a size of 0; ours never do. */
static size_t at_least_one(size_t size)
{
    return size > 0 ? size : 1;
}

void *mem_alloc(size_t size)
{
    void *memory = hooks.alloc(hooks.ctx, at_least_one(size));
    CHECK(memory != NULL);
    return memory;
}

void *mem_alloc_zero(size_t size)
{
    void *memory = mem_alloc(size);
    memset(memory, 0, size);
    return memory;
}

void *mem_resize(void *memory, size_t old_size, size_t new_size)
{
    if (memory == NULL) {
        return mem_alloc(new_size);
    }
    void *moved = hooks.resize(hooks.ctx,
                               memory,
                               at_least_one(old_size),
                               at_least_one(new_size));
    CHECK(moved != NULL);
    return moved;
}

void mem_free(void *memory, size_t size)
{
    if (memory != NULL) {
        hooks.free(hooks.ctx, memory, at_least_one(size));
    }
}

size_t mem_array_size(size_t count, size_t size)
{
    size_t total = 0;
    CHECK(!__builtin_mul_overflow(count, size, &total));
    return total;
}
