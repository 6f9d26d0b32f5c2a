/* Bearer tokens: JSON Web Tokens (RFC 7519) in their compact form.
 *
 * A token says who its bearer is (sub), for which server (aud), and at most
 * what it allows: a space, or "*" for every space, and a capability.
 *
 *   {"alg":"EdDSA","typ":"JWT"}
 *   {"iss":"did:key:z6Mk...","sub":"did:key:z6Mk...","aud":"heddle:...",
 *    "space":"main","cap":"WRITE","iat":S,"nbf":S,"exp":S,"jti":"..."}
 *
 * Accepted are
 *
 *   EdDSA of a service key: the server's own key, or one that its operator has
 *       configured as owner. It grants `cap` in `space` to `sub`, whatever the
 *       access document says.
 *   EdDSA of another key, if sub is that key: its bearer acts for the key, and
 *       may do what the access document gives the key, and no more than `cap`.
 *   RS256 and ES256 of a key of the key set (auth/jwks.h), so that a login
 *       service can issue tokens: `sub` may do what the access document gives
 *       it. `cap` and `space` may be left out.
 *
 * Why a service key grants: it is an owner of every space of its server, and
 * could enter `sub` into the access document itself. The token saves the entry,
 * and ends by itself. Any other token only narrows: otherwise a principal could
 * sign itself more than an owner has given it.
 *
 *   token-1  The algorithm follows from the key. "none", symmetric algorithms
 *            and a key of another type are refused.
 *   token-2  No issuer but the key itself speaks for a did:key: a `sub` of the
 *            key set that begins with "did:" is refused.
 *   token-3  A token without `aud` or `exp` is refused: a bearer token is only
 *            as safe as every server that sees it.
 *   token-4  Nothing of the payload is used before the signature is verified,
 *            but `iss`, to find the key.
 *
 * There is no clock here: time is an argument, in seconds of the wall clock, as
 * in the token. */

#ifndef AUTH_TOKEN_H
#define AUTH_TOKEN_H

#include "auth/capability.h"
#include "auth/jwks.h"
#include "auth/key.h"

enum {
    TOKEN_TEXT_MAX = 8 * 1024,
    TOKEN_SKEW_S = 60, /* clocks differ */
    TOKEN_AUDIENCE_MAX = 255,
    TOKEN_ID_BYTES = 16,
    TOKEN_AUDIENCES_MAX = 32, /* in a list */
};

/* -- Making -------------------------------------------------------------- */

/* The audience of a server that was given no other: "heddle:" and the did:key
 * of its key; appended. A token for it needs no server to be asked. */
void token_audience_of_key(struct buf *to, const struct public_key *key);

/* The texts are borrowed. */
struct token_claims {
    struct text subject;  /* the principal; at == NULL: the key itself */
    struct text audience; /* at == NULL: token_audience_of_key */
    struct text space;    /* "*": every space */
    enum capability capability;
    uint64_t issued_at;
    uint64_t not_before; /* 0: none */
    uint64_t expires;
    unsigned char id[TOKEN_ID_BYTES]; /* key_random */
};

/* Appends a token signed by `key`. ARGUMENT if a claim is one that token_check
 * would refuse. */
MUST_CHECK enum err token_make(struct buf *to,
                               const struct key *key,
                               const struct token_claims *claims,
                               struct err_detail *detail);

/* -- Checking ------------------------------------------------------------ */

/* What a server accepts. Borrowed; nothing here changes it. */
struct token_trust {
    const char *audience;                  /* of this server */
    const struct public_key *service_keys; /* its own, and its owners' */
    size_t service_key_count;
    const struct jwks *jwks; /* NULL: none */
};

/* Checks a token. On success *out is what it proves; otherwise *out is empty,
 * and `detail` has UNAUTHENTICATED and a sentence. */
MUST_CHECK enum err token_check(struct text token,
                                const struct token_trust *trust,
                                uint64_t now,
                                struct credential *out,
                                struct err_detail *detail);

#endif
