/* The simulation of replicas and a store (lib/replica_sim.h). */

#include "lib/replica_sim.h"

#include <stdlib.h>
#include <string.h>

#include "host/hub.h"
#include "lib/faulty_link.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/overlay.h"
#include "replica/session.h"
#include "replica/space.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

enum {
    REPLICAS_MAX = 5,
    STEPS = 250,
    QUIET_ROUNDS = 100000,
};

/* -- What is kept -------------------------------------------------------- */

/* A commit, from its application to the end of the run. */
struct trial {
    struct actor *actor;
    uint32_t life; /* of its actor */
    uint64_t local_seq;
    unsigned told; /* COMMIT notifications */
    unsigned reverted;
    unsigned verdicts;
    unsigned settled;
    enum err err;
    uint64_t seq;
    bool counts;     /* read R and wrote one more */
    bool increments; /* I */
    int64_t token;   /* in L; 0: none */
};

struct folded {
    struct entity *entity;
    struct entity_state state;
};

/* A replica through its lives. */
struct actor {
    struct sim *sim;
    uint32_t number;
    uint32_t life;
    struct replica replica;
    struct space *space;
    struct faulty_link link;
    struct subscriber subscriber;
    VEC(struct folded) folded;
    VEC(struct trial *) lives; /* of this life, by local seq from 1 */
    struct trial *under_way;
    struct transaction *held; /* or NULL */
    struct trial *held_trial;
};

struct sim {
    uint64_t seed;
    struct random random;
    struct store_kit store;
    struct hub hub;
    struct hub *hub_up; /* NULL: it is down */
    mono_ms now;
    struct faulty_rates rates;
    size_t actors_count;
    struct actor actors[REPLICAS_MAX];
    VEC(struct trial *) trials;
    int64_t tokens;
    uint64_t digest;
    bool held; /* no failure so far */
    uint64_t secrets;
    struct replica_sim_counts counts;
};

static void fail(struct sim *sim, const char *what)
{
    if (sim->held) {
        sim->held = false;
        (void)test_fail(__FILE__,
                        __LINE__,
                        "seed %" PRIu64 ", at %" PRIu64 " ms: %s",
                        sim->seed,
                        sim->now,
                        what);
    }
}

static void expect(struct sim *sim, bool held, const char *what)
{
    if (!held) {
        fail(sim, what);
    }
}

static void mix(struct sim *sim, uint64_t number)
{
    sim->digest = (sim->digest ^ number) * UINT64_C(0x100000001b3);
}

/* -- Listening ----------------------------------------------------------- */

static struct entity_state *folded_of(struct actor *actor,
                                      struct entity *entity)
{
    VEC_FOREACH (&actor->folded, folded) {
        if (folded->entity == entity) {
            return &folded->state;
        }
    }
    const struct folded folded = {.entity = entity};
    vec_push(&actor->folded, folded);
    return &vec_last(&actor->folded)->state;
}

static struct trial *trial_of(struct actor *actor, uint64_t local_seq)
{
    if (local_seq == 0 || local_seq > actor->lives.count) {
        return actor->under_way; /* its number is told when it returns */
    }
    return actor->lives.at[local_seq - 1];
}

static void count_notification(struct actor *actor,
                               const struct notification *what)
{
    struct sim *sim = actor->sim;
    mix(sim, what->kind);
    mix(sim, what->local_seq);
    mix(sim, what->count);
    struct trial *trial = trial_of(actor, what->local_seq);
    if (what->kind == NOTIFY_COMMIT && trial != NULL) {
        trial->told++;
    } else if (what->kind == NOTIFY_REVERT && trial != NULL) {
        trial->reverted++;
        sim->counts.reverts++;
    } else if (what->kind == NOTIFY_COMMIT || what->kind == NOTIFY_REVERT) {
        fail(sim, "a notification is about a commit that nobody made");
    }
}

static enum channel_answer listen(void *ctx, const struct notification *what)
{
    struct actor *actor = ctx;
    struct sim *sim = actor->sim;
    count_notification(actor, what);
    for (size_t i = 0; i < what->count; i++) {
        const struct change *change = &what->changes[i];
        struct entity_state *state = folded_of(actor, change->entity);
        expect(sim,
               entity_state_equal(state, &change->before),
               "a notification begins with another state than the last one "
               "ended with");
        entity_state_release(state);
        *state = entity_state_ref(&change->after);
    }
    return CHANNEL_MORE;
}

static void on_verdict(void *ctx, const struct verdict *verdict)
{
    struct trial *trial = ctx;
    trial->verdicts++;
    trial->err = verdict->err;
    trial->seq = verdict->seq;
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct trial *trial = ctx;
    struct sim *sim = trial->actor->sim;
    trial->settled++;
    mix(sim, trial->local_seq);
    mix(sim, (uint64_t)verdict->err);
    expect(sim,
           trial->verdicts == 1 && trial->err == verdict->err,
           "a commit settles with another verdict than it was told");
}

/* -- Lives --------------------------------------------------------------- */

static void open_actor(struct actor *actor)
{
    struct sim *sim = actor->sim;
    actor->life++;
    replica_init(&actor->replica, NULL);
    actor->subscriber = (struct subscriber){.fn = listen, .ctx = actor};
    channel_subscribe(&actor->replica, &actor->subscriber);
    struct buf name = {0};
    buf_printf(&name, "r%u-%u", actor->number, actor->life);
    const struct value principal =
        value_text_new(actor->number % 2 == 0 ? "even" : "odd");
    faulty_link_init(&actor->link,
                     &sim->hub_up,
                     principal,
                     random_u64(&sim->random),
                     &sim->rates);
    actor->link.now = sim->now;
    const struct space_options options = {
        .id = value_text_new("space"),
        .transport = &actor->link.transport,
        .session = value_string_new(buf_text(&name), name.length),
        .seed = random_u64(&sim->random),
        .batch = random_one_in(&sim->random, 3),
        .deltas = !random_one_in(&sim->random, 4),
    };
    CHECK(space_open(&actor->replica, &options, &actor->space, NULL) == ERR_OK);
    value_unref(options.session);
    value_unref(principal);
    buf_release(&name);
    replica_step(&actor->replica, sim->now);
}

static void close_actor(struct actor *actor)
{
    struct sim *sim = actor->sim;
    /* The hub knows what a replica has. */
    expect(sim,
           actor->space->session->counters.useless_deltas == 0,
           "a delta did not apply");
    if (actor->held != NULL) {
        transaction_release(actor->held);
        actor->held = NULL;
    }
    replica_release(&actor->replica);
    VEC_FOREACH (&actor->folded, folded) {
        entity_state_release(&folded->state);
    }
    vec_release(&actor->folded);
    vec_release(&actor->lives);
    const struct faulty_counters *faults = &actor->link.counters;
    sim->counts.messages += faults->delivered;
    sim->counts.faults +=
        faults->lost + faults->repeated + faults->delayed + faults->damaged;
    sim->counts.connections += actor->link.numbers;
    mix(sim, actor->link.digest);
    faulty_link_release(&actor->link);
}

static uint64_t next_secret(void *ctx)
{
    struct sim *sim = ctx;
    return ++sim->secrets;
}

static void hub_start(struct sim *sim)
{
    const struct hub_options options = {
        .tokens = random_one_in(&sim->random, 2) ? next_secret : NULL,
        .ctx = sim,
        .immediate = random_one_in(&sim->random, 2),
        .seed = random_u64(&sim->random),
        .long_deltas = !random_one_in(&sim->random, 4),
    };
    hub_init(&sim->hub, &sim->store.engine, &options, sim->now);
    sim->hub_up = &sim->hub;
}

static void hub_stop(struct sim *sim)
{
    for (size_t i = 0; i < sim->actors_count; i++) {
        faulty_link_hub_down(&sim->actors[i].link);
    }
    sim->hub_up = NULL;
    sim->counts.deltas += sim->hub.counters.deltas;
    hub_release(&sim->hub);
}

/* -- Transactions -------------------------------------------------------- */

/* Where the random writes go. */
static const char *const pointers[] = {
    "",
    "/value",
    "/value",
    "/value/a",
    "/value/b",
    "/value/l",
    "/value/l/0",
    "/value/l/1",
    "/value/o",
    "/value/o/x",
    "/value/o/y",
    "/meta",
};

static struct place *place_at(struct actor *actor,
                              const char *id,
                              enum scope scope,
                              const char *pointer)
{
    const struct value name = value_text_new(id);
    struct entity *entity;
    CHECK(entity_of(actor->space, scope, name, &entity, NULL) == ERR_OK);
    value_unref(name);
    struct path *path = from_pointer(&actor->replica.paths, pointer);
    struct place *place = place_of(entity, path);
    path_unref(path);
    return place;
}

static struct place *random_place(struct actor *actor)
{
    static const char *const ids[] = {"A", "B", "C", "D"};
    struct random *random = &actor->sim->random;
    const enum scope scope = random_one_in(random, 10)   ? SCOPE_USER
                             : random_one_in(random, 15) ? SCOPE_SESSION
                                                         : SCOPE_SPACE;
    return place_at(actor,
                    ids[random_below(random, COUNT_OF(ids))],
                    scope,
                    pointers[random_below(random, COUNT_OF(pointers))]);
}

static struct value small_number(struct random *random)
{
    return value_int((int64_t)random_below(random, 4));
}

static struct value random_value(struct random *random, const char *pointer)
{
    if (pointer[0] == '\0') {
        return from_quoted(random_one_in(random, 2)
                               ? "{'value':{'a':1,'l':[1,2],'o':{'x':1}}}"
                               : "{'value':0,'meta':1}");
    }
    switch (random_below(random, 6)) {
    case 0:
        return from_quoted("{'a':0,'b':0,'l':[1,2,3],'o':{}}");
    case 1:
        return from_quoted("[1,2,3]");
    case 2:
        return from_quoted("{'x':2}");
    default:
        return small_number(random);
    }
}

static void random_read(struct actor *actor, struct transaction *transaction)
{
    struct random *random = &actor->sim->random;
    struct place *place = random_place(actor);
    struct value value;
    (void)transaction_read(transaction,
                           place,
                           random_one_in(random, 3) ? READ_SHAPE : READ_DEEP,
                           random_one_in(random, 5)
                               ? (unsigned)random_below(random, 4)
                               : READ_FOR_BOTH,
                           &value);
    value_unref(value);
    place_unref(place);
}

static void random_write(struct actor *actor, struct transaction *transaction)
{
    struct random *random = &actor->sim->random;
    struct place *place = random_place(actor);
    struct buf pointer = {0};
    path_write(&pointer, place->path);
    enum err err;
    switch (random_below(random, 8)) {
    case 0:
        err = transaction_delete(transaction, place, NULL);
        break;
    case 1:
    case 2: {
        const enum write_kind kind =
            random_one_in(random, 2) ? WRITE_APPEND : WRITE_ADD_UNIQUE;
        struct value list =
            array_push_adopt(value_empty_array(), small_number(random));
        err = transaction_merge_adopt(transaction, place, kind, list, NULL);
        break;
    }
    case 3:
    case 4:
        err = transaction_merge_adopt(
            transaction,
            place,
            random_one_in(random, 2) ? WRITE_INCREMENT : WRITE_REMOVE_VALUE,
            small_number(random),
            NULL);
        break;
    default:
        err = transaction_put_adopt(transaction,
                                    place,
                                    random_value(random, buf_text(&pointer)),
                                    NULL);
        break;
    }
    mix(actor->sim, (uint64_t)err);
    buf_release(&pointer);
    place_unref(place);
}

/* One more than what was read. */
static void count_up(struct actor *actor,
                     struct transaction *transaction,
                     struct trial *trial)
{
    struct place *place = place_at(actor, "R", SCOPE_SPACE, "/value");
    struct value old;
    (void)transaction_read(transaction, place, READ_DEEP, 0, &old);
    const int64_t number = value_is_absent(old) ? 0 : value_integer(old);
    value_unref(old);
    trial->counts = transaction_put_adopt(transaction,
                                          place,
                                          value_int(number + 1),
                                          NULL) == ERR_OK;
    place_unref(place);
}

static void increment(struct actor *actor,
                      struct transaction *transaction,
                      struct trial *trial)
{
    struct place *place = place_at(actor, "I", SCOPE_SPACE, "/value");
    trial->increments = transaction_merge_adopt(transaction,
                                                place,
                                                WRITE_INCREMENT,
                                                value_int(1),
                                                NULL) == ERR_OK;
    place_unref(place);
}

static void append_token(struct actor *actor,
                         struct transaction *transaction,
                         struct trial *trial)
{
    struct place *place = place_at(actor, "L", SCOPE_SPACE, "/value");
    trial->token = ++actor->sim->tokens;
    struct value list =
        array_push_adopt(value_empty_array(), value_int(trial->token));
    CHECK(
        transaction_merge_adopt(transaction, place, WRITE_APPEND, list, NULL) ==
        ERR_OK);
    place_unref(place);
}

static void create(struct actor *actor, struct transaction *transaction)
{
    struct random *random = &actor->sim->random;
    char id[3] = {'N', (char)('0' + random_below(random, 8)), '\0'};
    struct place *place = place_at(actor, id, SCOPE_SPACE, "/value");
    transaction_create_only(transaction, place->entity);
    CHECK(transaction_put_adopt(transaction,
                                place,
                                value_int(actor->number),
                                NULL) == ERR_OK);
    place_unref(place);
}

static void do_something(struct actor *actor,
                         struct transaction *transaction,
                         struct trial *trial)
{
    struct random *random = &actor->sim->random;
    for (uint64_t reads = random_below(random, 4); reads > 0; reads--) {
        random_read(actor, transaction);
    }
    if (random_one_in(random, 3) && !trial->counts) {
        count_up(actor, transaction, trial);
    }
    if (random_one_in(random, 4) && !trial->increments) {
        increment(actor, transaction, trial);
    }
    if (random_one_in(random, 4) && trial->token == 0) {
        append_token(actor, transaction, trial);
    }
    if (random_one_in(random, 15)) {
        create(actor, transaction);
    }
    if (random_one_in(random, 15) && actor->space->local_seq > 0) {
        transaction_needs(transaction,
                          actor->space,
                          1 + random_below(random, actor->space->local_seq));
    }
    for (uint64_t writes = random_below(random, 3); writes > 0; writes--) {
        random_write(actor, transaction);
    }
}

/* What the store has of an entity, new. */
static struct value head_of(struct actor *actor,
                            const struct entity *entity,
                            uint64_t *seq)
{
    struct sim *sim = actor->sim;
    struct value key;
    const struct identity identity = {actor->link.principal,
                                      actor->space->session->id};
    CHECK(scope_key_new(entity->scope, identity, &key, NULL) == ERR_OK);
    const struct engine_address address = {
        .branch = value_text_new(""),
        .scope_key = key,
        .id = entity->id,
    };
    struct value document = VALUE_NONE;
    CHECK(engine_read_begin(&sim->store.engine, NULL) == ERR_OK);
    CHECK(engine_head(&sim->store.engine, &address, &document, seq, NULL) ==
          ERR_OK);
    engine_read_end(&sim->store.engine);
    value_unref(key);
    return document;
}

/* Whether the store has a revision of something that must be new. */
static bool one_has_existed(struct actor *actor,
                            const struct transaction *transaction)
{
    uint64_t any = 0;
    VEC_FOREACH (&transaction->conditions, condition) {
        uint64_t seq = 0;
        value_unref(head_of(actor, condition->entity, &seq));
        any += seq;
    }
    return any > 0;
}

static struct transaction *begin(struct actor *actor, struct trial **out)
{
    struct trial *trial = mem_alloc_zero(sizeof *trial);
    *out = trial;
    trial->actor = actor;
    trial->life = actor->life;
    vec_push(&actor->sim->trials, trial);
    const struct transaction_options options = {
        .watch = {on_verdict, on_settled, trial},
    };
    return transaction_begin(&actor->replica, &options);
}

static void finish(struct actor *actor,
                   struct transaction *transaction,
                   struct trial *trial)
{
    struct sim *sim = actor->sim;
    actor->under_way = trial;
    const uint64_t before = actor->space->local_seq;
    const enum err err = transaction_commit(transaction, NULL);
    actor->under_way = NULL;
    const bool creates = transaction->conditions.count > 0;
    expect(sim,
           err == ERR_OK || err == ERR_STALE ||
               (creates && err == ERR_RECEIPT_EXISTS &&
                one_has_existed(actor, transaction)) ||
               actor->space->session->state == SESSION_REVOKED,
           "a commit failed for a reason that there is not");
    sim->counts.stale += err == ERR_STALE;
    trial->local_seq = transaction->local_seq;
    if (trial->local_seq > 0) {
        expect(sim,
               trial->local_seq == before + 1 &&
                   (trial->told == 1 || (creates && trial->told == 0)),
               "a commit returned before its one notification");
        vec_push(&actor->lives, trial);
        sim->counts.commits++;
    }
    transaction_release(transaction);
}

static void run_transaction(struct actor *actor)
{
    struct trial *trial;
    struct transaction *transaction = begin(actor, &trial);
    do_something(actor, transaction, trial);
    finish(actor, transaction, trial);
}

/* One that stays open while others run and messages arrive. */
static void hold_or_finish(struct actor *actor)
{
    if (actor->held == NULL) {
        actor->held = begin(actor, &actor->held_trial);
        do_something(actor, actor->held, actor->held_trial);
    } else {
        struct transaction *held = actor->held;
        actor->held = NULL;
        do_something(actor, held, actor->held_trial);
        finish(actor, held, actor->held_trial);
    }
}

/* -- All the time -------------------------------------------------------- */

static void check_actor(struct actor *actor)
{
    struct sim *sim = actor->sim;
    MAP_FOREACH (&actor->space->entities, slot) {
        struct entity *entity = slot->item;
        expect(sim,
               entity_state_equal(folded_of(actor, entity), &entity->visible),
               "the notifications say something else than is visible");
        expect(sim, overlay_check(entity), "N3 or O1 does not hold");
    }
}

static mono_ms next_wake(const struct sim *sim)
{
    mono_ms wake =
        sim->hub_up != NULL ? hub_next_wake(sim->hub_up) : MONO_NEVER;
    for (size_t i = 0; i < sim->actors_count; i++) {
        const mono_ms of_link = faulty_link_next_wake(&sim->actors[i].link);
        const mono_ms of_replica = replica_next_wake(&sim->actors[i].replica);
        wake = of_link < wake ? of_link : wake;
        wake = of_replica < wake ? of_replica : wake;
    }
    return wake;
}

/* Everything that is due now, once. */
static void pass(struct sim *sim)
{
    if (sim->hub_up != NULL) {
        hub_step(sim->hub_up, sim->now);
        if (random_one_in(&sim->random, 3)) {
            hub_flush(sim->hub_up);
        }
    }
    const bool group = sim->hub_up != NULL && random_one_in(&sim->random, 2);
    if (group) {
        hub_group_begin(sim->hub_up);
    }
    for (size_t i = 0; i < sim->actors_count; i++) {
        struct actor *actor = &sim->actors[i];
        while (faulty_link_step(&actor->link, sim->now)) {
        }
        replica_step(&actor->replica, sim->now);
        check_actor(actor);
    }
    if (group) {
        hub_group_end(sim->hub_up);
    }
}

static void restart_actor(struct actor *actor)
{
    actor->sim->counts.restarts++;
    close_actor(actor);
    open_actor(actor);
}

/* Time goes on to the next thing that happens, but not to far-off ends. */
static void advance(struct sim *sim)
{
    const mono_ms wake = next_wake(sim);
    const mono_ms soon = sim->now + 1 + random_below(&sim->random, 20);
    sim->now = wake <= sim->now ? sim->now : wake < soon ? wake : soon;
    pass(sim);
}

static void replace_revoked(struct sim *sim)
{
    for (size_t i = 0; i < sim->actors_count; i++) {
        if (sim->actors[i].space->session->state == SESSION_REVOKED) {
            sim->counts.revoked++;
            restart_actor(&sim->actors[i]);
        }
    }
}

static void misfortune(struct sim *sim, struct actor *actor)
{
    switch (random_below(&sim->random, 6)) {
    case 0:
        restart_actor(actor);
        return;
    case 1:
        if (sim->hub_up != NULL) {
            sim->counts.hub_restarts++;
            hub_stop(sim);
        } else {
            hub_start(sim);
        }
        return;
    case 2: /* a long silence */
        sim->now += random_below(&sim->random, 40000);
        pass(sim);
        return;
    default:
        faulty_link_end(&actor->link);
        return;
    }
}

static void step(struct sim *sim)
{
    struct actor *actor =
        &sim->actors[random_below(&sim->random, sim->actors_count)];
    const uint64_t dice = random_below(&sim->random, 100);
    if (dice < 40) {
        run_transaction(actor);
        check_actor(actor);
    } else if (dice < 46) {
        hold_or_finish(actor);
        check_actor(actor);
    } else if (dice < 49) {
        misfortune(sim, actor);
    } else {
        if (sim->hub_up == NULL && random_one_in(&sim->random, 4)) {
            hub_start(sim);
        }
        advance(sim);
    }
    replace_revoked(sim);
}

/* -- The end ------------------------------------------------------------- */

static bool is_quiet(const struct sim *sim)
{
    for (size_t i = 0; i < sim->actors_count; i++) {
        const struct actor *actor = &sim->actors[i];
        const enum session_state state = actor->space->session->state;
        if (actor->link.events.count > 0 ||
            space_outstanding(actor->space) > 0 ||
            (state != SESSION_OPEN && state != SESSION_IDLE) ||
            replica_next_wake(&actor->replica) != MONO_NEVER) {
            return false;
        }
    }
    return list_is_empty(&sim->hub.owing);
}

/* No faults any more; all connections begin anew. */
static void heal(struct sim *sim)
{
    if (sim->hub_up == NULL) {
        hub_start(sim);
    }
    sim->rates = (struct faulty_rates){0};
    for (size_t i = 0; i < sim->actors_count; i++) {
        struct actor *actor = &sim->actors[i];
        if (actor->held != NULL) {
            hold_or_finish(actor);
        }
        actor->link.rates = sim->rates;
        faulty_link_end(&actor->link);
    }
    unsigned rounds = 0;
    while (sim->held && !is_quiet(sim)) {
        const mono_ms wake = next_wake(sim);
        sim->now = wake > sim->now && wake != MONO_NEVER ? wake : sim->now;
        pass(sim);
        hub_flush(&sim->hub);
        replace_revoked(sim);
        expect(sim, ++rounds < QUIET_ROUNDS, "it does not settle");
    }
}

static void compare_actor(struct actor *actor)
{
    struct sim *sim = actor->sim;
    MAP_FOREACH (&actor->space->entities, slot) {
        const struct entity *entity = slot->item;
        uint64_t seq = 0;
        const struct value head = head_of(actor, entity, &seq);
        const struct entity_state state = entity_state_of(head);
        value_unref(head);
        if (entity->watched) {
            expect(sim, entity->loaded, "a document has never come");
            expect(sim,
                   entity_state_equal(overlay_confirmed(entity), &state),
                   "the confirmed state is not the store's");
            expect(sim,
                   entity_state_equal(&entity->visible, &state),
                   "the visible state is not the store's");
            expect(sim,
                   entity->seq == seq,
                   "the confirmed state has another seq than the store's");
        }
        value_unref(state.payload);
        value_unref(state.rest);
    }
}

/* The rows of the store: "session|local_seq|seq;" */
static uint64_t row_of(const char *rows, const struct trial *trial)
{
    struct buf want = {0};
    buf_printf(&want,
               ":r%u-%u|%" PRIu64 "|",
               trial->actor->number,
               trial->life,
               trial->local_seq);
    const char *found = strstr(rows, buf_text(&want));
    const uint64_t seq =
        found != NULL ? strtoull(found + want.length, NULL, 10) : 0;
    buf_release(&want);
    return seq;
}

static void compare_outcome(struct sim *sim,
                            const struct trial *trial,
                            uint64_t row)
{
    expect(sim, trial->told == 1, "a commit has not had one COMMIT");
    expect(sim, trial->reverted <= 1, "a commit has had several REVERTs");
    expect(sim,
           trial->verdicts == 1 && trial->settled == 1,
           "a commit has not had one verdict and one settlement");
    const bool unknown =
        trial->err == ERR_CLOSED || trial->err == ERR_SESSION_LOST;
    expect(sim,
           (trial->err == ERR_OK) == (trial->reverted == 0),
           "a commit was reverted that landed, or not that did not");
    sim->counts.unknown += unknown;
    sim->counts.landed += row > 0;
    sim->counts.refused += !unknown && trial->err != ERR_OK;
    expect(sim,
           unknown || (trial->err == ERR_OK ? row == trial->seq : row == 0),
           "a commit has another fate in the store");
}

static int64_t payload_of(struct sim *sim, const char *id, struct value *list)
{
    const char *text = kit_read(&sim->store, id);
    if (strcmp(text, "(absent)") == 0) {
        *list = value_empty_array();
        return 0;
    }
    struct value document = from_quoted(text);
    const struct value payload = object_field(document, "value");
    const int64_t number = value_is_array(payload) ? 0 : value_integer(payload);
    *list = value_is_array(payload) ? value_ref(payload) : value_empty_array();
    value_unref(document);
    return number;
}

static uint32_t occurrences(struct value list, int64_t token)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < array_count(list); i++) {
        found += value_integer(array_at(list, i)) == token;
    }
    return found;
}

static void compare_all(struct sim *sim)
{
    struct buf rows = {0};
    buf_append_text(&rows,
                    kit_sql(&sim->store,
                            "SELECT s.key, c.local_seq, c.seq FROM \"commit\" "
                            "c JOIN session s USING(session)"));
    struct value list;
    struct value none;
    int64_t counted = payload_of(sim, "R", &none);
    int64_t incremented = payload_of(sim, "I", &none);
    (void)payload_of(sim, "L", &list);
    uint32_t tokens = array_count(list);
    VEC_FOREACH (&sim->trials, at) {
        const struct trial *trial = *at;
        if (trial->local_seq == 0) {
            continue;
        }
        const uint64_t row = row_of(buf_text(&rows), trial);
        compare_outcome(sim, trial, row);
        counted -= row > 0 && trial->counts;
        incremented -= row > 0 && trial->increments;
        if (row > 0 && trial->token > 0) {
            tokens--;
            expect(sim,
                   occurrences(list, trial->token) == 1,
                   "what landed is not in the list once");
        }
    }
    expect(sim, counted == 0, "a count that was read and written is wrong");
    expect(sim, incremented == 0, "a count that was incremented is wrong");
    expect(sim, tokens == 0, "something is in the list that did not land");
    value_unref(list);
    buf_release(&rows);
}

/* -- A run --------------------------------------------------------------- */

static void set_up(struct sim *sim, uint64_t seed)
{
    *sim = (struct sim){
        .seed = seed,
        .now = 1000,
        .held = true,
        .digest = UINT64_C(0xcbf29ce484222325),
    };
    random_init(&sim->random, seed);
    struct random *random = &sim->random;
    /* From hardly any faults to hardly any message that arrives. */
    const uint64_t scale = 1 + random_below(random, 40);
    sim->rates = (struct faulty_rates){
        .lose = 6 * scale,
        .repeat = 6 * scale,
        .delay = 6 * scale,
        .damage = 40 * scale,
        .end = 15 * scale,
        .refuse = 2 + scale,
    };
    kit_open_memory(&sim->store, NULL);
    hub_start(sim);
    sim->actors_count = 2 + random_below(random, REPLICAS_MAX - 1);
    for (size_t i = 0; i < sim->actors_count; i++) {
        sim->actors[i].sim = sim;
        sim->actors[i].number = (uint32_t)i;
        open_actor(&sim->actors[i]);
    }
}

static void add_counts(struct replica_sim_counts *to,
                       const struct replica_sim_counts *from)
{
    to->runs++;
    to->commits += from->commits;
    to->landed += from->landed;
    to->refused += from->refused;
    to->unknown += from->unknown;
    to->stale += from->stale;
    to->reverts += from->reverts;
    to->messages += from->messages;
    to->faults += from->faults;
    to->connections += from->connections;
    to->restarts += from->restarts;
    to->hub_restarts += from->hub_restarts;
    to->revoked += from->revoked;
    to->deltas += from->deltas;
}

bool replica_sim_run(uint64_t seed,
                     struct replica_sim_counts *counts,
                     uint64_t *digest)
{
    struct sim *sim = mem_alloc(sizeof *sim);
    set_up(sim, seed);
    for (unsigned i = 0; i < STEPS && sim->held; i++) {
        step(sim);
    }
    if (sim->held) {
        heal(sim);
    }
    if (sim->held) {
        for (size_t i = 0; i < sim->actors_count; i++) {
            compare_actor(&sim->actors[i]);
        }
        compare_all(sim);
    }
    for (size_t i = 0; i < sim->actors_count; i++) {
        close_actor(&sim->actors[i]);
    }
    if (sim->hub_up != NULL) {
        sim->counts.deltas += sim->hub.counters.deltas;
        hub_release(&sim->hub);
    }
    kit_close(&sim->store);
    VEC_FOREACH (&sim->trials, trial) {
        mem_free(*trial, sizeof **trial);
    }
    vec_release(&sim->trials);
    add_counts(counts, &sim->counts);
    *digest = sim->digest;
    const bool held = sim->held;
    mem_free(sim, sizeof *sim);
    return held;
}
