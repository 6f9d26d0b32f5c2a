/* The string builder: how it grows, and formatted text. */

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"

enum {
    BUF_CAPACITY_MIN = 64
};

void buf_release(struct buf *buf)
{
    mem_free(buf->at, buf->capacity);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->length = 0;
    if (buf->at != NULL) {
        buf->at[0] = '\0';
    }
}

void buf_grow(struct buf *buf, size_t more)
{
    CHECK(more < SIZE_MAX / 4);
    const size_t need = buf->length + more + 1;
    size_t capacity = buf->capacity + buf->capacity / 2;
    if (capacity < need) {
        capacity = need;
    }
    if (capacity < BUF_CAPACITY_MIN) {
        capacity = BUF_CAPACITY_MIN;
    }
    buf->at = mem_resize(buf->at, buf->capacity, capacity);
    buf->capacity = capacity;
    buf->at[buf->length] = '\0'; /* buf-1, also if nothing is added */
}

void buf_append_text(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);

    CHECK(length >= 0);
    char *to = buf_reserve(buf, (size_t)length);
    (void)vsnprintf(to, (size_t)length + 1, format, again);
    va_end(again);
    buf_advance(buf, (size_t)length);
}

const char *buf_text(const struct buf *buf)
{
    return buf->at != NULL ? buf->at : "";
}
