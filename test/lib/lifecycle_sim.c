/* The simulation (lib/lifecycle_sim.h says what holds). */

#include "lib/lifecycle_sim.h"

#include <stdio.h>
#include <string.h>

#include "lib/registry_check.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "service/service.h"

enum {
    STEPS = 60,
    THREADS_MAX = 8,
    ENVIRONMENTS_MAX = 4,
    SETTLE_ROUNDS = 40,
    HOUR_MS = 3600000,
};

struct short_name {
    char text[24];
};

enum letter_kind {
    LETTER_REQUEST, /* to the daemon; the others are to the service */
    LETTER_ANSWER,
    LETTER_TURN,
};

struct letter {
    enum letter_kind kind;
    enum daemon_verb verb;
    enum daemon_turn turn;
    struct short_name id; /* the thread, or else the environment */
    struct short_name token;
    bool ok;
};

/* What the daemon is doing: making an environment, or running a thread. */
struct job {
    struct short_name id;
    struct short_name token;
};

struct known {
    struct short_name id;
    const struct lifecycle_machine *machine;
    uint8_t status;
    bool is_gone;
};

struct sim {
    struct random random;
    struct lifecycle_sim_counts *counts;
    struct store_kit store;
    struct recorder recorder;
    struct daemon daemon;
    struct service service;
    struct service_outcome outcome;
    struct err_detail detail;
    uint64_t now;
    bool faults; /* while there are some */
    bool held;
    unsigned instance;
    unsigned threads; /* created so far */
    unsigned environments;
    VEC(struct letter) letters;
    VEC(struct job) making;
    VEC(struct job) running;
    VEC(struct job) sent_runs;
    VEC(struct letter) flying; /* requests of this session without an answer */
    VEC(struct known) known;
};

static struct short_name name_of(const char *text)
{
    struct short_name name;
    (void)snprintf(name.text, sizeof name.text, "%s", text);
    return name;
}

static struct short_name numbered(char kind, uint64_t number)
{
    struct short_name name;
    (void)snprintf(name.text, sizeof name.text, "%c%" PRIu64, kind, number);
    return name;
}

static bool chance(struct sim *sim, uint64_t in)
{
    return sim->faults && random_one_in(&sim->random, in);
}

#define SIM_EXPECT(sim, condition, ...) \
    ((condition)                        \
         ? (void)0                      \
         : (void)((sim)->held = test_fail(__FILE__, __LINE__, __VA_ARGS__)))

static void expect_ok(struct sim *sim, enum err err)
{
    SIM_EXPECT(sim, err == ERR_OK, "a fault: %s", sim->detail.text);
}

/* -- What the service tells ---------------------------------------------- */

static struct known *find_known(struct sim *sim,
                                const struct lifecycle_machine *machine,
                                const char *id)
{
    VEC_FOREACH (&sim->known, known) {
        if (known->machine == machine && strcmp(known->id.text, id) == 0) {
            if (known->is_gone) {
                /* Its id was free again. */
                *known =
                    (struct known){known->id, machine, machine->initial, false};
            }
            return known;
        }
    }
    const struct known fresh = {name_of(id), machine, machine->initial, false};
    vec_push(&sim->known, fresh);
    return vec_last(&sim->known);
}

/* Nothing begins in a thread that nobody uses. */
static void check_begin(struct sim *sim, const struct registry_change *change)
{
    struct thread_row row;
    bool found = false;
    expect_ok(sim,
              registry_thread(&sim->service.registry,
                              change->id,
                              &row,
                              &found,
                              &sim->detail));
    thread_row_release(&row);
    SIM_EXPECT(sim,
               found && thread_is_live(&row),
               "%s begins, and nobody uses it",
               change->id);
}

static void on_change(void *ctx, const struct registry_change *change)
{
    struct sim *sim = ctx;
    struct known *known = find_known(sim, change->machine, change->id);
    const struct lifecycle_edge *edge =
        lifecycle_edge(change->machine, change->from, change->event);
    SIM_EXPECT(sim,
               edge != NULL &&
                   (edge->to == change->to || edge->to_with == change->to),
               "%s goes by no edge",
               change->id);
    SIM_EXPECT(sim,
               known->status == change->from,
               "%s was not in the status that it left",
               change->id);
    known->status = change->to;
    if (change->machine == &thread_lifecycle) {
        sim->counts->threads[change->from][change->event]++;
        if (change->to == THREAD_STARTING || change->to == THREAD_ACTIVE) {
            check_begin(sim, change);
        }
    } else {
        sim->counts->environments[change->from][change->event]++;
    }
}

/* Each row has the status that the changes led to. */
static void check_rows(struct sim *sim)
{
    struct registry *registry = &sim->service.registry;
    VEC_FOREACH (&sim->known, known) {
        struct thread_row thread = {0};
        struct environment_row environment = {0};
        const bool is_thread = known->machine == &thread_lifecycle;
        bool found = false;
        expect_ok(sim,
                  is_thread ? registry_thread(registry,
                                              known->id.text,
                                              &thread,
                                              &found,
                                              &sim->detail)
                            : registry_environment(registry,
                                                   known->id.text,
                                                   &environment,
                                                   &found,
                                                   &sim->detail));
        thread_row_release(&thread);
        environment_row_release(&environment);
        const uint8_t status = is_thread ? thread.status : environment.status;
        if (found && known->is_gone) {
            (void)find_known(sim, known->machine, known->id.text);
        }
        SIM_EXPECT(sim,
                   !found || status == known->status,
                   "%s has a status that nobody was told",
                   known->id.text);
        known->is_gone = !found;
    }
}

static void check(struct sim *sim)
{
    sim->held = registry_check(&sim->service.registry) && sim->held;
    check_rows(sim);
    SIM_EXPECT(sim,
               sim->recorder.not_applied == sim->service.registry.not_applied,
               "%" PRIu64 " events did not apply, %" PRIu64 " are explained",
               sim->service.registry.not_applied,
               sim->recorder.not_applied);
}

/* -- Letters ------------------------------------------------------------- */

static void post(struct sim *sim, struct letter letter)
{
    /* An event is kept until it was taken: only a crash loses one. */
    if (letter.kind != LETTER_TURN && chance(sim, 25)) {
        sim->counts->lost++;
        return;
    }
    vec_push(&sim->letters, letter);
    if (chance(sim, 8)) {
        vec_push(&sim->letters, letter);
    }
}

static bool is_same_request(const struct letter *a, const struct letter *b)
{
    return a->verb == b->verb && strcmp(a->id.text, b->id.text) == 0 &&
           strcmp(a->token.text, b->token.text) == 0;
}

/* Nothing is sent while the same is in flight. */
static void take_off(struct sim *sim, const struct letter *letter)
{
    VEC_FOREACH (&sim->flying, other) {
        SIM_EXPECT(sim,
                   !is_same_request(other, letter),
                   "%s %s is in flight and is sent again",
                   daemon_verb_name(letter->verb),
                   letter->id.text);
    }
    vec_push(&sim->flying, *letter);
}

static void land(struct sim *sim, const struct letter *answer)
{
    for (size_t i = sim->flying.count; i > 0; i--) {
        if (is_same_request(&sim->flying.at[i - 1], answer)) {
            sim->flying.at[i - 1] = *vec_last(&sim->flying);
            sim->flying.count--;
        }
    }
}

static void send_request(struct daemon *daemon,
                         const struct daemon_request *request)
{
    struct sim *sim = CONTAINER_OF(daemon, struct sim, daemon);
    const bool is_thread =
        request->verb == DAEMON_RUN || request->verb == DAEMON_STOP;
    struct letter letter = {
        .kind = LETTER_REQUEST,
        .verb = request->verb,
        .id = name_of(is_thread ? request->thread : request->environment),
        .token = name_of(request->token),
    };
    if (request->verb == DAEMON_RUN) {
        VEC_FOREACH (&sim->sent_runs, run) {
            SIM_EXPECT(sim,
                       strcmp(run->id.text, letter.id.text) != 0 ||
                           strcmp(run->token.text, letter.token.text) != 0,
                       "run %s of %s is sent twice",
                       letter.token.text,
                       letter.id.text);
        }
        const struct job job = {letter.id, letter.token};
        vec_push(&sim->sent_runs, job);
    }
    take_off(sim, &letter);
    post(sim, letter);
}

static void post_answer(struct sim *sim,
                        enum daemon_verb verb,
                        struct short_name id,
                        struct short_name token,
                        bool ok)
{
    const struct letter letter = {
        .kind = LETTER_ANSWER,
        .verb = verb,
        .id = id,
        .token = token,
        .ok = ok,
    };
    post(sim, letter);
}

static void post_turn(struct sim *sim,
                      enum daemon_turn turn,
                      const struct job *job)
{
    const struct letter letter = {
        .kind = LETTER_TURN,
        .turn = turn,
        .id = job->id,
        .token = job->token,
    };
    post(sim, letter);
}

/* -- The daemon ---------------------------------------------------------- */

static bool is_job(const struct job *job,
                   struct short_name id,
                   struct short_name token)
{
    return strcmp(job->id.text, id.text) == 0 &&
           strcmp(job->token.text, token.text) == 0;
}

/* The place of a job, or the count. */
#define FIND_JOB(list, wanted_id, wanted_token, at)                       \
    for ((at) = 0; (at) < (list)->count &&                                \
                   !is_job(&(list)->at[at], (wanted_id), (wanted_token)); \
         (at)++) {                                                        \
    }

#define REMOVE_JOB(list, at) \
    ((list)->at[at] = (list)->at[(list)->count - 1], (list)->count--)

static void do_provision(struct sim *sim, const struct letter *letter)
{
    size_t at = 0;
    FIND_JOB(&sim->making, letter->id, letter->token, at)
    if (at == sim->making.count) {
        const struct job job = {letter->id, letter->token};
        vec_push(&sim->making, job);
    }
}

static void do_cancel(struct sim *sim, const struct letter *letter)
{
    size_t at = 0;
    FIND_JOB(&sim->making, letter->id, letter->token, at)
    if (at < sim->making.count && chance(sim, 6)) {
        post_answer(sim, DAEMON_CANCEL, letter->id, letter->token, false);
        return;
    }
    if (at < sim->making.count) {
        REMOVE_JOB(&sim->making, at);
        post_answer(sim, DAEMON_PROVISION, letter->id, letter->token, false);
    }
    post_answer(sim, DAEMON_CANCEL, letter->id, letter->token, true);
}

static void do_run(struct sim *sim, const struct letter *letter)
{
    size_t at = 0;
    FIND_JOB(&sim->running, letter->id, letter->token, at)
    if (at < sim->running.count || chance(sim, 8)) {
        post_answer(sim,
                    DAEMON_RUN,
                    letter->id,
                    letter->token,
                    at < sim->running.count);
        return;
    }
    const struct job job = {letter->id, letter->token};
    vec_push(&sim->running, job);
    post_turn(sim, DAEMON_TURN_STARTED, &job);
    post_answer(sim, DAEMON_RUN, letter->id, letter->token, true);
}

static void do_stop(struct sim *sim, const struct letter *letter)
{
    size_t at = 0;
    FIND_JOB(&sim->running, letter->id, letter->token, at)
    if (chance(sim, 6)) {
        post_answer(sim, DAEMON_STOP, letter->id, letter->token, false);
        return;
    }
    if (at < sim->running.count) {
        const struct job job = sim->running.at[at];
        REMOVE_JOB(&sim->running, at);
        post_turn(sim, DAEMON_TURN_INTERRUPTED, &job);
    }
    post_answer(sim, DAEMON_STOP, letter->id, letter->token, true);
}

static void do_request(struct sim *sim, const struct letter *letter)
{
    switch (letter->verb) {
    case DAEMON_PROVISION:
        do_provision(sim, letter);
        return;
    case DAEMON_CANCEL:
        do_cancel(sim, letter);
        return;
    case DAEMON_RUN:
        do_run(sim, letter);
        return;
    case DAEMON_STOP:
        do_stop(sim, letter);
        return;
    case DAEMON_DESTROY:
        post_answer(sim,
                    DAEMON_DESTROY,
                    letter->id,
                    letter->token,
                    !chance(sim, 4));
        return;
    case DAEMON_VERB_COUNT:
        break;
    }
    UNREACHABLE("every verb is named above");
}

/* One piece of work comes to its end. */
static void work(struct sim *sim)
{
    const size_t all = sim->making.count + sim->running.count;
    if (all == 0) {
        return;
    }
    size_t at = (size_t)random_below(&sim->random, all);
    if (at < sim->making.count) {
        const struct job job = sim->making.at[at];
        REMOVE_JOB(&sim->making, at);
        post_answer(sim, DAEMON_PROVISION, job.id, job.token, !chance(sim, 4));
    } else {
        at -= sim->making.count;
        const struct job job = sim->running.at[at];
        REMOVE_JOB(&sim->running, at);
        post_turn(sim,
                  chance(sim, 4) ? DAEMON_TURN_FAILED : DAEMON_TURN_COMPLETED,
                  &job);
    }
}

/* -- Delivery ------------------------------------------------------------ */

static void deliver(struct sim *sim)
{
    if (sim->letters.count == 0) {
        return;
    }
    const size_t at = (size_t)random_below(&sim->random, sim->letters.count);
    const struct letter letter = sim->letters.at[at];
    sim->letters.at[at] = *vec_last(&sim->letters);
    sim->letters.count--;
    sim->counts->letters++;
    if (letter.kind == LETTER_REQUEST) {
        do_request(sim, &letter);
    } else if (letter.kind == LETTER_ANSWER) {
        land(sim, &letter);
        const struct daemon_answer answer = {
            .verb = letter.verb,
            .id = letter.id.text,
            .token = letter.token.text,
            .ok = letter.ok,
            .workspace = letter.verb == DAEMON_PROVISION && letter.ok
                             ? letter.id.text
                             : NULL,
        };
        expect_ok(
            sim,
            service_answer(&sim->service, &answer, sim->now, &sim->detail));
    } else {
        const struct daemon_event event = {
            .turn = letter.turn,
            .thread = letter.id.text,
            .run = letter.token.text,
        };
        expect_ok(sim,
                  service_event(&sim->service, &event, sim->now, &sim->detail));
    }
}

/* -- People -------------------------------------------------------------- */

/* One that there is or was; now and then one that never was. */
static uint64_t any_number(struct sim *sim, unsigned count)
{
    return count == 0 || random_one_in(&sim->random, 20)
               ? count
               : random_below(&sim->random, count);
}

static struct short_name any_thread(struct sim *sim)
{
    return numbered('t', any_number(sim, sim->threads));
}

static struct short_name any_environment(struct sim *sim)
{
    return numbered('e', any_number(sim, sim->environments));
}

static enum err create(struct sim *sim)
{
    struct short_name thread = any_thread(sim);
    if (sim->threads < THREADS_MAX) {
        thread = numbered('t', sim->threads);
        sim->threads++;
    }
    struct short_name environment = any_environment(sim);
    if (sim->environments < ENVIRONMENTS_MAX &&
        (sim->environments == 0 || random_one_in(&sim->random, 3))) {
        environment = numbered('e', sim->environments);
        sim->environments++;
    }
    const struct service_thread new_thread = {
        .id = thread.text,
        .parent = random_one_in(&sim->random, 4) ? "t0" : NULL,
        .environment = environment.text,
        .is_managed = !random_one_in(&sim->random, 5),
        .input = "hello",
    };
    return service_create(&sim->service,
                          &new_thread,
                          sim->now,
                          &sim->outcome,
                          &sim->detail);
}

static enum err schedule(struct sim *sim)
{
    const struct short_name thread = any_thread(sim);
    const struct service_schedule row = {
        .thread = thread.text,
        .name = "often",
        .first_at = sim->now + random_below(&sim->random, 20000),
        .every_ms = HOUR_MS,
        .input = "wake",
    };
    return service_schedule(&sim->service,
                            &row,
                            sim->now,
                            &sim->outcome,
                            &sim->detail);
}

static enum err ask(struct sim *sim)
{
    static service_fn *const thread_calls[] = {
        service_stop,
        service_stop,
        service_stop,
        service_delete,
        service_archive,
        service_archive,
        service_unarchive,
        service_unarchive,
        service_unarchive,
        service_finalize,
    };
    static service_fn *const environment_calls[] = {
        service_provision,
        service_reprovision,
        service_reprovision,
        service_destroy,
    };
    struct service *service = &sim->service;
    const struct short_name thread = any_thread(sim);
    const struct short_name environment = any_environment(sim);
    const uint64_t kind = random_below(&sim->random, 24);
    if (kind < 6) {
        return create(sim);
    }
    if (kind < 12) {
        return (kind < 9 ? service_send : service_queue)(service,
                                                         thread.text,
                                                         "more",
                                                         sim->now,
                                                         &sim->outcome,
                                                         &sim->detail);
    }
    if (kind < 13) {
        return schedule(sim);
    }
    const bool is_thread = kind < 20;
    service_fn *call =
        is_thread
            ? thread_calls[random_below(&sim->random, COUNT_OF(thread_calls))]
            : environment_calls[random_below(&sim->random,
                                             COUNT_OF(environment_calls))];
    return call(service,
                is_thread ? thread.text : environment.text,
                sim->now,
                &sim->outcome,
                &sim->detail);
}

/* Every call has an outcome, and one that was refused has changed nothing. */
static void person(struct sim *sim)
{
    const uint64_t seq = sim->store.engine.seq;
    const size_t letters = sim->letters.count;
    sim->outcome = (struct service_outcome){.kind = SERVICE_KIND_COUNT};
    expect_ok(sim, ask(sim));
    sim->counts->calls++;
    SIM_EXPECT(sim,
               sim->outcome.kind < SERVICE_KIND_COUNT,
               "a call has no outcome");
    if (sim->outcome.kind == SERVICE_REFUSED) {
        sim->counts->refused++;
        SIM_EXPECT(sim,
                   sim->outcome.reason != SERVICE_NO_REASON &&
                       sim->outcome.text[0] != '\0',
                   "a refusal has no reason");
        SIM_EXPECT(sim,
                   sim->letters.count == letters,
                   "a refused call has sent something");
        /* A rollback makes the engine forget: it is read again first. */
        check(sim);
        SIM_EXPECT(sim,
                   sim->store.engine.seq == seq,
                   "a refused call has changed something");
    }
}

/* -- Connections --------------------------------------------------------- */

static void lose(struct sim *sim, bool to_daemon, uint64_t one_in)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->letters.count; i++) {
        const struct letter letter = sim->letters.at[i];
        if ((letter.kind == LETTER_REQUEST) == to_daemon &&
            random_one_in(&sim->random, one_in)) {
            sim->counts->lost++;
        } else {
            sim->letters.at[kept] = letter;
            kept++;
        }
    }
    sim->letters.count = kept;
}

static void connect_daemon(struct sim *sim)
{
    struct daemon_run runs[64];
    size_t count = 0;
    VEC_FOREACH (&sim->running, job) {
        CHECK(count < COUNT_OF(runs));
        runs[count].thread = job->id.text;
        runs[count].run = job->token.text;
        count++;
    }
    const struct short_name instance = numbered('i', sim->instance);
    vec_clear(&sim->flying);
    expect_ok(sim,
              service_session_open(&sim->service,
                                   instance.text,
                                   runs,
                                   count,
                                   sim->now,
                                   &sim->detail));
    sim->counts->sessions++;
}

static void open_service(struct sim *sim)
{
    const struct service_options options = {
        .engine = &sim->store.engine,
        .daemon = &sim->daemon,
        .log = &sim->recorder.log,
        .on_change = on_change,
        .ctx = sim,
    };
    recorder_clear(&sim->recorder);
    expect_ok(sim,
              service_open(&sim->service, &options, sim->now, &sim->detail));
}

static void break_something(struct sim *sim)
{
    switch (random_below(&sim->random, 5)) {
    case 0:
    case 1:
        service_session_close(&sim->service, sim->now);
        lose(sim, true, 2);
        return;
    case 2:
        /* The daemon crashes: what it ran and had not said is gone. */
        service_session_close(&sim->service, sim->now);
        sim->instance++;
        vec_clear(&sim->running);
        vec_clear(&sim->making);
        lose(sim, true, 1);
        lose(sim, false, 2);
        return;
    case 3:
        sim->counts->not_applied += sim->service.registry.not_applied;
        service_close(&sim->service);
        open_service(sim);
        lose(sim, true, 2);
        sim->counts->restarts++;
        return;
    default:
        connect_daemon(sim);
        return;
    }
}

static void pass_time(struct sim *sim)
{
    static const uint64_t spans[] = {10, 5000, SERVICE_GRACE_MS, HOUR_MS};
    sim->now +=
        random_below(&sim->random,
                     spans[random_below(&sim->random, COUNT_OF(spans))]);
    if (random_one_in(&sim->random, 30)) {
        sim->now += SERVICE_REQUEST_MS; /* no answer will come any more */
        vec_clear(&sim->flying);
    }
    expect_ok(sim, service_sweep(&sim->service, sim->now, &sim->detail));
}

/* -- A schedule ---------------------------------------------------------- */

static void step(struct sim *sim)
{
    const bool is_lonely =
        !sim->service.is_connected && random_one_in(&sim->random, 4);
    const uint64_t kind = is_lonely ? 19 : random_below(&sim->random, 20);
    sim->now += random_below(&sim->random, 50);
    sim->counts->steps++;
    if (kind < 6) {
        person(sim);
    } else if (kind < 15) {
        deliver(sim);
    } else if (kind < 18) {
        work(sim);
    } else if (kind < 19) {
        pass_time(sim);
    } else if (sim->service.is_connected) {
        break_something(sim);
    } else {
        connect_daemon(sim);
    }
    check(sim);
}

/* The faults have ended: everything arrives, everything gets done. */
static void settle(struct sim *sim)
{
    sim->faults = false;
    if (!sim->service.is_connected) {
        connect_daemon(sim);
    }
    for (unsigned i = 0; i < SETTLE_ROUNDS && sim->held; i++) {
        while (sim->held && (sim->letters.count > 0 || sim->making.count > 0 ||
                             sim->running.count > 0)) {
            deliver(sim);
            work(sim);
        }
        /* What was lost before is given up after a day. */
        sim->now += i == SETTLE_ROUNDS / 2 ? SERVICE_REQUEST_MS : 1000;
        vec_clear(&sim->flying);
        expect_ok(sim, service_sweep(&sim->service, sim->now, &sim->detail));
    }
    check(sim);
}

static void check_rest(struct sim *sim)
{
    VEC_FOREACH (&sim->known, known) {
        SIM_EXPECT(sim,
                   known->is_gone ||
                       known->machine->statuses[known->status].is_resting,
                   "%s is left in %s",
                   known->id.text,
                   known->machine->statuses[known->status].name);
    }
    SIM_EXPECT(sim,
               guard_count(&sim->service.guard) == 0,
               "%zu requests are left in flight",
               guard_count(&sim->service.guard));
    SIM_EXPECT(sim,
               strcmp(kit_sql(&sim->store,
                              "SELECT t.id FROM thread t JOIN environment e ON"
                              " e.id = t.environment JOIN message m ON"
                              " m.thread = t.id WHERE t.status = 'idle' AND"
                              " t.holds = 0 AND t.archived_at IS NULL AND"
                              " e.status IN ('ready', 'error')"),
                      "") == 0,
               "a message is left that could be sent");
    SIM_EXPECT(sim,
               strcmp(kit_sql(&sim->store,
                              "SELECT id FROM thread WHERE deleted_at IS NOT"
                              " NULL"),
                      "") == 0,
               "a thread that was deleted is left");
    SIM_EXPECT(sim,
               strcmp(kit_sql(&sim->store,
                              "SELECT id FROM environment e WHERE managed AND"
                              " NOT kept AND status <> 'destroyed' AND NOT"
                              " EXISTS(SELECT 1 FROM thread WHERE environment"
                              " = e.id AND archived_at IS NULL)"),
                      "") == 0,
               "an environment that nobody needs is left");
}

bool lifecycle_sim_run(uint64_t seed, struct lifecycle_sim_counts *counts)
{
    struct sim sim = {
        .counts = counts,
        .daemon = {.send = send_request},
        .now = 1000,
        .faults = true,
        .held = true,
    };
    random_init(&sim.random, seed);
    kit_open_memory(&sim.store, NULL);
    recorder_init(&sim.recorder);
    open_service(&sim);
    connect_daemon(&sim);
    for (unsigned i = 0; i < STEPS && sim.held; i++) {
        step(&sim);
    }
    if (sim.held) {
        settle(&sim);
    }
    if (sim.held) {
        check_rest(&sim);
    }
    if (!sim.held) {
        (void)test_fail(__FILE__, __LINE__, "seed %" PRIu64, seed);
    }
    counts->schedules++;
    counts->not_applied += sim.service.registry.not_applied;
    service_close(&sim.service);
    recorder_release(&sim.recorder);
    vec_release(&sim.letters);
    vec_release(&sim.making);
    vec_release(&sim.running);
    vec_release(&sim.sent_runs);
    vec_release(&sim.flying);
    vec_release(&sim.known);
    kit_close(&sim.store);
    return sim.held;
}

/* -- What was reached ---------------------------------------------------- */

static unsigned missing_edges(const struct lifecycle_machine *machine,
                              const uint64_t *taken)
{
    unsigned missing = 0;
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        if (taken[edge->from * machine->event_count + edge->event] == 0) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s: %s in %s never happened",
                            machine->name,
                            machine->events[edge->event].name,
                            machine->statuses[edge->from].name);
            missing++;
        }
    }
    return missing;
}

unsigned lifecycle_sim_missing(const struct lifecycle_sim_counts *counts)
{
    return missing_edges(&thread_lifecycle, &counts->threads[0][0]) +
           missing_edges(&environment_lifecycle, &counts->environments[0][0]);
}
