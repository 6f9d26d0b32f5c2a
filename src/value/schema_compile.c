/* From the value of a schema to its compiled form.
 *
 * Breadth first: a part that is itself a schema gets its number when it is
 * first seen, and is read later in order. So there is no recursion, and the
 * chain of parents gives the position of a fault. */

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/text.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/schema_internal.h"

/* A schema that has a number: that of its place in the list. */
struct part {
    struct value source; /* borrowed from the whole */
    uint32_t parent;     /* its own number: it is the root */
    uint32_t depth;
    const char *keyword; /* of the parent, under which it stands, */
    struct value key;    /* and the key there; or absent */
};

struct compiler {
    struct schema *schema;
    struct schema_fault *fault; /* or NULL */
    VEC(struct part) parts;
    uint32_t current; /* the part that is being read */
};

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

/* -- Faults -------------------------------------------------------------- */

static void prepend_way(const struct compiler *compiler,
                        struct schema_pointer *pointer,
                        uint32_t number)
{
    if (compiler->parts.count == 0) { /* not even the root is one */
        return;
    }
    const struct part *part = &compiler->parts.at[number];
    while (part->keyword != NULL) {
        if (!value_is_absent(part->key)) {
            schema_pointer_prepend(pointer, value_text(&part->key));
        }
        schema_pointer_prepend(pointer, text_of(part->keyword));
        part = &compiler->parts.at[part->parent];
    }
}

/* At a keyword of the current part, or at the part itself; with a key below
 * the keyword, or none. */
__attribute__((format(printf, 5, 6))) static enum err refuse(
    const struct compiler *compiler,
    enum err err,
    struct value keyword,
    struct value key,
    const char *format,
    ...)
{
    struct schema_fault *fault = compiler->fault;
    if (fault == NULL) {
        return err;
    }
    struct schema_pointer pointer;
    schema_pointer_begin(&pointer);
    if (!value_is_absent(key)) {
        schema_pointer_prepend(&pointer, value_text(&key));
    }
    if (!value_is_absent(keyword)) {
        schema_pointer_prepend(&pointer, value_text(&keyword));
    }
    prepend_way(compiler, &pointer, compiler->current);
    schema_pointer_end(&pointer, fault);
    fault->err = err;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return err;
}

#define MALFORMED(compiler, keyword, ...) \
    refuse((compiler), ERR_SCHEMA_MALFORMED, (keyword), VALUE_NONE, __VA_ARGS__)

/* -- Parts --------------------------------------------------------------- */

/* What stands under a keyword as a schema, as the number of a node. */
static enum err add_part(struct compiler *compiler,
                         struct value keyword,
                         const char *name,
                         struct value key,
                         struct value source,
                         uint32_t *out)
{
    if (value_kind(source) == VALUE_BOOL) {
        *out = value_boolean(source) ? SCHEMA_ANY : SCHEMA_NOTHING;
        return ERR_OK;
    }
    if (!value_is_object(source)) {
        return refuse(compiler,
                      ERR_SCHEMA_MALFORMED,
                      keyword,
                      key,
                      "a schema must be an object or a boolean, not %s",
                      value_kind_name(value_kind(source)));
    }
    const uint32_t depth =
        name == NULL ? 1 : compiler->parts.at[compiler->current].depth + 1;
    if (depth > LIMIT_SCHEMA_DEPTH ||
        compiler->parts.count >= LIMIT_SCHEMA_NODES) {
        return refuse(compiler,
                      ERR_LIMIT_SCHEMA,
                      keyword,
                      key,
                      "a schema can be at most %d levels deep and have at most "
                      "%d parts",
                      LIMIT_SCHEMA_DEPTH,
                      LIMIT_SCHEMA_NODES);
    }
    *out = (uint32_t)compiler->parts.count;
    struct part *part = vec_add(&compiler->parts);
    *part = (struct part){source, compiler->current, depth, name, key};
    struct schema_node *node = vec_add(&compiler->schema->nodes);
    *node = (struct schema_node){
        .types = SCHEMA_TYPES,
        .additional = SCHEMA_ANY,
        .items = SCHEMA_ANY,
    };
    return ERR_OK;
}

static struct schema_node *node_of(const struct compiler *compiler)
{
    return &compiler->schema->nodes.at[compiler->current];
}

/* -- Keywords ------------------------------------------------------------ */

struct keyword;
typedef enum err read_fn(struct compiler *compiler,
                         const struct keyword *keyword,
                         struct value name,
                         struct value operand);

struct keyword {
    const char *name;
    read_fn *read;
    enum schema_rule_kind rule; /* of those that are one */
};

static enum err read_type_name(struct compiler *compiler,
                               struct value name,
                               struct value word)
{
    static const struct {
        const char *word;
        uint32_t types;
    } known[] = {
        {"null", SCHEMA_NULL},
        {"boolean", SCHEMA_BOOLEAN},
        {"integer", SCHEMA_INTEGER},
        {"number", SCHEMA_INTEGER | SCHEMA_NUMBER},
        {"string", SCHEMA_STRING},
        {"array", SCHEMA_ARRAY},
        {"object", SCHEMA_OBJECT},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (value_is_text(word, known[i].word)) {
            node_of(compiler)->types |= known[i].types;
            return ERR_OK;
        }
    }
    return MALFORMED(compiler, name, "unknown type name");
}

static enum err read_type(struct compiler *compiler,
                          const struct keyword *keyword,
                          struct value name,
                          struct value operand)
{
    (void)keyword;
    node_of(compiler)->types = 0;
    if (!value_is_array(operand)) {
        return read_type_name(compiler, name, operand);
    }
    if (array_count(operand) == 0) {
        return MALFORMED(compiler, name, "at least one type must be named");
    }
    struct array_iter iter = array_iter(operand);
    enum err err = ERR_OK;
    for (struct value word; err == ERR_OK && array_next(&iter, &word);) {
        err = read_type_name(compiler, name, word);
    }
    return err;
}

static void add_rule(struct compiler *compiler,
                     enum schema_rule_kind kind,
                     struct value operand)
{
    struct schema_rule *rule = vec_add(&compiler->schema->rules);
    *rule = (struct schema_rule){kind, value_ref(operand)};
    node_of(compiler)->rule_count++;
}

static enum err read_enum(struct compiler *compiler,
                          const struct keyword *keyword,
                          struct value name,
                          struct value operand)
{
    if (!value_is_array(operand) || array_count(operand) == 0) {
        return MALFORMED(compiler, name, "expected a list of values");
    }
    add_rule(compiler, keyword->rule, operand);
    return ERR_OK;
}

static enum err read_const(struct compiler *compiler,
                           const struct keyword *keyword,
                           struct value name,
                           struct value operand)
{
    (void)name;
    add_rule(compiler, keyword->rule, operand);
    return ERR_OK;
}

static enum err read_bound(struct compiler *compiler,
                           const struct keyword *keyword,
                           struct value name,
                           struct value operand)
{
    if (!value_is_number(operand) || isnan(value_real(operand))) {
        return MALFORMED(compiler, name, "expected a number");
    }
    add_rule(compiler, keyword->rule, operand);
    return ERR_OK;
}

static enum err read_count(struct compiler *compiler,
                           const struct keyword *keyword,
                           struct value name,
                           struct value operand)
{
    if (value_kind(operand) != VALUE_INT || value_integer(operand) < 0) {
        return MALFORMED(compiler, name, "expected an integer from 0 on");
    }
    add_rule(compiler, keyword->rule, operand);
    return ERR_OK;
}

static enum err read_items(struct compiler *compiler,
                           const struct keyword *keyword,
                           struct value name,
                           struct value operand)
{
    uint32_t items = 0;
    const enum err err =
        add_part(compiler, name, keyword->name, VALUE_NONE, operand, &items);
    if (err == ERR_OK) {
        node_of(compiler)->items = items;
    }
    return err;
}

static enum err read_additional(struct compiler *compiler,
                                const struct keyword *keyword,
                                struct value name,
                                struct value operand)
{
    uint32_t additional = 0;
    const enum err err = add_part(compiler,
                                  name,
                                  keyword->name,
                                  VALUE_NONE,
                                  operand,
                                  &additional);
    if (err == ERR_OK) {
        node_of(compiler)->additional = additional;
    }
    return err;
}

static enum err add_property(struct compiler *compiler,
                             struct value key,
                             uint32_t node)
{
    if (compiler->schema->properties.count >= LIMIT_SCHEMA_NODES) {
        return refuse(compiler,
                      ERR_LIMIT_SCHEMA,
                      VALUE_NONE,
                      VALUE_NONE,
                      "a schema can name at most %d properties",
                      LIMIT_SCHEMA_NODES);
    }
    struct schema_property *property = vec_add(&compiler->schema->properties);
    *property = (struct schema_property){value_ref(key), node, true, false};
    node_of(compiler)->property_count++;
    return ERR_OK;
}

static enum err read_properties(struct compiler *compiler,
                                const struct keyword *keyword,
                                struct value name,
                                struct value operand)
{
    if (!value_is_object(operand)) {
        return MALFORMED(compiler, name, "expected an object of schemas");
    }
    struct object_iter iter = object_iter(operand);
    struct value key;
    struct value source;
    while (object_next(&iter, &key, &source)) {
        uint32_t node = 0;
        enum err err =
            add_part(compiler, name, keyword->name, key, source, &node);
        if (err == ERR_OK) {
            err = add_property(compiler, key, node);
        }
        if (err != ERR_OK) {
            return err;
        }
    }
    return ERR_OK;
}

/* Used after everything else: see read_required_keys. */
static enum err read_required(struct compiler *compiler,
                              const struct keyword *keyword,
                              struct value name,
                              struct value operand)
{
    (void)keyword;
    bool strings = value_is_array(operand);
    struct array_iter iter = array_iter(strings ? operand : VALUE_NONE);
    for (struct value key; strings && array_next(&iter, &key);) {
        strings = value_is_string(key);
    }
    return strings ? ERR_OK
                   : MALFORMED(compiler, name, "expected a list of keys");
}

static enum err read_default(struct compiler *compiler,
                             const struct keyword *keyword,
                             struct value name,
                             struct value operand)
{
    (void)keyword;
    (void)name;
    node_of(compiler)->fallback = value_ref(operand);
    return ERR_OK;
}

static enum err skip(struct compiler *compiler,
                     const struct keyword *keyword,
                     struct value name,
                     struct value operand)
{
    (void)compiler;
    (void)keyword;
    (void)name;
    (void)operand;
    return ERR_OK;
}

static const struct keyword KEYWORDS[] = {
    {"type", read_type, 0},
    {"properties", read_properties, 0},
    {"required", read_required, 0},
    {"additionalProperties", read_additional, 0},
    {"items", read_items, 0},
    {"enum", read_enum, SCHEMA_ENUM},
    {"const", read_const, SCHEMA_CONST},
    {"minimum", read_bound, SCHEMA_MINIMUM},
    {"maximum", read_bound, SCHEMA_MAXIMUM},
    {"exclusiveMinimum", read_bound, SCHEMA_EXCLUSIVE_MINIMUM},
    {"exclusiveMaximum", read_bound, SCHEMA_EXCLUSIVE_MAXIMUM},
    {"minLength", read_count, SCHEMA_MIN_LENGTH},
    {"maxLength", read_count, SCHEMA_MAX_LENGTH},
    {"minItems", read_count, SCHEMA_MIN_ITEMS},
    {"maxItems", read_count, SCHEMA_MAX_ITEMS},
    {"default", read_default, 0},
    {"title", skip, 0},
    {"description", skip, 0},
    {"$comment", skip, 0},
    {"examples", skip, 0},
};

static enum err read_keyword(struct compiler *compiler,
                             struct value name,
                             struct value operand)
{
    for (size_t i = 0; i < COUNT_OF(KEYWORDS); i++) {
        if (value_is_text(name, KEYWORDS[i].name)) {
            return KEYWORDS[i].read(compiler, &KEYWORDS[i], name, operand);
        }
    }
    const struct text text = value_text(&name);
    struct nearest nearest;
    nearest_begin(&nearest, text.at, text.length);
    for (size_t i = 0; i < COUNT_OF(KEYWORDS); i++) {
        nearest_offer_text(&nearest, KEYWORDS[i].name);
    }
    return MALFORMED(compiler,
                     name,
                     "unknown keyword '%.*s'%s",
                     text_shown(text.at, text.length, 80),
                     text.at,
                     nearest_hint(&nearest));
}

/* -- Properties, in order ------------------------------------------------ */

static void sort_properties(const struct schema *schema,
                            const struct schema_node *node)
{
    const uint32_t count = node->property_count;
    if (count == 0) {
        return;
    }
    struct schema_property *at = &schema->properties.at[node->property];
    /* Shell's sort: no recursion, no memory, and they are few. */
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            const struct schema_property moved = at[i];
            uint32_t to = i;
            while (to >= gap &&
                   value_compare_strings(at[to - gap].key, moved.key) > 0) {
                at[to] = at[to - gap];
                to -= gap;
            }
            at[to] = moved;
        }
    }
}

/* Of several with the same key, one. */
static void drop_repeated(struct schema *schema, struct schema_node *node)
{
    if (node->property_count == 0) {
        return;
    }
    struct schema_property *at = &schema->properties.at[node->property];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->property_count; i++) {
        if (kept > 0 && key_equal(at[kept - 1].key, at[i].key)) {
            value_unref(at[i].key);
        } else {
            at[kept++] = at[i];
        }
    }
    node->property_count = kept;
    schema->properties.count = node->property + kept;
}

/* Marks what is required; what was not named otherwise has to fit what is
 * additional. */
static enum err read_required_keys(struct compiler *compiler, struct value keys)
{
    struct schema *schema = compiler->schema;
    struct schema_node *node = node_of(compiler);
    struct array_iter iter = array_iter(keys);
    const struct schema_node named = *node;
    for (struct value key; array_next(&iter, &key);) {
        const struct schema_property *found =
            schema_property(schema, &named, key);
        if (found != NULL) {
            schema->properties.at[found - schema->properties.at].required =
                true;
            continue;
        }
        const enum err err = add_property(compiler, key, node->additional);
        if (err != ERR_OK) {
            return err;
        }
        vec_last(&schema->properties)->named = false;
        vec_last(&schema->properties)->required = true;
    }
    sort_properties(schema, node);
    drop_repeated(schema, node);
    for (uint32_t i = 0; i < node->property_count; i++) {
        node->required += schema->properties.at[node->property + i].required;
    }
    return ERR_OK;
}

static enum err read_part(struct compiler *compiler)
{
    struct schema *schema = compiler->schema;
    const struct value source = compiler->parts.at[compiler->current].source;
    node_of(compiler)->rule = (uint32_t)schema->rules.count;
    node_of(compiler)->property = (uint32_t)schema->properties.count;
    struct object_iter iter = object_iter(source);
    struct value name;
    struct value operand;
    while (object_next(&iter, &name, &operand)) {
        const enum err err = read_keyword(compiler, name, operand);
        if (err != ERR_OK) {
            return err;
        }
    }
    const struct schema_node *node = node_of(compiler);
    sort_properties(schema, node);
    const struct value required = object_field(source, "required");
    return value_is_absent(required) ? ERR_OK
                                     : read_required_keys(compiler, required);
}

/* -- Defaults ------------------------------------------------------------ */

static bool fills(const struct schema *schema, uint32_t below)
{
    return below < SCHEMA_NOTHING && schema->nodes.at[below].fills;
}

/* Children are behind their parents, so from the end on everything below is
 * known. */
static void find_fills(const struct schema *schema)
{
    for (size_t i = schema->nodes.count; i > 0; i--) {
        struct schema_node *node = &schema->nodes.at[i - 1];
        node->fills =
            fills(schema, node->items) || fills(schema, node->additional);
        for (uint32_t p = 0; p < node->property_count && !node->fills; p++) {
            const struct schema_property *property =
                &schema->properties.at[node->property + p];
            const uint32_t below = property->node;
            node->fills = fills(schema, below) ||
                          (below < SCHEMA_NOTHING && property->named &&
                           !value_is_absent(schema->nodes.at[below].fallback));
        }
    }
}

/* A default is filled itself, once and for all, and then has to fit. */
static enum err finish_default(struct compiler *compiler)
{
    struct schema *schema = compiler->schema;
    struct schema_node *node = node_of(compiler);
    if (value_is_absent(node->fallback)) {
        return ERR_OK;
    }
    const struct schema below = {
        .root = compiler->current,
        .nodes = {schema->nodes.at, schema->nodes.count, 0},
        .properties = {schema->properties.at, schema->properties.count, 0},
        .rules = {schema->rules.at, schema->rules.count, 0},
    };
    node->fallback = schema_fill_adopt(&below, node->fallback);
    struct schema_fault fault;
    if (schema_check(&below, node->fallback, &fault) == ERR_OK) {
        return ERR_OK;
    }
    const struct value name = value_text_new("default");
    return MALFORMED(compiler,
                     name,
                     "does not match: %s%s%.120s",
                     fault.pointer,
                     fault.pointer[0] != '\0' ? " " : "",
                     fault.text);
}

static enum err compile(struct compiler *compiler)
{
    struct schema *schema = compiler->schema;
    enum err err = add_part(compiler,
                            VALUE_NONE,
                            NULL,
                            VALUE_NONE,
                            schema->source,
                            &schema->root);
    for (size_t i = 0; err == ERR_OK && i < compiler->parts.count; i++) {
        compiler->current = (uint32_t)i;
        err = read_part(compiler);
    }
    if (err != ERR_OK) {
        return err;
    }
    find_fills(schema);
    for (size_t i = compiler->parts.count; err == ERR_OK && i > 0; i--) {
        compiler->current = (uint32_t)(i - 1);
        err = finish_default(compiler);
    }
    return err;
}

enum err schema_new(struct value source,
                    struct schema **out,
                    struct schema_fault *fault)
{
    struct schema *schema = mem_alloc_zero(sizeof *schema);
    schema->refs = 1;
    schema->source = value_ref(source);
    struct compiler compiler = {.schema = schema, .fault = fault};
    *out = NULL;
    const enum err err = compile(&compiler);
    vec_release(&compiler.parts);
    if (err != ERR_OK) {
        schema_unref(schema);
        return err;
    }
    schema->digest = value_digest(source);
    *out = schema;
    return ERR_OK;
}
