/* The design's own workloads.
 *
 * Not here: B12 measures the sorting of addresses, and here they are places
 * that need none; B15, B16 and B23 to B26 have events, and are in
 * bench_events.c; B30 and B31 resume nodes, and are in persist/resuming.c; B33
 * is in matching.c. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shapes/shape.h"
#include "shapes/shapes.h"
#include "value/object.h"

/* -- Functions ----------------------------------------------------------- */

static double add(struct calc_run *at, const struct calc *calc)
{
    return kit_read(at, calc->in[0]) + calc->number;
}

static double multiply(struct calc_run *at, const struct calc *calc)
{
    return kit_read(at, calc->in[0]) * calc->number;
}

static double sum(struct calc_run *at, const struct calc *calc)
{
    double all = 0;
    for (uint32_t i = 0; i < calc->count; i++) {
        all += kit_read(at, calc->in[i]);
    }
    return all;
}

static double always_one(struct calc_run *at, const struct calc *calc)
{
    (void)kit_read(at, calc->in[0]);
    return 1;
}

/* selector, a, b */
static double select_one(struct calc_run *at, const struct calc *calc)
{
    const bool odd = (int64_t)kit_read(at, calc->in[0]) % 2 != 0;
    return kit_read(at, calc->in[odd ? 2 : 1]);
}

/* -- Parts of graphs ----------------------------------------------------- */

static struct place *at_end(const struct kit *kit)
{
    return kit->places[kit->place_count - 1];
}

static void make_documents(struct kit *kit, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)kit_document(kit);
    }
}

static void watch_last(struct kit *kit)
{
    struct place *last = at_end(kit);
    (void)kit_effect(kit, add, 0, 1, &last, NULL);
}

/* The source is the first document. */
static void set_source(struct kit *kit, uint32_t size)
{
    (void)size;
    kit_write(kit, kit->places[0], ++kit->round + 1);
    kit_idle(kit);
}

/* -- B01 to B05, B09, B10: registered, and nobody looks ------------------ */

static void make_for_shared(struct kit *kit, uint32_t size)
{
    make_documents(kit, size + 1);
}

static void register_shared(struct kit *kit, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        (void)kit_compute(kit, add, i, kit->places[0], kit->places[i + 1]);
    }
}

static void act_shared(struct kit *kit, uint32_t size)
{
    register_shared(kit, size);
    kit_idle(kit);
    kit_clear(kit);
}

static void act_wide(struct kit *kit, uint32_t size)
{
    register_shared(kit, size);
    kit_idle(kit);
    set_source(kit, size);
    kit_clear(kit);
}

static void register_chain(struct kit *kit, uint32_t size)
{
    for (uint32_t i = 0; i + 1 < size; i++) {
        (void)kit_compute(kit, add, 1, kit->places[i], kit->places[i + 1]);
    }
}

static void act_chain(struct kit *kit, uint32_t size)
{
    register_chain(kit, size);
    kit_idle(kit);
    kit_clear(kit);
}

static void make_diamonds(struct kit *kit, uint32_t size)
{
    make_documents(kit, 4 * size);
}

static void act_diamonds(struct kit *kit, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        struct place **at = &kit->places[(size_t)4 * i];
        (void)kit_compute(kit, add, 1, at[0], at[1]);
        (void)kit_compute(kit, add, 2, at[0], at[2]);
        (void)kit_compute_many(kit, sum, 2, &at[1], at[3]);
    }
    kit_idle(kit);
    kit_clear(kit);
}

static void build_chain(struct kit *kit, uint32_t size)
{
    make_documents(kit, size);
    register_chain(kit, size);
}

static void act_mark_often(struct kit *kit, uint32_t size)
{
    (void)size;
    for (uint32_t i = 0; i < 3; i++) {
        kit_write(kit, kit->places[0], ++kit->round);
    }
    kit_idle(kit);
}

static void act_come_and_go(struct kit *kit, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        (void)kit_compute(kit, add, 1, kit->places[0], kit->places[1]);
        kit_clear(kit);
    }
}

static void make_two(struct kit *kit, uint32_t size)
{
    (void)size;
    make_documents(kit, 2);
}

static void make_twice(struct kit *kit, uint32_t size)
{
    make_documents(kit, 2 * size);
}

static void act_bare(struct kit *kit, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        (void)kit_compute(kit, add, 1, kit->places[i], kit->places[size + i]);
    }
    kit_clear(kit);
}

static void act_bare_shared(struct kit *kit, uint32_t size)
{
    register_shared(kit, size);
    kit_clear(kit);
}

/* -- B08, B11, B13 ------------------------------------------------------- */

static void act_pull(struct kit *kit, uint32_t size)
{
    (void)size;
    kit_write(kit, kit->places[0], ++kit->round);
    struct value value;
    (void)sched_pull(kit->sched, kit->places[1], kit->now, &value);
    value_unref(value);
}

static void build_one_effect(struct kit *kit, uint32_t size)
{
    (void)size;
    make_documents(kit, 1);
    watch_last(kit);
}

static void act_again(struct kit *kit, uint32_t size)
{
    (void)size;
    sched_invalidate(kit->sched, kit->nodes[0]);
    kit_idle(kit);
}

static void make_some(struct kit *kit, uint32_t size)
{
    make_documents(kit, size);
}

static void act_nothing(struct kit *kit, uint32_t size)
{
    (void)size;
    kit_idle(kit);
}

static void act_commit_many(struct kit *kit, uint32_t size)
{
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    kit->round++;
    for (uint32_t i = 0; i < size; i++) {
        kit_put(kit,
                transaction,
                kit->places[i],
                value_int((int64_t)kit->round + i));
    }
    CHECK(transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
}

/* -- B14, B17: what effects demand --------------------------------------- */

static void build_demand(struct kit *kit, uint32_t size)
{
    make_documents(kit, 3 + size);
    (void)kit_compute(kit, multiply, 2, kit->places[0], kit->places[1]);
    (void)kit_compute(kit, add, 1, kit->places[1], kit->places[2]);
    for (uint32_t i = 0; i < size; i++) {
        (void)kit_effect(kit, add, i, 1, &kit->places[2], kit->places[3 + i]);
    }
}

/* Its children are the nodes behind the first. */
static double make_children(struct calc_run *at, const struct calc *calc)
{
    struct kit *kit = calc->kit;
    const double source = kit_read(at, calc->in[0]);
    for (uint32_t i = 1; i < kit->node_count; i++) {
        sched_remove(kit->sched, kit->nodes[i]);
    }
    kit->node_count = 1;
    for (uint32_t i = 0; i < (uint32_t)calc->number; i++) {
        (void)kit_effect(kit, add, i, 1, &kit->places[1], kit->places[2 + i]);
    }
    return source;
}

static void build_parent(struct kit *kit, uint32_t size)
{
    make_documents(kit, 2 + size);
    (void)kit_effect(kit,
                     make_children,
                     size,
                     1,
                     &kit->places[0],
                     kit->places[1]);
}

/* -- B18 to B22: how a change spreads ------------------------------------ */

static void build_watched_chain(struct kit *kit, uint32_t size)
{
    build_chain(kit, size);
    watch_last(kit);
}

static void build_watched_diamond(struct kit *kit, uint32_t size)
{
    (void)size;
    make_documents(kit, 4);
    (void)kit_compute(kit, multiply, 2, kit->places[0], kit->places[1]);
    (void)kit_compute(kit, multiply, 3, kit->places[0], kit->places[2]);
    (void)kit_compute_many(kit, sum, 2, &kit->places[1], kit->places[3]);
    watch_last(kit);
}

static void build_fan(struct kit *kit, uint32_t size)
{
    make_documents(kit, 2 + size);
    (void)kit_compute(kit, add, 1, kit->places[0], kit->places[1]);
    for (uint32_t i = 0; i < size; i++) {
        (void)kit_compute(kit, add, i, kit->places[1], kit->places[2 + i]);
    }
    (void)kit_effect(kit, sum, 0, size, &kit->places[2], NULL);
}

static void build_selector(struct kit *kit, uint32_t size)
{
    (void)size;
    make_documents(kit, 4);
    (void)kit_compute_many(kit, select_one, 3, &kit->places[0], kit->places[3]);
    watch_last(kit);
}

static void act_selector(struct kit *kit, uint32_t size)
{
    (void)size;
    static const int offsets[] = {0, 2, 20};
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    kit->round++;
    for (uint32_t i = 0; i < 3; i++) {
        kit_put(kit,
                transaction,
                kit->places[i],
                value_int((int64_t)kit->round + offsets[i]));
    }
    CHECK(transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
    kit_idle(kit);
}

static void build_constant(struct kit *kit, uint32_t size)
{
    (void)size;
    make_documents(kit, 2);
    (void)kit_compute(kit, always_one, 0, kit->places[0], kit->places[1]);
    watch_last(kit);
}

/* -- B27 to B29 ---------------------------------------------------------- */

struct rewriter {
    struct kit *kit;
    uint32_t size;
};

static void put_record(struct kit *kit,
                       struct transaction *transaction,
                       uint32_t size,
                       int64_t first)
{
    struct value record = value_empty_object();
    for (uint32_t i = 0; i < size; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        record = object_set_adopt(record,
                                  value_text_new(key),
                                  value_int(i == 0 ? first : (int64_t)i));
    }
    kit_put(kit, transaction, kit->places[1], record);
}

static enum run_result rewrite_record(struct run *run, void *ctx)
{
    const struct rewriter *rewriter = ctx;
    struct calc_run at = {run, false};
    const double source = kit_read(&at, rewriter->kit->places[0]);
    if (at.stale) {
        return RUN_AGAIN;
    }
    put_record(rewriter->kit,
               run->transaction,
               rewriter->size,
               (int64_t)source);
    return RUN_DONE;
}

static void build_materializer(struct kit *kit, uint32_t size)
{
    static struct rewriter rewriter;
    rewriter = (struct rewriter){kit, size};
    make_documents(kit, 2);
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    put_record(kit, transaction, size, 0);
    CHECK(transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
    const struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = rewrite_record,
        .ctx = &rewriter,
        .envelopes = &kit->places[1],
        .envelope_count = 1,
    };
    (void)kit_register(kit, &spec);
    for (uint32_t i = 0; i < size; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        struct place *place = kit_below(kit, kit->places[1], key);
        (void)kit_effect(kit, add, 0, 1, &place, NULL);
    }
}

static void build_marked(struct kit *kit, uint32_t size)
{
    make_documents(kit, 2 + size);
    (void)kit_compute(kit, multiply, 10, kit->places[0], kit->places[1]);
    for (uint32_t i = 0; i < size; i++) {
        (void)kit_effect(kit, add, i, 1, &kit->places[1], kit->places[2 + i]);
    }
}

/* -- All ----------------------------------------------------------------- */

static const struct shape shapes[] = {
    {"B01 100 computations", make_for_shared, act_shared, 100, 0, 0, 0},
    {"B02 wide, and a write", make_for_shared, act_wide, 100, 0, 0, 0},
    {"B03 100 documents in a row", make_some, act_chain, 100, 0, 0, 0},
    {"B04 deep chain", make_some, act_chain, 50, 0, 0, 0},
    {"B05 10 diamonds", make_diamonds, act_diamonds, 10, 0, 0, 0},
    {"B06 marked again and again", build_chain, act_mark_often, 20, 0, 0, 0},
    {"B07 come and go, 100 times", make_two, act_come_and_go, 100, 0, 0, 0},
    {"B08 write and pull", build_chain, act_pull, 2, 2, 1, 0},
    {"B09 register 100, unregister", make_twice, act_bare, 100, 0, 0, 0},
    {"B10 the same, one source",
     make_for_shared,
     act_bare_shared,
     100,
     0,
     0,
     0},
    {"B11 the same reads again", build_one_effect, act_again, 1, 1, 1, 0},
    {"B13 empty idle", make_some, act_nothing, 1, 0, 0, 0},
    {"B13 commit of 100 writes", make_some, act_commit_many, 100, 0, 0, 0},
    {"B13 commit of one write", make_some, act_commit_many, 1, 0, 0, 1.24},
    {"B13 empty commit", make_some, act_commit_many, 0, 0, 0, 0},
    {"B14 24 effects", build_demand, set_source, 24, 26, 1, 49.6},
    {"B17 replace 12 children", build_parent, set_source, 12, 13, 2, 37},
    {"B18 chain of 4 nodes", build_watched_chain, set_source, 4, 4, 1, 8.9},
    {"B19 diamond", build_watched_diamond, set_source, 0, 4, 1, 10.6},
    {"B20 fan-out 64", build_fan, set_source, 64, 66, 1, 145},
    {"B21 other reads", build_selector, act_selector, 0, 2, 1, 0},
    {"B22 same result", build_constant, set_source, 0, 1, 1, 0},
    {"B27 materializer, 100 readers",
     build_materializer,
     set_source,
     100,
     2,
     3,
     13.6},
    {"B27 materializer, 1000 readers",
     build_materializer,
     set_source,
     1000,
     2,
     3,
     82},
    {"B28 declared write", build_watched_chain, set_source, 2, 2, 1, 0},
    {"B29 marked by hand, 50 readers", build_marked, act_again, 50, 1, 1, 0},
    {"B29 marked by hand, 200 readers", build_marked, act_again, 200, 1, 1, 0},
    {"chain of 50", build_watched_chain, set_source, 51, 51, 1, 97},
    {"chain of 200", build_watched_chain, set_source, 201, 201, 1, 377},
    {"100 effects", build_marked, set_source, 100, 101, 1, 152},
    {"1000 effects", build_marked, set_source, 1000, 1001, 1, 2179},
};

/* -- B32: a board that grows --------------------------------------------- */

static void mount(struct kit *kit, uint32_t cards)
{
    kit_clear(kit);
    for (uint32_t i = 0; i < cards; i++) {
        struct place *card = kit->places[1 + i];
        (void)kit_compute(kit, add, i, kit->places[0], card);
        (void)kit_effect(kit, add, 0, 1, &card, NULL);
    }
}

/* Work on liveness while a board grows to so many cards, each time with all
 * cards before it anew: two nodes are written for each card that comes or
 * goes. */
static void bench_board(struct bench *bench, uint32_t cards, double other)
{
    char name[64];
    (void)snprintf(name, sizeof name, "B32 board of %u, liveness work", cards);
    if (!bench_wants(bench, name)) {
        return;
    }
    struct kit *kit = malloc(sizeof *kit);
    CHECK(kit != NULL);
    kit_open(kit, false);
    make_documents(kit, cards + 1);
    for (uint32_t i = 1; i <= cards; i++) {
        mount(kit, i);
        kit_idle(kit);
    }
    const double work = (double)kit->sched->counters.liveness_work;
    kit_close(kit);
    free(kit);
    bench_figure(bench,
                 name,
                 "nodes",
                 work,
                 0,
                 (struct bench_bar){BENCH_AT_MOST, other});
}

void bench_shapes(struct bench *bench)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        bench_shape(bench, &shapes[i], false);
        if (shapes[i].other_ms > 0) {
            bench_shape(bench, &shapes[i], true);
        }
    }
    bench_board(bench, 10, 255);
    bench_board(bench, 20, 1010);
    bench_board(bench, 30, 2265);
    bench_board(bench, 40, 4020);
}
