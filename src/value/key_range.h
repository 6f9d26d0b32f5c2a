/* Ranges: the entries of an object whose keys are between two bounds.
 *
 * A range is a virtual child of an object. Its segment is a key that no
 * document uses, which holds the bounds; its value is a digest of the entries
 * inside the bounds. So a reader of a range depends on these entries and on
 * nothing else in the object: places, conflicts and stored reads need no other
 * concept.
 *
 *   key-range-1  Keys are compared byte by byte; both bounds are inclusive. A
 *                range without an upper bound has no end.
 *   key-range-2  The digest differs if an entry inside the bounds is added,
 *                removed or changed (but for collisions of 64 bits), and never
 *                because of an entry outside. It is for this process only,
 *                like value_hash.
 *   key-range-3  A range of something other than an object is absent. */

#ifndef VALUE_KEY_RANGE_H
#define VALUE_KEY_RANGE_H

#include "value/value.h"

/* The prefix of the keys of all virtual children. */
#define KEY_VIRTUAL "\x1f"

static inline bool key_is_virtual(struct value key)
{
    return value_begins_with(key, KEY_VIRTUAL);
}

struct key_range {
    struct text from;
    struct text to;
    bool open; /* without an upper bound; `to` is empty */
};

/* The key of the virtual child, new. */
struct value key_range_to_key(const struct key_range *range);

/* The range that a key stands for; borrows from *key. False: an ordinary key.
 */
bool key_range_of_key(const struct value *key, struct key_range *out);

bool key_range_has(const struct key_range *range, struct value key);

/* The digest of the entries of `object` in the range: an integer; absent for
 * another kind of value. */
struct value key_range_digest(const struct key_range *range,
                              struct value object);

#endif
