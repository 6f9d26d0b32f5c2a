/* Runs that go on later (R5 of sched/runner.h): what arrives meanwhile, nodes
 * and schedulers that go meanwhile. */

#include "lib/sched_kit.h"
#include "lib/test.h"

/* An effect on s that writes r, with a run that goes on. */
static struct kit_node *begin(struct sched_kit *kit)
{
    kit_begin(kit);
    kit_set_all(kit, "s=1 r=0 u=1");
    struct kit_node *e = kit_effect(kit, "E", "s -> r", kit_fn_gated, 0);
    e->closed = true;
    kit_step(kit);
    EXPECT(kit->sched->pending != NULL);
    return e;
}

TEST(a_run_that_goes_on_holds_up_the_others)
{
    struct sched_kit kit;
    struct kit_node *e = begin(&kit);
    struct kit_node *u = kit_see(&kit, "U", "u");
    kit_step(&kit);
    kit_tick(&kit, 1000);
    EXPECT_EQ(u->runs, 0);
    EXPECT_EQ(scheduler_next_wake(kit.sched), MONO_NEVER);
    kit_open(e);
    EXPECT_EQ(scheduler_next_wake(kit.sched), kit.sched->now);
    EXPECT_EQ(u->runs, 0); /* with the next step */
    kit_step(&kit);
    EXPECT_EQ(u->runs, 1);
    EXPECT_GET(&kit, "r", "1");
    kit_end(&kit);
}

TEST(a_change_that_it_has_read_makes_it_run_again)
{
    struct sched_kit kit;
    struct kit_node *e = begin(&kit);
    kit_set(&kit, "s", "5");
    kit_open(e); /* with the sum of before: stale */
    EXPECT_GET(&kit, "r", "0");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    EXPECT_GET(&kit, "r", "5");
    EXPECT_EQ(e->node->conflicts, 0);
    kit_end(&kit);
}

/* Even if it is the first run, and writes nothing that could be refused. */
TEST(a_run_that_only_looks_does_not_miss_a_change)
{
    static const char *const surfaces[] = {"s", "-s", "^s"};
    for (size_t i = 0; i < COUNT_OF(surfaces); i++) {
        struct sched_kit kit;
        kit_begin(&kit);
        kit_set_all(&kit, "s=1 t=0");
        struct kit_node *e =
            kit_effect(&kit, "E", surfaces[i], kit_fn_gated, 0);
        e->closed = true;
        kit_step(&kit);
        kit_set(&kit, "s", "[2]");
        kit_open(e);
        EXPECT_EQ(e->node->status, NODE_INVALID);
        EXPECT_EQ(e->node->causes.count, 1);
        EXPECT_IDLE(&kit);
        EXPECT_EQ(e->runs, 2);
        kit_end(&kit);
    }
}

TEST(nor_does_one_that_fails)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1");
    struct kit_node *e = kit_effect(&kit, "E", "-s", kit_fn_gated, 0);
    e->closed = true;
    kit_step(&kit);
    kit_set(&kit, "s", "2");
    struct err_detail detail = {0};
    (void)err_set(&detail, ERR_IO, "no answer");
    struct run *run = e->run;
    e->run = NULL;
    e->closed = false;
    run_finish(run, run_fail(run, &detail));
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    kit_end(&kit);
}

TEST(a_change_of_something_else_does_not)
{
    struct sched_kit kit;
    struct kit_node *e = begin(&kit);
    kit_set(&kit, "u", "5");
    kit_open(e);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    EXPECT_GET(&kit, "r", "1");
    kit_end(&kit);
}

/* -- Inside a read ------------------------------------------------------- */

/* The reader has not said that it reads m, so its writer runs inside of it. */
static struct kit_node *nest(struct sched_kit *kit,
                             struct kit_node **inner,
                             kit_fn *outer)
{
    kit_begin(kit);
    kit_set_all(kit, "s=1 m=0 r=0");
    struct kit_node *e = kit_effect(kit, "E", "-m -> r", outer, 0);
    *inner = kit_computation(kit, "C", "s -> m", kit_fn_gated, 0);
    (*inner)->closed = true;
    kit_step(kit);
    EXPECT((*inner)->run != NULL);
    return e;
}

TEST(a_writer_that_goes_on_makes_its_reader_wait)
{
    struct sched_kit kit;
    struct kit_node *c = NULL;
    struct kit_node *e = nest(&kit, &c, kit_fn_sum);
    EXPECT_SEEN(e, ""); /* the run was given up */
    EXPECT_EQ(kit.sched->counters.discarded_runs, 1);
    EXPECT_GET(&kit, "r", "0");
    kit_open(c);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1"); /* and never saw what was not there to stay */
    EXPECT_GET(&kit, "r", "1");
    EXPECT_EQ(e->node->attempts, 0);
    kit_end(&kit);
}

/* A node that goes on itself, if what it reads can be known. */
static enum run_result go_on(struct run *run, struct kit_node *node)
{
    node->closed = true;
    const enum run_result result = kit_fn_gated(run, node);
    if (run->sched->unwinding) {
        node->run = NULL;
        node->k = 0;
        return RUN_AGAIN;
    }
    return result;
}

TEST(both_may_go_on_one_after_the_other)
{
    struct sched_kit kit;
    struct kit_node *c = NULL;
    struct kit_node *e = nest(&kit, &c, go_on);
    EXPECT(e->run == NULL);
    kit_open(c);
    kit_step(&kit);
    EXPECT(e->run != NULL);
    kit_open(e);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "1");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(a_pull_does_not_wait)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 m=0");
    struct kit_node *c = kit_computation(&kit, "C", "s -> m", kit_fn_gated, 0);
    c->closed = true;
    EXPECT_TEXT(kit_pull(&kit, "m"), "0");
    EXPECT(c->run != NULL);
    kit_open(c);
    kit_step(&kit);
    EXPECT_TEXT(kit_pull(&kit, "m"), "1");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

/* -- The store ----------------------------------------------------------- */

TEST(what_others_do_waits_for_its_end)
{
    for (int held = 0; held < 2; held++) {
        struct sched_kit kit;
        kit_begin_with_store(&kit, held);
        kit_set_all(&kit, "s=1 r=0");
        if (held) {
            kit_pump(&kit);
        }
        struct kit_node *e = kit_effect(&kit, "E", "s -> r", kit_fn_gated, 0);
        e->closed = true;
        kit_step(&kit);
        kit_elsewhere(&kit, "set s 7");
        if (held) {
            kit_pump(&kit);
        }
        EXPECT_GET(&kit, "s", "1"); /* T4 of replica/transaction.h */
        EXPECT_EQ(e->node->status, NODE_CLEAN);
        kit_open(e);
        if (held) {
            kit_pump(&kit);
        }
        EXPECT_GET(&kit, "s", "7");
        EXPECT_IDLE(&kit);
        if (held) {
            kit_pump(&kit);
        }
        EXPECT_GET(&kit, "r", "7");
        EXPECT_TEXT(kit_stored(&kit, "r"), "{'value':7}");
        EXPECT_EQ(e->node->conflicts, 0);
        kit_end(&kit);
    }
}

/* -- Going --------------------------------------------------------------- */

TEST(the_run_of_a_node_that_was_removed_does_not_count)
{
    struct sched_kit kit;
    struct kit_node *e = begin(&kit);
    struct kit_node *u = kit_see(&kit, "U", "r");
    kit_remove(e);
    EXPECT(!scheduler_is_idle(kit.sched)); /* its run still goes on */
    kit_set(&kit, "s", "2");
    kit_step(&kit);
    EXPECT_EQ(u->runs, 0);
    kit_open(e);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "r", "0");
    EXPECT_SEEN(u, "0");
    EXPECT_EQ(kit.sched->effects, 1);
    kit_end(&kit);
}

static enum run_result remove_itself(struct run *run, struct kit_node *node)
{
    (void)kit_fn_sum(run, node);
    kit_remove(node);
    return RUN_DONE;
}

TEST(nor_does_that_of_one_that_removes_itself)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 r=0");
    struct kit_node *e = kit_effect(&kit, "E", "s -> r", remove_itself, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    EXPECT_GET(&kit, "r", "0");
    EXPECT_EQ(kit.sched->effects, 0);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    kit_end(&kit);
}

/* With a run inside a read that removes who reads, and what it waits for. */
static enum run_result remove_reader(struct run *run, struct kit_node *node)
{
    if (node->kids->node != NULL) {
        kit_remove(node->kids);
    }
    return kit_fn_sum(run, node);
}

TEST(a_writer_may_remove_its_reader)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 m=0 n=0 r=0");
    struct kit_node *e = kit_effect(&kit, "E", "-n -> r", kit_fn_sum, 0);
    struct kit_node *b = kit_sum(&kit, "B", "-m -> n", 0);
    struct kit_node *c = kit_computation(&kit, "C", "s -> m", remove_reader, 0);
    c->kids = b;
    EXPECT_IDLE(&kit);
    EXPECT(b->node == NULL);
    EXPECT_EQ(kit.sched->computations, 1);
    EXPECT_EQ(e->runs, 1);
    EXPECT_GET(&kit, "n", "0");
    kit_end(&kit);
}

/* The same when the reader is up to date, and only looked through. */
TEST(a_writer_may_remove_who_would_need_it)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 m=0 n=0");
    struct kit_node *b = kit_sum(&kit, "B", "m -> n", 0);
    struct kit_node *c = kit_sum(&kit, "C", "s -> m", 0);
    EXPECT_TEXT(kit_pull(&kit, "n"), "1");
    kit_set(&kit, "s", "2"); /* nobody looks: C is stale, and B is not */
    EXPECT_EQ(b->node->status, NODE_CLEAN);
    c->fn = remove_reader;
    c->kids = b;
    struct kit_node *e = kit_see(&kit, "E", "-n");
    EXPECT_IDLE(&kit);
    EXPECT(b->node == NULL);
    EXPECT_SEEN(e, "1");
    kit_end(&kit);
}

TEST(an_end_with_a_commit_in_two_spaces)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit_set_all(&kit, "s=1 r=0");
    kit_pump(&kit);
    const struct space_options options = {.id = value_text_new("other")};
    struct space *other = NULL;
    CHECK(space_open(&kit.replica, &options, &other, NULL) == ERR_OK);
    struct entity *entity = NULL;
    CHECK(entity_of(other, SCOPE_SPACE, options.id, &entity, NULL) == ERR_OK);
    struct kit_node *e = kit_effect(&kit, "E", "s -> r", kit_fn_sum, 0);
    /* The second output is in a space that answers at once. */
    e->writes[e->write_count++].place = place_payload(entity);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->flights, 1); /* until both have answered */
    kit_pump(&kit);
    EXPECT_EQ(kit.sched->flights, 0);
    EXPECT_EQ(e->runs, 1);
    value_unref(options.id);
    kit_end(&kit);
}
