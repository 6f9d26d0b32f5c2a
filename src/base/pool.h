/* A pool: many records of one size, each of which may be freed alone.
 *
 * Records are cut from blocks, one behind the other, without headers: an
 * allocation moves a pointer, and records that are created together are
 * adjacent. Freed records are kept in a chain for reuse. Blocks grow with the
 * number in use, and are freed with the pool.
 *
 *   pool-1  `free` is a chain through the first word of the records in it.
 *   pool-2  A record is zero when it is allocated.
 *   pool-3  All records are freed before the pool is released.
 *
 * All zero is an empty pool that owns nothing. Under AddressSanitizer every
 * record is a separate allocation, so that a use after free is detected.
 *
 * Not here: the size, which the caller passes, always the same. */

#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>
#include <string.h>

#include "base/check.h"

struct pool_block;

struct pool_record {
    struct pool_record *next;
};

struct pool {
    struct pool_record *free; /* pool-1 */
    char *next;               /* of the last block, not used yet, */
    char *end;                /* and the end of it */
    struct pool_block *blocks;
    size_t count; /* records in use */
};

/* One from a new block, not zero: the rest of pool_new. */
COLD void *pool_begin_block(struct pool *pool, size_t size);

/* In steps of a few stores: for records of this size, the instruction that
 * compilers use for larger ones takes longer than everything else. */
static inline void pool_make_zero(char *record, size_t size)
{
    size_t at = 0;
    for (; at + 64 <= size; at += 64) {
        memset(record + at, 0, 64);
    }
    for (; at + 16 <= size; at += 16) {
        memset(record + at, 0, 16);
    }
    for (; at < size; at += sizeof(void *)) {
        memset(record + at, 0, sizeof(void *));
    }
}

/* Bulk creation soon reaches uncached memory: prefetches that of a record some
 * steps ahead, which may be behind the end of the block. */
static inline void pool_prefetch(const char *next, size_t size)
{
    const size_t line = 64;
    const size_t steps = 4;
    for (size_t at = 0; at < size; at += line) {
        __builtin_prefetch(next + steps * size + at, 1);
    }
}

/* `size` is a multiple of that of a pointer. Inline, so that it is a constant.
 */
static inline void *pool_new(struct pool *pool, size_t size)
{
    CHECK(size >= sizeof(struct pool_record) && size % sizeof(void *) == 0);
    void *record = pool->free;
    if (record != NULL) {
        pool->free = pool->free->next;
    } else if (LIKELY(pool->next != pool->end)) {
        record = pool->next;
        pool->next += size;
        pool_prefetch(record, size);
    } else {
        record = pool_begin_block(pool, size);
    }
    pool->count++;
    pool_make_zero(record, size);
    return record;
}

void pool_free(struct pool *pool, void *record, size_t size);

void pool_release(struct pool *pool);

#endif
