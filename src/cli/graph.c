/* heddle graph: the nodes of a piece and what they read from each other. */

#include <string.h>

#include "cli/command.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "inspect/graph_json.h"
#include "value/array.h"
#include "value/object.h"

/* -- As pictures --------------------------------------------------------- */

/* A label between double quotes. */
static void append_label(struct buf *to, struct value node, const char *quote)
{
    struct buf shown = {0};
    look_append_node(&shown, node, "name");
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
    return value_is_text(status, "clean")    ? "#d5f0d5"
           : value_is_text(status, "dirty")  ? "#fff0c0"
           : value_is_text(status, "failed") ? "#f8d0d0"
                                             : "#eeeeee";
}

static void print_dot(struct value graph)
{
    struct array_iter nodes = array_iter(look_list(graph, "nodes"));
    struct array_iter edges = array_iter(look_list(graph, "edges"));
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
        append_label(&line, one, "\\\"");
        buf_printf(&line,
                   "\", shape=%s, fillcolor=\"%s\"];",
                   value_is_text(kind, "input")     ? "ellipse"
                   : value_is_text(kind, "effect")  ? "doubleoctagon"
                   : value_is_text(kind, "handler") ? "cds"
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
    struct array_iter nodes = array_iter(look_list(graph, "nodes"));
    struct array_iter edges = array_iter(look_list(graph, "edges"));
    struct value one;
    struct buf line = {0};
    buf_append_text(&line, "graph LR");
    print_line(&line);
    while (array_next(&nodes, &one)) {
        const struct value kind = object_field(one, "kind");
        const bool input = value_is_text(kind, "input");
        const bool effect = value_is_text(kind, "effect");
        const bool handler = value_is_text(kind, "handler");
        buf_append_text(&line, "  ");
        look_append(&line, object_field(one, "id"));
        buf_append_text(&line,
                        input     ? "([\""
                        : effect  ? "{{\""
                        : handler ? ">\""
                                  : "[\"");
        append_label(&line, one, "#quot;");
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

/* Appends the name of a node or an input, by its id. */
static void append_name_of(struct buf *to, struct value graph, struct value id)
{
    struct array_iter nodes = array_iter(look_list(graph, "nodes"));
    struct value one;
    while (array_next(&nodes, &one)) {
        if (key_equal(object_field(one, "id"), id)) {
            look_append_node(to, one, "name");
            return;
        }
    }
    look_append(to, id);
}

/* " <- net, rate": what a node reads; of a handler, " -> items": what it
 * wrote. */
static void append_ends(struct buf *to, struct value graph, struct value node)
{
    const bool writes = value_is_text(object_field(node, "kind"), "handler");
    const char *own = writes ? "from" : "to";
    const char *other = writes ? "to" : "from";
    struct array_iter edges = array_iter(look_list(graph, "edges"));
    struct value edge;
    size_t count = 0;
    while (array_next(&edges, &edge)) {
        if (key_equal(object_field(edge, own), object_field(node, "id"))) {
            buf_append_text(to, count++ > 0 ? ", " : writes ? " -> " : " <- ");
            append_name_of(to, graph, object_field(edge, other));
        }
    }
}

static void print_text(struct value graph)
{
    struct array_iter nodes = array_iter(look_list(graph, "nodes"));
    struct value one;
    struct buf line = {0};
    while (array_next(&nodes, &one)) {
        if (value_is_text(object_field(one, "kind"), "input")) {
            continue;
        }
        look_append_node(&line, one, "name");
        buf_append_text(&line, " (");
        look_append(&line, object_field(one, "kind"));
        if (!value_is_text(object_field(one, "kind"), "handler")) {
            const struct value task = object_field(one, "task");
            buf_append_text(&line, ", ");
            if (value_is_object(task)) {
                look_append_task(&line, task, object_field(graph, "piece"));
            } else {
                look_append(&line, object_field(one, "status"));
            }
        }
        buf_append_text(
            &line,
            value_is_same(object_field(one, "live"), value_bool(true))
                ? ", live)"
                : ")");
        append_ends(&line, graph, one);
        print_line(&line);
    }
    buf_release(&line);
}

int graph_run(const struct options *options)
{
    struct value graph = VALUE_NONE;
    const int code =
        look_ask(options, look_question_of(options, "graph"), &graph);
    if (code != CODE_OK) {
        return code;
    }
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
    return code;
}
