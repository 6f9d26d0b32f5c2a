/* Patterns that change under a piece: what happens to the documents of names
 * that the pattern now declares as another kind, or no longer declares.
 *
 *   change-1  A changed pattern never overwrites data. A state or an argument
 *             keeps its document. If its name is declared as another kind, that
 *             kind gets a separate document, "piece:" piece "/" name "//" kind,
 *             and the data reappears when the name has its former kind again.
 *   change-2  Computed values can be computed again, so they do not keep the
 *             document of their name.
 *   change-3  In the document of the piece, "kinds" lists the kinds of each
 *             name that has several documents, that of the plain document
 *             first. "former" lists the data and the streams that are no longer
 *             declared.
 *   change-4  The host is told once what is hidden and what reappears, before
 *             the commit of the start that causes it. */

#ifndef RUNTIME_CHANGE_H
#define RUNTIME_CHANGE_H

#include "runtime/building.h"

/* The id of the document of a name as a kind, new; `about` is the content of
 * "piece" in the document of the piece (runtime/piece.h). */
struct value change_document_id(struct value piece,
                                struct value about,
                                struct value name,
                                struct value kind);

/* Whether the name was already declared as that kind; and whether it was
 * declared as something computed whose document becomes data (change-2). */
bool change_had(struct value about, struct value name, enum part_kind kind);
bool change_takes_over(struct value about, struct value name);

/* Whether a kind is data: a state, an argument or a collection. */
bool change_is_data(struct value kind);

/* The kinds under which a name has documents; an array, new. */
struct value change_kinds_of(struct value about, struct value name);

/* The contents of "kinds" and "former" after a build; new. */
struct value change_kinds(const struct piece *piece,
                          const struct builder *builder);
struct value change_former(const struct piece *piece,
                           const struct builder *builder);

/* change-4. */
void change_tell(struct piece *piece, const struct builder *builder);

/* ARGUMENT: the stored piece is of another pattern, and the caller did not ask
 * to replace it. If the caller did, builder->other is set. */
MUST_CHECK enum err change_check_pattern(const struct piece *piece,
                                         struct builder *builder,
                                         struct err_detail *detail);

#endif
