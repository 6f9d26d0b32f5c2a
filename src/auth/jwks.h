/* A JSON Web Key Set (RFC 7517): public keys of issuers whose tokens a server
 * accepts.
 *
 *   {"keys":[{"kty":"RSA","kid":"2026-01","n":"...","e":"AQAB"},
 *            {"kty":"EC","crv":"P-256","kid":"b","x":"...","y":"...",
 *             "iss":"https://login.example"}]}
 *
 * RSA keys of 2048 to 8192 bits verify RS256, P-256 keys verify ES256. Keys of
 * other types, curves, uses and algorithms are skipped, as the RFC asks. A key
 * with "iss", our one addition, verifies tokens of that issuer only.
 *
 *   jwks-1  A set with a malformed usable key, a key that is too weak, or a
 *           private key is refused as a whole.
 *   jwks-2  A key verifies one algorithm, which follows from its type. A
 *           token's header chooses a key and never a way to use it.
 *
 * A set is immutable and holds no struct value: threads may share it for
 * reading. */

#ifndef AUTH_JWKS_H
#define AUTH_JWKS_H

#include "base/err.h"
#include "value/value.h"

enum {
    JWKS_TEXT_MAX = 256 * 1024,
    JWKS_KEYS_MAX = 100,
    JWKS_RSA_BITS_MIN = 2048,
    JWKS_RSA_BITS_MAX = 8192,
};

struct jwks;
struct jwks_key;

/* From the text of a file. Errors: SYNTAX, LIMIT_*. */
MUST_CHECK enum err jwks_read(const char *text,
                              size_t length,
                              struct jwks **out,
                              struct err_detail *detail);
void jwks_free(struct jwks *jwks); /* NULL is harmless */

/* Usable keys in it. */
size_t jwks_count(const struct jwks *jwks);

enum jwks_algorithm {
    JWKS_RS256,
    JWKS_ES256,
};

/* The key for a token: the one with this kid, or, if the token has none
 * (kid.at == NULL), the only one of the algorithm. NULL, with a sentence, if
 * there is no such key or if it is for another algorithm. */
const struct jwks_key *jwks_find(const struct jwks *jwks,
                                 struct text kid,
                                 enum jwks_algorithm algorithm,
                                 struct err_detail *detail);

/* The issuer that the key is for; "": any. */
const char *jwks_key_issuer(const struct jwks_key *key);

/* Whether `signature`, as a token carries it, is of these bytes. */
bool jwks_verify(const struct jwks_key *key,
                 const void *bytes,
                 size_t length,
                 const unsigned char *signature,
                 size_t signature_length);

#endif
