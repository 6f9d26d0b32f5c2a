/* Reading requests: paths, names, queries and headers, strictly. */

#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "server/routes_internal.h"
#include "value/array.h"
#include "value/path.h"
#include "value/utf8.h"

/* -- Characters ---------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool request_decode(const char *at,
                    size_t length,
                    bool is_query,
                    size_t most,
                    struct buf *to)
{
    const size_t begin = to->length;
    for (size_t i = 0; i < length; i++) {
        char c = at[i];
        if (c == '%') {
            const int high = i + 2 < length ? hex_digit(at[i + 1]) : -1;
            const int low = high >= 0 ? hex_digit(at[i + 2]) : -1;
            if (low < 0) {
                return false;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        if (c == '\0' || to->length - begin >= most) {
            return false;
        }
        buf_append_char(to, c);
    }
    return to->length == begin ||
           utf8_is_valid(to->at + begin, to->length - begin);
}

bool request_read_number(const char *at, size_t length, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned digit = (unsigned)(at[i] - '0');
        if (digit > 9 || number > ((uint64_t)INT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *out = number;
    return length > 0;
}

/* A decoded name, new; absent: invalid, or empty. */
static struct value decode_name(const char *at, size_t length)
{
    struct buf name = {0};
    struct value made = VALUE_NONE;
    if (request_decode(at, length, false, ROUTE_NAME_BYTES, &name) &&
        name.length > 0) {
        made = value_string_new(name.at, name.length);
    }
    buf_release(&name);
    return made;
}

/* -- Paths --------------------------------------------------------------- */

/* Where a name that may contain '/' ends: before the last occurrence of what
 * follows it in the pattern. NULL: it does not follow. */
static const char *end_of_name(const char *at,
                               const char *end,
                               const char *rest)
{
    /* The literal up to the next name, or to the end of the pattern. */
    const size_t length = strcspn(rest, "{");
    const bool is_last = rest[length] == '\0';
    const char *found = NULL;
    for (const char *from = at; from + length <= end; from++) {
        if (memcmp(from, rest, length) == 0 &&
            (!is_last || from + length == end)) {
            found = from;
        }
    }
    return found;
}

enum request_match request_match(const char *pattern,
                                 const char *path,
                                 struct value names[ROUTE_NAMES])
{
    const char *end = path + strlen(path);
    enum request_match match = REQUEST_MATCHES;
    size_t count = 0;
    while (*pattern != '\0') {
        if (*pattern != '{') {
            if (path == end || *path != *pattern) {
                return REQUEST_OTHER;
            }
            path++;
            pattern++;
            continue;
        }
        const char *rest = pattern + strcspn(pattern, "}") + 1;
        const bool is_segment = strncmp(pattern, "{space}", 7) == 0 ||
                                strncmp(pattern, "{stream}", 8) == 0;
        const char *stop = is_segment ? path + strcspn(path, "/")
                                      : end_of_name(path, end, rest);
        if (stop == NULL || stop == path) {
            return REQUEST_OTHER;
        }
        names[count] = decode_name(path, (size_t)(stop - path));
        if (value_is_absent(names[count++])) {
            match = REQUEST_MALFORMED;
        }
        path = stop;
        pattern = rest;
    }
    return path == end ? match : REQUEST_OTHER;
}

enum route_target routes_space(const struct net_request *request,
                               struct buf *name)
{
    static const char front[] = "/v1/spaces/";
    const char *path = request->path != NULL ? request->path : "";
    if (strncmp(path, front, sizeof front - 1) != 0) {
        return ROUTE_TO_SERVER;
    }
    path += sizeof front - 1;
    const size_t begin = name->length;
    if (!request_decode(path,
                        strcspn(path, "/"),
                        false,
                        ROUTE_NAME_BYTES,
                        name) ||
        name->length == begin) {
        if (name->at != NULL) {
            name->length = begin;
            name->at[begin] = '\0';
        }
        return ROUTE_TO_SERVER;
    }
    return ROUTE_TO_SPACE;
}

/* -- Queries ------------------------------------------------------------- */

static enum err refuse_name(struct route_call *call, struct text name)
{
    struct nearest nearest;
    nearest_begin(&nearest, name.at, name.length);
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        if ((call->route->parameters >> i & 1U) != 0) {
            nearest_offer_text(&nearest, route_parameters[i].name);
        }
    }
    return err_set(&call->detail,
                   ERR_ARGUMENT,
                   "unknown query parameter '%.*s'%s",
                   text_shown(name.at, name.length, 40),
                   name.at,
                   nearest_hint(&nearest));
}

static enum err refuse_value(struct route_call *call,
                             const struct parameter_row *row,
                             const char *why)
{
    return err_set(&call->detail,
                   ERR_ARGUMENT,
                   "query parameter '%s': %s",
                   row->name,
                   why);
}

static enum err take_number(struct route_call *call,
                            enum route_parameter parameter,
                            struct text text)
{
    const struct parameter_row *row = &route_parameters[parameter];
    uint64_t number;
    if (!request_read_number(text.at, text.length, &number)) {
        return refuse_value(call, row, "expected a whole number");
    }
    if (row->most > 0 && number > row->most) {
        return err_set(&call->detail,
                       ERR_ARGUMENT,
                       "query parameter '%s': %llu is above the limit %llu",
                       row->name,
                       (unsigned long long)number,
                       (unsigned long long)row->most);
    }
    call->numbers[parameter] = number;
    return ERR_OK;
}

static enum err take_value(struct route_call *call,
                           enum route_parameter parameter,
                           struct text text)
{
    const struct parameter_row *row = &route_parameters[parameter];
    struct value *to = &call->texts[parameter];
    const struct value made = value_string_new(text.at, text.length);
    if (row->type == PARAMETER_LIST) {
        if (value_is_absent(*to)) {
            *to = value_empty_array();
        }
        if (array_count(*to) >= ROUTE_LIST_MAX) {
            value_unref(made);
            return refuse_value(call, row, "it is repeated too often");
        }
        *to = array_push_adopt(*to, made);
    } else {
        *to = made;
    }
    switch (row->type) {
    case PARAMETER_NUMBER:
        return take_number(call, parameter, text);
    case PARAMETER_FLAG:
        call->numbers[parameter] = value_is_text(made, "true");
        return value_is_text(made, "true") || value_is_text(made, "false")
                   ? ERR_OK
                   : refuse_value(call, row, "expected true or false");
    case PARAMETER_TEXT:
    case PARAMETER_LIST:
        return text.length > 0
                   ? ERR_OK
                   : refuse_value(call, row, "it must not be empty");
    case PARAMETER_POINTER:
        return ERR_OK;
    }
    return ERR_OK;
}

static enum err take_parameter(struct route_call *call,
                               struct text name,
                               struct text value)
{
    for (unsigned i = 0; i < PARAMETER_COUNT; i++) {
        const struct parameter_row *row = &route_parameters[i];
        if ((call->route->parameters >> i & 1U) == 0 ||
            strlen(row->name) != name.length ||
            memcmp(row->name, name.at, name.length) != 0) {
            continue;
        }
        if (row->type != PARAMETER_LIST && (call->given >> i & 1U) != 0) {
            return refuse_value(call, row, "it is given twice");
        }
        call->given |= 1U << i;
        return take_value(call, (enum route_parameter)i, value);
    }
    return refuse_name(call, name);
}

/* "name=value", encoded. */
static enum err read_pair(struct route_call *call, struct text pair)
{
    const char *sign = memchr(pair.at, '=', pair.length);
    const size_t split = sign != NULL ? (size_t)(sign - pair.at) : pair.length;
    const size_t rest = sign != NULL ? pair.length - split - 1 : 0;
    struct buf name = {0};
    struct buf value = {0};
    enum err err = ERR_OK;
    if (request_decode(pair.at, split, true, ROUTE_NAME_BYTES, &name) &&
        request_decode(pair.at + pair.length - rest,
                       rest,
                       true,
                       ROUTE_TEXT_BYTES,
                       &value)) {
        err = take_parameter(call,
                             (struct text){buf_text(&name), name.length},
                             (struct text){buf_text(&value), value.length});
    } else {
        err = err_set(&call->detail,
                      ERR_ARGUMENT,
                      "malformed query: percent-encoding of UTF-8 expected at "
                      "'%.*s'",
                      text_shown(pair.at, pair.length, 40),
                      pair.at);
    }
    buf_release(&value);
    buf_release(&name);
    return err;
}

static enum err check_required(struct route_call *call)
{
    for (unsigned i = 0; i < PARAMETER_COUNT; i++) {
        if ((call->route->required & ~call->given) >> i & 1U) {
            return refuse_value(call, &route_parameters[i], "it is missing");
        }
    }
    return ERR_OK;
}

enum err request_read_query(struct route_call *call)
{
    const char *at = call->request->query;
    enum err err = ERR_OK;
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        call->numbers[i] = route_parameters[i].initial;
    }
    while (err == ERR_OK && at != NULL && *at != '\0') {
        const size_t length = strcspn(at, "&");
        err = length > 0 ? read_pair(call, (struct text){at, length}) : ERR_OK;
        at += length + (at[length] == '&');
    }
    return err == ERR_OK ? check_required(call) : err;
}

/* -- Headers and bodies -------------------------------------------------- */

static bool same_letters(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char low = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] + 32) : a[i];
        if (low != b[i]) {
            return false;
        }
    }
    return true;
}

/* The first item of a list, without blanks around it and what follows a ';'. */
static struct text first_item(const char *list)
{
    list += strspn(list, " \t");
    size_t length = strcspn(list, ",;");
    while (length > 0 &&
           (list[length - 1] == ' ' || list[length - 1] == '\t')) {
        length--;
    }
    return (struct text){list, length};
}

bool request_list_has(const char *list, const char *item)
{
    const size_t length = strlen(item);
    while (list != NULL && *list != '\0') {
        const struct text next = first_item(list);
        if (next.length == length && same_letters(next.at, item, length)) {
            return true;
        }
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return false;
}

bool request_tags_have(const char *list, const char *tag, bool is_weak)
{
    const size_t length = strlen(tag);
    while (list != NULL && *list != '\0') {
        struct text next = first_item(list);
        if (is_weak && next.length > 2 && memcmp(next.at, "W/", 2) == 0) {
            next.at += 2;
            next.length -= 2;
        }
        if (next.length == length + 2 && next.at[0] == '"' &&
            next.at[length + 1] == '"') {
            next.at++;
            next.length = length;
        }
        if (next.length == length && memcmp(next.at, tag, length) == 0) {
            return true;
        }
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return false;
}

bool call_has_type(const struct route_call *call, const char *type)
{
    if (call->request->content_type == NULL) {
        return false;
    }
    const struct text given = first_item(call->request->content_type);
    return given.length == strlen(type) &&
           same_letters(given.at, type, given.length);
}

enum err call_read_body(struct route_call *call, struct value *out)
{
    const struct net_request *request = call->request;
    const char *body = request->body != NULL ? request->body : "";
    struct json_fault fault;
    *out = VALUE_NONE;
    if (request->body_length == 0) {
        return ERR_OK;
    }
    if (json_read(body, request->body_length, NULL, out, &fault) == ERR_OK) {
        return ERR_OK;
    }
    return err_set(&call->detail,
                   fault.err,
                   "the body is not valid JSON: %s",
                   fault.text);
}

enum err call_read_path(struct route_call *call,
                        struct path_table *paths,
                        struct path **out)
{
    const struct value pointer = call->texts[PARAMETER_PATH];
    const struct text text = call_has(call, PARAMETER_PATH)
                                 ? value_text(&pointer)
                                 : (struct text){"", 0};
    return path_read(paths, text.at, text.length, out, &call->detail);
}
