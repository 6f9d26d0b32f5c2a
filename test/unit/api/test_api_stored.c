/* What the store keeps until it is handled, through the public header: ids of
 * timers, events of effects. */

#include "unit/api/fixture.h"

static void set_timer(struct fixture *fixture,
                      const char *stream,
                      const char *id)
{
    const hd_timer_options far = {.after_ms = 86400000};
    const hd_send_options options = {.id = id, .timer = &far};
    hd_cell *cell = cell_of(fixture, stream, NULL);
    EXPECT_INT(hd_cell_send(cell, NULL, &options, NULL, NULL), HD_OK);
    hd_cell_free(cell);
    fixture_settle(fixture);
}

static bool cancel_timer(struct fixture *fixture,
                         const char *stream,
                         const char *id)
{
    bool cancelled = false;
    hd_cell *cell = cell_of(fixture, stream, NULL);
    EXPECT_INT(hd_cell_cancel(cell, id, &cancelled, NULL), HD_OK);
    hd_cell_free(cell);
    fixture_settle(fixture);
    return cancelled;
}

TEST(an_id_names_a_timer_of_its_stream)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture fixture;
    fixture_open(&fixture, folder, 1);
    set_timer(&fixture, "piece:kettle/tea", "x");
    set_timer(&fixture, "piece:kettle/egg", "x");
    EXPECT(cancel_timer(&fixture, "piece:kettle/egg", "x"));
    EXPECT(!cancel_timer(&fixture, "piece:kettle/egg", "x"));
    EXPECT(cancel_timer(&fixture, "piece:kettle/tea", "x"));
    EXPECT(!cancel_timer(&fixture, "piece:kettle/tea", "x"));
    fixture_close(&fixture);
    kit_folder_remove(folder);
}

struct shop {
    hd_cell *order;
    hd_cell *stream;
    hd_cell *log;
};

static void shop_open(struct shop *shop, struct fixture *fixture)
{
    shop->order = cell_of(fixture, "order", NULL);
    shop->stream = cell_of(fixture, "take", NULL);
    shop->log = cell_of(fixture, "log", NULL);
}

static void shop_close(struct shop *shop, struct fixture *fixture)
{
    hd_cell_free(shop->order);
    hd_cell_free(shop->stream);
    hd_cell_free(shop->log);
    fixture_close(fixture);
}

static hd_status ship(hd_run *run, void *context)
{
    (void)run;
    const struct shop *shop = context;
    hd_value *order = NULL;
    hd_status status = hd_cell_get(shop->order, &order, NULL);
    if (status == HD_OK) {
        status = hd_cell_send(shop->stream, order, NULL, NULL, NULL);
    }
    hd_value_unref(order);
    return status;
}

static hd_status take(hd_run *run, void *context)
{
    const struct shop *shop = context;
    hd_value *payload = NULL;
    hd_status status = hd_run_payload(run, &payload);
    if (status == HD_OK) {
        status = hd_cell_append(shop->log, payload, NULL);
    }
    hd_value_unref(payload);
    return status;
}

TEST(what_an_effect_sends_outlives_its_runtime)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture fixture;
    struct shop shop;
    fixture_open(&fixture, folder, 1);
    shop_open(&shop, &fixture);
    set_json(shop.log, "[]");
    set_json(shop.order, "7");
    const hd_node_options effect = {.run = ship, .context = &shop};
    EXPECT_INT(hd_effect_new(fixture.runtime, &effect, NULL, NULL), HD_OK);
    fixture_settle(&fixture); /* nothing handles it here */
    EXPECT_TEXT(fixture.reported.text, "");
    shop_close(&shop, &fixture);

    fixture_open(&fixture, folder, 2);
    shop_open(&shop, &fixture);
    const hd_handler_options handler = {.run = take, .context = &shop};
    EXPECT_INT(hd_handler_new(shop.stream, &handler, NULL, NULL), HD_OK);
    fixture_settle(&fixture);
    fixture_settle(&fixture);
    expect_json(shop.log, "[7]");
    shop_close(&shop, &fixture);
    kit_folder_remove(folder);
}
