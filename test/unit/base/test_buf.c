/* buf: what was appended is there, terminated, and paid for once. */

#include "base/buf.h"

#include <string.h>

#include "base/check.h"
#include "base/random.h"
#include "lib/test.h"

/* buf-1 and buf-2. */
static bool is_sound(const struct buf *buf)
{
    if (buf->at == NULL) {
        return buf->length == 0 && buf->capacity == 0;
    }
    return buf->length < buf->capacity && buf->at[buf->length] == '\0';
}

TEST(b1_room_that_is_not_used_leaves_the_content_terminated)
{
    for (size_t more = 0; more < 5000; more += 499) {
        struct buf buf = {0};
        char *to = buf_reserve(&buf, more);
        memset(to + 1, 'x', more);
        EXPECT_TEXT(buf_text(&buf), "");
        buf_append_text(&buf, "text");
        (void)buf_reserve(&buf, more);
        EXPECT_TEXT(buf_text(&buf), "text");
        buf_release(&buf);
    }
}

TEST(a_zeroed_builder_is_empty_and_owns_nothing)
{
    const uint64_t before = test_allocations();
    struct buf buf = {0};
    EXPECT_TEXT(buf_text(&buf), "");
    buf_clear(&buf);
    EXPECT(is_sound(&buf));
    buf_release(&buf);
    EXPECT_EQ(test_allocations(), before);
}

TEST(pieces_of_all_kinds_follow_each_other)
{
    struct buf buf = {0};
    buf_append_text(&buf, "one");
    buf_append_char(&buf, ' ');
    buf_append(&buf, "two and more", 3);
    buf_printf(&buf, " %d%s", 3, "!");
    EXPECT_TEXT(buf_text(&buf), "one two 3!");
    EXPECT_EQ(buf.length, 10);
    buf_release(&buf);
    EXPECT_TEXT(buf_text(&buf), "");
}

TEST(b1_the_content_may_hold_zero_bytes)
{
    struct buf buf = {0};
    buf_append(&buf, "a\0b", 3);
    buf_append_char(&buf, '\0');
    buf_append_text(&buf, "c");
    EXPECT_EQ(buf.length, 5);
    EXPECT(memcmp(buf_text(&buf), "a\0b\0c", 6) == 0);
    buf_release(&buf);
}

TEST(appending_nothing_leaves_a_terminated_text)
{
    struct buf buf = {0};
    buf_append(&buf, NULL, 0);
    EXPECT(is_sound(&buf));
    buf_append_text(&buf, "");
    buf_printf(&buf, "%s", "");
    EXPECT_TEXT(buf_text(&buf), "");
    EXPECT_EQ(buf.length, 0);
    buf_release(&buf);
}

TEST(reserved_room_can_be_filled_in_part)
{
    struct buf buf = {0};
    memcpy(buf_reserve(&buf, 100), "begin, never used", 17);
    buf_advance(&buf, 5);
    EXPECT_TEXT(buf_text(&buf), "begin");
    (void)buf_reserve(&buf, 1000);
    EXPECT_TEXT(buf_text(&buf), "begin");
    buf_release(&buf);
}

TEST(b2_the_builder_grows_when_the_terminator_has_no_room)
{
    struct buf buf = {0};
    const uint64_t before = test_allocations();
    for (size_t i = 0; i < 63; i++) {
        buf_append_char(&buf, 'x');
    }
    EXPECT_EQ(buf.capacity, 64);
    EXPECT_EQ(test_allocations(), before + 1);

    buf_append_char(&buf, 'x');
    EXPECT_EQ(buf.capacity, 96);
    EXPECT_EQ(test_allocations(), before + 2);
    EXPECT_EQ(strlen(buf_text(&buf)), 64);

    (void)buf_reserve(&buf, 96 - 64 - 1);
    EXPECT_EQ(buf.capacity, 96);
    (void)buf_reserve(&buf, 96 - 64);
    EXPECT_EQ(buf.capacity, 144);
    (void)buf_reserve(&buf, 1000); /* more than half as much again */
    EXPECT_EQ(buf.capacity, 64 + 1000 + 1);
    buf_release(&buf);
}

TEST(a_formatted_text_may_be_longer_than_the_room)
{
    for (int width = 0; width < 200; width++) {
        struct buf buf = {0};
        buf_append_text(&buf, "<");
        buf_printf(&buf, "%*s>", width, "");
        EXPECT_EQ(strlen(buf_text(&buf)), width + 2);
        EXPECT(buf.at[buf.length - 1] == '>');
        EXPECT(is_sound(&buf));
        buf_release(&buf);
    }
}

TEST(a_cleared_builder_allocates_nothing_for_the_same_again)
{
    struct buf buf = {0};
    uint64_t before = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 500; i++) {
            buf_printf(&buf, "line %u\n", i);
        }
        if (round == 0) {
            before = test_allocations();
        }
        buf_clear(&buf);
        EXPECT_TEXT(buf_text(&buf), "");
    }
    EXPECT_EQ(test_allocations(), before);
    buf_release(&buf);
}

/* ---- against an array ---- */

enum {
    MODEL_SIZE = 4096,
    PIECE_MAX = 150
};

struct model {
    char at[MODEL_SIZE];
    size_t length;
};

static void step(struct buf *buf, struct model *model, struct random *random)
{
    char piece[PIECE_MAX + 1];
    const size_t length = random_below(random, PIECE_MAX + 1);
    for (size_t i = 0; i < length; i++) {
        piece[i] = (char)random_between(random, 'a', 'z');
    }
    piece[length] = '\0';
    size_t added = length;

    switch (random_below(random, 5)) {
    case 0:
        buf_append(buf, piece, length);
        break;
    case 1:
        buf_append_text(buf, piece);
        break;
    case 2:
        buf_printf(buf, "%s", piece);
        break;
    case 3:
        added = random_below(random, length + 1);
        memcpy(buf_reserve(buf, length), piece, length);
        buf_advance(buf, added);
        break;
    default:
        piece[0] = '\0'; /* a zero byte as content */
        buf_append_char(buf, '\0');
        added = 1;
        break;
    }
    memcpy(model->at + model->length, piece, added);
    model->length += added;
}

PROPERTY(a_builder_agrees_with_an_array, 40)
{
    struct buf buf = {0};
    struct model model = {.length = 0};
    for (unsigned i = 0; i < 100; i++) {
        if (model.length + PIECE_MAX > MODEL_SIZE ||
            random_one_in(random, 50)) {
            buf_clear(&buf);
            model.length = 0;
        }
        step(&buf, &model, random);
        if (!EXPECT(is_sound(&buf)) || !EXPECT_EQ(buf.length, model.length) ||
            !EXPECT(memcmp(buf_text(&buf), model.at, model.length) == 0)) {
            break;
        }
    }
    buf_release(&buf);
}
