/* Whether the orderings of collections are what their rows say
 * (collection/collection.h), from the file of a space alone.
 *
 *   collection-check-1  The rows are the truth. The ordering of the keys, each
 *                       index and the count follow from them.
 *   collection-check-2  Of an ordering, each row has one entry, in the page
 *                       whose range it belongs to, and there are no others.
 *                       Pages above the leaves name pages that are there.
 *   collection-check-3  A repair writes the pages of each ordering that is
 *                       wrong anew, and the count, in one commit per 10,000
 *                       documents and one SQL transaction. Rows stay as they
 *                       are; one that cannot be a row is left out.
 *
 * Of the main branch. */

#ifndef INSPECT_COLLECTION_CHECK_H
#define INSPECT_COLLECTION_CHECK_H

#include "store/engine.h"

struct collection_report {
    /* Called for each difference: a sentence. May be NULL. */
    void (*difference)(void *ctx, const char *sentence);
    void *ctx;
};

struct collection_counts {
    uint64_t collections;
    uint64_t rows;
    uint64_t differences;
    uint64_t rebuilt; /* orderings and counts */
};

/* OK if the check could be made, whatever it found. */
MUST_CHECK enum err collections_verify(struct engine *engine,
                                       const struct collection_report *report,
                                       struct collection_counts *counts,
                                       struct err_detail *detail);

/* collection-check-3. Needs an engine that can write. */
MUST_CHECK enum err collections_repair(struct engine *engine,
                                       struct collection_counts *counts,
                                       struct err_detail *detail);

#endif
