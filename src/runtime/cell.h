/* Cells: reading and writing at a place, through links.
 *
 * A cell is a place (replica/place.h) and how it is reached. Links on the way
 * and at the end are followed: what is read and written is what they point at.
 * Each link that was followed is itself a read, so who read through it sees it
 * change, and is then a reader of the new target.
 *
 *   C1  Inside a run, reads are up to date (R2 of sched/runner.h); inside a
 *       transaction they see its writes; without either, what is visible,
 *       and a document that is not available is fetched.
 *   C2  A write goes to the target; but a link that is set where a link is
 *       replaces that link. Without a transaction it is one of its own, tried
 *       again as long as only the world moved on.
 *   C3  At most CELL_HOPS links; a circle is an error, not a hang.
 *   C4  What is written has to fit the schemas of the document
 *       (runtime/schemas.h), or nothing is.
 *   C5  A read that fails is a read of each link that it looked at. A write
 * that fails is a read of the document that it did not fit. So a run that
 *       failed runs again when that changes (R3 of sched/runner.h), and a
 *       run that continues after the failure depends on it.
 *   C6  A value that is set below something absent is set inside of new
 *       objects, also in a document that does not exist. Below a value that
 *       is no container it is refused.
 *   C8  A write to a row of a collection is one of the collection
 *       (collection-3 of collection/collection.h).
 *   C7  A computation that writes to its own output does not follow a scope
 * link there: the end of the run decides which instance it is (sched/scopes.h).
 */

#ifndef RUNTIME_CELL_H
#define RUNTIME_CELL_H

#include "runtime/runtime.h"

enum {
    CELL_HOPS = 64,
    CELL_ATTEMPTS = 10, /* of a write of its own */
};

/* On whose behalf. */
struct cell_access {
    struct runtime *runtime;
    struct run *run;                 /* or NULL */
    struct transaction *transaction; /* of the run, or another one; or NULL */
};

/* The place behind all links, new. With `last`, also behind one that is there
 * itself; without, such a link is what is meant. ERR_STALE and CLEARANCE as
 * run_read has them; NOT_FOUND and TYPE never: a place need not exist.
 * ARGUMENT: a circle, or a link to a space that is not open. */
MUST_CHECK enum err cell_follow(const struct cell_access *access,
                                struct place *place,
                                unsigned flags,
                                bool last,
                                struct place **out,
                                struct err_detail *detail);

/* Fetches a document that is not available here, if that can be done now: not
 * while a transaction is open. */
void cell_fetch(const struct runtime *runtime, struct entity *entity);

/* The same for a write in the access's transaction. *out is NULL, and the
 * answer OK, if a document on the way is not available: the transaction awaits
 * it, cannot be committed, and its writer starts over when it has come (T9 of
 * replica/transaction.h). */
MUST_CHECK enum err cell_follow_to_write(const struct cell_access *access,
                                         struct place *place,
                                         bool last,
                                         struct place **out,
                                         struct err_detail *detail);

/* The stream behind all links, borrowed from the scheduler. STALE: a document
 * on the way is not here, so a link in it cannot be seen. The document is
 * fetched, and a run has read it: the attempt is repeated when it has come. */
MUST_CHECK enum err cell_stream(const struct cell_access *access,
                                struct place *place,
                                struct stream **out,
                                struct err_detail *detail);

/* The place that a link at `holder` means, new; what is there may be a link. */
MUST_CHECK enum err cell_link_target(const struct cell_access *access,
                                     const struct place *holder,
                                     struct value link,
                                     struct place **out,
                                     struct err_detail *detail);

/* What is there, new; absent if there is nothing. The flags are those of
 * transaction_read. *at, if it is wanted, is the place behind the links,
 * new. */
MUST_CHECK enum err cell_read(const struct cell_access *access,
                              struct place *place,
                              enum read_kind kind,
                              unsigned flags,
                              struct value *out,
                              struct place **at,
                              struct err_detail *detail);

/* Whether a write replaces a link instead of following it (C2). */
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

/* Before a transaction of one's own that writes there: each document on the way
 * and the one behind the links is fetched if it is not available. */
void cell_bring(struct runtime *runtime, struct place *place);

/* A link to the place, new, to be stored in a document of `from`. */
struct value cell_link(const struct place *place, const struct space *from);

#endif
