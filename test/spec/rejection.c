/* REJ: what becomes of a refused commit is a matter of its class, and nothing
 * else. A conflict is CONFLICT, or STALE before the commit leaves; a failed
 * precondition is RECEIPT_EXISTS or ORIGIN_FAILED; a rule that was broken is
 * anything of the terminal class. */

#include "lib/event_kit.h"
#include "lib/test.h"

TEST(rej_01_preconditions_are_permanent)
{
    EXPECT_EQ(err_class_of(ERR_RECEIPT_EXISTS), ERR_CLASS_PERMANENT);
    EXPECT_EQ(err_class_of(ERR_ORIGIN_FAILED), ERR_CLASS_PERMANENT);
    EXPECT(err_class_of(ERR_CONFLICT) != ERR_CLASS_PERMANENT);
    EXPECT(err_class_of(ERR_OK) != ERR_CLASS_PERMANENT);
}

TEST(rej_02_broken_rules_are_terminal)
{
    EXPECT_EQ(err_class_of(ERR_PATCH_MISSING), ERR_CLASS_TERMINAL);
    EXPECT_EQ(err_class_of(ERR_LIMIT_COMMIT), ERR_CLASS_TERMINAL);
    EXPECT_EQ(err_class_of(ERR_NOT_CONVERGED), ERR_CLASS_TERMINAL);
    static const enum err others[] = {ERR_CONFLICT,
                                      ERR_STALE,
                                      ERR_RECEIPT_EXISTS,
                                      ERR_STORE,
                                      ERR_OK};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        EXPECT(err_class_of(others[i]) != ERR_CLASS_TERMINAL);
    }
}

/* One class each, by construction; what a newer store says is none of the
 * three that are decided here. */
TEST(rej_03_every_error_has_one_class)
{
    static const enum err all[] = {
#define X(name, number, class, text) ERR_##name,
        ERR_TABLE(X)
#undef X
    };
    unsigned counts[ERR_CLASS_FAULT + 1] = {0};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        counts[err_class_of(all[i])]++;
    }
    EXPECT_EQ(counts[ERR_CLASS_NONE], 1);
    for (unsigned i = ERR_CLASS_RETRY; i <= ERR_CLASS_FAULT; i++) {
        EXPECT(counts[i] > 0);
    }
    EXPECT_EQ(err_class_of(err_of_name("UNHEARD_OF", 10)), ERR_CLASS_FAULT);
}

/* -- REJ-04: the path of an event ------------------------------------------ */

static struct scene_sent *refused_once(struct scene *on,
                                       enum scene_where where,
                                       enum err err)
{
    scene_begin(on, where);
    kit_set_all(&on->kit, "n=0");
    scene_pump(on);
    scene_on(on, "H", "s", "-> n", handle_count, 0);
    scene_refuse(on, err, 1);
    struct scene_sent *sent = scene_send(on, "s", "3");
    EXPECT_SETTLED(on);
    EXPECT_EQ(sent->ended, 1);
    return sent;
}

struct row {
    enum err err;
    uint32_t attempts;
    const char *end;
    const char *stored;
    uint64_t errors; /* that were reported */
};

static const struct row rows[] = {
    {ERR_CONFLICT, 2, "done", "{'value':3}", 0},
    {ERR_BUSY, 2, "done", "{'value':3}", 0},
    {ERR_ORIGIN_FAILED, 1, "dropped ORIGIN_FAILED", "{'value':0}", 0},
    {ERR_FENCED, 1, "dropped FENCED", "{'value':0}", 0},
    {ERR_LIMIT_SIZE, 1, "failed LIMIT_SIZE", "{'value':0}", 1},
    {ERR_IMMUTABLE, 1, "failed IMMUTABLE", "{'value':0}", 1},
    {ERR_STORE, 1, "failed STORE", "{'value':0}", 1},
};

static void expect_row(const struct row *row, enum scene_where where)
{
    struct scene on;
    struct scene_sent *sent = refused_once(&on, where, row->err);
    EXPECT_END(sent, row->end);
    EXPECT_EQ(sent->attempts, row->attempts);
    EXPECT_TEXT(scene_stored(&on, "n"), row->stored);
    EXPECT_EQ(on.kit.error_count, row->errors);
    const struct events_counters *counters = scene_counters(&on);
    EXPECT_EQ(counters->refusals[err_class_of(row->err)], 1);
    EXPECT_EQ(counters->retries, row->attempts - 1);
    EXPECT_EQ(counters->attempts, row->attempts);
    EXPECT_EQ(counters->done + counters->dropped + counters->failed, 1);
    scene_end(&on);
}

TEST(rej_04_the_class_decides)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_row(&rows[i], AT_STORE);
        expect_row(&rows[i], AT_STORE_HELD);
    }
}

static enum run_result read_and_change(struct handling *handling,
                                       struct scene_handler *handler)
{
    value_unref(handler_input(handling, handler, 0));
    if (handler->runs == 1) {
        kit_set(&handler->on->kit, "a", "2");
    }
    return handle_store(handling, handler);
}

/* A refusal here, before anything is sent, is judged alike: what it has read
 * changed meanwhile. */
TEST(rej_04_also_here)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    kit_set_all(&on.kit, "a=1");
    struct scene_handler *h =
        scene_on(&on, "H", "s", "a -> r", read_and_change, 0);
    struct scene_sent *sent = scene_send(&on, "s", "3");
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 2);
    EXPECT_END(sent, "done");
    EXPECT_EQ(sent->attempts, 2);
    EXPECT_EQ(scene_counters(&on)->refusals[ERR_CLASS_RETRY], 1);
    scene_end(&on);
}

/* One attempt is one attempt, whatever the class. */
TEST(rej_04_who_wants_no_retry_gets_none)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    kit_set_all(&on.kit, "n=0");
    struct scene_handler *h = scene_on(&on, "H", "s", "-> n", handle_count, 0);
    scene_refuse(&on, ERR_CONFLICT, 1);
    const struct scene_sending once = {.payload = "3", .no_retry = true};
    struct scene_sent *sent = scene_send_with(&on, "s", &once);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(h->runs, 1);
    EXPECT_EQ(sent->outcome, EVENT_FAILED);
    EXPECT_EQ(sent->attempts, 1);
    EXPECT_TEXT(scene_stored(&on, "n"), "{'value':0}");
    scene_end(&on);
}
