/* A naive model of values and patches: a mutable tree, searched linearly,
 * copied deeply, with recursion. Slow and obviously right; what src/value does
 * must look the same.
 *
 * Patches follow the table of patch.h word by word. Limits are not modelled. */

#ifndef TEST_LIB_MODEL_H
#define TEST_LIB_MODEL_H

#include "base/err.h"
#include "value/patch.h"
#include "value/value.h"

struct model {
    enum value_kind kind;
    struct value leaf; /* null, boolean, number or string */
    size_t count;
    struct value *keys;   /* of an object, in order; NULL otherwise */
    struct model **items; /* of an array or an object; the state of a leaf that
                             has an envelope, whose type is keys[0] */
};

struct model *model_of(struct value value);
struct value model_value(const struct model *model); /* yours to release */
struct model *model_copy(const struct model *model);
void model_free(struct model *model); /* NULL is harmless */

/* NULL is absent. */
bool model_equal(const struct model *a, const struct model *b);
bool model_is_container(const struct model *model);

/* What is at one segment below, or NULL. */
struct model *model_child(const struct model *model,
                          const struct path_segment *segment);

/* Applies one operation to *root; on an error *root is somewhere between. */
enum err model_apply(struct model **root, const struct patch_op *op);

#endif
