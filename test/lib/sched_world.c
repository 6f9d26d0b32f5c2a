/* The scheduler beside its model (lib/sched_world.h). */

#include "lib/sched_world.h"

#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"
#include "value/object.h"

/* One failure is enough: those that follow from it say nothing. */
#define HOLDS(world, expr) \
    ((world)->silent || (expr) || ((world)->silent = true, EXPECT(expr)))

/* -- Life ---------------------------------------------------------------- */

static enum channel_answer on_change(void *ctx,
                                     const struct notification *what);

static void put_payload(struct world *world,
                        size_t document,
                        struct value value)
{
    const struct model_place place = {
        .document = (uint16_t)document,
        .path = PATH_PAYLOAD,
    };
    CHECK(world_put(world, &place, value));
}

void world_open(struct world *world, struct world_tally *tally)
{
    *world = (struct world){.tally = tally, .now = 1000};
    replica_init(&world->replica, NULL);
    const struct value id = from_json("\"did:key:s\"");
    const struct space_options options = {.id = id};
    struct err_detail detail = {0};
    CHECK(space_open(&world->replica, &options, &world->space, &detail) ==
          ERR_OK);
    value_unref(id);
    model_documents_init(&world->documents, &world->replica.paths);
    for (size_t i = 0; i < MODEL_DOCUMENTS; i++) {
        const struct value name = numbered("of:d", i);
        CHECK(entity_of(world->space,
                        SCOPE_SPACE,
                        name,
                        &world->entities[i],
                        &detail) == ERR_OK);
        value_unref(name);
    }
    for (size_t i = MODEL_FIRST_SHARED; i < MODEL_FIRST_OUTPUT; i++) {
        put_payload(world, i, value_empty_object());
    }
    world->sched = sched_new(&world->replica, NULL);
    world->subscriber = (struct subscriber){.fn = on_change, .ctx = world};
    channel_subscribe(&world->replica, &world->subscriber);
}

static void forget_seen(struct world_slot *slot)
{
    VEC_FOREACH (&slot->seen, seen) {
        value_unref(seen->value);
    }
    vec_clear(&slot->seen);
}

void world_close(struct world *world)
{
    channel_unsubscribe(&world->subscriber);
    sched_free(world->sched);
    for (size_t i = 0; i < MODEL_SLOTS; i++) {
        forget_seen(&world->slots[i]);
        vec_release(&world->slots[i].seen);
        vec_release(&world->slots[i].reads);
    }
    for (size_t i = 0; i < MODEL_DOCUMENTS; i++) {
        for (size_t j = 0; j < MODEL_PATHS; j++) {
            if (world->places[i][j] != NULL) {
                place_unref(world->places[i][j]);
            }
        }
    }
    model_documents_release(&world->documents);
    replica_release(&world->replica);
}

struct place *world_place(struct world *world, const struct model_place *place)
{
    struct place **slot = &world->places[place->document][place->path];
    if (*slot == NULL) {
        *slot = place_of(world->entities[place->document],
                         world->documents.at[place->path]);
    }
    return *slot;
}

bool world_put(struct world *world,
               const struct model_place *place,
               struct value value)
{
    struct transaction *transaction = transaction_begin(&world->replica, NULL);
    struct err_detail detail = {0};
    bool done = transaction_put_adopt(transaction,
                                      world_place(world, place),
                                      value,
                                      &detail) == ERR_OK;
    done = done && transaction_commit(transaction, &detail) == ERR_OK;
    transaction_release(transaction);
    return done;
}

/* -- Who has to run, by the rule ----------------------------------------- */

static size_t document_of(const struct world *world,
                          const struct entity *entity)
{
    size_t at = 0;
    while (at < MODEL_DOCUMENTS && world->entities[at] != entity) {
        at++;
    }
    return at;
}

static bool sees(const struct world *world,
                 const struct model_place *read,
                 size_t document,
                 const struct value states[2])
{
    return read->document == document &&
           difference_is_seen(states[0],
                              states[1],
                              world->documents.at[read->path],
                              (enum read_kind)read->kind);
}

static void tell_slot(struct world_slot *slot,
                      size_t document,
                      const struct value states[2])
{
    const struct world *world = slot->world;
    if (slot->running) { /* what it has not read yet it will read anew */
        VEC_FOREACH (&slot->seen, seen) {
            if (sees(world, &seen->place, document, states)) {
                const struct path *path = world->documents.at[seen->place.path];
                const bool is_there =
                    !value_is_absent(seen->value) ||
                    !value_is_absent(value_at(states[1], path));
                slot->due = slot->due || is_there;
                slot->unsure = slot->unsure || !is_there;
            }
        }
        return;
    }
    VEC_FOREACH (&slot->reads, read) {
        slot->due = slot->due || sees(world, read, document, states);
    }
}

static enum channel_answer on_change(void *ctx, const struct notification *what)
{
    struct world *world = ctx;
    for (size_t i = 0; i < what->count; i++) {
        const struct change *change = &what->changes[i];
        const size_t document = document_of(world, change->entity);
        const struct value states[2] = {
            entity_state_document(&change->before),
            entity_state_document(&change->after),
        };
        for (size_t j = 0; j < world->count; j++) {
            struct world_slot *slot = &world->slots[j];
            if (slot->node != NULL && slot->node != what->source) {
                tell_slot(slot, document, states);
            }
        }
        value_unref(states[0]);
        value_unref(states[1]);
    }
    return CHANNEL_MORE;
}

/* -- The graph, from scratch --------------------------------------------- */

/* Whether `reader` reads what `writer` writes, as far as its last run tells;
 * before the first one, as it was declared. */
static bool reads_from(const struct world *world,
                       const struct world_slot *reader,
                       const struct world_slot *writer)
{
    struct model_place surface[2];
    const size_t count = model_surface(&writer->program, surface);
    const struct model_place *reads =
        reader->ran ? reader->reads.at : reader->declared;
    const size_t read_count =
        reader->ran ? reader->reads.count : reader->declared_count;
    for (size_t i = 0; i < read_count; i++) {
        for (size_t j = 0; j < count; j++) {
            if (model_overlaps(&world->documents, &reads[i], &surface[j])) {
                return true;
            }
        }
    }
    return false;
}

static bool writes_at(const struct world *world,
                      const struct world_slot *writer,
                      const struct model_place *read)
{
    struct model_place surface[2];
    const size_t count = model_surface(&writer->program, surface);
    for (size_t i = 0; i < count; i++) {
        if (model_overlaps(&world->documents, read, &surface[i])) {
            return true;
        }
    }
    return false;
}

struct marks {
    bool of[MODEL_SLOTS];
};

/* Marks all that the marked ones read from, or all that read from them. */
static void spread(const struct world *world,
                   struct marks *marks,
                   bool upwards,
                   bool envelopes)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < world->count; i++) {
            const struct world_slot *from = &world->slots[i];
            for (size_t j = 0; marks->of[i] && j < world->count; j++) {
                const struct world_slot *to = &world->slots[j];
                const struct world_slot *writer = upwards ? to : from;
                if (i == j || marks->of[j] || to->node == NULL ||
                    (!envelopes && writer->program.body == BODY_MATERIALIZER)) {
                    continue;
                }
                marks->of[j] = upwards ? reads_from(world, from, to)
                                       : reads_from(world, to, from);
                more = more || marks->of[j];
            }
        }
    }
}

/* At rest, demand is lent only to a child that has not run yet. */
static bool is_root(const struct world_slot *slot)
{
    return slot->node->kind == NODE_EFFECT ||
           slot->program.body == BODY_MATERIALIZER ||
           (slot->is_child && !slot->ran && slot->node->provisional != 0);
}

static void find_live(const struct world *world, struct marks *live)
{
    *live = (struct marks){0};
    for (size_t i = 0; i < world->count; i++) {
        const struct world_slot *slot = &world->slots[i];
        live->of[i] = slot->node != NULL && is_root(slot);
    }
    spread(world, live, true, false);
}

/* What can have run more than once, or have seen what did not stay: cycles,
 * children, parents that look at them, what failed (it is woken by more than
 * it has read), materializers (an envelope is no edge for the heights, so one
 * whose own inputs are still to run may be overlooked), and what depends on
 * those. */
static void find_restless(const struct world *world, struct marks *restless)
{
    *restless = (struct marks){0};
    for (size_t i = 0; i < world->count; i++) {
        const struct world_slot *slot = &world->slots[i];
        const enum model_body body = slot->program.body;
        /* A child may be gone again, and has been seen. */
        const bool here = slot->node != NULL || slot->step_runs > 0;
        restless->of[i] =
            here &&
            (body == BODY_CYCLE || slot->is_child || slot->step_failed ||
             (body == BODY_MATERIALIZER && slot->step_runs > 0) ||
             (body == BODY_PARENT && slot->program.samples));
    }
    spread(world, restless, false, true);
}

/* -- Runs ---------------------------------------------------------------- */

static struct world_slot *slot_of(struct world *world, const struct node *node)
{
    for (size_t i = 0; i < world->count; i++) {
        if (world->slots[i].node == node) {
            return &world->slots[i];
        }
    }
    return NULL;
}

/* I2: the run outside reads what this one writes, or what depends on it. */
static bool is_needed(struct world *world,
                      const struct world_slot *slot,
                      const struct run *outer)
{
    const struct world_slot *reader = slot_of(world, outer->node);
    if (reader == NULL) {
        return true; /* a pull: it reads one place, and the test knows which */
    }
    struct marks needed = {0};
    for (size_t i = 0; i < world->count; i++) {
        const struct world_slot *writer = &world->slots[i];
        needed.of[i] =
            writer->node != NULL && writes_at(world, writer, &reader->reading);
    }
    spread(world, &needed, true, true);
    return needed.of[slot - world->slots];
}

/* D2: what a run has created does not run inside of it. */
static bool is_born(const struct run *run)
{
    for (const struct run *outer = run->outer; outer != NULL;
         outer = outer->outer) {
        if (run->was == NODE_NEVER_RAN &&
            node_mark(outer->number) == run->node->born_in) {
            return false;
        }
    }
    return true;
}

static void check_begin(struct world_slot *slot, const struct run *run)
{
    struct world *world = slot->world;
    const bool again = run->transaction->attempt > 0;
    (void)HOLDS(world,
                !slot->ran || slot->due || slot->forced || slot->unsure ||
                    again);
    (void)HOLDS(world, run->outer != NULL || node_is_live(run->node) || again);
    (void)HOLDS(world,
                run->outer == NULL || is_needed(world, slot, run->outer));
    (void)HOLDS(world, !slot->running);
    (void)HOLDS(world, is_born(run));
    world->tally->runs++;
    world->tally->nested += run->outer != NULL;
    world->tally->in_cycles += slot->program.body == BODY_CYCLE;
    world->tally->materialized += slot->program.body == BODY_MATERIALIZER;
}

struct sight {
    struct world_slot *slot;
    struct run *run;
};

static bool read_world(void *ctx,
                       const struct model_place *place,
                       struct value *out)
{
    const struct sight *sight = ctx;
    struct world_slot *slot = sight->slot;
    slot->reading = *place;
    const enum err err = run_read(sight->run,
                                  world_place(slot->world, place),
                                  (enum read_kind)place->kind,
                                  READ_FOR_BOTH,
                                  out);
    const struct seen_read seen = {*place, value_ref(*out)};
    vec_push(&slot->seen, seen);
    return err != ERR_STALE;
}

static void have_children(void *ctx, size_t count)
{
    const struct sight *sight = ctx;
    struct world *world = sight->slot->world;
    const size_t first = sight->slot->program.first_slot;
    for (size_t i = 0; i < MODEL_CHILDREN_MAX; i++) {
        const bool has = world->slots[first + i].node != NULL;
        if (i < count && !has) {
            world_register(world, first + i, 0, 0);
            world->tally->born++;
        } else if (i >= count && has) {
            world_remove(world, first + i);
            world->tally->buried++;
        }
    }
}

static enum err write_all(struct run *run,
                          struct world_slot *slot,
                          struct model_outcome *outcome)
{
    enum err err = ERR_OK;
    struct err_detail detail = {0};
    for (size_t i = 0; i < outcome->count && err == ERR_OK; i++) {
        const struct model_write *write = &outcome->writes[i];
        err = transaction_put_adopt(run->transaction,
                                    world_place(slot->world, &write->place),
                                    value_ref(write->value),
                                    &detail);
    }
    return err;
}

/* What wakes it from now on: what it has read; and if the run is not one that
 * counts, what it had read before as well. */
static void take_reads(struct world_slot *slot, bool keep)
{
    if (!keep) {
        vec_clear(&slot->reads);
    }
    VEC_FOREACH (&slot->seen, seen) {
        vec_push(&slot->reads, seen->place);
    }
}

/* D2: all that the last run saw is there now. */
static bool saw_what_is(struct world *world, const struct world_slot *slot)
{
    bool good = true;
    VEC_FOREACH (&slot->seen, seen) {
        const struct place *place = world_place(world, &seen->place);
        struct value is;
        (void)entity_state_at(&place->entity->visible, place->path, &is);
        good = good && (seen->place.kind == READ_SHAPE
                            ? value_shape_equal(is, seen->value)
                            : value_equal(is, seen->value));
        value_unref(is);
    }
    return good;
}

/* What changed during the run and is again what the run saw is a difference to
 * a link, and none to who had no link yet. */
static void doubt(struct world_slot *slot)
{
    if (slot->due && saw_what_is(slot->world, slot)) {
        slot->due = false;
        slot->unsure = true;
    }
}

static enum run_result run_slot(struct run *run, void *ctx)
{
    struct world_slot *slot = ctx;
    struct world_tally *tally = slot->world->tally;
    check_begin(slot, run);
    if (slot->world->on_run != NULL) {
        slot->world->on_run(slot, run);
    }
    forget_seen(slot);
    slot->due = false;
    slot->forced = false;
    slot->unsure = false;
    slot->running = true;
    slot->step_runs++;
    struct sight sight = {slot, run};
    const struct model_eyes eyes = {
        .ctx = &sight,
        .read = read_world,
        .have_children = have_children,
    };
    struct model_outcome outcome;
    model_run(&slot->program, &eyes, &outcome);
    slot->running = false;
    doubt(slot);
    enum run_result result = RUN_DONE;
    if (outcome.stopped) {
        slot->forced = true;
        slot->step_runs--;
        tally->given_up++;
        result = RUN_AGAIN;
    } else if (write_all(run, slot, &outcome) != ERR_OK || outcome.failed) {
        tally->failed++;
        result = RUN_FAILED;
    }
    take_reads(slot, result != RUN_DONE);
    slot->ran = slot->ran || result != RUN_AGAIN;
    slot->failed = result == RUN_FAILED;
    slot->step_failed = slot->step_failed || slot->failed;
    model_outcome_release(&outcome);
    return result;
}

/* -- Coming and going ---------------------------------------------------- */

void world_register(struct world *world,
                    size_t slot,
                    mono_ms debounce,
                    mono_ms throttle)
{
    struct world_slot *self = &world->slots[slot];
    struct model_place surface[2];
    struct place *outputs[2];
    struct place *reads[MODEL_STEPS_MAX];
    const size_t count = model_surface(&self->program, surface);
    for (size_t i = 0; i < count; i++) {
        outputs[i] = world_place(world, &surface[i]);
    }
    for (size_t i = 0; i < self->declared_count; i++) {
        reads[i] = world_place(world, &self->declared[i]);
    }
    const bool materializer = self->program.body == BODY_MATERIALIZER;
    const struct node_spec spec = {
        .kind =
            self->program.body == BODY_EFFECT ? NODE_EFFECT : NODE_COMPUTATION,
        .run = run_slot,
        .ctx = self,
        .outputs = outputs,
        .output_count = materializer ? 0 : count,
        .envelopes = outputs,
        .envelope_count = materializer ? count : 0,
        .reads = reads,
        .read_count = self->declared_count,
        .debounce = debounce,
        .throttle = throttle,
    };
    self->world = world;
    self->ran = self->due = self->forced = self->failed = false;
    self->unsure = false;
    vec_clear(&self->reads);
    self->node = sched_register(world->sched, &spec);
}

void world_remove(struct world *world, size_t slot)
{
    struct node *node = world->slots[slot].node;
    world->slots[slot].node = NULL;
    sched_remove(world->sched, node);
}

/* -- Checks -------------------------------------------------------------- */

static void copy_documents(struct world *world)
{
    for (size_t i = 0; i < MODEL_DOCUMENTS; i++) {
        const struct entity *entity = world->entities[i];
        struct value *document = &world->documents.documents[i];
        if (world->versions[i] != entity->version) {
            world->versions[i] = entity->version;
            value_unref(*document);
            *document = entity_state_document(&entity->visible);
        }
    }
}

static bool waits(const struct world_slot *slot)
{
    return slot->node->place_in_queue == QUEUE_GATED;
}

static size_t children_of(const struct world *world,
                          const struct world_slot *slot)
{
    size_t count = 0;
    for (size_t i = 0; i < MODEL_CHILDREN_MAX; i++) {
        count += world->slots[slot->program.first_slot + i].node != NULL;
    }
    return count;
}

/* I1 at one node: run now, it would change nothing. */
static bool is_consistent(struct world *world, const struct world_slot *slot)
{
    struct model_outcome outcome;
    model_evaluate(&world->documents, &slot->program, &outcome);
    bool good = outcome.failed == slot->failed;
    for (size_t i = 0; i < outcome.count && !outcome.failed; i++) {
        good = good && !model_put(&world->documents, &outcome.writes[i], false);
    }
    good = good && (slot->program.body != BODY_PARENT ||
                    outcome.children == children_of(world, slot));
    model_outcome_release(&outcome);
    return good;
}

static void check_slot(struct world *world,
                       const struct world_slot *slot,
                       bool live,
                       bool restless)
{
    const bool stale = slot->due || slot->forced || !slot->ran;
    (void)HOLDS(world, node_is_live(slot->node) == live);
    (void)HOLDS(world, slot->unsure || node_is_stale(slot->node) == stale);
    world->tally->dormant_dues += slot->due && !live;
    if (live && !waits(slot)) {
        (void)HOLDS(world, !stale);
        (void)HOLDS(world, stale || is_consistent(world, slot));
        (void)HOLDS(world, stale || saw_what_is(world, slot));
    }
    if (!restless) {
        (void)HOLDS(world, slot->step_runs <= 1);
        world->tally->once += slot->step_runs;
        (void)HOLDS(world, slot->step_runs == 0 || saw_what_is(world, slot));
    }
}

/* Whether the model computes this node's documents from nothing. */
static bool is_computed(const struct world_slot *slot, bool live)
{
    return slot->node != NULL && live && !slot->failed &&
           slot->program.body != BODY_CYCLE &&
           slot->program.body != BODY_MATERIALIZER;
}

static void compute_all(struct world *world, const struct marks *live)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < world->count; i++) {
            const struct world_slot *slot = &world->slots[i];
            if (!is_computed(slot, live->of[i])) {
                continue;
            }
            struct model_outcome outcome;
            model_evaluate(&world->documents, &slot->program, &outcome);
            for (size_t j = 0; j < outcome.count && !outcome.failed; j++) {
                more = model_put(&world->documents, &outcome.writes[j], true) ||
                       more;
            }
            model_outcome_release(&outcome);
        }
    }
}

/* I1 for everything: forgets what was computed, computes it anew, compares. */
static void check_from_scratch(struct world *world, const struct marks *live)
{
    for (size_t i = 0; i < world->count; i++) {
        struct model_place surface[2];
        const struct world_slot *slot = &world->slots[i];
        if (is_computed(slot, live->of[i])) {
            const size_t count = model_surface(&slot->program, surface);
            for (size_t j = 0; j < count; j++) {
                const struct model_write write = {surface[j], value_null()};
                (void)model_put(&world->documents, &write, true);
            }
        }
    }
    compute_all(world, live);
    for (size_t i = 0; i < MODEL_DOCUMENTS; i++) {
        const struct value is =
            entity_state_document(&world->entities[i]->visible);
        (void)HOLDS(world, value_equal(is, world->documents.documents[i]));
        value_unref(is);
    }
    world->tally->scratches++;
}

static void check_all(struct world *world)
{
    struct marks live;
    struct marks restless;
    bool anyone_waits = false;
    copy_documents(world);
    find_live(world, &live);
    find_restless(world, &restless);
    world->tally->checks++;
    (void)HOLDS(world, sched_check(world->sched));
    for (size_t i = 0; i < world->count; i++) {
        struct world_slot *slot = &world->slots[i];
        if (slot->node != NULL) {
            check_slot(world, slot, live.of[i], restless.of[i]);
            anyone_waits = anyone_waits || waits(slot);
        }
    }
    world->tally->gated += anyone_waits;
    if (!anyone_waits) {
        check_from_scratch(world, &live);
    }
}

bool model_world_step(struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        world->slots[i].step_runs = 0;
        world->slots[i].step_failed = false;
    }
    const uint64_t before = world->sched->counters.not_settling;
    sched_step(world->sched, world->now);
    if (world->sched->counters.not_settling != before) {
        world->tally->unsettled++;
    }
    check_all(world);
    return !world->silent;
}

bool world_settle(struct world *world)
{
    enum {
        WAKES_MAX = 64
    };
    for (unsigned i = 0; i < WAKES_MAX && !world->silent; i++) {
        const mono_ms wake = sched_next_wake(world->sched);
        if (wake == MONO_NEVER) {
            return true;
        }
        world->now = wake > world->now ? wake : world->now;
        (void)model_world_step(world);
    }
    /* Only a cycle that does not settle goes on for so long. */
    bool cyclic = false;
    for (size_t i = 0; i < world->count; i++) {
        cyclic = cyclic || world->slots[i].program.body == BODY_CYCLE;
    }
    (void)HOLDS(world, cyclic);
    return !world->silent;
}

/* -- Single questions ---------------------------------------------------- */

bool world_is_consistent(struct world *world, size_t slot)
{
    copy_documents(world);
    return is_consistent(world, &world->slots[slot]) &&
           saw_what_is(world, &world->slots[slot]);
}

bool world_reads_from(const struct world *world, size_t reader, size_t writer)
{
    return reads_from(world, &world->slots[reader], &world->slots[writer]);
}

void world_restart(struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        world->slots[i].node = NULL;
    }
    sched_free(world->sched);
    world->sched = sched_new(&world->replica, NULL);
}
