/* Pieces, graphs and commits as JSON. */

#include "inspect/graph_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "inspect/author.h"
#include "inspect/offline_why.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/path.h"

/* -- Pieces ---------------------------------------------------------------- */

/* The node, whose piece is known, with its name at `field`. */
static void put_node(struct offline_graph *graph,
                     struct value *object,
                     const char *field,
                     const struct offline_node *node)
{
    struct account_node about = author_node(node);
    const struct value task = offline_task(graph, node);
    about.piece = VALUE_NONE;
    account_put_node(object, field, &about);
    object_put_adopt(object, "kind", value_ref(about.kind));
    if (!value_is_absent(task)) {
        object_put_adopt(object, "task", task);
    }
    if (about.status != NULL) {
        object_put_text(object, "status", about.status);
        object_put_adopt(object, "live", value_bool(node->live));
        object_put_adopt(object, "wanted", value_bool(node->wanted));
        object_put_number(object,
                          "runs",
                          node->run != NULL ? node->run->runs : 0);
    }
}

/* When the state came to be that the last run is good for. */
static uint64_t time_of(struct offline_graph *graph,
                        const struct offline_node *node)
{
    struct commit_info commit;
    struct err_detail ignored;
    const struct run_action *run = node->run;
    uint64_t at = 0;
    if (commit_at(&graph->engine,
                  run->landed > 0 ? run->landed : run->seq,
                  &commit,
                  &ignored) == ERR_OK) {
        at = commit.at_ms;
    }
    commit_info_release(&commit);
    return at;
}

static enum err put_run(struct offline_graph *graph,
                        const struct offline_node *node,
                        struct value *object,
                        struct err_detail *detail)
{
    struct value why = VALUE_NONE;
    const struct run_action *run = node->run;
    const enum err err = offline_why(graph, node, false, &why, detail);
    if (err != ERR_OK) {
        return err;
    }
    const uint64_t at = time_of(graph, node);
    object_put_number(object, "seq", run->seq);
    if (at > 0) {
        object_put_number(object, "at", at);
    }
    const struct value causes = object_field(why, "causes");
    object_put_adopt(object, "reason", value_ref(object_field(why, "reason")));
    if (!value_is_absent(object_field(why, "space"))) {
        object_put_adopt(object,
                         "space",
                         value_ref(object_field(why, "space")));
    }
    if (value_is_array(causes) && array_count(causes) > 0) {
        object_put_adopt(object, "cause", value_ref(array_at(causes, 0)));
    }
    if (run->gates.debounce_ms > 0) {
        object_put_number(object, "debounceMs", run->gates.debounce_ms);
    }
    if (run->gates.throttle_ms > 0) {
        object_put_number(object, "throttleMs", run->gates.throttle_ms);
    }
    value_unref(why);
    return ERR_OK;
}

static enum err describe_node(struct offline_graph *graph,
                              const struct offline_node *node,
                              struct value *out,
                              struct err_detail *detail)
{
    struct value object = value_empty_object();
    put_node(graph, &object, "node", node);
    enum err err = ERR_OK;
    if (node->run != NULL) {
        err = put_run(graph, node, &object, detail);
    }
    *out = object;
    return err;
}

/* The parent in another space, and the children there (piece-8 of
 * runtime/piece.h). */
static void put_relatives(struct value *object, struct value about)
{
    const struct value parent = object_field(about, "child");
    const struct value launched = object_field(about, "launched");
    struct object_iter iter = object_iter(
        value_is_object(launched) ? launched : value_empty_object());
    struct value children = value_empty_array();
    struct value key;
    struct value entry;
    if (value_is_object(parent)) {
        object_put_adopt(object, "childOf", value_ref(parent));
    }
    while (object_next(&iter, &key, &entry)) {
        if (value_is_object(entry)) {
            struct value child = value_ref(entry);
            child = object_remove_adopt(child, value_text_new("arguments"));
            children = array_push_adopt(children, child);
        }
    }
    if (array_count(children) > 0) {
        object_put_adopt(object, "elsewhere", children);
    } else {
        value_unref(children);
    }
}

static enum err describe_piece(struct offline_graph *graph,
                               const struct offline_piece *piece,
                               struct value *out,
                               struct err_detail *detail)
{
    struct value object = value_empty_object();
    struct value nodes = value_empty_array();
    enum err err = ERR_OK;
    object_put_adopt(&object, "piece", value_ref(piece->name));
    if (value_is_object(piece->about)) {
        const struct value pattern = object_field(piece->about, "pattern");
        if (!value_is_absent(pattern)) {
            object_put_adopt(&object, "pattern", value_ref(pattern));
        }
    }
    put_relatives(&object, piece->about);
    object_put_adopt(&object, "started", value_bool(piece->started));
    object_put_adopt(&object, "sessions", value_ref(piece->sessions));
    VEC_FOREACH (&piece->nodes, node) {
        struct value one = VALUE_NONE;
        if (err == ERR_OK) {
            err = describe_node(graph, node, &one, detail);
            nodes = array_push_adopt(nodes, one);
        }
    }
    object_put_adopt(&object, "nodes", nodes);
    *out = object;
    return err;
}

enum err graph_json_pieces(struct offline_graph *graph,
                           struct value *out,
                           struct err_detail *detail)
{
    struct value object = value_empty_object();
    struct value pieces = value_empty_array();
    struct value waiting = VALUE_NONE;
    enum err err = graph_json_waiting(graph, &waiting, detail);
    object_put_number(&object, "seq", graph->engine.seq);
    VEC_FOREACH (&graph->pieces, piece) {
        struct value one = VALUE_NONE;
        if (err == ERR_OK) {
            err = describe_piece(graph, *piece, &one, detail);
        }
        if (err == ERR_OK) {
            const struct value waits = object_get(waiting, (*piece)->name);
            if (!value_is_absent(waits)) {
                object_put_adopt(&one, "waiting", value_ref(waits));
            }
            pieces = array_push_adopt(pieces, one);
        }
    }
    value_unref(waiting);
    object_put_adopt(&object, "pieces", pieces);
    *out = object;
    if (err != ERR_OK) {
        value_unref(object);
        *out = VALUE_NONE;
    }
    return err;
}

/* -- The graph of a piece -------------------------------------------------- */

/* A document that is read, and that no node writes. */
struct input {
    struct value id; /* borrowed */
    uint32_t number;
};

struct edge {
    char from[24]; /* "n3": a node; "i0": an input */
    char to[24];
    struct value document; /* borrowed */
    bool writes;           /* a handler, instead of being read */
};

enum {
    HANDLED_COMMITS = 1000, /* of the space, in which handlers are looked for */
};

struct drawing {
    struct offline_graph *graph;
    const struct offline_piece *piece;
    uint64_t commits_left;
    VEC(struct value) written; /* ids of what handlers wrote; owned */
    VEC(struct input *) inputs;
    struct map by_id; /* struct input */
    VEC(struct edge) edges;
};

static bool is_input(const void *item, const void *key)
{
    const struct input *input = item;
    const struct value *id = key;
    return key_equal(input->id, *id);
}

static const struct input *input_of(struct drawing *drawing, struct value id)
{
    struct input *input =
        map_find(&drawing->by_id, value_hash(id), is_input, &id);
    if (input == NULL) {
        input = mem_alloc(sizeof *input);
        *input = (struct input){id, (uint32_t)drawing->inputs.count};
        map_insert(&drawing->by_id, value_hash(id), input);
        vec_push(&drawing->inputs, input);
    }
    return input;
}

static void name_node(const struct drawing *drawing,
                      const struct offline_node *node,
                      char out[static 24])
{
    (void)snprintf(out, 24, "n%td", node - drawing->piece->nodes.at);
}

static void name_input(struct drawing *drawing,
                       struct value id,
                       char out[static 24])
{
    (void)snprintf(out, 24, "i%" PRIu32, input_of(drawing, id)->number);
}

static void add_edge(struct drawing *drawing, const struct edge *edge)
{
    VEC_FOREACH (&drawing->edges, other) {
        if (strcmp(other->from, edge->from) == 0 &&
            strcmp(other->to, edge->to) == 0) {
            return;
        }
    }
    vec_push(&drawing->edges, *edge);
}

/* Whether it is a user's instance of an output: the edge is drawn from the
 * shared one, which is read as well. */
static bool is_instance(const struct drawing *drawing,
                        const struct run_place *place)
{
    const struct value space = value_text_new("space");
    const struct offline_document *document =
        offline_document(drawing->graph, space, place->id);
    const bool own = !key_equal(place->scope_key, space);
    value_unref(space);
    return own && document != NULL && document->outputs.count > 0;
}

/* What one read comes from: nodes of this piece, or a document. */
static void draw_read(struct drawing *drawing,
                      const struct offline_node *node,
                      const struct run_place *place)
{
    const struct offline_document *document =
        offline_document(drawing->graph, place->scope_key, place->id);
    struct edge edge = {.document = place->id};
    bool drawn = false;
    name_node(drawing, node, edge.to);
    for (size_t i = 0; document != NULL && i < document->outputs.count; i++) {
        const struct offline_output *output = &document->outputs.at[i];
        if (output->node->piece == drawing->piece && output->node != node &&
            offline_reads(place, output) &&
            offline_is_shared(node, output->node)) {
            name_node(drawing, output->node, edge.from);
            add_edge(drawing, &edge);
            drawn = true;
        }
        drawn = drawn || output->node == node;
    }
    if (!drawn && !is_instance(drawing, place)) {
        name_input(drawing, place->id, edge.from);
        add_edge(drawing, &edge);
    }
}

static void draw(struct drawing *drawing)
{
    VEC_FOREACH (&drawing->piece->nodes, node) {
        if (node->run == NULL) {
            continue;
        }
        VEC_FOREACH (&node->run->places, place) {
            if (place_is_read(place->kind)) {
                draw_read(drawing, node, place);
            }
        }
    }
}

/* -- What handlers write ------------------------------------------------- */

/* The handler of this piece that the commit is of, or NULL. */
static const struct offline_node *handler_of(const struct drawing *drawing,
                                             const struct commit_info *commit)
{
    const struct author author = author_of(drawing->graph, commit);
    if (author.kind != AUTHOR_EVENT) {
        return NULL;
    }
    const struct value by = author_describe(drawing->graph, &author);
    const struct value piece = object_field(by, "piece");
    const struct value name = object_field(by, "handler");
    const struct offline_node *found = NULL;
    if (value_is_string(piece) && key_equal(piece, drawing->piece->name) &&
        value_is_string(name)) {
        VEC_FOREACH (&drawing->piece->nodes, node) {
            found = key_equal(node->name, name) ? node : found;
        }
    }
    value_unref(by);
    return found;
}

static bool draw_handling(void *ctx, const struct commit_info *commit)
{
    struct drawing *drawing = ctx;
    const struct offline_node *handler = handler_of(drawing, commit);
    for (size_t i = 0; handler != NULL && i < commit->writes.count; i++) {
        const struct value id = commit->writes.at[i].id;
        if (!value_begins_with(id, "piece:")) {
            continue; /* a receipt, or a record of the store */
        }
        vec_push(&drawing->written, value_ref(id));
        struct edge edge = {
            .document = *vec_last(&drawing->written),
            .writes = true,
        };
        name_node(drawing, handler, edge.from);
        name_input(drawing, edge.document, edge.to);
        add_edge(drawing, &edge);
    }
    return --drawing->commits_left > 0;
}

/* What a handler will write is unknown: what it wrote is in its commits. */
static void draw_handlers(struct drawing *drawing)
{
    struct err_detail ignored; /* the rest of the graph is there */
    drawing->commits_left = HANDLED_COMMITS;
    const enum err err = commits_visit(&drawing->graph->engine,
                                       0,
                                       drawing->graph->engine.seq,
                                       draw_handling,
                                       drawing,
                                       &ignored);
    (void)err;
}

static void drawing_release(struct drawing *drawing)
{
    VEC_FOREACH (&drawing->written, id) {
        value_unref(*id);
    }
    vec_release(&drawing->written);
    VEC_FOREACH (&drawing->inputs, input) {
        mem_free(*input, sizeof **input);
    }
    vec_release(&drawing->inputs);
    map_release(&drawing->by_id);
    vec_release(&drawing->edges);
}

/* Without "piece:NAME/", which is the same for all. */
static struct value short_id(const struct drawing *drawing, struct value id)
{
    const struct text text = value_text(&id);
    const struct text name = value_text(&drawing->piece->name);
    const size_t front = strlen("piece:");
    const size_t length = front + name.length + 1;
    if (text.length > length && memcmp(text.at, "piece:", front) == 0 &&
        memcmp(text.at + front, name.at, name.length) == 0 &&
        text.at[length - 1] == '/') {
        return value_string_new(text.at + length, text.length - length);
    }
    return value_ref(id);
}

static struct value describe_drawing(struct drawing *drawing)
{
    struct value object = value_empty_object();
    struct value nodes = value_empty_array();
    struct value edges = value_empty_array();
    char id[24];
    VEC_FOREACH (&drawing->piece->nodes, node) {
        struct value one = value_empty_object();
        name_node(drawing, node, id);
        object_put_text(&one, "id", id);
        put_node(drawing->graph, &one, "name", node);
        nodes = array_push_adopt(nodes, one);
    }
    VEC_FOREACH (&drawing->inputs, input) {
        struct value one = value_empty_object();
        name_input(drawing, (*input)->id, id);
        object_put_text(&one, "id", id);
        object_put_adopt(&one, "name", short_id(drawing, (*input)->id));
        object_put_text(&one, "kind", "input");
        object_put_adopt(&one, "document", value_ref((*input)->id));
        nodes = array_push_adopt(nodes, one);
    }
    VEC_FOREACH (&drawing->edges, edge) {
        struct value one = value_empty_object();
        object_put_text(&one, "from", edge->from);
        object_put_text(&one, "to", edge->to);
        object_put_adopt(&one, "document", value_ref(edge->document));
        if (edge->writes) {
            object_put_text(&one, "kind", "writes");
        }
        edges = array_push_adopt(edges, one);
    }
    object_put_adopt(&object, "piece", value_ref(drawing->piece->name));
    object_put_adopt(&object, "nodes", nodes);
    object_put_adopt(&object, "edges", edges);
    return object;
}

struct value graph_json(struct offline_graph *graph,
                        const struct offline_piece *piece)
{
    struct drawing drawing = {.graph = graph, .piece = piece};
    draw(&drawing);
    draw_handlers(&drawing);
    const struct value json = describe_drawing(&drawing);
    drawing_release(&drawing);
    return json;
}

/* -- A part of a graph ----------------------------------------------------- */

struct value graph_json_choose_adopt(struct value nodes,
                                     bool (*is_chosen)(struct value node,
                                                       const void *ctx),
                                     const void *ctx)
{
    struct value chosen = value_empty_array();
    struct array_iter iter = array_iter(nodes);
    struct value node;
    while (array_next(&iter, &node)) {
        if (is_chosen(node, ctx)) {
            chosen = array_push_adopt(chosen, value_ref(node));
        }
    }
    value_unref(nodes);
    return chosen;
}

/* Sets of ids are objects. */
static bool has_id(struct value ids, struct value id)
{
    return !value_is_absent(object_get(ids, id));
}

static void add_id(struct value *ids, struct value id)
{
    *ids = object_set_adopt(*ids, value_ref(id), value_bool(true));
}

static bool is_other_end(struct value node, const void *ctx)
{
    const struct value *sets = ctx; /* of the chosen, and of all */
    const struct value id = object_field(node, "id");
    return !has_id(sets[0], id) && has_id(sets[1], id);
}

static struct value joined_adopt(struct value first, struct value second)
{
    struct array_iter iter = array_iter(second);
    struct value one;
    while (array_next(&iter, &one)) {
        first = array_push_adopt(first, value_ref(one));
    }
    value_unref(second);
    return first;
}

struct value graph_json_part_adopt(struct value graph,
                                   bool (*is_chosen)(struct value node,
                                                     const void *ctx),
                                   const void *ctx,
                                   bool both)
{
    struct value sets[2] = {value_empty_object(), value_empty_object()};
    struct value edges = value_empty_array();
    struct value one;
    const struct value all = object_field(graph, "nodes");
    const struct value chosen =
        graph_json_choose_adopt(value_ref(all), is_chosen, ctx);
    struct array_iter nodes = array_iter(chosen);
    while (array_next(&nodes, &one)) {
        add_id(&sets[0], object_field(one, "id"));
    }
    struct array_iter iter = array_iter(object_field(graph, "edges"));
    while (array_next(&iter, &one)) {
        const struct value from = object_field(one, "from");
        const struct value to = object_field(one, "to");
        if (has_id(sets[0], to) || (both && has_id(sets[0], from))) {
            add_id(&sets[1], from);
            add_id(&sets[1], to);
            edges = array_push_adopt(edges, value_ref(one));
        }
    }
    const struct value others =
        graph_json_choose_adopt(value_ref(all), is_other_end, sets);
    object_put_adopt(&graph, "nodes", joined_adopt(chosen, others));
    object_put_adopt(&graph, "edges", edges);
    value_unref(sets[0]);
    value_unref(sets[1]);
    return graph;
}

/* -- Commits --------------------------------------------------------------- */

struct history {
    const struct offline_graph *graph;
    const char *piece; /* or NULL: all */
    uint64_t left;
    VEC(struct value) commits; /* the newest first; owned */
};

/* "piece:NAME", "piece:NAME/..." */
static bool is_of_piece(struct value id, const char *piece)
{
    const struct text text = value_text(&id);
    const size_t front = strlen("piece:");
    const size_t length = strlen(piece);
    return text.length >= front + length &&
           memcmp(text.at, "piece:", front) == 0 &&
           memcmp(text.at + front, piece, length) == 0 &&
           (text.length == front + length || text.at[front + length] == '/');
}

static bool note_commit(void *ctx, const struct commit_info *commit)
{
    struct history *history = ctx;
    bool wanted = history->piece == NULL;
    VEC_FOREACH (&commit->writes, write) {
        wanted = wanted || is_of_piece(write->id, history->piece);
    }
    if (wanted && history->left > 0) {
        vec_push(&history->commits, offline_commit(history->graph, commit));
        history->left--;
    }
    return history->left > 0;
}

enum err graph_json_log(struct offline_graph *graph,
                        const struct graph_json_span *span,
                        struct value *out,
                        struct err_detail *detail)
{
    struct history history = {
        .graph = graph,
        .piece = span->piece,
        .left = span->limit,
    };
    const uint64_t head = graph->engine.seq;
    const enum err err = commits_visit(&graph->engine,
                                       span->after,
                                       span->to < head ? span->to : head,
                                       note_commit,
                                       &history,
                                       detail);
    struct value list = value_empty_array();
    for (size_t i = history.commits.count; i-- > 0;) {
        list = array_push_adopt(list, history.commits.at[i]);
    }
    vec_release(&history.commits);
    *out = value_empty_object();
    object_put_adopt(out, "commits", list);
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}
