/* Immutable bytes that threads share: one allocation, an atomic count.
 *
 *   net-bytes-1  The last reference frees the record, on whatever thread. */

#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/net.h"

struct net_bytes {
    atomic_size_t references;
    size_t length;
    char at[];
};

struct net_bytes *net_bytes_new(const void *at, size_t length)
{
    CHECK(length <= SIZE_MAX - sizeof(struct net_bytes) - 1);
    struct net_bytes *bytes = mem_alloc(sizeof *bytes + length + 1);
    atomic_init(&bytes->references, 1);
    bytes->length = length;
    if (length > 0) {
        memcpy(bytes->at, at, length);
    }
    bytes->at[length] = '\0';
    return bytes;
}

struct net_bytes *net_bytes_ref(struct net_bytes *bytes)
{
    (void)atomic_fetch_add_explicit(&bytes->references,
                                    1,
                                    memory_order_relaxed);
    return bytes;
}

void net_bytes_unref(struct net_bytes *bytes)
{
    if (bytes == NULL) {
        return;
    }
    /* Release and acquire: what other threads did with the bytes has happened
     * before they are freed. */
    if (atomic_fetch_sub_explicit(&bytes->references,
                                  1,
                                  memory_order_acq_rel) == 1) {
        mem_free(bytes, sizeof *bytes + bytes->length + 1);
    }
}

const char *net_bytes_at(const struct net_bytes *bytes)
{
    return bytes->at;
}

size_t net_bytes_length(const struct net_bytes *bytes)
{
    return bytes->length;
}
