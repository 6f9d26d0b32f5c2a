/* Runtimes through the public header: opening, stepping, waiting, closing. */

#include <poll.h>
#include <threads.h>

#include "unit/api/fixture.h"

/* -- Opening ------------------------------------------------------------- */

TEST(a_runtime_opens_with_nothing_but_defaults)
{
    hd_runtime *runtime = NULL;
    hd_error error;
    EXPECT_INT(hd_runtime_open(NULL, &runtime, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    uint64_t now = 0;
    EXPECT_INT(hd_runtime_now(runtime, &now), HD_OK);
    EXPECT(now > 0);
    EXPECT_INT(hd_runtime_settled(runtime, now + 60000, &error), HD_OK);
    EXPECT_INT(hd_runtime_close(runtime, HD_NEVER, &error), HD_OK);
    EXPECT_INT(hd_runtime_close(runtime, HD_NEVER, &error), HD_CLOSED);
    hd_runtime_free(runtime);
}

TEST(options_that_cannot_be_are_refused)
{
    struct fixture fixture = {.now = 1};
    static const char *const twice[] = {"a", "a"};
    static const char *const slash[] = {"a/b"};
    static const char *const none[] = {NULL};
    const hd_runtime_options good = fixture_options(&fixture);
    hd_runtime_options bad[12];
    for (size_t i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].space_count = 1;
    bad[1].spaces = twice;
    bad[1].space_count = 2;
    bad[2].spaces = slash;
    bad[2].space_count = 1;
    bad[3].spaces = none;
    bad[3].space_count = 1;
    bad[4].durability = (hd_durability)3;
    bad[5].log_level = (hd_log_level)5;
    bad[6].now = NULL;
    bad[7].directory = "";
    bad[8].user = "";
    bad[9].session = "\xFF";
    bad[10].directory = "build/no/such/folder/at/all";
    bad[11].session = "session:mine";
    hd_error error;
    for (size_t i = 0; i < 12; i++) {
        hd_runtime *runtime = NULL;
        const hd_status status = hd_runtime_open(&bad[i], &runtime, &error);
        EXPECT_INT(status,
                   i == 9    ? HD_SYNTAX
                   : i == 10 ? HD_NOT_FOUND
                             : HD_ARGUMENT);
        EXPECT(runtime == NULL);
        EXPECT(strlen(error.text) > 0);
    }
}

TEST(a_space_can_be_opened_later)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_error error;
    hd_cell *cell = NULL;
    const hd_address address = {.space = "more", .document = "x"};
    EXPECT_INT(hd_cell_new_at(fixture.runtime, &address, &cell, &error),
               HD_NOT_FOUND);
    EXPECT_INT(hd_runtime_open_space(fixture.runtime, "main", &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_runtime_open_space(fixture.runtime, "a/b", &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_runtime_open_space(fixture.runtime, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_runtime_open_space(fixture.runtime, "more", &error), HD_OK);
    EXPECT_INT(hd_cell_new_at(fixture.runtime, &address, &cell, &error), HD_OK);
    EXPECT_INT(hd_cell_set_int(cell, 1, &error), HD_OK);
    fixture_settle(&fixture);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

/* -- Time ---------------------------------------------------------------- */

static hd_status run_always(hd_run *run, void *context)
{
    (void)run;
    ++*(unsigned *)context;
    return HD_OK;
}

TEST(time_is_an_argument)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    unsigned calls = 0;
    const hd_node_options options = {
        .run = run_always,
        .context = &calls,
        .throttle_ms = 500,
    };
    hd_node *node = NULL;
    EXPECT_INT(hd_effect_new(fixture.runtime, &options, &node, NULL), HD_OK);
    EXPECT_INT(hd_runtime_step(fixture.runtime, 2000, NULL), HD_OK);
    EXPECT_EQ(calls, 1);
    EXPECT_INT(hd_node_invalidate(node), HD_OK);
    EXPECT_INT(hd_runtime_step(fixture.runtime, 2100, NULL), HD_OK);
    EXPECT_EQ(calls, 1);
    uint64_t wake = 0;
    EXPECT_INT(hd_runtime_next_wake(fixture.runtime, &wake), HD_OK);
    EXPECT(wake <= 2500);
    EXPECT_INT(hd_runtime_step(fixture.runtime, 2500, NULL), HD_OK);
    EXPECT_EQ(calls, 2);
    EXPECT_INT(hd_runtime_step(fixture.runtime, 1, NULL), HD_OK); /* not back */
    uint64_t now = 0;
    EXPECT_INT(hd_runtime_now(fixture.runtime, &now), HD_OK);
    EXPECT_EQ(now, 2500);
    hd_node_free(node);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

TEST(the_next_wake_is_a_timeout_for_poll)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    fixture_settle(&fixture);
    int timeout = 7;
    uint64_t wake = 0;
    EXPECT_INT(hd_runtime_next_wake(fixture.runtime, &wake), HD_OK);
    EXPECT_INT(hd_runtime_timeout(fixture.runtime, &timeout), HD_OK);
    if (wake == HD_NEVER) {
        EXPECT_INT(timeout, -1);
    } else {
        EXPECT_EQ(timeout, wake - fixture.now);
    }
    int descriptor = -1;
    EXPECT_INT(hd_runtime_fd(fixture.runtime, &descriptor), HD_OK);
    struct pollfd poll_fd = {.fd = descriptor, .events = POLLIN};
    EXPECT_INT(poll(&poll_fd, 1, 0), 0);
    EXPECT_INT(hd_interrupt(fixture.runtime), HD_OK);
    EXPECT_INT(poll(&poll_fd, 1, 0), 1);
    EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, NULL), HD_INTERRUPTED);
    EXPECT_INT(poll(&poll_fd, 1, 0), 0);
    EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, NULL), HD_OK);
    fixture_close(&fixture);
}

TEST(the_descriptor_tells_of_what_another_runtime_commits)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture one;
    struct fixture two;
    fixture_open(&one, folder, 1);
    fixture_open(&two, folder, 2);
    hd_cell *here = cell_of(&one, "x", NULL);
    hd_cell *there = cell_of(&two, "x", NULL);
    expect_json(here, NULL);
    fixture_settle(&one);
    int descriptor = -1;
    EXPECT_INT(hd_runtime_fd(one.runtime, &descriptor), HD_OK);
    EXPECT_INT(hd_cell_set_int(there, 5, NULL), HD_OK);
    fixture_settle(&two);
    struct pollfd poll_fd = {.fd = descriptor, .events = POLLIN};
    EXPECT_INT(poll(&poll_fd, 1, 60000), 1);
    EXPECT_INT(hd_runtime_step(one.runtime, HD_NOW, NULL), HD_OK);
    expect_json(here, "5");
    hd_cell_free(here);
    hd_cell_free(there);
    fixture_close(&one);
    fixture_close(&two);
    kit_folder_remove(folder);
}

/* -- Waiting ------------------------------------------------------------- */

TEST(waiting_ends_at_the_deadline)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    fixture_settle(&fixture);
    hd_error error;
    hd_status status = HD_OK;
    for (unsigned i = 0; i < 1000 && status == HD_OK; i++) {
        status = hd_runtime_wait(fixture.runtime, 5000, &error);
    }
    EXPECT_INT(status, HD_TIMEOUT);
    EXPECT_INT(error.class_of, HD_CLASS_RETRY);
    EXPECT(fixture.now >= 5000);
    EXPECT_INT(hd_runtime_wait(fixture.runtime, HD_NOW, &error), HD_TIMEOUT);
    fixture_close(&fixture);
}

/* Two that never come to rest. */
static hd_status flip(hd_run *run, void *context)
{
    (void)run;
    hd_cell *cell = context;
    int64_t integer = 0;
    const hd_status status = hd_cell_get_int(cell, &integer, NULL);
    return status != HD_OK ? status : hd_cell_set_int(cell, integer + 1, NULL);
}

static bool on_progress(void *context, const hd_progress *progress)
{
    struct fixture *fixture = context;
    fixture->asked++;
    fixture->progress = *progress;
    return fixture->let == 0 || fixture->asked < fixture->let;
}

TEST(long_work_asks_whether_to_go_on)
{
    struct fixture fixture = {.now = 1000, .let = 3};
    hd_runtime_options options = fixture_options(&fixture);
    options.progress = on_progress;
    options.progress_context = &fixture;
    fixture_open_with(&fixture, &options);
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    EXPECT_INT(hd_cell_set_int(cell, 0, NULL), HD_OK);
    const hd_node_options node = {.run = flip, .context = cell};
    EXPECT_INT(hd_effect_new(fixture.runtime, &node, NULL, NULL), HD_OK);
    hd_error error;
    hd_status status = HD_OK;
    for (unsigned i = 0; i < 100 && status == HD_OK; i++) {
        status = hd_runtime_wait(fixture.runtime, HD_NEVER, &error);
    }
    EXPECT_INT(status, HD_INTERRUPTED);
    EXPECT_EQ(fixture.asked, 3);
    EXPECT(fixture.progress.passes > 0);
    fixture.let = 0;
    EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, &error), HD_OK);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

TEST(an_interrupt_ends_the_call_that_waits_or_the_next)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_error error;
    EXPECT_INT(hd_interrupt(fixture.runtime), HD_OK);
    EXPECT_INT(hd_runtime_settled(fixture.runtime, HD_NEVER, &error),
               HD_INTERRUPTED);
    EXPECT_INT(hd_runtime_settled(fixture.runtime, HD_NEVER, &error), HD_OK);
    EXPECT_INT(hd_interrupt(fixture.runtime), HD_OK);
    EXPECT_INT(hd_runtime_idle(fixture.runtime, HD_NEVER, &error),
               HD_INTERRUPTED);
    EXPECT_INT(hd_interrupt(fixture.runtime), HD_OK);
    EXPECT_INT(hd_runtime_wait(fixture.runtime, HD_NEVER, &error),
               HD_INTERRUPTED);
    EXPECT_INT(hd_runtime_idle(fixture.runtime, HD_NEVER, &error), HD_OK);
    fixture_close(&fixture);
}

static int interrupt_soon(void *context)
{
    return (int)hd_interrupt(context);
}

TEST(another_thread_interrupts_a_call_that_waits)
{
    hd_runtime *runtime = NULL;
    hd_error error;
    EXPECT_INT(hd_runtime_open(NULL, &runtime, &error), HD_OK);
    EXPECT_INT(hd_runtime_settled(runtime, HD_NEVER, &error), HD_OK);
    thrd_t thread;
    EXPECT_INT(thrd_create(&thread, interrupt_soon, runtime), thrd_success);
    hd_status status = HD_OK;
    while (status == HD_OK) { /* what else wakes it is no end */
        status = hd_runtime_wait(runtime, HD_NEVER, &error);
    }
    EXPECT_INT(status, HD_INTERRUPTED);
    int result = -1;
    EXPECT_INT(thrd_join(thread, &result), thrd_success);
    EXPECT_INT(result, HD_OK);
    hd_runtime_free(runtime);
}

/* -- Threads ------------------------------------------------------------- */

struct visit {
    struct fixture *fixture;
    hd_cell *cell;
    hd_status step;
    hd_status get;
    hd_status moved;
    hd_status step_after;
};

static int visit(void *context)
{
    struct visit *all = context;
    int64_t integer = 0;
    all->step = hd_runtime_step(all->fixture->runtime, HD_NOW, NULL);
    all->get = hd_cell_get_int(all->cell, &integer, NULL);
    hd_cell_free(all->cell);                /* does nothing */
    hd_runtime_free(all->fixture->runtime); /* likewise */
    all->moved = hd_runtime_move(all->fixture->runtime);
    all->step_after = hd_runtime_step(all->fixture->runtime, HD_NOW, NULL);
    return 0;
}

TEST(a_runtime_belongs_to_one_thread_and_can_be_moved)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct visit all = {.fixture = &fixture,
                        .cell = cell_of(&fixture, "x", NULL)};
    EXPECT_INT(hd_cell_set_int(all.cell, 7, NULL), HD_OK);
    thrd_t thread;
    EXPECT_INT(thrd_create(&thread, visit, &all), thrd_success);
    EXPECT_INT(thrd_join(thread, NULL), thrd_success);
    EXPECT_INT(all.step, HD_MISUSE);
    EXPECT_INT(all.get, HD_MISUSE);
    EXPECT_INT(all.moved, HD_OK);
    EXPECT_INT(all.step_after, HD_OK);
    EXPECT_INT(hd_runtime_step(fixture.runtime, HD_NOW, NULL), HD_MISUSE);
    EXPECT_INT(hd_runtime_move(fixture.runtime), HD_OK);
    expect_json(all.cell, "7");
    hd_cell_free(all.cell);
    fixture_close(&fixture);
}

/* -- Closing ------------------------------------------------------------- */

TEST(handles_outlive_their_runtime)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    hd_runtime_free(fixture.runtime); /* open: as a crash */
    hd_error error;
    int64_t integer = 7;
    EXPECT_INT(hd_cell_get_int(cell, &integer, &error), HD_CLOSED);
    EXPECT_INT(integer, 0);
    EXPECT_INT(hd_cell_set_int(cell, 1, &error), HD_CLOSED);
    hd_cell_free(cell);
}

TEST(a_close_at_once_loses_what_was_not_sent)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture fixture;
    fixture_open(&fixture, folder, 1);
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    EXPECT_INT(hd_cell_set_int(cell, 1, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_cell_set_int(cell, 2, NULL), HD_OK);
    hd_runtime_free(fixture.runtime);
    hd_cell_free(cell);
    fixture_open(&fixture, folder, 2);
    cell = cell_of(&fixture, "x", NULL);
    expect_json(cell, "1");
    hd_cell_free(cell);
    fixture_close(&fixture);
    kit_folder_remove(folder);
}

/* -- The hooks ----------------------------------------------------------- */

static void log_line(void *context, hd_log_level level, const char *line)
{
    struct fixture *fixture = context;
    EXPECT(level >= HD_LOG_ERROR && level <= HD_LOG_DEBUG);
    EXPECT(strchr(line, '\n') == NULL);
    fixture->lines++;
}

TEST(the_hooks_are_the_programs)
{
    struct fixture fixture = {.now = 1000};
    hd_runtime_options options = fixture_options(&fixture);
    options.log = log_line;
    options.log_context = &fixture;
    options.log_level = HD_LOG_DEBUG;
    options.user = "ada";
    options.session = "desk";
    options.durability = HD_DURABLE_NONE;
    options.lane_a_space = true;
    fixture_open_with(&fixture, &options);
    EXPECT(fixture.random != 0); /* was asked */
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    EXPECT_INT(hd_cell_set_int(cell, 1, NULL), HD_OK);
    fixture_settle(&fixture);
    hd_cell_free(cell);
    fixture_close(&fixture);
}
