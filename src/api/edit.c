/* Writes of their own, and edits. */

#include "api/edit.h"

#include "api/cell.h"
#include "api/frame.h"
#include "front/commit_ticket.h"

/* -- Writing ------------------------------------------------------------- */

enum err edit_write_adopt(hd_runtime *runtime,
                          struct place *place,
                          struct cell_writing writing,
                          struct err_detail *detail)
{
    const enum err err = runtime_check_changing(runtime, "a write", detail);
    if (err != ERR_OK) {
        value_unref(writing.value);
        return err;
    }
    return call_frame_write_adopt(frame_now(runtime), place, writing, detail);
}

void edits_report(void *ctx,
                  const struct place *place,
                  const struct err_detail *said)
{
    hd_runtime *runtime = ctx;
    runtime->busy++;
    runtime_report(runtime, VALUE_NONE, place, said);
    runtime->busy--;
}

/* -- Edits --------------------------------------------------------------- */

struct editing {
    hd_runtime *runtime;
    hd_edit_fn *edit;
    void *context;
    uint32_t attempts;
};

/* Calls the function in the frame of the transaction. */
static enum err call_edit(void *ctx,
                          struct transaction *transaction,
                          struct err_detail *detail)
{
    struct editing *editing = ctx;
    hd_runtime *runtime = editing->runtime;
    struct hd_run *frame = api_frame_begin(runtime);
    call_frame_init(&frame->call,
                    FRAME_EDIT,
                    runtime_core(runtime),
                    transaction);
    editing->attempts++;
    const hd_status status = editing->edit(runtime, editing->context);
    enum err err = (enum err)status;
    if (frame->call.stale) {
        err = err_set(detail,
                      ERR_STALE,
                      "conflict: a value that the edit "
                      "read has changed");
    } else if (status != HD_OK) {
        frame_failure(frame, status, detail);
    }
    api_frame_end(frame);
    return err;
}

/* Makes the transaction. What keeps a document away is the error. */
static enum err make(struct editing *editing,
                     struct commit_ticket **out,
                     struct err_detail *detail)
{
    struct api_host *api_host = editing->runtime->api_host;
    const struct own_write_spec spec = {.write = call_edit, .ctx = editing};
    enum err err = ERR_STALE;
    while (err == ERR_STALE && editing->attempts < OWN_WRITE_ATTEMPTS) {
        err =
            commit_ticket_make(api_host_runtime(api_host), &spec, out, detail);
        if (err == ERR_STALE) {
            const enum err load = api_host_load_requested(api_host, detail);
            err = load == ERR_OK ? ERR_STALE : load;
        }
    }
    return err != ERR_STALE ? err
                            : err_set(detail,
                                      ERR_NOT_CONVERGED,
                                      "gave up after %u conflicts",
                                      editing->attempts);
}

/* Waits for what the store says to it. */
static enum err wait_for_answer(hd_runtime *runtime,
                                const struct commit_ticket *ticket,
                                struct err_detail *detail)
{
    while (!ticket->ended) {
        const mono_ms deadline = api_host_now(runtime->api_host) + EDIT_WAIT_MS;
        runtime->busy++;
        const enum err err =
            api_host_flush(runtime->api_host, deadline, detail);
        runtime->busy--;
        if (!ticket->ended && err != ERR_OK) {
            return err;
        }
        (void)own_writes_try_again(runtime_core(runtime));
    }
    *detail = ticket->said;
    return ticket->said.err;
}

hd_status hd_runtime_edit(hd_runtime *runtime,
                          hd_edit_fn *edit,
                          void *context,
                          hd_error *error)
{
    struct err_detail detail = {0};
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    if (edit == NULL) {
        return error_null(error, "edit");
    }
    struct editing editing = {runtime, edit, context, 0};
    struct commit_ticket *ticket = NULL;
    err = make(&editing, &ticket, &detail);
    if (err == ERR_OK) {
        err = wait_for_answer(runtime, ticket, &detail);
    }
    const hd_status status = error_report(error, err, &detail);
    if (error != NULL && err != ERR_OK) {
        error->attempts = editing.attempts;
        error->may_have_happened = (ticket != NULL && !ticket->ended) ||
                                   err == ERR_SESSION_LOST || err == ERR_CLOSED;
    }
    if (ticket != NULL) {
        commit_ticket_leave(ticket);
    }
    return status;
}
