/* A run that fails is subscribed to what it looked at, through the public
 * header: it runs again when one of these places changes. */

#include "unit/api/fixture.h"

/* What an effect or a computation does with its cell. */
enum step {
    GET,
    GET_INT,
    COUNT,
    RESOLVE,
    SET,
    INCREMENT,
};

struct attempt {
    hd_cell *cell;
    hd_cell *output; /* of a computation; or NULL */
    enum step step;
    bool goes_on; /* returns HD_OK whatever happens */
    unsigned calls;
    hd_status last;
};

static hd_status take_step(const struct attempt *attempt)
{
    hd_value *value = NULL;
    hd_cell *target = NULL;
    int64_t number = 0;
    size_t count = 0;
    hd_status status = HD_OK;
    switch (attempt->step) {
    case GET:
        status = hd_cell_get(attempt->cell, &value, NULL);
        break;
    case GET_INT:
        status = hd_cell_get_int(attempt->cell, &number, NULL);
        break;
    case COUNT:
        status = hd_cell_count(attempt->cell, &count, NULL);
        break;
    case RESOLVE:
        status = hd_cell_resolve(attempt->cell, &target, NULL);
        break;
    case SET:
        status = hd_cell_set_int(attempt->cell, 7, NULL);
        break;
    case INCREMENT:
        status = hd_cell_increment(attempt->cell, 1, NULL);
        break;
    }
    hd_value_unref(value);
    hd_cell_free(target);
    return status;
}

static hd_status run(hd_run *run, void *context)
{
    (void)run;
    struct attempt *attempt = context;
    attempt->calls++;
    attempt->last = take_step(attempt);
    if (attempt->last == HD_OK && attempt->output != NULL) {
        return hd_cell_set_int(attempt->output, attempt->calls, NULL);
    }
    return attempt->goes_on ? HD_OK : attempt->last;
}

static void effect(struct fixture *fixture, struct attempt *attempt)
{
    hd_error error;
    const hd_node_options options = {.run = run, .context = attempt};
    EXPECT_INT(hd_effect_new(fixture->runtime, &options, NULL, &error), HD_OK);
    fixture_settle(fixture);
}

static void ignore(void *context, const hd_value *value)
{
    (void)context;
    (void)value;
}

static void computation(struct fixture *fixture, struct attempt *attempt)
{
    hd_error error;
    attempt->output = cell_of(fixture, "output", NULL);
    const hd_node_options options = {
        .run = run,
        .context = attempt,
        .writes = &attempt->output,
        .write_count = 1,
    };
    const hd_sink_options sink = {.sink = ignore};
    EXPECT_INT(hd_computation_new(fixture->runtime, &options, NULL, &error),
               HD_OK);
    EXPECT_INT(hd_sink_new_with(attempt->output, &sink, NULL, &error), HD_OK);
    fixture_settle(fixture);
}

/* a is a link to b, and b one to a. */
static void make_cycle(hd_cell *a, hd_cell *b)
{
    hd_error error;
    EXPECT_INT(hd_cell_set_link(a, b, &error), HD_OK);
    EXPECT_INT(hd_cell_set_link(b, a, &error), HD_OK);
}

/* b becomes a link to c. */
static void repair(struct fixture *fixture, hd_cell *b, hd_cell *c)
{
    hd_error error;
    EXPECT_INT(hd_cell_set_link(b, c, &error), HD_OK);
    fixture_settle(fixture);
}

TEST(a_cycle_that_is_repaired_wakes_who_met_it)
{
    static const enum step steps[] = {GET, GET_INT, RESOLVE, SET, INCREMENT};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (unsigned form = 0; form < 3; form++) {
            struct fixture fixture;
            fixture_open(&fixture, NULL, 1);
            hd_cell *a = cell_of(&fixture, "a", NULL);
            hd_cell *b = cell_of(&fixture, "b", NULL);
            hd_cell *c = cell_of(&fixture, "c", NULL);
            set_json(c, "5");
            make_cycle(a, b);
            struct attempt attempt = {
                .cell = a,
                .step = steps[i],
                .goes_on = form == 1,
            };
            if (form == 2 && steps[i] != SET && steps[i] != INCREMENT) {
                computation(&fixture, &attempt);
            } else {
                effect(&fixture, &attempt);
            }
            EXPECT_INT(attempt.last, HD_ARGUMENT);
            EXPECT_EQ(attempt.calls, 1);
            repair(&fixture, b, c);
            EXPECT_INT(attempt.last, HD_OK);
            EXPECT(attempt.calls >= 2);
            hd_cell_free(attempt.output);
            hd_cell_free(c);
            hd_cell_free(b);
            hd_cell_free(a);
            fixture_close(&fixture);
        }
    }
}

/* The step fails on `before`, at `path` of the document, and does not on
 * `after`. */
static void expect_woken(enum step step,
                         const char *path,
                         const char *before,
                         const char *after,
                         hd_status fails)
{
    for (unsigned form = 0; form < 2; form++) {
        struct fixture fixture;
        fixture_open(&fixture, NULL, 1);
        hd_cell *document = cell_of(&fixture, "d", NULL);
        hd_cell *at = cell_of(&fixture, "d", path);
        set_json(document, before);
        struct attempt attempt = {
            .cell = at,
            .step = step,
            .goes_on = form == 1,
        };
        effect(&fixture, &attempt);
        EXPECT_INT(attempt.last, fails);
        EXPECT_EQ(attempt.calls, 1);
        set_json(document, after);
        fixture_settle(&fixture);
        EXPECT_INT(attempt.last, HD_OK);
        hd_cell_free(at);
        hd_cell_free(document);
        fixture_close(&fixture);
    }
}

TEST(a_value_that_gets_the_right_type_wakes_who_failed_on_it)
{
    expect_woken(GET_INT, "/n", "{\"n\":\"x\"}", "{\"n\":1}", HD_TYPE);
    expect_woken(GET_INT,
                 "/a/n",
                 "{\"a\":5}",
                 "{\"a\":{\"n\":1}}",
                 HD_NOT_FOUND);
    expect_woken(COUNT, "/n", "{\"n\":1}", "{\"n\":[]}", HD_TYPE);
    expect_woken(GET_INT, "/n", "{}", "{\"n\":1}", HD_NOT_FOUND);
}

TEST(a_write_that_did_not_fit_is_tried_when_the_document_changes)
{
    expect_woken(SET, "/a/b", "{\"a\":5}", "{\"a\":{}}", HD_TYPE);
    expect_woken(INCREMENT, "/n", "{\"n\":\"x\"}", "{\"n\":1}", HD_TYPE);
}

TEST(a_write_that_did_not_fit_the_schema_is_tried_when_the_document_changes)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *document = cell_of(&fixture, "d", NULL);
    hd_cell *at = cell_of(&fixture, "d", "/n");
    hd_value *schema = value_of("{\"properties\":{\"n\":{\"maximum\":100}}}");
    hd_error error;
    EXPECT_INT(hd_cell_set_schema(document, schema, false, &error), HD_OK);
    set_json(document, "{\"n\":100}");
    struct attempt attempt = {.cell = at, .step = INCREMENT};
    effect(&fixture, &attempt);
    EXPECT_INT(attempt.last, HD_SCHEMA);
    set_json(document, "{\"n\":50}");
    fixture_settle(&fixture);
    EXPECT_INT(attempt.last, HD_OK);
    expect_json(document, "{\"n\":51}");
    hd_value_unref(schema);
    hd_cell_free(at);
    hd_cell_free(document);
    fixture_close(&fixture);
}

TEST(a_label_that_is_taken_away_wakes_who_was_not_cleared)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = cell_of(&fixture, "pay", NULL);
    hd_value *labels = value_of("[\"salary\"]");
    hd_value *none = value_of("[]");
    hd_error error;
    set_json(cell, "100");
    EXPECT_INT(hd_cell_set_labels(cell, labels, &error), HD_OK);
    struct attempt attempt = {.cell = cell, .step = GET};
    effect(&fixture, &attempt);
    EXPECT_INT(attempt.last, HD_CLEARANCE);
    EXPECT_INT(hd_cell_set_labels(cell, none, &error), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(attempt.last, HD_OK);
    hd_value_unref(none);
    hd_value_unref(labels);
    hd_cell_free(cell);
    fixture_close(&fixture);
}
