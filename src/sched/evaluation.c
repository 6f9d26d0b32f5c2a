/* Calls computations on the transaction of a handler or an edit. */

#include "sched/evaluation.h"

#include "replica/prefetch.h"
#include "replica/space.h"
#include "sched/graph.h"
#include "sched/lineage.h"
#include "sched/node_registry.h"

#define CHILD_OF(link) CONTAINER_OF((link), struct node, sibling)

/* -- What was evaluated -------------------------------------------------- */

/* Opens the scratch; the lists are emptied if it is new. */
static struct transaction *open_scratch(struct sched *sched,
                                        struct transaction *view)
{
    struct evaluation *evaluation = &sched->evaluation;
    struct transaction *scratch = transaction_scratch(view);
    if (evaluation->epoch != scratch->epoch) {
        evaluation->epoch = scratch->epoch;
        vec_clear(&evaluation->done);
        vec_clear(&evaluation->failed);
    }
    return scratch;
}

/* Whether the lists belong to the view. */
static bool is_current(const struct sched *sched,
                       const struct transaction *view)
{
    return view->scratch != NULL &&
           view->scratch->epoch == sched->evaluation.epoch;
}

static bool is_done(const struct sched *sched,
                    const struct transaction *view,
                    const struct node *node)
{
    if (!is_current(sched, view)) {
        return false;
    }
    VEC_FOREACH (&sched->evaluation.done, done) {
        if (*done == node) {
            return true;
        }
    }
    return false;
}

static const struct evaluation_failure *find_failure(
    const struct sched *sched,
    const struct transaction *view,
    const struct node *node)
{
    if (!is_current(sched, view)) {
        return NULL;
    }
    VEC_FOREACH (&sched->evaluation.failed, failure) {
        if (failure->node == node) {
            return failure;
        }
    }
    return NULL;
}

/* The failure of a writer of what is read, or NULL. */
static const struct evaluation_failure *find_failed_writer(
    const struct sched *sched,
    const struct transaction *view,
    const struct read_link *read)
{
    if (LIKELY(sched->evaluation.failed.count == 0)) {
        return NULL;
    }
    const struct evaluation_failure *failure = NULL;
    struct writer_walk walk = graph_writers(read);
    walk.envelopes = true;
    for (struct node *writer = graph_next_writer(&walk);
         writer != NULL && failure == NULL;
         writer = graph_next_writer(&walk)) {
        failure = find_failure(sched, view, writer);
    }
    return failure;
}

/* Records how an evaluation ended, unless it was only interrupted to begin
 * again. */
static void record(struct sched *sched,
                   struct transaction *view,
                   struct node *node,
                   enum err err)
{
    struct evaluation *evaluation = &sched->evaluation;
    (void)open_scratch(sched, view);
    if (err == ERR_OK) {
        vec_push(&evaluation->done, node);
    } else if (evaluation->deep == NULL && !sched->unwinding &&
               find_failure(sched, view, node) == NULL) {
        struct evaluation_failure *failure = vec_add(&evaluation->failed);
        failure->node = node;
        err_clear(&failure->why);
        if (err == ERR_GIVEN_UP) {
            failure->why = evaluation->error;
        }
        failure->why.err = err;
    }
}

void evaluation_forget(struct sched *sched, const struct node *node)
{
    struct evaluation *evaluation = &sched->evaluation;
    size_t kept = 0;
    if (evaluation->deep == node) {
        evaluation->deep = NULL;
    }
    VEC_FOREACH (&evaluation->done, done) {
        if (*done != node) {
            evaluation->done.at[kept++] = *done;
        }
    }
    evaluation->done.count = kept;
    kept = 0;
    VEC_FOREACH (&evaluation->failed, failure) {
        if (failure->node != node) {
            evaluation->failed.at[kept++] = *failure;
        }
    }
    evaluation->failed.count = kept;
}

/* -- One computation ----------------------------------------------------- */

/* evaluation-5. The first reason counts. */
static enum err refuse(struct sched *sched,
                       const struct node *node,
                       const char *why)
{
    struct evaluation *evaluation = &sched->evaluation;
    const struct value name = node_name(node);
    const struct text text = value_is_string(name)
                                 ? value_text(&name)
                                 : (struct text){"a computation", 13};
    if (evaluation->error.err == ERR_OK) {
        (void)err_set(&evaluation->error,
                      ERR_GIVEN_UP,
                      "%.*s cannot be computed from the writes of this "
                      "transaction: %s",
                      (int)text.length,
                      text.at,
                      why);
    }
    return ERR_GIVEN_UP;
}

static enum err check_evaluable(struct sched *sched, const struct node *node)
{
    if (node->children.first != NULL && !node->coordinator) {
        return refuse(sched, node, "it creates other nodes");
    }
    return ERR_OK;
}

static struct run *evaluation_begin(struct sched *sched,
                                    struct run *viewer,
                                    struct transaction *view,
                                    struct node *node)
{
    struct run *run =
        run_take(sched, node, sched->run != NULL ? sched->run->depth + 1 : 0);
    run->view = view;
    run->viewer = viewer;
    run->was = node->status;
    run->began = 0;
    run->change_epoch = sched->change_epoch;
    run->stale_epoch = sched->stale_epoch;
    err_clear(&run->detail);
    node->running = true;
    sched->run = run;
    return run;
}

/* Removes the nodes that the run has registered. Nested runs may have
 * registered others since. */
static void remove_born(const struct run *run)
{
    struct sched *sched = run->sched;
    struct node *next = NULL;
    for (struct node *node = run->node->children.first != NULL
                                 ? CHILD_OF(run->node->children.first)
                                 : NULL;
         node != NULL;
         node = next) {
        next = node->sibling.next != NULL ? CHILD_OF(node->sibling.next) : NULL;
        if (node->born_in == node_mark(run->number)) {
            node_registry_remove(sched, node);
        }
    }
}

/* evaluation-4. */
static void evaluation_end(struct run *run, struct transaction *own)
{
    struct sched *sched = run->sched;
    struct node *node = run->node;
    struct transaction *scratch = run->transaction;
    if (UNLIKELY(scratch->launched != NULL)) {
        lineage_committed(lineage_take(scratch), scratch, ERR_GIVEN_UP);
    }
    sched->clock_is_right = false;
    sched->run = run->outer;
    run->transaction = own;
    run->view = NULL;
    run->viewer = NULL;
    remove_born(run);
    node->running = false;
    if (!node->registered) { /* a nested run has removed it */
        node_registry_free(sched, node);
    }
}

static enum err result_of(struct run *run, enum run_result result)
{
    struct sched *sched = run->sched;
    if (sched->evaluation.error.err != ERR_OK) {
        return ERR_GIVEN_UP; /* of a read, whatever the function made of it */
    }
    VEC_FOREACH (&run->transaction->awaited, entity) {
        transaction_await(run->view, *entity);
    }
    if (sched->evaluation.deep != NULL || sched->unwinding ||
        transaction_is_awaiting(run->view)) {
        return ERR_STALE;
    }
    switch (result) {
    case RUN_DONE:
        return ERR_OK;
    case RUN_FAILED:
        return refuse(sched,
                      run->node,
                      run->detail.err != ERR_OK ? run->detail.text
                                                : "it failed");
    case RUN_AGAIN:
    case RUN_WAITING:
        return ERR_STALE;
    }
    UNREACHABLE("a run has one of these results");
}

static enum err evaluate(struct sched *sched,
                         struct run *viewer,
                         struct transaction *view,
                         struct node *node)
{
    const enum err refused = check_evaluable(sched, node);
    if (refused != ERR_OK) {
        record(sched, view, node, refused);
        return refused;
    }
    struct transaction *scratch = open_scratch(sched, view);
    struct run *run = evaluation_begin(sched, viewer, view, node);
    struct transaction *own = run->transaction;
    run->transaction = scratch;
    const enum run_result result = node->run(run, node->ctx);
    const enum err err = result_of(run, result);
    if (node->registered) {
        record(sched, view, node, err);
    }
    evaluation_end(run, own);
    return err;
}

/* -- What a read depends on ---------------------------------------------- */

/* One read, and the state of its walk. */
struct reading {
    struct sched *sched;
    struct run *viewer;       /* of the handling; NULL: an edit */
    struct transaction *view; /* of the handling or the edit */
    uint64_t stamp;
};

static bool is_to_be_seen(const struct reading *reading,
                          const struct node *node)
{
    return node->visit != reading->stamp && !node->running &&
           node->kind == NODE_COMPUTATION &&
           !is_done(reading->sched, reading->view, node) &&
           find_failure(reading->sched, reading->view, node) == NULL;
}

static struct node *next_writer(const struct reading *reading,
                                const struct read_link *read)
{
    struct writer_walk walk = graph_writers(read);
    walk.envelopes = true;
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        if (is_to_be_seen(reading, writer)) {
            return writer;
        }
    }
    return NULL;
}

/* Whether its value on the view may differ. What a failed writer would have
 * written is unknown. */
static bool has_changed(const struct reading *reading, const struct node *node)
{
    if (reading->viewer == NULL && node_is_stale(node)) {
        return true;
    }
    VEC_FOREACH (&node->reads, read) {
        if (transaction_differs(reading->view,
                                read->place,
                                (enum read_kind)read->kind) ||
            find_failed_writer(reading->sched, reading->view, read) != NULL) {
            return true;
        }
    }
    return false;
}

/* The next writer that the top node needs and that was not visited; or NULL. */
static struct node *next_needed(const struct reading *reading,
                                struct refresh_frame *frame)
{
    while (frame->read < frame->node->reads.count) {
        struct node *writer =
            next_writer(reading, &frame->node->reads.at[frame->read]);
        if (writer != NULL) {
            return writer;
        }
        frame->read++;
    }
    return NULL;
}

/* Requests a document if it is not available. */
static bool is_missing(const struct place *place)
{
    struct entity *entity = place->entity;
    if (LIKELY(entity_is_available(entity))) {
        return false;
    }
    space_want(entity->space, entity);
    return true;
}

/* Whether a document that the node read in its last run, or that it writes, has
 * not arrived: a restored node has none, and its result cannot be compared. All
 * of them are requested, and the transaction waits for one. */
static bool awaits_documents(const struct reading *reading,
                             const struct node *node)
{
    const struct place *missing = NULL;
    VEC_FOREACH (&node->reads, read) {
        missing = is_missing(read->place) ? read->place : missing;
    }
    for (uint32_t i = 0; i < node->write_count; i++) {
        const struct place *place = node->writes[i].place;
        missing = is_missing(place) ? place : missing;
    }
    if (missing != NULL) {
        transaction_await(reading->view, missing->entity);
    }
    return transaction_is_awaiting(reading->view);
}

/* Evaluates a node that its readers needed in their last run. They may not need
 * it on this view: then it does not matter if it cannot be evaluated. If they
 * do, their own evaluation meets its failure. */
static enum err evaluate_ahead(const struct reading *reading, struct node *node)
{
    struct sched *sched = reading->sched;
    const enum err err = evaluate(sched, reading->viewer, reading->view, node);
    if (sched->unwinding || sched->evaluation.deep != NULL) {
        return err;
    }
    err_clear(&sched->evaluation.error);
    return ERR_OK;
}

/* One node, after everything that it is known to need. While the transaction
 * waits for documents, nothing is evaluated: the walk continues, so that the
 * documents of a whole chain are requested at once. */
static enum err see_to_one(const struct reading *reading,
                           struct node *node,
                           bool ahead)
{
    struct sched *sched = reading->sched;
    if (is_done(sched, reading->view, node) || !has_changed(reading, node)) {
        return ERR_OK;
    }
    if (awaits_documents(reading, node)) {
        record(sched, reading->view, node, ERR_STALE);
        return ERR_OK;
    }
    return ahead ? evaluate_ahead(reading, node)
                 : evaluate(sched, reading->viewer, reading->view, node);
}

/* A node that is read, after everything that it is known to need. Only unknown
 * dependencies are evaluated inside an evaluation. */
static enum err see_to(const struct reading *reading, struct node *first)
{
    struct sched *sched = reading->sched;
    const size_t base = sched->frames.count;
    enum err err = ERR_OK;
    first->visit = reading->stamp;
    vec_push(&sched->frames, ((struct refresh_frame){first, 0}));
    while (sched->frames.count > base && err == ERR_OK) {
        struct refresh_frame *top = vec_last(&sched->frames);
        struct node *node = top->node;
        if (node == NULL) { /* removed by a run */
            sched->frames.count--;
            continue;
        }
        struct node *needed = next_needed(reading, top);
        if (needed != NULL) {
            needed->visit = reading->stamp;
            vec_push(&sched->frames, ((struct refresh_frame){needed, 0}));
            continue;
        }
        sched->frames.count--;
        err = see_to_one(reading, node, node != first);
    }
    sched->frames.count = base;
    return err == ERR_OK && transaction_is_awaiting(reading->view) ? ERR_STALE
                                                                   : err;
}

/* A read of something that could not be evaluated fails for the same reason. */
static enum err fail_again(struct sched *sched,
                           const struct evaluation_failure *failure)
{
    struct evaluation *evaluation = &sched->evaluation;
    if (failure->why.err == ERR_GIVEN_UP && evaluation->error.err == ERR_OK) {
        evaluation->error = failure->why;
    }
    return failure->why.err;
}

static enum err see_to_writers(struct reading *reading,
                               const struct read_link *read)
{
    struct sched *sched = reading->sched;
    const struct evaluation_failure *failure =
        find_failed_writer(sched, reading->view, read);
    if (failure != NULL) {
        return fail_again(sched, failure);
    }
    reading->stamp = ++sched->visits;
    enum err err = ERR_OK;
    struct node *writer = next_writer(reading, read);
    while (writer != NULL && err == ERR_OK) {
        err = see_to(reading, writer);
        writer = next_writer(reading, read);
    }
    return err;
}

/* A read inside an evaluation. If it is too deep, all evaluations are
 * abandoned, and begin again with the writer that is needed here. */
static enum err read_inside(const struct run *run, const struct read_link *read)
{
    struct sched *sched = run->sched;
    struct reading reading = {sched, run->viewer, run->view, 0};
    if (sched->evaluation.deep != NULL) {
        return ERR_STALE;
    }
    if (sched->evaluation.error.err != ERR_OK) {
        return ERR_GIVEN_UP; /* a read before this one failed */
    }
    if (run->depth + 1 >= sched->nesting) {
        reading.stamp = ++sched->visits;
        struct node *writer = next_writer(&reading, read);
        if (writer != NULL) {
            sched->evaluation.deep = writer;
            return ERR_STALE;
        }
    }
    return see_to_writers(&reading, read);
}

/* A read by the handler or the edit itself. */
static enum err read_outside(struct reading *reading,
                             const struct read_link *read)
{
    struct sched *sched = reading->sched;
    struct evaluation *evaluation = &sched->evaluation;
    err_clear(&evaluation->error);
    enum err err = see_to_writers(reading, read);
    for (unsigned i = 0; evaluation->deep != NULL && i < EVALUATION_RESTARTS;
         i++) {
        struct node *deep = evaluation->deep;
        evaluation->deep = NULL;
        reading->stamp = ++sched->visits;
        err = see_to(reading, deep);
        if (err == ERR_OK) {
            err = see_to_writers(reading, read);
        }
    }
    if (evaluation->deep != NULL) {
        err = refuse(sched,
                     evaluation->deep,
                     "the dependencies are nested too "
                     "deeply");
        evaluation->deep = NULL;
    }
    if (err != ERR_OK) { /* the stored value is not current */
        transaction_drop_scratch(reading->view);
    }
    return err;
}

enum err evaluation_for_read(struct run *run,
                             struct place *place,
                             enum read_kind kind)
{
    const struct read_link read = {
        .node = run->node,
        .place = place,
        .kind = (uint8_t)kind,
    };
    if (run->view != NULL) {
        return read_inside(run, &read);
    }
    struct reading reading = {run->sched, run, run->transaction, 0};
    return read_outside(&reading, &read);
}

enum err evaluation_for_look(struct sched *sched,
                             struct transaction *transaction,
                             struct place *place,
                             enum read_kind kind)
{
    struct run *run = sched->run;
    if (run != NULL) {
        return run->transaction == transaction && evaluation_is_due(run)
                   ? evaluation_for_read(run, place, kind)
                   : ERR_OK;
    }
    const struct read_link read = {.place = place, .kind = (uint8_t)kind};
    struct reading reading = {sched, NULL, transaction, 0};
    return read_outside(&reading, &read);
}

/* -- Read-ahead for code that waits -------------------------------------- */

static bool has_stale_writer(const struct place *place)
{
    CHAIN_FOREACH(&place->writers, link)
    {
        const struct node *writer =
            CONTAINER_OF(link, struct write_link, in_place)->node;
        if (writer->kind == NODE_COMPUTATION && node_is_stale(writer) &&
            !writer->waiting && !writer->running) {
            return true;
        }
    }
    return false;
}

/* The document at the end of the path from one element. */
static bool evaluate_expected(void *ctx, const struct entity *entity)
{
    struct sched *sched = ctx;
    struct place *place = entity->payload;
    if (place == NULL || !has_stale_writer(place)) {
        return false;
    }
    struct transaction *view = transaction_begin(sched->replica, NULL);
    const struct read_link read = {.place = place, .kind = READ_DEEP};
    struct reading reading = {sched, NULL, view, 0};
    const enum err err = read_outside(&reading, &read);
    (void)err; /* its documents were requested */
    err_clear(&sched->evaluation.error);
    transaction_release(view);
    return true;
}

void evaluation_ahead(struct run *run)
{
    struct sched *sched = run->sched;
    struct run *now = sched->run;
    for (const struct run *at = run; at != NULL; at = at->outer) {
        if (run_is_thrown_away(at)) {
            return;
        }
    }
    if (!sched->unwinding) {
        sched->run = run; /* for the nesting depth */
        prefetch_walk(run->transaction, evaluate_expected, sched);
        sched->run = now;
    }
}
