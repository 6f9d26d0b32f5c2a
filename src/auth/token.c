/* Making and checking tokens: their text, signatures and claims. */

#include "auth/token.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "value/address.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* Times beyond this are not exact as doubles, and 285,000 years away. */
static const double TIME_MAX = 9007199254740991.0;

static enum err refuse(struct err_detail *detail, const char *sentence)
{
    return err_set(detail, ERR_UNAUTHENTICATED, "%s", sentence);
}

static bool text_is(struct text text, const char *is)
{
    return text.length == strlen(is) && memcmp(text.at, is, text.length) == 0;
}

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

static bool is_every_space(struct text space)
{
    return text_is(space, "*");
}

static enum err check_space(struct text space, struct err_detail *detail)
{
    struct value name = value_string_new(space.at, space.length);
    enum err err = space_id_check(name, detail);
    value_unref(name);
    if (err == ERR_OK && space.length > SPACE_NAME_BYTES_MAX) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the name of a space in a token has at most %d bytes",
                      SPACE_NAME_BYTES_MAX);
    }
    return err;
}

/* -- Making -------------------------------------------------------------- */

void token_audience_of_key(struct buf *to, const struct public_key *key)
{
    char name[KEY_NAME_LENGTH + 1];
    key_name_write(key, name);
    buf_printf(to, "heddle:%s", name);
}

static enum err check_claims(const struct token_claims *claims,
                             struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (claims->subject.at != NULL) {
        err = principal_check(claims->subject, detail);
    }
    if (err == ERR_OK && claims->audience.at != NULL &&
        (claims->audience.length == 0 ||
         claims->audience.length > TOKEN_AUDIENCE_MAX)) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the audience of a token has 1 to %d bytes",
                      TOKEN_AUDIENCE_MAX);
    }
    if (err == ERR_OK && !is_every_space(claims->space)) {
        err = check_space(claims->space, detail);
    }
    if (err == ERR_OK && claims->capability == CAPABILITY_NONE) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the capability of a token is READ, WRITE or OWNER");
    }
    if (err == ERR_OK && (claims->expires <= claims->issued_at ||
                          claims->expires <= claims->not_before ||
                          (double)claims->expires > TIME_MAX)) {
        err =
            err_set(detail,
                    ERR_ARGUMENT,
                    "a token must expire after it is issued and becomes valid");
    }
    return err;
}

static void put_text(struct value *object, const char *name, struct text text)
{
    object_put_adopt(object, name, value_string_new(text.at, text.length));
}

static struct value payload_new(const struct key *key,
                                const struct token_claims *claims)
{
    char name[KEY_NAME_LENGTH + 1];
    struct buf text = {0};
    struct value payload = value_empty_object();
    key_name_write(&key->public_key, name);
    object_put_text(&payload, "iss", name);
    put_text(&payload,
             "sub",
             claims->subject.at != NULL ? claims->subject : text_of(name));
    if (claims->audience.at != NULL) {
        put_text(&payload, "aud", claims->audience);
    } else {
        token_audience_of_key(&text, &key->public_key);
        object_put_adopt(&payload, "aud", value_string_adopt(&text));
    }
    put_text(&payload, "space", claims->space);
    object_put_text(&payload, "cap", capability_name(claims->capability));
    object_put_number(&payload, "iat", claims->issued_at);
    if (claims->not_before != 0) {
        object_put_number(&payload, "nbf", claims->not_before);
    }
    object_put_number(&payload, "exp", claims->expires);
    struct buf id = {0};
    base64url_write(&id, claims->id, sizeof claims->id);
    object_put_adopt(&payload, "jti", value_string_adopt(&id));
    return payload;
}

enum err token_make(struct buf *to,
                    const struct key *key,
                    const struct token_claims *claims,
                    struct err_detail *detail)
{
    static const char header[] = "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}";
    unsigned char signature[KEY_SIGNATURE_BYTES];
    struct buf json = {0};
    struct buf token = {0};
    const enum err err = check_claims(claims, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct value payload = payload_new(key, claims);
    json_write(&json, payload, JSON_AS_GIVEN, 0);
    value_unref(payload);
    base64url_write(&token, header, sizeof header - 1);
    buf_append_char(&token, '.');
    base64url_write(&token, buf_text(&json), json.length);
    key_sign(key, buf_text(&token), token.length, signature);
    buf_append_char(&token, '.');
    base64url_write(&token, signature, sizeof signature);
    buf_append(to, buf_text(&token), token.length);
    buf_release(&json);
    buf_release(&token);
    return ERR_OK;
}

/* -- The parts of a token ------------------------------------------------ */

struct parts {
    struct text content; /* the signed text: header, dot, payload; borrowed */
    struct value header;
    struct value payload;
    struct buf signature;
};

static void parts_release(struct parts *parts)
{
    value_unref(parts->header);
    value_unref(parts->payload);
    buf_release(&parts->signature);
}

/* A part that is an object in JSON in base64url. */
static bool read_object(struct text text, struct value *out)
{
    static const struct json_limits limits = {
        .text_bytes = TOKEN_TEXT_MAX,
        .depth = 16,
    };
    struct buf json = {0};
    *out = VALUE_NONE;
    const bool valid =
        base64url_read(&json, text) &&
        json_read(buf_text(&json), json.length, &limits, out, NULL) == ERR_OK &&
        value_is_object(*out);
    buf_release(&json);
    return valid;
}

static enum err read_parts(struct text token,
                           struct parts *out,
                           struct err_detail *detail)
{
    if (token.length > TOKEN_TEXT_MAX) {
        return err_set(detail,
                       ERR_UNAUTHENTICATED,
                       "the token has %zu bytes, the limit is %d",
                       token.length,
                       TOKEN_TEXT_MAX);
    }
    if (token.length == 0) {
        return refuse(detail, "the token is empty");
    }
    const char *end = token.at + token.length;
    const char *first = memchr(token.at, '.', token.length);
    const char *second = first != NULL
                             ? memchr(first + 1, '.', (size_t)(end - first - 1))
                             : NULL;
    if (second == NULL) {
        return refuse(detail,
                      "the token is malformed: it must have three parts with "
                      "dots between them");
    }
    const struct text header = {token.at, (size_t)(first - token.at)};
    const struct text payload = {first + 1, (size_t)(second - first - 1)};
    const struct text signature = {second + 1, (size_t)(end - second - 1)};
    out->content = (struct text){token.at, (size_t)(second - token.at)};
    if (!read_object(header, &out->header) ||
        !read_object(payload, &out->payload) ||
        !base64url_read(&out->signature, signature)) {
        return refuse(detail,
                      "the token is malformed: header and payload must be JSON "
                      "objects, and all parts base64url without padding");
    }
    return ERR_OK;
}

/* A claim that is a string; at == NULL if it is none. *holder keeps it. */
static struct text claim_text(struct value object,
                              const char *name,
                              struct value *holder)
{
    *holder = object_field(object, name);
    return value_is_string(*holder) ? value_text(holder)
                                    : (struct text){NULL, 0};
}

/* -- Signatures ---------------------------------------------------------- */

/* Which rules apply to the claims. */
enum issuer {
    ISSUER_SERVICE, /* grants */
    ISSUER_SELF,    /* a key, for itself */
    ISSUER_KEY_SET,
};

/* A media type, in which capital and small letters are the same. */
static bool is_type(struct text type, const char *want)
{
    const size_t length = strlen(want);
    bool same = type.length == length;
    for (size_t i = 0; same && i < length; i++) {
        const char c = type.at[i];
        same = (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == want[i];
    }
    return same;
}

static enum err check_header(struct value header, struct err_detail *detail)
{
    struct value holder;
    if (!value_is_absent(object_field(header, "crit"))) {
        return refuse(detail,
                      "the token has critical header fields (crit), which this "
                      "server does not know");
    }
    if (!value_is_absent(object_field(header, "typ"))) {
        const struct text type = claim_text(header, "typ", &holder);
        if (type.at == NULL ||
            (!is_type(type, "jwt") && !is_type(type, "at+jwt"))) {
            return refuse(detail, "the typ of the token must be JWT or at+jwt");
        }
    }
    const struct value kid = object_field(header, "kid");
    if (!value_is_absent(kid) && !value_is_string(kid)) {
        return refuse(detail, "the kid of the token must be a string");
    }
    return ERR_OK;
}

/* A kid, where there is one, names the key of iss: the did:key itself, or with
 * its fragment as a verification method. */
static bool names_key(struct value header, const char name[KEY_NAME_LENGTH + 1])
{
    char method[2 * KEY_NAME_LENGTH];
    struct value holder;
    const struct text kid = claim_text(header, "kid", &holder);
    (void)snprintf(method,
                   sizeof method,
                   "%s#%s",
                   name,
                   name + strlen("did:key:"));
    return kid.at == NULL || text_is(kid, name) || text_is(kid, method);
}

static bool is_service_key(const struct token_trust *trust,
                           const struct public_key *key)
{
    for (size_t i = 0; i < trust->service_key_count; i++) {
        if (memcmp(trust->service_keys[i].bytes,
                   key->bytes,
                   sizeof key->bytes) == 0) {
            return true;
        }
    }
    return false;
}

static enum err check_eddsa(const struct parts *parts,
                            const struct token_trust *trust,
                            enum issuer *out,
                            struct err_detail *detail)
{
    struct value iss;
    struct value sub;
    struct public_key key;
    char name[KEY_NAME_LENGTH + 1];
    const struct text issuer = claim_text(parts->payload, "iss", &iss);
    const struct text subject = claim_text(parts->payload, "sub", &sub);
    if (issuer.at == NULL || !key_name_read(issuer, &key)) {
        return refuse(detail,
                      "the iss of an EdDSA token must be the did:key of an "
                      "Ed25519 key");
    }
    key_name_write(&key, name);
    if (!names_key(parts->header, name)) {
        return refuse(detail,
                      "the kid of the token names another key than iss");
    }
    if (is_service_key(trust, &key)) {
        *out = ISSUER_SERVICE;
    } else if (subject.at != NULL && text_is(subject, name)) {
        *out = ISSUER_SELF;
    } else {
        return refuse(detail,
                      "the token is signed by a key that is not a service key "
                      "of this server: such a key can only sign for itself "
                      "(sub = iss)");
    }
    if (parts->signature.length != KEY_SIGNATURE_BYTES ||
        !key_verify(&key,
                    parts->content.at,
                    parts->content.length,
                    (const unsigned char *)parts->signature.at)) {
        return refuse(detail, "the signature of the token does not match");
    }
    return ERR_OK;
}

static enum err check_key_set(const struct parts *parts,
                              const struct token_trust *trust,
                              enum jwks_algorithm algorithm,
                              struct err_detail *detail)
{
    struct value holder;
    const struct text kid = claim_text(parts->header, "kid", &holder);
    if (trust->jwks == NULL) {
        return refuse(detail,
                      "this server has no key set (JWKS) for tokens of other "
                      "issuers");
    }
    const struct jwks_key *key = jwks_find(trust->jwks, kid, algorithm, detail);
    if (key == NULL) {
        return ERR_UNAUTHENTICATED;
    }
    if (!jwks_verify(key,
                     parts->content.at,
                     parts->content.length,
                     (const unsigned char *)buf_text(&parts->signature),
                     parts->signature.length)) {
        return refuse(detail, "the signature of the token does not match");
    }
    const struct text issuer = claim_text(parts->payload, "iss", &holder);
    const char *want = jwks_key_issuer(key);
    if (want[0] != '\0' && (issuer.at == NULL || !text_is(issuer, want))) {
        return refuse(detail,
                      "the key of the token belongs to another issuer than "
                      "iss");
    }
    return ERR_OK;
}

/* token-1: nothing but these three names leads to a verification. */
static enum err check_signature(const struct parts *parts,
                                const struct token_trust *trust,
                                enum issuer *out,
                                struct err_detail *detail)
{
    struct value holder;
    const enum err err = check_header(parts->header, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct text algorithm = claim_text(parts->header, "alg", &holder);
    *out = ISSUER_KEY_SET;
    if (algorithm.at != NULL && text_is(algorithm, "EdDSA")) {
        return check_eddsa(parts, trust, out, detail);
    }
    if (algorithm.at != NULL && text_is(algorithm, "RS256")) {
        return check_key_set(parts, trust, JWKS_RS256, detail);
    }
    if (algorithm.at != NULL && text_is(algorithm, "ES256")) {
        return check_key_set(parts, trust, JWKS_ES256, detail);
    }
    return refuse(detail,
                  "the algorithm of the token (alg) must be EdDSA, RS256 or "
                  "ES256");
}

/* -- Claims -------------------------------------------------------------- */

static bool is_audience(struct value item, const char *audience)
{
    return value_is_string(item) && text_is(value_text(&item), audience);
}

static enum err check_audience(struct value payload,
                               const char *audience,
                               struct err_detail *detail)
{
    const struct value given = object_field(payload, "aud");
    bool found = is_audience(given, audience);
    if (value_is_array(given) && array_count(given) <= TOKEN_AUDIENCES_MAX) {
        for (uint32_t i = 0; !found && i < array_count(given); i++) {
            found = is_audience(array_at(given, i), audience);
        }
    }
    if (!found) {
        return err_set(detail,
                       ERR_UNAUTHENTICATED,
                       "the token is not for this server: its aud must be "
                       "'%.*s'",
                       text_shown(audience, strlen(audience), 100),
                       audience);
    }
    return ERR_OK;
}

enum time_claim {
    TIME_MISSING,
    TIME_GIVEN,
    TIME_BAD,
};

/* Seconds, which may have a fraction. */
static enum time_claim claim_time(struct value payload,
                                  const char *name,
                                  double *out)
{
    const struct value value = object_field(payload, name);
    *out = 0;
    if (value_is_absent(value)) {
        return TIME_MISSING;
    }
    if (!value_is_number(value)) {
        return TIME_BAD;
    }
    *out = value_real(value);
    return isfinite(*out) && *out >= 0 && *out <= TIME_MAX ? TIME_GIVEN
                                                           : TIME_BAD;
}

static enum err check_times(struct value payload,
                            uint64_t now,
                            struct credential *out,
                            struct err_detail *detail)
{
    double expires;
    double not_before;
    double issued;
    if (claim_time(payload, "exp", &expires) != TIME_GIVEN ||
        claim_time(payload, "nbf", &not_before) == TIME_BAD ||
        claim_time(payload, "iat", &issued) == TIME_BAD) {
        return refuse(detail,
                      "the token must have exp, and exp, nbf and iat must be "
                      "numbers of seconds since 1970");
    }
    if (expires + TOKEN_SKEW_S <= (double)now) {
        return refuse(detail, "the token has expired: get a new one");
    }
    if (not_before - TOKEN_SKEW_S > (double)now ||
        issued - TOKEN_SKEW_S > (double)now) {
        return refuse(detail,
                      "the token is not valid yet: compare the clocks of both "
                      "machines");
    }
    out->expires_ms = (uint64_t)((expires + TOKEN_SKEW_S) * 1000);
    return ERR_OK;
}

static enum err check_subject(struct value payload,
                              enum issuer issuer,
                              struct credential *out,
                              struct err_detail *detail)
{
    struct value holder;
    const struct text subject = claim_text(payload, "sub", &holder);
    if (subject.at == NULL || principal_check(subject, NULL) != ERR_OK) {
        return refuse(detail,
                      "the sub of the token must name a principal: 1 to 255 "
                      "bytes without control characters, and not '*'");
    }
    if (issuer == ISSUER_KEY_SET && subject.length >= 4 &&
        memcmp(subject.at, "did:", 4) == 0) {
        return refuse(detail,
                      "the sub of the token begins with 'did:', and only a key "
                      "itself can prove such a name");
    }
    memcpy(out->principal, subject.at, subject.length);
    return ERR_OK;
}

/* `cap` and `space`; a token of the key set may leave them out. */
static enum err check_scope(struct value payload,
                            enum issuer issuer,
                            struct credential *out,
                            struct err_detail *detail)
{
    struct value holder;
    const bool optional = issuer == ISSUER_KEY_SET;
    out->ceiling = CAPABILITY_OWNER;
    if (!optional || !value_is_absent(object_field(payload, "cap"))) {
        const struct text name = claim_text(payload, "cap", &holder);
        if (name.at == NULL || !capability_read(name, &out->ceiling)) {
            return refuse(detail,
                          "the cap of the token must be READ, WRITE or OWNER");
        }
    }
    if (!optional || !value_is_absent(object_field(payload, "space"))) {
        const struct text space = claim_text(payload, "space", &holder);
        if (space.at == NULL ||
            (!is_every_space(space) && check_space(space, NULL) != ERR_OK)) {
            return refuse(detail,
                          "the space of the token must be the name of a space, "
                          "or '*'");
        }
        if (!is_every_space(space)) {
            memcpy(out->space, space.at, space.length);
        }
    }
    out->grants =
        issuer == ISSUER_SERVICE &&
        key_name_read(claim_text(payload, "iss", &holder), &out->signer);
    return ERR_OK;
}

static enum err check_parts(const struct parts *parts,
                            const struct token_trust *trust,
                            uint64_t now,
                            struct credential *out,
                            struct err_detail *detail)
{
    enum issuer issuer;
    enum err err = check_signature(parts, trust, &issuer, detail);
    if (err == ERR_OK) {
        err = check_audience(parts->payload, trust->audience, detail);
    }
    if (err == ERR_OK) {
        err = check_times(parts->payload, now, out, detail);
    }
    if (err == ERR_OK) {
        err = check_subject(parts->payload, issuer, out, detail);
    }
    return err == ERR_OK ? check_scope(parts->payload, issuer, out, detail)
                         : err;
}

enum err token_check(struct text token,
                     const struct token_trust *trust,
                     uint64_t now,
                     struct credential *out,
                     struct err_detail *detail)
{
    struct parts parts = {0};
    memset(out, 0, sizeof *out);
    enum err err = read_parts(token, &parts, detail);
    if (err == ERR_OK) {
        err = check_parts(&parts, trust, now, out, detail);
    }
    if (err != ERR_OK) {
        memset(out, 0, sizeof *out);
    }
    parts_release(&parts);
    return err;
}
