/* A runtime that was opened for reading only: it reads and looks on, and every
 * function that would change something says why it does not. */

#include "unit/api/fixture.h"

/* A directory with {"price":12} in the document "cart", and a piece. */
struct shop {
    char folder[256];
    struct fixture writer;
    struct fixture reader;
    hd_cell *price; /* of the writer, */
    hd_cell *seen;  /* and of the reader */
};

static hd_status build_nothing(hd_builder *builder, void *context)
{
    hd_cell *count = NULL;
    (void)context;
    const hd_status status =
        hd_build_state(builder, "count", NULL, &count, NULL);
    return status != HD_OK ? status
                           : hd_build_result(builder, "count", count, NULL);
}

static hd_pattern *pattern_of(const char *name)
{
    hd_pattern *pattern = NULL;
    EXPECT_INT(
        hd_pattern_new(name, NULL, build_nothing, NULL, NULL, &pattern, NULL),
        HD_OK);
    return pattern;
}

static void read_with(struct shop *shop, hd_runtime_options *options)
{
    shop->reader = (struct fixture){.now = 1000, .random = 5};
    *options = fixture_options(&shop->reader);
    options->directory = shop->folder;
    options->read_only = true;
}

static void shop_open(struct shop *shop)
{
    kit_folder_new(shop->folder, sizeof shop->folder);
    fixture_open(&shop->writer, shop->folder, 1);
    hd_cell *cart = cell_of(&shop->writer, "cart", NULL);
    hd_pattern *pattern = pattern_of("counter");
    set_json(cart, "{\"price\":12}");
    EXPECT_INT(
        hd_piece_start(shop->writer.runtime, pattern, "till", NULL, NULL, NULL),
        HD_OK);
    fixture_settle(&shop->writer);
    shop->price = cell_of(&shop->writer, "cart", "/price");
    hd_runtime_options options;
    read_with(shop, &options);
    fixture_open_with(&shop->reader, &options);
    shop->seen = cell_of(&shop->reader, "cart", "/price");
    hd_cell_free(cart);
    hd_pattern_free(pattern);
}

static void shop_close(struct shop *shop)
{
    hd_cell_free(shop->price);
    hd_cell_free(shop->seen);
    fixture_close(&shop->reader);
    fixture_close(&shop->writer);
    kit_folder_remove(shop->folder);
}

TEST(what_is_there_is_read)
{
    struct shop shop;
    shop_open(&shop);
    expect_json(shop.seen, "12");
    hd_value *names = NULL;
    EXPECT_INT(hd_runtime_pieces(shop.reader.runtime, NULL, &names, NULL),
               HD_OK);
    expect_value(names, "[\"till\"]");
    hd_value_unref(names);
    hd_value *pulled = NULL;
    EXPECT_INT(hd_cell_pull(shop.seen, &pulled, NULL), HD_OK);
    expect_value(pulled, "12");
    hd_value_unref(pulled);
    fixture_settle(&shop.reader);
    shop_close(&shop);
}

struct watched {
    unsigned calls;
    int64_t last;
};

static void watch(void *context, const hd_value *value)
{
    struct watched *watched = context;
    watched->calls++;
    EXPECT_INT(hd_value_get_int(value, &watched->last), HD_OK);
}

TEST(a_sink_sees_what_is_there_once_and_what_others_commit_after_that)
{
    struct shop shop;
    shop_open(&shop);
    struct watched watched = {0};
    hd_node *sink = NULL;
    EXPECT_INT(hd_sink_new(shop.seen, watch, &watched, &sink, NULL), HD_OK);
    fixture_settle(&shop.reader);
    EXPECT_INT(watched.calls, 1);
    EXPECT_INT(watched.last, 12);

    EXPECT_INT(hd_cell_set_int(shop.price, 13, NULL), HD_OK);
    fixture_settle(&shop.writer);
    fixture_settle(&shop.reader);
    shop.reader.now += 5000; /* when it would look, if nobody told it */
    fixture_settle(&shop.reader);
    EXPECT_INT(watched.calls, 2);
    EXPECT_INT(watched.last, 13);

    EXPECT_INT(hd_node_remove(sink), HD_OK);
    EXPECT_INT(hd_cell_set_int(shop.price, 14, NULL), HD_OK);
    fixture_settle(&shop.writer);
    shop.reader.now += 5000;
    fixture_settle(&shop.reader);
    EXPECT_INT(watched.calls, 2);
    hd_node_free(sink);
    shop_close(&shop);
}

TEST(a_clock_shows_what_is_stored)
{
    struct shop shop;
    shop_open(&shop);
    hd_cell *clock = cell_of(&shop.writer, "clock:1000", NULL);
    hd_cell *seen = cell_of(&shop.reader, "clock:1000", NULL);
    hd_value *now = NULL;
    hd_value *stored = NULL;
    EXPECT_INT(hd_cell_pull(clock, &now, NULL), HD_OK);
    fixture_settle(&shop.writer);
    shop.reader.now += 5000;
    fixture_settle(&shop.reader);
    EXPECT_INT(hd_cell_pull(seen, &stored, NULL), HD_OK);
    int64_t shown = 0;
    int64_t written = 0;
    EXPECT_INT(hd_value_get_int(now, &written), HD_OK);
    EXPECT_INT(hd_value_get_int(stored, &shown), HD_OK);
    EXPECT_INT(shown, written);
    EXPECT_INT(shop.reader.reports, 0);
    hd_value_unref(now);
    hd_value_unref(stored);
    hd_cell_free(seen);
    hd_cell_free(clock);
    shop_close(&shop);
}

/* -- Refusals ------------------------------------------------------------ */

static hd_status run_nothing(hd_run *run, void *context)
{
    (void)run;
    (void)context;
    return HD_OK;
}

static void expect_read_only(const char *what,
                             hd_status status,
                             const hd_error *error)
{
    if (status != HD_READ_ONLY) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s is %s",
                        what,
                        hd_status_name(status));
    }
    EXPECT_INT(error->status, HD_READ_ONLY);
    EXPECT_CONTAINS(error->text, "was opened read-only");
}

#define REFUSED(call)                            \
    do {                                         \
        hd_error error = {.status = HD_OK};      \
        const hd_status status = call;           \
        expect_read_only(#call, status, &error); \
    } while (0)

static void expect_no_write(hd_cell *cell)
{
    hd_value *value = value_of("1");
    hd_value *labels = value_of("[\"secret\"]");
    REFUSED(hd_cell_set(cell, value, &error));
    REFUSED(hd_cell_set_bool(cell, true, &error));
    REFUSED(hd_cell_set_int(cell, 1, &error));
    REFUSED(hd_cell_set_double(cell, 1.5, &error));
    REFUSED(hd_cell_set_text(cell, "a", 1, &error));
    REFUSED(hd_cell_delete(cell, &error));
    REFUSED(hd_cell_append(cell, value, &error));
    REFUSED(hd_cell_add_unique(cell, value, &error));
    REFUSED(hd_cell_remove(cell, value, &error));
    REFUSED(hd_cell_increment(cell, 1, &error));
    REFUSED(hd_cell_increment_double(cell, 1.5, &error));
    REFUSED(hd_cell_set_link(cell, cell, &error));
    REFUSED(hd_cell_set_labels(cell, labels, &error));
    REFUSED(hd_cell_send(cell, value, NULL, NULL, &error));
    hd_value_unref(labels);
    hd_value_unref(value);
}

TEST(every_write_is_refused_with_a_sentence)
{
    struct shop shop;
    shop_open(&shop);
    hd_runtime *runtime = shop.reader.runtime;
    expect_no_write(shop.seen);

    hd_node *node = NULL;
    hd_piece *piece = NULL;
    hd_pattern *pattern = pattern_of("other");
    const hd_node_options computation = {
        .run = run_nothing,
        .writes = &shop.seen,
        .write_count = 1,
    };
    const hd_handler_options handler = {.run = run_nothing};
    hd_cell *clock = NULL;
    REFUSED(hd_cell_clock(runtime, NULL, 1000, &clock, &error));
    REFUSED(hd_computation_new(runtime, &computation, &node, &error));
    REFUSED(hd_handler_new(shop.seen, &handler, &node, &error));
    REFUSED(hd_piece_start(runtime, pattern, "new", NULL, &piece, &error));
    REFUSED(hd_piece_start(runtime, pattern, "till", NULL, &piece, &error));
    EXPECT(node == NULL);
    EXPECT(piece == NULL);
    hd_pattern_free(pattern);

    fixture_settle(&shop.reader);
    EXPECT_INT(shop.reader.reports, 0);
    expect_json(shop.seen, "12");
    expect_json(shop.price, "12");
    shop_close(&shop);
}

static hd_status edit_nothing(hd_runtime *runtime, void *context)
{
    (void)runtime;
    int64_t price = 0;
    const hd_status status = hd_cell_get_int(context, &price, NULL);
    EXPECT(status == HD_STALE || price == 12);
    return status;
}

static hd_status edit_it(hd_runtime *runtime, void *context)
{
    (void)runtime;
    expect_no_write(context);
    return hd_cell_set_int(context, 1, NULL);
}

TEST(an_edit_may_read_and_not_write)
{
    struct shop shop;
    shop_open(&shop);
    hd_runtime *runtime = shop.reader.runtime;
    EXPECT_INT(hd_runtime_edit(runtime, edit_nothing, shop.seen, NULL), HD_OK);
    REFUSED(hd_runtime_edit(runtime, edit_it, shop.seen, &error));
    expect_json(shop.seen, "12");
    shop_close(&shop);
}

static hd_status run_writes(hd_run *run, void *context)
{
    (void)run;
    return hd_cell_set_int(context, 1, NULL);
}

TEST(an_effect_that_writes_fails_and_is_reported)
{
    struct shop shop;
    shop_open(&shop);
    const hd_node_options effect = {.run = run_writes, .context = shop.seen};
    EXPECT_INT(hd_effect_new(shop.reader.runtime, &effect, NULL, NULL), HD_OK);
    fixture_settle(&shop.reader);
    EXPECT_INT(shop.reader.reports, 1);
    EXPECT_INT(shop.reader.reported.status, HD_READ_ONLY);
    expect_json(shop.seen, "12");
    shop_close(&shop);
}

/* -- Opening ------------------------------------------------------------- */

TEST(nothing_is_made_for_reading)
{
    struct shop shop;
    hd_runtime_options options;
    hd_runtime *runtime = NULL;
    hd_error error;
    kit_folder_new(shop.folder, sizeof shop.folder);
    read_with(&shop, &options);
    EXPECT_INT(hd_runtime_open(&options, &runtime, &error), HD_NOT_FOUND);
    EXPECT(runtime == NULL);
    EXPECT(strlen(error.text) > 0);

    char none[300];
    (void)snprintf(none, sizeof none, "%s/none", shop.folder);
    options.directory = none;
    EXPECT_INT(hd_runtime_open(&options, &runtime, &error), HD_NOT_FOUND);

    options.directory = NULL;
    EXPECT_INT(hd_runtime_open(&options, &runtime, &error), HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "'read_only'");
    kit_folder_remove(shop.folder);
}

TEST(another_space_has_to_be_there_too)
{
    struct shop shop;
    shop_open(&shop);
    hd_error error;
    EXPECT_INT(hd_runtime_open_space(shop.reader.runtime, "more", &error),
               HD_NOT_FOUND);
    EXPECT_INT(hd_runtime_open_space(shop.writer.runtime, "more", &error),
               HD_OK);
    EXPECT_INT(hd_runtime_open_space(shop.reader.runtime, "more", &error),
               HD_OK);
    EXPECT_INT(hd_runtime_close(shop.reader.runtime, HD_NEVER, &error), HD_OK);
    shop_close(&shop);
}
