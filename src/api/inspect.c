/* Questions to an open runtime: its nodes, and why they run or do not.
 *
 * The scheduler knows it all (sched/introspection.h); here it is put into
 * values. Nothing is changed, and nothing is remembered for it. */

#include <string.h>

#include "api/cell.h"
#include "api/handle.h"
#include "api/node.h"
#include "runtime/piece.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/preflight.h"
#include "sched/scheduler.h"
#include "value/array.h"
#include "value/object.h"

static void put_number(struct value *object, const char *key, uint64_t number)
{
    object_put_adopt(object, key, value_int((int64_t)number));
}

static void put_text(struct value *object, const char *key, const char *text)
{
    object_put_adopt(object, key, value_text_new(text));
}

static struct value string_of(struct buf *text)
{
    const struct value string = value_string_new(buf_text(text), text->length);
    buf_release(text);
    return string;
}

/* -- All nodes ----------------------------------------------------------- */

/* Whether a node is one of a piece: "shopping/total". The name of a piece has
 * no '/' in it. */
static bool is_of(struct value node, struct value piece)
{
    const struct value name = object_field(node, "name");
    if (!value_is_string(name)) {
        return false;
    }
    const struct text whole = value_text(&name);
    const struct text front = value_text(&piece);
    return whole.length > front.length && whole.at[front.length] == '/' &&
           memcmp(whole.at, front.at, front.length) == 0;
}

static struct value nodes_of_adopt(struct value nodes, struct value piece)
{
    if (value_is_absent(piece)) {
        return nodes;
    }
    struct value chosen = value_empty_array();
    struct array_iter iter = array_iter(nodes);
    struct value node;
    while (array_next(&iter, &node)) {
        if (is_of(node, piece)) {
            chosen = array_push_adopt(chosen, value_ref(node));
        }
    }
    value_unref(nodes);
    return chosen;
}

static bool has_id(struct value nodes, struct value id)
{
    struct array_iter iter = array_iter(nodes);
    struct value node;
    while (array_next(&iter, &node)) {
        if (key_equal(object_field(node, "id"), id)) {
            return true;
        }
    }
    return false;
}

/* Those that lead to the nodes of the piece, and where they come from. */
static struct value graph_of_adopt(struct value graph, struct value piece)
{
    if (value_is_absent(piece)) {
        return graph;
    }
    const struct value all = object_field(graph, "nodes");
    struct value nodes = nodes_of_adopt(value_ref(all), piece);
    const struct value own = value_ref(nodes);
    struct value edges = value_empty_array();
    struct array_iter iter = array_iter(object_field(graph, "edges"));
    struct value edge;
    while (array_next(&iter, &edge)) {
        if (has_id(own, object_field(edge, "to"))) {
            edges = array_push_adopt(edges, value_ref(edge));
        }
    }
    struct array_iter sources = array_iter(edges);
    while (array_next(&sources, &edge)) {
        const struct value from = object_field(edge, "from");
        struct array_iter others = array_iter(all);
        struct value node;
        while (!has_id(nodes, from) && array_next(&others, &node)) {
            if (key_equal(object_field(node, "id"), from)) {
                nodes = array_push_adopt(nodes, value_ref(node));
            }
        }
    }
    struct value chosen = value_empty_object();
    object_put_adopt(&chosen, "at", value_ref(object_field(graph, "at")));
    object_put_adopt(&chosen, "nodes", nodes);
    object_put_adopt(&chosen, "edges", edges);
    value_unref(own);
    value_unref(graph);
    return chosen;
}

/* The name of a piece that is started, new; absent: none is asked for. */
static enum err check_piece(const hd_runtime *runtime,
                            const char *piece,
                            struct value *out,
                            struct err_detail *detail)
{
    *out = VALUE_NONE;
    enum err err = runtime_check_ground(runtime, detail);
    if (err != ERR_OK || piece == NULL) {
        return err;
    }
    err = edge_name(piece, "piece", out, detail);
    if (err != ERR_OK) {
        return err;
    }
    LIST_FOREACH (&runtime_inside(runtime)->pieces, at) {
        const struct piece *started = CONTAINER_OF(at, struct piece, node);
        if (key_equal(started->name, *out)) {
            return ERR_OK;
        }
    }
    return err_set(detail, ERR_NOT_FOUND, "piece '%s' is not running", piece);
}

hd_status hd_runtime_nodes(hd_runtime *runtime,
                           const char *piece,
                           hd_value **nodes,
                           hd_error *error)
{
    if (nodes == NULL) {
        return error_null(error, "nodes");
    }
    *nodes = NULL;
    struct err_detail detail = {0};
    struct value name;
    const enum err err = check_piece(runtime, piece, &name, &detail);
    if (err == ERR_OK) {
        const struct value all = introspection_nodes(runtime_sched(runtime));
        *nodes = handle_new_adopt(nodes_of_adopt(all, name));
    }
    value_unref(name);
    return error_report(error, err, &detail);
}

hd_status hd_runtime_graph(hd_runtime *runtime,
                           const char *piece,
                           hd_value **graph,
                           hd_error *error)
{
    if (graph == NULL) {
        return error_null(error, "graph");
    }
    *graph = NULL;
    struct err_detail detail = {0};
    struct value name;
    const enum err err = check_piece(runtime, piece, &name, &detail);
    if (err == ERR_OK) {
        const struct value all = introspection_graph(runtime_sched(runtime));
        *graph = handle_new_adopt(graph_of_adopt(all, name));
    }
    value_unref(name);
    return error_report(error, err, &detail);
}

static uint64_t count_pieces(const struct runtime *inside)
{
    uint64_t count = 0;
    LIST_FOREACH (&inside->pieces, at) {
        (void)at;
        count++;
    }
    return count;
}

hd_status hd_runtime_statistics(hd_runtime *runtime,
                                hd_value **statistics,
                                hd_error *error)
{
    if (statistics == NULL) {
        return error_null(error, "statistics");
    }
    *statistics = NULL;
    struct err_detail detail = {0};
    const enum err err = runtime_check_ground(runtime, &detail);
    if (err == ERR_OK) {
        const struct sched *sched = runtime_sched(runtime);
        struct value object = value_empty_object();
        put_number(&object, "at", home_now(runtime->home));
        put_number(&object, "computations", sched->computations);
        put_number(&object, "effects", sched->effects);
        put_number(&object, "pieces", count_pieces(runtime_inside(runtime)));
        put_number(&object, "outstanding", home_outstanding(runtime->home));
        object_put_adopt(&object, "counters", introspection_counters(sched));
        *statistics = handle_new_adopt(object);
    }
    return error_report(error, err, &detail);
}

/* -- Why ----------------------------------------------------------------- */

static struct value name_of(struct value name, uint32_t ordinal)
{
    struct buf text = {0};
    introspection_write_name(&text, name, ordinal);
    return string_of(&text);
}

static const char *kind_name(enum node_kind kind)
{
    return kind == NODE_HANDLER  ? "handler"
           : kind == NODE_EFFECT ? "effect"
                                 : "computation";
}

/* A handler is never out of date, and has no status. */
static struct value describe(const struct node *node)
{
    static const char *const status[] = {
        [NODE_NEVER_RAN] = "never-ran",
        [NODE_CLEAN] = "clean",
        [NODE_INVALID] = "invalid",
    };
    struct value object = value_empty_object();
    object_put_adopt(&object, "node", name_of(node_name(node), node->ordinal));
    put_text(&object, "kind", kind_name(node->kind));
    if (node->kind != NODE_HANDLER) {
        put_text(&object, "status", status[node->status]);
    }
    return object;
}

/* The run that made a change, if it is remembered. */
static const struct run_record *run_behind(const struct sched *sched,
                                           const struct change_record *change)
{
    for (size_t i = 0; i < SCHED_RECORDS; i++) {
        const struct run_record *record = &sched->records[i];
        if (record->number > 0 && record->version == change->version &&
            record->ordinal == change->source - 1) {
            return record;
        }
    }
    return NULL;
}

static struct value name_of_source(const struct sched *sched,
                                   const struct run_record *run,
                                   uint32_t ordinal)
{
    struct value name = run != NULL ? run->name : VALUE_NONE;
    LIST_FOREACH (&sched->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        name = node->ordinal == ordinal ? node_name(node) : name;
    }
    return name_of(name, ordinal);
}

static struct value describe_source(const struct sched *sched,
                                    const struct change_record *change)
{
    struct value by = value_empty_object();
    if (change->source == 0) {
        put_text(&by, "type", "outside");
        put_text(&by, "kind", notification_name(change->kind));
        return by;
    }
    const uint32_t ordinal = change->source - 1;
    const struct run_record *run = run_behind(sched, change);
    const bool event = run != NULL && run->kind == NODE_HANDLER;
    put_text(&by, "type", event ? "event" : "node");
    object_put_adopt(&by,
                     event ? "handler" : "node",
                     name_of_source(sched, run, ordinal));
    if (event) {
        put_number(&by, "event", run->event);
    }
    return by;
}

static struct value describe_cause(const struct sched *sched,
                                   const struct cause *cause)
{
    struct value object = value_empty_object();
    struct buf address = {0};
    introspection_write_place(&address, cause->place);
    object_put_adopt(&object, "address", string_of(&address));
    const struct change_record *change =
        introspection_change(sched, cause->version);
    if (change != NULL) {
        if (change->local_seq > 0) {
            put_number(&object, "commit", change->local_seq);
        }
        object_put_adopt(&object, "by", describe_source(sched, change));
    }
    return object;
}

static const char *reason_of(const struct run_record *record)
{
    return record->kind == NODE_HANDLER ? "event"
           : record->cause_count > 0    ? "change"
           : record->first              ? "first"
                                        : "asked";
}

static void put_record(const struct sched *sched,
                       const struct run_record *record,
                       struct value *object)
{
    put_text(object, "reason", reason_of(record));
    put_number(object, "pass", record->pass);
    put_number(object, "sweep", record->sweep + 1);
    put_number(object, "at", record->at);
    put_number(object, "ms", record->busy_ms);
    put_text(object, "outcome", introspection_outcome(record->outcome));
    if (record->kind == NODE_HANDLER) {
        put_number(object, "event", record->event);
    }
    struct value causes = value_empty_array();
    const uint32_t kept = introspection_kept_causes(record->cause_count);
    for (uint32_t i = 0; i < kept; i++) {
        causes =
            array_push_adopt(causes, describe_cause(sched, &record->causes[i]));
    }
    object_put_adopt(object, "causes", causes);
    put_number(object, "more", record->cause_count - kept);
}

static struct value why(const struct sched *sched,
                        const struct node *node,
                        uint64_t runs)
{
    struct value object = describe(node);
    const struct run_record *record = introspection_last_run(sched, node);
    struct buf sentence = {0};
    put_number(&object, "runs", runs);
    if (record != NULL) {
        put_record(sched, record, &object);
    } else {
        put_text(&object, "reason", runs == 0 ? "never" : "forgotten");
    }
    introspection_why(sched, node, &sentence);
    object_put_adopt(&object, "sentence", string_of(&sentence));
    return object;
}

/* -- Why not ------------------------------------------------------------- */

/* In the order of introspection_why_not, whose sentence stands beside it. */
static const char *missing(struct sched *sched, const struct node *node)
{
    if (node->running) {
        return "running";
    }
    if (node->status == NODE_CLEAN) {
        return preflight_stale_source(sched, node) != NULL ? "waits" : "clean";
    }
    if (!node->counted && !node->again) {
        return "nobody-looks";
    }
    if (gates_reason(node, sched->now) != NULL) {
        return "gated";
    }
    return "none";
}

static struct value why_not_handler(const struct node *node)
{
    struct value object = describe(node);
    struct buf sentence = {0};
    put_text(&object, "condition", "event");
    introspection_write_name(&sentence, node_name(node), node->ordinal);
    buf_append_text(&sentence, " runs once for each event of its stream");
    object_put_adopt(&object, "sentence", string_of(&sentence));
    return object;
}

static struct value why_not(struct sched *sched, const struct node *node)
{
    if (node->kind == NODE_HANDLER) {
        return why_not_handler(node);
    }
    struct value object = describe(node);
    const char *condition = missing(sched, node);
    struct buf sentence = {0};
    put_text(&object, "condition", condition);
    if (strcmp(condition, "gated") == 0) {
        const mono_ms at = gates_eligible_at(node);
        put_text(&object, "gate", gates_reason(node, sched->now));
        put_number(&object, "inMs", at > sched->now ? at - sched->now : 0);
    }
    introspection_why_not(sched, node, &sentence);
    object_put_adopt(&object, "sentence", string_of(&sentence));
    return object;
}

/* -- Of a node ----------------------------------------------------------- */

/* What a handle is about, on the ground; NULL on an error, CLOSED if it was
 * removed. */
static enum err check_node(const hd_node *node,
                           const struct node **out,
                           struct err_detail *detail)
{
    *out = NULL;
    enum err err = object_check_open(node, OBJECT_NODE, "node", detail);
    if (err == ERR_OK) {
        err = runtime_check_ground(node->object.runtime, detail);
    }
    if (err == ERR_OK) {
        *out = node_inside(node);
        err = *out != NULL
                  ? ERR_OK
                  : err_set(detail, ERR_CLOSED, "the node was removed");
    }
    return err;
}

hd_status hd_node_why(hd_node *node, hd_value **account, hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    const struct node *inside;
    const enum err err = check_node(node, &inside, &detail);
    if (inside != NULL) {
        const bool handler = inside->kind == NODE_HANDLER;
        *account =
            handle_new_adopt(why(runtime_sched(node->object.runtime),
                                 inside,
                                 handler ? node->doer->runs : inside->runs));
    }
    return error_report(error, err, &detail);
}

hd_status hd_node_why_not(hd_node *node, hd_value **account, hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    const struct node *inside;
    const enum err err = check_node(node, &inside, &detail);
    if (inside != NULL) {
        *account = handle_new_adopt(
            why_not(runtime_sched(node->object.runtime), inside));
    }
    return error_report(error, err, &detail);
}

/* -- Of a place ---------------------------------------------------------- */

static struct value describe_writer(struct sched *sched,
                                    const struct node *writer)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "why", why(sched, writer, writer->runs));
    object_put_adopt(&object, "whyNot", why_not(sched, writer));
    return object;
}

/* Whoever writes what somebody who reads the place would see, each once. */
static struct value describe_writers(struct sched *sched, struct place *place)
{
    const struct read_link read = {.place = place, .kind = READ_DEEP};
    struct value writers = value_empty_array();
    VEC(const struct node *) told = {0};
    struct writer_walk walk = graph_writers(&read);
    for (const struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        bool known = false;
        VEC_FOREACH (&told, other) {
            known = known || *other == writer;
        }
        if (!known) {
            vec_push(&told, writer);
            writers = array_push_adopt(writers, describe_writer(sched, writer));
        }
    }
    vec_release(&told);
    return writers;
}

hd_status hd_cell_why(hd_cell *cell, hd_value **account, hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    struct place *place = NULL;
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        err = runtime_check_ground(cell->object.runtime, &detail);
    }
    if (err == ERR_OK) {
        err = cell_target(cell->object.runtime, cell->place, &place, &detail);
    }
    if (err == ERR_OK) {
        struct value object = value_empty_object();
        struct buf address = {0};
        place_write(&address, place);
        object_put_adopt(&object, "address", string_of(&address));
        object_put_adopt(
            &object,
            "writers",
            describe_writers(runtime_sched(cell->object.runtime), place));
        place_unref(place);
        *account = handle_new_adopt(object);
    }
    return cell_report(error, err, &detail, cell);
}
