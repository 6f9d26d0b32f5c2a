/* What random graphs have found in the scheduler (model.c, liveness_fuzz.c), by
 * hand and as small as it gets. */

#include "lib/sched_kit.h"
#include "lib/test.h"

/* -- Runs inside of reads ------------------------------------------------ */

/* Clean, but behind it is a materializer that waits for everybody else: who
 * reads from the clean one needs it now. */
TEST(d2_a_materializer_behind_a_clean_node_is_not_overlooked)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 m=0");
    const struct kit_spec materializer = {
        .surface = "-a",
        .writes = "m",
        .envelopes = "m",
        .fn = kit_fn_sum,
    };
    (void)kit_add(&kit, "M", &materializer);
    (void)kit_sum(&kit, "C", "-m -> c", 0);
    struct kit_node *effect = kit_see(&kit, "E", "-a -c");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(effect, "1,1");
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(effect, "1,1 2,2");
    kit_end(&kit);
}

/* A parent that has one child K (p -> k) as long as `want` is not 0. */
static enum run_result keep_child(struct run *run, struct kit_node *node)
{
    const int64_t want = kit_number(run, node, 0);
    kit_output_adopt(run, node, 0, value_int(want));
    if (want != 0 && node->kids == NULL) {
        node->kids = kit_sum(node->kit, "K", "-p -> k", 10);
    } else if (want == 0 && node->kids != NULL) {
        kit_remove(node->kids);
        node->kids = NULL;
    }
    return RUN_DONE;
}

/* To read k, K is looked at; it needs p, so P runs, and removes K. */
TEST(y3_a_parent_removes_the_child_that_is_being_looked_at)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "want=1 which=0 x=5");
    struct kit_node *parent =
        kit_computation(&kit, "P", "want -> p", keep_child, 0);
    struct kit_node *keeper = kit_see(&kit, "W", "p");
    EXPECT_IDLE(&kit);
    kit_remove(keeper);
    struct kit_node *chosen =
        kit_computation(&kit, "S", "-which -k -x -> s", kit_fn_select, 0);
    struct kit_node *effect = kit_see(&kit, "E", "s");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(effect, "5");
    kit_set_all(&kit, "want=0 which=1");
    EXPECT_IDLE(&kit);
    EXPECT(parent->kids == NULL);
    EXPECT_EQ(parent->runs, 2);
    EXPECT_EQ(chosen->runs, 2);
    EXPECT_SEEN(effect, "5 11");
    kit_end(&kit);
}

/* The child itself runs, and reads what its parent writes: the parent runs
 * inside, and removes it. */
TEST(y3_a_parent_removes_the_child_that_runs)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "want", "1");
    struct kit_node *parent =
        kit_computation(&kit, "P", "want -> p", keep_child, 0);
    struct kit_node *keeper = kit_see(&kit, "W", "p");
    EXPECT_IDLE(&kit);
    kit_remove(keeper);
    struct node *child = parent->kids->node;
    kit_set(&kit, "want", "0");
    sched_invalidate(kit.sched, child);
    EXPECT_TEXT(kit_pull(&kit, "k"), "11");
    EXPECT(parent->kids == NULL);
    EXPECT_GET(&kit, "p", "0");
    kit_end(&kit);
}

/* -- What changes during a run ------------------------------------------- */

static enum run_result add_a_quarter(struct run *run, struct kit_node *node)
{
    const int64_t whole = kit_number(run, node, 0);
    const int64_t part = kit_number(run, node, 1) / 4;
    kit_output_adopt(run, node, 0, value_int(whole + part));
    return RUN_DONE;
}

/* `a` has changed, so E runs; the cycle goes on inside of its read, and `a`
 * changes again. All of that it has seen when the run ends. */
TEST(i3_a_cycle_that_settles_inside_of_a_read_wakes_its_reader_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "x", "0");
    (void)kit_computation(&kit, "A", "x b -> a", add_a_quarter, 0);
    (void)kit_sum(&kit, "B", "a -> b", 0);
    struct kit_node *effect = kit_see(&kit, "E", "a");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(effect, "0");
    kit_set(&kit, "x", "12");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(effect, "0 15");
    kit_end(&kit);
}

/* It has no link yet by which it could be told. */
TEST(r1_what_a_run_reads_for_the_first_time_may_change_meanwhile)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "a", "1");
    const struct kit_spec spec = {
        .surface = "-a",
        .fn = kit_fn_meanwhile,
        .effect = true,
    };
    struct kit_node *effect = kit_add(&kit, "E", &spec);
    effect->meanwhile = "a=2";
    EXPECT_IDLE(&kit);
    EXPECT_EQ(effect->runs, 2);
    kit_end(&kit);
}

/* And if it is what it was, there is no reason to run. */
TEST(r1_what_a_run_has_read_and_is_the_same_again_wakes_nobody)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a={'x':1,'y':1}");
    const struct kit_spec spec = {
        .surface = "-a.x",
        .fn = kit_fn_meanwhile,
        .effect = true,
    };
    struct kit_node *effect = kit_add(&kit, "E", &spec);
    effect->meanwhile = "a.y=2";
    EXPECT_IDLE(&kit);
    EXPECT_EQ(effect->runs, 1);
    kit_end(&kit);
}

/* -- Runs that fail ------------------------------------------------------ */

static enum run_result fail_at_once(struct run *run, struct kit_node *node)
{
    struct err_detail detail = {0};
    (void)err_set(&detail, ERR_ARGUMENT, "%s fails", node->name);
    return run_fail(run, &detail);
}

/* What was declared was for the order of the first run. */
TEST(r3_a_first_run_that_fails_looks_at_nothing_that_it_has_not_read)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "a", "1");
    struct kit_node *writer = kit_sum(&kit, "C", "a -> c", 0);
    (void)kit_effect(&kit, "E", "c", fail_at_once, 0);
    EXPECT_IDLE(&kit);
    EXPECT(!node_is_live(writer->node));
    const uint64_t runs = writer->runs;
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(writer->runs, runs);
    kit_end(&kit);
}

/* Fails if its first input is not 0, before it reads the second. Says how many
 * causes it had. */
static enum run_result fail_early(struct run *run, struct kit_node *node)
{
    node->k = (int64_t)run->causes.count;
    if (kit_number(run, node, 0) != 0) {
        return fail_at_once(run, node);
    }
    (void)kit_number(run, node, 1);
    return RUN_DONE;
}

/* The second input was a cause of the run that failed, and was not read in it:
 * it is one again when it changes. */
TEST(i8_what_a_failed_run_has_not_read_can_be_a_cause_again)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=0 b=1");
    struct kit_node *effect = kit_effect(&kit, "E", "-a -b", fail_early, 0);
    EXPECT_IDLE(&kit);
    kit_set_all(&kit, "a=1 b=2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(effect->runs, 2);
    EXPECT_INT(effect->k, 2);
    kit_set(&kit, "b", "3");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(effect->runs, 3);
    EXPECT_INT(effect->k, 1);
    kit_end(&kit);
}

/* -- Gates --------------------------------------------------------------- */

/* C has waited as long as it may, and is invalidated once more in the pass in
 * which its turn comes: it runs in its turn, not after E, which reads it. */
TEST(d2_who_has_waited_long_enough_runs_before_its_readers)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "a", "1");
    (void)kit_sum(&kit, "B", "a -> b", 0);
    const struct kit_spec spec = {
        .surface = "b -> c",
        .fn = kit_fn_sum,
        .debounce = 5,
    };
    (void)kit_add(&kit, "C", &spec);
    struct kit_node *effect = kit_see(&kit, "E", "b c");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(effect, "1,1");
    kit_set(&kit, "a", "2");
    kit_step(&kit);
    EXPECT_SEEN(effect, "1,1 2,1");
    kit_set(&kit, "a", "3");
    kit_tick(&kit, SCHED_DEBOUNCE_LONG_MS);
    EXPECT_SEEN(effect, "1,1 2,1 3,3");
    kit_end(&kit);
}
