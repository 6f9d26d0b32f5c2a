/* LIN: what a transaction launches lives and dies with its commit (I10); the
 * outbox; and cancel groups. */

#include "lib/event_kit.h"
#include "lib/test.h"
#include "sched/cancel.h"
#include "sched/outbox.h"

static void count_call(void *ctx)
{
    ++*(unsigned *)ctx;
}

/* An open transaction that writes to a document. */
static struct transaction *origin_begin(struct scene *on, const char *name)
{
    struct transaction *origin = transaction_begin(&on->kit.replica, NULL);
    struct place *place = kit_place(&on->kit, name);
    EXPECT_EQ(transaction_put_adopt(origin, place, value_int(1), NULL), ERR_OK);
    place_unref(place);
    return origin;
}

static void origin_commit(struct scene *on, struct transaction *origin)
{
    struct err_detail detail = {0};
    EXPECT_EQ(lineage_commit(on->kit.sched, origin, &detail), ERR_OK);
    EXPECT_TEXT(detail.text, "");
    transaction_release(origin);
}

/* -- The record ------------------------------------------------------------ */

TEST(lin_02_a_landing_releases)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    struct scene_handler *h = scene_on(&on, "H", "s", "-> r", handle_store, 0);
    struct transaction *origin = origin_begin(&on, "a");
    unsigned stopped = 0;
    lineage_stop_unless_landed(on.kit.sched, origin, count_call, &stopped);
    struct scene_sent *sent = scene_send_from(&on, "s", origin, "1");
    struct lineage *record = lineage_ref(lineage_of(on.kit.sched, origin));
    EXPECT_EQ(record->state, LINEAGE_OPEN);
    origin_commit(&on, origin);
    EXPECT_EQ(record->state, LINEAGE_APPLIED);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(record->state, LINEAGE_CONFIRMED);
    EXPECT_EQ(stopped, 0);
    EXPECT_EQ(h->runs, 1);
    EXPECT_END(sent, "done");
    EXPECT_EQ(scene_counters(&on)->dropped, 0);
    lineage_unref(record);
    scene_end(&on);
}

TEST(lin_01_a_failure_takes_it_all_along)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_open_second(&on, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", ">s", "", handle_nothing, 0);
    struct transaction *origin = origin_begin(&on, "a");
    unsigned stopped = 0;
    unsigned posted = 0;
    lineage_stop_unless_landed(on.kit.sched, origin, count_call, &stopped);
    lineage_stop_unless_landed(on.kit.sched, origin, count_call, &stopped);
    lineage_after_landing(on.kit.sched, origin, count_call, &posted);
    struct scene_sent *sent = scene_send_from(&on, ">s", origin, "1");
    struct lineage *record = lineage_ref(lineage_of(on.kit.sched, origin));
    scene_refuse(&on, ERR_LIMIT_SIZE, 1);
    origin_commit(&on, origin);
    EXPECT(!kit_idle(&on.kit));
    EXPECT_EQ(stopped, 0);
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(record->state, LINEAGE_FAILED);
    EXPECT_EQ(stopped, 2);
    EXPECT_EQ(posted, 0);
    EXPECT_EQ(h->runs, 0);
    EXPECT_END(sent, "dropped ORIGIN_FAILED");
    EXPECT_EQ(scene_counters(&on)->orphans, 1);
    EXPECT(outbox_is_empty(on.kit.sched));
    lineage_unref(record);
    scene_end(&on);
}

static enum run_result expect_confirmed(struct handling *handling,
                                        struct scene_handler *handler)
{
    (void)handling;
    const struct lineage *record = handler->ctx;
    EXPECT_EQ(record->state, LINEAGE_CONFIRMED);
    return RUN_DONE;
}

TEST(lin_03_confirmed_for_each_that_waits)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_open_second(&on, AT_HOME);
    struct transaction *origin = origin_begin(&on, "a");
    struct lineage *record = lineage_ref(lineage_of(on.kit.sched, origin));
    const struct scene_handler_spec spec = {
        .stream = ">s",
        .fn = expect_confirmed,
        .ctx = record,
    };
    struct scene_handler *h = scene_handle(&on, "H", &spec);
    scene_send_from(&on, ">s", origin, "1");
    scene_send_from(&on, ">s", origin, "2");
    origin_commit(&on, origin);
    EXPECT(!kit_idle(&on.kit));
    EXPECT_EQ(h->runs, 0);
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 2);
    EXPECT_EQ(record->state, LINEAGE_CONFIRMED);
    EXPECT(list_is_empty(&record->events));
    lineage_unref(record);
    scene_end(&on);
}

/* The answer was lost on its way, and comes again with the next connection. */
TEST(lin_04_an_answer_that_is_repeated)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_on(&on, "H", "s", "-> r", handle_store, 0);
    struct transaction *origin = origin_begin(&on, "a");
    unsigned stopped = 0;
    unsigned posted = 0;
    lineage_stop_unless_landed(on.kit.sched, origin, count_call, &stopped);
    lineage_after_landing(on.kit.sched, origin, count_call, &posted);
    struct scene_sent *sent = scene_send_from(&on, "s", origin, "1");
    origin_commit(&on, origin);
    EXPECT_IDLE(&on.kit);
    replica_pump(&on.kit.replica);
    struct hub_link *link = &on.links[0]->link;
    hub_link_pump_to_session(link); /* is connected, and opens */
    hub_link_pump_to_hub(link);
    hub_link_pump_to_session(link); /* is opened, and sends the commits */
    hub_link_pump_to_hub(link);
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':1}");
    hub_link_break(link); /* with the answers */
    EXPECT_END(sent, "waits");
    EXPECT_SETTLED(&on);
    EXPECT(on.links[0]->commits >= 4); /* two, and again */
    EXPECT_END(sent, "done");
    EXPECT_EQ(stopped, 0);
    EXPECT_EQ(posted, 1);
    scene_end(&on);
}

/* What is launched when all is over ends at once. */
TEST(lin_05_settled_origins_are_seen_as_settled)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct transaction *origin = origin_begin(&on, "a");
    lineage_abort(origin);
    unsigned stopped = 0;
    unsigned posted = 0;
    lineage_stop_unless_landed(on.kit.sched, origin, count_call, &stopped);
    EXPECT_EQ(stopped, 1); /* at once */
    lineage_after_landing(on.kit.sched, origin, count_call, &posted);
    const struct scene_sending late = {.payload = "1", .origin = origin};
    struct err_detail detail = {0};
    EXPECT(scene_try_send(&on, "s", &late, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_ARGUMENT);
    transaction_release(origin);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(stopped, 1);
    EXPECT_EQ(posted, 0);
    scene_end(&on);
}

/* -- Handlers that send ---------------------------------------------------- */

/* HA stores its payload and sends to SB; HB puts what it gets into a list. */
struct pair {
    struct scene_handler *a;
    struct scene_handler *b;
};

static struct pair begin_pair(struct scene *on, enum scene_where where)
{
    scene_begin(on, where);
    kit_set_all(&on->kit, "w=0 list=[]");
    scene_pump(on);
    struct pair pair = {
        .a = scene_on(on, "HA", "sa", "-> w", handle_forward, 10),
        .b = scene_on(on, "HB", "sb", "-> list", handle_append, 0),
    };
    pair.a->target = "sb";
    return pair;
}

TEST(lin_09_a_retried_parent_launches_afresh)
{
    struct scene on;
    const struct pair pair = begin_pair(&on, AT_STORE);
    scene_refuse(&on, ERR_CONFLICT, 1);
    struct scene_sent *sent = scene_send(&on, "sa", "1");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(pair.a->runs, 2);
    EXPECT_EQ(sent->attempts, 2);
    EXPECT_EQ(pair.b->runs, 1);
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[11]}");
    scene_end(&on);
}

/* The same when the answer comes late: HB has run on what did not land. Its
 * own commit named that of HA as its condition. */
TEST(lin_09_also_if_the_child_was_faster)
{
    struct scene on;
    const struct pair pair = begin_pair(&on, AT_STORE_HELD);
    scene_refuse(&on, ERR_CONFLICT, 1);
    scene_send(&on, "sa", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(pair.b->runs, 1); /* without a round trip */
    EXPECT_GET(&on.kit, "list", "[11]");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(pair.a->runs, 2);
    EXPECT_EQ(pair.b->runs, 2);
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[11]}");
    EXPECT_TEXT(scene_ended(&on), "11 dropped ORIGIN_FAILED; 1 done; 11 done;");
    scene_end(&on);
}

/* A payload has no read that could give it away: the condition does. */
TEST(lin_09_a_child_of_what_did_not_land)
{
    struct scene on;
    const struct pair pair = begin_pair(&on, AT_STORE_HELD);
    scene_refuse(&on, ERR_LIMIT_SIZE, 1);
    struct scene_sent *sent = scene_send(&on, "sa", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(pair.b->runs, 1);
    EXPECT_SETTLED(&on);
    EXPECT_END(sent, "failed LIMIT_SIZE");
    EXPECT_EQ(pair.b->runs, 1);
    EXPECT_END(on.sent.at[1], "dropped ORIGIN_FAILED");
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[]}");
    EXPECT_GET(&on.kit, "list", "[]");
    scene_end(&on);
}

static enum run_result forward_and_fail(struct handling *handling,
                                        struct scene_handler *handler)
{
    (void)handle_forward(handling, handler);
    return handle_fail(handling, handler);
}

TEST(lin_10_what_a_failed_handler_sent)
{
    struct scene on;
    const struct pair pair = begin_pair(&on, AT_STORE);
    pair.a->fn = forward_and_fail;
    scene_send(&on, "sa", "1");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(pair.a->runs, 1);
    EXPECT_EQ(pair.b->runs, 0);
    EXPECT_END(on.sent.at[0], "failed ARGUMENT");
    EXPECT_END(on.sent.at[1], "dropped ORIGIN_FAILED");
    scene_end(&on);
}

/* HB declares what is in a space that has not answered yet. */
static struct pair begin_blocked(struct scene *on, bool pure)
{
    scene_begin(on, AT_STORE_HELD);
    scene_open_second(on, AT_STORE_HELD);
    kit_set_all(&on->kit, "w=0");
    scene_pump(on);
    const struct scene_handler_spec spec = {
        .stream = "sb",
        .surface = pure ? "->cold -> r" : ">cold -> r",
        .fn = handle_sum,
        .pure = pure,
    };
    struct pair pair = {
        .a = scene_on(on, "HA", "sa", "-> w", handle_forward, 10),
        .b = scene_handle(on, "HB", &spec),
    };
    pair.a->target = "sb";
    return pair;
}

static void fail_origin(struct scene *on, bool before)
{
    scene_refuse(on, ERR_LIMIT_SIZE, 1);
    scene_send(on, "sa", "1");
    EXPECT(!kit_idle(&on->kit));
    EXPECT_EQ(on->handlers.at[1]->runs, before);
    scene_pump_one(on, 0); /* the origin fails */
    kit_step(&on->kit);
    EXPECT_END(on->sent.at[1], "dropped ORIGIN_FAILED");
    scene_pump_one(on, 1); /* and now it comes */
    EXPECT_SETTLED(on);
    EXPECT_EQ(on->handlers.at[1]->runs, before);
    EXPECT_EQ(on->sent.at[1]->ended, 1);
    EXPECT_TEXT(scene_stored(on, "r"), "(absent)");
}

TEST(lin_11_an_origin_fails_while_the_head_waits)
{
    struct scene on;
    (void)begin_blocked(&on, false);
    fail_origin(&on, false);
    scene_end(&on);
}

TEST(lin_12_an_origin_fails_between_two_attempts)
{
    struct scene on;
    (void)begin_blocked(&on, true);
    fail_origin(&on, true); /* its first attempt was thrown away */
    scene_end(&on);
}

/* The first time it can't be done. */
static enum run_result not_yet(struct handling *handling,
                               struct scene_handler *handler)
{
    (void)handle_append(handling, handler);
    return handling_attempt(handling) == 1 ? RUN_AGAIN : RUN_DONE;
}

/* What is put back is still a child of its origin. */
TEST(lin_12_also_if_it_asked_for_another_attempt)
{
    struct scene on;
    const struct pair pair = begin_pair(&on, AT_STORE_HELD);
    pair.b->fn = not_yet;
    scene_refuse(&on, ERR_LIMIT_SIZE, 1);
    scene_send(&on, "sa", "1");
    kit_step(&on.kit);
    EXPECT_EQ(pair.b->runs, 1);
    EXPECT(events_wait(on.kit.sched));
    scene_pump(&on);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(pair.b->runs, 1);
    EXPECT_END(on.sent.at[1], "dropped ORIGIN_FAILED");
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[]}");
    scene_end(&on);
}

/* -- Across spaces --------------------------------------------------------- */

static struct pair begin_across(struct scene *on)
{
    scene_begin(on, AT_STORE_HELD);
    scene_open_second(on, AT_STORE);
    kit_set_all(&on->kit, "w=0");
    scene_pump(on);
    struct pair pair = {
        .a = scene_on(on, "HA", "sa", "-> w", handle_forward, 10),
        .b = scene_on(on, "HB", ">sb", "-> >r", handle_store, 0),
    };
    pair.a->target = ">sb";
    return pair;
}

TEST(lin_14_another_space_waits_for_the_origin)
{
    struct scene on;
    const struct pair pair = begin_across(&on);
    scene_send(&on, "sa", "1");
    EXPECT(!kit_idle(&on.kit));
    kit_tick(&on.kit, 1000);
    EXPECT_EQ(pair.a->runs, 1);
    EXPECT_EQ(pair.b->runs, 0);
    EXPECT_EQ(sched_next_wake(on.kit.sched), MONO_NEVER);
    EXPECT_EQ(scene_counters(&on)->parked_origin, 1);
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(pair.b->runs, 1);
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_stored(&on, ">r"), "{'value':11}");
    /* Its receipt names the space that may send it again, for the store. */
    struct buf receipt = {0};
    buf_printf(&receipt, ">%s", buf_text(&on.sent.at[1]->receipt_id));
    EXPECT_CONTAINS(scene_stored(&on, buf_text(&receipt)), "{'fromSpace':");
    buf_release(&receipt);
    scene_end(&on);
}

TEST(lin_15_and_is_dropped_with_it)
{
    struct scene on;
    const struct pair pair = begin_across(&on);
    scene_refuse(&on, ERR_LIMIT_SIZE, 1);
    scene_send(&on, "sa", "1");
    EXPECT(!kit_idle(&on.kit));
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(pair.b->runs, 0);
    EXPECT_END(on.sent.at[1], "dropped ORIGIN_FAILED");
    scene_end(&on);
}

/* A transaction that changes nothing has nothing to wait for. */
TEST(lin_16_an_origin_without_a_commit)
{
    struct scene on;
    const struct pair pair = begin_across(&on);
    struct transaction *origin = transaction_begin(&on.kit.replica, NULL);
    struct scene_sent *sent = scene_send_from(&on, ">sb", origin, "1");
    struct scene_sent *here = scene_send_from(&on, "sa", origin, "2");
    origin_commit(&on, origin);
    EXPECT(!kit_idle(&on.kit)); /* what HA sends waits */
    EXPECT_END(sent, "done");
    EXPECT_EQ(pair.b->runs, 1);
    EXPECT_SETTLED(&on);
    EXPECT_END(here, "done");
    EXPECT_EQ(pair.b->runs, 2);
    scene_end(&on);
}

TEST(lin_17_an_origin_that_is_given_up)
{
    struct scene on;
    const struct pair pair = begin_across(&on);
    struct transaction *origin = origin_begin(&on, "w");
    struct scene_sent *across = scene_send_from(&on, ">sb", origin, "1");
    struct scene_sent *here = scene_send_from(&on, "sa", origin, "2");
    kit_step(&on.kit);
    EXPECT_END(across, "waits"); /* an open one has no outcome yet */
    EXPECT_END(here, "waits");
    lineage_abort(origin);
    transaction_release(origin);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(pair.a->runs + pair.b->runs, 0);
    EXPECT_EQ(across->ended, 1);
    EXPECT_EQ(here->ended, 1);
    EXPECT_END(across, "dropped ORIGIN_FAILED");
    scene_end(&on);
}

/* -- What is started ------------------------------------------------------- */

/* A parent that starts children: a node each, and what ends it. */
struct parent {
    struct scene *on;
    struct cancel_group group;
    uint64_t child_runs;
    unsigned started;
};

static enum err end_child(void *ctx, struct err_detail *detail)
{
    (void)detail;
    kit_remove(ctx);
    return ERR_OK;
}

static void stop_child(void *ctx)
{
    kit_remove(ctx);
}

static enum run_result be_child(struct run *run, struct kit_node *node)
{
    struct parent *parent = node->ctx;
    parent->child_runs++;
    return kit_fn_see(run, node);
}

static struct kit_node *start_child(struct parent *parent)
{
    const struct kit_spec spec = {
        .surface = "w",
        .effect = true,
        .fn = be_child,
        .ctx = parent,
    };
    parent->started++;
    return kit_add(&parent->on->kit, "K", &spec);
}

/* The start itself has waited for the landing. */
static void start_late(void *ctx)
{
    struct parent *parent = ctx;
    cancel_group_add(&parent->group, end_child, start_child(parent));
}

static enum run_result launch(struct handling *handling,
                              struct scene_handler *handler)
{
    struct kit_node *child = start_child(handler->ctx);
    lineage_stop_unless_landed(handling->sched,
                               handling_transaction(handling),
                               stop_child,
                               child);
    return handle_store(handling, handler);
}

static enum run_result launch_late(struct handling *handling,
                                   struct scene_handler *handler)
{
    lineage_after_landing(handling->sched,
                          handling_transaction(handling),
                          start_late,
                          handler->ctx);
    return handle_store(handling, handler);
}

static size_t registered(const struct scene *on)
{
    return on->kit.sched->effects + on->kit.sched->computations;
}

static void begin_parent(struct scene *on,
                         struct parent *parent,
                         scene_fn *fn,
                         const struct events_policy *policy)
{
    *parent = (struct parent){.on = on};
    scene_begin(on, AT_STORE_HELD);
    scene_policy(on, policy);
    kit_set_all(&on->kit, "w=0");
    kit_see(&on->kit, "E", "w");
    scene_pump(on);
    EXPECT_IDLE(&on->kit);
    const struct scene_handler_spec spec = {
        .stream = "s",
        .surface = "-> w",
        .fn = fn,
        .ctx = parent,
    };
    scene_handle(on, "P", &spec);
}

TEST(lin_18_what_never_lands_leaves_nothing_running)
{
    struct scene on;
    struct parent parent;
    struct events_policy policy = events_policy();
    policy.window = 250;
    policy.delay_us = 1000;
    policy.delay_max = 5;
    policy.jitter_percent = 0;
    begin_parent(&on, &parent, launch, &policy);
    const size_t before = registered(&on);
    scene_refuse(&on, ERR_CONFLICT, 1000);
    struct scene_sent *sent = scene_send(&on, "s", "1");
    kit_step(&on.kit);
    EXPECT_EQ(registered(&on), before + 1);
    EXPECT_SETTLED(&on);
    EXPECT(sent->attempts >= 6);
    EXPECT_EQ(parent.started, sent->attempts);
    EXPECT_END(sent, "failed NOT_CONVERGED");
    EXPECT_EQ(on.kit.error_count, 1);
    EXPECT_EQ(registered(&on), before);
    scene_end(&on);
}

TEST(lin_18_what_lands_stays)
{
    struct scene on;
    struct parent parent;
    const struct events_policy policy = events_policy();
    begin_parent(&on, &parent, launch, &policy);
    const size_t before = registered(&on);
    scene_refuse(&on, ERR_CONFLICT, 3);
    struct scene_sent *sent = scene_send(&on, "s", "1");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(sent->attempts, 4);
    EXPECT_EQ(parent.started, 4);
    EXPECT_EQ(registered(&on), before + 1);
    EXPECT(parent.child_runs > 0);
    scene_end(&on);
}

static void stop_parent(struct parent *parent)
{
    EXPECT_EQ(cancel_group_cancel(&parent->group, NULL), ERR_OK);
}

TEST(lin_19_a_parent_that_is_stopped_before_the_landing)
{
    struct scene on;
    struct parent parent;
    const struct events_policy policy = events_policy();
    begin_parent(&on, &parent, launch_late, &policy);
    const size_t before = registered(&on);
    scene_send(&on, "s", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(parent.started, 0); /* not before it has landed */
    stop_parent(&parent);
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_ended(&on), "1 done;");
    EXPECT_EQ(parent.started, 1); /* and ended at once */
    EXPECT_EQ(parent.child_runs, 0);
    EXPECT_EQ(registered(&on), before);
    cancel_group_release(&parent.group);
    scene_end(&on);
}

TEST(lin_19_a_parent_that_is_stopped_after_it)
{
    struct scene on;
    struct parent parent;
    const struct events_policy policy = events_policy();
    begin_parent(&on, &parent, launch_late, &policy);
    const size_t before = registered(&on);
    scene_send(&on, "s", "1");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(registered(&on), before + 1);
    EXPECT_EQ(parent.child_runs, 1);
    stop_parent(&parent);
    EXPECT_EQ(registered(&on), before);
    cancel_group_release(&parent.group);
    scene_end(&on);
}

/* Who was replaced can still be cancelled, and that ends nobody else. */
TEST(lin_20_a_late_cancel_of_who_was_replaced)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *first =
        scene_on(&on, "H1", "s", "", handle_nothing, 0);
    const struct scene_handler_spec spec = {
        .stream = "s",
        .fn = handle_nothing,
        .replace = true,
    };
    struct scene_handler *second = scene_handle(&on, "H2", &spec);
    scene_send(&on, "s", "1");
    if (first->handler != NULL) {
        scene_cancel(first);
    }
    scene_send(&on, "s", "2");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(first->runs, 0);
    EXPECT_EQ(second->runs, 2);
    EXPECT_TEXT(scene_ended(&on), "1 done; 2 done;");
    scene_end(&on);
}

TEST(lin_21_stopped_between_two_attempts)
{
    struct scene on;
    struct parent parent;
    struct events_policy policy = events_policy();
    policy.delay_us = 100000;
    policy.jitter_percent = 0;
    begin_parent(&on, &parent, launch_late, &policy);
    const size_t before = registered(&on);
    scene_refuse(&on, ERR_CONFLICT, 1);
    struct scene_sent *sent = scene_send(&on, "s", "1");
    EXPECT_IDLE(&on.kit);
    scene_pump(&on);
    kit_step(&on.kit); /* E sees that it is gone */
    const mono_ms refused = on.kit.sim.now;
    EXPECT_EQ(sched_next_wake(on.kit.sched), refused + 100);
    stop_parent(&parent);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(on.kit.sim.now, refused + 100);
    EXPECT_EQ(sent->attempts, 2);
    EXPECT_END(sent, "done");
    EXPECT_EQ(parent.child_runs, 0);
    EXPECT_EQ(registered(&on), before);
    cancel_group_release(&parent.group);
    scene_end(&on);
}

/* -- The outbox ------------------------------------------------------------ */

struct post {
    struct buf *to;
    const char *word;
};

static void post(void *ctx)
{
    const struct post *post = ctx;
    buf_append_text(post->to, post->word);
}

static void post_from(struct scene *on,
                      const char *document,
                      struct post *first,
                      struct post *second)
{
    struct transaction *origin = origin_begin(on, document);
    lineage_after_landing(on->kit.sched, origin, post, first);
    lineage_after_landing(on->kit.sched, origin, post, second);
    origin_commit(on, origin);
}

TEST(posts_are_made_in_order_after_the_landing)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_open_second(&on, AT_STORE);
    kit_set(&on.kit, "one", "0");
    scene_pump(&on);
    struct buf made = {0};
    struct post posts[] = {{&made, "a"},
                           {&made, "b"},
                           {&made, "c"},
                           {&made, "d"},
                           {&made, "x"},
                           {&made, "y"}};
    post_from(&on, "one", &posts[0], &posts[1]);
    scene_refuse(&on, ERR_LIMIT_SIZE, 1);
    post_from(&on, "two", &posts[4], &posts[5]); /* does not land */
    post_from(&on, "three", &posts[2], &posts[3]);
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(buf_text(&made), "");
    EXPECT(!outbox_is_ready(on.kit.sched));
    /* Another space waits for nobody but its own. */
    post_from(&on, ">other", &posts[4], &posts[5]);
    EXPECT_TEXT(buf_text(&made), ""); /* only from a step */
    EXPECT_EQ(sched_next_wake(on.kit.sched), on.kit.sim.now);
    kit_step(&on.kit);
    EXPECT_TEXT(buf_text(&made), "xy");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(buf_text(&made), "xyabcd");
    EXPECT(outbox_is_empty(on.kit.sched));
    buf_release(&made);
    scene_end(&on);
}

/* -- LIN-22: cancel groups ------------------------------------------------- */

struct undone {
    struct cancel_group *group;
    struct buf *order;
    const char *word;
    enum err err;
    struct undone *adds; /* from inside */
    bool cancels;
};

static enum err undo(void *ctx, struct err_detail *detail)
{
    struct undone *undone = ctx;
    buf_append_text(undone->order, undone->word);
    if (undone->adds != NULL) {
        cancel_group_add(undone->group, undo, undone->adds);
    }
    if (undone->cancels) {
        EXPECT_EQ(cancel_group_cancel(undone->group, NULL), ERR_OK);
    }
    return undone->err == ERR_OK
               ? ERR_OK
               : err_set(detail, undone->err, "%s fails", undone->word);
}

TEST(lin_22_each_cleanup_is_called_once)
{
    struct cancel_group group = {0};
    struct buf order = {0};
    struct undone a = {&group, &order, "a", ERR_OK, NULL, false};
    struct undone b = {&group, &order, "b", ERR_OK, NULL, true};
    cancel_group_add(&group, undo, &a);
    cancel_group_add(&group, undo, &b);
    EXPECT_TEXT(buf_text(&order), "");
    EXPECT_EQ(cancel_group_cancel(&group, NULL), ERR_OK);
    EXPECT_EQ(cancel_group_cancel(&group, NULL), ERR_OK);
    EXPECT_TEXT(buf_text(&order), "ba");
    cancel_group_release(&group);
    buf_release(&order);
}

TEST(lin_22_one_that_is_late_is_called_at_once)
{
    struct cancel_group group = {0};
    struct buf order = {0};
    struct undone a = {&group, &order, "a", ERR_OK, NULL, false};
    EXPECT_EQ(cancel_group_cancel(&group, NULL), ERR_OK);
    EXPECT(group.cancelled);
    cancel_group_add(&group, undo, &a);
    EXPECT_TEXT(buf_text(&order), "a");
    EXPECT_EQ(cancel_group_cancel(&group, NULL), ERR_OK);
    EXPECT_TEXT(buf_text(&order), "a");
    cancel_group_release(&group);
    buf_release(&order);
}

TEST(lin_22_one_that_comes_during_the_cancellation)
{
    struct cancel_group group = {0};
    struct buf order = {0};
    struct undone late = {&group, &order, "late", ERR_OK, NULL, false};
    struct undone a = {&group, &order, "a", ERR_OK, NULL, false};
    struct undone b = {&group, &order, "b", ERR_OK, &late, false};
    cancel_group_add(&group, undo, &a);
    cancel_group_add(&group, undo, &b);
    EXPECT_EQ(cancel_group_cancel(&group, NULL), ERR_OK);
    EXPECT_TEXT(buf_text(&order), "blatea");
    cancel_group_release(&group);
    buf_release(&order);
}

TEST(lin_22_a_failure_keeps_no_other_from_being_called)
{
    struct cancel_group group = {0};
    struct buf order = {0};
    struct undone a = {&group, &order, "a", ERR_OK, NULL, false};
    struct undone b = {&group, &order, "b", ERR_IO, NULL, false};
    cancel_group_add(&group, undo, &a);
    cancel_group_add(&group, undo, &b);
    struct err_detail detail = {0};
    EXPECT_EQ(cancel_group_cancel(&group, &detail), ERR_IO);
    EXPECT_EQ(detail.err, ERR_IO);
    EXPECT_TEXT(detail.text, "b fails");
    EXPECT_TEXT(buf_text(&order), "ba");
    EXPECT_EQ(group.failures, 1);
    cancel_group_release(&group);
    buf_release(&order);
}

TEST(lin_22_of_several_failures_the_first_is_kept)
{
    struct cancel_group group = {0};
    struct buf order = {0};
    struct undone late = {&group, &order, "late", ERR_FULL, NULL, false};
    struct undone a = {&group, &order, "a", ERR_STORE, NULL, false};
    struct undone b = {&group, &order, "b", ERR_IO, NULL, false};
    cancel_group_add(&group, undo, &a);
    cancel_group_add(&group, undo, &b);
    struct err_detail detail = {0};
    EXPECT_EQ(cancel_group_cancel(&group, &detail), ERR_IO);
    EXPECT_EQ(group.failures, 2);
    cancel_group_add(&group, undo, &late);
    EXPECT_EQ(group.failures, 3);
    EXPECT_EQ(group.first.err, ERR_IO);
    EXPECT_TEXT(group.first.text, "b fails");
    cancel_group_release(&group);
    buf_release(&order);
}

TEST(lin_22_what_is_cancelled_stays_so)
{
    struct cancel_group group = {0};
    struct buf order = {0};
    struct undone b = {&group, &order, "b", ERR_IO, NULL, false};
    cancel_group_add(&group, undo, &b);
    EXPECT(!group.cancelled);
    EXPECT_EQ(cancel_group_cancel(&group, NULL), ERR_IO);
    EXPECT(group.cancelled); /* although it failed */
    EXPECT_EQ(cancel_group_cancel(&group, NULL), ERR_IO);
    EXPECT_TEXT(buf_text(&order), "b");
    EXPECT_EQ(group.failures, 1);
    cancel_group_release(&group);
    buf_release(&order);
}

/* A group that ends without having been cancelled undoes nothing. */
TEST(lin_22_nothing_is_undone_unless_it_is_cancelled)
{
    struct cancel_group group = {0};
    struct buf order = {0};
    struct undone a = {&group, &order, "a", ERR_OK, NULL, false};
    cancel_group_add(&group, undo, &a);
    cancel_group_release(&group);
    EXPECT_TEXT(buf_text(&order), "");
    buf_release(&order);
}
