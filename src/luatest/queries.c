/* Introspection of the scheduler and the replica, as tables of Lua. */

#include "luatest/queries.h"

#include <stdio.h>
#include <string.h>

#include "inspect/live_why.h"
#include "script/convert.h"
#include "script/nodes.h"
#include "value/array.h"
#include "value/object.h"

int queries_push_adopt(lua_State *L,
                       struct test_runtime *rt,
                       struct value value)
{
    view_hold(&rt->lua.frame->views)->value = value;
    convert_push(L, value);
    return 1;
}

int queries_errors(lua_State *L, struct test_runtime *rt)
{
    test_runtime_asked(rt, NULL);
    return queries_push_adopt(L, rt, value_ref(rt->errors));
}

int queries_calls(lua_State *L, struct test_runtime *rt)
{
    const char *name = luaL_optstring(L, 2, NULL);
    struct value list = value_empty_array();
    for (uint32_t i = 0; i < array_count(rt->calls); i++) {
        const struct value call = array_at(rt->calls, i);
        if (name == NULL || value_is_text(object_field(call, "name"), name)) {
            list = array_push_adopt(list, value_ref(call));
        }
    }
    return queries_push_adopt(L, rt, list);
}

int queries_violations(lua_State *L, struct test_runtime *rt)
{
    rt->violations_were_read = true;
    return queries_push_adopt(L, rt, value_ref(rt->violations));
}

/* -- Counters ------------------------------------------------------------ */

static uint64_t outstanding(const struct runtime *runtime)
{
    uint64_t count = 0;
    VEC_FOREACH (&runtime->spaces, space) {
        count += space_outstanding(*space);
    }
    return count;
}

int queries_stats(lua_State *L, struct test_runtime *rt)
{
    const struct runtime *runtime = &rt->one->runtime;
    const struct sched *sched = runtime->sched;
    const struct sched_counters *counters = &sched->counters;
    const struct events_counters *events = events_counters(sched);
    const uint64_t commits = runtime->replica.counters.commits;
    const uint64_t undecided = rt->reverted + outstanding(runtime);
    struct value stats = value_empty_object();
    object_put_number(&stats,
                      "runs",
                      counters->runs - counters->discarded_runs -
                          rt->lua.glances);
    object_put_number(&stats, "failed_runs", counters->failed_runs);
    object_put_number(&stats, "nested_runs", counters->nested_runs);
    object_put_number(&stats, "passes", counters->passes);
    object_put_number(&stats, "sweeps", counters->sweeps);
    object_put_number(&stats, "invalidations", counters->invalidations);
    object_put_number(&stats, "filtered", counters->filtered);
    object_put_number(&stats, "backoffs", counters->backoffs);
    object_put_number(&stats, "violations", counters->violations);
    object_put_number(&stats, "computations", sched->computations);
    object_put_number(&stats, "effects", sched->effects);
    object_put_number(&stats, "commits", commits);
    object_put_number(&stats,
                      "confirmed",
                      commits > undecided ? commits - undecided : 0);
    object_put_number(&stats, "reverted", rt->reverted);
    object_put_number(&stats, "events", events != NULL ? events->done : 0);
    object_put_number(&stats,
                      "attempts",
                      events != NULL ? events->attempts : 0);
    object_put_number(&stats, "drops", events != NULL ? events->dropped : 0);
    object_put_number(&stats, "failures", events != NULL ? events->failed : 0);
    object_put_number(&stats, "adopted", counters->adopted);
    object_put_number(&stats, "reads_of_data", rt->lua.reads);
    object_put_number(&stats, "loads", rt->loads);
    object_put_number(&stats, "documents", runtime->replica.counters.documents);
    return queries_push_adopt(L, rt, stats);
}

/* -- Traces -------------------------------------------------------------- */

static struct value name_value(struct value name, uint32_t ordinal)
{
    struct buf text = {0};
    introspection_write_name(&text, name, ordinal);
    return value_string_adopt(&text);
}

static struct value places_value(struct place *const *places, uint32_t count)
{
    struct value list = value_empty_array();
    for (uint32_t i = 0; i < count && i < TRACE_WRITES; i++) {
        list = array_push_adopt(list, lua_runtime_place_value(places[i]));
    }
    return list;
}

static struct value trigger_value(const struct trace_trigger *trigger)
{
    struct value value = lua_runtime_place_value(trigger->place);
    object_put_adopt(&value,
                     "node",
                     name_value(trigger->name, trigger->ordinal));
    object_put_text(&value, "decision", trigger->decision);
    object_put_text(&value, "kind", notification_name(trigger->kind));
    object_put_text(&value, "before", trigger->before);
    object_put_text(&value, "after", trigger->after);
    object_put_text(&value, "was", introspection_status(trigger->was));
    return value;
}

static struct value run_value(const struct trace_run *run)
{
    static const char *const kinds[] = {"computation", "effect", "handler"};
    struct value value = value_empty_object();
    object_put_adopt(&value, "node", name_value(run->name, run->ordinal));
    object_put_text(&value, "kind", kinds[run->kind]);
    object_put_text(&value, "outcome", introspection_outcome(run->outcome));
    object_put_number(&value, "at", run->at);
    object_put_number(&value, "busy", run->busy_ms);
    object_put_adopt(&value,
                     "declared",
                     places_value(run->declared, run->declared_count));
    object_put_adopt(&value,
                     "writes",
                     places_value(run->actual, run->actual_count));
    return value;
}

static struct value pass_value(const struct trace_pass *pass)
{
    struct value value = value_empty_object();
    object_put_number(&value, "pass", pass->number);
    object_put_number(&value, "at", pass->at);
    object_put_number(&value, "sweeps", pass->sweeps);
    object_put_number(&value, "runs", pass->runs);
    object_put_adopt(&value, "settled", value_bool(pass->settled));
    return value;
}

static struct value trace_value(const struct trace *trace, const char *kind)
{
    struct value list = value_empty_array();
    if (strcmp(kind, "triggers") == 0) {
        for (size_t i = 0; i < trace_trigger_count(trace); i++) {
            list = array_push_adopt(list,
                                    trigger_value(trace_trigger_at(trace, i)));
        }
    } else if (strcmp(kind, "runs") == 0) {
        for (size_t i = 0; i < trace_run_count(trace); i++) {
            list = array_push_adopt(list, run_value(trace_run_at(trace, i)));
        }
    } else {
        for (size_t i = 0; i < trace_pass_count(trace); i++) {
            list = array_push_adopt(list, pass_value(trace_pass_at(trace, i)));
        }
    }
    return list;
}

int queries_trace(lua_State *L, struct test_runtime *rt)
{
    static const char *const kinds[] = {"runs", "triggers", "passes", NULL};
    const int kind = luaL_checkoption(L, 2, "runs", kinds);
    if (rt->trace == NULL) {
        return luaL_error(L,
                          "there is no trace: create the runtime with "
                          "t:runtime{ trace = true }");
    }
    return queries_push_adopt(L, rt, trace_value(rt->trace, kinds[kind]));
}

/* -- The graph ----------------------------------------------------------- */

static struct value node_value(const struct lua_runtime *lua,
                               const struct node *node)
{
    struct value value = value_empty_object();
    object_put_adopt(&value,
                     "name",
                     name_value(node_name(node), node->ordinal));
    object_put_text(&value, "kind", introspection_kind(node));
    object_put_text(&value, "status", introspection_status(node->status));
    object_put_adopt(&value, "live", value_bool(node_is_live(node)));
    object_put_number(&value, "height", node->height);
    object_put_number(&value, "runs", lua_runtime_runs(lua, node->ordinal));
    if (node->parent != NULL) {
        object_put_adopt(
            &value,
            "parent",
            name_value(node_name(node->parent), node->parent->ordinal));
    }
    return value;
}

static struct value edge_value(const struct node *from,
                               const struct node *to,
                               const char *kind)
{
    struct value edge = value_empty_object();
    object_put_adopt(&edge, "from", name_value(node_name(from), from->ordinal));
    object_put_adopt(&edge, "to", name_value(node_name(to), to->ordinal));
    object_put_text(&edge, "kind", kind);
    return edge;
}

/* From those whose outputs the node reads, each once. */
static struct value add_edges(struct value edges, const struct node *node)
{
    struct writer_set writers = {0};
    VEC_FOREACH (&node->reads, read) {
        introspection_add_writers(read, &writers);
    }
    VEC_FOREACH (&writers.at, writer) {
        edges = array_push_adopt(edges, edge_value(*writer, node, "data"));
    }
    vec_release(&writers.at);
    return node->parent == NULL
               ? edges
               : array_push_adopt(edges,
                                  edge_value(node->parent, node, "parent"));
}

int queries_graph(lua_State *L, struct test_runtime *rt)
{
    struct value nodes = value_empty_array();
    struct value edges = value_empty_array();
    LIST_FOREACH (&test_runtime_sched(rt)->nodes, at) {
        const struct node *node = CONTAINER_OF(at, struct node, all);
        nodes = array_push_adopt(nodes, node_value(&rt->lua, node));
        edges = add_edges(edges, node);
    }
    struct value graph = value_empty_object();
    object_put_adopt(&graph, "nodes", nodes);
    object_put_adopt(&graph, "edges", edges);
    return queries_push_adopt(L, rt, graph);
}

/* -- Why ----------------------------------------------------------------- */

static struct value causes_value(const struct run_record *record)
{
    struct value causes = value_empty_array();
    for (uint32_t i = 0; i < introspection_kept_causes(record->cause_count);
         i++) {
        causes =
            array_push_adopt(causes,
                             lua_runtime_place_value(record->causes[i].place));
    }
    return causes;
}

static struct live_source source_of(const struct test_runtime *rt)
{
    return (struct live_source){test_runtime_sched(rt), &rt->one->runtime};
}

/* The sentence of an account, as {text=}. */
static struct value text_adopt(struct value account)
{
    struct value why = value_empty_object();
    object_put_adopt(&why,
                     "text",
                     value_ref(object_field(account, "sentence")));
    value_unref(account);
    return why;
}

int queries_why(lua_State *L, struct test_runtime *rt)
{
    const struct node *node = nodes_check(L, 2, &rt->lua);
    const struct live_source source = source_of(rt);
    struct value why = text_adopt(live_why(&source, node, node->runs));
    const struct run_record *record =
        introspection_last_run(test_runtime_sched(rt), node);
    if (record != NULL) {
        object_put_adopt(&why, "first", value_bool(record->first));
        object_put_text(&why,
                        "outcome",
                        introspection_outcome(record->outcome));
        object_put_number(&why, "at", record->at);
        object_put_adopt(&why, "causes", causes_value(record));
    }
    return queries_push_adopt(L, rt, why);
}

int queries_why_not(lua_State *L, struct test_runtime *rt)
{
    const struct node *node = nodes_check(L, 2, &rt->lua);
    const struct live_source source = source_of(rt);
    struct value why = text_adopt(live_why_not(&source, node));
    object_put_text(&why, "status", introspection_status(node->status));
    object_put_adopt(&why, "live", value_bool(node_is_live(node)));
    return queries_push_adopt(L, rt, why);
}
