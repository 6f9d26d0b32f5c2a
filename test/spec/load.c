/* LOAD: documents that have not arrived. A head whose closure leads to a
 * document that is being loaded waits for it; that there is none is an answer
 * like any other. An answer that can never come fails the event. */

#include "lib/event_kit.h"
#include "lib/test.h"

/* C has run on a document that had not come; H reads what C wrote. */
static struct scene_handler *begin_cold(struct scene *on)
{
    scene_begin(on, AT_STORE_HELD);
    struct sched_kit *kit = &on->kit;
    kit_set_all(kit, "one=1");
    scene_pump(on);
    kit_sum(kit, "C", "one cold -> co", 10);
    struct scene_handler *h = scene_on(on, "H", "in", "co -> r", handle_sum, 0);
    EXPECT_TEXT(kit_pull(kit, "co"), "11"); /* provisional */
    return h;
}

TEST(load_01_a_head_waits_for_what_its_closure_read)
{
    struct scene on;
    struct scene_handler *h = begin_cold(&on);
    struct scene_sent *sent = scene_send(&on, "in", "5");
    EXPECT(!kit_idle(&on.kit));
    kit_tick(&on.kit, 1000);
    kit_tick(&on.kit, 1000);
    EXPECT_EQ(h->runs, 0);
    EXPECT_EQ(scene_counters(&on)->parked_load, 1);
    scene_pump(&on); /* there is none */
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 1);
    EXPECT_END(sent, "done");
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':16}");
    kit_tick(&on.kit, 1000);
    EXPECT_EQ(h->runs, 1);
    scene_end(&on);
}

/* What came counts, and not what C said before. */
TEST(load_01_and_sees_what_has_come)
{
    struct scene on;
    struct scene_handler *h = begin_cold(&on);
    scene_elsewhere(&on, "set cold 100");
    scene_send(&on, "in", "5");
    EXPECT(!kit_idle(&on.kit));
    scene_pump(&on);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 1);
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':116}");
    scene_end(&on);
}

TEST(load_02_what_never_comes_fails_the_event)
{
    struct scene on;
    struct scene thief;
    struct scene_handler *h = begin_cold(&on);
    scene_on(&on, "G", "other", "", handle_nothing, 0);
    struct scene_sent *sent = scene_send(&on, "in", "5");
    EXPECT(!kit_idle(&on.kit));
    scene_begin_beside(&thief, &on, "first", AT_STORE);
    kit_set(&thief.kit, "x", "1"); /* takes the session over */
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 0);
    EXPECT_EQ(sent->ended, 1);
    EXPECT_END(sent, "failed SESSION_LOST");
    scene_end(&thief);
    scene_end(&on);
}

/* The first answer leads to another document that has not come. */
TEST(load_03_one_load_after_the_other)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    struct sched_kit *kit = &on.kit;
    scene_elsewhere(&on, "set first true");
    scene_elsewhere(&on, "set second 20");
    kit_computation(kit, "C", "first -second -third -> co", kit_fn_select, 0);
    struct scene_handler *h =
        scene_on(&on, "H", "in", "co -> r", handle_sum, 0);
    kit_set(kit, "third", "7");
    scene_pump(&on);
    (void)kit_pull(kit, "co");
    scene_send(&on, "in", "5");
    EXPECT(!kit_idle(kit));
    EXPECT_EQ(scene_counters(&on)->parked_load, 1);
    scene_pump(&on);
    EXPECT(!kit_idle(kit)); /* C has asked for the second one now */
    EXPECT_EQ(h->runs, 0);
    EXPECT_EQ(scene_counters(&on)->parked_load, 2);
    scene_pump(&on);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 1);
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':25}");
    scene_end(&on);
}

TEST(load_04_what_has_come_is_not_waited_for)
{
    struct scene on;
    struct scene_handler *h = begin_cold(&on);
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    scene_send(&on, "in", "5");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_EQ(scene_counters(&on)->parked_load, 0);
    scene_pump(&on);
    scene_end(&on);
}

/* A pure handler that reads what has not come is thrown away, and handled
 * once more when it has; one that is not pure has read that there is
 * nothing. */
TEST(load_04_what_is_not_declared)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_elsewhere(&on, "set cold 100");
    scene_elsewhere(&on, "set other 100");
    const struct scene_handler_spec spec = {
        .stream = "in",
        .surface = "-cold -> r",
        .fn = handle_sum,
        .pure = true,
    };
    struct scene_handler *h = scene_handle(&on, "H", &spec);
    struct scene_sent *sent = scene_send(&on, "in", "5");
    EXPECT(!kit_idle(&on.kit));
    EXPECT_EQ(h->runs, 1);
    EXPECT_EQ(scene_counters(&on)->discarded, 1);
    scene_pump(&on);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 2);
    EXPECT_END(sent, "done");
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':105}");
    scene_end(&on);
}
