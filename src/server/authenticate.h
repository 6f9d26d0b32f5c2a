/* Who is on the other side: from what a client shows to a credential.
 *
 * A client shows a proof with its key, a token, or a token in the header of the
 * HTTP request that opened the connection (auth/proof.h, auth/token.h). A
 * server that runs with --insecure-local asks for nothing: it takes the name
 * that the client gives, and gives it every right. It listens on loopback only.
 *
 * An authenticator does not change while threads use it. A reload makes a new
 * one (server/server.c). */

#ifndef SERVER_AUTHENTICATE_H
#define SERVER_AUTHENTICATE_H

#include "auth/proof.h"
#include "auth/token.h"
#include "server/inbox.h"

enum {
    OWNERS_MAX = 64,
};

struct authenticator {
    bool is_insecure;
    char audience[TOKEN_AUDIENCE_MAX + 1];
    struct public_key service_keys[OWNERS_MAX]; /* owners of every space */
    size_t service_key_count;
    struct jwks *jwks; /* or NULL; owned */
};

/* For an attach; uses up the challenge of `facts`. UNAUTHENTICATED, ARGUMENT;
 * ACCESS if the credential is for another space. */
MUST_CHECK enum err authenticate_attach(const struct authenticator *with,
                                        struct item_attach *facts,
                                        struct value attach,
                                        struct proof_clock now,
                                        struct credential *out,
                                        struct err_detail *detail);

/* For an HTTP request; `bearer` may be NULL. */
MUST_CHECK enum err authenticate_bearer(const struct authenticator *with,
                                        const char *bearer,
                                        struct proof_clock now,
                                        struct credential *out,
                                        struct err_detail *detail);

/* Whether the principal is an owner of every space of this server. */
bool authenticator_is_service(const struct authenticator *with,
                              const struct credential *credential);

/* Whether the key that signed a token which grants is still a service key;
 * true of every other credential. */
bool authenticator_still_trusts(const struct authenticator *with,
                                const struct credential *credential);

/* Whether it may create this space. */
bool authenticator_may_create(const struct authenticator *with,
                              const struct credential *credential);

/* Whether it may see what concerns the whole server: a token for one space may
 * not. */
bool authenticator_is_operator(const struct authenticator *with,
                               const struct credential *credential);

#endif
