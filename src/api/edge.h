/* Lengths that come from outside, and may mean "up to the zero byte". */

#ifndef API_EDGE_H
#define API_EDGE_H

#include <string.h>

#include "heddle/heddle.h"

/* The length that the caller means. Of a terminated text at most `limit` + 1
 * bytes are looked at: one that is longer is refused anyway. */
static inline size_t edge_length(const char *text, size_t length, size_t limit)
{
    return length == HD_TERMINATED ? strnlen(text, limit + 1) : length;
}

#endif
