/* schema: what is one, what fits it, what is filled in; and, compared with a
 * recursive definition of the same, all of it at random. */

#include "value/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

static struct schema *schema_of(const char *json)
{
    struct schema_fault fault = {0};
    struct schema *schema;
    const struct value source = from_quoted(json);
    const enum err err = schema_new(source, &schema, &fault);
    value_unref(source);
    if (!EXPECT_EQ(err, ERR_OK)) {
        (void)EXPECT_TEXT(fault.text, json);
    }
    return schema;
}

/* "ok", or the pointer and the sentence. */
static const char *verdict(const char *schema_json, const char *json)
{
    static char text[2 * ERR_TEXT_SIZE];
    struct schema *schema = schema_of(schema_json);
    const struct value value = from_quoted(json);
    struct schema_fault fault = {0};
    const uint64_t before = test_allocations();
    const enum err err = schema_check(schema, value, &fault);
    EXPECT_EQ(test_allocations(), before); /* schema-4 */
    EXPECT_EQ(schema_check(schema, value, NULL), err);
    EXPECT_EQ(fault.err, err);
    (void)snprintf(text, sizeof text, "%s %s", fault.pointer, fault.text);
    value_unref(value);
    schema_unref(schema);
    return err == ERR_OK ? "ok" : text;
}

struct example {
    const char *schema;
    const char *value;
    const char *want;
};

static void check_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!EXPECT_TEXT(verdict(examples[i].schema, examples[i].value),
                         examples[i].want)) {
            (void)EXPECT_TEXT(examples[i].schema, examples[i].value);
        }
    }
}

TEST(types_are_told_apart)
{
    static const struct example examples[] = {
        {"true", "{'a':[1]}", "ok"},
        {"false", "1", " must be absent"},
        {"{}", "null", "ok"},
        {"{'type':'null'}", "null", "ok"},
        {"{'type':'null'}", "false", " must be null, not boolean"},
        {"{'type':'boolean'}", "true", "ok"},
        {"{'type':'integer'}", "1", "ok"},
        {"{'type':'integer'}", "1.0", "ok"},
        {"{'type':'integer'}", "-0.0", "ok"},
        {"{'type':'integer'}", "1e300", "ok"},
        {"{'type':'integer'}", "1.5", " must be integer, not number"},
        {"{'type':'integer'}",
         "{'/':{'number@1':'Infinity'}}",
         " must be integer, not number"},
        {"{'type':'number'}", "{'/':{'number@1':'NaN'}}", "ok"},
        {"{'type':'number'}", "1", "ok"},
        {"{'type':'number'}", "'1'", " must be number, not string"},
        {"{'type':'string'}", "''", "ok"},
        {"{'type':'array'}", "[]", "ok"},
        {"{'type':'object'}", "[]", " must be object, not array"},
        {"{'type':['string','null']}", "null", "ok"},
        {"{'type':['string','null']}",
         "1",
         " must be null or string, not integer"},
        {"{'type':['null','boolean','number','string','array']}",
         "{}",
         " must be null or boolean or number or string or array, not object"},
    };
    check_all(examples, COUNT_OF(examples));
}

TEST(a_link_fits_whatever_is_asked_and_another_leaf_only_where_nothing_is)
{
    static const struct example examples[] = {
        {"{'type':'string'}", "{'/':{'link@1':{'id':'of:x'}}}", "ok"},
        {"{'enum':[1]}", "{'/':{'link@1':{'id':'of:x'}}}", "ok"},
        {"{'properties':{'a':{'type':'object','required':['b']}}}",
         "{'a':{'/':{'link@1':{'id':'of:x'}}}}",
         "ok"},
        {"false", "{'/':{'link@1':{'id':'of:x'}}}", " must be absent"},
        {"{'additionalProperties':false}",
         "{'a':{'/':{'link@1':{}}}}",
         "/a must be absent"},
        {"{}", "{'/':{'blob@1':'x'}}", "ok"},
        {"{'const':{'/':{'blob@1':'x'}}}", "{'/':{'blob@1':'x'}}", "ok"},
        {"{'type':['string','object']}",
         "{'/':{'blob@1':'x'}}",
         " must be string or object, not a tagged leaf"},
    };
    check_all(examples, COUNT_OF(examples));
}

TEST(ranges_are_exact_and_say_nothing_about_other_types)
{
    static const struct example examples[] = {
        {"{'minimum':3}", "3", "ok"},
        {"{'minimum':3}", "2.5", " must be 3 or more"},
        {"{'minimum':3}", "'x'", "ok"},
        {"{'maximum':1.5}", "1.5", "ok"},
        {"{'maximum':1.5}", "2", " must be 1.5 or less"},
        {"{'exclusiveMinimum':0}", "0", " must be more than 0"},
        {"{'exclusiveMinimum':0}", "0.001", "ok"},
        {"{'exclusiveMaximum':10}", "10", " must be less than 10"},
        {"{'exclusiveMaximum':10,'minimum':9}", "9", "ok"},
        {"{'minimum':0}", "{'/':{'number@1':'NaN'}}", " must be 0 or more"},
        {"{'minimum':0}", "{'/':{'number@1':'Infinity'}}", "ok"},
        {"{'maximum':{'/':{'number@1':'-Infinity'}}}",
         "-1e308",
         " must be infinity or less"},
        {"{'maximum':9007199254740993}", "9007199254740993", "ok"},
        {"{'maximum':9007199254740992.0}",
         "9007199254740993",
         " must be 9007199254740992 or less"},
        {"{'minimum':9223372036854775807}",
         "9223372036854775807.0",
         "ok"}, /* 2^63 */
        {"{'exclusiveMaximum':1e300}", "9223372036854775807", "ok"},
        {"{'exclusiveMinimum':-1e300}", "-9223372036854775808", "ok"},
        {"{'minimum':1e300}", "5", " must be 1e+300 or more"},
        {"{'minimum':5.5}", "5", " must be 5.5 or more"},
        {"{'maximum':-5.5}", "-5", " must be -5.5 or less"},
        {"{'minLength':2}", "'\xC3\xA4'", " must have 2 characters or more"},
        {"{'minLength':2}", "'\xC3\xA4\xF0\x9F\x98\x80'", "ok"},
        {"{'maxLength':1}", "'\xF0\x9F\x98\x80'", "ok"},
        {"{'maxLength':1}", "'ab'", " must have 1 characters or fewer"},
        {"{'maxLength':1}", "[1,2]", "ok"},
        {"{'minItems':1}", "[]", " must have 1 elements or more"},
        {"{'maxItems':1}", "[1,2]", " must have 1 elements or fewer"},
        {"{'maxItems':0}", "{'a':1}", "ok"},
        {"{'enum':[1,'a',[2]]}", "[2]", "ok"},
        {"{'enum':[1,'a',[2]]}", "2", " is not one of the values of the enum"},
        {"{'const':{'a':1,'b':2}}", "{'b':2,'a':1}", "ok"},
        {"{'const':null}", "0", " is not the value of the const"},
    };
    check_all(examples, COUNT_OF(examples));
}

TEST(parts_are_named_by_their_pointer)
{
    static const struct example examples[] = {
        {"{'items':{'type':'integer'}}",
         "[1,2,'x']",
         "/2 must be integer, not string"},
        {"{'items':false}", "[]", "ok"},
        {"{'items':false}", "[1]", "/0 must be absent"},
        {"{'items':{'type':'integer'}}", "{'a':'x'}", "ok"},
        {"{'properties':{'a':{'type':'string'}}}", "{'b':1}", "ok"},
        {"{'properties':{'a':{'type':'string'}}}",
         "{'b':1,'a':1}",
         "/a must be string, not integer"},
        {"{'properties':{'a/b~c':{'items':{'const':1}}}}",
         "{'a/b~c':[1,2]}",
         "/a~1b~0c/1 is not the value of the const"},
        {"{'properties':{'a':true},'additionalProperties':false}",
         "{'a':1,'b':2}",
         "/b must be absent"},
        {"{'properties':{'a':false}}", "{'a':1}", "/a must be absent"},
        {"{'additionalProperties':{'type':'integer'},'properties':{'n':true}}",
         "{'n':'x','m':'x'}",
         "/m must be integer, not string"},
        {"{'required':['a','b']}", "{'a':1}", "/b is missing"},
        {"{'required':['a','b','a']}", "{'b':1,'a':1}", "ok"},
        {"{'required':['b'],'properties':{'a':true,'c':true}}",
         "{'a':1,'c':1}",
         "/b is missing"},
        {"{'required':['a']}", "[]", "ok"},
        {"{'required':['a'],'additionalProperties':{'type':'string'}}",
         "{'a':1}",
         "/a must be string, not integer"},
        {"{'properties':{'a':{'properties':{'b':{'required':['c']}}}}}",
         "{'a':{'b':{}}}",
         "/a/b/c is missing"},
    };
    check_all(examples, COUNT_OF(examples));
}

TEST(a_pointer_that_is_too_long_keeps_its_end)
{
    struct buf json = {0};
    struct buf schema = {0};
    for (unsigned i = 0; i < 30; i++) {
        buf_printf(&json, "{'key-number-%02u':", i);
        buf_printf(&schema, "{'additionalProperties':");
    }
    buf_append_text(&json, "1");
    buf_append_text(&schema, "false");
    for (unsigned i = 0; i < 30; i++) {
        buf_append_char(&json, '}');
        buf_append_char(&schema, '}');
    }
    const char *got = verdict(buf_text(&schema), buf_text(&json));
    EXPECT(strncmp(got, ".../key-number-", 15) == 0);
    EXPECT_CONTAINS(got, "/key-number-28/key-number-29 must be absent");
    buf_release(&json);
    buf_release(&schema);
}

TEST(what_is_no_schema_is_refused_with_the_place_of_the_fault)
{
    static const struct {
        const char *schema;
        const char *pointer;
        const char *text;
    } examples[] = {
        {"1", "", "a schema must be an object or a boolean, not integer"},
        {"{'type':'text'}", "/type", "unknown type name"},
        {"{'type':[]}", "/type", "at least one type must be named"},
        {"{'type':['null',1]}", "/type", "unknown type name"},
        {"{'pattern':'x'}", "/pattern", "unknown keyword 'pattern'"},
        {"{'properties':{'a':{'$ref':'#'}}}",
         "/properties/a/$ref",
         "unknown keyword '$ref'"},
        {"{'properties':[]}", "/properties", "expected an object of schemas"},
        {"{'properties':{'a':1}}",
         "/properties/a",
         "a schema must be an object or a boolean, not integer"},
        {"{'items':[]}",
         "/items",
         "a schema must be an object or a boolean, not array"},
        {"{'additionalProperties':{'items':{'minimum':'1'}}}",
         "/additionalProperties/items/minimum",
         "expected a number"},
        {"{'minimum':{'/':{'number@1':'NaN'}}}",
         "/minimum",
         "expected a number"},
        {"{'minLength':-1}", "/minLength", "expected an integer from 0 on"},
        {"{'maxItems':1.5}", "/maxItems", "expected an integer from 0 on"},
        {"{'required':'a'}", "/required", "expected a list of keys"},
        {"{'required':[1]}", "/required", "expected a list of keys"},
        {"{'enum':[]}", "/enum", "expected a list of values"},
        {"{'items':{'type':'string','default':1}}",
         "/items/default",
         "does not match: must be string, not integer"},
        {"{'default':{'a':1},'properties':{'a':{'type':'string'}}}",
         "/default",
         "does not match: /a must be string, not integer"},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        const struct value source = from_quoted(examples[i].schema);
        struct schema *schema;
        struct schema_fault fault = {0};
        EXPECT_EQ(schema_new(source, &schema, &fault), ERR_SCHEMA_MALFORMED);
        EXPECT_EQ(fault.err, ERR_SCHEMA_MALFORMED);
        EXPECT(schema == NULL);
        EXPECT_TEXT(fault.pointer, examples[i].pointer);
        EXPECT_TEXT(fault.text, examples[i].text);
        EXPECT_EQ(schema_new(source, &schema, NULL), ERR_SCHEMA_MALFORMED);
        value_unref(source);
    }
}

/* {"items":{"items":... */
static struct value nested(unsigned depth)
{
    struct value schema = value_empty_object();
    for (unsigned i = 1; i < depth; i++) {
        struct value around = value_empty_object();
        object_put_adopt(&around, "items", schema);
        schema = around;
    }
    return schema;
}

TEST(a_schema_has_a_depth_and_a_size)
{
    struct schema *schema;
    struct schema_fault fault = {0};
    struct value source = nested(LIMIT_SCHEMA_DEPTH);
    EXPECT_EQ(schema_new(source, &schema, &fault), ERR_OK);
    schema_unref(schema);
    value_unref(source);
    source = nested(LIMIT_SCHEMA_DEPTH + 1);
    EXPECT_EQ(schema_new(source, &schema, &fault), ERR_LIMIT_SCHEMA);
    EXPECT_EQ(fault.err, ERR_LIMIT_SCHEMA);
    value_unref(source);

    struct value properties = value_empty_object();
    struct value required = value_empty_array();
    for (unsigned i = 0; i < LIMIT_SCHEMA_NODES; i++) {
        properties = object_set_adopt(properties,
                                      numbered("key", i),
                                      value_empty_object());
        required = array_push_adopt(required, numbered("key", i));
    }
    source = value_empty_object();
    object_put_adopt(&source, "properties", properties);
    EXPECT_EQ(schema_new(source, &schema, &fault), ERR_LIMIT_SCHEMA);
    value_unref(source);
    source = value_empty_object();
    object_put_adopt(&source, "required", value_ref(required));
    EXPECT_EQ(schema_new(source, &schema, &fault), ERR_OK);
    schema_unref(schema);
    required = array_push_adopt(required, numbered("more", 0));
    object_put_adopt(&source, "required", required);
    EXPECT_EQ(schema_new(source, &schema, &fault), ERR_LIMIT_SCHEMA);
    value_unref(source);
}

TEST(annotations_are_left_alone_and_the_digest_is_that_of_the_content)
{
    struct schema *a = schema_of("{'title':'T','type':'string','examples':[1],"
                                 "'description':5,'$comment':null}");
    struct schema *b = schema_of("{'$comment':null,'type':'string',"
                                 "'description':5,'examples':[1],'title':'T'}");
    struct schema *c = schema_of("{'type':'string'}");
    const struct digest digests[] = {
        schema_digest(a),
        schema_digest(b),
        schema_digest(c),
    };
    EXPECT(digest_equal(&digests[0], &digests[1]));
    EXPECT(!digest_equal(&digests[0], &digests[2]));
    EXPECT_QUOTED(schema_source(c), "{'type':'string'}");
    struct schema *again = schema_ref(c);
    schema_unref(c);
    EXPECT_QUOTED(schema_source(again), "{'type':'string'}");
    schema_unref(a);
    schema_unref(b);
    schema_unref(again);
    schema_unref(NULL);
}

TEST(a_fault_is_a_sentence)
{
    struct err_detail detail = {0};
    struct schema_fault fault = {ERR_SCHEMA, "/a", "is missing"};
    EXPECT_EQ(schema_fault_tell(&fault, "the payload", &detail), ERR_SCHEMA);
    EXPECT_TEXT(detail.text, "the payload at /a: is missing");
    fault.pointer[0] = '\0';
    EXPECT_EQ(schema_fault_tell(&fault, "the payload", &detail), ERR_SCHEMA);
    EXPECT_TEXT(detail.text, "the payload: is missing");
    EXPECT_EQ(detail.err, ERR_SCHEMA);
}

/* -- Defaults ------------------------------------------------------------ */

TEST(what_is_missing_is_filled_in_and_the_rest_is_shared)
{
    static const struct example examples[] = {
        {"{'default':5}", "1", "1"},
        {"{'properties':{'a':{'default':5}}}", "{}", "{'a':5}"},
        {"{'properties':{'a':{'default':5}}}", "{'a':null}", "{'a':null}"},
        {"{'properties':{'a':{'default':5}}}", "[]", "[]"},
        {"{'properties':{'a':{'default':5},'b':true}}",
         "{'c':1}",
         "{'c':1,'a':5}"},
        /* A default is filled itself; a container is not made for one. */
        {"{'properties':{'a':{'default':{},'properties':{'b':{'default':1}}}}}",
         "{}",
         "{'a':{'b':1}}"},
        {"{'properties':{'a':{'properties':{'b':{'default':1}}}}}", "{}", "{}"},
        {"{'properties':{'a':{'properties':{'b':{'default':1}}}}}",
         "{'a':{}}",
         "{'a':{'b':1}}"},
        {"{'items':{'properties':{'b':{'default':1}}}}",
         "[{},1,{'b':2},{'c':3}]",
         "[{'b':1},1,{'b':2},{'c':3,'b':1}]"},
        {"{'additionalProperties':{'properties':{'b':{'default':1}}},"
         "'properties':{'n':true}}",
         "{'n':{},'m':{}}",
         "{'n':{},'m':{'b':1}}"},
        /* What is additional has no name, so it is never missing. */
        {"{'required':['a'],'additionalProperties':{'default':1}}", "{}", "{}"},
        {"true", "{}", "{}"},
        {"false", "{}", "{}"},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        struct schema *schema = schema_of(examples[i].schema);
        struct value value =
            schema_fill_adopt(schema, from_quoted(examples[i].value));
        EXPECT_QUOTED(value, examples[i].want);
        /* Once is enough, and then it is the same handle. */
        const struct value again = schema_fill_adopt(schema, value_ref(value));
        EXPECT(value_is_same(again, value));
        value_unref(again);
        value_unref(value);
        schema_unref(schema);
    }
}

TEST(nothing_becomes_the_default_of_the_whole_or_stays_nothing)
{
    struct schema *with = schema_of("{'default':{'a':1}}");
    struct schema *without = schema_of("{'type':'object'}");
    struct value value = schema_fill_adopt(with, VALUE_NONE);
    EXPECT_QUOTED(value, "{'a':1}");
    value_unref(value);
    value = schema_fill_adopt(without, VALUE_NONE);
    EXPECT(value_is_absent(value));
    schema_unref(with);
    schema_unref(without);
}

TEST(what_is_not_filled_is_shared)
{
    struct schema *schema = schema_of(
        "{'properties':{'a':{'default':1}},'additionalProperties':true}");
    struct value value = from_quoted("{'big':[1,2,3],'other':{'x':1}}");
    const struct value big = object_field(value, "big");
    const struct value kept = value_ref(value);
    value = schema_fill_adopt(schema, value);
    EXPECT(value_is_same(object_field(value, "big"), big));
    EXPECT(value_is_absent(object_field(kept, "a"))); /* untouched */
    value_unref(kept);
    value_unref(value);
    schema_unref(schema);
}

/* -- Changes ------------------------------------------------------------- */

TEST(only_what_a_change_has_touched_is_looked_at)
{
    struct schema *schema =
        schema_of("{'items':{'properties':{'n':{'type':'integer'}}}}");
    struct value list = value_empty_array();
    for (unsigned i = 0; i < 2000; i++) {
        struct value item = value_empty_object();
        object_put_adopt(&item, "n", value_int(i));
        list = array_push_adopt(list, item);
    }
    const struct value before = value_ref(list);
    list = array_set_adopt(list, 1999, from_quoted("{'n':'x'}"));
    struct schema_fault fault = {0};
    const size_t hidden = values_hide_shared(before, list);
    EXPECT(hidden > 50 || !values_can_hide());
    EXPECT_EQ(schema_check_change(schema, before, list, &fault), ERR_SCHEMA);
    EXPECT_TEXT(fault.pointer, "/1999/n");
    values_show(list);
    values_show(before);

    /* And what was wrong before does not count. */
    struct value more = array_push_adopt(value_ref(list), value_int(1));
    EXPECT_EQ(schema_check_change(schema, list, more, &fault), ERR_OK);
    EXPECT_EQ(schema_check(schema, more, &fault), ERR_SCHEMA);
    EXPECT_EQ(schema_check_change(schema, VALUE_NONE, more, NULL), ERR_SCHEMA);
    value_unref(more);
    value_unref(list);
    value_unref(before);
    schema_unref(schema);
}

TEST(a_change_that_takes_away_what_is_required_is_seen)
{
    struct schema *schema =
        schema_of("{'properties':{'a':{'required':['b']}}}");
    const struct value before = from_quoted("{'a':{'b':1,'c':2}}");
    const struct value after = from_quoted("{'a':{'c':2}}");
    struct schema_fault fault = {0};
    EXPECT_EQ(schema_check_change(schema, before, after, &fault), ERR_SCHEMA);
    EXPECT_TEXT(fault.pointer, "/a/b");
    value_unref(before);
    value_unref(after);
    schema_unref(schema);
}

/* -- At random ----------------------------------------------------------- */

/* The definition, straight from the value of the schema. */
static bool naive_type(struct value word, struct value value)
{
    const struct text text = value_text(&word);
    switch (text.at[0]) {
    case 'n':
        return text.at[2] == 'l' ? value_kind(value) == VALUE_NULL
                                 : value_is_number(value);
    case 'b':
        return value_kind(value) == VALUE_BOOL;
    case 'i':
        return value_is_number(value) && isfinite(value_real(value)) &&
               fpclassify(fmod(value_real(value), 1)) == FP_ZERO;
    case 's':
        return value_is_string(value);
    case 'a':
        return value_is_array(value);
    default:
        return value_is_object(value);
    }
}

static bool naive_types(struct value types, struct value value)
{
    if (value_is_string(types)) {
        return naive_type(types, value);
    }
    for (uint32_t i = 0; i < array_count(types); i++) {
        if (naive_type(array_at(types, i), value)) {
            return true;
        }
    }
    return false;
}

/* More digits than either kind of number needs. */
static long double naive_number(struct value number)
{
    return value_kind(number) == VALUE_INT ? (long double)value_integer(number)
                                           : (long double)value_real(number);
}

static long double naive_field(struct value schema,
                               const char *name,
                               long double otherwise)
{
    const struct value field = object_field(schema, name);
    return value_is_absent(field) ? otherwise : naive_number(field);
}

static long double naive_length(struct value string)
{
    const struct text text = value_text(&string);
    long double length = 0;
    for (size_t i = 0; i < text.length;) {
        const unsigned char c = (unsigned char)text.at[i];
        i += c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        length += 1;
    }
    return length;
}

static bool naive_within(struct value schema,
                         const char *low,
                         const char *high,
                         long double number)
{
    return number >= naive_field(schema, low, -HUGE_VALL) &&
           number <= naive_field(schema, high, HUGE_VALL);
}

static bool naive_range(struct value schema, struct value value)
{
    const bool bounded = !value_is_absent(object_field(schema, "minimum")) ||
                         !value_is_absent(object_field(schema, "maximum"));
    const struct value above = object_field(schema, "exclusiveMinimum");
    const struct value below = object_field(schema, "exclusiveMaximum");
    const long double number = naive_number(value);
    if (isnan(number)) {
        return !bounded && value_is_absent(above) && value_is_absent(below);
    }
    return naive_within(schema, "minimum", "maximum", number) &&
           (value_is_absent(above) || number > naive_number(above)) &&
           (value_is_absent(below) || number < naive_number(below));
}

static bool naive_fits(struct value schema, struct value value);

static bool naive_object(struct value schema, struct value value)
{
    const struct value properties = object_field(schema, "properties");
    const struct value other = object_field(schema, "additionalProperties");
    const struct value required = object_field(schema, "required");
    struct object_iter iter = object_iter(value);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        struct value below = value_is_absent(properties)
                                 ? VALUE_NONE
                                 : object_get(properties, key);
        below = value_is_absent(below) ? other : below;
        if (!value_is_absent(below) && !naive_fits(below, item)) {
            return false;
        }
    }
    for (uint32_t i = 0;
         !value_is_absent(required) && i < array_count(required);
         i++) {
        if (value_is_absent(object_get(value, array_at(required, i)))) {
            return false;
        }
    }
    return true;
}

static bool naive_array(struct value schema, struct value value)
{
    const struct value items = object_field(schema, "items");
    for (uint32_t i = 0; !value_is_absent(items) && i < array_count(value);
         i++) {
        if (!naive_fits(items, array_at(value, i))) {
            return false;
        }
    }
    return naive_within(schema, "minItems", "maxItems", array_count(value));
}

static bool naive_fits(struct value schema, struct value value)
{
    if (value_kind(schema) == VALUE_BOOL) {
        return value_boolean(schema);
    }
    if (value_kind(value) == VALUE_LINK) {
        return true;
    }
    const struct value types = object_field(schema, "type");
    const struct value constant = object_field(schema, "const");
    const struct value among = object_field(schema, "enum");
    bool found = value_is_absent(among);
    for (uint32_t i = 0; !found && i < array_count(among); i++) {
        found = value_equal(array_at(among, i), value);
    }
    return found && (value_is_absent(types) || naive_types(types, value)) &&
           (value_is_absent(constant) || value_equal(constant, value)) &&
           (!value_is_number(value) || naive_range(schema, value)) &&
           (!value_is_string(value) || naive_within(schema,
                                                    "minLength",
                                                    "maxLength",
                                                    naive_length(value))) &&
           (!value_is_array(value) || naive_array(schema, value)) &&
           (!value_is_object(value) || naive_object(schema, value));
}

/* The definition of filling; adopts. */
static struct value naive_fill(struct value schema, struct value value)
{
    if (!value_is_object(schema) || !value_is_container(value)) {
        return value;
    }
    if (value_is_array(value)) {
        const struct value items = object_field(schema, "items");
        for (uint32_t i = 0; i < array_count(value); i++) {
            const struct value item = value_ref(array_at(value, i));
            value = array_set_adopt(value, i, naive_fill(items, item));
        }
        return value;
    }
    const struct value properties = object_field(schema, "properties");
    const struct value other = object_field(schema, "additionalProperties");
    const struct value from = value_ref(value);
    struct object_iter iter = object_iter(from);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        struct value below = value_is_absent(properties)
                                 ? VALUE_NONE
                                 : object_get(properties, key);
        below = value_is_absent(below) ? other : below;
        value = object_set_adopt(value,
                                 value_ref(key),
                                 naive_fill(below, value_ref(item)));
    }
    iter = object_iter(value_is_absent(properties) ? value_empty_object()
                                                   : properties);
    while (object_next(&iter, &key, &item)) {
        const struct value fallback =
            value_is_object(item) ? object_field(item, "default") : VALUE_NONE;
        if (!value_is_absent(fallback) &&
            value_is_absent(object_get(from, key))) {
            value = object_set_adopt(value,
                                     value_ref(key),
                                     naive_fill(item, value_ref(fallback)));
        }
    }
    value_unref(from);
    return value;
}

/* The word for its type, or another one. */
static struct value draw_type(struct random *random, struct value value)
{
    static const char *const words[] = {
        "null",
        "boolean",
        "integer",
        "number",
        "string",
        "array",
        "object",
    };
    if (random_one_in(random, 12)) {
        return value_text_new(words[random_below(random, COUNT_OF(words))]);
    }
    if (value_kind(value) == VALUE_INT) {
        return value_text_new(random_one_in(random, 2) ? "integer" : "number");
    }
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const struct value word = value_text_new(words[i]);
        if (naive_type(word, value)) {
            return word;
        }
        value_unref(word);
    }
    return value_text_new("object");
}

static void draw_rules(const struct gen *gen,
                       struct value value,
                       struct value *schema)
{
    static const char *const bounds[] = {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    };
    static const char *const counts[] = {
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    };
    struct random *random = gen->random;
    if (random_one_in(random, 3)) {
        struct value bound = gen_number(gen);
        bound = isnan(value_real(bound)) ? value_int(0) : bound;
        object_put_adopt(schema, bounds[random_below(random, 4)], bound);
    }
    if (random_one_in(random, 4)) {
        object_put_adopt(schema,
                         counts[random_below(random, 4)],
                         value_int((int64_t)random_below(random, 6)));
    }
    if (random_one_in(random, 10)) {
        struct value list = value_empty_array();
        list = array_push_adopt(list, gen_leaf(gen));
        list = array_push_adopt(list, value_ref(value));
        object_put_adopt(schema, "enum", list);
    }
    if (random_one_in(random, 15)) {
        object_put_adopt(schema, "const", value_ref(value));
    }
}

static struct value draw_schema(const struct gen *gen,
                                struct value value,
                                unsigned depth);

static void draw_properties(const struct gen *gen,
                            struct value value,
                            unsigned depth,
                            struct value *schema)
{
    struct random *random = gen->random;
    struct value properties = value_empty_object();
    struct value required = value_empty_array();
    struct object_iter iter = object_iter(value);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (!random_one_in(random, 3)) {
            properties = object_set_adopt(properties,
                                          value_ref(key),
                                          draw_schema(gen, item, depth - 1));
        }
        if (random_one_in(random, 3)) {
            required = array_push_adopt(required, value_ref(key));
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        if (random_one_in(random, 2)) {
            properties =
                object_set_adopt(properties,
                                 gen_key(gen),
                                 draw_schema(gen, value_null(), depth - 1));
        }
    }
    if (random_one_in(random, 6)) {
        required = array_push_adopt(required, gen_key(gen));
    }
    if (value_is_object(properties)) {
        object_put_adopt(schema, "properties", properties);
    } else {
        value_unref(properties);
    }
    object_put_adopt(schema, "required", required);
    if (random_one_in(random, 3)) {
        object_put_adopt(schema,
                         "additionalProperties",
                         random_one_in(random, 3)
                             ? value_bool(false)
                             : draw_schema(gen, value_null(), depth - 1));
    }
}

/* A schema that the value often fits. */
static struct value draw_schema(const struct gen *gen,
                                struct value value,
                                unsigned depth)
{
    struct random *random = gen->random;
    if (random_one_in(random, 8) || depth == 0) {
        return value_bool(!random_one_in(random, 8));
    }
    struct value schema = value_empty_object();
    if (random_one_in(random, 2)) {
        struct value types = draw_type(random, value);
        if (random_one_in(random, 3)) {
            struct value list = array_push_adopt(value_empty_array(), types);
            types = array_push_adopt(list, draw_type(random, value));
        }
        object_put_adopt(&schema, "type", types);
    }
    draw_rules(gen, value, &schema);
    if (value_is_object(value)) {
        draw_properties(gen, value, depth, &schema);
    }
    if (value_is_array(value) && array_count(value) > 0 &&
        !random_one_in(random, 4)) {
        object_put_adopt(&schema,
                         "items",
                         draw_schema(gen, array_at(value, 0), depth - 1));
    }
    if (random_one_in(random, 4)) {
        const struct value fallback =
            random_one_in(random, 2) ? value_ref(value) : gen_leaf(gen);
        if (naive_fits(schema, fallback)) {
            object_put_adopt(&schema, "default", value_ref(fallback));
        }
        value_unref(fallback);
    }
    return schema;
}

/* What is at the pointer of a fault is not fine by itself. */
static void compare(const struct schema *schema,
                    struct value source,
                    struct value before,
                    struct value value)
{
    struct schema_fault fault = {0};
    const bool fits = naive_fits(source, value);
    const enum err err = schema_check(schema, value, &fault);
    EXPECT_EQ(err, fits ? ERR_OK : ERR_SCHEMA);
    EXPECT_EQ(fault.err, err);
    if (naive_fits(source, before)) {
        EXPECT_EQ(schema_check_change(schema, before, value, NULL), err);
    }
    const struct value want = naive_fill(source, value_ref(value));
    const struct value got = schema_fill_adopt(schema, value_ref(value));
    EXPECT_VALUE(got, want);
    EXPECT_CHECK(got);
    value_unref(want);
    value_unref(got);
}

PROPERTY(checking_and_filling_agree_with_their_definition, 3000)
{
    const struct gen gen = {random, 4, 12, GEN_SPECIALS};
    struct value value = gen_value(&gen);
    const struct value source = draw_schema(&gen, value, 5);
    struct schema *schema;
    struct schema_fault fault = {0};
    const enum err err = schema_new(source, &schema, &fault);
    if (err == ERR_OK) {
        for (unsigned i = 0; i < 4; i++) {
            const struct value before = value_ref(value);
            value = gen_edit_adopt(&gen, value);
            compare(schema, source, before, value);
            value_unref(before);
        }
    } else { /* a default that does not match once it is filled itself */
        EXPECT_EQ(err, ERR_SCHEMA_MALFORMED);
        EXPECT_CONTAINS(fault.text, "does not match");
    }
    schema_unref(schema);
    value_unref(source);
    value_unref(value);
}
