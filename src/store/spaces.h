/* The spaces in a directory: which of its files are stores.
 *
 * A store is recognised by its header, without opening it: nothing is created,
 * no lock is taken, and a file that is being written is listed as well. Files
 * that belong to another one (its WAL, its lock) are not listed; a file that is
 * not a store is listed with the reason. */

#ifndef STORE_SPACES_H
#define STORE_SPACES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct space_file {
    struct buf name;     /* in the directory; any bytes but '/' and zero */
    const char *why_not; /* NULL: it is a space; else the reason, half a
                            sentence */
    uint64_t bytes;      /* of the file and its WAL */
    int64_t changed_ms;  /* the later of the two, since 1970 */
};

typedef VEC(struct space_file) space_files;

/* Spaces and other files, latest change first, then by name. IO if the
 * directory cannot be read; *out is then empty. */
MUST_CHECK enum err spaces_list(const char *folder,
                                space_files *out,
                                struct err_detail *detail);
void space_files_release(space_files *files);

#endif
