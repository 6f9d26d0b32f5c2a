/* text: a cut between characters and never in one. */

#include "base/text.h"

#include <string.h>

#include "base/check.h"
#include "lib/test.h"

TEST(a_cut_never_leaves_half_a_character)
{
    /* One, two, three and four bytes; every prefix, and what stays of it. */
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA7\xB5z";
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    EXPECT_EQ(COUNT_OF(whole), strlen(text) + 1);
    for (size_t length = 0; length < COUNT_OF(whole); length++) {
        EXPECT_EQ(text_whole_length(text, length), whole[length]);
    }
}

TEST(bytes_that_are_not_utf8_are_left_alone)
{
    EXPECT_EQ(text_whole_length("\x80\x80\x80\x80\x80\x80", 6), 6);
    EXPECT_EQ(text_whole_length("\x80\x80", 2), 2);
    EXPECT_EQ(text_whole_length("a\xFF", 2), 2);
    EXPECT_EQ(text_whole_length("a\xF8\x80", 3), 3);
    EXPECT_EQ(text_whole_length("a\x80\x80", 3), 3);
}
