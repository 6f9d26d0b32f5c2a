/* Two versions of a list, and which element is which.
 *
 * Elements that are links are known by what they point at, all others by their
 * value. What is left over on both sides stands for elements that were edited:
 * next to what was its neighbour first, then in order.
 *
 *   A1  Every element of `after` is a former one, at most once, or new; every
 *       element of `before` that is not among those is gone.
 *   A2  Equal elements are matched in order. If there are more of them now, the
 *       last ones are new.
 *   A3  Never both: if something is new, nothing is gone. Unless the match is
 *       strict: then only an element next to its former neighbour was edited.
 *   A4  If there is a field for it (`key`), an object that has the field is
 * known by what is there, and nothing was edited but what is known.
 *
 * Shared parts of the two arrays are skipped. What is between their common ends
 * costs O(n log n), or only the elements that differ if both are of one
 * length. */

#ifndef RUNTIME_LIST_MATCH_H
#define RUNTIME_LIST_MATCH_H

#include "base/vec.h"
#include "value/value.h"

#define LIST_NEW UINT32_MAX /* an element that was not there before */

struct list_move {
    uint32_t to;   /* index in `after` */
    uint32_t from; /* in `before`; or LIST_NEW */
    bool same;     /* the values are equal */
};

/* Elements of which nothing is said are where they were, counted from the start
 * or, if the lengths differ and they are behind the moves, from the end. */
struct list_match {
    uint32_t start;  /* the first that may be another one */
    uint32_t before; /* elements between the common ends; */
    uint32_t after;  /* if the lengths differ, a move for each of these */
    VEC(struct list_move) moves; /* by `to` */
    VEC(uint32_t) gone;          /* indices in `before`, in order */

    struct value key; /* A4: a string, borrowed; or absent */
    bool strict;      /* A3 */

    /* while it is made */
    VEC(struct list_candidate) candidates;
    VEC(uint32_t) olds;
};

/* A former element that may be one of the new ones. */
struct list_candidate {
    uint64_t hash;
    uint32_t index; /* in `before` */
    bool taken;
    uint32_t next; /* of the first with its hash: the first not taken */
};

/* Both are arrays. What was in *match is lost; its room is used again. */
void list_match(struct list_match *match,
                struct value before,
                struct value after);

void list_match_release(struct list_match *match);

#endif
