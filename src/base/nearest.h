/* The nearest of several names to one that does not exist, for the end of an
 * error message: "; did you mean 'items'?".
 *
 *   struct nearest nearest;
 *   nearest_begin(&nearest, "itmes", 5);
 *   for each name: nearest_offer(&nearest, name, length);
 *   err_set(..., "there is no field 'itmes'%s", nearest_hint(&nearest));
 *
 * Names are compared by edit distance (insert, delete, replace, swap two
 * neighbours), without regard to case. A name that is too far away is not
 * offered: a wrong suggestion is worse than none. No allocation. */

#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

enum {
    NEAREST_NAME_MAX = 64, /* bytes; longer names are not compared */
};

struct nearest {
    char wanted[NEAREST_NAME_MAX];
    size_t wanted_length;            /* 0: nothing can be near */
    size_t distance;                 /* of `name` */
    char name[NEAREST_NAME_MAX + 1]; /* "" if there is none yet */
    char hint[NEAREST_NAME_MAX + 32];
};

void nearest_begin(struct nearest *nearest, const char *wanted, size_t length);

/* Of equally near names the first one is kept. Every name is copied. */
void nearest_offer(struct nearest *nearest, const char *name, size_t length);

/* The same for a terminated text. */
void nearest_offer_text(struct nearest *nearest, const char *name);

/* "; did you mean 'NAME'?", or "" if no name is near or the wanted one was
 * offered itself. */
const char *nearest_hint(struct nearest *nearest);

#endif
