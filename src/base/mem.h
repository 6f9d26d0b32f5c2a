/* Memory: the only access to the allocator.
 *
 * An allocation here does not fail: the hook aborts (through check_failed),
 * because a half-applied pass has no meaning and a restart is safe. In return,
 * external input is bounded first (base/limits.h).
 *
 * The size is passed back at every release, so an embedder's allocator needs no
 * header, and the tests can prove "allocates nothing" and "leaks nothing" by
 * counting here.
 *
 * The hooks are process-wide and set once, before anything is allocated, as
 * libuv and SQLite do it; they are the only writable variable of the library
 * beside the panic hook. They may be called from any thread that runs ours. */

#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

struct mem_hooks {
    void *ctx;
    void *(*alloc)(void *ctx, size_t size);
    void *(*resize)(void *ctx, void *memory, size_t old_size, size_t new_size);
    void (*free)(void *ctx, void *memory, size_t size);
};

/* NULL restores the C library's allocator. */
void mem_set_hooks(const struct mem_hooks *hooks);

/* The current hooks, for a wrapper around them. */
struct mem_hooks mem_get_hooks(void);

/* `size` may be 0: the result is then a pointer that may only be released.
 * The memory is not cleared. */
void *mem_alloc(size_t size);
void *mem_alloc_zero(size_t size);
void *mem_resize(void *memory, size_t old_size, size_t new_size);
void mem_free(void *memory, size_t size); /* NULL is harmless */

/* count * size, checked: an overflow is a bug of ours, because a count from
 * outside has been bounded before. */
size_t mem_array_size(size_t count, size_t size);

#endif
