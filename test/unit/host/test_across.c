/* D10 between processes: hosts that know nothing of each other, on one folder,
 * with the same piece, a chain of fifty. An edit comes from another one. All of
 * them step, in turns; the time is the test's own. Every run of a computation
 * is counted. */

#include <stdio.h>

#include "lib/live_kit.h"
#include "lib/test.h"
#include "sched/persistence.h"
#include "sched/runner.h"
#include "sched/sched.h"
#include "value/object.h"

enum {
    HOSTS_MAX = 8,
    LENGTH = 50,
    ROUNDS_MAX = 1000,
    ROUND_MS = 5,
};

struct host_of;

struct step {
    struct host_of *host;
    struct place *from;
    struct place *to;
    int64_t modulo; /* 0: adds one */
};

struct host_of {
    struct live *live; /* NULL: gone */
    struct step steps[LENGTH + 1];
    size_t step_count;
    struct place *looked_at;
    uint64_t runs;
    uint64_t looks;
};

struct crowd {
    struct site site;
    struct live *editor;
    struct host_of hosts[HOSTS_MAX];
    size_t count;
};

/* -- Nodes --------------------------------------------------------------- */

static enum run_result do_step(struct run *run, void *ctx)
{
    struct step *step = ctx;
    struct value value = VALUE_NONE;
    step->host->runs++;
    if (run_read(run, step->from, READ_DEEP, 0, &value) != ERR_OK ||
        value_kind(value) != VALUE_INT) {
        value_unref(value);
        return RUN_DONE;
    }
    const int64_t number = value_integer(value);
    value_unref(value);
    const int64_t result =
        step->modulo != 0 ? number % step->modulo : number + 1;
    EXPECT_EQ(transaction_put_adopt(run->transaction,
                                    step->to,
                                    value_int(result),
                                    NULL),
              ERR_OK);
    return RUN_DONE;
}

static enum run_result look(struct run *run, void *ctx)
{
    struct host_of *host = ctx;
    struct value value = VALUE_NONE;
    host->looks++;
    if (run_read(run, host->looked_at, READ_DEEP, 0, &value) == ERR_OK) {
        value_unref(value);
    }
    return RUN_DONE;
}

static struct node_identity identity_of(struct live *live, const char *name)
{
    return (struct node_identity){
        .space = live_runtime(live)->spaces.at[0],
        .piece = value_text_new("piece"),
        .generation = 1,
        .action = digest_of_bytes("test", name, strlen(name)),
    };
}

static void add_step(struct host_of *host,
                     const char *from,
                     const char *to,
                     int64_t modulo)
{
    struct step *step = &host->steps[host->step_count++];
    *step = (struct step){
        .host = host,
        .from = site_at(host->live, from),
        .to = site_at(host->live, to),
        .modulo = modulo,
    };
    const struct node_identity identity = identity_of(host->live, to);
    struct place *outputs[] = {step->to};
    const struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = do_step,
        .ctx = step,
        .outputs = outputs,
        .output_count = 1,
        .identity = &identity,
    };
    (void)sched_register(live_runtime(host->live)->sched, &spec);
}

/* n0 -> n1 -> ... -> n49 -> odd, of which the last seldom changes. */
static void add_nodes(struct host_of *host)
{
    for (int i = 1; i < LENGTH; i++) {
        char from[16];
        char to[16];
        (void)snprintf(from, sizeof from, "n%d", i - 1);
        (void)snprintf(to, sizeof to, "n%d", i);
        add_step(host, from, to, 0);
    }
    add_step(host, "n49", "odd", 2);
    host->looked_at = site_at(host->live, "odd");
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = look,
        .ctx = host,
    };
    (void)sched_register(live_runtime(host->live)->sched, &spec);
}

static void take_up(struct host_of *host)
{
    struct runtime *runtime = live_runtime(host->live);
    struct space *space = runtime->spaces.at[0];
    struct value piece = value_text_new("piece");
    struct resume_set set;
    EXPECT_EQ(runtime->resume(runtime->resume_ctx, space, piece, &set, NULL),
              ERR_OK);
    const struct resume_options options =
        resume_set_options(&set, space, piece, 1);
    EXPECT_EQ(persistence_resume_begin(runtime->sched, &options, NULL), ERR_OK);
    add_nodes(host);
    (void)persistence_resume_end(runtime->sched);
    resume_set_release(&set);
    value_unref(piece);
}

/* -- Hosts --------------------------------------------------------------- */

static const struct sched_counters *counters(const struct host_of *host)
{
    return &live_runtime(host->live)->sched->counters;
}

static bool is_settled(struct live *live)
{
    return sched_is_settled(live_runtime(live)->sched) &&
           live_outstanding(live) == 0;
}

/* All step in turns until none has anything to do. Returns how long it took. */
static mono_ms settle(struct crowd *crowd)
{
    const mono_ms began = crowd->site.sim.now;
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        bool idle = true;
        for (size_t i = 0; i < crowd->count; i++) {
            if (crowd->hosts[i].live != NULL) {
                (void)live_step(crowd->hosts[i].live);
                idle = is_settled(crowd->hosts[i].live) && idle;
            }
        }
        if (idle && round > 1) {
            return crowd->site.sim.now - began;
        }
        sim_host_advance(&crowd->site.sim, crowd->site.sim.now + ROUND_MS);
    }
    EXPECT(false);
    return 0;
}

/* Their names give up at different times. */
static void enter(struct crowd *crowd)
{
    static const char *const names[HOSTS_MAX] =
        {"one", "two", "three", "four", "five", "six", "seven", "eight"};
    struct host_of *host = &crowd->hosts[crowd->count];
    struct live_options options = site_options(&crowd->site);
    options.session = names[crowd->count++];
    host->live = site_enter_with(&options);
    take_up(host);
    (void)settle(crowd);
}

static void leave(struct host_of *host, bool killed)
{
    for (size_t i = 0; i < host->step_count; i++) {
        place_unref(host->steps[i].from);
        place_unref(host->steps[i].to);
    }
    place_unref(host->looked_at);
    if (killed) {
        live_drop(host->live);
    } else {
        site_leave(host->live);
    }
    host->live = NULL;
}

static void edit(struct crowd *crowd, int64_t number)
{
    site_put(crowd->editor, "n0", number);
    site_settle(crowd->editor);
}

static void crowd_begin(struct crowd *crowd, size_t count)
{
    *crowd = (struct crowd){0};
    site_begin(&crowd->site);
    crowd->editor = site_enter(&crowd->site);
    edit(crowd, 1);
    for (size_t i = 0; i < count; i++) {
        enter(crowd);
    }
}

static void crowd_end(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++) {
        if (crowd->hosts[i].live != NULL) {
            leave(&crowd->hosts[i], false);
        }
    }
    site_leave(crowd->editor);
    site_end(&crowd->site);
}

static uint64_t runs_of(const struct crowd *crowd)
{
    uint64_t runs = 0;
    for (size_t i = 0; i < crowd->count; i++) {
        runs += crowd->hosts[i].runs;
    }
    return runs;
}

static void expect_all(struct crowd *crowd, const char *id, int64_t number)
{
    for (size_t i = 0; i < crowd->count; i++) {
        if (crowd->hosts[i].live != NULL) {
            EXPECT_INT(site_number(crowd->hosts[i].live, id), number);
        }
    }
    site_settle(crowd->editor);
    EXPECT_INT(site_number(crowd->editor, id), number);
}

/* -- The work of one ----------------------------------------------------- */

static void expect_work_of_one(size_t count)
{
    enum {
        EDITS = 5
    };
    static struct crowd crowd;
    crowd_begin(&crowd, count);
    EXPECT_EQ(runs_of(&crowd), LENGTH);
    for (int64_t i = 1; i <= EDITS; i++) {
        edit(&crowd, i * 10);
        (void)settle(&crowd);
        expect_all(&crowd, "n49", i * 10 + 49);
        expect_all(&crowd, "odd", 1);
        EXPECT_EQ(runs_of(&crowd), (uint64_t)(i + 1) * LENGTH);
    }
    for (size_t i = 1; i < count; i++) {
        EXPECT_EQ(crowd.hosts[i].runs, 0);
        EXPECT_EQ(counters(&crowd.hosts[i])->adopted, EDITS * LENGTH);
        EXPECT_EQ(counters(&crowd.hosts[i])->vain, 0);
    }
    crowd_end(&crowd);
}

TEST(d10_one_process_runs_everything_once)
{
    expect_work_of_one(1);
}

TEST(d10_2_processes_run_what_one_runs)
{
    expect_work_of_one(2);
}

TEST(d10_4_processes_run_what_one_runs)
{
    expect_work_of_one(4);
}

TEST(d10_8_processes_run_what_one_runs)
{
    expect_work_of_one(8);
}

/* The author of an edit runs what follows from it. */
TEST(d10_who_edits_runs_it_and_the_others_adopt_that)
{
    static struct crowd crowd;
    crowd_begin(&crowd, 3);
    const uint64_t before = runs_of(&crowd);
    site_put(crowd.hosts[1].live, "n0", 20);
    (void)live_step(crowd.hosts[1].live);
    (void)settle(&crowd);
    expect_all(&crowd, "n49", 69);
    EXPECT_EQ(crowd.hosts[1].runs, LENGTH);
    EXPECT_EQ(runs_of(&crowd), before + LENGTH);
    /* And is the one who runs it from now on. */
    edit(&crowd, 30);
    (void)settle(&crowd);
    EXPECT_EQ(crowd.hosts[1].runs, 2 * LENGTH);
    EXPECT_EQ(runs_of(&crowd), before + 2 * LENGTH);
    crowd_end(&crowd);
}

/* What comes in one message hides that an input was something else meanwhile;
 * the outputs of that time are in it. */
TEST(p11_what_a_peer_ran_for_inputs_that_changed_back_is_run_again)
{
    static struct crowd crowd;
    crowd_begin(&crowd, 2);
    site_put(crowd.hosts[0].live, "n0", 20);
    for (unsigned i = 0; i < 10; i++) {
        (void)live_step(crowd.hosts[0].live);
    }
    EXPECT_EQ(site_number(crowd.hosts[0].live, "n49"), 69);
    leave(&crowd.hosts[0], false);
    site_settle(crowd.editor);
    edit(&crowd, 1);
    (void)settle(&crowd);
    expect_all(&crowd, "n1", 2);
    expect_all(&crowd, "n49", 50);
    expect_all(&crowd, "odd", 0);
    crowd_end(&crowd);
}

/* -- Who is gone --------------------------------------------------------- */

TEST(p9_a_process_that_is_killed_is_waited_for_once)
{
    static struct crowd crowd;
    crowd_begin(&crowd, 4);
    edit(&crowd, 10);
    (void)settle(&crowd);
    leave(&crowd.hosts[0], true);
    const uint64_t before = runs_of(&crowd);
    edit(&crowd, 20);
    const mono_ms first = settle(&crowd);
    expect_all(&crowd, "n49", 69);
    EXPECT_EQ(runs_of(&crowd), before + LENGTH); /* one of them gave up */
    EXPECT(first <= 3 * PERSISTENCE_GRACE_MS);
    uint64_t vain = 0;
    for (size_t i = 1; i < crowd.count; i++) {
        vain += counters(&crowd.hosts[i])->vain;
    }
    EXPECT_EQ(vain, 1);
    edit(&crowd, 30);
    const mono_ms second = settle(&crowd);
    expect_all(&crowd, "n49", 79);
    EXPECT_EQ(runs_of(&crowd), before + 2 * LENGTH);
    EXPECT(second < PERSISTENCE_GRACE_MS);
    crowd_end(&crowd);
}

TEST(p9_the_last_one_that_is_left_waits_once_and_never_again)
{
    static struct crowd crowd;
    crowd_begin(&crowd, 2);
    leave(&crowd.hosts[0], true);
    for (int64_t i = 1; i <= 3; i++) {
        edit(&crowd, i * 10);
        const mono_ms took = settle(&crowd);
        EXPECT(took < PERSISTENCE_GRACE_MS || i == 1);
        expect_all(&crowd, "n49", i * 10 + 49);
    }
    EXPECT_EQ(counters(&crowd.hosts[1])->waits, 1);
    EXPECT_EQ(counters(&crowd.hosts[1])->vain, 1);
    EXPECT_EQ(crowd.hosts[1].runs, 3 * LENGTH);
    crowd_end(&crowd);
}

/* A host that comes when the others are gone finds nobody there. */
TEST(p9_who_takes_up_a_piece_alone_waits_for_nobody)
{
    static struct crowd crowd;
    crowd_begin(&crowd, 1);
    leave(&crowd.hosts[0], true);
    live_drop(crowd.editor); /* who listens as well */
    enter(&crowd);
    crowd.editor = site_enter(&crowd.site);
    edit(&crowd, 10);
    EXPECT(settle(&crowd) < PERSISTENCE_GRACE_MS);
    EXPECT_EQ(counters(&crowd.hosts[1])->waits, 0);
    expect_all(&crowd, "n49", 59);
    crowd_end(&crowd);
}

/* Who was killed comes back, and takes part again. */
TEST(d10_a_process_that_comes_back_adopts_again)
{
    static struct crowd crowd;
    crowd_begin(&crowd, 2);
    leave(&crowd.hosts[0], true);
    edit(&crowd, 10);
    (void)settle(&crowd);
    enter(&crowd);
    const uint64_t before = runs_of(&crowd);
    edit(&crowd, 20);
    (void)settle(&crowd);
    expect_all(&crowd, "n49", 69);
    EXPECT_EQ(runs_of(&crowd), before + LENGTH);
    EXPECT_EQ(crowd.hosts[2].runs, 0);
    crowd_end(&crowd);
}
