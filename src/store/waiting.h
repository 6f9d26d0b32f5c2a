/* Events that wait: which documents hold one (proto/event.h).
 *
 * A row per such document, so that a runtime which starts a piece finds the
 * events for it without a look at anything else.
 *
 *   waiting-1  A document of a branch has a row iff its head holds an event.
 *              The row changes in the transaction of the commit that changes
 *              the document, and follows from the history: verify.h compares,
 *              rebuild.h makes it anew.
 *   waiting-2  Numbers of documents grow, also inside a commit: in the order
 *              of numbers, events are in the order in which they were sent.
 *   waiting-3  A branch has its own: an event that waited when the branch was
 *              forked is handled on the parent only. */

#ifndef STORE_WAITING_H
#define STORE_WAITING_H

#include "store/documents.h"

/* A write to the document has been applied. Inside the transaction. */
MUST_CHECK enum err waiting_apply(struct engine *engine,
                                  struct document *document,
                                  struct err_detail *detail);

/* Whether a document with that head is one that waits. */
bool waiting_is_due(const struct document *document, struct value head);

/* Whether the document of that number has a row. */
MUST_CHECK enum err waiting_has(struct engine *engine,
                                uint64_t document,
                                bool *out,
                                struct err_detail *detail);

/* The rows of documents that are not there. */
typedef VEC(uint64_t) waiting_numbers;
MUST_CHECK enum err waiting_strays(struct engine *engine,
                                   waiting_numbers *out,
                                   struct err_detail *detail);

/* Makes the row of a document what it ought to be, whether the document is
 * there or not. Inside a write transaction; no document is cached. */
MUST_CHECK enum err waiting_rebuild(struct engine *engine,
                                    uint64_t document,
                                    struct err_detail *detail);

/* Borrowed for the call, which must not ask the engine anything. */
struct waiting_event {
    uint64_t number; /* of the document */
    struct value id; /* likewise */
    struct value document;
};

typedef void waiting_fn(void *ctx, const struct waiting_event *event);

/* The events that wait on the branch, above the document `after`, at most
 * `limit`, in their order. Between engine_read_begin and _end. BRANCH_UNKNOWN,
 * faults. */
MUST_CHECK enum err engine_waiting(struct engine *engine,
                                   struct value branch,
                                   uint64_t after,
                                   uint64_t limit,
                                   waiting_fn *found,
                                   void *ctx,
                                   struct err_detail *detail);

#endif
