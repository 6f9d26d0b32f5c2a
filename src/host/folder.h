/* A data directory: where its spaces are, and whether it can be used.
 *
 * A space is one SQLite file, named after it: "main" is in main.db. The ending
 * keeps the name of one space apart from what SQLite and the store put beside
 * the file of another (main.db-wal, main.db-shm, main.db-lock).
 *
 * Every refusal is a sentence that says what to do. */

#ifndef HOST_FOLDER_H
#define HOST_FOLDER_H

#include "base/buf.h"
#include "base/err.h"
#include "value/value.h"

enum folder_access {
    FOLDER_CREATE,    /* it and its spaces are made if they are not there */
    FOLDER_EXISTING,  /* they must be there */
    FOLDER_READ_ONLY, /* likewise, and nothing is written */
};

/* The path of the file of a space. */
void folder_path(const char *folder, const char *space, struct buf *out);

/* Whether the folder can be used like that; makes it, if that is asked for
 * (not the folders above it). NOT_FOUND, ARGUMENT if it is none, IO, FULL. */
MUST_CHECK enum err folder_open(const char *folder,
                                enum folder_access access,
                                struct err_detail *detail);

/* Whether the file of a space is there, or need not be. NOT_FOUND, with the
 * nearest name or those that there are; ARGUMENT: it cannot be a name. */
MUST_CHECK enum err folder_find(const char *folder,
                                const char *space,
                                enum folder_access access,
                                struct err_detail *detail);

/* Why the store of a space could not be opened, with advice: `detail` is what
 * the engine said, and becomes the sentence. Returns its err. */
enum err folder_explain(const char *folder,
                        const char *space,
                        struct err_detail *detail);

#endif
