/* Documents and commits as everything between a replica and a store names
 * them. */

#ifndef PROTO_TARGET_H
#define PROTO_TARGET_H

#include "base/vec.h"
#include "value/address.h"

/* A document, as operations, reads and preconditions name it. */
struct target {
    struct value id; /* string */
    enum scope scope;
};

struct layer_list {
    VEC(uint64_t) at; /* local sequence numbers, ascending, not empty */
};

#endif
