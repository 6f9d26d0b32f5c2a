/* What runs, why, and what waits: the models of src/inspect as JSON.
 *
 *   route-inspect-1  Each answer is of one state of the file, which is opened
 *                    read-only for it.
 *   route-inspect-2  What concerns documents of another user or of a session is
 *                    left out (routes-5): writes to them, nodes that ran for
 *                    them, and events of other users. */

#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "inspect/graph_json.h"
#include "inspect/offline_why.h"
#include "server/routes_internal.h"
#include "value/address.h"
#include "value/array.h"
#include "value/object.h"

/* -- Opening ------------------------------------------------------------- */

static enum err open_graph(struct route_call *call, struct offline_graph **out)
{
    const struct route_space *space = call_space(call);
    struct buf name = {0};
    *out = NULL;
    if (space->folder == NULL) {
        return err_set(&call->detail,
                       ERR_MISUSE,
                       "a space in memory cannot be inspected");
    }
    buf_append(&name,
               value_text(&space->name).at,
               value_text(&space->name).length);
    const enum err err = offline_graph_open(space->folder,
                                            buf_text(&name),
                                            NULL,
                                            out,
                                            &call->detail);
    buf_release(&name);
    return err;
}

/* A text as a C string, in a buffer. */
static const char *as_text(struct buf *to, struct value value)
{
    if (!value_is_string(value)) {
        return NULL;
    }
    buf_append(to, value_text(&value).at, value_text(&value).length);
    return buf_text(to);
}

/* -- What a caller may see ----------------------------------------------- */

/* Whether a scope key is that of the caller's own user. */
static bool is_own_scope(const struct route_call *call, struct value key)
{
    const struct identity identity = {.principal = call->context->principal};
    struct value own = VALUE_NONE;
    const bool is_own =
        !value_is_absent(identity.principal) &&
        scope_key_new(SCOPE_USER, identity, &own, NULL) == ERR_OK &&
        value_is_string(key) && key_equal(own, key);
    value_unref(own);
    return is_own;
}

/* Whether an object with a "scope" or a "user", or neither, may be shown. */
static bool is_visible(const struct route_call *call, struct value object)
{
    const struct value scope = object_field(object, "scope");
    const struct value user = object_field(object, "user");
    if (!value_is_absent(scope) && !is_own_scope(call, scope)) {
        return false;
    }
    return value_is_absent(user) ||
           (value_is_string(user) &&
            !value_is_absent(call->context->principal) &&
            key_equal(user, call->context->principal));
}

/* The visible elements of an array, new. */
static struct value visible_of(const struct route_call *call, struct value list)
{
    struct value visible = value_empty_array();
    struct array_iter iter = array_iter(list);
    struct value item;
    while (array_next(&iter, &item)) {
        if (is_visible(call, item)) {
            visible = array_push_adopt(visible, value_ref(item));
        }
    }
    return visible;
}

/* -- Pages --------------------------------------------------------------- */

/* The elements of `list` behind the one with the id in ?after=, at most
 * ?limit=, at `field`; and "next". */
static enum err page_adopt(struct route_call *call,
                           const char *field,
                           const char *id_field,
                           struct value list)
{
    const struct value after = call->texts[PARAMETER_AFTER_NAME];
    const uint64_t limit = call->numbers[PARAMETER_LIMIT];
    struct value page = value_empty_array();
    struct value body = value_empty_object();
    struct value last = VALUE_NONE;
    bool is_behind = value_is_absent(after);
    bool is_more = false;
    struct array_iter iter = array_iter(list);
    struct value item;
    while (!is_more && array_next(&iter, &item)) {
        const struct value id = object_field(item, id_field);
        if (!is_behind) {
            is_behind = value_is_string(id) && key_equal(id, after);
        } else if (array_count(page) < limit) {
            page = array_push_adopt(page, value_ref(item));
            last = id;
        } else {
            is_more = true;
        }
    }
    object_put_adopt(&body, field, page);
    if (is_more && value_is_string(last)) {
        object_put_adopt(&body, "next", value_ref(last));
    }
    value_unref(list);
    if (is_behind) {
        answer_json_adopt(call->answer, body);
        return ERR_OK;
    }
    value_unref(body);
    return err_set(&call->detail,
                   ERR_LISTING_MOVED,
                   "the entry to continue behind is not in the list any more: "
                   "begin again without ?after=");
}

/* -- Events and timers --------------------------------------------------- */

static enum err find_events(struct route_call *call,
                            struct offline_graph *graph,
                            const char *piece,
                            struct value *out)
{
    return call->numbers[PARAMETER_FAILED] != 0
               ? graph_json_failed(graph,
                                   piece,
                                   call->numbers[PARAMETER_LIMIT],
                                   out,
                                   &call->detail)
               : graph_json_events(graph,
                                   call_space(call)->folder,
                                   piece,
                                   out,
                                   &call->detail);
}

enum err route_events(struct route_call *call)
{
    struct offline_graph *graph = NULL;
    struct value found = VALUE_NONE;
    struct buf piece = {0};
    const char *field =
        call->numbers[PARAMETER_FAILED] != 0 ? "failed" : "events";
    enum err err = open_graph(call, &graph);
    if (err == ERR_OK) {
        err = find_events(call,
                          graph,
                          as_text(&piece, call->texts[PARAMETER_PIECE]),
                          &found);
        offline_graph_close(graph);
    }
    if (err == ERR_OK) {
        err = page_adopt(call,
                         field,
                         "id",
                         visible_of(call, object_field(found, field)));
    }
    value_unref(found);
    buf_release(&piece);
    return err;
}

enum err route_timers(struct route_call *call)
{
    struct offline_graph *graph = NULL;
    struct value found = VALUE_NONE;
    struct buf piece = {0};
    enum err err = open_graph(call, &graph);
    if (err == ERR_OK) {
        err = graph_json_timers(graph,
                                as_text(&piece, call->texts[PARAMETER_PIECE]),
                                call->context->wall_ms,
                                &found,
                                &call->detail);
        offline_graph_close(graph);
    }
    if (err == ERR_OK) {
        err = page_adopt(call,
                         "timers",
                         "document",
                         visible_of(call, object_field(found, "timers")));
    }
    value_unref(found);
    buf_release(&piece);
    return err;
}

enum err route_event(struct route_call *call)
{
    struct offline_graph *graph = NULL;
    struct value event = VALUE_NONE;
    struct buf id = {0};
    enum err err = open_graph(call, &graph);
    if (err == ERR_OK) {
        err = graph_json_event(graph,
                               as_text(&id, call->names[NAME_FIRST]),
                               &event,
                               &call->detail);
        offline_graph_close(graph);
    }
    if (err == ERR_OK && value_is_absent(event)) {
        err = err_set(&call->detail,
                      ERR_NOT_FOUND,
                      "there is no event '%.*s': it was never stored, or its "
                      "receipt was removed by compaction",
                      text_shown(buf_text(&id), id.length, 80),
                      buf_text(&id));
    }
    if (err == ERR_OK) {
        answer_json_adopt(call->answer, value_ref(event));
    }
    value_unref(event);
    buf_release(&id);
    return err;
}

/* -- The log ------------------------------------------------------------- */

/* The commits with the writes that may be shown, new. */
static struct value visible_commits(const struct route_call *call,
                                    struct value commits)
{
    struct value list = value_empty_array();
    struct array_iter iter = array_iter(commits);
    struct value item;
    while (array_next(&iter, &item)) {
        struct value commit = value_ref(item);
        object_put_adopt(&commit,
                         "writes",
                         visible_of(call, object_field(item, "writes")));
        list = array_push_adopt(list, commit);
    }
    return list;
}

static void answer_log(struct route_call *call, struct value found)
{
    struct value commits =
        visible_commits(call, object_field(found, "commits"));
    struct value body = value_empty_object();
    const uint32_t count = array_count(commits);
    if (count > 0 && count == call->numbers[PARAMETER_LIMIT]) {
        const uint64_t first = object_number(array_at(commits, 0), "seq");
        if (first > call->numbers[PARAMETER_AFTER_SEQ] + 1) {
            object_put_number(&body, "next", first - 1);
        }
    }
    object_put_adopt(&body, "commits", commits);
    answer_json_adopt(call->answer, body);
}

enum err route_log(struct route_call *call)
{
    struct offline_graph *graph = NULL;
    struct value found = VALUE_NONE;
    struct buf piece = {0};
    const struct graph_json_span span = {
        .piece = as_text(&piece, call->texts[PARAMETER_PIECE]),
        .after = call->numbers[PARAMETER_AFTER_SEQ],
        .to = call_has(call, PARAMETER_TO) ? call->numbers[PARAMETER_TO]
                                           : UINT64_MAX,
        .limit = call->numbers[PARAMETER_LIMIT],
    };
    enum err err = open_graph(call, &graph);
    if (err == ERR_OK) {
        err = graph_json_log(graph, &span, &found, &call->detail);
        offline_graph_close(graph);
    }
    if (err == ERR_OK) {
        answer_log(call, found);
    }
    value_unref(found);
    buf_release(&piece);
    return err;
}

/* -- The graph ----------------------------------------------------------- */

static enum err refuse_piece(struct route_call *call,
                             const struct offline_graph *graph,
                             const char *name)
{
    struct nearest nearest;
    nearest_begin(&nearest, name, strlen(name));
    VEC_FOREACH (&graph->pieces, piece) {
        const struct text known = value_text(&(*piece)->name);
        nearest_offer(&nearest, known.at, known.length);
    }
    return err_set(&call->detail,
                   ERR_NOT_FOUND,
                   "there is no piece '%.*s'%s",
                   text_shown(name, strlen(name), 80),
                   name,
                   nearest_hint(&nearest));
}

static enum err graph_of_piece(struct route_call *call,
                               struct offline_graph *graph,
                               const char *name)
{
    const struct offline_piece *piece = offline_piece(graph, name);
    if (piece == NULL) {
        return refuse_piece(call, graph, name);
    }
    answer_json_adopt(call->answer, graph_json(graph, piece));
    return ERR_OK;
}

/* Without the processes, which are the operator's business, and what ran for
 * other users. */
static struct value visible_pieces(const struct route_call *call,
                                   struct value found)
{
    struct value body = value_ref(found);
    struct value pieces = value_empty_array();
    const struct value sessions = value_text_new("sessions");
    struct array_iter iter = array_iter(object_field(found, "pieces"));
    struct value item;
    while (array_next(&iter, &item)) {
        struct value piece = object_remove_adopt(value_ref(item), sessions);
        object_put_adopt(&piece,
                         "nodes",
                         visible_of(call, object_field(item, "nodes")));
        pieces = array_push_adopt(pieces, piece);
    }
    object_put_adopt(&body, "pieces", pieces);
    value_unref(sessions);
    return body;
}

enum err route_graph(struct route_call *call)
{
    struct offline_graph *graph = NULL;
    struct value found = VALUE_NONE;
    struct buf name = {0};
    const char *piece = as_text(&name, call->texts[PARAMETER_PIECE]);
    enum err err = open_graph(call, &graph);
    if (err == ERR_OK && piece != NULL) {
        err = graph_of_piece(call, graph, piece);
    } else if (err == ERR_OK) {
        err = graph_json_pieces(graph, &found, &call->detail);
        if (err == ERR_OK) {
            answer_json_adopt(call->answer, visible_pieces(call, found));
        }
    }
    if (graph != NULL) {
        offline_graph_close(graph);
    }
    value_unref(found);
    buf_release(&name);
    return err;
}

/* -- Why ----------------------------------------------------------------- */

static enum err refuse_node(struct route_call *call,
                            const struct offline_piece *piece,
                            const char *name)
{
    struct nearest nearest;
    nearest_begin(&nearest, name, strlen(name));
    VEC_FOREACH (&piece->nodes, node) {
        const struct text known = value_text(&node->name);
        nearest_offer(&nearest, known.at, known.length);
    }
    return err_set(&call->detail,
                   ERR_NOT_FOUND,
                   "the piece has no node '%.*s'%s",
                   text_shown(name, strlen(name), 80),
                   name,
                   nearest_hint(&nearest));
}

/* The node of "PIECE/NODE" that the caller may see. */
static enum err find_node(struct route_call *call,
                          const struct offline_graph *graph,
                          char *address,
                          struct offline_node **out)
{
    struct buf user = {0};
    char *slash = strchr(address, '/');
    *out = NULL;
    if (slash == NULL) {
        return err_set(&call->detail,
                       ERR_ARGUMENT,
                       "name the node as PIECE/NODE");
    }
    *slash = '\0';
    const struct offline_piece *piece = offline_piece(graph, address);
    if (piece == NULL) {
        return refuse_piece(call, graph, address);
    }
    (void)as_text(&user, call->context->principal); /* or "", which is nobody */
    *out = offline_node_of_user(piece, slash + 1, buf_text(&user));
    buf_release(&user);
    if (*out == NULL) {
        return refuse_node(call, piece, slash + 1);
    }
    return ERR_OK;
}

static enum err explain(struct route_call *call,
                        struct offline_graph *graph,
                        const struct offline_node *node)
{
    struct value account = VALUE_NONE;
    enum err err = ERR_OK;
    if (call->numbers[PARAMETER_NOT] != 0) {
        account = offline_why_not(graph, node);
    } else {
        err = offline_why(graph,
                          node,
                          call->numbers[PARAMETER_ORIGIN] != 0,
                          &account,
                          &call->detail);
    }
    if (err == ERR_OK) {
        answer_json_adopt(call->answer, account);
    }
    return err;
}

enum err route_why(struct route_call *call)
{
    struct offline_graph *graph = NULL;
    struct offline_node *node = NULL;
    struct buf address = {0};
    (void)as_text(&address, call->names[NAME_FIRST]);
    enum err err = open_graph(call, &graph);
    if (err == ERR_OK) {
        err = find_node(call, graph, address.at, &node);
        if (err == ERR_OK) {
            err = explain(call, graph, node);
        }
        offline_graph_close(graph);
    }
    buf_release(&address);
    return err;
}
