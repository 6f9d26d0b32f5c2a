/* Schemas that patterns declare for states, arguments and streams.
 *
 * They are stored with the piece, at "schemas" in its document
 * (runtime/piece.h), by the names of the parts:
 *
 *   {"piece": {"cells": {"items": "state", "add": "handler"},
 *              "schemas": {"items": {"type": "array"}, ...}}}
 *
 *   piece-schema-1  The document of the piece is the authority: every runtime
 *                   validates against what is stored there, in its own view,
 *                   whether or not the piece is started there, and whether or
 *                   not the runtime knows the pattern.
 *   piece-schema-2  The first write to a document of a piece, and the first
 *                   send to one of its streams, waits for the document of the
 *                   piece. From then on the runtime watches that document: a
 *                   changed schema applies from the next step on.
 *   piece-schema-3  A write is validated as in runtime/schemas.h, with
 *                   defaults. A payload is validated as in events_set_schema,
 *                   and before that where a handler sends it or where it is
 *                   queued.
 *   piece-schema-4  A new or changed schema changes no data. The start that
 *                   stores the schema reports data that violates it
 *                   (runtime->notice), once.
 *
 * Once the schemas of an entity are known (struct entity, `followed`), a write
 * costs the test of one bit. */

#ifndef RUNTIME_PIECE_SCHEMAS_H
#define RUNTIME_PIECE_SCHEMAS_H

#include "runtime/building.h"
#include "runtime/cell.h"

/* -- Declaring ----------------------------------------------------------- */

/* Keeps the schema of a part that is declared later, by its whole name. */
MUST_CHECK enum err piece_schemas_declare(struct builder *builder,
                                          struct value name,
                                          struct value source,
                                          struct err_detail *detail);

/* The schema of a part, borrowed; NULL: it has none. */
struct schema *piece_schemas_of(struct builder *builder,
                                const struct part *part);

/* The content of "schemas" in the document of the piece, an object, new. */
struct value piece_schemas_stored(const struct builder *builder);

/* After all declarations. ARGUMENT: a schema is for a name that is not
 * declared, or for a kind that takes none. */
MUST_CHECK enum err piece_schemas_check(const struct builder *builder,
                                        struct err_detail *detail);

void piece_schemas_release(struct builder *builder);

/* Applies a schema to a first value, with defaults; `what` begins the error
 * message: "the initial value of". Adopts *value and returns it there, also on
 * an error. */
MUST_CHECK enum err piece_schemas_fill(const struct schema *schema,
                                       const char *what,
                                       struct value name,
                                       struct value *value,
                                       struct err_detail *detail);

/* piece-schema-4: records how a part that the piece already has violates its
 * schema. If its document has to be loaded first, the build waits for it
 * (piece->needs). */
void piece_schemas_compare(struct builder *builder,
                           const struct part *part,
                           const struct schema *schema);

/* Reports what was recorded. */
void piece_schemas_tell(const struct builder *builder);

/* -- Following ----------------------------------------------------------- */

/* Whether the schemas of the document are known (piece-schema-2). If not, the
 * transaction waits for what it needs. Without a transaction, the document of
 * the piece is fetched if possible now. */
bool piece_schemas_look_up(const struct cell_access *access,
                           struct entity *entity);

static inline bool piece_schemas_are_known(const struct cell_access *access,
                                           struct entity *entity)
{
    return LIKELY(entity->followed) || piece_schemas_look_up(access, entity);
}

/* Applies the declared schemas during the build, for its migrations. */
void piece_schemas_apply(struct piece *piece, const struct builder *builder);

/* Checks the watched documents after something has arrived. */
void piece_schemas_step(struct runtime *runtime);

void piece_schemas_free(struct runtime *runtime);

#endif
