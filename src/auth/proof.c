/* Making and checking proofs of identity. */

#include "auth/proof.h"

#include <string.h>

#include <sodium.h>

#include "base/check.h"
#include "value/json.h"
#include "value/object.h"

_Static_assert(CHALLENGE_LENGTH == 2 * CHALLENGE_BYTES, "hexadecimal");

enum {
    SIGNATURE_DIGITS = 86 /* of 64 bytes in base64url */
};

/* Every number up to this is exact in JavaScript, where clients write it. */
static const int64_t TIME_MAX = 9007199254740991;

void challenge_issue(struct challenge *challenge,
                     const unsigned char random[CHALLENGE_BYTES],
                     mono_ms now)
{
    (void)sodium_bin2hex(challenge->text,
                         sizeof challenge->text,
                         random,
                         CHALLENGE_BYTES);
    challenge->issued = now;
}

bool proof_may_retry(enum proof_fault fault)
{
    return fault == PROOF_CHALLENGE || fault == PROOF_CHALLENGE_AGE;
}

/* -- The signed text ----------------------------------------------------- */

static void put_text(struct value *object, const char *name, struct text text)
{
    object_put_adopt(object, name, value_string_new(text.at, text.length));
}

static struct buf signed_text(const struct proof_claim *claim)
{
    struct buf text = {0};
    struct value object = value_empty_object();
    object_put_text(&object, "command", "attach");
    put_text(&object, "audience", claim->audience);
    put_text(&object, "challenge", claim->challenge);
    put_text(&object, "space", claim->space);
    put_text(&object, "branch", claim->branch);
    if (claim->session.at != NULL) {
        put_text(&object, "session", claim->session);
    } else {
        object_put_adopt(&object, "session", value_null());
    }
    object_put_number(&object, "issuedAt", claim->issued_at);
    object_put_number(&object, "expires", claim->expires);
    json_write(&text, object, JSON_CANONICAL, 0);
    value_unref(object);
    return text;
}

struct value proof_make(const struct key *key, const struct proof_claim *claim)
{
    char name[KEY_NAME_LENGTH + 1];
    unsigned char signature[KEY_SIGNATURE_BYTES];
    struct buf text = signed_text(claim);
    struct buf digits = {0};
    key_name_write(&key->public_key, name);
    key_sign(key, buf_text(&text), text.length, signature);
    base64url_write(&digits, signature, sizeof signature);
    buf_release(&text);
    struct value proof = value_empty_object();
    object_put_text(&proof, "key", name);
    object_put_number(&proof, "issuedAt", claim->issued_at);
    object_put_number(&proof, "expires", claim->expires);
    object_put_adopt(&proof, "signature", value_string_adopt(&digits));
    put_text(&proof, "audience", claim->audience);
    put_text(&proof, "challenge", claim->challenge);
    return proof;
}

/* -- Checking ------------------------------------------------------------ */

struct checked {
    struct public_key key;
    char name[KEY_NAME_LENGTH + 1];
    unsigned char signature[KEY_SIGNATURE_BYTES];
};

static enum proof_fault refuse(enum proof_fault fault,
                               struct err_detail *detail,
                               const char *sentence)
{
    (void)err_set(detail, ERR_UNAUTHENTICATED, "%s", sentence);
    return fault;
}

static bool read_signature(struct value value, struct checked *out)
{
    if (!value_is_string(value) ||
        value_text(&value).length != SIGNATURE_DIGITS) {
        return false;
    }
    struct buf bytes = {0};
    const bool valid = base64url_read(&bytes, value_text(&value)) &&
                       bytes.length == sizeof out->signature;
    if (valid) {
        memcpy(out->signature, bytes.at, sizeof out->signature);
    }
    buf_release(&bytes);
    return valid;
}

/* An optional string. */
static bool is_text_or_absent(struct value value)
{
    return value_is_absent(value) || value_is_string(value);
}

static enum proof_fault check_shape(struct value proof,
                                    struct checked *out,
                                    struct err_detail *detail)
{
    const struct value key = object_field(proof, "key");
    if (!value_is_object(proof) || !value_is_string(key) ||
        !is_text_or_absent(object_field(proof, "audience")) ||
        !is_text_or_absent(object_field(proof, "challenge"))) {
        return refuse(PROOF_SHAPE,
                      detail,
                      "the proof is malformed: it must be an object with key, "
                      "issuedAt, expires and signature");
    }
    if (!key_name_read(value_text(&key), &out->key)) {
        return refuse(PROOF_SHAPE,
                      detail,
                      "the key of the proof must be the did:key of an Ed25519 "
                      "key (did:key:z6Mk...)");
    }
    key_name_write(&out->key, out->name);
    if (!read_signature(object_field(proof, "signature"), out)) {
        return refuse(
            PROOF_SHAPE,
            detail,
            "the signature of the proof must be 64 bytes in base64url "
            "without padding");
    }
    return PROOF_ACCEPTED;
}

static bool same_text(struct value value, struct text want)
{
    const struct text text = value_text(&value);
    return text.length == want.length &&
           (want.length == 0 || memcmp(text.at, want.at, want.length) == 0);
}

static enum proof_fault check_audience(struct value proof,
                                       struct text audience,
                                       struct err_detail *detail)
{
    const struct value given = object_field(proof, "audience");
    if (value_is_absent(given) || same_text(given, audience)) {
        return PROOF_ACCEPTED;
    }
    return refuse(PROOF_AUDIENCE,
                  detail,
                  "the proof was made for another server: sign the audience "
                  "of this server's welcome");
}

static enum proof_fault check_challenge(struct value proof,
                                        const struct challenge *challenge,
                                        mono_ms now,
                                        struct err_detail *detail)
{
    const struct text text = {challenge->text, strlen(challenge->text)};
    const struct value given = object_field(proof, "challenge");
    if (text.length == 0) {
        return refuse(PROOF_CHALLENGE,
                      detail,
                      "there is no unused challenge on this connection: sign "
                      "the one of the last answer");
    }
    if (!value_is_absent(given) && !same_text(given, text)) {
        return refuse(PROOF_CHALLENGE,
                      detail,
                      "the proof signs another challenge: sign the one of the "
                      "last answer");
    }
    if (now - challenge->issued > CHALLENGE_MS) {
        return refuse(PROOF_CHALLENGE_AGE,
                      detail,
                      "the challenge is older than 300 s: sign the next one");
    }
    return PROOF_ACCEPTED;
}

static bool read_time(struct value value, uint64_t *out)
{
    if (value_kind(value) != VALUE_INT || value_integer(value) < 0 ||
        value_integer(value) > TIME_MAX) {
        return false;
    }
    *out = (uint64_t)value_integer(value);
    return true;
}

static enum proof_fault check_times(struct value proof,
                                    uint64_t now,
                                    struct proof_claim *claim,
                                    struct err_detail *detail)
{
    if (!read_time(object_field(proof, "issuedAt"), &claim->issued_at) ||
        !read_time(object_field(proof, "expires"), &claim->expires)) {
        return refuse(PROOF_TIMES,
                      detail,
                      "issuedAt and expires of the proof must be whole numbers "
                      "of milliseconds since 1970");
    }
    if (claim->expires < now && now - claim->expires > PROOF_LATE_MS) {
        return refuse(PROOF_EXPIRED,
                      detail,
                      "the proof expired more than 120 s ago: sign a new one, "
                      "and compare the clocks of both machines");
    }
    return PROOF_ACCEPTED;
}

static enum proof_fault check_signature(const struct checked *checked,
                                        const struct proof_claim *claim,
                                        struct err_detail *detail)
{
    struct buf text = signed_text(claim);
    const bool valid = key_verify(&checked->key,
                                  buf_text(&text),
                                  text.length,
                                  checked->signature);
    buf_release(&text);
    if (valid) {
        return PROOF_ACCEPTED;
    }
    return refuse(PROOF_SIGNATURE,
                  detail,
                  "the signature of the proof does not match: it must cover "
                  "the audience, the challenge, and space, branch and session "
                  "of this attach");
}

static enum proof_fault check(struct value proof,
                              struct proof_claim *claim,
                              const struct challenge *challenge,
                              struct proof_clock now,
                              struct checked *checked,
                              struct err_detail *detail)
{
    enum proof_fault fault = check_shape(proof, checked, detail);
    if (fault == PROOF_ACCEPTED) {
        fault = check_audience(proof, claim->audience, detail);
    }
    if (fault == PROOF_ACCEPTED) {
        fault = check_challenge(proof, challenge, now.mono, detail);
    }
    if (fault == PROOF_ACCEPTED) {
        fault = check_times(proof, now.wall_ms, claim, detail);
    }
    return fault == PROOF_ACCEPTED ? check_signature(checked, claim, detail)
                                   : fault;
}

enum proof_fault proof_check(struct value proof,
                             const struct proof_claim *claim,
                             struct challenge *challenge,
                             struct proof_clock now,
                             struct credential *out,
                             struct err_detail *detail)
{
    const struct challenge used = *challenge;
    struct proof_claim full = *claim;
    struct checked checked = {0};
    full.challenge = (struct text){used.text, strlen(used.text)};
    *challenge = (struct challenge){0};
    memset(out, 0, sizeof *out);
    const enum proof_fault fault =
        check(proof, &full, &used, now, &checked, detail);
    if (fault == PROOF_ACCEPTED) {
        memcpy(out->principal, checked.name, sizeof checked.name);
        out->ceiling = CAPABILITY_OWNER;
    }
    return fault;
}
