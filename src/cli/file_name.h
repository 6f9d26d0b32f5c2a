/* The name of a file as text.
 *
 * A file has any bytes in its name; a document, and so the note that leads
 * from a piece to its pattern, holds only UTF-8. In the note a byte that is not
 * UTF-8 is written \xNN, and a backslash before an x is \x5c: names of text
 * look as they are, and every name comes back as it was. */

#ifndef CLI_FILE_NAME_H
#define CLI_FILE_NAME_H

#include "base/buf.h"
#include "value/value.h"

/* As a string, owned. */
struct value file_name_write(const char *name);

/* Appends the name that a string was made of; nothing if it is no string. */
void file_name_read(struct buf *to, struct value text);

#endif
