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

struct stage {
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
    struct stage *stage;
    hd_cell *from;
    hd_cell *to;
};

static hd_status add_one(hd_run *run, void *context)
{
    const struct link_of_chain *link = context;
    int64_t number = 0;
    (void)run;
    link->stage->runs++;
    const hd_status status = hd_cell_get_int(link->from, &number, NULL);
    return status != HD_OK ? status
                           : hd_cell_set_int(link->to, number + 1, NULL);
}

static void see(void *context, const hd_value *value)
{
    struct stage *stage = context;
    stage->looks++;
    (void)hd_value_get_int(value, &stage->seen);
}

static void make_chain(struct stage *stage)
{
    static struct link_of_chain links[CHAIN];
    hd_error error;
    for (unsigned i = 0; i <= CHAIN; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "cell-%u", i);
        must(hd_cell_new(stage->runtime, name, NULL, &stage->cells[i], &error),
             &error);
    }
    must(hd_cell_set_int(stage->cells[0], 0, &error), &error);
    for (unsigned i = 0; i < CHAIN; i++) {
        links[i] =
            (struct link_of_chain){stage, stage->cells[i], stage->cells[i + 1]};
        const hd_node_options options = {
            .run = add_one,
            .context = &links[i],
            .writes = &links[i].to,
            .write_count = 1,
        };
        must(hd_computation_new(stage->runtime, &options, NULL, &error),
             &error);
    }
    must(hd_sink_new(stage->cells[CHAIN], see, stage, NULL, &error), &error);
    must(hd_runtime_settled(stage->runtime, HD_NEVER, &error), &error);
}

static void open_stage(struct stage *stage, const char *directory)
{
    hd_error error;
    *stage = (struct stage){0};
    const hd_runtime_options options = {
        .directory = directory,
        .durability = HD_DURABLE_NORMAL,
    };
    must(hd_runtime_open(&options, &stage->runtime, &error), &error);
}

static void close_stage(struct stage *stage)
{
    hd_error error;
    must(hd_runtime_close(stage->runtime, HD_NEVER, &error), &error);
    for (unsigned i = 0; i <= CHAIN; i++) {
        hd_cell_free(stage->cells[i]);
    }
    hd_cell_free(stage->stream);
    hd_runtime_free(stage->runtime);
}

static void update(void *ctx, uint64_t times)
{
    struct stage *stage = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_cell_set_int(stage->cells[0], ++stage->round, &error), &error);
        must(hd_runtime_step(stage->runtime, HD_NOW, &error), &error);
    }
}

/* Confirmed, with what it has made. */
static void update_settled(void *ctx, uint64_t times)
{
    struct stage *stage = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        update(stage, 1);
        must(hd_runtime_settled(stage->runtime, HD_NEVER, &error), &error);
    }
}

/* The same on the scheduler. */
static void update_below(void *ctx, uint64_t times)
{
    struct stage *stage = ctx;
    for (uint64_t i = 0; i < times; i++) {
        batch_begin();
        signal_set(stage->head, ++stage->other);
        batch_end();
    }
}

static void make_chain_below(struct stage *stage)
{
    graph_open();
    stage->head = signal_new(0);
    stage->last = stage->head;
    for (unsigned i = 0; i < CHAIN; i++) {
        stage->last = computed_new(add_number, 1, 1, &stage->last);
    }
    effect_new(look, 0, 1, &stage->last);
    graph_settle();
}

static void check_chain(struct bench *bench, const struct stage *stage)
{
    const uint64_t updates = (uint64_t)stage->round + 1;
    if (stage->seen != stage->round + CHAIN || stage->looks != updates ||
        stage->runs != updates * CHAIN) {
        bench_wrong(bench,
                    "a chain of %d: %" PRId64 " after %" PRIu64
                    " updates, with %" PRIu64 " runs and %" PRIu64 " looks",
                    CHAIN,
                    stage->seen,
                    updates,
                    stage->runs,
                    stage->looks);
    }
}

static void bench_chain(struct bench *bench)
{
    const char *name = "a run in a chain of 50, in memory";
    if (!bench_wants(bench, name)) {
        return;
    }
    struct stage stage;
    open_stage(&stage, NULL);
    make_chain(&stage);
    make_chain_below(&stage);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = update,
                        .peer = update_below,
                        .ctx = &stage,
                        .units = CHAIN + 1,
                        .bar = {BENCH_TIMES, 3},
                    });
    check_chain(bench, &stage);
    graph_close();
    close_stage(&stage);
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
    struct stage stage;
    open_stage(&stage, folder);
    make_chain(&stage);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = update_settled,
                        .ctx = &stage,
                        .units = CHAIN + 1,
                        .wall = true,
                    });
    check_chain(bench, &stage);
    close_stage(&stage);
    (void)snprintf(file, sizeof file, "%s/main.db", folder);
    raw_store_remove(file);
    (void)rmdir(folder);
}

/* -- Single functions ---------------------------------------------------- */

static void get(void *ctx, uint64_t times)
{
    const struct stage *stage = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        int64_t number;
        must(hd_cell_get_int(stage->cells[0], &number, &error), &error);
        bench_keep((uint64_t)number);
    }
}

static void set_same(void *ctx, uint64_t times)
{
    const struct stage *stage = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_cell_set_int(stage->cells[0], 7, &error), &error);
    }
}

static void set(void *ctx, uint64_t times)
{
    struct stage *stage = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_cell_set_int(stage->cells[0], ++stage->round, &error), &error);
    }
}

static void step(void *ctx, uint64_t times)
{
    const struct stage *stage = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        must(hd_runtime_step(stage->runtime, HD_NOW, &error), &error);
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
    struct stage stage;
    hd_error error;
    open_stage(&stage, NULL);
    must(hd_cell_new(stage.runtime, "cell", NULL, &stage.cells[0], &error),
         &error);
    must(hd_cell_set_int(stage.cells[0], 7, &error), &error);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = rows[i].name,
                            .ours = rows[i].fn,
                            .ctx = &stage,
                        });
    }
    close_stage(&stage);
}

/* -- Events -------------------------------------------------------------- */

static hd_status count(hd_run *run, void *context)
{
    struct stage *stage = context;
    int64_t number = 0;
    (void)run;
    stage->runs++;
    const hd_status status = hd_cell_get_int(stage->cells[0], &number, NULL);
    return status != HD_OK ? status
                           : hd_cell_set_int(stage->cells[0], number + 1, NULL);
}

static void send_events(void *ctx, uint64_t times)
{
    struct stage *stage = ctx;
    hd_error error;
    for (uint64_t i = 0; i < times; i++) {
        for (unsigned j = 0; j < EVENTS; j++) {
            must(hd_cell_send(stage->stream, NULL, NULL, NULL, &error), &error);
        }
        must(hd_runtime_idle(stage->runtime, HD_NEVER, &error), &error);
        stage->round += EVENTS;
    }
}

static void bench_events(struct bench *bench)
{
    const char *name = "an event with a receipt, in memory";
    if (!bench_wants(bench, name)) {
        return;
    }
    struct stage stage;
    hd_error error;
    open_stage(&stage, NULL);
    must(hd_cell_new(stage.runtime, "count", NULL, &stage.cells[0], &error),
         &error);
    must(hd_cell_new(stage.runtime, "stream", NULL, &stage.stream, &error),
         &error);
    must(hd_cell_set_int(stage.cells[0], 0, &error), &error);
    const hd_handler_options options = {
        .run = count,
        .context = &stage,
        .reads = stage.cells,
        .read_count = 1,
        .pure = true,
    };
    must(hd_handler_new(stage.stream, &options, NULL, &error), &error);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = send_events,
                        .ctx = &stage,
                        .units = EVENTS,
                    });
    int64_t counted = 0;
    must(hd_cell_get_int(stage.cells[0], &counted, &error), &error);
    if (counted != stage.round || stage.runs != (uint64_t)stage.round) {
        bench_wrong(bench,
                    "%s: %" PRId64 " of %" PRId64 " counted in %" PRIu64
                    " runs",
                    name,
                    counted,
                    stage.round,
                    stage.runs);
    }
    close_stage(&stage);
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
