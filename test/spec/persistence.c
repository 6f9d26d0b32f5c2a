/* PERS and R30 to R39: what a restart finds. Each test runs a piece, ends the
 * process, and takes the piece up in another one on the same store. */

#include <stdio.h>

#include "base/mem.h"
#include "lib/persist_kit.h"
#include "lib/test.h"

/* b = a + 1, and somebody who looks. */
struct pair {
    struct kit_node *c;
    struct kit_node *e;
};

static struct pair add_pair(struct sched_kit *kit)
{
    return (struct pair){
        kit_sum(kit, "C", "a -> b", 1),
        kit_see(kit, "E", "b"),
    };
}

static void begin(struct sched_kit *kit, const char *line)
{
    kit_begin_with_store(kit, false);
    kit->piece = "p";
    kit_set_all(kit, line);
}

static void begin_pair(struct sched_kit *kit)
{
    begin(kit, "a=1");
    (void)add_pair(kit);
    EXPECT_IDLE(kit);
    EXPECT_TEXT(kit_ran(kit), "C E");
}

/* The same nodes in another process. */
static struct pair resume_pair(struct sched_kit *kit, const char *want)
{
    struct persist persist;
    persist_begin(&persist, kit, 0);
    const struct pair pair = add_pair(kit);
    EXPECT_TEXT(persist_end(&persist), want);
    return pair;
}

/* -- Clean --------------------------------------------------------------- */

TEST(pers_20_r30_a_clean_piece_resumes_without_a_run_and_without_a_read)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    const uint64_t transactions = kit.replica.epoch;
    const struct pair pair = resume_pair(&kit, "restored 2 dirty 0 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    EXPECT_EQ(kit.replica.epoch, transactions);
    EXPECT_EQ(kit.sched->counters.runs, 0);
    EXPECT_EQ(kit.sched->counters.invalidations, 0);
    EXPECT_EQ(kit.replica.counters.documents, 0);
    EXPECT_GET(&kit, "b", "()");
    kit_load(&kit, "b");
    EXPECT_GET(&kit, "b", "2");
    EXPECT_EQ(kit.replica.counters.documents, 1);
    EXPECT(kit_is_reader(pair.e, pair.c));
    EXPECT(node_is_live(pair.c->node));

    kit_set(&kit, "a", "5"); /* as if it had been there all the time */
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    EXPECT_SEEN(pair.e, "6");
    kit_set(&kit, "a", "5");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    kit_end(&kit);
}

/* What comes from elsewhere after the restart is seen, by value. */
TEST(r30_a_resumed_node_sees_what_others_write)
{
    struct sched_kit kit;
    begin(&kit, "a={'x':1,'y':1}");
    kit_sum(&kit, "C", "a.x -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_sum(&kit, "C", "a.x -> b", 1);
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    (void)kit_ran(&kit);
    kit_elsewhere(&kit, "replace a.y 9");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    kit_elsewhere(&kit, "replace a.x 9");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    EXPECT_SEEN(e, "10");
    kit_end(&kit);
}

/* The documents come later than the registrations, and wake nobody. */
TEST(pers_20_the_first_load_wakes_nobody)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit.piece = "p";
    kit_set_all(&kit, "a=1");
    (void)add_pair(&kit);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    const struct pair pair = add_pair(&kit);
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "b", "()"); /* not loaded */
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    kit_load(&kit, "a b");
    EXPECT_GET(&kit, "b", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    EXPECT_EQ(kit.sched->counters.invalidations, 0);
    kit_elsewhere(&kit, "set a 3");
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(pair.e, "4");
    kit_end(&kit);
}

/* What lands after the listing and before the first load is news. */
TEST(pers_33_what_lands_after_the_listing_wakes)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit.piece = "p";
    kit_set_all(&kit, "a=1");
    (void)add_pair(&kit);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    const struct pair pair = add_pair(&kit);
    kit_elsewhere(&kit, "set a 3");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "b", "4");
    EXPECT_EQ(pair.c->runs, 1);
    kit_end(&kit);
}

TEST(pers_18_a_reader_that_is_restored_before_its_writer_has_its_edge)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    struct kit_node *e = kit_see(&kit, "E", "b");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    EXPECT(kit_is_reader(e, c));
    EXPECT(node_is_live(c->node));
    EXPECT(e->node->height > c->node->height);
    kit_end(&kit);
}

/* A run that changed nothing leaves its row, too. */
TEST(pers_12_runs_without_effect_are_kept)
{
    struct sched_kit kit;
    begin(&kit, "a=1");
    kit_computation(&kit, "C", "a -> b", kit_fn_modulo, 2);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "3");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E C");
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    EXPECT_TEXT(persist_states(&persist, "C E"), "C=clean E=clean");
    kit_computation(&kit, "C", "a -> b", kit_fn_modulo, 2);
    kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    kit_end(&kit);
}

/* What it read last is what counts. */
TEST(pers_26_a_read_set_that_changed_is_the_one_that_is_restored)
{
    struct sched_kit kit;
    begin(&kit, "s=1 x=10 y=20");
    kit_computation(&kit, "C", "s -x -y -> b", kit_fn_select, 0);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "s", "0");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "set x 11");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_computation(&kit, "C", "s -x -y -> b", kit_fn_select, 0);
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    (void)kit_ran(&kit);
    kit_set(&kit, "x", "12");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    kit_set(&kit, "y", "21");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "21");
    kit_end(&kit);
}

/* -- Dirty --------------------------------------------------------------- */

TEST(pers_14_what_changed_meanwhile_runs_and_nothing_else)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "set a 20");
    const struct pair pair = resume_pair(&kit, "restored 1 dirty 1 unknown 0");
    EXPECT_EQ(pair.c->node->causes.count, 1);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    EXPECT_SEEN(pair.e, "21");
    kit_end(&kit);
}

/* Value-accurate across the restart: an effect whose input is the same does
 * not fire. */
TEST(pers_14_an_effect_does_not_fire_for_an_equal_value)
{
    struct sched_kit kit;
    begin(&kit, "a=1");
    kit_computation(&kit, "C", "a -> b", kit_fn_modulo, 2);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "set a 3");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_computation(&kit, "C", "a -> b", kit_fn_modulo, 2);
    kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 1 unknown 0");
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C");
    kit_end(&kit);
}

TEST(pers_16_r32_of_two_readers_only_the_affected_one_runs)
{
    struct sched_kit kit;
    begin(&kit, "a={'x':1,'y':1}");
    kit_sum(&kit, "X", "a.x -> bx", 0);
    kit_sum(&kit, "Y", "a.y -> by", 0);
    kit_see(&kit, "E", "bx by");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "replace a.y 5");
    struct persist persist;
    persist_begin(&persist, &kit, 2);
    kit_sum(&kit, "X", "a.x -> bx", 0);
    kit_sum(&kit, "Y", "a.y -> by", 0);
    struct kit_node *e = kit_see(&kit, "E", "bx by");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 1 unknown 0");
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "Y E");
    EXPECT_SEEN(e, "1,5");
    kit_end(&kit);
}

/* Nobody looks: it stays dirty, and runs when somebody does. */
TEST(pers_15_what_nobody_looks_at_does_not_run)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "set a 20");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    EXPECT_TEXT(persist_end(&persist), "restored 0 dirty 1 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 0);
    kit_load(&kit, "b");
    EXPECT_TEXT(kit_pull(&kit, "b"), "21");
    EXPECT_EQ(c->runs, 1);
    kit_end(&kit);
}

TEST(r38_two_dirty_writers_each_run)
{
    struct sched_kit kit;
    begin(&kit, "a=1 b=1");
    kit_sum(&kit, "A", "a -> x", 0);
    kit_sum(&kit, "B", "b -> y", 0);
    kit_sum(&kit, "C", "x y -> z", 0);
    kit_see(&kit, "E", "z");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "set a 2");
    kit_elsewhere(&kit, "set b 2");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_sum(&kit, "A", "a -> x", 0);
    kit_sum(&kit, "B", "b -> y", 0);
    struct kit_node *c = kit_sum(&kit, "C", "x y -> z", 0);
    struct kit_node *e = kit_see(&kit, "E", "z");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 2 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    EXPECT_SEEN(e, "4");
    kit_end(&kit);
}

static enum run_result write_below(struct run *run, struct kit_node *node)
{
    const int64_t number = kit_number(run, node, 0);
    kit_write_adopt(run, node, "m.k", value_int(number));
    return RUN_DONE;
}

static void add_materializer(struct sched_kit *kit)
{
    const struct kit_spec spec = {
        .surface = "a",
        .envelopes = "m",
        .fn = write_below,
    };
    (void)kit_add(kit, "M", &spec);
    kit_see(kit, "K", "m.k");
    kit_see(kit, "L", "m.l");
}

TEST(r33_pers_19_a_dirty_materializer_runs_and_wakes_whom_it_changes)
{
    struct sched_kit kit;
    begin(&kit, "a=1 m={'k':0,'l':0}");
    add_materializer(&kit);
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "set a 2");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    add_materializer(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 1 unknown 0");
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "M K");
    kit_end(&kit);
}

/* -- Unknown ------------------------------------------------------------- */

static void expect_fresh(struct sched_kit *kit, const char *want)
{
    kit_load(kit, "a b");
    (void)resume_pair(kit, want);
    (void)kit_ran(kit);
    EXPECT_IDLE(kit);
    EXPECT_TEXT(kit_ran(kit), "C E");
}

TEST(pers_08_r31_other_code_runs_once)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit.code = "changed";
    expect_fresh(&kit, "restored 0 dirty 0 unknown 2");
    kit_end(&kit);
}

TEST(pers_08_r31_another_generation_runs_once)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit.generation = 1;
    expect_fresh(&kit, "restored 0 dirty 0 unknown 2");
    kit_restart(&kit, false); /* and is the one from then on */
    (void)resume_pair(&kit, "restored 2 dirty 0 unknown 0");
    kit_end(&kit);
}

TEST(pers_08_r31_another_piece_knows_nothing)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit.piece = "q";
    expect_fresh(&kit, "restored 0 dirty 0 unknown 2");
    kit_end(&kit);
}

/* The surface and the kind are compared for each node. */
TEST(pers_08_another_surface_or_kind_is_another_node)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b c");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_sum(&kit, "C", "a -> c", 1);
    kit_sum(&kit, "E", "b", 0);
    EXPECT_TEXT(persist_end(&persist), "restored 0 dirty 0 unknown 2");
    kit_end(&kit);
}

TEST(pers_08_a_missing_row_is_one_run)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b c");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    (void)add_pair(&kit);
    kit_sum(&kit, "D", "a -> c", 5);
    kit_see(&kit, "F", "c");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 2");
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "D F");
    kit_end(&kit);
}

TEST(r31_a_run_that_failed_is_run_again)
{
    struct sched_kit kit;
    begin(&kit, "a=1");
    kit_computation(&kit, "C", "a -> b", kit_fn_fail, 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    EXPECT_TEXT(persist_states(&persist, "C E"), "C=failed E=clean");
    const struct pair pair = add_pair(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 0 unknown 1");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(pair.e, "2");
    kit_end(&kit);
}

/* And one that ends well later is clean again. */
TEST(r31_a_failure_that_was_repaired_is_forgotten)
{
    struct sched_kit kit;
    begin(&kit, "a=1");
    struct kit_node *c = kit_computation(&kit, "C", "a -> b", kit_fn_fail, 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    c->fn = kit_fn_sum;
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "b", "3");
    kit_restart(&kit, false);
    (void)resume_pair(&kit, "restored 2 dirty 0 unknown 0");
    kit_end(&kit);
}

/* -- Safety -------------------------------------------------------------- */

/* (a): an input advances between the listing and the registration. */
TEST(pers_33_r34_what_is_newer_here_is_not_overridden)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b");
    struct persist persist;
    persist_list(&persist, &kit, 0);
    kit_elsewhere(&kit, "set a 13");
    EXPECT_INT(persist_take(&persist), ERR_OK);
    const struct pair pair = add_pair(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 0 unknown 1");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "b", "14");
    EXPECT_EQ(pair.c->runs, 1);
    kit_end(&kit);
}

TEST(pers_33_r34_a_local_write_without_an_answer_is_not_overridden)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit.piece = "p";
    kit_set_all(&kit, "a=1");
    (void)add_pair(&kit);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b");
    struct persist persist;
    persist_list(&persist, &kit, 0);
    kit_set(&kit, "a", "13"); /* waits on the link */
    EXPECT_INT(persist_take(&persist), ERR_OK);
    const struct pair pair = add_pair(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 0 unknown 1");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "b", "14");
    EXPECT_EQ(pair.c->runs, 1);
    kit_end(&kit);
}

/* (b): pages of different states are none. */
TEST(pers_33_pages_of_different_seqs_are_discarded_whole)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b");
    struct persist persist;
    persist_list(&persist, &kit, 1);
    EXPECT_EQ(persist.count, 2);
    persist.pages[1].seq++;
    EXPECT_INT(persist_take(&persist), ERR_LISTING_MOVED);
    persist.pages[1].seq--;
    persist.count = 1; /* there is more */
    EXPECT_INT(persist_take(&persist), ERR_LISTING_MOVED);
    persist.count = 2;
    (void)add_pair(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 0 dirty 0 unknown 0");
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    kit_end(&kit);
}

/* (e): the end of the scheduler in the middle of it. */
TEST(pers_33_a_scheduler_ends_while_a_piece_is_resumed)
{
    struct sched_kit kit;
    begin_pair(&kit);
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    EXPECT_INT(persist_take(&persist), ERR_ARGUMENT); /* one at a time */
    kit_sum(&kit, "C", "a -> b", 1);
    sched_dispose(kit.sched);
    persist.begun = true;
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 0 unknown 0");
    kit_end(&kit);
}

/* A crash before anything was sent: the store knows nothing of the last run,
 * and nothing is taken for clean. */
TEST(i7_a_crash_loses_the_run_and_its_row_together)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit.piece = "p";
    kit_set_all(&kit, "a=1");
    (void)add_pair(&kit);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    kit_elsewhere(&kit, "set a 5");
    kit_pump(&kit);
    EXPECT_IDLE(&kit); /* what it commits waits on the link */
    EXPECT_GET(&kit, "b", "6");
    kit_restart(&kit, true);
    EXPECT_TEXT(kit_stored(&kit, "b"), "{'value':2}");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    const struct pair pair = add_pair(&kit);
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 1 unknown 0");
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "b", "6");
    EXPECT_EQ(pair.c->runs, 1);
    kit_end(&kit);
}

/* -- Gates --------------------------------------------------------------- */

TEST(pers_01_the_configuration_of_gates_is_restored_without_deadlines)
{
    struct sched_kit kit;
    begin(&kit, "a=1");
    kit_sum(&kit, "C", "a -> b", 1);
    struct kit_node *e = kit_see(&kit, "E", "b");
    sched_set_debounce(kit.sched, e->node, 40);
    sched_set_throttle(kit.sched, e->node, 70);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 1);
    kit_restart(&kit, false);
    const struct pair pair = resume_pair(&kit, "restored 2 dirty 0 unknown 0");
    EXPECT(pair.e->node->gate != NULL);
    EXPECT_EQ(pair.e->node->gate->debounce, 40);
    EXPECT_EQ(pair.e->node->gate->throttle, 70);
    EXPECT_EQ(pair.e->node->gate->throttle_ready, 0);
    EXPECT_EQ(pair.e->node->gate->debounce_ready, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(pair.e->runs, 0);
    kit_set(&kit, "a", "2");
    kit_step(&kit);
    EXPECT_EQ(pair.e->runs, 0);
    kit_tick(&kit, 40);
    EXPECT_EQ(pair.e->runs, 1);
    kit_end(&kit);
}
