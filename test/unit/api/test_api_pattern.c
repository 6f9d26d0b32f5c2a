/* Patterns and pieces through the public header. */

#include "base/mem.h"
#include "unit/api/fixture.h"

/* A pattern of a list of prices, their sum with a rate, and a stream that adds
 * one. What all its pieces have in common: */
struct shop {
    unsigned built;
    unsigned sums;
    unsigned totals;
    unsigned adds;
    unsigned effects;
    unsigned released; /* contexts of functions */
    unsigned let_go;   /* the pattern's */
    hd_status fails;
    hd_pattern *child;
    hd_pattern *launched;
    hd_builder *kept;
};

/* What one function has: borrowed cells. */
struct part {
    struct shop *shop;
    hd_cell *items;
    hd_cell *sum;
    hd_cell *rate;
};

static void part_free(void *context)
{
    struct part *part = context;
    part->shop->released++;
    mem_free(part, sizeof *part);
}

static struct part *part_new(const struct part *with)
{
    struct part *part = mem_alloc(sizeof *part);
    *part = *with;
    return part;
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

static hd_status run_sum(hd_run *run, void *context)
{
    const struct part *part = context;
    hd_value *items = NULL;
    hd_status status = hd_cell_get(part->items, &items, NULL);
    size_t count = 0;
    int64_t sum = 0;
    if (status == HD_OK) {
        part->shop->sums++;
        status = hd_value_count(items, &count);
    }
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        hd_value *item = NULL;
        int64_t price = 0;
        status = hd_value_at(items, i, &item);
        if (status == HD_OK) {
            status = hd_value_get_int(item, &price);
        }
        sum += price;
        hd_value_unref(item);
    }
    hd_value_unref(items);
    return status != HD_OK ? status : return_int(run, sum);
}

static hd_status run_total(hd_run *run, void *context)
{
    const struct part *part = context;
    part->shop->totals++;
    int64_t sum = 0;
    int64_t rate = 0;
    hd_status status = hd_cell_get_int(part->sum, &sum, NULL);
    if (status == HD_OK) {
        status = hd_cell_get_int(part->rate, &rate, NULL);
    }
    return status != HD_OK ? status : return_int(run, sum * rate);
}

static hd_status run_add(hd_run *run, void *context)
{
    const struct part *part = context;
    part->shop->adds++;
    hd_value *payload = NULL;
    hd_status status = hd_run_payload(run, &payload);
    if (status == HD_OK) {
        status = hd_cell_append(part->items, payload, NULL);
    }
    hd_value *link = NULL;
    if (status == HD_OK && part->shop->launched != NULL) {
        hd_value *arguments = value_of("{\"rate\":9}");
        status =
            hd_run_launch(run, part->shop->launched, arguments, &link, NULL);
        hd_value_unref(arguments);
    }
    if (status == HD_OK) {
        status = link != NULL ? hd_run_return(run, link) : return_int(run, 1);
    }
    hd_value_unref(link);
    hd_value_unref(payload);
    return status;
}

static hd_status run_effect(hd_run *run, void *context)
{
    const struct part *part = context;
    part->shop->effects++;
    int64_t sum = 0;
    (void)run;
    return hd_cell_get_int(part->sum, &sum, NULL);
}

static hd_status build_child(hd_builder *builder, struct shop *shop)
{
    hd_value *arguments = value_of("{\"rate\":5}");
    hd_cell *child = NULL;
    hd_status status =
        hd_build_piece(builder, "kid", shop->child, arguments, &child, NULL);
    if (status == HD_OK) {
        status = hd_build_result(builder, "kid", child, NULL);
    }
    hd_value_unref(arguments);
    return status;
}

static hd_status build_results(hd_builder *builder,
                               const struct part *part,
                               hd_cell *total,
                               hd_cell *stream)
{
    hd_value *title = value_of("\"shop\"");
    hd_error error;
    EXPECT_INT(hd_build_result(builder, "items", part->items, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "total", total, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "add", stream, &error), HD_OK);
    EXPECT_INT(hd_build_result_value(builder, "title", title, &error), HD_OK);
    hd_value_unref(title);
    return HD_OK;
}

static hd_status build(hd_builder *builder, void *context)
{
    struct shop *shop = context;
    shop->built++;
    shop->kept = builder;
    struct part part = {.shop = shop};
    hd_value *none = value_of("[]");
    hd_value *one = value_of("1");
    hd_error error;
    hd_cell *total = NULL;
    hd_cell *stream = NULL;
    EXPECT_INT(hd_build_state(builder, "items", none, &part.items, &error),
               HD_OK);
    EXPECT_INT(hd_build_argument(builder, "rate", one, &part.rate, &error),
               HD_OK);
    hd_node_options node = {
        .run = run_sum,
        .context = part_new(&part),
        .release = part_free,
    };
    EXPECT_INT(hd_build_computed(builder, "sum", &node, &part.sum, &error),
               HD_OK);
    node.run = run_total;
    node.context = part_new(&part);
    EXPECT_INT(hd_build_computed(builder, "total", &node, &total, &error),
               HD_OK);
    node.run = run_effect;
    node.context = part_new(&part);
    EXPECT_INT(hd_build_effect(builder, "watch", &node, &error), HD_OK);
    const hd_handler_options handler = {
        .run = run_add,
        .context = part_new(&part),
        .release = part_free,
        .reads = &part.items,
        .read_count = 1,
    };
    EXPECT_INT(hd_build_handler(builder, "add", &handler, &stream, &error),
               HD_OK);
    hd_cell_free(stream); /* is borrowed: does nothing */
    hd_value_unref(one);
    hd_value_unref(none);
    hd_status status = build_results(builder, &part, total, stream);
    if (status == HD_OK && shop->child != NULL) {
        status = build_child(builder, shop);
    }
    return status != HD_OK ? status : shop->fails;
}

static void shop_let_go(void *context)
{
    ((struct shop *)context)->let_go++;
}

static hd_pattern *pattern_of(struct shop *shop, const char *version)
{
    hd_pattern *pattern = NULL;
    hd_error error;
    EXPECT_INT(hd_pattern_new("shop",
                              version,
                              build,
                              shop,
                              shop_let_go,
                              &pattern,
                              &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    return pattern;
}

static hd_piece *start(struct fixture *fixture,
                       hd_pattern *pattern,
                       const hd_piece_options *options)
{
    hd_piece *piece = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_start(fixture->runtime,
                              pattern,
                              "mine",
                              options,
                              &piece,
                              &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    return piece;
}

static void expect_get(hd_piece *piece, const char *path, const char *json)
{
    hd_value *value = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_get(piece, path, &value, &error),
               json != NULL ? HD_OK : HD_NOT_FOUND);
    expect_value(value, json);
    hd_value_unref(value);
}

static void send_int(struct fixture *fixture, hd_piece *piece, int64_t integer)
{
    hd_value *payload = NULL;
    hd_error error;
    EXPECT_INT(hd_value_new_int(integer, &payload), HD_OK);
    EXPECT_INT(hd_piece_send(piece, "add", payload, NULL, NULL, &error), HD_OK);
    hd_value_unref(payload);
    fixture_settle(fixture);
}

static void expect_state(hd_piece *piece, hd_piece_state want)
{
    hd_piece_state state = HD_PIECE_FAILED;
    hd_error error;
    EXPECT_INT(hd_piece_look(piece, &state, &error), HD_OK);
    EXPECT_INT(state, want);
    EXPECT_TEXT(error.text, "");
}

TEST(a_piece_computes_handles_and_is_asked)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shop shop = {0};
    hd_pattern *pattern = pattern_of(&shop, "1");
    hd_value *arguments = value_of("{\"rate\":2}");
    const hd_piece_options options = {.arguments = arguments};
    hd_piece *piece = start(&fixture, pattern, &options);
    hd_value_unref(arguments);
    expect_get(piece, "/total", "0");
    expect_state(piece, HD_PIECE_RUNNING);
    send_int(&fixture, piece, 30);
    send_int(&fixture, piece, 12);
    expect_get(piece, "/total", "84");
    expect_get(piece, "/items", "[30,12]");
    expect_get(piece, "/items/1", "12");
    expect_get(piece, "/title", "\"shop\"");
    expect_get(piece, "/nothing", NULL);
    EXPECT_EQ(shop.built, 1);
    EXPECT_EQ(shop.adds, 2);

    /* Its cells can be written to from outside. */
    hd_cell *items = NULL;
    char *text = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/items", &items, NULL), HD_OK);
    EXPECT_INT(hd_cell_text(items, &text, NULL), HD_OK);
    EXPECT_TEXT(text, "main/piece:mine/items#");
    set_json(items, "[1]");
    expect_get(piece, "/total", "2");
    hd_text_free(text);
    hd_cell_free(items);

    hd_node *node = NULL;
    hd_node_info info;
    EXPECT_INT(hd_piece_node(piece, "sum", &node, NULL), HD_OK);
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_INT(info.kind, HD_COMPUTATION);
    EXPECT_EQ(info.runs, shop.sums);
    EXPECT_INT(hd_node_remove(node), HD_MISUSE);
    EXPECT_INT(hd_node_invalidate(node), HD_OK);
    EXPECT_INT(hd_piece_stop(piece, NULL), HD_OK);
    EXPECT_INT(hd_piece_stop(piece, NULL), HD_CLOSED);
    EXPECT_EQ(shop.released, 4);
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_INT(info.state, HD_REMOVED);
    EXPECT_INT(hd_node_invalidate(node), HD_CLOSED);
    expect_state(piece, HD_PIECE_STOPPED);
    hd_value *value = NULL;
    EXPECT_INT(hd_piece_get(piece, "", &value, NULL), HD_CLOSED);
    EXPECT_INT(hd_piece_send(piece, "add", NULL, NULL, NULL, NULL), HD_CLOSED);
    hd_node_free(node);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    EXPECT_EQ(shop.let_go, 0);
    fixture_close(&fixture);
    EXPECT_EQ(shop.let_go, 1);
}

/* By each kind of write, with and without a transaction around it. */
static void expect_refused(struct fixture *fixture,
                           hd_cell *cell,
                           const char *why)
{
    hd_value *value = value_of("7");
    hd_error error;
    EXPECT_INT(hd_cell_set(cell, value, &error), HD_ARGUMENT);
    EXPECT_TEXT(error.text, why);
    EXPECT_INT(hd_cell_delete(cell, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_append(cell, value, &error), HD_ARGUMENT);
    EXPECT_INT(hd_cell_increment(cell, 1, &error), HD_ARGUMENT);
    EXPECT_TEXT(error.text, why);
    hd_value_unref(value);
    fixture_settle(fixture);
}

TEST(what_a_piece_computes_cannot_be_written)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shop shop = {0};
    hd_pattern *pattern = pattern_of(&shop, "1");
    hd_piece *piece = start(&fixture, pattern, NULL);
    send_int(&fixture, piece, 30);
    hd_cell *total = NULL;
    hd_cell *add = NULL;
    hd_cell *whole = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/total", &total, NULL), HD_OK);
    EXPECT_INT(hd_piece_cell(piece, "/add", &add, NULL), HD_OK);
    EXPECT_INT(hd_piece_cell(piece, "", &whole, NULL), HD_OK);
    const char *computed = "'total' of the piece 'mine' is computed: set one "
                           "of its inputs instead";
    const char *stream = "'add' of the piece 'mine' is a stream: send an event "
                         "to it";
    const char *result = "'mine' is a piece: set one of its states";
    expect_refused(&fixture, total, computed);
    expect_refused(&fixture, add, stream);
    expect_refused(&fixture, whole, result);
    expect_get(piece, "/total", "30");
    send_int(&fixture, piece, 12);
    expect_get(piece, "/total", "42");

    /* Nor by who has only its documents. */
    EXPECT_INT(hd_piece_stop(piece, NULL), HD_OK);
    expect_refused(&fixture, total, computed);
    expect_refused(&fixture, add, stream);
    hd_cell_free(whole);
    hd_cell_free(add);
    hd_cell_free(total);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

TEST(a_piece_is_taken_up_again_and_runs_nothing)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct shop shop = {0};
    hd_pattern *pattern = pattern_of(&shop, "1");
    struct fixture fixture;
    fixture_open(&fixture, folder, 1);
    hd_piece *piece = start(&fixture, pattern, NULL);
    fixture_settle(&fixture);
    send_int(&fixture, piece, 5);
    expect_get(piece, "/total", "5");
    EXPECT_INT(hd_runtime_close(fixture.runtime, HD_NEVER, NULL), HD_OK);
    hd_piece_free(piece);
    fixture_close(&fixture);
    EXPECT_EQ(shop.released, 4);

    shop = (struct shop){0};
    fixture_open(&fixture, folder, 2);
    EXPECT_INT(hd_runtime_add_pattern(fixture.runtime, pattern, NULL), HD_OK);
    const hd_piece_options options = {.must_exist = true};
    piece = start(&fixture, NULL, &options); /* by its name alone */
    fixture_settle(&fixture);
    EXPECT_EQ(shop.built, 1);
    EXPECT_EQ(shop.sums, 0);
    EXPECT_EQ(shop.totals, 0);
    EXPECT_EQ(shop.effects, 0);
    expect_get(piece, "/total", "5");
    EXPECT_EQ(shop.sums, 0);
    EXPECT_EQ(shop.totals, 0);
    send_int(&fixture, piece, 6);
    expect_get(piece, "/total", "11");
    EXPECT_EQ(shop.sums, 1);
    hd_piece_free(piece);
    fixture_close(&fixture);
    hd_pattern_free(pattern);

    /* Another version is other functions. */
    shop = (struct shop){0};
    pattern = pattern_of(&shop, "2");
    fixture_open(&fixture, folder, 3);
    piece = start(&fixture, pattern, NULL);
    fixture_settle(&fixture);
    expect_get(piece, "/total", "11");
    EXPECT_EQ(shop.sums, 1);
    hd_piece_free(piece);
    fixture_close(&fixture);
    hd_pattern_free(pattern);
    kit_folder_remove(folder);
}

TEST(pieces_are_found_listed_and_removed)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shop shop = {0};
    hd_pattern *pattern = pattern_of(&shop, "1");
    hd_value *names = NULL;
    hd_error error;
    EXPECT_INT(hd_runtime_pieces(fixture.runtime, NULL, &names, &error), HD_OK);
    expect_value(names, "[]");
    hd_value_unref(names);
    hd_piece *piece = start(&fixture, pattern, NULL);
    fixture_settle(&fixture);
    EXPECT_INT(hd_runtime_pieces(fixture.runtime, NULL, &names, &error), HD_OK);
    expect_value(names, "[\"mine\"]");
    hd_value_unref(names);
    hd_piece *found = NULL;
    EXPECT_INT(hd_piece_find(fixture.runtime, NULL, "other", &found, &error),
               HD_NOT_FOUND);
    EXPECT(found == NULL);
    EXPECT_INT(hd_piece_find(fixture.runtime, "main", "mine", &found, &error),
               HD_OK);
    expect_get(found, "/total", "0");
    EXPECT_INT(
        hd_piece_start(fixture.runtime, pattern, "mine", NULL, NULL, &error),
        HD_ARGUMENT);
    EXPECT_TEXT(error.address, "mine");

    hd_cell *items = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/items", &items, NULL), HD_OK);
    expect_json(items, "[]");
    EXPECT_INT(hd_piece_remove(piece, &error), HD_OK);
    fixture_settle(&fixture);
    expect_state(found, HD_PIECE_STOPPED);
    expect_json(items, NULL);
    EXPECT_INT(hd_runtime_pieces(fixture.runtime, NULL, &names, &error), HD_OK);
    expect_value(names, "[]");
    hd_value_unref(names);
    hd_cell_free(items);
    hd_piece_free(found);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

TEST(a_child_comes_and_goes_with_its_parent)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shop child = {0};
    struct shop shop = {.child = pattern_of(&child, "1")};
    hd_pattern *pattern = pattern_of(&shop, "1");
    hd_piece *piece = start(&fixture, pattern, NULL);
    fixture_settle(&fixture);
    EXPECT_EQ(child.built, 1);
    hd_cell *items = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/kid/items", &items, NULL), HD_OK);
    set_json(items, "[4]");
    expect_get(piece, "/kid/total", "20");
    expect_get(piece, "/total", "0");
    EXPECT_INT(hd_piece_stop(piece, NULL), HD_OK);
    EXPECT_EQ(child.released, 4);
    EXPECT_EQ(shop.released, 4);
    hd_cell_free(items);
    hd_piece_free(piece);
    hd_pattern_free(shop.child);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

TEST(a_handler_launches_a_piece_with_its_commit)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shop launched = {0};
    struct shop shop = {0};
    hd_pattern *other = NULL;
    EXPECT_INT(
        hd_pattern_new("other", "1", build, &launched, NULL, &other, NULL),
        HD_OK);
    EXPECT_INT(hd_runtime_add_pattern(fixture.runtime, other, NULL), HD_OK);
    shop.launched = other;
    hd_pattern *pattern = pattern_of(&shop, "1");
    hd_piece *piece = start(&fixture, pattern, NULL);
    fixture_settle(&fixture);
    hd_ticket *ticket = NULL;
    hd_value *payload = value_of("3");
    EXPECT_INT(hd_piece_send(piece, "add", payload, NULL, &ticket, NULL),
               HD_OK);
    fixture_settle(&fixture);
    hd_value *receipt = NULL;
    hd_kind kind = HD_NULL;
    EXPECT_INT(hd_ticket_receipt(ticket, &receipt), HD_OK);
    EXPECT_INT(hd_value_kind(receipt, &kind), HD_OK);
    EXPECT_INT(kind, HD_LINK);
    EXPECT_EQ(launched.built, 1);

    /* The link leads to its result. */
    hd_cell *at = cell_of(&fixture, "at", NULL);
    hd_cell *title = cell_of(&fixture, "at", "/title");
    EXPECT_INT(hd_cell_set(at, receipt, NULL), HD_OK);
    expect_json(title, "\"shop\"");
    hd_cell_free(title);
    hd_cell_free(at);
    hd_value_unref(receipt);
    hd_value_unref(payload);
    hd_ticket_free(ticket);
    hd_piece_free(piece);
    hd_pattern_free(other);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

TEST(a_build_that_fails_leaves_nothing)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shop shop = {.fails = HD_RANGE};
    hd_pattern *pattern = pattern_of(&shop, "1");
    hd_piece *piece = NULL;
    hd_error error;
    const hd_status status =
        hd_piece_start(fixture.runtime, pattern, "mine", NULL, &piece, &error);
    if (status == HD_OK) {
        fixture_settle(&fixture);
        hd_piece_state state = HD_PIECE_RUNNING;
        EXPECT_INT(hd_piece_look(piece, &state, &error), HD_OK);
        EXPECT_INT(state, HD_PIECE_FAILED);
        hd_value *value = NULL;
        EXPECT_INT(hd_piece_get(piece, "", &value, NULL), HD_RANGE);
    }
    EXPECT_INT(error.status, HD_RANGE);
    EXPECT_CONTAINS(error.text, "HD_RANGE");
    EXPECT_TEXT(error.address, "mine");
    EXPECT_EQ(shop.released, 4);
    hd_cell *items = cell_of(&fixture, "piece:mine/items", NULL);
    expect_json(items, NULL);
    hd_cell_free(items);

    /* The builder is over. */
    EXPECT_INT(hd_build_state(shop.kept, "x", NULL, NULL, &error), HD_MISUSE);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

/* -- Wrong declarations -------------------------------------------------- */

static hd_status build_wrongly(hd_builder *builder, void *context)
{
    struct shop *shop = context;
    struct part part = {.shop = shop};
    hd_cell *cell = NULL;
    hd_error error;
    EXPECT_INT(hd_build_state(builder, NULL, NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_state(builder, "a/b", NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_TEXT(error.address, "a/b");
    EXPECT_INT(hd_build_state(builder, "", NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_state(builder, "twice", NULL, &cell, &error), HD_OK);
    EXPECT_INT(hd_build_state(builder, "twice", NULL, NULL, &error),
               HD_ARGUMENT);
    hd_node_options node = {
        .context = part_new(&part),
        .release = part_free,
    };
    EXPECT_INT(hd_build_computed(builder, "c", &node, NULL, &error),
               HD_ARGUMENT);
    EXPECT_EQ(shop->released, 1);
    EXPECT_INT(hd_build_computed(builder, "c", NULL, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_build_effect(builder, "c", NULL, &error), HD_ARGUMENT);
    node.run = run_sum;
    node.context = part_new(&part);
    node.read_count = 1;
    EXPECT_INT(hd_build_effect(builder, "c", &node, &error), HD_ARGUMENT);
    EXPECT_EQ(shop->released, 2);
    node.read_count = 0;
    node.context = part_new(&part);
    EXPECT_INT(hd_build_computed(builder, "twice", &node, NULL, &error),
               HD_ARGUMENT);
    EXPECT_EQ(shop->released, 3);
    hd_handler_options handler = {
        .context = part_new(&part),
        .release = part_free,
    };
    EXPECT_INT(hd_build_handler(builder, "h", &handler, NULL, &error),
               HD_ARGUMENT);
    EXPECT_EQ(shop->released, 4);
    EXPECT_INT(hd_build_handler(builder, "h", NULL, NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_piece(builder, "p", NULL, NULL, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_build_result(builder, "r", NULL, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_result(builder, NULL, cell, &error), HD_ARGUMENT);
    EXPECT_INT(hd_build_result_value(builder, "r", NULL, &error), HD_ARGUMENT);

    /* Nothing is written while it builds. */
    EXPECT_INT(hd_cell_set_int(cell, 1, &error), HD_MISUSE);
    return HD_OK;
}

TEST(wrong_declarations_are_refused_one_by_one)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct shop shop = {0};
    hd_pattern *pattern = NULL;
    EXPECT_INT(hd_pattern_new("wrong",
                              NULL,
                              build_wrongly,
                              &shop,
                              NULL,
                              &pattern,
                              NULL),
               HD_OK);
    hd_piece *piece = start(&fixture, pattern, NULL);
    fixture_settle(&fixture);
    expect_state(piece, HD_PIECE_RUNNING);
    EXPECT_EQ(shop.released, 4);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

TEST(a_pattern_needs_a_name_and_a_function)
{
    struct shop shop = {0};
    hd_pattern *pattern = NULL;
    hd_error error;
    EXPECT_INT(
        hd_pattern_new(NULL, "1", build, &shop, shop_let_go, &pattern, &error),
        HD_ARGUMENT);
    EXPECT_INT(
        hd_pattern_new("", "1", build, &shop, shop_let_go, &pattern, &error),
        HD_ARGUMENT);
    EXPECT_INT(
        hd_pattern_new("a", "", build, &shop, shop_let_go, &pattern, &error),
        HD_ARGUMENT);
    EXPECT_INT(
        hd_pattern_new("a", "1", NULL, &shop, shop_let_go, &pattern, &error),
        HD_ARGUMENT);
    EXPECT_INT(
        hd_pattern_new("a", "1", build, &shop, shop_let_go, NULL, &error),
        HD_ARGUMENT);
    EXPECT(pattern == NULL);
    EXPECT_EQ(shop.let_go, 5);
}
