/* HTTP routes: requests from bytes, one after the other on one space.
 *
 *   METHOD PATH?QUERY        a request begins with such a line,
 *   if-match: TEXT           has headers,
 *                            an empty line,
 *   BODY                     and a body, up to a line that is only "."
 *
 *   - Each request gets an answer, now or later (routes-1), with a status that
 *     a route can have and a body that is JSON where it says so.
 *   - A caller without rights changes nothing: in an input of an odd length,
 *     every second request is of such a caller.
 *   - When all have ended, nothing waits and nothing is left behind. */

#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "server/routes.h"
#include "value/json.h"

enum {
    REQUESTS_MAX = 20,
    TEXT_MAX = 4096,
};

struct fuzz_space {
    struct engine engine;
    struct hub hub;
    struct route_space *space;
    unsigned answers;
    net_id last;
};

static void check_answer(const struct route_answer *answer)
{
    struct value value = VALUE_NONE;
    CHECK(answer->http_status >= 200 && answer->http_status < 600);
    if (answer->content_type == NULL ||
        strcmp(answer->content_type, "application/json") != 0 ||
        answer->body.length == 0) {
        return;
    }
    CHECK(json_read(answer->body.at,
                    answer->body.length,
                    &(struct json_limits)JSON_LIMITS_STORED,
                    &value,
                    NULL) == ERR_OK);
    value_unref(value);
}

static void deliver(void *ctx,
                    net_id id,
                    enum route_delivery what,
                    struct route_answer *answer)
{
    struct fuzz_space *fuzz = ctx;
    CHECK(id > 0 && id <= fuzz->last);
    if (what == ROUTE_ANSWER) {
        fuzz->answers++;
        check_answer(answer);
    }
}

/* The next line, without its end; at most TEXT_MAX. */
static size_t take_line(const char **at, size_t *left, char to[TEXT_MAX])
{
    const char *end = memchr(*at, '\n', *left);
    const size_t length = end != NULL ? (size_t)(end - *at) : *left;
    size_t kept = length < TEXT_MAX - 1 ? length : TEXT_MAX - 1;
    memcpy(to, *at, kept);
    to[kept] = '\0';
    *at += length + (end != NULL);
    *left -= length + (end != NULL);
    return strlen(to);
}

static void take_header(struct net_request *request, const char *line)
{
    char **const places[] = {
        &request->if_match,
        &request->if_none_match,
        &request->idempotency_key,
        &request->prefer,
        &request->last_event_id,
        &request->content_type,
    };
    static const char *const names[] = {
        "if-match: ",
        "if-none-match: ",
        "idempotency-key: ",
        "prefer: ",
        "last-event-id: ",
        "content-type: ",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(line, names[i], length) == 0 && *places[i] == NULL) {
            const size_t size = strlen(line + length) + 1;
            *places[i] = mem_alloc(size);
            memcpy(*places[i], line + length, size);
        }
    }
}

static void drop_headers(struct net_request *request)
{
    char *const texts[] = {
        request->if_match,
        request->if_none_match,
        request->idempotency_key,
        request->prefer,
        request->last_event_id,
        request->content_type,
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (texts[i] != NULL) {
            mem_free(texts[i], strlen(texts[i]) + 1);
        }
    }
}

/* Reads a request; its path, query and body are in the given buffers. */
static void take_request(const char **at,
                         size_t *left,
                         struct net_request *request,
                         char line[TEXT_MAX],
                         struct buf *body)
{
    char header[TEXT_MAX];
    (void)take_line(at, left, line);
    char *path = strchr(line, ' ');
    const size_t method = path != NULL ? (size_t)(path - line) : strlen(line);
    memcpy(request->method,
           line,
           method < sizeof request->method ? method
                                           : sizeof request->method - 1);
    request->path = path != NULL ? path + 1 : NULL;
    char *query = path != NULL ? strchr(path, '?') : NULL;
    if (query != NULL) {
        *query = '\0';
        request->query = query + 1;
    }
    while (*left > 0 && take_line(at, left, header) > 0) {
        take_header(request, header);
    }
    while (*left > 0) {
        if ((*at)[0] == '.' && (*left == 1 || (*at)[1] == '\n')) {
            (void)take_line(at, left, header);
            break;
        }
        buf_append_char(body, **at);
        (*at)++;
        (*left)--;
    }
    request->body = body->at;
    request->body_length = body->length;
}

static void ask(struct fuzz_space *fuzz,
                const char **at,
                size_t *left,
                bool has_rights)
{
    const struct route_server server = {.is_ready = true};
    const struct value principal = value_text_new("ann");
    const struct route_context context = {
        .server = &server,
        .space = fuzz->space,
        .principal = principal,
        .may_read = has_rights,
        .may_write = has_rights,
        .is_operator = has_rights,
        .now = 1000 + fuzz->last,
        .wall_ms = 1794917775000,
    };
    struct net_request request = {.id = ++fuzz->last};
    struct route_answer answer = {0};
    struct buf body = {0};
    struct buf name = {0};
    char line[TEXT_MAX];
    const uint64_t before = fuzz->engine.seq;
    take_request(at, left, &request, line, &body);
    (void)routes_space(&request, &name);
    routes_handle(&context, &request, &answer);
    if (!answer.is_later) {
        fuzz->answers++;
        check_answer(&answer);
    }
    CHECK(has_rights || fuzz->engine.seq == before);
    route_answer_release(&answer);
    drop_headers(&request);
    buf_release(&body);
    buf_release(&name);
    value_unref(principal);
}

static void step(struct fuzz_space *fuzz, mono_ms now)
{
    hub_flush(&fuzz->hub);
    route_space_step(fuzz->space, now, 1794917775000, deliver, fuzz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct fuzz_space *fuzz = mem_alloc_zero(sizeof *fuzz);
    const struct engine_options engine_options = {0};
    const struct hub_options hub_options = {.seed = 1};
    CHECK(engine_open(&fuzz->engine, &engine_options, NULL) == ERR_OK);
    hub_init(&fuzz->hub, &fuzz->engine, &hub_options, 1000);
    const struct route_space_options options = {
        .engine = &fuzz->engine,
        .hub = &fuzz->hub,
        .name = "main",
        .seed = 2,
    };
    fuzz->space = route_space_new(&options);
    const char *at = (const char *)data;
    size_t left = size;
    for (unsigned i = 0; i < REQUESTS_MAX && left > 0; i++) {
        ask(fuzz, &at, &left, size % 2 == 0 || i % 2 == 0);
        step(fuzz, 1000 + fuzz->last);
    }
    step(fuzz, 1000000); /* every timeout is over; streams have a heartbeat */
    CHECK(fuzz->answers == fuzz->last);
    for (net_id id = 1; id <= fuzz->last; id++) {
        route_space_closed(fuzz->space, id);
    }
    CHECK(route_space_waiting(fuzz->space) == 0);
    route_space_free(fuzz->space);
    hub_release(&fuzz->hub);
    engine_close(&fuzz->engine);
    mem_free(fuzz, sizeof *fuzz);
    fuzz_end(&memory);
    return 0;
}
