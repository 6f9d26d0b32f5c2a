/* The allocator hook, and who owns what: each block comes from the hook, goes
 * back to it with its size, and lives as long as the header says. */

#include "base/mem.h"
#include "unit/api/values.h"

/* An embedder's allocator that knows how many bytes are out. It stands in
 * front of the test framework's, which checks every size. */
struct ledger {
    struct mem_hooks behind;
    unsigned calls;
    size_t bytes;
};

static void *ledger_allocate(void *context, size_t size)
{
    struct ledger *ledger = context;
    ledger->calls++;
    ledger->bytes += size;
    return ledger->behind.alloc(ledger->behind.ctx, size);
}

static void *ledger_resize(void *context, void *block, size_t old, size_t size)
{
    struct ledger *ledger = context;
    ledger->calls++;
    ledger->bytes += size - old;
    return ledger->behind.resize(ledger->behind.ctx, block, old, size);
}

static void ledger_release(void *context, void *block, size_t size)
{
    struct ledger *ledger = context;
    ledger->bytes -= size;
    ledger->behind.free(ledger->behind.ctx, block, size);
}

static hd_allocator ledger_hooks(struct ledger *ledger)
{
    return (hd_allocator){
        .context = ledger,
        .allocate = ledger_allocate,
        .resize = ledger_resize,
        .release = ledger_release,
    };
}

TEST(all_memory_comes_from_the_hook_and_goes_back_with_its_size)
{
    struct ledger ledger = {.behind = mem_get_hooks()};
    const hd_allocator hooks = ledger_hooks(&ledger);
    EXPECT_INT(hd_set_allocator(&hooks), HD_OK);

    hd_value *value = value_of("{\"list\":[1,2,\"a string on the heap\"]}");
    hd_value *patch =
        value_of("[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]");
    hd_value *patched = NULL;
    char *text = NULL;
    EXPECT_INT(hd_value_patch(value, patch, &patched, NULL), HD_OK);
    EXPECT_INT(hd_value_write(patched, HD_CANONICAL, 3, &text, NULL), HD_OK);
    EXPECT(ledger.calls > 0);
    EXPECT(ledger.bytes > 0);

    hd_text_free(text);
    hd_value_unref(patched);
    hd_value_unref(patch);
    hd_value_unref(value);
    EXPECT_EQ(ledger.bytes, 0);
    mem_set_hooks(&ledger.behind);
}

TEST(an_allocator_without_one_of_its_hooks_is_refused)
{
    struct ledger ledger = {.behind = mem_get_hooks()};
    for (int missing = 0; missing < 3; missing++) {
        hd_allocator hooks = ledger_hooks(&ledger);
        if (missing == 0) {
            hooks.allocate = NULL;
        } else if (missing == 1) {
            hooks.resize = NULL;
        } else {
            hooks.release = NULL;
        }
        const struct mem_hooks before = mem_get_hooks();
        EXPECT_INT(hd_set_allocator(&hooks), HD_ARGUMENT);
        EXPECT(mem_get_hooks().alloc == before.alloc);
        EXPECT(mem_get_hooks().ctx == before.ctx);
    }
    EXPECT_EQ(ledger.calls, 0);
}

TEST(a_context_may_be_null)
{
    const struct mem_hooks before = mem_get_hooks();
    hd_allocator hooks = ledger_hooks(NULL);
    EXPECT_INT(hd_set_allocator(&hooks), HD_OK);
    EXPECT(mem_get_hooks().ctx == NULL);
    mem_set_hooks(&before);
}

TEST(no_allocator_restores_that_of_the_c_library)
{
    struct ledger ledger = {.behind = mem_get_hooks()};
    const hd_allocator hooks = ledger_hooks(&ledger);
    EXPECT_INT(hd_set_allocator(&hooks), HD_OK);
    EXPECT_INT(hd_set_allocator(NULL), HD_OK);

    hd_value *value = value_of("[\"a string that is long enough\"]");
    hd_value_unref(value);
    EXPECT_EQ(ledger.calls, 0);
    mem_set_hooks(&ledger.behind);
}

TEST(releasing_nothing_is_harmless)
{
    hd_value_unref(NULL);
    hd_text_free(NULL);
    EXPECT(hd_value_ref(NULL) == NULL);
}

TEST(a_value_lives_until_its_last_owner_is_gone)
{
    const uint64_t before = test_blocks_alive();
    hd_value *value = value_of("[1,2,3]");
    EXPECT(hd_value_ref(value) == value);
    EXPECT(hd_value_ref(value) == value);
    hd_value_unref(value);
    hd_value_unref(value);

    size_t count = 0;
    EXPECT_INT(hd_value_count(value, &count), HD_OK);
    EXPECT_EQ(count, 3);
    EXPECT(test_blocks_alive() > before);
    hd_value_unref(value);
    EXPECT_EQ(test_blocks_alive(), before);
}

TEST(a_part_outlives_the_whole_and_an_argument_stays_the_callers)
{
    hd_value *whole = value_of("{\"part\":[\"a string that is on the heap\"]}");
    hd_value *part = NULL;
    hd_value *changed = NULL;
    EXPECT_INT(hd_value_get(whole, "/part", 5, &part, NULL), HD_OK);
    EXPECT_INT(
        hd_value_set(whole, "/other", HD_TERMINATED, part, &changed, NULL),
        HD_OK);
    hd_value_unref(whole);
    EXPECT_JSON(part, "[\"a string that is on the heap\"]");
    EXPECT_JSON(changed,
                "{\"part\":[\"a string that is on the heap\"],"
                "\"other\":[\"a string that is on the heap\"]}");
}

TEST(the_bytes_of_a_string_are_valid_as_long_as_the_handle)
{
    /* Of every length around the one that fills a short string. */
    char bytes[40];
    for (size_t length = 0; length < sizeof bytes - 1; length++) {
        memset(bytes, 'x', length);
        bytes[length] = 'y'; /* no terminator of the caller's */
        hd_value *string = NULL;
        EXPECT_INT(hd_value_new_string(bytes, length, &string), HD_OK);
        hd_value *again = hd_value_ref(string);

        const char *borrowed = NULL;
        size_t borrowed_length = 99;
        EXPECT_INT(hd_value_get_string(string, &borrowed, &borrowed_length),
                   HD_OK);
        hd_value_unref(again);
        EXPECT_EQ(borrowed_length, length);
        EXPECT_EQ(strlen(borrowed), length);
        EXPECT(memcmp(borrowed, bytes, length) == 0);
        EXPECT(borrowed[length] == '\0');
        hd_value_unref(string);
    }
}

TEST(a_string_from_a_container_has_a_zero_byte_too)
{
    hd_value *object = value_of("{\"fifteen bytes k\":\"fifteen bytes v\"}");
    size_t cursor = 0;
    hd_value *key = NULL;
    hd_value *item = NULL;
    const char *text = NULL;
    EXPECT_INT(hd_value_next(object, &cursor, &key, &item), HD_OK);
    EXPECT_INT(hd_value_get_string(key, &text, NULL), HD_OK);
    EXPECT_TEXT(text, "fifteen bytes k");
    EXPECT_INT(hd_value_get_string(item, &text, NULL), HD_OK);
    EXPECT_TEXT(text, "fifteen bytes v");
    hd_value_unref(key);
    hd_value_unref(item);
    hd_value_unref(object);
}
