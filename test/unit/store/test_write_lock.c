/* The queue of the write lock: tickets of processes that end, that are stopped
 * or that do not come back; and what is written where there is no queue. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/store_kit.h"
#include "lib/test.h"

/* Two connections to one file. */
static void open_both(struct store_kit *a, struct store_kit *b)
{
    kit_open_file(a, NULL);
    kit_open_beside(b, a);
}

static void close_both(struct store_kit *a, struct store_kit *b)
{
    kit_close(b);
    kit_close(a);
}

static struct database *database_of(struct store_kit *kit)
{
    return &kit->engine.database;
}

static enum err reserve(struct store_kit *kit)
{
    return database_reserve(database_of(kit), NULL);
}

static void unreserve(struct store_kit *kit, bool stay)
{
    database_unreserve(database_of(kit), stay);
}

TEST(what_is_reserved_is_the_connection_s_own)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_INT(reserve(&a), ERR_OK);
    EXPECT_INT(reserve(&b), ERR_BUSY);
    EXPECT_TEXT(kit_read(&a, "A"), "(absent)"); /* reading goes on */
    EXPECT_TEXT(kit_read(&b, "A"), "(absent)");
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&a, 2, "s1 2 | set A 2");
    EXPECT_TEXT(kit_read(&a, "A"), "{'value':2}");
    EXPECT_LANDED(&a, 3, "s1 3 | set A 3");
    EXPECT_INT(reserve(&b), ERR_BUSY);
    unreserve(&a, false);
    EXPECT_INT(reserve(&b), ERR_OK);
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':3}");
    unreserve(&b, false); /* unused */
    EXPECT_LANDED(&a, 4, "s1 4 | set A 4");
    close_both(&a, &b);
}

TEST(who_stays_is_first_and_who_leaves_is_not_waited_for)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_INT(reserve(&a), ERR_OK);
    unreserve(&a, true);
    EXPECT_INT(reserve(&b), ERR_BUSY);
    EXPECT_INT(reserve(&a), ERR_OK);
    unreserve(&a, true);
    EXPECT_INT(reserve(&b), ERR_BUSY);
    write_lock_leave(&database_of(&a)->lock);
    EXPECT_INT(reserve(&b), ERR_OK);
    unreserve(&b, false);
    close_both(&a, &b);
}

TEST(a_transaction_without_a_change_is_none)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    const uint64_t before = database_changes(database_of(&b));
    EXPECT_REFUSED(&a, ERR_CONFLICT, "", "s1 2 | conf A @0 | set A 2");
    EXPECT_EQ(database_changes(database_of(&b)), before);
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':1}");
    EXPECT_LANDED(&a, 2, "s1 2 | set A 2");
    EXPECT(database_changes(database_of(&b)) > before);
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':2}");
    close_both(&a, &b);
}

/* -- Processes that do not use their turn -------------------------------- */

/* Another process that asks for the lock. It does nothing then, until it is
 * killed. */
static pid_t start_process(const struct store_kit *kit,
                           bool (*ask)(struct database *))
{
    int ready[2];
    char byte = 0;
    CHECK(pipe(ready) == 0);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct database database;
        const struct database_options options = {.path = kit->path};
        if (database_open(&database, &options, NULL) != ERR_OK ||
            !ask(&database) || write(ready[1], "w", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ready[1]);
    EXPECT_INT(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

/* It gets a ticket, because another process holds the lock. */
static bool wait_for_lock(struct database *database)
{
    return database_reserve(database, NULL) == ERR_BUSY;
}

static void end_process(pid_t pid)
{
    int status = 0;
    CHECK(kill(pid, SIGKILL) == 0);
    EXPECT_INT(waitpid(pid, &status, 0), pid);
}

TEST(a_ticket_of_a_process_that_was_killed_is_not_waited_for)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_INT(reserve(&a), ERR_OK);
    const pid_t pid = start_process(&a, wait_for_lock);
    unreserve(&a, false);
    EXPECT_INT(reserve(&b), ERR_BUSY); /* it lives, and is before */
    end_process(pid);
    EXPECT_INT(reserve(&b), ERR_OK);
    unreserve(&b, false);
    close_both(&a, &b);
}

/* It has the lock and a ticket, as for the retry of a commit. */
static bool hold_lock(struct database *database)
{
    if (database_reserve(database, NULL) != ERR_OK) {
        return false;
    }
    database_unreserve(database, true);
    return database_reserve(database, NULL) == ERR_OK;
}

/* Its parent has not asked for its code: the system still knows its number. */
TEST(a_process_that_was_killed_with_the_lock_and_a_ticket_is_not_waited_for)
{
    struct store_kit a;
    struct store_kit b;
    siginfo_t ended;
    open_both(&a, &b);
    const pid_t pid = start_process(&a, hold_lock);
    EXPECT_INT(reserve(&a), ERR_BUSY);
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) == 0);
    EXPECT_INT(kill(pid, 0), 0);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&b, 2, "s2 1 | set A 2");
    EXPECT_INT(waitpid(pid, NULL, 0), pid);
    close_both(&a, &b);
}

/* The number of the process that was killed is another process's now. */
TEST(what_the_queue_says_of_a_process_that_lives_is_not_believed_for_ever)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    struct lock_queue *queue = database_of(&a)->lock.queue;
    atomic_store(&queue->pid, (uint64_t)getppid());
    atomic_store(&queue->at[0].pid, (uint64_t)getppid());
    atomic_store(&queue->at[0].number,
                 atomic_fetch_add(&queue->tickets, 1) + 1);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&b, 2, "s2 1 | set A 2");
    close_both(&a, &b);
}

TEST(a_ticket_that_is_not_used_is_not_waited_for_without_end)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_INT(reserve(&a), ERR_OK);
    const pid_t pid = start_process(&a, wait_for_lock);
    unreserve(&a, false);
    EXPECT_INT(reserve(&b), ERR_BUSY);
    EXPECT_LANDED(&b, 1, "s2 1 | set A 1"); /* this one waits */
    EXPECT_LANDED(&a, 2, "s1 1 | set A 2"); /* and nobody a second time */
    end_process(pid);
    close_both(&a, &b);
}

static bool is_told_to_stop(void *ctx)
{
    unsigned *asked = ctx;
    return ++*asked > 3;
}

TEST(a_wait_ends_at_its_deadline_and_when_it_is_interrupted)
{
    struct store_kit a;
    struct store_kit b;
    unsigned asked = 0;
    open_both(&a, &b);
    struct write_lock *lock = &database_of(&b)->lock;
    EXPECT_INT(reserve(&a), ERR_OK);
    lock->wait_ms = 20;
    kit_commit(&b, "s2 1 | set A 1");
    EXPECT_INT(b.fault, ERR_BUSY);
    lock->wait_ms = 1000000;
    lock->interrupted = is_told_to_stop;
    lock->ctx = &asked;
    kit_commit(&b, "s2 1 | set A 1");
    EXPECT_INT(b.fault, ERR_BUSY);
    EXPECT_EQ(asked, 4);
    lock->interrupted = NULL;
    unreserve(&a, false);
    EXPECT_LANDED(&b, 1, "s2 1 | set A 1");
    close_both(&a, &b);
}

/* -- Who holds it -------------------------------------------------------- */

TEST(the_holder_is_named)
{
    struct store_kit a;
    struct lock_holder holder;
    struct err_detail detail;
    char want[64];
    kit_open_file(&a, NULL);
    lock_holder_find(a.path, &holder);
    EXPECT_INT(holder.kind, LOCK_NONE);
    EXPECT_INT(reserve(&a), ERR_OK);
    lock_holder_find(a.path, &holder);
    EXPECT_INT(holder.kind, LOCK_OURS);
    EXPECT_EQ(holder.pid, (uint64_t)getpid());
    EXPECT(holder.since_ms > 0);
    EXPECT(!holder.stopped);
    EXPECT_INT(lock_holder_explain(&holder, &detail), ERR_BUSY);
    (void)snprintf(want, sizeof want, "process %d (", (int)getpid());
    EXPECT_INT(strncmp(detail.text, want, strlen(want)), 0);
    EXPECT(strstr(detail.text, " holds the write lock since ") != NULL);
    unreserve(&a, false);
    /* With SQLite alone, as another program would. */
    kit_run(&a, "BEGIN IMMEDIATE");
    lock_holder_find(a.path, &holder);
    EXPECT_INT(holder.kind, LOCK_SQLITE);
    EXPECT_EQ(holder.pid, (uint64_t)getpid());
    kit_run(&a, "ROLLBACK");
    lock_holder_find(a.path, &holder);
    EXPECT_INT(holder.kind, LOCK_NONE);
    kit_close(&a);
}

/* Whatever the words of the queue are, the lock is to be had. */
TEST(a_queue_that_is_damaged_does_not_keep_anybody_from_writing)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    struct lock_queue *queue = database_of(&a)->lock.queue;
    memset(queue, 0xA5, sizeof *queue);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&b, 2, "s2 1 | set A 2");
    memset(queue, 0, sizeof *queue);
    EXPECT_LANDED(&a, 3, "s1 2 | set A 3");
    database_of(&b)->lock.queue = NULL;
    EXPECT_LANDED(&b, 4, "s2 2 | set A 4");
    EXPECT_LANDED(&a, 5, "s1 3 | set A 5");
    close_both(&a, &b);
}
