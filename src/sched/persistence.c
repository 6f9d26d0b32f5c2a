/* Reports runs to the store (sched/persistence.h, persistence-1 to
 * persistence-3), and keeps the record of each node that has an identity.
 *
 * A doubt costs one run after the next restart; a wrong "clean" would cost
 * correctness. So wherever the store could not know, the run is recorded as
 * failed. */

#include "sched/persistence.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "replica/draft.h"
#include "replica/observe.h"
#include "sched/graph.h"
#include "sched/persisted.h"
#include "sched/runner.h"
#include "value/object.h"

/* -- Records ------------------------------------------------------------- */

struct identity_key {
    const struct space *space;
    struct value piece;
    uint64_t generation;
    const struct digest *action;
};

struct space *persisted_space(struct replica *replica,
                              const struct observed_space *observed)
{
    LIST_FOREACH (&replica->spaces, at) {
        struct space *space = CONTAINER_OF(at, struct space, node);
        if (space->session != NULL && key_equal(space->id, observed->space) &&
            key_equal(space->branch, observed->branch)) {
            return space;
        }
    }
    return NULL;
}

static bool is_identity(const void *item, const void *key)
{
    const struct persisted *persisted = item;
    const struct identity_key *wanted = key;
    return digest_equal(&persisted->action, wanted->action) &&
           persisted->space == wanted->space &&
           persisted->generation == wanted->generation &&
           key_equal(persisted->piece, wanted->piece);
}

struct persisted *persisted_find(const struct sched *sched,
                                 const struct space *space,
                                 struct value piece,
                                 uint64_t generation,
                                 const struct digest *action)
{
    const struct identity_key key = {space, piece, generation, action};
    return sched->persistence != NULL ? map_find(&sched->persistence->nodes,
                                                 digest_bits(action),
                                                 is_identity,
                                                 &key)
                                      : NULL;
}

struct place *persisted_place(struct space *space,
                              const struct target *target,
                              const struct path *path)
{
    struct entity *entity = NULL;
    if (entity_of(space, target->scope, target->id, &entity, NULL) != ERR_OK) {
        return NULL;
    }
    struct path *own = path_new(&space->replica->paths, path->at, path->length);
    struct place *place = place_of(entity, own);
    path_unref(own);
    return place;
}

struct persistence *persistence_of(struct sched *sched)
{
    if (sched->persistence == NULL) {
        sched->persistence = mem_alloc_zero(sizeof *sched->persistence);
        sched->persistence->peers = 1;
        sched->persistence->grace = PERSISTENCE_GRACE_MS;
    }
    return sched->persistence;
}

/* -- Shared parts -------------------------------------------------------- */

static bool is_code(const void *item, const void *key)
{
    const struct persisted_code *one = item;
    const struct resume_code *code = key;
    return digest_equal(&one->code.implementation, &code->implementation) &&
           digest_equal(&one->code.runtime, &code->runtime) &&
           digest_equal(&one->code.schema, &code->schema);
}

static uint64_t code_hash(const struct resume_code *code)
{
    return digest_bits(&code->implementation) + digest_bits(&code->schema);
}

static struct persisted_code *code_of(struct persistence *persistence,
                                      const struct node_identity *identity)
{
    const struct resume_code code = {
        identity->implementation,
        identity->runtime,
        identity->schema,
    };
    struct persisted_code *one = persistence->code;
    if (one == NULL || !is_code(one, &code)) {
        one = map_find(&persistence->codes, code_hash(&code), is_code, &code);
    }
    if (one == NULL) {
        one = mem_alloc(sizeof *one);
        *one = (struct persisted_code){.code = code};
        map_insert(&persistence->codes, code_hash(&code), one);
    }
    one->users++;
    persistence->code = one;
    return one;
}

static void code_forget(struct persistence *persistence,
                        struct persisted_code *code)
{
    if (--code->users > 0) {
        return;
    }
    (void)map_remove(&persistence->codes,
                     code_hash(&code->code),
                     is_code,
                     &code->code);
    persistence->code = persistence->code == code ? NULL : persistence->code;
    mem_free(code, sizeof *code);
}

static void persisted_free(struct persistence *persistence,
                           struct persisted *persisted)
{
    value_unref(persisted->piece);
    code_forget(persistence, persisted->code);
    pool_free(&persistence->pool, persisted, sizeof *persisted);
}

static struct persisted *persisted_new(struct persistence *persistence,
                                       struct node *node,
                                       const struct node_identity *identity)
{
    struct persisted *persisted =
        pool_new(&persistence->pool, sizeof *persisted);
    persisted->node = node;
    persisted->space = identity->space;
    persisted->piece = value_ref(identity->piece);
    persisted->generation = identity->generation;
    persisted->action = identity->action;
    persisted->registers = identity->registers;
    persisted->code = code_of(persistence, identity);
    persisted->kind =
        node->kind == NODE_EFFECT ? ACTION_EFFECT : ACTION_COMPUTATION;
    return persisted;
}

/* -- Making an observation ----------------------------------------------- */

static void set_gates(struct observation *observation, const struct node *node)
{
    if (node->gate != NULL) {
        observation->gates.debounce_ms = node->gate->debounce;
        observation->gates.throttle_ms = node->gate->throttle;
        observation->gates.no_auto_debounce = node->gate->no_auto_debounce;
    }
}

static void set_head(struct observation *observation,
                     const struct persisted *persisted)
{
    observation->piece = value_ref(persisted->piece);
    observation->generation = persisted->generation;
    observation->action = persisted->action;
    observation->kind = persisted->kind;
    observation->fingerprints = (struct fingerprints){
        persisted->code->code.implementation,
        persisted->code->code.runtime,
        persisted->code->code.schema,
        persisted->surface,
    };
    set_gates(observation, persisted->node);
}

static void add_place(struct observation *observation,
                      const struct space *owner,
                      const struct place *place,
                      enum place_kind kind)
{
    const struct entity *entity = place->entity;
    const struct target target = {entity->id, entity->scope};
    observation_add_place(observation,
                          entity->space == owner ? VALUE_NONE
                                                 : entity->space->id,
                          &target,
                          place->path,
                          kind);
}

static void add_outputs(struct observation *observation,
                        const struct space *owner,
                        const struct node_spec *spec)
{
    for (size_t i = 0; i < spec->output_count; i++) {
        add_place(observation, owner, spec->outputs[i], PLACE_OUTPUT);
    }
    for (size_t i = 0; i < spec->envelope_count; i++) {
        add_place(observation, owner, spec->envelopes[i], PLACE_ENVELOPE);
    }
}

static void add_writes(struct observation *observation,
                       const struct persisted *persisted)
{
    const struct node *node = persisted->node;
    for (uint32_t i = 0; i < node->write_count; i++) {
        add_place(observation,
                  persisted->space,
                  node->writes[i].place,
                  graph_is_envelope(&node->writes[i]) ? PLACE_ENVELOPE
                                                      : PLACE_OUTPUT);
    }
}

/* observation-3 of proto/observation.h. Nothing arrives while a transaction is
 * open, so what is integrated now was integrated when it read. */
static void add_elsewhere(struct observation *observation,
                          const struct persisted *persisted)
{
    VEC_FOREACH (&persisted->node->reads, read) {
        const struct space *space = read->place->entity->space;
        if (UNLIKELY(space != persisted->space)) {
            observation_add_space(observation,
                                  space->id,
                                  space->branch,
                                  space->seq);
        }
    }
}

/* All places, and their digests. */
static void add_all(struct observation *observation,
                    const struct persisted *persisted)
{
    VEC_FOREACH (&persisted->node->reads, read) {
        add_place(observation,
                  persisted->space,
                  read->place,
                  read->kind == READ_SHAPE ? PLACE_SHAPE : PLACE_DEEP);
    }
    add_writes(observation, persisted);
    add_elsewhere(observation, persisted);
    observation_seal(observation);
}

static void set_same(struct observation *observation,
                     const struct persisted *persisted)
{
    set_head(observation, persisted);
    observation->read_set = persisted->read_set;
    observation->scope = persisted->scope;
    add_elsewhere(observation, persisted);
}

static bool is_same_set(const struct observation *observation,
                        const struct persisted *persisted)
{
    return persisted->known && observation->scope == persisted->scope &&
           digest_equal(&observation->read_set, &persisted->read_set);
}

/* More than can be recorded: only that it ran. */
static bool is_too_much(const struct observation *observation)
{
    return observation->places.count > LIMIT_OBSERVATION_PLACES ||
           observation->elsewhere.count > LIMIT_OBSERVATION_SPACES;
}

/* With its error, if there is a `problem`: the text of an error. */
static void set_problem(struct observation *observation, const char *problem)
{
    if (problem != NULL) {
        observation->failed = true;
        observation->error =
            digest_of_bytes("heddle error 1", problem, strlen(problem));
    }
}

/* persistence-2. */
static struct observation *make(struct persisted *persisted,
                                const char *problem)
{
    struct node *node = persisted->node;
    struct observation *observation = observe_take(persisted->space->replica);
    if (LIKELY(persisted->known && !node->reads_changed)) {
        set_same(observation, persisted);
        set_problem(observation, problem);
        return observation;
    }
    set_head(observation, persisted);
    add_all(observation, persisted);
    node->reads_changed = false;
    if (UNLIKELY(is_too_much(observation))) {
        observation_clear(observation);
        set_head(observation, persisted);
        add_writes(observation, persisted);
        observation_seal(observation);
        problem = "there are too many reads";
        node->reads_changed = true;
    } else if (is_same_set(observation, persisted)) {
        observation_clear(observation);
        set_same(observation, persisted);
    }
    persisted->read_set = observation->read_set;
    persisted->scope = observation->scope;
    persisted->known = true;
    set_problem(observation, problem);
    return observation;
}

/* -- Doubts (persistence-3) ---------------------------------------------- */

static bool is_told(const struct persisted *persisted)
{
    return persisted->space->session != NULL && !persisted->superseded;
}

/* What a run is recorded with, and whether the problem may pass. */
struct doubt {
    const char *problem; /* or NULL: there is none */
    bool passes;
};

static struct doubt doubt_reads(const struct persisted *persisted)
{
    VEC_FOREACH (&persisted->node->reads, read) {
        const struct entity *entity = read->place->entity;
        if (UNLIKELY(entity->pinned) &&
            !entity_state_exists(&entity->visible)) {
            return (struct doubt){"an immutable document was missing", false};
        }
        if (LIKELY(entity->space == persisted->space)) {
            continue;
        }
        if (entity->space->session == NULL) {
            return (struct doubt){"a space without a store was read", false};
        }
        if (entity->overlay != NULL) {
            return (struct doubt){"a value read from another space is not "
                                  "committed yet",
                                  true};
        }
    }
    return (struct doubt){0};
}

static struct doubt doubt_transaction(const struct persisted *persisted,
                                      const struct transaction *transaction)
{
    VEC_FOREACH (&transaction->reads, read) {
        if (UNLIKELY((read->flags & READ_NOT_FOR_COMMIT) != 0) &&
            (read->flags & READ_NOT_FOR_SCHEDULING) == 0 &&
            read->place->entity->overlay != NULL) {
            return (struct doubt){"a value that was read is not committed "
                                  "yet",
                                  true};
        }
    }
    if (transaction->payload_writes.count > 0) {
        return (struct doubt){"a space without a store was written", false};
    }
    struct doubt doubt = {0};
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        const struct space *space = transaction->drafts.at[i]->entity->space;
        if (space->session == NULL) {
            return (struct doubt){"a space without a store was written", false};
        }
        if (space != persisted->space) {
            doubt = (struct doubt){"another space was written", true};
        }
    }
    return doubt;
}

/* Whether another commit of the node than this run's has no verdict yet. What
 * it wrote may not land, and this run may have found that it need not write
 * it. */
static bool has_earlier(const struct run *run)
{
    const struct chain_link *first = run->node->inflight.first;
    return first != NULL && (run->inflight == NULL || first->next != NULL);
}

static struct doubt doubt_run(const struct persisted *persisted,
                              const struct run *run)
{
    if (persisted->node->status != NODE_CLEAN) {
        return (struct doubt){"a value that was read has changed "
                              "meanwhile",
                              false};
    }
    struct doubt doubt = doubt_reads(persisted);
    if (doubt.problem == NULL) {
        doubt = doubt_transaction(persisted, run->transaction);
    }
    if (doubt.problem == NULL && has_earlier(run)) {
        doubt = (struct doubt){"an earlier commit is not confirmed yet", true};
    }
    return doubt;
}

static void note_doubt(struct sched *sched,
                       struct persisted *persisted,
                       const struct doubt *doubt)
{
    persisted->doubtful = doubt->problem != NULL && doubt->passes;
    if (UNLIKELY(persisted->doubtful && !persisted->listed)) {
        vec_push(&sched->persistence->doubts, persisted);
        persisted->listed = true;
    }
}

/* Reports that the run succeeded after all. What it read is unchanged, or it
 * would not be clean. */
static void tell_after_all(struct sched *sched, struct persisted *persisted)
{
    struct transaction reads = {0};
    VEC_FOREACH (&persisted->node->reads, read) {
        const struct read_entry entry = {.place = read->place};
        vec_push(&reads.reads, entry);
    }
    space_observe(persisted->space, &reads, make(persisted, NULL));
    sched->counters.observed++;
    vec_release(&reads.reads);
}

/* True if it has to wait. */
static bool settle_doubt(struct sched *sched, struct persisted *persisted)
{
    const struct node *node = persisted->node;
    if (!persisted->doubtful || node->status != NODE_CLEAN || node->running ||
        !is_told(persisted)) {
        return false; /* the next run tells */
    }
    const struct doubt doubt = doubt_reads(persisted);
    if (node->inflight.first != NULL ||
        (doubt.problem != NULL && doubt.passes)) {
        return true;
    }
    if (doubt.problem == NULL) {
        tell_after_all(sched, persisted);
    }
    return false;
}

void persistence_answered(struct sched *sched)
{
    if (sched->persistence != NULL) {
        sched->persistence->answered = true;
    }
}

void persistence_catch_up(struct sched *sched)
{
    struct persistence *persistence = sched->persistence;
    if (LIKELY(!persistence->answered || persistence->doubts.count == 0)) {
        return;
    }
    persistence->answered = false;
    size_t kept = 0;
    VEC_FOREACH (&persistence->doubts, at) {
        struct persisted *persisted = *at;
        if (persisted == NULL) {
            continue;
        }
        if (settle_doubt(sched, persisted)) {
            persistence->doubts.at[kept++] = persisted;
        } else {
            persisted->doubtful = false;
            persisted->listed = false;
        }
    }
    persistence->doubts.count = kept;
}

/* -- For the runner ------------------------------------------------------ */

void persistence_observe(struct run *run)
{
    struct persisted *persisted = node_persisted(run->node);
    CHECK(persisted != NULL);
    if (UNLIKELY(persisted->peers != 0)) {
        peers_over(run->sched, run->node);
        persisted->peers = 0;
    }
    if (is_told(persisted)) {
        const struct doubt doubt = doubt_run(persisted, run);
        note_doubt(run->sched, persisted, &doubt);
        transaction_observe(run->transaction,
                            persisted->space,
                            make(persisted, doubt.problem));
        run->sched->counters.observed++;
    }
}

void persistence_committed(struct run *run, enum err err)
{
    struct node *node = run->node;
    struct persisted *persisted = node_persisted(node);
    CHECK(persisted != NULL);
    struct observation *left = transaction_take_observation(run->transaction);
    if (left == NULL) {
        return; /* it has gone with the commit */
    }
    if (err == ERR_OK &&
        (node->status == NODE_CLEAN || run->sched->own_commits > 0)) {
        space_observe(persisted->space, run->transaction, left);
        return;
    }
    persisted->known = false;
    persisted->doubtful = false;
    observe_put(persisted->space->replica, left);
}

void persistence_failed(struct run *run)
{
    struct persisted *persisted = node_persisted(run->node);
    CHECK(persisted != NULL);
    persisted->doubtful = false;
    if (is_told(persisted)) {
        struct observation *observation =
            make(persisted,
                 run->detail.text[0] != '\0' ? run->detail.text
                                             : err_name(run->detail.err));
        space_observe(persisted->space, run->transaction, observation);
        run->sched->counters.observed++;
    }
}

void persistence_refused(struct node *node)
{
    struct persisted *persisted = node_persisted(node);
    CHECK(persisted != NULL);
    persisted->known = false;
    persisted->doubtful = false;
}

struct space *persistence_space(const struct node *node)
{
    const struct persisted *persisted = node_persisted(node);
    return persisted != NULL ? persisted->space : NULL;
}

/* -- What comes back ----------------------------------------------------- */

static void on_dropped(void *ctx,
                       const struct space *space,
                       const struct observation *observation,
                       enum observation_outcome outcome)
{
    struct persisted *persisted = persisted_find(ctx,
                                                 space,
                                                 observation->piece,
                                                 observation->generation,
                                                 &observation->action);
    if (persisted != NULL) {
        persisted->known = false;
        persisted->superseded =
            persisted->superseded || outcome == OBSERVATION_SUPERSEDED;
    }
}

void persistence_listen(struct sched *sched, struct space *space)
{
    space->observer = (struct observer){
        .told = adoption_told,
        .dropped = on_dropped,
        .ctx = sched,
    };
}

void persistence_reset(struct sched *sched, const struct space *space)
{
    if (sched->persistence == NULL) {
        return;
    }
    MAP_FOREACH (&sched->persistence->nodes, slot) {
        struct persisted *persisted = slot->item;
        persisted->known = persisted->known && persisted->space != space;
        VEC_FOREACH (&persisted->node->reads, read) {
            if (read->unread == LINK_RESTORED &&
                read->place->entity->space == space) {
                read->version = 0; /* whatever comes is news */
            }
        }
    }
}

/* -- For the registry ---------------------------------------------------- */

/* Whether the identity can be recorded (observation_check). */
static enum err check_identity(const struct node_identity *identity,
                               const struct node_spec *spec,
                               struct err_detail *detail)
{
    if (!value_is_string(identity->piece) ||
        value_text(&identity->piece).length == 0 ||
        value_text(&identity->piece).length > LIMIT_ID_BYTES) {
        return err_set(detail, ERR_ARGUMENT, "the piece has no valid name");
    }
    if (spec->output_count + spec->envelope_count > LIMIT_OBSERVATION_PLACES ||
        identity->generation > INT64_MAX) {
        return err_set(detail, ERR_ARGUMENT, "the observation is too large");
    }
    return ERR_OK;
}

void persisted_set_surface(struct persistence *persistence,
                           struct persisted *persisted,
                           const struct node_spec *spec)
{
    if (spec->output_count + spec->envelope_count == 0) {
        if (!persistence->has_no_surface) {
            persistence->no_surface = observed_digest(NULL, 0, false);
            persistence->has_no_surface = true;
        }
        persisted->surface = persistence->no_surface;
        return;
    }
    struct replica *replica = persisted->space->replica;
    struct observation *observation = observe_take(replica);
    add_outputs(observation, persisted->space, spec);
    if (observation->places.count > 1) {
        observation_seal(observation); /* sorts */
    }
    persisted->surface = observed_digest(observation->places.at,
                                         observation->places.count,
                                         false);
    observe_put(replica, observation);
}

bool persistence_register(struct sched *sched,
                          struct node *node,
                          const struct node_spec *spec)
{
    const struct node_identity *identity = spec->identity;
    struct persistence *persistence = persistence_of(sched);
    struct persisted *persisted = persisted_new(persistence, node, identity);
    struct err_detail detail = {0};
    enum err err = check_identity(identity, spec, &detail);
    if (err == ERR_OK && persisted_find(sched,
                                        identity->space,
                                        identity->piece,
                                        identity->generation,
                                        &identity->action) != NULL) {
        err = err_set(&detail, ERR_ARGUMENT, "it is already registered");
    }
    if (err != ERR_OK) {
        log_write(sched->replica->log,
                  LOG_LEVEL_WARNING,
                  "the runs of a node are not recorded: %s",
                  detail.text);
        persisted_free(persistence, persisted);
        return false;
    }
    if (identity->space->observer.ctx == NULL) {
        persistence_listen(sched, identity->space);
    }
    map_insert(&persistence->nodes, digest_bits(&persisted->action), persisted);
    node->label->persisted = persisted;
    const bool restored =
        persistence->resume != NULL && resume_take(sched, persisted, spec);
    if (!restored) {
        persisted_set_surface(persistence, persisted, spec);
    }
    return restored;
}

void persistence_forget(struct sched *sched, struct node *node)
{
    struct persisted *persisted = node->label->persisted;
    const struct identity_key key = {
        persisted->space,
        persisted->piece,
        persisted->generation,
        &persisted->action,
    };
    (void)map_remove(&sched->persistence->nodes,
                     digest_bits(&persisted->action),
                     is_identity,
                     &key);
    node->label->persisted = NULL;
    if (persisted->listed) {
        VEC_FOREACH (&sched->persistence->doubts, at) {
            *at = *at == persisted ? NULL : *at;
        }
    }
    peers_over(sched, node);
    persisted_free(sched->persistence, persisted);
}

void persistence_free(struct sched *sched)
{
    struct persistence *persistence = sched->persistence;
    LIST_FOREACH (&sched->replica->spaces, at) {
        struct space *space = CONTAINER_OF(at, struct space, node);
        if (space->observer.ctx == sched) {
            space->observer = (struct observer){0};
        }
    }
    if (persistence == NULL) {
        return;
    }
    resume_free(persistence);
    CHECK(persistence->nodes.count == 0);
    map_release(&persistence->nodes);
    map_release(&persistence->codes);
    pool_release(&persistence->pool);
    vec_release(&persistence->doubts);
    vec_release(&persistence->held.at);
    mem_free(persistence, sizeof *persistence);
    sched->persistence = NULL;
}
