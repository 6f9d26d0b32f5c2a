/* A digest over a sequence of parts: BLAKE2b with every part preceded by its
 * length, so that no two different sequences are the same bytes. */

#ifndef STORE_HASHER_H
#define STORE_HASHER_H

#include <sodium.h>
#include <string.h>

#include "base/check.h"
#include "value/id.h"

struct hasher {
    crypto_generichash_state state;
};

static inline void hasher_bytes(struct hasher *hasher,
                                const void *bytes,
                                size_t length)
{
    const uint64_t prefix = length;
    (void)crypto_generichash_update(&hasher->state,
                                    (const unsigned char *)&prefix,
                                    sizeof prefix);
    (void)crypto_generichash_update(&hasher->state, bytes, length);
}

static inline void hasher_number(struct hasher *hasher, uint64_t number)
{
    (void)crypto_generichash_update(&hasher->state,
                                    (const unsigned char *)&number,
                                    sizeof number);
}

/* A string, or nothing: absent differs from empty. */
static inline void hasher_string(struct hasher *hasher, struct value string)
{
    hasher_number(hasher, value_is_absent(string) ? 0 : 1);
    if (!value_is_absent(string)) {
        const struct text text = value_text(&string);
        hasher_bytes(hasher, text.at, text.length);
    }
}

/* `purpose` names what is hashed; `before`, or NULL, is what came earlier. */
static inline struct hasher hasher_begin(const char *purpose,
                                         const struct digest *before)
{
    struct hasher hasher;
    CHECK(crypto_generichash_init(&hasher.state, NULL, 0, DIGEST_BYTES) == 0);
    hasher_bytes(&hasher, purpose, strlen(purpose));
    if (before != NULL) {
        hasher_bytes(&hasher, before->bytes, sizeof before->bytes);
    }
    return hasher;
}

static inline struct digest hasher_end(struct hasher *hasher)
{
    struct digest digest;
    CHECK(crypto_generichash_final(&hasher->state,
                                   digest.bytes,
                                   sizeof digest.bytes) == 0);
    return digest;
}

#endif
