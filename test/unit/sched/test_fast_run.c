/* src/sched/swift: the swift way of a run and the runner's leave the same
 * behind. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

enum {
    SOURCES = 4,
    NODES = 12,
    STEPS = 30,
    LINE = 200,
};

/* -- One and the other --------------------------------------------------- */

/* The same graph twice: as it is, and with everything traced and somebody else
 * who listens, so that no run is swift and every commit is told of. */
struct pair {
    struct sched_kit kits[2];
    struct kit_node *nodes[2][NODES];
    struct subscriber beside;
    size_t count;
};

static enum channel_answer hear(void *ctx, const struct notification *what)
{
    (void)ctx;
    (void)what;
    return CHANNEL_MORE;
}

static void pair_begin(struct pair *pair)
{
    *pair = (struct pair){0};
    for (size_t i = 0; i < 2; i++) {
        kit_begin(&pair->kits[i]);
        kit_set_all(&pair->kits[i], "s0=1 s1=2 s2=3 s3=4");
    }
    kit_trace(&pair->kits[1], true);
    pair->beside = (struct subscriber){.fn = hear};
    channel_subscribe(&pair->kits[1].replica, &pair->beside);
}

static void pair_end(struct pair *pair)
{
    channel_unsubscribe(&pair->beside);
    kit_end(&pair->kits[0]);
    kit_end(&pair->kits[1]);
}

static const char *why(struct sched_kit *kit, const struct node *node)
{
    struct buf *text = &kit->texts[kit->next_text++ % KIT_ANSWERS];
    const struct run_record *run = introspection_last_run(kit->sched, node);
    buf_clear(text);
    if (run == NULL) {
        return "never";
    }
    buf_printf(text,
               "pass %llu, sweep %u, %s",
               (unsigned long long)run->pass,
               run->sweep,
               introspection_outcome(run->outcome));
    for (uint32_t i = 0; i < introspection_kept_causes(run->cause_count); i++) {
        const struct change_record *change =
            introspection_change(kit->sched, run->causes[i].version);
        buf_append_text(text, ", ");
        introspection_write_place(text, run->causes[i].place);
        buf_printf(text, " by %u", change != NULL ? change->source : 0);
    }
    return buf_text(text);
}

static void expect_same(struct pair *pair)
{
    EXPECT_IDLE(&pair->kits[0]);
    EXPECT_IDLE(&pair->kits[1]);
    EXPECT_TEXT(kit_ran(&pair->kits[0]), kit_ran(&pair->kits[1]));
    (void)kit_triggers(&pair->kits[1]);
    (void)kit_records(&pair->kits[1]);
    const struct sched_counters *one = &pair->kits[0].sched->counters;
    const struct sched_counters *other = &pair->kits[1].sched->counters;
    EXPECT_EQ(one->runs, other->runs);
    EXPECT_EQ(one->invalidations, other->invalidations);
    EXPECT_EQ(one->visits, other->visits);
    EXPECT_EQ(one->delta_links, other->delta_links);
    EXPECT_EQ(pair->kits[0].replica.version, pair->kits[1].replica.version);
    EXPECT_EQ(pair->kits[0].replica.counters.commits,
              pair->kits[1].replica.counters.commits);
    for (size_t i = 0; i < pair->count; i++) {
        const struct kit_node *a = pair->nodes[0][i];
        const struct kit_node *b = pair->nodes[1][i];
        EXPECT_TEXT(buf_text(&a->seen), buf_text(&b->seen));
        EXPECT_TEXT(why(&pair->kits[0], a->node), why(&pair->kits[1], b->node));
        EXPECT_EQ(a->node->runs, b->node->runs);
        EXPECT_EQ(a->node->pass_runs, b->node->pass_runs);
        EXPECT_EQ(a->node->height, b->node->height);
        EXPECT_EQ(a->node->reads.count, b->node->reads.count);
    }
}

/* -- What is drawn ------------------------------------------------------- */

/* A source, or the output of a node that is there already. */
static void draw_input(struct random *random, size_t made, char *out)
{
    const uint64_t at = random_below(random, SOURCES + made);
    if (at < SOURCES) {
        (void)snprintf(out, LINE, "s%u", (unsigned)at);
    } else {
        (void)snprintf(out, LINE, "n%u", (unsigned)(at - SOURCES));
    }
}

/* Some declare what they read, others do not; some read one place by its shape;
 * one of the functions reads what a value tells it to. */
static void draw_node(struct pair *pair, struct random *random)
{
    char surface[LINE] = "";
    size_t length = 0;
    const uint64_t reads = 3 + random_below(random, 4);
    const char *mark = random_one_in(random, 2) ? "-" : "";
    for (uint64_t i = 0; i < reads; i++) {
        char input[LINE];
        draw_input(random, pair->count, input);
        length += (size_t)snprintf(surface + length,
                                   LINE - length,
                                   "%s%s ",
                                   random_one_in(random, 9) ? "^" : mark,
                                   input);
    }
    char name[KIT_NAME_MAX];
    (void)snprintf(name, sizeof name, "N%u", (unsigned)pair->count);
    const bool effect = pair->count % 3 == 2;
    if (!effect) {
        (void)snprintf(surface + length,
                       LINE - length,
                       "-> n%u",
                       (unsigned)pair->count);
    }
    static kit_fn *const fns[] = {kit_fn_sum,
                                  kit_fn_select,
                                  kit_fn_sum,
                                  kit_fn_modulo};
    kit_fn *fn = fns[random_below(random, COUNT_OF(fns))];
    for (size_t i = 0; i < 2; i++) {
        pair->nodes[i][pair->count] =
            effect ? kit_see(&pair->kits[i], name, surface)
                   : kit_computation(&pair->kits[i], name, surface, fn, 3);
    }
    pair->count++;
}

static void draw_change(struct pair *pair, struct random *random)
{
    char line[LINE];
    size_t length = 0;
    const uint64_t writes = 1 + random_below(random, 2);
    for (uint64_t i = 0; i < writes; i++) {
        length += (size_t)snprintf(line + length,
                                   LINE - length,
                                   "s%u=%u ",
                                   (unsigned)random_below(random, SOURCES),
                                   (unsigned)random_below(random, 4));
    }
    kit_set_all(&pair->kits[0], line);
    kit_set_all(&pair->kits[1], line);
}

PROPERTY(the_swift_way_and_the_runner_leave_the_same_behind, 60)
{
    struct pair pair;
    pair_begin(&pair);
    for (unsigned i = 0; i < STEPS; i++) {
        if (pair.count < NODES && random_one_in(random, 2)) {
            draw_node(&pair, random);
        } else {
            draw_change(&pair, random);
        }
        if (random_one_in(random, 8) && pair.count > 0) {
            const size_t at = random_below(random, pair.count);
            sched_invalidate(pair.kits[0].sched, pair.nodes[0][at]->node);
            sched_invalidate(pair.kits[1].sched, pair.nodes[1][at]->node);
        }
        expect_same(&pair);
    }
    pair_end(&pair);
}

/* -- What can happen in between ------------------------------------------ */

static enum run_result sum_and_go(struct run *run, struct kit_node *node)
{
    const enum run_result result = kit_fn_sum(run, node);
    if (node->runs == 2) {
        kit_remove(node);
    }
    return result;
}

TEST(a_node_that_removes_itself_in_a_fast_run_is_gone)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=1");
    (void)kit_effect(&kit, "E", "a b", sum_and_go, 0);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "E E");
    kit_set(&kit, "b", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    kit_end(&kit);
}

/* Between its reads somebody else commits to what it has read. */
static enum run_result sum_around(struct run *run, struct kit_node *node)
{
    int64_t sum = kit_number(run, node, 0);
    if (node->runs == 2) {
        kit_set(node->kit, "a", "10");
    }
    sum += kit_number(run, node, 1);
    kit_note(node, value_int(sum));
    return RUN_DONE;
}

TEST(what_changes_during_a_fast_run_after_it_was_read_wakes_it_again)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit.unchecked = true;
    kit_set_all(&kit, "a=1 b=1");
    struct kit_node *e = kit_effect(&kit, "E", "a b", sum_around, 0);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "b", "2");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "2 3 12");
    kit_end(&kit);
}

/* The first input, unless the second one is 0. */
static enum run_result copy_or_fail(struct run *run, struct kit_node *node)
{
    const int64_t first = kit_number(run, node, 0);
    if (kit_number(run, node, 1) == 0) {
        struct err_detail detail;
        (void)err_set(&detail, ERR_ARGUMENT, "not with 0");
        return run_fail(run, &detail);
    }
    kit_output_adopt(run, node, 0, value_int(first));
    return RUN_DONE;
}

TEST(a_fast_run_that_fails_leaves_its_reads_and_nothing_else)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=1");
    struct kit_node *c =
        kit_computation(&kit, "C", "a b -> c", copy_or_fail, 0);
    (void)kit_see(&kit, "E", "c");
    EXPECT_IDLE(&kit);
    kit_set_all(&kit, "a=3 b=0");
    EXPECT_IDLE(&kit);
    EXPECT_CONTAINS(kit_errors(&kit), "not with 0");
    EXPECT_GET(&kit, "c", "1");
    kit_set_all(&kit, "b=1");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "c", "3");
    kit_set_all(&kit, "a=5");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "c", "5");
    EXPECT_EQ(c->node->reads.count, 2);
    kit_end(&kit);
}
