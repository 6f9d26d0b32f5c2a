/* PRE: the gate. What a handler reads is up to date when it runs, and nothing
 * else runs because of it. */

#include <stdio.h>

#include "lib/event_kit.h"
#include "lib/test.h"

TEST(pre_01_what_it_declares_runs_first)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=10 r=0");
    struct kit_node *c = kit_computation(kit, "C", "s -> co", kit_fn_times, 2);
    struct scene_handler *h =
        scene_on(&on, "H", "in", "co -> r", handle_sum, 0);
    EXPECT_TEXT(kit_pull(kit, "co"), "20");
    c->runs = 0;
    (void)kit_ran(kit);
    kit_set(kit, "s", "20");
    EXPECT_IDLE(kit);
    EXPECT_EQ(c->runs, 0); /* nobody looks */
    scene_send(&on, "in", "5");
    EXPECT_IDLE(kit);
    EXPECT_TEXT(kit_ran(kit), "C H");
    EXPECT_GET(kit, "co", "40");
    EXPECT_GET(kit, "r", "45");
    EXPECT_EQ(c->runs, 1);
    EXPECT_EQ(h->runs, 1);
    /* The demand was lent for the pass: it is dormant again. */
    kit_set(kit, "s", "30");
    EXPECT_IDLE(kit);
    EXPECT_EQ(c->runs, 1);
    scene_end(&on);
}

/* One that never ran is stale, too. */
TEST(pre_01_also_what_never_ran)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    kit_set_all(&on.kit, "s=10");
    kit_computation(&on.kit, "C", "s -> co", kit_fn_times, 2);
    scene_on(&on, "H", "in", "co -> r", handle_sum, 0);
    scene_send(&on, "in", "5");
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(kit_ran(&on.kit), "C H");
    EXPECT_GET(&on.kit, "r", "25");
    scene_end(&on);
}

TEST(pre_02_what_it_does_not_read_does_not_run)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1 d={'foo':0,'bar':7}");
    struct kit_node *c = kit_sum(kit, "C", "s -> d.foo", 0);
    scene_on(&on, "H", "in", "d.bar -> r", handle_sum, 0);
    scene_send(&on, "in", "3");
    EXPECT_IDLE(kit);
    EXPECT_EQ(c->runs, 0);
    EXPECT_GET(kit, "r", "10");
    scene_end(&on);
}

TEST(pre_04_a_chain)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    struct kit_node *c1 = kit_sum(kit, "C1", "s -> m", 10);
    struct kit_node *c2 = kit_sum(kit, "C2", "m -> o", 10);
    struct scene_handler *h = scene_on(&on, "H", "in", "o -> r", handle_sum, 0);
    (void)kit_pull(kit, "o");
    c1->runs = c2->runs = 0;
    kit_set(kit, "s", "10");
    scene_send(&on, "in", "3");
    EXPECT_IDLE(kit);
    EXPECT_EQ(c1->runs, 1);
    EXPECT_EQ(c2->runs, 1);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "33");
    scene_end(&on);
}

static enum err fail_to_declare(void *ctx,
                                struct value payload,
                                struct closure *closure,
                                struct err_detail *detail)
{
    (void)ctx;
    (void)payload;
    (void)closure;
    return err_set(detail, ERR_ARGUMENT, "no such payload");
}

TEST(pre_08_what_can_not_be_declared_fails_the_event)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "a=1");
    const struct scene_handler_spec spec = {
        .stream = "in",
        .surface = "-> r",
        .fn = handle_store,
        .declare = fail_to_declare,
    };
    struct scene_handler *h = scene_handle(&on, "H", &spec);
    struct scene_sent *sent = scene_send(&on, "in", "1");
    EXPECT_IDLE(kit);
    EXPECT_EQ(h->runs, 0);
    EXPECT_END(sent, "failed ARGUMENT");
    EXPECT_CONTAINS(sent->error.text, "no such payload");
    EXPECT_EQ(kit->error_count, 1);
    struct kit_node *e = kit_see(kit, "E", "a");
    EXPECT_IDLE(kit);
    EXPECT_SEEN(e, "1");
    scene_end(&on);
}

/* Reads d0, d1, ... as the payload says. */
static enum err declare_one(void *ctx,
                            struct value payload,
                            struct closure *closure,
                            struct err_detail *detail)
{
    struct scene_handler *handler = ctx;
    (void)detail;
    const size_t index = (size_t)value_integer(payload);
    closure_add(closure, handler->reads[index].place, READ_DEEP);
    return ERR_OK;
}

static enum run_result read_one(struct handling *handling,
                                struct scene_handler *handler)
{
    const size_t index = (size_t)handler_payload(handling);
    handler_output_adopt(handling,
                         handler,
                         0,
                         handler_input(handling, handler, index));
    return RUN_DONE;
}

TEST(what_a_payload_asks_for_runs_first)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    struct kit_node *c0 = kit_sum(kit, "C0", "s -> d0", 10);
    struct kit_node *c1 = kit_sum(kit, "C1", "s -> d1", 20);
    const struct scene_handler_spec spec = {
        .stream = "in",
        .surface = "-d0 -d1 -> r",
        .fn = read_one,
        .declare = declare_one,
    };
    scene_handle(&on, "H", &spec);
    scene_send(&on, "in", "1");
    EXPECT_IDLE(kit);
    EXPECT_GET(kit, "r", "21");
    EXPECT_EQ(c0->runs, 0);
    EXPECT_EQ(c1->runs, 1);
    scene_end(&on);
}

struct looks {
    unsigned count;
    uint64_t visits;
};

static void note_look(void *ctx, const struct event_notice *notice)
{
    struct looks *looks = ctx;
    if (notice->moment == EVENT_LOOKED_AT) {
        looks->count++;
        looks->visits += notice->visits;
    }
}

TEST(pre_09_who_looks_on_is_told_of_the_gate)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    kit_set_all(&on.kit, "a=1");
    scene_on(&on, "H", "in", "a -> r", handle_sum, 0);
    struct looks looks = {0};
    scene_send(&on, "in", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(looks.count, 0);
    events_listen(on.kit.sched, note_look, &looks);
    scene_send(&on, "in", "2");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(looks.count, 1);
    events_listen(on.kit.sched, NULL, NULL);
    scene_send(&on, "in", "3");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(looks.count, 1);
    scene_end(&on);
}

TEST(pre_12_two_that_wait_for_each_other)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    struct kit_node *u = kit_sum(kit, "U", "s -> m", 1);
    struct kit_node *d = kit_computation(kit, "D", "m -> o", kit_fn_times, 2);
    struct scene_handler *h = scene_on(&on, "H", "in", "o -> r", handle_sum, 0);
    (void)kit_pull(kit, "o");
    u->runs = d->runs = 0;
    (void)kit_ran(kit);
    kit_set(kit, "s", "4");
    scene_send(&on, "in", "5");
    EXPECT_IDLE(kit);
    EXPECT_TEXT(kit_ran(kit), "U D H");
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "15");
    scene_end(&on);
}

/* 32 between the source and what is read. */
static void fan(struct sched_kit *kit)
{
    char surface[64];
    struct buf all = {0};
    kit_set_all(kit, "s=1");
    kit_sum(kit, "shared", "s -> shared", 0);
    for (unsigned i = 0; i < 32; i++) {
        (void)snprintf(surface, sizeof surface, "shared -> f%u", i);
        kit_sum(kit, "fan", surface, 0);
        buf_printf(&all, "f%u ", i);
    }
    buf_append_text(&all, "-> target");
    kit_sum(kit, "target", buf_text(&all), 0);
    buf_release(&all);
    (void)kit_pull(kit, "target");
}

TEST(pre_13_what_is_clean_is_not_walked)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    fan(&on.kit);
    scene_on(&on, "H", "in", "target -> r", handle_sum, 0);
    (void)kit_ran(&on.kit);
    scene_send(&on, "in", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(kit_ran(&on.kit), "H");
    EXPECT_GET(&on.kit, "r", "33");
    EXPECT_EQ(scene_counters(&on)->preflights, 1);
    EXPECT(scene_counters(&on)->preflight_visits < 10);
    scene_end(&on);
}

/* Nor because something far away is stale: the smaller side is enough. */
TEST(pre_13_nor_for_what_is_stale_elsewhere)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    fan(kit);
    kit_set_all(kit, "far=1");
    struct kit_node *far = kit_sum(kit, "far", "far -> away", 0);
    scene_on(&on, "H", "in", "target -> r", handle_sum, 0);
    scene_send(&on, "in", "1");
    EXPECT_IDLE(kit);
    EXPECT_EQ(far->runs, 0);
    EXPECT_GET(kit, "r", "33");
    EXPECT(scene_counters(&on)->preflight_visits < 20);
    scene_end(&on);
}

TEST(pre_15_a_materializer_writes_what_is_read)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    const struct kit_spec spec = {
        .surface = "s -> ",
        .writes = "mt",
        .envelopes = "mt",
        .fn = kit_fn_sum,
        .k = 100,
    };
    struct kit_node *m = kit_add(kit, "M", &spec);
    struct scene_handler *h =
        scene_on(&on, "H", "in", "mt -> r", handle_sum, 0);
    EXPECT_IDLE(kit);
    EXPECT_EQ(m->runs, 1);
    kit_set(kit, "s", "5");
    scene_send(&on, "in", "7");
    EXPECT_IDLE(kit);
    EXPECT_EQ(m->runs, 2);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "112");
    scene_end(&on);
}

/* MAT-07: a handler hurries a materializer, and sees what it writes. */
TEST(mat_07_a_handler_sees_what_is_materialized)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    const struct kit_spec spec = {
        .surface = "s -> ",
        .writes = "d.x",
        .envelopes = "d",
        .fn = kit_fn_sum,
    };
    kit_set(kit, "d", "{}");
    kit_add(kit, "M", &spec);
    struct scene_handler *h =
        scene_on(&on, "H", "in", "d.x -> r", handle_sum, 0);
    EXPECT_IDLE(kit);
    (void)kit_ran(kit);
    kit_set(kit, "s", "2");
    scene_send(&on, "in", "0");
    EXPECT_IDLE(kit);
    EXPECT_TEXT(kit_ran(kit), "M H");
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "2");
    scene_end(&on);
}

/* -- Time ----------------------------------------------------------------- */

/* A head that waits for a time gate holds its lane up until then. */
TEST(a_time_gate_in_the_closure_parks_the_head)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    struct kit_node *c = kit_sum(kit, "C", "s -> co", 0);
    kit_see(kit, "E", "co");
    EXPECT_IDLE(kit);
    sched_set_debounce(kit->sched, c->node, 50);
    struct scene_handler *h =
        scene_on(&on, "H", "in", "co -> r", handle_sum, 0);
    scene_on(&on, "G", "other", "", handle_nothing, 0);
    kit_set(kit, "s", "2");
    scene_send(&on, "in", "10");
    scene_send(&on, "other", "1");
    const mono_ms began = kit->sim.now;
    kit_step(kit);
    EXPECT_EQ(h->runs, 0);
    EXPECT(!sched_is_idle(kit->sched));
    EXPECT_EQ(sched_next_wake(kit->sched), began + 50);
    EXPECT_IDLE(kit);
    EXPECT_EQ(kit->sim.now, began + 50);
    EXPECT_TEXT(scene_handled(&on), "H=10 G=1");
    EXPECT_GET(kit, "r", "12");
    EXPECT_EQ(scene_counters(&on)->parked_time, 1);
    scene_end(&on);
}

/* -- What is not declared (D11a) ------------------------------------------ */

/* Reads inside a handling are those of a run: up to date. */
TEST(what_is_not_declared_is_brought_up_to_date_by_the_read)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    kit_sum(kit, "C", "s -> co", 10);
    struct scene_handler *h =
        scene_on(&on, "H", "in", "-co -> r", handle_sum, 0);
    scene_send(&on, "in", "5");
    EXPECT_IDLE(kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "16");
    scene_end(&on);
}

/* C waits 50 ms after each change of s. */
static struct kit_node *begin_gated(struct scene *on)
{
    scene_begin(on, AT_HOME);
    struct sched_kit *kit = &on->kit;
    kit_set_all(kit, "s=1 r=0");
    struct kit_node *c = kit_sum(kit, "C", "s -> co", 0);
    kit_see(kit, "E", "co"); /* what nobody looks at waits for no window */
    EXPECT_IDLE(kit);
    sched_set_debounce(kit->sched, c->node, 50);
    return c;
}

/* A pure handler that has read what can't be brought up to date now is thrown
 * away, also if it failed because of that, and comes back when it can be. */
TEST(an_attempt_of_a_pure_handler_is_thrown_away)
{
    struct scene on;
    begin_gated(&on);
    struct sched_kit *kit = &on.kit;
    const struct scene_handler_spec spec = {
        .stream = "in",
        .surface = "-co -> r",
        .fn = handle_sum,
        .pure = true,
    };
    struct scene_handler *h = scene_handle(&on, "H", &spec);
    kit_set(kit, "s", "2");
    const mono_ms began = kit->sim.now;
    struct scene_sent *sent = scene_send(&on, "in", "10");
    kit_step(kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "0");
    EXPECT_EQ(scene_counters(&on)->discarded, 1);
    EXPECT_IDLE(kit);
    EXPECT_EQ(kit->sim.now, began + 50);
    EXPECT_EQ(h->runs, 2);
    EXPECT_GET(kit, "r", "12");
    EXPECT_END(sent, "done");
    scene_end(&on);
}

static enum run_result fail_below_two(struct handling *handling,
                                      struct scene_handler *handler)
{
    if (handler_number(handling, handler, 0) < 2) {
        return handle_fail(handling, handler);
    }
    return handle_sum(handling, handler);
}

TEST(an_attempt_that_failed_on_what_was_stale_is_thrown_away)
{
    struct scene on;
    begin_gated(&on);
    struct sched_kit *kit = &on.kit;
    const struct scene_handler_spec spec = {
        .stream = "in",
        .surface = "-co -> r",
        .fn = fail_below_two,
        .pure = true,
    };
    scene_handle(&on, "H", &spec);
    kit_set(kit, "s", "2");
    struct scene_sent *sent = scene_send(&on, "in", "10");
    EXPECT_IDLE(kit);
    EXPECT_END(sent, "done");
    EXPECT_EQ(kit->error_count, 0);
    EXPECT_GET(kit, "r", "12");
    scene_end(&on);
}

/* What a pure handler read last time is looked at before it runs again. */
TEST(what_a_pure_handler_read_is_a_hint)
{
    struct scene on;
    struct kit_node *c = begin_gated(&on);
    struct sched_kit *kit = &on.kit;
    const struct scene_handler_spec spec = {
        .stream = "in",
        .surface = "-co -> r",
        .fn = handle_sum,
        .pure = true,
    };
    struct scene_handler *h = scene_handle(&on, "H", &spec);
    scene_send(&on, "in", "10"); /* co is up to date */
    EXPECT_IDLE(kit);
    EXPECT_EQ(h->runs, 1);
    kit_set(kit, "s", "2");
    scene_send(&on, "in", "20");
    EXPECT_IDLE(kit);
    EXPECT_EQ(h->runs, 2);
    EXPECT_EQ(scene_counters(&on)->discarded, 0);
    EXPECT_GET(kit, "r", "22");
    EXPECT_EQ(c->runs, 2);
    scene_end(&on);
}

/* One that is not pure gets what it declares, and otherwise what is there. */
TEST(a_handler_that_is_not_pure_runs_once)
{
    struct scene on;
    begin_gated(&on);
    struct sched_kit *kit = &on.kit;
    struct scene_handler *h =
        scene_on(&on, "H", "in", "-co -> r", handle_sum, 0);
    kit_set(kit, "s", "2");
    scene_send(&on, "in", "10");
    kit_step(kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "11");
    EXPECT_EQ(scene_counters(&on)->discarded, 0);
    scene_end(&on);
}
