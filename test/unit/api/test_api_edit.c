/* Writes from outside, and what transactions see of computations after their
 * own writes, through the public header. */

#include "unit/api/fixture.h"

/* -- Computations on the view of a transaction --------------------------- */

/* state -> twice -> plus: plus = 2 * state + 1. */
struct sums {
    struct fixture fixture;
    hd_cell *stream;
    hd_cell *state;
    hd_cell *twice;
    hd_cell *plus;
    unsigned runs;
    hd_status fails; /* of what computes `plus` */
    int64_t before;  /* what was read before a write of 20, */
    int64_t after;   /* and after it */
    hd_status status;
    char said[300];
};

static hd_status compute_twice(hd_run *run, void *context)
{
    (void)run;
    struct sums *sums = context;
    int64_t state = 0;
    sums->runs++;
    const hd_status status = hd_cell_get_int(sums->state, &state, NULL);
    return status != HD_OK ? status
                           : hd_cell_set_int(sums->twice, state * 2, NULL);
}

static hd_status compute_plus(hd_run *run, void *context)
{
    struct sums *sums = context;
    int64_t twice = 0;
    hd_status status = hd_cell_get_int(sums->twice, &twice, NULL);
    if (status == HD_OK && twice > 20 && sums->fails != HD_OK) {
        status = hd_run_fail(run, sums->fails, "it is too much");
    }
    return status != HD_OK ? status
                           : hd_cell_set_int(sums->plus, twice + 1, NULL);
}

static void compute(struct sums *sums,
                    const char *name,
                    hd_run_fn *run,
                    hd_cell *output)
{
    const hd_node_options options = {
        .name = name,
        .run = run,
        .context = sums,
        .writes = &output,
        .write_count = 1,
    };
    EXPECT_INT(hd_computation_new(sums->fixture.runtime, &options, NULL, NULL),
               HD_OK);
}

static void sums_open_in(struct sums *sums, const char *folder)
{
    *sums = (struct sums){0};
    fixture_open(&sums->fixture, folder, 1);
    sums->stream = cell_of(&sums->fixture, "inbox", NULL);
    sums->state = cell_of(&sums->fixture, "state", NULL);
    sums->twice = cell_of(&sums->fixture, "twice", NULL);
    sums->plus = cell_of(&sums->fixture, "plus", NULL);
    set_json(sums->state, "5");
    compute(sums, "twice", compute_twice, sums->twice);
    compute(sums, "plus", compute_plus, sums->plus);
}

static void sums_open(struct sums *sums)
{
    sums_open_in(sums, NULL);
}

static void sums_close(struct sums *sums)
{
    hd_cell_free(sums->stream);
    hd_cell_free(sums->state);
    hd_cell_free(sums->twice);
    hd_cell_free(sums->plus);
    fixture_close(&sums->fixture);
}

static void send_to(struct sums *sums,
                    hd_run_fn *run,
                    void *context,
                    hd_outcome want)
{
    const hd_handler_options options = {
        .name = "use",
        .run = run,
        .context = context,
    };
    hd_ticket *ticket = NULL;
    hd_value *payload = value_of("1");
    EXPECT_INT(hd_handler_new(sums->stream, &options, NULL, NULL), HD_OK);
    EXPECT_INT(hd_cell_send(sums->stream, payload, NULL, &ticket, NULL), HD_OK);
    fixture_settle(&sums->fixture);
    hd_outcome outcome = HD_WAITING;
    EXPECT_INT(hd_ticket_outcome(ticket, &outcome), HD_OK);
    EXPECT_INT(outcome, want);
    hd_ticket_free(ticket);
    hd_value_unref(payload);
}

/* Reads, writes and reads again. */
static hd_status use(struct sums *sums)
{
    hd_error error;
    hd_status status = hd_cell_get_int(sums->plus, &sums->before, NULL);
    if (status == HD_OK) {
        status = hd_cell_set_int(sums->state, 20, NULL);
    }
    if (status == HD_OK) {
        status = hd_cell_get_int(sums->plus, &sums->after, &error);
        (void)snprintf(sums->said, sizeof sums->said, "%s", error.text);
    }
    sums->status = status;
    return status;
}

static hd_status handle(hd_run *run, void *context)
{
    (void)run;
    return use(context);
}

static hd_status edit(hd_runtime *runtime, void *context)
{
    (void)runtime;
    return use(context);
}

static void send_one(struct sums *sums, hd_outcome want)
{
    send_to(sums, handle, sums, want);
}

TEST(a_handler_sees_computations_with_what_it_has_written)
{
    struct sums sums;
    sums_open(&sums);
    send_one(&sums, HD_DONE);
    EXPECT_EQ(sums.before, 11);
    EXPECT_EQ(sums.after, 41);
    hd_value *value = NULL;
    EXPECT_INT(hd_cell_pull(sums.plus, &value, NULL), HD_OK);
    expect_value(value, "41");
    hd_value_unref(value);
    EXPECT_INT(sums.fixture.reports, 0);
    sums_close(&sums);
}

TEST(an_edit_sees_computations_with_what_it_has_written)
{
    struct sums sums;
    sums_open(&sums);
    hd_error error;
    /* Nothing has run: the edit computes, and stores nothing of it. */
    EXPECT_INT(hd_runtime_edit(sums.fixture.runtime, edit, &sums, &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    EXPECT_EQ(sums.before, 11);
    EXPECT_EQ(sums.after, 41);
    expect_json(sums.state, "20");
    expect_json(sums.plus, NULL);
    /* The next one does not see a stale value. */
    EXPECT_INT(hd_runtime_edit(sums.fixture.runtime, edit, &sums, &error),
               HD_OK);
    EXPECT_EQ(sums.before, 41);
    sums_close(&sums);
}

TEST(what_cannot_be_computed_is_an_error_of_the_read)
{
    struct sums sums;
    sums_open(&sums);
    sums.fails = HD_RANGE;
    hd_error error;
    EXPECT_INT(hd_runtime_edit(sums.fixture.runtime, edit, &sums, &error),
               HD_GIVEN_UP);
    EXPECT_CONTAINS(error.text, "plus");
    EXPECT_CONTAINS(error.text, "it is too much");
    EXPECT_EQ(sums.before, 11);
    EXPECT_EQ(sums.after, 0);
    expect_json(sums.state, "5");
    send_one(&sums, HD_FAILED);
    EXPECT_INT(sums.status, HD_GIVEN_UP);
    EXPECT_CONTAINS(sums.said, "it is too much");
    expect_json(sums.state, "5");
    sums_close(&sums);
}

/* -- The order of writes -------------------------------------------------- */

/* A link of one runtime that another one turns from "a" to "b" before the first
 * one's write through it has landed. */
struct turned {
    char folder[256];
    struct fixture one;
    struct fixture two;
    hd_cell *link;
    hd_cell *a;
    hd_cell *b;
};

static void turned_open(struct turned *turned)
{
    kit_folder_new(turned->folder, sizeof turned->folder);
    fixture_open(&turned->one, turned->folder, 1);
    fixture_open(&turned->two, turned->folder, 2);
    turned->link = cell_of(&turned->one, "link", NULL);
    turned->a = cell_of(&turned->one, "a", NULL);
    turned->b = cell_of(&turned->one, "b", NULL);
    set_json(turned->a, "0");
    set_json(turned->b, "0");
    EXPECT_INT(hd_cell_set_link(turned->link, turned->a, NULL), HD_OK);
    fixture_settle(&turned->one);
    EXPECT_INT(hd_cell_set_int(turned->link, 1, NULL), HD_OK);
    hd_cell *link = cell_of(&turned->two, "link", NULL);
    hd_cell *b = cell_of(&turned->two, "b", NULL);
    EXPECT_INT(hd_cell_set_link(link, b, NULL), HD_OK);
    fixture_settle(&turned->two);
    hd_cell_free(link);
    hd_cell_free(b);
}

static void turned_close(struct turned *turned)
{
    EXPECT_INT(turned->one.reports, 0);
    hd_cell_free(turned->link);
    hd_cell_free(turned->a);
    hd_cell_free(turned->b);
    fixture_close(&turned->one);
    fixture_close(&turned->two);
    kit_folder_remove(turned->folder);
}

TEST(a_write_that_is_made_again_does_not_overwrite_a_later_one)
{
    struct turned turned;
    turned_open(&turned);
    EXPECT_INT(hd_cell_set_int(turned.b, 2, NULL), HD_OK);
    fixture_settle(&turned.one);
    expect_json(turned.a, "0");
    expect_json(turned.b, "2");
    turned_close(&turned);
}

static hd_status set_five(hd_runtime *runtime, void *context)
{
    (void)runtime;
    return hd_cell_set_int(context, 5, NULL);
}

TEST(an_edit_comes_after_the_writes_before_it)
{
    struct turned turned;
    turned_open(&turned);
    hd_error error;
    EXPECT_INT(hd_runtime_edit(turned.one.runtime, set_five, turned.b, &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    fixture_settle(&turned.one);
    expect_json(turned.a, "0");
    expect_json(turned.b, "5");
    turned_close(&turned);
}

/* -- On an old view ------------------------------------------------------ */

/* Two runtimes on one directory. The second has read the list while it had one
 * element; the first has appended two since. */
struct lists {
    char folder[256];
    struct fixture one;
    struct fixture two;
    hd_cell *first;  /* the list, of the first runtime */
    hd_cell *second; /* its third element, of the second one */
    unsigned calls;
};

static void lists_open(struct lists *lists)
{
    *lists = (struct lists){0};
    kit_folder_new(lists->folder, sizeof lists->folder);
    fixture_open(&lists->one, lists->folder, 1);
    fixture_open(&lists->two, lists->folder, 2);
    lists->first = cell_of(&lists->one, "list", NULL);
    lists->second = cell_of(&lists->two, "list", "/2");
    set_json(lists->first, "[1]");
    fixture_settle(&lists->one);
    hd_cell *old = cell_of(&lists->two, "list", NULL);
    expect_json(old, "[1]");
    hd_cell_free(old);
    for (int i = 2; i <= 3; i++) {
        hd_value *value = value_of(i == 2 ? "2" : "3");
        EXPECT_INT(hd_cell_append(lists->first, value, NULL), HD_OK);
        hd_value_unref(value);
    }
    fixture_settle(&lists->one);
}

static void lists_close(struct lists *lists, const char *want)
{
    fixture_settle(&lists->two);
    fixture_settle(&lists->one);
    expect_json(lists->first, want);
    EXPECT_INT(lists->one.reports, 0);
    EXPECT_INT(lists->two.reports, 0);
    hd_cell_free(lists->first);
    hd_cell_free(lists->second);
    fixture_close(&lists->one);
    fixture_close(&lists->two);
    kit_folder_remove(lists->folder);
}

static hd_status set_third(hd_runtime *runtime, void *context)
{
    (void)runtime;
    struct lists *lists = context;
    lists->calls++;
    return hd_cell_set_int(lists->second, 5, NULL);
}

TEST(a_write_that_fails_on_an_old_view_is_made_on_the_new_one)
{
    struct lists lists;
    lists_open(&lists);
    EXPECT_INT(hd_cell_set_int(lists.second, 5, NULL), HD_OK);
    lists_close(&lists, "[1,2,5]");
}

TEST(an_edit_that_fails_on_an_old_view_is_made_on_the_new_one)
{
    struct lists lists;
    lists_open(&lists);
    EXPECT_INT(hd_runtime_edit(lists.two.runtime, set_third, &lists, NULL),
               HD_OK);
    EXPECT_INT(lists.calls, 2);
    lists_close(&lists, "[1,2,5]");
}

TEST(an_edit_that_fails_on_the_newest_view_is_called_once)
{
    struct lists lists;
    lists_open(&lists);
    set_json(lists.first, "[1]");
    fixture_settle(&lists.one);
    fixture_settle(&lists.two);
    hd_error error;
    EXPECT_INT(hd_runtime_edit(lists.two.runtime, set_third, &lists, &error),
               HD_RANGE);
    EXPECT_INT(lists.calls, 1);
    lists_close(&lists, "[1]");
}

/* -- Inputs that change meanwhile ---------------------------------------- */

/* A second runtime on the directory sets `state` to 50 while the first one is
 * about to store what it has read of `plus`. */
struct rivals {
    char folder[256];
    struct sums sums;
    struct fixture two;
    hd_cell *state; /* of the second runtime */
    hd_cell *seen;  /* of the first one */
    unsigned calls;
};

static void rivals_open(struct rivals *rivals)
{
    *rivals = (struct rivals){0};
    kit_folder_new(rivals->folder, sizeof rivals->folder);
    sums_open_in(&rivals->sums, rivals->folder);
    rivals->seen = cell_of(&rivals->sums.fixture, "seen", NULL);
    set_json(rivals->seen, "0");
    fixture_settle(&rivals->sums.fixture);
    hd_value *value = NULL;
    EXPECT_INT(hd_cell_pull(rivals->sums.plus, &value, NULL), HD_OK);
    expect_value(value, "11");
    hd_value_unref(value);
    fixture_settle(&rivals->sums.fixture);
    fixture_open(&rivals->two, rivals->folder, 2);
    rivals->state = cell_of(&rivals->two, "state", NULL);
}

static void rivals_close(struct rivals *rivals)
{
    EXPECT_INT(rivals->calls, 2);
    expect_json(rivals->seen, "101");
    EXPECT_INT(rivals->sums.fixture.reports, 0);
    hd_cell_free(rivals->state);
    hd_cell_free(rivals->seen);
    fixture_close(&rivals->two);
    sums_close(&rivals->sums);
    kit_folder_remove(rivals->folder);
}

static hd_status store_plus(struct rivals *rivals)
{
    int64_t plus = 0;
    hd_status status = hd_cell_get_int(rivals->sums.plus, &plus, NULL);
    if (status != HD_OK) {
        return status;
    }
    if (rivals->calls++ == 0) {
        set_json(rivals->state, "50");
        fixture_settle(&rivals->two);
    }
    return hd_cell_set_int(rivals->seen, plus, NULL);
}

static hd_status handle_plus(hd_run *run, void *context)
{
    (void)run;
    return store_plus(context);
}

static hd_status edit_plus(hd_runtime *runtime, void *context)
{
    (void)runtime;
    return store_plus(context);
}

TEST(a_handler_does_not_commit_on_a_computation_whose_input_has_changed)
{
    struct rivals rivals;
    rivals_open(&rivals);
    send_to(&rivals.sums, handle_plus, &rivals, HD_DONE);
    rivals_close(&rivals);
}

TEST(an_edit_does_not_commit_on_a_computation_whose_input_has_changed)
{
    struct rivals rivals;
    rivals_open(&rivals);
    hd_error error;
    EXPECT_INT(hd_runtime_edit(rivals.sums.fixture.runtime,
                               edit_plus,
                               &rivals,
                               &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    rivals_close(&rivals);
}
