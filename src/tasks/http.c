/* "http": a request with JSON or text, and its answer, on libcurl.
 *
 * Redirects are followed here and not by libcurl, because the host of each has
 * to be allowed. A request is in the list until its call has ended or was
 * cancelled. */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "tasks/libcurl.h"
#include "tasks/loop.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    CONNECT_MS = 10000,
    HEADER_BYTES_MAX = 16 * 1024, /* of those that are kept */
    SHOWN_BYTES = 4096,           /* of the body of a failure */
    PAUSE_MAX_MS = 3600 * 1000,   /* that the other side may ask for */
    STATUS_REDIRECT = 300,
    STATUS_FAILURE = 400,
};

struct request {
    struct list_node node;
    struct http_tasks *http;
    struct task_call *call;
    CURL *easy;
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    struct buf method;
    struct buf url; /* of the last redirect */
    struct buf body;
    bool has_body;
    bool has_key; /* the other side knows the key, so it can be repeated */
    struct buf answer;
    struct value answer_headers; /* an object */
    size_t header_bytes;
    bool is_too_large;
    int64_t timeout;
    int64_t max_bytes;
    int64_t redirects; /* that are left */
};

/* -- Life ---------------------------------------------------------------- */

static void request_free(struct request *request)
{
    if (request->easy != NULL) {
        (void)libcurl.curl_multi_remove_handle(request->http->multi,
                                               request->easy);
        libcurl.curl_easy_cleanup(request->easy);
    }
    libcurl.curl_slist_free_all(request->headers);
    list_remove(&request->node);
    value_unref(request->answer_headers);
    buf_release(&request->method);
    buf_release(&request->url);
    buf_release(&request->body);
    buf_release(&request->answer);
    mem_free(request, sizeof *request);
}

/* The request is gone; the failure is told. */
__attribute__((format(printf, 3, 4))) static void fail(
    struct request *request,
    struct task_failure failure,
    const char *format,
    ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct task_call *call = request->call;
    request_free(request);
    task_call_fail(call, failure, "%s", text);
}

static const char *method_of(const struct request *request)
{
    return buf_text(&request->method);
}

/* Whether doing it twice is as doing it once. */
static bool is_repeatable(const struct request *request)
{
    static const char *const methods[] = {"GET",
                                          "HEAD",
                                          "PUT",
                                          "DELETE",
                                          "OPTIONS"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (strcmp(method_of(request), methods[i]) == 0) {
            return true;
        }
    }
    return request->has_key;
}

/* -- What is allowed ----------------------------------------------------- */

static bool is_equal(const char *a, size_t length, const char *b)
{
    return strlen(b) == length && strncasecmp(a, b, length) == 0;
}

/* "host" stands for each port of it. */
static bool is_allowed(const char *list, const char *host, const char *port)
{
    struct buf both = {0};
    buf_printf(&both, "%s:%s", host, port);
    bool allowed = false;
    while (list != NULL && *list != '\0' && !allowed) {
        const size_t part = strcspn(list, ",");
        allowed =
            is_equal(list, part, host) || is_equal(list, part, buf_text(&both));
        list += part + (list[part] == ',');
    }
    buf_release(&both);
    return allowed;
}

/* The parts of the URL that decide; each is "" if there is none. */
struct remote {
    struct buf scheme;
    struct buf host;
    struct buf port;
    struct buf named_port; /* with a colon; "": the URL has none */
};

static void remote_release(struct remote *target)
{
    buf_release(&target->scheme);
    buf_release(&target->host);
    buf_release(&target->port);
    buf_release(&target->named_port);
}

static void take_part(CURLU *url,
                      CURLUPart part,
                      unsigned flags,
                      struct buf *to)
{
    char *text = NULL;
    if (libcurl.curl_url_get(url, part, &text, flags) == CURLUE_OK) {
        buf_append_text(to, text);
        libcurl.curl_free(text);
    }
}

static void take_named_port(CURLU *url, struct buf *to)
{
    struct buf port = {0};
    take_part(url, CURLUPART_PORT, 0, &port);
    if (port.length > 0) {
        buf_printf(to, ":%s", buf_text(&port));
    }
    buf_release(&port);
}

static bool remote_read(struct remote *target, const char *text)
{
    CURLU *url = libcurl.curl_url();
    const bool right =
        url != NULL &&
        libcurl.curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK;
    if (right) {
        take_part(url, CURLUPART_SCHEME, 0, &target->scheme);
        take_part(url, CURLUPART_HOST, 0, &target->host);
        take_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, &target->port);
        take_named_port(url, &target->named_port);
    }
    libcurl.curl_url_cleanup(url);
    return right && (strcmp(buf_text(&target->scheme), "http") == 0 ||
                     strcmp(buf_text(&target->scheme), "https") == 0);
}

/* Whether requests may go there; false: the request has failed. */
static bool check_remote(struct request *request,
                         const struct remote *target,
                         const char *what)
{
    const char *host = buf_text(&target->host);
    if (is_allowed(request->http->allowed, host, buf_text(&target->port))) {
        return true;
    }
    const char *port = buf_text(&target->named_port);
    fail(request,
         (struct task_failure){.code = "DENIED"},
         "%s %.180s%s is not allowed: run with "
         "--allow-net %.180s%s" DENIED_STAYS,
         what,
         host,
         port,
         host,
         port);
    return false;
}

/* -- What comes back ----------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct request *request = ctx;
    if (request->answer.length + size * count > (size_t)request->max_bytes) {
        request->is_too_large = true;
        return 0;
    }
    buf_append(&request->answer, bytes, size * count);
    return size * count;
}

/* "Name: value"; names are kept in small letters, and the last of a name. */
static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
    struct request *request = ctx;
    const size_t length = size * count;
    const char *colon = memchr(bytes, ':', length);
    request->header_bytes += length;
    if (colon == NULL || request->header_bytes > HEADER_BYTES_MAX) {
        return length;
    }
    struct buf name = {0};
    for (const char *at = bytes; at < colon; at++) {
        buf_append_char(&name, (char)tolower((unsigned char)*at));
    }
    const char *from = colon + 1;
    const char *to = bytes + length;
    while (from < to && isspace((unsigned char)*from) != 0) {
        from++;
    }
    while (to > from && isspace((unsigned char)to[-1]) != 0) {
        to--;
    }
    if (utf8_is_valid(buf_text(&name), name.length) &&
        utf8_is_valid(from, (size_t)(to - from))) {
        object_put_adopt(&request->answer_headers,
                         buf_text(&name),
                         value_string_new(from, (size_t)(to - from)));
    }
    buf_release(&name);
    return length;
}

static void header_text(const struct request *request,
                        const char *name,
                        struct buf *to)
{
    const struct value value = object_field(request->answer_headers, name);
    if (value_is_string(value)) {
        buf_append(to, value_text(&value).at, value_text(&value).length);
    }
}

/* What the other side asks for, in ms: seconds or a date; or 0. */
static mono_ms retry_after(const struct request *request, bool *is_given)
{
    struct buf text = {0};
    header_text(request, "retry-after", &text);
    *is_given = text.length > 0;
    int64_t seconds = 0;
    char *end = NULL;
    if (*is_given) {
        seconds = strtoll(text.at, &end, 10);
        if (*end != '\0') {
            struct buf date = {0};
            header_text(request, "date", &date);
            const time_t until = libcurl.curl_getdate(buf_text(&text), NULL);
            const time_t from = libcurl.curl_getdate(buf_text(&date), NULL);
            seconds = until > 0 && from > 0 ? until - from : 0;
            buf_release(&date);
        }
    }
    buf_release(&text);
    seconds = seconds < 0 ? 0 : seconds;
    return seconds > PAUSE_MAX_MS / 1000 ? PAUSE_MAX_MS
                                         : (mono_ms)seconds * 1000;
}

static bool is_json(const struct request *request)
{
    struct buf type = {0};
    header_text(request, "content-type", &type);
    const size_t length = strcspn(buf_text(&type), "; ");
    const char *at = buf_text(&type);
    const bool json =
        (length == 16 && strncasecmp(at, "application/json", length) == 0) ||
        (length > 5 && strncasecmp(at + length - 5, "+json", 5) == 0);
    buf_release(&type);
    return json;
}

/* The body as a value: JSON, text, or null if it is empty; absent: it is none
 * of these. */
static struct value body_of(const struct request *request, struct buf *why)
{
    const struct buf *answer = &request->answer;
    if (answer->length == 0) {
        return value_null();
    }
    if (is_json(request)) {
        return loop_read_json(answer, why);
    }
    if (!utf8_is_valid(answer->at, answer->length)) {
        buf_append_text(why, "it is neither JSON nor UTF-8 text");
        return VALUE_NONE;
    }
    return value_string_new(answer->at, answer->length);
}

static bool is_temporary(long status)
{
    return status == 408 || status == 425 || status == 429 || status == 500 ||
           status == 502 || status == 503 || status == 504;
}

/* An answer that says that it did not work. */
static void fail_status(struct request *request, long status)
{
    bool is_given = false;
    const mono_ms pause = retry_after(request, &is_given);
    const bool not_done = (status == 429 || status == 503) && is_given;
    struct value more = value_empty_object();
    struct buf why = {0};
    object_put_adopt(&more, "status", value_int(status));
    if (request->answer.length <= SHOWN_BYTES) {
        const struct value body = body_of(request, &why);
        if (!value_is_absent(body)) {
            object_put_adopt(&more, "body", body);
        }
    }
    buf_release(&why);
    fail(request,
         (struct task_failure){
             .code = "STATUS",
             .may_retry =
                 not_done || (is_temporary(status) && is_repeatable(request)),
             .at_least = pause,
             .more = more,
         },
         "%s %.300s answered %ld",
         method_of(request),
         buf_text(&request->url),
         status);
}

static void finish(struct request *request, long status)
{
    struct buf why = {0};
    const struct value body = body_of(request, &why);
    if (value_is_absent(body)) {
        fail(request,
             (struct task_failure){.code = "SYNTAX"},
             "the body of the answer cannot be used: %s",
             buf_text(&why));
        buf_release(&why);
        return;
    }
    buf_release(&why);
    struct value value = value_empty_object();
    object_put_adopt(&value, "status", value_int(status));
    object_put_adopt(&value, "headers", value_ref(request->answer_headers));
    object_put_adopt(&value, "body", body);
    struct task_call *call = request->call;
    request_free(request);
    task_call_finish_adopt(call, value);
}

/* -- Sending ------------------------------------------------------------- */

static void forget_answer(struct request *request)
{
    buf_clear(&request->answer);
    value_unref(request->answer_headers);
    request->answer_headers = value_empty_object();
    request->header_bytes = 0;
}

/* With what the request says now. */
static void send_request(struct request *request)
{
    CURL *easy = request->easy;
    const bool is_head = strcmp(method_of(request), "HEAD") == 0;
    forget_answer(request);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_URL, buf_text(&request->url));
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (request->has_body) {
        (void)libcurl.curl_easy_setopt(easy,
                                       CURLOPT_POSTFIELDSIZE_LARGE,
                                       (curl_off_t)request->body.length);
        (void)libcurl.curl_easy_setopt(easy,
                                       CURLOPT_POSTFIELDS,
                                       buf_text(&request->body));
    }
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_NOBODY, is_head ? 1L : 0L);
    (void)libcurl.curl_easy_setopt(easy,
                                   CURLOPT_CUSTOMREQUEST,
                                   method_of(request));
    (void)libcurl.curl_multi_add_handle(request->http->multi, easy);
}

/* What belongs to the first host is not for another one. */
static void drop_secrets(struct request *request)
{
    static const char *const secret[] = {"authorization:",
                                         "cookie:",
                                         "idempotency-key:"};
    struct curl_slist *kept = NULL;
    for (const struct curl_slist *at = request->headers; at != NULL;
         at = at->next) {
        bool keep = true;
        for (size_t i = 0; i < COUNT_OF(secret); i++) {
            keep = keep &&
                   strncasecmp(at->data, secret[i], strlen(secret[i])) != 0;
        }
        if (keep) {
            kept = libcurl.curl_slist_append(kept, at->data);
        }
    }
    libcurl.curl_slist_free_all(request->headers);
    request->headers = kept;
}

/* As browsers do it: after 303, and after 301 and 302 to a POST, it is a GET.
 */
static void change_method(struct request *request, long status)
{
    const bool is_post = strcmp(method_of(request), "POST") == 0;
    const bool is_head = strcmp(method_of(request), "HEAD") == 0;
    if ((status == 303 && !is_head) ||
        ((status == 301 || status == 302) && is_post)) {
        buf_clear(&request->method);
        buf_append_text(&request->method, "GET");
        request->has_body = false;
    }
}

static bool is_same_host(const struct remote *a, const struct remote *b)
{
    return strcasecmp(buf_text(&a->host), buf_text(&b->host)) == 0 &&
           strcmp(buf_text(&a->port), buf_text(&b->port)) == 0 &&
           strcmp(buf_text(&a->scheme), buf_text(&b->scheme)) == 0;
}

static void redirect(struct request *request, const char *location, long status)
{
    struct remote from = {0};
    struct remote to = {0};
    (void)remote_read(&from, buf_text(&request->url));
    const bool right = remote_read(&to, location);
    const bool is_weaker = strcmp(buf_text(&from.scheme), "https") == 0 &&
                           strcmp(buf_text(&to.scheme), "https") != 0;
    if (request->redirects-- == 0) {
        fail(request,
             (struct task_failure){.code = "REDIRECT"},
             "too many redirects, the last one to %.300s",
             location);
    } else if (!right || is_weaker) {
        fail(request,
             (struct task_failure){.code = "REDIRECT"},
             "the redirect to %.300s is refused: %s",
             location,
             right ? "it leads from https to http" : "it is not an http URL");
    } else if (check_remote(request, &to, "the redirect to")) {
        if (!is_same_host(&from, &to)) {
            drop_secrets(request);
        }
        change_method(request, status);
        buf_clear(&request->url);
        buf_append_text(&request->url, location);
        send_request(request);
    }
    remote_release(&from);
    remote_release(&to);
}

/* -- The end of a transfer ----------------------------------------------- */

static void end_answered(struct request *request)
{
    long status = 0;
    char *location = NULL;
    (void)libcurl.curl_easy_getinfo(request->easy,
                                    CURLINFO_RESPONSE_CODE,
                                    &status);
    (void)libcurl.curl_easy_getinfo(request->easy,
                                    CURLINFO_REDIRECT_URL,
                                    &location);
    if (status >= STATUS_REDIRECT && status < STATUS_FAILURE &&
        location != NULL) {
        struct buf copy = {0};
        buf_append_text(&copy, location);
        redirect(request, buf_text(&copy), status);
        buf_release(&copy);
    } else if (status >= STATUS_REDIRECT) {
        fail_status(request, status);
    } else {
        finish(request, status);
    }
}

/* What libcurl says, as one of few codes; and whether it was sent at all. */
static const char *code_of(CURLcode result, bool *was_sent)
{
    *was_sent = true;
    switch ((int)result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        *was_sent = false;
        return "CONNECT";
    case CURLE_OPERATION_TIMEDOUT:
        return "TIMEOUT";
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return "CUT";
    default:
        return NULL;
    }
}

static void end_failed(struct request *request, CURLcode result)
{
    bool was_sent = true;
    const char *code = code_of(result, &was_sent);
    const bool is_size =
        request->is_too_large || result == CURLE_FILESIZE_EXCEEDED;
    struct buf text = {0};
    if (is_size) {
        buf_printf(&text,
                   "the answer has more than %lld bytes",
                   (long long)request->max_bytes);
    } else {
        buf_append_text(&text,
                        request->error[0] != '\0'
                            ? request->error
                            : libcurl.curl_easy_strerror(result));
    }
    fail(request,
         (struct task_failure){
             .code = is_size        ? "TOO_LARGE"
                     : code != NULL ? code
                                    : "PROTOCOL",
             .may_retry = !is_size && code != NULL &&
                          (!was_sent || is_repeatable(request)),
         },
         "%s %.200s: %.200s",
         method_of(request),
         buf_text(&request->url),
         buf_text(&text));
    buf_release(&text);
}

/* One at a time: the end of one may begin another. */
static void take_ended(struct http_tasks *http)
{
    int left = 0;
    for (CURLMsg *message = libcurl.curl_multi_info_read(http->multi, &left);
         message != NULL;
         message = libcurl.curl_multi_info_read(http->multi, &left)) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        const CURLcode result = message->data.result;
        char *kept = NULL;
        (void)libcurl.curl_easy_getinfo(message->easy_handle,
                                        CURLINFO_PRIVATE,
                                        &kept);
        struct request *request = (void *)kept;
        (void)libcurl.curl_multi_remove_handle(http->multi, request->easy);
        if (result == CURLE_OK) {
            end_answered(request);
        } else {
            end_failed(request, result);
        }
    }
}

/* -- The sockets --------------------------------------------------------- */

static int on_socket(CURL *easy,
                     curl_socket_t socket,
                     int what,
                     void *ctx,
                     void *known)
{
    (void)easy;
    const struct http_tasks *http = ctx;
    struct epoll_event event = {.data = {.fd = socket}};
    event.events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0) |
                   ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0);
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(http->sockets.fd, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    (void)epoll_ctl(http->sockets.fd,
                    known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
                    socket,
                    &event);
    (void)libcurl.curl_multi_assign(http->multi, socket, http->multi);
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *ctx)
{
    (void)multi;
    struct http_tasks *http = ctx;
    if (ms < 0) {
        loop_stop_timer(&http->timer);
    } else {
        loop_set_timer(http->loop, &http->timer, (mono_ms)ms);
    }
    return 0;
}

static void on_sockets(struct loop_watch *watch)
{
    struct http_tasks *http = CONTAINER_OF(watch, struct http_tasks, sockets);
    struct epoll_event event;
    int running = 0;
    while (epoll_wait(watch->fd, &event, 1, 0) == 1) {
        const int mask =
            ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
            ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
            ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR
                                                         : 0);
        (void)libcurl.curl_multi_socket_action(http->multi,
                                               event.data.fd,
                                               mask,
                                               &running);
        take_ended(http);
    }
}

static void on_time(struct loop_timer *timer)
{
    struct http_tasks *http = CONTAINER_OF(timer, struct http_tasks, timer);
    int running = 0;
    (void)libcurl.curl_multi_socket_action(http->multi,
                                           CURL_SOCKET_TIMEOUT,
                                           0,
                                           &running);
    take_ended(http);
}

/* With the first request. */
static bool open_multi(struct http_tasks *http)
{
    if (http->multi != NULL) {
        return true;
    }
    http->sockets.fd = epoll_create1(EPOLL_CLOEXEC);
    if (libcurl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        !loop_watch(http->loop, &http->sockets, false)) {
        loop_close(http->loop, &http->sockets);
        return false;
    }
    http->multi = libcurl.curl_multi_init();
    (void)libcurl.curl_multi_setopt(http->multi,
                                    CURLMOPT_SOCKETFUNCTION,
                                    on_socket);
    (void)libcurl.curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    (void)libcurl.curl_multi_setopt(http->multi,
                                    CURLMOPT_TIMERFUNCTION,
                                    on_timer);
    (void)libcurl.curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    return true;
}

/* -- The request --------------------------------------------------------- */

static bool refuse(struct request *request, const char *text)
{
    fail(request, (struct task_failure){.code = "ARGUMENT"}, "%s", text);
    return false;
}

/* A text that can be a part of a request line or of a header. */
static bool is_plain(struct value value)
{
    if (!value_is_string(value)) {
        return false;
    }
    const struct text text = value_text(&value);
    for (size_t i = 0; i < text.length; i++) {
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static void add_header(struct request *request,
                       struct value name,
                       struct value value)
{
    struct buf line = {0};
    const struct text key = value_text(&name);
    const struct text text = value_text(&value);
    buf_append(&line, key.at, key.length);
    buf_append_text(&line, text.length > 0 ? ": " : ";");
    buf_append(&line, text.at, text.length);
    request->headers =
        libcurl.curl_slist_append(request->headers, buf_text(&line));
    buf_release(&line);
}

static bool has_header(const struct request *request, const char *name)
{
    const size_t length = strlen(name);
    for (const struct curl_slist *at = request->headers; at != NULL;
         at = at->next) {
        if (strncasecmp(at->data, name, length) == 0 &&
            (at->data[length] == ':' || at->data[length] == ';')) {
            return true;
        }
    }
    return false;
}

static bool read_headers(struct request *request)
{
    const struct value headers = task_call_field(request->call, "headers");
    if (value_is_absent(headers)) {
        return true;
    }
    if (!value_is_object(headers)) {
        return refuse(request, "headers must be a table of names and strings");
    }
    struct object_iter at = object_iter(headers);
    struct value name;
    struct value value;
    while (object_next(&at, &name, &value)) {
        if (!is_plain(name) || !is_plain(value) ||
            memchr(value_text(&name).at, ':', value_text(&name).length) !=
                NULL) {
            return refuse(request,
                          "headers must be names and strings without line "
                          "breaks");
        }
        add_header(request, name, value);
    }
    return true;
}

static void append_header(struct request *request, const char *line)
{
    request->headers = libcurl.curl_slist_append(request->headers, line);
}

/* json = any value, or body = a text. */
static bool read_body(struct request *request)
{
    const struct value json = task_call_field(request->call, "json");
    const struct value body = task_call_field(request->call, "body");
    request->has_body = !value_is_absent(json) || !value_is_absent(body);
    if (!value_is_absent(json) && !value_is_absent(body)) {
        return refuse(request, "a request can have json or body, not both");
    }
    if (!value_is_absent(body) && !value_is_string(body)) {
        return refuse(request, "body must be a string; json takes any value");
    }
    if (value_is_string(body)) {
        const struct text text = value_text(&body);
        buf_append(&request->body, text.at, text.length);
    } else if (!value_is_absent(json)) {
        json_write(&request->body, json, JSON_AS_GIVEN, 0);
    }
    if (request->has_body && !has_header(request, "content-type")) {
        append_header(request,
                      value_is_absent(json)
                          ? "Content-Type: text/plain; charset=utf-8"
                          : "Content-Type: application/json");
    }
    return true;
}

static bool read_method(struct request *request)
{
    const struct value method = task_call_field(request->call, "method");
    if (value_is_absent(method)) {
        buf_append_text(&request->method, request->has_body ? "POST" : "GET");
        return true;
    }
    const struct text text =
        value_is_string(method) ? value_text(&method) : (struct text){0};
    bool right = text.length > 0 && text.length <= 16;
    for (size_t i = 0; right && i < text.length; i++) {
        right = text.at[i] >= 'A' && text.at[i] <= 'Z';
    }
    if (!right) {
        return refuse(request, "method must be a word like \"GET\"");
    }
    buf_append(&request->method, text.at, text.length);
    return true;
}

/* The header Idempotency-Key, wherever a repetition could do harm. */
static bool read_key(struct request *request)
{
    const struct value wanted =
        task_call_field(request->call, "idempotency_key");
    const enum value_kind kind = value_kind(wanted);
    if (kind != VALUE_BOOL && !value_is_absent(wanted)) {
        return refuse(request, "idempotency_key must be true or false");
    }
    const bool is_asked = kind == VALUE_BOOL && value_boolean(wanted);
    const bool is_safe = strcmp(method_of(request), "GET") == 0 ||
                         strcmp(method_of(request), "HEAD") == 0;
    request->has_key = is_asked;
    if (!has_header(request, "idempotency-key") &&
        (is_asked || (value_is_absent(wanted) && !is_safe))) {
        struct buf line = {0};
        const struct text key = value_text(&request->call->key);
        buf_append_text(&line, "Idempotency-Key: ");
        buf_append(&line, key.at, key.length);
        append_header(request, buf_text(&line));
        buf_release(&line);
    }
    return true;
}

static bool read_url(struct request *request)
{
    const struct value url = task_call_field(request->call, "url");
    struct remote target = {0};
    if (!is_plain(url)) {
        return refuse(request, "an http task needs url = \"http://...\"");
    }
    buf_append(&request->url, value_text(&url).at, value_text(&url).length);
    bool right = remote_read(&target, buf_text(&request->url));
    if (!right) {
        fail(request,
             (struct task_failure){.code = "ARGUMENT"},
             "%.300s is not an http or https URL",
             value_text(&url).at);
    } else {
        right = check_remote(request, &target, "the host");
    }
    remote_release(&target);
    return right;
}

/* False: the call has ended, and the request is gone. */
static bool read_numbers(struct request *request)
{
    struct task_call *call = request->call;
    if (task_call_number(call, "timeout", 1, INT32_MAX, &request->timeout) &&
        task_call_number(call,
                         "max_bytes",
                         1,
                         HOST_TASKS_BYTES_MAX,
                         &request->max_bytes) &&
        task_call_number(call, "redirects", 0, 100, &request->redirects)) {
        return true;
    }
    request_free(request);
    return false;
}

static void set_options(struct request *request)
{
    CURL *easy = request->easy;
    const long connect =
        request->timeout < CONNECT_MS ? (long)request->timeout : CONNECT_MS;
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)request);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)libcurl.curl_easy_setopt(easy,
                                   CURLOPT_TIMEOUT_MS,
                                   (long)request->timeout);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect);
    (void)libcurl.curl_easy_setopt(easy,
                                   CURLOPT_MAXFILESIZE_LARGE,
                                   (curl_off_t)request->max_bytes);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error);
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    (void)libcurl.curl_easy_setopt(easy, CURLOPT_USERAGENT, "heddle");
}

static void start(void *ctx, struct task_call *call)
{
    struct http_tasks *http = ctx;
    if (!libcurl_load()) {
        task_call_fail(call,
                       (struct task_failure){.code = "START"},
                       "requests need libcurl, which is not installed: "
                       "install it (Debian: libcurl4)");
        return;
    }
    struct request *request = mem_alloc_zero(sizeof *request);
    *request = (struct request){
        .http = http,
        .call = call,
        .timeout = HOST_TASKS_HTTP_MS,
        .max_bytes = HOST_TASKS_BYTES,
        .redirects = HOST_TASKS_REDIRECTS,
        .answer_headers = value_empty_object(),
    };
    list_node_init(&request->node);
    list_push_back(&http->requests, &request->node);
    call->user = request;
    if (!read_url(request) || !read_headers(request) || !read_body(request) ||
        !read_method(request) || !read_key(request) || !read_numbers(request)) {
        return;
    }
    request->easy = open_multi(http) ? libcurl.curl_easy_init() : NULL;
    if (request->easy == NULL) {
        fail(request,
             (struct task_failure){.code = "START", .may_retry = true},
             "cannot make requests: the process is out of memory or file "
             "descriptors");
        return;
    }
    set_options(request);
    send_request(request);
}

static void cancel(void *ctx, struct task_call *call)
{
    (void)ctx;
    request_free(call->user);
}

void http_tasks_begin(struct http_tasks *http, struct loop *loop)
{
    http->loop = loop;
    http->sockets = (struct loop_watch){.fd = -1, .ready = on_sockets};
    http->timer = (struct loop_timer){.ran_out = on_time};
    http->kind = (struct task_kind){
        .name = "http",
        .start = start,
        .cancel = cancel,
        .ctx = http,
        .retries = HOST_TASKS_HTTP_RETRIES,
    };
    list_init(&http->requests);
}

void http_tasks_end(struct http_tasks *http)
{
    while (!list_is_empty(&http->requests)) {
        request_free(
            CONTAINER_OF(list_first(&http->requests), struct request, node));
    }
    if (http->multi != NULL) {
        (void)libcurl.curl_multi_cleanup(http->multi);
        libcurl.curl_global_cleanup();
    }
    loop_stop_timer(&http->timer);
    loop_close(http->loop, &http->sockets);
}
