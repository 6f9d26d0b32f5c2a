/* Records from blocks, and back into a chain. */

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"

struct pool_block {
    struct pool_block *before;
    size_t size; /* with this */
    max_align_t at[];
};

enum {
    RECORDS_MIN = 8,
    RECORDS_MAX = 256, /* a block */
};

#ifdef ARENA_UNDER_ASAN
static const bool apart = true;
#else
static const bool apart = false;
#endif

void *pool_begin_block(struct pool *pool, size_t size)
{
    if (apart) {
        return mem_alloc(size);
    }
    size_t records = pool->count / 2; /* half as many again */
    records = records < RECORDS_MIN ? RECORDS_MIN : records;
    records = records > RECORDS_MAX ? RECORDS_MAX : records;
    const size_t bytes = mem_array_size(records, size);
    struct pool_block *block = mem_alloc(sizeof *block + bytes);
    block->before = pool->blocks;
    block->size = sizeof *block + bytes;
    pool->blocks = block;
    pool->next = (char *)block->at + size;
    pool->end = (char *)block->at + bytes;
    return block->at;
}

void pool_free(struct pool *pool, void *record, size_t size)
{
    CHECK(pool->count > 0);
    pool->count--;
    if (apart) {
        mem_free(record, size);
        return;
    }
    struct pool_record *first = record;
    first->next = pool->free;
    pool->free = first;
}

void pool_release(struct pool *pool)
{
    CHECK(pool->count == 0); /* pool-3 */
    while (pool->blocks != NULL) {
        struct pool_block *block = pool->blocks;
        pool->blocks = block->before;
        mem_free(block, block->size);
    }
    *pool = (struct pool){0};
}
