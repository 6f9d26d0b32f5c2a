/* Whether the files of a database are still the ones that were opened.
 *
 * SQLite and this layer keep descriptors and shared memory. If a file is
 * deleted or replaced meanwhile, a process continues with one that no other
 * process sees: its commits would be lost, or would damage the new file. So
 * each write looks at the files first, under the write lock, and so does each
 * connection that begins to read. */

#ifndef STORE_FILE_IDENTITY_H
#define STORE_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

enum database_file {
    FILE_DATABASE,
    FILE_WAL,
    FILE_SHM,
    FILE_LOCK,
    FILE_COUNT,
};

enum file_change {
    FILE_SAME, /* or not known before */
    FILE_DELETED,
    FILE_REPLACED,
    FILE_EMPTIED, /* the database, which is never empty */
    FILE_CUT,     /* the shared memory, which only grows while it is open */
};

struct file_identity {
    char *names[FILE_COUNT];     /* owned; NULL: there are no files */
    uint64_t inodes[FILE_COUNT]; /* 0: not known */
    uint64_t shm_bytes;          /* the maximum seen */
};

/* For the database at `path`; nothing is known yet. */
void file_identity_init(struct file_identity *files, const char *path);
void file_identity_release(struct file_identity *files);

/* Records the present files. */
void file_identity_note(struct file_identity *files);

/* Compares. A file that was not known is recorded. */
enum file_change file_identity_look(struct file_identity *files,
                                    enum database_file file);

const char *file_change_text(enum file_change change);

#endif
