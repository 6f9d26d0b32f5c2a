/* Pulls: reading at the top level what is up to date.
 *
 *   struct pull pull = {.runtime = runtime, .place = place, .read = read};
 *   pull_begin(&pull);
 *   ... steps of the runtime ...
 *   pull_end(&pull);
 *
 * Between the two, an effect reads the place: what the value is computed from
 * is demanded, and runs. The effect is not delayed by debounce or throttle. */

#ifndef FRONT_PULL_H
#define FRONT_PULL_H

#include "runtime/cell.h"

/* As cell_read, by a run. */
typedef enum err pull_fn(const struct cell_access *access,
                         struct place *place,
                         struct value *out,
                         struct err_detail *detail);

struct pull {
    struct runtime *runtime;
    struct place *place;    /* borrowed */
    pull_fn *read;          /* NULL: cell_read */
    struct value clearance; /* of the effect (sched/labels.h); or absent */

    /* What the effect has come to. */
    struct node *node;
    bool is_done; /* it has read */
    uint64_t runs;
    struct value seen; /* by the last run; the caller's after pull_end */
    enum err err;
    struct err_detail detail;
};

/* The fields above `node` are set, the others zero. */
void pull_begin(struct pull *pull);
void pull_end(struct pull *pull);

#endif
