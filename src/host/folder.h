/* A data directory: the files of its spaces, and whether it is usable.
 *
 * A space is one SQLite file, named after it: "main" is in main.db. The suffix
 * separates the name of one space from the files that SQLite and the store
 * create beside another (main.db-wal, main.db-shm, main.db-lock).
 *
 * Every error message says what to do. */

#ifndef HOST_FOLDER_H
#define HOST_FOLDER_H

#include "base/buf.h"
#include "base/err.h"
#include "value/value.h"

enum folder_access {
    FOLDER_CREATE,    /* it and its spaces are created if missing */
    FOLDER_EXISTING,  /* they must exist */
    FOLDER_READ_ONLY, /* likewise, and nothing is written */
};

/* The path of the file of a space. */
void folder_path(const char *folder, const char *space, struct buf *out);

/* Whether the directory is usable in this way; creates it if asked to (not its
 * parents). NOT_FOUND, ARGUMENT if it is not a directory, IO, FULL. */
MUST_CHECK enum err folder_open(const char *folder,
                                enum folder_access access,
                                struct err_detail *detail);

/* Whether the file of a space exists, or need not. NOT_FOUND, with the nearest
 * name or a list; ARGUMENT: not a valid name. */
MUST_CHECK enum err folder_find(const char *folder,
                                const char *space,
                                enum folder_access access,
                                struct err_detail *detail);

/* Why the store of a space could not be opened, with advice: `detail` is the
 * engine's error, and becomes the message. Returns its err. */
enum err folder_explain(const char *folder,
                        const char *space,
                        struct err_detail *detail);

#endif
