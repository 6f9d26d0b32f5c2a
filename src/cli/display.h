/* Text of others on a terminal.
 *
 * File names, keys and messages may hold anything. What is shown is one line
 * of valid UTF-8 without control characters: a newline is shown as \x0a, a
 * byte that is not UTF-8 as \xff, an invisible mark that turns the direction
 * of the text as \u202e. */

#ifndef CLI_DISPLAY_H
#define CLI_DISPLAY_H

#include "base/buf.h"
#include "value/value.h"

/* Appends what is shown for `text`. */
void display_append(struct buf *to, const char *text);

/* The same as a string. */
struct value display_text(const char *text);

/* Appends a count with its noun: "12 documents", "1 piece". */
void display_count(struct buf *to, uint64_t count, const char *noun);

#endif
