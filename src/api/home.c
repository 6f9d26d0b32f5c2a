/* A home is a live host (host/live.h), with the program's clock, randomness
 * and log instead of the system's where there are some. */

#include "api/home.h"

#include <assert.h>

#include "base/mem.h"
#include "host/live.h"
#include "host/system.h"

struct home {
    struct host host;
    struct live *live;
    struct buf directory; /* empty: in memory */
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
    struct home *home = CONTAINER_OF(host, struct home, host);
    struct host *system = system_host();
    const mono_ms now = home->given != 0    ? home->given
                        : home->now != NULL ? home->now(home->clock_context)
                                            : system->now(system);
    home->last = now > home->last ? now : home->last;
    return home->last;
}

/* The system's, unless somebody has brought a clock or says what time it is. */
static mono_ms host_tick(struct host *host)
{
    const struct home *home = CONTAINER_OF(host, struct home, host);
    struct host *system = system_host();
    return home->given != 0 || home->now != NULL ? host_now(host)
                                                 : system->tick(system);
}

static uint64_t host_random(struct host *host)
{
    const struct home *home = CONTAINER_OF(host, struct home, host);
    struct host *system = system_host();
    return home->random != NULL ? home->random(home->random_context)
                                : system->random(system);
}

static void log_line(void *ctx, enum log_level level, const char *line)
{
    const struct home *home = ctx;
    home->write(home->log_context, (hd_log_level)level, line);
}

/* -- Opening and closing ------------------------------------------------- */

static struct home *home_new(const hd_runtime_options *given)
{
    struct home *home = mem_alloc_zero(sizeof *home);
    home->host = *system_host();
    home->host.now = host_now;
    home->host.tick = host_tick;
    home->host.random = host_random;
    home->last = 1;
    if (given->directory != NULL) {
        buf_append_text(&home->directory, given->directory);
    }
    home->now = given->now;
    home->wait = given->wait;
    home->clock_context = given->clock_context;
    home->random = given->random;
    home->random_context = given->random_context;
    home->write = given->log;
    home->log_context = given->log_context;
    if (given->log != NULL) {
        home->log = (struct log){
            .fn = log_line,
            .ctx = home,
            .level = (enum log_level)given->log_level,
        };
    }
    home->policy = events_policy();
    home->policy.seed = host_random(&home->host);
    home->policy.lanes = given->lane_a_space ? LANES_SPACE : LANES_ONE;
    if (given->backlog > 0) {
        home->policy.backlog = given->backlog;
    }
    if (given->hops > 0) {
        home->policy.hops = given->hops;
    }
    return home;
}

enum err home_open(const struct home_options *options,
                   struct home **out,
                   struct err_detail *detail)
{
    const hd_runtime_options *given = options->given;
    struct home *home = home_new(given);
    const struct live_options live = {
        .folder = given->directory,
        .access = given->read_only ? FOLDER_READ_ONLY : FOLDER_CREATE,
        .user = given->user,
        .session = given->session,
        .durability = (enum durability)given->durability,
        .spaces = given->spaces,
        .space_count = given->space_count,
        .hooks = options->hooks,
        .policy = &home->policy,
        .log = &home->log,
        .on_trouble = options->on_trouble,
        .on_progress = options->on_actions,
        .ctx = options->ctx,
        .host = &home->host,
    };
    const enum err err = live_open(&live, &home->live, detail);
    if (err != ERR_OK) {
        buf_release(&home->directory);
        mem_free(home, sizeof *home);
        home = NULL;
    }
    *out = home;
    return err;
}

void home_close(struct home *home)
{
    live_drop(home->live);
    buf_release(&home->directory);
    mem_free(home, sizeof *home);
}

enum err home_open_space(struct home *home,
                         const char *space,
                         struct err_detail *detail)
{
    struct space *opened;
    return live_open_space(home->live, space, &opened, detail);
}

struct runtime *home_runtime(struct home *home)
{
    return live_runtime(home->live);
}

const char *home_directory(const struct home *home)
{
    return home->directory.length > 0 ? home->directory.at : NULL;
}

size_t home_outstanding(const struct home *home)
{
    return live_outstanding(home->live);
}

/* -- Time ---------------------------------------------------------------- */

mono_ms home_now(struct home *home)
{
    return host_now(&home->host);
}

void home_set_now(struct home *home, mono_ms now)
{
    home->given = now;
}

mono_ms home_next_wake(const struct home *home)
{
    return live_next_wake(home->live);
}

int home_descriptor(const struct home *home)
{
    return live_fd(home->live);
}

void home_wait(struct home *home, mono_ms until)
{
    if (home->wait != NULL) {
        home->wait(home->clock_context, until);
    } else if (live_wait(home->live, until) == LIVE_INTERRUPTED) {
        live_interrupt(home->live); /* to be seen by who waits */
    }
}

void home_interrupt(struct home *home)
{
    live_interrupt(home->live);
}

bool home_was_interrupted(struct home *home)
{
    return live_take_interrupt(home->live);
}

/* -- Work ---------------------------------------------------------------- */

bool home_pass(struct home *home)
{
    return live_step(home->live);
}

enum err home_flush(struct home *home,
                    mono_ms deadline,
                    struct err_detail *detail)
{
    switch (live_flush(home->live, deadline)) {
    case LIVE_AT_REST:
        break;
    case LIVE_NOT_IN_TIME: {
        const char *trouble = home_trouble(home);
        return err_set(detail,
                       ERR_TIMEOUT,
                       "unconfirmed commits: %zu; %s",
                       live_outstanding(home->live),
                       trouble != NULL ? trouble : "deadline exceeded");
    }
    case LIVE_STOPPED:
        return err_set(detail, ERR_INTERRUPTED, "interrupted");
    }
    return ERR_OK;
}

bool home_is_idle(struct home *home)
{
    return runtime_is_idle(live_runtime(home->live)) &&
           live_next_wake(home->live) > home_now(home);
}

bool home_is_settled(struct home *home)
{
    const struct runtime *runtime = live_runtime(home->live);
    VEC_FOREACH (&runtime->spaces, space) {
        if (space_is_loading(*space)) {
            return false;
        }
    }
    return home_is_idle(home) && live_outstanding(home->live) == 0 &&
           scheduler_is_settled(runtime->sched);
}

const char *home_trouble(const struct home *home)
{
    const struct err_detail *trouble = live_trouble(home->live);
    return trouble != NULL ? trouble->text : NULL;
}

enum err home_load(struct home *home,
                   struct entity *entity,
                   struct err_detail *detail)
{
    return live_load(home->live, entity, detail);
}

enum err home_load_requested(struct home *home, struct err_detail *detail)
{
    return live_load_requested(home->live, detail);
}
