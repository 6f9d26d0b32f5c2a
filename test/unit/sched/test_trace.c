/* Traces: what the three rings hold; and that nothing depends on whether
 * anybody looks (D18). */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "sched/preflight.h"
#include "value/json.h"

static const char *name_of(struct value name)
{
    static char text[KIT_NAME_MAX];
    const struct text from = value_text(&name);
    (void)snprintf(text, sizeof text, "%.*s", (int)from.length, from.at);
    return text;
}

/* -- The rings ----------------------------------------------------------- */

static struct trace *begin(struct sched_kit *kit, unsigned kinds)
{
    kit_begin(kit);
    kit_set_all(kit, "a=1 b=0");
    return trace_new(kit->sched, kinds);
}

TEST(triggers_tell_who_saw_what)
{
    struct sched_kit kit;
    struct trace *trace = begin(&kit, TRACE_TRIGGERS);
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(trace_trigger_count(trace), 0); /* E reads after C wrote */
    kit_set_all(&kit, "z=1 a=5");
    EXPECT_EQ(trace_trigger_count(trace), 1);
    const struct trace_trigger *entry = trace_trigger_at(trace, 0);
    EXPECT_EQ(entry->kind, NOTIFY_COMMIT);
    EXPECT_EQ(entry->version, kit.replica.version);
    EXPECT_EQ(entry->writer, 0);
    EXPECT_EQ(entry->ordinal, c->node->ordinal);
    EXPECT_TEXT(name_of(entry->name), "C");
    EXPECT_TEXT(entry->before, "1");
    EXPECT_TEXT(entry->after, "5");
    EXPECT_TEXT(entry->decision, "mark-invalid");
    EXPECT_EQ(entry->was, NODE_CLEAN);
    EXPECT(!entry->queued);
    EXPECT_EQ(entry->change, 1); /* z is the first document of the commit */
    kit_set(&kit, "a", "()");
    entry = trace_trigger_at(trace, 1);
    EXPECT_TEXT(entry->after, "-");
    EXPECT_TEXT(entry->decision, "already-invalid");
    EXPECT_EQ(entry->was, NODE_INVALID);
    EXPECT(entry->queued);
    EXPECT_IDLE(&kit);
    entry = trace_trigger_at(trace, 2);
    EXPECT_TEXT(name_of(entry->name), "E");
    EXPECT_EQ(entry->writer, c->node->ordinal + 1);
    EXPECT_EQ(trace_run_count(trace), 0); /* nobody has asked for these */
    EXPECT_EQ(trace_pass_count(trace), 0);
    trace_free(trace);
    kit_end(&kit);
}

TEST(long_values_are_cut_between_characters)
{
    struct sched_kit kit;
    struct trace *trace = begin(&kit, TRACE_TRIGGERS);
    kit_see(&kit, "E", "a");
    EXPECT_IDLE(&kit);
    struct buf json = {0};
    buf_append_text(&json, "'"); /* so the cut is inside of a character */
    for (int i = 0; i < 40; i++) {
        buf_append_text(&json, "\xC3\xA4");
    }
    buf_append_text(&json, "'");
    kit_set(&kit, "a", buf_text(&json));
    buf_release(&json);
    const struct trace_trigger *entry = trace_trigger_at(trace, 0);
    const struct value shown = value_text_new(entry->after);
    const struct text text = value_text(&shown);
    EXPECT(text.length < TRACE_SUMMARY_SIZE);
    EXPECT(text.length > TRACE_SUMMARY_SIZE - 6);
    EXPECT_CONTAINS(entry->after, "\xC3\xA4...");
    value_unref(shown);
    trace_free(trace);
    kit_end(&kit);
}

TEST(own_commits_and_groups_are_told_as_skipped)
{
    struct sched_kit kit;
    struct trace *trace = begin(&kit, TRACE_TRIGGERS);
    const char *group = "group";
    const struct kit_spec spec = {
        .surface = "a b -> b",
        .effect = true,
        .fn = kit_fn_sum,
        .group = group,
    };
    kit_add(&kit, "E", &spec);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    kit_set_in_group(&kit, "a", "3", group);
    static const char *const want[] = {
        "skip-own-commit-source", /* its first run */
        "mark-invalid",
        "skip-own-commit-source",
        "skip-same-change-group",
    };
    EXPECT_EQ(trace_trigger_count(trace), COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        EXPECT_TEXT(trace_trigger_at(trace, i)->decision, want[i]);
    }
    trace_free(trace);
    kit_end(&kit);
}

TEST(runs_tell_what_was_said_and_what_was_done)
{
    struct sched_kit kit;
    struct trace *trace = begin(&kit, TRACE_RUNS);
    struct kit_node *c = kit_sum(&kit, "C", "a -> b d", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(trace_run_count(trace), 2);
    const struct trace_run *entry = trace_run_at(trace, 0);
    EXPECT_TEXT(name_of(entry->name), "C");
    EXPECT_EQ(entry->ordinal, c->node->ordinal);
    EXPECT_EQ(entry->kind, NODE_COMPUTATION);
    EXPECT_EQ(entry->outcome, OUTCOME_COMMITTED);
    EXPECT_EQ(entry->parent, 0);
    EXPECT_EQ(entry->declared_count, 2);
    EXPECT(entry->declared[0] == c->writes[0].place);
    EXPECT_EQ(entry->actual_count, 2);
    EXPECT(entry->actual[1] == c->writes[1].place);
    entry = trace_run_at(trace, 1);
    EXPECT_EQ(entry->kind, NODE_EFFECT);
    EXPECT_EQ(entry->declared_count + entry->actual_count, 0);
    /* The entry outlives its node. */
    kit_remove(c);
    EXPECT_TEXT(name_of(trace_run_at(trace, 0)->name), "C");
    trace_free(trace);
    kit_end(&kit);
}

TEST(runs_tell_how_they_ended)
{
    struct sched_kit kit;
    struct trace *trace = begin(&kit, TRACE_RUNS);
    kit_effect(&kit, "F", "a -> b", kit_fn_fail, 0);
    struct kit_node *e = kit_effect(&kit, "E", "a -> d", kit_fn_meanwhile, 0);
    e->meanwhile = "a=2";
    EXPECT_IDLE(&kit);
    struct buf text = {0};
    for (size_t i = 0; i < trace_run_count(trace); i++) {
        const struct trace_run *entry = trace_run_at(trace, i);
        buf_printf(&text, "%s%d ", name_of(entry->name), (int)entry->outcome);
        EXPECT(entry->outcome == OUTCOME_COMMITTED || entry->actual_count == 0);
    }
    EXPECT_CONTAINS(buf_text(&text), "F2 E1 ");
    EXPECT_CONTAINS(buf_text(&text), "E0 ");
    buf_release(&text);
    trace_free(trace);
    kit_end(&kit);
}

TEST(passes_tell_their_sweeps)
{
    struct sched_kit kit;
    struct trace *trace = begin(&kit, TRACE_PASSES);
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(trace_pass_count(trace), 1);
    const struct trace_pass *pass = trace_pass_at(trace, 0);
    EXPECT_EQ(pass->number, 1);
    EXPECT_EQ(pass->at, kit.sim.now);
    EXPECT_EQ(pass->busy_sweeps, 1);
    EXPECT_EQ(pass->runs, 2);
    EXPECT_EQ(pass->looked_at, 2);
    EXPECT(pass->settled);
    EXPECT_EQ(pass->sweep[0].first[0], c->node->ordinal);
    EXPECT_EQ(pass->sweep[0].first[1], e->node->ordinal);
    kit_sum(&kit, "A", "y -> x", 1);
    kit_sum(&kit, "B", "x -> y", 1);
    kit_see(&kit, "F", "x");
    kit_step(&kit);
    pass = trace_pass_at(trace, trace_pass_count(trace) - 1);
    EXPECT(!pass->settled);
    trace_free(trace);
    kit_end(&kit);
}

TEST(rings_keep_the_last_ones)
{
    struct sched_kit kit;
    struct trace *trace = begin(&kit, TRACE_ALL);
    struct kit_node *e = kit_see(&kit, "E", "a");
    EXPECT_IDLE(&kit);
    for (int i = 0; i < TRACE_RUNS_MAX + 10; i++) {
        kit_set_number(&kit, "a", 1000 + i);
        kit_step(&kit);
    }
    EXPECT_EQ(trace_trigger_count(trace), TRACE_TRIGGERS_MAX);
    EXPECT_EQ(trace_run_count(trace), TRACE_RUNS_MAX);
    EXPECT_EQ(trace_pass_count(trace), TRACE_PASSES_MAX);
    EXPECT_EQ(trace_run_at(trace, TRACE_RUNS_MAX - 1)->number, e->runs);
    EXPECT_EQ(trace_run_at(trace, 0)->number, e->runs - TRACE_RUNS_MAX + 1);
    EXPECT_TEXT(trace_trigger_at(trace, TRACE_TRIGGERS_MAX - 1)->after, "3009");
    EXPECT_EQ(trace_pass_at(trace, TRACE_PASSES_MAX - 1)->number,
              kit.sched->pass);
    trace_clear(trace);
    EXPECT_EQ(trace_run_count(trace), 0);
    trace_free(trace);
    kit_end(&kit);
}

/* -- Who listened before ------------------------------------------------- */

TEST(a_trace_is_in_front_of_the_others)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_trace(&kit, true);
    struct trace *first = trace_new(kit.sched, TRACE_ALL);
    struct trace *second = trace_new(kit.sched, TRACE_RUNS);
    kit_set_all(&kit, "a=1");
    kit_effect(&kit, "F", "a", kit_fn_fail, 0);
    kit_see(&kit, "E", "a");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "2");
    EXPECT_EQ(trace_run_count(first), 2);
    EXPECT_EQ(trace_run_count(second), 2);
    EXPECT_EQ(trace_trigger_count(second), 0);
    EXPECT_CONTAINS(kit_triggers(&kit), "mark-invalid E a");
    EXPECT_CONTAINS(kit_records(&kit), "E effect");
    EXPECT_EQ(kit.error_count, 1);
    trace_free(second);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(trace_run_count(first), 4);
    trace_free(first);
    kit_set(&kit, "a", "3");
    EXPECT_CONTAINS(kit_triggers(&kit), "mark-invalid E a");
    kit_end(&kit);
}

/* -- D18 ----------------------------------------------------------------- */

enum {
    DOCUMENTS = 12,
    INPUTS = 4, /* the first ones: no node writes them */
    NODES = 16,
    STEPS = 30,
};

/* A cycle of these comes to rest: nothing grows beyond 7. */
static enum run_result bounded(struct run *run, struct kit_node *node)
{
    int64_t sum = node->k;
    for (size_t i = 0; i < node->read_count; i++) {
        sum += kit_number(run, node, i);
    }
    if (sum % 11 == 7 && node->k % 3 == 0) {
        struct err_detail detail = {0};
        (void)err_set(&detail, ERR_RANGE, "seven");
        return run_fail(run, &detail);
    }
    node->kit->sim.now += (mono_ms)(node->k % 3 == 1); /* takes its time */
    for (size_t i = 0; i < node->write_count; i++) {
        kit_output_adopt(run, node, i, value_int(sum % 8));
    }
    return RUN_DONE;
}

/* Creates a node now and then. */
static enum run_result parent(struct run *run, struct kit_node *node)
{
    if (kit_number(run, node, 0) % 3 == 1 && node->kids == NULL) {
        node->kids =
            kit_computation(node->kit, "child", "-d0 -> k", bounded, 1);
    }
    return bounded(run, node);
}

static void add_random(struct sched_kit *kit, struct random *random, unsigned i)
{
    struct buf surface = {0};
    const unsigned reads = 1 + (unsigned)random_below(random, 3);
    for (unsigned j = 0; j < reads; j++) {
        static const char *const marks[] = {"", "", "-", "^", "?"};
        buf_printf(&surface,
                   "%sd%u ",
                   marks[random_below(random, COUNT_OF(marks))],
                   (unsigned)random_below(random, DOCUMENTS));
    }
    char target[16];
    (void)snprintf(target,
                   sizeof target,
                   "d%u",
                   INPUTS + (unsigned)random_below(random, DOCUMENTS - INPUTS));
    struct kit_spec spec = {
        .fn = random_one_in(random, 6) ? parent : bounded,
        .k = random_between(random, 0, 9),
        .debounce = random_one_in(random, 5) ? 20 : 0,
        .throttle = random_one_in(random, 5) ? 30 : 0,
    };
    switch (random_below(random, 5)) {
    case 0:
        spec.effect = true;
        break;
    case 1:
        spec.effect = true;
        spec.writes = target;
        break;
    case 2:
        spec.writes = target;
        spec.envelopes = target;
        break;
    default:
        buf_printf(&surface, "-> %s", target);
        break;
    }
    spec.surface = buf_text(&surface);
    char name[16];
    (void)snprintf(name, sizeof name, "N%u", i);
    kit_add(kit, name, &spec);
    buf_release(&surface);
}

static void ask_everything(struct sched_kit *kit)
{
    VEC_FOREACH (&kit->nodes, node) {
        if ((*node)->node != NULL) {
            (void)introspection_last_run(kit->sched, (*node)->node);
            (void)preflight_stale_source(kit->sched, (*node)->node);
        }
    }
    value_unref(introspection_graph(kit->sched));
    value_unref(introspection_counters(kit->sched));
    (void)convergence_look(kit->sched, kit->sim.now);
}

/* What ran in which order, what there is, and how much work it was. */
static void note_state(struct sched_kit *kit, struct buf *log)
{
    buf_printf(log, "%s;", kit_ran(kit));
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "d%u", i);
        buf_printf(log, " %s", kit_get(kit, name));
    }
    const struct sched_counters *counters = &kit->sched->counters;
    buf_printf(log,
               " %llu %llu %llu %llu %llu %llu %llu %llu\n",
               (unsigned long long)counters->runs,
               (unsigned long long)counters->nested_runs,
               (unsigned long long)counters->passes,
               (unsigned long long)counters->sweeps,
               (unsigned long long)counters->visits,
               (unsigned long long)counters->backoffs,
               (unsigned long long)kit->sim.now,
               (unsigned long long)sched_next_wake(kit->sched));
}

static void one_step(struct sched_kit *kit, struct random *random)
{
    char name[16];
    (void)snprintf(name,
                   sizeof name,
                   "d%u",
                   (unsigned)random_below(random, DOCUMENTS));
    switch (random_below(random, 6)) {
    case 0:
        (void)kit_pull(kit, name);
        break;
    case 1:
        kit_tick(kit, (mono_ms)random_below(random, 400));
        break;
    case 2: {
        struct kit_node *node =
            kit->nodes.at[random_below(random, kit->nodes.count)];
        if (node->node != NULL) {
            kit_remove(node);
        }
        break;
    }
    default:
        kit_set_number(kit, name, random_between(random, 0, 7));
        kit_step(kit);
        break;
    }
}

static void play(struct random random, bool looked_at, struct buf *log)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct trace *trace = NULL;
    if (looked_at) {
        kit_trace(&kit, true);
        trace = trace_new(kit.sched, TRACE_ALL);
    }
    const unsigned nodes = 4 + (unsigned)random_below(&random, NODES - 4);
    for (unsigned i = 0; i < nodes; i++) {
        add_random(&kit, &random, i);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        one_step(&kit, &random);
        if (looked_at) {
            ask_everything(&kit);
        }
        note_state(&kit, log);
    }
    if (trace != NULL) {
        trace_free(trace);
    }
    kit_end(&kit);
}

PROPERTY(looking_changes_nothing, 300)
{
    struct buf plain = {0};
    struct buf traced = {0};
    play(*random, false, &plain);
    play(*random, true, &traced);
    EXPECT_TEXT(buf_text(&traced), buf_text(&plain));
    buf_release(&plain);
    buf_release(&traced);
}
