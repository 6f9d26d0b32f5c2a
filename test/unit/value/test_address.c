/* address: scopes and their keys (address-1), ids that are fit for a name, and
 * the order and the text of addresses. */

#include "value/address.h"

#include <string.h>

#include "base/limits.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"

static struct identity somebody(const char *principal, const char *session)
{
    return (struct identity){
        principal != NULL ? value_text_new(principal) : VALUE_NONE,
        session != NULL ? value_text_new(session) : VALUE_NONE,
    };
}

static void forget(struct identity identity)
{
    value_unref(identity.principal);
    value_unref(identity.session);
}

static struct value repeated(char c, size_t count)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        buf_append_char(&text, c);
    }
    struct value string = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return string;
}

/* -- Scopes -------------------------------------------------------------- */

TEST(a_scope_has_a_name)
{
    enum scope scope = SCOPE_SPACE;
    EXPECT_TEXT(scope_name(SCOPE_SPACE), "space");
    EXPECT_TEXT(scope_name(SCOPE_USER), "user");
    EXPECT_TEXT(scope_name(SCOPE_SESSION), "session");
    EXPECT(scope_read(value_text_new("session"), &scope));
    EXPECT_EQ(scope, SCOPE_SESSION);
    EXPECT(scope_read(value_text_new("user"), &scope));
    EXPECT_EQ(scope, SCOPE_USER);
    EXPECT(scope_read(value_text_new("space"), &scope));
    EXPECT_EQ(scope, SCOPE_SPACE);
    EXPECT(!scope_read(value_text_new(""), &scope));
    EXPECT(!scope_read(value_text_new("Space"), &scope));
    EXPECT(!scope_read(value_text_new("spaces"), &scope));
    EXPECT(!scope_read(value_string_new("user\0", 5), &scope));
    EXPECT(!scope_read(value_int(0), &scope));
    EXPECT(!scope_read(VALUE_NONE, &scope));
}

TEST(b06_the_parts_of_a_key_are_percent_encoded_and_come_back)
{
    static const struct {
        enum scope scope;
        const char *principal;
        const char *session;
        const char *key;
    } rows[] = {
        {SCOPE_SPACE, NULL, NULL, "space"},
        {SCOPE_SPACE, "alice", "s1", "space"},
        {SCOPE_USER, "alice", NULL, "user:alice"},
        {SCOPE_USER, "alice", "s1", "user:alice"},
        {SCOPE_SESSION, "alice", "s1", "session:alice:s1"},
        {SCOPE_USER, "a:b/c%d e", NULL, "user:a%3Ab%2Fc%25d%20e"},
        {SCOPE_SESSION,
         "a:b/c%d e",
         "x:y/z% ",
         "session:a%3Ab%2Fc%25d%20e:x%3Ay%2Fz%25%20"},
        {SCOPE_USER, "did:key:z6Mk", NULL, "user:did%3Akey%3Az6Mk"},
        {SCOPE_USER, "AZaz09-._~", NULL, "user:AZaz09-._~"},
        {SCOPE_USER, "!*'()", NULL, "user:%21%2A%27%28%29"},
        {SCOPE_USER, "\xC3\xA4\x7F\x01", NULL, "user:%C3%A4%7F%01"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct identity who = somebody(rows[i].principal, rows[i].session);
        struct value key;
        EXPECT_EQ(scope_key_new(rows[i].scope, who, &key, NULL), ERR_OK);
        struct value want = value_text_new(rows[i].key);
        EXPECT_VALUE(key, want);

        enum scope scope = SCOPE_SPACE;
        struct identity back;
        EXPECT_EQ(scope_key_read(want, &scope, &back, NULL), ERR_OK);
        EXPECT_EQ(scope, rows[i].scope);
        const bool user = scope != SCOPE_SPACE;
        const bool session = scope == SCOPE_SESSION;
        EXPECT_VALUE(back.principal, user ? who.principal : VALUE_NONE);
        EXPECT_VALUE(back.session, session ? who.session : VALUE_NONE);
        forget(back);
        forget(who);
        value_unref(want);
        value_unref(key);
    }
}

TEST(b06_a_part_may_hold_a_zero_byte)
{
    const struct identity who = {value_string_new("a\0b", 3), VALUE_NONE};
    struct value key;
    EXPECT_EQ(scope_key_new(SCOPE_USER, who, &key, NULL), ERR_OK);
    EXPECT_QUOTED(key, "'user:a%00b'");
    enum scope scope = SCOPE_SPACE;
    struct identity back;
    EXPECT_EQ(scope_key_read(key, &scope, &back, NULL), ERR_OK);
    EXPECT_VALUE(back.principal, who.principal);
    forget(back);
}

TEST(b07_a_missing_part_of_the_identity_is_never_defaulted)
{
    static const struct {
        enum scope scope;
        const char *principal;
        const char *session;
        const char *sentence;
    } rows[] = {
        {SCOPE_USER, NULL, NULL, "'user' needs a user"},
        {SCOPE_USER, "", NULL, "'user' needs a user"},
        {SCOPE_USER, NULL, "s1", "'user' needs a user"},
        {SCOPE_SESSION, NULL, NULL, "'session' needs a user"},
        {SCOPE_SESSION, NULL, "s1", "'session' needs a user"},
        {SCOPE_SESSION, "", "s1", "'session' needs a user"},
        {SCOPE_SESSION, "alice", NULL, "needs a session id"},
        {SCOPE_SESSION, "alice", "", "needs a session id"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct identity who = somebody(rows[i].principal, rows[i].session);
        struct value key;
        struct err_detail detail = {0};
        EXPECT_EQ(scope_key_new(rows[i].scope, who, &key, &detail),
                  ERR_ARGUMENT);
        EXPECT(value_is_absent(key));
        EXPECT_CONTAINS(detail.text, rows[i].sentence);
        forget(who);
    }
    const struct identity number = {value_int(1), VALUE_NONE};
    struct value key;
    EXPECT_EQ(scope_key_new(SCOPE_USER, number, &key, NULL), ERR_ARGUMENT);
}

TEST(b09_a_key_that_is_not_canonical_is_refused)
{
    static const char *const bad[] = {
        "",
        "spac",
        "space:",
        "space:a",
        "Space",
        "user",
        "user:",
        "user:a/b",
        "user:a b",
        "user:%2f",
        "user:%GG",
        "user:%2",
        "user:%",
        "user:a%",
        "user:%41",
        "user:%7E",
        "user:a:b",
        "user:\xC3\xA4",
        "user:%C3",
        "user:%FF",
        "user:%ED%A0%80",
        "session",
        "session:",
        "session:a",
        "session:a:",
        "session::b",
        "session:a:b:c",
        "session:a/b:c",
        "group:a",
    };
    static const char *const good[] = {
        "user:%2F",
        "user:%00",
        "user:%25",
        "session:%3A:%3A",
    };
    for (size_t i = 0; i < COUNT_OF(bad) + COUNT_OF(good); i++) {
        const bool accept = i >= COUNT_OF(bad);
        const char *text = accept ? good[i - COUNT_OF(bad)] : bad[i];
        struct value key = value_text_new(text);
        enum scope scope = SCOPE_SPACE;
        struct identity who;
        struct err_detail detail = {0};
        const enum err err = scope_key_read(key, &scope, &who, &detail);
        if ((err == ERR_OK) != accept) {
            (void)test_fail(__FILE__, __LINE__, "the key '%s'", text);
        }
        if (err != ERR_OK) {
            EXPECT_EQ(err, ERR_SYNTAX);
            EXPECT_CONTAINS(detail.text, "scope key");
            EXPECT(value_is_absent(who.principal));
            EXPECT(value_is_absent(who.session));
        }
        forget(who);
        value_unref(key);
    }
    enum scope scope = SCOPE_SPACE;
    struct identity who;
    EXPECT_EQ(scope_key_read(value_int(1), &scope, &who, NULL), ERR_SYNTAX);
    EXPECT_EQ(scope_key_read(VALUE_NONE, &scope, &who, NULL), ERR_SYNTAX);
}

TEST(parts_are_as_long_as_an_id_may_be)
{
    struct identity who = {repeated('x', LIMIT_ID_BYTES), VALUE_NONE};
    struct value key;
    enum scope scope = SCOPE_SPACE;
    struct identity back;
    EXPECT_EQ(scope_key_new(SCOPE_USER, who, &key, NULL), ERR_OK);
    EXPECT_EQ(scope_key_read(key, &scope, &back, NULL), ERR_OK);
    EXPECT_VALUE(back.principal, who.principal);
    forget(back);
    value_unref(key);
    value_unref(who.principal);

    who.principal = repeated('x', LIMIT_ID_BYTES + 1);
    EXPECT_EQ(scope_key_new(SCOPE_USER, who, &key, NULL), ERR_ARGUMENT);
    struct buf text = {0};
    buf_append_text(&text, "user:");
    for (size_t i = 0; i <= LIMIT_ID_BYTES; i++) {
        buf_append_char(&text, 'x');
    }
    key = value_string_new(buf_text(&text), text.length);
    EXPECT_EQ(scope_key_read(key, &scope, &back, NULL), ERR_SYNTAX);
    buf_release(&text);
    value_unref(key);
    value_unref(who.principal);
}

PROPERTY(a1_a_key_is_read_iff_it_is_what_would_be_written, 1500)
{
    static const char alphabet[] = "aZ09-._~:/%25F2fC3A4 \xC3\xA4";
    struct buf text = {0};
    buf_append_text(&text, random_one_in(random, 2) ? "user:" : "session:");
    const uint64_t length = random_below(random, 12);
    for (uint64_t i = 0; i < length; i++) {
        buf_append_char(&text,
                        alphabet[random_below(random, sizeof alphabet - 1)]);
    }
    struct value key = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    enum scope scope = SCOPE_SPACE;
    struct identity who;
    if (scope_key_read(key, &scope, &who, NULL) == ERR_OK) {
        struct value again;
        EXPECT_EQ(scope_key_new(scope, who, &again, NULL), ERR_OK);
        EXPECT_VALUE(again, key);
        value_unref(again);
    }
    forget(who);
    value_unref(key);

    struct identity any = {gen_string(random, 20), gen_string(random, 20)};
    if (scope_key_new(SCOPE_SESSION, any, &key, NULL) == ERR_OK) {
        EXPECT_EQ(scope_key_read(key, &scope, &who, NULL), ERR_OK);
        EXPECT_VALUE(who.principal, any.principal);
        EXPECT_VALUE(who.session, any.session);
        const struct text written = value_text(&key);
        EXPECT(memchr(written.at, '/', written.length) == NULL);
        forget(who);
    }
    value_unref(key);
    forget(any);
}

/* -- Ids ----------------------------------------------------------------- */

TEST(a08_a_space_id_can_be_part_of_a_file_name)
{
    static const struct {
        const char *id;
        size_t length;
        enum err space;
        enum err document;
    } rows[] = {
        {"a", 1, ERR_OK, ERR_OK},
        {"did:key:z6Mk", 12, ERR_OK, ERR_OK},
        {"...", 3, ERR_OK, ERR_OK},
        {".a", 2, ERR_OK, ERR_OK},
        {"a.", 2, ERR_OK, ERR_OK},
        {"..a", 3, ERR_OK, ERR_OK},
        {"", 0, ERR_ARGUMENT, ERR_ARGUMENT},
        {".", 1, ERR_ARGUMENT, ERR_OK},
        {"..", 2, ERR_ARGUMENT, ERR_OK},
        {"a/b", 3, ERR_ARGUMENT, ERR_OK},
        {"/", 1, ERR_ARGUMENT, ERR_OK},
        {"a\\b", 3, ERR_ARGUMENT, ERR_OK},
        {"a\0b", 3, ERR_ARGUMENT, ERR_ARGUMENT},
        {"\0", 1, ERR_ARGUMENT, ERR_ARGUMENT},
        {"of:x/y", 6, ERR_ARGUMENT, ERR_OK},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value id = value_string_new(rows[i].id, rows[i].length);
        struct err_detail detail = {0};
        EXPECT_EQ(space_id_check(id, &detail), rows[i].space);
        EXPECT_EQ(detail.err, rows[i].space);
        EXPECT_EQ(document_id_check(id, NULL), rows[i].document);
        value_unref(id);
    }
    EXPECT_EQ(space_id_check(value_int(1), NULL), ERR_TYPE);
    EXPECT_EQ(document_id_check(VALUE_NONE, NULL), ERR_TYPE);
}

TEST(an_id_has_at_most_1024_bytes)
{
    struct value longest = repeated('x', LIMIT_ID_BYTES);
    struct value longer = repeated('x', LIMIT_ID_BYTES + 1);
    EXPECT_EQ(space_id_check(longest, NULL), ERR_OK);
    EXPECT_EQ(document_id_check(longest, NULL), ERR_OK);
    EXPECT_EQ(space_id_check(longer, NULL), ERR_LIMIT_ID);
    EXPECT_EQ(document_id_check(longer, NULL), ERR_LIMIT_ID);
    value_unref(longest);
    value_unref(longer);
}

/* -- Addresses ----------------------------------------------------------- */

struct row {
    const char *space;
    const char *id;
    const char *scope_key;
    const char *pointer;
    const char *text;
};

/* In order: by space, id, scope key, path. */
static const struct row ordered[] = {
    {"did:a", "of:1", "session:b:s", "", "did:a/of:1@session:b:s#"},
    {"did:a", "of:1", "space", "", "did:a/of:1#"},
    {"did:a", "of:1", "space", "/a", "did:a/of:1#/a"},
    {"did:a", "of:1", "space", "/a/10", "did:a/of:1#/a/10"},
    {"did:a", "of:1", "space", "/a/b~1c", "did:a/of:1#/a/b~1c"},
    {"did:a", "of:1", "user:b", "", "did:a/of:1@user:b#"},
    {"did:a", "of:an id of many bytes", "space", "", NULL},
    {"did:b", "of:1", "space", "", "did:b/of:1#"},
};

static struct address address_of(struct path_table *paths,
                                 const struct row *row)
{
    struct value space = value_text_new(row->space);
    struct value id = value_text_new(row->id);
    struct value scope_key = value_text_new(row->scope_key);
    struct path *path = from_pointer(paths, row->pointer);
    const struct address address = address_new(space, scope_key, id, path);
    value_unref(space);
    value_unref(id);
    value_unref(scope_key);
    path_unref(path);
    return address;
}

TEST(addresses_have_an_order_and_a_text)
{
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(ordered); i++) {
        struct address a = address_of(&paths, &ordered[i]);
        if (ordered[i].text != NULL) {
            struct buf text = {0};
            address_write(&text, &a);
            EXPECT_TEXT(buf_text(&text), ordered[i].text);
            buf_release(&text);
        }
        for (size_t j = 0; j < COUNT_OF(ordered); j++) {
            struct address b = address_of(&paths, &ordered[j]);
            const int order = address_compare(&a, &b);
            EXPECT_INT((order > 0) - (order < 0), (i > j) - (i < j));
            EXPECT_EQ(address_equal(&a, &b), i == j);
            address_release(&b);
        }
        address_release(&a);
        EXPECT(a.path == NULL);
    }
    path_table_release(&paths);
}
