/* The name of a file as text.
 *
 * A file name may hold any bytes; a document, and so the note with which a
 * piece refers to its pattern, holds only UTF-8. In the note a byte that is not
 * UTF-8 is written \xNN, and a backslash before an x is \x5c: ordinary names
 * stay readable, and every name is restored exactly. */

#ifndef CLI_FILE_NAME_H
#define CLI_FILE_NAME_H

#include "base/buf.h"
#include "value/value.h"

/* As a string, owned. */
struct value file_name_write(const char *name);

/* Appends the name that a string encodes; nothing if it is not a string. */
void file_name_read(struct buf *to, struct value text);

#endif
