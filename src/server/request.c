/* HTTP requests of a shard: who asks, of which space, and the answer. */

#include <string.h>

#include "host/data_dir.h"
#include "net/net.h"
#include "server/routes.h"
#include "server/shard_internal.h"
#include "store/engine.h"

static void deliver(void *ctx,
                    net_id id,
                    enum route_delivery what,
                    struct route_answer *answer)
{
    struct shard *shard = ctx;
    const struct shard_options *options = &shard->options;
    switch (what) {
    case ROUTE_ANSWER:
        options->respond(options->ctx, id, answer);
        break;
    case ROUTE_CHUNK: {
        const struct net_outgoing chunk = {
            .id = id,
            .head = net_bytes_new(answer->body.at, answer->body.length),
        };
        vec_push(&shard->outgoing, chunk);
        break;
    }
    case ROUTE_END:
        shard_send_outgoing(shard); /* what the stream was sent before */
        options->end(options->ctx, id);
        break;
    }
}

static void count(void *ctx, struct net_counters *out)
{
    const struct shard *shard = ctx;
    shard->options.count(shard->options.ctx, out);
}

/* The access document of a space that another shard may have open: from its
 * file. */
static void read_access_of(const struct shard *shard,
                           const char *space,
                           struct access *out)
{
    struct buf path = {0};
    struct engine engine;
    struct value document = VALUE_NONE;
    *out = (struct access){0};
    data_dir_path(shard->options.folder, space, &path);
    const struct engine_options options = {
        .path = buf_text(&path),
        .read_only = true,
    };
    if (engine_open(&engine, &options, NULL) == ERR_OK) {
        if (access_read_document(&engine, &document, NULL) == ERR_OK) {
            access_init(out, document, NULL);
        }
        engine_close(&engine);
    }
    value_unref(document);
    buf_release(&path);
}

/* For the list of spaces. */
static bool may_read(void *ctx, struct value principal, const char *space)
{
    const struct shard *shard = ctx;
    const struct credential *credential = shard->asking;
    const struct text name = {.at = space, .length = strlen(space)};
    struct access access;
    (void)principal; /* that of the credential */
    if (!credential_covers(credential, name)) {
        return false;
    }
    read_access_of(shard, space, &access);
    const enum capability capability = access_capability(
        &access,
        authenticator_is_service(shard->authenticator, credential),
        credential);
    access_release(&access);
    return capability >= CAPABILITY_READ;
}

/* Whether a request creates its space, if the caller may: it writes a
 * document. */
static bool creates(const struct net_request *request)
{
    return (strcmp(request->method, "PUT") == 0 ||
            strcmp(request->method, "PATCH") == 0) &&
           strstr(request->path, "/docs/") != NULL;
}

/* The space of a request, if it names one. */
static enum err find_space(struct shard *shard,
                           const struct net_request *request,
                           const struct credential *credential,
                           struct shard_space **out,
                           struct err_detail *detail)
{
    const bool may_create =
        authenticator_may_create(shard->authenticator, credential);
    struct buf name = {0};
    enum err err = ERR_OK;
    *out = NULL;
    if (routes_space(request, &name) == ROUTE_TO_SPACE) {
        const struct text text = {.at = buf_text(&name), .length = name.length};
        struct value id = value_string_new(text.at, text.length);
        if (!credential_covers(credential, text)) {
            err = err_set(detail, ERR_ACCESS, "the token is for another space");
        } else {
            err = shard_space_open(shard,
                                   id,
                                   may_create && creates(request),
                                   out,
                                   detail);
        }
        if (err == ERR_NOT_FOUND && !may_create) {
            /* Strangers do not learn which spaces exist. */
            err = err_set(detail, ERR_ACCESS, SHARD_NO_ACCESS);
        }
        value_unref(id);
    }
    buf_release(&name);
    return err;
}

static void handle(struct shard *shard,
                   const struct net_request *request,
                   struct shard_space *space,
                   const struct credential *credential,
                   struct route_answer *out)
{
    const struct shard_options *options = &shard->options;
    const struct route_server server = {
        .folder = options->folder,
        .metrics = options->metrics,
        .is_ready = !atomic_load(options->is_draining),
        .secret = options->secret,
        .count = count,
        .may_read = may_read,
        .ctx = shard,
    };
    const enum capability capability =
        space != NULL ? shard_capability(space, credential) : CAPABILITY_NONE;
    struct value principal = credential->principal[0] != '\0'
                                 ? value_text_new(credential->principal)
                                 : VALUE_NONE;
    const struct route_context context = {
        .server = &server,
        .space = space != NULL ? space->routes : NULL,
        .principal = principal,
        .credential = credential,
        .may_read = capability >= CAPABILITY_READ,
        .may_write = capability >= CAPABILITY_WRITE,
        .is_owner = capability >= CAPABILITY_OWNER,
        .is_operator =
            authenticator_is_operator(shard->authenticator, credential),
        .now = shard->now,
        .wall_ms = options->wall_ms(options->ctx),
    };
    shard->asking = credential;
    if (space != NULL) {
        space->used = shard->now;
        shard_space_touch(space);
    }
    routes_handle(&context, request, out);
    shard->asking = NULL;
    value_unref(principal);
}

/* Health is for everyone: a load balancer has no token. */
static bool needs_credential(const struct net_request *request)
{
    return strcmp(request->path, "/healthz") != 0 &&
           strcmp(request->path, "/readyz") != 0 &&
           strcmp(request->path, "/v1/openapi.json") != 0;
}

void request_begin(struct shard *shard, struct item *item)
{
    const uint64_t began = shard_us(shard);
    struct net_request *request = item->request;
    struct route_answer answer = {0};
    struct credential credential = {0};
    struct err_detail detail = {0};
    struct shard_space *space = NULL;
    enum err err = ERR_OK;
    if (needs_credential(request) && atomic_load(shard->options.is_draining)) {
        err = err_set(&detail, ERR_OVERLOADED, "the server is draining; retry");
    } else if (needs_credential(request)) {
        err = authenticate_bearer(shard->authenticator,
                                  request->bearer,
                                  shard_clock(shard),
                                  &credential,
                                  &detail);
    }
    if (err == ERR_OK) {
        err = find_space(shard, request, &credential, &space, &detail);
    }
    if (err == ERR_OK && space != NULL &&
        shard_capability(space, &credential) < CAPABILITY_READ) {
        err = err_set(&detail, ERR_ACCESS, SHARD_NO_ACCESS);
    }
    if (err == ERR_OK) {
        handle(shard, request, space, &credential, &answer);
    } else {
        detail.err = err;
        route_answer_error(&answer,
                           &detail,
                           err == ERR_OVERLOADED ? SHARD_BUSY_RETRY_MS : 0);
        metrics_error(shard->options.metrics, err);
    }
    if (!answer.is_later) {
        deliver(shard, request->id, ROUTE_ANSWER, &answer);
    }
    route_answer_release(&answer);
    metrics_observe(shard->options.metrics,
                    METRICS_OF_REQUEST_TIME,
                    shard_us(shard) - began);
}

void request_ended(struct shard *shard, net_id id)
{
    MAP_FOREACH (&shard->spaces, slot) {
        route_space_closed(((struct shard_space *)slot->item)->routes, id);
    }
}

void requests_step(struct shard_space *space)
{
    struct shard *shard = space->shard;
    route_space_step(space->routes,
                     shard->now,
                     shard->options.wall_ms(shard->options.ctx),
                     deliver,
                     shard);
    const bool waits = route_space_next_wake(space->routes) != MONO_NEVER;
    if (!waits) {
        list_remove(&space->in_waiting);
    } else if (!list_node_is_linked(&space->in_waiting)) {
        list_push_back(&shard->waiting, &space->in_waiting);
    }
}

static bool may_still_read(void *ctx, const struct credential *credential)
{
    const struct shard_space *space = ctx;
    return shard_capability(space, credential) >= CAPABILITY_READ;
}

void requests_recheck(struct shard_space *space)
{
    route_space_recheck(space->routes,
                        may_still_read,
                        space,
                        deliver,
                        space->shard);
}

static bool is_another(void *ctx, const struct credential *credential)
{
    const struct value *principal = ctx;
    return !value_is_text(*principal, credential->principal);
}

void requests_end_of(struct shard_space *space, struct value principal)
{
    route_space_recheck(space->routes,
                        is_another,
                        &principal,
                        deliver,
                        space->shard);
}

void requests_end(struct shard_space *space)
{
    const struct err_detail why = {
        .err = ERR_OVERLOADED,
        .text = "the server closes the space; retry",
    };
    route_space_end(space->routes,
                    &why,
                    SHARD_BUSY_RETRY_MS,
                    deliver,
                    space->shard);
}
