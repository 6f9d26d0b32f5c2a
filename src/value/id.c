/* Digests and causal ids, on libsodium's BLAKE2b. */

#include "value/id.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "value/json.h"

static_assert(DIGEST_BYTES == crypto_generichash_BYTES, "BLAKE2b-256");

/* Hashes the canonical text of `value` under a key that names the purpose, so
 * that an id can never be mistaken for the digest of some content. */
static struct digest digest_for(const char *purpose, struct value value)
{
    unsigned char key[crypto_generichash_KEYBYTES] = {0};
    const size_t length = strlen(purpose);
    CHECK(length <= sizeof key);
    memcpy(key, purpose, length);

    struct buf text = {0};
    json_write(&text, value, JSON_CANONICAL, 0);
    struct digest digest;
    const int failed =
        crypto_generichash(digest.bytes,
                           sizeof digest.bytes,
                           (const unsigned char *)buf_text(&text),
                           text.length,
                           key,
                           sizeof key);
    CHECK(failed == 0);
    buf_release(&text);
    return digest;
}

struct digest value_digest(struct value value)
{
    return digest_for("heddle content 1", value);
}

void digest_write(struct digest digest, char text[DIGEST_TEXT_LENGTH + 1])
{
    const char *end =
        sodium_bin2base64(text,
                          DIGEST_TEXT_LENGTH + 1,
                          digest.bytes,
                          sizeof digest.bytes,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    CHECK(end == text);
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
