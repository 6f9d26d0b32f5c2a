/* Interned paths and their text. */

#include "value/path.h"

#include <string.h>

#include "base/limits.h"
#include "base/stack.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/number.h"
#include "value/object.h"
#include "value/utf8.h"

/* -- Segments ------------------------------------------------------------ */

uint32_t path_index(struct value key)
{
    const struct text text = value_text(&key);
    if (text.length == 0 || text.length > 10 ||
        (text.at[0] == '0' && text.length > 1)) {
        return PATH_NOT_INDEX;
    }
    uint64_t index = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return PATH_NOT_INDEX;
        }
        index = index * 10 + (uint64_t)(text.at[i] - '0');
    }
    return index < PATH_NOT_INDEX ? (uint32_t)index : PATH_NOT_INDEX;
}

struct path_segment path_segment(struct value key)
{
    CHECK(value_is_string(key));
    return (struct path_segment){
        .key = value_ref(key),
        .index = path_index(key),
    };
}

struct path_segment path_segment_of_index(uint32_t index)
{
    char text[NUMBER_TEXT_MAX];
    return (struct path_segment){
        .key = value_string_new(text, number_write_int(text, index)),
        .index = index,
    };
}

void path_segment_release(struct path_segment *segment)
{
    value_unref(segment->key);
    segment->key = VALUE_NONE;
}

/* -- The table ----------------------------------------------------------- */

void path_table_init(struct path_table *table)
{
    *table = (struct path_table){0};
}

void path_table_release(struct path_table *table)
{
    CHECK(table->paths.count == 0); /* every path has been released */
    map_release(&table->paths);
}

struct path_key {
    const struct path_segment *segments;
    size_t length;
};

static bool same_segments(const void *item, const void *key)
{
    const struct path *path = item;
    const struct path_key *wanted = key;
    if (path->length != wanted->length) {
        return false;
    }
    for (size_t i = 0; i < path->length; i++) {
        if (!key_equal(path->at[i].key, wanted->segments[i].key)) {
            return false;
        }
    }
    return true;
}

static uint64_t hash_segments(const struct path_segment *segments,
                              size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++) {
        hash =
            (hash ^ value_hash(segments[i].key)) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash;
}

static size_t path_size(size_t length)
{
    return sizeof(struct path) + length * sizeof(struct path_segment);
}

struct path *path_new(struct path_table *table,
                      const struct path_segment *segments,
                      size_t length)
{
    CHECK(length <= UINT32_MAX);
    const uint64_t hash = hash_segments(segments, length);
    const struct path_key key = {segments, length};
    struct path *path = map_find(&table->paths, hash, same_segments, &key);
    if (path != NULL) {
        return path_ref(path);
    }
    path = mem_alloc(path_size(length));
    *path = (struct path){
        .refs = 1,
        .length = (uint32_t)length,
        .hash = hash,
        .table = table,
    };
    for (size_t i = 0; i < length; i++) {
        path->at[i] = segments[i];
        (void)value_ref(segments[i].key);
    }
    map_insert(&table->paths, hash, path);
    return path;
}

struct path *path_ref(struct path *path)
{
    path->refs++;
    return path;
}

void path_unref(struct path *path)
{
    if (path == NULL || --path->refs > 0) {
        return;
    }
    const struct path_key key = {path->at, path->length};
    (void)map_remove(&path->table->paths, path->hash, same_segments, &key);
    for (size_t i = 0; i < path->length; i++) {
        value_unref(path->at[i].key);
    }
    mem_free(path, path_size(path->length));
}

/* -- Text ---------------------------------------------------------------- */

typedef STACK(struct path_segment, 16) segment_stack;

static void release_segments(segment_stack *segments)
{
    for (size_t i = 0; i < segments->count; i++) {
        path_segment_release(&segments->at[i]);
    }
    stack_release(segments);
}

/* One segment, [from, to) of the pointer, with ~0 and ~1 resolved. */
static enum err read_segment(const char *from,
                             const char *to,
                             struct path_segment *out,
                             struct err_detail *detail)
{
    struct buf text = {0};
    for (const char *at = from; at < to; at++) {
        char c = *at;
        if (c == '~') {
            at++;
            if (at >= to || (*at != '0' && *at != '1')) {
                buf_release(&text);
                return err_set(
                    detail,
                    ERR_SYNTAX,
                    "a '~' in a pointer must be part of '~0' or '~1'");
            }
            c = *at == '0' ? '~' : '/';
        }
        buf_append_char(&text, c);
    }
    struct value key = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    *out = path_segment(key);
    value_unref(key);
    return ERR_OK;
}

static enum err read_segments(const char *pointer,
                              const char *end,
                              segment_stack *segments,
                              struct err_detail *detail)
{
    const char *at = pointer;
    while (at < end) {
        const char *from = at + 1;
        const char *slash = memchr(from, '/', (size_t)(end - from));
        at = slash != NULL ? slash : end;
        enum err err = path_check(segments->count + 1, detail);
        if (err != ERR_OK) {
            return err;
        }
        struct path_segment segment;
        err = read_segment(from, at, &segment, detail);
        if (err != ERR_OK) {
            return err;
        }
        stack_push(segments, segment);
    }
    return ERR_OK;
}

enum err path_too_long(struct err_detail *detail)
{
    return err_set(detail,
                   ERR_LIMIT_PATH,
                   "a path can have at most %d segments",
                   LIMIT_PATH_SEGMENTS);
}

enum err path_read(struct path_table *table,
                   const char *pointer,
                   size_t length,
                   struct path **out,
                   struct err_detail *detail)
{
    *out = NULL;
    return length <= LIMIT_POINTER_BYTES
               ? path_read_stored(table, pointer, length, out, detail)
               : err_set(detail,
                         ERR_LIMIT_PATH,
                         "a pointer can have at most %d bytes",
                         LIMIT_POINTER_BYTES);
}

enum err path_read_stored(struct path_table *table,
                          const char *pointer,
                          size_t length,
                          struct path **out,
                          struct err_detail *detail)
{
    *out = NULL;
    if (length > 0 && pointer[0] != '/') {
        return err_set(detail,
                       ERR_SYNTAX,
                       "a pointer must be empty or begin with '/'");
    }
    if (!utf8_is_valid(pointer, length)) {
        return err_set(detail, ERR_SYNTAX, "a pointer must be UTF-8");
    }
    segment_stack segments;
    stack_init(&segments);
    const enum err err =
        read_segments(pointer, pointer + length, &segments, detail);
    if (err == ERR_OK) {
        *out = path_new(table, segments.at, segments.count);
    }
    release_segments(&segments);
    return err;
}

enum err path_of_array(struct path_table *table,
                       struct value array,
                       struct path **out,
                       struct err_detail *detail)
{
    *out = NULL;
    if (!value_is_array(array)) {
        return err_set(detail, ERR_TYPE, "a path must be an array of strings");
    }
    const uint32_t count = array_count(array);
    enum err err = path_check(count, detail);
    if (err != ERR_OK) {
        return err;
    }
    segment_stack segments;
    stack_init(&segments);
    for (uint32_t i = 0; i < count && err == ERR_OK; i++) {
        const struct value key = array_at(array, i);
        if (value_is_string(key)) {
            stack_push(&segments, path_segment(key));
        } else {
            err = err_set(detail,
                          ERR_TYPE,
                          "a path must be an array of "
                          "strings");
        }
    }
    if (err == ERR_OK) {
        *out = path_new(table, segments.at, segments.count);
    }
    release_segments(&segments);
    return err;
}

void path_write_segments(struct buf *to,
                         const struct path_segment *segments,
                         size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const struct text text = value_text(&segments[i].key);
        buf_append_char(to, '/');
        for (size_t j = 0; j < text.length; j++) {
            if (text.at[j] == '~') {
                buf_append(to, "~0", 2);
            } else if (text.at[j] == '/') {
                buf_append(to, "~1", 2);
            } else {
                buf_append_char(to, text.at[j]);
            }
        }
    }
}

void path_write(struct buf *to, const struct path *path)
{
    path_write_segments(to, path->at, path->length);
}

/* -- Relations ----------------------------------------------------------- */

struct path *path_child(struct path *path, struct value key)
{
    segment_stack segments;
    stack_init(&segments);
    for (size_t i = 0; i < path->length; i++) {
        stack_push(&segments, path->at[i]);
    }
    struct path_segment last = path_segment(key);
    stack_push(&segments, last);
    struct path *child = path_new(path->table, segments.at, segments.count);
    path_segment_release(&last);
    stack_release(&segments);
    return child;
}

struct path *path_prefix(struct path *path, size_t length)
{
    CHECK(length <= path->length);
    return path_new(path->table, path->at, length);
}

static bool segments_are_equal(const struct path *a,
                               const struct path *b,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!key_equal(a->at[i].key, b->at[i].key)) {
            return false;
        }
    }
    return true;
}

bool path_is_prefix(const struct path *prefix, const struct path *path)
{
    return prefix == path || (prefix->length <= path->length &&
                              segments_are_equal(prefix, path, prefix->length));
}

/* Whether the last segment of `path` is a range that `other` goes through. */
static bool ends_with_range_of(const struct path *path,
                               const struct path *other)
{
    const size_t last = (size_t)path->length - 1;
    struct key_range range;
    return path->length > 0 && other->length > last &&
           key_range_of_key(&path->at[last].key, &range) &&
           key_range_has(&range, other->at[last].key) &&
           segments_are_equal(path, other, last);
}

bool path_overlaps(const struct path *a, const struct path *b)
{
    return path_is_prefix(a, b) || path_is_prefix(b, a) ||
           ends_with_range_of(a, b) || ends_with_range_of(b, a);
}

int path_compare(const struct path *a, const struct path *b)
{
    const size_t common = a->length < b->length ? a->length : b->length;
    for (size_t i = 0; i < common; i++) {
        const int order = value_compare_strings(a->at[i].key, b->at[i].key);
        if (order != 0) {
            return order;
        }
    }
    return (a->length > b->length) - (a->length < b->length);
}

struct value value_child(struct value value, const struct path_segment *segment)
{
    if (value_is_object(value)) {
        return object_get(value, segment->key);
    }
    if (value_is_array(value) && segment->index != PATH_NOT_INDEX) {
        return array_at(value, segment->index);
    }
    return VALUE_NONE;
}

/* Of a container that has no such child. */
COLD static struct value virtual_child(struct value value, struct value key)
{
    struct key_range range;
    if (key_range_of_key(&key, &range)) {
        return key_range_digest(&range, value);
    }
    return value_is_text(key, PATH_KIND) ? value_bool(value_is_array(value))
                                         : VALUE_NONE;
}

struct value value_child_or_virtual(struct value value,
                                    const struct path_segment *segment)
{
    const struct value child = value_child(value, segment);
    return UNLIKELY(value_is_absent(child)) && value_is_container(value) &&
                   key_is_virtual(segment->key)
               ? virtual_child(value, segment->key)
               : child;
}

struct value value_at(struct value value, const struct path *path)
{
    for (size_t i = 0; i < path->length && !value_is_absent(value); i++) {
        value = value_child(value, &path->at[i]);
    }
    return value;
}
