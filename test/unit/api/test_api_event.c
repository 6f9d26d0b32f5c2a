/* Handlers, events and tickets through the public header. */

#include "unit/api/fixture.h"

struct desk {
    struct fixture fixture;
    hd_cell *stream;
    hd_cell *list;
    unsigned calls;
    unsigned released;
    hd_status fails;
    unsigned told;
    hd_outcome outcome;
    hd_status sent_again;
    hd_status wrote;
    bool collapses; /* of its handler */
};

/* Appends what came, and answers with how many there are. */
static hd_status take(hd_run *run, void *context)
{
    struct desk *desk = context;
    desk->calls++;
    if (desk->fails != HD_OK) {
        return hd_run_fail(run, desk->fails, "the desk is closed");
    }
    hd_value *payload = NULL;
    size_t count = 0;
    hd_status status = hd_run_payload(run, &payload);
    if (status == HD_OK) {
        status = hd_cell_append(desk->list, payload, NULL);
    }
    if (status == HD_OK) {
        status = hd_cell_count(desk->list, &count, NULL);
    }
    hd_value *answer = NULL;
    if (status == HD_OK) {
        status = hd_value_new_int((int64_t)count, &answer);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, answer);
    }
    hd_value_unref(answer);
    hd_value_unref(payload);
    return status;
}

static void let_go(void *context)
{
    ((struct desk *)context)->released++;
}

static hd_node *desk_handler(struct desk *desk)
{
    const hd_handler_options options = {
        .name = "take",
        .run = take,
        .context = desk,
        .release = let_go,
        .reads = &desk->list,
        .read_count = 1,
        .collapses = desk->collapses,
    };
    hd_node *node = NULL;
    hd_error error;
    EXPECT_INT(hd_handler_new(desk->stream, &options, &node, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    return node;
}

static void desk_cells(struct desk *desk)
{
    desk->stream = cell_of(&desk->fixture, "inbox", NULL);
    desk->list = cell_of(&desk->fixture, "list", NULL);
    set_json(desk->list, "[]");
}

static void desk_open(struct desk *desk, const char *folder)
{
    *desk = (struct desk){0};
    fixture_open(&desk->fixture, folder, 1);
    desk_cells(desk);
}

static void desk_close(struct desk *desk)
{
    hd_cell_free(desk->stream);
    hd_cell_free(desk->list);
    fixture_close(&desk->fixture);
}

static hd_ticket *send_json(struct desk *desk,
                            const char *json,
                            const hd_send_options *options)
{
    hd_value *payload = value_of(json);
    hd_ticket *ticket = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_send(desk->stream, payload, options, &ticket, &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    hd_value_unref(payload);
    return ticket;
}

static void expect_outcome(hd_ticket *ticket, hd_outcome want)
{
    hd_outcome outcome = HD_FAILED;
    EXPECT_INT(hd_ticket_outcome(ticket, &outcome), HD_OK);
    EXPECT_INT(outcome, want);
}

static void expect_receipt(hd_ticket *ticket, const char *json)
{
    hd_value *receipt = NULL;
    EXPECT_INT(hd_ticket_receipt(ticket, &receipt),
               json != NULL ? HD_OK : HD_NOT_FOUND);
    expect_value(receipt, json);
    hd_value_unref(receipt);
}

TEST(an_event_is_handled_and_its_receipt_comes_back)
{
    struct desk desk;
    desk_open(&desk, NULL);
    hd_node *node = desk_handler(&desk);
    hd_ticket *ticket = send_json(&desk, "\"a\"", NULL);
    expect_outcome(ticket, HD_WAITING);
    expect_receipt(ticket, NULL);
    char *id = NULL;
    EXPECT_INT(hd_ticket_id(ticket, &id), HD_NOT_FOUND);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_DONE);
    expect_receipt(ticket, "1");
    EXPECT_INT(hd_ticket_id(ticket, &id), HD_OK);
    EXPECT(strlen(id) > 0);
    hd_text_free(id);
    hd_error error;
    EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
    EXPECT_INT(error.status, HD_OK);
    EXPECT_EQ(error.attempts, 1);
    expect_json(desk.list, "[\"a\"]");
    hd_node_info info;
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_INT(info.kind, HD_HANDLER);
    EXPECT_INT(info.state, HD_CLEAN);
    EXPECT_EQ(info.runs, 1);
    EXPECT_INT(hd_node_invalidate(node), HD_MISUSE);
    EXPECT_INT(hd_node_set_debounce(node, 1), HD_MISUSE);
    EXPECT_INT(hd_node_set_throttle(node, 1), HD_MISUSE);
    hd_ticket_free(ticket);
    hd_node_free(node);
    desk_close(&desk);
    EXPECT_EQ(desk.released, 1);
}

static hd_status count_one(hd_run *run, void *context)
{
    struct desk *desk = context;
    (void)run;
    desk->calls++;
    return hd_cell_set_int(desk->list, (int64_t)desk->calls, NULL);
}

static void send_many(struct desk *desk, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        EXPECT_INT(hd_cell_send(desk->stream, NULL, NULL, NULL, NULL), HD_OK);
        if (i % 100 == 99) {
            fixture_settle(&desk->fixture);
        }
    }
}

/* With a store, its cache of documents knows the receipts, up to a limit. */
TEST(an_event_without_a_name_leaves_nothing_in_memory)
{
    const unsigned count = 1000;
    struct desk desk;
    desk_open(&desk, NULL);
    const hd_handler_options options = {.run = count_one, .context = &desk};
    EXPECT_INT(hd_handler_new(desk.stream, &options, NULL, NULL), HD_OK);
    send_many(&desk, count);
    const uint64_t before = test_blocks_alive();
    send_many(&desk, count);
    const uint64_t stored = desk.fixture.folder[0] != '\0' ? 4 * count : 0;
    EXPECT(test_blocks_alive() <= before + stored + 100);
    EXPECT_EQ(desk.calls, 2 * count);
    desk_close(&desk);
}

static void send_named(struct desk *desk, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "e%u", i);
        const hd_send_options options = {.id = id, .session = "me"};
        EXPECT_INT(hd_cell_send(desk->stream, NULL, &options, NULL, NULL),
                   HD_OK);
        if (i % 100 == 99) {
            fixture_settle(&desk->fixture);
        }
    }
}

/* The store has the receipts: neither the runtime nor what tells it of changes
 * keeps anything. The store's cache of documents knows them, up to a limit. */
TEST(an_event_with_a_name_leaves_its_receipt_in_the_store_alone)
{
    const unsigned count = 1000;
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    const hd_handler_options options = {.run = count_one, .context = &desk};
    EXPECT_INT(hd_handler_new(desk.stream, &options, NULL, NULL), HD_OK);
    send_named(&desk, 0, count);
    const uint64_t before = test_blocks_alive();
    send_named(&desk, count, count);
    EXPECT(test_blocks_alive() <= before + 4 * count + 100);
    EXPECT_EQ(desk.calls, 2 * count);
    send_named(&desk, 0, 2 * count);
    EXPECT_EQ(desk.calls, 2 * count);
    desk_close(&desk);
    kit_folder_remove(folder);
}

TEST(the_same_id_and_session_is_handled_once)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    const hd_send_options options = {.id = "7", .session = "me"};
    hd_node_free(desk_handler(&desk));
    hd_ticket *first = send_json(&desk, "\"a\"", &options);
    fixture_settle(&desk.fixture);
    hd_ticket *again = send_json(&desk, "\"a\"", &options);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[\"a\"]");
    expect_outcome(first, HD_DONE);
    expect_receipt(first, "1");
    expect_outcome(again, HD_DROPPED);
    expect_receipt(again, "1");
    hd_error error;
    EXPECT_INT(hd_ticket_error(again, &error), HD_OK);
    EXPECT_INT(error.status, HD_RECEIPT_EXISTS);
    hd_ticket_free(first);
    hd_ticket_free(again);
    desk_close(&desk);

    /* In the next process, too. */
    desk = (struct desk){0};
    fixture_open(&desk.fixture, folder, 2);
    desk.stream = cell_of(&desk.fixture, "inbox", NULL);
    desk.list = cell_of(&desk.fixture, "list", NULL);
    hd_node_free(desk_handler(&desk));
    again = send_json(&desk, "\"a\"", &options);
    fixture_settle(&desk.fixture);
    expect_receipt(again, "1");
    expect_json(desk.list, "[\"a\"]");
    hd_ticket_free(again);
    desk_close(&desk);
    kit_folder_remove(folder);
}

TEST(the_same_id_with_another_payload_is_refused)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    const hd_send_options options = {.id = "7", .session = "me"};
    hd_node_free(desk_handler(&desk));
    hd_ticket_free(send_json(&desk, "{\"a\":1,\"b\":2}", &options));
    fixture_settle(&desk.fixture);
    desk_close(&desk);

    desk = (struct desk){0};
    fixture_open(&desk.fixture, folder, 2);
    desk.stream = cell_of(&desk.fixture, "inbox", NULL);
    desk.list = cell_of(&desk.fixture, "list", NULL);
    hd_node_free(desk_handler(&desk));
    hd_ticket *other = send_json(&desk, "{\"a\":1,\"b\":3}", &options);
    hd_ticket *equal = send_json(&desk, "{\"b\":2,\"a\":1}", &options);
    fixture_settle(&desk.fixture);
    expect_outcome(other, HD_FAILED);
    hd_error error;
    EXPECT_INT(hd_ticket_error(other, &error), HD_OK);
    EXPECT_INT(error.status, HD_IDEMPOTENCY_MISMATCH);
    EXPECT_INT(error.class_of, HD_CLASS_TERMINAL);
    EXPECT_CONTAINS(error.text, "sent before with another payload (digest ");
    EXPECT_CONTAINS(error.text, "): send it with an id of its own");
    EXPECT_INT(desk.fixture.reported.status, HD_IDEMPOTENCY_MISMATCH);
    EXPECT_EQ(desk.fixture.reports, 1);
    expect_outcome(equal, HD_DROPPED);
    expect_receipt(equal, "1");
    expect_json(desk.list, "[{\"a\":1,\"b\":2}]");
    hd_ticket_free(other);
    hd_ticket_free(equal);
    desk_close(&desk);
    kit_folder_remove(folder);
}

TEST(a_handler_that_fails_fails_its_event)
{
    struct desk desk;
    desk_open(&desk, NULL);
    desk.fails = HD_RANGE;
    hd_node_free(desk_handler(&desk));
    hd_ticket *ticket = send_json(&desk, "1", NULL);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_FAILED);
    hd_error error;
    EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
    EXPECT_INT(error.status, HD_RANGE);
    EXPECT_TEXT(error.text, "the desk is closed");
    EXPECT_EQ(error.attempts, 1);
    EXPECT_EQ(desk.calls, 1);
    expect_json(desk.list, "[]");
    hd_ticket_free(ticket);
    desk_close(&desk);
}

TEST(a_stream_has_one_handler)
{
    struct desk desk;
    desk_open(&desk, NULL);
    hd_node *node = desk_handler(&desk);
    hd_handler_options options = {
        .run = take,
        .context = &desk,
        .release = let_go,
    };
    hd_error error;
    EXPECT_INT(hd_handler_new(desk.stream, &options, NULL, &error),
               HD_HANDLER_EXISTS);
    EXPECT_TEXT(error.address, "main/inbox#");
    EXPECT_EQ(desk.released, 1);
    options.replace = true;
    hd_node *other = NULL;
    EXPECT_INT(hd_handler_new(desk.stream, &options, &other, &error), HD_OK);
    EXPECT_EQ(desk.released, 2);
    hd_node_info info;
    EXPECT_INT(hd_node_look(node, &info), HD_OK);
    EXPECT_INT(info.state, HD_REMOVED);
    EXPECT_INT(hd_node_remove(node), HD_CLOSED);
    EXPECT_INT(hd_node_remove(other), HD_OK);
    EXPECT_EQ(desk.released, 3);
    hd_ticket *ticket = send_json(&desk, "1", NULL);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_DROPPED);
    EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
    EXPECT_INT(error.status, HD_NO_HANDLER);
    hd_ticket_free(ticket);
    hd_node_free(other);
    hd_node_free(node);
    desk_close(&desk);
}

TEST(the_backlog_is_bounded)
{
    struct desk desk = {.fixture = {.now = 1000}};
    hd_runtime_options options = fixture_options(&desk.fixture);
    options.backlog = 2;
    fixture_open_with(&desk.fixture, &options);
    desk_cells(&desk);
    hd_node_free(desk_handler(&desk));
    hd_ticket_free(send_json(&desk, "1", NULL));
    hd_ticket_free(send_json(&desk, "2", NULL));
    hd_error error;
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_cell_send(desk.stream, NULL, NULL, &ticket, &error),
               HD_BACKLOG);
    EXPECT(ticket == NULL);
    EXPECT_EQ(error.limit, 2);
    EXPECT_INT(error.class_of, HD_CLASS_RETRY);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[1,2]");
    EXPECT_INT(hd_cell_send(desk.stream, NULL, NULL, NULL, &error), HD_OK);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[1,2,null]");
    desk_close(&desk);
}

static hd_status send_three(hd_run *run, void *context)
{
    struct desk *desk = context;
    (void)run;
    hd_status last = HD_OK;
    for (int i = 0; i < 3; i++) {
        last = hd_cell_send(desk->stream, NULL, NULL, NULL, NULL);
    }
    EXPECT_INT(last, HD_BACKLOG);
    return hd_cell_set_int(desk->list, 3, NULL); /* as if nothing were wrong */
}

TEST(a_handler_with_a_refused_send_fails_as_a_whole)
{
    struct desk desk = {.fixture = {.now = 1000}};
    hd_runtime_options options = fixture_options(&desk.fixture);
    options.backlog = 2;
    fixture_open_with(&desk.fixture, &options);
    desk_cells(&desk);
    hd_node_free(desk_handler(&desk));
    hd_cell *other = cell_of(&desk.fixture, "other", NULL);
    const hd_handler_options handler = {.run = send_three, .context = &desk};
    EXPECT_INT(hd_handler_new(other, &handler, NULL, NULL), HD_OK);
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_cell_send(other, NULL, NULL, &ticket, NULL), HD_OK);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_FAILED);
    hd_error error;
    EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
    EXPECT_INT(error.status, HD_BACKLOG);
    EXPECT_CONTAINS(error.text, "2 events wait, which is the limit");
    EXPECT_INT(desk.fixture.reported.status, HD_BACKLOG);
    EXPECT_EQ(desk.calls, 0);
    expect_json(desk.list, "[]");
    hd_ticket_free(ticket);
    hd_cell_free(other);
    desk_close(&desk);
}

TEST(a_stream_that_asks_for_it_keeps_the_last_of_too_many)
{
    struct desk desk = {.fixture = {.now = 1000}};
    hd_runtime_options options = fixture_options(&desk.fixture);
    options.backlog = 2;
    fixture_open_with(&desk.fixture, &options);
    desk_cells(&desk);
    desk.collapses = true;
    hd_node_free(desk_handler(&desk));
    hd_ticket *tickets[4];
    for (int i = 0; i < 4; i++) {
        const char json[] = {(char)('1' + i), '\0'};
        tickets[i] = send_json(&desk, json, NULL);
    }
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[1,4]");
    for (int i = 0; i < 4; i++) {
        expect_outcome(tickets[i], HD_DONE);
        hd_ticket_free(tickets[i]);
    }
    desk_close(&desk);
}

/* -- Being told ---------------------------------------------------------- */

static void told(void *context, hd_ticket *ticket)
{
    struct desk *desk = context;
    desk->told++;
    EXPECT_INT(hd_ticket_outcome(ticket, &desk->outcome), HD_OK);
    if (desk->told == 1) {
        desk->sent_again = hd_cell_send(desk->stream, NULL, NULL, NULL, NULL);
        desk->wrote = hd_cell_set_int(desk->list, 1, NULL);
        EXPECT_INT(hd_runtime_step(desk->fixture.runtime, HD_NOW, NULL),
                   HD_MISUSE);
        EXPECT_INT(hd_runtime_close(desk->fixture.runtime, HD_NOW, NULL),
                   HD_MISUSE);
        hd_runtime_free(desk->fixture.runtime); /* does nothing */
    }
}

TEST(the_sender_is_told_once)
{
    struct desk desk;
    desk_open(&desk, NULL);
    hd_node_free(desk_handler(&desk));
    const hd_send_options options = {.done = told, .context = &desk};
    hd_ticket_free(send_json(&desk, "1", &options));
    fixture_settle(&desk.fixture);
    EXPECT_EQ(desk.told, 1);
    EXPECT_INT(desk.outcome, HD_DONE);
    EXPECT_INT(desk.sent_again, HD_OK);
    EXPECT_INT(desk.wrote, HD_MISUSE);
    expect_json(desk.list, "[1,null]");
    desk_close(&desk);
}

TEST(nobody_is_told_of_an_event_that_the_end_cuts_off)
{
    struct desk desk;
    desk_open(&desk, NULL);
    hd_node_free(desk_handler(&desk));
    const hd_send_options options = {.done = told, .context = &desk};
    hd_ticket *ticket = send_json(&desk, "1", &options);
    EXPECT_INT(hd_runtime_close(desk.fixture.runtime, HD_NOW, NULL), HD_OK);
    EXPECT_EQ(desk.told, 0);
    hd_error error;
    EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
    EXPECT_INT(error.status, HD_CLOSED);
    hd_outcome outcome = HD_WAITING;
    EXPECT_INT(hd_ticket_outcome(ticket, &outcome), HD_OK);
    EXPECT(outcome == HD_DROPPED || outcome == HD_FAILED);
    hd_ticket_free(ticket);
    desk_close(&desk);
}

/* -- Inside a transaction ------------------------------------------------ */

struct relay {
    struct desk *desk;
    hd_status returns;
    uint32_t attempt;
    char *document;
};

static hd_status relay(hd_run *run, void *context)
{
    struct relay *all = context;
    EXPECT_INT(hd_run_attempt(run, &all->attempt), HD_OK);
    hd_text_free(all->document);
    EXPECT_INT(hd_run_new_document(run, &all->document), HD_OK);
    hd_value *payload = NULL;
    EXPECT_INT(hd_run_payload(run, &payload), HD_OK);
    EXPECT_INT(hd_cell_send(all->desk->stream, payload, NULL, NULL, NULL),
               HD_OK);
    hd_value_unref(payload);
    return all->returns;
}

static hd_status send_in_edit(hd_runtime *runtime, void *context)
{
    (void)runtime;
    const struct relay *all = context;
    EXPECT_INT(hd_cell_send(all->desk->stream, NULL, NULL, NULL, NULL), HD_OK);
    const hd_status status = hd_cell_set_int(all->desk->stream, 1, NULL);
    return status != HD_OK ? status : all->returns;
}

TEST(what_a_transaction_sends_lives_and_dies_with_it)
{
    struct desk desk;
    desk_open(&desk, NULL);
    hd_node_free(desk_handler(&desk));
    struct relay all = {.desk = &desk};
    hd_cell *first = cell_of(&desk.fixture, "first", NULL);
    const hd_handler_options options = {.run = relay, .context = &all};
    EXPECT_INT(hd_handler_new(first, &options, NULL, NULL), HD_OK);
    hd_value *payload = value_of("5");
    EXPECT_INT(hd_cell_send(first, payload, NULL, NULL, NULL), HD_OK);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[5]");
    EXPECT_EQ(all.attempt, 1);
    EXPECT_CONTAINS(all.document, "of:");
    all.returns = HD_RANGE;
    EXPECT_INT(hd_cell_send(first, payload, NULL, NULL, NULL), HD_OK);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[5]");
    hd_value_unref(payload);

    EXPECT_INT(hd_runtime_edit(desk.fixture.runtime, send_in_edit, &all, NULL),
               HD_RANGE);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[5]");
    all.returns = HD_OK;
    EXPECT_INT(hd_runtime_edit(desk.fixture.runtime, send_in_edit, &all, NULL),
               HD_OK);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[5,null]");
    hd_text_free(all.document);
    hd_cell_free(first);
    desk_close(&desk);
}

/* -- The gate ------------------------------------------------------------ */

struct total {
    struct desk *desk;
    hd_cell *a;
    hd_cell *out;
    unsigned calls;
    int64_t seen;
};

static hd_status compute(hd_run *run, void *context)
{
    (void)run;
    struct total *total = context;
    total->calls++;
    int64_t a = 0;
    const hd_status status = hd_cell_get_int(total->a, &a, NULL);
    return status != HD_OK ? status : hd_cell_set_int(total->out, a * 10, NULL);
}

static hd_status read_total(hd_run *run, void *context)
{
    (void)run;
    struct total *total = context;
    return hd_cell_get_int(total->out, &total->seen, NULL);
}

TEST(a_handler_sees_what_is_computed_up_to_date)
{
    struct desk desk;
    desk_open(&desk, NULL);
    struct total total = {
        .desk = &desk,
        .a = cell_of(&desk.fixture, "a", NULL),
        .out = cell_of(&desk.fixture, "out", NULL),
    };
    const hd_node_options node = {
        .run = compute,
        .context = &total,
        .writes = &total.out,
        .write_count = 1,
    };
    EXPECT_INT(hd_cell_set_int(total.a, 1, NULL), HD_OK);
    EXPECT_INT(hd_computation_new(desk.fixture.runtime, &node, NULL, NULL),
               HD_OK);
    const hd_handler_options options = {
        .run = read_total,
        .context = &total,
        .reads = &total.out,
        .read_count = 1,
        .pure = true,
    };
    EXPECT_INT(hd_handler_new(desk.stream, &options, NULL, NULL), HD_OK);
    fixture_settle(&desk.fixture);
    EXPECT_EQ(total.calls, 0);
    EXPECT_INT(hd_cell_set_int(total.a, 4, NULL), HD_OK);
    EXPECT_INT(hd_cell_send(desk.stream, NULL, NULL, NULL, NULL), HD_OK);
    fixture_settle(&desk.fixture);
    EXPECT_INT(total.seen, 40);
    EXPECT_EQ(total.calls, 1);
    hd_cell_free(total.out);
    hd_cell_free(total.a);
    desk_close(&desk);
}

TEST(sending_needs_both_names_or_none)
{
    struct desk desk;
    desk_open(&desk, NULL);
    hd_error error;
    const hd_send_options one = {.id = "1"};
    const hd_send_options two = {.session = "1"};
    const hd_send_options bad = {.id = "", .session = "1"};
    EXPECT_INT(hd_cell_send(desk.stream, NULL, &one, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_cell_send(desk.stream, NULL, &two, NULL, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_cell_send(desk.stream, NULL, &bad, NULL, &error),
               HD_ARGUMENT);
    desk_close(&desk);
}

/* -- Durable events ------------------------------------------------------ */

/* Sends three events to the other stream. */
struct triple {
    hd_cell *to;
    unsigned calls;
};

static hd_status send_to_other(hd_run *run, void *context)
{
    struct triple *triple = context;
    (void)run;
    triple->calls++;
    hd_status status = HD_OK;
    for (int64_t i = 1; status == HD_OK && i <= 3; i++) {
        hd_value *payload = NULL;
        status = hd_value_new_int(i, &payload);
        if (status == HD_OK) {
            status = hd_cell_send(triple->to, payload, NULL, NULL, NULL);
        }
        hd_value_unref(payload);
    }
    return status;
}

TEST(events_that_a_handler_sent_are_handled_by_the_next_runtime)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    struct triple triple = {.to = desk.stream};
    hd_cell *first = cell_of(&desk.fixture, "first", NULL);
    const hd_handler_options options = {.run = send_to_other,
                                        .context = &triple};
    hd_node *node = NULL;
    EXPECT_INT(hd_handler_new(first, &options, &node, NULL), HD_OK);
    /* The second handler refuses to work, and then there is none. */
    hd_node *taking = desk_handler(&desk);
    hd_node_remove(taking);
    hd_node_free(taking);
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_cell_send(first, NULL, NULL, &ticket, NULL), HD_OK);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_DONE);
    EXPECT_EQ(desk.fixture.reports, 3);
    EXPECT_INT(desk.fixture.reported.status, HD_NO_HANDLER);
    hd_ticket_free(ticket);
    hd_node_remove(node);
    hd_node_free(node);
    hd_cell_free(first);
    desk_close(&desk);

    struct desk next = {0};
    fixture_open(&next.fixture, folder, 2);
    next.stream = cell_of(&next.fixture, "inbox", NULL);
    next.list = cell_of(&next.fixture, "list", NULL);
    taking = desk_handler(&next);
    fixture_settle(&next.fixture);
    expect_json(next.list, "[1,2,3]");
    EXPECT_EQ(next.calls, 3);
    EXPECT_EQ(triple.calls, 1);
    hd_node_remove(taking);
    hd_node_free(taking);
    desk_close(&next);

    struct desk last = {0};
    fixture_open(&last.fixture, folder, 3);
    last.stream = cell_of(&last.fixture, "inbox", NULL);
    last.list = cell_of(&last.fixture, "list", NULL);
    taking = desk_handler(&last);
    fixture_settle(&last.fixture);
    EXPECT_EQ(last.calls, 0);
    expect_json(last.list, "[1,2,3]");
    hd_node_remove(taking);
    hd_node_free(taking);
    desk_close(&last);
    kit_folder_remove(folder);
}

TEST(a_queued_event_is_on_disk_and_handled_later)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    const hd_send_options queue = {.queue = true};
    hd_ticket *ticket = send_json(&desk, "\"a\"", &queue);
    expect_outcome(ticket, HD_WAITING);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_QUEUED);
    hd_ticket_free(ticket);
    desk_close(&desk);

    struct desk next = {0};
    fixture_open(&next.fixture, folder, 2);
    next.stream = cell_of(&next.fixture, "inbox", NULL);
    next.list = cell_of(&next.fixture, "list", NULL);
    hd_node *node = desk_handler(&next);
    fixture_settle(&next.fixture);
    expect_json(next.list, "[\"a\"]");
    ticket = send_json(&next, "\"b\"", &queue);
    fixture_settle(&next.fixture);
    expect_outcome(ticket, HD_QUEUED);
    hd_ticket_free(ticket);
    fixture_settle(&next.fixture);
    expect_json(next.list, "[\"a\",\"b\"]");
    hd_node_remove(node);
    hd_node_free(node);
    desk_close(&next);
    kit_folder_remove(folder);
}

/* The store refuses the second one, and is asked for the first in the same
 * step: nothing waits until the next look. */
TEST(an_event_that_is_queued_again_ends_with_the_step_that_sends_it)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    const hd_send_options queue = {.queue = true, .id = "1", .session = "me"};
    hd_ticket *ticket = send_json(&desk, "\"a\"", &queue);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_QUEUED);
    hd_ticket_free(ticket);
    desk_close(&desk);

    struct desk next = {0};
    fixture_open(&next.fixture, folder, 2);
    next.stream = cell_of(&next.fixture, "inbox", NULL);
    ticket = send_json(&next, "\"a\"", &queue);
    EXPECT_INT(hd_runtime_step(next.fixture.runtime, HD_NOW, NULL), HD_OK);
    expect_outcome(ticket, HD_DROPPED);
    hd_ticket_free(ticket);
    desk_close(&next);
    kit_folder_remove(folder);
}

/* A write that changes nothing takes in what others have committed. */
TEST(an_event_that_another_runtime_has_queued_is_seen_in_each_look)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    hd_node *node = desk_handler(&desk);
    fixture_settle(&desk.fixture);
    struct desk other = {0};
    fixture_open(&other.fixture, folder, 2);
    other.stream = cell_of(&other.fixture, "inbox", NULL);
    const hd_send_options queue = {.queue = true};
    hd_ticket *ticket = send_json(&other, "\"a\"", &queue);
    fixture_settle(&other.fixture);
    expect_outcome(ticket, HD_QUEUED);
    hd_ticket_free(ticket);
    desk_close(&other);
    set_json(desk.list, "[]");
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[\"a\"]");
    hd_node_remove(node);
    hd_node_free(node);
    desk_close(&desk);
    kit_folder_remove(folder);
}

/* -- Timers -------------------------------------------------------------- */

static void set_timer(struct desk *desk,
                      const char *json,
                      const char *id,
                      const hd_timer_options *timer)
{
    const hd_send_options options = {.id = id, .timer = timer};
    hd_ticket *ticket = send_json(desk, json, &options);
    fixture_settle(&desk->fixture);
    expect_outcome(ticket, HD_QUEUED);
    hd_ticket_free(ticket);
}

static bool cancel_timer(struct desk *desk, const char *id)
{
    bool cancelled = false;
    hd_error error;
    EXPECT_INT(hd_cell_cancel(desk->stream, id, &cancelled, &error), HD_OK);
    fixture_settle(&desk->fixture);
    return cancelled;
}

TEST(a_timer_is_stored_and_handled_when_it_is_due)
{
    static const hd_timer_options past = {.at_ms = 1};
    static const hd_timer_options far = {.after_ms = 86400000};
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    set_timer(&desk, "\"due\"", NULL, &past);
    set_timer(&desk, "\"far\"", "x", &far);
    set_timer(&desk, "\"other\"", "y", &far);
    desk_close(&desk);

    struct desk next = {0};
    fixture_open(&next.fixture, folder, 2);
    next.stream = cell_of(&next.fixture, "inbox", NULL);
    next.list = cell_of(&next.fixture, "list", NULL);
    hd_node *node = desk_handler(&next);
    fixture_settle(&next.fixture);
    fixture_settle(&next.fixture);
    expect_json(next.list, "[\"due\"]");
    EXPECT(!cancel_timer(&next, "z"));
    EXPECT(cancel_timer(&next, "x"));
    EXPECT(!cancel_timer(&next, "x"));
    set_timer(&next, "\"now\"", "y", &past); /* takes the place of the other */
    fixture_settle(&next.fixture);
    expect_json(next.list, "[\"due\",\"now\"]");
    EXPECT(!cancel_timer(&next, "y"));
    hd_node_remove(node);
    hd_node_free(node);
    desk_close(&next);
    kit_folder_remove(folder);
}

static void expect_refused(struct desk *desk,
                           const hd_timer_options *timer,
                           const char *session,
                           hd_status status,
                           const char *sentence)
{
    const hd_send_options options = {
        .id = session,
        .session = session,
        .timer = timer,
    };
    hd_error error;
    EXPECT_INT(hd_cell_send(desk->stream, NULL, &options, NULL, &error),
               status);
    EXPECT_CONTAINS(error.text, sentence);
}

TEST(what_cannot_be_a_timer_is_refused)
{
    static const hd_timer_options two = {.after_ms = 1, .cron = "* * * * *"};
    static const hd_timer_options quick = {.every_ms = 99};
    static const hd_timer_options never = {.cron = "0 0 31 2 *"};
    static const hd_timer_options zone = {.cron = "0 0 * * *", .zone = "X/Y"};
    static const hd_timer_options soon = {.after_ms = 1};
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    expect_refused(&desk,
                   &two,
                   NULL,
                   HD_ARGUMENT,
                   "cannot be combined with cron fields");
    expect_refused(&desk, &quick, NULL, HD_ARGUMENT, "at least 100 ms");
    expect_refused(&desk, &never, NULL, HD_ARGUMENT, "does not have");
    expect_refused(&desk, &zone, NULL, HD_ARGUMENT, "no time zone 'X/Y'");
    expect_refused(&desk, &soon, "s", HD_ARGUMENT, "leave out 'session'");
    desk_close(&desk);
    kit_folder_remove(folder);
}

static void set_payload_schema(struct desk *desk, const char *json)
{
    hd_value *schema = value_of(json);
    hd_error error;
    EXPECT_INT(hd_cell_set_payload_schema(desk->stream, schema, true, &error),
               HD_OK);
    hd_value_unref(schema);
}

/* Sends what is refused at once. */
static void expect_misfit(struct desk *desk, const hd_send_options *options)
{
    hd_value *payload = value_of("1");
    hd_ticket *ticket = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_send(desk->stream, payload, options, &ticket, &error),
               HD_SCHEMA);
    EXPECT_TEXT(error.text, "the payload: must be string, not integer");
    EXPECT(ticket == NULL);
    hd_value_unref(payload);
}

TEST(what_does_not_fit_is_not_queued)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct desk desk;
    desk_open(&desk, folder);
    hd_node_free(desk_handler(&desk));
    set_payload_schema(&desk, "{\"type\":\"string\"}");
    const hd_send_options queue = {.queue = true};
    expect_misfit(&desk, &queue);
    hd_ticket *ticket = send_json(&desk, "\"a\"", &queue);
    fixture_settle(&desk.fixture);
    expect_outcome(ticket, HD_QUEUED);
    hd_ticket_free(ticket);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[\"a\"]");
    desk_close(&desk);
    kit_folder_remove(folder);
}

TEST(what_does_not_fit_takes_the_place_of_no_event_that_waits)
{
    struct desk desk = {.fixture = {.now = 1000}};
    hd_runtime_options options = fixture_options(&desk.fixture);
    options.backlog = 1;
    fixture_open_with(&desk.fixture, &options);
    desk_cells(&desk);
    desk.collapses = true;
    hd_node_free(desk_handler(&desk));
    set_payload_schema(&desk, "{\"type\":\"string\"}");
    hd_ticket *ticket = send_json(&desk, "\"a\"", NULL);
    expect_misfit(&desk, NULL);
    fixture_settle(&desk.fixture);
    expect_json(desk.list, "[\"a\"]");
    hd_ticket_free(ticket);
    desk_close(&desk);
}

TEST(a_runtime_in_memory_queues_nothing)
{
    struct desk desk = {0};
    hd_runtime_options options = fixture_options(&desk.fixture);
    fixture_open_as(&desk.fixture, &options);
    desk_cells(&desk);
    const hd_send_options queue = {.queue = true};
    hd_error error;
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_cell_send(desk.stream, NULL, &queue, &ticket, &error),
               HD_MISUSE);
    EXPECT_CONTAINS(error.text, "has no store");
    EXPECT(ticket == NULL);
    desk_close(&desk);
}
