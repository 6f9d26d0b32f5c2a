/* Events end to end, in the small: what a stream, a handler and a lane do
 * together. The rules are tested in test/spec. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "sched/events.h"
#include "sched/handling.h"
#include "sched/lineage.h"

struct act {
    struct sched_kit kit;
    struct stream *stream;
    struct place *stream_place;
    struct place *read; /* or NULL */
    struct place *write;
    struct handler *handler;
    struct buf handled;
    struct buf ended;
};

/* r := read + payload; returns the payload. */
static enum run_result add(struct handling *handling, void *ctx)
{
    struct act *act = ctx;
    struct value seen = value_int(0);
    if (act->read != NULL) {
        const enum err err =
            run_read(handling->run, act->read, READ_DEEP, READ_FOR_BOTH, &seen);
        if (err == ERR_STALE) {
            return RUN_AGAIN;
        }
    }
    const int64_t sum = (int64_t)value_real(seen) +
                        (int64_t)value_real(handling_payload(handling));
    value_unref(seen);
    buf_printf(&act->handled, "%d ", (int)sum);
    EXPECT_EQ(transaction_put_adopt(handling_transaction(handling),
                                    act->write,
                                    value_int(sum),
                                    NULL),
              ERR_OK);
    handling_return_adopt(handling, value_ref(handling_payload(handling)));
    return RUN_DONE;
}

static void on_done(void *ctx, const struct event_result *result)
{
    struct act *act = ctx;
    static const char *const names[] = {"done", "dropped", "failed"};
    buf_printf(&act->ended,
               "%s %s %d; ",
               names[result->outcome],
               err_name(result->error.err),
               value_is_absent(result->receipt)
                   ? -1
                   : (int)value_real(result->receipt));
}

static void begin(struct act *act, const char *reads)
{
    act->stream_place = kit_place(&act->kit, "stream");
    act->write = kit_place(&act->kit, "r");
    act->read = reads != NULL ? kit_place(&act->kit, reads) : NULL;
    act->stream = events_stream(act->kit.sched, act->stream_place);
    const struct declared_read declared = {act->read, READ_DEEP};
    struct value name = value_text_new("H");
    const struct handler_spec spec = {
        .name = name,
        .run = add,
        .ctx = act,
        .pure = true,
        .reads = &declared,
        .read_count = reads != NULL,
    };
    EXPECT_EQ(
        events_handle(act->kit.sched, act->stream, &spec, &act->handler, NULL),
        ERR_OK);
    value_unref(name);
}

static void end(struct act *act)
{
    place_unref(act->stream_place);
    place_unref(act->write);
    if (act->read != NULL) {
        place_unref(act->read);
    }
    buf_release(&act->handled);
    buf_release(&act->ended);
    kit_end(&act->kit);
}

static void send(struct act *act, int64_t number, const char *id)
{
    const struct event_spec spec = {
        .payload = value_int(number),
        .id = id != NULL ? value_text_new(id) : VALUE_NONE,
        .session = id != NULL ? value_text_new("s") : VALUE_NONE,
        .done = on_done,
        .ctx = act,
    };
    EXPECT_EQ(events_send(act->kit.sched, act->stream, &spec, NULL), ERR_OK);
    value_unref(spec.id);
    value_unref(spec.session);
}

TEST(events_are_handled_in_order_and_their_senders_told)
{
    struct act act = {0};
    kit_begin(&act.kit);
    begin(&act, NULL);
    send(&act, 1, NULL);
    send(&act, 2, NULL);
    send(&act, 3, NULL);
    EXPECT(!sched_is_idle(act.kit.sched));
    kit_idle(&act.kit);
    EXPECT_TEXT(buf_text(&act.handled), "1 2 3 ");
    EXPECT_TEXT(buf_text(&act.ended), "done OK 1; done OK 2; done OK 3; ");
    EXPECT_TEXT(kit_get(&act.kit, "r"), "3");
    end(&act);
}

TEST(a_sleeping_chain_is_brought_up_to_date_before_the_handler)
{
    struct act act = {0};
    kit_begin(&act.kit);
    kit_set_all(&act.kit, "s=10");
    struct kit_node *a = kit_sum(&act.kit, "A", "s -> a", 1);
    struct kit_node *b = kit_sum(&act.kit, "B", "a -> b", 1);
    begin(&act, "b");
    kit_idle(&act.kit);
    EXPECT_EQ(a->runs + b->runs, 0);
    send(&act, 5, NULL);
    kit_idle(&act.kit);
    EXPECT_TEXT(buf_text(&act.handled), "17 ");
    kit_set(&act.kit, "s", "20");
    kit_idle(&act.kit);
    EXPECT_EQ(a->runs + b->runs, 2);
    send(&act, 5, NULL);
    kit_idle(&act.kit);
    EXPECT_TEXT(buf_text(&act.handled), "17 27 ");
    EXPECT_EQ(a->runs + b->runs, 4);
    end(&act);
}

TEST(the_same_event_again_gets_the_first_receipt)
{
    for (int store = 0; store < 2; store++) {
        struct act act = {0};
        if (store > 0) {
            kit_begin_with_store(&act.kit, false);
        } else {
            kit_begin(&act.kit);
        }
        begin(&act, NULL);
        send(&act, 7, "x");
        kit_idle(&act.kit);
        for (int again = 7; again <= 8; again++) {
            send(&act, again, "x");
            kit_idle(&act.kit);
            replica_pump(&act.kit.replica); /* the receipt is fetched */
            kit_idle(&act.kit);
        }
        EXPECT_TEXT(buf_text(&act.handled), "7 7 8 ");
        EXPECT_TEXT(buf_text(&act.ended),
                    "done OK 7; dropped RECEIPT_EXISTS 7; "
                    "failed IDEMPOTENCY_MISMATCH -1; ");
        EXPECT_TEXT(kit_get(&act.kit, "r"), "7");
        end(&act);
    }
}

/* Without a store a receipt is nowhere else: the last ones are kept. */
TEST(without_a_store_the_last_named_events_are_known)
{
    struct act act = {0};
    kit_begin(&act.kit);
    struct events_policy policy = events_policy();
    policy.receipts = 2;
    events_configure(act.kit.sched, &policy, VALUE_NONE);
    begin(&act, NULL);
    const char *const ids[] = {"x", "y", "y", "z", "x", "z"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        send(&act, 1, ids[i]);
        kit_idle(&act.kit);
    }
    EXPECT_TEXT(buf_text(&act.ended),
                "done OK 1; done OK 1; dropped RECEIPT_EXISTS 1; done OK 1; "
                "done OK 1; dropped RECEIPT_EXISTS 1; ");
    end(&act);
}

TEST(named_events_leave_nothing_with_or_without_a_store)
{
    enum {
        COUNT = 50,
    };
    for (int store = 0; store < 2; store++) {
        struct act act = {0};
        if (store > 0) {
            kit_begin_with_store(&act.kit, false);
        } else {
            kit_begin(&act.kit);
        }
        struct events_policy policy = events_policy();
        policy.receipts = 2;
        events_configure(act.kit.sched, &policy, VALUE_NONE);
        begin(&act, NULL);
        size_t before = 0;
        for (int i = 0; i < COUNT; i++) {
            char id[16];
            (void)snprintf(id, sizeof id, "e%d", i);
            const struct event_spec spec = {
                .payload = value_int(1),
                .id = value_text_new(id),
                .session = value_text_new("s"),
                .known = true,
            };
            EXPECT_EQ(events_send(act.kit.sched, act.stream, &spec, NULL),
                      ERR_OK);
            value_unref(spec.id);
            value_unref(spec.session);
            for (int again = 0; again < 3; again++) {
                kit_idle(&act.kit);
                replica_pump(&act.kit.replica);
            }
            before = i == 3 ? act.kit.space->entities.count : before;
        }
        EXPECT_EQ(events_counters(act.kit.sched)->done, COUNT);
        EXPECT_EQ(act.kit.space->entities.count, before);
        end(&act);
    }
}

TEST(an_event_is_done_when_the_store_says_so)
{
    struct act act = {0};
    kit_begin_with_store(&act.kit, true);
    begin(&act, NULL);
    kit_pump(&act.kit);
    send(&act, 7, NULL);
    kit_idle(&act.kit);
    EXPECT_TEXT(buf_text(&act.handled), "7 ");
    EXPECT_TEXT(buf_text(&act.ended), "");
    EXPECT(sched_is_idle(act.kit.sched));
    EXPECT(!sched_is_settled(act.kit.sched));
    kit_pump(&act.kit);
    kit_idle(&act.kit);
    EXPECT_TEXT(buf_text(&act.ended), "done OK 7; ");
    EXPECT(sched_is_settled(act.kit.sched));
    end(&act);
}

TEST(an_event_without_a_handler_is_dropped)
{
    struct act act = {0};
    kit_begin(&act.kit);
    begin(&act, NULL);
    events_cancel(act.kit.sched, act.handler);
    send(&act, 7, NULL);
    EXPECT_TEXT(buf_text(&act.ended), "");
    kit_idle(&act.kit);
    EXPECT_TEXT(buf_text(&act.ended), "dropped NO_HANDLER -1; ");
    end(&act);
}

TEST(why_names_the_handler_and_the_event)
{
    struct act act = {0};
    kit_begin(&act.kit);
    begin(&act, NULL);
    struct kit_node *e = kit_see(&act.kit, "E", "r");
    kit_idle(&act.kit);
    send(&act, 1, NULL);
    send(&act, 2, NULL);
    kit_idle(&act.kit);
    const struct sched *sched = act.kit.sched;
    const struct run_record *run = introspection_last_run(sched, e->node);
    const struct run_record *behind = introspection_run_of_change(
        sched,
        introspection_change(sched, run->causes[0].version));
    EXPECT(behind->kind == NODE_HANDLER);
    EXPECT(value_is_text(behind->name, "H"));
    EXPECT_EQ(behind->event, 2);
    end(&act);
}
