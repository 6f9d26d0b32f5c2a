/* D17: a head that cannot settle fails after a while, and does not hold up its
 * lane for longer. How long at most, on the clock: the backoffs that an event
 * waits for, one after the other, each as long as sched/core.h says. */

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "sched/events.h"
#include "sched/handling.h"

struct ending {
    struct sched_kit *kit;
    unsigned told;
    enum event_outcome outcome;
    enum err err;
    mono_ms at;
};

static void on_done(void *ctx, const struct event_result *result)
{
    struct ending *ending = ctx;
    ending->told++;
    ending->outcome = result->outcome;
    ending->err = result->error.err;
    ending->at = ending->kit->sim.now;
}

static enum run_result handle_nothing(struct handling *handling, void *ctx)
{
    (void)handling;
    unsigned *runs = ctx;
    ++*runs;
    return RUN_DONE;
}

static struct stream *open_stream(struct sched_kit *kit,
                                  const char *name,
                                  const char *reads,
                                  unsigned *runs)
{
    struct place *place = kit_place(kit, name);
    struct stream *stream = events_stream(kit->sched, place);
    place_unref(place);
    struct place *read = reads != NULL ? kit_place(kit, reads) : NULL;
    const struct declared_read declared = {read, READ_DEEP};
    const struct handler_spec spec = {
        .run = handle_nothing,
        .ctx = runs,
        .reads = &declared,
        .read_count = read != NULL ? 1 : 0,
    };
    struct handler *handler;
    CHECK(events_handle(kit->sched, stream, &spec, &handler, NULL) == ERR_OK);
    if (read != NULL) {
        place_unref(read);
    }
    return stream;
}

static void send(struct sched_kit *kit,
                 struct stream *stream,
                 struct ending *ending)
{
    *ending = (struct ending){.kit = kit};
    const struct event_spec spec = {.done = on_done, .ctx = ending};
    CHECK(events_send(kit->sched, stream, &spec, NULL) == ERR_OK);
}

/* Step by step, until both have ended. */
static void wait_for(struct sched_kit *kit, const struct ending *ending)
{
    for (unsigned i = 0; i < KIT_WAKES_MAX && ending->told == 0; i++) {
        const mono_ms wake = sched_next_wake(kit->sched);
        kit_tick(kit,
                 wake > kit->sim.now && wake != MONO_NEVER ? wake - kit->sim.now
                                                           : 0);
    }
}

/* The stated bound. */
static mono_ms longest_wait(uint32_t holds)
{
    mono_ms sum = 0;
    mono_ms backoff = SCHED_BACKOFF_MS;
    for (uint32_t i = 0; i < holds; i++) {
        sum += backoff;
        backoff = backoff * 2 < SCHED_BACKOFF_MAX_MS ? backoff * 2
                                                     : SCHED_BACKOFF_MAX_MS;
    }
    return sum;
}

static void expect_bounded(uint32_t holds)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct events_policy policy = events_policy();
    EXPECT_EQ(policy.holds, EVENTS_HOLDS);
    policy.holds = holds;
    events_configure(kit.sched, &policy, VALUE_NONE);
    kit_set_all(&kit, "a=0 b=0");
    (void)kit_sum(&kit, "A", "b -> a", 1);
    (void)kit_sum(&kit, "B", "a -> b", 1);
    unsigned runs[2] = {0, 0};
    struct stream *stuck = open_stream(&kit, "stuck", "a", &runs[0]);
    struct stream *next = open_stream(&kit, "next", NULL, &runs[1]);
    struct ending endings[2];
    send(&kit, stuck, &endings[0]);
    send(&kit, next, &endings[1]);
    const mono_ms sent_at = kit.sim.now;
    wait_for(&kit, &endings[1]);
    EXPECT_EQ(endings[0].told, 1);
    EXPECT_INT(endings[0].outcome, EVENT_FAILED);
    EXPECT_INT(endings[0].err, ERR_NOT_SETTLED);
    EXPECT_EQ(runs[0], 0);
    EXPECT_EQ(endings[1].told, 1);
    EXPECT_INT(endings[1].outcome, EVENT_DONE);
    EXPECT_EQ(runs[1], 1);
    EXPECT(endings[0].at <= endings[1].at);
    EXPECT(endings[1].at - sent_at <= longest_wait(holds));
    /* It did wait: who settles in time is handled. */
    EXPECT(endings[0].at - sent_at >= longest_wait(holds - 1));
    EXPECT(!events_wait(kit.sched));
    kit_end(&kit);
}

TEST(a_cycle_in_a_closure_holds_up_the_next_event_for_less_than_two_seconds)
{
    EXPECT_EQ(longest_wait(EVENTS_HOLDS), 1750);
    expect_bounded(EVENTS_HOLDS);
}

TEST(the_bound_follows_from_the_number_of_backoffs)
{
    expect_bounded(1);
    expect_bounded(2);
    expect_bounded(6);
}

/* Its own lane waits; another space's does not. */
TEST(a_lane_of_another_space_does_not_wait_at_all)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct events_policy policy = events_policy();
    policy.lanes = LANES_SPACE;
    events_configure(kit.sched, &policy, VALUE_NONE);
    kit_set_all(&kit, "a=0 b=0");
    (void)kit_sum(&kit, "A", "b -> a", 1);
    (void)kit_sum(&kit, "B", "a -> b", 1);
    unsigned runs[2] = {0, 0};
    struct stream *stuck = open_stream(&kit, "stuck", "a", &runs[0]);
    struct space *first = kit.space;
    const struct space_options options = {.id = value_text_new("elsewhere")};
    CHECK(space_open(&kit.replica, &options, &kit.space, NULL) == ERR_OK);
    value_unref(options.id);
    struct stream *next = open_stream(&kit, "next", NULL, &runs[1]);
    kit.space = first;
    struct ending endings[2];
    send(&kit, stuck, &endings[0]);
    send(&kit, next, &endings[1]);
    const mono_ms sent_at = kit.sim.now;
    wait_for(&kit, &endings[1]);
    EXPECT_INT(endings[1].outcome, EVENT_DONE);
    EXPECT_EQ(endings[1].at, sent_at);
    EXPECT_EQ(endings[0].told, 0);
    wait_for(&kit, &endings[0]);
    EXPECT_INT(endings[0].outcome, EVENT_FAILED);
    kit_end(&kit);
}
