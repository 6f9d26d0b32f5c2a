/* Matching the elements of two versions of a list.
 *
 * The target identifies an element that is a link; the value identifies any
 * other. Remaining elements on both sides are paired as edits: first next to
 * matched neighbours, then in order.
 *
 *   list-match-1  Every element of `after` matches one of `before`, each at
 *                 most once, or is new. Every other element of `before` is
 *                 gone.
 *   list-match-2  Equal elements are matched in order. If there are more of
 *                 them now, the last ones are new.
 *   list-match-3  Never both: if an element is new, none is gone. Unless the
 *                 match is strict: then only an element next to its former
 *                 neighbour is an edit.
 *   list-match-4  If there is a field for it (`key`), the value of that field
 *                 identifies each object that has it, and only such objects
 *                 count as edited.
 *
 * Shared parts of the two arrays are skipped. The range between their common
 * ends costs O(n log n), or only the elements that differ if both have the same
 * length. */

#ifndef RUNTIME_LIST_MATCH_H
#define RUNTIME_LIST_MATCH_H

#include "base/vec.h"
#include "value/value.h"

#define LIST_NEW UINT32_MAX /* an element without a former one */

struct list_move {
    uint32_t to;   /* index in `after` */
    uint32_t from; /* in `before`; or LIST_NEW */
    bool same;     /* the values are equal */
};

/* An element without an entry keeps its index, counted from the start or, if
 * the lengths differ and it is behind the moves, from the end. */
struct list_match {
    uint32_t start;  /* the first index that may differ */
    uint32_t before; /* elements between the common ends; */
    uint32_t after;  /* if the lengths differ, a move for each of these */
    VEC(struct list_move) moves; /* by `to` */
    VEC(uint32_t) gone;          /* indices in `before`, in order */

    struct value key; /* list-match-4: a string, borrowed; or absent */
    bool strict;      /* list-match-3 */

    /* while the match is computed */
    VEC(struct list_candidate) candidates;
    VEC(uint32_t) olds;
};

/* A former element that may match a new one. */
struct list_candidate {
    uint64_t hash;
    uint32_t index; /* in `before` */
    bool taken;
    uint32_t next; /* of the first with its hash: the first not taken */
};

/* Both are arrays. Overwrites *match and reuses its memory. */
void list_match(struct list_match *match,
                struct value before,
                struct value after);

void list_match_release(struct list_match *match);

#endif
