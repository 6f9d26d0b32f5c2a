/* Results, on standard output.
 *
 * A result is complete before its first byte is written. Whether it really
 * arrived (the disk may be full) is known when output_close says so. */

#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/options.h"
#include "heddle/heddle.h"

/* A value as JSON and a newline, in the form that the options ask for. */
int output_value(const struct options *options, const hd_value *value);

/* The bytes as they are, and a newline. */
void output_bytes(const char *bytes, size_t length);

/* A word whose characters mean themselves in JSON, too. With --json:
 * {"key":"word"}. */
void output_word(const struct options *options,
                 const char *key,
                 const char *word);

/* Whether everything so far could be written: for who would go on for ever. */
bool output_is_open(void);

/* Ends the output. Returns `code`, or CODE_IO if something got lost. */
int output_close(const struct options *options, int code);

#endif
