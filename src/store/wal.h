/* The part of a write-ahead log that SQLite does not read.
 *
 * SQLite reads a log up to the first frame with a wrong checksum, and takes the
 * rest for the remains of a crash. But if that rest contains frames of the same
 * log that end transactions, acknowledged commits may be cut off. This file
 * finds them. It reads the log as a file and changes nothing.
 *
 *   wal-1  A frame belongs to the log if it has the salt of the log's header; a
 *          frame with another salt is left over from before the log was
 *          restarted.
 *   wal-2  One transaction behind the end may be the one that was being written
 *          when a process or the machine stopped, and was never acknowledged.
 *          Two are damage.
 *   wal-3  A log that was truncated at the end of a transaction looks like a
 *          shorter log: this is not detected. */

#ifndef STORE_WAL_H
#define STORE_WAL_H

#include <stdint.h>

#include "base/err.h"

struct wal_rest {
    uint64_t offset;       /* of the first byte that SQLite does not read */
    uint64_t frames;       /* of this log from there on */
    uint64_t transactions; /* how many of them end one */
};

/* All zero if there is no log, or nothing behind its end. A log that another
 * process writes meanwhile is judged by what two readings have in common. */
MUST_CHECK enum err wal_inspect(const char *database,
                                struct wal_rest *out,
                                struct err_detail *detail);

#endif
