/* Elements of a list that are pieces: what the function of a map declares for
 * one element (builder_list.declare of runtime/list.h).
 *
 * An element is a piece inside the piece that declares the list, the whole.
 * Its name, its document and its names are below those of the list:
 *
 *   piece:kanban/cards/3          {"value": <what the function returned>,
 *                                  "piece": {"cells": {...}, "children": ...}}
 *   piece:kanban/cards/3/card1    the result of a child that it declares
 *   piece:kanban/cards/3/...      and so on
 *
 * and its nodes are actions of the whole.
 *
 *   element-1  An element is built in a transaction of the list: a new element
 *              in the run of the coordinator that found it, an existing one in
 *              the build of the whole. So it appears and disappears in one
 *              commit with its key in the documents of the list.
 *   element-2  A declaration cannot depend on data, so all elements of a list
 *              declare the same. The document of the list has a digest of it,
 *              the shape. While the shape matches what is declared now, an
 *              element is resumed without its document. Otherwise the documents
 *              have to be loaded, and each is updated.
 *   element-3  A handler of an element depends on the existence of the element:
 *              an event that arrives too late leaves nothing behind.
 *   element-4  States of a user or a session are refused.
 *
 * For the files of this folder. */

#ifndef RUNTIME_ELEMENT_H
#define RUNTIME_ELEMENT_H

#include "runtime/keyed_list.h"

/* Builds the element of a child, whose output is its document. The error names
 * the element, and nothing of it stays. */
MUST_CHECK enum err element_start(const struct keyed_child *child,
                                  enum element_origin origin,
                                  struct transaction *transaction,
                                  struct piece **out,
                                  struct err_detail *detail);

/* A digest of its declarations without its key; a string, new. */
struct value element_shape(const struct keyed_child *child);

/* Whether it has documents that it no longer declares. */
bool element_has_former(const struct piece *element);

/* Stops its nodes and handlers, and frees the record. */
void element_stop(struct piece *element);

/* Adds all its documents, its own included. */
void element_documents(const struct keyed_child *child,
                       element_documents_list *out);

/* Adds the actions of its nodes (building_action). */
void element_actions(const struct keyed_child *child,
                     element_actions_list *out);

/* Whether the element exists, for one of its handlers (element-3):
 * RUN_DONE if so; otherwise the attempt fails, waits or is repeated. */
MUST_CHECK enum run_result element_check(struct run *run,
                                         const struct piece *element);

#endif
