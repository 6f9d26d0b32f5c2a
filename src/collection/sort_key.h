/* Sort keys: lists of field values as text that sorts as they do.
 *
 *   null < false < true < numbers < strings
 *
 *   sort-key-1  Two lists compare as their sort keys do, byte by byte. A list
 *               comes after each of its prefixes.
 *   sort-key-2  The sort key of a list is never a prefix of that of another
 *               list of the same length, and what follows a field is below
 *               SORT_KEY_END. So all lists with a prefix are between its sort
 *               key and the same followed by SORT_KEY_END.
 *   sort-key-3  The text is printable ASCII, but for the bytes of strings that
 *               are not ASCII.
 *
 *   sort-key-4  Equal numbers have the same sort key, others have different
 *               ones. A number is 11 digits of base 64, in the order of
 *               doubles; -0 is 0. For an integer of at least 2^53, in either
 *               direction from 0, they encode the next multiple of 2^11 below
 *               it, and two digits follow with the rest. (No double has such a
 *               value: value value-2.)
 *
 * In a string, each byte up to '!' is written as two bytes, of which the first
 * is '!'; a space ends the string. */

#ifndef COLLECTION_SORT_KEY_H
#define COLLECTION_SORT_KEY_H

#include "base/buf.h"
#include "value/value.h"

/* Greater than any byte with which a field can begin. */
#define SORT_KEY_END '~'

/* Whether a value can be a field: null, a boolean, a finite number or a
 * string. */
bool sort_key_takes(struct value field);

/* Appends a valid field; an absent one is null. */
void sort_key_append(struct buf *to, struct value field);

#endif
