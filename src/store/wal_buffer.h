/* Collects the writes of one transaction to the WAL.
 *
 * SQLite writes two pieces per page to the WAL, its head and the page, each
 * with a system call. A group of commits changes dozens of pages, one behind
 * the other in the WAL. This buffer turns them into a few long writes.
 *
 *   wal-buffer-1  Only at full durability: there SQLite syncs the WAL before it
 *                 tells other connections of the new frames, so none of them
 *                 looks for frames that are still in the buffer.
 *   wal-buffer-2  Writes reach the file in their order, before any other call
 *                 on it, and never after the end of their transaction: then the
 *                 place belongs to the next writer, in any process.
 *   wal-buffer-3  If a write fails, every later write and sync of the
 *                 transaction fails likewise, whichever call has reported it
 *                 first. */

#ifndef STORE_WAL_BUFFER_H
#define STORE_WAL_BUFFER_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/buf.h"

enum {
    WAL_BUFFER_MAX = 64 * 1024, /* a longer transaction has several writes;
                                   SQLite's VFS takes less than 128 KiB */
};

/* All zero is a buffer without a file. */
struct wal_buffer {
    sqlite3_io_methods methods;      /* of the file */
    const sqlite3_io_methods *usual; /* the methods they wrap */
    struct buf bytes;
    sqlite3_int64 at; /* where they go */
    int failure;      /* wal-buffer-3; SQLITE_OK: none */
    bool enabled;     /* wal-buffer-1; set by its owner */
    bool active;      /* in a transaction; otherwise it passes on */
};

/* A write transaction has begun on this connection. The buffer must stay in
 * place until the connection has ended. */
void wal_buffer_begin(struct wal_buffer *buffer, sqlite3 *db);

/* It was committed or rolled back. Forgets what is left of it. */
void wal_buffer_end(struct wal_buffer *buffer);

#endif
