/* Every function that takes a handle, called with none, with something else,
 * from another thread, after the end of its runtime, and with one that was
 * released: a status, and nothing else. test/e2e/abi.sh sees to it that none is
 * missing in this table. */

#include <threads.h>

#include "unit/api/fixture.h"

struct handles {
    hd_runtime *runtime;
    hd_cell *cell;
    hd_node *node;
    hd_ticket *ticket;
    hd_pattern *pattern;
    hd_piece *piece;
    hd_run *run;
    hd_builder *builder;
    hd_task *task;
    hd_inspection *inspection;
    hd_value *value; /* always a right one */
    char folder[256];
};

/* Where results go. */
struct results {
    bool boolean;
    int64_t integer;
    double number;
    char *text;
    size_t count;
    uint64_t instant;
    uint32_t attempt;
    int descriptor;
    void *user;
    hd_cell *cell;
    hd_node *node;
    hd_ticket *ticket;
    hd_piece *piece;
    hd_inspection *inspection;
    hd_value *value;
    hd_outcome outcome;
    hd_node_info info;
    hd_piece_state state;
    hd_error error;
};

static hd_status edit(hd_runtime *runtime, void *context)
{
    (void)runtime;
    (void)context;
    return HD_OK;
}

static void sink(void *context, const hd_value *value)
{
    (void)context;
    (void)value;
}

static hd_status run_it(hd_run *run, void *context)
{
    (void)run;
    (void)context;
    return HD_OK;
}

static hd_status run_element(hd_run *run, hd_cell *element, void *context)
{
    (void)run;
    (void)element;
    (void)context;
    return HD_OK;
}

static hd_status build_element(hd_builder *builder,
                               hd_cell *element,
                               void *context)
{
    (void)context;
    return hd_build_result(builder, "n", element, NULL);
}

static hd_status run_reduce(hd_run *run,
                            const hd_value *accumulator,
                            const hd_value *element,
                            void *context)
{
    (void)run;
    (void)accumulator;
    (void)element;
    (void)context;
    return HD_OK;
}

static void start_it(hd_task *task, const hd_value *input, void *context)
{
    (void)input;
    ((struct handles *)context)->task = task;
}

enum {
    KNOWS = 1,  /* answers also when its runtime is closed */
    ANYONE = 2, /* may be called from any thread */
    WITHOUT = 4 /* on a run or a builder, which are over */
};

#define E (&r->error)

/* clang-format off */
#define CALLS(X)                                                               \
    X(hd_runtime_close, 0, (h->runtime, HD_NOW, E))                            \
    X(hd_runtime_move, ANYONE, (h->runtime))                                   \
    X(hd_runtime_open_space, 0, (h->runtime, "more", E))                       \
    X(hd_runtime_step, 0, (h->runtime, HD_NOW, E))                             \
    X(hd_runtime_next_wake, 0, (h->runtime, &r->instant))                      \
    X(hd_runtime_timeout, 0, (h->runtime, &r->descriptor))                     \
    X(hd_runtime_fd, 0, (h->runtime, &r->descriptor))                          \
    X(hd_runtime_now, 0, (h->runtime, &r->instant))                            \
    X(hd_runtime_wait, 0, (h->runtime, HD_NOW, E))                             \
    X(hd_runtime_idle, 0, (h->runtime, HD_NEVER, E))                           \
    X(hd_runtime_settled, 0, (h->runtime, HD_NEVER, E))                        \
    X(hd_interrupt, ANYONE, (h->runtime))                                      \
    X(hd_runtime_edit, 0, (h->runtime, edit, NULL, E))                         \
    X(hd_runtime_add_pattern, 0, (h->runtime, h->pattern, E))                  \
    X(hd_runtime_pieces, 0, (h->runtime, NULL, &r->value, E))                  \
    X(hd_cell_new, 0, (h->runtime, "x", NULL, &r->cell, E))                    \
    X(hd_cell_new_at, 0, (h->runtime, &at, &r->cell, E))                       \
    X(hd_cell_clock, 0, (h->runtime, NULL, 1000, &r->cell, E))                 \
    X(hd_cell_child, 0, (h->cell, "/a", &r->cell, E))                          \
    X(hd_cell_resolve, 0, (h->cell, &r->cell, E))                              \
    X(hd_cell_text, 0, (h->cell, &r->text, E))                                 \
    X(hd_cell_get, 0, (h->cell, &r->value, E))                                 \
    X(hd_cell_get_bool, 0, (h->cell, &r->boolean, E))                          \
    X(hd_cell_get_int, 0, (h->cell, &r->integer, E))                           \
    X(hd_cell_get_double, 0, (h->cell, &r->number, E))                         \
    X(hd_cell_get_text, 0, (h->cell, &r->text, &r->count, E))                  \
    X(hd_cell_sample, 0, (h->cell, &r->value, E))                              \
    X(hd_cell_keys, 0, (h->cell, &r->value, E))                                \
    X(hd_cell_count, 0, (h->cell, &r->count, E))                               \
    X(hd_cell_pull, 0, (h->cell, &r->value, E))                                \
    X(hd_cell_set, 0, (h->cell, h->value, E))                                  \
    X(hd_cell_set_bool, 0, (h->cell, true, E))                                 \
    X(hd_cell_set_int, 0, (h->cell, 1, E))                                     \
    X(hd_cell_set_double, 0, (h->cell, 1.5, E))                                \
    X(hd_cell_set_text, 0, (h->cell, "a", 1, E))                               \
    X(hd_cell_delete, 0, (h->cell, E))                                         \
    X(hd_cell_append, 0, (h->cell, h->value, E))                               \
    X(hd_cell_add_unique, 0, (h->cell, h->value, E))                           \
    X(hd_cell_remove, 0, (h->cell, h->value, E))                               \
    X(hd_cell_increment, 0, (h->cell, 1, E))                                   \
    X(hd_cell_increment_double, 0, (h->cell, 1.5, E))                          \
    X(hd_cell_link, 0, (h->cell, &r->value, E))                                \
    X(hd_cell_set_link, 0, (h->cell, h->cell, E))                              \
    X(hd_cell_set_schema, 0, (h->cell, NULL, false, E))                        \
    X(hd_cell_set_payload_schema, 0, (h->cell, NULL, false, E))                \
    X(hd_cell_set_labels, 0, (h->cell, h->value, E))                           \
    X(hd_cell_labels, 0, (h->cell, &r->value, E))                              \
    X(hd_cell_send, 0, (h->cell, h->value, NULL, &r->ticket, E))               \
    X(hd_cell_cancel, 0, (h->cell, "t", NULL, E))                              \
    X(hd_computation_new, 0, (h->runtime, &computation, &r->node, E))          \
    X(hd_effect_new, 0, (h->runtime, &effect, &r->node, E))                    \
    X(hd_sink_new, 0, (h->cell, sink, NULL, &r->node, E))                      \
    X(hd_sink_new_with, 0, (h->cell, &watch, &r->node, E))                     \
    X(hd_handler_new, 0, (h->cell, &handler, &r->node, E))                     \
    X(hd_node_look, 0, (h->node, &r->info))                                    \
    X(hd_node_invalidate, 0, (h->node))                                        \
    X(hd_node_set_debounce, 0, (h->node, 1))                                   \
    X(hd_node_set_throttle, 0, (h->node, 1))                                   \
    X(hd_node_remove, 0, (h->node))                                            \
    X(hd_ticket_outcome, KNOWS, (h->ticket, &r->outcome))                      \
    X(hd_ticket_id, KNOWS, (h->ticket, &r->text))                              \
    X(hd_ticket_receipt, KNOWS, (h->ticket, &r->value))                        \
    X(hd_ticket_error, KNOWS, (h->ticket, E))                                  \
    X(hd_piece_start, 0, (h->runtime, h->pattern, "p", NULL, &r->piece, E))    \
    X(hd_piece_find, 0, (h->runtime, NULL, "p", &r->piece, E))                 \
    X(hd_piece_look, 0, (h->piece, &r->state, E))                              \
    X(hd_piece_cell, 0, (h->piece, "", &r->cell, E))                           \
    X(hd_piece_get, 0, (h->piece, "", &r->value, E))                           \
    X(hd_piece_send, 0, (h->piece, "s", h->value, NULL, &r->ticket, E))        \
    X(hd_piece_node, 0, (h->piece, "n", &r->node, E))                          \
    X(hd_piece_stop, 0, (h->piece, E))                                         \
    X(hd_piece_remove, 0, (h->piece, E))                                       \
    X(hd_run_fail, WITHOUT, (h->run, HD_TYPE, NULL))                           \
    X(hd_run_return, WITHOUT, (h->run, h->value))                              \
    X(hd_run_payload, WITHOUT, (h->run, &r->value))                            \
    X(hd_run_attempt, WITHOUT, (h->run, &r->attempt))                          \
    X(hd_run_new_document, WITHOUT, (h->run, &r->text))                        \
    X(hd_run_launch, WITHOUT, (h->run, h->pattern, NULL, &r->value, E))        \
    X(hd_run_launch_with, WITHOUT,                                             \
      (h->run, h->pattern, NULL, NULL, &r->value, E))                          \
    X(hd_build_state, WITHOUT, (h->builder, "n", NULL, &r->cell, E))           \
    X(hd_build_schema, WITHOUT, (h->builder, "n", h->value, E))                \
    X(hd_build_argument, WITHOUT, (h->builder, "n", NULL, &r->cell, E))        \
    X(hd_build_state_scoped,                                                   \
      WITHOUT,                                                                 \
      (h->builder, "n", HD_SCOPE_USER, NULL, &r->cell, E))                     \
    X(hd_build_computed, WITHOUT, (h->builder, "n", &effect, &r->cell, E))     \
    X(hd_build_effect, WITHOUT, (h->builder, "n", &effect, E))                 \
    X(hd_build_handler, WITHOUT, (h->builder, "n", &handler, &r->cell, E))     \
    X(hd_build_migration, WITHOUT, (h->builder, 2, run_it, NULL, NULL, E))     \
    X(hd_run_former, WITHOUT, (h->run, "n", &r->value, E))                     \
    X(hd_run_drop, WITHOUT, (h->run, "n", E))                                  \
    X(hd_build_map, WITHOUT, (h->builder, "n", &list, &r->cell, E))            \
    X(hd_build_filter, WITHOUT, (h->builder, "n", &list, &r->cell, E))         \
    X(hd_build_flat_map, WITHOUT, (h->builder, "n", &list, &r->cell, E))       \
    X(hd_build_map_pieces, WITHOUT, (h->builder, "n", &pieces, &r->cell, E))   \
    X(hd_build_reduce, WITHOUT, (h->builder, "n", &reduce, &r->cell, E))       \
    X(hd_build_if_else, WITHOUT,                                               \
      (h->builder, "n", h->cell, h->cell, h->cell, &r->cell, E))               \
    X(hd_build_when, WITHOUT,                                                  \
      (h->builder, "n", h->cell, h->cell, &r->cell, E))                        \
    X(hd_build_task, WITHOUT, (h->builder, "n", &task, &r->cell, E))           \
    X(hd_task_finish, 0, (h->task, h->value, E))                               \
    X(hd_task_fail, 0, (h->task, HD_TYPE, NULL, E))                            \
    X(hd_task_retry, 0, (h->task, HD_TYPE, NULL, 0, E))                        \
    X(hd_task_key, KNOWS, (h->task, &r->text))                                 \
    X(hd_task_set_user, KNOWS, (h->task, NULL))                                \
    X(hd_task_user, KNOWS, (h->task, &r->user))                                \
    X(hd_build_piece, WITHOUT,                                                 \
      (h->builder, "n", h->pattern, NULL, &r->cell, E))                        \
    X(hd_build_piece_in, WITHOUT,                                              \
      (h->builder, "s", "n", h->pattern, NULL, &r->cell, E))                   \
    X(hd_build_result, WITHOUT, (h->builder, "n", h->cell, E))                 \
    X(hd_build_result_value, WITHOUT, (h->builder, "n", h->value, E))          \
    X(hd_runtime_nodes, 0, (h->runtime, NULL, &r->value, E))                   \
    X(hd_runtime_graph, 0, (h->runtime, NULL, &r->value, E))                   \
    X(hd_runtime_statistics, 0, (h->runtime, &r->value, E))                    \
    X(hd_node_why, 0, (h->node, &r->value, E))                                 \
    X(hd_node_why_not, 0, (h->node, &r->value, E))                             \
    X(hd_cell_why, 0, (h->cell, &r->value, E))                                 \
    X(hd_inspection_new, 0, (h->runtime, NULL, &r->inspection, E))             \
    X(hd_inspection_pieces, 0, (h->inspection, &r->value, E))                  \
    X(hd_inspection_graph, 0, (h->inspection, "piece", &r->value, E))          \
    X(hd_inspection_why, 0, (h->inspection, &question, &r->value, E))          \
    X(hd_inspection_why_not, 0, (h->inspection, &question, &r->value, E))      \
    X(hd_inspection_log, 0, (h->inspection, NULL, &r->value, E))               \
    X(hd_inspection_show, 0, (h->inspection, "piece", NULL, 0, &r->value, E))
/* clang-format on */

static hd_status call(size_t number, const struct handles *h, struct results *r)
{
    const hd_address at = {.document = "x"};
    const hd_node_options effect = {.run = run_it};
    const hd_node_options computation = {
        .run = run_it,
        .writes = &h->cell,
        .write_count = 1,
    };
    const hd_handler_options handler = {.run = run_it};
    const hd_sink_options watch = {.sink = sink};
    const hd_list_options list = {.list = h->cell, .run = run_element};
    const hd_pieces_options pieces = {.list = h->cell, .build = build_element};
    const hd_reduce_options reduce = {
        .list = h->cell,
        .initial = h->value,
        .run = run_reduce,
    };
    const hd_task_options task = {.input = h->cell, .start = start_it};
    const hd_question question = {.piece = "piece", .node = "task"};
    size_t row = 0;
#define X(name, flags, arguments) \
    if (row++ == number) {        \
        return name arguments;    \
    }
    CALLS(X)
#undef X
    return HD_OK;
}

static const struct {
    const char *name;
    unsigned flags;
} rows[] = {
#define X(name, flags, arguments) {#name, flags},
    CALLS(X)
#undef X
};

enum {
    ROWS = sizeof rows / sizeof rows[0]
};

static hd_status build(hd_builder *builder, void *context)
{
    struct handles *handles = context;
    handles->builder = builder;
    const hd_task_options task = {
        .input = handles->cell,
        .start = start_it,
        .context = handles,
    };
    hd_cell *output = NULL;
    hd_status status = hd_build_task(builder, "task", &task, &output, NULL);
    if (status == HD_OK) {
        status = hd_build_result(builder, "task", output, NULL);
    }
    return status;
}

static hd_status keep_run(hd_run *run, void *context)
{
    ((struct handles *)context)->run = run;
    return HD_OK;
}

/* One of each; the run and the builder are over. */
static void handles_open(struct fixture *fixture, struct handles *handles)
{
    *handles = (struct handles){.value = value_of("1")};
    kit_folder_new(handles->folder, sizeof handles->folder);
    fixture_open(fixture, handles->folder, 1);
    handles->runtime = fixture->runtime;
    handles->cell = cell_of(fixture, "x", NULL);
    const hd_node_options node = {.run = keep_run, .context = handles};
    EXPECT_INT(hd_effect_new(fixture->runtime, &node, &handles->node, NULL),
               HD_OK);
    EXPECT_INT(hd_cell_send(handles->cell, NULL, NULL, &handles->ticket, NULL),
               HD_OK);
    EXPECT_INT(hd_pattern_new("pattern",
                              NULL,
                              build,
                              handles,
                              NULL,
                              &handles->pattern,
                              NULL),
               HD_OK);
    EXPECT_INT(hd_piece_start(fixture->runtime,
                              handles->pattern,
                              "piece",
                              NULL,
                              &handles->piece,
                              NULL),
               HD_OK);
    fixture_settle(fixture);
    EXPECT(handles->run != NULL);
    EXPECT(handles->builder != NULL);
    hd_value *pending = NULL;
    set_json(handles->cell, "1");
    EXPECT_INT(hd_piece_get(handles->piece, "/task", &pending, NULL), HD_OK);
    hd_value_unref(pending);
    fixture_settle(fixture);
    EXPECT(handles->task != NULL);
    EXPECT_INT(
        hd_inspection_new(fixture->runtime, NULL, &handles->inspection, NULL),
        HD_OK);
}

static void handles_free(struct handles *handles)
{
    hd_cell_free(handles->cell);
    hd_node_free(handles->node);
    hd_ticket_free(handles->ticket);
    hd_pattern_free(handles->pattern);
    hd_piece_free(handles->piece);
    hd_task_free(handles->task);
    hd_inspection_free(handles->inspection);
    hd_value_unref(handles->value);
    hd_runtime_free(handles->runtime);
    kit_folder_remove(handles->folder);
}

static void expect_refused(size_t row,
                           const struct handles *handles,
                           hd_status want)
{
    struct results results = {0};
    const hd_status status = call(row, handles, &results);
    if (status != want) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s is %s, expected %s",
                        rows[row].name,
                        hd_status_name(status),
                        hd_status_name(want));
    }
    EXPECT(results.cell == NULL);
    EXPECT(results.node == NULL);
    EXPECT(results.ticket == NULL);
    EXPECT(results.piece == NULL);
    EXPECT(results.inspection == NULL);
    EXPECT(results.value == NULL);
    EXPECT(results.text == NULL);
}

TEST(no_handle_is_an_argument_that_is_missing)
{
    struct fixture fixture;
    struct handles right;
    handles_open(&fixture, &right);
    const struct handles none = {.value = right.value};
    for (size_t i = 0; i < ROWS; i++) {
        expect_refused(i, &none, HD_ARGUMENT);
    }
    hd_cell_free(NULL);
    hd_node_free(NULL);
    hd_ticket_free(NULL);
    hd_pattern_free(NULL);
    hd_piece_free(NULL);
    hd_task_free(NULL);
    hd_inspection_free(NULL);
    hd_runtime_free(NULL);
    handles_free(&right);
}

TEST(something_else_is_misuse)
{
    struct fixture fixture;
    struct handles right;
    handles_open(&fixture, &right);
    void *cell = right.cell;
    void *node = right.node;
    const struct handles wrong = {
        .runtime = cell,
        .cell = node,
        .node = cell,
        .ticket = cell,
        .pattern = cell,
        .piece = cell,
        .run = cell,
        .builder = cell,
        .task = cell,
        .inspection = cell,
        .value = right.value,
    };
    for (size_t i = 0; i < ROWS; i++) {
        expect_refused(i, &wrong, HD_MISUSE);
    }
    hd_cell_free(node);
    hd_node_free(cell);
    hd_ticket_free(cell);
    hd_pattern_free(cell);
    hd_piece_free(cell);
    hd_task_free(cell);
    hd_inspection_free(cell);
    hd_runtime_free(cell);
    expect_json(right.cell, "1");
    handles_free(&right);
}

static int call_all(void *context)
{
    const struct handles *right = context;
    for (size_t i = 0; i < ROWS; i++) {
        if ((rows[i].flags & ANYONE) == 0) {
            expect_refused(i, right, HD_MISUSE);
        }
    }
    hd_cell_free(right->cell);
    hd_node_free(right->node);
    hd_ticket_free(right->ticket);
    hd_pattern_free(right->pattern);
    hd_piece_free(right->piece);
    hd_task_free(right->task);
    hd_inspection_free(right->inspection);
    hd_runtime_free(right->runtime);
    return 0;
}

TEST(another_thread_is_misuse)
{
    struct fixture fixture;
    struct handles right;
    handles_open(&fixture, &right);
    thrd_t thread;
    EXPECT_INT(thrd_create(&thread, call_all, &right), thrd_success);
    EXPECT_INT(thrd_join(thread, NULL), thrd_success);
    expect_json(right.cell, "1");
    handles_free(&right);
}

TEST(what_has_ended_is_closed)
{
    struct fixture fixture;
    struct handles right;
    handles_open(&fixture, &right);
    EXPECT_INT(hd_runtime_close(right.runtime, HD_NEVER, NULL), HD_OK);
    for (size_t i = 0; i < ROWS; i++) {
        if ((rows[i].flags & KNOWS) == 0) {
            const bool over = (rows[i].flags & WITHOUT) != 0;
            expect_refused(i, &right, over ? HD_MISUSE : HD_CLOSED);
        }
    }
    struct results results = {0};
    EXPECT_INT(hd_ticket_outcome(right.ticket, &results.outcome), HD_OK);
    EXPECT_INT(results.outcome, HD_DROPPED);
    handles_free(&right);
}

/* -- Released ------------------------------------------------------------ */

/* All of them but the runtime, which may have the pattern still. */
static void release_handles(const struct handles *handles)
{
    hd_cell_free(handles->cell);
    hd_node_free(handles->node);
    hd_ticket_free(handles->ticket);
    hd_pattern_free(handles->pattern);
    hd_piece_free(handles->piece);
    hd_task_free(handles->task);
    hd_inspection_free(handles->inspection);
}

TEST(what_was_released_is_misuse)
{
    struct fixture other;
    struct fixture fixture;
    struct handles right;
    fixture_open(&other, NULL, 2);
    hd_cell *keeper = cell_of(&other, "x", NULL); /* of the record only */
    handles_open(&fixture, &right);
    release_handles(&right);
    fixture_close(&other);
    struct handles gone = right;
    gone.runtime = other.runtime;
    for (size_t i = 0; i < ROWS; i++) {
        expect_refused(i, &gone, HD_MISUSE);
    }
    release_handles(&gone); /* again: nothing happens */
    hd_runtime_free(gone.runtime);
    hd_error error;
    EXPECT_INT(hd_cell_delete(right.cell, &error), HD_MISUSE);
    EXPECT_TEXT(error.text, "'cell' was released");
    EXPECT_INT(hd_runtime_step(other.runtime, HD_NOW, &error), HD_MISUSE);
    EXPECT_TEXT(error.text, "'runtime' was released");
    EXPECT_INT(hd_runtime_add_pattern(fixture.runtime, right.pattern, &error),
               HD_MISUSE);
    EXPECT_TEXT(error.text, "'pattern' was released");
    EXPECT_INT(hd_build_state(right.builder, "n", NULL, &gone.cell, &error),
               HD_MISUSE);
    EXPECT_TEXT(error.text,
                "'builder' was valid only during a call that has "
                "returned");
    hd_cell_free(keeper);
    hd_value_unref(right.value);
    fixture_close(&fixture);
    kit_folder_remove(right.folder);
}

TEST(what_was_released_is_misuse_also_after_its_runtime)
{
    struct fixture fixture;
    struct handles right;
    handles_open(&fixture, &right);
    hd_cell *keeper = cell_of(&fixture, "y", NULL);
    release_handles(&right);
    fixture_close(&fixture);
    for (size_t i = 0; i < ROWS; i++) {
        expect_refused(i, &right, HD_MISUSE);
    }
    EXPECT_INT(hd_cell_delete(keeper, NULL), HD_CLOSED);
    hd_cell_free(keeper);
    hd_value_unref(right.value);
    kit_folder_remove(right.folder);
}

TEST(a_released_handle_is_told_apart_from_the_next_ones)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *first = cell_of(&fixture, "x", NULL);
    hd_cell_free(first);
    for (unsigned i = 0; i < 64; i++) {
        hd_cell *next = cell_of(&fixture, "x", NULL);
        EXPECT(next != first);
        EXPECT_INT(hd_cell_delete(first, NULL), HD_MISUSE);
        hd_cell_free(next);
    }
    fixture_close(&fixture);
}

TEST(what_is_kept_of_released_handles_is_bounded)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    fixture_settle(&fixture);
    for (unsigned i = 0; i < 1000; i++) {
        hd_cell_free(cell_of(&fixture, "x", NULL));
    }
    const uint64_t before = test_blocks_alive();
    for (unsigned i = 0; i < 1000; i++) {
        hd_cell_free(cell_of(&fixture, "x", NULL));
    }
    EXPECT_EQ(test_blocks_alive(), before);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

/* Its event goes on without it, and is told of with a ticket that is lent. */
struct told {
    unsigned calls;
    hd_outcome outcome;
    hd_ticket *ticket;
};

static void note_done(void *context, hd_ticket *ticket)
{
    struct told *told = context;
    told->calls++;
    told->ticket = ticket;
    EXPECT_INT(hd_ticket_outcome(ticket, &told->outcome), HD_OK);
    hd_ticket_free(ticket); /* is not the callee's: nothing happens */
    EXPECT_INT(hd_ticket_outcome(ticket, &told->outcome), HD_OK);
}

TEST(a_ticket_may_be_released_twice_while_its_event_waits)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *stream = cell_of(&fixture, "s", NULL);
    const hd_handler_options handler = {.run = run_it};
    struct told told = {0};
    const hd_send_options options = {.done = note_done, .context = &told};
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_handler_new(stream, &handler, NULL, NULL), HD_OK);
    EXPECT_INT(hd_cell_send(stream, NULL, &options, &ticket, NULL), HD_OK);
    hd_ticket_free(ticket);
    hd_ticket_free(ticket);
    EXPECT_INT(hd_ticket_outcome(ticket, &told.outcome), HD_MISUSE);
    EXPECT_INT(hd_cell_send(stream, NULL, &options, NULL, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(told.calls, 2);
    EXPECT_INT(told.outcome, HD_DONE);
    EXPECT_INT(hd_ticket_outcome(ticket, &told.outcome), HD_MISUSE);
    EXPECT_INT(hd_ticket_outcome(told.ticket, &told.outcome), HD_MISUSE);
    hd_cell_free(stream);
    fixture_close(&fixture);
}

/* -- Inside an edit ------------------------------------------------------ */

static hd_status call_inside(hd_runtime *runtime, void *context)
{
    const struct handles *right = context;
    (void)runtime;
    static const char *const toplevel[] = {
        "hd_runtime_close",
        "hd_runtime_move",
        "hd_runtime_open_space",
        "hd_runtime_step",
        "hd_runtime_next_wake",
        "hd_runtime_timeout",
        "hd_runtime_wait",
        "hd_runtime_idle",
        "hd_runtime_settled",
        "hd_runtime_edit",
        "hd_runtime_add_pattern",
        "hd_runtime_pieces",
        "hd_cell_pull",
        "hd_cell_set_schema",
        "hd_cell_set_payload_schema",
        "hd_computation_new",
        "hd_effect_new",
        "hd_sink_new",
        "hd_sink_new_with",
        "hd_handler_new",
        "hd_node_invalidate",
        "hd_node_set_debounce",
        "hd_node_set_throttle",
        "hd_node_remove",
        "hd_piece_start",
        "hd_piece_cell",
        "hd_piece_get",
        "hd_piece_send",
        "hd_piece_stop",
        "hd_piece_remove",
        "hd_task_finish",
        "hd_task_fail",
        "hd_task_retry",
        "hd_runtime_nodes",
        "hd_runtime_graph",
        "hd_runtime_statistics",
        "hd_node_why",
        "hd_node_why_not",
        "hd_cell_why",
        "hd_inspection_new",
        "hd_inspection_pieces",
        "hd_inspection_graph",
        "hd_inspection_why",
        "hd_inspection_why_not",
        "hd_inspection_log",
        "hd_inspection_show",
    };
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < sizeof toplevel / sizeof toplevel[0]; j++) {
            if (strcmp(rows[i].name, toplevel[j]) == 0) {
                expect_refused(i, right, HD_MISUSE);
            }
        }
    }
    hd_runtime_free(right->runtime);
    return HD_OK;
}

TEST(what_is_for_the_ground_is_misuse_inside_an_edit)
{
    struct fixture fixture;
    struct handles right;
    handles_open(&fixture, &right);
    EXPECT_INT(hd_runtime_edit(right.runtime, call_inside, &right, NULL),
               HD_OK);
    handles_free(&right);
}

/* -- The other arguments ------------------------------------------------- */

TEST(results_need_a_place)
{
    struct fixture fixture;
    struct handles h;
    handles_open(&fixture, &h);
    hd_error error;
    EXPECT_INT(hd_runtime_open(NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_next_wake(h.runtime, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_timeout(h.runtime, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_fd(h.runtime, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_now(h.runtime, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_edit(h.runtime, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_pieces(h.runtime, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_new(h.runtime, "x", NULL, NULL, &error), HD_ARGUMENT);
    hd_cell *child = h.cell;
    EXPECT_INT(hd_cell_new_at(h.runtime, NULL, &child, &error), HD_ARGUMENT);
    EXPECT(child == NULL);
    child = h.cell;
    EXPECT_INT(hd_cell_child(h.cell, "/a", NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_child(h.cell, NULL, &child, &error), HD_ARGUMENT);
    EXPECT(child == NULL);
    EXPECT_INT(hd_cell_resolve(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_text(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_get(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_get_bool(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_get_int(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_get_double(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_get_text(h.cell, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_sample(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_keys(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_count(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_pull(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_set(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_set_text(h.cell, NULL, 0, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_set_text(h.cell, "\xFF", 1, &error), HD_SYNTAX);
    EXPECT_INT(hd_cell_set_text(h.cell, "a", SIZE_MAX / 2, &error),
               HD_LIMIT_STRING);
    EXPECT_EQ(error.limit, 16 * 1024 * 1024);
    EXPECT_INT(hd_cell_append(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_add_unique(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_remove(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_link(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_set_link(h.cell, NULL, &error), HD_ARGUMENT);
    handles_free(&h);
}

TEST(answers_to_questions_need_a_place)
{
    struct fixture fixture;
    struct handles h;
    handles_open(&fixture, &h);
    const hd_question question = {.piece = "piece", .node = "task"};
    hd_error error;
    EXPECT_INT(hd_runtime_nodes(h.runtime, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'nodes'");
    EXPECT_INT(hd_runtime_graph(h.runtime, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_statistics(h.runtime, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_node_why(h.node, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_node_why_not(h.node, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_why(h.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_inspection_new(h.runtime, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_inspection_pieces(h.inspection, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_inspection_graph(h.inspection, "piece", NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_inspection_why(h.inspection, &question, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_inspection_why_not(h.inspection, &question, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_inspection_log(h.inspection, NULL, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_inspection_show(h.inspection, "piece", NULL, 0, NULL, &error),
               HD_ARGUMENT);
    handles_free(&h);
}

TEST(options_and_names_are_needed)
{
    struct fixture fixture;
    struct handles h;
    handles_open(&fixture, &h);
    hd_error error;
    EXPECT_INT(hd_effect_new(h.runtime, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_sink_new(h.cell, NULL, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_sink_new_with(h.cell, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_handler_new(h.cell, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_node_look(h.node, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_ticket_outcome(h.ticket, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_ticket_id(h.ticket, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_ticket_receipt(h.ticket, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_ticket_error(h.ticket, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_runtime_add_pattern(h.runtime, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_piece_start(h.runtime, h.pattern, NULL, NULL, NULL, &error),
               HD_ARGUMENT);
    const hd_piece_options list = {.arguments = h.value};
    EXPECT_INT(hd_piece_start(h.runtime, h.pattern, "q", &list, NULL, &error),
               HD_TYPE);
    EXPECT_INT(hd_piece_find(h.runtime, NULL, "p", NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_piece_look(h.piece, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_piece_cell(h.piece, "", NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_piece_get(h.piece, "", NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_piece_send(h.piece, NULL, NULL, NULL, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_piece_send(h.piece, "none", NULL, NULL, NULL, &error),
               HD_NOT_FOUND);
    EXPECT_TEXT(error.address, "piece");
    EXPECT_INT(hd_piece_node(h.piece, "n", NULL, &error), HD_ARGUMENT);
    hd_node *node = h.node;
    EXPECT_INT(hd_piece_node(h.piece, "n", &node, &error), HD_NOT_FOUND);
    EXPECT(node == NULL);
    EXPECT_INT(hd_task_user(h.task, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_task_fail(h.task, HD_OK, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_task_fail(h.task, (hd_status)9999, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_task_fail(h.task, HD_IO, "\xFF", &error), HD_SYNTAX);
    EXPECT_INT(hd_task_retry(h.task, HD_OK, NULL, 0, &error), HD_ARGUMENT);
    EXPECT_INT(hd_task_key(h.task, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_run_payload(h.run, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_run_attempt(h.run, NULL), HD_ARGUMENT);
    EXPECT_INT(hd_run_new_document(h.run, NULL), HD_ARGUMENT);
    handles_free(&h);
}
