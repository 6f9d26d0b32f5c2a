/* Digests and causal ids, on libsodium's BLAKE2b. */

#include "value/id.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "value/json.h"

static_assert(DIGEST_BYTES % 3 != 0, "the last letter has few bits");
static_assert(DIGEST_BYTES == crypto_generichash_BYTES, "BLAKE2b-256");

/* Under a key that names the purpose, so that an id can never be mistaken for
 * the digest of some content. */
struct digest digest_of_bytes(const char *purpose,
                              const void *bytes,
                              size_t length)
{
    unsigned char key[crypto_generichash_KEYBYTES] = {0};
    const size_t key_length = strlen(purpose);
    CHECK(key_length <= sizeof key);
    memcpy(key, purpose, key_length);
    struct digest digest;
    const int failed = crypto_generichash(digest.bytes,
                                          sizeof digest.bytes,
                                          bytes,
                                          length,
                                          key,
                                          sizeof key);
    CHECK(failed == 0);
    return digest;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The name of a list is cut, because what its elements differ by is behind
 * it. */
struct digest digest_of_name(const char *purpose, struct value name)
{
    const struct text text = value_text(&name);
    struct digest digest = digest_of_bytes(purpose, text.at, text.length);
    const char *slash = memchr(text.at, '/', text.length);
    const size_t list = slash == NULL ? 0 : (size_t)(slash - text.at) + 1;
    const size_t front = least(list, DIGEST_LIST_LETTERS);
    const size_t rest = least(text.length - list, DIGEST_LETTERS - front);
    memset(digest.bytes, 0, DIGEST_LETTERS);
    memcpy(digest.bytes, text.at, front);
    memcpy(digest.bytes + front, text.at + list, rest);
    return digest;
}

static struct digest digest_for(const char *purpose, struct value value)
{
    struct buf text = {0};
    json_write(&text, value, JSON_CANONICAL, 0);
    const struct digest digest =
        digest_of_bytes(purpose, buf_text(&text), text.length);
    buf_release(&text);
    return digest;
}

struct digest value_digest(struct value value)
{
    return digest_for("heddle content 1", value);
}

/* libsodium encodes in constant time. A digest is not a secret and ids are
 * created often, so this uses a table. */
void digest_write(struct digest digest, char text[DIGEST_TEXT_LENGTH + 1])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    unsigned count = 0;
    char *to = text;
    for (size_t i = 0; i < sizeof digest.bytes; i++) {
        bits = bits << 8 | digest.bytes[i];
        for (count += 8; count >= 6; count -= 6) {
            *to++ = letters[bits >> (count - 6) & 63];
        }
    }
    *to++ = letters[bits << (6 - count) & 63];
    *to = '\0';
    CHECK(to == text + DIGEST_TEXT_LENGTH);
}

bool digest_read(struct value text, struct digest *out)
{
    if (!value_is_string(text) ||
        value_text(&text).length != DIGEST_TEXT_LENGTH) {
        return false;
    }
    const struct text given = value_text(&text);
    size_t length = 0;
    if (sodium_base642bin(out->bytes,
                          sizeof out->bytes,
                          given.at,
                          given.length,
                          NULL,
                          &length,
                          NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        length != sizeof out->bytes) {
        return false;
    }
    /* The last letter has two bits that count for nothing: one text each. */
    char again[DIGEST_TEXT_LENGTH + 1];
    digest_write(*out, again);
    return memcmp(again, given.at, DIGEST_TEXT_LENGTH) == 0;
}

struct value id_of_cause(const char *prefix, struct value cause)
{
    char purpose[crypto_generichash_KEYBYTES];
    const char intro[] = "heddle id 1 ";
    CHECK(strlen(intro) + strlen(prefix) < sizeof purpose);
    memcpy(purpose, intro, sizeof intro - 1);
    memcpy(purpose + sizeof intro - 1, prefix, strlen(prefix) + 1);

    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest_for(purpose, cause), text);
    struct buf id = {0};
    buf_append_text(&id, prefix);
    buf_append_text(&id, text);
    const struct value value = value_string_new(buf_text(&id), id.length);
    buf_release(&id);
    return value;
}
