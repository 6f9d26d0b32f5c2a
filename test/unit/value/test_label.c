/* label: sets are interned, joined without memory once known, and written in
 * the order of their names. */

#include "value/label.h"

#include "base/limits.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"

static const struct label_set *set_of(struct label_table *table,
                                      const char *json)
{
    const struct value labels = from_quoted(json);
    const struct label_set *set = label_set_of(table, labels);
    value_unref(labels);
    return set;
}

static void expect(const struct label_table *table,
                   const struct label_set *set,
                   const char *json)
{
    const struct value names = label_set_names(table, set);
    EXPECT_QUOTED(names, json);
    value_unref(names);
}

TEST(equal_sets_are_the_same)
{
    struct label_table table;
    label_table_init(&table);
    EXPECT(set_of(&table, "[]") == NULL);
    EXPECT(label_set_of(&table, VALUE_NONE) == NULL);
    EXPECT(set_of(&table, "['b','a','b']") == set_of(&table, "['a','b']"));
    EXPECT(set_of(&table, "'a'") == set_of(&table, "['a']"));
    EXPECT(set_of(&table, "['a']") != set_of(&table, "['b']"));
    expect(&table, set_of(&table, "['b','c','a']"), "['a','b','c']");
    expect(&table, NULL, "[]");
    label_table_release(&table);
}

TEST(a_join_that_is_known_costs_no_memory)
{
    struct label_table table;
    label_table_init(&table);
    const struct label_set *a = set_of(&table, "['x','y']");
    const struct label_set *b = set_of(&table, "['y','z']");
    const struct label_set *both = label_set_join(&table, a, b);
    expect(&table, both, "['x','y','z']");
    const uint64_t before = test_allocations();
    EXPECT(label_set_join(&table, b, a) == both);
    EXPECT(label_set_join(&table, both, a) == both);
    EXPECT(label_set_join(&table, a, NULL) == a);
    EXPECT(label_set_join(&table, NULL, a) == a);
    EXPECT(label_set_join(&table, NULL, NULL) == NULL);
    EXPECT_EQ(test_allocations(), before);
    label_table_release(&table);
}

TEST(what_is_not_covered_has_a_name)
{
    struct label_table table;
    label_table_init(&table);
    const struct label_set *a = set_of(&table, "['x','y']");
    const struct label_set *b = set_of(&table, "['x','y','z']");
    struct value missing = VALUE_NONE;
    EXPECT(label_set_covers(&table, b, a, &missing));
    EXPECT(label_set_covers(&table, a, NULL, &missing));
    EXPECT(label_set_covers(&table, NULL, NULL, &missing));
    EXPECT(value_is_absent(missing));
    EXPECT(!label_set_covers(&table, a, b, &missing));
    EXPECT(value_is_text(missing, "z"));
    EXPECT(!label_set_covers(&table, NULL, a, NULL));
    label_table_release(&table);
}

TEST(what_cannot_be_read_is_a_label_too)
{
    struct label_table table;
    label_table_init(&table);
    const struct label_set *unreadable = set_of(&table, "['unreadable']");
    EXPECT(set_of(&table, "null") == unreadable);
    EXPECT(set_of(&table, "['']") == unreadable);
    EXPECT(set_of(&table, "[{}]") == unreadable);
    for (unsigned i = 1; i < LIMIT_LABELS; i++) {
        const struct value name = numbered("label", i);
        EXPECT(label_set_of(&table, name) != unreadable);
        value_unref(name);
    }
    EXPECT(set_of(&table, "'one more'") == unreadable);
    expect(&table, set_of(&table, "'label7'"), "['label7']"); /* is known */
    label_table_release(&table);
}
