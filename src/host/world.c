/* Stores and runtimes that share a clock. */

#include "host/world.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "host/engine_access.h"
#include "host/event_source.h"
#include "host/mirrors.h"
#include "host/resume_pages.h"
#include "runtime/own_write.h"
#include "runtime/piece.h"
#include "runtime/task.h"
#include "value/object.h"

/* A space of a store. */
struct world_space {
    struct world_store *store;
    struct value name;
    struct engine engine;
    struct engine_access access;
    struct hub hub;
};

struct world_store {
    struct list_node node;
    struct world *world;
    struct buf folder; /* empty: in memory */
    VEC(struct world_space *) spaces;
    struct mirrors mirrors;
    VEC(struct value *) claimed; /* keys of tasks */
};

struct world_runtime_rest {
    struct world_runtime *one;
    struct list_node node;
    struct value session; /* its name */
    struct value user;
    struct event_source event_source;
    VEC(struct hub_link *) links; /* one per space */
    uint64_t landed;              /* what has, in its last step */
};

struct world {
    struct host host; /* its clock */
    mono_ms now;
    uint64_t seed;
    struct random random;
    uint64_t runtimes_made;
    struct list stores;
    struct list runtimes; /* struct world_runtime_rest */
};

#define REST_OF(at) CONTAINER_OF((at), struct world_runtime_rest, node)

/* -- The clock ----------------------------------------------------------- */

static mono_ms host_now(struct host *host)
{
    return CONTAINER_OF(host, struct world, host)->now;
}

/* Timers are not used here: world_idle asks when to wake. */
static void host_timer_set(struct host *host,
                           struct host_timer *timer,
                           mono_ms at)
{
    (void)host;
    (void)timer;
    (void)at;
}

static void host_timer_clear(struct host *host, struct host_timer *timer)
{
    (void)host;
    (void)timer;
}

static uint64_t host_random(struct host *host)
{
    return random_u64(&CONTAINER_OF(host, struct world, host)->random);
}

struct world *world_new(uint64_t seed)
{
    struct world *world = mem_alloc_zero(sizeof *world);
    world->host = (struct host){
        .now = host_now,
        .timer_set = host_timer_set,
        .timer_clear = host_timer_clear,
        .random = host_random,
    };
    world->seed = seed;
    random_init(&world->random, seed);
    list_init(&world->stores);
    list_init(&world->runtimes);
    return world;
}

mono_ms world_now(const struct world *world)
{
    return world->now;
}

void world_advance(struct world *world, mono_ms by)
{
    world->now += by;
}

struct random *world_random(struct world *world)
{
    return &world->random;
}

/* -- Stores -------------------------------------------------------------- */

enum err world_store_new(struct world *world,
                         const char *folder,
                         struct world_store **out,
                         struct err_detail *detail)
{
    *out = NULL;
    if (folder != NULL && folder[0] == '\0') {
        return err_set(detail, ERR_ARGUMENT, "a directory must have a name");
    }
    struct world_store *store = mem_alloc_zero(sizeof *store);
    store->world = world;
    list_node_init(&store->node);
    list_push_back(&world->stores, &store->node);
    if (folder != NULL) {
        buf_append_text(&store->folder, folder);
    }
    *out = store;
    return ERR_OK;
}

/* The runtime behind a session, or NULL: it is gone. */
static struct world_runtime *runtime_of(const struct world *world,
                                        struct value session)
{
    LIST_FOREACH (&world->runtimes, at) {
        if (key_equal(REST_OF(at)->session, session)) {
            return REST_OF(at)->one;
        }
    }
    return NULL;
}

static enum err judge(void *ctx,
                      struct hub_judgement *judgement,
                      struct err_detail *detail)
{
    const struct world_store *store = ctx;
    const struct commit *commit = judgement->commit;
    const struct world_runtime *one = runtime_of(store->world, commit->session);
    return one != NULL && one->judge != NULL
               ? one->judge(one->judge_ctx, commit, detail)
               : ERR_OK;
}

static void observed(void *ctx,
                     struct value branch,
                     const struct observation *observation)
{
    struct world_space *space = ctx;
    mirrors_note(&space->store->mirrors, space->name, branch, observation);
}

static struct store_access *store_named(void *ctx, struct value name)
{
    const struct world_store *store = ctx;
    VEC_FOREACH (&store->spaces, space) {
        if (key_equal((*space)->name, name)) {
            return &(*space)->access.store;
        }
    }
    return NULL;
}

static struct world_space *find_space(const struct world_store *store,
                                      const char *name)
{
    VEC_FOREACH (&store->spaces, space) {
        const struct text text = value_text(&(*space)->name);
        if (text.length == strlen(name) &&
            memcmp(text.at, name, text.length) == 0) {
            return *space;
        }
    }
    return NULL;
}

static enum err open_space(struct world_store *store,
                           const char *name,
                           struct world_space **out,
                           struct err_detail *detail)
{
    struct value id = value_text_new(name);
    enum err err = space_id_check(id, detail);
    if (err != ERR_OK) {
        value_unref(id);
        return err;
    }
    struct world_space *space = mem_alloc_zero(sizeof *space);
    space->store = store;
    space->name = id;
    struct buf path = {0};
    if (store->folder.length > 0) {
        buf_printf(&path, "%s/%s", buf_text(&store->folder), name);
    }
    const struct engine_options options = {
        .path = path.length > 0 ? buf_text(&path) : NULL,
    };
    err = engine_open(&space->engine, &options, detail);
    buf_release(&path);
    if (err != ERR_OK) {
        value_unref(id);
        mem_free(space, sizeof *space);
        return err;
    }
    engine_access_init(&space->access, &space->engine);
    const struct hub_options hub = {
        .space = space->name,
        .seed = random_u64(&store->world->random),
        .judge = judge,
        .ctx = store,
        .observed = observed,
        .observed_ctx = space,
    };
    hub_init(&space->hub, &space->engine, &hub, store->world->now);
    vec_push(&store->spaces, space);
    *out = space;
    return ERR_OK;
}

static enum err space_of(struct world_store *store,
                         const char *name,
                         struct world_space **out,
                         struct err_detail *detail)
{
    *out = find_space(store, name);
    return *out != NULL ? ERR_OK : open_space(store, name, out, detail);
}

enum err world_engine(struct world_store *store,
                      const char *space,
                      struct engine **out,
                      struct err_detail *detail)
{
    struct world_space *found;
    const enum err err = space_of(store, space, &found, detail);
    *out = err == ERR_OK ? &found->engine : NULL;
    return err;
}

static void store_free(struct world_store *store)
{
    VEC_FOREACH (&store->spaces, space) {
        hub_release(&(*space)->hub);
        engine_close(&(*space)->engine);
        value_unref((*space)->name);
        mem_free(*space, sizeof **space);
    }
    vec_release(&store->spaces);
    vec_release(&store->claimed);
    mirrors_release(&store->mirrors);
    buf_release(&store->folder);
    list_remove(&store->node);
    mem_free(store, sizeof *store);
}

/* -- Runtimes ------------------------------------------------------------ */

/* A space that the piece has read is opened for that. */
static struct store_access *store_of(void *ctx, struct value name)
{
    struct world_runtime *one = ctx;
    struct space *space;
    return runtime_need_space(&one->runtime, name, false, &space, NULL) ==
                   ERR_OK
               ? store_named(one->store, name)
               : NULL;
}

static void refresh(void *ctx)
{
    world_exchange(ctx);
}

static void fetch(void *ctx, struct entity *entity)
{
    world_load(ctx, entity);
}

static enum err resume(void *ctx,
                       struct space *space,
                       struct value piece,
                       struct resume_set *out,
                       struct err_detail *detail)
{
    struct world_runtime *one = ctx;
    const struct resume_pages_source source = {
        .store = store_of,
        .ctx = one,
        .identity = {one->rest->user, one->rest->session},
        .limit = one->page_limit,
    };
    return resume_pages_fetch(&source, space, piece, out, detail);
}

static void forget(void *ctx, struct space *space, struct value piece)
{
    struct world_runtime *one = ctx;
    mirrors_note_removed(&one->store->mirrors, space->id, space->branch, piece);
}

static void forget_nodes(void *ctx,
                         struct space *space,
                         struct value piece,
                         const struct digest *names,
                         size_t count)
{
    struct world_runtime *one = ctx;
    mirrors_note_gone(&one->store->mirrors,
                      space->id,
                      space->branch,
                      piece,
                      names,
                      count);
}

static enum err connect(struct world_runtime *one,
                        const char *name,
                        struct space **out,
                        struct err_detail *detail)
{
    struct world_runtime_rest *rest = one->rest;
    struct world_space *at;
    const enum err err = space_of(one->store, name, &at, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct hub_link *link = mem_alloc_zero(sizeof *link);
    hub_link_init(link, &at->hub, HUB_LINK_HELD, rest->user);
    vec_push(&rest->links, link);
    const struct space_options options = {
        .id = at->name,
        .transport = &link->transport,
        .session = rest->session,
        .seed = random_u64(&one->world->random),
    };
    return runtime_open(&one->runtime, &options, out, detail);
}

static enum err open_on_demand(void *ctx,
                               struct value id,
                               bool create,
                               struct space **out,
                               struct err_detail *detail)
{
    struct world_runtime *one = ctx;
    struct buf name = {0};
    const struct text text = value_text(&id);
    buf_append(&name, text.at, text.length);
    const enum err err =
        create || find_space(one->store, buf_text(&name)) != NULL
            ? connect(one, buf_text(&name), out, detail)
            : err_set(detail,
                      ERR_NOT_FOUND,
                      "there is no space '%.60s'",
                      buf_text(&name));
    buf_release(&name);
    return err;
}

static enum err connect_all(struct world_runtime *one,
                            const struct world_runtime_options *options,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    struct space *space;
    if (options->space_count == 0) {
        return connect(one, "main", &space, detail);
    }
    for (size_t i = 0; i < options->space_count && err == ERR_OK; i++) {
        err = connect(one, options->spaces[i], &space, detail);
    }
    return err;
}

/* -- Stored events -------------------------------------------------------- */

static struct world *world_of_source(void *ctx)
{
    const struct event_source *source = ctx;
    return ((const struct world_store *)source->ctx)->world;
}

static uint64_t wall(void *ctx)
{
    return world_of_source(ctx)->now;
}

static bool is_at_work(void *ctx, struct value instance)
{
    return runtime_of(world_of_source(ctx), instance) != NULL;
}

/* Those of a data directory, but for the clock and for other runtimes: both
 * are the world's. */
static struct stored_events_source stored_events(struct world_runtime *one)
{
    struct event_source *source = &one->rest->event_source;
    *source = (struct event_source){
        .store = store_named,
        .ctx = one->store,
    };
    struct stored_events_source hooks = event_source_hooks(source);
    hooks.wall = wall;
    hooks.trusted = 0;
    hooks.is_at_work = is_at_work;
    return hooks;
}

/* task-5 of runtime/task.h. */
static void *take_task(void *ctx, struct value key)
{
    struct world_store *store = ((struct world_runtime *)ctx)->store;
    VEC_FOREACH (&store->claimed, at) {
        if (key_equal(**at, key)) {
            return NULL;
        }
    }
    struct value *claim = mem_alloc(sizeof *claim);
    *claim = value_ref(key);
    vec_push(&store->claimed, claim);
    return claim;
}

static void give_back_task(void *ctx, void *claim)
{
    struct world_store *store = ((struct world_runtime *)ctx)->store;
    struct value *key = claim;
    VEC_FOREACH (&store->claimed, at) {
        if (*at == key) {
            *at = store->claimed.at[store->claimed.count - 1];
            store->claimed.count--;
            break;
        }
    }
    value_unref(*key);
    mem_free(key, sizeof *key);
}

enum err world_runtime_new(struct world_store *store,
                           const struct world_runtime_options *options,
                           struct world_runtime **out,
                           struct err_detail *detail)
{
    struct world *world = store->world;
    struct world_runtime *one = mem_alloc_zero(sizeof *one);
    struct world_runtime_rest *rest = mem_alloc_zero(sizeof *rest);
    one->world = world;
    one->store = store;
    one->rest = rest;
    rest->one = one;
    list_node_init(&rest->node);
    char name[32];
    (void)snprintf(name,
                   sizeof name,
                   "runtime-%llu",
                   (unsigned long long)++world->runtimes_made);
    rest->session = value_text_new(name);
    rest->user =
        options->user != NULL ? value_text_new(options->user) : VALUE_NONE;
    const struct runtime_options runtime = {
        .host = &world->host,
        .hooks = options->hooks,
        .policy = options->policy,
        .instance = rest->session,
        .user = rest->user,
        .resume = resume,
        .forget = forget,
        .forget_nodes = forget_nodes,
        .resume_ctx = one,
        .fetch = fetch,
        .refresh = refresh,
        .open_space = open_on_demand,
        .fetch_ctx = one,
        .stored_events = stored_events(one),
        .task_claims =
            {
                .take = take_task,
                .give_back = give_back_task,
                .ctx = one,
            },
    };
    runtime_init(&one->runtime, &runtime);
    list_push_back(&world->runtimes, &rest->node);
    *out = one;
    const enum err err = connect_all(one, options, detail);
    if (err != ERR_OK) {
        world_runtime_end(one);
        *out = NULL;
    }
    return err;
}

void world_runtime_end(struct world_runtime *one)
{
    struct world_runtime_rest *rest = one->rest;
    runtime_release(&one->runtime);
    VEC_FOREACH (&rest->links, link) {
        hub_link_release(*link);
        mem_free(*link, sizeof **link);
    }
    vec_release(&rest->links);
    event_source_release(&rest->event_source);
    list_remove(&rest->node);
    value_unref(rest->session);
    value_unref(rest->user);
    mem_free(rest, sizeof *rest);
    mem_free(one, sizeof *one);
}

void world_free(struct world *world)
{
    while (!list_is_empty(&world->runtimes)) {
        world_runtime_end(REST_OF(list_first(&world->runtimes))->one);
    }
    while (!list_is_empty(&world->stores)) {
        store_free(
            CONTAINER_OF(list_first(&world->stores), struct world_store, node));
    }
    mem_free(world, sizeof *world);
}

/* -- Stepping ------------------------------------------------------------ */

/* What is on its way arrives, in both directions, until nothing moves. */
static void deliver(struct world_runtime *one)
{
    VEC_FOREACH (&one->rest->links, link) {
        hub_link_pump_to_hub(*link);
        hub_step((*link)->hub, one->world->now);
        hub_flush((*link)->hub);
        hub_link_pump(*link);
    }
}

/* A message that is on its way arrives before the session looks at the time:
 * the clock may have moved since it was sent, which is no silence of the
 * hub. */
void world_exchange(struct world_runtime *one)
{
    deliver(one);
    replica_step(&one->runtime.replica, one->world->now);
    deliver(one);
    replica_pump(&one->runtime.replica);
}

/* Whether something has landed since the last step, in any space. */
static void notice_events(struct world_runtime *one)
{
    uint64_t landed = 0;
    VEC_FOREACH (&one->rest->links, link) {
        landed += (*link)->hub->seq;
    }
    if (landed == one->rest->landed) {
        return;
    }
    one->rest->landed = landed;
    VEC_FOREACH (&one->runtime.spaces, space) {
        stored_events_notice(&one->runtime, *space);
    }
}

bool world_step(struct world_runtime *one)
{
    world_exchange(one);
    notice_events(one);
    const bool any = runtime_pass(&one->runtime, one->world->now);
    world_exchange(one);
    const struct mirrors_source source = {store_named, one->store};
    mirrors_flush(&one->store->mirrors, &source, NULL);
    return any;
}

static bool is_confirmed(const struct runtime *runtime)
{
    VEC_FOREACH (&runtime->spaces, space) {
        if (space_outstanding(*space) > 0) {
            return false;
        }
    }
    return true;
}

static bool is_at_rest(const struct world_runtime *one, bool settled)
{
    const struct runtime *runtime = &one->runtime;
    if (!pieces_are_idle(runtime)) {
        return false;
    }
    return settled ? sched_is_settled(runtime->sched) &&
                         is_confirmed(runtime) && !runtime_is_loading(runtime)
                   : sched_is_idle(runtime->sched);
}

enum world_rest world_idle(struct world_runtime *one, bool settled)
{
    struct world *world = one->world;
    for (unsigned i = 0; i < WORLD_WAKES_MAX; i++) {
        while (world_step(one) ||
               tasks_next_wake(&one->runtime) <= world->now) {
        }
        if (is_at_rest(one, settled)) {
            sched_idle_over(one->runtime.sched);
            return WORLD_AT_REST;
        }
        const mono_ms wake = sched_is_idle(one->runtime.sched)
                                 ? replica_next_wake(&one->runtime.replica)
                                 : runtime_next_wake(&one->runtime);
        if (wake == MONO_NEVER) {
            return WORLD_HELD;
        }
        world->now = wake > world->now ? wake : world->now;
    }
    return WORLD_NOT_CONVERGED;
}

void world_hold(struct world_runtime *one, bool held)
{
    one->held = held;
    VEC_FOREACH (&one->runtime.spaces, space) {
        (*space)->held = held;
        if (!held) {
            space_flush(*space);
        }
    }
}

void world_load(struct world_runtime *one, struct entity *entity)
{
    for (unsigned i = 0; i < 10 && !entity->loaded; i++) {
        space_want(entity->space, entity);
        world_exchange(one);
    }
}
