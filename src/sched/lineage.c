/* What a transaction has launched, and the verdict on its commit. */

#include "sched/lineage.h"

#include "base/mem.h"
#include "replica/space.h"
#include "sched/claims.h"
#include "sched/event.h"
#include "sched/labels.h"
#include "sched/outbox.h"

#define SENT_BY(list_node) CONTAINER_OF((list_node), struct event, in_origin)

/* -- Records ------------------------------------------------------------- */

struct lineage *lineage_of(struct sched *sched, struct transaction *transaction)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    if (transaction->launched != NULL) {
        return transaction->launched;
    }
    struct lineage *lineage = mem_alloc_zero(sizeof *lineage);
    lineage->sched = sched;
    lineage->number = ++events_of(sched)->origins;
    lineage->refs = 1;
    list_init(&lineage->events);
    list_node_init(&lineage->in_outbox);
    transaction->launched = lineage;
    transaction->has_more = true;
    return lineage;
}

struct lineage *lineage_ref(struct lineage *lineage)
{
    lineage->refs++;
    return lineage;
}

void lineage_unref(struct lineage *lineage)
{
    if (lineage == NULL || --lineage->refs > 0) {
        return;
    }
    CHECK(list_is_empty(&lineage->events));
    vec_release(&lineage->commits);
    vec_release(&lineage->stops);
    vec_release(&lineage->outbox);
    if (lineage->unsent != NULL) {
        mem_free(lineage->unsent, sizeof *lineage->unsent);
    }
    mem_free(lineage, sizeof *lineage);
}

struct lineage *lineage_take(struct transaction *transaction)
{
    struct lineage *lineage = transaction->launched;
    transaction->launched = NULL;
    return lineage;
}

/* -- Launching ----------------------------------------------------------- */

void lineage_stop_unless_landed(struct sched *sched,
                                struct transaction *transaction,
                                void (*stop)(void *ctx),
                                void *ctx)
{
    const struct launched_call call = {stop, ctx};
    if (transaction->state == TRANSACTION_ABORTED) {
        stop(ctx);
        return;
    }
    vec_push(&lineage_of(sched, transaction)->stops, call);
}

void lineage_after_landing(struct sched *sched,
                           struct transaction *transaction,
                           void (*call)(void *ctx),
                           void *ctx)
{
    const struct launched_call later = {call, ctx};
    if (transaction->state == TRANSACTION_ABORTED) {
        return;
    }
    vec_push(&lineage_of(sched, transaction)->outbox, later);
}

void lineage_refuse(struct sched *sched,
                    struct transaction *transaction,
                    const struct err_detail *why)
{
    struct lineage *lineage = lineage_of(sched, transaction);
    if (lineage->unsent == NULL) {
        lineage->unsent = mem_alloc_zero(sizeof *lineage->unsent);
        *lineage->unsent = *why;
    }
}

/* -- Verdicts ------------------------------------------------------------ */

/* lineage-3. A stop may launch and stop other things, but nothing of this
 * record. */
static void fail(struct lineage *lineage)
{
    lineage->state = LINEAGE_FAILED;
    while (!list_is_empty(&lineage->events)) {
        event_end_orphan(SENT_BY(list_first(&lineage->events)));
    }
    while (lineage->stops.count > 0) {
        const struct launched_call stop = vec_pop(&lineage->stops);
        stop.call(stop.ctx);
    }
    vec_clear(&lineage->outbox);
}

static void confirm(struct lineage *lineage)
{
    lineage->state = LINEAGE_CONFIRMED;
    vec_clear(&lineage->stops);
    vec_clear(&lineage->commits);
    LIST_FOREACH (&lineage->events, at) {
        struct event *event = SENT_BY(at);
        if (UNLIKELY(event->state == EVENT_STORED)) {
            timers_landed(event);
        } else if (event->park == PARK_ORIGIN) {
            event->park = PARK_NONE;
        }
    }
}

static void settle(struct lineage *lineage)
{
    if (lineage->refused) {
        fail(lineage);
    } else {
        confirm(lineage);
    }
}

void lineage_answer(struct lineage *lineage, enum err err)
{
    lineage->answers++;
    lineage->refused = lineage->refused || err != ERR_OK;
    if (lineage->state == LINEAGE_APPLIED && lineage->sched != NULL &&
        (lineage->refused || lineage->answers >= lineage->expected)) {
        settle(lineage);
    }
}

void lineage_committed(struct lineage *lineage,
                       const struct transaction *transaction,
                       enum err err)
{
    CHECK(lineage->state == LINEAGE_OPEN);
    if (err != ERR_OK) {
        fail(lineage);
        lineage_unref(lineage);
        return;
    }
    lineage->state = LINEAGE_APPLIED;
    lineage->expected =
        transaction->watch.settled != NULL ? transaction->applied : 0;
    VEC_FOREACH (&transaction->commits, commit) {
        vec_push(&lineage->commits, *commit);
    }
    if (lineage->outbox.count > 0) {
        outbox_add(lineage->sched, lineage);
    }
    LIST_FOREACH (&lineage->events, at) {
        SENT_BY(at)->park = PARK_NONE; /* it is not open any more */
    }
    if (lineage->refused || lineage->answers >= lineage->expected) {
        settle(lineage);
    }
    lineage_unref(lineage);
}

enum lineage_leave lineage_leave(const struct lineage *lineage,
                                 const struct space *space,
                                 struct origin *needs)
{
    *needs = (struct origin){0};
    switch (lineage->state) {
    case LINEAGE_OPEN:
        return LEAVE_WAIT;
    case LINEAGE_CONFIRMED:
        return LEAVE_GO;
    case LINEAGE_FAILED:
        return LEAVE_NEVER;
    case LINEAGE_APPLIED:
        break;
    }
    VEC_FOREACH (&lineage->commits, commit) {
        if (commit->space == space) {
            *needs = *commit;
            return LEAVE_GO;
        }
    }
    return LEAVE_WAIT;
}

/* -- Transactions from outside ------------------------------------------- */

/* Between the store and the watch of the transaction. */
struct relay {
    struct commit_watch watch; /* the original watch */
    struct lineage *lineage;   /* a reference */
    uint32_t expected;         /* 0: not known yet */
    uint32_t answers;
};

static void relay_verdict(void *ctx, const struct verdict *verdict)
{
    const struct relay *relay = ctx;
    if (relay->watch.verdict != NULL) {
        relay->watch.verdict(relay->watch.ctx, verdict);
    }
}

static void relay_end(struct relay *relay)
{
    lineage_unref(relay->lineage);
    mem_free(relay, sizeof *relay);
}

static void relay_settled(void *ctx, const struct verdict *verdict)
{
    struct relay *relay = ctx;
    if (relay->watch.settled != NULL) {
        relay->watch.settled(relay->watch.ctx, verdict);
    }
    lineage_answer(relay->lineage, verdict->err);
    relay->answers++;
    if (relay->answers == relay->expected) {
        relay_end(relay);
    }
}

static enum err commit_labelled(struct sched *sched,
                                struct transaction *transaction,
                                struct err_detail *detail)
{
    enum err err = labels_apply(sched, transaction, detail);
    if (err == ERR_OK) {
        err = claims_add(sched, NULL, transaction, false, detail);
    }
    if (err == ERR_OK) {
        return transaction_commit(transaction, detail);
    }
    transaction->applied = 0;
    transaction_abort(transaction);
    return err;
}

enum err lineage_commit(struct sched *sched,
                        struct transaction *transaction,
                        struct err_detail *detail)
{
    struct lineage *lineage = lineage_take(transaction);
    if (lineage == NULL) {
        return commit_labelled(sched, transaction, detail);
    }
    struct relay *relay = mem_alloc_zero(sizeof *relay);
    relay->watch = transaction->watch;
    relay->lineage = lineage_ref(lineage);
    transaction->given = true;
    transaction->watch = (struct commit_watch){
        .verdict = relay_verdict,
        .settled = relay_settled,
        .ctx = relay,
    };
    const enum err err = commit_labelled(sched, transaction, detail);
    /* Commits that were applied get a verdict, even if a later one failed. */
    relay->expected = transaction->applied;
    lineage_committed(lineage, transaction, err);
    if (relay->answers == relay->expected) {
        relay_end(relay);
    }
    return err;
}

void lineage_abort(struct transaction *transaction)
{
    struct lineage *lineage = lineage_take(transaction);
    transaction_abort(transaction);
    if (lineage != NULL) {
        lineage_committed(lineage, transaction, ERR_GIVEN_UP);
    }
}
