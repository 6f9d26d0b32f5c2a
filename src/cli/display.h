/* Untrusted text on a terminal.
 *
 * File names, keys and messages may hold anything. The output is one line of
 * valid UTF-8 without control characters: a newline is shown as \x0a, a byte
 * that is not UTF-8 as \xff, an invisible mark that changes the direction of
 * the text as \u202e. */

#ifndef CLI_DISPLAY_H
#define CLI_DISPLAY_H

#include "base/buf.h"
#include "value/value.h"

/* Appends `text` in that form. */
void display_append(struct buf *to, const char *text);

/* The same as a string. */
struct value display_text(const char *text);

/* Appends a count with its noun: "12 documents", "1 piece". */
void display_count(struct buf *to, uint64_t count, const char *noun);

#endif
