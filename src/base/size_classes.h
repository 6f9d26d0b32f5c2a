/* An allocator for a program with one thread: a chain of free records per size.
 *
 * The size is passed back at every release (base/mem.h), so a record needs no
 * header, and an allocation or a release is a few instructions. Small sizes are
 * rounded up to a multiple of 16 and cut from blocks; blocks and larger sizes
 * come from the previous hooks. Released records are kept for the next one of
 * their size: the blocks stay until the process ends.
 *
 *   size-classes-1  A released record begins with the address of the next one
 *                   of its size.
 *   size-classes-2  A record is aligned to 16 bytes.
 *
 * Under AddressSanitizer every record is a separate allocation, so that a use
 * after free is detected.
 *
 * Not here: threads. A library must not choose this; a command may. */

#ifndef BASE_SIZE_CLASSES_H
#define BASE_SIZE_CLASSES_H

#include "base/mem.h"

enum {
    SIZE_CLASS_STEP = 16,
    SIZE_CLASS_MAX = 1024, /* larger sizes are left to the hooks behind */
};

/* All zero is empty. */
struct size_classes {
    struct mem_hooks behind;
    void *free[SIZE_CLASS_MAX / SIZE_CLASS_STEP + 1]; /* size-classes-1 */
    char *next;   /* of the last block, not used yet, */
    char *end;    /* and the end of it */
    void *blocks; /* a chain through their first words */
};

/* Hooks in front of the current ones; `classes` must outlive their use. */
struct mem_hooks size_classes_hooks(struct size_classes *classes);

/* For tests: all records are freed, and the hooks are no longer in use. */
void size_classes_release(struct size_classes *classes);

#endif
