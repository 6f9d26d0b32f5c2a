/* Schemas: descriptions of valid values.
 *
 * A schema is itself a value, in a subset of JSON Schema. It is compiled once.
 * A compiled schema never changes; it is reference counted and can be shared.
 *
 *   struct schema *schema;
 *   err = schema_new(value, &schema, &fault);
 *   err = schema_check(schema, value, &fault);
 *   filled = schema_fill_adopt(schema, value);
 *   schema_unref(schema);
 *
 * A schema is true (anything), false (nothing), or an object of:
 *
 *   type                    "null", "boolean", "integer", "number", "string",
 *                           "array", "object", or a list of them
 *   enum, const             one of these values; this one
 *   minimum, maximum, exclusiveMinimum, exclusiveMaximum      of a number
 *   minLength, maxLength    of a string, in characters
 *   minItems, maxItems      of an array
 *   items                   a schema for all elements of an array
 *   properties              an object of schemas, by key
 *   required                a list of keys that must be there
 *   additionalProperties    a schema for all other keys
 *   default                 what schema_fill_adopt puts where nothing is; it
 *                           must be valid under the schema beside it
 *   title, description, $comment, examples     for people; ignored
 *
 * Any other keyword is refused: a rule that is not enforced is worse than none.
 * As in JSON Schema, a rule for one type says nothing about a value of another:
 * {"minLength":1} accepts the number 5.
 *
 *   schema-1  A link is valid under every schema but false: its target is
 *             validated in its own document. Any other tagged leaf has none of
 *             the types, so it is valid only where `type` is not given.
 *   schema-2  1.0 is an integer, as are large doubles without a fraction. NaN
 *             and the infinities are numbers; NaN is in no range.
 *   schema-3  Validity is decided part by part: each part by its own schema,
 *             independently of all others.
 *   schema-4  Checking allocates nothing and does not recurse. It goes as deep
 *             as the schema does, at most LIMIT_SCHEMA_DEPTH. */

#ifndef VALUE_SCHEMA_H
#define VALUE_SCHEMA_H

#include "base/err.h"
#include "value/id.h"
#include "value/value.h"

struct schema;

enum {
    SCHEMA_POINTER_SIZE = 256
};

/* What is invalid, and where. */
struct schema_fault {
    enum err err;
    /* The JSON Pointer of the part, from the root of the given value. If it is
     * too long, its beginning is replaced by "...". */
    char pointer[SCHEMA_POINTER_SIZE];
    char text[ERR_TEXT_SIZE]; /* a sentence about that part */
};

/* -- Life ---------------------------------------------------------------- */

/* Compiles a schema. On an error *out is NULL, and `fault`, which may be NULL,
 * points into the schema. SCHEMA_MALFORMED; LIMIT_SCHEMA: deeper than
 * LIMIT_SCHEMA_DEPTH, or more than LIMIT_SCHEMA_NODES parts. */
MUST_CHECK enum err schema_new(struct value source,
                               struct schema **out,
                               struct schema_fault *fault);

struct schema *schema_ref(struct schema *schema);
void schema_unref(struct schema *schema); /* NULL is harmless */

/* Its source value, borrowed; and the digest of that, which tells after a
 * restart whether a schema has changed (struct node_identity). */
struct value schema_source(const struct schema *schema);
struct digest schema_digest(const struct schema *schema);

/* -- Checking ------------------------------------------------------------ */

/* OK, or SCHEMA and the first invalid part, in the order of keys and elements;
 * missing keys of a container come after present ones. `value` is not absent.
 * `fault` may be NULL. */
MUST_CHECK enum err schema_check(const struct schema *schema,
                                 struct value value,
                                 struct schema_fault *fault);

/* The same for a value that results from a change of `before`: shared parts are
 * not checked again (schema-3). So the cost is that of the change, and a part
 * that was invalid before and was not touched does not count. `before` may be
 * absent. */
MUST_CHECK enum err schema_check_change(const struct schema *schema,
                                        struct value before,
                                        struct value value,
                                        struct schema_fault *fault);

/* -- Defaults ------------------------------------------------------------ */

/* Adds the default of every missing property that has one, at any depth.
 * Unchanged parts are shared; if nothing changes, it returns the same handle.
 * An absent value becomes the default of the whole, or stays absent. A missing
 * container is not created to hold a default. The value need not be valid,
 * before or after. */
struct value schema_fill_adopt(const struct schema *schema, struct value value);

/* -- Messages ------------------------------------------------------------ */

/* Turns a fault into an error detail: `what`, the pointer and the sentence,
 * "the payload at /a/0: ...". Returns its code. */
enum err schema_fault_tell(const struct schema_fault *fault,
                           const char *what,
                           struct err_detail *detail);

#endif
