/* Computations, effects and sinks through the public header. */

#include <string.h>

#include "unit/api/fixture.h"

/* A function that adds up two cells, or fails. */
struct sum {
    hd_cell *a;
    hd_cell *b;
    hd_cell *out;
    unsigned calls;
    unsigned released;
    const char *fails;
    hd_run *kept;
    hd_status tried[4];
};

static hd_status add(hd_run *run, void *context)
{
    struct sum *sum = context;
    sum->calls++;
    sum->kept = run;
    int64_t a = 0;
    int64_t b = 0;
    hd_status status = hd_cell_get_int(sum->a, &a, NULL);
    if (status == HD_OK) {
        status = hd_cell_get_int(sum->b, &b, NULL);
    }
    if (status != HD_OK) {
        return status;
    }
    if (sum->fails != NULL) {
        return hd_run_fail(run, HD_GIVEN_UP, sum->fails);
    }
    return hd_cell_set_int(sum->out, a + b, NULL);
}

static void count_release(void *context)
{
    ((struct sum *)context)->released++;
}

/* What an effect has seen. */
struct seen {
    hd_cell *cell;
    unsigned calls;
    int64_t last;
};

static hd_status see(hd_run *run, void *context)
{
    (void)run;
    struct seen *seen = context;
    seen->calls++;
    const hd_status status = hd_cell_get_int(seen->cell, &seen->last, NULL);
    return status == HD_NOT_FOUND ? HD_OK : status;
}

static hd_node *computation(struct fixture *fixture, struct sum *sum)
{
    hd_node *node = NULL;
    hd_error error;
    const hd_node_options options = {
        .name = "sum",
        .run = add,
        .context = sum,
        .release = count_release,
        .writes = &sum->out,
        .write_count = 1,
    };
    EXPECT_INT(hd_computation_new(fixture->runtime, &options, &node, &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    return node;
}

static hd_node *effect(struct fixture *fixture, struct seen *seen)
{
    hd_node *node = NULL;
    hd_error error;
    const hd_node_options options = {
        .name = "see",
        .run = see,
        .context = seen,
        .reads = &seen->cell,
        .read_count = 1,
    };
    EXPECT_INT(hd_effect_new(fixture->runtime, &options, &node, &error), HD_OK);
    return node;
}

static void sum_open(struct fixture *fixture, struct sum *sum)
{
    fixture_open(fixture, NULL, 1);
    *sum = (struct sum){
        .a = cell_of(fixture, "a", NULL),
        .b = cell_of(fixture, "b", NULL),
        .out = cell_of(fixture, "out", NULL),
    };
    EXPECT_INT(hd_cell_set_int(sum->a, 1, NULL), HD_OK);
    EXPECT_INT(hd_cell_set_int(sum->b, 2, NULL), HD_OK);
}

static void sum_close(struct fixture *fixture, struct sum *sum)
{
    hd_cell_free(sum->a);
    hd_cell_free(sum->b);
    hd_cell_free(sum->out);
    fixture_close(fixture);
}

TEST(a_computation_runs_only_when_somebody_looks)
{
    struct fixture fixture;
    struct sum sum;
    sum_open(&fixture, &sum);
    hd_node *node = computation(&fixture, &sum);
    fixture_settle(&fixture);
    EXPECT_EQ(sum.calls, 0);
    hd_node_info info;
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_INT(info.kind, HD_COMPUTATION);
    EXPECT_INT(info.state, HD_NEVER_RAN);
    EXPECT(!info.live);

    struct seen seen = {.cell = sum.out};
    hd_node *looks = effect(&fixture, &seen);
    fixture_settle(&fixture);
    EXPECT_EQ(sum.calls, 1);
    EXPECT_EQ(seen.calls, 1);
    EXPECT_INT(seen.last, 3);
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_INT(info.state, HD_CLEAN);
    EXPECT(info.live);
    EXPECT_EQ(info.runs, 1);

    /* One change, one run each; none if the sum stays. */
    EXPECT_INT(hd_cell_set_int(sum.a, 5, NULL), HD_OK);
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_INT(info.state, HD_INVALID);
    fixture_settle(&fixture);
    EXPECT_EQ(sum.calls, 2);
    EXPECT_INT(seen.last, 7);
    EXPECT_EQ(seen.calls, 2);
    EXPECT_INT(hd_cell_set_int(sum.a, 4, NULL), HD_OK);
    EXPECT_INT(hd_cell_set_int(sum.b, 3, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(sum.calls, 3);
    EXPECT_EQ(seen.calls, 2);

    /* Nobody looks any more. */
    EXPECT_INT(hd_node_remove(looks), HD_OK);
    EXPECT_INT(hd_node_remove(looks), HD_CLOSED);
    EXPECT_INT(hd_node_look(looks, &info), HD_OK);
    EXPECT_INT(info.state, HD_REMOVED);
    EXPECT_INT(hd_cell_set_int(sum.a, 0, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(sum.calls, 3);
    hd_value *pulled = NULL;
    EXPECT_INT(hd_cell_pull(sum.out, &pulled, NULL), HD_OK);
    expect_value(pulled, "3");
    hd_value_unref(pulled);
    EXPECT_EQ(sum.calls, 4);

    EXPECT_INT(hd_node_remove(node), HD_OK);
    EXPECT_EQ(sum.released, 1);
    hd_node_free(looks);
    hd_node_free(node);
    sum_close(&fixture, &sum);
    EXPECT_EQ(sum.released, 1);
}

TEST(a_node_is_there_without_its_handle_and_goes_with_the_runtime)
{
    struct fixture fixture;
    struct sum sum;
    sum_open(&fixture, &sum);
    hd_node_free(computation(&fixture, &sum));
    struct seen seen = {.cell = sum.out};
    hd_node *looks = effect(&fixture, &seen);
    fixture_settle(&fixture);
    EXPECT_INT(seen.last, 3);
    EXPECT_EQ(sum.released, 0);
    EXPECT_INT(hd_runtime_close(fixture.runtime, HD_NOW, NULL), HD_OK);
    EXPECT_EQ(sum.released, 1);
    hd_node_info info;
    EXPECT_INT(hd_node_look(looks, &info), HD_CLOSED);
    hd_node_free(looks);
    sum_close(&fixture, &sum);
}

TEST(a_run_that_fails_leaves_nothing_and_is_reported)
{
    struct fixture fixture;
    struct sum sum;
    sum_open(&fixture, &sum);
    sum.fails = "the loom is broken";
    hd_node *node = computation(&fixture, &sum);
    struct seen seen = {.cell = sum.out};
    hd_node *looks = effect(&fixture, &seen);
    fixture_settle(&fixture);
    expect_json(sum.out, NULL);
    EXPECT(fixture.reports >= 1);
    EXPECT_INT(fixture.reported.status, HD_GIVEN_UP);
    EXPECT_TEXT(fixture.reported.text, "the loom is broken");
    EXPECT_TEXT(fixture.reported.address, "sum");
    hd_node_info info;
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_EQ(info.runs, 0);

    /* What it read wakes it again. */
    sum.fails = NULL;
    EXPECT_INT(hd_cell_set_int(sum.a, 2, NULL), HD_OK);
    fixture_settle(&fixture);
    expect_json(sum.out, "4");
    hd_node_free(node);
    hd_node_free(looks);
    sum_close(&fixture, &sum);
}

static hd_status returns_a_status(hd_run *run, void *context)
{
    (void)run;
    (void)context;
    return HD_TYPE;
}

TEST(a_status_without_a_sentence_gets_one)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    const hd_node_options options = {.run = returns_a_status};
    EXPECT_INT(hd_effect_new(fixture.runtime, &options, NULL, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(fixture.reported.status, HD_TYPE);
    EXPECT_CONTAINS(fixture.reported.text, "HD_TYPE");
    fixture_close(&fixture);
}

TEST(a_run_that_is_over_is_refused)
{
    struct fixture fixture;
    struct sum sum;
    sum_open(&fixture, &sum);
    hd_node *node = computation(&fixture, &sum);
    hd_value *pulled = NULL;
    EXPECT_INT(hd_cell_pull(sum.out, &pulled, NULL), HD_OK);
    hd_value *value = value_of("1");
    char *document = NULL;
    uint32_t attempt = 7;
    EXPECT(sum.kept != NULL);
    EXPECT_INT(hd_run_fail(sum.kept, HD_TYPE, NULL), HD_MISUSE);
    EXPECT_INT(hd_run_return(sum.kept, value), HD_MISUSE);
    hd_value *payload = value;
    EXPECT_INT(hd_run_payload(sum.kept, &payload), HD_MISUSE);
    EXPECT(payload == NULL);
    EXPECT_INT(hd_run_attempt(sum.kept, &attempt), HD_MISUSE);
    EXPECT_EQ(attempt, 0);
    EXPECT_INT(hd_run_new_document(sum.kept, &document), HD_MISUSE);
    EXPECT(document == NULL);
    hd_value_unref(value);
    hd_value_unref(pulled);
    hd_node_free(node);
    sum_close(&fixture, &sum);
}

/* -- Sinks --------------------------------------------------------------- */

struct shown {
    unsigned calls;
    char text[64];
};

static void show(void *context, const hd_value *value)
{
    struct shown *shown = context;
    shown->calls++;
    shown->text[0] = '\0';
    char *text = NULL;
    if (value != NULL &&
        hd_value_write(value, HD_CANONICAL, 0, &text, NULL) == HD_OK) {
        (void)snprintf(shown->text, sizeof shown->text, "%s", text);
        hd_text_free(text);
    }
}

TEST(a_sink_sees_every_value_that_stays)
{
    struct fixture fixture;
    struct sum sum;
    sum_open(&fixture, &sum);
    hd_node *node = computation(&fixture, &sum);
    struct shown shown = {0};
    hd_node *sink = NULL;
    EXPECT_INT(hd_sink_new(sum.out, show, &shown, &sink, NULL), HD_OK);
    EXPECT_EQ(shown.calls, 0);
    fixture_settle(&fixture);
    EXPECT_EQ(shown.calls, 1);
    EXPECT_TEXT(shown.text, "3");
    EXPECT_INT(hd_cell_set_int(sum.a, 10, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(shown.calls, 2);
    EXPECT_TEXT(shown.text, "12");
    EXPECT_INT(hd_node_remove(node), HD_OK);
    EXPECT_INT(hd_cell_delete(sum.out, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(shown.calls, 3);
    EXPECT_TEXT(shown.text, "");
    EXPECT_INT(hd_node_remove(sink), HD_OK);
    EXPECT_INT(hd_cell_set_int(sum.out, 5, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(shown.calls, 3);
    hd_node_free(sink);
    hd_node_free(node);
    sum_close(&fixture, &sum);
}

TEST(a_link_that_changes_rewires_who_reads_through_it)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *a = cell_of(&fixture, "a", NULL);
    hd_cell *b = cell_of(&fixture, "b", NULL);
    hd_cell *link = cell_of(&fixture, "link", NULL);
    EXPECT_INT(hd_cell_set_int(a, 1, NULL), HD_OK);
    EXPECT_INT(hd_cell_set_int(b, 2, NULL), HD_OK);
    EXPECT_INT(hd_cell_set_link(link, a, NULL), HD_OK);
    struct shown shown = {0};
    EXPECT_INT(hd_sink_new(link, show, &shown, NULL, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_TEXT(shown.text, "1");
    EXPECT_INT(hd_cell_set_link(link, b, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_TEXT(shown.text, "2");
    EXPECT_EQ(shown.calls, 2);
    EXPECT_INT(hd_cell_set_int(a, 7, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(shown.calls, 2);
    EXPECT_INT(hd_cell_set_int(b, 8, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_TEXT(shown.text, "8");
    hd_cell_free(link);
    hd_cell_free(b);
    hd_cell_free(a);
    fixture_close(&fixture);
}

/* -- How a read is meant ------------------------------------------------- */

struct reads {
    hd_cell *shape;
    hd_cell *sampled;
    unsigned calls;
    size_t count;
};

static hd_status read_both(hd_run *run, void *context)
{
    (void)run;
    struct reads *reads = context;
    reads->calls++;
    hd_value *value = NULL;
    const hd_status status = hd_cell_sample(reads->sampled, &value, NULL);
    hd_value_unref(value);
    return status != HD_OK ? status
                           : hd_cell_count(reads->shape, &reads->count, NULL);
}

TEST(a_sample_wakes_nobody_and_a_count_sees_the_shape_alone)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct reads reads = {
        .shape = cell_of(&fixture, "list", NULL),
        .sampled = cell_of(&fixture, "x", NULL),
    };
    set_json(reads.shape, "[1,2]");
    set_json(reads.sampled, "1");
    const hd_node_options options = {.run = read_both, .context = &reads};
    EXPECT_INT(hd_effect_new(fixture.runtime, &options, NULL, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(reads.calls, 1);
    set_json(reads.sampled, "2");
    hd_cell *first = cell_of(&fixture, "list", "/0");
    set_json(first, "9");
    fixture_settle(&fixture);
    EXPECT_EQ(reads.calls, 1);
    hd_value *item = value_of("3");
    EXPECT_INT(hd_cell_append(reads.shape, item, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(reads.calls, 2);
    EXPECT_EQ(reads.count, 3);
    hd_value_unref(item);
    hd_cell_free(first);
    hd_cell_free(reads.sampled);
    hd_cell_free(reads.shape);
    fixture_close(&fixture);
}

/* -- Time ---------------------------------------------------------------- */

TEST(a_debounced_effect_waits_for_quiet)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct seen seen = {.cell = cell_of(&fixture, "x", NULL)};
    hd_node *node = effect(&fixture, &seen);
    fixture_settle(&fixture);
    EXPECT_EQ(seen.calls, 1);
    EXPECT_INT(hd_node_set_debounce(node, 100), HD_OK);
    hd_error error;
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(hd_cell_set_int(seen.cell, i, NULL), HD_OK);
        EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, &error), HD_OK);
        fixture.now += 50;
    }
    EXPECT_EQ(seen.calls, 1);
    uint64_t wake = 0;
    EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, &error), HD_OK);
    EXPECT_INT(hd_runtime_next_wake(fixture.runtime, &wake), HD_OK);
    EXPECT(wake > fixture.now && wake <= fixture.now + 100);
    fixture.now += 100;
    EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, &error), HD_OK);
    EXPECT_EQ(seen.calls, 2);
    EXPECT_INT(seen.last, 2);

    EXPECT_INT(hd_node_set_debounce(node, 0), HD_OK);
    EXPECT_INT(hd_node_set_throttle(node, 1000), HD_OK);
    EXPECT_INT(hd_cell_set_int(seen.cell, 7, NULL), HD_OK);
    EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, &error), HD_OK);
    EXPECT_INT(hd_cell_set_int(seen.cell, 8, NULL), HD_OK);
    fixture_settle(&fixture); /* waits for it */
    EXPECT_INT(seen.last, 8);
    EXPECT_INT(hd_node_invalidate(node), HD_OK);
    const unsigned before = seen.calls;
    fixture_settle(&fixture);
    EXPECT_EQ(seen.calls, before + 1);
    hd_node_free(node);
    hd_cell_free(seen.cell);
    fixture_close(&fixture);
}

/* A pull answers with what is right now; a settled runtime may still have a
 * computation that waits for its time. */
TEST(a_pull_does_not_wait_for_a_debounce)
{
    struct fixture fixture;
    struct sum sum;
    sum_open(&fixture, &sum);
    hd_node *node = computation(&fixture, &sum);
    EXPECT_INT(hd_node_set_debounce(node, 60000), HD_OK);
    struct seen seen = {.cell = sum.out};
    hd_node *looks = effect(&fixture, &seen);
    fixture_settle(&fixture);
    EXPECT_INT(seen.last, 3);
    EXPECT_INT(hd_cell_set_int(sum.a, 5, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(seen.last, 3);
    hd_value *pulled = NULL;
    EXPECT_INT(hd_cell_pull(sum.out, &pulled, NULL), HD_OK);
    expect_value(pulled, "7");
    hd_value_unref(pulled);
    fixture_settle(&fixture);
    EXPECT_INT(seen.last, 7);
    EXPECT_INT(hd_node_set_debounce(node, 0), HD_OK);
    EXPECT_INT(hd_node_set_throttle(node, 60000), HD_OK);
    EXPECT_INT(hd_cell_set_int(sum.a, 6, NULL), HD_OK);
    EXPECT_INT(hd_cell_pull(sum.out, &pulled, NULL), HD_OK);
    expect_value(pulled, "8");
    hd_value_unref(pulled);
    hd_node_free(looks);
    hd_node_free(node);
    sum_close(&fixture, &sum);
}

/* -- Inside a run -------------------------------------------------------- */

struct parent {
    struct fixture *fixture;
    hd_cell *cell;
    hd_node *own;
    hd_node *child;
    unsigned child_calls;
    unsigned calls;
    hd_status removed;
    hd_status stepped;
    hd_status closed;
    hd_status pulled;
    hd_status edited;
    hd_status returned;
    hd_status moved;
    hd_status handled;
};

static hd_status run_child(hd_run *run, void *context)
{
    (void)run;
    ((struct parent *)context)->child_calls++;
    return HD_OK;
}

static hd_status edit_nothing(hd_runtime *runtime, void *context)
{
    (void)runtime;
    (void)context;
    return HD_OK;
}

static hd_status run_parent(hd_run *run, void *context)
{
    struct parent *parent = context;
    hd_runtime *runtime = parent->fixture->runtime;
    int64_t integer = 0;
    const hd_status status = hd_cell_get_int(parent->cell, &integer, NULL);
    if (status != HD_OK) {
        return status;
    }
    if (parent->calls++ == 0) {
        const hd_node_options child = {.run = run_child, .context = parent};
        hd_value *value = value_of("1");
        hd_value *pulled = NULL;
        const hd_handler_options handler = {.run = run_child};
        EXPECT_INT(hd_effect_new(runtime, &child, &parent->child, NULL), HD_OK);
        parent->removed = hd_node_remove(parent->own);
        parent->stepped = hd_runtime_step(runtime, HD_NOW, NULL);
        parent->closed = hd_runtime_close(runtime, HD_NOW, NULL);
        parent->pulled = hd_cell_pull(parent->cell, &pulled, NULL);
        parent->edited = hd_runtime_edit(runtime, edit_nothing, NULL, NULL);
        parent->returned = hd_run_return(run, value);
        parent->moved = hd_runtime_move(runtime);
        parent->handled = hd_handler_new(parent->cell, &handler, NULL, NULL);
        hd_runtime_free(runtime); /* does nothing */
        hd_value_unref(value);
    }
    return HD_OK;
}

TEST(what_cannot_be_done_inside_a_run_is_refused)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct parent parent = {.fixture = &fixture,
                            .cell = cell_of(&fixture, "x", NULL)};
    set_json(parent.cell, "1");
    const hd_node_options options = {.run = run_parent, .context = &parent};
    EXPECT_INT(hd_effect_new(fixture.runtime, &options, &parent.own, NULL),
               HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(fixture.reports, 0);
    EXPECT_INT(parent.removed, HD_MISUSE);
    EXPECT_INT(parent.stepped, HD_MISUSE);
    EXPECT_INT(parent.closed, HD_MISUSE);
    EXPECT_INT(parent.pulled, HD_MISUSE);
    EXPECT_INT(parent.edited, HD_MISUSE);
    EXPECT_INT(parent.returned, HD_MISUSE);
    EXPECT_INT(parent.moved, HD_MISUSE);
    EXPECT_INT(parent.handled, HD_MISUSE);

    /* The child is one: it goes with its parent. */
    EXPECT_EQ(parent.child_calls, 1);
    hd_node_info info;
    EXPECT_INT(hd_node_remove(parent.own), HD_OK);
    EXPECT_INT(hd_node_look(parent.child, &info), HD_OK);
    EXPECT_INT(info.state, HD_REMOVED);
    hd_node_free(parent.child);
    hd_node_free(parent.own);
    hd_cell_free(parent.cell);
    fixture_close(&fixture);
}

/* -- Arguments ----------------------------------------------------------- */

TEST(a_registration_that_is_refused_releases_the_context)
{
    struct fixture fixture;
    struct fixture other;
    struct sum sum;
    sum_open(&fixture, &sum);
    fixture_open(&other, NULL, 2);
    hd_cell *foreign = cell_of(&other, "x", NULL);
    hd_cell *none = NULL;
    const hd_node_options good = {
        .run = add,
        .context = &sum,
        .release = count_release,
        .writes = &sum.out,
        .write_count = 1,
    };
    hd_node_options bad[6] = {good, good, good, good, good, good};
    bad[0].run = NULL;
    bad[1].write_count = 0;
    bad[2].writes = &foreign;
    bad[3].writes = &none;
    bad[4].name = "\xFF";
    bad[5].read_count = 1;
    const hd_status status[6] = {
        HD_ARGUMENT,
        HD_ARGUMENT,
        HD_MISUSE,
        HD_ARGUMENT,
        HD_SYNTAX,
        HD_ARGUMENT,
    };
    hd_error error;
    for (unsigned i = 0; i < 6; i++) {
        hd_node *node = NULL;
        EXPECT_INT(hd_computation_new(fixture.runtime, &bad[i], &node, &error),
                   status[i]);
        EXPECT(node == NULL);
        EXPECT(strlen(error.text) > 0);
        EXPECT_EQ(sum.released, i + 1);
    }
    EXPECT_INT(hd_effect_new(fixture.runtime, &good, NULL, &error),
               HD_ARGUMENT);
    EXPECT_EQ(sum.released, 7);
    hd_cell_free(foreign);
    fixture_close(&other);
    sum_close(&fixture, &sum);
}

TEST(a_run_waits_for_what_is_still_on_disk)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture fixture;
    fixture_open(&fixture, folder, 1);
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    EXPECT_INT(hd_cell_set_int(cell, 7, NULL), HD_OK);
    EXPECT_INT(hd_runtime_close(fixture.runtime, HD_NEVER, NULL), HD_OK);
    hd_cell_free(cell);
    fixture_close(&fixture);

    fixture_open(&fixture, folder, 2);
    cell = cell_of(&fixture, "x", NULL);
    struct shown shown = {0};
    struct seen seen = {.cell = cell};
    EXPECT_INT(hd_sink_new(cell, show, &shown, NULL, NULL), HD_OK);
    hd_node *node = effect(&fixture, &seen);
    fixture_settle(&fixture);
    EXPECT_EQ(shown.calls, 1); /* never with nothing */
    EXPECT_TEXT(shown.text, "7");
    EXPECT_INT(seen.last, 7);
    EXPECT_INT(fixture.reports, 0);
    hd_node_info info;
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_EQ(info.runs, 1);
    hd_node_free(node);
    hd_cell_free(cell);
    fixture_close(&fixture);
    kit_folder_remove(folder);
}

/* -- Cycles -------------------------------------------------------------- */

/* One more than what is at `from`, at most `limit`. */
struct link_of_cycle {
    hd_cell *from;
    hd_cell *to;
    int64_t limit;
};

static hd_status count_on(hd_run *run, void *context)
{
    (void)run;
    const struct link_of_cycle *link = context;
    int64_t number = 0;
    const hd_status status = hd_cell_get_int(link->from, &number, NULL);
    if (status != HD_OK) {
        return status;
    }
    return hd_cell_set_int(link->to,
                           number < link->limit ? number + 1 : number,
                           NULL);
}

static void add_link(struct fixture *fixture,
                     const char *name,
                     struct link_of_cycle *link)
{
    hd_error error;
    const hd_node_options options = {
        .name = name,
        .run = count_on,
        .context = link,
        .writes = &link->to,
        .write_count = 1,
    };
    EXPECT_INT(hd_computation_new(fixture->runtime, &options, NULL, &error),
               HD_OK);
}

TEST(a_cycle_that_does_not_settle_is_reported_once)
{
    for (int settles = 0; settles < 2; settles++) {
        struct fixture fixture;
        fixture_open(&fixture, NULL, 1);
        hd_cell *a = cell_of(&fixture, "a", NULL);
        hd_cell *b = cell_of(&fixture, "b", NULL);
        EXPECT_INT(hd_cell_set_int(a, 0, NULL), HD_OK);
        EXPECT_INT(hd_cell_set_int(b, 0, NULL), HD_OK);
        const int64_t limit = settles ? 15 : INT64_MAX;
        struct link_of_cycle first = {b, a, limit};
        struct link_of_cycle second = {a, b, limit};
        add_link(&fixture, "first", &first);
        add_link(&fixture, "second", &second);
        struct seen seen = {.cell = a};
        hd_node *looks = effect(&fixture, &seen);
        for (int i = 0; i < 3; i++) {
            fixture_settle(&fixture);
        }
        EXPECT_EQ(fixture.reports, settles ? 0 : 1);
        if (settles) {
            EXPECT_INT(seen.last, 15);
        } else {
            EXPECT_INT(fixture.reported.status, HD_NOT_SETTLED);
            EXPECT(strstr(fixture.reported.text, "first") != NULL);
            EXPECT(strstr(fixture.reported.text, "second") != NULL);
        }
        hd_node_free(looks);
        hd_cell_free(a);
        hd_cell_free(b);
        fixture_close(&fixture);
    }
}
