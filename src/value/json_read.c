/* The JSON reader: one pass, an explicit stack, values built directly.
 *
 * Finished values wait on a stack. When a container closes, everything above
 * its start becomes its content, in one allocation of the right size. A frame
 * for each open container remembers where it starts. */

#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/stack.h"
#include "value/array.h"
#include "value/json.h"
#include "value/node.h"
#include "value/number.h"
#include "value/object.h"
#include "value/scan.h"
#include "value/utf8.h"

struct open_container {
    size_t start; /* of its content on the stack of values */
    bool is_object;
};

/* Long keys repeat in every element of a list: the last ones seen are kept,
 * so that equal keys share their bytes. */
enum {
    KEY_CACHE = 64
};

struct reader {
    const char *at;
    const char *end;
    const char *begin;
    struct json_limits limits;
    struct json_fault *fault;
    enum err err;
    struct buf unescaped;
    STACK(struct value, 64) values;
    STACK(struct open_container, 32) open;
    bool key_cache_used;
    struct value key_cache[KEY_CACHE];
};

/* What the reader looks for next. */
enum want {
    WANT_VALUE,
    WANT_KEY,
    WANT_SEPARATOR,
    WANT_NOTHING
};

/* -- Faults -------------------------------------------------------------- */

static void locate(const struct reader *reader,
                   const char *at,
                   struct json_fault *fault)
{
    fault->offset = (size_t)(at - reader->begin);
    fault->line = 1;
    fault->column = 1;
    for (const char *p = reader->begin; p < at; p++) {
        if (*p == '\n') {
            fault->line++;
            fault->column = 1;
        } else if (((unsigned char)*p & 0xC0U) != 0x80U) {
            fault->column++;
        }
    }
}

static void describe(const struct reader *reader,
                     const char *at,
                     char *to,
                     size_t size)
{
    const unsigned char byte =
        at < reader->end ? (unsigned char)*at : (unsigned char)0;
    if (at >= reader->end) {
        (void)snprintf(to, size, "the end of the text");
    } else if (byte > 0x20 && byte < 0x7F) {
        (void)snprintf(to, size, "'%c'", byte);
    } else {
        (void)snprintf(to, size, "the byte 0x%02X", byte);
    }
}

/* Refuses the text at `at`. Returns false, for the caller to return. */
__attribute__((format(printf, 4, 5))) static bool refuse(struct reader *reader,
                                                         enum err err,
                                                         const char *at,
                                                         const char *format,
                                                         ...)
{
    reader->err = err;
    struct json_fault *fault = reader->fault;
    if (fault == NULL) {
        return false;
    }
    char sentence[128];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);

    fault->err = err;
    locate(reader, at, fault);
    (void)snprintf(fault->text,
                   sizeof fault->text,
                   "line %zu, column %zu: %s",
                   fault->line,
                   fault->column,
                   sentence);
    return false;
}

static bool expected(struct reader *reader, const char *at, const char *what)
{
    char found[32];
    describe(reader, at, found, sizeof found);
    return refuse(reader, ERR_SYNTAX, at, "expected %s, found %s", what, found);
}

/* -- Strings ------------------------------------------------------------- */

/* The value of a hexadecimal digit, or -1. */
static int32_t hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Four hexadecimal digits at *at, which moves over those that are there; -1 if
 * they are not four. */
static int32_t hex4(const char **at, const char *end)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const int32_t digit = *at < end ? hex_digit(**at) : -1;
        if (digit < 0) {
            return -1;
        }
        code = code * 16 + digit;
        ++*at;
    }
    return code;
}

/* \uXXXX with `*at` at the u; a surrogate needs its other half. */
static bool read_unicode_escape(struct reader *reader, const char **at)
{
    const char *const start = *at - 1;
    ++*at;
    int32_t code = hex4(at, reader->end);
    if (code < 0) {
        return expected(reader, *at, "four hexadecimal digits after \\u");
    }
    if (code >= 0xD800 && code <= 0xDFFF) {
        int32_t low = -1;
        if (code < 0xDC00 && reader->end - *at >= 2 && (*at)[0] == '\\' &&
            (*at)[1] == 'u') {
            *at += 2;
            low = hex4(at, reader->end);
        }
        if (low < 0xDC00 || low > 0xDFFF) {
            return refuse(reader, ERR_SYNTAX, start, "unpaired surrogate");
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    char *to = buf_reserve(&reader->unescaped, 4);
    buf_advance(&reader->unescaped, utf8_write(to, (uint32_t)code));
    return true;
}

/* The escape sequence at `*at`, a backslash. */
static bool read_escape(struct reader *reader, const char **at)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    ++*at;
    if (*at < reader->end && **at == 'u') {
        return read_unicode_escape(reader, at);
    }
    const char *found =
        *at < reader->end && **at != '\0' ? strchr(from, **at) : NULL;
    if (found == NULL) {
        return expected(reader,
                        *at,
                        "one of \" \\ / b f n r t u after a backslash");
    }
    buf_append_char(&reader->unescaped, to[found - from]);
    ++*at;
    return true;
}

/* Moves *at over plain text to the next quote or backslash. */
static bool skip_plain(struct reader *reader, const char **at)
{
    for (;;) {
        *at = scan_plain(*at, reader->end, true);
        if (*at >= reader->end) {
            return expected(reader, *at, "the closing quote of a string");
        }
        if ((unsigned char)**at < 0x20) {
            return expected(reader, *at, "an escape for a control character");
        }
        if ((unsigned char)**at < 0x80) {
            return true;
        }
        const unsigned sequence = utf8_sequence(*at, reader->end);
        if (sequence == 0) {
            return expected(reader, *at, "UTF-8");
        }
        *at += sequence;
    }
}

/* A string with escapes: collected piece by piece in `unescaped`. */
static bool read_escaped(struct reader *reader,
                         const char *from,
                         const char *at,
                         struct text *out)
{
    buf_clear(&reader->unescaped);
    while (*at == '\\') {
        buf_append(&reader->unescaped, from, (size_t)(at - from));
        if (!read_escape(reader, &at)) {
            return false;
        }
        from = at;
        if (!skip_plain(reader, &at)) {
            return false;
        }
    }
    buf_append(&reader->unescaped, from, (size_t)(at - from));
    reader->at = at + 1;
    out->at = buf_text(&reader->unescaped);
    out->length = reader->unescaped.length;
    return true;
}

/* The content of the string at reader->at, a quote. Borrowed until the next
 * string is read. */
static bool read_text(struct reader *reader, struct text *out)
{
    const char *const from = reader->at + 1;
    const char *at = from;
    if (!skip_plain(reader, &at)) {
        return false;
    }
    if (*at == '"') {
        out->at = from;
        out->length = (size_t)(at - from);
        reader->at = at + 1;
    } else if (!read_escaped(reader, from, at, out)) {
        return false;
    }
    if (out->length > reader->limits.string_bytes) {
        return refuse(reader,
                      ERR_LIMIT_STRING,
                      from - 1,
                      "the string has more than %zu bytes",
                      reader->limits.string_bytes);
    }
    return true;
}

static bool read_string(struct reader *reader)
{
    struct text text;
    if (!read_text(reader, &text)) {
        return false;
    }
    stack_push(&reader->values, value_string_new(text.at, text.length));
    return true;
}

/* A long key: the one in the cache if it is the same. */
static struct value cached_key(struct reader *reader, struct text text)
{
    if (!reader->key_cache_used) {
        memset(reader->key_cache, 0, sizeof reader->key_cache);
        reader->key_cache_used = true;
    }
    uint64_t tail = 0;
    memcpy(&tail, text.at + text.length - sizeof tail, sizeof tail);
    tail = (tail + text.length) * UINT64_C(0x9E3779B97F4A7C15);
    struct value *slot = &reader->key_cache[tail >> 58];
    if (!value_is_absent(*slot)) {
        const struct text cached = value_text(slot);
        if (cached.length == text.length &&
            memcmp(cached.at, text.at, text.length) == 0) {
            return value_ref(*slot);
        }
        value_unref(*slot);
    }
    *slot = value_string_new(text.at, text.length);
    return value_ref(*slot);
}

static bool read_key(struct reader *reader)
{
    if (reader->at >= reader->end || *reader->at != '"') {
        return expected(reader, reader->at, "a key in quotes");
    }
    struct text text;
    if (!read_text(reader, &text)) {
        return false;
    }
    stack_push(&reader->values,
               text.length > VALUE_INLINE_MAX
                   ? cached_key(reader, text)
                   : value_string_new(text.at, text.length));
    return true;
}

/* -- Other leaves -------------------------------------------------------- */

static bool read_number(struct reader *reader)
{
    const struct number number = number_read(reader->at, reader->end);
    switch (number.kind) {
    case NUMBER_INT:
        stack_push(&reader->values, value_int(number.integer));
        break;
    case NUMBER_DOUBLE:
        stack_push(&reader->values, value_double(number.real));
        break;
    case NUMBER_OVERFLOW:
        return refuse(reader,
                      ERR_RANGE,
                      reader->at,
                      "the number is beyond the range of a double");
    case NUMBER_BAD:
        return expected(reader, number.end, "a digit");
    }
    reader->at = number.end;
    return true;
}

static bool read_literal(struct reader *reader,
                         const char *word,
                         struct value value)
{
    const size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length ||
        memcmp(reader->at, word, length) != 0) {
        return expected(reader, reader->at, "a value");
    }
    stack_push(&reader->values, value);
    reader->at += length;
    return true;
}

/* -- Containers ---------------------------------------------------------- */

static inline void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t' ||
            *reader->at == '\r')) {
        reader->at++;
    }
}

static bool open_container(struct reader *reader, bool is_object)
{
    if (reader->open.count >= reader->limits.depth) {
        return refuse(reader,
                      ERR_LIMIT_DEPTH,
                      reader->at,
                      "nested more than %zu levels deep",
                      reader->limits.depth);
    }
    reader->at++;
    const struct open_container frame = {reader->values.count, is_object};
    stack_push(&reader->open, frame);
    return true;
}

/* Everything since the container was opened becomes its content. */
static bool close_container(struct reader *reader)
{
    const struct open_container frame = *stack_top(&reader->open);
    const struct value *content = &reader->values.at[frame.start];
    const size_t slots = reader->values.count - frame.start;
    if (frame.is_object && slots / 2 > reader->limits.keys) {
        return refuse(reader,
                      ERR_LIMIT_KEYS,
                      reader->at,
                      "the object has more than %zu keys",
                      reader->limits.keys);
    }
    if (!frame.is_object && slots > reader->limits.elements) {
        return refuse(reader,
                      ERR_LIMIT_ELEMENTS,
                      reader->at,
                      "the array has more than %zu elements",
                      reader->limits.elements);
    }
    const struct value container = frame.is_object
                                       ? object_new_adopt(content, slots / 2)
                                       : array_new_adopt(content, slots);
    reader->values.count = frame.start;
    reader->open.count--;
    reader->at++;
    stack_push(&reader->values, container);
    return true;
}

/* -- The loop ------------------------------------------------------------ */

/* Opens a container; an empty one is closed at once. */
static bool begin_container(struct reader *reader, enum want *want)
{
    const bool is_object = *reader->at == '{';
    if (!open_container(reader, is_object)) {
        return false;
    }
    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == (is_object ? '}' : ']')) {
        *want = WANT_SEPARATOR;
        return close_container(reader);
    }
    *want = is_object ? WANT_KEY : WANT_VALUE;
    return true;
}

static bool read_value(struct reader *reader, enum want *want)
{
    if (reader->at >= reader->end) {
        return expected(reader, reader->at, "a value");
    }
    *want = WANT_SEPARATOR;
    switch (*reader->at) {
    case '{':
    case '[':
        return begin_container(reader, want);
    case '"':
        return read_string(reader);
    case 't':
        return read_literal(reader, "true", value_bool(true));
    case 'f':
        return read_literal(reader, "false", value_bool(false));
    case 'n':
        return read_literal(reader, "null", value_null());
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_number(reader);
    default:
        return expected(reader, reader->at, "a value");
    }
}

static bool read_member(struct reader *reader, enum want *want)
{
    if (!read_key(reader)) {
        return false;
    }
    skip_blanks(reader);
    if (reader->at >= reader->end || *reader->at != ':') {
        return expected(reader, reader->at, "':' after a key");
    }
    reader->at++;
    *want = WANT_VALUE;
    return true;
}

/* After a value: the next one, or the end of what it is in. */
static bool read_separator(struct reader *reader, enum want *want)
{
    if (reader->open.count == 0) {
        *want = WANT_NOTHING;
        return true;
    }
    const bool is_object = stack_top(&reader->open)->is_object;
    const char found = reader->at < reader->end ? *reader->at : '\0';
    if (found == ',') {
        reader->at++;
        *want = is_object ? WANT_KEY : WANT_VALUE;
        return true;
    }
    if (found == (is_object ? '}' : ']')) {
        return close_container(reader);
    }
    return expected(reader,
                    reader->at,
                    is_object ? "',' or '}'" : "',' or ']'");
}

static bool read_document(struct reader *reader)
{
    enum want want = WANT_VALUE;
    bool going = true;
    while (going && want != WANT_NOTHING) {
        skip_blanks(reader);
        switch (want) {
        case WANT_VALUE:
            going = read_value(reader, &want);
            break;
        case WANT_KEY:
            going = read_member(reader, &want);
            break;
        case WANT_SEPARATOR:
            going = read_separator(reader, &want);
            break;
        case WANT_NOTHING:
            break;
        }
    }
    if (going && reader->at < reader->end) {
        return expected(reader, reader->at, "the end of the text");
    }
    return going;
}

static size_t limit_or(size_t given, size_t fallback)
{
    return given != 0 ? given : fallback;
}

/* The end is set when the length is known to be sane. */
static void reader_init(struct reader *reader,
                        const char *text,
                        const struct json_limits *limits,
                        struct json_fault *fault)
{
    static const struct json_limits none;
    limits = limits != NULL ? limits : &none;
    reader->at = reader->begin = reader->end = text;
    reader->limits = (struct json_limits){
        .text_bytes = limit_or(limits->text_bytes, LIMIT_TEXT_BYTES),
        .string_bytes = limit_or(limits->string_bytes, LIMIT_STRING_BYTES),
        .depth = limit_or(limits->depth, LIMIT_DEPTH),
        .keys = limit_or(limits->keys, LIMIT_OBJECT_KEYS),
        .elements = limit_or(limits->elements, LIMIT_ARRAY_ELEMENTS),
    };
    reader->fault = fault;
    reader->err = ERR_OK;
    reader->unescaped = (struct buf){0};
    reader->key_cache_used = false;
    stack_init(&reader->values);
    stack_init(&reader->open);
}

static void reader_release(struct reader *reader)
{
    for (size_t i = 0; i < reader->values.count; i++) {
        value_unref(reader->values.at[i]);
    }
    for (size_t i = 0; reader->key_cache_used && i < KEY_CACHE; i++) {
        value_unref(reader->key_cache[i]);
    }
    stack_release(&reader->values);
    stack_release(&reader->open);
    buf_release(&reader->unescaped);
}

enum err json_read(const char *text,
                   size_t length,
                   const struct json_limits *limits,
                   struct value *out,
                   struct json_fault *fault)
{
    struct reader reader;
    reader_init(&reader, text, limits, fault);
    *out = VALUE_NONE;
    if (length <= reader.limits.text_bytes) {
        reader.end = text + length;
    }
    if (length > reader.limits.text_bytes) {
        (void)refuse(&reader,
                     ERR_LIMIT_SIZE,
                     text,
                     "the text has more than %zu bytes",
                     reader.limits.text_bytes);
    } else if (read_document(&reader)) {
        CHECK(reader.values.count == 1);
        *out = reader.values.at[0];
        reader.values.count = 0;
        CHECK_DEEP(value_check(*out));
    }
    reader_release(&reader);
    return reader.err;
}
