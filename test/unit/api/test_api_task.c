/* Tasks through the public header: work of the program that ends later. */

#include "unit/api/fixture.h"

/* A question, and who is to answer it. */
struct desk {
    uint32_t retries;
    hd_runtime *runtime;
    unsigned started;
    unsigned cancelled;
    unsigned released;
    bool at_once;      /* answers in `start` */
    bool frees;        /* what was cancelled */
    bool tries;        /* to end the task in a run */
    hd_task *task;     /* the last that was begun */
    hd_task *old;      /* the last that was cancelled */
    hd_status in_here; /* of ending the task in a callback */
    hd_cell *question;
    hd_cell *answer;
};

static void start(hd_task *task, const hd_value *input, void *context)
{
    struct desk *desk = context;
    desk->started++;
    desk->task = task;
    void *user = desk;
    EXPECT_INT(hd_task_user(task, &user), HD_OK);
    EXPECT(user == NULL);
    EXPECT_INT(hd_task_set_user(task, &desk->started), HD_OK);
    if (desk->at_once) {
        EXPECT_INT(hd_task_finish(task, input, NULL), HD_OK);
    }
    EXPECT_INT(hd_runtime_step(desk->runtime, HD_NOW, NULL), HD_MISUSE);
}

static void cancelled(hd_task *task, void *context)
{
    struct desk *desk = context;
    desk->cancelled++;
    desk->old = task;
    void *user = NULL;
    EXPECT_INT(hd_task_user(task, &user), HD_OK);
    EXPECT(user == &desk->started);
    if (desk->frees) {
        hd_task_free(task);
    }
}

static void let_go(void *context)
{
    ((struct desk *)context)->released++;
}

/* Somebody who looks; and ends the task where that is not allowed. */
static hd_status look(hd_run *run, void *context)
{
    struct desk *desk = context;
    (void)run;
    hd_value *value = NULL;
    const hd_status status = hd_cell_get(desk->answer, &value, NULL);
    hd_value_unref(value);
    if (desk->tries) {
        desk->in_here = hd_task_finish(desk->task, NULL, NULL);
        hd_task_free(desk->task);
    }
    return status == HD_NOT_FOUND ? HD_OK : status;
}

static hd_status build(hd_builder *builder, void *context)
{
    struct desk *desk = context;
    hd_error error;
    EXPECT_INT(
        hd_build_state(builder, "question", NULL, &desk->question, &error),
        HD_OK);
    hd_task_options task = {
        .input = desk->question,
        .start = start,
        .cancelled = cancelled,
        .context = desk,
        .release = let_go,
        .retries = desk->retries,
        .backoff_ms = 1,
    };
    EXPECT_INT(hd_build_task(builder, "answer", &task, &desk->answer, &error),
               HD_OK);
    const hd_node_options effect = {.run = look, .context = desk};
    EXPECT_INT(hd_build_effect(builder, "look", &effect, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "question", desk->question, &error),
               HD_OK);
    EXPECT_INT(hd_build_result(builder, "answer", desk->answer, &error), HD_OK);

    /* Wrong ones, each of which lets go of its context. */
    hd_cell *output = desk->answer;
    EXPECT_INT(hd_build_task(builder, "answer", &task, &output, &error),
               HD_ARGUMENT);
    EXPECT(output == NULL);
    EXPECT_INT(hd_build_task(builder, "a/b", &task, NULL, &error), HD_ARGUMENT);
    EXPECT_TEXT(error.address, "a/b");
    EXPECT_INT(hd_build_task(builder, NULL, &task, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_task(builder, "b", NULL, NULL, &error), HD_ARGUMENT);
    task.start = NULL;
    EXPECT_INT(hd_build_task(builder, "b", &task, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'start'");
    task.start = start;
    task.retries = 101;
    EXPECT_INT(hd_build_task(builder, "b", &task, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'retries' is 101; the limit is 100");
    task.retries = 0;
    task.input = NULL;
    EXPECT_INT(hd_build_task(builder, "b", &task, NULL, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'input'");
    EXPECT_EQ(desk->released, 6);
    desk->released = 0;
    return HD_OK;
}

struct scene {
    struct fixture fixture;
    struct desk *desk;
    hd_pattern *pattern;
    hd_piece *piece;
    hd_cell *question; /* from outside */
};

static void scene_open(struct scene *scene,
                       struct desk *desk,
                       const char *folder,
                       unsigned number)
{
    fixture_open(&scene->fixture, folder, number);
    scene->desk = desk;
    desk->runtime = scene->fixture.runtime;
    hd_error error;
    EXPECT_INT(
        hd_pattern_new("desk", "1", build, desk, NULL, &scene->pattern, &error),
        HD_OK);
    EXPECT_INT(hd_piece_start(scene->fixture.runtime,
                              scene->pattern,
                              "desk",
                              NULL,
                              &scene->piece,
                              &error),
               HD_OK);
    fixture_settle(&scene->fixture);
    scene->question = cell_of(&scene->fixture, "piece:desk/question", NULL);
}

static void scene_close(struct scene *scene)
{
    hd_cell_free(scene->question);
    hd_piece_free(scene->piece);
    hd_pattern_free(scene->pattern);
    fixture_close(&scene->fixture);
}

static void ask(struct scene *scene, const char *json)
{
    set_json(scene->question, json);
    fixture_settle(&scene->fixture);
}

/* A field of the answer; NULL: there is none. */
static void expect_answer(struct scene *scene,
                          const char *field,
                          const char *json)
{
    hd_value *value = NULL;
    fixture_settle(&scene->fixture);
    EXPECT_INT(hd_piece_get(scene->piece, field, &value, NULL),
               json != NULL ? HD_OK : HD_NOT_FOUND);
    expect_value(value, json);
    hd_value_unref(value);
}

TEST(a_task_is_begun_and_ends_later)
{
    struct scene scene;
    struct desk desk = {0};
    scene_open(&scene, &desk, NULL, 1);
    EXPECT_EQ(desk.started, 0);
    expect_answer(&scene, "/answer/state", "\"idle\"");
    ask(&scene, "\"how many?\"");
    EXPECT_EQ(desk.started, 1);
    expect_answer(&scene, "/answer/state", "\"running\"");
    expect_answer(&scene, "/answer/value", NULL);
    hd_value *value = value_of("42");
    hd_error error;
    EXPECT_INT(hd_task_finish(desk.task, value, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    EXPECT_INT(hd_task_finish(desk.task, value, &error), HD_CLOSED);
    EXPECT_INT(hd_task_fail(desk.task, HD_IO, "late", &error), HD_CLOSED);
    hd_value_unref(value);
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/state", "\"done\"");
    expect_answer(&scene, "/answer/value", "42");
    EXPECT_EQ(desk.started, 1);
    EXPECT_EQ(desk.cancelled, 0);
    EXPECT_INT(hd_piece_stop(scene.piece, NULL), HD_OK);
    EXPECT_EQ(desk.released, 1);
    scene_close(&scene);
}

static void begin_again(struct scene *scene, unsigned started)
{
    for (unsigned i = 0; i < 100 && scene->desk->started < started; i++) {
        scene->fixture.now++;
        EXPECT_INT(hd_runtime_step(scene->fixture.runtime, HD_NOW, NULL),
                   HD_OK);
    }
}

TEST(an_attempt_is_made_again_with_the_same_key)
{
    struct scene scene;
    struct desk desk = {.retries = 1};
    scene_open(&scene, &desk, NULL, 1);
    ask(&scene, "1");
    char *first = NULL;
    char *key = NULL;
    EXPECT_INT(hd_task_key(desk.task, &first), HD_OK);
    EXPECT_EQ(strlen(first), 43);
    EXPECT_INT(hd_task_retry(desk.task, HD_IO, "no line", 0, NULL), HD_OK);
    EXPECT_INT(hd_task_retry(desk.task, HD_IO, "no line", 0, NULL), HD_CLOSED);
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/state", "\"running\"");
    begin_again(&scene, 2);
    EXPECT_INT(hd_task_key(desk.task, &key), HD_OK);
    EXPECT_TEXT(key, first);
    hd_text_free(first);
    hd_text_free(key);
    EXPECT_INT(hd_task_retry(desk.task, HD_IO, "no line", 0, NULL), HD_OK);
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/state", "\"failed\"");
    expect_answer(&scene, "/answer/attempts", "2");
    EXPECT_EQ(desk.started, 2);
    scene_close(&scene);
}

TEST(a_task_fails_with_a_status_and_a_sentence)
{
    struct scene scene;
    struct desk desk = {0};
    scene_open(&scene, &desk, NULL, 1);
    ask(&scene, "1");
    EXPECT_INT(hd_task_fail(desk.task, HD_IO, "no line", NULL), HD_OK);
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/state", "\"failed\"");
    expect_answer(&scene,
                  "/answer/error",
                  "{\"code\":\"IO\",\"text\":\"no line\"}");

    /* Without a sentence it is that of the status. */
    ask(&scene, "2");
    EXPECT_INT(hd_task_fail(desk.task, HD_IO, NULL, NULL), HD_OK);
    hd_task_free(desk.task);
    char text[128];
    (void)snprintf(text, sizeof text, "\"%s\"", hd_status_text(HD_IO));
    expect_answer(&scene, "/answer/error/text", text);

    /* What is released without an end has failed. */
    ask(&scene, "3");
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/error/code", "\"GIVEN_UP\"");
    EXPECT_EQ(desk.started, 3);
    EXPECT_EQ(desk.cancelled, 0);
    scene_close(&scene);
}

TEST(a_task_may_end_while_it_is_begun)
{
    struct scene scene;
    struct desk desk = {.at_once = true};
    scene_open(&scene, &desk, NULL, 1);
    ask(&scene, "[1,2]");
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/value", "[1,2]");
    EXPECT_EQ(desk.started, 1);
    scene_close(&scene);
}

TEST(another_input_cancels_and_a_late_end_is_dropped)
{
    struct scene scene;
    struct desk desk = {0};
    scene_open(&scene, &desk, NULL, 1);
    ask(&scene, "1");
    hd_task *first = desk.task;
    ask(&scene, "2");
    EXPECT_EQ(desk.cancelled, 1);
    EXPECT_EQ(desk.started, 2);
    EXPECT(desk.old == first);
    hd_value *value = value_of("\"late\"");
    EXPECT_INT(hd_task_finish(first, value, NULL), HD_OK);
    EXPECT_INT(hd_task_finish(first, value, NULL), HD_CLOSED);
    hd_task_free(first);
    expect_answer(&scene, "/answer/state", "\"running\"");
    EXPECT_INT(hd_task_finish(desk.task, NULL, NULL), HD_OK);
    expect_answer(&scene, "/answer/value", "null");
    hd_task_free(desk.task);
    hd_value_unref(value);
    scene_close(&scene);
}

TEST(a_task_that_was_cancelled_may_be_released_at_once)
{
    struct scene scene;
    struct desk desk = {.frees = true};
    scene_open(&scene, &desk, NULL, 1);
    ask(&scene, "1");
    ask(&scene, "2");
    EXPECT_EQ(desk.cancelled, 1);
    EXPECT_INT(hd_piece_stop(scene.piece, NULL), HD_OK);
    EXPECT_EQ(desk.cancelled, 2);
    EXPECT_EQ(desk.released, 1);
    scene_close(&scene);
}

TEST(a_task_does_not_end_inside_a_run)
{
    struct scene scene;
    struct desk desk = {0};
    scene_open(&scene, &desk, NULL, 1);
    ask(&scene, "1");
    desk.tries = true;
    hd_node *node = NULL;
    EXPECT_INT(hd_piece_node(scene.piece, "look", &node, NULL), HD_OK);
    EXPECT_INT(hd_node_invalidate(node), HD_OK);
    fixture_settle(&scene.fixture);
    EXPECT_INT(desk.in_here, HD_MISUSE);
    hd_node_free(node);
    desk.tries = false;
    EXPECT_INT(hd_task_finish(desk.task, NULL, NULL), HD_OK);
    hd_task_free(desk.task); /* it was not released there, either */
    expect_answer(&scene, "/answer/state", "\"done\"");
    scene_close(&scene);
}

TEST(what_is_pending_is_begun_again_and_what_is_done_stays)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct scene scene;
    struct desk desk = {0};
    scene_open(&scene, &desk, folder, 1);
    ask(&scene, "1");
    EXPECT_EQ(desk.started, 1);
    EXPECT_INT(hd_runtime_close(scene.fixture.runtime, HD_NEVER, NULL), HD_OK);
    EXPECT_EQ(desk.cancelled, 1);
    EXPECT_EQ(desk.released, 1);
    EXPECT_INT(hd_task_finish(desk.task, NULL, NULL), HD_CLOSED);
    void *user = NULL;
    EXPECT_INT(hd_task_user(desk.task, &user), HD_OK);
    EXPECT(user == &desk.started);
    scene_close(&scene);
    hd_task_free(desk.task); /* after its runtime */

    desk = (struct desk){0};
    scene_open(&scene, &desk, folder, 2);
    fixture_settle(&scene.fixture);
    EXPECT_EQ(desk.started, 1);
    hd_value *value = value_of("7");
    EXPECT_INT(hd_task_finish(desk.task, value, NULL), HD_OK);
    hd_value_unref(value);
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/value", "7");
    EXPECT_INT(hd_runtime_close(scene.fixture.runtime, HD_NEVER, NULL), HD_OK);
    scene_close(&scene);

    desk = (struct desk){0};
    scene_open(&scene, &desk, folder, 3);
    expect_answer(&scene, "/answer/value", "7");
    EXPECT_EQ(desk.started, 0);
    scene_close(&scene);
    kit_folder_remove(folder);
}

static void on_done(void *context, hd_ticket *ticket)
{
    struct desk *desk = context;
    (void)ticket;
    desk->in_here = hd_task_fail(desk->task, HD_IO, NULL, NULL);
    hd_task_free(desk->task);
}

TEST(a_task_does_not_end_in_a_callback_of_something_else)
{
    struct scene scene;
    struct desk desk = {0};
    scene_open(&scene, &desk, NULL, 1);
    ask(&scene, "1");
    hd_cell *stream = cell_of(&scene.fixture, "nobody", NULL);
    const hd_send_options options = {.done = on_done, .context = &desk};
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_cell_send(stream, NULL, &options, &ticket, NULL), HD_OK);
    fixture_settle(&scene.fixture);
    EXPECT_INT(desk.in_here, HD_MISUSE);
    EXPECT_INT(hd_task_finish(desk.task, NULL, NULL), HD_OK);
    hd_task_free(desk.task);
    expect_answer(&scene, "/answer/state", "\"done\"");
    hd_ticket_free(ticket);
    hd_cell_free(stream);
    scene_close(&scene);
}

/* -- A sink -------------------------------------------------------------- */

static void note_sight(void *context, const hd_value *value)
{
    EXPECT(value != NULL);
    (*(unsigned *)context)++;
}

/* Nobody in it looks, so that nothing of it has been asked for. */
static hd_status build_quiet(hd_builder *builder, void *context)
{
    struct desk *desk = context;
    EXPECT_INT(hd_build_state(builder, "question", NULL, &desk->question, NULL),
               HD_OK);
    const hd_task_options task = {
        .input = desk->question,
        .start = start,
        .context = desk,
    };
    EXPECT_INT(hd_build_task(builder, "answer", &task, &desk->answer, NULL),
               HD_OK);
    return hd_build_result(builder, "answer", desk->answer, NULL);
}

TEST(a_sink_of_a_task_without_input_sees_once_that_it_is_idle)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct desk desk = {.runtime = fixture.runtime};
    hd_pattern *pattern = NULL;
    hd_piece *piece = NULL;
    hd_cell *output = NULL;
    unsigned seen = 0;
    EXPECT_INT(
        hd_pattern_new("desk", "1", build_quiet, &desk, NULL, &pattern, NULL),
        HD_OK);
    EXPECT_INT(
        hd_piece_start(fixture.runtime, pattern, "desk", NULL, &piece, NULL),
        HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_piece_cell(piece, "/answer", &output, NULL), HD_OK);
    EXPECT_INT(hd_sink_new(output, note_sight, &seen, NULL, NULL), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(seen, 1);
    EXPECT_INT(desk.started, 0);
    hd_cell_free(output);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}
