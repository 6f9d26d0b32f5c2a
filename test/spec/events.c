/* EVT: streams, lanes, and what senders are told
 * (docs/spec/events-and-lineage.md). What a handler declares is loaded before
 * the handler runs; if it cannot be loaded, the event fails. */

#include <stdio.h>
#include <string.h>

#include "lib/event_kit.h"
#include "lib/test.h"
#include "sched/event.h"

TEST(evt_01_a_handler_gets_what_is_sent)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", "s", "-> r", handle_store, 0);
    scene_send(&on, "s", "1");
    scene_send(&on, "s", "2");
    EXPECT_EQ(h->runs, 0); /* only a step runs anything */
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 2);
    EXPECT_GET(&on.kit, "r", "2");
    EXPECT_GET(&on.kit, "s", "()"); /* a stream is not written */
    EXPECT_TEXT(scene_ended(&on), "1 done; 2 done;");
    const struct events_counters *counters = scene_counters(&on);
    EXPECT_EQ(counters->sent, 2);
    EXPECT_EQ(counters->attempts, 2);
    EXPECT_EQ(counters->done, 2);
    EXPECT_EQ(counters->dropped + counters->failed, 0);
    scene_end(&on);
}

TEST(evt_02_in_the_order_in_which_it_was_sent)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", "s", "", handle_nothing, 0);
    scene_on(&on, "G", "t", "", handle_nothing, 0);
    scene_send(&on, "s", "1");
    scene_send(&on, "t", "9");
    scene_send(&on, "s", "2");
    scene_send(&on, "s", "3");
    EXPECT_IDLE(&on.kit);
    EXPECT_SEEN(h, "1 2 3");
    EXPECT_TEXT(scene_handled(&on), "H=1 G=9 H=2 H=3"); /* one lane */
    scene_end(&on);
}

TEST(evt_03_who_is_cancelled_is_not_called)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", "s", "-> r", handle_store, 0);
    scene_send(&on, "s", "1");
    EXPECT_IDLE(&on.kit);
    scene_send(&on, "s", "2"); /* waits when it goes */
    scene_cancel(h);
    EXPECT_EQ(h->released, 1);
    scene_send(&on, "s", "3");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(&on.kit, "r", "1");
    EXPECT_TEXT(scene_ended(&on),
                "1 done; 2 dropped NO_HANDLER; 3 dropped NO_HANDLER;");
    scene_end(&on);
}

/* What waits is for whoever is there when its time comes. */
TEST(evt_03_another_one_can_come_first)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", "s", "", handle_nothing, 0);
    scene_send(&on, "s", "1");
    scene_cancel(h);
    scene_on(&on, "G", "s", "", handle_nothing, 0);
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(scene_handled(&on), "G=1");
    EXPECT_TEXT(scene_ended(&on), "1 done;");
    scene_end(&on);
}

/* A second handler takes the place of the first only if it says that it wants
 * to. */
TEST(evt_04_one_handler_a_stream)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *h1 = scene_on(&on, "H1", "s", "", handle_nothing, 0);
    struct scene_handler_spec spec = {
        .stream = "s",
        .surface = "-> r",
        .fn = handle_store,
    };
    struct err_detail detail = {0};
    EXPECT(scene_try_handle(&on, "H2", &spec, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_HANDLER_EXISTS);
    EXPECT_CONTAINS(detail.text, "s");
    EXPECT_EQ(scene_counters(&on)->replaced, 0);
    spec.replace = true;
    struct scene_handler *h2 = scene_handle(&on, "H2", &spec);
    EXPECT_EQ(scene_counters(&on)->replaced, 1);
    scene_send(&on, "s", "42");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h1->runs, 0);
    EXPECT_EQ(h2->runs, 1);
    EXPECT_GET(&on.kit, "r", "42");
    scene_end(&on);
}

TEST(evt_05_a_stream_is_a_place)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    kit_set_all(&on.kit, "d={'child':{'value':1}}");
    struct scene_handler *h =
        scene_on(&on, "H", "d.child.value", "-> r", handle_store, 0);
    EXPECT(scene_stream(&on, "d.child.value") ==
           scene_stream(&on, "d.child.value"));
    scene_send(&on, "d.child.value", "5");
    scene_send(&on, "d.child", "6");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(&on.kit, "r", "5");
    EXPECT_GET(&on.kit, "d", "{'child':{'value':1}}");
    EXPECT_TEXT(scene_ended(&on), "5 done; 6 dropped NO_HANDLER;");
    scene_end(&on);
}

/* What is declared is loaded first, and what was sent later does not
 * overtake. */
TEST(evt_06_what_is_declared_is_loaded_first)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_elsewhere(&on, "set cold 30");
    scene_on(&on, "H", "s", "cold -> r", handle_sum, 0);
    scene_on(&on, "G", "t", "", handle_nothing, 0);
    scene_send(&on, "s", "7");
    scene_send(&on, "t", "8");
    EXPECT(!kit_idle(&on.kit));
    kit_tick(&on.kit, 1000);
    EXPECT_TEXT(scene_handled(&on), "");
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(scene_handled(&on), "H=7 G=8");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':37}");
    EXPECT_EQ(scene_counters(&on)->parked_load, 1);
    scene_end(&on);
}

/* A handler does not run with half of what it declared. */
TEST(evt_07_what_can_not_be_loaded_ends_it)
{
    struct scene on;
    struct scene thief;
    scene_begin(&on, AT_STORE_HELD);
    kit_set(&on.kit, "r", "0");
    scene_pump(&on);
    struct scene_handler *h =
        scene_on(&on, "H", "s", "cold -> r", handle_sum, 0);
    scene_send(&on, "s", "3");
    EXPECT(!kit_idle(&on.kit));
    scene_begin_beside(&thief, &on, "first", AT_STORE);
    kit_set(&thief.kit, "x", "1"); /* takes the session over */
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 0);
    EXPECT_TEXT(scene_ended(&on), "3 failed SESSION_LOST;");
    scene_end(&thief);
    scene_end(&on);
}

TEST(evt_08_idle_does_not_wait_for_the_store)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    kit_set(&on.kit, "list", "[]");
    scene_pump(&on);
    struct scene_handler *h =
        scene_on(&on, "H", "s", "-> list", handle_append, 0);
    struct scene_sent *sent = scene_send(&on, "s", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(&on.kit, "list", "[1]");
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[]}");
    EXPECT_END(sent, "waits");
    EXPECT(events_in_flight(on.kit.sched));
    scene_pump(&on);
    EXPECT_IDLE(&on.kit);
    EXPECT(!events_in_flight(on.kit.sched));
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[1]}");
    EXPECT_END(sent, "done");
    EXPECT_EQ(sent->attempts, 1);
    scene_end(&on);
}

TEST(evt_09_each_once_to_two_lists)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    kit_set_all(&on.kit, "a=[] b=[]");
    struct scene_handler *h =
        scene_on(&on, "H", "s", "-> a b", handle_append, 0);
    for (int64_t i = 1; i <= 7; i++) {
        scene_send_number(&on, "s", i);
    }
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 7);
    EXPECT_TEXT(scene_stored(&on, "a"), "{'value':[1,2,3,4,5,6,7]}");
    EXPECT_TEXT(scene_stored(&on, "b"), "{'value':[1,2,3,4,5,6,7]}");
    scene_end(&on);
}

static void count_call(void *ctx)
{
    ++*(unsigned *)ctx;
}

static enum run_result post_and_fail(struct handling *handling,
                                     struct scene_handler *handler)
{
    lineage_after_landing(handling->sched,
                          handling_transaction(handling),
                          count_call,
                          handler->ctx);
    return handle_fail(handling, handler);
}

TEST(evt_12_a_failure_leaves_nothing)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    kit_set_all(&on.kit, "r=0");
    unsigned posted = 0;
    const struct scene_handler_spec spec = {
        .stream = "s",
        .surface = "-> r",
        .fn = post_and_fail,
        .ctx = &posted,
    };
    struct scene_handler *h = scene_handle(&on, "H", &spec);
    struct scene_sent *sent = scene_send(&on, "s", "5");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_END(sent, "failed ARGUMENT");
    EXPECT_TEXT(sent->error.text, "H fails");
    EXPECT_EQ(sent->attempts, 1);
    EXPECT_EQ(on.kit.error_count, 1);
    EXPECT_TEXT(kit_errors(&on.kit), "H ARGUMENT: H fails;");
    EXPECT_EQ(posted, 0);
    EXPECT_GET(&on.kit, "r", "0");
    /* Nor has it spent the id: there is no receipt. */
    EXPECT_GET(&on.kit, buf_text(&sent->receipt_id), "()");
    scene_end(&on);
}

TEST(evt_13_nobody_is_there)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_sent *sent = scene_send(&on, "s", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_END(sent, "dropped NO_HANDLER");
    EXPECT_EQ(sent->attempts, 0);
    EXPECT_EQ(scene_counters(&on)->dropped, 1);
    scene_end(&on);
}

static void send_more(struct scene_sent *sent)
{
    (void)scene_send(sent->on, "s", "3");
}

/* What a callback does is its own business: the next one is told all the
 * same. */
TEST(evt_17_every_sender_is_told)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    scene_on(&on, "H", "s", "", handle_fail, 0);
    const struct scene_sending first = {.payload = "1", .then = send_more};
    scene_send_with(&on, "s", &first);
    scene_send(&on, "s", "2");
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(scene_ended(&on),
                "1 failed ARGUMENT; 2 failed ARGUMENT; 3 failed ARGUMENT;");
    scene_end(&on);
}

static enum run_result just_fail(struct handling *handling,
                                 struct scene_handler *handler)
{
    (void)handle_store(handling, handler);
    return RUN_FAILED; /* without a reason */
}

TEST(evt_19_who_gives_up_is_not_called_again)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    kit_set_all(&on.kit, "r=0");
    struct scene_handler *h = scene_on(&on, "H", "s", "-> r", just_fail, 0);
    struct scene_sent *sent = scene_send(&on, "s", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_EQ(sent->attempts, 1);
    EXPECT_EQ(sent->ended, 1);
    EXPECT_EQ(sent->outcome, EVENT_FAILED);
    EXPECT(sent->error.err != ERR_OK);
    EXPECT_GET(&on.kit, "r", "0");
    scene_end(&on);
}

/* k times; then it stores. */
static enum run_result again(struct handling *handling,
                             struct scene_handler *handler)
{
    (void)handle_store(handling, handler);
    return handler->k-- > 0 ? RUN_AGAIN : RUN_DONE;
}

TEST(evt_20_now_or_never)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    kit_set_all(&on.kit, "r=0");
    struct scene_handler *h = scene_on(&on, "H", "s", "-> r", again, 3);
    const struct scene_sending once = {.payload = "1", .no_retry = true};
    struct scene_sent *sent = scene_send_with(&on, "s", &once);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    EXPECT_EQ(sent->ended, 1);
    EXPECT_EQ(sent->outcome, EVENT_FAILED);
    EXPECT_EQ(sent->attempts, 1);
    EXPECT_GET(&on.kit, "r", "0");
    /* With retries it is tried until it can be done. */
    h->k = 2;
    h->runs = 0;
    sent = scene_send(&on, "s", "2");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 3);
    EXPECT_END(sent, "done");
    EXPECT_GET(&on.kit, "r", "2");
    scene_end(&on);
}

struct written {
    size_t count;
    size_t named;
    unsigned notices;
};

static void note_writes(void *ctx, const struct event_notice *notice)
{
    struct written *written = ctx;
    if (notice->moment == EVENT_HANDLED) {
        written->count = notice->writes;
        written->named = notice->named_count;
        written->notices++;
        for (size_t i = 0; i < notice->named_count; i++) {
            EXPECT(notice->named[i] != NULL);
        }
    }
}

TEST(evt_21_a_trace_names_some_of_many_writes)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct buf surface = {0};
    buf_append_text(&surface, "->");
    for (unsigned i = 0; i < KIT_PLACES_MAX; i++) {
        buf_printf(&surface, " d%u", i);
    }
    scene_on(&on, "H", "s", buf_text(&surface), handle_store, 0);
    buf_release(&surface);
    struct written written = {0};
    events_listen(on.kit.sched, note_writes, &written);
    scene_send(&on, "s", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(written.notices, 1);
    EXPECT_EQ(written.count, KIT_PLACES_MAX);
    EXPECT_EQ(written.named, EVENTS_WRITES_NAMED);
    scene_end(&on);
}

/* -- The owner of a stream that has to be started first ------------------- */

struct owners {
    unsigned asked;
    bool starts;
};

static bool on_missing(void *ctx, struct stream *stream)
{
    struct owners *owners = ctx;
    EXPECT(stream != NULL);
    owners->asked++;
    return owners->starts;
}

static void begin_missing(struct scene *on, struct owners *owners)
{
    scene_begin(on, AT_HOME);
    *owners = (struct owners){.starts = true};
    events_on_missing(on->kit.sched, on_missing, owners);
}

TEST(evt_22_nothing_overtakes_what_waits_for_its_owner)
{
    struct scene on;
    struct owners owners;
    begin_missing(&on, &owners);
    scene_on(&on, "G", "ready", "", handle_nothing, 0);
    scene_send(&on, "cold", "'first'");
    scene_send(&on, "ready", "'second'");
    EXPECT(!kit_idle(&on.kit));
    kit_tick(&on.kit, 1000);
    EXPECT_EQ(owners.asked, 1);
    EXPECT_TEXT(scene_handled(&on), "");
    scene_on(&on, "H", "cold", "", handle_nothing, 0);
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(scene_handled(&on), "H='first' G='second'");
    scene_end(&on);
}

TEST(evt_23_an_owner_that_can_not_be_started)
{
    struct scene on;
    struct owners owners;
    begin_missing(&on, &owners);
    scene_on(&on, "G", "ready", "", handle_nothing, 0);
    struct scene_sent *sent = scene_send(&on, "cold", "1");
    scene_send(&on, "ready", "2");
    EXPECT(!kit_idle(&on.kit));
    events_no_owner(on.kit.sched, scene_stream(&on, "cold"), NULL, false);
    EXPECT_IDLE(&on.kit);
    EXPECT(!events_wait(on.kit.sched));
    EXPECT_END(sent, "dropped NO_HANDLER");
    EXPECT_TEXT(scene_handled(&on), "G=2");
    /* Who says at once that nobody can be started is asked once an event. */
    owners.starts = false;
    sent = scene_send(&on, "cold", "3");
    EXPECT_IDLE(&on.kit);
    EXPECT_END(sent, "dropped NO_HANDLER");
    EXPECT_EQ(owners.asked, 2);
    scene_end(&on);
}

TEST(evt_24_given_up_twice_and_started_after_all)
{
    struct scene on;
    struct owners owners;
    begin_missing(&on, &owners);
    struct scene_sent *sent = scene_send(&on, "cold", "1");
    EXPECT(!kit_idle(&on.kit));
    events_no_owner(on.kit.sched, scene_stream(&on, "cold"), NULL, false);
    events_no_owner(on.kit.sched, scene_stream(&on, "cold"), NULL, false);
    kit_step(&on.kit);
    struct scene_handler *h = scene_on(&on, "H", "cold", "", handle_nothing, 0);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 0);
    EXPECT_EQ(sent->ended, 1);
    EXPECT_END(sent, "dropped NO_HANDLER");
    scene_end(&on);
}

/* -- Its id, its origin and its time -------------------------------------- */

static void note_id(void *ctx, const struct event_notice *notice)
{
    struct buf *ids = ctx;
    if (notice->moment == EVENT_SENT) {
        const struct value id = event_id(notice->event);
        kit_put_value(ids, id);
        value_unref(id);
    }
}

TEST(evt_25_what_waits_has_its_id_and_its_origin)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", "s", "", handle_nothing, 0);
    struct buf ids = {0};
    events_listen(on.kit.sched, note_id, &ids);
    struct transaction *origin = transaction_begin(&on.kit.replica, NULL);
    const struct scene_sending sending = {
        .payload = "1",
        .id = "x",
        .session = "caller",
        .origin = origin,
    };
    struct scene_sent *sent = scene_send_with(&on, "s", &sending);
    lineage_abort(origin);
    transaction_release(origin);
    EXPECT_IDLE(&on.kit);
    EXPECT_END(sent, "dropped ORIGIN_FAILED");
    EXPECT_EQ(scene_counters(&on)->orphans, 1);
    EXPECT_EQ(h->runs, 0);
    /* The same id as that of the same call without an origin. */
    struct buf first = ids;
    ids = (struct buf){0};
    scene_send_as(&on, "s", "x", "1");
    EXPECT_TEXT(buf_text(&ids), buf_text(&first));
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 1);
    buf_release(&ids);
    buf_release(&first);
    scene_end(&on);
}

/* A stream with room for a few, which keeps the last of more. */
static struct scene_handler *begin_small(struct scene *on,
                                         uint32_t backlog,
                                         bool collapses)
{
    scene_begin(on, AT_HOME);
    struct events_policy policy = events_policy();
    policy.backlog = backlog;
    scene_policy(on, &policy);
    struct scene_handler *h = scene_on(on, "H", "s", "-> r", handle_store, 0);
    h->handler->stream->collapses = collapses;
    return h;
}

TEST(evt_26_the_last_that_waits_takes_what_is_too_much)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 256, true);
    for (int64_t i = 1; i <= 259; i++) {
        scene_send_number(&on, "s", i);
    }
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 256);
    EXPECT_GET(&on.kit, "r", "259");
    EXPECT_EQ(scene_counters(&on)->collapsed, 3);
    /* Each sender is told; those whose payload is gone learn what became of
     * the one that took its place. */
    VEC_FOREACH (&on.sent, sent) {
        EXPECT_END(*sent, "done");
    }
    scene_end(&on);
}

/* Unless the stream asks for that, nothing is lost. */
TEST(evt_26_or_it_is_refused)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 4, false);
    for (int64_t i = 1; i <= 4; i++) {
        scene_send_number(&on, "s", i);
    }
    const struct scene_sending fifth = {.payload = "5"};
    struct err_detail detail = {0};
    EXPECT(scene_try_send(&on, "s", &fifth, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_BACKLOG);
    EXPECT_CONTAINS(detail.text,
                    "the backlog of the stream H is full: 4 events wait");
    EXPECT_EQ(scene_counters(&on)->refused, 1);
    EXPECT_EQ(scene_counters(&on)->collapsed, 0);
    EXPECT_IDLE(&on.kit);
    EXPECT_SEEN(h, "1 2 3 4");
    scene_send(&on, "s", "5");
    EXPECT_IDLE(&on.kit);
    EXPECT_SEEN(h, "1 2 3 4 5");
    scene_end(&on);
}

TEST(evt_28_a_callers_own_event_is_not_sent_twice)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 2, true);
    scene_send(&on, "s", "1");
    struct scene_sent *original = scene_send_as(&on, "s", "x", "2");
    const struct scene_sending again = {
        .payload = "2",
        .id = "x",
        .session = "caller",
    };
    struct err_detail detail = {0};
    EXPECT(scene_try_send(&on, "s", &again, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_BACKLOG);
    EXPECT_IDLE(&on.kit);
    EXPECT_SEEN(h, "1 2");
    EXPECT_END(original, "done");
    scene_end(&on);
}

TEST(evt_29_a_callers_own_event_takes_nothing)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 256, true);
    scene_send_as(&on, "s", "x", "'own'");
    for (int64_t i = 1; i <= 259; i++) {
        scene_send_number(&on, "s", i);
    }
    kit_step(&on.kit);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 256);
    EXPECT_GET(&on.kit, "r", "259");
    const char *own = strstr(buf_text(&h->seen), "'own'");
    EXPECT(own == buf_text(&h->seen));
    EXPECT(own != NULL && strstr(own + 1, "'own'") == NULL);
    scene_end(&on);
}

/* Nor does what is minted take its place, although it is the last one; and
 * another caller's can't be part of it. */
TEST(evt_29_nor_is_anything_taken_from_it)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 3, true);
    scene_send(&on, "s", "1");
    scene_send(&on, "s", "2");
    scene_send_as(&on, "s", "x", "'own'");
    scene_send(&on, "s", "4");
    const struct scene_sending other = {
        .payload = "'other'",
        .id = "y",
        .session = "caller",
    };
    struct err_detail detail = {0};
    EXPECT(scene_try_send(&on, "s", &other, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_BACKLOG);
    EXPECT_IDLE(&on.kit);
    EXPECT_SEEN(h, "1 4 'own'");
    EXPECT_TEXT(scene_ended(&on), "1 done; 2 done; 4 done; 'own' done;");
    scene_end(&on);
}

/* Only what lives and dies with the same commit can be one. */
TEST(evt_29_what_has_another_origin_is_not_collapsed)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 3, true);
    scene_send(&on, "s", "1");
    scene_send(&on, "s", "2");
    struct transaction *origin = transaction_begin(&on.kit.replica, NULL);
    struct scene_sent *third = scene_send_from(&on, "s", origin, "3");
    struct scene_sent *fourth = scene_send_from(&on, "s", origin, "4");
    struct transaction *other = transaction_begin(&on.kit.replica, NULL);
    const struct scene_sending fifth = {.payload = "5", .origin = other};
    struct err_detail detail = {0};
    EXPECT(scene_try_send(&on, "s", &fifth, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_BACKLOG);
    lineage_abort(origin);
    transaction_release(origin);
    lineage_abort(other);
    transaction_release(other);
    EXPECT_IDLE(&on.kit);
    EXPECT_SEEN(h, "1 2");
    EXPECT_END(third, "dropped ORIGIN_FAILED");
    EXPECT_END(fourth, "dropped ORIGIN_FAILED");
    EXPECT_EQ(scene_counters(&on)->collapsed, 1);
    scene_end(&on);
}

/* Sends as many as the payload says, and does not look whether it can. */
static enum run_result send_many(struct handling *handling,
                                 struct scene_handler *handler)
{
    struct stream *stream = scene_stream(handler->on, "s");
    for (int64_t i = 0; i < handler_payload(handling); i++) {
        const struct event_spec spec = {.payload = value_int(i)};
        (void)!handling_send(handling, stream, &spec, NULL);
    }
    return handle_store(handling, handler);
}

/* V7. */
TEST(a_handling_with_a_refused_event_fails_as_a_whole)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 3, false);
    scene_on(&on, "M", "m", "-> sent", send_many, 0);
    struct scene_sent *fits = scene_send(&on, "m", "3");
    struct scene_sent *too_many = scene_send(&on, "m", "4");
    EXPECT_IDLE(&on.kit);
    EXPECT_END(fits, "done");
    EXPECT_END(too_many, "failed BACKLOG");
    EXPECT_CONTAINS(too_many->error.text, "3 events wait");
    EXPECT_CONTAINS(kit_errors(&on.kit), "M BACKLOG");
    EXPECT_EQ(h->runs, 3);
    EXPECT_GET(&on.kit, "sent", "3");
    scene_end(&on);
}

enum {
    BASE_MS = 1700000,
};

static void note_time(void *ctx, const struct event_notice *notice)
{
    uint64_t *time = ctx;
    if (notice->moment == EVENT_HANDLED) {
        *time = event_time(notice->event);
    }
}

TEST(evt_30_its_time_is_that_of_what_it_carries)
{
    struct scene on;
    struct scene_handler *h = begin_small(&on, 4, true);
    uint64_t time = 0;
    events_listen(on.kit.sched, note_time, &time);
    for (uint64_t i = 1; i <= 7; i++) {
        const struct scene_sending sending = {
            .payload = "1",
            .time = BASE_MS + i * 1000,
        };
        scene_send_with(&on, "s", &sending);
    }
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 4);
    EXPECT_EQ(time, BASE_MS + 7000);
    scene_end(&on);
}

/* What a handling sends has the time of what it handles. */
TEST(evt_30_its_time_goes_down_the_line)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", "s", "", handle_forward, 1);
    h->target = "t";
    scene_on(&on, "G", "t", "", handle_nothing, 0);
    uint64_t time = 0;
    events_listen(on.kit.sched, note_time, &time);
    const struct scene_sending sending = {.payload = "1", .time = 4711};
    scene_send_with(&on, "s", &sending);
    kit_tick(&on.kit, 500);
    EXPECT_IDLE(&on.kit);
    EXPECT_TEXT(scene_handled(&on), "H=1 G=2");
    EXPECT_EQ(time, 4711);
    scene_end(&on);
}

struct identities {
    const void *sources[3];
    size_t count;
};

static void note_source(void *ctx, const struct event_notice *notice)
{
    struct identities *identities = ctx;
    if (notice->moment == EVENT_HANDLED && identities->count < 3) {
        identities->sources[identities->count++] = notice->transaction->source;
    }
}

TEST(evt_31_a_handler_is_one_source)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    scene_on(&on, "HA", "a", "-> r", handle_store, 0);
    scene_on(&on, "HB", "b", "-> r", handle_store, 0);
    struct identities identities = {0};
    events_listen(on.kit.sched, note_source, &identities);
    struct scene_sent *sent[] = {
        scene_send(&on, "a", "1"),
        scene_send(&on, "a", "2"),
        scene_send(&on, "b", "3"),
    };
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(identities.count, 3);
    EXPECT(identities.sources[0] != NULL && identities.sources[2] != NULL);
    EXPECT(identities.sources[0] == identities.sources[1]);
    EXPECT(identities.sources[0] != identities.sources[2]);
    const char *ids[3];
    for (size_t i = 0; i < 3; i++) {
        ids[i] = buf_text(&sent[i]->id);
    }
    EXPECT(strcmp(ids[0], ids[1]) != 0 && strcmp(ids[1], ids[2]) != 0 &&
           strcmp(ids[0], ids[2]) != 0);
    scene_end(&on);
}

/* -- More ---------------------------------------------------------------- */

/* A lane a space: one that waits holds up its own. */
TEST(lanes_of_two_spaces_do_not_wait_for_each_other)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_open_second(&on, AT_HOME);
    struct events_policy policy = events_policy();
    policy.lanes = LANES_SPACE;
    scene_policy(&on, &policy);
    scene_on(&on, "H", "s", "cold", handle_sum, 0);
    scene_on(&on, "G", ">s", "", handle_nothing, 0);
    scene_send(&on, "s", "1");
    scene_send(&on, "s", "2");
    scene_send(&on, ">s", "3");
    EXPECT(!kit_idle(&on.kit));
    EXPECT_TEXT(scene_handled(&on), "G=3");
    scene_pump(&on);
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_handled(&on), "H=1 H=2");
    scene_end(&on);
}

/* The end of the scheduler is an outcome, too. */
TEST(what_waits_at_the_end_is_told)
{
    struct scene on;
    struct owners owners;
    begin_missing(&on, &owners);
    struct scene_sent *sent = scene_send(&on, "cold", "1");
    struct scene_sent *behind = scene_send(&on, "cold", "2");
    kit_step(&on.kit);
    sched_dispose(on.kit.sched);
    EXPECT_END(sent, "dropped CLOSED");
    EXPECT_END(behind, "dropped CLOSED");
    EXPECT(sched_is_idle(on.kit.sched));
    scene_end(&on);
}

/* -- NEW-06: head of line ------------------------------------------------- */

static enum run_result more(struct run *run, struct kit_node *node)
{
    kit_output_adopt(run, node, 0, value_int(kit_number(run, node, 0) + 1));
    return RUN_DONE;
}

/* The stated bound: an event waits for the backoffs of policy.holds passes;
 * each is at most SCHED_BACKOFF_MAX_MS. */
TEST(new_06_what_never_settles_is_failed_and_the_next_one_handled)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    kit_set_all(&on.kit, "x=0 y=0 a=4");
    kit_computation(&on.kit, "A", "x -> y", more, 0);
    kit_computation(&on.kit, "B", "y -> x", more, 0);
    struct scene_handler *h = scene_on(&on, "H", "s", "y", handle_sum, 0);
    struct scene_handler *g = scene_on(&on, "G", "t", "a -> r", handle_sum, 0);
    const mono_ms began = on.kit.sim.now;
    struct scene_sent *first = scene_send(&on, "s", "1");
    struct scene_sent *second = scene_send(&on, "t", "2");
    for (unsigned i = 0; i < KIT_WAKES_MAX && second->ended == 0; i++) {
        kit_step(&on.kit);
        const mono_ms wake = sched_next_wake(on.kit.sched);
        if (wake != MONO_NEVER && wake > on.kit.sim.now) {
            sim_host_advance(&on.kit.sim, wake);
        }
    }
    EXPECT_EQ(h->runs, 0);
    EXPECT_END(first, "failed NOT_SETTLED");
    EXPECT_EQ(g->runs, 1);
    EXPECT_END(second, "done");
    EXPECT_GET(&on.kit, "r", "6");
    EXPECT(on.kit.sim.now - began <=
           (mono_ms)EVENTS_HOLDS * SCHED_BACKOFF_MAX_MS);
    EXPECT(on.kit.error_count > 0);
    scene_end(&on);
}

/* CONV-18: the same two, whom only the head demands, have one budget. */
TEST(conv_18_two_whom_only_the_head_demands)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    struct kit_node *a = kit_sum(kit, "A", "b -> a", 1);
    struct kit_node *b = kit_sum(kit, "B", "a -> b", 1);
    scene_on(&on, "H", "in", "a -> r", handle_sum, 0);
    kit_step(kit);
    EXPECT_EQ(a->runs + b->runs, 0);
    scene_send(&on, "in", "1");
    (void)sched_pass(kit->sched, kit->sim.now);
    EXPECT(a->runs <= SCHED_RUNS_MAX);
    EXPECT(b->runs <= SCHED_RUNS_MAX);
    EXPECT(a->runs + b->runs >= SCHED_RUNS_MAX);
    EXPECT(kit->sched->counters.backoffs >= 1);
    EXPECT(events_wait(kit->sched));
    scene_end(&on);
}

/* -- IDLE: while an event waits ------------------------------------------- */

/* IDLE-07: who is not demanded holds up neither the event nor idle. */
TEST(idle_07_an_event_beside_what_waits)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1 total=0");
    struct kit_node *c = kit_sum(kit, "C", "s -> r", 0);
    (void)kit_pull(kit, "r");
    sched_set_debounce(kit->sched, c->node, 30000);
    kit_set(kit, "s", "2");
    struct scene_handler *h =
        scene_on(&on, "H", "in", "-> total", handle_count, 0);
    const mono_ms now = kit->sim.now;
    scene_send(&on, "in", "3");
    EXPECT_IDLE(kit);
    EXPECT_EQ(kit->sim.now, now);
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "total", "3");
    EXPECT_EQ(c->runs, 1);
    scene_end(&on);
}

/* IDLE-10: an event that waits for its time keeps idle open until then. */
TEST(idle_10_an_event_that_waits_for_its_time)
{
    struct scene on;
    scene_begin(&on, AT_HOME);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "s=1");
    struct kit_node *c = kit_sum(kit, "C", "s -> co", 0);
    kit_see(kit, "E", "co");
    EXPECT_IDLE(kit);
    sched_set_debounce(kit->sched, c->node, 150);
    kit_set(kit, "s", "2");
    struct scene_handler *h =
        scene_on(&on, "H", "in", "co -> r", handle_sum, 0);
    scene_send(&on, "in", "3");
    kit_step(kit);
    kit_tick(kit, 100);
    EXPECT(!sched_is_idle(kit->sched));
    EXPECT(events_wait(kit->sched));
    EXPECT_EQ(h->runs, 0);
    kit_tick(kit, 100);
    EXPECT(sched_is_idle(kit->sched));
    EXPECT_EQ(h->runs, 1);
    EXPECT_GET(kit, "r", "5");
    scene_end(&on);
}

/* -- NEW-09: a conflict while somebody waits for idle ---------------------- */

/* Idle does not wait for answers, so it may be there while the commit is on
 * its way; but never between the refusal and the next attempt. Who waits for
 * answers as well (events_in_flight) waits for all of it. */
TEST(new_09_idle_and_a_conflict)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    kit_set(&on.kit, "n", "0");
    scene_pump(&on);
    struct scene_handler *h = scene_on(&on, "H", "s", "-> n", handle_count, 0);
    struct scene_sent *sent = scene_send(&on, "s", "3");
    EXPECT_IDLE(&on.kit);
    EXPECT(events_in_flight(on.kit.sched));
    scene_refuse(&on, ERR_CONFLICT, 1);
    scene_send(&on, "s", "4"); /* whose commit is refused */
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 2);
    scene_pump(&on);
    EXPECT_END(sent, "done");
    EXPECT(!sched_is_idle(on.kit.sched)); /* it waits for its time */
    EXPECT(events_wait(on.kit.sched));
    EXPECT(sched_next_wake(on.kit.sched) != MONO_NEVER);
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(h->runs, 3);
    EXPECT(events_in_flight(on.kit.sched));
    scene_pump(&on);
    EXPECT(sched_is_idle(on.kit.sched));
    EXPECT(!events_in_flight(on.kit.sched));
    EXPECT_TEXT(scene_stored(&on, "n"), "{'value':7}");
    scene_end(&on);
}
