/* patch: the public set for RFC 6902 in test/data/json-patch, as far as it
 * applies. We have no `copy` and no `test`, and two of our rules differ. */

#include <stdio.h>

#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"
#include "value/patch.h"

/* Records that expect what we do otherwise, by their comment. */
static const struct {
    const char *comment;
    const char *reason;
} differing[] = {
    {"4.1. add with missing object", "add creates what is on its way"},
    {"A.12.  Adding to a Non-existent Target",
     "add creates what is on its way"},
};

struct counts {
    size_t applied;
    size_t refused;
    size_t other_operation;
    size_t differing;
    size_t disabled;
};

static bool has_operation(struct value list, const char *name)
{
    for (uint32_t i = 0; i < array_count(list); i++) {
        const struct value operation = array_at(list, i);
        if (value_is_object(operation) &&
            value_is_text(object_field(operation, "op"), name)) {
            return true;
        }
    }
    return false;
}

static bool is_differing(struct value comment)
{
    for (size_t i = 0; i < COUNT_OF(differing); i++) {
        if (value_is_text(comment, differing[i].comment)) {
            (void)printf("# left out: %s: %s\n",
                         differing[i].comment,
                         differing[i].reason);
            return true;
        }
    }
    return false;
}

/* True if the record has to be run. */
static bool is_ours(struct value record, struct counts *counts)
{
    const struct value list = object_field(record, "patch");
    if (!value_is_absent(object_field(record, "disabled"))) {
        counts->disabled++;
        return false;
    }
    if (has_operation(list, "copy") || has_operation(list, "test")) {
        counts->other_operation++;
        return false;
    }
    if (is_differing(object_field(record, "comment"))) {
        counts->differing++;
        return false;
    }
    return true;
}

static void run_record(struct value record,
                       struct path_table *paths,
                       struct counts *counts)
{
    struct patch patch;
    struct value out = VALUE_NONE;
    struct err_detail detail = {0};
    const struct value expected = object_field(record, "expected");
    enum err err =
        patch_read(object_field(record, "patch"), paths, &patch, &detail);
    if (err == ERR_OK) {
        err = patch_apply(&patch,
                          object_field(record, "doc"),
                          PATCH_ROOT_ANY,
                          &out,
                          NULL,
                          &detail);
    }
    bool held = EXPECT_EQ(err == ERR_OK, !value_is_absent(expected));
    if (err == ERR_OK) {
        held = EXPECT_VALUE(out, expected) && held;
        EXPECT_CHECK(out);
        counts->applied++;
    } else {
        EXPECT(!value_is_absent(object_field(record, "error")));
        counts->refused++;
    }
    if (!held) {
        struct buf text = {0};
        json_write(&text, record, JSON_AS_GIVEN, 0);
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s for %s",
                        detail.text,
                        buf_text(&text));
        buf_release(&text);
    }
    value_unref(out);
    patch_release(&patch);
}

static struct counts run_file(const char *name)
{
    struct counts counts = {0};
    size_t length = 0;
    char *text = test_read_file(test_data_path(name), &length);
    if (text == NULL) {
        return counts;
    }
    struct value records = from_json(text);
    test_release_file(text, length);
    struct path_table paths;
    path_table_init(&paths);
    for (uint32_t i = 0; i < array_count(records); i++) {
        if (is_ours(array_at(records, i), &counts)) {
            run_record(array_at(records, i), &paths, &counts);
        }
    }
    (void)printf("# %s: %zu applied, %zu refused; left out: %zu with copy or "
                 "test, %zu by our rules, %zu disabled\n",
                 name,
                 counts.applied,
                 counts.refused,
                 counts.other_operation,
                 counts.differing,
                 counts.disabled);
    path_table_release(&paths);
    value_unref(records);
    return counts;
}

TEST(the_examples_of_rfc_6902_hold)
{
    const struct counts counts = run_file("json-patch/spec_tests.json");
    EXPECT_EQ(counts.applied, 10);
    EXPECT_EQ(counts.refused, 0);
    EXPECT_EQ(counts.other_operation, 4);
    EXPECT_EQ(counts.differing, COUNT_OF(differing));
    EXPECT_EQ(counts.disabled, 1);
}

TEST(the_public_patch_set_is_answered_as_it_demands)
{
    const struct counts counts = run_file("json-patch/tests.json");
    EXPECT_EQ(counts.applied, 50);
    EXPECT_EQ(counts.refused, 21);
    EXPECT_EQ(counts.other_operation, 21);
    EXPECT_EQ(counts.differing, 0);
    EXPECT_EQ(counts.disabled, 3);
}
