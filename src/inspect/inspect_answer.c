/* Finding what a question names, and the models that answer it. */

#include "inspect/inspect_answer.h"

#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/text.h"
#include "inspect/graph_json.h"
#include "inspect/offline_why.h"
#include "inspect/read_at.h"
#include "value/array.h"
#include "value/object.h"

enum {
    NAMES_SHOWN = 12,       /* in a sentence */
    LIMIT_MOST = 10 * 1000, /* of a list */
};

struct asking {
    struct offline_graph *graph;
    const char *folder;
    const struct inspect_viewer *viewer;
    struct value question;
    struct err_detail *detail;
};

/* -- Parameters ---------------------------------------------------------- */

static enum err bad(const struct asking *asking,
                    const char *field,
                    const char *what)
{
    return err_set(asking->detail, ERR_PROTOCOL, "'%s' %s", field, what);
}

/* A string, as a C string in a buffer; *out is NULL if it is left out. */
static enum err get_text(const struct asking *asking,
                         const char *field,
                         struct buf *room,
                         const char **out)
{
    const struct value value = object_field(asking->question, field);
    *out = NULL;
    if (value_is_absent(value)) {
        return ERR_OK;
    }
    if (!value_is_string(value)) {
        return bad(asking, field, "must be a string");
    }
    const struct text text = value_text(&value);
    if (text.length > LIMIT_ID_BYTES ||
        memchr(text.at, '\0', text.length) != NULL) {
        return bad(asking, field, "is not the name of anything");
    }
    buf_append(room, text.at, text.length);
    *out = buf_text(room);
    return ERR_OK;
}

static enum err get_number(const struct asking *asking,
                           const char *field,
                           uint64_t fallback,
                           uint64_t *out)
{
    const struct value value = object_field(asking->question, field);
    *out = fallback;
    if (value_is_absent(value)) {
        return ERR_OK;
    }
    if (value_kind(value) != VALUE_INT || value_integer(value) < 0) {
        return bad(asking, field, "must be an integer from 0 on");
    }
    *out = (uint64_t)value_integer(value);
    return ERR_OK;
}

static enum err get_limit(const struct asking *asking, uint64_t *out)
{
    const enum err err = get_number(asking, "limit", LIMIT_MOST, out);
    *out = *out < LIMIT_MOST ? *out : LIMIT_MOST;
    return err;
}

/* -- What a viewer sees (inspect-answer-2) ------------------------------- */

static bool is_own_scope(const struct inspect_viewer *viewer, struct value key)
{
    const struct identity identity = {.principal = viewer->principal};
    struct value own = VALUE_NONE;
    const bool is_own =
        !value_is_absent(viewer->principal) && value_is_string(key) &&
        scope_key_new(SCOPE_USER, identity, &own, NULL) == ERR_OK &&
        key_equal(own, key);
    value_unref(own);
    return is_own;
}

static bool is_visible(const struct inspect_viewer *viewer, struct value object)
{
    const struct value scope = object_field(object, "scope");
    const struct value user = object_field(object, "user");
    if (viewer->sees_all) {
        return true;
    }
    if (!value_is_absent(scope) && !is_own_scope(viewer, scope)) {
        return false;
    }
    return value_is_absent(user) ||
           (value_is_string(user) && !value_is_absent(viewer->principal) &&
            key_equal(user, viewer->principal));
}

/* Leaves out what is not visible in the list at `field`. */
static void keep_visible(const struct inspect_viewer *viewer,
                         struct value *object,
                         const char *field)
{
    struct value list = object_field(*object, field);
    if (viewer->sees_all || !value_is_array(list)) {
        return;
    }
    struct value kept = value_empty_array();
    struct array_iter iter = array_iter(list);
    struct value item;
    while (array_next(&iter, &item)) {
        if (is_visible(viewer, item)) {
            kept = array_push_adopt(kept, value_ref(item));
        }
    }
    object_put_adopt(object, field, kept);
}

/* Of the processes that run a piece, only with which command. */
static void hide_processes(struct value *piece)
{
    const struct value list = object_field(*piece, "sessions");
    struct value shown = value_empty_array();
    if (!value_is_array(list)) {
        return;
    }
    struct array_iter iter = array_iter(list);
    struct value item;
    while (array_next(&iter, &item)) {
        const struct value command = object_field(item, "command");
        struct value one = value_empty_object();
        if (!value_is_absent(command)) {
            object_put_adopt(&one, "command", value_ref(command));
        }
        shown = array_push_adopt(shown, one);
    }
    object_put_adopt(piece, "sessions", shown);
}

/* The same in each object of the list at `field`. */
static void keep_visible_parts(const struct inspect_viewer *viewer,
                               struct value *object,
                               const char *field,
                               const char *part)
{
    struct value list = object_field(*object, field);
    if (viewer->sees_all || !value_is_array(list)) {
        return;
    }
    struct value kept = value_empty_array();
    struct array_iter iter = array_iter(list);
    struct value item;
    while (array_next(&iter, &item)) {
        struct value one = value_ref(item);
        hide_processes(&one);
        keep_visible(viewer, &one, part);
        kept = array_push_adopt(kept, one);
    }
    object_put_adopt(object, field, kept);
}

/* -- Names --------------------------------------------------------------- */

/* ": there are a, b, ..." */
static void append_name(struct buf *to,
                        struct nearest *nearest,
                        struct value name,
                        size_t number)
{
    const struct text text = value_text(&name);
    nearest_offer(nearest, text.at, text.length);
    if (number < NAMES_SHOWN) {
        buf_append_text(to, number > 0 ? ", " : "");
        buf_append(to, text.at, text.length);
    } else if (number == NAMES_SHOWN) {
        buf_append_text(to, ", ...");
    }
}

static enum err refuse_name(const struct asking *asking,
                            const char *what,
                            const char *word,
                            struct nearest *nearest,
                            struct buf *names)
{
    const char *hint = nearest_hint(nearest);
    if (hint[0] != '\0') {
        (void)err_set(asking->detail,
                      ERR_NOT_FOUND,
                      "there is no %s '%.80s'%s",
                      what,
                      word,
                      hint);
    } else {
        (void)err_set(asking->detail,
                      ERR_NOT_FOUND,
                      "there is no %s '%.80s': %s%s",
                      what,
                      word,
                      names->length > 0 ? "there are " : "there is none",
                      buf_text(names));
    }
    buf_release(names);
    return ERR_NOT_FOUND;
}

/* The part of an address behind the name of the piece, "cards/3"; or NULL. */
static const char *child_of(const char *address)
{
    const char *slash = strchr(address, '/');
    return slash != NULL ? slash + 1 : NULL;
}

/* Whether a name, "cards/3/card1/view", is below it; all are below NULL. */
static bool is_below(struct value name, const char *child)
{
    const struct text text = value_text(&name);
    const size_t length = child != NULL ? strlen(child) : 0;
    return child == NULL ||
           (text.length > length && memcmp(text.at, child, length) == 0 &&
            text.at[length] == '/');
}

static bool has_child(const struct offline_piece *piece, const char *child)
{
    VEC_FOREACH (&piece->nodes, node) {
        if (is_below(node->name, child)) {
            return true;
        }
    }
    return false;
}

/* Of an address. An unknown name is refused with a list of the known ones. */
static enum err find_piece(const struct asking *asking,
                           const char *address,
                           struct offline_piece **out)
{
    const char *child = child_of(address);
    struct buf whole = {0};
    buf_append(&whole, address, strcspn(address, "/"));
    *out = offline_piece(asking->graph, buf_text(&whole));
    buf_release(&whole);
    if (*out != NULL) {
        return child == NULL || has_child(*out, child)
                   ? ERR_OK
                   : err_set(asking->detail,
                             ERR_NOT_FOUND,
                             "there is no piece '%.80s': 'heddle ps' lists the "
                             "pieces",
                             address);
    }
    struct buf names = {0};
    size_t count = 0;
    struct nearest nearest;
    nearest_begin(&nearest, address, strlen(address));
    VEC_FOREACH (&asking->graph->pieces, piece) {
        append_name(&names, &nearest, (*piece)->name, count++);
    }
    return refuse_name(asking, "piece", address, &nearest, &names);
}

/* The name of a node of a child, which may be given without the children in
 * between if it is the only one: "view" for "cards/3/card1/view". */
static void find_in_child(const struct offline_piece *piece,
                          const char *child,
                          const char *word,
                          struct buf *name)
{
    const size_t length = strlen(word);
    size_t found = 0;
    buf_printf(name, "%s/%s", child, word);
    if (offline_node(piece, buf_text(name)) != NULL) {
        return;
    }
    VEC_FOREACH (&piece->nodes, node) {
        const struct text text = value_text(&node->name);
        if (is_below(node->name, child) && text.length > length &&
            text.at[text.length - length - 1] == '/' &&
            memcmp(text.at + text.length - length, word, length) == 0) {
            buf_clear(name);
            buf_append(name, text.at, text.length);
            found++;
        }
    }
    if (found != 1) {
        buf_clear(name);
        buf_append_text(name, word);
    }
}

/* Of a viewer, the node as it ran for that user or for all. */
static struct offline_node *look_up(const struct asking *asking,
                                    const struct offline_piece *piece,
                                    const char *word,
                                    const char *user)
{
    struct buf principal = {0};
    if (!asking->viewer->sees_all) {
        if (!value_is_absent(asking->viewer->principal)) {
            const struct text text = value_text(&asking->viewer->principal);
            buf_append(&principal, text.at, text.length);
        }
        user = buf_text(&principal); /* or "", which is nobody */
    }
    struct offline_node *node = user != NULL
                                    ? offline_node_of_user(piece, word, user)
                                    : offline_node(piece, word);
    buf_release(&principal);
    return node;
}

static enum err find_named(const struct asking *asking,
                           const struct offline_piece *piece,
                           const char *child,
                           const char *word,
                           const char *user,
                           struct offline_node **out)
{
    *out = look_up(asking, piece, word, user);
    if (*out != NULL) {
        return ERR_OK;
    }
    if (user != NULL && asking->viewer->sees_all &&
        offline_node(piece, word) != NULL) {
        return err_set(asking->detail,
                       ERR_NOT_FOUND,
                       "%.80s has no recorded run of the user %.80s",
                       word,
                       user);
    }
    struct buf names = {0};
    size_t count = 0;
    struct nearest nearest;
    nearest_begin(&nearest, word, strlen(word));
    VEC_FOREACH (&piece->nodes, node) {
        if (is_below(node->name, child)) {
            append_name(&names, &nearest, node->name, count++);
        }
    }
    return refuse_name(asking, "node", word, &nearest, &names);
}

/* The node of "piece", "node" and "user". */
static enum err find_node(const struct asking *asking,
                          struct offline_node **out)
{
    struct buf room[3] = {{0}};
    const char *address = NULL;
    const char *word = NULL;
    const char *user = NULL;
    struct offline_piece *piece = NULL;
    *out = NULL;
    enum err err = get_text(asking, "piece", &room[0], &address);
    if (err == ERR_OK) {
        err = get_text(asking, "node", &room[1], &word);
    }
    if (err == ERR_OK) {
        err = get_text(asking, "user", &room[2], &user);
    }
    if (err == ERR_OK && (address == NULL || word == NULL)) {
        err = bad(asking, address == NULL ? "piece" : "node", "is missing");
    }
    if (err == ERR_OK) {
        err = find_piece(asking, address, &piece);
    }
    if (err == ERR_OK) {
        const char *child = child_of(address);
        struct buf name = {0};
        if (child != NULL) {
            find_in_child(piece, child, word, &name);
        } else {
            buf_append_text(&name, word);
        }
        err = find_named(asking, piece, child, buf_text(&name), user, out);
        buf_release(&name);
    }
    for (size_t i = 0; i < COUNT_OF(room); i++) {
        buf_release(&room[i]);
    }
    return err;
}

/* -- Answers ------------------------------------------------------------- */

static enum err answer_pieces(const struct asking *asking, struct value *answer)
{
    const enum err err =
        graph_json_pieces(asking->graph, answer, asking->detail);
    if (err == ERR_OK) {
        keep_visible_parts(asking->viewer, answer, "pieces", "nodes");
    }
    return err;
}

static bool is_of_child(struct value node, const void *child)
{
    return !value_is_text(object_field(node, "kind"), "input") &&
           is_below(object_field(node, "name"), child);
}

static enum err answer_graph(const struct asking *asking,
                             const char *address,
                             struct value *answer)
{
    struct offline_piece *piece = NULL;
    if (address == NULL) {
        return bad(asking, "piece", "is missing");
    }
    const enum err err = find_piece(asking, address, &piece);
    if (err == ERR_OK) {
        const char *child = child_of(address);
        *answer = graph_json(asking->graph, piece);
        if (child != NULL) {
            *answer = graph_json_part_adopt(*answer, is_of_child, child, true);
        }
    }
    return err;
}

static enum err answer_log(const struct asking *asking,
                           const char *address,
                           struct value *answer)
{
    struct graph_json_span span = {.piece = address, .to = ENGINE_HEAD};
    struct offline_piece *piece = NULL;
    enum err err = get_limit(asking, &span.limit);
    if (err == ERR_OK) {
        err = graph_json_log(asking->graph, &span, answer, asking->detail);
    }
    if (err == ERR_OK && address != NULL &&
        array_count(object_field(*answer, "commits")) == 0) {
        err = find_piece(asking, address, &piece);
    }
    if (err == ERR_OK) {
        keep_visible_parts(asking->viewer, answer, "commits", "writes");
    }
    return err;
}

static struct value stale_nodes(const struct offline_piece *piece,
                                const char *child)
{
    struct value names = value_empty_array();
    VEC_FOREACH (&piece->nodes, node) {
        if (strcmp(offline_status(node), "dirty") == 0 &&
            is_below(node->name, child)) {
            names = array_push_adopt(names, value_ref(node->name));
        }
    }
    return names;
}

static enum err answer_show(const struct asking *asking,
                            const char *address,
                            struct value *answer)
{
    const struct value path = object_field(asking->question, "path");
    struct offline_piece *piece = NULL;
    struct value found = VALUE_NONE;
    uint64_t seq = ENGINE_HEAD;
    if (address == NULL) {
        return bad(asking, "piece", "is missing");
    }
    if (!value_is_array(path)) {
        return bad(asking, "path", "must be an array of keys");
    }
    if (array_count(path) >= LIMIT_PATH_SEGMENTS) { /* beside "value" */
        return err_set(asking->detail,
                       ERR_LIMIT_PATH,
                       "a path can have at most %d segments",
                       LIMIT_PATH_SEGMENTS);
    }
    for (uint32_t i = 0; i < array_count(path); i++) {
        if (!value_is_string(array_at(path, i))) {
            return bad(asking, "path", "must be an array of keys");
        }
    }
    enum err err = get_number(asking, "at", ENGINE_HEAD, &seq);
    if (err == ERR_OK) {
        err = read_at(&asking->graph->engine,
                      object_field(asking->question, "piece"),
                      path,
                      seq,
                      &found,
                      asking->detail);
    }
    const bool is_absent = value_is_absent(found);
    if (err == ERR_OK && is_absent) { /* the piece may be gone by now */
        err = find_piece(asking, address, &piece);
    } else if (err == ERR_OK && seq == ENGINE_HEAD) {
        const enum err known = find_piece(asking, address, &piece);
        (void)known; /* its value is there in any case */
    }
    *answer = value_empty_object();
    if (!is_absent) {
        object_put_adopt(answer, "value", found);
    }
    object_put_adopt(answer,
                     "stale",
                     piece != NULL && !is_absent && seq == ENGINE_HEAD
                         ? stale_nodes(piece, child_of(address))
                         : value_empty_array());
    return err;
}

/* What waits: "events", "failed" or "timers". */
static enum err answer_waiting(const struct asking *asking,
                               const char *about,
                               const char *address,
                               struct value *answer)
{
    struct offline_piece *piece = NULL;
    uint64_t limit = 0;
    uint64_t now = 0;
    const bool is_checked =
        value_is_absent(object_field(asking->question, "unchecked"));
    enum err err = address != NULL && is_checked
                       ? find_piece(asking, address, &piece)
                       : ERR_OK;
    if (err == ERR_OK) {
        err = get_limit(asking, &limit);
    }
    if (err == ERR_OK) {
        err = get_number(asking, "now", 0, &now);
    }
    if (err != ERR_OK) {
        return err;
    }
    if (strcmp(about, "timers") == 0) {
        err = graph_json_timers(asking->graph,
                                address,
                                now,
                                answer,
                                asking->detail);
    } else if (strcmp(about, "failed") == 0) {
        err = graph_json_failed(asking->graph,
                                address,
                                limit,
                                answer,
                                asking->detail);
    } else {
        err = graph_json_events(asking->graph,
                                asking->folder,
                                address,
                                answer,
                                asking->detail);
    }
    if (err == ERR_OK) {
        keep_visible(asking->viewer, answer, about);
    }
    return err;
}

static enum err answer_event(const struct asking *asking, struct value *answer)
{
    struct buf room = {0};
    const char *id = NULL;
    struct value event = VALUE_NONE;
    enum err err = get_text(asking, "event", &room, &id);
    if (err == ERR_OK && id == NULL) {
        err = bad(asking, "event", "is missing");
    }
    if (err == ERR_OK) {
        err = graph_json_event(asking->graph, id, &event, asking->detail);
    }
    if (err == ERR_OK &&
        (value_is_absent(event) || !is_visible(asking->viewer, event))) {
        err = err_set(asking->detail,
                      ERR_NOT_FOUND,
                      "there is no event '%.*s': it was never stored, or its "
                      "receipt was removed by 'heddle store compact'",
                      text_shown(id, strlen(id), 80),
                      id);
    }
    if (err == ERR_OK) {
        *answer = value_empty_object();
        object_put_adopt(answer, "event", value_ref(event));
    }
    value_unref(event);
    buf_release(&room);
    return err;
}

static enum err answer_why(const struct asking *asking, struct value *answer)
{
    struct offline_node *node = NULL;
    struct value why = VALUE_NONE;
    enum err err = find_node(asking, &node);
    if (err == ERR_OK) {
        err = offline_why(asking->graph, node, true, &why, asking->detail);
    }
    if (err == ERR_OK) {
        *answer = value_empty_object();
        object_put_adopt(answer, "why", why);
    }
    return err;
}

static enum err answer_why_not(const struct asking *asking,
                               struct value *answer)
{
    struct offline_node *node = NULL;
    const enum err err = find_node(asking, &node);
    if (err == ERR_OK) {
        const struct value note = object_field(node->piece->about, "note");
        *answer = value_empty_object();
        object_put_adopt(answer,
                         "whyNot",
                         offline_why_not(asking->graph, node));
        object_put_adopt(answer, "piece", value_ref(node->piece->name));
        object_put_adopt(answer, "node", value_ref(node->name));
        if (value_is_object(note)) {
            object_put_adopt(answer, "note", value_ref(note));
        }
    }
    return err;
}

/* ------------------------------------------------------------------------ */

static enum err answer_about(const struct asking *asking, struct value *answer)
{
    static const char *const lists[] = {"events", "failed", "timers"};
    const struct value about = object_field(asking->question, "about");
    struct buf room = {0};
    const char *address = NULL;
    enum err err = get_text(asking, "piece", &room, &address);
    const char *list = NULL;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        list = value_is_text(about, lists[i]) ? lists[i] : list;
    }
    if (err != ERR_OK) {
        *answer = VALUE_NONE;
    } else if (list != NULL) {
        err = answer_waiting(asking, list, address, answer);
    } else if (value_is_text(about, "pieces")) {
        err = answer_pieces(asking, answer);
    } else if (value_is_text(about, "graph")) {
        err = answer_graph(asking, address, answer);
    } else if (value_is_text(about, "log")) {
        err = answer_log(asking, address, answer);
    } else if (value_is_text(about, "show")) {
        err = answer_show(asking, address, answer);
    } else if (value_is_text(about, "event")) {
        err = answer_event(asking, answer);
    } else if (value_is_text(about, "why")) {
        err = answer_why(asking, answer);
    } else if (value_is_text(about, "whyNot")) {
        err = answer_why_not(asking, answer);
    } else {
        err = bad(asking, "about", "is not something to ask about");
    }
    buf_release(&room);
    return err;
}

enum err inspect_answer(const char *folder,
                        const char *space,
                        const struct inspect_viewer *viewer,
                        struct value question,
                        struct value *answer,
                        struct err_detail *detail)
{
    struct err_detail own = {0};
    struct asking asking = {
        .folder = folder,
        .viewer = viewer,
        .question = question,
        .detail = detail != NULL ? detail : &own,
    };
    struct buf room = {0};
    const char *branch = NULL;
    struct value found = VALUE_NONE;
    *answer = VALUE_NONE;
    enum err err = get_text(&asking, "branch", &room, &branch);
    if (err == ERR_OK) {
        err = offline_graph_open(folder,
                                 space,
                                 branch != NULL && branch[0] != '\0' ? branch
                                                                     : NULL,
                                 &asking.graph,
                                 asking.detail);
    }
    if (err == ERR_OK) {
        err = answer_about(&asking, &found);
        offline_graph_close(asking.graph);
    }
    if (err == ERR_OK) {
        *answer = found;
    } else {
        value_unref(found);
    }
    buf_release(&room);
    return err;
}
