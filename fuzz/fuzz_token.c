/* What a stranger sends to prove an identity: tokens, key sets, names of keys
 * and proofs. The first byte of an input says what the rest is:
 *
 *   T  a token, checked against the keys below
 *   S  a header, a zero byte and a payload, which are signed with our key: what
 *      is behind the signature is reached, too
 *   J  a key set
 *   D  the name of a key
 *   B  a text in base64url
 *   P  the JSON of a proof
 *   Q  audience, space, branch and session, with zero bytes between them: a
 *      proof of these is accepted, and one of others is not
 *
 * The public keys are those of test/data/auth/tokens.json, whose tokens are in
 * the corpus. */

#include <string.h>

#include "auth/proof.h"
#include "auth/token.h"
#include "fuzz.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

static const char key_set[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"iE8xhkWojjAqjPuqx7G2yOpXrkXx2"
    "hbdBjR_KBddnxc76OeWPBzhdVdZgPuM4yXQxRRhpU5zkV1yhSYMl0-mR"
    "mLNOWTiXYeUAPjXjzh1K-mNeCZscWNhLGleW7neUX0NmBkSU7mifP_F-"
    "tQDHDjLiXLkBae9HnkI4hZO9knnFkjTnpp_gBePv0prvQlC8irlQOT9H"
    "vnuDFmitILzFrPucQjk3IsI6l4-4bnG8yCKRP4lkZRkLbgGsksEV9TOY"
    "N4xaDMLInzAHHtclR4_PsvNwPXCUy7EhbOGPp2tKFG2mpQsRI1a3XFR9"
    "MD4X36aolqU2ldnO11R6kYIf9s-iWzcvQ\",\"e\":\"AQAB\",\"kid\":\"rsa"
    "\",\"use\":\"sig\",\"alg\":\"RS256\"},{\"kty\":\"EC\",\"crv\":\"P-256\",\""
    "x\":\"exYPc7bdYOutK4KchOyD0XQcfvp-Ej2y7HOgWfyBQ4Q\",\"y\":\"_F"
    "YPNMbRsqZxJP-IqDyQAnP6OCAmU_qa3Ot_2Taf1Cg\",\"kid\":\"ec\"}]}";

static const char other_service[] =
    "did:key:z6MkfnjtvDMgsg4zRQvynABBuLnvsCdEau8CP9gbKhuVFySf";

static const char audience[] = "heddle:test";

enum {
    NOW = 1800000000,
    ISSUED = 1000,
};

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

/* Made once: a key costs more than the rest of an input. */
static struct world {
    struct jwks *jwks;
    struct key key;
    struct public_key services[2];
    struct token_trust trust;
} world;

static void world_begin(void)
{
    const unsigned char seed[KEY_SEED_BYTES] = {1};
    if (world.jwks != NULL) {
        return;
    }
    CHECK(jwks_read(key_set, strlen(key_set), &world.jwks, NULL) == ERR_OK);
    key_of_seed(seed, &world.key);
    world.services[0] = world.key.public_key;
    CHECK(key_name_read(text_of(other_service), &world.services[1]));
    world.trust = (struct token_trust){
        .audience = audience,
        .service_keys = world.services,
        .service_key_count = 2,
        .jwks = world.jwks,
    };
}

/* -- Tokens -------------------------------------------------------------- */

static bool is_nothing(const struct credential *who)
{
    static const struct credential nothing;
    return memcmp(who, &nothing, sizeof nothing) == 0;
}

/* What was accepted can be signed again, and is accepted again. */
static void check_again(const struct credential *who)
{
    struct buf token = {0};
    struct credential again;
    const struct token_claims claims = {
        .subject = text_of(who->principal),
        .audience = text_of(audience),
        .space = text_of(who->space[0] != '\0' ? who->space : "*"),
        .capability = who->ceiling,
        .issued_at = NOW,
        .expires = NOW + 1,
    };
    CHECK(token_make(&token, &world.key, &claims, NULL) == ERR_OK);
    CHECK(token_check((struct text){buf_text(&token), token.length},
                      &world.trust,
                      NOW,
                      &again,
                      NULL) == ERR_OK);
    CHECK(strcmp(again.principal, who->principal) == 0);
    CHECK(strcmp(again.space, who->space) == 0);
    CHECK(again.ceiling == who->ceiling && again.grants);
    buf_release(&token);
}

static bool run_token(const char *text, size_t size)
{
    struct credential who;
    struct err_detail detail = {0};
    const enum err err = token_check((struct text){text, size},
                                     &world.trust,
                                     NOW,
                                     &who,
                                     &detail);
    if (err != ERR_OK) {
        CHECK(err == ERR_UNAUTHENTICATED);
        CHECK(is_nothing(&who));
        fuzz_check_detail(err, &detail);
        CHECK(utf8_is_valid(detail.text, strlen(detail.text)));
        return false;
    }
    CHECK(who.ceiling >= CAPABILITY_READ && who.ceiling <= CAPABILITY_OWNER);
    CHECK(principal_check(text_of(who.principal), NULL) == ERR_OK);
    CHECK(who.expires_ms > (uint64_t)NOW * 1000);
    check_again(&who);
    return true;
}

/* Only our key signs here, so what is accepted must say EdDSA. */
static void run_signed(const char *text, size_t size)
{
    const char *cut = memchr(text, '\0', size);
    if (cut == NULL) {
        return;
    }
    struct buf token = {0};
    unsigned char signature[KEY_SIGNATURE_BYTES];
    const size_t first = (size_t)(cut - text);
    base64url_write(&token, text, first);
    buf_append_char(&token, '.');
    base64url_write(&token, cut + 1, size - first - 1);
    key_sign(&world.key, buf_text(&token), token.length, signature);
    buf_append_char(&token, '.');
    base64url_write(&token, signature, sizeof signature);
    if (run_token(buf_text(&token), token.length)) {
        struct value header;
        CHECK(json_read(text, first, NULL, &header, NULL) == ERR_OK);
        CHECK(value_is_text(object_field(header, "alg"), "EdDSA"));
        value_unref(header);
        /* Every bit of the signature counts. */
        token.at[token.length - 20] ^= 1;
        CHECK(!run_token(buf_text(&token), token.length));
    }
    buf_release(&token);
}

/* -- Keys ---------------------------------------------------------------- */

static void run_key_set(const char *text, size_t size)
{
    struct jwks *jwks;
    struct err_detail detail = {0};
    const enum err err = jwks_read(text, size, &jwks, &detail);
    if (err != ERR_OK) {
        CHECK(jwks == NULL);
        fuzz_check_detail(err, &detail);
        return;
    }
    CHECK(jwks_count(jwks) <= JWKS_KEYS_MAX);
    (void)jwks_find(jwks, (struct text){NULL, 0}, JWKS_ES256, NULL);
    const struct jwks_key *key =
        jwks_find(jwks, (struct text){NULL, 0}, JWKS_RS256, NULL);
    if (key != NULL) {
        CHECK(!jwks_verify(key, text, size, (const unsigned char *)"x", 1));
    }
    jwks_free(jwks);
}

static void run_name(const char *text, size_t size)
{
    struct public_key key;
    char name[KEY_NAME_LENGTH + 1];
    if (key_name_read((struct text){text, size}, &key)) {
        key_name_write(&key, name);
        CHECK(size == KEY_NAME_LENGTH && memcmp(name, text, size) == 0);
    }
    if (principal_check((struct text){text, size}, NULL) == ERR_OK) {
        CHECK(size > 0 && size <= PRINCIPAL_BYTES_MAX);
    }
}

static void run_base64url(const char *text, size_t size)
{
    struct buf bytes = {0};
    struct buf again = {0};
    if (base64url_read(&bytes, (struct text){text, size})) {
        base64url_write(&again, buf_text(&bytes), bytes.length);
        CHECK(again.length == size);
        CHECK(size == 0 || memcmp(again.at, text, size) == 0);
    } else {
        CHECK(bytes.length == 0);
    }
    buf_release(&bytes);
    buf_release(&again);
}

/* -- Proofs -------------------------------------------------------------- */

static const struct proof_clock now = {
    .wall_ms = (uint64_t)NOW * 1000,
    .mono = ISSUED,
};

static struct challenge issue(void)
{
    static const unsigned char random[CHALLENGE_BYTES] = {7};
    struct challenge challenge;
    challenge_issue(&challenge, random, ISSUED);
    return challenge;
}

static bool prove(struct value proof, const struct proof_claim *claim)
{
    struct challenge challenge = issue();
    struct credential who;
    struct err_detail detail = {0};
    const enum proof_fault fault =
        proof_check(proof, claim, &challenge, now, &who, &detail);
    CHECK(challenge.text[0] == '\0');
    if (fault != PROOF_ACCEPTED) {
        CHECK(is_nothing(&who));
        fuzz_check_detail(ERR_UNAUTHENTICATED, &detail);
    }
    return fault == PROOF_ACCEPTED;
}

static void run_proof(const char *text, size_t size)
{
    struct value proof;
    const struct proof_claim claim = {
        .audience = text_of(audience),
        .space = text_of("main"),
        .branch = text_of(""),
        .session = {NULL, 0},
    };
    if (json_read(text, size, NULL, &proof, NULL) == ERR_OK) {
        (void)prove(proof, &claim);
        value_unref(proof);
    }
}

/* The next text up to a zero byte. */
static struct text take(const char **at, const char *end)
{
    const size_t left = (size_t)(end - *at);
    const char *cut = left > 0 ? memchr(*at, '\0', left) : NULL;
    const struct text text = {*at, cut != NULL ? (size_t)(cut - *at) : left};
    *at = cut != NULL ? cut + 1 : end;
    return text;
}

static void run_claim(const char *at, size_t size)
{
    const char *end = at + size;
    if (!utf8_is_valid(at, size)) {
        return;
    }
    const struct challenge challenge = issue();
    struct proof_claim claim = {
        .challenge = text_of(challenge.text),
        .audience = take(&at, end),
        .space = take(&at, end),
        .branch = take(&at, end),
        .session = take(&at, end),
        .issued_at = (uint64_t)NOW * 1000,
        .expires = (uint64_t)NOW * 1000,
    };
    struct value proof = proof_make(&world.key, &claim);
    CHECK(prove(proof, &claim));
    struct proof_claim other = claim;
    other.space = claim.branch;
    other.branch = claim.space;
    const bool same =
        claim.space.length == claim.branch.length &&
        memcmp(claim.space.at, claim.branch.at, claim.space.length) == 0;
    CHECK(prove(proof, &other) == same);
    other = claim;
    other.session = (struct text){NULL, 0};
    CHECK(!prove(proof, &other));
    value_unref(proof);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    world_begin();
    if (size == 0) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    fuzz_begin(&memory);
    switch (data[0]) {
    case 'T':
        (void)run_token(text, size - 1);
        break;
    case 'S':
        run_signed(text, size - 1);
        break;
    case 'J':
        run_key_set(text, size - 1);
        break;
    case 'D':
        run_name(text, size - 1);
        break;
    case 'B':
        run_base64url(text, size - 1);
        break;
    case 'P':
        run_proof(text, size - 1);
        break;
    case 'Q':
        run_claim(text, size - 1);
        break;
    default:
        break;
    }
    fuzz_end(&memory);
    return 0;
}
