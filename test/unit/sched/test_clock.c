/* src/sched: the host's clock. How long runs take is asked of its tick, what
 * time it is of the clock itself, and neither if there is nothing to do. */

#include "lib/test.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "sched/sched.h"

/* A host that counts who asks. Its tick is behind the clock. */
struct counted {
    struct host host;
    mono_ms time;
    mono_ms behind;
    unsigned nows;
    unsigned ticks;
};

static mono_ms now(struct host *host)
{
    struct counted *counted = (struct counted *)(void *)host;
    counted->nows++;
    return counted->time;
}

static mono_ms tick(struct host *host)
{
    struct counted *counted = (struct counted *)(void *)host;
    counted->ticks++;
    return counted->time - counted->behind;
}

/* A document, and an effect that reads it. */
struct fixture {
    struct counted clock;
    struct replica replica;
    struct sched *sched;
    struct place *a;
    mono_ms takes; /* a run */
    unsigned runs;
};

static void set(struct fixture *fixture, int64_t number)
{
    struct err_detail detail;
    struct transaction *transaction =
        transaction_begin(&fixture->replica, NULL);
    EXPECT_EQ(transaction_put_adopt(transaction,
                                    fixture->a,
                                    value_int(number),
                                    &detail),
              ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, &detail), ERR_OK);
    transaction_release(transaction);
}

static enum run_result look_for_long(struct run *run, void *ctx)
{
    struct fixture *fixture = ctx;
    struct value value;
    (void)run_read(run, fixture->a, READ_DEEP, READ_FOR_BOTH, &value);
    value_unref(value);
    fixture->clock.time += fixture->takes;
    fixture->runs++;
    return RUN_DONE;
}

static struct node *fixture_begin(struct fixture *fixture, bool has_tick)
{
    *fixture = (struct fixture){.clock = {.time = 1000, .behind = 3}};
    fixture->clock.host.now = now;
    fixture->clock.host.tick = has_tick ? tick : NULL;
    struct err_detail detail;
    struct space *space;
    struct entity *entity;
    replica_init(&fixture->replica, NULL);
    const struct space_options options = {.id = value_text_new("space")};
    EXPECT_EQ(space_open(&fixture->replica, &options, &space, &detail), ERR_OK);
    EXPECT_EQ(
        entity_of(space, SCOPE_SPACE, value_text_new("of:a"), &entity, &detail),
        ERR_OK);
    fixture->a = place_payload(entity);
    set(fixture, 1);
    fixture->sched =
        sched_new(&fixture->replica,
                  &(struct sched_options){.host = &fixture->clock.host});
    return sched_register(fixture->sched,
                          &(struct node_spec){
                              .kind = NODE_EFFECT,
                              .run = look_for_long,
                              .ctx = fixture,
                              .no_auto_debounce = true,
                          });
}

static void fixture_end(struct fixture *fixture)
{
    sched_free(fixture->sched);
    place_unref(fixture->a);
    replica_release(&fixture->replica);
}

TEST(a_step_now_is_one_at_the_time_of_the_host)
{
    struct fixture fixture;
    const struct node *node = fixture_begin(&fixture, false);
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 1);
    EXPECT_EQ(fixture.sched->now, 1000);
    EXPECT_EQ(node->ended_at, 1000);
    fixture.clock.time = 1500;
    set(&fixture, 2);
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 2);
    EXPECT_EQ(node->ended_at, 1500);
    fixture_end(&fixture);
}

TEST(a_step_now_with_nothing_to_do_asks_nobody_for_the_time)
{
    struct fixture fixture;
    (void)fixture_begin(&fixture, true);
    sched_step_now(fixture.sched);
    fixture.clock.nows = 0;
    fixture.clock.ticks = 0;
    fixture.clock.time += 10;
    sched_step_now(fixture.sched);
    set(&fixture, 1); /* as it was */
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 1);
    EXPECT_EQ(fixture.clock.nows, 0);
    EXPECT_EQ(fixture.clock.ticks, 0);
    fixture_end(&fixture);
}

TEST(a_step_now_sees_to_what_waits_for_its_time)
{
    struct fixture fixture;
    struct node *node = fixture_begin(&fixture, false);
    sched_set_throttle(fixture.sched, node, 100);
    sched_step_now(fixture.sched);
    set(&fixture, 2);
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 1);
    fixture.clock.time += 99;
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 1);
    fixture.clock.time += 1;
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 2);
    fixture_end(&fixture);
}

/* The look at the clock before a step is the one at the beginning of its first
 * run, and the look after a run the one at the end of its pass. */
TEST(a_step_now_with_one_run_looks_at_the_clock_twice)
{
    struct fixture fixture;
    (void)fixture_begin(&fixture, false);
    sched_step_now(fixture.sched);
    fixture.clock.nows = 0;
    set(&fixture, 2);
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 2);
    EXPECT_EQ(fixture.clock.nows, 2);
    fixture_end(&fixture);
}

/* Who steps says what time it is, and may have looked at the clock long ago:
 * that does not make a run a long one. */
TEST(how_old_the_time_of_a_step_is_does_not_count_as_time_of_a_run)
{
    struct fixture fixture;
    const struct node *node = fixture_begin(&fixture, false);
    fixture.clock.time = 5000;
    fixture.takes = 7;
    sched_step(fixture.sched, 1000);
    EXPECT_EQ(node->last_ms, 7);
    set(&fixture, 2);
    fixture.clock.time += 500;
    sched_step(fixture.sched, 1000);
    EXPECT_EQ(node->last_ms, 7);
    EXPECT_EQ(node->busy_ms, 14);
    fixture_end(&fixture);
}

TEST(how_long_runs_take_is_asked_of_the_tick)
{
    struct fixture fixture;
    const struct node *node = fixture_begin(&fixture, true);
    fixture.takes = 7;
    sched_step_now(fixture.sched);
    set(&fixture, 2);
    sched_step_now(fixture.sched);
    EXPECT_EQ(fixture.runs, 2);
    EXPECT_EQ(fixture.clock.nows, 2); /* one a step */
    EXPECT(fixture.clock.ticks >= 4);
    EXPECT_EQ(node->last_ms, 7);
    EXPECT_EQ(node->busy_ms, 14);
    EXPECT_EQ(node->ended_at, 1014); /* by the clock: the tick is at 1011 */
    fixture_end(&fixture);
}
