/* Proof of identity: a signature of the server's challenge.
 *
 * A server gives each connection a challenge. To attach to a space as the
 * principal of a key, a client signs the challenge together with everything
 * that the attach asks for:
 *
 *   "proof":{"key":"did:key:z6Mk...","issuedAt":MS,"expires":MS,
 *            "signature":"BASE64URL","audience":A,"challenge":C}
 *
 * The signature covers the canonical JSON (json-2) of
 *
 *   {"command":"attach","audience":A,"challenge":C,"space":S,"branch":B,
 *    "session":ID or null,"issuedAt":MS,"expires":MS}
 *
 * with B "" for the main branch. The fields audience and challenge of a proof
 * may be left out. They repeat what the client signed, so that a refusal can
 * say which of them is wrong; the signature is always verified with the
 * server's own.
 *
 *   proof-1  A proof is checked in the order of enum proof_fault, and refused
 *            for the first fault.
 *   proof-2  A challenge is used up by one attach, whatever its outcome.
 *   proof-3  The age of a challenge is measured with the monotonic clock: a
 *            clock that is set does not revive it.
 *
 * There is no clock here: time is an argument. */

#ifndef AUTH_PROOF_H
#define AUTH_PROOF_H

#include "auth/capability.h"
#include "auth/key.h"
#include "base/host.h"

enum {
    CHALLENGE_BYTES = 32,
    CHALLENGE_LENGTH = 64,      /* hexadecimal digits */
    CHALLENGE_MS = 300 * 1000,  /* how long a challenge is valid */
    PROOF_LATE_MS = 120 * 1000, /* after `expires`: clocks differ */
};

/* -- Challenges ---------------------------------------------------------- */

/* Owned by its connection. All zero: no challenge was issued. */
struct challenge {
    char text[CHALLENGE_LENGTH + 1]; /* "": none, or used up */
    mono_ms issued;
};

/* From CHALLENGE_BYTES unpredictable bytes (key_random). */
void challenge_issue(struct challenge *challenge,
                     const unsigned char random[CHALLENGE_BYTES],
                     mono_ms now);

/* -- Proofs -------------------------------------------------------------- */

/* What a proof is about. The texts are borrowed. */
struct proof_claim {
    struct text audience;
    struct text challenge; /* to sign; proof_check takes the connection's */
    struct text space;
    struct text branch;  /* "": the main one */
    struct text session; /* at == NULL: the attach names none */
    uint64_t issued_at;  /* to sign; milliseconds of the wall clock */
    uint64_t expires;
};

/* The value of "proof"; new. Audience and challenge are included. */
struct value proof_make(const struct key *key, const struct proof_claim *claim);

/* In the order in which they are checked (proof-1). */
enum proof_fault {
    PROOF_ACCEPTED,
    PROOF_SHAPE,         /* not an object with a key and a signature */
    PROOF_AUDIENCE,      /* made for another server */
    PROOF_CHALLENGE,     /* another challenge, a used one, or none issued */
    PROOF_CHALLENGE_AGE, /* issued more than CHALLENGE_MS ago */
    PROOF_TIMES,         /* issuedAt or expires is missing or not a number */
    PROOF_EXPIRED,       /* more than PROOF_LATE_MS ago */
    PROOF_SIGNATURE,     /* not by this key, or of another claim */
};

/* Whether a new proof with the next challenge can succeed without a change of
 * the client's configuration: only if the challenge was at fault. */
bool proof_may_retry(enum proof_fault fault);

struct proof_clock {
    uint64_t wall_ms;
    mono_ms mono;
};

/* Checks the proof of an attach, and uses up the challenge (proof-2). `claim`
 * has audience, space, branch and session as the server knows them. Accepted:
 * *out is the principal of the key with the ceiling OWNER, for every space.
 * Otherwise *out is empty, and `detail` has UNAUTHENTICATED and a sentence. */
MUST_CHECK enum proof_fault proof_check(struct value proof,
                                        const struct proof_claim *claim,
                                        struct challenge *challenge,
                                        struct proof_clock now,
                                        struct credential *out,
                                        struct err_detail *detail);

#endif
