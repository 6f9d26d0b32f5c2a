/* Refusals that are nobody's fault (runner-4 of sched/runner.h): a store that
 * is newer than this library may name an error that is not known here, which
 * counts as one of the machine. It is tried again a number of times. The store
 * is a script, because no real one says so. */

#include <stdio.h>

#include "lib/replica_kit.h"
#include "lib/test.h"
#include "sched/sched.h"

struct work {
    struct fixture fixture;
    struct sched *sched;
    struct node *node;
    struct place *from;
    struct place *to;
    unsigned runs;
    unsigned errors;
    uint64_t answered;
};

static enum run_result copy(struct run *run, void *ctx)
{
    struct work *work = ctx;
    struct value value;
    work->runs++;
    (void)run_read(run, work->from, READ_DEEP, READ_FOR_BOTH, &value);
    EXPECT_EQ(transaction_put_adopt(run->transaction, work->to, value, NULL),
              ERR_OK);
    return RUN_DONE;
}

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    struct work *work = ctx;
    EXPECT(node == work->node);
    EXPECT_EQ(detail->err, ERR_STORE);
    work->errors++;
}

static void begin(struct work *work)
{
    *work = (struct work){0};
    fixture_open(&work->fixture, "s1");
    const struct sched_options options = {
        .hooks = {.ctx = work, .error = on_error},
    };
    work->sched = sched_new(&work->fixture.replica, &options);
    work->from = fixture_place(&work->fixture, "A");
    work->to = fixture_place(&work->fixture, "B");
    EXPECT_COMMIT(&work->fixture, "put A 1");
    fixture_say(&work->fixture, "verdict 1 @1");
    fixture_say(&work->fixture, "sync 0-1 mark=1");
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = copy,
        .ctx = work,
    };
    work->node = sched_register(work->sched, &spec);
    sched_step(work->sched, 1);
    work->answered = 2;
}

static void end(struct work *work)
{
    sched_free(work->sched);
    place_unref(work->from);
    place_unref(work->to);
    fixture_close(&work->fixture);
}

/* The store answers the last commit. */
static void answer(struct work *work, const char *what)
{
    char line[64];
    (void)snprintf(line,
                   sizeof line,
                   "verdict %u %s",
                   (unsigned)work->answered++,
                   what);
    fixture_say(&work->fixture, line);
    sched_step(work->sched, 1);
}

TEST(a_fault_is_tried_again_a_number_of_times)
{
    struct work work;
    begin(&work);
    for (unsigned i = 1; i < SCHED_ATTEMPTS_MAX; i++) {
        EXPECT_EQ(work.runs, i);
        answer(&work, "STORE");
        EXPECT_EQ(work.node->attempts, i);
    }
    EXPECT_EQ(work.runs, SCHED_ATTEMPTS_MAX);
    EXPECT_EQ(work.errors, 0);
    answer(&work, "STORE");
    EXPECT_EQ(work.errors, 1);
    EXPECT_EQ(work.runs, SCHED_ATTEMPTS_MAX);
    EXPECT_EQ(work.node->causes.count, 0);
    EXPECT_EQ(work.sched->inflight, 0);
    end(&work);
}

TEST(a_change_begins_a_new_count)
{
    struct work work;
    begin(&work);
    for (unsigned i = 0; i < SCHED_ATTEMPTS_MAX; i++) {
        answer(&work, "STORE");
    }
    EXPECT_EQ(work.errors, 1);
    fixture_say(&work.fixture, "sync 1-2 A@2=5");
    sched_step(work.sched, 1);
    EXPECT_EQ(work.runs, SCHED_ATTEMPTS_MAX + 1);
    answer(&work, "STORE");
    EXPECT_EQ(work.runs, SCHED_ATTEMPTS_MAX + 2);
    answer(&work, "@3");
    EXPECT_EQ(work.errors, 1);
    EXPECT_EQ(work.runs, SCHED_ATTEMPTS_MAX + 2);
    EXPECT_TEXT(fixture_see(&work.fixture, "B"), "5");
    end(&work);
}
