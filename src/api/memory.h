/* Texts that are given away.
 *
 * hd_text_free gets a bare pointer, but the allocator is told the size of
 * every block it takes back. So a text stands behind a header that holds the
 * size of its block, in one allocation:
 *
 *   | size_t block_size | text ... | 0 | room |
 *
 *   struct buf text = {0};
 *   text_begin(&text);
 *   ... append ...
 *   char *given = text_take(&text, &length); */

#ifndef API_MEMORY_H
#define API_MEMORY_H

#include "base/buf.h"
#include "value/value.h"

/* Makes room for the header in an empty builder. */
void text_begin(struct buf *buf);

/* The text since text_begin, to be released with hd_text_free; `length`, if
 * not NULL, is without the zero byte. The builder is empty again. */
char *text_take(struct buf *buf, size_t *length);

/* The bytes of a string, to be given away. */
char *text_of_string(struct value string, size_t *length);

#endif
