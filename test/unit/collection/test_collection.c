/* src/collection: random writes and ranges against a sorted array, with pages
 * of few entries; and what is refused. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "collection/sort_key.h"
#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- A collection and its model ------------------------------------------ */

enum {
    ENTRIES_MAX = 4,
    KEYS = 60,
    STEPS = 250,
};

struct world {
    struct fixture fixture;
    struct collections collections;
    struct collection *collection;
    VEC(struct value) rows; /* the model: in no order */
};

static void world_open(struct world *world, const char *definition)
{
    *world = (struct world){0};
    fixture_open_local(&world->fixture);
    struct place *root = fixture_place(&world->fixture, "people");
    world->collection = collections_of(&world->collections, root);
    world->collection->entries_max = ENTRIES_MAX;
    place_unref(root);
    const struct value value = from_quoted(definition);
    struct transaction *transaction = fixture_begin(&world->fixture);
    struct err_detail detail = {0};
    EXPECT(collection_create(world->collection, transaction, value, &detail) ==
           ERR_OK);
    EXPECT(fixture_end(&world->fixture, transaction) == ERR_OK);
    value_unref(value);
}

static void world_close(struct world *world)
{
    VEC_FOREACH (&world->rows, row) {
        value_unref(*row);
    }
    vec_release(&world->rows);
    collections_release(&world->collections);
    fixture_close(&world->fixture);
}

static const char definition[] = "{'key':'id','index':{'by':['age','name']}}";

static struct value field(struct value row, const char *name)
{
    const struct value value = object_field(row, name);
    return value_is_absent(value) ? value_null() : value;
}

static int class_of(struct value value)
{
    if (value_is_number(value)) {
        return 2;
    }
    return value_is_string(value) ? 3 : value_tag(value) == TAG_BOOL;
}

/* An integer and a double, exactly: neither type holds all of the other. */
static int compare_with_double(int64_t integer, double real)
{
    const double beyond = 9223372036854775808.0; /* 2^63 */
    if (real >= beyond || real < -beyond) {
        return real > 0 ? -1 : 1;
    }
    const int64_t below = (int64_t)floor(real);
    if (integer != below) {
        return integer < below ? -1 : 1;
    }
    return real > (double)below ? -1 : 0;
}

static int compare_numbers(struct value a, struct value b)
{
    if (value_tag(a) == TAG_INT && value_tag(b) == TAG_INT) {
        return (value_integer(a) > value_integer(b)) -
               (value_integer(a) < value_integer(b));
    }
    if (value_tag(a) == TAG_INT) {
        return compare_with_double(value_integer(a), value_real(b));
    }
    if (value_tag(b) == TAG_INT) {
        return -compare_with_double(value_integer(b), value_real(a));
    }
    return (value_real(a) > value_real(b)) - (value_real(a) < value_real(b));
}

static int compare_fields(struct value a, struct value b)
{
    if (class_of(a) != class_of(b)) {
        return class_of(a) - class_of(b);
    }
    switch (class_of(a)) {
    case 1:
        return (int)value_boolean(a) - (int)value_boolean(b);
    case 2:
        return compare_numbers(a, b);
    case 3:
        return value_compare_strings(a, b);
    default:
        return 0;
    }
}

static int by_key(const void *a, const void *b)
{
    return compare_fields(field(*(const struct value *)a, "id"),
                          field(*(const struct value *)b, "id"));
}

static int by_index(const void *a, const void *b)
{
    const struct value one = *(const struct value *)a;
    const struct value other = *(const struct value *)b;
    int order = compare_fields(field(one, "age"), field(other, "age"));
    order = order != 0
                ? order
                : compare_fields(field(one, "name"), field(other, "name"));
    return order != 0 ? order : by_key(a, b);
}

/* Around the powers of 2 at which doubles become too coarse. */
static struct value random_large(struct random *random)
{
    const unsigned shift = (unsigned)random_between(random, 52, 62);
    const int64_t near = random_between(random, -3, 3);
    const int64_t number = ((int64_t)1 << shift) + near * (1 << (shift - 52));
    switch (random_below(random, 4)) {
    case 0:
        return value_double(random_one_in(random, 2) ? -0x1p63 : 0x1p63);
    case 1:
        return value_int(random_one_in(random, 2) ? INT64_MAX : INT64_MIN);
    case 2:
        return value_int(-number + near);
    default:
        return value_int(number + near);
    }
}

static struct value random_field(struct random *random)
{
    static const char *const texts[] =
        {"", "a", "a b", "a!", "ab", "\x01", "\xc3\xa9", "~"};
    switch (random_below(random, 7)) {
    case 0:
        return value_null();
    case 1:
        return value_bool(random_one_in(random, 2));
    case 2:
        return value_text_new(texts[random_below(random, COUNT_OF(texts))]);
    case 3:
        return value_double((double)random_between(random, -40, 40) / 4);
    case 4:
        return random_large(random);
    default:
        return value_int(random_between(random, -3, 3));
    }
}

static struct value random_key(struct random *random)
{
    const uint64_t number = random_below(random, KEYS);
    return number % 2 == 0 ? value_int((int64_t)number - KEYS / 2)
                           : numbered("key/ ", number);
}

static struct value random_row(struct random *random, struct value key)
{
    struct value row = value_empty_object();
    object_put_adopt(&row, "id", value_ref(key));
    object_put_adopt(&row, "age", random_field(random));
    if (!random_one_in(random, 4)) {
        object_put_adopt(&row, "name", random_field(random));
    }
    return row;
}

static struct value *find(struct world *world, struct value key)
{
    VEC_FOREACH (&world->rows, row) {
        if (value_equal(field(*row, "id"), key)) {
            return row;
        }
    }
    return NULL;
}

/* -- Writing to both ----------------------------------------------------- */

static void write_one(struct world *world,
                      const struct collection_access *access,
                      struct random *random)
{
    struct collection *collection = world->collection;
    struct err_detail detail = {0};
    const struct value key = random_key(random);
    const struct value row = random_row(random, key);
    struct value *known = find(world, key);
    switch (random_below(random, 4)) {
    case 0:
        EXPECT(collection_insert(collection, access, row, &detail) ==
               (known == NULL ? ERR_OK : ERR_RECEIPT_EXISTS));
        if (known == NULL) {
            vec_push(&world->rows, value_ref(row));
        }
        break;
    case 1:
        EXPECT(collection_put(collection, access, row, &detail) == ERR_OK);
        if (known == NULL) {
            vec_push(&world->rows, value_ref(row));
        } else {
            value_unref(*known);
            *known = value_ref(row);
        }
        break;
    case 2: {
        struct value fields = value_empty_object();
        object_put_adopt(&fields, "age", random_field(random));
        EXPECT(collection_update(collection, access, key, fields, &detail) ==
               (known != NULL ? ERR_OK : ERR_NOT_FOUND));
        if (known != NULL) {
            object_put_adopt(known,
                             "age",
                             value_ref(object_field(fields, "age")));
        }
        value_unref(fields);
        break;
    }
    default: {
        bool existed = false;
        EXPECT(collection_remove(collection, access, key, &existed, &detail) ==
               ERR_OK);
        EXPECT(existed == (known != NULL));
        if (known != NULL) {
            value_unref(*known);
            *known = vec_pop(&world->rows);
        }
        break;
    }
    }
    value_unref(row);
    value_unref(key);
}

/* -- Reading from both --------------------------------------------------- */

struct expected {
    struct value index;
    struct value from;
    struct value to;
    bool by_index;
};

static bool is_inside(const struct expected *expected, struct value row)
{
    const char *name = expected->by_index ? "age" : "id";
    if (!value_is_absent(expected->from) &&
        compare_fields(field(row, name), array_at(expected->from, 0)) < 0) {
        return false;
    }
    return value_is_absent(expected->to) ||
           compare_fields(field(row, name), array_at(expected->to, 0)) <= 0;
}

static void expect_found(const struct world *world,
                         const struct expected *expected,
                         const struct collection_range *range,
                         const struct pages_found *found)
{
    VEC(struct value) want = {0};
    VEC_FOREACH (&world->rows, row) {
        if (is_inside(expected, *row)) {
            vec_push(&want, *row);
        }
    }
    if (want.count > 0) {
        qsort(want.at,
              want.count,
              sizeof *want.at,
              expected->by_index ? by_index : by_key);
    }
    size_t count = want.count;
    if (range->limit > 0 && range->limit < count) {
        count = (size_t)range->limit;
    }
    EXPECT_EQ(found->count, count);
    EXPECT_EQ(found->row_keys.count, range->count_only ? 0 : count);
    for (size_t i = 0; i < found->row_keys.count && i < count; i++) {
        const struct value row =
            want.at[range->reverse ? want.count - 1 - i : i];
        EXPECT(value_equal(found->row_keys.at[i], field(row, "id")));
    }
    vec_release(&want);
}

static struct value one_bound(struct value value)
{
    return array_push_adopt(value_empty_array(), value);
}

static void read_one(struct world *world,
                     const struct collection_access *access,
                     struct random *random)
{
    struct expected expected = {.by_index = random_one_in(random, 2)};
    struct err_detail detail = {0};
    if (expected.by_index) {
        expected.index = value_text_new("by");
    }
    if (!random_one_in(random, 3)) {
        expected.from = one_bound(expected.by_index ? random_field(random)
                                                    : random_key(random));
    }
    if (!random_one_in(random, 3)) {
        expected.to = one_bound(expected.by_index ? random_field(random)
                                                  : random_key(random));
    }
    const struct collection_range range = {
        .index = expected.index,
        .from = expected.from,
        .to = expected.to,
        .limit = random_one_in(random, 2) ? random_below(random, 12) : 0,
        .reverse = random_one_in(random, 2),
        .count_only = random_one_in(random, 4),
    };
    struct pages_found found = {0};
    EXPECT(
        collection_find(world->collection, access, &range, &found, &detail) ==
        ERR_OK);
    expect_found(world, &expected, &range, &found);
    uint64_t count;
    EXPECT(collection_count(world->collection, access, &count, &detail) ==
           ERR_OK);
    EXPECT_EQ(count, world->rows.count);
    pages_found_release(&found);
    value_unref(expected.from);
    value_unref(expected.to);
}

PROPERTY(ranges_are_those_of_a_sorted_array, 60)
{
    struct world world;
    world_open(&world, definition);
    for (unsigned i = 0; i < STEPS;) {
        struct transaction *transaction = fixture_begin(&world.fixture);
        const struct collection_access access = {.transaction = transaction};
        for (uint64_t left = 1 + random_below(random, 20); left > 0; left--) {
            i++;
            if (random_one_in(random, 3)) {
                read_one(&world, &access, random);
            } else {
                write_one(&world, &access, random);
            }
        }
        EXPECT(fixture_end(&world.fixture, transaction) == ERR_OK);
    }
    world_close(&world);
}

/* All of it, page by page. */
static void walk_pages(struct world *world, bool reverse, struct random *random)
{
    const struct value index = value_text_new("by");
    struct value after = VALUE_NONE;
    size_t seen = 0;
    for (bool more = true; more;) {
        struct transaction *transaction = fixture_begin(&world->fixture);
        const struct collection_access access = {.transaction = transaction};
        const struct collection_range range = {
            .index = index,
            .after = after,
            .limit = 1 + random_below(random, 5),
            .reverse = reverse,
        };
        struct pages_found found = {0};
        struct err_detail detail = {0};
        EXPECT(collection_find(world->collection,
                               &access,
                               &range,
                               &found,
                               &detail) == ERR_OK);
        more = found.row_keys.count > 0;
        seen += found.row_keys.count;
        if (more) {
            value_unref(after);
            EXPECT(
                collection_position(
                    world->collection,
                    &access,
                    index,
                    *find(world, found.row_keys.at[found.row_keys.count - 1]),
                    &after,
                    &detail) == ERR_OK);
        }
        pages_found_release(&found);
        EXPECT(fixture_end(&world->fixture, transaction) == ERR_OK);
    }
    EXPECT_EQ(seen, world->rows.count);
    value_unref(after);
}

PROPERTY(paging_by_index_meets_each_row_once, 20)
{
    struct world world;
    world_open(&world, definition);
    struct transaction *transaction = fixture_begin(&world.fixture);
    const struct collection_access access = {.transaction = transaction};
    for (unsigned i = 0; i < KEYS; i++) {
        write_one(&world, &access, random);
    }
    EXPECT(fixture_end(&world.fixture, transaction) == ERR_OK);
    walk_pages(&world, false, random);
    walk_pages(&world, true, random);
    world_close(&world);
}

/* -- Sort keys ----------------------------------------------------------- */

PROPERTY(sort_keys_order_fields, 2000)
{
    const struct value a = random_field(random);
    const struct value b = random_field(random);
    struct buf one = {0};
    struct buf other = {0};
    sort_key_append(&one, a);
    sort_key_append(&one, b);
    sort_key_append(&other, b);
    sort_key_append(&other, a);
    const int order = strcmp(buf_text(&one), buf_text(&other));
    EXPECT((order > 0) - (order < 0) ==
           (compare_fields(a, b) > 0) - (compare_fields(a, b) < 0));
    buf_release(&one);
    buf_release(&other);
    value_unref(a);
    value_unref(b);
}

/* -- Refusals ------------------------------------------------------------ */

static void expect_refused(struct world *world,
                           const char *row,
                           const char *sentence)
{
    struct transaction *transaction = fixture_begin(&world->fixture);
    const struct collection_access access = {.transaction = transaction};
    const struct value value = from_quoted(row);
    struct err_detail detail = {0};
    EXPECT(collection_put(world->collection, &access, value, &detail) !=
           ERR_OK);
    EXPECT_TEXT(detail.text, sentence);
    value_unref(value);
    EXPECT(fixture_end(&world->fixture, transaction) == ERR_OK);
    EXPECT_TEXT(fixture_see(&world->fixture, "people//row/a"), "()");
}

TEST(a_row_that_cannot_be_one_is_refused)
{
    struct world world;
    world_open(&world,
               "{'key':'id','index':{'by':['age']},"
               "'schema':{'properties':{'name':{'type':'string'}}}}");
    expect_refused(&world, "[]", "a row must be an object, not array");
    expect_refused(&world,
                   "{'name':'x'}",
                   "the row has no field 'id', which is its key");
    expect_refused(&world,
                   "{'id':true}",
                   "the key 'id' of a row must be a string or a number, not "
                   "boolean");
    expect_refused(&world,
                   "{'id':''}",
                   "the key 'id' of a row must have 1 to 256 bytes, not 0");
    expect_refused(&world,
                   "{'id':'a','age':[1]}",
                   "the field 'age' is in an index: it must be a string, a "
                   "finite number, a boolean or null, not array");
    expect_refused(&world,
                   "{'id':'a','name':1}",
                   "the row 'a' does not match the schema of its collection at "
                   "/name: must be string, not integer");
    world_close(&world);
}

TEST(a_write_to_the_document_of_a_row_keeps_the_orderings)
{
    struct world world;
    world_open(&world, definition);
    struct transaction *transaction = fixture_begin(&world.fixture);
    const struct collection_access access = {.transaction = transaction};
    const struct value row = from_quoted("{'id':'a','age':1}");
    struct err_detail detail = {0};
    EXPECT(collection_insert(world.collection, &access, row, &detail) ==
           ERR_OK);
    struct place *age = fixture_place(&world.fixture, "people//row/a.age");
    EXPECT(collection_write(world.collection,
                            &access,
                            age,
                            WRITE_INCREMENT,
                            value_int(41),
                            &detail) == ERR_OK);
    struct place *key = fixture_place(&world.fixture, "people//row/a.id");
    EXPECT(collection_write(world.collection,
                            &access,
                            key,
                            WRITE_PUT,
                            value_int(2),
                            &detail) == ERR_ARGUMENT);
    struct pages_found found = {0};
    const struct value bound = from_quoted("[42]");
    const struct collection_range range = {
        .index = value_text_new("by"),
        .from = bound,
        .to = bound,
    };
    EXPECT(
        collection_find(world.collection, &access, &range, &found, &detail) ==
        ERR_OK);
    EXPECT_EQ(found.count, 1);
    pages_found_release(&found);
    value_unref(bound);
    place_unref(age);
    place_unref(key);
    value_unref(row);
    EXPECT(fixture_end(&world.fixture, transaction) == ERR_OK);
    EXPECT_TEXT(fixture_see(&world.fixture, "people//row/a"),
                "{'age':42,'id':'a'}");
    world_close(&world);
}

/* -- Definitions --------------------------------------------------------- */

TEST(an_index_that_is_new_is_filled)
{
    struct world world;
    struct random random;
    random_init(&random, 1);
    world_open(&world, "{'key':'id'}");
    struct transaction *transaction = fixture_begin(&world.fixture);
    const struct collection_access access = {.transaction = transaction};
    for (unsigned i = 0; i < KEYS; i++) {
        write_one(&world, &access, &random);
    }
    EXPECT(fixture_end(&world.fixture, transaction) == ERR_OK);
    transaction = fixture_begin(&world.fixture);
    const struct value now = from_quoted(definition);
    struct err_detail detail = {0};
    EXPECT(collection_redefine(world.collection, transaction, now, &detail) ==
           ERR_OK);
    EXPECT(fixture_end(&world.fixture, transaction) == ERR_OK);
    value_unref(now);
    walk_pages(&world, false, &random);
    transaction = fixture_begin(&world.fixture);
    const struct value other = from_quoted("{'key':'name'}");
    EXPECT(collection_redefine(world.collection, transaction, other, &detail) ==
           ERR_ARGUMENT);
    value_unref(other);
    transaction_release(transaction);
    world_close(&world);
}

/* A definition with `count` indexes of `fields` fields, whose names have
 * `length` bytes. */
static enum err check_definition(unsigned count, unsigned fields, size_t length)
{
    struct value index = value_empty_object();
    for (unsigned i = 0; i < count; i++) {
        struct buf name = {0};
        struct value list = value_empty_array();
        while (name.length < length) {
            buf_append_char(&name, (char)('a' + i));
        }
        for (unsigned field = 0; field < fields; field++) {
            list = array_push_adopt(list, value_text_new("x"));
        }
        index = object_set_adopt(index,
                                 value_string_new(name.at, name.length),
                                 list);
        buf_release(&name);
    }
    struct value all = value_empty_object();
    object_put_adopt(&all, "key", value_text_new("id"));
    object_put_adopt(&all, "index", index);
    struct err_detail detail = {0};
    const enum err err = collection_check(all, value_text_new("it"), &detail);
    value_unref(all);
    return err;
}

TEST(definitions_are_bounded)
{
    EXPECT(check_definition(COLLECTION_INDEXES_MAX,
                            COLLECTION_INDEX_FIELDS_MAX,
                            COLLECTION_INDEX_NAME_BYTES_MAX) == ERR_OK);
    EXPECT(check_definition(COLLECTION_INDEXES_MAX + 1, 1, 1) == ERR_ARGUMENT);
    EXPECT(check_definition(1, COLLECTION_INDEX_FIELDS_MAX + 1, 1) ==
           ERR_ARGUMENT);
    EXPECT(check_definition(1, 0, 1) == ERR_ARGUMENT);
    EXPECT(check_definition(1, 1, COLLECTION_INDEX_NAME_BYTES_MAX + 1) ==
           ERR_ARGUMENT);
    EXPECT(check_definition(1, 1, 0) == ERR_ARGUMENT);
}

/* A row with a key and an indexed field of that many bytes. */
static enum err put_long(struct world *world, size_t key, size_t age)
{
    struct buf text = {0};
    struct transaction *transaction = fixture_begin(&world->fixture);
    const struct collection_access access = {.transaction = transaction};
    while (text.length < key || text.length < age) {
        buf_append_char(&text, '!');
    }
    struct value row = value_empty_object();
    object_put_adopt(&row, "id", value_string_new(text.at, key));
    object_put_adopt(&row, "age", value_string_new(text.at, age));
    struct err_detail detail = {0};
    const enum err err =
        collection_put(world->collection, &access, row, &detail);
    EXPECT(fixture_end(&world->fixture, transaction) == ERR_OK);
    value_unref(row);
    buf_release(&text);
    return err;
}

TEST(keys_and_indexed_texts_are_bounded)
{
    struct world world;
    world_open(&world, definition);
    EXPECT(put_long(&world,
                    COLLECTION_KEY_BYTES_MAX,
                    COLLECTION_FIELD_BYTES_MAX) == ERR_OK);
    EXPECT(put_long(&world, COLLECTION_KEY_BYTES_MAX + 1, 1) == ERR_ARGUMENT);
    EXPECT(put_long(&world, 1, COLLECTION_FIELD_BYTES_MAX + 1) == ERR_ARGUMENT);
    world_close(&world);
}
