/* Key sets, on the EVP interface of OpenSSL 3.0. */

#include "auth/jwks.h"

#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "auth/key.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    NAME_MAX_BYTES = 255, /* of a kid or an issuer */
    COORDINATE_BYTES = 32,
    POINT_BYTES = 1 + 2 * COORDINATE_BYTES,
    RSA_EXPONENT_BITS_MAX = 33, /* 65537 has 17 */
    NAME_SHOWN = 40,
};

struct jwks_key {
    enum jwks_algorithm algorithm;
    EVP_PKEY *key;
    bool has_kid;
    char kid[NAME_MAX_BYTES + 1];
    size_t kid_length;
    char issuer[NAME_MAX_BYTES + 1];
};

struct jwks {
    VEC(struct jwks_key) keys;
};

/* -- Building keys ------------------------------------------------------- */

static EVP_PKEY *key_of_params(const char *type, OSSL_PARAM_BLD *builder)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params == NULL || context == NULL ||
        EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

static bool is_sound(EVP_PKEY *key)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    const bool sound = context != NULL && EVP_PKEY_public_check(context) == 1;
    EVP_PKEY_CTX_free(context);
    return sound;
}

/* The bytes of a member in base64url; false if it is not such a text, or longer
 * than `most`. */
static bool read_bytes(struct value object,
                       const char *name,
                       size_t most,
                       struct buf *out)
{
    const struct value text = object_field(object, name);
    return value_is_string(text) && value_text(&text).length <= most * 2 &&
           base64url_read(out, value_text(&text)) && out->length > 0 &&
           out->length <= most;
}

static EVP_PKEY *rsa_of_bytes(const struct buf *modulus,
                              const struct buf *exponent)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *n = BN_bin2bn((const unsigned char *)modulus->at,
                          (int)modulus->length,
                          NULL);
    BIGNUM *e = BN_bin2bn((const unsigned char *)exponent->at,
                          (int)exponent->length,
                          NULL);
    if (builder != NULL && n != NULL && e != NULL &&
        BN_num_bits(n) >= JWKS_RSA_BITS_MIN &&
        BN_num_bits(n) <= JWKS_RSA_BITS_MAX && BN_is_odd(n) && BN_is_odd(e) &&
        !BN_is_one(e) && BN_num_bits(e) <= RSA_EXPONENT_BITS_MAX &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1) {
        key = key_of_params("RSA", builder);
    }
    BN_free(n);
    BN_free(e);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static EVP_PKEY *read_rsa(struct value object)
{
    struct buf modulus = {0};
    struct buf exponent = {0};
    EVP_PKEY *key = NULL;
    if (read_bytes(object, "n", JWKS_RSA_BITS_MAX / 8, &modulus) &&
        read_bytes(object, "e", 8, &exponent)) {
        key = rsa_of_bytes(&modulus, &exponent);
    }
    buf_release(&modulus);
    buf_release(&exponent);
    return key;
}

static EVP_PKEY *ec_of_point(const unsigned char point[POINT_BYTES])
{
    char curve[] = "prime256v1";
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder,
                                        OSSL_PKEY_PARAM_GROUP_NAME,
                                        curve,
                                        0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder,
                                         OSSL_PKEY_PARAM_PUB_KEY,
                                         point,
                                         POINT_BYTES) == 1) {
        key = key_of_params("EC", builder);
    }
    OSSL_PARAM_BLD_free(builder);
    if (key != NULL && !is_sound(key)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

static EVP_PKEY *read_ec(struct value object)
{
    unsigned char point[POINT_BYTES] = {4}; /* not compressed */
    struct buf x = {0};
    struct buf y = {0};
    EVP_PKEY *key = NULL;
    if (read_bytes(object, "x", COORDINATE_BYTES, &x) &&
        read_bytes(object, "y", COORDINATE_BYTES, &y) &&
        x.length == COORDINATE_BYTES && y.length == COORDINATE_BYTES) {
        memcpy(point + 1, x.at, COORDINATE_BYTES);
        memcpy(point + 1 + COORDINATE_BYTES, y.at, COORDINATE_BYTES);
        key = ec_of_point(point);
    }
    buf_release(&x);
    buf_release(&y);
    return key;
}

/* -- Reading the set ----------------------------------------------------- */

static bool is_field_text(struct value object, const char *name, const char *is)
{
    const struct value field = object_field(object, name);
    return value_is_string(field) && value_is_text(field, is);
}

/* Absent, or this one. */
static bool may_be(struct value object, const char *name, const char *is)
{
    return value_is_absent(object_field(object, name)) ||
           is_field_text(object, name, is);
}

static bool may_verify(struct value object)
{
    const struct value uses = object_field(object, "key_ops");
    if (value_is_absent(uses)) {
        return true;
    }
    for (uint32_t i = 0; value_is_array(uses) && i < array_count(uses); i++) {
        const struct value use = array_at(uses, i);
        if (value_is_string(use) && value_is_text(use, "verify")) {
            return true;
        }
    }
    return false;
}

/* Whether a key is one that we use, and for what. */
static bool classify(struct value object, enum jwks_algorithm *out)
{
    if (!may_be(object, "use", "sig") || !may_verify(object)) {
        return false;
    }
    if (is_field_text(object, "kty", "RSA")) {
        *out = JWKS_RS256;
        return may_be(object, "alg", "RS256");
    }
    *out = JWKS_ES256;
    return is_field_text(object, "kty", "EC") &&
           is_field_text(object, "crv", "P-256") &&
           may_be(object, "alg", "ES256");
}

/* An optional name; false if it is not one. */
static bool read_name(struct value object,
                      const char *field,
                      char out[NAME_MAX_BYTES + 1],
                      size_t *length)
{
    const struct value name = object_field(object, field);
    *length = 0;
    if (value_is_absent(name)) {
        return true;
    }
    if (!value_is_string(name)) {
        return false;
    }
    const struct text text = value_text(&name);
    if (text.length == 0 || text.length > NAME_MAX_BYTES ||
        memchr(text.at, '\0', text.length) != NULL) {
        return false;
    }
    memcpy(out, text.at, text.length);
    out[text.length] = '\0';
    *length = text.length;
    return true;
}

static bool has_kid(const struct jwks *jwks, const struct jwks_key *key)
{
    VEC_FOREACH (&jwks->keys, other) {
        if (key->has_kid && other->has_kid &&
            other->kid_length == key->kid_length &&
            memcmp(other->kid, key->kid, key->kid_length) == 0) {
            return true;
        }
    }
    return false;
}

static enum err bad_key(uint32_t index,
                        const char *why,
                        struct err_detail *detail)
{
    return err_set(detail,
                   ERR_SYNTAX,
                   "the key set is invalid: keys[%u] %s",
                   (unsigned)index,
                   why);
}

static enum err read_key(struct jwks *jwks,
                         struct value object,
                         uint32_t index,
                         struct err_detail *detail)
{
    struct jwks_key key = {0};
    size_t length = 0;
    if (!value_is_object(object) ||
        !value_is_string(object_field(object, "kty"))) {
        return bad_key(index, "must be an object with kty", detail);
    }
    if (!value_is_absent(object_field(object, "d"))) {
        return bad_key(index,
                       "is a private key: the file must hold public keys only",
                       detail);
    }
    if (!classify(object, &key.algorithm)) {
        return ERR_OK;
    }
    if (!read_name(object, "kid", key.kid, &key.kid_length) ||
        !read_name(object, "iss", key.issuer, &length)) {
        return bad_key(index,
                       "must have a kid and an iss of 1 to 255 bytes, or none",
                       detail);
    }
    key.has_kid = key.kid_length > 0;
    if (has_kid(jwks, &key)) {
        return bad_key(index, "has the kid of an earlier key", detail);
    }
    key.key = key.algorithm == JWKS_RS256 ? read_rsa(object) : read_ec(object);
    ERR_clear_error();
    if (key.key == NULL) {
        return bad_key(index,
                       key.algorithm == JWKS_RS256
                           ? "must have an RSA modulus n of 2048 to 8192 bits "
                             "and an odd exponent e of at most 33 bits"
                           : "must have the coordinates x and y of a point of "
                             "P-256, with 32 bytes each",
                       detail);
    }
    vec_push(&jwks->keys, key);
    return ERR_OK;
}

static enum err read_keys(struct jwks *jwks,
                          struct value set,
                          struct err_detail *detail)
{
    const struct value keys = object_field(set, "keys");
    enum err err = ERR_OK;
    if (!value_is_array(keys)) {
        return err_set(detail,
                       ERR_SYNTAX,
                       "the key set is invalid: it must be an object with an "
                       "array 'keys'");
    }
    if (array_count(keys) > JWKS_KEYS_MAX) {
        return err_set(detail,
                       ERR_LIMIT_ELEMENTS,
                       "the key set has %u keys, the limit is %d",
                       (unsigned)array_count(keys),
                       JWKS_KEYS_MAX);
    }
    for (uint32_t i = 0; err == ERR_OK && i < array_count(keys); i++) {
        err = read_key(jwks, array_at(keys, i), i, detail);
    }
    return err;
}

enum err jwks_read(const char *text,
                   size_t length,
                   struct jwks **out,
                   struct err_detail *detail)
{
    static const struct json_limits limits = {
        .text_bytes = JWKS_TEXT_MAX,
        .depth = 8,
    };
    struct value set;
    struct json_fault fault;
    *out = NULL;
    enum err err = json_read(text, length, &limits, &set, &fault);
    if (err != ERR_OK) {
        return err_set(detail,
                       err,
                       "the key set is not valid JSON: %s",
                       fault.text);
    }
    struct jwks *jwks = mem_alloc_zero(sizeof *jwks);
    err = read_keys(jwks, set, detail);
    value_unref(set);
    if (err != ERR_OK) {
        jwks_free(jwks);
        return err;
    }
    *out = jwks;
    return ERR_OK;
}

void jwks_free(struct jwks *jwks)
{
    if (jwks == NULL) {
        return;
    }
    VEC_FOREACH (&jwks->keys, key) {
        EVP_PKEY_free(key->key);
    }
    vec_release(&jwks->keys);
    mem_free(jwks, sizeof *jwks);
}

size_t jwks_count(const struct jwks *jwks)
{
    return jwks->keys.count;
}

/* -- Using it ------------------------------------------------------------ */

static const struct jwks_key *find_kid(const struct jwks *jwks, struct text kid)
{
    VEC_FOREACH (&jwks->keys, key) {
        if (key->has_kid && key->kid_length == kid.length &&
            memcmp(key->kid, kid.at, kid.length) == 0) {
            return key;
        }
    }
    return NULL;
}

/* The only key of an algorithm, or NULL. */
static const struct jwks_key *find_only(const struct jwks *jwks,
                                        enum jwks_algorithm algorithm)
{
    const struct jwks_key *found = NULL;
    VEC_FOREACH (&jwks->keys, key) {
        if (key->algorithm == algorithm) {
            if (found != NULL) {
                return NULL;
            }
            found = key;
        }
    }
    return found;
}

const struct jwks_key *jwks_find(const struct jwks *jwks,
                                 struct text kid,
                                 enum jwks_algorithm algorithm,
                                 struct err_detail *detail)
{
    if (kid.at == NULL) {
        const struct jwks_key *only = find_only(jwks, algorithm);
        if (only == NULL) {
            (void)err_set(detail,
                          ERR_UNAUTHENTICATED,
                          "the token has no kid, and the server's key set does "
                          "not have exactly one key for its algorithm");
        }
        return only;
    }
    const struct jwks_key *key = find_kid(jwks, kid);
    if (key == NULL || key->algorithm != algorithm) {
        (void)err_set(detail,
                      ERR_UNAUTHENTICATED,
                      key == NULL
                          ? "the token is signed with key '%.*s', which "
                            "is not in the server's key set"
                          : "the key '%.*s' is for another algorithm "
                            "than that of the token",
                      text_shown(kid.at, kid.length, NAME_SHOWN),
                      kid.at);
        return NULL;
    }
    return key;
}

const char *jwks_key_issuer(const struct jwks_key *key)
{
    return key->issuer;
}

/* OpenSSL takes an ECDSA signature in DER; a token has r and s as 32 bytes
 * each. NULL if that is not its length. */
static unsigned char *der_of_signature(const unsigned char *raw,
                                       size_t length,
                                       size_t *der_length)
{
    unsigned char *der = NULL;
    if (length != (size_t)2 * COORDINATE_BYTES) {
        return NULL;
    }
    ECDSA_SIG *signature = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, COORDINATE_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(raw + COORDINATE_BYTES, COORDINATE_BYTES, NULL);
    if (signature != NULL && r != NULL && s != NULL &&
        ECDSA_SIG_set0(signature, r, s) == 1) {
        const int made = i2d_ECDSA_SIG(signature, &der);
        *der_length = made > 0 ? (size_t)made : 0;
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(signature);
    return der;
}

static bool verify(EVP_PKEY *key,
                   const void *bytes,
                   size_t length,
                   const unsigned char *signature,
                   size_t signature_length)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    /* For RSA the padding is PKCS #1 v1.5, as RS256 demands. */
    const bool valid =
        context != NULL &&
        EVP_DigestVerifyInit_ex(context,
                                NULL,
                                "SHA256",
                                NULL,
                                NULL,
                                key,
                                NULL) == 1 &&
        EVP_DigestVerify(context, signature, signature_length, bytes, length) ==
            1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return valid;
}

bool jwks_verify(const struct jwks_key *key,
                 const void *bytes,
                 size_t length,
                 const unsigned char *signature,
                 size_t signature_length)
{
    if (key->algorithm == JWKS_RS256) {
        return verify(key->key, bytes, length, signature, signature_length);
    }
    size_t der_length = 0;
    unsigned char *der =
        der_of_signature(signature, signature_length, &der_length);
    const bool valid =
        der != NULL && verify(key->key, bytes, length, der, der_length);
    OPENSSL_free(der);
    return valid;
}
