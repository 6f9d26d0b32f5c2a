/* A set of paths for prefix queries: whether a path is at or below one of them.
 * A query costs the length of the path, whatever the size of the set.
 *
 * All zero is an empty set that owns nothing. Paths may be of any table. */

#ifndef VALUE_PATH_SET_H
#define VALUE_PATH_SET_H

#include "base/arena.h"
#include "value/path.h"

struct path_set {
    struct arena memory; /* of the nodes */
    struct map nodes;    /* by the node above and the key */
    bool has_root;       /* the empty path is in it */
};

void path_set_add(struct path_set *set, const struct path *path);

/* Whether a path of the set is `path` or a prefix of it. */
bool path_set_covers(const struct path_set *set, const struct path *path);

/* Empties it and frees its memory. */
void path_set_release(struct path_set *set);

#endif
