/* A growable byte string: the builder behind every text we write.
 *
 *   buf-1  at[length] is a zero byte whenever at is not NULL, so the content
 *          can be passed to a C function; the content itself may hold zero
 *          bytes.
 *   buf-2  length < capacity, or both are 0.
 *
 * All zero is an empty builder that owns nothing. */

#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"

struct buf {
    char *at;
    size_t length;
    size_t capacity;
};

void buf_release(struct buf *buf);

/* Empties it and keeps the memory. */
void buf_clear(struct buf *buf);

/* The rest of buf_reserve, for when there is no room. */
void buf_grow(struct buf *buf, size_t more);

/* Room for `more` bytes after the content. Returns where they go; the caller
 * fills any prefix of them and adds its length with buf_advance. */
static inline char *buf_reserve(struct buf *buf, size_t more)
{
    if (UNLIKELY(buf->capacity - buf->length <= more)) {
        buf_grow(buf, more);
    }
    return buf->at + buf->length;
}

static inline void buf_advance(struct buf *buf, size_t written)
{
    buf->length += written;
    buf->at[buf->length] = '\0';
}

static inline void buf_append(struct buf *buf, const void *bytes, size_t count)
{
    char *to = buf_reserve(buf, count);
    if (count > 0) {
        memcpy(to, bytes, count);
    }
    buf_advance(buf, count);
}

static inline void buf_append_char(struct buf *buf, char c)
{
    *buf_reserve(buf, 1) = c;
    buf_advance(buf, 1);
}

void buf_append_text(struct buf *buf, const char *text);
__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *buf,
                                                      const char *format,
                                                      ...);

/* The content, never NULL, terminated; borrowed until the next change. */
const char *buf_text(const struct buf *buf);

#endif
