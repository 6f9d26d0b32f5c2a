/* Random values, paths and patches for properties.
 *
 * Everything follows from a seeded `struct random`. The draws lean towards
 * what goes wrong: sizes beside the borders of nodes, the same few keys again
 * and again, keys that look like indices, strings beside the length that fits
 * into a handle, numbers beside the ends of their ranges. */

#ifndef TEST_LIB_GEN_H
#define TEST_LIB_GEN_H

#include "base/random.h"
#include "value/patch.h"

enum gen_flag {
    GEN_SPECIALS = 1,  /* NaN, infinities, links, tagged leaves */
    GEN_ENVELOPES = 2, /* keys "/" and "name@1" often enough to meet */
    GEN_PLAIN = 4,     /* numbers that every JSON library agrees about */
};

struct gen {
    struct random *random;
    unsigned depth; /* containers on the longest way down */
    uint32_t width; /* entries or elements of one container, at most */
    unsigned flags; /* enum gen_flag */
};

/* 0 to `max`, mostly small, often beside 16, 32, 512 and their like. */
uint32_t gen_size(struct random *random, uint32_t max);

/* All results are yours to release. */
struct value gen_number(const struct gen *gen);
struct value gen_string(struct random *random, size_t max);
struct value gen_key(const struct gen *gen); /* of few different ones */
struct value gen_leaf(const struct gen *gen);
struct value gen_value(const struct gen *gen);
struct value gen_array(const struct gen *gen);
struct value gen_object(const struct gen *gen);

/* A value that is like `value` but for a few places, which may be none. */
struct value gen_edit_adopt(const struct gen *gen, struct value value);

/* A value equal to `value` in new nodes, built by another route: in another
 * order of keys, from the middle, with detours. */
struct value gen_rebuild(const struct gen *gen, struct value value);

/* A path into `value`: mostly to something, sometimes just beside it. */
struct path *gen_path(const struct gen *gen,
                      struct path_table *paths,
                      struct value value);

/* An operation that often, but not always, applies to `value`. */
struct patch_op gen_op(const struct gen *gen,
                       struct path_table *paths,
                       struct value value);

#endif
