/* Ids that are derived from their cause.
 *
 * The id of a document that a computation or a handler creates is a hash of its
 * cause, so that a repetition names the same document: a retry does not leave a
 * second one behind, and two runtimes that run the same handler collide instead
 * of duplicating.
 *
 * The digest is BLAKE2b-256 over the canonical text (json-2), with a separate
 * key for ids. Unlike value_hash it is stored and never changes. */

#ifndef VALUE_ID_H
#define VALUE_ID_H

#include <string.h>

#include "value/value.h"

enum {
    DIGEST_BYTES = 32,
    DIGEST_TEXT_LENGTH = 43, /* base64url without padding */
    DIGEST_LETTERS = 16,     /* of a name */
    DIGEST_LIST_LETTERS = 4, /* of them: of what is before the first '/' */
};

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

/* Of the content: equal values have equal digests. `value` is not absent. */
struct digest value_digest(struct value value);

/* Of bytes that are not a value, with a separate key: `purpose` is at most 32
 * bytes and says what they are. */
struct digest digest_of_bytes(const char *purpose,
                              const void *bytes,
                              size_t length);

/* Of a name, `purpose` as above: its first half is letters of the name, the
 * other one a digest, so that names that are alike ("list/41", "list/42") are
 * neighbours in an index, and who writes many of them in a row writes to few
 * pages of it. */
struct digest digest_of_name(const char *purpose, struct value name);

/* For a map: bits that differ whatever kind of digest it is. */
static inline uint64_t digest_bits(const struct digest *digest)
{
    uint64_t bits;
    memcpy(&bits, digest->bytes + DIGEST_BYTES - sizeof bits, sizeof bits);
    return bits;
}

/* 43 letters, digits, '-' and '_', and a zero byte. */
void digest_write(struct digest digest, char text[DIGEST_TEXT_LENGTH + 1]);

/* The reverse; false for any other value or text. */
bool digest_read(struct value text, struct digest *out);

static inline bool digest_equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* prefix and the digest of the cause: "of:Qm...". The same cause with another
 * prefix has another digest. */
struct value id_of_cause(const char *prefix, struct value cause);

#endif
