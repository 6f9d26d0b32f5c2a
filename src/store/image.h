/* The bytes of an image: the static part of neighbouring actions of a piece,
 * packed so that a page is made of it without a look at their rows.
 *
 * An image stands for all actions of its generation whose numbers are in a
 * range, and for nothing else: it names no row by its number but the actions
 * themselves. It is a copy and never the truth. So what it says is used as a
 * whole or not at all: a sum over all of it and over the range is compared
 * first, then every offset in it is. The order of bytes is that of the machine,
 * and of another one's the sum is wrong.
 *
 * Pure: bytes and pages. Where images are kept is the business of images.h. */

#ifndef STORE_IMAGE_H
#define STORE_IMAGE_H

#include "proto/resume.h"

/* What an image stands for. */
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

/* False if the bytes are not an image of that: nothing of them is to be used.
 * Release it in any case. */
bool image_open(struct image *image,
                const void *bytes,
                size_t size,
                const struct image_key *key,
                struct path_table *paths);
void image_release(struct image *image);

/* The actions with numbers above `after`, and all places, to the end of the
 * page, which has at most `limit` actions then. They are CLEAN, and nothing is
 * known of their runs. False: there was no room for all. */
bool image_add(const struct image *image,
               uint64_t after,
               uint32_t limit,
               struct resume_page *page);

/* Appends the image of `count` actions of a page, from `from` on. All of them
 * are of the whole space, and none of them has a place without a path. */
void image_write(struct buf *to,
                 const struct image_key *key,
                 const struct resume_page *page,
                 size_t from,
                 size_t count);

/* Makes the sum of an image right that begins at `start`: the end of writing
 * one, and for tests. */
void image_seal(struct buf *image, size_t start);

#endif
