/* Links that move from one document to another.
 *
 * A field that a link does not have means "as in the document that holds it"
 * (value/link.h). Who copies a value into another document makes such links
 * say what they mean, or they would mean something else there. */

#ifndef RUNTIME_RELINK_H
#define RUNTIME_RELINK_H

#include "replica/entity.h"
#include "value/value.h"

/* `value`, which is or was in a document of `from`, as it has to be written in
 * a document of `to`; adopts it, and gives it back as it is if there is nothing
 * to say. */
struct value relink_adopt(struct value value,
                          const struct entity *from,
                          const struct entity *to);

/* The link as it has to be, new; absent if it is right as it is. */
typedef struct value relink_fn(void *ctx, struct value link);

/* `value` with each link in it as `one` says; adopts it. */
struct value relink_each_adopt(struct value value, relink_fn *one, void *ctx);

#endif
