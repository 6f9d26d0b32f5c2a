/* SQLite settings of the whole process, and its memory. */

#include "store/sqlite_setup.h"

#include <sqlite3.h>
#include <stdint.h>

#include "base/mem.h"

/* Before each block, because SQLite does not pass the size back. SQLite needs
 * blocks that are aligned to eight bytes. */
struct block_header {
    _Alignas(8) size_t size;
};

static void *block_new(int size)
{
    const struct mem_hooks hooks = mem_get_hooks();
    const size_t whole = (size_t)size + sizeof(struct block_header);
    struct block_header *header = hooks.alloc(hooks.ctx, whole);
    if (header == NULL) {
        return NULL;
    }
    header->size = whole;
    return header + 1;
}

static void block_free(void *block)
{
    struct block_header *header = (struct block_header *)block - 1;
    mem_free(header, header->size);
}

static void *block_resize(void *block, int size)
{
    const struct mem_hooks hooks = mem_get_hooks();
    const size_t whole = (size_t)size + sizeof(struct block_header);
    struct block_header *header = (struct block_header *)block - 1;
    header = hooks.resize(hooks.ctx, header, header->size, whole);
    if (header == NULL) {
        return NULL;
    }
    header->size = whole;
    return header + 1;
}

static int block_size(void *block)
{
    const struct block_header *header = (struct block_header *)block - 1;
    return (int)(header->size - sizeof *header);
}

static int block_round_up(int size)
{
    return (size + 7) & ~7;
}

static int blocks_begin(void *ctx)
{
    (void)ctx;
    return SQLITE_OK;
}

static void blocks_end(void *ctx)
{
    (void)ctx;
}

void store_setup_sqlite(void)
{
    static const sqlite3_mem_methods blocks = {
        .xMalloc = block_new,
        .xFree = block_free,
        .xRealloc = block_resize,
        .xSize = block_size,
        .xRoundup = block_round_up,
        .xInit = blocks_begin,
        .xShutdown = blocks_end,
    };
    /* If they come too late, SQLite returns an error and works as before. */
    (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &blocks);
}
