/* Gathering parts before they are hashed changes nothing: the digest is the
 * plain BLAKE2b of all bytes in a row, however long the parts are. */

#include "store/hasher.h"

#include "base/buf.h"
#include "base/random.h"
#include "lib/test.h"

static void put_number(struct buf *to, uint64_t number)
{
    buf_append(to, &number, sizeof number);
}

static void put_bytes(struct buf *to, const char *bytes, size_t length)
{
    put_number(to, length);
    buf_append(to, bytes, length);
}

static struct digest plain(const struct buf *all)
{
    struct digest digest;
    CHECK(crypto_generichash(digest.bytes,
                             sizeof digest.bytes,
                             (const unsigned char *)buf_text(all),
                             all->length,
                             NULL,
                             0) == 0);
    return digest;
}

static void expect_plain(struct hasher *hasher, struct buf *all)
{
    const struct digest got = hasher_end(hasher);
    const struct digest want = plain(all);
    EXPECT(memcmp(got.bytes, want.bytes, sizeof got.bytes) == 0);
    buf_release(all);
}

TEST(one_part_of_any_length_is_hashed_whole)
{
    static char bytes[4096];
    for (size_t length = 0; length < sizeof bytes; length++) {
        struct buf all = {0};
        struct hasher hasher;
        bytes[length] = (char)(length * 7);
        put_bytes(&all, "test", 4);
        put_bytes(&all, bytes, length);
        put_number(&all, length);
        hasher_begin(&hasher, "test", NULL);
        hasher_bytes(&hasher, bytes, length);
        hasher_number(&hasher, length);
        expect_plain(&hasher, &all);
    }
}

PROPERTY(many_parts_are_hashed_in_a_row, 200)
{
    static char bytes[3000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)random_below(random, 256);
    }
    const struct digest before = plain(&(struct buf){0});
    struct buf all = {0};
    struct hasher hasher;
    put_bytes(&all, "test", 4);
    put_bytes(&all, (const char *)before.bytes, sizeof before.bytes);
    hasher_begin(&hasher, "test", &before);
    for (uint64_t parts = random_below(random, 60); parts > 0; parts--) {
        const uint64_t length =
            random_below(random, random_one_in(random, 8) ? 3000 : 60);
        put_bytes(&all, bytes, length);
        put_number(&all, length);
        hasher_bytes(&hasher, bytes, length);
        hasher_number(&hasher, length);
    }
    expect_plain(&hasher, &all);
}
