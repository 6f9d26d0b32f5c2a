/* A data directory: the files of its spaces, and whether it is usable.
 *
 * A space is one SQLite file, named after it: "main" is in main.db. The suffix
 * separates the name of one space from the files that SQLite and the store
 * create beside another (main.db-wal, main.db-shm, main.db-lock).
 *
 * Every error message says what to do. */

#ifndef HOST_DATA_DIR_H
#define HOST_DATA_DIR_H

#include "base/buf.h"
#include "base/err.h"
#include "value/value.h"

enum data_dir_access {
    DATA_DIR_CREATE,    /* it and its spaces are created if missing */
    DATA_DIR_EXISTING,  /* they must exist */
    DATA_DIR_READ_ONLY, /* likewise, and nothing is written */
};

/* The path of the file of a space. */
void data_dir_path(const char *folder, const char *space, struct buf *out);

/* Whether the directory is usable in this way; creates it if asked to (not its
 * parents). NOT_FOUND, ARGUMENT if it is not a directory, IO, FULL. */
MUST_CHECK enum err data_dir_open(const char *folder,
                                  enum data_dir_access access,
                                  struct err_detail *detail);

/* Whether the file of a space exists, or need not. NOT_FOUND, with the nearest
 * name or a list; ARGUMENT: not a valid name. */
MUST_CHECK enum err data_dir_find(const char *folder,
                                  const char *space,
                                  enum data_dir_access access,
                                  struct err_detail *detail);

/* Why the store of a space could not be opened, with advice: `detail` is the
 * engine's error, and becomes the message. Returns its err. */
enum err data_dir_explain(const char *folder,
                          const char *space,
                          struct err_detail *detail);

#endif
