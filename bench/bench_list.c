/* Lists: what an edit, a move, an addition and a deletion cost in a list of
 * 10,000 with a child an element; and what it costs that nodes come and go.
 *
 *   edits     each with the runs that it must have: the coordinator, the child,
 *             and who looks at that child. All of it counts, from the change of
 *             the list to the end of the step; in a space of its own authority
 *   nodes     100,000 computations, each with one read and one output,
 *             registered and removed */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/bench.h"
#include "runtime/cell.h"
#include "runtime/list.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/object.h"

enum {
    ELEMENTS = 10000,
    NODES = 100000,
    CELLS = 16,
};

static void stop_if(enum err err, const struct err_detail *detail)
{
    if (err != ERR_OK) {
        (void)fprintf(stderr, "bench_list: %s\n", detail->text);
        exit(1);
    }
}

static const struct err_detail no_detail = {.text = "it did not work"};

/* -- A list -------------------------------------------------------------- */

struct row;

struct board {
    struct runtime runtime;
    struct space *space;
    struct pattern *pattern;
    struct piece *piece;
    struct place *items;
    struct place *out;
    struct place *cells[CELLS]; /* items/I/n, of elements that are worked on */
    struct row *rows;           /* who looks, one an element */
    uint32_t row_count;
    uint64_t bodies;
    uint64_t looks;
    mono_ms now;
    uint32_t round;
};

struct row {
    struct board *board;
    struct place *output;
    struct node *node;
};

static enum run_result body(struct run *run,
                            void *ctx,
                            struct place *element,
                            struct value *result)
{
    struct board *board = ctx;
    const struct cell_access access = {&board->runtime, run, run->transaction};
    struct value item;
    struct err_detail detail;
    const enum err err = cell_read(&access,
                                   element,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &item,
                                   NULL,
                                   &detail);
    if (err != ERR_OK) {
        return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &detail);
    }
    const struct value number =
        value_is_object(item) ? object_field(item, "n") : VALUE_NONE;
    *result = value_int(
        value_kind(number) == VALUE_INT ? value_integer(number) * 2 : 0);
    value_unref(item);
    board->bodies++;
    return RUN_DONE;
}

static enum run_result look(struct run *run, void *ctx)
{
    const struct row *row = ctx;
    struct value value;
    if (run_read(run, row->output, READ_DEEP, READ_FOR_BOTH, &value) ==
        ERR_STALE) {
        return RUN_AGAIN;
    }
    value_unref(value);
    row->board->looks++;
    return RUN_DONE;
}

static struct value element(int64_t number)
{
    struct value item = value_empty_object();
    object_put_adopt(&item, "n", value_int(number));
    object_put_adopt(&item, "name", value_text_new("an element of the list"));
    return item;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    struct board *board = ctx;
    const struct builder_cell cell = {.name = value_text_new("items"),
                                      .initial = value_empty_array()};
    const enum err err = builder_state(builder, &cell, &board->items, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct builder_list list = {
        .name = value_text_new("out"),
        .list = board->items,
        .body = {body, board, NULL, NULL},
    };
    return builder_map(builder, &list, &board->out, detail);
}

static void step(struct board *board)
{
    runtime_step(&board->runtime, ++board->now);
}

static void put_adopt(struct board *board,
                      struct place *place,
                      struct value value)
{
    struct err_detail detail;
    struct transaction *transaction =
        transaction_begin(&board->runtime.replica, NULL);
    enum err err = transaction_put_adopt(transaction, place, value, &detail);
    if (err == ERR_OK) {
        err = transaction_commit(transaction, &detail);
    }
    transaction_release(transaction);
    stop_if(err, &detail);
}

static struct value visible(const struct place *place)
{
    return place->entity->visible.payload;
}

/* Who looks at the child of that number, from now on. */
static void add_row(struct board *board, uint32_t number)
{
    char text[48];
    (void)snprintf(text, sizeof text, "piece:p/out/%u", (unsigned)number);
    const struct value id = value_text_new(text);
    struct entity *entity;
    stop_if(entity_of(board->space, SCOPE_SPACE, id, &entity, NULL),
            &no_detail);
    value_unref(id);
    struct row *row = &board->rows[number];
    row->board = board;
    row->output = place_payload(entity);
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = look,
        .ctx = row,
        .reads = &row->output,
        .read_count = 1,
    };
    row->node = sched_register(board->runtime.sched, &spec);
}

static struct board *board_new(void)
{
    struct board *board = calloc(1, sizeof *board);
    CHECK(board != NULL);
    struct err_detail detail;
    runtime_init(&board->runtime, &(struct runtime_options){0});
    const struct space_options space = {.id = value_text_new("bench")};
    stop_if(runtime_open(&board->runtime, &space, &board->space, &detail),
            &detail);
    board->pattern = pattern_new(&(struct pattern_spec){
        .name = value_text_new("board"),
        .build = build,
        .ctx = board,
    });
    const struct piece_options options = {.name = value_text_new("p"),
                                          .pattern = board->pattern};
    stop_if(piece_start(&board->runtime, &options, &board->piece, &detail),
            &detail);
    step(board);
    return board;
}

static struct place *field_of(struct board *board, uint32_t index)
{
    struct path_segment segment = path_segment_of_index(index);
    struct place *item = place_child(board->items, segment.key);
    path_segment_release(&segment);
    struct place *field = place_child(item, value_text_new("n"));
    place_unref(item);
    return field;
}

static void fill(struct board *board)
{
    struct value list = value_empty_array();
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        list = array_push_adopt(list, element(i));
    }
    put_adopt(board, board->items, list);
    board->rows = calloc(ELEMENTS, sizeof *board->rows);
    CHECK(board->rows != NULL);
    for (uint32_t i = 0; i < CELLS; i++) {
        board->cells[i] = field_of(board, i * (ELEMENTS / CELLS));
    }
    board->row_count = ELEMENTS;
    /* The children come with the first look at the list. */
    struct value links;
    stop_if(sched_pull(board->runtime.sched, board->out, ++board->now, &links),
            &no_detail);
    value_unref(links);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        add_row(board, i);
    }
    step(board);
}

static void board_free(struct board *board)
{
    for (uint32_t i = 0; i < board->row_count; i++) {
        sched_remove(board->runtime.sched, board->rows[i].node);
        place_unref(board->rows[i].output);
    }
    for (uint32_t i = 0; i < CELLS; i++) {
        place_unref(board->cells[i]);
    }
    runtime_release(&board->runtime);
    pattern_unref(board->pattern);
    free(board->rows);
    free(board);
}

/* -- Changes ------------------------------------------------------------- */

static void edit(struct board *board, struct place *field)
{
    put_adopt(board, field, value_int((int64_t)board->round + ELEMENTS));
    step(board);
}

/* A few of them, again and again, as somebody does who works on them. */
static void edit_one(void *ctx, uint64_t times)
{
    struct board *board = ctx;
    for (uint64_t i = 0; i < times; i++) {
        board->round++;
        edit(board, board->cells[board->round % CELLS]);
    }
}

/* One after the other, none of which is in a cache. */
static void edit_any(void *ctx, uint64_t times)
{
    struct board *board = ctx;
    for (uint64_t i = 0; i < times; i++) {
        board->round++;
        struct place *field = field_of(board, board->round * 7919U % ELEMENTS);
        edit(board, field);
        place_unref(field);
    }
}

static void swap_two(void *ctx, uint64_t times)
{
    struct board *board = ctx;
    for (uint64_t i = 0; i < times; i++) {
        board->round++;
        const uint32_t a = board->round * 7919U % ELEMENTS;
        const uint32_t b = board->round * 104729U % ELEMENTS;
        struct value list = value_ref(visible(board->items));
        const struct value first = value_ref(array_at(list, a));
        const struct value second = value_ref(array_at(list, b));
        list = array_set_adopt(list, a, second);
        list = array_set_adopt(list, b, first);
        put_adopt(board, board->items, list);
        step(board);
    }
}

static void insert_and_remove(void *ctx, uint64_t times)
{
    struct board *board = ctx;
    for (uint64_t i = 0; i < times; i++) {
        board->round++;
        const struct value item = element(-(int64_t)board->round);
        struct value list = value_ref(visible(board->items));
        put_adopt(board,
                  board->items,
                  array_splice_adopt(list, 0, 0, &item, 1));
        step(board);
        list = value_ref(visible(board->items));
        put_adopt(board, board->items, array_splice_adopt(list, 0, 1, NULL, 0));
        step(board);
    }
}

static void append_and_remove(void *ctx, uint64_t times)
{
    struct board *board = ctx;
    for (uint64_t i = 0; i < times; i++) {
        board->round++;
        struct value list = value_ref(visible(board->items));
        put_adopt(board,
                  board->items,
                  array_push_adopt(list, element(-(int64_t)board->round)));
        step(board);
        list = value_ref(visible(board->items));
        put_adopt(board,
                  board->items,
                  array_splice_adopt(list, ELEMENTS, 1, NULL, 0));
        step(board);
    }
}

struct workload {
    const char *name;
    bench_fn *run;
    uint64_t bodies; /* a time */
    uint64_t all;    /* runs, a time */
    struct bench_bar bar;
};

static void check(struct bench *bench,
                  struct board *board,
                  const struct workload *change)
{
    const uint64_t bodies = board->bodies;
    const uint64_t runs = board->runtime.sched->counters.runs;
    change->run(board, 10);
    const uint64_t did = board->runtime.sched->counters.runs - runs;
    if (board->bodies - bodies != 10 * change->bodies ||
        did != 10 * change->all) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " bodies and %" PRIu64
                    " runs in ten times, not %" PRIu64 " and %" PRIu64,
                    change->name,
                    board->bodies - bodies,
                    did,
                    10 * change->bodies,
                    10 * change->all);
    }
}

static void bench_changes(struct bench *bench)
{
    static const struct workload changes[] = {
        {"list of 10,000: one edit", edit_one, 1, 3, {BENCH_AT_MOST, 5000}},
        {"list of 10,000: one edit, anywhere", edit_any, 1, 3, {0}},
        {"list of 10,000: a swap", swap_two, 0, 1, {0}},
        {"list of 10,000: in and out at the end", append_and_remove, 0, 2, {0}},
        {"list of 10,000: in and out at the front",
         insert_and_remove,
         0,
         2,
         {0}},
    };
    struct board *board = NULL;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct workload *change = &changes[i];
        if (!bench_wants(bench, change->name)) {
            continue;
        }
        if (board == NULL) {
            board = board_new();
            fill(board);
        }
        check(bench, board, change);
        (void)bench_run(bench,
                        &(struct bench_case){.name = change->name,
                                             .ours = change->run,
                                             .ctx = board,
                                             .bar = change->bar});
    }
    if (board != NULL) {
        board_free(board);
    }
}

/* A whole list comes, and is looked at, and goes. */
static void come_and_go(void *ctx, uint64_t times)
{
    (void)ctx;
    for (uint64_t i = 0; i < times; i++) {
        struct board *board = board_new();
        fill(board);
        board_free(board);
    }
}

/* -- Nodes --------------------------------------------------------------- */

struct crowd {
    struct runtime runtime;
    struct place *in;
    struct place **outs;
    struct node **nodes;
};

static enum run_result do_nothing(struct run *run, void *ctx)
{
    (void)run;
    (void)ctx;
    return RUN_DONE;
}

static void crowd_open(struct crowd *crowd)
{
    struct err_detail detail;
    struct space *space;
    runtime_init(&crowd->runtime, &(struct runtime_options){0});
    const struct space_options options = {.id = value_text_new("bench")};
    stop_if(runtime_open(&crowd->runtime, &options, &space, &detail), &detail);
    crowd->outs = calloc(NODES, sizeof(struct place *));
    crowd->nodes = calloc(NODES, sizeof(struct node *));
    CHECK(crowd->outs != NULL && crowd->nodes != NULL);
    for (uint32_t i = 0; i <= NODES; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "%u", (unsigned)i);
        const struct value id = value_text_new(text);
        struct entity *entity;
        stop_if(entity_of(space, SCOPE_SPACE, id, &entity, &detail), &detail);
        struct place *place = place_payload(entity);
        if (i == NODES) {
            crowd->in = place;
        } else {
            crowd->outs[i] = place;
        }
    }
}

static void register_and_remove(void *ctx, uint64_t times)
{
    struct crowd *crowd = ctx;
    for (uint64_t t = 0; t < times; t++) {
        for (uint32_t i = 0; i < NODES; i++) {
            const struct node_spec spec = {
                .run = do_nothing,
                .outputs = &crowd->outs[i],
                .output_count = 1,
                .reads = &crowd->in,
                .read_count = 1,
            };
            crowd->nodes[i] = sched_register(crowd->runtime.sched, &spec);
        }
        for (uint32_t i = 0; i < NODES; i++) {
            sched_remove(crowd->runtime.sched, crowd->nodes[i]);
        }
    }
}

static void crowd_close(struct crowd *crowd)
{
    for (uint32_t i = 0; i < NODES; i++) {
        place_unref(crowd->outs[i]);
    }
    place_unref(crowd->in);
    runtime_release(&crowd->runtime);
    free(crowd->outs);
    free(crowd->nodes);
}

static void bench_nodes(struct bench *bench)
{
    static const char name[] = "100,000 nodes created and removed: per node";
    if (!bench_wants(bench, name)) {
        return;
    }
    struct crowd crowd;
    crowd_open(&crowd);
    (void)bench_run(bench,
                    &(struct bench_case){.name = name,
                                         .ours = register_and_remove,
                                         .ctx = &crowd,
                                         .units = NODES});
    crowd_close(&crowd);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "list", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench_changes(&bench);
    static const char whole[] =
        "list of 10,000 created and removed: per element";
    if (bench_wants(&bench, whole)) {
        (void)bench_run(&bench,
                        &(struct bench_case){.name = whole,
                                             .ours = come_and_go,
                                             .units = ELEMENTS});
    }
    bench_nodes(&bench);
    return bench_end(&bench);
}
