/* Runtimes on real files in tests (lib/live_kit.h is the manual). */

#include "lib/live_kit.h"

#include "lib/store_kit.h"
#include "lib/test.h"
#include "runtime/cell.h"

void site_begin(struct site *site)
{
    *site = (struct site){0};
    kit_folder_new(site->folder, sizeof site->folder);
    sim_host_init(&site->sim, 1000, 7);
}

void site_end(struct site *site)
{
    kit_folder_remove(site->folder);
    buf_release(&site->troubles);
}

static void on_trouble(void *ctx,
                       struct space *space,
                       const struct err_detail *trouble)
{
    struct site *site = ctx;
    (void)space;
    buf_printf(&site->troubles,
               "%s, ",
               trouble != NULL ? err_name(trouble->err) : "over");
}

static bool on_progress(void *ctx, uint64_t actions, uint64_t total)
{
    struct site *site = ctx;
    site->progress = actions;
    site->total = total;
    return true;
}

struct live_options site_options(struct site *site)
{
    return (struct live_options){
        .folder = site->folder,
        .host = &site->sim.host,
        .on_trouble = on_trouble,
        .on_progress = on_progress,
        .ctx = site,
    };
}

struct live *site_enter_with(const struct live_options *options)
{
    struct live *live = NULL;
    struct err_detail detail = {0};
    if (live_open(options, &live, &detail) != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "not opened: %s", detail.text);
    }
    CHECK(live != NULL);
    return live;
}

struct live *site_enter(struct site *site)
{
    const struct live_options options = site_options(site);
    return site_enter_with(&options);
}

void site_leave(struct live *live)
{
    EXPECT_EQ(live_stop(live, live_now(live), NULL), ERR_OK);
}

struct place *site_at(struct live *live, const char *id)
{
    struct entity *entity;
    struct value name = value_text_new(id);
    EXPECT_EQ(entity_of(live_runtime(live)->spaces.at[0],
                        SCOPE_SPACE,
                        name,
                        &entity,
                        NULL),
              ERR_OK);
    value_unref(name);
    EXPECT_EQ(live_load(live, entity, NULL), ERR_OK);
    return place_payload(entity);
}

void site_put(struct live *live, const char *id, int64_t number)
{
    const struct cell_access access = {.runtime = live_runtime(live)};
    struct place *place = site_at(live, id);
    EXPECT_EQ(cell_put_adopt(&access, place, value_int(number), NULL), ERR_OK);
    place_unref(place);
}

int64_t site_number(struct live *live, const char *id)
{
    const struct cell_access access = {.runtime = live_runtime(live)};
    struct place *place = site_at(live, id);
    struct value value;
    EXPECT_EQ(
        cell_read(&access, place, READ_DEEP, READ_FOR_BOTH, &value, NULL, NULL),
        ERR_OK);
    place_unref(place);
    return value_kind(value) == VALUE_INT ? value_integer(value) : -1;
}

void site_settle(struct live *live)
{
    EXPECT_EQ(live_settle(live, live_now(live)), LIVE_AT_REST);
}

struct live *site_enter_really(struct site *site)
{
    struct live_options options = site_options(site);
    options.host = NULL;
    return site_enter_with(&options);
}
