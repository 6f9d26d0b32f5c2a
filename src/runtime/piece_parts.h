/* The role of a document in its piece, and whether a cell may write to it.
 *
 *   piece-part-1  A cell writes to states and arguments, to rows of collections
 *                 and to documents of no piece. The outputs of computations,
 *                 lists and tasks, streams, collections, results of pieces
 *                 and clocks are written by the nodes that they belong to, in
 *                 their transactions. Any other write there would be lost, or
 *                 mistaken for a result: it is refused.
 *   piece-part-2  The document of the piece is the authority, as for schemas
 *                 (runtime/piece_schemas.h): the refusal holds in every
 *                 runtime, whether or not the piece is started there. The
 *                 declarations of a piece that is started or being built here
 *                 take precedence.
 *
 * Once an entity has been classified, a write costs the test of one bit
 * (struct entity, `guarded`). */

#ifndef RUNTIME_PIECE_PARTS_H
#define RUNTIME_PIECE_PARTS_H

#include "runtime/cell.h"

/* Whether cells may write a document, or what it is instead. */
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

/* From its kind in the document of its piece; absent: none. */
enum part_access part_access_of(const struct entity *entity, struct value kind);

/* The content of "piece" in the document of a piece, borrowed; absent if it is
 * not the document of a piece. */
struct value part_about(const struct entity *document);

/* The name and the kind of a part, from the part of its document's id that
 * follows the id of the piece. *name is new, the kind is borrowed, and absent
 * if the part is not declared. `about` is that of the piece. */
void part_read_name(struct value about,
                    const char *text,
                    size_t length,
                    struct value *name,
                    struct value *kind);

/* piece-part-1: records whether to check each write to it. `owner` is the
 * document of its piece; NULL: it belongs to none. */
void part_guard(struct entity *entity, const struct entity *owner);

/* Whether the access may write to a guarded document. ARGUMENT. */
COLD MUST_CHECK enum err part_check_write(const struct cell_access *access,
                                          struct place *at,
                                          struct err_detail *detail);

#endif
