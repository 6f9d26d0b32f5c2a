/* Schemas that patterns declare for states, arguments and streams.
 *
 * They are stored with the piece, at "schemas" of what its document says of it
 * (runtime/piece.h), by the names of the parts:
 *
 *   {"piece": {"cells": {"items": "state", "add": "handler"},
 *              "schemas": {"items": {"type": "array"}, ...}}}
 *
 *   piece-schema-1  The document of the piece is the authority: every runtime
 *                   judges by what is stored there, in its own view, whether
 *                   or not the piece is started in it, and whether or not it
 *                   knows the pattern.
 *   piece-schema-2  The first write to a document of a piece, and the first
 *                   send to one of its streams, awaits the document of the
 *                   piece. From then on the runtime follows that document: a
 *                   schema that changes holds from the next step on.
 *   piece-schema-3  A write is judged as runtime/schemas.h says, with defaults;
 *                   a payload as events_set_schema says, and before that where
 *                   a handler sends it or where it is queued.
 *   piece-schema-4  A schema that is new, or another one than before, changes
 *                   no data. What does not fit it is told by the start that
 *                   stores the schema (runtime->notice), once.
 *
 * An entity that was looked at once (struct entity, `followed`) costs a write
 * the test of one bit. */

#ifndef RUNTIME_PIECE_SCHEMAS_H
#define RUNTIME_PIECE_SCHEMAS_H

#include "runtime/building.h"
#include "runtime/cell.h"

/* -- Declaring ----------------------------------------------------------- */

/* Keeps the schema of a part that will be declared, by its whole name. */
MUST_CHECK enum err piece_schemas_declare(struct builder *builder,
                                          struct value name,
                                          struct value source,
                                          struct err_detail *detail);

/* That of a part, borrowed; NULL: it has none. */
struct schema *piece_schemas_of(struct builder *builder,
                                const struct part *part);

/* What the document of the piece is to say of them, an object, new. */
struct value piece_schemas_stored(const struct builder *builder);

/* After everything was declared. ARGUMENT: a schema is of a name that was not,
 * or of something that takes none. */
MUST_CHECK enum err piece_schemas_check(const struct builder *builder,
                                        struct err_detail *detail);

void piece_schemas_release(struct builder *builder);

/* A first value, with defaults; `what` it is, for a sentence: "the initial
 * value of". Adopts *value, and gives it back, also on an error. */
MUST_CHECK enum err piece_schemas_fill(const struct schema *schema,
                                       const char *what,
                                       struct value name,
                                       struct value *value,
                                       struct err_detail *detail);

/* piece-schema-4: notes what does not fit of a part that the piece has had
 * before. If its document has to come first, it is awaited (piece->needs). */
void piece_schemas_compare(struct builder *builder,
                           const struct part *part,
                           const struct schema *schema);

/* Tells what was noted. */
void piece_schemas_tell(const struct builder *builder);

/* -- Following ----------------------------------------------------------- */

/* Whether the schemas of the document are known (piece-schema-2). If not, the
 * transaction awaits what it needs; without one, the document of the piece is
 * fetched if that can be done now. */
bool piece_schemas_look_up(const struct cell_access *access,
                           struct entity *entity);

static inline bool piece_schemas_are_known(const struct cell_access *access,
                                           struct entity *entity)
{
    return LIKELY(entity->followed) || piece_schemas_look_up(access, entity);
}

/* While a piece is built, what it declares holds: for its migrations. */
void piece_schemas_apply(struct piece *piece, const struct builder *builder);

/* Looks at the documents that are followed, after something has come. */
void piece_schemas_step(struct runtime *runtime);

void piece_schemas_free(struct runtime *runtime);

#endif
