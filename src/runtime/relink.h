/* Links that move from one document to another.
 *
 * A field that a link lacks means "as in the document that holds it"
 * (value/doc_link.h). When a value is copied into another document, such fields
 * are filled in, so that the link keeps its target. */

#ifndef RUNTIME_RELINK_H
#define RUNTIME_RELINK_H

#include "replica/entity.h"
#include "value/value.h"

/* `value`, from a document of `from`, as it has to be written in a document of
 * `to`; adopts it, and returns it unchanged if no link has to change. */
struct value relink_adopt(struct value value,
                          const struct entity *from,
                          const struct entity *to);

/* The link as it has to be written, new; absent if it needs no change. */
typedef struct value relink_fn(void *ctx, struct value link);

/* `value` with each link replaced as `one` says; adopts it. */
struct value relink_each_adopt(struct value value, relink_fn *one, void *ctx);

#endif
