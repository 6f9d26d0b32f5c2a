/* I4: handlers see consistent data, in order.
 *
 *   pulls    before something is read on demand, every invalid node upstream of
 *            it has been run, live or not, and nothing else has
 *   events   what a handler sees is what there would be if everything were
 *            computed anew at that moment, from the inputs: all that it has
 *            declared, and all else if it is pure, or if nothing waits for its
 *            time; in a lane, one event after the other */

#include "lib/sched_draw.h"
#include "lib/test.h"
#include "lib/values.h"
#include "sched/events.h"
#include "sched/handling.h"
#include "value/compare.h"

struct upstream {
    bool of[MODEL_SLOTS];
};

/* All from which the marked ones read. */
static void close_upwards(const struct world *world, struct upstream *marked)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < world->count; i++) {
            for (size_t j = 0; marked->of[i] && j < world->count; j++) {
                if (i != j && !marked->of[j] && world->slots[j].node != NULL &&
                    world_reads_from(world, i, j)) {
                    marked->of[j] = true;
                    more = true;
                }
            }
        }
    }
}

/* One in `gates` of them waits for its time; 0: none. */
static void add_computations(struct random *random,
                             struct world *world,
                             uint64_t gates)
{
    static const enum model_body bodies[] = {BODY_NUMBER,
                                             BODY_NESTED,
                                             BODY_TWO};
    for (; world->count < 16; world->count++) {
        struct world_slot *slot = &world->slots[world->count];
        model_random_program(random,
                             (uint16_t)world->count,
                             bodies[random_below(random, COUNT_OF(bodies))],
                             &slot->program);
        /* What failed looks at what it had read before as well, and runs
         * again if that changes later. */
        slot->program.fails_at = MODEL_NEVER_FAILS;
        slot->world = world;
        const bool gate = gates > 0 && random_one_in(random, gates);
        const mono_ms window = 1 + random_below(random, 50);
        const bool debounce = gate && random_one_in(random, 2);
        world_register(world,
                       world->count,
                       debounce ? window : 0,
                       gate && !debounce ? window : 0);
    }
}

PROPERTY(i4_what_is_pulled_is_up_to_date_and_so_is_all_behind_it, 300)
{
    struct world_tally tally = {0};
    struct world world;
    world_open(&world, &tally);
    add_computations(random, &world, 0);
    for (unsigned i = 0; i < 12; i++) {
        draw_inputs(random, &world);
        const size_t wanted = random_below(random, world.count);
        const struct model_place place = {
            .document = (uint16_t)(MODEL_FIRST_OUTPUT + 2 * wanted),
            .path = PATH_PAYLOAD,
        };
        const uint64_t runs = tally.runs;
        for (size_t j = 0; j < world.count; j++) {
            world.slots[j].step_runs = 0;
        }
        struct value value;
        (void)sched_pull(world.sched,
                         world_place(&world, &place),
                         world.now,
                         &value);
        value_unref(value);
        struct upstream needed = {0};
        needed.of[wanted] = true;
        close_upwards(&world, &needed);
        uint64_t once = 0;
        for (size_t j = 0; j < world.count; j++) {
            EXPECT(!needed.of[j] || !node_is_stale(world.slots[j].node));
            EXPECT(!needed.of[j] || world_is_consistent(&world, j));
            EXPECT(needed.of[j] || world.slots[j].step_runs == 0);
            once += world.slots[j].step_runs > 0;
        }
        EXPECT_EQ(tally.runs - runs, once);
        EXPECT(model_world_step(&world)); /* nobody looks any more */
    }
    EXPECT_EQ(world.sched->counters.not_settling, 0);
    world_close(&world);
}

/* -- Events -------------------------------------------------------------- */

enum {
    DESKS = 6,
    READS_MAX = 4,
    ERRANDS_MAX = 128,
    WAKES_MAX = 2000,
};

enum how_declared {
    NOT_DECLARED,
    DECLARED,         /* with the handler */
    DECLARED_WHEN_DUE /* for the event */
};

struct office;

/* A stream with its handler. */
struct desk {
    struct office *office;
    struct stream *stream;
    struct place *result;
    unsigned lane;
    bool pure;
    bool writes_input; /* which makes work for the next one */
    struct model_place reads[READS_MAX];
    enum how_declared how[READS_MAX];
    size_t count;
};

struct errand {
    struct desk *desk;
    unsigned told;
    bool saw_wrong; /* in the last attempt */
    enum event_outcome outcome;
};

struct office {
    struct random *random;
    struct world world;
    struct space *second;
    struct desk desks[DESKS];
    struct errand errands[ERRANDS_MAX];
    size_t sent;
    uint64_t checked; /* values that were compared */
};

/* What there would be at each place if everything were computed anew. */
static void compute_anew(struct office *office, struct model_documents *out)
{
    struct world *world = &office->world;
    model_documents_init(out, &world->replica.paths);
    for (size_t i = 0; i < MODEL_FIRST_OUTPUT; i++) {
        out->documents[i] = entity_state_document(&world->entities[i]->visible);
    }
    for (size_t i = 0; i < world->count; i++) {
        struct model_outcome outcome;
        model_evaluate(out, &world->slots[i].program, &outcome);
        for (size_t j = 0; j < outcome.count; j++) {
            (void)model_put(out, &outcome.writes[j], true);
        }
        model_outcome_release(&outcome);
    }
}

static bool anything_waits(const struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        const struct node *node = world->slots[i].node;
        if (node->gate != NULL && node_is_stale(node)) {
            return true;
        }
    }
    return false;
}

/* Which of its reads an event makes: a run of them, from anywhere. */
static bool is_read(const struct desk *desk, struct value payload, size_t read)
{
    const size_t number = (size_t)value_integer(payload);
    const size_t first = number % desk->count;
    const size_t count = 1 + number / desk->count % desk->count;
    return (read + desk->count - first) % desk->count < count;
}

static enum err declare(void *ctx,
                        struct value payload,
                        struct closure *closure,
                        struct err_detail *detail)
{
    struct desk *desk = ctx;
    (void)detail;
    for (size_t i = 0; i < desk->count; i++) {
        if (desk->how[i] == DECLARED_WHEN_DUE && is_read(desk, payload, i)) {
            closure_add(closure,
                        world_place(&desk->office->world, &desk->reads[i]),
                        READ_DEEP);
        }
    }
    return ERR_OK;
}

static struct errand *errand_of(struct office *office,
                                const struct desk *desk,
                                struct value payload)
{
    struct errand *errand = &office->errands[value_integer(payload)];
    EXPECT(errand->desk == desk && errand->told == 0);
    for (const struct errand *other = office->errands; other < errand;
         other++) {
        EXPECT(other->desk->lane != desk->lane || other->told == 1);
    }
    return errand;
}

/* Reads, and compares what it sees. False: cannot know now. */
static bool look_around(struct handling *handling,
                        struct desk *desk,
                        struct errand *errand)
{
    struct office *office = desk->office;
    struct model_documents anew;
    bool known = true;
    compute_anew(office, &anew);
    errand->saw_wrong = false;
    for (size_t i = 0; i < desk->count; i++) {
        if (!is_read(desk, handling_payload(handling), i)) {
            continue;
        }
        struct value value;
        const enum err err =
            run_read(handling->run,
                     world_place(&office->world, &desk->reads[i]),
                     READ_DEEP,
                     READ_FOR_BOTH,
                     &value);
        const bool right =
            value_equal(value, model_look(&anew, &desk->reads[i]));
        value_unref(value);
        if (err == ERR_STALE) {
            known = false;
            break;
        }
        office->checked++;
        errand->saw_wrong = errand->saw_wrong || !right;
        if (!desk->pure &&
            (desk->how[i] != NOT_DECLARED || !anything_waits(&office->world))) {
            EXPECT(right);
        }
    }
    model_documents_release(&anew);
    return known;
}

static enum run_result handle(struct handling *handling, void *ctx)
{
    struct desk *desk = ctx;
    struct office *office = desk->office;
    const struct value payload = handling_payload(handling);
    struct errand *errand = errand_of(office, desk, payload);
    if (!look_around(handling, desk, errand)) {
        return RUN_AGAIN;
    }
    if (desk->pure && errand->saw_wrong && random_one_in(office->random, 2)) {
        const struct err_detail detail = {ERR_ARGUMENT, "this cannot be"};
        return run_fail(handling->run, &detail);
    }
    struct transaction *transaction = handling_transaction(handling);
    struct place *to = desk->result;
    struct value value = value_ref(payload);
    if (desk->writes_input) {
        const struct model_place input = {
            .document = (uint16_t)random_below(office->random, MODEL_INPUTS),
            .path = PATH_PAYLOAD,
        };
        to = world_place(&office->world, &input);
        value = model_random_payload(office->random);
    }
    EXPECT(transaction_put_adopt(transaction, to, value, NULL) == ERR_OK);
    return RUN_DONE;
}

static void on_done(void *ctx, const struct event_result *result)
{
    struct errand *errand = ctx;
    errand->told++;
    errand->outcome = result->outcome;
    EXPECT_INT(result->outcome, EVENT_DONE);
    EXPECT(!errand->desk->pure || !errand->saw_wrong);
}

static void open_desk(struct office *office, unsigned number, bool two_lanes)
{
    struct random *random = office->random;
    struct world *world = &office->world;
    struct desk *desk = &office->desks[number];
    const bool second = random_one_in(random, 3);
    *desk = (struct desk){
        .office = office,
        .lane = two_lanes && second ? 1 : 0,
        .pure = random_one_in(random, 2),
        .writes_input = !second && random_one_in(random, 3),
        .count = 1 + random_below(random, READS_MAX),
    };
    struct declared_read declared[READS_MAX];
    size_t declared_count = 0;
    for (size_t i = 0; i < desk->count; i++) {
        const size_t slot = random_below(random, world->count);
        desk->reads[i] = (struct model_place){
            .document = (uint16_t)(MODEL_FIRST_OUTPUT + 2 * slot),
            .path = PATH_PAYLOAD,
        };
        desk->how[i] = (enum how_declared)random_below(random, 3);
        if (desk->how[i] == DECLARED) {
            declared[declared_count++] = (struct declared_read){
                world_place(world, &desk->reads[i]),
                READ_DEEP,
            };
        }
    }
    const struct value names[] = {
        numbered("stream", number),
        numbered("result", number),
    };
    struct entity *entities[2];
    for (unsigned i = 0; i < 2; i++) {
        CHECK(entity_of(second ? office->second : world->space,
                        SCOPE_SPACE,
                        names[i],
                        &entities[i],
                        NULL) == ERR_OK);
        value_unref(names[i]);
    }
    struct place *place = place_payload(entities[0]);
    desk->stream = events_stream(world->sched, place);
    place_unref(place);
    desk->result = place_payload(entities[1]);
    const struct handler_spec spec = {
        .run = handle,
        .ctx = desk,
        .reads = declared,
        .read_count = declared_count,
        .declare = declare,
        .pure = desk->pure,
    };
    struct handler *handler;
    CHECK(events_handle(world->sched, desk->stream, &spec, &handler, NULL) ==
          ERR_OK);
}

static void office_open(struct office *office,
                        struct random *random,
                        struct world_tally *tally,
                        uint64_t gates)
{
    *office = (struct office){.random = random};
    world_open(&office->world, tally);
    add_computations(random, &office->world, gates);
    const struct space_options options = {.id = value_text_new("second")};
    CHECK(space_open(&office->world.replica, &options, &office->second, NULL) ==
          ERR_OK);
    value_unref(options.id);
    struct events_policy policy = events_policy();
    const bool two_lanes = random_one_in(random, 2);
    policy.lanes = two_lanes ? LANES_SPACE : LANES_ONE;
    policy.no_receipts = random_one_in(random, 2);
    policy.parks = 10000; /* one gate behind the other opens at last */
    events_configure(office->world.sched, &policy, VALUE_NONE);
    for (unsigned i = 0; i < DESKS; i++) {
        open_desk(office, i, two_lanes);
    }
}

static void office_close(struct office *office)
{
    for (unsigned i = 0; i < DESKS; i++) {
        place_unref(office->desks[i].result);
    }
    world_close(&office->world);
}

static void send(struct office *office)
{
    struct errand *errand = &office->errands[office->sent];
    *errand = (struct errand){
        .desk = &office->desks[random_below(office->random, DESKS)],
    };
    const struct event_spec spec = {
        .payload = value_int((int64_t)office->sent),
        .done = on_done,
        .ctx = errand,
    };
    office->sent++;
    EXPECT(
        events_send(office->world.sched, errand->desk->stream, &spec, NULL) ==
        ERR_OK);
}

/* Until nothing waits any more. */
static void finish(struct office *office)
{
    struct world *world = &office->world;
    for (unsigned i = 0; i < WAKES_MAX; i++) {
        sched_step(world->sched, world->now);
        const mono_ms wake = sched_next_wake(world->sched);
        if (wake == MONO_NEVER) {
            break;
        }
        world->now = wake > world->now ? wake : world->now;
    }
    EXPECT(!events_wait(world->sched));
    for (size_t i = 0; i < office->sent; i++) {
        EXPECT_EQ(office->errands[i].told, 1);
    }
    EXPECT(sched_check(world->sched));
}

static void work_a_while(struct office *office)
{
    struct random *random = office->random;
    for (unsigned i = 0; i < 16; i++) {
        for (uint64_t more = random_below(random, 3); more > 0; more--) {
            draw_inputs(random, &office->world);
        }
        for (uint64_t more = random_below(random, 5); more > 0; more--) {
            send(office);
        }
        office->world.now += random_below(random, 40);
        if (random_one_in(random, 3)) {
            finish(office);
        } else {
            sched_step(office->world.sched, office->world.now);
        }
    }
    finish(office);
    EXPECT_EQ(office->world.sched->counters.not_settling, 0);
}

PROPERTY(i4_handlers_see_what_would_be_computed_anew_one_after_the_other, 500)
{
    struct world_tally tally = {0};
    struct office *office = mem_alloc(sizeof *office);
    office_open(office, random, &tally, random_below(random, 4));
    work_a_while(office);
    office_close(office);
    mem_free(office, sizeof *office);
}

/* The property is worth something only if all of this happens. */
TEST(i4_gates_are_closed_by_work_and_by_time_and_attempts_are_discarded)
{
    struct events_counters sum = {0};
    uint64_t checked = 0;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        struct random random;
        random_init(&random, seed);
        struct world_tally tally = {0};
        struct office *office = mem_alloc(sizeof *office);
        office_open(office, &random, &tally, 2);
        work_a_while(office);
        const struct events_counters *counters =
            events_counters(office->world.sched);
        sum.parked_time += counters->parked_time;
        sum.discarded += counters->discarded;
        sum.done += counters->done;
        checked += office->checked;
        office_close(office);
        mem_free(office, sizeof *office);
    }
    EXPECT(sum.parked_time > 100);
    EXPECT(sum.discarded > 4);
    EXPECT(sum.done > 500);
    EXPECT(checked > sum.done);
}

/* The gate runs what it must, and nothing else: nobody looks at the rest. */
PROPERTY(i4_nothing_runs_for_an_event_but_what_its_handler_needs, 500)
{
    struct world_tally tally = {0};
    struct office *office = mem_alloc(sizeof *office);
    office_open(office, random, &tally, 0);
    struct world *world = &office->world;
    for (unsigned i = 0; i < 12; i++) {
        struct upstream ever = {0}; /* by the reads before, and those after */
        draw_inputs(random, world);
        for (size_t j = 0; j < world->count; j++) {
            world->slots[j].step_runs = 0;
        }
        send(office);
        const struct desk *desk = office->errands[office->sent - 1].desk;
        for (size_t j = 0; j < desk->count; j++) {
            ever.of[(desk->reads[j].document - MODEL_FIRST_OUTPUT) / 2] = true;
        }
        close_upwards(world, &ever);
        finish(office);
        close_upwards(world, &ever);
        for (size_t j = 0; j < world->count; j++) {
            EXPECT(ever.of[j] || world->slots[j].step_runs == 0);
        }
    }
    office_close(office);
    mem_free(office, sizeof *office);
}
