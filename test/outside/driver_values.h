/* Reading and making values for the outside checker's driver.
 *
 * A command is small and a driver short-lived: what these functions return is
 * the caller's, and a caller that forgets it costs a few bytes until the
 * process ends. */

#ifndef TEST_OUTSIDE_DRIVER_VALUES_H
#define TEST_OUTSIDE_DRIVER_VALUES_H

#include <heddle/heddle.h>

#define PATH_BYTES 512

/* Ends the process: the checker gave it something that is not a command. */
_Noreturn void stop(const char *text);

/* Zeroed; does not return NULL. */
void *allocate(size_t size);

/* What is at a key or an index; NULL if there is nothing. */
hd_value *field(const hd_value *object, const char *key);
hd_value *element(const hd_value *array, size_t index);
size_t count_of(const hd_value *array);
hd_kind kind_of(const hd_value *value);

/* A string, or NULL if it is none; a number, or 0. */
const char *text_of(const hd_value *value);
const char *text_at(const hd_value *object, const char *key);
int64_t int_at(const hd_value *object, const char *key);

hd_value *int_value(int64_t number);
hd_value *text_value(const char *text);
hd_value *null_value(void);

/* Replaces *object by one with the item at the key ("-": at the end of an
 * array); takes the item. */
void put(hd_value **object, const char *key, hd_value *item);

#endif
