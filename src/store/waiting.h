/* Waiting events: which documents hold one (proto/event.h).
 *
 * One row per such document, so that a runtime that starts a piece finds its
 * events without reading anything else.
 *
 *   waiting-1  A document of a branch has a row iff its head holds an event.
 *              The row changes in the transaction of the commit that changes
 *              the document, and follows from the history: verify.h compares
 *              it, rebuild.h restores it.
 *   waiting-2  An event has the number of the write that stored it: its commit,
 *              and its place inside the commit. So events in numeric order are
 *              in the order of sending, and an event whose id was used before
 *              is behind those that were sent before it. Timers, events with a
 *              due time, are listed separately, by that time: none that is not
 *              due costs anything.
 *   waiting-3  A branch has its own events: an event that was waiting at the
 *              fork is handled on the parent only. */

#ifndef STORE_WAITING_H
#define STORE_WAITING_H

#include "base/limits.h"
#include "store/documents.h"

enum {
    WAITING_PER_COMMIT = 131072, /* numbers (waiting-2) */
};
_Static_assert((int)WAITING_PER_COMMIT > (int)LIMIT_COMMIT_OPERATIONS,
               "waiting-2");

/* A write to the document has been applied. Inside the transaction. */
MUST_CHECK enum err waiting_apply(struct engine *engine,
                                  struct document *document,
                                  struct err_detail *detail);

/* Whether the row of the document agrees with its head: none, the right one, or
 * with the right time. */
MUST_CHECK enum err waiting_check(struct engine *engine,
                                  const struct document *document,
                                  struct value head,
                                  bool *out,
                                  struct err_detail *detail);

/* Whether a document with that head should have a row. */
bool waiting_is_due(const struct document *document, struct value head);

/* The rows of documents that do not exist. */
typedef VEC(uint64_t) waiting_numbers;
MUST_CHECK enum err waiting_strays(struct engine *engine,
                                   waiting_numbers *out,
                                   struct err_detail *detail);

/* Corrects the row of a document, whether the document exists or not. Inside a
 * write transaction; no document is cached. */
MUST_CHECK enum err waiting_rebuild(struct engine *engine,
                                    uint64_t document,
                                    struct err_detail *detail);

/* Borrowed for the call, which must not call the engine. */
struct waiting_event {
    uint64_t number; /* waiting-2; of a timer, that of its document */
    struct value id; /* of the document */
    struct value document;
    uint64_t due; /* of a timer: when */
};

typedef void waiting_fn(void *ctx, const struct waiting_event *event);

/* The waiting events without a due time on the branch, above the number
 * `after`, at most `limit`, in order. Between engine_read_begin and _end.
 * BRANCH_UNKNOWN, faults. */
MUST_CHECK enum err engine_waiting(struct engine *engine,
                                   struct value branch,
                                   uint64_t after,
                                   uint64_t limit,
                                   waiting_fn *found,
                                   void *ctx,
                                   struct err_detail *detail);

/* Where a list of timers continues: after the one of that time and number. */
struct timer_mark {
    uint64_t due;
    uint64_t number;
};

/* The timers of the branch after the mark that are due at `until` or before, at
 * most `limit`, by due time. As above. */
MUST_CHECK enum err engine_timers(struct engine *engine,
                                  struct value branch,
                                  struct timer_mark after,
                                  uint64_t until,
                                  uint64_t limit,
                                  waiting_fn *found,
                                  void *ctx,
                                  struct err_detail *detail);

/* The timers of the branch whose ids begin with a text, in no order. The cost
 * follows the number of documents with such ids. As above. */
MUST_CHECK enum err engine_timers_named(struct engine *engine,
                                        struct value branch,
                                        struct value prefix,
                                        waiting_fn *found,
                                        void *ctx,
                                        struct err_detail *detail);

/* When the next timer after `time` is due; TIMER_NONE: there is none. */
#define TIMER_NONE UINT64_MAX
MUST_CHECK enum err engine_timer_next(struct engine *engine,
                                      struct value branch,
                                      uint64_t time,
                                      uint64_t *out,
                                      struct err_detail *detail);

#endif
