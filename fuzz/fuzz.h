/* What the fuzz targets share: each input runs with allocations counted, and
 * must give back all of them.
 *
 * A target checks properties with CHECK, which ends the process; the fuzzer
 * keeps the input, and fuzz/corpus keeps what was worth it. */

#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/err.h"
#include "base/mem.h"

/* The entry point that libFuzzer and replay_main.c call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_memory {
    size_t blocks;
    size_t bytes;
};

static inline void *fuzz_alloc(void *ctx, size_t size)
{
    struct fuzz_memory *memory = ctx;
    memory->blocks++;
    memory->bytes += size;
    return malloc(size > 0 ? size : 1);
}

static inline void fuzz_free(void *ctx, void *block, size_t size)
{
    struct fuzz_memory *memory = ctx;
    if (block != NULL) {
        CHECK(memory->blocks > 0);
        CHECK(memory->bytes >= size);
        memory->blocks--;
        memory->bytes -= size;
        free(block);
    }
}

static inline void *fuzz_resize(void *ctx,
                                void *block,
                                size_t old_size,
                                size_t new_size)
{
    struct fuzz_memory *memory = ctx;
    if (block == NULL) {
        return fuzz_alloc(ctx, new_size);
    }
    CHECK(memory->bytes >= old_size);
    memory->bytes += new_size - old_size;
    return realloc(block, new_size > 0 ? new_size : 1);
}

/* Everything that the library allocates between the two is counted, and must
 * be gone, with the sizes it was asked for, at the end. */
static inline void fuzz_begin(struct fuzz_memory *memory)
{
    *memory = (struct fuzz_memory){0};
    mem_set_hooks(&(struct mem_hooks){
        .ctx = memory,
        .alloc = fuzz_alloc,
        .resize = fuzz_resize,
        .free = fuzz_free,
    });
}

static inline void fuzz_end(const struct fuzz_memory *memory)
{
    CHECK(memory->blocks == 0);
    CHECK(memory->bytes == 0);
    mem_set_hooks(NULL);
}

/* A refused input says why. */
static inline void fuzz_check_detail(enum err err,
                                     const struct err_detail *detail)
{
    CHECK(err != ERR_OK);
    CHECK(detail->err == err);
    CHECK(detail->text[0] != '\0');
}

#endif
