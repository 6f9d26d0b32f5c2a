/* Paths: positions in a document.
 *
 * A path is an array of segments, each a string; in an array the segment is a
 * decimal index. Its text is a JSON Pointer (RFC 6901): "" is the whole
 * document, "/a/0/b~1c" goes to a, then 0, then b/c.
 *
 * Paths are interned: a table keeps one copy of each, so two paths of one table
 * are equal iff they are the same pointer, and a segment's index is parsed
 * once. A path lives as long as it is referenced, and must be released before
 * its table. */

#ifndef VALUE_PATH_H
#define VALUE_PATH_H

#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/map.h"
#include "value/key_range.h"
#include "value/value.h"

/* "0" or digits without a leading zero, at most 4294967294. Anything else is
 * only a key. */
#define PATH_NOT_INDEX UINT32_MAX

struct path_segment {
    struct value key; /* string */
    uint32_t index;   /* or PATH_NOT_INDEX */
};

/* The index in a key, or PATH_NOT_INDEX. */
uint32_t path_index(struct value key);

/* Makes a segment; takes its own reference. */
struct path_segment path_segment(struct value key);
struct path_segment path_segment_of_index(uint32_t index);
void path_segment_release(struct path_segment *segment);

struct path_table {
    struct map paths;
};

struct path {
    uint32_t refs;
    uint32_t length;
    uint64_t hash;
    struct path_table *table;
    struct path_segment at[];
};

void path_table_init(struct path_table *table);
void path_table_release(struct path_table *table);

/* The path with these segments. External paths longer than LIMIT_PATH_SEGMENTS
 * are refused on input, and by commit_check (path_check). */
struct path *path_new(struct path_table *table,
                      const struct path_segment *segments,
                      size_t length);
struct path *path_ref(struct path *path);
void path_unref(struct path *path); /* NULL is harmless */

/* LIMIT_PATH. */
enum err path_too_long(struct err_detail *detail);

/* Whether a path of that many segments is within the limit: OK, LIMIT_PATH. */
static inline enum err path_check(size_t length, struct err_detail *detail)
{
    return LIKELY(length <= LIMIT_PATH_SEGMENTS) ? ERR_OK
                                                 : path_too_long(detail);
}

/* From the text of a JSON Pointer. Errors: SYNTAX, LIMIT_PATH. */
MUST_CHECK enum err path_read(struct path_table *table,
                              const char *pointer,
                              size_t length,
                              struct path **out,
                              struct err_detail *detail);

/* The same for a pointer in a row or a patch, whose length is bounded only by
 * the keys of its document. */
MUST_CHECK enum err path_read_stored(struct path_table *table,
                                     const char *pointer,
                                     size_t length,
                                     struct path **out,
                                     struct err_detail *detail);

/* From an array of strings, as in links. Errors: TYPE, LIMIT_PATH. */
MUST_CHECK enum err path_of_array(struct path_table *table,
                                  struct value array,
                                  struct path **out,
                                  struct err_detail *detail);

/* Appends the JSON Pointer. */
void path_write(struct buf *to, const struct path *path);
void path_write_segments(struct buf *to,
                         const struct path_segment *segments,
                         size_t length);

/* The path one longer, and the first `length` segments of a path. */
struct path *path_child(struct path *path, struct value key);
struct path *path_prefix(struct path *path, size_t length);

bool path_is_prefix(const struct path *prefix, const struct path *path);

/* Whether one is a prefix of the other, or ends with a range that the other
 * goes through: then a change at one can be seen at the other. */
bool path_overlaps(const struct path *a, const struct path *b);

/* Segment by segment as strings ("10" before "2"), a prefix first. */
int path_compare(const struct path *a, const struct path *b);

/* The child of `value` at one segment, borrowed; absent if `value` is not a
 * container or has no such child. Strings are not indexable. */
struct value value_child(struct value value,
                         const struct path_segment *segment);

/* The same for readers, which can also read a virtual child: a key that no
 * document uses. The value of PATH_KIND is true for an array, false for an
 * object, and absent for anything else: a read of it depends on the kind of
 * container, and on nothing below. The other virtual children are ranges
 * (value/key_range.h). */
#define PATH_KIND KEY_VIRTUAL "kind"
struct value value_child_or_virtual(struct value value,
                                    const struct path_segment *segment);

/* The value at `path` in `value`, borrowed; or absent. */
struct value value_at(struct value value, const struct path *path);

#endif
