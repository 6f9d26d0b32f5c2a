/* What SQLite does not read of a write-ahead log.
 *
 * SQLite reads a log up to the first frame whose checksum is wrong, and takes
 * the rest for what a crash left. It cannot know better, but a person can: if
 * frames of the same log that end transactions lie behind that frame, commits
 * that were acknowledged may be cut off. This file finds them. It reads the log
 * as a file and changes nothing.
 *
 *   W1  A frame belongs to the log if it has the salt of the log's header; a
 *       frame with another one is left from before the log was begun anew.
 *   W2  One transaction behind the end may be the one that was being written
 *       when a process or the machine stopped, of which nobody was told that it
 *       is stored. Two are damage.
 *   W3  A log that was cut at the end of a transaction looks like a shorter
 *       log: that is not found. */

#ifndef STORE_WAL_H
#define STORE_WAL_H

#include <stdint.h>

#include "base/err.h"

struct wal_rest {
    uint64_t offset;       /* of the first byte that is not read */
    uint64_t frames;       /* of this log from there on */
    uint64_t transactions; /* of which that many end one */
};

/* All zero if there is no log, or nothing behind its end. A log that another
 * process writes meanwhile is judged by what two readings have in common. */
MUST_CHECK enum err wal_inspect(const char *database,
                                struct wal_rest *out,
                                struct err_detail *detail);

#endif
