/* Stored events of a host: asking its stores and its claims. */

#include "host/event_source.h"

#include "host/locked_file.h"
#include "host/system.h"
#include "replica/space.h"

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
    struct store_access *store = source->store(source->ctx, space->id);
    struct listing listing = {found, found_ctx};
    struct err_detail why = {0}; /* the host reports what is wrong */
    return store == NULL || store->methods->waiting(store,
                                                    space->branch,
                                                    after,
                                                    STORED_PAGE,
                                                    on_waiting,
                                                    &listing,
                                                    &why) == ERR_OK;
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
    struct store_access *store = source->store(source->ctx, space->id);
    struct listing listing = {found, found_ctx};
    const struct timer_mark mark = {after.due, after.number};
    struct err_detail why = {0}; /* as above */
    return store == NULL || store->methods->timers(store,
                                                   space->branch,
                                                   mark,
                                                   until,
                                                   STORED_PAGE,
                                                   on_waiting,
                                                   &listing,
                                                   next,
                                                   &why) == ERR_OK;
}

static enum err named(void *ctx,
                      struct space *space,
                      struct value prefix,
                      stored_event_fn *found,
                      void *found_ctx,
                      struct err_detail *detail)
{
    const struct event_source *source = ctx;
    struct store_access *store = source->store(source->ctx, space->id);
    struct listing listing = {found, found_ctx};
    return store == NULL ? ERR_OK
                         : store->methods->timers_named(store,
                                                        space->branch,
                                                        prefix,
                                                        on_waiting,
                                                        &listing,
                                                        detail);
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
    struct event_source *source = ctx;
    struct claims *claims = source->claims;
    return claims != NULL &&
           claims->methods->is_held(claims, CLAIM_SENDER, instance);
}

/* If the claim cannot be had, other runtimes take up the events of this one.
 */
static void begin(void *ctx)
{
    struct event_source *source = ctx;
    struct claims *claims = source->claims;
    if (claims != NULL && source->claim == NULL) {
        source->claim =
            claims->methods->take(claims, CLAIM_SENDER, source->instance);
    }
}

bool event_source_is_at_work(const char *folder, struct value instance)
{
    return locked_file_is_held(folder,
                               claim_folder(CLAIM_SENDER),
                               instance,
                               false);
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
    if (source->claim != NULL) {
        source->claims->methods->give_back(source->claims, source->claim);
        source->claim = NULL;
    }
}
