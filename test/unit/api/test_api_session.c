/* Named sessions through the public header: which runtime has one, who is
 * refused, and when the name is free again. Each process opens its runtime
 * after the fork. */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/api/fixture.h"

static hd_status open_session(const char *folder,
                              const char *user,
                              const char *session,
                              hd_runtime **runtime,
                              hd_error *error)
{
    const hd_runtime_options options = {
        .directory = folder,
        .user = user,
        .session = session,
    };
    return hd_runtime_open(&options, runtime, error);
}

/* Counts in a process of its own, once it may begin. The exit code is the
 * status of the open; or 255 if an increment was not confirmed. */
static int count(const char *folder, int begin, int ready, int increments)
{
    hd_runtime *runtime = NULL;
    hd_cell *cell = NULL;
    char go = 0;
    const hd_status opened = open_session(folder, NULL, "me", &runtime, NULL);
    if (write(ready, "r", 1) != 1 || read(begin, &go, 1) != 1 ||
        opened != HD_OK) {
        return (int)opened;
    }
    bool confirmed = hd_cell_new(runtime, "n", NULL, &cell, NULL) == HD_OK;
    for (int i = 0; i < increments && confirmed; i++) {
        confirmed = hd_cell_increment(cell, 1, NULL) == HD_OK &&
                    hd_runtime_settled(runtime, HD_NEVER, NULL) == HD_OK;
    }
    hd_cell_free(cell);
    hd_runtime_free(runtime);
    return confirmed ? 0 : 255;
}

static int64_t counted(const char *folder)
{
    hd_runtime *runtime = NULL;
    hd_cell *cell = NULL;
    int64_t number = 0;
    EXPECT_INT(open_session(folder, NULL, NULL, &runtime, NULL), HD_OK);
    EXPECT_INT(hd_cell_new(runtime, "n", NULL, &cell, NULL), HD_OK);
    EXPECT_INT(hd_cell_get_int(cell, &number, NULL), HD_OK);
    hd_cell_free(cell);
    hd_runtime_free(runtime);
    return number;
}

static void set_up(const char *folder)
{
    hd_runtime *runtime = NULL;
    hd_cell *cell = NULL;
    EXPECT_INT(open_session(folder, NULL, NULL, &runtime, NULL), HD_OK);
    EXPECT_INT(hd_cell_new(runtime, "n", NULL, &cell, NULL), HD_OK);
    EXPECT_INT(hd_cell_set_int(cell, 0, NULL), HD_OK);
    EXPECT_INT(hd_runtime_settled(runtime, HD_NEVER, NULL), HD_OK);
    hd_cell_free(cell);
    hd_runtime_free(runtime);
}

TEST(two_processes_with_one_session_name_lose_nothing)
{
    enum {
        EACH = 50
    };
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    int begin[2];
    int ready[2];
    pid_t children[2];
    CHECK(pipe(begin) == 0 && pipe(ready) == 0);
    const pid_t maker = fork();
    if (maker == 0) {
        set_up(folder);
        _exit(0);
    }
    CHECK(maker > 0 && waitpid(maker, NULL, 0) == maker);
    char letters[2];
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            _exit(count(folder, begin[0], ready[1], EACH));
        }
        CHECK(children[i] > 0 && read(ready[0], &letters[i], 1) == 1);
    }
    CHECK(write(begin[1], "gg", 2) == 2);
    int64_t told = 0;
    unsigned refused = 0;
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        EXPECT(WIFEXITED(status));
        told += WEXITSTATUS(status) == 0 ? EACH : 0;
        refused += WEXITSTATUS(status) == HD_SESSION_IN_USE;
    }
    EXPECT_EQ(counted(folder), told);
    EXPECT_INT(refused, 1);
    for (size_t i = 0; i < 2; i++) {
        (void)close(begin[i]);
        (void)close(ready[i]);
    }
    kit_folder_remove(folder);
}

/* Holds the session until it is killed. */
_Noreturn static void hold(const char *folder, int ready)
{
    hd_runtime *runtime = NULL;
    const bool open = open_session(folder, NULL, "me", &runtime, NULL) == HD_OK;
    (void)!write(ready, open ? "o" : "x", 1);
    for (;;) {
        (void)pause();
    }
}

TEST(the_second_is_told_who_has_the_session_and_a_killed_one_has_none)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    int ready[2];
    CHECK(pipe(ready) == 0);
    const pid_t child = fork();
    if (child == 0) {
        hold(folder, ready[1]);
    }
    char letter = 0;
    CHECK(child > 0 && read(ready[0], &letter, 1) == 1);
    EXPECT_INT(letter, 'o');
    hd_runtime *runtime = NULL;
    hd_error error;
    char pid[64];
    (void)snprintf(pid, sizeof pid, "'me' is in use by process %d:", child);
    EXPECT_INT(open_session(folder, NULL, "me", &runtime, &error),
               HD_SESSION_IN_USE);
    EXPECT(runtime == NULL);
    EXPECT_CONTAINS(error.text, pid);
    EXPECT_CONTAINS(error.text, "another session name or without one");
    EXPECT_INT(error.class_of, HD_CLASS_TERMINAL);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    EXPECT_INT(open_session(folder, NULL, "me", &runtime, &error), HD_OK);
    hd_runtime_free(runtime);
    (void)close(ready[0]);
    (void)close(ready[1]);
    kit_folder_remove(folder);
}

TEST(a_session_is_claimed_by_user_and_directory_until_its_runtime_is_freed)
{
    char folder[256];
    char other[256];
    kit_folder_new(folder, sizeof folder);
    kit_folder_new(other, sizeof other);
    hd_runtime *runtimes[6] = {NULL};
    hd_runtime *second = NULL;
    EXPECT_INT(open_session(folder, NULL, "me", &runtimes[0], NULL), HD_OK);
    EXPECT_INT(open_session(folder, "ada", "me", &runtimes[1], NULL), HD_OK);
    EXPECT_INT(open_session(folder, NULL, "a/b c", &runtimes[2], NULL), HD_OK);
    EXPECT_INT(open_session(folder, NULL, NULL, &runtimes[3], NULL), HD_OK);
    EXPECT_INT(open_session(other, NULL, "me", &runtimes[4], NULL), HD_OK);
    EXPECT_INT(open_session(NULL, NULL, "me", &runtimes[5], NULL), HD_OK);
    EXPECT_INT(open_session(folder, NULL, "me", &second, NULL),
               HD_SESSION_IN_USE);
    EXPECT_INT(open_session(folder, "ada", "me", &second, NULL),
               HD_SESSION_IN_USE);
    EXPECT_INT(open_session(folder, NULL, "a/b c", &second, NULL),
               HD_SESSION_IN_USE);
    for (size_t i = 0; i < COUNT_OF(runtimes); i++) {
        hd_runtime_free(runtimes[i]);
    }
    EXPECT_INT(open_session(folder, NULL, "me", &second, NULL), HD_OK);
    EXPECT_INT(hd_runtime_close(second, HD_NEVER, NULL), HD_OK);
    EXPECT_INT(open_session(folder, NULL, "me", &runtimes[0], NULL), HD_OK);
    hd_runtime_free(second);
    hd_runtime_free(runtimes[0]);
    kit_folder_remove(folder);
    kit_folder_remove(other);
}

TEST(a_runtime_that_only_reads_claims_no_session)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    hd_runtime *writer = NULL;
    hd_runtime *reader = NULL;
    EXPECT_INT(open_session(folder, NULL, "me", &writer, NULL), HD_OK);
    const hd_runtime_options options = {
        .directory = folder,
        .session = "me",
        .read_only = true,
    };
    EXPECT_INT(hd_runtime_open(&options, &reader, NULL), HD_OK);
    hd_runtime_free(writer);
    EXPECT_INT(open_session(folder, NULL, "me", &writer, NULL), HD_OK);
    hd_runtime_free(writer);
    hd_runtime_free(reader);
    kit_folder_remove(folder);
}

static hd_status add_one(hd_run *run, void *context)
{
    (void)run;
    return hd_cell_increment(context, 1, NULL);
}

/* Opens the session, sends the event "x" once, and says how it ended. */
static hd_outcome send_once(const char *folder, hd_runtime **runtime)
{
    hd_cell *stream = NULL;
    hd_cell *number = NULL;
    hd_ticket *ticket = NULL;
    hd_outcome outcome = HD_WAITING;
    EXPECT_INT(open_session(folder, NULL, "me", runtime, NULL), HD_OK);
    EXPECT_INT(hd_cell_new(*runtime, "add", NULL, &stream, NULL), HD_OK);
    EXPECT_INT(hd_cell_new(*runtime, "n", NULL, &number, NULL), HD_OK);
    const hd_handler_options handler = {.run = add_one, .context = number};
    const hd_send_options options = {.id = "x", .session = "me"};
    EXPECT_INT(hd_handler_new(stream, &handler, NULL, NULL), HD_OK);
    EXPECT_INT(hd_cell_send(stream, NULL, &options, &ticket, NULL), HD_OK);
    EXPECT_INT(hd_runtime_settled(*runtime, HD_NEVER, NULL), HD_OK);
    EXPECT_INT(hd_ticket_outcome(ticket, &outcome), HD_OK);
    hd_ticket_free(ticket);
    hd_cell_free(stream);
    hd_cell_free(number);
    return outcome;
}

TEST(a_session_that_was_killed_continues_and_its_events_stay_handled)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    int ready[2];
    CHECK(pipe(ready) == 0);
    const pid_t child = fork();
    if (child == 0) {
        hd_runtime *runtime = NULL;
        set_up(folder);
        const bool done = send_once(folder, &runtime) == HD_DONE;
        (void)!write(ready[1], done ? "d" : "x", 1);
        for (;;) {
            (void)pause();
        }
    }
    char letter = 0;
    CHECK(child > 0 && read(ready[0], &letter, 1) == 1);
    EXPECT_INT(letter, 'd');
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    hd_runtime *runtime = NULL;
    EXPECT_INT(send_once(folder, &runtime), HD_DROPPED);
    hd_runtime_free(runtime);
    EXPECT_EQ(counted(folder), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    kit_folder_remove(folder);
}
