/* Deeds: writes of their own, and edits. */

#include "api/edit.h"

#include "api/cell.h"
#include "api/frame.h"
#include "base/mem.h"
#include "runtime/own_write.h"
#include "sched/labels.h"
#include "sched/lineage.h"

/* An edit whose answer is to come: it is there until then, also if nobody waits
 * for it any more (D1). */
struct deed {
    struct list_node node; /* in the runtime's deeds */
    hd_runtime *runtime;   /* NULL: has ended */
    uint32_t attempts;
    bool refused;           /* the store has refused an attempt */
    bool waits;             /* an answer is to come */
    bool watched;           /* somebody looks at it, and frees it */
    bool ordered;           /* under a condition: own-write-2 */
    struct err_detail said; /* by the store; OK: it has landed */
};

static struct deed *deed_new(hd_runtime *runtime)
{
    struct deed *deed = mem_alloc_zero(sizeof *deed);
    deed->runtime = runtime;
    list_node_init(&deed->node);
    list_push_back(&runtime->deeds, &deed->node);
    return deed;
}

static void deed_free(struct deed *deed)
{
    list_remove(&deed->node);
    mem_free(deed, sizeof *deed);
}

static bool is_to_be_done_again(const struct deed *deed)
{
    const enum err err = deed->said.err;
    return err != ERR_OK && deed->attempts < EDIT_ATTEMPTS &&
           (err_class_of(err) == ERR_CLASS_RETRY ||
            (err == ERR_ORIGIN_FAILED && deed->ordered));
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct deed *deed = ctx;
    deed->waits = false;
    deed->said = verdict->detail;
    deed->said.err = verdict->err;
    deed->refused = deed->refused || verdict->err != ERR_OK;
    if (!deed->watched) {
        deed_free(deed);
    }
}

/* -- Writing ------------------------------------------------------------- */

/* One that nobody answers: without a store it is done, or it is not. */
static enum err write_at_once(hd_runtime *runtime,
                              struct place *place,
                              const struct cell_writing *writing,
                              struct err_detail *detail)
{
    struct runtime *inside = runtime_inside(runtime);
    enum err err = ERR_STALE;
    for (unsigned i = 0; i < CELL_ATTEMPTS && err == ERR_STALE; i++) {
        struct transaction *transaction =
            transaction_begin(&inside->replica, NULL);
        const struct cell_access access = {inside, NULL, transaction};
        err = own_write_in(&access, place, writing, detail);
        if (err == ERR_OK) {
            err = labels_apply(inside->sched, transaction, detail);
        }
        if (err == ERR_OK) {
            err = transaction_finish(transaction, detail);
        } else {
            transaction_release(transaction);
        }
    }
    return err;
}

static enum err write_own_adopt(hd_runtime *runtime,
                                struct place *place,
                                struct cell_writing writing,
                                struct err_detail *detail)
{
    if (runtime_inside(runtime)->replica.sessions == 0) {
        const enum err done = write_at_once(runtime, place, &writing, detail);
        value_unref(writing.value);
        return done;
    }
    return own_write_cell_adopt(runtime_inside(runtime),
                                place,
                                writing,
                                detail);
}

enum err edit_write_adopt(hd_runtime *runtime,
                          struct place *place,
                          struct cell_writing writing,
                          struct err_detail *detail)
{
    struct hd_run *frame = runtime->run;
    enum err err = runtime_check_changing(runtime, "a write", detail);
    if (err != ERR_OK) {
        value_unref(writing.value);
        return err;
    }
    if (frame == NULL) {
        return write_own_adopt(runtime, place, writing, detail);
    }
    err = own_write_in(&frame->access, place, &writing, detail);
    value_unref(writing.value);
    frame->stale |= err == ERR_STALE;
    return err;
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

bool edits_try_again(hd_runtime *runtime)
{
    return own_writes_try_again(runtime_inside(runtime));
}

bool edits_are_over(const hd_runtime *runtime)
{
    return list_is_empty(&runtime->deeds) &&
           own_writes_are_over(runtime_inside(runtime));
}

void edits_end(hd_runtime *runtime)
{
    LIST_FOREACH (&runtime->deeds, at) {
        struct deed *deed = CONTAINER_OF(at, struct deed, node);
        deed->runtime = NULL;
        if (deed->waits) { /* the answer comes with the end, and frees it */
            list_remove(&deed->node);
        } else {
            deed_free(deed);
        }
    }
}

/* -- Edits --------------------------------------------------------------- */

struct editing {
    hd_runtime *runtime;
    hd_edit_fn *edit;
    void *context;
    struct deed *deed;
    bool again; /* what it read was not there, or is not what it was */
};

/* Calls the function in the frame of the transaction. OK, or why the attempt
 * is given up. */
static enum err call_in(struct editing *editing,
                        struct transaction *transaction,
                        struct err_detail *detail)
{
    hd_runtime *runtime = editing->runtime;
    const struct cell_access access = {runtime_inside(runtime),
                                       NULL,
                                       transaction};
    struct hd_run *frame = api_frame_begin(runtime, &access);
    const hd_status status = editing->edit(runtime, editing->context);
    enum err err = ERR_OK;
    if (frame->stale || transaction_is_awaiting(transaction)) {
        editing->again = true;
        err = ERR_STALE;
    } else if (status != HD_OK) {
        err = (enum err)status;
        frame_failure(frame, status, detail);
    }
    api_frame_end(frame);
    return err;
}

/* One attempt, up to its commit here. */
static enum err attempt(struct editing *editing, struct err_detail *detail)
{
    struct deed *deed = editing->deed;
    struct runtime *inside = runtime_inside(editing->runtime);
    const struct transaction_options options = {
        .watch = {.settled = on_settled, .ctx = deed},
        .attempt = deed->attempts,
        .refused = deed->refused,
    };
    editing->again = false;
    (void)own_writes_try_again(inside); /* own-write-2 */
    deed->attempts++;
    deed->waits = true;
    deed->said = (struct err_detail){0};
    struct transaction *transaction =
        transaction_begin(&inside->replica, &options);
    enum err err = call_in(editing, transaction, detail);
    if (err == ERR_OK) {
        deed->ordered = own_writes_order(inside, transaction);
        err = lineage_commit(inside->sched, transaction, detail);
        editing->again = err == ERR_STALE;
    } else {
        lineage_abort(transaction);
    }
    if (err != ERR_OK || transaction->applied == 0) {
        deed->waits = false;
    }
    /* own-write-4 */
    const bool ended =
        err == ERR_OK ? own_write_is_idle(transaction) : !editing->again;
    transaction_release(transaction);
    if (UNLIKELY(ended) && runtime_was_behind(inside)) {
        editing->again = true;
        return err_set(detail,
                       ERR_STALE,
                       "conflict: a value that the edit "
                       "read has changed");
    }
    if (editing->again) { /* a document that it met, or a computation for it */
        const enum err load =
            home_load_requested(editing->runtime->home, detail);
        if (load != ERR_OK) {
            editing->again = false;
            return load;
        }
    }
    return err;
}

/* Waits for what the store says to it. */
static enum err answer(struct editing *editing, struct err_detail *detail)
{
    const struct deed *deed = editing->deed;
    hd_runtime *runtime = editing->runtime;
    runtime->busy++;
    if (deed->waits) {
        const mono_ms deadline = home_now(runtime->home) + EDIT_WAIT_MS;
        const enum err err = home_flush(runtime->home, deadline, detail);
        if (err != ERR_OK && deed->waits) {
            runtime->busy--;
            return err;
        }
    }
    runtime->busy--;
    *detail = deed->said;
    editing->again = is_to_be_done_again(deed);
    return deed->said.err;
}

static enum err edit_until_done(struct editing *editing,
                                struct err_detail *detail)
{
    enum err err;
    do {
        if (editing->deed->attempts >= EDIT_ATTEMPTS) {
            return err_set(detail,
                           ERR_NOT_CONVERGED,
                           "gave up after %d conflicts",
                           EDIT_ATTEMPTS);
        }
        err = attempt(editing, detail);
        if (err == ERR_OK) {
            err = answer(editing, detail);
        }
    } while (err != ERR_OK && editing->again);
    return err;
}

hd_status hd_runtime_edit(hd_runtime *runtime,
                          hd_edit_fn *edit,
                          void *context,
                          hd_error *error)
{
    struct err_detail detail = {0};
    enum err err = runtime_check_ground(runtime, &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    if (edit == NULL) {
        return error_null(error, "edit");
    }
    struct editing editing = {runtime, edit, context, deed_new(runtime), false};
    editing.deed->watched = true;
    err = edit_until_done(&editing, &detail);
    struct deed *deed = editing.deed;
    const hd_status status = error_report(error, err, &detail);
    if (error != NULL && err != ERR_OK) {
        error->attempts = deed->attempts;
        error->may_have_happened =
            deed->waits || err == ERR_SESSION_LOST || err == ERR_CLOSED;
    }
    deed->watched = false;
    if (!deed->waits) { /* otherwise its answer frees it (D1) */
        deed_free(deed);
    }
    return status;
}
