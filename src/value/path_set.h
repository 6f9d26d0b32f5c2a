/* A set of paths that is asked whether one of them is a prefix of another: what
 * is at or above a place. Costs the length of the path, whatever is in the set.
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

/* Empty again. */
void path_set_release(struct path_set *set);

#endif
