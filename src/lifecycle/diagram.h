/* A machine as a Mermaid state diagram, printed from its tables: what a reader
 * sees is what the evaluator does.
 *
 * One line for each edge, by status and then by event:
 *
 *     idle --> active : run.started ⟨notDeleted, notArchived⟩
 *
 * with the predicates in the order of asking. An edge whose target depends on
 * the row has two lines, "(if workspace)" and "(unless workspace)"; a doubtful
 * one ends with " (?)". Edges back to their own status are one note for each
 * status: "note right of stopped : stays on started, failed". */

#ifndef LIFECYCLE_DIAGRAM_H
#define LIFECYCLE_DIAGRAM_H

#include "base/buf.h"
#include "lifecycle/machine.h"

/* Appends the diagram, each line ended. */
void lifecycle_diagram(const struct lifecycle_machine *machine,
                       struct buf *out);

/* Appends the names of an event's predicates, with commas. */
void lifecycle_predicates_append(const struct lifecycle_event *event,
                                 struct buf *out);

#endif
