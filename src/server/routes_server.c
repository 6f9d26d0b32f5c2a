/* Routes of the server itself, and the list of its spaces. */

#include <string.h>

#include "base/heap.h"
#include "server/routes_internal.h"
#include "store/spaces.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/id.h"
#include "value/object.h"
#include "value/utf8.h"

static enum err answer_status(struct route_call *call, const char *status)
{
    struct value body = value_empty_object();
    object_put_text(&body, "status", status);
    answer_json_adopt(call->answer, body);
    answer_header(call->answer, "cache-control:", "no-store");
    return ERR_OK;
}

enum err route_health(struct route_call *call)
{
    return answer_status(call, "ok");
}

enum err route_ready(struct route_call *call)
{
    if (call->context->server->is_ready) {
        return answer_status(call, "ready");
    }
    return err_set(&call->detail,
                   ERR_OVERLOADED,
                   "the server is starting or draining");
}

enum err route_metrics(struct route_call *call)
{
    const struct route_server *server = call->context->server;
    struct net_counters net = {0};
    if (server->count != NULL) {
        server->count(server->ctx, &net);
    }
    call->answer->http_status = 200;
    call->answer->content_type = call->route->answer_type;
    answer_header(call->answer, "cache-control:", "no-store");
    if (server->metrics != NULL) {
        metrics_write(server->metrics,
                      server->count != NULL ? &net : NULL,
                      &call->answer->body);
    }
    return ERR_OK;
}

enum err route_openapi(struct route_call *call)
{
    call->answer->http_status = 200;
    call->answer->content_type = ROUTE_JSON;
    routes_write_openapi(&call->answer->body);
    answer_header(call->answer, "cache-control:", "no-cache"); /* not secret */
    return ERR_OK;
}

enum err route_space_about(struct route_call *call)
{
    struct route_space *space = call_space(call);
    const enum err err = engine_read_begin(space->engine, &call->detail);
    if (err != ERR_OK) {
        return err;
    }
    struct value body = value_empty_object();
    object_put_adopt(&body, "space", value_ref(space->name));
    object_put_number(&body, "seq", space->engine->seq);
    object_put_number(&body, "horizon", space->engine->horizon);
    engine_read_end(space->engine);
    answer_json_adopt(call->answer, body);
    return ERR_OK;
}

/* -- Spaces -------------------------------------------------------------- */

/* The name of the space in that file, new; absent: it is none. */
static struct value space_of(const struct space_file *file)
{
    const size_t tail = strlen(".db");
    const size_t length = file->name.length;
    if (file->why_not != NULL || length <= tail ||
        memcmp(file->name.at + length - tail, ".db", tail) != 0 ||
        !utf8_is_valid(file->name.at, length)) {
        return VALUE_NONE;
    }
    return value_string_new(file->name.at, length - tail);
}

typedef VEC(struct value) name_list;

static bool is_behind(const void *items, size_t a, size_t b)
{
    const struct value *names = items;
    return value_compare_strings(names[a], names[b]) > 0;
}

static void swap_names(void *items, size_t a, size_t b)
{
    struct value *names = items;
    const struct value one = names[a];
    names[a] = names[b];
    names[b] = one;
}

static void release_names(name_list *names)
{
    VEC_FOREACH (names, name) {
        value_unref(*name);
    }
    vec_release(names);
}

/* All names, sorted. */
static enum err list_names(struct route_call *call, name_list *out)
{
    const char *folder = call->context->server->folder;
    space_files files = {0};
    if (folder == NULL) {
        return ERR_OK;
    }
    const enum err err = spaces_list(folder, &files, &call->detail);
    VEC_FOREACH (&files, file) {
        const struct value name = space_of(file);
        if (!value_is_absent(name)) {
            vec_push(out, name);
        }
    }
    space_files_release(&files);
    if (out->count > 1) {
        heap_sort(out->at, out->count, is_behind, swap_names);
    }
    return err;
}

/* Where a page ends, without the name of the space: new. */
static struct value mark_of(const struct route_call *call, struct value name)
{
    const struct text text = value_text(&name);
    const uint64_t secret = call->context->server->secret;
    char digest[DIGEST_TEXT_LENGTH + 1];
    struct buf bytes = {0};
    buf_append(&bytes, &secret, sizeof secret);
    buf_append(&bytes, text.at, text.length);
    digest_write(
        digest_of_bytes("heddle page of spaces", bytes.at, bytes.length),
        digest);
    buf_release(&bytes);
    return value_text_new(digest);
}

/* The index of the first name of the page. */
static enum err find_begin(struct route_call *call,
                           const name_list *names,
                           size_t *out)
{
    *out = 0;
    if (!call_has(call, PARAMETER_AFTER_NAME)) {
        return ERR_OK;
    }
    for (size_t i = 0; i < names->count; i++) {
        const struct value mark = mark_of(call, names->at[i]);
        const bool is_it = key_equal(mark, call->texts[PARAMETER_AFTER_NAME]);
        value_unref(mark);
        if (is_it) {
            *out = i + 1;
            return ERR_OK;
        }
    }
    return err_set(&call->detail,
                   ERR_LISTING_MOVED,
                   "the list has changed: begin again without ?after=");
}

static bool may_read(const struct route_call *call, struct value name)
{
    const struct route_server *server = call->context->server;
    struct buf text = {0};
    if (server->may_read == NULL) {
        return false;
    }
    buf_append(&text, value_text(&name).at, value_text(&name).length);
    const bool may = server->may_read(server->ctx,
                                      call->context->principal,
                                      buf_text(&text));
    buf_release(&text);
    return may;
}

/* A page is bounded by the spaces that are looked at, also those that the
 * caller may not read. */
static struct value page_of(const struct route_call *call,
                            const name_list *names,
                            size_t begin)
{
    struct value spaces = value_empty_array();
    struct value body = value_empty_object();
    size_t end = begin + call->numbers[PARAMETER_LIMIT];
    end = end < names->count ? end : names->count;
    for (size_t i = begin; i < end; i++) {
        if (may_read(call, names->at[i])) {
            struct value one = value_empty_object();
            object_put_adopt(&one, "space", value_ref(names->at[i]));
            spaces = array_push_adopt(spaces, one);
        }
    }
    object_put_adopt(&body, "spaces", spaces);
    if (end < names->count && end > begin) {
        object_put_adopt(&body, "next", mark_of(call, names->at[end - 1]));
    }
    return body;
}

enum err route_spaces(struct route_call *call)
{
    name_list names = {0};
    size_t begin = 0;
    enum err err = list_names(call, &names);
    if (err == ERR_OK) {
        err = find_begin(call, &names, &begin);
    }
    if (err == ERR_OK) {
        answer_json_adopt(call->answer, page_of(call, &names, begin));
    }
    release_names(&names);
    return err;
}
