/* Objects: maps from strings to values that keep insertion order.
 *
 * The order is for people; equality and hash ignore it. Replacing an item keeps
 * the key's position, a removed and added key goes to the end. Up to 32 entries
 * an object is a flat list. A larger object finds and changes an entry in
 * O(log n) with a base of 16 or 32, and a change shares everything but the path
 * to it.
 *
 * Results of _adopt functions obey value-4: an object that has become an
 * envelope is returned as the leaf that it means. */

#ifndef VALUE_OBJECT_H
#define VALUE_OBJECT_H

#include "value/value.h"

/* pairs: key, item, key, item, ... for `count` entries, all adopted. Of equal
 * keys the first sets the position, the last the item. */
struct value object_new_adopt(const struct value *pairs, size_t count);

uint32_t object_count(struct value object);

/* The item of `key`, a string; absent if there is none. */
struct value object_get(struct value object, struct value key);
struct value object_get_text(struct value object,
                             const char *key,
                             size_t length);

/* The item of a key that is a C string; absent if there is none, or if the
 * value is not an object. */
struct value object_field(struct value object, const char *name);

/* Sets a key that is a C string in *object; adopts the item. */
void object_put_adopt(struct value *object,
                      const char *name,
                      struct value item);
void object_put_number(struct value *object, const char *name, uint64_t number);
void object_put_text(struct value *object, const char *name, const char *text);

/* The whole number of a key that is a C string; 0 if there is none. */
uint64_t object_number(struct value object, const char *name);

struct value object_set_adopt(struct value object,
                              struct value key,
                              struct value item);

/* `object` itself if it has no such key. */
struct value object_remove_adopt(struct value object, struct value key);

/* The slot of an item, to be changed in place: *object is made unshared first.
 * NULL, and nothing changes, if there is no such key. The caller leaves a value
 * there that is not absent, and calls value_normalise_adopt on *object when
 * done (value-4). */
struct value *object_own_slot(struct value *object, struct value key);

/* Whether two strings are equal. */
bool key_equal(struct value a, struct value b);

/* -- Iteration in order --------------------------------------------------
 *
 * An object's entries as a sequence of slots: key, item, key, item, ... An
 * absent key is a removed entry. */

uint32_t object_slots(struct value object);
const struct value *object_chunk(struct value object,
                                 uint32_t slot,
                                 uint32_t *run);
uint32_t object_shared_run(struct value a, struct value b, uint32_t slot);

struct object_iter {
    struct value object;
    const struct value *at;
    uint32_t run;  /* slots left at `at` */
    uint32_t next; /* the slot after those */
};

static inline struct object_iter object_iter(struct value object)
{
    return (struct object_iter){.object = object};
}

/* The next entry, borrowed; false at the end. */
bool object_next(struct object_iter *iter,
                 struct value *key,
                 struct value *item);

#endif
