/* Asking engines and locked files. */

#include "host/event_source.h"

#include "host/system.h"
#include "replica/space.h"
#include "store/waiting.h"

static const char senders[] = "senders";

struct listing {
    stored_event_fn *found;
    void *ctx;
};

static void on_waiting(void *ctx, const struct waiting_event *event)
{
    const struct listing *listing = ctx;
    listing->found(listing->ctx, event->number, event->id, event->document);
}

static bool list(void *ctx,
                 struct space *space,
                 uint64_t after,
                 stored_event_fn *found,
                 void *found_ctx)
{
    const struct event_source *source = ctx;
    struct engine *engine = source->engine(source->ctx, space->id);
    struct listing listing = {found, found_ctx};
    struct err_detail why = {0}; /* the host reports what is wrong */
    if (engine == NULL) {
        return true;
    }
    enum err err = engine_read_begin(engine, &why);
    if (err != ERR_OK) {
        return false;
    }
    err = engine_waiting(engine,
                         space->branch,
                         after,
                         STORED_PAGE,
                         on_waiting,
                         &listing,
                         &why);
    engine_read_end(engine);
    return err == ERR_OK;
}

static bool timers(void *ctx,
                   struct space *space,
                   struct timer_position after,
                   uint64_t until,
                   stored_event_fn *found,
                   void *found_ctx,
                   uint64_t *next)
{
    const struct event_source *source = ctx;
    struct engine *engine = source->engine(source->ctx, space->id);
    struct listing listing = {found, found_ctx};
    struct err_detail why = {0}; /* as above */
    if (engine == NULL) {
        return true;
    }
    enum err err = engine_read_begin(engine, &why);
    if (err != ERR_OK) {
        return false;
    }
    err = engine_timers(engine,
                        space->branch,
                        (struct timer_mark){after.due, after.number},
                        until,
                        STORED_PAGE,
                        on_waiting,
                        &listing,
                        &why);
    if (err == ERR_OK) {
        err = engine_timer_next(engine, space->branch, until, next, &why);
    }
    engine_read_end(engine);
    return err == ERR_OK;
}

static enum err named(void *ctx,
                      struct space *space,
                      struct value prefix,
                      stored_event_fn *found,
                      void *found_ctx,
                      struct err_detail *detail)
{
    const struct event_source *source = ctx;
    struct engine *engine = source->engine(source->ctx, space->id);
    struct listing listing = {found, found_ctx};
    if (engine == NULL) {
        return ERR_OK;
    }
    enum err err = engine_read_begin(engine, detail);
    if (err == ERR_OK) {
        err = engine_timers_named(engine,
                                  space->branch,
                                  prefix,
                                  on_waiting,
                                  &listing,
                                  detail);
        engine_read_end(engine);
    }
    return err;
}

static uint64_t wall(void *ctx)
{
    (void)ctx;
    return system_wall_ms();
}

static const struct zone *zone(void *ctx,
                               struct value name,
                               struct err_detail *detail)
{
    struct event_source *source = ctx;
    return zones_find(&source->zones, name, detail);
}

static bool is_at_work(void *ctx, struct value instance)
{
    const struct event_source *source = ctx;
    return source->folder[0] != '\0' &&
           locked_file_is_held(source->folder, senders, instance, true);
}

/* If the file cannot be created, other runtimes take up the events of this one.
 */
static void begin(void *ctx)
{
    struct event_source *source = ctx;
    source->is_held =
        source->folder[0] != '\0' && locked_file_open(&source->held,
                                                      source->folder,
                                                      senders,
                                                      source->instance,
                                                      value_empty_object(),
                                                      NULL,
                                                      NULL) == ERR_OK;
}

bool event_source_is_at_work(const char *folder, struct value instance)
{
    return locked_file_is_held(folder, senders, instance, false);
}

struct stored_events_source event_source_hooks(struct event_source *source)
{
    return (struct stored_events_source){
        .list = list,
        .timers = timers,
        .named = named,
        .wall = wall,
        .trusted = EVENT_SOURCE_TRUSTED_MS,
        .zone = zone,
        .is_at_work = is_at_work,
        .begin = begin,
        .ctx = source,
    };
}

void event_source_release(struct event_source *source)
{
    zones_release(&source->zones);
    if (source->is_held) {
        locked_file_close(&source->held);
        source->is_held = false;
    }
}
