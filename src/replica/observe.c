/* Observations on their way to the store. */

#include "replica/observe.h"

#include "base/limits.h"
#include "proto/message.h"
#include "replica/draft.h"
#include "replica/overlay.h"
#include "replica/pending.h"
#include "replica/session.h"

/* -- Recycling ----------------------------------------------------------- */

struct observation *observe_take(struct replica *replica)
{
    return replica->idle_observations.count > 0
               ? vec_pop(&replica->idle_observations)
               : observation_new();
}

void observe_put(struct replica *replica, struct observation *observation)
{
    if (observation == NULL) {
        return;
    }
    if (observation->refs > 1) {
        observation_unref(observation); /* it is still referenced */
        return;
    }
    observation_clear(observation);
    vec_push(&replica->idle_observations, observation);
}

void observe_end(struct pending *pending)
{
    struct replica *replica = pending->space->replica;
    struct commit *commit = &pending->commit;
    observe_put(replica, commit->observation);
    commit->observation = NULL;
    VEC_FOREACH (&commit->batch, observation) {
        observe_put(replica, *observation);
    }
    vec_clear(&commit->batch);
}

/* -- With a commit ------------------------------------------------------- */

void transaction_observe(struct transaction *transaction,
                         struct space *space,
                         struct observation *observation)
{
    CHECK(transaction->state == TRANSACTION_OPEN);
    CHECK(transaction->observation == NULL && observation->refs == 1);
    transaction->given = true;
    transaction->observation = observation;
    transaction->observed = space;
    transaction->has_more = true;
}

struct observation *transaction_take_observation(
    struct transaction *transaction)
{
    CHECK(transaction->state != TRANSACTION_OPEN);
    struct observation *observation = transaction->observation;
    transaction->observation = NULL;
    transaction->observed = NULL;
    return observation;
}

static void add_layer(struct layer_list *layers, uint64_t local_seq)
{
    size_t at = layers->at.count;
    while (at > 0 && layers->at.at[at - 1] > local_seq) {
        at--;
    }
    if (at > 0 && layers->at.at[at - 1] == local_seq) {
        return;
    }
    vec_push(&layers->at, local_seq);
    for (size_t i = layers->at.count - 1; i > at; i--) {
        layers->at.at[i] = layers->at.at[i - 1];
    }
    layers->at.at[at] = local_seq;
}

static void add_layers(struct layer_list *layers,
                       const struct space *space,
                       const struct entity *entity)
{
    if (entity->space == space && entity->overlay != NULL) {
        VEC_FOREACH (&entity->overlay->layers, layer) {
            add_layer(layers, layer->local_seq);
        }
    }
}

/* Everything received up to space->seq is in view, and for documents that were
 * read, or already held what the run would have written, the layers on top. */
static void set_basis(struct observation *observation,
                      const struct space *space,
                      const struct transaction *transaction)
{
    CHECK(observation->refs == 1);
    observation->basis.given = true;
    observation->basis.seq = space->seq;
    vec_clear(&observation->basis.layers.at);
    struct layer_list *layers = &observation->basis.layers;
    VEC_FOREACH (&transaction->reads, read) {
        add_layers(layers, space, read->place->entity);
    }
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        add_layers(layers, space, transaction->drafts.at[i]->entity);
    }
}

/* Whether the commit omits a read for which the node would run again: then its
 * admission proves nothing about that read. */
static bool reads_unproven(const struct space *space,
                           const struct transaction *transaction)
{
    VEC_FOREACH (&transaction->reads, read) {
        if (read->place->entity->space == space &&
            (read->flags & READ_NOT_FOR_COMMIT) != 0 &&
            (read->flags & READ_NOT_FOR_SCHEDULING) == 0) {
            return true;
        }
    }
    return false;
}

void observe_attach(struct pending *pending, struct transaction *transaction)
{
    const struct space *space = pending->space;
    if (transaction->observed != space) {
        return;
    }
    struct observation *observation = transaction->observation;
    if (reads_unproven(space, transaction)) {
        set_basis(observation, space, transaction);
    }
    pending->commit.observation = observation;
    transaction->observation = NULL;
    transaction->observed = NULL;
}

/* -- In a batch ---------------------------------------------------------- */

/* The batch that is still being filled: the last one, if it has not been
 * sent. */
static struct pending *open_batch(const struct space *space)
{
    struct list_node *last = list_last(&space->pending);
    if (last == NULL) {
        return NULL;
    }
    struct pending *pending = CONTAINER_OF(last, struct pending, node);
    return pending->state == PENDING_QUEUED && !pending->unsure &&
                   commit_is_batch(&pending->commit) &&
                   pending->commit.batch.count < LIMIT_COMMIT_OBSERVATIONS
               ? pending
               : NULL;
}

static struct pending *new_batch(struct space *space)
{
    static const struct transaction nobody = {0};
    struct pending *pending = pending_new(space, &nobody);
    const struct text name = value_text(&space->session->id);
    pending->commit.session = name.length > 0 ? value_ref(space->session->id)
                                              : value_text_new("unnamed");
    pending->commit.local_seq = ++space->local_seq;
    pending->commit.branch = value_ref(space->branch);
    list_push_back(&space->pending, &pending->node);
    return pending;
}

void space_observe(struct space *space,
                   const struct transaction *transaction,
                   struct observation *observation)
{
    struct err_detail detail = {0};
    if (space->session == NULL ||
        session_check(space->session, &detail) != ERR_OK) {
        observation_unref(observation);
        return;
    }
    set_basis(observation, space, transaction);
    if (observation_check(observation, true, &detail) != ERR_OK) {
        log_write(space->replica->log,
                  LOG_LEVEL_WARNING,
                  "an observation could not be sent: %s",
                  detail.text);
        observation_unref(observation);
        return;
    }
    struct pending *batch = open_batch(space);
    if (batch == NULL) {
        batch = new_batch(space);
    }
    vec_push(&batch->commit.batch, observation);
    space->replica->needs_step = true;
}

/* -- Answers of the store ------------------------------------------------ */

void observe_told(struct space *space, const struct message *message)
{
    if (space->observer.told == NULL) {
        return;
    }
    VEC_FOREACH (&message->told, one) {
        space->observer.told(space->observer.ctx,
                             space,
                             one->seq,
                             one->observation);
    }
}

void observe_dropped(const struct pending *pending)
{
    const struct space *space = pending->space;
    const struct commit *commit = &pending->commit;
    if (space->observer.dropped == NULL) {
        return;
    }
    VEC_FOREACH (&pending->verdict.dropped, one) {
        const struct observation *observation = NULL;
        if (one->index < commit->batch.count) {
            observation = commit->batch.at[one->index];
        } else if (one->index == 0) {
            observation = commit->observation;
        }
        if (observation != NULL) {
            space->observer.dropped(space->observer.ctx,
                                    space,
                                    observation,
                                    one->outcome);
        }
    }
}
