/* The public handle of a value: a counted box around a `struct value`, which
 * is a pair of words and has no address that could be given away.
 *
 *   handle-1  refs is at least 1, and the value in the box is not absent.
 *   handle-2  A box changes nothing but its count: what it lends, the bytes of
 *             a string, stays where it is until the last owner is gone.
 *   handle-3  A value in a box is within the limits of base/limits.h; every way
 *             in has checked. */

#ifndef API_HANDLE_H
#define API_HANDLE_H

#include "heddle/heddle.h"
#include "value/value.h"

struct hd_value {
    struct value value;
    size_t refs;

    /* A string of exactly VALUE_INLINE_MAX bytes fills its value, so its bytes
     * with the zero that is promised are kept here. */
    char terminated[VALUE_INLINE_MAX + 1];
};

/* A new box with one owner; adopts `value`. */
hd_value *handle_new_adopt(struct value value);

#endif
