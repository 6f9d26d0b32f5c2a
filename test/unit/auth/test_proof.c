/* Proofs of identity: each fault, in its order. */

#include "auth/proof.h"

#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "value/object.h"

enum {
    ISSUED = 1000 /* of the challenge, monotonic */
};

static const uint64_t NOW = 1800000000000;

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

struct fixture {
    struct key key;
    char name[KEY_NAME_LENGTH + 1];
    struct challenge challenge;
    struct challenge copy; /* keeps the text for the claim */
    struct proof_claim claim;
    struct proof_clock clock;
};

static void fixture_begin(struct fixture *fixture)
{
    unsigned char seed[KEY_SEED_BYTES] = {7};
    unsigned char random[CHALLENGE_BYTES];
    for (size_t i = 0; i < sizeof random; i++) {
        random[i] = (unsigned char)(i * 37);
    }
    key_of_seed(seed, &fixture->key);
    key_name_write(&fixture->key.public_key, fixture->name);
    challenge_issue(&fixture->challenge, random, ISSUED);
    fixture->copy = fixture->challenge;
    fixture->clock = (struct proof_clock){.wall_ms = NOW, .mono = ISSUED + 1};
    fixture->claim = (struct proof_claim){
        .audience = text_of("heddle:test"),
        .challenge = {fixture->copy.text, CHALLENGE_LENGTH},
        .space = text_of("main"),
        .branch = text_of(""),
        .session = text_of("s1"),
        .issued_at = NOW,
        .expires = NOW + 60000,
    };
}

/* Checks a proof, which is given away, against what the fixture's server
 * expects; the sentence is of one that is refused. */
static enum proof_fault check(struct fixture *fixture,
                              struct value proof,
                              const struct proof_claim *expected,
                              char sentence[ERR_TEXT_SIZE])
{
    struct credential who;
    struct err_detail detail = {0};
    const enum proof_fault fault = proof_check(proof,
                                               expected,
                                               &fixture->challenge,
                                               fixture->clock,
                                               &who,
                                               &detail);
    value_unref(proof);
    EXPECT_TEXT(fixture->challenge.text, ""); /* proof-2 */
    if (fault == PROOF_ACCEPTED) {
        EXPECT_TEXT(who.principal, fixture->name);
        EXPECT_EQ(who.ceiling, CAPABILITY_OWNER);
        EXPECT(!who.grants && who.space[0] == '\0' && who.expires_ms == 0);
    } else {
        EXPECT_TEXT(who.principal, "");
        EXPECT_EQ(who.ceiling, CAPABILITY_NONE);
        EXPECT_EQ(detail.err, ERR_UNAUTHENTICATED);
        EXPECT(detail.text[0] != '\0');
    }
    memcpy(sentence, detail.text, ERR_TEXT_SIZE);
    return fault;
}

/* The fault of a proof of `signed_claim`, where the server expects that of the
 * fixture. */
static enum proof_fault fault_of(struct fixture *fixture,
                                 const struct proof_claim *signed_claim)
{
    char sentence[ERR_TEXT_SIZE];
    struct value proof = proof_make(&fixture->key, signed_claim);
    return check(fixture, proof, &fixture->claim, sentence);
}

/* The same for a proof in which a field was replaced, or removed by an absent
 * value; with the sentence. */
static enum proof_fault fault_with(const char *field,
                                   struct value item,
                                   const char *part)
{
    struct fixture fixture;
    char sentence[ERR_TEXT_SIZE];
    fixture_begin(&fixture);
    struct value proof = proof_make(&fixture.key, &fixture.claim);
    if (value_is_absent(item)) {
        struct value key = value_text_new(field);
        proof = object_remove_adopt(proof, key);
        value_unref(key);
    } else {
        object_put_adopt(&proof, field, item);
    }
    const enum proof_fault fault =
        check(&fixture, proof, &fixture.claim, sentence);
    if (part != NULL) {
        EXPECT_CONTAINS(sentence, part);
    }
    return fault;
}

TEST(the_signed_text_is_canonical_json)
{
    /* Signed by hand here: a client in another language does the same. */
    struct fixture fixture;
    struct buf text = {0};
    unsigned char signature[KEY_SIGNATURE_BYTES];
    char sentence[ERR_TEXT_SIZE];
    fixture_begin(&fixture);
    buf_printf(&text,
               "{\"audience\":\"heddle:test\",\"branch\":\"\","
               "\"challenge\":\"%s\",\"command\":\"attach\","
               "\"expires\":1800000060000,\"issuedAt\":1800000000000,"
               "\"session\":\"s1\",\"space\":\"main\"}",
               fixture.copy.text);
    key_sign(&fixture.key, buf_text(&text), text.length, signature);
    buf_clear(&text);
    base64url_write(&text, signature, sizeof signature);
    struct value proof = value_empty_object();
    object_put_text(&proof, "key", fixture.name);
    object_put_number(&proof, "issuedAt", 1800000000000);
    object_put_number(&proof, "expires", 1800000060000);
    object_put_adopt(&proof, "signature", value_string_adopt(&text));
    EXPECT_EQ(check(&fixture, proof, &fixture.claim, sentence), PROOF_ACCEPTED);
}

TEST(k07_a_signed_attach_is_by_the_key)
{
    struct fixture fixture;
    fixture_begin(&fixture);
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_ACCEPTED);
    fixture_begin(&fixture);
    fixture.claim.session = (struct text){NULL, 0};
    fixture.claim.branch = text_of("draft");
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_ACCEPTED);
}

TEST(k05_a_challenge_that_is_missing_wrong_used_or_expired_can_be_retried)
{
    struct fixture fixture;
    struct proof_claim claim;
    /* None was issued. */
    fixture_begin(&fixture);
    fixture.challenge = (struct challenge){0};
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_CHALLENGE);
    /* Another one. */
    fixture_begin(&fixture);
    claim = fixture.claim;
    claim.challenge = text_of("0000");
    EXPECT_EQ(fault_of(&fixture, &claim), PROOF_CHALLENGE);
    /* The same a second time. */
    fixture_begin(&fixture);
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_ACCEPTED);
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_CHALLENGE);
    /* Also after a refusal. */
    fixture_begin(&fixture);
    claim = fixture.claim;
    claim.space = text_of("other");
    EXPECT_EQ(fault_of(&fixture, &claim), PROOF_SIGNATURE);
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_CHALLENGE);
    /* Its age. */
    fixture_begin(&fixture);
    fixture.clock.mono = ISSUED + CHALLENGE_MS;
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_ACCEPTED);
    fixture_begin(&fixture);
    fixture.clock.mono = ISSUED + CHALLENGE_MS + 1;
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_CHALLENGE_AGE);
    EXPECT(proof_may_retry(PROOF_CHALLENGE));
    EXPECT(proof_may_retry(PROOF_CHALLENGE_AGE));
}

TEST(k05_a_wrong_audience_cannot_be_retried)
{
    struct fixture fixture;
    fixture_begin(&fixture);
    struct proof_claim claim = fixture.claim;
    claim.audience = text_of("heddle:other");
    EXPECT_EQ(fault_of(&fixture, &claim), PROOF_AUDIENCE);
    EXPECT(!proof_may_retry(PROOF_AUDIENCE));
    EXPECT(!proof_may_retry(PROOF_SHAPE));
    EXPECT(!proof_may_retry(PROOF_TIMES));
    EXPECT(!proof_may_retry(PROOF_EXPIRED));
    EXPECT(!proof_may_retry(PROOF_SIGNATURE));
    /* A proof that does not say what it signs is refused by its signature. */
    fixture_begin(&fixture);
    char sentence[ERR_TEXT_SIZE];
    struct value key = value_text_new("audience");
    struct value proof =
        object_remove_adopt(proof_make(&fixture.key, &claim), key);
    EXPECT_EQ(check(&fixture, proof, &fixture.claim, sentence),
              PROOF_SIGNATURE);
    value_unref(key);
}

TEST(k07_119_s_late_is_accepted_and_121_s_is_refused)
{
    struct fixture fixture;
    static const struct {
        uint64_t late_ms;
        enum proof_fault fault;
    } cases[] = {
        {0, PROOF_ACCEPTED},
        {119000, PROOF_ACCEPTED},
        {120000, PROOF_ACCEPTED},
        {120001, PROOF_EXPIRED},
        {121000, PROOF_EXPIRED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fixture_begin(&fixture);
        fixture.claim.issued_at = NOW - 600000;
        fixture.claim.expires = NOW - cases[i].late_ms;
        EXPECT_EQ(fault_of(&fixture, &fixture.claim), cases[i].fault);
    }
    /* A clock that is far behind. */
    fixture_begin(&fixture);
    fixture.clock.wall_ms = 0;
    EXPECT_EQ(fault_of(&fixture, &fixture.claim), PROOF_ACCEPTED);
}

TEST(k07_a_field_that_was_changed_after_signing_is_refused)
{
    for (unsigned field = 0; field < 7; field++) {
        struct fixture fixture;
        fixture_begin(&fixture);
        struct proof_claim claim = fixture.claim;
        switch (field) {
        case 0:
            claim.space = text_of("mainx");
            break;
        case 1:
            claim.space = text_of("");
            break;
        case 2:
            claim.branch = text_of("draft");
            break;
        case 3:
            claim.session = text_of("s2");
            break;
        case 4:
            claim.session = (struct text){NULL, 0};
            break;
        case 5:
            claim.session = text_of("");
            break;
        default:
            /* A session named "null" is not the absence of a session. */
            fixture.claim.session = (struct text){NULL, 0};
            claim.session = text_of("null");
            break;
        }
        EXPECT_EQ(fault_of(&fixture, &claim), PROOF_SIGNATURE);
    }
    EXPECT_EQ(fault_with("issuedAt", value_int((int64_t)NOW + 1), NULL),
              PROOF_SIGNATURE);
    EXPECT_EQ(fault_with("expires", value_int((int64_t)NOW + 60001), NULL),
              PROOF_SIGNATURE);
}

TEST(k07_another_command_or_another_key_is_refused)
{
    struct fixture fixture;
    struct key other;
    char name[KEY_NAME_LENGTH + 1];
    const unsigned char seed[KEY_SEED_BYTES] = {8};
    key_of_seed(seed, &other);
    key_name_write(&other.public_key, name);
    EXPECT_EQ(fault_with("key", value_text_new(name), "does not match"),
              PROOF_SIGNATURE);
    /* The same text with another command. */
    fixture_begin(&fixture);
    struct buf text = {0};
    unsigned char signature[KEY_SIGNATURE_BYTES];
    buf_printf(&text,
               "{\"audience\":\"heddle:test\",\"branch\":\"\","
               "\"challenge\":\"%s\",\"command\":\"detach\","
               "\"expires\":1800000060000,\"issuedAt\":1800000000000,"
               "\"session\":\"s1\",\"space\":\"main\"}",
               fixture.copy.text);
    key_sign(&fixture.key, buf_text(&text), text.length, signature);
    buf_clear(&text);
    base64url_write(&text, signature, sizeof signature);
    EXPECT_EQ(fault_with("signature", value_string_adopt(&text), NULL),
              PROOF_SIGNATURE);
}

TEST(k07_times_that_are_missing_or_not_numbers_are_refused)
{
    static const char *const fields[] = {"issuedAt", "expires"};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        EXPECT_EQ(fault_with(fields[i], VALUE_NONE, "issuedAt"), PROOF_TIMES);
        EXPECT_EQ(fault_with(fields[i], value_null(), NULL), PROOF_TIMES);
        EXPECT_EQ(fault_with(fields[i], value_text_new("1"), NULL),
                  PROOF_TIMES);
        EXPECT_EQ(fault_with(fields[i], value_int(-1), NULL), PROOF_TIMES);
        EXPECT_EQ(fault_with(fields[i], value_double(1.5), NULL), PROOF_TIMES);
        EXPECT_EQ(fault_with(fields[i], value_double(1e300), NULL),
                  PROOF_TIMES);
        EXPECT_EQ(fault_with(fields[i], value_int(INT64_MAX), NULL),
                  PROOF_TIMES);
    }
}

TEST(a_proof_that_is_malformed_is_refused_first)
{
    static const char *const proofs[] = {
        "null",
        "1",
        "'text'",
        "[]",
        "{}",
        "{'key':1,'signature':'x'}",
        "{'key':'did:web:example.com','signature':'x'}",
        "{'key':'did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp'}",
        ("{'key':'did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp',"
         "'signature':'AAAA'}"),
    };
    for (size_t i = 0; i < COUNT_OF(proofs); i++) {
        struct fixture fixture;
        char sentence[ERR_TEXT_SIZE];
        fixture_begin(&fixture);
        EXPECT_EQ(
            check(&fixture, from_quoted(proofs[i]), &fixture.claim, sentence),
            PROOF_SHAPE);
    }
    EXPECT_EQ(fault_with("audience", value_int(1), "malformed"), PROOF_SHAPE);
    EXPECT_EQ(fault_with("challenge", value_null(), "malformed"), PROOF_SHAPE);
    EXPECT_EQ(fault_with("signature", value_null(), "base64url"), PROOF_SHAPE);
}

TEST(proof_1_the_first_fault_in_the_fixed_order_is_reported)
{
    /* Everything is wrong; then one fault after the other is repaired. */
    struct fixture fixture;
    char sentence[ERR_TEXT_SIZE];
    for (unsigned repaired = 0; repaired <= PROOF_SIGNATURE; repaired++) {
        fixture_begin(&fixture);
        struct proof_claim claim = fixture.claim;
        claim.expires = repaired >= PROOF_EXPIRED ? NOW : NOW - 1000000;
        claim.space =
            repaired >= PROOF_SIGNATURE ? claim.space : text_of("other");
        if (repaired < PROOF_AUDIENCE) {
            claim.audience = text_of("other");
        }
        if (repaired < PROOF_CHALLENGE) {
            claim.challenge = text_of("other");
        }
        if (repaired < PROOF_CHALLENGE_AGE) {
            fixture.clock.mono = ISSUED + CHALLENGE_MS + 1;
        }
        struct value proof = proof_make(&fixture.key, &claim);
        if (repaired < PROOF_SHAPE) {
            object_put_adopt(&proof, "key", value_null());
        }
        if (repaired < PROOF_TIMES) {
            object_put_adopt(&proof, "issuedAt", value_null());
        }
        const enum proof_fault fault =
            check(&fixture, proof, &fixture.claim, sentence);
        EXPECT_EQ(fault,
                  repaired < PROOF_SIGNATURE ? repaired + 1 : PROOF_ACCEPTED);
    }
}
