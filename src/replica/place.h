/* Places: a document and a path in it, interned.
 *
 * Reads and writes name a place: a pointer that was looked up once, and then
 * costs no hashing and no string comparison. The places of an entity form a
 * trie along their paths. The layers above hang their indexes of readers and
 * writers into it.
 *
 *   place-1  One place per entity and path: equal places are the same pointer.
 *   place-2  `parent` is the place one segment shorter, and NULL for the two
 *            that need none: the root and the payload. place_parent handles
 *            both.
 *   place-3  A place lives as long as it has references; a child holds one to
 *            its parent, and so does an index link in `readers` or `writers`.
 *
 * Nearly all reads and writes are of the payload, at "value". So its place
 * needs no other, and a document that holds one number has one place. */

#ifndef REPLICA_PLACE_H
#define REPLICA_PLACE_H

#include "base/chain.h"
#include "value/difference.h"
#include "value/path.h"

struct entity;

/* What every read and write touches comes first. */
struct place {
    struct entity *entity;
    uint64_t logged; /* epoch * 4 of the last transaction that logged it, plus
                        one bit per kind of read (replica/transaction.h) */
    uint32_t refs;
    uint32_t child_count : 31;
    uint32_t ranges : 1; /* a child is, or was, a range (value/key_range.h) */

    /* For the layer above: how many places below it, by way of their parents,
     * have writers; and a number to find its own record again. */
    uint32_t writers_below;
    uint32_t scratch;

    /* For the layer above: links of the readers, by kind of read, and of the
     * writers. */
    struct chain readers[2];
    struct chain writers;

    struct place *parent; /* place-2; holds a reference */
    struct path *path;    /* from the root of the document */
    struct chain children;
    struct chain_link sibling; /* in the parent's children */
};

/* The place, a new reference. */
struct place *place_of(struct entity *entity, struct path *path);
struct place *place_payload(struct entity *entity); /* at "value" */
struct place *place_root(struct entity *entity);
struct place *place_child(struct place *place, struct value key);

void place_free(struct place *place);

static inline struct place *place_ref(struct place *place)
{
    place->refs++;
    return place;
}

static inline void place_unref(struct place *place)
{
    if (--place->refs == 0) {
        place_free(place);
    }
}

/* The place above if it exists, or NULL: none is created. */
struct place *place_parent(const struct place *place);

/* The place at `path`, or one segment below a place; borrowed, or NULL: none is
 * created. */
struct place *place_find(const struct entity *entity, const struct path *path);
struct place *place_find_child(const struct place *place, struct value key);

/* place-1 to place-3 for all places of an entity. */
bool place_check(const struct entity *entity);

#endif
