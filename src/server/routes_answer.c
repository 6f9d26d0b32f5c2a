/* Answers: values and errors as HTTP. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/routes_internal.h"
#include "value/id.h"
#include "value/object.h"
#include "value/utf8.h"

void route_answer_release(struct route_answer *answer)
{
    buf_release(&answer->body);
    *answer = (struct route_answer){0};
}

void answer_header(struct route_answer *answer,
                   const char *name,
                   const char *format,
                   ...)
{
    CHECK(answer->header_count < ROUTE_HEADERS);
    struct route_header *header = &answer->headers[answer->header_count];
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(header->value, sizeof header->value, format, arguments);
    va_end(arguments);
    header->name = name;
    if (length >= 0 && (size_t)length < sizeof header->value) {
        answer->header_count++;
    }
}

void answer_json_adopt(struct route_answer *answer, struct value value)
{
    answer->http_status = 200;
    answer->content_type = ROUTE_JSON;
    json_write(&answer->body, value, JSON_AS_GIVEN, 0);
    buf_append_char(&answer->body, '\n');
    value_unref(value);
}

void answer_etag(struct route_answer *answer, uint64_t seq)
{
    answer_header(answer, "etag:", "\"%llu\"", (unsigned long long)seq);
}

static const char *header_of(const struct route_answer *answer,
                             const char *name)
{
    for (size_t i = 0; i < answer->header_count; i++) {
        if (strcmp(answer->headers[i].name, name) == 0) {
            return answer->headers[i].value;
        }
    }
    return NULL;
}

/* The tag without its quotes. */
static void tag_of(const struct route_answer *answer,
                   char tag[DIGEST_TEXT_LENGTH + 1])
{
    const char *etag = header_of(answer, "etag:");
    if (etag != NULL) {
        const size_t length = strlen(etag) - 2;
        CHECK(length <= DIGEST_TEXT_LENGTH);
        memcpy(tag, etag + 1, length);
        tag[length] = '\0';
    } else {
        digest_write(digest_of_bytes("heddle etag",
                                     answer->body.at,
                                     answer->body.length),
                     tag);
    }
}

void answer_finish_read(struct route_answer *answer, const char *if_none_match)
{
    char tag[DIGEST_TEXT_LENGTH + 1];
    const char *kept = header_of(answer, "cache-control:");
    if (answer->http_status != 200 || answer->is_stream ||
        (kept != NULL && strcmp(kept, "no-store") == 0)) {
        return;
    }
    tag_of(answer, tag);
    if (header_of(answer, "etag:") == NULL) {
        answer_header(answer, "etag:", "\"%s\"", tag);
    }
    if (kept == NULL) {
        answer_header(answer, "cache-control:", "private, no-cache");
    }
    if (request_tags_have(if_none_match, tag, true) ||
        request_list_has(if_none_match, "*")) {
        answer->http_status = 304;
        answer->content_type = NULL;
        buf_clear(&answer->body);
    }
}

void answer_encode(struct buf *to, struct text text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-._~:";
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char byte = (unsigned char)text.at[i];
        if (byte != '\0' && strchr(plain, byte) != NULL) {
            buf_append_char(to, (char)byte);
        } else {
            buf_printf(to, "%%%02X", (unsigned)byte);
        }
    }
}

void answer_location(struct route_answer *answer,
                     const char *space,
                     struct value event)
{
    struct buf place = {0};
    buf_append_text(&place, "/v1/spaces/");
    answer_encode(&place, (struct text){space, strlen(space)});
    buf_append_text(&place, "/events/");
    answer_encode(&place, value_text(&event));
    answer_header(answer, "location:", "%s", buf_text(&place));
    buf_release(&place);
}

/* -- Errors -------------------------------------------------------------- */

static const struct {
    enum err err;
    unsigned status;
} statuses[] = {
    {ERR_ARGUMENT, 400},
    {ERR_SYNTAX, 400},
    {ERR_PROTOCOL, 400},
    {ERR_PATCH_MALFORMED, 400},
    {ERR_UNAUTHENTICATED, 401},
    {ERR_ACCESS, 403},
    {ERR_CLEARANCE, 403},
    {ERR_READ_ONLY, 403},
    {ERR_IMMUTABLE, 403},
    {ERR_NOT_FOUND, 404},
    {ERR_BRANCH_UNKNOWN, 404},
    {ERR_NO_HANDLER, 404},
    {ERR_CONFLICT, 409},
    {ERR_RECEIPT_EXISTS, 409},
    {ERR_IDEMPOTENCY_MISMATCH, 409},
    {ERR_BRANCH_CLOSED, 409},
    {ERR_LISTING_MOVED, 409},
    {ERR_SEQUENCE, 410},
    {ERR_LIMIT_SIZE, 413},
    {ERR_LIMIT_DEPTH, 413},
    {ERR_LIMIT_KEYS, 413},
    {ERR_LIMIT_ELEMENTS, 413},
    {ERR_LIMIT_STRING, 413},
    {ERR_LIMIT_PATH, 413},
    {ERR_LIMIT_PATCH, 413},
    {ERR_LIMIT_ID, 413},
    {ERR_LIMIT_COMMIT, 413},
    {ERR_LIMIT_SCHEMA, 413},
    {ERR_LIMIT_REACH, 413},
    {ERR_TYPE, 422},
    {ERR_RANGE, 422},
    {ERR_SCHEMA, 422},
    {ERR_SCHEMA_MALFORMED, 422},
    {ERR_PATCH_MISSING, 422},
    {ERR_PATCH_TRAVERSAL, 422},
    {ERR_PATCH_INDEX, 422},
    {ERR_PATCH_TARGET, 422},
    {ERR_PATCH_ROOT, 422},
    {ERR_GIVEN_UP, 422},
    {ERR_MISUSE, 422},
    {ERR_LIMIT_HOPS, 422},
    {ERR_NOT_CONVERGED, 422},
    {ERR_NOT_SETTLED, 422},
    {ERR_BACKLOG, 429},
    {ERR_OVERLOADED, 503},
    {ERR_BUSY, 503},
    {ERR_CLOSED, 503},
    {ERR_SESSION_LOST, 503},
    {ERR_UNREACHABLE, 503},
    {ERR_INTERRUPTED, 503},
    {ERR_STALE, 503},
    {ERR_TIMEOUT, 504},
    {ERR_FULL, 507},
};

unsigned route_status(enum err err)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        if (statuses[i].err == err) {
            return statuses[i].status;
        }
    }
    return 500;
}

/* Adds the fields of an object. */
static void put_all(struct value *to, struct value fields)
{
    struct object_iter iter =
        object_iter(value_is_object(fields) ? fields : value_empty_object());
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        *to = object_set_adopt(*to, value_ref(key), value_ref(item));
    }
}

struct value answer_describe(const struct err_detail *why)
{
    struct value body = value_empty_object();
    const char *text = why->text[0] != '\0' ? why->text : err_text(why->err);
    struct buf message = {0};
    /* It may quote a request, which may be any bytes. */
    utf8_escape(&message, text, strlen(text));
    object_put_text(&body, "code", err_name(why->err));
    object_put_text(&body, "class", err_class_name(err_class_of(why->err)));
    object_put_adopt(&body, "message", value_string_adopt(&message));
    return body;
}

void answer_error(struct route_answer *answer,
                  const struct err_detail *why,
                  unsigned status,
                  struct value extra,
                  uint64_t retry_ms)
{
    struct value body = answer_describe(why);
    put_all(&body, extra);
    buf_clear(&answer->body);
    answer->header_count = 0;
    answer->is_stream = false;
    answer->is_later = false;
    answer_json_adopt(answer, body);
    answer->http_status = status != 0 ? status : route_status(why->err);
    if (answer->http_status == 401) {
        answer_header(answer, "www-authenticate:", "Bearer");
    }
    if (retry_ms == 0 &&
        (answer->http_status == 503 || answer->http_status == 429)) {
        retry_ms = ROUTE_RETRY_MS;
    }
    if (retry_ms > 0) {
        answer_header(answer,
                      "retry-after:",
                      "%llu",
                      (unsigned long long)((retry_ms + 999) / 1000));
    }
    answer_header(answer, "cache-control:", "no-store");
}

void route_answer_error(struct route_answer *answer,
                        const struct err_detail *why,
                        uint64_t retry_ms)
{
    answer_error(answer, why, 0, VALUE_NONE, retry_ms);
}

void answer_call_error(struct route_call *call, enum err err)
{
    if (call->detail.err == ERR_OK) {
        call->detail.err = err;
    }
    answer_error(call->answer,
                 &call->detail,
                 call->http_status,
                 call->extra,
                 call->retry_ms);
}
