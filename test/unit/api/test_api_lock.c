/* Several processes and runtimes at the write lock of one directory: no call
 * waits for it longer than it was told to, and each gets its turn.
 *
 * The lock is held until the test says otherwise, or HOLD_MS have passed: more
 * than all deadlines here together, and less than a wait for the lock would
 * take. So a call that comes back in time has not waited for it. */

#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/api/fixture.h"

enum {
    HOLD_MS = 9000,
    SOON_MS = 200,   /* a deadline that comes */
    LATE_MS = 60000, /* one that does not */
};

/* -- A process that holds the lock --------------------------------------- */

struct holder {
    pid_t pid;
    int tell; /* it lets go when this is closed */
    int hear;
};

/* Its code is 0 if it was told to let go, and did not do it by itself. */
static void hold(const char *folder, int hear, int tell)
{
    char path[300];
    struct engine engine;
    struct err_detail detail;
    (void)snprintf(path, sizeof path, "%s/main.db", folder);
    const struct engine_options options = {.path = path};
    if (engine_open(&engine, &options, &detail) != ERR_OK ||
        engine_write_begin(&engine, &detail) != ERR_OK ||
        write(tell, "h", 1) != 1) {
        _exit(2);
    }
    struct pollfd told = {.fd = hear, .events = POLLIN};
    const bool in_time = poll(&told, 1, HOLD_MS) == 1;
    if (engine_write_end(&engine, ERR_OK, &detail) != ERR_OK) {
        _exit(3);
    }
    engine_close(&engine);
    _exit(in_time ? 0 : 1);
}

static void holder_begin(struct holder *holder, const char *folder)
{
    int down[2];
    int up[2];
    char byte = 0;
    CHECK(pipe(down) == 0 && pipe(up) == 0);
    holder->pid = fork();
    CHECK(holder->pid >= 0);
    if (holder->pid == 0) {
        (void)close(down[1]);
        (void)close(up[0]);
        hold(folder, down[0], up[1]);
    }
    (void)close(down[0]);
    (void)close(up[1]);
    holder->tell = down[1];
    holder->hear = up[0];
    EXPECT_INT(read(holder->hear, &byte, 1), 1);
}

/* It has held the lock all the time. */
static void holder_end(struct holder *holder)
{
    int status = 0;
    (void)close(holder->tell);
    (void)close(holder->hear);
    EXPECT_INT(waitpid(holder->pid, &status, 0), holder->pid);
    EXPECT_INT(WIFEXITED(status) ? WEXITSTATUS(status) : 99, 0);
}

/* -- Runtimes on the system's clock -------------------------------------- */

static hd_runtime *open_at(const char *folder)
{
    hd_runtime *runtime = NULL;
    hd_error error;
    const hd_runtime_options options = {.directory = folder};
    EXPECT_INT(hd_runtime_open(&options, &runtime, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    return runtime;
}

static hd_cell *cell_at(hd_runtime *runtime, const char *document)
{
    hd_cell *cell = NULL;
    EXPECT_INT(hd_cell_new(runtime, document, NULL, &cell, NULL), HD_OK);
    return cell;
}

static uint64_t after(hd_runtime *runtime, uint64_t ms)
{
    uint64_t now = 0;
    EXPECT_INT(hd_runtime_now(runtime, &now), HD_OK);
    return now + ms;
}

static void settle(hd_runtime *runtime)
{
    hd_error error;
    EXPECT_INT(hd_runtime_settled(runtime, after(runtime, LATE_MS), &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
}

/* A directory with a cell "n" that is 1. */
static void folder_begin(char *folder, size_t size)
{
    kit_folder_new(folder, size);
    hd_runtime *runtime = open_at(folder);
    hd_cell *n = cell_at(runtime, "n");
    set_json(n, "1");
    settle(runtime);
    hd_cell_free(n);
    hd_runtime_free(runtime);
}

static void expect_names(const hd_error *error, pid_t pid)
{
    char name[64];
    (void)snprintf(name, sizeof name, "process %d (", (int)pid);
    if (!EXPECT(strstr(error->text, name) != NULL)) {
        EXPECT_TEXT(error->text, name);
    }
}

TEST(opening_reading_and_stepping_do_not_wait_for_the_lock)
{
    char folder[256];
    struct holder holder;
    hd_error error;
    folder_begin(folder, sizeof folder);
    holder_begin(&holder, folder);
    hd_runtime *runtime = open_at(folder);
    hd_cell *n = cell_at(runtime, "n");
    expect_json(n, "1");
    set_json(n, "2");
    EXPECT_INT(hd_runtime_step(runtime, HD_NOW, &error), HD_OK);
    expect_json(n, "2"); /* here it is what was written */
    uint64_t wake = 0;
    EXPECT_INT(hd_runtime_next_wake(runtime, &wake), HD_OK);
    EXPECT(wake < HD_NEVER); /* it asks again */
    EXPECT_INT(hd_runtime_settled(runtime, after(runtime, SOON_MS), &error),
               HD_TIMEOUT);
    expect_names(&error, holder.pid);
    EXPECT(error.may_have_happened);
    EXPECT_INT(hd_runtime_close(runtime, after(runtime, SOON_MS), &error),
               HD_TIMEOUT);
    expect_names(&error, holder.pid);
    hd_cell_free(n);
    hd_runtime_free(runtime);
    holder_end(&holder);
    runtime = open_at(folder);
    n = cell_at(runtime, "n");
    expect_json(n, "1");
    hd_cell_free(n);
    hd_runtime_free(runtime);
    kit_folder_remove(folder);
}

static hd_runtime *interrupted_by_alarm;

static void on_alarm(int number)
{
    (void)number;
    (void)hd_interrupt(interrupted_by_alarm);
}

/* 0: no more. */
static void set_alarm(hd_runtime *runtime, int ms)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval soon = {.it_value = {.tv_usec = ms * 1000}};
    interrupted_by_alarm = runtime;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

TEST(a_wait_for_the_lock_ends_at_an_interrupt)
{
    char folder[256];
    struct holder holder;
    hd_error error;
    folder_begin(folder, sizeof folder);
    holder_begin(&holder, folder);
    hd_runtime *runtime = open_at(folder);
    hd_cell *n = cell_at(runtime, "n");
    set_json(n, "2");
    set_alarm(runtime, SOON_MS);
    EXPECT_INT(hd_runtime_settled(runtime, after(runtime, LATE_MS), &error),
               HD_INTERRUPTED);
    set_alarm(runtime, SOON_MS);
    EXPECT_INT(hd_runtime_close(runtime, after(runtime, LATE_MS), &error),
               HD_INTERRUPTED);
    set_alarm(runtime, 0);
    holder_end(&holder);
    settle(runtime); /* and goes on when the lock is free */
    hd_cell_free(n);
    hd_runtime_free(runtime);
    runtime = open_at(folder);
    n = cell_at(runtime, "n");
    expect_json(n, "2");
    hd_cell_free(n);
    hd_runtime_free(runtime);
    kit_folder_remove(folder);
}

/* -- An edit whose caller stops waiting ---------------------------------- */

struct left {
    const char *folder;
    hd_cell *n;
    struct holder holder;
    unsigned calls;
};

/* Another runtime changes what was read, a process takes the lock, and the wait
 * for the answer is interrupted. */
static hd_status conflict_and_interrupt(hd_runtime *runtime, void *context)
{
    struct left *left = context;
    int64_t found = 0;
    left->calls++;
    const hd_status status = hd_cell_get_int(left->n, &found, NULL);
    hd_runtime *other = open_at(left->folder);
    hd_cell *n = cell_at(other, "n");
    set_json(n, "7");
    settle(other);
    hd_cell_free(n);
    hd_runtime_free(other);
    holder_begin(&left->holder, left->folder);
    EXPECT_INT(hd_interrupt(runtime), HD_OK);
    return status == HD_OK ? hd_cell_set_int(left->n, found + 1, NULL) : status;
}

TEST(an_edit_is_not_called_again_after_its_caller_was_interrupted)
{
    char folder[256];
    folder_begin(folder, sizeof folder);
    hd_runtime *runtime = open_at(folder);
    struct left left = {.folder = folder, .n = cell_at(runtime, "n")};
    expect_json(left.n, "1");
    hd_error error;
    EXPECT_INT(hd_runtime_edit(runtime, conflict_and_interrupt, &left, &error),
               HD_INTERRUPTED);
    EXPECT_INT(error.attempts, 1);
    EXPECT(error.may_have_happened);
    holder_end(&left.holder);
    settle(runtime); /* the store refuses it, and it ends */
    EXPECT_INT(left.calls, 1);
    expect_json(left.n, "7");
    hd_cell_free(left.n);
    hd_runtime_free(runtime);
    kit_folder_remove(folder);
}

TEST(a_holder_that_was_stopped_is_said_to_be)
{
    char folder[256];
    struct holder holder;
    hd_error error;
    int status = 0;
    folder_begin(folder, sizeof folder);
    holder_begin(&holder, folder);
    CHECK(kill(holder.pid, SIGSTOP) == 0);
    CHECK(waitpid(holder.pid, &status, WUNTRACED) == holder.pid);
    hd_runtime *runtime = open_at(folder);
    hd_cell *n = cell_at(runtime, "n");
    expect_json(n, "1");
    set_json(n, "2");
    EXPECT_INT(hd_runtime_settled(runtime, after(runtime, SOON_MS), &error),
               HD_TIMEOUT);
    expect_names(&error, holder.pid);
    EXPECT(strstr(error.text, "is stopped") != NULL);
    CHECK(kill(holder.pid, SIGKILL) == 0);
    EXPECT_INT(waitpid(holder.pid, &status, 0), holder.pid);
    settle(runtime); /* what it had begun is not there */
    (void)close(holder.tell);
    (void)close(holder.hear);
    hd_cell_free(n);
    hd_runtime_free(runtime);
    kit_folder_remove(folder);
}

/* -- Turns --------------------------------------------------------------- */

/* A runtime with a handler that makes n one more. */
struct party {
    hd_runtime *runtime;
    hd_cell *stream;
    hd_cell *n;
    hd_node *handler;
    unsigned calls;
    struct party *rival;   /* sends itself an event while this one handles */
    hd_ticket *rival_sent; /* the last of those */
    unsigned rival_rounds; /* how often, at most */
};

static hd_ticket *party_send(struct party *party)
{
    hd_ticket *ticket = NULL;
    EXPECT_INT(hd_cell_send(party->stream, NULL, NULL, &ticket, NULL), HD_OK);
    return ticket;
}

static hd_outcome outcome_of(hd_ticket *ticket)
{
    hd_outcome outcome = HD_FAILED;
    EXPECT_INT(hd_ticket_outcome(ticket, &outcome), HD_OK);
    return outcome;
}

static void let_rival_try(struct party *party)
{
    if (party->rival != NULL && party->calls <= party->rival_rounds) {
        hd_ticket_free(party->rival_sent);
        party->rival_sent = party_send(party->rival);
        EXPECT_INT(hd_runtime_step(party->rival->runtime, HD_NOW, NULL), HD_OK);
    }
}

static hd_status add_one(hd_run *run, void *context)
{
    (void)run;
    struct party *party = context;
    hd_value *value = NULL;
    int64_t number = 0;
    party->calls++;
    hd_status status = hd_cell_get(party->n, &value, NULL);
    if (status == HD_OK) {
        status = hd_value_get_int(value, &number);
    }
    hd_value_unref(value);
    if (status == HD_OK) {
        let_rival_try(party);
        status = hd_value_new_int(number + 1, &value);
    }
    if (status == HD_OK) {
        status = hd_cell_set(party->n, value, NULL);
        hd_value_unref(value);
    }
    return status;
}

static void party_begin(struct party *party,
                        const char *folder,
                        const char *stream)
{
    hd_error error;
    *party = (struct party){.runtime = open_at(folder)};
    party->stream = cell_at(party->runtime, stream);
    party->n = cell_at(party->runtime, "n");
    const hd_handler_options options = {
        .name = "add one",
        .run = add_one,
        .context = party,
        .reads = &party->n,
        .read_count = 1,
    };
    EXPECT_INT(hd_handler_new(party->stream, &options, &party->handler, &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    settle(party->runtime);
}

static void party_end(struct party *party)
{
    hd_ticket_free(party->rival_sent);
    hd_node_free(party->handler);
    hd_cell_free(party->stream);
    hd_cell_free(party->n);
    hd_runtime_free(party->runtime);
}

/* While one handles, the other commits, and would do so each time. It does it
 * once: the retry comes before its next commit. */
TEST(the_retry_of_a_loser_comes_before_the_next_commit_of_the_winner)
{
    char folder[256];
    struct party winner;
    struct party loser;
    folder_begin(folder, sizeof folder);
    party_begin(&winner, folder, "winner");
    party_begin(&loser, folder, "loser");
    loser.rival = &winner;
    loser.rival_rounds = 10;
    hd_ticket *sent = party_send(&loser);
    settle(loser.runtime);
    EXPECT_INT(outcome_of(sent), HD_DONE);
    EXPECT_EQ(loser.calls, 2);
    EXPECT_INT(outcome_of(loser.rival_sent), HD_WAITING);
    EXPECT_EQ(winner.calls, 1); /* it waits, and has read nothing */
    settle(winner.runtime);
    EXPECT_INT(outcome_of(loser.rival_sent), HD_DONE);
    EXPECT_EQ(winner.calls, 2);
    expect_json(winner.n, "4");
    hd_ticket_free(sent);
    party_end(&loser);
    party_end(&winner);
    kit_folder_remove(folder);
}

enum {
    PARTIES = 3,
};

static unsigned count_done(hd_ticket *const *sent)
{
    unsigned done = 0;
    for (unsigned i = 0; i < PARTIES; i++) {
        done += outcome_of(sent[i]) == HD_DONE;
    }
    return done;
}

/* They ask in one order while the lock is held, and are stepped in the other
 * one when it is free. */
TEST(runtimes_are_served_in_the_order_in_which_they_asked)
{
    static const char *const names[PARTIES] = {"a", "b", "c"};
    char folder[256];
    struct holder holder;
    struct party parties[PARTIES];
    hd_ticket *sent[PARTIES];
    folder_begin(folder, sizeof folder);
    for (unsigned i = 0; i < PARTIES; i++) {
        party_begin(&parties[i], folder, names[i]);
    }
    holder_begin(&holder, folder);
    for (unsigned i = 0; i < PARTIES; i++) {
        sent[i] = party_send(&parties[i]);
        EXPECT_INT(hd_runtime_step(parties[i].runtime, HD_NOW, NULL), HD_OK);
    }
    EXPECT_EQ(count_done(sent), 0);
    holder_end(&holder);
    for (unsigned round = 0; round < PARTIES; round++) {
        for (unsigned i = PARTIES; i-- > round;) {
            EXPECT_EQ(count_done(sent), round);
            EXPECT_INT(hd_runtime_step(parties[i].runtime, HD_NOW, NULL),
                       HD_OK);
        }
        EXPECT_INT(outcome_of(sent[round]), HD_DONE);
    }
    for (unsigned i = 0; i < PARTIES; i++) {
        EXPECT_EQ(parties[i].calls, 1); /* each in its turn, and not before */
        hd_ticket_free(sent[i]);
    }
    settle(parties[0].runtime);
    expect_json(parties[0].n, "4");
    for (unsigned i = 0; i < PARTIES; i++) {
        party_end(&parties[i]);
    }
    kit_folder_remove(folder);
}

/* -- Processes ----------------------------------------------------------- */

enum {
    PROCESSES = 4,
    EVENTS = 50,
};

static void count_in_process(const char *folder, unsigned number)
{
    char stream[16];
    struct party party;
    unsigned done = 0;
    (void)snprintf(stream, sizeof stream, "s%u", number);
    party_begin(&party, folder, stream);
    for (unsigned i = 0; i < EVENTS; i++) {
        hd_ticket *sent = party_send(&party);
        settle(party.runtime);
        done += outcome_of(sent) == HD_DONE;
        hd_ticket_free(sent);
    }
    party_end(&party);
    _exit(done == EVENTS ? 0 : 1);
}

TEST(processes_that_count_together_lose_nothing_and_none_fails)
{
    char folder[256];
    char want[16];
    pid_t pids[PROCESSES];
    folder_begin(folder, sizeof folder);
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            count_in_process(folder, i);
        }
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = 0;
        EXPECT_INT(waitpid(pids[i], &status, 0), pids[i]);
        EXPECT_INT(WIFEXITED(status) ? WEXITSTATUS(status) : 99, 0);
    }
    hd_runtime *runtime = open_at(folder);
    hd_cell *n = cell_at(runtime, "n");
    (void)snprintf(want, sizeof want, "%d", 1 + PROCESSES * EVENTS);
    expect_json(n, want);
    hd_cell_free(n);
    hd_runtime_free(runtime);
    kit_folder_remove(folder);
}
