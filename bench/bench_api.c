/* The public functions: what an embedder sees, beside the scheduler below.
 *
 *   runs     a chain of 50 computations and a sink, and the same chain on the
 *            scheduler directly (signals/ours.h), which is what the other
 *            groups measure. The difference is the price of handles that are
 *            checked, of links that are followed, and of errors that are told.
 *            In memory, and in a directory, where each pass is committed
 *   calls    one function each
 *   events   a handler that is pure and counts, with receipts
 *
 * Results and runs are checked. */

#include <heddle/heddle.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/raw_store.h"
#include "signals/bodies.h"

enum {
    CHAIN = 50,
    EVENTS = 100 /* that wait at a time */
};

struct fixture {
    hd_runtime *runtime;
    hd_cell *cells[CHAIN + 1];
    hd_cell *stream;
    struct signal *head;
    struct signal *last;
    int64_t round;  /* of ours, */
    double other;   /* and of the scheduler's own */
    uint64_t runs;  /* of computations */
    uint64_t looks; /* of the sink */
    int64_t seen;   /* by it */
};

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "bench_api: %s\n", error->text);
        exit(1);
    }
}

/* -- The chain ----------------------------------------------------------- */

/* One computation: reads a cell, writes the next one. */
struct link_of_chain {
    struct fixture *fixture;
    hd_cell *from;
    hd_cell *to;
};

static hd_status add_one(hd_run *run, void *context)
{
    const struct link_of_chain *link = context;
    int64_t number = 0;
    (void)run;
    link->fixture->runs++;
    const hd_status status = hd_cell_get_int(link->from, &number, NULL);
    return status != HD_OK ? status
                           : hd_cell_set_int(link->to, number + 1, NULL);
}

static void see(void *context, const hd_value *value)
{
    struct fixture *fixture = context;
    fixture->looks++;
    (void)hd_value_get_int(value, &fixture->seen);
}

static void make_chain(struct fixture *fixture)
{
    static struct link_of_chain links[CHAIN];
    hd_error error;
    for (unsigned i = 0; i <= CHAIN; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "cell-%u", i);
        must(hd_cell_new(fixture->runtime,
                         name,
                         NULL,
                         &fixture->cells[i],
                         &error),
             &error);
    }
    must(hd_cell_set_int(fixture->cells[0], 0, &error), &error);
    for (unsigned i = 0; i < CHAIN; i++) {
        links[i] = (struct link_of_chain){fixture,
                                          fixture->cells[i],
                                          fixture->cells[i + 1]};
        const hd_node_options options = {
            .run = add_one,
            .context = &links[i],
            .writes = &links[i].to,
            .write_count = 1,
        };
        must(hd_computation_new(fixture->runtime, &options, NULL, &error),
             &error);
    }
    must(hd_sink_new(fixture->cells[CHAIN], see, fixture, NULL, &error),
         &error);
    must(hd_runtime_settled(fixture->runtime, HD_NEVER, &error), &error);
}

static void open_stage(struct fixture *fixture, const char *directory)
{
    hd_error error;
    *fixture = (struct fixture){0};
    const hd_runtime_options options = {
        .directory = directory,
        .durability = HD_DURABLE_NORMAL,
    };
    must(hd_runtime_open(&options, &fixture->runtime, &error), &error);
}

static void close_stage(struct fixture *fixture)
{
    hd_error error;
    must(hd_runtime_close(fixture->runtime, HD_NEVER, &error), &error);
    for (unsigned i = 0; i <= CHAIN; i++) {
        hd_cell_free(fixture->cells[i]);
    }
    hd_cell_free(fixture->stream);
    hd_runtime_free(fixture->runtime);
}

static void update(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_cell_set_int(fixture->cells[0], ++fixture->round, &error),
             &error);
        must(hd_runtime_step(fixture->runtime, HD_NOW, &error), &error);
    }
}

/* Confirmed, with what it has made. */
static void update_settled(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        update(fixture, 1);
        must(hd_runtime_settled(fixture->runtime, HD_NEVER, &error), &error);
    }
}

/* The same on the scheduler. */
static void update_below(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    for (uint64_t i = 0; i < times; i++) {
        batch_begin();
        signal_set(fixture->head, ++fixture->other);
        batch_end();
    }
}

static void make_chain_below(struct fixture *fixture)
{
    graph_open();
    fixture->head = signal_new(0);
    fixture->last = fixture->head;
    for (unsigned i = 0; i < CHAIN; i++) {
        fixture->last = computed_new(add_number, 1, 1, &fixture->last);
    }
    effect_new(look, 0, 1, &fixture->last);
    graph_settle();
}

static void check_chain(struct bench *bench, const struct fixture *fixture)
{
    const uint64_t updates = (uint64_t)fixture->round + 1;
    if (fixture->seen != fixture->round + CHAIN || fixture->looks != updates ||
        fixture->runs != updates * CHAIN) {
        bench_wrong(bench,
                    "a chain of %d: %" PRId64 " after %" PRIu64
                    " updates, with %" PRIu64 " runs and %" PRIu64 " looks",
                    CHAIN,
                    fixture->seen,
                    updates,
                    fixture->runs,
                    fixture->looks);
    }
}

static void bench_chain(struct bench *bench)
{
    const char *name = "a run in a chain of 50, in memory";
    if (!bench_wants(bench, name)) {
        return;
    }
    struct fixture fixture;
    open_stage(&fixture, NULL);
    make_chain(&fixture);
    make_chain_below(&fixture);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = update,
                        .peer = update_below,
                        .ctx = &fixture,
                        .units = CHAIN + 1,
                        .bar = {BENCH_TIMES, 3},
                    });
    check_chain(bench, &fixture);
    graph_close();
    close_stage(&fixture);
}

static void bench_stored_chain(struct bench *bench)
{
    const char *name = "a run in a chain of 50, in a directory, normal";
    if (!bench_wants(bench, name)) {
        return;
    }
    char folder[] = "build/bench-api-XXXXXX";
    char file[sizeof folder + 16];
    if (mkdtemp(folder) == NULL) {
        (void)fprintf(stderr, "bench_api: cannot make a folder below build\n");
        exit(1);
    }
    struct fixture fixture;
    open_stage(&fixture, folder);
    make_chain(&fixture);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = update_settled,
                        .ctx = &fixture,
                        .units = CHAIN + 1,
                        .wall = true,
                    });
    check_chain(bench, &fixture);
    close_stage(&fixture);
    (void)snprintf(file, sizeof file, "%s/main.db", folder);
    raw_store_remove(file);
    (void)rmdir(folder);
}

/* -- Single functions ---------------------------------------------------- */

static void get(void *ctx, uint64_t times)
{
    const struct fixture *fixture = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        int64_t number;
        must(hd_cell_get_int(fixture->cells[0], &number, &error), &error);
        bench_keep((uint64_t)number);
    }
}

static void set_same(void *ctx, uint64_t times)
{
    const struct fixture *fixture = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_cell_set_int(fixture->cells[0], 7, &error), &error);
    }
}

static void set(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_cell_set_int(fixture->cells[0], ++fixture->round, &error),
             &error);
    }
}

static void step(void *ctx, uint64_t times)
{
    const struct fixture *fixture = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_runtime_step(fixture->runtime, HD_NOW, &error), &error);
    }
}

/* In memory, with nobody who looks. */
static void bench_calls(struct bench *bench)
{
    static const struct {
        const char *name;
        bench_fn *fn;
    } rows[] = {
        {"read of a cell", get},
        {"write of a cell, the same", set_same},
        {"write of a cell, another", set},
        {"step with nothing to do", step},
    };
    struct fixture fixture;
    hd_error error;
    open_stage(&fixture, NULL);
    must(hd_cell_new(fixture.runtime, "cell", NULL, &fixture.cells[0], &error),
         &error);
    must(hd_cell_set_int(fixture.cells[0], 7, &error), &error);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = rows[i].name,
                            .ours = rows[i].fn,
                            .ctx = &fixture,
                        });
    }
    close_stage(&fixture);
}

/* -- Events -------------------------------------------------------------- */

static hd_status count(hd_run *run, void *context)
{
    struct fixture *fixture = context;
    int64_t number = 0;
    (void)run;
    fixture->runs++;
    const hd_status status = hd_cell_get_int(fixture->cells[0], &number, NULL);
    return status != HD_OK
               ? status
               : hd_cell_set_int(fixture->cells[0], number + 1, NULL);
}

static void send_events(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        for (unsigned j = 0; j < EVENTS; j++) {
            must(hd_cell_send(fixture->stream, NULL, NULL, NULL, &error),
                 &error);
        }
        must(hd_runtime_idle(fixture->runtime, HD_NEVER, &error), &error);
        fixture->round += EVENTS;
    }
}

static void bench_events(struct bench *bench)
{
    const char *name = "an event with a receipt, in memory";
    if (!bench_wants(bench, name)) {
        return;
    }
    struct fixture fixture;
    hd_error error;
    open_stage(&fixture, NULL);
    must(hd_cell_new(fixture.runtime, "count", NULL, &fixture.cells[0], &error),
         &error);
    must(hd_cell_new(fixture.runtime, "stream", NULL, &fixture.stream, &error),
         &error);
    must(hd_cell_set_int(fixture.cells[0], 0, &error), &error);
    const hd_handler_options options = {
        .run = count,
        .context = &fixture,
        .reads = fixture.cells,
        .read_count = 1,
        .pure = true,
    };
    must(hd_handler_new(fixture.stream, &options, NULL, &error), &error);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = send_events,
                        .ctx = &fixture,
                        .units = EVENTS,
                    });
    int64_t counted = 0;
    must(hd_cell_get_int(fixture.cells[0], &counted, &error), &error);
    if (counted != fixture.round || fixture.runs != (uint64_t)fixture.round) {
        bench_wrong(bench,
                    "%s: %" PRId64 " of %" PRId64 " counted in %" PRIu64
                    " runs",
                    name,
                    counted,
                    fixture.round,
                    fixture.runs);
    }
    close_stage(&fixture);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "api", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "scheduler";
    bench_chain(&bench);
    bench_stored_chain(&bench);
    bench_calls(&bench);
    bench_events(&bench);
    return bench_end(&bench);
}
