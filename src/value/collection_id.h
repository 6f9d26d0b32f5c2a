/* Which ids belong to a collection.
 *
 * A collection is several documents: its root, ROOT "//row/" KEY per row and
 * ROOT "//order/" INDEX "/L" LEVEL "/" LOW per page of an ordering
 * (collection/collection.h). The store knows only this much: a merge of
 * branches takes or leaves a collection as a whole. */

#ifndef VALUE_COLLECTION_ID_H
#define VALUE_COLLECTION_ID_H

#include "value/value.h"

#define COLLECTION_ROW_MARK   "//row/"
#define COLLECTION_ORDER_MARK "//order/"

enum collection_part {
    COLLECTION_NO_PART, /* another document; a root may be one */
    COLLECTION_ROW,
    COLLECTION_PAGE,
};

/* The part that an id names; and the length of the root's id at its beginning,
 * 0 if it is not a part. */
enum collection_part collection_part_of(struct text id, size_t *root_length);

#endif
