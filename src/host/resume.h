/* Asking other stores, for a piece that is resumed and reads elsewhere.
 *
 * The pages of a piece (proto/resume.h) say what has changed in its own space.
 * What its actions read in other spaces is in their stores: before the pages
 * are used, each of those is asked once, and the answers are written into the
 * pages, where those of the own space are.
 *
 *   err = resume_ask(engine, &asking, page, &head, &detail);
 *
 * A space that nobody asks, or that cannot be, leaves its readers unknown. */

#ifndef HOST_RESUME_H
#define HOST_RESUME_H

#include "proto/resume.h"
#include "value/address.h"

struct engine;

/* Which space, and for whom. */
struct resume_asking {
    struct value space; /* as the pages name it */
    struct value branch;
    struct identity identity;
};

/* Sets `changed` of the places of that space, above the lowest seq of it that
 * an action of the page has seen, and *head to the state that this is of.
 * SEQUENCE: something was seen that the store does not have; BRANCH_UNKNOWN;
 * ARGUMENT: a place is somebody's, and nobody says whose; faults. The page is
 * then as it was. */
MUST_CHECK enum err resume_ask(struct engine *engine,
                               const struct resume_asking *asking,
                               struct resume_page *page,
                               uint64_t *head,
                               struct err_detail *detail);

#endif
