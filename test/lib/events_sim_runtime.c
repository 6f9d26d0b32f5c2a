/* What runtimes do in a simulation of events: sending, handling, being told;
 * and what is checked then (lib/events_sim.h). */

#include <stdio.h>
#include <string.h>

#include "lib/events_sim_internal.h"
#include "lib/test.h"
#include "sched/lineage.h"
#include "store/commit_record.h"
#include "value/compare.h"

/* -- What landed --------------------------------------------------------- */

/* "...:r1-2-SEED": the runtime, its life and the schedule; false for a session
 * of somebody else, or of another schedule. */
static bool session_is(struct value key, const struct sending *sending)
{
    char want[NAME_SIZE];
    const int length = snprintf(want,
                                sizeof want,
                                "r%u-%u-%" PRIu64,
                                sending->runtime->number,
                                sending->life,
                                sending->runtime->sim->seed);
    const struct text text = value_text(&key);
    return text.length >= (size_t)length &&
           memcmp(text.at + text.length - (size_t)length,
                  want,
                  (size_t)length) == 0;
}

bool sim_has_landed(const struct sim *sim, struct value id)
{
    VEC_FOREACH (&sim->attempts, at) {
        if ((*at)->landed && value_equal((*at)->sending->id, id)) {
            return true;
        }
    }
    return false;
}

static void attempt_lands(struct sim *sim,
                          struct attempt *attempt,
                          const struct commit_record *commit_record)
{
    const struct sending *sending = attempt->sending;
    expect(sim,
           !sim_has_landed(sim, sending->id),
           "a second commit landed for an event id");
    expect(sim,
           sending->origin == NULL || sending->origin->landed,
           "a descendant of an attempt landed that had not");
    attempt->landed = true;
    unsigned receipts = 0;
    VEC_FOREACH (&commit_record->writes, write) {
        receipts += value_equal(write->id, sending->receipt_id);
    }
    expect(sim, receipts == 1, "a commit landed without its receipt");
    sim->counts.landed++;
    sim->counts.descendants += sending->origin != NULL;
}

void sim_record_lands(struct events_stores *stores,
                      unsigned space,
                      const struct commit_record *commit_record)
{
    struct sim *sim = stores->sim;
    if (sim == NULL || commit_record->kind != RECORD_COMMIT) {
        return;
    }
    struct attempt *attempt = NULL;
    VEC_FOREACH (&sim->attempts, at) {
        const struct sending *sending = (*at)->sending;
        if (sending->space != space) {
            continue;
        }
        if ((*at)->local_seq == commit_record->local_seq &&
            session_is(commit_record->session, sending)) {
            attempt = *at;
        } else if ((*at)->landed) {
            VEC_FOREACH (&commit_record->writes, write) {
                expect(sim,
                       !value_equal(write->id, sending->receipt_id),
                       "a receipt was written twice");
            }
        }
    }
    if (attempt != NULL) {
        attempt_lands(sim, attempt, commit_record);
    }
}

/* -- Telling the senders ------------------------------------------------- */

static struct attempt *attempt_of_token(const struct sim *sim,
                                        struct value token)
{
    VEC_FOREACH (&sim->attempts, at) {
        if (value_equal(value_int((*at)->token), token)) {
            return *at;
        }
    }
    return NULL;
}

/* The store keeps it: if its handler fails in one runtime, it is over in the
 * others. */
static bool is_stored(const struct sending *sending)
{
    return sending->taken || sending->queue || sending->origin != NULL;
}

static void check_told(struct sim *sim,
                       const struct sending *sending,
                       const struct event_result *result)
{
    const struct value id = event_id(result->event);
    expect(sim,
           value_equal(id, sending->id),
           "a sender was told of another event");
    value_unref(id);
    const bool done = result->outcome == EVENT_DONE;
    expect(sim,
           (done || result->outcome == EVENT_QUEUED) ==
               (result->error.err == ERR_OK),
           "an event was done with an error, or not done without one");
    if (!value_is_absent(result->receipt)) {
        const struct attempt *attempt = attempt_of_token(sim, result->receipt);
        expect(sim,
               attempt != NULL && attempt->landed &&
                   value_equal(attempt->sending->id, sending->id) &&
                   (!done || attempt->sending == sending),
               "a sender was told another receipt than landed");
    }
    expect(sim,
           !done || !value_is_absent(result->receipt),
           "an event was done without a receipt");
    expect(sim,
           result->error.err != ERR_RECEIPT_EXISTS ||
               sim_has_landed(sim, sending->id) ||
               (is_stored(sending) && sim_has_failed(sim, sending->id)),
           "a duplicate was dropped though nothing had landed");
    expect(sim,
           result->error.err != ERR_ORIGIN_FAILED || sending->origin != NULL,
           "an event without an origin was told that it failed");
}

static void tell(struct sending *sending, const struct event_result *result)
{
    struct sim *sim = sending->runtime->sim;
    expect(sim, sending->told == 0, "a sender was told twice");
    sending->told++;
    sending->waits = false;
    sending->event = NULL;
    sending->outcome = result->outcome;
    sending->err = result->error.err;
    mix(sim, (uint64_t)sending->code);
    mix(sim, (uint64_t)result->outcome);
    mix(sim, (uint64_t)result->error.err);
    if (is_alive(sending) && !is_uncertain(sending->err)) {
        check_told(sim, sending, result);
    }
    sim->counts.queued += result->outcome == EVENT_QUEUED;
    sim->counts.done += result->outcome == EVENT_DONE;
    sim->counts.failed += result->outcome == EVENT_FAILED;
    sim->counts.duplicates += sending->err == ERR_RECEIPT_EXISTS;
    sim->counts.orphans += sending->err == ERR_ORIGIN_FAILED;
}

static void on_done(void *ctx, const struct event_result *result)
{
    tell(ctx, result);
}

static struct sending *sending_of(struct runtime *runtime,
                                  const struct event *event)
{
    VEC_FOREACH (&runtime->sim->sendings, at) {
        if ((*at)->event == event && (*at)->runtime == runtime) {
            return *at;
        }
    }
    return NULL;
}

/* Nobody waits for what was taken from the store: its end is noticed. */
static void notice_end(struct runtime *runtime,
                       const struct event_notice *notice)
{
    struct sending *sending = sending_of(runtime, notice->event);
    if (sending != NULL && sending->taken) {
        tell(sending, notice->result);
    }
}

void sim_notice(void *ctx, const struct event_notice *notice)
{
    struct runtime *runtime = ctx;
    struct attempt *attempt = runtime->attempt;
    if (notice->moment == EVENT_SENT && runtime->sending != NULL) {
        struct sending *sending = runtime->sending;
        sending->event = notice->event;
        sending->id = event_id(notice->event);
        sending->receipt_id = event_receipt_id(notice->event);
    } else if (notice->moment == EVENT_HANDLED && attempt != NULL) {
        runtime->attempt = NULL;
        attempt->local_seq = notice->transaction->local_seq;
        attempt->sending->waits = attempt->again && attempt->sending->told == 0;
    } else if (notice->moment == EVENT_ENDED) {
        notice_end(runtime, notice);
    }
}

/* What was reverted because others were faster waits again, unless its end is
 * told now. */
enum channel_answer sim_change(void *ctx, const struct notification *what)
{
    struct runtime *runtime = ctx;
    struct sim *sim = runtime->sim;
    if (what->kind != NOTIFY_REVERT) {
        return CHANNEL_MORE;
    }
    VEC_FOREACH (&sim->attempts, at) {
        struct sending *sending = (*at)->sending;
        if (sending->runtime == runtime && is_alive(sending) &&
            (*at)->local_seq == what->local_seq &&
            runtime->spaces[sending->space] == what->space) {
            expect(sim,
                   !(*at)->landed || is_uncertain(what->reason->err),
                   "a commit was reverted that had landed");
            sending->waits = sending->told == 0 &&
                             err_class_of(what->reason->err) == ERR_CLASS_RETRY;
            sim->counts.retries++;
        }
    }
    return CHANNEL_MORE;
}

/* -- Sending ------------------------------------------------------------- */

int64_t sim_draw_code(struct random *random, unsigned depth)
{
    return (int64_t)(random_u64(random) >> 24) * 4 + depth;
}

struct sending *sim_sending_new(struct runtime *runtime,
                                unsigned space,
                                unsigned stream,
                                int64_t code)
{
    struct sim *sim = runtime->sim;
    struct sending *sending = mem_alloc_zero(sizeof *sending);
    *sending = (struct sending){
        .runtime = runtime,
        .life = runtime->life,
        .space = space,
        .stream = stream,
        .code = code,
        .order = sim->sendings.count,
        .waits = true,
    };
    vec_push(&sim->sendings, sending);
    return sending;
}

/* `spec` has what is special about it. */
static void send(struct runtime *runtime,
                 unsigned space,
                 unsigned stream,
                 int64_t code,
                 struct event_spec *spec,
                 struct handling *handling)
{
    struct sim *sim = runtime->sim;
    struct sending *sending = sim_sending_new(runtime, space, stream, code);
    sending->origin = handling != NULL ? runtime->attempt : NULL;
    sending->queue = spec->queue;
    sending->waits = !spec->queue;
    spec->payload = value_int(code);
    spec->done = on_done;
    spec->ctx = sending;
    runtime->sending = sending;
    struct stream *to = runtime->streams[space][stream];
    const enum err err = handling != NULL
                             ? handling_send(handling, to, spec, NULL)
                             : events_send(runtime->sched, to, spec, NULL);
    runtime->sending = NULL;
    if (err != ERR_OK) {
        expect(sim, err == ERR_BACKLOG, "an event could not be sent");
        CHECK(*vec_last(&sim->sendings) == sending);
        sim->sendings.count--;
        value_unref(sending->id);
        value_unref(sending->receipt_id);
        mem_free(sending, sizeof *sending);
        return;
    }
    expect(sim, !value_is_absent(sending->id), "an event was sent unnoticed");
    sim->counts.sent++;
}

void sim_send_anything(struct runtime *runtime)
{
    struct sim *sim = runtime->sim;
    struct random *random = &sim->random;
    struct event_spec spec = {
        .no_retry = chance(sim, 10),
        .queue = chance(sim, 6),
    };
    const unsigned depth =
        (unsigned)random_below(random, sim->profile->depth + 1);
    send(runtime,
         (unsigned)random_below(random, SPACES),
         (unsigned)random_below(random, STREAMS),
         sim_draw_code(random, depth),
         &spec,
         NULL);
}

void sim_deliver_again(struct runtime *runtime)
{
    struct sim *sim = runtime->sim;
    const uint64_t number = random_below(&sim->random, sim->profile->callers);
    const struct caller *caller = &sim->callers[number];
    char id[NAME_SIZE];
    (void)snprintf(id, sizeof id, "c%u-%" PRIu64, (unsigned)number, sim->seed);
    struct event_spec spec = {
        .id = value_text_new(id),
        .session = value_text_new("outside"),
        .known = chance(sim, 2),
    };
    send(runtime, caller->space, caller->stream, caller->code, &spec, NULL);
    value_unref(spec.id);
    value_unref(spec.session);
}

/* -- Handling ------------------------------------------------------------ */

static void check_turn(struct sim *sim, const struct sending *sending)
{
    const struct runtime *runtime = sending->runtime;
    VEC_FOREACH (&sim->sendings, at) {
        const struct sending *other = *at;
        expect(sim,
               other->runtime != runtime || !is_alive(other) || !other->waits ||
                   other->order >= sending->order ||
                   (!runtime->one_lane && other->space != sending->space),
               "an event was handled before one that was sent earlier");
    }
    const struct attempt *origin = sending->origin;
    expect(sim,
           origin == NULL || origin->sending->space == sending->space ||
               origin->landed,
           "an event of another space did not wait for its origin");
    expect(sim, sending->told == 0, "an event was handled after its end");
}

static void on_stop(void *ctx)
{
    ((struct attempt *)ctx)->stops++;
}

static void on_landing(void *ctx)
{
    ((struct attempt *)ctx)->calls++;
}

static struct attempt *attempt_new(struct runtime *runtime,
                                   struct handling *handling)
{
    struct sim *sim = runtime->sim;
    struct sending *sending = sending_of(runtime, handling->event);
    if (sending == NULL) {
        sim_fail(sim, "an event was handled that nobody had sent");
        return NULL;
    }
    check_turn(sim, sending);
    struct attempt *attempt = mem_alloc_zero(sizeof *attempt);
    attempt->sending = sending;
    attempt->token = ++sim->tokens;
    vec_push(&sim->attempts, attempt);
    sim->counts.attempts++;
    sending->waits = false;
    runtime->attempt = attempt;
    struct transaction *transaction = handling_transaction(handling);
    lineage_stop_unless_landed(runtime->sched, transaction, on_stop, attempt);
    lineage_after_landing(runtime->sched, transaction, on_landing, attempt);
    return attempt;
}

/* What it does to documents; false if it cannot know now. */
static bool write_documents(struct runtime *runtime,
                            struct handling *handling,
                            struct attempt *attempt,
                            struct random *plan)
{
    struct sim *sim = runtime->sim;
    struct transaction *transaction = handling_transaction(handling);
    const unsigned space = attempt->sending->space;
    struct value value;
    if (random_one_in(plan, 2)) {
        if (run_read(handling->run,
                     runtime->counts[space],
                     READ_DEEP,
                     READ_FOR_BOTH,
                     &value) == ERR_STALE) {
            return false;
        }
        const int64_t count = value_is_absent(value) ? 0 : value_integer(value);
        attempt->counts = true;
        CHECK(transaction_put_adopt(transaction,
                                    runtime->counts[space],
                                    value_int(count + 1),
                                    NULL) == ERR_OK);
    }
    if (random_one_in(plan, 2)) {
        const enum err err = run_read(handling->run,
                                      runtime->noises[space],
                                      READ_DEEP,
                                      READ_FOR_BOTH,
                                      &value);
        value_unref(value);
        if (err == ERR_STALE) {
            return false;
        }
    }
    CHECK(transaction_merge_adopt(transaction,
                                  runtime->sums[space],
                                  WRITE_INCREMENT,
                                  value_int(1),
                                  NULL) == ERR_OK);
    if (random_one_in(plan, 3)) {
        attempt->document = handling_new_id(handling);
        struct entity *entity;
        CHECK(entity_of(runtime->spaces[space],
                        SCOPE_SPACE,
                        attempt->document,
                        &entity,
                        NULL) == ERR_OK);
        struct place *place = place_payload(entity);
        expect(sim,
               transaction_put_adopt(transaction,
                                     place,
                                     value_int(attempt->token),
                                     NULL) == ERR_OK,
               "a document could not be created");
        place_unref(place);
    }
    return true;
}

static void send_further(struct runtime *runtime,
                         struct handling *handling,
                         struct attempt *attempt,
                         struct random *plan)
{
    const unsigned depth = (unsigned)(attempt->sending->code % 4);
    const uint64_t count = depth > 0 ? random_below(plan, 3) : 0;
    for (uint64_t i = 0; i < count; i++) {
        struct event_spec spec = {0};
        const unsigned space = (unsigned)random_below(plan, SPACES);
        const unsigned stream = (unsigned)random_below(plan, STREAMS);
        const int64_t code = sim_draw_code(plan, depth - 1);
        send(runtime, space, stream, code, &spec, handling);
    }
}

enum run_result sim_give_up(struct run *run)
{
    const struct err_detail detail = {ERR_ARGUMENT, "as it was drawn"};
    return run_fail(run, &detail);
}

enum run_result sim_handle(struct handling *handling, void *ctx)
{
    const struct desk *desk = ctx;
    struct runtime *runtime = desk->runtime;
    struct sim *sim = runtime->sim;
    struct attempt *attempt = attempt_new(runtime, handling);
    if (attempt == NULL) {
        return RUN_FAILED;
    }
    const struct sending *sending = attempt->sending;
    expect(
        sim,
        sending->space == desk->space && sending->stream == desk->stream &&
            value_equal(handling_payload(handling), value_int(sending->code)),
        "a handler was given another stream's event");
    struct random plan;
    random_init(&plan, sim->seed ^ (uint64_t)sending->code);
    if (!write_documents(runtime, handling, attempt, &plan)) {
        attempt->again = true;
        return RUN_AGAIN;
    }
    send_further(runtime, handling, attempt, &plan);
    handling_return_adopt(handling, value_int(attempt->token));
    if (chance(sim, 15)) {
        return sim_give_up(handling->run);
    }
    return RUN_DONE;
}
