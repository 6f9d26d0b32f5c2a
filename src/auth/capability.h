/* What a principal may do in a space, and what a connection has proven about
 * the principal that it acts for.
 *
 * A capability includes those below it: OWNER may write, WRITE may read. */

#ifndef AUTH_CAPABILITY_H
#define AUTH_CAPABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/key.h"
#include "base/err.h"
#include "value/value.h"

enum capability {
    CAPABILITY_NONE,
    CAPABILITY_READ,
    CAPABILITY_WRITE, /* commit to every document but the access document */
    CAPABILITY_OWNER, /* also change the access document */
};

/* "NONE", "READ", "WRITE", "OWNER". */
const char *capability_name(enum capability capability);

/* From "READ", "WRITE" or "OWNER", exactly; false for anything else. */
bool capability_read(struct text name, enum capability *out);

static inline enum capability capability_least(enum capability a,
                                               enum capability b)
{
    return a < b ? a : b;
}

enum {
    PRINCIPAL_BYTES_MAX = 255,
    SPACE_NAME_BYTES_MAX = 255,
};

/* The result of an accepted proof (auth/proof.h) or token (auth/token.h). Plain
 * memory: a credential may be copied and may cross threads. */
struct credential {
    char principal[PRINCIPAL_BYTES_MAX + 1];

    /* The most that it allows, whatever the access document gives. */
    enum capability ceiling;

    /* A token of a service key: the ceiling is granted, whatever the access
     * document says. */
    bool grants;
    struct public_key signer; /* of such a token: a reload can end its trust */

    /* The only space that it is for; "": every space. */
    char space[SPACE_NAME_BYTES_MAX + 1];

    /* When it ends, in milliseconds of the wall clock; 0: with the connection.
     * The server closes what was opened with it at that time. */
    uint64_t expires_ms;
};

/* Whether it is for this space. */
bool credential_covers(const struct credential *credential, struct text space);

/* Whether a text can name a principal: 1 to PRINCIPAL_BYTES_MAX bytes of UTF-8
 * without control characters, and not "*". ARGUMENT otherwise. */
MUST_CHECK enum err principal_check(struct text name,
                                    struct err_detail *detail);

#endif
