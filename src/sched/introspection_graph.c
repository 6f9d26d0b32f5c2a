/* The graph, the nodes and the counters as values. */

#include <stdio.h>

#include "replica/space.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/introspection.h"
#include "value/array.h"
#include "value/object.h"

static struct value node_id(const struct node *node)
{
    char text[32];
    (void)snprintf(text, sizeof text, "n%u", node->ordinal);
    return value_text_new(text);
}

static struct value place_text(const struct place *place)
{
    struct buf text = {0};
    introspection_write_place(&text, place);
    return value_string_adopt(&text);
}

static struct value entity_text(const char *prefix, const struct entity *entity)
{
    struct buf text = {0};
    buf_append_text(&text, prefix);
    introspection_write_entity(&text, entity);
    return value_string_adopt(&text);
}

const char *introspection_status(enum node_status status)
{
    return status == NODE_CLEAN     ? "clean"
           : status == NODE_INVALID ? "invalid"
                                    : "never-ran";
}

const char *introspection_kind(const struct node *node)
{
    return node->kind == NODE_EFFECT ? "effect"
           : node->materializer      ? "materializer"
                                     : "computation";
}

/* -- Nodes --------------------------------------------------------------- */

struct value introspection_statistics(const struct node *node)
{
    struct value value = value_empty_object();
    object_put_number(&value, "runs", node->runs);
    object_put_number(&value, "totalMs", node->busy_ms);
    object_put_adopt(&value,
                     "averageMs",
                     value_double(node->runs == 0 ? 0.0
                                                  : (double)node->busy_ms /
                                                        (double)node->runs));
    object_put_number(&value, "lastMs", node->last_ms);
    object_put_number(&value, "endedAt", node->ended_at);
    return value;
}

static void put_gates(struct value *value,
                      const struct sched *sched,
                      const struct node *node)
{
    const struct gate *gate = node->gate;
    if (gate == NULL) {
        return;
    }
    if (gate->debounce > 0) {
        object_put_number(value, "debounceMs", gate->debounce);
    }
    if (gate->throttle > 0) {
        object_put_number(value, "throttleMs", gate->throttle);
    }
    const char *reason = gates_reason(node, sched->now);
    if (reason != NULL && node_is_stale(node)) {
        const mono_ms at = gates_eligible_at(node);
        object_put_adopt(value, "gate", value_text_new(reason));
        object_put_number(value,
                          "eligibleInMs",
                          at > sched->now ? at - sched->now : 0);
    }
}

static void put_reads(struct value *value, const struct node *node)
{
    struct value reads = value_empty_array();
    struct value shape_reads = value_empty_array();
    VEC_FOREACH (&node->reads, read) {
        struct value *list = read->kind == READ_DEEP ? &reads : &shape_reads;
        *list = array_push_adopt(*list, place_text(read->place));
    }
    object_put_adopt(value, "reads", reads);
    object_put_adopt(value, "shapeReads", shape_reads);
}

static void put_writes(struct value *value, const struct node *node)
{
    struct value writes = value_empty_array();
    struct value envelopes = value_empty_array();
    for (uint32_t i = 0; i < node->write_count; i++) {
        const struct write_link *write = &node->writes[i];
        struct value *list = graph_is_envelope(write) ? &envelopes : &writes;
        *list = array_push_adopt(*list, place_text(write->place));
    }
    object_put_adopt(value, "writes", writes);
    object_put_adopt(value, "envelopes", envelopes);
}

static struct value node_value(const struct sched *sched,
                               const struct node *node)
{
    struct value value = value_empty_object();
    object_put_adopt(&value, "id", node_id(node));
    if (value_is_string(node_name(node))) {
        object_put_adopt(&value, "name", value_ref(node_name(node)));
    }
    object_put_text(&value, "type", introspection_kind(node));
    object_put_text(&value, "status", introspection_status(node->status));
    object_put_adopt(&value, "live", value_bool(node->counted));
    object_put_adopt(&value,
                     "queued",
                     value_bool(node->place_in_queue != QUEUE_NONE));
    object_put_number(&value, "height", node->height);
    if (node->parent != NULL) {
        object_put_adopt(&value, "parent", node_id(node->parent));
    }
    put_gates(&value, sched, node);
    object_put_adopt(&value, "stats", introspection_statistics(node));
    put_reads(&value, node);
    put_writes(&value, node);
    return value;
}

/* -- Edges --------------------------------------------------------------- */

static struct value edge_value(struct value from, struct value to)
{
    struct value edge = value_empty_object();
    object_put_adopt(&edge, "from", from);
    object_put_adopt(&edge, "to", to);
    return edge;
}

/* The documents over which an edge goes, each once. */
static bool has_entity(const struct read_link *reads,
                       size_t count,
                       const struct entity *entity)
{
    for (size_t i = 0; i < count; i++) {
        if (reads[i].place->entity == entity) {
            return true;
        }
    }
    return false;
}

static bool writes_what(const struct node *writer, const struct read_link *read)
{
    struct writer_walk walk = graph_writers(read);
    for (const struct node *at = graph_next_writer(&walk); at != NULL;
         at = graph_next_writer(&walk)) {
        if (at == writer) {
            return true;
        }
    }
    return false;
}

static struct value edge_documents(const struct node *writer,
                                   const struct node *reader)
{
    struct value documents = value_empty_array();
    VEC(struct read_link) found = {0};
    VEC_FOREACH (&reader->reads, read) {
        if (writes_what(writer, read) &&
            !has_entity(found.at, found.count, read->place->entity)) {
            vec_push(&found, *read);
            documents = array_push_adopt(documents,
                                         entity_text("", read->place->entity));
        }
    }
    vec_release(&found);
    return documents;
}

void introspection_add_writers(const struct read_link *read,
                               struct writer_set *set)
{
    struct writer_walk walk = graph_writers(read);
    for (const struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        bool known = false;
        VEC_FOREACH (&set->at, other) {
            known = known || *other == writer;
        }
        if (!known) {
            vec_push(&set->at, writer);
        }
    }
}

/* From those whose outputs the node reads, each once. */
static void put_data_edges(struct value *edges, const struct node *reader)
{
    struct writer_set writers = {0};
    VEC_FOREACH (&reader->reads, read) {
        introspection_add_writers(read, &writers);
    }
    VEC_FOREACH (&writers.at, writer) {
        struct value edge = edge_value(node_id(*writer), node_id(reader));
        object_put_adopt(&edge, "documents", edge_documents(*writer, reader));
        *edges = array_push_adopt(*edges, edge);
    }
    vec_release(&writers.at);
}

static void put_parent_edge(struct value *edges, const struct node *node)
{
    if (node->parent != NULL) {
        struct value edge = edge_value(node_id(node->parent), node_id(node));
        object_put_text(&edge, "type", "parent");
        *edges = array_push_adopt(*edges, edge);
    }
}

/* -- Inputs: documents that are read and that no node writes -------------- */

static bool is_written(const struct sched *sched, const struct entity *entity)
{
    LIST_FOREACH (&sched->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        for (uint32_t i = 0; i < node->write_count; i++) {
            if (node->writes[i].place->entity == entity) {
                return true;
            }
        }
    }
    return false;
}

struct inputs {
    VEC(const struct entity *) at;
};

static bool note_input(struct inputs *inputs, const struct entity *entity)
{
    VEC_FOREACH (&inputs->at, known) {
        if (*known == entity) {
            return false;
        }
    }
    vec_push(&inputs->at, entity);
    return true;
}

static void put_inputs(const struct sched *sched,
                       const struct node *node,
                       struct inputs *inputs,
                       struct value *nodes,
                       struct value *edges)
{
    for (size_t i = 0; i < node->reads.count; i++) {
        const struct entity *entity = node->reads.at[i].place->entity;
        if (has_entity(node->reads.at, i, entity) ||
            is_written(sched, entity)) {
            continue;
        }
        if (note_input(inputs, entity)) {
            struct value input = value_empty_object();
            object_put_adopt(&input, "id", entity_text("input:", entity));
            object_put_text(&input, "type", "input");
            *nodes = array_push_adopt(*nodes, input);
        }
        struct value edge =
            edge_value(entity_text("input:", entity), node_id(node));
        object_put_adopt(
            &edge,
            "documents",
            array_push_adopt(value_empty_array(), entity_text("", entity)));
        *edges = array_push_adopt(*edges, edge);
    }
}

struct value introspection_nodes(const struct sched *sched)
{
    struct value nodes = value_empty_array();
    LIST_FOREACH (&sched->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        nodes = array_push_adopt(nodes, node_value(sched, node));
    }
    return nodes;
}

struct value introspection_graph(const struct sched *sched)
{
    struct value nodes = value_empty_array();
    struct value edges = value_empty_array();
    struct inputs inputs = {0};
    LIST_FOREACH (&sched->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        nodes = array_push_adopt(nodes, node_value(sched, node));
        put_data_edges(&edges, node);
        put_parent_edge(&edges, node);
        put_inputs(sched, node, &inputs, &nodes, &edges);
    }
    vec_release(&inputs.at);
    struct value graph = value_empty_object();
    object_put_number(&graph, "at", sched->now);
    object_put_adopt(&graph, "nodes", nodes);
    object_put_adopt(&graph, "edges", edges);
    return graph;
}

/* -- Counters ------------------------------------------------------------ */

struct value introspection_counters(const struct sched *sched)
{
    const struct sched_counters *counters = &sched->counters;
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        {"runs", counters->runs},
        {"nestedRuns", counters->nested_runs},
        {"looks", counters->looks},
        {"discardedRuns", counters->discarded_runs},
        {"failedRuns", counters->failed_runs},
        {"passes", counters->passes},
        {"sweeps", counters->sweeps},
        {"pops", counters->pops},
        {"filtered", counters->filtered},
        {"invalidations", counters->invalidations},
        {"visits", counters->visits},
        {"compared", counters->compared},
        {"livenessWork", counters->liveness_work},
        {"heightWork", counters->height_work},
        {"deltaLinks", counters->delta_links},
        {"surfaceViolations", counters->surface_violations},
        {"backoffs", counters->backoffs},
        {"notSettling", counters->not_settling},
        {"validations", counters->validations},
        {"violations", counters->violations},
    };
    struct value value = value_empty_object();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        object_put_number(&value, rows[i].name, rows[i].count);
    }
    return value;
}

void introspection_reset_counters(struct sched *sched)
{
    sched->counters = (struct sched_counters){0};
}
