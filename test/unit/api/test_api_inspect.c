/* Questions to an open runtime, and to inspections of files: what they say is
 * what has happened, and asking changes nothing. */

#include "unit/api/fixture.h"

/* What is at a pointer of an answer: its text, canonical; "" for nothing. */
static void expect_at(hd_value *answer, const char *pointer, const char *json)
{
    hd_value *found = NULL;
    char *text = NULL;
    (void)hd_value_get(answer, pointer, HD_TERMINATED, &found, NULL);
    if (found != NULL) {
        EXPECT_INT(hd_value_write(found, HD_CANONICAL, 0, &text, NULL), HD_OK);
    }
    const char *is = text != NULL ? text : "";
    if (strcmp(is, json) != 0) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s is %s, expected %s",
                        pointer,
                        is,
                        json);
    }
    hd_text_free(text);
    hd_value_unref(found);
}

static void expect_count(hd_value *answer, const char *pointer, size_t count)
{
    hd_value *found = NULL;
    size_t is = 0;
    EXPECT_INT(hd_value_get(answer, pointer, HD_TERMINATED, &found, NULL),
               HD_OK);
    EXPECT_INT(hd_value_count(found, &is), HD_OK);
    EXPECT_EQ(is, count);
    hd_value_unref(found);
}

static hd_value *why(hd_node *node)
{
    hd_value *account = NULL;
    hd_error error;
    EXPECT_INT(hd_node_why(node, &account, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    return account;
}

static hd_value *why_not(hd_node *node)
{
    hd_value *account = NULL;
    hd_error error;
    EXPECT_INT(hd_node_why_not(node, &account, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    return account;
}

/* -- A runtime that is open ---------------------------------------------- */

/* price -> net -> total, and somebody who looks at the total. */
struct shop {
    struct fixture fixture;
    hd_cell *price;
    hd_cell *net;
    hd_cell *total;
    hd_node *net_node;
    hd_node *total_node;
};

static hd_status add(hd_cell *from, hd_cell *to, int64_t more)
{
    int64_t number = 0;
    const hd_status status = hd_cell_get_int(from, &number, NULL);
    return status != HD_OK ? status : hd_cell_set_int(to, number + more, NULL);
}

static hd_status run_net(hd_run *run, void *context)
{
    const struct shop *shop = context;
    (void)run;
    return add(shop->price, shop->net, 1);
}

static hd_status run_total(hd_run *run, void *context)
{
    const struct shop *shop = context;
    (void)run;
    return add(shop->net, shop->total, 10);
}

static void look(void *context, const hd_value *value)
{
    (void)context;
    (void)value;
}

static void shop_open(struct shop *shop)
{
    fixture_open(&shop->fixture, NULL, 1);
    shop->price = cell_of(&shop->fixture, "price", NULL);
    shop->net = cell_of(&shop->fixture, "net", NULL);
    shop->total = cell_of(&shop->fixture, "total", NULL);
    set_json(shop->price, "1");
    const hd_node_options net = {
        .name = "net",
        .run = run_net,
        .context = shop,
        .writes = &shop->net,
        .write_count = 1,
    };
    const hd_node_options total = {
        .name = "total",
        .run = run_total,
        .context = shop,
        .writes = &shop->total,
        .write_count = 1,
    };
    hd_runtime *runtime = shop->fixture.runtime;
    EXPECT_INT(hd_computation_new(runtime, &net, &shop->net_node, NULL), HD_OK);
    EXPECT_INT(hd_computation_new(runtime, &total, &shop->total_node, NULL),
               HD_OK);
}

static void shop_close(struct shop *shop)
{
    hd_cell_free(shop->price);
    hd_cell_free(shop->net);
    hd_cell_free(shop->total);
    hd_node_free(shop->net_node);
    hd_node_free(shop->total_node);
    fixture_close(&shop->fixture);
}

static hd_node *shop_look(struct shop *shop)
{
    hd_node *sink = NULL;
    EXPECT_INT(hd_sink_new(shop->total, look, NULL, &sink, NULL), HD_OK);
    fixture_settle(&shop->fixture);
    return sink;
}

TEST(a_node_that_never_ran_says_that_nobody_looks)
{
    struct shop shop;
    shop_open(&shop);
    fixture_settle(&shop.fixture);
    hd_value *account = why(shop.total_node);
    expect_at(account, "/node", "\"total\"");
    expect_at(account, "/kind", "\"computation\"");
    expect_at(account, "/status", "\"never-ran\"");
    expect_at(account, "/reason", "\"never\"");
    expect_at(account, "/runs", "0");
    expect_at(account, "/causes", "");
    expect_at(account, "/sentence", "\"total has never run\"");
    hd_value_unref(account);
    account = why_not(shop.total_node);
    expect_at(account, "/condition", "\"nobody-looks\"");
    expect_at(account, "/status", "\"never-ran\"");
    hd_value_unref(account);
    shop_close(&shop);
}

TEST(a_run_is_explained_by_the_node_the_event_or_the_write_behind_it)
{
    struct shop shop;
    shop_open(&shop);
    hd_node *sink = shop_look(&shop);
    hd_value *account = why(shop.net_node);
    expect_at(account, "/reason", "\"first\"");
    expect_at(account, "/outcome", "\"committed\"");
    expect_at(account, "/runs", "1");
    hd_value_unref(account);

    set_json(shop.price, "2");
    fixture_settle(&shop.fixture);
    account = why(shop.net_node);
    expect_at(account, "/reason", "\"change\"");
    expect_at(account, "/runs", "2");
    expect_at(account, "/causes/0/address", "\"main/price#/value\"");
    expect_at(account,
              "/causes/0/by",
              "{\"kind\":\"commit\",\"type\":\"outside\"}");
    expect_at(account, "/more", "0");
    hd_value_unref(account);
    account = why(shop.total_node);
    expect_count(account, "/causes", 1);
    expect_at(account, "/causes/0/address", "\"main/net#/value\"");
    expect_at(account, "/causes/0/by", "{\"node\":\"net\",\"type\":\"node\"}");
    hd_value_unref(account);
    account = why(sink);
    expect_at(account, "/kind", "\"effect\"");
    expect_at(account,
              "/causes/0/by",
              "{\"node\":\"total\",\"type\":\"node\"}");
    hd_value_unref(account);
    hd_node_free(sink);
    shop_close(&shop);
}

static hd_status handle(hd_run *run, void *context)
{
    (void)run;
    return hd_cell_set_int(context, 5, NULL);
}

TEST(a_handler_is_explained_by_its_event_and_explains_what_it_changed)
{
    struct shop shop;
    shop_open(&shop);
    hd_node *sink = shop_look(&shop);
    hd_cell *stream = cell_of(&shop.fixture, "stream", NULL);
    const hd_handler_options options = {
        .name = "raise",
        .run = handle,
        .context = shop.price,
    };
    hd_node *handler = NULL;
    EXPECT_INT(hd_handler_new(stream, &options, &handler, NULL), HD_OK);
    hd_value *account = why(handler);
    expect_at(account, "/kind", "\"handler\"");
    expect_at(account, "/status", "");
    expect_at(account, "/reason", "\"never\"");
    hd_value_unref(account);
    account = why_not(handler);
    expect_at(account, "/condition", "\"event\"");
    expect_at(account,
              "/sentence",
              "\"raise runs once for each event of its stream\"");
    hd_value_unref(account);

    EXPECT_INT(hd_cell_send(stream, NULL, NULL, NULL, NULL), HD_OK);
    fixture_settle(&shop.fixture);
    account = why(handler);
    expect_at(account, "/reason", "\"event\"");
    expect_at(account, "/runs", "1");
    expect_at(account, "/outcome", "\"committed\"");
    hd_value_unref(account);
    account = why(shop.net_node);
    expect_at(account, "/causes/0/by/type", "\"event\"");
    expect_at(account, "/causes/0/by/handler", "\"raise\"");
    hd_value_unref(account);
    hd_node_free(handler);
    hd_node_free(sink);
    hd_cell_free(stream);
    shop_close(&shop);
}

static hd_status read_price(hd_run *run, void *context)
{
    int64_t number = 0;
    (void)run;
    return hd_cell_get_int(context, &number, NULL);
}

TEST(why_a_node_does_not_run_is_the_first_condition_that_is_missing)
{
    struct shop shop;
    shop_open(&shop);
    hd_node *sink = shop_look(&shop);
    hd_node *slow = NULL;
    const hd_node_options options = {
        .name = "slow",
        .run = read_price,
        .context = shop.price,
        .debounce_ms = 50,
    };
    EXPECT_INT(hd_effect_new(shop.fixture.runtime, &options, &slow, NULL),
               HD_OK);
    fixture_settle(&shop.fixture);
    hd_value *account = why_not(slow);
    expect_at(account, "/condition", "\"clean\"");
    expect_at(account, "/gate", "");
    hd_value_unref(account);

    set_json(shop.price, "7");
    account = why_not(shop.net_node);
    expect_at(account, "/condition", "\"none\"");
    expect_at(account, "/status", "\"invalid\"");
    hd_value_unref(account);
    EXPECT_INT(hd_runtime_step(shop.fixture.runtime, HD_NOW, NULL), HD_OK);
    account = why_not(slow);
    expect_at(account, "/condition", "\"gated\"");
    expect_at(account, "/gate", "\"debounce\"");
    expect_at(account, "/inMs", "50");
    hd_value_unref(account);

    EXPECT_INT(hd_node_remove(slow), HD_OK);
    hd_error error;
    account = NULL;
    EXPECT_INT(hd_node_why(slow, &account, &error), HD_CLOSED);
    EXPECT_TEXT(error.text, "the node was removed");
    EXPECT_INT(hd_node_why_not(slow, &account, &error), HD_CLOSED);
    hd_node_free(slow);
    hd_node_free(sink);
    shop_close(&shop);
}

static hd_status fail(hd_run *run, void *context)
{
    int64_t number = 0;
    (void)hd_cell_get_int(context, &number, NULL);
    return hd_run_fail(run, HD_RANGE, "too dear");
}

TEST(a_run_that_failed_says_so)
{
    struct shop shop;
    shop_open(&shop);
    hd_node *node = NULL;
    const hd_node_options options = {.run = fail, .context = shop.price};
    EXPECT_INT(hd_effect_new(shop.fixture.runtime, &options, &node, NULL),
               HD_OK);
    fixture_settle(&shop.fixture);
    hd_value *account = why(node);
    expect_at(account, "/outcome", "\"failed\"");
    expect_at(account, "/node", "\"node 2\"");
    hd_value_unref(account);
    hd_node_free(node);
    shop_close(&shop);
}

TEST(a_run_of_long_ago_is_forgotten)
{
    struct shop shop;
    shop_open(&shop);
    hd_node *sink = shop_look(&shop);
    hd_cell *other = cell_of(&shop.fixture, "other", NULL);
    EXPECT_INT(hd_sink_new(other, look, NULL, NULL, NULL), HD_OK);
    for (int64_t i = 0; i < 1030; i++) {
        EXPECT_INT(hd_cell_set_int(other, i, NULL), HD_OK);
        EXPECT_INT(hd_runtime_step(shop.fixture.runtime, HD_NOW, NULL), HD_OK);
    }
    hd_value *account = why(shop.net_node);
    expect_at(account, "/reason", "\"forgotten\"");
    expect_at(account, "/runs", "1");
    hd_value_unref(account);
    hd_cell_free(other);
    hd_node_free(sink);
    shop_close(&shop);
}

TEST(a_place_is_explained_by_those_who_write_there)
{
    struct shop shop;
    shop_open(&shop);
    hd_node *sink = shop_look(&shop);
    hd_cell *alias = cell_of(&shop.fixture, "alias", NULL);
    EXPECT_INT(hd_cell_set_link(alias, shop.total, NULL), HD_OK);
    fixture_settle(&shop.fixture);
    hd_value *account = NULL;
    EXPECT_INT(hd_cell_why(alias, &account, NULL), HD_OK);
    expect_at(account, "/address", "\"main/total#\"");
    expect_count(account, "/writers", 1);
    expect_at(account, "/writers/0/why/node", "\"total\"");
    expect_at(account, "/writers/0/why/reason", "\"first\"");
    expect_at(account, "/writers/0/whyNot/condition", "\"clean\"");
    hd_value_unref(account);
    EXPECT_INT(hd_cell_why(shop.price, &account, NULL), HD_OK);
    expect_at(account, "/writers", "[]");
    hd_value_unref(account);
    hd_cell_free(alias);
    hd_node_free(sink);
    shop_close(&shop);
}

TEST(nodes_edges_and_counters_are_told_and_asking_changes_none)
{
    struct shop shop;
    shop_open(&shop);
    hd_node *sink = shop_look(&shop);
    hd_runtime *runtime = shop.fixture.runtime;
    hd_value *before = NULL;
    hd_value *answer = NULL;
    EXPECT_INT(hd_runtime_statistics(runtime, &before, NULL), HD_OK);
    expect_at(before, "/computations", "2");
    expect_at(before, "/effects", "1");
    expect_at(before, "/pieces", "0");
    expect_at(before, "/outstanding", "0");
    expect_at(before, "/at", "1000");
    expect_at(before, "/counters/runs", "3");

    EXPECT_INT(hd_runtime_nodes(runtime, NULL, &answer, NULL), HD_OK);
    expect_count(answer, "", 3);
    expect_at(answer, "/0/name", "\"net\"");
    expect_at(answer, "/0/status", "\"clean\"");
    expect_at(answer, "/0/live", "true");
    expect_at(answer, "/0/reads", "[\"main/price#/value\"]");
    expect_at(answer, "/0/writes", "[\"main/net#/value\"]");
    expect_at(answer, "/0/stats/runs", "1");
    expect_at(answer, "/2/type", "\"effect\"");
    hd_value_unref(answer);
    EXPECT_INT(hd_runtime_graph(runtime, NULL, &answer, NULL), HD_OK);
    expect_count(answer, "/nodes", 4);
    expect_count(answer, "/edges", 3);
    hd_value_unref(answer);
    hd_value_unref(why(shop.net_node));
    hd_value_unref(why_not(shop.net_node));

    EXPECT_INT(hd_runtime_statistics(runtime, &answer, NULL), HD_OK);
    bool equal = false;
    EXPECT_INT(hd_value_equal(before, answer, &equal), HD_OK);
    EXPECT(equal);
    hd_value_unref(answer);
    hd_value_unref(before);
    hd_node_free(sink);
    shop_close(&shop);
}

/* -- Pieces -------------------------------------------------------------- */

/* A state "items", a computation "count" of it, an effect that looks at it, and
 * a handler that appends. */
struct parts {
    hd_cell *items;
    hd_cell *count;
};

static hd_status run_count(hd_run *run, void *context)
{
    const struct parts *parts = context;
    size_t count = 0;
    hd_value *value = NULL;
    hd_status status = hd_cell_count(parts->items, &count, NULL);
    if (status == HD_OK) {
        status = hd_value_new_int((int64_t)count, &value);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, value);
    }
    hd_value_unref(value);
    return status;
}

static hd_status run_show(hd_run *run, void *context)
{
    const struct parts *parts = context;
    int64_t count = 0;
    (void)run;
    return hd_cell_get_int(parts->count, &count, NULL);
}

static hd_status run_add(hd_run *run, void *context)
{
    const struct parts *parts = context;
    hd_value *payload = NULL;
    hd_status status = hd_run_payload(run, &payload);
    if (status == HD_OK) {
        status = hd_cell_append(parts->items, payload, NULL);
    }
    hd_value_unref(payload);
    return status;
}

static hd_status build(hd_builder *builder, void *context)
{
    struct parts *parts = context;
    hd_value *none = value_of("[]");
    hd_cell *stream = NULL;
    const hd_node_options count = {.run = run_count, .context = parts};
    const hd_node_options show = {.run = run_show, .context = parts};
    const hd_handler_options append = {.run = run_add, .context = parts};
    EXPECT_INT(hd_build_state(builder, "items", none, &parts->items, NULL),
               HD_OK);
    EXPECT_INT(hd_build_computed(builder, "count", &count, &parts->count, NULL),
               HD_OK);
    EXPECT_INT(hd_build_effect(builder, "show", &show, NULL), HD_OK);
    EXPECT_INT(hd_build_handler(builder, "add", &append, &stream, NULL), HD_OK);
    EXPECT_INT(hd_build_result(builder, "count", parts->count, NULL), HD_OK);
    EXPECT_INT(hd_build_result(builder, "add", stream, NULL), HD_OK);
    hd_value_unref(none);
    return HD_OK;
}

/* Two pieces, "list" and "listb", in a directory; two events in the first. */
struct lists {
    char folder[256];
    struct fixture fixture;
    struct parts parts[2];
};

static void start(struct lists *lists, size_t number, const char *name)
{
    hd_pattern *pattern = NULL;
    EXPECT_INT(hd_pattern_new("list",
                              "1",
                              build,
                              &lists->parts[number],
                              NULL,
                              &pattern,
                              NULL),
               HD_OK);
    hd_piece *piece = NULL;
    EXPECT_INT(hd_piece_start(lists->fixture.runtime,
                              pattern,
                              name,
                              NULL,
                              &piece,
                              NULL),
               HD_OK);
    fixture_settle(&lists->fixture);
    for (int i = 0; number == 0 && i < 2; i++) {
        hd_value *item = value_of("\"milk\"");
        EXPECT_INT(hd_piece_send(piece, "add", item, NULL, NULL, NULL), HD_OK);
        fixture_settle(&lists->fixture);
        hd_value_unref(item);
    }
    hd_piece_free(piece);
    hd_pattern_free(pattern);
}

static void lists_open(struct lists *lists)
{
    kit_folder_new(lists->folder, sizeof lists->folder);
    fixture_open(&lists->fixture, lists->folder, 1);
    start(lists, 0, "list");
    start(lists, 1, "listb");
}

static void lists_close(struct lists *lists)
{
    fixture_close(&lists->fixture);
    kit_folder_remove(lists->folder);
}

TEST(the_nodes_of_one_piece_are_told_apart_from_those_of_others)
{
    struct lists lists;
    lists_open(&lists);
    hd_runtime *runtime = lists.fixture.runtime;
    hd_value *answer = NULL;
    hd_error error;
    EXPECT_INT(hd_runtime_nodes(runtime, "list", &answer, NULL), HD_OK);
    expect_count(answer, "", 2);
    expect_at(answer, "/0/name", "\"list/count\"");
    expect_at(answer, "/1/name", "\"list/show\"");
    hd_value_unref(answer);
    EXPECT_INT(hd_runtime_nodes(runtime, "listb", &answer, NULL), HD_OK);
    expect_count(answer, "", 2);
    expect_at(answer, "/0/name", "\"listb/count\"");
    hd_value_unref(answer);
    EXPECT_INT(hd_runtime_nodes(runtime, NULL, &answer, NULL), HD_OK);
    expect_count(answer, "", 4);
    hd_value_unref(answer);

    EXPECT_INT(hd_runtime_graph(runtime, "list", &answer, NULL), HD_OK);
    expect_count(answer, "/nodes", 3);
    expect_at(answer, "/nodes/2/id", "\"input:main/piece:list/items\"");
    expect_count(answer, "/edges", 2);
    hd_value_unref(answer);
    EXPECT_INT(hd_runtime_statistics(runtime, &answer, NULL), HD_OK);
    expect_at(answer, "/pieces", "2");
    hd_value_unref(answer);

    answer = NULL;
    EXPECT_INT(hd_runtime_nodes(runtime, "none", &answer, &error),
               HD_NOT_FOUND);
    EXPECT_CONTAINS(error.text, "'none'");
    EXPECT_INT(hd_runtime_graph(runtime, "none", &answer, &error),
               HD_NOT_FOUND);
    EXPECT_INT(hd_runtime_graph(runtime, "", &answer, &error), HD_ARGUMENT);
    EXPECT(answer == NULL);
    lists_close(&lists);
}

/* -- Inspections --------------------------------------------------------- */

static hd_inspection *offline_graph_of(hd_runtime *runtime)
{
    hd_inspection *inspection = NULL;
    hd_error error;
    EXPECT_INT(hd_inspection_new(runtime, NULL, &inspection, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    return inspection;
}

static void expect_pieces(hd_inspection *inspection)
{
    hd_value *answer = NULL;
    EXPECT_INT(hd_inspection_pieces(inspection, &answer, NULL), HD_OK);
    expect_count(answer, "/pieces", 2);
    expect_at(answer, "/pieces/0/piece", "\"list\"");
    expect_at(answer, "/pieces/0/pattern", "\"list\"");
    expect_at(answer, "/pieces/0/nodes/1/node", "\"count\"");
    expect_at(answer, "/pieces/0/nodes/1/kind", "\"computed\"");
    expect_at(answer, "/pieces/0/nodes/1/status", "\"clean\"");
    expect_at(answer, "/pieces/0/nodes/1/wanted", "true");
    expect_at(answer, "/pieces/0/nodes/1/runs", "3");
    expect_at(answer, "/pieces/0/nodes/1/reason", "\"change\"");
    hd_value_unref(answer);

    EXPECT_INT(hd_inspection_graph(inspection, "list", &answer, NULL), HD_OK);
    expect_at(answer, "/piece", "\"list\"");
    expect_count(answer, "/nodes", 4);
    expect_count(answer, "/edges", 3);
    expect_at(answer,
              "/edges/0",
              "{\"document\":\"piece:list/items\",\"from\":\"i0\","
              "\"to\":\"n1\"}");
    hd_value_unref(answer);
}

static void expect_accounts(hd_inspection *inspection)
{
    hd_value *answer = NULL;
    hd_question question = {.piece = "list", .node = "show"};
    EXPECT_INT(hd_inspection_why(inspection, &question, &answer, NULL), HD_OK);
    expect_at(answer, "/reason", "\"change\"");
    expect_at(answer, "/causes/0/address", "\"piece:list/count#/value\"");
    expect_at(answer, "/causes/0/changes/0/new", "2");
    expect_at(answer, "/causes/0/by/node", "\"count\"");
    expect_at(answer, "/causes/0/by/run", "");
    hd_value_unref(answer);
    question.to_the_origin = true;
    EXPECT_INT(hd_inspection_why(inspection, &question, &answer, NULL), HD_OK);
    expect_at(answer, "/causes/0/by/run/causes/0/by/type", "\"event\"");
    expect_at(answer, "/causes/0/by/run/causes/0/by/handler", "\"add\"");
    hd_value_unref(answer);
    EXPECT_INT(hd_inspection_why_not(inspection, &question, &answer, NULL),
               HD_OK);
    expect_at(answer, "/condition", "\"clean\"");
    expect_at(answer, "/reads", "[\"piece:list/count#/value\"]");
    hd_value_unref(answer);

    const hd_question place = {.document = "piece:list/count", .path = ""};
    EXPECT_INT(hd_inspection_why(inspection, &place, &answer, NULL), HD_OK);
    expect_at(answer, "/address", "\"piece:list/count#/value\"");
    expect_at(answer, "/commit/by/node", "\"count\"");
    expect_count(answer, "/writers", 1);
    expect_at(answer, "/writers/0/node", "\"count\"");
    expect_at(answer, "/writers/0/reason", "\"change\"");
    hd_value_unref(answer);
    EXPECT_INT(hd_inspection_why_not(inspection, &place, &answer, NULL), HD_OK);
    expect_count(answer, "/writers", 1);
    expect_at(answer, "/writers/0/condition", "\"clean\"");
    hd_value_unref(answer);
    const hd_question items = {.document = "piece:list/items", .path = "/1"};
    EXPECT_INT(hd_inspection_why(inspection, &items, &answer, NULL), HD_OK);
    expect_at(answer, "/address", "\"piece:list/items#/value/1\"");
    expect_at(answer, "/commit/by/type", "\"event\"");
    expect_at(answer, "/writers", "[]");
    hd_value_unref(answer);
}

static int64_t int_at(hd_value *answer, const char *pointer)
{
    hd_value *found = NULL;
    int64_t number = -1;
    EXPECT_INT(hd_value_get(answer, pointer, HD_TERMINATED, &found, NULL),
               HD_OK);
    EXPECT_INT(hd_value_get_int(found, &number), HD_OK);
    hd_value_unref(found);
    return number;
}

static void expect_history(hd_inspection *inspection)
{
    hd_value *answer = NULL;
    EXPECT_INT(hd_inspection_log(inspection, NULL, &answer, NULL), HD_OK);
    hd_value *commits = NULL;
    size_t count = 0;
    EXPECT_INT(hd_value_get(answer, "/commits", HD_TERMINATED, &commits, NULL),
               HD_OK);
    EXPECT_INT(hd_value_count(commits, &count), HD_OK);
    EXPECT(count >= 5);
    expect_at(answer, "/commits/0/seq", "1");
    hd_value_unref(commits);
    hd_value_unref(answer);
    hd_log_options some = {.piece = "listb", .limit = 1};
    EXPECT_INT(hd_inspection_log(inspection, &some, &answer, NULL), HD_OK);
    expect_count(answer, "/commits", 1);
    const int64_t last = int_at(answer, "/commits/0/seq");
    hd_value_unref(answer);
    some = (hd_log_options){.after = 1, .to = 3};
    EXPECT_INT(hd_inspection_log(inspection, &some, &answer, NULL), HD_OK);
    expect_count(answer, "/commits", 2);
    expect_at(answer, "/commits/0/seq", "2");
    hd_value_unref(answer);

    EXPECT_INT(hd_inspection_show(inspection, "list", NULL, 0, &answer, NULL),
               HD_OK);
    expect_value(answer, "{\"count\":2}");
    hd_value_unref(answer);
    EXPECT_INT(
        hd_inspection_show(inspection, "list", "/count", 0, &answer, NULL),
        HD_OK);
    expect_value(answer, "2");
    hd_value_unref(answer);
    hd_error error;
    EXPECT_INT(
        hd_inspection_show(inspection, "list", "/none", 0, &answer, &error),
        HD_NOT_FOUND);
    EXPECT_INT(hd_inspection_show(inspection,
                                  "list",
                                  NULL,
                                  (uint64_t)last + 100,
                                  &answer,
                                  &error),
               HD_SEQUENCE);
    const hd_question count_of = {.document = "piece:list/count"};
    EXPECT_INT(hd_inspection_why(inspection, &count_of, &answer, NULL), HD_OK);
    const uint64_t landed = (uint64_t)int_at(answer, "/commit/seq");
    hd_value_unref(answer);
    EXPECT_INT(hd_inspection_show(inspection,
                                  "list",
                                  "/count",
                                  landed - 1,
                                  &answer,
                                  NULL),
               HD_OK);
    expect_value(answer, "1");
    hd_value_unref(answer);
}

TEST(a_inspection_answers_what_the_commands_do)
{
    struct lists lists;
    lists_open(&lists);
    hd_inspection *inspection = offline_graph_of(lists.fixture.runtime);
    expect_pieces(inspection);
    expect_accounts(inspection);
    expect_history(inspection);
    hd_inspection_free(inspection);
    lists_close(&lists);
}

TEST(a_inspection_of_a_file_alone_answers_the_same)
{
    struct lists lists;
    lists_open(&lists);
    fixture_close(&lists.fixture);
    lists.fixture = (struct fixture){.now = 1000, .random = 3};
    hd_runtime_options options = fixture_options(&lists.fixture);
    options.directory = lists.folder;
    options.read_only = true;
    fixture_open_with(&lists.fixture, &options);
    hd_inspection *inspection = offline_graph_of(lists.fixture.runtime);
    expect_pieces(inspection);
    expect_accounts(inspection);
    expect_history(inspection);
    hd_inspection_free(inspection);
    lists_close(&lists);
}

TEST(a_inspection_is_of_one_state_and_ends_with_its_runtime)
{
    struct lists lists;
    lists_open(&lists);
    hd_inspection *inspection = offline_graph_of(lists.fixture.runtime);
    hd_cell *cell = cell_of(&lists.fixture, "later", NULL);
    hd_value *before = NULL;
    hd_value *after = NULL;
    EXPECT_INT(hd_inspection_pieces(inspection, &before, NULL), HD_OK);
    set_json(cell, "1");
    fixture_settle(&lists.fixture);
    EXPECT_INT(hd_inspection_pieces(inspection, &after, NULL), HD_OK);
    EXPECT_INT(int_at(before, "/seq"), int_at(after, "/seq"));
    hd_value_unref(after);
    hd_inspection *second = offline_graph_of(lists.fixture.runtime);
    EXPECT_INT(hd_inspection_pieces(second, &after, NULL), HD_OK);
    EXPECT_INT(int_at(before, "/seq") + 1, int_at(after, "/seq"));
    hd_value_unref(after);
    hd_value_unref(before);
    hd_inspection_free(second);

    EXPECT_INT(hd_runtime_close(lists.fixture.runtime, HD_NEVER, NULL), HD_OK);
    EXPECT_INT(hd_inspection_pieces(inspection, &after, NULL), HD_CLOSED);
    hd_inspection_free(inspection);
    hd_cell_free(cell);
    lists_close(&lists);
}

TEST(a_question_that_makes_no_sense_is_refused_with_a_sentence)
{
    struct lists lists;
    lists_open(&lists);
    hd_inspection *inspection = offline_graph_of(lists.fixture.runtime);
    const struct {
        hd_question question;
        hd_status status;
    } rows[] = {
        {{.node = "count"}, HD_ARGUMENT},
        {{.piece = "list"}, HD_ARGUMENT},
        {{.piece = "list", .document = "x"}, HD_ARGUMENT},
        {{.piece = "none", .node = "count"}, HD_NOT_FOUND},
        {{.piece = "list", .node = "none"}, HD_NOT_FOUND},
        {{.document = ""}, HD_ARGUMENT},
        {{.document = "\xFF"}, HD_SYNTAX},
        {{.document = "x", .path = "a"}, HD_SYNTAX},
        {{.document = "x", .path = "/\xFF"}, HD_SYNTAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hd_value *answer = NULL;
        hd_error error;
        EXPECT_INT(
            hd_inspection_why(inspection, &rows[i].question, &answer, &error),
            rows[i].status);
        EXPECT(strlen(error.text) > 0);
        EXPECT_INT(hd_inspection_why_not(inspection,
                                         &rows[i].question,
                                         &answer,
                                         &error),
                   rows[i].status);
        EXPECT(answer == NULL);
    }
    hd_value *answer = NULL;
    hd_error error;
    const hd_log_options log = {.piece = "none"};
    EXPECT_INT(hd_inspection_why(inspection, NULL, &answer, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_inspection_log(inspection, &log, &answer, &error),
               HD_NOT_FOUND);
    EXPECT_INT(hd_inspection_graph(inspection, NULL, &answer, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_inspection_graph(inspection, "none", &answer, &error),
               HD_NOT_FOUND);
    EXPECT_INT(hd_inspection_show(inspection, "list", "x", 0, &answer, &error),
               HD_SYNTAX);
    EXPECT(answer == NULL);
    hd_inspection_free(inspection);
    lists_close(&lists);
}

TEST(what_is_in_memory_has_no_inspection)
{
    struct fixture fixture = {.now = 1000};
    const hd_runtime_options options = fixture_options(&fixture);
    fixture_open_as(&fixture, &options);
    hd_inspection *inspection = NULL;
    hd_error error;
    EXPECT_INT(hd_inspection_new(fixture.runtime, NULL, &inspection, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "in memory");
    EXPECT_INT(hd_inspection_new(fixture.runtime, "none", &inspection, &error),
               HD_NOT_FOUND);
    EXPECT(inspection == NULL);
    fixture_close(&fixture);
}
