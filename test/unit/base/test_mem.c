/* mem: every block goes through the hooks, with its size. */

#include "base/mem.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "lib/test.h"

/* Stands in front of the test framework's own hooks and notes what passes. */
struct spy {
    struct mem_hooks behind;
    unsigned allocs;
    unsigned resizes;
    unsigned frees;
    size_t old_size; /* of the last call */
    size_t new_size;
};

static void *spy_alloc(void *ctx, size_t size)
{
    struct spy *spy = ctx;
    spy->allocs++;
    spy->new_size = size;
    return spy->behind.alloc(spy->behind.ctx, size);
}

static void *spy_resize(void *ctx, void *memory, size_t old_size, size_t size)
{
    struct spy *spy = ctx;
    spy->resizes++;
    spy->old_size = old_size;
    spy->new_size = size;
    return spy->behind.resize(spy->behind.ctx, memory, old_size, size);
}

static void spy_free(void *ctx, void *memory, size_t size)
{
    struct spy *spy = ctx;
    spy->frees++;
    spy->old_size = size;
    spy->behind.free(spy->behind.ctx, memory, size);
}

static void spy_enter(struct spy *spy)
{
    *spy = (struct spy){.behind = mem_get_hooks()};
    mem_set_hooks(&(struct mem_hooks){.ctx = spy,
                                      .alloc = spy_alloc,
                                      .resize = spy_resize,
                                      .free = spy_free});
}

static void spy_leave(struct spy *spy)
{
    mem_set_hooks(&spy->behind);
}

TEST(the_hooks_are_called_with_the_sizes)
{
    struct spy spy;
    spy_enter(&spy);

    char *memory = mem_alloc(100);
    EXPECT_EQ(spy.allocs, 1);
    EXPECT_EQ(spy.new_size, 100);

    memory = mem_resize(memory, 100, 250);
    EXPECT_EQ(spy.resizes, 1);
    EXPECT_EQ(spy.old_size, 100);
    EXPECT_EQ(spy.new_size, 250);

    mem_free(memory, 250);
    EXPECT_EQ(spy.frees, 1);
    EXPECT_EQ(spy.old_size, 250);
    EXPECT_EQ(spy.allocs, 1);
    spy_leave(&spy);
}

TEST(a_resize_keeps_the_content_and_starts_from_nothing)
{
    struct spy spy;
    spy_enter(&spy);
    char *memory = mem_resize(NULL, 0, 8);
    EXPECT_EQ(spy.allocs, 1);
    EXPECT_EQ(spy.resizes, 0);

    memcpy(memory, "content", 8);
    memory = mem_resize(memory, 8, 8000);
    EXPECT_TEXT(memory, "content");
    memory = mem_resize(memory, 8000, 4);
    EXPECT(memcmp(memory, "cont", 4) == 0);
    mem_free(memory, 4);
    spy_leave(&spy);
}

TEST(zeroed_memory_is_zero)
{
    static const char zeros[1000];
    char *dirty = mem_alloc(sizeof zeros);
    memset(dirty, 0xAA, sizeof zeros);
    mem_free(dirty, sizeof zeros);

    char *memory = mem_alloc_zero(sizeof zeros);
    EXPECT(memcmp(memory, zeros, sizeof zeros) == 0);
    mem_free(memory, sizeof zeros);
}

TEST(a_size_of_zero_is_one_byte_to_the_hooks)
{
    struct spy spy;
    spy_enter(&spy);
    void *memory = mem_alloc(0);
    EXPECT(memory != NULL);
    EXPECT_EQ(spy.new_size, 1);

    memory = mem_resize(memory, 0, 10);
    EXPECT_EQ(spy.old_size, 1);
    memory = mem_resize(memory, 10, 0);
    EXPECT_EQ(spy.new_size, 1);
    mem_free(memory, 0);
    EXPECT_EQ(spy.old_size, 1);

    memory = mem_alloc_zero(0);
    EXPECT(memory != NULL);
    mem_free(memory, 0);
    spy_leave(&spy);
}

TEST(releasing_nothing_is_harmless)
{
    struct spy spy;
    spy_enter(&spy);
    mem_free(NULL, 0);
    mem_free(NULL, 100);
    EXPECT_EQ(spy.frees, 0);
    spy_leave(&spy);
}

TEST(no_hooks_are_those_of_the_c_library)
{
    const struct mem_hooks before = mem_get_hooks();
    const uint64_t counted = test_allocations();
    mem_set_hooks(NULL);
    EXPECT(mem_get_hooks().alloc != before.alloc);

    char *memory = mem_alloc(3);
    memory = mem_resize(memory, 3, 5000);
    memory[4999] = 'x';
    mem_free(memory, 5000);
    EXPECT_EQ(test_allocations(), counted);

    mem_set_hooks(&before);
    EXPECT(mem_get_hooks().alloc == before.alloc);
    mem_free(mem_alloc(3), 3);
    EXPECT_EQ(test_allocations(), counted + 1);
}

TEST(the_size_of_an_array_is_a_product)
{
    EXPECT_EQ(mem_array_size(0, 8), 0);
    EXPECT_EQ(mem_array_size(8, 0), 0);
    EXPECT_EQ(mem_array_size(7, 6), 42);
    EXPECT_EQ(mem_array_size(SIZE_MAX, 1), SIZE_MAX);
    EXPECT_EQ(mem_array_size(SIZE_MAX / 16, 16), SIZE_MAX - 15);
}

/* ---- what ends the process ---- */

static void silence(const char *sentence)
{
    (void)sentence;
}

/* True if `act` aborts. In a child process, whose end is its own. */
static bool aborts(void (*act)(void))
{
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        check_set_panic(silence);
        (void)signal(SIGABRT, SIG_DFL);
        act();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void *no_alloc(void *ctx, size_t size)
{
    (void)ctx;
    (void)size;
    return NULL;
}

static void *no_resize(void *ctx, void *memory, size_t old_size, size_t size)
{
    (void)ctx;
    (void)memory;
    (void)old_size;
    (void)size;
    return NULL;
}

static void refuse_memory(void)
{
    struct mem_hooks hooks = mem_get_hooks();
    hooks.alloc = no_alloc;
    hooks.resize = no_resize;
    mem_set_hooks(&hooks);
}

static void alloc_without_memory(void)
{
    refuse_memory();
    (void)mem_alloc(1);
}

static void resize_without_memory(void)
{
    void *memory = mem_alloc(1);
    refuse_memory();
    (void)mem_resize(memory, 1, 2);
}

static void overflow_an_array(void)
{
    volatile size_t count = SIZE_MAX / 2;
    (void)mem_array_size(count, 3);
}

static void do_nothing(void)
{
}

TEST(an_allocation_succeeds_or_ends_the_process)
{
    EXPECT(!aborts(do_nothing));
    EXPECT(aborts(alloc_without_memory));
    EXPECT(aborts(resize_without_memory));
}

TEST(an_array_that_is_too_large_ends_the_process)
{
    EXPECT(aborts(overflow_an_array));
}
