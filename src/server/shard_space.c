/* The spaces of a shard: opening, groups, access, closing. */

#include "host/data_dir.h"
#include "host/wake.h"
#include "server/admin.h"
#include "server/routes.h"
#include "server/shard_internal.h"
#include "store/engine.h"
#include "value/compare.h"
#include "value/object.h"

/* -- The access document ------------------------------------------------- */

enum err access_read_document(struct engine *engine,
                              struct value *out,
                              struct err_detail *detail)
{
    struct value branch = value_text_new("");
    struct value scope_key = value_text_new("space");
    struct value id = value_text_new(ACCESS_DOCUMENT_ID);
    const struct engine_address address = {branch, scope_key, id};
    const enum err err =
        engine_read(engine, &address, ENGINE_HEAD, out, detail);
    value_unref(branch);
    value_unref(scope_key);
    value_unref(id);
    return err;
}

static void read_access(struct shard_space *space)
{
    struct value document = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err =
        access_read_document(&space->engine, &document, &detail);
    access_release(&space->access);
    space->access = (struct access){0}; /* fail closed */
    if (err == ERR_OK) {
        access_init(&space->access, document, &detail);
    }
    if (detail.err != ERR_OK) {
        log_write(space->shard->options.log,
                  LOG_LEVEL_ERROR,
                  "only owners of the server have access to a space: %s",
                  detail.text);
    }
    space->access_is_stale = false;
    value_unref(document);
}

/* shard-4. The verdict of the author is in its port already. */
static void apply_access(struct shard_space *space)
{
    read_access(space);
    LIST_FOREACH (&space->channels, node) {
        struct channel *channel = CONTAINER_OF(node, struct channel, in_space);
        channel->capability = channel_capability(channel);
        if (channel->capability < CAPABILITY_READ && !channel->is_over) {
            metrics_count(space->shard->options.metrics,
                          METRICS_SESSIONS_REVOKED,
                          1);
            channel_end(channel,
                        ERR_ACCESS,
                        "the access document of the space no longer permits "
                        "reading");
        }
    }
    requests_recheck(space);
}

/* A commit of this or another process has changed the access document. */
static void on_access_changed(void *ctx, struct message *message)
{
    struct shard_space *space = ctx;
    if (message->kind == MESSAGE_SYNC && !message->pull &&
        message->upserts.count > 0) {
        space->access_is_stale = true;
    }
    message_release(message);
}

static void on_observer_broken(void *ctx)
{
    struct shard_space *space = ctx;
    space->access_is_stale = true;
}

static void observer_send(struct shard_space *space, struct message *message)
{
    message->connection = 1;
    message->number = space->observer->order.received + 1;
    hub_receive(space->observer, message);
    message_release(message);
}

/* The server itself watches the access document, like any session. */
static void observe_access(struct shard_space *space)
{
    space->observer = hub_attach(&space->hub,
                                 VALUE_NONE,
                                 on_access_changed,
                                 on_observer_broken,
                                 space);
    struct message open = {.kind = MESSAGE_OPEN};
    observer_send(space, &open);
    struct message watch = {.kind = MESSAGE_WATCH};
    const struct target target = {
        .id = value_text_new(ACCESS_DOCUMENT_ID),
        .scope = SCOPE_SPACE,
    };
    vec_push(&watch.targets, target);
    observer_send(space, &watch);
    read_access(space);
}

/* Whether it stores an event or a timer (proto/event.h). */
static bool has_event(const struct commit *commit)
{
    for (size_t i = 0; i < commit->ops.count; i++) {
        const struct commit_op *op = &commit->ops.at[i];
        if (op->kind == COMMIT_SET &&
            !value_is_absent(object_field(op->document, "event"))) {
            return true;
        }
    }
    return false;
}

/* The capability behind a commit: of its channel, or of the HTTP request that
 * it is for. */
static enum capability capability_behind(const struct shard_space *space,
                                         const struct hub_judgement *judgement)
{
    const struct channel *channel = channel_of_peer(judgement->peer);
    const struct credential *credential =
        route_credential(judgement->peer, judgement->commit);
    if (channel != NULL) {
        return channel_capability(channel);
    }
    credential =
        credential != NULL ? credential : admin_credential(judgement->peer);
    return credential != NULL ? shard_capability(space, credential)
                              : CAPABILITY_NONE;
}

static enum err judge(void *ctx,
                      struct hub_judgement *judgement,
                      struct err_detail *detail)
{
    struct shard_space *space = ctx;
    if (space->access_is_stale) {
        read_access(space);
    }
    const enum err err =
        access_judge_commit(capability_behind(space, judgement),
                            judgement->commit,
                            &judgement->barrier,
                            detail);
    if (err == ERR_OK && judgement->barrier) {
        space->access_is_stale = true;
    }
    if (err == ERR_OK && space->followers > 0 && has_event(judgement->commit)) {
        space->has_new_events = true;
    }
    return err;
}

/* -- Opening ------------------------------------------------------------- */

static bool is_space(const void *item, const void *name)
{
    const struct shard_space *space = item;
    return key_equal(space->name, *(const struct value *)name);
}

static uint64_t wall_ms(void *ctx)
{
    const struct shard_space *space = ctx;
    return space->shard->options.wall_ms(space->shard->options.ctx);
}

static enum err open_engine(struct shard_space *space,
                            const char *name,
                            bool create,
                            struct err_detail *detail)
{
    const struct shard_options *options = &space->shard->options;
    const enum data_dir_access access =
        create ? DATA_DIR_CREATE : DATA_DIR_EXISTING;
    struct buf path = {0};
    struct engine_options settings = {.durability = DURABILITY_MEMORY};
    enum err err = ERR_OK;
    if (options->folder != NULL && !space->is_server) {
        err = data_dir_find(options->folder, name, access, detail);
        data_dir_path(options->folder, name, &path);
        settings.path = buf_text(&path);
        settings.durability = options->durability;
    }
    if (err == ERR_OK) {
        struct err_detail why = {0};
        err = engine_open(&space->engine, &settings, &why);
        if (err != ERR_OK && settings.path == NULL) {
            (void)err_set(detail, err, "%s", why.text);
        } else if (err != ERR_OK) {
            err = data_dir_explain(options->folder, name, &why);
            (void)err_set(detail, err, "%s", why.text);
        }
    }
    space->watch = WAKE_UNWATCHED;
    if (err == ERR_OK && options->wake != NULL && settings.path != NULL) {
        buf_append_text(&path, "-lock");
        space->watch = wake_watch(options->wake, buf_text(&path));
    }
    buf_release(&path);
    return err;
}

static uint64_t secret(void *ctx)
{
    const struct shard_space *space = ctx;
    const struct shard_options *options = &space->shard->options;
    return options->random(options->ctx);
}

static void begin_hub(struct shard_space *space)
{
    const struct shard_options *options = &space->shard->options;
    const struct hub_options settings = {
        .space = space->name,
        .seed = options->random(options->ctx),
        .poll = space->watch != WAKE_UNWATCHED ? SHARD_QUIET_MS : HUB_POLL_MS,
        .log = options->log,
        .wall_ms = wall_ms,
        .tokens = secret,
        .judge = judge,
        .ctx = space,
    };
    hub_init(&space->hub, &space->engine, &settings, space->shard->now);
}

static void begin_routes(struct shard_space *space, const char *name)
{
    const struct shard_options *options = &space->shard->options;
    const struct route_space_options settings = {
        .engine = &space->engine,
        .hub = &space->hub,
        .name = name,
        .folder = space->is_server ? NULL : options->folder,
        .seed = options->random(options->ctx),
        .metrics = options->metrics,
        .requests_per_second = options->limits.messages_per_second,
    };
    space->routes = route_space_new(&settings);
}

/* shard-2: the least recently used space without channels makes room. */
static bool make_room(struct shard *shard)
{
    struct shard_space *oldest = NULL;
    if (atomic_load(shard->options.open_spaces) <
        shard->options.limits.open_spaces) {
        return true;
    }
    MAP_FOREACH (&shard->spaces, slot) {
        struct shard_space *space = slot->item;
        if (list_is_empty(&space->channels) &&
            !list_node_is_linked(&space->in_touched) &&
            (oldest == NULL || space->used < oldest->used)) {
            oldest = space;
        }
    }
    if (oldest != NULL) {
        shard_space_close(oldest);
    }
    return oldest != NULL;
}

static enum err add_space(struct shard *shard,
                          struct value name,
                          bool create,
                          struct shard_space **out,
                          struct err_detail *detail)
{
    if (!make_room(shard)) {
        return err_set(detail,
                       ERR_OVERLOADED,
                       "%u spaces are open, which is the limit; retry later",
                       shard->options.limits.open_spaces);
    }
    struct shard_space *space = mem_alloc_zero(sizeof *space);
    struct buf text = {0};
    const struct text letters = value_text(&name);
    buf_append(&text, letters.at, letters.length);
    space->shard = shard;
    space->is_server = value_is_text(name, SHARD_SERVER_SPACE);
    const enum err err = open_engine(space, buf_text(&text), create, detail);
    if (err != ERR_OK) {
        buf_release(&text);
        mem_free(space, sizeof *space);
        return err;
    }
    space->name = value_ref(name);
    list_init(&space->channels);
    list_node_init(&space->in_touched);
    list_node_init(&space->in_written);
    list_node_init(&space->in_waiting);
    if (space->watch != WAKE_UNWATCHED) {
        map_insert(&shard->watched, (uint64_t)space->watch, space);
    }
    begin_hub(space);
    begin_routes(space, buf_text(&text));
    client_leases_init(&space->leases, shard->options.folder);
    observe_access(space);
    buf_release(&text);
    map_insert(&shard->spaces, value_hash(name), space);
    space->entry = space_board_post(shard->options.board, name);
    (void)atomic_fetch_add(shard->options.open_spaces, 1);
    metrics_count(shard->options.metrics, METRICS_SPACES_OPENED, 1);
    metrics_add(shard->options.metrics, METRICS_NOW_SPACES_OPEN, 1);
    *out = space;
    return ERR_OK;
}

enum err shard_space_open(struct shard *shard,
                          struct value name,
                          bool create,
                          struct shard_space **out,
                          struct err_detail *detail)
{
    enum err err = space_id_check(name, detail);
    struct shard_space *space =
        err == ERR_OK
            ? map_find(&shard->spaces, value_hash(name), is_space, &name)
            : NULL;
    if (err == ERR_OK && space == NULL) {
        err = add_space(shard, name, create, &space, detail);
    }
    if (space != NULL) {
        space->used = shard->now;
    }
    *out = space;
    return err;
}

enum capability shard_capability(const struct shard_space *space,
                                 const struct credential *credential)
{
    if (space->is_server) {
        return CAPABILITY_READ; /* of nothing: there is no data in it */
    }
    const struct authenticator *with = space->shard->authenticator;
    return authenticator_still_trusts(with, credential)
               ? access_capability(&space->access,
                                   authenticator_is_service(with, credential),
                                   credential)
               : CAPABILITY_NONE;
}

void shard_space_close(struct shard_space *space)
{
    struct shard *shard = space->shard;
    CHECK(list_is_empty(&space->channels) && space->accounts.count == 0);
    list_remove(&space->in_touched);
    (void)map_remove(&shard->spaces,
                     value_hash(space->name),
                     is_space,
                     &space->name);
    if (space->watch != WAKE_UNWATCHED) {
        wake_unwatch(shard->options.wake, space->watch);
        shard_unwatch(space);
    }
    list_remove(&space->in_written);
    list_remove(&space->in_waiting);
    requests_end(space);
    space_board_take_off(shard->options.board, space->entry);
    metrics_add(shard->options.metrics,
                METRICS_NOW_SESSIONS,
                -(int64_t)space->sessions);
    route_space_free(space->routes);
    hub_detach(space->observer);
    hub_release(&space->hub);
    engine_close(&space->engine);
    access_release(&space->access);
    client_leases_release(&space->leases);
    map_release(&space->accounts);
    value_unref(space->name);
    mem_free(space, sizeof *space);
    (void)atomic_fetch_sub(shard->options.open_spaces, 1);
    metrics_count(shard->options.metrics, METRICS_SPACES_CLOSED, 1);
    metrics_add(shard->options.metrics, METRICS_NOW_SPACES_OPEN, -1);
}

/* -- Turns --------------------------------------------------------------- */

void shard_space_touch(struct shard_space *space)
{
    if (!list_node_is_linked(&space->in_touched)) {
        list_push_back(&space->shard->touched_spaces, &space->in_touched);
        hub_group_begin(&space->hub);
    }
}

/* Decides about the group, and counts it. */
static void end_group(struct shard_space *space)
{
    struct metrics *metrics = space->shard->options.metrics;
    const uint64_t began = shard_us(space->shard);
    const uint64_t groups = space->hub.counters.groups;
    const uint64_t commits = space->hub.counters.commits;
    hub_group_end(&space->hub);
    if (space->hub.counters.groups != groups) {
        metrics_count(metrics,
                      METRICS_GROUPS,
                      space->hub.counters.groups - groups);
        metrics_observe(metrics,
                        METRICS_OF_GROUP_SIZE,
                        space->hub.counters.commits - commits);
        metrics_observe(metrics,
                        METRICS_OF_GROUP_TIME,
                        shard_us(space->shard) - began);
    }
}

static void count_sessions(struct shard_space *space, size_t now)
{
    metrics_add(space->shard->options.metrics,
                METRICS_NOW_SESSIONS,
                (int64_t)now - (int64_t)space->sessions);
    space->sessions = now;
    if (space->entry != NULL) {
        atomic_store(&space->entry->seq, space->engine.seq);
        atomic_store(&space->entry->sessions, now);
    }
}

void shard_space_settle(struct shard_space *space)
{
    end_group(space);
    list_remove(&space->in_touched);
    if (space->access_is_stale) {
        apply_access(space);
        channels_collect(space->shard); /* before anything else is sent */
    }
    hub_flush(&space->hub);
    if (space->access_is_stale) { /* by another process */
        apply_access(space);
    }
    if (space->has_new_events) {
        space->has_new_events = false;
        channels_tell_landed(space);
    }
    requests_step(space);
    count_sessions(space, space->hub.sessions.count);
}
