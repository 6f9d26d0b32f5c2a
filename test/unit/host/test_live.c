/* Runtimes on real files: what they see of each other, and what a crash leaves.
 * Time is the test's own, except where a process waits for another. */

#include "host/live.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/live_kit.h"
#include "lib/test.h"
#include "replica/session.h"
#include "store/observations.h"

/* -- Committing ---------------------------------------------------------- */

TEST(in_memory_a_runtime_needs_no_file)
{
    const struct live_options options = {0};
    struct live *live = site_enter_with(&options);
    site_put(live, "a", 5);
    site_settle(live);
    EXPECT_EQ(live_outstanding(live), 0);
    EXPECT_EQ(site_number(live, "a"), 5);
    EXPECT_EQ(live_next_wake(live), MONO_NEVER);
    site_leave(live);
}

TEST(l7_in_memory_there_is_no_store_and_what_is_put_is_confirmed_at_once)
{
    const struct live_options options = {0};
    struct live *live = site_enter_with(&options);
    struct space *other;
    struct err_detail detail;
    EXPECT_EQ(live_open_space(live, "other", &other, &detail), ERR_OK);
    EXPECT(live_engine(live, value_text_new("main")) == NULL);
    EXPECT(live_engine(live, other->id) == NULL);
    EXPECT_EQ(live_runtime(live)->replica.sessions, 0);
    site_put(live, "a", 5);
    EXPECT_EQ(live_outstanding(live), 0);
    EXPECT_EQ(site_number(live, "a"), 5);
    EXPECT(live_trouble(live) == NULL);
    site_leave(live);
}

TEST(what_was_confirmed_is_there_after_a_drop_and_the_rest_is_not)
{
    static const enum durability levels[] = {
        DURABILITY_FULL,
        DURABILITY_NORMAL,
    };
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        struct site site;
        site_begin(&site);
        struct live_options options = site_options(&site);
        options.durability = levels[i];
        struct live *live = site_enter_with(&options);
        site_put(live, "a", 5);
        site_settle(live);
        site_put(live, "a", 6);
        EXPECT_EQ(live_outstanding(live), 1);
        live_drop(live);
        live = site_enter_with(&options);
        EXPECT_EQ(site_number(live, "a"), 5);
        site_leave(live);
        site_end(&site);
    }
}

TEST(stopping_confirms_what_is_outstanding)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "a", 5);
    EXPECT_EQ(live_outstanding(live), 1);
    site_leave(live);
    live = site_enter(&site);
    EXPECT_EQ(site_number(live, "a"), 5);
    site_leave(live);
    site_end(&site);
}

/* What a computation writes because of it, too. */
static enum run_result copy(struct run *run, void *ctx)
{
    struct place *const *places = ctx;
    struct value value;
    const enum err err = run_read(run, places[0], READ_DEEP, 0, &value);
    if (err == ERR_OK) {
        EXPECT_EQ(
            transaction_put_adopt(run->transaction, places[1], value, NULL),
            ERR_OK);
    }
    return RUN_DONE;
}

static enum run_result look(struct run *run, void *ctx)
{
    struct place *const *places = ctx;
    struct value value;
    if (run_read(run, places[1], READ_DEEP, 0, &value) == ERR_OK) {
        value_unref(value);
    }
    return RUN_DONE;
}

TEST(a_step_writes_what_was_put_and_what_came_of_it_in_one_transaction)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    struct runtime *runtime = live_runtime(live);
    struct place *places[] = {site_at(live, "a"), site_at(live, "b")};
    const struct node_spec copier = {
        .kind = NODE_COMPUTATION,
        .run = copy,
        .ctx = places,
        .outputs = &places[1],
        .output_count = 1,
    };
    const struct node_spec looker = {
        .kind = NODE_EFFECT,
        .run = look,
        .ctx = places,
    };
    (void)sched_register(runtime->sched, &copier);
    (void)sched_register(runtime->sched, &looker);
    site_settle(live);
    const struct engine *engine = live_engine(live, runtime->spaces.at[0]->id);
    const uint64_t before = database_changes(&engine->database);
    site_put(live, "c", 1);
    (void)live_step(live);
    const uint64_t changes = database_changes(&engine->database);
    const uint64_t seq = engine->seq;
    site_put(live, "a", 1);
    site_put(live, "c", 2);
    site_put(live, "d", 1);
    (void)live_step(live);
    EXPECT_EQ(engine->seq - seq, 4); /* with the copy */
    EXPECT_EQ(database_changes(&engine->database) - changes, changes - before);
    EXPECT_EQ(live_outstanding(live), 0);
    place_unref(places[0]);
    place_unref(places[1]);
    site_leave(live);
    site_end(&site);
}

/* -- Others -------------------------------------------------------------- */

TEST(l2_what_another_host_commits_is_there_at_the_next_step)
{
    struct site site;
    site_begin(&site);
    struct live *one = site_enter(&site);
    struct live *two = site_enter(&site);
    EXPECT_EQ(site_number(two, "a"), -1);
    for (int64_t i = 0; i < 5; i++) {
        site_put(one, "a", i);
        site_settle(one);
        EXPECT_EQ(site_number(two, "a"), i - 1);
        (void)live_step(two); /* no time has passed: it was told */
        EXPECT_EQ(site_number(two, "a"), i);
        site_put(two, "b", i);
        site_settle(two);
    }
    (void)live_step(one);
    EXPECT_EQ(site_number(one, "b"), 4);
    site_leave(one);
    site_leave(two);
    site_end(&site);
}

TEST(l2_who_waits_for_others_sleeps_for_long_and_has_a_descriptor_to_wait_on)
{
    struct site site;
    site_begin(&site);
    struct live *one = site_enter(&site);
    struct live *two = site_enter(&site);
    (void)site_number(two, "a");
    site_settle(two);
    EXPECT_EQ(live_next_wake(two), site.sim.now + LIVE_QUIET_MS);
    struct pollfd fd = {.fd = live_fd(two), .events = POLLIN};
    EXPECT_INT(poll(&fd, 1, 0), 0);
    site_put(one, "a", 1);
    site_settle(one);
    EXPECT_INT(poll(&fd, 1, 0), 1);
    EXPECT_EQ(live_wait(two, MONO_NEVER), LIVE_WORK);
    (void)live_step(two);
    EXPECT_INT(poll(&fd, 1, 0), 0);
    EXPECT_EQ(site_number(two, "a"), 1);
    site_leave(one);
    site_leave(two);
    site_end(&site);
}

/* Makes the counter of the first space what it is while somebody writes, or
 * what it is afterwards. */
static void set_counter(const struct site *site, uint64_t number)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/main.db-lock", site->folder);
    FILE *file = fopen(path, "r+");
    CHECK(file != NULL);
    EXPECT_EQ(fwrite(&number, sizeof number, 1, file), 1);
    CHECK(fclose(file) == 0);
}

/* The lock that a writer has; to be closed. */
static FILE *lock_as_writer(const struct site *site)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/main.db-lock", site->folder);
    FILE *file = fopen(path, "r+");
    CHECK(file != NULL);
    EXPECT_INT(flock(fileno(file), LOCK_EX | LOCK_NB), 0);
    return file;
}

TEST(l2_a_write_that_a_dead_process_has_begun_keeps_nobody_looking)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "a", 1);
    site_settle(live);
    set_counter(&site, 101);
    (void)live_step(live);
    EXPECT_EQ(live_next_wake(live), site.sim.now + LIVE_QUIET_MS);
    site_leave(live);
    site_end(&site);
}

TEST(l2_while_somebody_writes_it_is_looked_for_the_end_of_that)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "a", 1);
    site_settle(live);
    FILE *writer = lock_as_writer(&site);
    set_counter(&site, 101);
    for (int i = 0; i < 20; i++) {
        (void)live_step(live);
        const mono_ms wake = live_next_wake(live);
        EXPECT(wake <= site.sim.now + LIVE_POLL_MS);
        site.sim.now = wake > site.sim.now ? wake : site.sim.now;
    }
    EXPECT(site.sim.now > 1000 + 5 * LIVE_POLL_MS); /* and not all the time */
    set_counter(&site, 102);
    CHECK(fclose(writer) == 0);
    (void)live_step(live);
    EXPECT_EQ(live_next_wake(live), site.sim.now + LIVE_QUIET_MS);
    site_leave(live);
    site_end(&site);
}

TEST(a_conflict_between_hosts_has_one_winner_and_both_see_it)
{
    struct site site;
    site_begin(&site);
    struct live *one = site_enter(&site);
    struct live *two = site_enter(&site);
    struct place *place = site_at(two, "a");
    site_put(one, "a", 1);
    site_settle(one);
    struct transaction *transaction =
        transaction_begin(&live_runtime(two)->replica, NULL);
    struct value value;
    EXPECT_EQ(transaction_read(transaction, place, READ_DEEP, 0, &value),
              ERR_NOT_FOUND);
    EXPECT_EQ(transaction_put_adopt(transaction, place, value_int(2), NULL),
              ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, NULL), ERR_OK);
    transaction_release(transaction);
    EXPECT_EQ(site_number(two, "a"), 2);
    site_settle(two);
    EXPECT_EQ(site_number(two, "a"), 1);
    place_unref(place);
    site_leave(one);
    site_leave(two);
    site_end(&site);
}

TEST(another_space_can_be_opened_later_and_is_a_file_of_its_own)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    struct space *space;
    struct space *again;
    EXPECT_EQ(live_open_space(live, "main-wal", &space, NULL), ERR_OK);
    EXPECT_EQ(live_open_space(live, "main-wal", &again, NULL), ERR_OK);
    EXPECT(space == again);
    EXPECT_EQ(live_runtime(live)->spaces.count, 2);
    site_put(live, "a", 1);
    site_settle(live);
    EXPECT_EQ(live_open_space(live, "../up", &space, NULL), ERR_ARGUMENT);
    EXPECT_EQ(live_open_space(live, "fifteen letters", &space, NULL), ERR_OK);
    site_leave(live);
    char path[300];
    (void)snprintf(path, sizeof path, "%s/main-wal.db", site.folder);
    EXPECT_INT(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/fifteen letters.db", site.folder);
    EXPECT_INT(access(path, F_OK), 0);
    site_end(&site);
}

/* -- Sessions ------------------------------------------------------------ */

TEST(l4_a_session_is_new_unless_it_is_named_and_then_it_goes_on)
{
    struct site site;
    site_begin(&site);
    struct live *one = site_enter(&site);
    struct live *two = site_enter(&site);
    struct value names[] = {live_session(one), live_session(two)};
    EXPECT(strcmp(value_text(&names[0]).at, value_text(&names[1]).at) != 0);
    site_leave(one);
    site_leave(two);
    struct live_options options = site_options(&site);
    static const char *const users[] = {NULL, "ada"};
    for (size_t user = 0; user < COUNT_OF(users); user++) {
        options.session = "kitchen";
        options.user = users[user];
        for (int64_t i = 1; i < 4; i++) {
            one = site_enter_with(&options);
            site_put(one, "a", i);
            site_put(one, "b", i);
            site_settle(one);
            EXPECT_EQ(site_number(one, "a"), i); /* no REPLAY_MISMATCH */
            site_leave(one);
        }
    }
    site_end(&site);
}

TEST(names_that_no_store_would_take_are_refused_at_once)
{
    struct site site;
    site_begin(&site);
    struct live *live;
    struct err_detail detail = {0};
    struct live_options options = site_options(&site);
    options.session = "session:x";
    EXPECT_EQ(live_open(&options, &live, &detail), ERR_ARGUMENT);
    EXPECT_CONTAINS(detail.text, "does not begin with 'session:'");
    options.session = "";
    EXPECT_EQ(live_open(&options, &live, &detail), ERR_ARGUMENT);
    options.session = NULL;
    options.user = "";
    EXPECT_EQ(live_open(&options, &live, &detail), ERR_ARGUMENT);
    EXPECT(live == NULL);
    site_end(&site);
}

/* -- Interrupts ---------------------------------------------------------- */

static struct live *signalled;

static void on_signal(int number)
{
    (void)number;
    live_interrupt(signalled);
}

TEST(an_interrupt_ends_the_wait_that_comes_next_once)
{
    struct site site;
    site_begin(&site);
    signalled = site_enter(&site);
    struct sigaction old;
    const struct sigaction action = {.sa_handler = on_signal};
    CHECK(sigaction(SIGUSR1, &action, &old) == 0);
    CHECK(raise(SIGUSR1) == 0 && raise(SIGUSR1) == 0);
    EXPECT_EQ(live_wait(signalled, MONO_NEVER), LIVE_INTERRUPTED);
    EXPECT_EQ(live_wait(signalled, live_now(signalled)), LIVE_DEADLINE);
    struct pollfd fd = {.fd = live_fd(signalled), .events = POLLIN};
    EXPECT_INT(poll(&fd, 1, 0), 0);
    CHECK(raise(SIGUSR1) == 0);
    EXPECT_INT(poll(&fd, 1, 0), 1);
    EXPECT_EQ(live_wait(signalled, MONO_NEVER), LIVE_INTERRUPTED);
    CHECK(sigaction(SIGUSR1, &old, NULL) == 0);
    site_leave(signalled);
    site_end(&site);
}

static enum run_result endless(struct run *run, void *ctx)
{
    struct site *site = ctx;
    sched_invalidate(run->sched, run->node);
    if (++site->runs == 5) {
        live_interrupt(signalled);
    }
    return RUN_DONE;
}

TEST(an_interrupt_ends_what_would_never_come_to_rest)
{
    struct site site;
    site_begin(&site);
    signalled = site_enter(&site);
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = endless,
        .ctx = &site,
    };
    (void)sched_register(live_runtime(signalled)->sched, &spec);
    EXPECT_EQ(live_settle(signalled, MONO_NEVER), LIVE_STOPPED);
    site_leave(signalled); /* without another run */
    EXPECT(site.runs < 1000);
    site_end(&site);
}

/* -- Taking up a piece --------------------------------------------------- */

struct watched {
    struct site *site;
    struct place *place;
};

static enum run_result watch(struct run *run, void *ctx)
{
    struct watched *watched = ctx;
    struct value value;
    watched->site->runs++;
    if (run_read(run, watched->place, READ_DEEP, 0, &value) == ERR_OK) {
        value_unref(value);
    }
    return RUN_DONE;
}

static void register_in(struct live *live, struct watched *watched)
{
    const struct node_identity identity = {
        .space = live_runtime(live)->spaces.at[0],
        .piece = value_text_new("piece"),
        .generation = 1,
        .action = digest_of_bytes("test", "watch", 5),
    };
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = watch,
        .ctx = watched,
        .identity = &identity,
    };
    (void)sched_register(live_runtime(live)->sched, &spec);
    value_unref(identity.piece);
}

TEST(a_piece_is_taken_up_from_the_files_with_no_run)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "a", 1);
    site_settle(live);
    struct watched watched = {&site, site_at(live, "a")};
    register_in(live, &watched);
    site_settle(live);
    EXPECT_EQ(site.runs, 1);
    place_unref(watched.place);
    site_leave(live);

    live = site_enter(&site);
    struct runtime *runtime = live_runtime(live);
    struct resume_set set;
    struct value piece = value_text_new("piece");
    EXPECT_EQ(runtime->resume(runtime->resume_ctx,
                              runtime->spaces.at[0],
                              piece,
                              &set,
                              NULL),
              ERR_OK);
    EXPECT_EQ(site.progress, 1);
    EXPECT_EQ(site.total, 1);
    const struct resume_options options =
        resume_set_options(&set, runtime->spaces.at[0], piece, 1);
    EXPECT_EQ(persistence_resume_begin(runtime->sched, &options, NULL), ERR_OK);
    watched.place = site_at(live, "a");
    register_in(live, &watched);
    EXPECT_EQ(persistence_resume_end(runtime->sched).restored, 1);
    resume_set_release(&set);
    value_unref(piece);
    site_settle(live);
    EXPECT_EQ(site.runs, 1);
    site_put(live, "a", 2);
    site_settle(live);
    EXPECT_EQ(site.runs, 2);
    place_unref(watched.place);
    site_leave(live);
    site_end(&site);
}

/* -- Readers elsewhere --------------------------------------------------- */

static void count_reader(void *ctx, const struct observed_reader *reader)
{
    uint64_t *count = ctx;
    EXPECT_TEXT(value_text(&reader->space).at, "main");
    EXPECT_TEXT(value_text(&reader->piece).at, "piece");
    ++*count;
}

/* How many pieces of other spaces the store of that place knows as readers. */
static uint64_t readers_of(struct live *live, const struct place *place)
{
    uint64_t count = 0;
    const struct identity nobody = {VALUE_NONE, VALUE_NONE};
    struct engine_address address = {
        .branch = value_text_new(""),
        .id = place->entity->id,
    };
    EXPECT_EQ(scope_key_new(SCOPE_SPACE, nobody, &address.scope_key, NULL),
              ERR_OK);
    EXPECT_EQ(engine_readers_of(live_engine(live, place->entity->space->id),
                                &address,
                                place->path,
                                count_reader,
                                &count,
                                NULL),
              ERR_OK);
    value_unref(address.scope_key);
    return count;
}

static struct place *place_in(struct live *live, const char *space)
{
    struct space *other;
    struct entity *entity;
    EXPECT_EQ(live_open_space(live, space, &other, NULL), ERR_OK);
    EXPECT_EQ(entity_of(other, SCOPE_SPACE, value_text_new("a"), &entity, NULL),
              ERR_OK);
    EXPECT_EQ(live_load(live, entity, NULL), ERR_OK);
    return place_payload(entity);
}

/* As piece_remove tells it. */
TEST(a_removed_piece_is_forgotten_when_there_is_time)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "a", 1);
    site_settle(live);
    struct watched watched = {&site, site_at(live, "a")};
    register_in(live, &watched);
    site_settle(live);
    struct runtime *runtime = live_runtime(live);
    struct engine *engine = live_engine(live, runtime->spaces.at[0]->id);
    struct collect_counts counts;
    EXPECT_EQ(engine_collect(engine, NULL, NULL, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.actions, 0);
    const struct value piece = value_text_new("piece");
    runtime->forget(runtime->resume_ctx, runtime->spaces.at[0], piece);
    site_settle(live);
    EXPECT_EQ(engine_collect(engine, NULL, NULL, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.actions, 1);
    place_unref(watched.place);
    site_leave(live);
    site_end(&site);
}

TEST(l6_a_space_that_a_piece_of_another_reads_knows_it_also_after_a_restart)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    struct watched watched = {&site, place_in(live, "other")};
    EXPECT_EQ(readers_of(live, watched.place), 0);
    register_in(live, &watched);
    (void)live_step(live);
    site_settle(live);
    EXPECT_EQ(site.runs, 1);
    EXPECT_EQ(readers_of(live, watched.place), 1);
    place_unref(watched.place);
    site_leave(live);

    live = site_enter(&site);
    watched.place = place_in(live, "other");
    EXPECT_EQ(readers_of(live, watched.place), 1);
    place_unref(watched.place);
    site_leave(live);
    site_end(&site);
}

/* -- Processes ----------------------------------------------------------- */

/* On the system's clock: sleeps until the number is there. */
static void wait_for(struct live *live, const char *id, int64_t number)
{
    while (site_number(live, id) < number) {
        EXPECT_EQ(live_wait(live, MONO_NEVER), LIVE_WORK);
        (void)live_step(live);
    }
}

/* Answers each number at "ping" with the same at "pong". */
static int answer(struct site *site, int64_t count)
{
    struct live *live = site_enter_really(site);
    for (int64_t i = 1; i <= count; i++) {
        wait_for(live, "ping", i);
        site_put(live, "pong", i);
        (void)live_step(live);
    }
    return live_stop(live, MONO_NEVER, NULL) == ERR_OK ? 0 : 1;
}

TEST(l2_two_processes_see_each_others_commits_while_they_wait)
{
    enum {
        ROUNDS = 20
    };
    struct site site;
    site_begin(&site);
    const pid_t child = fork(); /* before a file is open: SQLite asks for it */
    if (child == 0) {
        _exit(answer(&site, ROUNDS));
    }
    struct live *live = site_enter_really(&site);
    for (int64_t i = 1; i <= ROUNDS; i++) {
        site_put(live, "ping", i);
        (void)live_step(live);
        wait_for(live, "pong", i);
        EXPECT_EQ(site_number(live, "pong"), i);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT_INT(status, 0);
    EXPECT_EQ(live_stop(live, MONO_NEVER, NULL), ERR_OK);
    site_end(&site);
}

/* The number at both documents, in one transaction. */
static void put_both(struct live *live, int64_t number)
{
    struct place *places[] = {site_at(live, "a"), site_at(live, "b")};
    struct transaction *transaction =
        transaction_begin(&live_runtime(live)->replica, NULL);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        EXPECT_EQ(transaction_put_adopt(transaction,
                                        places[i],
                                        value_int(number),
                                        NULL),
                  ERR_OK);
        place_unref(places[i]);
    }
    EXPECT_EQ(transaction_commit(transaction, NULL), ERR_OK);
    transaction_release(transaction);
}

/* Counts for ever. */
_Noreturn static void count_on(struct site *site)
{
    struct live *live = site_enter_really(site);
    for (int64_t i = 1;; i++) {
        put_both(live, i);
        (void)live_step(live);
    }
}

/* Commits wait while another process has the write lock; here, while the host
 * is interrupted, because then a step sends one group. */
static void send_one_group_and_die(struct live *live, size_t left)
{
    live_interrupt(live);
    (void)live_step(live);
    EXPECT_EQ(live_outstanding(live), left);
    live_drop(live);
}

TEST(a_kill_in_a_backlog_leaves_a_prefix_of_it_which_may_end_inside_a_step)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "c", 1);
    for (int64_t i = 1; i <= SESSION_BATCH_MAX; i++) {
        site_put(live, "a", i);
        site_put(live, "b", i);
    }
    send_one_group_and_die(live, SESSION_BATCH_MAX + 1);
    live = site_enter(&site);
    EXPECT_EQ(site_number(live, "c"), 1);
    EXPECT_EQ(site_number(live, "a"), SESSION_BATCH_MAX / 2);
    EXPECT_EQ(site_number(live, "b"), SESSION_BATCH_MAX / 2 - 1);
    site_leave(live);
    site_end(&site);
}

TEST(a_kill_in_a_backlog_divides_no_transaction)
{
    struct site site;
    site_begin(&site);
    struct live *live = site_enter(&site);
    site_put(live, "c", 1);
    for (int64_t i = 1; i <= SESSION_BATCH_MAX; i++) {
        put_both(live, i);
    }
    send_one_group_and_die(live, 1);
    live = site_enter(&site);
    EXPECT_EQ(site_number(live, "a"), SESSION_BATCH_MAX - 1);
    EXPECT_EQ(site_number(live, "b"), SESSION_BATCH_MAX - 1);
    site_leave(live);
    site_end(&site);
}

/* What must be seen together is one transaction: the commits of a step may be
 * in two groups, as the tests above show. */
TEST(a_process_that_is_killed_harms_nobody)
{
    struct site site;
    site_begin(&site);
    pid_t children[3];
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            count_on(&site);
        }
        CHECK(children[i] > 0);
    }
    struct live *live = site_enter_really(&site);
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        const int64_t before = site_number(live, "a");
        while (site_number(live, "a") == before) {
            EXPECT_EQ(live_wait(live, MONO_NEVER), LIVE_WORK);
            (void)live_step(live);
        }
        CHECK(kill(children[i], SIGKILL) == 0);
        CHECK(waitpid(children[i], NULL, 0) == children[i]);
    }
    EXPECT_EQ(live_settle(live, MONO_NEVER), LIVE_AT_REST);
    site_put(live, "c", 1); /* also if the last one died while it was writing */
    EXPECT_EQ(live_settle(live, MONO_NEVER), LIVE_AT_REST);
    EXPECT_EQ(site_number(live, "a"), site_number(live, "b"));
    EXPECT(live_trouble(live) == NULL);
    EXPECT_EQ(live_stop(live, MONO_NEVER, NULL), ERR_OK);
    live = site_enter_really(&site);
    EXPECT_EQ(site_number(live, "c"), 1);
    EXPECT_EQ(live_stop(live, MONO_NEVER, NULL), ERR_OK);
    site_end(&site);
}
