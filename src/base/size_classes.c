/* An allocator with a chain of free records per size. */

#include "base/size_classes.h"

#include <string.h>

#include "base/arena.h"
#include "base/check.h"

enum {
    BLOCK_BYTES = 64 * 1024,
};

static bool is_small(size_t size)
{
#ifdef ARENA_UNDER_ASAN
    (void)size;
    return false;
#else
    return size <= SIZE_CLASS_MAX;
#endif
}

static size_t class_of(size_t size)
{
    return (size + SIZE_CLASS_STEP - 1) / SIZE_CLASS_STEP;
}

/* From the last block, or a new one; what is left of the old one is lost. */
static void *cut(struct size_classes *classes, size_t bytes)
{
    if (UNLIKELY((size_t)(classes->end - classes->next) < bytes)) {
        char *block = classes->behind.alloc(classes->behind.ctx, BLOCK_BYTES);
        if (block == NULL) {
            return NULL;
        }
        memcpy(block, &classes->blocks, sizeof classes->blocks);
        classes->blocks = block;
        classes->next = block + SIZE_CLASS_STEP; /* size-classes-2 */
        classes->end = block + BLOCK_BYTES;
    }
    void *record = classes->next;
    classes->next += bytes;
    return record;
}

static void *take(void *ctx, size_t size)
{
    struct size_classes *classes = ctx;
    if (UNLIKELY(!is_small(size))) {
        return classes->behind.alloc(classes->behind.ctx, size);
    }
    const size_t class = class_of(size);
    void *record = classes->free[class];
    if (LIKELY(record != NULL)) {
        memcpy(&classes->free[class],
               record,
               sizeof record); /*
                                  size-classes-1 */
        return record;
    }
    return cut(classes, class * SIZE_CLASS_STEP);
}

static void release(void *ctx, void *record, size_t size)
{
    struct size_classes *classes = ctx;
    if (UNLIKELY(!is_small(size))) {
        classes->behind.free(classes->behind.ctx, record, size);
        return;
    }
    const size_t class = class_of(size);
    memcpy(record, &classes->free[class], sizeof record); /* size-classes-1 */
    classes->free[class] = record;
}

static void *resize(void *ctx, void *record, size_t old, size_t size)
{
    struct size_classes *classes = ctx;
    if (!is_small(old) && !is_small(size)) {
        return classes->behind.resize(classes->behind.ctx, record, old, size);
    }
    if (is_small(old) && is_small(size) && class_of(old) == class_of(size)) {
        return record;
    }
    void *moved = take(ctx, size);
    if (moved != NULL) {
        memcpy(moved, record, old < size ? old : size);
        release(ctx, record, old);
    }
    return moved;
}

struct mem_hooks size_classes_hooks(struct size_classes *classes)
{
    classes->behind = mem_get_hooks();
    return (struct mem_hooks){.ctx = classes,
                              .alloc = take,
                              .resize = resize,
                              .free = release};
}

void size_classes_release(struct size_classes *classes)
{
    while (classes->blocks != NULL) {
        void *block = classes->blocks;
        memcpy(&classes->blocks, block, sizeof block);
        classes->behind.free(classes->behind.ctx, block, BLOCK_BYTES);
    }
    *classes = (struct size_classes){0};
}
