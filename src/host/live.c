/* Stores, links and a runtime on the system's clock. */

#include "host/live_internal.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "host/hub.h"
#include "host/hub_link.h"
#include "host/mirrors.h"
#include "host/names.h"
#include "host/presence.h"
#include "host/remote.h"
#include "host/resume_pages.h"
#include "host/session_lock.h"
#include "host/system.h"
#include "host/wake.h"
#include "replica/session.h"
#include "sched/persistence.h"
#include "value/object.h"

struct runtime *live_runtime(struct live *live)
{
    return &live->runtime;
}

struct value live_session(const struct live *live)
{
    return live->session;
}

struct value live_user(const struct live *live)
{
    return live->user;
}

mono_ms live_now(const struct live *live)
{
    return live->host->now(live->host);
}

static struct live_space *find(const struct live *live, struct value name)
{
    VEC_FOREACH (&live->spaces, at) {
        if (key_equal((*at)->name, name)) {
            return *at;
        }
    }
    return NULL;
}

struct engine *live_engine(struct live *live, struct value space)
{
    struct live_space *at = find(live, space);
    return at != NULL && at->stored ? &at->engine : NULL;
}

/* -- Spaces -------------------------------------------------------------- */

static enum err judge(void *ctx,
                      struct hub_judgement *judgement,
                      struct err_detail *detail)
{
    (void)ctx;
    (void)judgement;
    return err_set(detail,
                   ERR_READ_ONLY,
                   "the data directory was opened read-only");
}

static uint64_t wall_ms(void *ctx)
{
    (void)ctx;
    return system_wall_ms();
}

static void observed(void *ctx,
                     struct value branch,
                     const struct observation *observation)
{
    struct live_space *at = ctx;
    mirrors_note(&at->live->mirrors, at->name, branch, observation);
}

static enum err open_engine(struct live *live,
                            const char *name,
                            enum data_dir_access access,
                            struct engine *engine,
                            struct err_detail *detail)
{
    struct buf path = {0};
    const char *folder = buf_text(&live->folder);
    enum err err = data_dir_find(folder, name, access, detail);
    data_dir_path(folder, name, &path);
    if (err == ERR_OK) {
        const struct engine_options options = {
            .path = buf_text(&path),
            .vfs = live->options.vfs,
            .durability = live->options.durability,
            .read_only = live->options.access == DATA_DIR_READ_ONLY,
            .interrupted = live->options.interrupted,
            .interrupted_ctx = live->options.ctx,
        };
        struct err_detail why = {0};
        err = engine_open(engine, &options, &why);
        if (err == ERR_OK) {
            engine->database.lock.wait_ms = 0; /* live-8 */
        } else {
            err = data_dir_explain(folder, name, &why);
            (void)err_set(detail, err, "%s", why.text);
        }
    }
    buf_release(&path);
    return err;
}

/* live-2. */
static void watch(struct live *live, struct live_space *at, const char *name)
{
    struct buf path = {0};
    data_dir_path(buf_text(&live->folder), name, &path);
    buf_append_text(&path, "-lock");
    at->watch = wake_watch(&live->wake, buf_text(&path));
    buf_release(&path);
}

static enum err connect(struct live *live,
                        struct live_space *at,
                        struct err_detail *detail)
{
    const struct identity identity = {live->user, live->session};
    struct space_options options = {
        .id = at->name,
        .transport = at->stored            ? &at->link.transport
                     : at->channel != NULL ? remote_transport(at->channel)
                                           : NULL,
        .session = live->session,
        .seed = live->host->random(live->host) | 1,
        .backoff_max = LIVE_RETRY_MS,
        .batch = true,
        .deltas = at->channel != NULL,
    };
    enum err err = ERR_OK;
    if (at->stored && live->runtime.spaces.count == 0) {
        err =
            names_branch(&live->options, &at->engine, &options.branch, detail);
    }
    if (err == ERR_OK && at->stored && !live->new_session) {
        err = engine_session_next(&at->engine,
                                  identity,
                                  &options.first_local_seq,
                                  detail);
    }
    if (at->channel != NULL) {
        options.first_local_seq = remote_attached(at->channel)->next_local_seq;
        options.branch = live->spaces.count == 0 && live->options.branch != NULL
                             ? value_text_new(live->options.branch)
                             : VALUE_NONE;
    }
    if (err == ERR_OK) {
        err = runtime_open(&live->runtime, &options, &at->space, detail);
    }
    value_unref(options.branch);
    if (err == ERR_OK) {
        at->space->held = at->store != NULL; /* until send_group */
    }
    if (err == ERR_OK && at->channel != NULL) {
        /* Its first answer comes later: from now on it knows the time. */
        session_step(at->space->session, live_now(live));
    }
    return err;
}

/* The store and the way to it. */
static enum err open_store(struct live *live,
                           struct live_space *at,
                           const char *name,
                           enum data_dir_access access,
                           struct err_detail *detail)
{
    const enum err err = open_engine(live, name, access, &at->engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct hub_options hub = {
        .space = at->name,
        .seed = live->host->random(live->host),
        .log = live->options.log,
        .wall_ms = wall_ms,
        .judge = live->options.access == DATA_DIR_READ_ONLY ? judge : NULL,
        .observed = observed,
        .observed_ctx = at,
    };
    hub_init(&at->hub, &at->engine, &hub, live_now(live));
    hub_link_init(&at->link, &at->hub, HUB_LINK_DIRECT, live->user);
    watch(live, at, name);
    engine_access_init(&at->access, &at->engine);
    at->store = &at->access.store;
    at->stored = true;
    return ERR_OK;
}

/* Its runtime, if any, has left it. */
static void close_space(struct live_space *at)
{
    if (at->channel != NULL) {
        live_remote_close(at);
    }
    if (at->stored) {
        wake_unwatch(&at->live->wake, at->watch);
        hub_link_release(&at->link);
        hub_release(&at->hub);
        engine_close(&at->engine);
    }
    value_unref(at->name);
    mem_free(at, sizeof *at);
}

static enum err add_space(struct live *live,
                          const char *name,
                          struct value id,
                          enum data_dir_access access,
                          struct live_space **out,
                          struct err_detail *detail)
{
    struct live_space *at = mem_alloc_zero(sizeof *at);
    at->live = live;
    at->name = value_ref(id);
    enum err err = ERR_OK;
    if (live->remote != NULL) {
        err = live_remote_open(live, at, access, detail);
    } else if (live->folder.length > 0) {
        err = open_store(live, at, name, access, detail);
    }
    if (err == ERR_OK) {
        err = connect(live, at, detail);
    }
    if (err != ERR_OK) {
        close_space(at);
        return err;
    }
    vec_push(&live->spaces, at);
    *out = at;
    return ERR_OK;
}

static enum err open_as(struct live *live,
                        const char *name,
                        enum data_dir_access access,
                        struct space **out,
                        struct err_detail *detail)
{
    *out = NULL;
    struct value id = value_text_new(name);
    enum err err = space_id_check(id, detail);
    struct live_space *at = err == ERR_OK ? find(live, id) : NULL;
    if (err == ERR_OK && at == NULL) {
        err = add_space(live, name, id, access, &at, detail);
    }
    value_unref(id);
    if (err == ERR_OK) {
        *out = at->space;
    }
    return err;
}

enum err live_open_space(struct live *live,
                         const char *name,
                         struct space **out,
                         struct err_detail *detail)
{
    return open_as(live, name, live->options.access, out, detail);
}

/* live-10. Without a folder, a space is there when it is open. */
static enum err open_on_demand(void *ctx,
                               struct value id,
                               bool create,
                               struct space **out,
                               struct err_detail *detail)
{
    struct live *live = ctx;
    struct buf name = {0};
    const struct text text = value_text(&id);
    const bool is_read_only = live->options.access == DATA_DIR_READ_ONLY;
    buf_append(&name, text.at, text.length);
    const bool has_stores = live->folder.length > 0 || live->remote != NULL;
    const enum err err = !create && !has_stores
                             ? err_set(detail,
                                       ERR_NOT_FOUND,
                                       "there is no space '%.60s'",
                                       buf_text(&name))
                             : open_as(live,
                                       buf_text(&name),
                                       is_read_only ? DATA_DIR_READ_ONLY
                                       : create     ? DATA_DIR_CREATE
                                                    : DATA_DIR_EXISTING,
                                       out,
                                       detail);
    buf_release(&name);
    return err;
}

/* -- Opening ------------------------------------------------------------- */

static struct store_access *store_of(void *ctx, struct value space)
{
    const struct live_space *at = find(ctx, space);
    return at != NULL ? at->store : NULL;
}

/* A space that the piece has read is opened for that. */
static struct store_access *store_opened(void *ctx, struct value name)
{
    struct live *live = ctx;
    struct space *space;
    return runtime_need_space(&live->runtime, name, false, &space, NULL) ==
                   ERR_OK
               ? store_of(live, name)
               : NULL;
}

static bool interrupted(void *ctx)
{
    return live_is_due(ctx);
}

static enum err resume(void *ctx,
                       struct space *space,
                       struct value piece,
                       struct resume_set *out,
                       struct err_detail *detail)
{
    struct live *live = ctx;
    const struct resume_pages_source source = {
        .store = store_opened,
        .ctx = live,
        .identity = {live->user, live->session},
        .progress = live->options.on_progress,
        .progress_ctx = live->options.ctx,
        .interrupted = interrupted,
    };
    return resume_pages_fetch(&source, space, piece, out, detail);
}

static void forget(void *ctx, struct space *space, struct value piece)
{
    struct live *live = ctx;
    mirrors_note_removed(&live->mirrors, space->id, space->branch, piece);
}

static void forget_nodes(void *ctx,
                         struct space *space,
                         struct value piece,
                         const struct digest *names,
                         size_t count)
{
    struct mirrors *mirrors = &((struct live *)ctx)->mirrors;
    mirrors_note_gone(mirrors, space->id, space->branch, piece, names, count);
}

static void name_session(struct live *live, const struct live_options *options)
{
    live->new_session = options->session == NULL;
    live->session = live->new_session ? names_new(live->host, "session")
                                      : value_text_new(options->session);
    live->instance = live->new_session ? value_ref(live->session)
                                       : names_new(live->host, "runtime");
    live->user =
        options->user != NULL ? value_text_new(options->user) : VALUE_NONE;
}

/* live-4. A runtime that only reads has no commits to number. */
static enum err claim_session(struct live *live, struct err_detail *detail)
{
    const struct identity identity = {live->user, live->session};
    return live->new_session || live->folder.length == 0 ||
                   live->options.access == DATA_DIR_READ_ONLY
               ? ERR_OK
               : session_lock_new(buf_text(&live->folder),
                                  identity,
                                  &live->session_lock,
                                  detail);
}

static enum err open_spaces(struct live *live,
                            const struct live_options *options,
                            struct err_detail *detail)
{
    static const char *const usual[] = {"main"};
    const bool none = options->space_count == 0;
    const char *const *names = none ? usual : options->spaces;
    const size_t count = none ? COUNT_OF(usual) : options->space_count;
    enum err err = ERR_OK;
    for (size_t i = 0; i < count && err == ERR_OK; i++) {
        struct space *space;
        err = live_open_space(live, names[i], &space, detail);
    }
    return err;
}

static void refresh(void *ctx)
{
    live_refresh(ctx);
}

static void fetch(void *ctx, struct entity *entity)
{
    const enum err err = live_load(ctx, entity, NULL);
    (void)err; /* trouble is reported; then it is not there yet */
}

void live_set_deadline(struct live *live, mono_ms deadline)
{
    live->deadline = deadline;
}

bool live_is_due(const struct live *live)
{
    return wake_is_interrupted(&live->wake) ||
           (live->deadline != MONO_NEVER && live_now(live) >= live->deadline);
}

/* The queue of the write lock says when an event is tried again (live-9). */
static struct events_policy policy_of(const struct live_options *options)
{
    struct events_policy policy =
        options->policy != NULL ? *options->policy : events_policy();
    if (options->folder != NULL) {
        policy.delay_us = 0;
    }
    return policy;
}

static struct live *make(const struct live_options *options)
{
    struct live *live = mem_alloc_zero(sizeof *live);
    live->options = *options;
    live->host = options->host != NULL ? options->host : system_host();
    live->deadline = MONO_NEVER;
    live->remote = options->remote;
    live->connect_ms =
        options->connect_ms > 0 ? options->connect_ms : LIVE_CONNECT_MS;
    if (options->folder != NULL) {
        buf_append_text(&live->folder, options->folder);
    }
    name_session(live, options);
    folder_claims_init(&live->folder_claims, buf_text(&live->folder));
    asked_claims_init(&live->asked_claims, live_remote_ask, NULL);
    struct claims *claims = options->remote != NULL ? &live->asked_claims.claims
                            : options->folder != NULL
                                ? &live->folder_claims.claims
                                : NULL;
    live->event_source = (struct event_source){
        .store = store_of,
        .ctx = live,
        .claims = claims,
        .instance = live->instance,
    };
    const struct events_policy policy = policy_of(options);
    const struct runtime_options runtime = {
        .log = options->log,
        .host = live->host,
        .hooks = options->hooks,
        .immediate = options->immediate,
        .policy = &policy,
        .instance = live->instance,
        .user = live->user,
        .resume = resume,
        .forget = forget,
        .forget_nodes = forget_nodes,
        .resume_ctx = live,
        .fetch = fetch,
        .refresh = refresh,
        .open_space = open_on_demand,
        .fetch_ctx = live,
        .stored_events = event_source_hooks(&live->event_source),
        .task_claims = task_claims_of(claims),
        .interrupted = interrupted,
        .interrupted_ctx = live,
    };
    runtime_init(&live->runtime, &runtime);
    live->runtime.without_clocks = options->access == DATA_DIR_READ_ONLY;
    return live;
}

enum err live_open(const struct live_options *options,
                   struct live **out,
                   struct err_detail *detail)
{
    *out = NULL;
    enum err err = session_names_check(options->user, options->session, detail);
    if (err == ERR_OK && options->folder != NULL) {
        err = data_dir_open(options->folder, options->access, detail);
    }
    if (err != ERR_OK) {
        remote_free(options->remote);
        return err;
    }
    struct live *live = make(options);
    err = wake_init(&live->wake, options->outside, detail);
    if (err == ERR_OK && live->remote != NULL) {
        err = wake_listen(&live->wake, remote_fd(live->remote), detail);
    }
    if (err == ERR_OK) {
        err = claim_session(live, detail);
    }
    if (err == ERR_OK) {
        err = open_spaces(live, options, detail);
    }
    if (err != ERR_OK) {
        live_drop(live);
        return err;
    }
    *out = live;
    return ERR_OK;
}

void live_drop(struct live *live)
{
    if (live == NULL) {
        return;
    }
    runtime_release(&live->runtime);
    event_source_release(&live->event_source); /* after its last commit */
    presence_end(live->presence);
    VEC_FOREACH (&live->spaces, at) {
        close_space(*at);
    }
    vec_release(&live->spaces);
    session_lock_free(live->session_lock); /* likewise */
    asked_claims_release(&live->asked_claims);
    remote_free(live->remote);
    value_unref(live->about);
    mirrors_release(&live->mirrors);
    wake_release(&live->wake);
    buf_release(&live->folder);
    value_unref(live->user);
    value_unref(live->session);
    value_unref(live->instance);
    mem_free(live, sizeof *live);
}

/* -- What others have committed ------------------------------------------ */

static void note_written(void *ctx, int number, bool gone)
{
    struct live *live = ctx;
    VEC_FOREACH (&live->spaces, at) {
        if ((*at)->watch == number) {
            (*at)->written = true;
            (*at)->watch = gone ? WAKE_UNWATCHED : number;
        }
    }
}

/* The end of each write is announced, but for that of a killed process. */
static mono_ms poll_of(const struct live_space *at)
{
    return at->watch != WAKE_UNWATCHED &&
                   database_changes(&at->engine.database) != 0
               ? LIVE_QUIET_MS
               : LIVE_POLL_MS;
}

/* What others have committed is looked at when it is this one's turn to write:
 * a look after each of them would be for nothing. */
static bool waits_its_turn(const struct live_space *at)
{
    return at->busy_since != 0 &&
           !write_lock_is_next(&at->engine.database.lock);
}

static void listen(struct live *live, mono_ms now)
{
    wake_take_writes(&live->wake, note_written, live);
    if (live->remote != NULL) {
        (void)live_remote_exchange(live);
        return;
    }
    VEC_FOREACH (&live->spaces, at) {
        if (!(*at)->stored) {
            continue;
        }
        struct hub *hub = &(*at)->hub;
        const uint64_t seq = hub->seq;
        hub_step(hub, now);
        if ((*at)->written && !waits_its_turn(*at)) {
            (*at)->written = false;
            hub_poll(hub);
        }
        if (hub->seq != seq) {
            stored_events_notice(&live->runtime, (*at)->space);
        }
        hub_flush(hub);
    }
    replica_pump(&live->runtime.replica);
}

/* -- What this one has --------------------------------------------------- */

/* Everything but commits goes out, and the answers come back. */
static void exchange(struct live *live)
{
    do {
        VEC_FOREACH (&live->spaces, at) {
            if ((*at)->store != NULL) {
                space_flush((*at)->space);
            }
            if ((*at)->stored) {
                hub_flush(&(*at)->hub);
            }
        }
    } while (live->remote != NULL && live_remote_exchange(live));
    replica_pump(&live->runtime.replica);
}

/* The next questions and commits of a space, as one group: other processes and
 * an interrupt wait for no more than that. After a conflict the lock is this
 * host's (live-9) until the step ends. True: there are more. */
static bool send_group(struct live *live, struct live_space *at)
{
    if (at->channel != NULL) {
        at->space->held = false;
        const bool more = space_flush_group(at->space);
        at->space->held = true;
        return more;
    }
    struct database *database = &at->engine.database;
    const uint64_t conflicts = at->hub.counters.conflicts;
    enum err err = ERR_READ_ONLY;
    if (!database->read_only && space_has_commits(at->space)) {
        err = database_reserve(database, NULL);
        if (err == ERR_BUSY) {
            live_begin_wait(at, live_now(live));
        } else {
            live_end_wait(at);
        }
    }
    at->space->held = err == ERR_BUSY;
    const bool more = space_flush_group(at->space);
    at->space->held = true;
    if (err == ERR_OK) {
        database_unreserve(database, at->hub.counters.conflicts != conflicts);
    }
    hub_flush(&at->hub);
    return more;
}

/* What was committed since the last time goes out, and the answers come back.
 * True: there is more to do, because the step is to end and what is left goes
 * out with the next one, or because a server has sent something. */
static bool send(struct live *live)
{
    bool left = false;
    bool has_arrived = false;
    bool arrives = false;
    do {
        VEC_FOREACH (&live->spaces, at) {
            while (!left && (*at)->store != NULL && send_group(live, *at)) {
                left = live_is_due(live);
            }
        }
        arrives = live->remote != NULL && live_remote_exchange(live);
        has_arrived = has_arrived || arrives;
    } while (arrives && !left && !live_is_due(live));
    replica_pump(&live->runtime.replica);
    return left || has_arrived || replica_has_questions(&live->runtime.replica);
}

/* While others are in the queue, an event is handled when it is its turn to
 * write: handled earlier, it would only find that what it has read is stale. A
 * process that does not let the others through (live-8) is not waited for. */
static bool postpones_events(struct live *live, mono_ms now)
{
    bool postpones = false;
    if (events_waiting(live->runtime.sched) == 0) {
        return false;
    }
    VEC_FOREACH (&live->spaces, at) {
        if (!(*at)->stored || (*at)->engine.database.read_only) {
            continue;
        }
        struct write_lock *lock = &(*at)->engine.database.lock;
        if (write_lock_queue(lock)) {
            live_begin_wait(*at, now);
            postpones = postpones || now < (*at)->busy_since + LIVE_STEP_MS;
        }
    }
    return postpones;
}

/* live-9: what is not to be written now does not keep the others waiting. */
static void leave_queues(struct live *live)
{
    VEC_FOREACH (&live->spaces, at) {
        if ((*at)->stored && !space_has_commits((*at)->space)) {
            write_lock_leave(&(*at)->engine.database.lock);
            live_end_wait(*at);
        }
    }
}

/* live-6. */
static void tell_who_reads(struct live *live)
{
    const struct mirrors_source source = {store_of, live};
    mirrors_flush(&live->mirrors, &source, live->options.log);
}

/* -- Running ------------------------------------------------------------- */

/* After each pass, so that those of the next see the answers. */
static bool run(struct live *live, mono_ms began)
{
    bool any = false;
    bool more = true;
    for (mono_ms now = began; more; now = more ? live_now(live) : now) {
        const bool ran = runtime_pass(&live->runtime, now);
        const bool left = send(live);
        any = any || ran;
        more = ran || left || runtime_next_wake(&live->runtime) <= now;
        if (now >= began + LIVE_STEP_MS || live_is_due(live)) {
            live->more = more;
            return any;
        }
    }
    live->more = false;
    return any;
}

bool live_step(struct live *live)
{
    const mono_ms now = live_now(live);
    wake_step_outside(&live->wake, now);
    listen(live, now);
    live->postponed = postpones_events(live, now);
    const bool any = !live->postponed && run(live, now);
    if (!live->more && !live->postponed) {
        leave_queues(live);
        tell_who_reads(live);
    }
    VEC_FOREACH (&live->spaces, at) {
        if ((*at)->stored) {
            hub_set_poll(&(*at)->hub, poll_of(*at));
        }
    }
    live_report_troubles(live);
    return any;
}

/* live-8. */
static mono_ms ask_again_at(const struct live *live)
{
    const mono_ms pause = live->remote != NULL ? LIVE_RETRY_MS : LIVE_POLL_MS;
    mono_ms at_ms = live->mirrors.noted ? live_now(live) + pause : MONO_NEVER;
    VEC_FOREACH (&live->spaces, at) {
        if ((*at)->busy_since != 0 && (*at)->ask_again < at_ms) {
            at_ms = (*at)->ask_again;
        }
    }
    return at_ms;
}

mono_ms live_next_wake(const struct live *live)
{
    mono_ms wake = live->more        ? live_now(live)
                   : live->postponed ? MONO_NEVER /* ask_again_at is soon */
                                     : runtime_next_wake(&live->runtime);
    VEC_FOREACH (&live->spaces, at) {
        const mono_ms hub =
            (*at)->stored ? hub_next_wake(&(*at)->hub) : MONO_NEVER;
        wake = hub < wake ? hub : wake;
    }
    const mono_ms server = live_remote_next_wake(live);
    wake = server < wake ? server : wake;
    const mono_ms asking = ask_again_at(live);
    return wake_first(&live->wake, asking < wake ? asking : wake);
}

int live_fd(struct live *live)
{
    return wake_fd(&live->wake);
}

/* Also if it is to be done at once, an interrupt is seen. */
static enum live_woken sleep_until(struct live *live,
                                   mono_ms wake,
                                   mono_ms deadline)
{
    const mono_ms until = wake < deadline ? wake : deadline;
    const mono_ms now = live_now(live);
    if (until > now && !wake_is_interrupted(&live->wake)) {
        wake_sleep(&live->wake, until == MONO_NEVER ? until : until - now);
    }
    if (wake_take_interrupt(&live->wake)) {
        return LIVE_INTERRUPTED;
    }
    return live_now(live) >= deadline ? LIVE_DEADLINE : LIVE_WORK;
}

enum live_woken live_wait(struct live *live, mono_ms deadline)
{
    return sleep_until(live, live_next_wake(live), deadline);
}

void live_interrupt(struct live *live)
{
    wake_interrupt(&live->wake);
}

bool live_take_interrupt(struct live *live)
{
    return wake_take_interrupt(&live->wake);
}

size_t live_outstanding(const struct live *live)
{
    size_t count = 0;
    VEC_FOREACH (&live->spaces, at) {
        count += space_outstanding((*at)->space);
    }
    return count;
}

static bool is_loading(const struct live *live)
{
    bool loading = false;
    VEC_FOREACH (&live->spaces, at) {
        loading = space_is_loading((*at)->space) || loading;
    }
    return loading;
}

bool live_is_at_rest(const struct live *live)
{
    return !live->more && !is_loading(live) && live_outstanding(live) == 0 &&
           sched_is_settled(live->runtime.sched);
}

enum live_rest live_settle(struct live *live, mono_ms deadline)
{
    enum live_woken woken = LIVE_WORK;
    while (woken == LIVE_WORK) {
        /* One step is made in any case, as a whole. */
        live->deadline = deadline > live_now(live) ? deadline : MONO_NEVER;
        (void)live_step(live);
        live->deadline = MONO_NEVER;
        if (live_is_at_rest(live)) {
            sched_idle_over(live->runtime.sched);
            return LIVE_AT_REST;
        }
        woken = live_wait(live, deadline);
    }
    return woken == LIVE_DEADLINE ? LIVE_NOT_IN_TIME : LIVE_STOPPED;
}

/* What keeps a document away. */
static enum err not_come(struct live *live, struct err_detail *detail)
{
    live_report_troubles(live);
    const struct err_detail *trouble = live_trouble(live);
    return trouble != NULL ? err_set(detail, trouble->err, "%s", trouble->text)
                           : err_set(detail,
                                     ERR_BUSY,
                                     "the document is not loaded yet: step "
                                     "the runtime and retry");
}

/* Whether it is worth to try again to load something: a store in this process
 * answers at once, the first message opens the session and the second asks; a
 * server answers later. */
static bool may_come(struct live *live, unsigned *tries, mono_ms deadline)
{
    if (live->remote != NULL) {
        return *tries == 0 ? (*tries = 1) > 0
                           : live_remote_wait(live, deadline);
    }
    return (*tries)++ < 3;
}

enum err live_load_requested(struct live *live, struct err_detail *detail)
{
    const mono_ms deadline = live_remote_deadline(live);
    unsigned tries = 0;
    while (is_loading(live) && may_come(live, &tries, deadline)) {
        exchange(live); /* as below */
    }
    return is_loading(live) ? not_come(live, detail) : ERR_OK;
}

enum err live_load(struct live *live,
                   struct entity *entity,
                   struct err_detail *detail)
{
    const mono_ms deadline = live_remote_deadline(live);
    unsigned tries = 0;
    while (!entity->loaded && may_come(live, &tries, deadline)) {
        space_want(entity->space, entity);
        exchange(live); /* commits go out with the step that they belong to */
    }
    return entity->loaded ? ERR_OK : not_come(live, detail);
}

void live_refresh(struct live *live)
{
    if (live->remote != NULL) {
        live_remote_refresh(live);
        return;
    }
    VEC_FOREACH (&live->spaces, at) {
        const uint64_t seq = (*at)->hub.seq;
        if ((*at)->stored) {
            hub_poll(&(*at)->hub);
        }
        if ((*at)->hub.seq != seq) {
            stored_events_notice(&live->runtime, (*at)->space);
        }
    }
    exchange(live); /* as above */
}

/* -- Leaving ------------------------------------------------------------- */

enum live_rest live_flush(struct live *live, mono_ms deadline)
{
    wake_clear_outside(&live->wake);
    while (true) {
        const mono_ms now = live_now(live);
        listen(live, now);
        replica_step(&live->runtime.replica, now);
        send(live);
        leave_queues(live);
        live_report_troubles(live);
        if (live_outstanding(live) == 0) {
            tell_who_reads(live);
            return LIVE_AT_REST;
        }
        const mono_ms replica = replica_next_wake(&live->runtime.replica);
        const mono_ms asking = ask_again_at(live);
        const mono_ms server = live_remote_next_wake(live);
        const mono_ms first = asking < replica ? asking : replica;
        const mono_ms wake = first < server ? first : server;
        switch (sleep_until(live, wake, deadline)) {
        case LIVE_WORK:
            break;
        case LIVE_DEADLINE:
            return LIVE_NOT_IN_TIME;
        case LIVE_INTERRUPTED:
            return LIVE_STOPPED;
        }
    }
}

enum err live_stop(struct live *live,
                   mono_ms deadline,
                   struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (live_flush(live, deadline) != LIVE_AT_REST) {
        const struct err_detail *trouble = live_trouble(live);
        err = trouble != NULL ? trouble->err : ERR_GIVEN_UP;
        (void)err_set(detail,
                      err,
                      "lost unconfirmed commits: %zu; %s",
                      live_outstanding(live),
                      trouble != NULL ? trouble->text
                                      : "no caller waited for the answer");
    }
    live_drop(live);
    return err;
}
