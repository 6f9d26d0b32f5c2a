/* The spaces of a data directory, over the network. */

#include "server/server.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/data_dir.h"
#include "host/locked_file.h"
#include "host/system.h"
#include "server/connection.h"
#include "server/maintenance.h"
#include "server/routes.h"
#include "server/worker.h"
#include "value/object.h"

enum {
    WORKERS_DEFAULT_MAX = 8,
    DRAIN_LOOK_MS = 2, /* between looks at the workers while draining */
    DRAIN_QUIET = 5,   /* so many looks in a row find nothing to do */
    JWKS_FILE_BYTES = JWKS_TEXT_MAX,
};

struct server {
    struct net *net;
    struct connections connections; /* of the I/O thread */
    struct worker workers[WORKERS_MAX];
    unsigned worker_count;
    struct metrics metrics;
    struct buf folder;
    const struct log *log;
    struct space_board board;
    struct maintenance *maintenance;
    void (*asked_to_end)(void *ctx);
    void *ctx; /* of that */
    _Atomic uint32_t open_spaces;
    _Atomic bool is_draining;
    struct locked_file claim; /* on the directory (server-5) */
    bool has_claim;
    bool has_said; /* of the I/O thread: the clients know that it drains */

    /* The one that is in use, and all that were: a worker may still read them.
     * A reload is rare. */
    const struct authenticator *_Atomic authenticator;
    VEC(struct authenticator *) authenticators;
};

/* -- The I/O thread ------------------------------------------------------ */

static bool on_connected(void *ctx, net_id id, const struct net_peer *peer)
{
    struct server *server = ctx;
    connections_opened(&server->connections, id, peer);
    return true;
}

static enum net_taken on_received(void *ctx,
                                  net_id id,
                                  const char *text,
                                  size_t length)
{
    struct server *server = ctx;
    return connections_received(&server->connections, id, text, length);
}

static void on_closed(void *ctx, net_id id, const char *reason)
{
    struct server *server = ctx;
    (void)reason;
    connections_closed(&server->connections, id);
}

static void on_requested(void *ctx, struct net_request *request)
{
    struct server *server = ctx;
    connections_requested(&server->connections, request);
}

static void on_turned(void *ctx)
{
    struct server *server = ctx;
    if (atomic_load(&server->is_draining) && !server->has_said) {
        server->has_said = true;
        connections_drain(&server->connections);
    }
    connections_turned(&server->connections);
}

static const struct net_events events = {
    .connected = on_connected,
    .received = on_received,
    .closed = on_closed,
    .requested = on_requested,
    .turned = on_turned,
};

static void post(void *ctx, unsigned worker, struct batch *batch)
{
    struct server *server = ctx;
    worker_post(&server->workers[worker], batch);
}

static void send_text(void *ctx, net_id id, const char *text, size_t length)
{
    struct server *server = ctx;
    net_send(server->net, id, net_bytes_new(text, length), NULL);
}

/* -- The workers --------------------------------------------------------- */

static void send_all(void *ctx,
                     const struct net_outgoing *messages,
                     size_t count)
{
    struct server *server = ctx;
    net_send_all(server->net, messages, count);
}

static void respond(void *ctx, net_id id, struct route_answer *answer)
{
    struct server *server = ctx;
    route_answer_respond(server->net, id, answer);
}

static void end(void *ctx, net_id id)
{
    struct server *server = ctx;
    net_end(server->net, id, 1000, "");
}

static void resume(void *ctx, net_id id)
{
    struct server *server = ctx;
    net_resume(server->net, id);
}

static void count(void *ctx, struct net_counters *out)
{
    struct server *server = ctx;
    net_count(server->net, out);
}

static void drain(void *ctx)
{
    struct server *server = ctx;
    server->asked_to_end(server->ctx);
}

static uint64_t random_bits(void *ctx)
{
    struct host *host = system_host();
    (void)ctx;
    return host->random(host);
}

static uint64_t wall_ms(void *ctx)
{
    (void)ctx;
    return system_wall_ms();
}

static uint64_t now_us(void *ctx)
{
    (void)ctx;
    return system_us();
}

static mono_ms mono_now(void *ctx)
{
    struct host *host = system_host();
    (void)ctx;
    return host->now(host);
}

/* -- Identities ---------------------------------------------------------- */

static enum err read_jwks(const char *path,
                          struct jwks **out,
                          struct err_detail *detail)
{
    struct buf text = {0};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return err_set(detail, ERR_IO, "cannot open the key set '%s'", path);
    }
    char *to = buf_reserve(&text, JWKS_FILE_BYTES + 1);
    const size_t length = fread(to, 1, JWKS_FILE_BYTES + 1, file);
    buf_advance(&text, length);
    const bool failed = ferror(file) != 0;
    (void)fclose(file);
    const enum err err =
        failed ? err_set(detail, ERR_IO, "cannot read the key set '%s'", path)
               : jwks_read(text.at, text.length, out, detail);
    buf_release(&text);
    return err;
}

/* The key of the server, created if its default place has none. */
static enum err find_key(const struct server_options *options,
                         struct public_key *out,
                         struct err_detail *detail)
{
    struct buf path = {0};
    struct key key;
    buf_printf(&path, "%s/server.key", options->folder);
    const char *file =
        options->key_file != NULL ? options->key_file : buf_text(&path);
    enum err err = key_file_read(file, &key, detail);
    if (err == ERR_NOT_FOUND && options->key_file == NULL) {
        err = key_make(&key, detail);
        if (err == ERR_OK) {
            err = key_file_write(file, &key, false, detail);
        }
    }
    if (err == ERR_OK) {
        *out = key.public_key;
        key_release(&key);
    }
    buf_release(&path);
    return err;
}

static enum err add_owners(struct authenticator *with,
                           const struct server_options *options,
                           struct err_detail *detail)
{
    for (size_t i = 0; i < options->owner_count; i++) {
        const char *name = options->owners[i];
        const struct text text = {.at = name, .length = strlen(name)};
        if (with->service_key_count == OWNERS_MAX) {
            return err_set(detail,
                           ERR_ARGUMENT,
                           "at most %d owners",
                           OWNERS_MAX - 1);
        }
        if (!key_name_read(text,
                           &with->service_keys[with->service_key_count++])) {
            return err_set(detail,
                           ERR_ARGUMENT,
                           "the owner '%.60s' is not a did:key; 'heddle key "
                           "show' prints yours",
                           name);
        }
    }
    return ERR_OK;
}

static enum err set_audience(struct authenticator *with,
                             const struct server_options *options,
                             struct err_detail *detail)
{
    struct buf text = {0};
    enum err err = ERR_OK;
    if (options->audience != NULL) {
        buf_append_text(&text, options->audience);
    } else {
        token_audience_of_key(&text, &with->service_keys[0]);
    }
    if (text.length == 0 || text.length > TOKEN_AUDIENCE_MAX) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the audience must have 1 to %d bytes",
                      TOKEN_AUDIENCE_MAX);
    } else {
        memcpy(with->audience, text.at, text.length + 1);
    }
    buf_release(&text);
    return err;
}

static void free_authenticator(struct authenticator *with)
{
    jwks_free(with->jwks);
    mem_free(with, sizeof *with);
}

static enum err make_authenticator(const struct server_options *options,
                                   struct authenticator **out,
                                   struct err_detail *detail)
{
    struct authenticator *with = mem_alloc_zero(sizeof *with);
    with->is_insecure = options->is_insecure;
    enum err err = find_key(options, &with->service_keys[0], detail);
    with->service_key_count = 1;
    if (err == ERR_OK) {
        err = add_owners(with, options, detail);
    }
    if (err == ERR_OK) {
        err = set_audience(with, options, detail);
    }
    if (err == ERR_OK && options->jwks_file != NULL) {
        err = read_jwks(options->jwks_file, &with->jwks, detail);
    }
    if (err != ERR_OK) {
        free_authenticator(with);
        with = NULL;
    }
    *out = with;
    return err;
}

/* -- Opening ------------------------------------------------------------- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strcmp(address, "localhost") == 0;
}

static const char *address_of(const struct server_options *options)
{
    return options->address != NULL ? options->address : "127.0.0.1";
}

static enum err check_settings(const struct server_options *options,
                               struct err_detail *detail)
{
    if (options->is_insecure && !is_loopback(address_of(options))) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "--insecure-local listens on loopback only, not on "
                       "'%.60s'; leave it out, and use keys or tokens",
                       address_of(options));
    }
    if ((options->certificate == NULL) != (options->private_key == NULL)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a certificate needs its private key, and the other "
                       "way round");
    }
    for (size_t i = 0; options->is_insecure && i < options->origin_count; i++) {
        if (strcmp(options->origins[i], "*") == 0) {
            return err_set(detail,
                           ERR_ARGUMENT,
                           "--insecure-local with allow-origin=*: every web "
                           "page in a browser on this machine could read and "
                           "write every space; name the origins");
        }
    }
    if (options->workers > WORKERS_MAX) {
        return err_set(detail, ERR_ARGUMENT, "at most %d workers", WORKERS_MAX);
    }
    return data_dir_open(options->folder, DATA_DIR_CREATE, detail);
}

enum err server_check(const struct server_options *options,
                      struct err_detail *detail)
{
    struct authenticator *with = NULL;
    enum err err = check_settings(options, detail);
    if (err == ERR_OK) {
        err = make_authenticator(options, &with, detail);
    }
    if (err == ERR_OK) {
        free_authenticator(with);
    }
    return err;
}

static unsigned workers_of(const struct server_options *options)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->workers > 0) {
        return options->workers;
    }
    return processors < 1                     ? 1
           : processors > WORKERS_DEFAULT_MAX ? WORKERS_DEFAULT_MAX
                                              : (unsigned)processors;
}

static struct server_limits limits_of(const struct server_options *options)
{
    struct server_limits limits = options->limits.message_bytes != 0
                                      ? options->limits
                                      : server_limits_default();
    if (options->is_insecure) {
        limits.messages_per_second = 0; /* principals are not known apart */
    }
    return limits;
}

static enum err start_workers(struct server *server,
                              const struct server_options *options,
                              struct err_detail *detail)
{
    struct shard_options shard = {
        .folder = buf_text(&server->folder),
        .durability = options->durability,
        .idle_ms = options->idle_ms != 0 ? options->idle_ms : SHARD_IDLE_MS,
        .limits = limits_of(options),
        .authenticator = &server->authenticator,
        .metrics = &server->metrics,
        .open_spaces = &server->open_spaces,
        .is_draining = &server->is_draining,
        .log = options->log,
        .random = random_bits,
        .wall_ms = wall_ms,
        .now_us = now_us,
        .secret = random_bits(server),
        .send = send_all,
        .respond = respond,
        .end = end,
        .resume = resume,
        .count = count,
        .drain = options->asked_to_end != NULL ? drain : NULL,
        .ctx = server,
        .board = &server->board,
        .maintenance = server->maintenance,
    };
    const unsigned workers = workers_of(options);
    enum err err = ERR_OK;
    while (err == ERR_OK && server->worker_count < workers) {
        shard.number = server->worker_count;
        err = worker_start(&server->workers[server->worker_count],
                           &shard,
                           detail);
        server->worker_count += err == ERR_OK ? 1 : 0;
    }
    return err;
}

static enum err start_maintenance(struct server *server,
                                  struct err_detail *detail)
{
    const struct maintenance_options options = {
        .folder = buf_text(&server->folder),
        .board = &server->board,
        .random = random_bits,
        .post = post,
        .ctx = server,
    };
    return maintenance_start(&options, &server->maintenance, detail);
}

static enum err listen_on(struct server *server,
                          const struct server_options *options,
                          struct err_detail *detail)
{
    const struct server_limits limits = limits_of(options);
    const struct connections_options desk = {
        .limits = limits,
        .audience = atomic_load(&server->authenticator)->audience,
        .workers = server->worker_count,
        .post = post,
        .send = send_text,
        .now = mono_now,
        .ctx = server,
    };
    const struct net_options net = {
        .address = address_of(options),
        .port = options->port,
        .certificate = options->certificate,
        .private_key = options->private_key,
        .message_bytes = limits.message_bytes,
        .request_bytes = limits.request_bytes,
        .queue_bytes = limits.queue_bytes,
        .connections_max = limits.connections,
        .connections_per_address = limits.connections_per_address,
        .handshake_ms = limits.handshake_ms,
        .compress = options->compress,
        .origins = options->origins,
        .origin_count = options->origin_count,
        .loopback_names = options->is_insecure,
        .events = &events,
        .ctx = server,
        .log = options->log,
    };
    connections_init(&server->connections, &desk);
    return net_open(&net, &server->net, detail);
}

/* -- The claim on the directory ------------------------------------------ */

static struct value claim_name(void)
{
    return value_text_new("server");
}

/* What doctor says, new. Until the port is known the URL has none. */
static struct value about_server(const struct server *server,
                                 const struct server_options *options)
{
    const char *address = address_of(options);
    const bool is_v6 = strchr(address, ':') != NULL;
    struct value about = object_new_adopt(NULL, 0);
    struct buf url = {0};
    buf_printf(&url,
               "%s://%s%s%s",
               options->certificate != NULL ? "wss" : "ws",
               is_v6 ? "[" : "",
               address,
               is_v6 ? "]" : "");
    if (server->net != NULL) {
        buf_printf(&url, ":%u", net_port(server->net));
    }
    object_put_text(&about, "url", buf_text(&url));
    object_put_adopt(&about, "insecureLocal", value_bool(options->is_insecure));
    object_put_number(&about, "since", server->metrics.start_ms);
    buf_release(&url);
    return about;
}

static enum err claim_folder(struct server *server,
                             const struct server_options *options,
                             struct err_detail *detail)
{
    struct value name = claim_name();
    struct value about = about_server(server, options);
    struct value holder = VALUE_NONE;
    enum err err = locked_file_open(&server->claim,
                                    options->folder,
                                    "serve",
                                    name,
                                    about,
                                    &holder,
                                    detail);
    server->has_claim = err == ERR_OK;
    if (err == ERR_BUSY) {
        const struct value url = object_field(holder, "url");
        const struct text text =
            value_is_string(url) ? value_text(&url) : (struct text){.at = ""};
        err = err_set(detail,
                      ERR_BUSY,
                      "the directory %s has a server already, process %u at "
                      "%.*s: use that one, or stop it first",
                      options->folder,
                      (unsigned)object_number(holder, "pid"),
                      (int)text.length,
                      text.at);
    }
    value_unref(holder);
    value_unref(about);
    value_unref(name);
    return err;
}

static enum err publish_port(struct server *server,
                             const struct server_options *options,
                             struct err_detail *detail)
{
    struct value about = about_server(server, options);
    const enum err err = locked_file_write(&server->claim, about, detail);
    value_unref(about);
    return err;
}

struct value server_presence(const char *folder)
{
    struct value name = claim_name();
    const struct value about = locked_file_holder(folder, "serve", name);
    value_unref(name);
    return about;
}

enum err server_open(const struct server_options *options,
                     struct server **out,
                     struct err_detail *detail)
{
    struct authenticator *with = NULL;
    *out = NULL;
    enum err err = check_settings(options, detail);
    if (err == ERR_OK) {
        err = make_authenticator(options, &with, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    struct server *server = mem_alloc_zero(sizeof *server);
    vec_push(&server->authenticators, with);
    atomic_store(&server->authenticator, with);
    buf_append_text(&server->folder, options->folder);
    server->log = options->log;
    server->asked_to_end = options->asked_to_end;
    server->ctx = options->ctx;
    space_board_init(&server->board);
    server->metrics.start_ms = system_wall_ms();
    server->metrics.version = options->version;
    err = claim_folder(server, options, detail);
    if (err == ERR_OK) {
        err = start_maintenance(server, detail);
    }
    if (err == ERR_OK) {
        err = start_workers(server, options, detail);
    }
    if (err == ERR_OK) {
        err = listen_on(server, options, detail);
    }
    if (err == ERR_OK) {
        err = publish_port(server, options, detail);
    }
    if (err != ERR_OK) {
        server_close(server);
        return err;
    }
    *out = server;
    return ERR_OK;
}

uint16_t server_port(const struct server *server)
{
    return net_port(server->net);
}

const char *server_audience(const struct server *server)
{
    return server->authenticators.at[0]->audience;
}

enum err server_reload(struct server *server,
                       const struct server_options *options,
                       struct err_detail *detail)
{
    struct authenticator *with = NULL;
    enum err err = check_settings(options, detail);
    if (err == ERR_OK) {
        err = make_authenticator(options, &with, detail);
    }
    if (err == ERR_OK && options->certificate != NULL) {
        err = net_reload(server->net, detail);
    }
    if (err == ERR_OK) {
        vec_push(&server->authenticators, with);
        atomic_store(&server->authenticator, with);
        net_set_origins(server->net, options->origins, options->origin_count);
    } else if (with != NULL) {
        free_authenticator(with);
    }
    return err;
}

/* -- Ending -------------------------------------------------------------- */

static bool is_idle(struct server *server)
{
    struct net_counters counters = {0};
    net_count(server->net, &counters);
    for (unsigned i = 0; i < server->worker_count; i++) {
        if (!worker_is_idle(&server->workers[i])) {
            return false;
        }
    }
    if (!maintenance_is_idle(server->maintenance)) {
        return false;
    }
    return counters.queued_bytes == 0;
}

void server_drain(struct server *server, uint32_t most_ms)
{
    struct host *host = system_host();
    const mono_ms deadline = host->now(host) + most_ms;
    net_stop_listening(server->net);
    maintenance_stop(server->maintenance);
    atomic_store(&server->is_draining, true);
    metrics_set(&server->metrics, METRICS_NOW_DRAINING, 1);
    net_resume(server->net, 0); /* wakes the I/O thread */
    for (unsigned i = 0; i < server->worker_count; i++) {
        worker_drain(&server->workers[i]);
    }
    for (unsigned quiet = 0;
         quiet < DRAIN_QUIET && host->now(host) < deadline;) {
        (void)poll(NULL, 0, DRAIN_LOOK_MS);
        quiet = is_idle(server) ? quiet + 1 : 0;
    }
}

/* The maintenance ends first, because it posts to the workers; then they end,
 * because they send; then the connections, because they post. */
void server_close(struct server *server)
{
    if (server->maintenance != NULL) {
        maintenance_join(server->maintenance);
    }
    for (unsigned i = 0; i < server->worker_count; i++) {
        worker_stop(&server->workers[i]);
    }
    if (server->net != NULL) {
        net_close(server->net);
        connections_turned(&server->connections);
        connections_release(&server->connections);
    }
    for (unsigned i = 0; i < server->worker_count; i++) {
        worker_release(&server->workers[i]);
    }
    if (server->maintenance != NULL) {
        maintenance_free(server->maintenance);
    }
    space_board_release(&server->board);
    if (server->has_claim) {
        locked_file_close(&server->claim);
    }
    VEC_FOREACH (&server->authenticators, with) {
        free_authenticator(*with);
    }
    vec_release(&server->authenticators);
    buf_release(&server->folder);
    mem_free(server, sizeof *server);
}
