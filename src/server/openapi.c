/* The OpenAPI description, from the table of routes (routes-2). */

#include <string.h>

#include "server/routes_internal.h"
#include "value/array.h"
#include "value/object.h"

/* {name: item}, new. Adopts the item. */
static struct value single(const char *name, struct value item)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, name, item);
    return object;
}

static struct value reference(const char *to)
{
    return single("$ref", value_text_new(to));
}

static struct value type_of(const char *name)
{
    return single("type", value_text_new(name));
}

/* -- Parameters ---------------------------------------------------------- */

static struct value schema_of(const struct parameter_row *row)
{
    struct value schema = VALUE_NONE;
    switch (row->type) {
    case PARAMETER_TEXT:
    case PARAMETER_POINTER:
        return type_of("string");
    case PARAMETER_FLAG:
        return type_of("boolean");
    case PARAMETER_LIST:
        schema = type_of("array");
        object_put_adopt(&schema, "items", type_of("string"));
        object_put_number(&schema, "maxItems", ROUTE_LIST_MAX);
        return schema;
    case PARAMETER_NUMBER:
        schema = type_of("integer");
        object_put_number(&schema, "minimum", 0);
        if (row->most > 0) {
            object_put_number(&schema, "maximum", row->most);
        }
        if (row->initial > 0 && row->initial < INT64_MAX) {
            object_put_number(&schema, "default", row->initial);
        }
        return schema;
    }
    return type_of("string");
}

static struct value parameter(const char *name,
                              const char *in,
                              bool required,
                              const char *about,
                              struct value schema)
{
    struct value object = value_empty_object();
    object_put_text(&object, "name", name);
    object_put_text(&object, "in", in);
    if (required) {
        object_put_adopt(&object, "required", value_bool(true));
    }
    if (about != NULL) {
        object_put_text(&object, "description", about);
    }
    object_put_adopt(&object, "schema", schema);
    return object;
}

static const struct {
    const char *name;
    const char *about;
} path_names[] = {
    {"space", "The name of the space."},
    {"id", "The id of the document or event."},
    {"piece", "The name of the piece."},
    {"stream", "The name of the stream: of a handler of the piece."},
    {"node", "PIECE/NODE."},
};

static struct value path_parameters(const char *pattern)
{
    struct value list = value_empty_array();
    for (const char *at = strchr(pattern, '{'); at != NULL;
         at = strchr(at + 1, '{')) {
        for (size_t i = 0; i < COUNT_OF(path_names); i++) {
            const size_t length = strlen(path_names[i].name);
            if (strncmp(at + 1, path_names[i].name, length) == 0 &&
                at[1 + length] == '}') {
                list = array_push_adopt(list,
                                        parameter(path_names[i].name,
                                                  "path",
                                                  true,
                                                  path_names[i].about,
                                                  type_of("string")));
            }
        }
    }
    return list;
}

static const struct {
    enum route_request_header bit;
    const char *name;
    const char *about;
} request_headers[] = {
    {HEADER_IF_MATCH,
     "If-Match",
     "The ETag of the state to change: a sequence number. *: the document must "
     "exist."},
    {HEADER_IF_NONE_MATCH,
     "If-None-Match",
     "GET: the ETag of an answer that the client has; 304 if it is still the "
     "current one. Otherwise: the ETag of a state that must not be there; * "
     "if the document must not exist."},
    {HEADER_IDEMPOTENCY_KEY,
     "Idempotency-Key",
     "Makes requests with the same key one event."},
    {HEADER_PREFER, "Prefer", "respond-async: do not wait for the receipt."},
    {HEADER_LAST_EVENT_ID,
     "Last-Event-ID",
     "Continues a stream behind the event with this id."},
};

static struct value parameters_of(const struct route *route)
{
    struct value list = path_parameters(route->pattern);
    for (unsigned i = 0; i < PARAMETER_COUNT; i++) {
        if ((route->parameters >> i & 1U) != 0) {
            const struct parameter_row *row = &route_parameters[i];
            list = array_push_adopt(list,
                                    parameter(row->name,
                                              "query",
                                              (route->required >> i & 1U) != 0,
                                              row->about,
                                              schema_of(row)));
        }
    }
    for (size_t i = 0; i < COUNT_OF(request_headers); i++) {
        if ((route->headers & (uint32_t)request_headers[i].bit) != 0) {
            list = array_push_adopt(list,
                                    parameter(request_headers[i].name,
                                              "header",
                                              false,
                                              request_headers[i].about,
                                              type_of("string")));
        }
    }
    return list;
}

/* -- Bodies and answers -------------------------------------------------- */

/* {"content":{TYPE:{}, ...}} of types that are separated by `blank`. */
static struct value content_of(const char *types, bool is_list)
{
    struct value content = value_empty_object();
    while (*types != '\0') {
        const size_t length = is_list ? strcspn(types, " ") : strlen(types);
        content = object_set_adopt(content,
                                   value_string_new(types, length),
                                   single("schema", value_empty_object()));
        types += length + (types[length] == ' ');
    }
    return content;
}

static struct value error_answer(const char *about)
{
    struct value answer = single("description", value_text_new(about));
    object_put_adopt(
        &answer,
        "content",
        single(ROUTE_JSON,
               single("schema", reference("#/components/schemas/Error"))));
    return answer;
}

static const struct {
    unsigned status;
    const char *about;
} status_texts[] = {
    {200, "OK."},
    {202, "Stored, and not handled yet."},
    {304, "The client has this answer: its ETag is in If-None-Match."},
    {400, "The request is malformed."},
    {401, "No identity was proven."},
    {403, "The caller lacks the right."},
    {404, "It does not exist."},
    {409, "A conflict with what is there, or with an earlier request."},
    {410, "It is gone: compacted history, or a cancelled event."},
    {412, "The document is not in a state that the conditions allow."},
    {413, "A limit is exceeded."},
    {415, "The content type is not supported here."},
    {422,
     "The request is understood and cannot be done; or the handler of the "
     "event failed."},
    {429, "Too many requests; Retry-After says when to come back."},
    {500, "The store has failed."},
    {503, "Not now; Retry-After says when to come back."},
    {507, "The disk is full."},
};

static void put_status(struct value *answers,
                       const struct route *route,
                       unsigned status)
{
    char number[8];
    size_t at = sizeof number - 1;
    const char *about = "";
    for (size_t i = 0; i < COUNT_OF(status_texts); i++) {
        about =
            status_texts[i].status == status ? status_texts[i].about : about;
    }
    number[at] = '\0';
    for (unsigned rest = status; rest > 0; rest /= 10) {
        number[--at] = (char)('0' + rest % 10);
    }
    struct value answer = VALUE_NONE;
    if (status == 304) {
        answer = single("description", value_text_new(about));
    } else if (status < 300) {
        answer = single("description", value_text_new(about));
        object_put_adopt(&answer,
                         "content",
                         content_of(route->answer_type, false));
    } else {
        answer = error_answer(about);
    }
    object_put_adopt(answers, number + at, answer);
}

static struct value answers_of(const struct route *route)
{
    struct value answers = value_empty_object();
    for (size_t i = 0; i < ROUTE_STATUSES && route->statuses[i] != 0; i++) {
        put_status(&answers, route, route->statuses[i]);
    }
    put_status(&answers, route, 400);
    if (route->right != RIGHT_ANYONE) {
        put_status(&answers, route, 401);
        put_status(&answers, route, 403);
        put_status(&answers, route, 404);
        put_status(&answers, route, 429);
        put_status(&answers, route, 500);
        put_status(&answers, route, 503);
    }
    return answers;
}

/* -- All ----------------------------------------------------------------- */

static struct value operation_of(const struct route *route)
{
    static const char *const rights[RIGHT_COUNT] = {
        [RIGHT_ANYONE] = "none",
        [RIGHT_CALLER] = "any",
        [RIGHT_OPERATOR] = "operator",
        [RIGHT_READ] = "READ",
        [RIGHT_WRITE] = "WRITE",
    };
    struct value operation = value_empty_object();
    object_put_text(&operation, "summary", route->summary);
    if (route->about != NULL) {
        object_put_text(&operation, "description", route->about);
    }
    object_put_text(&operation, "x-heddle-right", rights[route->right]);
    object_put_adopt(&operation, "parameters", parameters_of(route));
    if (route->request_type != NULL) {
        object_put_adopt(
            &operation,
            "requestBody",
            single("content", content_of(route->request_type, true)));
    }
    object_put_adopt(&operation, "responses", answers_of(route));
    struct value security = value_empty_array();
    if (route->right != RIGHT_ANYONE) {
        security =
            array_push_adopt(security, single("bearer", value_empty_array()));
    }
    object_put_adopt(&operation, "security", security);
    return operation;
}

static struct value paths_of_table(void)
{
    struct value paths = value_empty_object();
    for (size_t i = 0; i < routes_count; i++) {
        const struct route *route = &routes_table[i];
        char method[8] = "";
        for (size_t j = 0; route->method[j] != '\0'; j++) {
            method[j] = (char)(route->method[j] + 32);
        }
        struct value methods = value_ref(object_field(paths, route->pattern));
        methods = value_is_absent(methods) ? value_empty_object() : methods;
        object_put_adopt(&methods, method, operation_of(route));
        object_put_adopt(&paths, route->pattern, methods);
    }
    return paths;
}

static struct value error_schema(void)
{
    static const char *const fields[] = {"code", "class", "message"};
    struct value properties = value_empty_object();
    struct value required = value_empty_array();
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        object_put_adopt(&properties, fields[i], type_of("string"));
        required = array_push_adopt(required, value_text_new(fields[i]));
    }
    struct value schema = type_of("object");
    object_put_adopt(&schema, "required", required);
    object_put_adopt(&schema, "properties", properties);
    return schema;
}

static struct value components(void)
{
    struct value bearer = type_of("http");
    object_put_text(&bearer, "scheme", "bearer");
    struct value object = value_empty_object();
    object_put_adopt(&object, "schemas", single("Error", error_schema()));
    object_put_adopt(&object, "securitySchemes", single("bearer", bearer));
    return object;
}

void routes_write_openapi(struct buf *to)
{
    struct value info = value_empty_object();
    object_put_text(&info, "title", "Heddle");
    object_put_text(&info, "version", "1");
    object_put_text(&info,
                    "description",
                    "HTTP access to the spaces of a Heddle server. Names in "
                    "paths are percent-encoded. Unknown query parameters are "
                    "errors.");
    struct value all = value_empty_object();
    object_put_text(&all, "openapi", "3.1.0");
    object_put_adopt(&all, "info", info);
    object_put_adopt(&all, "paths", paths_of_table());
    object_put_adopt(&all, "components", components());
    json_write(to, all, JSON_AS_GIVEN, 2);
    buf_append_char(to, '\n');
    value_unref(all);
}
