/* PERS, R and S again: what a restart finds that test/spec/persistence.c has
 * no room for. Surfaces that nothing was written to, writers behind other
 * spaces, the barrier while a piece is taken up, and a process whose place was
 * taken by another one. */

#include <stdio.h>
#include <string.h>

#include "lib/persist_kit.h"
#include "lib/test.h"

static void begin(struct sched_kit *kit, bool held, const char *line)
{
    kit_begin_with_store(kit, held);
    kit->piece = "p";
    kit_set_all(kit, line);
    if (held) {
        kit_pump(kit);
    }
}

/* What the store knows of the places of an action that are of this kind, by
 * document. */
static const char *places_of(struct persist *persist,
                             const char *name,
                             enum place_kind kind)
{
    static char text[80];
    const struct digest action =
        digest_of_bytes("kit action", name, strlen(name));
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < persist->count; i++) {
        const struct resume_page *page = &persist->pages[i];
        VEC_FOREACH (&page->actions, one) {
            for (uint32_t j = 0; j < one->place_count; j++) {
                const uint32_t index = page->indexes.at[one->places + j];
                const struct text id = value_text(
                    &page->places.at[resume_index_place(index)].target.id);
                if (digest_equal(&one->action, &action) &&
                    resume_index_kind(index) == kind) {
                    length += (size_t)snprintf(text + length,
                                               sizeof text - length,
                                               "%.*s;",
                                               (int)id.length,
                                               id.at);
                }
            }
        }
    }
    return text;
}

/* -- Surfaces ------------------------------------------------------------ */

/* C and M say what they write, and have never written any of it. */
static struct kit_node *add_silent(struct sched_kit *kit,
                                   const char *outputs,
                                   const char *envelopes)
{
    char surface[24];
    (void)snprintf(surface, sizeof surface, "a -> %s", outputs);
    const struct kit_spec computes = {
        .surface = surface,
        .writes = "",
        .fn = kit_fn_sum,
    };
    const struct kit_spec materializes = {
        .surface = "a",
        .writes = "",
        .envelopes = envelopes,
        .fn = kit_fn_sum,
    };
    (void)kit_add(kit, "M", &materializes);
    return kit_add(kit, "C", &computes);
}

TEST(pers_05_a_surface_that_only_the_registration_has_named_survives)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1 b=7");
    (void)add_silent(&kit, "b", "m");
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    EXPECT_TEXT(places_of(&persist, "C", PLACE_OUTPUT), "b;");
    EXPECT_TEXT(places_of(&persist, "C", PLACE_DEEP), "a;");
    EXPECT_TEXT(places_of(&persist, "M", PLACE_ENVELOPE), "m;");
    EXPECT_TEXT(places_of(&persist, "M", PLACE_OUTPUT), "");
    struct kit_node *c = add_silent(&kit, "b", "m");
    const struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 3 dirty 0 unknown 0");
    EXPECT(kit_is_reader(e, c)); /* the edge is there without a write */
    EXPECT(node_is_live(c->node));
    EXPECT(e->node->height > c->node->height);
    (void)kit_ran(&kit);
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C M");
    kit_end(&kit);
}

/* And it counts: with another one it is another node. */
TEST(pers_05_another_surface_is_no_match_though_nothing_was_written)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1 b=7");
    (void)add_silent(&kit, "b", "m");
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b c");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    (void)add_silent(&kit, "c", "n");
    kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 0 unknown 2");
    kit_end(&kit);
}

/* -- Rows that cannot be used -------------------------------------------- */

/* X was changed in the file, Y is dirty, Z is clean: each for itself. */
TEST(pers_33_r31_a_damaged_row_is_skipped_and_the_others_keep_their_states)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1 b=1 c=1");
    kit_sum(&kit, "X", "a -> x", 0);
    kit_sum(&kit, "Y", "b -> y", 0);
    kit_sum(&kit, "Z", "c -> z", 0);
    kit_see(&kit, "E", "x y z");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_elsewhere(&kit, "set b 2");
    kit_run(kit_store_of(&kit),
            "UPDATE run SET mark = mark + 1"
            " WHERE action = (SELECT min(action) FROM run)");
    kit_load(&kit, "a b c x y z");
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    EXPECT_TEXT(persist_states(&persist, "X Y Z E"),
                "X=unknown Y=dirty Z=clean E=clean");
    kit_sum(&kit, "X", "a -> x", 0);
    kit_sum(&kit, "Y", "b -> y", 0);
    kit_sum(&kit, "Z", "c -> z", 0);
    struct kit_node *e = kit_see(&kit, "E", "x y z");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 1 unknown 1");
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "X Y E");
    EXPECT_SEEN(e, "1,2,1");
    kit_end(&kit);
}

/* One of two dirty writers runs, and the process ends: what reads both is not
 * up to date because of the other one. */
TEST(r38_when_one_of_two_dirty_writers_has_run_the_other_is_still_waited_for)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1 b=1");
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
    kit_sum(&kit, "A", "a -> x", 0); /* nobody else is here */
    (void)persist_end(&persist);
    kit_load(&kit, "a x");
    EXPECT_TEXT(kit_pull(&kit, "x"), "2");
    kit_restart(&kit, false);
    persist_begin(&persist, &kit, 0);
    EXPECT_TEXT(persist_states(&persist, "A B C E"),
                "A=clean B=dirty C=dirty E=clean");
    kit_sum(&kit, "A", "a -> x", 0);
    kit_sum(&kit, "B", "b -> y", 0);
    kit_sum(&kit, "C", "x y -> z", 0);
    struct kit_node *e = kit_see(&kit, "E", "z");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 2 unknown 0");
    (void)kit_ran(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "B C E");
    EXPECT_SEEN(e, "4");
    kit_end(&kit);
}

/* -- The barrier --------------------------------------------------------- */

TEST(pers_36_nothing_runs_while_a_piece_is_taken_up)
{
    struct sched_kit kit;
    begin(&kit, false, "a=1");
    kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    kit_load(&kit, "a b c");
    (void)kit_ran(&kit);
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    kit_see(&kit, "F", "c"); /* the reader of who comes later */
    EXPECT_EQ(sched_next_wake(kit.sched), MONO_NEVER);
    kit_step(&kit);
    kit_elsewhere(&kit, "set a 5"); /* what comes meanwhile changes nothing */
    kit_step(&kit);
    EXPECT_TEXT(kit_pull(&kit, "c"), "()");
    EXPECT_TEXT(kit_ran(&kit), "");
    EXPECT_EQ(kit.sched->counters.runs, 0);
    EXPECT(!sched_is_idle(kit.sched)); /* there is something to do */
    kit_sum(&kit, "D", "a -> c", 10);
    kit_sum(&kit, "C", "a -> b", 1);
    kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 1 dirty 0 unknown 3");
    EXPECT_EQ(sched_next_wake(kit.sched), kit.sim.now);
    EXPECT_IDLE(&kit); /* each of them once, with what is there now */
    EXPECT_TEXT(kit_ran(&kit), "D C F E");
    EXPECT_GET(&kit, "c", "15");
    EXPECT_GET(&kit, "b", "6");
    kit_end(&kit);
}

/* -- Another one in its place -------------------------------------------- */

/* A run whose commit, with what it saw, has been made and not sent. */
static void seal(struct sched_kit *kit)
{
    begin(kit, true, "a=1");
    kit_load(kit, "a b");
    kit_sum(kit, "C", "a -> b", 1);
    kit_see(kit, "E", "b");
    EXPECT_IDLE(kit);
    kit_pump(kit);
    EXPECT_IDLE(kit);
    kit_pump(kit);
    kit_elsewhere(kit, "set a 5");
    kit_pump(kit);
    EXPECT_IDLE(kit);
    EXPECT_GET(kit, "b", "6");
    EXPECT_TEXT(kit_stored(kit, "b"), "{'value':2}");
}

/* S07: ours has no lease. A session has one connection, and who takes it over
 * is the session from then on: what the other one had made before is nobody's.
 */
TEST(s07_what_was_made_before_the_session_was_taken_over_never_lands)
{
    struct sched_kit kit;
    struct sched_kit other;
    seal(&kit);
    kit_begin_beside(&other, &kit, "kit");
    other.piece = "p";
    kit_load(&other, "a b");
    EXPECT_GET(&other, "b", "2");
    kit_pump(&kit);
    kit_tick(&kit, 60000);
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "b"), "{'value':2}");
    struct persist persist;
    persist_list(&persist, &kit, 0);
    EXPECT_TEXT(persist_states(&persist, "C E"), "C=dirty E=clean");
    (void)persist_end(&persist);
    kit_end(&other);
    kit_end(&kit);
}

/* The control: with nobody in its place the same work lands. */
TEST(s07_what_was_made_before_a_loss_lands_if_the_session_is_the_same)
{
    struct sched_kit kit;
    seal(&kit);
    kit_pump(&kit);
    kit_tick(&kit, 60000);
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "b"), "{'value':6}");
    struct persist persist;
    persist_list(&persist, &kit, 0);
    EXPECT_TEXT(persist_states(&persist, "C"), "C=clean");
    (void)persist_end(&persist);
    kit_end(&kit);
}
