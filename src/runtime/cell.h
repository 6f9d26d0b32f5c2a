/* Cells: reading and writing at a place, through links.
 *
 * A cell is a place (replica/place.h) that is accessed through links: links on
 * the path and at its end are followed, so reads and writes reach the target.
 * Each followed link is itself a read. A reader is invalidated when the link
 * changes, and depends on the new target from then on.
 *
 *   cell-1  Inside a run, reads are up to date (runner-2 of sched/runner.h).
 *           Inside a transaction, they see its writes. Otherwise they see the
 *           visible state, and a document that is not available is fetched.
 *   cell-2  A write goes to the target, except that setting a link where a link
 *           is stored replaces that link. A write outside a transaction makes
 *           its own, and retries it after conflicts.
 *   cell-3  At most CELL_HOPS links are followed; a cycle is an error, not a
 *           hang.
 *   cell-4  A write must satisfy the schemas of the document
 *           (runtime/schemas.h), or nothing is written.
 *   cell-5  A failed read counts as a read of each link that it visited. A
 *           write that fails a schema counts as a read of that document. So a
 *           failed run runs again when they change (runner-3 of
 *           sched/runner.h), and a run that continues after the failure depends
 *           on them.
 *   cell-6  Setting a value below something absent creates the objects on the
 *           way, also in a document that does not exist. Setting a value below
 *           a scalar is an error.
 *   cell-8  A write to a row of a collection is one of the collection
 *           (collection-3 of collection/collection.h).
 *   cell-7  A computation that writes to its own output does not follow a scope
 *           link there: the end of the run selects the instance
 *           (sched/scopes.h).
 */

#ifndef RUNTIME_CELL_H
#define RUNTIME_CELL_H

#include "runtime/runtime.h"

enum {
    CELL_HOPS = 64,
    CELL_ATTEMPTS = 10, /* of a write outside a transaction */
};

/* The run and the transaction of an access. */
struct cell_access {
    struct runtime *runtime;
    struct run *run;                 /* or NULL */
    struct transaction *transaction; /* of the run, or another one; or NULL */
};

/* The place behind all links, new. With `last`, a link at the place itself is
 * followed, too. ERR_STALE and CLEARANCE as in run_read; never NOT_FOUND or
 * TYPE, because a place need not exist. ARGUMENT: a cycle, or a link to a space
 * that is not open. */
MUST_CHECK enum err cell_follow(const struct cell_access *access,
                                struct place *place,
                                unsigned flags,
                                bool last,
                                struct place **out,
                                struct err_detail *detail);

/* Fetches a document that is not available here, if possible now: not while a
 * transaction is open. */
void cell_fetch(const struct runtime *runtime, struct entity *entity);

/* The same for a write in the access's transaction. *out is NULL, with OK, if a
 * document on the way is not available: the transaction waits for it and cannot
 * be committed, and its writer starts over when the document has arrived
 * (transaction-9 of replica/transaction.h). */
MUST_CHECK enum err cell_follow_to_write(const struct cell_access *access,
                                         struct place *place,
                                         bool last,
                                         struct place **out,
                                         struct err_detail *detail);

/* The stream behind all links, borrowed from the scheduler. STALE: a document
 * on the way is not loaded. It is then fetched and counts as a read of the run,
 * so the attempt is repeated when the document has arrived. */
MUST_CHECK enum err cell_stream(const struct cell_access *access,
                                struct place *place,
                                struct stream **out,
                                struct err_detail *detail);

/* The target of a link at `holder`, new; another link may be stored there. */
MUST_CHECK enum err cell_link_target(const struct cell_access *access,
                                     const struct place *holder,
                                     struct value link,
                                     struct place **out,
                                     struct err_detail *detail);

/* The value there, new; absent if there is none. The flags are those of
 * transaction_read. *at, unless `at` is NULL, is the place behind the links,
 * new. */
MUST_CHECK enum err cell_read(const struct cell_access *access,
                              struct place *place,
                              enum read_kind kind,
                              unsigned flags,
                              struct value *out,
                              struct place **at,
                              struct err_detail *detail);

/* Whether a write replaces a link instead of following it (cell-2). */
static inline bool cell_sets_link(enum write_kind kind, struct value value)
{
    return kind == WRITE_PUT && value_tag(value) == TAG_LINK;
}

/* Writes; the value is adopted, also on an error. */
MUST_CHECK enum err cell_put_adopt(const struct cell_access *access,
                                   struct place *place,
                                   struct value value,
                                   struct err_detail *detail);
MUST_CHECK enum err cell_merge_adopt(const struct cell_access *access,
                                     struct place *place,
                                     enum write_kind kind,
                                     struct value value,
                                     struct err_detail *detail);
MUST_CHECK enum err cell_delete(const struct cell_access *access,
                                struct place *place,
                                struct err_detail *detail);

/* Prepares a separate transaction that writes there: fetches each document on
 * the way, and the target's, unless it is available. */
void cell_bring(struct runtime *runtime, struct place *place);

/* A link to the place, new, to be stored in a document of `from`. */
struct value cell_link(const struct place *place, const struct space *from);

#endif
