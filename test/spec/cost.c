/* What things cost, in counters: nothing here looks at a clock. */

#include "base/buf.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/space.h"
#include "sched/sched.h"
#include "value/object.h"

/* A scheduler, and nodes of one kind: reads one place, adds one, writes one. */
struct plant {
    struct replica replica;
    struct space *space;
    struct sched *sched;
};

struct worker {
    struct place *from;
    struct place *to; /* NULL: an effect */
    int64_t seen;
    uint64_t runs;
};

static void begin(struct plant *plant)
{
    *plant = (struct plant){0};
    replica_init(&plant->replica, NULL);
    const struct value id = from_json("\"did:key:s\"");
    const struct space_options options = {.id = id};
    struct err_detail detail = {0};
    CHECK(space_open(&plant->replica, &options, &plant->space, &detail) ==
          ERR_OK);
    value_unref(id);
    plant->sched = sched_new(&plant->replica, NULL);
}

static void end(struct plant *plant)
{
    sched_free(plant->sched);
    replica_release(&plant->replica);
}

static struct place *payload(struct plant *plant, uint64_t number)
{
    const struct value name = numbered("of:d", number);
    struct entity *entity = NULL;
    struct err_detail detail = {0};
    CHECK(entity_of(plant->space, SCOPE_SPACE, name, &entity, &detail) ==
          ERR_OK);
    value_unref(name);
    return place_payload(entity);
}

static void put(struct plant *plant, struct place *place, struct value value)
{
    struct transaction *transaction = transaction_begin(&plant->replica, NULL);
    struct err_detail detail = {0};
    EXPECT_EQ(transaction_put_adopt(transaction, place, value, &detail),
              ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, &detail), ERR_OK);
    transaction_release(transaction);
}

static enum run_result work(struct run *run, void *ctx)
{
    struct worker *worker = ctx;
    struct value value;
    struct err_detail detail = {0};
    (void)run_read(run, worker->from, READ_DEEP, READ_FOR_BOTH, &value);
    worker->seen = value_kind(value) == VALUE_INT ? value_integer(value) : 0;
    value_unref(value);
    worker->runs++;
    if (worker->to == NULL) {
        return RUN_DONE;
    }
    return transaction_put_adopt(run->transaction,
                                 worker->to,
                                 value_int(worker->seen + 1),
                                 &detail) == ERR_OK
               ? RUN_DONE
               : RUN_FAILED;
}

static void forget(void *ctx)
{
    const struct worker *worker = ctx;
    place_unref(worker->from);
    if (worker->to != NULL) {
        place_unref(worker->to);
    }
}

/* Takes over the references. */
static struct node *enter(struct plant *plant,
                          struct worker *worker,
                          struct place *from,
                          struct place *to)
{
    *worker = (struct worker){.from = from, .to = to};
    const struct node_spec spec = {
        .kind = to == NULL ? NODE_EFFECT : NODE_COMPUTATION,
        .run = work,
        .ctx = worker,
        .release = forget,
        .outputs = &worker->to,
        .output_count = to != NULL,
        .reads = &worker->from,
        .read_count = 1,
        .no_auto_debounce = true,
    };
    return sched_register(plant->sched, &spec);
}

static struct worker *workers_new(size_t count)
{
    return mem_alloc_zero(count * sizeof(struct worker));
}

static void workers_free(struct worker *workers, size_t count)
{
    mem_free(workers, count * sizeof *workers);
}

/* d0 -> d1 -> ... -> d(count), and an effect at the end. */
static void build_chain(struct plant *plant,
                        struct worker *workers,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)
            enter(plant, &workers[i], payload(plant, i), payload(plant, i + 1));
    }
    (void)enter(plant, &workers[count], payload(plant, count), NULL);
}

/* -- Runs ---------------------------------------------------------------- */

TEST(a_run_of_numbers_allocates_nothing_once_everything_is_warm)
{
    enum {
        LENGTH = 20
    };
    struct plant plant;
    struct worker workers[LENGTH + 1];
    begin(&plant);
    struct place *source = payload(&plant, 0);
    build_chain(&plant, workers, LENGTH);
    int64_t number = 0;
    for (; number < 10; number++) {
        put(&plant, source, value_int(number));
        sched_step(plant.sched, 1);
    }
    const uint64_t allocations = test_allocations();
    const uint64_t runs = plant.sched->counters.runs;
    const uint64_t links = plant.sched->counters.delta_links;
    for (; number < 110; number++) {
        put(&plant, source, value_int(number));
        sched_step(plant.sched, 1);
    }
    EXPECT_EQ(test_allocations(), allocations);
    EXPECT_EQ(plant.sched->counters.runs - runs, 100 * (LENGTH + 1));
    EXPECT_EQ(plant.sched->counters.delta_links, links);
    EXPECT_INT(workers[LENGTH].seen, 109 + LENGTH);
    place_unref(source);
    end(&plant);
}

/* -- Nodes with many reads ----------------------------------------------- */

enum {
    WIDTH = 20
};

/* Reads all of `from`, and writes the sum and one more. */
struct summer {
    struct place *from[WIDTH];
    struct place *to; /* NULL: an effect */
    int64_t seen;
};

static enum run_result sum_up(struct run *run, void *ctx)
{
    struct summer *summer = ctx;
    int64_t sum = 0;
    for (size_t i = 0; i < WIDTH && summer->from[i] != NULL; i++) {
        struct value value;
        if (run_read(run, summer->from[i], READ_DEEP, READ_FOR_BOTH, &value) ==
            ERR_STALE) {
            return RUN_AGAIN;
        }
        sum += value_kind(value) == VALUE_INT ? value_integer(value) : 0;
        value_unref(value);
    }
    summer->seen = sum;
    struct err_detail detail = {0};
    return summer->to == NULL || transaction_put_adopt(run->transaction,
                                                       summer->to,
                                                       value_int(sum % 7 + 1),
                                                       &detail) == ERR_OK
               ? RUN_DONE
               : RUN_FAILED;
}

/* Nothing is declared but the output. */
static void enter_summer(struct plant *plant, struct summer *summer)
{
    const struct node_spec spec = {
        .kind = summer->to == NULL ? NODE_EFFECT : NODE_COMPUTATION,
        .run = sum_up,
        .ctx = summer,
        .outputs = &summer->to,
        .output_count = summer->to != NULL,
        .no_auto_debounce = true,
    };
    (void)sched_register(plant->sched, &spec);
}

static void put_all(struct plant *plant,
                    struct place *const *places,
                    int64_t number)
{
    struct transaction *transaction = transaction_begin(&plant->replica, NULL);
    struct err_detail detail = {0};
    for (size_t i = 0; i < WIDTH; i++) {
        EXPECT_EQ(transaction_put_adopt(transaction,
                                        places[i],
                                        value_int(number),
                                        &detail),
                  ERR_OK);
    }
    EXPECT_EQ(transaction_commit(transaction, &detail), ERR_OK);
    transaction_release(transaction);
}

TEST(many_causes_at_each_change_allocate_nothing_once_everything_is_warm)
{
    struct plant plant;
    struct summer summer = {0};
    struct worker others[WIDTH]; /* with one cause each, in between */
    begin(&plant);
    for (size_t i = 0; i < WIDTH; i++) {
        summer.from[i] = payload(&plant, i);
        (void)enter(&plant, &others[i], payload(&plant, i), NULL);
    }
    enter_summer(&plant, &summer);
    int64_t number = 1;
    for (; number < 10; number++) {
        put_all(&plant, summer.from, number);
        sched_step(plant.sched, 1);
    }
    const uint64_t allocations = test_allocations();
    for (; number < 60; number++) {
        put_all(&plant, summer.from, number);
        sched_step(plant.sched, 1);
    }
    EXPECT_EQ(test_allocations(), allocations);
    EXPECT_INT(summer.seen, (int64_t)WIDTH * 59);
    for (size_t i = 0; i < WIDTH; i++) {
        place_unref(summer.from[i]);
    }
    end(&plant);
}

/* Layers of four, each reading three of the layer before; nobody has declared
 * that. Returns how many nodes were looked at in the first pass. */
static uint64_t looks_of_first_pass(size_t layers)
{
    struct plant plant;
    const size_t count = layers * 4;
    struct summer *summers = mem_alloc_zero((count + 1) * sizeof *summers);
    struct place **places =
        mem_alloc_zero((count + 4) * sizeof(struct place *));
    begin(&plant);
    for (size_t i = 0; i < count + 4; i++) {
        places[i] = payload(&plant, i);
    }
    for (size_t i = 0; i < 4; i++) {
        put(&plant, places[i], value_int(1));
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < 3; k++) {
            summers[i].from[k] = places[i / 4 * 4 + (i + k) % 4];
        }
        summers[i].to = places[i + 4];
        enter_summer(&plant, &summers[i]);
    }
    for (size_t k = 0; k < 4; k++) {
        summers[count].from[k] = places[count + k];
    }
    enter_summer(&plant, &summers[count]);
    sched_step(plant.sched, 1);
    EXPECT(summers[count].seen > 0);
    const uint64_t looks = plant.sched->counters.looks;
    for (size_t i = 0; i < count + 4; i++) {
        place_unref(places[i]);
    }
    end(&plant);
    mem_free(places, (count + 4) * sizeof(struct place *));
    mem_free(summers, (count + 1) * sizeof *summers);
    return looks;
}

/* What is up to date is not looked at again until something is not. */
TEST(d2_a_first_pass_looks_at_each_node_once)
{
    EXPECT_EQ(looks_of_first_pass(40), 40 * 4);
    EXPECT_EQ(looks_of_first_pass(160), 160 * 4);
}

TEST(conv_15_a_chain_of_100000_settles_in_one_sweep)
{
    enum {
        LENGTH = 100000
    };
    struct plant plant;
    struct worker *workers = workers_new(LENGTH + 1);
    begin(&plant);
    struct place *source = payload(&plant, 0);
    put(&plant, source, value_int(1));
    build_chain(&plant, workers, LENGTH);
    const struct sched_counters *counters = &plant.sched->counters;
    sched_step(plant.sched, 1);
    EXPECT_INT(workers[LENGTH].seen, 1 + LENGTH);
    EXPECT_EQ(counters->runs, LENGTH + 1);
    EXPECT_EQ(counters->passes, 1);
    EXPECT_EQ(counters->nested_runs, 0);
    const struct sched_counters before = *counters;
    put(&plant, source, value_int(5));
    sched_step(plant.sched, 1);
    EXPECT_INT(workers[LENGTH].seen, 5 + LENGTH);
    EXPECT_EQ(counters->runs - before.runs, LENGTH + 1);
    EXPECT_EQ(counters->sweeps - before.sweeps, 1);
    EXPECT_EQ(counters->pops - before.pops, LENGTH + 1);
    EXPECT_EQ(counters->height_work, before.height_work);
    EXPECT_EQ(counters->liveness_work, before.liveness_work);
    /* The order was found when they were looked at, with little work each. */
    EXPECT(before.height_work <= 4 * (uint64_t)LENGTH);
    EXPECT(before.liveness_work <= 4 * (uint64_t)LENGTH);
    for (size_t i = 0; i <= LENGTH; i++) {
        if (workers[i].runs != 2) {
            EXPECT_EQ(workers[i].runs, 2);
            break;
        }
    }
    place_unref(source);
    end(&plant);
    workers_free(workers, LENGTH + 1);
}

/* Reads that nobody declared: too deep to nest, so it is given up and run in
 * order, and each is run to its end once. */
static enum run_result work_later(struct run *run, void *ctx)
{
    struct worker *worker = ctx;
    const uint64_t runs = worker->runs;
    const enum run_result result = work(run, ctx);
    if (run->sched->unwinding) {
        worker->runs = runs;
        return RUN_AGAIN;
    }
    return result;
}

TEST(d2_a_chain_of_1000_that_nobody_declared_settles_in_one_pass)
{
    enum {
        LENGTH = 1000
    };
    struct plant plant;
    struct worker *workers = workers_new(LENGTH + 1);
    begin(&plant);
    struct place *source = payload(&plant, 0);
    put(&plant, source, value_int(1));
    for (size_t i = 0; i <= LENGTH; i++) {
        struct worker *worker = &workers[LENGTH - i];
        worker->from = payload(&plant, LENGTH - i);
        worker->to = i > 0 ? payload(&plant, LENGTH - i + 1) : NULL;
        const struct node_spec spec = {
            .kind = i == 0 ? NODE_EFFECT : NODE_COMPUTATION,
            .run = work_later,
            .ctx = worker,
            .release = forget,
            .outputs = &worker->to,
            .output_count = i > 0,
        };
        (void)sched_register(plant.sched, &spec);
    }
    const struct sched_counters *counters = &plant.sched->counters;
    sched_step(plant.sched, 1);
    EXPECT_INT(workers[LENGTH].seen, 1 + LENGTH);
    EXPECT_EQ(counters->passes, 1);
    for (size_t i = 0; i <= LENGTH; i++) {
        EXPECT_EQ(workers[i].runs, 1);
    }
    EXPECT(counters->discarded_runs <= 2 * (uint64_t)LENGTH);
    place_unref(source);
    end(&plant);
    workers_free(workers, LENGTH + 1);
}

/* -- Changes ------------------------------------------------------------- */

static struct place *field(struct plant *plant, uint64_t number)
{
    struct place *document = payload(plant, 0);
    const struct value key = numbered("f", number);
    struct place *place = place_child(document, key);
    value_unref(key);
    place_unref(document);
    return place;
}

/* As many readers as fields, each of its own; one field changes. */
static void change_one_of(size_t count)
{
    struct plant plant;
    struct worker *workers = workers_new(count);
    begin(&plant);
    struct value object = value_empty_object();
    for (size_t i = 0; i < count; i++) {
        const struct value key = numbered("f", i);
        object = object_set_adopt(object, key, value_int(0));
        value_unref(key);
    }
    struct place *document = payload(&plant, 0);
    put(&plant, document, object);
    for (size_t i = 0; i < count; i++) {
        (void)enter(&plant, &workers[i], field(&plant, i), NULL);
    }
    const struct sched_counters *counters = &plant.sched->counters;
    sched_step(plant.sched, 1);
    EXPECT_EQ(counters->runs, count);
    const struct sched_counters before = *counters;
    struct place *one = field(&plant, count / 2);
    put(&plant, one, value_int(7));
    EXPECT(counters->visits - before.visits <= 2); /* the reader, its place */
    EXPECT_EQ(counters->invalidations - before.invalidations, 1);
    sched_step(plant.sched, 1);
    EXPECT_EQ(counters->runs - before.runs, 1);
    EXPECT_EQ(counters->pops - before.pops, 1);
    EXPECT_INT(workers[count / 2].seen, 7);
    place_unref(one);
    place_unref(document);
    end(&plant);
    workers_free(workers, count);
}

TEST(trig_33_of_100_readers_of_fields_one_is_looked_at)
{
    change_one_of(100);
}

TEST(trig_33_of_10000_readers_of_fields_one_is_looked_at)
{
    change_one_of(10000);
}

/* A document of one key in another, and a place for each. */
static struct place *deep_place(struct plant *plant, unsigned depth)
{
    struct place *place = payload(plant, 0);
    for (unsigned i = 0; i < depth; i++) {
        const struct value key = numbered("k", i % 3);
        struct place *child = place_child(place, key);
        value_unref(key);
        place_unref(place);
        place = child;
    }
    return place;
}

/* With `siblings` at each level, equal but not the same after each write. */
static struct value deep_value(unsigned depth, unsigned siblings, int leaf)
{
    struct value value = value_int(leaf);
    for (unsigned i = depth; i-- > 0;) {
        struct value object = value_empty_object();
        for (unsigned j = 0; j < siblings; j++) {
            const struct value key = numbered("s", j);
            object = object_set_adopt(object, key, from_json("[1,2]"));
            value_unref(key);
        }
        const struct value key = numbered("k", i % 3);
        value = object_set_adopt(object, key, value);
        value_unref(key);
    }
    return value;
}

/* A reader at every level, of the whole of it; siblings, which some read, are
 * not what changes. */
static void change_deep_down(unsigned depth, unsigned siblings)
{
    struct plant plant;
    const size_t count = (size_t)depth * (siblings + 1);
    struct worker *workers = workers_new(count);
    begin(&plant);
    struct place *document = payload(&plant, 0);
    put(&plant, document, deep_value(depth, siblings, 1));
    size_t used = 0;
    for (unsigned i = 1; i <= depth; i++) {
        struct place *place = deep_place(&plant, i);
        (void)enter(&plant, &workers[used++], place, NULL);
        struct place *above = deep_place(&plant, i - 1);
        for (unsigned j = 0; j < siblings; j++) {
            const struct value key = numbered("s", j);
            (void)
                enter(&plant, &workers[used++], place_child(above, key), NULL);
            value_unref(key);
        }
        place_unref(above);
    }
    sched_step(plant.sched, 1);
    const struct sched_counters *counters = &plant.sched->counters;
    struct sched_counters before = *counters;
    struct place *leaf = deep_place(&plant, depth);
    put(&plant, leaf, value_int(2));
    EXPECT_EQ(counters->compared - before.compared, 1);
    EXPECT_EQ(counters->invalidations - before.invalidations, depth);
    sched_step(plant.sched, 1);
    EXPECT_EQ(counters->runs - before.runs, depth);
    EXPECT_INT(workers[used - siblings - 1].seen, 2);
    place_unref(leaf);
    place_unref(document);
    end(&plant);
    workers_free(workers, count);
}

TEST(a_change_deep_down_is_found_by_one_comparison)
{
    change_deep_down(1, 0);
    change_deep_down(8, 0);
    change_deep_down(64, 0);
}

TEST(a_change_deep_down_among_many_places_is_found_by_one_comparison)
{
    change_deep_down(8, 3);
    change_deep_down(40, 12);
}

/* A field that nobody reads costs nobody anything. */
TEST(a_change_that_nobody_reads_is_seen_by_nobody)
{
    struct plant plant;
    struct worker worker;
    begin(&plant);
    struct place *document = payload(&plant, 0);
    put(&plant, document, from_json("{\"f0\":1,\"other\":1}"));
    (void)enter(&plant, &worker, field(&plant, 0), NULL);
    sched_step(plant.sched, 1);
    const struct sched_counters before = plant.sched->counters;
    const struct value key = from_json("\"other\"");
    struct place *other = place_child(document, key);
    value_unref(key);
    put(&plant, other, value_int(2));
    sched_step(plant.sched, 1);
    const struct sched_counters *counters = &plant.sched->counters;
    EXPECT(counters->visits - before.visits <= 2); /* the places there are */
    EXPECT_EQ(counters->invalidations, before.invalidations);
    EXPECT_EQ(counters->passes, before.passes);
    EXPECT_EQ(counters->runs, before.runs);
    place_unref(other);
    place_unref(document);
    end(&plant);
}

/* -- Sleepers ------------------------------------------------------------ */

enum {
    SLEEPERS = 100000
};

/* All read d0, which changes; and nobody looks at what they write. */
static void add_sleepers(struct plant *plant, struct worker *workers)
{
    for (size_t i = 0; i < SLEEPERS; i++) {
        (void)enter(plant,
                    &workers[i],
                    payload(plant, 0),
                    payload(plant, 10 + i));
    }
}

static void add_awake(struct plant *plant, struct worker *awake)
{
    (void)enter(plant, &awake[0], payload(plant, 0), payload(plant, 1));
    (void)enter(plant, &awake[1], payload(plant, 1), payload(plant, 2));
    (void)enter(plant, &awake[2], payload(plant, 2), NULL);
    sched_step(plant->sched, 1);
}

TEST(new_12_who_sleeps_costs_nothing)
{
    struct plant plant;
    struct worker awake[3];
    struct worker *workers = workers_new(SLEEPERS);
    begin(&plant);
    struct place *source = payload(&plant, 0);
    put(&plant, source, value_int(1));
    add_awake(&plant, awake);

    const struct sched_counters *counters = &plant.sched->counters;
    const struct sched_counters before = *counters;
    add_sleepers(&plant, workers);
    EXPECT_EQ(counters->runs, before.runs);
    EXPECT_EQ(counters->visits, before.visits);
    EXPECT_EQ(counters->liveness_work, before.liveness_work);
    EXPECT_EQ(counters->height_work, before.height_work);
    EXPECT(sched_is_idle(plant.sched));

    const struct sched_counters there = *counters;
    for (int64_t i = 2; i < 12; i++) {
        put(&plant, source, value_int(i));
        sched_step(plant.sched, 1);
    }
    EXPECT_EQ(counters->runs - there.runs, 30);
    EXPECT_EQ(counters->pops - there.pops, 30);
    EXPECT_EQ(counters->visits - there.visits, 30);
    EXPECT_EQ(counters->liveness_work, there.liveness_work);
    EXPECT_INT(awake[2].seen, 13);
    place_unref(source);
    end(&plant);
    workers_free(workers, SLEEPERS);
}

/* Once they have run and are looked at no more, a change costs each of them
 * once: they leave their places. */
TEST(g1_who_is_out_of_date_and_sleeps_costs_once)
{
    enum {
        COUNT = 1000
    };
    struct plant plant;
    struct worker *workers = workers_new((size_t)2 * COUNT);
    begin(&plant);
    struct place *source = payload(&plant, 0);
    put(&plant, source, value_int(1));
    struct node *watchers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        (void)enter(&plant,
                    &workers[i],
                    payload(&plant, 0),
                    payload(&plant, 10 + i));
        watchers[i] =
            enter(&plant, &workers[COUNT + i], payload(&plant, 10 + i), NULL);
    }
    sched_step(plant.sched, 1);
    for (size_t i = 0; i < COUNT; i++) {
        sched_remove(plant.sched, watchers[i]);
    }
    const struct sched_counters *counters = &plant.sched->counters;
    const uint64_t runs = counters->runs;
    uint64_t visits = counters->visits;
    put(&plant, source, value_int(2));
    EXPECT_EQ(counters->visits - visits, COUNT);
    visits = counters->visits;
    put(&plant, source, value_int(3));
    put(&plant, source, value_int(4));
    sched_step(plant.sched, 1);
    EXPECT_EQ(counters->visits, visits);
    EXPECT_EQ(counters->runs, runs);
    place_unref(source);
    end(&plant);
    workers_free(workers, (size_t)2 * COUNT);
}

/* -- Registering --------------------------------------------------------- */

static uint64_t allocations_for(size_t count)
{
    struct plant plant;
    struct worker *workers = workers_new(count);
    begin(&plant);
    const uint64_t before = test_allocations();
    for (size_t i = 0; i < count; i++) {
        (void)enter(&plant,
                    &workers[i],
                    payload(&plant, 0),
                    payload(&plant, 10 + i));
    }
    const uint64_t after = test_allocations();
    EXPECT_EQ(plant.sched->counters.liveness_work, 0);
    EXPECT_EQ(plant.sched->counters.height_work, 0);
    EXPECT_EQ(plant.sched->counters.visits, 0);
    end(&plant);
    workers_free(workers, count);
    return after - before;
}

TEST(y1_registering_costs_the_same_for_each_node)
{
    const uint64_t few = allocations_for(1000);
    const uint64_t many = allocations_for(10000);
    EXPECT(many <= 10 * few + 100);
}
