/* NEW: behaviour that goes beyond the groups of the other files: bounds, costs
 * and faults. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

static void place_name(char *out, size_t size, const char *prefix, unsigned i)
{
    (void)snprintf(out, size, "%s%u", prefix, i);
}

/* A chain of `length` computations from `from` to prefix<length>, each of
 * which adds 1. The last one's document is in `last`. */
static void chain(struct sched_kit *kit,
                  const char *from,
                  const char *prefix,
                  unsigned length,
                  struct kit_node **nodes,
                  char *last,
                  size_t size)
{
    (void)snprintf(last, size, "%s", from);
    for (unsigned i = 1; i <= length; i++) {
        char next[16];
        char surface[64];
        place_name(next, sizeof next, prefix, i);
        (void)snprintf(surface, sizeof surface, "%s -> %s", last, next);
        struct kit_node *node = kit_sum(kit, next, surface, 1);
        if (nodes != NULL) {
            nodes[i - 1] = node;
        }
        (void)snprintf(last, size, "%s", next);
    }
}

TEST(new_01_a_diamond_with_a_long_arm)
{
    for (unsigned arm = 1; arm <= 32; arm++) {
        struct sched_kit kit;
        kit_begin(&kit);
        kit_set(&kit, "s", "0");
        char last[16];
        char surface[64];
        chain(&kit, "s", "a", arm, NULL, last, sizeof last);
        (void)snprintf(surface, sizeof surface, "s %s -> j", last);
        struct kit_node *join =
            kit_computation(&kit, "J", surface, kit_fn_sum, 0);
        (void)snprintf(surface, sizeof surface, "s %s j", last);
        struct kit_node *e = kit_see(&kit, "E", surface);
        EXPECT_IDLE(&kit);
        EXPECT_EQ(join->runs, 1);
        EXPECT_EQ(e->runs, 1);
        for (int i = 1; i <= 3; i++) {
            kit_set_number(&kit, "s", (int64_t)i * 100);
            e->seen.length = 0;
            EXPECT_IDLE(&kit);
            EXPECT_EQ(join->runs, 1 + i);
            EXPECT_EQ(e->runs, 1 + i);
            char want[64];
            const int end = i * 100 + (int)arm;
            (void)snprintf(want,
                           sizeof want,
                           "%d,%d,%d",
                           i * 100,
                           end,
                           i * 100 + end);
            EXPECT_SEEN(e, want);
        }
        kit_end(&kit);
    }
}

/* Two computations in a cycle that comes to rest: each follows the other up to
 * the limit. */
static enum run_result up_to(struct run *run, struct kit_node *node)
{
    const int64_t other = kit_number(run, node, 0);
    const int64_t limit = kit_number(run, node, 1);
    kit_output_adopt(run,
                     node,
                     0,
                     value_int(other < limit ? other + 1 : limit));
    return RUN_DONE;
}

TEST(new_02_after_the_cycle_that_it_reads)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "x=0 y=0 limit=1");
    struct kit_node *e = kit_see(&kit, "E", "y"); /* registered first */
    kit_computation(&kit, "A", "y limit -> x", up_to, 0);
    kit_computation(&kit, "B", "x limit -> y", up_to, 0);
    EXPECT_IDLE(&kit);
    struct trace *trace = trace_new(kit.sched, TRACE_RUNS | TRACE_PASSES);
    kit_set(&kit, "limit", "2");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "y", "2");
    /* E comes after both in every sweep in which it runs. */
    for (size_t i = 0; i < trace_pass_count(trace); i++) {
        const struct trace_pass *pass = trace_pass_at(trace, i);
        for (uint32_t j = 0; j < pass->sweeps; j++) {
            const struct trace_sweep *sweep = &pass->sweep[j];
            for (uint32_t k = 0; k + 1 < sweep->runs; k++) {
                EXPECT(sweep->first[k] != e->node->ordinal);
            }
        }
    }
    EXPECT(e->node->height > kit.nodes.at[1]->node->height);
    EXPECT(e->node->height > kit.nodes.at[2]->node->height);
    trace_free(trace);
    kit_end(&kit);
}

static enum run_result create_k(struct run *run, struct kit_node *node)
{
    if (node->kids == NULL) {
        node->kids = kit_sum(node->kit, "K", "s -> k", 0);
    }
    return kit_fn_sum(run, node);
}

TEST(new_03_a_parent_that_reads_from_its_child)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 k=0 x=0 p=0");
    kit_computation(&kit, "P", "x -> p", create_k, 0);
    kit_sum(&kit, "X", "k -> x", 0);
    struct kit_node *e = kit_see(&kit, "E", "p");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "p", "1");
    (void)kit_ran(&kit);
    e->seen.length = 0;
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "K X P E");
    EXPECT_SEEN(e, "2");
    kit_end(&kit);
}

TEST(new_04_a_long_chain_in_one_pass)
{
    enum {
        LENGTH = 1000
    };
    struct sched_kit kit;
    kit_begin(&kit);
    kit.unchecked = true;
    kit_set(&kit, "s", "0");
    struct kit_node *nodes[LENGTH];
    char last[16];
    chain(&kit, "s", "a", LENGTH, nodes, last, sizeof last);
    struct kit_node *e = kit_see(&kit, "E", last);
    EXPECT_IDLE(&kit);
    introspection_reset_counters(kit.sched);
    kit_set(&kit, "s", "5");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1000 1005");
    for (unsigned i = 0; i < LENGTH; i++) {
        EXPECT_EQ(nodes[i]->runs, 2);
    }
    const struct sched_counters *counters = &kit.sched->counters;
    EXPECT_EQ(counters->passes, 1);
    EXPECT_EQ(counters->sweeps, 1);
    EXPECT_EQ(counters->runs, LENGTH + 1);
    EXPECT_EQ(counters->backoffs, 0);
    EXPECT_EQ(counters->nested_runs, 0);
    EXPECT(kit_check(&kit));
    kit_end(&kit);
}

/* Writes x, reads `new`, and fails while `s` is odd. */
static enum run_result fail_if_odd(struct run *run, struct kit_node *node)
{
    const int64_t s = kit_number(run, node, 0);
    kit_output_adopt(run, node, 0, value_int(s));
    if (s % 2 == 0) {
        (void)kit_number(run, node, 1); /* old */
        return RUN_DONE;
    }
    value_unref(kit_look(run, node, "new"));
    struct err_detail detail = {0};
    (void)err_set(&detail, ERR_RANGE, "%s is odd", "s");
    return run_fail(run, &detail);
}

TEST(new_05_a_failure_leaves_nothing_but_reads)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0 old=1 new=1 x=7");
    struct kit_node *c =
        kit_computation(&kit, "C", "s old -> x", fail_if_odd, 0);
    kit_see(&kit, "E", "x");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "x", "0");
    kit_set(&kit, "s", "3");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "x", "0");
    EXPECT_EQ(kit.error_count, 1);
    EXPECT_CONTAINS(kit_errors(&kit), "C RANGE: s is odd");
    EXPECT_EQ(c->runs, 2);
    kit_set(&kit, "old", "2"); /* of the run before */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 3);
    kit_set(&kit, "new", "2"); /* of the run that failed */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 4);
    EXPECT_EQ(kit.error_count, 3);
    kit_set(&kit, "s", "4");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "x", "4");
    EXPECT_EQ(kit.error_count, 3);
    kit_end(&kit);
}

TEST(new_07_a_debounce_has_a_longest_wait)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0 r=0");
    const struct kit_spec spec = {
        .surface = "s -> r",
        .fn = kit_fn_sum,
        .debounce = 50,
    };
    struct kit_node *c = kit_add(&kit, "C", &spec);
    struct kit_node *e = kit_see(&kit, "E", "r");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    mono_ms first = 0;
    for (int i = 1; i <= 200; i++) {
        kit_set_number(&kit, "s", i);
        kit_step(&kit);
        kit_tick(&kit, 10);
        if (c->runs == 2 && first == 0) {
            first = (mono_ms)i * 10;
        }
    }
    EXPECT_EQ(first, SCHED_DEBOUNCE_LONG_MS); /* ten windows are less */
    EXPECT(c->runs >= 3);                     /* and so on */
    EXPECT_EQ(e->runs, c->runs);
    kit_end(&kit);
}

static enum run_result slow(struct run *run, struct kit_node *node)
{
    node->kit->sim.now += (mono_ms)node->k;
    return kit_fn_see(run, node);
}

TEST(new_08_slow_by_node_and_not_by_name)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=0");
    struct kit_node *a = kit_effect(&kit, "same", "s", slow, 60);
    struct kit_node *b = kit_effect(&kit, "same", "s", slow, 1);
    for (int i = 1; i <= 4; i++) {
        EXPECT_IDLE(&kit);
        kit_set_number(&kit, "s", i);
    }
    EXPECT(a->node->gate != NULL && a->node->gate->debounce > 0);
    EXPECT(b->node->gate == NULL);
    EXPECT_EQ(a->node->busy_ms, 60 * a->runs);
    EXPECT_EQ(b->node->busy_ms, b->runs);
    EXPECT_EQ(a->node->last_ms, 60);
    kit_end(&kit);
}

static enum run_result later(struct run *run, struct kit_node *node)
{
    const int64_t sum = kit_number(run, node, 0);
    if (node->k > 0) {
        node->k--;
        return RUN_AGAIN;
    }
    kit_output_adopt(run, node, 0, value_int(sum));
    return RUN_DONE;
}

TEST(new_10_a_spent_budget_is_new_after_a_change)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *e =
        kit_effect(&kit, "E", "s -> r", later, SCHED_ATTEMPTS_MAX);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, SCHED_ATTEMPTS_MAX);
    EXPECT_EQ(e->k, 0);
    EXPECT_GET(&kit, "r", "0");
    EXPECT_EQ(kit.error_count, 1);
    e->k = 1;
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "2");
    EXPECT_EQ(kit.error_count, 1);
    kit_end(&kit);
}

/* One more than there is, up to 3, as long as `s` is there. */
static enum run_result own_output(struct run *run, struct kit_node *node)
{
    const int64_t s = kit_number(run, node, 0);
    const int64_t own = kit_number(run, node, 1);
    kit_output_adopt(run, node, 0, value_int(own < s ? s : own));
    return RUN_DONE;
}

TEST(new_11_a_revert_wakes_who_wrote_it)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit_set_all(&kit, "s=1 o=0");
    kit_pump(&kit);
    struct kit_node *c = kit_effect(&kit, "C", "s o -> o", own_output, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1); /* its own commit does not wake it */
    EXPECT_EQ(c->node->status, NODE_CLEAN);
    kit_trace(&kit, true);
    kit_elsewhere(&kit, "set s 9");
    kit_pump(&kit);
    EXPECT_EQ(c->node->status, NODE_INVALID);
    EXPECT_CONTAINS(kit_triggers(&kit), "already-invalid C o by C;");
    kit_trace(&kit, false);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "o"), "{'value':9}");
    kit_end(&kit);
}

TEST(new_12_the_dormant_cost_nothing)
{
    enum {
        DORMANT = 100000
    };
    struct sched_kit kit;
    kit_begin(&kit);
    kit.unchecked = true;
    kit_set_all(&kit, "s=1 d=0");
    struct place *s = kit_place(&kit, "s");
    struct place *d = kit_place(&kit, "d");
    const struct kit_spec none = {.surface = "", .fn = kit_fn_constant};
    struct kit_node *dormant = kit_add(&kit, "D", &none);
    const struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = dormant->node->run,
        .ctx = dormant,
        .outputs = &d,
        .output_count = 1,
        .reads = &s,
        .read_count = 1,
    };
    for (unsigned i = 0; i < DORMANT; i++) {
        (void)sched_register(kit.sched, &spec);
    }
    char last[16];
    chain(&kit, "s", "a", 3, NULL, last, sizeof last);
    struct kit_node *e = kit_see(&kit, "E", last);
    EXPECT_IDLE(&kit);
    introspection_reset_counters(kit.sched);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    const struct sched_counters *counters = &kit.sched->counters;
    EXPECT_SEEN(e, "4 5");
    EXPECT_EQ(counters->runs, 4);
    EXPECT_EQ(counters->pops, 4);
    EXPECT(counters->visits < 20);
    EXPECT_EQ(counters->liveness_work, 0);
    EXPECT_EQ(counters->height_work, 0);
    EXPECT_EQ(dormant->runs, 0);
    place_unref(s);
    place_unref(d);
    kit_end(&kit);
}
