/* A digest over a sequence of parts: BLAKE2b with every part preceded by its
 * length, so that no two different sequences are the same bytes. */

#ifndef STORE_HASHER_H
#define STORE_HASHER_H

#include <sodium.h>
#include <string.h>

#include "base/check.h"
#include "value/id.h"

/* Parts are buffered and hashed many at a time: most are a few bytes, and most
 * sequences end before the first block is full. */
struct hasher {
    size_t length; /* of the buffered part */
    bool begun;    /* the state contains earlier parts */
    crypto_generichash_state state;
    unsigned char gathered[1024];
};

static inline void hasher_update(struct hasher *hasher,
                                 const void *bytes,
                                 size_t length)
{
    if (!hasher->begun) {
        CHECK(crypto_generichash_init(&hasher->state, NULL, 0, DIGEST_BYTES) ==
              0);
        hasher->begun = true;
    }
    CHECK(crypto_generichash_update(&hasher->state, bytes, length) == 0);
}

static inline void hasher_put(struct hasher *hasher,
                              const void *bytes,
                              size_t length)
{
    if (length > sizeof hasher->gathered - hasher->length) {
        hasher_update(hasher, hasher->gathered, hasher->length);
        hasher->length = 0;
    }
    if (length > sizeof hasher->gathered) {
        hasher_update(hasher, bytes, length);
    } else if (length > 0) {
        memcpy(hasher->gathered + hasher->length, bytes, length);
        hasher->length += length;
    }
}

static inline void hasher_number(struct hasher *hasher, uint64_t number)
{
    hasher_put(hasher, &number, sizeof number);
}

static inline void hasher_bytes(struct hasher *hasher,
                                const void *bytes,
                                size_t length)
{
    hasher_number(hasher, length);
    hasher_put(hasher, bytes, length);
}

/* A string or absent, which differs from empty. */
static inline void hasher_string(struct hasher *hasher, struct value string)
{
    hasher_number(hasher, value_is_absent(string) ? 0 : 1);
    if (!value_is_absent(string)) {
        const struct text text = value_text(&string);
        hasher_bytes(hasher, text.at, text.length);
    }
}

/* `purpose` names what is hashed; `before`, or NULL, is the digest to
 * continue. */
static inline void hasher_begin(struct hasher *hasher,
                                const char *purpose,
                                const struct digest *before)
{
    hasher->length = 0;
    hasher->begun = false;
    hasher_bytes(hasher, purpose, strlen(purpose));
    if (before != NULL) {
        hasher_bytes(hasher, before->bytes, sizeof before->bytes);
    }
}

static inline struct digest hasher_end(struct hasher *hasher)
{
    struct digest digest;
    int code = 0;
    if (hasher->begun) {
        hasher_update(hasher, hasher->gathered, hasher->length);
        code = crypto_generichash_final(&hasher->state,
                                        digest.bytes,
                                        sizeof digest.bytes);
    } else {
        code = crypto_generichash(digest.bytes,
                                  sizeof digest.bytes,
                                  hasher->gathered,
                                  hasher->length,
                                  NULL,
                                  0);
    }
    CHECK(code == 0);
    return digest;
}

#endif
