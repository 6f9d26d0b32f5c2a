/* heddle graph: the nodes of a piece and what they read from each other. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/path.h"

/* A document that is read, and that no node writes. */
struct input {
    struct value id; /* borrowed */
    uint32_t number;
};

struct edge {
    char from[24];
    char to[24];
    const struct run_place *place;
};

struct drawing {
    const struct survey *survey;
    const struct survey_piece *piece;
    VEC(struct input *) inputs;
    struct map by_id; /* struct input */
    VEC(struct edge) edges;
};

/* -- Edges --------------------------------------------------------------- */

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

static size_t number_of_node(const struct drawing *drawing,
                             const struct survey_node *node)
{
    return (size_t)(node - drawing->piece->nodes.at);
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

/* What one read comes from: nodes of this piece, or a document. */
static void draw_read(struct drawing *drawing,
                      const struct survey_node *node,
                      const struct run_place *place)
{
    const struct survey_document *document =
        survey_document(drawing->survey, place->scope_key, place->id);
    struct edge edge = {.place = place};
    bool drawn = false;
    (void)snprintf(edge.to,
                   sizeof edge.to,
                   "n%zu",
                   number_of_node(drawing, node));
    for (size_t i = 0; document != NULL && i < document->outputs.count; i++) {
        const struct survey_output *output = &document->outputs.at[i];
        if (output->node->piece == drawing->piece && output->node != node &&
            survey_reads(place, output)) {
            (void)snprintf(edge.from,
                           sizeof edge.from,
                           "n%zu",
                           number_of_node(drawing, output->node));
            add_edge(drawing, &edge);
            drawn = true;
        }
        drawn = drawn || output->node == node;
    }
    if (!drawn) {
        (void)snprintf(edge.from,
                       sizeof edge.from,
                       "i%" PRIu32,
                       input_of(drawing, place->id)->number);
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

static void drawing_release(struct drawing *drawing)
{
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

/* -- As JSON ------------------------------------------------------------- */

static struct value describe(const struct drawing *drawing)
{
    struct value object = value_empty_object();
    struct value nodes = value_empty_array();
    struct value edges = value_empty_array();
    char id[24];
    size_t number = 0;
    VEC_FOREACH (&drawing->piece->nodes, node) {
        struct value one = value_empty_object();
        (void)snprintf(id, sizeof id, "n%zu", number++);
        object_put_adopt(&one, "id", value_text_new(id));
        object_put_adopt(&one, "name", value_ref(node->name));
        object_put_adopt(&one, "kind", value_ref(node->kind));
        object_put_adopt(&one, "status", value_text_new(survey_status(node)));
        object_put_adopt(&one, "live", value_bool(node->live));
        object_put_adopt(&one, "wanted", value_bool(node->wanted));
        object_put_adopt(
            &one,
            "runs",
            value_int(node->run != NULL ? (int64_t)node->run->runs : 0));
        nodes = array_push_adopt(nodes, one);
    }
    VEC_FOREACH (&drawing->inputs, input) {
        struct value one = value_empty_object();
        (void)snprintf(id, sizeof id, "i%" PRIu32, (*input)->number);
        object_put_adopt(&one, "id", value_text_new(id));
        object_put_adopt(&one, "name", short_id(drawing, (*input)->id));
        object_put_adopt(&one, "kind", value_text_new("input"));
        object_put_adopt(&one, "document", value_ref((*input)->id));
        nodes = array_push_adopt(nodes, one);
    }
    VEC_FOREACH (&drawing->edges, edge) {
        struct value one = value_empty_object();
        object_put_adopt(&one, "from", value_text_new(edge->from));
        object_put_adopt(&one, "to", value_text_new(edge->to));
        object_put_adopt(&one, "document", value_ref(edge->place->id));
        edges = array_push_adopt(edges, one);
    }
    object_put_adopt(&object, "piece", value_ref(drawing->piece->name));
    object_put_adopt(&object, "nodes", nodes);
    object_put_adopt(&object, "edges", edges);
    return object;
}

/* -- As pictures --------------------------------------------------------- */

static bool is_text(struct value value, const char *text)
{
    const struct text is =
        value_is_string(value) ? value_text(&value) : (struct text){"", 0};
    return is.length == strlen(text) && memcmp(is.at, text, is.length) == 0;
}

/* A label between double quotes. */
static void append_label(struct buf *to, struct value name, const char *quote)
{
    struct buf shown = {0};
    look_append(&shown, name);
    for (size_t i = 0; i < shown.length; i++) {
        if (shown.at[i] == '"') {
            buf_append_text(to, quote);
        } else {
            buf_append_char(to, shown.at[i]);
        }
    }
    buf_release(&shown);
}

static void print_line(struct buf *line)
{
    output_bytes(buf_text(line), line->length);
    buf_clear(line);
}

static const char *colour_of(struct value status)
{
    return is_text(status, "clean")    ? "#d5f0d5"
           : is_text(status, "dirty")  ? "#fff0c0"
           : is_text(status, "failed") ? "#f8d0d0"
                                       : "#eeeeee";
}

static void print_dot(struct value graph)
{
    struct array_iter nodes = array_iter(object_field(graph, "nodes"));
    struct array_iter edges = array_iter(object_field(graph, "edges"));
    struct value one;
    struct buf line = {0};
    buf_append_text(&line, "digraph heddle {");
    print_line(&line);
    buf_append_text(&line, "  rankdir=LR; node [style=filled];");
    print_line(&line);
    while (array_next(&nodes, &one)) {
        const struct value kind = object_field(one, "kind");
        buf_append_text(&line, "  ");
        look_append(&line, object_field(one, "id"));
        buf_append_text(&line, " [label=\"");
        append_label(&line, object_field(one, "name"), "\\\"");
        buf_printf(&line,
                   "\", shape=%s, fillcolor=\"%s\"];",
                   is_text(kind, "input")    ? "ellipse"
                   : is_text(kind, "effect") ? "doubleoctagon"
                                             : "box",
                   colour_of(object_field(one, "status")));
        print_line(&line);
    }
    while (array_next(&edges, &one)) {
        buf_append_text(&line, "  ");
        look_append(&line, object_field(one, "from"));
        buf_append_text(&line, " -> ");
        look_append(&line, object_field(one, "to"));
        buf_append_char(&line, ';');
        print_line(&line);
    }
    buf_append_char(&line, '}');
    print_line(&line);
    buf_release(&line);
}

static void print_mermaid(struct value graph)
{
    struct array_iter nodes = array_iter(object_field(graph, "nodes"));
    struct array_iter edges = array_iter(object_field(graph, "edges"));
    struct value one;
    struct buf line = {0};
    buf_append_text(&line, "graph LR");
    print_line(&line);
    while (array_next(&nodes, &one)) {
        const struct value kind = object_field(one, "kind");
        const bool input = is_text(kind, "input");
        const bool effect = is_text(kind, "effect");
        buf_append_text(&line, "  ");
        look_append(&line, object_field(one, "id"));
        buf_append_text(&line, input ? "([\"" : effect ? "{{\"" : "[\"");
        append_label(&line, object_field(one, "name"), "#quot;");
        buf_append_text(&line, input ? "\"])" : effect ? "\"}}" : "\"]");
        print_line(&line);
    }
    while (array_next(&edges, &one)) {
        buf_append_text(&line, "  ");
        look_append(&line, object_field(one, "from"));
        buf_append_text(&line, " --> ");
        look_append(&line, object_field(one, "to"));
        print_line(&line);
    }
    buf_release(&line);
}

/* The name of a node or an input, by its id. */
static struct value name_of(struct value graph, struct value id)
{
    struct array_iter nodes = array_iter(object_field(graph, "nodes"));
    struct value one;
    while (array_next(&nodes, &one)) {
        if (key_equal(object_field(one, "id"), id)) {
            return object_field(one, "name");
        }
    }
    return id;
}

static void print_text(struct value graph)
{
    struct array_iter nodes = array_iter(object_field(graph, "nodes"));
    struct value one;
    struct buf line = {0};
    while (array_next(&nodes, &one)) {
        if (is_text(object_field(one, "kind"), "input")) {
            continue;
        }
        look_append(&line, object_field(one, "name"));
        buf_append_text(&line, " (");
        look_append(&line, object_field(one, "kind"));
        buf_append_text(&line, ", ");
        look_append(&line, object_field(one, "status"));
        buf_append_text(
            &line,
            value_is_same(object_field(one, "live"), value_bool(true))
                ? ", live)"
                : ")");
        size_t count = 0;
        struct array_iter edges = array_iter(object_field(graph, "edges"));
        struct value edge;
        while (array_next(&edges, &edge)) {
            if (key_equal(object_field(edge, "to"), object_field(one, "id"))) {
                buf_append_text(&line, count++ == 0 ? " <- " : ", ");
                look_append(&line, name_of(graph, object_field(edge, "from")));
            }
        }
        print_line(&line);
    }
    buf_release(&line);
}

int graph_run(const struct options *options)
{
    struct survey *survey = NULL;
    struct survey_piece *piece = NULL;
    int code = look_open(options, &survey);
    if (code != CODE_OK) {
        return code;
    }
    code = look_piece(options, survey, 0, &piece);
    if (code == CODE_OK) {
        struct drawing drawing = {.survey = survey, .piece = piece};
        draw(&drawing);
        const struct value graph = describe(&drawing);
        if (option_is_given(options, OPTION_JSON)) {
            look_print_adopt(options, value_ref(graph));
        } else if (option_is_given(options, OPTION_DOT)) {
            print_dot(graph);
        } else if (option_is_given(options, OPTION_MERMAID)) {
            print_mermaid(graph);
        } else {
            print_text(graph);
        }
        value_unref(graph);
        drawing_release(&drawing);
    }
    survey_close(survey);
    return code;
}
