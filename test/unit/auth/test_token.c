/* Tokens: those of another implementation (test/data/auth/make_tokens.py), our
 * own, and key sets. */

#include "auth/token.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

static struct key key_of(unsigned char number)
{
    const unsigned char seed[KEY_SEED_BYTES] = {number};
    struct key key;
    key_of_seed(seed, &key);
    return key;
}

/* -- Tokens of another implementation ------------------------------------ */

struct vectors {
    struct value all;
    struct value audience;
    struct public_key service;
    struct jwks *jwks;
    struct token_trust trust;
    uint64_t now;
    char audience_text[64];
};

static void vectors_begin(struct vectors *vectors)
{
    size_t length = 0;
    struct buf set = {0};
    struct err_detail detail = {0};
    char *text = test_read_file(test_data_path("auth/tokens.json"), &length);
    EXPECT_EQ(json_read(text, length, NULL, &vectors->all, NULL), ERR_OK);
    test_release_file(text, length);
    const struct value service = object_field(vectors->all, "service");
    EXPECT(key_name_read(value_text(&service), &vectors->service));
    json_write(&set, object_field(vectors->all, "jwks"), JSON_AS_GIVEN, 0);
    EXPECT_EQ(jwks_read(buf_text(&set), set.length, &vectors->jwks, &detail),
              ERR_OK);
    buf_release(&set);
    const struct value audience = object_field(vectors->all, "audience");
    const struct text name = value_text(&audience);
    (void)snprintf(vectors->audience_text,
                   sizeof vectors->audience_text,
                   "%.*s",
                   (int)name.length,
                   name.at);
    vectors->now = object_number(vectors->all, "now");
    vectors->trust = (struct token_trust){
        .audience = vectors->audience_text,
        .service_keys = &vectors->service,
        .service_key_count = 1,
        .jwks = vectors->jwks,
    };
}

static void vectors_end(struct vectors *vectors)
{
    jwks_free(vectors->jwks);
    value_unref(vectors->all);
}

static void expect_accepted(struct value vector, const struct credential *who)
{
    EXPECT(value_is_text(object_field(vector, "principal"), who->principal));
    EXPECT(value_is_text(object_field(vector, "cap"),
                         capability_name(who->ceiling)));
    EXPECT(value_is_text(object_field(vector, "space"), who->space));
    EXPECT_EQ(value_boolean(object_field(vector, "grants")), who->grants);
    EXPECT(who->expires_ms > 0);
}

static void expect_refused(struct value vector,
                           const struct credential *who,
                           const struct err_detail *detail)
{
    static const struct credential nothing = {0};
    const struct value error = object_field(vector, "error");
    struct buf part = {0};
    buf_append(&part, value_text(&error).at, value_text(&error).length);
    EXPECT_CONTAINS(detail->text, buf_text(&part));
    EXPECT_EQ(detail->err, ERR_UNAUTHENTICATED);
    EXPECT(memcmp(who, &nothing, sizeof nothing) == 0);
    buf_release(&part);
}

static bool check_vector(const struct vectors *vectors, struct value vector)
{
    struct credential who;
    struct err_detail detail = {0};
    const struct value token = object_field(vector, "token");
    const enum err err = token_check(value_text(&token),
                                     &vectors->trust,
                                     vectors->now,
                                     &who,
                                     &detail);
    if (value_is_absent(object_field(vector, "error"))) {
        if (!EXPECT_EQ(err, ERR_OK)) {
            return test_fail(__FILE__, __LINE__, "%s", detail.text);
        }
        expect_accepted(vector, &who);
    } else if (EXPECT_EQ(err, ERR_UNAUTHENTICATED)) {
        expect_refused(vector, &who, &detail);
    } else {
        return false;
    }
    return true;
}

TEST(tokens_of_another_implementation_are_judged_as_it_says)
{
    struct vectors vectors;
    vectors_begin(&vectors);
    const struct value cases = object_field(vectors.all, "cases");
    EXPECT(array_count(cases) >= 90);
    for (uint32_t i = 0; i < array_count(cases); i++) {
        const struct value vector = array_at(cases, i);
        const struct value name = object_field(vector, "name");
        if (!check_vector(&vectors, vector)) {
            test_fail(__FILE__,
                      __LINE__,
                      "%.*s",
                      (int)value_text(&name).length,
                      value_text(&name).at);
        }
    }
    vectors_end(&vectors);
}

/* Every single bit of a token counts, whichever way it was signed. */
TEST(a_token_with_a_flipped_bit_is_refused)
{
    struct vectors vectors;
    vectors_begin(&vectors);
    const struct value cases = object_field(vectors.all, "cases");
    unsigned tried = 0;
    for (uint32_t i = 0; i < array_count(cases); i++) {
        const struct value vector = array_at(cases, i);
        const struct value token = object_field(vector, "token");
        const struct value name = object_field(vector, "name");
        if (!value_is_text(name, "a service key grants") &&
            !value_is_text(name, "ES256") && !value_is_text(name, "RS256")) {
            continue;
        }
        struct buf text = {0};
        buf_append(&text, value_text(&token).at, value_text(&token).length);
        const size_t step = test_is_slow() ? 41 : 5;
        for (size_t at = 0; at < text.length * 8; at += step) {
            struct credential who;
            text.at[at / 8] = (char)(text.at[at / 8] ^ (1 << at % 8));
            EXPECT_EQ(token_check((struct text){text.at, text.length},
                                  &vectors.trust,
                                  vectors.now,
                                  &who,
                                  NULL),
                      ERR_UNAUTHENTICATED);
            text.at[at / 8] = (char)(text.at[at / 8] ^ (1 << at % 8));
        }
        tried++;
        buf_release(&text);
    }
    EXPECT_EQ(tried, 3);
    vectors_end(&vectors);
}

TEST(without_a_key_set_only_keys_can_sign)
{
    struct vectors vectors;
    vectors_begin(&vectors);
    vectors.trust.jwks = NULL;
    const struct value cases = object_field(vectors.all, "cases");
    unsigned refused = 0;
    for (uint32_t i = 0; i < array_count(cases); i++) {
        struct credential who;
        struct err_detail detail = {0};
        const struct value vector = array_at(cases, i);
        const struct value token = object_field(vector, "token");
        if (value_is_text(object_field(vector, "name"), "RS256") ||
            value_is_text(object_field(vector, "name"), "ES256")) {
            EXPECT_EQ(token_check(value_text(&token),
                                  &vectors.trust,
                                  vectors.now,
                                  &who,
                                  &detail),
                      ERR_UNAUTHENTICATED);
            EXPECT_CONTAINS(detail.text, "no key set");
            refused++;
        }
    }
    EXPECT_EQ(refused, 2);
    vectors_end(&vectors);
}

/* -- Our own tokens ------------------------------------------------------ */

static struct token_claims claims_of(const char *space, enum capability most)
{
    return (struct token_claims){
        .space = text_of(space),
        .capability = most,
        .issued_at = 1000,
        .expires = 4600,
    };
}

TEST(a_token_that_we_made_is_accepted_until_it_expires)
{
    const struct key key = key_of(1);
    struct buf token = {0};
    struct buf audience = {0};
    struct credential who;
    struct err_detail detail = {0};
    char name[KEY_NAME_LENGTH + 1];
    const struct token_claims claims = claims_of("main", CAPABILITY_WRITE);
    key_name_write(&key.public_key, name);
    token_audience_of_key(&audience, &key.public_key);
    EXPECT_CONTAINS(buf_text(&audience), "heddle:did:key:z6Mk");
    const struct token_trust trust = {
        .audience = buf_text(&audience),
        .service_keys = &key.public_key,
        .service_key_count = 1,
    };
    EXPECT_EQ(token_make(&token, &key, &claims, &detail), ERR_OK);
    const struct text text = {buf_text(&token), token.length};
    EXPECT_EQ(token_check(text, &trust, 1000, &who, &detail), ERR_OK);
    EXPECT_TEXT(who.principal, name);
    EXPECT_TEXT(who.space, "main");
    EXPECT_EQ(who.ceiling, CAPABILITY_WRITE);
    EXPECT(who.grants);
    EXPECT_EQ(who.expires_ms, (4600 + TOKEN_SKEW_S) * 1000);
    EXPECT(credential_covers(&who, text_of("main")));
    EXPECT(!credential_covers(&who, text_of("mai")));
    EXPECT(!credential_covers(&who, text_of("main2")));
    EXPECT(!credential_covers(&who, text_of("")));
    EXPECT_EQ(token_check(text, &trust, 4659, &who, NULL), ERR_OK);
    EXPECT_EQ(token_check(text, &trust, 4660, &who, NULL), ERR_UNAUTHENTICATED);
    EXPECT_EQ(token_check(text, &trust, 939, &who, NULL), ERR_UNAUTHENTICATED);
    EXPECT_EQ(token_check(text, &trust, 940, &who, NULL), ERR_OK);
    buf_release(&token);
    buf_release(&audience);
}

TEST(a_token_of_another_key_narrows_and_does_not_grant)
{
    const struct key service = key_of(1);
    const struct key ann = key_of(2);
    struct buf token = {0};
    struct credential who;
    struct token_claims claims = claims_of("*", CAPABILITY_OWNER);
    claims.audience = text_of("heddle:here");
    const struct token_trust trust = {
        .audience = "heddle:here",
        .service_keys = &service.public_key,
        .service_key_count = 1,
    };
    EXPECT_EQ(token_make(&token, &ann, &claims, NULL), ERR_OK);
    EXPECT_EQ(token_check((struct text){buf_text(&token), token.length},
                          &trust,
                          1000,
                          &who,
                          NULL),
              ERR_OK);
    EXPECT(!who.grants);
    EXPECT_TEXT(who.space, "");
    EXPECT(credential_covers(&who, text_of("anything")));
    /* For another principal it proves nothing. */
    buf_clear(&token);
    claims.subject = text_of("boss");
    EXPECT_EQ(token_make(&token, &ann, &claims, NULL), ERR_OK);
    EXPECT_EQ(token_check((struct text){buf_text(&token), token.length},
                          &trust,
                          1000,
                          &who,
                          NULL),
              ERR_UNAUTHENTICATED);
    buf_release(&token);
}

TEST(claims_that_would_be_refused_are_not_signed)
{
    const struct key key = key_of(1);
    struct buf token = {0};
    struct err_detail detail = {0};
    struct token_claims bad[8];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        bad[i] = claims_of("main", CAPABILITY_READ);
    }
    bad[0].space = text_of("");
    bad[1].space = text_of("a/b");
    bad[2].subject = text_of("*");
    bad[3].subject = text_of("");
    bad[4].capability = CAPABILITY_NONE;
    bad[5].expires = bad[5].issued_at;
    bad[6].audience = text_of("");
    bad[7].not_before = bad[7].expires;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        EXPECT_EQ(token_make(&token, &key, &bad[i], &detail), ERR_ARGUMENT);
        EXPECT_EQ(token.length, 0);
    }
    buf_release(&token);
}

/* -- Key sets ------------------------------------------------------------ */

TEST(key_sets_that_are_refused)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "JSON"},
        {"[]", "keys"},
        {"{}", "keys"},
        {"{'keys':{}}", "keys"},
        {"{'keys':[1]}", "kty"},
        {"{'keys':[{'kid':'a'}]}", "kty"},
        {"{'keys':[{'kty':'RSA'}]}", "keys[0] must have an RSA"},
        {"{'keys':[{'kty':'RSA','n':'AQAB','e':'AQAB'}]}", "2048"},
        {"{'keys':[{'kty':'RSA','n':'***','e':'AQAB'}]}", "RSA"},
        {"{'keys':[{'kty':'EC','crv':'P-256'}]}", "P-256"},
        {"{'keys':[{'kty':'EC','crv':'P-256','x':'AA','y':'AA'}]}", "P-256"},
        /* Not a point of the curve. */
        {"{'keys':[{'kty':'EC','crv':'P-256',"
         "'x':'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE',"
         "'y':'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE'}]}",
         "P-256"},
        {"{'keys':[{'kty':'EC','crv':'P-256','d':'AA'}]}", "private"},
        {"{'keys':[{'kty':'OKP','d':'AA'}]}", "private"},
        {"{'keys':[{'kty':'RSA','kid':1}]}", "kid"},
        {"{'keys':[{'kty':'RSA','kid':''}]}", "kid"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct jwks *jwks;
        struct err_detail detail = {0};
        struct buf text = {0};
        buf_append_text(&text, cases[i].text);
        for (size_t at = 0; at < text.length; at++) {
            text.at[at] = text.at[at] == '\'' ? '"' : text.at[at];
        }
        EXPECT(jwks_read(buf_text(&text), text.length, &jwks, &detail) !=
               ERR_OK);
        EXPECT(jwks == NULL);
        EXPECT_CONTAINS(detail.text, cases[i].part);
        buf_release(&text);
    }
}

TEST(a_key_set_has_the_usable_keys_and_no_kid_twice)
{
    struct vectors vectors;
    struct buf text = {0};
    struct jwks *jwks;
    struct err_detail detail = {0};
    vectors_begin(&vectors);
    EXPECT_EQ(jwks_count(vectors.jwks), 3);
    const struct value keys =
        object_field(object_field(vectors.all, "jwks"), "keys");
    struct value twice = value_empty_array();
    twice = array_push_adopt(twice, value_ref(array_at(keys, 0)));
    twice = array_push_adopt(twice, value_ref(array_at(keys, 0)));
    struct value set = value_empty_object();
    object_put_adopt(&set, "keys", twice);
    json_write(&text, set, JSON_AS_GIVEN, 0);
    EXPECT_EQ(jwks_read(buf_text(&text), text.length, &jwks, &detail),
              ERR_SYNTAX);
    EXPECT_CONTAINS(detail.text, "keys[1] has the kid of an earlier key");
    value_unref(set);
    buf_release(&text);
    vectors_end(&vectors);
}

TEST(a_key_set_has_at_most_100_keys)
{
    struct buf text = {0};
    struct jwks *jwks;
    struct err_detail detail = {0};
    buf_append_text(&text, "{\"keys\":[{\"kty\":\"oct\"}");
    for (unsigned i = 1; i < JWKS_KEYS_MAX; i++) {
        buf_append_text(&text, ",{\"kty\":\"oct\"}");
    }
    const size_t length = text.length;
    buf_append_text(&text, "]}");
    EXPECT_EQ(jwks_read(buf_text(&text), text.length, &jwks, &detail), ERR_OK);
    EXPECT_EQ(jwks_count(jwks), 0);
    jwks_free(jwks);
    text.length = length;
    buf_append_text(&text, ",{\"kty\":\"oct\"}]}");
    EXPECT_EQ(jwks_read(buf_text(&text), text.length, &jwks, &detail),
              ERR_LIMIT_ELEMENTS);
    EXPECT_CONTAINS(detail.text, "the limit is 100");
    buf_release(&text);
}
