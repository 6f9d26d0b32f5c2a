/* Keys, their names and signatures, on libsodium's Ed25519. */

#include "auth/key.h"

#include <string.h>

#include <sodium.h>

#include "auth/base58.h"
#include "base/check.h"

_Static_assert(KEY_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(KEY_SEED_BYTES == crypto_sign_SEEDBYTES, "Ed25519");
_Static_assert(KEY_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519");
_Static_assert(KEY_SIGNATURE_BYTES == crypto_sign_BYTES, "Ed25519");

static const char prefix[] = "did:key:z";

/* The multicodec of Ed25519 public keys, as a varint. */
static const unsigned char codec[] = {0xED, 0x01};

enum {
    PREFIX_LENGTH = sizeof prefix - 1,
    /* 34 bytes that begin with 0xED always need as many digits. */
    DIGITS = KEY_NAME_LENGTH - PREFIX_LENGTH,
};

enum err key_random(void *out, size_t length, struct err_detail *detail)
{
    if (sodium_init() < 0) {
        return err_set(detail,
                       ERR_IO,
                       "the system provides no random numbers: libsodium "
                       "cannot start");
    }
    randombytes_buf(out, length);
    return ERR_OK;
}

enum err key_make(struct key *out, struct err_detail *detail)
{
    unsigned char seed[KEY_SEED_BYTES];
    const enum err err = key_random(seed, sizeof seed, detail);
    if (err != ERR_OK) {
        *out = (struct key){0};
        return err;
    }
    key_of_seed(seed, out);
    sodium_memzero(seed, sizeof seed);
    return ERR_OK;
}

void key_of_seed(const unsigned char seed[KEY_SEED_BYTES], struct key *out)
{
    const int failed =
        crypto_sign_seed_keypair(out->public_key.bytes, out->secret, seed);
    CHECK(failed == 0);
}

void key_release(struct key *key)
{
    sodium_memzero(key, sizeof *key);
}

/* -- Names --------------------------------------------------------------- */

void key_name_write(const struct public_key *key, char out[KEY_NAME_LENGTH + 1])
{
    unsigned char bytes[sizeof codec + KEY_PUBLIC_BYTES];
    memcpy(bytes, codec, sizeof codec);
    memcpy(bytes + sizeof codec, key->bytes, sizeof key->bytes);
    memcpy(out, prefix, PREFIX_LENGTH);
    base58_write(bytes, sizeof bytes, out + PREFIX_LENGTH, DIGITS);
    out[KEY_NAME_LENGTH] = '\0';
}

bool key_name_read(struct text name, struct public_key *out)
{
    unsigned char bytes[sizeof codec + KEY_PUBLIC_BYTES];
    *out = (struct public_key){{0}};
    if (name.length != KEY_NAME_LENGTH ||
        memcmp(name.at, prefix, PREFIX_LENGTH) != 0 ||
        !base58_read(name.at + PREFIX_LENGTH, DIGITS, bytes, sizeof bytes) ||
        memcmp(bytes, codec, sizeof codec) != 0) {
        return false;
    }
    memcpy(out->bytes, bytes + sizeof codec, sizeof out->bytes);
    return true;
}

/* -- Signatures ---------------------------------------------------------- */

void key_sign(const struct key *key,
              const void *bytes,
              size_t length,
              unsigned char out[KEY_SIGNATURE_BYTES])
{
    const int failed =
        crypto_sign_detached(out, NULL, bytes, length, key->secret);
    CHECK(failed == 0);
}

/* libsodium also refuses a public key or a signature that has a second
 * encoding, and a key of small order. */
bool key_verify(const struct public_key *key,
                const void *bytes,
                size_t length,
                const unsigned char signature[KEY_SIGNATURE_BYTES])
{
    return crypto_sign_verify_detached(signature, bytes, length, key->bytes) ==
           0;
}

/* -- base64url ----------------------------------------------------------- */

void base64url_write(struct buf *to, const void *bytes, size_t length)
{
    const size_t size =
        sodium_base64_ENCODED_LEN(length,
                                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *at = buf_reserve(to, size);
    (void)sodium_bin2base64(at,
                            size,
                            bytes,
                            length,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    buf_advance(to, strlen(at));
}

/* libsodium takes some bytes above 0x7F for digits. */
static bool has_only_digits(struct text text)
{
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.at[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
              (c >= '0' && c <= '9') || c == '-' || c == '_')) {
            return false;
        }
    }
    return true;
}

bool base64url_read(struct buf *to, struct text text)
{
    const size_t room = text.length / 4 * 3 + 3;
    size_t length = 0;
    unsigned char *at = (unsigned char *)buf_reserve(to, room);
    /* One character left over holds six bits, which make no byte. libsodium
     * refuses bits that are not used. */
    const bool valid =
        text.length % 4 != 1 && has_only_digits(text) &&
        sodium_base642bin(at,
                          room,
                          text.at,
                          text.length,
                          NULL,
                          &length,
                          NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
    buf_advance(to, valid ? length : 0);
    return valid;
}
