/* The allocator hook, and the texts that leave the library. */

#include "api/memory.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "heddle/heddle.h"

hd_status hd_set_allocator(const hd_allocator *allocator)
{
    if (allocator == NULL) {
        mem_set_hooks(NULL);
        return HD_OK;
    }
    if (allocator->allocate == NULL || allocator->resize == NULL ||
        allocator->release == NULL) {
        return HD_ARGUMENT;
    }
    mem_set_hooks(&(struct mem_hooks){
        .ctx = allocator->context,
        .alloc = allocator->allocate,
        .resize = allocator->resize,
        .free = allocator->release,
    });
    return HD_OK;
}

void text_begin(struct buf *buf)
{
    CHECK(buf->length == 0);
    static const size_t unknown;
    buf_append(buf, &unknown, sizeof unknown);
}

char *text_take(struct buf *buf, size_t *length)
{
    CHECK(buf->length >= sizeof buf->capacity);
    memcpy(buf->at, &buf->capacity, sizeof buf->capacity);
    char *text = buf->at + sizeof buf->capacity;
    if (length != NULL) {
        *length = buf->length - sizeof buf->capacity;
    }
    *buf = (struct buf){0};
    return text;
}

char *text_of_string(struct value string, size_t *length)
{
    const struct text bytes = value_text(&string);
    struct buf text = {0};
    text_begin(&text);
    buf_append(&text, bytes.at, bytes.length);
    return text_take(&text, length);
}

void hd_text_free(char *text)
{
    if (text == NULL) {
        return;
    }
    size_t block_size = 0;
    char *block = text - sizeof block_size;
    memcpy(&block_size, block, sizeof block_size);
    mem_free(block, block_size);
}
