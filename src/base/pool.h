/* A pool: many records of one size, each of which may go alone.
 *
 * Records are cut from blocks, one behind the other, without a header of their
 * own: making one moves a pointer, and what was made together lies together.
 * What goes is kept in a chain for the next one. Blocks grow with what is in
 * use, and go with the pool.
 *
 *   P1  `free` is a chain through the first word of the records in it.
 *   P2  A record is zero when it is given out.
 *   P3  All records have gone before the pool is released.
 *
 * All zero is an empty pool that owns nothing. Under AddressSanitizer every
 * record is an allocation of its own, so that a use after its end is seen.
 *
 * Not here: the size, which the caller gives, always the same one. */

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
    struct pool_record *free; /* P1 */
    char *next;               /* of the last block, not used yet, */
    char *end;                /* and the end of it */
    struct pool_block *blocks;
    size_t count; /* records in use */
};

/* One from a new block, not zero: the rest of pool_new. */
COLD void *pool_begin_block(struct pool *pool, size_t size);

/* In pieces of a few stores: for records of this size, the instruction that
 * compilers take for a larger piece needs longer than everything else. */
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

/* Who makes many soon comes to memory that no cache has: that of a record some
 * steps ahead is asked for, which may be behind the end of the block. */
static inline void pool_bring_near(const char *next, size_t size)
{
    const size_t line = 64;
    const size_t steps = 4;
    for (size_t at = 0; at < size; at += line) {
        __builtin_prefetch(next + steps * size + at, 1);
    }
}

/* `size` is a multiple of that of a pointer. Inline, because it is known
 * then. */
static inline void *pool_new(struct pool *pool, size_t size)
{
    CHECK(size >= sizeof(struct pool_record) && size % sizeof(void *) == 0);
    void *record = pool->free;
    if (record != NULL) {
        pool->free = pool->free->next;
    } else if (LIKELY(pool->next != pool->end)) {
        record = pool->next;
        pool->next += size;
        pool_bring_near(record, size);
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
