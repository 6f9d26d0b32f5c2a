/* The table of routes, and how a request finds its row. */

#include <string.h>

#include "base/text.h"
#include "server/routes_internal.h"

#define BIT PARAMETER_BIT

const struct parameter_row route_parameters[PARAMETER_COUNT] = {
    [PARAMETER_PATH] = {"path",
                        PARAMETER_POINTER,
                        "A JSON Pointer to a part of the value, such as "
                        "/value/items/0. Without it: all of it.",
                        0,
                        0},
    [PARAMETER_AT] = {"at",
                      PARAMETER_NUMBER,
                      "Reads the state at this sequence number instead of the "
                      "current one.",
                      0,
                      0},
    [PARAMETER_SCOPE] = {"scope",
                         PARAMETER_TEXT,
                         "space (default), or user: the document of that id "
                         "that belongs to the caller.",
                         0,
                         0},
    [PARAMETER_AFTER_NAME] = {"after",
                              PARAMETER_TEXT,
                              "Continues a list behind this entry: the `next` "
                              "of the page before.",
                              0,
                              0},
    [PARAMETER_AFTER_SEQ] = {"after",
                             PARAMETER_NUMBER,
                             "Only commits above this sequence number.",
                             0,
                             0},
    [PARAMETER_TO] = {"to",
                      PARAMETER_NUMBER,
                      "Only commits up to this sequence number: the `next` of "
                      "the page before continues with older ones.",
                      INT64_MAX,
                      0},
    [PARAMETER_LIMIT] = {"limit",
                         PARAMETER_NUMBER,
                         "How many entries at most.",
                         ROUTE_PAGE,
                         ROUTE_PAGE_MAX},
    [PARAMETER_ID] =
        {"id", PARAMETER_LIST, "A document to watch. May be repeated.", 0, 0},
    [PARAMETER_PIECE] =
        {"piece", PARAMETER_TEXT, "Only what concerns this piece.", 0, 0},
    [PARAMETER_PIECES] = {"piece",
                          PARAMETER_LIST,
                          "A piece whose result to watch. May be repeated.",
                          0,
                          0},
    [PARAMETER_TIMEOUT] = {"timeout",
                           PARAMETER_NUMBER,
                           "How many milliseconds to wait for the receipt.",
                           ROUTE_TIMEOUT_MS,
                           ROUTE_TIMEOUT_MAX_MS},
    [PARAMETER_FAILED] = {"failed",
                          PARAMETER_FLAG,
                          "true: events whose handler failed, instead of those "
                          "that wait.",
                          0,
                          0},
    [PARAMETER_ORIGIN] = {"origin",
                          PARAMETER_FLAG,
                          "true: also the reasons of the reasons, back to the "
                          "origin.",
                          0,
                          0},
    [PARAMETER_NOT] =
        {"not", PARAMETER_FLAG, "true: why the node does not run.", 0, 0},
};

#define SPACE    "/v1/spaces/{space}"
#define DOCUMENT SPACE "/docs/{id}"

/* A pattern that is part of another comes behind it: the first one that fits
 * decides. */
const struct route routes_table[] = {
    {"GET",
     "/healthz",
     RIGHT_ANYONE,
     route_health,
     .answer_type = ROUTE_JSON,
     .summary = "Whether the process is alive.",
     .statuses = {200}},
    {"GET",
     "/readyz",
     RIGHT_ANYONE,
     route_ready,
     .answer_type = ROUTE_JSON,
     .summary = "Whether the server accepts requests.",
     .about = "503 while it starts or drains.",
     .statuses = {200, 503}},
    {"GET",
     "/metrics",
     RIGHT_OPERATOR,
     route_metrics,
     .answer_type = "text/plain; version=0.0.4",
     .summary = "Counters and histograms, in the text format of Prometheus.",
     .statuses = {200}},
    {"GET",
     "/v1/openapi.json",
     RIGHT_ANYONE,
     route_openapi,
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "This description.",
     .statuses = {200, 304}},
    {"GET",
     "/v1/spaces",
     RIGHT_CALLER,
     route_spaces,
     .parameters = BIT(AFTER_NAME) | BIT(LIMIT),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "The spaces that the caller may read.",
     .about = "{\"spaces\":[{\"space\":S}],\"next\":N}, sorted by name; `next` "
              "is there if the list continues.",
     .statuses = {200, 304, 409}},
    {"GET",
     DOCUMENT,
     RIGHT_READ,
     route_document_get,
     .parameters = BIT(PATH) | BIT(AT) | BIT(SCOPE),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "A document, or a part of it.",
     .about = "The ETag is the sequence number of the document's last change; "
              "with ?at=, it is a digest of the answer. "
              "Heddle-Seq is that of the space: the answer is of this state. "
              "404 if there is no document, or nothing at the path; its ETag "
              "can be used to create the document if it is still absent.",
     .statuses = {200, 304, 404, 410}},
    {"PUT",
     DOCUMENT,
     RIGHT_WRITE,
     route_document_put,
     .parameters = BIT(PATH) | BIT(SCOPE),
     .headers = HEADER_IF_MATCH | HEADER_IF_NONE_MATCH,
     .request_type = ROUTE_JSON,
     .answer_type = ROUTE_JSON,
     .summary = "Replaces a document, or the part at a path.",
     .about = "A document is an object; its payload is at /value. With "
              "If-Match, only if the document is as it was then; otherwise "
              "412, with the current `seq`. Answers {\"seq\":N}.",
     .statuses = {200, 409, 412, 413, 415, 422, 507}},
    {"PATCH",
     DOCUMENT,
     RIGHT_WRITE,
     route_document_patch,
     .parameters = BIT(PATH) | BIT(SCOPE),
     .headers = HEADER_IF_MATCH | HEADER_IF_NONE_MATCH,
     .request_type = "application/json-patch+json "
                     "application/merge-patch+json " ROUTE_JSON,
     .answer_type = ROUTE_JSON,
     .summary = "Changes parts of a document.",
     .about = "application/json-patch+json: RFC 6902. "
              "application/merge-patch+json: RFC 7396. application/json: a "
              "list of Heddle's own operations, which also include append, "
              "add-unique, remove-by-value, increment and splice, and which "
              "do not conflict with each other. Paths in the body are "
              "relative to ?path=. Answers {\"seq\":N}.",
     .statuses = {200, 409, 412, 413, 415, 422, 507}},
    {"DELETE",
     DOCUMENT,
     RIGHT_WRITE,
     route_document_delete,
     .parameters = BIT(PATH) | BIT(SCOPE),
     .headers = HEADER_IF_MATCH | HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "Deletes a document, or the part at a path.",
     .about = "Answers {\"seq\":N}.",
     .statuses = {200, 404, 409, 412, 422, 507}},
    {"POST",
     SPACE "/pieces/{piece}/streams/{stream}",
     RIGHT_WRITE,
     route_event_send,
     .parameters = BIT(TIMEOUT),
     .headers = HEADER_IDEMPOTENCY_KEY | HEADER_PREFER,
     .request_type = ROUTE_JSON,
     .answer_type = ROUTE_JSON,
     .summary = "Sends an event to a stream of a piece.",
     .about = "The body is the payload; an empty body is null. The event is "
              "stored, and a runtime that runs the piece handles it. 200: "
              "handled; the body is the receipt. 202: not handled yet; "
              "Location says where its outcome can be read. With "
              "Idempotency-Key, requests with the same key of one caller are "
              "one event: the same payload gets the same receipt, another one "
              "409. Prefer: respond-async answers as soon as the event is "
              "stored.",
     .statuses = {200, 202, 404, 409, 410, 413, 415, 422, 507}},
    {"GET",
     SPACE "/pieces",
     RIGHT_READ,
     route_pieces,
     .parameters = BIT(AFTER_NAME) | BIT(LIMIT),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "The pieces of a space.",
     .about = "{\"seq\":N,\"pieces\":[{\"piece\":P,\"pattern\":T,"
              "\"streams\":[...]}],\"next\":P}, sorted by name.",
     .statuses = {200, 304}},
    {"GET",
     SPACE "/pieces/{piece}",
     RIGHT_READ,
     route_piece,
     .parameters = BIT(PATH) | BIT(AT),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "The result of a piece, with its links resolved.",
     .about = "As it is stored: nothing is computed for the answer. A child of "
              "a list is PIECE/LIST/KEY.",
     .statuses = {200, 304, 404, 410, 413}},
    {"GET",
     SPACE "/watch",
     RIGHT_READ,
     route_watch,
     .parameters = BIT(ID) | BIT(PIECES) | BIT(SCOPE),
     .headers = HEADER_LAST_EVENT_ID,
     .answer_type = "text/event-stream",
     .is_stream = true,
     .summary = "Documents and results of pieces as they change.",
     .about = "Server-sent events: `document` with {\"id\":I,\"seq\":N,"
              "\"document\":...} (null: deleted), `piece` with {\"piece\":P,"
              "\"seq\":N,\"value\":...}, `error` before the end of a stream "
              "that the server ends. The id of an event is a sequence number; "
              "with Last-Event-ID the stream continues behind it. A comment "
              "every 15 seconds keeps the connection open.",
     .statuses = {200}},
    {"GET",
     SPACE "/events/{id}",
     RIGHT_READ,
     route_event,
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "What has become of a stored event.",
     .about = "{\"id\":I,\"state\":\"waiting\"|\"done\"|\"failed\"|"
              "\"cancelled\",...}; `receipt` if it is done, `code` and "
              "`message` if it failed.",
     .statuses = {200, 304, 404}},
    {"GET",
     SPACE "/events",
     RIGHT_READ,
     route_events,
     .parameters = BIT(PIECE) | BIT(FAILED) | BIT(LIMIT) | BIT(AFTER_NAME),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "Events that wait, or that have failed.",
     .about = "Waiting events in the order of their sending, page by page; 409 "
              "if the event behind which to continue has been handled. The "
              "last failed ones in the order of their failures.",
     .statuses = {200, 304, 409}},
    {"GET",
     SPACE "/timers",
     RIGHT_READ,
     route_timers,
     .parameters = BIT(PIECE) | BIT(LIMIT) | BIT(AFTER_NAME),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "Timers by their due times.",
     .statuses = {200, 304, 409}},
    {"GET",
     SPACE "/log",
     RIGHT_READ,
     route_log,
     .parameters = BIT(PIECE) | BIT(AFTER_SEQ) | BIT(TO) | BIT(LIMIT),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "The newest commits, with their authors and writes.",
     .about = "In the order of their landing. `next` is the ?to= of the page "
              "before these, if there is one.",
     .statuses = {200, 304}},
    {"GET",
     SPACE "/graph",
     RIGHT_READ,
     route_graph,
     .parameters = BIT(PIECE),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "Pieces with their nodes, or the graph of one piece.",
     .statuses = {200, 304, 404}},
    {"GET",
     SPACE "/why/{node}",
     RIGHT_READ,
     route_why,
     .parameters = BIT(ORIGIN) | BIT(NOT),
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "Why a node ran, or why it does not run.",
     .about = "The node is PIECE/NODE.",
     .statuses = {200, 304, 404}},
    {"GET",
     SPACE,
     RIGHT_READ,
     route_space_about,
     .headers = HEADER_IF_NONE_MATCH,
     .answer_type = ROUTE_JSON,
     .summary = "The state of a space.",
     .about = "{\"space\":S,\"seq\":N,\"horizon\":N}: the last commit, and the "
              "oldest state that ?at= can read.",
     .statuses = {200, 304}},
};

const size_t routes_count = COUNT_OF(routes_table);

/* -- Finding ------------------------------------------------------------- */

static void release_names(struct value names[ROUTE_NAMES])
{
    for (size_t i = 0; i < ROUTE_NAMES; i++) {
        value_unref(names[i]);
        names[i] = VALUE_NONE;
    }
}

static bool takes_method(const struct route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0 &&
            !route->is_stream);
}

static enum err refuse_method(struct route_call *call, const char *pattern)
{
    struct buf allow = {0};
    const enum err err = err_set(&call->detail,
                                 ERR_ARGUMENT,
                                 "this path does not support the method %s",
                                 call->request->method);
    for (size_t i = 0; i < routes_count; i++) {
        const struct route *route = &routes_table[i];
        if (strcmp(route->pattern, pattern) == 0) {
            buf_printf(&allow,
                       "%s%s%s",
                       allow.length > 0 ? ", " : "",
                       route->method,
                       takes_method(route, "HEAD") ? ", HEAD" : "");
        }
    }
    call->http_status = 405;
    answer_call_error(call, err);
    answer_header(call->answer, "allow:", "%s", buf_text(&allow));
    buf_release(&allow);
    return ERR_OK; /* answered */
}

/* The row of the request, in the call; or an answer, and no row. */
static enum err find_route(struct route_call *call)
{
    const char *path = call->request->path != NULL ? call->request->path : "";
    const char *pattern = NULL;
    for (size_t i = 0; i < routes_count; i++) {
        const struct route *route = &routes_table[i];
        if (pattern == NULL) {
            release_names(call->names);
            const enum request_match match =
                request_match(route->pattern, path, call->names);
            if (match == REQUEST_MALFORMED) {
                return err_set(&call->detail,
                               ERR_ARGUMENT,
                               "malformed path: each name is percent-encoded "
                               "UTF-8 of 1 to %u bytes, without zero bytes",
                               (unsigned)ROUTE_NAME_BYTES);
            }
            pattern = match == REQUEST_MATCHES ? route->pattern : NULL;
        }
        if (pattern != NULL && strcmp(pattern, route->pattern) == 0 &&
            takes_method(route, call->request->method)) {
            call->route = route;
            return ERR_OK;
        }
    }
    if (pattern != NULL) {
        return refuse_method(call, pattern);
    }
    return err_set(&call->detail,
                   ERR_NOT_FOUND,
                   "there is nothing at '%.*s': GET /v1/openapi.json describes "
                   "what there is",
                   text_shown(path, strlen(path), 80),
                   path);
}

/* -- Rights -------------------------------------------------------------- */

static bool has_right(const struct route_context *context,
                      enum route_right right)
{
    switch (right) {
    case RIGHT_ANYONE:
    case RIGHT_CALLER:
        return true;
    case RIGHT_OPERATOR:
        return context->is_operator;
    case RIGHT_READ:
        return context->may_read;
    case RIGHT_WRITE:
        return context->may_write;
    case RIGHT_COUNT:
        break;
    }
    return false;
}

static enum err check_right(struct route_call *call)
{
    static const char *const names[RIGHT_COUNT] = {
        [RIGHT_ANYONE] = "no",
        [RIGHT_CALLER] = "no",
        [RIGHT_OPERATOR] = "operator",
        [RIGHT_READ] = "READ",
        [RIGHT_WRITE] = "WRITE",
    };
    const struct route_context *context = call->context;
    const enum route_right right = call->route->right;
    if (has_right(context, right)) {
        return ERR_OK;
    }
    if (value_is_absent(context->principal)) {
        return err_set(&call->detail,
                       ERR_UNAUTHENTICATED,
                       "this needs %s access: send a token with "
                       "'Authorization: Bearer TOKEN'",
                       names[right]);
    }
    return err_set(&call->detail,
                   ERR_ACCESS,
                   "this needs %s access, which the caller does not have",
                   names[right]);
}

struct route_space *call_space(const struct route_call *call)
{
    CHECK(call->context->space != NULL);
    return call->context->space;
}

static bool is_of_space(const struct route *route)
{
    return strncmp(route->pattern, SPACE, strlen(SPACE)) == 0;
}

static enum err check_budget(struct route_call *call)
{
    const struct route_context *context = call->context;
    const struct route_space *space = context->space;
    if (route_budget_spend(context->space, context->principal, context->now)) {
        return ERR_OK;
    }
    call->http_status = 429;
    return err_set(&call->detail,
                   ERR_OVERLOADED,
                   "more than %u requests of one principal in a second",
                   (unsigned)space->requests_per_second);
}

/* -- Dispatch ------------------------------------------------------------ */

static enum err check_body(struct route_call *call)
{
    const struct route *route = call->route;
    const struct net_request *request = call->request;
    if (route->request_type == NULL) {
        return request->body_length == 0 ? ERR_OK
                                         : err_set(&call->detail,
                                                   ERR_ARGUMENT,
                                                   "%s takes no body",
                                                   request->method);
    }
    if (request->content_type == NULL || request->body_length == 0) {
        return ERR_OK; /* the function decides */
    }
    const char *at = route->request_type;
    while (*at != '\0') {
        char type[64];
        const size_t length = strcspn(at, " ");
        CHECK(length < sizeof type);
        memcpy(type, at, length);
        type[length] = '\0';
        if (call_has_type(call, type)) {
            return ERR_OK;
        }
        at += length + (at[length] == ' ');
    }
    call->http_status = 415;
    return err_set(&call->detail,
                   ERR_ARGUMENT,
                   "the content type of the body is not supported here: send "
                   "%s",
                   route->request_type);
}

static enum err dispatch(struct route_call *call)
{
    enum err err = find_route(call);
    if (err != ERR_OK || call->route == NULL) {
        return err;
    }
    err = check_right(call);
    if (err == ERR_OK && is_of_space(call->route) &&
        call->context->space == NULL) {
        err = err_set(&call->detail, ERR_NOT_FOUND, "there is no such space");
    }
    if (err == ERR_OK && is_of_space(call->route)) {
        err = check_budget(call);
    }
    if (err == ERR_OK) {
        err = request_read_query(call);
    }
    if (err == ERR_OK) {
        err = check_body(call);
    }
    return err == ERR_OK ? call->route->handle(call) : err;
}

void routes_handle(const struct route_context *context,
                   const struct net_request *request,
                   struct route_answer *out)
{
    struct route_call call = {
        .context = context,
        .request = request,
        .answer = out,
    };
    *out = (struct route_answer){0};
    if (context->space != NULL) {
        context->space->now = context->now;
    }
    const enum err err = dispatch(&call);
    if (err != ERR_OK) {
        answer_call_error(&call, err);
    }
    if (call.route != NULL && strcmp(call.route->method, "GET") == 0) {
        answer_finish_read(out, request->if_none_match);
    }
    if (!out->is_later) {
        route_count(context->server->metrics, out);
        if (err != ERR_OK && context->server->metrics != NULL) {
            metrics_error(context->server->metrics, call.detail.err);
        }
    }
    release_names(call.names);
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        value_unref(call.texts[i]);
    }
    value_unref(call.extra);
}
