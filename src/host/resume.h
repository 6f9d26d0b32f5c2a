/* Asking other stores, for a resumed piece that reads other spaces.
 *
 * The pages of a piece (proto/resume.h) say what has changed in its own space.
 * The stores of other spaces know what has changed there: before the pages are
 * used, each of those is asked once, and the answers are written into the
 * pages, beside those of the own space.
 *
 *   err = resume_ask(engine, &asking, page, &head, &detail);
 *
 * If a space is not asked, or cannot be, its readers are unknown. */

#ifndef HOST_RESUME_H
#define HOST_RESUME_H

#include "proto/resume.h"
#include "value/address.h"

struct engine;

/* Which space, and for which reader. */
struct resume_asking {
    struct value space; /* as the pages name it */
    struct value branch;
    struct identity identity;
};

/* Sets `changed` of the places of that space, above the lowest seq of it that
 * an action of the page has seen, and *head to the state that was compared.
 * SEQUENCE: an action has seen a seq that the store does not have;
 * BRANCH_UNKNOWN; ARGUMENT: a place belongs to a user or a session that the
 * caller does not name; faults. The page is unchanged then. */
MUST_CHECK enum err resume_ask(struct engine *engine,
                               const struct resume_asking *asking,
                               struct resume_page *page,
                               uint64_t *head,
                               struct err_detail *detail);

#endif
