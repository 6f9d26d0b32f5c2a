/* Timers in the store: found by their times, at a cost that does not grow with
 * their number. */

#include <stdio.h>

#include "lib/store_kit.h"
#include "lib/test.h"
#include "store/verify.h"
#include "store/waiting.h"

enum {
    FEW = 10,
    MANY = 2000,
    DUE = 1000000,
};

/* Timer number n, counted from 1, is due at DUE + n. */
static void set_timers(struct store_kit *kit, unsigned from, unsigned to)
{
    for (unsigned n = from; n <= to; n++) {
        char commit[160];
        (void)snprintf(commit,
                       sizeof commit,
                       "s1 %u | put receipt:timer:t%u {'event':{'due':%u}}",
                       n,
                       n,
                       DUE + n);
        EXPECT_LANDED(kit, n, commit);
    }
}

struct found {
    unsigned count;
    uint64_t last; /* due time */
};

static void on_found(void *ctx, const struct waiting_event *event)
{
    struct found *found = ctx;
    EXPECT(event->due >= found->last);
    found->count++;
    found->last = event->due;
}

static struct found list(struct store_kit *kit,
                         struct timer_mark after,
                         uint64_t until)
{
    struct found found = {0};
    const struct value branch = value_text_new("");
    EXPECT_INT(engine_timers(&kit->engine,
                             branch,
                             after,
                             until,
                             100,
                             on_found,
                             &found,
                             NULL),
               ERR_OK);
    value_unref(branch);
    return found;
}

static uint64_t next(struct store_kit *kit, uint64_t time)
{
    uint64_t due = 0;
    const struct value branch = value_text_new("");
    EXPECT_INT(engine_timer_next(&kit->engine, branch, time, &due, NULL),
               ERR_OK);
    value_unref(branch);
    return due;
}

/* SQLite's own steps of all statements. */
static uint64_t steps(const struct store_kit *kit)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_stmt *stmt = kit->engine.database.statement[i];
        if (stmt != NULL) {
            sum += (uint64_t)sqlite3_stmt_status(stmt,
                                                 SQLITE_STMTSTATUS_VM_STEP,
                                                 0);
        }
    }
    return sum;
}

static void expect_sound(struct store_kit *kit)
{
    const struct verify_options options = {.difference = NULL};
    struct verify_counts counts;
    EXPECT_EQ(engine_verify(&kit->engine, &options, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.differences, 0);
}

TEST(timers_are_listed_by_their_times)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | put receipt:timer:b {'event':{'due':20}}");
    EXPECT_LANDED(&kit, 2, "s1 2 | put receipt:timer:a {'event':{'due':30}}");
    EXPECT_LANDED(&kit, 3, "s1 3 | put receipt:timer:c {'event':{'due':10}}");
    EXPECT_LANDED(&kit, 4, "s1 4 | put receipt:x {'event':{'n':1}}");
    EXPECT_EQ(list(&kit, (struct timer_mark){0}, 20).count, 2);
    EXPECT_EQ(list(&kit, (struct timer_mark){0}, 1000).last, 30);
    EXPECT_EQ(next(&kit, 0), 10);
    EXPECT_EQ(next(&kit, 20), 30);
    EXPECT(next(&kit, 30) == TIMER_NONE);
    /* Another time, the end, and what is no time. */
    EXPECT_LANDED(&kit, 5, "s1 5 | put receipt:timer:c {'event':{'due':40}}");
    EXPECT_LANDED(&kit, 6, "s1 6 | put receipt:timer:b {'value':{}}");
    EXPECT_LANDED(&kit, 7, "s1 7 | put receipt:timer:d {'event':{'due':-1}}");
    EXPECT_LANDED(&kit, 8, "s1 8 | put receipt:timer:e {'event':{'due':'x'}}");
    EXPECT_EQ(next(&kit, 0), 30);
    EXPECT_EQ(list(&kit, (struct timer_mark){0}, 1000).count, 2);
    EXPECT_EQ(list(&kit, (struct timer_mark){30, 1000}, 1000).count, 1);
    expect_sound(&kit);
    kit_close(&kit);
}

TEST(a_look_costs_the_same_among_few_and_among_many)
{
    struct store_kit kit;
    uint64_t cost[2] = {0};
    kit_open_memory(&kit, NULL);
    for (unsigned i = 0; i < 2; i++) {
        set_timers(&kit, i == 0 ? 1 : FEW + 1, i == 0 ? FEW : MANY);
        (void)list(&kit, (struct timer_mark){0}, DUE); /* statements exist */
        (void)next(&kit, DUE);
        const uint64_t before = steps(&kit);
        EXPECT_EQ(list(&kit, (struct timer_mark){0}, DUE).count, 0);
        EXPECT_EQ(list(&kit, (struct timer_mark){0}, DUE + 3).count, 3);
        EXPECT_EQ(next(&kit, DUE), DUE + 1);
        EXPECT_EQ(next(&kit, DUE + 5), DUE + 6);
        cost[i] = steps(&kit) - before;
    }
    EXPECT_EQ(cost[0], cost[1]);
    EXPECT(cost[0] > 0);
    kit_close(&kit);
}

TEST(events_without_a_time_are_listed_without_a_look_at_timers)
{
    struct store_kit kit;
    struct found found = {0};
    uint64_t cost[2] = {0};
    const struct value branch = value_text_new("");
    kit_open_memory(&kit, NULL);
    for (unsigned i = 0; i < 2; i++) {
        set_timers(&kit, i == 0 ? 1 : FEW + 1, i == 0 ? FEW : MANY / 4);
        for (unsigned k = 0; k < 2; k++) { /* the first makes the statement */
            const uint64_t before = steps(&kit);
            EXPECT_INT(engine_waiting(&kit.engine,
                                      branch,
                                      0,
                                      100,
                                      on_found,
                                      &found,
                                      NULL),
                       ERR_OK);
            cost[i] = steps(&kit) - before;
        }
    }
    value_unref(branch);
    EXPECT_EQ(found.count, 0);
    EXPECT_EQ(cost[0], cost[1]);
    kit_close(&kit);
}
