/* What a document is in its piece, and whether a cell may write to it.
 *
 *   piece-part-1  A cell writes to states and arguments, to rows of collections
 *                 and to documents of no piece. The outputs of computations,
 *                 lists and tasks, streams, collections, results of pieces
 *                 and clocks are written by the nodes that they belong to, with
 *                 their transactions. Any other write there would be lost, or
 *                 be taken for a result: it is refused.
 *   piece-part-2  The document of the piece is the authority, as for schemas
 *                 (runtime/piece_schemas.h): the refusal holds in every
 *                 runtime, whether or not the piece is started in it. What a
 *                 piece that is started or built here declares comes first.
 *
 * An entity that was looked at once costs a write the test of one bit
 * (struct entity, `guarded`). */

#ifndef RUNTIME_PIECE_PARTS_H
#define RUNTIME_PIECE_PARTS_H

#include "runtime/cell.h"

/* Whether a document can be written by cells, or what it is instead. */
enum part_access {
    PART_IS_DATA,
    PART_IS_PIECE,
    PART_IS_STREAM,
    PART_IS_COPY, /* of the elements of a list */
    PART_IS_TASK,
    PART_IS_COLLECTION,
    PART_IS_COMPUTED,
    PART_IS_CLOCK, /* value/clock_id.h */
};

/* By the kind that the document of its piece says it is; absent: none. */
enum part_access part_access_of(const struct entity *entity, struct value kind);

/* What is at "piece" in the document of a piece, borrowed; absent if it is not
 * the document of a piece. */
struct value part_about(const struct entity *document);

/* The name of a part and its kind, borrowed, from what follows the id of the
 * piece in the id of a document; *name is new. The kind is absent if no such
 * part is declared. `about` is that of the piece. */
void part_read_name(struct value about,
                    const char *text,
                    size_t length,
                    struct value *name,
                    struct value *kind);

/* piece-part-1: notes whether it is to be looked at before each write. `owner`
 * is the document of its piece; NULL: it belongs to none. */
void part_guard(struct entity *entity, const struct entity *owner);

/* For a guarded document, whether the access may write there. ARGUMENT. */
COLD MUST_CHECK enum err part_check_write(const struct cell_access *access,
                                          struct place *at,
                                          struct err_detail *detail);

#endif
