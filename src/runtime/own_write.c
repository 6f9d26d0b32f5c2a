/* Transactions outside runs: made, repeated after conflicts, kept in order. */

#include "runtime/own_write.h"

#include "base/mem.h"
#include "replica/draft.h"
#include "sched/labels.h"
#include "sched/lineage.h"

struct own_write {
    struct list_node node;   /* in the order in which they were made */
    struct runtime *runtime; /* NULL: has ended */
    struct own_write_spec spec;
    uint32_t attempts;
    uint32_t expected; /* answers of the attempt under way; 0: none, */
    uint32_t answers;  /* and those that have come */
    bool making;       /* the attempt is being made */
    bool conditional;  /* it has a condition of own-write-2, */
    bool depends;      /* or has read something: it may be refused for that */
    bool again;        /* refused: own_writes_try_again */
    bool refused;      /* an attempt was, by the store */
    bool idle;         /* the attempt wrote, and changed nothing */
    struct err_detail said;
    VEC(struct origin) commits;
    VEC(struct entity *) entities; /* that it has written */
};

#define WRITE_OF(at) CONTAINER_OF((at), struct own_write, node)

static void write_free(struct own_write *write)
{
    list_remove(&write->node);
    vec_release(&write->commits);
    vec_release(&write->entities);
    mem_free(write, sizeof *write);
}

/* own-write-1. */
static void end(struct own_write *write)
{
    const struct own_writes *writes = &write->runtime->own_writes;
    const enum err err = write->said.err;
    if (write->spec.reported && err != ERR_OK && err != ERR_CLOSED &&
        writes->report != NULL) {
        writes->report(writes->report_ctx, write->spec.place, &write->said);
    }
    write->spec.ended(write->spec.ctx, &write->said);
    write_free(write);
}

/* Whether another attempt may do better. */
static bool is_to_be_made_again(const struct own_write *write)
{
    const enum err err = write->said.err;
    return write->attempts < OWN_WRITE_ATTEMPTS &&
           (err_class_of(err) == ERR_CLASS_RETRY ||
            (err == ERR_ORIGIN_FAILED && write->conditional));
}

/* All verdicts have arrived. */
static void conclude(struct own_write *write)
{
    write->expected = 0;
    write->answers = 0;
    if (write->said.err != ERR_OK && is_to_be_made_again(write)) {
        write->again = true;
        write->refused = true;
        return;
    }
    end(write);
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct own_write *write = ctx;
    write->answers++;
    if (verdict->err != ERR_OK && write->said.err == ERR_OK) {
        write->said = verdict->detail;
        write->said.err = verdict->err;
    }
    if (write->making || write->answers < write->expected) {
        return;
    }
    if (write->runtime == NULL) {
        write_free(write);
    } else {
        conclude(write);
    }
}

/* -- Order --------------------------------------------------------------- */

/* Whether the transaction must not land before the earlier write: it writes to
 * one of the same documents in the space, or the earlier write may write to
 * other documents when it is repeated. */
static bool overlaps(const struct transaction *transaction,
                     const struct own_write *earlier,
                     const struct space *space)
{
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        const struct entity *entity = transaction->drafts.at[i]->entity;
        if (entity->space != space) {
            continue;
        }
        bool same = earlier->depends;
        VEC_FOREACH (&earlier->entities, written) {
            same = same || *written == entity;
        }
        if (same) {
            return true;
        }
    }
    return false;
}

static bool add_conditions(struct list *writes,
                           const struct own_write *own,
                           struct transaction *transaction)
{
    bool any = false;
    LIST_FOREACH (writes, at) {
        const struct own_write *earlier = WRITE_OF(at);
        if (earlier == own) {
            break;
        }
        VEC_FOREACH (&earlier->commits, commit) {
            if (earlier->expected > 0 &&
                overlaps(transaction, earlier, commit->space)) {
                transaction_needs(transaction,
                                  commit->space,
                                  commit->local_seq);
                any = true;
            }
        }
    }
    return any;
}

/* -- One attempt --------------------------------------------------------- */

bool runtime_is_loading(const struct runtime *runtime)
{
    VEC_FOREACH (&runtime->spaces, space) {
        if (space_is_loading(*space)) {
            return true;
        }
    }
    return false;
}

bool runtime_fetch_requested(struct runtime *runtime)
{
    bool all = true;
    VEC_FOREACH (&runtime->spaces, space) {
        while (runtime->fetch != NULL && space_is_loading(*space)) {
            struct entity *entity = *vec_last(&(*space)->loading);
            runtime->fetch(runtime->fetch_ctx, entity);
            if (!entity->loaded) {
                all = false;
                break;
            }
        }
    }
    return all;
}

/* Of one that was committed: whether it wrote, and changed nothing. */
static bool is_idle(const struct transaction *transaction)
{
    return transaction->applied == 0 && transaction->drafts_used > 0 &&
           transaction->replica->sessions > 0;
}

/* own-write-4: takes in what others have committed up to now; whether anything
 * looks different since. */
static bool was_behind(struct runtime *runtime)
{
    const uint64_t version = runtime->replica.version;
    if (runtime->refresh != NULL) {
        runtime->refresh(runtime->fetch_ctx);
    }
    return runtime->replica.version != version;
}

static void note_commits(struct own_write *write,
                         const struct transaction *transaction)
{
    write->depends = write->conditional || transaction->reads.count > 0;
    vec_clear(&write->commits);
    vec_clear(&write->entities);
    VEC_FOREACH (&transaction->commits, commit) {
        vec_push(&write->commits, *commit);
    }
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        vec_push(&write->entities, transaction->drafts.at[i]->entity);
    }
}

/* One attempt. STALE: another attempt may succeed. */
static enum err attempt(struct own_write *write, struct err_detail *detail)
{
    struct runtime *runtime = write->runtime;
    const struct transaction_options options = {
        .group = write->spec.group,
        .several_spaces = write->spec.several_spaces,
        .attempt = write->attempts,
        .refused = write->refused,
        .watch = {.settled = on_settled, .ctx = write},
    };
    write->attempts++;
    write->said = (struct err_detail){0};
    struct transaction *transaction =
        transaction_begin(&runtime->replica, &options);
    enum err err = write->spec.write(write->spec.ctx, transaction, detail);
    if (transaction->unloaded > 0 || transaction_is_awaiting(transaction)) {
        /* own-write-3; also if it has failed */
        err = err_set(detail, ERR_STALE, "a document is not loaded yet");
    }
    if (err == ERR_OK) {
        write->conditional =
            add_conditions(&runtime->own_writes.list, write, transaction);
        err = lineage_commit(runtime->sched, transaction, detail);
        write->expected = transaction->applied;
        write->idle = is_idle(transaction);
        if (write->expected > write->answers) {
            note_commits(write, transaction);
        }
        if (err != ERR_OK && write->expected > 0) { /* one of several spaces */
            write->attempts = OWN_WRITE_ATTEMPTS;
            write->said = *detail;
            write->said.err = err;
        }
    } else {
        lineage_abort(transaction);
    }
    transaction_release(transaction);
    return err;
}

/* own-write-4: whether an attempt ended without a commit, because it changed
 * nothing or failed. */
static bool ended_here(const struct own_write *write, enum err err)
{
    return err == ERR_OK ? write->idle
                         : err != ERR_STALE && write->expected == 0;
}

static bool make_refused(struct runtime *runtime, const struct own_write *last);

/* Repeats attempts until one was applied, or cannot be. Refusals of earlier
 * writes may arrive with the documents that it fetches: those are repeated
 * first. own-write-3: an attempt that met a document which has arrived since
 * does not count. */
static enum err make(struct own_write *write, struct err_detail *detail)
{
    struct runtime *runtime = write->runtime;
    enum err err = ERR_STALE;
    unsigned left = CELL_ATTEMPTS;
    write->making = true;
    write->again = false;
    while (left > 0 && err == ERR_STALE) {
        (void)make_refused(runtime, write); /* own-write-2 */
        err_clear(detail);
        write->idle = false;
        err = attempt(write, detail);
        if (UNLIKELY(ended_here(write, err)) && was_behind(runtime)) {
            err = err_set(detail, ERR_STALE, "conflict: the data has changed");
        }
        if (err != ERR_STALE || !runtime_is_loading(runtime)) {
            left--;
        } else if (runtime_fetch_requested(runtime)) {
            write->attempts--;
        } else {
            left = 0;
        }
    }
    write->making = false;
    return err;
}

static void make_again(struct own_write *write)
{
    struct err_detail detail = {0};
    const enum err err = make(write, &detail);
    if (err != ERR_OK && write->expected == 0) {
        write->said = detail;
        write->said.err = err;
        end(write);
    } else if (write->answers == write->expected) {
        conclude(write);
    }
}

/* Repeats the refused writes in order, up to `last`, or all if that is NULL.
 * True if there were any. A repeated write repeats only earlier ones itself, so
 * that later ones stay. */
static bool make_refused(struct runtime *runtime, const struct own_write *last)
{
    VEC(struct own_write *) refused = {0};
    LIST_FOREACH (&runtime->own_writes.list, at) {
        if (WRITE_OF(at) == last) {
            break;
        }
        if (WRITE_OF(at)->again) {
            vec_push(&refused, WRITE_OF(at));
        }
    }
    VEC_FOREACH (&refused, at) {
        make_again(*at);
    }
    const bool any = refused.count > 0;
    vec_release(&refused);
    return any;
}

enum err own_write_make(struct runtime *runtime,
                        const struct own_write_spec *spec,
                        struct err_detail *detail)
{
    struct own_write *write = mem_alloc_zero(sizeof *write);
    write->runtime = runtime;
    write->spec = *spec;
    list_node_init(&write->node);
    list_push_back(&runtime->own_writes.list, &write->node);
    const enum err err = make(write, detail);
    if (err != ERR_OK && write->expected == 0) {
        write_free(write);
        return err;
    }
    if (write->answers == write->expected) {
        conclude(write);
    }
    return ERR_OK;
}

bool own_writes_try_again(struct runtime *runtime)
{
    return make_refused(runtime, NULL);
}

bool own_writes_are_over(const struct runtime *runtime)
{
    return list_is_empty(&runtime->own_writes.list);
}

/* The end of the sessions delivers the missing verdicts. */
void own_writes_end(struct runtime *runtime)
{
    while (!list_is_empty(&runtime->own_writes.list)) {
        struct own_write *write =
            WRITE_OF(list_first(&runtime->own_writes.list));
        struct err_detail said = {0};
        (void)err_set(&said, ERR_CLOSED, "the runtime was closed");
        list_remove(&write->node);
        write->spec.ended(write->spec.ctx, &said);
        write->runtime = NULL;
        if (write->expected == 0) {
            write_free(write);
        }
    }
}

/* -- Cells --------------------------------------------------------------- */

struct cell_own {
    struct runtime *runtime;
    struct place *place;
    struct cell_writing writing;
};

/* Whether the cell is absent, as a read of the transaction: if another session
 * writes there first, this is checked again. */
static enum err look_for_nothing(const struct cell_access *access,
                                 struct place *place,
                                 bool *nothing,
                                 struct err_detail *detail)
{
    struct value found;
    const enum err err = cell_read(access,
                                   place,
                                   READ_SHAPE,
                                   READ_FOR_BOTH,
                                   &found,
                                   NULL,
                                   detail);
    *nothing = value_is_absent(found);
    value_unref(found);
    return err;
}

enum err own_write_in(const struct cell_access *access,
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
    if (writing->initial) {
        bool nothing = false;
        const enum err err = look_for_nothing(access, place, &nothing, detail);
        if (err != ERR_OK || !nothing) {
            return err;
        }
    }
    if (writing->kind == WRITE_DELETE) {
        return cell_delete(access, place, detail);
    }
    const struct value value = value_ref(writing->value);
    return writing->kind == WRITE_PUT
               ? cell_put_adopt(access, place, value, detail)
               : cell_merge_adopt(access, place, writing->kind, value, detail);
}

static enum err write_cell(void *ctx,
                           struct transaction *transaction,
                           struct err_detail *detail)
{
    const struct cell_own *own = ctx;
    const struct cell_access access = {own->runtime, NULL, transaction};
    return own_write_in(&access, own->place, &own->writing, detail);
}

static void cell_ended(void *ctx, const struct err_detail *said)
{
    struct cell_own *own = ctx;
    (void)said; /* it was reported */
    place_unref(own->place);
    value_unref(own->writing.value);
    mem_free(own, sizeof *own);
}

/* Without a store there is no later verdict: the write succeeds or fails now.
 */
static enum err write_at_once(struct runtime *runtime,
                              struct place *place,
                              const struct cell_writing *writing,
                              struct err_detail *detail)
{
    enum err err = ERR_STALE;
    for (unsigned i = 0; i < CELL_ATTEMPTS && err == ERR_STALE; i++) {
        struct transaction *transaction =
            transaction_begin(&runtime->replica, NULL);
        const struct cell_access access = {runtime, NULL, transaction};
        err = own_write_in(&access, place, writing, detail);
        if (err == ERR_OK) {
            err = labels_apply(runtime->sched, transaction, detail);
        }
        if (err == ERR_OK) {
            err = transaction_finish(transaction, detail);
        } else {
            transaction_release(transaction);
        }
    }
    return err;
}

enum err own_write_cell_adopt(struct runtime *runtime,
                              struct place *place,
                              struct cell_writing writing,
                              struct err_detail *detail)
{
    if (runtime->replica.sessions == 0) {
        const enum err err = write_at_once(runtime, place, &writing, detail);
        value_unref(writing.value);
        return err;
    }
    struct cell_own *own = mem_alloc_zero(sizeof *own);
    own->runtime = runtime;
    own->place = place_ref(place);
    own->writing = writing;
    const struct own_write_spec spec = {
        .write = write_cell,
        .ended = cell_ended,
        .ctx = own,
        .reported = true,
        .place = own->place,
    };
    cell_bring(runtime, place);
    const enum err err = own_write_make(runtime, &spec, detail);
    if (err != ERR_OK) {
        cell_ended(own, detail);
    }
    return err;
}
