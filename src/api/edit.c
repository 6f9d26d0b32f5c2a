/* Deeds: writes of their own, and edits. */

#include "api/edit.h"

#include "api/cell.h"
#include "api/frame.h"
#include "base/mem.h"
#include "sched/labels.h"
#include "sched/lineage.h"

struct deed {
    struct list_node node;       /* in the runtime's deeds */
    hd_runtime *runtime;         /* NULL: has ended */
    struct place *place;         /* of a write of its own; NULL: an edit */
    struct cell_writing writing; /* likewise */
    uint32_t attempts;
    bool waits;             /* an answer is to come */
    bool watched;           /* somebody looks at it, and frees it */
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
    if (deed->place != NULL) {
        place_unref(deed->place);
    }
    value_unref(deed->writing.value);
    mem_free(deed, sizeof *deed);
}

static bool is_to_be_done_again(const struct deed *deed)
{
    return deed->said.err != ERR_OK &&
           err_class_of(deed->said.err) == ERR_CLASS_RETRY &&
           deed->attempts < EDIT_ATTEMPTS;
}

/* The end of one that nobody looks at, unless it is to be done again. */
static void conclude(struct deed *deed)
{
    if (deed->runtime != NULL && is_to_be_done_again(deed)) {
        return; /* edits_try_again */
    }
    if (deed->runtime != NULL && deed->said.err != ERR_OK) {
        deed->runtime->busy++;
        runtime_report(deed->runtime, VALUE_NONE, deed->place, &deed->said);
        deed->runtime->busy--;
    }
    deed_free(deed);
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct deed *deed = ctx;
    deed->waits = false;
    deed->said = verdict->detail;
    deed->said.err = verdict->err;
    if (!deed->watched) {
        conclude(deed);
    }
}

/* -- Writing ------------------------------------------------------------- */

static enum err write_in(const struct cell_access *access,
                         struct place *place,
                         const struct cell_writing *writing,
                         struct err_detail *detail)
{
    if (writing->labels) {
        return labels_declare(access->transaction,
                              place,
                              writing->value,
                              detail);
    }
    if (writing->kind == WRITE_DELETE) {
        return cell_delete(access, place, detail);
    }
    const struct value value = value_ref(writing->value);
    return writing->kind == WRITE_PUT
               ? cell_put_adopt(access, place, value, detail)
               : cell_merge_adopt(access, place, writing->kind, value, detail);
}

/* One attempt of a write of its own. The deed is gone, unless it waits. */
static enum err write_alone(struct deed *deed, struct err_detail *detail)
{
    struct runtime *inside = runtime_inside(deed->runtime);
    const struct transaction_options options = {
        .watch = {.settled = on_settled, .ctx = deed},
    };
    enum err err = ERR_STALE;
    bool applied = false;
    deed->watched = true;
    deed->said = (struct err_detail){0};
    for (unsigned i = 0; i < CELL_ATTEMPTS && err == ERR_STALE; i++) {
        struct transaction *transaction =
            transaction_begin(&inside->replica, &options);
        const struct cell_access access = {inside, NULL, transaction};
        deed->attempts++;
        deed->waits = true;
        err = write_in(&access, deed->place, &deed->writing, detail);
        if (err == ERR_OK) {
            err = labels_apply(inside->sched, transaction, detail);
        }
        if (err == ERR_OK) {
            err = transaction_commit(transaction, detail);
        }
        applied = err == ERR_OK && transaction->applied > 0;
        transaction_release(transaction);
    }
    deed->watched = false;
    if (!applied) {
        deed_free(deed);
    } else if (!deed->waits) {
        conclude(deed);
    }
    return err;
}

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
        err = write_in(&access, place, writing, detail);
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
    struct place *target;
    const enum err err = cell_target(runtime, place, &target, detail);
    if (err != ERR_OK) {
        value_unref(writing.value);
        return err;
    }
    place_unref(target);
    struct deed *deed = deed_new(runtime);
    deed->place = place_ref(place);
    deed->writing = writing;
    return write_alone(deed, detail);
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
    struct place *target = NULL;
    if (frame->access.run == NULL) { /* an edit loads what it writes to */
        err = cell_target(runtime, place, &target, detail);
    }
    if (err == ERR_OK) {
        err = write_in(&frame->access, place, &writing, detail);
    }
    if (target != NULL) {
        place_unref(target);
    }
    value_unref(writing.value);
    frame->stale |= err == ERR_STALE;
    return err;
}

bool edits_try_again(hd_runtime *runtime)
{
    bool any = false;
    VEC(struct deed *) again = {0};
    LIST_FOREACH (&runtime->deeds, at) {
        struct deed *deed = CONTAINER_OF(at, struct deed, node);
        if (!deed->waits && !deed->watched) {
            vec_push(&again, deed);
        }
    }
    VEC_FOREACH (&again, deed) {
        struct place *place = place_ref((*deed)->place);
        struct err_detail detail = {0};
        if (write_alone(*deed, &detail) != ERR_OK) {
            runtime_report(runtime, VALUE_NONE, place, &detail);
        }
        place_unref(place);
        any = true;
    }
    vec_release(&again);
    return any;
}

bool edits_are_over(const hd_runtime *runtime)
{
    return list_is_empty(&runtime->deeds);
}

void edits_end(hd_runtime *runtime)
{
    LIST_FOREACH (&runtime->deeds, at) {
        struct deed *deed = CONTAINER_OF(at, struct deed, node);
        deed->runtime = NULL;
        if (deed->place != NULL) {
            place_unref(deed->place);
            deed->place = NULL;
        }
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
    };
    editing->again = false;
    deed->attempts++;
    deed->waits = true;
    deed->said = (struct err_detail){0};
    struct transaction *transaction =
        transaction_begin(&inside->replica, &options);
    enum err err = call_in(editing, transaction, detail);
    const bool unread = editing->again; /* a read could not be done */
    if (err == ERR_OK) {
        err = lineage_commit(inside->sched, transaction, detail);
        editing->again = err == ERR_STALE;
    } else {
        lineage_abort(transaction);
    }
    if (err != ERR_OK || transaction->applied == 0) {
        deed->waits = false;
    }
    transaction_release(transaction);
    if (unread) { /* a document that it met, or a computation for it */
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
                           "others were faster %d times",
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
