/* From our errors to the public status: the numbers are the same, which
 * status.c proves at compile time, so the conversion is a cast. */

#ifndef API_STATUS_H
#define API_STATUS_H

#include "base/err.h"
#include "heddle/heddle.h"

static inline hd_status status_of(enum err err)
{
    return (hd_status)err;
}

#endif
