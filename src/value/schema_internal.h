/* A compiled schema: for the files of schema.h.
 *
 * One block: nodes in breadth-first order, so that the children of a node are
 * behind it; the properties of a node side by side, sorted by key; its rules
 * likewise. */

#ifndef VALUE_SCHEMA_INTERNAL_H
#define VALUE_SCHEMA_INTERNAL_H

#include "base/limits.h"
#include "base/vec.h"
#include "value/schema.h"

/* Instead of the number of a node. */
#define SCHEMA_ANY     UINT32_MAX
#define SCHEMA_NOTHING (UINT32_MAX - 1)

/* Types, as bits. */
enum schema_type {
    SCHEMA_NULL = 1 << 0,
    SCHEMA_BOOLEAN = 1 << 1,
    SCHEMA_INTEGER = 1 << 2,
    SCHEMA_NUMBER = 1 << 3, /* that is not an integer */
    SCHEMA_STRING = 1 << 4,
    SCHEMA_ARRAY = 1 << 5,
    SCHEMA_OBJECT = 1 << 6,
    SCHEMA_TAGGED = 1 << 7, /* no word for it (schema-1) */
    SCHEMA_TYPES = (1 << 8) - 1,
};

/* Comparisons with one operand. Those of one row have the same kind of operand.
 */
enum schema_rule_kind {
    SCHEMA_ENUM,  /* an array */
    SCHEMA_CONST, /* anything */
    SCHEMA_MINIMUM,
    SCHEMA_MAXIMUM,
    SCHEMA_EXCLUSIVE_MINIMUM,
    SCHEMA_EXCLUSIVE_MAXIMUM, /* a number that is not NaN */
    SCHEMA_MIN_LENGTH,
    SCHEMA_MAX_LENGTH,
    SCHEMA_MIN_ITEMS,
    SCHEMA_MAX_ITEMS, /* an integer from 0 on */
};

struct schema_rule {
    enum schema_rule_kind kind;
    struct value operand; /* a reference */
};

struct schema_property {
    struct value key; /* a reference */
    uint32_t node;
    bool named; /* among the properties, not only required */
    bool required;
};

struct schema_node {
    uint32_t types;      /* of enum schema_type */
    uint32_t rule;       /* the first one */
    uint32_t rule_count; /* and how many */
    uint32_t property;   /* likewise */
    uint32_t property_count;
    uint32_t required; /* of those */
    uint32_t additional;
    uint32_t items;
    bool fills;            /* something below has a default */
    struct value fallback; /* the default, or absent; a reference */
};

struct schema {
    uint32_t refs;
    uint32_t root;
    struct value source; /* a reference */
    struct digest digest;
    VEC(struct schema_node) nodes;
    VEC(struct schema_property) properties;
    VEC(struct schema_rule) rules;
};

/* The property of a node for that key, or NULL. */
const struct schema_property *schema_property(const struct schema *schema,
                                              const struct schema_node *node,
                                              struct value key);

/* The schema of a child of an object or an array, under that key or at any
 * index. */
uint32_t schema_below(const struct schema *schema,
                      const struct schema_node *node,
                      struct value key);

/* Checks a value against one node of the schema. */
MUST_CHECK enum err schema_check_node(const struct schema *schema,
                                      uint32_t index,
                                      struct value before,
                                      struct value value,
                                      struct schema_fault *fault);

/* -- Pointers, written from their end ------------------------------------ */

struct schema_pointer {
    char at[SCHEMA_POINTER_SIZE];
    size_t start;
    bool cut;
};

void schema_pointer_begin(struct schema_pointer *pointer);
void schema_pointer_prepend(struct schema_pointer *pointer, struct text key);
void schema_pointer_prepend_index(struct schema_pointer *pointer,
                                  uint32_t index);
void schema_pointer_end(const struct schema_pointer *pointer,
                        struct schema_fault *fault);

#endif
