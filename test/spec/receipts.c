/* RCPT: at most one commit per event id, anywhere and ever (I11); PCND and H:
 * the preconditions of commits, as far as a runtime sees them. The engine's
 * part is in test/unit/store/test_preconditions.c. */

#include <stdio.h>
#include <string.h>

#include "lib/event_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"
#include "value/id.h"
#include "value/schema.h"

/* The receipt of what was sent, as the store has it. */
static const char *receipt_stored(struct scene_sent *sent)
{
    return scene_stored(sent->on, buf_text(&sent->receipt_id));
}

static enum run_result return_number(struct handling *handling,
                                     struct scene_handler *handler)
{
    char json[48];
    (void)snprintf(json,
                   sizeof json,
                   "{'n':%lld,'ok':true}",
                   (long long)handler_payload(handling));
    handling_return_adopt(handling, from_quoted(json));
    return handle_store(handling, handler);
}

/* -- One runtime ----------------------------------------------------------- */

static void note_receipt(void *ctx, const struct event_notice *notice)
{
    struct buf *id = ctx;
    if (notice->moment == EVENT_SENT) {
        const struct value receipt = event_receipt_id(notice->event);
        const struct text text = value_text(&receipt);
        buf_clear(id);
        buf_append(id, text.at, text.length);
        value_unref(receipt);
    }
}

/* The digests of the payloads 1 and 42. */
#define DIGEST_1  "1hIISY1k8m7yFhpHHHIWx5zECG9Hqa3aVM4VAtbnSnI"
#define DIGEST_42 "rYk8yO-jaTf9PY3xdqO6u3InBPN9kdGtOVCD2_LBqv4"

/* What was refused leaves everything as it was, also the readers. */
TEST(rcpt_04_a_redelivery_disturbs_nobody)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    struct sched_kit *kit = &on.kit;
    kit_set_all(kit, "state=0");
    kit_computation(kit, "C", "state -> derived", kit_fn_times, 2);
    struct kit_node *e = kit_see(kit, "E", "derived");
    struct scene_handler *h =
        scene_on(&on, "H", "s", "-> state", handle_store, 0);
    EXPECT_IDLE(kit);
    scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT_GET(kit, "derived", "2");
    scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    scene_send_as(&on, "s", "x", "2");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 3);
    EXPECT_GET(kit, "derived", "2");
    kit_set(kit, "state", "3");
    EXPECT_SETTLED(&on);
    EXPECT_GET(kit, "derived", "6");
    EXPECT_TEXT(scene_stored(&on, "derived"), "{'value':6}");
    EXPECT_SEEN(e, "0 2 6");
    EXPECT_TEXT(scene_ended(&on),
                "1 done; 1 dropped RECEIPT_EXISTS; "
                "2 failed IDEMPOTENCY_MISMATCH;");
    scene_end(&on);
}

/* V6: a receipt as versions before wrote it. */
TEST(a_receipt_without_a_digest_answers_any_payload)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    struct scene_handler *h = scene_on(&on, "H", "s", "-> r", handle_store, 0);
    struct buf id = {0};
    struct buf set = {0};
    events_listen(on.kit.sched, note_receipt, &id);
    struct scene_sent *sent = scene_send_as(&on, "s", "x", "1");
    buf_printf(&set, "%s=7", buf_text(&id));
    kit_set_all(&on.kit, buf_text(&set));
    EXPECT_SETTLED(&on);
    EXPECT_END(sent, "dropped RECEIPT_EXISTS");
    EXPECT_TEXT(buf_text(&sent->receipt), "7");
    EXPECT_EQ(h->runs, 1);
    EXPECT_TEXT(scene_stored(&on, "r"), "(absent)");
    buf_release(&set);
    buf_release(&id);
    scene_end(&on);
}

TEST(rcpt_08_a_duplicate_without_a_write)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    kit_set_all(&on.kit, "flag=false");
    struct scene_handler *h =
        scene_on(&on, "H", "s", "-> flag", handle_store, 0);
    scene_send_as(&on, "s", "x", "true");
    scene_send_as(&on, "s", "x", "true");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 2);
    EXPECT_TEXT(scene_stored(&on, "flag"), "{'value':true}");
    EXPECT_TEXT(scene_ended(&on), "true done; true dropped RECEIPT_EXISTS;");
    EXPECT_EQ(scene_counters(&on)->duplicates, 1);
    EXPECT_EQ(on.kit.error_count, 0); /* silent, but for its sender */
    scene_end(&on);
}

TEST(rcpt_09_both_senders_get_the_same_receipt)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    scene_on(&on, "H", "s", "-> r", handle_store, 0);
    struct buf derived = {0};
    events_listen(on.kit.sched, note_receipt, &derived);
    struct scene_sent *first = scene_send_as(&on, "s", "x", "1");
    struct scene_sent *second = scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT_END(first, "done");
    EXPECT_END(second, "dropped RECEIPT_EXISTS");
    EXPECT_TEXT(buf_text(&second->receipt_id), buf_text(&first->receipt_id));
    EXPECT_TEXT(buf_text(&derived), buf_text(&first->receipt_id));
    EXPECT_TEXT(receipt_stored(first),
                "{'payloadDigest':'" DIGEST_1 "','stream':'s','value':{}}");
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':1}");
    buf_release(&derived);
    scene_end(&on);
}

/* What the store is given in a row lies in a row there. */
TEST(receipts_of_a_stream_sort_as_they_were_made)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    scene_on(&on, "H", "s", "-> r", handle_store, 0);
    scene_on(&on, "H", "t", "-> r", handle_store, 0);
    char last[96] = "";
    for (unsigned i = 0; i < 120; i++) {
        struct scene_sent *sent = scene_send(&on, "s", "1");
        struct scene_sent *other = scene_send(&on, "t", "1");
        EXPECT_SETTLED(&on);
        EXPECT(strcmp(buf_text(&sent->receipt_id), last) > 0);
        EXPECT(strncmp(buf_text(&sent->receipt_id),
                       buf_text(&other->receipt_id),
                       strlen("receipt:") + 24) != 0);
        (void)snprintf(last, sizeof last, "%s", buf_text(&sent->receipt_id));
    }
    EXPECT(strlen(last) < 51); /* a digest would be that long */
    scene_end(&on);
}

static void note_follows(void *ctx, const struct event_notice *notice)
{
    if (notice->moment == EVENT_SENT) {
        const struct value id = event_id(notice->event);
        const struct value want = id_of_cause("receipt:", id);
        const struct value receipt = event_receipt_id(notice->event);
        *(bool *)ctx = value_equal(want, receipt);
        value_unref(id);
        value_unref(want);
        value_unref(receipt);
    }
}

/* It may be sent again after years, to another version of this program. */
TEST(the_receipt_of_a_caller_is_a_digest_of_his_id)
{
    struct scene on;
    bool follows = false;
    scene_begin(&on, AT_STORE);
    scene_on(&on, "H", "s", "-> r", handle_store, 0);
    events_listen(on.kit.sched, note_follows, &follows);
    struct scene_sent *sent = scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT(follows);
    EXPECT_TEXT(buf_text(&sent->receipt_id),
                "receipt:6c-VahmcjW4AX0GLfN-HsmqfU1tmgEUkQEN1dpMeZxw");
    scene_end(&on);
}

TEST(rcpt_10_streams_that_look_alike)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    kit_set_all(&on.kit, "list=[]");
    scene_on(&on, "H", "s", "-> list", handle_append, 0);
    scene_on(&on, "H", "t", "-> list", handle_append, 0);
    struct scene_sent *first = scene_send_as(&on, "s", "x", "1");
    struct scene_sent *second = scene_send_as(&on, "t", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT_END(first, "done");
    EXPECT_END(second, "done");
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[1,1]}");
    EXPECT(strcmp(buf_text(&first->receipt_id),
                  buf_text(&second->receipt_id)) != 0);
    scene_end(&on);
}

TEST(rcpt_11_callers_who_use_the_same_name)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    kit_set_all(&on.kit, "list=[]");
    scene_on(&on, "H", "s", "-> list", handle_append, 0);
    struct scene_sent *first = scene_send_as(&on, "s", "x", "1");
    const struct scene_sending sending = {
        .payload = "2",
        .id = "x",
        .session = "another caller",
    };
    struct scene_sent *second = scene_send_with(&on, "s", &sending);
    struct scene_sent *minted = scene_send(&on, "s", "3");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_ended(&on), "1 done; 2 done; 3 done;");
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[1,2,3]}");
    EXPECT(strcmp(buf_text(&first->receipt_id),
                  buf_text(&second->receipt_id)) != 0);
    EXPECT(strcmp(buf_text(&first->receipt_id),
                  buf_text(&minted->receipt_id)) != 0);
    scene_end(&on);
}

/* H05: also what writes nothing is a commit, and happens once. */
TEST(rcpt_12_a_receipt_of_nothing)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    scene_on(&on, "H", "s", "", handle_nothing, 0);
    struct scene_sent *sent = scene_send_as(&on, "s", "x", "1");
    struct scene_sent *again = scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT_END(sent, "done");
    EXPECT_TEXT(buf_text(&sent->receipt), "{}");
    EXPECT_TEXT(receipt_stored(sent),
                "{'payloadDigest':'" DIGEST_1 "','stream':'s','value':{}}");
    EXPECT_END(again, "dropped RECEIPT_EXISTS");
    scene_end(&on);
}

TEST(rcpt_13_a_receipt_holds_what_the_first_handling_returned)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    scene_on(&on, "H", "s", "-> r", return_number, 0);
    scene_on(&on, "G", "t", "", handle_nothing, 0);
    struct scene_sent *first = scene_send_as(&on, "s", "x", "42");
    EXPECT_SETTLED(&on);
    struct scene_sent *again = scene_send_as(&on, "s", "x", "42");
    struct scene_sent *other = scene_send_as(&on, "t", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(buf_text(&first->receipt), "{'n':42,'ok':true}");
    EXPECT_TEXT(buf_text(&again->receipt), "{'n':42,'ok':true}");
    EXPECT_TEXT(receipt_stored(first),
                "{'payloadDigest':'" DIGEST_42
                "','stream':'s','value':{'n':42,'ok':true}}");
    EXPECT_TEXT(buf_text(&other->receipt), "{}");
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':42}");
    scene_end(&on);
}

static void begin_without(struct scene *on)
{
    scene_begin(on, AT_STORE_HELD);
    struct events_policy policy = events_policy();
    policy.no_receipts = true;
    scene_policy(on, &policy);
}

TEST(rcpt_14_without_receipts_everything_counts)
{
    struct scene on;
    begin_without(&on);
    kit_set_all(&on.kit, "total=0");
    scene_on(&on, "H", "s", "-> total", handle_count, 0);
    scene_send_as(&on, "s", "x", "5");
    EXPECT_SETTLED(&on);
    scene_send_as(&on, "s", "x", "5");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_stored(&on, "total"), "{'value':10}");
    EXPECT_TEXT(scene_ended(&on), "5 done; 5 done;");
    scene_end(&on);
}

TEST(rcpt_15_and_has_no_address)
{
    struct scene on;
    begin_without(&on);
    scene_on(&on, "H", "s", "-> r", return_number, 0);
    struct scene_sent *sent = scene_send_as(&on, "s", "x", "5");
    EXPECT_SETTLED(&on);
    EXPECT_END(sent, "done");
    EXPECT_TEXT(buf_text(&sent->receipt_id), "()");
    scene_end(&on);
}

static void stream_schema(struct scene *on, const char *json, bool fills)
{
    struct place *place = kit_place(&on->kit, "s");
    struct schema *schema;
    const struct value source = from_quoted(json);
    EXPECT_EQ(schema_new(source, &schema, NULL), ERR_OK);
    events_set_schema(events_stream(on->kit.sched, place), schema, fills);
    schema_unref(schema);
    value_unref(source);
    place_unref(place);
}

/* receipt-7: it fails like a handler that throws, and spends nothing. */
TEST(rcpt_16_a_payload_that_does_not_fit_fails_and_does_not_spend_the_id)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    kit_set_all(&on.kit, "list=[]");
    stream_schema(&on,
                  "{'type':'object','properties':{'n':{'type':'integer'}},"
                  "'additionalProperties':false}",
                  false);
    struct scene_handler *h =
        scene_on(&on, "H", "s", "-> list", handle_append, 0);
    struct scene_sent *bad = scene_send_as(&on, "s", "x", "{'n':'one'}");
    struct scene_sent *worse = scene_send(&on, "s", "{'n':1,'m':2}");
    EXPECT_SETTLED(&on);
    EXPECT_END(bad, "failed SCHEMA");
    EXPECT_TEXT(bad->error.text,
                "the payload at /n: must be integer, not string");
    EXPECT_TEXT(worse->error.text, "the payload at /m: must be absent");
    EXPECT_SEEN(h, "");
    EXPECT_CONTAINS(kit_errors(&on.kit), "H SCHEMA");
    EXPECT_TEXT(receipt_stored(bad), "(absent)");
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[]}");
    /* The same id, made right, is handled; once. */
    struct scene_sent *good = scene_send_as(&on, "s", "x", "{'n':1}");
    EXPECT_SETTLED(&on);
    EXPECT_END(good, "done");
    EXPECT_TEXT(buf_text(&good->receipt_id), buf_text(&bad->receipt_id));
    struct scene_sent *again = scene_send_as(&on, "s", "x", "{'n':1}");
    EXPECT_SETTLED(&on);
    EXPECT_END(again, "dropped RECEIPT_EXISTS");
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[{'n':1}]}");
    scene_end(&on);
}

TEST(rcpt_16_a_payload_is_filled_before_the_handler_sees_it)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    stream_schema(&on,
                  "{'required':['n'],'properties':{'n':{'default':7}}}",
                  true);
    struct scene_handler *h = scene_on(&on, "H", "s", "", handle_nothing, 0);
    struct scene_sent *sent = scene_send(&on, "s", "{'m':1}");
    EXPECT_SETTLED(&on);
    EXPECT_END(sent, "done");
    EXPECT_SEEN(h, "{'m':1,'n':7}");
    scene_end(&on);
}

TEST(rcpt_16_an_event_without_a_payload)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    struct scene_handler *h = scene_on(&on, "H", "s", "", handle_nothing, 0);
    const struct scene_sending nothing = {.payload = NULL};
    struct scene_sent *sent = scene_send_with(&on, "s", &nothing);
    EXPECT_SETTLED(&on);
    EXPECT_SEEN(h, "null");
    EXPECT_END(sent, "done");
    EXPECT_TEXT(buf_text(&sent->receipt), "{}");
    scene_end(&on);
}

static void count_call(void *ctx)
{
    ++*(unsigned *)ctx;
}

static enum run_result navigate(struct handling *handling,
                                struct scene_handler *handler)
{
    lineage_after_landing(handling->sched,
                          handling_transaction(handling),
                          count_call,
                          handler->ctx);
    return RUN_DONE;
}

TEST(rcpt_18_what_waits_for_the_landing_happens_once)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    unsigned navigations = 0;
    const struct scene_handler_spec spec = {
        .stream = "s",
        .fn = navigate,
        .ctx = &navigations,
    };
    struct scene_handler *h = scene_handle(&on, "H", &spec);
    scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(navigations, 1);
    scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 2);
    EXPECT_EQ(navigations, 1);
    scene_end(&on);
}

/* Who asks for it is not run only to be told that he is late. */
TEST(what_is_known_to_be_done_is_not_done_again)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    struct scene_handler *h = scene_on(&on, "H", "s", "", return_number, 0);
    const struct scene_sending sending = {
        .payload = "42",
        .id = "x",
        .session = "caller",
        .known = true,
    };
    scene_send_with(&on, "s", &sending);
    EXPECT_SETTLED(&on);
    struct scene_sent *again = scene_send_with(&on, "s", &sending);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 1);
    EXPECT_END(again, "dropped RECEIPT_EXISTS");
    EXPECT_TEXT(buf_text(&again->receipt), "{'n':42,'ok':true}");
    EXPECT_EQ(again->attempts, 0);
    scene_end(&on);
}

/* -- Two runtimes ---------------------------------------------------------- */

/* H03: whoever is later gets what the other one returned. */
TEST(h03_two_runtimes_handle_one_event)
{
    struct scene on;
    struct scene beside;
    scene_begin(&on, AT_STORE_HELD);
    scene_begin_beside(&beside, &on, "second", AT_STORE_HELD);
    kit_set_all(&on.kit, "list=[]");
    scene_pump(&on);
    scene_on(&on, "H", "s", "-> list", handle_append, 0);
    scene_on(&beside, "H", "s", "-> list", handle_append, 0);
    struct scene_sent *here = scene_send_as(&on, "s", "x", "1");
    struct scene_sent *there = scene_send_as(&beside, "s", "x", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_IDLE(&beside.kit);
    EXPECT_SETTLED(&on);
    EXPECT_SETTLED(&beside);
    EXPECT_END(here, "done");
    EXPECT_END(there, "dropped RECEIPT_EXISTS");
    EXPECT_EQ(there->attempts, 1);
    EXPECT_TEXT(scene_stored(&on, "list"), "{'value':[1]}");
    EXPECT_GET(&beside.kit, "list", "[1]");
    scene_end(&beside);
    scene_end(&on);
}

TEST(pcnd_08_the_reason_and_the_receipt_cross_the_wire)
{
    struct scene on;
    struct scene beside;
    scene_begin(&on, AT_STORE_HELD);
    scene_begin_beside(&beside, &on, "second", AT_STORE_HELD);
    scene_on(&on, "H", "s", "-> r", return_number, 0);
    scene_on(&beside, "H", "s", "-> r", return_number, 0);
    scene_send_as(&on, "s", "x", "42");
    EXPECT_SETTLED(&on);
    struct scene_sent *there = scene_send_as(&beside, "s", "x", "42");
    struct scene_sent *other = scene_send_as(&beside, "s", "x", "99");
    EXPECT_SETTLED(&beside);
    EXPECT_END(there, "dropped RECEIPT_EXISTS");
    EXPECT_TEXT(buf_text(&there->receipt), "{'n':42,'ok':true}");
    EXPECT_END(other, "failed IDEMPOTENCY_MISMATCH");
    EXPECT_GET(&beside.kit, "r", "42");
    scene_end(&beside);
    scene_end(&on);
}

/* H12: the handling has read what is old as well, but there is no use in
 * reading again. */
TEST(h12_a_receipt_is_an_answer_before_a_conflict)
{
    struct scene on;
    struct scene beside;
    scene_begin(&on, AT_STORE);
    scene_begin_beside(&beside, &on, "second", AT_STORE_HELD);
    kit_set_all(&on.kit, "n=0");
    scene_on(&on, "H", "s", "n -> n", handle_count, 0);
    struct scene_handler *g =
        scene_on(&beside, "H", "s", "n -> n", handle_count, 0);
    struct scene_sent *there = scene_send_as(&beside, "s", "x", "5");
    EXPECT(!kit_idle(&beside.kit));
    scene_pump(&beside); /* n has come */
    EXPECT_IDLE(&beside.kit);
    EXPECT_EQ(g->runs, 1);
    scene_send_as(&on, "s", "x", "5"); /* is faster */
    EXPECT_SETTLED(&on);
    EXPECT_SETTLED(&beside);
    EXPECT_END(there, "dropped RECEIPT_EXISTS");
    EXPECT_EQ(there->attempts, 1);
    EXPECT_EQ(scene_counters(&beside)->retries, 0);
    EXPECT_TEXT(scene_stored(&on, "n"), "{'value':5}");
    scene_end(&beside);
    scene_end(&on);
}

/* H08: the answer was lost; what is sent again is known, and not refused as
 * its own duplicate. */
TEST(h08_a_commit_that_is_sent_again)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_on(&on, "H", "s", "-> r", handle_store, 0);
    struct scene_sent *sent = scene_send_as(&on, "s", "x", "1");
    EXPECT_IDLE(&on.kit);
    replica_pump(&on.kit.replica);
    struct hub_link *link = &on.links[0]->link;
    for (unsigned i = 0; i < 2; i++) {
        hub_link_pump_to_session(link);
        hub_link_pump_to_hub(link);
    }
    EXPECT_TEXT(scene_stored(&on, "r"), "{'value':1}");
    hub_link_break(link);
    EXPECT_SETTLED(&on);
    EXPECT_END(sent, "done");
    EXPECT_EQ(sent->attempts, 1);
    scene_end(&on);
}

/* The receipt of an event that somebody will send, who is not there yet. */
static void foresee_receipt(struct scene *on, struct buf *id)
{
    struct scene elsewhere;
    scene_begin(&elsewhere, AT_HOME);
    scene_on(&elsewhere, "H", "s", "", handle_nothing, 0);
    struct scene_sent *sent = scene_send_as(&elsewhere, "s", "x", "1");
    EXPECT_IDLE(&elsewhere.kit);
    buf_append(id, sent->receipt_id.at, sent->receipt_id.length);
    scene_end(&elsewhere);
    scene_begin(on, AT_STORE_HELD);
    scene_on(on, "H", "s", "-> r", handle_store, 0);
}

static void expect_spent(struct scene *on)
{
    struct scene_sent *sent = scene_send_as(on, "s", "x", "1");
    EXPECT_SETTLED(on);
    EXPECT_END(sent, "dropped RECEIPT_EXISTS");
    EXPECT_TEXT(scene_stored(on, "r"), "(absent)");
}

static void land(struct scene *on,
                 const char *before,
                 const struct buf *id,
                 const char *after)
{
    struct buf operation = {0};
    buf_printf(&operation, "%s %s%s", before, buf_text(id), after);
    scene_elsewhere(on, buf_text(&operation));
    buf_release(&operation);
}

/* H04: a receipt that was deleted has been there. */
TEST(h04_a_receipt_that_was_deleted)
{
    struct scene on;
    struct buf id = {0};
    foresee_receipt(&on, &id);
    land(&on, "set", &id, " {}");
    land(&on, "delete", &id, "");
    expect_spent(&on);
    buf_release(&id);
    scene_end(&on);
}

/* H13: and one that came to be by a patch as well. */
TEST(h13_a_receipt_that_a_patch_made)
{
    struct scene on;
    struct buf id = {0};
    foresee_receipt(&on, &id);
    land(&on, "patch", &id, " [{'op':'add','path':'/value','value':1}]");
    expect_spent(&on);
    buf_release(&id);
    scene_end(&on);
}

/* -- Conditions without events --------------------------------------------- */

static enum err create(struct scene *on, bool only, const char *name)
{
    struct transaction *transaction = transaction_begin(&on->kit.replica, NULL);
    struct place *place = kit_place(&on->kit, name);
    struct place *beside = kit_place(&on->kit, "beside");
    if (only) {
        transaction_create_only(transaction, place->entity);
    }
    EXPECT_EQ(transaction_put_adopt(transaction, place, value_int(7), NULL),
              ERR_OK);
    EXPECT_EQ(transaction_put_adopt(transaction, beside, value_int(7), NULL),
              ERR_OK);
    const enum err err = transaction_commit(transaction, NULL);
    transaction_release(transaction);
    place_unref(place);
    place_unref(beside);
    return err;
}

TEST(pcnd_03_a_document_that_must_be_new)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_elsewhere(&on, "set old 1");
    EXPECT_EQ(create(&on, true, "old"), ERR_OK); /* not known here yet */
    scene_pump(&on);
    EXPECT_TEXT(scene_stored(&on, "old"), "{'value':1}");
    EXPECT_TEXT(scene_stored(&on, "beside"), "(absent)");
    EXPECT_GET(&on.kit, "beside", "()");
    EXPECT_EQ(create(&on, true, "new"), ERR_OK);
    scene_pump(&on);
    EXPECT_TEXT(scene_stored(&on, "new"), "{'value':7}");
    EXPECT_TEXT(scene_stored(&on, "beside"), "{'value':7}");
    scene_end(&on);
}

TEST(pcnd_04_without_the_condition_it_is_overwritten)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_elsewhere(&on, "set old 1");
    EXPECT_EQ(create(&on, false, "old"), ERR_OK);
    scene_pump(&on);
    EXPECT_TEXT(scene_stored(&on, "old"), "{'value':7}");
    scene_end(&on);
}

/* A handling that writes nothing at all, not even a receipt, still has its
 * origin as a condition. */
TEST(pcnd_06_a_condition_is_a_commit)
{
    struct scene on;
    begin_without(&on);
    kit_set_all(&on.kit, "w=0");
    scene_pump(&on);
    struct scene_handler *a =
        scene_on(&on, "HA", "sa", "-> w", handle_forward, 10);
    a->target = "sb";
    struct scene_handler *b = scene_on(&on, "HB", "sb", "", handle_nothing, 0);
    scene_send(&on, "sa", "1");
    EXPECT_IDLE(&on.kit);
    EXPECT_EQ(b->runs, 1);
    EXPECT_END(on.sent.at[1], "waits");
    EXPECT_SETTLED(&on);
    EXPECT_TEXT(scene_ended(&on), "1 done; 11 done;");
    scene_refuse(&on, ERR_LIMIT_SIZE, 1);
    scene_send(&on, "sa", "2");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(b->runs, 2);
    EXPECT_END(on.sent.at[3], "dropped ORIGIN_FAILED");
    scene_end(&on);
}

/* -- Documents that a handling creates ------------------------------------- */

static enum run_result make_two(struct handling *handling,
                                struct scene_handler *handler)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct value id = handling_new_id(handling);
        struct entity *entity = NULL;
        CHECK(
            entity_of(handler->on->kit.space, SCOPE_SPACE, id, &entity, NULL) ==
            ERR_OK);
        buf_append_char(&handler->seen, ' ');
        kit_put_value(&handler->seen, id);
        value_unref(id);
        struct place *place = place_payload(entity);
        EXPECT_EQ(transaction_put_adopt(handling_transaction(handling),
                                        place,
                                        value_int(i),
                                        NULL),
                  ERR_OK);
        place_unref(place);
    }
    return RUN_DONE;
}

/* Their ids follow from that of the event: the next attempt, and another
 * runtime, make the same ones. */
TEST(a_retry_creates_the_same_documents)
{
    struct scene on;
    struct scene other;
    scene_begin(&on, AT_STORE);
    scene_begin(&other, AT_HOME);
    struct scene_handler *h = scene_on(&on, "H", "s", "", make_two, 0);
    struct scene_handler *g = scene_on(&other, "H", "s", "", make_two, 0);
    scene_send_as(&on, "s", "x", "1");
    EXPECT_SETTLED(&on);
    struct buf once = h->seen;
    h->seen = (struct buf){0};
    EXPECT_CONTAINS(buf_text(&once), "'of:");
    scene_send_as(&other, "s", "x", "1");
    EXPECT_IDLE(&other.kit);
    EXPECT_SEEN(g, buf_text(&once));
    /* Another event, and two attempts of it. */
    scene_refuse(&on, ERR_CONFLICT, 1);
    scene_send_as(&on, "s", "y", "1");
    EXPECT_SETTLED(&on);
    const char *seen = buf_text(&h->seen);
    const size_t half = strlen(seen) / 2;
    EXPECT_EQ(h->runs, 3);
    EXPECT(strncmp(seen, seen + half + 1, half) == 0);
    EXPECT(strncmp(seen, buf_text(&once), half) != 0);
    buf_release(&once);
    scene_end(&other);
    scene_end(&on);
}
