/* Commit tickets: a function of the user as a transaction of its own, and what
 * has become of it.
 *
 *   err = commit_ticket_make(runtime, &spec, &ticket, detail);
 *   ... steps of the runtime, until ticket->ended ...
 *   err = ticket->said.err;
 *   commit_ticket_unref(ticket);
 *
 * runtime/own_write.h makes the transaction, makes it again after a conflict,
 * and keeps it in order. A ticket is the handle of it.
 *
 *   ticket-1  A ticket ends exactly once: its transaction landed, was refused
 *             for good, or the runtime was closed (CLOSED).
 *   ticket-2  After commit_ticket_leave the function is not called again. An
 *             attempt that is sent may still land. If it is refused, the
 *             transaction ends. */

#ifndef FRONT_COMMIT_TICKET_H
#define FRONT_COMMIT_TICKET_H

#include "runtime/own_write.h"

struct commit_ticket {
    uint32_t refs; /* one of the transaction until it has ended, and callers */
    bool ended;
    bool left;                  /* ticket-2 */
    struct err_detail said;     /* of one that has ended; OK: it landed */
    struct own_write_spec spec; /* as it was given */
};

/* Makes the transaction now. An error: nothing was applied, there is no
 * ticket, and the context is the caller's. Not inside of a run. */
MUST_CHECK enum err commit_ticket_make(struct runtime *runtime,
                                       const struct own_write_spec *spec,
                                       struct commit_ticket **out,
                                       struct err_detail *detail);

void commit_ticket_unref(struct commit_ticket *ticket);

/* Gives the reference back, and takes the context: ticket-2. */
void commit_ticket_leave(struct commit_ticket *ticket);

#endif
