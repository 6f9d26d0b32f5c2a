/* What a piece accepts: its streams, states and arguments, with their schemas,
 * from its document (runtime/piece_schemas.h). No pattern is needed and nothing
 * runs.
 *
 * For `heddle send PIECE --help`, `heddle set PIECE --help` and the words that
 * shells complete. */

#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "base/buf.h"
#include "value/value.h"

struct entity;
struct options;
struct visit;

/* Declared parts, by kind. */
enum describe_kind {
    DESCRIBE_STREAMS,
    DESCRIBE_STATES,
    DESCRIBE_ARGUMENTS,
};

/* The parts of one kind that the piece, or child, of a document accepts, by
 * name: {} or {"schema": ...} each; an object, new. A part with several names
 * is listed once, unless all names are wanted. (describe_parts.c) */
struct value describe_parts(struct visit *visit,
                            struct entity *document,
                            enum describe_kind kind,
                            bool all_names);

/* One line that describes a schema: "string, 1 to 20 characters". */
void describe_line(struct buf *to, struct value schema);

#endif
