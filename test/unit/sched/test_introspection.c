/* The graph, the nodes and their statistics as values. */

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* -- Statistics and the graph -------------------------------------------- */

static enum run_result slow(struct run *run, struct kit_node *node)
{
    node->kit->sim.now += (mono_ms)node->k++;
    return kit_fn_see(run, node);
}

static const char *json_of(struct sched_kit *kit, struct value value)
{
    struct buf *text = &kit->texts[kit->next_text++ % KIT_ANSWERS];
    buf_clear(text);
    json_write(text, value, JSON_AS_GIVEN, 0);
    value_unref(value);
    for (size_t i = 0; i < text->length; i++) {
        if (text->at[i] == '"') {
            text->at[i] = '\'';
        }
    }
    return buf_text(text);
}

TEST(statistics_belong_to_the_node)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1");
    struct kit_node *e = kit_effect(&kit, "same", "a", slow, 10);
    struct kit_node *other = kit_see(&kit, "same", "a");
    EXPECT_TEXT(json_of(&kit, introspection_statistics(e->node)),
                "{'runs':0,'totalMs':0,'averageMs':0,'lastMs':0,'endedAt':0}");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(json_of(&kit, introspection_statistics(e->node)),
                "{'runs':2,'totalMs':21,'averageMs':10.5,'lastMs':11,"
                "'endedAt':1021}");
    EXPECT_CONTAINS(json_of(&kit, introspection_statistics(other->node)),
                    "{'runs':2,'totalMs':0,");
    kit_end(&kit);
}

static enum run_result with_child(struct run *run, struct kit_node *node)
{
    if (node->kids == NULL) {
        node->kids = kit_sum(node->kit, "K", "a -> k", 0);
    }
    return kit_fn_see(run, node);
}

TEST(the_graph_has_inputs_data_and_parents)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a={'x':1,'y':2} b=0 k=0 t=0");
    kit_sum(&kit, "C", "a.x a.y -> b", 0);
    kit_effect(&kit, "P", "b ^a", with_child, 0);
    const struct kit_spec spec = {
        .surface = "a.x",
        .writes = "t",
        .envelopes = "t",
        .fn = kit_fn_sum,
        .debounce = 50,
    };
    kit_add(&kit, "M", &spec);
    kit_step(&kit);
    const char *text = json_of(&kit, introspection_graph(kit.sched));
    EXPECT_CONTAINS(text,
                    "{'id':'n0','name':'C','type':'computation','status':"
                    "'clean','live':true,'queued':false,'height':0,'stats':"
                    "{'runs':1,");
    EXPECT_CONTAINS(text,
                    "'reads':['space/a#/value/x','space/a#/value/y'],"
                    "'shapeReads':[],'writes':['space/b#/value'],"
                    "'envelopes':[]}");
    EXPECT_CONTAINS(text, "{'id':'input:space/a','type':'input'}");
    EXPECT_CONTAINS(text,
                    "{'from':'input:space/a','to':'n0','documents':"
                    "['space/a']}");
    EXPECT_CONTAINS(text, "{'from':'n0','to':'n1','documents':['space/b']}");
    EXPECT_CONTAINS(text, "{'from':'n1','to':'n3','type':'parent'}");
    EXPECT_CONTAINS(text, "'name':'P','type':'effect'");
    EXPECT_CONTAINS(text, "'shapeReads':['space/a#/value']");
    EXPECT_CONTAINS(text, "'name':'M','type':'materializer'");
    EXPECT_CONTAINS(text, "'debounceMs':50");
    EXPECT_CONTAINS(text, "'envelopes':['space/t#/value']");
    EXPECT_CONTAINS(text, "'name':'K','type':'computation'");
    EXPECT_CONTAINS(text, "'parent':'n1'");
    kit_end(&kit);
}

/* Whoever reads it sees no document twice, and no edge. */
TEST(the_graph_has_everything_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a={'x':1,'y':2} b={} z=0");
    kit_sum(&kit, "C", "a.x -> b.x b.y", 0);
    kit_see(&kit, "E", "a.x a.y b.x b.y");
    kit_see(&kit, "F", "a");
    EXPECT_IDLE(&kit);
    const struct value graph = introspection_graph(kit.sched);
    EXPECT_EQ(array_count(object_get_text(graph, "nodes", 5)), 4);
    EXPECT_EQ(array_count(object_get_text(graph, "edges", 5)), 4);
    value_unref(graph);
    kit_end(&kit);
}
