/* Scopes through the public header: two users on one directory. */

#include "base/mem.h"
#include "unit/api/fixture.h"

/* A pattern with a state per user, and how often its functions were called. */
struct form {
    hd_task *task; /* the last that was begun */
    unsigned tasks;
    unsigned totals;
    unsigned twices;
    unsigned doubles;
};

/* The cells of one build. */
struct parts {
    struct form *form;
    hd_cell *mine;
    hd_cell *base;
    hd_cell *items;
    hd_cell *total;
};

static struct parts *parts_new(const struct parts *parts)
{
    struct parts *copy = mem_alloc(sizeof *copy);
    *copy = *parts;
    return copy;
}

static void parts_free(void *context)
{
    mem_free(context, sizeof(struct parts));
}

static hd_status return_int(hd_run *run, int64_t integer)
{
    hd_value *value = NULL;
    hd_status status = hd_value_new_int(integer, &value);
    if (status == HD_OK) {
        status = hd_run_return(run, value);
    }
    hd_value_unref(value);
    return status;
}

static hd_status run_total(hd_run *run, void *context)
{
    const struct parts *parts = context;
    int64_t mine = 0;
    int64_t base = 0;
    hd_status status = hd_cell_get_int(parts->base, &base, NULL);
    if (status == HD_OK) {
        status = hd_cell_get_int(parts->mine, &mine, NULL);
    }
    if (status != HD_OK) {
        return status;
    }
    parts->form->totals++;
    return return_int(run, base + mine);
}

static hd_status run_twice(hd_run *run, void *context)
{
    const struct parts *parts = context;
    int64_t total = 0;
    const hd_status status = hd_cell_get_int(parts->total, &total, NULL);
    if (status != HD_OK) {
        return status;
    }
    parts->form->twices++;
    return return_int(run, 2 * total);
}

static hd_status run_double(hd_run *run, hd_cell *element, void *context)
{
    struct form *form = context;
    int64_t number = 0;
    const hd_status status = hd_cell_get_int(element, &number, NULL);
    if (status != HD_OK) {
        return status;
    }
    form->doubles++;
    return return_int(run, 2 * number);
}

static void start_task(hd_task *task, const hd_value *input, void *context)
{
    (void)input;
    struct form *form = context;
    hd_task_free(form->task);
    form->task = task;
    form->tasks++;
}

static hd_status run_set(hd_run *run, void *context)
{
    const struct parts *parts = context;
    hd_value *payload = NULL;
    hd_status status = hd_run_payload(run, &payload);
    if (status == HD_OK) {
        status = hd_cell_set(parts->mine, payload, NULL);
    }
    if (status == HD_OK) {
        status = hd_cell_append(parts->items, payload, NULL);
    }
    hd_value_unref(payload);
    return status;
}

static hd_status build(hd_builder *builder, void *context)
{
    struct parts parts = {.form = context};
    hd_value *one = value_of("1");
    hd_value *ten = value_of("10");
    hd_value *list = value_of("[1,2]");
    hd_cell *twice = NULL;
    hd_cell *doubles = NULL;
    hd_cell *stream = NULL;
    hd_error error;
    EXPECT_INT(hd_build_state_scoped(builder,
                                     "mine",
                                     HD_SCOPE_USER,
                                     one,
                                     &parts.mine,
                                     &error),
               HD_OK);
    EXPECT_INT(hd_build_state_scoped(builder,
                                     "items",
                                     HD_SCOPE_USER,
                                     list,
                                     &parts.items,
                                     &error),
               HD_OK);
    EXPECT_INT(hd_build_state(builder, "base", ten, &parts.base, &error),
               HD_OK);
    hd_node_options node = {
        .run = run_total,
        .context = parts_new(&parts),
        .release = parts_free,
    };
    EXPECT_INT(hd_build_computed(builder, "total", &node, &parts.total, &error),
               HD_OK);
    node.run = run_twice;
    node.context = parts_new(&parts);
    EXPECT_INT(hd_build_computed(builder, "twice", &node, &twice, &error),
               HD_OK);
    const hd_list_options map = {
        .list = parts.items,
        .run = run_double,
        .context = context,
    };
    EXPECT_INT(hd_build_map(builder, "doubles", &map, &doubles, &error), HD_OK);
    const hd_task_options task = {
        .input = parts.mine,
        .start = start_task,
        .context = context,
    };
    hd_cell *answer = NULL;
    EXPECT_INT(hd_build_task(builder, "answer", &task, &answer, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "answer", answer, &error), HD_OK);
    const hd_handler_options handler = {
        .run = run_set,
        .context = parts_new(&parts),
        .release = parts_free,
    };
    EXPECT_INT(hd_build_handler(builder, "set", &handler, &stream, &error),
               HD_OK);
    EXPECT_INT(hd_build_result(builder, "total", parts.total, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "twice", twice, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "doubles", doubles, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "set", stream, &error), HD_OK);
    hd_value_unref(list);
    hd_value_unref(ten);
    hd_value_unref(one);
    return HD_OK;
}

/* One user's runtime with the piece. */
struct user {
    struct fixture fixture;
    hd_pattern *pattern;
    hd_piece *piece;
};

static void user_open(struct user *user,
                      const char *folder,
                      const char *name,
                      struct form *form)
{
    hd_error error;
    static uint64_t opened = 0; /* each has a session of its own */
    user->fixture = (struct fixture){.now = 1000, .random = ++opened * 977};
    hd_runtime_options options = fixture_options(&user->fixture);
    options.directory = folder;
    options.user = name;
    fixture_open_as(&user->fixture, &options);
    EXPECT_INT(
        hd_pattern_new("form", "1", build, form, NULL, &user->pattern, &error),
        HD_OK);
    EXPECT_INT(hd_piece_start(user->fixture.runtime,
                              user->pattern,
                              "form",
                              NULL,
                              &user->piece,
                              &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    fixture_settle(&user->fixture);
}

static void user_close(struct user *user)
{
    hd_piece_free(user->piece);
    hd_pattern_free(user->pattern);
    fixture_close(&user->fixture);
}

static void expect_get(struct user *user, const char *path, const char *json)
{
    hd_value *value = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_get(user->piece, path, &value, &error),
               json != NULL ? HD_OK : HD_NOT_FOUND);
    expect_value(value, json);
    hd_value_unref(value);
    fixture_settle(&user->fixture);
}

/* The sum, and the last of so many elements. */
static void expect_result(struct user *user,
                          const char *total,
                          const char *twice,
                          unsigned count,
                          const char *last)
{
    char path[32];
    fixture_settle(&user->fixture);
    expect_get(user, "/total", total);
    expect_get(user, "/twice", twice);
    (void)snprintf(path, sizeof path, "/doubles/%u", count - 1);
    expect_get(user, path, last);
    (void)snprintf(path, sizeof path, "/doubles/%u", count);
    expect_get(user, path, NULL);
}

static void send(struct user *user, const char *json)
{
    hd_value *payload = value_of(json);
    hd_error error;
    EXPECT_INT(hd_piece_send(user->piece, "set", payload, NULL, NULL, &error),
               HD_OK);
    hd_value_unref(payload);
    fixture_settle(&user->fixture);
}

TEST(each_user_has_the_initial_value_and_results_of_its_own)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct form form = {0};
    struct user alice;
    struct user bob;
    user_open(&alice, folder, "alice", &form);
    expect_result(&alice, "11", "22", 2, "4");
    send(&alice, "5");
    expect_result(&alice, "15", "30", 3, "10");
    user_open(&bob, folder, "bob", &form);
    expect_result(&bob, "11", "22", 2, "4");
    expect_result(&alice, "15", "30", 3, "10");
    send(&bob, "7");
    expect_result(&bob, "17", "34", 3, "14");
    expect_result(&alice, "15", "30", 3, "10");
    user_close(&bob);
    user_close(&alice);

    /* After a restart, nothing runs. */
    form = (struct form){0};
    user_open(&bob, folder, "bob", &form);
    user_open(&alice, folder, "alice", &form);
    expect_result(&alice, "15", "30", 3, "10");
    expect_result(&bob, "17", "34", 3, "14");
    EXPECT_EQ(form.totals + form.twices + form.doubles, 0);
    send(&bob, "8");
    expect_result(&bob, "18", "36", 4, "16");
    expect_result(&alice, "15", "30", 3, "10");
    EXPECT_EQ(form.totals, 1);
    EXPECT_EQ(form.twices, 1);
    EXPECT_EQ(form.doubles, 1);
    user_close(&alice);
    user_close(&bob);
    kit_folder_remove(folder);
}

TEST(a_shared_document_holds_a_link_and_no_data)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct form form = {0};
    struct user alice;
    struct user bob;
    user_open(&alice, folder, "alice", &form);
    send(&alice, "4711");
    expect_result(&alice, "4721", "9442", 3, "9422");
    user_open(&bob, folder, "bob", &form);
    EXPECT_INT(hd_piece_stop(bob.piece, NULL), HD_OK);
    hd_cell *total = cell_of(&bob.fixture, "piece:form/total", NULL);
    hd_cell *target = NULL;
    hd_value *value = NULL;
    char *text = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_get(total, &value, &error), HD_NOT_FOUND);
    EXPECT(value == NULL); /* nothing has run for Bob */
    EXPECT_INT(hd_cell_resolve(total, &target, &error), HD_OK);
    EXPECT_INT(hd_cell_text(target, &text, &error), HD_OK);
    EXPECT_TEXT(text, "main/user:piece:form/total#");
    hd_text_free(text);
    hd_cell_free(target);
    hd_cell_free(total);
    user_close(&bob);
    user_close(&alice);
    kit_folder_remove(folder);
}

/* Ends the last task with that value. */
static void finish(struct user *user, struct form *form, const char *json)
{
    hd_value *value = value_of(json);
    hd_error error;
    EXPECT_INT(hd_task_finish(form->task, value, &error), HD_OK);
    hd_value_unref(value);
    fixture_settle(&user->fixture);
}

TEST(a_task_on_a_users_data_is_that_users)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct form form = {0};
    struct user alice;
    struct user bob;
    user_open(&alice, folder, "alice", &form);
    expect_get(&alice, "/answer/state", "\"running\"");
    EXPECT_EQ(form.tasks, 1);
    finish(&alice, &form, "\"for alice\"");
    expect_get(&alice, "/answer/value", "\"for alice\"");
    user_open(&bob, folder, "bob", &form);
    expect_get(&bob, "/answer/state", "\"running\"");
    EXPECT_EQ(form.tasks, 2);
    finish(&bob, &form, "\"for bob\"");
    expect_get(&bob, "/answer/value", "\"for bob\"");
    expect_get(&alice, "/answer/value", "\"for alice\"");
    user_close(&bob);
    user_close(&alice);

    /* What is done stays so. */
    user_open(&alice, folder, "alice", &form);
    user_open(&bob, folder, "bob", &form);
    expect_get(&bob, "/answer/value", "\"for bob\"");
    expect_get(&alice, "/answer/value", "\"for alice\"");
    EXPECT_EQ(form.tasks, 2);
    send(&alice, "6");
    expect_get(&alice, "/answer/state", "\"running\"");
    expect_get(&bob, "/answer/value", "\"for bob\"");
    EXPECT_EQ(form.tasks, 3);
    user_close(&alice);

    /* What was pending is begun again. */
    user_open(&alice, folder, "alice", &form);
    expect_get(&alice, "/answer/state", "\"running\"");
    EXPECT_EQ(form.tasks, 4);
    finish(&alice, &form, "6");
    expect_get(&alice, "/answer/value", "6");
    user_close(&alice);
    user_close(&bob);
    hd_task_free(form.task);
    kit_folder_remove(folder);
}

TEST(a_scope_that_there_is_not)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = NULL;
    hd_error error;
    const hd_address address = {
        .document = "d",
        .scope = (hd_scope)7,
    };
    EXPECT_INT(hd_cell_new_at(fixture.runtime, &address, &cell, &error),
               HD_ARGUMENT);
    fixture_close(&fixture);
}

/* -- Computations of the program ----------------------------------------- */

struct copying {
    hd_cell *from;
    hd_cell *to;
    hd_status status;
};

static hd_status copy(hd_run *run, void *context)
{
    (void)run;
    struct copying *copying = context;
    int64_t number = 0;
    copying->status = hd_cell_get_int(copying->from, &number, NULL);
    if (copying->status == HD_OK) {
        copying->status = hd_cell_set_int(copying->to, number, NULL);
    }
    return copying->status;
}

static hd_cell *user_cell(struct fixture *fixture, const char *document)
{
    hd_cell *cell = NULL;
    hd_error error;
    const hd_address address = {.document = document, .scope = HD_SCOPE_USER};
    EXPECT_INT(hd_cell_new_at(fixture->runtime, &address, &cell, &error),
               HD_OK);
    return cell;
}

static void compute(struct fixture *fixture,
                    struct copying *copying,
                    hd_cell *output)
{
    hd_error error;
    const hd_node_options options = {
        .run = copy,
        .context = copying,
        .writes = &output,
        .write_count = 1,
    };
    hd_value *value = NULL;
    EXPECT_INT(hd_computation_new(fixture->runtime, &options, NULL, &error),
               HD_OK);
    EXPECT_INT(hd_cell_pull(output, &value, &error), HD_OK);
    hd_value_unref(value);
    fixture_settle(fixture);
}

TEST(a_computation_that_reads_a_users_data_writes_the_users_instance)
{
    struct fixture fixture;
    fixture = (struct fixture){.now = 1000};
    hd_runtime_options options = fixture_options(&fixture);
    options.user = "alice";
    fixture_open_with(&fixture, &options);
    struct copying whole = {
        .from = user_cell(&fixture, "mine"),
        .to = cell_of(&fixture, "out", NULL),
    };
    hd_cell *own = user_cell(&fixture, "out");
    set_json(whole.from, "5");
    compute(&fixture, &whole, whole.to);
    expect_json(whole.to, "5");
    expect_json(own, "5");
    set_json(whole.from, "6");
    hd_value *value = NULL;
    EXPECT_INT(hd_cell_pull(whole.to, &value, NULL), HD_OK);
    expect_value(value, "6");
    hd_value_unref(value);
    expect_json(own, "6");

    /* A part of a shared document is refused. */
    hd_cell *log = cell_of(&fixture, "log", NULL);
    struct copying part = {.from = whole.from,
                           .to = cell_of(&fixture, "log", "/n")};
    set_json(log, "{\"n\":0}");
    compute(&fixture, &part, log);
    EXPECT_EQ(fixture.reports, 1);
    EXPECT_CONTAINS(fixture.reported.text, "cannot write to log: it is shared");
    expect_json(log, "{\"n\":0}");

    hd_cell_free(part.to);
    hd_cell_free(log);
    hd_cell_free(own);
    hd_cell_free(whole.to);
    hd_cell_free(whole.from);
    fixture_close(&fixture);
}
