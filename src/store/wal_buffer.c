/* The WAL's file: wrappers of its methods. */

#include "store/wal_buffer.h"

#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

/* The file has the methods of its buffer. */
static struct wal_buffer *buffer_of(const sqlite3_file *file)
{
    const uintptr_t methods = (uintptr_t)file->pMethods;
    return (struct wal_buffer *)(methods -
                                 offsetof(struct wal_buffer, methods));
}

/* wal-buffer-2. Returns a failure of this call only. */
static int flush(struct wal_buffer *buffer, sqlite3_file *file)
{
    if (buffer->bytes.length == 0) {
        return SQLITE_OK;
    }
    buffer->failure = buffer->usual->xWrite(file,
                                            buffer->bytes.at,
                                            (int)buffer->bytes.length,
                                            buffer->at);
    buf_clear(&buffer->bytes);
    return buffer->failure;
}

static int write_bytes(sqlite3_file *file,
                       const void *bytes,
                       int count,
                       sqlite3_int64 at)
{
    struct wal_buffer *buffer = buffer_of(file);
    const size_t length = buffer->bytes.length;
    if (!buffer->active) {
        return buffer->usual->xWrite(file, bytes, count, at);
    }
    if (length > 0 && (at != buffer->at + (sqlite3_int64)length ||
                       length + (size_t)count > WAL_BUFFER_MAX)) {
        (void)flush(buffer, file);
    }
    if (buffer->failure != SQLITE_OK) {
        return buffer->failure;
    }
    if (buffer->bytes.length == 0) {
        buffer->at = at;
    }
    buf_append(&buffer->bytes, bytes, (size_t)count);
    return SQLITE_OK;
}

static int read_bytes(sqlite3_file *file,
                      void *bytes,
                      int count,
                      sqlite3_int64 at)
{
    struct wal_buffer *buffer = buffer_of(file);
    const int code = flush(buffer, file);
    return code != SQLITE_OK ? code
                             : buffer->usual->xRead(file, bytes, count, at);
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
    struct wal_buffer *buffer = buffer_of(file);
    const int code = flush(buffer, file);
    return code != SQLITE_OK ? code : buffer->usual->xTruncate(file, size);
}

static int sync_file(sqlite3_file *file, int flags)
{
    struct wal_buffer *buffer = buffer_of(file);
    (void)flush(buffer, file);
    return buffer->failure != SQLITE_OK ? buffer->failure
                                        : buffer->usual->xSync(file, flags);
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *out)
{
    struct wal_buffer *buffer = buffer_of(file);
    const int code = flush(buffer, file);
    return code != SQLITE_OK ? code : buffer->usual->xFileSize(file, out);
}

static int close_file(sqlite3_file *file)
{
    struct wal_buffer *buffer = buffer_of(file);
    wal_buffer_end(buffer);
    buf_release(&buffer->bytes);
    return buffer->usual->xClose(file);
}

void wal_buffer_begin(struct wal_buffer *buffer, sqlite3 *db)
{
    sqlite3_file *file = NULL;
    CHECK(!buffer->active && buffer->bytes.length == 0);
    if (!buffer->enabled ||
        sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) !=
            SQLITE_OK ||
        file == NULL || file->pMethods == NULL) {
        return;
    }
    if (file->pMethods != &buffer->methods) {
        buffer->usual = file->pMethods;
        buffer->methods = *file->pMethods;
        buffer->methods.xWrite = write_bytes;
        buffer->methods.xRead = read_bytes;
        buffer->methods.xTruncate = truncate_file;
        buffer->methods.xSync = sync_file;
        buffer->methods.xFileSize = size_of_file;
        buffer->methods.xClose = close_file;
        file->pMethods = &buffer->methods;
    }
    buffer->active = true;
}

void wal_buffer_end(struct wal_buffer *buffer)
{
    buf_clear(&buffer->bytes);
    buffer->failure = SQLITE_OK;
    buffer->active = false;
}
