/* What the store keeps until it is handled, through the public header: ids of
 * timers, events of effects. */

#include "unit/api/rig.h"

static void set_timer(struct rig *rig, const char *stream, const char *id)
{
    const hd_timer_options far = {.after_ms = 86400000};
    const hd_send_options options = {.id = id, .timer = &far};
    hd_cell *cell = cell_of(rig, stream, NULL);
    EXPECT_INT(hd_cell_send(cell, NULL, &options, NULL, NULL), HD_OK);
    hd_cell_free(cell);
    rig_settle(rig);
}

static bool cancel_timer(struct rig *rig, const char *stream, const char *id)
{
    bool cancelled = false;
    hd_cell *cell = cell_of(rig, stream, NULL);
    EXPECT_INT(hd_cell_cancel(cell, id, &cancelled, NULL), HD_OK);
    hd_cell_free(cell);
    rig_settle(rig);
    return cancelled;
}

TEST(an_id_names_a_timer_of_its_stream)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct rig rig;
    rig_open(&rig, folder, 1);
    set_timer(&rig, "piece:kettle/tea", "x");
    set_timer(&rig, "piece:kettle/egg", "x");
    EXPECT(cancel_timer(&rig, "piece:kettle/egg", "x"));
    EXPECT(!cancel_timer(&rig, "piece:kettle/egg", "x"));
    EXPECT(cancel_timer(&rig, "piece:kettle/tea", "x"));
    EXPECT(!cancel_timer(&rig, "piece:kettle/tea", "x"));
    rig_close(&rig);
    kit_folder_remove(folder);
}

struct shop {
    hd_cell *order;
    hd_cell *stream;
    hd_cell *log;
};

static void shop_open(struct shop *shop, struct rig *rig)
{
    shop->order = cell_of(rig, "order", NULL);
    shop->stream = cell_of(rig, "take", NULL);
    shop->log = cell_of(rig, "log", NULL);
}

static void shop_close(struct shop *shop, struct rig *rig)
{
    hd_cell_free(shop->order);
    hd_cell_free(shop->stream);
    hd_cell_free(shop->log);
    rig_close(rig);
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
    struct rig rig;
    struct shop shop;
    rig_open(&rig, folder, 1);
    shop_open(&shop, &rig);
    set_json(shop.log, "[]");
    set_json(shop.order, "7");
    const hd_node_options effect = {.run = ship, .context = &shop};
    EXPECT_INT(hd_effect_new(rig.runtime, &effect, NULL, NULL), HD_OK);
    rig_settle(&rig); /* nothing handles it here */
    EXPECT_TEXT(rig.reported.text, "");
    shop_close(&shop, &rig);

    rig_open(&rig, folder, 2);
    shop_open(&shop, &rig);
    const hd_handler_options handler = {.run = take, .context = &shop};
    EXPECT_INT(hd_handler_new(shop.stream, &handler, NULL, NULL), HD_OK);
    rig_settle(&rig);
    rig_settle(&rig);
    expect_json(shop.log, "[7]");
    shop_close(&shop, &rig);
    kit_folder_remove(folder);
}
