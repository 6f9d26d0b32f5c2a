/* Locked files: files that belong to one process at a time.
 *
 * The process that opens one holds an exclusive lock on it. The system releases
 * the lock when the process ends, in whatever way, so a file without a lock is
 * a leftover of a process that was killed. The file holds one JSON object about
 * its holder.
 *
 *   locked-file-1  At most one open locked file exists per path, in this
 *                  process and in all others on the machine.
 *   locked-file-2  The lock belongs to the open file: a child that was forked
 *                  and has not called exec keeps it. */

#ifndef HOST_LOCKED_FILE_H
#define HOST_LOCKED_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "value/value.h"

struct locked_file {
    int fd;
    struct buf path;
};

/* Creates and locks DIR/KIND/NAME (a name that is no plain file name is
 * replaced by its digest), and writes the object `about` with the key "pid"
 * added. Creates DIR/KIND. BUSY: another holder has it; then *holder is what it
 * wrote, new, or absent if that cannot be read. IO, FULL. `holder` may be NULL.
 */
MUST_CHECK enum err locked_file_open(struct locked_file *file,
                                     const char *folder,
                                     const char *kind,
                                     struct value name,
                                     struct value about,
                                     struct value *holder,
                                     struct err_detail *detail);

/* Replaces what the file says about its holder. IO, FULL. */
MUST_CHECK enum err locked_file_write(struct locked_file *file,
                                      struct value about,
                                      struct err_detail *detail);

/* Removes the file and releases the lock. */
void locked_file_close(struct locked_file *file);

/* Whether a process, this one included, holds DIR/KIND/NAME. With `cleans`, a
 * leftover is removed. */
bool locked_file_is_held(const char *folder,
                         const char *kind,
                         struct value name,
                         bool cleans);

/* What the holder of DIR/KIND/NAME wrote, new; absent if nobody holds it. */
struct value locked_file_holder(const char *folder,
                                const char *kind,
                                struct value name);

/* What the file with that descriptor holds, new; absent if it is no object. */
struct value locked_file_read(int fd);

#endif
