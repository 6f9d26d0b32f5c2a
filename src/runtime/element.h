/* Elements of a list that are pieces: what the function of a map declares for
 * one element (builder_list.declare of runtime/list.h).
 *
 * An element is a piece inside of the piece whose list it is, the whole. Its
 * name, its document and its names are below those of the list:
 *
 *   piece:kanban/cards/3          {"value": <what was returned>,
 *                                  "piece": {"cells": {...}, "children": ...}}
 *   piece:kanban/cards/3/card1    the result of a child that it has declared
 *   piece:kanban/cards/3/...      and so on
 *
 * and its nodes are actions of the whole.
 *
 *   element-1  It is built in a transaction of the list's: a new one in the run
 *              of the coordinator that has found it, one that was there in the
 *              build of the whole. So it comes, and goes, with its key in the
 *              documents of the list, in one commit.
 *   element-2  A declaration cannot depend on data, so all elements of a list
 *              declare the same. The document of the list says what (its
 *              shape, a digest): as long as that is what is declared now, an
 *              element is taken up without its document. Otherwise the
 *              documents have to be here, and each is brought up to date.
 *   element-3  A handler of an element depends on the element being there: an
 *              event that comes too late leaves nothing behind.
 *   element-4  States of a user or a session are refused.
 *
 * For the files of this folder. */

#ifndef RUNTIME_ELEMENT_H
#define RUNTIME_ELEMENT_H

#include "runtime/spread.h"

/* Builds the element of a child, whose output is its document. What went wrong
 * names the element, and nothing of it stays. */
MUST_CHECK enum err element_start(const struct spread_child *child,
                                  enum element_origin origin,
                                  struct transaction *transaction,
                                  struct piece **out,
                                  struct err_detail *detail);

/* What it has declared as a digest without its key; a string, new. */
struct value element_shape(const struct spread_child *child);

/* Whether it has documents beside those that it declares now. */
bool element_has_former(const struct piece *element);

/* Its nodes and handlers go, and so does the record. */
void element_stop(struct piece *element);

/* Adds all documents that it has, its own included. */
void element_documents(const struct spread_child *child,
                       element_documents_list *out);

/* Adds the actions of its nodes (building_action). */
void element_actions(const struct spread_child *child,
                     element_actions_list *out);

/* Whether it is there, for a handler of it (element-3). False: the attempt
 * fails, or is made again. */
MUST_CHECK enum run_result element_check(struct run *run,
                                         const struct piece *element);

#endif
