/* The host of a runtime is a live host (host/live.h), with the program's clock,
 * randomness and log instead of the system's where there are some. */

#include "api/api_host.h"

#include <assert.h>

#include "base/mem.h"
#include "host/live.h"
#include "host/system.h"
#include "net/remote_wire.h"

struct api_host {
    struct host host;
    struct live *live;
    struct buf directory; /* empty: in memory */
    bool is_remote;       /* it is the address of a server */
    struct log log;
    struct events_policy policy;
    uint64_t (*now)(void *context);
    void (*wait)(void *context, uint64_t until);
    void *clock_context;
    uint64_t (*random)(void *context);
    void *random_context;
    void (*write)(void *context, hd_log_level level, const char *line);
    void *log_context;
    mono_ms last;  /* what the clock said, */
    mono_ms given; /* and what it is to say; 0: nothing */
};

static_assert((int)HD_DURABLE_FULL == (int)DURABILITY_FULL, "levels differ");
static_assert((int)HD_DURABLE_NORMAL == (int)DURABILITY_NORMAL,
              "levels differ");
static_assert((int)HD_DURABLE_NONE == (int)DURABILITY_MEMORY, "levels differ");
static_assert((int)HD_LOG_ERROR == (int)LOG_LEVEL_ERROR, "levels differ");
static_assert((int)HD_LOG_DEBUG == (int)LOG_LEVEL_DEBUG, "levels differ");

/* -- The host ------------------------------------------------------------ */

/* A clock that goes backwards, or stands at 0, does no harm. */
static mono_ms host_now(struct host *host)
{
    struct api_host *api_host = CONTAINER_OF(host, struct api_host, host);
    struct host *system = system_host();
    const mono_ms now = api_host->given != 0 ? api_host->given
                        : api_host->now != NULL
                            ? api_host->now(api_host->clock_context)
                            : system->now(system);
    api_host->last = now > api_host->last ? now : api_host->last;
    return api_host->last;
}

/* The system clock, unless the program has given a clock or a time. */
static mono_ms host_tick(struct host *host)
{
    const struct api_host *api_host = CONTAINER_OF(host, struct api_host, host);
    struct host *system = system_host();
    return api_host->given != 0 || api_host->now != NULL ? host_now(host)
                                                         : system->tick(system);
}

static uint64_t host_random(struct host *host)
{
    const struct api_host *api_host = CONTAINER_OF(host, struct api_host, host);
    struct host *system = system_host();
    return api_host->random != NULL ? api_host->random(api_host->random_context)
                                    : system->random(system);
}

static void log_line(void *ctx, enum log_level level, const char *line)
{
    const struct api_host *api_host = ctx;
    api_host->write(api_host->log_context, (hd_log_level)level, line);
}

/* -- Opening and closing ------------------------------------------------- */

static struct api_host *api_host_new(const hd_runtime_options *given)
{
    struct api_host *api_host = mem_alloc_zero(sizeof *api_host);
    api_host->host = *system_host();
    api_host->host.now = host_now;
    api_host->host.tick = host_tick;
    api_host->host.random = host_random;
    api_host->last = 1;
    if (given->directory != NULL) {
        buf_append_text(&api_host->directory, given->directory);
    }
    api_host->now = given->now;
    api_host->wait = given->wait;
    api_host->clock_context = given->clock_context;
    api_host->random = given->random;
    api_host->random_context = given->random_context;
    api_host->write = given->log;
    api_host->log_context = given->log_context;
    if (given->log != NULL) {
        api_host->log = (struct log){
            .fn = log_line,
            .ctx = api_host,
            .level = (enum log_level)given->log_level,
        };
    }
    api_host->policy = events_policy();
    api_host->policy.seed = host_random(&api_host->host);
    api_host->policy.lanes = given->lane_a_space ? LANES_SPACE : LANES_ONE;
    if (given->backlog > 0) {
        api_host->policy.backlog = given->backlog;
    }
    if (given->hops > 0) {
        api_host->policy.hops = given->hops;
    }
    return api_host;
}

enum err api_host_open(const struct api_host_options *options,
                       struct api_host **out,
                       struct err_detail *detail)
{
    const hd_runtime_options *given = options->given;
    const bool is_url =
        given->directory != NULL && remote_is_url(given->directory);
    struct remote *remote = NULL;
    *out = NULL;
    if (is_url) {
        const struct remote_server server = {
            .url = given->directory,
            .token = given->token,
            .key_file = given->key_file,
            .user = given->user,
        };
        const enum err reached = remote_server_new(&server, &remote, detail);
        if (reached != ERR_OK) {
            return reached;
        }
    }
    struct api_host *api_host = api_host_new(given);
    api_host->is_remote = is_url;
    const struct live_options live = {
        .folder = is_url ? NULL : given->directory,
        .remote = remote,
        .access = given->read_only ? DATA_DIR_READ_ONLY : DATA_DIR_CREATE,
        .user = given->user,
        .session = given->session,
        .durability = (enum durability)given->durability,
        .spaces = given->spaces,
        .space_count = given->space_count,
        .hooks = options->hooks,
        .policy = &api_host->policy,
        .log = &api_host->log,
        .on_trouble = options->on_trouble,
        .on_progress = options->on_actions,
        .ctx = options->ctx,
        .host = &api_host->host,
    };
    const enum err err = live_open(&live, &api_host->live, detail);
    if (err != ERR_OK) {
        buf_release(&api_host->directory);
        mem_free(api_host, sizeof *api_host);
        api_host = NULL;
    }
    *out = api_host;
    return err;
}

void api_host_close(struct api_host *api_host)
{
    live_drop(api_host->live);
    buf_release(&api_host->directory);
    mem_free(api_host, sizeof *api_host);
}

enum err api_host_open_space(struct api_host *api_host,
                             const char *space,
                             struct err_detail *detail)
{
    struct space *opened;
    return live_open_space(api_host->live, space, &opened, detail);
}

struct runtime *api_host_runtime(struct api_host *api_host)
{
    return live_runtime(api_host->live);
}

const char *api_host_directory(const struct api_host *api_host)
{
    return api_host->directory.length > 0 && !api_host->is_remote
               ? api_host->directory.at
               : NULL;
}

size_t api_host_outstanding(const struct api_host *api_host)
{
    return live_outstanding(api_host->live);
}

/* -- Time ---------------------------------------------------------------- */

mono_ms api_host_now(struct api_host *api_host)
{
    return host_now(&api_host->host);
}

void api_host_set_now(struct api_host *api_host, mono_ms now)
{
    api_host->given = now;
}

mono_ms api_host_next_wake(const struct api_host *api_host)
{
    return live_next_wake(api_host->live);
}

int api_host_descriptor(const struct api_host *api_host)
{
    return live_fd(api_host->live);
}

void api_host_wait(struct api_host *api_host, mono_ms until)
{
    if (api_host->wait != NULL) {
        api_host->wait(api_host->clock_context, until);
    } else if (live_wait(api_host->live, until) == LIVE_INTERRUPTED) {
        live_interrupt(api_host->live); /* to be seen by who waits */
    }
}

void api_host_interrupt(struct api_host *api_host)
{
    live_interrupt(api_host->live);
}

bool api_host_was_interrupted(struct api_host *api_host)
{
    return live_take_interrupt(api_host->live);
}

/* -- Work ---------------------------------------------------------------- */

bool api_host_pass(struct api_host *api_host)
{
    return live_step(api_host->live);
}

enum err api_host_flush(struct api_host *api_host,
                        mono_ms deadline,
                        struct err_detail *detail)
{
    switch (live_flush(api_host->live, deadline)) {
    case LIVE_AT_REST:
        break;
    case LIVE_NOT_IN_TIME: {
        const char *trouble = api_host_trouble(api_host);
        return err_set(detail,
                       ERR_TIMEOUT,
                       "unconfirmed commits: %zu; %s",
                       live_outstanding(api_host->live),
                       trouble != NULL ? trouble : "deadline exceeded");
    }
    case LIVE_STOPPED:
        return err_set(detail, ERR_INTERRUPTED, "interrupted");
    }
    return ERR_OK;
}

bool api_host_is_idle(struct api_host *api_host)
{
    return runtime_is_idle(live_runtime(api_host->live)) &&
           live_next_wake(api_host->live) > api_host_now(api_host);
}

bool api_host_is_settled(struct api_host *api_host)
{
    const struct runtime *runtime = live_runtime(api_host->live);
    VEC_FOREACH (&runtime->spaces, space) {
        if (space_is_loading(*space)) {
            return false;
        }
    }
    return api_host_is_idle(api_host) &&
           live_outstanding(api_host->live) == 0 &&
           sched_is_settled(runtime->sched);
}

const char *api_host_trouble(const struct api_host *api_host)
{
    const struct err_detail *trouble = live_trouble(api_host->live);
    return trouble != NULL ? trouble->text : NULL;
}

enum err api_host_load(struct api_host *api_host,
                       struct entity *entity,
                       struct err_detail *detail)
{
    return live_load(api_host->live, entity, detail);
}

enum err api_host_load_requested(struct api_host *api_host,
                                 struct err_detail *detail)
{
    return live_load_requested(api_host->live, detail);
}
