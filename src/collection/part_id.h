/* The ids of the documents of a collection (value/collection_id.h).
 *
 *   part-id-1  The id of a row follows from the root and the key of the row,
 *              that of a page from the root, the ordering, the level and the
 *              lowest sort key of the page.
 *   part-id-2  A key that is a text is in the id as it is, unless it is long or
 *              has unusual characters: then its digest is, behind '#'. A number
 *              is behind '='. So is the lowest sort key of a page; that of the
 *              first page of a level, "", is '.'. */

#ifndef COLLECTION_PART_ID_H
#define COLLECTION_PART_ID_H

#include "base/buf.h"
#include "value/value.h"

enum {
    COLLECTION_KEY_BYTES_MAX = 256, /* of a key that is a text */
};

/* Whether a value can be the key of a row: a text of 1 to
 * COLLECTION_KEY_BYTES_MAX bytes, or a finite number. */
bool row_key_is_usable(struct value key);

/* A number as it is in ids and sentences. */
void row_key_append_number(struct buf *to, struct value number);

/* The id of the row with that key, which is usable. */
void row_id_append(struct buf *to, struct text root, struct value key);

/* What the ids of the pages of an ordering begin with; and that of one. */
void page_id_append_front(struct buf *to,
                          struct text root,
                          struct text ordering);
void page_id_append(struct buf *to,
                    struct text front,
                    unsigned level,
                    struct text low);

#endif
