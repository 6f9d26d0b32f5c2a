/* Schemas: what a value may look like.
 *
 * A schema is a value itself, in a subset of JSON Schema. It is compiled once,
 * and a compiled schema never changes; it is counted and can be shared.
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
 *                           has to fit the schema beside it
 *   title, description, $comment, examples     for people; not looked at
 *
 * Any other keyword is refused: a rule that nobody enforces is worse than
 * none. As in JSON Schema, a rule for one type says nothing about a value of
 * another: {"minLength":1} takes the number 5.
 *
 *   K1  A link fits every schema but false: what it points at is the matter of
 *       the document that holds it. A leaf that is tagged otherwise has no
 *       type of the list, so it fits only where `type` is not given.
 *   K2  1.0 is an integer, as are large doubles without a fraction. NaN and
 *       the infinities are numbers; NaN is in no range.
 *   K3  Whether a value fits is decided part by part: each part by its own
 *       schema, and nothing about one part depends on another one.
 *   K4  Checking allocates nothing and does not recurse. It goes as deep as
 *       the schema does, at most LIMIT_SCHEMA_DEPTH. */

#ifndef VALUE_SCHEMA_H
#define VALUE_SCHEMA_H

#include "base/err.h"
#include "value/id.h"
#include "value/value.h"

struct schema;

enum {
    SCHEMA_POINTER_SIZE = 256
};

/* What does not fit, and where. */
struct schema_fault {
    enum err err;
    /* The JSON Pointer of the part, from the root of what was given. One that
     * is too long has lost its beginning, and starts with "..." instead. */
    char pointer[SCHEMA_POINTER_SIZE];
    char text[ERR_TEXT_SIZE]; /* a sentence about that part */
};

/* -- Life ---------------------------------------------------------------- */

/* Compiles a schema. On an error *out is NULL and the fault, which may be NULL,
 * points into the schema. SCHEMA_MALFORMED; LIMIT_SCHEMA: deeper than
 * LIMIT_SCHEMA_DEPTH, or of more than LIMIT_SCHEMA_NODES parts. */
MUST_CHECK enum err schema_new(struct value source,
                               struct schema **out,
                               struct schema_fault *fault);

struct schema *schema_ref(struct schema *schema);
void schema_unref(struct schema *schema); /* NULL is harmless */

/* The value that it was made of, borrowed; and the digest of that, which tells
 * a restart whether a schema is the one of before (struct node_identity). */
struct value schema_source(const struct schema *schema);
struct digest schema_digest(const struct schema *schema);

/* -- Checking ------------------------------------------------------------ */

/* OK, or SCHEMA and the first part that does not fit, in the order of keys and
 * elements; what a container lacks comes after what it has. `value` is not
 * absent. `fault` may be NULL. */
MUST_CHECK enum err schema_check(const struct schema *schema,
                                 struct value value,
                                 struct schema_fault *fault);

/* The same for a value that came to be by a change of `before`: what the two
 * share is not looked at again (K3). So the cost is that of the change, and a
 * part that was wrong before and was not touched does not count. `before` may
 * be absent. */
MUST_CHECK enum err schema_check_change(const struct schema *schema,
                                        struct value before,
                                        struct value value,
                                        struct schema_fault *fault);

/* -- Defaults ------------------------------------------------------------ */

/* The value with the default of every property that is not there and has one,
 * at any depth; what is not changed is shared, and if nothing is, it is the
 * same handle. An absent value becomes the default of the whole, or stays
 * absent. A container that is not there is not made to hold a default. It need
 * not fit the schema, before or after. */
struct value schema_fill_adopt(const struct schema *schema, struct value value);

/* -- For sentences ------------------------------------------------------- */

/* A fault as the detail of an error: `what`, the pointer and the sentence, "the
 * payload at /a/0: ...". Returns its code. */
enum err schema_fault_tell(const struct schema_fault *fault,
                           const char *what,
                           struct err_detail *detail);

#endif
