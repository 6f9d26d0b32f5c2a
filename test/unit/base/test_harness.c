/* The harness itself: what a passing test can show of lib/test.h, and the
 * simulated host. How a test fails is shown by test/tools/test_run_tests.py,
 * from outside. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "lib/sim_host.h"
#include "lib/test.h"

/* ---- expectations and the ledger ---- */

TEST(an_expectation_that_holds_is_true)
{
    EXPECT(EXPECT(test_blocks_alive() == test_blocks_alive()));
    EXPECT(EXPECT_EQ(UINT64_MAX, UINT64_MAX));
    EXPECT(EXPECT_INT(INT64_MIN, INT64_MIN));
    EXPECT(EXPECT_TEXT("warp", "warp"));
    EXPECT(EXPECT_TEXT(NULL, NULL));
    EXPECT(EXPECT_CONTAINS("warp and weft", "and"));
    EXPECT(EXPECT_CONTAINS("warp", ""));
}

TEST(new_blocks_and_resizes_count_as_allocations)
{
    const uint64_t allocations = test_allocations();
    const uint64_t alive = test_blocks_alive();

    char *block = mem_alloc(10);
    EXPECT_EQ(test_allocations(), allocations + 1);
    EXPECT_EQ(test_blocks_alive(), alive + 1);

    block = mem_resize(block, 10, 20);
    EXPECT_EQ(test_allocations(), allocations + 2);
    EXPECT_EQ(test_blocks_alive(), alive + 1);

    mem_free(block, 20);
    EXPECT_EQ(test_allocations(), allocations + 2);
    EXPECT_EQ(test_blocks_alive(), alive);
}

TEST(a_resize_keeps_the_content_and_moves)
{
    char *block = mem_alloc(3);
    memcpy(block, "abc", 3);
    const uintptr_t address = (uintptr_t)block;

    block = mem_resize(block, 3, 100);
    EXPECT((uintptr_t)block != address);
    EXPECT(memcmp(block, "abc", 3) == 0);
    block = mem_resize(block, 100, 2);
    EXPECT(memcmp(block, "ab", 2) == 0);
    mem_free(block, 2);
}

TEST(blocks_are_aligned_for_any_type)
{
    for (size_t size = 0; size < 64; size++) {
        void *block = mem_alloc(size);
        EXPECT_EQ((uintptr_t)block % _Alignof(max_align_t), 0);
        mem_free(block, size);
    }
}

/* Blocks in any order of birth and death; a lost record would fail the size
 * check or the leak check. */
PROPERTY(the_ledger_follows_every_block, 50)
{
    struct {
        void *memory;
        size_t size;
    } blocks[300] = {{NULL, 0}};

    for (unsigned step = 0; step < 2000; step++) {
        const size_t i = (size_t)random_below(random, COUNT_OF(blocks));
        const size_t size = (size_t)random_below(random, 100);
        if (random_one_in(random, 2)) {
            blocks[i].memory =
                mem_resize(blocks[i].memory, blocks[i].size, size);
            blocks[i].size = size;
        } else {
            mem_free(blocks[i].memory, blocks[i].size);
            blocks[i].memory = NULL;
            blocks[i].size = 0;
        }
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        mem_free(blocks[i].memory, blocks[i].size);
    }
}

static void *allocate_and_free(void *ctx)
{
    (void)ctx;
    for (size_t size = 0; size < 1000; size++) {
        mem_free(mem_alloc(size), size);
    }
    return NULL;
}

TEST(threads_may_allocate_at_the_same_time)
{
    const uint64_t allocations = test_allocations();
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        EXPECT_INT(pthread_create(&threads[i], NULL, allocate_and_free, NULL),
                   0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        EXPECT_INT(pthread_join(threads[i], NULL), 0);
    }
    EXPECT_EQ(test_allocations(), allocations + 4000);
}

/* ---- files ---- */

TEST(test_data_is_found_where_the_environment_says)
{
    const char *told = getenv("HEDDLE_TEST_DATA");
    char *saved = told != NULL ? strdup(told) : NULL;

    EXPECT_INT(unsetenv("HEDDLE_TEST_DATA"), 0);
    EXPECT_TEXT(test_data_path("json/a.json"), "test/data/json/a.json");
    EXPECT_INT(setenv("HEDDLE_TEST_DATA", "elsewhere", 1), 0);
    EXPECT_TEXT(test_data_path("a.json"), "elsewhere/a.json");

    if (saved != NULL) {
        EXPECT_INT(setenv("HEDDLE_TEST_DATA", saved, 1), 0);
        free(saved);
    } else {
        EXPECT_INT(unsetenv("HEDDLE_TEST_DATA"), 0);
    }
}

TEST(a_file_is_read_whole_and_terminated)
{
    size_t length = 1;
    char *content = test_read_file("/dev/null", &length);
    EXPECT_EQ(length, 0);
    EXPECT_TEXT(content, "");
    test_release_file(content, length);

    content = test_read_file(__FILE__, &length);
    if (content != NULL) {
        EXPECT_EQ(strlen(content), length);
        EXPECT(strncmp(content, "/* The harness itself", 21) == 0);
        EXPECT_INT(content[length - 1], '\n');
        test_release_file(content, length);
    }
}

/* ---- the simulated host ---- */

/* A timer that notes its letter and the time, and arms itself or another one
 * when it is told to. */
struct alarm {
    struct host_timer timer;
    struct fixture *fixture;
    char letter;
    mono_ms fired_at;
    struct alarm *arms; /* NULL: none */
    mono_ms arms_at;
};

struct fixture {
    struct sim_host sim;
    char order[16]; /* the letters of the timers that fired */
    size_t fired;
    struct alarm a, b, c;
};

static void alarm_fire(struct host_timer *timer)
{
    struct alarm *alarm = CONTAINER_OF(timer, struct alarm, timer);
    struct fixture *fixture = alarm->fixture;
    struct host *host = &fixture->sim.host;

    CHECK(fixture->fired < sizeof fixture->order - 1);
    fixture->order[fixture->fired++] = alarm->letter;
    alarm->fired_at = host->now(host);
    if (alarm->arms != NULL) {
        host->timer_set(host, &alarm->arms->timer, alarm->arms_at);
        alarm->arms = NULL;
    }
}

static struct alarm alarm_of(struct fixture *fixture, char letter)
{
    return (struct alarm){.timer = {.fire = alarm_fire},
                          .fixture = fixture,
                          .letter = letter};
}

static void fixture_init(struct fixture *fixture)
{
    *fixture = (struct fixture){.fired = 0};
    sim_host_init(&fixture->sim, 1000, 7);
    fixture->a = alarm_of(fixture, 'a');
    fixture->b = alarm_of(fixture, 'b');
    fixture->c = alarm_of(fixture, 'c');
}

static void arm(struct alarm *alarm, mono_ms at)
{
    struct host *host = &alarm->fixture->sim.host;
    host->timer_set(host, &alarm->timer, at);
}

TEST(h1_timers_fire_in_time_order)
{
    struct fixture fixture;
    fixture_init(&fixture);
    arm(&fixture.a, 1300);
    arm(&fixture.b, 1100);
    arm(&fixture.c, 1200);
    EXPECT_EQ(sim_host_next_at(&fixture.sim), 1100);

    sim_host_advance(&fixture.sim, 1250);
    EXPECT_TEXT(fixture.order, "bc");
    EXPECT_EQ(fixture.sim.now, 1250);
    sim_host_advance(&fixture.sim, 2000);
    EXPECT_TEXT(fixture.order, "bca");
    EXPECT_EQ(sim_host_next_at(&fixture.sim), MONO_NEVER);
}

TEST(h1_timers_of_one_time_fire_in_the_order_of_arming)
{
    struct fixture fixture;
    fixture_init(&fixture);
    arm(&fixture.c, 1100);
    arm(&fixture.a, 1100);
    arm(&fixture.b, 1100);
    arm(&fixture.c, 1100); /* moved, and so behind the others */
    sim_host_advance(&fixture.sim, 1100);
    EXPECT_TEXT(fixture.order, "abc");
}

TEST(h1_a_past_time_fires_from_the_loop_and_not_from_the_call)
{
    struct fixture fixture;
    fixture_init(&fixture);
    arm(&fixture.a, 1000);
    arm(&fixture.b, 1); /* both are due now, and a was first */
    EXPECT_TEXT(fixture.order, "");
    sim_host_advance(&fixture.sim, 1000);
    EXPECT_TEXT(fixture.order, "ab");
    EXPECT_EQ(fixture.b.fired_at, 1000);
}

TEST(h2_a_timer_sees_its_own_time)
{
    struct fixture fixture;
    fixture_init(&fixture);
    arm(&fixture.a, 1100);
    arm(&fixture.b, 1200);
    sim_host_advance(&fixture.sim, 5000);
    EXPECT_EQ(fixture.a.fired_at, 1100);
    EXPECT_EQ(fixture.b.fired_at, 1200);
    EXPECT_EQ(fixture.sim.host.now(&fixture.sim.host), 5000);
}

TEST(h3_a_timer_may_arm_itself_again)
{
    struct fixture fixture;
    fixture_init(&fixture);
    fixture.a.arms = &fixture.a;
    fixture.a.arms_at = 1200;
    arm(&fixture.a, 1100);
    arm(&fixture.b, 1150);
    sim_host_advance(&fixture.sim, 1200);
    EXPECT_TEXT(fixture.order, "aba");
}

TEST(a_timer_can_be_moved_and_cleared)
{
    struct fixture fixture;
    fixture_init(&fixture);
    arm(&fixture.a, 1100);
    arm(&fixture.b, 1200);
    arm(&fixture.a, 1300);
    EXPECT_EQ(sim_host_timer_at(&fixture.sim, &fixture.a.timer), 1300);

    struct host *host = &fixture.sim.host;
    host->timer_clear(host, &fixture.b.timer);
    host->timer_clear(host, &fixture.c.timer); /* not armed: harmless */
    EXPECT_EQ(sim_host_timer_at(&fixture.sim, &fixture.b.timer), MONO_NEVER);
    sim_host_advance(&fixture.sim, 2000);
    EXPECT_TEXT(fixture.order, "a");
}

TEST(timers_can_be_fired_one_by_one)
{
    struct fixture fixture;
    fixture_init(&fixture);
    EXPECT(!sim_host_fire_next(&fixture.sim));
    arm(&fixture.a, 1100);
    arm(&fixture.b, 1100);

    EXPECT(sim_host_fire_next(&fixture.sim));
    EXPECT_TEXT(fixture.order, "a");
    EXPECT_EQ(fixture.sim.now, 1100);
    EXPECT(sim_host_fire_next(&fixture.sim));
    EXPECT(!sim_host_fire_next(&fixture.sim));
    EXPECT_TEXT(fixture.order, "ab");
}

TEST(a_timer_for_never_does_not_fire)
{
    struct fixture fixture;
    fixture_init(&fixture);
    arm(&fixture.a, MONO_NEVER);
    EXPECT(!sim_host_fire_next(&fixture.sim));
    sim_host_advance(&fixture.sim, MONO_NEVER - 1);
    EXPECT_TEXT(fixture.order, "");
}

TEST(the_seed_decides_what_the_host_draws)
{
    struct sim_host first;
    struct sim_host second;
    sim_host_init(&first, 1, 42);
    sim_host_init(&second, 1, 42);
    const uint64_t drawn = first.host.random(&first.host);
    EXPECT_EQ(second.host.random(&second.host), drawn);
    EXPECT(first.host.random(&first.host) != drawn);

    sim_host_init(&second, 1, 43);
    EXPECT(second.host.random(&second.host) != drawn);
}

TEST(h4_the_simulated_host_allocates_nothing)
{
    const uint64_t allocations = test_allocations();
    struct fixture fixture;
    fixture_init(&fixture);
    arm(&fixture.a, 1100);
    sim_host_advance(&fixture.sim, 1200);
    EXPECT_EQ(test_allocations(), allocations);
}
