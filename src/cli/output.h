/* Results, on standard output.
 *
 * A result is complete before its first byte is written. output_close tells
 * whether it was written (the disk may be full). */

#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/options.h"
#include "heddle/heddle.h"

/* A value as JSON and a newline, in the form of the options. */
int output_value(const struct options *options, const hd_value *value);

/* The bytes as they are, and a newline. */
void output_bytes(const char *bytes, size_t length);

/* A word that needs no escapes in JSON. With --json: {"key":"word"}. */
void output_word(const struct options *options,
                 const char *key,
                 const char *word);

/* Whether all output so far could be written: for endless commands. */
bool output_is_open(void);

/* Ends the output. Returns `code`, or CODE_IO if output was lost. */
int output_close(const struct options *options, int code);

#endif
