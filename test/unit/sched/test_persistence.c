/* What the store is told of runs, what it costs, and what others are told:
 * sched/persistence.h, rule by rule. What a restart makes of it is in
 * test/spec/persistence.c. */

#include "sched/persistence.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "lib/observe_kit.h"
#include "lib/persist_kit.h"
#include "lib/test.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/persisted.h"

static void begin(struct sched_kit *kit, bool held, const char *line)
{
    kit_begin_with_store(kit, held);
    kit->piece = "p";
    kit_set_all(kit, line);
    if (held) {
        kit_pump(kit);
    }
}

/* What the store knows now. */
static const char *states(struct sched_kit *kit, const char *names)
{
    static char text[80];
    struct persist persist;
    kit_pump(kit); /* what was without effect goes in batches */
    persist_list(&persist, kit, 0);
    (void)snprintf(text, sizeof text, "%s", persist_states(&persist, names));
    (void)persist_end(&persist);
    return text;
}

/* -- persistence-1, persistence-2 ---------------------------------------- */

TEST(nodes_without_an_identity_tell_nothing)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    kit.piece = NULL;
    kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    EXPECT(kit.sched->persistence == NULL);
    EXPECT_EQ(kit.sched->counters.observed, 0);
    kit.piece = "p";
    EXPECT_TEXT(states(&kit, "C E"), "C=missing E=missing");
    kit_end(&kit);
}

TEST(p1_every_run_is_told_with_or_without_a_commit)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->counters.observed, 2);
    EXPECT_TEXT(states(&kit, "C E"), "C=clean E=clean");
    kit_set(&kit, "a", "2");
    EXPECT_TEXT(states(&kit, "C E"), "C=dirty E=clean");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->counters.observed, 4);
    EXPECT_TEXT(states(&kit, "C E"), "C=clean E=clean");
    kit_end(&kit);
}

/* Reads that are not for scheduling are nobody's business. */
TEST(p1_only_reads_for_scheduling_count)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1 x=1");
    kit_sum(&kit, "C", "a ?x -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "x", "2");
    EXPECT_TEXT(states(&kit, "C"), "C=clean");
    kit_end(&kit);
}

/* A range depends on the entries inside of it, here and after a restart. */
TEST(a_range_wakes_its_reader_for_entries_inside_and_no_others)
{
    static const char *const surface = "a.\x1frange1,bd -> b";
    struct sched_kit kit;
    begin(&kit, false, "a={'a':1,'c':1}");
    struct kit_node *c =
        kit_computation(&kit, "C", surface, kit_fn_constant, 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    kit_set(&kit, "a.e", "1");
    kit_set(&kit, "a.a", "2");
    kit_elsewhere(&kit, "remove a.a");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 1);
    EXPECT_TEXT(states(&kit, "C"), "C=clean");
    kit_set(&kit, "a.bb", "1");
    EXPECT_TEXT(states(&kit, "C"), "C=dirty");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    kit_set(&kit, "a.c", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 3);
    kit_elsewhere(&kit, "remove a.c");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 4);
    kit_set(&kit, "a", "{'bb':1}"); /* the same inside, by another way */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 4);
    kit_set(&kit, "a.d", "1");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 5);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "add a.f 1");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_computation(&kit, "C", surface, kit_fn_constant, 1);
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 0 unknown 0");
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "add a.b 1");
    persist_begin(&persist, &kit, 0);
    kit_computation(&kit, "C", surface, kit_fn_constant, 1);
    EXPECT_TEXT(persist_end(&persist), "restored 0 dirty 1 unknown 0");
    kit_end(&kit);
}

/* An effect that runs again and again, with the same reads. */
TEST(p2_an_unchanged_read_set_makes_no_observation_of_its_own)
{
    struct sched_kit kit;
    begin(&kit, true, "a=1");
    kit_load(&kit, "a b");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    for (int i = 0; i < 3; i++) {
        kit_set_number(&kit, "a", i + 10);
        EXPECT_IDLE(&kit);
        kit_pump(&kit);
        EXPECT_IDLE(&kit);
        kit_pump(&kit);
    }
    EXPECT(!c->node->reads_changed);
    const size_t idle = kit.replica.idle_observations.count;
    EXPECT(idle >= 2); /* they come back when they have been answered */
    kit_set_number(&kit, "a", 20);
    EXPECT_IDLE(&kit);
    EXPECT(kit.replica.idle_observations.count < idle);
    kit_pump(&kit);
    EXPECT_EQ(kit.replica.idle_observations.count, idle);
    EXPECT_TEXT(states(&kit, "C E"), "C=clean E=clean");
    kit_end(&kit);
}

/* The store has lost what it was told: it says so, and is told again. */
TEST(p2_a_set_that_the_store_has_not_is_sent_again_in_full)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    const struct value branch = value_text_new("");
    const struct value piece = value_text_new("p");
    EXPECT_INT(
        engine_piece_forget(&kit_store_of(&kit)->engine, branch, piece, NULL),
        ERR_OK);
    value_unref(branch);
    value_unref(piece);
    EXPECT_TEXT(states(&kit, "C E"), "C=missing E=missing");
    kit_set(&kit, "a", "2"); /* the digests only, which it has not got */
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "3");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(states(&kit, "C E"), "C=clean E=clean");
    kit_end(&kit);
}

/* A generation that is over is not told of any more. */
TEST(p2_who_is_superseded_is_silent)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    observe_commit(kit_store_of(&kit), "x 1 | set z 1", "p/a1 gen=7 deep z");
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    const uint64_t observed = kit.sched->counters.observed;
    kit_set(&kit, "a", "3");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 3);
    EXPECT_EQ(kit.sched->counters.observed, observed);
    kit_end(&kit);
}

/* -- persistence-3 ------------------------------------------------------- */

/* Two runs in a row of which the first has no answer. */
TEST(p3_a_run_after_one_without_an_answer_proves_nothing)
{
    struct sched_kit kit;
    begin(&kit, true, "a=1");
    kit_load(&kit, "a b");
    kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(states(&kit, "C"), "C=failed");
    EXPECT_IDLE(&kit); /* both have been answered now */
    EXPECT_TEXT(states(&kit, "C"), "C=clean");
    EXPECT_EQ(kit.sched->persistence->doubts.count, 0);
    kit_end(&kit);
}

/* A node that goes while it is in doubt. */
TEST(p3_a_doubt_goes_with_its_node)
{
    struct sched_kit kit;
    begin(&kit, true, "a=1");
    kit_load(&kit, "a b");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->persistence->doubts.count, 1);
    kit_remove(c);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->persistence->doubts.count, 0);
    EXPECT_TEXT(states(&kit, "C"), "C=failed");
    kit_end(&kit);
}

/* The output is what it should be because of a commit that is refused later. */
TEST(p3_a_run_that_found_its_work_done_falls_with_that_work)
{
    struct sched_kit kit;
    begin(&kit, true, "a=1");
    kit_load(&kit, "a b");
    kit_computation(&kit, "C", "a -> b", kit_fn_modulo, 2);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit); /* b=1, not sent */
    kit_elsewhere(&kit, "set a 3");
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_restart(&kit, true);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_load(&kit, "a b");
    kit_computation(&kit, "C", "a -> b", kit_fn_modulo, 2);
    kit_see(&kit, "E", "b");
    (void)persist_end(&persist);
    for (int i = 0; i < 4; i++) {
        EXPECT_IDLE(&kit);
        kit_pump(&kit);
    }
    EXPECT_TEXT(kit_stored(&kit, "b"), "{'value':1}");
    kit_end(&kit);
}

/* A second space that is its own authority: it is gone after a restart. */
TEST(p3_what_was_read_or_written_in_a_space_without_a_store_is_in_doubt)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    const struct space_options options = {.id = value_text_new("second")};
    EXPECT_INT(space_open(&kit.replica, &options, &kit.second, NULL), ERR_OK);
    value_unref(options.id);
    kit_set_all(&kit, ">x=1");
    kit_sum(&kit, "C", "a >x -> b", 1);
    kit_sum(&kit, "D", "a -> >y", 1);
    kit_sum(&kit, "F", "a -> c", 1);
    kit_see(&kit, "E", "b >y c");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(states(&kit, "C D E F"), "C=failed D=failed E=failed F=clean");
    kit_end(&kit);
}

/* -- Identities ---------------------------------------------------------- */

TEST(an_identity_that_is_taken_or_unusable_is_none)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    struct kit_node *twice = kit_sum(&kit, "C", "a -> c", 1);
    EXPECT(node_persisted(c->node) != NULL);
    EXPECT(node_persisted(twice->node) == NULL);
    char name[LIMIT_ID_BYTES + 2];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    kit.piece = name;
    struct kit_node *wide = kit_sum(&kit, "D", "a -> d", 1);
    EXPECT(node_persisted(wide->node) == NULL);
    kit.piece = "";
    struct kit_node *nameless = kit_sum(&kit, "F", "a -> e", 1);
    EXPECT(node_persisted(nameless->node) == NULL);
    kit_remove(c); /* free again */
    kit.piece = "p";
    struct kit_node *again = kit_sum(&kit, "C", "a -> b", 1);
    EXPECT(node_persisted(again->node) != NULL);
    kit_end(&kit);
}

/* -- persistence-8 ------------------------------------------------------- */

struct two {
    struct sched_kit one;
    struct sched_kit other;
    struct kit_node *c[2];
    struct kit_node *e[2];
};

static void two_begin(struct two *two, kit_fn *fn, int64_t k)
{
    begin(&two->one, false, "a=1");
    kit_begin_beside(&two->other, &two->one, "other");
    two->other.piece = "p";
    struct sched_kit *kits[2] = {&two->one, &two->other};
    for (int i = 0; i < 2; i++) {
        struct place *a = kit_place(kits[i], "a");
        struct place *b = kit_place(kits[i], "b");
        space_want(kits[i]->space, a->entity);
        space_want(kits[i]->space, b->entity);
        replica_pump(&kits[i]->replica);
        place_unref(a);
        place_unref(b);
        two->c[i] = kit_computation(kits[i], "C", "a -> b", fn, k);
        two->e[i] = kit_see(kits[i], "E", "b");
    }
}

static void two_end(struct two *two)
{
    kit_end(&two->other);
    kit_end(&two->one);
}

TEST(p8_a_run_of_somebody_else_is_as_good_as_an_own_one)
{
    struct two two;
    two_begin(&two, kit_fn_times, 2);
    EXPECT_IDLE(&two.one);
    EXPECT_EQ(two.other.sched->counters.adopted, 1);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.c[0]->runs, 1);
    EXPECT_EQ(two.c[1]->runs, 0);
    EXPECT_SEEN(two.e[1], "2"); /* effects are each runtime's own */
    for (int i = 2; i < 6; i++) {
        kit_set_number(&two.one, "a", i);
        EXPECT_IDLE(&two.one);
        EXPECT_IDLE(&two.other);
    }
    EXPECT_EQ(two.c[0]->runs, 5);
    EXPECT_EQ(two.c[1]->runs, 0);
    EXPECT_SEEN(two.e[1], "2 4 6 8 10");
    /* And it goes on alone. */
    kit_remove(two.c[0]);
    kit_set_number(&two.one, "a", 50);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.c[1]->runs, 1);
    EXPECT_GET(&two.one, "b", "100");
    two_end(&two);
}

/* A run without effect tells that there was nothing to do. */
TEST(p8_a_run_without_effect_is_adopted)
{
    struct two two;
    two_begin(&two, kit_fn_modulo, 2);
    EXPECT_IDLE(&two.one);
    EXPECT_IDLE(&two.other);
    kit_set(&two.one, "a", "3");
    EXPECT_IDLE(&two.one);
    kit_pump(&two.one);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.c[0]->runs, 2);
    EXPECT_EQ(two.c[1]->runs, 0);
    EXPECT_SEEN(two.e[1], "1");
    two_end(&two);
}

TEST(p8_other_code_is_not_adopted)
{
    struct two two;
    two_begin(&two, kit_fn_times, 2);
    kit_remove(two.c[1]);
    two.other.code = "changed";
    two.c[1] = kit_computation(&two.other, "C", "a -> b", kit_fn_times, 2);
    EXPECT_IDLE(&two.one);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.other.sched->counters.adopted, 0);
    EXPECT_EQ(two.c[1]->runs, 1);
    two_end(&two);
}

/* Somebody wants it to run: then it does. */
TEST(p8_who_was_asked_for_runs)
{
    struct two two;
    two_begin(&two, kit_fn_times, 2);
    sched_invalidate(two.other.sched, two.c[1]->node);
    EXPECT_IDLE(&two.one);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.other.sched->counters.adopted, 0);
    EXPECT_EQ(two.c[1]->runs, 1);
    two_end(&two);
}

TEST(p8_a_failed_run_is_not_adopted)
{
    struct two two;
    two_begin(&two, kit_fn_fail, 2);
    EXPECT_IDLE(&two.one);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.other.sched->counters.adopted, 0);
    EXPECT_EQ(two.c[1]->runs, 1);
    two_end(&two);
}

/* -- Waiting for a peer -------------------------------------------------- */

/* The first one ran C, the other one knows it, and an edit is on its way. */
static void two_wait(struct two *two)
{
    two_begin(two, kit_fn_times, 2);
    EXPECT_IDLE(&two->one);
    EXPECT_IDLE(&two->other);
    EXPECT_EQ(two->c[1]->runs, 0);
    kit_elsewhere(&two->one, "set a 7");
    kit_step(&two->other);
    EXPECT_EQ(two->c[1]->runs, 0);
    EXPECT_EQ(two->other.sched->counters.waits, 1);
    EXPECT_TEXT(gates_reason(two->c[1]->node, two->other.sim.now), "peer");
    EXPECT(!sched_is_idle(two->other.sched));
}

TEST(p9_who_ran_it_last_runs_it_and_the_others_wait)
{
    struct two two;
    two_wait(&two);
    kit_step(&two.one);
    EXPECT_EQ(two.c[0]->runs, 2);
    kit_step(&two.other);
    EXPECT_EQ(two.c[1]->runs, 0);
    EXPECT_SEEN(two.e[1], "2 14");
    EXPECT(sched_is_idle(two.other.sched));
    EXPECT_EQ(two.one.sched->counters.waits, 0);
    two_end(&two);
}

/* The wait ends, and is not repeated for who is not there any more. */
TEST(p9_a_peer_that_has_gone_is_waited_for_once)
{
    struct two two;
    two_wait(&two);
    kit_tick(&two.other, PERSISTENCE_GRACE_MS - 1);
    EXPECT_EQ(two.c[1]->runs, 0);
    kit_tick(&two.other, 2 * PERSISTENCE_GRACE_MS);
    EXPECT_EQ(two.c[1]->runs, 1);
    EXPECT_EQ(two.other.sched->counters.vain, 1);
    EXPECT_SEEN(two.e[1], "2 14");
    kit_elsewhere(&two.one, "set a 8");
    kit_step(&two.other);
    EXPECT_EQ(two.c[1]->runs, 2);
    EXPECT_EQ(two.other.sched->counters.waits, 1);
    two_end(&two);
}

/* More edits do not make it longer. */
TEST(p9_a_wait_is_never_made_longer)
{
    struct two two;
    two_wait(&two);
    for (int i = 0; i < 6; i++) {
        kit_elsewhere(&two.one, "set a 9");
        kit_tick(&two.other, PERSISTENCE_GRACE_MS / 2);
    }
    EXPECT_EQ(two.c[1]->runs, 1);
    EXPECT_GET(&two.other, "b", "18");
    two_end(&two);
}

TEST(p9_who_needs_it_now_does_not_wait)
{
    struct two two;
    two_wait(&two);
    EXPECT_TEXT(kit_pull(&two.other, "b"), "14");
    EXPECT_EQ(two.c[1]->runs, 1);
    EXPECT_EQ(two.other.sched->counters.vain, 0);
    kit_step(&two.other);
    EXPECT_SEEN(two.e[1], "2 14");
    EXPECT(sched_is_idle(two.other.sched));
    two_end(&two);
}

TEST(p9_a_change_made_here_does_not_wait)
{
    struct two two;
    two_wait(&two);
    kit_step(&two.one);
    kit_step(&two.other);
    kit_set(&two.other, "a", "9");
    kit_step(&two.other);
    EXPECT_EQ(two.c[1]->runs, 1);
    EXPECT_SEEN(two.e[1], "2 14 18");
    two_end(&two);
}

TEST(p9_a_node_that_waits_can_be_removed)
{
    struct two two;
    two_wait(&two);
    kit_remove(two.e[1]);
    kit_remove(two.c[1]);
    EXPECT_IDLE(&two.other);
    two_end(&two);
}

TEST(p9_without_grace_nobody_waits)
{
    struct two two;
    two_begin(&two, kit_fn_times, 2);
    persistence_set_grace(two.other.sched, 0);
    EXPECT_IDLE(&two.one);
    EXPECT_IDLE(&two.other);
    kit_elsewhere(&two.one, "set a 7");
    kit_step(&two.other);
    EXPECT_EQ(two.c[1]->runs, 1);
    two_end(&two);
}

/* Who has taken up a piece alone has nobody to wait for. */
TEST(p9_alone_nobody_waits)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    c = kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    kit_elsewhere(&kit, "set a 7");
    kit_step(&kit);
    EXPECT_EQ(c->runs, 1);
    EXPECT_EQ(kit.sched->counters.waits, 0);
    kit_end(&kit);
}

/* The read set comes along, and wakes it when it should. */
TEST(p8_the_read_set_is_adopted_too)
{
    struct two two;
    begin(&two.one, false, "s=1 x=10 y=20");
    kit_begin_beside(&two.other, &two.one, "other");
    two.other.piece = "p";
    kit_load(&two.one, "s x y b");
    kit_load(&two.other, "b");
    two.c[1] =
        kit_computation(&two.other, "C", "s -x -y -> b", kit_fn_select, 0);
    two.e[1] = kit_see(&two.other, "E", "b");
    two.c[0] = kit_computation(&two.one, "C", "s -x -y -> b", kit_fn_select, 0);
    two.e[0] = kit_see(&two.one, "E", "b");
    EXPECT_IDLE(&two.one);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.c[1]->runs, 0);
    kit_set(&two.one, "s", "0");
    EXPECT_IDLE(&two.one);
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.c[1]->runs, 0);
    EXPECT_EQ(two.c[1]->node->reads.count, 2);
    kit_remove(two.c[0]);
    kit_set(&two.one, "x", "11");
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.c[1]->runs, 0);
    kit_set(&two.one, "y", "21");
    EXPECT_IDLE(&two.other);
    EXPECT_EQ(two.c[1]->runs, 1);
    EXPECT_GET(&two.one, "b", "21");
    two_end(&two);
}
