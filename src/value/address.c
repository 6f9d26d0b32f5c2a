/* Scopes, and the parts of an address. */

#include "value/address.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/utf8.h"

/* -- Scopes -------------------------------------------------------------- */

static const char *const scope_names[] = {
    [SCOPE_SPACE] = "space",
    [SCOPE_USER] = "user",
    [SCOPE_SESSION] = "session",
};

const char *scope_name(enum scope scope)
{
    return scope_names[scope];
}

bool scope_read(struct value name, enum scope *out)
{
    for (unsigned i = 0; i < COUNT_OF(scope_names); i++) {
        if (value_is_text(name, scope_names[i])) {
            *out = (enum scope)i;
            return true;
        }
    }
    return false;
}

static bool stands_for_itself(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
           c == '~';
}

static void encode_part(struct buf *to, struct value part)
{
    static const char hex[] = "0123456789ABCDEF";
    const struct text text = value_text(&part);
    buf_append_char(to, ':');
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char byte = (unsigned char)text.at[i];
        if (stands_for_itself(text.at[i])) {
            buf_append_char(to, text.at[i]);
        } else {
            buf_append_char(to, '%');
            buf_append_char(to, hex[byte >> 4]);
            buf_append_char(to, hex[byte & 15U]);
        }
    }
}

static bool is_known(struct value part)
{
    if (!value_is_string(part)) {
        return false;
    }
    const struct text text = value_text(&part);
    return text.length > 0 && text.length <= LIMIT_ID_BYTES &&
           utf8_is_valid(text.at, text.length);
}

enum err scope_key_new(enum scope scope,
                       struct identity identity,
                       struct value *out,
                       struct err_detail *detail)
{
    *out = VALUE_NONE;
    if (scope != SCOPE_SPACE && !is_known(identity.principal)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the scope '%s' needs a user: name one with --user "
                       "NAME, or with 'user' in the runtime's options",
                       scope_name(scope));
    }
    if (scope == SCOPE_SESSION && !is_known(identity.session)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the scope 'session' needs a session id");
    }
    struct buf key = {0};
    buf_append_text(&key, scope_name(scope));
    if (scope != SCOPE_SPACE) {
        encode_part(&key, identity.principal);
    }
    if (scope == SCOPE_SESSION) {
        encode_part(&key, identity.session);
    }
    *out = value_string_new(buf_text(&key), key.length);
    buf_release(&key);
    return ERR_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The part [from, to), decoded; absent if it is not encoded as encode_part
 * does it. Encoding again and comparing catches what could have stood for
 * itself. */
static struct value decode_part(const char *from, const char *to)
{
    struct buf text = {0};
    bool valid = from < to;
    for (const char *at = from; at < to && valid; at++) {
        if (stands_for_itself(*at)) {
            buf_append_char(&text, *at);
            continue;
        }
        const int high = *at == '%' && to - at > 2 ? hex_digit(at[1]) : -1;
        const int low = high >= 0 ? hex_digit(at[2]) : -1;
        const char byte = (char)(high * 16 + low);
        valid = low >= 0 && !stands_for_itself(byte);
        if (valid) {
            buf_append_char(&text, byte);
            at += 2;
        }
    }
    valid = valid && utf8_is_valid(buf_text(&text), text.length) &&
            text.length <= LIMIT_ID_BYTES;
    const struct value part =
        valid ? value_string_new(buf_text(&text), text.length) : VALUE_NONE;
    buf_release(&text);
    return part;
}

static enum err bad_scope_key(struct err_detail *detail)
{
    return err_set(detail,
                   ERR_SYNTAX,
                   "a scope key must be space, user:PRINCIPAL or "
                   "session:PRINCIPAL:SESSION, percent-encoded");
}

/* "user:" or "session:" and `count` parts after it. */
static bool read_parts(struct text key,
                       const char *prefix,
                       struct value *parts,
                       size_t count)
{
    const size_t skip = strlen(prefix);
    if (key.length < skip || memcmp(key.at, prefix, skip) != 0) {
        return false;
    }
    const char *from = key.at + skip;
    const char *const end = key.at + key.length;
    for (size_t i = 0; i < count; i++) {
        const char *to = end;
        if (i + 1 < count) {
            to = memchr(from, ':', (size_t)(end - from));
        }
        if (to == NULL) {
            return false;
        }
        parts[i] = decode_part(from, to);
        if (value_is_absent(parts[i])) {
            return false;
        }
        from = to + 1;
    }
    return true;
}

enum err scope_key_read(struct value key,
                        enum scope *scope,
                        struct identity *identity,
                        struct err_detail *detail)
{
    *identity = (struct identity){VALUE_NONE, VALUE_NONE};
    if (!value_is_string(key)) {
        return bad_scope_key(detail);
    }
    const struct text text = value_text(&key);
    struct value parts[2] = {VALUE_NONE, VALUE_NONE};
    if (value_is_text(key, "space")) {
        *scope = SCOPE_SPACE;
    } else if (read_parts(text, "user:", parts, 1)) {
        *scope = SCOPE_USER;
    } else if (read_parts(text, "session:", parts, 2)) {
        *scope = SCOPE_SESSION;
    } else {
        value_unref(parts[0]);
        value_unref(parts[1]);
        return bad_scope_key(detail);
    }
    *identity = (struct identity){parts[0], parts[1]};
    return ERR_OK;
}

/* -- Ids ----------------------------------------------------------------- */

/* Whether it is a string in the handle, with 8 bytes or more, all of them ASCII
 * and none of them zero: most ids are. */
static inline bool is_usual(struct value id)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const unsigned tag = (unsigned)(id.word[1] >> VALUE_TAG_SHIFT);
    const unsigned length = tag >> 4;
    if ((tag & 15U) != TAG_SHORT || length < 8) {
        return false;
    }
    /* What is behind its end counts as not zero. */
    const uint64_t rest = id.word[1] | UINT64_MAX << (length - 8) * 8;
    const uint64_t zeros =
        ((id.word[0] - ones) & ~id.word[0]) | ((rest - ones) & ~rest);
    const uint64_t highs = (id.word[0] | id.word[1] << 8) & ones << 7;
    return (zeros & ones << 7) == 0 && highs == 0;
}

enum err document_id_check(struct value id, struct err_detail *detail)
{
    if (!value_is_string(id)) {
        return err_set(detail, ERR_TYPE, "an id must be a string");
    }
    if (LIKELY(is_usual(id))) {
        return ERR_OK;
    }
    const struct text text = value_text(&id);
    if (text.length == 0) {
        return err_set(detail, ERR_ARGUMENT, "an id must not be empty");
    }
    if (text.length > LIMIT_ID_BYTES) {
        return err_set(detail,
                       ERR_LIMIT_ID,
                       "an id can have at most %d bytes",
                       LIMIT_ID_BYTES);
    }
    if (memchr(text.at, '\0', text.length) != NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "an id must not contain a zero "
                       "byte");
    }
    if (!utf8_is_valid(text.at, text.length)) {
        struct buf shown = {0};
        utf8_escape(&shown, text.at, text.length);
        const enum err err = err_set(detail,
                                     ERR_ARGUMENT,
                                     "an id must be UTF-8, and '%.100s' is not",
                                     buf_text(&shown));
        buf_release(&shown);
        return err;
    }
    return ERR_OK;
}

enum err space_id_check(struct value id, struct err_detail *detail)
{
    const enum err err = document_id_check(id, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct text text = value_text(&id);
    const bool dots =
        text.at[0] == '.' &&
        (text.length == 1 || (text.length == 2 && text.at[1] == '.'));
    if (dots || memchr(text.at, '/', text.length) != NULL ||
        memchr(text.at, '\\', text.length) != NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the name of a space must not be '.' or '..' or contain "
                       "'/' or '\\'");
    }
    return ERR_OK;
}

/* -- Addresses ----------------------------------------------------------- */

struct address address_new(struct value space,
                           struct value scope_key,
                           struct value id,
                           struct path *path)
{
    return (struct address){
        .space = value_ref(space),
        .scope_key = value_ref(scope_key),
        .id = value_ref(id),
        .path = path_ref(path),
    };
}

void address_release(struct address *address)
{
    value_unref(address->space);
    value_unref(address->scope_key);
    value_unref(address->id);
    path_unref(address->path);
    *address = (struct address){0};
}

bool address_equal(const struct address *a, const struct address *b)
{
    return address_compare(a, b) == 0;
}

int address_compare(const struct address *a, const struct address *b)
{
    int order = value_compare_strings(a->space, b->space);
    if (order == 0) {
        order = value_compare_strings(a->id, b->id);
    }
    if (order == 0) {
        order = value_compare_strings(a->scope_key, b->scope_key);
    }
    return order != 0 ? order : path_compare(a->path, b->path);
}

static void append_string(struct buf *to, struct value string)
{
    const struct text text = value_text(&string);
    buf_append(to, text.at, text.length);
}

void address_write(struct buf *to, const struct address *address)
{
    append_string(to, address->space);
    buf_append_char(to, '/');
    append_string(to, address->id);
    if (!value_is_text(address->scope_key, "space")) {
        buf_append_char(to, '@');
        append_string(to, address->scope_key);
    }
    buf_append_char(to, '#');
    path_write(to, address->path);
}
