/* The bytes of an image: the static part of neighbouring actions of a piece,
 * packed so that a page can be built from it without reading their rows.
 *
 * An image represents all actions of its generation whose numbers are in a
 * range, and nothing else. The only row numbers in it are those of the actions.
 * It is a copy, never the source of truth. So it is used as a whole or not at
 * all: first a checksum over all of it and the range is compared, then every
 * offset is checked. The byte order is that of the machine; on another machine
 * the checksum does not match.
 *
 * Pure: bytes and pages. images.h stores images. */

#ifndef STORE_IMAGE_H
#define STORE_IMAGE_H

#include "proto/resume.h"

/* What an image represents. */
struct image_key {
    uint64_t piece;
    uint64_t first; /* of the range of numbers, both inclusive */
    uint64_t last;
    uint64_t generation;
};

/* An image being read; the bytes are borrowed. */
struct image {
    const unsigned char *actions;
    const unsigned char *places;
    const unsigned char *indexes;
    const unsigned char *codes;
    const unsigned char *gates;
    const char *texts;
    uint32_t action_count;
    uint32_t place_count;
    uint32_t index_count;
    uint32_t code_count;
    uint32_t gate_count;
    uint32_t text_bytes;
    VEC(struct path *) paths; /* references */
    VEC(struct value) spaces; /* likewise */
};

/* False if the bytes are not an image of that: none of them may be used.
 * Release it in any case. */
bool image_open(struct image *image,
                const void *bytes,
                size_t size,
                const struct image_key *key,
                struct path_table *paths);
void image_release(struct image *image);

/* Appends the actions with numbers above `after`, and all places, to the page,
 * up to `limit` actions in all. They are CLEAN, and nothing is known of their
 * runs. False: there was no room for all. */
bool image_add(const struct image *image,
               uint64_t after,
               uint32_t limit,
               struct resume_page *page);

/* Appends the image of `count` actions of a page, from `from` on. All of them
 * have space scope, and no place lacks a path. */
void image_write(struct buf *to,
                 const struct image_key *key,
                 const struct resume_page *page,
                 size_t from,
                 size_t count);

/* Sets the checksum of an image that begins at `start`: the last step of
 * writing one, and for tests. */
void image_seal(struct buf *image, size_t start);

#endif
