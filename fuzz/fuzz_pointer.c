/* JSON Pointers: what is accepted writes back to the same text, and the
 * relations of paths are those of their segments. The input is one pointer,
 * or two with a byte 0xFF (which is never part of UTF-8) between them. */

#include <string.h>

#include "base/limits.h"
#include "fuzz.h"
#include "value/array.h"
#include "value/object.h"
#include "value/path.h"

static struct path *read(struct path_table *table,
                         const char *text,
                         size_t size)
{
    struct path *path = NULL;
    struct err_detail detail = {0};
    const enum err err = path_read(table, text, size, &path, &detail);
    if (err != ERR_OK) {
        CHECK(path == NULL);
        fuzz_check_detail(err, &detail);
    }
    return path;
}

static void check_text(struct path *path, const char *text, size_t size)
{
    struct buf written = {0};
    path_write(&written, path);
    CHECK(written.length == size);
    CHECK(size == 0 || memcmp(written.at, text, size) == 0);
    struct path *again = read(path->table, buf_text(&written), written.length);
    CHECK(again == path); /* interned */
    path_unref(again);
    buf_release(&written);
}

/* The index of a segment is its key, as a number without decoration. */
static void check_index(const struct path_segment *segment)
{
    CHECK(path_index(segment->key) == segment->index);
    if (segment->index != PATH_NOT_INDEX) {
        struct path_segment same = path_segment_of_index(segment->index);
        CHECK(key_equal(same.key, segment->key));
        path_segment_release(&same);
    }
}

/* Its prefixes are ordered and found; with the last key added, each is the
 * next one. Only some of a long path, or this would be quadratic. */
static void check_prefixes(struct path *path)
{
    const size_t step = 1 + path->length / 8;
    for (size_t length = 0; length <= path->length; length += step) {
        struct path *prefix = path_prefix(path, length);
        CHECK(prefix->length == length);
        CHECK(path_is_prefix(prefix, path));
        CHECK(path_overlaps(prefix, path));
        CHECK(path_overlaps(path, prefix));
        CHECK((prefix == path) == (length == path->length));
        CHECK(path_is_prefix(path, prefix) == (prefix == path));
        CHECK((path_compare(prefix, path) == 0) == (prefix == path));
        CHECK(path_compare(prefix, path) <= 0);
        CHECK(path_compare(path, prefix) >= 0);
        if (length < path->length) {
            struct path *next = path_prefix(path, length + 1);
            struct path *child = path_child(prefix, path->at[length].key);
            CHECK(child == next);
            path_unref(child);
            path_unref(next);
        }
        path_unref(prefix);
    }
}

/* The same path from an array of strings. */
static void check_array(struct path *path)
{
    struct value array = value_empty_array();
    for (size_t i = 0; i < path->length; i++) {
        array = array_push_adopt(array, value_ref(path->at[i].key));
    }
    struct path *same = NULL;
    CHECK(path_of_array(path->table, array, &same, NULL) == ERR_OK);
    CHECK(same == path);
    path_unref(same);
    value_unref(array);
}

/* A document that has exactly this path: the leaf is there, and nothing is
 * beyond it. A key "/" could make an envelope, which is a leaf. */
static void check_document(struct path *path)
{
    struct value document = value_int(42);
    for (size_t i = path->length; i-- > 0;) {
        const struct value key = path->at[i].key;
        const struct text text = value_text(&key);
        if (text.length == 1 && text.at[0] == '/') {
            value_unref(document);
            return;
        }
        document =
            object_set_adopt(value_empty_object(), value_ref(key), document);
    }
    CHECK(value_is_same(value_at(document, path), value_int(42)));
    if (path->length < LIMIT_PATH_SEGMENTS) {
        struct path *beyond = path_child(path, value_text_new("x"));
        CHECK(value_is_absent(value_at(document, beyond)));
        path_unref(beyond);
    }
    value_unref(document);
}

static void check_path(struct path *path, const char *text, size_t size)
{
    check_text(path, text, size);
    for (size_t i = 0; i < path->length; i++) {
        check_index(&path->at[i]);
    }
    check_prefixes(path);
    check_array(path);
    check_document(path);
}

static size_t common_segments(const struct path *a, const struct path *b)
{
    size_t common = 0;
    while (common < a->length && common < b->length &&
           key_equal(a->at[common].key, b->at[common].key)) {
        common++;
    }
    return common;
}

static void check_two(const struct path *a, const struct path *b)
{
    const size_t common = common_segments(a, b);
    const bool a_prefix = common == a->length;
    const bool b_prefix = common == b->length;
    CHECK(path_is_prefix(a, b) == a_prefix);
    CHECK(path_is_prefix(b, a) == b_prefix);
    CHECK(path_overlaps(a, b) == (a_prefix || b_prefix));
    CHECK(path_overlaps(a, b) == path_overlaps(b, a));
    CHECK((a == b) == (a_prefix && b_prefix));
    CHECK((a == b) == (path_compare(a, b) == 0));
    CHECK((path_compare(a, b) < 0) == (path_compare(b, a) > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *cut = size > 0 ? memchr(text, 0xFF, size) : NULL;
    const size_t first = cut != NULL ? (size_t)(cut - text) : size;
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct path_table table;
    path_table_init(&table);
    struct path *a = read(&table, text, first);
    if (a != NULL) {
        check_path(a, text, first);
    }
    if (cut != NULL) {
        const size_t second = size - first - 1;
        struct path *b = read(&table, cut + 1, second);
        if (a != NULL && b != NULL) {
            check_path(b, cut + 1, second);
            check_two(a, b);
        }
        path_unref(b);
    }
    path_unref(a);
    path_table_release(&table);
    fuzz_end(&memory);
    return 0;
}
