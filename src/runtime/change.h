/* Patterns that change under a piece: what becomes of the documents of names
 * that are declared as something else now, or no longer.
 *
 *   X1  Data is never overwritten because a pattern has changed. A state or an
 *       argument keeps its document; if its name is declared as another kind,
 *       that has a document of its own, "piece:" piece "/" name "//" kind, and
 *       the data is back when the name is what it was.
 *   X2  What was computed can be computed again: it has no claim to the
 *       document of its name.
 *   X3  The document of the piece remembers at "kinds" the kinds of a name that
 *       has several documents, that of the plain one first, and at "former" the
 *       data and the streams that are no longer declared.
 *   X4  The host is told what is hidden and what is back, before the start that
 *       does it is committed, and once. */

#ifndef RUNTIME_CHANGE_H
#define RUNTIME_CHANGE_H

#include "runtime/building.h"

/* The id of the document of a name as a kind, new; `about` is what the document
 * of the piece says (runtime/piece.h). */
struct value change_document_id(struct value piece,
                                struct value about,
                                struct value name,
                                struct value kind);

/* Whether the name was declared as that kind before; and whether it was as
 * something computed, whose document is to become data (X2). */
bool change_had(struct value about, struct value name, enum part_kind kind);
bool change_takes_over(struct value about, struct value name);

/* Whether a kind is data: a state, an argument or a collection. */
bool change_is_data(struct value kind);

/* The kinds under which a name has documents, as an array, new. */
struct value change_kinds_of(struct value about, struct value name);

/* What is to be at "kinds" and at "former" after a build; new. */
struct value change_kinds(const struct piece *piece,
                          const struct builder *builder);
struct value change_former(const struct piece *piece,
                           const struct builder *builder);

/* X4. */
void change_tell(struct piece *piece, const struct builder *builder);

/* ARGUMENT: what is started is a piece of another pattern, and it was not said
 * that it is to be replaced. If it was, builder->other is set. */
MUST_CHECK enum err change_check_pattern(const struct piece *piece,
                                         struct builder *builder,
                                         struct err_detail *detail);

#endif
