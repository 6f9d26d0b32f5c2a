/* The simulation of events (lib/events_sim.h): schedules, and what must hold at
 * their end. */

#include <stdio.h>

#include "lib/events_sim_internal.h"
#include "lib/test.h"
#include "replica/session.h"
#include "sched/outbox.h"
#include "value/compare.h"
#include "value/object.h"

const struct events_profile events_everything = {
    .runtimes = 3,
    .steps = 40,
    .callers = 3,
    .depth = 2,
    .faults = true,
    .crashes = true,
};

void sim_fail(struct sim *sim, const char *what)
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

/* -- Lives --------------------------------------------------------------- */

static struct place *place_named(struct runtime *runtime,
                                 unsigned space,
                                 const char *name)
{
    char text[NAME_SIZE];
    (void)snprintf(text, sizeof text, "%s-%" PRIu64, name, runtime->sim->seed);
    const struct value id = value_text_new(text);
    struct entity *entity;
    CHECK(entity_of(runtime->spaces[space], SCOPE_SPACE, id, &entity, NULL) ==
          ERR_OK);
    value_unref(id);
    return place_payload(entity);
}

static void open_space(struct runtime *runtime, unsigned space)
{
    struct sim *sim = runtime->sim;
    char name[NAME_SIZE];
    (void)snprintf(name,
                   sizeof name,
                   "r%u-%u-%" PRIu64,
                   runtime->number,
                   runtime->life,
                   sim->seed);
    struct faulty_link *link = &runtime->links[space];
    faulty_link_init(link,
                     &sim->up[space],
                     VALUE_NONE,
                     random_u64(&sim->random),
                     &sim->rates);
    link->now = sim->now;
    const struct space_options options = {
        .id = value_text_new(space == 0 ? "first" : "second"),
        .transport = &link->transport,
        .session = value_text_new(name),
        .seed = random_u64(&sim->random),
    };
    CHECK(space_open(&runtime->replica,
                     &options,
                     &runtime->spaces[space],
                     NULL) == ERR_OK);
    value_unref(options.id);
    value_unref(options.session);
    runtime->counts[space] = place_named(runtime, space, "count");
    runtime->sums[space] = place_named(runtime, space, "sum");
    runtime->noises[space] = place_named(runtime, space, "noise");
}

static void open_desk(struct runtime *runtime, unsigned space, unsigned stream)
{
    struct desk *desk = &runtime->desks[space][stream];
    *desk = (struct desk){runtime, space, stream};
    struct place *place =
        place_named(runtime, space, stream == 0 ? "pure" : "other");
    runtime->streams[space][stream] = events_stream(runtime->sched, place);
    place_unref(place);
    const struct declared_read reads[] = {
        {runtime->counts[space], READ_DEEP},
        {runtime->noises[space], READ_DEEP},
    };
    const struct handler_spec spec = {
        .run = sim_handle,
        .ctx = desk,
        .reads = reads,
        .read_count = stream == 0 ? 0 : COUNT_OF(reads),
        .pure = stream == 0,
    };
    struct handler *handler;
    CHECK(events_handle(runtime->sched,
                        runtime->streams[space][stream],
                        &spec,
                        &handler,
                        NULL) == ERR_OK);
}

static void open_runtime(struct runtime *runtime)
{
    struct sim *sim = runtime->sim;
    runtime->life++;
    runtime->attempt = NULL;
    replica_init(&runtime->replica, NULL);
    for (unsigned i = 0; i < SPACES; i++) {
        open_space(runtime, i);
    }
    runtime->sched = sched_new(&runtime->replica, NULL);
    runtime->subscriber = (struct subscriber){.fn = sim_change, .ctx = runtime};
    channel_subscribe(&runtime->replica, &runtime->subscriber);
    struct events_policy policy = events_policy();
    runtime->one_lane = chance(sim, 2);
    policy.lanes = runtime->one_lane ? LANES_ONE : LANES_SPACE;
    policy.window =
        chance(sim, 4) ? random_below(&sim->random, 60) : policy.window;
    /* What a caller sends again would become part of what waits. */
    if (sim->profile->callers == 0 && chance(sim, 4)) {
        policy.backlog = 3;
    }
    policy.seed = random_u64(&sim->random);
    char name[NAME_SIZE];
    (void)snprintf(name,
                   sizeof name,
                   "i%u-%u-%" PRIu64,
                   runtime->number,
                   runtime->life,
                   sim->seed);
    const struct value instance = value_text_new(name);
    events_configure(runtime->sched, &policy, instance);
    value_unref(instance);
    events_listen(runtime->sched, sim_notice, runtime);
    for (unsigned i = 0; i < SPACES * STREAMS; i++) {
        open_desk(runtime, i / STREAMS, i % STREAMS);
    }
}

/* What it is told from now on is told to nobody. */
static void close_runtime(struct runtime *runtime)
{
    struct sim *sim = runtime->sim;
    runtime->life++;
    sched_dispose(runtime->sched);
    runtime->attempt = NULL;
    channel_unsubscribe(&runtime->subscriber);
    sched_free(runtime->sched);
    for (unsigned i = 0; i < SPACES; i++) {
        place_unref(runtime->counts[i]);
        place_unref(runtime->sums[i]);
        place_unref(runtime->noises[i]);
    }
    replica_release(&runtime->replica);
    for (unsigned i = 0; i < SPACES; i++) {
        struct faulty_link *link = &runtime->links[i];
        const struct faulty_counters *faults = &link->counters;
        sim->counts.messages += faults->delivered;
        sim->counts.faults += faults->lost + faults->repeated +
                              faults->delayed + faults->damaged + faults->ended;
        faulty_link_release(link);
    }
}

static void hub_start(struct sim *sim, unsigned space)
{
    const struct hub_options options = {
        .immediate = chance(sim, 2),
        .seed = random_u64(&sim->random),
    };
    hub_init(&sim->hubs[space],
             &sim->stores->kits[space].engine,
             &options,
             sim->now);
    sim->up[space] = &sim->hubs[space];
}

static void hub_stop(struct sim *sim, unsigned space)
{
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        faulty_link_hub_down(&sim->runtimes[i].links[space]);
    }
    sim->up[space] = NULL;
    hub_release(&sim->hubs[space]);
}

/* -- Steps --------------------------------------------------------------- */

static mono_ms earlier(mono_ms a, mono_ms b)
{
    return a < b ? a : b;
}

static mono_ms next_wake(const struct sim *sim)
{
    mono_ms wake = MONO_NEVER;
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        const struct runtime *runtime = &sim->runtimes[i];
        wake = earlier(wake, replica_next_wake(&runtime->replica));
        wake = earlier(wake, sched_next_wake(runtime->sched));
        for (unsigned j = 0; j < SPACES; j++) {
            wake = earlier(wake, faulty_link_next_wake(&runtime->links[j]));
        }
    }
    return wake;
}

static void step_runtime(struct runtime *runtime)
{
    const mono_ms now = runtime->sim->now;
    for (unsigned i = 0; i < SPACES; i++) {
        while (faulty_link_step(&runtime->links[i], now)) {
        }
    }
    replica_step(&runtime->replica, now);
    sched_step(runtime->sched, now);
}

static void step_all(struct sim *sim)
{
    for (unsigned i = 0; i < SPACES; i++) {
        if (sim->up[i] != NULL) {
            hub_step(sim->up[i], sim->now);
            hub_flush(sim->up[i]);
        }
    }
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        step_runtime(&sim->runtimes[i]);
    }
}

/* Time goes on to the next thing that happens, but not to far-off ends. */
static void advance(struct sim *sim)
{
    const mono_ms wake = next_wake(sim);
    const mono_ms soon = sim->now + 1 + random_below(&sim->random, 30);
    sim->now = wake <= sim->now ? sim->now : earlier(wake, soon);
    step_all(sim);
}

static void restart_runtime(struct runtime *runtime)
{
    runtime->sim->counts.crashes++;
    close_runtime(runtime);
    open_runtime(runtime);
}

static bool is_revoked(const struct runtime *runtime)
{
    return runtime->spaces[0]->session->state == SESSION_REVOKED ||
           runtime->spaces[1]->session->state == SESSION_REVOKED;
}

static void replace_revoked(struct sim *sim)
{
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        if (is_revoked(&sim->runtimes[i])) {
            restart_runtime(&sim->runtimes[i]);
        }
    }
}

/* Somebody else writes to what handlers read. */
static void disturb(struct sim *sim)
{
    const unsigned space = (unsigned)random_below(&sim->random, SPACES);
    struct events_stores *stores = sim->stores;
    char line[NAME_SIZE];
    const uint64_t number = ++stores->strange;
    (void)snprintf(line,
                   sizeof line,
                   "x %" PRIu64 " | set noise-%" PRIu64 " %" PRIu64,
                   number,
                   sim->seed,
                   number % 8);
    kit_commit(&stores->kits[space], line);
    if (sim->up[space] != NULL) {
        hub_poll(sim->up[space]);
    }
}

static void misfortune(struct sim *sim, struct runtime *runtime)
{
    const unsigned space = (unsigned)random_below(&sim->random, SPACES);
    const uint64_t dice = random_below(&sim->random, 8);
    if (dice < 4) {
        if (sim->profile->crashes) {
            restart_runtime(runtime);
        }
    } else if (!sim->profile->faults) {
        return;
    } else if (dice < 5) {
        if (sim->up[space] != NULL) {
            sim->counts.hub_restarts++;
            hub_stop(sim, space);
        } else {
            hub_start(sim, space);
        }
    } else if (dice < 6) { /* a long silence */
        sim->now += random_below(&sim->random, 40000);
        step_all(sim);
    } else {
        faulty_link_end(&runtime->links[space]);
    }
}

static void step(struct sim *sim)
{
    struct runtime *runtime =
        &sim->runtimes[random_below(&sim->random, sim->runtimes_count)];
    const uint64_t dice = random_below(&sim->random, 100);
    if (dice < 18) {
        sim_send_anything(runtime);
    } else if (dice < 36 && sim->profile->callers > 0) {
        sim_deliver_again(runtime);
    } else if (dice < 42) {
        disturb(sim);
    } else if (dice < 48) {
        misfortune(sim, runtime);
    } else if (dice < 60) {
        step_runtime(runtime);
    } else if (dice < 68) {
        sim_take_up(runtime, chance(sim, 2));
    } else {
        for (unsigned i = 0; i < SPACES; i++) {
            if (sim->up[i] == NULL && chance(sim, 4)) {
                hub_start(sim, i);
            }
        }
        advance(sim);
    }
    replace_revoked(sim);
}

/* -- The end ------------------------------------------------------------- */

static bool is_quiet(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        const struct runtime *runtime = &sim->runtimes[i];
        if (!sched_is_idle(runtime->sched) || events_wait(runtime->sched) ||
            events_in_flight(runtime->sched) ||
            replica_next_wake(&runtime->replica) != MONO_NEVER) {
            return false;
        }
        for (unsigned j = 0; j < SPACES; j++) {
            if (runtime->links[j].events.count > 0 ||
                space_outstanding(runtime->spaces[j]) > 0) {
                return false;
            }
        }
    }
    return true;
}

/* No faults any more; all connections begin anew. */
static void heal(struct sim *sim)
{
    sim->rates = (struct faulty_rates){0};
    for (unsigned i = 0; i < SPACES; i++) {
        if (sim->up[i] == NULL) {
            hub_start(sim, i);
        }
        for (unsigned j = 0; j < sim->runtimes_count; j++) {
            struct faulty_link *link = &sim->runtimes[j].links[i];
            link->rates = sim->rates;
            if (sim->profile->faults) {
                faulty_link_end(link);
            }
        }
    }
    unsigned rounds = 0;
    while (sim->held && (!is_quiet(sim) || sim_waiting(sim) > 0)) {
        const mono_ms wake = next_wake(sim);
        sim->now = wake > sim->now && wake != MONO_NEVER ? wake : sim->now;
        for (unsigned i = 0; i < sim->runtimes_count; i++) {
            sim_take_up(&sim->runtimes[i], false);
        }
        step_all(sim);
        replace_revoked(sim);
        expect(sim, ++rounds < QUIET_ROUNDS, "it does not settle");
    }
}

/* The payload of a document at the store, new. */
static struct value stored(struct sim *sim, unsigned space, struct value id)
{
    struct engine *engine = &sim->stores->kits[space].engine;
    const struct engine_address address = {
        .branch = value_text_new(""),
        .scope_key = value_text_new("space"),
        .id = id,
    };
    struct value document = VALUE_NONE;
    CHECK(engine_read(engine, &address, ENGINE_HEAD, &document, NULL) ==
          ERR_OK);
    if (value_is_absent(document)) {
        return document;
    }
    const struct value payload = value_ref(object_field(document, "value"));
    value_unref(document);
    return payload;
}

static void expect_stored(struct sim *sim,
                          unsigned space,
                          struct value id,
                          int64_t want,
                          const char *what)
{
    const struct value is = stored(sim, space, id);
    expect(sim,
           value_is_absent(is) ? want == 0 : value_equal(is, value_int(want)),
           what);
    value_unref(is);
}

static void compare_sending(struct sim *sim, const struct sending *sending)
{
    if (!is_alive(sending)) {
        sim->counts.unknown += sending->told == 0 || is_uncertain(sending->err);
        return;
    }
    expect(sim, sending->told == 1, "a sender was not told");
    const struct attempt *origin = sending->origin;
    /* Another runtime that took it up may have been faster. */
    if (origin == NULL || is_uncertain(sending->err) ||
        is_uncertain(origin->sending->err) ||
        sending->err == ERR_RECEIPT_EXISTS) {
        return;
    }
    /* It may have failed by itself before. */
    expect(sim,
           sending->outcome != (origin->landed ? EVENT_DROPPED : EVENT_DONE),
           "an event was dropped though its origin landed, or done though it "
           "did not");
}

static void compare_attempt(struct sim *sim, const struct attempt *attempt)
{
    const struct sending *sending = attempt->sending;
    const unsigned space = sending->space;
    const bool certain = is_alive(sending) && !is_uncertain(sending->err);
    expect(sim,
           attempt->calls == 0 || attempt->landed,
           "a call was made for a commit that did not land");
    expect(sim,
           attempt->calls + attempt->stops <= 1,
           "a stop or a call was made twice, or both were");
    expect(sim,
           !certain || attempt->calls == attempt->landed,
           "a commit landed and its call was not made");
    expect(sim,
           !certain || attempt->stops != attempt->landed,
           "an attempt failed, and what it had launched was not stopped");
    if (!attempt->landed) {
        return;
    }
    expect(sim,
           !certain || sending->outcome == EVENT_DONE,
           "a commit landed, and its sender was told otherwise");
    expect_stored(sim,
                  space,
                  sending->receipt_id,
                  attempt->token,
                  "a receipt holds something else");
    if (!value_is_absent(attempt->document)) {
        expect_stored(sim,
                      space,
                      attempt->document,
                      attempt->token,
                      "what an attempt created holds something else");
    }
}

static void compare_all(struct sim *sim)
{
    int64_t counted[SPACES] = {0};
    int64_t summed[SPACES] = {0};
    VEC_FOREACH (&sim->sendings, at) {
        compare_sending(sim, *at);
    }
    VEC_FOREACH (&sim->attempts, at) {
        compare_attempt(sim, *at);
        counted[(*at)->sending->space] += (*at)->landed && (*at)->counts;
        summed[(*at)->sending->space] += (*at)->landed;
    }
    sim_compare_stored(sim);
    const struct runtime *any = &sim->runtimes[0];
    for (unsigned i = 0; i < SPACES; i++) {
        expect_stored(sim,
                      i,
                      any->counts[i]->entity->id,
                      counted[i],
                      "a count that was read and written is wrong");
        expect_stored(sim,
                      i,
                      any->sums[i]->entity->id,
                      summed[i],
                      "a count that was incremented is wrong");
    }
}

/* -- A schedule ---------------------------------------------------------- */

static void set_up(struct sim *sim,
                   struct events_stores *stores,
                   const struct events_profile *profile,
                   uint64_t seed)
{
    *sim = (struct sim){
        .seed = seed,
        .profile = profile,
        .stores = stores,
        .now = 1000,
        .held = true,
        .digest = UINT64_C(0xcbf29ce484222325),
    };
    CHECK(profile->callers <= CALLERS_MAX &&
          profile->runtimes <= RUNTIMES_MAX && profile->depth <= 3);
    random_init(&sim->random, seed);
    struct random *random = &sim->random;
    if (profile->faults) {
        const uint64_t scale = 1 + random_below(random, 20);
        sim->rates = (struct faulty_rates){
            .lose = 8 * scale,
            .repeat = 8 * scale,
            .delay = 4 * scale,
            .damage = 40 * scale,
            .end = 20 * scale,
            .refuse = 2 + scale,
        };
    }
    for (unsigned i = 0; i < SPACES; i++) {
        hub_start(sim, i);
    }
    for (unsigned i = 0; i < profile->callers; i++) {
        sim->callers[i] = (struct caller){
            .space = (unsigned)random_below(random, SPACES),
            .stream = (unsigned)random_below(random, STREAMS),
            .code = sim_draw_code(
                random,
                (unsigned)random_below(random, profile->depth + 1)),
        };
    }
    stores->sim = sim;
    sim->runtimes_count = 1 + (unsigned)random_below(random, profile->runtimes);
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        sim->runtimes[i].sim = sim;
        sim->runtimes[i].number = i;
        open_runtime(&sim->runtimes[i]);
    }
}

static void tear_down(struct sim *sim)
{
    for (unsigned i = 0; i < sim->runtimes_count; i++) {
        close_runtime(&sim->runtimes[i]);
    }
    for (unsigned i = 0; i < SPACES; i++) {
        if (sim->up[i] != NULL) {
            hub_release(&sim->hubs[i]);
        }
    }
    sim->stores->sim = NULL;
    VEC_FOREACH (&sim->attempts, at) {
        value_unref((*at)->document);
        mem_free(*at, sizeof **at);
    }
    vec_release(&sim->attempts);
    VEC_FOREACH (&sim->sendings, at) {
        value_unref((*at)->id);
        value_unref((*at)->receipt_id);
        mem_free(*at, sizeof **at);
    }
    vec_release(&sim->sendings);
}

static void add_counts(struct events_counts *to,
                       const struct events_counts *from)
{
    to->runs++;
    to->sent += from->sent;
    to->attempts += from->attempts;
    to->landed += from->landed;
    to->done += from->done;
    to->queued += from->queued;
    to->taken += from->taken;
    to->shared += from->shared;
    to->duplicates += from->duplicates;
    to->orphans += from->orphans;
    to->failed += from->failed;
    to->unknown += from->unknown;
    to->retries += from->retries;
    to->descendants += from->descendants;
    to->crashes += from->crashes;
    to->hub_restarts += from->hub_restarts;
    to->messages += from->messages;
    to->faults += from->faults;
}

bool events_sim_run(struct events_stores *stores,
                    const struct events_profile *profile,
                    uint64_t seed,
                    struct events_counts *counts,
                    uint64_t *digest)
{
    struct sim *sim = mem_alloc(sizeof *sim);
    set_up(sim, stores, profile, seed);
    /* Most of them are short: what goes wrong needs few steps. */
    const unsigned steps =
        chance(sim, 16)
            ? profile->steps
            : 4 + (unsigned)random_below(&sim->random, profile->steps / 5);
    for (unsigned i = 0; i < steps && sim->held; i++) {
        step(sim);
    }
    if (sim->held) {
        heal(sim);
    }
    if (sim->held) {
        compare_all(sim);
    }
    tear_down(sim);
    add_counts(counts, &sim->counts);
    *digest = sim->digest;
    const bool held = sim->held;
    mem_free(sim, sizeof *sim);
    return held;
}

/* -- The stores ---------------------------------------------------------- */

static void first_lands(void *ctx, const struct commit_record *commit_record)
{
    sim_record_lands(ctx, 0, commit_record);
}

static void second_lands(void *ctx, const struct commit_record *commit_record)
{
    sim_record_lands(ctx, 1, commit_record);
}

struct events_stores *events_stores_new(void)
{
    struct events_stores *stores = mem_alloc_zero(sizeof *stores);
    const struct engine_options first = {
        .on_commit_record = first_lands,
        .ctx = stores,
    };
    const struct engine_options second = {
        .on_commit_record = second_lands,
        .ctx = stores,
    };
    kit_open_memory(&stores->kits[0], &first);
    kit_open_memory(&stores->kits[1], &second);
    return stores;
}

void events_stores_free(struct events_stores *stores)
{
    kit_close(&stores->kits[0]);
    kit_close(&stores->kits[1]);
    mem_free(stores, sizeof *stores);
}
