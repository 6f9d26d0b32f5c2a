/* Sentences of a live runtime: why something ran, why something does not. */

#include "inspect/live_why.h"

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "value/object.h"

/* That of an account, which is released. */
static const char *sentence(struct sched_kit *kit, struct value account)
{
    struct buf *text = &kit->texts[kit->next_text++ % KIT_ANSWERS];
    const struct value is = object_field(account, "sentence");
    buf_clear(text);
    buf_append(text, value_text(&is).at, value_text(&is).length);
    value_unref(account);
    return buf_text(text);
}

static const char *why(struct sched_kit *kit, const struct kit_node *node)
{
    const struct live_source source = {.sched = kit->sched};
    return sentence(kit, live_why(&source, node->node, node->node->runs));
}

static const char *why_not(struct sched_kit *kit, const struct kit_node *node)
{
    const struct live_source source = {.sched = kit->sched};
    return sentence(kit, live_why_not(&source, node->node));
}

/* -- Why it ran ---------------------------------------------------------- */

TEST(why_tells_what_changed_and_who_changed_it)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a={'x':1} b=0");
    struct kit_node *c = kit_sum(&kit, "C", "a.x -> b", 1);
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_TEXT(why(&kit, c), "C has never run");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(why(&kit, c), "C ran in pass 1, sweep 1, for the first time");
    kit_set(&kit, "a.x", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(why(&kit, c),
                "C ran in pass 2, sweep 1, because space/a#/value/x changed by "
                "an external edit");
    EXPECT_TEXT(why(&kit, e),
                "E ran in pass 2, sweep 1, because space/b#/value changed by "
                "node C");
    sched_invalidate(kit.sched, c->node);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(why(&kit, c),
                "C ran in pass 3, sweep 1, with unchanged inputs");
    kit_end(&kit);
}

TEST(why_names_the_first_causes_and_counts_the_others)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=1 c=1 d=1 e=1 f=1");
    struct kit_node *e = kit_see(&kit, "E", "a b c d e f");
    EXPECT_IDLE(&kit);
    kit_set_all(&kit, "a=2 b=2 c=2 d=2 e=2 f=2");
    EXPECT_IDLE(&kit);
    EXPECT_CONTAINS(why(&kit, e), "space/a#/value changed by an external edit");
    EXPECT_CONTAINS(why(&kit, e), "; and 2 more");
    kit_end(&kit);
}

TEST(why_tells_of_others_at_the_store)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit_set_all(&kit, "a=1 b=0");
    kit_pump(&kit);
    struct kit_node *c = kit_effect(&kit, "C", "a b -> b", kit_fn_copy, 0);
    EXPECT_IDLE(&kit);
    kit_elsewhere(&kit, "set a 5");
    kit_pump(&kit);
    EXPECT_CONTAINS(why_not(&kit, c), "space/a#/value changed by ");
    EXPECT_IDLE(&kit);
    EXPECT_CONTAINS(why(&kit, c), "changed by another runtime");
    kit_pump(&kit);
    kit_end(&kit);
}

/* An answer without any document bears the number of the last change. */
TEST(why_is_not_confused_by_what_changes_nothing)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit_set_all(&kit, "a=1 b=0");
    kit_pump(&kit);
    kit_sum(&kit, "C", "a -> b", 0);
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    kit_see(&kit, "F", "nothing");
    kit_set(&kit, "a", "2");
    EXPECT_IDLE(&kit);
    EXPECT_CONTAINS(why(&kit, e), "space/b#/value changed by node C");
    const uint64_t told = kit.replica.counters.notifications;
    const uint64_t version = kit.replica.version;
    kit_pump(&kit);
    EXPECT(kit.replica.counters.notifications > told);
    EXPECT_EQ(kit.replica.version, version);
    EXPECT_CONTAINS(why(&kit, e), "space/b#/value changed by node C");
    kit_end(&kit);
}

TEST(why_tells_how_it_ended)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=0 d=0");
    struct kit_node *f = kit_effect(&kit, "F", "a -> b", kit_fn_fail, 0);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(why(&kit, f),
                "F ran in pass 1, sweep 1, for the first time, and failed");
    struct kit_node *e = kit_effect(&kit, "E", "a -> d", kit_fn_meanwhile, 0);
    e->meanwhile = "a=2";
    EXPECT_IDLE(&kit);
    EXPECT_CONTAINS(why(&kit, e), "because space/a#/value changed");
    kit_end(&kit);
}

TEST(why_forgets_in_the_end)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=0 b=0");
    struct kit_node *old = kit_see(&kit, "old", "b");
    struct kit_node *e = kit_see(&kit, "E", "a");
    EXPECT_IDLE(&kit);
    for (int i = 1; i <= SCHED_RECORDS; i++) {
        kit_set_number(&kit, "a", i);
        kit_step(&kit);
    }
    EXPECT_TEXT(why(&kit, old),
                "old ran so long ago that the reason is no "
                "longer recorded");
    EXPECT_CONTAINS(why(&kit, e), "because space/a#/value changed");
    kit_end(&kit);
}

/* A node without a name is one of its number; two of one name are two. */
TEST(names_are_for_people)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=0 b=0");
    struct kit_node *one = kit_see(&kit, "same", "a");
    struct kit_node *other = kit_see(&kit, "same", "b");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "b", "1");
    EXPECT_IDLE(&kit);
    EXPECT_CONTAINS(why(&kit, one), "for the first time");
    EXPECT_CONTAINS(why(&kit, other), "because space/b#/value");
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = one->node->run,
        .ctx = one,
    };
    const struct node *nameless = sched_register(kit.sched, &spec);
    const struct live_source source = {.sched = kit.sched};
    EXPECT_TEXT(sentence(&kit, live_why(&source, nameless, 0)),
                "node 2 has never run");
    kit_end(&kit);
}

/* -- Why it does not run ------------------------------------------------- */

TEST(why_not_tells_the_first_condition_that_is_missing)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a=1 b=0");
    struct kit_node *c = kit_sum(&kit, "C", "a -> b", 0);
    EXPECT_TEXT(why_not(&kit, c),
                "C is dirty but dormant: no effect reads its output");
    struct kit_node *e = kit_see(&kit, "E", "b");
    EXPECT_TEXT(why_not(&kit, c), "C is dirty and runs in the next step");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(
        why_not(&kit, c),
        "C is up to date: its inputs have not changed since its last run");
    sched_set_throttle(kit.sched, c->node, 500);
    kit_set(&kit, "a", "2");
    kit_tick(&kit, 100);
    EXPECT_TEXT(why_not(&kit, c),
                "C is dirty and waits for its throttle: it runs in 400 ms");
    sched_set_throttle(kit.sched, c->node, 0);
    EXPECT_TEXT(why_not(&kit, c),
                "C is dirty and runs in the next step, because space/a#/value "
                "changed by an external edit");
    EXPECT_IDLE(&kit);
    sched_set_debounce(kit.sched, e->node, 50);
    kit_set(&kit, "a", "3");
    kit_step(&kit);
    EXPECT_TEXT(why_not(&kit, e),
                "E is dirty and waits for its debounce: it runs in 50 ms");
    kit_tick(&kit, 10);
    kit_set(&kit, "a", "4"); /* the window begins anew when time is known */
    sched_invalidate(kit.sched, e->node);
    EXPECT_TEXT(why_not(&kit, e),
                "E is dirty and waits for its debounce: the time counts from "
                "the next step on");
    kit_end(&kit);
}

TEST(why_not_tells_of_backoffs)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "x=0 y=0");
    struct kit_node *a = kit_sum(&kit, "A", "y -> x", 1);
    struct kit_node *b = kit_sum(&kit, "B", "x -> y", 1);
    struct kit_node *e = kit_see(&kit, "E", "x");
    kit_step(&kit);
    const struct kit_node *off = node_is_stale(a->node) ? a : b;
    EXPECT_CONTAINS(why_not(&kit, off),
                    "waits for its backoff: it runs in 250");
    kit_remove(e);
    kit_end(&kit);
}
