/* RETRY: what becomes of a run whose commit is refused (run-3 of
 * docs/spec/scheduler.md). The store is a real one behind a link whose messages
 * wait; the first commit at the store wins.
 *
 * A failure of the transport or the disk never reaches a node: the session
 * sends again. Attempts are spent by runs that cannot be done (RUN_AGAIN). */

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "sched/gates.h"

/* Cannot be done `k` times; then the sum, into all outputs. */
static enum run_result later(struct run *run, struct kit_node *node)
{
    if (node->k > 0) {
        node->k--;
        (void)kit_number(run, node, 0);
        return RUN_AGAIN;
    }
    return kit_fn_sum(run, node);
}

/* The same, and the first output must be a new document. */
static enum run_result create(struct run *run, struct kit_node *node)
{
    if (node->k == 0) {
        transaction_create_only(run->transaction,
                                node->writes[0].place->entity);
    }
    return later(run, node);
}

static void start(struct sched_kit *kit, const char *documents)
{
    kit_begin_with_store(kit, true);
    kit_set_all(kit, documents);
    kit_pump(kit);
}

/* Whether the node is left alone: up to date, and nothing waits. */
static bool is_left_alone(struct sched_kit *kit, const struct kit_node *node)
{
    const uint64_t runs = node->runs;
    return EXPECT_IDLE(kit) && EXPECT_EQ(node->runs, runs) &&
           EXPECT_EQ(node->node->status, NODE_CLEAN) &&
           EXPECT_EQ(node->node->attempts, 0) &&
           EXPECT_EQ(node->node->conflicts, 0);
}

/* A write that breaks a rule of the store. */
static void refuse_for_good(struct sched_kit *kit, struct kit_node **out)
{
    start(kit, "s=1 x={'y':0}");
    *out = kit_effect(kit, "E", "s -> x.y", later, 3);
    EXPECT_IDLE(kit);
    EXPECT_EQ((*out)->node->attempts, 3);
    kit_refuse_next(kit, ERR_LIMIT_SIZE);
    kit_pump(kit);
}

TEST(retry_02_a_broken_rule_is_not_tried_again)
{
    struct sched_kit kit;
    struct kit_node *e = NULL;
    refuse_for_good(&kit, &e);
    EXPECT_EQ(e->runs, 4);
    (void)is_left_alone(&kit, e);
    EXPECT_EQ(kit.error_count, 1);
    EXPECT_CONTAINS(kit_errors(&kit), "E LIMIT_SIZE");
    kit_end(&kit);
}

TEST(retry_03_a_precondition_is_not_tried_again)
{
    struct sched_kit kit;
    start(&kit, "s=1");
    kit_elsewhere(&kit, "set receipt 7");
    struct kit_node *e = kit_effect(&kit, "E", "s -> receipt", create, 3);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->node->attempts, 3);
    kit_pump(&kit);
    EXPECT_EQ(e->runs, 4);
    (void)is_left_alone(&kit, e);
    EXPECT_CONTAINS(kit_errors(&kit), "E RECEIPT_EXISTS");
    EXPECT_TEXT(kit_stored(&kit, "receipt"), "{'value':7}");
    kit_end(&kit);
}

TEST(retry_06_a_conflict_is_tried_again_off_the_budget)
{
    struct sched_kit kit;
    start(&kit, "s=1 r=0");
    struct kit_node *e = kit_effect(&kit, "E", "s -> r", later, 3);
    EXPECT_IDLE(&kit);
    kit_elsewhere(&kit, "set s 5");
    kit_pump(&kit);
    EXPECT_EQ(e->node->attempts, 3);
    EXPECT_EQ(e->node->conflicts, 1);
    EXPECT(e->node->place_in_queue != QUEUE_NONE);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "r"), "{'value':5}");
    (void)is_left_alone(&kit, e);
    EXPECT_EQ(kit.error_count, 0);
    kit_end(&kit);
}

/* The answer to a broken rule leaves the reads: a change wakes it. */
TEST(retry_07_what_was_refused_for_good_still_reads)
{
    struct sched_kit kit;
    struct kit_node *e = NULL;
    refuse_for_good(&kit, &e);
    (void)is_left_alone(&kit, e);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_EQ(e->runs, 5);
    EXPECT_TEXT(kit_stored(&kit, "x"), "{'value':{'y':2}}");
    kit_end(&kit);
}

TEST(retry_09_here_and_at_the_store)
{
    struct sched_kit kit;
    start(&kit, "s=1 r=0");
    struct kit_node *e = kit_effect(&kit, "E", "s -> r", kit_fn_meanwhile, 0);
    e->meanwhile = "s=2"; /* stale here */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->node->attempts, 0);
    EXPECT_EQ(e->runs, 2);
    EXPECT_GET(&kit, "r", "2");
    kit_elsewhere(&kit, "set s 3"); /* and now at the store */
    kit_pump(&kit);
    EXPECT_EQ(e->node->conflicts, 2);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_EQ(e->node->conflicts, 0);
    kit_end(&kit);
}

TEST(retry_10_an_attempt_that_is_given_up_leaves_nothing)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 i=0 o=0");
    const struct kit_spec spec = {.surface = "s -> i", .fn = later, .k = 2};
    struct kit_node *a = kit_add(&kit, "A", &spec);
    struct kit_node *b = kit_sum(&kit, "B", "i -> o", 5);
    struct kit_node *e = kit_see(&kit, "E", "o");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(a->runs, 3);
    EXPECT(b->runs <= 2);
    EXPECT_GET(&kit, "i", "1");
    EXPECT_GET(&kit, "o", "6");
    EXPECT(e->runs <= 2);
    EXPECT_EQ(a->node->attempts, 0);
    kit_end(&kit);
}

TEST(retry_11_a_conflict_restores_the_causes)
{
    struct sched_kit kit;
    start(&kit, "s=1 t=1 r=0");
    struct kit_node *e = kit_effect(&kit, "E", "s t -> r", kit_fn_sum, 0);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    kit_elsewhere(&kit, "set t 10");
    kit_pump(&kit);
    /* s, because the run that it caused did not land; and t. */
    EXPECT_EQ(e->node->causes.count, 2);
    kit_set(&kit, "s", "3"); /* which is known as a cause already */
    EXPECT_EQ(e->node->causes.count, 2);
    kit_trace(&kit, true);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_records(&kit), "E effect causes=2 changed;");
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "r"), "{'value':13}");
    EXPECT_EQ(e->node->causes.count, 0);
    kit_end(&kit);
}

TEST(retry_12_the_budget_of_what_cannot_be_done)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *e = kit_effect(&kit, "E", "s -> r", later, 0);
    EXPECT_IDLE(&kit);
    kit_trace(&kit, true);
    e->k = 1;
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit); /* once: the cause is still there the second time */
    EXPECT_TEXT(kit_records(&kit),
                "E effect causes=1; E effect causes=1 changed;");
    e->k = 1000;
    e->runs = 0;
    kit_set(&kit, "s", "3");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, SCHED_ATTEMPTS_MAX);
    EXPECT_EQ(e->node->status, NODE_CLEAN);
    EXPECT_EQ(e->node->causes.count, 0);
    EXPECT_EQ(kit.error_count, 1);
    EXPECT_GET(&kit, "r", "2");
    kit_end(&kit);
}

TEST(retry_13_more_conflicts_than_any_budget)
{
    struct sched_kit kit;
    start(&kit, "s=0 r=0");
    struct kit_node *e = kit_effect(&kit, "E", "s -> r", kit_fn_sum, 0);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    kit_set(&kit, "s", "1");
    for (unsigned i = 0; i < 15; i++) {
        EXPECT_IDLE(&kit);
        kit_elsewhere(&kit, i % 2 == 0 ? "set s 100" : "set s 200");
        kit_pump(&kit);
        EXPECT_EQ(e->node->conflicts, i + 1);
    }
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "r"), "{'value':100}");
    EXPECT_EQ(e->node->conflicts, 0);
    EXPECT_EQ(kit.error_count, 0);
    kit_end(&kit);
}

/* A computation that nobody looks at any more is tried again all the same:
 * what it said is not there. */
TEST(retry_14_tried_again_although_nobody_looks)
{
    struct sched_kit kit;
    start(&kit, "s=1 r=0");
    struct kit_node *c = kit_sum(&kit, "C", "s -> r", 0);
    (void)kit_pull(&kit, "r");
    kit_elsewhere(&kit, "set s 5");
    kit_pump(&kit);
    EXPECT_EQ(c->node->conflicts, 1);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_TEXT(kit_stored(&kit, "r"), "{'value':5}");
    kit_end(&kit);
}

/* The answer may come when the node, or the scheduler, is gone. */
TEST(retry_15_answers_to_nobody)
{
    struct sched_kit kit;
    start(&kit, "s=1 r=0 q=0");
    struct kit_node *c = kit_effect(&kit, "C", "s -> r", kit_fn_sum, 0);
    struct kit_node *d = kit_effect(&kit, "D", "s -> q", kit_fn_sum, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->inflight, 2);
    kit_remove(c);
    kit_elsewhere(&kit, "set s 5");
    sched_dispose(kit.sched);
    EXPECT(d->node == NULL);
    kit_pump(&kit);
    EXPECT_EQ(kit.sched->inflight, 0);
    EXPECT_TEXT(kit_stored(&kit, "r"), "{'value':0}");
    kit_end(&kit);
}
