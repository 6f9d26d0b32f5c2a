/* Random documents that link to each other, and random selectors, for the
 * reach. There are few ids, so that cycles, shared targets and links that come
 * back are frequent. */

#ifndef TEST_LIB_REACH_GEN_H
#define TEST_LIB_REACH_GEN_H

#include "base/random.h"
#include "proto/target.h"

enum {
    REACH_GEN_IDS = 9,
};

/* "d0" to "d8"; the scope is mostly that of the space. All results are yours to
 * release. */
struct target reach_gen_target(struct random *random);
struct value reach_gen_document(struct random *random);
struct value reach_gen_schema(struct random *random);

/* An array of keys, without "value". */
struct value reach_gen_path(struct random *random);

#endif
