/* id: digests and causal ids are stored, so their values are a contract.
 *
 * The expected texts were computed by another implementation: Python's
 * hashlib.blake2b(text, digest_size=32, key=purpose padded with zeros to 32
 * bytes) of the canonical text, in base64url. A test that fails here means
 * that documents made before would get other names. */

#include "value/id.h"

#include <string.h>

#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"

static void expect_digest(struct value value, const char *want)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(value), text);
    EXPECT_TEXT(text, want);
}

TEST(digests_are_frozen)
{
    static const struct {
        const char *json;
        const char *digest;
    } rows[] = {
        {"null", "86OFW3gr0MBhS06O7FuFunGeXcsSwbAzxGAO1h9uiVM"},
        {"{}", "AssYIQeSBhEwjM4IUhdU15EH2gFIVgu--f4OLEDvKjg"},
        {"{'b':[true,null,'\\u00e4'],'a':1.0}",
         "1FJqN2lrDCsS3EiSLvqL274zFiEYQKBvABNID8fPA7c"},
        {"{'/':{'number@1':'NaN'}}",
         "f2L4V1z0IeO5gZZP1FXtCuP5zUt8ZbSaV5ZAEhbDdEM"},
        {"[-0.0,1e-1,1e21]", "84DOtKzjUDeB8QPOXJfFwpJu6yTAL23sl-yTp6CWdtg"},
        {"{'/':{'link@1':{'path':['a','0'],'id':'of:x'}}}",
         "PxHjYWLsrfm7PfR_dsRVLarzuHJy1ayhg-H5HvvfEmQ"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value value = from_quoted(rows[i].json);
        expect_digest(value, rows[i].digest);
        value_unref(value);
    }
}

TEST(ids_of_causes_are_frozen)
{
    static const struct {
        const char *prefix;
        const char *cause;
        const char *id;
    } rows[] = {
        {"of:",
         "{'handler':'add','event':7}",
         "of:vmLvCeGGUYC3nYjPWCJypGE5xYJjdgktIMyC4wcbu2o"},
        {"computed:",
         "{'handler':'add','event':7}",
         "computed:HIFgEiEb2ZnbjpDg8voW99XSSn7Wclt74IM40mJC8hA"},
        {"of:", "null", "of:yMHu-vr1sMVHS9dnkr5QqDbiz9SZUvvmoloy8z6vVZk"},
        {"", "null", "4vKPdSw-KQs9GJX0JRrcS7yyU2eVcYsu73iCaxlDRCo"},
        {"a-prefix-of-19-byte",
         "1",
         "a-prefix-of-19-byte-WrhnUOeHq5FfBJYSoKixGsNJcJqaTxndbdhdJ2JjnY"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value cause = from_quoted(rows[i].cause);
        struct value id = id_of_cause(rows[i].prefix, cause);
        struct value again = id_of_cause(rows[i].prefix, cause);
        struct value want = value_text_new(rows[i].id);
        EXPECT_VALUE(id, want);
        EXPECT_VALUE(again, want);
        EXPECT_CHECK(id);
        value_unref(cause);
        value_unref(id);
        value_unref(again);
        value_unref(want);
    }
}

TEST(the_prefix_is_part_of_the_cause)
{
    const struct value cause = value_int(1);
    struct value a = id_of_cause("of:", cause);
    struct value b = id_of_cause("on:", cause);
    EXPECT(memcmp(value_text(&a).at + 3,
                  value_text(&b).at + 3,
                  DIGEST_TEXT_LENGTH) != 0);
    char content[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(cause), content);
    EXPECT(memcmp(value_text(&a).at + 3, content, DIGEST_TEXT_LENGTH) != 0);
    value_unref(a);
    value_unref(b);
}

TEST(the_text_of_a_digest_is_43_letters_of_the_alphabet)
{
    struct digest digest;
    char text[DIGEST_TEXT_LENGTH + 1];
    memset(digest.bytes, 0, sizeof digest.bytes);
    digest_write(digest, text);
    EXPECT_TEXT(text, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    memset(digest.bytes, 0xFF, sizeof digest.bytes);
    digest_write(digest, text);
    EXPECT_TEXT(text, "__________________________________________8");
    EXPECT_EQ(strlen(text), DIGEST_TEXT_LENGTH);
    memset(digest.bytes, 0xFB, sizeof digest.bytes);
    digest_write(digest, text);
    EXPECT_TEXT(text, "-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s");
}

PROPERTY(digests_are_equal_iff_the_values_are, 300)
{
    const struct gen gen = {random, 3, 5, GEN_SPECIALS | GEN_ENVELOPES};
    struct value a = gen_value(&gen);
    struct value b = random_one_in(random, 2)
                         ? gen_rebuild(&gen, a)
                         : gen_edit_adopt(&gen, value_ref(a));
    const struct digest x = value_digest(a);
    const struct digest y = value_digest(b);
    EXPECT_EQ(memcmp(&x, &y, sizeof x) == 0, value_equal(a, b));
    value_unref(a);
    value_unref(b);
}

static struct digest of_name(const char *name)
{
    const struct value text = value_text_new(name);
    const struct digest digest = digest_of_name("heddle test", text);
    value_unref(text);
    return digest;
}

/* As an index of SQLite does. */
static bool is_before(const char *a, const char *b)
{
    const struct digest x = of_name(a);
    const struct digest y = of_name(b);
    return memcmp(x.bytes, y.bytes, sizeof x.bytes) < 0;
}

TEST(digests_of_names_sort_as_the_names_do)
{
    EXPECT(is_before("total", "totals"));
    EXPECT(is_before("node1", "node2"));
    EXPECT(is_before("a list with a long name/1", "a list with a long name/2"));
    EXPECT(is_before("list/41", "list/42/label"));
    EXPECT(is_before("list/42/label", "list/42/price"));
    EXPECT(is_before("list/42/price", "list/43/label"));
    EXPECT(is_before("", "a"));
}

TEST(digests_of_names_tell_names_apart_that_begin_alike)
{
    static const char *const names[] = {
        "",
        "list/",
        "list",
        "list/1",
        "listing/1",
        "lists/1",
        "list/a key that is longer than the letters of a digest: 1",
        "list/a key that is longer than the letters of a digest: 2",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (size_t j = 0; j < COUNT_OF(names); j++) {
            const struct digest a = of_name(names[i]);
            const struct digest b = of_name(names[j]);
            EXPECT_EQ(digest_equal(&a, &b), i == j);
            EXPECT_EQ(digest_bits(&a) == digest_bits(&b), i == j);
        }
    }
}

TEST(digests_of_bytes_are_frozen)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest_of_bytes("heddle test", "abc\0\xff", 5), text);
    EXPECT_TEXT(text, "mlsBD7PvRtuDTGgIauw10SpVF4WmH34kPLw7oPu2t5Q");
}
