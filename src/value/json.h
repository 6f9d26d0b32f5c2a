/* JSON text: a strict reader that builds values directly, and a writer.
 *
 * The reader accepts RFC 8259 and nothing else: no comments, no trailing
 * commas, no byte order mark; strings must be UTF-8 and surrogate escapes must
 * be paired. Of equal keys the last item wins. Integers that do not fit into 64
 * bits become the nearest double; a number beyond the largest double is
 * refused. Links, tagged leaves and the numbers that JSON lacks have the form
 * {"/":{"name@1":state}} (value-4).
 *
 *   json-1  json_read(json_write(v)) equals v, in either form, for every v
 *           within the limits.
 *   json-2  Values are equal iff their canonical texts are the same bytes. Keys
 *           are sorted by their bytes, numbers have the fewest digits that read
 *           back the same, nothing is escaped that need not be.
 *   json-3  No recursion; the depth is bounded by a limit, not by the stack. */

#ifndef VALUE_JSON_H
#define VALUE_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "value/value.h"

/* A field that is 0 means the number in base/limits.h. */
struct json_limits {
    size_t text_bytes;
    size_t string_bytes;
    size_t depth;
    size_t keys;
    size_t elements;
};

/* For what this program has written: it was within the current or earlier
 * limits, and is read again whatever they are. A document is within
 * LIMIT_DEPTH; patches, commits, records and messages wrap it. */
#define JSON_LIMITS_STORED                                                  \
    {                                                                       \
        .text_bytes = SIZE_MAX, .string_bytes = SIZE_MAX, .keys = SIZE_MAX, \
        .elements = SIZE_MAX, .depth = LIMIT_DEPTH + LIMIT_WRAPPING         \
    }

/* Where and why a text was refused. Lines and columns count from 1, columns
 * in characters. */
struct json_fault {
    enum err err;
    size_t offset;
    size_t line;
    size_t column;
    char text[ERR_TEXT_SIZE]; /* "line 3, column 7: expected ..." */
};

/* The value of the whole text. On an error *out is absent, and `fault`, which
 * may be NULL, says what was expected. Errors: SYNTAX, RANGE, LIMIT_*. */
MUST_CHECK enum err json_read(const char *text,
                              size_t length,
                              const struct json_limits *limits,
                              struct value *out,
                              struct json_fault *fault);

enum json_form {
    JSON_AS_GIVEN,  /* keys in insertion order */
    JSON_CANONICAL, /* json-2 */
};

/* Appends the text of `value`, which is not absent. With an indent of 0 it is
 * one line without blanks; otherwise each level is that many spaces deeper. */
void json_write(struct buf *to,
                struct value value,
                enum json_form form,
                unsigned indent);

/* The same, of at most `length_max` bytes. False if the text is longer: writing
 * stops soon after that point, and the appended text is useless. */
MUST_CHECK bool json_write_within(struct buf *to,
                                  struct value value,
                                  enum json_form form,
                                  unsigned indent,
                                  size_t length_max);

/* Appends a string with its quotes and escapes. */
void json_write_string(struct buf *to, struct text text);

#endif
