/* arena: allocations do not overlap, and a second round is free. */

#include "base/arena.h"

#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "lib/test.h"

static bool is_aligned(const void *memory, size_t alignment)
{
    return (uintptr_t)memory % alignment == 0;
}

TEST(a_zeroed_arena_is_empty_and_owns_nothing)
{
    const uint64_t before = test_allocations();
    struct arena arena = {0};
    EXPECT(arena_check(&arena));
    arena_rewind(&arena, arena_mark(&arena));
    arena_reset(&arena);
    arena_release(&arena);
    EXPECT(arena_check(&arena));
    EXPECT_EQ(test_allocations(), before);
}

TEST(memory_is_aligned_for_any_type_or_as_asked)
{
    struct arena arena = {0};
    for (size_t size = 1; size < 100; size++) {
        EXPECT(is_aligned(arena_alloc(&arena, size), _Alignof(max_align_t)));
        for (size_t align = 1; align <= ARENA_ALIGNMENT_MAX; align *= 2) {
            void *memory = arena_alloc_aligned(&arena, size, align);
            EXPECT(is_aligned(memory, align));
            memset(memory, 0xEE, size);
        }
    }
    EXPECT(arena_check(&arena));
    arena_release(&arena);
}

TEST(bytes_can_be_packed)
{
    struct arena arena = {0};
    const char *first = arena_alloc_aligned(&arena, 3, 1);
    const char *second = arena_alloc_aligned(&arena, 5, 1);
    const char *third = arena_alloc_aligned(&arena, 1, 1);
    EXPECT(second == first + 3);
    EXPECT(third == second + 5);
    arena_release(&arena);
}

TEST(an_allocation_of_nothing_is_still_distinct)
{
    struct arena arena = {0};
    const void *first = arena_alloc(&arena, 0);
    const void *second = arena_alloc(&arena, 0);
    EXPECT(first != NULL);
    EXPECT(first != second);
    arena_release(&arena);
}

TEST(a_copy_is_equal_and_apart)
{
    struct arena arena = {0};
    char text[] = "some text";
    const char *copy = arena_copy(&arena, text, sizeof text);
    text[0] = 'S';
    EXPECT_TEXT(copy, "some text");
    EXPECT(is_aligned(copy, _Alignof(max_align_t)));
    EXPECT(arena_copy(&arena, NULL, 0) != NULL);
    arena_release(&arena);
}

TEST(a_chunk_is_filled_to_its_last_byte)
{
    struct arena arena = {0};
    (void)arena_alloc_aligned(&arena, 1, 1);
    const size_t rest = arena.room;
    const uint64_t before = test_allocations();
    (void)arena_alloc_aligned(&arena, rest - 1, 1);
    memset(arena_alloc_aligned(&arena, 1, 1), 1, 1);
    EXPECT_EQ(arena.room, 0);
    EXPECT_EQ(test_allocations(), before);
    EXPECT(arena_check(&arena));

    (void)arena_alloc_aligned(&arena, 1, 1);
    EXPECT_EQ(test_allocations(), before + 1);
    EXPECT(arena_check(&arena));
    arena_release(&arena);
}

TEST(padding_that_does_not_fit_opens_a_chunk)
{
    struct arena arena = {0};
    (void)arena_alloc_aligned(&arena, 1, 1);
    (void)arena_alloc_aligned(&arena, arena.room - 10, 1);
    char *memory = arena_alloc_aligned(&arena, 8, 16); /* 10 + 6 bytes away */
    memset(memory, 1, 8);
    EXPECT(arena.first->next == arena.chunk);
    EXPECT(arena_check(&arena));
    arena_release(&arena);
}

TEST(a_large_allocation_has_one_block_of_its_size)
{
    enum {
        LARGE = 10 * 1000 * 1000
    };
    struct arena arena = {0};
    const uint64_t before = test_allocations();
    char *memory = arena_alloc(&arena, LARGE);
    memory[0] = 'a';
    memory[LARGE - 1] = 'z';
    EXPECT_EQ(test_allocations(), before + 1);
    EXPECT(arena.capacity < LARGE + ARENA_ALIGNMENT_MAX);
    arena_release(&arena);
}

TEST(a_reset_joins_the_chunks_so_that_the_same_again_allocates_nothing)
{
    struct arena arena = {0};
    uint64_t before = 0;
    for (unsigned round = 0; round < 4; round++) {
        for (size_t i = 0; i < 2000; i++) {
            (void)arena_alloc(&arena, i % 200);
        }
        const size_t capacity = arena.capacity;
        arena_reset(&arena);
        EXPECT(arena_check(&arena));
        EXPECT(arena.first != NULL && arena.first->next == NULL);
        EXPECT_EQ(arena.capacity, capacity);
        if (round == 0) {
            before = test_allocations();
        }
    }
    EXPECT_EQ(test_allocations(), before);
    arena_release(&arena);
}

TEST(a_reset_keeps_no_more_than_the_maximum)
{
    struct arena arena = {.retain_max = 10000};
    for (unsigned round = 0; round < 3; round++) {
        (void)arena_alloc(&arena, 3000);
        (void)arena_alloc(&arena, 50000);
        (void)arena_alloc(&arena, 3000);
        const uint64_t before = test_allocations();
        arena_reset(&arena);
        EXPECT(arena_check(&arena));
        EXPECT_EQ(arena.capacity, 10000 / 64 * 64);
        EXPECT_EQ(test_allocations() - before, round == 0 ? 1 : 0);
    }
    arena_release(&arena);
    EXPECT_EQ(arena.retain_max, 10000);

    (void)arena_alloc(&arena, 50000); /* a first chunk that is too large */
    arena_reset(&arena);
    EXPECT_EQ(arena.capacity, 10000 / 64 * 64);
    arena_release(&arena);
}

TEST(a_maximum_below_the_least_chunk_keeps_nothing)
{
    struct arena arena = {.retain_max = 63};
    (void)arena_alloc(&arena, 100);
    arena_reset(&arena);
    EXPECT_EQ(arena.capacity, 0);
    EXPECT(arena.first == NULL);
    EXPECT(arena_check(&arena));
    (void)arena_alloc(&arena, 100);
    arena_release(&arena);
}

TEST(a_rewind_gives_the_same_memory_again)
{
    struct arena arena = {0};
    const struct arena_mark start = arena_mark(&arena);
    const void *kept = arena_copy(&arena, "kept", 5);
    const struct arena_mark mark = arena_mark(&arena);
    const void *first = arena_alloc(&arena, 100);
    (void)arena_alloc(&arena, 100000); /* another chunk */

    arena_rewind(&arena, mark);
    EXPECT(arena_check(&arena));
    EXPECT(arena_alloc(&arena, 100) == first);
    EXPECT_TEXT(kept, "kept");

    arena_rewind(&arena, start); /* taken before there was a chunk */
    EXPECT(arena_check(&arena));
    EXPECT(arena_alloc(&arena, 5) == kept);
    arena_release(&arena);
}

TEST(rewinding_across_a_chunk_in_a_loop_allocates_nothing)
{
    struct arena arena = {0};
    (void)arena_alloc(&arena, 4000);
    const struct arena_mark mark = arena_mark(&arena);
    (void)arena_alloc(&arena, 500); /* the next chunk */
    arena_rewind(&arena, mark);

    const uint64_t before = test_allocations();
    for (unsigned i = 0; i < 1000; i++) {
        memset(arena_alloc(&arena, 500), 1, 500);
        arena_rewind(&arena, mark);
    }
    EXPECT_EQ(test_allocations(), before);
    arena_release(&arena);
}

TEST(a_kept_chunk_that_is_too_small_is_not_lost)
{
    struct arena arena = {0};
    (void)arena_alloc(&arena, 4000);
    const struct arena_mark mark = arena_mark(&arena);
    (void)arena_alloc(&arena, 100); /* opens the second chunk */
    const struct arena_chunk *small = arena.chunk;
    arena_rewind(&arena, mark);

    (void)arena_alloc(&arena, 100000); /* does not fit into it */
    EXPECT(arena_check(&arena));
    EXPECT(arena.chunk != small);
    const uint64_t before = test_allocations();
    (void)arena_alloc(&arena, 100);
    EXPECT(arena.chunk == small);
    EXPECT_EQ(test_allocations(), before);
    arena_release(&arena);
}

#ifdef ARENA_UNDER_ASAN
TEST(what_is_forgotten_is_poisoned)
{
    struct arena arena = {0};
    char *kept = arena_alloc_aligned(&arena, 3, 1);
    const struct arena_mark mark = arena_mark(&arena);
    char *forgotten = arena_alloc(&arena, 100);
    char *far = arena_alloc(&arena, 100000);
    EXPECT(!__asan_address_is_poisoned(forgotten));
    EXPECT(!__asan_address_is_poisoned(far + 99999));
    EXPECT(__asan_address_is_poisoned(far + 100000));

    arena_rewind(&arena, mark);
    EXPECT(!__asan_address_is_poisoned(kept + 2));
    EXPECT(__asan_address_is_poisoned(kept + 3));
    EXPECT(__asan_address_is_poisoned(forgotten));
    EXPECT(__asan_address_is_poisoned(far));

    EXPECT(arena_alloc(&arena, 100) == forgotten);
    EXPECT(!__asan_address_is_poisoned(forgotten + 99));
    arena_reset(&arena);
    arena_release(&arena);
}

/* An allocator that keeps released blocks, as pools do, and writes to them. */
static struct mem_hooks behind;

static void scribble_and_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    memset(memory, 0xDD, size);
    behind.free(behind.ctx, memory, size);
}

TEST(what_is_given_back_to_the_allocator_is_not_poisoned)
{
    behind = mem_get_hooks();
    struct mem_hooks hooks = behind;
    hooks.free = scribble_and_free;
    mem_set_hooks(&hooks);

    struct arena arena = {.retain_max = 1000};
    (void)arena_alloc(&arena, 100);
    arena_reset(&arena);
    arena_release(&arena);
    mem_set_hooks(&behind);
}
#endif

TEST(the_check_sees_what_is_broken)
{
    struct arena arena = {0};
    (void)arena_alloc(&arena, 100);
    EXPECT(arena_check(&arena));
    arena.room++;
    EXPECT(!arena_check(&arena));
    arena.room--;
    arena.capacity += 64;
    EXPECT(!arena_check(&arena));
    arena.capacity -= 64;
    arena_release(&arena);
}

/* ---- against a stack of blocks ---- */

enum {
    BLOCK_COUNT_MAX = 400
};

/* An allocation with its own byte all over it, and the mark before it. */
struct block {
    unsigned char *at;
    size_t size;
    struct arena_mark before;
};

struct model {
    struct block blocks[BLOCK_COUNT_MAX];
    size_t count;
};

static bool is_intact(const struct model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        const struct block *block = &model->blocks[i];
        for (size_t n = 0; n < block->size; n++) {
            if (block->at[n] != (unsigned char)i) {
                return false;
            }
        }
    }
    return true;
}

static size_t draw_size(struct random *random)
{
    if (random_one_in(random, 40)) {
        return random_below(random, 20000);
    }
    return random_below(random, random_one_in(random, 2) ? 20 : 300);
}

static void push_block(struct arena *arena,
                       struct model *model,
                       struct random *random)
{
    const size_t alignment = (size_t)1 << random_below(random, 7);
    struct block *block = &model->blocks[model->count];
    block->before = arena_mark(arena);
    block->size = draw_size(random);
    block->at = arena_alloc_aligned(arena, block->size, alignment);
    EXPECT(is_aligned(block->at, alignment));
    memset(block->at, (int)(model->count & 0xFF), block->size);
    model->count++;
}

PROPERTY(allocations_stay_intact_until_they_are_forgotten, 40)
{
    static struct model model;
    struct arena arena = {.retain_max = random_below(random, 100000)};
    model.count = 0;
    for (unsigned i = 0; i < 300; i++) {
        if (model.count > 0 && random_one_in(random, 20)) {
            model.count = random_below(random, model.count);
            arena_rewind(&arena, model.blocks[model.count].before);
        } else if (random_one_in(random, 150)) {
            arena_reset(&arena);
            model.count = 0;
        } else {
            push_block(&arena, &model, random);
        }
        if (!EXPECT(arena_check(&arena))) {
            break;
        }
        if (i % 16 == 0 && !EXPECT(is_intact(&model))) {
            break;
        }
    }
    EXPECT(is_intact(&model));
    arena_release(&arena);
}

/* arena-3: rounds with any sizes, alignments and rewinds; the same seed is the
 * same round. */
static void run_round(struct arena *arena, struct random random)
{
    static struct model model;
    model.count = 0;
    for (unsigned i = 0; i < 300; i++) {
        if (model.count > 0 && random_one_in(&random, 10)) {
            model.count = random_below(&random, model.count);
            arena_rewind(arena, model.blocks[model.count].before);
        } else {
            push_block(arena, &model, &random);
        }
    }
}

PROPERTY(any_round_allocates_nothing_the_second_time, 60)
{
    struct arena arena = {0};
    run_round(&arena, *random);
    arena_reset(&arena);
    const uint64_t before = test_allocations();
    run_round(&arena, *random);
    arena_reset(&arena);
    EXPECT_EQ(test_allocations(), before);
    arena_release(&arena);
}
