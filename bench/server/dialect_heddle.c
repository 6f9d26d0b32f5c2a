/* Our protocol (src/proto/message.h) on one channel of a connection, written
 * and read by hand: a client needs no values, only a few numbers of each
 * message. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum {
    LINE_SIZE = 1024,
};

/* A part of a message. */
struct span {
    const char *at;
    const char *end;
};

/* -- Scanning JSON that is well-formed and has no white space ------------ */

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        at += *at == '\\' ? 1 : 0;
    }
    return at + 1;
}

static const char *skip_value(const char *at, const char *end)
{
    unsigned depth = 0;
    while (at < end) {
        const char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) {
                return at;
            }
            depth--;
            at++;
        } else if (c == ',' && depth == 0) {
            return at;
        } else {
            at++;
            continue;
        }
        if (depth == 0) {
            return at;
        }
    }
    return end;
}

/* The next field of an object, of which *rest is what follows its "{" or an
 * earlier field. */
static bool next_field(struct span *rest, struct span *key, struct span *value)
{
    const char *at = rest->at;
    if (at < rest->end && *at == ',') {
        at++;
    }
    if (at >= rest->end || *at != '"') {
        return false;
    }
    const char *after = skip_string(at, rest->end);
    *key = (struct span){at + 1, after - 1};
    value->at = after + 1;
    value->end = skip_value(value->at, rest->end);
    rest->at = value->end;
    return true;
}

/* The next element of an array, likewise. */
static bool next_element(struct span *rest, struct span *element)
{
    const char *at = rest->at;
    if (at < rest->end && *at == ',') {
        at++;
    }
    if (at >= rest->end || *at == ']') {
        return false;
    }
    element->at = at;
    element->end = skip_value(at, rest->end);
    rest->at = element->end;
    return true;
}

static struct span inside(struct span value)
{
    return (struct span){value.at + 1, value.end};
}

static bool is(struct span span, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(span.end - span.at) == length &&
           memcmp(span.at, text, length) == 0;
}

static uint64_t number_of(struct span span)
{
    uint64_t number = 0;
    for (const char *at = span.at; at < span.end && *at >= '0' && *at <= '9';
         at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    return number;
}

/* -- Sending ------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void send_line(
    struct client *client,
    const char *format,
    ...)
{
    char text[LINE_SIZE];
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    CHECK(length > 0 && (size_t)length < sizeof text);
    load_send(client, text, (size_t)length);
}

static void begin(struct client *client)
{
    send_line(client,
              "0 {\"kind\":\"hello\",\"version\":1}\n"
              "0 {\"kind\":\"attach\",\"channel\":1,\"space\":\"%s\","
              "\"session\":\"%s\",\"user\":\"user-%u\"}",
              client->space,
              client->session,
              client->index);
}

static void send_open(struct client *client)
{
    send_line(client,
              "1 {\"kind\":\"open\",\"connection\":%llu,\"number\":%llu,"
              "\"session\":\"%s\",\"seenSeq\":%llu%s%s%s}",
              (unsigned long long)client->connection,
              (unsigned long long)++client->number,
              client->session,
              (unsigned long long)client->seen_seq,
              client->token[0] != '\0' ? ",\"token\":\"" : "",
              client->token,
              client->token[0] != '\0' ? "\"" : "");
}

static void watch(struct client *client, const char *id)
{
    send_line(client,
              "1 {\"kind\":\"watch\",\"connection\":%llu,\"number\":%llu,"
              "\"targets\":[{\"id\":\"of:%s\"}]}",
              (unsigned long long)client->connection,
              (unsigned long long)++client->number,
              id);
}

/* One selector: everything that the links of the root lead to. */
static void join(struct client *client, unsigned count)
{
    (void)count;
    send_line(client,
              "1 {\"kind\":\"watch\",\"connection\":%llu,\"number\":%llu,"
              "\"selectors\":[{\"id\":\"all\",\"root\":{\"id\":"
              "\"of:root\"}}]}",
              (unsigned long long)client->connection,
              (unsigned long long)++client->number);
}

/* One commit with `reads`, which may be "", and `operations`. */
static void send_commit(struct client *client,
                        uint64_t local_seq,
                        const char *reads,
                        const char *operations)
{
    struct buf text = {0};
    buf_printf(&text,
               "1 {\"kind\":\"commits\",\"connection\":%llu,\"number\":%llu,"
               "\"commits\":[{\"session\":\"%s\",\"localSeq\":%llu,"
               "\"branch\":\"\",%s\"operations\":[",
               (unsigned long long)client->connection,
               (unsigned long long)++client->number,
               client->session,
               (unsigned long long)local_seq,
               reads);
    buf_append_text(&text, operations);
    buf_append_text(&text, "]}]}");
    load_send(client, text.at, text.length);
    buf_release(&text);
}

static void put(struct client *client,
                const char *id,
                const char *key,
                int64_t value)
{
    char operation[LINE_SIZE];
    (void)snprintf(operation,
                   sizeof operation,
                   "{\"op\":\"patch\",\"id\":\"of:%s\",\"patches\":[{\"op\":"
                   "\"%s\",\"path\":\"/value/%s\",\"value\":%lld}]}",
                   id,
                   client->local_seq == 0 ? "add" : "replace",
                   key,
                   (long long)value);
    send_commit(client, ++client->local_seq, "", operation);
}

static void send_increment(struct client *client,
                           const char *id,
                           const char *key)
{
    char operation[LINE_SIZE];
    (void)snprintf(operation,
                   sizeof operation,
                   "{\"op\":\"patch\",\"id\":\"of:%s\",\"patches\":[{\"op\":"
                   "\"increment\",\"path\":\"/value/%s\",\"by\":1}]}",
                   id,
                   key);
    send_commit(client, client->local_seq, "", operation);
}

static void increment(struct client *client, const char *id, const char *key)
{
    client->local_seq++;
    send_increment(client, id, key);
}

static void swap(struct client *client,
                 const char *id,
                 const char *key,
                 int64_t value)
{
    char reads[LINE_SIZE];
    char operation[LINE_SIZE];
    (void)snprintf(reads,
                   sizeof reads,
                   "\"reads\":{\"confirmed\":[{\"id\":\"of:%s\",\"path\":["
                   "\"value\",\"%s\"],\"seq\":%llu}]},",
                   id,
                   key,
                   (unsigned long long)client->seq);
    (void)snprintf(operation,
                   sizeof operation,
                   "{\"op\":\"patch\",\"id\":\"of:%s\",\"patches\":[{\"op\":"
                   "\"replace\",\"path\":\"/value/%s\",\"value\":%lld}]}",
                   id,
                   key,
                   (long long)value);
    send_commit(client, ++client->local_seq, reads, operation);
}

static void seed(struct client *client, unsigned first, unsigned count)
{
    struct buf operations = {0};
    for (unsigned i = 0; i < count; i++) {
        char document[LINE_SIZE];
        (void)load_document(document, sizeof document, first + i);
        buf_printf(&operations,
                   "%s{\"op\":\"set\",\"id\":\"of:doc%u\",\"value\":"
                   "{\"value\":%s}}",
                   i > 0 ? "," : "",
                   first + i,
                   document);
    }
    send_commit(client, ++client->local_seq, "", buf_text(&operations));
    buf_release(&operations);
}

static void seed_root(struct client *client, unsigned count)
{
    struct buf operation = {0};
    buf_append_text(
        &operation,
        "{\"op\":\"set\",\"id\":\"of:root\",\"value\":{\"value\":[");
    for (unsigned i = 0; i < count; i++) {
        char link[LOAD_LINK_SIZE];
        (void)load_link(link, i);
        buf_printf(&operation, "%s%s", i > 0 ? "," : "", link);
    }
    buf_append_text(&operation, "]}}");
    send_commit(client, ++client->local_seq, "", buf_text(&operation));
    buf_release(&operation);
}

/* -- Receiving ----------------------------------------------------------- */

static void take_verdict(struct client *client, struct span verdict)
{
    struct span rest = inside(verdict);
    struct span key;
    struct span value;
    uint64_t local_seq = 0;
    uint64_t seq = 0;
    struct span error = {NULL, NULL};
    while (next_field(&rest, &key, &value)) {
        if (is(key, "localSeq")) {
            local_seq = number_of(value);
        } else if (is(key, "seq")) {
            seq = number_of(value);
        } else if (is(key, "error")) {
            error = value;
        }
    }
    if (error.at == NULL) {
        load_acked(client, local_seq, seq);
        return;
    }
    if (memmem(error.at,
               (size_t)(error.end - error.at),
               "\"CONFLICT\"",
               strlen("\"CONFLICT\"")) == NULL) {
        load_fail("%.*s", (int)(error.end - error.at), error.at);
    }
    load_refused(client, local_seq);
}

/* The number behind "KEY": in the document. */
static void take_upsert(struct client *client, struct span upsert)
{
    char name[CLIENT_NAME_SIZE];
    client->documents++;
    if (load.key == NULL) {
        return;
    }
    struct span rest = inside(upsert);
    struct span key;
    struct span value;
    uint64_t seq = 0;
    struct span document = {NULL, NULL};
    while (next_field(&rest, &key, &value)) {
        if (is(key, "seq")) {
            seq = number_of(value);
        } else if (is(key, "document")) {
            document = value;
        }
    }
    const int length = snprintf(name, sizeof name, "\"%s\":", load.key);
    const char *found = document.at == NULL
                            ? NULL
                            : memmem(document.at,
                                     (size_t)(document.end - document.at),
                                     name,
                                     (size_t)length);
    if (found != NULL) {
        const struct span number = {found + length, document.end};
        load_changed(client, (int64_t)number_of(number), seq);
    }
}

static void take_sync(struct client *client, struct span message)
{
    struct span rest = inside(message);
    struct span key;
    struct span value;
    uint64_t caught_up = 0;
    bool pull = false;
    while (next_field(&rest, &key, &value)) {
        if (is(key, "toSeq")) {
            client->seen_seq = number_of(value);
        } else if (is(key, "caughtUpLocalSeq")) {
            caught_up = number_of(value);
        } else if (is(key, "pull")) {
            pull = true;
        } else if (is(key, "upserts")) {
            struct span upserts = inside(value);
            struct span upsert;
            while (next_element(&upserts, &upsert)) {
                take_upsert(client, upsert);
            }
        }
    }
    if (caught_up > 0) {
        load_caught_up(client, caught_up);
    }
    if (pull) {
        load_watched(client);
    }
}

static void take_verdicts(struct client *client, struct span message)
{
    struct span rest = inside(message);
    struct span key;
    struct span value;
    while (next_field(&rest, &key, &value)) {
        if (is(key, "verdicts")) {
            struct span verdicts = inside(value);
            struct span verdict;
            while (next_element(&verdicts, &verdict)) {
                take_verdict(client, verdict);
            }
        }
    }
}

/* What the next `open` of the session has to show. */
static void take_opened(struct client *client, struct span message)
{
    struct span rest = inside(message);
    struct span key;
    struct span value;
    while (next_field(&rest, &key, &value)) {
        if (is(key, "token")) {
            (void)snprintf(client->token,
                           sizeof client->token,
                           "%.*s",
                           (int)(value.end - value.at - 2),
                           value.at + 1);
        }
    }
    load_ready(client);
}

static struct span kind_of(struct span message)
{
    struct span rest = inside(message);
    struct span key;
    struct span value = {NULL, NULL};
    while (next_field(&rest, &key, &value)) {
        if (is(key, "kind")) {
            return (struct span){value.at + 1, value.end - 1};
        }
    }
    return (struct span){rest.end, rest.end};
}

static void take_line(struct client *client, struct span line)
{
    const char *blank = memchr(line.at, ' ', (size_t)(line.end - line.at));
    if (blank == NULL) {
        load_fail("not a line: %.*s", (int)(line.end - line.at), line.at);
    }
    const struct span message = {blank + 1, line.end};
    const struct span kind = kind_of(message);
    if (is(kind, "sync")) {
        take_sync(client, message);
    } else if (is(kind, "verdicts")) {
        take_verdicts(client, message);
    } else if (is(kind, "attached")) {
        send_open(client);
    } else if (is(kind, "opened")) {
        take_opened(client, message);
    } else if (!is(kind, "welcome") && !is(kind, "closing")) {
        load_fail("client %u: %.*s",
                  client->index,
                  (int)(line.end - line.at),
                  line.at);
    }
}

static void receive(struct client *client, const char *text, size_t length)
{
    struct span rest = {text, text + length};
    while (rest.at < rest.end) {
        const char *end = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));
        const struct span line = {rest.at, end != NULL ? end : rest.end};
        take_line(client, line);
        rest.at = line.end + 1;
    }
}

const struct dialect dialect_heddle = {
    .name = "heddle",
    .path = "/v1/socket",
    .protocol = "heddle.1",
    .begin = begin,
    .watch = watch,
    .join = join,
    .put = put,
    .increment = increment,
    .swap = swap,
    .seed = seed,
    .seed_root = seed_root,
    .repeat = send_increment,
    .receive = receive,
};
