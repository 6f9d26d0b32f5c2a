/* Commit tickets on runtime/own_write.h. */

#include "front/commit_ticket.h"

#include "base/mem.h"

void commit_ticket_unref(struct commit_ticket *ticket)
{
    if (--ticket->refs == 0) {
        mem_free(ticket, sizeof *ticket);
    }
}

void commit_ticket_leave(struct commit_ticket *ticket)
{
    ticket->left = true;
    commit_ticket_unref(ticket);
}

static enum err write_ticket(void *ctx,
                             struct transaction *transaction,
                             struct err_detail *detail)
{
    const struct commit_ticket *ticket = ctx;
    return ticket->left
               ? err_set(detail, ERR_GIVEN_UP, "the caller has left")
               : ticket->spec.write(ticket->spec.ctx, transaction, detail);
}

static void ticket_ended(void *ctx, const struct err_detail *said)
{
    struct commit_ticket *ticket = ctx;
    ticket->ended = true;
    ticket->said = *said;
    if (ticket->spec.ended != NULL && !ticket->left) {
        ticket->spec.ended(ticket->spec.ctx, said);
    }
    commit_ticket_unref(ticket);
}

enum err commit_ticket_make(struct runtime *runtime,
                            const struct own_write_spec *spec,
                            struct commit_ticket **out,
                            struct err_detail *detail)
{
    struct commit_ticket *ticket = mem_alloc_zero(sizeof *ticket);
    ticket->refs = 2;
    ticket->spec = *spec;
    struct own_write_spec own = *spec;
    own.write = write_ticket;
    own.ended = ticket_ended;
    own.ctx = ticket;
    const enum err err = own_write_make(runtime, &own, detail);
    if (err != ERR_OK) {
        mem_free(ticket, sizeof *ticket);
        ticket = NULL;
    }
    *out = ticket;
    return err;
}
