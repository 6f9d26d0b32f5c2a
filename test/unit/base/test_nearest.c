/* nearest: the name that was meant, or none. */

#include "base/nearest.h"

#include <string.h>

#include "base/check.h"
#include "lib/test.h"

/* The hint for a word among names that a NULL ends. */
static const char *hint(const char *word, const char *const *names)
{
    static struct nearest nearest;
    nearest_begin(&nearest, word, strlen(word));
    for (; *names != NULL; names++) {
        nearest_offer_text(&nearest, *names);
    }
    return nearest_hint(&nearest);
}

TEST(the_nearest_name_is_offered)
{
    static const char *const names[] = {"items", "total", "rate", "a", NULL};
    static const struct {
        const char *word;
        const char *want;
    } rows[] = {
        {"item", "; did you mean 'items'?"},
        {"itmes", "; did you mean 'items'?"},
        {"ITEMS", "; did you mean 'items'?"},
        {"ttal", "; did you mean 'total'?"},
        {"rats", "; did you mean 'rate'?"},
        {"aa", "; did you mean 'a'?"},
        {"b", ""},
        {"rate", ""},
        {"", ""},
        {"quantity", ""},
        {"tames", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_TEXT(hint(rows[i].word, names), rows[i].want);
    }
}

TEST(of_equally_near_names_the_first_one_is_kept)
{
    static const char *const names[] = {"bat", "cat", "rat", NULL};
    EXPECT_TEXT(hint("zat", names), "; did you mean 'bat'?");
    EXPECT_TEXT(hint("rta", names), "; did you mean 'rat'?");
}

TEST(names_that_are_too_long_are_not_compared)
{
    char word[NEAREST_NAME_MAX + 2];
    memset(word, 'x', sizeof word);
    word[NEAREST_NAME_MAX] = '\0';
    const char *const names[] = {word, NULL};
    struct nearest nearest;
    nearest_begin(&nearest, word, NEAREST_NAME_MAX);
    nearest_offer(&nearest, word, NEAREST_NAME_MAX + 1);
    EXPECT_TEXT(nearest_hint(&nearest), "");
    nearest_offer(&nearest, word, NEAREST_NAME_MAX);
    EXPECT_TEXT(nearest_hint(&nearest), ""); /* it is the name itself */
    EXPECT_TEXT(hint(word, names), "");
    word[0] = 'y';
    nearest_offer(&nearest, word, NEAREST_NAME_MAX);
    EXPECT_TEXT(nearest_hint(&nearest), "");
    nearest_begin(&nearest, word, NEAREST_NAME_MAX);
    word[0] = 'x';
    nearest_offer(&nearest, word, NEAREST_NAME_MAX);
    EXPECT(strlen(nearest_hint(&nearest)) > NEAREST_NAME_MAX);
    nearest_begin(&nearest, word, NEAREST_NAME_MAX + 1);
    nearest_offer_text(&nearest, word);
    EXPECT_TEXT(nearest_hint(&nearest), "");
}
