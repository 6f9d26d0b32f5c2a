/* Transactions outside runs, and their verdicts.
 *
 * A write outside a run, or an edit, is a separate transaction. It is applied
 * here at once and confirmed by the store later. If the store refuses it
 * because of a conflict, its function is called again on the state that is
 * visible then: a value that was computed from older state is never resent.
 *
 *   own-write-1  Each applied transaction ends exactly once: it landed, it was
 *                refused permanently, or the runtime has ended.
 *   own-write-2  Transactions take effect in the order in which they were made,
 *                if they write to the same document or the earlier one has read
 *                something. While the verdict of the earlier one is unknown,
 *                the later one is conditional on its landing. If the earlier
 *                one is refused, the later one is refused with it, and both are
 *                repeated in their order.
 *   own-write-3  A function sees no unloaded document: the attempt ends with
 *                STALE, the documents are fetched, and the function is called
 *                again.
 *   own-write-4  A transaction that changes nothing, or fails here, is not
 *                sent. It ends as landed or as failed only on a view that
 *                includes everything that was committed before it began. */

#ifndef RUNTIME_OWN_WRITE_H
#define RUNTIME_OWN_WRITE_H

#include "runtime/cell.h"

enum {
    OWN_WRITE_ATTEMPTS = 100, /* that may end in a conflict */
};

struct own_write_spec {
    /* Performs the write, in a transaction that is new each time. STALE: not
     * possible yet, try again; any other error gives up. */
    enum err (*write)(void *ctx,
                      struct transaction *transaction,
                      struct err_detail *detail);
    /* own-write-1. Also called if nothing was applied because nothing changed,
     * but not if own_write_make itself returns an error. It writes nothing. */
    void (*ended)(void *ctx, const struct err_detail *said);
    void *ctx;
    const void *group;
    bool several_spaces;

    /* A permanent refusal is reported (struct own_writes) before `ended`; with
     * this place, borrowed until then, or NULL. */
    bool reported;
    const struct place *place;
};

/* Makes a transaction now. On an error, nothing was applied, and the caller
 * keeps the context. Not inside a run. */
MUST_CHECK enum err own_write_make(struct runtime *runtime,
                                   const struct own_write_spec *spec,
                                   struct err_detail *detail);

/* One write to a cell. */
struct cell_writing {
    enum write_kind kind;
    bool labels;        /* the value replaces the labels */
    bool initial;       /* only if the cell is absent */
    struct value value; /* absent for a delete */
};

/* Writes in a transaction. */
MUST_CHECK enum err own_write_in(const struct cell_access *access,
                                 struct place *place,
                                 const struct cell_writing *writing,
                                 struct err_detail *detail);

/* The same as a separate transaction. The value is adopted, also on an error.
 * A permanent refusal is reported (struct own_writes). */
MUST_CHECK enum err own_write_cell_adopt(struct runtime *runtime,
                                         struct place *place,
                                         struct cell_writing writing,
                                         struct err_detail *detail);

/* Repeats the refused transactions; whether there was one. Neither inside a run
 * nor while a message is processed. */
bool own_writes_try_again(struct runtime *runtime);

/* Whether all have ended. */
bool own_writes_are_over(const struct runtime *runtime);

/* Whether a requested document has not arrived. */
bool runtime_is_loading(const struct runtime *runtime);

/* Fetches the requested documents; whether all of them are available. */
bool runtime_fetch_requested(struct runtime *runtime);

/* The runtime ends. */
void own_writes_end(struct runtime *runtime);

#endif
