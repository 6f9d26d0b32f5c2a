/* Checking values, and filling in defaults. */

#include "value/schema.h"

#include <math.h>
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/number.h"
#include "value/object.h"
#include "value/schema_internal.h"

/* -- Life ---------------------------------------------------------------- */

struct schema *schema_ref(struct schema *schema)
{
    schema->refs++;
    return schema;
}

void schema_unref(struct schema *schema)
{
    if (schema == NULL || --schema->refs > 0) {
        return;
    }
    VEC_FOREACH (&schema->nodes, node) {
        value_unref(node->fallback);
    }
    VEC_FOREACH (&schema->properties, property) {
        value_unref(property->key);
    }
    VEC_FOREACH (&schema->rules, rule) {
        value_unref(rule->operand);
    }
    vec_release(&schema->nodes);
    vec_release(&schema->properties);
    vec_release(&schema->rules);
    value_unref(schema->source);
    mem_free(schema, sizeof *schema);
}

struct value schema_source(const struct schema *schema)
{
    return schema->source;
}

struct digest schema_digest(const struct schema *schema)
{
    return schema->digest;
}

/* -- Pointers ------------------------------------------------------------ */

static const char POINTER_CUT[] = "...";

void schema_pointer_begin(struct schema_pointer *pointer)
{
    pointer->start = sizeof pointer->at - 1;
    pointer->at[pointer->start] = '\0';
    pointer->cut = false;
}

void schema_pointer_prepend(struct schema_pointer *pointer, struct text key)
{
    size_t escaped = 1;
    for (size_t i = 0; i < key.length; i++) {
        escaped += 1U + (key.at[i] == '~' || key.at[i] == '/');
    }
    if (pointer->cut || escaped + sizeof POINTER_CUT > pointer->start) {
        pointer->cut = true;
        return;
    }
    for (size_t i = key.length; i > 0; i--) {
        const char c = key.at[i - 1];
        if (c == '~' || c == '/') {
            pointer->at[--pointer->start] = c == '~' ? '0' : '1';
            pointer->at[--pointer->start] = '~';
        } else {
            pointer->at[--pointer->start] = c;
        }
    }
    pointer->at[--pointer->start] = '/';
}

void schema_pointer_prepend_index(struct schema_pointer *pointer,
                                  uint32_t index)
{
    char digits[NUMBER_TEXT_MAX];
    const size_t length = number_write_int(digits, index);
    schema_pointer_prepend(pointer, (struct text){digits, length});
}

void schema_pointer_end(const struct schema_pointer *pointer,
                        struct schema_fault *fault)
{
    const size_t length = sizeof pointer->at - pointer->start;
    const size_t cut = pointer->cut ? sizeof POINTER_CUT - 1 : 0;
    memcpy(fault->pointer, POINTER_CUT, cut);
    memcpy(fault->pointer + cut, pointer->at + pointer->start, length);
}

enum err schema_fault_tell(const struct schema_fault *fault,
                           const char *what,
                           struct err_detail *detail)
{
    if (fault->pointer[0] == '\0') {
        return err_set(detail, fault->err, "%s: %s", what, fault->text);
    }
    return err_set(detail,
                   fault->err,
                   "%s at %s: %s",
                   what,
                   fault->pointer,
                   fault->text);
}

/* -- Looking up ---------------------------------------------------------- */

const struct schema_property *schema_property(const struct schema *schema,
                                              const struct schema_node *node,
                                              struct value key)
{
    uint32_t low = 0;
    uint32_t high = node->property_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct schema_property *property =
            &schema->properties.at[node->property + middle];
        const int order = value_compare_strings(key, property->key);
        if (order == 0) {
            return property;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return NULL;
}

uint32_t schema_below(const struct schema *schema,
                      const struct schema_node *node,
                      struct value key)
{
    const struct schema_property *property = schema_property(schema, node, key);
    return property != NULL ? property->node : node->additional;
}

/* -- One value ----------------------------------------------------------- */

/* schema-2. */
static bool is_integer(struct value value)
{
    if (value_kind(value) == VALUE_INT) {
        return true;
    }
    const double real = value_real(value);
    return isfinite(real) && fpclassify(real - trunc(real)) == FP_ZERO;
}

static uint32_t type_of(struct value value)
{
    switch (value_kind(value)) {
    case VALUE_NULL:
        return SCHEMA_NULL;
    case VALUE_BOOL:
        return SCHEMA_BOOLEAN;
    case VALUE_INT:
    case VALUE_DOUBLE:
        return is_integer(value) ? SCHEMA_INTEGER : SCHEMA_NUMBER;
    case VALUE_STRING:
        return SCHEMA_STRING;
    case VALUE_ARRAY:
        return SCHEMA_ARRAY;
    case VALUE_OBJECT:
        return SCHEMA_OBJECT;
    case VALUE_LINK:
    case VALUE_TAGGED:
        return SCHEMA_TAGGED;
    case VALUE_ABSENT:
        break;
    }
    UNREACHABLE("nothing has no type");
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

/* Exactly, though a double does not hold every integer. Neither is NaN. */
static int compare_numbers(struct value a, struct value b)
{
    const bool a_int = value_kind(a) == VALUE_INT;
    const bool b_int = value_kind(b) == VALUE_INT;
    if (a_int && b_int) {
        const int64_t x = value_integer(a);
        const int64_t y = value_integer(b);
        return (x > y) - (x < y);
    }
    if (!a_int && !b_int) {
        return order(value_real(a), value_real(b));
    }
    if (!a_int) {
        return -compare_numbers(b, a);
    }
    const double real = value_real(b);
    if (real >= 0x1p63 || real < -0x1p63) {
        return real > 0 ? -1 : 1;
    }
    const int64_t x = value_integer(a);
    const int64_t whole = (int64_t)real;
    if (x != whole) {
        return x > whole ? 1 : -1;
    }
    return order((double)whole, real);
}

/* Characters, not bytes. */
static int64_t length_of(struct value string)
{
    const struct text text = value_text(&string);
    int64_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        length += ((unsigned char)text.at[i] & 0xC0U) != 0x80U;
    }
    return length;
}

static bool is_among(struct value array, struct value value)
{
    struct array_iter iter = array_iter(array);
    for (struct value item; array_next(&iter, &item);) {
        if (value_equal(item, value)) {
            return true;
        }
    }
    return false;
}

static bool is_in_range(const struct schema_rule *rule, struct value value)
{
    if (!value_is_number(value)) {
        return true;
    }
    if (isnan(value_real(value))) {
        return false;
    }
    const int compared = compare_numbers(value, rule->operand);
    if (rule->kind == SCHEMA_MINIMUM || rule->kind == SCHEMA_MAXIMUM) {
        return rule->kind == SCHEMA_MINIMUM ? compared >= 0 : compared <= 0;
    }
    return rule->kind == SCHEMA_EXCLUSIVE_MINIMUM ? compared > 0 : compared < 0;
}

static bool fits_rule(const struct schema_rule *rule, struct value value)
{
    switch (rule->kind) {
    case SCHEMA_ENUM:
        return is_among(rule->operand, value);
    case SCHEMA_CONST:
        return value_equal(rule->operand, value);
    case SCHEMA_MINIMUM:
    case SCHEMA_MAXIMUM:
    case SCHEMA_EXCLUSIVE_MINIMUM:
    case SCHEMA_EXCLUSIVE_MAXIMUM:
        return is_in_range(rule, value);
    case SCHEMA_MIN_LENGTH:
        return !value_is_string(value) ||
               length_of(value) >= value_integer(rule->operand);
    case SCHEMA_MAX_LENGTH:
        return !value_is_string(value) ||
               length_of(value) <= value_integer(rule->operand);
    case SCHEMA_MIN_ITEMS:
        return !value_is_array(value) ||
               array_count(value) >= value_integer(rule->operand);
    case SCHEMA_MAX_ITEMS:
        return !value_is_array(value) ||
               array_count(value) <= value_integer(rule->operand);
    }
    UNREACHABLE("all kinds are above");
}

/* -- The walk ------------------------------------------------------------ */

/* A container whose parts are being looked at. */
struct frame {
    const struct schema_node *node;
    struct value value;
    struct value before;
    struct value key; /* of the part that was entered last, if an object */
    uint32_t next;    /* the element, or the slot, after that */
};

struct walk {
    const struct schema *schema;
    struct schema_fault *fault; /* or NULL */
    uint32_t depth;
    struct frame frames[LIMIT_SCHEMA_DEPTH];
};

/* The pointer of what was entered last, with `below` behind it unless it is
 * absent. */
static void write_pointer(const struct walk *walk, struct value below)
{
    struct schema_pointer pointer;
    schema_pointer_begin(&pointer);
    if (!value_is_absent(below)) {
        schema_pointer_prepend(&pointer, value_text(&below));
    }
    for (uint32_t i = walk->depth; i > 0; i--) {
        const struct frame *frame = &walk->frames[i - 1];
        if (value_is_absent(frame->key)) {
            schema_pointer_prepend_index(&pointer, frame->next - 1);
        } else {
            schema_pointer_prepend(&pointer, value_text(&frame->key));
        }
    }
    schema_pointer_end(&pointer, walk->fault);
}

__attribute__((format(printf, 3, 4))) static enum err refuse(
    const struct walk *walk,
    struct value below,
    const char *format,
    ...)
{
    if (walk->fault != NULL) {
        walk->fault->err = ERR_SCHEMA;
        write_pointer(walk, below);
        va_list args;
        va_start(args, format);
        (void)vsnprintf(walk->fault->text,
                        sizeof walk->fault->text,
                        format,
                        args);
        va_end(args);
    }
    return ERR_SCHEMA;
}

static const char *type_name(uint32_t type)
{
    switch (type) {
    case SCHEMA_NULL:
        return "null";
    case SCHEMA_BOOLEAN:
        return "boolean";
    case SCHEMA_INTEGER:
        return "integer";
    case SCHEMA_NUMBER:
        return "number";
    case SCHEMA_STRING:
        return "string";
    case SCHEMA_ARRAY:
        return "array";
    case SCHEMA_OBJECT:
        return "object";
    default:
        return "a tagged leaf";
    }
}

static enum err refuse_type(const struct walk *walk,
                            const struct schema_node *node,
                            struct value value)
{
    char names[64];
    size_t length = 0;
    uint32_t types = node->types;
    if ((types & SCHEMA_NUMBER) != 0) {
        types &= ~(uint32_t)SCHEMA_INTEGER; /* the word for both is number */
    }
    for (uint32_t type = 1; type < SCHEMA_TAGGED; type <<= 1) {
        if ((types & type) != 0) {
            length += (size_t)snprintf(names + length,
                                       sizeof names - length,
                                       "%s%s",
                                       length > 0 ? " or " : "",
                                       type_name(type));
        }
        CHECK(length < sizeof names);
    }
    return refuse(walk,
                  VALUE_NONE,
                  "must be %s, not %s",
                  length > 0 ? names : "nothing",
                  type_name(type_of(value)));
}

static enum err refuse_rule(const struct walk *walk,
                            const struct schema_rule *rule)
{
    static const struct {
        const char *before;
        const char *after;
    } words[] = {
        [SCHEMA_ENUM] = {"is not one of the values of the enum", ""},
        [SCHEMA_CONST] = {"is not the value of the const", ""},
        [SCHEMA_MINIMUM] = {"must be ", " or more"},
        [SCHEMA_MAXIMUM] = {"must be ", " or less"},
        [SCHEMA_EXCLUSIVE_MINIMUM] = {"must be more than ", ""},
        [SCHEMA_EXCLUSIVE_MAXIMUM] = {"must be less than ", ""},
        [SCHEMA_MIN_LENGTH] = {"must have ", " characters or more"},
        [SCHEMA_MAX_LENGTH] = {"must have ", " characters or fewer"},
        [SCHEMA_MIN_ITEMS] = {"must have ", " elements or more"},
        [SCHEMA_MAX_ITEMS] = {"must have ", " elements or fewer"},
    };
    char digits[NUMBER_TEXT_MAX];
    int length = 0;
    if (rule->kind > SCHEMA_CONST) {
        const double real = value_real(rule->operand);
        if (value_kind(rule->operand) == VALUE_INT) {
            length =
                (int)number_write_int(digits, value_integer(rule->operand));
        } else if (isfinite(real)) {
            length = (int)number_write_double(digits, real);
        } else {
            length = snprintf(digits, sizeof digits, "infinity");
        }
    }
    return refuse(walk,
                  VALUE_NONE,
                  "%s%.*s%s",
                  words[rule->kind].before,
                  length,
                  digits,
                  words[rule->kind].after);
}

/* Everything about a value but what is below it. */
static enum err check_here(const struct walk *walk,
                           const struct schema_node *node,
                           struct value value)
{
    if ((type_of(value) & node->types) == 0) {
        return refuse_type(walk, node, value);
    }
    for (uint32_t i = 0; i < node->rule_count; i++) {
        const struct schema_rule *rule =
            &walk->schema->rules.at[node->rule + i];
        if (!fits_rule(rule, value)) {
            return refuse_rule(walk, rule);
        }
    }
    return ERR_OK;
}

static bool has_more(const struct schema_node *node, struct value value)
{
    return value_is_array(value)
               ? node->items != SCHEMA_ANY
               : value_is_object(value) && (node->property_count > 0 ||
                                            node->additional != SCHEMA_ANY);
}

/* Looks at a value; if it has parts to be looked at, it is on the stack. */
static enum err enter(struct walk *walk,
                      uint32_t index,
                      struct value before,
                      struct value value)
{
    if (index == SCHEMA_NOTHING) {
        return refuse(walk, VALUE_NONE, "must be absent");
    }
    if (index == SCHEMA_ANY || value_kind(value) == VALUE_LINK ||
        value_is_same(before, value)) {
        return ERR_OK;
    }
    const struct schema_node *node = &walk->schema->nodes.at[index];
    const enum err err = check_here(walk, node, value);
    if (err != ERR_OK || !has_more(node, value)) {
        return err;
    }
    CHECK(walk->depth < COUNT_OF(walk->frames));
    walk->frames[walk->depth++] = (struct frame){
        .node = node,
        .value = value,
        .before = before,
    };
    return ERR_OK;
}

static enum err check_required(const struct walk *walk,
                               const struct frame *frame)
{
    uint32_t left = frame->node->required;
    for (uint32_t i = frame->node->property; left > 0; i++) {
        const struct schema_property *property =
            &walk->schema->properties.at[i];
        if (!property->required) {
            continue;
        }
        left--;
        if (value_is_absent(object_get(frame->value, property->key))) {
            return refuse(walk, property->key, "is missing");
        }
    }
    return ERR_OK;
}

/* The next element; at the end it leaves the stack. */
static enum err step_array(struct walk *walk, struct frame *frame)
{
    const struct value value = frame->value;
    const struct value before = frame->before;
    if (frame->next >= array_count(value)) {
        walk->depth--;
        return ERR_OK;
    }
    if (!value_is_array(before)) {
        const struct value item = array_at(value, frame->next++);
        return enter(walk, frame->node->items, VALUE_NONE, item);
    }
    const uint32_t shared = array_shared_run(value, before, frame->next);
    if (shared > 0) {
        frame->next += shared;
        return ERR_OK;
    }
    const struct value was = array_at(before, frame->next);
    const struct value item = array_at(value, frame->next++);
    return enter(walk, frame->node->items, was, item);
}

static enum err step_object(struct walk *walk, struct frame *frame)
{
    const struct value value = frame->value;
    const bool compares = value_is_object(frame->before);
    if (frame->next >= object_slots(value)) {
        walk->depth--;
        return check_required(walk, frame);
    }
    const uint32_t shared =
        compares ? object_shared_run(value, frame->before, frame->next) : 0;
    if (shared > 0) {
        frame->next += shared;
        return ERR_OK;
    }
    uint32_t run;
    const struct value *slot = object_chunk(value, frame->next, &run);
    frame->next += 2;
    if (value_is_absent(slot[0])) {
        return ERR_OK;
    }
    frame->key = slot[0];
    return enter(walk,
                 schema_below(walk->schema, frame->node, slot[0]),
                 compares ? object_get(frame->before, slot[0]) : VALUE_NONE,
                 slot[1]);
}

enum err schema_check_node(const struct schema *schema,
                           uint32_t index,
                           struct value before,
                           struct value value,
                           struct schema_fault *fault)
{
    struct walk walk;
    walk.schema = schema;
    walk.fault = fault;
    walk.depth = 0;
    enum err err = enter(&walk, index, before, value);
    while (err == ERR_OK && walk.depth > 0) {
        struct frame *frame = &walk.frames[walk.depth - 1];
        err = value_is_array(frame->value) ? step_array(&walk, frame)
                                           : step_object(&walk, frame);
    }
    return err;
}

enum err schema_check(const struct schema *schema,
                      struct value value,
                      struct schema_fault *fault)
{
    return schema_check_node(schema, schema->root, VALUE_NONE, value, fault);
}

enum err schema_check_change(const struct schema *schema,
                             struct value before,
                             struct value value,
                             struct schema_fault *fault)
{
    return schema_check_node(schema, schema->root, before, value, fault);
}

/* -- Defaults ------------------------------------------------------------ */

/* A container whose parts are being filled. */
struct filling {
    const struct schema_node *node;
    struct value from; /* as it was; a reference */
    struct value to;   /* likewise, with what was filled so far */
    struct value key;  /* as in struct frame */
    uint32_t next;
};

struct fill {
    const struct schema *schema;
    uint32_t depth;
    struct filling at[LIMIT_SCHEMA_DEPTH];
};

static bool begins(struct fill *fill, uint32_t index, struct value value)
{
    if (index >= SCHEMA_NOTHING || !fill->schema->nodes.at[index].fills ||
        !value_is_container(value)) {
        return false;
    }
    CHECK(fill->depth < COUNT_OF(fill->at));
    fill->at[fill->depth++] = (struct filling){
        .node = &fill->schema->nodes.at[index],
        .from = value_ref(value),
        .to = value_ref(value),
    };
    return true;
}

/* The next part that may have to be filled is on the stack; false: there is
 * none. */
static bool next_part(struct fill *fill, struct filling *top)
{
    if (value_is_array(top->from)) {
        while (top->next < array_count(top->from)) {
            const struct value item = array_at(top->from, top->next++);
            if (begins(fill, top->node->items, item)) {
                return true;
            }
        }
        return false;
    }
    while (top->next < object_slots(top->from)) {
        uint32_t run;
        const struct value *slot = object_chunk(top->from, top->next, &run);
        top->next += 2;
        if (value_is_absent(slot[0])) {
            continue;
        }
        top->key = slot[0];
        const uint32_t below = schema_below(fill->schema, top->node, slot[0]);
        if (begins(fill, below, slot[1])) {
            return true;
        }
    }
    return false;
}

/* What is not there at all. */
static void fill_missing(const struct schema *schema, struct filling *top)
{
    if (!value_is_object(top->from)) {
        return;
    }
    for (uint32_t i = 0; i < top->node->property_count; i++) {
        const struct schema_property *property =
            &schema->properties.at[top->node->property + i];
        if (property->node >= SCHEMA_NOTHING || !property->named) {
            continue;
        }
        const struct value fallback = schema->nodes.at[property->node].fallback;
        if (!value_is_absent(fallback) &&
            value_is_absent(object_get(top->from, property->key)) &&
            value_is_object(top->to)) {
            top->to = object_set_adopt(top->to,
                                       value_ref(property->key),
                                       value_ref(fallback));
        }
    }
}

/* A part that was filled, into its container. */
static void put_part(struct filling *around, struct value part)
{
    if (value_is_array(around->to)) {
        around->to = array_set_adopt(around->to, around->next - 1, part);
    } else if (value_is_object(around->to)) {
        around->to = object_set_adopt(around->to, value_ref(around->key), part);
    } else { /* it has become a leaf (value-4) */
        value_unref(part);
    }
}

struct value schema_fill_adopt(const struct schema *schema, struct value value)
{
    struct fill fill;
    fill.schema = schema;
    fill.depth = 0;
    if (value_is_absent(value) && schema->root < SCHEMA_NOTHING) {
        return value_ref(schema->nodes.at[schema->root].fallback);
    }
    if (!begins(&fill, schema->root, value)) {
        return value;
    }
    value_unref(value);
    for (;;) {
        struct filling *top = &fill.at[fill.depth - 1];
        if (next_part(&fill, top)) {
            continue;
        }
        fill_missing(schema, top);
        const struct value done = top->to;
        const bool same = value_is_same(done, top->from);
        value_unref(top->from);
        if (--fill.depth == 0) {
            return done;
        }
        if (same) {
            value_unref(done);
        } else {
            put_part(&fill.at[fill.depth - 1], done);
        }
    }
}
