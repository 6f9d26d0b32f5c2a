/* json against jansson, both ways, on random documents and on broken ones.
 *
 * Where the two differ by design, the test looks away: jansson refuses zero
 * bytes in keys and integers beyond 64 bits, and has no integer -0. */

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* A key as a C string, which our short strings are not always. */
struct c_key {
    struct buf text;
};

static const char *c_key(struct c_key *key, struct value string)
{
    const struct text text = value_text(&string);
    buf_clear(&key->text);
    buf_append(&key->text, text.at, text.length);
    return buf_text(&key->text);
}

/* -- The same? ----------------------------------------------------------- */

static bool same_number(struct value ours, const json_t *theirs)
{
    if (json_is_real(theirs)) {
        return value_is_same(ours, value_double(json_real_value(theirs)));
    }
    const struct value integer = value_int(json_integer_value(theirs));
    return value_is_same(ours, integer) ||
           (value_is_same(ours, value_double(-0.0)) &&
            value_is_same(integer, value_int(0)));
}

static bool same(struct value ours, const json_t *theirs);

static bool same_object(struct value ours, const json_t *theirs)
{
    if (object_count(ours) != json_object_size(theirs)) {
        return false;
    }
    struct object_iter iter = object_iter(ours);
    struct value key;
    struct value item;
    struct c_key text = {{0}};
    bool all = true;
    while (all && object_next(&iter, &key, &item)) {
        const json_t *other = json_object_get(theirs, c_key(&text, key));
        all = other != NULL && same(item, other);
    }
    buf_release(&text.text);
    return all;
}

static bool same_array(struct value ours, const json_t *theirs)
{
    if (array_count(ours) != json_array_size(theirs)) {
        return false;
    }
    for (uint32_t i = 0; i < array_count(ours); i++) {
        if (!same(array_at(ours, i), json_array_get(theirs, i))) {
            return false;
        }
    }
    return true;
}

/* What we have as a leaf is two objects for others. */
static bool same_tagged(struct value ours, const json_t *theirs)
{
    const json_t *body = json_object_get(theirs, "/");
    struct c_key text = {{0}};
    const json_t *state =
        json_object_get(body, c_key(&text, value_tagged_type(ours)));
    const bool held = json_object_size(theirs) == 1 &&
                      json_object_size(body) == 1 && state != NULL &&
                      same(value_tagged_state(ours), state);
    buf_release(&text.text);
    return held;
}

static bool same(struct value ours, const json_t *theirs)
{
    switch (value_kind(ours)) {
    case VALUE_NULL:
        return json_is_null(theirs);
    case VALUE_BOOL:
        return value_boolean(ours) ? json_is_true(theirs)
                                   : json_is_false(theirs);
    case VALUE_INT:
    case VALUE_DOUBLE:
        return json_is_number(theirs) && same_number(ours, theirs);
    case VALUE_STRING: {
        const struct text text = value_text(&ours);
        return json_is_string(theirs) &&
               json_string_length(theirs) == text.length &&
               memcmp(json_string_value(theirs), text.at, text.length) == 0;
    }
    case VALUE_ARRAY:
        return json_is_array(theirs) && same_array(ours, theirs);
    case VALUE_OBJECT:
        return json_is_object(theirs) && same_object(ours, theirs);
    case VALUE_LINK:
    case VALUE_TAGGED:
        return json_is_object(theirs) && same_tagged(ours, theirs);
    case VALUE_ABSENT:
        break;
    }
    return false;
}

/* -- Theirs from ours ---------------------------------------------------- */

static json_t *build(struct value ours)
{
    switch (value_kind(ours)) {
    case VALUE_NULL:
        return json_null();
    case VALUE_BOOL:
        return json_boolean(value_boolean(ours));
    case VALUE_INT:
        return json_integer(value_integer(ours));
    case VALUE_DOUBLE:
        return json_real(value_real(ours));
    case VALUE_STRING: {
        const struct text text = value_text(&ours);
        return json_stringn(text.at, text.length);
    }
    case VALUE_ARRAY: {
        json_t *array = json_array();
        for (uint32_t i = 0; i < array_count(ours); i++) {
            (void)json_array_append_new(array, build(array_at(ours, i)));
        }
        return array;
    }
    case VALUE_OBJECT: {
        json_t *object = json_object();
        struct object_iter iter = object_iter(ours);
        struct value key;
        struct value item;
        struct c_key text = {{0}};
        while (object_next(&iter, &key, &item)) {
            (void)json_object_set_new(object, c_key(&text, key), build(item));
        }
        buf_release(&text.text);
        return object;
    }
    case VALUE_LINK:
    case VALUE_TAGGED:
    case VALUE_ABSENT:
        break;
    }
    UNREACHABLE("plain documents only");
}

/* -- Both ways ----------------------------------------------------------- */

static const size_t load_flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;

PROPERTY(jansson_reads_what_we_write, 800)
{
    const struct gen gen = {random, 5, 40, GEN_PLAIN};
    struct value ours = gen_value(&gen);
    struct buf text = {0};
    json_write(&text,
               ours,
               random_one_in(random, 2) ? JSON_AS_GIVEN : JSON_CANONICAL,
               random_one_in(random, 2) ? 0 : 2);
    json_error_t error;
    json_t *theirs = json_loadb(text.at, text.length, load_flags, &error);
    if (theirs == NULL) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "jansson: %s in %.1000s",
                        error.text,
                        text.at);
    } else {
        EXPECT(same(ours, theirs));
    }
    json_decref(theirs);
    buf_release(&text);
    value_unref(ours);
}

PROPERTY(we_read_what_jansson_writes, 800)
{
    static const size_t flags[] = {
        JSON_COMPACT,
        JSON_INDENT(3),
        JSON_ENSURE_ASCII,
        JSON_ENSURE_ASCII | JSON_SORT_KEYS | JSON_ESCAPE_SLASH,
    };
    const struct gen gen = {random, 5, 40, GEN_PLAIN};
    struct value ours = gen_value(&gen);
    json_t *theirs = build(ours);
    EXPECT(same(ours, theirs));
    char *text = json_dumps(theirs,
                            JSON_ENCODE_ANY |
                                flags[random_below(random, COUNT_OF(flags))]);
    if (EXPECT(text != NULL)) {
        struct value read;
        struct json_fault fault;
        if (json_read(text, strlen(text), NULL, &read, &fault) != ERR_OK) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s in %.1000s",
                            fault.text,
                            text);
        } else {
            EXPECT_VALUE(read, ours);
        }
        value_unref(read);
    }
    free(text);
    json_decref(theirs);
    value_unref(ours);
}

/* -- Broken texts -------------------------------------------------------- */

static void break_text(struct random *random, struct buf *text)
{
    static const char alphabet[] = "[]{}\",:0123456789.eE+-\\/bfnrtu \ntrue"
                                   "falsn\x80\xC3\xA4\xF0\xFF\x01#'";
    const uint64_t times = 1 + random_below(random, 3);
    for (uint64_t i = 0; i < times && text->length > 0; i++) {
        const size_t at = random_below(random, text->length);
        const char c = alphabet[random_below(random, sizeof alphabet - 1)];
        switch (random_below(random, 3)) {
        case 0:
            text->at[at] = c;
            break;
        case 1:
            memmove(text->at + at, text->at + at + 1, text->length - at - 1);
            text->length--;
            break;
        default:
            buf_append_char(text, 'x');
            memmove(text->at + at + 1, text->at + at, text->length - at - 1);
            text->at[at] = c;
            break;
        }
    }
}

/* Refusals of jansson's that we do not share. */
static bool is_theirs_alone(const json_error_t *error)
{
    const enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow ||
           code == json_error_null_byte_in_key;
}

PROPERTY(both_refuse_the_same_broken_texts, 10000)
{
    const struct gen gen = {random, 3, 4, GEN_PLAIN};
    struct value document = gen_value(&gen);
    struct buf text = {0};
    json_write(&text, document, JSON_AS_GIVEN, 0);
    value_unref(document);
    break_text(random, &text);

    struct value ours;
    json_error_t error;
    const enum err err =
        json_read(buf_text(&text), text.length, NULL, &ours, NULL);
    json_t *theirs =
        json_loadb(buf_text(&text), text.length, load_flags, &error);
    if (theirs != NULL || !is_theirs_alone(&error)) {
        if ((theirs != NULL) != (err == ERR_OK) ||
            (theirs != NULL && !same(ours, theirs))) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "we say %s, jansson %s to %.*s",
                            err_name(err),
                            theirs != NULL ? "OK" : error.text,
                            (int)text.length,
                            text.at);
        }
    }
    json_decref(theirs);
    value_unref(ours);
    buf_release(&text);
}
