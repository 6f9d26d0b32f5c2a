/* Lists, choices, schemas and labels through the public header. */

#include "unit/api/fixture.h"

struct shelf {
    unsigned maps;
    unsigned steps;
    unsigned released;
    hd_cell *kept; /* an element, after its call */
    hd_cell *items;
    hd_cell *flag;
    hd_cell *a;
    hd_cell *b;
    bool returns_nothing;
};

static void count_release(void *context)
{
    ((struct shelf *)context)->released++;
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

static hd_status times_ten(hd_run *run, hd_cell *element, void *context)
{
    struct shelf *shelf = context;
    shelf->maps++;
    shelf->kept = element;
    int64_t integer = 0;
    hd_cell_free(element); /* is borrowed: does nothing */
    const hd_status status = hd_cell_get_int(element, &integer, NULL);
    return status != HD_OK ? status : return_int(run, integer * 10);
}

static hd_status is_large(hd_run *run, hd_cell *element, void *context)
{
    (void)context;
    int64_t integer = 0;
    hd_value *answer = NULL;
    hd_status status = hd_cell_get_int(element, &integer, NULL);
    if (status == HD_OK) {
        status = hd_value_new_bool(integer > 2, &answer);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, answer);
    }
    hd_value_unref(answer);
    return status;
}

static hd_status twice(hd_run *run, hd_cell *element, void *context)
{
    (void)context;
    hd_value *item = NULL;
    hd_value *none = value_of("[]");
    hd_value *one = NULL;
    hd_value *two = NULL;
    hd_status status = hd_cell_get(element, &item, NULL);
    if (status == HD_OK) {
        status = hd_value_set(none, "/-", HD_TERMINATED, item, &one, NULL);
    }
    if (status == HD_OK) {
        status = hd_value_set(one, "/-", HD_TERMINATED, item, &two, NULL);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, two);
    }
    hd_value_unref(two);
    hd_value_unref(one);
    hd_value_unref(none);
    hd_value_unref(item);
    return status;
}

static hd_status add_up(hd_run *run,
                        const hd_value *accumulator,
                        const hd_value *element,
                        void *context)
{
    struct shelf *shelf = context;
    shelf->steps++;
    if (shelf->returns_nothing) {
        return HD_OK;
    }
    int64_t a = 0;
    int64_t b = 0;
    hd_status status = hd_value_get_int(accumulator, &a);
    if (status == HD_OK) {
        status = hd_value_get_int(element, &b);
    }
    return status != HD_OK ? status : return_int(run, a + b);
}

static void build_lists(hd_builder *builder, struct shelf *shelf)
{
    hd_cell *outs[4] = {NULL, NULL, NULL, NULL};
    hd_list_options list = {
        .list = shelf->items,
        .run = times_ten,
        .context = shelf,
        .release = count_release,
    };
    hd_error error;
    EXPECT_INT(hd_build_map(builder, "tens", &list, &outs[0], &error), HD_OK);
    list.run = is_large;
    EXPECT_INT(hd_build_filter(builder, "large", &list, &outs[1], &error),
               HD_OK);
    list.run = twice;
    EXPECT_INT(hd_build_flat_map(builder, "twice", &list, &outs[2], &error),
               HD_OK);
    hd_value *zero = value_of("0");
    const hd_reduce_options reduce = {
        .list = shelf->items,
        .initial = zero,
        .run = add_up,
        .context = shelf,
        .release = count_release,
    };
    EXPECT_INT(hd_build_reduce(builder, "sum", &reduce, &outs[3], &error),
               HD_OK);
    hd_value_unref(zero);
    static const char *const names[] = {"tens", "large", "twice", "sum"};
    for (size_t i = 0; i < 4; i++) {
        EXPECT_INT(hd_build_result(builder, names[i], outs[i], &error), HD_OK);
    }
}

static hd_status build(hd_builder *builder, void *context)
{
    struct shelf *shelf = context;
    hd_value *items = value_of("[1,2,3]");
    hd_value *flag = value_of("true");
    hd_cell *either = NULL;
    hd_cell *maybe = NULL;
    hd_error error;
    EXPECT_INT(hd_build_state(builder, "items", items, &shelf->items, &error),
               HD_OK);
    EXPECT_INT(hd_build_state(builder, "flag", flag, &shelf->flag, &error),
               HD_OK);
    EXPECT_INT(hd_build_state(builder, "a", items, &shelf->a, &error), HD_OK);
    EXPECT_INT(hd_build_state(builder, "b", flag, &shelf->b, &error), HD_OK);
    build_lists(builder, shelf);
    EXPECT_INT(hd_build_if_else(builder,
                                "either",
                                shelf->flag,
                                shelf->a,
                                shelf->b,
                                &either,
                                &error),
               HD_OK);
    EXPECT_INT(
        hd_build_when(builder, "maybe", shelf->flag, shelf->a, &maybe, &error),
        HD_OK);
    EXPECT_INT(hd_build_result(builder, "items", shelf->items, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "flag", shelf->flag, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "either", either, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "maybe", maybe, &error), HD_OK);
    hd_value_unref(flag);
    hd_value_unref(items);
    return HD_OK;
}

static void expect_get(hd_piece *piece, const char *path, const char *json)
{
    hd_value *value = NULL;
    EXPECT_INT(hd_piece_get(piece, path, &value, NULL),
               json != NULL ? HD_OK : HD_NOT_FOUND);
    expect_value(value, json);
    hd_value_unref(value);
}

static hd_piece *shelf_open(struct fixture *fixture, struct shelf *shelf)
{
    fixture_open(fixture, NULL, 1);
    *shelf = (struct shelf){0};
    hd_pattern *pattern = NULL;
    hd_piece *piece = NULL;
    hd_error error;
    EXPECT_INT(
        hd_pattern_new("shelf", "1", build, shelf, NULL, &pattern, &error),
        HD_OK);
    EXPECT_INT(
        hd_piece_start(fixture->runtime, pattern, "one", NULL, &piece, &error),
        HD_OK);
    hd_pattern_free(pattern);
    fixture_settle(fixture);
    return piece;
}

TEST(lists_have_one_child_an_element)
{
    struct fixture fixture;
    struct shelf shelf;
    hd_piece *piece = shelf_open(&fixture, &shelf);
    expect_get(piece, "/tens/0", "10");
    expect_get(piece, "/tens/2", "30");
    EXPECT_EQ(shelf.maps, 2); /* nobody has looked at the one between */
    expect_get(piece, "/tens/1", "20");
    expect_get(piece, "/large/0", "3");
    expect_get(piece, "/large/1", NULL);
    expect_get(piece, "/twice", "[1,1,2,2,3,3]");
    expect_get(piece, "/sum", "6");
    EXPECT_EQ(shelf.maps, 3);

    /* An edit runs one child, a move none. */
    hd_cell *items = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/items", &items, NULL), HD_OK);
    set_json(items, "[1,7,3]");
    expect_get(piece, "/tens/1", "70");
    EXPECT_EQ(shelf.maps, 4);
    set_json(items, "[3,7,1]");
    expect_get(piece, "/tens/0", "30");
    expect_get(piece, "/tens/2", "10");
    EXPECT_EQ(shelf.maps, 4);
    expect_get(piece, "/large/1", "7");

    /* What was lent is over. */
    int64_t integer = 0;
    hd_error error;
    EXPECT_INT(hd_cell_get_int(shelf.kept, &integer, &error), HD_MISUSE);
    EXPECT_CONTAINS(error.text, "valid only during a call");
    hd_cell_free(items);
    hd_piece_free(piece);
    fixture_close(&fixture);
    EXPECT_EQ(shelf.released, 4);
}

TEST(a_reduction_that_returns_nothing_fails)
{
    struct fixture fixture;
    struct shelf shelf;
    hd_piece *piece = shelf_open(&fixture, &shelf);
    expect_get(piece, "/sum", "6");
    shelf.returns_nothing = true;
    hd_cell *items = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/items", &items, NULL), HD_OK);
    set_json(items, "[1,1]");
    hd_value *value = NULL;
    EXPECT_INT(hd_piece_get(piece, "/sum", &value, NULL), HD_OK);
    hd_value_unref(value);
    EXPECT(fixture.reports > 0);
    EXPECT_CONTAINS(fixture.reported.text, "no value");
    hd_cell_free(items);
    hd_piece_free(piece);
    fixture_close(&fixture);
}

TEST(choices_lead_to_one_of_two)
{
    struct fixture fixture;
    struct shelf shelf;
    hd_piece *piece = shelf_open(&fixture, &shelf);
    expect_get(piece, "/either", "[1,2,3]");
    expect_get(piece, "/maybe", "[1,2,3]");
    hd_cell *flag = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/flag", &flag, NULL), HD_OK);
    set_json(flag, "false");
    expect_get(piece, "/either", "true");
    expect_get(piece, "/maybe", NULL);
    hd_cell_free(flag);
    hd_piece_free(piece);
    fixture_close(&fixture);
}

static hd_status build_wrongly(hd_builder *builder, void *context)
{
    struct shelf *shelf = context;
    hd_cell *cell = NULL;
    hd_error error;
    EXPECT_INT(hd_build_state(builder, "x", NULL, &cell, &error), HD_OK);
    hd_list_options list = {.context = shelf, .release = count_release};
    EXPECT_INT(hd_build_map(builder, "m", NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_map(builder, "m", &list, NULL, &error), HD_ARGUMENT);
    EXPECT_EQ(shelf->released, 1);
    list.run = times_ten;
    EXPECT_INT(hd_build_filter(builder, "m", &list, NULL, &error), HD_ARGUMENT);
    list.list = cell;
    EXPECT_INT(hd_build_flat_map(builder, NULL, &list, NULL, &error),
               HD_ARGUMENT);
    EXPECT_EQ(shelf->released, 3);
    hd_reduce_options reduce = {
        .list = cell,
        .run = add_up,
        .context = shelf,
        .release = count_release,
    };
    EXPECT_INT(hd_build_reduce(builder, "r", NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_reduce(builder, "r", &reduce, NULL, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "initial");
    EXPECT_EQ(shelf->released, 4);
    EXPECT_INT(hd_build_if_else(builder, "i", cell, cell, NULL, NULL, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "otherwise");
    EXPECT_INT(hd_build_when(builder, "w", NULL, cell, NULL, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "condition");
    return HD_OK;
}

TEST(wrong_lists_and_choices_are_refused_one_by_one)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shelf shelf = {0};
    hd_pattern *pattern = NULL;
    EXPECT_INT(hd_pattern_new("wrong",
                              NULL,
                              build_wrongly,
                              &shelf,
                              NULL,
                              &pattern,
                              NULL),
               HD_OK);
    EXPECT_INT(hd_piece_start(fixture.runtime, pattern, "p", NULL, NULL, NULL),
               HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(shelf.released, 4);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

/* -- Schemas ------------------------------------------------------------- */

TEST(a_write_that_does_not_fit_its_schema_is_refused)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cart = cell_of(&fixture, "cart", NULL);
    hd_cell *n = cell_of(&fixture, "cart", "/n");
    hd_value *schema = value_of(
        "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{"
        "\"type\":\"integer\"},\"m\":{\"default\":5}}}");
    hd_error error;
    EXPECT_INT(hd_cell_set_schema(cart, schema, true, &error), HD_OK);
    set_json(cart, "{\"n\":1}");
    expect_json(cart, "{\"m\":5,\"n\":1}");
    EXPECT_INT(hd_cell_set_text(n, "a", 1, &error), HD_SCHEMA);
    EXPECT_CONTAINS(error.text, "/n");
    EXPECT_TEXT(error.address, "main/cart#/n");
    hd_value *false_schema = value_of("{\"properties\":{\"l\":false}}");
    hd_cell *l = cell_of(&fixture, "other", "/l");
    hd_cell *other = cell_of(&fixture, "other", NULL);
    set_json(other, "{}");
    EXPECT_INT(hd_cell_set_schema(other, false_schema, false, &error), HD_OK);
    EXPECT_INT(hd_cell_set_link(l, cart, &error), HD_SCHEMA);
    expect_json(other, "{}");
    hd_value_unref(false_schema);
    hd_cell_free(other);
    hd_cell_free(l);
    expect_json(cart, "{\"m\":5,\"n\":1}");
    EXPECT_INT(hd_cell_set_schema(cart, NULL, false, &error), HD_OK);
    EXPECT_INT(hd_cell_set_text(n, "a", 1, &error), HD_OK);
    hd_value *bad = value_of("{\"type\":\"fish\"}");
    EXPECT_INT(hd_cell_set_schema(cart, bad, false, &error),
               HD_SCHEMA_MALFORMED);
    EXPECT_CONTAINS(error.text, "schema");
    hd_value_unref(bad);
    hd_value_unref(schema);
    hd_cell_free(n);
    hd_cell_free(cart);
    fixture_close(&fixture);
}

static hd_status handle(hd_run *run, void *context)
{
    (void)run;
    ++*(unsigned *)context;
    return HD_OK;
}

TEST(a_payload_that_does_not_fit_its_schema_is_not_handled)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *stream = cell_of(&fixture, "s", NULL);
    hd_value *schema = value_of("{\"type\":\"integer\"}");
    unsigned calls = 0;
    const hd_handler_options options = {.run = handle, .context = &calls};
    hd_error error;
    EXPECT_INT(hd_cell_set_payload_schema(stream, schema, false, &error),
               HD_OK);
    EXPECT_INT(hd_handler_new(stream, &options, NULL, &error), HD_OK);
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_cell_send(stream, schema, NULL, &ticket, &error), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(calls, 0);
    EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
    EXPECT_INT(error.status, HD_SCHEMA);
    hd_ticket_free(ticket);
    hd_value *payload = value_of("1");
    EXPECT_INT(hd_cell_send(stream, payload, NULL, NULL, &error), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(calls, 1);
    hd_value_unref(payload);
    hd_value_unref(schema);
    hd_cell_free(stream);
    fixture_close(&fixture);
}

/* -- Labels -------------------------------------------------------------- */

struct spy {
    hd_cell *cell;
    hd_cell *copy;
    unsigned seen;
    unsigned released;
};

static hd_status copy_it(hd_run *run, void *context)
{
    (void)run;
    const struct spy *spy = context;
    hd_value *value = NULL;
    hd_status status = hd_cell_get(spy->cell, &value, NULL);
    if (status == HD_OK) {
        status = hd_cell_set(spy->copy, value, NULL);
    }
    hd_value_unref(value);
    return status;
}

static hd_status look_at(hd_run *run, void *context)
{
    (void)run;
    struct spy *spy = context;
    hd_value *value = NULL;
    const hd_status status = hd_cell_get(spy->copy, &value, NULL);
    spy->seen += status == HD_OK ? 1 : 0;
    hd_value_unref(value);
    return status;
}

static void see(void *context, const hd_value *value)
{
    ((struct spy *)context)->seen += value != NULL ? 1 : 0;
}

static void let_go(void *context)
{
    ((struct spy *)context)->released++;
}

TEST(a_sink_sees_the_labels_of_its_clearance)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct spy spy = {.cell = cell_of(&fixture, "pay", NULL)};
    struct spy cleared = spy;
    hd_value *labels = value_of("[\"salary\"]");
    hd_value *wrong = value_of("\"salary\"");
    hd_error error;
    set_json(spy.cell, "100");
    EXPECT_INT(hd_cell_set_labels(spy.cell, labels, &error), HD_OK);
    hd_sink_options sink = {.sink = see, .context = &spy, .release = let_go};
    EXPECT_INT(hd_sink_new_with(spy.cell, &sink, NULL, &error), HD_OK);
    sink.context = &cleared;
    sink.clearance = wrong;
    EXPECT_INT(hd_sink_new_with(spy.cell, &sink, NULL, &error), HD_ARGUMENT);
    EXPECT_EQ(cleared.released, 1);
    sink.clearance = labels;
    sink.name = "";
    EXPECT_INT(hd_sink_new_with(spy.cell, &sink, NULL, &error), HD_ARGUMENT);
    EXPECT_EQ(cleared.released, 2);
    sink.name = "watch";
    hd_node *node = NULL;
    EXPECT_INT(hd_sink_new_with(spy.cell, &sink, &node, &error), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(spy.seen, 0);
    EXPECT_EQ(cleared.seen, 1);
    EXPECT_INT(fixture.reported.status, HD_CLEARANCE);
    EXPECT_TEXT(fixture.reported.address, "sink");
    EXPECT_INT(hd_node_remove(node), HD_OK);
    EXPECT_EQ(cleared.released, 3);
    hd_node_free(node);
    hd_value_unref(wrong);
    hd_value_unref(labels);
    hd_cell_free(spy.cell);
    fixture_close(&fixture);
    EXPECT_EQ(spy.released, 1);
}

/* Two effects of a pattern that look at a document with a label. */
struct office {
    struct spy spy;
    struct spy cleared;
    hd_value *labels;
    hd_value *wrong;
};

static hd_status build_office(hd_builder *builder, void *context)
{
    struct office *office = context;
    hd_error error;
    hd_node_options look = {.run = look_at, .context = &office->spy};
    EXPECT_INT(hd_build_effect(builder, "spy", &look, &error), HD_OK);
    look.context = &office->cleared;
    look.release = let_go;
    look.clearance = office->wrong;
    EXPECT_INT(hd_build_effect(builder, "wrong", &look, &error), HD_ARGUMENT);
    EXPECT_TEXT(error.address, "wrong");
    EXPECT_EQ(office->cleared.released, 1);
    look.clearance = office->labels;
    EXPECT_INT(hd_build_computed(builder, "sum", &look, NULL, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "cannot have a clearance");
    EXPECT_EQ(office->cleared.released, 2);
    EXPECT_INT(hd_build_effect(builder, "cleared", &look, &error), HD_OK);
    return HD_OK;
}

TEST(an_effect_of_a_pattern_sees_the_labels_of_its_clearance)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct office office = {
        .spy = {.copy = cell_of(&fixture, "pay", NULL)},
        .labels = value_of("[\"salary\"]"),
        .wrong = value_of("[1]"),
    };
    office.cleared = office.spy;
    set_json(office.spy.copy, "100");
    EXPECT_INT(hd_cell_set_labels(office.spy.copy, office.labels, NULL), HD_OK);
    hd_pattern *pattern = NULL;
    hd_error error;
    EXPECT_INT(hd_pattern_new("office",
                              "1",
                              build_office,
                              &office,
                              NULL,
                              &pattern,
                              &error),
               HD_OK);
    EXPECT_INT(
        hd_piece_start(fixture.runtime, pattern, "o", NULL, NULL, &error),
        HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(office.spy.seen, 0);
    EXPECT_EQ(office.cleared.seen, 1);
    EXPECT_INT(fixture.reported.status, HD_CLEARANCE);
    hd_pattern_free(pattern);
    hd_value_unref(office.wrong);
    hd_value_unref(office.labels);
    hd_cell_free(office.spy.copy);
    fixture_close(&fixture);
    EXPECT_EQ(office.cleared.released, 3);
}

TEST(a_label_follows_the_data_to_an_effect_that_is_not_cleared)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct spy spy = {
        .cell = cell_of(&fixture, "pay", NULL),
        .copy = cell_of(&fixture, "copy", NULL),
    };
    struct spy cleared = spy;
    hd_value *labels = value_of("[\"salary\"]");
    hd_value *wrong = value_of("[1]");
    hd_error error;
    EXPECT_INT(hd_cell_set_labels(spy.cell, labels, &error), HD_NOT_FOUND);
    set_json(spy.cell, "100");
    EXPECT_INT(hd_cell_set_labels(spy.cell, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_set_labels(spy.cell, wrong, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_set_labels(spy.cell, labels, &error), HD_OK);
    const hd_node_options copy = {
        .run = copy_it,
        .context = &spy,
        .writes = &spy.copy,
        .write_count = 1,
    };
    hd_node_options look = {.name = "spy", .run = look_at, .context = &spy};
    EXPECT_INT(hd_computation_new(fixture.runtime, &copy, NULL, &error), HD_OK);
    EXPECT_INT(hd_effect_new(fixture.runtime, &look, NULL, &error), HD_OK);
    look.context = &cleared;
    look.clearance = wrong;
    EXPECT_INT(hd_effect_new(fixture.runtime, &look, NULL, &error),
               HD_ARGUMENT);
    look.clearance = labels;
    EXPECT_INT(hd_effect_new(fixture.runtime, &look, NULL, &error), HD_OK);
    fixture_settle(&fixture);
    EXPECT_EQ(spy.seen, 0);
    EXPECT(cleared.seen > 0);
    EXPECT_INT(fixture.reported.status, HD_CLEARANCE);
    EXPECT_TEXT(fixture.reported.address, "spy");
    EXPECT_CONTAINS(fixture.reported.text, "salary");
    hd_value *found = NULL;
    EXPECT_INT(hd_cell_labels(spy.copy, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_labels(spy.copy, &found, &error), HD_OK);
    expect_value(found, "[\"salary\"]");
    hd_value_unref(found);
    hd_value_unref(wrong);
    hd_value_unref(labels);
    hd_cell_free(spy.copy);
    hd_cell_free(spy.cell);
    fixture_close(&fixture);
}
