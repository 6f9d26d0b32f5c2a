/* What the files of this folder share. */

#ifndef COLLECTION_COLLECTION_INTERNAL_H
#define COLLECTION_COLLECTION_INTERNAL_H

#include "collection/collection.h"

void collection_clear(struct collection *collection);

/* From a definition; NOT_FOUND if it is absent. */
MUST_CHECK enum err collection_compile(struct collection *collection,
                                       struct value definition,
                                       struct err_detail *detail);

/* Updates the collection from its root in the view of the access; STALE: the
 * root is not loaded, and the access waits for it. */
MUST_CHECK enum err collection_refresh(struct collection *collection,
                                       const struct collection_access *access,
                                       struct err_detail *detail);

/* Adds to the number of rows. */
MUST_CHECK enum err collection_add_to_count(const struct collection *collection,
                                            struct transaction *transaction,
                                            int by,
                                            struct err_detail *detail);

/* The sort key of a row in an ordering; new. ARGUMENT: a field is invalid. */
MUST_CHECK enum err collection_sort_key(const struct collection *collection,
                                        const struct ordering *ordering,
                                        struct value row,
                                        struct value *out,
                                        struct err_detail *detail);

#endif
