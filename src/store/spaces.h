/* The spaces in a folder: which of its files are stores.
 *
 * A store is recognised by its header, without opening it as one: nothing is
 * created, no lock is taken, and a file that somebody is writing to is listed
 * as well. What belongs to another file (its WAL, its lock) is not listed; a
 * file that is no store is, with the reason, and harms no other. */

#ifndef STORE_SPACES_H
#define STORE_SPACES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct space_file {
    struct buf name;     /* in the folder; any bytes but '/' and zero */
    const char *why_not; /* NULL: it is a space; else half a sentence */
    uint64_t bytes;      /* of the file and its WAL */
    int64_t changed_ms;  /* the later of the two, since 1970 */
};

typedef VEC(struct space_file) space_files;

/* Spaces and others together, the latest changed first, and by name where that
 * is the same. IO if the folder cannot be read; *out is then empty. */
MUST_CHECK enum err spaces_list(const char *folder,
                                space_files *out,
                                struct err_detail *detail);
void space_files_release(space_files *files);

#endif
