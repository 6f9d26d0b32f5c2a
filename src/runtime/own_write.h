/* Transactions from outside of runs, and what the store says to them.
 *
 * A write outside of a run, or an edit, is a transaction of its own. It is
 * applied here at once and confirmed by the store later. If the store refuses
 * it because another session was faster, its function is called again, on what
 * is visible then: no value that was computed from something older is ever sent
 * again.
 *
 *   own-write-1  Each transaction that was applied ends exactly once: it
 *                landed, it was refused for good, or the runtime has ended.
 *   own-write-2  Transactions take effect in the order in which they were
 *                made, as far as they write to one document or the earlier
 *                one has read something. A later one has the condition that
 *                the earlier one landed, as long as that is not known. If the
 *                earlier one is refused, the later one is refused with it,
 *                and both are made again in their order.
 *   own-write-3  A function meets no document that is not loaded: the attempt
 *                ends as STALE, the documents are fetched, and the function
 *                is called again.
 *   own-write-4  A transaction that changes nothing, or fails here, is not
 *                sent. It ends as landed or as failed only on a view that has
 *                everything which was committed before it began. */

#ifndef RUNTIME_OWN_WRITE_H
#define RUNTIME_OWN_WRITE_H

#include "runtime/cell.h"

enum {
    OWN_WRITE_ATTEMPTS = 100, /* that others may have been faster */
};

struct own_write_spec {
    /* What it does, in a transaction that is new each time. STALE: this cannot
     * be known now; anything else but OK gives it up. */
    enum err (*write)(void *ctx,
                      struct transaction *transaction,
                      struct err_detail *detail);
    /* own-write-1. Also if nothing was applied because nothing had changed; but
     * not if own_write_make itself returns an error. It writes nothing. */
    void (*ended)(void *ctx, const struct err_detail *said);
    void *ctx;
    const void *group;
    bool several_spaces;

    /* A refusal for good is reported (struct own_writes), before `ended`; with
     * this place, borrowed until then, or NULL. */
    bool reported;
    const struct place *place;
};

/* Makes one now. An error: nothing was applied, and the context is the
 * caller's. Not inside of a run. */
MUST_CHECK enum err own_write_make(struct runtime *runtime,
                                   const struct own_write_spec *spec,
                                   struct err_detail *detail);

/* One write to a cell. */
struct cell_writing {
    enum write_kind kind;
    bool labels;        /* the value is the labels of what is there */
    bool initial;       /* only if there is nothing */
    struct value value; /* absent for a delete */
};

/* Writes in a transaction. */
MUST_CHECK enum err own_write_in(const struct cell_access *access,
                                 struct place *place,
                                 const struct cell_writing *writing,
                                 struct err_detail *detail);

/* The same as a transaction of its own. The value is adopted, also on an error.
 * A refusal for good is reported (struct own_writes). */
MUST_CHECK enum err own_write_cell_adopt(struct runtime *runtime,
                                         struct place *place,
                                         struct cell_writing writing,
                                         struct err_detail *detail);

/* Makes those again that were refused; whether there was one. Not inside of a
 * run, nor while something arrives. */
bool own_writes_try_again(struct runtime *runtime);

/* Whether each has ended. */
bool own_writes_are_over(const struct runtime *runtime);

/* Whether a document was requested that has not come. */
bool runtime_is_loading(const struct runtime *runtime);

/* Fetches what was requested and has not come; whether all of it is here. */
bool runtime_fetch_requested(struct runtime *runtime);

/* The runtime ends. */
void own_writes_end(struct runtime *runtime);

#endif
